/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random early detection as S. Floyd and V. Jacobson describe it (1993), with the "gentle"
 * slope, for queues that count packets or bytes. The kernel's discipline has neither: its
 * average is of bytes, its drops are alike for all sizes, and above the upper threshold it
 * drops all.
 *
 *	avg += (queue - avg) / 512			at each arrival
 *	p = 0						avg < low
 *	p = max_p * (avg - low) / (high - low)		avg < high
 *	p = max_p + (1 - max_p) * (avg - high) / high	avg < 2 * high
 *	p = 1						beyond
 *	drop with p * size / (1 - p * since)
 *
 * Thresholds are parts of the queue's limit, as Widmer, Boutremans and Le Boudec set them
 * (2004, appendix A). "size" and "since", what has come since the last drop, are packets; where
 * losses are in proportion to bytes, parts of the reference size. Time and chance are arguments.
 */
#ifndef _RED_MODEL_H
#define _RED_MODEL_H

#include "portable.h"

/* a probability of 1, parts per billion */
#define RED_PPB			1000000000U
/* weight of the average: 1/512, the 0.002 of the authors */
#define RED_WEIGHT_SHIFT	9
/* places of the average behind the point */
#define RED_SHIFT		20
/* largest limit, packets or bytes: with the places of the average below 2^52 */
#define RED_LIMIT_MAX		0xffffffffU
/* An empty queue's average is forgotten to e^-32 in so many packets' times */
#define RED_FORGOTTEN		(32U << RED_WEIGHT_SHIFT)
/* thresholds, percent of the limit */
#define RED_LOW_PERCENT		5
#define RED_HIGH_PERCENT	50
/* parts of the reference size */
#define RED_ONE_SIZE		65536U

/**
 * struct red_params - how a queue drops early
 * @limit: of the queue, packets or bytes, not 0
 * @max_ppb: max_p, parts per billion
 * @packet_ns: time of a packet on the link, by which an empty queue forgets; not 0
 */
struct red_params {
	u32 limit;
	u32 max_ppb;
	u32 packet_ns;
};

/**
 * struct red_state - what a queue remembers; all zero: nothing has come
 * @avg_q20: average of the queue
 * @since_q16: sizes of what has come since the last drop
 * @idle_ns: since when the queue is empty; 0: it is not, or never was anything else
 */
struct red_state {
	u64 avg_q20;
	u64 since_q16;
	u64 idle_ns;
};

/* The average after so many packets' times of an empty queue: times (511/512)^n */
static inline u64 red_forget_q20(u64 avg_q20, u64 packets)
{
	/* one less 1/512, with 32 places */
	u64 factor_q32 = (1ULL << 32) - (1ULL << (32 - RED_WEIGHT_SHIFT)), part_q32 = 1ULL << 32;

	if (packets > RED_FORGOTTEN)
		return 0;
	for (; packets; packets >>= 1) {
		if (packets & 1)
			part_q32 = part_q32 == 1ULL << 32 ? factor_q32 :
							    part_q32 * factor_q32 >> 32;
		factor_q32 = factor_q32 * factor_q32 >> 32;
	}
	if (part_q32 == 1ULL << 32)
		return avg_q20;
	/* 2^52 * 2^32 in two parts */
	return (avg_q20 >> 32) * part_q32 + ((avg_q20 & U32_MAX) * part_q32 >> 32);
}

/**
 * red_probability_ppb - p of an average
 * @p: how the queue drops early
 * @avg_q20: the average
 *
 * Return: parts per billion.
 */
static inline u32 red_probability_ppb(const struct red_params *p, u64 avg_q20)
{
	u64 limit_q10 = (u64)p->limit << 10, avg_q10 = avg_q20 >> 10;
	u64 low_q10 = div_u64(limit_q10 * RED_LOW_PERCENT, 100);
	u64 high_q10 = max_t(u64, div_u64(limit_q10 * RED_HIGH_PERCENT, 100), low_q10 + 1);
	u32 max_ppb = min_t(u32, p->max_ppb, RED_PPB);
	u64 part_q16;

	if (avg_q10 < low_q10)
		return 0;
	/* a part of a slope: 2^42 * 2^16 are below 2^64 */
	if (avg_q10 < high_q10) {
		part_q16 = div64_u64((avg_q10 - low_q10) << 16, high_q10 - low_q10);
		return (u32)(max_ppb * part_q16 >> 16);
	}
	if (avg_q10 >= 2 * high_q10)
		return RED_PPB;
	part_q16 = div64_u64((avg_q10 - high_q10) << 16, high_q10);
	return max_ppb + (u32)((RED_PPB - max_ppb) * part_q16 >> 16);
}

/**
 * red_takes_ppb - a packet comes: the probability with which it is to be dropped
 * @s: the queue
 * @p: how it drops early
 * @queue: what it holds now, packets or bytes
 * @size_q16: the packet's part of the reference size; RED_ONE_SIZE where sizes do not count
 * @now_ns: a clock that never goes back
 *
 * Return: parts per billion. The caller draws, and tells red_dropped() what came of it.
 */
static inline u32 red_takes_ppb(struct red_state *s, const struct red_params *p, u32 queue,
				u32 size_q16, u64 now_ns)
{
	u64 queue_q20 = (u64)queue << RED_SHIFT, size_ppb, since_ppb;
	u32 ppb;

	if (s->idle_ns) {
		s->avg_q20 = red_forget_q20(s->avg_q20, div_u64(now_ns - s->idle_ns,
								max_t(u32, p->packet_ns, 1)));
		s->idle_ns = 0;
	}
	s->avg_q20 = s->avg_q20 - (s->avg_q20 >> RED_WEIGHT_SHIFT) +
		     (queue_q20 >> RED_WEIGHT_SHIFT);
	ppb = red_probability_ppb(p, s->avg_q20);
	if (!ppb) {
		s->since_q16 = 0;
		return 0;
	}
	if (ppb == RED_PPB)
		return RED_PPB;
	size_ppb = (u64)ppb * size_q16 >> 16;
	since_ppb = ppb * min_t(u64, s->since_q16, U32_MAX) >> 16;
	s->since_q16 += size_q16;
	if (since_ppb + size_ppb >= RED_PPB)
		return RED_PPB;
	return (u32)div64_u64(size_ppb * RED_PPB, RED_PPB - since_ppb);
}

/** red_dropped - the packet was dropped, by whatever */
static inline void red_dropped(struct red_state *s)
{
	s->since_q16 = 0;
}

/** red_emptied - nothing is left in the queue */
static inline void red_emptied(struct red_state *s, u64 now_ns)
{
	s->idle_ns = max_t(u64, now_ns, 1);
}

#endif /* _RED_MODEL_H */
