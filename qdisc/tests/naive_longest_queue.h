/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The longest queue found by looking at all of them, and a script of bytes
 * that drives this and longest_queue.h side by side.
 */
#ifndef _NAIVE_LONGEST_QUEUE_H
#define _NAIVE_LONGEST_QUEUE_H

#include <stdio.h>
#include <stdlib.h>

#include "longest_queue.h"

#define NAIVE_QUEUES 37

static inline void naive_die(const char *what)
{
	fprintf(stderr, "naive longest queue: %s\n", what);
	abort();
}

/* keys, added up by hand */
static inline u64 naive_longest(const u64 *key, u32 count)
{
	u64 longest = 0;
	u32 i;

	for (i = 0; i < count; i++)
		longest = max_t(u64, longest, key[i]);
	return longest;
}

static inline u64 naive_key(const void *queues, u32 queue)
{
	return ((const u64 *)queues)[queue];
}

/* what the qdisc does to find the longest queue */
static inline u32 naive_ask(struct lq *lq, const u64 *key, u32 count)
{
	u32 i;

	if (lq_collecting(lq)) {
		for (i = 0; i < count; i++)
			if (key[i])
				lq_collect(lq, i, key[i]);
		/* again, and what is empty, and what there is not */
		for (i = 0; i < 2 * count; i++)
			lq_collect(lq, i, i < count ? key[i] : U64_MAX);
		lq_collected(lq);
	}
	return lq_longest(lq, naive_key, key);
}

static inline void naive_grow(struct lq *lq, u64 *key, u32 queue, u64 more)
{
	/* no further than u64 */
	key[queue] += min_t(u64, more, U64_MAX - key[queue]);
	lq_grow(lq, queue, key[queue]);
	/* there is none of this number */
	lq_grow(lq, lq->queues + queue, U64_MAX);
}

/* every member at least its queue, no child above its parent */
static inline void naive_check_heap(const struct lq *lq, const u64 *key)
{
	u32 i;

	if (!lq->calm && lq->count)
		naive_die("members of no heap");
	for (i = 0; i < lq->count; i++) {
		u64 member = lq->heap[i];
		u32 queue = lq_queue(member);

		if (lq->slots[queue] != i)
			naive_die("a member does not know its slot");
		if (member < lq_member(queue, key[queue]))
			naive_die("a member below its queue's key");
		if (i && lq->heap[(i - 1) / LQ_FANOUT] < member)
			naive_die("a child above its parent");
	}
}

/**
 * naive_compare - run a script against both
 * @script: what happens, a byte per step (and one for a length)
 * @length: of the script (bytes)
 *
 * Aborts at the first disagreement.
 */
static inline void naive_compare(const u8 *script, size_t length)
{
	u64 key[NAIVE_QUEUES] = { 0 };
	struct lq lq;
	void *room;
	size_t i;

	/* of its own, so that what is beyond it is noticed */
	room = calloc(1, lq_room_bytes(NAIVE_QUEUES));
	lq_init(&lq, room, NAIVE_QUEUES);
	for (i = 0; i + 1 < length; i++) {
		u32 index = script[i] % NAIVE_QUEUES;
		int act = script[i] / NAIVE_QUEUES;

		if (act < 3) {
			/* of a size that 32 bits do not hold, now and then */
			u64 more = 1 + script[++i] * 60;

			naive_grow(&lq, key, index, more << act * 24);
		} else if (act < 5) {
			u64 less = 1 + script[++i] * 60;

			key[index] -= min_t(u64, key[index], less << 14);
		} else if (act == 5) {
			u64 longest = naive_longest(key, NAIVE_QUEUES);
			u32 found = naive_ask(&lq, key, NAIVE_QUEUES);

			if (found == LQ_NONE ? longest != 0 :
					       min_t(u64, key[found], LQ_KEY_MAX) !=
				       min_t(u64, longest, LQ_KEY_MAX))
				naive_die("another queue is longer");
			if (found != LQ_NONE && script[i + 1] & 1)
				key[found] = 0;
		} else {
			key[index] = 0;
		}
		naive_check_heap(&lq, key);
	}
	free(room);
}

#endif /* _NAIVE_LONGEST_QUEUE_H */
