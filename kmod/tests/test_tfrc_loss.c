// SPDX-License-Identifier: GPL-2.0
/*
 * tfrc_loss.h against the closed forms of the paper: mean and variance of loss intervals under
 * Bernoulli loss, for each method and mode, and what is promised beside them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "loss_channel.h"

/* within what so many intervals allow, and a packet of 1/eta at the ends of the LIP */
static bool near(const struct measured *got, const struct measured *exact)
{
	return fabs(got->mean / exact->mean - 1) < 0.02 &&
	       fabs(got->variance / exact->variance - 1) < 0.06 && got->lip_us == exact->lip_us;
}

#define INTERVALS 30000
/* N, eta, and the probability at which a packet of S bytes is lost */
#define N 4.0
#define ETA 10.0
#define P 0.2

/* var of a geometric X */
static double var_x(double p)
{
	return (1 - p) / (p * p);
}

/* vp-theta, vp-m-*-packet, vp-m-*-byte. Each method meets its own closed form and no other's:
 * a method in the place of another is found out.
 */
static void each_method_has_its_closed_form(void **state)
{
	const struct channel small = { N, 100, 100, P }, byte = { N, 100, 100, P / ETA },
			     tail = { N, 100, 100, P / ETA / 2 };
	const double large = N - 1 + 1 / P, p_s = P / ETA, y = (N - 1) * (1 - 1 / ETA);
	/* LIP: (N - 1) * eta packets after the one that was lost, of N * eta in a round trip */
	const u32 less_us = RTT_US - (u32)(RTT_US * 0.9 / N), whole_us = RTT_US;
	const struct {
		enum tfrc_method method;
		enum tfrc_mode mode;
		const struct channel *channel;
		struct measured exact;
	} of[] = {
		{ TFRC_UNMODIFIED, TFRC_PACKET_MODE, &small,
		  { N * ETA - 1 + 1 / P, var_x(P), whole_us } },
		{ TFRC_UNBIASING, TFRC_PACKET_MODE, &small, { large, var_x(P), whole_us } },
		{ TFRC_VIRTUAL, TFRC_PACKET_MODE, &small, { large, var_x(P) / ETA, less_us } },
		{ TFRC_SAMPLING, TFRC_PACKET_MODE, &small, { large, y + var_x(P), less_us } },
		{ TFRC_LIP_SCALING, TFRC_PACKET_MODE, &small,
		  { large, var_x(P), RTT_US / 10 } },
		{ TFRC_UNBIASING, TFRC_BYTE_MODE, &byte,
		  { large, var_x(p_s) / ETA / ETA, whole_us } },
		{ TFRC_VIRTUAL, TFRC_BYTE_MODE, &byte,
		  { large, var_x(p_s) / ETA / ETA, less_us } },
		{ TFRC_SAMPLING, TFRC_BYTE_MODE, &byte,
		  { large, y + var_x(p_s) / ETA / ETA + (1 - 1 / ETA) / P, less_us } },
		{ TFRC_VIRTUAL, TFRC_BYTE_TAIL_MODE, &tail,
		  { large, var_x(p_s / 2) / ETA / ETA / 4, less_us } },
		{ TFRC_SAMPLING, TFRC_BYTE_TAIL_MODE, &tail,
		  { large, y + var_x(p_s / 2) / ETA / ETA / 4 + (1 - 1 / ETA / 2) / P, less_us } },
	};
	unsigned int i, method;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(of); i++) {
		for (method = 0; method < TFRC_METHODS; method++) {
			bool own = method == of[i].method;
			struct measured got;

			if (!own && !tfrc_is_defined(method, of[i].mode))
				continue;
			got = measure(method, of[i].mode, of[i].channel,
				      own ? INTERVALS : INTERVALS / 3);
			if (near(&got, &of[i].exact) != own)
				fail_msg("row %u, method %u: mean %f of %f, variance %f of %f, LIP %u of %u",
					 i, method, got.mean, of[i].exact.mean, got.variance,
					 of[i].exact.variance, got.lip_us, of[i].exact.lip_us);
		}
	}
}

/* A flow of reference packets needs no method, and none changes anything */
static void reference_packets_are_the_same_to_all(void **state)
{
	const struct channel c = { 10, REFERENCE, REFERENCE, 0.05 };
	unsigned int method, mode;

	(void)state;
	for (mode = 0; mode < TFRC_MODES; mode++) {
		for (method = 0; method < TFRC_METHODS; method++) {
			const struct measured exact = { 10 - 1 + 20, var_x(0.05), RTT_US };
			struct measured got;

			if (!tfrc_is_defined(method, mode))
				continue;
			seed = 1;
			got = measure(method, mode, &c, INTERVALS / 2);
			if (!near(&got, &exact))
				fail_msg("method %u, mode %u: mean %f, variance %f", method, mode,
					 got.mean, got.variance);
		}
	}
}

/* vp-fig7: coefficients of variation of the loss interval, in theory */
static void the_paper_s_coefficients_of_variation(void **state)
{
	static const struct {
		double p, n, tfrc, virtual_packets, sampling;
	} of[] = {
		{ 0.05, 4, 0.848, 0.268, 0.851 }, { 0.05, 10, 0.672, 0.213, 0.679 },
		{ 0.1, 4, 0.73, 0.231, 0.741 }, { 0.1, 10, 0.499, 0.158, 0.521 },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(of); i++) {
		const struct channel small = { of[i].n, 100, 100, of[i].p },
				     large = { of[i].n, REFERENCE, REFERENCE, of[i].p };
		struct measured tfrc = measure(TFRC_UNMODIFIED, TFRC_PACKET_MODE, &large, 20000);
		struct measured virt = measure(TFRC_VIRTUAL, TFRC_PACKET_MODE, &small, 10000);
		struct measured some = measure(TFRC_SAMPLING, TFRC_PACKET_MODE, &small, 20000);

		assert_true(fabs(sqrt(tfrc.variance) / tfrc.mean / of[i].tfrc - 1) < 0.04);
		assert_true(fabs(sqrt(virt.variance) / virt.mean / of[i].virtual_packets - 1) < 0.04);
		assert_true(fabs(sqrt(some.variance) / some.mean / of[i].sampling - 1) < 0.04);
	}
}

/* "Independent of the pattern of variation of the packet size", 3.2; and sizes of which S is
 * no multiple
 */
static void any_sizes_have_the_same_mean(void **state)
{
	static const struct channel of[] = {
		{ 6, 50, 950, 0.1 }, { 6, 1, 400, 0.1 }, { 6, 800, 800, 0.1 }, { 6, 300, 300, 0.1 },
		{ 6, 501, 501, 0.1 }, { 6, 999, 999, 0.1 },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(of); i++) {
		struct measured virt = measure(TFRC_VIRTUAL, TFRC_PACKET_MODE, &of[i], 10000);
		struct measured some = measure(TFRC_SAMPLING, TFRC_PACKET_MODE, &of[i], 20000);

		/* and a packet that is just within the LIP, or just after it */
		double off = 0.3 + of[i].most_bytes / 1000.0;

		if (fabs(virt.mean - 15) > off || fabs(some.mean - 15) > off)
			fail_msg("%u to %u bytes: %f, %f, not 15", of[i].least_bytes,
				 of[i].most_bytes, virt.mean, some.mean);
	}
}

static u64 lose(struct tfrc_loss *l, const struct tfrc_params *m, u32 packets, u64 bytes, u32 at_us)
{
	const struct tfrc_path path = { RTT_US, 4000, 100 };
	const struct tfrc_packets it = { packets, bytes, at_us };

	return tfrc_lost(l, m, &it, &path);
}

static void arrive(struct tfrc_loss *l, const struct tfrc_params *m, u32 packets, u64 bytes,
		   u32 at_us)
{
	const struct tfrc_packets it = { packets, bytes, at_us };

	tfrc_arrived(l, m, &it);
}

/* A call for many is a call for each */
static void packets_may_come_together(void **state)
{
	const struct tfrc_params m = { REFERENCE, TFRC_VIRTUAL, TFRC_PACKET_MODE, 0 };
	struct tfrc_loss one = { 0 }, many = { 0 };
	u64 ended_q16 = 0;
	u32 i;

	(void)state;
	for (i = 0; i < 500; i++)
		arrive(&one, &m, 1, 77, 5);
	for (i = 0; i < 40; i++)
		ended_q16 += lose(&one, &m, 1, 77, 5);
	arrive(&many, &m, 500, 500 * 77, 5);
	assert_int_equal(ended_q16, lose(&many, &m, 40, 40 * 77, 5));
	/* 13 losses of 77 bytes are S, the others are in the LIP */
	assert_int_equal(ended_q16, (u64)513 * 77 * 65536 / REFERENCE);
	assert_int_equal(one.count, many.count);
	assert_int_equal(one.lost_bytes, many.lost_bytes);
	assert_int_equal(one.lost_bytes, 1);
}

/* After the LIP, and not before, across the wrap of the clock */
static void losses_in_the_lip_are_ignored(void **state)
{
	const struct tfrc_params m = { REFERENCE, TFRC_UNMODIFIED, TFRC_PACKET_MODE, 0 };
	u32 begin_us = 0U - RTT_US / 2;
	struct tfrc_loss l = { 0 };

	(void)state;
	assert_int_equal(lose(&l, &m, 1, 100, begin_us), TFRC_ONE_Q16);
	assert_int_equal(lose(&l, &m, 1, 100, begin_us + RTT_US - 1), 0);
	assert_int_equal(lose(&l, &m, 1, 100, begin_us + RTT_US), 2 * TFRC_ONE_Q16);
	/* when it is over it is over, also when the clock has gone half of its way round */
	arrive(&l, &m, 1, 100, begin_us + 3 * RTT_US);
	assert_true(lose(&l, &m, 1, 100, begin_us + RTT_US + (1U << 31)));
}

/* Nothing beyond S is left over by packets that are larger than S */
static void a_large_packet_is_one_event(void **state)
{
	const struct tfrc_params m = { REFERENCE, TFRC_VIRTUAL, TFRC_PACKET_MODE, 0 };
	struct tfrc_loss l = { 0 };

	(void)state;
	assert_true(lose(&l, &m, 1, 9000, 0));
	assert_int_equal(l.lost_bytes, 0);
	assert_int_equal(lose(&l, &m, 1, 999, 2 * RTT_US), 0);
	assert_true(lose(&l, &m, 1, 1, 2 * RTT_US));
	assert_int_equal(l.lost_bytes, 0);
}

/* 4.2.2: halves are for small packets, and for what is after the LIP */
static void drop_tail_in_bytes_halves_small_packets(void **state)
{
	static const struct {
		u32 bytes;
		u64 lip_q16, after_q16;
	} of[] = { { 100, 6554, 3277 }, { 500, 32768, 16384 }, { 501, 32834, 32834 },
		   { 1000, 65536, 65536 } };
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(of); i++) {
		const struct tfrc_params m = { REFERENCE, TFRC_VIRTUAL, TFRC_BYTE_TAIL_MODE, 0 };
		const struct tfrc_path path = { RTT_US, 4000, 100 };
		struct tfrc_loss l = { 0 };
		u64 before_q16;

		lose(&l, &m, 1, of[i].bytes, 0);
		arrive(&l, &m, 100, 100 * of[i].bytes, 1);
		before_q16 = tfrc_open_q16(&l, &m, &path);
		assert_in_range(before_q16, 100 * of[i].lip_q16 - 100, 100 * of[i].lip_q16);
		arrive(&l, &m, 100, 100 * of[i].bytes, RTT_US);
		assert_in_range(tfrc_open_q16(&l, &m, &path) - before_q16,
				100 * of[i].after_q16 - 100, 100 * of[i].after_q16);
	}
}

/* What was taken for lost was not: the interval is as if there had been no event */
static void an_event_is_taken_back(void **state)
{
	const struct tfrc_path path = { RTT_US, 4000, 100 };
	unsigned int method;

	(void)state;
	for (method = 0; method < TFRC_METHODS; method++) {
		const struct tfrc_params m = { REFERENCE, method, TFRC_PACKET_MODE, 0 };
		struct tfrc_loss l = { .random = 3 };
		u64 ended_q16, open_q16;

		arrive(&l, &m, 400, 40000, 0);
		ended_q16 = lose(&l, &m, 200, 20000, 0);
		assert_true(ended_q16);
		open_q16 = tfrc_open_q16(&l, &m, &path);
		tfrc_not_lost(&l, &m, ended_q16);
		assert_false(l.in_lip);
		assert_int_equal(l.lost_bytes, 0);
		/* unbiasing takes the bias of both intervals and gives back that of neither */
		if (method != TFRC_UNBIASING)
			assert_in_range(tfrc_open_q16(&l, &m, &path), ended_q16 + open_q16 - 66,
					ended_q16 + open_q16);
		/* no LIP: the next losses may be an event at once */
		assert_true(lose(&l, &m, 200, 20000, 1));
	}
}

static void what_the_paper_defines(void **state)
{
	/* vp-m-lip-byte: "do not implement" */
	static const bool of[TFRC_MODES][TFRC_METHODS] = {
		[TFRC_PACKET_MODE] = { true, true, true, true, true },
		[TFRC_BYTE_MODE] = { false, true, true, true, false },
		[TFRC_BYTE_TAIL_MODE] = { false, false, true, true, false },
	};
	u32 method, mode;

	(void)state;
	for (mode = 0; mode < TFRC_MODES + 2; mode++)
		for (method = 0; method < TFRC_METHODS + 2; method++)
			assert_int_equal(tfrc_is_defined(method, mode),
					 mode < TFRC_MODES && method < TFRC_METHODS &&
					 of[mode][method]);
}

/* Flows slower than a packet per round trip, faster than any link, of no and of huge packets */
static void the_lip_is_within_a_round_trip(void **state)
{
	const struct tfrc_params m = { REFERENCE, TFRC_VIRTUAL, TFRC_PACKET_MODE, 0 };
	struct tfrc_path path = { RTT_US, 0, 100 };

	(void)state;
	assert_int_equal(tfrc_lip_us(&m, &path), RTT_US / 10);
	path.flight_bytes = U64_MAX;
	assert_int_equal(tfrc_lip_us(&m, &path), RTT_US);
	path = (struct tfrc_path){ 0, 1000, 0 };
	assert_int_equal(tfrc_lip_us(&m, &path), 1);
	path = (struct tfrc_path){ U32_MAX, 1000, U32_MAX };
	assert_int_equal(tfrc_lip_us(&m, &path), TFRC_RTT_MAX_US);
}

static void what_is_out_of_range_is_the_nearest(void **state)
{
	static const u32 references[] = { 0, 1, 65535, U32_MAX };
	const struct tfrc_path path = { RTT_US, 4000, 0 };
	unsigned int i, method, mode;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(references); i++) {
		struct tfrc_params m = { references[i], TFRC_VIRTUAL, TFRC_PACKET_MODE, 0 };
		struct tfrc_params in = { clamp_t(u32, references[i], 1, 65535), TFRC_VIRTUAL,
					  TFRC_PACKET_MODE, 0 };
		struct tfrc_loss l = { 0 }, other = { 0 };

		arrive(&l, &m, U32_MAX, U64_MAX, 0);
		arrive(&other, &in, 1 << 20, (u64)65535 << 20, 0);
		assert_int_equal(l.count, other.count);
		/* fewer bytes than packets */
		arrive(&l, &m, 5, 0, 0);
		arrive(&other, &in, 5, 5, 0);
		assert_int_equal(l.count, other.count);
		/* up to the longest interval, and no further */
		l.count = U64_MAX / 2;
		arrive(&l, &m, 1, 1, 0);
		assert_int_equal(tfrc_open_q16(&l, &m, &path), TFRC_INTERVAL_MAX_Q16);
		l.count = 0;
		tfrc_not_lost(&l, &m, U64_MAX);
		assert_int_equal(tfrc_open_q16(&l, &m, &path), TFRC_INTERVAL_MAX_Q16);
		/* without packets nothing is lost */
		assert_int_equal(lose(&l, &m, 0, U64_MAX, 0), 0);
	}
	/* a method and a mode that there are not */
	for (method = TFRC_METHODS; method < TFRC_METHODS + 2; method++) {
		struct tfrc_params m = { REFERENCE, method, TFRC_PACKET_MODE, 0 };
		struct tfrc_loss l = { 0 };

		arrive(&l, &m, 9, 900, 0);
		assert_int_equal(lose(&l, &m, 1, 100, 0), 10 * TFRC_ONE_Q16);
	}
	/* the widest products */
	for (mode = 0; mode < TFRC_MODES; mode++) {
		for (method = 0; method < TFRC_METHODS; method++) {
			const struct tfrc_params m = { 65535, method, mode, 0 };
			struct tfrc_path wide = { U32_MAX, U64_MAX, 1 };
			struct tfrc_loss l = { .count = U64_MAX / 4 };
			const struct tfrc_packets all = { U32_MAX, U64_MAX, 0 };

			assert_in_range(tfrc_lost(&l, &m, &all, &wide), TFRC_ONE_Q16,
					TFRC_INTERVAL_MAX_Q16);
			assert_in_range(tfrc_open_q16(&l, &m, &wide), 0, TFRC_INTERVAL_MAX_Q16);
		}
	}
}

/* Sampling draws for some, and takes the mean of the rest */
static void a_window_is_sampled_in_its_mean(void **state)
{
	const struct tfrc_params m = { REFERENCE, TFRC_SAMPLING, TFRC_PACKET_MODE, 0 };
	struct tfrc_loss l = { .random = 11 };

	(void)state;
	arrive(&l, &m, 100000, 10000000, 0);
	assert_in_range(l.count, 9900, 10100);
	/* sizes between whole bytes: 1.5 bytes of 1000 */
	l.count = 0;
	arrive(&l, &m, 1000000, 1500000, 0);
	assert_in_range(l.count, 1480, 1520);
	/* and beyond S */
	l.count = 0;
	arrive(&l, &m, 1000, 2500000, 0);
	assert_in_range(l.count, 2400, 2600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_method_has_its_closed_form),
		cmocka_unit_test(reference_packets_are_the_same_to_all),
		cmocka_unit_test(the_paper_s_coefficients_of_variation),
		cmocka_unit_test(any_sizes_have_the_same_mean),
		cmocka_unit_test(packets_may_come_together),
		cmocka_unit_test(losses_in_the_lip_are_ignored),
		cmocka_unit_test(a_large_packet_is_one_event),
		cmocka_unit_test(drop_tail_in_bytes_halves_small_packets),
		cmocka_unit_test(an_event_is_taken_back),
		cmocka_unit_test(what_the_paper_defines),
		cmocka_unit_test(the_lip_is_within_a_round_trip),
		cmocka_unit_test(what_is_out_of_range_is_the_nearest),
		cmocka_unit_test(a_window_is_sampled_in_its_mean),
	};

	return cmocka_run_group_tests_name("tfrc_loss", tests, NULL, NULL);
}
