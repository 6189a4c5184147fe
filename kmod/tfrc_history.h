/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The weighted average of loss intervals.
 *
 *	without = sum(w_i * d_i * I_i, i = 1 .. n) / sum(w_i * d_i)		closed ones
 *	with    = (w_0 * I_0 + D * sum(w_i * d_i * I_i, i = 1 .. n - 1)) / weights of these
 *	mean    = max(without, with)
 *	D       = 2 * without / I_0 where that is below 1, and at least 1/2
 *
 * I_0 is the open interval, from the last loss event until now, and I_1 the newest closed one
 * (RFC 3448, 5.4 and 5.5; "without" weighs I_i by w_(i-1)). It counts only where it makes the
 * mean longer. The weights are 1 for the newer half and fall linearly over the older half.
 * History discounting: an open interval beyond twice the mean makes older ones count
 * less, by D. At a loss event D becomes part of d_i of all that are closed then.
 *
 * The bound of 1/2 is that of the simulator in which the paper on packet sizes was measured
 * (ns-2). With eight intervals the rate of a flow without losses then rises by at most
 * 0.125 packets per round trip in each until I_0 is twice the mean, and by 0.35 after it.
 *
 * A loss event may be taken back, since a sender learns of spurious retransmissions. So each
 * closed interval keeps its own D, d_i is their product, and the oldest interval that no
 * longer counts is kept as well.
 *
 * Sums over closed intervals change at loss events only, and are kept.
 */
#ifndef _TFRC_HISTORY_H
#define _TFRC_HISTORY_H

#include "tfrc_equation.h"
#include "portable.h"

/* half of the closed intervals that count: n = 8 (RFC 3448, 5.4) */
#define TFRC_HALF		4U
/* The same with LIP scaling, which counts n * S/s (Widmer, 3.2.3): sizes of packets down to
 * 1/14 of the reference. All of a flow's state then stays below 1 KB.
 */
#define TFRC_HALF_MAX		56U
/* and one that comes back when a loss event is taken back */
#define TFRC_KEPT		(2 * TFRC_HALF_MAX + 1)
#define TFRC_DISCOUNT_ONE_Q15	(1U << 15)
#define TFRC_DISCOUNT_MIN_Q15	(TFRC_DISCOUNT_ONE_Q15 / 2)

/**
 * struct tfrc_interval - one closed interval
 * @length_q16: packets, up to 2^27
 * @discount_q15: D when it was closed, 1/2 .. 1
 */
struct tfrc_interval {
	u64 length_q16:48,
	    discount_q15:16;
};

static_assert(sizeof(struct tfrc_interval) == 8, "the history is an array of these");

/**
 * struct tfrc_history - closed intervals of one flow; all zero: none
 * @without_q16: mean of the closed intervals; 0: there is none
 * @older_q16: sum of w_i * d_i * I_i as it stands beside the open interval
 * @older_weight_q15: sum of w_i * d_i as it stands there
 * @half: n / 2
 * @newest: place of the newest interval
 * @closed: number of intervals in @interval
 * @interval: a ring
 */
struct tfrc_history {
	u64 without_q16;
	u64 older_q16;
	u32 older_weight_q15;
	u16 half;
	u8 newest;
	u8 closed;
	struct tfrc_interval interval[TFRC_KEPT];
};

/* w_i * (n/2 + 1), a whole number: RFC 3448, 5.4, without its division */
static inline u32 tfrc_history_weight(u32 half, u32 i)
{
	return min_t(u32, half + 1, 2 * half - i);
}

/* Place of the next older interval */
static inline u32 tfrc_history_older(u32 place)
{
	return place ? place - 1 : TFRC_KEPT - 1;
}

/* Widths: an interval has 43 bits, a weight 6, there are 112: below 2^56 */
static inline void tfrc_history_sum(struct tfrc_history *h)
{
	u32 n = min_t(u32, h->closed, 2 * h->half), place = h->newest, i;
	u32 discount_q15 = TFRC_DISCOUNT_ONE_Q15, weight_q15 = 0;
	u64 sum_q16 = 0;

	h->older_q16 = 0;
	h->older_weight_q15 = 0;
	for (i = 1; i <= n; i++) {
		const struct tfrc_interval *it = &h->interval[place];
		u32 weight = tfrc_history_weight(h->half, i - 1);
		u32 beside = tfrc_history_weight(h->half, i);
		u64 part_q16;

		discount_q15 = (discount_q15 * (u32)it->discount_q15 +
				TFRC_DISCOUNT_ONE_Q15 / 2) >> 15;
		part_q16 = ((u64)it->length_q16 * discount_q15) >> 15;
		sum_q16 += weight * part_q16;
		weight_q15 += weight * discount_q15;
		h->older_q16 += beside * part_q16;
		h->older_weight_q15 += beside * discount_q15;
		place = tfrc_history_older(place);
	}
	h->without_q16 = n ? max_t(u64, mul_u64_u32_div(sum_q16, TFRC_DISCOUNT_ONE_Q15,
							weight_q15), TFRC_ONE_Q16) : 0;
}

/* D, for an open interval of this length */
static inline u32 tfrc_history_discount_q15(const struct tfrc_history *h, u64 open_q16)
{
	u64 twice_q16 = 2 * h->without_q16;

	if (!twice_q16 || open_q16 <= twice_q16)
		return TFRC_DISCOUNT_ONE_Q15;
	return max_t(u32, (u32)div64_u64(twice_q16 << 15, open_q16), TFRC_DISCOUNT_MIN_Q15);
}

/**
 * tfrc_history_mean_q16 - the mean loss interval, the inverse of the loss event rate
 * @h: the history
 * @open_q16: length of the open interval, packets; beyond 2^27 packets, that
 *
 * RFC 3448, 5.4 and 5.5.
 *
 * Return: packets, 1 to 2^27; 0: there was no loss event. The error is below 2^-11 of it,
 * and below 2^-15 packets where intervals differ so little that nothing is discounted.
 */
static inline u64 tfrc_history_mean_q16(const struct tfrc_history *h, u64 open_q16)
{
	u64 open = min_t(u64, open_q16, TFRC_INTERVAL_MAX_Q16), sum_q16;
	u32 discount_q15 = tfrc_history_discount_q15(h, open), weight_q15;

	if (!h->closed)
		return 0;
	sum_q16 = (h->half + 1) * open + mul_u64_u32_shr(h->older_q16, discount_q15, 15);
	weight_q15 = (h->half + 1) * TFRC_DISCOUNT_ONE_Q15 +
		     (u32)(((u64)h->older_weight_q15 * discount_q15) >> 15);
	return max_t(u64, h->without_q16,
		     mul_u64_u32_div(sum_q16, TFRC_DISCOUNT_ONE_Q15, weight_q15));
}

/**
 * tfrc_history_close - a loss event ends the open interval
 * @h: the history
 * @length_q16: its length, packets; beyond 1 to 2^27 packets, the nearest of these
 * @half: n / 2 from now on; beyond TFRC_HALF to TFRC_HALF_MAX, the nearest of these
 */
static inline void tfrc_history_close(struct tfrc_history *h, u64 length_q16, u32 half)
{
	u64 length = clamp_t(u64, length_q16, TFRC_ONE_Q16, TFRC_INTERVAL_MAX_Q16);
	u32 discount_q15 = tfrc_history_discount_q15(h, length);

	h->newest = h->newest == TFRC_KEPT - 1 ? 0 : h->newest + 1;
	h->closed = (u8)min_t(u32, h->closed + 1U, TFRC_KEPT);
	h->half = (u16)clamp_t(u32, half, TFRC_HALF, TFRC_HALF_MAX);
	h->interval[h->newest].length_q16 = length;
	h->interval[h->newest].discount_q15 = discount_q15;
	tfrc_history_sum(h);
}

/**
 * tfrc_history_reopen - the newest loss event was none
 * @h: the history; without a closed interval nothing changes
 *
 * Return: length of the interval that is open again, packets; the open one goes on from there.
 */
static inline u64 tfrc_history_reopen(struct tfrc_history *h)
{
	u64 length_q16;

	if (!h->closed)
		return 0;
	length_q16 = h->interval[h->newest].length_q16;
	h->newest = (u8)tfrc_history_older(h->newest);
	h->closed--;
	tfrc_history_sum(h);
	return length_q16;
}

#endif /* _TFRC_HISTORY_H */
