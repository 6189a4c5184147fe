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
	u64 *key;
	void *room;
};

static int setup(void **state)
{
	struct table *t = calloc(1, sizeof(*t));

	t->key = calloc(MANY, sizeof(*t->key));
	t->room = calloc(1, lq_room_bytes(MANY));
	lq_init(&t->lq, t->room, MANY);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct table *t = *state;

	free(t->key);
	free(t->room);
	free(t);
	return 0;
}

static void nothing_is_longest_when_all_are_empty(void **state)
{
	struct table *t = *state;

	assert_int_equal(naive_ask(&t->lq, t->key, MANY), LQ_NONE);
	naive_grow(&t->lq, t->key, 5, 100);
	assert_int_equal(naive_ask(&t->lq, t->key, MANY), 5);
	t->key[5] -= 100;
	assert_int_equal(naive_ask(&t->lq, t->key, MANY), LQ_NONE);
}

static void below_the_limit_nothing_is_kept(void **state)
{
	struct table *t = *state;
	u32 i;

	for (i = 0; i < 1000; i++)
		naive_grow(&t->lq, t->key, i % 7, 1514);
	assert_int_equal(t->lq.count, 0);
	assert_true(lq_collecting(&t->lq));
}

static void a_queue_that_shrinks_is_overtaken(void **state)
{
	struct table *t = *state;

	naive_grow(&t->lq, t->key, 1, 3000);
	naive_grow(&t->lq, t->key, 2, 2000);
	assert_int_equal(naive_ask(&t->lq, t->key, MANY), 1);
	t->key[1] -= 1500;
	assert_int_equal(naive_ask(&t->lq, t->key, MANY), 2);
}

static void a_new_queue_is_noticed(void **state)
{
	struct table *t = *state;

	naive_grow(&t->lq, t->key, 1, 3000);
	assert_int_equal(naive_ask(&t->lq, t->key, MANY), 1);
	naive_grow(&t->lq, t->key, 2, 4000);
	assert_int_equal(naive_ask(&t->lq, t->key, MANY), 2);
}

/* beyond 32 bits, as a part of the buffer is; and keys that are one apart differ */
static void keys_up_to_the_largest(void **state)
{
	struct table *t = *state;

	naive_grow(&t->lq, t->key, 1, LQ_KEY_MAX - 1);
	naive_grow(&t->lq, t->key, MANY - 1, LQ_KEY_MAX - 2);
	assert_int_equal(naive_ask(&t->lq, t->key, MANY), 1);
	naive_grow(&t->lq, t->key, MANY - 1, 2);
	assert_int_equal(naive_ask(&t->lq, t->key, MANY), MANY - 1);
	/* what is larger still is as long as the largest, and does not become short */
	naive_grow(&t->lq, t->key, 2, UINT64_MAX);
	assert_int_equal(naive_ask(&t->lq, t->key, MANY), MANY - 1);
	t->key[MANY - 1] = 5;
	assert_int_equal(naive_ask(&t->lq, t->key, MANY), 2);
}

/* collecting again happens no more often than once per packets collected */
static void collecting_is_paid_for_by_packets(void **state)
{
	struct table *t = *state;
	u32 collected = 0, packets = 0, round, i;

	for (i = 0; i < 1000; i++)
		naive_grow(&t->lq, t->key, i, 100);
	for (round = 0; round < 20; round++) {
		if (lq_collecting(&t->lq))
			collected += 1000;
		naive_ask(&t->lq, t->key, 1000);
		while (!lq_collecting(&t->lq)) {
			naive_grow(&t->lq, t->key, packets % 1000, 1);
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
	struct table *t = *state;
	u32 corrections = 0, i;
	u64 *key = t->key;

	for (i = 0; i < MANY; i++)
		naive_grow(&t->lq, key, i, 1500 + i % 1000);
	naive_ask(&t->lq, key, MANY);
	srand(1);
	for (i = 0; i < 200000; i++) {
		u32 which = rand() % MANY, longest;

		naive_grow(&t->lq, key, which, 1500);
		which = rand() % MANY;
		key[which] -= min_t(u64, key[which], 1500);
		longest = lq_queue(t->lq.heap[0]);
		if (t->lq.heap[0] != lq_member(longest, key[longest]))
			corrections++;
		longest = lq_longest(&t->lq, naive_key, key);
		key[longest] -= min_t(u64, key[longest], 1500);
	}
	assert_false(lq_collecting(&t->lq));
	assert_true(corrections > 0);
	naive_check_heap(&t->lq, key);
	assert_int_equal(key[lq_longest(&t->lq, naive_key, key)],
			 naive_longest(key, MANY));
}

/* a node's children are one cache line, if the room begins with one */
static void children_share_a_cache_line(void **state)
{
	struct table *t = *state;
	size_t first = (char *)&t->lq.heap[1] - (char *)t->room;

	assert_int_equal(first % 64, 0);
	assert_int_equal(LQ_FANOUT * sizeof(*t->lq.heap), 64);
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

/* numbers that no queue has, and queues that are added twice, write beyond nothing */
static void what_is_no_queue_changes_nothing(void **state)
{
	static const u32 others[] = { 4, 5, LQ_QUEUES_MAX, UINT32_MAX };
	u64 key[4] = { 7, 0, 9, 8 };
	void *room = calloc(1, lq_room_bytes(4));
	struct lq lq;
	size_t i;
	u32 k;

	(void)state;
	lq_init(&lq, room, 4);
	for (k = 0; k < 100; k++)
		lq_collect(&lq, k % 5, k % 5 < 4 ? key[k % 5] : UINT64_MAX);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		lq_collect(&lq, others[i], UINT64_MAX);
	lq_collected(&lq);
	assert_int_equal(lq.count, 4);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		lq_grow(&lq, others[i], UINT64_MAX);
	assert_int_equal(lq.count, 4);
	assert_int_equal(lq_longest(&lq, naive_key, key), 2);
	free(room);

	/* more queues than a member can name: the first are compared */
	assert_int_equal(lq_room_bytes(UINT32_MAX), lq_room_bytes(LQ_QUEUES_MAX));
	room = calloc(1, lq_room_bytes(UINT32_MAX));
	lq_init(&lq, room, UINT32_MAX);
	lq_collect(&lq, LQ_QUEUES_MAX, 1);
	lq_collect(&lq, LQ_QUEUES_MAX - 1, 1);
	lq_collected(&lq);
	assert_int_equal(lq.count, 1);
	free(room);
}

/* in exactly as much memory as is asked for */
static void any_number_of_queues_has_room(void **state)
{
	struct lq lq;
	u32 queues;

	(void)state;
	for (queues = 1; queues < 20; queues++) {
		void *room = calloc(1, lq_room_bytes(queues));
		u32 k;

		lq_init(&lq, room, queues);
		for (k = 0; k < queues; k++)
			lq_collect(&lq, k, k + 1);
		lq_collected(&lq);
		assert_int_equal(lq.count, queues);
		assert_true((char *)&lq.slots[queues] <= (char *)room + lq_room_bytes(queues));
		free(room);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LQ_TEST(nothing_is_longest_when_all_are_empty),
		LQ_TEST(below_the_limit_nothing_is_kept),
		LQ_TEST(a_queue_that_shrinks_is_overtaken),
		LQ_TEST(a_new_queue_is_noticed),
		LQ_TEST(keys_up_to_the_largest),
		LQ_TEST(collecting_is_paid_for_by_packets),
		LQ_TEST(stays_right_in_a_flood_of_many_flows),
		LQ_TEST(children_share_a_cache_line),
		LQ_TEST(agrees_with_a_look_at_all),
		cmocka_unit_test(what_is_no_queue_changes_nothing),
		cmocka_unit_test(any_number_of_queues_has_room),
	};

	return cmocka_run_group_tests_name("longest_queue", tests, NULL, NULL);
}
