// SPDX-License-Identifier: GPL-2.0
/*
 * law_1994.h against the appendix's own arithmetic, in floating point, and what
 * the memorandum says of its start.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fuzzy_average.h"
#include "draw.h"
#include "law_1994.h"

#define NS(x) ((u64)(x) << CONTROL_SERVICE_SHIFT)

/* nbhat = num_outstanding - reclean / se, 0 .. ftp_window */
static double oracle_backlog(double outstanding, double reclean_s, double se_s)
{
	return fmin(fmax(outstanding - reclean_s / se_s, 0), CONTROL_BACKLOG_MAX);
}

/* send_rate of the appendix, packets per second */
static double oracle_rate(double reclean_s, double se_s, double nbhat, double b,
			  double mean)
{
	double re = (nbhat <= b ? 1.5 : 0.8) *
		    fmin(reclean_s + nbhat * se_s, CONTROL_RTT_MAX_US / 1e6);
	double rate = (b - nbhat) / fmax(re, 1e-6) + 1 / se_s;

	if (nbhat <= 2.0 && rate > mean)
		rate = mean + (rate - mean) * 0.2;
	if (nbhat > 3 * b && rate < 2.0 / ((nbhat - b) * se_s))
		rate = 2.0 / ((nbhat - b) * se_s);
	return rate;
}

static void constants_are_table_2(void **state)
{
	(void)state;
	assert_int_equal(LAW_1994_ATTACK_UP_Q8, lround(1.5 * 256));
	assert_int_equal(LAW_1994_ATTACK_DOWN_Q8, lround(0.8 * 256));
	assert_int_equal(LAW_1994_INC_Q16, lround(0.2 * 65536));
	assert_int_equal(LAW_1994_MEAN_Q8, lround(0.75 * 256));
	assert_int_equal(CONTROL_PROBE_CUT_Q8, lround(0.75 * 256));
	assert_int_equal(CONTROL_PROBE_STEP, 2);
	assert_int_equal(CONTROL_PROBE_ROUNDS, 2);
	assert_int_equal(CONTROL_SETPOINT_MIN_Q8, 2 * 256);
	assert_int_equal(FUZZY_ERROR_MID_Q16, lround(0.7 * 65536));
}

static void backlog_is_equation_12(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 200000; i++) {
		struct control_path p = {
			.service_q10 = draw_scale(47),
			.prop_us = (u32)draw_scale(26),
			.outstanding = (u32)draw_scale(20),
		};
		double exact = oracle_backlog(p.outstanding, p.prop_us / 1e6,
					      p.service_q10 / 1024.0 / 1e9);

		if (fabs(law_1994_backlog_q8(&p) / 256.0 - exact) > 1 / 256.0)
			fail_msg("%d: %f, exact %f", i,
				 law_1994_backlog_q8(&p) / 256.0, exact);
	}
}

static void rate_is_the_appendix(void **state)
{
	int i, risen = 0, overflown = 0;

	(void)state;
	for (i = 0; i < 400000; i++) {
		struct control_path p = {
			.service_q10 = NS(7) + draw_scale(46),
			.prop_us = 1 + (u32)draw_scale(26),
			.backlog_q8 = (u32)draw_scale(24) - 1,
		};
		u32 mss = 36 + (u32)draw_scale(15);
		u32 setpoint_q8 = CONTROL_SETPOINT_MIN_Q8 + (u32)draw_scale(19);
		double se_s = p.service_q10 / 1024.0 / 1e9;
		double n_b = p.backlog_q8 / 256.0, b = setpoint_q8 / 256.0;
		u64 mean = (u64)(mss / se_s * draw(1200) / 1000);
		double exact = fmax(oracle_rate(p.prop_us / 1e6, se_s, n_b, b,
						(double)mean / mss) * mss, 1);
		double got = (double)law_1994_rate_bytes_ps(&p, setpoint_q8, mss,
							    mean);
		/* J is cut to whole microseconds, of which it has at least one;
		 * 0.8 is 205 / 256
		 */
		double round_us = fmin(p.prop_us + n_b * se_s * 1e6,
				       CONTROL_RTT_MAX_US);
		double attack = n_b > b ? 0.8 : 1.5;
		double j_us = fmax(round_us * attack, 1);
		double j_least_us = fmax((round_us - 1) * attack - 1, 1);
		double change = fabs(b - n_b) / j_us * 1e6 * mss;
		double bound = 3 + exact / 32768 + change / 256 +
			       change * (j_us / j_least_us - 1);

		risen += p.backlog_q8 <= LAW_1994_RISE_Q8;
		overflown += p.backlog_q8 > 3 * setpoint_q8;
		if (fabs(got - exact) > bound)
			fail_msg("%d: %f, exact %f (bound %f)",
				 i, got, exact, bound);
	}
	assert_in_range(risen, 10000, 400000);
	assert_in_range(overflown, 10000, 400000);
}

static void nothing_wraps_at_the_ends(void **state)
{
	static const u64 services[] = { 1, NS(7), NS(100000), CONTROL_SERVICE_MAX_Q10 };
	static const u32 times[] = { 1, 1000, CONTROL_RTT_MAX_US };
	static const u32 backlogs[] = { 0, 512, 513, CONTROL_BACKLOG_MAX * 256U };
	static const u32 setpoints[] = { CONTROL_SETPOINT_MIN_Q8, CONTROL_SETPOINT_MAX_Q8 };
	static const u32 sizes[] = { 0, 36, 1448, U32_MAX };
	static const u64 means[] = { 0, 125000, 1ULL << 57 };
	size_t a, b, c, d, e, f;

	(void)state;
	for (a = 0; a < ARRAY_SIZE(services); a++)
	for (b = 0; b < ARRAY_SIZE(times); b++)
	for (c = 0; c < ARRAY_SIZE(backlogs); c++)
	for (d = 0; d < ARRAY_SIZE(setpoints); d++)
	for (e = 0; e < ARRAY_SIZE(sizes); e++)
	for (f = 0; f < ARRAY_SIZE(means); f++) {
		const struct control_path p = {
			.service_q10 = services[a], .prop_us = times[b],
			.backlog_q8 = backlogs[c], .outstanding = U32_MAX,
		};
		u64 rate = law_1994_rate_bytes_ps(&p, setpoints[d], sizes[e],
						  means[f]);

		assert_in_range(rate, 1, 1ULL << 60);
		assert_in_range(law_1994_mean_bytes_ps(means[f], rate), 0, 1ULL << 60);
		assert_true(law_1994_backlog_q8(&p) <= CONTROL_BACKLOG_MAX * 256U);
		assert_in_range(law_1994_window(&p, setpoints[d]), 4, S32_MAX);
	}
}

static void rises_a_fifth_of_the_way_per_pair(void **state)
{
	const struct control_path p = { .service_q10 = NS(100000), .prop_us = 44000 };
	/* target: 10,000 packets/s and five in 66 ms */
	const double target = 10000 + 5 / 0.066;
	double mean = 0;
	u64 got_mean = 0;
	int pair;

	(void)state;
	for (pair = 0; pair < 200; pair++) {
		double rate = mean + (target - mean) * 0.2;
		u64 got = law_1994_rate_bytes_ps(&p, 5 * 256, 1000, got_mean);

		assert_true(fabs(got / 1000.0 - rate) < 1 + rate / 1000);
		mean = 0.75 * mean + 0.25 * rate;
		got_mean = law_1994_mean_bytes_ps(got_mean, got);
		assert_true(fabs(got_mean / 1000.0 - mean) < 1 + mean / 1000);
	}
	assert_true(got_mean / 1000.0 > 0.999 * target);
}

static void mean_reaches_a_rate_that_stays(void **state)
{
	static const u64 rates[] = { 1, 2, 5, 1000, 12500000000ULL };
	size_t i;
	int pair;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		u64 up = 0, down = 3 * rates[i];

		for (pair = 0; pair < 200; pair++) {
			up = law_1994_mean_bytes_ps(up, rates[i]);
			down = law_1994_mean_bytes_ps(down, rates[i]);
			assert_true(up <= rates[i] && down >= rates[i]);
		}
		assert_int_equal(up, rates[i]);
		assert_int_equal(down, rates[i]);
	}
}

static void mean_moves_a_quarter_of_the_way_rounded_towards_the_rate(void **state)
{
	static const u64 means[] = { 0, 1, 1000000, 1ULL << 40 };
	size_t i;
	u64 d;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(means); i++)
		for (d = 1; d < 1000; d++) {
			assert_int_equal(law_1994_mean_bytes_ps(means[i], means[i] + d),
					 means[i] + (d + 3) / 4);
			assert_int_equal(law_1994_mean_bytes_ps(means[i] + d, means[i]),
					 means[i] + d * 3 / 4);
		}
}

static void window_is_twice_pipe_and_setpoint(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 100000; i++) {
		const struct control_path p = {
			.service_q10 = NS(1) + draw_scale(40),
			.prop_us = 1 + (u32)draw_scale(26),
		};
		u32 setpoint_q8 = (u32)draw_scale(20);
		double pipe = p.prop_us * 1024000.0 / (double)p.service_q10;
		double exact = 2 * (pipe + setpoint_q8 / 256.0);
		double got = law_1994_window(&p, setpoint_q8);

		exact = fmin(fmax(exact, 4), S32_MAX);
		/* whole packets, of a pipe in 256ths: what is below is cut off */
		if (got > exact * (1 + 1e-12) + 1e-3 || got < exact * (1 - 1e-12) - 1 - 1 / 128.0)
			fail_msg("%d: %f, exact %f", i, got, exact);
	}
}

/* The queue of a server that is never idle, fed at the law's rate and seen at once:
 * the slope of log |n_b - B| over the first nine tenths of a step, as a time.
 */
static double decay_s(double from, double to)
{
	const double service_s = 0.6e-3, prop_s = 0.06, step_s = 1e-4;
	double n_b = from, sum_t = 0, sum_x = 0, sum_tt = 0, sum_tx = 0;
	int n;

	for (n = 0; fabs(n_b - to) > fabs(from - to) / 10; n++) {
		struct control_path p = {
			.service_q10 = (u64)(service_s * 1e9 * 1024),
			.prop_us = (u32)(prop_s * 1e6),
			.backlog_q8 = (u32)lround(n_b * 256),
		};
		double t = n * step_s, x = log(fabs(n_b - to));

		assert_true(n < 100000);
		sum_t += t;
		sum_x += x;
		sum_tt += t * t;
		sum_tx += t * x;
		n_b += (law_1994_rate_bytes_ps(&p, (u32)(to * 256), 500, 0) / 500.0 -
			1 / service_s) * step_s;
	}
	return -(n * sum_tt - sum_t * sum_t) / (n * sum_tx - sum_t * sum_x);
}

/* Equations (15) to (19): with the time constant J, which is so many round trips with the
 * queue that is there
 */
static void distance_from_the_setpoint_decays_with_j(void **state)
{
	const double least_s = 0.06 + 5 * 0.6e-3, most_s = 0.06 + 20 * 0.6e-3;
	double up_s = decay_s(5, 20), down_s = decay_s(20, 5);

	(void)state;
	if (up_s < 1.5 * least_s || up_s > 1.5 * most_s ||
	    down_s < 0.8 * least_s || down_s > 0.8 * most_s)
		fail_msg("up %f s, down %f s", up_s, down_s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constants_are_table_2),
		cmocka_unit_test(backlog_is_equation_12),
		cmocka_unit_test(rate_is_the_appendix),
		cmocka_unit_test(nothing_wraps_at_the_ends),
		cmocka_unit_test(rises_a_fifth_of_the_way_per_pair),
		cmocka_unit_test(mean_moves_a_quarter_of_the_way_rounded_towards_the_rate),
		cmocka_unit_test(window_is_twice_pipe_and_setpoint),
		cmocka_unit_test(mean_reaches_a_rate_that_stays),
		cmocka_unit_test(distance_from_the_setpoint_decays_with_j),
	};

	return cmocka_run_group_tests_name("law_1994", tests, NULL, NULL);
}
