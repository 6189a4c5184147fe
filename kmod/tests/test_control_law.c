// SPDX-License-Identifier: GPL-2.0
/*
 * control_law.h against the same equations in floating point, and the closed
 * loop against a bottleneck that serves one packet every s_b.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "control_law.h"
#include "draw.h"
#include "law_1994.h"
#include "queue_ack.h"

#define STEP (CONTROL_PROBE_STEP * CONTROL_PACKET_Q8)
#define NS(x) ((u64)(x) << CONTROL_SERVICE_SHIFT)

static double oracle_rate(const struct control_path *p, double setpoint,
			  double mss)
{
	double s_b = p->service_q10 / 1024.0 / 1e9;	/* s */
	double n_b = p->backlog_q8 / 256.0;
	double rtt = p->prop_us / 1e6 + n_b * s_b;
	double j = rtt * (setpoint > n_b ? 0.1875 : 26 / 256.0);
	double rate = 1 / s_b + (setpoint - n_b) / j;

	if (setpoint <= 0 || (n_b == 0 && p->outstanding <
			      floor(fmin(p->prop_us, CONTROL_RTT_MAX_US) * 256 /
				    (s_b * 1e6)) / 256))
		rate = 1 / s_b;
	return fmax(fmin(fmax(rate, 0.5 / s_b), 2 / s_b) * mss, 1);
}

static void rate_is_the_equation(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 200000; i++) {
		struct control_path p = {
			.service_q10 = NS(7) + draw_scale(46),
			.prop_us = (u32)draw_scale(26),
			.backlog_q8 = (u32)draw_scale(24) - 1,
			.outstanding = (u32)draw_scale(20),
		};
		u32 mss = 36 + (u32)draw_scale(15);
		s32 setpoint = (s32)draw_scale(18) * (draw(4) ? 1 : -(s32)draw(2));
		double exact = oracle_rate(&p, setpoint / 256.0, mss);
		double got = (double)control_rate_bytes_ps(&p, setpoint, mss);
		/* J in service times, which is kept to 2^-16 of one */
		double j = (p.prop_us * 1e3 / (p.service_q10 / 1024.0) +
			    p.backlog_q8 / 256.0) * 26 / 256;
		double bound = 3 + exact * (1e-6 + 1 / 32768.0 / j);

		if (fabs(got - exact) > bound)
			fail_msg("%d: %f, exact %f (bound %f)", i, got, exact, bound);
	}
}

static void window_is_what_the_queue_lacks(void **state)
{
	/* 40 Mbit/s of 500-byte packets: 100 us each, 44 ms: a pipe of 440 */
	static const struct {
		struct control_path path;
		double setpoint;
		u32 train, window;
		const char *reason;
	} rows[] = {
		{ { NS(100000), 44500, 44000, 445, 445, 5 * 256, 0, 0 }, 5, 4, 445,
			"at the setpoint: no room for a train" },
		{ { NS(100000), 44000, 44000, 440, 440, 0, 0, 0 }, 5, 4, 444,
			"queue empty: room for one train" },
		{ { NS(100000), 54000, 44000, 540, 540, 100 * 256, 0, 0 }, 5, 4, 540,
			"a hundred in the queue: nothing more" },
		{ { NS(1000000), 44000, 44000, 440, 440, 396 * 256, 0, 0 }, 5, 4, 440,
			"a tenth of the share is left: nothing more" },
		{ { NS(100000), 44000, 44000, 900, 440, 0, 0, 0 }, 5, 4, 513,
			"nonsense: the cap" },
		{ { NS(100000), 44000, 44000, 100, 10, 0, 0, 0 }, 5, 4, 444,
			"a pipe to be filled: all of it, in whole trains" },
		{ { NS(100000), 44000, 44000, 440, 440, 0, 0, 0 }, -5, 4, 380,
			"draining: an eighth of the pipe less, and five" },
		{ { NS(100000), 1, 1, 0, 0, 0, 0, 0 }, -5, 4, 2,
			"draining: what makes a receiver send an ACK" },
		{ { NS(1000000), 20000, 1000, 4, 4, 4 * 256, 0, 0 }, 3, 4, 4,
			"no room: what is in flight" },
		{ { NS(1000000), 2000, 1000, 0, 4, 0, 0, 0 }, 3, 4, 8,
			"nothing in flight: two trains, since half a window is one skb" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 window = control_window(&rows[i].path,
					    (s32)(rows[i].setpoint * 256),
					    rows[i].train);

		if (window != rows[i].window)
			fail_msg("%s: %u", rows[i].reason, window);
	}
}

/* Packets in the pipe, less by a 256th at most, and more by 2^-40 for each of the
 * 10^8 microseconds that count
 */
#define PIPE_LESS (1 / 256.0)
#define PIPE_MORE 1e-4

static u32 draw_rtt_us(void)
{
	u64 drawn = draw_scale(27);

	return (u32)min_t(u64, drawn, CONTROL_RTT_MAX_US);
}

static double oracle_pipe(const struct control_path *p)
{
	return p->prop_us / (p->service_q10 / 1024.0 / 1000);
}

/* The window with so much room for packets, and an exact pipe */
static double oracle_window(const struct control_path *p, double setpoint,
			    double pipe, double room, u32 train)
{
	double cap = floor(pipe * 9 / 8 + 2 * (setpoint + train));
	double window;

	if (room < train)
		return p->outstanding ? fmin(p->outstanding, S32_MAX) : 2.0 * train;
	window = p->outstanding + train * floor(room / train);
	return fmin(fmax(fmin(cap, window), 2.0 * train), S32_MAX);
}

static void window_is_the_equation(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 400000; i++) {
		struct control_path p = {
			.service_q10 = draw_scale(47),
			.rtt_us = CONTROL_RTT_MAX_US,
			.prop_us = draw_rtt_us(),
			.backlog_q8 = draw(3) ? (u32)draw_scale(24) - 1 : 0,
			.outstanding = (u32)draw_scale(draw(8) ? 21 : 32) - 1,
		};
		s32 setpoint_q8 = (s32)draw_scale(20) * (draw(4) ? 1 : -(s32)draw(2));
		double setpoint = setpoint_q8 / 256.0, pipe = oracle_pipe(&p);
		u32 train = (u32)draw_scale(8) - (draw(2) ? 1 : 0) ?: 1;
		double got = control_window(&p, setpoint_q8, train);
		double less = PIPE_LESS + pipe * 1e-15, more = PIPE_MORE + pipe * 1e-15;
		double low, high, room;

		if (setpoint_q8 <= 0) {
			low = pipe - fmin(-setpoint, pipe / 4) - pipe / 8;
			high = fmin(fmax(low + more + 2 / 256.0, 2), S32_MAX);
			low = fmin(fmax(low - less - 1, 2), S32_MAX);
			if (got < low || got > high)
				fail_msg("%d: drains to %.0f, exact %f", i, got, high);
			continue;
		}
		/* whole trains: a hair's breadth of room can make one more, or all */
		room = setpoint - p.backlog_q8 / 256.0 + train * 0.625;
		low = room + (p.backlog_q8 ? 0 : fmax(pipe - less - p.outstanding, 0));
		high = room + (p.backlog_q8 ? 0 : fmax(pipe + more - p.outstanding, 0));
		low = oracle_window(&p, setpoint, pipe, low - 1 / 256.0, train);
		high = oracle_window(&p, setpoint, pipe, high, train);
		if (fabs(got - low) > 1 && fabs(got - high) > 1)
			fail_msg("%d: %.0f, exact %.0f or %.0f", i, got, low, high);
	}
}

/* floor(exact) in double is a unit off where the exact value is a whole number */
#define assert_floor(got, exact, i)						\
	do {									\
		double got_ = (double)(got), exact_ = (exact);			\
		if (got_ > exact_ * (1 + 1e-15) ||				\
		    got_ < exact_ * (1 - 1e-15) - 1)				\
			fail_msg("%d, %s: %.0f, exact %f", i, #got, got_, exact_); \
	} while (0)

static void quotients_are_rounded_down(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 200000; i++) {
		struct control_path p = {
			.service_q10 = draw_scale(47),
			.prop_us = draw_rtt_us(),
			.outstanding = (u32)draw_scale(32) - 1,
		};
		u32 mss = (u32)draw_scale(16), packets = (u32)draw_scale(20);
		u64 bound_ns = draw_scale(46), known = draw_scale(44) - 1;
		double service_ns = p.service_q10 / 1024.0, pipe = oracle_pipe(&p);
		double exact;

		assert_floor(control_share_bytes_ps(&p, mss), mss * 1e9 / service_ns, i);
		assert_floor(control_window_rate_bytes_ps(packets, mss, p.prop_us),
			     (double)packets * mss * 1e6 / p.prop_us, i);
		assert_floor(control_bound_q8(bound_ns, p.service_q10),
			     fmin(bound_ns * 256.0 / service_ns,
				  CONTROL_SETPOINT_MAX_Q8), i);
		/* and one up: whole bytes, and of those whole packets */
		exact = fmin(known * (p.prop_us / 1e6) / mss, S32_MAX);
		assert_in_range(control_first_window(known, mss, p.prop_us),
				(u64)fmax(exact * (1 - 1e-15) - 1.0 / mss, 0),
				(u64)ceil(exact * (1 + 1e-15)));
		exact = control_pipe_q8(&p) / 256.0;
		if (exact < pipe * (1 - 1e-15) - PIPE_LESS ||
		    exact > pipe * (1 + 1e-15) + PIPE_MORE)
			fail_msg("%d: a pipe of %f, exact %f", i, exact, pipe);
		/* eq (12), with the pipe's error the other way round */
		pipe = p.outstanding - pipe;
		exact = law_1994_backlog_q8(&p) / 256.0;
		if (exact < fmin(fmax(pipe - PIPE_MORE - fabs(pipe) * 1e-15, 0),
				 CONTROL_BACKLOG_MAX) ||
		    exact > fmin(fmax(pipe + PIPE_LESS + fabs(pipe) * 1e-15, 0),
				 CONTROL_BACKLOG_MAX))
			fail_msg("%d: a queue of %f, exact %f", i, exact, pipe);
	}
}

static void rate_is_never_zero_and_never_wraps(void **state)
{
	static const u64 services[] = { 1, NS(7), NS(100000), CONTROL_SERVICE_MAX_Q10 };
	static const u32 times[] = { 1, 1000, CONTROL_RTT_MAX_US };
	static const u32 backlogs[] = { 0, 1, 256, CONTROL_BACKLOG_MAX * 256U };
	static const s32 setpoints[] = { -(s32)CONTROL_SETPOINT_MAX_Q8, -1, 0, 512,
		CONTROL_SETPOINT_MAX_Q8 };
	static const u32 sizes[] = { 0, 36, 1448, U32_MAX };
	static const u32 trains[] = { 1, 4, 255 };
	size_t a, b, c, d, e, f;

	(void)state;
	for (a = 0; a < ARRAY_SIZE(services); a++)
	for (b = 0; b < ARRAY_SIZE(times); b++)
	for (c = 0; c < ARRAY_SIZE(backlogs); c++)
	for (d = 0; d < ARRAY_SIZE(setpoints); d++)
	for (e = 0; e < ARRAY_SIZE(sizes); e++)
	for (f = 0; f < ARRAY_SIZE(trains); f++) {
		const struct control_path p = {
			.service_q10 = services[a], .rtt_us = times[b],
			.prop_us = times[b], .backlog_q8 = backlogs[c],
			.outstanding = U32_MAX, .delivered = U32_MAX,
		};
		u64 rate = control_rate_bytes_ps(&p, setpoints[d], sizes[e]);

		assert_in_range(rate, 1, 1ULL << 62);
		/* of nothing, the least that is a rate */
		if (!sizes[e])
			assert_int_equal(rate, 1);
		assert_in_range(control_window(&p, setpoints[d], trains[f]),
				CONTROL_DRAIN_LEAST, S32_MAX);
	}
}

/* An eighth of what is outstanding may be lost, any part of it, before the window shrinks to
 * what leaves the network
 */
static void losses_up_to_an_eighth_leave_the_window_to_the_law(void **state)
{
	u32 mending;

	(void)state;
	for (mending = 0; mending <= 80; mending++)
		assert_int_equal(control_window_recovering(80, 100, 60, 2, true, mending, 8),
				 mending <= 10 ? 100 : 82);
}

/* Windows that no sender has must not come out as a low rate */
static void a_larger_window_never_has_a_lower_rate(void **state)
{
	static const u32 times[] = { 1, 1000, CONTROL_RTT_MAX_US };
	size_t i;
	int bits;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(times); i++) {
		u64 last = 0;

		for (bits = 0; bits <= 32; bits++) {
			u32 packets = (u32)((1ULL << bits) - 1);
			u64 rate = control_window_rate_bytes_ps(packets, CONTROL_MSS_MAX,
								times[i]);

			assert_true(rate >= last);
			last = rate;
		}
	}
}

static void setpoint_probes_as_in_table_2(void **state)
{
	struct control_setpoint s;
	int round;

	(void)state;
	control_setpoint_reset(&s, 5 * 256);
	for (round = 0; round < 20; round++)
		control_setpoint_round(&s, STEP, CONTROL_SETPOINT_MAX_Q8);
	/* two packets every second round trip: one a round trip */
	assert_int_equal(s.target_q8, 25 * 256);
	control_setpoint_congestion(&s);
	control_setpoint_congestion(&s);
	assert_int_equal(s.target_q8, 25 * 192);	/* once in a round trip */
	for (round = 0; round < 100; round++) {
		control_setpoint_round(&s, STEP, CONTROL_SETPOINT_MAX_Q8);
		control_setpoint_congestion(&s);
	}
	assert_int_equal(s.target_q8, CONTROL_SETPOINT_MIN_Q8);
	for (round = 0; round < 100000; round++)
		control_setpoint_round(&s, STEP, CONTROL_SETPOINT_MAX_Q8);
	assert_int_equal(s.target_q8, CONTROL_SETPOINT_MAX_Q8);
}

/* After a timeout nothing of before counts: a whole pair of round trips to the first step
 * up, and a loss that cuts
 */
static void a_reset_setpoint_knows_of_no_round_trip_and_no_cut(void **state)
{
	int before;

	(void)state;
	for (before = 0; before < 6; before++) {
		struct control_setpoint s = { .target_q8 = 9 * 256 };
		int round;

		for (round = 0; round < before / 2; round++)
			control_setpoint_round(&s, STEP, CONTROL_SETPOINT_MAX_Q8);
		if (before % 2)
			control_setpoint_congestion(&s);
		control_setpoint_reset(&s, 8 * 256);
		assert_int_equal(s.target_q8, 8 * 256);
		control_setpoint_round(&s, STEP, CONTROL_SETPOINT_MAX_Q8);
		assert_int_equal(s.target_q8, 8 * 256);
		control_setpoint_round(&s, STEP, CONTROL_SETPOINT_MAX_Q8);
		assert_int_equal(s.target_q8, 10 * 256);
		control_setpoint_congestion(&s);
		control_setpoint_reset(&s, 8 * 256);
		control_setpoint_congestion(&s);
		assert_int_equal(s.target_q8, 6 * 256);
	}
}

/* The rest of the round trip in which it was cut shows nothing of the new setpoint */
static void a_cut_is_followed_by_two_whole_round_trips(void **state)
{
	int before;

	(void)state;
	for (before = 0; before < 2; before++) {
		struct control_setpoint s;
		int round;

		control_setpoint_reset(&s, 8 * 256);
		for (round = 0; round < before; round++)
			control_setpoint_round(&s, STEP, CONTROL_SETPOINT_MAX_Q8);
		control_setpoint_congestion(&s);
		/* that of the cut, and one */
		for (round = 0; round < 2; round++) {
			control_setpoint_round(&s, STEP, CONTROL_SETPOINT_MAX_Q8);
			assert_int_equal(s.target_q8, 6 * 256);
		}
		control_setpoint_round(&s, STEP, CONTROL_SETPOINT_MAX_Q8);
		assert_int_equal(s.target_q8, 8 * 256);
	}
}

static void a_fixed_setpoint_recovers_from_a_cut_and_no_further(void **state)
{
	struct control_setpoint s;
	int round;

	(void)state;
	control_setpoint_reset(&s, 5 * 256);
	control_setpoint_congestion(&s);
	assert_int_equal(s.target_q8, 5 * 192);
	for (round = 0; round < 20; round++)
		control_setpoint_round(&s, STEP, 5 * 256);
	assert_int_equal(s.target_q8, 5 * 256);
	/* a knob that was lowered reaches a running flow */
	control_setpoint_round(&s, STEP, 3 * 256);
	control_setpoint_round(&s, STEP, 3 * 256);
	assert_int_equal(s.target_q8, 3 * 256);
}

static void setpoint_is_bounded_in_time(void **state)
{
	static const struct {
		u64 service_ns;
		u32 train, packets_q8;
		const char *reason;
	} rows[] = {
		{ 100000, 4, 5 * 256, "five of 0.1 ms: the setpoint itself" },
		{ 1250000, 4, 4 * 256, "four of 1.25 ms are the 5 ms" },
		{ 12112000, 4, 3 * 256, "1 Mbit/s: half a train and one" },
		{ 190000000, 1, 384, "64 kbit/s, single packets" },
	};
	struct control_setpoint s;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 bound = control_bound_q8(5000000, NS(rows[i].service_ns));

		control_setpoint_reset(&s, 5 * 256);
		if (control_setpoint_q8(&s, 5 * 256, bound, rows[i].train) !=
		    rows[i].packets_q8)
			fail_msg("%s", rows[i].reason);
		/* and a mark lowers it wherever it stands */
		control_setpoint_congestion(&s);
		if (control_setpoint_q8(&s, 5 * 256, bound, rows[i].train) >
		    rows[i].packets_q8 * 15 / 16)
			fail_msg("a cut changes nothing: %s", rows[i].reason);
	}
	/* the longest that the knob can ask for does not wrap */
	assert_int_equal(control_bound_q8(10000000000ULL, NS(100000)),
			 CONTROL_SETPOINT_MAX_Q8);
	assert_int_equal(control_bound_q8(10000000000ULL, NS(100000000)), 100 * 256);
}

static void first_window_is_the_known_rate_times_the_round_trip(void **state)
{
	static const struct {
		u64 rate_bytes_ps;
		u32 mss, rtt_us, window;
		const char *reason;
	} rows[] = {
		{ 0, 1448, 44000, 0, "no rate is known" },
		{ 5000000, 1448, 0, 0, "no round trip is known" },
		{ 5000000, 500, 44000, 440, "the paper's path" },
		{ 5000000, 500, 44001, 441, "rounded up" },
		{ 12500000000000ULL, 1, CONTROL_RTT_MAX_US, S32_MAX, "100 Tbit/s" },
		{ 1000, 0, 1000000, 1000, "no segment is smaller than a byte" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (control_first_window(rows[i].rate_bytes_ps, rows[i].mss,
					 rows[i].rtt_us) != rows[i].window)
			fail_msg("%s", rows[i].reason);
}

/*
 * A sender, a path of R and a bottleneck that takes s_b a packet, in steps of a
 * tenth of s_b; trains of four. The law must bring the queue to the setpoint
 * from empty and from far above, and hold it there although s_b is misjudged.
 */
#define PIPE_MAX 4096

struct loop {
	double prop_us, service_us, misjudged;
	double now_us, credit, free_us;
	u32 sent, acked;
	struct queue_estimate queue;
	struct queue_watch watch;
	double round_end_us;
	double sent_us[PIPE_MAX], done_us[PIPE_MAX];
	u32 acked_when_sent[PIPE_MAX];
};

/* Packets waiting behind the one in service, whose time is part of R */
static double loop_backlog(const struct loop *l)
{
	return fmax((l->free_us - l->now_us) / l->service_us - 1, 0);
}

/* Runs for a time with a setpoint; returns the mean queue of the last half */
static double loop_run(struct loop *l, double setpoint, double time_us)
{
	double end_us = l->now_us + time_us, sum = 0, rate = 0;
	u32 count = 0, window = 10;

	for (; l->now_us < end_us; l->now_us += l->service_us / 10) {
		while (l->acked < l->sent &&
		       l->done_us[l->acked % PIPE_MAX] + l->prop_us <= l->now_us) {
			u32 i = l->acked++ % PIPE_MAX;
			struct control_path p = {
				.service_q10 = (u64)(l->service_us * 1000 * 1024 *
						     l->misjudged),
				.rtt_us = (u32)(l->now_us - l->sent_us[i]),
				.prop_us = (u32)(l->prop_us + l->service_us),
				.outstanding = l->sent - l->acked,
				.delivered = l->acked - l->acked_when_sent[i],
			};

			p.newest_age_us = (u32)(l->now_us -
						l->sent_us[(l->sent - 1) % PIPE_MAX]);
			if (l->now_us > l->round_end_us) {
				queue_estimate_round(&l->queue);
				l->round_end_us = l->now_us + p.rtt_us;
			}
			p.backlog_q8 = queue_estimate_ack(&l->queue, &l->watch, &p,
							  (u32)l->now_us).beyond_pipe_q8;
			rate = control_rate_bytes_ps(&p, (s32)(setpoint * 256),
						     1000) / 1e9;	/* packets per us */
			window = control_window(&p, (s32)(setpoint * 256), 4);
		}
		/* like the stack, make up for a late timer */
		l->credit = fmin(l->credit + rate * l->service_us / 10, 6);
		while (l->sent - l->acked + 4 <= window &&
		       (l->credit >= 4 || l->sent < 10)) {
			int k;

			l->credit -= 4;
			for (k = 0; k < 4; k++) {
				u32 i = l->sent++ % PIPE_MAX;

				l->free_us = fmax(l->free_us, l->now_us) + l->service_us;
				l->sent_us[i] = l->now_us;
				l->done_us[i] = l->free_us;
				l->acked_when_sent[i] = l->acked;
			}
		}
		if (l->now_us > end_us - time_us / 2) {
			sum += loop_backlog(l);
			count++;
		}
	}
	return sum / count;
}

static void the_loop_holds_the_setpoint(void **state)
{
	static const struct {
		double prop_us, service_us, misjudged, tolerance;
		const char *reason;
	} rows[] = {
		{ 44000, 100, 1.0, 2, "the paper's path: a pipe of 440" },
		/* eq (12) alone would be off by e * R / s_b: 9 packets */
		{ 44000, 100, 1.02, 3, "s_b 2 % too long" },
		{ 44000, 100, 0.98, 3, "s_b 2 % too short" },
		{ 20000, 1200, 1.0, 2.5, "a quarter of 40 Mbit/s, full packets" },
		{ 160000, 1200, 1.0, 2.5, "the same, far away" },
		{ 1000, 1200, 1.0, 2.5, "pipe of less than a packet" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct loop l = { .prop_us = rows[i].prop_us,
			.service_us = rows[i].service_us,
			.misjudged = rows[i].misjudged };
		double round = rows[i].prop_us + 5 * rows[i].service_us;
		double mean = loop_run(&l, 5, 20 * round);

		if (fabs(mean - 5) > rows[i].tolerance)
			fail_msg("%s: holds %.2f packets", rows[i].reason, mean);
		/* from far above: the error decays in a few round trips */
		loop_run(&l, 200, 20 * round);
		loop_run(&l, 5, 10 * round + 200 * rows[i].service_us);
		mean = loop_run(&l, 5, 10 * round);
		if (fabs(mean - 5) > rows[i].tolerance)
			fail_msg("%s: comes back to %.2f", rows[i].reason, mean);
	}
}

static void a_window_is_guarded_by_deliveries_after_an_overflow(void **state)
{
	static const struct {
		u32 outstanding, window, before, acked, mending, least;
		bool lost;
		u32 expected;
		const char *reason;
	} rows[] = {
		{ 100, 430, 420, 2, 50, 8, true, 102, "a loss: one goes out for each delivered" },
		{ 100, 430, 102, 2, 50, 8, false, 104, "after the last: as in slow start" },
		{ 100, 430, 420, 2, 13, 8, true, 102, "more than an eighth" },
		{ 100, 430, 420, 2, 12, 8, true, 430, "an eighth: the losses of a noisy link" },
		{ 100, 90, 102, 2, 50, 8, true, 90, "the law asks for less" },
		{ 0, 430, 1, 0, 50, 8, true, 8, "all is lost: the least" },
		{ 1, 430, 1, 1, 50, 2, false, 2, "after a timeout: as in slow start" },
		{ 100, 6, 102, 2, 50, 8, true, 6, "the law asks for less than the least" },
		{ U32_MAX, U32_MAX, U32_MAX, U32_MAX, U32_MAX, 8, true, U32_MAX, "no wrap" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 got = control_window_recovering(rows[i].outstanding, rows[i].window,
						    rows[i].before, rows[i].acked,
						    rows[i].lost, rows[i].mending,
						    rows[i].least);

		if (got != rows[i].expected)
			fail_msg("%s: %u, not %u", rows[i].reason, got,
				 rows[i].expected);
	}
}

static void a_timeout_guards_the_window_until_it_has_grown(void **state)
{
	static const struct {
		struct control_guard guard;
		bool in_loss;
		u32 expected;
		bool stays;
		const char *reason;
	} rows[] = {
		{ { .in_flight = 100, .window = 430, .before = 420, .acked = 2, .mending = 50,
		    .train = 4, .lost = true }, false, 102, false, "a loss" },
		{ { .in_flight = 100, .window = 430, .before = 420, .acked = 2, .mending = 12,
		    .train = 4, .lost = true }, false, 430, false, "a noisy link" },
		{ { .in_flight = 0, .window = 430, .before = 1, .acked = 0, .mending = 50,
		    .train = 64, .lost = true }, false, 10, false, "all is lost" },
		{ { .in_flight = 1, .window = 430, .before = 1, .acked = 1, .train = 64,
		    .timed_out = true }, true, 2, true, "a timeout, and nothing to mend" },
		{ { .in_flight = 1, .window = 430, .before = 8, .acked = 400, .train = 64,
		    .timed_out = true }, false, 16, true, "an ACK of all: one doubling" },
		{ { .in_flight = 1, .window = 430, .before = 400, .acked = 30, .train = 64,
		    .timed_out = true }, false, 430, false, "it has grown" },
		{ { .in_flight = 1, .window = 2, .before = 2, .acked = 1, .train = 64,
		    .timed_out = true }, true, 2, true, "the law asks for little in mid-loss" },
		{ { .in_flight = 1, .window = 2, .before = 2, .acked = 1, .train = 64,
		    .timed_out = true }, false, 2, false, "and after it" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 got = control_window_guarded(&rows[i].guard);

		if (got != rows[i].expected ||
		    control_guard_stays(&rows[i].guard, got, rows[i].in_loss) != rows[i].stays)
			fail_msg("%s: %u, not %u", rows[i].reason, got, rows[i].expected);
	}
}

static void the_flows_own_queue_is_its_setpoint_and_a_train(void **state)
{
	const struct control_setpoint s = { .target_q8 = 5 * CONTROL_PACKET_Q8 + 255 };

	(void)state;
	assert_int_equal(control_own_queue(&s, 4), 9);
}

static void however_little_comes_back_a_first_flight_is_the_most(void **state)
{
	u32 train;

	(void)state;
	for (train = 0; train <= 255; train++) {
		assert_int_equal(control_window_least(true, train), 2);
		assert_int_equal(control_window_least(false, train),
				 train < 1 ? 2 : train > 5 ? 10 : 2 * train);
	}
}

static void packets_of_two_sizes_are_counted_in_bytes(void **state)
{
	(void)state;
	assert_int_equal(control_full_packets(62, 62 * 1448, 62, 8948), 10);
	assert_int_equal(control_full_packets(10, 10 * 8948, 10, 1448), 61);
	/* half of them are lost */
	assert_int_equal(control_full_packets(5, 10 * 8948, 10, 1448), 30);
	assert_int_equal(control_full_packets(5, 0, 0, 0), 0);
	assert_int_equal(control_full_packets(6, 70, 2, 0), control_full_packets(6, 70, 2, 1));
	assert_int_equal(control_full_packets(6, 70, 2, 0), 210);
	assert_int_equal(control_full_packets(9, 65535, 1, 65536), 9);
	assert_int_equal(control_full_packets(U32_MAX, U32_MAX, 1, 1), S32_MAX);

	/* of ten packets of room there is room for one and a half */
	assert_int_equal(control_window_resized(30, 20, 1448, 8948), 21);
	assert_int_equal(control_window_resized(30, 20, 8948, 1448), 81);
	assert_int_equal(control_window_resized(20, 30, 1448, 8948), 20);
	assert_int_equal(control_window_resized(1, 0, 1448, 8948), 1);
	assert_int_equal(control_window_resized(U32_MAX, 0, U16_MAX, 0), S32_MAX);

	assert_int_equal(control_window_mixed(14, 10, 62), 66);
	assert_int_equal(control_window_mixed(70, 62, 10), 18);
	assert_int_equal(control_window_mixed(20, 62, 10), CONTROL_DRAIN_LEAST);
	assert_int_equal(control_window_mixed(S32_MAX, 0, U32_MAX), S32_MAX);
}

static void small_packets_are_most_of_what_is_less_than_half_as_large(void **state)
{
	(void)state;
	/* ten of 1448 bytes are a packet and a half of 8948 */
	assert_true(control_sends_small(control_full_packets(10, 10 * 1448, 10, 8948), 10));
	assert_false(control_sends_small(control_full_packets(10, 10 * 8948, 10, 1448), 10));
	assert_true(control_sends_small(4, 9));
	assert_false(control_sends_small(5, 9));
	assert_false(control_sends_small(5, 10));
	assert_false(control_sends_small(0, 0));
	assert_true(control_sends_small(0, 1));
	assert_false(control_sends_small(S32_MAX, U32_MAX - 1));
	assert_false(control_sends_small(U32_MAX, U32_MAX));
}

static void sizes_within_an_eighth_count_alike(void **state)
{
	static const struct {
		u16 one, other;
		bool agree;
	} rows[] = {
		{ 1448, 1448, true }, { 1448, 1408, true }, { 1448, 1288, true },
		{ 1448, 1287, false }, { 8948, 1448, false }, { 320, 360, true }, { 320, 361, false },
		{ 88, 48, false }, { 1, 2, false }, { 0, 0, true }, { 0, 1, false },
		{ U16_MAX, U16_MAX, true }, { U16_MAX, 0, false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(control_sizes_agree(rows[i].one, rows[i].other), rows[i].agree);
		assert_int_equal(control_sizes_agree(rows[i].other, rows[i].one), rows[i].agree);
	}
}

static void the_window_of_small_packets_grows_as_in_a_slow_start(void **state)
{
	(void)state;
	assert_int_equal(control_window_small(66, 10, 2, false), 12);
	assert_int_equal(control_window_small(66, 10, 2, true), 10);
	assert_int_equal(control_window_small(66, 66, 2, false), 66);
	assert_int_equal(control_window_small(8, 10, 2, true), 8);
	/* less is asked for: at once */
	assert_int_equal(control_window_small(8, 10, 2, false), 8);
	assert_int_equal(control_window_small(U32_MAX, U32_MAX, U32_MAX, false), U32_MAX);
}

static void a_gain_that_is_too_large_is_the_largest(void **state)
{
	(void)state;
	assert_int_equal(control_gain_q8(3, 2), 384);
	assert_int_equal(control_gain_q8(0, 0), 0);
	assert_int_equal(control_gain_q8((1ULL << 24) - 1, 1), U32_MAX - 255);
	assert_int_equal(control_gain_q8(1ULL << 24, 1), U32_MAX);
	assert_int_equal(control_gain_q8(U64_MAX, 1000), U32_MAX);
	assert_int_equal(control_gain_q8(1ULL << 56, 1ULL << 56), 255);
	assert_int_equal(control_gain_q8(1ULL << 55, 1ULL << 55), 256);
}

/* numbers that no knob allows and no ACK shows divide by nothing and overflow nowhere */
static void any_numbers_are_held_within_bounds(void **state)
{
	static const u32 numbers[] = { 0, 1, 65535, 1U << 31, U32_MAX };
	struct control_setpoint s = { 0 };
	unsigned int i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		for (k = 0; k < ARRAY_SIZE(numbers); k++) {
			assert_true(control_first_window(U64_MAX, numbers[i], numbers[k]) <=
				    S32_MAX);
			assert_true(control_window_rate_bytes_ps(numbers[i], numbers[k], 0) <
				    1ULL << 60);
			control_setpoint_reset(&s, numbers[i]);
			assert_in_range(s.target_q8, CONTROL_SETPOINT_MIN_Q8,
					CONTROL_SETPOINT_MAX_Q8);
			control_setpoint_round(&s, numbers[k], U32_MAX);
			control_setpoint_round(&s, numbers[k], U32_MAX);
			assert_in_range(s.target_q8, CONTROL_SETPOINT_MIN_Q8,
					CONTROL_SETPOINT_MAX_Q8);
		}
	assert_int_equal(control_window_rate_bytes_ps(1, 1000, 0), 1000000000);
	assert_int_equal(control_window_rate_bytes_ps(U32_MAX, 1000, 1000),
			 control_window_rate_bytes_ps(16 * CONTROL_BACKLOG_MAX, 1000, 1000));
	assert_int_equal(control_first_window(U64_MAX, 1, USEC_PER_SEC), S32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_of_two_sizes_are_counted_in_bytes),
		cmocka_unit_test(small_packets_are_most_of_what_is_less_than_half_as_large),
		cmocka_unit_test(sizes_within_an_eighth_count_alike),
		cmocka_unit_test(the_window_of_small_packets_grows_as_in_a_slow_start),
		cmocka_unit_test(a_timeout_guards_the_window_until_it_has_grown),
		cmocka_unit_test(the_flows_own_queue_is_its_setpoint_and_a_train),
		cmocka_unit_test(however_little_comes_back_a_first_flight_is_the_most),
		cmocka_unit_test(a_gain_that_is_too_large_is_the_largest),
		cmocka_unit_test(rate_is_the_equation),
		cmocka_unit_test(window_is_what_the_queue_lacks),
		cmocka_unit_test(window_is_the_equation),
		cmocka_unit_test(quotients_are_rounded_down),
		cmocka_unit_test(rate_is_never_zero_and_never_wraps),
		cmocka_unit_test(losses_up_to_an_eighth_leave_the_window_to_the_law),
		cmocka_unit_test(a_larger_window_never_has_a_lower_rate),
		cmocka_unit_test(setpoint_probes_as_in_table_2),
		cmocka_unit_test(a_reset_setpoint_knows_of_no_round_trip_and_no_cut),
		cmocka_unit_test(a_cut_is_followed_by_two_whole_round_trips),
		cmocka_unit_test(a_fixed_setpoint_recovers_from_a_cut_and_no_further),
		cmocka_unit_test(setpoint_is_bounded_in_time),
		cmocka_unit_test(first_window_is_the_known_rate_times_the_round_trip),
		cmocka_unit_test(the_loop_holds_the_setpoint),
		cmocka_unit_test(a_window_is_guarded_by_deliveries_after_an_overflow),
		cmocka_unit_test(any_numbers_are_held_within_bounds),
	};

	return cmocka_run_group_tests_name("control_law", tests, NULL, NULL);
}
