/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TCP-friendly rate control for packets of any size: the allowed rate.
 *
 *	no loss event yet	X = min(2 X, 2 X_recv), once in a round trip
 *	after the first		X = min(X_tcp, 2 X_recv)
 *
 * X_tcp is the equation's rate for the mean loss interval, with the reference packet size
 * (tfrc_equation.h, tfrc_history.h), and X_recv what arrived in the last round trips. The
 * packet-size methods are in tfrc_loss.h. RFC 3448 is what the paper on packet sizes builds
 * on; the paper itself says nothing about slow start. What follows it: slow start until the first
 * loss event (4.3), the first loss interval (6.3.1), half the rate after silence (4.4).
 *
 * Differences from RFC 3448:
 *  - The sender measures, so there are no feedback packets. A round trip of deliveries is one.
 *  - X_recv is the larger of the last two round trips' (RFC 5348, 4.3). A round trip in
 *    which the application had nothing to send limits nothing (there as well).
 *  - The rate is not modulated by the square root of the round trip (4.5).
 *  - A timeout takes two round trips in the equation, not four: Linux's TCP has few timeouts.
 *  - Neither slow start nor silence brings the rate below an initial window in a round trip
 *    (RFC 5348, 4.2 and 4.4).
 */
#ifndef _TFRC_H
#define _TFRC_H

#include "tfrc_equation.h"
#include "tfrc_history.h"
#include "tfrc_loss.h"
#include "portable.h"

/* longest time between two packets, t_mbi: RFC 3448, 4.3 */
#define TFRC_BACKOFF_MAX_S	64U
/* Retransmission timeout in the equation, round trips. Linux's reno, with RACK and tail loss
 * probes, has the equation's rate with 3.3, 2.8 and 1.6 at loss rates of 0.01, 0.03 and 0.1.
 */
#define TFRC_TIMEOUT_RTTS	2U
/* Round trips that R is a mean over: q = 0.9 in RFC 3448, 4.3. The stack's own mean is over eight
 * ACKs, a twentieth of a round trip of 160 packets.
 */
#define TFRC_RTT_MEMORY		10U
/* round trips without an ACK after which the rate is halved: the nofeedback timer, 4.3 */
#define TFRC_SILENT_RTTS	4U
/* Most bytes per second that this file computes with: 1 Tbyte/s, 8 Tbit/s */
#define TFRC_RATE_MAX_BYTES_PS	1000000000000ULL
/* Window that does not hold up a paced flow, in round trips at the allowed rate. It ends
 * a flow whose ACKs stop: two round trips are in flight when they are two late.
 */
#define TFRC_WINDOW_RTTS	2U
/* and the least: two packets, so that a receiver that delays ACKs sends one */
#define TFRC_WINDOW_MIN		2U

/**
 * struct tfrc - state of one flow
 * @loss: the open loss interval
 * @history: the closed ones
 * @rate_bytes_ps: X, the allowed rate
 * @before_bytes_ps: X before the last loss event or timeout, which may be taken back
 * @received_bytes_ps: X_recv of the last round trip
 * @first_bytes: initial window
 * @rtt_q8_us: R, the round trip
 */
struct tfrc {
	struct tfrc_loss loss;
	struct tfrc_history history;
	u64 rate_bytes_ps;
	u64 before_bytes_ps;
	u64 received_bytes_ps;
	u32 first_bytes;
	u32 rtt_q8_us;
};

/* A flow's state is allocated once: in 1 KB, which is a size that the kernel has */
static_assert(sizeof(struct tfrc) <= 1024, "the next size is 2 KB");

/**
 * tfrc_speed_bytes_ps - bytes in a time, as a rate
 * @bytes: how many; beyond TFRC_BYTES_MAX, that
 * @time_us: in which time; 0 counts as 1
 *
 * Return: bytes per second, at most TFRC_RATE_MAX_BYTES_PS.
 */
static inline u64 tfrc_speed_bytes_ps(u64 bytes, u32 time_us)
{
	return min_t(u64, div_u64(min_t(u64, bytes, TFRC_BYTES_MAX) * USEC_PER_SEC,
				  max_t(u32, time_us, 1)), TFRC_RATE_MAX_BYTES_PS);
}

/**
 * tfrc_bytes - what a rate is in a time
 * @rate_bytes_ps: the rate; beyond TFRC_RATE_MAX_BYTES_PS, that
 * @time_us: the time; beyond TFRC_RTT_MAX_US, that
 */
static inline u64 tfrc_bytes(u64 rate_bytes_ps, u32 time_us)
{
	return div_u64(min_t(u64, rate_bytes_ps, TFRC_RATE_MAX_BYTES_PS) *
		       min_t(u32, time_us, TFRC_RTT_MAX_US), (u32)USEC_PER_SEC);
}

/* An initial window in a round trip */
static inline u64 tfrc_first_bytes_ps(const struct tfrc *t, u32 rtt_us)
{
	u32 time_us = clamp_t(u32, rtt_us, TFRC_RTT_MIN_US, TFRC_RTT_MAX_US);

	return max_t(u64, tfrc_speed_bytes_ps(t->first_bytes, time_us), 1);
}

/**
 * tfrc_start - a flow begins, in slow start
 * @t: its state
 * @random: any number, another for each flow
 * @window_bytes: initial window
 * @rtt_us: round trip; beyond TFRC_RTT_MIN_US to TFRC_RTT_MAX_US, the nearest of these
 *
 * The rate is a window in a round trip.
 */
static inline void tfrc_start(struct tfrc *t, u64 random, u32 window_bytes, u32 rtt_us)
{
	memset(t, 0, sizeof(*t));
	t->loss.random = random;
	t->first_bytes = window_bytes;
	t->rtt_q8_us = clamp_t(u32, rtt_us, TFRC_RTT_MIN_US, TFRC_RTT_MAX_US) << 8;
	t->rate_bytes_ps = tfrc_first_bytes_ps(t, rtt_us);
}

/**
 * tfrc_in_slow_start - whether there was no loss event yet
 * @t: the flow
 */
static inline bool tfrc_in_slow_start(const struct tfrc *t)
{
	return !t->history.closed;
}

/**
 * tfrc_take_rtt - what a round trip takes now; once in each
 * @t: the flow
 * @rtt_us: round trip; beyond TFRC_RTT_MIN_US to TFRC_RTT_MAX_US, the nearest of these
 *
 * The rate is computed with a mean over some ten round trips (RFC 3448, 4.3), so that it does not
 * follow a queue that fills and drains. In slow start, where nothing is computed with it yet, it
 * is the newest.
 */
static inline void tfrc_take_rtt(struct tfrc *t, u32 rtt_us)
{
	u32 now_q8_us = clamp_t(u32, rtt_us, TFRC_RTT_MIN_US, TFRC_RTT_MAX_US) << 8;

	if (tfrc_in_slow_start(t))
		t->rtt_q8_us = now_q8_us;
	else
		t->rtt_q8_us = (u32)div_u64((u64)(TFRC_RTT_MEMORY - 1) * t->rtt_q8_us + now_q8_us,
					    TFRC_RTT_MEMORY);
}

/** tfrc_rtt_us - R, which a path's round trip is to be */
static inline u32 tfrc_rtt_us(const struct tfrc *t)
{
	return t->rtt_q8_us >> 8;
}

/**
 * tfrc_mean_q16 - the mean loss interval, the inverse of the loss event rate
 * @t: the flow
 * @m: the user's choice
 * @path: the flow's round trip and packets
 *
 * Return: reference packets, 1 to 2^27; 0: there was no loss event.
 */
static inline u64 tfrc_mean_q16(const struct tfrc *t, const struct tfrc_params *m,
				const struct tfrc_path *path)
{
	return tfrc_history_mean_q16(&t->history, tfrc_open_q16(&t->loss, m, path));
}

/**
 * tfrc_friendly_bytes_ps - what a TCP flow of reference packets gets here
 * @t: the flow
 * @m: the user's choice
 * @path: the flow's round trip and packets
 *
 * Return: bytes per second, no more than @m's cap on the packet rate allows (Widmer,
 * section 1); 0: there was no loss event.
 */
static inline u64 tfrc_friendly_bytes_ps(const struct tfrc *t, const struct tfrc_params *m,
					 const struct tfrc_path *path)
{
	u64 mean_q16 = tfrc_mean_q16(t, m, path), rate;
	u32 cap = min_t(u32, m->packet_rate_cap, tfrc_reference(m));

	if (!mean_q16)
		return 0;
	rate = min_t(u64, tfrc_rate_bytes_ps(mean_q16, tfrc_reference(m), path->rtt_us,
					     TFRC_TIMEOUT_RTTS),
		     TFRC_RATE_MAX_BYTES_PS);
	if (!cap)
		return rate;
	/* cap * s/S of it: 2^40 * 2^16 are below 2^57 */
	return min_t(u64, rate, mul_u64_u32_div(rate * cap, tfrc_packet(m, path),
						tfrc_reference(m)));
}

/* X, where X_recv allows @limit_bytes_ps */
static inline void tfrc_allow(struct tfrc *t, const struct tfrc_params *m,
			      const struct tfrc_path *path, u64 limit_bytes_ps)
{
	u64 friendly = tfrc_friendly_bytes_ps(t, m, path);
	u64 rate = friendly ? min_t(u64, friendly, limit_bytes_ps) : limit_bytes_ps;

	t->rate_bytes_ps = clamp_t(u64, rate, tfrc_packet(m, path) / TFRC_BACKOFF_MAX_S + 1,
				   TFRC_RATE_MAX_BYTES_PS);
}

/**
 * tfrc_round - a round trip has ended
 * @t: the flow
 * @m: the user's choice
 * @path: the flow's round trip and packets
 * @received_bytes_ps: what arrived in it; beyond TFRC_RATE_MAX_BYTES_PS, that
 * @limited: the application, and not the rate, limited what was sent in it
 *
 * In slow start the rate doubles at most. After it the rate follows the loss interval.
 */
static inline void tfrc_round(struct tfrc *t, const struct tfrc_params *m,
			      const struct tfrc_path *path, u64 received_bytes_ps, bool limited)
{
	u64 received = min_t(u64, received_bytes_ps, TFRC_RATE_MAX_BYTES_PS);
	u64 limit = 2 * max_t(u64, received, t->received_bytes_ps);

	t->received_bytes_ps = received;
	if (limited)
		limit = max_t(u64, limit, t->rate_bytes_ps);
	if (tfrc_in_slow_start(t)) {
		limit = max_t(u64, limit, tfrc_first_bytes_ps(t, path->rtt_us));
		limit = min_t(u64, limit, limited ? t->rate_bytes_ps : 2 * t->rate_bytes_ps);
	}
	tfrc_allow(t, m, path, limit);
}

/* n / 2 of the loss history, which LIP scaling makes S/s times longer (Widmer, 3.2.3) */
static inline u32 tfrc_half(const struct tfrc_params *m, const struct tfrc_path *path)
{
	u32 packet = tfrc_packet(m, path);

	if (m->method != TFRC_LIP_SCALING)
		return TFRC_HALF;
	return (TFRC_HALF * tfrc_reference(m) + packet / 2) / packet;
}

/* The loss interval at which the rate is so many bytes in a round trip */
static inline u64 tfrc_interval_of_q16(const struct tfrc_params *m, u64 flight_bytes)
{
	return tfrc_interval_q16(div_u64(min_t(u64, flight_bytes, TFRC_BYTES_MAX) <<
					 TFRC_PACKETS_SHIFT, tfrc_reference(m)),
				 TFRC_TIMEOUT_RTTS);
}

/**
 * tfrc_has_lost - the flow has had losses that this state does not know
 * @t: the flow, in slow start
 * @m: the user's choice
 * @path: the flow's round trip and packets
 *
 * It goes on from the rate that it has, by an interval that fits this rate, and without slow
 * start: who changes to another law and back would else forget the losses.
 */
static inline void tfrc_has_lost(struct tfrc *t, const struct tfrc_params *m,
				 const struct tfrc_path *path)
{
	tfrc_history_close(&t->history, tfrc_interval_of_q16(m, path->flight_bytes),
			   tfrc_half(m, path));
}

/**
 * tfrc_take_lost - packets were lost, or marked
 * @t: the flow
 * @m: the user's choice
 * @them: the packets
 * @path: the flow's round trip and packets
 *
 * The rate falls at a loss event, at once. The first one ends the slow start. Its interval is
 * the one at which the rate is half of what arrives (RFC 3448, 6.3.1), since slow start has
 * sent up to twice of what the path carries.
 *
 * Return: whether there is a loss event.
 */
static inline bool tfrc_take_lost(struct tfrc *t, const struct tfrc_params *m,
				  const struct tfrc_packets *them, const struct tfrc_path *path)
{
	u64 length_q16 = tfrc_lost(&t->loss, m, them, path);

	if (!length_q16)
		return false;
	t->before_bytes_ps = t->rate_bytes_ps;
	if (tfrc_in_slow_start(t))
		length_q16 = tfrc_interval_of_q16(m, path->flight_bytes / 2);
	tfrc_history_close(&t->history, length_q16, tfrc_half(m, path));
	tfrc_allow(t, m, path, t->rate_bytes_ps);
	return true;
}

/**
 * tfrc_floor - bound what the rate does not fall below for want of data
 * @t: the flow
 * @most_bytes: an initial window (RFC 5348, 4.2): a flow that another law began has a larger one,
 *	to start with only
 */
static inline void tfrc_floor(struct tfrc *t, u32 most_bytes)
{
	t->first_bytes = min_t(u32, t->first_bytes, most_bytes);
}

/** tfrc_undisturbed - what was lost before was lost: nothing is left to take back */
static inline void tfrc_undisturbed(struct tfrc *t)
{
	t->before_bytes_ps = 0;
}

/**
 * tfrc_take_back - what was taken for lost was not
 * @t: the flow
 * @m: the user's choice
 * @path: the flow's round trip and packets
 * @events: loss events of these packets, the newest ones
 *
 * The history is as if they had not been, and the rate as before the last of them.
 */
static inline void tfrc_take_back(struct tfrc *t, const struct tfrc_params *m,
				  const struct tfrc_path *path, u32 events)
{
	u64 length_q16 = 0;

	for (; events && t->history.closed; events--)
		length_q16 += tfrc_history_reopen(&t->history);
	tfrc_not_lost(&t->loss, m, length_q16);
	tfrc_allow(t, m, path, max_t(u64, t->rate_bytes_ps, t->before_bytes_ps));
	t->before_bytes_ps = 0;
}

/* Half the rate, so many times, and not below the least */
static inline void tfrc_halve(struct tfrc *t, const struct tfrc_params *m,
			      const struct tfrc_path *path, u32 times, u64 least_bytes_ps)
{
	u64 rate = max_t(u64, t->rate_bytes_ps >> times, least_bytes_ps);

	if (rate >= t->rate_bytes_ps)
		return;
	t->before_bytes_ps = t->rate_bytes_ps;
	/* what arrived before says nothing of now */
	t->received_bytes_ps = min_t(u64, t->received_bytes_ps, rate / 2);
	tfrc_allow(t, m, path, rate);
}

/**
 * tfrc_silent - the application had nothing to send for some time
 * @t: the flow
 * @m: the user's choice
 * @path: the flow's round trip and packets
 * @silent_us: for how long
 *
 * Half the rate for each four round trips, as if the nofeedback timer ran (RFC 3448, 4.4).
 *
 * Return: how much of the time that was, microseconds; the rest is part of a longer silence.
 */
static inline u32 tfrc_silent(struct tfrc *t, const struct tfrc_params *m,
			      const struct tfrc_path *path, u32 silent_us)
{
	u32 rtt_us = clamp_t(u32, path->rtt_us, TFRC_RTT_MIN_US, TFRC_RTT_MAX_US);
	u32 times = silent_us / (TFRC_SILENT_RTTS * rtt_us);

	/* over since: nothing is outstanding, and when it ends is known for 35 minutes only */
	t->loss.in_lip = false;
	/* 2^40 is more than any rate is above a window in a round trip */
	tfrc_halve(t, m, path, min_t(u32, times, 40), tfrc_first_bytes_ps(t, rtt_us));
	/* nothing was taken for lost: nothing is left to take back */
	tfrc_undisturbed(t);
	return times * TFRC_SILENT_RTTS * rtt_us;
}

/**
 * tfrc_timeout - what was sent is not acknowledged
 * @t: the flow
 * @m: the user's choice
 * @path: the flow's round trip and packets
 *
 * Half the rate, since the nofeedback timer has run out (RFC 3448, 4.4).
 */
static inline void tfrc_timeout(struct tfrc *t, const struct tfrc_params *m,
				const struct tfrc_path *path)
{
	tfrc_halve(t, m, path, 1, 0);
}

/**
 * tfrc_window - packets that may be in flight
 * @rate_bytes_ps: the rate that is paced; beyond TFRC_RATE_MAX_BYTES_PS, that
 * @rtt_us: round trip; beyond TFRC_RTT_MIN_US to TFRC_RTT_MAX_US, the nearest of these
 * @packet_bytes: size of a packet; 0 counts as 1
 *
 * Return: TFRC_WINDOW_MIN packets at least, 2^31 - 1 at most. Pacing holds the rate; the
 * window only bounds what is sent without ACKs.
 */
static inline u32 tfrc_window(u64 rate_bytes_ps, u32 rtt_us, u32 packet_bytes)
{
	u64 rate = min_t(u64, rate_bytes_ps, TFRC_RATE_MAX_BYTES_PS);
	u64 time_us = clamp_t(u32, rtt_us, TFRC_RTT_MIN_US, TFRC_RTT_MAX_US);
	/* 2^39.9 * 2^23.3 is below 2^64, and twice of it is not */
	u64 bytes = div_u64(rate * time_us, (u32)USEC_PER_SEC / TFRC_WINDOW_RTTS);

	return (u32)clamp_t(u64, div_u64(bytes, max_t(u32, packet_bytes, 1)) + 1,
			    TFRC_WINDOW_MIN, S32_MAX);
}

/**
 * tfrc_window_left - the window that another congestion control goes on with
 * @window: of tfrc_window(), packets
 *
 * It goes on at the rate that was paced: a window a round trip.
 *
 * Return: 1 packet at least.
 */
static inline u32 tfrc_window_left(u32 window)
{
	return max_t(u32, window / TFRC_WINDOW_RTTS, 1);
}

#endif /* _TFRC_H */
