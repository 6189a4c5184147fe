// SPDX-License-Identifier: GPL-2.0
/*
 * round_check.h: what a period says of the share, verdict by verdict, and what is remembered
 * of it; the receiver's clock against a quotient in floating point.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "draw.h"
#include "round_check.h"

#define US(x) ((u64)(x) * 1000 << 10)

/**
 * struct period - one period, of one round trip
 * @service_q10: the share that is believed
 * @time_us: how long it lasts
 * @packets: delivered in it
 * @rtt_us: round trip of its packets; 0: none came back
 * @there_us: on the way there, of it
 * @lost: packets lost
 * @trains: trains that showed a gap
 * @span_ns: of each
 * @segments: that each covers
 * @span_ticks: of each, by the receiver's clock
 * @ticks: of the period, by the receiver's clock; 0: it has none
 * @silence_us: between two ACKs
 * @prop_us: propagation delay
 * @queue: setpoint and train
 * @train: segments of a train
 * @limited: by others than the network
 * @policed: a policer was found before
 * @random: losses are random
 */
struct period {
	u64 service_q10;
	u32 time_us, packets, rtt_us, there_us, lost;
	u32 trains;
	u64 span_ns;
	u32 segments, span_ticks, ticks, silence_us;
	u32 prop_us, queue, train;
	bool limited, policed, random, repairs;
};

/* 250 us a packet by its trains and by what was delivered; R is 20 ms. Its own queue takes
 * 2 * 8 * 250 us, and with an eighth of R more than 6.5 ms are late.
 */
static const struct period good = {
	.service_q10 = US(250), .time_us = 25000, .packets = 100, .rtt_us = 20000,
	.trains = 25, .span_ns = 1000000, .segments = 4, .span_ticks = 1,
	.silence_us = 250, .prop_us = 20000, .queue = 8, .train = 4,
};

#define LATE_US (20000 + 6501)

/* The first round trip ends */
static void begin(struct round_check *r, u32 now_us, u32 tick, u32 delivered)
{
	const struct round_seen seen = {
		.now_us = now_us, .tick = tick, .delivered = delivered, .prop_us = 20000,
	};

	memset(r, 0, sizeof(*r));
	round_check_ack(r, now_us);
	assert_int_equal(round_check_end(r, &seen).verdict, ROUND_GOES_ON);
}

/* All ACKs of a period */
static void feed(struct round_check *r, const struct period *p)
{
	u32 us = 0, i;

	while (us < p->time_us) {
		us += min_t(u32, p->silence_us, p->time_us - us);
		round_check_ack(r, r->since_us + us);
	}
	if (p->rtt_us)
		round_check_rtt(r, p->rtt_us, p->there_us);
	round_check_lost(r, p->lost);
	for (i = 0; i < p->trains; i++)
		round_check_train(r, p->span_ns, p->segments, p->span_ticks);
}

static struct round_found end(struct round_check *r, const struct period *p)
{
	const struct round_seen seen = {
		.service_q10 = p->service_q10,
		.now_us = r->since_us + p->time_us,
		.tick = p->ticks ? r->since_tick + p->ticks : 0,
		.delivered = r->delivered + p->packets,
		.prop_us = p->prop_us,
		.queue = p->queue,
		.train = p->train,
		.limited = p->limited,
		.policed = p->policed,
		.random = p->random,
		.repairs = p->repairs,
	};

	return round_check_end(r, &seen);
}

static struct round_found run(struct round_check *r, const struct period *p)
{
	feed(r, p);
	return end(r, p);
}

/* Of a connection that has seen nothing before */
static struct round_found run_first(const struct period *p)
{
	struct round_check r;

	begin(&r, 1000000, 5000, 1);
	return run(&r, p);
}

/* ---- periods ---- */

static void a_period_is_of_two_trains_and_a_quarter_more_than_r(void **state)
{
	static const struct {
		u32 time_us, packets, prop_us;
		bool over;
		const char *reason;
	} rows[] = {
		{ 25000, 8, 20000, true, "as long as it must be" },
		{ 24999, 8, 20000, false, "a microsecond less" },
		{ 25000, 7, 20000, false, "a packet less" },
		{ 25003, 8, 20003, true, "a quarter is rounded down" },
		{ 0, 8, 0, true, "no delay, no time" },
		{ 125000000, 8, U32_MAX, true, "a longer delay is 100 s" },
		{ 124999999, 8, U32_MAX, false, "which are no less" },
		{ U32_MAX, 8, 20000, true, "the longest" },
		{ 25000, U32_MAX, 20000, true, "the most" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct period p = good;
		struct round_found found;
		struct round_check r;
		bool over;

		p.time_us = rows[i].time_us;
		p.silence_us = U32_MAX;
		p.packets = rows[i].packets;
		p.prop_us = rows[i].prop_us;
		p.rtt_us = max_t(u32, p.rtt_us, p.prop_us);
		begin(&r, 77, 0, U32_MAX - 3);
		r.silence_us = 0;
		round_check_rtt(&r, p.rtt_us, 0);
		round_check_train(&r, p.span_ns, p.segments, p.span_ticks);
		found = end(&r, &p);
		over = found.verdict != ROUND_GOES_ON;
		if (over != rows[i].over)
			fail_msg("%s: %u", rows[i].reason, found.verdict);
		assert_int_equal(found.service_q10, US(250));
		assert_int_equal(r.since_us, rows[i].over ? 77 + p.time_us : 77);
		assert_int_equal(r.delivered, U32_MAX - 3 + (rows[i].over ? p.packets : 0));
	}
}

/* One round trip is too short, two are not: what was said in the first counts, too */
static void a_period_collects_round_trips(void **state)
{
	struct period p = good;
	struct round_found found;
	struct round_check r;

	(void)state;
	begin(&r, 0, 0, 0);
	p.trains = 1;
	/* whatever it covers */
	p.segments = 0;
	p.packets = 4;
	p.time_us = 20000;
	assert_int_equal(run(&r, &p).verdict, ROUND_GOES_ON);
	assert_false(r.limited);
	p.packets = 80;
	p.time_us = 40000;
	p.trains = 0;
	assert_int_equal(run(&r, &p).verdict, ROUND_CONFIRMED);
	/* and the next begins without */
	p.service_q10 = US(500);
	assert_int_equal(run(&r, &p).verdict, ROUND_UNCONFIRMED);

	p.packets = 4;
	p.limited = true;
	p.time_us = 20000;
	assert_int_equal(run(&r, &p).verdict, ROUND_GOES_ON);
	p.packets = 80;
	p.limited = false;
	p.time_us = 40000;
	found = run(&r, &p);
	assert_true(found.limited);
	assert_int_equal(found.verdict, ROUND_CONFIRMED);
	found = run(&r, &p);
	assert_false(found.limited);
	assert_int_equal(found.verdict, ROUND_UNCONFIRMED);
}

/* ACKs ask this before they end a period */
static void a_period_is_due_after_a_quarter_more_than_r(void **state)
{
	static const struct {
		u32 since_us, now_us, prop_us;
		bool due;
		const char *reason;
	} rows[] = {
		{ 0, 25000, 20000, true, "as long as it must be" },
		{ 0, 24999, 20000, false, "a microsecond less" },
		{ 0, 25003, 20003, true, "a quarter is rounded down" },
		{ 0, 25002, 20003, false, "and not to less" },
		{ 7, 7, 0, true, "no delay, no time" },
		{ U32_MAX - 9, 24990, 20000, true, "across the wrap" },
		{ U32_MAX - 9, 24989, 20000, false, "a microsecond less" },
		{ 1, 0, 20000, true, "the longest" },
		{ 0, 125000000, U32_MAX, true, "a longer delay is 100 s" },
		{ 0, 124999999, U32_MAX, false, "which are no less" },
		{ 0, 125000000, ROUND_MAX_US + 4, true, "just longer" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct round_check r = { .since_us = rows[i].since_us };

		/* before the first round trip has ended there is no period */
		assert_false(round_check_due(&r, rows[i].now_us, rows[i].prop_us));
		r.started = 1;
		if (round_check_due(&r, rows[i].now_us, rows[i].prop_us) != rows[i].due)
			fail_msg("%s", rows[i].reason);
	}
}

/* What happened before the first round trip ended is no part of a period */
static void the_first_round_trip_only_begins_a_period(void **state)
{
	const struct round_seen seen = {
		.now_us = 25000, .tick = 4, .delivered = 5000, .prop_us = 1, .limited = true,
		.service_q10 = U64_MAX,
	};
	struct period no_gap = good;
	struct round_check r = {};
	struct round_found found;

	(void)state;
	no_gap.trains = 0;
	feed(&r, &good);
	round_check_end(&r, &seen);
	assert_int_equal(run(&r, &no_gap).verdict, ROUND_UNCONFIRMED);

	memset(&r, 0, sizeof(r));
	feed(&r, &good);
	round_check_lost(&r, 9);
	found = round_check_end(&r, &seen);
	assert_int_equal(found.verdict, ROUND_GOES_ON);
	assert_int_equal(found.service_q10, ROUND_SERVICE_MAX_Q10);
	assert_true(r.started);
	assert_int_equal(r.since_us, 25000);
	assert_int_equal(r.since_tick, 4);
	assert_int_equal(r.delivered, 5000);
	found = run(&r, &good);
	assert_int_equal(found.verdict, ROUND_CONFIRMED);
	assert_false(found.limited);
	assert_false(found.lossy);
	assert_int_equal(found.served_q8, 256);
}

/* A period after a bad one finds what the same period finds after a good one */
static void nothing_of_a_period_is_left_in_the_next(void **state)
{
	struct period bad = good, next = good;
	struct round_found after_bad, after_good;
	struct round_check r;

	(void)state;
	next.rtt_us = 21000;
	next.span_ns = 900000;
	next.ticks = 25;
	next.there_us = 2000;
	bad.lost = 50;
	bad.ticks = 25;
	bad.limited = true;
	bad.trains = 60;
	bad.span_ns = 8000000;
	bad.segments = 3;
	bad.span_ticks = 7;
	bad.there_us = 1000;
	begin(&r, 0, 1, 0);
	run(&r, &bad);
	assert_true(r.since_tick && r.since_us && r.delivered);
	after_bad = run(&r, &next);
	bad = good;
	bad.there_us = 1000;
	bad.ticks = 25;
	begin(&r, 0, 1, 0);
	run(&r, &bad);
	after_good = run(&r, &next);
	/* but the longest service time is one of all periods */
	assert_int_equal(after_bad.slowest_q10, (8000000ULL << 10) / 3);
	assert_int_equal(after_good.slowest_q10, US(250));
	after_bad.slowest_q10 = after_good.slowest_q10;
	assert_memory_equal(&after_bad, &after_good, sizeof(after_bad));
	assert_int_equal(after_good.waited_us, 1000);
	/* spans of a tick, and half a one for the phase */
	assert_int_equal(after_good.served_q8, 384);
}

/* ---- verdicts ---- */

enum { BY_NETWORK, LIMITED, POLICED, RANDOM = 4 };

static void the_verdict_follows_from_gaps_waits_and_losses(void **state)
{
	static const struct {
		struct {
			u32 believed_us, rtt_us, lost;
			u64 span_ns;
			/* LIMITED, POLICED, RANDOM */
			u32 flags;
		} of;
		enum round_verdict verdict;
		/* ns */
		u32 service;
		bool bursts;
		const char *reason;
	} rows[] = {
		{ { 250, 20000, 0, 1000000, BY_NETWORK }, ROUND_CONFIRMED, 250000, false,
			"all agrees" },
		{ { 250, 20000, 9, 1000000, BY_NETWORK }, ROUND_CONFIRMED, 250000, false,
			"losses say nothing of a share that gaps have shown" },
		{ { 250, 19000, 0, 1000000, BY_NETWORK }, ROUND_CONFIRMED, 250000, false,
			"a round trip below R is one" },
		{ { 250, LATE_US, 0, 1000000, BY_NETWORK }, ROUND_CONFIRMED, 250000, false,
			"late, and no slower than it is believed: a queue that others fill" },
		{ { 249, LATE_US, 0, 1000000, BY_NETWORK }, ROUND_CONTRADICTED, 250000, false,
			"slower" },
		{ { 249, LATE_US - 1, 0, 1000000, BY_NETWORK }, ROUND_CONFIRMED, 249000, false,
			"within what its own queue takes" },
		{ { 100, LATE_US, 0, 1000000, BY_NETWORK }, ROUND_CONTRADICTED, 200000, false,
			"twice in one period at most" },
		{ { 125, LATE_US, 0, 1000000, BY_NETWORK }, ROUND_CONTRADICTED, 250000, false,
			"just twice" },
		{ { 250, LATE_US, 0, 874000, BY_NETWORK }, ROUND_CONTRADICTED, 250000, true,
			"an eighth denser than delivered: bursts of ACKs" },
		{ { 250, LATE_US, 0, 875000, BY_NETWORK }, ROUND_CONFIRMED, 250000, false,
			"7/8 of it are no bursts" },
		{ { 400, LATE_US, 0, 500000, BY_NETWORK }, ROUND_CONTRADICTED, 250000, true,
			"to what was delivered, if that is faster" },
		{ { 400, LATE_US - 1, 0, 500000, BY_NETWORK }, ROUND_CONFIRMED, 400000, false,
			"dense, and not late" },
		{ { 124, 20125, 0, 1000000, BY_NETWORK }, ROUND_CONTRADICTED, 248000, false,
			"gaps and deliveries agree on less than half, and packets waited" },
		{ { 124, 20124, 0, 1000000, BY_NETWORK }, ROUND_CONFIRMED, 124000, false,
			"a service time is no wait" },
		{ { 125, 21000, 0, 1000000, BY_NETWORK }, ROUND_CONFIRMED, 125000, false,
			"half is not less than half" },
		{ { 124, 21000, 0, 875000, BY_NETWORK }, ROUND_CONTRADICTED, 248000, false,
			"7/8 agree" },
		{ { 124, 21000, 0, 874999, BY_NETWORK }, ROUND_CONFIRMED, 124000, false,
			"less does not" },
		{ { 124, 21000, 0, 9000000, BY_NETWORK }, ROUND_CONTRADICTED, 248000, false,
			"gaps that show even less than was delivered" },
		{ { 124, 21000, 9, 1000000, BY_NETWORK }, ROUND_CONTRADICTED, 250000, false,
			"with many losses, all of it" },
		{ { 124, 21000, 3, 1000000, BY_NETWORK }, ROUND_CONTRADICTED, 248000, false,
			"with few" },
		{ { 60, 21000, 9, 240000, BY_NETWORK }, ROUND_CONFIRMED, 60000, false,
			"gaps that show more, in the first period with many losses" },
		{ { 124, 21000, 0, 0, BY_NETWORK }, ROUND_DELIVERED, 250000, false,
			"no gap agrees with anything" },
		{ { 10, 21000, 0, 1000000, BY_NETWORK }, ROUND_CONTRADICTED, 20000, false,
			"twice in one period at most" },
		{ { 0, 21000, 0, 1000000, BY_NETWORK }, ROUND_CONFIRMED, 0, false,
			"nothing is believed that could be contradicted" },
		{ { 124, 21000, 0, 1000000, LIMITED }, ROUND_CONFIRMED, 124000, false,
			"deliveries say nothing that gaps could agree with" },
		{ { 64, 21000, 0, 1000000, POLICED }, ROUND_UNCONFIRMED, 63500, false,
			"at a policer losses tell" },
		{ { 250, LATE_US, 5, 500000, BY_NETWORK }, ROUND_CONTRADICTED, 250000, true,
			"losses or not" },
		{ { 250, 20250, 0, 0, BY_NETWORK }, ROUND_UNCONFIRMED, 218750, false,
			"a service time is no wait: an eighth is claimed" },
		{ { 251, 20250, 0, 0, BY_NETWORK }, ROUND_UNCONFIRMED, 218750, false,
			"of what was delivered, if that is more" },
		{ { 200, 20200, 0, 0, BY_NETWORK }, ROUND_UNCONFIRMED, 175000, false,
			"of what is believed, if that is more" },
		{ { 250, 20251, 0, 0, BY_NETWORK }, ROUND_DELIVERED, 250000, false,
			"more than that: a queue" },
		{ { 200, 20000, 3, 0, BY_NETWORK }, ROUND_UNCONFIRMED, 175000, false,
			"few losses, and no wait: they may be random" },
		{ { 200, 20201, 3, 0, BY_NETWORK }, ROUND_DELIVERED, 250000, false,
			"few, and a queue" },
		{ { 200, 20000, 4, 0, BY_NETWORK }, ROUND_DELIVERED, 250000, false, "many" },
		{ { 300, 20000, 4, 0, BY_NETWORK }, ROUND_DELIVERED, 250000, false, "the same" },
		{ { 200, 20000, 12, 0, RANDOM }, ROUND_UNCONFIRMED, 175000, false,
			"many, and random" },
		{ { 200, 20000, 13, 0, RANDOM }, ROUND_DELIVERED, 250000, false, "too many" },
		{ { 250, LATE_US, 0, 0, BY_NETWORK }, ROUND_DELIVERED, 250000, false,
			"a long wait, without trains" },
		{ { 0, 20000, 0, 0, BY_NETWORK }, ROUND_CONFIRMED, 0, false,
			"nothing believed, nothing said" },
		{ { 0, LATE_US - 1, 0, 0, BY_NETWORK }, ROUND_CONFIRMED, 0, false,
			"a queue that is not long" },
		{ { 0, LATE_US, 0, 0, BY_NETWORK }, ROUND_DELIVERED, 250000, false, "long" },
		{ { 0, 20000, 1, 0, BY_NETWORK }, ROUND_DELIVERED, 250000, false, "it overflowed" },
		{ { 0, 20000, 1, 1000000, POLICED }, ROUND_DELIVERED, 250000, false,
			"a policer changes nothing of that" },
		{ { 0, 20000, 0, 1000000, POLICED }, ROUND_CONFIRMED, 0, false,
			"and nothing is probed without a share" },
		{ { 64, 20000, 0, 1000000, POLICED }, ROUND_UNCONFIRMED, 63500, false,
			"a policer that drops nothing is probed, gaps or not" },
		{ { 256, 20000, 0, 1000000, POLICED }, ROUND_UNCONFIRMED, 248047, false,
			"from what was delivered" },
		{ { 64, 20000, 1, 1000000, POLICED }, ROUND_DELIVERED, 250000, false,
			"one that drops shows its rate" },
		{ { 256, 20000, 1, 1000000, POLICED }, ROUND_DELIVERED, 256000, false,
			"but no higher one than is believed" },
		{ { 64, LATE_US, 0, 500000, POLICED }, ROUND_UNCONFIRMED, 63500, false,
			"and is no burst of ACKs" },
		{ { 100, LATE_US, 9, 500000, LIMITED }, ROUND_CONFIRMED, 100000, false,
			"limited: nothing is said" },
		{ { 100, LATE_US, 9, 0, LIMITED }, ROUND_CONFIRMED, 100000, false,
			"nor without a gap" },
		{ { 0, LATE_US, 9, 0, LIMITED }, ROUND_CONFIRMED, 0, false,
			"nor without a share" },
		{ { 64, 20000, 9, 0, LIMITED | POLICED }, ROUND_CONFIRMED, 64000, false,
			"nor at a policer" },
		{ { 250, 0, 9, 500000, BY_NETWORK }, ROUND_CONFIRMED, 250000, false,
			"nor if no packet came back" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct period p = good;
		struct round_found found;

		p.service_q10 = US(rows[i].of.believed_us);
		p.rtt_us = rows[i].of.rtt_us;
		p.lost = rows[i].of.lost;
		p.span_ns = rows[i].of.span_ns;
		p.trains = p.span_ns ? 25 : 0;
		p.limited = rows[i].of.flags & LIMITED;
		p.policed = rows[i].of.flags & POLICED;
		p.random = rows[i].of.flags & RANDOM;
		found = run_first(&p);
		if (found.verdict != rows[i].verdict || found.bursts != rows[i].bursts ||
		    (found.service_q10 + 512) >> 10 != rows[i].service)
			fail_msg("%s: verdict %u, %u ns%s", rows[i].reason, found.verdict,
				 (u32)(found.service_q10 >> 10), found.bursts ? ", bursts" : "");
		assert_int_equal(found.delivered_q10, US(250));
		assert_int_equal(found.limited, p.limited || !p.rtt_us);
		/* a packet that did not come back waited for nothing that is known */
		assert_int_equal(found.waited_us, max_t(u32, p.rtt_us, 20000) - 20000);
	}
}

static void what_a_queue_of_its_own_takes(void **state)
{
	static const struct {
		u64 service_q10;
		u32 prop_us, queue;
		u64 expected;
		const char *reason;
	} rows[] = {
		{ US(250), 20000, 8, 6500, "an eighth of R, and the queue twice" },
		{ US(250), 7, 8, 4000, "an eighth is rounded down" },
		{ US(250), 8, 8, 4001, "and not up" },
		{ US(250), 20000, 0, 2500, "no queue" },
		{ 1, 0, 8, 0, "nothing" },
		{ 16 << 6, 0, 500, 1, "1 ns: a microsecond for a thousand packets" },
		{ US(1), 0, U16_MAX, 131070, "the longest" },
		{ US(1), 0, U16_MAX + 1, 131070, "longer is the longest" },
		{ US(1), 0, U32_MAX, 131070, "the same" },
		{ ROUND_SERVICE_MAX_Q10, ROUND_MAX_US, U32_MAX, 12500000 + 18014123631575ULL,
			"no product wraps" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u64 got = round_wait_us(rows[i].service_q10, rows[i].prop_us, rows[i].queue);

		if (got != rows[i].expected)
			fail_msg("%s: %.0f us", rows[i].reason, (double)got);
	}
}

static void a_round_trip_is_long_beyond_the_queue_that_is_asked_for(void **state)
{
	static const struct {
		u32 rtt_us, prop_us;
		u64 service_q10;
		u32 queue;
		bool expected;
		const char *reason;
	} rows[] = {
		{ 26500, 20000, US(250), 8, false, "the queue twice, and an eighth of R" },
		{ 26501, 20000, US(250), 8, true, "more" },
		{ 22500, 20000, US(250), 0, false, "no queue" },
		{ 0, 20000, US(250), 8, false, "none" },
		{ U32_MAX, ROUND_MAX_US, ROUND_SERVICE_MAX_Q10, U32_MAX, false,
			"131,071 packets of 137 s" },
		{ ROUND_MAX_US + ROUND_MAX_US / 8 + 1, U32_MAX, 0, 0, true, "R is bounded" },
		{ 274877906, 0, U64_MAX, 1, false, "and the service time, to 137 s" },
		{ 274877907, 0, U64_MAX, 1, true, "from there on" },
		{ 131070, 0, US(1), U32_MAX, false, "and the queue" },
		{ 131071, 0, US(1), U32_MAX, true, "from there on" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (round_waited_long(rows[i].rtt_us, rows[i].prop_us, rows[i].service_q10,
				      rows[i].queue) != rows[i].expected)
			fail_msg("%s: %s", rows[i].reason, rows[i].expected ? "not long" : "long");
}

static void a_service_time_is_time_over_packets(void **state)
{
	static const struct {
		u64 time_us, packets, expected;
		const char *reason;
	} rows[] = {
		{ 25000, 100, US(250), "a quotient" },
		{ 25000, 0, US(25000), "no packet counts as one" },
		{ 0, 8, 1, "never 0" },
		{ 1, 1024001, 1, "nor of very many" },
		{ 1, 1000, 1024, "1 ns" },
		{ 100000000, 1, US(100000000), "the longest" },
		{ 100000001, 1, US(100000000), "longer is the longest" },
		{ U64_MAX, 1, US(100000000), "no product wraps" },
		{ 1, U64_MAX, 1, "the most" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u64 got = round_service_q10(rows[i].time_us, rows[i].packets);

		if (got != rows[i].expected)
			fail_msg("%s: %.3f ns", rows[i].reason, (double)got / 1024);
	}
	assert_true(US(100000000) < ROUND_SERVICE_MAX_Q10);
}

/* Gaps had shown more than twice what was delivered, whether that says anything or not */
static void more_than_twice_what_was_delivered_was_believed(void **state)
{
	static const struct {
		u64 service_q10;
		bool faster;
		const char *reason;
	} rows[] = {
		{ US(250), false, "what was delivered" },
		{ US(125), false, "twice" },
		{ US(125) - 1, true, "more than twice" },
		{ US(125) + 1, false, "less" },
		{ 1, true, "the most" },
		{ 0, false, "nothing" },
		{ U64_MAX, false, "the least: no product wraps" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct period p = good;
		struct round_check r;

		p.service_q10 = rows[i].service_q10;
		if (run_first(&p).faster != rows[i].faster)
			fail_msg("%s", rows[i].reason);
		p.limited = true;
		assert_int_equal(run_first(&p).faster, rows[i].faster);
		/* a period that goes on has delivered nothing yet */
		p.time_us = 24999;
		begin(&r, 0, 0, 0);
		assert_false(run(&r, &p).faster);
	}
}

/* What the gaps show over what was delivered, without the receiver's clock; 0: nothing */
static double exact_q8(const struct period *p)
{
	double delivered_us = (double)p->time_us / p->packets;

	if (p->limited || !p->rtt_us || !p->trains ||
	    p->silence_us >= (2 * p->train + 1) * delivered_us ||
	    p->trains * p->segments < p->packets / 8)
		return 0;
	return fmin(256 * (p->span_ns / 1e3 / p->segments) / delivered_us, 1024);
}

/* The verdict in floating point; sure, if nothing is so near a bound that rounding counts */
static enum round_verdict exact_verdict(const struct period *p, bool *sure)
{
	double delivered_us = (double)p->time_us / p->packets;
	double believed_us = p->service_q10 / 1024e3;
	double shown_us = p->span_ns / 1e3 / p->segments;
	double waited_us = fmax(p->rtt_us, p->prop_us) - p->prop_us;
	double late_us = p->prop_us / 8.0 + 2 * p->queue * delivered_us;
	double silent_us = (2 * p->train + 1) * delivered_us;
	bool dense = p->trains && shown_us < 7.0 / 8 * delivered_us;
	bool late = waited_us > late_us, waited = waited_us > believed_us;

	*sure = fabs(shown_us / delivered_us - 7.0 / 8) > 0.01 &&
		fabs(p->silence_us - silent_us) > 2 &&
		fabs(waited_us - late_us) > 2 && fabs(waited_us - believed_us) > 2 &&
		fabs(delivered_us - 2 * believed_us) > 1e-3 * delivered_us &&
		fabs(delivered_us - believed_us) > 1e-3 * delivered_us;
	if (p->limited || !p->rtt_us)
		return ROUND_CONFIRMED;
	if (!p->service_q10)
		return p->lost || late ? ROUND_DELIVERED : ROUND_CONFIRMED;
	if (p->policed)
		return p->lost ? ROUND_DELIVERED : ROUND_UNCONFIRMED;
	if (waited && exact_q8(p) >= 256 * 7.0 / 8 && delivered_us > 2 * believed_us)
		return ROUND_CONTRADICTED;
	if (late && (dense || delivered_us > believed_us))
		return ROUND_CONTRADICTED;
	if (p->trains)
		return ROUND_CONFIRMED;
	if (p->lost > p->packets / (p->random ? 8 : 32) || waited)
		return ROUND_DELIVERED;
	return delivered_us > 2 * believed_us ? ROUND_CONFIRMED : ROUND_UNCONFIRMED;
}

static void the_verdict_is_that_of_exact_numbers(void **state)
{
	u32 i, seen[ROUND_UNCONFIRMED + 1] = { 0 }, agreed = 0;

	(void)state;
	for (i = 0; i < 200000; i++) {
		struct period p = good;
		enum round_verdict expected;
		struct round_found found;
		bool sure;

		p.service_q10 = draw(16) ? US(1) * (10 + draw(600)) : 0;
		p.time_us = 25000 + (u32)draw(10000);
		p.packets = 20 + (u32)draw(200);
		p.rtt_us = draw(16) ? 19000 + (u32)draw_scale(15) : 0;
		p.lost = draw(4) ? 0 : 1 + (u32)draw(draw(2) ? 5 : 20);
		p.random = draw(2);
		p.trains = draw(3) ? (u32)draw(40) : 0;
		p.span_ns = 50000 + draw(2000000);
		p.silence_us = 100 + (u32)draw_scale(13);
		p.queue = (u32)draw(16);
		p.train = (u32)draw(12);
		p.limited = !draw(8);
		p.policed = !draw(8);
		expected = exact_verdict(&p, &sure);
		found = run_first(&p);
		if (!sure)
			continue;
		if (found.verdict != expected)
			fail_msg("period %u: %u, exact %u", i, found.verdict, expected);
		if (fabs(found.served_q8 - exact_q8(&p)) > 1.01)
			fail_msg("period %u: c %u, exact %f", i, found.served_q8, exact_q8(&p));
		seen[found.verdict]++;
		/* before packets are late, only gaps that agree contradict the share */
		agreed += found.verdict == ROUND_CONTRADICTED && !found.bursts &&
			  p.rtt_us < 22500;
	}
	for (i = ROUND_CONFIRMED; i <= ROUND_UNCONFIRMED; i++)
		assert_true(seen[i] > 5000);
	assert_true(agreed > 500);
}

/* Longer service times than the longest count as that, and no shorter share follows */
static void the_longest_service_time_is_a_bound(void **state)
{
	struct period p = good;
	struct round_found found;

	(void)state;
	p.service_q10 = U64_MAX;
	assert_int_equal(run_first(&p).service_q10, ROUND_SERVICE_MAX_Q10);
	p.limited = true;
	assert_int_equal(run_first(&p).service_q10, ROUND_SERVICE_MAX_Q10);
	p.limited = false;
	p.trains = 0;
	assert_int_equal(run_first(&p).service_q10, US(250) - (US(250) >> 3));
	/* 100 s for eight packets */
	p.time_us = U32_MAX;
	p.silence_us = 1U << 31;
	p.packets = 8;
	p.lost = 1;
	found = run_first(&p);
	assert_int_equal(found.service_q10, US(12500000));
	assert_int_equal(found.delivered_q10, US(12500000));
}

/* A long delay is 100 s, for what packets wait as well */
static void the_longest_delay_is_a_bound(void **state)
{
	struct period p = good;
	struct round_found found;

	(void)state;
	p.prop_us = U32_MAX;
	p.rtt_us = ROUND_MAX_US + 1000;
	p.time_us = 130000000;
	p.silence_us = 1000000;
	p.packets = 1000000;
	found = run_first(&p);
	assert_int_equal(found.waited_us, 1000);
	/* an eighth of 100 s, and a queue of 1.6 ms */
	p.rtt_us = ROUND_MAX_US + 12500000 + 1601;
	p.service_q10 = 1;
	assert_int_equal(run_first(&p).verdict, ROUND_CONTRADICTED);
	p.rtt_us--;
	assert_int_equal(run_first(&p).verdict, ROUND_CONFIRMED);
}

/* Of many packets the smallest round trip counts, of several losses the sum */
static void a_period_keeps_the_smallest_round_trip_and_all_losses(void **state)
{
	struct period p = good;
	struct round_found found;
	struct round_check r;

	(void)state;
	p.rtt_us = 0;
	begin(&r, 0, 0, 0);
	round_check_rtt(&r, 23000, 0);
	round_check_rtt(&r, 21000, 0);
	round_check_rtt(&r, 29000, 0);
	round_check_lost(&r, 2);
	round_check_lost(&r, 2);
	found = run(&r, &p);
	assert_int_equal(found.waited_us, 1000);
	assert_true(found.lossy);
	round_check_lost(&r, U32_MAX - 1);
	round_check_lost(&r, 1);
	assert_int_equal(r.lost, U32_MAX);
	round_check_lost(&r, 7);
	assert_int_equal(r.lost, U32_MAX);
}

/* A timeout: what was delivered before it and what comes after it are no rate */
static void a_period_that_was_one_silence_says_nothing(void **state)
{
	static const struct {
		u32 silence_us, rtt_us, prop_us;
		bool says;
		const char *reason;
	} rows[] = {
		{ 600001, 300000, 20000, false, "more than three quarters, and than two round trips" },
		{ 600000, 299999, 20000, true, "three quarters" },
		{ 600001, 300001, 20000, true, "less than two round trips" },
		{ 700000, 80000, 80000, false, "a probe of the stack, 700 ms after the last ACK" },
		{ 100000, 20000, 20000, true, "ACKs every 100 ms: a slow flow" },
		/* where the propagation delay is wrong, each round trip of a burst is a silence */
		{ 790000, 400000, 1000, true, "of a path of 400 ms that is taken for 1 ms" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct period p = good;
		struct round_found found;

		p.time_us = 800000;
		p.packets = 100;
		p.trains = 0;
		p.lost = 50;
		p.service_q10 = US(100);
		p.silence_us = rows[i].silence_us;
		p.rtt_us = rows[i].rtt_us;
		p.prop_us = rows[i].prop_us;
		found = run_first(&p);
		if (found.limited == rows[i].says ||
		    (found.verdict != ROUND_CONFIRMED) != rows[i].says)
			fail_msg("%zu, %s: limited %d, verdict %d", i, rows[i].reason,
				 found.limited, found.verdict);
	}
}

static void a_void_period_says_nothing(void **state)
{
	struct period p = good;
	struct round_found found;
	struct round_check r;
	u32 lost;

	(void)state;
	for (lost = 0; lost <= 1; lost++) {
		begin(&r, 0, 0, 0);
		/* whether trains showed a gap in it or none, and packets waited or were lost */
		p.trains = lost ? 0 : 25;
		p.lost = 3 * lost;
		p.rtt_us = LATE_US;
		p.service_q10 = US(100);
		feed(&r, &p);
		round_check_void(&r);
		found = end(&r, &p);
		assert_true(found.limited);
		assert_int_equal(found.verdict, ROUND_CONFIRMED);
		assert_int_equal(found.service_q10, US(100));
		assert_int_equal(found.served_q8, 0);
		/* a 32nd: that nothing came is no loss */
		assert_false(found.lossy);
		/* round trips that are too short for a period do not make it valid again */
		round_check_void(&r);
		p.time_us = 20000;
		assert_int_equal(run(&r, &p).verdict, ROUND_GOES_ON);
		p.time_us = good.time_us;
		assert_true(run(&r, &p).limited);
		/* and the next is as any */
		found = run(&r, &p);
		assert_false(found.limited);
		assert_int_equal(found.verdict, ROUND_CONTRADICTED);
	}
	/* before the first round trip has ended no period is under way */
	memset(&r, 0, sizeof(r));
	round_check_void(&r);
	assert_int_equal(end(&r, &good).verdict, ROUND_GOES_ON);
	assert_false(run(&r, &good).limited);
}

/* ---- claims, and probes at a policer ---- */

/* One every second period, for a claim is seen a period later */
static void claims_are_an_eighth_a_quarter_and_then_halves(void **state)
{
	static const u32 parts[] = { 7, 8, 6, 8, 4, 8, 4, 8, 4, 8 };
	static const u32 lost[] = { 8, 6, 8, 4, 8, 7, 8, 7, 8, 7 };
	struct period p = good, sampled = good;
	struct round_check r;
	size_t i;

	(void)state;
	p.trains = 0;
	begin(&r, 0, 0, 0);
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		struct round_found found = run(&r, &p);

		assert_int_equal(found.verdict, ROUND_UNCONFIRMED);
		if (found.service_q10 != US(250) / 8 * parts[i])
			fail_msg("period %u: %.0f ns", (u32)i, (double)found.service_q10 / 1024);
	}
	/* what is confirmed begins from the first again, and so does what was delivered */
	run(&r, &sampled);
	assert_int_equal(run(&r, &p).service_q10, US(250) / 8 * 7);
	assert_int_equal(run(&r, &p).service_q10, US(250));
	p.lost = 4;
	run(&r, &p);
	p.lost = 0;
	assert_int_equal(run(&r, &p).service_q10, US(250) / 8 * 7);
	assert_int_equal(run(&r, &p).service_q10, US(250));
	/* and what is limited */
	p.limited = true;
	run(&r, &p);
	p.limited = false;
	assert_int_equal(run(&r, &p).service_q10, US(250) / 8 * 7);
	/* while some is lost each is the first, also after larger ones */
	for (i = 0; i < ARRAY_SIZE(lost); i++) {
		p.lost = i > 4;
		assert_int_equal(run(&r, &p).service_q10, US(250) / 8 * lost[i]);
	}
}

/* Nobody knows what the bottleneck would have carried where something else limits what is sent */
static void what_is_not_delivered_is_claimed_twice_at_most(void **state)
{
	struct period p = good;
	struct round_check r;
	u64 least_q10 = U64_MAX;
	u32 i;

	(void)state;
	p.trains = 0;
	begin(&r, 0, 0, 0);
	for (i = 0; i < 1000; i++) {
		p.service_q10 = run(&r, &p).service_q10;
		least_q10 = min_t(u64, least_q10, p.service_q10);
	}
	/* a claim is made while deliveries are half of what is believed, and doubles that */
	assert_in_range(least_q10, US(250) / 4, US(250) / 2);
	/* where deliveries follow it goes on: 2^10 times as much, of some 2^10 packets a period */
	p.time_us = 25000;
	for (i = 0; i < 20; i++) {
		p.packets = (u32)(((u64)p.time_us * 1000 << 10) / p.service_q10);
		p.service_q10 = run(&r, &p).service_q10;
	}
	assert_true(p.service_q10 < least_q10 / 64);
}

static void nothing_is_claimed_below_a_unit(void **state)
{
	struct round_check r = {};
	u32 i;

	(void)state;
	for (i = 0; i < 20; i++) {
		assert_int_equal(round_claim_q10(&r, 1), 1);
		assert_in_range(r.claims, 1, ROUND_CLAIM_LAST);
	}
	r.claims = 0;
	assert_int_equal(round_claim_q10(&r, 0), 1);
}

/* Binary places of a policer's probe, after so many periods in a row without a loss */
static u32 probe_shift(u32 periods)
{
	return periods < 8 ? 7 : periods < 16 ? 6 : periods < 24 ? 5 : periods < 32 ? 4 : 3;
}

/* A step of the lower rate of the two, twice as long after each eight periods without a loss */
static void a_policer_is_probed_by_a_128th_and_then_by_more(void **state)
{
	static const struct {
		/* delivered: 250 us a packet */
		u64 believed_q10, from_q10;
		const char *reason;
	} rows[] = {
		{ US(250), US(250), "both are the same" },
		{ US(128), US(128), "what is believed is less time" },
		{ US(256), US(250), "what was delivered is less time" },
		{ ROUND_SERVICE_MAX_Q10, US(250), "from the longest" },
		{ 128, 128, "the shortest step" },
		{ 127, 127, "below it there is none" },
		{ 1, 1, "never 0" },
	};
	struct round_check r;
	size_t i;
	u32 n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct period p = good;
		u32 periods = 0;

		p.service_q10 = rows[i].believed_q10;
		p.policed = true;
		begin(&r, 0, 0, 0);
		/* long after the first, after a loss, and after more than are counted */
		for (n = 0; n < 400; n++) {
			struct round_found found;

			p.lost = n == 25 || n == 70;
			found = run(&r, &p);
			periods = p.lost ? 0 : periods + 1;
			if (p.lost)
				continue;
			assert_int_equal(found.verdict, ROUND_UNCONFIRMED);
			if (found.service_q10 != rows[i].from_q10 -
						 (rows[i].from_q10 >> probe_shift(periods)))
				fail_msg("%s, period %u: %.3f ns", rows[i].reason, n,
					 (double)found.service_q10 / 1024);
		}
	}
}

/* Step after step: (127 / 128)^7 (63 / 64)^8 (31 / 32)^8 (15 / 16)^5 is 0.4688 */
static void a_policer_that_is_gone_lets_the_rate_double_in_28_periods(void **state)
{
	struct period p = good;
	struct round_check r;
	u32 n;

	(void)state;
	p.policed = true;
	begin(&r, 0, 0, 0);
	for (n = 1; n <= 28; n++) {
		p.service_q10 = run(&r, &p).service_q10;
		assert_int_equal(p.service_q10 < US(125), n == 28);
	}
}

/* What is found lost right after the rate was lowered was sent before that */
static void a_policer_lowers_the_rate_in_every_second_period_at_most(void **state)
{
	static const struct {
		struct {
			u32 lost;
			bool limited, policed;
		} of;
		enum round_verdict verdict;
		/* us */
		u32 service;
		const char *reason;
	} rows[] = {
		{ { 5, false, true }, ROUND_DELIVERED, 250, "drops show the rate" },
		{ { 5, false, true }, ROUND_CONFIRMED, 128, "of what was sent before" },
		{ { 5, false, true }, ROUND_DELIVERED, 144, "they go on: an eighth less" },
		{ { 1, false, true }, ROUND_CONFIRMED, 128, "one is enough for either" },
		{ { 1, false, true }, ROUND_DELIVERED, 144, "the same" },
		{ { 0, false, true }, ROUND_UNCONFIRMED, 127, "none: it is probed" },
		{ { 5, false, true }, ROUND_DELIVERED, 144, "the probe was too much" },
		{ { 0, false, true }, ROUND_UNCONFIRMED, 127, "and by the same step" },
		{ { 0, false, true }, ROUND_UNCONFIRMED, 127, "the second" },
		{ { 5, false, true }, ROUND_DELIVERED, 144, "drops" },
		{ { 9, false, true }, ROUND_CONFIRMED, 128, "of what was sent before" },
		{ { 0, false, true }, ROUND_UNCONFIRMED, 127, "a probe" },
		{ { 5, true, true }, ROUND_CONFIRMED, 128, "limited: no drop tells" },
		{ { 5, false, true }, ROUND_DELIVERED, 144, "and the rate was not lowered for it" },
		{ { 0, false, true }, ROUND_UNCONFIRMED, 127, "a probe" },
		{ { 5, false, false }, ROUND_CONFIRMED, 128, "elsewhere gaps show the share" },
	};
	struct round_check r;
	size_t i;

	(void)state;
	begin(&r, 0, 0, 0);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct period p = good;
		struct round_found found;

		p.service_q10 = US(128);
		p.lost = rows[i].of.lost;
		p.limited = rows[i].of.limited;
		p.policed = rows[i].of.policed;
		found = run(&r, &p);
		if (found.verdict != rows[i].verdict ||
		    found.service_q10 != US(rows[i].service))
			fail_msg("%zu, %s: %u, %.3f us", i, rows[i].reason, found.verdict,
				 (double)found.service_q10 / US(1));
	}
}

/* That the rate was lowered counts for the next period, and for none after another */
static void that_the_rate_was_lowered_is_not_remembered_for_long(void **state)
{
	static const struct {
		bool limited, policed;
		u32 periods;
		/* us */
		u32 service;
		const char *reason;
	} rows[] = {
		{ true, true, 1, 144, "a limited period, and the rate is still known" },
		{ true, true, 100, 144, "many" },
		{ false, false, 1, 250, "no policer, and its rate is not known" },
		{ false, false, 100, 250, "for long" },
		{ true, false, 1, 250, "neither" },
	};
	static const u32 losses[] = { 0, 5 };
	size_t i, l;
	u32 n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (l = 0; l < ARRAY_SIZE(losses); l++) {
			struct period p = good;
			struct round_found found;
			struct round_check r;

			p.service_q10 = US(128);
			p.lost = 5;
			p.policed = true;
			begin(&r, 0, 0, 0);
			assert_int_equal(run(&r, &p).verdict, ROUND_DELIVERED);
			p.lost = losses[l];
			p.limited = rows[i].limited;
			p.policed = rows[i].policed;
			for (n = 0; n < rows[i].periods; n++)
				assert_int_equal(run(&r, &p).verdict, ROUND_CONFIRMED);
			p.lost = 5;
			p.limited = false;
			p.policed = true;
			found = run(&r, &p);
			if (found.verdict != ROUND_DELIVERED ||
			    found.service_q10 != US(rows[i].service))
				fail_msg("%s: %u, %.3f us", rows[i].reason, found.verdict,
					 (double)found.service_q10 / US(1));
		}
	}
}

/* Of the rate: a service time is longer by an eighth of itself at most. Never a higher one,
 * whatever was delivered
 */
static void a_loss_lowers_a_policers_rate_by_an_eighth_at_most(void **state)
{
	static const struct {
		/* delivered: 250 us a packet */
		u64 believed_q10, first_q10, known_q10;
		const char *reason;
	} rows[] = {
		{ US(250), US(250), US(250) / 16 * 17, "what was delivered is believed" },
		{ US(240), US(250), US(250) / 16 * 17, "less than an eighth" },
		{ US(237), US(250), US(250) / 16 * 17, "less by little" },
		{ US(236), US(250), US(236) + US(236) / 8, "an eighth" },
		{ US(128), US(250), US(144), "half of it was delivered" },
		{ US(1), US(250), US(1) + US(1) / 8, "almost nothing was" },
		{ 8, US(250), 9, "the shortest step" },
		{ 7, US(250), 7, "below it there is none" },
		{ US(265), US(265), US(250) / 16 * 17, "a sixteenth more was delivered" },
		{ US(266), US(266), US(266), "more was delivered: no higher rate" },
		{ US(500), US(500), US(500), "twice as much: the same" },
		{ ROUND_SERVICE_MAX_Q10, ROUND_SERVICE_MAX_Q10, ROUND_SERVICE_MAX_Q10,
			"nor of the lowest" },
		{ U64_MAX, ROUND_SERVICE_MAX_Q10, ROUND_SERVICE_MAX_Q10, "no sum wraps" },
	};
	u32 known, lost;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (lost = 1; lost <= 100; lost += 33) {
			/* no period at the policer before, one, and many */
			for (known = 0; known < 9; known++) {
				struct period p = good;
				struct round_found found;
				struct round_check r;
				u32 n;

				p.service_q10 = rows[i].believed_q10;
				p.policed = true;
				begin(&r, 0, 0, 0);
				for (n = 0; n < known; n++)
					run(&r, &p);
				p.lost = lost;
				found = run(&r, &p);
				assert_int_equal(found.verdict, ROUND_DELIVERED);
				if (found.service_q10 != (known ? rows[i].known_q10 :
								  rows[i].first_q10))
					fail_msg("%s, %u before: %.3f us", rows[i].reason, known,
						 (double)found.service_q10 / US(1));
			}
		}
	}
}

/* Whatever periods follow each other at a policer, a loss never raises its rate and no period
 * without one lowers it
 */
static void a_policers_rate_is_that_of_exact_numbers(void **state)
{
	u32 flow, n, lowered = 0, first = 0, probed = 0, skipped = 0;

	(void)state;
	for (flow = 0; flow < 300; flow++) {
		bool known = false, slowed = false;
		struct round_check r;
		u32 clean = 0;

		begin(&r, 0, 0, 0);
		for (n = 0; n < 100; n++) {
			struct period p = good;
			double believed_us, delivered_us, expected_us;
			u64 got_q10;

			p.service_q10 = US(1) * (100 + draw(300));
			p.packets = 50 + (u32)draw(200);
			p.lost = draw(flow % 8 ? 2 : 16) ? 0 : (u32)draw(9);
			p.limited = !draw(flow % 8 ? 8 : 64);
			p.policed = !!draw(8);
			/* no wait and no burst says anything elsewhere */
			p.span_ns = 4000ULL * p.time_us / p.packets;
			got_q10 = run(&r, &p).service_q10;
			believed_us = p.service_q10 / 1024e3;
			delivered_us = (double)p.time_us / p.packets;
			expected_us = believed_us;
			known = known && p.policed;
			slowed = slowed && p.policed && !p.limited;
			clean = p.policed && !p.limited && !p.lost ? clean + 1 : 0;
			if (p.policed && !p.limited) {
				const bool slows = p.lost && !slowed;

				if (slows)
					expected_us = fmax(believed_us, known ?
						fmin(delivered_us * 17 / 16, believed_us * 9 / 8) :
						delivered_us);
				else if (!p.lost)
					expected_us = fmin(believed_us, delivered_us) *
						      (1 - ldexp(1, -(int)probe_shift(clean)));
				lowered += slows && known;
				first += slows && !known;
				probed += !p.lost;
				skipped += p.lost && slowed;
				known = true;
				slowed = slows;
			}
			if (fabs(got_q10 / 1024e3 - expected_us) > 1e-5)
				fail_msg("flow %u, period %u: %f us, exact %f", flow, n,
					 got_q10 / 1024e3, expected_us);
			assert_true(!p.lost || got_q10 >= p.service_q10);
			assert_true(p.lost || got_q10 <= p.service_q10);
		}
	}
	assert_true(lowered > 2000 && first > 500 && probed > 5000 && skipped > 1000);
}

/* A policer is gone after many probes: no claim is more than half of the service time */
static void after_a_policer_no_claim_is_all_of_the_share(void **state)
{
	u32 probes, periods;

	(void)state;
	for (probes = 0; probes <= 20; probes++) {
		struct period p = good;
		struct round_check r;

		p.trains = 0;
		p.policed = true;
		begin(&r, 0, 0, 0);
		for (periods = 0; periods < probes; periods++)
			run(&r, &p);
		p.policed = false;
		for (periods = 0; periods < 20; periods++) {
			struct round_found found = run(&r, &p);

			assert_int_equal(found.verdict, ROUND_UNCONFIRMED);
			if (found.service_q10 < US(125) || found.service_q10 > US(250))
				fail_msg("%u probes, period %u: %.3f ns of 250 us", probes,
					 periods, (double)found.service_q10 / 1024);
		}
	}
}

/* ---- trains that a small buffer does not hold ---- */

static void losses_of_more_than_a_32nd_are_many(void **state)
{
	static const struct {
		u32 packets, lost;
		bool random, lossy;
		const char *reason;
	} rows[] = {
		{ 100, 0, false, false, "none" },
		{ 100, 3, false, false, "just a 32nd" },
		{ 100, 4, false, true, "more" },
		{ 128, 4, false, false, "just a 32nd" },
		{ 128, 5, false, true, "more" },
		{ 31, 1, false, true, "one of a few" },
		{ 31, 0, false, false, "none of a few" },
		{ U32_MAX, U32_MAX, false, true, "all of very many" },
		{ 128, 16, true, false, "an eighth, at random" },
		{ 128, 17, true, true, "more, at random" },
		{ U32_MAX, U32_MAX, true, true, "all, at random" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct period p = good;
		struct round_check r;

		p.packets = rows[i].packets;
		p.lost = rows[i].lost;
		p.random = rows[i].random;
		begin(&r, 0, 0, 0);
		r.lossy = ROUND_LOSSY - 1;
		if (run(&r, &p).lossy != rows[i].lossy)
			fail_msg("%s: %u of %u", rows[i].reason, p.lost, p.packets);
		assert_int_equal(round_train_most(&r, 64, 1), rows[i].lossy ? 32 : 64);
		/* deliveries that say nothing of the share say as much of losses */
		p.limited = true;
		assert_int_equal(run_first(&p).lossy, rows[i].lossy);
	}
}

/* Periods in a row, with many losses or with none */
static void run_periods(struct round_check *r, bool lossy, u32 count)
{
	struct period p = good;

	p.lost = lossy ? 10 : 0;
	while (count--)
		run(r, &p);
}

/* A neighbour that comes or goes costs two periods, and no train */
static void the_third_lossy_period_in_a_row_halves_trains(void **state)
{
	static const u32 trains[] = { 64, 64, 32, 16, 8, 4, 2, 1, 1, 1, 1, 1 };
	struct round_check r;
	size_t i;

	(void)state;
	begin(&r, 0, 0, 0);
	for (i = 0; i < ARRAY_SIZE(trains); i++) {
		run_periods(&r, true, 1);
		assert_int_equal(r.lossy, i < 2 ? (i + 1) * 24 : 72);
		assert_int_equal(round_train_most(&r, 64, 1), trains[i]);
		/* 64 becomes 1, and no other becomes less */
		assert_int_equal(r.shorter, i < 2 ? 0 : min_t(size_t, i - 1, 6));
	}
}

/* 24 for each, less one for each period between: 72 are needed */
static void lossless_periods_between_take_back_one_each(void **state)
{
	static const struct {
		u32 apart, needed;
		const char *reason;
	} rows[] = {
		{ 0, 3, "in a row" },
		{ 1, 4, "three are 70" },
		{ 8, 4, "24 + 3 * 16: just enough" },
		{ 9, 5, "24 + 3 * 15" },
		{ 12, 5, "24 + 4 * 12: just enough" },
		{ 13, 6, "24 + 4 * 11" },
		{ 22, 25, "24 + 24 * 2" },
		{ 23, 49, "24 + 48" },
		{ 24, 0, "all is taken back" },
		{ 25, 0, "and no more than all" },
		{ 300, 0, "whatever a byte holds" },
	};
	static const struct {
		/* before the second, the third and the fourth */
		u32 lossless[3];
		bool halved;
		const char *reason;
	} fours[] = {
		{ { 0, 24, 0 }, true, "96 - 24" },
		{ { 0, 25, 0 }, false, "96 - 25" },
		{ { 8, 8, 8 }, true, "evenly" },
		{ { 8, 8, 9 }, false, "one more" },
		{ { 1, 0, 23 }, true, "late" },
		{ { 1, 0, 24 }, false, "one more" },
		{ { 23, 1, 0 }, true, "early" },
		{ { 23, 2, 0 }, false, "one more" },
		{ { 24, 0, 0 }, true, "all of the first, and three in a row" },
		{ { 100, 0, 0 }, true, "of which nothing is taken" },
		{ { 0, 73, 0 }, false, "three of which two are forgotten" },
	};
	struct round_check r;
	size_t i;
	u32 n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 found = 0;

		begin(&r, 0, 0, 0);
		for (n = 1; n <= 100 && !found; n++) {
			run_periods(&r, true, 1);
			found = round_train_most(&r, 64, 1) < 64 ? n : 0;
			run_periods(&r, false, rows[i].apart);
		}
		if (found != rows[i].needed)
			fail_msg("%s: %u", rows[i].reason, found);
	}
	for (i = 0; i < ARRAY_SIZE(fours); i++) {
		begin(&r, 0, 0, 0);
		run_periods(&r, true, 1);
		for (n = 0; n < 3; n++) {
			assert_int_equal(r.shorter, 0);
			run_periods(&r, false, fours[i].lossless[n]);
			run_periods(&r, true, 1);
		}
		if (round_train_most(&r, 64, 1) != (fours[i].halved ? 32 : 64))
			fail_msg("%s: %u", fours[i].reason, r.lossy);
	}
	/* three are too few with any lossless one among them, up to 72 and beyond */
	for (i = 1; i <= 73; i++) {
		begin(&r, 0, 0, 0);
		run_periods(&r, true, 1);
		run_periods(&r, false, (u32)i / 2);
		run_periods(&r, true, 1);
		run_periods(&r, false, (u32)(i + 1) / 2);
		run_periods(&r, true, 1);
		assert_int_equal(round_train_most(&r, 64, 1), 64);
	}
}

/* Trains that are still too long are halved by each further one, until 24 are taken back */
static void each_further_lossy_period_halves_trains_for_a_while(void **state)
{
	static const struct {
		u32 lossless, train;
	} rows[] = { { 0, 16 }, { 1, 16 }, { 23, 16 }, { 24, 16 }, { 25, 32 }, { 72, 32 } };
	struct round_check r;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		begin(&r, 0, 0, 0);
		run_periods(&r, true, 3);
		run_periods(&r, false, rows[i].lossless);
		assert_int_equal(round_train_most(&r, 64, 1), 32);
		run_periods(&r, true, 1);
		if (round_train_most(&r, 64, 1) != rows[i].train)
			fail_msg("after %u: %u", rows[i].lossless, round_train_most(&r, 64, 1));
	}
}

/* A segment by itself is lost for another reason than the length of its train */
static void single_segments_are_not_shortened(void **state)
{
	static const struct {
		u32 train, shorter;
	} rows[] = {
		{ 0, 0 }, { 1, 0 }, { 2, 1 }, { 3, 1 }, { 64, 1 }, { U16_MAX + 1, 1 },
		{ U16_MAX + 2, 1 }, { U32_MAX, 1 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct period p = good;
		struct round_check r;

		p.lost = 10;
		p.train = rows[i].train;
		begin(&r, 0, 0, 0);
		run(&r, &p);
		run(&r, &p);
		run(&r, &p);
		if (r.shorter != rows[i].shorter)
			fail_msg("%u segments: %u", p.train, r.shorter);
		/* that they were lost counts all the same */
		assert_int_equal(r.lossy, 72);
		p.train = 4;
		run(&r, &p);
		assert_int_equal(r.shorter, rows[i].shorter + 1);
	}
}

static u32 periods_until_train(struct round_check *r, u32 train)
{
	u32 periods = 0;

	while (round_train_most(r, 64, 1) < train && periods < 10000) {
		run(r, &good);
		periods++;
	}
	assert_int_equal(round_train_most(r, 64, 1), train);
	return periods;
}

/* When all 72 are taken back by one doubling, which counts 24, and so on */
static void lossless_periods_lengthen_trains_again(void **state)
{
	u32 halvings, train, i;

	(void)state;
	for (halvings = 1; halvings <= 300; halvings += halvings < 9 ? 1 : 97) {
		struct round_check r;

		begin(&r, 0, 0, 0);
		/* however many there were */
		run_periods(&r, true, 2 + halvings);
		train = 64 >> min_t(u32, halvings, 6);
		assert_int_equal(round_train_most(&r, 64, 1), train);
		assert_int_equal(periods_until_train(&r, 2 * train), 72 + 1);
		for (train *= 4; train <= 64; train *= 2)
			assert_int_equal(periods_until_train(&r, train), 24 + 1);
		/* never longer than they were */
		for (i = 0; i < 600; i++) {
			run(&r, &good);
			assert_int_equal(r.shorter, 0);
			assert_int_equal(r.lossy, 24 - min_t(u32, i + 1, 24));
		}
		/* and then all is as it was at first */
		run_periods(&r, true, 2);
		assert_int_equal(round_train_most(&r, 64, 1), 64);
		run_periods(&r, true, 1);
		assert_int_equal(round_train_most(&r, 64, 1), 32);
	}
}

/* Lengthened, and at once too long again: two lossy periods say so, or three */
static void a_doubling_counts_as_a_lossy_period(void **state)
{
	static const struct {
		u32 lossless, needed;
		const char *reason;
	} rows[] = {
		{ 0, 2, "24 of the doubling, and two" },
		{ 1, 3, "one less" },
		{ 23, 3, "one of it is left" },
		{ 24, 3, "nothing of it is" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 halvings;

		/* whether it was the last doubling or the next is due */
		for (halvings = 1; halvings <= 6; halvings += 5) {
			struct round_check r;
			u32 needed;

			begin(&r, 0, 0, 0);
			run_periods(&r, true, 2 + halvings);
			run_periods(&r, false, 72 + 1 + rows[i].lossless);
			assert_int_equal(r.shorter, halvings - 1);
			for (needed = 0; r.shorter < halvings && needed < 10; needed++)
				run_periods(&r, true, 1);
			if (needed != rows[i].needed)
				fail_msg("%s, of %u: %u", rows[i].reason, halvings, needed);
		}
	}
}

static void a_train_is_no_shorter_than_the_least(void **state)
{
	static const struct {
		u32 train, shorter, least, expected;
		const char *reason;
	} rows[] = {
		{ 64, 0, 4, 64, "no losses" },
		{ 64, 3, 4, 8, "three halvings" },
		{ 64, 6, 4, 4, "the least" },
		{ 64, 6, 1, 1, "another" },
		{ 64, 6, 0, 1, "0 is 1" },
		{ 3, 1, 1, 1, "half is rounded down" },
		{ 3, 1, 4, 3, "a train below the least stays" },
		{ 0, 0, 4, 1, "no train is one segment" },
		{ 0, 0, 0, 1, "the same" },
		{ U32_MAX, 0, 4, U32_MAX, "the longest" },
		{ U32_MAX, 6, 4, U32_MAX >> 6, "of it" },
		{ 64, 6, U32_MAX, 64, "the largest least" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct round_check r = { .shorter = (u8)(rows[i].shorter & 7) };
		u32 got = round_train_most(&r, rows[i].train, rows[i].least);

		if (got != rows[i].expected)
			fail_msg("%s: %u", rows[i].reason, got);
	}
}

/* A round trip that is a quarter longer than the delay: while no share is known. Nor does a window
 * of the queue that the law asks for end growth, since no period would find it late.
 */
static void a_quarter_more_than_r_is_a_queue(void **state)
{
	static const struct {
		u32 rtt_us, prop_us, window, queue;
		bool expected;
		const char *reason;
	} rows[] = {
		{ 25000, 20000, 1, 0, false, "a quarter" },
		{ 25001, 20000, 1, 0, true, "more" },
		{ 25003, 20003, 1, 0, false, "it is rounded down" },
		{ 25004, 20003, 1, 0, true, "and not up" },
		{ 0, 20000, 1, 0, false, "unknown" },
		{ 0, 0, 1, 0, false, "both" },
		{ 1, 0, 1, 0, true, "no delay" },
		{ U32_MAX, U32_MAX, 1, 0, false, "no delay is known" },
		{ U32_MAX, 3435973837U, 1, 0, false, "no sum wraps" },
		{ U32_MAX, 3435973835U, 1, 0, true, "just below" },
		{ 60000, 20000, 1, 9, false, "one packet, and a receiver that waited for 40 ms" },
		{ 200000, 20000, 20, 9, false, "a way that is longer now: 18 packets may wait" },
		{ 200000, 20000, 22, 9, false, "180 ms of 22 in all, of which a period may see 20" },
		{ 200000, 20000, 23, 9, true, "more" },
		{ 200000, 20000, 0, 0, true, "no window is one" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (round_shows_queue(rows[i].rtt_us, rows[i].prop_us, rows[i].window,
				      rows[i].queue) != rows[i].expected)
			fail_msg("%s", rows[i].reason);
}

/* Three claims in a row came true: the buffer is no longer full */
static void claims_lengthen_trains_again(void **state)
{
	static const u32 trains[] = { 2, 2, 4, 8, 16, 32, 64, 64 };
	struct period p = good;
	struct round_check r;
	size_t i;
	u32 n;

	(void)state;
	p.lost = 10;
	begin(&r, 0, 0, 0);
	r.lossy = ROUND_LOSSY - 1;
	for (n = 0; n < 5; n++)
		run(&r, &p);
	p.lost = 0;
	p.trains = 0;
	for (i = 0; i < ARRAY_SIZE(trains); i++) {
		run(&r, &p);
		assert_int_equal(round_train_most(&r, 64, 1), trains[i]);
	}
	/* not at a policer, whose drops it is that are missing */
	p.lost = 10;
	r.lossy = ROUND_LOSSY - 1;
	for (n = 0; n < 5; n++)
		run(&r, &p);
	p.lost = 0;
	p.policed = true;
	for (n = 0; n < 8; n++) {
		run(&r, &p);
		assert_int_equal(round_train_most(&r, 64, 1), 2);
	}
}

/* ---- bursts ---- */

/* Periods until trains are no longer held */
static u32 periods_held(struct round_check *r)
{
	u32 periods = 0;

	while (r->hold && periods < 10000) {
		run(r, &good);
		periods++;
	}
	return periods;
}

static void bursts_hold_trains_long_and_relapses_for_longer(void **state)
{
	struct period p = good, slower = good;
	struct round_check r;
	u32 relapses, n;

	(void)state;
	p.rtt_us = LATE_US;
	p.span_ns = 500000;
	slower.rtt_us = LATE_US;
	slower.service_q10 = US(200);
	for (relapses = 1; relapses <= 10; relapses++) {
		u32 count = min_t(u32, relapses, ROUND_BURSTS_MAX);

		begin(&r, 0, 0, 0);
		/* a contradiction of what was delivered is none of the trains */
		assert_int_equal(run(&r, &slower).verdict, ROUND_CONTRADICTED);
		assert_int_equal(r.hold, 0);
		for (n = 0; n < relapses; n++)
			assert_true(run(&r, &p).bursts);
		assert_int_equal(r.bursts, count);
		assert_int_equal(periods_held(&r), 16U << count);
		/* one is forgotten with the hold */
		assert_int_equal(r.bursts, count - 1);
		run(&r, &good);
		assert_int_equal(r.bursts, count - 1);
		assert_int_equal(r.hold, 0);
	}
	assert_int_equal(r.bursts, ROUND_BURSTS_MAX - 1);
	run(&r, &p);
	assert_int_equal(periods_held(&r), 1024);
	/* a hold that ends with a burst is a relapse as any */
	begin(&r, 0, 0, 0);
	run(&r, &p);
	for (n = 0; n < 31; n++)
		run(&r, &good);
	assert_int_equal(r.hold, 1);
	run(&r, &p);
	assert_int_equal(r.bursts, 1);
	assert_int_equal(r.hold, 32);
	/* the adapter ends a hold; nothing is below none */
	r.hold = 1;
	r.bursts = 0;
	run(&r, &good);
	assert_int_equal(r.bursts, 0);
	assert_int_equal(r.hold, 0);
}

/* ---- what the trains show over what was delivered ---- */

static void served_is_what_trains_show_over_what_was_delivered(void **state)
{
	static const struct {
		u32 trains, segments;
		u64 span_ns;
		u32 silence_us, expected;
		const char *reason;
	} rows[] = {
		{ 25, 4, 1000000, 250, 256, "the same" },
		{ 25, 4, 500000, 250, 128, "half: others between the trains" },
		{ 25, 4, 3999999, 250, 1023, "almost four times" },
		{ 25, 4, 4000000, 250, 1024, "four times are told" },
		{ 25, 4, 4400000, 250, 1024, "and no more" },
		{ 25, 4, 1ULL << 60, 250, 1024, "no sum and no product wraps" },
		{ 25, 4, 3906, 250, 0, "less than a 256th" },
		{ 25, 4, 3907, 250, 1, "a 256th" },
		{ 1, 12, 3000000, 250, 256, "an eighth of the packets is enough" },
		{ 1, 11, 2750000, 250, 0, "less says nothing" },
		{ 0, 0, 0, 250, 0, "no train" },
		{ 25, 0, 1000000, 250, 0, "none that covers anything" },
		{ 25, 4, 1000000, 2249, 256, "no ACK for as long as two trains take" },
		{ 25, 4, 1000000, 2250, 0, "for longer: they were held up together" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct period p = good;
		u32 got;

		p.trains = rows[i].trains;
		p.segments = rows[i].segments;
		p.span_ns = rows[i].span_ns;
		p.silence_us = rows[i].silence_us;
		got = run_first(&p).served_q8;
		if (got != rows[i].expected)
			fail_msg("%s: %u", rows[i].reason, got);
		p.limited = true;
		assert_int_equal(run_first(&p).served_q8, 0);
	}
}

/* What the trains' sums saturate at is more than any period has */
static void sums_of_trains_do_not_wrap(void **state)
{
	struct round_check r = {};

	(void)state;
	round_check_train(&r, 5, 6, 7);
	round_check_train(&r, 50, 60, 70);
	assert_int_equal(r.span_ns, 55);
	assert_int_equal(r.segments, 66);
	assert_int_equal(r.ticks, 77);
	assert_int_equal(r.trains, 2);
	round_check_train(&r, U64_MAX, U32_MAX, U32_MAX);
	assert_int_equal(r.span_ns, ROUND_SPAN_MAX_NS);
	assert_int_equal(r.segments, U32_MAX);
	assert_int_equal(r.ticks, U32_MAX);
	r.trains = U32_MAX - 1;
	round_check_train(&r, 1, 1, 1);
	round_check_train(&r, 1, 1, 1);
	assert_int_equal(r.trains, U32_MAX);
	assert_int_equal(r.span_ns, ROUND_SPAN_MAX_NS);
	/* and the largest sum is the largest ratio */
	assert_int_equal(round_ratio_q8(U64_MAX, ROUND_SERVICE_MAX_Q10), 256);
	assert_int_equal(round_ratio_q8(ROUND_SPAN_MAX_NS << 10, 1), ROUND_SERVED_MAX_Q8);
	assert_int_equal(round_ratio_q8(0, 1), 0);
}

/* A silence counts in its period and in the next */
static void a_silence_counts_for_two_periods(void **state)
{
	struct period silent = good;
	struct round_check r;

	(void)state;
	silent.silence_us = 3000;
	begin(&r, 0, 0, 0);
	assert_int_equal(run(&r, &silent).served_q8, 0);
	assert_int_equal(r.silence_us, 0);
	assert_int_equal(round_silence_us(&r), 3000);
	assert_int_equal(run(&r, &good).served_q8, 0);
	assert_int_equal(run(&r, &good).served_q8, 256);
	/* trains of more segments take longer */
	silent.train = 6;
	assert_int_equal(run(&r, &silent).served_q8, 256);
	silent.train = 5;
	assert_int_equal(run(&r, &silent).served_q8, 0);
	silent.train = U32_MAX;
	assert_int_equal(run(&r, &silent).served_q8, 256);
	silent.train = 0;
	silent.silence_us = 249;
	run(&r, &silent);
	assert_int_equal(run(&r, &silent).served_q8, 256);
	/* and of no longer a train than 65535 segments */
	begin(&r, 0, 0, 0);
	silent = good;
	silent.train = U32_MAX;
	silent.time_us = 1000000000;
	silent.packets = 1U << 31;
	silent.segments = 1U << 27;
	silent.span_ns = 1ULL << 30;
	silent.silence_us = 10000000;
	assert_int_equal(run(&r, &silent).served_q8, 0);
}

/* ---- ACKs ---- */

static void the_longest_silence_is_between_acks_of_any_period(void **state)
{
	struct round_check r = {};

	(void)state;
	/* before the first there is none */
	round_check_ack(&r, 4000000000U);
	assert_int_equal(r.silence_us, 0);
	assert_int_equal(r.first_ack_us, 4000000000U);
	round_check_ack(&r, 4000000700U);
	round_check_ack(&r, 4000000800U);
	assert_int_equal(r.silence_us, 700);
	assert_int_equal(r.first_ack_us, 4000000000U);
	assert_int_equal(r.last_ack_us, 4000000800U);
	/* across the wrap of the clock */
	round_check_ack(&r, 5032704);
	assert_int_equal(r.silence_us, 300000000 - 800);
	assert_int_equal(r.acks, 4);
	while (r.acks < U8_MAX)
		round_check_ack(&r, 5032704);
	round_check_ack(&r, 5032705);
	assert_int_equal(r.acks, U8_MAX);
}

static void a_first_flight_is_even_if_no_gap_is_longer_than_two(void **state)
{
	static const struct {
		u32 gaps_us[6], gaps;
		bool even;
		const char *reason;
	} rows[] = {
		{ { 100, 100, 100, 100 }, 4, true, "one by one" },
		{ { 100, 100, 100 }, 3, false, "too few" },
		{ { 0 }, 0, false, "one" },
		{ { 100, 100, 100, 300 }, 4, true, "twice the mean" },
		{ { 100, 100, 100, 301 }, 4, false, "more" },
		{ { 301, 100, 100, 100 }, 4, false, "wherever it is" },
		{ { 1, 1, 1, 20000 }, 4, false, "held up together" },
		{ { 1, 1, 20000, 1, 1, 1 }, 6, false, "twice" },
		{ { 0, 0, 0, 0 }, 4, true, "at once: nothing is measured of such a train" },
		{ { 1, 1, 1, 1500000000 }, 4, false, "no product wraps" },
		{ { 750000000, 750000000, 750000000, 750000000 }, 4, true, "nor the other" },
	};
	static const u32 starts_us[] = { 0, 1000, U32_MAX - 150 };
	size_t i, s;
	u32 n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (s = 0; s < ARRAY_SIZE(starts_us); s++) {
			u32 now_us = starts_us[s];
			struct round_check r = {};

			assert_false(round_first_even(&r, 0, 0));
			round_check_ack(&r, now_us);
			for (n = 0; n < rows[i].gaps; n++) {
				now_us += rows[i].gaps_us[n];
				round_check_ack(&r, now_us);
			}
			if (round_first_even(&r, 0, 0) != rows[i].even)
				fail_msg("%s, from %u", rows[i].reason, starts_us[s]);
		}
	}
}

/* After one flight that was a burst of ACKs, no flight is even, whenever periods end */
/* After a queue was flushed its trains stand apart. The share falls to what was delivered, and
 * trains stay as long as they are. In b2 trains of eight would stay for 32 periods, and cost
 * six points of slowdown.
 */
static void what_is_repaired_shows_no_bursts(void **state)
{
	struct period p = good, lossy = good;
	struct round_check r;
	struct round_found found;

	(void)state;
	p.rtt_us = LATE_US;
	p.span_ns = 750000;
	p.service_q10 = US(200);
	p.repairs = true;
	begin(&r, 0, 0, 0);
	lossy.lost = 50;
	run(&r, &lossy);
	found = run(&r, &p);
	assert_int_equal(found.verdict, ROUND_CONTRADICTED);
	assert_int_equal(found.service_q10, US(250));
	assert_false(found.bursts);
	assert_int_equal(r.hold, 0);
	/* a packet that is missing now and then says nothing of trains, as behind ACKs in slots */
	begin(&r, 0, 0, 0);
	assert_true(run(&r, &p).bursts);
	begin(&r, 0, 0, 0);
	p.repairs = false;
	assert_true(run(&r, &p).bursts);
	assert_int_equal(r.hold, 32);
}

static void bursts_of_acks_are_never_an_even_flight(void **state)
{
	struct round_check r = {};
	u32 flight, n;

	(void)state;
	for (flight = 0; flight < 6; flight++) {
		for (n = 0; n < 10; n++) {
			const u32 now_us = 1000000 + flight * 25000 + n;

			round_check_ack(&r, now_us);
			if (flight && round_first_even(&r, 0, 0))
				fail_msg("flight %u, ACK %u", flight, n);
			/* with the first ACK of each flight a round trip has passed */
			if (!n) {
				const struct round_seen seen = {
					.now_us = now_us, .prop_us = 20000,
					.delivered = flight * 10 + 1,
				};

				round_check_end(&r, &seen);
			}
		}
	}
}

static void deliveries_bound_what_gaps_may_show(void **state)
{
	static const struct {
		u32 delivered, interval_us, silence_us;
		bool suspected;
		u64 expected;
		const char *reason;
	} rows[] = {
		{ 100, 30000, 3750, false, US(75), "four times as much, of many ACKs" },
		{ 100, 30000, 3751, false, US(100), "three times, if there was a silence" },
		{ 10, 30000, 30000, false, US(1000), "a first flight" },
		{ 9, 30000, 30000, false, US(1000), "no less than that" },
		{ 0, 30000, 30000, false, US(1000), "nor of nothing" },
		{ 0, 30000, 0, false, US(750), "nor with many" },
		{ 11, 33000, 30000, false, US(1000), "just more" },
		{ 0, 0, 0, false, 1, "never 0" },
		{ 0, ROUND_MAX_US, U32_MAX, false, US(ROUND_MAX_US) / 30, "the longest" },
		{ 0, U32_MAX, U32_MAX, false, US(ROUND_MAX_US) / 30, "longer is the longest" },
		{ U32_MAX, U32_MAX, 0, false, 5960, "no product wraps" },
		{ 100, 30000, 3750, true, US(240), "a quarter more, where a policer is suspected" },
		{ 100, 30000, 3751, true, US(240), "however many ACKs" },
		{ 9, 30000, 3751, true, US(2500), "of a first flight, in whole packets" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct round_check r = { .silence_us = rows[i].silence_us };
		u64 got = round_bound_q10(&r, rows[i].delivered, rows[i].interval_us,
					  rows[i].suspected);

		if (got != rows[i].expected)
			fail_msg("%s: %.3f ns", rows[i].reason, (double)got / 1024);
		/* a silence of the period before is one */
		r.silence_before_us = r.silence_us;
		r.silence_us = 0;
		assert_int_equal(round_bound_q10(&r, rows[i].delivered, rows[i].interval_us,
						 rows[i].suspected), got);
		/* no more than was delivered, whatever else is known */
		r.doubted = 1;
		assert_int_equal(round_bound_q10(&r, rows[i].delivered, rows[i].interval_us,
						 rows[i].suspected),
				 round_service_q10(rows[i].interval_us,
						   max_t(u32, rows[i].delivered, 10)));
	}
}

/* A timer of the receiver's that sends its ACKs looks like a queue; a claim tells them apart */
static void of_periods_that_wait_without_a_gap_every_fourth_claims(void **state)
{
	struct period p = good;
	struct round_check r;
	u32 i;

	(void)state;
	p.trains = 0;
	p.rtt_us = 20000 + 251;
	begin(&r, 0, 0, 0);
	for (i = 1; i <= 600; i++) {
		const struct round_found found = run(&r, &p);

		assert_int_equal(found.verdict, ROUND_DELIVERED);
		assert_int_equal(found.service_q10, i % 4 ? US(250) : US(250) - US(250) / 8);
	}
	/* what overflows is no timer */
	p.lost = 1;
	for (i = 0; i < 8; i++)
		assert_int_equal(run(&r, &p).service_q10, US(250));
}

/* ---- the receiver's clock ---- */

/* What the receiver's clock can tell, in floating point: three numbers are rounded down */
static void the_receivers_clock_tells_c(void **state)
{
	u32 i, told = 0, capped = 0;

	(void)state;
	for (i = 0; i < 300000; i++) {
		u32 ticks = (u32)draw_scale(16), packets = (u32)draw_scale(16);
		u32 trains = (u32)draw_scale(12), before = draw(2) ? 0 : (u32)draw(1100);
		const struct round_check r = {
			.trains = trains, .segments = (u32)draw_scale(16),
			.ticks = (u32)(trains * (double)draw(64) / 16),
		};
		double exact_q8, low, high, shown_q10, delivered_q10;
		struct round_found found = { .served_q8 = before, .waited_us = 7 };
		bool tells = r.ticks >= 8 && r.ticks >= trains;

		assert_int_equal(round_by_receiver(&r, ticks * 1000ULL, packets, &found), tells);
		assert_int_equal(found.waited_us, 7);
		if (!tells) {
			assert_int_equal(found.served_q8, before);
			continue;
		}
		told++;
		shown_q10 = (r.ticks + r.trains / 2.0) * 1e6 * 1024 / r.segments;
		delivered_q10 = ticks * 1e6 * 1024 / packets;
		exact_q8 = 256 * shown_q10 / delivered_q10;
		low = exact_q8 * (1 - 1 / shown_q10) - 1;
		high = exact_q8 * (1 + 1 / (delivered_q10 - 1));
		low = fmax(fmin(low, ROUND_SERVED_MAX_Q8), before);
		high = fmax(fmin(high, ROUND_SERVED_MAX_Q8), before);
		capped += exact_q8 > ROUND_SERVED_MAX_Q8;
		if (found.served_q8 < low || found.served_q8 > high)
			fail_msg("%u ticks for %u of %u ticks for %u: %u, exact %f", r.ticks,
				 r.segments, ticks, packets, found.served_q8, exact_q8);
	}
	assert_in_range(told, 30000, 290000);
	assert_in_range(capped, 1000, told - 1000);
}

static void the_receivers_clock_is_believed_if_it_agrees(void **state)
{
	static const struct {
		u32 since, tick, time_us;
		bool agrees;
		const char *reason;
	} rows[] = {
		{ 100, 140, 40000, true, "it agrees" },
		{ 0, 40, 40000, false, "unknown when it began" },
		{ 100, 0, 40000, false, "unknown when it ends" },
		{ U32_MAX - 20, 0, 21000, false, "which could as well be a wrap" },
		{ U32_MAX - 20, 19, 40000, true, "across the wrap" },
		{ 100, 115, 16000, false, "too few ticks" },
		{ 100, 116, 16000, true, "just enough" },
		{ 100, 120, 40000, false, "half as fast" },
		{ 100, 121, 40000, true, "almost" },
		{ 100, 180, 40000, false, "twice as fast" },
		{ 100, 179, 40000, true, "almost" },
		{ 100, 99, 40000, false, "it went back" },
		{ 1, 3000001, 3000000000U, true, "no product wraps" },
		{ 1, 2000001, 3500000000U, true, "nor the other" },
		{ 1, 4294968, 100000, false, "nor that of the ticks" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct round_seen seen = { .tick = rows[i].tick };
		const struct round_check r = { .since_tick = rows[i].since };
		u64 got = round_receivers_us(&r, &seen, rows[i].time_us);

		if (got != (rows[i].agrees ? (rows[i].tick - rows[i].since) * 1000ULL : 0))
			fail_msg("%s: %.0f us", rows[i].reason, (double)got);
	}
}

static void the_receivers_clock_needs_spans_of_some_ticks(void **state)
{
	static const struct {
		u32 ticks, trains, segments, served_q8;
		u64 ticks_us;
		bool tells;
		const char *reason;
	} rows[] = {
		{ 25, 25, 100, 240, 40000, true, "enough, and half a tick each" },
		{ 25, 25, 100, 0, 0, false, "a clock that does not agree" },
		{ 7, 7, 100, 0, 40000, false, "too few" },
		{ 8, 8, 20, 384, 40000, true, "just enough" },
		{ 24, 25, 100, 0, 40000, false, "less than one each" },
		{ U32_MAX, 25, 1, 1024, 40000, true, "no product wraps" },
		{ U32_MAX, 25, U32_MAX, 640, 40000, true, "a millisecond each" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct round_check r = {
			.ticks = rows[i].ticks, .trains = rows[i].trains,
			.segments = rows[i].segments,
		};
		struct round_found found = {};
		bool tells = round_by_receiver(&r, rows[i].ticks_us, 100, &found);

		if (tells != rows[i].tells || found.served_q8 != rows[i].served_q8)
			fail_msg("%s: %u, %u", rows[i].reason, tells, found.served_q8);
		/* what the sender's clock shows stays, if it is more */
		found.served_q8 = 2000;
		round_by_receiver(&r, rows[i].ticks_us, 100, &found);
		assert_int_equal(found.served_q8, 2000);
	}
}

/* The way back is no part of what packets waited for. It is told apart where it has become
 * longer by more than a quarter of R, 5 ms of the 10 ms here.
 */
static void packets_waited_on_the_way_there_or_back(void **state)
{
	static const struct {
		u32 least_us, there_us, ticks, waited_us, back_us;
		const char *reason;
	} rows[] = {
		{ 1000, 1000, 25, 0, 10000, "as fast as ever: it was on the way back" },
		{ 1000, 4000, 25, 3000, 7000, "some of it was on the way there" },
		{ 1000, 900, 25, 0, 10000, "faster than ever" },
		{ 1000, 5999, 25, 4999, 5001, "more than a quarter on the way back" },
		{ 1000, 6000, 25, 5000, 0, "a quarter" },
		{ 1000, 11000, 25, 10000, 0, "all of it there" },
		{ 1000, 14000, 25, 10000, 0, "never more than the round trip shows" },
		{ 1000, 1000, 0, 10000, 0, "not without a clock" },
		{ 1000, 1000, 10, 10000, 0, "nor with one that does not agree" },
		{ U32_MAX - 500, 500, 25, 1001, 8999, "the difference wraps" },
		{ 500, U32_MAX - 500, 25, 0, 10000, "in both directions" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct period p = good;
		struct round_found found;
		struct round_check r;

		begin(&r, 5, 3, 0);
		p.there_us = rows[i].least_us;
		p.ticks = 25;
		run(&r, &p);
		p.ticks = rows[i].ticks;
		p.rtt_us = 30000;
		/* the smallest of the period counts */
		round_check_rtt(&r, 32000, rows[i].there_us + 1);
		p.there_us = rows[i].there_us;
		feed(&r, &p);
		/* what a packet waited is beyond the smallest ever */
		assert_int_equal(round_check_rtt(&r, 30000, rows[i].there_us + 200),
				 200 + max_t(s32, (s32)(rows[i].there_us - rows[i].least_us), 0));
		r.silence_us = 10000;
		found = end(&r, &p);
		if (found.waited_us != rows[i].waited_us || found.back_us != rows[i].back_us)
			fail_msg("%s: %u us, and %u us back", rows[i].reason, found.waited_us,
				 found.back_us);
		/* by both clocks or not at all */
		assert_int_equal(found.silence_us, rows[i].ticks == 25 ? 10000 : 0);
		/* what was limited by others says nothing of either */
		p.limited = true;
		p.ticks = 25;
		run(&r, &p);
		found = run(&r, &p);
		assert_int_equal(found.waited_us, 10000);
		assert_int_equal(found.back_us, 0);
		assert_int_equal(found.silence_us, 0);
	}
}

/* Where ACKs are held up together, only the receiver's clock tells them from others' packets */
static void the_receivers_clock_tells_bursts_from_others(void **state)
{
	static const struct {
		u64 span_ns;
		u32 span_ticks, ticks, silence_us, there_us;
		bool bursts;
		u32 served_q8;
		const char *reason;
	} rows[] = {
		{ 500000, 1, 0, 250, 6501, true, 128, "without it: taken for bursts" },
		{ 500000, 1, 25, 250, 6501, true, 384, "trains were longer there: bursts of ACKs" },
		{ 500000, 0, 25, 250, 6501, true, 128, "it does not tell" },
		{ 1000000, 1, 25, 250, 6501, false, 384, "both say so" },
		{ 1000000, 1, 25, 5000, 6501, false, 384, "and a silence was on the way back" },
		{ 500000, 1, 25, 5000, 6501, true, 384, "the same, of bursts" },
		{ 500000, 0, 25, 5000, 6501, true, 0, "where it does not tell, it counts" },
		{ 500000, 1, 25, 250, 6500, false, 384,
			"what waits on the way back contradicts nothing" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct period p = good;
		struct round_found found;

		struct round_check r;

		begin(&r, 1000000, 5000, 1);
		p.ticks = 25;
		run(&r, &p);
		p.there_us = rows[i].there_us;
		p.rtt_us = LATE_US;
		p.span_ns = rows[i].span_ns;
		p.span_ticks = rows[i].span_ticks;
		p.ticks = rows[i].ticks;
		p.silence_us = rows[i].silence_us;
		found = run(&r, &p);
		if (found.bursts != rows[i].bursts || found.served_q8 != rows[i].served_q8)
			fail_msg("%s: %u, %u", rows[i].reason, found.bursts, found.served_q8);
	}
}

/* Gaps and deliveries that agree are no more than the clocks that show them: 100 us is believed,
 * 250 us were delivered in, and of 5 ms of wait none is late
 */
static void what_agrees_agrees_by_a_clock_that_tells(void **state)
{
	static const struct {
		u64 span_ns;
		u32 span_ticks, ticks, silence_us, there_us, train;
		enum round_verdict verdict;
		bool bursts;
		const char *reason;
	} rows[] = {
		{ 1000000, 1, 0, 250, 5000, 4, ROUND_CONTRADICTED, false, "the sender's clock" },
		{ 1000000, 1, 0, 5000, 5000, 4, ROUND_CONFIRMED, false,
			"it does not tell if ACKs were held up together" },
		{ 1000000, 1, 0, 5000, 5000, 10, ROUND_CONTRADICTED, false,
			"for no longer than two trains take" },
		{ 1000000, 1, 25, 5000, 5000, 4, ROUND_CONTRADICTED, false,
			"the receiver's clock tells in any case" },
		{ 500000, 1, 25, 250, 5000, 4, ROUND_CONTRADICTED, true,
			"it agrees, and the sender's shows bursts of ACKs" },
		{ 500000, 0, 25, 250, 5000, 4, ROUND_CONFIRMED, false,
			"neither agrees" },
		{ 500000, 1, 10, 250, 5000, 4, ROUND_CONFIRMED, false,
			"a receiver's clock that does not agree with the sender's" },
		{ 1000000, 1, 25, 250, 101, 4, ROUND_CONTRADICTED, false,
			"little of the wait there" },
		{ 1000000, 1, 25, 250, 100, 4, ROUND_CONFIRMED, false,
			"a service time of it there: all else was on the way back" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct period p = good;
		struct round_found found;
		struct round_check r;

		begin(&r, 1000000, 5000, 1);
		p.ticks = 25;
		run(&r, &p);
		p.service_q10 = US(100);
		p.rtt_us = 25000;
		p.there_us = rows[i].there_us;
		p.span_ns = rows[i].span_ns;
		p.span_ticks = rows[i].span_ticks;
		p.ticks = rows[i].ticks;
		p.silence_us = rows[i].silence_us;
		p.train = rows[i].train;
		found = run(&r, &p);
		if (found.verdict != rows[i].verdict || found.bursts != rows[i].bursts)
			fail_msg("%s: %u, %u", rows[i].reason, found.verdict, found.bursts);
		assert_int_equal(found.service_q10,
				 found.verdict == ROUND_CONTRADICTED ? US(200) : US(100));
	}
}

/* Where few trains can show a gap, any of them agrees */
static void of_few_trains_that_can_show_a_gap_any_agrees(void **state)
{
	static const struct {
		u32 segments;
		bool probes;
		enum round_verdict verdict;
	} rows[] = {
		{ 12, false, ROUND_CONTRADICTED }, { 11, false, ROUND_CONFIRMED },
		{ 11, true, ROUND_CONTRADICTED }, { 1, true, ROUND_CONTRADICTED },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct round_seen seen = {
			.service_q10 = US(100), .now_us = 25000, .delivered = 100,
			.prop_us = 20000, .queue = 8, .train = 4, .probes = rows[i].probes,
		};
		struct period p = good;
		struct round_check r;

		p.rtt_us = 25000;
		p.trains = 1;
		p.segments = rows[i].segments;
		p.span_ns = p.segments * 250000ULL;
		begin(&r, 0, 0, 0);
		feed(&r, &p);
		assert_int_equal(round_check_end(&r, &seen).verdict, rows[i].verdict);
	}
}

/* Trains of sixteen over 4 ms of a link that others have as much of: by both clocks they are
 * dense, and that is the link's rate and no burst
 */
static void dense_by_both_clocks_is_no_burst(void **state)
{
	static const struct {
		u32 span_ticks, segments, served_q8;
		bool bursts;
	} rows[] = {
		/* 500 us were delivered in; 7/8 of it are 437.5; twelve halves of a tick come to it */
		{ 69, 200, 192, false }, { 81, 200, 222, false }, { 82, 200, 225, true },
		{ 94, 200, 256, true }, { 64, 160, 224, true },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct round_seen seen = { .train = 16 };
		const struct round_check r = {
			.ticks = rows[i].span_ticks, .trains = 12, .segments = rows[i].segments,
			.span_ns = 50000000,
		};
		struct round_found found = { .delivered_q10 = US(500) };

		assert_int_equal(round_compare(&r, &seen, 100000, 200, &found), rows[i].bursts);
		assert_int_equal(found.served_q8, rows[i].served_q8);
	}
}

/* ---- the first packet ---- */

/**
 * struct flight - the first packets, and their ACKs
 * @rtt_us: shortest round trip when the first round trip ends, as the propagation delay
 * @there_us: on the way there, of it
 * @acks: until then
 * @missing: the first packet had not arrived when others had
 * @unknown: no round trip was measured
 */
struct flight {
	u32 rtt_us, there_us, acks;
	bool missing, unknown;
};

/* The first round trip begins with the first ACK, and ends at @at_us */
static void take_flight(struct round_check *r, const struct flight *flight, u32 at_us)
{
	struct round_seen seen = {
		.now_us = at_us - flight->rtt_us, .missing = flight->missing,
		.prop_us = flight->rtt_us,
	};
	u32 n;

	memset(r, 0, sizeof(*r));
	for (n = 0; n < flight->acks; n++) {
		round_check_ack(r, at_us - flight->rtt_us + n);
		if (!flight->unknown)
			round_check_rtt(r, flight->rtt_us + n, flight->there_us + n);
		if (!n)
			assert_int_equal(round_check_end(r, &seen).verdict, ROUND_GOES_ON);
	}
	seen.now_us = at_us;
	/* what is missing later is no first packet */
	seen.missing = !flight->missing;
	assert_int_equal(round_check_end(r, &seen).first_waited_us, 0);
}

/* A period ends at @at_us; its packets were @there_us on the way there */
static struct round_found
end_at(struct round_check *r, u32 at_us, u32 prop_us, u32 there_us, u32 tick)
{
	const struct round_seen seen = {
		.service_q10 = US(250), .now_us = at_us, .tick = tick,
		.delivered = r->delivered + 100, .prop_us = prop_us,
	};

	round_check_rtt(r, prop_us, there_us);
	round_check_train(r, good.span_ns, good.segments, good.span_ticks);
	return round_check_end(r, &seen);
}

/* It is what the propagation delay has fallen by since, and the way there */
static void the_first_packet_waited_what_the_delay_has_fallen_by(void **state)
{
	static const struct {
		struct flight flight;
		u32 prop_us, there_us, tick, waited_us;
		const char *reason;
	} rows[] = {
		{ { 50000, 1030000, 3, 0, 0 }, 20000, 0, 0, 30000, "all of it, without a clock" },
		{ { 50000, 1030000, 2, 0, 0 }, 20000, 0, 0, 0, "two ACKs may be the timer's" },
		{ { 50000, 1030000, 10, 1, 0 }, 20000, 0, 0, 0, "the first packet was lost" },
		{ { 50000, 1030000, 10, 0, 1 }, 20000, 0, 0, 0, "no round trip is known" },
		{ { 0, 1030000, 10, 0, 0 }, 20000, 0, 0, 0, "none that could have fallen" },
		{ { 50000, 1030000, 10, 0, 0 }, 50000, 0, 0, 0, "the delay has not fallen" },
		{ { 50000, 1030000, 10, 0, 0 }, 49999, 0, 0, 1, "by the least" },
		{ { 50000, 1030000, 10, 0, 0 }, 60000, 0, 0, 0, "it has risen" },
		{ { 50000, 1030000, 10, 0, 0 }, 0, 0, 0, 50000, "to nothing" },
		{ { 50000, 1030000, 10, 0, 0 }, 20000, 1000000, 5, 29000,
			"all on the way there, but for a tick" },
		{ { 50000, 1030000, 10, 0, 0 }, 20000, 1010000, 5, 19000, "some on the way back" },
		{ { 50000, 1030000, 10, 0, 0 }, 20000, 1030000, 5, 0, "all of it" },
		{ { 50000, 1030000, 10, 0, 0 }, 20000, 1029000, 5, 0, "a tick may be the clock's" },
		{ { 50000, 1030000, 10, 0, 0 }, 20000, 1028999, 5, 1, "no more than a tick is" },
		{ { 50000, 1030000, 10, 0, 0 }, 49000, 1029000, 0, 1000, "without a clock: all" },
		{ { 50000, 1030000, 10, 0, 0 }, 20000, 999000, 5, 30000, "a tick longer: all" },
		{ { 50000, 1030000, 10, 0, 0 }, 20000, 1040000, 5, 0, "and the way there longer" },
		{ { 50000, 1030000, 10, 0, 0 }, 20000, 900000, 5, 30000,
			"no more than the round trip" },
		{ { 50000, 10000, 10, 0, 0 }, 20000, -20000, 5, 29000, "the way there wraps" },
		{ { 50000, 10000, 10, 0, 0 }, 20000, -5000, 5, 14000, "the same, less of it" },
		{ { U32_MAX, 0, 10, 0, 0 }, 20000, 0, 0, 99980000, "a longer delay is 100 s" },
		{ { U32_MAX, 0, 10, 0, 0 }, U32_MAX, 0, 0, 0, "then as well" },
	};
	static const u32 ends_us[] = { 1000000000, 3, U32_MAX - 3000000, 100000000 };
	size_t i, e;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (e = 0; e < ARRAY_SIZE(ends_us); e++) {
			u32 limited, got;
			struct round_check r;

			take_flight(&r, &rows[i].flight, ends_us[e]);
			/* whether the network limited what was delivered or another did */
			for (limited = 0; limited <= 1; limited++) {
				/* long enough for any delay */
				r.since_us = ends_us[e] - 200000000;
				r.limited = limited;
				got = end_at(&r, ends_us[e] + limited, rows[i].prop_us,
					     rows[i].there_us, rows[i].tick).first_waited_us;
				if (got != rows[i].waited_us)
					fail_msg("%s: %u us", rows[i].reason, got);
			}
		}
	}
}

/* A flow that has sent before: whatever the first packets after that show, none was the first */
static void in_mid_flow_no_packet_is_the_first(void **state)
{
	struct period p = good;
	struct round_check r = {};
	u32 n;

	(void)state;
	round_check_midway(&r);
	for (n = 0; n < 10; n++) {
		round_check_ack(&r, 1000000 + n);
		round_check_rtt(&r, 50000, 30000);
	}
	p.prop_us = p.rtt_us = 50000;
	end(&r, &p);
	assert_true(r.started);
	/* it is long over, and others' queue with it */
	p.time_us = 70000;
	assert_int_equal(run(&r, &p).first_waited_us, 0);
	for (p.prop_us = 50000; p.prop_us; p.prop_us -= 10000) {
		struct round_found found;

		p.rtt_us = p.prop_us;
		found = run(&r, &p);
		assert_true(found.verdict != ROUND_GOES_ON);
		assert_int_equal(found.first_waited_us, 0);
		assert_int_equal(found.slowest_q10, 0);
	}
	/* a period is as any other */
	p = good;
	assert_int_equal(run(&r, &p).verdict, ROUND_CONFIRMED);
}

/* Two clocks drift apart, and so what was told before is told no more */
static void what_the_first_packet_waited_is_told_for_10_s(void **state)
{
	static const struct flight flight = { .rtt_us = 50000, .there_us = 30000, .acks = 10 };
	static const u32 ends_us[] = { 0, 1000000000, U32_MAX - 5000000 };
	struct round_check r;
	size_t e;

	(void)state;
	for (e = 0; e < ARRAY_SIZE(ends_us); e++) {
		u32 end_us = ends_us[e];

		take_flight(&r, &flight, end_us);
		assert_int_equal(end_at(&r, end_us + 1, 20000, 0, 0).first_waited_us, 30000);
		/* a period that goes on tells nothing */
		assert_int_equal(end_at(&r, end_us + 2, 20000, 0, 0).first_waited_us, 0);
		assert_int_equal(end_at(&r, end_us + 10000000, 20000, 0, 0).first_waited_us, 30000);
		assert_int_equal(end_at(&r, end_us + 10030000, 20000, 0, 0).first_waited_us, 0);
		/* when the clock has wrapped it is forgotten all the same */
		assert_int_equal(end_at(&r, end_us + 30000, 20000, 0, 0).first_waited_us, 0);
		take_flight(&r, &flight, end_us);
		assert_int_equal(end_at(&r, end_us + 10000001, 20000, 0, 0).first_waited_us, 0);
		/* and the first round trip ends once */
		assert_int_equal(end_at(&r, end_us + 10030000, 10000, 0, 0).first_waited_us, 0);
	}
}

/* A turn is no longer than the longest that gaps showed, and without one nothing is told */
static void the_longest_service_time_that_gaps_showed_is_told(void **state)
{
	static const struct flight flight = { .rtt_us = 50000, .there_us = 30000, .acks = 10 };
	static const struct {
		/* of a packet, in trains of four */
		u64 shown_ns;
		/* after the period before */
		u32 after_us;
		u64 slowest_q10;
		u32 waited_us;
		const char *reason;
	} rows[] = {
		{ 0, 30000, 0, 0, "none" },
		{ 250000, 30000, US(250), 30000, "the first" },
		{ 400000, 30000, US(400), 30000, "a longer one" },
		{ 300000, 30000, US(400), 30000, "a shorter one" },
		{ 0, 30000, US(400), 30000, "a period without" },
		{ 9000000, 1000, 0, 0, "that of a period that goes on is not yet told" },
		{ 0, 30000, US(9000), 30000, "but is the period's" },
		{ ROUND_SPAN_MAX_NS / 4, 30000, ROUND_SERVICE_MAX_Q10, 30000, "the longest" },
		{ 1000, 30000, ROUND_SERVICE_MAX_Q10, 30000, "the same" },
	};
	/* what is believed is no gap */
	struct round_seen seen = { .now_us = 1000000, .prop_us = 20000, .service_q10 = U64_MAX };
	struct round_found got;
	struct round_check r;
	size_t i;

	(void)state;
	take_flight(&r, &flight, seen.now_us);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		seen.now_us += rows[i].after_us;
		seen.delivered += 100;
		round_check_rtt(&r, 20000, 0);
		if (rows[i].shown_ns)
			round_check_train(&r, 4 * rows[i].shown_ns, 4, 0);
		got = round_check_end(&r, &seen);
		if (got.slowest_q10 != rows[i].slowest_q10 ||
		    got.first_waited_us != rows[i].waited_us)
			fail_msg("%s: %.3f us, %u us", rows[i].reason,
				 (double)got.slowest_q10 / US(1), got.first_waited_us);
	}
	/* what is no longer told needs no turn */
	take_flight(&r, &flight, seen.now_us);
	assert_int_equal(end_at(&r, seen.now_us + ROUND_FIRST_US, 20000, 0, 0).slowest_q10,
			 US(250));
	round_check_train(&r, 1000000, 1, 0);
	assert_int_equal(end_at(&r, seen.now_us + ROUND_FIRST_US + 30000, 20000, 0,
				0).slowest_q10, US(250));
}

/* The first train shows one while it comes back, and a packet of another size takes another time */
static void a_turn_that_the_first_train_shows_is_one(void **state)
{
	static const struct {
		u64 before_q10, turn_q10;
		u16 now_bytes, before_bytes;
		u64 slowest_q10;
		const char *reason;
	} rows[] = {
		{ 0, US(250), 1448, 1448, US(250), "the first" },
		{ US(400), US(250), 1448, 1448, US(400), "a shorter one" },
		{ US(250), US(400), 1448, 1448, US(400), "a longer one" },
		{ US(250), U64_MAX, 1, 1, ROUND_SERVICE_MAX_Q10, "the longest" },
		{ US(250), 0, 724, 1448, US(125), "of half the size" },
		{ US(250), 0, 2896, 1448, US(500), "of twice the size" },
		{ 100, 0, 1, 3, 33, "rounded down" },
		{ US(250), 0, 1448, 0, 1448 * US(250), "of one byte at least" },
		{ 5000, 0, 0, 5, 1000, "the same" },
		{ 0, ROUND_SERVICE_MAX_Q10, U16_MAX, 1, ROUND_SERVICE_MAX_Q10, "no product wraps" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct round_check r = { .slowest_q10 = rows[i].before_q10 };

		round_check_turn(&r, rows[i].turn_q10);
		round_check_resize(&r, rows[i].now_bytes, rows[i].before_bytes);
		if (r.slowest_q10 != rows[i].slowest_q10)
			fail_msg("%s: %.3f us", rows[i].reason, (double)r.slowest_q10 / US(1));
	}
}

/* At a FIFO that overflows, gaps show the link. In a period with many losses, if another had
 * many not long before, what was delivered is the share, and gaps show no more than that until a
 * period has few.
 */
static void what_is_lost_again_and_again_is_no_share(void **state)
{
	static const struct {
		u32 lost, rtt_us, believed_us;
		u64 service_q10;
		bool doubted;
		const char *reason;
	} rows[] = {
		{ 9, 23000, 60, US(60), false, "one period with many losses" },
		{ 3, 23000, 60, US(60), false, "few" },
		{ 9, 20059, 60, US(60), false, "no wait of a turn" },
		{ 9, 21310, 60, US(60), false, "a turn and a 16th of R are no wait" },
		{ 9, 23000, 125, US(125), false, "half is delivered" },
		{ 9, 21311, 60, US(250), true, "a longer wait, and less" },
		{ 9, 20000, 60, US(60), true, "a period that says nothing new" },
		{ 3, 23000, 60, US(60), false, "few end it" },
	};
	struct round_check r;
	struct period p = good;
	size_t i;

	(void)state;
	begin(&r, 1000000, 5000, 1);
	p.span_ns = 240000;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct round_found found;
		u32 trust;

		p.service_q10 = US(rows[i].believed_us);
		p.lost = rows[i].lost;
		p.rtt_us = rows[i].rtt_us;
		found = run(&r, &p);
		if (found.service_q10 != rows[i].service_q10 || r.doubted != rows[i].doubted)
			fail_msg("%s: %.3f us", rows[i].reason,
				 (double)found.service_q10 / US(1));
		/* ACKs are many, since the last silence was short */
		trust = rows[i].doubted ? 1 : 4;
		assert_int_equal(round_bound_q10(&r, 100, 25000, false), US(250) / trust);
	}
	/* what deliveries say nothing of does not end it, and the network's next period does */
	r.doubted = 1;
	r.limited = 1;
	run(&r, &good);
	assert_true(r.doubted);
	run(&r, &good);
	assert_false(r.doubted);

	/* gaps that agree need no second period */
	begin(&r, 1000000, 5000, 1);
	p = good;
	p.service_q10 = US(124);
	p.rtt_us = 21000;
	p.lost = 9;
	assert_int_equal(run(&r, &p).verdict, ROUND_CONTRADICTED);
	assert_true(r.doubted);
	/* nor is a share doubted that is lost without these */
	begin(&r, 1000000, 5000, 1);
	p.lost = 3;
	assert_int_equal(run(&r, &p).verdict, ROUND_CONTRADICTED);
	assert_false(r.doubted);
}

/* Where a flow has left, gaps show the link to who hears of it first. Of a share that deliveries
 * followed for long, half more is believed until the third period that they do not.
 */
static void a_share_that_was_followed_for_long_grows_by_half_at_first(void **state)
{
	static const struct {
		u32 times, believed_us, policed, limited, trust_q2;
		const char *reason;
	} rows[] = {
		{ 20, 0, 0, 0, 16, "nothing was believed" },
		{ 20, 166, 0, 0, 16, "nor followed" },
		{ 7, 250, 0, 0, 16, "followed, not for long" },
		{ 1, 250, 0, 0, 6, "for eight periods" },
		{ 1, 166, 0, 0, 16, "and no more" },
		{ 3, 250, 0, 0, 16, "three give not back" },
		{ 1, 250, 0, 0, 6, "what one takes, and four do" },
		{ 20, 250, 0, 0, 6, "for longer" },
		{ 2, 166, 0, 0, 6, "two that claim half more" },
		{ 1, 166, 0, 0, 16, "the third" },
		{ 4, 223, 0, 0, 6, "by an eighth less, but for a part in 256" },
		{ 1, 222, 0, 0, 16, "by more than that" },
		{ 20, 400, 0, 0, 6, "more than the share" },
		{ 1, 250, 0, 1, 16, "the application was slower" },
		{ 8, 250, 1, 0, 6, "a policer's rate is followed, too" },
	};
	struct round_check r;
	size_t i;

	(void)state;
	begin(&r, 1000000, 5000, 1);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct period p = good;
		u64 got;
		u32 n;

		p.service_q10 = US(rows[i].believed_us);
		p.policed = rows[i].policed;
		p.limited = rows[i].limited;
		for (n = 0; n < rows[i].times; n++)
			run(&r, &p);
		got = round_bound_q10(&r, 100, 25000, false);
		if (got != round_service_q10(25000, 25 * rows[i].trust_q2))
			fail_msg("row %zu, %s: %.3f us", i, rows[i].reason, (double)got / US(1));
	}
	/* less than half more is believed of who may be policed, and nothing of who loses much */
	run(&r, &good);
	assert_int_equal(round_bound_q10(&r, 100, 25000, true), US(200));
	r.doubted = 1;
	assert_int_equal(round_bound_q10(&r, 100, 25000, true), US(250));
	r.doubted = 0;
	/* what another law has sent is no share of this one */
	round_check_another_law(&r);
	assert_int_equal(round_bound_q10(&r, 100, 25000, false), US(250) / 4);
}

/* The same of any path, whose times are numbers that do not wrap */
static void what_the_first_packet_waited_is_that_of_exact_numbers(void **state)
{
	u32 flow, n, told = 0, forgotten = 0;

	(void)state;
	for (flow = 0; flow < 5000; flow++) {
		/* from one clock to the other; what the first packet waited; the two ways */
		double offset_us = (double)draw(1ULL << 32), wait_us = (double)draw_scale(17);
		double there_us = 1000 + (double)draw_scale(16), back_us = (double)draw_scale(16);
		double first_us = there_us + wait_us, least_us = first_us, prop_us;
		double now_us = 4294967296.0 - (double)draw_scale(25), first_at_us = now_us;
		double first_rtt_us = first_us + back_us;
		const struct flight flight = {
			.rtt_us = (u32)first_rtt_us, .acks = 3 + (u32)draw(9),
			.there_us = (u32)(u64)(first_us + offset_us),
		};
		struct round_check r;

		take_flight(&r, &flight, (u32)(u64)now_us);
		prop_us = first_rtt_us;
		for (n = 0; n < 40; n++) {
			double expected_us = 0, waited_us = (double)draw_scale(17) - 1;
			bool clock = draw(4);
			u32 got;

			/* others' packets on both ways, and another path now and then */
			if (!draw(10))
				there_us += (double)draw(20000);
			back_us = (double)draw_scale(16);
			prop_us = draw(8) ? fmin(prop_us, there_us + waited_us + back_us) :
					    there_us + waited_us + back_us;
			least_us = fmin(least_us, there_us + waited_us);
			now_us += floor(1.25 * prop_us) + (double)draw_scale(21);
			got = end_at(&r, (u32)(u64)fmod(now_us, 4294967296.0), (u32)prop_us,
				     (u32)(u64)fmod(there_us + waited_us + offset_us, 4294967296.0),
				     clock ? 1 + (u32)draw(U32_MAX) : 0).first_waited_us;
			if (now_us - first_at_us > 1e7) {
				forgotten++;
			} else {
				expected_us = fmax(first_rtt_us - prop_us, 0);
				if (clock)
					expected_us = fmin(expected_us,
							   fmax(first_us - least_us - 1000, 0));
				told += expected_us > 0;
			}
			if (got != expected_us)
				fail_msg("flow %u, period %u: %u us, exact %f", flow, n, got,
					 expected_us);
		}
	}
	assert_in_range(told, 20000, 190000);
	assert_in_range(forgotten, 2000, 190000);
}

/* ---- clocks and counters wrap ---- */

static void random_period(struct period *p)
{
	*p = good;
	p->service_q10 = draw(8) ? US(1) * (100 + draw(300)) : 0;
	p->time_us = 24000 + (u32)draw(12000);
	p->packets = 5 + (u32)draw(200);
	p->rtt_us = 19000 + (u32)draw(12000);
	p->there_us = 500 + (u32)draw(6000);
	p->lost = draw(4) ? 0 : (u32)draw(12);
	p->trains = draw(2) ? (u32)draw(40) : 0;
	p->span_ns = 200000 + draw(1500000);
	p->span_ticks = (u32)draw(3);
	p->ticks = 10 + (u32)draw(40);
	p->silence_us = 100 + (u32)draw(4000);
	p->prop_us = 18000 + (u32)draw(4000);
	p->limited = !draw(8);
	p->policed = !draw(8);
}

static void wraps_change_nothing(void **state)
{
	u32 i, n, verdicts[ROUND_UNCONFIRMED + 1] = { 0 }, told = 0;

	(void)state;
	for (i = 0; i < 300; i++) {
		u32 near_us = U32_MAX - (u32)draw(3000000), there = (u32)draw(1ULL << 32);
		u32 tick = U32_MAX - (u32)draw(1000), delivered = U32_MAX - (u32)draw(5000);
		struct round_check r, wraps;
		struct period p;

		begin(&r, 1, 1, 0);
		begin(&wraps, near_us, tick, delivered);
		for (n = 0; n < 100; n++) {
			struct round_found one, other;

			random_period(&p);
			/* a clock that shows 0 is unknown */
			if (wraps.since_tick + p.ticks == 0)
				p.ticks++;
			one = run(&r, &p);
			p.there_us += there;
			other = run(&wraps, &p);
			assert_memory_equal(&one, &other, sizeof(one));
			assert_int_equal(r.hold, wraps.hold);
			assert_int_equal(r.claims, wraps.claims);
			verdicts[one.verdict]++;
			told += one.first_waited_us > 0;
		}
	}
	for (i = 0; i < ARRAY_SIZE(verdicts); i++)
		assert_true(verdicts[i] > 100);
	assert_true(told > 100);
}

/* ---- anything ---- */

static void any_numbers_are_held_within_bounds(void **state)
{
	struct round_check r = {};
	u32 i, n, ended = 0, waited = 0, faster = 0;

	(void)state;
	for (i = 0; i < 500000; i++) {
		struct round_seen seen = {
			.service_q10 = draw(4) ? draw_scale(63) - 1 : 0,
			.now_us = (draw(2) ? r.since_us : 0) + (u32)draw_scale(32) - 1,
			.tick = (u32)draw_scale(32) - 1,
			.delivered = (u32)draw_scale(32) - 1,
			.prop_us = (u32)draw_scale(32) - 1,
			.queue = (u32)draw_scale(32) - 1,
			.train = (u32)draw_scale(32) - 1,
			.limited = !draw(4),
			.policed = !draw(4),
			.probes = draw(2),
			.missing = !draw(4),
		};
		const bool due = round_check_due(&r, seen.now_us, seen.prop_us);
		struct round_found found;
		u64 bound_q10;

		for (n = (u32)draw(4); n; n--) {
			round_check_ack(&r, (u32)draw(1ULL << 32));
			round_check_rtt(&r, (u32)draw_scale(32) - 1, (u32)draw(1ULL << 32));
			round_check_train(&r, draw_scale(63), (u32)draw_scale(32),
					  (u32)draw_scale(32));
			if (!draw(3))
				round_check_lost(&r, (u32)draw_scale(32));
			if (!draw(30))
				round_check_void(&r);
			if (!draw(30))
				round_check_midway(&r);
		}
		found = round_check_end(&r, &seen);
		ended += found.verdict != ROUND_GOES_ON;
		assert_true(found.service_q10 <= ROUND_SERVICE_MAX_Q10);
		assert_true(!seen.service_q10 || found.service_q10);
		assert_true(found.served_q8 <= ROUND_SERVED_MAX_Q8);
		assert_true(due || found.verdict == ROUND_GOES_ON);
		assert_true(found.verdict != ROUND_GOES_ON || !found.first_waited_us);
		assert_true(found.first_waited_us <= ROUND_MAX_US);
		assert_true(found.slowest_q10 <= ROUND_SERVICE_MAX_Q10);
		assert_true(!found.faster || found.delivered_q10 / 2 >= seen.service_q10);
		waited += found.first_waited_us > 0;
		faster += found.faster;
		assert_true(r.claims <= ROUND_CLAIM_LAST);
		assert_true(!r.policed || seen.policed || found.verdict == ROUND_GOES_ON);
		assert_true(!r.slowed || seen.policed || found.verdict == ROUND_GOES_ON);
		assert_true(r.bursts <= ROUND_BURSTS_MAX && r.shorter <= ROUND_SHORTER_MAX);
		assert_true(r.lossy <= ROUND_LOSSY);
		assert_true(r.hold <= ROUND_BURST << ROUND_BURSTS_MAX);
		assert_true(r.span_ns <= ROUND_SPAN_MAX_NS);
		bound_q10 = round_bound_q10(&r, seen.delivered, seen.now_us, draw(2));
		assert_in_range(bound_q10, 1, ROUND_SERVICE_MAX_Q10);
		assert_true(round_train_most(&r, seen.train, 1) >= 1);
		if (!draw(100))
			memset(&r, 0, sizeof(r));
	}
	assert_true(ended > 100000);
	assert_true(waited > 100 && faster > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_period_is_of_two_trains_and_a_quarter_more_than_r),
		cmocka_unit_test(a_period_is_due_after_a_quarter_more_than_r),
		cmocka_unit_test(a_period_collects_round_trips),
		cmocka_unit_test(the_first_round_trip_only_begins_a_period),
		cmocka_unit_test(nothing_of_a_period_is_left_in_the_next),
		cmocka_unit_test(the_verdict_follows_from_gaps_waits_and_losses),
		cmocka_unit_test(more_than_twice_what_was_delivered_was_believed),
		cmocka_unit_test(the_verdict_is_that_of_exact_numbers),
		cmocka_unit_test(what_a_queue_of_its_own_takes),
		cmocka_unit_test(a_round_trip_is_long_beyond_the_queue_that_is_asked_for),
		cmocka_unit_test(a_service_time_is_time_over_packets),
		cmocka_unit_test(the_longest_service_time_is_a_bound),
		cmocka_unit_test(the_longest_delay_is_a_bound),
		cmocka_unit_test(a_period_keeps_the_smallest_round_trip_and_all_losses),
		cmocka_unit_test(a_void_period_says_nothing),
		cmocka_unit_test(a_period_that_was_one_silence_says_nothing),
		cmocka_unit_test(claims_are_an_eighth_a_quarter_and_then_halves),
		cmocka_unit_test(what_is_not_delivered_is_claimed_twice_at_most),
		cmocka_unit_test(nothing_is_claimed_below_a_unit),
		cmocka_unit_test(a_policer_is_probed_by_a_128th_and_then_by_more),
		cmocka_unit_test(a_policer_that_is_gone_lets_the_rate_double_in_28_periods),
		cmocka_unit_test(a_policer_lowers_the_rate_in_every_second_period_at_most),
		cmocka_unit_test(that_the_rate_was_lowered_is_not_remembered_for_long),
		cmocka_unit_test(a_loss_lowers_a_policers_rate_by_an_eighth_at_most),
		cmocka_unit_test(a_policers_rate_is_that_of_exact_numbers),
		cmocka_unit_test(after_a_policer_no_claim_is_all_of_the_share),
		cmocka_unit_test(losses_of_more_than_a_32nd_are_many),
		cmocka_unit_test(the_third_lossy_period_in_a_row_halves_trains),
		cmocka_unit_test(lossless_periods_between_take_back_one_each),
		cmocka_unit_test(each_further_lossy_period_halves_trains_for_a_while),
		cmocka_unit_test(single_segments_are_not_shortened),
		cmocka_unit_test(lossless_periods_lengthen_trains_again),
		cmocka_unit_test(a_doubling_counts_as_a_lossy_period),
		cmocka_unit_test(a_train_is_no_shorter_than_the_least),
		cmocka_unit_test(a_quarter_more_than_r_is_a_queue),
		cmocka_unit_test(claims_lengthen_trains_again),
		cmocka_unit_test(bursts_hold_trains_long_and_relapses_for_longer),
		cmocka_unit_test(served_is_what_trains_show_over_what_was_delivered),
		cmocka_unit_test(sums_of_trains_do_not_wrap),
		cmocka_unit_test(a_silence_counts_for_two_periods),
		cmocka_unit_test(the_longest_silence_is_between_acks_of_any_period),
		cmocka_unit_test(a_first_flight_is_even_if_no_gap_is_longer_than_two),
		cmocka_unit_test(what_is_repaired_shows_no_bursts),
		cmocka_unit_test(bursts_of_acks_are_never_an_even_flight),
		cmocka_unit_test(deliveries_bound_what_gaps_may_show),
		cmocka_unit_test(of_periods_that_wait_without_a_gap_every_fourth_claims),
		cmocka_unit_test(the_receivers_clock_tells_c),
		cmocka_unit_test(the_receivers_clock_is_believed_if_it_agrees),
		cmocka_unit_test(the_receivers_clock_needs_spans_of_some_ticks),
		cmocka_unit_test(packets_waited_on_the_way_there_or_back),
		cmocka_unit_test(the_receivers_clock_tells_bursts_from_others),
		cmocka_unit_test(what_agrees_agrees_by_a_clock_that_tells),
		cmocka_unit_test(of_few_trains_that_can_show_a_gap_any_agrees),
		cmocka_unit_test(dense_by_both_clocks_is_no_burst),
		cmocka_unit_test(the_first_packet_waited_what_the_delay_has_fallen_by),
		cmocka_unit_test(in_mid_flow_no_packet_is_the_first),
		cmocka_unit_test(what_the_first_packet_waited_is_told_for_10_s),
		cmocka_unit_test(a_turn_that_the_first_train_shows_is_one),
		cmocka_unit_test(what_is_lost_again_and_again_is_no_share),
		cmocka_unit_test(a_share_that_was_followed_for_long_grows_by_half_at_first),
		cmocka_unit_test(the_longest_service_time_that_gaps_showed_is_told),
		cmocka_unit_test(what_the_first_packet_waited_is_that_of_exact_numbers),
		cmocka_unit_test(wraps_change_nothing),
		cmocka_unit_test(any_numbers_are_held_within_bounds),
	};

	return cmocka_run_group_tests_name("round_check", tests, NULL, NULL);
}
