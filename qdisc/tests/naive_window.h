/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets of many flows of some hosts in a buffer that hosts share, put where sch_fq_rr.c
 * puts them: by placing_find(), and a guest's by window_share(). Each packet is memory of its
 * own, so that the sanitizer sees a queue that is touched after its packets have left.
 */
#ifndef _NAIVE_WINDOW_H
#define _NAIVE_WINDOW_H

#include <stdio.h>
#include <stdlib.h>

#include "window.h"

#define NAIVE_BYTES 1000
#define NAIVE_QUANTUM 1514
/* more than any script has at once: the limits are another test's */
#define NAIVE_LIMIT 10240

/**
 * struct naive_packet - a packet of a test's
 * @link: its place; the first member
 * @hash: of its flow
 * @host: of its host
 * @stays: its queue is not chosen by its hash
 */
struct naive_packet {
	struct packet_link link;
	u32 hash;
	u32 host;
	bool stays;
};

/**
 * struct naive_window - queues, and what has become of packets
 * @b: the buffer
 * @p: whose queue is whose
 * @queues: how many
 * @waiting: packets that wait
 * @shared: guests that window_share() was asked for
 * @evicted: packets that had to leave for one
 * @refused: packets of guests that had to
 * @rooms: memory of the heap, the placing, the hosts
 */
struct naive_window {
	struct buffer b;
	struct placing p;
	u32 queues;
	u32 waiting;
	u32 shared;
	u32 evicted;
	u32 refused;
	void *rooms[3];
};

static inline void naive_die(const char *what)
{
	fprintf(stderr, "naive window: %s\n", what);
	abort();
}

static inline struct packet_size naive_size(const struct packet_link *link)
{
	(void)link;
	return (struct packet_size) { NAIVE_BYTES, NAIVE_BYTES };
}

static inline struct naive_window *naive_make(u32 queues)
{
	struct naive_window *n = calloc(1, sizeof(*n));
	/* flow_index() is the hash's upper bits */
	struct flow_mix mix = { .mul = 1ULL << 32 };

	n->queues = queues;
	n->b.flows = calloc(queues, sizeof(*n->b.flows));
	n->b.records = calloc(queues, sizeof(*n->b.records));
	n->b.limit = NAIVE_LIMIT;
	n->b.memory_limit = NAIVE_LIMIT * NAIVE_BYTES;
	n->rooms[0] = calloc(1, lq_room_bytes(queues));
	n->rooms[1] = calloc(1, placing_room_bytes(queues));
	n->rooms[2] = calloc(1, ht_room_bytes(queues));
	rr_init(&n->b.rr, NAIVE_QUANTUM);
	lq_init(&n->b.lq, n->rooms[0], queues);
	placing_init(&n->p, n->rooms[1], queues, &mix);
	ht_init(&n->b.hosts, &n->b.rr, n->rooms[2], queues, &mix);
	buffer_set_by_host(&n->b, true);
	return n;
}

static inline void naive_append(struct naive_window *n, u32 queue, struct naive_packet *packet)
{
	struct fq_rr_flow *flow = &n->b.flows[queue];

	if (!flow->head)
		buffer_backlogged(&n->b, flow, packet->host, false);
	buffer_append(&n->b, flow, &packet->link, naive_size(&packet->link), packet->hash);
}

static inline struct window_packet naive_packet_of(const struct packet_link *link)
{
	const struct naive_packet *packet = (const struct naive_packet *)link;

	return (struct window_packet) { naive_size(link), packet->hash, packet->stays };
}

static inline void naive_backlogged(void *window, struct fq_rr_flow *flow,
				    const struct packet_link *link)
{
	struct naive_window *n = window;

	buffer_backlogged(&n->b, flow, ((const struct naive_packet *)link)->host, false);
}

static inline void naive_move(struct naive_window *n, u32 from, u32 to)
{
	window_move(&n->b, &n->p, from, to, naive_packet_of, naive_backlogged, n);
}

static inline bool naive_has_idle(const struct naive_window *n, u32 home)
{
	u32 first, count = placing_window_of(&n->p, home, &first), i;

	for (i = first; i < first + count; i++)
		if (!n->b.flows[i].head)
			return true;
	return false;
}

static inline void naive_free_dropped(struct naive_window *n, struct packet_list *dropped,
				      u32 packets)
{
	struct packet_link *link = dropped->first, *next;
	u32 k;

	for (k = 0; k < packets; k++, link = next) {
		if (!link)
			naive_die("fewer were dropped than were counted");
		next = link->next;
		free(link);
	}
	if (packets && link)
		naive_die("more were dropped than were counted");
	n->waiting -= packets;
	n->evicted += packets;
}

/* a guest, as fq_rr_part_hosts(): where its packet goes, or HT_NONE */
static inline u32 naive_share(struct naive_window *n, u32 home, u32 hash, u32 host)
{
	bool has_idle = naive_has_idle(n, home);
	struct packet_list dropped = { 0 };
	struct fq_rr_outcome drops = { 0 };
	struct placing_found found;

	n->shared++;
	found = window_share(&n->b, &n->p, home, hash, host, naive_size, &drops, &dropped);
	if (has_idle && (found.queue == HT_NONE || drops.dropped))
		naive_die("dropped a packet while a queue of the window was idle");
	naive_free_dropped(n, &dropped, drops.dropped);
	if (found.from != PLACING_NONE)
		naive_move(n, found.from, found.queue);
	return found.queue;
}

/* one packet comes; false: it was refused */
static inline bool naive_come(struct naive_window *n, u32 hash, u32 host)
{
	u32 home = placing_home(&n->p, hash);
	struct naive_packet *packet;
	struct placing_found found;
	u32 queue;

	found = placing_find(&n->p, hash, home, window_waiting, n->b.flows);
	if (found.from != PLACING_NONE)
		naive_move(n, found.from, found.queue);
	queue = found.queue;
	if (n->b.flows[queue].head && !placing_owns(&n->p, queue, hash))
		queue = naive_share(n, home, hash, host);
	if (queue == HT_NONE) {
		n->refused++;
		return false;
	}
	packet = calloc(1, sizeof(*packet));
	packet->hash = hash;
	packet->host = host;
	naive_append(n, queue, packet);
	n->waiting++;
	return true;
}

/* the queue whose turn it is sends a packet; its number, or HT_NONE */
static inline u32 naive_send(struct naive_window *n)
{
	struct fq_rr_flow *flow = buffer_next(&n->b, true);
	struct packet_link *link;

	if (!flow) {
		if (n->waiting)
			naive_die("packets wait, and none is sent");
		return HT_NONE;
	}
	link = buffer_take_head(flow);
	buffer_taken(&n->b, flow, naive_size(link));
	buffer_sent(&n->b, flow, naive_size(link), true);
	free(link);
	n->waiting--;
	return buffer_number(&n->b, flow);
}

static inline void naive_free(struct naive_window *n)
{
	u32 packets = 0, i;

	for (i = 0; i < n->queues; i++)
		packets += n->b.flows[i].packets;
	if (packets != n->waiting)
		naive_die("packets are lost");
	while (naive_send(n) != HT_NONE)
		;
	for (i = 0; i < 3; i++)
		free(n->rooms[i]);
	free(n->b.flows);
	free(n->b.records);
	free(n);
}

/* three bytes are a packet of one of 4096 flows of eight hosts, or some turns */
static inline void naive_run(struct naive_window *n, const u8 *data, size_t size)
{
	for (; size >= 3; data += 3, size -= 3) {
		u32 flow = (data[1] | data[2] << 8) & 0xfff, turns = data[1] % 32;

		if (data[0] & 0x80 || n->waiting >= NAIVE_LIMIT / 2) {
			while (turns-- && n->waiting)
				naive_send(n);
			continue;
		}
		naive_come(n, flow * 0x9e3779b1U, 1 + (data[0] & 7));
	}
}

#endif /* _NAIVE_WINDOW_H */
