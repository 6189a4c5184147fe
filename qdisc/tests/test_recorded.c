// SPDX-License-Identifier: GPL-2.0
/*
 * With no-aqm, the headers do what the module did before there was delay control.
 *
 * Arrivals are those of without_it_all_is_as_it_was() in in_lab_delay.py: 24 links that are
 * blocked while five flows send. The table has what left each link then, in which order and with
 * which marks, and what was counted. It was printed by a run of that test whose SHA-256 was
 * RECORDED, which is that of the older module.
 *
 * What sch_fq_rr.c itself decides is repeated here: link_enqueue(), link_mark_or_drop(),
 * link_dequeue().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "buffer.h"

#define LIMIT 120
#define STEPS 300
#define FULL 1514
/* of any packet: far less than the limit of memory, which then decides nothing */
#define TRUESIZE 2304
/* the super-packet that blocks a link, with the headers of its 60 segments */
#define BLOCKING 62520
#define ECT_0 2
#define CE 3
#define PORTS 6
#define COUNTS 7

/*
 * Queues of the source ports, of which 0 stands for 999, with "seed 1": as the guest's classes
 * showed them. Of two that are equally long the higher number pays.
 */
static const u32 queue_of[PORTS] = { 793, 375, 651, 8, 139, 561 };

static const char *const scheduler_names[] = {
	[FQ_RR_SCHEDULER_DRR] = "drr",
	[FQ_RR_SCHEDULER_STRICT] = "strict",
};

static const char *const drop_names[] = {
	[FQ_RR_DROP_LONGEST_QUEUE] = "longest-queue",
	[FQ_RR_DROP_LONGEST_HEAD] = "longest-head",
	[FQ_RR_DROP_LONGEST_TAIL] = "longest-tail",
	[FQ_RR_DROP_ARRIVING] = "arriving",
};

static const struct {
	const char *name;
	u32 percent;
	bool charge;
} options[] = {
	{ "", 0, false },
	{ " ecn 33", 33, false },
	{ " charge-drops", 0, true },
};

static const char *const count_names[COUNTS] = {
	"drops", "marks", "over_share", "flushes", "drops_flushed", "drops_head", "drops_tail",
};

/**
 * struct record - what was recorded of one link
 * @digest: of the packets that left, as link_release() has it
 * @packets: how many left
 * @counts: as count_names has them
 */
struct record {
	u64 digest;
	u32 packets;
	u32 counts[COUNTS];
};

/* by scheduler, policy, options */
static const struct record recorded[2][FQ_RR_DROP_MAX + 1][ARRAY_SIZE(options)] = {
	{
		{
			{ 0x4aaba830f7e166aaULL, 100, { 349, 0, 0, 8, 349, 0, 0 } },
			{ 0xc14d9dbe630c7f4fULL, 100, { 349, 313, 11, 15, 349, 0, 0 } },
			{ 0x9dd4ba35c1b9ea56ULL, 100, { 349, 0, 0, 8, 349, 0, 0 } },
		},
		{
			{ 0xcd974d0518afafe4ULL, 120, { 329, 0, 0, 0, 0, 329, 0 } },
			{ 0xcd974d0518afafe4ULL, 120, { 329, 83, 0, 0, 0, 329, 0 } },
			{ 0xe2993f3fdb3a4b88ULL, 120, { 329, 0, 0, 0, 0, 329, 0 } },
		},
		{
			{ 0x00ce0a99cd7aac03ULL, 120, { 329, 0, 0, 0, 0, 0, 329 } },
			{ 0x90a57c291d5c2b77ULL, 120, { 329, 83, 0, 0, 0, 0, 329 } },
			{ 0x08b9a5bb577b26cfULL, 120, { 329, 0, 0, 0, 0, 0, 329 } },
		},
		{
			{ 0x7aa6ee7df023fba5ULL, 120, { 329, 0, 0, 0, 0, 0, 0 } },
			{ 0xba67eba2b328af38ULL, 120, { 329, 83, 0, 0, 0, 0, 0 } },
			{ 0x836eddafb68a5845ULL, 120, { 329, 0, 0, 0, 0, 0, 0 } },
		},
	},
	{
		{
			{ 0x4aaba830f7e166aaULL, 100, { 349, 0, 0, 8, 349, 0, 0 } },
			{ 0xc14d9dbe630c7f4fULL, 100, { 349, 313, 11, 15, 349, 0, 0 } },
			{ 0x09b2ac1725038d0aULL, 100, { 349, 0, 0, 8, 349, 0, 0 } },
		},
		{
			{ 0x9703ea9230eae638ULL, 120, { 329, 0, 0, 0, 0, 329, 0 } },
			{ 0x9703ea9230eae638ULL, 120, { 329, 83, 0, 0, 0, 329, 0 } },
			{ 0x467407c9dd5be070ULL, 120, { 329, 0, 0, 0, 0, 329, 0 } },
		},
		{
			{ 0x00ce0a99cd7aac03ULL, 120, { 329, 0, 0, 0, 0, 0, 329 } },
			{ 0x90a57c291d5c2b77ULL, 120, { 329, 83, 0, 0, 0, 0, 329 } },
			{ 0x03488e9f8ddd6b8fULL, 120, { 329, 0, 0, 0, 0, 0, 329 } },
		},
		{
			{ 0x7aa6ee7df023fba5ULL, 120, { 329, 0, 0, 0, 0, 0, 0 } },
			{ 0xba67eba2b328af38ULL, 120, { 329, 83, 0, 0, 0, 0, 0 } },
			{ 0x531151da7710b291ULL, 120, { 329, 0, 0, 0, 0, 0, 0 } },
		},
	},
};

struct packet {
	struct packet_link link;
	u32 port;
	u32 sequence;
	u32 bytes;
	u32 ecn;
};

/**
 * struct link - a qdisc, as far as it decides what leaves
 * @b: buffer
 * @flows: its queues
 * @records: what has happened in them
 * @room: of its heap
 * @packets: all that came
 * @came: how many
 * @waiting: how many are in queues
 * @sequence: of each port, its next packet's number; what is dropped has one as well
 * @percent: of ecn, 0: off
 * @drops: packets
 * @marks: packets
 * @over_share: packets that could not be marked
 */
struct link {
	struct buffer b;
	struct fq_rr_flow flows[FQ_RR_FLOWS_DEFAULT];
	struct queue_record records[FQ_RR_FLOWS_DEFAULT];
	void *room;
	struct packet packets[1 + 2 * STEPS];
	u32 came;
	u32 waiting;
	u32 sequence[PORTS];
	u32 percent;
	u32 drops;
	u32 marks;
	u32 over_share;
};

static struct packet_size size_of(const struct packet_link *link)
{
	return (struct packet_size) { ((const struct packet *)link)->bytes, TRUESIZE };
}

static void link_count_drops(struct link *l, const struct fq_rr_outcome *outcome)
{
	l->drops += outcome->dropped;
	l->waiting -= outcome->dropped;
}

/* as fq_rr_mark_or_drop() */
static void link_mark_or_drop(struct link *l, struct fq_rr_flow *flow, struct packet *p)
{
	struct fq_rr_outcome outcome = { 0 };
	struct packet_list dropped = { 0 };

	if (!l->percent || !buffer_exceeds_share(&l->b, flow, l->waiting, l->percent))
		return;
	if (p->ecn == ECT_0) {
		p->ecn = CE;
		l->marks++;
		return;
	}
	l->over_share++;
	buffer_drop_from(&l->b, flow, &p->link, size_of, &outcome, &dropped);
	link_count_drops(l, &outcome);
}

/* as fq_rr_enqueue_one(), where each flow has a queue of its own */
static void link_enqueue(struct link *l, u32 port, u32 bytes)
{
	struct fq_rr_flow *flow = &l->flows[queue_of[port]];
	struct packet *p = &l->packets[l->came++];
	struct fq_rr_outcome outcome = { 0 };
	struct packet_list dropped = { 0 };

	*p = (struct packet) {
		.port = port,
		.sequence = l->sequence[port]++,
		.bytes = bytes,
		.ecn = port == 1 || port == 3 ? ECT_0 : 0,
	};
	if (buffer_refuses(&l->b, l->waiting, TRUESIZE)) {
		buffer_charge_refused(&l->b, flow, bytes);
		l->drops++;
		return;
	}
	if (!flow->head)
		buffer_backlogged(&l->b, flow, 0, false);
	buffer_append(&l->b, flow, &p->link, size_of(&p->link), port);
	l->b.memory += TRUESIZE;
	l->waiting++;
	if (buffer_over_limit(&l->b, l->waiting)) {
		buffer_make_room(&l->b, l->waiting, flow, &p->link, size_of, &outcome, &dropped);
		link_count_drops(l, &outcome);
		return;
	}
	link_mark_or_drop(l, flow, p);
}

/* as fq_rr_dequeue_one() without delay control */
static const struct packet *link_dequeue(struct link *l)
{
	struct fq_rr_flow *flow = buffer_next(&l->b, false);
	struct packet_link *link;

	if (!flow)
		return NULL;
	link = buffer_take_head(flow);
	buffer_taken(&l->b, flow, size_of(link));
	buffer_sent(&l->b, flow, size_of(link), false);
	l->waiting--;
	return (struct packet *)link;
}

/* a link with the options, as fq_rr_init() and fq_rr_apply() have them, after all arrivals */
static struct link *link_after_arrivals(u32 scheduler, u32 drop, u32 more)
{
	struct link *l = calloc(1, sizeof(*l));
	u32 step, draw = 1;

	l->room = calloc(1, lq_room_bytes(FQ_RR_FLOWS_DEFAULT));
	l->b.flows = l->flows;
	l->b.records = l->records;
	l->b.limit = LIMIT;
	l->b.memory_limit = FQ_RR_AUTO_MEMORY_MAX;
	l->b.drop = drop;
	l->b.strict = scheduler == FQ_RR_SCHEDULER_STRICT;
	l->b.charge = options[more].charge;
	l->percent = options[more].percent;
	lq_init(&l->b.lq, l->room, FQ_RR_FLOWS_DEFAULT);
	rr_init(&l->b.rr, 1);
	buffer_restart(&l->b, rr_quantum(l->b.strict, FULL));
	/* the largest packet so far: what a round may send goes by it */
	link_enqueue(l, 0, BLOCKING);
	link_dequeue(l);
	for (step = 0; step < STEPS; step++) {
		draw = (draw * 1103515245 + 12345) & S32_MAX;
		link_enqueue(l, (draw >> 16 & 3) | 1, 142 + (draw >> 20) % 1372);
		if (draw >> 18 & 1)
			link_enqueue(l, (draw >> 24) % 5 + 1, FULL);
	}
	return l;
}

/* FNV-1a, of a number's bytes from the lowest on */
static u64 digest_of(u64 digest, u32 value)
{
	unsigned int i;

	for (i = 0; i < sizeof(value); i++, value >>= 8)
		digest = (digest ^ (value & 255)) * 0x100000001b3ULL;
	return digest;
}

/* all leave; a digest of each one's port, sequence number, bytes, and field of IP for marks */
static u64 link_release(struct link *l, u32 *packets)
{
	u64 digest = 0xcbf29ce484222325ULL;
	const struct packet *p;

	for (*packets = 0; (p = link_dequeue(l)); ++*packets) {
		digest = digest_of(digest, p->port);
		digest = digest_of(digest, p->sequence);
		digest = digest_of(digest, p->bytes);
		digest = digest_of(digest, p->ecn);
	}
	return digest;
}

static void link_free(struct link *l)
{
	free(l->room);
	free(l);
}

static void link_departs_as_recorded(u32 scheduler, u32 drop, u32 more)
{
	const struct record *record = &recorded[scheduler][drop][more];
	struct link *l = link_after_arrivals(scheduler, drop, more);
	u32 packets;
	u64 digest = link_release(l, &packets);

	link_free(l);
	if (packets != record->packets)
		fail_msg("%s %s%s: %u packets left, not %u", scheduler_names[scheduler],
			 drop_names[drop], options[more].name, packets, record->packets);
	if (digest != record->digest)
		fail_msg("%s %s%s: others left, or in another order, or marked otherwise",
			 scheduler_names[scheduler], drop_names[drop], options[more].name);
}

static void link_counts_as_recorded(u32 scheduler, u32 drop, u32 more)
{
	const struct record *record = &recorded[scheduler][drop][more];
	struct link *l = link_after_arrivals(scheduler, drop, more);
	const u32 counts[COUNTS] = {
		l->drops, l->marks, l->over_share, l->b.counts.flushes, l->b.counts.flushed,
		l->b.counts.head, l->b.counts.tail,
	};
	u32 i;

	link_free(l);
	for (i = 0; i < COUNTS; i++)
		if (counts[i] != record->counts[i])
			fail_msg("%s %s%s: %s %u, not %u", scheduler_names[scheduler],
				 drop_names[drop], options[more].name, count_names[i],
				 counts[i], record->counts[i]);
}

static void for_each_link(void (*check)(u32 scheduler, u32 drop, u32 more))
{
	u32 scheduler, drop, more;

	for (scheduler = 0; scheduler < ARRAY_SIZE(scheduler_names); scheduler++)
		for (drop = 0; drop < ARRAY_SIZE(drop_names); drop++)
			for (more = 0; more < ARRAY_SIZE(options); more++)
				check(scheduler, drop, more);
}

static void departures_are_those_recorded(void **state)
{
	(void)state;
	for_each_link(link_departs_as_recorded);
}

static void drops_and_marks_are_those_recorded(void **state)
{
	(void)state;
	for_each_link(link_counts_as_recorded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(departures_are_those_recorded),
		cmocka_unit_test(drops_and_marks_are_those_recorded),
	};

	return cmocka_run_group_tests_name("recorded", tests, NULL, NULL);
}
