// SPDX-License-Identifier: GPL-2.0
/* since 7.1: the queue length is changed through helpers */
#include <net/sch_generic.h>

void probe(struct Qdisc *sch);
void probe(struct Qdisc *sch)
{
	qdisc_qlen_inc(sch);
	qdisc_qlen_dec(sch);
}
