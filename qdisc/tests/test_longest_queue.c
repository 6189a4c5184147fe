// SPDX-License-Identifier: GPL-2.0
/*
 * longest_queue.h: that it is the longest, and that collecting is rare.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "longest_queue.h"
#include "naive_longest_queue.h"

#define MANY 65536

struct table {
	struct lq lq;
	struct lq_queue *q;
	struct lq_member *heap;
};

static int setup(void **state)
{
	struct table *t = calloc(1, sizeof(*t));

	t->q = calloc(MANY, sizeof(*t->q));
	t->heap = calloc(MANY, sizeof(*t->heap));
	lq_init(&t->lq, t->heap);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct table *t = *state;

	free(t->q);
	free(t->heap);
	free(t);
	return 0;
}

static void nothing_is_longest_when_all_are_empty(void **state)
{
	struct table *t = *state;

	assert_null(naive_ask(&t->lq, t->q, MANY));
	lq_grow(&t->lq, &t->q[5], 100);
	assert_ptr_equal(naive_ask(&t->lq, t->q, MANY), &t->q[5]);
	lq_shrink(&t->q[5], 100);
	assert_null(naive_ask(&t->lq, t->q, MANY));
}

static void below_the_limit_nothing_is_kept(void **state)
{
	struct table *t = *state;
	u32 i;

	for (i = 0; i < 1000; i++)
		lq_grow(&t->lq, &t->q[i % 7], 1514);
	assert_int_equal(t->lq.count, 0);
	assert_true(lq_collecting(&t->lq));
}

static void a_queue_that_shrinks_is_overtaken(void **state)
{
	struct table *t = *state;

	lq_grow(&t->lq, &t->q[1], 3000);
	lq_grow(&t->lq, &t->q[2], 2000);
	assert_ptr_equal(naive_ask(&t->lq, t->q, MANY), &t->q[1]);
	lq_shrink(&t->q[1], 1500);
	assert_ptr_equal(naive_ask(&t->lq, t->q, MANY), &t->q[2]);
}

static void a_new_queue_is_noticed(void **state)
{
	struct table *t = *state;

	lq_grow(&t->lq, &t->q[1], 3000);
	assert_ptr_equal(naive_ask(&t->lq, t->q, MANY), &t->q[1]);
	lq_grow(&t->lq, &t->q[2], 4000);
	assert_ptr_equal(naive_ask(&t->lq, t->q, MANY), &t->q[2]);
}

/* the largest length there may be: a whole limit of 64 KiB super-packets */
static void lengths_up_to_the_limit_of_the_type(void **state)
{
	struct table *t = *state;

	lq_grow(&t->lq, &t->q[1], UINT32_MAX - 1);
	lq_grow(&t->lq, &t->q[2], UINT32_MAX);
	assert_ptr_equal(naive_ask(&t->lq, t->q, MANY), &t->q[2]);
	assert_int_equal(naive_ask(&t->lq, t->q, MANY)->bytes, UINT32_MAX);
}

/* collecting again happens no more often than once per packets collected */
static void collecting_is_paid_for_by_packets(void **state)
{
	struct table *t = *state;
	u32 collected = 0, packets = 0, round, i;

	for (i = 0; i < 1000; i++)
		lq_grow(&t->lq, &t->q[i], 100);
	for (round = 0; round < 20; round++) {
		if (lq_collecting(&t->lq))
			collected += 1000;
		naive_ask(&t->lq, t->q, 1000);
		while (!lq_collecting(&t->lq)) {
			lq_grow(&t->lq, &t->q[packets % 1000], 1);
			packets++;
		}
	}
	assert_int_equal(collected, 20000);
	assert_true(packets >= collected);
}

/*
 * All 65536 queues backlogged, every packet over the limit, and dequeues that
 * leave keys behind which must be corrected later.
 */
static void stays_right_in_a_flood_of_many_flows(void **state)
{
	static u32 bytes[MANY];
	struct table *t = *state;
	u32 corrections = 0, i;

	for (i = 0; i < MANY; i++) {
		bytes[i] = 1500 + i % 1000;
		lq_grow(&t->lq, &t->q[i], bytes[i]);
	}
	naive_ask(&t->lq, t->q, MANY);
	srand(1);
	for (i = 0; i < 200000; i++) {
		struct lq_queue *longest;
		u32 which = rand() % MANY, len;

		lq_grow(&t->lq, &t->q[which], 1500);
		bytes[which] += 1500;
		which = rand() % MANY;
		len = min_t(u32, bytes[which], 1500);
		lq_shrink(&t->q[which], len);
		bytes[which] -= len;
		if (t->lq.heap[0].key != t->lq.heap[0].queue->bytes)
			corrections++;
		longest = lq_longest(&t->lq);
		len = min_t(u32, bytes[longest - t->q], 1500);
		lq_shrink(longest, len);
		bytes[longest - t->q] -= len;
	}
	assert_false(lq_collecting(&t->lq));
	assert_true(corrections > 0);
	naive_check_heap(&t->lq);
	assert_int_equal(lq_longest(&t->lq)->bytes, naive_longest(bytes, MANY));
}

static void agrees_with_a_look_at_all(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 300; seed++) {
		u8 script[4096];
		unsigned int k;

		srand(seed);
		for (k = 0; k < sizeof(script); k++)
			script[k] = rand() >> 7;
		naive_compare(script, sizeof(script));
	}
}

#define LQ_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LQ_TEST(nothing_is_longest_when_all_are_empty),
		LQ_TEST(below_the_limit_nothing_is_kept),
		LQ_TEST(a_queue_that_shrinks_is_overtaken),
		LQ_TEST(a_new_queue_is_noticed),
		LQ_TEST(lengths_up_to_the_limit_of_the_type),
		LQ_TEST(collecting_is_paid_for_by_packets),
		LQ_TEST(stays_right_in_a_flood_of_many_flows),
		LQ_TEST(agrees_with_a_look_at_all),
	};

	return cmocka_run_group_tests_name("longest_queue", tests, NULL, NULL);
}
