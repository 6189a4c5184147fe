/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The round-trip propagation delay R: the round trip of a packet that met no
 * queue of its own flow.
 *
 * R is the smallest round trip seen. A sender that holds a queue at its
 * setpoint never sees R again, and a route may become longer for good, so an
 * estimate that has not been confirmed for a while is refreshed: the setpoint
 * is dipped below zero for a few round trips, the queue drains, and the
 * smallest round trip of that time replaces the estimate. The flow goes on
 * sending at about its share meanwhile; BBR, which knows no queue of its own,
 * has to stop for 200 ms instead.
 *
 * The dip goes below zero because R is taken from packets that still waited
 * for their turn: if each refresh drained to an estimated zero only, each
 * would leave the wait of the last one inside R, and R would creep upwards.
 */
#ifndef _PROPAGATION_DELAY_H
#define _PROPAGATION_DELAY_H

#include "portable.h"

/* an estimate older than this is refreshed: short beside a route change that
 * a user would notice, long beside the few round trips that a dip costs
 */
#define PROP_REFRESH_MS		10000U
/* or when the last dip was so many times longer ago, confirmed or not: a flow that needs
 * no dips gives up a sixth of what they cost
 */
#define PROP_REFRESH_TRUST	6U
/* and not more often than once in so many round trips: a dip of three leaves
 * an eighth of the pipe empty, so that this is 0.75 % of a lone flow's rate
 */
#define PROP_REFRESH_ROUNDS	50U
/* nor seldomer than that: below 17 minutes, and by more than a round trip of
 * 100 s, so that an age is looked at before it wraps
 */
#define PROP_REFRESH_MAX_MS	900000U
/* round trips of a dip: one for the law to act, one for the queue to drain (a tenth of a round
 * trip is the law's time constant), one to see the packets sent after that
 */
#define PROP_DIP_ROUNDS		3U
/* age is kept in 16 ms: 16 bits of it are 17 minutes */
#define PROP_CLOCK_SHIFT	4
/* A dip leaves so much of the pipe empty at least that round trips fall by an eighth
 * where R is too large: one that falls by a 16th at once is followed by another
 */
#define PROP_FALL_SHIFT		4
/* and that of the last dip in 4 s: 8 bits, the same 17 minutes */
#define PROP_DIPPED_SHIFT	12
/* longest estimate, 100 s: keeps control_law.h's products within 64 bits */
#define PROP_MAX_US		100000000U
/* no round trip seen yet; also the largest round trip that can be noted */
#define PROP_UNKNOWN_US		U32_MAX

/**
 * struct propagation_delay - estimate and its age
 * @delay_us: the estimate, no more than PROP_MAX_US; PROP_UNKNOWN_US before the first
 *	round trip
 * @dip_min_us: smallest round trip of the dip under way
 * @confirmed: time of the last round trip that confirmed the estimate, in units
 *	of 2^PROP_CLOCK_SHIFT ms
 * @dipped: time of the last dip, in units of 2^PROP_DIPPED_SHIFT ms
 * @dip_rounds: round trips of the dip still to come; 0: no dip
 * @fell: the estimate fell by more than 2^-PROP_FALL_SHIFT at once
 */
struct propagation_delay {
	u32 delay_us;
	u32 dip_min_us;
	u16 confirmed;
	u8 dipped;
	u8 dip_rounds:7,
	   fell:1;
};

/* What the age is kept in */
static inline u16 prop_clock(u32 now_ms)
{
	return (u16)(now_ms >> PROP_CLOCK_SHIFT);
}

/** prop_init - nothing known yet */
static inline void prop_init(struct propagation_delay *p, u32 now_ms)
{
	p->delay_us = PROP_UNKNOWN_US;
	p->dip_min_us = PROP_UNKNOWN_US;
	p->confirmed = prop_clock(now_ms);
	p->dipped = (u8)(now_ms >> PROP_DIPPED_SHIFT);
	p->dip_rounds = 0;
	p->fell = 0;
}

/**
 * prop_replace - the path is another one, or was not seen
 * @p: the estimate
 * @delay_us: estimate from here on; beyond PROP_MAX_US, that
 * @now_ms: time, may wrap
 */
static inline void prop_replace(struct propagation_delay *p, u32 delay_us, u32 now_ms)
{
	p->delay_us = min_t(u32, delay_us, PROP_MAX_US);
	p->confirmed = prop_clock(now_ms);
}

/** prop_dipping - whether the setpoint is to be dipped now */
static inline bool prop_dipping(const struct propagation_delay *p)
{
	return p->dip_rounds > 0;
}

/**
 * prop_sample - take a round trip
 * @p: the estimate
 * @rtt_us: round trip of an unambiguous, not delayed acknowledgment; as an estimate, beyond
 *	PROP_MAX_US that
 * @now_ms: time, may wrap
 */
static inline void prop_sample(struct propagation_delay *p, u32 rtt_us,
			       u32 now_ms)
{
	if (rtt_us <= p->delay_us) {
		if (p->delay_us - rtt_us > p->delay_us >> PROP_FALL_SHIFT)
			p->fell = 1;
		p->delay_us = min_t(u32, rtt_us, PROP_MAX_US);
		p->confirmed = prop_clock(now_ms);
	}
	if (rtt_us < p->dip_min_us)
		p->dip_min_us = rtt_us;
}

/* Age at which the estimate is refreshed */
static inline u32 prop_refresh_ms(const struct propagation_delay *p)
{
	u64 rounds_us = (u64)p->delay_us * PROP_REFRESH_ROUNDS;

	return clamp_t(u32, (u32)div_u64(rounds_us, USEC_PER_MSEC),
		       PROP_REFRESH_MS, PROP_REFRESH_MAX_MS);
}

/* Whether the estimate is old */
static inline bool prop_is_old(const struct propagation_delay *p, u32 now_ms)
{
	u32 refresh_ms = prop_refresh_ms(p);
	u32 trust_ms = min_t(u32, PROP_REFRESH_TRUST * refresh_ms,
			     PROP_REFRESH_MAX_MS);

	return (u16)(prop_clock(now_ms) - p->confirmed) >
	       refresh_ms >> PROP_CLOCK_SHIFT ||
	       (u8)((now_ms >> PROP_DIPPED_SHIFT) - p->dipped) >
	       trust_ms >> PROP_DIPPED_SHIFT;
}

/* A dip begins with the next round trip */
static inline void prop_dip(struct propagation_delay *p)
{
	p->dip_rounds = PROP_DIP_ROUNDS;
	p->dip_min_us = PROP_UNKNOWN_US;
	p->fell = 0;
}

/**
 * prop_round - a round trip has passed
 * @p: the estimate
 * @now_ms: time, may wrap
 * @may_dip: a dip would drain the queue, and show what is left
 *
 * Begins a dip when the estimate is old, and ends it with the estimate replaced; or
 * begins another, where the estimate was still falling. A dip that shows nothing any more ends
 * with the estimate as it is.
 */
static inline void prop_round(struct propagation_delay *p, u32 now_ms, bool may_dip)
{
	if (!may_dip) {
		p->dip_rounds = 0;
	} else if (p->dip_rounds) {
		if (--p->dip_rounds)
			return;
		if (p->dip_min_us != PROP_UNKNOWN_US)
			p->delay_us = min_t(u32, p->dip_min_us, PROP_MAX_US);
		p->confirmed = prop_clock(now_ms);
		p->dipped = (u8)(now_ms >> PROP_DIPPED_SHIFT);
		if (p->fell)
			prop_dip(p);
	} else if (p->delay_us != PROP_UNKNOWN_US && prop_is_old(p, now_ms)) {
		prop_dip(p);
	}
}

#endif /* _PROPAGATION_DELAY_H */
