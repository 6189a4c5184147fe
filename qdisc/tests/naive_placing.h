/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queues with the flows of their packets written out, and a script of bytes that puts
 * packets into them where placing.h says. What must hold is found by looking at every
 * packet of every queue.
 */
#ifndef _NAIVE_PLACING_H
#define _NAIVE_PLACING_H

#include <stdio.h>
#include <stdlib.h>

#include "placing.h"

#define NAIVE_QUEUES_MAX 70
#define NAIVE_PACKETS_MAX 100
/* flows of a script: some more than the queues */
#define NAIVE_FLOWS 128

/* packets of guests that have left another queue idle, which it has been since @filled */
struct naive_missed {
	u32 packets;
	u32 filled;
};

/**
 * struct naive_queue - packets in their order, and what has happened to them
 * @hash: of each packet
 * @classified: whether a class and not the hash has put it there
 * @packets: how many
 * @joined: a flow has become a guest here since the queue was somebody's anew
 * @filled: how many packets have ever been put here
 * @missed: for each other queue, what guests here have missed
 */
struct naive_queue {
	u32 hash[NAIVE_PACKETS_MAX];
	bool classified[NAIVE_PACKETS_MAX];
	u32 packets;
	bool joined;
	u32 filled;
	struct naive_missed missed[NAIVE_QUEUES_MAX];
};

struct naive_queues {
	struct naive_queue queue[NAIVE_QUEUES_MAX];
	u32 queues;
	u32 asked;
};

static inline void naive_die(const char *what)
{
	fprintf(stderr, "naive placing: %s\n", what);
	abort();
}

/* counts how often it is asked: each may be a cache line */
static inline u32 naive_waiting(const void *context, u32 queue)
{
	struct naive_queues *n = (struct naive_queues *)context;

	if (queue >= n->queues)
		naive_die("a queue that there is not");
	n->asked++;
	return n->queue[queue].packets;
}

static inline bool naive_same(u32 one, u32 other)
{
	/* what has no hash is one flow with those of hash 1 */
	return one == other || (one < 2 && other < 2);
}

/* whether a queue is one of a flow's window: sixteen from a multiple on, or the last */
static inline bool naive_in_window(const struct naive_queues *n, u32 home, u32 queue)
{
	u32 group = home / PLACING_WAYS;

	if (n->queues <= PLACING_WAYS)
		return queue < n->queues;
	if ((group + 1) * PLACING_WAYS <= n->queues)
		return queue / PLACING_WAYS == group;
	return queue < n->queues && queue + PLACING_WAYS >= n->queues;
}

static inline bool naive_has_idle(const struct naive_queues *n, u32 home)
{
	u32 i;

	for (i = 0; i < n->queues; i++)
		if (naive_in_window(n, home, i) && !n->queue[i].packets)
			return true;
	return false;
}

static inline void naive_append(struct naive_queue *queue, u32 hash, bool classified)
{
	queue->filled++;
	queue->hash[queue->packets] = hash;
	queue->classified[queue->packets++] = classified;
}

static inline void naive_remove(struct naive_queue *queue, u32 place)
{
	for (; place + 1 < queue->packets; place++) {
		queue->hash[place] = queue->hash[place + 1];
		queue->classified[place] = queue->classified[place + 1];
	}
	queue->packets--;
}

/* what the qdisc does with a guest that has found a queue */
static inline void naive_move(struct placing *p, struct naive_queues *n,
			      const struct placing_found *found, u32 hash)
{
	struct naive_queue *from = &n->queue[found->from];
	bool guests = false;
	u32 i = 0;

	while (i < from->packets) {
		if (naive_same(from->hash[i], hash) && !from->classified[i]) {
			naive_append(&n->queue[found->queue], from->hash[i], false);
			naive_remove(from, i);
			continue;
		}
		guests |= !placing_owns(p, found->from, from->hash[i++]);
	}
	placing_moved(p, found->from, guests);
	from->joined &= guests;
	memset(from->missed, 0, sizeof(from->missed));
}

/* a guest has met @packets in its home and stayed: was that right? */
static inline void naive_check_guest(struct naive_queues *n, u32 home, u32 packets)
{
	struct naive_queue *queue = &n->queue[home];
	u32 ways = min_t(u32, n->queues, PLACING_WAYS), i;

	if (!packets)
		naive_die("a guest in an idle queue");
	if (naive_has_idle(n, home) && !queue->joined)
		naive_die("a flow became a guest while a queue was idle");
	queue->joined = true;
	for (i = 0; i < n->queues && packets <= PLACING_MOVED_MAX; i++) {
		struct naive_missed *missed = &queue->missed[i];

		if (n->queue[i].packets || !naive_in_window(n, home, i))
			continue;
		if (missed->filled != n->queue[i].filled)
			missed->packets = 0;
		missed->filled = n->queue[i].filled;
		if (++missed->packets * PLACING_LOOKS >= ways + PLACING_LOOKS)
			naive_die("guests do not find the idle queue");
	}
}

/* no packet of the flow may wait where a later one would overtake it */
static inline void naive_check_order(const struct naive_queues *n, u32 hash, u32 where)
{
	u32 i, k;

	for (i = 0; i < n->queues; i++)
		for (k = 0; i != where && k < n->queue[i].packets; k++)
			if (naive_same(n->queue[i].hash[k], hash) &&
			    !n->queue[i].classified[k])
				naive_die("a flow has packets in two queues");
}

/**
 * naive_arrive - put a packet where placing.h says, and look at all that must hold
 * @p: the queues' tags
 * @n: the queues
 * @hash: of its flow
 *
 * Return: the queue.
 */
static inline u32 naive_arrive(struct placing *p, struct naive_queues *n, u32 hash)
{
	u32 home = flow_index(&p->mix, hash ? hash : 1, p->queues), i;
	u32 before[NAIVE_QUEUES_MAX];
	u32 at_home = n->queue[home].packets;
	struct placing_found found;

	memcpy(before, p->tags, n->queues * sizeof(*before));
	n->asked = 0;
	found = placing_find(p, hash, home, naive_waiting, n);
	/* its home, and all ways once */
	if (n->asked > 1 + PLACING_WAYS)
		naive_die("more queues were looked at than there are ways");
	if (found.queue >= n->queues || !naive_in_window(n, home, found.queue))
		naive_die("a queue outside of the window");
	for (i = 0; i < n->queues; i++)
		if (p->tags[i] != before[i] && (i != found.queue || n->queue[i].packets))
			naive_die("a queue with packets became another flow's");
	if (p->tags[found.queue] != before[found.queue]) {
		n->queue[found.queue].joined = false;
		memset(n->queue[found.queue].missed, 0,
		       sizeof(n->queue[found.queue].missed));
	}
	if (found.from != PLACING_NONE) {
		if (found.from != home || found.queue == home ||
		    n->queue[found.queue].packets || !n->queue[home].joined)
			naive_die("moved from where no guest was, or to where somebody is");
		if (at_home > PLACING_MOVED_MAX)
			naive_die("a long queue is searched");
		naive_move(p, n, &found, hash);
	}
	if (!placing_owns(p, found.queue, hash)) {
		if (found.queue != home)
			naive_die("a guest away from home");
		naive_check_guest(n, home, at_home);
	}
	naive_check_order(n, hash, found.queue);
	if (n->queue[found.queue].packets < NAIVE_PACKETS_MAX)
		naive_append(&n->queue[found.queue], hash, false);
	return found.queue;
}

/* a hash: the first are those that tags cannot tell apart, the others anything */
static inline u32 naive_hash(u32 flow)
{
	return flow < 2 ? flow : flow * 0x9e3779b1U;
}

/**
 * naive_compare - run a script
 * @script: the number of queues and the mix, then what happens, two bytes per step
 * @length: of the script (bytes)
 *
 * Aborts where something does not hold.
 */
static inline void naive_compare(const u8 *script, size_t length)
{
	struct flow_mix mix = { .mul = 1ULL << 32 };
	struct naive_queues *n;
	struct placing p;
	void *room;
	size_t i;

	if (length < 2)
		return;
	n = calloc(1, sizeof(*n));
	n->queues = 1 + script[0] % NAIVE_QUEUES_MAX;
	mix.mul ^= script[1] * 0xd1b54a32d192ed03ULL;
	/* of its own, so that what is beyond it is noticed */
	room = calloc(1, placing_room_bytes(n->queues));
	placing_init(&p, room, n->queues, &mix);
	for (i = 2; i + 1 < length; i += 2) {
		struct naive_queue *queue = &n->queue[script[i + 1] % n->queues];
		u32 act = script[i] / 32;

		if (act < 5) {
			naive_arrive(&p, n, naive_hash(script[i + 1] % NAIVE_FLOWS));
		} else if (act == 5) {
			if (queue->packets)
				naive_remove(queue, script[i] % 2 ? 0 : queue->packets - 1);
		} else if (act == 6) {
			queue->packets = 0;
		} else if (queue->packets < NAIVE_PACKETS_MAX) {
			/* a class, of the number that some flow has for its hash */
			naive_append(queue, naive_hash(script[i] % 32), true);
		}
	}
	free(room);
	free(n);
}

#endif /* _NAIVE_PLACING_H */
