// SPDX-License-Identifier: GPL-2.0
/*
 * cubic_window.h against RFC 9438 in floating point, and against tcp_cubic's arithmetic
 * under the same ACKs and losses.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "cubic_window.h"
#include "draw.h"

#define SECOND_US 1000000U
#define NO_SSTHRESH U32_MAX

/* In congestion avoidance */
static u32 acked(struct cubic_window *c, u32 window, u32 *count, u32 packets, u32 now_us,
		 u32 rtt_us)
{
	const struct cubic_window_acked it = { 0, packets, now_us, rtt_us };

	return cubic_window_ack(c, window, count, &it);
}

/* ---- RFC 9438 in floating point ---- */

#define ORACLE_C 0.4
#define ORACLE_BETA 0.7
#define ORACLE_ALPHA (3 * (1 - ORACLE_BETA) / (1 + ORACLE_BETA))
/* C is larger by 1/1024, and K shorter by a third of that: of the distance from the maximum, at
 * the epoch or at the time, whichever is larger
 */
#define CURVE_OFF 0.002
/* whole packets, at the epoch and at the time, and what the square loses in a second */
#define CURVE_PACKETS 2
#define CURVE_PER_S 0.0018

static double oracle_k_s(double max, double window)
{
	return max > window ? cbrt((max - window) / ORACLE_C) : 0;
}

static void the_curve_is_the_equation(void **state)
{
	unsigned int i, below = 0, above = 0;

	(void)state;
	for (i = 0; i < 500000; i++) {
		u32 max = (u32)draw_scale(31), now_us = (u32)draw(1ULL << 32);
		u32 window = draw(10) ? (u32)(max * (0.5 + (double)draw(512) / 1024)) :
					(u32)draw_scale(31);
		u32 time_us = (u32)draw_scale(draw(2) ? 31 : 28);
		double k_s, off_s, exact, got, bound;
		struct cubic_window c = { .max = max, .lost = 1 };

		window = clamp_t(u32, window, 1, CUBIC_WINDOW_MAX);
		cubic_window_begin(&c, window, now_us);
		max = max_t(u32, max, window);
		k_s = oracle_k_s(max, window);
		off_s = time_us / 1e6 - k_s;
		/* which no time after the maximum that the clock can show goes beyond */
		if (off_s > 2147)
			continue;
		exact = fmin(max + ORACLE_C * off_s * off_s * off_s, CUBIC_WINDOW_MAX);
		got = (double)cubic_window_curve(&c, now_us + time_us);
		bound = CURVE_PACKETS + CURVE_PER_S * (k_s + fabs(off_s)) +
			CURVE_OFF * ORACLE_C * pow(fmax(k_s, fabs(off_s)), 3);
		if (fabs(got - exact) > bound)
			fail_msg("%u of %u after %u us: %.0f, exact %f (bound %f)", window, max,
				 time_us, got, exact, bound);
		below += off_s < 0;
		above += off_s > 0;
	}
	assert_in_range(below, 50000, 450000);
	assert_in_range(above, 50000, 450000);
}

/* With the C that it has: within 0.06 %, and 2 us */
static void k_is_the_cube_root(void **state)
{
	u32 packets;

	(void)state;
	assert_int_equal(cubic_window_k_us(0), 0);
	for (packets = 1; packets < CUBIC_WINDOW_MAX / 2; packets += packets / 50 + 1) {
		double exact = cbrt(packets / (410.0 / 1024)) * 1e6;
		double got = cubic_window_k_us(packets);

		if (fabs(got - exact) > 2 + exact * 0.0006)
			fail_msg("%u packets: %.0f us, exact %f", packets, got, exact);
		/* just before, and the next microsecond reaches it */
		assert_true(cubic_window_cube((u32)got) < packets);
		assert_true(cubic_window_cube((u32)got + 1) >= packets);
	}
	/* the longest */
	assert_in_range(cubic_window_k_us(CUBIC_WINDOW_MAX), 1750000000, 1751000000);
}

/* alpha * acked / window; alpha is larger by 0.8 %, and by what is missing to a whole packet */
static void reno_is_the_equation(void **state)
{
	u32 window;

	(void)state;
	for (window = 1; window < CUBIC_WINDOW_MAX / 2; window += window / 9 + 1) {
		u32 per = (u32)((u64)window * 15 / 8), n;
		double exact = window / ORACLE_ALPHA;
		struct cubic_window c;
		u64 sum = 0;

		if (per > exact || per < exact * 0.992 - 1)
			fail_msg("%u: a packet of Reno's for %u, exact %f", window, per, exact);
		cubic_window_reset(&c);
		cubic_window_begin(&c, window, 0);
		for (n = 0; n < 100; n++) {
			u32 packets = (u32)draw(window / 3 + 4);

			sum += packets;
			cubic_window_reno(&c, window, packets);
			assert_int_equal(c.reno - window, sum ? (sum - 1) / per : 0);
			assert_in_range(c.reno_acked, 0, per);
		}
	}
}

/* ---- tcp_cubic of Linux 6.1, without HyStart, in its units and with its roundings ---- */

/**
 * struct stock - tcp_cubic and the part of a socket that it works on
 * @hz: jiffies in a second
 * @forgets: looks at the curve for each ACK, where the kernel's waits for 1/32 s if the window
 *	stands still
 * @root_permille: what its cube root is off by; the kernel's, of a table and one Newton step,
 *	-1.1 to 1.5
 * @window: snd_cwnd
 * @ssthresh: snd_ssthresh
 * @credit: snd_cwnd_cnt
 * @last_max: window at the last loss, or less; 0: none
 * @per: ACKs for each packet of growth, as last computed
 * @seen_window: window when it was
 * @seen_ticks: time when it was
 * @in_epoch: a loss is over
 * @epoch_ticks: when it was
 * @origin: window around which the curve is flat
 * @k_bic: time to it from the epoch, 1/1024 s
 * @friendly: Reno's window
 * @friendly_acked: packets acknowledged that it has not grown for
 */
struct stock {
	u32 hz;
	bool forgets;
	int root_permille;
	u32 window, ssthresh, credit;
	u32 last_max, per, seen_window, seen_ticks;
	bool in_epoch;
	u32 epoch_ticks, origin, k_bic;
	u32 friendly, friendly_acked;
};

static void stock_lose(struct stock *s)
{
	s->in_epoch = false;
	s->last_max = s->window < s->last_max ? s->window * (1024 + 717) / 2048 : s->window;
	s->ssthresh = max_t(u32, s->window * 717 / 1024, 2);
	s->window = s->ssthresh;
	s->credit = 0;
}

/* 2^40 / 410 is a packet on the curve, in cubes of 1/1024 s */
static u32 stock_root(const struct stock *s, u32 packets)
{
	double exact = cbrt((double)((1ULL << 40) / 410) * packets);

	return (u32)(exact * (1 + s->root_permille / 1000.0));
}

static void stock_curve(struct stock *s, u32 ticks, u32 rtt_us)
{
	u64 time, off;
	u32 delta, target;

	time = ticks - s->epoch_ticks + ((u64)rtt_us * s->hz + SECOND_US - 1) / SECOND_US;
	time = time * 1024 / s->hz;
	off = time < s->k_bic ? s->k_bic - time : time - s->k_bic;
	delta = (u32)((410 * off * off * off) >> 40);
	target = time < s->k_bic ? s->origin - delta : s->origin + delta;
	s->per = target > s->window ? s->window / (target - s->window) : 100 * s->window;
	if (!s->last_max && s->per > 20)
		s->per = 20;
}

static void stock_friendly(struct stock *s)
{
	u32 step = s->window * 15 >> 3;

	for (; s->friendly_acked > step; s->friendly_acked -= step)
		s->friendly++;
	if (s->friendly > s->window)
		s->per = min_t(u32, s->per, s->window / (s->friendly - s->window));
	s->per = max_t(u32, s->per, 2);
}

static void stock_update(struct stock *s, u32 acked, u32 ticks, u32 rtt_us)
{
	s->friendly_acked += acked;
	if (!s->forgets && s->seen_window == s->window &&
	    (s32)(ticks - s->seen_ticks) <= (s32)s->hz / 32)
		return;
	if (!s->in_epoch || ticks != s->seen_ticks) {
		s->seen_window = s->window;
		s->seen_ticks = ticks;
		if (!s->in_epoch) {
			s->in_epoch = true;
			s->epoch_ticks = ticks;
			s->friendly_acked = acked;
			s->friendly = s->window;
			s->origin = max_t(u32, s->last_max, s->window);
			s->k_bic = s->last_max > s->window ?
				   stock_root(s, s->last_max - s->window) : 0;
		}
		stock_curve(s, ticks, rtt_us);
	}
	stock_friendly(s);
}

static void stock_ack(struct stock *s, u32 acked, u64 now_us, u32 rtt_us)
{
	/* any number that is not 0 */
	u32 ticks = (u32)(now_us * s->hz / SECOND_US) + 1000000, steps;

	if (s->window < s->ssthresh) {
		steps = min_t(u32, acked, s->ssthresh - s->window);
		s->window += steps;
		acked -= steps;
		if (!acked)
			return;
	}
	stock_update(s, acked, ticks, rtt_us);
	if (s->credit >= s->per) {
		s->credit = 0;
		s->window++;
	}
	s->credit += acked;
	steps = s->credit / s->per;
	s->credit -= steps * s->per;
	s->window += steps;
}

/* ---- side by side ---- */

/**
 * struct side_by_side - one path, its ACKs, and what is lost
 * @rtt_us: round trip
 * @delayed: packets that an ACK covers
 * @room: window at which tcp_cubic has the first loss
 * @spacing_ms: time from one loss to the next; 0: each is at @room
 * @hz: jiffies in tcp_cubic's second
 * @forgets: it does
 * @root_permille: what its root is off by
 * @apart_max: windows right before a loss may differ by this, or by @packets_max
 * @threshold: slow start ends here before the first loss; 0: with it
 */
struct side_by_side {
	u32 rtt_us, delayed, room, spacing_ms, hz;
	bool forgets;
	int root_permille;
	double apart_max;
	u32 packets_max;
	u32 threshold;
};

/* what many of them showed */
struct apart {
	unsigned int runs, losses;
	double largest, sum;
	u32 smallest_window, largest_window;
};

#define LOSSES 20
/* of a run; what takes more ACKs is compared for fewer losses */
#define ACKS_MAX 100000
/* as good as none: a jiffy is 10 us */
#define HZ_FINE 100000

static void compare_window(const struct side_by_side *how, struct apart *apart, u32 window,
			   u32 stock, unsigned int loss)
{
	double off = fabs((double)window - stock);

	apart->losses++;
	apart->smallest_window = min_t(u32, apart->smallest_window, stock);
	apart->largest_window = max_t(u32, apart->largest_window, stock);
	apart->sum += (double)window / stock - 1;
	if (off <= how->packets_max)
		return;
	apart->largest = fmax(apart->largest, off / stock);
	if (off > stock * how->apart_max)
		fail_msg("RTT %u us, %u an ACK, room %u, %u ms, HZ %u, root %d: loss %u: %u and %u",
			 how->rtt_us, how->delayed, how->room, how->spacing_ms, how->hz,
			 how->root_permille, loss, window, stock);
}

/* Return: whether there were all losses */
static bool compare(const struct side_by_side *how, struct apart *apart, u32 acks_max)
{
	u32 window = 10, count = 0, ssthresh = how->threshold ?: NO_SSTHRESH, losses = 0, acks;
	struct stock stock = { .hz = how->hz, .forgets = how->forgets, .window = window,
			       .root_permille = how->root_permille, .ssthresh = ssthresh };
	struct cubic_window c;
	/* the clock wraps early in the run */
	double now_us = 4294967296.0 - 3e6, lost_us = now_us;

	cubic_window_reset(&c);
	for (acks = 0; losses < LOSSES && acks < acks_max; acks++) {
		struct cubic_window_acked it = { ssthresh, how->delayed, 0, how->rtt_us };

		/* the ACKs come as tcp_cubic's window lets them */
		now_us += (double)how->rtt_us * how->delayed / stock.window;
		it.now_us = (u32)(u64)now_us;
		stock_ack(&stock, how->delayed, (u64)now_us, how->rtt_us);
		window = cubic_window_ack(&c, window, &count, &it);
		if (losses && how->spacing_ms ? now_us - lost_us < how->spacing_ms * 1e3 :
						stock.window < how->room)
			continue;
		compare_window(how, apart, window, stock.window, losses);
		stock_lose(&stock);
		ssthresh = cubic_window_ssthresh(&c, window);
		window = ssthresh;
		count = 0;
		losses++;
		/* what was lost is sent again */
		now_us += how->rtt_us;
		lost_us = now_us;
	}
	apart->runs += losses == LOSSES;
	return losses == LOSSES;
}

/* All delayed ACKs and rooms, with this round trip and these losses */
static void compare_all(struct side_by_side how, struct apart *apart)
{
	static const u32 delayed[] = { 1, 2, 8 };
	static const u32 rooms[] = { 2, 3, 6, 13, 40, 150, 1000, 5000, 20000 };
	size_t d, r;

	for (d = 0; d < ARRAY_SIZE(delayed); d++)
		for (r = 0; r < ARRAY_SIZE(rooms); r++) {
			how.delayed = delayed[d];
			how.room = rooms[r];
			compare(&how, apart, ACKS_MAX);
		}
}

/* Neither is the greedier one */
static void check_mean(const struct apart *apart, double most)
{
	double mean = apart->sum / apart->losses;

	if (fabs(mean) > most)
		fail_msg("%u runs, %u losses, windows %u to %u: %.2f %% at most, mean %.3f %%",
			 apart->runs, apart->losses, apart->smallest_window,
			 apart->largest_window, apart->largest * 100, mean * 100);
}

static const u32 spacings_ms[] = { 0, 100, 500, 2000, 10000, 40000 };

/* tcp_cubic's arithmetic, without what its clock adds: 1 %, which is a fifth of what would be
 * borne. 0.4 % was the most.
 */
static void losses_find_the_window_of_tcp_cubic(void **state)
{
	static const u32 rtts_us[] = { 1000, 5000, 20000, 100000, 400000 };
	struct apart apart = { .smallest_window = U32_MAX };
	struct side_by_side how = { .hz = HZ_FINE, .forgets = true, .apart_max = 0.01,
				    .packets_max = 1 };
	size_t r, s;

	(void)state;
	for (r = 0; r < ARRAY_SIZE(rtts_us); r++)
		for (s = 0; s < ARRAY_SIZE(spacings_ms); s++) {
			how.rtt_us = rtts_us[r];
			how.spacing_ms = spacings_ms[s];
			compare_all(how, &apart);
		}
	check_mean(&apart, 0.0005);
	assert_true(apart.runs > 300 && apart.smallest_window <= 2 &&
		    apart.largest_window >= 20000);
}

/* A long path with the largest window, to the twentieth loss: 3 million ACKs */
static void a_large_window_is_tcp_cubics_to_the_twentieth_loss(void **state)
{
	struct side_by_side how = { 400000, 8, 20000, 0, HZ_FINE, true, 0, 0.01, 1, 0 };
	struct apart apart = { 0 };

	(void)state;
	assert_true(compare(&how, &apart, 60 * ACKS_MAX));
	assert_in_range(apart.largest_window, 20000, 20100);
}

/* Slow start that ends without a loss, and a first epoch without a maximum: the windows are
 * compared where tcp_cubic's has come to the room, which it does within 5 % a round trip
 */
static void without_a_loss_the_window_grows_as_tcp_cubics(void **state)
{
	static const u32 rtts_us[] = { 1000, 20000, 400000 };
	static const u32 clocks_hz[] = { 250, HZ_FINE };
	struct apart apart = { 0 };
	size_t h, r;

	(void)state;
	for (h = 0; h < ARRAY_SIZE(clocks_hz); h++)
		for (r = 0; r < ARRAY_SIZE(rtts_us); r++) {
			struct side_by_side how = { .rtt_us = rtts_us[r], .hz = clocks_hz[h],
						    .delayed = 2, .room = 3000, .threshold = 40,
						    .spacing_ms = 1000000, .apart_max = 0.05,
						    .forgets = clocks_hz[h] == HZ_FINE };

			/* for the one loss that there is with so few ACKs */
			compare(&how, &apart, ACKS_MAX);
		}
	assert_int_equal(apart.losses, ARRAY_SIZE(clocks_hz) * ARRAY_SIZE(rtts_us));
}

/* Jiffies, the memory for 1/32 s, and a root that is not exact: 5 %, or two packets, where a
 * round trip is longer than a few jiffies. At a given time: where a loss is at a given window,
 * one packet decides whether a flow was short of its maximum (fast convergence), and two of
 * tcp_cubic with another HZ are 16 % apart, too.
 */
static void a_kernels_clock_moves_the_window_by_a_few_percent(void **state)
{
	static const u32 rtts_us[] = { 20000, 100000, 400000 };
	static const u32 clocks_hz[] = { 250, 1000 };
	struct apart apart = { .smallest_window = U32_MAX };
	struct side_by_side how = { .apart_max = 0.05, .packets_max = 2 };
	size_t h, r, s;

	(void)state;
	for (h = 0; h < ARRAY_SIZE(clocks_hz); h++)
		for (r = 0; r < ARRAY_SIZE(rtts_us); r++)
			for (s = 1; s < ARRAY_SIZE(spacings_ms); s++) {
				how.hz = clocks_hz[h];
				how.rtt_us = rtts_us[r];
				how.spacing_ms = spacings_ms[s];
				how.root_permille = (int)(s % 3) - 1;
				compare_all(how, &apart);
			}
	check_mean(&apart, 0.01);
	assert_true(apart.runs > 300 && apart.largest_window >= 20000);
}

/* Where a round trip is about a jiffy, tcp_cubic's memory makes it stand still, and then
 * overshoot: two with another HZ differ by 120 %. In the mean of all runs it is 15 %.
 */
static void on_a_short_path_the_mean_window_is_tcp_cubics(void **state)
{
	static const u32 rtts_us[] = { 1000, 5000 };
	static const u32 clocks_hz[] = { 250, 1000 };
	size_t h, r, s;

	(void)state;
	for (h = 0; h < ARRAY_SIZE(clocks_hz); h++)
		for (r = 0; r < ARRAY_SIZE(rtts_us); r++) {
			struct side_by_side how = { .rtt_us = rtts_us[r], .hz = clocks_hz[h],
						    .apart_max = 2, .packets_max = 1 };
			struct apart apart = { 0 };

			for (s = 0; s < ARRAY_SIZE(spacings_ms); s++) {
				how.spacing_ms = spacings_ms[s];
				compare_all(how, &apart);
			}
			check_mean(&apart, 0.15);
		}
}

/* ---- each mechanism ---- */

/* A loss was at 1000 packets, and after 5 s from AT_US on the window is there again; Reno's is
 * far below
 */
#define AT_US 4000000000U
static const struct cubic_window on_the_way = {
	.max = 1000, .lost = 1, .max_us = AT_US + 5 * SECOND_US, .reno = 1,
};

static void slow_start_ends_at_the_threshold(void **state)
{
	static const struct {
		u32 window, ssthresh, acked, expected, count;
		const char *reason;
	} rows[] = {
		{ 10, 15, 3, 13, 0, "a packet for each" },
		{ 10, 15, 5, 15, 0, "up to the threshold" },
		{ 10, 15, 8, 15, 3, "and three that count for avoidance" },
		{ 15, 15, 8, 15, 8, "at the threshold: avoidance" },
		{ 10, 15, 0, 10, 0, "nothing delivered" },
		{ 15, 15, 0, 15, 0, "nothing delivered" },
		{ 10, U32_MAX, U32_MAX, S32_MAX, 10, "the largest window" },
		{ S32_MAX - 1, U32_MAX, 2, S32_MAX, 0, "the largest window" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct cubic_window_acked it = { rows[i].ssthresh, rows[i].acked, 0, 1000 };
		struct cubic_window c;
		u32 count = 0, got;

		cubic_window_reset(&c);
		got = cubic_window_ack(&c, rows[i].window, &count, &it);
		if (got != rows[i].expected || count != rows[i].count)
			fail_msg("%s: %u, %u more", rows[i].reason, got, count);
	}
}

/* Without a loss it ends with a round trip that is an eighth longer than the shortest */
static void a_round_trip_that_is_an_eighth_longer_is_a_queue(void **state)
{
	static const struct {
		u32 rtt_us, least_us;
		bool queued;
		const char *reason;
	} rows[] = {
		{ 22500, 20000, false, "an eighth" },
		{ 22501, 20000, true, "more" },
		{ 22508, 20007, true, "an eighth is rounded down" },
		{ 22507, 20007, false, "and not to less" },
		{ 20000, 20000, false, "the shortest" },
		{ 0, 20000, false, "shorter" },
		{ 1, 0, true, "no delay" },
		{ 0, 0, false, "neither" },
		{ U32_MAX, U32_MAX, false, "none was seen before" },
		{ U32_MAX, 3817748708U, false, "no sum wraps" },
		{ U32_MAX, 3817748707U, false, "nor just below" },
		{ U32_MAX, 3817748706U, true, "which it is longer than" },
	};
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (cubic_window_queued(rows[i].rtt_us, rows[i].least_us) != rows[i].queued)
			fail_msg("%s", rows[i].reason);
	for (i = 0; i < 300000; i++) {
		u32 least_us = (u32)draw_scale(32) - 1, rtt_us = (u32)draw_scale(32) - 1;

		if (draw(2))
			rtt_us = (u32)fmin(least_us * (0.9 + 0.0001 * (double)draw(4000)), U32_MAX);
		assert_int_equal(cubic_window_queued(rtt_us, least_us),
				 rtt_us > least_us + floor(least_us / 8.0));
	}
}

static void a_loss_leaves_717_of_1024(void **state)
{
	static const struct {
		u32 max, window, expected, expected_max;
		const char *reason;
	} rows[] = {
		{ 0, 1024, 717, 1024, "the first" },
		{ 1024, 1024, 717, 1024, "back at the maximum" },
		{ 1024, 1025, 717, 1025, "beyond it" },
		{ 1024, 1023, 716, 869, "fast convergence: 1741/2048" },
		{ 1024, 512, 358, 435, "and again" },
		{ 0, 3, 2, 3, "rounded down" },
		{ 0, 2, 2, 2, "no less than two" },
		{ 0, 0, 2, 0, "nor of nothing" },
		{ 0, S32_MAX, 1503657983, S32_MAX, "the largest" },
		{ S32_MAX, U32_MAX, 1503657983, S32_MAX, "beyond the largest, that" },
		{ S32_MAX, S32_MAX - 1, 1503657982, 1825570814, "no product wraps" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cubic_window c = { .max = rows[i].max, .reno = 5 };
		u32 got = cubic_window_ssthresh(&c, rows[i].window);

		if (got != rows[i].expected || c.max != rows[i].expected_max)
			fail_msg("%s: %u, maximum %u", rows[i].reason, got, c.max);
		/* and the epoch is over */
		assert_int_equal(c.reno, 0);
		assert_int_equal(c.lost, 1);
	}
}

/* Packets acknowledged for the next packet of the window */
static u32 acked_for_one(struct cubic_window c, u32 window, u32 rtt_us)
{
	u32 count = 0, n;

	for (n = 1; n < 1000000; n++)
		if (acked(&c, window, &count, 1, AT_US, rtt_us) > window)
			return n;
	return 0;
}

static void the_window_grows_towards_the_curve_a_round_trip_on(void **state)
{
	static const struct {
		u32 window, rtt_us, expected;
		const char *reason;
	} rows[] = {
		{ 900, 0, 900 / 50, "the curve is at 950: 5 s are 50 packets" },
		{ 900, SECOND_US, 900 / 75, "at 975 in a second" },
		{ 900, 10 * SECOND_US, 900 / 150, "5 s beyond the maximum" },
		{ 900, 100 * SECOND_US, 2, "95 s: half of the window in a round trip at most" },
		{ 900, U32_MAX, 2, "longer round trips are 100 s" },
		{ 950, 0, 950 * 100, "on the curve" },
		{ 949, 0, 949, "a packet below" },
		{ 990, 0, 990 * 100, "above the curve" },
	};
	struct cubic_window at_limit = on_the_way;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 got = acked_for_one(on_the_way, rows[i].window, rows[i].rtt_us);

		if (got != rows[i].expected)
			fail_msg("%s: %u for one", rows[i].reason, got);
	}
	/* 100 s are no less */
	at_limit.max_us = AT_US + 105 * SECOND_US;
	assert_int_equal(acked_for_one(at_limit, 900, U32_MAX), 18);
	assert_int_equal(acked_for_one(at_limit, 900, 100 * SECOND_US), 18);
}

/* A hundred windows are as many as can be counted, at most: not the rest that 32 bits leave */
static void above_the_curve_a_large_window_stands_still(void **state)
{
	static const u32 windows[] = { 42949672, 42949673, 100000000, CUBIC_WINDOW_MAX };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		u32 per = windows[i] == 42949672 ? 4294967200U : U32_MAX;
		struct cubic_window c = on_the_way;
		u32 count = per - 2;

		assert_int_equal(acked(&c, windows[i], &count, 1, AT_US, 0), windows[i]);
		assert_int_equal(count, per - 1);
		assert_int_equal(acked(&c, windows[i], &count, 1, AT_US, 0),
				 min_t(u32, windows[i] + 1, CUBIC_WINDOW_MAX));
	}
}

/* Without a maximum: 5 % in a round trip, whatever the curve says; with one, the curve */
static void before_any_loss_the_window_grows_by_a_twentieth(void **state)
{
	struct cubic_window c = on_the_way;

	(void)state;
	c.lost = 0;
	assert_int_equal(acked_for_one(c, 990, 0), 20);
	assert_int_equal(acked_for_one(c, 900, 0), 18);
	cubic_window_reset(&c);
	assert_int_equal(acked_for_one(c, 1000, 100), 20);
}

/* 8/15 of a packet in a round trip: a hundred round trips of 1 ms after a loss at 1000 */
static void on_a_short_path_the_window_grows_as_renos(void **state)
{
	u32 window, count = 0, round;
	struct cubic_window c;

	(void)state;
	cubic_window_reset(&c);
	window = cubic_window_ssthresh(&c, 1000);
	for (round = 0; round < 100; round++)
		window = acked(&c, window, &count, window, round * 1000, 1000);
	/* 9.6 packets are the curve's part */
	assert_in_range(window, 700 + 51, 700 + 54);
}

static void renos_window_never_wraps(void **state)
{
	struct cubic_window c = on_the_way;
	u32 i;

	(void)state;
	for (i = 0; i < 10; i++) {
		u32 before = c.reno;

		cubic_window_reno(&c, 1, U32_MAX);
		assert_in_range(c.reno, before, CUBIC_WINDOW_MAX);
	}
	assert_int_equal(c.reno, CUBIC_WINDOW_MAX);
	/* the step comes with the packet after its last */
	c = on_the_way;
	cubic_window_reno(&c, 8, 15);
	assert_int_equal(c.reno, 1);
	cubic_window_reno(&c, 8, 1);
	assert_int_equal(c.reno, 2);
	assert_int_equal(c.reno_acked, 1);
}

/* What was acknowledged while the window grew slowly is worth one packet */
static void what_was_counted_before_is_one_packet(void **state)
{
	static const struct {
		u32 before, acked, window, count;
		const char *reason;
	} rows[] = {
		{ 0, 17, 900, 17, "counted" },
		{ 0, 18, 901, 0, "a packet for 18" },
		{ 17, 1, 901, 0, "of two ACKs" },
		{ 17, 20, 902, 1, "two" },
		{ 18, 1, 901, 1, "counted at a slower pace" },
		{ 500, 1, 901, 1, "one packet of it" },
		{ 500, 19, 902, 1, "and one for what comes" },
		{ U32_MAX, 1, 901, 1, "no wrap" },
		/* so many make Reno's window the larger one: a packet for two */
		{ 1, U32_MAX, S32_MAX, 0, "the largest window" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cubic_window c = on_the_way;
		u32 count = rows[i].before;
		u32 window = acked(&c, 900, &count, rows[i].acked, AT_US, 0);

		if (window != rows[i].window || count != rows[i].count)
			fail_msg("%s: %u, %u more", rows[i].reason, window, count);
	}
}

/* An epoch of a flow that is silent now and then, and of one that is not */
static void silence_moves_the_epoch(void **state)
{
	static const u64 silences_us[] = { 1, 300000, 20000000, 3000000000ULL, 10000000000ULL };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(silences_us); i++) {
		struct cubic_window silent, busy;
		u32 count[2] = { 0 }, window[2], now_us = 0, round;
		u64 silence_us = 0;

		cubic_window_reset(&silent);
		window[0] = cubic_window_ssthresh(&silent, 1000);
		window[1] = window[0];
		busy = silent;
		for (round = 0; round < 300; round++, now_us += 50000) {
			if (round % 100 == 50) {
				silence_us += silences_us[i];
				cubic_window_idle(&silent, (u32)silences_us[i]);
			}
			window[0] = acked(&silent, window[0], &count[0], 100,
					  (u32)(now_us + silence_us), 50000);
			window[1] = acked(&busy, window[1], &count[1], 100, now_us, 50000);
			assert_int_equal(window[0], window[1]);
		}
		assert_true(window[0] > 1000);
	}
}

/* A clock of 32 bits is wrong about a time that is 2147 s from the maximum. For 36 minutes
 * after it the curve is as if the epoch began just now, and not before any.
 */
static void an_epoch_older_than_the_clock_is_a_new_one(void **state)
{
	struct cubic_window c = { .max = 1000, .lost = 1, .max_us = 0, .reno = 1000 };
	u32 now_us = 2200U * SECOND_US, window = 1000, count = 0, round;

	(void)state;
	for (round = 0; round < 100; round++, now_us += 100000)
		window = acked(&c, window, &count, window, now_us, 100000);
	/* 10 s, and a round trip: 0.4 * 10.1^3 = 412 */
	assert_in_range(window, 1350, 1412);
}

/* From a window of one packet at least, the way to the maximum is shorter than from below 0 */
static void an_epoch_longer_than_from_nothing_is_none(void **state)
{
	static const struct {
		u32 packets;
		bool begins;
	} rows[] = { { 300, false }, { 999, false }, { 1001, true }, { 9000, true } };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cubic_window c = on_the_way;
		u32 count = 0;

		c.max_us = AT_US + cubic_window_k_us(rows[i].packets) + 1;
		acked(&c, 700, &count, 1, AT_US, 0);
		assert_int_equal(c.reno, rows[i].begins ? 700 : 1);
	}
}

/* 1750 s to the largest maximum are no wrap */
static void the_longest_epoch_is_no_wrap(void **state)
{
	struct cubic_window c = { .max = CUBIC_WINDOW_MAX, .lost = 1 };

	(void)state;
	cubic_window_begin(&c, 1, AT_US);
	assert_true(cubic_window_curve(&c, AT_US) >= 1);
	assert_true(cubic_window_curve(&c, AT_US) < 100);
	assert_int_equal(cubic_window_curve(&c, c.max_us), CUBIC_WINDOW_MAX);
	assert_int_equal(cubic_window_curve(&c, c.max_us + S32_MAX), CUBIC_WINDOW_MAX);
	assert_true(cubic_window_curve(&c, c.max_us - (1U << 31)) < 0);
	/* nor is the product of the longest time */
	assert_in_range(cubic_window_cube(U32_MAX), 31719000000ULL, 31723000000ULL);
}

/* An epoch that begins above the maximum has this window as its maximum */
static void a_window_above_the_maximum_is_the_maximum(void **state)
{
	struct cubic_window c = { .max = 500, .lost = 1, .reno_acked = 7 };

	(void)state;
	cubic_window_begin(&c, 600, AT_US);
	assert_int_equal(c.max, 600);
	assert_int_equal(c.max_us, AT_US);
	assert_int_equal(c.reno, 600);
	assert_int_equal(c.reno_acked, 0);
	assert_int_equal(c.lost, 1);
}

static void a_reset_state_knows_nothing(void **state)
{
	static const struct cubic_window nothing;
	struct cubic_window c = on_the_way;

	(void)state;
	cubic_window_reset(&c);
	assert_memory_equal(&c, &nothing, sizeof(c));
	assert_true(sizeof(c) <= 16);
}

/* Whatever an ACK says: the window never falls, and grows by no more than was delivered */
static void any_numbers_are_held_within_bounds(void **state)
{
	struct cubic_window c = { 0 };
	u32 window = 10, count = 0;
	unsigned int i;

	(void)state;
	for (i = 0; i < 2000000; i++) {
		struct cubic_window_acked it = {
			.ssthresh = draw(3) ? 2 : (u32)draw_scale(32),
			.acked = (u32)draw_scale(draw(10) ? 4 : 32) - 1,
			.now_us = (u32)draw(1ULL << 32),
			.rtt_min_us = (u32)draw_scale(32) - 1,
		};
		u32 counts, got;

		if (!draw(20))
			window = (u32)draw_scale(32) - 1;
		if (!draw(20))
			count = (u32)draw_scale(32);
		counts = clamp_t(u32, window, 1, CUBIC_WINDOW_MAX);
		got = cubic_window_ack(&c, window, &count, &it);
		if (got < counts || got > CUBIC_WINDOW_MAX || got - counts > it.acked)
			fail_msg("%u: %u of %u, %u acknowledged", i, got, window, it.acked);
		window = got;
		if (!draw(50)) {
			got = cubic_window_ssthresh(&c, window);
			assert_in_range(got, 2, max_t(u32, window, 2));
			assert_true(c.max <= window || c.max > window * 2 / 3);
			window = got;
		}
		if (!draw(50))
			cubic_window_idle(&c, (u32)draw_scale(32));
		if (!draw(500))
			cubic_window_reset(&c);
	}
}

static void a_silence_halves_the_window_with_each_timeout(void **state)
{
	static const struct {
		u32 window;
		u64 idle_us;
		u32 rto_us, first, expected;
		const char *reason;
	} rows[] = {
		{ 80, 0, 300000, 10, 80, "none" },
		{ 80, 300000, 300000, 10, 80, "no longer than the timeout" },
		{ 80, 300001, 300000, 10, 40, "longer" },
		{ 80, 600000, 300000, 10, 40, "twice as long" },
		{ 80, 600001, 300000, 10, 20, "more" },
		{ 80, 1ULL << 60, 300000, 10, 10, "days: a first flight" },
		{ 7, 1ULL << 60, 300000, 10, 7, "what is less stays" },
		{ 0, 1ULL << 60, 300000, 10, 0, "none at all" },
		{ 80, 200001, 0, 10, 40, "the shortest timeout" },
		{ 80, 120000000, U32_MAX, 10, 80, "the longest" },
		{ U32_MAX, U64_MAX, 0, 0, 1, "no shift is too far" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 got = cubic_window_restarted(rows[i].window, rows[i].idle_us, rows[i].rto_us,
						 rows[i].first);

		if (got != rows[i].expected)
			fail_msg("%s: %u", rows[i].reason, got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_curve_is_the_equation),
		cmocka_unit_test(k_is_the_cube_root),
		cmocka_unit_test(reno_is_the_equation),
		cmocka_unit_test(losses_find_the_window_of_tcp_cubic),
		cmocka_unit_test(a_large_window_is_tcp_cubics_to_the_twentieth_loss),
		cmocka_unit_test(without_a_loss_the_window_grows_as_tcp_cubics),
		cmocka_unit_test(a_kernels_clock_moves_the_window_by_a_few_percent),
		cmocka_unit_test(on_a_short_path_the_mean_window_is_tcp_cubics),
		cmocka_unit_test(slow_start_ends_at_the_threshold),
		cmocka_unit_test(a_round_trip_that_is_an_eighth_longer_is_a_queue),
		cmocka_unit_test(a_loss_leaves_717_of_1024),
		cmocka_unit_test(the_window_grows_towards_the_curve_a_round_trip_on),
		cmocka_unit_test(above_the_curve_a_large_window_stands_still),
		cmocka_unit_test(before_any_loss_the_window_grows_by_a_twentieth),
		cmocka_unit_test(on_a_short_path_the_window_grows_as_renos),
		cmocka_unit_test(renos_window_never_wraps),
		cmocka_unit_test(what_was_counted_before_is_one_packet),
		cmocka_unit_test(silence_moves_the_epoch),
		cmocka_unit_test(an_epoch_older_than_the_clock_is_a_new_one),
		cmocka_unit_test(an_epoch_longer_than_from_nothing_is_none),
		cmocka_unit_test(the_longest_epoch_is_no_wrap),
		cmocka_unit_test(a_window_above_the_maximum_is_the_maximum),
		cmocka_unit_test(a_reset_state_knows_nothing),
		cmocka_unit_test(any_numbers_are_held_within_bounds),
		cmocka_unit_test(a_silence_halves_the_window_with_each_timeout),
	};

	return cmocka_run_group_tests_name("cubic_window", tests, NULL, NULL);
}
