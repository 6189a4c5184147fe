/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A flow: what it is, and the state of its two ends. The sender's half of a TCP flow is
 * the stand-in's struct sock, with the kernel's names, and what the stack keeps beside it.
 * Everything is counted in segments of one size.
 */
#ifndef _SIMULATOR_FLOW_H
#define _SIMULATOR_FLOW_H

#include <net/tcp.h>

#include "ack_path.h"
#include "chance.h"
#include "clock.h"
#include "histogram.h"
#include "packet.h"

/* ranges above the first missing segment that a receiver keeps in order of their age */
#define FLOW_RECENT_SPANS 4

/**
 * enum flow_source - who sends
 * @FLOW_TCP: a congestion control
 * @FLOW_CONSTANT: a packet each so often, whatever happens to it
 * @FLOW_POISSON: likewise, at random times
 */
enum flow_source {
	FLOW_TCP,
	FLOW_CONSTANT,
	FLOW_POISSON,
};

/**
 * struct flow_config - what a flow is
 * @algorithm: its congestion control, NULL: none
 * @source: enum flow_source
 * @start_ns: when it begins, with its handshake
 * @stop_ns: when it ends
 * @segments: that it sends, 0: as many as it may
 * @mss: payload of a segment (bytes)
 * @path_ns: propagation, there and back
 * @ahead_ns: part of it that is ahead of the first server
 * @beyond_ns: part of it that is between servers, and behind the last one
 * @access_bps: link ahead of that, 0: none
 * @window: segments that the receiver has room for
 * @first_cwnd: initial window
 * @gso_segments: of an skb, at most
 * @ack_every: segments that are acknowledged at once
 * @quickacks: segments at first that are acknowledged each
 * @delack_ns: after which fewer than @ack_every are acknowledged
 * @gro_ns: how long the receiver gathers packets, 0: not at all
 * @app_bps: what the application writes, 0: all at once
 * @app_chunk: segments that it writes at once
 * @send_bps: of FLOW_CONSTANT and FLOW_POISSON
 * @on_ns: application or source are active for so long
 * @off_ns: and then silent for so long; 0: never
 * @bucket: queue at servers that have several
 * @enter: first server
 * @leave: last server
 * @ecn: may be marked
 * @loss_ppm: part of the data that is lost at random
 * @rtt_limit_ns: round trips above it are counted
 * @back: the way back
 */
struct flow_config {
	const struct tcp_congestion_ops *algorithm;
	u64 source;
	u64 start_ns;
	u64 stop_ns;
	u64 segments;
	u64 mss;
	u64 path_ns;
	u64 ahead_ns;
	u64 beyond_ns;
	u64 access_bps;
	u64 window;
	u64 first_cwnd;
	u64 gso_segments;
	u64 ack_every;
	u64 quickacks;
	u64 delack_ns;
	u64 gro_ns;
	u64 app_bps;
	u64 app_chunk;
	u64 send_bps;
	u64 on_ns;
	u64 off_ns;
	u64 bucket;
	u64 enter;
	u64 leave;
	u64 ecn;
	u64 loss_ppm;
	u64 rtt_limit_ns;
	struct ack_path_config back;
};

/* of a segment that is not yet acknowledged; names are the kernel's */
#define SEGMENT_SACKED 1
#define SEGMENT_LOST 2
#define SEGMENT_RETRANS 4	/* sent again, and under way */
#define SEGMENT_EVER_RETRANS 8
#define SEGMENT_APP_LIMITED 16

#define SEGMENT_NONE U32_MAX

/**
 * struct segment - as the skb that it was sent in
 * @sent_us: when
 * @first_tx_us: tp->first_tx_mstamp then
 * @delivered_us: tp->delivered_mstamp then; 0: has been counted as delivered
 * @delivered: tp->delivered then
 * @older: number of the one that was sent before, if neither is SACKed or lost
 * @newer: of the one that was sent afterwards
 * @skb_end: number of the segment behind its skb
 * @marks: SEGMENT_*
 * @listed: @older and @newer hold
 */
struct segment {
	u64 sent_us;
	u64 first_tx_us;
	u64 delivered_us;
	u32 delivered;
	u32 older, newer;
	u32 skb_end;
	u8 marks;
	bool listed;
};

enum flow_timer {
	FLOW_TIMER_NONE,
	FLOW_TIMER_RTO,
	FLOW_TIMER_PROBE,
	FLOW_TIMER_REORDERED,
};

/**
 * struct rack - which segments were sent so long before one that has arrived that they
 *	must be lost (RFC 8985)
 * @sent_us: when the newest one that has arrived was sent
 * @end: number of the segment behind it
 * @rtt_us: its round trip
 * @advanced: there is a newer one than the last time segments were looked at
 */
struct rack {
	u64 sent_us;
	u32 end;
	u32 rtt_us;
	bool advanced;
};

/**
 * struct receiver - the other end
 * @next: first segment that is missing
 * @acked: @next of the last ACK
 * @spans: what has arrived beyond it, in order
 * @spans_count: how many
 * @spans_room: what there is room for
 * @recent: likewise, the newest first
 * @recent_count: how many
 * @taken: segments that arrived
 * @stamp_ms: time stamp that is echoed
 * @duplicates: segments that arrived twice since the last ACK
 * @echoes: of a mark, until the sender has answered
 * @immediate: ACKs sent at once since @next was last acknowledged
 * @compressed_next: @next that @immediate is about
 * @delack: for fewer than ack_every segments
 * @compressed: for SACKs that are held back
 * @gro: when gathered packets are handed over
 * @gathered: those
 * @gathered_tail: the last of them
 */
struct receiver {
	u32 next;
	u32 acked;
	struct span *spans;
	u32 spans_count;
	u32 spans_room;
	struct span recent[FLOW_RECENT_SPANS];
	u32 recent_count;
	u64 taken;
	u32 stamp_ms;
	u32 duplicates;
	bool echoes;
	u32 immediate;
	u32 compressed_next;
	struct timer delack;
	struct timer compressed;
	struct timer gro;
	struct packet *gathered, *gathered_tail;
};

/**
 * struct flow_point - a moment of a series
 * @at_us: when the ACK came
 * @rtt_us: its round trip
 * @cwnd: window after it
 * @rate_bytes_ps: pacing rate after it
 */
struct flow_point {
	u64 at_us;
	u32 rtt_us;
	u32 cwnd;
	u64 rate_bytes_ps;
};

/**
 * struct flow_train - a train that came back with a sample
 * @at_us: when
 * @gap_ns: from its first ACK to its last
 * @service_ns: what the law believes after it
 * @segments: that the gap covers
 * @rtt_us: round trip of the ACK that closed it
 * @delivered: packets delivered in it
 */
struct flow_train {
	u64 at_us, gap_ns, service_ns;
	u32 segments, rtt_us, delivered;
};

/* What was kept, with room for one more of so many bytes each */
static inline void *flow_kept(void *kept, u64 count, u64 *room, size_t bytes)
{
	if (count < *room)
		return kept;
	*room = *room ? 2 * *room : 256;
	kept = realloc(kept, *room * bytes);
	if (!kept)
		abort();
	return kept;
}

/**
 * struct flow_figures - what a run is about
 * @sent: data packets, and how many of them
 * @retransmits: were sent again
 * @dropped: were dropped
 * @arrived: arrived
 * @losses: segments taken for lost
 * @timeouts: retransmission timers that ran out
 * @probes: tail loss probes
 * @acks: that came, and were measured
 * @over_start: round trips above the limit in the time for the start
 * @acks_later: ACKs afterwards
 * @over_later: of those, above the limit
 * @rounds: round trips
 * @delivered_from: delivered before measuring began
 * @done_ns: when the last segment of a file was acknowledged
 * @rtt_us: of ACKs
 * @queue_us: that packets waited, at all servers
 * @points: series, if asked for
 * @points_count: of it
 * @trains: if asked for
 * @trains_count: of them
 */
struct flow_figures {
	u64 sent, retransmits, dropped, arrived;
	u64 losses, timeouts, probes;
	u64 acks, over_start, acks_later, over_later, rounds;
	u64 delivered_from;
	u64 done_ns;
	struct histogram rtt_us;
	struct histogram queue_us;
	struct flow_point *points;
	u64 points_count, points_room;
	struct flow_train *trains;
	u64 trains_count, trains_room;
};

/**
 * struct flow - one flow
 * @sk: what the congestion control sees
 * @config: what the flow is
 * @clock: the time
 * @pool: where packets come from
 * @index: its number
 * @enter: where its packets go
 * @begun_ns: when the first data may leave
 * @stopped: sends nothing new
 * @chance: for losses, and random sources
 * @ring: segments that are not yet acknowledged
 * @ring_mask: its size less 1, a power of two less 1
 * @una: first segment that is not acknowledged
 * @nxt: next to be sent for the first time
 * @written: segments that the application has written
 * @window_end: first segment beyond the receiver's window
 * @oldest: segment in flight that was sent first
 * @newest: that was sent last
 * @newest_skb: for who asks the socket
 * @sacks: of the last ACK
 * @sacks_count: how many
 * @to_resend: lost and not yet sent again
 * @resend_hint: no segment before this one is
 * @lost_total: marks for lost, in all
 * @high_seq: the recovery ends here
 * @rack: who is lost
 * @mdev_us, @mdev_max_us, @rttvar_us, @rtt_seq, @rto_us, @backoff, @retries: of the stack's
 *	retransmission timer
 * @armed: what @retransmit is set for
 * @prr_delivered, @prr_out: of the reduction of the window
 * @prior_ssthresh: before the reduction
 * @undo_retrans: sent again and not yet known to have been sent in vain
 * @retrans_stamp_ms: when the first was
 * @tlp_high_seq: end of the data when a probe was sent, 0: none is
 * @tlp_retrans: it was a retransmission
 * @app_limited: delivered count that ends the application's limit, 0: none
 * @max_packets_out, @cwnd_limited, @cwnd_limited_seq: whether the window binds
 * @cwr_due: a mark is to be answered
 * @round_delivered: ends the round trip
 * @nic_free_ns: when the access link is free
 * @pace: next departure
 * @retransmit: RTO, probe or reordering
 * @app: the application or source
 * @life: start and stop
 * @ahead: way to the first server
 * @behind: way back
 * @back: when ACKs arrive
 * @receiver: the other end
 * @figures: what has happened
 */
struct flow {
	struct sock sk;
	struct flow_config config;
	struct clock *clock;
	struct packet_pool *pool;
	u32 index;
	void (*enter)(struct packet *p);
	u64 begun_ns;
	bool stopped;
	struct chance chance;
	struct segment *ring;
	u32 ring_mask;
	u32 una, nxt, written, window_end;
	u32 oldest, newest;
	struct sk_buff newest_skb;
	struct span sacks[PACKET_SACKS];
	u32 sacks_count;
	u32 to_resend, resend_hint, lost_total, high_seq;
	struct rack rack;
	u32 mdev_us, mdev_max_us, rttvar_us, rtt_seq, rto_us, backoff, retries;
	enum flow_timer armed;
	u32 prr_delivered, prr_out, prior_ssthresh;
	s32 undo_retrans;
	u32 retrans_stamp_ms;
	u32 tlp_high_seq;
	bool tlp_retrans;
	u32 app_limited;
	u32 max_packets_out, cwnd_limited_seq;
	bool cwnd_limited, cwr_due;
	u32 round_delivered;
	u64 nic_free_ns;
	struct timer pace, retransmit, app, life;
	struct line ahead, behind;
	struct ack_path back;
	struct receiver receiver;
	struct flow_figures figures;
};

static inline bool after(u32 a, u32 b)
{
	return before(b, a);
}

static inline struct segment *flow_segment(const struct flow *f, u32 number)
{
	return &f->ring[number & f->ring_mask];
}

/* What the kernel reads its clocks for */
static inline void flow_clock(struct flow *f)
{
	f->sk.tcp_clock_cache = f->clock->now_ns;
	f->sk.tcp_mstamp = f->clock->now_ns / NSEC_PER_USEC;
}

static inline u32 flow_now_ms(const struct flow *f)
{
	return (u32)(f->clock->now_ns / NSEC_PER_MSEC);
}

/* ---- marks, and the counts that follow from them ---- */

static inline bool segment_is_due(u8 marks)
{
	return (marks & (SEGMENT_LOST | SEGMENT_RETRANS | SEGMENT_SACKED)) == SEGMENT_LOST;
}

static inline void segment_mark(struct flow *f, struct segment *s, u8 marks)
{
	struct sock *sk = &f->sk;

	sk->sacked_out += !!(marks & SEGMENT_SACKED) - !!(s->marks & SEGMENT_SACKED);
	sk->lost_out += !!(marks & SEGMENT_LOST) - !!(s->marks & SEGMENT_LOST);
	sk->retrans_out += !!(marks & SEGMENT_RETRANS) - !!(s->marks & SEGMENT_RETRANS);
	f->to_resend += segment_is_due(marks) - segment_is_due(s->marks);
	s->marks = marks;
}

/* ---- segments in the order in which they were sent: tsorted_sent_queue ---- */

static inline void segment_unlist(struct flow *f, struct segment *s)
{
	if (!s->listed)
		return;
	s->listed = false;
	if (s->older == SEGMENT_NONE)
		f->oldest = s->newer;
	else
		flow_segment(f, s->older)->newer = s->newer;
	if (s->newer == SEGMENT_NONE)
		f->newest = s->older;
	else
		flow_segment(f, s->newer)->older = s->older;
}

static inline void segment_list_newest(struct flow *f, u32 number)
{
	struct segment *s = flow_segment(f, number);

	segment_unlist(f, s);
	s->listed = true;
	s->older = f->newest;
	s->newer = SEGMENT_NONE;
	if (f->newest == SEGMENT_NONE)
		f->oldest = number;
	else
		flow_segment(f, f->newest)->newer = number;
	f->newest = number;
}

/* Room for so many more segments */
static inline void flow_make_room(struct flow *f, u32 more)
{
	u32 needed = f->nxt - f->una + more, size = f->ring_mask + 1, number;
	struct segment *ring;

	if (needed <= size)
		return;
	while (size < needed)
		size *= 2;
	ring = calloc(size, sizeof(*ring));
	if (!ring)
		abort();
	for (number = f->una; number != f->nxt; number++)
		ring[number & (size - 1)] = *flow_segment(f, number);
	free(f->ring);
	f->ring = ring;
	f->ring_mask = size - 1;
}

#endif /* _SIMULATOR_FLOW_H */
