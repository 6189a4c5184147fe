// SPDX-License-Identifier: GPL-2.0
/* held_acks.h against the same mean in floating point, and against Little's law */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "draw.h"
#include "held_acks.h"

/* so many periods of the same ACKs */
static void periods(struct held_acks *h, u32 count, u32 above_us, u32 there_us, u32 silence_us)
{
	u32 n;

	while (count--) {
		for (n = 0; n < 10; n++)
			held_acks_came(h, above_us, there_us);
		held_acks_period(h, silence_us);
	}
}

static void what_is_not_the_way_there_is_the_way_back(void **state)
{
	static const struct {
		u32 above_us, there_us, silence_us, held_us;
		const char *reason;
	} rows[] = {
		{ 8000, 0, 20000, 8000, "all of it on the way back" },
		{ 8000, 3000, 20000, 5000, "some of it on the way there" },
		{ 8000, 8000, 20000, 0, "a queue" },
		{ 8000, 9000, 20000, 0, "never less than nothing" },
		{ 0, 0, 20000, 0, "as fast as ever" },
		{ 8000, 0, 5000, 5000, "ACKs that are held come after a silence as long" },
		{ 4000000, 0, 1200, 1200, "a queue by a clock that drifts" },
		{ 8000, 0, 0, 0, "no clock of the receiver" },
		{ 1000, 0, 20000, 1000, "a tick" },
		{ 999, 0, 20000, 0, "less than a tick" },
		{ U32_MAX, 0, U32_MAX, HELD_ACKS_MOST_US, "a second at most" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct held_acks h = {};
		u32 got_us;

		periods(&h, 200, rows[i].above_us, rows[i].there_us, rows[i].silence_us);
		got_us = held_acks_us(&h);
		/* the mean is rounded down in each period, and stops up to 7 us below */
		if (got_us > 2 * rows[i].held_us || got_us + 2 * 7 < 2 * rows[i].held_us)
			fail_msg("%s: %u us", rows[i].reason, got_us);
		/* and is forgotten */
		periods(&h, 200, 0, 0, 20000);
		assert_int_equal(held_acks_us(&h), 0);
	}
}

static void a_period_without_an_ack_counts_as_none_held(void **state)
{
	struct held_acks h = {};

	(void)state;
	held_acks_period(&h, U32_MAX);
	assert_int_equal(held_acks_us(&h), 0);
	periods(&h, 100, 16000, 0, 16000);
	held_acks_period(&h, 16000);
	/* by an eighth, and what the mean is below 16,000 */
	assert_in_range(held_acks_us(&h), 2 * 13980, 2 * 14000);
}

static void each_period_is_the_equation(void **state)
{
	int i, step;

	(void)state;
	for (i = 0; i < 5000; i++) {
		struct held_acks h = {};
		double mean_us = 0;

		for (step = 1; step < 40; step++) {
			u32 silence_us = (u32)draw_scale(22), n, acks = (u32)draw(30);
			double sum_us = 0, held_us;

			for (n = 0; n < acks; n++) {
				u32 above_us = (u32)draw_scale(21), there_us = (u32)draw_scale(21);

				held_acks_came(&h, above_us, there_us);
				sum_us += fmin(fmax((double)above_us - there_us, 0), 1e6);
			}
			held_acks_period(&h, silence_us);
			held_us = fmin(acks ? floor(sum_us / acks) : 0, silence_us);
			mean_us += ((held_us < 1000 ? 0 : held_us) - mean_us) / 8;
			/* rounded down in each period: at most 1 / (1 / 8) us in sum */
			if (h.mean_us > mean_us + 1e-6 || h.mean_us < mean_us - 8)
				fail_msg("%d.%d: %u us, exact %f", i, step, h.mean_us, mean_us);
		}
	}
}

static void a_long_period_overflows_nothing(void **state)
{
	struct held_acks h = { .sum_us = U32_MAX - 1, .acks = U32_MAX };

	(void)state;
	held_acks_came(&h, U32_MAX, 0);
	assert_int_equal(h.sum_us, U32_MAX);
	/* the count has wrapped */
	assert_int_equal(h.acks, 0);
	held_acks_period(&h, U32_MAX);
	assert_int_equal(held_acks_us(&h), 2 * HELD_ACKS_MOST_US / 8);
}

/* Little's law: packets arrive at a rate, and ACKs are handed over at random times. What is
 * outstanding in the mean, without a queue, is rate * (R + mean): half of what the pipe is
 * longer by.
 */
static void the_mean_is_what_is_outstanding(void **state)
{
	static const u32 gap_us[] = { 2000, 8000, 20000 };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(gap_us); i++) {
		const double service_us = 100;
		double opens_us = 0, at_us = 0, held = 0, acks = 0, end_us = 0;
		u64 shown = 0, periods_seen = 0;
		struct held_acks h = {};

		for (; at_us < 4e8; at_us += service_us) {
			while (opens_us < at_us)
				opens_us -= gap_us[i] * log(1 - draw(1U << 30) / (double)(1U << 30));
			held_acks_came(&h, (u32)(opens_us - at_us), 0);
			held += opens_us - at_us;
			acks++;
			if (at_us < end_us)
				continue;
			end_us = at_us + 100000;
			held_acks_period(&h, U32_MAX);
			shown += held_acks_us(&h);
			periods_seen++;
		}
		/* 1/16: some 20,000 gaps, each as random as long; and less than a tick is none */
		assert_true(fabs(shown / (double)periods_seen / 2 / (held / acks) - 1) < 1 / 16.0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_the_way_there_is_the_way_back),
		cmocka_unit_test(a_period_without_an_ack_counts_as_none_held),
		cmocka_unit_test(each_period_is_the_equation),
		cmocka_unit_test(a_long_period_overflows_nothing),
		cmocka_unit_test(the_mean_is_what_is_outstanding),
	};

	return cmocka_run_group_tests_name("held_acks", tests, NULL, NULL);
}
