/* SPDX-License-Identifier: GPL-2.0 */
/*
 * options.h once more, an option at a time and with the manual page's numbers;
 * compared for any request.
 */
#ifndef _FQ_RR_NAIVE_OPTIONS_H
#define _FQ_RR_NAIVE_OPTIONS_H

#include <stdio.h>
#include <stdlib.h>

#include "options.h"

/* one value into its place; whether it may be there */
static inline bool naive_option(struct fq_rr_config *c, unsigned int type, s64 v)
{
	const u64 bits = v;

	switch (type) {
	case TCA_FQ_RR_LIMIT:
		c->limit = bits;
		return bits <= 1048576;
	case TCA_FQ_RR_MEMORY_LIMIT:
		c->memory_limit = bits;
		return !bits || (bits >= 131072 && bits <= 1073741824);
	case TCA_FQ_RR_FLOWS:
		c->flows = bits;
		return bits >= 1 && bits <= 65536;
	case TCA_FQ_RR_QUANTUM:
		c->quantum = bits;
		return !bits || (bits >= 256 && bits <= 1048576);
	case TCA_FQ_RR_RATE64:
		c->rate_Bps = bits;
		return bits == ~0ULL || (bits >= 1000 && bits <= 125000000000);
	case TCA_FQ_RR_OVERHEAD:
		c->overhead = v;
		return v >= -64 && v <= 256;
	case TCA_FQ_RR_MPU:
		c->mpu = bits;
		return bits <= 256;
	case TCA_FQ_RR_SCHEDULER:
		c->scheduler = bits;
		return bits <= 1;
	case TCA_FQ_RR_DROP:
		c->drop = bits;
		return bits <= 3;
	case TCA_FQ_RR_SPLIT_GSO:
		c->split_gso = bits;
		return bits <= 1;
	case TCA_FQ_RR_SEED:
		c->seed = bits;
		return bits <= 4294967295;
	case TCA_FQ_RR_QLBP:
		c->qlbp = bits;
		return bits <= 1;
	case TCA_FQ_RR_MU_MIN:
		c->mu_min_Bps = bits;
		return !bits || (bits >= 1000 && bits <= 125000000000);
	case TCA_FQ_RR_MU_MAX:
		c->mu_max_Bps = bits;
		return !bits || (bits >= 1000 && bits <= 125000000000);
	case TCA_FQ_RR_Q_MAX:
		c->q_max = bits;
		return !bits || (bits >= 60 && bits <= 1073741824);
	case TCA_FQ_RR_LOAD:
		c->load = bits;
		return bits >= 1 && bits <= 100;
	case TCA_FQ_RR_MAX_DELAY:
		c->max_delay = bits;
		return bits >= 1 && bits <= 10000000;
	case TCA_FQ_RR_MODE:
		c->mode = bits;
		return bits <= 3;
	case TCA_FQ_RR_CHARGE_DROPS:
		c->charge_drops = bits;
		return bits <= 1;
	case TCA_FQ_RR_ECN:
		c->ecn = bits;
		return bits <= 100;
	case TCA_FQ_RR_LAYER:
		c->layer = bits;
		return bits <= 1;
	case TCA_FQ_RR_FRAMING:
		c->framing = bits;
		return bits <= 2;
	case TCA_FQ_RR_CATCH_UP:
		c->catch_up = bits;
		return bits <= 1000000;
	case TCA_FQ_RR_AQM:
		c->aqm = bits;
		return bits <= 1;
	case TCA_FQ_RR_TARGET:
		c->target = bits;
		return bits >= 10 && bits <= 10000000;
	case TCA_FQ_RR_INTERVAL:
		c->interval = bits;
		return bits >= 10 && bits <= 10000000;
	case TCA_FQ_RR_CE_THRESHOLD:
		c->ce_threshold = bits;
		return !bits || (bits >= 10 && bits <= 10000000);
	case TCA_FQ_RR_NOECN:
		c->noecn = bits;
		return bits <= 1;
	case TCA_FQ_RR_HOSTS:
		c->hosts = bits;
		return bits <= 3;
	case TCA_FQ_RR_NAT:
		c->nat = bits;
		return bits <= 1;
	}
	return true;
}

/* section III-C's rules of thumb: none of the products reaches 2^62 */
static inline bool naive_rule(struct fq_rr_config *c)
{
	const bool any_rate = c->rate_Bps == ~0ULL;
	struct qlbp *r = &c->rule;
	u64 q_max = c->q_max;

	r->link_Bps = any_rate ? 0 : c->rate_Bps;
	if (any_rate && (!c->mu_min_Bps || !c->mu_max_Bps))
		return false;
	r->mu_min_Bps = c->mu_min_Bps ?: c->rate_Bps * c->load / 200;
	r->mu_max_Bps = c->mu_max_Bps ?: c->rate_Bps * (100 + c->load) / 200;
	if (!q_max)
		q_max = r->mu_max_Bps * c->max_delay / 1000000;
	r->q_max_bytes = q_max;
	return r->mu_min_Bps <= r->mu_max_Bps &&
	       (any_rate || r->mu_max_Bps <= c->rate_Bps) &&
	       q_max >= 60 && q_max <= 1073741824;
}

static inline bool naive_set(struct fq_rr_config *c, bool fixed,
			     const struct fq_rr_request *request)
{
	const struct fq_rr_config before = *c;
	bool good = true, of_qlbp = false;
	unsigned int type;

	for (type = 0; type <= TCA_FQ_RR_MAX; type++)
		if (request->given & (1ULL << type)) {
			good &= naive_option(c, type, request->value[type]);
			of_qlbp |= type >= TCA_FQ_RR_MU_MIN &&
				   type <= TCA_FQ_RR_MAX_DELAY;
		}
	if (!good || (fixed && (c->flows != before.flows ||
				c->seed != before.seed)))
		return false;
	if (c->target > c->interval)
		return false;
	/* the fourth mode has one queue for all */
	if (c->hosts && c->mode == 3)
		return false;
	if (c->qlbp)
		return naive_rule(c);
	c->mu_min_Bps = 0;
	c->mu_max_Bps = 0;
	c->q_max = 0;
	c->load = 80;
	c->max_delay = 10000;
	c->rule.q_max_bytes = 0;
	return !of_qlbp;
}

static inline void naive_die(const char *what)
{
	fprintf(stderr, "options: %s\n", what);
	abort();
}

/**
 * naive_compare - one request to both
 * @config: present options of both; replaced where the request is good
 * @fixed: whether the options fixed at creation are fixed
 * @request: what is asked for
 *
 * Return: whether the request is good. Ends the program where the two differ.
 */
static inline bool naive_compare(struct fq_rr_config *config, bool fixed,
				 const struct fq_rr_request *request)
{
	struct fq_rr_config found = *config, wanted = *config;
	struct fq_rr_fault fault = fq_rr_options_set(&found, fixed, request);
	u32 backlog;

	if ((fault.kind == FQ_RR_FAULT_NONE) != naive_set(&wanted, fixed, request))
		naive_die("one takes it, one does not");
	if (fault.type > TCA_FQ_RR_MAX || (fault.type != TCA_FQ_RR_UNSPEC &&
	     !(fq_rr_options[fault.type].name && fq_rr_given(request, fault.type))))
		naive_die("what was not given is at fault");
	if (fault.kind != FQ_RR_FAULT_NONE)
		return false;
	if (memcmp(&found, &wanted, sizeof(found)))
		naive_die("another configuration");
	/* and the rule is one that can be followed, with whatever waits */
	for (backlog = 0; found.rule.q_max_bytes && backlog < 32; backlog++) {
		u64 rate = qlbp_rate(&found.rule, 1U << backlog);

		if ((rate && rate < 5) || rate > 125000000000)
			naive_die("a rate beyond all limits");
	}
	*config = found;
	return true;
}

#endif
