/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Round trips and what is set by them: the stack's smoothed round trip, its retransmission
 * timeout (tcp_rtt_estimator(), tcp_set_rto()) and what the one timer is set for: RTO, tail
 * loss probe, or reordering. Times are exact, but for the jiffies that the stack adds.
 */
#ifndef _SIMULATOR_TCP_TIMER_H
#define _SIMULATOR_TCP_TIMER_H

#include "flow.h"

#define TCP_RTO_MIN_US (200 * USEC_PER_MSEC)
#define TCP_RTO_MAX_US (120 * USEC_PER_SEC)
#define TCP_RTO_INIT_US (1 * USEC_PER_SEC)
/* two jiffies, at 250 a second: TCP_TIMEOUT_MIN */
#define TCP_TIMEOUT_MIN_US (8 * USEC_PER_MSEC)

static inline void tcp_rtt_deviates(struct flow *f, s64 error_us)
{
	s64 m = error_us;

	if (m < 0) {
		m = -m - (f->mdev_us >> 2);
		/* a round trip that gets shorter shall not look like a varying one */
		if (m > 0)
			m >>= 3;
	} else {
		m -= f->mdev_us >> 2;
	}
	f->mdev_us += (u32)m;
	if (f->mdev_us > f->mdev_max_us) {
		f->mdev_max_us = f->mdev_us;
		f->rttvar_us = max_t(u32, f->rttvar_us, f->mdev_max_us);
	}
	if (!after(f->una, f->rtt_seq))
		return;
	if (f->mdev_max_us < f->rttvar_us)
		f->rttvar_us -= (f->rttvar_us - f->mdev_max_us) >> 2;
	f->rtt_seq = f->nxt;
	f->mdev_max_us = TCP_RTO_MIN_US;
}

/* tcp_rtt_estimator() and tcp_set_rto() */
static inline void tcp_rtt_sample(struct flow *f, u32 rtt_us)
{
	struct sock *sk = &f->sk;
	s64 error_us;

	rtt_us = max_t(u32, rtt_us, 1);
	if (!sk->srtt_us) {
		sk->srtt_us = rtt_us << 3;
		f->mdev_us = rtt_us << 1;
		f->rttvar_us = max_t(u32, f->mdev_us, TCP_RTO_MIN_US);
		f->mdev_max_us = f->rttvar_us;
		f->rtt_seq = f->nxt;
	} else {
		error_us = (s64)rtt_us - (sk->srtt_us >> 3);
		sk->srtt_us += (u32)error_us;
		tcp_rtt_deviates(f, error_us);
	}
	sk->min_rtt_us = min_t(u32, sk->min_rtt_us, rtt_us);
	f->rto_us = min_t(u32, (sk->srtt_us >> 3) + f->rttvar_us, TCP_RTO_MAX_US);
	sk->icsk_rto = f->rto_us / jiffies_to_usecs(1);
	f->backoff = 0;
}

static inline void tcp_arm(struct flow *f, enum flow_timer what, u64 us)
{
	f->armed = what;
	clock_set(f->clock, &f->retransmit, f->clock->now_ns + us * NSEC_PER_USEC);
}

static inline void tcp_disarm(struct flow *f)
{
	f->armed = FLOW_TIMER_NONE;
	clock_cancel(f->clock, &f->retransmit);
}

static inline u64 tcp_backed_off_us(const struct flow *f)
{
	return min_t(u64, (u64)f->rto_us << min_t(u32, f->backoff, 10), TCP_RTO_MAX_US);
}

/* Until the RTO of the oldest segment: tcp_rto_delta_us() */
static inline s64 tcp_rto_left_us(const struct flow *f)
{
	return (s64)(flow_segment(f, f->una)->sent_us + tcp_backed_off_us(f)) -
	       (s64)f->sk.tcp_mstamp;
}

static inline void tcp_rearm_rto(struct flow *f)
{
	s64 us = (s64)tcp_backed_off_us(f);

	if (!f->sk.packets_out) {
		tcp_disarm(f);
		return;
	}
	/* what has passed while the timer was set for something else counts */
	if (f->armed == FLOW_TIMER_REORDERED || f->armed == FLOW_TIMER_PROBE)
		us = max_t(s64, tcp_rto_left_us(f), 1);
	tcp_arm(f, FLOW_TIMER_RTO, (u64)us);
}

/* Two round trips without news, where no recovery is under way */
static inline bool tcp_schedule_probe(struct flow *f, bool advancing_rto)
{
	const struct sock *sk = &f->sk;
	s64 timeout_us, left_us;

	if (!sk->packets_out ||
	    (sk->icsk_ca_state != TCP_CA_Open && sk->icsk_ca_state != TCP_CA_CWR))
		return false;
	timeout_us = (sk->srtt_us >> 2) +
		     (sk->packets_out == 1 ? TCP_RTO_MIN_US : TCP_TIMEOUT_MIN_US);
	left_us = advancing_rto ? (s64)f->rto_us : tcp_rto_left_us(f);
	if (left_us > 0)
		timeout_us = min_t(s64, timeout_us, left_us);
	tcp_arm(f, FLOW_TIMER_PROBE, (u64)timeout_us);
	return true;
}

#endif /* _SIMULATOR_TCP_TIMER_H */
