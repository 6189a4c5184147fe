// SPDX-License-Identifier: GPL-2.0
/*
 * A queue that loses packets as they come, and for want of room: a lossy link for experiments,
 * which loses the same packets for the same seed. netem of Linux 6.1 has no seed, loses nothing
 * in proportion to size, and its Gilbert states change with packets and not with time. red has
 * an average of bytes, and drops packets of any size alike; bfifo counts headers; no shaper
 * counts packets.
 *
 *	tc qdisc add dev r-x root lossy
 *	echo 10000000 > /sys/module/sch_lossy/parameters/loss_ppb
 *
 * It has no options, so that tc needs no plugin; all that there are have the module's
 * parameters (loss_model.h and red_model.h say what they mean), which may change under traffic. A
 * seed begins anew where it is written. Never installed.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <net/pkt_sched.h>

#include "loss_model.h"
#include "red_model.h"

/* Packets that wait where there is no limit: what is lost is lost by chance */
#define LOSSY_LIMIT_PACKETS	1000000
/* Longest packet whose headers can be left out, bytes: no headers are longer */
#define LOSSY_HEADER_MAX	256
/* Longest time of a packet on the link, us */
#define LOSSY_PACKET_US_MAX	1000000
/* and from one packet to the next */
#define LOSSY_GAP_US_MAX	1000000

static unsigned int loss_ppb;
static unsigned int reference_bytes;
static unsigned int header_bytes;
static unsigned int good_us;
static unsigned int bad_us = LOSS_STATE_MIN_US;
static unsigned int limit_packets;
static unsigned int limit_bytes;
static unsigned int red_ppb;
static unsigned int packet_us = 1000;
static unsigned int gap_us;
static unsigned int seed;
/* how often a seed was written */
static unsigned int generation;

/**
 * struct lossy - one link
 * @state: what it remembers
 * @red: likewise, of its queue
 * @watchdog: until the next packet may leave
 * @next_ns: when that is
 * @generation: of its seed
 */
struct lossy {
	struct loss_state state;
	struct red_state red;
	struct qdisc_watchdog watchdog;
	u64 next_ns;
	unsigned int generation;
};

/* ---- parameters ---- */

/**
 * struct lossy_range - what a parameter may be
 * @value: the parameter
 * @min: lowest
 * @max: highest
 * @or_zero: 0 as well
 */
struct lossy_range {
	unsigned int *value;
	unsigned int min;
	unsigned int max;
	bool or_zero;
};

static int lossy_set(const char *text, const struct kernel_param *kp)
{
	const struct lossy_range *range = kp->arg;
	unsigned int value;
	int err = kstrtouint(text, 0, &value);

	if (err || ((value < range->min || value > range->max) && !(range->or_zero && !value))) {
		pr_err("%s=%.*s: not a number from %u to %u%s\n", kp->name,
		       (int)strcspn(text, "\n"), text, range->min, range->max,
		       range->or_zero ? ", or 0" : "");
		return err ?: -ERANGE;
	}
	WRITE_ONCE(*range->value, value);
	if (range->value == &seed)
		WRITE_ONCE(generation, generation + 1);
	return 0;
}

static int lossy_get(char *buffer, const struct kernel_param *kp)
{
	const struct lossy_range *range = kp->arg;

	return sysfs_emit(buffer, "%u\n", READ_ONCE(*range->value));
}

static const struct kernel_param_ops lossy_param_ops = {
	.set = lossy_set,
	.get = lossy_get,
};

#define LOSSY_PARAMETER(name, lo, hi, zero, text)				\
	static struct lossy_range name##_range = {				\
		.value = &name, .min = lo, .max = hi, .or_zero = zero,		\
	};									\
	module_param_cb(name, &lossy_param_ops, &name##_range, 0644);		\
	MODULE_PARM_DESC(name, text)

LOSSY_PARAMETER(loss_ppb, 0, LOSS_PPB, false,
		"probability of a loss, parts per billion (default 0)");
LOSSY_PARAMETER(reference_bytes, 1, 65535, true,
		"size of which loss_ppb is, in proportion; 0 (default): of any size");
LOSSY_PARAMETER(header_bytes, 0, LOSSY_HEADER_MAX, false,
		"bytes of each packet that do not count there (default 0)");
LOSSY_PARAMETER(good_us, LOSS_STATE_MIN_US, LOSS_STATE_MAX_US, true,
		"mean time without losses, us; 0 (default): there is none");
LOSSY_PARAMETER(bad_us, LOSS_STATE_MIN_US, LOSS_STATE_MAX_US, false,
		"mean time with losses, us, where good_us is not 0 (default 100)");
LOSSY_PARAMETER(limit_packets, 1, LOSSY_LIMIT_PACKETS, true, "room; 0 (default): 1000000");
LOSSY_PARAMETER(limit_bytes, 1, U32_MAX, true,
		"room without header_bytes; 0 (default): packets count");
LOSSY_PARAMETER(red_ppb, 1, RED_PPB, true,
		"RED's max_p, parts per billion; 0 (default): what finds no room is dropped");
LOSSY_PARAMETER(packet_us, 1, LOSSY_PACKET_US_MAX, false,
		"time of a packet on the link, by which RED's average forgets, us (default 1000)");
LOSSY_PARAMETER(gap_us, 1, LOSSY_GAP_US_MAX, true,
		"time from a packet to the next, of any size, us; 0 (default): none");
LOSSY_PARAMETER(seed, 0, U32_MAX, false, "of what is drawn; begins anew when it is written");

/* ---- the queue ---- */

/* Of a packet that is so long, what counts */
static u32 lossy_bytes(u32 length)
{
	return length - min(length, READ_ONCE(header_bytes));
}

/* What waits, without headers */
static u32 lossy_backlog(const struct Qdisc *sch)
{
	u64 headers = (u64)qdisc_qlen(sch) * READ_ONCE(header_bytes);

	return sch->qstats.backlog - min_t(u64, sch->qstats.backlog, headers);
}

/* Whether there is no room, or RED says that there soon will be none */
static bool lossy_is_full(struct Qdisc *sch, u32 length)
{
	struct lossy *q = qdisc_priv(sch);
	u32 most_packets = READ_ONCE(limit_packets) ?: LOSSY_LIMIT_PACKETS;
	u32 most_bytes = READ_ONCE(limit_bytes), reference = READ_ONCE(reference_bytes);
	u32 bytes = lossy_bytes(length), backlog = lossy_backlog(sch);
	const struct red_params params = {
		.limit = most_bytes ?: most_packets,
		.max_ppb = READ_ONCE(red_ppb),
		.packet_ns = READ_ONCE(packet_us) * NSEC_PER_USEC,
	};
	bool full = qdisc_qlen(sch) >= most_packets;

	if (most_bytes)
		full = (u64)backlog + bytes > most_bytes;
	if (params.max_ppb) {
		u32 size_q16 = reference ? (u32)div_u64((u64)bytes << 16, reference) : RED_ONE_SIZE;
		u32 ppb = red_takes_ppb(&q->red, &params, most_bytes ? backlog : qdisc_qlen(sch),
					size_q16, ktime_get_ns());

		full = full || loss_happens(&q->state, ppb);
	}
	if (full)
		red_dropped(&q->red);
	return full;
}

static int lossy_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct lossy *q = qdisc_priv(sch);
	const struct loss_params params = {
		.loss_ppb = READ_ONCE(loss_ppb),
		.reference_bytes = READ_ONCE(reference_bytes),
		.header_bytes = READ_ONCE(header_bytes),
		.good_us = READ_ONCE(good_us),
		.bad_us = READ_ONCE(bad_us),
	};

	if (q->generation != READ_ONCE(generation)) {
		q->generation = READ_ONCE(generation);
		loss_begin(&q->state, READ_ONCE(seed));
	}
	if (loss_takes(&q->state, &params, qdisc_pkt_len(skb), ktime_get_ns())) {
		qdisc_qstats_drop(sch);
		__qdisc_drop(skb, to_free);
		/* on the link, of which who sends it learns nothing */
		return NET_XMIT_SUCCESS | __NET_XMIT_BYPASS;
	}
	if (lossy_is_full(sch, qdisc_pkt_len(skb)))
		return qdisc_drop(skb, sch, to_free);
	return qdisc_enqueue_tail(skb, sch);
}

/* A link of so many packets a second. A timer that is late delays one packet, and no other. */
static bool lossy_is_early(struct Qdisc *sch)
{
	struct lossy *q = qdisc_priv(sch);
	u64 gap_ns = (u64)READ_ONCE(gap_us) * NSEC_PER_USEC, now_ns = ktime_get_ns();

	if (!gap_ns || !qdisc_qlen(sch))
		return false;
	if (now_ns < q->next_ns) {
		qdisc_watchdog_schedule_ns(&q->watchdog, q->next_ns);
		return true;
	}
	q->next_ns = (now_ns - q->next_ns < gap_ns ? q->next_ns : now_ns) + gap_ns;
	return false;
}

static struct sk_buff *lossy_dequeue(struct Qdisc *sch)
{
	struct lossy *q = qdisc_priv(sch);
	struct sk_buff *skb;

	if (lossy_is_early(sch))
		return NULL;
	skb = qdisc_dequeue_head(sch);
	if (skb && !qdisc_qlen(sch))
		red_emptied(&q->red, ktime_get_ns());
	return skb;
}

/* Who asks before taking is to wait as well */
static struct sk_buff *lossy_peek(struct Qdisc *sch)
{
	return READ_ONCE(gap_us) ? qdisc_peek_dequeued(sch) : qdisc_peek_head(sch);
}

static void lossy_reset(struct Qdisc *sch)
{
	struct lossy *q = qdisc_priv(sch);

	qdisc_reset_queue(sch);
	qdisc_watchdog_cancel(&q->watchdog);
	q->next_ns = 0;
}

static void lossy_destroy(struct Qdisc *sch)
{
	struct lossy *q = qdisc_priv(sch);

	qdisc_watchdog_cancel(&q->watchdog);
}

static int lossy_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct lossy *q = qdisc_priv(sch);

	/* first: destroy() is called if this fails */
	qdisc_watchdog_init(&q->watchdog, sch);
	if (opt) {
		NL_SET_ERR_MSG_MOD(extack, "no options: the module's parameters say what is lost");
		return -EINVAL;
	}
	q->generation = READ_ONCE(generation);
	loss_begin(&q->state, READ_ONCE(seed));
	return 0;
}

static struct Qdisc_ops lossy_ops = {
	.id		= "lossy",
	.priv_size	= sizeof(struct lossy),
	.enqueue	= lossy_enqueue,
	.dequeue	= lossy_dequeue,
	.peek		= lossy_peek,
	.init		= lossy_init,
	.reset		= lossy_reset,
	.destroy	= lossy_destroy,
	.owner		= THIS_MODULE,
};

static int __init lossy_register(void)
{
	return register_qdisc(&lossy_ops);
}

static void __exit lossy_unregister(void)
{
	unregister_qdisc(&lossy_ops);
}

module_init(lossy_register);
module_exit(lossy_unregister);

MODULE_LICENSE("GPL");
MODULE_AUTHOR("The packet pair for Linux authors");
MODULE_DESCRIPTION("A lossy link with a seed, for experiments");
