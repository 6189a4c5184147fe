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

/* lengths, added up by hand */
static inline u32 naive_longest(const u32 *bytes, u32 count)
{
	u32 longest = 0;
	u32 i;

	for (i = 0; i < count; i++)
		longest = max_t(u32, longest, bytes[i]);
	return longest;
}

static inline u32 naive_bytes(const void *queues, u32 queue)
{
	return ((const u32 *)queues)[queue];
}

/* what the qdisc does to find the longest queue */
static inline u32 naive_ask(struct lq *lq, const u32 *bytes, u32 count)
{
	u32 i;

	if (lq_collecting(lq)) {
		for (i = 0; i < count; i++)
			if (bytes[i])
				lq_collect(lq, i, bytes[i]);
		lq_collected(lq);
	}
	return lq_longest(lq, naive_bytes, bytes);
}

static inline void naive_grow(struct lq *lq, u32 *bytes, u32 queue, u32 len)
{
	bytes[queue] += len;
	lq_grow(lq, queue, bytes[queue]);
}

/* every key at least its queue's length, no child above its parent */
static inline void naive_check_heap(const struct lq *lq, const u32 *bytes)
{
	u32 i;

	if (!lq->calm && lq->count)
		naive_die("members of no heap");
	for (i = 0; i < lq->count; i++) {
		const struct lq_member *m = &lq->heap[i];

		if (lq->slots[m->queue] != i)
			naive_die("a member does not know its slot");
		if (m->key < bytes[m->queue])
			naive_die("a key below its queue's length");
		if (i && lq->heap[(i - 1) / LQ_FANOUT].key < m->key)
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
	u32 bytes[NAIVE_QUEUES] = { 0 };
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
			naive_grow(&lq, bytes, index, 1 + script[++i] * 60);
		} else if (act < 5) {
			u32 len = 1 + script[++i] * 60;

			bytes[index] -= min_t(u32, bytes[index], len);
		} else if (act == 5) {
			u32 longest = naive_longest(bytes, NAIVE_QUEUES);
			u32 found = naive_ask(&lq, bytes, NAIVE_QUEUES);

			if (found == LQ_NONE ? longest != 0 :
					       bytes[found] != longest)
				naive_die("another queue is longer");
			if (found != LQ_NONE && script[i + 1] & 1)
				bytes[found] = 0;
		} else {
			bytes[index] = 0;
		}
		naive_check_heap(&lq, bytes);
	}
	free(room);
}

#endif /* _NAIVE_LONGEST_QUEUE_H */
