/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two levels of turns: hosts share the link, and the queues of a host share its part.
 *
 * Each level is a round robin of round_robin.h. A host is a flow of the upper one; its
 * queues are the flows of one of its own. A turn goes to a host, which gives it to one of
 * its queues, which sends one packet. Both levels pay for it. What that header promises to
 * flows beside each other therefore holds for hosts beside each other, and for the queues of
 * one host in what the host is served:
 * - hosts that stay backlogged differ in service by less than 2 (q + 2 L), however many
 *   queues each has; so do the queues of one host in what that host has;
 * - packets of one size, no larger than the quantum, come in strict turns on both levels:
 *   among H hosts, two packets of a queue in a host of n are H n packets apart, every time.
 *   That is the queue's share of the link, and what packet pair measures;
 * - a host that was idle goes ahead of the round of hosts, by one packet. A queue that was
 *   idle goes ahead of its own host's queues, and of nobody else's: it waits for its host's
 *   turn. So new flows, however many one host begins, delay only that host's.
 *
 * One level in which a queue pays in proportion to the number of its host's queues would
 * share bytes alike, but not evenly in time: the only queue of a host would send as many
 * packets in a row as other hosts have queues.
 *
 * Weights. A queue's weight counts among the queues of its host. A queue that is a host of
 * its own ("alone": the caller's classes) has its weight among hosts.
 *
 * A host is a hash of addresses. Idle hosts are given to other hashes by placing.h, as idle
 * queues are given to other flows: there are as many hosts as queues, and two hashes share
 * one only where 16 in one window are backlogged. A hash that shares one is given another
 * when placing.h finds one idle, for its later queues; those that wait stay where they are.
 *
 * A queue's credit is one in its host. In another host it begins as a flow does there that
 * was idle for long.
 *
 * Queues are shared out too. A flow that finds no idle queue among the 16 of its window
 * would share its home's, in which another host's flow may be, at that host's expense. So
 * where another host has two more queues of the window than its own, one of those is emptied
 * for it; and where its own host has as many as any, it is refused. A host that begins
 * thousands of flows thus leaves the others as many queues as they want, up to its own number.
 *
 * When the buffer is full the host with the largest part of it pays, with the longest of its
 * queues. A host's part is what all of its queues have together: one that spreads over a
 * thousand queues pays as if it were one queue, and a longer queue of a host with less does
 * not. To find the longest of a host's queues, no more than HT_LOOKS of them are looked at:
 * those that are served next, so they are others after each turn.
 */
#ifndef _FQ_RR_HOST_TURNS_H
#define _FQ_RR_HOST_TURNS_H

#include "placing.h"
#include "portable.h"
#include "round_robin.h"

/*
 * Queues of a host that are looked at for the longest one: each a cache line. A household's
 * host has fewer that are backlogged at a time, and then the longest is found.
 */
#define HT_LOOKS 64

/* no host: of a queue that has never been in one */
#define HT_NONE U32_MAX

/**
 * struct ht_host - a host
 * @turn: its turn among hosts, and whether it is alone: a queue of its own, whose weight
 *	counts among hosts; the first member
 * @queues: its queues' turns
 * @packets: that wait in its queues
 * @memory: that they occupy (bytes)
 */
struct ht_host {
	struct rr_flow turn;
	struct rr queues;
	u32 packets;
	u32 memory;
};

static_assert(offsetof(struct ht_host, turn) == 0, "a turn is cast to its host");

/**
 * struct host_turns - both levels
 * @rr: the turns of hosts, the caller's
 * @hosts: all, in no order
 * @host_of: of each queue, its host's number, also while it is idle; or HT_NONE
 * @queues: how many queues, and hosts, there are; 0: no room yet, see ht_init()
 * @active: backlogged queues
 * @placing: which host belongs to which hash
 */
struct host_turns {
	struct rr *rr;
	struct ht_host *hosts;
	u32 *host_of;
	u32 queues;
	u32 active;
	struct placing placing;
};

/**
 * ht_room_bytes - memory that ht_init() needs
 * @queues: how many queues there are, not 0
 *
 * Return: bytes.
 */
static inline size_t ht_room_bytes(u32 queues)
{
	return queues * (sizeof(struct ht_host) + sizeof(u32)) +
	       placing_room_bytes(queues);
}

/**
 * ht_init - no queue is in a host
 * @ht: out
 * @rr: for the turns of hosts; by it nothing is changed, and its quantum is the hosts' own
 * @room: ht_room_bytes() of memory
 * @queues: how many, as ht_room_bytes() was asked; must not be 0
 * @mix: random numbers, or fixed ones where hashes are secret
 *
 * Takes time linear in the number of queues.
 */
static inline void ht_init(struct host_turns *ht, struct rr *rr, void *room,
			   u32 queues, const struct flow_mix *mix)
{
	u32 i;

	PRECONDITION(queues);
	memset(room, 0, ht_room_bytes(queues));
	ht->rr = rr;
	ht->hosts = room;
	ht->host_of = (u32 *)(ht->hosts + queues);
	ht->queues = queues;
	ht->active = 0;
	for (i = 0; i < queues; i++) {
		rr_init(&ht->hosts[i].queues, rr->quantum);
		ht->host_of[i] = HT_NONE;
	}
	placing_init(&ht->placing, ht->host_of + queues, queues, mix);
}

/**
 * ht_host_of - the host that a queue is in
 * @ht: hosts and queues
 * @queue: number of the queue
 *
 * Return: the host, also of an idle queue; NULL if it has never been in one.
 */
static inline struct ht_host *ht_host_of(const struct host_turns *ht, u32 queue)
{
	if (unlikely(queue >= ht->queues || ht->host_of[queue] == HT_NONE))
		return NULL;
	return &ht->hosts[ht->host_of[queue]];
}

/**
 * ht_of_turn - the host whose turn it is
 * @turn: one of those at &host_turns.rr
 *
 * Return: the host.
 */
static inline struct ht_host *ht_of_turn(struct rr_flow *turn)
{
	return (struct ht_host *)turn;
}

static inline u32 ht_waiting(const void *context, u32 number)
{
	const struct host_turns *ht = context;

	return ht->hosts[number].queues.active;
}

/* number of the host for a hash; what it shares one with is not moved */
static inline u32 ht_place(struct host_turns *ht, u32 hash)
{
	u32 home = placing_home(&ht->placing, hash);

	if (placing_owns(&ht->placing, home, hash))
		return home;
	return placing_find(&ht->placing, hash, home, ht_waiting, ht).queue;
}

static inline void ht_weigh(struct host_turns *ht, struct ht_host *host, u32 weight)
{
	if (unlikely(rr_weight(&host->turn) != weight))
		rr_set_weight(ht->rr, &host->turn, weight);
}

/* an idle host is about to have a queue with packets */
static inline void ht_prepare(struct host_turns *ht, struct ht_host *host,
			      bool alone, u32 weight)
{
	/* idle hosts are not visited when the quantum changes */
	if (unlikely(host->queues.quantum != ht->rr->quantum))
		rr_restart(&host->queues, ht->rr->quantum);
	host->queues.at_once = ht->rr->at_once;
	host->turn.of_caller = alone;
	ht_weigh(ht, host, alone ? weight : 1);
}

/**
 * ht_backlogged - a queue has a packet again
 * @ht: hosts and queues
 * @f: the queue; one that is backlogged stays where it is
 * @queue: its number, which must be below the number of queues
 * @hash: of the packet's host
 * @alone: whether the queue is a host of its own, with a @hash that no other has
 *
 * Return: whether the queue goes ahead of its host's others.
 */
static noinline __maybe_unused bool ht_backlogged(struct host_turns *ht, struct rr_flow *f,
						  u32 queue, u32 hash, bool alone)
{
	struct ht_host *host;
	bool sparse;
	u32 number;

	PRECONDITION(queue < ht->queues);
	if (unlikely(rr_is_backlogged(f)))
		return false;
	number = ht_place(ht, hash);
	host = &ht->hosts[number];
	if (!rr_is_backlogged(&host->turn))
		ht_prepare(ht, host, alone, rr_weight(f));
	if (ht->host_of[queue] != number) {
		ht->host_of[queue] = number;
		f->spent = host->queues.now;
		f->rest = 0;
		f->charges = 0;
	}
	sparse = rr_backlogged(&host->queues, f);
	rr_backlogged(ht->rr, &host->turn);
	ht->active++;
	return sparse;
}

/**
 * ht_idle - a queue has no packet any more
 * @ht: hosts and queues
 * @f: the queue; of one that is idle nothing changes
 * @queue: its number
 */
static noinline __maybe_unused void ht_idle(struct host_turns *ht, struct rr_flow *f,
					    u32 queue)
{
	struct ht_host *host = ht_host_of(ht, queue);

	if (unlikely(!host || !rr_is_backlogged(f)))
		return;
	rr_idle(&host->queues, f);
	ht->active--;
	if (!host->queues.active)
		rr_idle(ht->rr, &host->turn);
}

/**
 * ht_leave - a queue is in no host any more, but one of those that take turns at @ht->rr
 * @ht: hosts and queues
 * @f: the queue, which must be idle
 * @queue: its number
 */
static inline void ht_leave(struct host_turns *ht, struct rr_flow *f, u32 queue)
{
	PRECONDITION(!rr_is_backlogged(f));
	if (!ht_host_of(ht, queue))
		return;
	ht->host_of[queue] = HT_NONE;
	f->spent = ht->rr->now;
	f->rest = 0;
	f->charges = 0;
}

/**
 * ht_next - the queue whose turn it is
 * @ht: hosts and queues
 *
 * As rr_next(): asked again before ht_sent(), it answers the same unless queues have come
 * or gone.
 *
 * Return: the queue, or NULL if none is backlogged.
 */
static noinline __maybe_unused struct rr_flow *ht_next(struct host_turns *ht)
{
	struct rr_flow *turn = rr_next(ht->rr);

	return turn ? rr_next(&ht_of_turn(turn)->queues) : NULL;
}

/**
 * ht_sent - the queue that ht_next() returned has sent one packet
 * @ht: hosts and queues
 * @f: that queue, which must be in a host
 * @queue: its number
 * @cost: what the packet costs, as rr_cost() has it
 * @memory: that it occupied (bytes): its host has less
 * @more: whether it has another packet
 */
static noinline __maybe_unused void ht_sent(struct host_turns *ht, struct rr_flow *f,
					    u32 queue, u32 cost, u32 memory, bool more)
{
	struct ht_host *host = ht_host_of(ht, queue);

	PRECONDITION(host);
	rr_sent(&host->queues, f, cost, more);
	rr_sent(ht->rr, &host->turn, cost, host->queues.active);
	host->packets--;
	host->memory -= memory;
	ht->active -= !more;
}

/**
 * ht_charge - a queue, and its host, pay for a packet that it has lost
 * @ht: hosts and queues
 * @f: the queue; one that has never been in a host pays nothing
 * @queue: its number
 * @cost: what the packet would have cost, as rr_cost() has it
 *
 * As rr_charge(), on both levels: where the host paid nothing, a host of one flow that
 * floods would not either, since in it nobody else waits.
 */
static noinline __maybe_unused void ht_charge(struct host_turns *ht, struct rr_flow *f,
					      u32 queue, u32 cost)
{
	struct ht_host *host = ht_host_of(ht, queue);

	if (unlikely(!host))
		return;
	rr_charge(&host->queues, f, cost);
	rr_charge(ht->rr, &host->turn, cost);
}

/**
 * ht_set_weight - give a queue more or fewer shares
 * @ht: hosts and queues
 * @f: the queue
 * @queue: its number
 * @weight: shares of its host's, or of the link if it is alone, as rr_set_weight() has them
 */
static inline void ht_set_weight(struct host_turns *ht, struct rr_flow *f,
				 u32 queue, u32 weight)
{
	struct ht_host *host = ht_host_of(ht, queue);

	rr_set_weight(host ? &host->queues : ht->rr, f, weight);
	if (host && host->turn.of_caller && rr_is_backlogged(f))
		ht_weigh(ht, host, rr_weight(f));
}

/**
 * ht_credit - what a queue may send before it waits for its host's others
 * @ht: hosts and queues
 * @f: the queue
 * @queue: its number
 *
 * Return: as rr_credit(), in its host; 0 if it has never been in one.
 */
static inline s64 ht_credit(const struct host_turns *ht, const struct rr_flow *f,
			    u32 queue)
{
	const struct ht_host *host = ht_host_of(ht, queue);

	return host ? rr_credit(&host->queues, f) : 0;
}

/**
 * ht_restart - another quantum or unit: forget who has sent how much
 * @ht: hosts and queues
 * @quantum: as for rr_restart()
 *
 * Idle hosts follow when they are backlogged again. Takes time linear in the backlogged
 * queues.
 */
static inline void ht_restart(struct host_turns *ht, u32 quantum)
{
	struct rr_flow *turn;
	unsigned int list;

	rr_for_each_backlogged(ht->rr, list, turn)
		rr_restart(&ht_of_turn(turn)->queues, quantum);
	rr_restart(ht->rr, quantum);
}

/**
 * ht_set_at_once - whether who asks is served at once, at both levels
 * @ht: hosts and queues
 * @at_once: as for rr_set_at_once()
 *
 * Idle hosts follow when they are backlogged again. Takes time linear in the backlogged
 * hosts.
 */
static inline void ht_set_at_once(struct host_turns *ht, bool at_once)
{
	struct rr_flow *turn;
	unsigned int list;

	rr_for_each_backlogged(ht->rr, list, turn)
		rr_set_at_once(&ht_of_turn(turn)->queues, at_once);
	rr_set_at_once(ht->rr, at_once);
}

/**
 * ht_count - what waits in a queue, and so in its host, has become more or less
 * @ht: hosts and queues
 * @queue: its number
 * @packets: how many more; less by wrapping around
 * @memory: that they occupy (bytes), likewise
 */
static noinline __maybe_unused void ht_count(struct host_turns *ht, u32 queue, u32 packets,
					     u32 memory)
{
	struct ht_host *host = ht_host_of(ht, queue);

	if (unlikely(!host))
		return;
	host->packets += packets;
	host->memory += memory;
}

/**
 * ht_buffer - the part of the buffer that is a host's by its weight
 * @ht: hosts and queues
 * @queue: number of a queue of the host
 * @buffer: all of it (packets)
 *
 * Return: packets, rounded down; all of it where the queue's host is not backlogged.
 */
static inline u32 ht_buffer(const struct host_turns *ht, u32 queue, u32 buffer)
{
	const struct ht_host *host = ht_host_of(ht, queue);

	if (!host || !rr_is_backlogged(&host->turn))
		return buffer;
	return div_u64((u64)buffer * rr_weight(&host->turn), ht->rr->shares);
}

/**
 * ht_shares - shares of a host that its backlogged queues have together
 * @ht: hosts and queues
 * @queue: number of a queue of the host
 *
 * Return: the sum of their weights.
 */
static inline u32 ht_shares(const struct host_turns *ht, u32 queue)
{
	const struct ht_host *host = ht_host_of(ht, queue);

	return host ? host->queues.shares : 0;
}

/**
 * typedef ht_key_fn - what part of the buffer a queue takes, to be compared
 * @f: the queue
 * @context: the caller's
 *
 * Return: a larger number for a larger part.
 */
typedef u64 (*ht_key_fn)(const struct rr_flow *f, const void *context);

/**
 * ht_longest - the longest queue of a host, among HT_LOOKS of them
 * @ht: hosts and queues
 * @number: of the host, which must be below the number of queues
 * @key_of: tells how long a queue is
 * @context: for @key_of
 *
 * Those in the round are looked at first, in the order of their turns: new flows, of which
 * anyone may begin a thousand at once, hide none of them.
 *
 * Return: the queue, or NULL if none of the host is backlogged.
 */
static inline struct rr_flow *ht_longest(const struct host_turns *ht, u32 number,
					 ht_key_fn key_of, const void *context)
{
	static const u8 order[] = { RR_ROUND, RR_PARKED, RR_DEBTORS, RR_AHEAD };
	struct rr_flow *f, *longest = NULL;
	unsigned int i, looks = HT_LOOKS;
	u64 most = 0;

	PRECONDITION(number < ht->queues);
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		rr_for_each(&ht->hosts[number].queues, order[i], f) {
			u64 key;

			if (!looks--)
				return longest;
			key = key_of(f, context);
			/* of two that are equal the later one in memory, as in the heap */
			if (!longest || key > most || (key == most && f > longest)) {
				longest = f;
				most = key;
			}
		}
	}
	return longest;
}

/* how many of the queues from @first on are of one host */
static inline u32 ht_count_host(const struct host_turns *ht, u32 first, u32 count, u32 number)
{
	u32 of_it = 0, i;

	for (i = first; i < first + count; i++)
		of_it += ht->host_of[i] == number;
	return of_it;
}

/**
 * ht_share - where a flow goes that has no queue of its own
 * @ht: hosts and queues
 * @first: of the queues that it may have; must be below the number of queues
 * @count: how many there are; must be so many at least from @first on
 * @home: the one of them that it would share; must be one
 * @hash: of the flow's host
 * @waiting: how many packets a queue has; 0: it is idle
 * @context: for @waiting
 *
 * While one of them is idle none is emptied, and no flow is refused: whoever looked for an
 * idle one before may have looked at a part of them.
 *
 * Return: @home, which it shares, with a flow of its own host or where each host has two
 * queues at most; or an idle queue; or another one, which is to be emptied and becomes the
 * flow's, the longest of the host that has most; or HT_NONE: its own host has enough, and it is
 * refused.
 */
static inline u32 ht_share(const struct host_turns *ht, u32 first, u32 count, u32 home,
			   u32 hash, placing_waiting_fn waiting, const void *context)
{
	u32 own = 0, most = 0, longest = 0, found = home, i;

	PRECONDITION(first < ht->queues && count <= ht->queues - first);
	PRECONDITION(home - first < count);
	for (i = first; i < first + count; i++) {
		u32 number = ht->host_of[i];
		u32 of_it, packets;

		if (number == HT_NONE)
			continue;
		of_it = ht_count_host(ht, first, count, number);
		if (placing_owns(&ht->placing, number, hash)) {
			own = of_it;
			if (number == ht->host_of[home])
				return home;
			continue;
		}
		/* a host with two has another */
		if (i == home)
			continue;
		packets = waiting(context, i);
		if (of_it > most || (of_it == most && packets > longest)) {
			most = of_it;
			longest = packets;
			found = i;
		}
	}
	if (most < own + 2 && own <= 1)
		return home;
	for (i = first; i < first + count; i++)
		if (!waiting(context, i))
			return i;
	return most >= own + 2 ? found : HT_NONE;
}

/**
 * ht_any - a backlogged queue
 * @ht: hosts and queues
 *
 * To visit all of them, each of which is then taken out by ht_idle().
 *
 * Return: the queue, or NULL if there is none.
 */
static inline struct rr_flow *ht_any(const struct host_turns *ht)
{
	struct rr_flow *turn = rr_any(ht->rr);

	return turn ? rr_any(&ht_of_turn(turn)->queues) : NULL;
}

#endif /* _FQ_RR_HOST_TURNS_H */
