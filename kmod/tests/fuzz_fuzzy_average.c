// SPDX-License-Identifier: GPL-2.0
/*
 * fuzzy_average.h with any samples: the estimate stays between its old value and the
 * sample, or four times the old one; a run moves it towards its samples only; and a
 * level that stays is reached.
 */
#include "fuzz_check.h"
#include "fuzzy_average.h"

static void check_step(u64 before, u64 sample, u64 after, u64 slack)
{
	u64 counts = clamp_t(u64, sample, 1, FUZZY_VALUE_MAX);

	counts = min_t(u64, counts, FUZZY_STEP_MAX * before);
	CHECK(after + slack >= min_t(u64, before, counts));
	CHECK(after <= max_t(u64, before, counts));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzzy_average avg = { 0 };
	u64 sample = 1, before;
	unsigned int i;

	fuzzy_start(&avg, size ? 1ULL << data[0] % 50 : 0);
	for (; size >= 4; size -= 4, data += 4) {
		/* anywhere, or near the estimate, above or below */
		sample = (1ULL << data[1] % 64) + data[2] * 257;
		if (data[0] & 1)
			sample = avg.value + (avg.value >> 8) * (s64)(s8)data[2];
		before = avg.value;
		if (data[0] & 2) {
			fuzzy_update(&avg, sample);
			check_step(before, sample, avg.value, 0);
		} else if (fuzzy_run(&avg, sample)) {
			/* which notes samples in coarse units */
			check_step(before, sample, avg.value,
				   1 << FUZZY_RUN_SHIFT);
		} else {
			CHECK(avg.value == before);
		}
		CHECK(avg.value >= 1 && avg.value <= FUZZY_STEP_MAX * FUZZY_VALUE_MAX);
		CHECK(fuzzy_alpha_q16(avg.smoothed_error_q16) <= FUZZY_ONE_Q16);
		CHECK(fuzzy_beta_q16(avg.last_error_q16) <= FUZZY_ONE_Q16);
	}
	/* 24 steps of four times up, and as many to come to rest */
	sample = clamp_t(u64, sample, 1, FUZZY_VALUE_MAX);
	for (i = 0; i < 200; i++)
		fuzzy_update(&avg, sample);
	CHECK(avg.value >= sample - sample / 100 && avg.value <= sample + sample / 100 + 1);
	return 0;
}
