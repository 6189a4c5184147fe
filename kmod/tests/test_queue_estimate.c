// SPDX-License-Identifier: GPL-2.0
/*
 * queue_estimate.h and queue_watch.h against the same recursion in floating point, and
 * against the queue of a simulated bottleneck.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "draw.h"
#include "law_1994.h"
#include "queue_ack.h"

#define NS(x) ((u64)(x) << CONTROL_SERVICE_SHIFT)

/* ---- one step, in floating point ---- */

struct oracle {
	double pipe, before;	/* packets */
	double empty_us;
	double idle;		/* packets */
	double resumed_us;
	int rounds;
	bool started, close;	/* a condition was decided on its edge */
};

static double oracle_ack(struct oracle *o, const struct control_path *p, double now_us)
{
	double s_us = p->service_q10 / 1024.0 / 1000;
	double rtt = p->rtt_us, prop = p->prop_us, age = p->newest_age_us;
	double computed = prop / s_us, counted, pipe, n;
	double newest = now_us - age;

	if ((rtt - prop) / s_us >= 2)
		o->pipe = fmax(o->pipe, p->delivered * prop / rtt);
	counted = fmax(o->pipe, o->before);
	pipe = counted && fabs(counted - computed) <= computed / 16 + 2 ?
	       counted : computed;
	if (!(o->idle && o->resumed_us > now_us - rtt))
		o->idle = 0;
	if (o->started && newest > o->empty_us) {
		double idle = (newest - o->empty_us) / s_us;

		o->close |= fabs(idle - o->idle) < 1 + 4 / s_us;
		if (idle >= o->idle)
			o->resumed_us = newest;
		o->idle = fmin(o->idle + idle, U16_MAX / 16.0);
	}
	n = p->outstanding - pipe + age / s_us - 0.5 + o->idle;
	n = fmin(fmax(n, 0), p->outstanding);
	o->empty_us = newest + (n + 1) * s_us;
	o->started = true;
	return n;
}

static void every_step_is_the_equation(void **state)
{
	int i, steps = 0;

	(void)state;
	for (i = 0; i < 20000; i++) {
		struct queue_estimate q = {};
		struct queue_watch w = {};
		struct oracle o = {};
		u64 service = NS(1000) + draw_scale(34);
		u32 prop = 1 + (u32)draw_scale(20), now = (u32)draw(U32_MAX / 2);
		double s_us = service / 1024.0 / 1000;
		int step;

		for (step = 0; step < 30; step++) {
			struct control_path p = {
				.service_q10 = service, .prop_us = prop,
				.rtt_us = prop + (u32)draw_scale(14),
				.outstanding = (u32)draw_scale(13),
			};
			struct queue_backlog got;
			double exact, before;

			p.newest_age_us = (u32)draw(p.rtt_us);
			p.delivered = (u32)(p.rtt_us / s_us * (80 + draw(40)) / 100);
			if (p.delivered > CONTROL_BACKLOG_MAX || p.rtt_us / s_us > 60000)
				break;
			now += (u32)draw_scale(14);
			before = o.empty_us;
			exact = oracle_ack(&o, &p, now);
			got = queue_estimate_ack(&q, &w, &p, now);
			/* On the edge of a condition either answer is right: which
			 * one was taken shows in the state, and from there on the
			 * two are not comparable
			 */
			if (fabs((p.rtt_us - prop) / s_us - 2) < 0.02 ||
			    fabs(fabs(fmax(o.pipe, o.before) - prop / s_us) -
				 prop / s_us / 16 - 2) < 0.02 ||
			    fabs(now - p.newest_age_us - before) < 2 * s_us / 16 + 4 ||
			    o.close)
				break;
			/* four roundings to 1/256; each idle time adds what
			 * 1/16 and two times of whole microseconds leave
			 */
			if (fabs(got.newest_q8 / 256.0 - exact) >
			    4 / 256.0 + (step + 1) * (1 / 16.0 + 2 / s_us))
				fail_msg("%d.%d: %f, exact %f", i, step,
					 got.newest_q8 / 256.0, exact);
			steps++;
			if (draw(4) == 0) {
				queue_estimate_round(&q);
				if (++o.rounds == 2) {
					o.rounds = 0;
					o.before = o.pipe;
					o.pipe = 0;
				}
			}
		}
	}
	assert_true(steps > 20000);
}

/* ---- against a queue ---- */

#define PACKETS 16384

/* A bottleneck that takes s_b a packet, a way back of R, a sender with a window
 * that sends trains of four as ACKs of two come, and sometimes is held up
 */
struct path {
	double service_us, prop_us, misjudged;
	u32 window;
	double pause_every, pause_us;	/* of ACKs; 0: never */
};

struct errors {
	double size[PACKETS], paper[PACKETS];
	int count;
};

static int ascending(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return (d > 0) - (d < 0);
}

static double quantile(double *values, int count, double q)
{
	qsort(values, count, sizeof(*values), ascending);
	return values[(int)(q * (count - 1))];
}

static void simulate(const struct path *path, struct errors *e)
{
	static double sent_us[PACKETS], start_us[PACKETS];
	static u32 acked_before[PACKETS];
	struct queue_estimate q = {};
	struct queue_watch w = {};
	double now = 1e6, free_us = 0, blocked_until = 0, round_end = 0;
	u32 sent = 0, acked = 0;

	e->count = 0;
	while (sent + 4 <= PACKETS) {
		while (now >= blocked_until && sent - acked + 4 <= path->window &&
		       sent + 4 <= PACKETS) {
			u32 i;

			for (i = 0; i < 4; i++, sent++) {
				free_us = fmax(free_us, now);
				sent_us[sent] = now;
				start_us[sent] = free_us;
				acked_before[sent] = acked;
				free_us += path->service_us;
			}
		}
		/* to the next ACK */
		now = fmax(now, start_us[acked + 1] + path->prop_us);
		acked += 2;
		if (path->pause_every && draw((u64)path->pause_every) == 0)
			blocked_until = now + path->pause_us;
		{
			u32 newest = sent - 1, last = acked - 1, met = 0, i;
			struct control_path p = {
				.service_q10 = (u64)(path->service_us * 1000 * 1024 *
						     path->misjudged),
				.rtt_us = (u32)(now - sent_us[last]),
				.prop_us = (u32)path->prop_us,
				.outstanding = sent - acked,
				.delivered = acked - acked_before[last],
				.newest_age_us = (u32)(now - sent_us[newest]),
			};
			struct queue_backlog got =
				queue_estimate_ack(&q, &w, &p, (u32)now);

			if (now > round_end) {
				queue_estimate_round(&q);
				round_end = now + p.rtt_us;
			}
			for (i = last; i < newest; i++)
				met += start_us[i] > sent_us[newest];
			/* from the third round trip on */
			if (now > 1e6 + 4 * path->prop_us) {
				e->size[e->count] = fabs(got.newest_q8 / 256.0 - met);
				e->paper[e->count++] =
					fabs(law_1994_backlog_q8(&p) / 256.0 - met);
			}
		}
		/* an ACK later, if nothing may be sent and none is due */
		if (sent - acked < 2)
			now = fmax(now, blocked_until);
	}
}

static void it_is_the_queue(void **state)
{
	static const struct {
		struct path path;
		double median, p95;
		const char *reason;
	} rows[] = {
		{ { 100, 44000, 1.00, 448, 0, 0 }, 1, 2, "the paper's path" },
		{ { 100, 44000, 1.02, 448, 0, 0 }, 1, 2, "s_b 2 % too long" },
		{ { 100, 44000, 0.98, 448, 0, 0 }, 1, 2, "s_b 2 % too short" },
		{ { 400, 44000, 1.00, 116, 0, 0 }, 1, 2, "a quarter of it" },
		{ { 400, 44000, 0.98, 116, 0, 0 }, 1, 2, "the same, s_b too short" },
		{ { 100, 44000, 0.99, 448, 600, 1500 }, 1, 4.4,
			"held up for 1.5 ms three times in four round trips" },
		{ { 100, 44000, 1.00, 448, 600, 5000 }, 1, 4.4,
			"held up for far longer than the queue lasts" },
		{ { 100, 44000, 1.00, 448, 200, 900 }, 1, 4.4,
			"held up for less, more often" },
		{ { 1200, 1000, 1.00, 8, 0, 0 }, 1, 2, "a pipe of less than a packet" },
	};
	static struct errors e;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		double median, p95;

		seed = 1;
		simulate(&rows[i].path, &e);
		assert_true(e.count > 1000);
		median = quantile(e.size, e.count, 0.5);
		p95 = quantile(e.size, e.count, 0.95);
		if (median > rows[i].median || p95 > rows[i].p95)
			fail_msg("%s: median %.2f, p95 %.2f (eq 12: %.2f, %.2f)",
				 rows[i].reason, median, p95,
				 quantile(e.paper, e.count, 0.5),
				 quantile(e.paper, e.count, 0.95));
	}
}

static void a_changed_share_is_not_averaged_away(void **state)
{
	struct queue_estimate q = {};
	struct queue_watch w = {};
	/* 40 Mbit/s of 500-byte packets: 100 us each, 44 ms: a pipe of 440 */
	struct control_path p = {
		.service_q10 = NS(100000), .rtt_us = 44500, .prop_us = 44000,
		.outstanding = 445, .delivered = 445,
	};

	(void)state;
	assert_in_range(queue_estimate_ack(&q, &w, &p, 1000000).beyond_pipe_q8, 4 * 256, 6 * 256);
	/* ten flows joined: what was counted is the past */
	p.service_q10 = NS(1000000);
	assert_in_range(queue_estimate_ack(&q, &w, &p, 1000100).beyond_pipe_q8,
			400 * 256, 402 * 256);
	/* and a window that is being filled counts nothing */
	memset(&q, 0, sizeof(q));
	p.service_q10 = NS(100000);
	p.outstanding = 100;
	p.delivered = 10;
	assert_int_equal(queue_estimate_ack(&q, &w, &p, 1000000).beyond_pipe_q8, 0);
}

/* A pipe of 16 packets by R / s_b may be counted as one that differs by a sixteenth
 * of it and by two packets, and by no more
 */
static void what_was_counted_agrees_to_a_sixteenth_and_two_packets(void **state)
{
	static const struct {
		s32 differ_q8;
		bool counted;
		const char *reason;
	} rows[] = {
		{ 0, true, "the same" },
		{ 3 * 256, true, "above by all that is allowed" },
		{ 3 * 256 + 1, false, "above by the least that is too much" },
		{ -3 * 256, true, "below by all that is allowed" },
		{ -3 * 256 - 1, false, "below by the least that is too much" },
	};
	const struct control_path p = {
		.service_q10 = NS(1000000), .rtt_us = 16000, .prop_us = 16000,
		.outstanding = 40,
	};
	const s32 computed_q8 = 16 * 256;
	size_t i;

	(void)state;
	assert_int_equal(control_pipe_q8(&p), computed_q8);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct queue_estimate q = {
			.pipe_before_q8 = (u32)(computed_q8 + rows[i].differ_q8),
		};
		s64 pipe_q8 = 40 * 256 - queue_beyond_pipe_q8(&q, &p);

		if (pipe_q8 != computed_q8 + (rows[i].counted ? rows[i].differ_q8 : 0))
			fail_msg("%s: a pipe of %d/256", rows[i].reason, (int)pipe_q8);
	}
}

static void extremes_stay_in_range(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 200000; i++) {
		struct queue_estimate q;
		struct queue_watch w;
		struct control_path p = {
			.service_q10 = draw_scale(47), .rtt_us = (u32)draw_scale(27),
			.prop_us = (u32)draw_scale(27),
			.outstanding = (u32)draw_scale(32),
			.delivered = (u32)draw_scale(32),
			.newest_age_us = (u32)draw_scale(32),
		};
		struct queue_backlog got;
		size_t b;

		for (b = 0; b < sizeof(q); b++)
			((u8 *)&q)[b] = (u8)draw(256);
		for (b = 0; b < sizeof(w); b++)
			((u8 *)&w)[b] = (u8)draw(256);
		w.started = draw(2);
		got = queue_estimate_ack(&q, &w, &p, (u32)draw_scale(32));
		assert_true(got.newest_q8 <= CONTROL_BACKLOG_MAX * 256U);
		assert_true(got.newest_q8 / 256 <= p.outstanding);
		assert_true(got.beyond_pipe_q8 <= CONTROL_BACKLOG_MAX * 256U);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_step_is_the_equation),
		cmocka_unit_test(it_is_the_queue),
		cmocka_unit_test(a_changed_share_is_not_averaged_away),
		cmocka_unit_test(what_was_counted_agrees_to_a_sixteenth_and_two_packets),
		cmocka_unit_test(extremes_stay_in_range),
	};

	return cmocka_run_group_tests_name("queue_estimate", tests, NULL, NULL);
}
