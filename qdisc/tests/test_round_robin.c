// SPDX-License-Identifier: GPL-2.0
/*
 * round_robin.h: order, fairness, and what cannot be gained by tricks.
 *
 * A small link is modelled here: flows with packets of given sizes, served one
 * at a time. The oracle of the order is written down by hand where the claim
 * is about order, and a naive scheduler with explicit credits (fuzz_round_robin.c
 * drives the same one) where it is about everything.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "round_robin.h"
#include "naive_round_robin.h"

#define QUANTUM 1514

struct source {
	struct rr_flow rr;
	u32 packets;	/* backlog */
	u32 size;	/* of each packet (bytes) */
	u64 served;	/* bytes */
};

static void arrive(struct rr *rr, struct source *s, u32 packets)
{
	if (!s->packets && packets)
		rr_backlogged(rr, &s->rr);
	s->packets += packets;
}

static struct source *serve(struct rr *rr)
{
	struct source *s = (struct source *)rr_next(rr);

	if (!s)
		return NULL;
	s->packets--;
	s->served += s->size;
	rr_sent(rr, &s->rr, s->size, s->packets);
	return s;
}

static void nothing_is_backlogged_at_first(void **state)
{
	struct rr rr;

	(void)state;
	rr_init(&rr, QUANTUM);
	assert_null(rr_next(&rr));
}

/*
 * What packet pair measures: between two packets of a flow there is exactly
 * one of each other flow, for flows that all stay backlogged and have one
 * packet size. From the first packet on if they start together.
 */
static void equal_sizes_alternate_strictly(void **state)
{
	/* size: a multiple of the quantum, none, tiny, a remainder of a byte */
	static const u32 sizes[] = { 1514, 1513, 1500, 1000, 757, 514, 60, 1 };
	static const u32 counts[] = { 1, 2, 3, 10, 100 };
	unsigned int i, j, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (j = 0; j < ARRAY_SIZE(counts); j++) {
			struct source s[100] = { 0 };
			struct rr rr;

			rr_init(&rr, QUANTUM);
			for (k = 0; k < counts[j]; k++) {
				s[k].size = sizes[i];
				arrive(&rr, &s[k], UINT32_MAX / 2);
			}
			for (k = 0; k < 10000; k++)
				assert_ptr_equal(serve(&rr), &s[k % counts[j]]);
		}
	}
}

/* who is next, and who is behind, is known beforehand where nobody is sparse */
static void the_next_two_are_known(void **state)
{
	struct source s[3] = { { .size = 1514 }, { .size = 1514 },
			       { .size = 1514 } };
	unsigned int i;
	struct rr rr;

	(void)state;
	rr_init(&rr, QUANTUM);
	assert_null(rr_upcoming(&rr));
	for (i = 0; i < 3; i++)
		arrive(&rr, &s[i], 10);
	for (i = 0; i < 3; i++)
		serve(&rr);
	for (i = 0; i < 20; i++) {
		struct rr_flow *next = rr_upcoming(&rr);
		const struct rr_link *behind = rr_behind(next);

		assert_ptr_equal(&serve(&rr)->rr, next);
		/* at the end of a round nobody is behind but the list itself */
		if (i % 3 != 2)
			assert_ptr_equal(&rr_upcoming(&rr)->link, behind);
		else
			assert_true(behind >= rr.list && behind < rr.list + RR_LISTS);
	}
	while (serve(&rr))
		;
	assert_null(rr_upcoming(&rr));
}

/*
 * The same for flows that come one after the other, whatever the phase of the
 * round: order is kept from a flow's second packet on (the first one went
 * ahead).
 */
static void a_flow_that_joins_alternates_at_once(void **state)
{
	static const u32 sizes[] = { 1514, 1500, 1000, 514, 60 };
	unsigned int i, phase, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (phase = 0; phase < 200; phase++) {
			struct source s[5] = { 0 };
			unsigned int last[5] = { 0 };
			struct rr rr;

			rr_init(&rr, QUANTUM);
			for (k = 0; k < 5; k++)
				s[k].size = sizes[i];
			for (k = 0; k < 4; k++)
				arrive(&rr, &s[k], UINT32_MAX / 2);
			for (k = 0; k < phase; k++)
				serve(&rr);
			arrive(&rr, &s[4], UINT32_MAX / 2);
			/* the first turn of each, the new flow's ahead */
			for (k = 0; k < 5; k++)
				serve(&rr);
			for (k = 1; k <= 5; k++)
				last[serve(&rr) - s] = k;
			for (; k < 3000; k++) {
				unsigned int n = serve(&rr) - s;

				/* of no other flow is a packet missing */
				assert_int_equal(k - last[n], 5);
				last[n] = k;
			}
		}
	}
}

/*
 * The same for flows that differ in what they have sent so far, although the
 * quantum is no multiple of the packet size and they run out in different
 * places.
 */
static void alternation_does_not_depend_on_the_past(void **state)
{
	static const u32 sizes[] = { 1514, 1500, 1000, 514, 60 };
	unsigned int i, seed, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (seed = 1; seed < 200; seed++) {
			struct source s[4] = { 0 };
			unsigned int last[4] = { 0 };
			struct rr rr;

			srand(seed);
			rr_init(&rr, QUANTUM);
			for (k = 0; k < 4; k++)
				arrive(&rr, &s[k], UINT32_MAX / 2);
			for (k = 0; k < 100; k++) {
				((struct source *)rr_next(&rr))->size =
					1 + rand() % 1514;
				serve(&rr);
			}
			for (k = 0; k < 4; k++)
				s[k].size = sizes[i];
			/*
			 * Who is behind catches up by a packet, once, when
			 * the marks happen to fall between them.
			 */
			for (k = 0; k < 20000; k++)
				serve(&rr);
			for (k = 1; k <= 4; k++)
				last[serve(&rr) - s] = k;
			for (; k < 3000; k++) {
				unsigned int n = serve(&rr) - s;

				assert_int_equal(k - last[n], 4);
				last[n] = k;
			}
		}
	}
}

/* DRR's promise, interleaved: bytes are shared equally whatever their packets */
static void bytes_are_shared_whatever_the_sizes(void **state)
{
	static const struct {
		u32 sizes[4];
		const char *reason;
	} rows[] = {
		{ { 1514, 60, 514, 1000 }, "a usual mix" },
		{ { 1514, 1514, 1514, 1 }, "one byte against full packets" },
		{ { 65549, 1514, 60, 60 }, "a super-packet exceeds the quantum" },
		{ { 1514, 1513, 1512, 757 }, "nearly equal: phases drift" },
	};
	unsigned int i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct source s[4] = { 0 };
		u32 largest = QUANTUM;
		struct rr rr;

		rr_init(&rr, QUANTUM);
		for (k = 0; k < 4; k++) {
			s[k].size = rows[i].sizes[k];
			if (s[k].size > largest)
				largest = s[k].size;
			arrive(&rr, &s[k], UINT32_MAX / 2);
		}
		for (k = 0; k < 300000; k++) {
			u64 least = UINT64_MAX, most = 0;
			unsigned int n;

			serve(&rr);
			for (n = 0; n < 4; n++) {
				least = min_t(u64, least, s[n].served);
				most = max_t(u64, most, s[n].served);
			}
			/* the header's bound: q + 2 L, with q = L */
			if (most - least >= 3ULL * largest)
				fail_msg("%s: %llu against %llu",
					 rows[i].reason,
					 (unsigned long long)most,
					 (unsigned long long)least);
		}
	}
}

/* cost 1 quantum per packet: packets are shared, not bytes */
static void strict_serves_one_packet_per_visit(void **state)
{
	struct source s[3] = { { .size = 1514 }, { .size = 60 },
			       { .size = 9000 } };
	struct rr rr;
	unsigned int k;

	(void)state;
	rr_init(&rr, rr_quantum(true, 1U << 20));
	for (k = 0; k < 3; k++)
		arrive(&rr, &s[k], 1000);
	for (k = 0; k < 3000; k++) {
		struct source *f = (struct source *)rr_next(&rr);

		assert_ptr_equal(f, &s[k % 3]);
		f->packets--;
		rr_sent(&rr, &f->rr, rr_cost(true, f->size), f->packets);
	}
	assert_null(rr_next(&rr));
	/* so 64 bits last for 2^64 rounds, with the largest quantum too */
	assert_in_range(rr.mark, 1, 1001);
}

/* two bulk flows in mid-round, and one that has been idle for long */
static void setup_busy(struct rr *rr, struct source *s)
{
	unsigned int k;

	rr_init(rr, QUANTUM);
	memset(s, 0, 3 * sizeof(*s));
	for (k = 0; k < 2; k++) {
		s[k].size = 1514;
		arrive(rr, &s[k], UINT32_MAX / 2);
	}
	for (k = 0; k < 1001; k++)
		serve(rr);
	s[2].size = 100;
}

static void a_sparse_flow_does_not_wait_a_round(void **state)
{
	struct source s[3];
	struct rr rr;

	(void)state;
	setup_busy(&rr, s);
	arrive(&rr, &s[2], 1);
	assert_ptr_equal(serve(&rr), &s[2]);
}

static void a_train_does_not_pass_whole(void **state)
{
	struct source s[3];
	struct rr rr;
	struct source *order[7];
	unsigned int k;

	(void)state;
	setup_busy(&rr, s);
	s[2].size = 1514;
	arrive(&rr, &s[2], 3);
	for (k = 0; k < 7; k++)
		order[k] = serve(&rr);
	/* one ahead, then in turn: x b a x b a x */
	assert_ptr_equal(order[0], &s[2]);
	assert_ptr_equal(order[3], &s[2]);
	assert_ptr_equal(order[6], &s[2]);
}

/*
 * A flow that always waits until its queue is empty and then sends one packet
 * is "new" each time; it gets its share by that, and not more.
 */
static void single_packets_gain_nothing(void **state)
{
	static const u32 sizes[] = { 60, 514, 1514 };
	unsigned int i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct source s[3];
		struct rr rr;

		setup_busy(&rr, s);
		s[2].size = sizes[i];
		s[0].served = 0;
		for (k = 0; k < 100000; k++) {
			if (!s[2].packets)
				arrive(&rr, &s[2], 1);
			serve(&rr);
		}
		assert_true(s[2].served <= s[0].served + 3 * QUANTUM);
	}
}

/* nor does one that sends short bursts, each after its queue has emptied */
static void short_bursts_gain_nothing(void **state)
{
	unsigned int burst, k;

	(void)state;
	for (burst = 2; burst < 20; burst++) {
		struct source s[3];
		struct rr rr;

		setup_busy(&rr, s);
		s[2].size = 1514;
		s[0].served = 0;
		for (k = 0; k < 50000; k++) {
			if (!s[2].packets)
				arrive(&rr, &s[2], burst);
			serve(&rr);
		}
		assert_true(s[2].served <= s[0].served + 3 * QUANTUM);
	}
}

/*
 * A new flow of one packet with every other packet sent: without a rule
 * against it, these would take the whole link.
 */
static void a_flood_of_new_flows_leaves_half(void **state)
{
	struct source *s = calloc(10002, sizeof(*s));
	struct rr rr;
	unsigned int k, old = 0;

	(void)state;
	setup_busy(&rr, s);
	for (k = 0; k < 20000; k++) {
		struct source *f;

		if (k % 2) {
			s[2 + k / 2].size = 60;
			arrive(&rr, &s[2 + k / 2], 1);
		}
		f = serve(&rr);
		old += f == &s[0] || f == &s[1];
	}
	assert_in_range(old, 9999, 10001);
	free(s);
}

/*
 * And a new one with every packet, more than the link can serve: an old flow
 * waits no longer than in a plain round of those that wait beside it, with the
 * newer ones alternating.
 */
static void a_larger_flood_is_served_as_one_round(void **state)
{
	struct source *s = calloc(20002, sizeof(*s));
	unsigned int k, last = 0, waiting = 0;
	struct rr rr;

	(void)state;
	setup_busy(&rr, s);
	for (k = 0; k < 20000; k++) {
		s[2 + k].size = 60;
		arrive(&rr, &s[2 + k], 1);
		if (serve(&rr) != &s[0])
			continue;
		if (last)
			assert_true(k - last <= 2 * waiting + 2);
		last = k;
		waiting = rr.active;
	}
	assert_true(last > 19000);
	free(s);
}

/* a response, a probe and a request in one moment, beside two bulk flows */
static void what_comes_together_leaves_together(void **state)
{
	static const struct {
		bool at_once;
		const char *turns;	/* 'o' of an old flow, 'n' of a new one */
	} rows[] = {
		{ false, "nonono" },
		{ true, "nnnooo" },
	};
	unsigned int i, k, j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct source s[5];
		struct rr rr;

		setup_busy(&rr, s);
		rr_set_at_once(&rr, rows[i].at_once);
		/* twice: the round has made up for those of the first time */
		for (j = 0; j < 2; j++) {
			memset(&s[2], 0, 3 * sizeof(*s));
			for (k = 2; k < 5; k++) {
				s[k].size = 100;
				arrive(&rr, &s[k], 1);
			}
			for (k = 0; k < 6; k++)
				assert_int_equal(serve(&rr) >= &s[2] ? 'n' : 'o', rows[i].turns[k]);
		}
	}
}

/*
 * One that sends single packets is not behind all that are new, once the link has been idle. The
 * mark moves on by what was sent, not by a quantum: 64 bits would last for 20 days of a quantum
 * of 1 MiB and 10 million packets a second.
 */
static void an_idle_link_makes_all_equal(void **state)
{
	struct source caller = { .size = 100 }, new = { .size = 578 };
	unsigned int k;
	struct rr rr;

	(void)state;
	rr_init(&rr, 1U << 20);
	rr_set_at_once(&rr, true);
	for (k = 0; k < 1000; k++) {
		arrive(&rr, &caller, 1);
		assert_ptr_equal(serve(&rr), &caller);
		assert_null(serve(&rr));
	}
	assert_in_range(rr.mark, 1, (1U << 20) + 1000 * 100);
	arrive(&rr, &caller, 1);
	arrive(&rr, &new, 1);
	assert_ptr_equal(serve(&rr), &caller);
}

/* of a flood that is newer than a flow of the round, eight grants go ahead of that flow */
static void eight_grants_go_ahead_at_once(void **state)
{
	struct source *s = calloc(1002, sizeof(*s));
	unsigned int k, gone = 0;
	struct rr rr;

	(void)state;
	setup_busy(&rr, s);
	rr_set_at_once(&rr, true);
	for (k = 2; k < 1002; k++) {
		s[k].size = 60;
		arrive(&rr, &s[k], 1);
	}
	while (serve(&rr) >= &s[2])
		gone++;
	assert_int_equal(gone, (8 * QUANTUM + 59) / 60);
	free(s);
}

/*
 * What is promised to the round, at and beyond the rate at which new flows alone fill the
 * link: a ninth of the bytes, and with packets of one size every ninth turn. Without the
 * rule an old flow had 0.3 and 0.04 % of the turns at 1.0 and 1.1 new flows per packet.
 */
static void any_flood_leaves_the_round_a_ninth(void **state)
{
	static const struct {
		unsigned int arrivals;	/* new flows for ten packets sent */
		u32 old, new;		/* bytes of a packet */
		bool strict;
		const char *reason;
	} rows[] = {
		{ 9, 1514, 1514, false, "nearly the link" },
		{ 10, 1514, 1514, false, "the link" },
		{ 11, 1514, 1514, false, "more than the link" },
		{ 90, 1514, 1514, false, "much more" },
		{ 10, 1514, 60, false, "many small packets" },
		{ 90, 1514, 60, false, "far too many" },
		{ 11, 60, 1514, false, "of an old flow of small packets" },
		{ 11, 60, 65549, false, "with super-packets" },
		{ 11, 1514, 60, true, "packets count, not bytes" },
	};
	const unsigned int packets = 40000;
	unsigned int i, k;

	(void)state;
	for (i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		struct source *s = calloc(packets * 9 + 1, sizeof(*s));
		unsigned int made = 0, ahead = 0, most = 0;
		u64 others = 0, own = 0, largest;
		const typeof(rows[0]) *row = &rows[i / 2];
		struct rr rr;

		assert_non_null(s);
		rr_init(&rr, rr_quantum(row->strict, QUANTUM));
		rr_set_at_once(&rr, i % 2);
		s[0].size = rr_cost(row->strict, row->old);
		arrive(&rr, &s[0], UINT32_MAX / 2);
		/* its first packet goes ahead itself, and then it is of the round */
		serve(&rr);
		for (k = 0; k < packets; k++) {
			struct source *f;

			for (; made < (k + 1) * row->arrivals / 10; made++) {
				s[1 + made].size = rr_cost(row->strict, row->new);
				arrive(&rr, &s[1 + made], 1);
			}
			f = serve(&rr);
			if (f == &s[0]) {
				own += f->size;
				ahead = 0;
			} else {
				others += f->size;
				ahead++;
			}
			/* the grants that may go ahead once are gone */
			if (k >= packets / 2)
				most = max_t(unsigned int, most, ahead);
			largest = max_t(u64, s[0].size, s[1].size);
			if (others >= RR_AHEAD_COSTS * own + largest +
				      RR_AHEAD_GRANTS * max_t(u64, rr.quantum, largest))
				fail_msg("%s: %llu bytes went ahead of %llu", row->reason,
					 (unsigned long long)others,
					 (unsigned long long)own);
		}
		if (s[0].size == s[1].size)
			assert_in_range(most, 1, RR_AHEAD_COSTS);
		free(s);
	}
}

/*
 * New flows that need less than 8/9 of the link wait for packets of old flows as they
 * would without that rule: replies of 150 bytes at 60 % of the link wait for nine
 * others and a full packet at most.
 */
static void many_small_flows_are_not_held_up(void **state)
{
	const unsigned int flows = 20000;
	struct source *s = calloc(flows + 1, sizeof(*s));
	unsigned int made = 0, served = 0;
	u64 now = 0;
	struct rr rr;

	(void)state;
	assert_non_null(s);
	rr_init(&rr, QUANTUM);
	s[0].size = 1514;
	arrive(&rr, &s[0], UINT32_MAX / 2);
	while (served < flows) {
		struct source *f;

		/* one each 250 bytes */
		for (; made < flows && made * 250ULL <= now; made++) {
			s[1 + made].size = 150;
			arrive(&rr, &s[1 + made], 1);
		}
		f = serve(&rr);
		now += f->size;
		if (f == &s[0])
			continue;
		served++;
		assert_true(now - (f - s - 1) * 250ULL <= 3 * 1514 + 10 * 150);
	}
	free(s);
}

/* a flow whose queue was flushed while it was parked leaves no trace */
static void a_flow_may_leave_from_any_list(void **state)
{
	struct source s[3] = { { .size = 60 }, { .size = 9000 },
			       { .size = 60 } };
	struct rr rr;
	unsigned int k;

	(void)state;
	rr_init(&rr, 256);
	for (k = 0; k < 2; k++)
		arrive(&rr, &s[k], 100);
	while (rr_link_empty(&rr.list[RR_PARKED]))
		serve(&rr);
	arrive(&rr, &s[2], 1);
	assert_true(s[2].rr.sparse);
	for (k = 0; k < 3; k++) {
		s[k].packets = 0;
		rr_idle(&rr, &s[k].rr);
	}
	assert_int_equal(rr.active, 0);
	assert_null(rr_next(&rr));
	/* and works on */
	arrive(&rr, &s[1], 1);
	assert_ptr_equal(serve(&rr), &s[1]);
	assert_null(rr_next(&rr));
}

/* the quantum may change at any time */
static void a_changed_quantum_takes_effect(void **state)
{
	struct source s[2] = { { .size = 1514 }, { .size = 100 } };
	struct rr rr;
	unsigned int k;
	u64 before;

	(void)state;
	rr_init(&rr, 256);
	arrive(&rr, &s[0], UINT32_MAX / 2);
	arrive(&rr, &s[1], UINT32_MAX / 2);
	for (k = 0; k < 1000; k++)
		serve(&rr);
	rr.quantum = 1U << 20;
	before = rr.mark;
	while (rr.mark == before)
		serve(&rr);
	assert_int_equal(rr.mark - before, 1U << 20);
	for (k = 0; k < 100000; k++)
		serve(&rr);
	assert_in_range(s[0].served, s[1].served - 3 * (1U << 20),
			s[1].served + 3 * (1U << 20));
}

/* what a flow is owed by the old quantum it must not send in a row */
static void a_restart_forgets_credit(void **state)
{
	struct source s[3] = { { .size = 1514 }, { .size = 60 },
			       { .size = 1514 } };
	struct rr rr;
	unsigned int k;

	(void)state;
	rr_init(&rr, 1U << 20);
	for (k = 0; k < 2; k++)
		arrive(&rr, &s[k], UINT32_MAX / 2);
	/* until the first has run out, and the second has not */
	while (s[0].served <= 1U << 20)
		serve(&rr);
	serve(&rr);
	assert_ptr_equal(serve(&rr), &s[1]);
	assert_ptr_equal(serve(&rr), &s[1]);
	arrive(&rr, &s[2], UINT32_MAX / 2);
	s[1].size = 1514;
	rr_restart(&rr, QUANTUM);
	/* who came last goes ahead, once, and all are in the round then */
	assert_ptr_equal(serve(&rr), &s[2]);
	for (k = 0; k < 3000; k += 3) {
		assert_ptr_equal(serve(&rr), &s[1]);
		assert_ptr_equal(serve(&rr), &s[0]);
		assert_ptr_equal(serve(&rr), &s[2]);
	}
}

/* nor must it owe the bytes of a super-packet in packets, idle or not */
static void a_restart_forgets_debt(void **state)
{
	unsigned int idle;

	(void)state;
	for (idle = 0; idle < 2; idle++) {
		struct source s[2] = { { .size = 65549 }, { .size = 60 } };
		unsigned int turns[2] = { 0 };
		struct rr rr;
		unsigned int k;

		rr_init(&rr, QUANTUM);
		arrive(&rr, &s[0], idle ? 1 : 1000);
		arrive(&rr, &s[1], 1000);
		assert_ptr_equal(serve(&rr), &s[0]);
		assert_ptr_equal(serve(&rr), &s[1]);
		rr_restart(&rr, rr_quantum(true, QUANTUM));
		arrive(&rr, &s[0], idle ? 1000 : 0);
		for (k = 0; k < 100; k++) {
			struct rr_flow *f = rr_next(&rr);

			turns[f != &s[0].rr]++;
			rr_sent(&rr, f, rr_cost(true, 60), true);
		}
		assert_in_range(turns[0], 49, 51);
		assert_true(rr.now < rr.mark);
	}
}

/* Jain's index of shares served; 1: all equal */
static double jain(const struct source *s, unsigned int count)
{
	double sum = 0, squares = 0;
	unsigned int k;

	for (k = 0; k < count; k++) {
		double share = (double)s[k].served / rr_weight(&s[k].rr);

		sum += share;
		squares += share * share;
	}
	return sum * sum / (count * squares);
}

/*
 * The promise in full: with a quantum of at least the largest packet, each
 * flow has at the end of each round what its shares of all rounds so far are
 * worth, and less than a quantum more. Any number of flows, any sizes, with and
 * without weights, by bytes and by packets.
 */
static void rounds_are_fair(bool strict, bool weighted)
{
	unsigned int seed, k;

	for (seed = 1; seed <= 30; seed++) {
		u32 quantum = rr_quantum(strict, QUANTUM);
		struct source s[50] = { 0 };
		unsigned int count, rounds = 0;
		struct rr rr;

		srand(seed);
		count = 2 + rand() % 49;
		rr_init(&rr, quantum);
		for (k = 0; k < count; k++) {
			if (weighted)
				rr_set_weight(&rr, &s[k].rr,
					      1 + rand() % RR_WEIGHT_MAX);
			arrive(&rr, &s[k], UINT32_MAX / 2);
		}
		while (rounds < 100) {
			struct source *f;

			if (rr_link_empty(&rr.list[RR_AHEAD]) &&
			    rr_link_empty(&rr.list[RR_ROUND])) {
				rounds++;
				for (k = 0; k < count; k++) {
					u64 due = rr.mark *
						  rr_weight(&s[k].rr);

					assert_in_range(s[k].served, due,
							due + quantum - 1);
				}
			}
			f = (struct source *)rr_next(&rr);
			f->size = rr_cost(strict, 1 + rand() % QUANTUM);
			serve(&rr);
		}
		/* one before the first if a flow's turn ahead used it up */
		assert_in_range(rr.mark, 101ULL * quantum, 102ULL * quantum);
		assert_true(jain(s, count) >= 0.999);
	}
}

static void rounds_are_fair_to_a_quantum_of_bytes(void **state)
{
	(void)state;
	rounds_are_fair(false, false);
}

static void rounds_are_fair_to_a_packet(void **state)
{
	(void)state;
	rounds_are_fair(true, false);
}

static void weights_share_bytes(void **state)
{
	(void)state;
	rounds_are_fair(false, true);
}

static void weights_share_packets(void **state)
{
	(void)state;
	rounds_are_fair(true, true);
}

/* a weight that changes holds from then on, also of a flow that waits */
static void a_weight_may_change(void **state)
{
	static const u32 weights[] = { 3, 255, 2, 1 };
	struct source s[2] = { { .size = 1000 }, { .size = 1000 } };
	unsigned int i, k;
	struct rr rr;

	(void)state;
	rr_init(&rr, QUANTUM);
	arrive(&rr, &s[0], UINT32_MAX / 2);
	arrive(&rr, &s[1], UINT32_MAX / 2);
	for (i = 0; i < ARRAY_SIZE(weights); i++) {
		rr_set_weight(&rr, &s[0].rr, weights[i]);
		assert_int_equal(rr.shares, weights[i] + 1);
		s[0].served = 0;
		s[1].served = 0;
		for (k = 0; k < 100 * (weights[i] + 1); k++)
			serve(&rr);
		/* the rest of one round before, and of one after */
		assert_in_range(s[0].served, 98000 * weights[i],
				102000 * weights[i]);
	}
}

/* the class with the least weight waits for a round, and no longer */
static void weights_starve_nobody(void **state)
{
	struct source s[6] = { 0 };
	unsigned int k, waited = 0;
	struct rr rr;

	(void)state;
	rr_init(&rr, QUANTUM);
	for (k = 0; k < 6; k++) {
		s[k].size = QUANTUM;
		if (k)
			rr_set_weight(&rr, &s[k].rr, RR_WEIGHT_MAX);
		arrive(&rr, &s[k], UINT32_MAX / 2);
	}
	for (k = 0; k < 100000; k++) {
		waited = serve(&rr) == &s[0] ? 0 : waited + 1;
		/* its place in two rounds that follow each other may differ */
		assert_true(waited <= 2 * 5 * RR_WEIGHT_MAX);
	}
}

/* a flow that loses @lost packets for each @per sent by the link */
static u64 flood(struct rr *rr, struct source *s, unsigned int lost,
		 unsigned int per, unsigned int packets)
{
	u64 before = s[1].served;
	unsigned int i, k;

	for (k = 0; k < packets; k++) {
		for (i = 0; i < lost && k % per == 0; i++)
			rr_charge(rr, &s[1].rr, s[1].size);
		serve(rr);
	}
	return (s[1].served - before) / s[1].size;
}

/*
 * Keshav 1991, 6.6.4: a source pays for dropped packets as for those sent.
 * Losing a quarter of what the link carries, x packets of it and the quarter
 * are as many as the other's 1 - x: 3/8. One that loses ten times what the link
 * carries always owes the limit: one packet in 65.
 */
static void charged_drops_cost_a_flow_its_share(void **state)
{
	static const struct {
		unsigned int lost, per;
		double share;
		const char *reason;
	} rows[] = {
		{ 0, 1, 1.0 / 2, "no drops, no charge" },
		{ 1, 4, 3.0 / 8, "a quarter of the link" },
		{ 1, 2, 1.0 / 4, "half the link" },
		{ 10, 1, 1.0 / (RR_CHARGES_MAX + 2), "ten times the link" },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct source s[2] = { { .size = QUANTUM },
				       { .size = QUANTUM } };
		struct rr rr;
		double share;

		rr_init(&rr, QUANTUM);
		arrive(&rr, &s[0], UINT32_MAX / 2);
		arrive(&rr, &s[1], UINT32_MAX / 2);
		share = flood(&rr, s, rows[i].lost, rows[i].per, 100000) / 1e5;
		if (share < rows[i].share * 0.99 ||
		    share > rows[i].share * 1.02)
			fail_msg("%s: %f, not %f", rows[i].reason, share,
				 rows[i].share);
	}
}

/* who stops flooding pays what is owed, 64 packets, and is equal again */
static void a_debt_ends(void **state)
{
	struct source s[2] = { { .size = QUANTUM }, { .size = QUANTUM } };
	unsigned int k, waited = 0;
	struct rr rr;

	(void)state;
	rr_init(&rr, QUANTUM);
	arrive(&rr, &s[0], UINT32_MAX / 2);
	arrive(&rr, &s[1], UINT32_MAX / 2);
	flood(&rr, s, 100, 1, 1000);
	while (serve(&rr) != &s[1])
		;
	/* the last of the flood, right after its turn: the most it can owe */
	for (k = 0; k < 100; k++)
		rr_charge(&rr, &s[1].rr, QUANTUM);
	while (serve(&rr) == &s[0])
		waited++;
	assert_in_range(waited, RR_CHARGES_MAX, RR_CHARGES_MAX + 2);
	for (k = 0; k < 1000; k++)
		assert_ptr_equal(serve(&rr), &s[k % 2]);
}

/* the link does not idle while a debtor waits, and others come first again */
static void debtors_use_what_nobody_wants(void **state)
{
	struct source s[3] = { { .size = 60 }, { .size = 1514 },
			       { .size = 1514 } };
	unsigned int k, turns[3] = { 0 };
	struct rr rr;

	(void)state;
	rr_init(&rr, QUANTUM);
	for (k = 1; k < 3; k++) {
		arrive(&rr, &s[k], UINT32_MAX / 2);
		rr_charge(&rr, &s[k].rr, 1U << 20);
	}
	for (k = 0; k < 1000; k++) {
		struct source *f;

		if (k % 10 == 0)
			arrive(&rr, &s[0], 1);
		f = serve(&rr);
		assert_non_null(f);
		turns[f - s]++;
		if (k % 10 == 0)
			assert_ptr_equal(f, &s[0]);
		for (f = &s[1]; f <= &s[2]; f++)
			rr_charge(&rr, &f->rr, 1U << 20);
	}
	assert_int_equal(turns[0], 100);
	/* what they share nobody promises, but both are served */
	assert_in_range(turns[1], 300, 600);
}

/*
 * A thousand debtors beside one that owes nothing: none is visited in vain more
 * than once for each packet sent (the loop in rr_next() and rr_sent() that would
 * do it does not exist), and each returns when it has paid.
 */
static void many_debtors_return_when_they_have_paid(void **state)
{
	struct source *s = calloc(1001, sizeof(*s));
	unsigned int i, k, first = 0;
	struct rr rr;

	(void)state;
	rr_init(&rr, QUANTUM);
	for (k = 0; k <= 1000; k++) {
		s[k].size = QUANTUM;
		arrive(&rr, &s[k], UINT32_MAX / 2);
		for (i = 0; k && i < 2 * RR_CHARGES_MAX; i++)
			rr_charge(&rr, &s[k].rr, QUANTUM);
	}
	while (serve(&rr) == &s[0])
		first++;
	assert_in_range(first, RR_CHARGES_MAX - 1, RR_CHARGES_MAX + 2);
	/* one debtor returns with each packet sent */
	for (k = 0; k < 2 * 1000 + RR_CHARGES_MAX; k++)
		serve(&rr);
	for (k = 1; k <= 1000; k++)
		assert_true(s[k].served);
	free(s);
}

/* a queue that is empty pays too: flushing is no way out of a debt */
static void an_idle_flow_is_charged(void **state)
{
	struct source s[2] = { { .size = QUANTUM }, { .size = QUANTUM } };
	unsigned int k;
	struct rr rr;

	(void)state;
	rr_init(&rr, QUANTUM);
	arrive(&rr, &s[0], UINT32_MAX / 2);
	for (k = 0; k < 10; k++)
		serve(&rr);
	for (k = 0; k < 5; k++)
		rr_charge(&rr, &s[1].rr, 3 * QUANTUM);
	/* it was ten packets behind, but those are forgone */
	arrive(&rr, &s[1], UINT32_MAX / 2);
	assert_false(s[1].rr.sparse);
	for (k = 0; k < 14; k++)
		assert_ptr_equal(serve(&rr), &s[0]);
	for (k = 0; k < 6; k++)
		serve(&rr);
	assert_in_range(s[1].served, QUANTUM, 3 * QUANTUM);
	/* and a restart forgets what an idle flow owes, as all else */
	rr_idle(&rr, &s[1].rr);
	s[1].packets = 0;
	for (k = 0; k < RR_CHARGES_MAX; k++)
		rr_charge(&rr, &s[1].rr, 65549);
	rr_restart(&rr, QUANTUM);
	arrive(&rr, &s[1], 10);
	assert_true(s[1].rr.sparse);
	assert_true(rr.mark < 100ULL * 65549);
}

/* random arrivals, departures, flushes, charges and weights, step for step */
static void agrees_with_explicit_credits(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 200; seed++) {
		u8 script[4096];
		unsigned int k;

		srand(seed);
		for (k = 0; k < sizeof(script); k++)
			script[k] = rand() >> 7;
		naive_compare(script, sizeof(script));
	}
}

/* no quantum is too small or too large: the scheduler works on */
static void any_quantum_serves(void **state)
{
	static const u32 quanta[] = { 0, 1, 255, 1U << 31, UINT32_MAX };
	struct source s[2];
	unsigned int i, k;
	struct rr rr;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(quanta); i++) {
		memset(s, 0, sizeof(s));
		rr_init(&rr, quanta[i]);
		assert_int_equal(rr.quantum, quanta[i] ?: 1);
		for (k = 0; k < 2; k++) {
			s[k].size = 1514;
			arrive(&rr, &s[k], 100);
		}
		for (k = 0; k < 20; k++)
			assert_non_null(serve(&rr));
		assert_int_equal(s[0].served, s[1].served);
		rr_restart(&rr, quanta[i]);
		assert_int_equal(rr.quantum, quanta[i] ?: 1);
		/* as a debtor, whose forgiven debt is counted from the mark */
		for (k = 0; k < RR_CHARGES_MAX; k++)
			rr_charge(&rr, &s[0].rr, RR_COST_MAX);
		for (k = 0; k < 20; k++)
			assert_non_null(serve(&rr));
	}
}

/* lists that a bug has emptied are not served: a list's head is no flow */
static void a_head_is_never_a_flow(void **state)
{
	struct rr_flow f = { 0 };
	struct rr rr;

	(void)state;
	rr_init(&rr, QUANTUM);
	rr_backlogged(&rr, &f);
	rr_link_del(&f.link);
	assert_int_equal(rr.active, 1);
	assert_null(rr_next(&rr));
	assert_null(rr_upcoming(&rr));
}

/* said twice, or of a flow in the other state, nothing changes */
static void the_wrong_state_changes_nothing(void **state)
{
	struct rr_flow f[2] = { 0 };
	struct rr rr, before;
	struct rr_flow as_it_was;
	enum rr_list list;

	(void)state;
	rr_init(&rr, QUANTUM);
	rr_backlogged(&rr, &f[0]);
	assert_true(rr_backlogged(&rr, &f[1]));
	for (list = RR_AHEAD; list < RR_LISTS; list++) {
		before = rr;
		as_it_was = f[1];
		assert_false(rr_backlogged(&rr, &f[1]));
		assert_memory_equal(&before, &rr, sizeof(rr));
		assert_memory_equal(&as_it_was, &f[1], sizeof(f[1]));
		/* to another list */
		rr_charge(&rr, &f[1], 2 * QUANTUM);
	}
	rr_idle(&rr, &f[1]);
	assert_null(rr_behind(&f[1]));
	before = rr;
	as_it_was = f[1];
	rr_idle(&rr, &f[1]);
	assert_memory_equal(&before, &rr, sizeof(rr));
	assert_memory_equal(&as_it_was, &f[1], sizeof(f[1]));
	assert_int_equal(rr.active, 1);
	assert_int_equal(rr.shares, 1);
	/* an idle flow has no share to be counted */
	rr_set_weight(&rr, &f[1], UINT32_MAX);
	assert_int_equal(rr_weight(&f[1]), RR_WEIGHT_MAX);
	assert_int_equal(rr.shares, 1);
	rr_set_weight(&rr, &f[0], 0);
	assert_int_equal(rr.shares, 1);
	/* asked again, the same flow */
	assert_ptr_equal(rr_next(&rr), &f[0]);
	assert_ptr_equal(rr_next(&rr), &f[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_backlogged_at_first),
		cmocka_unit_test(equal_sizes_alternate_strictly),
		cmocka_unit_test(the_next_two_are_known),
		cmocka_unit_test(a_flow_that_joins_alternates_at_once),
		cmocka_unit_test(alternation_does_not_depend_on_the_past),
		cmocka_unit_test(bytes_are_shared_whatever_the_sizes),
		cmocka_unit_test(rounds_are_fair_to_a_quantum_of_bytes),
		cmocka_unit_test(rounds_are_fair_to_a_packet),
		cmocka_unit_test(weights_share_bytes),
		cmocka_unit_test(weights_share_packets),
		cmocka_unit_test(a_weight_may_change),
		cmocka_unit_test(weights_starve_nobody),
		cmocka_unit_test(charged_drops_cost_a_flow_its_share),
		cmocka_unit_test(a_debt_ends),
		cmocka_unit_test(debtors_use_what_nobody_wants),
		cmocka_unit_test(many_debtors_return_when_they_have_paid),
		cmocka_unit_test(an_idle_flow_is_charged),
		cmocka_unit_test(strict_serves_one_packet_per_visit),
		cmocka_unit_test(a_sparse_flow_does_not_wait_a_round),
		cmocka_unit_test(a_train_does_not_pass_whole),
		cmocka_unit_test(single_packets_gain_nothing),
		cmocka_unit_test(short_bursts_gain_nothing),
		cmocka_unit_test(a_flood_of_new_flows_leaves_half),
		cmocka_unit_test(a_larger_flood_is_served_as_one_round),
		cmocka_unit_test(what_comes_together_leaves_together),
		cmocka_unit_test(an_idle_link_makes_all_equal),
		cmocka_unit_test(eight_grants_go_ahead_at_once),
		cmocka_unit_test(any_flood_leaves_the_round_a_ninth),
		cmocka_unit_test(many_small_flows_are_not_held_up),
		cmocka_unit_test(a_flow_may_leave_from_any_list),
		cmocka_unit_test(a_changed_quantum_takes_effect),
		cmocka_unit_test(a_restart_forgets_credit),
		cmocka_unit_test(a_restart_forgets_debt),
		cmocka_unit_test(agrees_with_explicit_credits),
		cmocka_unit_test(any_quantum_serves),
		cmocka_unit_test(a_head_is_never_a_flow),
		cmocka_unit_test(the_wrong_state_changes_nothing),
	};

	return cmocka_run_group_tests_name("round_robin", tests, NULL, NULL);
}
