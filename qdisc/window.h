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
