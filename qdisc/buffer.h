/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The buffer: queues of packets that share one limit, and what is dropped beyond it.
 *
 * A packet is a link in its queue's list. Its length and the memory that it occupies are
 * the caller's to know: they are passed along, or asked for where packets are dropped.
 * Each queue and the buffer have sums of both, so that neither is ever counted.
 *
 * Beyond a limit the longest queue loses packets, until the buffer is within it:
 * longest_queue.h finds that queue, fair_share.h says what "long" means, and the policy
 * says what it loses. By default that is all of it, but for a packet that is just
 * arriving (S. Keshav, "Congestion control in computer networks", 1991, chapter 6): a flush
 * takes constant time, however many packets, since none of them is looked at.
 *
 * What waits elsewhere counts as well, but cannot be dropped: a packet that a parent has
 * peeked at, or that a device has given back. So the number of packets that wait is the
 * caller's, and may be more than the queues hold.
 */
#ifndef _FQ_RR_BUFFER_H
#define _FQ_RR_BUFFER_H

#include <linux/pkt_sched_fq_rr.h>

#include "portable.h"
#include "fair_share.h"
#include "longest_queue.h"
#include "parents.h"
#include "round_robin.h"
#include "sojourn.h"

/**
 * struct packet_link - a packet's place in its queue: how &struct sk_buff begins
 * @next: packet that came next; NULL: none
 * @prev: packet that came before, if there was one in the queue when this one came and it
 *	has not left since; else anything
 */
struct packet_link {
	struct packet_link *next;
	struct packet_link *prev;
};

/**
 * struct packet_size - what a packet takes
 * @bytes: its length
 * @memory: what it occupies (bytes)
 */
struct packet_size {
	u32 bytes;
	u32 memory;
};

/**
 * struct packet_list - packets that have been dropped, linked by their @next
 * @first: packet; NULL: there is none
 * @last: packet, if there is a first
 */
struct packet_list {
	struct packet_link *first;
	struct packet_link *last;
};

/**
 * struct fq_rr_flow - one queue, all zero at first
 * @rr: its turn, and whether CoDel has found it above its target since it was last
 *	below; the first member
 * @head: oldest packet; NULL: the queue is empty
 * @tail: newest packet, if there is a head
 * @bytes: length of what is in it
 * @packets: packets in it
 * @memory: what they occupy (bytes)
 * @hash: of the flow whose packet came last
 */
struct fq_rr_flow {
	struct rr_flow rr;
	struct packet_link *head;
	struct packet_link *tail;
	u32 bytes;
	u32 packets;
	u32 memory;
	u32 hash;
};

static_assert(offsetof(struct fq_rr_flow, rr) == 0, "a turn is cast to its queue");
static_assert(FQ_RR_FLOWS_MAX <= LQ_QUEUES_MAX, "a queue's number fits the heap's");

/**
 * struct queue_record - what has happened in one queue, all zero at first
 * @bytes: length of what it has sent
 * @packets: segments of that (wraps)
 * @drops: packets that it has lost (wraps)
 * @marks: packets marked in it (wraps)
 * @sojourn: how long its packets have waited
 *
 * Apart from &struct fq_rr_flow, so that a busy queue's is one cache line.
 */
struct queue_record {
	u64 bytes;
	u32 packets;
	u32 drops;
	u32 marks;
	struct sojourn sojourn;
};

/**
 * struct buffer_counts - what has happened
 * @flushed: packets dropped by flushing a queue
 * @head: packets dropped from the head of a queue
 * @tail: packets dropped from its tail
 * @flushes: queues flushed
 * @over_limit: times that more than the limit's packets waited
 * @over_memory: times that they occupied more than the limit
 */
struct buffer_counts {
	u64 flushed;
	u64 head;
	u64 tail;
	u64 flushes;
	u64 over_limit;
	u64 over_memory;
};

/**
 * struct buffer - queues that share one limit
 * @flows: the queues
 * @records: what has happened in each
 * @limit: packets that may wait
 * @memory_limit: memory that they may occupy (bytes)
 * @drop: enum fq_rr_drop: what the longest queue loses
 * @charge: whether a flow pays for its dropped packets
 * @strict: whether packets are shared, and not bytes: see rr_cost()
 * @memory: what the packets in the queues occupy (bytes)
 * @rr: whose turn it is
 * @lq: which queue is the longest
 * @counts: what has happened
 */
struct buffer {
	/* read mostly */
	struct fq_rr_flow *flows;
	struct queue_record *records;
	u32 limit;
	u32 memory_limit;
	u32 drop;
	bool charge;
	bool strict;

	/* written for every packet */
	u32 memory;
	struct rr rr;

	/* written when packets are dropped */
	struct lq lq;
	struct buffer_counts counts;
};

static inline u32 buffer_number(const struct buffer *b, const struct fq_rr_flow *flow)
{
	return flow - b->flows;
}

static inline u64 buffer_key(const struct buffer *b, const struct fq_rr_flow *flow)
{
	return fair_share_key(b->limit, b->memory_limit, flow->packets, flow->memory);
}

static inline u64 buffer_key_of(const void *buffer, u32 number)
{
	const struct buffer *b = buffer;

	return buffer_key(b, &b->flows[number]);
}

/**
 * buffer_append - a packet goes to the end of a queue
 * @b: buffer
 * @flow: queue, whose turn is the caller's to see to
 * @packet: packet
 * @size: what it takes; not added to &buffer.memory, of which it may be a part already
 * @hash: of its flow
 */
static inline void buffer_append(struct buffer *b, struct fq_rr_flow *flow,
				 struct packet_link *packet, struct packet_size size,
				 u32 hash)
{
	flow->hash = hash;
	packet->next = NULL;
	if (flow->head) {
		packet->prev = flow->tail;
		flow->tail->next = packet;
	} else {
		packet->prev = NULL;
		flow->head = packet;
	}
	flow->tail = packet;
	flow->packets++;
	flow->memory += size.memory;
	flow->bytes += size.bytes;
	/* no part of the buffer is computed while nobody asks for the largest */
	if (unlikely(!lq_collecting(&b->lq)))
		lq_grow(&b->lq, buffer_number(b, flow), buffer_key(b, flow));
}

/**
 * buffer_take_head - take the oldest packet out of a queue
 * @flow: queue, which must not be empty
 *
 * What the packet took is still counted, until buffer_taken() is told, and the queue's
 * turn is as it was.
 *
 * Return: the packet.
 */
static inline struct packet_link *buffer_take_head(struct fq_rr_flow *flow)
{
	struct packet_link *packet = flow->head;

	PRECONDITION(packet);
	/* the new head keeps its prev, which nobody follows: saves a miss */
	flow->head = packet->next;
	packet->next = NULL;
	packet->prev = NULL;
	return packet;
}

/**
 * buffer_take_tail - take the newest packet out of a queue
 * @flow: queue, which must not be empty
 *
 * As buffer_take_head().
 *
 * Return: the packet.
 */
static inline struct packet_link *buffer_take_tail(struct fq_rr_flow *flow)
{
	struct packet_link *packet = flow->tail;

	PRECONDITION(flow->head);
	if (packet == flow->head) {
		flow->head = NULL;
	} else {
		flow->tail = packet->prev;
		flow->tail->next = NULL;
	}
	packet->prev = NULL;
	return packet;
}

/**
 * buffer_taken - a packet has been taken out of a queue
 * @b: buffer
 * @flow: queue
 * @size: what the packet took
 */
static inline void buffer_taken(struct buffer *b, struct fq_rr_flow *flow,
				struct packet_size size)
{
	flow->bytes -= size.bytes;
	flow->packets--;
	flow->memory -= size.memory;
	b->memory -= size.memory;
}

/**
 * buffer_detach - take all packets out of a queue
 * @flow: queue, whose turn is as it was
 *
 * &buffer.memory still has them in it.
 *
 * Return: the oldest packet, to which the others are linked; NULL: the queue was empty.
 */
static inline struct packet_link *buffer_detach(struct fq_rr_flow *flow)
{
	struct packet_link *first = flow->head;

	flow->head = NULL;
	flow->bytes = 0;
	flow->packets = 0;
	flow->memory = 0;
	return first;
}

/**
 * buffer_detach_all - take all packets out of all queues
 * @b: buffer; &buffer.memory still has them in it
 *
 * Return: the packets, each queue's in their order.
 */
static inline struct packet_list buffer_detach_all(struct buffer *b)
{
	struct packet_list all = {};
	unsigned int list;

	for (list = 0; list < RR_LISTS; list++) {
		while (!rr_link_empty(&b->rr.list[list])) {
			struct fq_rr_flow *flow;

			flow = (struct fq_rr_flow *)b->rr.list[list].next;
			if (all.first)
				all.last->next = flow->head;
			else
				all.first = flow->head;
			all.last = flow->tail;
			rr_idle(&b->rr, &flow->rr);
			buffer_detach(flow);
		}
	}
	return all;
}

/**
 * buffer_over_limit - whether packets have to be dropped
 * @b: buffer
 * @waiting: packets that wait, in the queues and elsewhere
 *
 * Return: true if so.
 */
static inline bool buffer_over_limit(const struct buffer *b, u32 waiting)
{
	return waiting > b->limit || b->memory > b->memory_limit;
}

/**
 * buffer_refuses - whether a packet is dropped before it is in any queue
 * @b: buffer
 * @waiting: packets that wait, in the queues and elsewhere
 * @memory: what the packet occupies (bytes)
 *
 * One that could not stay even alone would cost another flow its queue, and be dropped all
 * the same.
 *
 * Return: true if so.
 */
static inline bool buffer_refuses(const struct buffer *b, u32 waiting, u32 memory)
{
	if (memory > b->memory_limit)
		return true;
	return b->drop == FQ_RR_DROP_ARRIVING &&
	       (waiting >= b->limit || b->memory + memory > b->memory_limit);
}

/**
 * buffer_charge - a flow pays for a packet that it has lost, if the policy says so
 * @b: buffer
 * @flow: its queue
 * @bytes: length of the packet
 */
static inline void buffer_charge(struct buffer *b, struct fq_rr_flow *flow, u32 bytes)
{
	if (b->charge)
		rr_charge(&b->rr, &flow->rr, rr_cost(b->strict, bytes));
}

/* drop a packet that has been taken out of a queue */
static __always_inline void
buffer_drop_one(struct buffer *b, struct fq_rr_flow *flow, struct packet_link *packet,
		struct packet_size (*size_of)(const struct packet_link *packet),
		struct fq_rr_outcome *outcome, struct packet_list *dropped)
{
	struct packet_size size = size_of(packet);

	buffer_taken(b, flow, size);
	if (!flow->head)
		rr_idle(&b->rr, &flow->rr);
	b->records[buffer_number(b, flow)].drops++;
	outcome->dropped++;
	outcome->dropped_bytes += size.bytes;
	buffer_charge(b, flow, size.bytes);
	if (!dropped->first)
		dropped->last = packet;
	packet->next = dropped->first;
	dropped->first = packet;
}

/*
 * Drop all of a queue but the packet @keep, if that is its newest and has others before it.
 * None of the packets is looked at, unless the flow is to pay for each.
 */
static __always_inline void
buffer_flush(struct buffer *b, struct fq_rr_flow *flow, struct packet_link *keep,
	     struct packet_size (*size_of)(const struct packet_link *packet),
	     struct fq_rr_outcome *outcome, struct packet_list *dropped)
{
	struct packet_link *last = flow->tail;
	struct fq_rr_flow lost = *flow;

	b->counts.flushes++;
	b->counts.flushed += flow->packets - (last == keep);
	if (b->charge) {
		while (flow->head && flow->head != keep)
			buffer_drop_one(b, flow, buffer_take_head(flow), size_of, outcome,
					dropped);
		return;
	}
	buffer_detach(flow);
	if (last == keep) {
		struct packet_size size = size_of(keep);

		last = keep->prev;
		keep->prev = NULL;
		flow->head = keep;
		flow->bytes = size.bytes;
		flow->packets = 1;
		flow->memory = size.memory;
	} else {
		rr_idle(&b->rr, &flow->rr);
	}
	if (!dropped->first)
		dropped->last = last;
	last->next = dropped->first;
	dropped->first = lost.head;
	b->memory -= lost.memory - flow->memory;
	b->records[buffer_number(b, flow)].drops += lost.packets - flow->packets;
	outcome->dropped += lost.packets - flow->packets;
	outcome->dropped_bytes += lost.bytes - flow->bytes;
}

/**
 * buffer_drop_from - drop what the policy says of one queue
 * @b: buffer
 * @flow: queue, which must not be empty
 * @arrived: packet that has just been appended to one of the queues, or NULL; kept by a
 *	flush, unless the queue has no other
 * @size_of: tells what a packet takes
 * @outcome: counts what is dropped
 * @dropped: packets that are, put before those that are there
 */
static __always_inline void
buffer_drop_from(struct buffer *b, struct fq_rr_flow *flow, struct packet_link *arrived,
		 struct packet_size (*size_of)(const struct packet_link *packet),
		 struct fq_rr_outcome *outcome, struct packet_list *dropped)
{
	PRECONDITION(flow->head);
	if (b->drop == FQ_RR_DROP_LONGEST_QUEUE && flow->head != arrived) {
		buffer_flush(b, flow, arrived, size_of, outcome, dropped);
	} else if (b->drop == FQ_RR_DROP_LONGEST_HEAD) {
		b->counts.head++;
		buffer_drop_one(b, flow, buffer_take_head(flow), size_of, outcome, dropped);
	} else {
		b->counts.tail++;
		buffer_drop_one(b, flow, buffer_take_tail(flow), size_of, outcome, dropped);
	}
}

/* rare, and where a test counts how often: out of line */
static noinline void buffer_collect(struct buffer *b)
{
	unsigned int list;
	struct rr_flow *f;

	for (list = 0; list < RR_LISTS; list++) {
		rr_for_each(&b->rr, list, f) {
			struct fq_rr_flow *flow = (struct fq_rr_flow *)f;

			lq_collect(&b->lq, buffer_number(b, flow), buffer_key(b, flow));
		}
	}
	lq_collected(&b->lq);
}

/* the queue that takes the largest part of the buffer; NULL: all are empty */
static inline struct fq_rr_flow *buffer_longest(struct buffer *b)
{
	u32 number;

	if (lq_collecting(&b->lq))
		buffer_collect(b);
	number = lq_longest(&b->lq, buffer_key_of, b);
	return number == LQ_NONE ? NULL : &b->flows[number];
}

/**
 * buffer_make_room - drop by the policy until the limits are met
 * @b: buffer
 * @waiting: packets that wait, in the queues and elsewhere
 * @own: queue of the packet that has just been appended, or NULL
 * @arrived: that packet, or NULL
 * @size_of: tells what a packet takes
 * @outcome: out: counts what is dropped
 * @dropped: packets that are
 *
 * With more waiting elsewhere than the limit allows, all queues are empty at the end.
 */
static __always_inline void
buffer_make_room(struct buffer *b, u32 waiting, const struct fq_rr_flow *own,
		 struct packet_link *arrived,
		 struct packet_size (*size_of)(const struct packet_link *packet),
		 struct fq_rr_outcome *outcome, struct packet_list *dropped)
{
	*outcome = (struct fq_rr_outcome) {};
	if (waiting > b->limit)
		b->counts.over_limit++;
	else
		b->counts.over_memory++;
	while (buffer_over_limit(b, waiting - outcome->dropped)) {
		struct fq_rr_flow *flow = buffer_longest(b);

		if (!flow)
			break;
		if (flow == own)
			outcome->own_dropped = true;
		buffer_drop_from(b, flow, arrived, size_of, outcome, dropped);
	}
}

/**
 * buffer_exceeds_share - whether a queue exceeds a part of its fair share of the buffer
 * @b: buffer
 * @flow: queue; of one that is empty, never
 * @waiting: packets that wait, in the queues and elsewhere
 * @percent: part of the share, as fair_share_exceeded() has it
 *
 * Return: true if so.
 */
static inline bool buffer_exceeds_share(const struct buffer *b, const struct fq_rr_flow *flow,
					u32 waiting, u32 percent)
{
	if (!flow->head)
		return false;
	return fair_share_exceeded(flow->packets, rr_weight(&flow->rr), b->rr.shares,
				   fair_share_buffer(b->limit, b->memory_limit, waiting,
						     b->memory), percent);
}

#endif /* _FQ_RR_BUFFER_H */
