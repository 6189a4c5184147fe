/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of fq_rr: what a packet finds before it when it is queued, which
 * is the truth that packet pair's estimate of its own queue is held against; and
 * what it leaves behind when it goes, and how fast the link then is.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM fq_rr

#if !defined(_FQ_RR_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _FQ_RR_TRACE_H

#include <linux/netdevice.h>
#include <linux/tcp.h>
#include <linux/tracepoint.h>
#include <net/flow_dissector.h>
#include <net/ipv6.h>
#include <net/sch_generic.h>

struct queue_record;

/*
 * Ports are dissected here, so that they cost nothing while nobody listens.
 * flow_packets and flow_bytes are the backlog of the packet's own flow ahead
 * of it, qlen the packets in the whole qdisc ahead of or beside it. end_seq is
 * the sequence number after a TCP packet's payload, which is the sender's
 * snd_nxt when this was its newest packet; 0 for all else.
 */
TRACE_EVENT(fq_rr_enqueue,
	TP_PROTO(struct Qdisc *sch, const struct sk_buff *skb, u32 hash,
		 u32 flow, u32 len, u32 flow_packets, u32 flow_bytes, u32 qlen),
	TP_ARGS(sch, skb, hash, flow, len, flow_packets, flow_bytes, qlen),

	TP_STRUCT__entry(
		__field(u32, ifindex)
		__field(u32, handle)
		__field(u32, hash)
		__field(u32, flow)
		__field(u16, sport)
		__field(u16, dport)
		__field(u32, len)
		__field(u32, flow_packets)
		__field(u32, flow_bytes)
		__field(u32, qlen)
		__field(u32, end_seq)
	),

	TP_fast_assign(
		const struct tcphdr *tcp = NULL;
		struct flow_keys keys;
		struct tcphdr header;

		__entry->sport = 0;
		__entry->dport = 0;
		if (skb_flow_dissect_flow_keys(skb, &keys, 0)) {
			__entry->sport = ntohs(keys.ports.src);
			__entry->dport = ntohs(keys.ports.dst);
			if (keys.basic.ip_proto == IPPROTO_TCP)
				tcp = skb_header_pointer(skb, keys.control.thoff,
							 sizeof(header), &header);
		}
		__entry->end_seq = !tcp ? 0 : ntohl(tcp->seq) + skb->len -
				   keys.control.thoff - 4 * tcp->doff;
		__entry->ifindex = qdisc_dev(sch)->ifindex;
		__entry->handle = sch->handle;
		__entry->hash = hash;
		__entry->flow = flow;
		__entry->len = len;
		__entry->flow_packets = flow_packets;
		__entry->flow_bytes = flow_bytes;
		__entry->qlen = qlen;
	),

	TP_printk("ifindex=%u handle=%x: sport=%u dport=%u hash=%08x flow=%u len=%u flow_packets=%u flow_bytes=%u qlen=%u end_seq=%u",
		  __entry->ifindex, __entry->handle >> 16, __entry->sport,
		  __entry->dport, __entry->hash, __entry->flow, __entry->len,
		  __entry->flow_packets, __entry->flow_bytes, __entry->qlen,
		  __entry->end_seq)
);

/*
 * backlog and qlen are what waits in the whole qdisc without the packet; of its queue,
 * drops and marks are all that there have been (they wrap), delay_us is as av_delay. An IPv4
 * address is ::ffff:a.b.c.d.
 */
TRACE_EVENT(fq_rr_dequeue,
	TP_PROTO(struct Qdisc *sch, const struct sk_buff *skb, u32 flow,
		 u64 rate_Bps, const struct queue_record *record),
	TP_ARGS(sch, skb, flow, rate_Bps, record),

	TP_STRUCT__entry(
		__field(u32, ifindex)
		__field(u32, handle)
		__field(u32, flow)
		__field(u16, sport)
		__field(u16, dport)
		__field(u32, len)
		__field(u32, backlog)
		__field(u32, qlen)
		__field(u64, rate_Bps)
		__field(u32, drops)
		__field(u32, marks)
		__field(u32, delay_us)
		__array(u8, saddr, 16)
		__array(u8, daddr, 16)
	),

	TP_fast_assign(
		struct in6_addr from = {}, to = {};
		struct flow_keys keys;

		__entry->sport = 0;
		__entry->dport = 0;
		if (skb_flow_dissect_flow_keys(skb, &keys, 0)) {
			__entry->sport = ntohs(keys.ports.src);
			__entry->dport = ntohs(keys.ports.dst);
			if (keys.control.addr_type == FLOW_DISSECTOR_KEY_IPV4_ADDRS) {
				ipv6_addr_set_v4mapped(keys.addrs.v4addrs.src, &from);
				ipv6_addr_set_v4mapped(keys.addrs.v4addrs.dst, &to);
			} else if (keys.control.addr_type == FLOW_DISSECTOR_KEY_IPV6_ADDRS) {
				from = keys.addrs.v6addrs.src;
				to = keys.addrs.v6addrs.dst;
			}
		}
		memcpy(__entry->saddr, &from, sizeof(from));
		memcpy(__entry->daddr, &to, sizeof(to));
		__entry->drops = record->drops;
		__entry->marks = record->marks;
		__entry->delay_us = fq_rr_delay_us(record->sojourn.average);
		__entry->ifindex = qdisc_dev(sch)->ifindex;
		__entry->handle = sch->handle;
		__entry->flow = flow;
		__entry->len = qdisc_pkt_len(skb);
		__entry->backlog = sch->qstats.backlog;
		__entry->qlen = sch->q.qlen;
		__entry->rate_Bps = rate_Bps;
	),

	TP_printk("ifindex=%u handle=%x: sport=%u dport=%u flow=%u len=%u backlog=%u qlen=%u rate_Bps=%llu drops=%u marks=%u delay_us=%u",
		  __entry->ifindex, __entry->handle >> 16, __entry->sport,
		  __entry->dport, __entry->flow, __entry->len,
		  __entry->backlog, __entry->qlen, __entry->rate_Bps,
		  __entry->drops, __entry->marks, __entry->delay_us)
);

#endif /* _FQ_RR_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE fq_rr_trace
#include <trace/define_trace.h>
