/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A window of queues, shared out to hosts: placing.h says which queues a flow may have,
 * host_turns.h whose turn it is to have one, buffer.h drops what has to go.
 */
#ifndef _FQ_RR_WINDOW_H
#define _FQ_RR_WINDOW_H

#include "buffer.h"
#include "placing.h"

/**
 * window_waiting - how many packets wait in a queue
 * @flows: queues of a buffer
 * @number: of the queue
 *
 * Return: packets, 0: it is idle.
 */
static inline u32 window_waiting(const void *flows, u32 number)
{
	return ((const struct fq_rr_flow *)flows)[number].packets;
}

/**
 * window_own - the queue that a flow has in its window
 * @p: whose queue is whose
 * @home: queue in that window, for placing_window_of()
 * @hash: of the flow
 *
 * Return: number of the queue; HT_NONE: it has none.
 */
static inline u32 window_own(const struct placing *p, u32 home, u32 hash)
{
	u32 first, count = placing_window_of(p, home, &first), queue;

	for (queue = first; queue < first + count; queue++)
		if (placing_owns(p, queue, hash))
			return queue;
	return HT_NONE;
}

/**
 * struct window_packet - what is asked of a packet that waits
 * @size: what it takes
 * @hash: of its flow
 * @stays: whether its queue was not chosen by its hash, and so is not its flow's
 */
struct window_packet {
	struct packet_size size;
	u32 hash;
	bool stays;
};

/**
 * window_move - a queue has become a guest's: its packets leave the queue they were guests in
 * @b: buffer
 * @p: whose queue is whose
 * @from: number of the queue they leave
 * @to: number of the guest's queue, which must be another one and empty
 * @packet_of: tells of a packet
 * @backlogged: makes the guest's queue take turns, as buffer_backlogged(); is told of the
 *	first packet that comes there
 * @context: for @backlogged
 *
 * Packets of each flow stay in order. &buffer.memory is as it was.
 */
static __always_inline void
window_move(struct buffer *b, struct placing *p, u32 from, u32 to,
	    struct window_packet (*packet_of)(const struct packet_link *packet),
	    void (*backlogged)(void *context, struct fq_rr_flow *flow,
			       const struct packet_link *packet),
	    void *context)
{
	struct packet_link *packet, *next;
	bool guests = false;

	PRECONDITION(from != to && from < p->queues && to < p->queues && !b->flows[to].head);
	packet = buffer_detach(b, &b->flows[from]);
	for (; packet; packet = next) {
		struct window_packet is = packet_of(packet);
		u32 queue = from;

		next = packet->next;
		if (!is.stays && placing_owns(p, to, is.hash))
			queue = to;
		else
			guests |= !placing_owns(p, from, is.hash);
		if (queue == to && !b->flows[to].head)
			backlogged(context, &b->flows[to], packet);
		buffer_append(b, &b->flows[queue], packet, is.size, is.hash);
	}
	if (!b->flows[from].head)
		buffer_idle(b, &b->flows[from]);
	placing_moved(p, from, guests);
}

/**
 * window_share - a queue for a flow that placing_find() has made a guest, where hosts share
 * @b: buffer by hosts
 * @p: whose flow has which of its queues
 * @home: queue that the flow would share, for placing_window_of()
 * @hash: of the flow
 * @host: hash of its host
 * @size_of: tells what a packet takes
 * @outcome: counts what is dropped
 * @dropped: packets that are, put before those that are there
 *
 * See ht_share(). A queue that the flow can only leave with a long search it goes on sharing.
 *
 * Return: as placing_find(); of a flow that is refused the queue is HT_NONE.
 */
static __always_inline struct placing_found
window_share(struct buffer *b, struct placing *p, u32 home, u32 hash, u32 host,
	     struct packet_size (*size_of)(const struct packet_link *packet),
	     struct fq_rr_outcome *outcome, struct packet_list *dropped)
{
	u32 first, count = placing_window_of(p, home, &first);
	u32 queue = ht_share(&b->hosts, first, count, home, host, window_waiting, b->flows);

	if (queue == HT_NONE || queue == home)
		return (struct placing_found) { queue, PLACING_NONE };
	if (b->flows[home].packets > PLACING_MOVED_MAX)
		return (struct placing_found) { home, PLACING_NONE };
	buffer_evict(b, &b->flows[queue], size_of, outcome, dropped);
	return placing_give(p, queue, hash, home);
}

#endif /* _FQ_RR_WINDOW_H */
