/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The window that CUBIC would have.
 *
 *	W(t)   = W_max + C * (t - K)^3			window at a time (RFC 9438, 4.2)
 *	K      = cbrt((W_max - W(0)) / C)		when it reaches W_max
 *	W_est += alpha * acked / window			Reno's window (4.3)
 *
 * A loss leaves beta of the window, and begins an epoch, in which the window grows
 * towards W(t + R), or towards W_est where that is larger.
 *
 * A flow at a bottleneck that does not serve flows in turn gets what its neighbours leave it.
 * Most of them are the kernel's tcp_cubic. This header computes as tcp_cubic of Linux 6.1
 * does without HyStart, so that such a flow is one more of them. Constants and roundings
 * are tcp_cubic's. What differs from it:
 *  - Time is kept in microseconds, not in jiffies, and K is within 0.06 % and not 0.15 %.
 *  - The increase is computed for each ACK, not at most once in a jiffy, and once in 1/32 s
 *    while the window stands still.
 *  - An epoch that begins above W_max makes that window W_max. tcp_cubic keeps the two apart,
 *    and only sees a difference if something but a loss shrinks the window.
 *  - An epoch that is older than the clock can show ends. tcp_cubic's clock lasts for days.
 *  - Slow start may end before a loss, by the length of round trips (RFC 9406).
 *  - No product wraps. tcp_cubic is made for windows below 2^20 packets.
 *
 * From RFC 9438 both differ in these: alpha stays 8/15 once W_est has passed the window before
 * the loss (4.3 makes it 1); the number of ACKs for each packet of growth is rounded down to
 * a whole number; C is 410/1024, beta 717/1024.
 *
 * All windows are packets, all times microseconds.
 */
#ifndef _CUBIC_WINDOW_H
#define _CUBIC_WINDOW_H

#include "portable.h"

/* parts of beta and C: tcp_cubic's */
#define CUBIC_WINDOW_SHIFT	10
#define CUBIC_WINDOW_SCALE	(1U << CUBIC_WINDOW_SHIFT)
/* what a loss leaves of the window: 0.7 (RFC 9438, 4.6) */
#define CUBIC_WINDOW_BETA	717U
/* C, packets/s^3: 0.4 (RFC 9438, 5.1) */
#define CUBIC_WINDOW_C		410U
/* us^3 for each packet of C * t^3, without the 32 bits that its square is shifted by; 2^29.1 */
#define CUBIC_WINDOW_CUBE	((u32)(((u64)USEC_PER_SEC * USEC_PER_SEC * USEC_PER_SEC / \
					CUBIC_WINDOW_C * CUBIC_WINDOW_SCALE) >> 32))
/* Packets acknowledged for each by which Reno's window grows, per packet of the window: 1 / alpha,
 * with alpha = 3 * (1 - beta) / (1 + beta), in eighths and rounded down: 1.875, exactly 1.890
 */
#define CUBIC_WINDOW_RENO_SHIFT	3
#define CUBIC_WINDOW_RENO_Q3	((8 * (CUBIC_WINDOW_SCALE + CUBIC_WINDOW_BETA) / 3) / \
				 (CUBIC_WINDOW_SCALE - CUBIC_WINDOW_BETA))
/* Bounds of the packets acknowledged for each by which the window grows: at least two, 1.5 times
 * the window in a round trip (RFC 9438, 4.2); where the curve is below the window, a hundred
 * windows; before any loss twenty, 5 % in a round trip, because then no maximum is known
 */
#define CUBIC_WINDOW_PER_MIN	2U
#define CUBIC_WINDOW_PER_WINDOWS 100U
#define CUBIC_WINDOW_PER_FIRST	20U
/* A round trip that is an eighth longer ends slow start (RFC 9406, 4.2) */
#define CUBIC_WINDOW_QUEUED_SHIFT 3
/* smallest window after a loss, RFC 9438, 4.6 */
#define CUBIC_WINDOW_MIN	2U
/* largest window; more count as so many. As a signed number, what tcp_cubic's stack allows */
#define CUBIC_WINDOW_MAX	((u32)S32_MAX)
/* bounds of the timeout, the stack's */
#define CUBIC_WINDOW_RTO_MIN_US	200000U
#define CUBIC_WINDOW_RTO_MAX_US	120000000U
/* longest round trip, 100 s: as in control_law.h */
#define CUBIC_WINDOW_RTT_MAX_US	100000000U

/**
 * struct cubic_window - state of one flow; all zero: nothing known
 * @max: W_max, the window around which growth is slow
 * @lost: @max is what a loss showed
 * @max_us: when the curve reaches @max, low bits of the time
 * @reno: W_est, Reno's window; 0: no epoch has begun
 * @reno_acked: packets acknowledged since @reno last grew
 *
 * It overlays the state of another law in the 104 bytes that the stack gives a congestion control,
 * so 16 bytes are all. The packets acknowledged since the window last grew are not among them:
 * the stack has tp->snd_cwnd_cnt for these, and zeroes it when a recovery or a timeout begins.
 */
struct cubic_window {
	u32 max:31,
	    lost:1;
	u32 max_us;
	u32 reno;
	u32 reno_acked;
};

static_assert(sizeof(struct cubic_window) <= 16, "overlays no more than 16 bytes");

/**
 * struct cubic_window_acked - what an ACK shows
 * @ssthresh: window up to which slow start lasts
 * @acked: packets that it delivered, all of those that a delayed ACK covers
 * @now_us: time, low bits, may wrap
 * @rtt_min_us: smallest round trip, R; beyond CUBIC_WINDOW_RTT_MAX_US, that
 */
struct cubic_window_acked {
	u32 ssthresh;
	u32 acked;
	u32 now_us;
	u32 rtt_min_us;
};

/**
 * cubic_window_reset - nothing is known: no maximum, no epoch
 * @c: the state
 *
 * For a new flow, and after a timeout, once cubic_window_ssthresh() was asked (RFC 9438, 4.8,
 * and tcp_cubic, which forgets the maximum then).
 */
static inline void cubic_window_reset(struct cubic_window *c)
{
	*c = (struct cubic_window){ 0 };
}

/**
 * cubic_window_ssthresh - a loss or a mark, at most once in a round trip
 * @c: the state
 * @window: window before it; beyond CUBIC_WINDOW_MAX, that
 *
 * RFC 9438, 4.6 and 4.7: ends the epoch. The window becomes the maximum, or, if it has not come
 * back to the last one, (1 + beta) / 2 of it, which leaves room to a flow that has just begun.
 *
 * Return: packets to go on with: beta of @window rounded down, at least CUBIC_WINDOW_MIN.
 */
static inline u32 cubic_window_ssthresh(struct cubic_window *c, u32 window)
{
	u64 whole = min_t(u32, window, CUBIC_WINDOW_MAX);

	c->max = (u32)(whole < c->max ? whole * (CUBIC_WINDOW_SCALE + CUBIC_WINDOW_BETA) >>
					(CUBIC_WINDOW_SHIFT + 1) : whole);
	c->lost = 1;
	c->reno = 0;
	return max_t(u32, (u32)(whole * CUBIC_WINDOW_BETA >> CUBIC_WINDOW_SHIFT),
		     CUBIC_WINDOW_MIN);
}

/**
 * cubic_window_idle - the application was silent
 * @c: the state
 * @idle_us: time without a packet in flight, low bits, may wrap
 *
 * RFC 9438, 5.8: the epoch moves by this time, or the window would burst to where the curve
 * has gone meanwhile. tcp_cubic does so on CA_EVENT_TX_START. It counts from the last packet
 * sent, which is longer by a round trip, and lets no epoch begin later than now.
 */
static inline void cubic_window_idle(struct cubic_window *c, u32 idle_us)
{
	c->max_us += idle_us;
}

/**
 * cubic_window_restarted - the window after a silence
 * @window: packets before it
 * @idle_us: how long nothing was in flight
 * @rto_us: the retransmission timeout; beyond CUBIC_WINDOW_RTO_MIN_US to
 *	CUBIC_WINDOW_RTO_MAX_US, the nearest of these
 * @first: packets of a first flight
 *
 * RFC 5681, 4.1, as tcp_cubic's stack does: half of it for each timeout that the silence lasted,
 * down to a first flight. Others have filled the bottleneck meanwhile.
 *
 * Return: packets, at most @window.
 */
static inline u32 cubic_window_restarted(u32 window, u64 idle_us, u32 rto_us, u32 first)
{
	u64 timeouts;

	rto_us = clamp_t(u32, rto_us, CUBIC_WINDOW_RTO_MIN_US, CUBIC_WINDOW_RTO_MAX_US);
	timeouts = idle_us ? div_u64(idle_us - 1, rto_us) : 0;
	return max_t(u32, window >> min_t(u64, timeouts, 31), min_t(u32, window, first));
}

/**
 * cubic_window_queued - whether a round trip ends slow start before a loss does
 * @rtt_us: the round trip
 * @least_us: the shortest so far
 */
static inline bool cubic_window_queued(u32 rtt_us, u32 least_us)
{
	return rtt_us > (u64)least_us + (least_us >> CUBIC_WINDOW_QUEUED_SHIFT);
}

/* C * time^3, packets, rounded down, and less by another 0.0017 packets for each second */
static inline u64 cubic_window_cube(u32 time_us)
{
	/* the square is shifted first: with its upper 32 bits no product passes 2^64 */
	return div_u64(((u64)time_us * time_us >> 32) * time_us, CUBIC_WINDOW_CUBE);
}

/* K: the longest time in which the curve grows by less than @packets, at most CUBIC_WINDOW_MAX of
 * them: 1751 s. From one bit to the next, once in an epoch, because that needs no root.
 */
static inline u32 cubic_window_k_us(u32 packets)
{
	u32 time_us = 0, bit;

	for (bit = 1U << 30; bit; bit >>= 1)
		if (cubic_window_cube(time_us | bit) < packets)
			time_us |= bit;
	return time_us;
}

/* W(t) at a time, at most CUBIC_WINDOW_MAX. Negative where no epoch can have begun so long before
 * the maximum: the clock has wrapped since then, for 2147 s are more than any K.
 */
static inline s64 cubic_window_curve(const struct cubic_window *c, u32 at_us)
{
	s32 past_us = (s32)(at_us - c->max_us);

	if (past_us < 0)
		return c->max - (s64)cubic_window_cube(0U - (u32)past_us);
	return min_t(s64, c->max + (s64)cubic_window_cube((u32)past_us), CUBIC_WINDOW_MAX);
}

/* An epoch begins: from this window to the maximum, or from this window as the maximum */
static inline void cubic_window_begin(struct cubic_window *c, u32 window, u32 now_us)
{
	c->max = max_t(u32, c->max, window);
	c->max_us = now_us + cubic_window_k_us(c->max - window);
	c->reno = window;
	c->reno_acked = 0;
}

/* What Reno's window would be, RFC 9438, 4.3. Where 15/8 of the window are no whole number, it
 * grows sooner by less than a packet acknowledged.
 */
static inline void cubic_window_reno(struct cubic_window *c, u32 window, u32 acked)
{
	u32 per = (u32)((u64)window * CUBIC_WINDOW_RENO_Q3 >> CUBIC_WINDOW_RENO_SHIFT);
	u64 sum = (u64)c->reno_acked + acked, steps;

	if (sum > per) {
		/* as tcp_cubic: a step is made with the packet after the last of it */
		steps = div_u64(sum - 1, per);
		sum -= steps * per;
		c->reno = (u32)min_t(u64, c->reno + steps, CUBIC_WINDOW_MAX);
	}
	c->reno_acked = (u32)sum;
}

/* Packets acknowledged for each by which @window grows to reach @target in a round trip */
static inline u32 cubic_window_per(u32 window, s64 target)
{
	if (target > window)
		return window / (u32)(target - window);
	return (u32)min_t(u64, (u64)window * CUBIC_WINDOW_PER_WINDOWS, U32_MAX);
}

/* Congestion avoidance: packets acknowledged for each by which the window grows, the smallest
 * number that the curve, Reno's window or the lack of a maximum asks for
 */
static inline u32 cubic_window_pace(struct cubic_window *c, u32 window, u32 acked, u32 now_us,
				    u32 rtt_min_us)
{
	u32 at_us = now_us + min_t(u32, rtt_min_us, CUBIC_WINDOW_RTT_MAX_US), per;
	s64 target = cubic_window_curve(c, at_us);

	if (!c->reno || target < 0) {
		cubic_window_begin(c, window, now_us);
		target = cubic_window_curve(c, at_us);
	}
	cubic_window_reno(c, window, acked);
	per = cubic_window_per(window, target);
	if (!c->lost)
		per = min_t(u32, per, CUBIC_WINDOW_PER_FIRST);
	per = min_t(u32, per, cubic_window_per(window, c->reno));
	return max_t(u32, per, CUBIC_WINDOW_PER_MIN);
}

/**
 * cubic_window_ack - the window after an ACK
 * @c: the state
 * @window: window before it; 0 counts as 1, beyond CUBIC_WINDOW_MAX, that
 * @count: packets acknowledged since the window last grew, of all ACKs (tp->snd_cwnd_cnt)
 * @ack: what the ACK shows
 *
 * Slow start below @ack's ssthresh (RFC 9438, 4.10), and for what it leaves of the
 * ACK congestion avoidance (4.2 to 4.5). For ACKs of a flow that its window limits (5.8),
 * outside of recovery.
 *
 * Return: packets, at least @window as it counts, and at most @ack's acked more.
 */
static inline u32 cubic_window_ack(struct cubic_window *c, u32 window, u32 *count,
				   const struct cubic_window_acked *ack)
{
	u32 before = clamp_t(u32, window, 1, CUBIC_WINDOW_MAX), acked = ack->acked, per;
	u64 after = before, sum, steps;

	if (before < ack->ssthresh) {
		after = min_t(u64, after + acked, ack->ssthresh);
		acked -= (u32)(after - before);
		after = min_t(u64, after, CUBIC_WINDOW_MAX);
	}
	if (!acked)
		return (u32)after;
	per = cubic_window_pace(c, (u32)after, acked, ack->now_us, ack->rtt_min_us);
	/* counted while the window grew more slowly: one packet, and not all at once */
	if (*count >= per) {
		*count = 0;
		after++;
	}
	sum = (u64)*count + acked;
	steps = div_u64(sum, per);
	*count = (u32)(sum - steps * per);
	return (u32)min_t(u64, after + steps, CUBIC_WINDOW_MAX);
}

#endif /* _CUBIC_WINDOW_H */
