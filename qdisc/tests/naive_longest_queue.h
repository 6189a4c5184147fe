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

/* what the qdisc does to find the longest queue */
static inline struct lq_queue *naive_ask(struct lq *lq, struct lq_queue *q,
					 u32 count)
{
	u32 i;

	if (lq_collecting(lq)) {
		for (i = 0; i < count; i++)
			if (q[i].bytes)
				lq_collect(lq, &q[i]);
		lq_collected(lq);
	}
	return lq_longest(lq);
}

/* every key at least its queue's length, no child above its parent */
static inline void naive_check_heap(const struct lq *lq)
{
	u32 i;

	if (!lq->calm && lq->count)
		naive_die("members of no heap");
	for (i = 0; i < lq->count; i++) {
		const struct lq_member *m = &lq->heap[i];

		if (m->queue->slot != i)
			naive_die("a member does not know its slot");
		if (m->key < m->queue->bytes)
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
	struct lq_queue q[NAIVE_QUEUES] = { 0 };
	struct lq_member heap[NAIVE_QUEUES];
	u32 bytes[NAIVE_QUEUES] = { 0 };
	struct lq lq;
	size_t i;

	lq_init(&lq, heap);
	for (i = 0; i + 1 < length; i++) {
		u32 index = script[i] % NAIVE_QUEUES, len = bytes[index];
		int act = script[i] / NAIVE_QUEUES;

		if (act < 3) {
			len = 1 + script[++i] * 60;
			lq_grow(&lq, &q[index], len);
			bytes[index] += len;
		} else if (act < 5) {
			len = min_t(u32, len, 1 + script[i + 1] * 60);
			i++;
			lq_shrink(&q[index], len);
			bytes[index] -= len;
		} else if (act == 5) {
			u32 longest = naive_longest(bytes, NAIVE_QUEUES);
			struct lq_queue *found = naive_ask(&lq, q,
							   NAIVE_QUEUES);

			if (!found ? longest != 0 : bytes[found - q] != longest)
				naive_die("another queue is longer");
			if (found && script[i + 1] & 1) {
				lq_shrink(found, longest);
				bytes[found - q] = 0;
			}
		} else {
			lq_shrink(&q[index], len);
			bytes[index] = 0;
		}
		if (q[index].bytes != bytes[index])
			naive_die("a queue is not as long as what is in it");
		naive_check_heap(&lq);
	}
}

#endif /* _NAIVE_LONGEST_QUEUE_H */
