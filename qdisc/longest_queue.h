/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which queue is the longest, without looking at all of them.
 *
 * What "long" means is the caller's: a queue has a key, 0 if it is empty, and the
 * longest is the one with the largest key (fair_share.h has fq_rr's).
 *
 * The answer is needed only while the buffer overflows. So below the limit a
 * change of backlog costs nothing and nothing is kept in order. The first
 * overflow collects the backlogged queues into a heap (linear in their number,
 * once); when as many packets have been queued without an overflow as the
 * heap has members, it is given up. Hence the collecting costs constant time
 * per packet, however often a sender makes the buffer overflow and recover.
 *
 * While there is a heap, a member's key is an upper bound of its queue's: a
 * queue that grows beyond it rises at once, one that shrinks keeps it until that
 * makes it the longest; only then is the key corrected and the member sinks. So
 * dequeuing never touches the heap, and the work of finding the longest is paid
 * for by the growth before it: O(log n) per packet.
 *
 * Each node has eight children, whose keys are one cache line, so that a path from
 * 65,536 queues to the root is six lines long. Queues are numbers, and a queue's place is in a
 * table of its own: what the heap touches of each queue is 12 bytes close to the others',
 * not the queue. Key and number share 64 bits, and one comparison orders both: of two equal
 * keys the higher number is the longer queue.
 */
#ifndef _FQ_RR_LONGEST_QUEUE_H
#define _FQ_RR_LONGEST_QUEUE_H

#include "portable.h"

/* children per node; 8 members of 8 bytes are a cache line of 64 */
#define LQ_FANOUT 8
/* members left out before the root, so that children begin with a cache line */
#define LQ_PAD (LQ_FANOUT - 1)
/* no queue */
#define LQ_NONE U32_MAX
/* of a member: its queue's number, below its key */
#define LQ_QUEUE_BITS 16
#define LQ_QUEUES_MAX (1U << LQ_QUEUE_BITS)
/* larger keys count as this one */
#define LQ_KEY_MAX (U64_MAX >> LQ_QUEUE_BITS)

/**
 * struct lq - the heap
 * @heap: room for every queue there is; a member is its key, an upper bound of its
 *	queue's, and its queue's number, in LQ_QUEUE_BITS
 * @slots: where in it each queue is; valid only if that member has the queue's number, so
 *	that a heap can be given up without visiting its members
 * @queues: how many there are
 * @count: members
 * @calm: packets that may still be queued without an overflow before the heap
 *	is given up; 0: there is no heap
 */
struct lq {
	u64 *heap;
	u32 *slots;
	u32 queues;
	u32 count;
	u32 calm;
};

/**
 * lq_room_bytes - what lq_init() wants
 * @queues: how many there are; more than LQ_QUEUES_MAX count as so many
 *
 * Return: bytes.
 */
static inline size_t lq_room_bytes(u32 queues)
{
	queues = min_t(u32, queues, LQ_QUEUES_MAX);
	return (LQ_PAD + (size_t)queues) * sizeof(u64) + queues * sizeof(u32);
}

/**
 * lq_init - start without a heap
 * @lq: to initialise
 * @room: lq_room_bytes() for as many queues as there are, zero or of an earlier heap,
 *	best at the beginning of a cache line
 * @queues: how many there are, as lq_room_bytes() was asked
 */
static inline void lq_init(struct lq *lq, void *room, u32 queues)
{
	lq->queues = min_t(u32, queues, LQ_QUEUES_MAX);
	lq->heap = (u64 *)room + LQ_PAD;
	lq->slots = (u32 *)(lq->heap + lq->queues);
	lq->count = 0;
	lq->calm = 0;
}

/**
 * lq_reset - forget the heap: keys have changed otherwise than by lq_grow()
 * @lq: the heap
 */
static inline void lq_reset(struct lq *lq)
{
	lq->count = 0;
	lq->calm = 0;
}

static inline u64 lq_member(u32 queue, u64 key)
{
	return min_t(u64, key, LQ_KEY_MAX) << LQ_QUEUE_BITS | queue;
}

static inline u32 lq_queue(u64 member)
{
	return member & (LQ_QUEUES_MAX - 1);
}

static inline bool lq_is_member(const struct lq *lq, u32 queue)
{
	u32 slot = lq->slots[queue];

	return slot < lq->count && lq_queue(lq->heap[slot]) == queue;
}

static inline void lq_set_slot(struct lq *lq, u32 slot, u64 member)
{
	lq->heap[slot] = member;
	lq->slots[lq_queue(member)] = slot;
}

/* place @member at @slot or above */
static inline void lq_rise(struct lq *lq, u32 slot, u64 member)
{
	while (slot) {
		u32 parent = (slot - 1) / LQ_FANOUT;

		if (lq->heap[parent] >= member)
			break;
		lq_set_slot(lq, slot, lq->heap[parent]);
		slot = parent;
	}
	lq_set_slot(lq, slot, member);
}

/* place @member at @slot or below */
static inline void lq_sink(struct lq *lq, u32 slot, u64 member)
{
	for (;;) {
		u32 child = slot * LQ_FANOUT + 1;
		u32 end = min_t(u32, child + LQ_FANOUT, lq->count);
		u32 best = child;

		if (child >= lq->count)
			break;
		while (++child < end)
			if (lq->heap[child] > lq->heap[best])
				best = child;
		if (lq->heap[best] <= member)
			break;
		lq_set_slot(lq, slot, lq->heap[best]);
		slot = best;
	}
	lq_set_slot(lq, slot, member);
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
 * @queue: its number; one that was added before, or that no queue has, changes nothing
 * @key: its key; 0 (an empty queue) is added in vain
 */
static inline void lq_collect(struct lq *lq, u32 queue, u64 key)
{
	if (queue >= lq->queues || lq_is_member(lq, queue))
		return;
	lq_set_slot(lq, lq->count++, lq_member(queue, key));
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
 * lq_grow - a queue has grown; of one that has shrunk the heap need not know
 * @lq: the heap
 * @queue: its number; one that no queue has changes nothing
 * @key: its key now
 */
static inline void lq_grow(struct lq *lq, u32 queue, u64 key)
{
	u64 member = lq_member(queue, key);

	if (likely(!lq->calm) || unlikely(queue >= lq->queues))
		return;
	if (!--lq->calm) {
		lq->count = 0;
		return;
	}
	if (!lq_is_member(lq, queue))
		lq_rise(lq, lq->count++, member);
	else if (member > lq->heap[lq->slots[queue]])
		lq_rise(lq, lq->slots[queue], member);
}

/**
 * lq_longest - the longest queue
 * @lq: the heap, which must not be lq_collecting()
 * @key_of: tells a queue's key, which must be at most what lq_grow() was told last
 * @queues: what @key_of is to look at
 *
 * Counts as an overflow: the heap is kept for as many more packets as it now
 * has members.
 *
 * Return: number of a queue whose key no other exceeds, LQ_NONE if all are empty.
 */
static __always_inline u32 lq_longest(struct lq *lq,
				      u64 (*key_of)(const void *queues,
						    u32 queue),
				      const void *queues)
{
	PRECONDITION(!lq_collecting(lq));
	while (lq->count) {
		u32 queue = lq_queue(lq->heap[0]);
		u64 key = key_of(queues, queue);
		u64 member = lq_member(queue, key);

		PRECONDITION(member <= lq->heap[0]);
		if (key && member == lq->heap[0])
			break;
		if (!key) {
			/* empty: leaves, and the last member takes its place */
			member = lq->heap[--lq->count];
			if (!lq->count)
				break;
		}
		lq_sink(lq, 0, member);
	}
	lq->calm = lq->count + 1;
	return lq->count ? lq_queue(lq->heap[0]) : LQ_NONE;
}

#endif /* _FQ_RR_LONGEST_QUEUE_H */
