/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the sender's stack sends, and when, as Linux 6.1 does: skbs of several segments
 * that leave back to back (tcp_tso_segs()), by the earliest departure time of pacing but
 * for the first ten segments, within the windows (tcp_write_xmit()); first what has been
 * lost (tcp_xmit_retransmit_queue()). What a rate sample needs is noted with each segment.
 *
 * Left out: small queues (TSQ), Nagle, and skbs cut at what the application wrote at once.
 */
#ifndef _SIMULATOR_TCP_SEND_H
#define _SIMULATOR_TCP_SEND_H

#include "tcp_timer.h"

/* segments that the stack does not pace */
#define TCP_UNPACED 10
#define TCP_PACING_SHIFT 10
#define TCP_TSO_RTT_LOG 9
/* of a window, what is too much to wait for the rest of an skb */
#define TCP_TSO_WIN_DIVISOR 3

static inline u32 tcp_unsent(const struct flow *f)
{
	return f->stopped ? 0 : f->written - f->nxt;
}

/* Bytes of a packet with this payload, on the wire */
static inline u32 tcp_wire_bytes(const struct flow *f)
{
	return f->sk.mss_cache + PACKET_HEADER_BYTES;
}

/* tcp_tso_segs() */
static inline u32 tcp_skb_segments(struct flow *f)
{
	struct sock *sk = &f->sk;
	u32 least = sk->icsk_ca_ops->min_tso_segs ? sk->icsk_ca_ops->min_tso_segs(sk) : 2;
	u64 bytes = sk->sk_pacing_rate >> TCP_PACING_SHIFT;
	u32 shift = sk->min_rtt_us >> TCP_TSO_RTT_LOG;

	if (shift < 32)
		bytes += sk->sk_gso_max_size >> shift;
	bytes = min_t(u64, bytes, sk->sk_gso_max_size);
	return max_t(u32, 1, min_t(u32, max_t(u32, (u32)(bytes / sk->mss_cache), least),
				   sk->sk_gso_max_segs));
}

/* true: not before the time of departure, for which a timer is set */
static inline bool tcp_pacing_waits(struct flow *f)
{
	const struct sock *sk = &f->sk;

	if (sk->sk_pacing_status == SK_PACING_NONE || sk->tcp_wstamp_ns <= sk->tcp_clock_cache)
		return false;
	if (!f->pace.slot)
		clock_set(f->clock, &f->pace, sk->tcp_wstamp_ns);
	return true;
}

/* tcp_update_skb_after_send() */
static inline void tcp_charge_pacing(struct flow *f, u32 segments, u64 prior_ns)
{
	struct sock *sk = &f->sk;
	u64 len_ns;

	if (sk->sk_pacing_status == SK_PACING_NONE || !sk->sk_pacing_rate ||
	    sk->data_segs_out < TCP_UNPACED)
		return;
	len_ns = (u64)segments * sk->mss_cache * NSEC_PER_SEC / sk->sk_pacing_rate;
	/* an idle flow makes up for half of an skb */
	len_ns -= min_t(u64, len_ns / 2, sk->tcp_wstamp_ns - prior_ns);
	sk->tcp_wstamp_ns += len_ns;
}

static inline void tcp_emit(struct flow *f, u32 number)
{
	u64 now_ns = f->clock->now_ns, leaves_ns = now_ns;
	struct packet *p = packet_take(f->pool);

	p->flow = f;
	p->segment = number;
	p->bytes = tcp_wire_bytes(f);
	p->stamp_ms = flow_now_ms(f);
	p->hop = (u8)f->config.enter;
	p->bucket = (u8)f->config.bucket;
	p->ect = f->config.ecn;
	p->cwr = f->cwr_due;
	f->cwr_due = false;
	f->figures.sent++;
	if (f->config.access_bps) {
		f->nic_free_ns = max_t(u64, f->nic_free_ns, now_ns) +
				 p->bytes * 8ULL * NSEC_PER_SEC / f->config.access_bps;
		leaves_ns = f->nic_free_ns;
	}
	leaves_ns += f->config.ahead_ns;
	if (leaves_ns == now_ns && !f->ahead.head)
		f->enter(p);
	else
		line_put(&f->ahead, p, leaves_ns);
}

/* __tcp_transmit_skb() and tcp_rate_skb_sent(): segments that leave together */
static inline void tcp_transmit(struct flow *f, u32 first, u32 segments, u8 marks)
{
	struct sock *sk = &f->sk;
	u64 prior_ns = sk->tcp_wstamp_ns, sent_us;
	u32 i;

	sk->tcp_wstamp_ns = max_t(u64, prior_ns, sk->tcp_clock_cache);
	sent_us = sk->tcp_wstamp_ns / NSEC_PER_USEC;
	if (!sk->packets_out) {
		sk->first_tx_mstamp = sent_us;
		sk->delivered_mstamp = sent_us;
	}
	f->newest_skb.skb_mstamp_ns = sk->tcp_wstamp_ns;
	for (i = 0; i < segments; i++) {
		struct segment *s = flow_segment(f, first + i);

		s->sent_us = sent_us;
		s->first_tx_us = sk->first_tx_mstamp;
		s->delivered_us = sk->delivered_mstamp;
		s->delivered = sk->delivered;
		s->skb_end = first + segments;
		segment_mark(f, s, (u8)((s->marks & ~SEGMENT_APP_LIMITED) | marks |
					(f->app_limited ? SEGMENT_APP_LIMITED : 0)));
		segment_list_newest(f, first + i);
	}
	sk->data_segs_out += segments;
	tcp_charge_pacing(f, segments, prior_ns);
	for (i = 0; i < segments; i++)
		tcp_emit(f, first + i);
}

static inline void tcp_retransmit(struct flow *f, u32 first, u32 segments, bool tail_probe)
{
	struct sock *sk = &f->sk;

	tcp_transmit(f, first, segments, (u8)(SEGMENT_EVER_RETRANS |
					      (tail_probe ? 0 : SEGMENT_RETRANS)));
	sk->total_retrans += segments;
	f->figures.retransmits += segments;
	if (!f->retrans_stamp_ms)
		f->retrans_stamp_ms = flow_now_ms(f);
	f->undo_retrans = max_t(s32, f->undo_retrans, 0) + (s32)segments;
	if (sk->icsk_ca_state == TCP_CA_CWR || sk->icsk_ca_state == TCP_CA_Recovery)
		f->prr_out += segments;
}

/* Lost segments from this one on that were one skb and are due */
static inline u32 tcp_due_run(const struct flow *f, u32 first, u32 most)
{
	u32 end = flow_segment(f, first)->skb_end, run = 1;

	while (run < most && first + run != end && first + run != f->nxt &&
	       segment_is_due(flow_segment(f, first + run)->marks))
		run++;
	return run;
}

/* tcp_xmit_retransmit_queue() */
static inline void tcp_send_lost(struct flow *f)
{
	struct sock *sk = &f->sk;
	u32 segments = 0, number, run;

	flow_clock(f);
	if (before(f->resend_hint, f->una))
		f->resend_hint = f->una;
	for (number = f->resend_hint; f->to_resend && number != f->nxt; number += run) {
		s32 room = (s32)(tcp_snd_cwnd(sk) - tcp_packets_in_flight(sk));

		run = 1;
		if (!segment_is_due(flow_segment(f, number)->marks))
			continue;
		if (!segments)
			segments = tcp_skb_segments(f);
		if (tcp_pacing_waits(f) || room <= 0)
			break;
		run = tcp_due_run(f, number, min_t(u32, segments, (u32)room));
		tcp_retransmit(f, number, run, false);
		if (number == f->una && f->armed != FLOW_TIMER_REORDERED)
			tcp_rearm_rto(f);
	}
	f->resend_hint = number;
}

/* ---- what has not been sent before ---- */

/* tcp_cwnd_test(): two skbs in flight at least */
static inline u32 tcp_cwnd_quota(const struct sock *sk)
{
	u32 in_flight = tcp_packets_in_flight(sk), cwnd = tcp_snd_cwnd(sk);

	if (in_flight >= cwnd)
		return 0;
	return min_t(u32, max_t(u32, cwnd / 2, 1), cwnd - in_flight);
}

/* tcp_tso_should_defer(): wait for the next ACK, since the skb would be a small one */
static inline bool tcp_defers(struct flow *f, u32 most)
{
	struct sock *sk = &f->sk;
	u32 in_flight = tcp_packets_in_flight(sk), cwnd = tcp_snd_cwnd(sk);
	u32 room = f->window_end - f->nxt, limit = min_t(u32, room, cwnd - in_flight);
	s64 age_us;

	if (sk->icsk_ca_state >= TCP_CA_Recovery ||
	    (s64)(sk->tcp_clock_cache - sk->tcp_wstamp_ns) > NSEC_PER_MSEC)
		return false;
	if (limit >= most || limit >= tcp_unsent(f) ||
	    limit >= min_t(u32, (u32)f->config.window, cwnd) / TCP_TSO_WIN_DIVISOR)
		return false;
	if (!sk->packets_out)
		return false;
	age_us = (s64)(sk->tcp_mstamp - flow_segment(f, f->una)->sent_us);
	/* the next ACK comes later than in half a round trip */
	if (age_us < (s64)(sk->srtt_us >> 4))
		return false;
	f->cwnd_limited |= cwnd - in_flight <= room;
	return true;
}

/* tcp_cwnd_validate(): whether the window binds, in the last round trip */
static inline void tcp_note_limit(struct flow *f, bool cwnd_limited)
{
	const struct sock *sk = &f->sk;

	if (before(f->cwnd_limited_seq, f->una) || cwnd_limited ||
	    (!f->cwnd_limited && sk->packets_out > f->max_packets_out)) {
		f->cwnd_limited = cwnd_limited;
		f->max_packets_out = sk->packets_out;
		f->cwnd_limited_seq = f->nxt;
	}
}

static inline bool tcp_window_binds(const struct flow *f)
{
	const struct sock *sk = &f->sk;

	if (f->cwnd_limited)
		return true;
	return tcp_snd_cwnd(sk) < sk->snd_ssthresh && tcp_snd_cwnd(sk) < 2 * f->max_packets_out;
}

static inline void tcp_send_skb(struct flow *f, u32 segments)
{
	struct sock *sk = &f->sk;
	bool first = !sk->packets_out;
	u32 i;

	flow_make_room(f, segments);
	for (i = 0; i < segments; i++)
		*flow_segment(f, f->nxt + i) = (struct segment) {};
	tcp_transmit(f, f->nxt, segments, 0);
	f->nxt += segments;
	sk->packets_out += segments;
	sk->snd_nxt += segments * sk->mss_cache;
	sk->tsorted_sent_queue.next = &f->newest_skb.tcp_tsorted_anchor;
	sk->tsorted_sent_queue.prev = &f->newest_skb.tcp_tsorted_anchor;
	if (first || f->armed == FLOW_TIMER_PROBE)
		tcp_rearm_rto(f);
}

/* tcp_write_xmit(); a probe sends one skb whatever the window is */
static inline void tcp_write(struct flow *f, bool probe)
{
	struct sock *sk = &f->sk;
	bool cwnd_limited = false;
	u32 most, sent = 0;

	flow_clock(f);
	if (!tcp_unsent(f))
		return;
	most = tcp_skb_segments(f);
	while (tcp_unsent(f)) {
		u32 quota, room, segments;

		if (tcp_pacing_waits(f))
			break;
		quota = tcp_cwnd_quota(sk);
		if (!quota && !probe) {
			cwnd_limited = true;
			break;
		}
		room = f->window_end - f->nxt;
		if ((s32)room <= 0 || (!probe && tcp_defers(f, most)))
			break;
		segments = min_t(u32, min_t(u32, tcp_unsent(f), most),
				 min_t(u32, max_t(u32, quota, 1), room));
		tcp_send_skb(f, segments);
		sent += segments;
		if (probe)
			break;
	}
	cwnd_limited |= tcp_packets_in_flight(sk) >= tcp_snd_cwnd(sk);
	if (sent || cwnd_limited)
		tcp_note_limit(f, cwnd_limited);
	if (!sent)
		return;
	if (sk->icsk_ca_state == TCP_CA_CWR || sk->icsk_ca_state == TCP_CA_Recovery)
		f->prr_out += sent;
	if (!probe)
		tcp_schedule_probe(f, false);
}

#endif /* _SIMULATOR_TCP_SEND_H */
