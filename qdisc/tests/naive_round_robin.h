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
	s64 credit;		/* bytes: a grant gives it one for each share */
	u32 weight;
	u32 charges;		/* since it sent its last packet */
	bool debtor;
	u32 size[NAIVE_QUEUE];	/* of the packets, oldest first */
	u32 packets;
	u64 since;		/* packet number: backlogged or served last */
	bool sparse;		/* next packet goes ahead */
};

struct naive {
	struct naive_flow flow[NAIVE_FLOWS];
	int order[NAIVE_FLOWS];	/* of backlogged flows, next turn first */
	int ahead[NAIVE_FLOWS];	/* of sparse flows, next first */
	int debtor[NAIVE_FLOWS];	/* who owe more than a grant */
	int orders;
	int aheads;
	int debtors;
	s64 start_credit;	/* least that a flow had for a share before a packet */
	u32 quantum;
	u32 largest;
	u64 sent;		/* packets */
	bool after_ahead;
	bool at_once;		/* 8 grants go ahead whoever has waited longer */
	s64 gone_ahead;		/* of the round, not made up for (bytes) */
	s64 ahead_bytes;	/* sent while somebody of the round waited, */
	s64 round_bytes;	/* since all of it had last been idle */
	u32 dearest;		/* packet so far (bytes) */
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

/* credit of one share, rounded up */
static inline s64 naive_share(const struct naive_flow *f)
{
	s64 up = f->credit > 0 ? f->weight - 1 : 0;

	return (f->credit + up) / (s64)f->weight;
}

static inline s64 naive_least_grant(const struct naive *n)
{
	return n->quantum > n->largest ? n->quantum : n->largest;
}

/* to the end of the list where it belongs */
static inline void naive_join(struct naive *n, int flow)
{
	naive_remove(n->order, &n->orders, flow);
	naive_remove(n->ahead, &n->aheads, flow);
	naive_remove(n->debtor, &n->debtors, flow);
	n->flow[flow].since = n->sent;
	n->flow[flow].sparse = false;
	n->flow[flow].debtor =
		naive_share(&n->flow[flow]) <= -naive_least_grant(n);
	if (n->flow[flow].debtor)
		n->debtor[n->debtors++] = flow;
	else
		n->order[n->orders++] = flow;
}

static inline void naive_arrive(struct naive *n, int flow, u32 size)
{
	struct naive_flow *f = &n->flow[flow];

	if (!f->packets) {
		naive_join(n, flow);
		f->sparse = naive_share(f) >= n->start_credit;
		if (f->sparse) {
			naive_remove(n->order, &n->orders, flow);
			naive_remove(n->debtor, &n->debtors, flow);
			f->debtor = false;
			n->ahead[n->aheads++] = flow;
		}
	}
	f->size[f->packets++] = size;
}

/* a grant for everybody, when nobody whose turn it could be has credit left */
static inline void naive_grant(struct naive *n)
{
	s64 grant = naive_least_grant(n);
	int i;

	for (i = 0; i < n->orders; i++)
		if (n->flow[n->order[i]].credit > 0)
			return;
	if (!n->orders)
		return;
	for (i = 0; i < NAIVE_FLOWS; i++)
		n->flow[i].credit += grant * n->flow[i].weight;
	n->start_credit += grant;
	n->largest = 0;
}

/* number of the flow that sends; -1: none has a packet */
static inline int naive_next(struct naive *n)
{
	int i, turn = -1;

	if (!n->orders && !n->aheads && !n->debtors)
		return -1;
	naive_grant(n);
	if (!n->orders && !n->aheads) {
		struct naive_flow *f = &n->flow[n->debtor[0]];

		/* forgiven down to a byte of credit for a share */
		if (naive_share(f) < 1)
			f->credit += (1 - naive_share(f)) * f->weight;
		naive_join(n, n->debtor[0]);
	}
	for (i = n->orders - 1; i >= 0; i--)
		if (n->flow[n->order[i]].credit > 0)
			turn = n->order[i];
	if (!n->aheads || (turn >= 0 && n->gone_ahead >= 128 * naive_least_grant(n)))
		return turn;
	if (turn < 0 || (n->at_once && n->gone_ahead < 8 * naive_least_grant(n)) ||
	    !n->after_ahead || n->flow[turn].since > n->flow[n->ahead[0]].since)
		return n->ahead[0];
	return turn;
}

/*
 * The promise to the round, whatever comes: of what is sent while one of it waits, a
 * ninth, but for 128 grants and a packet. It is checked apart from the rule that keeps it.
 */
static inline void naive_check_round(struct naive *n, bool ahead, u32 size)
{
	if (size > n->dearest)
		n->dearest = size;
	if (ahead && !n->orders) {
		n->ahead_bytes = 0;
		n->round_bytes = 0;
	} else if (ahead) {
		n->ahead_bytes += size;
	} else {
		n->round_bytes += size;
	}
	if (n->ahead_bytes >= 8 * n->round_bytes + n->dearest +
			      128 * (s64)(n->quantum > n->dearest ? n->quantum : n->dearest))
		naive_die("the round has less than its ninth");
}

static inline u32 naive_send_one(struct naive *n, int flow)
{
	struct naive_flow *f = &n->flow[flow];
	u32 size = f->size[0];
	s64 before;

	naive_check_round(n, f->sparse, size);
	n->gone_ahead += f->sparse ? (s64)size : -8LL * size;
	/* who keeps nobody waiting is ahead of nobody */
	if (f->sparse ? !n->orders : n->gone_ahead < 0)
		n->gone_ahead = 0;
	memmove(f->size, f->size + 1, --f->packets * sizeof(*f->size));
	naive_remove(n->order, &n->orders, flow);
	naive_remove(n->ahead, &n->aheads, flow);
	n->after_ahead = f->sparse;
	if (f->sparse)
		f->credit += (n->start_credit - naive_share(f)) * f->weight;
	n->sent++;
	f->sparse = false;
	f->charges = 0;
	before = naive_share(f);
	if (before < n->start_credit)
		n->start_credit = before;
	f->credit -= size;
	if (before - naive_share(f) > n->largest)
		n->largest = before - naive_share(f);
	if (f->packets)
		naive_join(n, flow);
	if (n->debtors) {
		int first = n->debtor[0];

		if (naive_share(&n->flow[first]) > 0) {
			naive_join(n, first);
		} else {
			naive_remove(n->debtor, &n->debtors, first);
			n->debtor[n->debtors++] = first;
		}
	}
	return size;
}

/* a flow pays for a packet that was dropped, but not for too many in a row */
static inline void naive_charge(struct naive *n, int flow, u32 size)
{
	struct naive_flow *f = &n->flow[flow];

	if (f->charges == RR_CHARGES_MAX)
		return;
	f->charges++;
	if ((!f->packets || f->sparse) && naive_share(f) > n->start_credit)
		f->credit += (n->start_credit - naive_share(f)) * f->weight;
	f->credit -= size;
	if (!f->packets || f->debtor)
		return;
	if (f->sparse ? naive_share(f) < n->start_credit : naive_share(f) <= 0)
		naive_join(n, flow);
}

/* what is not yet charged is lost when the weight changes */
static inline void naive_set_weight(struct naive *n, int flow, u32 weight)
{
	struct naive_flow *f = &n->flow[flow];

	f->credit = naive_share(f) * weight;
	f->weight = weight;
}

/* everybody has so much credit for each share, and nothing that went ahead counts */
static inline void naive_level(struct naive *n, s64 credit)
{
	int i;

	for (i = 0; i < NAIVE_FLOWS; i++) {
		struct naive_flow *f = &n->flow[i];

		f->debtor = false;
		/* what the division by the weight left over is kept */
		f->credit += (credit - naive_share(f)) * f->weight;
	}
	n->start_credit = credit;
	n->largest = 0;
	n->gone_ahead = 0;
	/* the promise is one for a quantum that stays */
	n->ahead_bytes = 0;
	n->round_bytes = 0;
}

/* everybody at the same point: first who had credit, then who had none, then debtors */
static inline void naive_restart(struct naive *n, u32 quantum)
{
	int order[NAIVE_FLOWS];
	int i, orders = 0;

	for (i = 0; i < n->orders; i++)
		if (n->flow[n->order[i]].credit > 0)
			order[orders++] = n->order[i];
	for (i = 0; i < n->orders; i++)
		if (n->flow[n->order[i]].credit <= 0)
			order[orders++] = n->order[i];
	for (i = 0; i < n->debtors; i++)
		order[orders++] = n->debtor[i];
	memcpy(n->order, order, sizeof(order[0]) * orders);
	n->orders = orders;
	n->debtors = 0;
	n->quantum = quantum;
	naive_level(n, quantum);
}

/* when nobody has a packet left, everybody is at the same point again */
static inline void naive_rest(struct naive *n)
{
	if (n->at_once && !n->orders && !n->aheads && !n->debtors)
		naive_level(n, n->quantum);
}

static inline u32 naive_send(struct naive *n, int flow)
{
	u32 size = naive_send_one(n, flow);

	naive_rest(n);
	return size;
}

static inline void naive_flush(struct naive *n, int flow)
{
	bool waited = n->orders || n->aheads || n->debtors;

	n->flow[flow].packets = 0;
	n->flow[flow].sparse = false;
	n->flow[flow].debtor = false;
	naive_remove(n->order, &n->orders, flow);
	naive_remove(n->ahead, &n->aheads, flow);
	naive_remove(n->debtor, &n->debtors, flow);
	if (waited)
		naive_rest(n);
}

static inline u32 naive_shares(const struct naive *n)
{
	u32 shares = 0;
	int i;

	for (i = 0; i < NAIVE_FLOWS; i++)
		if (n->flow[i].packets)
			shares += n->flow[i].weight;
	return shares;
}

/* an idle flow that is said to go, or to have sent: nothing changes */
static inline void naive_idle_stays(struct rr *rr, struct rr_flow *f)
{
	const struct rr_flow flow = *f;
	const struct rr before = *rr;

	rr_idle(rr, f);
	if (memcmp(&flow, f, sizeof(flow)) || memcmp(&before, rr, sizeof(before)))
		naive_die("an idle flow changes");
}

/* both send one packet, if there is one */
static inline bool naive_serve(struct rr *rr, struct rr_flow *flow, struct naive *n)
{
	struct rr_flow *f = rr_next(rr);
	int k = naive_next(n);
	u32 size;

	if (k < 0 ? f != NULL : f != &flow[k])
		naive_die("another flow's turn");
	if (rr_next(rr) != f)
		naive_die("asked again, another answer");
	if (k < 0)
		return false;
	size = naive_send(n, k);
	rr_sent(rr, f, size, n->flow[k].packets);
	if (!n->flow[k].packets)
		naive_idle_stays(rr, f);
	/* at the same point again, who is idle has its credit when it comes back */
	if ((rr->active || !n->at_once) && (s64)(rr->mark - f->spent) != naive_share(&n->flow[k]))
		naive_die("another credit");
	return true;
}

/* an idle queue gets a new flow's packet: it has sent nothing for long */
static inline void naive_new_flow(struct rr *rr, struct rr_flow *flow, struct naive *n,
				  int which, u32 size)
{
	struct naive_flow *f = &n->flow[which];

	f->credit = (naive_share(f) > n->start_credit ? naive_share(f) :
		     n->start_credit) * f->weight;
	flow[which].spent = min_t(u64, flow[which].spent, rr->now);
	flow[which].rest = 0;
	rr_backlogged(rr, &flow[which]);
	naive_arrive(n, which, size);
}

/* while so many packets are sent, every idle queue but one gets new flows */
static inline void naive_flood(struct rr *rr, struct rr_flow *flow, struct naive *n,
			       int spared, u32 packets, u32 size)
{
	int k;

	while (packets--) {
		for (k = 0; k < NAIVE_FLOWS; k++)
			if (k != spared && !n->flow[k].packets)
				naive_new_flow(rr, flow, n, k, size);
		naive_serve(rr, flow, n);
	}
}

/* a quantum that options allow, or one that they do not */
static inline u32 naive_quantum(u8 drawn)
{
	static const u32 odd[] = { 0, 1, 2, 60, 255, 1U << 20, 1U << 31, U32_MAX };

	return drawn < ARRAY_SIZE(odd) ? odd[drawn] : 256U + drawn * 8;
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
	/* lengths of 0 and of 4 GB, which a size table can make, as rr_cost() has them */
	static const u32 sizes[] = { 1, 60, 514, 1000, 1500, 1514, 9014, 65549,
				     RR_COST_MAX };
	struct rr_flow flow[NAIVE_FLOWS] = { 0 };
	struct naive n = { 0 };
	struct rr rr;
	size_t i;
	int k;

	if (!length)
		return;
	if (rr_cost(false, 0) || rr_cost(false, U32_MAX) != RR_COST_MAX)
		naive_die("another cost");
	/* none is one */
	n.quantum = naive_quantum(script[0]) ?: 1;
	/* both begin with a quantum of credit */
	n.start_credit = n.quantum;
	for (k = 0; k < NAIVE_FLOWS; k++) {
		n.flow[k].credit = n.quantum;
		n.flow[k].weight = 1;
	}
	rr_init(&rr, naive_quantum(script[0]));

	for (i = 1; i + 1 < length; i++) {
		int which = script[i] % NAIVE_FLOWS;
		int act = script[i] / NAIVE_FLOWS;

		if (act < 12) {
			u32 size = sizes[script[++i] % ARRAY_SIZE(sizes)];

			if (n.flow[which].packets == NAIVE_QUEUE)
				continue;
			/* of a flow that is backlogged nothing may change */
			rr_backlogged(&rr, &flow[which]);
			naive_arrive(&n, which, size);
		} else if (act == 12) {
			u32 packets = script[++i];

			naive_flood(&rr, flow, &n, which, packets,
				    sizes[packets % ARRAY_SIZE(sizes)]);
		} else if (act < 27) {
			if (!naive_serve(&rr, flow, &n))
				continue;
		} else if (script[i] == 255) {
			u32 quantum = naive_quantum(script[++i]);

			n.at_once = script[i] & 1;
			rr_set_at_once(&rr, n.at_once);
			if (script[i] & 2)
				continue;
			rr_restart(&rr, quantum);
			naive_restart(&n, quantum ?: 1);
		} else if (script[i] >= 28 * NAIVE_FLOWS) {
			/* none is one, and of more than there may be, so many */
			u32 weight = script[++i] == 254 ? U32_MAX : script[i];

			rr_set_weight(&rr, &flow[which], weight);
			naive_set_weight(&n, which, min_t(u32, weight, 255) ?: 1);
		} else if (script[i + 1] & 1) {
			u32 size = sizes[script[++i] % ARRAY_SIZE(sizes)];

			rr_charge(&rr, &flow[which], size);
			naive_charge(&n, which, size);
		} else {
			naive_flush(&n, which);
			rr_idle(&rr, &flow[which]);
			naive_idle_stays(&rr, &flow[which]);
		}
		for (k = 0; k < NAIVE_FLOWS; k++) {
			const struct naive_flow *f = &n.flow[k];
			s64 gone = n.start_credit - naive_share(f);

			if (f->packets && rr_credit(&rr, &flow[k]) !=
			    f->credit + (f->sparse ? gone * f->weight : 0))
				naive_die("another credit is shown");
		}
		if ((int)rr.active != n.orders + n.aheads + n.debtors)
			naive_die("another number of flows");
		if (rr.shares != naive_shares(&n))
			naive_die("another number of shares");
	}
}

#endif /* _NAIVE_ROUND_ROBIN_H */
