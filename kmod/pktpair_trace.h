/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pktpair:pktpair_sample is one event for every train that has come back, with
 * all that the controller believes at that moment; pktpair:pktpair_turns for each
 * period.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM pktpair

#if !defined(_PKTPAIR_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _PKTPAIR_TRACE_H

#include <linux/tracepoint.h>
#include <net/tcp.h>
#include "control_law.h"
#include "in_turn.h"
#include "law_1994.h"
#include "pair_probe.h"
#include "addresses_trace.h"

#define PKTPAIR_VERDICTS					\
	PKTPAIR_VERDICT(PAIR_SAMPLE, "sample")			\
	PKTPAIR_VERDICT(PAIR_ONE_ACK, "one-ack")		\
	PKTPAIR_VERDICT(PAIR_RETRANSMITTED, "retransmitted")	\
	PKTPAIR_VERDICT(PAIR_HELD, "held")			\
	PKTPAIR_VERDICT(PAIR_DELAYED_ACK, "delayed-ack")	\
	PKTPAIR_VERDICT(PAIR_DRAINED, "drained")		\
	PKTPAIR_VERDICT_END(PAIR_COMPRESSED, "compressed")

#undef PKTPAIR_VERDICT
#undef PKTPAIR_VERDICT_END
#define PKTPAIR_VERDICT(id, name) TRACE_DEFINE_ENUM(id);
#define PKTPAIR_VERDICT_END(id, name) TRACE_DEFINE_ENUM(id);
PKTPAIR_VERDICTS
#undef PKTPAIR_VERDICT
#undef PKTPAIR_VERDICT_END
#define PKTPAIR_VERDICT(id, name) { id, name },
#define PKTPAIR_VERDICT_END(id, name) { id, name }

TRACE_EVENT(pktpair_sample,

	TP_PROTO(const struct sock *sk, const struct pair_sample *sample,
		 const struct control_path *path,
		 const struct control_orders *orders),

	TP_ARGS(sk, sample, path, orders),

	TP_STRUCT__entry(
		__field(u16, family)
		__field(u16, sport)
		__field(u16, dport)
		__field(u16, train)
		__field(u8, verdict)
		__field(u64, gap_ns)
		__field(u32, covered_segments)
		__field(u32, rtt_us)
		__field(u32, propagation_us)
		__field(u32, outstanding)
		__field(u32, delivered)
		__field(u32, newest_age_us)
		__field(u32, snd_nxt)
		__field(u64, service_ns)
		__field(u32, backlog_q8)
		__field(u32, beyond_pipe_q8)
		__field(u32, backlog_paper_q8)
		__field(s32, setpoint_q8)
		__field(u64, rate_bytes_ps)
		__field(u32, cwnd)
		__field(u32, mss)
		__field(u32, netns)
		__array(u8, saddr, sizeof(struct in6_addr))
		__array(u8, daddr, sizeof(struct in6_addr))
	),

	TP_fast_assign(
		__entry->family = sk->sk_family;
		__entry->sport = inet_sk(sk)->inet_num;
		__entry->dport = ntohs(inet_sk(sk)->inet_dport);
		__entry->verdict = sample->verdict;
		__entry->gap_ns = sample->span_ns;
		__entry->covered_segments = sample->segments;
		__entry->train = READ_ONCE(sk->sk_gso_max_segs);
		__entry->rtt_us = path->rtt_us;
		__entry->propagation_us = path->prop_us;
		__entry->outstanding = path->outstanding;
		__entry->delivered = path->delivered;
		__entry->newest_age_us = path->newest_age_us;
		__entry->snd_nxt = tcp_sk(sk)->snd_nxt;
		__entry->service_ns = path->service_q10 >> CONTROL_SERVICE_SHIFT;
		__entry->backlog_q8 = path->newest_backlog_q8;
		__entry->beyond_pipe_q8 = path->backlog_q8;
		__entry->backlog_paper_q8 = path->service_q10 ?
					    law_1994_backlog_q8(path) : 0;
		__entry->setpoint_q8 = orders->setpoint_q8;
		__entry->rate_bytes_ps = orders->rate_bytes_ps;
		__entry->cwnd = tcp_snd_cwnd(tcp_sk(sk));
		__entry->mss = tcp_sk(sk)->mss_cache;
		__entry->netns = sock_net(sk)->ns.inum;
		trace_addresses(sk, __entry->saddr, __entry->daddr);
	),

	TP_printk("family=%s sport=%u dport=%u verdict=%s train=%u gap_ns=%llu covered_segments=%u rtt_us=%u propagation_us=%u outstanding=%u delivered=%u newest_age_us=%u snd_nxt=%u service_ns=%llu backlog_q8=%u beyond_pipe_q8=%u backlog_paper_q8=%u setpoint_q8=%d rate_bytes_ps=%llu cwnd=%u mss=%u netns=%u saddr=%pI6c daddr=%pI6c",
		  __entry->family == AF_INET6 ? "inet6" : "inet",
		  __entry->sport, __entry->dport,
		  __print_symbolic(__entry->verdict, PKTPAIR_VERDICTS),
		  __entry->train, __entry->gap_ns, __entry->covered_segments,
		  __entry->rtt_us, __entry->propagation_us,
		  __entry->outstanding, __entry->delivered,
		  __entry->newest_age_us, __entry->snd_nxt,
		  __entry->service_ns, __entry->backlog_q8,
		  __entry->beyond_pipe_q8, __entry->backlog_paper_q8, __entry->setpoint_q8,
		  __entry->rate_bytes_ps, __entry->cwnd, __entry->mss, __entry->netns,
		  __entry->saddr, __entry->daddr)
);

/* One event for each period; served_q8 is 0 where it says nothing of the bottleneck */
TRACE_EVENT(pktpair_turns,

	TP_PROTO(const struct sock *sk, const struct in_turn *turns,
		 const struct in_turn_block *block, u32 rounds),

	TP_ARGS(sk, turns, block, rounds),

	TP_STRUCT__entry(
		__field(u16, family)
		__field(u16, sport)
		__field(u16, dport)
		__field(u8, shared)
		__field(u8, policed)
		__field(u8, random)
		__field(u32, rounds)
		__field(u32, served_q8)
		__field(u32, waited_us)
		__field(u32, turn_us)
		__field(s32, score_q4)
		__field(u32, alarms)
		__field(u32, netns)
		__array(u8, saddr, sizeof(struct in6_addr))
		__array(u8, daddr, sizeof(struct in6_addr))
	),

	TP_fast_assign(
		__entry->family = sk->sk_family;
		__entry->sport = inet_sk(sk)->inet_num;
		__entry->dport = ntohs(inet_sk(sk)->inet_dport);
		__entry->shared = turns->shared;
		__entry->policed = turns->policed;
		__entry->random = turns->random;
		__entry->rounds = rounds;
		__entry->served_q8 = block->served_q8;
		__entry->waited_us = block->waited_us;
		__entry->turn_us = block->turn_us;
		__entry->score_q4 = turns->score_q4;
		__entry->alarms = turns->alarms;
		__entry->netns = sock_net(sk)->ns.inum;
		trace_addresses(sk, __entry->saddr, __entry->daddr);
	),

	TP_printk("family=%s sport=%u dport=%u shared=%u policed=%u random=%u rounds=%u served_q8=%u waited_us=%u turn_us=%u score_q4=%d alarms=%u netns=%u saddr=%pI6c daddr=%pI6c",
		  __entry->family == AF_INET6 ? "inet6" : "inet",
		  __entry->sport, __entry->dport, __entry->shared, __entry->policed,
		  __entry->random, __entry->rounds, __entry->served_q8, __entry->waited_us,
		  __entry->turn_us, __entry->score_q4, __entry->alarms, __entry->netns,
		  __entry->saddr, __entry->daddr)
);

#endif /* _PKTPAIR_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE pktpair_trace

/* This part must be outside protection */
#include <trace/define_trace.h>
