/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From service time, round trip and packets outstanding to a rate and a window.
 *
 *	n_b  = S - R / s_b                     queue at the bottleneck   (eq 12)
 *	RTT' = R + n_b * s_b                   round trip to come
 *	J    = attack * RTT'                   time to reach the setpoint
 *	rate = 1 / s_b + (B - n_b) / J         continuous law            (eq 14)
 *
 * (Keshav's packet-pair memorandum of 1994, sections 4.3, 7 and 8.) The queue
 * error decays as exp(-t / J), one stable pole.
 *
 * Packets are counted with eight binary places (_q8), service times in ns with
 * ten (_q10, PAIR_SERVICE_SHIFT), rates in payload bytes per second, because
 * that is what the stack's pacing charges.
 *
 * Where this is not the memorandum:
 *  - n_b: see queue_estimate.h.
 *  - The rate stays between half the share and twice the share, and a window
 *    does the rest. The stack fixes the departure of the next train when it
 *    sends one: a rate near zero, asked for during one wrong estimate, silences
 *    the flow for a round trip, its neighbours see its turn unused and take it,
 *    and all of them swing. A window is revoked by the next ACK.
 *  - After an overflow the window is guarded by what is delivered, because a service
 *    time that caused one cannot be measured anew while data is sent again.
 *  - The 1994 rise (a fifth of the way per pair while n_b < 2) is left out: an
 *    initial train of ten shows the share within one round trip, and the rate
 *    goes there at once.
 */
#ifndef _CONTROL_LAW_H
#define _CONTROL_LAW_H

#include "portable.h"

#define CONTROL_PACKET_Q8	256
#define CONTROL_SERVICE_SHIFT	10

/* Attack constants, towards the setpoint from below and from above: an eighth
 * of table 2's 1.5 and 0.8 round trips. The law has no integral part: where
 * pacing or s_b is off by a share e, the queue settles e * J / s_b packets
 * beside the setpoint, and with J of 1.5 round trips one percent of a pipe of
 * 440 is the whole setpoint. The original needed a long J because its n_b
 * carried the error of s_b times the pipe; this one does not, and follows what
 * is sent without delay. That the loop holds the setpoint with these, and comes
 * back to it from far above, is what the closed loop in the test shows.
 */
#define CONTROL_ATTACK_UP_Q8	48	/* 0.1875 round trips */
#define CONTROL_ATTACK_DOWN_Q8	26	/* 0.1 round trips */
/* the share, of which a correction is a part: 24 places leave a byte of 16 MB/s */
#define CONTROL_ONE_Q24		(1U << 24)

/* setpoint probing, table 2 */
#define CONTROL_PROBE_STEP	2	/* packets */
#define CONTROL_PROBE_ROUNDS	2
#define CONTROL_PROBE_CUT_Q8	192	/* 0.75 */
#define CONTROL_SETPOINT_MIN_Q8	(2 * CONTROL_PACKET_Q8)
/* highest setpoint: with 9000-byte packets 37 MB, more than any sane buffer */
#define CONTROL_SETPOINT_MAX_Q8	(4096 * CONTROL_PACKET_Q8)

/* largest queue estimate, packets: keeps the products below within 64 bits */
#define CONTROL_BACKLOG_MAX	65536
/* longest round trip and propagation delay that count, 100 s */
#define CONTROL_RTT_MAX_US	100000000U
/* largest segment payload, bytes */
#define CONTROL_MSS_MAX		65535U
/* largest rate that a path may be known to have, 140 Tbit/s */
#define CONTROL_KNOWN_MAX_BYTES_PS (1ULL << 44)
/* largest service time: ns in 47 bits with ten places, 137 s */
#define CONTROL_SERVICE_MAX_Q10	(1ULL << 47)
/* part of the pipe that is left empty to look for R: an eighth costs 0.4 % of a
 * lone flow's throughput at 100 ms, once in ten seconds for three round trips
 */
#define CONTROL_DRAIN_SHIFT	3
/* part of the pipe that may be left empty beside it, for a setpoint below zero: a
 * quarter, so that a pipe of five packets keeps more than the least
 */
#define CONTROL_DRAIN_BELOW_SHIFT 2
/* and what is left in flight at least: what makes a stock receiver send an ACK */
#define CONTROL_DRAIN_LEAST	2
/* part of what is outstanding that may be lost without an overflow: an eighth, more
 * than every fiftieth packet, lost and sent again, is of a pipe of 44
 */
#define CONTROL_MENDING_SHIFT	3
/* Sizes that are so close count alike: the law allows for an error of an eighth anyway */
#define CONTROL_SIZES_SHIFT	3
/* What may be in flight at most while almost nothing comes back: a first flight, which
 * who knows nothing of the path may send (RFC 6928)
 */
#define CONTROL_FIRST_FLIGHT	10

/**
 * struct control_path - what is known of the path
 * @service_q10: service time of one packet, ns; must be 1 to CONTROL_SERVICE_MAX_Q10
 * @rtt_us: newest round trip
 * @prop_us: how long a packet is in the pipe, its ACK's way and what that is held for included;
 *	must be below 2^27
 * @outstanding: packets in flight (S), the newest included
 * @delivered: packets delivered (D) since the packet of @rtt_us was sent
 * @backlog_q8: the queue that is aimed with, packets (queue_estimate.h): n_b
 * @newest_age_us: time since the newest packet was sent
 * @newest_backlog_q8: the queue that this packet will meet, packets
 */
struct control_path {
	u64 service_q10;
	u32 rtt_us;
	u32 prop_us;
	u32 outstanding;
	u32 delivered;
	u32 backlog_q8;
	u32 newest_age_us;
	u32 newest_backlog_q8;
};

/**
 * struct control_orders - what the law asks for
 * @rate_bytes_ps: payload bytes per second
 * @setpoint_q8: queue aimed for, packets; negative: drain it
 * @window: cap on the packets in flight
 */
struct control_orders {
	u64 rate_bytes_ps;
	s32 setpoint_q8;
	u32 window;
};

/* Packets served in a microsecond, rounded up. All quotients by one service time
 * are products with this one, which the compiler divides for once.
 */
static inline u64 control_packets_per_us_q40(u64 service_q10)
{
	PRECONDITION(service_q10 && service_q10 <= CONTROL_SERVICE_MAX_Q10);
	return div64_u64((u64)NSEC_PER_USEC << (CONTROL_SERVICE_SHIFT + 40),
			 service_q10) + 1;
}

/* Packets served in a time: time / s_b, rounded down after 2^-40 of a packet more
 * for each microsecond; 2^24 times less than what rounding down leaves
 */
static inline u64 control_served_q8(u32 time_us, u64 service_q10)
{
	return mul_u64_u32_shr(control_packets_per_us_q40(service_q10), time_us,
			       40 - 8);
}

/* The same for the propagation delay, with sixteen places: 2^60 * 2^27 / 2^24 is below 2^63 */
static inline u64 control_pipe_q16(const struct control_path *path)
{
	PRECONDITION(path->prop_us < 1U << 27);
	return mul_u64_u32_shr(control_packets_per_us_q40(path->service_q10),
			       path->prop_us, 40 - 16);
}

/**
 * control_pipe_q8 - packets that fill the path without a queue: R / s_b
 * @path: the path
 *
 * Return: packets, rounded down to 1/256.
 */
static inline u64 control_pipe_q8(const struct control_path *path)
{
	return control_pipe_q16(path) >> 8;
}

/**
 * struct control_setpoint - the queue that is aimed for
 * @target_q8: packets
 * @rounds: round trips since the last step up
 * @was_cut: cut in this round trip already
 */
struct control_setpoint {
	u32 target_q8:24,
	    rounds:7,
	    was_cut:1;
};

/**
 * control_setpoint_reset - at the start and after a timeout (appendix)
 * @s: the setpoint
 * @initial_q8: packets; beyond CONTROL_SETPOINT_MIN_Q8 to CONTROL_SETPOINT_MAX_Q8, the
 *	nearest of these
 */
static inline void control_setpoint_reset(struct control_setpoint *s,
					  u32 initial_q8)
{
	s->target_q8 = clamp_t(u32, initial_q8, CONTROL_SETPOINT_MIN_Q8,
			       CONTROL_SETPOINT_MAX_Q8);
	s->rounds = 0;
	s->was_cut = false;
}

/**
 * control_setpoint_round - a round trip has passed (section 7, table 2)
 * @s: the setpoint
 * @step_q8: packets of a step up
 * @highest_q8: where the steps up end, packets: CONTROL_SETPOINT_MAX_Q8 where
 *	the setpoint probes for buffer, its initial value where it is fixed and
 *	only recovers from a cut; beyond CONTROL_SETPOINT_MAX_Q8, that
 */
static inline void control_setpoint_round(struct control_setpoint *s,
					  u32 step_q8, u32 highest_q8)
{
	bool was_cut = s->was_cut;

	s->was_cut = false;
	if (was_cut || ++s->rounds < CONTROL_PROBE_ROUNDS)
		return;
	s->rounds = 0;
	highest_q8 = min_t(u32, highest_q8, CONTROL_SETPOINT_MAX_Q8);
	s->target_q8 = min_t(u64, (u64)s->target_q8 + step_q8, highest_q8);
}

/**
 * control_setpoint_congestion - a packet was lost, or marked (RFC 3168)
 * @s: the setpoint
 *
 * Cuts the setpoint once per round trip, down to two packets.
 */
static inline void control_setpoint_congestion(struct control_setpoint *s)
{
	if (s->was_cut)
		return;
	s->was_cut = true;
	s->rounds = 0;
	s->target_q8 = max_t(u32, (s->target_q8 * CONTROL_PROBE_CUT_Q8) >> 8,
			     CONTROL_SETPOINT_MIN_Q8);
}

/**
 * control_bound_q8 - packets that are served in a time
 * @bound_ns: the time, ns; must be below 2^46
 * @service_q10: service time of one packet, ns; must be at least 1
 *
 * Return: packets, at most CONTROL_SETPOINT_MAX_Q8.
 */
static inline u32 control_bound_q8(u64 bound_ns, u64 service_q10)
{
	PRECONDITION(bound_ns < 1ULL << 46 && service_q10);
	return (u32)min_t(u64, CONTROL_SETPOINT_MAX_Q8,
			  div64_u64(bound_ns << (CONTROL_SERVICE_SHIFT + 8),
				    service_q10));
}

/**
 * control_setpoint_q8 - the setpoint, bounded in time
 * @s: the setpoint
 * @initial_q8: its value before any cut, packets
 * @bound_q8: longest time in the queue, in packets, from control_bound_q8()
 * @train: segments of a train
 *
 * At 1 Mbit/s four full packets take 48 ms, and a CoDel at the bottleneck
 * would drop for ever. But trains come whole: the queue swings by a train, and
 * less than half a train and one packet on average would leave it empty. That
 * is what losses and marks ask for, so a cut lowers this least as well.
 *
 * Return: packets.
 */
static inline u32 control_setpoint_q8(const struct control_setpoint *s,
				      u32 initial_q8, u32 bound_q8, u32 train)
{
	u32 least_q8 = (train + 2) * (CONTROL_PACKET_Q8 / 2);

	if (s->target_q8 < initial_q8)
		least_q8 = (u32)div_u64((u64)least_q8 * s->target_q8, initial_q8);
	return max_t(u32, min_t(u32, s->target_q8, bound_q8), least_q8);
}

/**
 * control_own_queue - packets of the flow that may wait at the bottleneck at once
 * @s: the setpoint
 * @train: segments of a train
 */
static inline u32 control_own_queue(const struct control_setpoint *s, u32 train)
{
	return (s->target_q8 >> 8) + train;
}

/**
 * control_share_bytes_ps - the bottleneck's rate for this flow: MSS / s_b
 * @path: the path; only its service time is read, which must be at least 1
 * @mss_bytes: payload of a full segment; beyond CONTROL_MSS_MAX, that
 *
 * Return: payload bytes per second, rounded down.
 */
static inline u64 control_share_bytes_ps(const struct control_path *path,
					 u32 mss_bytes)
{
	u64 mss = min_t(u32, mss_bytes, CONTROL_MSS_MAX);

	PRECONDITION(path->service_q10);
	/* mss < 2^16, 10^9 < 2^30, ten places: below 2^56 */
	return div64_u64((mss * NSEC_PER_SEC) << CONTROL_SERVICE_SHIFT,
			 path->service_q10);
}

/**
 * control_window_rate_bytes_ps - the rate that sends a window in a round trip
 * @packets: the window; beyond 16 * CONTROL_BACKLOG_MAX, that
 * @mss_bytes: payload of a full segment; beyond CONTROL_MSS_MAX, that
 * @rtt_us: the round trip; 0 counts as 1
 *
 * Return: payload bytes per second, rounded down.
 */
static inline u64 control_window_rate_bytes_ps(u32 packets, u32 mss_bytes,
					       u32 rtt_us)
{
	u64 bytes = (u64)min_t(u32, packets, 16 * CONTROL_BACKLOG_MAX) *
		    min_t(u32, mss_bytes, CONTROL_MSS_MAX);

	return div_u64(bytes * USEC_PER_SEC, max_t(u32, rtt_us, 1));
}

/**
 * control_first_window - packets that a rate sends in the first round trip
 * (section 5: "some nominal bandwidth")
 * @rate_bytes_ps: payload bytes per second that the path is known to have; beyond
 *	CONTROL_KNOWN_MAX_BYTES_PS, that
 * @mss_bytes: payload of a full segment; beyond CONTROL_MSS_MAX, that
 * @rtt_us: round trip of the handshake; beyond CONTROL_RTT_MAX_US, that
 *
 * Return: packets, rounded up.
 */
static inline u32 control_first_window(u64 rate_bytes_ps, u32 mss_bytes,
				       u32 rtt_us)
{
	u64 mss = clamp_t(u32, mss_bytes, 1, CONTROL_MSS_MAX);
	/* whose quotient must fit: some processors trap where it does not */
	u64 bytes = mul_u64_u32_div(min_t(u64, rate_bytes_ps, CONTROL_KNOWN_MAX_BYTES_PS),
				    min_t(u32, rtt_us, CONTROL_RTT_MAX_US),
				    USEC_PER_SEC);

	return (u32)min_t(u64, div64_u64(bytes + mss - 1, mss), S32_MAX);
}

/* How far the queue is from the setpoint, packets: |B - n_b| */
static inline u32 control_off_setpoint_q8(const struct control_path *path,
					  u32 setpoint_q8)
{
	return max_t(u32, path->backlog_q8, setpoint_q8) -
	       min_t(u32, path->backlog_q8, setpoint_q8);
}

/* What the pipe lacks, packets; 0 if there is a queue, or it is full */
static inline s64 control_deficit_q8(const struct control_path *path)
{
	s64 deficit_q8 = (s64)control_pipe_q8(path) -
			 (s64)path->outstanding * CONTROL_PACKET_Q8;

	return path->backlog_q8 ? 0 : max_t(s64, deficit_q8, 0);
}

/**
 * control_correction_q24 - what brings the queue to the setpoint, as part of the
 * share: |B - n_b| / J over 1 / s_b, with J = attack * (R + n_b * s_b)
 * @path: the path, its backlog must be at most CONTROL_BACKLOG_MAX
 * @setpoint_q8: B, packets
 * @attack_q8: round trips to get there; must be 1 to 2^12
 * @most_q24: bound of the result
 *
 * s_b cancels: in service times J is attack * (pipe + n_b), which needs one quotient
 * fewer.
 *
 * Return: 0 .. @most_q24, rounded down, from a J that is rounded to 2^-16 service
 * times.
 */
static inline u32 control_correction_q24(const struct control_path *path,
					 u32 setpoint_q8, u32 attack_q8,
					 u32 most_q24)
{
	u32 error_q8 = control_off_setpoint_q8(path, setpoint_q8);
	u64 round_q16 = control_pipe_q16(path) + ((u64)path->backlog_q8 << 8);
	u64 attack_q16 = mul_u64_u32_shr(round_q16, attack_q8, 8);

	PRECONDITION(path->backlog_q8 <= CONTROL_BACKLOG_MAX * CONTROL_PACKET_Q8);
	PRECONDITION(attack_q8 && attack_q8 <= 1U << 12);
	return (u32)min_t(u64, most_q24,
			  div64_u64((u64)error_q8 << 32, max_t(u64, attack_q16, 1)));
}

/**
 * control_rate_bytes_ps - the continuous rate law, eq (14)
 * @path: the path
 * @setpoint_q8: B, packets; 0 or below while the queue is drained
 * @mss_bytes: payload of a full segment; beyond CONTROL_MSS_MAX, that
 *
 * While the pipe is not yet full, the share itself: more would only arrive at
 * the bottleneck as a queue, before any ACK could tell.
 *
 * Return: payload bytes per second, at least 1: from half the share to twice
 * the share. Relative error against exact arithmetic below 2^-8 of the change,
 * plus 2^-15 of it over J in service times, plus three bytes per second.
 */
static inline u64 control_rate_bytes_ps(const struct control_path *path,
					s32 setpoint_q8, u32 mss_bytes)
{
	u64 share = control_share_bytes_ps(path, mss_bytes);
	u32 change_q24;

	if (unlikely(!share))
		return 1;
	if (setpoint_q8 <= 0)
		return share;
	/* apart, so that either knows its constants */
	if (path->backlog_q8 > (u32)setpoint_q8) {
		change_q24 = control_correction_q24(path, setpoint_q8, CONTROL_ATTACK_DOWN_Q8,
						    CONTROL_ONE_Q24 / 2);
		return share - mul_u64_u32_shr(share, change_q24, 24);
	}
	if (control_deficit_q8(path) > 0)
		return share;
	change_q24 = control_correction_q24(path, setpoint_q8, CONTROL_ATTACK_UP_Q8,
					    CONTROL_ONE_Q24);
	return share + mul_u64_u32_shr(share, change_q24, 24);
}

/**
 * control_window - packets that may be in flight
 * @path: the path
 * @setpoint_q8: B, packets; negative: drain the queue, and so much below
 * @train: segments of a train; must be 1 to 255
 *
 * S + (B - n_b): what is in flight, and what the queue still lacks, or the pipe
 * where it is not full; in whole trains, because a train cut short comes back
 * as one ACK and shows no gap. The queue swings by a train around its mean, and
 * room is found only when an ACK comes: 5/8 of a train on top make the mean of
 * the swing the setpoint (found with the closed loop in the test).
 *
 * While the queue is drained, seven eighths of the pipe less what is asked for:
 * where the pipe is overestimated, because R is, the error shrinks by an eighth
 * with each draining, however large it is. A quarter of the pipe is the most that
 * can be asked for: a pipe of five packets has no room for five below zero.
 *
 * A cap above the pipe (memorandum, section 10.3) bites only when an estimate is
 * wrong; it has an eighth of the pipe, a setpoint and two trains to spare.
 *
 * Return: packets. Where there is room, at least two trains, since the stack
 * sends no skb larger than half the window; where there is none, what is in
 * flight, whose ACKs will make room. While draining, at least
 * CONTROL_DRAIN_LEAST.
 */
static inline u32 control_window(const struct control_path *path,
				 s32 setpoint_q8, u32 train)
{
	const s64 train_q8 = (s64)train * CONTROL_PACKET_Q8;
	s64 pipe_q8 = (s64)control_pipe_q8(path);
	s64 room_q8;
	u64 cap, window;

	PRECONDITION(train && train <= 255);
	if (setpoint_q8 <= 0) {
		pipe_q8 -= min_t(s64, -(s64)setpoint_q8,
				 pipe_q8 >> CONTROL_DRAIN_BELOW_SHIFT) +
			   (pipe_q8 >> CONTROL_DRAIN_SHIFT);
		return (u32)clamp_t(s64, pipe_q8 >> 8, CONTROL_DRAIN_LEAST, S32_MAX);
	}
	room_q8 = setpoint_q8 - (s64)path->backlog_q8 +
		  train * (CONTROL_PACKET_Q8 * 5 / 8) + control_deficit_q8(path);
	if (room_q8 < train_q8)
		return path->outstanding ? min_t(u32, path->outstanding, S32_MAX) :
					   2 * train;
	window = path->outstanding + train * div_u64(room_q8, (u32)train_q8);
	cap = (pipe_q8 + (pipe_q8 >> 3) + 2 * (setpoint_q8 + train_q8)) >> 8;
	window = max_t(u64, min_t(u64, cap, window), 2 * train);
	return (u32)min_t(u64, window, S32_MAX);
}

/**
 * control_full_packets - packets in flight, in packets of the size that is sent now
 * @in_flight: packets in flight, of any size
 * @bytes: payload that is not yet acknowledged
 * @packets: how many packets that is
 * @mss_bytes: payload of a full segment now; beyond 1 to CONTROL_MSS_MAX, the nearest of these
 *
 * The size in flight is the mean of what is not yet acknowledged.
 *
 * Return: packets, rounded down, at most S32_MAX.
 */
static inline u32 control_full_packets(u32 in_flight, u32 bytes, u32 packets,
				       u32 mss_bytes)
{
	u64 full = (u64)max_t(u32, packets, 1) * clamp_t(u32, mss_bytes, 1, CONTROL_MSS_MAX);

	return (u32)min_t(u64, div64_u64((u64)in_flight * bytes, full), S32_MAX);
}

/**
 * control_sizes_agree - whether packets of two sizes count alike
 * @one: payload of a full segment (bytes)
 * @other: of another
 *
 * A sample that counts one for the other is wrong by as much. Options of IP, of 40 bytes at most,
 * come and go with any user's wish.
 *
 * Return: whether neither is longer than the other by an eighth of it.
 */
static inline bool control_sizes_agree(u16 one, u16 other)
{
	u32 less = min_t(u32, one, other);

	return max_t(u32, one, other) - less <= less >> CONTROL_SIZES_SHIFT;
}

/**
 * control_window_resized - the window right after the size of packets has changed
 * @window: packets before
 * @in_flight: packets in flight, of the size before
 * @mss_before: payload of a full segment before
 * @mss_now: payload of a full segment now; 0 counts as 1
 *
 * What is in flight counts as it is, and room is room for bytes.
 *
 * Return: packets, at least 1.
 */
static inline u32 control_window_resized(u32 window, u32 in_flight, u16 mss_before,
					 u16 mss_now)
{
	u32 room = window - min_t(u32, window, in_flight);
	u64 resized = min_t(u32, window, in_flight) +
		      div_u64((u64)room * mss_before, max_t(u32, mss_now, 1));

	return (u32)clamp_t(u64, resized, 1, S32_MAX);
}

/**
 * control_window_mixed - the window while packets of two sizes are in flight
 * @window: what the law asks for, packets of the size that is sent now
 * @outstanding: what is in flight, in packets of that size
 * @in_flight: packets in flight, of either size
 *
 * Return: packets, at least CONTROL_DRAIN_LEAST: what leaves as much room.
 */
static inline u32 control_window_mixed(u32 window, u32 outstanding, u32 in_flight)
{
	return (u32)clamp_t(s64, (s64)window - outstanding + in_flight,
			    CONTROL_DRAIN_LEAST, S32_MAX);
}

/**
 * control_sends_small - whether packets count by bytes
 * @full: what is in flight, in packets of the size that is sent now
 * @in_flight: packets in flight, of any size
 *
 * Return: whether most of what is in flight is less than half as large as a packet that the law
 * counts.
 */
static inline bool control_sends_small(u32 full, u32 in_flight)
{
	return 2 * (u64)full < in_flight;
}

/**
 * control_window_small - the window while small packets count by bytes
 * @window: what that allows, packets of any size
 * @before: the window before this acknowledgment, packets
 * @acked: packets that it delivered
 * @waited: whether its round trip was longer than the queue that is asked for makes it
 *
 * A server may take as long for a small packet as for a full one. So the window grows as in a
 * slow start, and not by an acknowledgment that waited.
 *
 * Return: packets, at most @window.
 */
static inline u32 control_window_small(u32 window, u32 before, u32 acked, bool waited)
{
	return (u32)min_t(u64, window, waited ? before : (u64)before + acked);
}

/**
 * control_window_least - packets that may be in flight however little comes back
 * @timed_out: nothing did until a timer ran out
 * @train: segments of a train
 *
 * Two trains show a gap as soon as the retransmissions end. Two trains of 64 are more than a
 * single acknowledgment justifies after a whole window was lost, so a first flight is the
 * upper bound.
 *
 * Return: packets, at least CONTROL_DRAIN_LEAST, at most CONTROL_FIRST_FLIGHT.
 */
static inline u32 control_window_least(bool timed_out, u32 train)
{
	return timed_out ? CONTROL_DRAIN_LEAST :
			   clamp_t(u32, 2 * train, CONTROL_DRAIN_LEAST, CONTROL_FIRST_FLIGHT);
}

/**
 * control_window_recovering - the window while what was lost is sent again
 * @outstanding: packets in flight
 * @window: what the law asks for, packets
 * @before: the window before this acknowledgment, packets
 * @acked: packets that it delivered
 * @lost: whether it showed a loss
 * @mending: packets that are lost, or sent again and not yet delivered
 * @least: packets, if the law asks for as many, from control_window_least()
 *
 * The guard after an overflow. Trains that hold data sent twice show no gap, so that
 * a service time that was too short when the queue overflowed stays so: a flow that
 * filled the pipe of the whole link at an eleventh of it sent everything four times.
 * What leaves the network is known all the same. While losses are found, one packet
 * goes out for each that was delivered; after the last, two, as in slow start, until
 * the law asks for less.
 *
 * Not for the losses of a noisy link: up to CONTROL_MENDING_SHIFT of what is
 * outstanding the law goes on, since what trickles out is no trains.
 *
 * Return: packets, at most @window.
 */
static inline u32 control_window_recovering(u32 outstanding, u32 window, u32 before,
					    u32 acked, bool lost, u32 mending, u32 least)
{
	u64 conserved = (u64)(lost ? outstanding : before) + acked;

	if (mending <= outstanding >> CONTROL_MENDING_SHIFT)
		return window;
	return (u32)min_t(u64, window, max_t(u64, conserved, least));
}

/**
 * struct control_guard - what bounds the window while what was lost is sent again
 * @in_flight: packets in flight
 * @window: what the law asks for, packets
 * @before: the window before this acknowledgment, packets
 * @acked: packets that it delivered
 * @mending: packets that are lost, or sent again and not yet delivered
 * @train: segments of a train
 * @lost: whether it showed a loss
 * @timed_out: a timer took all for lost, and since then the window has not grown to what the law
 *	asks for
 */
struct control_guard {
	u32 in_flight;
	u32 window;
	u32 before;
	u32 acked;
	u32 mending;
	u32 train;
	bool lost;
	bool timed_out;
};

/**
 * control_window_guarded - the window while what was lost is sent again
 * @g: what bounds it
 *
 * After a timeout no more is known than that a packet arrives now and then, however little is
 * lost: one acknowledgment of a receiver that had thrown everything away, or kept it all, ends
 * the retransmissions. That one may count all that was in flight: of a slow start it is one
 * doubling at most.
 *
 * Return: packets, at most @window.
 */
static inline u32 control_window_guarded(const struct control_guard *g)
{
	return control_window_recovering(g->in_flight, g->window, g->before,
					 g->timed_out ? min_t(u32, g->acked, g->before) : g->acked,
					 g->lost, g->timed_out ? U32_MAX : g->mending,
					 control_window_least(g->timed_out, g->train));
}

/**
 * control_guard_stays - whether a timeout bounds the window from here on, too
 * @g: what bounded it
 * @guarded: what that came to, packets
 * @in_loss: the stack still sends what the timer took for lost
 *
 * A law that asks for little for a moment, in mid-loss, ends no slow start.
 */
static inline bool control_guard_stays(const struct control_guard *g, u32 guarded, bool in_loss)
{
	return g->timed_out && (guarded < g->window || in_loss);
}

/**
 * control_gain_q8 - how many times something is as large as it would be without a
 * queue, as "ss" shows it
 * @value: rate or window
 * @without: the same of the path
 *
 * Return: with eight binary places; the largest number, where it is larger.
 */
static inline u32 control_gain_q8(u64 value, u64 without)
{
	u64 gain_q8 = div64_u64(min_t(u64, value, U64_MAX >> 8) << 8,
				max_t(u64, without, 1));

	return (u32)min_t(u64, gain_q8, U32_MAX);
}

#endif /* _CONTROL_LAW_H */
