/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A packet, data or ACK; the pool that packets come from; and a line, in which packets
 * travel for a time and none overtakes another.
 */
#ifndef _SIMULATOR_PACKET_H
#define _SIMULATOR_PACKET_H

#include "clock.h"

/* Ethernet, IP, TCP with time stamps; an ACK is no more than that */
#define PACKET_HEADER_BYTES 66
/* SACK blocks that fit beside time stamps */
#define PACKET_SACKS 3
/* packets that are allocated together */
#define PACKET_CHUNK 1024

struct flow;

/* segments from the first on, without the last */
struct span {
	u32 first;
	u32 end;
};

/**
 * struct packet - data, or an ACK
 * @next: in a queue, a line or the pool
 * @flow: whose it is
 * @due_ns: when it leaves its line
 * @arrived_ns: when it came to the server where it waits
 * @segment: number of the flow's segment; of an ACK, the first that is missing
 * @bytes: on the wire
 * @waited_ns: at the servers passed so far
 * @stamp_ms: TCP time stamp, or its echo
 * @window: segments that the receiver has room for
 * @sacks: what an ACK says of later segments, the newest first
 * @sacked: how many of @sacks there are
 * @duplicates: segments that arrived twice, told by an ACK
 * @hop: the server it is at, or is under way to
 * @bucket: the queue that it waits in, where there are several
 * @ect: may be marked
 * @ce: has been marked
 * @cwr: the sender has heard of a mark
 * @ece: of an ACK: there was a mark
 */
struct packet {
	struct packet *next;
	struct flow *flow;
	u64 due_ns;
	u64 arrived_ns;
	u32 segment;
	u32 bytes;
	u64 waited_ns;
	u32 stamp_ms;
	u32 stamped_ms;
	u32 window;
	struct span sacks[PACKET_SACKS];
	u8 sacked;
	u8 duplicates;
	u8 hop;
	u8 bucket;
	bool ect, ce, cwr, ece;
};

/**
 * struct packet_pool - where packets come from and go to
 * @idle: packets in no use
 * @chunks: what was allocated, each PACKET_CHUNK packets; the first of each links them
 * @in_use: packets, ACKs included
 */
struct packet_pool {
	struct packet *idle;
	struct packet *chunks;
	u64 in_use;
};

static inline struct packet *packet_take(struct packet_pool *pool)
{
	struct packet *p = pool->idle;
	u32 i;

	if (!p) {
		struct packet *chunk = calloc(PACKET_CHUNK, sizeof(*chunk));

		if (!chunk)
			abort();
		chunk[0].next = pool->chunks;
		pool->chunks = chunk;
		for (i = 1; i < PACKET_CHUNK; i++) {
			chunk[i].next = pool->idle;
			pool->idle = &chunk[i];
		}
		p = pool->idle;
	}
	pool->idle = p->next;
	pool->in_use++;
	*p = (struct packet) {};
	return p;
}

static inline void packet_free(struct packet_pool *pool, struct packet *p)
{
	p->next = pool->idle;
	pool->idle = p;
	pool->in_use--;
}

static inline void packet_pool_free(struct packet_pool *pool)
{
	while (pool->chunks) {
		struct packet *chunk = pool->chunks;

		pool->chunks = chunk->next;
		free(chunk);
	}
	*pool = (struct packet_pool) {};
}

/**
 * struct line - packets under way, the first to arrive in front
 * @clock: the time
 * @timer: when the first arrives
 * @head: the first
 * @tail: the last
 * @arrive: where to
 */
struct line {
	struct clock *clock;
	struct timer timer;
	struct packet *head, *tail;
	void (*arrive)(struct packet *p);
};

static inline void line_fire(void *owner)
{
	struct line *l = owner;

	while (l->head && l->head->due_ns <= l->clock->now_ns) {
		struct packet *p = l->head;

		l->head = p->next;
		l->arrive(p);
	}
	if (l->head)
		clock_set(l->clock, &l->timer, l->head->due_ns);
}

static inline void line_init(struct line *l, struct clock *clock, void (*arrive)(struct packet *p))
{
	*l = (struct line) { .clock = clock, .arrive = arrive };
	timer_init(&l->timer, line_fire, l);
}

/* One that would overtake arrives with the one in front of it */
static inline void line_put(struct line *l, struct packet *p, u64 due_ns)
{
	p->next = NULL;
	if (!l->head) {
		l->head = p;
		p->due_ns = due_ns;
		clock_set(l->clock, &l->timer, due_ns);
	} else {
		p->due_ns = max_t(u64, due_ns, l->tail->due_ns);
		l->tail->next = p;
	}
	l->tail = p;
}

#endif /* _SIMULATOR_PACKET_H */
