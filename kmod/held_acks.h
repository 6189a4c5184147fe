/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long ACKs are held up on their way back.
 *
 * A Wi-Fi slot, a polling driver or others' packets hold ACKs. Packets that have arrived, and whose
 * ACKs are held, are outstanding and in no queue. By Little's law they are rate * (mean time that
 * an ACK is held). So the pipe is longer by that time, or the bottleneck is idle while ACKs are
 * held.
 *
 * A packet's round trip is R, what it waited on the way there, and what its ACK was held. The
 * receiver's clock (RFC 7323) tells the second, so the third is the rest. Clocks drift apart, and a
 * receiver may send any time stamp, so the rest might be a queue after all. But ACKs that are held
 * come after a silence. So no mean is believed above the longest silence, and a queue cannot pass
 * for ACKs that are held, however long it is.
 */
#ifndef _HELD_ACKS_H
#define _HELD_ACKS_H

#include "portable.h"

/* A tick of the receiver's clock: less is truncation, and what ACKs wait for each other */
#define HELD_ACKS_LEAST_US	1000U
/* the longest that an ACK counts for: more than any radio or driver holds one */
#define HELD_ACKS_MOST_US	1000000U
/* The mean is over some eight periods: hand-overs at random times differ from each other by as
 * much as their mean
 */
#define HELD_ACKS_MEAN_SHIFT	3
/* The pipe has room for an ACK that is held twice as long as the mean: the longest, where
 * hand-overs come at even distances
 */
#define HELD_ACKS_SPREAD	2U

/**
 * struct held_acks - what ACKs are held for; zero at first
 * @sum_us: of the period under way
 * @acks: how many these were
 * @mean_us: over the last periods
 */
struct held_acks {
	u32 sum_us;
	u32 acks;
	u32 mean_us;
};

/**
 * held_acks_came - an ACK came
 * @h: what ACKs are held for
 * @above_us: its round trip beyond R
 * @there_us: what its packet waited on the way there, by the receiver's clock
 */
static inline void held_acks_came(struct held_acks *h, u32 above_us, u32 there_us)
{
	u32 held_us, sum_us;

	/* a full sum, and a count that wraps, only make a mean that is too small or is bounded */
	h->acks++;
	if (above_us <= there_us)
		return;
	held_us = min_t(u32, above_us - there_us, HELD_ACKS_MOST_US);
	sum_us = h->sum_us + held_us;
	h->sum_us = likely(sum_us >= held_us) ? sum_us : U32_MAX;
}

/**
 * held_acks_period - a period of a round trip or more has ended
 * @h: what ACKs are held for
 * @silence_us: longest time between two ACKs in it; 0: the receiver's clock is of no use
 */
static inline void held_acks_period(struct held_acks *h, u32 silence_us)
{
	u32 held_us = min_t(u32, h->sum_us / max_t(u32, h->acks, 1), HELD_ACKS_MOST_US);

	held_us = min_t(u32, held_us, silence_us);
	if (held_us < HELD_ACKS_LEAST_US)
		held_us = 0;
	h->mean_us = (u32)(((((u64)h->mean_us << HELD_ACKS_MEAN_SHIFT) - h->mean_us) + held_us) >>
			   HELD_ACKS_MEAN_SHIFT);
	h->sum_us = 0;
	h->acks = 0;
}

/**
 * held_acks_us - what the pipe is longer by
 * @h: what ACKs are held for
 *
 * Return: us, at most HELD_ACKS_SPREAD * HELD_ACKS_MOST_US.
 */
static inline u32 held_acks_us(const struct held_acks *h)
{
	return HELD_ACKS_SPREAD * h->mean_us;
}

#endif /* _HELD_ACKS_H */
