// SPDX-License-Identifier: GPL-2.0
/* way_back.h against the same sums without a bound on any number */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "draw.h"
#include "way_back.h"

static void others_packets_on_the_way_back_are_in_the_pipe(void **state)
{
	struct way_back w = {};

	(void)state;
	assert_int_equal(way_back_prop_us(&w, 20000), 20000);
	way_back_period(&w, 5000, 0, false);
	way_back_period(&w, 2000, 0, false);
	assert_int_equal(way_back_prop_us(&w, 20000), 27000);
	assert_int_equal(way_back_pipe_us(&w, 20000), 27000);
	/* no shorter round trip than that */
	way_back_came(&w, 27000, 20000, 0);
	assert_int_equal(way_back_prop_us(&w, 20000), 27000);
	/* they are gone */
	way_back_came(&w, 22000, 20000, 0);
	assert_int_equal(way_back_prop_us(&w, 20000), 22000);
	way_back_came(&w, 19000, 20000, 0);
	assert_int_equal(way_back_prop_us(&w, 20000), 20000);
	way_back_period(&w, 5000, 0, true);
	way_back_renewed(&w);
	assert_int_equal(way_back_prop_us(&w, 20000), 20000);
}

static void acks_are_held_beyond_that(void **state)
{
	struct way_back w = {};
	u32 period;

	(void)state;
	way_back_period(&w, 5000, 0, false);
	for (period = 0; period < 200; period++) {
		/* 4 ms of 12 are on the way there, 5 are others' packets on the way back */
		way_back_came(&w, 20000 + 12000, 20000, 4000);
		way_back_period(&w, 0, 20000, false);
	}
	assert_in_range(way_back_pipe_us(&w, 20000), 25000 + 2 * 2993, 25000 + 2 * 3000);
	/* what is limited says nothing of it */
	way_back_period(&w, 0, 0, true);
	assert_in_range(way_back_pipe_us(&w, 20000), 25000 + 2 * 2993, 25000 + 2 * 3000);
	assert_int_equal(way_back_prop_us(&w, 20000), 25000);
}

static void what_is_unknown_stays_so(void **state)
{
	struct way_back w = {};

	(void)state;
	way_back_period(&w, 5000, 0, false);
	assert_int_equal(way_back_prop_us(&w, PROP_UNKNOWN_US), PROP_UNKNOWN_US);
	assert_int_equal(way_back_pipe_us(&w, PROP_UNKNOWN_US), PROP_MAX_US);
	/* a round trip that is beyond nothing says that the way back is no longer */
	way_back_came(&w, U32_MAX, PROP_UNKNOWN_US, 0);
	assert_int_equal(way_back_prop_us(&w, 20000), 20000);
}

static void it_is_the_sum_within_its_bounds(void **state)
{
	int i, step;

	(void)state;
	for (i = 0; i < 5000; i++) {
		struct way_back w = {};
		u64 longer_us = 0;

		for (step = 0; step < 40; step++) {
			u32 prop_us = (u32)draw_scale(28), rtt_us = (u32)draw_scale(31);
			u32 found_us = (u32)draw_scale(31);
			u64 above_us = rtt_us > prop_us ? rtt_us - prop_us : 0, sum_us;

			if (draw(2)) {
				way_back_came(&w, rtt_us, prop_us, (u32)draw_scale(21));
				longer_us = longer_us > above_us ? above_us : longer_us;
			} else {
				way_back_period(&w, found_us, (u32)draw_scale(21), draw(2));
				longer_us += found_us;
				longer_us = longer_us > 100000000 ? 100000000 : longer_us;
			}
			sum_us = prop_us + longer_us;
			if (prop_us <= 100000000)
				assert_int_equal(way_back_prop_us(&w, prop_us),
						 sum_us > 100000000 ? 100000000 : sum_us);
			else
				assert_int_equal(way_back_prop_us(&w, prop_us), prop_us);
			sum_us += 2ULL * w.held.mean_us;
			assert_int_equal(way_back_pipe_us(&w, prop_us),
					 sum_us > 100000000 ? 100000000 : sum_us);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_packets_on_the_way_back_are_in_the_pipe),
		cmocka_unit_test(acks_are_held_beyond_that),
		cmocka_unit_test(what_is_unknown_stays_so),
		cmocka_unit_test(it_is_the_sum_within_its_bounds),
	};

	return cmocka_run_group_tests_name("way_back", tests, NULL, NULL);
}
