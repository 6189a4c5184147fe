/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vptfrc:vptfrc_rate: one event for each round trip and each loss event, with what the rate
 * follows from.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vptfrc

#if !defined(_VPTFRC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _VPTFRC_TRACE_H

#include <linux/tracepoint.h>
#include <net/tcp.h>
#include "tfrc.h"
#include "addresses_trace.h"

#define VPTFRC_METHODS					\
	VPTFRC_METHOD(TFRC_UNMODIFIED, "unmodified")	\
	VPTFRC_METHOD(TFRC_UNBIASING, "unbiasing")	\
	VPTFRC_METHOD(TFRC_VIRTUAL, "virtual")		\
	VPTFRC_METHOD(TFRC_SAMPLING, "sampling")	\
	VPTFRC_METHOD_END(TFRC_LIP_SCALING, "lip")
#define VPTFRC_MODES					\
	VPTFRC_METHOD(TFRC_PACKET_MODE, "packet")	\
	VPTFRC_METHOD(TFRC_BYTE_MODE, "byte")		\
	VPTFRC_METHOD_END(TFRC_BYTE_TAIL_MODE, "byte-tail")

#undef VPTFRC_METHOD
#undef VPTFRC_METHOD_END
#define VPTFRC_METHOD(id, name) TRACE_DEFINE_ENUM(id);
#define VPTFRC_METHOD_END(id, name) TRACE_DEFINE_ENUM(id);
VPTFRC_METHODS
VPTFRC_MODES
#undef VPTFRC_METHOD
#undef VPTFRC_METHOD_END
#define VPTFRC_METHOD(id, name) { id, name },
#define VPTFRC_METHOD_END(id, name) { id, name }

/* interval_q16 is the mean loss interval, whose inverse is the loss event rate; 0: no loss
 * event yet. open_q16 is the open one, closed_q16 the newest that a loss event has closed.
 */
TRACE_EVENT(vptfrc_rate,

	TP_PROTO(const struct sock *sk, const struct tfrc *tfrc, const struct tfrc_params *params,
		 const struct tfrc_path *path, bool loss_event),

	TP_ARGS(sk, tfrc, params, path, loss_event),

	TP_STRUCT__entry(
		__field(u16, family)
		__field(u16, sport)
		__field(u16, dport)
		__field(u8, method)
		__field(u8, mode)
		__field(u8, loss_event)
		__field(u64, interval_q16)
		__field(u64, open_q16)
		__field(u64, closed_q16)
		__field(u64, rate_bytes_ps)
		__field(u64, received_bytes_ps)
		__field(u32, reference_bytes)
		__field(u32, packet_bytes)
		__field(u32, rtt_us)
		__field(u32, cwnd)
		__field(u32, lost)
		__field(u32, netns)
		__array(u8, saddr, sizeof(struct in6_addr))
		__array(u8, daddr, sizeof(struct in6_addr))
	),

	TP_fast_assign(
		__entry->family = sk->sk_family;
		__entry->sport = inet_sk(sk)->inet_num;
		__entry->dport = ntohs(inet_sk(sk)->inet_dport);
		__entry->method = params->method;
		__entry->mode = params->mode;
		__entry->loss_event = loss_event;
		__entry->interval_q16 = tfrc_mean_q16(tfrc, params, path);
		__entry->open_q16 = tfrc_open_q16(&tfrc->loss, params, path);
		__entry->closed_q16 = tfrc->history.interval[tfrc->history.newest].length_q16;
		__entry->rate_bytes_ps = tfrc->rate_bytes_ps;
		__entry->received_bytes_ps = tfrc->received_bytes_ps;
		__entry->reference_bytes = params->reference_bytes;
		__entry->packet_bytes = path->packet_bytes;
		__entry->rtt_us = path->rtt_us;
		__entry->cwnd = tcp_snd_cwnd(tcp_sk(sk));
		__entry->lost = tcp_sk(sk)->lost;
		__entry->netns = sock_net(sk)->ns.inum;
		trace_addresses(sk, __entry->saddr, __entry->daddr);
	),

	TP_printk("family=%s sport=%u dport=%u method=%s mode=%s loss_event=%u interval_q16=%llu open_q16=%llu closed_q16=%llu rate_bytes_ps=%llu received_bytes_ps=%llu reference_bytes=%u packet_bytes=%u rtt_us=%u cwnd=%u lost=%u netns=%u saddr=%pI6c daddr=%pI6c",
		  __entry->family == AF_INET6 ? "inet6" : "inet",
		  __entry->sport, __entry->dport,
		  __print_symbolic(__entry->method, VPTFRC_METHODS),
		  __print_symbolic(__entry->mode, VPTFRC_MODES),
		  __entry->loss_event, __entry->interval_q16, __entry->open_q16,
		  __entry->closed_q16, __entry->rate_bytes_ps, __entry->received_bytes_ps,
		  __entry->reference_bytes, __entry->packet_bytes, __entry->rtt_us,
		  __entry->cwnd, __entry->lost, __entry->netns,
		  __entry->saddr, __entry->daddr)
);

#endif /* _VPTFRC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE vptfrc_trace

/* This part must be outside protection */
#include <trace/define_trace.h>
