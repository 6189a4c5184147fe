/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A sender with the stack's pacing, window and rate samples, a bottleneck that takes
 * a service time a packet, and a receiver that acknowledges some segments at once:
 * what tcp_pktpair.c lives in, in a unit test. A packet is lost only with all others in
 * flight (sender_timeout()); a test that wants other losses says so in the rate sample.
 */
#ifndef _STACK_SENDER_H
#define _STACK_SENDER_H

#include <net/tcp.h>

#ifndef SENDER_RING
#define SENDER_RING 65536	/* skbs and ACKs under way */
#endif
#define SENDER_UNPACED 10	/* segments that the stack does not pace */
#define SENDER_DELACK_NS (40 * NSEC_PER_MSEC)
#define SENDER_TICKS 4000000000U	/* the receiver's clock at time 0, ms */

struct sender_skb {
	u64 sent_ns;
	u64 first_tx_us, delivered_us;
	u32 delivered, segments, end, mss;
	bool app_limited, retransmitted, cwr;
};

struct sender_ack {
	u64 at_ns, left_ns;
	u32 end;	/* segments in all */
	bool delayed;
};

struct sender {
	struct sock sk;
	struct sk_buff newest;
	/* the path: a packet of so many bytes of payload takes a service time, and any
	 * packet does if that is 0
	 */
	u64 service_ns, prop_ns;
	u32 service_mss;
	u32 ack_every;
	/* the others' packets between two turns, in each of which so many of ours go */
	u64 others_ns;
	u32 turn, turn_left;
	/* of each period on the way back, other packets take the first part; ACKs
	 * that had to wait follow each other in ack_ns
	 */
	u64 back_period_ns, back_taken_ns, ack_ns;
	/* each ACK is held up by any time up to this one, and none overtakes another */
	u64 jitter_ns, drawn;
	/* what the application has for us yet, segments */
	u64 waiting;
	/* the first of these are skbs of one segment, made while the MSS was so small */
	u32 small_skbs, small_bytes;
	/* its ACKs do not show the receiver's clock (RFC 7323), or one that is ahead, ms */
	bool no_stamps;
	u32 ahead;
	/* said of the next ACK, once; a mark is echoed until the receiver has heard of
	 * the answer
	 */
	int losses;
	bool marked, owned, retransmitted;
	/* state */
	u64 now_ns, free_ns, last_done_ns, back_free_ns;
	u32 sent, acked, held, app_limited_until;
	u64 bytes_sent;
	/* to be sent again */
	u32 again;
	/* Loss and CWR end when as many are acknowledged, or one more, as in the stack */
	u32 recovered_at, timeouts, answers;
	/* tp->max_packets_out, ->is_cwnd_limited and ->cwnd_usage_seq */
	u32 most_out, limited_until;
	bool limited;
	bool recovering, reneged, echoes, cwr_due;
	struct sender_skb skbs[SENDER_RING];
	struct sender_ack acks[SENDER_RING];
	u32 skb_head, skb_tail, ack_head, ack_tail;
	/* called after each ACK */
	void (*after_ack)(struct sender *s, const struct rate_sample *rs);
};

/* The socket is closed. What is called afterwards may be sender_init() only. */
static inline void sender_release(struct sender *s)
{
	if (s->sk.icsk_ca_ops)
		s->sk.icsk_ca_ops->release(&s->sk);
	s->sk.icsk_ca_ops = NULL;
}

/* The socket changes its algorithm, maybe to the same one */
static inline void sender_change(struct sender *s, const struct tcp_congestion_ops *ops)
{
	s->sk.icsk_ca_ops->release(&s->sk);
	memset(s->sk.icsk_ca_priv, 0, sizeof(s->sk.icsk_ca_priv));
	s->sk.icsk_ca_ops = ops;
	ops->init(&s->sk);
}

/* @s: zero, or what an earlier call has begun, which ends here */
static inline void sender_init(struct sender *s, const struct tcp_congestion_ops *ops,
			       u64 service_ns, u64 prop_ns)
{
	sender_release(s);
	memset(s, 0, sizeof(*s));
	s->service_ns = service_ns;
	s->prop_ns = prop_ns;
	s->ack_every = 2;
	s->waiting = U32_MAX;
	s->now_ns = NSEC_PER_SEC;
	s->sk.icsk_ca_ops = ops;
	s->sk.sk_max_pacing_rate = ~0UL;
	s->sk.sk_gso_max_size = 65536;
	s->sk.sk_gso_max_segs = U16_MAX;
	s->sk.mss_cache = 1448;
	s->sk.snd_una = s->sk.snd_nxt = 1;
	s->sk.snd_cwnd = 10;
	s->sk.snd_cwnd_clamp = SENDER_RING / 2;	/* what the rings hold */
	s->sk.srtt_us = (u32)(prop_ns / NSEC_PER_USEC) << 3;
	s->sk.tcp_clock_cache = s->now_ns;
	s->sk.tcp_mstamp = s->now_ns / NSEC_PER_USEC;
	s->sk.tsorted_sent_queue.next = &s->sk.tsorted_sent_queue;
	s->sk.tsorted_sent_queue.prev = &s->sk.tsorted_sent_queue;
	ops->init(&s->sk);
}

/* The way back, for an ACK that the receiver sends at a time */
static inline u64 sender_way_back(struct sender *s, u64 at_ns)
{
	u64 arrives_ns = at_ns + s->prop_ns;

	if (s->jitter_ns) {
		s->drawn = s->drawn * 6364136223846793005ULL + 1442695040888963407ULL;
		arrives_ns += (s->drawn >> 33) % s->jitter_ns;
	}
	arrives_ns = max_t(u64, arrives_ns, s->back_free_ns);
	if (s->back_period_ns && arrives_ns % s->back_period_ns < s->back_taken_ns)
		arrives_ns += s->back_taken_ns - arrives_ns % s->back_period_ns;
	s->back_free_ns = arrives_ns + s->ack_ns;
	return arrives_ns;
}

static inline void sender_queue_ack(struct sender *s, u64 at_ns, bool delayed)
{
	s->acks[s->ack_tail++ % SENDER_RING] = (struct sender_ack) {
		.at_ns = sender_way_back(s, at_ns), .left_ns = at_ns, .end = s->sent,
		.delayed = delayed,
	};
	s->held = 0;
}

/* Headers on a segment: Ethernet, IP, TCP with time stamps */
#define SENDER_HEADERS 66

/* One segment through bottleneck and receiver */
static inline void sender_segment(struct sender *s, u64 at_ns, u32 bytes)
{
	u64 start_ns = max_t(u64, s->free_ns, at_ns);
	u64 service_ns = s->service_ns;

	if (s->service_mss)
		service_ns = service_ns * (bytes + SENDER_HEADERS) /
			     (s->service_mss + SENDER_HEADERS);

	if (s->turn && start_ns > s->free_ns) {
		/* the others' turns go on while we have nothing to send */
		start_ns += s->others_ns - 1 - (start_ns - s->free_ns - 1) % s->others_ns;
		s->turn_left = s->turn;
	} else if (s->turn && !s->turn_left) {
		start_ns += s->others_ns;
		s->turn_left = s->turn;
	}
	s->turn_left -= !!s->turn;
	s->free_ns = start_ns + service_ns;
	if (s->held && s->free_ns > s->last_done_ns + SENDER_DELACK_NS)
		sender_queue_ack(s, s->last_done_ns + SENDER_DELACK_NS, true);
	s->last_done_ns = s->free_ns;
	s->sent++;
	if (++s->held >= s->ack_every)
		sender_queue_ack(s, s->free_ns, false);
}

static inline bool sender_may_send(struct sender *s)
{
	return (s->waiting || s->again) &&
	       tcp_packets_in_flight(&s->sk) < s->sk.snd_cwnd;
}

/* tcp_cwnd_validate(): whether the window holds up what is sent, in the last round trip */
static inline void sender_note_limit(struct sender *s)
{
	struct sock *sk = &s->sk;
	bool limited = tcp_packets_in_flight(sk) >= sk->snd_cwnd;

	if (before(s->limited_until, s->acked) || limited ||
	    (!s->limited && sk->packets_out > s->most_out)) {
		s->limited = limited;
		s->most_out = sk->packets_out;
		s->limited_until = s->sent;
	}
	sk->window_binds = s->limited || (sk->snd_cwnd < sk->snd_ssthresh &&
					  sk->snd_cwnd < 2 * s->most_out);
}

/* The state, as tcp_enter_cwr(), tcp_enter_recovery() and tcp_set_ca_state() set it. In
 * that of a timeout the slow start threshold is set already.
 */
static inline void sender_state(struct sender *s, u8 state)
{
	if (state == TCP_CA_CWR || state == TCP_CA_Recovery) {
		s->sk.prior_cwnd = s->sk.snd_cwnd;
		s->sk.snd_cwnd_cnt = 0;
		s->sk.snd_ssthresh = s->sk.icsk_ca_ops->ssthresh(&s->sk);
	}
	s->sk.icsk_ca_ops->set_state(&s->sk, state);
	s->sk.icsk_ca_state = state;
	s->recovering = state != TCP_CA_Open;
	s->recovered_at = s->acked + s->sk.packets_out;
}

/* All that is under way is lost, and the timer runs out: tcp_enter_loss(). Or else the
 * receiver has thrown away what it had not acknowledged in order (RFC 2018, 8).
 */
static inline void sender_timeout(struct sender *s, bool reneged)
{
	struct sock *sk = &s->sk;

	if (!sk->packets_out)
		return;
	sk->prior_cwnd = sk->snd_cwnd;
	sk->snd_cwnd_cnt = 0;
	sk->snd_ssthresh = sk->icsk_ca_ops->ssthresh(sk);
	s->skb_head = s->skb_tail;
	s->ack_head = s->ack_tail;
	s->held = 0;
	s->sent = s->acked;
	s->again = sk->packets_out;
	sk->lost_out = sk->packets_out;
	sk->lost += sk->packets_out;
	sk->retrans_out = 0;
	tcp_snd_cwnd_set(sk, tcp_packets_in_flight(sk) + 1);
	s->timeouts++;
	s->reneged = reneged;
	sender_state(s, TCP_CA_Loss);
	/* how often the timer ran out since something was acknowledged: tcp_retransmit_timer() */
	sk->icsk_retransmits++;
}

/* One skb, as tcp_write_xmit() and tcp_rate_skb_sent() do it */
static inline void sender_send(struct sender *s)
{
	struct sock *sk = &s->sk;
	struct sender_skb *skb;
	u32 segments, bytes, i;
	bool small;

	sk->tcp_clock_cache = s->now_ns;
	sk->tcp_mstamp = s->now_ns / NSEC_PER_USEC;
	segments = sk->icsk_ca_ops->min_tso_segs(sk);
	/* which may have taken the room away */
	if (!sender_may_send(s))
		return;
	skb = &s->skbs[s->skb_tail++ % SENDER_RING];
	small = s->small_skbs && !s->again;
	s->small_skbs -= small;
	bytes = small ? s->small_bytes : sk->mss_cache;
	segments = small ? 1 : min_t(u32, max_t(u32, segments, 1), sk->sk_gso_max_segs);
	segments = (u32)min_t(u64, s->again ?: s->waiting,
			      min_t(u32, segments,
				    sk->snd_cwnd - tcp_packets_in_flight(sk)));
	sk->tcp_wstamp_ns = max_t(u64, sk->tcp_wstamp_ns, s->now_ns);
	if (!sk->packets_out) {
		sk->first_tx_mstamp = sk->tcp_wstamp_ns / NSEC_PER_USEC;
		sk->delivered_mstamp = sk->first_tx_mstamp;
	}
	*skb = (struct sender_skb) {
		.sent_ns = sk->tcp_wstamp_ns,
		.first_tx_us = sk->first_tx_mstamp,
		.delivered_us = sk->delivered_mstamp,
		.delivered = sk->delivered,
		.segments = segments,
		.end = s->sent + segments,
		.mss = bytes,
		.app_limited = s->app_limited_until != 0,
		.retransmitted = s->again,
		.cwr = !s->again && s->cwr_due,
	};
	s->cwr_due = s->cwr_due && s->again;
	s->newest.skb_mstamp_ns = sk->tcp_wstamp_ns;
	sk->tsorted_sent_queue.next = &s->newest.tcp_tsorted_anchor;
	sk->tsorted_sent_queue.prev = &s->newest.tcp_tsorted_anchor;
	for (i = 0; i < segments; i++)
		sender_segment(s, sk->tcp_wstamp_ns, bytes);
	if (s->again) {
		s->again -= segments;
		sk->retrans_out += segments;
	} else {
		s->waiting -= segments;
		sk->packets_out += segments;
		sk->snd_nxt += segments * bytes;
	}
	s->bytes_sent += (u64)segments * bytes;
	sk->data_segs_out += segments;
	if (sk->data_segs_out > SENDER_UNPACED && sk->sk_pacing_rate)
		sk->tcp_wstamp_ns += (u64)segments * bytes * NSEC_PER_SEC /
				     sk->sk_pacing_rate;
	if (!s->waiting)
		s->app_limited_until = sk->delivered + sk->packets_out ?: 1;
	sender_note_limit(s);
}

/* Segments that arrived, of one skb */
static inline void sender_clean(struct sock *sk, const struct sender_skb *skb, u32 segments)
{
	u32 bytes = sk->snd_nxt - sk->snd_una;

	if (skb->retransmitted) {
		/* of what size they were when they were lost is forgotten */
		bytes = (u32)((u64)bytes * segments / sk->packets_out);
		sk->lost_out -= segments;
		sk->retrans_out -= segments;
	} else {
		bytes = min_t(u32, bytes, segments * skb->mss);
	}
	sk->packets_out -= segments;
	bytes = sk->packets_out ? bytes : sk->snd_nxt - sk->snd_una;
	sk->snd_una += bytes;
	sk->bytes_acked += bytes;
}

/* The state after an ACK: tcp_fastretrans_alert() */
static inline void sender_alert(struct sender *s)
{
	struct sock *sk = &s->sk;

	if (s->recovering && !before(s->acked, s->recovered_at +
				     (sk->icsk_ca_state == TCP_CA_CWR))) {
		s->reneged = false;
		sender_state(s, TCP_CA_Open);
	}
	if (s->echoes && sk->icsk_ca_state < TCP_CA_CWR) {
		s->cwr_due = true;
		s->answers++;
		sender_state(s, TCP_CA_CWR);
	}
}

/* One ACK, as tcp_clean_rtx_queue() and tcp_rate_gen() do it */
static inline void sender_take_ack(struct sender *s, const struct sender_ack *ack)
{
	struct sock *sk = &s->sk;
	struct rate_sample rs = {
		.acked_sacked = ack->end - s->acked,
		.is_ack_delayed = ack->delayed && ack->end - s->acked == 1 &&
				  !s->waiting,
		.losses = s->losses,
	};
	bool reneged = s->reneged;
	u32 rtt_us = 0, interval_us;

	sk->tcp_clock_cache = s->now_ns;
	sk->tcp_mstamp = s->now_ns / NSEC_PER_USEC;
	sk->rx_opt.saw_tstamp = !s->no_stamps;
	if (!s->no_stamps)
		sk->rx_opt.rcv_tsval = SENDER_TICKS + s->ahead +
				       (u32)(ack->left_ns / NSEC_PER_MSEC);
	while (s->acked != ack->end) {
		struct sender_skb *skb = &s->skbs[s->skb_head % SENDER_RING];
		u32 upto = before(ack->end, skb->end) ? ack->end : skb->end;

		sk->first_tx_mstamp = skb->sent_ns / NSEC_PER_USEC;
		rs.prior_mstamp = skb->delivered_us;
		rs.prior_delivered = skb->delivered;
		rs.is_app_limited = skb->app_limited;
		rs.interval_us = (long)(sk->first_tx_mstamp - skb->first_tx_us);
		rs.is_retrans = s->retransmitted || skb->retransmitted;
		rtt_us = skb->retransmitted ? 0 :
			 (u32)(sk->tcp_mstamp - sk->first_tx_mstamp);
		s->echoes = s->echoes && !skb->cwr;
		sender_clean(sk, skb, upto - s->acked);
		s->acked = upto;
		sk->icsk_retransmits = 0;
		s->skb_head += upto == skb->end;
	}
	s->echoes |= s->marked;
	sender_alert(s);
	sk->delivered += rs.acked_sacked;
	sk->lost += (u32)rs.losses;
	sk->delivered_ce += s->echoes ? rs.acked_sacked : 0;
	sk->delivered_mstamp = sk->tcp_mstamp;
	if (s->app_limited_until && !before(sk->delivered, s->app_limited_until + 1))
		s->app_limited_until = 0;
	if (!sk->packets_out) {
		sk->tsorted_sent_queue.next = &sk->tsorted_sent_queue;
		sk->tsorted_sent_queue.prev = &sk->tsorted_sent_queue;
	}
	rs.delivered = (s32)(sk->delivered - rs.prior_delivered);
	interval_us = (u32)(sk->tcp_mstamp - rs.prior_mstamp);
	rs.interval_us = max_t(long, rs.interval_us, interval_us);
	rs.rtt_us = rtt_us;
	if (reneged) {
		rs.delivered = -1;
		rs.interval_us = -1;
	}
	if (rtt_us)
		sk->srtt_us += (s32)((rtt_us << 3) - sk->srtt_us) >> 3;
	sk->owned = s->owned;
	sk->icsk_ca_ops->cong_control(sk, &rs);
	s->losses = 0;
	if (s->after_ack)
		s->after_ack(s, &rs);
	s->marked = false;
	s->owned = false;
	s->retransmitted = false;
}

/* Runs for a time; returns the segments acknowledged in it */
static inline u32 sender_run(struct sender *s, u64 time_ns)
{
	u64 end_ns = s->now_ns + time_ns;
	u32 before_it = s->acked;

	for (;;) {
		u64 next_ns = end_ns;
		bool send = false;

		/* no segment comes to make the receiver send the last ACK */
		if (s->held && s->ack_head == s->ack_tail && !sender_may_send(s))
			sender_queue_ack(s, s->last_done_ns + SENDER_DELACK_NS, true);
		if (s->ack_head != s->ack_tail)
			next_ns = min_t(u64, next_ns,
					max_t(u64, s->now_ns,
					      s->acks[s->ack_head % SENDER_RING].at_ns));
		if (sender_may_send(s)) {
			u64 at_ns = max_t(u64, s->now_ns, s->sk.tcp_wstamp_ns);

			send = at_ns <= next_ns && at_ns < end_ns;
			next_ns = send ? at_ns : next_ns;
		}
		if (next_ns >= end_ns)
			break;
		s->now_ns = next_ns;
		if (send)
			sender_send(s);
		else
			sender_take_ack(s, &s->acks[s->ack_head++ % SENDER_RING]);
	}
	s->now_ns = end_ns;
	return s->acked - before_it;
}

#endif /* _STACK_SENDER_H */
