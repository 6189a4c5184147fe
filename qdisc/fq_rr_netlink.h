/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Options and statistics as netlink attributes: options.h says what is right, and this what
 * is said about what is wrong.
 */
#ifndef _FQ_RR_NETLINK_H
#define _FQ_RR_NETLINK_H

#include <net/gen_stats.h>
#include <net/netlink.h>

#include "fq_rr_nat.h"
#include "fq_rr_sched.h"

/* ---- options ---- */

/* not const: Linux 6.1 has no policy that points to what is */
static struct netlink_range_validation fq_rr_ranges[TCA_FQ_RR_MAX + 1] __ro_after_init;

static struct netlink_range_validation_signed fq_rr_overhead_range __ro_after_init = {
	.min = FQ_RR_OVERHEAD_MIN,
	.max = FQ_RR_OVERHEAD_MAX,
};

/*
 * By a range, and no function: Linux 6.1 shows whoever asked the policy of what it refused,
 * and takes a function's address for two limits there.
 */
#define FQ_RR_RANGED(attr_type, attr) NLA_POLICY_FULL_RANGE(attr_type, &fq_rr_ranges[attr])

static const struct nla_policy fq_rr_policy[TCA_FQ_RR_MAX + 1] = {
	[TCA_FQ_RR_LIMIT]	 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_LIMIT),
	[TCA_FQ_RR_MEMORY_LIMIT] = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_MEMORY_LIMIT),
	[TCA_FQ_RR_FLOWS]	 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_FLOWS),
	[TCA_FQ_RR_QUANTUM]	 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_QUANTUM),
	[TCA_FQ_RR_RATE64]	 = FQ_RR_RANGED(NLA_U64, TCA_FQ_RR_RATE64),
	[TCA_FQ_RR_OVERHEAD]	 = NLA_POLICY_FULL_RANGE_SIGNED(NLA_S32, &fq_rr_overhead_range),
	[TCA_FQ_RR_MPU]		 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_MPU),
	[TCA_FQ_RR_SCHEDULER]	 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_SCHEDULER),
	[TCA_FQ_RR_DROP]	 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_DROP),
	[TCA_FQ_RR_SPLIT_GSO]	 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_SPLIT_GSO),
	[TCA_FQ_RR_SEED]	 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_SEED),
	[TCA_FQ_RR_QLBP]	 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_QLBP),
	[TCA_FQ_RR_MU_MIN]	 = FQ_RR_RANGED(NLA_U64, TCA_FQ_RR_MU_MIN),
	[TCA_FQ_RR_MU_MAX]	 = FQ_RR_RANGED(NLA_U64, TCA_FQ_RR_MU_MAX),
	[TCA_FQ_RR_Q_MAX]	 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_Q_MAX),
	[TCA_FQ_RR_LOAD]	 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_LOAD),
	[TCA_FQ_RR_MAX_DELAY]	 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_MAX_DELAY),
	[TCA_FQ_RR_MODE]	 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_MODE),
	[TCA_FQ_RR_CHARGE_DROPS] = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_CHARGE_DROPS),
	[TCA_FQ_RR_ECN]		 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_ECN),
	[TCA_FQ_RR_LAYER]	 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_LAYER),
	[TCA_FQ_RR_FRAMING]	 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_FRAMING),
	[TCA_FQ_RR_CATCH_UP]	 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_CATCH_UP),
	[TCA_FQ_RR_AQM]		 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_AQM),
	[TCA_FQ_RR_TARGET]	 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_TARGET),
	[TCA_FQ_RR_INTERVAL]	 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_INTERVAL),
	[TCA_FQ_RR_CE_THRESHOLD] = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_CE_THRESHOLD),
	[TCA_FQ_RR_NOECN]	 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_NOECN),
	[TCA_FQ_RR_HOSTS]	 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_HOSTS),
	[TCA_FQ_RR_NAT]		 = FQ_RR_RANGED(NLA_U32, TCA_FQ_RR_NAT),
};

/* fq_rr_options is where ranges are */
static void __init fq_rr_ranges_init(void)
{
	unsigned int type;

	for (type = 0; type <= TCA_FQ_RR_MAX; type++)
		fq_rr_option_hull(type, &fq_rr_ranges[type].min, &fq_rr_ranges[type].max);
}

static s64 fq_rr_value(const struct nla_policy *policy,
		       const struct nlattr *attr)
{
	switch (policy->type) {
	case NLA_U64:
		return nla_get_u64(attr);
	case NLA_S32:
		return nla_get_s32(attr);
	default:
		return nla_get_u32(attr);
	}
}

static void fq_rr_explain_range(const struct fq_rr_fault *fault,
				struct netlink_ext_ack *extack)
{
	const struct fq_rr_option *option = &fq_rr_options[fault->type];
	/* a rate beyond all limits may have the topmost bit */
	bool negative = (s64)fault->value < 0 &&
			fq_rr_policy[fault->type].type == NLA_S32;

	NL_SET_ERR_MSG_FMT_MOD(extack, "%s %s%llu is not in %lld..%lld%s",
			       option->name, negative ? "-" : "",
			       negative ? -fault->value : fault->value,
			       option->min, option->max, option->unit);
}

static void fq_rr_explain(const struct fq_rr_fault *fault,
			  struct netlink_ext_ack *extack)
{
	const char *name = fq_rr_options[fault->type].name;

	switch (fault->kind) {
	case FQ_RR_FAULT_NONE:
		break;
	case FQ_RR_FAULT_RANGE:
		fq_rr_explain_range(fault, extack);
		break;
	case FQ_RR_FAULT_FIXED:
		/* with two numbers of ten digits 78 characters, of 79 at most */
		NL_SET_ERR_MSG_FMT_MOD(extack,
				       "%s %llu is fixed, cannot become %llu: delete it first",
				       name, fault->than, fault->value);
		break;
	case FQ_RR_FAULT_NO_QLBP:
		NL_SET_ERR_MSG_FMT_MOD(extack, "%s means nothing without qlbp",
				       name);
		break;
	case FQ_RR_FAULT_NO_RATE:
		NL_SET_ERR_MSG_MOD(extack, "qlbp without a rate needs mu-min and mu-max");
		break;
	case FQ_RR_FAULT_MU_MIN:
		NL_SET_ERR_MSG_FMT_MOD(extack, "mu-min %llu is above mu-max %llu bytes/s",
				       fault->value, fault->than);
		break;
	case FQ_RR_FAULT_MU_MAX:
		NL_SET_ERR_MSG_FMT_MOD(extack, "mu-max %llu is above the rate %llu bytes/s",
				       fault->value, fault->than);
		break;
	case FQ_RR_FAULT_Q_MAX:
		NL_SET_ERR_MSG_FMT_MOD(extack, "q-max %llu by max-delay is not in %u..%u bytes",
				       fault->value, FQ_RR_Q_MAX_MIN,
				       FQ_RR_Q_MAX_MAX);
		break;
	case FQ_RR_FAULT_TARGET:
		NL_SET_ERR_MSG_FMT_MOD(extack, "target %llu is above interval %llu us",
				       fault->value, fault->than);
		break;
	case FQ_RR_FAULT_HOSTS:
		NL_SET_ERR_MSG_FMT_MOD(extack,
				       "hosts %llu: must be 0 with mode class, one queue for all",
				       fault->value);
		break;
	}
}

/* the error of what the policy refused, whose own words name neither value nor limit */
static int fq_rr_explain_refused(int err, const struct nlattr *nest,
				 struct netlink_ext_ack *extack)
{
	const struct nlattr *attr = extack ? extack->bad_attr : NULL;
	struct fq_rr_fault fault = { .kind = FQ_RR_FAULT_RANGE };

	/* the nest itself has a type of another set */
	if (!attr || attr == nest)
		return err;
	fault.type = nla_type(attr);
	/* what is of another kind or length is refused for that */
	if (fault.type > TCA_FQ_RR_MAX || !fq_rr_options[fault.type].name ||
	    nla_len(attr) != fq_rr_options[fault.type].size)
		return err;
	fault.value = fq_rr_value(&fq_rr_policy[fault.type], attr);
	if (fq_rr_option_takes(fault.type, fault.value))
		return err;
	fq_rr_explain(&fault, extack);
	return -EINVAL;
}

/**
 * fq_rr_parse - read and check all attributes
 * @config: in: present values; out: values asked for. Of no use on error.
 * @fixed: whether the values fixed at creation are fixed
 * @opt: nest of attributes
 * @request: out: what is asked for
 * @extack: names attribute, value and limit on error
 *
 * Return: 0 or a negative error.
 */
static int fq_rr_parse(struct fq_rr_config *config, bool fixed,
		       struct nlattr *opt, struct fq_rr_request *request,
		       struct netlink_ext_ack *extack)
{
	struct nlattr *tb[TCA_FQ_RR_MAX + 1];
	bool had_nat = config->nat;
	struct fq_rr_fault fault;
	unsigned int type;
	int err;

	err = nla_parse_nested(tb, TCA_FQ_RR_MAX, opt, fq_rr_policy, extack);
	if (err)
		return fq_rr_explain_refused(err, opt, extack);
	for (type = 0; type <= TCA_FQ_RR_MAX; type++) {
		if (!tb[type] || !fq_rr_options[type].name)
			continue;
		request->given |= BIT_ULL(type);
		request->value[type] = fq_rr_value(&fq_rr_policy[type], tb[type]);
	}
	fault = fq_rr_options_set(config, fixed, request);
	if (fault.kind == FQ_RR_FAULT_NONE) {
		if (had_nat || !config->nat || fq_rr_has_conntrack())
			return 0;
		NL_SET_ERR_MSG_MOD(extack, "nat needs the module nf_conntrack: it is not loaded");
		NL_SET_BAD_ATTR(extack, tb[TCA_FQ_RR_NAT]);
		return -EOPNOTSUPP;
	}
	fq_rr_explain(&fault, extack);
	if (fault.type != TCA_FQ_RR_UNSPEC)
		NL_SET_BAD_ATTR(extack, tb[fault.type]);
	return fault.kind == FQ_RR_FAULT_FIXED ? -EOPNOTSUPP : -EINVAL;
}

static int fq_rr_put_option(struct sk_buff *skb, unsigned int type, u64 value)
{
	switch (fq_rr_policy[type].type) {
	case NLA_U64:
		return nla_put_u64_64bit(skb, type, value, TCA_FQ_RR_PAD);
	case NLA_S32:
		return nla_put_s32(skb, type, value);
	default:
		return nla_put_u32(skb, type, value);
	}
}

static int fq_rr_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct fq_rr_sched *q = qdisc_priv(sch);
	const struct fq_rr_config *config = &q->config;
	bool qlbp = READ_ONCE(config->qlbp);
	struct nlattr *opts;
	unsigned int type;

	opts = nla_nest_start(skb, TCA_OPTIONS);
	if (!opts)
		return -EMSGSIZE;
	for (type = 0; type <= TCA_FQ_RR_MAX; type++) {
		if (!fq_rr_options[type].name ||
		    (fq_rr_is_of_qlbp(type) && !qlbp))
			continue;
		if (fq_rr_put_option(skb, type, fq_rr_option_get(config, type))) {
			nla_nest_cancel(skb, opts);
			return -EMSGSIZE;
		}
	}
	return nla_nest_end(skb, opts);
}

/* ---- statistics ---- */

/* everything a reader is shown, but for the longest queue taken at one moment */
struct fq_rr_snapshot {
	struct fq_rr_stats stats;
	struct buffer_counts drops;
	u32 flows_active;
	u32 hosts_active;
	bool by_host;
	u32 longest;
	u32 memory;
	u32 quantum;
	struct fq_rr_limits limits;
	struct qlbp qlbp;
	u64 pacing_rate_Bps;
	u64 lost_ns;
};

/*
 * A look at every queue, without the lock: anyone may read statistics, which must not
 * hold up packets nor change what the data path does next.
 */
static u32 fq_rr_longest_bytes(const struct fq_rr_sched *q)
{
	u32 longest = 0;
	u32 i;

	for (i = 0; i < q->config.flows; i++)
		longest = max(longest, READ_ONCE(q->buffer.flows[i].bytes));
	return longest;
}

static void fq_rr_take_snapshot(struct Qdisc *sch, struct fq_rr_snapshot *snap)
{
	struct fq_rr_sched *q = qdisc_priv(sch);

	sch_tree_lock(sch);
	snap->stats = q->stats;
	snap->drops = q->buffer.counts;
	snap->flows_active = buffer_active(&q->buffer);
	snap->hosts_active = q->buffer.rr.active;
	snap->by_host = q->buffer.by_host;
	snap->memory = q->buffer.memory;
	snap->quantum = q->quantum_bytes;
	snap->limits.packets = q->buffer.limit;
	snap->limits.memory = q->buffer.memory_limit;
	snap->qlbp = q->config.rule;
	snap->pacing_rate_Bps = q->shaper.rate_Bps;
	snap->lost_ns = q->shaper.lost_ns;
	sch_tree_unlock(sch);
	snap->longest = fq_rr_longest_bytes(q);
}

static int fq_rr_put_stats(struct sk_buff *skb,
			   const struct fq_rr_snapshot *snap)
{
	const struct buffer_counts *drops = &snap->drops;
	const struct fq_rr_stats *stats = &snap->stats;
	const struct {
		int type;
		u64 value;
	} wide[] = {
		{ TCA_FQ_RR_STATS_ENQUEUED, stats->enqueued },
		{ TCA_FQ_RR_STATS_DROPS_FLUSHED, drops->flushed },
		{ TCA_FQ_RR_STATS_DROPS_HEAD, drops->head },
		{ TCA_FQ_RR_STATS_DROPS_TAIL, drops->tail },
		{ TCA_FQ_RR_STATS_DROPS_ARRIVING, stats->drops_arriving },
		{ TCA_FQ_RR_STATS_DROPS_GSO, stats->drops_gso },
		{ TCA_FQ_RR_STATS_FLUSHES, drops->flushes },
		{ TCA_FQ_RR_STATS_OVER_LIMIT, drops->over_limit },
		{ TCA_FQ_RR_STATS_OVER_MEMORY, drops->over_memory },
		{ TCA_FQ_RR_STATS_SPLIT, stats->split },
		{ TCA_FQ_RR_STATS_SEGMENTS, stats->segments },
		{ TCA_FQ_RR_STATS_ACTIVATIONS, stats->activations },
		{ TCA_FQ_RR_STATS_SPARSE, stats->sparse },
		{ TCA_FQ_RR_STATS_COLLISIONS, stats->collisions },
		{ TCA_FQ_RR_STATS_LAG_MAX, stats->lag_max_ns },
		{ TCA_FQ_RR_STATS_CLASSIFIED, stats->classified },
		{ TCA_FQ_RR_STATS_REHASHES, stats->rehashes },
		{ TCA_FQ_RR_STATS_MARKS, stats->marks },
		{ TCA_FQ_RR_STATS_OVER_SHARE, stats->over_share },
		{ TCA_FQ_RR_STATS_LOST, snap->lost_ns },
		{ TCA_FQ_RR_STATS_DROPS_AQM, stats->drops_aqm },
		{ TCA_FQ_RR_STATS_MARKS_AQM, stats->marks_aqm },
		{ TCA_FQ_RR_STATS_MARKS_CE, stats->marks_ce },
	};
	const struct {
		int type;
		u32 value;
	} narrow[] = {
		{ TCA_FQ_RR_STATS_FLOWS_ACTIVE, snap->flows_active },
		{ TCA_FQ_RR_STATS_LONGEST, snap->longest },
		{ TCA_FQ_RR_STATS_LONGEST_MAX, stats->longest_max },
		{ TCA_FQ_RR_STATS_MEMORY, snap->memory },
		{ TCA_FQ_RR_STATS_MEMORY_MAX, stats->memory_max },
		{ TCA_FQ_RR_STATS_QUANTUM, snap->quantum },
		{ TCA_FQ_RR_STATS_AV_DELAY, fq_rr_delay_us(stats->sojourn.average) },
		{ TCA_FQ_RR_STATS_PK_DELAY, fq_rr_delay_us(stats->sojourn.peak) },
		{ TCA_FQ_RR_STATS_LIMIT, snap->limits.packets },
		{ TCA_FQ_RR_STATS_MEMORY_LIMIT, snap->limits.memory },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wide); i++)
		if (nla_put_u64_64bit(skb, wide[i].type, wide[i].value,
				      TCA_FQ_RR_STATS_PAD))
			return -EMSGSIZE;
	for (i = 0; i < ARRAY_SIZE(narrow); i++)
		if (nla_put_u32(skb, narrow[i].type, narrow[i].value))
			return -EMSGSIZE;
	return 0;
}

static int fq_rr_put_pacing(struct sk_buff *skb,
			    const struct fq_rr_snapshot *snap)
{
	const struct qlbp *qlbp = &snap->qlbp;
	const struct {
		int type;
		u64 value;
	} wide[] = {
		{ TCA_FQ_RR_STATS_MU_MIN, qlbp->mu_min_Bps },
		{ TCA_FQ_RR_STATS_MU_MAX, qlbp->mu_max_Bps },
		{ TCA_FQ_RR_STATS_PACING_RATE, snap->pacing_rate_Bps },
		{ TCA_FQ_RR_STATS_PACING_BOUND, qlbp_delay_bound_ns(qlbp) },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wide); i++)
		if (nla_put_u64_64bit(skb, wide[i].type, wide[i].value,
				      TCA_FQ_RR_STATS_PAD))
			return -EMSGSIZE;
	return nla_put_u32(skb, TCA_FQ_RR_STATS_Q_MAX, qlbp->q_max_bytes);
}

static int fq_rr_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct fq_rr_snapshot snap;
	struct nlattr *stats;

	fq_rr_take_snapshot(sch, &snap);
	stats = nla_nest_start(d->skb, TCA_STATS_APP);
	if (!stats)
		return -1;
	if (fq_rr_put_stats(d->skb, &snap) ||
	    (snap.by_host && nla_put_u32(d->skb, TCA_FQ_RR_STATS_HOSTS_ACTIVE,
					 snap.hosts_active)) ||
	    (snap.qlbp.q_max_bytes && fq_rr_put_pacing(d->skb, &snap))) {
		nla_nest_cancel(d->skb, stats);
		return -1;
	}
	nla_nest_end(d->skb, stats);
	return 0;
}

#endif /* _FQ_RR_NETLINK_H */
