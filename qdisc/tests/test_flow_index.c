// SPDX-License-Identifier: GPL-2.0
/* flow_index.h: in range, evenly spread, different for another perturbation */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "flow_index.h"

/* two numbers as random as a qdisc's */
static const struct flow_mix mixes[] = {
	{ 0x9e3779b97f4a7c15, 0xd1b54a32d192ed03 },
	{ 0xbf58476d1ce4e5b9, 0x94d049bb133111eb },
	{ 0x2545f4914f6cdd1d, 0xff51afd7ed558ccd },
};

static void is_in_range(void **state)
{
	static const u32 flows[] = { 1, 2, 3, 1000, 1024, 65535, 65536 };
	static const u32 hashes[] = { 0, 1, 2, 0x7fffffff, UINT32_MAX };
	unsigned int i, j, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(mixes); i++)
		for (j = 0; j < ARRAY_SIZE(flows); j++)
			for (k = 0; k < ARRAY_SIZE(hashes); k++)
				assert_true(flow_index(&mixes[i], hashes[k],
						       flows[j]) < flows[j]);
}

/*
 * Consecutive hashes are the worst a poor function can be given. Chi-square
 * of 1024 queues and 102400 hashes; a random function exceeds 1200 in one of
 * 10000 cases (mean 1023, deviation 45).
 */
static void spreads_consecutive_hashes(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(mixes); i++) {
		u32 count[1024] = { 0 };
		double chi = 0;
		u32 k;

		for (k = 0; k < 102400; k++)
			count[flow_index(&mixes[i], k, 1024)]++;
		for (k = 0; k < 1024; k++)
			chi += (count[k] - 100.0) * (count[k] - 100.0) / 100;
		assert_true(chi < 1200);
	}
}

/* who meets under one perturbation does not meet under another */
static void another_perturbation_parts_who_met(void **state)
{
	u32 met = 0, again = 0, k;

	(void)state;
	for (k = 1; k < 200000; k++) {
		if (flow_index(&mixes[0], k, 1024) !=
		    flow_index(&mixes[0], 0, 1024))
			continue;
		met++;
		again += flow_index(&mixes[1], k, 1024) ==
			 flow_index(&mixes[1], 0, 1024);
	}
	/* by chance 195 meet, and a 1024th of them again */
	assert_in_range(met, 100, 300);
	assert_true(again <= 3);
}

/*
 * Any two hashes share a queue for one in 1024 of all perturbations: 195 of 200,000,
 * give or take 14. A sender who chooses hashes must have no pair that meets more often.
 */
static void no_two_hashes_meet_more_often_than_by_chance(void **state)
{
	static const struct {
		u32 one, other;
		const char *reason;
	} rows[] = {
		{ 0, 1, "neighbours" },
		{ 0, 0x80000000, "the highest bit: low bits of a product miss it" },
		{ 0x12345678, 0x1234567a, "bit 1" },
		{ 0x00010000, 0x00020000, "low halves equal" },
		{ 0, UINT32_MAX, "all bits" },
	};
	unsigned int i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct flow_mix mix = mixes[0];
		u32 met = 0;

		for (k = 0; k < 200000; k++) {
			/* as good as random here, and the same in every run */
			mix.mul = (mix.mul ^ (mix.mul >> 30)) * mixes[1].mul + k;
			mix.add = (mix.add ^ (mix.add >> 27)) * mixes[1].add + k;
			met += flow_index(&mix, rows[i].one, 1024) ==
			       flow_index(&mix, rows[i].other, 1024);
		}
		/* five deviations */
		if (met < 195 - 70 || met > 195 + 70)
			fail_msg("%s: %u of 200000", rows[i].reason, met);
	}
}

/* the first queue, if a caller says that there is none */
static void no_queues_are_one(void **state)
{
	const struct flow_mix mix = { UINT64_MAX, UINT64_MAX };

	(void)state;
	assert_int_equal(flow_index(&mix, UINT32_MAX, 0), 0);
	assert_int_equal(flow_index(&mix, UINT32_MAX, 1), 0);
	assert_true(flow_index(&mix, 12345, UINT32_MAX) < UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_in_range),
		cmocka_unit_test(spreads_consecutive_hashes),
		cmocka_unit_test(no_two_hashes_meet_more_often_than_by_chance),
		cmocka_unit_test(another_perturbation_parts_who_met),
		cmocka_unit_test(no_queues_are_one),
	};

	return cmocka_run_group_tests_name("flow_index", tests, NULL, NULL);
}
