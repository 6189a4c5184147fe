/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queue-length based pacing: a link that is the slower the less waits for it.
 *
 * Y. Cai, T. Wolf, W. Gong, "Delaying transmissions in data communication
 * networks to improve transport-layer performance", IEEE JSAC 29(5), 2011.
 * Bursts that a router passes on at link speed overflow small buffers further
 * on. Here they leave at a rate that follows the backlog q (eq. 1):
 *
 *	mu(q) = mu_min + (mu_max - mu_min) * q / q_max	up to q_max
 *	mu(q) = rate of the link			beyond
 *
 * so what arrives slower than mu_min is never delayed, a steady load between
 * mu_min and mu_max finds a queue of its own length, and a load beyond mu_max
 * has the whole link.
 *
 * Differences from the paper, which has a fluid: a packet is served at mu(q) as
 * it changes while the packet is on the link (shaper_set_rate()), so that over
 * a busy period the mean of mu(q) is the rate served exactly; q is what waits,
 * without the packet on the link. The paper leaves q's unit open; here it is
 * bytes, since a delay follows from bytes and not from packets.
 *
 * What pacing costs, against a first-in-first-out link at full rate
 * (definition 1), is at most
 * - q_max / mu_max in a steady state (theorem 1);
 * - for any arrivals, the time that a queue of q_max takes to drain,
 *   q_max / (mu_max - mu_min) * ln(mu_max / mu_min), and a packet's at mu_max.
 *   The paper has no such bound; it holds since arrivals only raise the rate.
 */
#ifndef _FQ_RR_QLBP_H
#define _FQ_RR_QLBP_H

#include "portable.h"

/* larger rates count as this one: what they send in 2^32 us fits 64 bits */
#define QLBP_RATE_MAX (1ULL << 51)

/**
 * struct qlbp - a pacing rule
 * @mu_min_Bps: rate with nothing waiting (bytes per second), must be at least 1
 * @mu_max_Bps: rate with @q_max_bytes waiting (bytes per second), must be at least
 *	@mu_min_Bps
 * @link_Bps: rate with more waiting (bytes per second), must be at least @mu_max_Bps;
 *	0: no limit
 * @q_max_bytes: pacing cutoff (bytes); 0: no pacing
 */
struct qlbp {
	u64 mu_min_Bps;
	u64 mu_max_Bps;
	u64 link_Bps;
	u32 q_max_bytes;
};

/**
 * qlbp_mu_max - rule of thumb (section III-C): (1 + load) / 2 of the link
 * @link_Bps: rate of the link (bytes per second); beyond QLBP_RATE_MAX, that
 * @load_percent: of the link; above 100 counts as 100
 *
 * Return: bytes per second, less than 1 below the exact value, but no less than 1.
 */
static inline u64 qlbp_mu_max(u64 link_Bps, u32 load_percent)
{
	u64 link = min_t(u64, link_Bps, QLBP_RATE_MAX);

	return max_t(u64, div_u64(link * (100 + min_t(u32, load_percent, 100)), 200), 1);
}

/**
 * qlbp_mu_min - rule of thumb (section III-C): load / 2 of the link
 * @link_Bps: rate of the link (bytes per second); beyond QLBP_RATE_MAX, that
 * @load_percent: of the link; above 100 counts as 100
 *
 * Return: bytes per second, less than 1 below the exact value, but no less than 1.
 */
static inline u64 qlbp_mu_min(u64 link_Bps, u32 load_percent)
{
	u64 link = min_t(u64, link_Bps, QLBP_RATE_MAX);

	return max_t(u64, div_u64(link * min_t(u32, load_percent, 100), 200), 1);
}

/**
 * qlbp_q_max - rule of thumb (section III-C): what mu_max sends in a delay
 * @mu_max_Bps: rate (bytes per second); beyond QLBP_RATE_MAX, that
 * @max_delay_us: tolerable delay (us)
 *
 * Return: bytes, less than 1 below the exact value; may be too many for
 * &qlbp.q_max_bytes.
 */
static inline u64 qlbp_q_max(u64 mu_max_Bps, u32 max_delay_us)
{
	/* whose quotient must fit: some processors trap where it does not */
	return mul_u64_u32_div(min_t(u64, mu_max_Bps, QLBP_RATE_MAX), max_delay_us,
			       USEC_PER_SEC);
}

/**
 * qlbp_rate - the rate that a backlog is served at (eq. 1)
 * @p: rule; without pacing, the rate of the link
 * @backlog_bytes: what waits (bytes)
 *
 * Return: bytes per second, less than 1 below the exact value; 0: no limit.
 */
static inline u64 qlbp_rate(const struct qlbp *p, u32 backlog_bytes)
{
	if (backlog_bytes > p->q_max_bytes || !p->q_max_bytes)
		return p->link_Bps;
	PRECONDITION(p->mu_min_Bps && p->mu_min_Bps <= p->mu_max_Bps);
	PRECONDITION(!p->link_Bps || p->mu_max_Bps <= p->link_Bps);
	return p->mu_min_Bps + mul_u64_u32_div(p->mu_max_Bps - p->mu_min_Bps,
					       backlog_bytes, p->q_max_bytes);
}

/**
 * qlbp_delay_bound_ns - most that pacing delays a packet in a steady state
 * @p: rule; a @mu_max_Bps of 0, as a reader without a lock may see it, counts as 1
 *
 * Return: q_max / mu_max (theorem 1), in ns rounded up; 0 without pacing.
 */
static inline u64 qlbp_delay_bound_ns(const struct qlbp *p)
{
	u64 mu_max_Bps = max_t(u64, READ_ONCE(p->mu_max_Bps), 1);
	u64 parts = (u64)READ_ONCE(p->q_max_bytes) * NSEC_PER_SEC;

	return parts ? div64_u64(parts - 1, mu_max_Bps) + 1 : 0;
}

#endif /* _FQ_RR_QLBP_H */
