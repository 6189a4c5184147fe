// SPDX-License-Identifier: GPL-2.0
/*
 * What tfrc.h sends without a stack (paced_sender.h): the rates that methods are made for, and what the
 * paper says of those that fail. A round trip of 0.1 s.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "paced_sender.h"

#define REFERENCE 1000U
/* 600 loss events and more. At a loss of 0.1 the rate of full packets varies by half, and stays low
 * where it is low: a mean over 6000 s is off by 6 %.
 */
static u32 seconds_of(double loss)
{
	if (loss > 0.03)
		return 20000;
	return loss < 0.01 ? 600 : 3000;
}

static double sends(enum tfrc_method method, u32 bytes, enum paced_kind kind, double loss)
{
	const struct tfrc_params m = { REFERENCE, method, TFRC_PACKET_MODE, 0 };
	const struct paced_flow flow = { bytes, 0 };
	const struct paced_link link = { kind, loss, false };

	return paced_send(&m, &flow, &link, seconds_of(loss)).bit_s;
}

/* the equation's rate where the loss event rate is the loss */
static double equation(double loss)
{
	return 8 * (double)tfrc_rate_bytes_ps((u64)(65536 / loss), REFERENCE, PACED_RTT_US,
					      TFRC_TIMEOUT_RTTS);
}

static void assert_about(double value, double wanted, double off)
{
	if (fabs(value / wanted - 1) > off)
		fail_msg("%.0f bit/s, not %.0f", value, wanted);
}

/* 4.1.1, and the goal: within 10 % for a loss of 0.001 to 0.03, 20 % at 0.1, at every size */
static void small_packets_have_the_rate_of_full_ones(void **state)
{
	static const double losses[] = { 0.001, 0.003, 0.01, 0.03, 0.1 };
	static const u32 sizes[] = { 50, 100, 300, 536, 800, 1000 };
	unsigned int i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(losses); i++) {
		double off = losses[i] <= 0.03 ? 0.1 : 0.2;

		for (k = 0; k < ARRAY_SIZE(sizes); k++) {
			assert_about(sends(TFRC_VIRTUAL, sizes[k], PACED_STEADY, losses[i]),
				     equation(losses[i]), off);
			assert_about(sends(TFRC_SAMPLING, sizes[k], PACED_STEADY, losses[i]),
				     equation(losses[i]), off);
		}
	}
	for (i = 0; i < ARRAY_SIZE(losses) - 1; i++) {
		assert_about(sends(TFRC_UNMODIFIED, REFERENCE, PACED_STEADY, losses[i]),
			     equation(losses[i]), 0.1);
		assert_about(sends(TFRC_UNBIASING, 100, PACED_STEADY, losses[i]),
			     equation(losses[i]), 0.1);
		assert_about(sends(TFRC_LIP_SCALING, 100, PACED_STEADY, losses[i]),
			     equation(losses[i]), 0.1);
	}
}

/* Figure 1: without one, small packets take too much, the more the more is lost. Half of all packets: 100
 * times and more with the paper's timeout, 84 times with half of it.
 */
static void small_packets_without_a_method_take_too_much(void **state)
{
	static const struct {
		double loss, more_than;
	} of[] = { { 0.01, 1.5 }, { 0.03, 2.2 }, { 0.1, 5 }, { 0.5, 80 } };
	double before = 1, ratio;
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(of); i++) {
		ratio = sends(TFRC_UNMODIFIED, 100, PACED_STEADY, of[i].loss) /
			equation(of[i].loss);
		assert_true(ratio > before && ratio > of[i].more_than);
		before = ratio;
	}
}

/* 4.1.3: bad times hit many small packets at once, which only two methods take for one loss */
static void bad_times_tell_methods_apart(void **state)
{
	double full = sends(TFRC_UNMODIFIED, REFERENCE, PACED_GILBERT, 0.03);

	(void)state;
	assert_true(sends(TFRC_VIRTUAL, 100, PACED_GILBERT, 0.03) < 1.5 * full);
	assert_true(sends(TFRC_SAMPLING, 100, PACED_GILBERT, 0.03) < 1.5 * full);
	assert_true(sends(TFRC_LIP_SCALING, 100, PACED_GILBERT, 0.03) > 3 * full);
	assert_true(sends(TFRC_UNBIASING, 100, PACED_GILBERT, 0.03) > 5 * full);
}

/* figure 2: where losses are in proportion to size, byte mode has the rate of full packets */
static void byte_mode_is_for_losses_in_proportion(void **state)
{
	static const enum tfrc_method methods[] = { TFRC_VIRTUAL, TFRC_SAMPLING, TFRC_UNBIASING };
	const struct paced_link link = { PACED_STEADY, 0.03, true };
	const struct paced_flow flow = { 100, 0 };
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(methods); i++) {
		struct tfrc_params m = { REFERENCE, methods[i], TFRC_BYTE_MODE, 0 };

		assert_about(paced_send(&m, &flow, &link, seconds_of(link.loss)).bit_s, equation(0.03), 0.1);
		m.mode = TFRC_PACKET_MODE;
		assert_true(paced_send(&m, &flow, &link, seconds_of(link.loss)).bit_s > 2 * equation(0.03));
	}
}

/* 4.1.4: virtual packets are smooth */
static void virtual_packets_are_smooth(void **state)
{
	const struct paced_link link = { PACED_STEADY, 0.03, false };
	const struct paced_flow full = { REFERENCE, 0 }, small = { 100, 0 };
	struct tfrc_params m = { REFERENCE, TFRC_UNMODIFIED, TFRC_PACKET_MODE, 0 };
	struct paced_result of_full = paced_send(&m, &full, &link, seconds_of(link.loss)), of_small;

	(void)state;
	m.method = TFRC_VIRTUAL;
	of_small = paced_send(&m, &small, &link, seconds_of(link.loss));
	assert_true(of_small.rate_variation < of_full.rate_variation / 2);
	assert_true(of_small.interval_variation < of_full.interval_variation * 0.4);
}

/* a fixed rate of packets: their sizes follow the rate, up to the largest */
static void sizes_follow_the_rate(void **state)
{
	const struct paced_flow flow = { REFERENCE, 160 };
	const struct tfrc_params m = { REFERENCE, TFRC_VIRTUAL, TFRC_PACKET_MODE, 0 };
	struct paced_link link = { PACED_STEADY, 0.03, false };
	double most;

	(void)state;
	assert_about(paced_send(&m, &flow, &link, seconds_of(link.loss)).bit_s, equation(0.03), 0.1);
	link.loss = 0.0001;
	most = paced_send(&m, &flow, &link, seconds_of(link.loss)).bit_s;
	assert_true(most <= 160 * 8 * REFERENCE && most > 0.98 * 160 * 8 * REFERENCE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_packets_have_the_rate_of_full_ones),
		cmocka_unit_test(small_packets_without_a_method_take_too_much),
		cmocka_unit_test(bad_times_tell_methods_apart),
		cmocka_unit_test(byte_mode_is_for_losses_in_proportion),
		cmocka_unit_test(virtual_packets_are_smooth),
		cmocka_unit_test(sizes_follow_the_rate),
	};

	return cmocka_run_group_tests_name("paced_sender", tests, NULL, NULL);
}
