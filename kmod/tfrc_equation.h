/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rate of a TCP flow at a given loss event rate, in fixed point.
 *
 *	R = S / (r * sqrt(2l/3) + t_RTO * 3 * sqrt(3l/8) * l * (1 + 32 l^2))
 *
 * This is the equation of RFC 5348, 3.1. S is the reference packet size, r the round trip, l
 * the loss event rate, and t_RTO = T * r TCP's retransmission timeout. With T = 4 it is equation
 * (1) of Widmer, Boutremans, Le Boudec, "End-to-end Congestion Control for TCP-Friendly Flows
 * with Variable Packet Size" (2004). With the loss interval i = 1 / l one square root is left:
 *
 *	N = R * r / S = sqrt(3i/2) / (1 + T * (9/i + 288/i^3) / 4)	packets per round trip
 *
 * since 3 * sqrt(3/8) / sqrt(2/3) = 9/4 and 32 * 9 = 288. N rises with i everywhere, so it has
 * an inverse, which a bisection finds.
 */
#ifndef _TFRC_EQUATION_H
#define _TFRC_EQUATION_H

#include "portable.h"

/* One packet of a loss interval. An interval counts reference packets, and may be a fraction:
 * virtual packets are parts of these (Widmer, definition 2).
 */
#define TFRC_ONE_Q16		(1ULL << 16)
/* Longest interval, 2^27 packets: a loss event rate of 7.5e-9, below 1e-8 that is promised */
#define TFRC_INTERVAL_MAX_Q16	(TFRC_ONE_Q16 << 27)
/* Packets per round trip: 20 places, since at a loss event rate of 1 there are only 0.00411 */
#define TFRC_PACKETS_SHIFT	20
/* Round trips that are computed with: 0.1 ms, and 10 s. With the shortest, the longest
 * interval and the largest packet the rate is 2^63.1 before the places are shifted out.
 */
#define TFRC_RTT_MIN_US		100U
#define TFRC_RTT_MAX_US		10000000U
/* Longest timeout, that of the paper and of RFC 5348. None is shorter than a round trip. */
#define TFRC_TIMEOUT_RTTS_MAX	4U
/* largest packet: an IP datagram */
#define TFRC_PACKET_MAX_BYTES	65535U

/**
 * tfrc_packets_q20 - reference packets per round trip at a loss interval (RFC 5348, 3.1)
 * @interval_q16: mean loss interval, packets; beyond 1 to 2^27 packets, the nearest of these
 * @timeout_rtts: T, round trips; beyond 1 to TFRC_TIMEOUT_RTTS_MAX, the nearest of these
 *
 * Return: R * r / S, from 0.00411 to 14189, never less for a longer interval. The error is
 * below 2^-12 of it (0.024 %).
 */
static inline u64 tfrc_packets_q20(u64 interval_q16, u32 timeout_rtts)
{
	u32 rtts = clamp_t(u32, timeout_rtts, 1, TFRC_TIMEOUT_RTTS_MAX);
	u64 i_q16 = clamp_t(u64, interval_q16, TFRC_ONE_Q16, TFRC_INTERVAL_MAX_Q16);
	/* 1 at most, so neither square nor cube leaves 60 bits */
	u64 l_q30 = div64_u64(1ULL << 46, i_q16);
	u64 cube_q30 = (l_q30 * l_q30 >> 30) * l_q30 >> 30;
	/* 298 at most, which with 22 places is below 2^31 */
	u32 divisor_q22 = (u32)((1U << 22) + (rtts * (9 * l_q30 + 288 * cube_q30) >> 10));
	/* 2^43 * 3 * 2^15 is below 2^60; the root is sqrt(3i/2) with 16 places, below 2^30 */
	u32 root_q16 = int_sqrt64(i_q16 * 3 << 15);

	/* rounded to the nearest, since the result may have no more than 13 bits */
	return div_u64(((u64)root_q16 << (22 + TFRC_PACKETS_SHIFT - 16)) + divisor_q22 / 2,
		       divisor_q22);
}

/**
 * tfrc_rate_bytes_ps - the TCP-friendly rate (RFC 5348, 3.1)
 * @interval_q16: mean loss interval, packets; beyond 1 to 2^27 packets, the nearest of these
 * @reference_bytes: S; beyond 1 to TFRC_PACKET_MAX_BYTES, the nearest of these
 * @rtt_us: round trip; beyond TFRC_RTT_MIN_US to TFRC_RTT_MAX_US, the nearest of these
 * @timeout_rtts: T, as in tfrc_packets_q20()
 *
 * Return: bytes per second, rounded down. The error is below 2^-12 of it, and a byte per second.
 */
static inline u64 tfrc_rate_bytes_ps(u64 interval_q16, u32 reference_bytes, u32 rtt_us,
				     u32 timeout_rtts)
{
	u32 bytes = clamp_t(u32, reference_bytes, 1, TFRC_PACKET_MAX_BYTES);
	u32 time_us = clamp_t(u32, rtt_us, TFRC_RTT_MIN_US, TFRC_RTT_MAX_US);

	return mul_u64_u32_div(tfrc_packets_q20(interval_q16, timeout_rtts) * bytes,
			       (u32)USEC_PER_SEC, time_us) >> TFRC_PACKETS_SHIFT;
}

/**
 * tfrc_interval_q16 - the loss interval at which a flow has this rate
 * @packets_q20: reference packets per round trip
 * @timeout_rtts: T, as in tfrc_packets_q20()
 *
 * The inverse of tfrc_packets_q20(), for a first loss event (RFC 3448, 6.3.1): 43 evaluations
 * where there are no loss intervals.
 *
 * Return: the shortest interval with at least this rate, 1 to 2^27 packets.
 */
static inline u64 tfrc_interval_q16(u64 packets_q20, u32 timeout_rtts)
{
	u64 below = TFRC_ONE_Q16 - 1, reaches = TFRC_INTERVAL_MAX_Q16, middle;

	while (reaches - below > 1) {
		middle = below + ((reaches - below) >> 1);
		if (tfrc_packets_q20(middle, timeout_rtts) < packets_q20)
			below = middle;
		else
			reaches = middle;
	}
	return reaches;
}

#endif /* _TFRC_EQUATION_H */
