/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which queue a flow gets: an idle one among a few.
 *
 * A flow's hash names its home among the queues, and with it a window of PLACING_WAYS queues
 * that has the home in it. A flow that finds its home occupied takes another queue of the
 * window that is idle. So two flows share a queue only where all of a window is backlogged:
 * this is a cache of so many ways in which a queue with packets is never evicted.
 *
 * Each queue has a tag: the hash of the flow that it belongs to, until an idle queue is
 * given to another flow. What holds:
 * - the tag of a queue with packets does not change;
 * - all packets of a flow that wait are in one queue, so none overtakes another;
 * - a flow that finds no idle queue is a guest in its home, without a tag. With each later
 *   packet it looks at PLACING_LOOKS more queues of its window. When one is idle it moves
 *   there, with those of its packets that wait, if no more than PLACING_MOVED_MAX packets
 *   are to be searched for them.
 *
 * Of 100 backlogged flows in 1024 queues 3 in 10^13 are guests, of 500 flows 1 in 1700, of
 * 1024 flows 1 in 10 (the binomial distribution over the windows).
 *
 * Work is bounded. A flow at home: one tag. Any other: the tags of its window, one cache
 * line; a new one at most each queue of the window once, a guest PLACING_LOOKS of them.
 *
 * A sender that knew which hashes share a window could make others guests with
 * PLACING_WAYS backlogged flows; flow_index.h sees to it that none knows. With as many
 * backlogged flows as there are queues one need not know, and then still takes no queue
 * that has packets.
 *
 * Packets that a class puts into a queue leave its tag alone. Hashed flows avoid the queue
 * while it is backlogged, unless it is theirs.
 */
#ifndef _FQ_RR_PLACING_H
#define _FQ_RR_PLACING_H

#include "flow_index.h"
#include "portable.h"

/*
 * Queues that a flow may be in. Their tags, of 4 bytes, are one cache line of 64. With 8, as
 * CAKE has, 1 in 138 of 500 flows in 1024 queues would be a guest, and 1 in 100 or more with
 * one of three keys.
 */
#define PLACING_WAYS 16

/*
 * Queues that a guest looks at with each packet. Each may be a cache line that nobody has
 * touched for long. With two all of a window has been looked at after 8 packets.
 */
#define PLACING_LOOKS 2

/*
 * Packets of a queue that are searched for those of a guest that moves, each a cache line.
 * More than four times what delay control leaves alone in a queue, which is more than CoDel lets
 * stand below 77 Mbit/s for the queue (32 packets of 1514 bytes in its target of 5 ms). A
 * longer queue is shared until it is shorter.
 */
#define PLACING_MOVED_MAX 32

/* no queue: nothing is to be moved */
#define PLACING_NONE U32_MAX

/**
 * struct placing - which queue belongs to which flow
 * @mix: by which hashes become homes
 * @queues: how many there are, never 0
 * @ways: how many of them are in a window
 * @tags: of each queue the tag of its flow, 0: nobody's yet; never fewer than PLACING_WAYS
 * @guests: of each queue, 0: none; else flows without a tag may have packets in it, and the
 *	next of these looks first at this queue of its window, counted from 1
 */
struct placing {
	struct flow_mix mix;
	u32 queues;
	u32 ways;
	u32 *tags;
	u8 *guests;
};

/**
 * typedef placing_waiting_fn - how many packets wait in a queue
 * @context: the caller's
 * @queue: number of the queue
 *
 * Return: packets, 0: it is idle.
 */
typedef u32 (*placing_waiting_fn)(const void *context, u32 queue);

/**
 * struct placing_found - where a packet goes
 * @queue: number of its queue
 * @from: queue in which packets of the same hash may wait; they are to be moved to @queue
 *	before, and placing_moved() called. PLACING_NONE: there are none.
 */
struct placing_found {
	u32 queue;
	u32 from;
};

static inline u32 placing_tags(u32 queues)
{
	return max_t(u32, queues, PLACING_WAYS);
}

/**
 * placing_room_bytes - memory that placing_init() needs
 * @queues: how many
 *
 * Return: bytes.
 */
static inline size_t placing_room_bytes(u32 queues)
{
	return (size_t)placing_tags(queues) * (sizeof(u32) + sizeof(u8));
}

/**
 * placing_init - no queue belongs to a flow
 * @p: out
 * @room: placing_room_bytes() of memory
 * @queues: how many, as placing_room_bytes() was asked; 0 counts as 1
 * @mix: random numbers, or fixed ones where hashes are secret
 */
static inline void placing_init(struct placing *p, void *room, u32 queues,
				const struct flow_mix *mix)
{
	memset(room, 0, placing_room_bytes(queues));
	*p = (struct placing) {
		.mix = *mix,
		.queues = max_t(u32, queues, 1),
		.ways = clamp_t(u32, queues, 1, PLACING_WAYS),
		.tags = room,
		.guests = (u8 *)((u32 *)room + placing_tags(queues)),
	};
}

/* 0 is nobody's, and what the kernel has for a packet that it cannot hash: one flow with 1 */
static inline u32 placing_tag(u32 hash)
{
	return hash + !hash;
}

/*
 * The first queue of a home's window. Windows begin at multiples of PLACING_WAYS, but the
 * last one ends with the last queue, and so has some in common with the one before.
 */
static inline u32 placing_window(const struct placing *p, u32 home)
{
	return min_t(u32, home - home % PLACING_WAYS, p->queues - p->ways);
}

/* an idle queue becomes a flow's */
static inline struct placing_found placing_take(struct placing *p, u32 queue,
						u32 tag, u32 from)
{
	p->tags[queue] = tag;
	p->guests[queue] = 0;
	return (struct placing_found) { queue, from };
}

/* the flow has no queue in its window: find it one, or make it a guest in its home */
static noinline __maybe_unused struct placing_found
placing_choose(struct placing *p, u32 tag, u32 home, placing_waiting_fn waiting,
	       const void *context)
{
	u32 first = placing_window(p, home), way = home - first;
	u32 at_home = waiting(context, home), from = PLACING_NONE;
	u32 looks = p->ways;

	if (!at_home)
		return placing_take(p, home, tag, PLACING_NONE);
	if (p->guests[home]) {
		/* it may be one of them */
		if (at_home > PLACING_MOVED_MAX)
			return (struct placing_found) { home, PLACING_NONE };
		looks = min_t(u32, PLACING_LOOKS, p->ways);
		way = p->guests[home] - 1;
		from = home;
	}
	for (; looks; looks--) {
		if (!waiting(context, first + way))
			return placing_take(p, first + way, tag, from);
		way = way + 1 < p->ways ? way + 1 : 0;
	}
	p->guests[home] = way + 1;
	return (struct placing_found) { home, PLACING_NONE };
}

/**
 * placing_home - the queue that a flow would rather have
 * @p: queues and flows
 * @hash: of the flow
 *
 * Return: number of the queue. If it belongs to the flow, by placing_owns(), nothing else
 * need be asked.
 */
static inline u32 placing_home(const struct placing *p, u32 hash)
{
	return flow_index(&p->mix, placing_tag(hash), p->queues);
}

/**
 * placing_owns - whether a queue belongs to a flow
 * @p: queues and flows
 * @queue: number of the queue, which must be below the number of queues
 * @hash: of the flow
 *
 * Return: true if so; its packets in any other queue are guests.
 */
static inline bool placing_owns(const struct placing *p, u32 queue, u32 hash)
{
	PRECONDITION(queue < p->queues);
	return p->tags[queue] == placing_tag(hash);
}

/**
 * placing_find - the queue for a packet, which is about to be put into it
 * @p: queues and flows
 * @hash: of the packet's flow
 * @home: its home, which must be what placing_home() says
 * @waiting: how many packets a queue has
 * @context: for @waiting
 *
 * Return: the queue, and whether packets are to be moved there first.
 */
static inline struct placing_found
placing_find(struct placing *p, u32 hash, u32 home, placing_waiting_fn waiting,
	     const void *context)
{
	u32 first = placing_window(p, home), way;
	const u32 *tags = &p->tags[first];

	PRECONDITION(home == placing_home(p, hash));
	/* sixteen comparisons, and no loop */
#pragma GCC unroll 16
	for (way = 0; way < PLACING_WAYS; way++)
		if (tags[way] == placing_tag(hash))
			return (struct placing_found) { first + way, PLACING_NONE };
	return placing_choose(p, placing_tag(hash), home, waiting, context);
}

/**
 * placing_window_of - the queues that a flow may have
 * @p: queues and flows
 * @home: its home, which must be below the number of queues
 * @first: out: the first of them
 *
 * Return: how many there are.
 */
static inline u32 placing_window_of(const struct placing *p, u32 home, u32 *first)
{
	PRECONDITION(home < p->queues);
	*first = placing_window(p, home);
	return p->ways;
}

/**
 * placing_give - a queue that has been emptied becomes a flow's
 * @p: queues and flows
 * @queue: number of the queue, which must be below the number of queues
 * @hash: of the flow
 * @home: its home, which must be below the number of queues
 *
 * Return: as placing_find().
 */
static inline struct placing_found placing_give(struct placing *p, u32 queue, u32 hash,
						u32 home)
{
	PRECONDITION(queue < p->queues && home < p->queues);
	return placing_take(p, queue, placing_tag(hash),
			    p->guests[home] ? home : PLACING_NONE);
}

/**
 * placing_moved - a guest's packets have been moved to a queue of its own
 * @p: queues and flows
 * @from: the queue they came from, which must be below the number of queues
 * @guests: whether packets of a hash that is not the queue's are left there
 */
static inline void placing_moved(struct placing *p, u32 from, bool guests)
{
	PRECONDITION(from < p->queues);
	if (!guests)
		p->guests[from] = 0;
}

#endif /* _FQ_RR_PLACING_H */
