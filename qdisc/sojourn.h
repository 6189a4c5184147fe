/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long packets wait, shown as CAKE shows it: an average and a peak that is forgotten.
 *
 * A clock costs more than all else that is counted for a packet, so only one packet in
 * SOJOURN_SAMPLED is timed when it comes and when it leaves. Every 64th would always be the
 * same flow's where 2, 4, 8 or 16 flows take turns, so the distance from one to the next
 * changes.
 *
 * Times are CoDel's: 1024 ns, in 32 bits.
 */
#ifndef _FQ_RR_SOJOURN_H
#define _FQ_RR_SOJOURN_H

#include "portable.h"

/* packets for each that is timed, in the mean: of 150 instructions 2 are left */
#define SOJOURN_SAMPLED 64
/* 2^32 over the golden ratio, odd: its multiples spread evenly */
#define SOJOURN_SPREAD 0x9e3779b1U
/* an average of about 8 samples, 512 packets; CAKE's is of 256 */
#define SOJOURN_SHIFT 3

/**
 * struct sojourn - how long packets have waited, all zero at first
 * @average: exponentially weighted (1024 ns)
 * @peak: as long as any, falling towards what comes since (1024 ns)
 */
struct sojourn {
	u32 average;
	u32 peak;
};

/**
 * sojourn_next_sample - which packet is timed next
 * @samples: how many have been; 0 at first
 *
 * Return: how many packets later, 1 to 2 * SOJOURN_SAMPLED - 1, in the mean SOJOURN_SAMPLED.
 */
static inline u32 sojourn_next_sample(u32 *samples)
{
	u32 spread = ++*samples * SOJOURN_SPREAD;

	return 1 + (((u64)spread * (2 * SOJOURN_SAMPLED - 1)) >> 32);
}

static inline u32 sojourn_towards(u32 value, u32 sample)
{
	/* 64 bits: one may be far above the other */
	return value + (((s64)sample - value) >> SOJOURN_SHIFT);
}

/**
 * sojourn_add - a timed packet leaves
 * @s: how long packets have waited
 * @delay: how long it has (1024 ns)
 */
static inline void sojourn_add(struct sojourn *s, u32 delay)
{
	/* the first is all that is known */
	s->average = s->peak ? sojourn_towards(s->average, delay) : delay;
	s->peak = max_t(u32, delay, sojourn_towards(s->peak, delay));
}

#endif /* _FQ_RR_SOJOURN_H */
