// SPDX-License-Identifier: GPL-2.0
/* fair_share.h: against exact arithmetic in wider numbers, and at its edges */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "refused.h"

#include "fair_share.h"

#define LIMIT_MAX (1U << 20)
#define MEMORY_MAX (1U << 30)
#define WEIGHTS_MAX (65536U * 255)

static void the_scarcer_limit_is_shared(void **state)
{
	static const struct {
		u32 limit, memory_limit, packets, memory, buffer;
		const char *reason;
	} rows[] = {
		{ 1000, 1 << 20, 0, 0, 1000, "nothing waits: no mean size" },
		{ 1000, 1 << 20, 10, 1000, 1000, "small packets: their number" },
		{ 1000, 1 << 20, 10, 20480, 512, "2 KiB each: 512 of them fit" },
		{ 1000, 1 << 20, 1, 1 << 20, 1, "one fills it" },
		{ 1000, 1 << 20, 3, 1 << 20, 3, "three fill it" },
		{ LIMIT_MAX, MEMORY_MAX, LIMIT_MAX, MEMORY_MAX, LIMIT_MAX,
		  "the largest of all" },
		{ LIMIT_MAX, MEMORY_MAX, LIMIT_MAX, 1, LIMIT_MAX,
		  "the largest product" },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 found = fair_share_buffer(rows[i].limit,
					      rows[i].memory_limit,
					      rows[i].packets, rows[i].memory);

		if (found != rows[i].buffer)
			fail_msg("%s: %u, not %u", rows[i].reason, found,
				 rows[i].buffer);
	}
}

/* the thesis: a third of the share; 100 packets, four flows, 25 each */
static void a_third_of_the_share_is_marked(void **state)
{
	u32 packets;

	(void)state;
	for (packets = 0; packets < 30; packets++)
		assert_int_equal(fair_share_exceeded(packets, 1, 4, 100, 33),
				 packets > 8);
	/* a flow of weight 3 beside four others has 3/7 of it */
	for (packets = 0; packets < 60; packets++)
		assert_int_equal(fair_share_exceeded(packets, 3, 7, 100, 100),
				 packets > 42);
}

static void a_train_is_no_queue(void **state)
{
	(void)state;
	assert_false(fair_share_exceeded(4, 1, WEIGHTS_MAX, 1, 1));
	assert_true(fair_share_exceeded(5, 1, WEIGHTS_MAX, 1, 1));
}

/*
 * Who has filled a buffer of 10,240 packets and 32 MiB: the flow with the larger part
 * of it, in packets or in memory. Truesizes are those of a stock kernel.
 */
static void the_largest_part_is_the_longest_queue(void **state)
{
	static const struct {
		struct {
			u32 packets, truesize;
		} longer, shorter;
		const char *reason;
	} rows[] = {
		{ { 9800, 768 }, { 500, 2304 },
		  "tiny packets fill the limit: 96 and 5 % of it" },
		{ { 9000, 768 }, { 1241, 8192 },
		  "also where a few hold more memory: 88 and 30 %" },
		{ { 440, 71680 }, { 9000, 256 },
		  "super-packets fill the memory: 94 and 88 %" },
		{ { 3, 2304 }, { 2, 2304 }, "one size: a packet more" },
		{ { 5000, 768 }, { 1000, 2304 }, "below both limits" },
		{ { 1, 1 }, { 0, 0 }, "something, nothing" },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u64 longer = fair_share_key(10240, 32 << 20,
					    rows[i].longer.packets,
					    rows[i].longer.packets *
					    rows[i].longer.truesize);
		u64 shorter = fair_share_key(10240, 32 << 20,
					     rows[i].shorter.packets,
					     rows[i].shorter.packets *
					     rows[i].shorter.truesize);

		if (longer <= shorter)
			fail_msg("%s: %llu, %llu", rows[i].reason,
				 (unsigned long long)longer, (unsigned long long)shorter);
	}
}

/* the largest buffer and a packet beyond it fit what the heap holds */
static void a_part_fits_a_key(void **state)
{
	(void)state;
	assert_true(fair_share_key(LIMIT_MAX, MEMORY_MAX, LIMIT_MAX + 1,
				   MEMORY_MAX + (1 << 20)) < 1ULL << 48);
	assert_true(fair_share_key(LIMIT_MAX, MEMORY_MAX, LIMIT_MAX, MEMORY_MAX) >
		    fair_share_key(LIMIT_MAX, MEMORY_MAX, LIMIT_MAX - 1,
				   MEMORY_MAX - 1));
	/* and the smallest buffer's a single packet */
	assert_true(fair_share_key(1, 128 << 10, 1, 256) > 0);
}

static void agrees_with_wider_numbers(void **state)
{
	unsigned int k;

	(void)state;
	srand(1);
	for (k = 0; k < 1000000; k++) {
		u32 weight = 1 + rand() % 255;
		u32 weights = weight + rand() % (WEIGHTS_MAX - weight + 1);
		u32 buffer = 1 + rand() % LIMIT_MAX;
		u32 percent = 1 + rand() % 100;
		u32 packets = 5 + rand() % LIMIT_MAX;
		__int128 left, right;

		if (k & 1)
			weights = weight + rand() % 100;
		/* and right at the edge */
		if (k & 2)
			packets = 5 + (u64)percent * buffer * weight / weights /
				  100 + rand() % 3 - 5;
		if (packets > LIMIT_MAX)
			continue;
		left = (__int128)packets * weights * 100;
		right = (__int128)percent * buffer * weight;
		assert_int_equal(fair_share_exceeded(packets, weight, weights,
						     buffer, percent),
				 left > right && packets > 4);
	}
}

static void what_is_out_of_range_is_noticed(void **state)
{
	(void)state;
	assert_refused(fair_share_key(0, MEMORY_MAX, 1, 1));
	assert_refused(fair_share_key(LIMIT_MAX + 1, MEMORY_MAX, 1, 1));
	assert_refused(fair_share_key(1, 7, 1, 1));
	assert_refused(fair_share_key(1, MEMORY_MAX + 1, 1, 1));
	assert_refused(fair_share_exceeded(1, 0, 1, 1, 1));
	assert_refused(fair_share_exceeded(1, 256, 256, 1, 1));
	assert_refused(fair_share_exceeded(1, 2, 1, 1, 1));
	assert_refused(fair_share_exceeded(1, 1, 1 << 24, 1, 1));
	assert_refused(fair_share_exceeded(1, 1, 1, 1, 0));
	assert_refused(fair_share_exceeded(1, 1, 1, 1, 101));
	/* and what is in range is not */
	fair_share_key(1, 8, 0, 0);
	fair_share_key(LIMIT_MAX, MEMORY_MAX, 1, 1);
	fair_share_exceeded(1, 255, 255, 1, 100);
	fair_share_exceeded(1, 1, (1 << 24) - 1, 1, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_scarcer_limit_is_shared),
		cmocka_unit_test(a_third_of_the_share_is_marked),
		cmocka_unit_test(a_train_is_no_queue),
		cmocka_unit_test(the_largest_part_is_the_longest_queue),
		cmocka_unit_test(a_part_fits_a_key),
		cmocka_unit_test(what_is_out_of_range_is_noticed),
		cmocka_unit_test(agrees_with_wider_numbers),
	};

	return cmocka_run_group_tests_name("fair_share", tests, NULL, NULL);
}
