/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a round trip says of the share that gaps have shown.
 *
 * A gap is a hypothesis: a train that a faster bottleneck served and a train whose ACKs
 * came in one burst look alike. What was delivered in a period of a round trip or more,
 * and how long its packets waited, confirm the share or do not:
 *
 *	CONTRADICTED	every packet waited for longer than the flow's own queue
 *			takes; or for a turn while less than half of the share was
 *			delivered, as gaps show too, or while much was lost and not
 *			for the first time: the share is no more than what was
 *			delivered, and trains that showed more were bursts of ACKs
 *	DELIVERED	no train showed a gap, and packets waited or many were lost:
 *			what was delivered is the share
 *	UNCONFIRMED	no train showed a gap, none waited and few were lost, and at
 *			least half of the share was delivered: it may have grown, and
 *			some of that is claimed
 *	CONFIRMED	none of these
 *
 * Two clocks can measure a period. The sender's clock has nanoseconds, and all that happens
 * to ACKs on their way back is in it. The receiver's clock, which it sends in its time
 * stamps, has milliseconds (RFC 7323) and knows nothing of the way back. Where ACKs are held
 * up together, only the receiver's clock tells a burst of ACKs from a bottleneck that serves
 * others between two trains.
 *
 * Between periods deliveries bound what gaps may show: round_bound_q10().
 *
 * Service times are in ns with ten binary places (_q10), as in pair_probe.h.
 */
#ifndef _ROUND_CHECK_H
#define _ROUND_CHECK_H

#include "portable.h"

/* A period is of so many packets at least: two trains */
#define ROUND_PACKETS_LEAST	8U
/* and of a quarter more than a propagation delay, so that ACKs in slots of up to a
 * quarter of it have one hand-over at least
 */
#define ROUND_LONGER_SHIFT	2
/* Packets that wait for an eighth of the propagation delay more than their queue should
 * take contradict the share: less is jitter
 */
#define ROUND_WAIT_SHIFT	3
/* Where much is lost, a wait of a turn and a sixteenth of the propagation delay is jitter: merged
 * ACKs and small buffers show as much where flows are served in turn
 */
#define ROUND_JITTER_SHIFT	4
/* While no share is known, a round trip that is a quarter longer than the propagation delay
 * shows a queue
 */
#define ROUND_QUEUE_SHIFT	2
/* their queue: the setpoint and a train, twice, since it swings by as much */
#define ROUND_QUEUES		2
/* what a period finds delivered in a round trip may be an eighth less than a window: the last ACK
 * of either is still to come
 */
#define ROUND_SEEN_SHIFT	3
/* Gaps that show an eighth less than deliveries do are bursts of ACKs: with trains of
 * four, counts are whole ACKs, and differ by less
 */
#define ROUND_AGREE_SHIFT	3
#define ROUND_AGREES_Q8		(256U - (256U >> ROUND_AGREE_SHIFT))
/* of a period's packets, the part that may be lost before trains are shortened: 1/32 */
#define ROUND_LOSS_SHIFT	5
/* and where losses are random: 1/8 */
#define ROUND_RANDOM_SHIFT	3
/* What such a period counts for. One without takes back one. Where all is taken back, trains are
 * doubled, which counts as much. 24 periods last 1.2 s on a path of 40 ms: the losses of a small
 * buffer come in single periods, with some ten others between
 */
#define ROUND_LOSSES		24U
/* The most that is counted; a period that brings the count there halves the trains. Not the
 * first two: a neighbour that comes or goes costs as many, and shortened trains show no gap
 * when the share grows
 */
#define ROUND_LOSSY		(3 * ROUND_LOSSES)
/* halvings of trains: 64 becomes 1 */
#define ROUND_SHORTER_MAX	6U
/* A share is at most three times what was delivered in a round trip, or four times where ACKs are
 * many, since those are many trains; half more, if deliveries had followed the share for long; a
 * quarter more, where a policer may have dropped the rest; and no more than was delivered while the
 * share is doubted. In quarters.
 */
#define ROUND_TRUST_Q2		12U
#define ROUND_TRUST_MANY_Q2	16U
#define ROUND_TRUST_STEADY_Q2	6U
#define ROUND_TRUST_POLICER_Q2	5U
#define ROUND_TRUST_DOUBTED_Q2	4U
/* Deliveries follow a share that they miss by an eighth at most: a period's edges are as much */
#define ROUND_STEADY_SHIFT	3
/* Where a flow of the same kind has left, the others' queues run empty, gaps show the link, and
 * what each can have is known when all have answered. Who had his share for eight periods waits
 * for up to three more then. Where other traffic comes and goes, eight periods in a row are
 * seldom alike, and what is free must be taken at once.
 */
#define ROUND_STEADY		8U
#define ROUND_STEADY_MOST	16U
#define ROUND_STEADY_FALL	4U
/* ACKs are many in a round trip if none came for no more than an eighth of it */
#define ROUND_MANY_SHIFT	3
/* Fewer packets than a first flight count as a first flight (RFC 6928) */
#define ROUND_FIRST_FLIGHT	10U
/* ACKs of a first flight that show that they come one by one: all of a stock receiver's,
 * whose longest gap is no longer than two mean ones
 */
#define ROUND_FIRST_ACKS	5U
#define ROUND_FIRST_EVEN	2U
/* and whose time by the receiver's clock is no longer, but for truncation at both ends */
#define ROUND_FIRST_TICKS	2U
/* The first claim beyond a share that nothing confirms is an eighth of the service time,
 * then a quarter, then halves: one every second period, for a claim is seen a period later
 */
#define ROUND_CLAIM_SHIFT	3
#define ROUND_CLAIM_LAST	5U
/* Of periods in which packets waited and no train showed a gap, every fourth is followed by
 * a claim: a receiver that merges ACKs, and whose timer sends them, would else let a
 * flow starve
 */
#define ROUND_WAITS		4U
/* Claims that came true in a row before shortened trains are lengthened: the buffer is no
 * longer full
 */
#define ROUND_CLAIM_LONGER	3U
/* A policer's rate is probed by 1/128 of the service time in each period without a loss, by
 * twice as much after each eight of these in a row, and by an eighth at most: what looked like a
 * policer may have been a small buffer
 */
#define ROUND_PROBE_SHIFT	7
#define ROUND_PROBE_PERIODS	8U
#define ROUND_PROBE_FASTER	4U
/* Packets that leave at once are lost there at any rate: once the policer's rate is known,
 * losses lower it by an eighth at most
 */
#define ROUND_SLOWER_SHIFT	3
/* and to a sixteenth below what was delivered, so that the next probe finds some of a burst's
 * room
 */
#define ROUND_BUCKET_SHIFT	4
/* Trains that were contradicted stay long for twice so many periods, and twice as many after
 * each relapse, up to 16 << 6 = 1024
 */
#define ROUND_BURST		16U
#define ROUND_BURSTS_MAX	6U
/* What the first packet waited is told for 10 s: two clocks differ by 1 ms then, with 100
 * parts in a million
 */
#define ROUND_FIRST_US		10000000U
/* ACKs of the first round trip, or the receiver's timer may have sent them */
#define ROUND_FIRST_LEAST	3U
/* The receiver's clock has a tick of a millisecond. It is believed if it agrees with the
 * sender's within a factor of two over 16 ticks at least
 */
#define ROUND_TICK_US		1000U
#define ROUND_TICKS_LEAST	16U
/* Truncation is wrong by up to one tick for each span. So the spans must be eight ticks in
 * sum and one each in the mean
 */
#define ROUND_SPANS_LEAST	8U
/* The way back has become longer by a quarter of the propagation delay or more: less is
 * what ACKs wait for each other
 */
#define ROUND_BACK_SHIFT	2
/* of a period's packets, the part that good trains must cover to say anything: an eighth
 * since in a queue that overflows many trains have lost a packet
 */
#define ROUND_COVERED_SHIFT	3
/* Without the receiver's clock: ACKs were held up together if none came for longer than two
 * of the flow's trains take
 */
#define ROUND_SILENT_TRAINS	2U
/* A period says nothing if more than three quarters of it, and more than two of its shortest
 * round trips, were one silence: what the stack takes for lost after it is no rate
 */
#define ROUND_SILENT_SHIFT	2
#define ROUND_SILENT_ROUNDS	2
/* longest period and round trip, 100 s; longest service time, and sum of spans */
#define ROUND_MAX_US		100000000U
#define ROUND_SERVICE_MAX_Q10	(1ULL << 47)
#define ROUND_SPAN_MAX_NS	(1ULL << 53)
/* largest ratio of two service times that is told, 4 */
#define ROUND_SERVED_MAX_Q8	1024U

/**
 * enum round_verdict - what a period says of the share
 * @ROUND_GOES_ON: the period is not over
 * @ROUND_CONFIRMED: nothing against it
 * @ROUND_CONTRADICTED: it is less, by what was delivered and what all packets waited
 * @ROUND_DELIVERED: no gap, but a wait or many losses
 * @ROUND_UNCONFIRMED: no gap, no wait, few losses or none
 */
enum round_verdict {
	ROUND_GOES_ON,
	ROUND_CONFIRMED,
	ROUND_CONTRADICTED,
	ROUND_DELIVERED,
	ROUND_UNCONFIRMED,
};

/**
 * struct round_check - the period under way, and what periods before left; zero at first
 * @span_ns: sum of the spans of the period's trains, by the sender's clock
 * @segments: segments that these spans cover
 * @trains: how many trains
 * @ticks: sum of the same spans by the receiver's clock
 * @since_tick: the receiver's clock when the period began; 0: unknown
 * @since_us: when the period began (low 32 bits)
 * @delivered: packets delivered until then
 * @rtt_min_us: smallest round trip of the period
 * @there_us: smallest time on the way there in the period, from one clock to the other
 * @there_least_us: smallest ever
 * @slowest_q10: longest service time that the gaps of a period showed while the first packet is
 *	told of, or the first train while it came back; 0: there were none
 * @first_us: when the first round trip ended (low 32 bits)
 * @first_rtt_us: shortest round trip until then; 0: unknown, or it is too long ago
 * @first_there_us: its @there_least_us
 * @lost: packets lost in the period
 * @last_ack_us: when the last ACK came (low 32 bits)
 * @first_ack_us: when the first of all came
 * @silence_us: longest time between two ACKs in the period
 * @silence_before_us: in the one before
 * @hold: periods that trains stay long for
 * @acks: of the connection, up to 255
 * @lossy: periods with many losses, ROUND_LOSSES each, less one for each without
 * @claims: periods in a row that nothing confirmed the share; at a policer, without a loss
 * @waits: periods without a gap in which packets waited
 * @steady: periods in which deliveries followed the share, up to ROUND_STEADY_MOST, less
 *	ROUND_STEADY_FALL for each in which they did not
 * @bursts: contradictions of trains, less one for each hold that has ended
 * @shorter: halvings of the trains
 * @policed: a policer's rate has been found
 * @slowed: at a policer the period before ended with a lower share
 * @first_over: the first round trip has ended
 * @first_lost: its first packet did not arrive first, or was not acknowledged by itself
 * @limited: deliveries of the period say nothing of the share
 * @doubted: the share was contradicted by a period with many losses: until one without, gaps show
 *	no more than deliveries do
 * @started: the period is under way
 * @there_known: @there_least_us is valid
 * @there_seen: @there_us is valid
 */
struct round_check {
	u64 span_ns;
	u64 slowest_q10;
	u32 segments;
	u32 trains;
	u32 ticks;
	u32 since_tick;
	u32 since_us;
	u32 delivered;
	u32 rtt_min_us;
	u32 there_us;
	u32 there_least_us;
	u32 first_us;
	u32 first_rtt_us;
	u32 first_there_us;
	u32 lost;
	u32 last_ack_us;
	u32 first_ack_us;
	u32 silence_us;
	u32 silence_before_us;
	u16 hold;
	u8 acks;
	u8 lossy;
	u8 claims;
	u8 waits;
	u8 steady;
	u8 bursts:3,
	   shorter:3,
	   there_known:1,
	   there_seen:1;
	u8 first_over:1,
	   first_lost:1,
	   policed:1,
	   slowed:1,
	   doubted:1,
	   limited:1,
	   started:1;
};

static_assert(ROUND_BURSTS_MAX < 1 << 3 && ROUND_SHORTER_MAX < 1 << 3 &&
	      ROUND_BURST << ROUND_BURSTS_MAX <= U16_MAX &&
	      ROUND_LOSSY + ROUND_LOSSES <= U8_MAX, "does not fit its bits");

/**
 * struct round_seen - what is known where a period may end
 * @service_q10: the share that is believed; 0: none yet; beyond ROUND_SERVICE_MAX_Q10, that
 * @now_us: time (low 32 bits)
 * @tick: the receiver's clock, ms; 0: unknown
 * @delivered: packets delivered so far (wraps)
 * @prop_us: propagation delay; beyond ROUND_MAX_US, that
 * @queue: setpoint and train, packets; beyond U16_MAX, that
 * @train: segments of the trains; beyond U16_MAX, that
 * @limited: not the network limited what was delivered: the application did, a drain
 *	of the queue, or the samples cannot be used
 * @policed: a policer drops what is above a rate
 * @random: losses are random
 * @probes: few trains are sent that can show a gap, and any of them counts
 * @missing: the first packet to be acknowledged was not the first of the flow, or not alone
 * @repairs: packets are missing before what has arrived. While the losses of a period
 *	are repaired trains stand apart, and deliver less than they show
 */
struct round_seen {
	u64 service_q10;
	u32 now_us;
	u32 tick;
	u32 delivered;
	u32 prop_us;
	u32 queue;
	u32 train;
	bool limited;
	bool policed;
	bool random;
	bool probes;
	bool missing;
	bool repairs;
};

/**
 * struct round_found - what a period has shown
 * @service_q10: the share by it: ns, up to ROUND_SERVICE_MAX_Q10; 0: none yet
 * @delivered_q10: time of the period over the packets delivered in it
 * @slowest_q10: longest service time that the gaps of a period showed, or the first train
 * @waited_us: shortest wait of its packets, on the way there where the receiver's clock tells
 * @first_waited_us: what the first packet waited, by what is known now; 0: nothing, no gap has
 *	shown a turn, or it is too long ago
 * @back_us: what the way back is longer than in the propagation delay; 0: by no more than
 *	2^-ROUND_BACK_SHIFT of that, or it cannot be told
 * @silence_us: longest time between two ACKs, in this period and the one before; 0: not told by
 *	both clocks
 * @served_q8: what the trains' gaps show, over what was delivered, 256: the same, up to
 *	ROUND_SERVED_MAX_Q8; 0: it says nothing
 * @verdict: what the period says of the share
 * @faster: gaps had shown more than twice what was delivered
 * @bursts: trains are to be doubled, since they showed bursts of ACKs
 * @limited: not the network limited what was delivered
 * @lossy: more than 2^-ROUND_LOSS_SHIFT of the packets were lost, or 2^-ROUND_RANDOM_SHIFT where
 *	losses are random
 */
struct round_found {
	u64 service_q10;
	u64 delivered_q10;
	u64 slowest_q10;
	u32 waited_us;
	u32 first_waited_us;
	u32 back_us;
	u32 silence_us;
	u32 served_q8;
	enum round_verdict verdict;
	bool faster;
	bool bursts;
	bool limited;
	bool lossy;
};

/* A period begins */
static inline void round_check_begin(struct round_check *r, const struct round_seen *seen)
{
	r->span_ns = 0;
	r->segments = 0;
	r->trains = 0;
	r->ticks = 0;
	r->since_tick = seen->tick;
	r->since_us = seen->now_us;
	r->delivered = seen->delivered;
	r->rtt_min_us = U32_MAX;
	r->there_seen = 0;
	r->lost = 0;
	r->silence_before_us = r->silence_us;
	r->silence_us = 0;
	r->limited = 0;
	r->started = 1;
}

/**
 * round_check_due - whether the period under way is long enough
 * @r: the check
 * @now_us: time (low 32 bits)
 * @prop_us: propagation delay; beyond ROUND_MAX_US, that
 *
 * In a queue a round trip is longer than the period.
 */
static inline bool round_check_due(const struct round_check *r, u32 now_us, u32 prop_us)
{
	prop_us = min_t(u32, prop_us, ROUND_MAX_US);
	return now_us - r->since_us >= prop_us + (prop_us >> ROUND_LONGER_SHIFT) && r->started;
}

/**
 * round_check_ack - an ACK delivered something
 * @r: the check
 * @now_us: when it came (low 32 bits)
 */
static inline void round_check_ack(struct round_check *r, u32 now_us)
{
	u32 silence_us = now_us - r->last_ack_us;

	r->last_ack_us = now_us;
	if (unlikely(r->acks < U8_MAX) && !r->acks++) {
		r->first_ack_us = now_us;
		return;
	}
	if (silence_us > r->silence_us)
		r->silence_us = silence_us;
}

/**
 * round_check_rtt - a packet came back
 * @r: the check
 * @rtt_us: its round trip
 * @there_us: from its departure by the sender's clock to its arrival by the receiver's;
 *	wraps, and only differences count
 *
 * Return: what it waited on the way there.
 */
static inline u32 round_check_rtt(struct round_check *r, u32 rtt_us, u32 there_us)
{
	if (rtt_us < r->rtt_min_us)
		r->rtt_min_us = rtt_us;
	/* a period's first is the period's smallest */
	if (unlikely(!r->there_seen)) {
		r->there_us = there_us;
		if (!r->there_known)
			r->there_least_us = there_us;
		r->there_seen = 1;
		r->there_known = 1;
	}
	if ((s32)(there_us - r->there_us) < 0)
		r->there_us = there_us;
	if ((s32)(there_us - r->there_least_us) < 0)
		r->there_least_us = there_us;
	return there_us - r->there_least_us;
}

/** round_check_midway - the flow has sent before, and its first packet tells nothing */
static inline void round_check_midway(struct round_check *r)
{
	r->first_over = 1;
}

/** round_check_void - nothing came for long: the period under way says nothing of the share */
static inline void round_check_void(struct round_check *r)
{
	r->limited = 1;
}

/** round_check_lost - so many @packets were lost */
static inline void round_check_lost(struct round_check *r, u32 packets)
{
	r->lost += min_t(u32, packets, U32_MAX - r->lost);
}

/**
 * round_check_train - a train has shown a gap
 * @r: the check
 * @span_ns: from its first ACK to its last that counts
 * @segments: covered by these
 * @ticks: the same span by the receiver's clock, ms
 */
static inline void round_check_train(struct round_check *r, u64 span_ns, u32 segments, u32 ticks)
{
	r->span_ns += min_t(u64, span_ns, ROUND_SPAN_MAX_NS - r->span_ns);
	r->segments = (u32)min_t(u64, (u64)r->segments + segments, U32_MAX);
	r->ticks = (u32)min_t(u64, (u64)r->ticks + ticks, U32_MAX);
	if (likely(r->trains < U32_MAX))
		r->trains++;
}

/**
 * round_check_turn - the first train, while it comes back, shows a turn of this flow
 * @r: the check
 * @service_q10: the turn, ns; beyond ROUND_SERVICE_MAX_Q10, that
 *
 * What makes a first train late may be gone when the train is whole.
 */
static inline void round_check_turn(struct round_check *r, u64 service_q10)
{
	r->slowest_q10 = max_t(u64, r->slowest_q10,
			       min_t(u64, service_q10, ROUND_SERVICE_MAX_Q10));
}

/**
 * round_check_resize - packets are of another size, and a turn is another time
 * @r: the check
 * @now_bytes: payload of a packet from now on; 0 counts as 1
 * @before_bytes: until now; likewise
 */
static inline void round_check_resize(struct round_check *r, u16 now_bytes, u16 before_bytes)
{
	const u32 before = max_t(u16, before_bytes, 1);
	/* 2^47 * 2^16 is below 2^63; to the nearest, as sizes may change again and again */
	u64 scaled = r->slowest_q10 * max_t(u16, now_bytes, 1) + before / 2;

	r->slowest_q10 = 0;
	round_check_turn(r, div_u64(scaled, before));
}

/* A time over a number of packets, as a service time */
static inline u64 round_service_q10(u64 time_us, u64 packets)
{
	/* 10^8 * 10^3 * 2^10 is below 2^47 */
	u64 time_q10 = min_t(u64, time_us, ROUND_MAX_US) * NSEC_PER_USEC << 10;

	return max_t(u64, div64_u64(time_q10, max_t(u64, packets, 1)), 1);
}

/* Whether most of a period was one silence, as before a probe of the stack. Not by the
 * propagation delay, which may be wrong.
 */
static inline bool round_was_silent(const struct round_check *r, u32 time_us)
{
	return r->silence_us > time_us - (time_us >> ROUND_SILENT_SHIFT) &&
	       r->silence_us > (u64)ROUND_SILENT_ROUNDS * r->rtt_min_us;
}

/* Longest time between two ACKs in this period and the one before */
static inline u32 round_silence_us(const struct round_check *r)
{
	return max_t(u32, r->silence_us, r->silence_before_us);
}

/**
 * round_first_even - whether the ACKs of a first flight came one by one
 * @r: the check
 * @span_ns: from its first ACK to its last
 * @ticks: the same by the receiver's clock, ms
 *
 * ACKs that were held up together come as fast as they can follow each other, and then
 * none for a time. A first flight whose ACKs come at equal distances, and left the receiver
 * in no longer a time, is one that a bottleneck has spread.
 */
static inline bool round_first_even(const struct round_check *r, u64 span_ns, u32 ticks)
{
	u32 gaps = r->acks - 1U;

	return r->acks >= ROUND_FIRST_ACKS &&
	       (u64)ticks * ROUND_TICK_US * NSEC_PER_USEC <=
	       span_ns + ROUND_FIRST_TICKS * ROUND_TICK_US * NSEC_PER_USEC &&
	       (u64)round_silence_us(r) * gaps <=
	       (u64)ROUND_FIRST_EVEN * (r->last_ack_us - r->first_ack_us);
}

/**
 * round_bound_q10 - the shortest service time that deliveries allow
 * @r: the check
 * @delivered: packets delivered in an interval; fewer than a first flight count as one
 * @interval_us: the interval, a round trip or a little more
 * @suspected: what was lost may have been dropped by a policer
 *
 * Return: ns with ten places, at least 1.
 */
static inline u64 round_bound_q10(const struct round_check *r, u32 delivered, u32 interval_us,
				  bool suspected)
{
	u32 trust_q2 = ROUND_TRUST_Q2;

	if (r->doubted)
		trust_q2 = ROUND_TRUST_DOUBTED_Q2;
	else if (suspected)
		trust_q2 = ROUND_TRUST_POLICER_Q2;
	else if (r->steady >= ROUND_STEADY)
		trust_q2 = ROUND_TRUST_STEADY_Q2;
	else if (round_silence_us(r) <= interval_us >> ROUND_MANY_SHIFT)
		trust_q2 = ROUND_TRUST_MANY_Q2;
	return round_service_q10(interval_us, (u64)max_t(u32, delivered, ROUND_FIRST_FLIGHT) *
				 trust_q2 >> 2);
}

/* How long a queue of the flow's own makes its packets wait at most, us */
static inline u64 round_wait_us(u64 service_q10, u32 prop_us, u32 queue)
{
	/* 2^43 * 2^17 is below 2^64 */
	u64 queue_ns = (service_q10 >> 4) * (ROUND_QUEUES * (u64)min_t(u32, queue, U16_MAX)) >>
		       (10 - 4);

	return (prop_us >> ROUND_WAIT_SHIFT) + div_u64(queue_ns, NSEC_PER_USEC);
}

/**
 * round_waited_long - whether a packet met a longer queue than the flow asks for
 * @rtt_us: its round trip
 * @prop_us: propagation delay; beyond ROUND_MAX_US, that
 * @service_q10: service time of a packet, ns; beyond ROUND_SERVICE_MAX_Q10, that
 * @queue: packets of the flow that may wait at once; beyond U16_MAX, that
 *
 * Return: whether the round trip is longer than such a queue makes it.
 */
static inline bool round_waited_long(u32 rtt_us, u32 prop_us, u64 service_q10, u32 queue)
{
	prop_us = min_t(u32, prop_us, ROUND_MAX_US);
	service_q10 = min_t(u64, service_q10, ROUND_SERVICE_MAX_Q10);
	return rtt_us > prop_us + round_wait_us(service_q10, prop_us, queue);
}

/**
 * round_shows_queue - whether a round trip ends a slow start's growth
 * @rtt_us: the round trip; 0: unknown
 * @prop_us: propagation delay; U32_MAX: unknown, so that none does
 * @window: packets that it delivers; 0 counts as 1
 * @queue: packets of the flow that may wait at once; beyond U16_MAX, that
 *
 * Growth doubles the queue in a round trip, and a period needs longer to tell its cause. What ends
 * growth is late for round_judge() as well, or neither growth nor a service time would come. A
 * period may find somewhat less delivered in a round trip.
 */
static inline bool round_shows_queue(u32 rtt_us, u32 prop_us, u32 window, u32 queue)
{
	u32 seen = max_t(u32, window - (window >> ROUND_SEEN_SHIFT), 1);
	u64 service_q10 = div_u64(((u64)rtt_us * NSEC_PER_USEC) << 10, seen);

	return rtt_us > (u64)prop_us + (prop_us >> ROUND_QUEUE_SHIFT) &&
	       round_waited_long(rtt_us, prop_us, service_q10, queue);
}

/**
 * round_check_another_law - another law steers from here on
 * @r: the check
 *
 * The lengths that the other law's trains have come to are not this one's.
 */
static inline void round_check_another_law(struct round_check *r)
{
	r->hold = 0;
	r->shorter = 0;
	r->lossy = 0;
	r->steady = 0;
	r->doubted = 0;
}

/* Trains that a small buffer cannot hold are lost in part */
static inline void round_check_losses(struct round_check *r, bool lossy, u32 train)
{
	if (lossy) {
		r->lossy = min_t(u32, r->lossy + ROUND_LOSSES, ROUND_LOSSY);
		r->shorter += r->lossy == ROUND_LOSSY && train > 1 &&
			      r->shorter < ROUND_SHORTER_MAX;
	} else if (r->lossy) {
		r->lossy--;
	} else if (r->shorter) {
		r->shorter--;
		r->lossy = ROUND_LOSSES;
	}
}

/* The service time to try where nothing confirms it. While some is lost, no claim is beyond the
 * first: its own packets may be what is lost.
 */
static inline u64 round_claim_q10(struct round_check *r, u64 service_q10)
{
	u32 shift;

	if (r->lost)
		r->claims &= 1;
	/* every second period */
	r->claims = r->claims < ROUND_CLAIM_LAST ? r->claims + 1U : ROUND_CLAIM_LAST - 1;
	if (!(r->claims & 1))
		return service_q10;
	shift = ROUND_CLAIM_SHIFT - r->claims / 2;
	return max_t(u64, service_q10 - (service_q10 >> shift), 1);
}

/* And where packets waited, but no train shows whether for this flow's queue or for the
 * receiver's timer
 */
static inline u64 round_waited_q10(struct round_check *r, u64 service_q10)
{
	if (++r->waits % ROUND_WAITS)
		return service_q10;
	return max_t(u64, service_q10 - (service_q10 >> ROUND_CLAIM_SHIFT), 1);
}

/* What the period's trains show; there are some */
static inline u64 round_shown_q10(const struct round_check *r)
{
	/* 2^53 * 2^10 is below 2^64 */
	return min_t(u64, div_u64(r->span_ns << 10, max_t(u32, r->segments, 1)),
		     ROUND_SERVICE_MAX_Q10);
}

/* What the trains show over what was delivered */
static inline u32 round_ratio_q8(u64 shown_q10, u64 delivered_q10)
{
	return (u32)min_t(u64, div64_u64(min_t(u64, shown_q10, ROUND_SERVICE_MAX_Q10) << 8,
					 delivered_q10), ROUND_SERVED_MAX_Q8);
}

/* The period by the receiver's clock, us; 0: that clock is of no use */
static inline u64 round_receivers_us(const struct round_check *r, const struct round_seen *seen,
				     u32 time_us)
{
	u64 ticks_us = (u64)(u32)(seen->tick - r->since_tick) * ROUND_TICK_US;

	if (!seen->tick || !r->since_tick || ticks_us < ROUND_TICKS_LEAST * ROUND_TICK_US ||
	    2 * ticks_us <= time_us || ticks_us >= 2ULL * time_us)
		return 0;
	return ticks_us;
}

/* What the trains show over what was delivered, by the receiver's clock. Return: whether
 * its ticks are fine enough.
 */
static inline bool round_by_receiver(const struct round_check *r, u64 ticks_us, u32 packets,
				     struct round_found *found)
{
	u64 shown_q10;

	if (!ticks_us || r->ticks < ROUND_SPANS_LEAST || r->ticks < r->trains)
		return false;
	/* A span may be a tick longer than its ticks, and is in each train if trains keep step
	 * with the clock: half of it. 2^33 * 10^6 / 2 * 2^10 is below 2^62.
	 */
	shown_q10 = div_u64((2ULL * r->ticks + r->trains) *
			    (ROUND_TICK_US * NSEC_PER_USEC / 2) << 10, r->segments);
	found->served_q8 = max_t(u32, found->served_q8,
				 round_ratio_q8(shown_q10, round_service_q10(ticks_us, packets)));
	return true;
}

/* What the trains show over what was delivered. Return: whether their ACKs came in bursts. */
static inline bool round_compare(const struct round_check *r, const struct round_seen *seen,
				 u64 ticks_us, u32 packets, struct round_found *found)
{
	u64 silence_q10 = (u64)round_silence_us(r) * NSEC_PER_USEC << 10;
	bool dense;

	if (found->limited || !r->segments)
		return false;
	found->served_q8 = round_ratio_q8(round_shown_q10(r), found->delivered_q10);
	dense = found->served_q8 < ROUND_AGREES_Q8;
	if (round_by_receiver(r, ticks_us, packets, found))
		dense = dense && found->served_q8 >= ROUND_AGREES_Q8;
	else if (div64_u64(silence_q10, found->delivered_q10) >
		 ROUND_SILENT_TRAINS * min_t(u32, seen->train, U16_MAX))
		found->served_q8 = 0;
	if (!seen->probes && r->segments < packets >> ROUND_COVERED_SHIFT)
		found->served_q8 = 0;
	return dense;
}

/* At a policer. What is found lost right after a change was sent before it. */
static inline void round_judge_policed(struct round_check *r, struct round_found *found)
{
	bool slows = r->lost && !r->slowed;

	if (slows) {
		u64 believed_q10 = found->service_q10, delivered_q10 = found->delivered_q10;

		found->verdict = ROUND_DELIVERED;
		if (r->policed)
			found->service_q10 = clamp_t(u64, delivered_q10 +
						     (delivered_q10 >> ROUND_BUCKET_SHIFT),
						     believed_q10, believed_q10 +
						     (believed_q10 >> ROUND_SLOWER_SHIFT));
		else
			found->service_q10 = max_t(u64, delivered_q10, believed_q10);
	} else if (!r->lost) {
		found->verdict = ROUND_UNCONFIRMED;
		found->service_q10 = min_t(u64, found->delivered_q10, found->service_q10);
		r->claims += r->claims < U8_MAX;
		found->service_q10 -= found->service_q10 >>
			(ROUND_PROBE_SHIFT - min_t(u32, r->claims / ROUND_PROBE_PERIODS,
						   ROUND_PROBE_FASTER));
	}
	r->policed = 1;
	r->slowed = slows;
}

/* Whether deliveries follow the share */
static inline void round_judge_steady(struct round_check *r, const struct round_found *found)
{
	u64 believed_q10 = found->service_q10;

	if (found->limited || !believed_q10)
		r->steady = 0;
	else if (found->delivered_q10 <= believed_q10 + (believed_q10 >> ROUND_STEADY_SHIFT))
		r->steady += r->steady < ROUND_STEADY_MOST;
	else
		r->steady -= min_t(u32, r->steady, ROUND_STEADY_FALL);
}

/* The verdict, and the share by it */
static inline void round_judge(struct round_check *r, const struct round_seen *seen,
			       bool dense, struct round_found *found)
{
	u64 delivered_q10 = found->delivered_q10, believed_q10 = found->service_q10;
	u32 prop_us = min_t(u32, seen->prop_us, ROUND_MAX_US);
	bool late = found->waited_us > round_wait_us(delivered_q10, prop_us, seen->queue);
	u64 waited_ns = (u64)found->waited_us * NSEC_PER_USEC, turn_ns = believed_q10 >> 10;
	u64 jitter_ns = (u64)(prop_us >> ROUND_JITTER_SHIFT) * NSEC_PER_USEC;
	/* a service time is a turn: less is no queue of its own */
	bool waited = waited_ns > turn_ns;
	bool agree = found->served_q8 >= ROUND_AGREES_Q8;
	/* while what other periods lost is remembered: of one, flows that join may be the cause */
	bool lossy = found->lossy && r->lossy && waited_ns > turn_ns + jitter_ns;

	found->verdict = ROUND_CONFIRMED;
	r->doubted &= found->limited || found->lossy;
	r->slowed &= seen->policed && !found->limited;
	r->policed &= seen->policed;
	round_judge_steady(r, found);
	if (found->limited)
		return;
	if (!believed_q10) {
		/* nothing was believed, and the queue has overflowed or is long */
		if (r->lost || late) {
			found->verdict = ROUND_DELIVERED;
			found->service_q10 = delivered_q10;
		}
	} else if (seen->policed) {
		round_judge_policed(r, found);
	} else if ((waited && found->faster && (agree || lossy)) ||
		   (late && (dense || delivered_q10 > believed_q10))) {
		found->verdict = ROUND_CONTRADICTED;
		found->service_q10 = min_t(u64, delivered_q10,
					   found->lossy ? U64_MAX : 2 * believed_q10);
		r->doubted = found->lossy;
		found->bursts = dense && !(seen->repairs && r->lossy);
	} else if (!r->trains && !found->lossy && !waited) {
		/* Deliveries have not followed what was claimed before: something else than
		 * the network limits them, and claims would grow for as long as it does
		 */
		if (found->faster)
			return;
		found->verdict = ROUND_UNCONFIRMED;
		found->service_q10 = round_claim_q10(r, min_t(u64, believed_q10, delivered_q10));
	} else if (!r->trains) {
		found->verdict = ROUND_DELIVERED;
		found->service_q10 = r->lost ? delivered_q10 : round_waited_q10(r, delivered_q10);
	}
}

/* What is remembered of the verdict */
static inline void round_remember(struct round_check *r, const struct round_seen *seen,
				  const struct round_found *found)
{
	round_check_losses(r, found->lossy, seen->train);
	if (r->hold && !--r->hold && r->bursts)
		r->bursts--;
	if (found->bursts) {
		r->bursts += r->bursts < ROUND_BURSTS_MAX;
		r->hold = (u16)(ROUND_BURST << r->bursts);
	}
	if (found->verdict != ROUND_UNCONFIRMED)
		r->claims = 0;
	else if (r->claims >= ROUND_CLAIM_LONGER && r->shorter && !seen->policed)
		r->shorter--;
}

/* The first flight has come back. Where its first packet was lost, or few ACKs came, what it
 * waited may be for the flow itself or for the receiver's timer.
 */
static inline void round_first_over(struct round_check *r, const struct round_seen *seen,
				    u32 prop_us)
{
	if (r->first_over)
		return;
	r->first_over = 1;
	if (!r->there_known || r->acks < ROUND_FIRST_LEAST || r->first_lost)
		return;
	r->first_us = seen->now_us;
	r->first_rtt_us = prop_us;
	r->first_there_us = r->there_least_us;
}

/* What the first packet waited. The turn that it may have waited for is one that gaps showed: at a
 * FIFO that others fill little is delivered, and gaps show the link.
 */
static inline u32 round_first_waited_us(struct round_check *r, const struct round_seen *seen,
					u32 prop_us)
{
	u32 waited_us, there_us;

	if (!r->first_rtt_us)
		return 0;
	if (seen->now_us - r->first_us > ROUND_FIRST_US) {
		r->first_rtt_us = 0;
		return 0;
	}
	if (r->segments)
		round_check_turn(r, round_shown_q10(r));
	if (!r->slowest_q10)
		return 0;
	waited_us = max_t(u32, r->first_rtt_us, prop_us) - prop_us;
	if (!seen->tick)
		return waited_us;
	/* a tick may be all that the receiver's clock shows */
	there_us = max_t(u32, r->first_there_us - r->there_least_us, ROUND_TICK_US) -
		   ROUND_TICK_US;
	return min_t(u32, waited_us, there_us);
}

/**
 * round_check_end - a round trip has ended, and the period with it if it is long enough
 * @r: the check
 * @seen: what is known now
 *
 * Return: what the period has shown, if it is over; the next one has begun then.
 */
static inline struct round_found
round_check_end(struct round_check *r, const struct round_seen *seen)
{
	u32 prop_us = min_t(u32, seen->prop_us, ROUND_MAX_US);
	u32 packets = seen->delivered - r->delivered;
	u32 time_us = seen->now_us - r->since_us;
	struct round_found found = {
		.service_q10 = min_t(u64, seen->service_q10, ROUND_SERVICE_MAX_Q10),
	};
	u64 ticks_us;
	bool dense;

	if (!r->started) {
		r->first_lost = seen->missing;
		round_check_begin(r, seen);
		return found;
	}
	round_first_over(r, seen, prop_us);
	r->limited |= seen->limited;
	if (packets < ROUND_PACKETS_LEAST || !round_check_due(r, seen->now_us, prop_us))
		return found;

	found.first_waited_us = round_first_waited_us(r, seen, prop_us);
	found.slowest_q10 = r->slowest_q10;
	found.delivered_q10 = round_service_q10(time_us, packets);
	found.limited = r->limited || r->rtt_min_us == U32_MAX ||
			round_was_silent(r, time_us);
	found.faster = found.service_q10 && found.delivered_q10 > 2 * found.service_q10;
	found.lossy = r->lost > packets >> (seen->random ? ROUND_RANDOM_SHIFT : ROUND_LOSS_SHIFT);
	if (r->rtt_min_us != U32_MAX)
		found.waited_us = max_t(u32, r->rtt_min_us, prop_us) - prop_us;
	ticks_us = round_receivers_us(r, seen, time_us);
	if (ticks_us && r->there_seen && !found.limited) {
		u32 there_us = min_t(u32, found.waited_us, r->there_us - r->there_least_us);

		if (found.waited_us - there_us > prop_us >> ROUND_BACK_SHIFT)
			found.back_us = found.waited_us - there_us;
		found.waited_us = there_us;
		found.silence_us = round_silence_us(r);
	}
	dense = round_compare(r, seen, ticks_us, packets, &found);
	round_judge(r, seen, dense, &found);
	found.service_q10 = min_t(u64, found.service_q10, ROUND_SERVICE_MAX_Q10);
	round_remember(r, seen, &found);
	round_check_begin(r, seen);
	return found;
}

/**
 * round_train_most - the longest train that losses allow
 * @r: the check
 * @train: segments of the train without them
 * @least: segments of the shortest
 *
 * Return: segments, at least 1; @train, if that is below @least.
 */
static inline u32 round_train_most(const struct round_check *r, u32 train, u32 least)
{
	return max_t(u32, train >> r->shorter, clamp_t(u32, least, 1, max_t(u32, train, 1)));
}

#endif /* _ROUND_CHECK_H */
