// SPDX-License-Identifier: GPL-2.0
/* decbit_queue.h: the average, max-min shares against a search, and who is marked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/bench/decbit_queue.h"

#define MS 1000000ULL
/* 80 kbit/s: a packet of 1000 bytes takes 100 ms */
#define RATE_BYTES_S 10000
#define PACKET_MS 100

static void come(struct decbit_queue *q, u32 user, u64 now_ms)
{
	decbit_comes(q, user, 1000, now_ms * MS);
	decbit_waits(q);
}

static void leave(struct decbit_queue *q, u64 now_ms)
{
	decbit_leaves(q, now_ms * MS);
}

/* One packet at a time, and half of the time idle: an average of a half */
static void the_average_has_the_packet_that_is_sent(void **state)
{
	struct decbit_queue q = {};
	u64 at;

	(void)state;
	for (at = 0; at <= 2000; at += 200) {
		come(&q, 0, at);
		leave(&q, at + PACKET_MS);
	}
	come(&q, 0, at);
	assert_int_equal(q.at_ns - q.last.since_ns, 200 * MS);
	assert_int_equal(q.last.packet_ns + q.now.packet_ns, 100 * MS);
	assert_false(decbit_reaches(&q, 1));
}

/* Two in turn: one waits and one is sent, all the time */
static void two_that_are_always_there_are_an_average_of_two(void **state)
{
	struct decbit_queue q = {};
	u64 at;

	(void)state;
	come(&q, 0, 0);
	come(&q, 1, 0);
	for (at = 100; at <= 3000; at += 100) {
		leave(&q, at);
		come(&q, at / 100 % 2, at);
	}
	assert_true(decbit_reaches(&q, 2));
	assert_false(decbit_reaches(&q, 3));
	assert_true(decbit_marks(&q, 0, RATE_BYTES_S, 90, true));
	/* without panic: both want more than 0.45 of the link, and neither more than half of it */
	assert_true(decbit_marks(&q, 0, RATE_BYTES_S, 90, false));
	assert_false(decbit_marks(&q, 5, RATE_BYTES_S, 90, false));
}

static void a_user_below_its_share_is_not_marked(void **state)
{
	struct decbit_queue q = {};
	u64 at;

	(void)state;
	/* 10 packets a second of user 0, 1 of user 1 */
	for (at = 0; at < 5000; at += 100) {
		come(&q, 0, at);
		if (at % 1000 == 0)
			come(&q, 1, at);
		leave(&q, at + 99);
	}
	come(&q, 0, 5000);
	assert_true(decbit_marks(&q, 0, RATE_BYTES_S, 90, false));
	assert_false(decbit_marks(&q, 1, RATE_BYTES_S, 90, false));
	assert_true(decbit_marks(&q, 1, RATE_BYTES_S, 90, true));
}

static void an_old_cycle_is_forgotten(void **state)
{
	struct decbit_queue q = {};
	u64 at;
	int i;

	(void)state;
	for (i = 0; i < 50; i++)
		come(&q, 0, 0);
	for (at = 100; at <= 5000; at += 100)
		leave(&q, at);
	come(&q, 1, 10000);
	assert_true(decbit_reaches(&q, 10));
	leave(&q, 10100);
	come(&q, 1, 20000);
	leave(&q, 20100);
	assert_int_equal(decbit_demand(&q, 0), 0);
	assert_false(decbit_reaches(&q, 1));
}

static void a_link_that_is_always_busy_forgets_as_well(void **state)
{
	struct decbit_queue q = {};
	u64 at;

	(void)state;
	come(&q, 0, 0);
	for (at = 0; at < 200000; at += 100) {
		come(&q, at < 50000 ? 0 : 1, at);
		leave(&q, at);
	}
	assert_int_equal(decbit_demand(&q, 0), 0);
	assert_in_range(q.at_ns - q.last.since_ns, DECBIT_CYCLE_MAX_NS, 2 * DECBIT_CYCLE_MAX_NS);
}

/* The share whose minimum with each demand adds up to the capacity */
static void shares_are_max_min(void **state)
{
	int round;

	(void)state;
	srand(1);
	for (round = 0; round < 2000; round++) {
		struct decbit_queue q = {};
		u64 capacity = rand() % 100000, all = 0, had = 0, share;
		u32 user, users = 1 + rand() % DECBIT_USERS;

		for (user = 0; user < users; user++) {
			q.now.bytes[user] = rand() % 4 ? rand() % 10000 : 0;
			all += q.now.bytes[user];
		}
		share = decbit_share(&q, capacity);
		assert_int_equal(share == U64_MAX, all <= capacity);
		for (user = 0; user < users; user++)
			had += q.now.bytes[user] < share ? q.now.bytes[user] : share;
		/* what a division by the number of users leaves over */
		assert_in_range(share == U64_MAX ? all - had : capacity - had, 0, users);
	}
}

static void nobody_is_marked_at_first(void **state)
{
	struct decbit_queue q = {};

	(void)state;
	come(&q, 0, 7);
	assert_false(decbit_marks(&q, 0, RATE_BYTES_S, 90, true));
}

static void a_third_of_the_fair_share(void **state)
{
	static const struct {
		const char *reason;
		u32 packets, queues, limit;
		bool marks;
	} rows[] = {
		{ "scenario 1: 5 of 40 packets, two sources", 5, 2, 40, false },
		{ "7 are more than 40 / 6", 7, 2, 40, true },
		{ "scenario 2: 25 / 18 is more than one", 1, 6, 25, false },
		{ "and less than two", 2, 6, 25, true },
		{ "exactly a third", 4, 1, 12, false },
		{ "no overflow", U32_MAX, 64, U32_MAX, true },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (fqbit_marks(rows[i].packets, rows[i].queues, rows[i].limit) != rows[i].marks)
			fail_msg("%s", rows[i].reason);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_average_has_the_packet_that_is_sent),
		cmocka_unit_test(two_that_are_always_there_are_an_average_of_two),
		cmocka_unit_test(a_user_below_its_share_is_not_marked),
		cmocka_unit_test(an_old_cycle_is_forgotten),
		cmocka_unit_test(a_link_that_is_always_busy_forgets_as_well),
		cmocka_unit_test(shares_are_max_min),
		cmocka_unit_test(nobody_is_marked_at_first),
		cmocka_unit_test(a_third_of_the_fair_share),
	};

	return cmocka_run_group_tests_name("decbit_queue", tests, NULL, NULL);
}
