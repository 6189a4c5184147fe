// SPDX-License-Identifier: GPL-2.0
/* since 7.1: the qdisc's control block counts a packet's segments */
#include <net/sch_generic.h>

void probe(struct sk_buff *skb);
void probe(struct sk_buff *skb)
{
	qdisc_skb_cb(skb)->pkt_segs = 1;
}
