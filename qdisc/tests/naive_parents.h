/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A tree of qdiscs, one child each, with fq_rr at its bottom: parents.h decides what is
 * reported, the parents do what those of Linux do, and whatever a parent believes is
 * compared with what there is.
 *
 * A level is one qdisc. Level 0 is fq_rr, with three queues of packet lengths. The others
 * hold counts, one class with its place on a list of active classes, and perhaps a packet
 * that was peeked. Behaviours are taken from net/sched of Linux 6.1, 6.6 and 7.1.
 */
#ifndef _NAIVE_PARENTS_H
#define _NAIVE_PARENTS_H

#include <stdio.h>
#include <stdlib.h>

#include "parents.h"

#define NAIVE_LEVELS 5	/* fq_rr and at most four parents */
#define NAIVE_FLOWS 3
#define NAIVE_QUEUE 64	/* packets of a queue */
#define NAIVE_SEGMENTS 8
#define NAIVE_HEADER 54	/* bytes that each segment has anew */

/**
 * enum naive_kind - behaviours of parents
 * @NAIVE_PASS: keeps no list; a peek is passed on (prio, red)
 * @NAIVE_TBF: keeps no list; peeks at its child before it dequeues
 * @NAIVE_DRR: activates by its own list; peeks, then dequeues (drr, ets)
 * @NAIVE_DRR_FIRST: the same, but activates when the child was empty before (drr and ets
 *	before "make cl_is_active")
 * @NAIVE_HTB: activates by its own list; dequeues without a peek
 * @NAIVE_HFSC: activates when the child was empty and it is not on the list; then peeks,
 *	after it has counted the packet
 * @NAIVE_HFSC_EARLY: the same, but peeks before it counts, as older kernels do
 * @NAIVE_QFQ: peeks while it enqueues to an active child
 * @NAIVE_NETEM: counts and keeps packets, and enqueues to its child when it dequeues. Only
 *	as the root: parents that peek at a netem miscount what its child refuses, whatever
 *	child that is
 * @NAIVE_KINDS: how many there are
 */
enum naive_kind {
	NAIVE_PASS,
	NAIVE_TBF,
	NAIVE_DRR,
	NAIVE_DRR_FIRST,
	NAIVE_HTB,
	NAIVE_HFSC,
	NAIVE_HFSC_EARLY,
	NAIVE_QFQ,
	NAIVE_NETEM,
	NAIVE_KINDS,
};

/* a packet is its length; it is made of so many segments for fq_rr to split */
struct naive_packet {
	u32 len;
	u32 segments;
	u32 flow;
};

struct naive_level {
	enum naive_kind kind;
	u32 qlen;		/* as the qdisc counts */
	u32 backlog;
	u32 drops;
	bool active;		/* its child is on its list */
	bool has_peeked;
	struct naive_packet peeked;
	/* of netem: packets that have not been given to its child */
	struct naive_packet kept[NAIVE_QUEUE];
	u32 keeps;
};

struct naive_tree {
	struct naive_level level[NAIVE_LEVELS];
	int top;		/* number of the root */
	u32 queue[NAIVE_FLOWS][NAIVE_QUEUE];	/* of fq_rr: lengths, oldest first */
	u32 packets[NAIVE_FLOWS];
	const u8 *script;	/* decides what a policy drops */
	size_t length;
	void (*complain)(const char *what);
};

static inline void naive_die(const char *what)
{
	fprintf(stderr, "parents: %s\n", what);
	abort();
}

static inline u32 naive_take(struct naive_tree *t)
{
	if (!t->length)
		return 0;
	t->length--;
	return *t->script++;
}

static inline bool naive_has_list(const struct naive_level *l)
{
	return l->kind != NAIVE_PASS && l->kind != NAIVE_TBF &&
	       l->kind != NAIVE_NETEM;
}

/* the kernel's walk from fq_rr to the root */
static inline void naive_reduce_backlog(struct naive_tree *t, s32 packets, s32 bytes)
{
	int i;

	for (i = 1; i <= t->top; i++) {
		struct naive_level *l = &t->level[i];

		if (!t->level[i - 1].qlen && naive_has_list(l)) {
			if (!l->active)
				t->complain("notified of an idle child");
			l->active = false;
		}
		if ((s32)(l->qlen - packets) < 0)
			t->complain("fewer than no packets");
		l->qlen -= packets;
		l->backlog -= bytes;
		if (packets > 0)
			l->drops += packets;
	}
}

/* ---- fq_rr ---- */

static inline u32 naive_remove(struct naive_tree *t, u32 flow, u32 place)
{
	u32 len = t->queue[flow][place];

	memmove(&t->queue[flow][place], &t->queue[flow][place + 1],
		(--t->packets[flow] - place) * sizeof(u32));
	t->level[0].qlen--;
	t->level[0].backlog -= len;
	return len;
}

static inline void naive_drop(struct naive_tree *t, u32 flow, u32 place, u32 own,
			      struct fq_rr_outcome *outcome)
{
	outcome->dropped++;
	outcome->dropped_bytes += naive_remove(t, flow, place);
	if (flow == own)
		outcome->own_dropped = true;
}

/* drop whatever the script wants: nothing, an oldest, a newest, a whole queue, or all */
static inline void naive_policy(struct naive_tree *t, u32 own, bool keep_newest,
				struct fq_rr_outcome *outcome)
{
	u32 how = naive_take(t);
	u32 flow = how / 8 % NAIVE_FLOWS;
	u32 keep = keep_newest && flow == own;

	if (!t->packets[flow])
		return;
	switch (how % 8) {
	case 0:
		naive_drop(t, flow, 0, own, outcome);
		break;
	case 1:
		naive_drop(t, flow, t->packets[flow] - 1, own, outcome);
		break;
	case 2:
		/* all but the packet that has just come */
		while (t->packets[flow] > keep)
			naive_drop(t, flow, 0, own, outcome);
		break;
	case 4:
		/* all there is: the qdisc is empty while it enqueues */
		for (flow = 0; flow < NAIVE_FLOWS; flow++)
			while (t->packets[flow])
				naive_drop(t, flow, 0, own, outcome);
		break;
	default:
		break;
	}
}

static inline enum parents_verdict naive_fq_rr_enqueue(struct naive_tree *t,
						       struct naive_packet p)
{
	struct naive_level *l = &t->level[0];
	struct fq_rr_outcome outcome = { 0 };
	u32 before = l->qlen, drops = t->level[1].drops;
	u32 segment = p.len, i;
	struct parents_report r;

	/* the length of a super-packet has not the headers of all segments in it */
	if (p.segments > 1)
		segment = p.len / p.segments + NAIVE_HEADER;
	for (i = 0; i < p.segments; i++) {
		if (naive_take(t) % 8 == 7 || t->packets[p.flow] == NAIVE_QUEUE) {
			outcome.own_dropped = true;
			continue;
		}
		t->queue[p.flow][t->packets[p.flow]++] = segment;
		l->qlen++;
		l->backlog += segment;
		outcome.queued++;
		outcome.queued_bytes += segment;
		naive_policy(t, p.flow, true, &outcome);
	}
	r = parents_report(&outcome, p.len, l->qlen, t->top > 0);
	if (r.set_length) {
		if (!t->top)
			t->complain("a length is set, and there are no parents");
		if (before || l->qlen != 1)
			t->complain("more than one packet could be given a length");
		l->backlog += p.len - t->queue[p.flow][0];
		t->queue[p.flow][0] = p.len;
	}
	if (r.split.packets || r.split.bytes)
		naive_reduce_backlog(t, r.split.packets, r.split.bytes);
	if (r.drops.packets || r.drops.bytes)
		naive_reduce_backlog(t, r.drops.packets, r.drops.bytes);

	/* a parent counts one itself after any verdict but success */
	drops = t->level[1].drops - drops + (r.verdict != PARENTS_SUCCESS);
	if (t->top && l->qlen > 1 && outcome.queued &&
	    drops != max_t(u32, outcome.dropped, r.verdict != PARENTS_SUCCESS))
		t->complain("another number of drops");
	/* what a local sender may rely on */
	if (!outcome.queued && r.verdict != PARENTS_DROP)
		t->complain("nothing is queued, and it is not called dropped");
	if (outcome.queued && l->qlen && r.verdict == PARENTS_DROP)
		t->complain("something is queued, and it is called dropped");
	if (outcome.own_dropped && before && r.verdict == PARENTS_SUCCESS)
		t->complain("a flow that loses packets is not slowed down");
	if (!outcome.own_dropped && l->qlen > 1 && r.verdict != PARENTS_SUCCESS)
		t->complain("a flow that loses nothing is slowed down");
	if (!outcome.own_dropped && outcome.queued && !t->top &&
	    r.verdict != PARENTS_SUCCESS)
		t->complain("a flow without parents is slowed down for them");
	return r.verdict;
}

static inline bool naive_fq_rr_dequeue(struct naive_tree *t, struct naive_packet *p)
{
	u32 first = naive_take(t), i;

	for (i = 0; i < NAIVE_FLOWS; i++) {
		u32 flow = (first + i) % NAIVE_FLOWS;

		if (!t->packets[flow])
			continue;
		p->len = naive_remove(t, flow, 0);
		p->segments = 1;
		p->flow = flow;
		return true;
	}
	return false;
}

/* ---- parents ---- */

static inline bool naive_dequeue(struct naive_tree *t, int i, struct naive_packet *p);
static inline enum parents_verdict naive_enqueue(struct naive_tree *t, int i,
						 struct naive_packet p);

/* qdisc_peek_dequeued(), or the peek that prio and red pass on */
static inline bool naive_peek(struct naive_tree *t, int i, struct naive_packet *p)
{
	struct naive_level *l = &t->level[i];

	if (i && l->kind == NAIVE_PASS)
		return naive_peek(t, i - 1, p);
	if (!l->has_peeked && naive_dequeue(t, i, &l->peeked)) {
		l->has_peeked = true;
		l->qlen++;
		l->backlog += l->peeked.len;
	}
	*p = l->peeked;
	return l->has_peeked;
}

/* qdisc_dequeue_peeked() */
static inline bool naive_dequeue_peeked(struct naive_tree *t, int i,
					struct naive_packet *p)
{
	struct naive_level *l = &t->level[i];

	if (!l->has_peeked)
		return naive_dequeue(t, i, p);
	*p = l->peeked;
	l->has_peeked = false;
	l->qlen--;
	l->backlog -= p->len;
	return true;
}

static inline void naive_netem_feed(struct naive_tree *t, int i)
{
	struct naive_level *l = &t->level[i];
	u32 k;

	for (k = 0; k < l->keeps; k++) {
		struct naive_packet p = l->kept[k];

		if (naive_enqueue(t, i - 1, p) == PARENTS_SUCCESS)
			continue;
		l->qlen--;
		l->backlog -= p.len;
	}
	l->keeps = 0;
}

static inline bool naive_dequeue(struct naive_tree *t, int i, struct naive_packet *p)
{
	struct naive_level *l = &t->level[i];
	bool got;

	if (!i)
		return naive_fq_rr_dequeue(t, p);
	if (l->kind == NAIVE_NETEM)
		naive_netem_feed(t, i);
	if (naive_has_list(l) && !l->active)
		return false;
	switch (l->kind) {
	case NAIVE_TBF:
	case NAIVE_DRR:
	case NAIVE_DRR_FIRST:
	case NAIVE_QFQ:
		got = naive_peek(t, i - 1, p) && naive_dequeue_peeked(t, i - 1, p);
		break;
	case NAIVE_HTB:
	case NAIVE_NETEM:
		got = naive_dequeue(t, i - 1, p);
		break;
	default:
		got = naive_dequeue_peeked(t, i - 1, p);
		break;
	}
	if (!got)
		return false;
	l->qlen--;
	l->backlog -= p->len;
	if (!t->level[i - 1].qlen)
		l->active = false;
	/* the next packet's length decides about the next turn */
	else if (l->kind == NAIVE_QFQ || l->kind == NAIVE_HFSC ||
		 l->kind == NAIVE_HFSC_EARLY)
		naive_peek(t, i - 1, &(struct naive_packet){ 0 });
	return true;
}

static inline enum parents_verdict naive_enqueue(struct naive_tree *t, int i,
						 struct naive_packet p)
{
	struct naive_level *l = &t->level[i];
	struct naive_packet peeked;
	enum parents_verdict verdict;
	bool first;

	if (!i)
		return naive_fq_rr_enqueue(t, p);
	if (l->kind == NAIVE_NETEM) {
		if (l->keeps == NAIVE_QUEUE) {
			l->drops++;
			return PARENTS_DROP;
		}
		l->kept[l->keeps++] = p;
		l->qlen++;
		l->backlog += p.len;
		return PARENTS_SUCCESS;
	}
	first = !t->level[i - 1].qlen;
	verdict = naive_enqueue(t, i - 1, p);
	if (verdict != PARENTS_SUCCESS) {
		l->drops++;
		return verdict;
	}
	if (l->kind == NAIVE_DRR_FIRST && first && l->active)
		t->complain("an active child is put on the list again");
	if (l->kind == NAIVE_HFSC_EARLY && first && !l->active) {
		l->active = true;
		naive_peek(t, i - 1, &peeked);
	}
	l->qlen++;
	l->backlog += p.len;
	switch (l->kind) {
	case NAIVE_DRR:
	case NAIVE_HTB:
		l->active = true;
		break;
	case NAIVE_DRR_FIRST:
		l->active |= first;
		break;
	case NAIVE_HFSC:
		if (!first || l->active)
			break;
		l->active = true;
		naive_peek(t, i - 1, &peeked);
		break;
	case NAIVE_QFQ:
		if (l->active)
			naive_peek(t, i - 1, &peeked);
		l->active = true;
		break;
	default:
		break;
	}
	return PARENTS_SUCCESS;
}

/* ---- what must hold whenever nothing is being done ---- */

static inline void naive_check(const struct naive_tree *t)
{
	u32 packets = 0, bytes = 0, i, k;

	for (i = 0; i < NAIVE_FLOWS; i++) {
		packets += t->packets[i];
		for (k = 0; k < t->packets[i]; k++)
			bytes += t->queue[i][k];
	}
	for (i = 0; (int)i <= t->top; i++) {
		const struct naive_level *l = &t->level[i];

		if (l->has_peeked) {
			packets++;
			bytes += l->peeked.len;
		}
		for (k = 0; k < l->keeps; k++) {
			packets++;
			bytes += l->kept[k].len;
		}
		if (l->qlen != packets)
			t->complain("another number of packets");
		if (l->backlog != bytes)
			t->complain("another number of bytes");
		if (i && naive_has_list(l) && l->active != !!t->level[i - 1].qlen)
			t->complain(l->active ? "an empty child is active" :
					    "a child with packets is idle");
	}
}

static inline void naive_init(struct naive_tree *t)
{
	memset(t, 0, sizeof(*t));
	t->complain = naive_die;
}

/* a parent above all others so far */
static inline void naive_add_parent(struct naive_tree *t, enum naive_kind kind)
{
	t->level[++t->top].kind = kind;
}

/* qdisc_reset() of the root */
static inline void naive_reset(struct naive_tree *t)
{
	int i;

	memset(t->packets, 0, sizeof(t->packets));
	for (i = 0; i <= t->top; i++) {
		struct naive_level *l = &t->level[i];

		l->qlen = 0;
		l->backlog = 0;
		l->active = false;
		l->has_peeked = false;
		l->keeps = 0;
	}
}

/* qdisc_purge_queue() of fq_rr: it is replaced by another, which is empty */
static inline void naive_purge(struct naive_tree *t)
{
	struct naive_level *l = &t->level[0];
	u32 packets = l->qlen, bytes = l->backlog;

	memset(t->packets, 0, sizeof(t->packets));
	l->qlen = 0;
	l->backlog = 0;
	l->has_peeked = false;
	if (packets)
		naive_reduce_backlog(t, packets, bytes);
}

/* a packet comes to the root */
static inline enum parents_verdict naive_send(struct naive_tree *t, struct naive_packet p)
{
	enum parents_verdict verdict;

	verdict = naive_enqueue(t, t->top, p);
	naive_check(t);
	return verdict;
}

/* a configuration with smaller limits */
static inline void naive_change(struct naive_tree *t)
{
	struct fq_rr_outcome outcome = { 0 };
	u32 n;

	for (n = naive_take(t) % 8; n; n--)
		naive_policy(t, NAIVE_FLOWS, false, &outcome);
	if (outcome.dropped)
		naive_reduce_backlog(t, outcome.dropped, outcome.dropped_bytes);
}

/**
 * naive_run - a tree and what happens to it, by a script
 * @script: the parents' kinds, then what happens: bytes
 * @length: of the script (bytes)
 *
 * Aborts where a parent and its child disagree. At the end all is sent, and nothing may
 * be left anywhere.
 */
static inline void naive_run(const u8 *script, size_t length)
{
	struct naive_packet p;
	struct naive_tree t;
	u32 parents;

	naive_init(&t);
	t.script = script;
	t.length = length;
	for (parents = naive_take(&t) % NAIVE_LEVELS; parents; parents--)
		naive_add_parent(&t, naive_take(&t) %
				     (parents == 1 ? NAIVE_KINDS : NAIVE_NETEM));
	while (t.length) {
		u32 act = naive_take(&t);

		switch (act % 8) {
		case 0:
		case 1:
		case 2:
		case 3:
			p.flow = act / 8 % NAIVE_FLOWS;
			p.segments = act % 8 < 2 ? 1 : 1 + act / 32;
			p.len = 60 + naive_take(&t) * p.segments;
			/* a size table may say 4 GB */
			if (act >= 240)
				p.len <<= 20;
			naive_send(&t, p);
			break;
		case 4:
		case 5:
			naive_dequeue_peeked(&t, t.top, &p);
			break;
		case 6:
			naive_change(&t);
			break;
		default:
			if (act / 8 % 8 == 0)
				naive_reset(&t);
			else if (act / 8 % 8 == 1)
				naive_purge(&t);
			break;
		}
		naive_check(&t);
	}
	while (naive_dequeue_peeked(&t, t.top, &p))
		naive_check(&t);
	naive_check(&t);
	if (t.level[t.top].qlen)
		t.complain("packets are left, and nobody sends them");
}

#endif /* _NAIVE_PARENTS_H */
