// SPDX-License-Identifier: GPL-2.0
/* propagation_delay.h: the smallest round trip, and how it stays honest */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "draw.h"
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
		prop_round(p, ms, true);
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

static void a_confirmed_estimate_is_dipped_for_a_sixth_as_often(void **state)
{
	struct propagation_delay p;
	u32 s, dips = 0;

	(void)state;
	prop_init(&p, 0);
	for (s = 0; s < 600; s++) {
		second(&p, s * 1000, 44000, 0);
		dips += prop_dipping(&p);
	}
	/* a dip of 0.3 s is seen at the end of a second, or not */
	assert_in_range(dips, 2, 9);
	for (s = 0; s < 59; s++) {
		prop_init(&p, s * 100000);
		second(&p, s * 100000, 44000, 0);
		/* four seconds are what the age of a dip is counted in */
		prop_sample(&p, 44000, s * 100000 + 56000);
		prop_round(&p, s * 100000 + 56000, true);
		assert_false(prop_dipping(&p));
		prop_sample(&p, 44000, s * 100000 + 66000);
		prop_round(&p, s * 100000 + 66000, true);
		assert_true(prop_dipping(&p));
	}
}

/* A flow that fills what it takes for the pipe, and an eighth less while it dips */
static u32 round_trip_us(const struct propagation_delay *p, u32 route_us)
{
	return max_t(u32, route_us, prop_dipping(p) ? p->delay_us / 8 * 7 : p->delay_us);
}

static void an_overestimate_falls_in_a_row_of_dips(void **state)
{
	static const u32 routes_us[] = { 100, 9000, 44000, 1000000 };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(routes_us); i++) {
		const u64 first_us = 14 * routes_us[i];
		u64 now_us = 0, dipped_us = 0, starts_us;
		struct propagation_delay p;

		prop_init(&p, 0);
		prop_sample(&p, (u32)first_us, 0);
		/* the first dip begins after a minute, or 300 round trips, or 900 s, and
		 * what the clock leaves
		 */
		starts_us = clamp_t(u64, 300 * first_us, 60 * USEC_PER_SEC,
				    900 * USEC_PER_SEC) +
			    8 * USEC_PER_SEC + 2 * first_us;
		while (p.delay_us > routes_us[i] * 17 / 16) {
			u32 rtt_us = round_trip_us(&p, routes_us[i]);

			dipped_us += prop_dipping(&p) ? rtt_us : 0;
			now_us += rtt_us;
			assert_true(now_us < 2 * starts_us);
			prop_sample(&p, rtt_us, (u32)(now_us / USEC_PER_MSEC));
			prop_round(&p, (u32)(now_us / USEC_PER_MSEC), true);
		}
		/* three round trips of each dip, the sum of a geometric series */
		assert_true(dipped_us <= 3 * 8 * first_us);
		assert_true(now_us <= starts_us + dipped_us);
	}
}

static void a_dip_that_finds_the_same_is_not_followed_by_another(void **state)
{
	static const struct {
		u32 found_us;
		bool again;
	} rows[] = { { 44000, false }, { 41500, false }, { 41000, true }, { 50000, false } };
	size_t i;
	u32 r;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct propagation_delay p;

		prop_init(&p, 0);
		prop_sample(&p, 44000, 0);
		prop_round(&p, 11000, true);
		for (r = 0; r < PROP_DIP_ROUNDS; r++) {
			assert_true(prop_dipping(&p));
			prop_sample(&p, rows[i].found_us, 11100);
			prop_round(&p, 11100, true);
		}
		assert_int_equal(p.delay_us, rows[i].found_us);
		assert_int_equal(prop_dipping(&p), rows[i].again);
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
	prop_round(&p, 4000, true);
	assert_false(prop_dipping(&p));
	prop_round(&p, 6000, true);
	assert_true(prop_dipping(&p));
	/* no round trip is seen during the dip: the estimate stays */
	while (prop_dipping(&p)) {
		prop_round(&p, 6000, true);
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
		prop_round(&p, ms, true);
		dips += prop_dipping(&p) && !dipped;
	}
	assert_int_equal(dips, 4);
}

/*
 * The same with times that neither wrap nor are cut to 16 ms. Only when a dip begins
 * depends on that: within 16 ms of when it should, before or after, or within 8 s where it
 * is the last dip that is too long ago.
 */
static void an_exact_clock_gives_the_same_estimates(void **state)
{
	struct {
		u64 now_ms, confirmed_ms, dipped_ms;
		u64 round_ms;
		u64 delay_us, dip_min_us;
		unsigned int rounds;
		bool fell;
	} exact;
	unsigned int dips = 0, again = 0, moved = 0, path, i;

	(void)state;
	for (path = 0; path < 200; path++) {
		u64 rtt_us = draw_scale(27), longest_ms = draw_scale(15);
		struct propagation_delay p;

		rtt_us = min_t(u64, rtt_us, 100000000);
		exact.now_ms = draw(1ULL << 32);
		exact.confirmed_ms = exact.now_ms;
		exact.dipped_ms = exact.now_ms;
		exact.fell = false;
		exact.round_ms = exact.now_ms;
		exact.delay_us = PROP_UNKNOWN_US;
		exact.dip_min_us = PROP_UNKNOWN_US;
		exact.rounds = 0;
		prop_init(&p, (u32)exact.now_ms);
		for (i = 0; i < 2000; i++) {
			double age_ms, dip_age_ms, refresh_ms, trust_ms;
			u64 sample_us;
			bool dipped;

			/* the route becomes longer or shorter */
			if (!draw(500)) {
				rtt_us = draw_scale(26);
				moved++;
			}
			sample_us = rtt_us + draw(rtt_us / 8 + 1);
			exact.now_ms += draw(longest_ms);
			/* a round trip takes at most 100 s */
			if (draw(4) && exact.now_ms + longest_ms <
			    exact.round_ms + 100000) {
				prop_sample(&p, (u32)sample_us, (u32)exact.now_ms);
				if (sample_us <= exact.delay_us) {
					exact.fell |= exact.delay_us - sample_us >
						      exact.delay_us / 16;
					exact.delay_us = min_t(u64, sample_us, 100000000);
					exact.confirmed_ms = exact.now_ms;
				}
				exact.dip_min_us = min_t(u64, sample_us, exact.dip_min_us);
				assert_int_equal(p.delay_us, exact.delay_us);
				continue;
			}
			exact.round_ms = exact.now_ms;
			if (exact.rounds) {
				prop_round(&p, (u32)exact.now_ms, true);
				if (!--exact.rounds) {
					if (exact.dip_min_us != PROP_UNKNOWN_US)
						exact.delay_us = min_t(u64, exact.dip_min_us,
								       100000000);
					exact.confirmed_ms = exact.now_ms;
					exact.dipped_ms = exact.now_ms;
					if (exact.fell) {
						exact.rounds = 3;
						exact.dip_min_us = PROP_UNKNOWN_US;
						exact.fell = false;
						again++;
					}
				}
			} else {
				prop_round(&p, (u32)exact.now_ms, true);
				dipped = prop_dipping(&p);
				age_ms = (double)(exact.now_ms - exact.confirmed_ms);
				refresh_ms = (double)exact.delay_us * 50 / 1000;
				refresh_ms = refresh_ms < 10000 ? 10000 :
					     refresh_ms > 900000 ? 900000 : refresh_ms;
				dip_age_ms = (double)(exact.now_ms - exact.dipped_ms);
				trust_ms = refresh_ms > 150000 ? 900000 : refresh_ms * 6;
				if (exact.delay_us == PROP_UNKNOWN_US)
					assert_false(dipped);
				else if (dipped ? age_ms <= refresh_ms - 16 &&
						  dip_age_ms <= trust_ms - 4096 :
						  age_ms >= refresh_ms + 16 ||
						  dip_age_ms >= trust_ms + 8192)
					fail_msg("%u: after %.0f ms, of %.0f; %.0f of %.0f", i,
						 age_ms, refresh_ms, dip_age_ms, trust_ms);
				if (dipped) {
					exact.rounds = 3;
					exact.fell = false;
					exact.dip_min_us = PROP_UNKNOWN_US;
					dips++;
				}
			}
			assert_int_equal(p.delay_us, exact.delay_us);
			assert_int_equal(p.dip_rounds, exact.rounds);
		}
	}
	if (dips <= 1000 || again <= 30 || moved <= 300)
		fail_msg("%u dips, %u at once, %u routes", dips, again, moved);
}

/* Whatever was seen, a path that behaves is known after one dip */
static void any_nonsense_is_forgotten_within_a_refresh(void **state)
{
	unsigned int path;

	(void)state;
	for (path = 0; path < 300; path++) {
		u32 now_ms = (u32)draw(1ULL << 32), i, end_ms;
		struct propagation_delay p;

		prop_init(&p, now_ms);
		for (i = 0; i < 200; i++) {
			prop_sample(&p, (u32)draw_scale(31), now_ms);
			if (draw(2))
				prop_round(&p, now_ms, true);
			now_ms += (u32)draw_scale(20);
		}
		/* at most 900 s, and what an age can be wrong by where nothing was
		 * looked at for longer than it can count: once around
		 */
		end_ms = PROP_REFRESH_MAX_MS + (1U << 20) + 1000;
		for (i = 0; i < end_ms; i += 100) {
			prop_sample(&p, prop_dipping(&p) ? 44000 : 44500, now_ms + i);
			prop_round(&p, now_ms + i, true);
		}
		assert_in_range(p.delay_us, 44000, 44500);
	}
}

/* a receiver that holds its ACKs back for hours: the products of the law still fit */
static void no_estimate_is_longer_than_100_s(void **state)
{
	struct propagation_delay p;
	u32 i;

	(void)state;
	prop_init(&p, 0);
	prop_sample(&p, PROP_UNKNOWN_US - 1, 0);
	assert_int_equal(p.delay_us, PROP_MAX_US);
	/* after a dip, too */
	prop_dip(&p);
	for (i = 0; i < PROP_DIP_ROUNDS; i++) {
		prop_sample(&p, PROP_MAX_US + 1, i);
		prop_round(&p, i, true);
	}
	assert_int_equal(p.delay_us, PROP_MAX_US);
	prop_sample(&p, 0, 0);
	assert_int_equal(p.delay_us, 0);
}

/* Longer or shorter than it was, and as old as the path is known */
static void what_replaces_the_estimate_is_one(void **state)
{
	static const struct {
		u32 delay_us, expected_us;
		const char *reason;
	} rows[] = {
		{ 200000, 200000, "a longer path" },
		{ 1000, 1000, "a shorter one" },
		{ 44000, 44000, "the same" },
		{ 0, 0, "none" },
		{ PROP_MAX_US, PROP_MAX_US, "the longest" },
		{ PROP_MAX_US + 1, PROP_MAX_US, "longer is the longest" },
		{ PROP_UNKNOWN_US, PROP_MAX_US, "and known" },
	};
	static const u32 starts_ms[] = { 0, 5000000, U32_MAX - 30000 };
	struct propagation_delay p;
	size_t i, t;
	u32 ms;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		prop_init(&p, 0);
		prop_sample(&p, 44000, 0);
		prop_replace(&p, rows[i].delay_us, 0);
		if (p.delay_us != rows[i].expected_us)
			fail_msg("%s: %u us", rows[i].reason, p.delay_us);
		assert_false(prop_dipping(&p));
		/* a smaller one counts as before, and a larger one does not */
		prop_sample(&p, rows[i].expected_us, 0);
		if (rows[i].expected_us)
			prop_sample(&p, rows[i].expected_us - 1, 0);
		prop_sample(&p, rows[i].expected_us + 7, 0);
		assert_int_equal(p.delay_us, rows[i].expected_us - !!rows[i].expected_us);
	}
	/* it is looked for again after 10 s from then */
	for (t = 0; t < ARRAY_SIZE(starts_ms); t++) {
		prop_init(&p, starts_ms[t]);
		prop_sample(&p, 44000, starts_ms[t]);
		prop_replace(&p, 60000, starts_ms[t] + 9000);
		for (ms = 9000; ms <= 18900; ms += 100) {
			prop_sample(&p, 60001, starts_ms[t] + ms);
			prop_round(&p, starts_ms[t] + ms, true);
			assert_false(prop_dipping(&p));
		}
		for (; ms <= 19200; ms += 100)
			prop_round(&p, starts_ms[t] + ms, true);
		assert_true(prop_dipping(&p));
		/* a dip that is under way goes on, and finds what there is */
		prop_replace(&p, 70000, starts_ms[t] + ms);
		assert_true(prop_dipping(&p));
		for (; prop_dipping(&p); ms += 100) {
			prop_sample(&p, 80000, starts_ms[t] + ms);
			prop_round(&p, starts_ms[t] + ms, true);
		}
		assert_int_equal(p.delay_us, 80000);
	}
}

/* the queue is not drained any more: what is seen is no propagation delay */
static void a_dip_that_may_not_go_on_ends_with_the_estimate_as_it_is(void **state)
{
	struct propagation_delay p;

	(void)state;
	prop_init(&p, 0);
	prop_sample(&p, 20000, 0);
	prop_round(&p, 20000, false);
	assert_false(prop_dipping(&p));
	prop_round(&p, 20000, true);
	assert_true(prop_dipping(&p));
	prop_sample(&p, 30000, 20020);
	prop_round(&p, 20040, false);
	assert_false(prop_dipping(&p));
	assert_int_equal(p.delay_us, 20000);
	/* it is still old */
	prop_round(&p, 20060, true);
	assert_true(prop_dipping(&p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_smallest_round_trip_counts),
		cmocka_unit_test(a_standing_queue_does_not_creep_into_the_estimate),
		cmocka_unit_test(a_longer_route_is_noticed),
		cmocka_unit_test(a_confirmed_estimate_is_dipped_for_a_sixth_as_often),
		cmocka_unit_test(an_overestimate_falls_in_a_row_of_dips),
		cmocka_unit_test(a_dip_that_finds_the_same_is_not_followed_by_another),
		cmocka_unit_test(a_dip_lasts_three_round_trips_and_survives_silence),
		cmocka_unit_test(a_long_path_is_dipped_for_once_in_fifty_round_trips),
		cmocka_unit_test(an_exact_clock_gives_the_same_estimates),
		cmocka_unit_test(any_nonsense_is_forgotten_within_a_refresh),
		cmocka_unit_test(no_estimate_is_longer_than_100_s),
		cmocka_unit_test(what_replaces_the_estimate_is_one),
		cmocka_unit_test(a_dip_that_may_not_go_on_ends_with_the_estimate_as_it_is),
	};

	return cmocka_run_group_tests_name("propagation_delay", tests, NULL, NULL);
}
