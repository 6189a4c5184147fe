/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What part of the buffer a queue takes, and whether that is more than its own.
 *
 * The buffer is limited in packets and in memory. A queue's part is the larger of its
 * parts of both ("dominant share": Ghodsi et al., "Dominant resource fairness", NSDI
 * 2011). Whoever takes the largest part has filled the buffer, whichever limit is
 * exceeded: a flow of few large packets is not longer than one of many small ones
 * that takes all the packets there may be.
 *
 * A fair queue's fair share of the buffer is the buffer divided by the weights
 * of all backlogged queues, times its own weight. Keshav's thesis (1991, chapter
 * 6, "FQbit") sets the congestion bit of a packet whose queue exceeds a third
 * of that: senders whose backlog is long slow down, and nobody else is asked to.
 *
 * For that the two limits together are a number of packets of the present mean size:
 * the smaller of the two.
 */
#ifndef _FQ_RR_FAIR_SHARE_H
#define _FQ_RR_FAIR_SHARE_H

#include "portable.h"

/*
 * A queue no longer than this is none (packets): packet pair sends as many at
 * once, and with a small buffer or thousands of queues a share may be less than
 * a packet.
 */
#define FAIR_SHARE_FREE_PACKETS 4

/* the most that may wait: packets, and bytes of memory */
#define FAIR_SHARE_LIMIT_MAX (1U << 20)
#define FAIR_SHARE_MEMORY_MAX (1U << 30)

/* 2^20 packets times 2^30 bytes, and a packet more, in 48 bits */
#define FAIR_SHARE_KEY_SHIFT 3

/**
 * fair_share_key - what part of the buffer a queue takes, to be compared
 * @limit: packets that may wait (must be 1 to 2^20)
 * @memory_limit: memory that they may occupy (bytes, must be 8 to 2^30)
 * @packets: in the queue
 * @memory: that they occupy (bytes)
 *
 * Of two queues, the one with the larger part has no smaller key; keys are the same
 * only if the parts differ by less than 8 / (@limit * @memory_limit).
 *
 * Return: the larger of @packets / @limit and @memory / @memory_limit, times
 * @limit * @memory_limit / 8; 0 only for an empty queue.
 */
static inline u64 fair_share_key(u32 limit, u32 memory_limit, u32 packets,
				 u32 memory)
{
	/* an empty queue's key, 0, takes a queue out of the heap */
	PRECONDITION(limit && limit <= FAIR_SHARE_LIMIT_MAX &&
		     memory_limit >= 1U << FAIR_SHARE_KEY_SHIFT &&
		     memory_limit <= FAIR_SHARE_MEMORY_MAX);
	return max_t(u64, (u64)packets * memory_limit, (u64)memory * limit) >>
	       FAIR_SHARE_KEY_SHIFT;
}

/**
 * fair_share_buffer - the buffer's size in packets of the present mean size
 * @limit: packets that may wait
 * @memory_limit: memory that they may occupy (bytes)
 * @packets: packets that wait
 * @memory: memory that they occupy (bytes)
 *
 * Return: packets, rounded down.
 */
static inline u32 fair_share_buffer(u32 limit, u32 memory_limit, u32 packets,
				    u32 memory)
{
	u64 fit;

	if (!memory)
		return limit;
	fit = div_u64((u64)memory_limit * packets, memory);
	return min_t(u64, limit, fit);
}

/**
 * fair_share_exceeded - whether a queue exceeds a part of its fair share
 * @packets: in the queue
 * @weight: of the queue (must be 1 to 255)
 * @weights: of all backlogged queues together, must be at least @weight and below 2^24
 * @buffer: packets, of fair_share_buffer()
 * @percent: part of the share (must be 1 to 100)
 *
 * Exact: nothing is rounded.
 *
 * Return: whether @packets > @percent / 100 * @buffer * @weight / @weights, and
 * more than FAIR_SHARE_FREE_PACKETS.
 */
static inline bool fair_share_exceeded(u32 packets, u32 weight, u32 weights,
				       u32 buffer, u32 percent)
{
	PRECONDITION(weight && weight <= 255 && weights >= weight && weights < 1U << 24);
	PRECONDITION(percent && percent <= 100);
	return packets > FAIR_SHARE_FREE_PACKETS &&
	       (u64)packets * weights * 100 > (u64)percent * buffer * weight;
}

#endif /* _FQ_RR_FAIR_SHARE_H */
