/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which queue is the longest, in bytes, without looking at all of them.
 *
 * The answer is needed only while the buffer overflows. So below the limit a
 * change of backlog is one addition and nothing is kept in order. The first
 * overflow collects the backlogged queues into a heap (linear in their number,
 * once); when as many packets have been queued without an overflow as the
 * heap has members, it is given up. Hence the collecting costs constant time
 * per packet, however often a sender makes the buffer overflow and recover.
 *
 * While there is a heap, a member's key is an upper bound of its queue: a
 * queue that grows beyond its key rises at once, one that shrinks keeps its
 * key until that makes it the longest; only then is the key corrected and the
 * member sinks. So dequeuing never touches the heap, and the work of finding
 * the longest is paid for by the growth before it: O(log n) per packet.
 *
 * Each node has four children: a path to the root is half as long as in a
 * binary heap, and four keys are one cache line.
 */
#ifndef _FQ_RR_LONGEST_QUEUE_H
#define _FQ_RR_LONGEST_QUEUE_H

#include "portable.h"

/* children per node; 4 members of 16 bytes are a cache line of 64 */
#define LQ_FANOUT 4

/**
 * struct lq_queue - one queue's length, all zero at first
 * @bytes: its length (bytes)
 * @slot: where it is in the heap; valid only if that member points back, so
 *	that a heap can be given up without visiting its members
 */
struct lq_queue {
	u32 bytes;
	u32 slot;
};

/**
 * struct lq_member - a queue in the heap
 * @queue: the queue
 * @key: no less than its length (bytes)
 */
struct lq_member {
	struct lq_queue *queue;
	u32 key;
};

/**
 * struct lq - the heap
 * @heap: room for every queue there is
 * @count: members
 * @calm: packets that may still be queued without an overflow before the heap
 *	is given up; 0: there is no heap
 */
struct lq {
	struct lq_member *heap;
	u32 count;
	u32 calm;
};

/**
 * lq_init - start without a heap
 * @lq: to initialise
 * @heap: room for as many members as there are queues
 */
static inline void lq_init(struct lq *lq, struct lq_member *heap)
{
	lq->heap = heap;
	lq->count = 0;
	lq->calm = 0;
}

static inline bool lq_is_member(const struct lq *lq, const struct lq_queue *q)
{
	return q->slot < lq->count && lq->heap[q->slot].queue == q;
}

static inline void lq_put(struct lq *lq, u32 slot, struct lq_member m)
{
	lq->heap[slot] = m;
	m.queue->slot = slot;
}

/* place @m at @slot or above */
static inline void lq_rise(struct lq *lq, u32 slot, struct lq_member m)
{
	while (slot) {
		u32 parent = (slot - 1) / LQ_FANOUT;

		if (lq->heap[parent].key >= m.key)
			break;
		lq_put(lq, slot, lq->heap[parent]);
		slot = parent;
	}
	lq_put(lq, slot, m);
}

/* place @m at @slot or below */
static inline void lq_sink(struct lq *lq, u32 slot, struct lq_member m)
{
	for (;;) {
		u32 child = slot * LQ_FANOUT + 1;
		u32 end = min_t(u32, child + LQ_FANOUT, lq->count);
		u32 best = child;

		if (child >= lq->count)
			break;
		while (++child < end)
			if (lq->heap[child].key > lq->heap[best].key)
				best = child;
		if (lq->heap[best].key <= m.key)
			break;
		lq_put(lq, slot, lq->heap[best]);
		slot = best;
	}
	lq_put(lq, slot, m);
}

static inline void lq_append(struct lq *lq, struct lq_queue *q)
{
	struct lq_member m = { .queue = q, .key = q->bytes };

	lq_put(lq, lq->count++, m);
}

/**
 * lq_collecting - whether the caller must collect before asking
 * @lq: the heap
 *
 * If so, it calls lq_collect() for every queue that is not empty, and then
 * lq_collected().
 */
static inline bool lq_collecting(const struct lq *lq)
{
	return !lq->calm;
}

/**
 * lq_collect - add one queue to a heap under construction
 * @lq: the heap
 * @q: a queue that is not empty and was not added before
 */
static inline void lq_collect(struct lq *lq, struct lq_queue *q)
{
	lq_append(lq, q);
}

/**
 * lq_collected - all backlogged queues have been added
 * @lq: the heap
 */
static inline void lq_collected(struct lq *lq)
{
	u32 slot;

	lq->calm = lq->count + 1;
	if (lq->count < 2)
		return;
	slot = (lq->count - 2) / LQ_FANOUT + 1;
	while (slot--)
		lq_sink(lq, slot, lq->heap[slot]);
}

/**
 * lq_grow - a queue has grown
 * @lq: the heap
 * @q: the queue
 * @len: by how much (bytes); a queue's length must stay below 4 GiB
 */
static inline void lq_grow(struct lq *lq, struct lq_queue *q, u32 len)
{
	struct lq_member m = { .queue = q };

	q->bytes += len;
	if (likely(!lq->calm))
		return;
	if (!--lq->calm) {
		lq->count = 0;
		return;
	}
	m.key = q->bytes;
	if (!lq_is_member(lq, q))
		lq_rise(lq, lq->count++, m);
	else if (m.key > lq->heap[q->slot].key)
		lq_rise(lq, q->slot, m);
}

/**
 * lq_shrink - a queue has shrunk
 * @q: the queue
 * @len: by how much (bytes, at most its length)
 */
static inline void lq_shrink(struct lq_queue *q, u32 len)
{
	q->bytes -= len;
}

/**
 * lq_longest - the longest queue
 * @lq: the heap, for which lq_collecting() is false
 *
 * Counts as an overflow: the heap is kept for as many more packets as it now
 * has members.
 *
 * Return: a queue with no fewer bytes than any other, NULL if all are empty.
 */
static inline struct lq_queue *lq_longest(struct lq *lq)
{
	while (lq->count) {
		struct lq_member m = lq->heap[0];

		if (m.queue->bytes == m.key && m.key)
			break;
		if (m.queue->bytes) {
			m.key = m.queue->bytes;
		} else {
			/* empty: leaves, and the last member takes its place */
			m = lq->heap[--lq->count];
			if (!lq->count)
				break;
		}
		lq_sink(lq, 0, m);
	}
	lq->calm = lq->count + 1;
	return lq->count ? lq->heap[0].queue : NULL;
}

#endif /* _FQ_RR_LONGEST_QUEUE_H */
