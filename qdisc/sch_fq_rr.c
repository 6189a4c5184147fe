// SPDX-License-Identifier: GPL-2.0
/*
 * fq_rr: the queueing discipline that packet pair was designed for.
 *
 * Principles:
 * - Each flow has its own queue (by hash). Queues send one packet in turn, so
 *   the gap between two packets of a backlogged flow tells its receiver the
 *   flow's share of the link (S. Keshav, "Packet-pair flow control", 1994).
 *   round_robin.h makes that fair to the byte at the same time.
 * - The buffer is shared by all. When it is full the queue with the largest part
 *   of it pays, by default with all it has (S. Keshav, "Congestion control in computer
 *   networks", 1991, chapter 6): a flow that does not slow down keeps losing
 *   its backlog and nobody else loses anything. buffer.h knows the queues and what they
 *   lose.
 * - Long before that CoDel keeps the delay of each queue short (net/codel_impl.h).
 *   delay_control.h says which queues it leaves alone.
 * - A queue that exceeds its part of the buffer may be marked (fair_share.h).
 * - The link may be slower than the device's. shaper.h then spaces packets
 *   without ever sending two at once.
 * - A link may be the slower the less waits, so that bursts do not reach small
 *   buffers further on (Y. Cai, T. Wolf, W. Gong, 2011). qlbp.h knows the rule.
 * - Super-packets are split first: one in turn of 64 KiB is no round robin.
 *
 * This file only translates between the kernel and those headers, which know
 * neither packets nor clocks; fq_rr_*.h are parts of it. Differences from the papers: a
 * flow is a hash of addresses and ports, not a conversation set up by signalling; fairness
 * counts bytes unless "strict" is asked for; a flow's first packet after a pause goes
 * ahead.
 *
 * Cost: a packet takes constant time while the buffer is not full, O(log n) of
 * the backlogged flows when it is; so does a flush, whatever the queue's length.
 * An idle queue takes 137 bytes. Memory that nobody has touched for long is what a
 * packet waits for most: one line of its queue, one of its own, is what there is.
 */
#include <linux/errno.h>
#include <linux/if_vlan.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/prefetch.h>
#include <linux/random.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/codel.h>
#include <net/codel_impl.h>
#include <net/inet_ecn.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <linux/pkt_sched_fq_rr.h>

#include "buffer.h"
#include "delay_control.h"
#include "framing.h"
#include "options.h"
#include "parents.h"
#include "placing.h"
#include "qlbp.h"
#include "round_robin.h"
#include "shaper.h"
#include "window.h"

#include "fq_rr_sched.h"
#include "fq_rr_classify.h"
#include "fq_rr_netlink.h"
#include "fq_rr_class.h"

#define CREATE_TRACE_POINTS
#include "fq_rr_trace.h"

/* ---- pace ---- */

/* what a super-packet is split into */
static u32 fq_rr_segments(const struct sk_buff *skb)
{
	return framing_segments(skb_shinfo(skb)->gso_segs, skb->len, skb_shinfo(skb)->gso_size);
}

/* what a packet, or a super-packet that was not split, occupies on the link */
static u32 fq_rr_wire_bytes(const struct fq_rr_sched *q,
			    const struct sk_buff *skb)
{
	struct framing link = {
		.overhead_bytes = q->config.overhead,
		.mpu_bytes = q->config.mpu,
		.kind = q->config.framing,
	};
	u32 len = qdisc_pkt_len(skb), segs;

	if (q->config.layer == FQ_RR_LAYER_IP)
		link.overhead_bytes -= skb_network_offset(skb);
	else if (skb_vlan_tag_present(skb))
		link.overhead_bytes += VLAN_HLEN;
	segs = skb_is_gso(skb) ? fq_rr_segments(skb) : 1;
	if (segs < 2)
		return framing_packet(&link, len);
	return framing_super_packet(&link, len,
				    framing_full_bytes(len, skb->len, skb_shinfo(skb)->gso_size,
						       segs), segs);
}

/* packets have come or gone: with pacing, the rate follows the backlog */
static void fq_rr_follow_backlog(struct Qdisc *sch, u64 now_ns)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	if (!fq_rr_paces(q))
		return;
	shaper_set_rate(&q->shaper, qlbp_rate(&q->config.rule, sch->qstats.backlog),
			now_ns ?: ktime_get_ns());
}

static void fq_rr_pace(struct Qdisc *sch, const struct sk_buff *skb,
		       u64 now_ns)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	u64 late_ns;

	fq_rr_follow_backlog(sch, now_ns);
	late_ns = shaper_sent(&q->shaper, now_ns, fq_rr_wire_bytes(q, skb));
	q->stats.lag_max_ns = max(q->stats.lag_max_ns, late_ns);
}

/* ---- queues and drops ---- */

static struct packet_size fq_rr_size(const struct packet_link *packet)
{
	const struct sk_buff *skb = fq_rr_skb(packet);

	return (struct packet_size) {
		.bytes = qdisc_pkt_len(skb),
		.memory = fq_rr_cb(skb)->truesize,
	};
}

/* take the oldest packet out of a queue, and of all counts; inlined: called once per packet */
static __always_inline struct sk_buff *fq_rr_take_head(struct Qdisc *sch,
						       struct fq_rr_flow *flow)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = fq_rr_skb(buffer_take_head(flow));

	buffer_taken(&q->buffer, flow, fq_rr_size(fq_rr_link(skb)));
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_qlen_dec(sch);
	return skb;
}

/* packets have been dropped from queues: the qdisc has them no more, and @to_free has */
static void fq_rr_count_drops(struct Qdisc *sch, const struct fq_rr_outcome *drops,
			      const struct packet_list *dropped,
			      struct sk_buff **to_free)
{
	if (!drops->dropped)
		return;
	WRITE_ONCE(sch->q.qlen, sch->q.qlen - drops->dropped);
	WRITE_ONCE(sch->qstats.backlog, sch->qstats.backlog - drops->dropped_bytes);
	if (drops->dropped == 1) {
		compat_qdisc_drop_overlimit(fq_rr_skb(dropped->first), sch, to_free);
		return;
	}
	/* no reason is noted in each of a flush: none of them is touched */
	__qdisc_qstats_drop(sch, drops->dropped);
	dropped->last->next = fq_rr_link(*to_free);
	*to_free = fq_rr_skb(dropped->first);
}

/**
 * fq_rr_make_room - drop by the policy until the limits are met
 * @sch: qdisc
 * @own: flow of the packet that has just been queued, or NULL
 * @arrived: that packet, or NULL
 * @drops: out: counts what is dropped
 * @to_free: list for what is dropped
 */
static noinline void fq_rr_make_room(struct Qdisc *sch,
				     const struct fq_rr_flow *own,
				     struct sk_buff *arrived,
				     struct fq_rr_outcome *drops,
				     struct sk_buff **to_free)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct packet_list dropped = {};

	buffer_make_room(&q->buffer, sch->q.qlen, own, fq_rr_link(arrived), fq_rr_size,
			 drops, &dropped);
	fq_rr_count_drops(sch, drops, &dropped, to_free);
}

/*
 * Mark a packet that has just been queued if its queue exceeds its part of the
 * buffer. A sender that cannot be marked loses instead what the policy says: who
 * understands marks shall not be worse off.
 */
static noinline void fq_rr_mark_or_drop(struct Qdisc *sch, struct fq_rr_flow *flow,
					struct sk_buff *skb, struct sk_buff **to_free)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct packet_list dropped = {};

	q->drops = (struct fq_rr_outcome) {};
	if (!q->config.ecn ||
	    !buffer_exceeds_share(&q->buffer, flow, sch->q.qlen, q->config.ecn))
		return;
	if (INET_ECN_set_ce(skb)) {
		q->stats.marks++;
		fq_rr_record(q, flow)->marks++;
		return;
	}
	q->stats.over_share++;
	q->drops.own_dropped = true;
	buffer_drop_from(&q->buffer, flow, fq_rr_link(skb), fq_rr_size, &q->drops, &dropped);
	fq_rr_count_drops(sch, &q->drops, &dropped, to_free);
}

/* ---- delay ---- */

/* a moment in nanoseconds, in CoDel's time, and so that 0 stays free */
static codel_time_t fq_rr_codel_time(u64 ns)
{
	return (codel_time_t)(ns >> CODEL_SHIFT) ?: 1;
}

/* a queue that has been empty begins anew, as CoDel has it */
static void fq_rr_forget_delay(struct fq_rr_sched *q, struct fq_rr_flow *flow)
{
	struct codel_vars *vars;

	if (likely(!flow->rr.of_caller))
		return;
	vars = &q->codel_vars[buffer_number(&q->buffer, flow)];
	vars->first_above_time = 0;
	vars->dropping = false;
	flow->rr.of_caller = false;
}

/*
 * Packets that one dequeue drops at most, as CODEL_MAX_DROPS_PER_DEQUEUE of later kernels. With
 * an interval of 10 us CoDel of 6.1 comes to steps of 0, and would drop all that waits, under
 * the lock.
 */
#define FQ_RR_AQM_DROPS 256

/**
 * struct fq_rr_codel_call - what CoDel's functions need while it chooses a packet
 * @sch: qdisc
 * @flow: queue
 * @now: when the queue's turn began
 * @left: packets in it, or 0 if no more may be dropped
 * @drops: how many CoDel has dropped
 * @dropped: packets that CoDel has dropped
 */
struct fq_rr_codel_call {
	struct Qdisc *sch;
	struct fq_rr_flow *flow;
	codel_time_t now;
	u32 left;
	u32 drops;
	struct sk_buff *dropped;
};

static struct sk_buff *fq_rr_codel_take(struct codel_vars *vars, void *ctx)
{
	struct fq_rr_codel_call *call = ctx;
	struct fq_rr_sched *q = qdisc_priv(call->sch);
	struct sk_buff *skb = fq_rr_take_head(call->sch, call->flow);
	struct fq_rr_cb *cb = fq_rr_cb(skb);

	/* none: it came to a short queue, or before delay control was switched on */
	cb->arrived = delay_control_arrived(cb->arrived, call->now);
	/* CoDel ends its drops where a queue is short; in packets, as @left is */
	q->codel.mtu = delay_control_spared(call->now - cb->arrived, q->codel.interval);
	call->left = call->drops < FQ_RR_AQM_DROPS ? call->flow->packets : 0;
	return skb;
}

static void fq_rr_codel_drop(struct sk_buff *skb, void *ctx)
{
	struct fq_rr_codel_call *call = ctx;

	call->drops++;
	skb->next = call->dropped;
	call->dropped = skb;
}

static codel_time_t fq_rr_codel_arrived(const struct sk_buff *skb)
{
	return fq_rr_cb(skb)->arrived;
}

/**
 * fq_rr_choose - the packet that CoDel lets a queue send
 * @sch: qdisc
 * @flow: queue, which is not empty
 * @now_ns: when its turn began
 *
 * CoDel drops only what leaves more than DELAY_CONTROL_SPARED_SLOW behind. So there
 * is always a packet to send, and the qdisc is not empty when its parents are notified.
 *
 * Return: the packet, no longer in the queue.
 */
static noinline struct sk_buff *fq_rr_choose(struct Qdisc *sch,
					     struct fq_rr_flow *flow, u64 now_ns)
{
	struct fq_rr_codel_call call = {
		.sch = sch,
		.flow = flow,
		.now = now_ns >> CODEL_SHIFT,
	};
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct codel_vars *vars = &q->codel_vars[buffer_number(&q->buffer, flow)];
	struct codel_stats stats = {};
	struct sk_buff *skb;

	codel_stats_init(&stats);
	skb = codel_dequeue(&call, &call.left, &q->codel, vars, &stats,
			    qdisc_pkt_len, fq_rr_codel_arrived,
			    fq_rr_codel_drop, fq_rr_codel_take);
	flow->rr.of_caller = vars->first_above_time || vars->dropping;
	q->stats.drops_aqm += stats.drop_count;
	q->stats.marks_aqm += stats.ecn_mark;
	q->stats.marks_ce += stats.ce_mark;
	fq_rr_record(q, flow)->marks += stats.ecn_mark + stats.ce_mark;
	if (stats.drop_count) {
		fq_rr_record(q, flow)->drops += stats.drop_count;
		__qdisc_qstats_drop(sch, stats.drop_count);
		qdisc_tree_reduce_backlog(sch, stats.drop_count, stats.drop_len);
		fq_rr_follow_backlog(sch, 0);
		fq_rr_cb(skb)->flags |= FQ_RR_SPARED;
	}
	q->dropped = call.dropped;
	return skb;
}

/* whether time matters for the packet that leaves */
static bool fq_rr_times(const struct fq_rr_sched *q,
			const struct fq_rr_flow *flow)
{
	return (flow->packets > q->timed_from || flow->rr.of_caller) &&
	       q->config.aqm;
}

static bool fq_rr_calm(const struct fq_rr_sched *q,
		       const struct fq_rr_flow *flow, u64 now_ns)
{
	codel_time_t noted = fq_rr_cb(fq_rr_skb(flow->head))->arrived;
	codel_time_t now = now_ns >> CODEL_SHIFT;

	return delay_control_calm(now - delay_control_arrived(noted, now), q->codel.target,
				  q->codel.interval, q->codel.ce_threshold,
				  flow->packets - 1, flow->rr.of_caller);
}

/* a packet that is timed for the statistics leaves */
static void fq_rr_note_sojourn(struct fq_rr_sched *q, struct fq_rr_flow *flow,
			       const struct sk_buff *skb, u64 now_ns)
{
	codel_time_t now = (now_ns ?: ktime_get_ns()) >> CODEL_SHIFT;
	codel_tdiff_t delay = now - fq_rr_cb(skb)->arrived;

	/* of CoDel's times 0 is written as 1 */
	delay = max(delay, 0);
	sojourn_add(&q->stats.sojourn, delay);
	sojourn_add(&fq_rr_record(q, flow)->sojourn, delay);
}

/* what a flow has lost is paid for once the packet that was sent instead is */
static void fq_rr_free_dropped(struct fq_rr_sched *q, struct fq_rr_flow *flow)
{
	struct sk_buff *skb;

	for (skb = q->dropped; skb; skb = skb->next)
		buffer_lost(&q->buffer, flow, fq_rr_size(fq_rr_link(skb)));
	kfree_skb_list_reason(q->dropped, COMPAT_DROP_CONGESTED);
	q->dropped = NULL;
}

/* one of the packets that leave and are not like most */
static noinline void fq_rr_see_off(struct fq_rr_sched *q, struct fq_rr_flow *flow,
				   const struct sk_buff *skb, u64 now_ns)
{
	if (fq_rr_cb(skb)->flags & FQ_RR_SAMPLED)
		fq_rr_note_sojourn(q, flow, skb, now_ns);
	if (fq_rr_cb(skb)->flags & FQ_RR_SPARED)
		fq_rr_free_dropped(q, flow);
}

/* ---- enqueue one packet ---- */

/* a packet goes to the end of its queue: what moves it to another does as well */
static inline void fq_rr_append(struct fq_rr_sched *q, struct fq_rr_flow *flow,
				struct sk_buff *skb)
{
	buffer_append(&q->buffer, flow, fq_rr_link(skb), fq_rr_size(fq_rr_link(skb)),
		      fq_rr_cb(skb)->hash);
}

/*
 * The queue of a class, which may be of many hosts, is one of its own. What has no address
 * is of one host.
 */
static noinline bool fq_rr_activate_in_host(struct fq_rr_sched *q, struct fq_rr_flow *flow,
					    const struct sk_buff *skb)
{
	bool alone = fq_rr_cb(skb)->flags & FQ_RR_CLASSIFIED;
	u32 hash = 0;

	if (alone)
		hash = siphash_3u32(fq_rr_cb(skb)->hash, 0, 0, &q->key);
	else
		fq_rr_host_hash(q, skb, q->hosts, &hash);
	return buffer_backlogged(&q->buffer, flow, hash, alone);
}

/* a packet comes to a queue that is empty */
static __always_inline bool fq_rr_activate(struct fq_rr_sched *q, struct fq_rr_flow *flow,
					   const struct sk_buff *skb)
{
	fq_rr_forget_delay(q, flow);
	if (unlikely(q->buffer.by_host))
		return fq_rr_activate_in_host(q, flow, skb);
	return buffer_backlogged(&q->buffer, flow, 0, false);
}

static struct window_packet fq_rr_packet(const struct packet_link *packet)
{
	const struct fq_rr_cb *cb = fq_rr_cb(fq_rr_skb(packet));

	return (struct window_packet) {
		.size = fq_rr_size(packet),
		.hash = cb->hash,
		.stays = cb->flags & FQ_RR_CLASSIFIED,
	};
}

static void fq_rr_backlogged(void *sched, struct fq_rr_flow *flow,
			     const struct packet_link *packet)
{
	fq_rr_activate(sched, flow, fq_rr_skb(packet));
}

static noinline void fq_rr_move_guest(struct fq_rr_sched *q, u32 from, u32 to)
{
	window_move(&q->buffer, &q->placing, from, to, fq_rr_packet, fq_rr_backlogged, q);
}

/**
 * fq_rr_part_hosts - a packet's flow is a guest in a queue, and hosts share the link
 * @sch: qdisc
 * @home: that queue, which is not empty
 * @skb: packet
 * @to_free: list for what is dropped
 *
 * See window_share(). What is dropped here is of another flow: the parents are notified at
 * once.
 *
 * Return: the flow's queue; NULL: the packet is refused.
 */
static noinline struct fq_rr_flow *fq_rr_part_hosts(struct Qdisc *sch,
						    struct fq_rr_flow *home,
						    const struct sk_buff *skb,
						    struct sk_buff **to_free)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	u32 number = buffer_number(&q->buffer, home), hash = fq_rr_cb(skb)->hash;
	struct packet_list dropped = {};
	struct fq_rr_outcome drops = {};
	struct placing_found found;
	u32 own, host = 0;

	if (fq_rr_cb(skb)->flags & FQ_RR_CLASSIFIED)
		return home;
	own = window_own(&q->placing, number, hash);
	if (own != HT_NONE)
		return &q->buffer.flows[own];
	fq_rr_host_hash(q, skb, q->hosts, &host);
	found = window_share(&q->buffer, &q->placing, number, hash, host, fq_rr_size, &drops,
			     &dropped);
	if (drops.dropped) {
		fq_rr_count_drops(sch, &drops, &dropped, to_free);
		qdisc_tree_reduce_backlog(sch, drops.dropped, drops.dropped_bytes);
	}
	if (found.queue == HT_NONE)
		return NULL;
	if (found.from != PLACING_NONE)
		fq_rr_move_guest(q, found.from, found.queue);
	return &q->buffer.flows[found.queue];
}

/*
 * With hosts, the queue of a packet that is not of the flow that came to @home last; NULL: the
 * packet is refused.
 */
static noinline struct fq_rr_flow *fq_rr_collide(struct Qdisc *sch, struct fq_rr_flow *home,
						 struct sk_buff *skb,
						 struct sk_buff **to_free)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct fq_rr_flow *flow;

	flow = fq_rr_part_hosts(sch, home, skb, to_free);
	if (!flow) {
		q->stats.drops_arriving++;
		fq_rr_record(q, home)->drops++;
		q->drops = (struct fq_rr_outcome) { .own_dropped = true };
		compat_qdisc_drop_overlimit(skb, sch, to_free);
	} else if (!flow->head) {
		q->stats.activations++;
		q->stats.sparse += fq_rr_activate(q, flow, skb);
	} else {
		q->stats.collisions += flow->hash != fq_rr_cb(skb)->hash;
	}
	return flow;
}

/* a packet comes that is to be timed for the statistics; returns the time */
static noinline u64 fq_rr_sample(struct fq_rr_sched *q, struct sk_buff *skb, u64 now_ns)
{
	q->next_sample = sojourn_next_sample(&q->samples);
	now_ns = now_ns ?: ktime_get_ns();
	fq_rr_cb(skb)->arrived = fq_rr_codel_time(now_ns);
	fq_rr_cb(skb)->flags |= FQ_RR_SAMPLED;
	return now_ns;
}

/**
 * enum fq_rr_enqueued - what has become of one packet
 * @FQ_RR_QUEUED: it is in its queue, and nothing else has happened
 * @FQ_RR_QUEUED_CHECKED: it was appended to its queue, and the limits or the queue's share
 *	were checked then: &fq_rr_sched.drops says what was dropped, which may be nothing, or
 *	the packet itself
 * @FQ_RR_REFUSED: it was dropped before, as &fq_rr_sched.drops says
 */
enum fq_rr_enqueued {
	FQ_RR_QUEUED,
	FQ_RR_QUEUED_CHECKED,
	FQ_RR_REFUSED,
};

/*
 * Inlined into all callers: called once per packet. What comes together has one @now_ns.
 * No other function is given the address of a local variable: each costs, by what guards the
 * stack.
 */
static __always_inline enum fq_rr_enqueued
fq_rr_enqueue_one(struct Qdisc *sch, struct fq_rr_flow *flow, struct sk_buff *skb,
		  u64 *now_ns, struct sk_buff **to_free)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	u32 truesize = skb->truesize;
	u32 hash = fq_rr_cb(skb)->hash;
	u32 len = qdisc_pkt_len(skb);

	/* nothing is read for it while nobody listens */
	if (trace_fq_rr_enqueue_enabled())
		trace_fq_rr_enqueue(sch, skb, hash, buffer_number(&q->buffer, flow),
				    len, flow->packets, flow->bytes, sch->q.qlen);

	if (unlikely(truesize > q->judged_from) &&
	    buffer_refuses(&q->buffer, sch->q.qlen, truesize)) {
		q->stats.drops_arriving++;
		fq_rr_record(q, flow)->drops++;
		q->drops = (struct fq_rr_outcome) { .own_dropped = true };
		buffer_charge_refused(&q->buffer, flow, len);
		compat_qdisc_drop_overlimit(skb, sch, to_free);
		return FQ_RR_REFUSED;
	}
	fq_rr_cb(skb)->truesize = truesize;
	if (flow->packets >= q->timed_from) {
		if (!*now_ns)
			*now_ns = ktime_get_ns();
		fq_rr_cb(skb)->arrived = fq_rr_codel_time(*now_ns);
	}
	if (unlikely(!--q->next_sample))
		*now_ns = fq_rr_sample(q, skb, *now_ns);
	/* what the link has missed while nothing waited it cannot make up for */
	if (q->shaped && !sch->q.qlen && q->shaper.rate_Bps) {
		if (!*now_ns)
			*now_ns = ktime_get_ns();
		shaper_arrive(&q->shaper, *now_ns);
	}
	if (!flow->head) {
		q->stats.activations++;
		q->stats.sparse += fq_rr_activate(q, flow, skb);
	} else if (flow->hash != hash && likely(!q->buffer.by_host)) {
		q->stats.collisions++;
	} else if (flow->hash != hash) {
		flow = fq_rr_collide(sch, flow, skb, to_free);
		if (!flow)
			return FQ_RR_REFUSED;
	}
	buffer_append(&q->buffer, flow, fq_rr_link(skb),
		      (struct packet_size) { .bytes = len, .memory = truesize }, hash);
	q->buffer.memory += truesize;
	q->stats.enqueued++;
	if (unlikely(flow->bytes > q->stats.longest_max))
		q->stats.longest_max = flow->bytes;
	qdisc_qstats_backlog_inc(sch, skb);
	qdisc_qlen_inc(sch);

	if (unlikely(sch->q.qlen > q->buffer.limit ||
		     q->buffer.memory > q->memory_watched)) {
		q->memory_watched = buffer_watch_memory(&q->buffer, &q->stats.memory_max);
		if (buffer_over_limit(&q->buffer, sch->q.qlen)) {
			fq_rr_make_room(sch, flow, skb, &q->drops, to_free);
			return FQ_RR_QUEUED_CHECKED;
		}
	}
	if (unlikely(q->looks_back)) {
		fq_rr_mark_or_drop(sch, flow, skb, to_free);
		return FQ_RR_QUEUED_CHECKED;
	}
	return FQ_RR_QUEUED;
}

/* ---- place ---- */

/* rare while there are far more queues than flows: out of line */
static noinline struct fq_rr_flow *fq_rr_place_away(struct fq_rr_sched *q,
						    u32 hash, u32 home)
{
	struct placing_found found;

	found = placing_find(&q->placing, hash, home, window_waiting, q->buffer.flows);
	if (unlikely(found.from != PLACING_NONE))
		fq_rr_move_guest(q, found.from, found.queue);
	return &q->buffer.flows[found.queue];
}

static __always_inline struct fq_rr_flow *
fq_rr_place_flow(struct fq_rr_sched *q, u32 hash)
{
	u32 home = placing_home(&q->placing, hash);

	if (likely(placing_owns(&q->placing, home, hash)))
		return &q->buffer.flows[home];
	return fq_rr_place_away(q, hash, home);
}

/* the queue for a packet whose hash is known, unless a class is */
static struct fq_rr_flow *fq_rr_place(struct fq_rr_sched *q, u32 hash)
{
	if (q->mode == FQ_RR_MODE_CLASS)
		return &q->buffer.flows[0];
	return fq_rr_place_flow(q, hash);
}

/* ---- rehash ---- */

/**
 * fq_rr_rehash - place all packets anew, after mode, hosts or nat have changed
 * @sch: qdisc
 *
 * Packets of one flow come out of one queue, in order, and go into one. Everybody
 * starts at the same point: credit was a queue's, not a flow's. Takes time linear
 * in the packets that wait.
 */
static void fq_rr_rehash(struct Qdisc *sch)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct sk_buff *skb, *next;

	skb = fq_rr_skb(buffer_detach_all(&q->buffer).first);
	fq_rr_set_mode(q);
	buffer_restart(&q->buffer, q->buffer.rr.quantum);
	for (; skb; skb = next) {
		struct fq_rr_cb *cb = fq_rr_cb(skb);
		struct fq_rr_flow *flow;

		next = skb->next;
		if (cb->flags & FQ_RR_CLASSIFIED) {
			flow = &q->buffer.flows[cb->hash - 1];
		} else {
			cb->hash = fq_rr_hash(q, skb);
			flow = fq_rr_place(q, cb->hash);
		}
		if (!flow->head)
			fq_rr_activate(q, flow, skb);
		fq_rr_append(q, flow, skb);
	}
	q->stats.rehashes++;
}

/*
 * Place all packets anew if they were placed otherwise, and if few enough wait: a
 * tenant may ask for it in a loop, and all of it is under the lock.
 */
static noinline void fq_rr_rehash_if_due(struct Qdisc *sch)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	q->rehash_due = fq_rr_is_placed_otherwise(q);
	fq_rr_set_as_carried(q);
	if (!q->rehash_due || sch->q.qlen > FQ_RR_REHASH_PACKETS)
		return;
	q->rehash_due = false;
	fq_rr_rehash(sch);
}

/* ---- classify ---- */

static noinline struct fq_rr_flow *fq_rr_place_by_mode(struct Qdisc *sch,
						       struct sk_buff *skb)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	if (q->rehash_due)
		fq_rr_rehash_if_due(sch);
	fq_rr_cb(skb)->hash = fq_rr_hash(q, skb);
	return fq_rr_place(q, fq_rr_cb(skb)->hash);
}

/* the queue for a packet that no class is named for */
static __always_inline struct fq_rr_flow *
fq_rr_place_by_hash(struct Qdisc *sch, struct sk_buff *skb)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	u32 hash;

	fq_rr_cb_init(skb, 0);
	if (unlikely(!q->as_carried))
		return fq_rr_place_by_mode(sch, skb);
	hash = fq_rr_carried_hash(q, skb);
	fq_rr_cb(skb)->hash = hash;
	return fq_rr_place_flow(q, hash);
}

/* whether a class may be named for the packet */
static bool fq_rr_has_class(const struct Qdisc *sch,
			    const struct fq_rr_sched *q,
			    const struct sk_buff *skb)
{
	return rcu_access_pointer(q->filters) ||
	       TC_H_MAJ(skb->priority) == sch->handle;
}

/**
 * fq_rr_classify - which queue a packet belongs to that a class may be named for
 * @sch: qdisc
 * @skb: packet; its class or hash is noted in it
 * @to_free: list for what an action wants dropped
 * @verdict: out, if there is no queue: what enqueue shall return
 *
 * Return: the queue, or NULL if a filter's action has the packet.
 */
static noinline struct fq_rr_flow *fq_rr_classify(struct Qdisc *sch,
						  struct sk_buff *skb,
						  struct sk_buff **to_free,
						  int *verdict)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	int class = fq_rr_ask_filters(sch, skb, to_free, verdict);

	if (class < 0)
		return NULL;
	if (!class)
		return fq_rr_place_by_hash(sch, skb);
	q->stats.classified++;
	/* one for all in a class, who share it by intent */
	fq_rr_cb_init(skb, FQ_RR_CLASSIFIED);
	fq_rr_cb(skb)->hash = class;
	return &q->buffer.flows[class - 1];
}

/* ---- parents ---- */

static bool fq_rr_has_parents(const struct Qdisc *sch)
{
	return sch->parent != TC_H_ROOT && !(sch->flags & TCQ_F_NOPARENT);
}

/* the only packet that waits is given the length @len */
static void fq_rr_set_length(struct Qdisc *sch, u32 len)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct fq_rr_flow *flow = buffer_any(&q->buffer);
	struct sk_buff *skb = fq_rr_skb(flow->head);
	u32 more = len - qdisc_pkt_len(skb);

	qdisc_skb_cb(skb)->pkt_len = len;
	flow->bytes += more;
	WRITE_ONCE(sch->qstats.backlog, sch->qstats.backlog + more);
}

static void fq_rr_correct_parents(struct Qdisc *sch,
				  const struct parents_correction *correction)
{
	if (correction->packets || correction->bytes)
		qdisc_tree_reduce_backlog(sch, correction->packets,
					  correction->bytes);
}

/**
 * fq_rr_notify_parents - what became of one packet: see parents.h
 * @sch: qdisc
 * @outcome: what was queued and dropped
 * @len: length of the packet as the parents know it (bytes)
 *
 * Return: for the parent.
 */
static int fq_rr_notify_parents(struct Qdisc *sch, const struct fq_rr_outcome *outcome,
				u32 len)
{
	static const int verdicts[] = {
		[PARENTS_SUCCESS] = NET_XMIT_SUCCESS,
		[PARENTS_CN]	  = NET_XMIT_CN,
		[PARENTS_DROP]	  = NET_XMIT_DROP,
	};
	struct parents_report report;

	report = parents_report(outcome, len, sch->q.qlen,
				fq_rr_has_parents(sch));
	if (report.set_length)
		fq_rr_set_length(sch, len);
	fq_rr_correct_parents(sch, &report.split);
	fq_rr_correct_parents(sch, &report.drops);
	return verdicts[report.verdict];
}

/* ---- enqueue ---- */

static noinline int fq_rr_enqueue_split(struct Qdisc *sch,
					struct fq_rr_flow *flow,
					struct sk_buff *skb, u32 len,
					struct sk_buff **to_free)
{
	struct fq_rr_outcome outcome = {};
	netdev_features_t features = netif_skb_features(skb);
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct sk_buff *segs, *next;
	char cb[sizeof(skb->cb)];
	enum fq_rr_enqueued enqueued;
	u64 now_ns = 0;
	u32 segment;

	/* segmentation writes into it, in newer kernels where the drop reason lies */
	memcpy(cb, skb->cb, sizeof(cb));
	segs = skb_gso_segment(skb, features & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(segs)) {
		memcpy(skb->cb, cb, sizeof(cb));
		q->stats.drops_gso++;
		return qdisc_drop(skb, sch, to_free);
	}
	/* the super-packet itself has been counted as one */
	if (fq_rr_cb(skb)->flags & FQ_RR_CLASSIFIED)
		q->stats.classified--;
	q->stats.split++;
	for (; segs; segs = next) {
		next = segs->next;
		skb_mark_not_on_list(segs);
		memcpy(segs->cb, cb, sizeof(cb));
		qdisc_skb_cb(segs)->pkt_len = segs->len;
		compat_qdisc_set_segs(segs, 1);
		q->stats.segments++;
		q->stats.classified += fq_rr_cb(segs)->flags & FQ_RR_CLASSIFIED;
		segment = segs->len;
		enqueued = fq_rr_enqueue_one(sch, flow, segs, &now_ns, to_free);
		if (enqueued != FQ_RR_REFUSED) {
			outcome.queued++;
			outcome.queued_bytes += segment;
		}
		if (enqueued == FQ_RR_QUEUED)
			continue;
		outcome.dropped += q->drops.dropped;
		outcome.dropped_bytes += q->drops.dropped_bytes;
		outcome.own_dropped |= q->drops.own_dropped;
	}
	consume_skb(skb);
	fq_rr_follow_backlog(sch, 0);
	return fq_rr_notify_parents(sch, &outcome, len);
}

/* what remains where a packet is not just in its queue, or has another length than @len */
static noinline int fq_rr_enqueue_end(struct Qdisc *sch, enum fq_rr_enqueued enqueued,
				      u32 queued_len, u32 len)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct fq_rr_outcome outcome = q->drops;

	fq_rr_follow_backlog(sch, 0);
	if (enqueued == FQ_RR_QUEUED)
		outcome = (struct fq_rr_outcome) {};
	if (enqueued != FQ_RR_REFUSED) {
		outcome.queued = 1;
		outcome.queued_bytes = queued_len;
	}
	return fq_rr_notify_parents(sch, &outcome, len);
}

/* a packet goes to a queue; the parents know it by its length @len */
static __always_inline int fq_rr_enqueue_to(struct Qdisc *sch, struct fq_rr_flow *flow,
					    struct sk_buff *skb, u32 len,
					    struct sk_buff **to_free)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	u32 queued_len = qdisc_pkt_len(skb);
	enum fq_rr_enqueued enqueued;
	u64 now_ns = 0;

	if (unlikely(skb_is_gso(skb))) {
		if (q->config.split_gso)
			return fq_rr_enqueue_split(sch, flow, skb, len, to_free);
		fq_rr_cb(skb)->segs = fq_rr_segments(skb);
	}
	enqueued = fq_rr_enqueue_one(sch, flow, skb, &now_ns, to_free);
	/* what the parents count after that anyway */
	if (likely(enqueued == FQ_RR_QUEUED && queued_len == len))
		return NET_XMIT_SUCCESS;
	return fq_rr_enqueue_end(sch, enqueued, queued_len, len);
}

static noinline int fq_rr_enqueue_classified(struct sk_buff *skb, struct Qdisc *sch,
					     struct sk_buff **to_free)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	u32 len = qdisc_pkt_len(skb);
	struct fq_rr_flow *flow;
	int verdict;

	if (q->rehash_due)
		fq_rr_rehash_if_due(sch);
	flow = fq_rr_classify(sch, skb, to_free, &verdict);
	if (!flow)
		return verdict;
	/* a filter's action may have joined fragments: the length is another */
	return fq_rr_enqueue_to(sch, flow, skb, len, to_free);
}

static int fq_rr_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			 struct sk_buff **to_free)
{
	struct fq_rr_flow *flow;

	if (unlikely(fq_rr_has_class(sch, qdisc_priv(sch), skb)))
		return fq_rr_enqueue_classified(skb, sch, to_free);
	flow = fq_rr_place_by_hash(sch, skb);
	return fq_rr_enqueue_to(sch, flow, skb, qdisc_pkt_len(skb), to_free);
}

/* ---- dequeue ---- */

/*
 * With many flows nobody has touched the next one's packet since it came. Its
 * address is in its queue, which must be there before: so that is fetched one packet
 * earlier. (A function of its own would have no effect for gcc, and no calls.)
 */
static __always_inline void fq_rr_fetch_ahead(const struct fq_rr_sched *q)
{
	struct rr_flow *next = rr_upcoming(&q->buffer.rr);

	if (!next)
		return;
	/* behind the last one that is a list of ours: harmless, and not asked for */
	prefetchw(rr_behind(next));
	prefetch(container_of(next, struct fq_rr_flow, rr)->head);
}

/* compiled for each of the two values of @by_host, which costs a packet one branch */
static __always_inline struct sk_buff *fq_rr_dequeue_one(struct Qdisc *sch, bool by_host)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct queue_record *record;
	struct fq_rr_flow *flow;
	struct sk_buff *skb;
	u64 now_ns = 0;
	bool timed;
	u32 len;

	if (!q->buffer.rr.active)
		return NULL;
	if (q->shaped) {
		now_ns = ktime_get_ns();
		if (q->shaper.rate_Bps && !shaper_ready(&q->shaper, now_ns)) {
			qdisc_watchdog_schedule_ns(&q->watchdog,
						   q->shaper.next_ns);
			qdisc_qstats_overlimit(sch);
			return NULL;
		}
	}
	/* some queue has the turn, since some are active */
	flow = buffer_next(&q->buffer, by_host);
	if (by_host && unlikely(!flow))
		return NULL;
	timed = fq_rr_times(q, flow);
	if (timed && !now_ns)
		now_ns = ktime_get_ns();
	if (likely(!timed || fq_rr_calm(q, flow, now_ns)))
		skb = fq_rr_take_head(sch, flow);
	else
		skb = fq_rr_choose(sch, flow, now_ns);
	len = qdisc_pkt_len(skb);
	buffer_sent(&q->buffer, flow, fq_rr_size(fq_rr_link(skb)), by_host);
	_bstats_update(&sch->bstats, len, fq_rr_cb(skb)->segs);
	record = fq_rr_record(q, flow);
	record->bytes += len;
	record->packets += fq_rr_cb(skb)->segs;
	if (!by_host)
		fq_rr_fetch_ahead(q);
	if (q->shaped)
		fq_rr_pace(sch, skb, now_ns);
	if (unlikely(fq_rr_cb(skb)->flags & (FQ_RR_SAMPLED | FQ_RR_SPARED)))
		fq_rr_see_off(q, flow, skb, now_ns);
	trace_fq_rr_dequeue(sch, skb, buffer_number(&q->buffer, flow), q->shaper.rate_Bps,
			    fq_rr_record(q, flow));
	return skb;
}

static noinline struct sk_buff *fq_rr_dequeue_by_host(struct Qdisc *sch)
{
	return fq_rr_dequeue_one(sch, true);
}

static struct sk_buff *fq_rr_dequeue(struct Qdisc *sch)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	if (unlikely(q->buffer.by_host))
		return fq_rr_dequeue_by_host(sch);
	return fq_rr_dequeue_one(sch, false);
}

/* ---- reset ---- */

static void fq_rr_reset(struct Qdisc *sch)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct packet_list all;

	qdisc_watchdog_cancel(&q->watchdog);
	all = buffer_detach_all(&q->buffer);
	if (all.first)
		rtnl_kfree_skbs(fq_rr_skb(all.first), fq_rr_skb(all.last));
	lq_reset(&q->buffer.lq);
	q->buffer.memory = 0;
	shaper_reset(&q->shaper);
	if (fq_rr_paces(q))
		shaper_set_rate(&q->shaper, qlbp_rate(&q->config.rule, 0), 0);
}

/* ---- change ---- */

/* as random as the seed wants it; with a number, the key of the hash does the mixing */
static struct flow_mix fq_rr_draw_mix(u32 seed)
{
	/* the home is the upper part of the hash */
	struct flow_mix mix = { .mul = 1ULL << 32 };

	if (seed == FQ_RR_SEED_RANDOM) {
		mix.mul = get_random_u64();
		mix.add = get_random_u64();
	}
	return mix;
}

/**
 * fq_rr_make_hosts - room for hosts, if they are asked for and there is none
 * @q: qdisc
 * @config: what is asked for
 *
 * Once made it stays, and is used when &buffer.by_host says so: until then nobody but a
 * change, of which there is one at a time, looks at it.
 *
 * Return: 0 or -ENOMEM.
 */
static int fq_rr_make_hosts(struct fq_rr_sched *q, const struct fq_rr_config *config)
{
	struct flow_mix mix = fq_rr_draw_mix(config->seed);
	void *room;

	if (config->hosts == FQ_RR_HOSTS_NONE || q->buffer.hosts.hosts)
		return 0;
	room = kvmalloc(ht_room_bytes(config->flows), GFP_KERNEL_ACCOUNT);
	if (!room)
		return -ENOMEM;
	ht_init(&q->buffer.hosts, &q->buffer.rr, room, config->flows, &mix);
	return 0;
}

static codel_time_t fq_rr_codel_us(u32 us)
{
	return (u64)us * NSEC_PER_USEC >> CODEL_SHIFT;
}

static void fq_rr_begin_delay(struct fq_rr_flow *flow, void *sched)
{
	struct fq_rr_sched *q = sched;

	codel_vars_init(&q->codel_vars[buffer_number(&q->buffer, flow)]);
	flow->rr.of_caller = false;
}

/* queues that wait while delay control is switched on have no history with it */
static void fq_rr_apply_aqm(struct fq_rr_sched *q, bool was_on)
{
	const struct fq_rr_config *config = &q->config;

	codel_params_init(&q->codel);
	q->codel.target = fq_rr_codel_us(config->target);
	q->codel.interval = fq_rr_codel_us(config->interval);
	if (config->ce_threshold != FQ_RR_CE_THRESHOLD_OFF)
		q->codel.ce_threshold = fq_rr_codel_us(config->ce_threshold);
	q->codel.ecn = !config->noecn;
	q->timed_from = delay_control_timed_from(config->aqm, config->ce_threshold !=
						 FQ_RR_CE_THRESHOLD_OFF);
	if (was_on || !config->aqm)
		return;
	buffer_visit(&q->buffer, fq_rr_begin_delay, q);
}

/* put a checked configuration into force; cannot fail */
static void fq_rr_apply(struct Qdisc *sch, const struct fq_rr_config *config)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct fq_rr_limits limits = fq_rr_limits(config);
	u64 rate_Bps = fq_rr_link_Bps(config);
	bool was_strict = fq_rr_strict(q);
	bool had_aqm = q->config.aqm;
	u32 quantum;

	fq_rr_options_publish(&q->config, config);
	fq_rr_apply_aqm(q, had_aqm);
	WRITE_ONCE(sch->limit, limits.packets);
	q->buffer.limit = limits.packets;
	q->buffer.memory_limit = limits.memory;
	q->memory_watched = buffer_watch_memory(&q->buffer, &q->stats.memory_max);
	q->buffer.drop = config->drop;
	q->judged_from = buffer_judged_from(&q->buffer);
	q->buffer.charge = config->charge_drops;
	q->buffer.strict = fq_rr_strict(q);
	/* a queue's part of other limits is another */
	lq_reset(&q->buffer.lq);
	q->quantum_bytes = fq_rr_quantum_bytes(config,
					       psched_mtu(qdisc_dev(sch)));
	quantum = rr_quantum(fq_rr_strict(q), q->quantum_bytes);
	/* credit of other units would let one flow send for long */
	if (quantum != q->buffer.rr.quantum || fq_rr_strict(q) != was_strict)
		buffer_restart(&q->buffer, quantum);
	buffer_set_at_once(&q->buffer, config->aqm);
	if (fq_rr_paces(q))
		rate_Bps = qlbp_rate(&config->rule, sch->qstats.backlog);
	shaper_set_rate(&q->shaper, rate_Bps, ktime_get_ns());
	shaper_set_catch_up(&q->shaper, config->catch_up * NSEC_PER_USEC);
	/*
	 * Past an empty shaper a packet would leave unshaped. The flag is set when
	 * the qdisc is made, which nobody else can see yet, and only cleared since: a
	 * classifier that runs without rtnl_lock() clears it for its first filter at
	 * any time, and what is read and written back here must not bring it back.
	 */
	q->shaped = rate_Bps || fq_rr_paces(q);
	q->looks_back = config->ecn || fq_rr_paces(q);
	if (q->shaped && sch->flags & TCQ_F_CAN_BYPASS)
		WRITE_ONCE(sch->flags, sch->flags & ~TCQ_F_CAN_BYPASS);
}

static int fq_rr_change(struct Qdisc *sch, struct nlattr *opt,
			struct netlink_ext_ack *extack)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct fq_rr_config config = q->config;
	struct fq_rr_outcome outcome = {};
	struct fq_rr_request request = {};
	struct sk_buff *to_free = NULL;
	int err;

	err = fq_rr_parse(&config, true, opt, &request, extack);
	if (!err)
		err = fq_rr_make_hosts(q, &config);
	if (err)
		return err;

	sch_tree_lock(sch);
	fq_rr_apply(sch, &config);
	if (buffer_over_limit(&q->buffer, sch->q.qlen))
		fq_rr_make_room(sch, NULL, NULL, &outcome, &to_free);
	fq_rr_rehash_if_due(sch);
	fq_rr_follow_backlog(sch, 0);
	/* a timer set for a slow rate must not hold up a fast one */
	qdisc_watchdog_cancel(&q->watchdog);
	if (sch->q.qlen)
		qdisc_watchdog_schedule_ns(&q->watchdog, ktime_get_ns());
	if (outcome.dropped)
		qdisc_tree_reduce_backlog(sch, outcome.dropped,
					  outcome.dropped_bytes);
	sch_tree_unlock(sch);
	/* as the stack frees what enqueue() drops */
	kfree_skb_list_reason(to_free, SKB_DROP_REASON_QDISC_DROP);
	return 0;
}

/* ---- init and destroy ---- */

static void fq_rr_destroy(struct Qdisc *sch)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	tcf_block_put(q->block);
	kvfree(q->buffer.hosts.hosts);
	kvfree(q->placing.tags);
	kvfree(q->lq_room);
	kvfree(q->codel_vars);
	kvfree(q->buffer.records);
	kvfree(q->buffer.flows);
}

/* @room: of placing_room_bytes() */
static void fq_rr_init_hash(struct fq_rr_sched *q, void *room)
{
	struct flow_mix mix = fq_rr_draw_mix(q->config.seed);

	fq_rr_set_mode(q);
	if (q->config.seed == FQ_RR_SEED_RANDOM)
		get_random_bytes(&q->key, sizeof(q->key));
	else
		q->key.key[0] = q->config.seed;
	placing_init(&q->placing, room, q->config.flows, &mix);
}

static int fq_rr_init(struct Qdisc *sch, struct nlattr *opt,
		      struct netlink_ext_ack *extack)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct fq_rr_request request = {};
	struct fq_rr_config config;
	void *room;
	int err;

	fq_rr_options_default(&config);

	/* first: when this fails, destroy is called, and reset before it */
	qdisc_watchdog_init(&q->watchdog, sch);
	rr_init(&q->buffer.rr, 1);
	q->next_sample = 1;
	lq_reset(&q->buffer.lq);
	err = tcf_block_get(&q->block, &q->filters, sch, extack);
	if (err)
		return err;
	if (opt) {
		err = fq_rr_parse(&config, false, opt, &request, extack);
		if (err)
			return err;
	}
	q->buffer.flows = kvcalloc(config.flows, sizeof(*q->buffer.flows),
				   GFP_KERNEL_ACCOUNT);
	q->buffer.records = kvcalloc(config.flows, sizeof(*q->buffer.records),
				     GFP_KERNEL_ACCOUNT);
	q->codel_vars = kvcalloc(config.flows, sizeof(*q->codel_vars),
				 GFP_KERNEL_ACCOUNT);
	q->lq_room = kvzalloc(lq_room_bytes(config.flows), GFP_KERNEL_ACCOUNT);
	room = kvmalloc(placing_room_bytes(config.flows), GFP_KERNEL_ACCOUNT);
	q->placing.tags = room;
	if (!q->buffer.flows || !q->buffer.records || !q->codel_vars || !q->lq_room || !room)
		return -ENOMEM;
	err = fq_rr_make_hosts(q, &config);
	if (err)
		return err;
	lq_init(&q->buffer.lq, q->lq_room, config.flows);
	sch->flags |= TCQ_F_CAN_BYPASS;
	fq_rr_apply(sch, &config);
	fq_rr_init_hash(q, room);
	return 0;
}

/* ---- module ---- */

static struct Qdisc_ops fq_rr_qdisc_ops __read_mostly = {
	.id		= "fq_rr",
	.cl_ops		= &fq_rr_class_ops,
	.priv_size	= sizeof(struct fq_rr_sched),
	.enqueue	= fq_rr_enqueue,
	.dequeue	= fq_rr_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= fq_rr_init,
	.reset		= fq_rr_reset,
	.destroy	= fq_rr_destroy,
	.change		= fq_rr_change,
	.dump		= fq_rr_dump,
	.dump_stats	= fq_rr_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init fq_rr_module_init(void)
{
	fq_rr_ranges_init();
	return register_qdisc(&fq_rr_qdisc_ops);
}

static void __exit fq_rr_module_exit(void)
{
	unregister_qdisc(&fq_rr_qdisc_ops);
}

module_init(fq_rr_module_init)
module_exit(fq_rr_module_exit)
/* "tc qdisc add" asks for the second name since 6.8, for the first before */
MODULE_ALIAS("sch_fq_rr");
MODULE_ALIAS("net-sch-fq_rr");
/* a version makes modpost add srcversion, by which a run names its module */
MODULE_VERSION("0.1");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Packet-pair round robin queueing discipline");
