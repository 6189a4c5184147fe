// SPDX-License-Identifier: GPL-2.0
/*
 * A classifier for tests whose verdict is its priority less one, for every packet:
 *
 *	tc filter add dev v0 parent 1: protocol ip prio 10 verdict
 *
 * says TC_ACT_CONSUMED, as act_ct does of a fragment that it keeps and act_mirred of a
 * packet that it sends elsewhere. Which actions a kernel lets be attached to a qdisc
 * differs; what a qdisc makes of a verdict must not. A packet that is consumed is freed
 * at once, so that a qdisc that touches it touches freed memory. A priority from 1000 on
 * is TC_ACT_OK of a packet that has become so many bytes longer, as act_ct has it that
 * joins fragments.
 */
#include <linux/module.h>
#include <linux/skbuff.h>
#include <net/pkt_cls.h>
#include <net/sch_generic.h>

#define VERDICT_LONGER 1000

static int verdict_classify(struct sk_buff *skb, const struct tcf_proto *tp,
			    struct tcf_result *result)
{
	u32 priority = tp->prio >> 16;
	int verdict = priority - 1;

	result->classid = 0;
	if (priority >= VERDICT_LONGER) {
		qdisc_skb_cb(skb)->pkt_len += priority;
		return TC_ACT_OK;
	}
	if (verdict == TC_ACT_CONSUMED)
		consume_skb(skb);
	return verdict;
}

static int verdict_init(struct tcf_proto *tp)
{
	return 0;
}

static void verdict_destroy(struct tcf_proto *tp, bool rtnl_held,
			    struct netlink_ext_ack *extack)
{
}

static void *verdict_get(struct tcf_proto *tp, u32 handle)
{
	return NULL;
}

/* there is one filter, which has no options: any address will do for it */
static int verdict_change(struct net *net, struct sk_buff *in_skb,
			  struct tcf_proto *tp, unsigned long base, u32 handle,
			  struct nlattr **tca, void **arg, u32 flags,
			  struct netlink_ext_ack *extack)
{
	*arg = tp;
	return 0;
}

static int verdict_delete(struct tcf_proto *tp, void *arg, bool *last,
			  bool rtnl_held, struct netlink_ext_ack *extack)
{
	*last = true;
	return 0;
}

static void verdict_walk(struct tcf_proto *tp, struct tcf_walker *arg,
			 bool rtnl_held)
{
}

static int verdict_dump(struct net *net, struct tcf_proto *tp, void *fh,
			struct sk_buff *skb, struct tcmsg *t, bool rtnl_held)
{
	return skb->len;
}

static struct tcf_proto_ops verdict_ops = {
	.kind		= "verdict",
	.classify	= verdict_classify,
	.init		= verdict_init,
	.destroy	= verdict_destroy,
	.get		= verdict_get,
	.change		= verdict_change,
	.delete		= verdict_delete,
	.walk		= verdict_walk,
	.dump		= verdict_dump,
	.owner		= THIS_MODULE,
};

static int __init verdict_register(void)
{
	return register_tcf_proto_ops(&verdict_ops);
}

static void __exit verdict_unregister(void)
{
	unregister_tcf_proto_ops(&verdict_ops);
}

module_init(verdict_register);
module_exit(verdict_unregister);

MODULE_DESCRIPTION("Classifier with a given verdict, for tests");
MODULE_LICENSE("GPL");
