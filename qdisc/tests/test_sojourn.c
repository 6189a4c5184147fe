// SPDX-License-Identifier: GPL-2.0
/*
 * sojourn.h: which packets are timed, and what becomes of their delays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sojourn.h"

/* one in 64 of many packets, and never many or none for long */
static void one_packet_in_64_is_timed(void **state)
{
	u32 samples = 0, i, k;
	u64 packets = 0;

	(void)state;
	for (i = 0; i < 1U << 16; i++) {
		u32 next = sojourn_next_sample(&samples), of_eight = 0, ahead = samples;

		assert_in_range(next, 1, 127);
		packets += next;
		for (k = 0; k < 8; k++)
			of_eight += sojourn_next_sample(&ahead);
		assert_in_range(of_eight, 8 * 64 / 2, 8 * 64 * 3 / 2);
	}
	assert_in_range(packets, 64 * i - i / 100, 64 * i + i / 100);
	assert_int_equal(samples, i);
}

/* of flows that take turns each has its part of the samples, however many there are */
static void no_flow_is_left_out(void **state)
{
	static u32 of_flow[128];
	u32 flows, i, samples;
	u64 packet;

	(void)state;
	for (flows = 2; flows <= ARRAY_SIZE(of_flow); flows++) {
		memset(of_flow, 0, sizeof(of_flow));
		samples = 0;
		for (packet = 0; packet < flows * 6400; packet += sojourn_next_sample(&samples))
			of_flow[packet % flows]++;
		for (i = 0; i < flows; i++)
			if (of_flow[i] < 50 || of_flow[i] > 150)
				fail_msg("flow %u of %u: %u samples", i, flows, of_flow[i]);
	}
}

/* against the same in floating point; whole numbers are rounded down once a sample */
static void the_average_is_one_of_eight_samples(void **state)
{
	struct sojourn s = { 0 };
	double average = 0;
	u32 i;

	(void)state;
	srand(1);
	for (i = 0; i < 10000; i++) {
		u32 delay = rand() % 100000;

		sojourn_add(&s, delay);
		average = i ? average + (delay - average) / 8 : delay;
		assert_true(s.average <= average + 1 && s.average >= average - 8);
		assert_true(s.peak >= delay && s.peak >= s.average);
	}
}

static void a_peak_comes_at_once_and_is_forgotten(void **state)
{
	struct sojourn s = { 0 };
	u32 i;

	(void)state;
	sojourn_add(&s, 100);
	assert_int_equal(s.average, 100);
	assert_int_equal(s.peak, 100);
	sojourn_add(&s, 10000);
	assert_int_equal(s.average, 100 + 9900 / 8);
	assert_int_equal(s.peak, 10000);
	sojourn_add(&s, 2000);
	assert_int_equal(s.peak, 9000);
	for (i = 0; i < 100; i++)
		sojourn_add(&s, 100);
	assert_int_equal(s.average, 100);
	assert_int_equal(s.peak, 100);
}

static void nothing_overflows(void **state)
{
	struct sojourn s = { 0 };

	(void)state;
	sojourn_add(&s, 0);
	assert_int_equal(s.average, 0);
	sojourn_add(&s, UINT32_MAX);
	assert_int_equal(s.average, UINT32_MAX);
	assert_int_equal(s.peak, UINT32_MAX);
	sojourn_add(&s, 0);
	assert_int_equal(s.average, UINT32_MAX - (1U << 29));
	sojourn_add(&s, UINT32_MAX);
	assert_int_equal(s.peak, UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_packet_in_64_is_timed),
		cmocka_unit_test(no_flow_is_left_out),
		cmocka_unit_test(the_average_is_one_of_eight_samples),
		cmocka_unit_test(a_peak_comes_at_once_and_is_forgotten),
		cmocka_unit_test(nothing_overflows),
	};

	return cmocka_run_group_tests_name("sojourn", tests, NULL, NULL);
}
