// SPDX-License-Identifier: GPL-2.0
/*
 * shaper.h against an ideal link in floating point (long double: 64 bits of
 * mantissa, so that a day in nanoseconds has room for 2^-17 ns).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "refused.h"

#include "shaper.h"

#define START 123456789ULL	/* ns; any time but 0 */

static void setup_link(struct shaper *sh, u64 rate_Bps)
{
	memset(sh, 0, sizeof(*sh));
	shaper_set_rate(sh, rate_Bps, START);
}

/* 64 kbit/s to 1 Tbit/s, round and odd, in bytes per second */
static const struct {
	u64 rate_Bps;
	const char *reason;
} rates[] = {
	{ 1000, "the least there is" },
	{ 8000, "64 kbit/s" },
	{ 1250000, "10 Mbit/s" },
	{ 5140000, "41.12 Mbit/s, the lab's bottleneck" },
	{ 12345679, "divides nothing" },
	{ 125000000, "1 Gbit/s" },
	{ 1249999999, "just below 10 Gbit/s: less than a ns per byte" },
	{ 12500000000, "100 Gbit/s: a packet of 60 bytes lasts 4.8 ns" },
	{ 125000000000, "1 Tbit/s" },
};

/*
 * Always backlogged, no timer ever late: every packet leaves within a
 * nanosecond of the ideal link's time, so that 1000 packets are within 0.1 %
 * by a wide margin, and errors do not add up over a million.
 */
static void keeps_the_rate_exactly(void **state)
{
	static const u32 sizes[] = { 60, 1514, 514, 9014, 65549, 1 };
	unsigned int i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		long double ideal = START;
		struct shaper sh;

		setup_link(&sh, rates[i].rate_Bps);
		for (k = 0; k < 1000000; k++) {
			u32 len = sizes[k * 7 % ARRAY_SIZE(sizes)];
			u64 late = shaper_sent(&sh, sh.next_ns, len);

			assert_int_equal(late, 0);
			ideal += len * 1e9L / rates[i].rate_Bps;
			if (fabsl(ideal - sh.next_ns) >= 1.01L)
				fail_msg("%s: packet %u %Lf ns off",
					 rates[i].reason, k,
					 ideal - sh.next_ns);
		}
	}
}

/*
 * Timers late by random amounts below the slack: the rate stays exact, and no
 * gap is shorter than the packet by more than the slack.
 */
static void lateness_within_the_slack_costs_nothing(void **state)
{
	unsigned int i, k;

	(void)state;
	srand(2);
	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		long double ideal = START;
		struct shaper sh;
		u64 last = 0;

		setup_link(&sh, rates[i].rate_Bps);
		for (k = 0; k < 100000; k++) {
			u64 late = rand() % (SHAPER_SLACK_NS + 1);
			u64 now = max_t(u64, sh.next_ns + late, last);
			long double wire = 1514 * 1e9L / rates[i].rate_Bps;

			/* a packet overdue already leaves at once */
			if (now - sh.next_ns > SHAPER_SLACK_NS)
				now = sh.next_ns + SHAPER_SLACK_NS;
			if (now < last)
				now = last;
			if (last)
				assert_true(now - last + SHAPER_SLACK_NS + 1 >=
					    wire);
			last = now;
			shaper_sent(&sh, now, 1514);
			ideal += wire;
			assert_true(fabsl(ideal - sh.next_ns) < 1.01L);
		}
	}
}

/* the link stalls for a second: all but the slack of it is gone for good */
static void a_stall_is_not_made_up_for(void **state)
{
	struct shaper sh;
	u64 now = START;
	u32 sent = 0;

	(void)state;
	setup_link(&sh, 1250000);
	shaper_sent(&sh, now, 1514);
	now += NSEC_PER_SEC;
	assert_int_equal(shaper_sent(&sh, now, 1514),
			 NSEC_PER_SEC - 1514 * 800);
	while (shaper_ready(&sh, now)) {
		shaper_sent(&sh, now, 1514);
		sent++;
	}
	assert_int_equal(sent, 0);
	assert_int_equal(sh.next_ns, now - SHAPER_SLACK_NS + 1514 * 800);
}

/* an always backlogged link whose softirqs come late: see late_softirqs() */
struct late {
	u32 late_ns;	/* how late they come */
	u32 every_ns;	/* how often: at the beginning of each such period */
	u32 catch_up_ns;
};

/* what a link gave that was asked for so long */
struct given {
	long double rate;	/* of what it should */
	u64 least_gap_ns;	/* between two packets in a row */
	u64 lost_ns;
	long double unexplained_ns;
};

/*
 * A timer set for the moment at which the next packet is due, as the qdisc sets it, and
 * softirqs that do not run for the first part of each period. A run sends all that is
 * due; time passes between two packets as the CPU takes it.
 */
static struct given late_softirqs(u64 rate_Bps, u32 len, const struct late *late)
{
	static const u64 seconds = 2, cpu_ns = 500;
	u64 now = START, end = START + seconds * NSEC_PER_SEC, last = 0, sent = 0;
	struct given given = { .least_gap_ns = U64_MAX };
	long double ideal;
	struct shaper sh;

	setup_link(&sh, rate_Bps);
	shaper_set_catch_up(&sh, late->catch_up_ns);
	while (now < end) {
		u64 phase;

		now = max_t(u64, now, sh.next_ns);
		phase = now % late->every_ns;
		if (phase < late->late_ns)
			now += late->late_ns - phase;
		for (; shaper_ready(&sh, now); now += cpu_ns) {
			shaper_sent(&sh, now, len);
			sent += len;
			if (last)
				given.least_gap_ns = min_t(u64, given.least_gap_ns,
							   now - last);
			last = now;
		}
	}
	ideal = (long double)(last - START) * rate_Bps / 1e9L;
	/* the last packet has only begun */
	given.rate = (sent - len) / ideal;
	given.lost_ns = sh.lost_ns;
	/* the clock stands where all that was sent and missed has brought it */
	given.unexplained_ns = (long double)sh.next_ns - START - sh.lost_ns -
			       sh.missed_ns - sent * 1e9L / rate_Bps;
	return given;
}

/*
 * A millisecond late every ten, as on small routers and guests of busy hosts: at least
 * 99 % of the rate, and no gap shorter than seven eighths of a packet's time by more
 * than the slack. Without anything made up for 91 to 93 % where packets are short; where
 * one lasts as long as the lateness, what its phase makes of it.
 */
static void late_softirqs_cost_no_rate(void **state)
{
	static const struct {
		u64 rate_Bps;
		u32 len;
		const char *reason;
	} rows[] = {
		{ 250000, 1514, "2 Mbit/s" },
		{ 2500000, 1514, "20 Mbit/s" },
		{ 2500000, 142, "20 Mbit/s, small packets" },
		{ 12500000, 1514, "100 Mbit/s" },
		{ 125000000, 1514, "1 Gbit/s" },
		{ 312500000, 1514, "2.5 Gbit/s" },
		{ 1250000000, 9014, "10 Gbit/s" },
	};
	const struct late late = { 1000000, 10000000, 2000000 };
	const struct late as_before = { 1000000, 10000000, 0 };
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct given given = late_softirqs(rows[i].rate_Bps, rows[i].len, &late);
		struct given before = late_softirqs(rows[i].rate_Bps, rows[i].len, &as_before);
		long double wire_ns = rows[i].len * 1e9L / rows[i].rate_Bps;

		if (given.rate < 0.99L || given.rate > 1.001L || given.lost_ns)
			fail_msg("%s: %Lf of the rate, %llu ns lost",
				 rows[i].reason, given.rate,
				 (unsigned long long)given.lost_ns);
		if (given.least_gap_ns + SHAPER_SLACK_NS + 1 < wire_ns * 7 / 8)
			fail_msg("%s: a gap of %llu ns", rows[i].reason,
				 (unsigned long long)given.least_gap_ns);
		if (fabsl(given.unexplained_ns) > 2 + 2e9L / 9e6L)
			fail_msg("%s: %Lf ns unexplained", rows[i].reason,
				 given.unexplained_ns);
		if (wire_ns < 200000 && before.rate > 0.93L)
			fail_msg("%s: %Lf of the rate without it", rows[i].reason,
				 before.rate);
		if (wire_ns < 1000000 && fabsl(1 - before.rate - before.lost_ns / 2e9L) > 0.001L)
			fail_msg("%s: %llu ns lost, %Lf of the rate", rows[i].reason,
				 (unsigned long long)before.lost_ns, before.rate);
	}
}

/* a stall is made up for up to the bound, which an idle moment ends */
static void what_an_idle_link_missed_is_not_made_up_for(void **state)
{
	struct shaper sh;
	u64 now = START;

	(void)state;
	setup_link(&sh, 1250000);
	shaper_set_catch_up(&sh, 2000000);
	shaper_sent(&sh, now, 1514);
	now = sh.next_ns + 5 * NSEC_PER_MSEC;
	shaper_sent(&sh, now, 1514);
	/* 4.9 ms were missed, of which 2 count, and an eighth of a packet is back */
	assert_int_equal(sh.lost_ns, 2900000);
	assert_int_equal(sh.missed_ns, 2000000 - 1514 * 100);
	/* the queue runs empty while that packet is on the link, and after it */
	shaper_arrive(&sh, sh.next_ns - 1000);
	assert_int_equal(sh.missed_ns, 1000);
	shaper_arrive(&sh, sh.next_ns + 1);
	assert_int_equal(sh.missed_ns, 0);
	assert_int_equal(shaper_sent(&sh, sh.next_ns, 1514), 0);
	assert_int_equal(sh.lost_ns, 2900000);
}

/* a smaller bound holds at once; no rate and no queue leave nothing to make up for */
static void missed_time_ends_with_what_it_was_of(void **state)
{
	struct shaper sh;

	(void)state;
	setup_link(&sh, 1250000);
	shaper_set_catch_up(&sh, 2000000);
	shaper_sent(&sh, START, 1514);
	shaper_sent(&sh, sh.next_ns + 2 * NSEC_PER_MSEC, 1514);
	assert_true(sh.missed_ns > 1000000);
	shaper_set_catch_up(&sh, 1000);
	assert_int_equal(sh.missed_ns, 1000);
	shaper_set_rate(&sh, 2500000, sh.next_ns);
	assert_int_equal(sh.missed_ns, 1000);
	shaper_set_rate(&sh, 0, sh.next_ns);
	assert_int_equal(sh.missed_ns, 0);
	sh.missed_ns = 5;
	shaper_reset(&sh);
	assert_int_equal(sh.missed_ns, 0);
	assert_int_equal(sh.catch_up_ns, 1000);
}

/* what is sent too early, or without a rate, does no harm */
static void nobody_need_ask_first(void **state)
{
	struct shaper sh;

	(void)state;
	setup_link(&sh, 1250000);
	shaper_sent(&sh, START, 1514);
	assert_int_equal(shaper_sent(&sh, START, 1514), 0);
	assert_int_equal(sh.next_ns, START + 2 * 1514 * 800);
	shaper_set_rate(&sh, 0, START);
	assert_int_equal(shaper_sent(&sh, START + 5, 1514), 0);
	assert_int_equal(sh.next_ns, START);
}

/* idle for a second, then a pair: no burst, the gap is a packet time exactly */
static void idling_saves_nothing(void **state)
{
	struct shaper sh;
	u64 now = START;

	(void)state;
	setup_link(&sh, 1250000);
	shaper_sent(&sh, now, 1514);
	now += NSEC_PER_SEC;
	shaper_arrive(&sh, now);
	assert_true(shaper_ready(&sh, now));
	assert_int_equal(shaper_sent(&sh, now, 1514), 0);
	assert_int_equal(sh.next_ns, now + 1514 * 800);
}

/* an arrival while the last packet is still on the link waits for it */
static void an_early_arrival_waits(void **state)
{
	struct shaper sh;

	(void)state;
	setup_link(&sh, 1250000);
	shaper_sent(&sh, START, 1514);
	shaper_arrive(&sh, START + 1000);
	assert_false(shaper_ready(&sh, START + 1514 * 800 - 1));
	assert_true(shaper_ready(&sh, START + 1514 * 800));
}

/* half of a packet is on the link when the rate changes: half at each rate */
static void a_change_of_rate_takes_effect_at_once(void **state)
{
	static const struct {
		u64 from, to;
		u32 len;
		const char *reason;
	} rows[] = {
		{ 1250000, 125000000, 1514, "faster" },
		{ 125000000, 1250000, 1514, "slower" },
		{ 1000, 125000000000, 65549, "66 s are left: over 32 bits" },
		{ 12500000000, 1000, UINT32_MAX, "a rate of over 32 bits" },
		{ 1000, 1001, UINT32_MAX, "both: 50 days" },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		long double wire = rows[i].len * 1e9L / rows[i].from;
		long double left;
		struct shaper sh;
		u64 now;

		setup_link(&sh, rows[i].from);
		shaper_sent(&sh, START, rows[i].len);
		now = START + (u64)(wire / 2);
		shaper_set_rate(&sh, rows[i].to, now);
		left = (START + wire - now) * rows[i].from / rows[i].to;
		/* less than a nanosecond, and what floating point leaves */
		if (fabsl(sh.next_ns - now - left) > 1 + left * 0x1p-58L)
			fail_msg("%s: %Lf ns, not %Lf", rows[i].reason,
				 (long double)(sh.next_ns - now), left);
	}
}

/*
 * A rate that follows something changes many times in a packet: nothing is lost
 * by that, however often, and packets leave within a nanosecond of an ideal
 * link's time.
 */
static void changes_of_rate_add_no_error(void **state)
{
	long double left = 0, at = START;
	struct shaper sh;
	u64 now = START;
	unsigned int k;

	(void)state;
	srand(5);
	setup_link(&sh, 1250000);
	for (k = 0; k < 1000000; k++) {
		u64 rate = 1000 + rand() % 100000000;

		/* the ideal link's packet is done before @now, or works on */
		left -= (now - at) * sh.rate_Bps / 1e9L;
		at = now;
		if (k % 100 == 0) {
			now = sh.next_ns;
			if (fabsl(at + left * 1e9L / sh.rate_Bps - now) > 1.01L)
				fail_msg("change %u: %Lf ns off", k,
					 at + left * 1e9L / sh.rate_Bps - now);
			left -= (now - at) * sh.rate_Bps / 1e9L;
			at = now;
			assert_int_equal(shaper_sent(&sh, now, 1514), 0);
			left += 1514;
		}
		shaper_set_rate(&sh, rate, now);
		/* a small part of what is left */
		now += (sh.next_ns - now) / 100;
	}
}

static void without_a_rate_nothing_is_left(void **state)
{
	struct shaper sh;

	(void)state;
	setup_link(&sh, 1000);
	shaper_sent(&sh, START, 65549);
	shaper_set_rate(&sh, 0, START + 1);
	assert_int_equal(sh.next_ns, START + 1);
	/* and a rate set later starts then, not in the past */
	shaper_set_rate(&sh, 1000, START + 500);
	assert_int_equal(sh.next_ns, START + 500);
}

static void setting_the_same_rate_forgives_nothing(void **state)
{
	struct shaper sh;
	u64 next;

	(void)state;
	setup_link(&sh, 1250000);
	shaper_sent(&sh, START, 1514);
	next = sh.next_ns;
	shaper_set_rate(&sh, 1250000, START + 5);
	assert_int_equal(sh.next_ns, next);
}

/* faster than any link: the parts of the longest packet still fit 64 bits */
static void any_rate_is_kept(void **state)
{
	static const u64 rates[] = { 1, SHAPER_RATE_MAX - 1, SHAPER_RATE_MAX, UINT64_MAX };
	struct shaper sh;
	size_t i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rates); i++)
		for (k = 0; k < ARRAY_SIZE(rates); k++) {
			u64 rate = min_t(u64, rates[i], SHAPER_RATE_MAX);

			sh = (struct shaper){ 0 };
			shaper_set_rate(&sh, rates[i], 1);
			assert_int_equal(sh.rate_Bps, rate);
			/* what is left of one packet is more by so much for the next */
			sh.rest = rate - 1;
			shaper_sent(&sh, 1, UINT32_MAX);
			assert_int_equal(sh.next_ns - 1,
					 (UINT32_MAX * 1000000000ULL + rate - 1) / rate);
			assert_true(sh.rest < rate);
			shaper_set_rate(&sh, rates[k], 1);
			assert_true(sh.rest < sh.rate_Bps);
		}
}

/* what is left of a packet ends where a time begins that does not follow from it */
static void a_new_beginning_has_no_rest(void **state)
{
	struct shaper sh;

	(void)state;
	memset(&sh, 0xff, sizeof(sh));
	shaper_reset(&sh);
	assert_int_equal(sh.next_ns, 0);
	assert_int_equal(sh.rest, 0);
	assert_int_equal(sh.missed_ns, 0);
	assert_int_equal(sh.rate_Bps, ~0ULL);
	assert_int_equal(sh.lost_ns, ~0ULL);
	assert_int_equal(sh.catch_up_ns, ~0U);

	setup_link(&sh, 7);
	shaper_sent(&sh, START, 1);
	assert_true(sh.rest > 0);
	shaper_arrive(&sh, sh.next_ns + 1);
	assert_int_equal(sh.rest, 0);

	shaper_sent(&sh, sh.next_ns, 1);
	assert_true(sh.rest > 0);
	shaper_sent(&sh, sh.next_ns + SHAPER_SLACK_NS + 1, 7);
	assert_int_equal(sh.rest, 0);

	shaper_sent(&sh, sh.next_ns, 1);
	assert_true(sh.rest > 0);
	shaper_set_rate(&sh, 11, sh.next_ns + 1);
	assert_int_equal(sh.rest, 0);

	shaper_sent(&sh, sh.next_ns + 1, 1);
	assert_true(sh.rest > 0);
	shaper_set_rate(&sh, 0, sh.next_ns);
	assert_int_equal(sh.rest, 0);
	sh.rest = 5;
	shaper_set_rate(&sh, 7, sh.next_ns);
	assert_int_equal(sh.rest, 0);
}

static void a_clock_that_went_back_is_noticed(void **state)
{
	struct shaper sh;

	(void)state;
	setup_link(&sh, SHAPER_RATE_MAX);
	sh.next_ns = START + 3;
	shaper_set_rate(&sh, 1000, START);
	setup_link(&sh, SHAPER_RATE_MAX);
	sh.next_ns = START + 4;
	assert_refused(shaper_set_rate(&sh, 1000, START));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_the_rate_exactly),
		cmocka_unit_test(lateness_within_the_slack_costs_nothing),
		cmocka_unit_test(a_stall_is_not_made_up_for),
		cmocka_unit_test(late_softirqs_cost_no_rate),
		cmocka_unit_test(what_an_idle_link_missed_is_not_made_up_for),
		cmocka_unit_test(missed_time_ends_with_what_it_was_of),
		cmocka_unit_test(nobody_need_ask_first),
		cmocka_unit_test(idling_saves_nothing),
		cmocka_unit_test(an_early_arrival_waits),
		cmocka_unit_test(a_change_of_rate_takes_effect_at_once),
		cmocka_unit_test(changes_of_rate_add_no_error),
		cmocka_unit_test(without_a_rate_nothing_is_left),
		cmocka_unit_test(setting_the_same_rate_forgives_nothing),
		cmocka_unit_test(any_rate_is_kept),
		cmocka_unit_test(a_new_beginning_has_no_rest),
		cmocka_unit_test(a_clock_that_went_back_is_noticed),
	};

	return cmocka_run_group_tests_name("shaper", tests, NULL, NULL);
}
