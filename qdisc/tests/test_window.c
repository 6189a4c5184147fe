// SPDX-License-Identifier: GPL-2.0
/* A window of queues that hosts share out: placing.h, host_turns.h and buffer.h together */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "naive_window.h"

/* of sixteen queues the one that is in a hash's upper four bits */
#define AT_HOME(queue) ((u32)(queue) << 28)

/*
 * Sixteen queues are busy, each of the host that is named, and the first has a guest: so the
 * next flow that would share it looks at two others only. Then the last @idle queues run empty.
 */
static struct naive_window *window(const char *hosts, u32 idle)
{
	struct naive_window *n = naive_make(16);
	u32 k;

	for (k = 0; k < 16; k++)
		naive_come(n, AT_HOME(k) + 1, hosts[k]);
	assert_true(naive_come(n, AT_HOME(0) + 2, hosts[0]));
	assert_int_equal(n->shared, 1);
	assert_true(n->p.guests[0]);
	for (k = 0; k < 8 * (16 - idle); k++)
		assert_true(naive_come(n, AT_HOME(k / 8) + 1, hosts[k / 8]));
	for (k = 16 - idle; k < 16; k++)
		while (n->b.flows[k].head)
			assert_true(naive_send(n) != HT_NONE);
	for (k = 0; k < 16; k++)
		assert_int_equal(!n->b.flows[k].head, k >= 16 - idle);
	return n;
}

static void an_idle_queue_is_taken_and_none_emptied(void **state)
{
	static const char *const hosts[] = {
		"abcdefghijklmnnn",	/* who has most has the idle ones */
		"abbbbbghijklmnop",	/* who has most has busy ones */
	};
	unsigned int i;
	u32 k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(hosts); i++) {
		struct naive_window *n = window(hosts[i], 3);

		for (k = 0; k < 3; k++)
			assert_true(naive_come(n, AT_HOME(0) + 3 + k, 'x' + k));
		assert_int_equal(n->evicted, 0);
		naive_free(n);
	}
}

/* it has two, which is enough where nobody has four and all are busy */
static void no_flow_is_refused_an_idle_queue(void **state)
{
	struct naive_window *n = window("abbcdefghijklmno", 1);

	(void)state;
	assert_true(naive_come(n, AT_HOME(0) + 3, 'b'));
	assert_int_equal(n->refused, 0);
	assert_int_equal(n->b.flows[15].packets, 1);
	assert_false(naive_come(n, AT_HOME(0) + 4, 'b'));
	naive_free(n);
}

/* without an idle one who has most loses one, and who has enough is refused */
static void a_busy_window_is_shared_out(void **state)
{
	struct naive_window *n = naive_make(16);
	u32 k;

	(void)state;
	for (k = 0; k < 16; k++)
		naive_come(n, AT_HOME(k) + 1, 'a');
	for (k = 0; k < 8; k++)
		assert_true(naive_come(n, AT_HOME(0) + 2 + k, 'b'));
	assert_int_equal(n->evicted, 8);
	assert_false(naive_come(n, AT_HOME(0) + 10, 'b'));
	assert_int_equal(n->evicted, 8);
	naive_free(n);
}

/* what is left shares: a long queue is not searched for a guest's packets */
static void a_long_home_is_shared(void **state)
{
	struct naive_window *n = naive_make(16);
	u32 k;

	(void)state;
	for (k = 0; k < 16; k++)
		naive_come(n, AT_HOME(k) + 1, 'a');
	for (k = 0; k < PLACING_MOVED_MAX; k++)
		naive_come(n, AT_HOME(0) + 1, 'a');
	assert_true(naive_come(n, AT_HOME(0) + 2, 'b'));
	assert_int_equal(n->evicted, 0);
	assert_int_equal(n->b.flows[0].packets, PLACING_MOVED_MAX + 2);
	naive_free(n);
}

/* in order, and what was put into the queue by a class stays there */
static void a_guest_leaves_with_what_is_its_own(void **state)
{
	static const u32 hashes[] = { 1, 2, 2, 3, 2 };
	struct naive_packet *packets[5], *first;
	struct naive_window *n = naive_make(16);
	u32 k;

	(void)state;
	placing_take(&n->p, 0, AT_HOME(0) + 1, PLACING_NONE);
	placing_take(&n->p, 5, AT_HOME(0) + 2, PLACING_NONE);
	n->p.guests[0] = 1;
	for (k = 0; k < ARRAY_SIZE(hashes); k++) {
		packets[k] = calloc(1, sizeof(*packets[k]));
		packets[k]->hash = AT_HOME(0) + hashes[k];
		packets[k]->stays = k == 2;
		naive_append(n, 0, packets[k]);
		n->waiting++;
	}
	naive_move(n, 0, 5);
	first = (struct naive_packet *)n->b.flows[5].head;
	assert_true(first == packets[1]);
	assert_true(first->link.next == &packets[4]->link);
	assert_int_equal(n->b.flows[5].packets, 2);
	assert_int_equal(n->b.flows[0].packets, 3);
	assert_true(n->p.guests[0]);
	naive_free(n);
}

/* a queue that only had guests of one flow takes no turns any more, and has none */
static void a_queue_that_all_leave_is_idle(void **state)
{
	struct naive_window *n = naive_make(16);
	struct naive_packet *packet;

	(void)state;
	placing_take(&n->p, 5, AT_HOME(0) + 2, PLACING_NONE);
	n->p.guests[0] = 1;
	packet = calloc(1, sizeof(*packet));
	packet->hash = AT_HOME(0) + 2;
	naive_append(n, 0, packet);
	n->waiting++;
	naive_move(n, 0, 5);
	assert_int_equal(buffer_active(&n->b), 1);
	assert_false(n->p.guests[0]);
	assert_int_equal(naive_send(n), 5);
	naive_free(n);
}

/* among the first 64 queues of the longest host none has a packet: the search for room ends */
static void room_is_not_sought_for_ever(void **state)
{
	struct naive_window *n = naive_make(128);
	struct packet_list dropped = { 0 };
	struct fq_rr_outcome outcome;
	u32 k;

	(void)state;
	for (k = 0; k < HT_LOOKS; k++)
		buffer_backlogged(&n->b, &n->b.flows[k], 'a', false);
	naive_come(n, 100U << 25, 'a');
	buffer_make_room(&n->b, NAIVE_LIMIT + 1, NULL, NULL, naive_size, &outcome, &dropped);
	assert_int_equal(outcome.dropped, 0);
	for (k = 0; k < HT_LOOKS; k++)
		buffer_idle(&n->b, &n->b.flows[k]);
	naive_free(n);
}

static void anything_happens(void **state)
{
	static const u32 queues[] = { 1, 3, 16, 17, 64, 256, 1024 };
	u32 seed = 1, shared = 0, evicted = 0, refused = 0, i, k, run;
	u8 script[30000];

	(void)state;
	for (i = 0; i < ARRAY_SIZE(queues); i++) {
		for (run = 0; run < 8; run++) {
			struct naive_window *n = naive_make(queues[i]);

			for (k = 0; k < sizeof(script); k++) {
				seed = seed * 1664525 + 1013904223;
				script[k] = (u8)(seed >> 24);
			}
			/* a turn has fifteen packets in the mean: so many come for it, or more */
			for (k = 0; k < sizeof(script); k += 3)
				if (script[k] & 0x80 && script[k + 2] % 16 > run / 2)
					script[k] &= 0x7f;
			naive_run(n, script, sizeof(script));
			shared += n->shared;
			evicted += n->evicted;
			refused += n->refused;
			naive_free(n);
		}
	}
	assert_true(shared > 10000 && evicted > 1000 && refused > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_queue_is_taken_and_none_emptied),
		cmocka_unit_test(no_flow_is_refused_an_idle_queue),
		cmocka_unit_test(a_busy_window_is_shared_out),
		cmocka_unit_test(a_long_home_is_shared),
		cmocka_unit_test(a_guest_leaves_with_what_is_its_own),
		cmocka_unit_test(a_queue_that_all_leave_is_idle),
		cmocka_unit_test(room_is_not_sought_for_ever),
		cmocka_unit_test(anything_happens),
	};

	return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
