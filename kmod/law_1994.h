/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memorandum's own control, as its appendix computes it: what the paper's
 * claims are judged with.
 *
 *	n_b  = S - R / s_b                                          (eq 12)
 *	rate = 1 / s_b + (B - n_b) / J                              (eq 14)
 *	rate = 2 / ((n_b - B) * s_b)    at least, where n_b > 3 B
 *	rate = m + (rate - m) / 5       where n_b <= 2 and rate > m
 *	m    = 3/4 m + 1/4 rate         once per pair
 *
 * n_b is law_1994_backlog_q8(); the setpoint is control_law.h's, whose
 * constants are table 2's. Where this is not the appendix: it reacts to every
 * acknowledgment and not to every second of a pair; the floor after an overflow
 * follows the rise there and precedes it here, which is the same, since never
 * more than one of the two applies; and R is the smallest round trip, not the
 * first.
 */
#ifndef _LAW_1994_H
#define _LAW_1994_H

#include "control_law.h"

/* Table 2 */
#define LAW_1994_ATTACK_UP_Q8	384	/* 1.5 round trips */
#define LAW_1994_ATTACK_DOWN_Q8	205	/* 0.8 */
#define LAW_1994_INC_Q16	13107	/* INC_FACTOR: 0.2 of the way */
#define LAW_1994_MEAN_Q8	192	/* MS_ALPHA: 0.75 */
/* sections 5 and 8: an estimate of less is likely to be wrong */
#define LAW_1994_RISE_Q8	(2 * CONTROL_PACKET_Q8)
/* appendix: an overflow is a queue of so many setpoints */
#define LAW_1994_OVERFLOW	3

/**
 * law_1994_backlog_q8 - the queue by eq (12), S - R / s_b
 * @path: the path; only service time, propagation delay and outstanding are read
 *
 * For comparison: an error of s_b counts as often as there are packets in the
 * pipe.
 *
 * Return: packets, 0 .. CONTROL_BACKLOG_MAX.
 */
static inline u32 law_1994_backlog_q8(const struct control_path *path)
{
	s64 outstanding_q8 = (s64)path->outstanding * CONTROL_PACKET_Q8;

	return (u32)clamp_t(s64, outstanding_q8 - (s64)control_pipe_q8(path), 0,
			    (s64)CONTROL_BACKLOG_MAX * CONTROL_PACKET_Q8);
}

/**
 * law_1994_correction_bytes_ps - what brings the queue to the setpoint:
 * |B - n_b| / J, with J = attack * (R + n_b * s_b)
 * @path: the path, its backlog must be at most CONTROL_BACKLOG_MAX
 * @setpoint_q8: B, packets; must be at most CONTROL_SETPOINT_MAX_Q8
 * @mss_bytes: payload of a full segment; beyond CONTROL_MSS_MAX, that
 * @attack_q8: round trips to get there; must be at most 2^12
 *
 * Return: payload bytes per second; J is cut to whole microseconds, at least one.
 */
static inline u64
law_1994_correction_bytes_ps(const struct control_path *path, u32 setpoint_q8,
			     u32 mss_bytes, u32 attack_q8)
{
	u64 mss = min_t(u32, mss_bytes, CONTROL_MSS_MAX);
	u32 error_q8 = control_off_setpoint_q8(path, setpoint_q8);
	u64 round_us, attack_us;

	PRECONDITION(path->backlog_q8 <= CONTROL_BACKLOG_MAX * CONTROL_PACKET_Q8);
	PRECONDITION(setpoint_q8 <= CONTROL_SETPOINT_MAX_Q8 && attack_q8 <= 1U << 12);
	round_us = path->prop_us +
		   div_u64(mul_u64_u32_shr(path->service_q10, path->backlog_q8,
					   CONTROL_SERVICE_SHIFT + 8),
			   NSEC_PER_USEC);
	round_us = min_t(u64, round_us, CONTROL_RTT_MAX_US);
	attack_us = max_t(u64, (round_us * attack_q8) >> 8, 1);

	/* 2^24 * 2^16 * 10^6 is below 2^60, 10^8 * 2^12 / 2^8 below 2^31 */
	return div_u64(error_q8 * mss * USEC_PER_SEC, (u32)attack_us) >> 8;
}

/**
 * law_1994_rate_bytes_ps - the rate for the next pairs
 * @path: the path
 * @setpoint_q8: B, packets; must be at least CONTROL_SETPOINT_MIN_Q8
 * @mss_bytes: payload of a full segment; beyond CONTROL_MSS_MAX, that
 * @mean_bytes_ps: m, smoothed rate so far
 *
 * Return: payload bytes per second, at least 1. Relative error against exact
 * arithmetic: 2^-8 of (B - n_b) / J from the attack constants and what whole
 * microseconds leave of J, 2^-15 of the rise, three bytes per second.
 */
static inline u64 law_1994_rate_bytes_ps(const struct control_path *path,
					 u32 setpoint_q8, u32 mss_bytes,
					 u64 mean_bytes_ps)
{
	const u32 backlog_q8 = path->backlog_q8;
	const bool above = backlog_q8 > setpoint_q8;
	u64 share = control_share_bytes_ps(path, mss_bytes);
	u64 change = law_1994_correction_bytes_ps(path, setpoint_q8, mss_bytes,
						  above ? LAW_1994_ATTACK_DOWN_Q8 :
						  LAW_1994_ATTACK_UP_Q8);
	u64 rate = above ? share - min_t(u64, share, change) : share + change;

	/* or the floor's quotient does not fit, and some processors trap */
	PRECONDITION(setpoint_q8 >= CONTROL_SETPOINT_MIN_Q8);
	if (backlog_q8 > LAW_1994_OVERFLOW * setpoint_q8)
		rate = max_t(u64, rate, mul_u64_u32_div(share, 2 * CONTROL_PACKET_Q8,
							backlog_q8 - setpoint_q8));
	if (backlog_q8 <= LAW_1994_RISE_Q8 && rate > mean_bytes_ps)
		rate = mean_bytes_ps +
		       mul_u64_u32_shr(rate - mean_bytes_ps, LAW_1994_INC_Q16, 16);
	return max_t(u64, rate, 1);
}

/**
 * law_1994_mean_bytes_ps - the smoothed rate after a pair
 * @mean_bytes_ps: before; 0 at the start
 * @rate_bytes_ps: the rate that was chosen after this pair
 *
 * Return: bytes per second, rounded towards the rate, so that the mean reaches
 * one that stays.
 */
static inline u64 law_1994_mean_bytes_ps(u64 mean_bytes_ps, u64 rate_bytes_ps)
{
	const u32 step_q8 = CONTROL_PACKET_Q8 - LAW_1994_MEAN_Q8;

	if (rate_bytes_ps > mean_bytes_ps)
		return mean_bytes_ps + 1 +
		       mul_u64_u32_shr(rate_bytes_ps - mean_bytes_ps - 1,
				       step_q8, 8);
	return rate_bytes_ps + mul_u64_u32_shr(mean_bytes_ps - rate_bytes_ps,
					       LAW_1994_MEAN_Q8, 8);
}

/**
 * law_1994_window - a flow-control window that does not bind (section 10.3)
 * @path: the path
 * @setpoint_q8: B, packets
 *
 * Return: packets: twice the pipe and the setpoint, two pairs at least.
 */
static inline u32 law_1994_window(const struct control_path *path,
				  u32 setpoint_q8)
{
	u64 window_q8 = 2 * (control_pipe_q8(path) + setpoint_q8);

	return (u32)clamp_t(u64, window_q8 >> 8, 4, S32_MAX);
}

#endif /* _LAW_1994_H */
