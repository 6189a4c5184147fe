// SPDX-License-Identifier: GPL-2.0
/*
 * tfrc_equation.h against the equation of RFC 5348, 3.1, in floating point, as it is printed there,
 * and against the paper's points.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "draw.h"
#include "tfrc_equation.h"

/* stated in the header */
#define OFF (1 / 4096.0)

/* the paper's timeout, round trips */
#define PAPER TFRC_TIMEOUT_RTTS_MAX

/* with the RFC's terms, and not with those of the header */
static double oracle_bytes_ps(double l, double bytes, double rtt_s, double timeout_s)
{
	return bytes / (rtt_s * sqrt(2 * l / 3) +
			timeout_s * 3 * sqrt(3 * l / 8) * l * (1 + 32 * l * l));
}

static double packets(double l)
{
	return (double)tfrc_packets_q20((u64)(65536 / l + 0.5), PAPER) / (1 << 20);
}

/* vp-eq1: points of the paper's data */
static void the_paper_s_points(void **state)
{
	static const struct {
		double l, packets;
	} of[] = {
		{ 0.0001, 122.4 }, { 0.001, 38.38 }, { 0.01, 11.23 }, { 0.1, 1.77 },
		{ 0.3, 0.1948 },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(of); i++)
		if (fabs(packets(of[i].l) / of[i].packets - 1) > 0.0006)
			fail_msg("l = %g: %f packets, not %f", of[i].l, packets(of[i].l),
				 of[i].packets);
}

/* loss 1e-8 .. 1, round trips 0.1 ms .. 10 s, all sizes and timeouts */
static void the_rate_is_the_equation(void **state)
{
	double worst = 0;
	unsigned int i;

	(void)state;
	for (i = 0; i < 1000000; i++) {
		u64 interval_q16 = TFRC_ONE_Q16 - 1 + draw_scale(draw(2) ? 18 : 43);
		u32 bytes = (u32)(1 + draw(TFRC_PACKET_MAX_BYTES));
		u32 rtt_us = (u32)(99 + draw_scale(23));
		u32 rtts = (u32)(1 + draw(TFRC_TIMEOUT_RTTS_MAX));
		double exact, got;

		interval_q16 = min_t(u64, interval_q16, TFRC_ONE_Q16 * 100000000);
		rtt_us = min_t(u32, rtt_us, TFRC_RTT_MAX_US);
		exact = oracle_bytes_ps(65536.0 / (double)interval_q16, bytes, rtt_us / 1e6,
					rtts * (rtt_us / 1e6));
		got = (double)tfrc_rate_bytes_ps(interval_q16, bytes, rtt_us, rtts);
		worst = fmax(worst, (fabs(got - exact) - 1) / exact);
		if (fabs(got - exact) > 1 + exact * OFF)
			fail_msg("1/l = %f, %u bytes, %u us, %u: %f, not %f",
				 (double)interval_q16 / 65536, bytes, rtt_us, rtts, got, exact);
	}
	/* the bound is no larger than it must be */
	assert_true(worst > OFF / 4);
}

/*
 * With almost every packet lost the result has thirteen bits, of which the last is the nearest:
 * half a place off, and an eighth for the root, which is rounded down.
 */
static void the_last_place_is_the_nearest(void **state)
{
	double error, sum = 0;
	u64 interval_q16;

	(void)state;
	for (interval_q16 = TFRC_ONE_Q16; interval_q16 < TFRC_ONE_Q16 * 5 / 4; interval_q16++) {
		error = (double)tfrc_packets_q20(interval_q16, PAPER) -
			oracle_bytes_ps(65536.0 / (double)interval_q16, 1, 1, PAPER) * (1 << 20);
		if (fabs(error) > 0.625)
			fail_msg("1/l = %f: %f places off", (double)interval_q16 / 65536, error);
		sum += error;
	}
	/* neither up nor down in the mean */
	assert_true(fabs(sum / (TFRC_ONE_Q16 / 4)) < 0.125);
}

/* more loss never gives more rate, so that it has an inverse */
static void the_rate_rises_with_the_interval(void **state)
{
	u32 rtts;

	(void)state;
	for (rtts = 1; rtts <= TFRC_TIMEOUT_RTTS_MAX; rtts++) {
		u64 before = 0, interval_q16, now;

		for (interval_q16 = TFRC_ONE_Q16; interval_q16 < 64 * TFRC_ONE_Q16;
		     interval_q16 += 7) {
			now = tfrc_packets_q20(interval_q16, rtts);
			assert_true(now >= before);
			before = now;
		}
		for (; interval_q16 < TFRC_INTERVAL_MAX_Q16; interval_q16 += interval_q16 / 1009) {
			now = tfrc_packets_q20(interval_q16, rtts);
			assert_true(now >= before);
			before = now;
		}
	}
}

static void the_interval_is_the_inverse(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		u64 wanted_q20 = draw_scale(34);
		u32 rtts = (u32)(1 + draw(TFRC_TIMEOUT_RTTS_MAX));
		u64 got_q16 = tfrc_interval_q16(wanted_q20, rtts);

		assert_in_range(got_q16, TFRC_ONE_Q16, TFRC_INTERVAL_MAX_Q16);
		if (got_q16 < TFRC_INTERVAL_MAX_Q16)
			assert_true(tfrc_packets_q20(got_q16, rtts) >= wanted_q20);
		if (got_q16 > TFRC_ONE_Q16)
			assert_true(tfrc_packets_q20(got_q16 - 1, rtts) < wanted_q20);
	}
	assert_int_equal(tfrc_interval_q16(0, PAPER), TFRC_ONE_Q16);
	assert_int_equal(tfrc_interval_q16(U64_MAX, PAPER), TFRC_INTERVAL_MAX_Q16);
}

static void what_is_out_of_range_is_the_nearest(void **state)
{
	(void)state;
	assert_int_equal(tfrc_packets_q20(0, PAPER), tfrc_packets_q20(TFRC_ONE_Q16, PAPER));
	assert_int_equal(tfrc_packets_q20(TFRC_ONE_Q16 - 1, PAPER),
			 tfrc_packets_q20(TFRC_ONE_Q16, PAPER));
	assert_int_equal(tfrc_packets_q20(U64_MAX, PAPER),
			 tfrc_packets_q20(TFRC_INTERVAL_MAX_Q16, PAPER));
	assert_true(tfrc_packets_q20(TFRC_INTERVAL_MAX_Q16, PAPER) >
		    tfrc_packets_q20(TFRC_INTERVAL_MAX_Q16 / 2, PAPER));

	assert_int_equal(tfrc_rate_bytes_ps(1 << 24, 0, 20000, PAPER),
			 tfrc_rate_bytes_ps(1 << 24, 1, 20000, PAPER));
	assert_int_equal(tfrc_rate_bytes_ps(1 << 24, U32_MAX, 20000, PAPER),
			 tfrc_rate_bytes_ps(1 << 24, 65535, 20000, PAPER));
	assert_true(tfrc_rate_bytes_ps(1 << 24, 65535, 20000, PAPER) >
		    tfrc_rate_bytes_ps(1 << 24, 65534, 20000, PAPER));
	assert_int_equal(tfrc_rate_bytes_ps(1 << 24, 1000, 0, PAPER),
			 tfrc_rate_bytes_ps(1 << 24, 1000, 100, PAPER));
	assert_true(tfrc_rate_bytes_ps(1 << 24, 1000, 100, PAPER) >
		    tfrc_rate_bytes_ps(1 << 24, 1000, 101, PAPER));
	assert_int_equal(tfrc_rate_bytes_ps(1 << 24, 1000, U32_MAX, PAPER),
			 tfrc_rate_bytes_ps(1 << 24, 1000, 10000000, PAPER));
	assert_true(tfrc_rate_bytes_ps(1 << 24, 65535, 9990000, PAPER) >
		    tfrc_rate_bytes_ps(1 << 24, 65535, 10000000, PAPER));
	/* as is the timeout */
	assert_int_equal(tfrc_packets_q20(1 << 20, 0), tfrc_packets_q20(1 << 20, 1));
	assert_int_equal(tfrc_packets_q20(1 << 20, U32_MAX), tfrc_packets_q20(1 << 20, PAPER));
	assert_true(tfrc_packets_q20(1 << 20, 1) > tfrc_packets_q20(1 << 20, PAPER));
	/* the largest of all, which no product may exceed: 14189 * 65535 bytes in 0.1 ms */
	assert_true(fabs((double)tfrc_rate_bytes_ps(U64_MAX, U32_MAX, 0, PAPER) / (14188.96 * 65535e4) -
			 1) < OFF);
}

/* vp-fig1: a flow whose packets are ten times smaller, each loss event as it is measured. Its
 * rate over that of a flow with full packets, where each is a fixed point of the equation
 * and of the closed form of its loss interval. A flow of less than a packet per round trip has
 * none in the LIP.
 */
static double fixed_point(double p, double eta)
{
	double low = 1e-9, high = 1e5;
	unsigned int i;

	for (i = 0; i < 200; i++) {
		double n = sqrt(low * high), theta = fmax(n * eta - 1, 0) + 1 / p;

		if (packets(1 / theta) > n)
			low = n;
		else
			high = n;
	}
	return low;
}

static void small_packets_without_a_method_take_too_much(void **state)
{
	static const struct {
		double p, ratio;
	} of[] = {
		{ 0.001, 1.19 }, { 0.01, 1.75 }, { 0.03, 2.68 }, { 0.05, 3.65 }, { 0.1, 7.12 },
		{ 0.2, 25.4 }, { 0.3, 68.9 }, { 0.5, 318 }, { 0.7, 956 },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(of); i++) {
		double ratio = fixed_point(of[i].p, 10) / fixed_point(of[i].p, 1);

		if (fabs(ratio / of[i].ratio - 1) > 0.006)
			fail_msg("p = %g: %f times, not %f", of[i].p, ratio, of[i].ratio);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_paper_s_points),
		cmocka_unit_test(the_rate_is_the_equation),
		cmocka_unit_test(the_last_place_is_the_nearest),
		cmocka_unit_test(the_rate_rises_with_the_interval),
		cmocka_unit_test(the_interval_is_the_inverse),
		cmocka_unit_test(what_is_out_of_range_is_the_nearest),
		cmocka_unit_test(small_packets_without_a_method_take_too_much),
	};

	return cmocka_run_group_tests_name("tfrc_equation", tests, NULL, NULL);
}
