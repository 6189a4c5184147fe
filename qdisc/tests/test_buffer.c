// SPDX-License-Identifier: GPL-2.0
/*
 * buffer.h: who loses what when the buffer is full, by scenario and at random.
 *
 * The oracle is naive_buffer.h, which compares every packet, sum and counter after each
 * step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "refused.h"

#include "buffer.h"
#include "naive_buffer.h"

#define FULL 1514
#define TRUESIZE 2304

static struct naive_buffer *buffer(u32 queues, u32 limit, u32 drop)
{
	struct naive_buffer *n = naive_new(queues);

	n->b.drop = drop;
	naive_set_limits(n, limit, FQ_RR_MEMORY_LIMIT_MAX);
	return n;
}

static void arrive(struct naive_buffer *n, u32 queue, u32 packets)
{
	while (packets--)
		naive_arrive(n, queue, FULL, TRUESIZE, 0);
}

/* one row for each policy: what a flood of 6 into a buffer of 8 costs whom */
static void the_longest_queue_pays(void **state)
{
	static const struct {
		u32 drop;
		u32 left_of_flood;
		struct buffer_counts counts;
		const char *why;
	} rows[] = {
		{ FQ_RR_DROP_LONGEST_QUEUE, 1, { .flushed = 6, .flushes = 1, .over_limit = 1 },
		  "all but the packet that came" },
		{ FQ_RR_DROP_LONGEST_HEAD, 6, { .head = 1, .over_limit = 1 }, "its oldest" },
		{ FQ_RR_DROP_LONGEST_TAIL, 6, { .tail = 1, .over_limit = 1 }, "its newest" },
		{ FQ_RR_DROP_ARRIVING, 6, { .tail = 0 }, "what comes is refused" },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct naive_buffer *n = buffer(2, 8, rows[i].drop);

		arrive(n, 0, 2);
		arrive(n, 1, 7);
		if (n->queue[0].packets != 2 || n->queue[1].packets != rows[i].left_of_flood)
			fail_msg("%s: %u and %u are left", rows[i].why, n->queue[0].packets,
				 n->queue[1].packets);
		assert_memory_equal(&n->b.counts, &rows[i].counts, sizeof(n->counts));
		naive_free(n);
	}
}

static void another_flow_s_packet_costs_the_flood(void **state)
{
	struct naive_buffer *n = buffer(2, 8, FQ_RR_DROP_LONGEST_QUEUE);

	(void)state;
	arrive(n, 0, 1);
	arrive(n, 1, 7);
	arrive(n, 0, 1);
	assert_int_equal(n->queue[0].packets, 2);
	assert_int_equal(n->queue[1].packets, 0);
	assert_int_equal(n->b.counts.flushed, 7);
	naive_free(n);
}

/* what is alone in its queue, and the longest, has nothing before it to be flushed */
static void a_large_packet_that_comes_last_is_dropped_itself(void **state)
{
	struct naive_buffer *n = buffer(3, 100, FQ_RR_DROP_LONGEST_QUEUE);

	(void)state;
	naive_set_limits(n, 100, 100000);
	naive_arrive(n, 0, FULL, 30000, 0);
	naive_arrive(n, 1, FULL, 30000, 0);
	naive_arrive(n, 2, FULL, 90000, 0);
	assert_int_equal(n->queue[2].packets, 0);
	assert_int_equal(n->b.counts.tail, 1);
	assert_int_equal(n->b.counts.over_memory, 1);
	assert_int_equal(n->b.counts.flushes, 0);
	naive_free(n);
}

/* what could not stay even alone costs nobody his queue */
static void what_is_larger_than_the_buffer_is_refused(void **state)
{
	static const u32 drops[] = { FQ_RR_DROP_LONGEST_QUEUE, FQ_RR_DROP_ARRIVING };
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(drops); i++) {
		struct naive_buffer *n = buffer(2, 100, drops[i]);

		naive_set_limits(n, 100, 10000);
		arrive(n, 0, 2);
		assert_false(naive_arrive(n, 1, FULL, 10001, 0));
		assert_int_equal(naive_arrive(n, 1, FULL, 10000, 0),
				 drops[i] == FQ_RR_DROP_LONGEST_QUEUE);
		naive_free(n);
	}
	assert_true(buffer_refuses(&(struct buffer) { .drop = FQ_RR_DROP_ARRIVING, .limit = 4,
						      .memory_limit = 100 }, 4, 1));
	assert_false(buffer_refuses(&(struct buffer) { .drop = FQ_RR_DROP_ARRIVING, .limit = 4,
						       .memory_limit = 100 }, 3, 100));
}

/* the limits are the last that are allowed, not the first that are not */
static void a_full_buffer_is_not_over_its_limits(void **state)
{
	struct buffer b = { .limit = 4, .memory_limit = 100, .memory = 100 };

	(void)state;
	assert_false(buffer_over_limit(&b, 4));
	assert_true(buffer_over_limit(&b, 5));
	b.memory++;
	assert_true(buffer_over_limit(&b, 0));
}

/* the adapter asks neither question of a packet that the answers cannot concern */
static void what_is_not_asked_would_be_answered_with_no(void **state)
{
	struct buffer b = { .limit = 1 };
	u32 size, waiting, most;

	(void)state;
	for (b.drop = 0; b.drop <= FQ_RR_DROP_MAX; b.drop++)
		for (b.memory_limit = 0; b.memory_limit < 4; b.memory_limit++)
			for (b.memory = 0; b.memory < 6; b.memory++) {
				u32 watched;

				for (waiting = 0; waiting < 3; waiting++)
					for (size = 0; size <= buffer_judged_from(&b); size++)
						assert_false(size && buffer_refuses(&b, waiting, size));
				for (most = 0; most < 6; most++) {
					u32 noted = most;

					watched = buffer_watch_memory(&b, &noted);
					assert_int_equal(noted, b.memory > most ? b.memory : most);
					assert_true(watched <= noted);
					assert_false(buffer_over_limit(&(struct buffer) {
						.limit = 1, .memory = watched,
						.memory_limit = b.memory_limit }, 1));
					/* one more byte is a new maximum, or over the limit */
					assert_true(watched == noted || watched == b.memory_limit);
				}
			}
}

/* a device holds more than may wait: everything goes, and that is the end of it */
static void what_waits_elsewhere_is_counted_and_cannot_be_dropped(void **state)
{
	u32 drop;

	(void)state;
	for (drop = 0; drop <= FQ_RR_DROP_MAX; drop++) {
		struct naive_buffer *n = buffer(2, 100, drop);

		arrive(n, 0, 2);
		arrive(n, 1, 2);
		n->elsewhere = 9;
		naive_change(n, 8, FQ_RR_MEMORY_LIMIT_MAX);
		assert_int_equal(naive_in_queues(n), 0);
		naive_change(n, 7, FQ_RR_MEMORY_LIMIT_MAX);
		naive_free(n);
	}
}

/* a change to smaller limits spares nobody's newest packet */
static void smaller_limits_drop_by_the_policy(void **state)
{
	static const u32 left[] = { 0, 3, 3, 3 };
	u32 drop;

	(void)state;
	for (drop = 0; drop <= FQ_RR_DROP_MAX; drop++) {
		struct naive_buffer *n = buffer(3, 100, drop);

		arrive(n, 0, 5);
		arrive(n, 2, 2);
		naive_change(n, 5, FQ_RR_MEMORY_LIMIT_MAX);
		assert_int_equal(n->queue[0].packets, left[drop]);
		assert_int_equal(n->queue[2].packets, 2);
		naive_free(n);
	}
}

/* who is charged pays for every packet flushed, up to the bound */
static void a_flow_pays_for_what_is_flushed(void **state)
{
	unsigned int strict;

	(void)state;
	for (strict = 0; strict < 2; strict++) {
		struct naive_buffer *n = buffer(2, 40, FQ_RR_DROP_LONGEST_QUEUE);

		n->b.charge = true;
		n->b.strict = strict;
		arrive(n, 0, 41);
		assert_int_equal(n->flow[0].rr.charges, 40);
		assert_int_equal(n->flow[0].rr.spent, 40 * (strict ? 1 : FULL));
		arrive(n, 0, 40);
		assert_int_equal(n->flow[0].rr.charges, RR_CHARGES_MAX);
		assert_int_equal(n->b.counts.flushed, 80);
		naive_free(n);
	}
}

/* exactly the share is no excess; packets beyond FAIR_SHARE_FREE_PACKETS are */
static void a_queue_exceeds_its_share_by_its_weight(void **state)
{
	struct naive_buffer *n = buffer(2, 30, FQ_RR_DROP_LONGEST_QUEUE);

	(void)state;
	assert_false(buffer_exceeds_share(&n->b, &n->flow[0], 0, 33));
	arrive(n, 0, 10);
	arrive(n, 1, 1);
	/* a half of 30, times two thirds */
	assert_false(buffer_exceeds_share(&n->b, &n->flow[0], 11, 67));
	assert_true(buffer_exceeds_share(&n->b, &n->flow[0], 11, 66));
	rr_set_weight(&n->b.rr, &n->flow[0].rr, 3);
	assert_false(buffer_exceeds_share(&n->b, &n->flow[0], 11, 66));
	/* memory for eleven */
	naive_set_limits(n, 30, 11 * TRUESIZE);
	assert_true(buffer_exceeds_share(&n->b, &n->flow[0], 11, 66));
	naive_free(n);
}

/* marking cannot help: what the policy says, of the packet's own queue */
static void beyond_its_share_a_queue_loses_what_the_policy_says(void **state)
{
	static const u32 left[] = { 1, 5, 5, 5 };
	u32 drop, k;

	(void)state;
	for (drop = 0; drop <= FQ_RR_DROP_MAX; drop++) {
		struct naive_buffer *n = buffer(2, 10, drop);

		for (k = 0; k < 6; k++)
			naive_arrive(n, 1, FULL, TRUESIZE, 50);
		assert_int_equal(n->queue[1].packets, left[drop]);
		naive_free(n);
	}
}

/* what is dropped is put before what is there already */
static void lists_of_dropped_packets_are_joined(void **state)
{
	struct naive_buffer *n = buffer(2, 100, FQ_RR_DROP_LONGEST_TAIL);
	struct packet_list dropped = { 0 };
	struct fq_rr_outcome outcome = { 0 };

	(void)state;
	arrive(n, 0, 3);
	arrive(n, 1, 2);
	buffer_drop_from(&n->b, &n->flow[1], NULL, naive_size, &outcome, &dropped);
	n->b.drop = FQ_RR_DROP_LONGEST_QUEUE;
	buffer_drop_from(&n->b, &n->flow[0], NULL, naive_size, &outcome, &dropped);
	assert_ptr_equal(dropped.first, &n->packet[0].link);
	assert_ptr_equal(dropped.first->next->next->next, &n->packet[4].link);
	assert_ptr_equal(dropped.last, &n->packet[4].link);
	assert_null(dropped.last->next);
	assert_int_equal(outcome.dropped, 4);
	assert_int_equal(outcome.dropped_bytes, 4 * FULL);
	naive_free(n);
}

/* a queue of a host: naive_append() takes the host from the packet's number */
static void arrive_of_host(struct naive_buffer *n, u32 queue, u32 host)
{
	n->came += (host - n->came * 7) * 7 % 4;
	assert_int_equal(n->came * 7 % 4, host);
	arrive(n, queue, 1);
}

/*
 * One host floods through four queues, another has the longest queue of all. The buffer is
 * full by the first, whose longest queue pays; without hosts the second would.
 */
static void a_host_pays_for_all_its_queues(void **state)
{
	bool by_host;
	u32 i, k;

	(void)state;
	for (by_host = false;; by_host = true) {
		struct naive_buffer *n = buffer(5, 16, FQ_RR_DROP_LONGEST_QUEUE);

		naive_set_by_host(n, by_host);
		for (k = 0; k < 5; k++)
			arrive_of_host(n, 4, 1);
		for (i = 0; i < 3; i++)
			for (k = 0; k < 4; k++)
				arrive_of_host(n, k, 2);
		assert_int_equal(n->queue[4].packets, by_host ? 5 : 0);
		assert_int_equal(n->b.counts.flushes, 1);
		if (by_host) {
			assert_int_equal(n->queue[3].packets, 1);
			assert_int_equal(n->host[0], n->host[3]);
			assert_true(n->host[0] != n->host[4]);
		}
		naive_free(n);
		if (by_host)
			break;
	}
}

/* a third of the buffer is a host's, and half of that one of its two queues' */
static void a_share_is_one_of_the_hosts(void **state)
{
	struct naive_buffer *n = buffer(4, 60, FQ_RR_DROP_LONGEST_QUEUE);
	u32 k;

	(void)state;
	naive_set_by_host(n, true);
	for (k = 0; k < 10; k++)
		arrive_of_host(n, 0, 1);
	arrive_of_host(n, 1, 1);
	arrive_of_host(n, 2, 2);
	arrive_of_host(n, 3, 3);
	assert_true(buffer_exceeds_share(&n->b, &n->flow[0], 13, 99));
	assert_false(buffer_exceeds_share(&n->b, &n->flow[0], 13, 100));
	buffer_set_weight(&n->b, &n->flow[0], 3);
	assert_false(buffer_exceeds_share(&n->b, &n->flow[0], 13, 67));
	assert_true(buffer_exceeds_share(&n->b, &n->flow[0], 13, 66));
	naive_free(n);
}

/* an idle queue's last host does not pay for what another's packet loses */
static void nobody_pays_for_what_an_empty_queue_is_refused(void **state)
{
	struct naive_buffer *n = buffer(2, 2, FQ_RR_DROP_ARRIVING);

	(void)state;
	n->b.charge = true;
	naive_set_by_host(n, true);
	arrive_of_host(n, 0, 1);
	naive_send(n);
	arrive_of_host(n, 1, 2);
	arrive_of_host(n, 1, 2);
	arrive_of_host(n, 0, 3);
	assert_int_equal(n->queue[0].charges, 0);
	assert_int_equal(ht_host_of(&n->b.hosts, 0)->turn.charges, 0);
	arrive_of_host(n, 1, 2);
	assert_int_equal(ht_host_of(&n->b.hosts, 1)->turn.charges, 1);
	naive_free(n);
}

/* without room for hosts there are none; with packets in a queue nothing changes sides */
static void hosts_come_and_go_with_nothing_waiting(void **state)
{
	struct naive_buffer *n = buffer(3, 20, FQ_RR_DROP_LONGEST_QUEUE);

	(void)state;
	buffer_set_by_host(&n->b, true);
	assert_false(n->b.by_host);
	naive_set_by_host(n, true);
	arrive_of_host(n, 0, 1);
	assert_int_equal(buffer_active(&n->b), 1);
	assert_true(buffer_credit(&n->b, &n->flow[0]) > 0);
	assert_false(buffer_backlogged(&n->b, &n->flow[0], 7, true));
	buffer_idle(&n->b, &n->flow[1]);
	assert_int_equal(buffer_active(&n->b), 1);
	assert_refused(buffer_set_by_host(&n->b, false));
	naive_send(n);
	naive_set_by_host(n, false);
	assert_null(ht_host_of(&n->b.hosts, 0));
	arrive_of_host(n, 0, 1);
	assert_int_equal(n->b.rr.active, 1);
	naive_free(n);
}

/* all of it, whatever the policy, and the queue is idle */
static void an_evicted_queue_has_nothing_left(void **state)
{
	static const u32 drops[] = { 0, 1, 2, 3 };
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(drops); i++) {
		struct naive_buffer *n = buffer(2, 20, drops[i]);
		struct fq_rr_outcome outcome = { 0 };
		struct packet_list dropped = { 0 };

		naive_set_by_host(n, drops[i] & 1);
		n->b.charge = drops[i] & 2;
		arrive(n, 0, 5);
		arrive(n, 1, 2);
		buffer_evict(&n->b, &n->flow[0], naive_size, &outcome, &dropped);
		assert_int_equal(outcome.dropped, 5);
		assert_int_equal(outcome.dropped_bytes, 5 * FULL);
		assert_null(dropped.last->next);
		assert_int_equal(buffer_active(&n->b), 1);
		assert_int_equal(n->b.memory, 2 * TRUESIZE);
		naive_free(n);
	}
}

static void of_an_empty_queue_nothing_is_dropped(void **state)
{
	struct naive_buffer *n = buffer(2, 20, FQ_RR_DROP_LONGEST_QUEUE);
	struct fq_rr_outcome outcome = { 0 };
	struct packet_list dropped = { 0 };

	(void)state;
	arrive(n, 0, 3);
	while (n->b.flows[0].head)
		naive_send(n);
	buffer_evict(&n->b, &n->flow[0], naive_size, &outcome, &dropped);
	buffer_drop_from(&n->b, &n->flow[0], NULL, naive_size, &outcome, &dropped);
	assert_int_equal(outcome.dropped, 0);
	assert_null(dropped.first);
	naive_free(n);
}

static void anything_happens(void **state)
{
	u8 script[600];
	unsigned int run, i;

	(void)state;
	srand(1);
	for (run = 0; run < 3000; run++) {
		for (i = 0; i < sizeof(script); i++)
			script[i] = rand() >> 7;
		naive_run(script, sizeof(script));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_queue_pays),
		cmocka_unit_test(another_flow_s_packet_costs_the_flood),
		cmocka_unit_test(a_large_packet_that_comes_last_is_dropped_itself),
		cmocka_unit_test(what_is_larger_than_the_buffer_is_refused),
		cmocka_unit_test(a_full_buffer_is_not_over_its_limits),
		cmocka_unit_test(what_is_not_asked_would_be_answered_with_no),
		cmocka_unit_test(what_waits_elsewhere_is_counted_and_cannot_be_dropped),
		cmocka_unit_test(smaller_limits_drop_by_the_policy),
		cmocka_unit_test(a_flow_pays_for_what_is_flushed),
		cmocka_unit_test(a_queue_exceeds_its_share_by_its_weight),
		cmocka_unit_test(beyond_its_share_a_queue_loses_what_the_policy_says),
		cmocka_unit_test(lists_of_dropped_packets_are_joined),
		cmocka_unit_test(a_host_pays_for_all_its_queues),
		cmocka_unit_test(a_share_is_one_of_the_hosts),
		cmocka_unit_test(nobody_pays_for_what_an_empty_queue_is_refused),
		cmocka_unit_test(hosts_come_and_go_with_nothing_waiting),
		cmocka_unit_test(an_evicted_queue_has_nothing_left),
		cmocka_unit_test(of_an_empty_queue_nothing_is_dropped),
		cmocka_unit_test(anything_happens),
	};

	return cmocka_run_group_tests_name("buffer", tests, NULL, NULL);
}
