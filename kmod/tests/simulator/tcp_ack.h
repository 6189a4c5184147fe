/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An ACK at the sender, in the order of tcp_ack(): SACKs, what is acknowledged, round
 * trips, loss, the rate sample (tcp_rate.c), the congestion control, and what may be sent.
 */
#ifndef _SIMULATOR_TCP_ACK_H
#define _SIMULATOR_TCP_ACK_H

#include "tcp_recovery.h"

/* the start of a flow, in which round trips above the limit are counted apart */
#define TCP_START_NS (2 * NSEC_PER_SEC)
/* the window's pacing rate, of who leaves it to the stack: in slow start, later */
#define TCP_PACING_START_PERCENT 200
#define TCP_PACING_LATER_PERCENT 120

struct ack_sum {
	struct rate_sample rs;
	struct ack_news news;
	u32 last_end;		/* of the newest segment delivered */
	u64 first_acked_us, last_acked_us, first_sacked_us, last_sacked_us;
	u32 prior_una, prior_sacked;
	bool retransmitted;	/* what is acknowledged */
};

/* tcp_rate_skb_delivered() */
static inline void tcp_delivered(struct flow *f, struct segment *s, u32 number, struct ack_sum *a)
{
	struct sock *sk = &f->sk;

	if (!s->delivered_us)
		return;
	if (!a->rs.prior_delivered ||
	    tcp_sent_after(s->sent_us, number + 1, sk->first_tx_mstamp, a->last_end)) {
		a->rs.prior_delivered = s->delivered;
		a->rs.prior_mstamp = s->delivered_us;
		a->rs.is_app_limited = s->marks & SEGMENT_APP_LIMITED;
		a->rs.is_retrans = s->marks & SEGMENT_EVER_RETRANS;
		a->last_end = number + 1;
		sk->first_tx_mstamp = s->sent_us;
		a->rs.interval_us = (long)(s->sent_us - s->first_tx_us);
	}
	if (s->marks & SEGMENT_SACKED)
		s->delivered_us = 0;
}

static inline void tcp_count_delivered(struct flow *f, u32 segments, bool ece)
{
	f->sk.delivered += segments;
	f->sk.delivered_ce += ece ? segments : 0;
}

/* tcp_sacktag_one() */
static inline void tcp_sack(struct flow *f, u32 number, struct ack_sum *a)
{
	struct segment *s = flow_segment(f, number);
	u8 marks = s->marks;

	if (marks & SEGMENT_SACKED)
		return;
	tcp_rack_advance(f, s, number + 1);
	if (marks & SEGMENT_RETRANS) {
		if (marks & SEGMENT_LOST)
			marks &= (u8)~(SEGMENT_LOST | SEGMENT_RETRANS);
	} else {
		if (!(marks & SEGMENT_EVER_RETRANS)) {
			if (!a->first_sacked_us)
				a->first_sacked_us = s->sent_us;
			a->last_sacked_us = s->sent_us;
		}
		marks &= (u8)~SEGMENT_LOST;
	}
	segment_mark(f, s, marks | SEGMENT_SACKED);
	a->news.sacked = true;
	tcp_count_delivered(f, 1, a->news.ece);
	tcp_delivered(f, s, number, a);
	segment_unlist(f, s);
}

/* Blocks of the last ACK have been looked at */
static inline void tcp_sack_block(struct flow *f, struct span block, struct ack_sum *a)
{
	u32 number = before(block.first, f->una) ? f->una : block.first, i;

	while (before(number, block.end)) {
		bool known = false;

		for (i = 0; i < f->sacks_count; i++) {
			if (!before(number, f->sacks[i].first) && before(number, f->sacks[i].end)) {
				number = f->sacks[i].end;
				known = true;
			}
		}
		if (!known)
			tcp_sack(f, number++, a);
	}
}

static inline void tcp_take_sacks(struct flow *f, const struct packet *p, struct ack_sum *a)
{
	u32 i;

	if (p->duplicates) {
		/* as many as were sent again at most: tcp_dsack_seen() */
		u32 count = min_t(u32, p->duplicates, f->sk.total_retrans);

		a->news.dsacked = count;
		tcp_count_delivered(f, count, a->news.ece);
		if (f->sk.undo_marker && f->undo_retrans > 0)
			f->undo_retrans = max_t(s32, f->undo_retrans - (s32)count, 0);
	}
	for (i = 0; i < p->sacked; i++)
		tcp_sack_block(f, p->sacks[i], a);
	f->sacks_count = p->sacked;
	memcpy(f->sacks, p->sacks, sizeof(f->sacks));
}

/* tcp_clean_rtx_queue() */
static inline void tcp_clean(struct flow *f, u32 upto, struct ack_sum *a)
{
	struct sock *sk = &f->sk;

	for (; f->una != upto; f->una++) {
		struct segment *s = flow_segment(f, f->una);

		if (s->marks & SEGMENT_EVER_RETRANS) {
			a->retransmitted = true;
		} else if (!(s->marks & SEGMENT_SACKED)) {
			if (!a->first_acked_us)
				a->first_acked_us = s->sent_us;
			a->last_acked_us = s->sent_us;
		}
		if (!(s->marks & SEGMENT_SACKED)) {
			tcp_count_delivered(f, 1, a->news.ece);
			tcp_rack_advance(f, s, f->una + 1);
		}
		tcp_delivered(f, s, f->una, a);
		segment_unlist(f, s);
		segment_mark(f, s, 0);
		sk->packets_out--;
	}
	sk->snd_una += (upto - a->prior_una) * sk->mss_cache;
	if (!sk->packets_out) {
		sk->tsorted_sent_queue.next = &sk->tsorted_sent_queue;
		sk->tsorted_sent_queue.prev = &sk->tsorted_sent_queue;
	}
}

/* tcp_ack_update_rtt() */
static inline void tcp_take_rtt(struct flow *f, struct ack_sum *a)
{
	struct sock *sk = &f->sk;
	u32 acked = f->una - a->prior_una;
	u64 first_us = 0, last_us = 0;
	bool first_of_sacks = false;

	a->rs.rtt_us = -1;
	if (a->first_acked_us && !a->retransmitted) {
		first_us = a->first_acked_us;
		last_us = a->last_acked_us;
	}
	if (a->first_sacked_us) {
		last_us = a->last_sacked_us;
		if (!first_us) {
			first_us = a->first_sacked_us;
			first_of_sacks = true;
		}
	}
	if (first_us) {
		a->rs.rtt_us = (long)(sk->tcp_mstamp - last_us);
		sk->min_rtt_us = min_t(u32, sk->min_rtt_us, max_t(u32, (u32)a->rs.rtt_us, 1));
		tcp_rtt_sample(f, (u32)(sk->tcp_mstamp - first_us));
	} else if (acked && a->news.echo_ms) {
		/* by the time stamp, in whole milliseconds */
		a->rs.rtt_us = (long)(flow_now_ms(f) - a->news.echo_ms) * USEC_PER_MSEC;
		tcp_rtt_sample(f, (u32)a->rs.rtt_us);
	}
	if (acked)
		a->news.set_timer = true;
	else if (first_of_sacks && f->sk.packets_out &&
		 first_us > flow_segment(f, f->una)->sent_us)
		a->news.set_timer = true;
	if (sk->icsk_ca_ops->pkts_acked && acked)
		sk->icsk_ca_ops->pkts_acked(sk, &(struct ack_sample) {
			.pkts_acked = acked, .rtt_us = (s32)a->rs.rtt_us,
			.in_flight = tcp_packets_in_flight(sk) });
}

/* tcp_rate_gen() */
static inline void tcp_rate_sample(struct flow *f, u32 prior_delivered, struct ack_sum *a)
{
	struct sock *sk = &f->sk;
	struct rate_sample *rs = &a->rs;
	u32 delivered = sk->delivered - prior_delivered;
	long ack_us;

	if (f->app_limited && after(sk->delivered, f->app_limited))
		f->app_limited = 0;
	if (delivered)
		sk->delivered_mstamp = sk->tcp_mstamp;
	rs->acked_sacked = delivered;
	if (!rs->prior_mstamp) {
		rs->delivered = -1;
		rs->interval_us = -1;
		return;
	}
	rs->delivered = (s32)(sk->delivered - rs->prior_delivered);
	ack_us = (long)(sk->tcp_mstamp - rs->prior_mstamp);
	rs->interval_us = max_t(long, rs->interval_us, ack_us);
	if (rs->interval_us < (long)sk->min_rtt_us)
		rs->interval_us = -1;
}

/* tcp_cong_control() */
static inline void tcp_control(struct flow *f, struct ack_sum *a)
{
	struct sock *sk = &f->sk;
	const struct tcp_congestion_ops *ops = sk->icsk_ca_ops;
	u32 percent;

	sk->window_binds = tcp_window_binds(f);
	if (ops->cong_control) {
		ops->cong_control(sk, &a->rs);
		return;
	}
	if (tcp_reduces(sk))
		tcp_reduce(f, a->rs.acked_sacked, (u32)a->rs.losses, a->news.advanced);
	else if (a->news.advanced && sk->window_binds)
		ops->cong_avoid(sk, sk->snd_una, a->rs.acked_sacked);
	percent = tcp_snd_cwnd(sk) < sk->snd_ssthresh / 2 ? TCP_PACING_START_PERCENT :
							    TCP_PACING_LATER_PERCENT;
	if (sk->srtt_us)
		sk->sk_pacing_rate = min_t(u64, sk->sk_max_pacing_rate,
					   (u64)sk->mss_cache * percent / 100 *
					   max_t(u32, tcp_snd_cwnd(sk), sk->packets_out) *
					   USEC_PER_SEC / max_t(u32, sk->srtt_us >> 3, 1));
}

static inline void tcp_note_point(struct flow *f, u32 rtt_us)
{
	struct flow_figures *figures = &f->figures;

	if (!figures->points_room)
		return;
	figures->points = flow_kept(figures->points, figures->points_count,
				    &figures->points_room, sizeof(*figures->points));
	figures->points[figures->points_count++] = (struct flow_point) {
		.at_us = f->sk.tcp_mstamp, .rtt_us = rtt_us, .cwnd = tcp_snd_cwnd(&f->sk),
		.rate_bytes_ps = f->sk.sk_pacing_rate,
	};
}

/* What a run is about: round trips of what is delivered for the first time */
static inline void tcp_note_ack(struct flow *f, const struct ack_sum *a)
{
	struct flow_figures *figures = &f->figures;
	const struct sock *sk = &f->sk;
	u32 rtt_us = (u32)(sk->tcp_mstamp - sk->first_tx_mstamp);
	bool over = rtt_us * (u64)NSEC_PER_USEC > f->config.rtt_limit_ns;

	figures->losses += (u64)a->rs.losses;
	if (f->config.segments && f->una == f->written && !figures->done_ns)
		figures->done_ns = f->clock->now_ns;
	if (!a->rs.prior_mstamp || a->rs.is_retrans)
		return;
	if (!before(a->rs.prior_delivered, f->round_delivered)) {
		f->round_delivered = sk->delivered;
		figures->rounds++;
	}
	figures->acks++;
	histogram_add(&figures->rtt_us, rtt_us);
	if (f->clock->now_ns - f->begun_ns < TCP_START_NS) {
		figures->over_start += over;
	} else {
		figures->acks_later++;
		figures->over_later += over;
	}
	tcp_note_point(f, rtt_us);
}

/* What may be sent now: by the ACK clock, or since the time of departure has come */
static inline void tcp_push(struct flow *f)
{
	flow_clock(f);
	if (f->to_resend && f->sk.icsk_ca_state >= TCP_CA_Recovery)
		tcp_send_lost(f);
	tcp_write(f, false);
}

/* tcp_ack() */
static inline void tcp_take_ack(struct packet *p)
{
	struct flow *f = p->flow;
	struct sock *sk = &f->sk;
	struct ack_sum a = {
		.prior_una = f->una, .prior_sacked = sk->sacked_out,
		.news = { .echo_ms = p->stamp_ms, .ece = p->ece,
			  .advanced = after(p->segment, f->una) },
	};
	u32 prior_delivered = sk->delivered, prior_lost = f->lost_total;

	flow_clock(f);
	sk->rx_opt.rcv_tsval = p->stamped_ms + 12345;
	sk->rx_opt.saw_tstamp = true;
	if (after(p->segment + p->window, f->window_end))
		f->window_end = p->segment + p->window;
	if (a.news.advanced)
		f->retries = 0;
	tcp_take_sacks(f, p, &a);
	tcp_clean(f, p->segment, &a);
	tcp_take_rtt(f, &a);
	tcp_probe_acked(f, &a.news);
	if (!a.news.advanced || a.news.sacked || a.news.ece || a.news.dsacked ||
	    sk->icsk_ca_state != TCP_CA_Open)
		tcp_alert(f, &a.news);
	if (a.news.set_timer && !tcp_schedule_probe(f, true))
		tcp_rearm_rto(f);
	a.rs.losses = (int)(f->lost_total - prior_lost);
	tcp_rate_sample(f, prior_delivered, &a);
	tcp_control(f, &a);
	tcp_note_ack(f, &a);
	if (a.news.resend)
		tcp_send_lost(f);
	tcp_write(f, false);
	packet_free(f->pool, p);
}

/* ---- timers ---- */

static inline void tcp_pace_fires(void *owner)
{
	tcp_push(owner);
}

static inline void tcp_retransmit_fires(void *owner)
{
	struct flow *f = owner;
	enum flow_timer was = f->armed;
	struct ack_news news = {};

	flow_clock(f);
	if (!f->sk.packets_out)
		return;
	if (was == FLOW_TIMER_PROBE) {
		tcp_probe(f);
	} else if (was == FLOW_TIMER_RTO) {
		tcp_timed_out(f);
	} else {
		/* tcp_rack_reo_timeout() */
		u32 prior = tcp_packets_in_flight(&f->sk);
		u32 timeout_us = tcp_rack_detect(f);

		if (prior != tcp_packets_in_flight(&f->sk)) {
			if (f->sk.icsk_ca_state != TCP_CA_Recovery) {
				tcp_enter_recovery(f, &news);
				if (!f->sk.icsk_ca_ops->cong_control)
					tcp_reduce(f, 1, 0, false);
			}
			tcp_send_lost(f);
		}
		if (timeout_us)
			tcp_arm(f, FLOW_TIMER_REORDERED, timeout_us + TCP_TIMEOUT_MIN_US);
		else if (f->armed != FLOW_TIMER_RTO || !f->retransmit.slot)
			tcp_rearm_rto(f);
	}
}

#endif /* _SIMULATOR_TCP_ACK_H */
