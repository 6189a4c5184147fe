/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which acknowledgments belong to one train, and what service time they show.
 *
 * A train is what left the sender back to back, with one send time. Where the
 * bottleneck serves flows in turn, its segments leave the bottleneck one
 * service time apart, and so arrive their acknowledgments (packet-pair
 * memorandum of 1994, section 3: mu_b = P / s_b). The original sends pairs and
 * marks them in a header; here a train is recognised by the send time that the
 * stack keeps for the newest delivered segment, and it is long enough for a
 * receiver that acknowledges several segments at once.
 *
 * The sample of a train is
 *
 *	(time of its last ACK - time of its first) / segments the later ACKs cover
 *
 * and not a mean of single gaps: ACKs that arrive bunched shift time between
 * the gaps of one train, but neither sum.
 */
#ifndef _PAIR_PROBE_H
#define _PAIR_PROBE_H

#include "portable.h"

/* service times are nanoseconds with ten binary places: 88-byte segments at
 * 100 Gbit/s take 7 ns, and one place in the last bit is 0.014 % of that
 */
#define PAIR_SERVICE_SHIFT	10
/* longest service time, 60 s: past it the sample is worth nothing. A train is
 * followed for 2^32 ns: trains that would last longer than an eighth of a second
 * are not sent, but for the memorandum's pairs
 */
#define PAIR_SPAN_MAX_NS	(60ULL * NSEC_PER_SEC)
/* segments one sample may count, in eight bits; a train is at most 64, and of a
 * longer first flight the beginning will do
 */
#define PAIR_SEGMENTS_MAX	255U

/* a lone segment whose ACK comes this long after an ACK for several did not cause
 * it by arriving: receivers wait 40 ms (Linux) and more
 */
#define PAIR_DELAYED_ACK_NS	(30ULL * NSEC_PER_MSEC)

/* trains in a row that gave no gap before the train is lengthened: three, so that
 * one merged ACK does not do it
 */
#define PAIR_SINGLE_ACKS	3U
/* trains in a row that could have been shorter before they are: a round trip
 * or so at the usual window, so that the length does not flap
 */
#define PAIR_TRAINS_TOO_LONG	32U
/* trains that a mean takes at least, and at most: four, so that a receiver's
 * phase does not show; at most what 16 bits of segments can hold
 */
#define PAIR_MEAN_TRAINS	4U
#define PAIR_MEAN_TRAINS_MAX	60U
/* between one segment per ACK and two */
#define PAIR_PER_ACK_ONE_Q4	24U
/* A pause inside a train is time beyond what its segments should have taken, in
 * service times: more than a train of four shows where nine neighbours become busy
 * at once
 */
#define PAIR_PAUSE_SEGMENTS	9U
/* A train that shows a gap of a stock receiver's, which acknowledges every second segment */
#define PAIR_TRAIN_SHOWS_GAP	4U
/* The longest that bursts of ACKs ask for: two of 64 are a round trip of most paths, in which
 * one then shows no gap
 */
#define PAIR_TRAIN_BURSTS	36U
/* An eighth longer than believed is long; what is dense is less than two eighths */
#define PAIR_LONG_SHIFT		3
/* ACKs sixteen times as close as believed are a bunch, if a train beside them took
 * longer than believed: a share does not change so much and back
 */
#define PAIR_DENSE_SHIFT	4
/* Where ACKs come in bunches, a train a quarter longer than believed does not hold
 * pause and bunch yet: twice as long it is an eighth longer at most
 */
#define PAIR_UNEVEN_SHIFT	2
/* weight of a new observation of segments per ACK: 1/8, as for SRTT */
#define PAIR_PER_ACK_SHIFT	3

/**
 * enum pair_verdict - what became of a train
 * @PAIR_OPEN: the train is still coming back
 * @PAIR_SAMPLE: it gave a service time
 * @PAIR_ONE_ACK: all of it was acknowledged at once: no gap
 * @PAIR_RETRANSMITTED: part of it was sent twice
 * @PAIR_HELD: an ACK waited for the socket's owner, its time is not its arrival
 * @PAIR_DELAYED_ACK: the receiver's timer sent an ACK, not a segment's arrival;
 *	or all ACKs but the first may be such
 * @PAIR_DRAINED: it was cut by a window that drains the queue
 * @PAIR_COMPRESSED: faster than any link: the ACKs were bunched on their way
 * @PAIR_VERDICTS: number of verdicts
 */
enum pair_verdict {
	PAIR_OPEN,
	PAIR_SAMPLE,
	PAIR_ONE_ACK,
	PAIR_RETRANSMITTED,
	PAIR_HELD,
	PAIR_DELAYED_ACK,
	PAIR_DRAINED,
	PAIR_COMPRESSED,
	PAIR_VERDICTS,
};

/**
 * struct pair_probe - the train that is coming back, and the length of the next
 * @first_ns: arrival of its first ACK (low 32 bits)
 * @span_ns: from there to the arrival of the newest ACK that counts
 * @sent_us: its send time (low 32 bits), which tells it from others
 * @first_tick: the receiver's clock at its first ACK, ms
 * @ticks: from there to the newest ACK that counts, ms
 * @per_ack_q4: segments the receiver acknowledges at once, smoothed
 * @segments: segments covered by the ACKs after the first, up to @span_ns
 * @waiting: segments covered since then, by ACKs smaller than usual, saturating
 * @train: segments of the trains to send
 * @first_segments: segments its first ACK covered, saturating
 * @too_long: trains in a row that were longer than needed
 * @open: a train is coming back
 * @singles: trains in a row that gave no gap
 * @paused: there was a pause inside the last train, and none in that before
 * @dense: the last train's ACKs came closer than a share can grow
 * @bunched: trains were lengthened because ACKs come in bunches
 * @suspected: a bunch was seen in the last PAIR_TRAINS_TOO_LONG trains
 * @flaw: enum pair_verdict that spoils the train, or PAIR_OPEN
 */
struct pair_probe {
	u32 first_ns;
	u32 span_ns;
	u32 sent_us;
	u32 first_tick;
	u16 ticks;
	u16 per_ack_q4;
	u8 segments;
	u8 waiting;
	u8 train;
	u8 first_segments;
	u8 too_long:5,
	   flaw:3;
	/* together, so that one look says that all is as usual */
	u8 open:1,
	   singles:2,
	   paused:1,
	   dense:1,
	   bunched:1,
	   suspected:1;
};

static_assert(PAIR_VERDICTS <= 1 << 3, "does not fit its bits");

static_assert(PAIR_TRAINS_TOO_LONG == 1 << 5, "does not fit its bits");

/* or a dense train could pass for a usual one */
static_assert(PAIR_DENSE_SHIFT >= PAIR_LONG_SHIFT, "is not out of line");

/**
 * struct pair_ack - one acknowledgment that delivered something
 * @now_ns: arrival
 * @sent_us: send time of the newest segment delivered so far
 * @segments: segments it delivered, cumulatively and selectively
 * @tick: the receiver's clock when it left there, ms
 * @fills_hole: the stack sends again, so that an ACK may cover all that came after a hole:
 *	that it is one ACK says nothing of the receiver
 * @flaw: what makes it useless as the end of a gap, or PAIR_OPEN
 */
struct pair_ack {
	u64 now_ns;
	u32 sent_us;
	u32 segments;
	u32 tick;
	bool fills_hole;
	enum pair_verdict flaw;
};

/**
 * struct pair_sample - a train that has come back
 * @span_ns: time from its first ACK to its last
 * @segments: segments covered after the first ACK
 * @ticks: @span_ns by the receiver's clock, ms
 * @verdict: whether @span_ns / @segments is a service time, and if not why
 */
struct pair_sample {
	u64 span_ns;
	u32 segments;
	u32 ticks;
	enum pair_verdict verdict;
};

/**
 * struct pair_limits - bounds of a train
 * @train_min: segments; must be at least 1; may change at any time
 * @train_max: segments; must be 1 to 255; holds where @train_min is larger; likewise
 * @service_min_ns: a shorter service time is a bunch of ACKs, not a link
 * @train_min_ns: time at the bottleneck below which a train is lengthened, ns;
 *	must be below 2^53
 * @train_max_ns: time at the bottleneck above which it is shortened, ns; must be
 *	below 2^53
 */
struct pair_limits {
	u32 train_min;
	u32 train_max;
	u32 service_min_ns;
	u64 train_min_ns;
	u64 train_max_ns;
};

/**
 * pair_probe_init - no train under way
 * @p: the probe
 * @train: segments of the first trains; beyond 1 to 255, the nearest of these
 */
static inline void pair_probe_init(struct pair_probe *p, u32 train)
{
	memset(p, 0, sizeof(*p));
	p->train = (u8)clamp_t(u32, train, 1, U8_MAX);
	/* RFC 5681: one ACK for every second full segment; or, at first, for every */
	p->per_ack_q4 = PAIR_PER_ACK_ONE_Q4 + 1;
}

/**
 * pair_probe_abandon - drop the train that is coming back
 * @p: the probe
 *
 * What was learned about the receiver stays.
 */
static inline void pair_probe_abandon(struct pair_probe *p)
{
	p->open = 0;
	p->flaw = PAIR_OPEN;
}

/* The sample of the train so far */
static inline struct pair_sample
pair_probe_peek(const struct pair_probe *p, const struct pair_limits *limits)
{
	struct pair_sample s = {
		.span_ns = p->span_ns,
		.segments = p->segments,
		.ticks = p->ticks,
		.verdict = PAIR_SAMPLE,
	};

	if (!p->open)
		s.verdict = PAIR_OPEN;
	else if (p->flaw != PAIR_OPEN)
		s.verdict = p->flaw;
	else if (!p->segments && !p->waiting)
		s.verdict = PAIR_ONE_ACK;
	else if (!p->segments)
		s.verdict = PAIR_DELAYED_ACK;
	else if (s.span_ns < (u64)p->segments * limits->service_min_ns)
		s.verdict = PAIR_COMPRESSED;
	return s;
}

/* Twice what the receiver acknowledges at once: then every train gives a gap */
static inline u32 pair_probe_wanted(const struct pair_probe *p)
{
	/* rounded up, but for the quarter that smoothing leaves */
	return 2 * ((p->per_ack_q4 + 12U) >> 4);
}

/* Shortest train; whoever set the bounds may set others meanwhile */
static inline u32 pair_train_min(const struct pair_limits *limits)
{
	return READ_ONCE(limits->train_min);
}

/* Longest train, which holds where the shortest is longer */
static inline u32 pair_train_max(const struct pair_limits *limits)
{
	return READ_ONCE(limits->train_max);
}

/* Bounded from below first, so that any two values of the bounds give a train */
static inline u8 pair_train_clamp(u32 train, u32 train_min, u32 train_max)
{
	return (u8)min_t(u32, max_t(u32, train, train_min), train_max);
}

/* Smooth what the receiver acknowledges at once */
static inline void pair_probe_per_ack(struct pair_probe *p, u32 segments)
{
	p->per_ack_q4 += ((s32)(segments << 4) - p->per_ack_q4 +
			  (1 << (PAIR_PER_ACK_SHIFT - 1)) - 1) >> PAIR_PER_ACK_SHIFT;
}

/* Whether a train with a gap teaches nothing: the common case in a few instructions */
static inline bool pair_probe_settled(const struct pair_probe *p, const struct pair_limits *limits)
{
	u32 train = p->train;

	return max_t(u32, pair_probe_wanted(p), pair_train_min(limits)) == train &&
	       train <= pair_train_max(limits) && !p->singles && !p->bunched && !p->suspected;
}

/* Learn the train length from the way a train came back. A train that the
 * application cut short proves nothing by its single ACK: what came back must be
 * half of what a train should be. Halves do prove something: where the next ACK is
 * more than a millisecond away the stack does not wait for the rest of a train, and
 * once it has sent a half, the other half goes before the next train, whose own
 * half waits, and so on. A longer train has parts that show a gap.
 */
static noinline __maybe_unused void
pair_probe_adapt(struct pair_probe *p, bool no_gap, const struct pair_limits *limits)
{
	const u32 train_min = pair_train_min(limits), train_max = pair_train_max(limits);
	u32 wanted = max_t(u32, pair_probe_wanted(p), train_min);
	u32 train = p->train;

	PRECONDITION(train_min && train_max && train_max <= U8_MAX);
	if (no_gap) {
		u32 segments = p->first_segments + p->waiting;

		p->too_long = 0;
		if (2 * segments < train)
			return;
		if (++p->singles < PAIR_SINGLE_ACKS)
			return;
		p->singles = 0;
		/* an ACK may cover many trains */
		train = 2 * max_t(u32, train, segments);
	} else {
		p->singles = 0;
		if (wanted >= train) {
			p->bunched = 0;
			/* wraps after PAIR_TRAINS_TOO_LONG */
			if (p->suspected && !++p->too_long)
				p->suspected = 0;
		} else if (p->too_long < PAIR_TRAINS_TOO_LONG - 1) {
			p->too_long++;
		} else {
			p->too_long = 0;
			train = max_t(u32, wanted, train / 2);
		}
	}
	p->train = pair_train_clamp(train, train_min, train_max);
}

/* What it usually acknowledges at once: 2 from where PAIR_PER_ACK_ONE_Q4 ends */
static inline u32 pair_probe_usual(const struct pair_probe *p)
{
	return (p->per_ack_q4 + 31U - PAIR_PER_ACK_ONE_Q4 - 1) >> 4;
}

/**
 * pair_probe_ack - take an acknowledgment
 * @p: the probe
 * @ack: the acknowledgment
 * @limits: bounds of the train length, and the shortest service time
 *
 * The first ACK of the next train closes the one before it. The segments that
 * this first ACK covers are not counted: part of them may belong to the train
 * before, and a gap begins only where they end.
 *
 * Nor are those counted that an ACK smaller than usual covers at a train's end. A
 * receiver that merges, for a time or up to a number of segments, or holds its
 * SACKs back, acknowledges the rest when its timer fires, and that is no arrival.
 *
 * Return: the train that @ack closed, with its verdict; PAIR_OPEN if none.
 */
static __always_inline struct pair_sample
pair_probe_ack(struct pair_probe *p, const struct pair_ack *ack,
	       const struct pair_limits *limits)
{
	struct pair_sample closed = { .verdict = PAIR_OPEN };
	u32 segments = min_t(u32, ack->segments, PAIR_SEGMENTS_MAX);

	if (p->open && ack->sent_us == p->sent_us) {
		u32 span_ns = (u32)ack->now_ns - p->first_ns;
		u32 covered = p->waiting + segments;

		if (segments == 1 && p->first_segments > 1 &&
		    span_ns - p->span_ns > PAIR_DELAYED_ACK_NS)
			p->flaw = PAIR_DELAYED_ACK;
		if (segments < pair_probe_usual(p)) {
			p->waiting = (u8)min_t(u32, covered, PAIR_SEGMENTS_MAX);
		} else if (p->segments + covered <= PAIR_SEGMENTS_MAX) {
			p->segments = (u8)(p->segments + covered);
			p->span_ns = span_ns;
			p->ticks = (u16)min_t(u32, ack->tick - p->first_tick, U16_MAX);
			p->waiting = 0;
		}
		pair_probe_per_ack(p, segments);
	} else {
		closed = pair_probe_peek(p, limits);
		if (closed.verdict == PAIR_SAMPLE) {
			if (unlikely(!pair_probe_settled(p, limits)))
				pair_probe_adapt(p, false, limits);
		} else if (p->open && p->flaw == PAIR_OPEN && !p->segments && !ack->fills_hole) {
			pair_probe_adapt(p, true, limits);
		}
		p->first_ns = (u32)ack->now_ns;
		p->span_ns = 0;
		p->first_tick = ack->tick;
		p->ticks = 0;
		p->sent_us = ack->sent_us;
		p->segments = 0;
		p->waiting = 0;
		p->first_segments = (u8)segments;
		p->open = 1;
		p->flaw = PAIR_OPEN;
		/* a lone one may be all there was */
		if (segments > 1)
			pair_probe_per_ack(p, segments);
	}
	if (ack->flaw != PAIR_OPEN)
		p->flaw = ack->flaw & 7;
	return closed;
}

/**
 * pair_service_time - service time of a sample (memorandum, section 3)
 * @s: a sample, whose verdict must be PAIR_SAMPLE, of a segment at least, and whose span
 *	must be below 2^54 ns
 *
 * Return: ns with PAIR_SERVICE_SHIFT binary places, 1 ns/1024 .. 60 s; rounded
 * down.
 */
static inline u64 pair_service_time(const struct pair_sample *s)
{
	u64 time;

	PRECONDITION(s->verdict == PAIR_SAMPLE && s->segments);
	PRECONDITION(s->span_ns < 1ULL << 54);
	time = div_u64(s->span_ns << PAIR_SERVICE_SHIFT, s->segments);
	return clamp_t(u64, time, 1, PAIR_SPAN_MAX_NS << PAIR_SERVICE_SHIFT);
}

/* What an unusual train says of bunches; out of line, since few are */
static noinline __maybe_unused void
pair_probe_unusual(struct pair_probe *p, u32 segments, u64 took_q10, u64 believed_q10,
		   const struct pair_limits *limits)
{
	bool is_long = took_q10 > believed_q10 + (believed_q10 >> PAIR_LONG_SHIFT);
	bool is_dense = took_q10 << PAIR_DENSE_SHIFT < believed_q10;
	bool pause = false, uneven = false, bunch, lengthen;

	if (is_long) {
		pause = (took_q10 - believed_q10) * segments >
			PAIR_PAUSE_SEGMENTS * believed_q10;
		/* of a train that was cut it is no wonder */
		uneven = p->bunched && 2 * segments > p->train;
	}
	bunch = is_long ? p->dense : p->paused;
	lengthen = (bunch && p->suspected) ||
		   (uneven && took_q10 - believed_q10 >
			      believed_q10 >> PAIR_UNEVEN_SHIFT);
	p->paused = pause && !p->paused;
	p->dense = is_dense;
	if (lengthen) {
		p->bunched = 1;
		p->train = pair_train_clamp(2 * p->train, pair_train_min(limits),
					    pair_train_max(limits));
	}
	if (bunch)
		p->suspected = 1;
	if (uneven)
		p->too_long /= 2;
	if (bunch || lengthen || (pause && p->bunched))
		p->too_long = 0;
}

/**
 * pair_probe_bunched - whether ACKs come in bunches; lengthens the trains if so
 * @p: the probe
 * @segments: segments of a train with verdict PAIR_SAMPLE; must be at most 255
 * @took_q10: its service time, ns in PAIR_SERVICE_SHIFT places; must be at most 2^47
 * @believed_q10: the one that is believed, in the same unit; must be at most 2^47
 * @limits: bounds of the train length
 *
 * Where ACKs wait for each other on their way, behind packets that go there or for
 * an interrupt, a short train mostly comes back inside one bunch, as fast as ACKs
 * can follow each other, and now and then across the pause between two. Packets
 * smaller than their neighbours' leave in bunches, too. Such gaps are right in the
 * mean and nowhere else, and many in a row are short. What shows it is a pause
 * inside a train and none in the next, or a dense train and a long one after it. A
 * share that has grown has no long train after the short ones, one that has shrunk
 * none without a pause. One may be a coincidence of many neighbours; where there is
 * another within PAIR_TRAINS_TOO_LONG trains, these are doubled until they hold pause
 * and bunch.
 *
 * Nor are the gaps right in the mean where trains are about as long as a bunch: they
 * fall into step with the pauses, which all come inside the trains, or all between
 * them. So once bunches are known, a whole train that is a quarter longer than
 * believed doubles the trains, and such as are an eighth longer, if they are more
 * than a few, keep their length.
 *
 * Return: whether a train's service time says nothing by itself.
 */
static inline bool pair_probe_bunched(struct pair_probe *p, u32 segments,
				      u64 took_q10, u64 believed_q10,
				      const struct pair_limits *limits)
{
	u64 eighth_q10 = believed_q10 >> PAIR_LONG_SHIFT;

	PRECONDITION(segments <= PAIR_SEGMENTS_MAX);
	PRECONDITION(took_q10 <= 1ULL << 47 && believed_q10 <= 1ULL << 47);
	/* the common case in a few instructions: from two eighths to nine */
	if (took_q10 - 2 * eighth_q10 > believed_q10 - eighth_q10 || p->dense || p->paused)
		pair_probe_unusual(p, segments, took_q10, believed_q10, limits);
	return p->bunched;
}

/**
 * pair_probe_lengthen - trains are as short as bunches of ACKs are: double them
 * @p: the probe
 * @limits: bounds of the train length
 */
static inline void pair_probe_lengthen(struct pair_probe *p, const struct pair_limits *limits)
{
	p->bunched = 1;
	p->too_long = 0;
	p->train = pair_train_clamp(2 * p->train, pair_train_min(limits),
				    pair_train_max(limits));
}

/** pair_probe_hold - the trains of @p are not shortened for now */
static inline void pair_probe_hold(struct pair_probe *p)
{
	p->too_long = 0;
}

/**
 * struct pair_mean - samples of several trains, on the way to one service time
 * @span_ns: sum of their spans
 * @since_us: arrival of the first of them (low 32 bits)
 * @segments: sum of the segments they cover
 * @trains: how many
 */
struct pair_mean {
	u64 span_ns;
	u32 since_us;
	u16 segments;
	u16 trains;
};

/**
 * pair_mean_add - take a train's sample into the mean
 * @m: the mean so far; of PAIR_MEAN_TRAINS_MAX trains, it takes no more and stays due
 * @s: a sample, whose verdict must be PAIR_SAMPLE
 * @now_us: time (low 32 bits)
 * @least_us: shortest time to average over
 *
 * For a moment a neighbour's queue runs empty, and every gap of that moment is
 * short by its packets. Believed train by train, it makes all others send more
 * for a round trip, until their queues overflow and theirs run empty in turn.
 * So what is averaged is sums, over PAIR_MEAN_TRAINS trains at least and the
 * time that the caller's round trip deserves; sums of times and of segments,
 * because a mean of gaps would be biased where packet sizes are mixed.
 *
 * Return: whether the mean is due, for pair_mean_take().
 */
static inline bool pair_mean_add(struct pair_mean *m, const struct pair_sample *s,
				 u32 now_us, u32 least_us)
{
	PRECONDITION(s->verdict == PAIR_SAMPLE);
	if (m->trains >= PAIR_MEAN_TRAINS_MAX)
		return true;
	if (!m->trains)
		m->since_us = now_us;
	m->span_ns += s->span_ns;
	m->segments += (u16)s->segments;
	m->trains++;
	return m->trains >= PAIR_MEAN_TRAINS &&
	       (m->trains >= PAIR_MEAN_TRAINS_MAX || now_us - m->since_us >= least_us);
}

/**
 * pair_mean_take - the mean of what was added; begins the next one
 * @m: the mean, which must be of at least one train
 *
 * Return: a sample with verdict PAIR_SAMPLE.
 */
static inline struct pair_sample pair_mean_take(struct pair_mean *m)
{
	const struct pair_sample mean = {
		.span_ns = m->span_ns,
		.segments = m->segments,
		.verdict = PAIR_SAMPLE,
	};

	PRECONDITION(m->trains);
	memset(m, 0, sizeof(*m));
	return mean;
}

/**
 * pair_train - segments of the next train
 * @p: the probe
 * @service_q10: service time of one segment, ns in PAIR_SERVICE_SHIFT places; must
 *	be at least 1
 * @prop_us: propagation delay; 0: unknown
 * @limits: bounds of the train
 *
 * What the receiver's ACKs ask for; more where that would last less than
 * train_min_ns, fewer, down to a single segment, where it would last longer
 * than train_max_ns. What bursts of ACKs, and halves that leave alone, ask for beyond
 * twice of it is no more than half of what a propagation delay holds: two longer
 * trains, the least window, would be a queue of as much.
 *
 * Return: 1 .. train_max.
 */
static inline u32 pair_train(const struct pair_probe *p, u64 service_q10, u32 prop_us,
			     const struct pair_limits *limits)
{
	const u32 asked = max_t(u32, pair_probe_wanted(p), pair_train_min(limits));
	u64 shortest, longest, train, pipe;

	PRECONDITION(service_q10 && pair_train_max(limits) && pair_train_max(limits) <= U8_MAX);
	PRECONDITION(limits->train_min_ns < 1ULL << 53 && limits->train_max_ns < 1ULL << 53);
	shortest = div64_u64(limits->train_min_ns << PAIR_SERVICE_SHIFT, service_q10);
	longest = div64_u64(limits->train_max_ns << PAIR_SERVICE_SHIFT, service_q10);
	/* half of it; 2^32 * 10^3 * 2^9 is below 2^51 */
	pipe = div64_u64((u64)prop_us * NSEC_PER_USEC << (PAIR_SERVICE_SHIFT - 1), service_q10);
	train = p->train;
	if (prop_us)
		train = min_t(u64, train, max_t(u64, 2 * asked,
						min_t(u64, pipe, PAIR_TRAIN_BURSTS)));
	train = max_t(u64, train, shortest);
	train = min_t(u64, train, max_t(u64, longest, 1));
	return (u32)min_t(u64, train, pair_train_max(limits));
}

#endif /* _PAIR_PROBE_H */
