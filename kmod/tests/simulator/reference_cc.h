/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Congestion controls to be compared with, and to have beside one: Reno (RFC 5681) and
 * CUBIC (RFC 9438) with HyStart, after the kernel's tcp_cong.c and tcp_cubic.c, but in
 * floating point. Neither is paced, as on a host without fq.
 */
#ifndef _SIMULATOR_REFERENCE_CC_H
#define _SIMULATOR_REFERENCE_CC_H

#include <math.h>
#include <net/tcp.h>

/* ---- Reno ---- */

static inline bool reference_slow_starts(const struct sock *sk)
{
	return tcp_snd_cwnd(sk) < sk->snd_ssthresh;
}

/* tcp_slow_start(); Return: what is left of @acked beyond the threshold */
static inline u32 reference_slow_start(struct sock *sk, u32 acked)
{
	u32 cwnd = min_t(u32, tcp_snd_cwnd(sk) + acked, sk->snd_ssthresh);

	acked -= cwnd - tcp_snd_cwnd(sk);
	tcp_snd_cwnd_set(sk, min_t(u32, cwnd, sk->snd_cwnd_clamp));
	return acked;
}

/* tcp_cong_avoid_ai(): one more for each @per acknowledged */
static inline void reference_increase(struct sock *sk, u32 per, u32 acked)
{
	u32 steps;

	if (sk->snd_cwnd_cnt >= per) {
		sk->snd_cwnd_cnt = 0;
		tcp_snd_cwnd_set(sk, tcp_snd_cwnd(sk) + 1);
	}
	sk->snd_cwnd_cnt += acked;
	steps = sk->snd_cwnd_cnt / per;
	sk->snd_cwnd_cnt -= steps * per;
	tcp_snd_cwnd_set(sk, min_t(u32, tcp_snd_cwnd(sk) + steps, sk->snd_cwnd_clamp));
}

static inline void reference_init(struct sock *sk)
{
	memset(sk->icsk_ca_priv, 0, sizeof(sk->icsk_ca_priv));
	sk->snd_ssthresh = TCP_INFINITE_SSTHRESH;
}

static inline void reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	(void)ack;
	if (reference_slow_starts(sk))
		acked = reference_slow_start(sk, acked);
	if (acked)
		reference_increase(sk, tcp_snd_cwnd(sk), acked);
}

static inline u32 reno_ssthresh(struct sock *sk)
{
	return max_t(u32, tcp_snd_cwnd(sk) / 2, 2);
}

static inline u32 reference_undo_cwnd(struct sock *sk)
{
	return max_t(u32, tcp_snd_cwnd(sk), sk->prior_cwnd);
}

static const struct tcp_congestion_ops reference_reno = {
	.name = "reno",
	.init = reference_init,
	.ssthresh = reno_ssthresh,
	.undo_cwnd = reference_undo_cwnd,
	.cong_avoid = reno_cong_avoid,
};

/* ---- CUBIC ---- */

/* segments per s^3, and what a loss leaves of the window */
#define CUBIC_C 0.4
#define CUBIC_BETA (717.0 / 1024)
/* HyStart: from which window on, samples of a round, ACKs of one train (us) */
#define CUBIC_HYSTART_WINDOW 16
#define CUBIC_HYSTART_SAMPLES 8
#define CUBIC_HYSTART_TRAIN_US 2000
#define CUBIC_HYSTART_DELAY_MIN_US 4000
#define CUBIC_HYSTART_DELAY_MAX_US 16000

/**
 * struct cubic - state of one flow
 * @epoch_us: when the growth that goes on began; 0: it has not
 * @w_max: window before the last loss
 * @k_s: time from the epoch to @origin
 * @origin: window around which the growth is slow
 * @w_est: Reno's window
 * @delay_min_us: smallest round trip
 * @round_end: sequence number that ends HyStart's round
 * @round_start_us: when it began
 * @last_ack_us: last ACK of the train
 * @round_rtt_us: smallest in it
 * @samples: in it
 * @found: slow start has been left
 */
struct cubic {
	u64 epoch_us;
	double w_max, k_s, origin, w_est;
	u32 delay_min_us;
	u32 round_end;
	u64 round_start_us, last_ack_us;
	u32 round_rtt_us;
	u32 samples;
	bool found;
};

static_assert(sizeof(struct cubic) <= ICSK_CA_PRIV_SIZE, "the stack has no more room");

/* The window that CUBIC's curve has a time after the epoch */
static inline double cubic_window(const struct cubic *ca, double time_s)
{
	double d = time_s - ca->k_s;

	return CUBIC_C * d * d * d + ca->origin;
}

static inline void cubic_begin(struct cubic *ca, const struct sock *sk)
{
	double cwnd = tcp_snd_cwnd(sk);

	ca->epoch_us = sk->tcp_mstamp;
	ca->w_est = cwnd;
	ca->origin = fmax(cwnd, ca->w_max);
	ca->k_s = cbrt((ca->origin - cwnd) / CUBIC_C);
}

/* Acknowledged segments for each step of the window */
static inline u32 cubic_per(struct cubic *ca, const struct sock *sk, u32 acked)
{
	double cwnd = tcp_snd_cwnd(sk), time_s, target, per;

	if (!ca->epoch_us)
		cubic_begin(ca, sk);
	time_s = (double)(sk->tcp_mstamp - ca->epoch_us + ca->delay_min_us) / USEC_PER_SEC;
	target = cubic_window(ca, time_s);
	per = target > cwnd ? fmin(cwnd / (target - cwnd), 100 * cwnd) : 100 * cwnd;
	if (!ca->w_max)
		per = fmin(per, 20);
	/* no slower than Reno: RFC 9438, 4.3 */
	ca->w_est += 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA) * acked / cwnd;
	if (ca->w_est > cwnd)
		per = fmin(per, cwnd / (ca->w_est - cwnd));
	return (u32)fmax(per, 2);
}

static inline void cubic_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct cubic *ca = inet_csk_ca(sk);

	(void)ack;
	if (reference_slow_starts(sk))
		acked = reference_slow_start(sk, acked);
	if (acked)
		reference_increase(sk, cubic_per(ca, sk, acked), acked);
}

static inline u32 cubic_ssthresh(struct sock *sk)
{
	struct cubic *ca = inet_csk_ca(sk);
	double cwnd = tcp_snd_cwnd(sk);

	ca->epoch_us = 0;
	/* fast convergence */
	ca->w_max = cwnd < ca->w_max ? cwnd * (1 + CUBIC_BETA) / 2 : cwnd;
	return max_t(u32, (u32)(cwnd * CUBIC_BETA), 2);
}

static inline void cubic_set_state(struct sock *sk, u8 state)
{
	if (state == TCP_CA_Loss)
		memset(sk->icsk_ca_priv, 0, sizeof(sk->icsk_ca_priv));
}

static inline void cubic_leave_slow_start(struct sock *sk)
{
	struct cubic *ca = inet_csk_ca(sk);

	ca->found = true;
	sk->snd_ssthresh = tcp_snd_cwnd(sk);
}

static inline void cubic_hystart(struct sock *sk, u32 rtt_us)
{
	struct cubic *ca = inet_csk_ca(sk);
	u64 now_us = sk->tcp_mstamp;

	if (!ca->round_start_us || before(ca->round_end, sk->snd_una)) {
		ca->round_start_us = now_us;
		ca->last_ack_us = now_us;
		ca->round_end = sk->snd_nxt;
		ca->round_rtt_us = U32_MAX;
		ca->samples = 0;
	}
	if (now_us - ca->last_ack_us <= CUBIC_HYSTART_TRAIN_US) {
		u64 delay_us = min_t(u64, USEC_PER_MSEC, sk->sk_gso_max_size * 4ULL *
				     USEC_PER_SEC / max_t(u64, sk->sk_pacing_rate, 1));

		ca->last_ack_us = now_us;
		if (now_us - ca->round_start_us > (ca->delay_min_us + delay_us) / 2)
			cubic_leave_slow_start(sk);
	}
	ca->round_rtt_us = min_t(u32, ca->round_rtt_us, rtt_us);
	if (ca->samples < CUBIC_HYSTART_SAMPLES)
		ca->samples++;
	else if (ca->round_rtt_us > ca->delay_min_us +
		 clamp_t(u32, ca->delay_min_us >> 3, CUBIC_HYSTART_DELAY_MIN_US,
			 CUBIC_HYSTART_DELAY_MAX_US))
		cubic_leave_slow_start(sk);
}

static inline void cubic_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct cubic *ca = inet_csk_ca(sk);
	u32 rtt_us = max_t(u32, (u32)sample->rtt_us, 1);

	/* nor right after a recovery */
	if (sample->rtt_us < 0 ||
	    (ca->epoch_us && sk->tcp_mstamp - ca->epoch_us < USEC_PER_SEC))
		return;
	if (!ca->delay_min_us || rtt_us < ca->delay_min_us)
		ca->delay_min_us = rtt_us;
	if (!ca->found && reference_slow_starts(sk) && tcp_snd_cwnd(sk) >= CUBIC_HYSTART_WINDOW)
		cubic_hystart(sk, rtt_us);
}

static const struct tcp_congestion_ops reference_cubic = {
	.name = "cubic",
	.init = reference_init,
	.ssthresh = cubic_ssthresh,
	.undo_cwnd = reference_undo_cwnd,
	.set_state = cubic_set_state,
	.cong_avoid = cubic_cong_avoid,
	.pkts_acked = cubic_acked,
};

#endif /* _SIMULATOR_REFERENCE_CC_H */
