/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What fq_rr may be asked for, and what follows from it.
 *
 * A request is a set of numbers, one for each attribute of the netlink message
 * that was there. fq_rr_options_set() checks all of them, alone and against each
 * other, and derives the pacing rule; it says what is wrong as numbers, so that
 * whoever reads the message can put it into words. Limits, units and their
 * reasons are in pkt_sched_fq_rr.h.
 */
#ifndef _FQ_RR_OPTIONS_H
#define _FQ_RR_OPTIONS_H

#include <linux/pkt_sched_fq_rr.h>

#include "portable.h"
#include "qlbp.h"

/**
 * struct fq_rr_config - options as the user gave them
 * @rate_Bps: bytes per second, FQ_RR_RATE_NONE: no limit
 * @limit: packets, or FQ_RR_LIMIT_AUTO
 * @memory_limit: bytes, or FQ_RR_MEMORY_LIMIT_AUTO
 * @flows: queues
 * @quantum: bytes, or FQ_RR_QUANTUM_AUTO
 * @overhead: bytes per packet
 * @mpu: bytes
 * @scheduler: enum fq_rr_scheduler
 * @drop: enum fq_rr_drop
 * @split_gso: 0 or 1
 * @seed: of the flow hash, or FQ_RR_SEED_RANDOM
 * @qlbp: 0 or 1
 * @mu_min_Bps: bytes per second, or FQ_RR_MU_AUTO
 * @mu_max_Bps: bytes per second, or FQ_RR_MU_AUTO
 * @q_max: bytes, or FQ_RR_Q_MAX_AUTO
 * @load: per cent
 * @max_delay: us
 * @rule: what follows from the six before and the rate; q_max_bytes 0: no pacing
 * @mode: enum fq_rr_mode
 * @charge_drops: 0 or 1
 * @ecn: per cent, or FQ_RR_ECN_OFF
 * @layer: enum fq_rr_layer
 * @framing: enum fq_rr_framing
 * @catch_up: us
 * @aqm: 0 or 1
 * @target: us, no more than @interval
 * @interval: us
 * @ce_threshold: us, or FQ_RR_CE_THRESHOLD_OFF
 * @noecn: 0 or 1
 * @hosts: enum fq_rr_hosts, FQ_RR_HOSTS_NONE if @mode is FQ_RR_MODE_CLASS
 * @nat: 0 or 1
 */
struct fq_rr_config {
	u64 rate_Bps;
	u32 limit;
	u32 memory_limit;
	u32 flows;
	u32 quantum;
	s32 overhead;
	u32 mpu;
	u32 scheduler;
	u32 drop;
	u32 split_gso;
	u32 seed;
	u32 qlbp;
	u64 mu_min_Bps;
	u64 mu_max_Bps;
	u32 q_max;
	u32 load;
	u32 max_delay;
	struct qlbp rule;
	u32 mode;
	u32 charge_drops;
	u32 ecn;
	u32 layer;
	u32 framing;
	u32 catch_up;
	u32 aqm;
	u32 target;
	u32 interval;
	u32 ce_threshold;
	u32 noecn;
	u32 hosts;
	u32 nat;
};

/**
 * struct fq_rr_option - one option
 * @name: as tc calls it; NULL: no option
 * @unit: for a message, with a space before it
 * @min: least value
 * @max: greatest value
 * @also: a value outside that means something of its own (auto, none), or @min;
 *	an unsigned 64-bit one as its bits
 * @offset: of its place in &struct fq_rr_config
 * @size: of that place, 4 or 8 bytes; 0: no option
 */
struct fq_rr_option {
	const char *name;
	const char *unit;
	s64 min;
	s64 max;
	s64 also;
	u16 offset;
	u16 size;
};

#define FQ_RR_OPTION_AT(member)						\
	.offset = offsetof(struct fq_rr_config, member),		\
	.size = sizeof_field(struct fq_rr_config, member)

static const struct fq_rr_option fq_rr_options[TCA_FQ_RR_MAX + 1] = {
	[TCA_FQ_RR_LIMIT] = {
		"limit", " packets", FQ_RR_LIMIT_MIN, FQ_RR_LIMIT_MAX,
		FQ_RR_LIMIT_AUTO, FQ_RR_OPTION_AT(limit) },
	[TCA_FQ_RR_MEMORY_LIMIT] = {
		"memory-limit", " bytes", FQ_RR_MEMORY_LIMIT_MIN,
		FQ_RR_MEMORY_LIMIT_MAX, FQ_RR_MEMORY_LIMIT_AUTO,
		FQ_RR_OPTION_AT(memory_limit) },
	[TCA_FQ_RR_FLOWS] = {
		"flows", "", FQ_RR_FLOWS_MIN, FQ_RR_FLOWS_MAX,
		FQ_RR_FLOWS_MIN, FQ_RR_OPTION_AT(flows) },
	[TCA_FQ_RR_QUANTUM] = {
		"quantum", " bytes", FQ_RR_QUANTUM_MIN, FQ_RR_QUANTUM_MAX,
		FQ_RR_QUANTUM_AUTO, FQ_RR_OPTION_AT(quantum) },
	[TCA_FQ_RR_RATE64] = {
		"rate", " bytes/s", FQ_RR_RATE_MIN, FQ_RR_RATE_MAX,
		FQ_RR_RATE_NONE, FQ_RR_OPTION_AT(rate_Bps) },
	[TCA_FQ_RR_OVERHEAD] = {
		"overhead", " bytes", FQ_RR_OVERHEAD_MIN, FQ_RR_OVERHEAD_MAX,
		FQ_RR_OVERHEAD_MIN, FQ_RR_OPTION_AT(overhead) },
	[TCA_FQ_RR_MPU] = {
		"mpu", " bytes", 0, FQ_RR_MPU_MAX, 0, FQ_RR_OPTION_AT(mpu) },
	[TCA_FQ_RR_SCHEDULER] = {
		"scheduler", "", 0, FQ_RR_SCHEDULER_MAX, 0,
		FQ_RR_OPTION_AT(scheduler) },
	[TCA_FQ_RR_DROP] = {
		"drop", "", 0, FQ_RR_DROP_MAX, 0, FQ_RR_OPTION_AT(drop) },
	[TCA_FQ_RR_SPLIT_GSO] = {
		"split-gso", "", 0, 1, 0, FQ_RR_OPTION_AT(split_gso) },
	[TCA_FQ_RR_SEED] = {
		"seed", "", 0, U32_MAX, 0, FQ_RR_OPTION_AT(seed) },
	[TCA_FQ_RR_QLBP] = {
		"qlbp", "", 0, 1, 0, FQ_RR_OPTION_AT(qlbp) },
	[TCA_FQ_RR_MU_MIN] = {
		"mu-min", " bytes/s", FQ_RR_RATE_MIN, FQ_RR_RATE_MAX,
		FQ_RR_MU_AUTO, FQ_RR_OPTION_AT(mu_min_Bps) },
	[TCA_FQ_RR_MU_MAX] = {
		"mu-max", " bytes/s", FQ_RR_RATE_MIN, FQ_RR_RATE_MAX,
		FQ_RR_MU_AUTO, FQ_RR_OPTION_AT(mu_max_Bps) },
	[TCA_FQ_RR_Q_MAX] = {
		"q-max", " bytes", FQ_RR_Q_MAX_MIN, FQ_RR_Q_MAX_MAX,
		FQ_RR_Q_MAX_AUTO, FQ_RR_OPTION_AT(q_max) },
	[TCA_FQ_RR_LOAD] = {
		"load", " per cent", FQ_RR_LOAD_MIN, FQ_RR_LOAD_MAX,
		FQ_RR_LOAD_MIN, FQ_RR_OPTION_AT(load) },
	[TCA_FQ_RR_MAX_DELAY] = {
		"max-delay", " us", FQ_RR_MAX_DELAY_MIN, FQ_RR_MAX_DELAY_MAX,
		FQ_RR_MAX_DELAY_MIN, FQ_RR_OPTION_AT(max_delay) },
	[TCA_FQ_RR_MODE] = {
		"mode", "", 0, FQ_RR_MODE_MAX, 0, FQ_RR_OPTION_AT(mode) },
	[TCA_FQ_RR_CHARGE_DROPS] = {
		"charge-drops", "", 0, 1, 0, FQ_RR_OPTION_AT(charge_drops) },
	[TCA_FQ_RR_ECN] = {
		"ecn", " per cent", FQ_RR_ECN_MIN, FQ_RR_ECN_MAX,
		FQ_RR_ECN_OFF, FQ_RR_OPTION_AT(ecn) },
	[TCA_FQ_RR_LAYER] = {
		"layer", "", 0, FQ_RR_LAYER_MAX, 0, FQ_RR_OPTION_AT(layer) },
	[TCA_FQ_RR_FRAMING] = {
		"framing", "", 0, FQ_RR_FRAMING_MAX, 0,
		FQ_RR_OPTION_AT(framing) },
	[TCA_FQ_RR_CATCH_UP] = {
		"catch-up", " us", FQ_RR_CATCH_UP_MIN, FQ_RR_CATCH_UP_MAX,
		FQ_RR_CATCH_UP_MIN, FQ_RR_OPTION_AT(catch_up) },
	[TCA_FQ_RR_AQM] = {
		"aqm", "", 0, 1, 0, FQ_RR_OPTION_AT(aqm) },
	[TCA_FQ_RR_TARGET] = {
		"target", " us", FQ_RR_TARGET_MIN, FQ_RR_TARGET_MAX,
		FQ_RR_TARGET_MIN, FQ_RR_OPTION_AT(target) },
	[TCA_FQ_RR_INTERVAL] = {
		"interval", " us", FQ_RR_INTERVAL_MIN, FQ_RR_INTERVAL_MAX,
		FQ_RR_INTERVAL_MIN, FQ_RR_OPTION_AT(interval) },
	[TCA_FQ_RR_CE_THRESHOLD] = {
		"ce-threshold", " us", FQ_RR_CE_THRESHOLD_MIN,
		FQ_RR_CE_THRESHOLD_MAX, FQ_RR_CE_THRESHOLD_OFF,
		FQ_RR_OPTION_AT(ce_threshold) },
	[TCA_FQ_RR_NOECN] = {
		"noecn", "", 0, 1, 0, FQ_RR_OPTION_AT(noecn) },
	[TCA_FQ_RR_HOSTS] = {
		"hosts", "", 0, FQ_RR_HOSTS_MAX, 0, FQ_RR_OPTION_AT(hosts) },
	[TCA_FQ_RR_NAT] = {
		"nat", "", 0, 1, 0, FQ_RR_OPTION_AT(nat) },
};

/**
 * struct fq_rr_request - the numbers of one netlink message
 * @given: bit n: attribute n was there
 * @value: of attribute n, signed ones with their sign, others as their bits
 */
struct fq_rr_request {
	u64 given;
	s64 value[TCA_FQ_RR_MAX + 1];
};

static_assert(TCA_FQ_RR_MAX < 64, "a bit for each attribute");

/**
 * enum fq_rr_fault_kind - what is wrong with a request
 * @FQ_RR_FAULT_NONE: nothing
 * @FQ_RR_FAULT_RANGE: a value is outside its range
 * @FQ_RR_FAULT_FIXED: what is fixed at creation would become another
 * @FQ_RR_FAULT_NO_QLBP: an option of qlbp's without qlbp
 * @FQ_RR_FAULT_NO_RATE: qlbp has no rate to derive mu-min or mu-max from
 * @FQ_RR_FAULT_MU_MIN: mu-min is above mu-max
 * @FQ_RR_FAULT_MU_MAX: mu-max is above the rate
 * @FQ_RR_FAULT_Q_MAX: q-max, as it follows from max-delay, is outside its range
 * @FQ_RR_FAULT_TARGET: target is above interval
 * @FQ_RR_FAULT_HOSTS: hosts with mode class
 */
enum fq_rr_fault_kind {
	FQ_RR_FAULT_NONE,
	FQ_RR_FAULT_RANGE,
	FQ_RR_FAULT_FIXED,
	FQ_RR_FAULT_NO_QLBP,
	FQ_RR_FAULT_NO_RATE,
	FQ_RR_FAULT_MU_MIN,
	FQ_RR_FAULT_MU_MAX,
	FQ_RR_FAULT_Q_MAX,
	FQ_RR_FAULT_TARGET,
	FQ_RR_FAULT_HOSTS,
};

/**
 * struct fq_rr_fault - what is wrong with a request, and with which numbers
 * @kind: what
 * @type: attribute at fault; TCA_FQ_RR_UNSPEC where two contradict each other
 * @value: the value that cannot be
 * @than: what it contradicts: the present value, mu-max, the rate, or interval
 */
struct fq_rr_fault {
	enum fq_rr_fault_kind kind;
	unsigned int type;
	u64 value;
	u64 than;
};

static inline bool fq_rr_given(const struct fq_rr_request *request,
			       unsigned int type)
{
	return request->given & (1ULL << type);
}

/* those that mean nothing without qlbp */
static inline bool fq_rr_is_of_qlbp(unsigned int type)
{
	return type >= TCA_FQ_RR_MU_MIN && type <= TCA_FQ_RR_MAX_DELAY;
}

static inline void fq_rr_option_write(struct fq_rr_config *config,
				      const struct fq_rr_option *option,
				      s64 value)
{
	void *place = (u8 *)config + option->offset;

	if (option->size == sizeof(u64))
		WRITE_ONCE(*(u64 *)place, value);
	else
		WRITE_ONCE(*(u32 *)place, value);
}

/**
 * fq_rr_option_get - an option's value
 * @config: options
 * @type: attribute
 *
 * Read in one piece: a dump may read while a change writes.
 *
 * Return: its value; of a signed one the bits of 32; 0 if it is no option.
 */
static inline u64 fq_rr_option_get(const struct fq_rr_config *config,
				   unsigned int type)
{
	const void *place;

	if (type > TCA_FQ_RR_MAX || !fq_rr_options[type].size)
		return 0;
	place = (const u8 *)config + fq_rr_options[type].offset;
	return fq_rr_options[type].size == sizeof(u64) ?
	       READ_ONCE(*(const u64 *)place) : READ_ONCE(*(const u32 *)place);
}

/**
 * fq_rr_options_publish - put checked options where readers without a lock see them
 * @shown: options in force, out
 * @config: options as fq_rr_options_set() left them
 */
static inline void fq_rr_options_publish(struct fq_rr_config *shown,
					 const struct fq_rr_config *config)
{
	unsigned int type;

	for (type = 0; type <= TCA_FQ_RR_MAX; type++)
		if (fq_rr_options[type].name)
			fq_rr_option_write(shown, &fq_rr_options[type],
					   fq_rr_option_get(config, type));
	shown->rule = config->rule;
}

/* not all at once in fq_rr_options_default(): also where qlbp is switched off */
static inline void fq_rr_options_default_qlbp(struct fq_rr_config *config)
{
	config->mu_min_Bps = FQ_RR_MU_AUTO;
	config->mu_max_Bps = FQ_RR_MU_AUTO;
	config->q_max = FQ_RR_Q_MAX_AUTO;
	config->load = FQ_RR_LOAD_DEFAULT;
	config->max_delay = FQ_RR_MAX_DELAY_DEFAULT;
	config->rule.q_max_bytes = 0;
}

/**
 * fq_rr_options_default - what a new qdisc has where nothing is asked for
 * @config: out
 */
static inline void fq_rr_options_default(struct fq_rr_config *config)
{
	*config = (struct fq_rr_config) {
		.rate_Bps = FQ_RR_RATE_NONE,
		.limit = FQ_RR_LIMIT_AUTO,
		.memory_limit = FQ_RR_MEMORY_LIMIT_AUTO,
		.flows = FQ_RR_FLOWS_DEFAULT,
		.quantum = FQ_RR_QUANTUM_AUTO,
		.scheduler = FQ_RR_SCHEDULER_DRR,
		.drop = FQ_RR_DROP_LONGEST_QUEUE,
		.split_gso = 1,
		.seed = FQ_RR_SEED_RANDOM,
		.mode = FQ_RR_MODE_FLOW,
		.ecn = FQ_RR_ECN_OFF,
		.catch_up = FQ_RR_CATCH_UP_DEFAULT,
		.aqm = 1,
		.target = FQ_RR_TARGET_DEFAULT,
		.interval = FQ_RR_INTERVAL_DEFAULT,
		.ce_threshold = FQ_RR_CE_THRESHOLD_OFF,
	};
	fq_rr_options_default_qlbp(config);
}

/**
 * fq_rr_link_Bps - the rate of the link
 * @config: options
 *
 * Return: bytes per second, 0: no limit.
 */
static inline u64 fq_rr_link_Bps(const struct fq_rr_config *config)
{
	return config->rate_Bps == FQ_RR_RATE_NONE ? 0 : config->rate_Bps;
}

/**
 * fq_rr_quantum_bytes - the quantum that options come to
 * @config: options
 * @packet_bytes: largest packet of the device; a tunnel's may be 0 or 2 GB
 *
 * Return: bytes, FQ_RR_QUANTUM_MIN to FQ_RR_QUANTUM_MAX.
 */
static inline u32 fq_rr_quantum_bytes(const struct fq_rr_config *config,
				      u32 packet_bytes)
{
	if (config->quantum != FQ_RR_QUANTUM_AUTO)
		packet_bytes = config->quantum;
	return clamp_t(u32, packet_bytes, FQ_RR_QUANTUM_MIN,
		       FQ_RR_QUANTUM_MAX);
}

/**
 * struct fq_rr_limits - the buffer that options come to
 * @packets: that may wait, FQ_RR_LIMIT_MIN to FQ_RR_LIMIT_MAX
 * @memory: that they may occupy (bytes), FQ_RR_MEMORY_LIMIT_MIN to FQ_RR_MEMORY_LIMIT_MAX
 */
struct fq_rr_limits {
	u32 packets;
	u32 memory;
};

/**
 * fq_rr_limits - the buffer that options come to
 * @config: options, as fq_rr_options_set() left them
 *
 * The reasons stand at FQ_RR_LIMIT_AUTO.
 *
 * Return: its limits.
 */
static inline struct fq_rr_limits fq_rr_limits(const struct fq_rr_config *config)
{
	u64 rate_Bps = fq_rr_link_Bps(config), memory;
	struct fq_rr_limits limits = {
		.packets = config->limit ?: FQ_RR_AUTO_PACKETS_MAX,
		.memory = config->memory_limit ?: FQ_RR_AUTO_MEMORY_MAX,
	};

	if (config->limit != FQ_RR_LIMIT_AUTO ||
	    config->memory_limit != FQ_RR_MEMORY_LIMIT_AUTO || !rate_Bps)
		return limits;
	/* 2^37 bytes per second times 2^26 us have room in 64 bits */
	memory = div_u64(rate_Bps * FQ_RR_AUTO_INTERVALS * config->interval, USEC_PER_SEC);
	limits.memory = clamp_t(u64, memory, FQ_RR_AUTO_MEMORY_MIN, limits.memory);
	limits.packets = min_t(u32, limits.memory / FQ_RR_AUTO_PACKET_BYTES, limits.packets);
	return limits;
}

/**
 * fq_rr_option_takes - whether a value is in an option's range, or its word for auto or none
 * @type: attribute
 * @value: asked for; an unsigned 64-bit one as its bits
 *
 * Return: true if the option can have it; false if there is no such option.
 */
static inline bool fq_rr_option_takes(unsigned int type, s64 value)
{
	const struct fq_rr_option *option;

	if (type > TCA_FQ_RR_MAX || !fq_rr_options[type].name)
		return false;
	option = &fq_rr_options[type];
	return (value >= option->min && value <= option->max) || value == option->also;
}

/**
 * fq_rr_option_hull - the least range that has all that an option takes
 * @type: attribute of an option, as wide as it comes in the message
 * @least: out: least of its range and its word for auto or none
 * @greatest: out: greatest of these
 *
 * What lies between that word and the range is inside, and is not taken. Without an option
 * both are 0.
 */
static inline void fq_rr_option_hull(unsigned int type, u64 *least, u64 *greatest)
{
	const struct fq_rr_option *option;

	*least = 0;
	*greatest = 0;
	if (type > TCA_FQ_RR_MAX || !fq_rr_options[type].name)
		return;
	option = &fq_rr_options[type];
	*least = min_t(u64, option->min, option->also);
	*greatest = max_t(u64, option->max, option->also);
}

/* the tables that the number of flows sizes, and the hash's key, stay */
static inline bool fq_rr_is_fixed(unsigned int type)
{
	return type == TCA_FQ_RR_FLOWS || type == TCA_FQ_RR_SEED;
}

static inline struct fq_rr_fault
fq_rr_options_check(const struct fq_rr_config *config, bool fixed,
		    const struct fq_rr_request *request)
{
	unsigned int type;

	for (type = 0; type <= TCA_FQ_RR_MAX; type++) {
		struct fq_rr_fault fault = { .type = type };

		if (!fq_rr_options[type].name || !fq_rr_given(request, type))
			continue;
		fault.value = request->value[type];
		fault.than = fq_rr_option_get(config, type);
		if (!fq_rr_option_takes(type, fault.value))
			fault.kind = FQ_RR_FAULT_RANGE;
		else if (fixed && fq_rr_is_fixed(type) &&
			 fault.value != fault.than)
			fault.kind = FQ_RR_FAULT_FIXED;
		if (fault.kind != FQ_RR_FAULT_NONE)
			return fault;
	}
	return (struct fq_rr_fault) {};
}

/* find the pacing rule of options with qlbp, and what contradicts it */
static inline struct fq_rr_fault
fq_rr_options_set_rule(struct fq_rr_config *config)
{
	struct qlbp *rule = &config->rule;
	u64 q_max = config->q_max;

	rule->link_Bps = fq_rr_link_Bps(config);
	rule->mu_min_Bps = config->mu_min_Bps;
	rule->mu_max_Bps = config->mu_max_Bps;
	if (!rule->link_Bps && (rule->mu_min_Bps == FQ_RR_MU_AUTO ||
				rule->mu_max_Bps == FQ_RR_MU_AUTO))
		return (struct fq_rr_fault) { .kind = FQ_RR_FAULT_NO_RATE };
	if (rule->mu_min_Bps == FQ_RR_MU_AUTO)
		rule->mu_min_Bps = qlbp_mu_min(rule->link_Bps, config->load);
	if (rule->mu_max_Bps == FQ_RR_MU_AUTO)
		rule->mu_max_Bps = qlbp_mu_max(rule->link_Bps, config->load);
	if (rule->mu_min_Bps > rule->mu_max_Bps)
		return (struct fq_rr_fault) {
			.kind = FQ_RR_FAULT_MU_MIN,
			.value = rule->mu_min_Bps,
			.than = rule->mu_max_Bps,
		};
	if (rule->link_Bps && rule->mu_max_Bps > rule->link_Bps)
		return (struct fq_rr_fault) {
			.kind = FQ_RR_FAULT_MU_MAX,
			.value = rule->mu_max_Bps,
			.than = rule->link_Bps,
		};
	if (q_max == FQ_RR_Q_MAX_AUTO)
		q_max = qlbp_q_max(rule->mu_max_Bps, config->max_delay);
	if (q_max < FQ_RR_Q_MAX_MIN || q_max > FQ_RR_Q_MAX_MAX)
		return (struct fq_rr_fault) {
			.kind = FQ_RR_FAULT_Q_MAX,
			.value = q_max,
		};
	rule->q_max_bytes = q_max;
	return (struct fq_rr_fault) {};
}

/**
 * fq_rr_options_set - check a request, and fill in what it asks for
 * @config: in: present options; out: those asked for. Of no use on a fault.
 * @fixed: whether the options fixed at creation are fixed
 * @request: what is asked for
 *
 * Return: what is wrong, of kind FQ_RR_FAULT_NONE if nothing is. Then every
 * option is in its range, and &fq_rr_config.rule one that qlbp.h can have.
 */
static inline struct fq_rr_fault
fq_rr_options_set(struct fq_rr_config *config, bool fixed,
		  const struct fq_rr_request *request)
{
	struct fq_rr_fault fault = fq_rr_options_check(config, fixed, request);
	unsigned int type;

	if (fault.kind != FQ_RR_FAULT_NONE)
		return fault;
	for (type = 0; type <= TCA_FQ_RR_MAX; type++)
		if (fq_rr_options[type].name && fq_rr_given(request, type))
			fq_rr_option_write(config, &fq_rr_options[type],
					   request->value[type]);
	if (config->target > config->interval)
		return (struct fq_rr_fault) {
			.kind = FQ_RR_FAULT_TARGET,
			.value = config->target,
			.than = config->interval,
		};
	if (config->hosts != FQ_RR_HOSTS_NONE && config->mode == FQ_RR_MODE_CLASS)
		return (struct fq_rr_fault) {
			.kind = FQ_RR_FAULT_HOSTS,
			.value = config->hosts,
		};
	if (config->qlbp)
		return fq_rr_options_set_rule(config);

	fq_rr_options_default_qlbp(config);
	for (type = 0; type <= TCA_FQ_RR_MAX; type++)
		if (fq_rr_is_of_qlbp(type) && fq_rr_given(request, type))
			return (struct fq_rr_fault) {
				.kind = FQ_RR_FAULT_NO_QLBP,
				.type = type,
			};
	return (struct fq_rr_fault) {};
}

#endif /* _FQ_RR_OPTIONS_H */
