// SPDX-License-Identifier: GPL-2.0
/* since 6.14: drop reasons say whether a qdisc's limit or its delay control was it */
#include <linux/skbuff.h>
#include <net/sch_generic.h>

void probe(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
void probe(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	kfree_skb_list_reason(skb, SKB_DROP_REASON_QDISC_CONGESTED);
	qdisc_drop_reason(skb, sch, to_free, SKB_DROP_REASON_QDISC_OVERLIMIT);
}
