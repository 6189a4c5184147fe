/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A server: packets wait for their turn and take the time that the link needs for them.
 * Whose turn it is: first in, first out; fq_rr's round robin (qdisc/round_robin.h), by
 * bytes or by packets; or deficit round robin with new queues first, as fq_codel's
 * (RFC 8290). Each may have CoDel in each of its queues. A policer has no queue: what
 * comes faster than its rate is dropped.
 */
#ifndef _SIMULATOR_SERVER_H
#define _SIMULATOR_SERVER_H

#include "round_robin.h"

#include "codel.h"
#include "histogram.h"
#include "packet.h"

#define SERVER_BUCKETS 64
/* fq_codel drops no more than so many packets of the longest queue at once */
#define SERVER_BATCH_PACKETS 64

enum server_turns {
	SERVER_FIFO,
	SERVER_RR,
	SERVER_RR_PACKETS,
	SERVER_DRR,
	SERVER_POLICER,
};

/**
 * enum server_overflow - what is dropped when the buffer is full
 * @SERVER_DROP_TAIL: the packet that arrives
 * @SERVER_DROP_FLUSH: all of the longest queue but that packet, as fq_rr does
 * @SERVER_DROP_BATCH: half of the longest queue, from its head, as fq_codel does
 */
enum server_overflow {
	SERVER_DROP_TAIL,
	SERVER_DROP_FLUSH,
	SERVER_DROP_BATCH,
};

/**
 * struct server_config - what a server is
 * @rate_bps: of the link, or of the policer
 * @delay_ns: from it to the next server or the receiver
 * @limit_packets: that may wait
 * @limit_bytes: that may wait, on the wire
 * @quantum_bytes: of SERVER_RR and SERVER_DRR
 * @burst_bytes: that a policer lets pass at once
 * @codel: CoDel's parameters
 * @turns: enum server_turns
 * @overflow: enum server_overflow
 * @has_codel: whether CoDel drops
 */
struct server_config {
	u64 rate_bps;
	u64 delay_ns;
	u64 limit_packets;
	u64 limit_bytes;
	u64 quantum_bytes;
	u64 burst_bytes;
	struct codel_params codel;
	u64 turns;
	u64 overflow;
	u64 has_codel;
};

/**
 * struct server_queue - packets of one bucket
 * @turn: place in the round of qdisc/round_robin.h
 * @listed: place in the rounds of SERVER_DRR; next of it NULL: in none
 * @head: packets, the oldest
 * @tail: the newest
 * @packets: how many
 * @bytes: of them
 * @deficit: bytes that may be sent before others' turn
 * @codel: state of CoDel
 */
struct server_queue {
	struct rr_flow turn;
	struct rr_link listed;
	struct packet *head, *tail;
	u32 packets;
	u64 bytes;
	s64 deficit;
	struct codel codel;
};

/**
 * struct server - a link and what waits for it
 * @config: what it is
 * @clock: the time
 * @queues: by bucket
 * @rr: rounds of SERVER_RR and SERVER_RR_PACKETS
 * @fresh: queues of SERVER_DRR that have just become backlogged
 * @old: the others of them
 * @packets: that wait
 * @bytes: that wait
 * @serving: on the link
 * @done: when @serving has left
 * @out: to the next server or the receiver
 * @forward: where packets go that have been served; takes them over
 * @dropped: likewise, those that have been dropped
 * @credit_ns: a policer's, as time at its rate
 * @credited_ns: when that was
 * @sojourn_us: how long packets waited
 * @longest_packets: that ever waited
 * @served_bytes: so far
 * @drops: packets so far
 */
struct server {
	struct server_config config;
	struct clock *clock;
	struct server_queue queues[SERVER_BUCKETS];
	struct rr rr;
	struct rr_link fresh, old;
	u64 packets, bytes;
	struct packet *serving;
	struct timer done;
	struct line out;
	void (*forward)(struct packet *p);
	void (*dropped)(struct packet *p);
	u64 credit_ns, credited_ns;
	struct histogram sojourn_us;
	u64 longest_packets;
	u64 served_bytes;
	u64 drops;
};

static inline bool server_is_rr(const struct server *s)
{
	return s->config.turns == SERVER_RR || s->config.turns == SERVER_RR_PACKETS;
}

static inline u64 server_time_ns(const struct server *s, u64 bytes)
{
	return bytes * 8 * NSEC_PER_SEC / s->config.rate_bps;
}

static inline void server_drop(struct server *s, struct packet *p)
{
	s->drops++;
	s->dropped(p);
}

/* ---- queues ---- */

struct server_place {
	struct server *server;
	struct server_queue *queue;
};

static inline struct packet *server_take_head(void *of)
{
	struct server_place *at = of;
	struct server_queue *q = at->queue;
	struct packet *p = q->head;

	if (!p)
		return NULL;
	q->head = p->next;
	q->packets--;
	q->bytes -= p->bytes;
	at->server->packets--;
	at->server->bytes -= p->bytes;
	return p;
}

static inline void server_drop_head(void *of, struct packet *p)
{
	struct server_place *at = of;

	server_drop(at->server, p);
}

static inline u64 server_queue_bytes(void *of)
{
	struct server_place *at = of;

	return at->queue->bytes;
}

static inline struct packet *server_dequeue_from(struct server *s, struct server_queue *q)
{
	struct server_place at = { .server = s, .queue = q };
	struct codel_queue queue = {
		.take = server_take_head, .drop = server_drop_head,
		.bytes = server_queue_bytes, .of = &at,
	};

	if (!s->config.has_codel)
		return server_take_head(&at);
	return codel_dequeue(&q->codel, &s->config.codel, &queue, s->clock->now_ns);
}

static inline void server_enqueue(struct server *s, struct server_queue *q, struct packet *p)
{
	p->next = NULL;
	if (q->head)
		q->tail->next = p;
	else
		q->head = p;
	q->tail = p;
	q->packets++;
	q->bytes += p->bytes;
	s->packets++;
	s->bytes += p->bytes;
	s->longest_packets = max_t(u64, s->longest_packets, s->packets);
	if (server_is_rr(s) && !rr_is_backlogged(&q->turn))
		rr_backlogged(&s->rr, &q->turn);
	if (s->config.turns == SERVER_DRR && !q->listed.next) {
		rr_link_add_tail(&s->fresh, &q->listed);
		q->deficit = (s64)s->config.quantum_bytes;
	}
}

/* ---- turns ---- */

static inline struct packet *server_next_rr(struct server *s)
{
	bool strict = s->config.turns == SERVER_RR_PACKETS;
	struct rr_flow *turn;

	while ((turn = rr_next(&s->rr))) {
		struct server_queue *q = container_of(turn, struct server_queue, turn);
		struct packet *p = server_dequeue_from(s, q);

		if (p) {
			rr_sent(&s->rr, turn, rr_cost(strict, p->bytes), q->head);
			return p;
		}
		rr_idle(&s->rr, turn);
	}
	return NULL;
}

static inline struct packet *server_next_drr(struct server *s)
{
	for (;;) {
		struct rr_link *from = rr_link_empty(&s->fresh) ? &s->old : &s->fresh;
		struct server_queue *q;
		struct packet *p = NULL;

		if (rr_link_empty(from))
			return NULL;
		q = container_of(from->next, struct server_queue, listed);
		if (q->deficit > 0)
			p = server_dequeue_from(s, q);
		if (p) {
			q->deficit -= p->bytes;
			return p;
		}
		rr_link_del(&q->listed);
		if (q->deficit <= 0) {
			q->deficit += (s64)s->config.quantum_bytes;
			rr_link_add_tail(&s->old, &q->listed);
		} else if (from == &s->fresh && !rr_link_empty(&s->old)) {
			/* or a queue that empties often would always be first */
			rr_link_add_tail(&s->old, &q->listed);
		} else {
			q->listed.next = NULL;
		}
	}
}

static inline struct packet *server_next(struct server *s)
{
	if (server_is_rr(s))
		return server_next_rr(s);
	if (s->config.turns == SERVER_DRR)
		return server_next_drr(s);
	return server_dequeue_from(s, &s->queues[0]);
}

static inline void server_start(struct server *s)
{
	struct packet *p = server_next(s);
	u64 waited_ns;

	s->serving = p;
	if (!p)
		return;
	waited_ns = s->clock->now_ns - p->arrived_ns;
	p->waited_ns += waited_ns;
	histogram_add(&s->sojourn_us, (u32)(waited_ns / NSEC_PER_USEC));
	clock_set(s->clock, &s->done, s->clock->now_ns + server_time_ns(s, p->bytes));
}

static inline void server_send(struct server *s, struct packet *p)
{
	s->served_bytes += p->bytes;
	if (s->config.delay_ns || s->out.head)
		line_put(&s->out, p, s->clock->now_ns + s->config.delay_ns);
	else
		s->forward(p);
}

static inline void server_done(void *owner)
{
	struct server *s = owner;
	struct packet *p = s->serving;

	server_start(s);
	server_send(s, p);
}

/* ---- a full buffer ---- */

static inline bool server_is_over(const struct server *s)
{
	return s->packets > s->config.limit_packets || s->bytes > s->config.limit_bytes;
}

static inline struct server_queue *server_longest(struct server *s)
{
	struct server_queue *longest = &s->queues[0];
	u32 i;

	for (i = 1; i < SERVER_BUCKETS; i++)
		if (s->queues[i].bytes >= longest->bytes)
			longest = &s->queues[i];
	return longest;
}

/* Drop from the head so many bytes, or so many packets, and never @keep */
static inline void server_drop_from(struct server *s, struct server_queue *q,
				    const struct packet *keep, u64 bytes, u32 packets)
{
	struct server_place at = { .server = s, .queue = q };
	u64 dropped = 0;

	while (q->head && q->head != keep && dropped < bytes && packets--) {
		dropped += q->head->bytes;
		server_drop(s, server_take_head(&at));
	}
	if (server_is_rr(s) && !q->head)
		rr_idle(&s->rr, &q->turn);
}

/* After a packet has been queued that may be one too many */
static inline void server_make_room(struct server *s, const struct packet *arrived)
{
	while (server_is_over(s)) {
		struct server_queue *q = server_longest(s);

		/* alone it is too large as well, or its queue is all there is */
		if (q->head == arrived)
			server_drop_from(s, q, NULL, U64_MAX, 1);
		else if (s->config.overflow == SERVER_DROP_FLUSH)
			server_drop_from(s, q, arrived, U64_MAX, U32_MAX);
		else
			server_drop_from(s, q, NULL, q->bytes / 2, SERVER_BATCH_PACKETS);
	}
}

/* ---- packets in ---- */

static inline void server_police(struct server *s, struct packet *p)
{
	u64 now_ns = s->clock->now_ns, takes_ns = server_time_ns(s, p->bytes);

	s->credit_ns = min_t(u64, s->credit_ns + now_ns - s->credited_ns,
			     server_time_ns(s, s->config.burst_bytes));
	s->credited_ns = now_ns;
	if (takes_ns > s->credit_ns) {
		server_drop(s, p);
		return;
	}
	s->credit_ns -= takes_ns;
	server_send(s, p);
}

static inline void server_arrive(struct server *s, struct packet *p)
{
	bool one_queue = s->config.turns == SERVER_FIFO;

	p->arrived_ns = s->clock->now_ns;
	if (s->config.turns == SERVER_POLICER) {
		server_police(s, p);
		return;
	}
	if (s->config.overflow == SERVER_DROP_TAIL && s->serving &&
	    (s->packets + 1 > s->config.limit_packets ||
	     s->bytes + p->bytes > s->config.limit_bytes)) {
		server_drop(s, p);
		return;
	}
	server_enqueue(s, &s->queues[one_queue ? 0 : p->bucket % SERVER_BUCKETS], p);
	if (s->serving && server_is_over(s))
		server_make_room(s, p);
	if (!s->serving)
		server_start(s);
}

/* A changed rate holds from the next packet on */
static inline void server_init(struct server *s, struct clock *clock,
			       const struct server_config *config,
			       void (*forward)(struct packet *p),
			       void (*dropped)(struct packet *p))
{
	memset(s, 0, sizeof(*s));
	s->config = *config;
	s->clock = clock;
	s->forward = forward;
	s->dropped = dropped;
	timer_init(&s->done, server_done, s);
	line_init(&s->out, clock, forward);
	rr_init(&s->rr, rr_quantum(config->turns == SERVER_RR_PACKETS,
				   (u32)config->quantum_bytes));
	s->fresh.next = &s->fresh;
	s->fresh.prev = &s->fresh;
	s->old.next = &s->old;
	s->old.prev = &s->old;
	s->credited_ns = clock->now_ns;
	s->credit_ns = server_time_ns(s, config->burst_bytes);
}

#endif /* _SIMULATOR_SERVER_H */
