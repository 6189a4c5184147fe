// SPDX-License-Identifier: GPL-2.0
/* pair_probe.h: which ACKs form a train, and what length a train takes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "../../qdisc/tests/refused.h"
#include "draw.h"
#include "pair_probe.h"

static const struct pair_limits limits = {
	.train_min = 2, .train_max = 64, .service_min_ns = 7,
	.train_min_ns = 100 * NSEC_PER_USEC, .train_max_ns = 125 * NSEC_PER_MSEC,
};

static struct pair_sample ack(struct pair_probe *p, u64 now_ns, u32 sent_us,
			      u32 segments)
{
	const struct pair_ack a = {
		.now_ns = now_ns, .sent_us = sent_us, .segments = segments,
	};

	return pair_probe_ack(p, &a, &limits);
}

static struct pair_sample sample(u64 span_ns, u32 segments)
{
	return (struct pair_sample) {
		.span_ns = span_ns, .segments = segments, .verdict = PAIR_SAMPLE,
	};
}

static void a_train_of_four_with_delayed_acks(void **state)
{
	struct pair_probe p;
	struct pair_sample s;

	(void)state;
	pair_probe_init(&p, 4);
	assert_int_equal(ack(&p, 1000000, 10, 2).verdict, PAIR_OPEN);
	assert_int_equal(ack(&p, 4000000, 10, 2).verdict, PAIR_OPEN);
	s = ack(&p, 7000000, 20, 2);
	assert_int_equal(s.verdict, PAIR_SAMPLE);
	assert_int_equal(s.segments, 2);
	assert_int_equal(s.span_ns, 3000000);
	assert_int_equal(pair_service_time(&s), 1500000ULL << PAIR_SERVICE_SHIFT);
}

static void bunched_acks_shift_time_between_gaps_but_not_the_sum(void **state)
{
	struct pair_probe p;
	struct pair_sample s;

	(void)state;
	pair_probe_init(&p, 8);
	ack(&p, 1000, 10, 2);
	ack(&p, 6000, 10, 2);	/* late: waited for the one behind it */
	ack(&p, 6001, 10, 2);
	ack(&p, 7000, 10, 2);
	s = ack(&p, 9000, 20, 2);
	assert_int_equal(s.verdict, PAIR_SAMPLE);
	assert_int_equal(pair_service_time(&s), 1000ULL << PAIR_SERVICE_SHIFT);
}

static void the_first_ack_of_a_train_counts_no_segments(void **state)
{
	struct pair_probe p;
	struct pair_sample s;

	(void)state;
	/* out of phase: the ACK covers the last of train 10, first of 20 */
	pair_probe_init(&p, 4);
	ack(&p, 1000, 10, 1);
	ack(&p, 3000, 10, 2);
	s = ack(&p, 5000, 20, 2);
	assert_int_equal(s.segments, 2);
	ack(&p, 7000, 20, 2);
	s = ack(&p, 9000, 30, 2);
	assert_int_equal(s.segments, 2);
	assert_int_equal(s.span_ns, 2000);
}

static void flaws_are_named(void **state)
{
	static const enum pair_verdict flaws[] = {
		PAIR_RETRANSMITTED, PAIR_HELD, PAIR_DELAYED_ACK, PAIR_DRAINED,
	};
	struct pair_probe p;
	size_t i, at;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(flaws); i++) {
		for (at = 0; at < 2; at++) {
			struct pair_ack a = {
				.now_ns = 1000, .sent_us = 10, .segments = 2,
				.flaw = at ? PAIR_OPEN : flaws[i],
			};

			pair_probe_init(&p, 4);
			pair_probe_ack(&p, &a, &limits);
			a.now_ns = 3000;
			a.flaw = at ? flaws[i] : PAIR_OPEN;
			pair_probe_ack(&p, &a, &limits);
			assert_int_equal(ack(&p, 5000, 20, 2).verdict, flaws[i]);
			/* and the flaw ends with its train */
			ack(&p, 7000, 20, 2);
			assert_int_equal(ack(&p, 9000, 30, 2).verdict, PAIR_SAMPLE);
		}
	}
	pair_probe_init(&p, 4);
	ack(&p, 1000, 10, 2);
	ack(&p, 1001, 10, 2);
	assert_int_equal(ack(&p, 5000, 20, 2).verdict, PAIR_COMPRESSED);
	/* a train of three: the last segment waits for the receiver's timer */
	ack(&p, 1000, 30, 2);
	ack(&p, 1000 + 40 * NSEC_PER_MSEC, 30, 1);
	assert_int_equal(ack(&p, NSEC_PER_SEC, 40, 2).verdict, PAIR_DELAYED_ACK);
	/* two segments may well take that long */
	ack(&p, NSEC_PER_SEC + 40 * NSEC_PER_MSEC, 40, 2);
	assert_int_equal(ack(&p, 2 * NSEC_PER_SEC, 50, 2).verdict, PAIR_SAMPLE);
}

/* A train with every ACK kept, and judged at its end by the rules as they are told */
struct naive_train {
	struct pair_ack acks[64];
	u32 usual[64];	/* what the receiver acknowledged at once before that ACK */
	int count;
	bool timer;	/* fired inside it */
};

/* @came: what a train without a gap brought back */
static struct pair_sample naive_close(struct naive_train *t, int *came)
{
	struct pair_sample s = { .verdict = PAIR_SAMPLE };
	enum pair_verdict flaw = PAIR_OPEN;
	u32 first = 0, rest = 0;
	int i;

	if (!t->count)
		return (struct pair_sample) { .verdict = PAIR_OPEN };
	for (i = 0; i < t->count; i++) {
		const struct pair_ack *a = &t->acks[i];
		u32 segments = a->segments > 255 ? 255 : a->segments;
		u64 span_ns = a->now_ns - t->acks[0].now_ns;

		if (i == 0) {
			first = segments;
		} else {
			if (segments == 1 && first >= 2 && span_ns - s.span_ns > 30000000) {
				flaw = PAIR_DELAYED_ACK;
				t->timer = true;
			}
			rest += segments;
			if (segments < t->usual[i]) {
				rest = rest > 255 ? 255 : rest;
			} else if (s.segments + rest <= 255) {
				s.segments += rest;
				s.span_ns = span_ns;
				s.ticks = a->tick - t->acks[0].tick;
				s.ticks = s.ticks > 65535 ? 65535 : s.ticks;
				rest = 0;
			} else {
				rest -= segments;
			}
		}
		if (a->flaw != PAIR_OPEN)
			flaw = a->flaw;
	}
	*came = (int)(first + rest);
	if (flaw != PAIR_OPEN)
		s.verdict = flaw;
	else if (s.segments + rest == 0)
		s.verdict = PAIR_ONE_ACK;
	else if (s.segments == 0)
		s.verdict = PAIR_DELAYED_ACK;
	else if (s.span_ns < 7 * s.segments)
		s.verdict = PAIR_COMPRESSED;
	return s;
}

/* What is learned from trains, in plain numbers */
struct naive_probe {
	struct naive_train t;
	int per_ack_q4, train, singles, too_long;
	bool paused, dense, bunched, suspected;
};

static int naive_clamp(int train, const struct pair_limits *l)
{
	if (train < (int)l->train_min)
		train = (int)l->train_min;
	return train > (int)l->train_max ? (int)l->train_max : train;
}

static void naive_per_ack(struct naive_probe *n, u32 segments)
{
	int all = 16 * (int)(segments > 255 ? 255 : segments) - n->per_ack_q4 + 3;

	/* an eighth, rounded to the nearest; a half down */
	n->per_ack_q4 += all >= 0 ? all / 8 : -((7 - all) / 8);
}

static void naive_learn(struct naive_probe *n, const struct pair_sample *s, int came,
			bool fills_hole, const struct pair_limits *l)
{
	int wanted = (n->per_ack_q4 + 12) / 16 * 2, i;

	wanted = wanted < (int)l->train_min ? (int)l->train_min : wanted;
	if (n->t.timer)
		return;
	for (i = 0; i < n->t.count; i++)
		if (n->t.acks[i].flaw != PAIR_OPEN)
			return;
	if (!s->segments && s->verdict != PAIR_OPEN) {
		if (fills_hole)
			return;
		n->too_long = 0;
		if (2 * came < n->train || ++n->singles < 3)
			return;
		n->singles = 0;
		n->train = naive_clamp(2 * (came > n->train ? came : n->train), l);
	} else if (s->verdict == PAIR_SAMPLE) {
		n->singles = 0;
		if (wanted >= n->train) {
			n->bunched = false;
			if (n->suspected && ++n->too_long == 32) {
				n->too_long = 0;
				n->suspected = false;
			}
		} else if (++n->too_long == 32) {
			n->too_long = 0;
			n->train = wanted > n->train / 2 ? wanted : n->train / 2;
		}
		n->train = naive_clamp(n->train, l);
	}
}

static void naive_bunched(struct naive_probe *n, u32 segments, u64 took, u64 believed,
			  const struct pair_limits *l)
{
	bool is_long = took > believed + believed / 8;
	bool pause = is_long && (took - believed) * segments > 9 * believed;
	bool uneven = is_long && n->bunched && 2 * (int)segments > n->train;
	bool bunch = is_long ? n->dense : n->paused;
	bool lengthen = (bunch && n->suspected) ||
			(uneven && took > believed + believed / 4);

	n->paused = pause && !n->paused;
	n->dense = 16 * took < believed;
	if (lengthen) {
		n->bunched = true;
		n->train = naive_clamp(2 * n->train, l);
	}
	n->suspected |= bunch;
	if (uneven)
		n->too_long /= 2;
	if (bunch || lengthen || (pause && n->bunched))
		n->too_long = 0;
}

static u64 draw_gap_ns(void)
{
	switch (draw(4)) {
	case 0:
		return 7 * draw(4) - draw(2) * !!draw(2) + 1;
	case 1:
		return 1 + draw(100000);
	case 2:
		/* on both sides of what a receiver waits */
		return 30000000 - 1 + draw(3);
	default:
		return draw_scale(27);
	}
}

/* On both sides of what is long, uneven, a pause, dense; or as usual */
static u64 draw_took(u64 believed, u32 segments)
{
	switch (draw(8)) {
	case 0:
		return believed + believed / 8 + draw(2);
	case 1:
		return believed + believed / 4 + draw(2);
	case 2:
		return believed + 9 * believed / segments + draw(2);
	case 3:
	case 4:
		return believed / 16 - draw(2);
	case 5:
		return believed / 4 - draw(2);
	case 6:
		return believed + 10 * believed;
	default:
		return believed;
	}
}

static void any_acks_teach_what_they_teach_a_naive_probe(void **state)
{
	static const enum pair_verdict flaws[] = {
		PAIR_RETRANSMITTED, PAIR_HELD, PAIR_DELAYED_ACK, PAIR_DRAINED,
	};
	u32 seen[PAIR_VERDICTS] = { 0 }, longer = 0, shorter = 0, bunches = 0, cleared = 0;
	u32 path, i;

	(void)state;
	for (path = 0; path < 4000; path++) {
		const struct pair_limits l = {
			.train_min = 1 + (u32)draw(6), .service_min_ns = 7,
			.train_max = draw(3) ? 64 : 1 + (u32)draw(255),
		};
		const u64 believed = 1600ULL << draw(20);
		/* a receiver that keeps its way, and how often it does not */
		u32 per_ack = 1 + (u32)draw(5), acks = 1 + (u32)draw(6);
		bool steady = draw(2), spoilt = !draw(3), uneven = !draw(3);
		u32 sent_us = (u32)draw(U32_MAX), most = (u32)draw_scale(9), before;
		u64 now_ns = draw(1ULL << 40);
		u32 tick = (u32)draw(U32_MAX);
		bool mends = !draw(3);
		struct naive_probe n = { .per_ack_q4 = 25 };
		struct pair_probe p;

		n.train = 1 + (int)draw(64);
		pair_probe_init(&p, (u32)n.train);
		for (i = 0; i < 1200; i++) {
			struct pair_ack a = { .segments = 1 + (u32)draw(most) };
			struct pair_sample got, exact = { .verdict = PAIR_OPEN };
			bool suspected = p.suspected, closes;

			if (!draw(20))
				a.segments = (u32)draw_scale(31);
			if (steady)
				a.segments = per_ack;
			if (spoilt && !draw(8))
				a.flaw = flaws[draw(ARRAY_SIZE(flaws))];
			now_ns += steady ? 1 + draw(100000) : draw_gap_ns();
			a.now_ns = now_ns;
			if (steady && draw(50) ? i % acks == 0 : !draw(4) || n.t.count == 64)
				sent_us += 1 + (u32)draw(3);
			a.sent_us = sent_us;
			a.fills_hole = mends && !draw(4);
			a.tick = (u32)(now_ns / NSEC_PER_MSEC) + tick;
			before = p.train;

			closes = !n.t.count || sent_us != n.t.acks[0].sent_us;
			if (closes) {
				int came = 0;

				exact = naive_close(&n.t, &came);
				naive_learn(&n, &exact, came, a.fills_hole, &l);
				n.t.count = 0;
				n.t.timer = false;
			}
			n.t.acks[n.t.count] = a;
			n.t.usual[n.t.count++] = (u32)(n.per_ack_q4 + 6) / 16;
			if (!closes || a.segments > 1)
				naive_per_ack(&n, a.segments);

			got = pair_probe_ack(&p, &a, &l);
			seen[got.verdict]++;
			if (got.verdict != exact.verdict ||
			    got.segments != exact.segments || got.span_ns != exact.span_ns ||
			    got.ticks != exact.ticks)
				fail_msg("%u.%u: verdict %d, %u in %lu; naive %d, %u in %lu",
					 path, i, got.verdict, got.segments,
					 (unsigned long)got.span_ns, exact.verdict,
					 exact.segments, (unsigned long)exact.span_ns);
			if (p.train != n.train || p.per_ack_q4 != n.per_ack_q4)
				fail_msg("%u.%u: trains of %d, naive %d; per ACK %d, naive %d",
					 path, i, p.train, n.train, p.per_ack_q4, n.per_ack_q4);
			/* later on it is forgotten, where nothing happens */
			if (uneven && i < 300 && got.verdict == PAIR_SAMPLE) {
				u64 took = draw_took(believed, got.segments);

				naive_bunched(&n, got.segments, took, believed, &l);
				assert_int_equal(pair_probe_bunched(&p, got.segments, took,
								    believed, &l), n.bunched);
				assert_int_equal(p.train, n.train);
				bunches += p.suspected && !suspected;
			}
			assert_int_equal(p.suspected, n.suspected);
			cleared += suspected && !p.suspected;
			longer += p.train > before;
			shorter += p.train < before;
		}
	}
	for (i = 0; i < PAIR_VERDICTS; i++)
		if (seen[i] < 1000)
			fail_msg("verdict %u: seen %u times", i, seen[i]);
	if (longer < 1000 || shorter < 1000 || bunches < 1000 || cleared < 100)
		fail_msg("%u longer, %u shorter, %u bunches, %u cleared", longer,
			 shorter, bunches, cleared);
}

/* A packet that is sent again arrives, and its ACK covers all that came after it */
static void acks_that_fill_holes_do_not_lengthen_the_train(void **state)
{
	struct pair_ack a = { .segments = 8, .fills_hole = true };
	struct pair_probe p;
	u32 train;

	(void)state;
	pair_probe_init(&p, 4);
	for (train = 1; train <= 100; train++) {
		a.sent_us = 100 * train;
		a.now_ns = NSEC_PER_MSEC * train;
		pair_probe_ack(&p, &a, &limits);
	}
	assert_int_equal(p.train, 4);
	/* nor do they take back what trains without holes have shown so far */
	p.singles = 2;
	a.sent_us++;
	pair_probe_ack(&p, &a, &limits);
	assert_int_equal(p.singles, 2);
	/* without a hole that is how the receiver acknowledges */
	a.fills_hole = false;
	a.sent_us++;
	pair_probe_ack(&p, &a, &limits);
	assert_int_equal(p.train, 16);
}

/* By the receiver's clock, which wraps, and stops where it shows none */
static void a_train_has_the_ticks_between_its_acks(void **state)
{
	static const struct {
		u32 first, second, third, ticks;
		const char *reason;
	} rows[] = {
		{ 100, 103, 107, 7, "to the last that counts" },
		{ U32_MAX - 1, 1, 3, 5, "across the wrap" },
		{ 5, 5, 5, 0, "it stands still" },
		{ 0, 1, 200000, U16_MAX, "no more than fit" },
		{ 7, 6, 5, U16_MAX, "nor do they where it runs back" },
	};
	struct pair_probe p;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pair_ack a = { .sent_us = 10, .segments = 2, .now_ns = 1000 };
		struct pair_sample s;

		pair_probe_init(&p, 6);
		a.tick = rows[i].first;
		pair_probe_ack(&p, &a, &limits);
		a.now_ns += 1000;
		a.tick = rows[i].second;
		pair_probe_ack(&p, &a, &limits);
		a.now_ns += 1000;
		a.tick = rows[i].third;
		pair_probe_ack(&p, &a, &limits);
		a.sent_us = 20;
		a.tick += 50;
		s = pair_probe_ack(&p, &a, &limits);
		assert_int_equal(s.verdict, PAIR_SAMPLE);
		if (s.ticks != rows[i].ticks)
			fail_msg("%s: %u", rows[i].reason, s.ticks);
	}
}

static void a_merging_receiver_lengthens_the_train(void **state)
{
	struct pair_probe p;
	u32 sent;

	(void)state;
	pair_probe_init(&p, 4);
	/* one ACK per eight segments: trains of four, then eight, give no gap */
	for (sent = 0; sent < 3; sent++)
		ack(&p, sent * 1000, sent, 4);
	assert_int_equal(p.train, 4);
	ack(&p, 3000, 3, 8);
	assert_int_equal(p.train, 8);
	for (; sent < 6; sent++)
		ack(&p, 5000 + sent * 1000, 10 + sent, 8);
	ack(&p, 20000, 20, 8);
	assert_int_equal(p.train, 16);
	/* now gaps are seen, and the length stays */
	for (sent = 0; sent < 200; sent++) {
		ack(&p, 30000 + sent * 2000, 100 + sent, 8);
		ack(&p, 31000 + sent * 2000, 100 + sent, 8);
	}
	assert_int_equal(p.train, 16);
}

static void a_prompt_receiver_shortens_it_slowly(void **state)
{
	struct pair_probe p;
	u32 sent, i;

	(void)state;
	pair_probe_init(&p, 16);
	for (sent = 0; sent < 20; sent++)
		for (i = 0; i < 16; i++)
			ack(&p, (sent * 16 + i) * 1000, sent, 1);
	assert_int_equal(p.train, 16);
	for (; sent < 200; sent++)
		for (i = 0; i < 16; i++)
			ack(&p, (sent * 16 + i) * 1000, sent, 1);
	assert_int_equal(p.train, 2);
}

static void the_rest_that_a_timer_acknowledges_ends_no_gap(void **state)
{
	struct pair_probe p;
	struct pair_sample s;
	u64 at = 0;
	u32 sent;

	(void)state;
	/* merged up to 17 segments, 1 us each; the rest a millisecond after. The
	 * first train shows what is usual.
	 */
	pair_probe_init(&p, 20);
	for (sent = 1; sent < 5; sent++) {
		at += 10000000;
		s = ack(&p, at, sent, 17);
		ack(&p, at + 1003000, sent, 3);
	}
	assert_int_equal(s.verdict, PAIR_DELAYED_ACK);
	assert_int_equal(p.train, 20);
	/* three such trains in a row are too short to show a gap */
	assert_int_equal(ack(&p, at + 10000000, 10, 17).verdict, PAIR_DELAYED_ACK);
	assert_int_equal(p.train, 40);
	ack(&p, at + 10017000, 10, 17);
	ack(&p, at + 11023000, 10, 6);
	s = ack(&p, at + 20000000, 11, 17);
	assert_int_equal(s.verdict, PAIR_SAMPLE);
	assert_int_equal(s.segments, 17);
	assert_int_equal(s.span_ns, 17000);
	/* in the middle of a train a small ACK counts with the next */
	ack(&p, at + 20005000, 11, 5);
	ack(&p, at + 20017000, 11, 12);
	ack(&p, at + 20034000, 11, 17);
	s = ack(&p, at + 30000000, 12, 6);
	assert_int_equal(s.segments, 34);
	assert_int_equal(s.span_ns, 34000);
}

static void an_ack_for_many_trains_lengthens_them_at_once(void **state)
{
	struct pair_probe p;
	u32 sent;

	(void)state;
	pair_probe_init(&p, 4);
	for (sent = 0; sent < 3; sent++)
		ack(&p, sent * 32000, sent, 32);
	assert_int_equal(p.train, 4);
	ack(&p, 3 * 32000, 3, 32);
	assert_int_equal(p.train, 64);
}

/* A train of four that took so many times the service time of 100 us which is believed */
static bool took(struct pair_probe *p, double services)
{
	const u64 believed_q10 = 100000ULL << PAIR_SERVICE_SHIFT;

	return pair_probe_bunched(p, 2, (u64)(services * (double)believed_q10),
				  believed_q10, &limits);
}

static void a_pause_and_a_short_train_after_it_are_a_bunch(void **state)
{
	static const struct {
		double services[6];
		bool bunched;
		const char *because;
	} rows[] = {
		{ { 1, 1, 1, 1, 1, 1 }, false, "all is as believed" },
		{ { 0.01, 0.01, 0.01, 0.01, 0.01, 0.01 }, false, "the share has grown" },
		{ { 9, 9, 9, 9, 9, 9 }, false, "it has shrunk" },
		{ { 5.4, 1, 5.4, 1, 5.4, 1 }, false, "neighbours come and go" },
		{ { 5.4, 5.4, 0.07, 0.07, 0.07, 0.07 }, false, "then many went" },
		{ { 0.06, 1.2, 0.06, 1.2, 1, 1 }, true, "no share changes so, and back" },
		{ { 0.06, 0.06, 1.2, 0.06, 0.06, 1.2 }, true, "nor later" },
		{ { 0.07, 1.2, 0.07, 1.2, 0.07, 1.2 }, false, "this it may" },
		{ { 1, 9, 0.2, 9, 0.2, 1 }, true, "a pause, and what waited for its end" },
		{ { 1, 9, 1, 1, 9, 1 }, true, "the estimate is the bunch's already" },
		{ { 9, 9, 0.2, 9, 9, 0.2 }, false, "two pauses in a row are a share that has shrunk" },
		{ { 1, 9, 0.2, 1, 1, 1 }, false, "one may be a coincidence" },
		{ { 9, 2, 0.2, 9, 2, 0.2 }, false, "nothing waited" },
	};
	struct pair_probe p;
	size_t i, j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		bool bunched = false;

		pair_probe_init(&p, 4);
		for (j = 0; j < ARRAY_SIZE(rows[i].services); j++)
			bunched = took(&p, rows[i].services[j]);
		if (bunched != rows[i].bunched)
			fail_msg("bunched %d: %s", bunched, rows[i].because);
		assert_int_equal(p.train, bunched ? 8 : 4);
	}
}

static void bunches_make_trains_long_until_pauses_end(void **state)
{
	struct pair_probe p;
	u32 sent;
	int i;

	(void)state;
	pair_probe_init(&p, 4);
	for (i = 0; i < 20; i++)
		took(&p, i % 2 ? 0.1 : 9);
	assert_int_equal(p.train, limits.train_max);
	/* as long as there are pauses, 31 trains apart */
	for (sent = 0; sent < 400; sent++) {
		ack(&p, 4000 * sent, sent, 2);
		ack(&p, 4000 * sent + 2000, sent, 2);
		assert_true(took(&p, sent % 31 ? 2 : 9));
		assert_int_equal(p.train, limits.train_max);
	}
	/* 32 trains without one halve it, down to what the receiver needs, and as many
	 * more clear it of suspicion
	 */
	for (; p.train > 4; sent++) {
		ack(&p, 4000 * sent, sent, 2);
		ack(&p, 4000 * sent + 2000, sent, 2);
		took(&p, 2);
	}
	assert_in_range(sent, 400 + 4 * 32 - 31, 400 + 4 * 32 + 4);
	ack(&p, 4000 * sent, sent, 2);
	assert_false(took(&p, 1));
	assert_true(p.suspected);
	for (i = 0; i < 32; i++, sent++) {
		ack(&p, 4000 * sent + 2000, sent, 2);
		ack(&p, 4000 * sent + 4000, sent + 1, 2);
	}
	took(&p, 9);
	assert_false(took(&p, 0.2));
	took(&p, 9);
	assert_true(took(&p, 0.2));
}

/* So many trains, two segments an ACK, that took so many times what is believed */
static void trains(struct pair_probe *p, u32 *sent, u32 count, u32 segments, double services)
{
	const u64 believed_q10 = 100000ULL << PAIR_SERVICE_SHIFT;
	u32 i;

	for (; count--; (*sent)++) {
		for (i = 0; i < segments / 2; i++)
			ack(p, 10000 * *sent + 1000 * i, *sent, 2);
		pair_probe_bunched(p, segments - 2,
				   (u64)(services * (double)believed_q10),
				   believed_q10, &limits);
	}
}

static void where_bunches_are_known_trains_outgrow_them(void **state)
{
	struct pair_probe p;
	u32 sent = 0;
	int i;

	(void)state;
	pair_probe_init(&p, 4);
	/* no bunch is known */
	for (i = 0; i < 100; i++)
		trains(&p, &sent, 1, 4, i % 2 ? 1.4 : 0.6);
	assert_int_equal(p.train, 4);
	for (i = 0; i < 4; i++)
		took(&p, i % 2 ? 0.2 : 9);
	assert_int_equal(p.train, 8);
	/* one that was cut in two may have the pause in either part */
	trains(&p, &sent, 1, 4, 1.4);
	assert_int_equal(p.train, 8);
	trains(&p, &sent, 1, 8, 1.4);
	assert_int_equal(p.train, 16);
	/* less than a quarter does not lengthen it, and often an eighth keeps its length */
	for (i = 0; i < 20; i++) {
		trains(&p, &sent, 7, 16, 0.8);
		trains(&p, &sent, 1, 16, 1.2);
		assert_int_equal(p.train, 16);
	}
	trains(&p, &sent, 40, 16, 1.1);
	assert_int_equal(p.train, 8);
}

static void a_long_first_flight_is_counted_while_it_fits(void **state)
{
	struct pair_probe p;
	struct pair_sample s;
	u32 i;

	(void)state;
	pair_probe_init(&p, 4);
	p.train = 255;
	for (i = 0; i <= 1000; i++)
		ack(&p, 1000 * i, 1, 1);
	s = ack(&p, 2000000, 2, 1);
	assert_int_equal(s.segments, PAIR_SEGMENTS_MAX);
	assert_int_equal(s.span_ns, 1000 * PAIR_SEGMENTS_MAX);
}

static void trains_cut_short_do_not_lengthen_the_train(void **state)
{
	struct pair_probe p;
	u32 sent;

	(void)state;
	/* a chat: one segment, one ACK, over and over */
	pair_probe_init(&p, 4);
	for (sent = 0; sent < 100; sent++)
		ack(&p, sent * 1000, sent, 1);
	assert_int_equal(p.train, 4);
}

static void trains_cut_in_half_are_lengthened(void **state)
{
	struct pair_probe p;
	u32 sent;

	(void)state;
	/* each half leaves by itself, and has the receiver's one ACK for two */
	pair_probe_init(&p, 4);
	for (sent = 0; sent < PAIR_SINGLE_ACKS; sent++)
		ack(&p, sent * 1000, sent, 2);
	assert_int_equal(p.train, 4);
	ack(&p, sent * 1000, sent, 2);
	assert_int_equal(p.train, 8);
	/* less than half: the application has no more to send */
	for (; sent < 100; sent++)
		ack(&p, sent * 1000, sent, 2);
	assert_int_equal(p.train, 8);
}

static void a_mean_is_of_four_trains_and_a_time_or_of_sixty(void **state)
{
	static const struct {
		u32 every_us, least_us, due;
		const char *reason;
	} rows[] = {
		{ 100, 0, 4, "no time asked for: four trains" },
		{ 100, 300, 4, "four trains last as long as was asked for" },
		{ 100, 301, 5, "a microsecond more takes one more" },
		{ 100, 5899, 60, "the time is there with the sixtieth" },
		{ 100, 1000000, 60, "the time never comes: what the sums have room for" },
	};
	size_t i;
	u32 n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pair_mean m = {};
		struct pair_sample mean;
		u64 span_ns = 0;

		/* it stays due until it is taken, across the wrap of the clock, and full at sixty */
		for (n = 1; n <= 200; n++) {
			const struct pair_sample s = {
				.span_ns = 1000 + n, .segments = 2 + n % 3, .verdict = PAIR_SAMPLE,
			};
			bool due = pair_mean_add(&m, &s, U32_MAX - 250 + n * rows[i].every_us,
						 rows[i].least_us);

			if (due != (n >= rows[i].due))
				fail_msg("%s: %u trains, due %d", rows[i].reason, n, due);
			span_ns += n <= 60 ? 1000 + n : 0;
		}
		mean = pair_mean_take(&m);
		assert_int_equal(mean.verdict, PAIR_SAMPLE);
		assert_int_equal(mean.span_ns, span_ns);
		/* 20 times 2 + 3 + 4 */
		assert_int_equal(mean.segments, 20 * 9);
		assert_int_equal(m.trains + m.segments + m.span_ns, 0);
	}
}

static void length_in_time_is_bounded(void **state)
{
	static const struct {
		u64 service_ns;
		u32 learned, train;
		const char *reason;
	} rows[] = {
		{ 1211000, 4, 4, "10 Mbit/s of full packets: as learned" },
		{ 12112, 4, 8, "1 Gbit/s: a train of 100 us" },
		{ 121, 4, 64, "100 Gbit/s: the longest" },
		{ 12112000, 4, 4, "1 Mbit/s: four take 48 ms" },
		{ 40000000, 4, 3, "300 kbit/s: four would take 160 ms" },
		{ 190000000, 4, 1, "64 kbit/s: single packets" },
		{ 60000000000ULL, 64, 1, "one packet a minute" },
	};
	struct pair_probe p;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		pair_probe_init(&p, rows[i].learned);
		if (pair_train(&p, rows[i].service_ns << PAIR_SERVICE_SHIFT, 0,
			       &limits) != rows[i].train)
			fail_msg("%s", rows[i].reason);
	}
	assert_int_equal(pair_train(&p, 1, 0, &limits), 64);
}

/* Trains of 32 of a millisecond each, as bursts of ACKs ask for them; two are the least
 * window
 */
static void what_bursts_ask_for_is_no_longer_than_half_the_pipe(void **state)
{
	static const struct {
		u32 prop_us, per_ack, train;
		const char *reason;
	} rows[] = {
		{ 0, 2, 32, "the pipe is unknown" },
		{ 100000, 2, 32, "the pipe is longer" },
		{ 20000, 2, 10, "half of the pipe" },
		{ 19999, 2, 9, "rounded down" },
		{ 18000, 2, 9, "more than twice what shows a gap of this receiver's" },
		{ 16000, 2, 8, "as much" },
		{ 1000, 2, 8, "no less than that: halves that leave alone show none" },
		{ 1000, 7, 28, "of another receiver's" },
		{ 1000, 8, 32, "no more than is asked for" },
		{ U32_MAX, 2, 32, "no wrap" },
	};
	struct pair_limits least = limits;
	struct pair_probe p;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 train;

		pair_probe_init(&p, 32);
		p.per_ack_q4 = (u16)(16 * rows[i].per_ack);
		train = pair_train(&p, 1000000ULL << PAIR_SERVICE_SHIFT, rows[i].prop_us,
				   &limits);
		if (train != rows[i].train)
			fail_msg("%s: %u", rows[i].reason, train);
	}
	/* nor longer than 36 in any, unless that is less than twice what ACKs ask for */
	pair_probe_init(&p, 64);
	p.per_ack_q4 = 16 * 9;
	assert_int_equal(pair_train(&p, 1000000ULL << PAIR_SERVICE_SHIFT, 1000000, &limits), 36);
	p.per_ack_q4 = 16 * 10;
	assert_int_equal(pair_train(&p, 1000000ULL << PAIR_SERVICE_SHIFT, 1000000, &limits), 40);
	/* and no less than twice what whoever set the shortest asked for */
	least.train_min = 9;
	pair_probe_init(&p, 32);
	assert_int_equal(pair_train(&p, 1000000ULL << PAIR_SERVICE_SHIFT, 1000, &least), 18);
	/* and a train lasts what it is made to last, in however short a pipe */
	assert_int_equal(pair_train(&p, 10000ULL << PAIR_SERVICE_SHIFT, 50, &limits), 10);
}

static void where_a_burst_is_known_trains_are_doubled(void **state)
{
	struct pair_probe p;

	(void)state;
	pair_probe_init(&p, 20);
	p.too_long = 31;
	pair_probe_lengthen(&p, &limits);
	assert_int_equal(p.train, 40);
	assert_int_equal(p.bunched, 1);
	assert_int_equal(p.too_long, 0);
	pair_probe_lengthen(&p, &limits);
	assert_int_equal(p.train, 64);
}

static void extremes_do_not_overflow(void **state)
{
	struct pair_probe p;
	struct pair_sample s;
	u32 i;

	(void)state;
	pair_probe_init(&p, 0);
	assert_int_equal(p.train, 1);
	for (i = 0; i < 2000; i++)
		ack(&p, i * 1000ULL, 5, U32_MAX);
	s = ack(&p, 3000000, 6, 1);
	assert_int_equal(s.segments, PAIR_SEGMENTS_MAX);
	s = sample((1ULL << 54) - 1, 1);
	assert_int_equal(pair_service_time(&s), PAIR_SPAN_MAX_NS << PAIR_SERVICE_SHIFT);
	s = sample((1ULL << 54) - 1, U32_MAX);
	assert_int_equal(pair_service_time(&s), 1ULL << 32);
	s = sample(0, U32_MAX);
	assert_int_equal(pair_service_time(&s), 1);
	s = sample(PAIR_SPAN_MAX_NS, 1);
	assert_int_equal(pair_service_time(&s), PAIR_SPAN_MAX_NS << PAIR_SERVICE_SHIFT);
	/* no time at all: a service time of 0 would be divided by */
	s = sample(0, 255);
	assert_int_equal(pair_service_time(&s), 1);
	s = sample(60 * PAIR_SPAN_MAX_NS, 60);
	assert_int_equal(pair_service_time(&s), PAIR_SPAN_MAX_NS << PAIR_SERVICE_SHIFT);
}

static void the_longest_train_holds_where_the_shortest_is_longer(void **state)
{
	struct pair_limits crossed = limits;
	struct pair_probe p;
	int i;

	(void)state;
	crossed.train_min = 8;
	crossed.train_max = 3;
	pair_probe_init(&p, 8);
	for (i = 0; i < 100; i++) {
		const struct pair_ack a = {
			.now_ns = 1000000 * i, .sent_us = i / 2, .segments = 2,
		};

		pair_probe_ack(&p, &a, &crossed);
	}
	assert_int_equal(p.train, 3);
	assert_int_equal(pair_train(&p, 1000ULL << PAIR_SERVICE_SHIFT, 0, &crossed), 3);
}

/* What holds at a bound is taken, what is beyond it is asserted: by one at a time. */
static void preconditions_are_asserted_from_their_bounds_on(void **state)
{
	const u64 share_q10 = 1000ULL << PAIR_SERVICE_SHIFT, most_q10 = 1ULL << 47;
	const struct pair_sample good = { .span_ns = (1ULL << 54) - 1, .segments = 1, .verdict = PAIR_SAMPLE };
	struct pair_limits edge = limits, wrong = limits;
	struct pair_sample bad;
	struct pair_mean mean;
	struct pair_probe p;
	u32 verdict;

	(void)state;
	/* a service time is that of a whole sample, and of a span that can be shifted */
	assert_int_equal(pair_service_time(&good), PAIR_SPAN_MAX_NS << PAIR_SERVICE_SHIFT);
	for (verdict = PAIR_OPEN; verdict < PAIR_VERDICTS; verdict++) {
		bad = good;
		bad.verdict = verdict;
		memset(&mean, 0, sizeof(mean));
		if (verdict == PAIR_SAMPLE) {
			pair_mean_add(&mean, &bad, 0, 0);
			continue;
		}
		assert_refused(pair_service_time(&bad));
		assert_refused(pair_mean_add(&mean, &bad, 0, 0));
	}
	bad = good;
	bad.segments = 0;
	assert_refused(pair_service_time(&bad));
	bad = good;
	bad.span_ns++;
	assert_refused(pair_service_time(&bad));
	memset(&mean, 0, sizeof(mean));
	assert_refused(pair_mean_take(&mean));

	/* what a train took and what is believed, each at its most */
	pair_probe_init(&p, 8);
	pair_probe_bunched(&p, PAIR_SEGMENTS_MAX, share_q10, share_q10, &limits);
	assert_refused(pair_probe_bunched(&p, PAIR_SEGMENTS_MAX + 1, share_q10, share_q10, &limits));
	pair_probe_bunched(&p, 8, most_q10, most_q10, &limits);
	assert_refused(pair_probe_bunched(&p, 8, most_q10 + 1, share_q10, &limits));
	assert_refused(pair_probe_bunched(&p, 8, share_q10, most_q10 + 1, &limits));
	pair_probe_bunched(&p, 8, 0, 0, &limits);

	/* bounds of a train */
	edge.train_min_ns = (1ULL << 53) - 1;
	edge.train_max_ns = (1ULL << 53) - 1;
	edge.train_max = U8_MAX;
	edge.train_min = 0;
	pair_probe_init(&p, 8);
	pair_train(&p, share_q10, 0, &edge);
	assert_refused(pair_train(&p, 0, 0, &edge));
	wrong.train_max = 0;
	assert_refused(pair_train(&p, share_q10, 0, &wrong));
	assert_refused(pair_probe_adapt(&p, true, &wrong));
	wrong.train_max = U8_MAX + 1;
	assert_refused(pair_train(&p, share_q10, 0, &wrong));
	assert_refused(pair_probe_adapt(&p, true, &wrong));
	wrong = limits;
	wrong.train_min = 0;
	assert_refused(pair_probe_adapt(&p, true, &wrong));
	wrong = limits;
	wrong.train_min_ns = 1ULL << 53;
	assert_refused(pair_train(&p, share_q10, 0, &wrong));
	wrong = limits;
	wrong.train_max_ns = 1ULL << 53;
	assert_refused(pair_train(&p, share_q10, 0, &wrong));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_train_of_four_with_delayed_acks),
		cmocka_unit_test(bunched_acks_shift_time_between_gaps_but_not_the_sum),
		cmocka_unit_test(the_first_ack_of_a_train_counts_no_segments),
		cmocka_unit_test(flaws_are_named),
		cmocka_unit_test(any_acks_teach_what_they_teach_a_naive_probe),
		cmocka_unit_test(acks_that_fill_holes_do_not_lengthen_the_train),
		cmocka_unit_test(a_train_has_the_ticks_between_its_acks),
		cmocka_unit_test(a_merging_receiver_lengthens_the_train),
		cmocka_unit_test(a_prompt_receiver_shortens_it_slowly),
		cmocka_unit_test(the_rest_that_a_timer_acknowledges_ends_no_gap),
		cmocka_unit_test(an_ack_for_many_trains_lengthens_them_at_once),
		cmocka_unit_test(a_pause_and_a_short_train_after_it_are_a_bunch),
		cmocka_unit_test(bunches_make_trains_long_until_pauses_end),
		cmocka_unit_test(where_bunches_are_known_trains_outgrow_them),
		cmocka_unit_test(a_long_first_flight_is_counted_while_it_fits),
		cmocka_unit_test(trains_cut_short_do_not_lengthen_the_train),
		cmocka_unit_test(trains_cut_in_half_are_lengthened),
		cmocka_unit_test(a_mean_is_of_four_trains_and_a_time_or_of_sixty),
		cmocka_unit_test(length_in_time_is_bounded),
		cmocka_unit_test(what_bursts_ask_for_is_no_longer_than_half_the_pipe),
		cmocka_unit_test(where_a_burst_is_known_trains_are_doubled),
		cmocka_unit_test(extremes_do_not_overflow),
		cmocka_unit_test(the_longest_train_holds_where_the_shortest_is_longer),
		cmocka_unit_test(preconditions_are_asserted_from_their_bounds_on),
	};

	return cmocka_run_group_tests_name("pair_probe", tests, NULL, NULL);
}
