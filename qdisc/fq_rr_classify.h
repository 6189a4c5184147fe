/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose a packet is: the hash of its flow or host, or the class that it is put into by its
 * priority or by a filter.
 */
#ifndef _FQ_RR_CLASSIFY_H
#define _FQ_RR_CLASSIFY_H

#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <net/flow_dissector.h>
#include <net/ip.h>
#include <net/pkt_cls.h>

#include "fq_rr_nat.h"
#include "fq_rr_sched.h"

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

static u32 fq_rr_ipv4_host_hash(const struct fq_rr_sched *q, u32 src, u32 dst, u32 which)
{
	if (which == FQ_RR_HOSTS_BOTH)
		return siphash_2u32(src, dst, &q->key);
	return siphash_1u32(which == FQ_RR_HOSTS_SRC ? src : dst, &q->key);
}

static u32 fq_rr_ipv6_host_hash(const struct fq_rr_sched *q,
				const struct flow_dissector_key_ipv6_addrs *ends, u32 which)
{
	if (which == FQ_RR_HOSTS_BOTH)
		return siphash(ends, sizeof(*ends), &q->key);
	return siphash(which == FQ_RR_HOSTS_SRC ? &ends->src : &ends->dst,
		       sizeof(struct in6_addr), &q->key);
}

/**
 * fq_rr_host_hash - hash of a packet's host
 * @q: qdisc
 * @skb: packet
 * @which: enum fq_rr_hosts, not FQ_RR_HOSTS_NONE: whose address counts
 * @hash: out
 *
 * Return: whether the packet has a host: an address in its innermost IP header.
 */
static noinline bool fq_rr_host_hash(const struct fq_rr_sched *q,
				     const struct sk_buff *skb, u32 which, u32 *hash)
{
	struct flow_keys keys;
	bool ipv4;

	if (!skb_flow_dissect_flow_keys(skb, &keys, 0))
		return false;
	ipv4 = keys.control.addr_type == FLOW_DISSECTOR_KEY_IPV4_ADDRS;
	if (!ipv4 && keys.control.addr_type != FLOW_DISSECTOR_KEY_IPV6_ADDRS)
		return false;
	if (q->nat)
		fq_rr_undo_nat(skb, &keys);
	if (ipv4)
		*hash = fq_rr_ipv4_host_hash(q, (__force u32)keys.addrs.v4addrs.src,
					     (__force u32)keys.addrs.v4addrs.dst, which);
	else
		*hash = fq_rr_ipv6_host_hash(q, &keys.addrs.v6addrs, which);
	return true;
}

/* what has no host is hashed as a flow */
static u32 fq_rr_hash(const struct fq_rr_sched *q, struct sk_buff *skb)
{
	u32 hash;

	switch (q->mode) {
	case FQ_RR_MODE_CLASS:
		return 0;
	case FQ_RR_MODE_SRC_HOST:
		return fq_rr_host_hash(q, skb, FQ_RR_HOSTS_SRC, &hash) ?
		       hash : fq_rr_flow_hash(q, skb);
	case FQ_RR_MODE_DST_HOST:
		return fq_rr_host_hash(q, skb, FQ_RR_HOSTS_DST, &hash) ?
		       hash : fq_rr_flow_hash(q, skb);
	default:
		return fq_rr_flow_hash(q, skb);
	}
}

/* mode, hosts or nat are others than those that the packets were placed by */
static bool fq_rr_is_placed_otherwise(const struct fq_rr_sched *q)
{
	return q->mode != q->config.mode || q->hosts != q->config.hosts ||
	       q->nat != q->config.nat;
}

static void fq_rr_set_as_carried(struct fq_rr_sched *q)
{
	q->as_carried = q->mode == FQ_RR_MODE_FLOW && !q->rehash_due &&
			q->config.seed == FQ_RR_SEED_RANDOM;
}

/* packets are placed by what is asked for from now on; none waits */
static void fq_rr_set_mode(struct fq_rr_sched *q)
{
	q->mode = q->config.mode;
	q->hosts = q->config.hosts;
	q->nat = q->config.nat;
	fq_rr_set_as_carried(q);
	buffer_set_by_host(&q->buffer, q->hosts != FQ_RR_HOSTS_NONE);
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

#endif /* _FQ_RR_CLASSIFY_H */
