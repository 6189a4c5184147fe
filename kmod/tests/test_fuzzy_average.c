// SPDX-License-Identifier: GPL-2.0
/*
 * fuzzy_average.h against the fuzzy controllers it replaces: membership
 * functions, rules and the centroid of the union, integrated numerically.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fuzzy_average.h"

#define ONE ((double)FUZZY_ONE_Q16)
/* midpoint rule over the conclusion's axis; error far below the bound tested */
#define STEPS 4000

static double falling(double x, double from, double to)
{
	return x <= from ? 1 : x >= to ? 0 : (to - x) / (to - from);
}

static double rising(double x, double from, double to)
{
	return 1 - falling(x, from, to);
}

static double min2(double a, double b)
{
	return a < b ? a : b;
}

static double max2(double a, double b)
{
	return a > b ? a : b;
}

/* Centroid of the union of low/medium/high, each clipped at its rule's height;
 * without "medium" where mid is 0
 */
static double centroid(double low, double med, double high, double mid)
{
	double moment = 0, area = 0;
	int i;

	for (i = 0; i < STEPS; i++) {
		double x = (i + 0.5) / STEPS, y;

		if (mid > 0) {
			y = min2(low, falling(x, 0, mid));
			y = max2(y, min2(med, min2(rising(x, 0, mid),
						   falling(x, mid, 1))));
			y = max2(y, min2(high, rising(x, mid, 1)));
		} else {
			y = max2(min2(low, falling(x, 0, 1)),
				 min2(high, rising(x, 0, 1)));
		}
		moment += x * y;
		area += y;
	}
	return moment / area;
}

/* Rescaled so that the extreme conclusions mean 0 and 1 (section 4.5.2) */
static double oracle_alpha(double error)
{
	double least = centroid(1, 0, 0, 0.5), most = centroid(0, 0, 1, 0.5);
	double e = min2(error, 1);
	double medium = min2(rising(e, 0, 0.7), falling(e, 0.7, 1));
	double value = centroid(rising(e, 0.7, 1), medium, falling(e, 0, 0.7), 0.5);

	return (value - least) / (most - least);
}

static double oracle_beta(double change)
{
	double least = centroid(1, 0, 0, 0), most = centroid(0, 0, 1, 0);
	double c = min2(change, 1);

	return (centroid(1 - c, 0, c, 0) - least) / (most - least);
}

static void alpha_follows_the_fuzzy_rules(void **state)
{
	u32 e, last = FUZZY_ONE_Q16;

	(void)state;
	for (e = 0; e <= FUZZY_ONE_Q16; e += 97) {
		u32 alpha = fuzzy_alpha_q16(e);

		if (fabs(alpha / ONE - oracle_alpha(e / ONE)) > 1.0 / (1 << 13))
			fail_msg("alpha(%f) = %f, oracle %f", e / ONE,
				 alpha / ONE, oracle_alpha(e / ONE));
	}
	for (e = 0; e <= FUZZY_ONE_Q16; e++) {
		u32 alpha = fuzzy_alpha_q16(e);

		/* never rising, but for the rounding of one place */
		assert_true(alpha <= last + 1);
		last = alpha;
	}
}

static void alpha_at_the_points_the_rules_name(void **state)
{
	static const struct {
		double error, alpha;
		const char *reason;
	} rows[] = {
		{ 0, 1, "no error: history alone" },
		{ 0.7, 0.5, "wholly medium" },
		{ 0.8, 0.460784, "the listing's crossed intercepts give 0.425" },
		{ 0.85, 0.410714, "half medium, half high" },
		{ 1, 0, "wholly high: the sample alone" },
		{ 9, 0, "ten flows join: clamped, the listing has no answer" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (fabs(fuzzy_alpha_q16((u32)(rows[i].error * ONE)) / ONE -
			 rows[i].alpha) > 1.0 / (1 << 13))
			fail_msg("alpha(%f): %s", rows[i].error, rows[i].reason);
	assert_int_equal(fuzzy_alpha_q16(U32_MAX), 0);
}

static void beta_follows_the_fuzzy_rules(void **state)
{
	u32 c, last = 0;

	(void)state;
	for (c = 0; c <= FUZZY_ONE_Q16; c += 97)
		if (fabs(fuzzy_beta_q16(c) / ONE - oracle_beta(c / ONE)) >
		    1.0 / (1 << 14))
			fail_msg("beta(%f) = %f, oracle %f", c / ONE,
				 fuzzy_beta_q16(c) / ONE, oracle_beta(c / ONE));
	for (c = 0; c <= FUZZY_ONE_Q16; c++) {
		assert_true(fuzzy_beta_q16(c) + 1 >= last);
		last = fuzzy_beta_q16(c);
	}
	assert_int_equal(fuzzy_beta_q16(U32_MAX), FUZZY_ONE_Q16);
}

/* One step in floating point, on the closed form of the header's comment */
struct exact {
	double value, smoothed, last;
};

static double bend(double h)
{
	return h * h * (3 - h) / (4 * (2 - h * h));
}

static void exact_update(struct exact *x, double sample)
{
	double error = min2(fabs(sample - x->value) / x->value, 1);
	double change = fabs(error - x->last), beta, alpha;

	beta = change * change * (3 - 2 * change);
	x->last = error;
	x->smoothed = beta * x->smoothed + (1 - beta) * error;
	alpha = x->smoothed <= 0.7 ? 0.5 + bend((0.7 - x->smoothed) / 0.7) :
		0.5 - bend((x->smoothed - 0.7) / 0.3);
	x->value += (1 - alpha) * (sample - x->value);
}

static void a_step_is_exact_to_2_to_minus_12(void **state)
{
	/* 7 ns, 97 us, 1.2 ms, 190 ms, 60 s, in ns with ten places */
	static const u64 scales[] = { 7ULL << 10, 97000ULL << 10,
		1200000ULL << 10, 190000000ULL << 10, 60000000000ULL << 10 };
	u64 seed = 1;
	size_t i;
	int n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(scales); i++) {
		struct fuzzy_average avg;

		fuzzy_start(&avg, scales[i]);
		for (n = 0; n < 20000; n++) {
			struct exact x = { (double)avg.value,
				avg.smoothed_error_q16 / ONE,
				avg.last_error_q16 / ONE };
			double distance;
			u64 sample;

			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			/* now and then a burst of nonsense, else within half */
			sample = scales[i] / 2 + (seed >> 20) % scales[i];
			if (n % 50 == 0)
				sample = seed >> 17;
			sample = clamp_t(u64, sample, 1, FUZZY_VALUE_MAX);
			fuzzy_update(&avg, sample);
			sample = min_t(u64, sample, (u64)(4 * x.value));
			distance = fabs((double)sample - x.value);
			exact_update(&x, (double)sample);
			if (fabs((double)avg.value - x.value) > distance / 4096 + 1)
				fail_msg("scale %zu step %d: %.0f, exact %.3f", i, n,
					 (double)avg.value, x.value);
		}
	}
}

/* The appendix of the memorandum begins with an error of one half, so that a second
 * sample is not taken for the truth just because it is near the first
 */
static void the_second_sample_meets_an_error_of_half(void **state)
{
	static const struct {
		u64 sample;
		const char *reason;
	} rows[] = {
		{ 1010000, "near the first: next to no change, the error counts" },
		{ 1500000, "half as much again: both count as much" },
		{ 500000, "half: the same, downwards" },
		{ 1900000, "nearly twice: the change is large, history counts" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct exact x = { 1000000, 0.5, 0 };
		struct fuzzy_average avg;
		double distance = fabs((double)rows[i].sample - x.value);

		fuzzy_start(&avg, 1000000);
		fuzzy_update(&avg, rows[i].sample);
		exact_update(&x, (double)rows[i].sample);
		if (fabs((double)avg.value - x.value) > distance / 4096 + 1)
			fail_msg("%s: %.0f, exact %.3f", rows[i].reason,
				 (double)avg.value, x.value);
	}
}

static void a_lone_spike_is_not_believed_but_a_step_is(void **state)
{
	struct fuzzy_average avg;
	u64 before;
	int i;

	(void)state;
	fuzzy_start(&avg, 1000000);
	for (i = 0; i < 50; i++)
		fuzzy_update(&avg, i % 2 ? 1001000 : 999000);
	before = avg.value;
	fuzzy_update(&avg, 10000000);
	/* one sample nine times too large moves the estimate by a few percent */
	assert_in_range(avg.value, before, before + before / 5);
	/* an outage of a thousand times s_b as little: it counts as four */
	fuzzy_start(&avg, 1000000);
	for (i = 0; i < 50; i++)
		fuzzy_update(&avg, i % 2 ? 1060000 : 940000);
	fuzzy_update(&avg, 1000000000);
	assert_in_range(avg.value, 940000, 2000000);
	for (i = 0; i < 6; i++)
		fuzzy_update(&avg, 10000000);
	assert_in_range(avg.value, 9000000, 10000000);
	/* near the truth the weight of a sample is 2.5 times the error, so the
	 * error falls as 1 / (2.5 n): 1 % after 40 samples, and twice that
	 * allowed for the way there
	 */
	for (i = 0; i < 40; i++)
		fuzzy_update(&avg, 1000000);
	assert_in_range(avg.value, 1000000, 1020000);
}

static void extremes_stay_in_range(void **state)
{
	struct fuzzy_average avg;
	int i;

	(void)state;
	fuzzy_start(&avg, 0);
	assert_int_equal(avg.value, 1);
	for (i = 0; i < 100; i++) {
		fuzzy_update(&avg, i % 3 ? U64_MAX : 0);
		assert_in_range(avg.value, 1, FUZZY_VALUE_MAX);
	}
	for (i = 0; i < 400; i++)
		fuzzy_update(&avg, 5000);
	assert_in_range(avg.value, 4999, 5001);
}

static void a_small_estimate_does_not_stick(void **state)
{
	/* 7 ns, the smallest there is; rounded down it would stay 0.7 % off */
	const u64 smallest = 7ULL << 10;
	struct fuzzy_average avg;
	int i;

	(void)state;
	fuzzy_start(&avg, smallest + smallest / 100);
	for (i = 0; i < 1000; i++)
		fuzzy_update(&avg, smallest);
	assert_in_range(avg.value, smallest, smallest + smallest / 1000);
}

static void a_run_on_one_side_is_a_shift(void **state)
{
	struct fuzzy_average avg;

	(void)state;
	fuzzy_start(&avg, 1200000);
	/* up: three, to the nearest of them */
	assert_false(fuzzy_run(&avg, 6400000));
	assert_false(fuzzy_run(&avg, 2560000));
	assert_int_equal(avg.value, 1200000);
	assert_true(fuzzy_run(&avg, 3200000));
	assert_int_equal(avg.value, 2560000);
	/* the next run begins anew; down: two */
	assert_false(fuzzy_run(&avg, 1280000));
	assert_int_equal(avg.value, 2560000);
	assert_true(fuzzy_run(&avg, 640000));
	/* but for 1/32 of the way */
	assert_int_equal(avg.value, 1280000 + (2560000 - 1280000) / 32);
}

/* What does not fit 29 bits would come back as a short service time */
static void a_run_of_samples_too_long_to_keep_is_left_to_the_average(void **state)
{
	/* 2^29 units of 2^8: 134 ms in ns with ten places */
	const u64 too_long = 1ULL << (29 + FUZZY_RUN_SHIFT);
	const u64 unit = 1ULL << FUZZY_RUN_SHIFT;
	const struct {
		u64 sample;
		bool kept;
		const char *reason;
	} rows[] = {
		{ too_long - 2 * unit, true, "the largest that is kept" },
		{ too_long - unit, false, "all bits set: stands for all longer ones" },
		{ too_long, false, "a bit too many" },
		{ 2 * too_long + 5 * unit, false, "its low bits are a short time" },
		{ FUZZY_VALUE_MAX, false, "the largest sample" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fuzzy_average avg;
		const u64 start = too_long / 2;
		bool moved = false;
		int n;

		fuzzy_start(&avg, start);
		for (n = 0; n < 3; n++)
			moved = fuzzy_run(&avg, rows[i].sample);
		if (moved != rows[i].kept ||
		    avg.value != (rows[i].kept ? rows[i].sample : start))
			fail_msg("%s: moved %d, to %.0f", rows[i].reason, moved,
				 (double)avg.value);
	}
}

static void samples_on_both_sides_are_noise(void **state)
{
	struct fuzzy_average avg;
	int i;

	(void)state;
	fuzzy_start(&avg, 1000000);
	for (i = 0; i < 300; i++) {
		/* two above, one below; then exactly the estimate */
		assert_false(fuzzy_run(&avg, i % 3 ? 2000000 : 500000));
		if (i % 3 == 2)
			assert_false(fuzzy_run(&avg, 1000000));
	}
	assert_int_equal(avg.value, 1000000);
}

/* What fuzzy_run() does, with every sample kept */
static void naive_run(u64 *value, u64 *kept, int *count, u64 sample)
{
	bool above = sample > *value;
	int i, wanted = above ? 3 : 2;
	u64 nearest;

	if (sample == *value || sample >> FUZZY_RUN_SHIFT >= FUZZY_RUN_MAX) {
		*count = 0;
		return;
	}
	if (*count && (kept[0] > *value) != above)
		*count = 0;
	kept[(*count)++] = sample;
	if (*count < wanted)
		return;
	nearest = kept[0];
	for (i = 1; i < wanted; i++)
		nearest = above ? min_t(u64, nearest, kept[i]) :
				  max_t(u64, nearest, kept[i]);
	*count = 0;
	if (above)
		*value = min_t(u64, nearest, 4 * *value);
	else
		*value -= (u64)((double)(*value - nearest) * 31 / 32);
}

static void runs_agree_with_a_naive_one(void **state)
{
	u64 seed = 7, kept[3], value;
	struct fuzzy_average avg;
	int count = 0, i;

	(void)state;
	fuzzy_start(&avg, 97000ULL << 10);
	for (i = 0; i < 200000; i++) {
		u64 sample;

		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		sample = avg.value / 2 + (seed >> 20) % avg.value;
		if (i % 1000 == 0)
			sample = seed >> (17 + seed % 40);
		sample = clamp_t(u64, sample, 1, FUZZY_VALUE_MAX);
		/* rounding must not let the two drift apart */
		value = avg.value;
		naive_run(&value, kept, &count, sample);
		fuzzy_run(&avg, sample);
		/* a unit of @nearest, and rounding */
		if (fabs((double)avg.value - (double)value) >
		    (1 << FUZZY_RUN_SHIFT) + 1)
			fail_msg("sample %d: %.0f, naive %.0f", i,
				 (double)avg.value, (double)value);
		assert_in_range(avg.value, 1, FUZZY_VALUE_MAX);
		assert_int_equal(avg.run, count);
		if (avg.value < 2000 || avg.value > 1ULL << 36) {
			fuzzy_start(&avg, 97000ULL << 10);
			count = 0;
		}
	}
}

static void another_unit_leaves_the_average_what_it_is(void **state)
{
	struct fuzzy_average avg = {};

	(void)state;
	fuzzy_scale(&avg, 8948, 1448);
	assert_int_equal(avg.value, 0);
	fuzzy_start(&avg, 1448000);
	fuzzy_run(&avg, 2 * 1448000);
	fuzzy_scale(&avg, 8948, 1448);
	assert_int_equal(avg.value, 8948000);
	/* a run goes on in the new unit, */
	assert_int_equal(avg.run, 1);
	fuzzy_run(&avg, 3 * 8948000);
	assert_true(fuzzy_run(&avg, 4 * 8948000));
	assert_true(avg.value > 2 * 8948000 - 4096 && avg.value <= 2 * 8948000);
	fuzzy_run(&avg, 3 * avg.value);
	assert_int_equal(avg.run, 1);
	/* but where its nearest is too large for one */
	fuzzy_scale(&avg, U16_MAX, 0);
	assert_int_equal(avg.run, 0);
	fuzzy_scale(&avg, U16_MAX, 1);
	assert_true(avg.value == FUZZY_VALUE_MAX);
	avg.value = 1;
	fuzzy_scale(&avg, 1, U16_MAX);
	assert_int_equal(avg.value, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_unit_leaves_the_average_what_it_is),
		cmocka_unit_test(alpha_follows_the_fuzzy_rules),
		cmocka_unit_test(alpha_at_the_points_the_rules_name),
		cmocka_unit_test(beta_follows_the_fuzzy_rules),
		cmocka_unit_test(a_step_is_exact_to_2_to_minus_12),
		cmocka_unit_test(the_second_sample_meets_an_error_of_half),
		cmocka_unit_test(a_lone_spike_is_not_believed_but_a_step_is),
		cmocka_unit_test(extremes_stay_in_range),
		cmocka_unit_test(a_small_estimate_does_not_stick),
		cmocka_unit_test(a_run_on_one_side_is_a_shift),
		cmocka_unit_test(a_run_of_samples_too_long_to_keep_is_left_to_the_average),
		cmocka_unit_test(samples_on_both_sides_are_noise),
		cmocka_unit_test(runs_agree_with_a_naive_one),
	};

	return cmocka_run_group_tests_name("fuzzy_average", tests, NULL, NULL);
}
