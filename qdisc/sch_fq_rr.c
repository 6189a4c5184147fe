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
 *   its backlog and nobody else loses anything. fair_share.h says what a part is,
 *   longest_queue.h finds the largest.
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
 * neither packets nor clocks. Differences from the papers: a flow is a hash of
 * addresses and ports, not a conversation set up by signalling; fairness counts
 * bytes unless "strict" is asked for; a flow's first packet after a pause goes
 * ahead.
 *
 * Cost: a packet takes constant time while the buffer is not full, O(log n) of
 * the backlogged flows when it is; so does a flush, whatever the queue's length.
 * An idle queue takes 105 bytes. Memory that nobody has touched for long is what a
 * packet waits for most: one line of its queue, one of its own, is what there is.
 */
#include <linux/errno.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/prefetch.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/codel.h>
#include <net/codel_impl.h>
#include <net/flow_dissector.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <linux/pkt_sched_fq_rr.h>

#include "delay_control.h"
#include "fair_share.h"
#include "framing.h"
#include "longest_queue.h"
#include "options.h"
#include "parents.h"
#include "placing.h"
#include "qlbp.h"
#include "round_robin.h"
#include "shaper.h"

#define CREATE_TRACE_POINTS
#include "fq_rr_trace.h"

/**
 * struct fq_rr_flow - one queue
 * @rr: its turn, and whether CoDel has found it above its target since it was last
 *	below; must stay the first member
 * @head: oldest packet
 * @tail: newest packet, if there is a head
 * @bytes: length of what is in it
 * @packets: packets in it
 * @memory: what they occupy (bytes)
 * @hash: of the flow whose packet came last
 */
struct fq_rr_flow {
	struct rr_flow rr;
	struct sk_buff *head;
	struct sk_buff *tail;
	u32 bytes;
	u32 packets;
	u32 memory;
	u32 hash;
};

/* what the header promises for an idle queue, and one cache line for a busy */
static_assert(!IS_ENABLED(CONFIG_64BIT) || sizeof(struct fq_rr_flow) == 64);
static_assert(sizeof(u64) + sizeof(u32) == 12);
static_assert(sizeof(u32) + sizeof(u8) == 5);
static_assert(sizeof(struct codel_vars) == 24);
static_assert(FQ_RR_FLOWS_MAX <= LQ_QUEUES_MAX);
static_assert(offsetof(struct fq_rr_flow, rr) == 0);
static_assert(FQ_RR_WEIGHT_MAX == RR_WEIGHT_MAX);

/* counters, as described at enum TCA_FQ_RR_STATS_* */
struct fq_rr_stats {
	u64 enqueued;
	u64 drops_flushed;
	u64 drops_head;
	u64 drops_tail;
	u64 drops_arriving;
	u64 drops_gso;
	u64 flushes;
	u64 over_limit;
	u64 over_memory;
	u64 split;
	u64 segments;
	u64 activations;
	u64 sparse;
	u64 collisions;
	u64 lag_max_ns;
	u64 pacing_delay_ns;
	u64 pacing_delay_max_ns;
	u64 classified;
	u64 rehashes;
	u64 marks;
	u64 over_share;
	u64 drops_aqm;
	u64 marks_aqm;
	u64 marks_ce;
	u32 longest_max;
	u32 memory_max;
};

struct fq_rr_sched {
	/* read mostly */
	struct fq_rr_flow *flows;
	struct codel_vars *codel_vars;	/* of each queue */
	struct fq_rr_config config;
	struct codel_params codel;
	struct placing placing;
	siphash_key_t key;
	struct tcf_proto __rcu *filters;
	u32 mode;	/* by which the packets that wait were placed */
	bool as_carried;	/* by flow, with the hash that packets carry */
	u32 timed_from;	/* see delay_control_timed_from() */
	bool shaped;	/* there is a rate or pacing */
	bool rehash_due;	/* the mode has become another, too many packets wait */
	u32 quantum_bytes;

	/* written for every packet */
	struct rr rr;
	struct lq lq;
	struct shaper shaper;
	u64 unpaced_ns;
	u32 memory;
	struct sk_buff *dropped;	/* by CoDel, in the midst of a dequeue */
	struct fq_rr_stats stats;

	/* seldom used */
	void *lq_room;
	struct tcf_block *block;
	struct qdisc_watchdog watchdog;
};

static bool fq_rr_strict(const struct fq_rr_sched *q)
{
	return q->config.scheduler == FQ_RR_SCHEDULER_STRICT;
}

/**
 * struct fq_rr_cb - what is noted in a packet that waits
 * @truesize: what it occupies (bytes)
 * @segs: segments it stands for
 * @classified: 1: placed by a class, not by its hash; else 0
 * @hash: how to place it anew
 * @arrived: when it came, in CoDel's time; 0: not noted
 * @unpaced: when it would leave without pacing, in CoDel's time; 0: not noted
 *
 * All but the last lie in the packet's first cache line (of 64 bytes), beside its length
 * and its neighbours: dequeue, much later, touches no other line of the packet.
 *
 * A device may answer a packet with an ICMPv6 error, as WireGuard without a peer does, for
 * which some kernels (6.1) look up here how far into the packet they shall read, as if IPv6
 * had written last. They find @classified, both values of which lie within any IPv6 header.
 */
struct fq_rr_cb {
	u32 truesize;
	u16 segs;
	u16 classified;
	u32 hash;
	codel_time_t arrived;
	codel_time_t unpaced;
};

static_assert(sizeof(struct fq_rr_cb) <= QDISC_CB_PRIV_LEN);
static_assert(IS_ALIGNED(offsetof(struct qdisc_skb_cb, data), 4));
static_assert(offsetof(struct qdisc_skb_cb, data) +
	      offsetof(struct fq_rr_cb, classified) ==
	      offsetof(struct inet6_skb_parm, nhoff));

static_assert(offsetof(struct sk_buff, cb) +
	      offsetof(struct qdisc_skb_cb, data) +
	      offsetof(struct fq_rr_cb, unpaced) <= 64);

static struct fq_rr_cb *fq_rr_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct fq_rr_cb));
	return (struct fq_rr_cb *)qdisc_skb_cb(skb)->data;
}

/* ---- classify ---- */

static bool fq_rr_has_ports(u8 protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP;
}

static bool fq_rr_ipv4_hash(const struct fq_rr_sched *q,
			    const struct sk_buff *skb, u32 *hash)
{
	int offset = skb_network_offset(skb);
	const struct iphdr *ip;
	const __be32 *ports;
	struct iphdr ip_room;
	__be32 ports_room;

	ip = skb_header_pointer(skb, offset, sizeof(ip_room), &ip_room);
	if (!ip || ip->version != 4 || ip_is_fragment(ip) ||
	    !fq_rr_has_ports(ip->protocol))
		return false;
	ports = skb_header_pointer(skb, offset + ip->ihl * 4,
				   sizeof(ports_room), &ports_room);
	if (!ports)
		return false;
	/* placing.h tells two hashes apart that differ by the protocol only */
	*hash = siphash_3u32((__force u32)ip->saddr, (__force u32)ip->daddr,
			     (__force u32)*ports, &q->key) + ip->protocol;
	return true;
}

/* both addresses and the ports, if they follow at once, are one piece */
struct fq_rr_ipv6 {
	struct ipv6hdr ip;
	__be32 ports;
};

static bool fq_rr_ipv6_hash(const struct fq_rr_sched *q,
			    const struct sk_buff *skb, u32 *hash)
{
	const size_t addresses = offsetof(struct fq_rr_ipv6, ip.saddr);
	const struct fq_rr_ipv6 *header;
	struct fq_rr_ipv6 room;

	header = skb_header_pointer(skb, skb_network_offset(skb), sizeof(room),
				    &room);
	if (!header || header->ip.version != 6 ||
	    !fq_rr_has_ports(header->ip.nexthdr))
		return false;
	*hash = siphash((const u8 *)header + addresses,
			sizeof(room) - addresses, &q->key) + header->ip.nexthdr;
	return true;
}

/**
 * fq_rr_fresh_hash - hash of a packet that carries none
 * @q: qdisc
 * @skb: packet
 *
 * The kernel's dissector goes through all that a packet might be, which costs more
 * than all else that is done for it. TCP and UDP right behind an IP header are known at a
 * glance; fragments, extension headers and tags are not for here.
 *
 * Return: of its addresses and ports, if there are any.
 */
static noinline u32 fq_rr_fresh_hash(const struct fq_rr_sched *q,
				     struct sk_buff *skb)
{
	bool known = false;
	u32 hash;

	if (skb_vlan_tag_present(skb))
		return skb_get_hash(skb);
	if (skb->protocol == htons(ETH_P_IP))
		known = fq_rr_ipv4_hash(q, skb, &hash);
	else if (skb->protocol == htons(ETH_P_IPV6))
		known = fq_rr_ipv6_hash(q, skb, &hash);
	return known ? hash : skb_get_hash(skb);
}

static __always_inline u32 fq_rr_carried_hash(const struct fq_rr_sched *q,
					      struct sk_buff *skb)
{
	if (skb->l4_hash || skb->sw_hash)
		return skb_get_hash_raw(skb);
	return fq_rr_fresh_hash(q, skb);
}

static u32 fq_rr_flow_hash(const struct fq_rr_sched *q, struct sk_buff *skb)
{
	/*
	 * The hash a packet carries differs between two boots, so a run that
	 * is to be repeated needs one of addresses, ports and seed alone.
	 */
	if (unlikely(q->config.seed != FQ_RR_SEED_RANDOM))
		return skb_get_hash_perturb(skb, &q->key);
	return fq_rr_carried_hash(q, skb);
}

/* of the innermost IP header's address; what has none is hashed as a flow */
static noinline u32 fq_rr_host_hash(const struct fq_rr_sched *q,
				    struct sk_buff *skb)
{
	bool src = q->mode == FQ_RR_MODE_SRC_HOST;
	struct flow_keys keys;

	if (!skb_flow_dissect_flow_keys(skb, &keys, 0))
		return fq_rr_flow_hash(q, skb);
	switch (keys.control.addr_type) {
	case FLOW_DISSECTOR_KEY_IPV4_ADDRS:
		return siphash_1u32((__force u32)(src ?
						  keys.addrs.v4addrs.src :
						  keys.addrs.v4addrs.dst),
				    &q->key);
	case FLOW_DISSECTOR_KEY_IPV6_ADDRS:
		return siphash(src ? &keys.addrs.v6addrs.src :
			       &keys.addrs.v6addrs.dst,
			       sizeof(struct in6_addr), &q->key);
	default:
		return fq_rr_flow_hash(q, skb);
	}
}

static u32 fq_rr_hash(const struct fq_rr_sched *q, struct sk_buff *skb)
{
	switch (q->mode) {
	case FQ_RR_MODE_CLASS:
		return 0;
	case FQ_RR_MODE_SRC_HOST:
	case FQ_RR_MODE_DST_HOST:
		return fq_rr_host_hash(q, skb);
	default:
		return fq_rr_flow_hash(q, skb);
	}
}

/* packets are placed by another mode from now on */
static void fq_rr_set_mode(struct fq_rr_sched *q)
{
	q->mode = q->config.mode;
	q->as_carried = q->mode == FQ_RR_MODE_FLOW &&
			q->config.seed == FQ_RR_SEED_RANDOM;
}

/**
 * fq_rr_ask_filters - which class the packet's priority or a filter names
 * @sch: qdisc
 * @skb: packet; with a negative result it belongs to @to_free or to an action
 * @to_free: list for what an action wants dropped
 * @verdict: out, with a negative result: what enqueue shall return
 *
 * Return: minor number of a class that there is, 0 if none is named, negative if
 * an action has taken the packet or wants it dropped.
 */
static noinline int fq_rr_ask_filters(struct Qdisc *sch, struct sk_buff *skb,
				      struct sk_buff **to_free, int *verdict)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	const struct tcf_proto *filters = rcu_dereference_bh(q->filters);
	u32 classid = skb->priority;
	struct tcf_result result;

	/* a qdisc that nobody named has no handle: 0 is no priority for it */
	if (!sch->handle || TC_H_MAJ(classid) != sch->handle)
		classid = 0;
	if (filters && !TC_H_MIN(classid)) {
		switch (tcf_classify(skb, NULL, filters, &result, false)) {
		case TC_ACT_UNSPEC:	/* no filter matches */
			break;
		case TC_ACT_STOLEN:
		case TC_ACT_QUEUED:
		case TC_ACT_TRAP:
			__qdisc_drop(skb, to_free);
			*verdict = NET_XMIT_SUCCESS | __NET_XMIT_STOLEN;
			return -1;
		case TC_ACT_CONSUMED:	/* may be freed already: act_ct, mirred */
			*verdict = NET_XMIT_SUCCESS | __NET_XMIT_STOLEN;
			return -1;
		case TC_ACT_SHOT:
		case TC_ACT_REDIRECT:	/* not from a qdisc's filter */
			qdisc_qstats_drop(sch);
			__qdisc_drop(skb, to_free);
			*verdict = NET_XMIT_SUCCESS | __NET_XMIT_BYPASS;
			return -1;
		default:	/* OK or PIPE: what repeats or jumps never comes here */
			classid = result.classid;
		}
	}
	return TC_H_MIN(classid) <= q->config.flows ? TC_H_MIN(classid) : 0;
}

/* ---- queues ---- */

static void fq_rr_append(struct fq_rr_flow *flow, struct sk_buff *skb)
{
	skb->next = NULL;
	if (flow->head) {
		skb->prev = flow->tail;
		flow->tail->next = skb;
	} else {
		skb->prev = NULL;
		flow->head = skb;
	}
	flow->tail = skb;
}

static struct sk_buff *fq_rr_take_head(struct fq_rr_flow *flow)
{
	struct sk_buff *skb = flow->head;

	/* the new head keeps its prev, which nobody follows: saves a miss */
	flow->head = skb->next;
	skb->next = NULL;
	skb->prev = NULL;
	return skb;
}

static struct sk_buff *fq_rr_take_tail(struct fq_rr_flow *flow)
{
	struct sk_buff *skb = flow->tail;

	if (skb == flow->head) {
		flow->head = NULL;
	} else {
		flow->tail = skb->prev;
		flow->tail->next = NULL;
	}
	skb->prev = NULL;
	return skb;
}

/* a packet has been taken out of its queue */
static void fq_rr_account_out(struct Qdisc *sch, struct fq_rr_flow *flow,
			      const struct sk_buff *skb)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	u32 memory = fq_rr_cb(skb)->truesize;

	flow->bytes -= qdisc_pkt_len(skb);
	flow->packets--;
	flow->memory -= memory;
	q->memory -= memory;
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_qlen_dec(sch);
}

static bool fq_rr_over(const struct Qdisc *sch, const struct fq_rr_sched *q)
{
	return sch->q.qlen > q->config.limit ||
	       q->memory > q->config.memory_limit;
}

static u32 fq_rr_number(const struct fq_rr_sched *q,
			const struct fq_rr_flow *flow)
{
	return flow - q->flows;
}

static u64 fq_rr_key(const struct fq_rr_sched *q, const struct fq_rr_flow *flow)
{
	return fair_share_key(q->config.limit, q->config.memory_limit,
			      flow->packets, flow->memory);
}

static u64 fq_rr_key_of(const void *sched, u32 number)
{
	const struct fq_rr_sched *q = sched;

	return fq_rr_key(q, &q->flows[number]);
}

/* rare, and where a test counts how often: out of line */
static noinline void fq_rr_collect(struct fq_rr_sched *q)
{
	struct fq_rr_flow *flow;
	unsigned int list;
	struct rr_flow *f;

	for (list = 0; list < RR_LISTS; list++) {
		rr_for_each(&q->rr, list, f) {
			flow = container_of(f, struct fq_rr_flow, rr);
			lq_collect(&q->lq, fq_rr_number(q, flow),
				   fq_rr_key(q, flow));
		}
	}
	lq_collected(&q->lq);
}

static struct fq_rr_flow *fq_rr_longest(struct fq_rr_sched *q)
{
	u32 number;

	if (lq_collecting(&q->lq))
		fq_rr_collect(q);
	number = lq_longest(&q->lq, fq_rr_key_of, q);
	return number == LQ_NONE ? NULL : &q->flows[number];
}

/* ---- pace ---- */

/* what a packet, or a super-packet that was not split, occupies on the link */
static u32 fq_rr_wire_bytes(const struct fq_rr_sched *q,
			    const struct sk_buff *skb)
{
	struct framing link = {
		.overhead_bytes = q->config.overhead,
		.mpu_bytes = q->config.mpu,
		.kind = q->config.framing,
	};
	u32 len = qdisc_pkt_len(skb);
	u32 segs, headers;

	if (q->config.layer == FQ_RR_LAYER_IP)
		link.overhead_bytes -= skb_network_offset(skb);
	else if (skb_vlan_tag_present(skb))
		link.overhead_bytes += VLAN_HLEN;
	if (!skb_is_gso(skb) || skb_shinfo(skb)->gso_segs < 2)
		return framing_packet(&link, len);
	/* the length that qdiscs know has the headers of every segment in it */
	segs = skb_shinfo(skb)->gso_segs;
	headers = len > skb->len ? (len - skb->len) / (segs - 1) : 0;
	return framing_super_packet(&link, len,
				    headers + skb_shinfo(skb)->gso_size, segs);
}

static bool fq_rr_paces(const struct fq_rr_sched *q)
{
	return q->config.rule.q_max_bytes;
}

/* with pacing, the rate follows the backlog */
static void fq_rr_follow_backlog(struct Qdisc *sch, u64 now_ns)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	if (fq_rr_paces(q))
		shaper_set_rate(&q->shaper,
				qlbp_rate(&q->config.rule, sch->qstats.backlog),
				now_ns);
}

/* packets have been queued, or @lost packets dropped */
static void fq_rr_backlog_changed(struct Qdisc *sch, u32 lost)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	u64 now_ns;

	if (!fq_rr_paces(q))
		return;
	now_ns = ktime_get_ns();
	if (lost)
		qlbp_drop(&q->config.rule, &q->unpaced_ns, now_ns,
			  sch->qstats.backlog);
	fq_rr_follow_backlog(sch, now_ns);
}

/* a moment in nanoseconds, in CoDel's time, and so that 0 stays free */
static codel_time_t fq_rr_codel_time(u64 ns)
{
	return (codel_time_t)(ns >> CODEL_SHIFT) ?: 1;
}

/* a moment of CoDel's time within 36 minutes of @now_ns, in nanoseconds */
static u64 fq_rr_time_ns(codel_time_t time, u64 now_ns)
{
	codel_tdiff_t ahead = time - (codel_time_t)(now_ns >> CODEL_SHIFT);

	return now_ns + ahead * (s64)(1 << CODEL_SHIFT);
}

static void fq_rr_pace(struct Qdisc *sch, const struct sk_buff *skb,
		       u64 now_ns)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	codel_time_t unpaced = fq_rr_cb(skb)->unpaced;
	u64 late_ns;

	fq_rr_follow_backlog(sch, now_ns);
	if (fq_rr_paces(q) && unpaced) {
		q->stats.pacing_delay_ns =
			qlbp_delay_ns(fq_rr_time_ns(unpaced, now_ns), now_ns);
		q->stats.pacing_delay_max_ns =
			max(q->stats.pacing_delay_max_ns,
			    q->stats.pacing_delay_ns);
	}
	late_ns = shaper_sent(&q->shaper, now_ns, fq_rr_wire_bytes(q, skb));
	q->stats.lag_max_ns = max(q->stats.lag_max_ns, late_ns);
}

/* ---- drop ---- */

static void fq_rr_charge(struct fq_rr_sched *q, struct fq_rr_flow *flow,
			 const struct sk_buff *skb)
{
	if (q->config.charge_drops)
		rr_charge(&q->rr, &flow->rr,
			  rr_cost(fq_rr_strict(q), qdisc_pkt_len(skb)));
}

static void fq_rr_lose(struct Qdisc *sch, struct fq_rr_flow *flow,
		       struct sk_buff *skb, struct fq_rr_outcome *outcome,
		       struct sk_buff **to_free)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	fq_rr_account_out(sch, flow, skb);
	if (!flow->head)
		rr_idle(&q->rr, &flow->rr);
	outcome->dropped++;
	outcome->dropped_bytes += qdisc_pkt_len(skb);
	fq_rr_charge(q, flow, skb);
	qdisc_drop(skb, sch, to_free);
}

/*
 * Drop all of a queue but the packet @keep, if that is its newest. None of the packets
 * is looked at, unless somebody is to pay for each.
 */
static void fq_rr_flush(struct Qdisc *sch, struct fq_rr_flow *flow,
			struct sk_buff *keep, struct fq_rr_outcome *outcome,
			struct sk_buff **to_free)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct sk_buff *last = flow->tail;
	struct fq_rr_flow lost = *flow;

	q->stats.flushes++;
	q->stats.drops_flushed += flow->packets - (last == keep);
	if (q->config.charge_drops) {
		while (flow->head && flow->head != keep)
			fq_rr_lose(sch, flow, fq_rr_take_head(flow), outcome,
				   to_free);
		return;
	}
	flow->head = NULL;
	flow->bytes = 0;
	flow->packets = 0;
	flow->memory = 0;
	if (last == keep) {
		last = keep->prev;
		keep->prev = NULL;
		flow->head = keep;
		flow->bytes = qdisc_pkt_len(keep);
		flow->packets = 1;
		flow->memory = fq_rr_cb(keep)->truesize;
	} else {
		rr_idle(&q->rr, &flow->rr);
	}
	last->next = *to_free;
	*to_free = lost.head;
	lost.bytes -= flow->bytes;
	lost.packets -= flow->packets;
	q->memory -= lost.memory - flow->memory;
	WRITE_ONCE(sch->q.qlen, sch->q.qlen - lost.packets);
	WRITE_ONCE(sch->qstats.backlog, sch->qstats.backlog - lost.bytes);
	__qdisc_qstats_drop(sch, lost.packets);
	outcome->dropped += lost.packets;
	outcome->dropped_bytes += lost.bytes;
}

/* drop what the policy says of one queue */
static void fq_rr_drop_from(struct Qdisc *sch, struct fq_rr_flow *flow,
			    struct sk_buff *arrived,
			    struct fq_rr_outcome *outcome,
			    struct sk_buff **to_free)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	if (q->config.drop == FQ_RR_DROP_LONGEST_QUEUE &&
	    flow->head != arrived) {
		fq_rr_flush(sch, flow, arrived, outcome, to_free);
	} else if (q->config.drop == FQ_RR_DROP_LONGEST_HEAD) {
		q->stats.drops_head++;
		fq_rr_lose(sch, flow, fq_rr_take_head(flow), outcome, to_free);
	} else {
		q->stats.drops_tail++;
		fq_rr_lose(sch, flow, fq_rr_take_tail(flow), outcome, to_free);
	}
}

/**
 * fq_rr_make_room - drop by the policy until the limits are met
 * @sch: qdisc
 * @own: flow of the packet that has just been queued, or NULL
 * @arrived: that packet, or NULL
 * @outcome: counts what is dropped
 * @to_free: list for what is dropped
 */
static noinline void fq_rr_make_room(struct Qdisc *sch,
				     const struct fq_rr_flow *own,
				     struct sk_buff *arrived,
				     struct fq_rr_outcome *outcome,
				     struct sk_buff **to_free)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	if (sch->q.qlen > q->config.limit)
		q->stats.over_limit++;
	else
		q->stats.over_memory++;

	while (fq_rr_over(sch, q)) {
		struct fq_rr_flow *flow = fq_rr_longest(q);

		/*
		 * Counted, but in no queue any more, is what a device took
		 * part of and gave back: a super-packet's segments can be
		 * more than the limit.
		 */
		if (!flow)
			break;
		if (flow == own)
			outcome->own_dropped = true;
		fq_rr_drop_from(sch, flow, arrived, outcome, to_free);
	}
}

/*
 * Mark a packet that has just been queued if its queue exceeds its part of the
 * buffer. A sender that cannot be marked loses instead what the policy says: who
 * understands marks shall not be worse off.
 */
static noinline void fq_rr_mark(struct Qdisc *sch, struct fq_rr_flow *flow,
				struct sk_buff *skb,
				struct fq_rr_outcome *outcome,
				struct sk_buff **to_free)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	u32 buffer = fair_share_buffer(q->config.limit, q->config.memory_limit,
				       sch->q.qlen, q->memory);

	if (!fair_share_exceeded(flow->packets, rr_weight(&flow->rr),
				 q->rr.shares, buffer, q->config.ecn))
		return;
	if (INET_ECN_set_ce(skb)) {
		q->stats.marks++;
		return;
	}
	q->stats.over_share++;
	outcome->own_dropped = true;
	fq_rr_drop_from(sch, flow, skb, outcome, to_free);
}

/* ---- delay ---- */

/* a queue that has been empty begins anew, as CoDel has it */
static void fq_rr_forget_delay(struct fq_rr_sched *q, struct fq_rr_flow *flow)
{
	struct codel_vars *vars;

	if (likely(!flow->rr.of_caller))
		return;
	vars = &q->codel_vars[fq_rr_number(q, flow)];
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
 * @left: packets in it, or 0 if no more may be dropped
 * @drops: how many CoDel has dropped
 * @dropped: packets that CoDel has dropped
 */
struct fq_rr_codel_call {
	struct Qdisc *sch;
	struct fq_rr_flow *flow;
	u32 left;
	u32 drops;
	struct sk_buff *dropped;
};

static struct sk_buff *fq_rr_codel_take(struct codel_vars *vars, void *ctx)
{
	struct fq_rr_codel_call *call = ctx;
	struct sk_buff *skb = fq_rr_take_head(call->flow);

	fq_rr_account_out(call->sch, call->flow, skb);
	/* CoDel ends its drops where a queue is short */
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

/* of a packet that came to a short queue, or before delay control was switched on: none */
static codel_time_t fq_rr_codel_arrived(const struct sk_buff *skb)
{
	return fq_rr_cb(skb)->arrived ?: codel_get_time();
}

/**
 * fq_rr_choose - the packet that CoDel lets a queue send
 * @sch: qdisc
 * @flow: queue, which is not empty
 *
 * CoDel drops only what leaves more than DELAY_CONTROL_SPARED_PACKETS behind. So there
 * is always a packet to send, and the qdisc is not empty when its parents are notified.
 *
 * Return: the packet, no longer in the queue.
 */
static noinline struct sk_buff *fq_rr_choose(struct Qdisc *sch,
					     struct fq_rr_flow *flow)
{
	struct fq_rr_codel_call call = { .sch = sch, .flow = flow };
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct codel_vars *vars = &q->codel_vars[fq_rr_number(q, flow)];
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
	if (stats.drop_count) {
		__qdisc_qstats_drop(sch, stats.drop_count);
		qdisc_tree_reduce_backlog(sch, stats.drop_count, stats.drop_len);
		fq_rr_backlog_changed(sch, stats.drop_count);
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
	codel_time_t arrived = fq_rr_cb(flow->head)->arrived;
	codel_time_t now = now_ns >> CODEL_SHIFT;

	return delay_control_calm(arrived ? now - arrived : 0, q->codel.target,
				  q->codel.ce_threshold, flow->packets - 1,
				  flow->rr.of_caller);
}

/* what a flow has lost is paid for once the packet that was sent instead is */
static noinline void fq_rr_free_dropped(struct fq_rr_sched *q,
					struct fq_rr_flow *flow)
{
	struct sk_buff *skb;

	for (skb = q->dropped; skb; skb = skb->next)
		fq_rr_charge(q, flow, skb);
	kfree_skb_list(q->dropped);
	q->dropped = NULL;
}

/* ---- enqueue ---- */

/*
 * A packet that could not stay even alone is refused before it is queued: it would cost
 * another flow its queue, and be dropped all the same.
 */
static bool fq_rr_refuses(const struct Qdisc *sch, const struct fq_rr_sched *q,
			  const struct sk_buff *skb)
{
	if (skb->truesize > q->config.memory_limit)
		return true;
	return q->config.drop == FQ_RR_DROP_ARRIVING &&
	       (sch->q.qlen >= q->config.limit ||
		q->memory + skb->truesize > q->config.memory_limit);
}

/* a packet goes to the end of its queue: what moves it to another does as well */
static inline void fq_rr_put(struct fq_rr_sched *q, struct fq_rr_flow *flow,
			     struct sk_buff *skb)
{
	flow->hash = fq_rr_cb(skb)->hash;
	fq_rr_append(flow, skb);
	flow->packets++;
	flow->memory += fq_rr_cb(skb)->truesize;
	flow->bytes += qdisc_pkt_len(skb);
	/* no part of the buffer is computed while nobody asks for the largest */
	if (unlikely(!lq_collecting(&q->lq)))
		lq_grow(&q->lq, fq_rr_number(q, flow), fq_rr_key(q, flow));
}

/*
 * What the link has to do with when a packet comes, before it is in its queue. Returns the
 * present if it has been read (@now_ns or by this), or 0.
 */
static u64 fq_rr_note_arrival(struct Qdisc *sch, struct sk_buff *skb, u64 now_ns)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	if (!fq_rr_paces(q) && sch->q.qlen)
		return now_ns;
	if (!now_ns)
		now_ns = ktime_get_ns();
	if (q->shaper.rate_Bps && !sch->q.qlen)
		shaper_arrive(&q->shaper, now_ns);
	if (fq_rr_paces(q))
		fq_rr_cb(skb)->unpaced =
			fq_rr_codel_time(qlbp_arrive(&q->config.rule, &q->unpaced_ns,
						     now_ns,
						     fq_rr_wire_bytes(q, skb)));
	return now_ns;
}

/* inlined into both callers: called once per packet. What comes together has one @now_ns. */
static __always_inline void fq_rr_enqueue_one(struct Qdisc *sch,
					      struct fq_rr_flow *flow,
					      struct sk_buff *skb, u16 segs,
					      u64 *now_ns,
					      struct fq_rr_outcome *outcome,
					      struct sk_buff **to_free)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	u32 hash = fq_rr_cb(skb)->hash;
	u32 len = qdisc_pkt_len(skb);

	/* nothing is read for it while nobody listens */
	if (trace_fq_rr_enqueue_enabled())
		trace_fq_rr_enqueue(sch, skb, hash, fq_rr_number(q, flow), len,
				    flow->packets, flow->bytes, sch->q.qlen);

	if (unlikely(fq_rr_refuses(sch, q, skb))) {
		q->stats.drops_arriving++;
		outcome->own_dropped = true;
		fq_rr_charge(q, flow, skb);
		qdisc_drop(skb, sch, to_free);
		return;
	}
	fq_rr_cb(skb)->arrived = 0;
	fq_rr_cb(skb)->unpaced = 0;
	if (flow->packets >= q->timed_from) {
		if (!*now_ns)
			*now_ns = ktime_get_ns();
		fq_rr_cb(skb)->arrived = fq_rr_codel_time(*now_ns);
	}
	if (q->shaped)
		*now_ns = fq_rr_note_arrival(sch, skb, *now_ns);
	if (!flow->head) {
		fq_rr_forget_delay(q, flow);
		q->stats.activations++;
		q->stats.sparse += rr_backlogged(&q->rr, &flow->rr);
	} else if (flow->hash != hash) {
		q->stats.collisions++;
	}
	fq_rr_cb(skb)->truesize = skb->truesize;
	fq_rr_cb(skb)->segs = segs;
	fq_rr_put(q, flow, skb);
	q->memory += skb->truesize;
	q->stats.enqueued++;
	q->stats.classified += fq_rr_cb(skb)->classified;
	q->stats.longest_max = max(q->stats.longest_max, flow->bytes);
	q->stats.memory_max = max(q->stats.memory_max, q->memory);
	qdisc_qstats_backlog_inc(sch, skb);
	qdisc_qlen_inc(sch);
	outcome->queued++;
	outcome->queued_bytes += len;

	if (unlikely(fq_rr_over(sch, q)))
		fq_rr_make_room(sch, flow, skb, outcome, to_free);
	else if (q->config.ecn)
		fq_rr_mark(sch, flow, skb, outcome, to_free);
}

/* ---- place ---- */

static u32 fq_rr_waiting(const void *flows, u32 number)
{
	return ((const struct fq_rr_flow *)flows)[number].packets;
}

/* the queue @to has become a guest's: its packets leave the queue @from, in order */
static noinline void fq_rr_move_guest(struct fq_rr_sched *q,
				      struct fq_rr_flow *from,
				      struct fq_rr_flow *to)
{
	struct sk_buff *skb = from->head, *next;
	bool guests = false;

	from->head = NULL;
	from->bytes = 0;
	from->packets = 0;
	from->memory = 0;
	for (; skb; skb = next) {
		const struct fq_rr_cb *cb = fq_rr_cb(skb);

		next = skb->next;
		if (cb->classified || !placing_owns(&q->placing,
						    fq_rr_number(q, to), cb->hash)) {
			guests |= !placing_owns(&q->placing,
						fq_rr_number(q, from), cb->hash);
			fq_rr_put(q, from, skb);
			continue;
		}
		if (!to->head) {
			fq_rr_forget_delay(q, to);
			rr_backlogged(&q->rr, &to->rr);
		}
		fq_rr_put(q, to, skb);
	}
	if (!from->head)
		rr_idle(&q->rr, &from->rr);
	placing_moved(&q->placing, fq_rr_number(q, from), guests);
}

/* rare while there are far more queues than flows: out of line */
static noinline struct fq_rr_flow *fq_rr_place_away(struct fq_rr_sched *q,
						    u32 hash, u32 home)
{
	struct placing_found found;

	found = placing_find(&q->placing, hash, home, fq_rr_waiting, q->flows);
	if (unlikely(found.from != PLACING_NONE))
		fq_rr_move_guest(q, &q->flows[found.from],
				 &q->flows[found.queue]);
	return &q->flows[found.queue];
}

static __always_inline struct fq_rr_flow *
fq_rr_place_flow(struct fq_rr_sched *q, u32 hash)
{
	u32 home = placing_home(&q->placing, hash);

	if (likely(placing_owns(&q->placing, home, hash)))
		return &q->flows[home];
	return fq_rr_place_away(q, hash, home);
}

/* the queue for a packet whose hash is known, unless a class is */
static struct fq_rr_flow *fq_rr_place(struct fq_rr_sched *q, u32 hash)
{
	if (q->mode == FQ_RR_MODE_CLASS)
		return &q->flows[0];
	return fq_rr_place_flow(q, hash);
}

static noinline struct fq_rr_flow *fq_rr_place_by_mode(struct fq_rr_sched *q,
						       struct sk_buff *skb)
{
	fq_rr_cb(skb)->hash = fq_rr_hash(q, skb);
	return fq_rr_place(q, fq_rr_cb(skb)->hash);
}

/* the queue for a packet that no class is named for */
static __always_inline struct fq_rr_flow *
fq_rr_place_by_hash(struct fq_rr_sched *q, struct sk_buff *skb)
{
	u32 hash;

	fq_rr_cb(skb)->classified = 0;
	if (unlikely(!q->as_carried))
		return fq_rr_place_by_mode(q, skb);
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
		return fq_rr_place_by_hash(q, skb);
	/* one for all in a class, who share it by intent */
	fq_rr_cb(skb)->classified = 1;
	fq_rr_cb(skb)->hash = class;
	return &q->flows[class - 1];
}

/* ---- rehash ---- */

/* take all packets out of their queues, each queue's in order, up to @last */
static struct sk_buff *fq_rr_empty_queues(struct fq_rr_sched *q,
					  struct sk_buff **last)
{
	struct sk_buff *all = NULL, **end = &all;
	unsigned int list;

	for (list = 0; list < RR_LISTS; list++) {
		while (!rr_link_empty(&q->rr.list[list])) {
			struct fq_rr_flow *flow;

			flow = container_of(q->rr.list[list].next,
					    struct fq_rr_flow, rr.link);
			*end = flow->head;
			end = &flow->tail->next;
			*last = flow->tail;
			rr_idle(&q->rr, &flow->rr);
			flow->head = NULL;
			flow->bytes = 0;
			flow->packets = 0;
			flow->memory = 0;
		}
	}
	return all;
}

/**
 * fq_rr_rehash - place all packets anew, after the mode has changed
 * @sch: qdisc
 *
 * Packets of one flow come out of one queue, in order, and go into one. Everybody
 * starts at the same point: credit was a queue's, not a flow's. Takes time linear
 * in the packets that wait.
 */
static void fq_rr_rehash(struct Qdisc *sch)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct sk_buff *skb, *next, *last;

	fq_rr_set_mode(q);
	skb = fq_rr_empty_queues(q, &last);
	rr_restart(&q->rr, q->rr.quantum);
	lq_reset(&q->lq);
	for (; skb; skb = next) {
		struct fq_rr_cb *cb = fq_rr_cb(skb);
		struct fq_rr_flow *flow;

		next = skb->next;
		if (!cb->classified)
			cb->hash = fq_rr_hash(q, skb);
		flow = cb->classified ? &q->flows[cb->hash - 1] :
					fq_rr_place(q, cb->hash);
		if (!flow->head) {
			fq_rr_forget_delay(q, flow);
			rr_backlogged(&q->rr, &flow->rr);
		}
		fq_rr_put(q, flow, skb);
	}
	q->stats.rehashes++;
}

/*
 * Place all packets anew if the mode has become another, and if few enough wait: a
 * tenant may ask for it in a loop, and all of it is under the lock.
 */
static noinline void fq_rr_rehash_if_due(struct Qdisc *sch)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	q->rehash_due = q->mode != q->config.mode;
	if (!q->rehash_due || sch->q.qlen > FQ_RR_REHASH_PACKETS)
		return;
	q->rehash_due = false;
	fq_rr_rehash(sch);
}

static bool fq_rr_has_parents(const struct Qdisc *sch)
{
	return sch->parent != TC_H_ROOT && !(sch->flags & TCQ_F_NOPARENT);
}

/* the only packet that waits is one of @flow: it is given the length @len */
static void fq_rr_set_length(struct Qdisc *sch, struct fq_rr_flow *flow, u32 len)
{
	u32 more = len - qdisc_pkt_len(flow->head);

	qdisc_skb_cb(flow->head)->pkt_len = len;
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
 * @flow: queue of the packet
 * @outcome: what was queued and dropped
 * @len: length of the packet as the parents know it (bytes)
 *
 * Return: for the parent.
 */
static int fq_rr_notify_parents(struct Qdisc *sch, struct fq_rr_flow *flow,
				const struct fq_rr_outcome *outcome, u32 len)
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
		fq_rr_set_length(sch, flow, len);
	fq_rr_correct_parents(sch, &report.split);
	fq_rr_correct_parents(sch, &report.drops);
	return verdicts[report.verdict];
}

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
	u64 now_ns = 0;

	/* segmentation writes into it, in newer kernels where the drop reason lies */
	memcpy(cb, skb->cb, sizeof(cb));
	segs = skb_gso_segment(skb, features & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(segs)) {
		memcpy(skb->cb, cb, sizeof(cb));
		q->stats.drops_gso++;
		return qdisc_drop(skb, sch, to_free);
	}
	q->stats.split++;
	for (; segs; segs = next) {
		next = segs->next;
		skb_mark_not_on_list(segs);
		memcpy(segs->cb, cb, sizeof(cb));
		qdisc_skb_cb(segs)->pkt_len = segs->len;
		compat_qdisc_set_segs(segs, 1);
		q->stats.segments++;
		fq_rr_enqueue_one(sch, flow, segs, 1, &now_ns, &outcome,
				  to_free);
	}
	consume_skb(skb);
	fq_rr_backlog_changed(sch, outcome.dropped);
	return fq_rr_notify_parents(sch, flow, &outcome, len);
}

static int fq_rr_enqueue(struct sk_buff *skb, struct Qdisc *sch,
			 struct sk_buff **to_free)
{
	struct fq_rr_outcome outcome = {};
	struct fq_rr_sched *q = qdisc_priv(sch);
	u32 len = qdisc_pkt_len(skb);
	struct fq_rr_flow *flow;
	u64 now_ns = 0;
	u16 segs = 1;
	int verdict;

	if (unlikely(q->rehash_due))
		fq_rr_rehash_if_due(sch);
	if (unlikely(fq_rr_has_class(sch, q, skb))) {
		flow = fq_rr_classify(sch, skb, to_free, &verdict);
		if (!flow)
			return verdict;
	} else {
		flow = fq_rr_place_by_hash(q, skb);
	}
	if (unlikely(skb_is_gso(skb))) {
		if (q->config.split_gso)
			return fq_rr_enqueue_split(sch, flow, skb, len, to_free);
		segs = skb_shinfo(skb)->gso_segs;
	}
	fq_rr_enqueue_one(sch, flow, skb, segs, &now_ns, &outcome, to_free);
	fq_rr_backlog_changed(sch, outcome.dropped);
	/* what the parents count after that anyway; a filter's action may join fragments */
	if (likely(outcome.queued && outcome.queued_bytes == len && !outcome.dropped))
		return NET_XMIT_SUCCESS;
	return fq_rr_notify_parents(sch, flow, &outcome, len);
}

/* ---- dequeue ---- */

/*
 * With many flows nobody has touched the next one's packet since it came. Its
 * address is in its queue, which must be there before: so that is fetched one packet
 * earlier. (A function of its own would have no effect for gcc, and no calls.)
 */
static __always_inline void fq_rr_fetch_ahead(const struct fq_rr_sched *q)
{
	struct rr_flow *next = rr_upcoming(&q->rr);

	if (!next)
		return;
	/* behind the last one that is a list of ours: harmless, and not asked for */
	prefetchw(rr_behind(next));
	prefetch(container_of(next, struct fq_rr_flow, rr)->head);
}

static struct sk_buff *fq_rr_dequeue(struct Qdisc *sch)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct fq_rr_flow *flow;
	struct rr_flow *next;
	struct sk_buff *skb;
	u64 now_ns = 0;
	u32 cost, len;
	bool timed;

	if (!q->rr.active)
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
	next = rr_next(&q->rr);
	if (unlikely(!next))
		return NULL;
	flow = container_of(next, struct fq_rr_flow, rr);
	timed = fq_rr_times(q, flow);
	if (timed && !now_ns)
		now_ns = ktime_get_ns();
	if (likely(!timed || fq_rr_calm(q, flow, now_ns))) {
		skb = fq_rr_take_head(flow);
		fq_rr_account_out(sch, flow, skb);
	} else {
		skb = fq_rr_choose(sch, flow);
	}
	len = qdisc_pkt_len(skb);
	cost = rr_cost(fq_rr_strict(q), len);
	rr_sent(&q->rr, &flow->rr, cost, flow->head);
	_bstats_update(&sch->bstats, len, fq_rr_cb(skb)->segs);
	fq_rr_fetch_ahead(q);
	if (q->shaped)
		fq_rr_pace(sch, skb, now_ns);
	if (unlikely(q->dropped))
		fq_rr_free_dropped(q, flow);
	trace_fq_rr_dequeue(sch, skb, flow - q->flows, q->shaper.rate_Bps);
	return skb;
}

/* ---- reset ---- */

static void fq_rr_reset(struct Qdisc *sch)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct sk_buff *all, *last;

	qdisc_watchdog_cancel(&q->watchdog);
	all = fq_rr_empty_queues(q, &last);
	if (all)
		rtnl_kfree_skbs(all, last);
	lq_reset(&q->lq);
	q->memory = 0;
	shaper_reset(&q->shaper);
	q->unpaced_ns = 0;
	if (fq_rr_paces(q))
		shaper_set_rate(&q->shaper, qlbp_rate(&q->config.rule, 0), 0);
}

/* ---- change ---- */

static const struct nla_policy fq_rr_policy[TCA_FQ_RR_MAX + 1] = {
	[TCA_FQ_RR_LIMIT]	 = { .type = NLA_U32 },
	[TCA_FQ_RR_MEMORY_LIMIT] = { .type = NLA_U32 },
	[TCA_FQ_RR_FLOWS]	 = { .type = NLA_U32 },
	[TCA_FQ_RR_QUANTUM]	 = { .type = NLA_U32 },
	[TCA_FQ_RR_RATE64]	 = { .type = NLA_U64 },
	[TCA_FQ_RR_OVERHEAD]	 = { .type = NLA_S32 },
	[TCA_FQ_RR_MPU]		 = { .type = NLA_U32 },
	[TCA_FQ_RR_SCHEDULER]	 = { .type = NLA_U32 },
	[TCA_FQ_RR_DROP]	 = { .type = NLA_U32 },
	[TCA_FQ_RR_SPLIT_GSO]	 = { .type = NLA_U32 },
	[TCA_FQ_RR_SEED]	 = { .type = NLA_U32 },
	[TCA_FQ_RR_QLBP]	 = { .type = NLA_U32 },
	[TCA_FQ_RR_MU_MIN]	 = { .type = NLA_U64 },
	[TCA_FQ_RR_MU_MAX]	 = { .type = NLA_U64 },
	[TCA_FQ_RR_Q_MAX]	 = { .type = NLA_U32 },
	[TCA_FQ_RR_LOAD]	 = { .type = NLA_U32 },
	[TCA_FQ_RR_MAX_DELAY]	 = { .type = NLA_U32 },
	[TCA_FQ_RR_MODE]	 = { .type = NLA_U32 },
	[TCA_FQ_RR_CHARGE_DROPS] = { .type = NLA_U32 },
	[TCA_FQ_RR_ECN]		 = { .type = NLA_U32 },
	[TCA_FQ_RR_LAYER]	 = { .type = NLA_U32 },
	[TCA_FQ_RR_FRAMING]	 = { .type = NLA_U32 },
	[TCA_FQ_RR_CATCH_UP]	 = { .type = NLA_U32 },
	[TCA_FQ_RR_AQM]		 = { .type = NLA_U32 },
	[TCA_FQ_RR_TARGET]	 = { .type = NLA_U32 },
	[TCA_FQ_RR_INTERVAL]	 = { .type = NLA_U32 },
	[TCA_FQ_RR_CE_THRESHOLD] = { .type = NLA_U32 },
	[TCA_FQ_RR_NOECN]	 = { .type = NLA_U32 },
};

static s64 fq_rr_value(const struct nla_policy *policy,
		       const struct nlattr *attr)
{
	switch (policy->type) {
	case NLA_U64:
		return nla_get_u64(attr);
	case NLA_S32:
		return nla_get_s32(attr);
	default:
		return nla_get_u32(attr);
	}
}

static void fq_rr_explain_range(const struct fq_rr_fault *fault,
				struct netlink_ext_ack *extack)
{
	const struct fq_rr_option *option = &fq_rr_options[fault->type];
	/* a rate beyond all limits may have the topmost bit */
	bool negative = (s64)fault->value < 0 &&
			fq_rr_policy[fault->type].type == NLA_S32;

	NL_SET_ERR_MSG_FMT_MOD(extack, "%s %s%llu is not in %lld..%lld%s",
			       option->name, negative ? "-" : "",
			       negative ? -fault->value : fault->value,
			       option->min, option->max, option->unit);
}

/* in words; here and not by the policy, which can name neither value nor limit */
static void fq_rr_explain(const struct fq_rr_fault *fault,
			  struct netlink_ext_ack *extack)
{
	const char *name = fq_rr_options[fault->type].name;

	switch (fault->kind) {
	case FQ_RR_FAULT_NONE:
		break;
	case FQ_RR_FAULT_RANGE:
		fq_rr_explain_range(fault, extack);
		break;
	case FQ_RR_FAULT_FIXED:
		/* with two numbers of ten digits 78 characters, of 79 at most */
		NL_SET_ERR_MSG_FMT_MOD(extack,
				       "%s %llu is fixed, cannot become %llu: delete it first",
				       name, fault->than, fault->value);
		break;
	case FQ_RR_FAULT_NO_QLBP:
		NL_SET_ERR_MSG_FMT_MOD(extack, "%s means nothing without qlbp",
				       name);
		break;
	case FQ_RR_FAULT_NO_RATE:
		NL_SET_ERR_MSG_MOD(extack, "qlbp without a rate needs mu-min and mu-max");
		break;
	case FQ_RR_FAULT_MU_MIN:
		NL_SET_ERR_MSG_FMT_MOD(extack, "mu-min %llu is above mu-max %llu bytes/s",
				       fault->value, fault->than);
		break;
	case FQ_RR_FAULT_MU_MAX:
		NL_SET_ERR_MSG_FMT_MOD(extack, "mu-max %llu is above the rate %llu bytes/s",
				       fault->value, fault->than);
		break;
	case FQ_RR_FAULT_Q_MAX:
		NL_SET_ERR_MSG_FMT_MOD(extack, "q-max %llu by max-delay is not in %u..%u bytes",
				       fault->value, FQ_RR_Q_MAX_MIN,
				       FQ_RR_Q_MAX_MAX);
		break;
	case FQ_RR_FAULT_TARGET:
		NL_SET_ERR_MSG_FMT_MOD(extack, "target %llu is above interval %llu us",
				       fault->value, fault->than);
		break;
	}
}

/**
 * fq_rr_parse - read and check all attributes
 * @config: in: present values; out: values asked for. Of no use on error.
 * @fixed: whether the values fixed at creation are fixed
 * @opt: nest of attributes
 * @request: out: what is asked for
 * @extack: names attribute, value and limit on error
 *
 * Return: 0 or a negative error.
 */
static int fq_rr_parse(struct fq_rr_config *config, bool fixed,
		       struct nlattr *opt, struct fq_rr_request *request,
		       struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_FQ_RR_MAX + 1];
	struct fq_rr_fault fault;
	unsigned int type;
	int err;

	err = nla_parse_nested(tb, TCA_FQ_RR_MAX, opt, fq_rr_policy, extack);
	if (err)
		return err;
	for (type = 0; type <= TCA_FQ_RR_MAX; type++) {
		if (!tb[type] || !fq_rr_options[type].name)
			continue;
		request->given |= BIT(type);
		request->value[type] = fq_rr_value(&fq_rr_policy[type], tb[type]);
	}
	fault = fq_rr_options_set(config, fixed, request);
	if (fault.kind == FQ_RR_FAULT_NONE)
		return 0;
	fq_rr_explain(&fault, extack);
	if (fault.type != TCA_FQ_RR_UNSPEC)
		NL_SET_BAD_ATTR(extack, tb[fault.type]);
	return fault.kind == FQ_RR_FAULT_FIXED ? -EOPNOTSUPP : -EINVAL;
}

static codel_time_t fq_rr_codel_us(u32 us)
{
	return (u64)us * NSEC_PER_USEC >> CODEL_SHIFT;
}

/* queues that wait while delay control is switched on have no history with it */
static void fq_rr_apply_aqm(struct fq_rr_sched *q, bool was_on)
{
	const struct fq_rr_config *config = &q->config;
	unsigned int list;
	struct rr_flow *f;

	codel_params_init(&q->codel);
	q->codel.target = fq_rr_codel_us(config->target);
	q->codel.interval = fq_rr_codel_us(config->interval);
	if (config->ce_threshold != FQ_RR_CE_THRESHOLD_OFF)
		q->codel.ce_threshold = fq_rr_codel_us(config->ce_threshold);
	q->codel.ecn = !config->noecn;
	/* the least backlog is in packets here, as fq_rr_codel_call.left is */
	q->codel.mtu = DELAY_CONTROL_SPARED_PACKETS;
	q->timed_from = delay_control_timed_from(config->aqm, config->ce_threshold !=
						 FQ_RR_CE_THRESHOLD_OFF);
	if (was_on || !config->aqm)
		return;
	for (list = 0; list < RR_LISTS; list++) {
		rr_for_each(&q->rr, list, f) {
			struct fq_rr_flow *flow = container_of(f, struct fq_rr_flow, rr);

			codel_vars_init(&q->codel_vars[fq_rr_number(q, flow)]);
			flow->rr.of_caller = false;
		}
	}
}

/* put a checked configuration into force; cannot fail */
static void fq_rr_apply(struct Qdisc *sch, const struct fq_rr_config *config)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	u64 rate_Bps = fq_rr_link_Bps(config);
	bool was_strict = fq_rr_strict(q);
	bool had_aqm = q->config.aqm;
	u32 quantum;

	fq_rr_options_publish(&q->config, config);
	fq_rr_apply_aqm(q, had_aqm);
	WRITE_ONCE(sch->limit, config->limit);
	/* a queue's part of other limits is another */
	lq_reset(&q->lq);
	q->quantum_bytes = fq_rr_quantum_bytes(config,
					       psched_mtu(qdisc_dev(sch)));
	quantum = rr_quantum(fq_rr_strict(q), q->quantum_bytes);
	/* credit of other units would let one flow send for long */
	if (quantum != q->rr.quantum || fq_rr_strict(q) != was_strict)
		rr_restart(&q->rr, quantum);
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
	if (err)
		return err;

	sch_tree_lock(sch);
	fq_rr_apply(sch, &config);
	if (fq_rr_over(sch, q))
		fq_rr_make_room(sch, NULL, NULL, &outcome, &to_free);
	fq_rr_rehash_if_due(sch);
	fq_rr_backlog_changed(sch, outcome.dropped);
	/* a timer set for a slow rate must not hold up a fast one */
	qdisc_watchdog_cancel(&q->watchdog);
	if (sch->q.qlen)
		qdisc_watchdog_schedule_ns(&q->watchdog, ktime_get_ns());
	if (outcome.dropped)
		qdisc_tree_reduce_backlog(sch, outcome.dropped,
					  outcome.dropped_bytes);
	sch_tree_unlock(sch);
	kfree_skb_list(to_free);
	return 0;
}

/* ---- init and destroy ---- */

static void fq_rr_destroy(struct Qdisc *sch)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
	tcf_block_put(q->block);
	kvfree(q->placing.tags);
	kvfree(q->lq_room);
	kvfree(q->codel_vars);
	kvfree(q->flows);
}

/* @room: of placing_room_bytes() */
static void fq_rr_init_hash(struct fq_rr_sched *q, void *room)
{
	struct flow_mix mix = { .mul = 1ULL << 32 };

	fq_rr_set_mode(q);
	if (q->config.seed == FQ_RR_SEED_RANDOM) {
		get_random_bytes(&q->key, sizeof(q->key));
		mix.mul = get_random_u64();
		mix.add = get_random_u64();
	} else {
		/* the key does the mixing; the home is the upper part of the hash */
		q->key.key[0] = q->config.seed;
	}
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
	rr_init(&q->rr, 1);
	lq_reset(&q->lq);
	err = tcf_block_get(&q->block, &q->filters, sch, extack);
	if (err)
		return err;
	if (opt) {
		err = fq_rr_parse(&config, false, opt, &request, extack);
		if (err)
			return err;
	}
	q->flows = kvcalloc(config.flows, sizeof(*q->flows),
			    GFP_KERNEL_ACCOUNT);
	q->codel_vars = kvcalloc(config.flows, sizeof(*q->codel_vars),
				 GFP_KERNEL_ACCOUNT);
	q->lq_room = kvzalloc(lq_room_bytes(config.flows), GFP_KERNEL_ACCOUNT);
	room = kvmalloc(placing_room_bytes(config.flows), GFP_KERNEL_ACCOUNT);
	q->placing.tags = room;
	if (!q->flows || !q->codel_vars || !q->lq_room || !room)
		return -ENOMEM;
	lq_init(&q->lq, q->lq_room, config.flows);
	sch->flags |= TCQ_F_CAN_BYPASS;
	fq_rr_apply(sch, &config);
	fq_rr_init_hash(q, room);
	return 0;
}

/* ---- dump ---- */

static int fq_rr_put_option(struct sk_buff *skb, unsigned int type, u64 value)
{
	switch (fq_rr_policy[type].type) {
	case NLA_U64:
		return nla_put_u64_64bit(skb, type, value, TCA_FQ_RR_PAD);
	case NLA_S32:
		return nla_put_s32(skb, type, value);
	default:
		return nla_put_u32(skb, type, value);
	}
}

static int fq_rr_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	const struct fq_rr_config *config = &q->config;
	bool qlbp = READ_ONCE(config->qlbp);
	struct nlattr *opts;
	unsigned int type;

	opts = nla_nest_start(skb, TCA_OPTIONS);
	if (!opts)
		return -EMSGSIZE;
	for (type = 0; type <= TCA_FQ_RR_MAX; type++) {
		if (!fq_rr_options[type].name ||
		    (fq_rr_is_of_qlbp(type) && !qlbp))
			continue;
		if (fq_rr_put_option(skb, type, fq_rr_option_get(config, type))) {
			nla_nest_cancel(skb, opts);
			return -EMSGSIZE;
		}
	}
	return nla_nest_end(skb, opts);
}

/* everything a reader is shown, but for the longest queue taken at one moment */
struct fq_rr_snapshot {
	struct fq_rr_stats stats;
	u32 flows_active;
	u32 longest;
	u32 memory;
	u32 quantum;
	struct qlbp qlbp;
	u64 pacing_rate_Bps;
	u64 lost_ns;
};

/*
 * A look at every queue, without the lock: anyone may read statistics, which must not
 * hold up packets nor change what the data path does next.
 */
static u32 fq_rr_longest_bytes(const struct fq_rr_sched *q)
{
	u32 longest = 0;
	u32 i;

	for (i = 0; i < q->config.flows; i++)
		longest = max(longest, READ_ONCE(q->flows[i].bytes));
	return longest;
}

static void fq_rr_take_snapshot(struct Qdisc *sch, struct fq_rr_snapshot *snap)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	sch_tree_lock(sch);
	snap->stats = q->stats;
	snap->flows_active = q->rr.active;
	snap->memory = q->memory;
	snap->quantum = q->quantum_bytes;
	snap->qlbp = q->config.rule;
	snap->pacing_rate_Bps = q->shaper.rate_Bps;
	snap->lost_ns = q->shaper.lost_ns;
	sch_tree_unlock(sch);
	snap->longest = fq_rr_longest_bytes(q);
}

static int fq_rr_put_stats(struct sk_buff *skb,
			   const struct fq_rr_snapshot *snap)
{
	const struct fq_rr_stats *stats = &snap->stats;
	const struct {
		int type;
		u64 value;
	} wide[] = {
		{ TCA_FQ_RR_STATS_ENQUEUED, stats->enqueued },
		{ TCA_FQ_RR_STATS_DROPS_FLUSHED, stats->drops_flushed },
		{ TCA_FQ_RR_STATS_DROPS_HEAD, stats->drops_head },
		{ TCA_FQ_RR_STATS_DROPS_TAIL, stats->drops_tail },
		{ TCA_FQ_RR_STATS_DROPS_ARRIVING, stats->drops_arriving },
		{ TCA_FQ_RR_STATS_DROPS_GSO, stats->drops_gso },
		{ TCA_FQ_RR_STATS_FLUSHES, stats->flushes },
		{ TCA_FQ_RR_STATS_OVER_LIMIT, stats->over_limit },
		{ TCA_FQ_RR_STATS_OVER_MEMORY, stats->over_memory },
		{ TCA_FQ_RR_STATS_SPLIT, stats->split },
		{ TCA_FQ_RR_STATS_SEGMENTS, stats->segments },
		{ TCA_FQ_RR_STATS_ACTIVATIONS, stats->activations },
		{ TCA_FQ_RR_STATS_SPARSE, stats->sparse },
		{ TCA_FQ_RR_STATS_COLLISIONS, stats->collisions },
		{ TCA_FQ_RR_STATS_LAG_MAX, stats->lag_max_ns },
		{ TCA_FQ_RR_STATS_CLASSIFIED, stats->classified },
		{ TCA_FQ_RR_STATS_REHASHES, stats->rehashes },
		{ TCA_FQ_RR_STATS_MARKS, stats->marks },
		{ TCA_FQ_RR_STATS_OVER_SHARE, stats->over_share },
		{ TCA_FQ_RR_STATS_LOST, snap->lost_ns },
		{ TCA_FQ_RR_STATS_DROPS_AQM, stats->drops_aqm },
		{ TCA_FQ_RR_STATS_MARKS_AQM, stats->marks_aqm },
		{ TCA_FQ_RR_STATS_MARKS_CE, stats->marks_ce },
	};
	const struct {
		int type;
		u32 value;
	} narrow[] = {
		{ TCA_FQ_RR_STATS_FLOWS_ACTIVE, snap->flows_active },
		{ TCA_FQ_RR_STATS_LONGEST, snap->longest },
		{ TCA_FQ_RR_STATS_LONGEST_MAX, stats->longest_max },
		{ TCA_FQ_RR_STATS_MEMORY, snap->memory },
		{ TCA_FQ_RR_STATS_MEMORY_MAX, stats->memory_max },
		{ TCA_FQ_RR_STATS_QUANTUM, snap->quantum },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wide); i++)
		if (nla_put_u64_64bit(skb, wide[i].type, wide[i].value,
				      TCA_FQ_RR_STATS_PAD))
			return -EMSGSIZE;
	for (i = 0; i < ARRAY_SIZE(narrow); i++)
		if (nla_put_u32(skb, narrow[i].type, narrow[i].value))
			return -EMSGSIZE;
	return 0;
}

static int fq_rr_put_pacing(struct sk_buff *skb,
			    const struct fq_rr_snapshot *snap)
{
	const struct fq_rr_stats *stats = &snap->stats;
	const struct qlbp *qlbp = &snap->qlbp;
	const struct {
		int type;
		u64 value;
	} wide[] = {
		{ TCA_FQ_RR_STATS_MU_MIN, qlbp->mu_min_Bps },
		{ TCA_FQ_RR_STATS_MU_MAX, qlbp->mu_max_Bps },
		{ TCA_FQ_RR_STATS_PACING_RATE, snap->pacing_rate_Bps },
		{ TCA_FQ_RR_STATS_PACING_DELAY, stats->pacing_delay_ns },
		{ TCA_FQ_RR_STATS_PACING_DELAY_MAX,
		  stats->pacing_delay_max_ns },
		{ TCA_FQ_RR_STATS_PACING_BOUND, qlbp_delay_bound_ns(qlbp) },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wide); i++)
		if (nla_put_u64_64bit(skb, wide[i].type, wide[i].value,
				      TCA_FQ_RR_STATS_PAD))
			return -EMSGSIZE;
	return nla_put_u32(skb, TCA_FQ_RR_STATS_Q_MAX, qlbp->q_max_bytes);
}

static int fq_rr_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct fq_rr_snapshot snap;
	struct nlattr *stats;

	fq_rr_take_snapshot(sch, &snap);
	stats = nla_nest_start(d->skb, TCA_STATS_APP);
	if (!stats)
		return -1;
	if (fq_rr_put_stats(d->skb, &snap) ||
	    (snap.qlbp.q_max_bytes && fq_rr_put_pacing(d->skb, &snap))) {
		nla_nest_cancel(d->skb, stats);
		return -1;
	}
	nla_nest_end(d->skb, stats);
	return 0;
}

/* ---- queues as classes ---- */

/* a class is the number of a queue plus one, since 0 is no class */
static struct fq_rr_flow *fq_rr_class_flow(struct Qdisc *sch, unsigned long cl)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	return &q->flows[cl - 1];
}

static struct Qdisc *fq_rr_leaf(struct Qdisc *sch, unsigned long cl)
{
	return NULL;
}

/* every queue is a class, always; nothing can be attached to one */
static unsigned long fq_rr_find(struct Qdisc *sch, u32 classid)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	return TC_H_MIN(classid) <= q->config.flows ? TC_H_MIN(classid) : 0;
}

static struct tcf_block *fq_rr_tcf_block(struct Qdisc *sch, unsigned long cl,
					 struct netlink_ext_ack *extack)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	return cl ? NULL : q->block;
}

/* filters name a queue by its number, and hold nothing */
static unsigned long fq_rr_bind(struct Qdisc *sch, unsigned long parent,
				u32 classid)
{
	return 0;
}

static void fq_rr_unbind(struct Qdisc *sch, unsigned long cl)
{
}

static const struct nla_policy fq_rr_class_policy[TCA_FQ_RR_CLASS_MAX + 1] = {
	[TCA_FQ_RR_CLASS_WEIGHT] = { .type = NLA_U32 },
};

static int fq_rr_change_class(struct Qdisc *sch, u32 classid, u32 parentid,
			      struct nlattr **tca, unsigned long *cl,
			      struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_FQ_RR_CLASS_MAX + 1];
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct fq_rr_flow *flow;
	u32 weight;
	int err;

	if (!*cl) {
		NL_SET_ERR_MSG_FMT_MOD(extack, "class %u is not in 1..%u, the queues",
				       TC_H_MIN(classid), q->config.flows);
		return -ENOENT;
	}
	if (!tca[TCA_OPTIONS]) {
		NL_SET_ERR_MSG_MOD(extack, "weight is missing");
		return -EINVAL;
	}
	err = nla_parse_nested(tb, TCA_FQ_RR_CLASS_MAX, tca[TCA_OPTIONS],
			       fq_rr_class_policy, extack);
	if (err || !tb[TCA_FQ_RR_CLASS_WEIGHT])
		return err;
	weight = nla_get_u32(tb[TCA_FQ_RR_CLASS_WEIGHT]);
	if (weight < FQ_RR_WEIGHT_MIN || weight > FQ_RR_WEIGHT_MAX) {
		NL_SET_BAD_ATTR(extack, tb[TCA_FQ_RR_CLASS_WEIGHT]);
		NL_SET_ERR_MSG_FMT_MOD(extack, "weight %u is not in %u..%u",
				       weight, FQ_RR_WEIGHT_MIN,
				       FQ_RR_WEIGHT_MAX);
		return -EINVAL;
	}
	sch_tree_lock(sch);
	flow = fq_rr_class_flow(sch, *cl);
	rr_set_weight(&q->rr, &flow->rr, weight);
	sch_tree_unlock(sch);
	return 0;
}

static void fq_rr_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	unsigned long cl;

	if (arg->stop)
		return;
	for (cl = 1; cl <= q->config.flows; cl++) {
		const struct fq_rr_flow *flow = fq_rr_class_flow(sch, cl);

		/* a glance: what it shows is read under the lock */
		if (!READ_ONCE(flow->head) && rr_weight(&flow->rr) == 1)
			continue;
		if (arg->count++ < arg->skip)
			continue;
		if (arg->fn(sch, cl, arg) < 0) {
			arg->count--;
			arg->stop = 1;
			return;
		}
	}
}

static int fq_rr_dump_class(struct Qdisc *sch, unsigned long cl,
			    struct sk_buff *skb, struct tcmsg *tcm)
{
	const struct fq_rr_flow *flow = fq_rr_class_flow(sch, cl);
	struct nlattr *opts;

	tcm->tcm_handle |= TC_H_MIN(cl);
	opts = nla_nest_start(skb, TCA_OPTIONS);
	if (!opts ||
	    nla_put_u32(skb, TCA_FQ_RR_CLASS_WEIGHT, rr_weight(&flow->rr)))
		return -EMSGSIZE;
	nla_nest_end(skb, opts);
	return 0;
}

/* what is shown of one queue, taken at one moment; as TCA_FQ_RR_FLOW_* */
struct fq_rr_flow_snapshot {
	struct gnet_stats_queue queue;
	s64 credit;
	u32 hash;
	u32 sparse;
	u32 head_bytes;
};

static void fq_rr_take_flow(struct Qdisc *sch, unsigned long cl,
			    struct fq_rr_flow_snapshot *snap)
{
	const struct fq_rr_flow *flow = fq_rr_class_flow(sch, cl);
	struct fq_rr_sched *q = qdisc_priv(sch);

	memset(snap, 0, sizeof(*snap));
	sch_tree_lock(sch);
	/* it may have emptied since it was found */
	if (flow->head) {
		snap->queue.qlen = flow->packets;
		snap->queue.backlog = flow->bytes;
		snap->credit = rr_credit(&q->rr, &flow->rr);
		snap->hash = flow->hash;
		snap->sparse = flow->rr.sparse;
		snap->head_bytes = qdisc_pkt_len(flow->head);
	}
	sch_tree_unlock(sch);
}

static int fq_rr_put_flow(struct sk_buff *skb,
			  const struct fq_rr_flow_snapshot *snap)
{
	struct nlattr *nest = nla_nest_start(skb, TCA_FQ_RR_STATS_FLOW);

	if (!nest ||
	    nla_put_s64(skb, TCA_FQ_RR_FLOW_CREDIT, snap->credit,
			TCA_FQ_RR_FLOW_PAD) ||
	    nla_put_u32(skb, TCA_FQ_RR_FLOW_HASH, snap->hash) ||
	    nla_put_u32(skb, TCA_FQ_RR_FLOW_SPARSE, snap->sparse) ||
	    nla_put_u32(skb, TCA_FQ_RR_FLOW_HEAD, snap->head_bytes))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int fq_rr_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				  struct gnet_dump *d)
{
	struct fq_rr_flow_snapshot snap;
	struct nlattr *stats;

	fq_rr_take_flow(sch, cl, &snap);
	if (gnet_stats_copy_queue(d, NULL, &snap.queue, snap.queue.qlen) < 0)
		return -1;
	stats = nla_nest_start(d->skb, TCA_STATS_APP);
	if (!stats)
		return -1;
	if (fq_rr_put_flow(d->skb, &snap)) {
		nla_nest_cancel(d->skb, stats);
		return -1;
	}
	nla_nest_end(d->skb, stats);
	return 0;
}

static const struct Qdisc_class_ops fq_rr_class_ops = {
	.leaf		= fq_rr_leaf,
	.find		= fq_rr_find,
	.change		= fq_rr_change_class,
	.walk		= fq_rr_walk,
	.tcf_block	= fq_rr_tcf_block,
	.bind_tcf	= fq_rr_bind,
	.unbind_tcf	= fq_rr_unbind,
	.dump		= fq_rr_dump_class,
	.dump_stats	= fq_rr_dump_class_stats,
};

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
