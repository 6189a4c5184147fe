// SPDX-License-Identifier: GPL-2.0
/*
 * loss_model.h against its own definition: how many packets are lost, of what size, and for
 * how long a state lasts. Seeds are fixed, so that what passes once does so always. Bounds are
 * four standard deviations: one in 16,000 right models would miss one.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/bench/loss_model.h"

#define PACKETS 1000000
#define DEVIATIONS 4.0
#define MS_NS 1000000ULL

/* Lost of so many packets of a size, one each gap */
static double part_lost(const struct loss_params *p, u64 seed, u32 bytes, u64 gap_ns)
{
	struct loss_state s;
	int i, lost = 0;

	loss_begin(&s, seed);
	for (i = 0; i < PACKETS; i++)
		lost += loss_takes(&s, p, bytes, 1 + i * gap_ns);
	return lost / (double)PACKETS;
}

static void assert_is_near(double found, double wanted, double deviation, const char *what)
{
	if (fabs(found - wanted) > deviation)
		fail_msg("%s: %g, not %g +- %g", what, found, wanted, deviation);
}

static double binomial(double probability)
{
	return DEVIATIONS * sqrt(probability * (1 - probability) / PACKETS);
}

static void bernoulli_loss_is_that_of_any_packet(void **state)
{
	const u32 ppbs[] = { 0, 1000000, 30000000, 500000000, LOSS_PPB };
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(ppbs); i++) {
		const struct loss_params p = { .loss_ppb = ppbs[i] };
		double wanted = ppbs[i] / 1e9;

		assert_is_near(part_lost(&p, 1, 64, 1), wanted, binomial(wanted), "small");
		assert_is_near(part_lost(&p, 2, 1500, 1), wanted, binomial(wanted), "large");
	}
}

static void losses_do_not_depend_on_one_another(void **state)
{
	const struct loss_params p = { .loss_ppb = 200000000 };
	struct loss_state s;
	int i, both = 0;
	bool last = false;

	(void)state;
	loss_begin(&s, 3);
	for (i = 0; i < PACKETS; i++) {
		bool lost = loss_takes(&s, &p, 1000, 0);

		both += lost && last;
		last = lost;
	}
	assert_is_near(both / (double)PACKETS, 0.04, binomial(0.04), "two in a row");
}

static const struct {
	u32 packet_bytes;
	u32 header_bytes;
	double wanted;
	const char *reason;
} sizes[] = {
	{ 1000, 0, 0.1, "the reference" },
	{ 100, 0, 0.01, "a tenth of it" },
	{ 166, 66, 0.01, "the same, with headers that do not count" },
	{ 66, 66, 0.0, "headers alone" },
	{ 40, 66, 0.0, "less than headers" },
	{ 5000, 0, 0.5, "five times the reference" },
	{ 20000, 0, 1.0, "beyond a probability of 1" },
};

static void loss_is_in_proportion_to_bytes(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		const struct loss_params p = {
			.loss_ppb = 100000000,
			.reference_bytes = 1000,
			.header_bytes = sizes[i].header_bytes,
		};

		assert_is_near(part_lost(&p, 4 + i, sizes[i].packet_bytes, 1), sizes[i].wanted,
			       binomial(sizes[i].wanted), sizes[i].reason);
	}
}

static void the_same_seed_loses_the_same_packets_and_another_others(void **state)
{
	const struct loss_params p = { .loss_ppb = 500000000 };
	struct loss_state one, same, other;
	int i, differ = 0;

	(void)state;
	loss_begin(&one, 7);
	loss_begin(&same, 7);
	loss_begin(&other, 8);
	for (i = 0; i < 1000; i++) {
		bool lost = loss_takes(&one, &p, 100, 0);

		assert_int_equal(lost, loss_takes(&same, &p, 100, 0));
		differ += lost != loss_takes(&other, &p, 100, 0);
	}
	/* 500 +- 4 * 16 */
	assert_in_range(differ, 436, 564);
}

static void the_logarithm_is_right(void **state)
{
	const u32 numbers[] = { 0, 1, 2, 3, 0x7ffffffe, 0x7fffffff, 0x80000000, 0xfffffffe, U32_MAX };
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		assert_is_near(loss_minus_ln_q24(numbers[i]) / 16777216.0,
			       -log((numbers[i] + 1.0) / 4294967296.0), 1e-6, "-ln");
	srand(5);
	for (i = 0; i < 100000; i++) {
		u32 number = (u32)rand() << 16 ^ (u32)rand();

		assert_is_near(loss_minus_ln_q24(number) / 16777216.0,
			       -log((number + 1.0) / 4294967296.0), 1e-6, "-ln");
	}
}

/* a bad state that loses all: its packets in a row are its length */
static void states_last_as_long_as_said(void **state)
{
	const struct loss_params p = { .loss_ppb = LOSS_PPB, .good_us = 90000, .bad_us = 10000 };
	/* looked at each 0.1 ms */
	const u64 step_ns = MS_NS / 10;
	double bad_ms = 0, square = 0;
	struct loss_state s;
	int i, states = 0, length = 0, lost = 0;

	(void)state;
	loss_begin(&s, 11);
	for (i = 1; i <= 10 * PACKETS; i++) {
		if (loss_takes(&s, &p, 1000, i * step_ns)) {
			length++;
			lost++;
		} else if (length) {
			states++;
			bad_ms += length / 10.0;
			square += length / 10.0 * (length / 10.0);
			length = 0;
		}
	}
	/* A thousand seconds are 10,000 cycles of 0.1 s. Of an exponential time the deviation is the
	 * mean; those between two looks are missed, and a state is seen 0.05 ms longer or shorter.
	 */
	assert_in_range(states, 9500, 10500);
	assert_is_near(bad_ms / states, 10, DEVIATIONS * 10 / sqrt(states) + 0.1, "mean");
	assert_is_near(sqrt(square / states - pow(bad_ms / states, 2)), 10, 0.6, "deviation");
	assert_is_near(lost / (10.0 * PACKETS), 0.1, DEVIATIONS * 0.0014, "part of the time");
}

static void a_bad_state_loses_as_many_as_said(void **state)
{
	const struct loss_params p = { .loss_ppb = 500000000, .good_us = 10000, .bad_us = 10000 };

	(void)state;
	/* 0.5 of the time, half of the packets; 1,000 s have 50,000 cycles */
	assert_is_near(part_lost(&p, 12, 100, MS_NS), 0.25, DEVIATIONS * 0.5 / sqrt(50000), "lost");
}

static void a_pause_is_forgotten(void **state)
{
	const struct loss_params p = { .loss_ppb = LOSS_PPB, .good_us = 300, .bad_us = 100 };
	struct loss_state s;
	int i, lost = 0;

	(void)state;
	loss_begin(&s, 13);
	/* an hour between packets: the states of it are not gone through one by one */
	for (i = 1; i <= 100000; i++)
		lost += loss_takes(&s, &p, 100, i * 3600 * 1000ULL * MS_NS);
	assert_is_near(lost / 100000.0, 0.25, DEVIATIONS * sqrt(0.25 * 0.75 / 100000), "lost");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bernoulli_loss_is_that_of_any_packet),
		cmocka_unit_test(losses_do_not_depend_on_one_another),
		cmocka_unit_test(loss_is_in_proportion_to_bytes),
		cmocka_unit_test(the_same_seed_loses_the_same_packets_and_another_others),
		cmocka_unit_test(the_logarithm_is_right),
		cmocka_unit_test(states_last_as_long_as_said),
		cmocka_unit_test(a_bad_state_loses_as_many_as_said),
		cmocka_unit_test(a_pause_is_forgotten),
	};

	return cmocka_run_group_tests_name("loss_model", tests, NULL, NULL);
}
