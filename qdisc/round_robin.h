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
 * when it was last served; with those that came later it alternates. Without more, a
 * flow of the round would wait for as many packets as new flows came in the meantime,
 * and with one new flow per packet sent hardly ever be served. So while any flow of the
 * round waits, whatever new flows come:
 * - in bytes: what goes ahead costs less than RR_AHEAD_COSTS R + RR_AHEAD_GRANTS q + L,
 *   where the round's packets cost R in the same time: a ninth of the link is the round's;
 * - in turns: of packets of one cost, no more than the quantum, at most RR_AHEAD_COSTS go
 *   ahead for each of the round, and RR_AHEAD_GRANTS q / L + 1 once. With packets of
 *   unequal size the ninth is one of bytes only: 1 packet of 1514 bytes against 202 of 60.
 * The flows of the round share that as they share the link. Flows that wait as debtors
 * (below) are promised nothing of it.
 *
 * Who asks, at once. rr_set_at_once() changes two rules, for small flows beside large ones. A
 * flow of the round yields to all sparse flows until RR_AT_ONCE_GRANTS grants have gone ahead,
 * and alternates from there on. When nobody has a packet left, all flows are at the same point
 * again. Without that, a flow that sends single packets, beside new flows of one packet each,
 * would have spent more than any of these for ever, and yield to all of them. The bounds above
 * hold; but an old flow may wait for more turns than a plain round has.
 *
 * "Strict" round robin, one packet per visit whatever its size, is the same
 * arithmetic with packets for the unit: each costs 1 and the quantum is 1.
 *
 * Weights. A flow of weight w gets w shares: it pays the w-th part of what its
 * packets cost, and what the division leaves over is kept for its next packet,
 * so nothing is lost to rounding. All of the above then holds of shares: L is
 * the largest part that a packet has cost its flow.
 *
 * Dropped packets may be charged as well (Keshav 1991, section 6.6.4, says what
 * that would do to a source that floods: "almost zero throughput"). Then a flow
 * may owe more than a grant. Such debtors wait apart, so that a grant need not
 * visit them; with each packet sent one of them is looked at, and returns if it
 * has credit. When nobody else waits, the debt of the first is forgiven down to
 * one packet's worth: the link never idles. For each packet that it sends, a flow
 * pays for RR_CHARGES_MAX dropped ones at most: that much is left of its share, and
 * who stops flooding is served again after the others had so many packets each.
 */
#ifndef _FQ_RR_ROUND_ROBIN_H
#define _FQ_RR_ROUND_ROBIN_H

#include "portable.h"

/**
 * enum rr_list - lists of backlogged flows
 * @RR_AHEAD: sparse, first packet goes ahead
 * @RR_ROUND: with credit, in the order of their turns
 * @RR_PARKED: without credit, until the next grant
 * @RR_DEBTORS: owe more than the next grant, from drops charged to them
 */
enum rr_list {
	RR_AHEAD,
	RR_ROUND,
	RR_PARKED,
	RR_DEBTORS,
};

#define RR_LISTS (RR_DEBTORS + 1)

/*
 * Dropped packets that a flow pays for between two that it sends. One that never
 * stops flooding keeps a 65th of its share; ten flows at 10 Mbit/s pass 64 full
 * packets each in 0.8 s, after which one that has stopped is served again.
 */
#define RR_CHARGES_MAX 64

/* cost of a packet: with a rest of less than a weight still 32 bits */
#define RR_COST_MAX (1U << 31)

/*
 * What may go ahead for each unit that the round sends. New flows that need less than
 * 8/9 of the link are not delayed by this, however many there are; a flood of them
 * leaves the rest. With 1 (half), replies of 150 bytes at 60 % of the link would queue
 * without end beside a single old flow: Documentation/decisions/0001.
 */
#define RR_AHEAD_COSTS 8

/*
 * Grants that may go ahead at once, without the round: so many flows may become
 * backlogged together, with full packets, and each is served once before any is served
 * again. Full packets of 1514 bytes take 0.16 s at 10 Mbit/s.
 */
#define RR_AHEAD_GRANTS 128

/*
 * Of these, grants that go ahead even of flows of the round that have been there longer,
 * where rr_set_at_once() says so: what a packet of the round as large as a grant makes up for,
 * see RR_AHEAD_COSTS. A name server's response, a probe and a request that come together then
 * leave together, also where a full packet of a new flow has just gone ahead. With none, each
 * but the first waits for a full packet.
 */
#define RR_AT_ONCE_GRANTS 8

/* weights, as many as fit the byte that is free in struct rr_flow */
#define RR_WEIGHT_MAX 255

/* member of a circular list; a list's head is a link of its own */
struct rr_link {
	struct rr_link *next;
	struct rr_link *prev;
};

/**
 * struct rr_flow - what the scheduler keeps for one flow, all zero at first
 * @link: member of a list while it is backlogged, @next of it NULL while it is idle;
 *	the first member
 * @spent: cost of all it has sent, for each share, moved forward to the
 *	present when it was sparse (bytes; 64 bits last 23 years at 200 Gbit/s)
 * @stamp: when it became backlogged or was served, by &rr.clock
 * @sparse: on RR_AHEAD
 * @debtor: on RR_DEBTORS
 * @of_caller: a bit of the caller's own, which nothing here reads or writes
 * @charges: dropped packets it has paid for since it was served
 * @extra: its weight less 1
 * @rest: cost not yet in @spent, a part of its weight (bytes)
 */
struct rr_flow {
	struct rr_link link;
	u64 spent;
	u32 stamp;
	u8 sparse : 1;
	u8 debtor : 1;
	u8 of_caller : 1;
	u8 charges;
	u8 extra;
	u8 rest;
};

static_assert(offsetof(struct rr_flow, link) == 0, "a link is cast to its flow");

/**
 * struct rr - state of the scheduler
 * @list: heads of the lists, by enum rr_list
 * @mark: what a flow may spend before it has no credit left (bytes)
 * @now: the most that any flow had spent before it sent a packet (bytes);
 *	always less than @mark
 * @furthest: the most that any flow has spent that is idle, or by paying for lost packets (bytes)
 * @quantum: smallest grant (bytes), never 0: see rr_init()
 * @largest: largest cost for a share since the last grant (bytes)
 * @active: backlogged flows
 * @shares: weights of the backlogged flows together
 * @clock: packets sent, for comparing moments (wraps)
 * @at_once: grants that go ahead of the round before it alternates with new flows, 0 if
 *	who asks is not served at once: see rr_set_at_once()
 * @after_ahead: the last packet was one that went ahead
 * @ahead: cost of what went ahead of the round and that the round has not made up for
 *	(bytes); from RR_AHEAD_GRANTS grants on the round is next
 */
struct rr {
	struct rr_link list[RR_LISTS];
	u64 mark;
	u64 now;
	u64 furthest;
	u32 quantum;
	u32 largest;
	u32 active;
	u32 shares;
	u32 clock;
	u32 at_once;
	bool after_ahead;
	u64 ahead;
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
	struct rr_link *next = link->next, *prev = link->prev;

	prev->next = next;
	next->prev = prev;
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

/* visit the flows of one list; a loop that moves one goes on in the other list */
#define rr_for_each(rr, where, f)					\
	for ((f) = (struct rr_flow *)(rr)->list[where].next;		\
	     &(f)->link != &(rr)->list[where];				\
	     (f) = (struct rr_flow *)(f)->link.next)

/* visit all backlogged flows, list by list: as above */
#define rr_for_each_backlogged(rr, where, f)				\
	for ((where) = 0; (where) < RR_LISTS; (where)++)		\
		rr_for_each(rr, where, f)

/* what the next grant will be at least */
static inline u32 rr_least_grant(const struct rr *rr)
{
	return max_t(u32, rr->quantum, rr->largest);
}

/**
 * rr_init - start with no flow backlogged
 * @rr: scheduler
 * @quantum: smallest grant of credit (bytes); 0 counts as 1
 *
 * Flows are all zero at first: rr_backlogged() asserts it.
 */
static inline void rr_init(struct rr *rr, u32 quantum)
{
	unsigned int i;

	memset(rr, 0, sizeof(*rr));
	for (i = 0; i < RR_LISTS; i++) {
		rr->list[i].next = &rr->list[i];
		rr->list[i].prev = &rr->list[i];
	}
	rr->quantum = max_t(u32, quantum, 1);
	rr->mark = rr->quantum;
}

/**
 * rr_set_at_once - whether who asks is served at once, or alternates with the round
 * @rr: scheduler
 * @at_once: see the head of this file; false at first
 */
static inline void rr_set_at_once(struct rr *rr, bool at_once)
{
	rr->at_once = at_once ? RR_AT_ONCE_GRANTS : 0;
}

/**
 * rr_quantum - the quantum in the scheduler's own unit
 * @strict: whether packets are shared, and not bytes
 * @quantum_bytes: quantum (bytes)
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
 * A size table may say that a packet has any length. One of none costs nothing, and has
 * its turn like any other.
 *
 * Return: bytes, or packets if @strict; at most RR_COST_MAX.
 */
static inline u32 rr_cost(bool strict, u32 len)
{
	if (unlikely(strict))
		return 1;
	if (unlikely(len > RR_COST_MAX))
		return RR_COST_MAX;
	return len;
}

/**
 * rr_weight - how many shares a flow has
 * @f: the flow
 *
 * May be asked without whatever lock @f has.
 *
 * Return: 1 to RR_WEIGHT_MAX.
 */
static inline u32 rr_weight(const struct rr_flow *f)
{
	return READ_ONCE(f->extra) + 1;
}

/* whether a flow is on one of the lists */
static inline bool rr_is_backlogged(const struct rr_flow *f)
{
	return f->link.next;
}

/**
 * rr_set_weight - give a flow more or fewer shares
 * @rr: scheduler
 * @f: the flow
 * @weight: shares from now on; beyond 1 to RR_WEIGHT_MAX, the nearest of these
 */
static inline void rr_set_weight(struct rr *rr, struct rr_flow *f, u32 weight)
{
	weight = clamp_t(u32, weight, 1, RR_WEIGHT_MAX);
	if (rr_is_backlogged(f))
		rr->shares += weight - rr_weight(f);
	WRITE_ONCE(f->extra, weight - 1);
	f->rest = 0;
}

/* what a cost adds to &rr_flow.spent */
static inline u32 rr_part(struct rr_flow *f, u32 cost)
{
	u32 whole = cost + f->rest;

	/* rr_cost() sees to it */
	PRECONDITION(cost <= RR_COST_MAX);
	if (likely(!f->extra))
		return cost;
	f->rest = whole % rr_weight(f);
	return whole / rr_weight(f);
}

/* put a flow at the end of the list where it belongs */
static inline void rr_join(struct rr *rr, struct rr_flow *f, bool sparse)
{
	enum rr_list list = RR_ROUND;

	if (sparse)
		list = RR_AHEAD;
	else if (f->spent >= rr->mark + rr_least_grant(rr))
		list = RR_DEBTORS;
	else if (f->spent >= rr->mark)
		list = RR_PARKED;
	f->stamp = rr->clock;
	f->sparse = sparse;
	f->debtor = list == RR_DEBTORS;
	rr_link_add_tail(&rr->list[list], &f->link);
}

/**
 * rr_rejoin - as rr_join(), for a flow of the round that has just paid for a packet
 * @rr: scheduler
 * @f: that flow, which must owe less than the least grant
 *
 * It had credit, and the next grant is no less than the packet cost: so it is no debtor.
 */
static __always_inline void rr_rejoin(struct rr *rr, struct rr_flow *f)
{
	PRECONDITION(f->spent < rr->mark + rr_least_grant(rr));
	f->stamp = rr->clock;
	rr_link_add_tail(&rr->list[f->spent < rr->mark ? RR_ROUND : RR_PARKED], &f->link);
}

/**
 * rr_backlogged - a flow has a packet again
 * @rr: scheduler
 * @f: the flow; one that is backlogged stays where it is. Idle for the first time, it
 *	must be all zero.
 *
 * Return: whether the flow is sparse and its first packet goes ahead.
 */
static inline bool rr_backlogged(struct rr *rr, struct rr_flow *f)
{
	bool sparse = f->spent <= rr->now;

	if (unlikely(rr_is_backlogged(f)))
		return false;
	/* what rr_rest() and rr_restart() make equal */
	PRECONDITION(f->spent <= max_t(u64, rr->now, rr->furthest));
	rr_join(rr, f, sparse);
	rr->active++;
	rr->shares += rr_weight(f);
	return sparse;
}

/*
 * Everybody who is idle is at the same point again. It moves on by what was sent, however often
 * the link is idle.
 */
static inline void rr_rest(struct rr *rr)
{
	rr->now = max_t(u64, rr->now, rr->furthest);
	rr->mark = rr->now + rr->quantum;
	rr->largest = 0;
	rr->ahead = 0;
}

/**
 * rr_idle - a flow has no packet any more
 * @rr: scheduler
 * @f: the flow; of one that is idle nothing changes
 */
static inline void rr_idle(struct rr *rr, struct rr_flow *f)
{
	if (unlikely(!rr_is_backlogged(f)))
		return;
	rr_link_del(&f->link);
	f->link.next = NULL;
	rr->active--;
	rr->shares -= rr_weight(f);
	rr->furthest = max_t(u64, rr->furthest, f->spent);
	if (!rr->active && rr->at_once)
		rr_rest(rr);
}

/*
 * Everybody is given a grant. It is at least what the dearest packet since the
 * last grant cost, and who is parked owes no more, so all of them have credit:
 * that is why none need be visited, and all are released at once.
 */
static inline void rr_grant(struct rr *rr)
{
	rr->mark += rr_least_grant(rr);
	rr->largest = 0;
	rr_link_splice_tail(&rr->list[RR_ROUND], &rr->list[RR_PARKED]);
}

/* nobody else waits: the first debtor, if there is one, may send a packet */
static inline void rr_forgive(struct rr *rr)
{
	struct rr_flow *f = (struct rr_flow *)rr->list[RR_DEBTORS].next;

	if (rr_link_empty(&rr->list[RR_DEBTORS]))
		return;
	rr_link_del(&f->link);
	f->spent = min_t(u64, f->spent, rr->mark - 1);
	rr_join(rr, f, false);
}

/* one debtor in turn is looked at: back into the round, or to the end */
static inline void rr_look_at_debtor(struct rr *rr)
{
	struct rr_flow *f = (struct rr_flow *)rr->list[RR_DEBTORS].next;

	rr_link_del(&f->link);
	if (f->spent < rr->mark)
		rr_join(rr, f, false);
	else
		rr_link_add_tail(&rr->list[RR_DEBTORS], &f->link);
}

/* whether the flow @turn of the round must yield to the sparse flow @ahead */
static inline bool rr_yields(const struct rr *rr, const struct rr_flow *turn,
			     const struct rr_flow *ahead)
{
	u64 grant = rr_least_grant(rr);

	if (rr->ahead >= grant * RR_AHEAD_GRANTS)
		return false;
	if (rr->ahead < grant * rr->at_once)
		return true;
	/* nobody waits for 2^31 packets: a difference of stamps has a sign */
	return !rr->after_ahead || (s32)(turn->stamp - ahead->stamp) > 0;
}

/**
 * rr_next - the flow whose turn it is
 * @rr: scheduler
 *
 * For when a packet is to be sent. Asked again before rr_sent(), it answers the same
 * unless flows have come or gone meanwhile; what it has granted stays granted.
 *
 * Return: the flow, or NULL if none is backlogged: never the head of a list.
 */
static __always_inline struct rr_flow *rr_next(struct rr *rr)
{
	struct rr_link *round = &rr->list[RR_ROUND];
	struct rr_link *ahead = &rr->list[RR_AHEAD];
	struct rr_flow *turn, *first;

	if (unlikely(rr_link_empty(round))) {
		if (!rr_link_empty(&rr->list[RR_PARKED]))
			rr_grant(rr);
		else if (rr_link_empty(ahead))
			rr_forgive(rr);
	}
	turn = (struct rr_flow *)round->next;
	first = (struct rr_flow *)ahead->next;
	if (likely(rr_link_empty(ahead)))
		return rr_link_empty(round) ? NULL : turn;
	if (rr_link_empty(round) || rr_yields(rr, turn, first))
		return first;
	return turn;
}

/**
 * rr_upcoming - the flow of the round that will be next, if no sparse flow is
 * @rr: scheduler
 *
 * For a guess at what memory will be needed: nothing changes.
 *
 * Return: the flow, or NULL if there is none in the round, now or after a grant.
 */
static inline struct rr_flow *rr_upcoming(const struct rr *rr)
{
	const struct rr_link *list = &rr->list[RR_ROUND];

	if (likely(!rr_link_empty(list)))
		return (struct rr_flow *)list->next;
	list = &rr->list[RR_PARKED];
	return rr_link_empty(list) ? NULL : (struct rr_flow *)list->next;
}

/**
 * rr_behind - what hangs behind a flow
 * @f: the flow
 *
 * For a guess at what memory will be needed, and only for that.
 *
 * Return: another flow, or the scheduler's own list behind its last one; NULL if the
 * flow is idle.
 */
static inline const struct rr_link *rr_behind(const struct rr_flow *f)
{
	return f->link.next;
}

/**
 * rr_any - a flow that is backlogged
 * @rr: scheduler
 *
 * To visit all, where each is taken out by rr_idle(): nothing changes by this.
 *
 * Return: the flow, or NULL if none is backlogged.
 */
static inline struct rr_flow *rr_any(const struct rr *rr)
{
	unsigned int list;

	for (list = 0; list < RR_LISTS; list++)
		if (!rr_link_empty(&rr->list[list]))
			return (struct rr_flow *)rr->list[list].next;
	return NULL;
}

/* what went ahead of the round counts, unless nobody was in the round to wait */
static inline void rr_count_ahead(struct rr *rr, bool sparse, u32 cost)
{
	if (!sparse)
		rr->ahead -= min_t(u64, rr->ahead, (u64)cost * RR_AHEAD_COSTS);
	else if (rr_link_empty(&rr->list[RR_ROUND]))
		rr->ahead = 0;
	else
		rr->ahead += cost;
}

/**
 * rr_sent - the flow that rr_next() returned has sent one packet
 * @rr: scheduler
 * @f: that flow, which must be backlogged and have credit
 * @cost: what the packet costs; must be of rr_cost()
 * @more: whether it has another packet
 */
static __always_inline void rr_sent(struct rr *rr, struct rr_flow *f, u32 cost,
				    bool more)
{
	bool sparse = f->sparse;
	u32 part;

	PRECONDITION(rr_is_backlogged(f) && (sparse || f->spent < rr->mark));
	part = rr_part(f, cost);
	rr->clock++;
	rr->after_ahead = sparse;
	if (unlikely(sparse || rr->ahead))
		rr_count_ahead(rr, sparse, cost);
	/* what it did not ask for while it had nothing to send is forgone */
	if (unlikely(sparse))
		f->spent = rr->now;
	f->charges = 0;
	/* of flows with packets of one size, the first of each round alone raises these */
	if (f->spent > rr->now)
		rr->now = f->spent;
	if (part > rr->largest)
		rr->largest = part;
	if (more) {
		rr_link_del(&f->link);
		f->spent += part;
		if (unlikely(sparse))
			f->sparse = false;
		rr_rejoin(rr, f);
	} else {
		f->spent += part;
		rr_idle(rr, f);
	}
	if (unlikely(!rr_link_empty(&rr->list[RR_DEBTORS])))
		rr_look_at_debtor(rr);
}

/**
 * rr_charge - a flow pays for a packet that it has lost
 * @rr: scheduler
 * @f: the flow
 * @cost: what the packet would have cost; must be of rr_cost()
 *
 * Not between rr_next() and rr_sent(), which asserts that the flow has credit. See the
 * head of this file.
 */
static inline void rr_charge(struct rr *rr, struct rr_flow *f, u32 cost)
{
	bool backlogged = rr_is_backlogged(f);

	if (f->charges == RR_CHARGES_MAX)
		return;
	f->charges++;
	/* nor does it pay from what it did not ask for before */
	if (!backlogged || f->sparse)
		f->spent = max_t(u64, f->spent, rr->now);
	f->spent += rr_part(f, cost);
	rr->furthest = max_t(u64, rr->furthest, f->spent);
	if (!backlogged || f->debtor)
		return;
	if (f->sparse ? f->spent <= rr->now : f->spent < rr->mark)
		return;
	rr_link_del(&f->link);
	rr_join(rr, f, false);
}

/**
 * rr_credit - what a flow may send before it waits for the others
 * @rr: scheduler
 * @f: the flow
 *
 * Return: bytes, or packets where those are shared. Not above zero: it waits for
 * the next grant. Of an idle flow, what it left with.
 */
static inline s64 rr_credit(const struct rr *rr, const struct rr_flow *f)
{
	/* a sparse flow forgoes what it did not ask for: see rr_sent() */
	s64 share = rr->mark - (f->sparse ? rr->now : f->spent);

	return share * rr_weight(f) - f->rest;
}

/**
 * rr_restart - another quantum or unit: forget who has sent how much
 * @rr: scheduler
 * @quantum: smallest grant from now on, of rr_quantum(); 0 counts as 1
 *
 * Takes time linear in the backlogged flows.
 */
static inline void rr_restart(struct rr *rr, u32 quantum)
{
	struct rr_flow *f;
	unsigned int list;

	rr->quantum = max_t(u32, quantum, 1);
	rr_rest(rr);
	rr_for_each_backlogged(rr, list, f)
		f->spent = rr->now;
	rr_link_splice_tail(&rr->list[RR_ROUND], &rr->list[RR_PARKED]);
	rr_for_each(rr, RR_DEBTORS, f)
		f->debtor = false;
	rr_link_splice_tail(&rr->list[RR_ROUND], &rr->list[RR_DEBTORS]);
}

#endif /* _FQ_RR_ROUND_ROBIN_H */
