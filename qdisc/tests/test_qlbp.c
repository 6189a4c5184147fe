// SPDX-License-Identifier: GPL-2.0
/*
 * qlbp.h against the paper's formulas in floating point, and with shaper.h as
 * the link of a simulated queue, against the paper's table and its fluid.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "qlbp.h"
#include "shaper.h"

#define MBIT 125000ULL		/* bytes per second */
#define START 123456789ULL	/* ns; any time but 0 */

#define RULE(min, max, link, q)						\
	{ .mu_min_Bps = (min), .mu_max_Bps = (max), .link_Bps = (link),	\
	  .q_max_bytes = (q) }

/* ---- formulas ---- */

static const struct {
	struct qlbp p;
	const char *reason;
} rules[] = {
	{ RULE(2 * MBIT, 10 * MBIT, 15 * MBIT, 10000), "table II" },
	{ RULE(1000, 125000000000, 125000000000, 1 << 30), "the widest" },
	{ RULE(1000, 1001, 0, 1 << 30), "one byte per second over a gigabyte" },
	{ RULE(125000000000, 125000000000, 0, 64), "a flat line" },
	{ RULE(12345679, 98765431, 98765432, 999983), "divides nothing" },
	{ RULE(1250, 1250000, 1250000, 160000), "figure 15" },
	{ RULE(1000, 125000000000, 0, 64), "the steepest" },
};

static void the_rate_is_the_line(void **state)
{
	unsigned int i, k;

	(void)state;
	srand(1);
	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		const struct qlbp *p = &rules[i].p;
		u64 last = 0;

		for (k = 0; k <= 10000; k++) {
			u32 backlog = (u64)p->q_max_bytes * k / 10000;
			long double exact = p->mu_min_Bps +
				(long double)(p->mu_max_Bps - p->mu_min_Bps) *
				backlog / p->q_max_bytes;
			u64 rate = qlbp_rate(p, backlog);

			/* 2^-27 is what 64 bits of mantissa leave at 2^37 */
			if (exact - rate < -0x1p-27L || exact - rate >= 1)
				fail_msg("%s: %u bytes: %llu, not %Lf",
					 rules[i].reason, backlog,
					 (unsigned long long)rate, exact);
			assert_true(rate >= last);
			last = rate;
		}
		assert_int_equal(qlbp_rate(p, 0), p->mu_min_Bps);
		assert_int_equal(qlbp_rate(p, p->q_max_bytes), p->mu_max_Bps);
		assert_int_equal(qlbp_rate(p, p->q_max_bytes + 1), p->link_Bps);
		assert_int_equal(qlbp_rate(p, U32_MAX), p->link_Bps);
	}
}

static void parameters_follow_the_rules_of_thumb(void **state)
{
	static const u64 links[] = { 1000, 1250000, 12500000, 12345679,
				     125000000000 };
	static const u32 delays_us[] = { 1, 1000, 10000, 10000000 };
	unsigned int i, k, load;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(links); i++) {
		for (load = 1; load <= 100; load++) {
			long double rho = load / 100.0L;
			u64 mu_max = qlbp_mu_max(links[i], load);
			u64 mu_min = qlbp_mu_min(links[i], load);
			long double off;

			off = (1 + rho) / 2 * links[i] - mu_max;
			assert_true(off > -1e-6L && off < 1 + 1e-6L);
			off = rho / 2 * links[i] - mu_min;
			assert_true(off > -1e-6L && off < 1 + 1e-6L);
			assert_true(mu_min >= 1 && mu_min <= mu_max &&
				    mu_max <= links[i]);
			for (k = 0; k < ARRAY_SIZE(delays_us); k++) {
				off = delays_us[k] * 1e-6L * mu_max -
				      qlbp_q_max(mu_max, delays_us[k]);
				assert_true(off > -1e-6L && off < 1 + 1e-6L);
			}
		}
	}
	/* 100 Mbit/s, four fifths used, 10 ms: 90 and 40 Mbit/s, 112.5 kB */
	assert_int_equal(qlbp_mu_max(100 * MBIT, 80), 90 * MBIT);
	assert_int_equal(qlbp_mu_min(100 * MBIT, 80), 40 * MBIT);
	assert_int_equal(qlbp_q_max(90 * MBIT, 10000), 112500);
}

/* the remark after theorem 1: an OC-12 link, a cutoff of 150 kB */
static void the_bound_is_that_of_theorem_1(void **state)
{
	struct qlbp p = RULE(MBIT, 300 * MBIT, 600 * MBIT, 150000);
	unsigned int i;

	(void)state;
	assert_int_equal(qlbp_delay_bound_ns(&p), 4 * NSEC_PER_MSEC);
	p.mu_max_Bps = 600 * MBIT;
	assert_int_equal(qlbp_delay_bound_ns(&p), 2 * NSEC_PER_MSEC);
	for (i = 0; i < ARRAY_SIZE(rules); i++) {
		long double over = qlbp_delay_bound_ns(&rules[i].p) -
			rules[i].p.q_max_bytes * 1e9L / rules[i].p.mu_max_Bps;

		assert_true(over > -1e-3L && over < 1);
	}
}

/* ---- a queue of packets of one size ---- */

#define MOST 20000

struct queue {
	struct qlbp p;
	struct shaper sh;
	u64 now;
	u32 size;
	u32 backlog;
	unsigned int head, tail;
	u64 start[MOST];	/* when a link without pacing would begin to send it */
	long double unpaced_free;
	u64 sent_bytes;
	u64 worst_ns;		/* pacing delay */
	u64 waited_ns;		/* by all that have left */
	u64 at[MOST];		/* arrival */
};

static void setup_queue(struct queue *q, const struct qlbp *p, u32 size)
{
	memset(q, 0, sizeof(*q));
	q->p = *p;
	q->size = size;
	q->now = START;
	q->unpaced_free = START;
	shaper_set_rate(&q->sh, qlbp_rate(p, 0), START);
}

static void leave(struct queue *q)
{
	u64 delay = q->now - min_t(u64, q->now, q->start[q->head]);

	q->worst_ns = max_t(u64, q->worst_ns, delay);
	q->waited_ns += q->now - q->at[q->head];
	q->head++;
	q->backlog -= q->size;
	q->sent_bytes += q->size;
	shaper_set_rate(&q->sh, qlbp_rate(&q->p, q->backlog), q->now);
	if (q->sh.rate_Bps)
		shaper_sent(&q->sh, q->now, q->size);
}

/* let time go on to @when */
static void run_to(struct queue *q, u64 when)
{
	while (q->head < q->tail) {
		u64 next = q->sh.rate_Bps ?
			   max_t(u64, q->sh.next_ns, q->now) : q->now;

		if (next > when)
			break;
		q->now = next;
		leave(q);
	}
	q->now = max_t(u64, q->now, when);
}

/* a packet arrives; returns the bytes that it finds waiting */
static u32 arrive(struct queue *q, u64 when)
{
	u32 found;

	run_to(q, when);
	found = q->backlog;
	assert_true(q->tail < MOST);
	if (q->head == q->tail)
		shaper_arrive(&q->sh, when);
	if (q->unpaced_free < when)
		q->unpaced_free = when;
	q->start[q->tail] = q->unpaced_free;
	if (q->p.link_Bps)
		q->unpaced_free += q->size * 1e9L / q->p.link_Bps;
	q->at[q->tail++] = when;
	q->backlog += q->size;
	shaper_set_rate(&q->sh, qlbp_rate(&q->p, q->backlog), when);
	return found;
}

/*
 * Table II: the queue that an arriving packet finds is the table's, to the
 * packet; the mean queue (its delay times its rate) is the fluid's, of section
 * II-D, to a tenth of one; and no delay exceeds theorem 1's bound.
 */
static void constant_rates_find_the_queues_of_table_2(void **state)
{
	static const struct {
		u32 mbit;
		u32 packets;
		double fluid;
	} rows[] = {
		{ 1, 0, 0 }, { 2, 0, 0 }, { 4, 2, 2.5 }, { 6, 4, 5 },
		{ 8, 7, 7.5 }, { 10, 9, 10 }, { 12, 10, 10 }, { 15, 10, 10 },
	};
	static struct queue q;
	unsigned int i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u64 gap_ns = 8000000 / rows[i].mbit;
		double mean;
		u32 found = 0;

		setup_queue(&q, &rules[0].p, 1000);
		for (k = 0; k < 4000; k++) {
			if (k == 2000) {
				/* settled: from here on */
				q.waited_ns = 0;
				q.worst_ns = 0;
				q.sent_bytes = 0;
			}
			found = arrive(&q, START + k * gap_ns);
		}
		mean = (double)q.waited_ns / (q.sent_bytes / 1000) / gap_ns;
		if (found / 1000 != rows[i].packets)
			fail_msg("%u Mbit/s: found %u", rows[i].mbit, found);
		/* between q_max and the next packet the rate has a step */
		if (fabs(mean - rows[i].fluid) >
		    (rows[i].mbit > 10 ? 1 : 0.1))
			fail_msg("%u Mbit/s: mean %f", rows[i].mbit, mean);
		assert_true(q.worst_ns <= qlbp_delay_bound_ns(&q.p));
	}
}

/*
 * Equation 3: after a step from nothing to lambda the rate approaches lambda
 * with the constant (mu_max - mu_min) / q_max: the queue is the fluid's, to a
 * packet and a half, all the way.
 */
static void a_step_is_followed_exponentially(void **state)
{
	const struct qlbp p = RULE(1250, 10 * MBIT, 10 * MBIT, 1000000);
	double alpha = (double)(p.mu_max_Bps - p.mu_min_Bps) / p.q_max_bytes;
	double lambda = 8 * MBIT, gap_ns = 1e12 / lambda;
	static struct queue q;
	unsigned int k;

	(void)state;
	setup_queue(&q, &p, 1000);
	/* five times 1 / alpha */
	for (k = 0; k < 5 / alpha * 1e9 / gap_ns; k++) {
		double t = k * gap_ns * 1e-9;
		double mu = lambda - (lambda - p.mu_min_Bps) * exp(-alpha * t);
		double fluid = (mu - p.mu_min_Bps) / alpha;
		u32 found = arrive(&q, START + (u64)(k * gap_ns));

		if (fabs(found - fluid) > 1500)
			fail_msg("after %f s: %u, not %f", t, found, fluid);
	}
	assert_true(k > 4000);
}

/* what is served in a busy time is the integral of the rule, to a packet */
static void the_rate_served_is_that_of_the_rule(void **state)
{
	static struct queue q;
	long double integral = 0;
	unsigned int k;
	u64 when = START;

	(void)state;
	srand(3);
	setup_queue(&q, &rules[0].p, 1000);
	/* 50 packets at once, then 9 Mbit/s on average: never empty */
	for (k = 0; k < 50; k++)
		arrive(&q, when);
	for (k = 0; k < 15000; k++) {
		u64 to = when + rand() % 1777777;

		/* event by event: the backlog is constant between them */
		while (q.now < to) {
			u64 next = min_t(u64, q.sh.next_ns, to);
			u64 rate = qlbp_rate(&q.p, q.backlog);

			assert_true(q.backlog > 0);
			integral += (long double)(next - q.now) * rate / 1e9L;
			run_to(&q, next);
		}
		when = to;
		arrive(&q, when);
	}
	assert_true(q.sent_bytes > 10000000);
	assert_true(fabsl(integral - q.sent_bytes) <= 1000);
}

/*
 * Bursts of any size at any time: no packet is delayed by more than a full
 * queue takes to drain, and a packet's time, beside a link without pacing.
 */
static void no_arrivals_are_delayed_longer_than_a_queue_drains(void **state)
{
	static struct queue q;
	unsigned int i, run, k;
	double reached = 0;

	(void)state;
	srand(4);
	for (i = 0; i < 3; i++) {
		const struct qlbp p = RULE(2 * MBIT, 10 * MBIT,
					   i ? 15 * MBIT : 0,
					   i == 2 ? 3000 : 10000);
		double slope = p.mu_max_Bps - p.mu_min_Bps;
		double bound_ns = p.q_max_bytes / slope *
				  log((double)p.mu_max_Bps / p.mu_min_Bps) * 1e9 +
				  100e9 / p.mu_max_Bps;

		for (run = 0; run < 100; run++) {
			u64 when = START;

			setup_queue(&q, &p, 100);
			for (k = 0; k < 3000; k++) {
				if (rand() % 120 == 0)
					when += rand() % 30000000;
				arrive(&q, when);
			}
			run_to(&q, when + NSEC_PER_SEC);
			assert_int_equal(q.head, q.tail);
			if (q.worst_ns > bound_ns)
				fail_msg("%llu ns, bound %f",
					 (unsigned long long)q.worst_ns, bound_ns);
			reached = fmax(reached, q.worst_ns / bound_ns);
		}
	}
	/* a bound that nothing comes near says nothing */
	assert_true(reached > 0.95);
}

/* arguments beyond any option's: nothing is divided by 0, and no quotient is too large */
static void any_numbers_make_a_rule(void **state)
{
	static const u64 rates[] = { 0, 1, 199, QLBP_RATE_MAX, UINT64_MAX };
	static const u32 numbers[] = { 0, 1, 100, 101, UINT32_MAX };
	struct qlbp p = { 0 };
	size_t i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rates); i++)
		for (k = 0; k < ARRAY_SIZE(numbers); k++) {
			assert_true(qlbp_mu_min(rates[i], numbers[k]) >= 1);
			assert_true(qlbp_mu_max(rates[i], numbers[k]) >=
				    qlbp_mu_min(rates[i], numbers[k]));
			qlbp_q_max(rates[i], numbers[k]);
		}
	assert_int_equal(qlbp_mu_max(UINT64_MAX, UINT32_MAX), QLBP_RATE_MAX);
	/* without pacing: the link's rate, and no delay */
	p.link_Bps = 1000;
	assert_int_equal(qlbp_rate(&p, 0), 1000);
	assert_int_equal(qlbp_rate(&p, UINT32_MAX), 1000);
	assert_int_equal(qlbp_delay_bound_ns(&p), 0);
	/* half of a rule that another writes */
	p.q_max_bytes = UINT32_MAX;
	assert_int_equal(qlbp_delay_bound_ns(&p), UINT32_MAX * 1000000000ULL);
	p.mu_max_Bps = UINT64_MAX;
	assert_int_equal(qlbp_delay_bound_ns(&p), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rate_is_the_line),
		cmocka_unit_test(parameters_follow_the_rules_of_thumb),
		cmocka_unit_test(the_bound_is_that_of_theorem_1),
		cmocka_unit_test(constant_rates_find_the_queues_of_table_2),
		cmocka_unit_test(a_step_is_followed_exponentially),
		cmocka_unit_test(the_rate_served_is_that_of_the_rule),
		cmocka_unit_test(no_arrivals_are_delayed_longer_than_a_queue_drains),
		cmocka_unit_test(any_numbers_make_a_rule),
	};

	return cmocka_run_group_tests_name("qlbp", tests, NULL, NULL);
}
