/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which packets a lossy link loses: the same ones for the same seed.
 *
 * Bernoulli loss: each packet is lost with one probability, or with one in proportion to its
 * bytes. Gilbert loss in time: the link is in a good or a bad state, for times that are
 * drawn from exponential distributions; only the bad state loses packets.
 *
 * Time and seed are arguments. What is drawn is splitmix64 (Steele, Lea, Flood 2014), whose
 * state is one word and whose first number depends on every bit of the seed.
 */
#ifndef _LOSS_MODEL_H
#define _LOSS_MODEL_H

#include "portable.h"

/* a probability of 1, parts per billion */
#define LOSS_PPB		1000000000U
/* longest mean of a state, us: a minute is longer than any experiment's */
#define LOSS_STATE_MAX_US	60000000U
/* and shortest: at 10,000 packets a second one packet's time, and never many states in a gap */
#define LOSS_STATE_MIN_US	100U
/* Without packets for so many means of both states, the state is drawn and not followed:
 * what it was is forgotten to e^-64.
 */
#define LOSS_FORGOTTEN		64U
/* places of the logarithm: its error of 2^-24 is below that of 32 bits of chance */
#define LOSS_LN_PLACES		24

/**
 * struct loss_params - how a link loses packets
 * @loss_ppb: probability for a packet, or for one of @reference_bytes, parts per billion
 * @reference_bytes: 0: packets of any size are alike; else loss is in proportion to bytes
 * @header_bytes: of each packet's bytes, those that do not count there
 * @good_us: mean time of the good state; 0: it is bad all the time, which is Bernoulli loss
 * @bad_us: mean time of the bad state
 */
struct loss_params {
	u32 loss_ppb;
	u32 reference_bytes;
	u32 header_bytes;
	u32 good_us;
	u32 bad_us;
};

/**
 * struct loss_state - what a link remembers
 * @random: of the generator
 * @until_ns: when the present state ends; 0: none was drawn yet
 * @bad: the present state
 */
struct loss_state {
	u64 random;
	u64 until_ns;
	bool bad;
};

/**
 * loss_begin - a link before its first packet
 * @s: the link
 * @seed: which packets it will lose
 */
static inline void loss_begin(struct loss_state *s, u64 seed)
{
	s->random = seed;
	s->until_ns = 0;
	s->bad = false;
}

/* Any of 2^32 numbers, each as likely */
static inline u32 loss_draw(struct loss_state *s)
{
	u64 z = s->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return (u32)((z ^ z >> 31) >> 32);
}

/* True with a probability in parts per billion, to within 2^-32 */
static inline bool loss_happens(struct loss_state *s, u32 ppb)
{
	return (u64)loss_draw(s) * LOSS_PPB < (u64)ppb << 32;
}

/**
 * loss_minus_ln_q24 - minus the natural logarithm of a number from 0 to 1
 * @number_q32: the number, times 2^32, less one
 *
 * Return: with 24 binary places, from 0 to 32 ln 2.
 */
static inline u32 loss_minus_ln_q24(u32 number_q32)
{
	/* ln 2, times 2^24 */
	const u32 ln2_q24 = 11629080;
	u64 x_q31 = (u64)number_q32 + 1;
	u32 log2_q24 = 0;
	int whole = 0, place;

	/* as a number from 1 to 2, and minus the logarithm of what it was divided by */
	while (x_q31 < 1ULL << 31) {
		x_q31 <<= 1;
		whole++;
	}
	if (x_q31 == 1ULL << 32)
		return 0;
	/* the binary logarithm, a place for each squaring */
	for (place = LOSS_LN_PLACES - 1; place >= 0; place--) {
		x_q31 = x_q31 * x_q31 >> 31;
		if (x_q31 >= 1ULL << 32) {
			x_q31 >>= 1;
			log2_q24 |= 1U << place;
		}
	}
	return (u32)(((u64)((u32)(whole + 1) << LOSS_LN_PLACES) - log2_q24) * ln2_q24 >>
		     LOSS_LN_PLACES);
}

/* A time of an exponential distribution with this mean, ns; at least 1 */
static inline u64 loss_time_ns(struct loss_state *s, u32 mean_us)
{
	/* 6e10 ns, less than 2^36, times 2^28.5 overflows: us first, 2^54.4 at most */
	return max_t(u64, ((u64)mean_us * loss_minus_ln_q24(loss_draw(s)) >> 14) * 1000 >> 10, 1);
}

/* Whether the state at this time is bad; times do not go back */
static inline bool loss_is_bad(struct loss_state *s, const struct loss_params *p, u64 now_ns)
{
	u64 cycle_us = (u64)p->good_us + p->bad_us;

	if (!s->until_ns || now_ns > s->until_ns + LOSS_FORGOTTEN * cycle_us * NSEC_PER_USEC) {
		s->bad = loss_happens(s, (u32)div64_u64((u64)p->bad_us * LOSS_PPB, cycle_us));
		s->until_ns = now_ns + loss_time_ns(s, s->bad ? p->bad_us : p->good_us);
	}
	while (now_ns >= s->until_ns) {
		s->bad = !s->bad;
		s->until_ns += loss_time_ns(s, s->bad ? p->bad_us : p->good_us);
	}
	return s->bad;
}

/**
 * loss_takes - whether a packet is lost
 * @s: the link
 * @p: how it loses packets; constant while packets are counted, but for @p->loss_ppb
 * @packet_bytes: the packet's size with headers
 * @now_ns: a clock that never goes back
 *
 * Return: true if it is.
 */
static inline bool loss_takes(struct loss_state *s, const struct loss_params *p, u32 packet_bytes,
			      u64 now_ns)
{
	u64 ppb = p->loss_ppb;

	if (p->good_us && !loss_is_bad(s, p, now_ns))
		return false;
	if (p->reference_bytes) {
		u32 bytes = packet_bytes > p->header_bytes ? packet_bytes - p->header_bytes : 0;

		ppb = div_u64(ppb * bytes, p->reference_bytes);
	}
	return loss_happens(s, (u32)min_t(u64, ppb, LOSS_PPB));
}

#endif /* _LOSS_MODEL_H */
