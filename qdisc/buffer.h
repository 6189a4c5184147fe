/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The buffer: queues of packets that share one limit, and what is dropped beyond it.
 *
 * A packet is a link in its queue's list. Its length and the memory that it occupies are
 * the caller's to know: they are passed along, or asked for where packets are dropped.
 * Each queue and the buffer have sums of both, so that neither is ever counted.
 *
 * Queues take turns, with all others, or with those of their host (host_turns.h).
 *
 * Beyond a limit the longest queue loses packets, until the buffer is within it:
 * longest_queue.h finds that queue, fair_share.h says what "long" means, and the policy
 * says what it loses. By default that is all of it, but for a packet that is just
 * arriving (S. Keshav, "Congestion control in computer networks", 1991, chapter 6): a flush
 * takes constant time, however many packets, since none of them is looked at. Where hosts
 * share the link it is the longest queue of the host that takes the largest part.
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
#include "host_turns.h"
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
 * @by_host: whether hosts share the link, and their queues their parts
 * @memory: what the packets in the queues occupy (bytes)
 * @rr: whose turn it is: which queue's, or which host's
 * @lq: which queue, or host, is the longest
 * @counts: what has happened
 * @hosts: whose turn it is in a host; without room until there are hosts
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
	bool by_host;

	/* written for every packet */
	u32 memory;
	struct rr rr;

	/* written when packets are dropped */
	struct lq lq;
	struct buffer_counts counts;

	/* of hosts only */
	struct host_turns hosts;
};

static inline u32 buffer_number(const struct buffer *b, const struct fq_rr_flow *flow)
{
	return flow - b->flows;
}

static inline u64 buffer_key(const struct buffer *b, const struct fq_rr_flow *flow)
{
	return fair_share_key(b->limit, b->memory_limit, flow->packets, flow->memory);
}

static inline u64 buffer_host_key(const struct buffer *b, const struct ht_host *host)
{
	return fair_share_key(b->limit, b->memory_limit, host->packets, host->memory);
}

/* of a host, or where there are none of a queue */
static inline u64 buffer_key_of(const void *buffer, u32 number)
{
	const struct buffer *b = buffer;

	return b->by_host ? buffer_host_key(b, &b->hosts.hosts[number]) :
			    buffer_key(b, &b->flows[number]);
}

static inline u64 buffer_queue_key_of(const struct rr_flow *f, const void *buffer)
{
	return buffer_key(buffer, (const struct fq_rr_flow *)f);
}

/**
 * buffer_backlogged - a packet is about to come to an empty queue: it takes turns
 * @b: buffer
 * @flow: queue; of one that takes turns already nothing changes
 * @host: hash of the packet's host; of no meaning without hosts
 * @alone: whether the queue is a host of its own, as ht_backlogged() has it
 *
 * Return: whether its first packet goes ahead.
 */
static __always_inline bool buffer_backlogged(struct buffer *b, struct fq_rr_flow *flow,
					      u32 host, bool alone)
{
	if (unlikely(b->by_host))
		return ht_backlogged(&b->hosts, &flow->rr, buffer_number(b, flow), host,
				     alone);
	return rr_backlogged(&b->rr, &flow->rr);
}

/**
 * buffer_idle - a queue has no packet any more
 * @b: buffer
 * @flow: queue; of one that is idle nothing changes
 */
static inline void buffer_idle(struct buffer *b, struct fq_rr_flow *flow)
{
	if (unlikely(b->by_host))
		ht_idle(&b->hosts, &flow->rr, buffer_number(b, flow));
	else
		rr_idle(&b->rr, &flow->rr);
}

/**
 * buffer_next - the queue whose turn it is
 * @b: buffer
 * @by_host: as &buffer.by_host is, which the caller has read: where it is a constant, only
 *	what it takes is compiled
 *
 * As rr_next() has it.
 *
 * Return: the queue; NULL: all are empty.
 */
static __always_inline struct fq_rr_flow *buffer_next(struct buffer *b, bool by_host)
{
	if (by_host)
		return (struct fq_rr_flow *)ht_next(&b->hosts);
	return (struct fq_rr_flow *)rr_next(&b->rr);
}

/**
 * buffer_sent - a packet of the queue that buffer_next() returned has been sent
 * @b: buffer
 * @flow: that queue, from which the packet has been taken
 * @size: what the packet took
 * @by_host: as buffer_next() has it
 */
static __always_inline void buffer_sent(struct buffer *b, struct fq_rr_flow *flow,
					struct packet_size size, bool by_host)
{
	u32 cost = rr_cost(b->strict, size.bytes);

	if (by_host)
		ht_sent(&b->hosts, &flow->rr, buffer_number(b, flow), cost, size.memory,
			flow->head);
	else
		rr_sent(&b->rr, &flow->rr, cost, flow->head);
}

/**
 * buffer_active - how many queues have packets
 * @b: buffer
 *
 * Return: queues.
 */
static inline u32 buffer_active(const struct buffer *b)
{
	return b->by_host ? b->hosts.active : b->rr.active;
}

/**
 * buffer_credit - what a queue may send before it waits for others
 * @b: buffer
 * @flow: queue
 *
 * Return: as rr_credit(); with hosts, before it waits for those of its host.
 */
static inline s64 buffer_credit(const struct buffer *b, const struct fq_rr_flow *flow)
{
	return b->by_host ? ht_credit(&b->hosts, &flow->rr, buffer_number(b, flow)) :
			    rr_credit(&b->rr, &flow->rr);
}

/**
 * buffer_set_weight - give a queue more or fewer shares
 * @b: buffer
 * @flow: queue
 * @weight: as rr_set_weight() has it; with hosts, as ht_set_weight() has it
 */
static inline void buffer_set_weight(struct buffer *b, struct fq_rr_flow *flow, u32 weight)
{
	if (b->by_host)
		ht_set_weight(&b->hosts, &flow->rr, buffer_number(b, flow), weight);
	else
		rr_set_weight(&b->rr, &flow->rr, weight);
}

/**
 * buffer_restart - another quantum or unit: forget who has sent how much
 * @b: buffer
 * @quantum: as for rr_restart()
 */
static inline void buffer_restart(struct buffer *b, u32 quantum)
{
	if (b->by_host)
		ht_restart(&b->hosts, quantum);
	else
		rr_restart(&b->rr, quantum);
}

/**
 * buffer_set_at_once - whether who asks is served at once
 * @b: buffer
 * @at_once: as for rr_set_at_once()
 */
static inline void buffer_set_at_once(struct buffer *b, bool at_once)
{
	if (b->by_host)
		ht_set_at_once(&b->hosts, at_once);
	else
		rr_set_at_once(&b->rr, at_once);
}

/**
 * buffer_set_by_host - hosts share the link from now on, or queues do
 * @b: buffer, all of whose queues must be empty
 * @by_host: whether hosts do; false where &buffer.hosts has no room
 *
 * Takes time linear in the number of queues where hosts go.
 */
static inline void buffer_set_by_host(struct buffer *b, bool by_host)
{
	u32 i;

	PRECONDITION(!b->rr.active);
	if (b->by_host && !by_host)
		for (i = 0; i < b->hosts.queues; i++)
			ht_leave(&b->hosts, &b->flows[i].rr, i);
	b->by_host = by_host && b->hosts.queues;
	/* it has the numbers of the others in it */
	lq_reset(&b->lq);
}

/* all queues of one round robin */
static inline void buffer_visit_turns(const struct rr *rr,
				      void (*visit)(struct fq_rr_flow *flow, void *context),
				      void *context)
{
	unsigned int list;
	struct rr_flow *f;

	rr_for_each_backlogged(rr, list, f)
		visit((struct fq_rr_flow *)f, context);
}

/**
 * buffer_visit - visit all queues that take turns
 * @b: buffer
 * @visit: is told of each, and changes no turns
 * @context: for @visit
 */
static inline void buffer_visit(const struct buffer *b,
				void (*visit)(struct fq_rr_flow *flow, void *context),
				void *context)
{
	unsigned int list;
	struct rr_flow *f;

	if (!b->by_host) {
		buffer_visit_turns(&b->rr, visit, context);
		return;
	}
	rr_for_each_backlogged(&b->rr, list, f)
		buffer_visit_turns(&ht_of_turn(f)->queues, visit, context);
}

/* a queue has grown, while somebody asks for the largest */
static inline void buffer_grown(struct buffer *b, const struct fq_rr_flow *flow)
{
	u32 number = buffer_number(b, flow);
	const struct ht_host *host;

	if (!b->by_host) {
		lq_grow(&b->lq, number, buffer_key(b, flow));
		return;
	}
	host = ht_host_of(&b->hosts, number);
	if (host)
		lq_grow(&b->lq, host - b->hosts.hosts, buffer_host_key(b, host));
}

/**
 * buffer_append - a packet goes to the end of a queue
 * @b: buffer
 * @flow: queue, whose turn is the caller's to see to: see buffer_backlogged()
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
	if (unlikely(b->by_host))
		ht_count(&b->hosts, buffer_number(b, flow), 1, size.memory);
	/* no part of the buffer is computed while nobody asks for the largest */
	if (unlikely(!lq_collecting(&b->lq)))
		buffer_grown(b, flow);
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
 *
 * Its host has it until buffer_sent() or buffer_lost() is told.
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
 * @b: buffer
 * @flow: queue, whose turn is as it was
 *
 * &buffer.memory still has them in it.
 *
 * Return: the oldest packet, to which the others are linked; NULL: the queue was empty.
 */
static inline struct packet_link *buffer_detach(struct buffer *b, struct fq_rr_flow *flow)
{
	struct packet_link *first = flow->head;

	if (b->by_host)
		ht_count(&b->hosts, buffer_number(b, flow), -flow->packets, -flow->memory);
	flow->head = NULL;
	flow->bytes = 0;
	flow->packets = 0;
	flow->memory = 0;
	return first;
}

/**
 * buffer_any - a queue that takes turns
 * @b: buffer
 *
 * Return: the queue; NULL: none does.
 */
static inline struct fq_rr_flow *buffer_any(const struct buffer *b)
{
	return (struct fq_rr_flow *)(b->by_host ? ht_any(&b->hosts) : rr_any(&b->rr));
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
	struct fq_rr_flow *flow;

	while ((flow = buffer_any(b))) {
		if (all.first)
			all.last->next = flow->head;
		else
			all.first = flow->head;
		all.last = flow->tail;
		buffer_idle(b, flow);
		buffer_detach(b, flow);
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
 * buffer_judged_from - what a packet may occupy so that buffer_refuses() never refuses it
 * @b: buffer
 *
 * Return: bytes; of more, it has to be asked. While the policy may refuse any packet, 0.
 */
static inline u32 buffer_judged_from(const struct buffer *b)
{
	return b->drop == FQ_RR_DROP_ARRIVING ? 0 : b->memory_limit;
}

/**
 * buffer_watch_memory - the packets may occupy more than ever
 * @b: buffer
 * @most: the most that they ever have, noted here (bytes)
 *
 * Return: bytes up to which they occupy neither more than ever nor more than their limit.
 */
static inline u32 buffer_watch_memory(const struct buffer *b, u32 *most)
{
	*most = max_t(u32, *most, b->memory);
	return min_t(u32, *most, b->memory_limit);
}

/**
 * buffer_charge - a flow pays for a packet that it has lost, if the policy says so
 * @b: buffer
 * @flow: its queue
 * @bytes: length of the packet
 */
static inline void buffer_charge(struct buffer *b, struct fq_rr_flow *flow, u32 bytes)
{
	u32 cost = rr_cost(b->strict, bytes);

	if (!b->charge)
		return;
	if (b->by_host)
		ht_charge(&b->hosts, &flow->rr, buffer_number(b, flow), cost);
	else
		rr_charge(&b->rr, &flow->rr, cost);
}

/**
 * buffer_lost - a packet that has been taken out of a queue is dropped
 * @b: buffer
 * @flow: queue
 * @size: what the packet took
 */
static inline void buffer_lost(struct buffer *b, struct fq_rr_flow *flow,
			       struct packet_size size)
{
	if (b->by_host)
		ht_count(&b->hosts, buffer_number(b, flow), -1, -size.memory);
	buffer_charge(b, flow, size.bytes);
}

/**
 * buffer_charge_refused - as buffer_charge(), for a packet that has not come to its queue
 * @b: buffer
 * @flow: its queue; with hosts, one that is empty pays nothing: it may have been another's
 * @bytes: length of the packet
 */
static inline void buffer_charge_refused(struct buffer *b, struct fq_rr_flow *flow, u32 bytes)
{
	if (flow->head || !b->by_host)
		buffer_charge(b, flow, bytes);
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
		buffer_idle(b, flow);
	b->records[buffer_number(b, flow)].drops++;
	outcome->dropped++;
	outcome->dropped_bytes += size.bytes;
	buffer_lost(b, flow, size);
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
	buffer_detach(b, flow);
	if (last == keep) {
		struct packet_size size = size_of(keep);

		last = keep->prev;
		keep->prev = NULL;
		flow->head = keep;
		flow->bytes = size.bytes;
		flow->packets = 1;
		flow->memory = size.memory;
		if (b->by_host)
			ht_count(&b->hosts, buffer_number(b, flow), 1, size.memory);
	} else {
		buffer_idle(b, flow);
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
 * buffer_evict - drop all packets of a queue, whatever the policy
 * @b: buffer
 * @flow: queue; of one that is empty nothing changes
 * @size_of: tells what a packet takes
 * @outcome: counts what is dropped
 * @dropped: packets that are, put before those that are there
 */
static __always_inline void
buffer_evict(struct buffer *b, struct fq_rr_flow *flow,
	     struct packet_size (*size_of)(const struct packet_link *packet),
	     struct fq_rr_outcome *outcome, struct packet_list *dropped)
{
	if (flow->head)
		buffer_flush(b, flow, NULL, size_of, outcome, dropped);
}

/**
 * buffer_drop_from - drop what the policy says of one queue
 * @b: buffer
 * @flow: queue; of one that is empty nothing changes
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
	if (unlikely(!flow->head))
		return;
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
	u32 number;

	rr_for_each_backlogged(&b->rr, list, f) {
		if (b->by_host)
			number = ht_of_turn(f) - b->hosts.hosts;
		else
			number = buffer_number(b, (struct fq_rr_flow *)f);
		lq_collect(&b->lq, number, buffer_key_of(b, number));
	}
	lq_collected(&b->lq);
}

/*
 * The queue that takes the largest part of the buffer, or the longest of the host that
 * does; NULL: all are empty.
 */
static inline struct fq_rr_flow *buffer_longest(struct buffer *b)
{
	u32 number;

	if (lq_collecting(&b->lq))
		buffer_collect(b);
	number = lq_longest(&b->lq, buffer_key_of, b);
	if (number == LQ_NONE)
		return NULL;
	if (b->by_host)
		return (struct fq_rr_flow *)ht_longest(&b->hosts, number,
						       buffer_queue_key_of, b);
	return &b->flows[number];
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

		if (!flow || !flow->head)
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
 * With hosts, a queue's share is one of its host's.
 *
 * Return: true if so.
 */
static inline bool buffer_exceeds_share(const struct buffer *b, const struct fq_rr_flow *flow,
					u32 waiting, u32 percent)
{
	u32 buffer = fair_share_buffer(b->limit, b->memory_limit, waiting, b->memory);
	u32 number = buffer_number(b, flow), shares = b->rr.shares;

	if (!flow->head)
		return false;
	if (b->by_host) {
		buffer = ht_buffer(&b->hosts, number, buffer);
		shares = ht_shares(&b->hosts, number);
	}
	return fair_share_exceeded(flow->packets, rr_weight(&flow->rr), shares, buffer,
				   percent);
}

#endif /* _FQ_RR_BUFFER_H */
