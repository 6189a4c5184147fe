/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queues as classes: filters name them, users give them weights, and what is in each can be
 * seen.
 */
#ifndef _FQ_RR_CLASS_H
#define _FQ_RR_CLASS_H

#include <net/gen_stats.h>
#include <net/netlink.h>
#include <net/pkt_cls.h>

#include "fq_rr_sched.h"

/* a class is the number of a queue plus one, since 0 is no class */
static struct fq_rr_flow *fq_rr_class_flow(struct Qdisc *sch, unsigned long cl)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	return &q->buffer.flows[cl - 1];
}

static struct Qdisc *fq_rr_leaf(struct Qdisc *sch, unsigned long cl)
{
	return NULL;
}

/* every queue is a class, always; nothing can be attached to one */
static unsigned long fq_rr_find(struct Qdisc *sch, u32 classid)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	return TC_H_MIN(classid) <= q->config.flows ? TC_H_MIN(classid) : 0;
}

static struct tcf_block *fq_rr_tcf_block(struct Qdisc *sch, unsigned long cl,
					 struct netlink_ext_ack *extack)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	return cl ? NULL : q->block;
}

/* filters name a queue by its number, and hold nothing */
static unsigned long fq_rr_bind(struct Qdisc *sch, unsigned long parent,
				u32 classid)
{
	return 0;
}

static void fq_rr_unbind(struct Qdisc *sch, unsigned long cl)
{
}

static struct netlink_range_validation fq_rr_weight_range __ro_after_init = {
	.min = FQ_RR_WEIGHT_MIN,
	.max = FQ_RR_WEIGHT_MAX,
};

static const struct nla_policy fq_rr_class_policy[TCA_FQ_RR_CLASS_MAX + 1] = {
	[TCA_FQ_RR_CLASS_WEIGHT] = NLA_POLICY_FULL_RANGE(NLA_U32, &fq_rr_weight_range),
};

/* the error of what the policy refused, whose own words name neither value nor limit */
static int fq_rr_explain_weight(int err, struct netlink_ext_ack *extack)
{
	const struct nlattr *attr = extack ? extack->bad_attr : NULL;
	u32 weight;

	/* what is of another kind or length is refused for that */
	if (!attr || nla_type(attr) != TCA_FQ_RR_CLASS_WEIGHT || nla_len(attr) != sizeof(weight))
		return err;
	weight = nla_get_u32(attr);
	if (weight >= FQ_RR_WEIGHT_MIN && weight <= FQ_RR_WEIGHT_MAX)
		return err;
	NL_SET_ERR_MSG_FMT_MOD(extack, "weight %u is not in %u..%u", weight,
			       FQ_RR_WEIGHT_MIN, FQ_RR_WEIGHT_MAX);
	return -EINVAL;
}

static int fq_rr_change_class(struct Qdisc *sch, u32 classid, u32 parentid,
			      struct nlattr **tca, unsigned long *cl,
			      struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_FQ_RR_CLASS_MAX + 1];
	struct fq_rr_sched *q = qdisc_priv(sch);
	struct fq_rr_flow *flow;
	int err;

	if (!*cl) {
		NL_SET_ERR_MSG_FMT_MOD(extack, "class %u is not in 1..%u, the queues",
				       TC_H_MIN(classid), q->config.flows);
		return -ENOENT;
	}
	if (!tca[TCA_OPTIONS]) {
		NL_SET_ERR_MSG_MOD(extack, "weight is missing");
		return -EINVAL;
	}
	err = nla_parse_nested(tb, TCA_FQ_RR_CLASS_MAX, tca[TCA_OPTIONS],
			       fq_rr_class_policy, extack);
	if (err)
		return fq_rr_explain_weight(err, extack);
	if (!tb[TCA_FQ_RR_CLASS_WEIGHT])
		return 0;
	sch_tree_lock(sch);
	flow = fq_rr_class_flow(sch, *cl);
	buffer_set_weight(&q->buffer, flow, nla_get_u32(tb[TCA_FQ_RR_CLASS_WEIGHT]));
	sch_tree_unlock(sch);
	return 0;
}

static void fq_rr_walk(struct Qdisc *sch, struct qdisc_walker *arg)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	unsigned long cl;

	if (arg->stop)
		return;
	for (cl = 1; cl <= q->config.flows; cl++) {
		const struct fq_rr_flow *flow = fq_rr_class_flow(sch, cl);

		/* a glance: what it shows is read under the lock */
		if (!READ_ONCE(flow->head) && rr_weight(&flow->rr) == 1)
			continue;
		if (arg->count++ < arg->skip)
			continue;
		if (arg->fn(sch, cl, arg) < 0) {
			arg->count--;
			arg->stop = 1;
			return;
		}
	}
}

static int fq_rr_dump_class(struct Qdisc *sch, unsigned long cl,
			    struct sk_buff *skb, struct tcmsg *tcm)
{
	const struct fq_rr_flow *flow = fq_rr_class_flow(sch, cl);
	struct nlattr *opts;

	tcm->tcm_handle |= TC_H_MIN(cl);
	opts = nla_nest_start(skb, TCA_OPTIONS);
	if (!opts ||
	    nla_put_u32(skb, TCA_FQ_RR_CLASS_WEIGHT, rr_weight(&flow->rr)))
		return -EMSGSIZE;
	nla_nest_end(skb, opts);
	return 0;
}

/* what is shown of one queue, taken at one moment; as TCA_FQ_RR_FLOW_* */
struct fq_rr_flow_snapshot {
	struct gnet_stats_queue queue;
	struct queue_record record;
	s64 credit;
	u32 hash;
	u32 sparse;
	u32 head_bytes;
	bool aqm;
	bool above;
	struct codel_vars codel;
	u32 host;
};

static void fq_rr_take_flow(struct Qdisc *sch, unsigned long cl,
			    struct fq_rr_flow_snapshot *snap)
{
	const struct fq_rr_flow *flow = fq_rr_class_flow(sch, cl);
	struct fq_rr_sched *q = qdisc_priv(sch);

	memset(snap, 0, sizeof(*snap));
	sch_tree_lock(sch);
	snap->record = *fq_rr_record(q, flow);
	snap->queue.drops = snap->record.drops;
	/* it may have emptied since it was found */
	if (flow->head) {
		snap->queue.qlen = flow->packets;
		snap->queue.backlog = flow->bytes;
		snap->credit = buffer_credit(&q->buffer, flow);
		if (q->buffer.by_host)
			snap->host = q->buffer.hosts.host_of[cl - 1] + 1;
		snap->hash = flow->hash;
		snap->sparse = flow->rr.sparse;
		snap->head_bytes = qdisc_pkt_len(fq_rr_skb(flow->head));
		snap->aqm = q->config.aqm;
		snap->above = flow->rr.of_caller;
		snap->codel = q->codel_vars[cl - 1];
	}
	sch_tree_unlock(sch);
}

static s32 fq_rr_drop_next_us(const struct codel_vars *codel)
{
	codel_tdiff_t ahead = codel->drop_next - codel_get_time();

	return div_s64((s64)ahead * (1 << CODEL_SHIFT), NSEC_PER_USEC);
}

static int fq_rr_put_codel(struct sk_buff *skb, const struct fq_rr_flow_snapshot *snap)
{
	const struct codel_vars *codel = &snap->codel;

	/* without an interval above the target CoDel remembers what is over */
	if (nla_put_u32(skb, TCA_FQ_RR_FLOW_ABOVE, snap->above) ||
	    nla_put_u32(skb, TCA_FQ_RR_FLOW_DROPPING, snap->above && codel->dropping) ||
	    nla_put_u32(skb, TCA_FQ_RR_FLOW_COUNT, codel->count))
		return -EMSGSIZE;
	if (!snap->above || !codel->dropping)
		return 0;
	return nla_put_s32(skb, TCA_FQ_RR_FLOW_DROP_NEXT, fq_rr_drop_next_us(codel));
}

static int fq_rr_put_flow(struct sk_buff *skb,
			  const struct fq_rr_flow_snapshot *snap)
{
	struct nlattr *nest = nla_nest_start(skb, TCA_FQ_RR_STATS_FLOW);
	const struct queue_record *record = &snap->record;

	if (!nest ||
	    nla_put_s64(skb, TCA_FQ_RR_FLOW_CREDIT, snap->credit,
			TCA_FQ_RR_FLOW_PAD) ||
	    nla_put_u32(skb, TCA_FQ_RR_FLOW_HASH, snap->hash) ||
	    nla_put_u32(skb, TCA_FQ_RR_FLOW_SPARSE, snap->sparse) ||
	    nla_put_u32(skb, TCA_FQ_RR_FLOW_HEAD, snap->head_bytes) ||
	    nla_put_u32(skb, TCA_FQ_RR_FLOW_MARKS, record->marks) ||
	    nla_put_u32(skb, TCA_FQ_RR_FLOW_AV_DELAY,
			fq_rr_delay_us(record->sojourn.average)) ||
	    nla_put_u32(skb, TCA_FQ_RR_FLOW_PK_DELAY,
			fq_rr_delay_us(record->sojourn.peak)) ||
	    (snap->aqm && fq_rr_put_codel(skb, snap)) ||
	    (snap->host && nla_put_u32(skb, TCA_FQ_RR_FLOW_HOST, snap->host)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int fq_rr_dump_class_stats(struct Qdisc *sch, unsigned long cl,
				  struct gnet_dump *d)
{
	struct gnet_stats_basic_sync sent;
	struct fq_rr_flow_snapshot snap;
	struct nlattr *stats;

	fq_rr_take_flow(sch, cl, &snap);
	gnet_stats_basic_sync_init(&sent);
	_bstats_update(&sent, snap.record.bytes, snap.record.packets);
	if (gnet_stats_copy_basic(d, NULL, &sent, true) < 0 ||
	    gnet_stats_copy_queue(d, NULL, &snap.queue, snap.queue.qlen) < 0)
		return -1;
	stats = nla_nest_start(d->skb, TCA_STATS_APP);
	if (!stats)
		return -1;
	if (fq_rr_put_flow(d->skb, &snap)) {
		nla_nest_cancel(d->skb, stats);
		return -1;
	}
	nla_nest_end(d->skb, stats);
	return 0;
}

static const struct Qdisc_class_ops fq_rr_class_ops = {
	.leaf		= fq_rr_leaf,
	.find		= fq_rr_find,
	.change		= fq_rr_change_class,
	.walk		= fq_rr_walk,
	.tcf_block	= fq_rr_tcf_block,
	.bind_tcf	= fq_rr_bind,
	.unbind_tcf	= fq_rr_unbind,
	.dump		= fq_rr_dump_class,
	.dump_stats	= fq_rr_dump_class_stats,
};

#endif /* _FQ_RR_CLASS_H */
