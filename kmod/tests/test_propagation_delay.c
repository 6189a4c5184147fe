// SPDX-License-Identifier: GPL-2.0
/* propagation_delay.h: the smallest round trip, and how it stays honest */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "propagation_delay.h"

static void the_smallest_round_trip_counts(void **state)
{
	struct propagation_delay p;

	(void)state;
	prop_init(&p, 0);
	assert_int_equal(p.delay_us, PROP_UNKNOWN_US);
	prop_sample(&p, 50000, 0);
	prop_sample(&p, 44000, 10);
	prop_sample(&p, 47000, 20);
	assert_int_equal(p.delay_us, 44000);
}

/* One second of rounds of 100 ms; the queue adds to R unless it is dipped */
static void second(struct propagation_delay *p, u32 start_ms, u32 route_us,
		   u32 queue_us)
{
	u32 ms;

	for (ms = start_ms; ms < start_ms + 1000; ms += 100) {
		prop_sample(p, route_us + (prop_dipping(p) ? 0 : queue_us), ms);
		prop_round(p, ms);
	}
}

static void a_standing_queue_does_not_creep_into_the_estimate(void **state)
{
	struct propagation_delay p;
	u32 s;

	(void)state;
	prop_init(&p, 0);
	prop_sample(&p, 44000, 0);
	for (s = 0; s < 3600; s++)
		second(&p, s * 1000, 44000, 500);
	assert_int_equal(p.delay_us, 44000);
}

static void a_longer_route_is_noticed(void **state)
{
	struct propagation_delay p;
	u32 s;

	(void)state;
	prop_init(&p, 0);
	prop_sample(&p, 44000, 0);
	for (s = 0; s < 12; s++)
		second(&p, s * 1000, 80000, 500);
	assert_int_equal(p.delay_us, 80000);
	second(&p, s * 1000, 30000, 500);
	assert_in_range(p.delay_us, 30000, 30500);
}

static void a_confirmed_estimate_is_not_dipped_for(void **state)
{
	struct propagation_delay p;
	u32 s;

	(void)state;
	prop_init(&p, 0);
	for (s = 0; s < 60; s++) {
		second(&p, s * 1000, 44000, 0);
		assert_false(prop_dipping(&p));
	}
}

static void a_dip_lasts_three_round_trips_and_survives_silence(void **state)
{
	struct propagation_delay p;
	int rounds = 0;

	(void)state;
	/* across the wrap of the clock */
	prop_init(&p, U32_MAX - 5000);
	prop_sample(&p, 44000, U32_MAX - 5000);
	prop_round(&p, 4000);
	assert_false(prop_dipping(&p));
	prop_round(&p, 6000);
	assert_true(prop_dipping(&p));
	/* no round trip is seen during the dip: the estimate stays */
	while (prop_dipping(&p)) {
		prop_round(&p, 6000);
		rounds++;
	}
	assert_int_equal(rounds, PROP_DIP_ROUNDS);
	assert_int_equal(p.delay_us, 44000);
}

static void a_long_path_is_dipped_for_once_in_fifty_round_trips(void **state)
{
	const u32 rtt_ms = 2000;
	struct propagation_delay p;
	u32 ms, dips = 0;

	(void)state;
	prop_init(&p, 0);
	prop_sample(&p, rtt_ms * 1000, 0);
	for (ms = rtt_ms; ms <= 220 * rtt_ms; ms += rtt_ms) {
		bool dipped = prop_dipping(&p);

		prop_sample(&p, rtt_ms * 1000 + (dipped ? 0 : 5000), ms);
		prop_round(&p, ms);
		dips += prop_dipping(&p) && !dipped;
	}
	assert_int_equal(dips, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_smallest_round_trip_counts),
		cmocka_unit_test(a_standing_queue_does_not_creep_into_the_estimate),
		cmocka_unit_test(a_longer_route_is_noticed),
		cmocka_unit_test(a_confirmed_estimate_is_not_dipped_for),
		cmocka_unit_test(a_dip_lasts_three_round_trips_and_survives_silence),
		cmocka_unit_test(a_long_path_is_dipped_for_once_in_fifty_round_trips),
	};

	return cmocka_run_group_tests_name("propagation_delay", tests, NULL, NULL);
}
