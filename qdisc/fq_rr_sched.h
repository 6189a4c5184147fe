/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What one fq_rr has, and what it notes in packets.
 *
 * The files fq_rr_*.h are parts of sch_fq_rr.c, each for one concern, and are included
 * there alone: this one by all of them, fq_rr_classify.h, fq_rr_netlink.h, fq_rr_class.h.
 */
#ifndef _FQ_RR_SCHED_H
#define _FQ_RR_SCHED_H

#include <linux/ipv6.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <net/codel.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>
#include <linux/pkt_sched_fq_rr.h>

#include "buffer.h"
#include "delay_control.h"
#include "options.h"
#include "placing.h"
#include "shaper.h"
#include "sojourn.h"

/* what sch_fq_rr.c promises for an idle queue, and one cache line for a busy */
static_assert(!IS_ENABLED(CONFIG_64BIT) || sizeof(struct fq_rr_flow) == 64);
static_assert(sizeof(u64) + sizeof(u32) == 12);
static_assert(sizeof(u32) + sizeof(u8) == 5);
static_assert(sizeof(struct codel_vars) == 24);
static_assert(sizeof(struct queue_record) == 32);
static_assert(FQ_RR_WEIGHT_MAX == RR_WEIGHT_MAX);
/* a packet is cast to its link */
static_assert(offsetof(struct sk_buff, next) == offsetof(struct packet_link, next));
static_assert(offsetof(struct sk_buff, prev) == offsetof(struct packet_link, prev));

/* counters, as described at enum TCA_FQ_RR_STATS_*, beside those of the buffer */
struct fq_rr_stats {
	u64 enqueued;
	u64 drops_arriving;
	u64 drops_gso;
	u64 split;
	u64 segments;
	u64 activations;
	u64 sparse;
	u64 collisions;
	u64 lag_max_ns;
	u64 classified;
	u64 rehashes;
	u64 marks;
	u64 over_share;
	u64 drops_aqm;
	u64 marks_aqm;
	u64 marks_ce;
	u32 longest_max;
	u32 memory_max;
	struct sojourn sojourn;
};

/**
 * struct fq_rr_sched - one qdisc
 * @config: options as the user gave them
 * @codel: those of delay control, as CoDel has them
 * @codel_vars: CoDel's state of each queue
 * @placing: which queue is which flow's
 * @filters: classifiers that the user has attached
 * @key: of the flow hash
 * @mode: enum fq_rr_mode by which the packets that wait were placed
 * @hosts: enum fq_rr_hosts by which their queues take turns
 * @nat: whether hosts were found by their own addresses
 * @timed_from: see delay_control_timed_from()
 * @quantum_bytes: quantum in force
 * @memory_watched: what the packets occupy while neither the most so far nor the limit is
 *	exceeded, at most (bytes)
 * @judged_from: memory of a packet up to which it is never refused (bytes)
 * @as_carried: packets are placed by flow, with the hash that they carry, and no rehash is due
 * @shaped: there is a rate, or pacing
 * @looks_back: packets are marked by their queue's share, or paced: once a packet is in its
 *	queue, more is to be done
 * @rehash_due: mode, hosts or nat have become others, and too many packets wait
 * @buffer: the queues, their turns and limits
 * @shaper: the link's rate, and when it is free
 * @drops: what was dropped in the enqueue that goes on, if enum fq_rr_enqueued says so
 * @dropped: packets that CoDel has dropped in the dequeue that goes on
 * @next_sample: packets until the next that is timed for the statistics
 * @samples: how many have been
 * @stats: counters
 * @lq_room: memory of the buffer's heap
 * @block: of @filters
 * @watchdog: wakes the qdisc when the link is free
 */
struct fq_rr_sched {
	/* read mostly */
	struct fq_rr_config config;
	struct codel_params codel;
	struct codel_vars *codel_vars;
	struct placing placing;
	struct tcf_proto __rcu *filters;
	siphash_key_t key;
	u32 mode;
	u32 hosts;
	u32 nat;
	u32 timed_from;
	u32 quantum_bytes;
	u32 memory_watched;
	u32 judged_from;
	bool as_carried;
	bool shaped;
	bool looks_back;
	bool rehash_due;

	/* read mostly at first, then written for every packet */
	struct buffer buffer ____cacheline_aligned;

	/* written for every packet */
	struct shaper shaper;
	struct fq_rr_outcome drops;
	struct sk_buff *dropped;
	u32 next_sample;
	u32 samples;
	struct fq_rr_stats stats;

	/* seldom used */
	void *lq_room;
	struct tcf_block *block;
	struct qdisc_watchdog watchdog;
};

static inline bool fq_rr_strict(const struct fq_rr_sched *q)
{
	return q->config.scheduler == FQ_RR_SCHEDULER_STRICT;
}

static inline bool fq_rr_paces(const struct fq_rr_sched *q)
{
	return q->config.rule.q_max_bytes;
}

/* the packet was placed by a class, not by its hash */
#define FQ_RR_CLASSIFIED 1
/* it is one of those whose time in the queue is shown: see sojourn.h */
#define FQ_RR_SAMPLED 2
/* CoDel has dropped others of its queue instead of it */
#define FQ_RR_SPARED 4

/**
 * struct fq_rr_cb - what is noted in a packet that waits
 * @truesize: what it occupies (bytes)
 * @segs: segments it stands for
 * @flags: FQ_RR_CLASSIFIED, FQ_RR_SAMPLED, FQ_RR_SPARED
 * @arrived: when it came, in CoDel's time; 0: not noted
 * @hash: how to place it anew
 *
 * All of it lies in the packet's first cache line (of 64 bytes), beside its length and its
 * neighbours: dequeue, much later, touches no other line of the packet.
 *
 * A device may answer a packet with an ICMPv6 error, as WireGuard without a peer does, for
 * which some kernels (6.1) look up here how far into the packet they shall read, as if IPv6
 * had written last. They find @flags, any values of which lie within any IPv6 header.
 */
struct fq_rr_cb {
	u32 truesize;
	u16 segs;
	u16 flags;
	codel_time_t arrived;
	u32 hash;
};

static_assert(sizeof(struct fq_rr_cb) <= QDISC_CB_PRIV_LEN);
static_assert(IS_ALIGNED(offsetof(struct qdisc_skb_cb, data), 4));
static_assert(offsetof(struct qdisc_skb_cb, data) +
	      offsetof(struct fq_rr_cb, flags) ==
	      offsetof(struct inet6_skb_parm, nhoff));

static_assert(offsetof(struct sk_buff, cb) +
	      offsetof(struct qdisc_skb_cb, data) + sizeof(struct fq_rr_cb) <= 64);

static inline struct fq_rr_cb *fq_rr_cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct fq_rr_cb));
	return (struct fq_rr_cb *)qdisc_skb_cb(skb)->data;
}

/* a packet comes; three members side by side, of constants: one store */
static inline void fq_rr_cb_init(struct sk_buff *skb, u16 flags)
{
	struct fq_rr_cb *cb = fq_rr_cb(skb);

	cb->segs = 1;
	cb->flags = flags;
	cb->arrived = 0;
}

static inline struct queue_record *fq_rr_record(struct fq_rr_sched *q,
						const struct fq_rr_flow *flow)
{
	return &q->buffer.records[buffer_number(&q->buffer, flow)];
}

/* of a time in the queue, in CoDel's unit */
static inline u32 fq_rr_delay_us(u32 delay)
{
	return div_u64((u64)delay << CODEL_SHIFT, NSEC_PER_USEC);
}

static inline struct packet_link *fq_rr_link(struct sk_buff *skb)
{
	return (struct packet_link *)skb;
}

static inline struct sk_buff *fq_rr_skb(const struct packet_link *packet)
{
	return (struct sk_buff *)packet;
}

#endif /* _FQ_RR_SCHED_H */
