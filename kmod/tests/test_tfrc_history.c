// SPDX-License-Identifier: GPL-2.0
/*
 * tfrc_history.h against RFC 3448, 5.4 and 5.5, in floating point: arrays that are shifted and
 * weighted as the text says, with all factors multiplied at each loss event.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "draw.h"
#include "tfrc_history.h"

/* stated in the header: with discounts, and without */
#define OFF (1 / 2048.0)
#define OFF_PACKETS (1 / 32768.0)

#define KEPT 113

/**
 * struct oracle - the RFC's history
 * @n: intervals that count
 * @length: packets, @length[1] is the newest closed one
 * @factor: DF_i
 * @closed: how many
 * @discounts: an interval was long enough to discount others
 */
struct oracle {
	unsigned int n;
	double length[KEPT + 1];
	double factor[KEPT + 1];
	unsigned int closed;
	bool discounts;
};

static double oracle_weight(unsigned int n, unsigned int i)
{
	return i < n / 2 ? 1 : 1 - (i - (n / 2.0 - 1)) / (n / 2.0 + 1);
}

static double oracle_without(const struct oracle *o)
{
	double sum = 0, weights = 0;
	unsigned int i;

	for (i = 1; i <= o->closed && i <= o->n; i++) {
		sum += o->length[i] * oracle_weight(o->n, i - 1) * o->factor[i];
		weights += oracle_weight(o->n, i - 1) * o->factor[i];
	}
	return sum / weights;
}

static double oracle_factor(const struct oracle *o, double open)
{
	double mean;

	if (!o->closed)
		return 1;
	mean = oracle_without(o);
	return open > 2 * mean ? fmax(2 * mean / open, 0.5) : 1;
}

static double oracle_mean(const struct oracle *o, double open)
{
	double sum = open, weights = 1, factor = oracle_factor(o, open);
	unsigned int i;

	for (i = 1; i <= o->closed && i < o->n; i++) {
		sum += o->length[i] * oracle_weight(o->n, i) * o->factor[i] * factor;
		weights += oracle_weight(o->n, i) * o->factor[i] * factor;
	}
	return fmax(oracle_without(o), sum / weights);
}

static void oracle_close(struct oracle *o, double length, unsigned int n)
{
	double factor = oracle_factor(o, length);
	unsigned int i;

	for (i = KEPT; i > 1; i--) {
		o->length[i] = o->length[i - 1];
		o->factor[i] = o->factor[i - 1] * factor;
	}
	o->length[1] = length;
	o->factor[1] = factor;
	o->closed += o->closed < KEPT;
	o->n = n;
	o->discounts |= factor < 1;
}

static u64 q16(double packets)
{
	return (u64)(packets * 65536 + 0.5);
}

static void check(const struct tfrc_history *h, const struct oracle *o, double open)
{
	double got = (double)tfrc_history_mean_q16(h, q16(open)) / 65536;
	double exact = oracle_mean(o, open);
	double off = o->discounts || oracle_factor(o, open) < 1 ? exact * OFF : OFF_PACKETS;

	if (fabs(got - exact) > off)
		fail_msg("%u intervals of %u, open %f: %f, not %f", o->closed, o->n, open, got,
			 exact);
}

/* Lengths of one magnitude, or of any: with factors, and without */
static double some_length(bool any)
{
	return 1 + (double)draw_scale(any ? 40 : 22) / 65536;
}

static void the_mean_is_the_rfc_s(void **state)
{
	unsigned int run, i;

	(void)state;
	for (run = 0; run < 3000; run++) {
		u32 half = draw(2) ? TFRC_HALF : TFRC_HALF + (u32)draw(TFRC_HALF_MAX - 3);
		struct tfrc_history h = { 0 };
		struct oracle o = { 0 };
		bool any = draw(3) == 0;

		for (i = 0; i < 30 + 6 * (half > TFRC_HALF) * half; i++) {
			double length = some_length(any);

			tfrc_history_close(&h, q16(length), half);
			oracle_close(&o, length, 2 * half);
			if (i % 8 == 0) {
				check(&h, &o, 0);
				check(&h, &o, some_length(any));
			}
		}
	}
}

/* RFC 3448, 5.4: eight intervals, weights 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2 */
static void a_worked_example(void **state)
{
	struct tfrc_history h = { 0 };
	u32 i;

	(void)state;
	/* the newest is 10, the oldest 80: (10 + 20 + 30 + 40 + 40 + 36 + 28 + 16) / 6 */
	for (i = 8; i; i--)
		tfrc_history_close(&h, q16(10 * i), TFRC_HALF);
	assert_in_range(tfrc_history_mean_q16(&h, 0), q16(220 / 6.0) - 1, q16(220 / 6.0));
	/* an open one shorter than the mean counts for nothing */
	assert_in_range(tfrc_history_mean_q16(&h, q16(36)), q16(220 / 6.0) - 1, q16(220 / 6.0));
	/* a longer one does, and the oldest falls out:
	 * (70 + 10 + 20 + 30 + 0.8 * 40 + 0.6 * 50 + 0.4 * 60 + 0.2 * 70) / 6
	 */
	assert_in_range(tfrc_history_mean_q16(&h, q16(70)), q16(230 / 6.0) - 1, q16(230 / 6.0));
	/* beyond twice the mean, the others count as much less: by 220/3 of 110 */
	assert_in_range(tfrc_history_mean_q16(&h, q16(110)),
			q16((110 + 160 * 2 / 3.0) / (1 + 5 * 2 / 3.0) - 0.001),
			q16((110 + 160 * 2 / 3.0) / (1 + 5 * 2 / 3.0) + 0.001));
	/* and no less than half */
	assert_in_range(tfrc_history_mean_q16(&h, q16(1000)), q16((1000 + 80) / 3.5) - 3,
			q16((1000 + 80) / 3.5) + 3);
}

static double packets(const struct tfrc_history *h, double open, u32 timeout_rtts)
{
	return (double)tfrc_packets_q20(tfrc_history_mean_q16(h, q16(open)), timeout_rtts) /
	       (1 << 20);
}

static void gains_slowly(u32 timeout_rtts)
{
	double interval;

	for (interval = 20; interval < 1e6; interval *= 1.7) {
		double plain = 0, most = 0, n, before, open = 0;
		struct tfrc_history h = { 0 };
		u32 i;

		for (i = 0; i < 8; i++)
			tfrc_history_close(&h, q16(interval), TFRC_HALF);
		before = packets(&h, 0, timeout_rtts);
		n = before;
		while (open < 40 * interval) {
			open += n;
			n = packets(&h, open, timeout_rtts);
			most = fmax(most, n - before);
			if (open < 2 * interval)
				plain = most;
			before = n;
		}
		assert_true(plain < 0.126);
		assert_true(most < 0.35);
		/* it does gain */
		assert_true(plain > 0.1);
		assert_true(most > 0.25);
	}
}

/* What weights, discounts and the equation together bound: 0.125 packets per round trip in each
 * until the open interval is twice the mean, 0.35 after it (0.33, and the rounding of a discount)
 */
static void a_flow_without_losses_gains_slowly(void **state)
{
	u32 timeout_rtts;

	(void)state;
	for (timeout_rtts = 1; timeout_rtts <= TFRC_TIMEOUT_RTTS_MAX; timeout_rtts++)
		gains_slowly(timeout_rtts);
}

/* A loss event that is taken back leaves what was before it */
static void an_event_is_taken_back(void **state)
{
	unsigned int run, i;

	(void)state;
	for (run = 0; run < 300; run++) {
		unsigned int events = 1 + (unsigned int)draw(3), had = (unsigned int)draw(300);
		u32 half = draw(2) ? TFRC_HALF : TFRC_HALF_MAX;
		struct tfrc_history h = { 0 }, before;
		u64 sum_q16 = 0, length_q16, open_q16 = q16(some_length(true));

		for (i = 0; i < had; i++)
			tfrc_history_close(&h, q16(some_length(true)), half);
		before = h;
		for (i = 0; i < events; i++) {
			length_q16 = q16(some_length(true));
			sum_q16 += length_q16;
			tfrc_history_close(&h, length_q16, half);
		}
		for (i = 0; i < events; i++)
			sum_q16 -= tfrc_history_reopen(&h);
		assert_int_equal(sum_q16, 0);
		assert_int_equal(h.newest, before.newest);
		/* a longest history has room for one more */
		if (half == TFRC_HALF || had + events <= TFRC_KEPT || events == 1) {
			assert_int_equal(h.older_q16, before.older_q16);
			assert_int_equal(tfrc_history_mean_q16(&h, open_q16),
					 tfrc_history_mean_q16(&before, open_q16));
		}
	}
}

static void without_an_interval_there_is_no_mean(void **state)
{
	struct tfrc_history h = { 0 };

	(void)state;
	assert_int_equal(tfrc_history_mean_q16(&h, q16(1000)), 0);
	assert_int_equal(tfrc_history_reopen(&h), 0);
	assert_int_equal(h.closed, 0);
	tfrc_history_close(&h, q16(17), TFRC_HALF);
	assert_int_equal(tfrc_history_mean_q16(&h, 0), q16(17));
	assert_int_equal(tfrc_history_reopen(&h), q16(17));
	assert_int_equal(tfrc_history_mean_q16(&h, q16(1000)), 0);
}

static void what_is_out_of_range_is_the_nearest(void **state)
{
	struct tfrc_history h = { 0 }, other = { 0 };
	u32 i;

	(void)state;
	tfrc_history_close(&h, 0, 0);
	assert_int_equal(tfrc_history_mean_q16(&h, 0), TFRC_ONE_Q16);
	assert_int_equal(h.half, TFRC_HALF);
	tfrc_history_close(&h, U64_MAX, U32_MAX);
	assert_int_equal(h.interval[h.newest].length_q16, TFRC_INTERVAL_MAX_Q16);
	assert_int_equal(h.half, TFRC_HALF_MAX);
	assert_int_equal(tfrc_history_mean_q16(&h, U64_MAX),
			 tfrc_history_mean_q16(&h, TFRC_INTERVAL_MAX_Q16));
	/* the widest sums: a mean of the longest is the longest */
	for (i = 0; i < 3 * TFRC_KEPT; i++)
		tfrc_history_close(&other, U64_MAX, U32_MAX);
	assert_int_equal(tfrc_history_mean_q16(&other, U64_MAX), TFRC_INTERVAL_MAX_Q16);
	assert_int_equal(tfrc_history_mean_q16(&other, 0), TFRC_INTERVAL_MAX_Q16);
	assert_int_equal(other.closed, TFRC_KEPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mean_is_the_rfc_s),
		cmocka_unit_test(a_worked_example),
		cmocka_unit_test(a_flow_without_losses_gains_slowly),
		cmocka_unit_test(an_event_is_taken_back),
		cmocka_unit_test(without_an_interval_there_is_no_mean),
		cmocka_unit_test(what_is_out_of_range_is_the_nearest),
	};

	return cmocka_run_group_tests_name("tfrc_history", tests, NULL, NULL);
}
