// SPDX-License-Identifier: GPL-2.0
/*
 * red_model.h against its own definition, in floating point: the average, the slopes of the
 * probability, drops as far apart as said, and in proportion to size. Seeds are fixed.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/bench/loss_model.h"
#include "tests/bench/red_model.h"

#define LIMIT 1000U
#define MAX_P 0.1

static const struct red_params of = { LIMIT, (u32)(MAX_P * RED_PPB), 1000 };

static double probability(double avg)
{
	const double low = LIMIT * 0.05, high = LIMIT * 0.5;

	if (avg < low)
		return 0;
	if (avg < high)
		return MAX_P * (avg - low) / (high - low);
	if (avg < 2 * high)
		return MAX_P + (1 - MAX_P) * (avg - high) / high;
	return 1;
}

static void the_slopes_are_the_definition(void **state)
{
	double avg;

	(void)state;
	for (avg = 0; avg < 1.2 * LIMIT; avg += 0.37) {
		double got = red_probability_ppb(&of, (u64)(avg * (1 << RED_SHIFT))) / 1e9;

		if (fabs(got - probability(avg)) > 2e-5)
			fail_msg("average %f: %f, not %f", avg, got, probability(avg));
	}
}

static void the_average_is_the_definition(void **state)
{
	struct red_state s = { 0 };
	double avg = 0;
	u64 random = 1;
	int i;

	(void)state;
	for (i = 0; i < 100000; i++) {
		u32 queue = (random = random * 6364136223846793005ULL + 1) >> 54;

		avg += (queue - avg) / 512;
		red_takes_ppb(&s, &of, queue, RED_ONE_SIZE, 0);
		assert_true(fabs(s.avg_q20 / 1048576.0 - avg) < 0.01);
	}
}

static void an_empty_queue_forgets_by_the_time_of_packets(void **state)
{
	static const u32 packets[] = { 0, 1, 2, 511, 512, 5000, 16384, 16385, U32_MAX };
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(packets); i++) {
		struct red_state s = { .avg_q20 = 400ULL << RED_SHIFT };
		double avg = 400 * pow(511.0 / 512, packets[i]) * 511 / 512;

		red_emptied(&s, 5);
		red_takes_ppb(&s, &of, 0, RED_ONE_SIZE, 5 + (u64)packets[i] * of.packet_ns);
		assert_true(fabs(s.avg_q20 / 1048576.0 - avg) < 0.001);
		assert_int_equal(s.idle_ns, 0);
	}
}

/* p / (1 - n p): with a steady average the gaps are uniform from 1 to 1/p */
static void drops_are_as_far_apart_as_said(void **state)
{
	const u64 avg_q20 = 275ULL << RED_SHIFT;
	const double p = probability(275);
	double gaps = 0, squares = 0;
	struct red_state s = { .avg_q20 = avg_q20 };
	struct loss_state chance;
	int i, gap = 0, longest = 0, drops = 0;

	(void)state;
	loss_begin(&chance, 1);
	for (i = 0; i < 1000000; i++) {
		gap++;
		if (!loss_happens(&chance, red_takes_ppb(&s, &of, 275, RED_ONE_SIZE, 0)))
			continue;
		red_dropped(&s);
		drops++;
		gaps += gap;
		squares += (double)gap * gap;
		longest = gap > longest ? gap : longest;
		gap = 0;
	}
	assert_true(longest <= ceil(1 / p) && longest > 0.95 / p);
	/* uniform on 1 .. 20 */
	assert_true(fabs(gaps / drops - (1 / p + 1) / 2) < 0.1);
	assert_true(fabs(squares / drops - pow(gaps / drops, 2) - (1 / p / p - 1) / 12) < 1);
}

/* of each size its part, also where they are mixed */
static void drops_are_in_proportion_to_size(void **state)
{
	const u32 small_q16 = RED_ONE_SIZE / 10;
	struct red_state s = { .avg_q20 = 275ULL << RED_SHIFT };
	double large = 0, small = 0;
	struct loss_state chance;
	int i;

	(void)state;
	loss_begin(&chance, 2);
	for (i = 0; i < 2000000; i++) {
		bool is_large = !(i % 11);
		u32 ppb = red_takes_ppb(&s, &of, 275, is_large ? RED_ONE_SIZE : small_q16, 0);

		if (!loss_happens(&chance, ppb))
			continue;
		red_dropped(&s);
		large += is_large;
		small += !is_large;
	}
	/* ten small ones for each large one: as many of these drops as of those */
	assert_true(fabs(large / small - 1) < 0.05);
}

static void what_is_full_takes_nothing(void **state)
{
	static const struct red_params wide = { RED_LIMIT_MAX, RED_PPB, 0 };
	struct red_state s = { .avg_q20 = 1000ULL << RED_SHIFT };

	(void)state;
	assert_int_equal(red_takes_ppb(&s, &of, 1000, 1, 0), RED_PPB);
	s = (struct red_state){ .since_q16 = U64_MAX / 2, .avg_q20 = 300ULL << RED_SHIFT };
	assert_int_equal(red_takes_ppb(&s, &of, 300, U32_MAX, 0), RED_PPB);
	/* the widest products, and a time of nothing */
	s = (struct red_state){ .avg_q20 = (u64)U32_MAX << RED_SHIFT, .idle_ns = 1 };
	assert_in_range(red_takes_ppb(&s, &wide, U32_MAX, U32_MAX, 512), 0, RED_PPB);
	assert_in_range(red_takes_ppb(&s, &wide, U32_MAX, U32_MAX, 600), 0, RED_PPB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_slopes_are_the_definition),
		cmocka_unit_test(the_average_is_the_definition),
		cmocka_unit_test(an_empty_queue_forgets_by_the_time_of_packets),
		cmocka_unit_test(drops_are_as_far_apart_as_said),
		cmocka_unit_test(drops_are_in_proportion_to_size),
		cmocka_unit_test(what_is_full_takes_nothing),
	};

	return cmocka_run_group_tests_name("red_model", tests, NULL, NULL);
}
