/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whose a packet is on a machine that translates addresses: the addresses that its two ends
 * have themselves, from the table of connections (nf_conntrack).
 *
 * The table is looked up by way of a pointer that nf_conntrack sets as long as it is there.
 * So this file needs the module neither to be built nor to be loaded with.
 */
#ifndef _FQ_RR_NAT_H
#define _FQ_RR_NAT_H

#include <linux/netfilter.h>
#include <linux/skbuff.h>
#include <net/flow_dissector.h>

#if IS_ENABLED(CONFIG_NF_CONNTRACK)
#include <net/netfilter/nf_conntrack.h>

/**
 * fq_rr_has_conntrack - whether there is a table of connections
 *
 * Return: true if so, now.
 */
static bool fq_rr_has_conntrack(void)
{
	return rcu_access_pointer(nf_ct_hook);
}

/* a packet that the table knows: each end's own address is the source of what it sends */
static void fq_rr_ends_of(const struct nf_conn *ct, enum ip_conntrack_dir dir,
			  struct flow_keys *keys)
{
	const union nf_inet_addr *src = &ct->tuplehash[dir].tuple.src.u3;
	const union nf_inet_addr *dst = &ct->tuplehash[!dir].tuple.src.u3;

	if (keys->control.addr_type == FLOW_DISSECTOR_KEY_IPV4_ADDRS) {
		keys->addrs.v4addrs.src = src->ip;
		keys->addrs.v4addrs.dst = dst->ip;
	} else {
		keys->addrs.v6addrs.src = src->in6;
		keys->addrs.v6addrs.dst = dst->in6;
	}
}

/**
 * fq_rr_undo_nat - addresses as the two ends of a packet have them
 * @skb: packet
 * @keys: in: its addresses, of IPv4 or IPv6; out: those before and after translation
 *
 * What leaves has been through the table. What comes in and is redirected to another device
 * has not: it bears its source's own address, and its destination's is looked up (IPv4 only,
 * as the kernel does that). A packet inside a tunnel is not what the table knows.
 */
static void fq_rr_undo_nat(const struct sk_buff *skb, struct flow_keys *keys)
{
	bool ipv4 = keys->control.addr_type == FLOW_DISSECTOR_KEY_IPV4_ADDRS;
	struct nf_conntrack_tuple answer;
	enum ip_conntrack_info info;
	const struct nf_conn *ct;

	if (keys->control.flags & FLOW_DIS_ENCAPSULATION)
		return;
	ct = nf_ct_get(skb, &info);
	if (ct) {
		if (!nf_ct_is_template(ct) &&
		    nf_ct_l3num(ct) == (ipv4 ? NFPROTO_IPV4 : NFPROTO_IPV6))
			fq_rr_ends_of(ct, CTINFO2DIR(info), keys);
	} else if (ipv4 && skb_protocol(skb, true) == htons(ETH_P_IP) &&
		   nf_ct_get_tuple_skb(&answer, skb)) {
		keys->addrs.v4addrs.dst = answer.src.u3.ip;
	}
}
#else
static bool fq_rr_has_conntrack(void)
{
	return false;
}

static void fq_rr_undo_nat(const struct sk_buff *skb, struct flow_keys *keys)
{
}
#endif

#endif /* _FQ_RR_NAT_H */
