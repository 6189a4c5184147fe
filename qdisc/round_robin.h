/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interleaved deficit round robin: which flow sends the next packet.
 *
 * A round robin that packet pair can measure must not send two packets of one
 * flow in a row while others wait, however small they are; one that is fair
 * must count bytes. So every backlogged flow with credit sends ONE packet in
 * turn, and pays its length; a flow without credit sits out. Credits are not
 * stored. A flow remembers what it has spent since the beginning of time, and
 * there is one mark for all:
 *
 *	credit = mark - spent
 *
 * Raising the mark gives credit to everybody at once. It is raised by a
 * quantum when no flow of the round has credit left; those that sat out
 * ("parked") then follow in the order in which they ran out.
 *
 * What holds, L being the largest cost of a packet and q the largest grant
 * (a grant is the quantum, or L where that is more):
 * - what two flows of the round have spent differs by less than q + 2 L, for
 *   any mix of packet sizes, so over any time in which both stay backlogged
 *   their service differs by less than twice that;
 * - flows of one packet size, no larger than the quantum, alternate strictly:
 *   at once if they started with that size, else after catching up;
 * - every function takes constant time, for any number of flows, except
 *   rr_restart().
 *
 * Classic deficit round robin (Shreedhar and Varghese, 1995) sends a flow's
 * whole credit in one visit, several small packets back to back; that is the
 * difference.
 *
 * A flow that becomes backlogged and has spent more than any flow had before
 * its last packet takes its place in the round. One that has not is sparse: its
 * first packet goes ahead of the round, and starts where the foremost packet so
 * far started (akin to the virtual time of start-time fair queueing, Goyal
 * 1996). It then stands where the foremost stand, so neither a train that meets
 * its own queue empty nor a flow that sends single packets gets more than its
 * share this way. A flow of the round yields to sparse flows that were there
 * when it was last served; with those that came later it alternates, so that a
 * flood of new flows cannot stop the old ones.
 *
 * "Strict" round robin, one packet per visit whatever its size, is the same
 * arithmetic with packets for the unit: each costs 1 and the quantum is 1.
 */
#ifndef _FQ_RR_ROUND_ROBIN_H
#define _FQ_RR_ROUND_ROBIN_H

#include "portable.h"

/**
 * enum rr_list - lists of backlogged flows
 * @RR_AHEAD: sparse, first packet goes ahead
 * @RR_ROUND: with credit, in the order of their turns
 * @RR_PARKED: without credit, until the next grant
 */
enum rr_list {
	RR_AHEAD,
	RR_ROUND,
	RR_PARKED,
};

#define RR_LISTS (RR_PARKED + 1)

/* member of a circular list; a list's head is a link of its own */
struct rr_link {
	struct rr_link *next;
	struct rr_link *prev;
};

/**
 * struct rr_flow - what the scheduler keeps for one flow, all zero at first
 * @link: member of a list while it is backlogged; must stay the first member
 * @spent: cost of all it has sent, moved forward to the present when it
 *	was sparse (bytes; 64 bits last 23 years at 200 Gbit/s)
 * @stamp: when it became backlogged or was served, by &rr.clock
 * @sparse: on RR_AHEAD. If not, its credit tells which list it is on.
 */
struct rr_flow {
	struct rr_link link;
	u64 spent;
	u32 stamp;
	bool sparse;
};

/**
 * struct rr - state of the scheduler
 * @list: heads of the lists, by enum rr_list
 * @mark: what a flow may spend before it has no credit left (bytes)
 * @now: the most that any flow had spent before it sent a packet (bytes);
 *	always less than @mark
 * @quantum: smallest grant (bytes, at least 1)
 * @largest: largest cost charged since the last grant (bytes)
 * @active: backlogged flows
 * @clock: packets sent, for comparing moments (wraps)
 * @after_ahead: the last packet was one that went ahead
 */
struct rr {
	struct rr_link list[RR_LISTS];
	u64 mark;
	u64 now;
	u32 quantum;
	u32 largest;
	u32 active;
	u32 clock;
	bool after_ahead;
};

static inline bool rr_link_empty(const struct rr_link *head)
{
	return head->next == head;
}

static inline void rr_link_add_tail(struct rr_link *head, struct rr_link *link)
{
	link->next = head;
	link->prev = head->prev;
	head->prev->next = link;
	head->prev = link;
}

static inline void rr_link_del(struct rr_link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
}

/* append all of @from to @to, in order, and leave @from empty */
static inline void rr_link_splice_tail(struct rr_link *to,
				       struct rr_link *from)
{
	if (rr_link_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	from->next = from;
	from->prev = from;
}

/* visit the flows of one list; they must not be moved meanwhile */
#define rr_for_each(rr, where, f)					\
	for ((f) = (struct rr_flow *)(rr)->list[where].next;		\
	     &(f)->link != &(rr)->list[where];				\
	     (f) = (struct rr_flow *)(f)->link.next)

/**
 * rr_init - start with no flow backlogged
 * @rr: scheduler
 * @quantum: smallest grant of credit (bytes, at least 1)
 *
 * Flows that belong to @rr must be all zero.
 */
static inline void rr_init(struct rr *rr, u32 quantum)
{
	unsigned int i;

	memset(rr, 0, sizeof(*rr));
	for (i = 0; i < RR_LISTS; i++) {
		rr->list[i].next = &rr->list[i];
		rr->list[i].prev = &rr->list[i];
	}
	rr->quantum = quantum;
	rr->mark = quantum;
}

/**
 * rr_quantum - the quantum in the scheduler's own unit
 * @strict: whether packets are shared, and not bytes
 * @quantum_bytes: quantum (bytes, at least 1)
 *
 * Return: bytes, or packets if @strict, in which 64 bits of credit last for
 * ever, whatever the quantum.
 */
static inline u32 rr_quantum(bool strict, u32 quantum_bytes)
{
	return strict ? 1 : quantum_bytes;
}

/**
 * rr_cost - the cost of a packet in the scheduler's own unit
 * @strict: whether packets are shared, and not bytes
 * @len: the packet's length (bytes)
 *
 * Return: bytes, or packets if @strict.
 */
static inline u32 rr_cost(bool strict, u32 len)
{
	return strict ? 1 : len;
}

/* put a flow at the end of the list where it belongs */
static inline void rr_join(struct rr *rr, struct rr_flow *f, bool sparse)
{
	enum rr_list list = RR_ROUND;

	if (sparse)
		list = RR_AHEAD;
	else if (f->spent >= rr->mark)
		list = RR_PARKED;
	f->stamp = rr->clock;
	f->sparse = sparse;
	rr_link_add_tail(&rr->list[list], &f->link);
}

/**
 * rr_backlogged - a flow has a packet again
 * @rr: scheduler
 * @f: the flow, which must be idle
 *
 * Return: whether the flow is sparse and its first packet goes ahead.
 */
static inline bool rr_backlogged(struct rr *rr, struct rr_flow *f)
{
	bool sparse = f->spent <= rr->now;

	rr_join(rr, f, sparse);
	rr->active++;
	return sparse;
}

/**
 * rr_idle - a flow has no packet any more
 * @rr: scheduler
 * @f: the flow, which must be backlogged
 */
static inline void rr_idle(struct rr *rr, struct rr_flow *f)
{
	rr_link_del(&f->link);
	rr->active--;
}

/*
 * Everybody is given a grant. It is at least what the dearest packet since the
 * last grant cost, and no debt is larger, so nobody stays without credit: that
 * is why none need be visited, and all who are parked are released at once.
 */
static inline void rr_grant(struct rr *rr)
{
	rr->mark += max_t(u32, rr->quantum, rr->largest);
	rr->largest = 0;
	rr_link_splice_tail(&rr->list[RR_ROUND], &rr->list[RR_PARKED]);
}

/* whether the flow @turn of the round must yield to the sparse flow @ahead */
static inline bool rr_yields(const struct rr *rr, const struct rr_flow *turn,
			     const struct rr_flow *ahead)
{
	/* nobody waits for 2^31 packets: a difference of stamps has a sign */
	return !rr->after_ahead || (s32)(turn->stamp - ahead->stamp) > 0;
}

/**
 * rr_next - the flow whose turn it is
 * @rr: scheduler
 *
 * Call it only when a packet is to be sent: rr_sent() must follow.
 *
 * Return: the flow, or NULL if none is backlogged.
 */
static inline struct rr_flow *rr_next(struct rr *rr)
{
	struct rr_link *round = &rr->list[RR_ROUND];
	struct rr_link *ahead = &rr->list[RR_AHEAD];
	struct rr_flow *turn, *first;

	if (!rr->active)
		return NULL;
	if (rr_link_empty(round) && !rr_link_empty(&rr->list[RR_PARKED]))
		rr_grant(rr);
	turn = (struct rr_flow *)round->next;
	first = (struct rr_flow *)ahead->next;
	if (rr_link_empty(ahead))
		return turn;
	if (rr_link_empty(round) || rr_yields(rr, turn, first))
		return first;
	return turn;
}

/**
 * rr_sent - the flow that rr_next() returned has sent one packet
 * @rr: scheduler
 * @f: that flow
 * @cost: what the packet costs, of rr_cost()
 * @more: whether it has another packet
 */
static inline void rr_sent(struct rr *rr, struct rr_flow *f, u32 cost,
			   bool more)
{
	rr->clock++;
	rr->after_ahead = f->sparse;
	/* what it did not ask for while it had nothing to send is forgone */
	if (f->sparse)
		f->spent = rr->now;
	rr->now = max_t(u64, rr->now, f->spent);
	rr->largest = max_t(u32, rr->largest, cost);
	if (more) {
		rr_link_del(&f->link);
		f->spent += cost;
		rr_join(rr, f, false);
	} else {
		rr_idle(rr, f);
		f->spent += cost;
	}
}

/**
 * rr_credit - what a flow may send before it waits for the others
 * @rr: scheduler
 * @f: the flow, which must be backlogged
 *
 * Return: bytes, or packets where those are shared. Not above zero: it waits for
 * the next grant.
 */
static inline s64 rr_credit(const struct rr *rr, const struct rr_flow *f)
{
	/* a sparse flow forgoes what it did not ask for: see rr_sent() */
	return (s64)(rr->mark - (f->sparse ? rr->now : f->spent));
}

/**
 * rr_restart - another quantum or unit: forget who has sent how much
 * @rr: scheduler
 * @quantum: smallest grant from now on, of rr_quantum()
 *
 * Everybody is at the same point again. Idle flows owe nothing either: none has
 * spent more than the mark and the largest cost since the last grant together.
 * Takes time linear in the backlogged flows.
 */
static inline void rr_restart(struct rr *rr, u32 quantum)
{
	struct rr_flow *f;
	unsigned int list;

	rr->now = rr->mark + rr->largest;
	rr->mark = rr->now + quantum;
	rr->largest = 0;
	rr->quantum = quantum;
	for (list = 0; list < RR_LISTS; list++)
		rr_for_each(rr, list, f)
			f->spent = rr->now;
	rr_link_splice_tail(&rr->list[RR_ROUND], &rr->list[RR_PARKED]);
}

#endif /* _FQ_RR_ROUND_ROBIN_H */
