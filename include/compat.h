/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between the kernels 6.1 .. 7.x, in one place.
 *
 * Stable and vendor kernels carry newer interfaces under old version numbers,
 * so LINUX_VERSION_CODE is never asked: scripts/build-modules compiles one
 * small file per interface (scripts/probes/) against the headers at hand and
 * writes what compiled into compat_config.h. This header is force-included
 * into every module source.
 */
#ifndef _PKTPAIR_COMPAT_H
#define _PKTPAIR_COMPAT_H

#include "compat_config.h"

/* before any kernel header, as every module source would have it */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

/* 6.10 added the ACK number and flags, which no module here uses */
#ifdef HAVE_CONG_CONTROL_ACK_FLAG
#define COMPAT_CONG_CONTROL_ARGS(sk, rs) \
	struct sock *sk, u32 ack, int flag, const struct rate_sample *rs
#else
#define COMPAT_CONG_CONTROL_ARGS(sk, rs) \
	struct sock *sk, const struct rate_sample *rs
#endif

/* 6.6 moved segmentation to a header of its own */
#ifdef HAVE_NET_GSO_H
#include <net/gso.h>
#endif

/* 7.1 wraps the queue length, and counts the segments of a packet */
#include <net/sch_generic.h>

#ifndef HAVE_QDISC_QLEN_INC
static inline void qdisc_qlen_inc(struct Qdisc *sch)
{
	sch->q.qlen++;
}

static inline void qdisc_qlen_dec(struct Qdisc *sch)
{
	sch->q.qlen--;
}
#endif

static inline void compat_qdisc_set_segs(struct sk_buff *skb, unsigned int segs)
{
#ifdef HAVE_QDISC_PKT_SEGS
	qdisc_skb_cb(skb)->pkt_segs = segs;
#endif
}

/*
 * Why a packet was dropped, which tools that trace drops show. 6.14 tells a full buffer from
 * delay control, 7.1 has names for that of the qdiscs' own, and before there is one for all.
 */
#ifdef HAVE_QDISC_DROP_CONGESTED
#define COMPAT_DROP_CONGESTED ((enum skb_drop_reason)QDISC_DROP_CONGESTED)
#define compat_qdisc_drop_overlimit(skb, sch, to_free) \
	qdisc_drop_reason(skb, sch, to_free, QDISC_DROP_OVERLIMIT)
#elif defined(HAVE_SKB_DROP_CONGESTED)
#define COMPAT_DROP_CONGESTED SKB_DROP_REASON_QDISC_CONGESTED
#define compat_qdisc_drop_overlimit(skb, sch, to_free) \
	qdisc_drop_reason(skb, sch, to_free, SKB_DROP_REASON_QDISC_OVERLIMIT)
#else
#define COMPAT_DROP_CONGESTED SKB_DROP_REASON_QDISC_DROP
#define compat_qdisc_drop_overlimit(skb, sch, to_free) qdisc_drop(skb, sch, to_free)
#endif

/*
 * 6.2 gave the error message a buffer of its own. Before that it is a pointer
 * to something that outlives the request: the next of a few static buffers.
 * Sixteen requests may fail at once before one reads another's message.
 */
#ifndef HAVE_NL_SET_ERR_MSG_FMT
#define COMPAT_EXTACK_MESSAGES 16
#define COMPAT_EXTACK_BYTES 128
#define NL_SET_ERR_MSG_FMT_MOD(extack, fmt, ...) do {			\
	static char compat_ring[COMPAT_EXTACK_MESSAGES][COMPAT_EXTACK_BYTES]; \
	static atomic_t compat_next = ATOMIC_INIT(0);			\
	char *compat_msg = compat_ring[(unsigned int)atomic_inc_return(	\
				&compat_next) % COMPAT_EXTACK_MESSAGES];\
	struct netlink_ext_ack *compat_extack = (extack);		\
									\
	snprintf(compat_msg, COMPAT_EXTACK_BYTES,			\
		 KBUILD_MODNAME ": " fmt, ##__VA_ARGS__);		\
	do_trace_netlink_extack(compat_msg);				\
	if (compat_extack)						\
		compat_extack->_msg = compat_msg;			\
} while (0)
#endif

#endif /* _PKTPAIR_COMPAT_H */
