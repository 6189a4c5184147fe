/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether the bottleneck serves flows in turn.
 *
 * Where it does, a train's packets leave it one turn apart, and so do all packets of a
 * flow that has some waiting: in a block of round trips in which every packet waited for
 * more than a turn, the queue never ran empty, and what the trains' gaps show is what was
 * delivered, whatever limits the sender:
 *
 *	c = service time by the block's trains * packets delivered / time = 1
 *
 * At a FIFO that others use, too, a train's packets leave it at the link's rate, and others'
 * packets between the trains: c is this flow's part of the link. In 20,862 round trips
 * over round robins c was 1.00 to 1.02 in the median, at FIFOs with others .20 to .84.
 *
 * A score sums up blocks that say so; blocks without a queue say nothing.
 */
#ifndef _IN_TURN_H
#define _IN_TURN_H

#include "portable.h"

#define IN_TURN_ONE_Q8		256U
/* c below which a block speaks for a FIFO, 0.9, and from which on for turns, 0.95: the
 * 5th percentile over round robins was 0.92
 */
#define IN_TURN_SHARED_Q8	230U
#define IN_TURN_TURNS_Q8	243U
/* All packets waited for so many turns: then the queue did not run empty */
#define IN_TURN_BUSY		3U
/* So many are enough behind a stock receiver, which acknowledges two segments at once; each
 * segment more in an ACK is a turn more
 */
#define IN_TURN_STOCK_ACK	2U
/* What a block counts for: the turns that its packets waited over this, three at most; two at
 * least where the queue overflowed
 */
#define IN_TURN_WEIGHT_TURNS	6U
#define IN_TURN_WEIGHT_Q4	(3U << 4)
#define IN_TURN_LOSSY_Q4	(2U << 4)
/* Score from which on the bottleneck is shared: three blocks of a long queue. A block that
 * speaks for turns counts twice
 */
#define IN_TURN_ALARM_Q4	(8U << 4)
/* Blocks in a row that speak for turns before the pair law steers again; twice as many after
 * each relapse, up to 8 << 3 = 64
 */
#define IN_TURN_RETURN		8U
#define IN_TURN_RELAPSES	3U
/* Round trips from one train that shows a gap to the next, while the bottleneck is shared: such
 * trains cost this flow a part of its share. With one in four round trips it had 0.75 of what
 * CUBIC gets there, with one in 12 0.94
 */
#define IN_TURN_PROBE_ROUNDS	12U
/* and once such a train has spoken for turns, since IN_TURN_RETURN of them must in a row */
#define IN_TURN_RETURN_ROUNDS	2U
/* What a first packet waited up to a 16th of the propagation delay is jitter */
#define IN_TURN_JITTER_SHIFT	4
/* of Ethernet: a full packet, and what a packet has beside its payload (bytes) */
#define IN_TURN_FULL_BYTES	1514U
#define IN_TURN_HEADER_BYTES	66U
/* Much is lost of a block, none of its packets waited for a turn, and no gap shows what was
 * delivered: a policer does so. Small buffers of a round robin do for some blocks, so that
 * eight are needed, or three where more than twice as much was believed; a block without
 * losses takes back one part in 48, for a flow that has lost much needs some ten to come back
 * to the rate that it lost at
 */
#define IN_TURN_DROPS		6U
#define IN_TURN_DROPS_FASTER	16U
#define IN_TURN_POLICED		48U
/* Blocks with a queue, or with gaps that show what was delivered, that end it */
#define IN_TURN_UNPOLICED	24U
/* A policer has one rate: a block that delivers less than half of what another did does not
 * count with it, for while flows join a small buffer each block delivers less than the one
 * before; and a policer that lets twice as much pass is gone
 */
#define IN_TURN_ONE_RATE	2U
/* It drops nothing below its rate: where as much is lost at a quarter of that, losses are random.
 * Not at a half, which may be what a flow that joins leaves. Of a flow whose packets have never
 * waited, as at a policer, at an eighth: several may share one
 */
#define IN_TURN_RANDOM		4U
#define IN_TURN_RANDOM_UNQUEUED	8U

/**
 * struct in_turn - what blocks have said so far
 * @alarms: how often @shared was set
 * @policed_us: from one turn to the next in the fastest of the blocks that spoke for a policer
 * @score_q4: of the blocks that spoke for a FIFO
 * @turns: blocks in a row that spoke for turns, since the alarm
 * @lossy: of the blocks that spoke for a policer; while @policed, blocks with a queue, or with
 *	gaps that show what was delivered, until it ends
 * @relapses: returns so far, at most IN_TURN_RELAPSES
 * @random: what seemed to be a policer dropped as much at a fraction of its rate
 * @queued: in some block all packets waited for a turn
 * @policed: what is above a rate is dropped, and no queue forms
 * @shared: the bottleneck does not serve in turn
 */
struct in_turn {
	u32 alarms;
	u32 policed_us;
	u8 score_q4;
	u8 turns;
	u8 lossy;
	u8 relapses:4,
	   random:1,
	   queued:1,
	   policed:1,
	   shared:1;
};

static_assert(IN_TURN_ALARM_Q4 + IN_TURN_WEIGHT_Q4 <= U8_MAX, "does not fit its bits");
static_assert(IN_TURN_RETURN << IN_TURN_RELAPSES <= U8_MAX, "does not fit its bits");
static_assert(IN_TURN_POLICED + IN_TURN_DROPS_FASTER <= U8_MAX, "does not fit its bits");

/**
 * struct in_turn_block - a block of round trips
 * @served_q8: c; 0: it says nothing
 * @waited_us: shortest wait of its packets
 * @turn_us: time from one turn of this flow to the next
 * @per_ack: segments that an ACK covers
 * @rounds: how many round trips
 * @lossy: much of it was lost
 * @faster: more than twice as much as was delivered was believed to be the share
 */
struct in_turn_block {
	u32 served_q8;
	u32 waited_us;
	u32 turn_us;
	u32 per_ack;
	u32 rounds;
	bool lossy;
	bool faster;
};

/**
 * in_turn_us - from one turn of a flow to the next
 * @service_q10: service time of one of its packets, ns in ten binary places; beyond 2^47, that
 * @payload_bytes: of that packet
 *
 * Where turns go by bytes, full packets of others come between a flow's own smaller ones.
 *
 * Return: us.
 */
static inline u32 in_turn_us(u64 service_q10, u32 payload_bytes)
{
	u32 packet = min_t(u64, (u64)payload_bytes + IN_TURN_HEADER_BYTES, IN_TURN_FULL_BYTES);
	/* 2^37 * 1514 is below 2^48 */
	u64 turn_ns = div_u64((min_t(u64, service_q10, 1ULL << 47) >> 10) * IN_TURN_FULL_BYTES,
			      packet);

	return (u32)min_t(u64, div_u64(turn_ns, NSEC_PER_USEC), U32_MAX);
}

/* What a block counts for: waited / turns, 1/16 to three, and no less than IN_TURN_LOSSY_Q4
 * where the queue overflowed
 */
static inline u32 in_turn_weight_q4(const struct in_turn_block *b)
{
	u64 turns = (u64)IN_TURN_WEIGHT_TURNS * max_t(u32, b->turn_us, 1);

	return (u32)clamp_t(u64, div64_u64((u64)b->waited_us << 4, turns),
			    b->lossy ? IN_TURN_LOSSY_Q4 : 1, IN_TURN_WEIGHT_Q4);
}

/* Wait from which on the queue did not run empty. An ACK tells only of the last packet that it
 * covers. The first of them waited less, by a turn for each packet between.
 */
static inline u64 in_turn_busy_us(const struct in_turn_block *b)
{
	u32 between = max_t(u32, b->per_ack, IN_TURN_STOCK_ACK) - IN_TURN_STOCK_ACK;

	return ((u64)IN_TURN_BUSY + between) * b->turn_us;
}

/* Whether a rate is enforced without a queue, and without a gap that shows it */
static inline void in_turn_losses(struct in_turn *t, const struct in_turn_block *b)
{
	bool waited = b->waited_us > b->turn_us;
	bool served = waited || b->served_q8 >= IN_TURN_SHARED_Q8;

	t->queued |= waited;
	if (t->policed) {
		if (!served)
			t->lossy = IN_TURN_UNPOLICED;
		else
			t->lossy--;
		t->random = b->lossy && !served &&
			    b->turn_us / (t->queued ? IN_TURN_RANDOM : IN_TURN_RANDOM_UNQUEUED) >
			    t->policed_us;
		if (!t->lossy || t->random || b->turn_us < t->policed_us / IN_TURN_ONE_RATE) {
			t->lossy = 0;
			t->policed = 0;
		}
	} else if (served) {
		t->lossy = 0;
	} else if (!b->lossy) {
		t->lossy -= t->lossy > 0;
	} else {
		if (!t->lossy || b->turn_us / IN_TURN_ONE_RATE > t->policed_us) {
			t->policed_us = b->turn_us;
			t->lossy = 0;
		}
		t->policed_us = min_t(u32, t->policed_us, b->turn_us);
		t->lossy += b->faster ? IN_TURN_DROPS_FASTER : IN_TURN_DROPS;
		t->policed = t->lossy >= IN_TURN_POLICED;
		if (t->policed) {
			t->lossy = IN_TURN_UNPOLICED;
			t->random = 0;
		}
	}
}

/**
 * in_turn_suspects_policer - whether blocks speak for a policer, and none has shown a queue
 * @t: the score
 *
 * Gaps show the link before a policer, and a flow that follows them loses most of what it sends
 * until the policer is found.
 */
static inline bool in_turn_suspects_policer(const struct in_turn *t)
{
	return t->lossy && !t->queued;
}

/* Another law from here on */
static inline bool in_turn_change(struct in_turn *t)
{
	if (t->shared)
		t->relapses += t->relapses < IN_TURN_RELAPSES;
	else
		t->alarms++;
	t->shared = !t->shared;
	t->score_q4 = 0;
	t->turns = 0;
	return true;
}

/**
 * in_turn_take - take a block
 * @t: the score
 * @b: the block, in which the network limited what was delivered
 *
 * Return: whether @t->shared has changed.
 */
static inline bool in_turn_take(struct in_turn *t, const struct in_turn_block *b)
{
	u32 weight_q4;

	in_turn_losses(t, b);
	if (!b->served_q8 || b->waited_us < in_turn_busy_us(b)) {
		/* a suspicion that nothing renews ends: a flow that sends little has long blocks */
		t->score_q4 -= min_t(u32, t->score_q4, max_t(u32, b->rounds, 1));
		return false;
	}
	if (t->shared) {
		t->turns = b->served_q8 < IN_TURN_TURNS_Q8 ? 0 : t->turns + 1;
		return t->turns >= IN_TURN_RETURN << t->relapses && in_turn_change(t);
	}
	weight_q4 = in_turn_weight_q4(b);
	if (b->served_q8 < IN_TURN_SHARED_Q8)
		t->score_q4 += (u8)weight_q4;
	else if (b->served_q8 >= IN_TURN_TURNS_Q8)
		t->score_q4 -= (u8)min_t(u32, t->score_q4, 2 * weight_q4);
	return t->score_q4 >= IN_TURN_ALARM_Q4 && in_turn_change(t);
}

/**
 * struct in_turn_first - the first packet of a flow
 * @waited_us: what it waited
 * @turn_us: longest time from one turn of this flow to the next
 * @prop_us: propagation delay
 */
struct in_turn_first {
	u32 waited_us;
	u32 turn_us;
	u32 prop_us;
};

/**
 * in_turn_take_first - take what the first packet waited
 * @t: the score
 * @first: that packet
 *
 * Where the bottleneck serves in turn, the first packet of a flow waits for a turn, whatever
 * queues the others have. If it waited for longer, the queue was others'. A flow that joins
 * a long queue would else take it for a part of the path, and see no wait.
 *
 * Return: whether @t->shared has changed.
 */
static inline bool in_turn_take_first(struct in_turn *t, const struct in_turn_first *first)
{
	u64 most_us = (u64)IN_TURN_BUSY * first->turn_us + (first->prop_us >> IN_TURN_JITTER_SHIFT);

	return !t->alarms && first->waited_us > most_us && in_turn_change(t);
}

/**
 * in_turn_has_most - whether this flow has more than half of a bottleneck that it shares
 * @b: a block that says something
 *
 * Every other flow has less, and a slow start would take it.
 */
static inline bool in_turn_has_most(const struct in_turn_block *b)
{
	return b->served_q8 > IN_TURN_ONE_Q8 / 2;
}

/**
 * in_turn_probe_rounds - round trips from one train that shows a gap to the next
 * @t: the score, while the bottleneck is shared
 */
static inline u32 in_turn_probe_rounds(const struct in_turn *t)
{
	return t->turns ? IN_TURN_RETURN_ROUNDS : IN_TURN_PROBE_ROUNDS;
}

/**
 * in_turn_least_train - the shortest train that keeps the bottleneck in sight
 * @t: the score
 * @shows_gap: segments of a train that shows a gap
 *
 * Where a buffer is small, trains are lost, and shorter ones show no gap. That is no harm
 * at a round robin; where blocks speak for a FIFO it would hide the others.
 *
 * Return: segments, at least 1.
 */
static inline u32 in_turn_least_train(const struct in_turn *t, u32 shows_gap)
{
	return !t->score_q4 || t->policed ? 1 : max_t(u32, shows_gap, 1);
}

#endif /* _IN_TURN_H */
