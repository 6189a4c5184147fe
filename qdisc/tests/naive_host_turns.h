/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The same two levels as host_turns.h, made of naive schedulers (naive_round_robin.h): one
 * for hosts, in which a host's packets are all that wait in its queues, and one for each
 * host. Who is in which host is kept in a table. Both are driven by one script of bytes and
 * must agree at every step.
 */
#ifndef _NAIVE_HOST_TURNS_H
#define _NAIVE_HOST_TURNS_H

#include "host_turns.h"
#include "naive_round_robin.h"

#define TWO_QUEUES NAIVE_FLOWS
/* addresses: more than there are hosts */
#define TWO_HASHES 12
#define TWO_NOBODY (-1)

struct two_level {
	struct naive hosts;
	struct naive in[TWO_QUEUES];	/* of each host its queues, numbered as all are */
	int host_of[TWO_QUEUES];
	u32 hash_of[TWO_QUEUES];	/* of each host, as of its last packets */
	bool alone[TWO_QUEUES];
	u32 weight[TWO_QUEUES];
	u32 memory[TWO_QUEUES][NAIVE_QUEUE];	/* of each queue's packets, oldest first */
};

/* what is compared */
struct two_pair {
	struct host_turns ht;
	struct rr rr;
	struct rr_flow flow[TWO_QUEUES];
	struct two_level n;
};

static inline void two_naive_init(struct naive *n, u32 quantum)
{
	int k;

	memset(n, 0, sizeof(*n));
	n->quantum = quantum;
	n->start_credit = quantum;
	for (k = 0; k < NAIVE_FLOWS; k++) {
		n->flow[k].credit = quantum;
		n->flow[k].weight = 1;
	}
}

static inline u32 two_packets(const struct two_level *n, int host)
{
	return n->hosts.flow[host].packets;
}

static inline struct naive_flow *two_queue(struct two_level *n, int queue)
{
	return &n->in[n->host_of[queue]].flow[queue];
}

static inline u32 two_waiting(struct two_level *n, int queue)
{
	return n->host_of[queue] < 0 ? 0 : two_queue(n, queue)->packets;
}

/* with no more queues than a window has places, no two hashes ever share a host */
static inline void two_check_host(const struct two_level *n, int host, u32 hash)
{
	int k;

	if (two_packets(n, host) && n->hash_of[host] != hash)
		naive_die("two hashes in one host");
	for (k = 0; k < TWO_QUEUES; k++)
		if (k != host && two_packets(n, k) && n->hash_of[k] == hash)
			naive_die("a hash in two hosts");
}

static inline void two_weigh(struct two_level *n, int host, u32 weight)
{
	if (n->hosts.flow[host].weight != weight)
		naive_set_weight(&n->hosts, host, weight);
}

/* a queue that was idle is in a host again: which one is not what is compared */
static inline void two_enter(struct two_level *n, int queue, int host, u32 hash, bool alone)
{
	struct naive *in = &n->in[host];

	two_check_host(n, host, hash);
	n->hash_of[host] = hash;
	if (!two_packets(n, host)) {
		if (in->quantum != n->hosts.quantum)
			naive_restart(in, n->hosts.quantum);
		n->alone[host] = alone;
		two_weigh(n, host, alone ? n->weight[queue] : 1);
	}
	if (n->host_of[queue] != host) {
		n->host_of[queue] = host;
		in->flow[queue].weight = n->weight[queue];
		in->flow[queue].credit = in->start_credit * n->weight[queue];
		in->flow[queue].charges = 0;
	}
}

static inline void two_arrive(struct two_pair *p, int queue, u32 hash, bool alone, u32 size)
{
	struct two_level *n = &p->n;
	int host;

	if (two_waiting(n, queue)) {
		host = n->host_of[queue];
		if (two_packets(n, host) == NAIVE_QUEUE)
			return;
		/* whatever it is said to be, it stays where it is */
		if (ht_backlogged(&p->ht, &p->flow[queue], queue, hash, alone))
			naive_die("a backlogged queue goes ahead");
	} else {
		bool sparse = ht_backlogged(&p->ht, &p->flow[queue], queue, hash, alone);

		host = p->ht.host_of[queue];
		if (host < 0 || host >= TWO_QUEUES)
			naive_die("no such host");
		two_enter(n, queue, host, hash, alone);
		if (two_packets(n, host) == NAIVE_QUEUE) {
			ht_idle(&p->ht, &p->flow[queue], queue);
			return;
		}
		naive_arrive(&n->in[host], queue, size);
		naive_arrive(&n->hosts, host, size);
		if (sparse != two_queue(n, queue)->sparse)
			naive_die("another queue goes ahead");
		n->memory[queue][0] = size + 7;
		ht_count(&p->ht, queue, 1, size + 7);
		return;
	}
	n->memory[queue][two_queue(n, queue)->packets] = size + 7;
	ht_count(&p->ht, queue, 1, size + 7);
	naive_arrive(&n->in[host], queue, size);
	naive_arrive(&n->hosts, host, size);
}

static inline void two_serve(struct two_pair *p)
{
	struct two_level *n = &p->n;
	struct rr_flow *f = ht_next(&p->ht);
	int host = naive_next(&n->hosts), queue = TWO_NOBODY;
	u32 memory;

	if (host >= 0)
		queue = naive_next(&n->in[host]);
	if (queue < 0 ? f != NULL : f != &p->flow[queue])
		naive_die("another queue's turn");
	if (ht_next(&p->ht) != f)
		naive_die("asked again, another answer");
	if (!f)
		return;
	memory = n->memory[queue][0];
	memmove(n->memory[queue], n->memory[queue] + 1,
		(NAIVE_QUEUE - 1) * sizeof(memory));
	/* the host sends what its queue sends */
	n->hosts.flow[host].size[0] = n->in[host].flow[queue].size[0];
	naive_send(&n->in[host], queue);
	ht_sent(&p->ht, f, queue, naive_send(&n->hosts, host), memory, two_waiting(n, queue));
}

static inline void two_flush(struct two_pair *p, int queue)
{
	struct two_level *n = &p->n;
	u32 packets = two_waiting(n, queue), memory = 0, i;
	int host = n->host_of[queue];

	ht_idle(&p->ht, &p->flow[queue], queue);
	ht_idle(&p->ht, &p->flow[queue], queue);
	if (!packets)
		return;
	for (i = 0; i < packets; i++)
		memory += n->memory[queue][i];
	ht_count(&p->ht, queue, -packets, -memory);
	naive_flush(&n->in[host], queue);
	n->hosts.flow[host].packets -= packets;
	if (!two_packets(n, host))
		naive_flush(&n->hosts, host);
}

static inline void two_charge(struct two_pair *p, int queue, u32 size)
{
	int host = p->n.host_of[queue];

	ht_charge(&p->ht, &p->flow[queue], queue, size);
	if (host < 0)
		return;
	naive_charge(&p->n.in[host], queue, size);
	naive_charge(&p->n.hosts, host, size);
}

static inline void two_set_weight(struct two_pair *p, int queue, u32 weight)
{
	struct two_level *n = &p->n;
	int host = n->host_of[queue];

	ht_set_weight(&p->ht, &p->flow[queue], queue, weight);
	n->weight[queue] = min_t(u32, weight, 255) ?: 1;
	if (host < 0)
		return;
	naive_set_weight(&n->in[host], queue, n->weight[queue]);
	if (n->alone[host] && two_waiting(n, queue))
		two_weigh(n, host, n->weight[queue]);
}

static inline void two_restart(struct two_pair *p, u32 quantum)
{
	int host;

	ht_restart(&p->ht, quantum);
	quantum = quantum ?: 1;
	for (host = 0; host < TWO_QUEUES; host++)
		if (two_packets(&p->n, host))
			naive_restart(&p->n.in[host], quantum);
	naive_restart(&p->n.hosts, quantum);
}

static inline void two_set_at_once(struct two_pair *p, bool at_once)
{
	int host;

	ht_set_at_once(&p->ht, at_once);
	for (host = 0; host < TWO_QUEUES; host++)
		p->n.in[host].at_once = at_once;
	p->n.hosts.at_once = at_once;
}

static inline void two_leave(struct two_pair *p, int queue)
{
	if (two_waiting(&p->n, queue))
		return;
	ht_leave(&p->ht, &p->flow[queue], queue);
	p->n.host_of[queue] = TWO_NOBODY;
}

static inline u64 two_key_of(const struct rr_flow *f, const void *context)
{
	const struct two_pair *p = context;

	return p->n.in[p->n.host_of[f - p->flow]].flow[f - p->flow].packets;
}

/* with no more queues than are looked at, the longest of a host is the longest */
static inline void two_check_longest(struct two_pair *p, int host)
{
	const struct rr_flow *f = ht_longest(&p->ht, host, two_key_of, p);
	u32 most = 0;
	int k;

	for (k = 0; k < TWO_QUEUES; k++)
		if (p->n.host_of[k] == host)
			most = max_t(u32, most, two_waiting(&p->n, k));
	if ((f ? two_key_of(f, p) : 0) != most)
		naive_die("a longer queue is another");
}

static inline void two_check(struct two_pair *p)
{
	struct two_level *n = &p->n;
	int k, active = 0, hosts = 0;

	for (k = 0; k < TWO_QUEUES; k++) {
		u32 memory = 0, packets = 0;
		int q;

		for (q = 0; q < TWO_QUEUES; q++) {
			u32 i;

			if (n->host_of[q] != k)
				continue;
			active += !!two_waiting(n, q);
			packets += two_waiting(n, q);
			for (i = 0; i < two_waiting(n, q); i++)
				memory += n->memory[q][i];
		}
		hosts += !!packets;
		if (packets != two_packets(n, k) || p->ht.hosts[k].packets != packets ||
		    p->ht.hosts[k].memory != memory)
			naive_die("another backlog of a host");
		if (packets && p->ht.hosts[k].queues.shares != naive_shares(&n->in[k]))
			naive_die("another number of shares in a host");
		two_check_longest(p, k);
		if (two_waiting(n, k) && !two_queue(n, k)->sparse &&
		    ht_credit(&p->ht, &p->flow[k], k) != two_queue(n, k)->credit)
			naive_die("another credit is shown");
	}
	if ((int)p->ht.active != active || (int)p->rr.active != hosts)
		naive_die("another number of queues or hosts");
	if (p->rr.shares != naive_shares(&n->hosts))
		naive_die("another number of shares");
	if (!ht_any(&p->ht) != !active)
		naive_die("none is found, or one that is idle");
}

/**
 * two_compare - run a script against both
 * @script: what happens: a byte for each step, one for its queue and one for more
 * @length: of the script (bytes)
 *
 * Aborts at the first disagreement.
 */
static inline void two_compare(const u8 *script, size_t length)
{
	static const u32 sizes[] = { 1, 60, 514, 1000, 1500, 1514, 9014, 65549, RR_COST_MAX };
	const struct flow_mix mix = { .mul = 0x9e3779b97f4a7c15ULL, .add = 1 };
	struct two_pair *p = calloc(1, sizeof(*p));
	void *room = calloc(1, ht_room_bytes(TWO_QUEUES));
	size_t i;
	int k;

	if (!p || !room || !length)
		goto out;
	rr_init(&p->rr, naive_quantum(script[0]));
	ht_init(&p->ht, &p->rr, room, TWO_QUEUES, &mix);
	two_naive_init(&p->n.hosts, naive_quantum(script[0]) ?: 1);
	for (k = 0; k < TWO_QUEUES; k++) {
		two_naive_init(&p->n.in[k], naive_quantum(script[0]) ?: 1);
		p->n.host_of[k] = TWO_NOBODY;
		p->n.weight[k] = 1;
	}
	for (i = 1; i + 2 < length; i += 3) {
		int act = script[i] % 32, queue = script[i + 1] % TWO_QUEUES;
		u8 more = script[i + 2];
		u32 size = sizes[more % ARRAY_SIZE(sizes)];

		if (act < 12) {
			/* a host of its own has a hash of its own */
			bool alone = script[i] & 32 && more & 128;
			u32 hash = alone ? 1000 + queue : script[i + 1] / TWO_QUEUES % TWO_HASHES;

			two_arrive(p, queue, hash * 0x01000193, alone, size);
		} else if (act < 24) {
			for (k = 0; k <= more % 8; k++)
				two_serve(p);
		} else if (act < 26) {
			two_flush(p, queue);
		} else if (act < 28) {
			two_charge(p, queue, size);
		} else if (act < 30) {
			two_set_weight(p, queue, more == 254 ? U32_MAX : more);
		} else if (act < 31) {
			two_leave(p, queue);
		} else if (more & 1) {
			two_restart(p, naive_quantum(script[i + 1]));
			two_set_at_once(p, more & 2);
		}
		two_check(p);
	}
out:
	free(room);
	free(p);
}

#endif /* _NAIVE_HOST_TURNS_H */
