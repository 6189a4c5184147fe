// SPDX-License-Identifier: GPL-2.0
/* since 7.1: qdiscs have drop reasons of their own */
#include <linux/skbuff.h>
#include <net/sch_generic.h>

void probe(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
void probe(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	kfree_skb_list_reason(skb, (enum skb_drop_reason)QDISC_DROP_CONGESTED);
	qdisc_drop_reason(skb, sch, to_free, QDISC_DROP_OVERLIMIT);
}
