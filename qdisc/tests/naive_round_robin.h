/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The same scheduling as round_robin.h, written so that it can be seen to be
 * right: each flow has its credit as a number, every grant visits every flow,
 * the order is a queue in an array, and who has credit is found by looking.
 * Both are driven by one script of bytes and must agree at every step.
 */
#ifndef _NAIVE_ROUND_ROBIN_H
#define _NAIVE_ROUND_ROBIN_H

#include <stdio.h>
#include <stdlib.h>

#include "round_robin.h"

#define NAIVE_FLOWS 9
#define NAIVE_QUEUE 64	/* packets per flow */

struct naive_flow {
	s64 credit;		/* bytes */
	u32 size[NAIVE_QUEUE];	/* of the packets, oldest first */
	u32 packets;
	u64 since;		/* packet number: backlogged or served last */
	bool sparse;		/* next packet goes ahead */
};

struct naive {
	struct naive_flow flow[NAIVE_FLOWS];
	int order[NAIVE_FLOWS];	/* of backlogged flows, next turn first */
	int ahead[NAIVE_FLOWS];	/* of sparse flows, next first */
	int orders;
	int aheads;
	s64 start_credit;	/* least that a flow had before a packet */
	u32 quantum;
	u32 largest;
	u64 sent;		/* packets */
	bool after_ahead;
};

static inline void naive_die(const char *what)
{
	fprintf(stderr, "naive round robin: %s\n", what);
	abort();
}

static inline void naive_remove(int *list, int *count, int flow)
{
	int i, kept = 0;

	for (i = 0; i < *count; i++)
		if (list[i] != flow)
			list[kept++] = list[i];
	*count = kept;
}

static inline void naive_arrive(struct naive *n, int flow, u32 size)
{
	struct naive_flow *f = &n->flow[flow];

	if (!f->packets) {
		f->since = n->sent;
		f->sparse = f->credit >= n->start_credit;
		if (f->sparse)
			n->ahead[n->aheads++] = flow;
		else
			n->order[n->orders++] = flow;
	}
	f->size[f->packets++] = size;
}

/* a grant for everybody, when nobody whose turn it could be has credit left */
static inline void naive_grant(struct naive *n)
{
	s64 grant = n->quantum > n->largest ? n->quantum : n->largest;
	int i;

	for (i = 0; i < n->orders; i++)
		if (n->flow[n->order[i]].credit > 0)
			return;
	if (!n->orders)
		return;
	for (i = 0; i < NAIVE_FLOWS; i++)
		n->flow[i].credit += grant;
	n->start_credit += grant;
	n->largest = 0;
}

/* number of the flow that sends; -1: none has a packet */
static inline int naive_next(struct naive *n)
{
	int i, turn = -1;

	if (!n->orders && !n->aheads)
		return -1;
	naive_grant(n);
	for (i = n->orders - 1; i >= 0; i--)
		if (n->flow[n->order[i]].credit > 0)
			turn = n->order[i];
	if (n->aheads && (!n->after_ahead || turn < 0 ||
			  n->flow[turn].since > n->flow[n->ahead[0]].since))
		return n->ahead[0];
	return turn;
}

static inline u32 naive_send(struct naive *n, int flow)
{
	struct naive_flow *f = &n->flow[flow];
	u32 size = f->size[0];

	memmove(f->size, f->size + 1, --f->packets * sizeof(*f->size));
	naive_remove(n->order, &n->orders, flow);
	naive_remove(n->ahead, &n->aheads, flow);
	n->after_ahead = f->sparse;
	if (f->sparse)
		f->credit = n->start_credit;
	f->since = ++n->sent;
	f->sparse = false;
	if (f->credit < n->start_credit)
		n->start_credit = f->credit;
	f->credit -= size;
	if (size > n->largest)
		n->largest = size;
	if (f->packets)
		n->order[n->orders++] = flow;
	return size;
}

static inline void naive_flush(struct naive *n, int flow)
{
	n->flow[flow].packets = 0;
	n->flow[flow].sparse = false;
	naive_remove(n->order, &n->orders, flow);
	naive_remove(n->ahead, &n->aheads, flow);
}

/**
 * naive_compare - run a script against both
 * @script: what happens, a byte per step (and one for a packet's size)
 * @length: of the script (bytes)
 *
 * Aborts at the first disagreement.
 */
static inline void naive_compare(const u8 *script, size_t length)
{
	static const u32 sizes[] = { 1, 60, 514, 1000, 1500, 1514, 9014, 65549 };
	struct rr_flow flow[NAIVE_FLOWS] = { 0 };
	struct naive n = { 0 };
	struct rr rr;
	size_t i;
	int k;

	if (!length)
		return;
	n.quantum = 256 + script[0] * 8;
	/* both begin with a quantum of credit */
	n.start_credit = n.quantum;
	for (k = 0; k < NAIVE_FLOWS; k++)
		n.flow[k].credit = n.quantum;
	rr_init(&rr, n.quantum);

	for (i = 1; i + 1 < length; i++) {
		int which = script[i] % NAIVE_FLOWS;
		int act = script[i] / NAIVE_FLOWS;

		if (act < 12) {
			u32 size = sizes[script[++i] % ARRAY_SIZE(sizes)];

			if (n.flow[which].packets == NAIVE_QUEUE)
				continue;
			if (!n.flow[which].packets)
				rr_backlogged(&rr, &flow[which]);
			naive_arrive(&n, which, size);
		} else if (act < 27) {
			struct rr_flow *f = rr_next(&rr);
			u32 size;

			k = naive_next(&n);
			if (k < 0 ? f != NULL : f != &flow[k])
				naive_die("another flow's turn");
			if (k < 0)
				continue;
			size = naive_send(&n, k);
			rr_sent(&rr, f, size, n.flow[k].packets);
			if ((s64)(rr.mark - f->spent) != n.flow[k].credit)
				naive_die("another credit");
		} else if (n.flow[which].packets) {
			naive_flush(&n, which);
			rr_idle(&rr, &flow[which]);
		}
		for (k = 0; k < NAIVE_FLOWS; k++) {
			const struct naive_flow *f = &n.flow[k];

			if (f->packets && rr_credit(&rr, &flow[k]) !=
			    (f->sparse ? n.start_credit : f->credit))
				naive_die("another credit is shown");
		}
		if ((int)rr.active != n.orders + n.aheads)
			naive_die("another number of flows");
	}
}

#endif /* _NAIVE_ROUND_ROBIN_H */
