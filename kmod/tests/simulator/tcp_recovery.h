/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loss: which segments are lost, and the states Open, Disorder, CWR, Recovery and Loss, as
 * Linux 6.1 has them. A segment is lost by RACK (RFC 8985): one that was sent later has
 * arrived, and either three have been SACKed, or a quarter of the smallest round trip has
 * passed since it should have come. Windows are reduced by PRR (RFC 6937) where the
 * congestion control leaves that to the stack. What was taken for lost in error is found
 * out by time stamps or duplicate SACKs, and undone.
 *
 * Left out: F-RTO, reneging, and adaptation of the reordering window and threshold.
 */
#ifndef _SIMULATOR_TCP_RECOVERY_H
#define _SIMULATOR_TCP_RECOVERY_H

#include "tcp_send.h"

#define TCP_REORDERING 3
/* of the smallest round trip */
#define TCP_REORDERING_PART 4

/* what an ACK said; the kernel's FLAG_* */
struct ack_news {
	bool advanced;
	bool sacked;
	bool dsacked;
	bool ece;
	bool lost_retransmit;
	bool set_timer;
	bool resend;
	u32 echo_ms;
};

/* ---- which are lost ---- */

static inline void tcp_mark_lost(struct flow *f, u32 number)
{
	struct segment *s = flow_segment(f, number);
	u8 marks = s->marks;

	if (marks & SEGMENT_SACKED)
		return;
	if (marks & SEGMENT_LOST) {
		if (!(marks & SEGMENT_RETRANS))
			return;
		marks &= (u8)~SEGMENT_RETRANS;
	}
	segment_mark(f, s, marks | SEGMENT_LOST);
	f->lost_total++;
	if (f->to_resend == 1 || before(number, f->resend_hint))
		f->resend_hint = number;
}

static inline bool tcp_sent_after(u64 at_us, u32 end, u64 than_us, u32 than_end)
{
	return at_us > than_us || (at_us == than_us && after(end, than_end));
}

static inline u32 tcp_rack_window_us(const struct flow *f)
{
	const struct sock *sk = &f->sk;

	if (sk->icsk_ca_state >= TCP_CA_Recovery || sk->sacked_out >= TCP_REORDERING)
		return 0;
	return min_t(u32, sk->min_rtt_us / TCP_REORDERING_PART, sk->srtt_us >> 3);
}

static inline s64 tcp_rack_left_us(const struct flow *f, const struct segment *s, u32 window_us)
{
	return (s64)f->rack.rtt_us + window_us - (s64)(f->sk.tcp_mstamp - s->sent_us);
}

/* Return: until the next can be taken for lost; 0: none waits */
static inline u32 tcp_rack_detect(struct flow *f)
{
	u32 window_us = tcp_rack_window_us(f), timeout_us = 0, number, newer;

	for (number = f->oldest; number != SEGMENT_NONE; number = newer) {
		struct segment *s = flow_segment(f, number);
		s64 left_us;

		newer = s->newer;
		if (!tcp_sent_after(f->rack.sent_us, f->rack.end, s->sent_us, number + 1))
			break;
		left_us = tcp_rack_left_us(f, s, window_us);
		if (left_us <= 0) {
			tcp_mark_lost(f, number);
			segment_unlist(f, s);
		} else {
			timeout_us = max_t(u32, timeout_us, (u32)left_us);
		}
	}
	return timeout_us;
}

/* tcp_identify_packet_loss() */
static inline void tcp_identify_loss(struct flow *f, struct ack_news *news)
{
	u32 prior_retrans = f->sk.retrans_out, timeout_us;

	if (!f->sk.packets_out)
		return;
	if (f->rack.advanced) {
		f->rack.advanced = false;
		timeout_us = tcp_rack_detect(f);
		if (timeout_us) {
			tcp_arm(f, FLOW_TIMER_REORDERED, timeout_us + TCP_TIMEOUT_MIN_US);
			news->set_timer = false;
		}
	}
	news->lost_retransmit |= prior_retrans > f->sk.retrans_out;
}

static inline void tcp_rack_advance(struct flow *f, const struct segment *s, u32 end)
{
	u32 rtt_us = (u32)(f->sk.tcp_mstamp - s->sent_us);

	/* which of the two has arrived? */
	if (rtt_us < f->sk.min_rtt_us && s->marks & SEGMENT_EVER_RETRANS)
		return;
	f->rack.advanced = true;
	f->rack.rtt_us = rtt_us;
	if (tcp_sent_after(s->sent_us, end, f->rack.sent_us, f->rack.end)) {
		f->rack.sent_us = s->sent_us;
		f->rack.end = end;
	}
}

/* ---- windows ---- */

static inline void tcp_set_state(struct flow *f, u8 state)
{
	struct sock *sk = &f->sk;

	if (sk->icsk_ca_ops->set_state)
		sk->icsk_ca_ops->set_state(sk, state);
	sk->icsk_ca_state = state;
}

static inline bool tcp_reduces(const struct sock *sk)
{
	return sk->icsk_ca_state == TCP_CA_CWR || sk->icsk_ca_state == TCP_CA_Recovery;
}

/* tcp_current_ssthresh() */
static inline u32 tcp_threshold(const struct sock *sk)
{
	u32 cwnd = tcp_snd_cwnd(sk);

	if (tcp_reduces(sk))
		return sk->snd_ssthresh;
	return max_t(u32, sk->snd_ssthresh, (cwnd >> 1) + (cwnd >> 2));
}

static inline void tcp_begin_reduction(struct flow *f)
{
	struct sock *sk = &f->sk;

	f->high_seq = f->nxt;
	f->tlp_high_seq = 0;
	sk->snd_cwnd_cnt = 0;
	sk->prior_cwnd = tcp_snd_cwnd(sk);
	f->prr_delivered = 0;
	f->prr_out = 0;
	sk->snd_ssthresh = sk->icsk_ca_ops->ssthresh(sk);
	f->cwr_due = f->config.ecn;
}

/* tcp_cwnd_reduction(): PRR */
static inline void tcp_reduce(struct flow *f, u32 acked, u32 lost, bool advanced)
{
	struct sock *sk = &f->sk;
	s32 delta = (s32)(sk->snd_ssthresh - tcp_packets_in_flight(sk)), count;

	if (!acked || !sk->prior_cwnd)
		return;
	f->prr_delivered += acked;
	if (delta < 0) {
		count = (s32)(((u64)sk->snd_ssthresh * f->prr_delivered + sk->prior_cwnd - 1) /
			      sk->prior_cwnd - f->prr_out);
	} else {
		count = max_t(s32, (s32)(f->prr_delivered - f->prr_out), (s32)acked);
		count = min_t(s32, count + (advanced && !lost), delta);
	}
	count = max_t(s32, count, f->prr_out ? 0 : 1);
	tcp_snd_cwnd_set(sk, max_t(u32, tcp_packets_in_flight(sk) + (u32)count, 1));
}

static inline void tcp_end_reduction(struct flow *f)
{
	struct sock *sk = &f->sk;

	if (sk->icsk_ca_ops->cong_control)
		return;
	if (sk->snd_ssthresh < TCP_INFINITE_SSTHRESH &&
	    (sk->icsk_ca_state == TCP_CA_CWR || sk->undo_marker))
		tcp_snd_cwnd_set(sk, sk->snd_ssthresh);
}

static inline void tcp_enter_cwr(struct flow *f)
{
	struct sock *sk = &f->sk;

	f->prior_ssthresh = 0;
	if (sk->icsk_ca_state >= TCP_CA_CWR)
		return;
	sk->undo_marker = 0;
	tcp_begin_reduction(f);
	tcp_set_state(f, TCP_CA_CWR);
}

/* ---- undone ---- */

static inline void tcp_begin_undo(struct flow *f)
{
	f->sk.undo_marker = f->sk.snd_una;
	f->undo_retrans = f->sk.retrans_out ? (s32)f->sk.retrans_out : -1;
}

/* The first packet that was sent again was answered before that could arrive */
static inline bool tcp_was_delayed(const struct flow *f, const struct ack_news *news)
{
	return f->retrans_stamp_ms && news->echo_ms && before(news->echo_ms, f->retrans_stamp_ms);
}

static inline bool tcp_may_undo(const struct flow *f, const struct ack_news *news)
{
	return f->sk.undo_marker && (!f->undo_retrans || tcp_was_delayed(f, news));
}

static inline void tcp_undo(struct flow *f, bool unmark)
{
	struct sock *sk = &f->sk;
	u32 number;

	for (number = f->una; unmark && sk->lost_out && number != f->nxt; number++) {
		struct segment *s = flow_segment(f, number);

		segment_mark(f, s, s->marks & (u8)~SEGMENT_LOST);
	}
	if (f->prior_ssthresh) {
		tcp_snd_cwnd_set(sk, max_t(u32, sk->icsk_ca_ops->undo_cwnd(sk), 1));
		sk->snd_ssthresh = max_t(u32, sk->snd_ssthresh, f->prior_ssthresh);
	}
	sk->undo_marker = 0;
	f->rack.advanced = true;
}

/* tcp_try_keep_open() */
static inline void tcp_keep_open(struct flow *f)
{
	struct sock *sk = &f->sk;
	u8 state = sk->sacked_out + sk->lost_out || sk->retrans_out ? TCP_CA_Disorder :
								      TCP_CA_Open;

	if (sk->icsk_ca_state != state) {
		tcp_set_state(f, state);
		f->high_seq = f->nxt;
	}
}

static inline void tcp_undo_dsack(struct flow *f)
{
	if (!f->sk.undo_marker || f->undo_retrans)
		return;
	tcp_undo(f, false);
	if (f->sk.icsk_ca_state == TCP_CA_Recovery)
		tcp_keep_open(f);
}

/* All that was in flight when it began has arrived */
static inline void tcp_end_recovery(struct flow *f, const struct ack_news *news)
{
	if (tcp_may_undo(f, news))
		tcp_undo(f, false);
	tcp_set_state(f, TCP_CA_Open);
}

/* true: was in vain, or may have been */
static inline bool tcp_undo_partial(struct flow *f, const struct ack_news *news)
{
	if (!f->sk.undo_marker || !tcp_was_delayed(f, news))
		return false;
	if (f->sk.retrans_out)
		return true;
	f->retrans_stamp_ms = 0;
	tcp_undo(f, true);
	tcp_keep_open(f);
	return true;
}

/* ---- states ---- */

static inline void tcp_enter_recovery(struct flow *f, const struct ack_news *news)
{
	f->prior_ssthresh = 0;
	tcp_begin_undo(f);
	if (!tcp_reduces(&f->sk)) {
		if (!news->ece)
			f->prior_ssthresh = tcp_threshold(&f->sk);
		tcp_begin_reduction(f);
	}
	tcp_set_state(f, TCP_CA_Recovery);
}

static inline void tcp_end_states(struct flow *f, const struct ack_news *news)
{
	struct sock *sk = &f->sk;

	if (sk->icsk_ca_state == TCP_CA_Open) {
		f->retrans_stamp_ms = 0;
	} else if (!before(f->una, f->high_seq)) {
		if (sk->icsk_ca_state == TCP_CA_CWR && f->una != f->high_seq) {
			tcp_end_reduction(f);
			tcp_set_state(f, TCP_CA_Open);
		} else if (sk->icsk_ca_state == TCP_CA_Recovery) {
			tcp_end_recovery(f, news);
			/* as in the kernel, the state is Open then; the threshold holds */
			tcp_end_reduction(f);
		}
	}
}

/* In Loss; true: that is all */
static inline bool tcp_in_loss(struct flow *f, struct ack_news *news)
{
	if (news->advanced && tcp_may_undo(f, news)) {
		tcp_undo(f, true);
		f->retries = 0;
		tcp_set_state(f, TCP_CA_Open);
	} else if (!before(f->una, f->high_seq)) {
		tcp_end_recovery(f, news);
	} else {
		news->resend = true;
	}
	tcp_identify_loss(f, news);
	return f->sk.icsk_ca_state != TCP_CA_Open && !news->lost_retransmit;
}

/* tcp_fastretrans_alert() */
static inline void tcp_alert(struct flow *f, struct ack_news *news)
{
	struct sock *sk = &f->sk;

	if (news->ece)
		f->prior_ssthresh = 0;
	tcp_end_states(f, news);
	if (sk->icsk_ca_state == TCP_CA_Recovery) {
		if (news->advanced && tcp_undo_partial(f, news))
			return;
		tcp_undo_dsack(f);
		tcp_identify_loss(f, news);
		if (sk->icsk_ca_state != TCP_CA_Recovery) {
			if (!sk->lost_out)
				return;
			tcp_enter_recovery(f, news);
		}
		news->resend = true;
		return;
	}
	if (sk->icsk_ca_state == TCP_CA_Loss && tcp_in_loss(f, news))
		return;
	if (sk->icsk_ca_state <= TCP_CA_Disorder)
		tcp_undo_dsack(f);
	tcp_identify_loss(f, news);
	if (!sk->lost_out) {
		if (news->ece)
			tcp_enter_cwr(f);
		if (sk->icsk_ca_state != TCP_CA_CWR)
			tcp_keep_open(f);
		return;
	}
	tcp_enter_recovery(f, news);
	news->resend = true;
}

/* ---- timers ---- */

/* tcp_enter_loss(): all but what was sent so late that it may be under way */
static inline void tcp_enter_loss(struct flow *f)
{
	struct sock *sk = &f->sk;
	u32 number;

	for (number = f->una; number != f->nxt; number++) {
		struct segment *s = flow_segment(f, number);

		if (number != f->una && tcp_rack_left_us(f, s, 0) > 0)
			continue;
		tcp_mark_lost(f, number);
		segment_unlist(f, s);
	}
	if (sk->icsk_ca_state <= TCP_CA_Disorder || !after(f->high_seq, f->una) ||
	    (sk->icsk_ca_state == TCP_CA_Loss && !f->retries)) {
		f->prior_ssthresh = tcp_threshold(sk);
		sk->prior_cwnd = tcp_snd_cwnd(sk);
		sk->snd_ssthresh = sk->icsk_ca_ops->ssthresh(sk);
		tcp_begin_undo(f);
	}
	tcp_snd_cwnd_set(sk, tcp_packets_in_flight(sk) + 1);
	sk->snd_cwnd_cnt = 0;
	tcp_set_state(f, TCP_CA_Loss);
	f->high_seq = f->nxt;
	f->cwr_due = f->config.ecn;
}

static inline void tcp_timed_out(struct flow *f)
{
	f->figures.timeouts++;
	tcp_enter_loss(f);
	f->retries++;
	tcp_skb_segments(f);
	tcp_retransmit(f, f->una, 1, false);
	f->backoff++;
	tcp_arm(f, FLOW_TIMER_RTO, tcp_backed_off_us(f));
}

/* tcp_send_loss_probe() */
static inline void tcp_probe(struct flow *f)
{
	u32 packets_out = f->sk.packets_out;

	if (!f->tlp_high_seq) {
		f->tlp_retrans = false;
		if (tcp_unsent(f) && (s32)(f->window_end - f->nxt) > 0) {
			tcp_write(f, true);
		} else if (!(flow_segment(f, f->nxt - 1)->marks & SEGMENT_SACKED)) {
			tcp_retransmit(f, f->nxt - 1, 1, true);
			f->tlp_retrans = true;
		}
		if (f->sk.packets_out > packets_out || f->tlp_retrans) {
			f->figures.probes++;
			f->tlp_high_seq = f->nxt;
			f->armed = FLOW_TIMER_NONE;
		}
	}
	tcp_rearm_rto(f);
}

/* tcp_process_tlp_ack() */
static inline void tcp_probe_acked(struct flow *f, const struct ack_news *news)
{
	if (!f->tlp_high_seq || before(f->una, f->tlp_high_seq))
		return;
	if (!f->tlp_retrans || news->dsacked) {
		f->tlp_high_seq = 0;
	} else if (after(f->una, f->tlp_high_seq)) {
		tcp_begin_reduction(f);
		tcp_set_state(f, TCP_CA_CWR);
		tcp_end_reduction(f);
		tcp_keep_open(f);
	} else if (!news->advanced && !news->sacked) {
		f->tlp_high_seq = 0;
	}
}

#endif /* _SIMULATOR_TCP_RECOVERY_H */
