// SPDX-License-Identifier: GPL-2.0
/*
 * A queue that loses packets as they come: a lossy link for experiments, which loses the same
 * packets for the same seed. netem of Linux 6.1 has no seed, loses nothing in proportion to
 * size, and its Gilbert states change with packets and not with time.
 *
 *	tc qdisc add dev r-x root lossy
 *	echo 10000000 > /sys/module/sch_lossy/parameters/loss_ppb
 *
 * It has no options, so that tc needs no plugin; all that there are have the module's
 * parameters (loss_model.h says what they mean), which may change under traffic. A seed begins
 * anew where it is written. Never installed.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <net/pkt_sched.h>

#include "loss_model.h"

/* Packets that wait: what is lost is lost by chance, and never for want of room */
#define LOSSY_LIMIT_PACKETS	1000000
/* Longest packet whose headers can be left out, bytes: no headers are longer */
#define LOSSY_HEADER_MAX	256

static unsigned int loss_ppb;
static unsigned int reference_bytes;
static unsigned int header_bytes;
static unsigned int good_us;
static unsigned int bad_us = LOSS_STATE_MIN_US;
static unsigned int seed;
/* how often a seed was written */
static unsigned int generation;

/**
 * struct lossy - one link
 * @state: what it remembers
 * @generation: of its seed
 */
struct lossy {
	struct loss_state state;
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
LOSSY_PARAMETER(seed, 0, U32_MAX, false, "of what is drawn; begins anew when it is written");

/* ---- the queue ---- */

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
	if (unlikely(qdisc_qlen(sch) >= LOSSY_LIMIT_PACKETS))
		return qdisc_drop(skb, sch, to_free);
	return qdisc_enqueue_tail(skb, sch);
}

static int lossy_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct lossy *q = qdisc_priv(sch);

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
	.dequeue	= qdisc_dequeue_head,
	.peek		= qdisc_peek_head,
	.init		= lossy_init,
	.reset		= qdisc_reset_queue,
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
