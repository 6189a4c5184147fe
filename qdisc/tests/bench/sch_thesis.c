// SPDX-License-Identifier: GPL-2.0
/*
 * Switches of Keshav's thesis (1991), chapter 6, that set the congestion bit, for experiments:
 *
 *	tc qdisc add dev r-x root switch_decbit		a FIFO with selective DECbit
 *	tc qdisc add dev r-x root switch_fqbit		fair queueing with bits
 *
 * decbit_queue.h says when a bit is set: ECN's mark "congestion experienced". Both shape the link
 * by IP datagrams' bytes. From switch_decbit a packet comes when all of it has been sent, since
 * what is being sent is part of DECbit's queue: who has the last bit earlier would send the next
 * packet into it. From switch_fqbit it comes when the one before it has been sent, as from fq_rr,
 * whose round robin it has; a full buffer drops the last packet of the longest queue. A user is a
 * source's address, with the port of TCP and UDP.
 *
 * There are no options, so that tc needs no plugin; the module's parameters hold for all that there
 * are, and may change under traffic. Never installed.
 */
#include <linux/ip.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <net/inet_ecn.h>
#include <net/pkt_sched.h>

#include "decbit_queue.h"
#include "knob.h"
#include "round_robin.h"

#define THESIS_LIMIT_MAX	100000U
#define THESIS_RATE_MIN		8000U

NUMBER_KNOB(limit_packets, 1000, 1, THESIS_LIMIT_MAX, "packets that may wait (default 1000)");
NUMBER_KNOB(rate_bit_s, 80000, THESIS_RATE_MIN, U32_MAX,
	    "of the link, IP datagrams (default 80000)");
NUMBER_KNOB(factor_pct, 90, 1, 100,
	    "capacity factor of switch_decbit, per cent (default 90)");
NUMBER_KNOB(panic_mode, 1, 0, 1, "whether switch_decbit has a panic mode (default 1)");

/* ---- the link ---- */

/**
 * struct thesis_link - what is being sent
 * @watchdog: asks for the next packet
 * @sent_ns: when the last packet has been sent, or will have been
 */
struct thesis_link {
	struct qdisc_watchdog watchdog;
	u64 sent_ns;
};

/* later than this, a packet has not waited for the one before it, ns */
#define THESIS_LATE_NS		1000000ULL

static u64 thesis_lasts_ns(const struct sk_buff *skb)
{
	u32 bytes = max_t(u32, qdisc_pkt_len(skb), ETH_HLEN + 1) - ETH_HLEN;

	return div_u64((u64)bytes * 8 * NSEC_PER_SEC, READ_ONCE(rate_bit_s));
}

/* Whether what was being sent has been; else the watchdog asks again */
static bool thesis_may_send(struct thesis_link *link, u64 now_ns)
{
	if (now_ns >= link->sent_ns)
		return true;
	qdisc_watchdog_schedule_ns(&link->watchdog, link->sent_ns);
	return false;
}

static void thesis_sends(struct thesis_link *link, u64 lasts_ns, u64 now_ns)
{
	/* a timer's lateness is not the next packet's */
	if (now_ns - link->sent_ns > THESIS_LATE_NS)
		link->sent_ns = now_ns;
	link->sent_ns += lasts_ns;
}

/* ---- users ---- */

/**
 * struct thesis_users - who has sent
 * @address: of the source
 * @port: of the source
 * @count: so many
 */
struct thesis_users {
	__be32 address[DECBIT_USERS];
	__be16 port[DECBIT_USERS];
	u32 count;
};

/* The number of a packet's user, who is known from now on; what finds no place is the last one's */
static u32 thesis_user(struct thesis_users *users, struct sk_buff *skb)
{
	__be32 address = 0;
	__be16 port = 0;
	u32 user;

	if (skb_protocol(skb, true) == htons(ETH_P_IP) &&
	    pskb_network_may_pull(skb, sizeof(struct iphdr))) {
		const struct iphdr *ip = ip_hdr(skb);
		__be16 buffer;
		const __be16 *found;

		address = ip->saddr;
		if (ip->protocol == IPPROTO_TCP || ip->protocol == IPPROTO_UDP) {
			found = skb_header_pointer(skb, skb_network_offset(skb) + ip->ihl * 4,
						   sizeof(buffer), &buffer);
			port = found ? *found : 0;
		}
	}
	for (user = 0; user < users->count; user++)
		if (users->address[user] == address && users->port[user] == port)
			return user;
	if (users->count == DECBIT_USERS)
		return DECBIT_USERS - 1;
	users->address[users->count] = address;
	users->port[users->count] = port;
	return users->count++;
}

/* ---- switch_decbit ---- */

/**
 * struct thesis_decbit - a FIFO with selective DECbit
 * @link: must come first: what is being sent
 * @queue: what it remembers
 * @users: whose packets have come
 * @sending: the first packet is being sent
 */
struct thesis_decbit {
	struct thesis_link link;
	struct decbit_queue queue;
	struct thesis_users users;
	bool sending;
};

static int thesis_decbit_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct thesis_decbit *q = qdisc_priv(sch);
	u32 user = thesis_user(&q->users, skb);

	decbit_comes(&q->queue, user, qdisc_pkt_len(skb), ktime_get_ns());
	/* what is being sent is not in the buffer */
	if (qdisc_qlen(sch) > READ_ONCE(limit_packets))
		return qdisc_drop(skb, sch, to_free);
	decbit_waits(&q->queue);
	if (decbit_marks(&q->queue, user, READ_ONCE(rate_bit_s) / 8, READ_ONCE(factor_pct),
			 READ_ONCE(panic_mode)))
		INET_ECN_set_ce(skb);
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *thesis_decbit_dequeue(struct Qdisc *sch)
{
	struct thesis_decbit *q = qdisc_priv(sch);
	u64 now_ns = ktime_get_ns();
	struct sk_buff *skb = qdisc_peek_head(sch);

	if (!skb)
		return NULL;
	if (!q->sending)
		thesis_sends(&q->link, thesis_lasts_ns(skb), now_ns);
	q->sending = true;
	if (!thesis_may_send(&q->link, now_ns))
		return NULL;
	q->sending = false;
	decbit_leaves(&q->queue, now_ns);
	return qdisc_dequeue_head(sch);
}

static int thesis_no_options(struct nlattr *opt, struct netlink_ext_ack *extack)
{
	if (!opt)
		return 0;
	NL_SET_ERR_MSG_MOD(extack, "no options: there are the module's parameters");
	return -EINVAL;
}

static int thesis_decbit_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct thesis_decbit *q = qdisc_priv(sch);

	qdisc_watchdog_init(&q->link.watchdog, sch);
	return thesis_no_options(opt, extack);
}

static void thesis_decbit_reset(struct Qdisc *sch)
{
	struct thesis_decbit *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->link.watchdog);
	qdisc_reset_queue(sch);
	memset(&q->queue, 0, sizeof(q->queue));
	memset(&q->users, 0, sizeof(q->users));
	q->link.sent_ns = 0;
	q->sending = false;
}

/* Of both kinds */
static void thesis_destroy(struct Qdisc *sch)
{
	struct thesis_link *link = qdisc_priv(sch);

	qdisc_watchdog_cancel(&link->watchdog);
}

static struct Qdisc_ops thesis_decbit_ops = {
	.id		= "switch_decbit",
	.priv_size	= sizeof(struct thesis_decbit),
	.enqueue	= thesis_decbit_enqueue,
	.dequeue	= thesis_decbit_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= thesis_decbit_init,
	.reset		= thesis_decbit_reset,
	.destroy	= thesis_destroy,
	.owner		= THIS_MODULE,
};

/* ---- switch_fqbit ---- */

/**
 * struct thesis_fqbit - fair queueing with bits
 * @link: must come first: what is being sent
 * @rr: whose turn it is
 * @flow: each user's
 * @packets: each user's
 * @users: whose packets have come
 */
struct thesis_fqbit {
	struct thesis_link link;
	struct rr rr;
	struct rr_flow flow[DECBIT_USERS];
	struct sk_buff_head packets[DECBIT_USERS];
	struct thesis_users users;
};

static u32 thesis_longest(const struct thesis_fqbit *q)
{
	u32 user, longest = 0;

	for (user = 1; user < q->users.count; user++)
		if (skb_queue_len(&q->packets[user]) > skb_queue_len(&q->packets[longest]))
			longest = user;
	return longest;
}

/* The last packet of a queue goes, and what is above is told so */
static void thesis_drop_last(struct Qdisc *sch, u32 user, struct sk_buff **to_free)
{
	struct thesis_fqbit *q = qdisc_priv(sch);
	struct sk_buff *skb = __skb_dequeue_tail(&q->packets[user]);

	if (skb_queue_empty(&q->packets[user]))
		rr_idle(&q->rr, &q->flow[user]);
	qdisc_qlen_dec(sch);
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_tree_reduce_backlog(sch, 1, qdisc_pkt_len(skb));
	qdisc_drop(skb, sch, to_free);
}

static int thesis_fqbit_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct thesis_fqbit *q = qdisc_priv(sch);
	u32 user = thesis_user(&q->users, skb), limit = READ_ONCE(limit_packets);

	if (qdisc_qlen(sch) >= limit) {
		u32 longest = thesis_longest(q);

		/* of equal ones, the packet that comes */
		if (skb_queue_len(&q->packets[longest]) <= skb_queue_len(&q->packets[user]))
			return qdisc_drop(skb, sch, to_free);
		thesis_drop_last(sch, longest, to_free);
	}
	__skb_queue_tail(&q->packets[user], skb);
	rr_backlogged(&q->rr, &q->flow[user]);
	if (fqbit_marks(skb_queue_len(&q->packets[user]), q->rr.active, limit))
		INET_ECN_set_ce(skb);
	qdisc_qlen_inc(sch);
	qdisc_qstats_backlog_inc(sch, skb);
	return NET_XMIT_SUCCESS;
}

static struct sk_buff *thesis_fqbit_dequeue(struct Qdisc *sch)
{
	struct thesis_fqbit *q = qdisc_priv(sch);
	u64 now_ns = ktime_get_ns();
	struct rr_flow *flow;
	struct sk_buff *skb;
	u32 user;

	if (!qdisc_qlen(sch) || !thesis_may_send(&q->link, now_ns))
		return NULL;
	flow = rr_next(&q->rr);
	user = (u32)(flow - q->flow);
	skb = __skb_dequeue(&q->packets[user]);
	rr_sent(&q->rr, flow, rr_cost(false, qdisc_pkt_len(skb)),
		!skb_queue_empty(&q->packets[user]));
	thesis_sends(&q->link, thesis_lasts_ns(skb), now_ns);
	qdisc_qlen_dec(sch);
	qdisc_qstats_backlog_dec(sch, skb);
	qdisc_bstats_update(sch, skb);
	return skb;
}

static void thesis_fqbit_begin(struct Qdisc *sch)
{
	struct thesis_fqbit *q = qdisc_priv(sch);
	u32 user;

	memset(q->flow, 0, sizeof(q->flow));
	memset(&q->users, 0, sizeof(q->users));
	q->link.sent_ns = 0;
	rr_init(&q->rr, psched_mtu(qdisc_dev(sch)));
	for (user = 0; user < DECBIT_USERS; user++)
		__skb_queue_head_init(&q->packets[user]);
}

static int thesis_fqbit_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct thesis_fqbit *q = qdisc_priv(sch);

	qdisc_watchdog_init(&q->link.watchdog, sch);
	thesis_fqbit_begin(sch);
	return thesis_no_options(opt, extack);
}

static void thesis_fqbit_reset(struct Qdisc *sch)
{
	struct thesis_fqbit *q = qdisc_priv(sch);
	u32 user;

	qdisc_watchdog_cancel(&q->link.watchdog);
	for (user = 0; user < DECBIT_USERS; user++)
		__skb_queue_purge(&q->packets[user]);
	thesis_fqbit_begin(sch);
}

static struct Qdisc_ops thesis_fqbit_ops = {
	.id		= "switch_fqbit",
	.priv_size	= sizeof(struct thesis_fqbit),
	.enqueue	= thesis_fqbit_enqueue,
	.dequeue	= thesis_fqbit_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= thesis_fqbit_init,
	.reset		= thesis_fqbit_reset,
	.destroy	= thesis_destroy,
	.owner		= THIS_MODULE,
};

static int __init thesis_register(void)
{
	int err = register_qdisc(&thesis_decbit_ops);

	if (err)
		return err;
	err = register_qdisc(&thesis_fqbit_ops);
	if (err)
		unregister_qdisc(&thesis_decbit_ops);
	return err;
}

static void __exit thesis_unregister(void)
{
	unregister_qdisc(&thesis_fqbit_ops);
	unregister_qdisc(&thesis_decbit_ops);
}

module_init(thesis_register);
module_exit(thesis_unregister);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("The packet pair for Linux authors");
MODULE_DESCRIPTION("Switches that set the congestion bit as in Keshav's thesis, for experiments");
