/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fuzzy exponential averaging, in fixed point.
 *
 *	value    = alpha * value + (1 - alpha) * sample
 *	error    = |sample - value| / value
 *	smoothed = beta * smoothed + (1 - beta) * error
 *	alpha    = A(smoothed)       history counts while the estimate is good
 *	beta     = B(|error - previous error|)   a lone spike is not believed
 *
 * Keshav's packet-pair memorandum (1994), section 4.5 and appendix, gives A
 * and B as fuzzy controllers: membership in low/medium/high, three rules, the
 * centroid of the union of the clipped conclusions. Each maps one number to
 * one number, so each is a curve, and integrating the centroid by hand gives
 * it in closed form:
 *
 *	B(c) = c^2 (3 - 2c)
 *	A(e) = 1/2 + g((m - e) / m)          for e <= m,  m = 0.7
 *	A(e) = 1/2 - g((e - m) / (1 - m))    for e >= m
 *	g(h) = h^2 (3 - h) / (4 (2 - h^2))
 *
 * Where this is not the appendix's listing: the listing (1) builds the overlap
 * of "low" and "medium" from crossed intercepts for 0.7 < e < 0.85, so its
 * alpha jumps to the wrong side there (0.425 instead of 0.461 at 0.8); (2)
 * never writes the smoothed error back; (3) sets its first estimate, 1.5 times
 * the observation, on a copy; (4) has no answer for an error above 1, which
 * ten flows joining at once produce: error and change are clamped to 1 here.
 * The error is taken relative to the estimate, as in the listing; the text of
 * 4.5.2 divides by the observation.
 *
 * Not in the memorandum either: fuzzy_run(). The average takes half a dozen
 * samples to follow a level that has shifted, since most of the distance still
 * to go is left to history each time. Noise falls on both sides of the
 * estimate; samples that all fall on one side are a shift.
 */
#ifndef _FUZZY_AVERAGE_H
#define _FUZZY_AVERAGE_H

#include "portable.h"

#define FUZZY_ONE_Q16		(1U << 16)
/* "medium" error, table 2 of the memorandum: 0.7 */
#define FUZZY_ERROR_MID_Q16	45875U
/* the smoothed error before any observation: one half, as in the appendix */
#define FUZZY_ERROR_FIRST_Q16	(FUZZY_ONE_Q16 / 2)
/* a sample counts for at most four times the estimate: one outage of seconds
 * must not undo the estimate, and a true step is there a sample later
 */
#define FUZZY_STEP_MAX		4
/* largest value and sample: keeps difference * 2^16 within 64 bits */
#define FUZZY_VALUE_MAX		(1ULL << 47)
/* Samples in a row on one side that are a shift, and move the estimate to the
 * nearest of them. Below the estimate two are enough: a share that has grown is
 * lost for as long as it is not claimed, and where shares come and go with every
 * packet of a neighbour, two short gaps now and then keep a queue ready for the
 * moments in which the link is free. What a wrong claim costs is the queue of a
 * few trains, since three longer gaps take it back.
 */
#define FUZZY_RUN_DOWN		2U
#define FUZZY_RUN_UP		3U
/* A shift down is believed but for this part, 1/32. Where another flow has
 * stopped, the queues of the others run empty and their trains pass one another
 * unseen; each claims the whole link (memorandum, figure 6).
 */
#define FUZZY_RUN_DOUBT_SHIFT	5
/* nearest sample of a run: 29 bits, of 2^8 units each; with service times in
 * ns with ten places that is a quarter of a ns, up to 134 ms. Longer ones, of
 * links below 100 kbit/s, are left to the average.
 */
#define FUZZY_RUN_SHIFT		8
#define FUZZY_RUN_MAX		((1U << 29) - 1)

/**
 * struct fuzzy_average - one fuzzily averaged quantity
 * @value: the estimate, in the sample's unit; 0 before the first sample
 * @nearest: of the run's samples, in units of 2^FUZZY_RUN_SHIFT
 * @run: samples in a row on one side of the estimate
 * @above: which side
 * @smoothed_error_q16: smoothed proportional error, below 1
 * @last_error_q16: the last sample's proportional error, below 1
 */
struct fuzzy_average {
	u64 value;
	u32 nearest:29,
	    run:2,
	    above:1;
	u16 smoothed_error_q16;
	u16 last_error_q16;
};

/* g(h) above; h in 0 .. 1, result 0 .. 1/2 */
static inline u32 fuzzy_bend_q16(u32 h_q16)
{
	u32 h2_q16 = (u32)(((u64)h_q16 * h_q16) >> 16);
	u64 num_q32 = (u64)h2_q16 * (3 * FUZZY_ONE_Q16 - h_q16);

	return (u32)div_u64(num_q32, 4 * (2 * FUZZY_ONE_Q16 - h2_q16));
}

/**
 * fuzzy_alpha_q16 - weight of history for a smoothed error (memorandum 4.5.2)
 * @error_q16: smoothed proportional error; above 1 counts as 1
 *
 * Return: 1 at error 0, 1/2 at 0.7, 0 at 1, never rising. Absolute error
 * against the exact centroid below 2^-13.
 */
static inline u32 fuzzy_alpha_q16(u32 error_q16)
{
	const u32 mid = FUZZY_ERROR_MID_Q16;
	const u32 half = FUZZY_ONE_Q16 / 2;
	u32 error = min_t(u32, error_q16, FUZZY_ONE_Q16);

	if (error <= mid)
		return half + fuzzy_bend_q16(((mid - error) << 16) / mid);
	return half - fuzzy_bend_q16((u32)div_u64((u64)(error - mid) << 16,
						  FUZZY_ONE_Q16 - mid));
}

/**
 * fuzzy_beta_q16 - weight of the old error for a change in error (4.5.2)
 * @change_q16: absolute change of the proportional error; above 1 counts as 1
 *
 * Return: 0 at no change, 1 at a change of 1, never falling. Absolute error
 * against the exact centroid below 2^-14.
 */
static inline u32 fuzzy_beta_q16(u32 change_q16)
{
	u32 c = min_t(u32, change_q16, FUZZY_ONE_Q16);
	u32 c2_q16 = (u32)(((u64)c * c) >> 16);

	return (u32)(((u64)c2_q16 * (3 * FUZZY_ONE_Q16 - 2 * c)) >> 16);
}

/**
 * fuzzy_start - begin an average with its first sample
 * @avg: the average
 * @sample: first value; beyond 1 to FUZZY_VALUE_MAX, the nearest of these
 */
static inline void fuzzy_start(struct fuzzy_average *avg, u64 sample)
{
	avg->value = clamp_t(u64, sample, 1, FUZZY_VALUE_MAX);
	avg->run = 0;
	avg->smoothed_error_q16 = FUZZY_ERROR_FIRST_Q16;
	avg->last_error_q16 = 0;
}

/**
 * fuzzy_scale - the unit of the samples has changed
 * @avg: the average, started or not
 * @to: what one old unit is in new units: @to / @from
 * @from: 0 counts as 1
 *
 * Errors are relative and stay. A run goes on, unless its nearest sample is too large for one now.
 * To the nearest unit, or units that change again and again would move the estimate.
 */
static inline void fuzzy_scale(struct fuzzy_average *avg, u16 to, u16 from)
{
	const u32 old = max_t(u32, from, 1);
	/* 2^47 * 2^16 is below 2^63 */
	u64 nearest = div_u64((u64)avg->nearest * to + old / 2, old);
	u64 value = div_u64(avg->value * to + old / 2, old);

	avg->nearest = (u32)min_t(u64, nearest, FUZZY_RUN_MAX);
	if (avg->nearest == FUZZY_RUN_MAX)
		avg->run = 0;
	if (avg->value)
		avg->value = clamp_t(u64, value, 1, FUZZY_VALUE_MAX);
}

/**
 * fuzzy_end_run - the samples so far are no run
 * @avg: the average
 */
static inline void fuzzy_end_run(struct fuzzy_average *avg)
{
	avg->run = 0;
}

/**
 * fuzzy_run - look for a level that has shifted
 * @avg: the average, which must be started
 * @sample: one value, not a mean; what is too large for FUZZY_RUN_MAX ends a run
 *
 * FUZZY_RUN_UP samples in a row above the estimate, or FUZZY_RUN_DOWN below it,
 * move it to the nearest of them: up, at most FUZZY_STEP_MAX times; down, all but
 * 2^-FUZZY_RUN_DOUBT_SHIFT of the way.
 *
 * Return: whether the estimate has moved.
 */
static inline bool fuzzy_run(struct fuzzy_average *avg, u64 sample)
{
	bool above = sample > avg->value;
	u32 coarse = (u32)min_t(u64, sample >> FUZZY_RUN_SHIFT, FUZZY_RUN_MAX);
	u64 nearest;

	PRECONDITION(avg->value);
	if (sample == avg->value || coarse == FUZZY_RUN_MAX) {
		avg->run = 0;
		return false;
	}
	if (!avg->run || avg->above != above) {
		avg->run = 0;
		avg->above = above;
		avg->nearest = coarse;
	} else if (above ? coarse < avg->nearest : coarse > avg->nearest) {
		avg->nearest = coarse;
	}
	if (++avg->run < (above ? FUZZY_RUN_UP : FUZZY_RUN_DOWN))
		return false;

	avg->run = 0;
	nearest = (u64)avg->nearest << FUZZY_RUN_SHIFT;
	if (above) {
		nearest = min_t(u64, nearest, FUZZY_STEP_MAX * avg->value);
		avg->value = max_t(u64, nearest, avg->value);
	} else if (nearest < avg->value) {
		nearest += (avg->value - nearest) >> FUZZY_RUN_DOUBT_SHIFT;
		avg->value = max_t(u64, nearest, 1);
	}
	return true;
}

/**
 * fuzzy_update - fold a sample into a started average
 * @avg: the average, which must be started
 * @sample: new value; beyond 1 to FUZZY_VALUE_MAX, the nearest of these
 *
 * Two consecutive samples far from the estimate move it all the way, or four
 * times up; one alone hardly moves it. The estimate stays between its old value and the sample.
 * Absolute error of one step against exact arithmetic: 2^-12 of the distance
 * between the two, plus one unit.
 */
static inline void fuzzy_update(struct fuzzy_average *avg, u64 sample)
{
	u64 value = avg->value;
	u64 distance;
	u32 error, change, beta, weight;

	PRECONDITION(value && value <= FUZZY_VALUE_MAX);
	sample = clamp_t(u64, sample, 1, FUZZY_VALUE_MAX);
	sample = min_t(u64, sample, FUZZY_STEP_MAX * value);
	distance = sample > value ? sample - value : value - sample;

	error = distance >= value ? FUZZY_ONE_Q16 :
		(u32)div64_u64(distance << 16, value);
	change = error > avg->last_error_q16 ? error - avg->last_error_q16 :
		 avg->last_error_q16 - error;
	avg->last_error_q16 = (u16)min_t(u32, error, U16_MAX);

	beta = fuzzy_beta_q16(change);
	error = (u32)(((u64)beta * avg->smoothed_error_q16 +
		       (u64)(FUZZY_ONE_Q16 - beta) * error) >> 16);
	avg->smoothed_error_q16 = (u16)min_t(u32, error, U16_MAX);

	weight = FUZZY_ONE_Q16 - fuzzy_alpha_q16(error);
	/* rounded up: rounded down, small estimates would stick a percent off */
	distance = (distance * weight + FUZZY_ONE_Q16 - 1) >> 16;
	avg->value = sample > value ? value + distance : value - distance;
}

#endif /* _FUZZY_AVERAGE_H */
