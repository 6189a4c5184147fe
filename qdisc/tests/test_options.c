// SPDX-License-Identifier: GPL-2.0
/* options.h: what is taken, what is refused and why, and what follows */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "naive_options.h"

static struct fq_rr_config defaults(void)
{
	struct fq_rr_config config;

	memset(&config, 0, sizeof(config));
	fq_rr_options_default(&config);
	return config;
}

static void give(struct fq_rr_request *request, unsigned int type, s64 value)
{
	request->given |= 1ULL << type;
	request->value[type] = value;
}

static void every_option_ends_where_the_manual_page_says(void **state)
{
	unsigned int type, options = 0;
	bool is_rate;
	int i;

	(void)state;
	for (type = 0; type <= TCA_FQ_RR_MAX; type++) {
		const struct fq_rr_option *option = &fq_rr_options[type];
		const s64 values[] = {
			option->min - 1, option->min, option->min + 1,
			option->max - 1, option->max, option->max + 1,
			option->also, 0, U32_MAX,
		};

		if (!option->name)
			continue;
		options++;
		is_rate = option->size == sizeof(u64);
		for (i = 0; i < (int)ARRAY_SIZE(values); i++) {
			struct fq_rr_config config = defaults();
			struct fq_rr_request request = { 0 };
			bool good;

			/* what no attribute of 32 bits can say */
			if (!is_rate && type != TCA_FQ_RR_OVERHEAD &&
			    values[i] != (s64)(u32)values[i])
				continue;
			/* neither contradicts the other, wherever it ends */
			if (type == TCA_FQ_RR_TARGET)
				give(&request, TCA_FQ_RR_INTERVAL, 10000000);
			if (type == TCA_FQ_RR_INTERVAL)
				give(&request, TCA_FQ_RR_TARGET, 10);
			if (fq_rr_is_of_qlbp(type)) {
				give(&request, TCA_FQ_RR_QLBP, 1);
				give(&request, TCA_FQ_RR_RATE64, 125000000000);
				give(&request, TCA_FQ_RR_Q_MAX, 60);
				if (type == TCA_FQ_RR_MU_MAX)
					give(&request, TCA_FQ_RR_MU_MIN, 1000);
				if (type == TCA_FQ_RR_MU_MIN)
					give(&request, TCA_FQ_RR_MU_MAX, 125000000000);
			}
			give(&request, type, values[i]);
			/* which ends the program if it should not be as it is */
			good = naive_compare(&config, false, &request);
			/* two that are in range, and no rate or too much delay */
			if (good != ((values[i] >= option->min &&
				      values[i] <= option->max) ||
				     values[i] == option->also) &&
			    !(type == TCA_FQ_RR_QLBP && values[i] == 1) &&
			    !(type == TCA_FQ_RR_Q_MAX && !values[i]))
				fail_msg("%s %lld", option->name,
					 (long long)values[i]);
		}
	}
	assert_int_equal(options, 30);
}

/* what netlink's policy refuses is what no option takes: of its range one less, one more */
static void a_hull_is_no_wider_than_what_is_taken(void **state)
{
	unsigned int type;
	u64 least, greatest;

	(void)state;
	for (type = 0; type <= TCA_FQ_RR_MAX; type++) {
		const struct fq_rr_option *option = &fq_rr_options[type];
		const s64 values[] = { option->min, option->max, option->also };
		int i;

		/* the only one with a sign has a range of its own */
		if (!option->name || type == TCA_FQ_RR_OVERHEAD)
			continue;
		fq_rr_option_hull(type, &least, &greatest);
		assert_true(fq_rr_option_takes(type, least));
		assert_true(fq_rr_option_takes(type, greatest));
		for (i = 0; i < (int)ARRAY_SIZE(values); i++)
			assert_true((u64)values[i] >= least && (u64)values[i] <= greatest);
	}
	fq_rr_option_hull(TCA_FQ_RR_LIMIT, &least, &greatest);
	assert_true(least == FQ_RR_LIMIT_AUTO && greatest == FQ_RR_LIMIT_MAX);
	fq_rr_option_hull(TCA_FQ_RR_RATE64, &least, &greatest);
	assert_true(least == FQ_RR_RATE_MIN && greatest == FQ_RR_RATE_NONE);
	fq_rr_option_hull(TCA_FQ_RR_UNSPEC, &least, &greatest);
	assert_true(least == 0 && greatest == 0);
	fq_rr_option_hull(UINT32_MAX, &least, &greatest);
	assert_true(least == 0 && greatest == 0);
}

/* the manual page's table: name and unit as messages have them, the range in the unit of
 * the attribute, and the value outside that means something of its own, or the least
 */
static void options_are_what_the_manual_page_says(void **state)
{
	static const struct {
		unsigned int type;
		const char *name, *unit;
		s64 min, max, also;
	} rows[] = {
		{ TCA_FQ_RR_LIMIT, "limit", " packets", 1, 1048576, 0 },
		{ TCA_FQ_RR_MEMORY_LIMIT, "memory-limit", " bytes", 131072, 1073741824, 0 },
		{ TCA_FQ_RR_FLOWS, "flows", "", 1, 65536, 1 },
		{ TCA_FQ_RR_QUANTUM, "quantum", " bytes", 256, 1048576, 0 },
		{ TCA_FQ_RR_RATE64, "rate", " bytes/s", 1000, 125000000000, -1 },
		{ TCA_FQ_RR_OVERHEAD, "overhead", " bytes", -64, 256, -64 },
		{ TCA_FQ_RR_MPU, "mpu", " bytes", 0, 256, 0 },
		{ TCA_FQ_RR_SCHEDULER, "scheduler", "", 0, 1, 0 },
		{ TCA_FQ_RR_DROP, "drop", "", 0, 3, 0 },
		{ TCA_FQ_RR_SPLIT_GSO, "split-gso", "", 0, 1, 0 },
		{ TCA_FQ_RR_SEED, "seed", "", 0, 4294967295, 0 },
		{ TCA_FQ_RR_QLBP, "qlbp", "", 0, 1, 0 },
		{ TCA_FQ_RR_MU_MIN, "mu-min", " bytes/s", 1000, 125000000000, 0 },
		{ TCA_FQ_RR_MU_MAX, "mu-max", " bytes/s", 1000, 125000000000, 0 },
		{ TCA_FQ_RR_Q_MAX, "q-max", " bytes", 60, 1073741824, 0 },
		{ TCA_FQ_RR_LOAD, "load", " per cent", 1, 100, 1 },
		{ TCA_FQ_RR_MAX_DELAY, "max-delay", " us", 1, 10000000, 1 },
		{ TCA_FQ_RR_MODE, "mode", "", 0, 3, 0 },
		{ TCA_FQ_RR_CHARGE_DROPS, "charge-drops", "", 0, 1, 0 },
		{ TCA_FQ_RR_ECN, "ecn", " per cent", 1, 100, 0 },
		{ TCA_FQ_RR_LAYER, "layer", "", 0, 1, 0 },
		{ TCA_FQ_RR_FRAMING, "framing", "", 0, 2, 0 },
		{ TCA_FQ_RR_CATCH_UP, "catch-up", " us", 0, 1000000, 0 },
		{ TCA_FQ_RR_AQM, "aqm", "", 0, 1, 0 },
		{ TCA_FQ_RR_TARGET, "target", " us", 10, 10000000, 10 },
		{ TCA_FQ_RR_INTERVAL, "interval", " us", 10, 10000000, 10 },
		{ TCA_FQ_RR_CE_THRESHOLD, "ce-threshold", " us", 10, 10000000, 0 },
		{ TCA_FQ_RR_NOECN, "noecn", "", 0, 1, 0 },
		{ TCA_FQ_RR_HOSTS, "hosts", "", 0, 3, 0 },
		{ TCA_FQ_RR_NAT, "nat", "", 0, 1, 0 },
	};
	size_t i;

	(void)state;
	assert_int_equal(ARRAY_SIZE(fq_rr_options), TCA_FQ_RR_MAX + 1);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct fq_rr_option *option = &fq_rr_options[rows[i].type];

		assert_string_equal(option->name, rows[i].name);
		assert_string_equal(option->unit, rows[i].unit);
		if (option->min != rows[i].min || option->max != rows[i].max ||
		    option->also != rows[i].also)
			fail_msg("%s: %lld to %lld, or %lld", option->name,
				 (long long)option->min, (long long)option->max,
				 (long long)option->also);
	}
}

static void what_is_wrong_is_named(void **state)
{
	static const struct {
		struct {
			unsigned int type;
			s64 value;
		} given[4];
		struct fq_rr_fault fault;
		const char *reason;
	} rows[] = {
		{ { { TCA_FQ_RR_LIMIT, 1048577 } },
		  { FQ_RR_FAULT_RANGE, TCA_FQ_RR_LIMIT, 1048577, 0 }, "too many" },
		{ { { TCA_FQ_RR_OVERHEAD, -65 } },
		  { FQ_RR_FAULT_RANGE, TCA_FQ_RR_OVERHEAD, (u64)-65, 0 },
		  "below zero" },
		{ { { TCA_FQ_RR_RATE64, S64_MAX } },
		  { FQ_RR_FAULT_RANGE, TCA_FQ_RR_RATE64, S64_MAX, ~0ULL },
		  "a rate of 63 bits" },
		{ { { TCA_FQ_RR_RATE64, -2 } },
		  { FQ_RR_FAULT_RANGE, TCA_FQ_RR_RATE64, ~1ULL, ~0ULL },
		  "a rate of 64 bits" },
		{ { { TCA_FQ_RR_MPU, 257 }, { TCA_FQ_RR_FLOWS, 8 } },
		  { FQ_RR_FAULT_FIXED, TCA_FQ_RR_FLOWS, 8, 1024 },
		  "the first of two in the order of their numbers" },
		{ { { TCA_FQ_RR_SEED, 3 } },
		  { FQ_RR_FAULT_FIXED, TCA_FQ_RR_SEED, 3, 0 }, "fixed" },
		{ { { TCA_FQ_RR_LOAD, 70 } },
		  { FQ_RR_FAULT_NO_QLBP, TCA_FQ_RR_LOAD, 0, 0 }, "no qlbp" },
		{ { { TCA_FQ_RR_QLBP, 0 }, { TCA_FQ_RR_MU_MAX, 0 } },
		  { FQ_RR_FAULT_NO_QLBP, TCA_FQ_RR_MU_MAX, 0, 0 },
		  "qlbp switched off, and something of it" },
		{ { { TCA_FQ_RR_QLBP, 1 }, { TCA_FQ_RR_MU_MAX, 5000 } },
		  { FQ_RR_FAULT_NO_RATE, 0, 0, 0 }, "half a rule" },
		{ { { TCA_FQ_RR_QLBP, 1 }, { TCA_FQ_RR_MU_MAX, 5000 },
		    { TCA_FQ_RR_MU_MIN, 5001 } },
		  { FQ_RR_FAULT_MU_MIN, 0, 5001, 5000 }, "upside down" },
		{ { { TCA_FQ_RR_QLBP, 1 }, { TCA_FQ_RR_RATE64, 4999 },
		    { TCA_FQ_RR_MU_MAX, 5000 }, { TCA_FQ_RR_MU_MIN, 4000 } },
		  { FQ_RR_FAULT_MU_MAX, 0, 5000, 4999 }, "more than the link" },
		{ { { TCA_FQ_RR_QLBP, 1 }, { TCA_FQ_RR_RATE64, 1000000 },
		    { TCA_FQ_RR_MAX_DELAY, 66 } },
		  { FQ_RR_FAULT_Q_MAX, 0, 59, 0 }, "shorter than a packet" },
		{ { { TCA_FQ_RR_QLBP, 1 }, { TCA_FQ_RR_RATE64, 125000000000 },
		    { TCA_FQ_RR_MAX_DELAY, 10000000 } },
		  { FQ_RR_FAULT_Q_MAX, 0, 1125000000000, 0 },
		  "more than any memory" },
		{ { { TCA_FQ_RR_TARGET, 100001 } },
		  { FQ_RR_FAULT_TARGET, 0, 100001, 100000 },
		  "a target above the interval that there is" },
		{ { { TCA_FQ_RR_INTERVAL, 4999 }, { TCA_FQ_RR_AQM, 0 } },
		  { FQ_RR_FAULT_TARGET, 0, 5000, 4999 },
		  "an interval below the target that there is, without aqm too" },
		{ { { TCA_FQ_RR_HOSTS, 2 }, { TCA_FQ_RR_MODE, 3 } },
		  { FQ_RR_FAULT_HOSTS, 0, 2, 0 }, "hosts share one queue" },
		{ { { TCA_FQ_RR_HOSTS, 4 }, { TCA_FQ_RR_NAT, 2 } },
		  { FQ_RR_FAULT_RANGE, TCA_FQ_RR_HOSTS, 4, 0 }, "no such hosts" },
		{ { { TCA_FQ_RR_NAT, 2 } },
		  { FQ_RR_FAULT_RANGE, TCA_FQ_RR_NAT, 2, 0 }, "more than yes" },
	};
	size_t i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fq_rr_config config = defaults();
		struct fq_rr_request request = { 0 };
		struct fq_rr_fault found;

		for (k = 0; k < 4 && rows[i].given[k].type; k++)
			give(&request, rows[i].given[k].type,
			     rows[i].given[k].value);
		naive_compare(&config, true, &request);
		found = fq_rr_options_set(&config, true, &request);
		if (found.kind != rows[i].fault.kind ||
		    found.type != rows[i].fault.type ||
		    (found.kind != FQ_RR_FAULT_NO_QLBP &&
		     (found.value != rows[i].fault.value ||
		      found.than != rows[i].fault.than)))
			fail_msg("%s: %d of %u, %llu, %llu", rows[i].reason,
				 found.kind, found.type,
				 (unsigned long long)found.value,
				 (unsigned long long)found.than);
	}
}

/* the buffer in force: what the manual page says of each user's rate */
static void the_buffer_follows_the_rate(void **state)
{
	static const struct {
		u64 rate_Bps;
		u32 interval_us, limit, memory_limit;
		struct fq_rr_limits limits;
		const char *why;
	} rows[] = {
		{ ~0ULL, 100000, 0, 0, { 10240, 33554432 }, "no rate: a constant" },
		{ 1000, 100000, 0, 0, { 4096, 4194304 }, "the least" },
		{ 10485760, 100000, 0, 0, { 4096, 4194304 }, "84 Mbit/s: 400 ms are the least" },
		{ 12500000, 100000, 0, 0, { 4882, 5000000 }, "100 Mbit/s: 400 ms" },
		{ 12500000, 200000, 0, 0, { 9765, 10000000 }, "a longer path" },
		{ 37500000, 100000, 0, 0, { 10240, 15000000 }, "300 Mbit/s" },
		{ 125000000, 100000, 0, 0, { 10240, 33554432 }, "1 Gbit/s: the most" },
		{ 125000000, 1000, 0, 0, { 4096, 4194304 }, "a short path" },
		{ 125000000000, 10000000, 0, 0, { 10240, 33554432 }, "nothing overflows" },
		{ 12500000, 100000, 77, 0, { 77, 33554432 }, "packets are given" },
		{ 12500000, 100000, 0, 777777, { 10240, 777777 }, "memory is given" },
		{ 12500000, 100000, 1048576, 1073741824, { 1048576, 1073741824 }, "both are" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fq_rr_config config = defaults();
		struct fq_rr_limits found;

		config.rate_Bps = rows[i].rate_Bps;
		config.interval = rows[i].interval_us;
		config.limit = rows[i].limit;
		config.memory_limit = rows[i].memory_limit;
		found = fq_rr_limits(&config);
		if (found.packets != rows[i].limits.packets ||
		    found.memory != rows[i].limits.memory)
			fail_msg("%s: %u packets, %u bytes", rows[i].why, found.packets,
				 found.memory);
	}
}

static void what_is_not_named_stays(void **state)
{
	struct fq_rr_config config = defaults(), before;
	struct fq_rr_request request = { 0 };

	(void)state;
	give(&request, TCA_FQ_RR_QLBP, 1);
	give(&request, TCA_FQ_RR_RATE64, 12500000);
	give(&request, TCA_FQ_RR_LOAD, 50);
	give(&request, TCA_FQ_RR_FLOWS, 16);
	assert_true(naive_compare(&config, false, &request));
	/* (1 + 50 %) / 2, 50 % / 2, and 10 ms of the former */
	assert_int_equal(config.rule.mu_max_Bps, 9375000);
	assert_int_equal(config.rule.mu_min_Bps, 3125000);
	assert_int_equal(config.rule.q_max_bytes, 93750);
	before = config;

	/* what is fixed may be named as it is; the rule follows the rate */
	memset(&request, 0, sizeof(request));
	give(&request, TCA_FQ_RR_FLOWS, 16);
	give(&request, TCA_FQ_RR_RATE64, 25000000);
	assert_true(naive_compare(&config, true, &request));
	assert_int_equal(config.rule.mu_max_Bps, 18750000);
	assert_int_equal(config.load, before.load);
	assert_int_equal(config.limit, before.limit);

	/* switched off, it leaves nothing behind for when it is switched on */
	memset(&request, 0, sizeof(request));
	give(&request, TCA_FQ_RR_QLBP, 0);
	assert_true(naive_compare(&config, true, &request));
	assert_int_equal(config.rule.q_max_bytes, 0);
	assert_int_equal(config.load, FQ_RR_LOAD_DEFAULT);
	assert_int_equal(fq_rr_link_Bps(&config), 25000000);
}

static void a_rule_of_two_rates_needs_none_of_the_link(void **state)
{
	struct fq_rr_config config = defaults();
	struct fq_rr_request request = { 0 };

	(void)state;
	give(&request, TCA_FQ_RR_QLBP, 1);
	give(&request, TCA_FQ_RR_MU_MIN, 1000000);
	give(&request, TCA_FQ_RR_MU_MAX, 5000000);
	assert_true(naive_compare(&config, true, &request));
	assert_int_equal(config.rule.link_Bps, 0);
	assert_int_equal(config.rule.mu_max_Bps, 5000000);
}

/* devices that a user namespace's root can make; a round is never of nothing */
static void any_device_has_a_sound_quantum(void **state)
{
	static const struct {
		u32 quantum, packet_bytes, bytes;
		const char *reason;
	} rows[] = {
		{ FQ_RR_QUANTUM_AUTO, 1514, 1514, "Ethernet" },
		{ FQ_RR_QUANTUM_AUTO, 0, 256, "WireGuard with an MTU of 0" },
		{ FQ_RR_QUANTUM_AUTO, 68, 256, "tun with its least MTU" },
		{ FQ_RR_QUANTUM_AUTO, 65536, 65536, "lo" },
		{ FQ_RR_QUANTUM_AUTO, 2147483552, 1 << 20, "WireGuard's largest MTU" },
		{ FQ_RR_QUANTUM_AUTO, U32_MAX, 1 << 20, "any number" },
		{ 3000, 0, 3000, "a quantum asked for" },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fq_rr_config config = defaults();
		u32 found;

		config.quantum = rows[i].quantum;
		found = fq_rr_quantum_bytes(&config, rows[i].packet_bytes);
		if (found != rows[i].bytes)
			fail_msg("%s: %u bytes", rows[i].reason, found);
	}
}

/* every option and the rule, so that nothing of a change is left out */
static void what_is_published_is_all_of_it(void **state)
{
	struct fq_rr_config shown = { 0 }, config = defaults();
	unsigned int type;

	(void)state;
	config.rule = (struct qlbp) { 1, 2, 3, 4 };
	for (type = 0; type <= TCA_FQ_RR_MAX; type++)
		if (fq_rr_options[type].name)
			fq_rr_option_write(&config, &fq_rr_options[type],
					   type * 1000003);
	fq_rr_options_publish(&shown, &config);
	for (type = 0; type <= TCA_FQ_RR_MAX; type++)
		if (fq_rr_options[type].name)
			assert_int_equal(fq_rr_option_get(&shown, type),
					 type * 1000003);
	assert_int_equal(memcmp(&shown.rule, &config.rule, sizeof(config.rule)), 0);
}

static void what_is_read_is_what_was_set(void **state)
{
	unsigned int type;

	(void)state;
	for (type = 0; type <= TCA_FQ_RR_MAX; type++) {
		struct fq_rr_config config = defaults();

		if (!fq_rr_options[type].name)
			continue;
		fq_rr_option_write(&config, &fq_rr_options[type],
				   fq_rr_options[type].max);
		assert_int_equal(fq_rr_option_get(&config, type),
				 fq_rr_options[type].max);
		fq_rr_option_write(&config, &fq_rr_options[type],
				   fq_rr_options[type].min);
		assert_int_equal(fq_rr_options[type].size == sizeof(u64) ?
				 (s64)fq_rr_option_get(&config, type) :
				 (s64)(s32)fq_rr_option_get(&config, type),
				 fq_rr_options[type].min);
	}
}

/* asked for what is no option, there is nothing: not another option's value */
static void what_is_no_option_has_no_value(void **state)
{
	struct fq_rr_config config;
	unsigned int type;

	(void)state;
	memset(&config, 0xff, sizeof(config));
	assert_int_equal(fq_rr_option_get(&config, TCA_FQ_RR_UNSPEC), 0);
	for (type = TCA_FQ_RR_MAX + 1; type < 70000; type++)
		assert_int_equal(fq_rr_option_get(&config, type), 0);
	assert_int_equal(fq_rr_option_get(&config, UINT32_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_option_ends_where_the_manual_page_says),
		cmocka_unit_test(a_hull_is_no_wider_than_what_is_taken),
		cmocka_unit_test(options_are_what_the_manual_page_says),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(the_buffer_follows_the_rate),
		cmocka_unit_test(what_is_not_named_stays),
		cmocka_unit_test(a_rule_of_two_rates_needs_none_of_the_link),
		cmocka_unit_test(any_device_has_a_sound_quantum),
		cmocka_unit_test(what_is_published_is_all_of_it),
		cmocka_unit_test(what_is_read_is_what_was_set),
		cmocka_unit_test(what_is_no_option_has_no_value),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
