// SPDX-License-Identifier: GPL-2.0
/*
 * tfrc.h: the allowed rate, from slow start over losses to silence. What whole flows get is in
 * test_paced_sender.c.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "draw.h"
#include "tfrc.h"

#define RTT_US 100000U
#define REFERENCE 1000U
#define INITIAL_BYTES 10000U

static const struct tfrc_params of_large = { REFERENCE, TFRC_UNMODIFIED, TFRC_PACKET_MODE, 0 };

static struct tfrc started(void)
{
	struct tfrc t;

	tfrc_start(&t, 1, INITIAL_BYTES, RTT_US);
	return t;
}

static const struct tfrc_path flow_path = { RTT_US, 100000, 1000 };

static bool lose_one(struct tfrc *t, u32 at_us)
{
	const struct tfrc_packets one = { 1, 1000, at_us };

	return tfrc_take_lost(t, &of_large, &one, &flow_path);
}

/* RFC 3448, 4.3: twice in a round trip, and at most twice what arrives */
static void slow_start_doubles(void **state)
{
	struct tfrc t = started();

	(void)state;
	assert_true(tfrc_in_slow_start(&t));
	assert_int_equal(t.rate_bytes_ps, 100000);
	tfrc_round(&t, &of_large, &flow_path, 100000, false);
	assert_int_equal(t.rate_bytes_ps, 200000);
	tfrc_round(&t, &of_large, &flow_path, 1000000, false);
	assert_int_equal(t.rate_bytes_ps, 400000);
	/* one round trip in which little arrived is not yet less */
	tfrc_round(&t, &of_large, &flow_path, 150000, false);
	assert_int_equal(t.rate_bytes_ps, 800000);
	tfrc_round(&t, &of_large, &flow_path, 150000, false);
	assert_int_equal(t.rate_bytes_ps, 300000);
	/* and no less than the initial window */
	tfrc_round(&t, &of_large, &flow_path, 1000, false);
	tfrc_round(&t, &of_large, &flow_path, 1000, false);
	assert_int_equal(t.rate_bytes_ps, 100000);
	tfrc_round(&t, &of_large, &flow_path, 1000000, false);
	assert_int_equal(t.rate_bytes_ps, 200000);
	/* the application had nothing to send: neither more nor less */
	tfrc_round(&t, &of_large, &flow_path, 1000, true);
	assert_int_equal(t.rate_bytes_ps, 200000);
}

/* RFC 3448, 6.3.1: half of what arrives */
static void the_first_loss_event_ends_slow_start(void **state)
{
	struct tfrc t = started();

	(void)state;
	t.rate_bytes_ps = 2000000;
	/* 100000 bytes in a round trip arrive */
	assert_true(lose_one(&t, 0));
	assert_false(tfrc_in_slow_start(&t));
	assert_in_range(t.rate_bytes_ps, 499800, 500200);
	/* the next losses belong to it */
	assert_false(lose_one(&t, RTT_US - 1));
	assert_in_range(t.rate_bytes_ps, 499800, 500200);
}

/* Whatever was before: the rate after a loss event is no higher */
static void a_loss_event_never_raises_the_rate(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		struct tfrc t = started();
		u32 at_us = 0, k, events = 1 + (u32)draw(12);
		struct tfrc_packets some = { .bytes = 0 };
		u64 before;

		for (k = 0; k < events; k++) {
			some.packets = (u32)draw_scale(12);
			some.bytes = some.packets * 1000;
			some.now_us = at_us;
			tfrc_arrived(&t.loss, &of_large, &some);
			tfrc_round(&t, &of_large, &flow_path, 1 + draw_scale(24), false);
			before = t.rate_bytes_ps;
			at_us += RTT_US;
			lose_one(&t, at_us);
			assert_true(t.rate_bytes_ps <= before);
		}
	}
}

/* After the first loss the rate follows the loss interval, and at most twice what arrives */
static void the_rate_follows_the_loss_interval(void **state)
{
	struct tfrc t = started();
	u32 i, at_us = 0;

	(void)state;
	for (i = 0; i < 10; i++) {
		const struct tfrc_packets some = { 99, 99000, at_us };

		lose_one(&t, at_us);
		at_us += 2 * RTT_US;
		tfrc_arrived(&t.loss, &of_large, &some);
	}
	lose_one(&t, at_us);
	/* 1 % of loss events, a timeout of two round trips: 11.718 packets in a round trip */
	tfrc_round(&t, &of_large, &flow_path, 1000000, false);
	assert_in_range(t.rate_bytes_ps, 117150, 117210);
	tfrc_round(&t, &of_large, &flow_path, 40000, false);
	tfrc_round(&t, &of_large, &flow_path, 40000, false);
	assert_int_equal(t.rate_bytes_ps, 80000);
	/* what is not sent cannot arrive */
	tfrc_round(&t, &of_large, &flow_path, 10, true);
	tfrc_round(&t, &of_large, &flow_path, 10, true);
	assert_int_equal(t.rate_bytes_ps, 80000);
	/* nothing arrives: a packet in 64 s */
	tfrc_round(&t, &of_large, &flow_path, 0, false);
	tfrc_round(&t, &of_large, &flow_path, 0, false);
	assert_int_equal(t.rate_bytes_ps, 16);
}

/* vp-rate-cap: "must not exceed twice that of TCP" */
static void packets_per_second_have_a_cap(void **state)
{
	struct tfrc_params m = of_large;
	struct tfrc_path path = flow_path;
	struct tfrc t = started();
	u64 friendly;

	(void)state;
	lose_one(&t, 0);
	path.packet_bytes = 100;
	friendly = tfrc_friendly_bytes_ps(&t, &m, &path);
	m.packet_rate_cap = 2;
	/* a fifth of the bytes are twice the packets */
	assert_in_range(tfrc_friendly_bytes_ps(&t, &m, &path), friendly / 5 - 1, friendly / 5);
	m.packet_rate_cap = 10;
	assert_in_range(tfrc_friendly_bytes_ps(&t, &m, &path), friendly - 1, friendly);
	/* packets of half the size and more are not concerned */
	m.packet_rate_cap = 2;
	path.packet_bytes = 500;
	assert_in_range(tfrc_friendly_bytes_ps(&t, &m, &path), friendly - 1, friendly);
	m.packet_rate_cap = U32_MAX;
	assert_in_range(tfrc_friendly_bytes_ps(&t, &m, &path), friendly - 1, friendly);
}

/* vp-m-lip-packet: the loss history is S/s times longer */
static void lip_scaling_has_a_longer_history(void **state)
{
	static const struct {
		u32 packet_bytes;
		u16 half;
	} of[] = { { 1000, 4 }, { 500, 8 }, { 300, 13 }, { 100, 40 }, { 10, TFRC_HALF_MAX } };
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(of); i++) {
		struct tfrc_params m = { REFERENCE, TFRC_LIP_SCALING, TFRC_PACKET_MODE, 0 };
		const struct tfrc_path path = { RTT_US, 100000, of[i].packet_bytes };
		const struct tfrc_packets one = { 1, 1000, 0 };
		struct tfrc t = started();

		assert_true(tfrc_take_lost(&t, &m, &one, &path));
		assert_int_equal(t.history.half, of[i].half);
		m.method = TFRC_VIRTUAL;
		t = started();
		assert_true(tfrc_take_lost(&t, &m, &one, &path));
		assert_int_equal(t.history.half, TFRC_HALF);
	}
}

static void what_was_not_lost_is_taken_back(void **state)
{
	const struct tfrc_packets some = { 200, 200000, 0 };
	struct tfrc t = started();
	u64 before, mean_q16;

	(void)state;
	/* in slow start, which goes on */
	t.rate_bytes_ps = 2000000;
	lose_one(&t, 0);
	tfrc_take_back(&t, &of_large, &flow_path, 1);
	assert_true(tfrc_in_slow_start(&t));
	assert_int_equal(t.rate_bytes_ps, 2000000);
	/* once: what was before it is no rate for later */
	t.rate_bytes_ps = 1000000;
	tfrc_take_back(&t, &of_large, &flow_path, 0);
	assert_int_equal(t.rate_bytes_ps, 1000000);
	t.rate_bytes_ps = 2000000;

	/* after it, two events of one recovery */
	lose_one(&t, 1);
	tfrc_arrived(&t.loss, &of_large, &some);
	tfrc_round(&t, &of_large, &flow_path, 2000000, false);
	before = t.rate_bytes_ps;
	mean_q16 = tfrc_mean_q16(&t, &of_large, &flow_path);
	assert_true(lose_one(&t, 2 * RTT_US));
	assert_true(lose_one(&t, 4 * RTT_US));
	assert_true(t.rate_bytes_ps < before);
	tfrc_take_back(&t, &of_large, &flow_path, 2);
	/* two packets more were sent */
	assert_in_range(tfrc_mean_q16(&t, &of_large, &flow_path), mean_q16,
			mean_q16 + 2 * TFRC_ONE_Q16);
	tfrc_round(&t, &of_large, &flow_path, 2000000, false);
	assert_in_range(t.rate_bytes_ps, before, before + before / 50);
	/* more than there are */
	tfrc_take_back(&t, &of_large, &flow_path, U32_MAX);
	assert_true(tfrc_in_slow_start(&t));
}

/* RFC 3448, 4.4: half for each four round trips, not below what an initial window gives */
static void a_silent_flow_slows_down(void **state)
{
	struct tfrc t = started();

	(void)state;
	t.rate_bytes_ps = 1600000;
	t.received_bytes_ps = 1600000;
	tfrc_silent(&t, &of_large, &flow_path, 4 * RTT_US - 1);
	assert_int_equal(t.rate_bytes_ps, 1600000);
	tfrc_silent(&t, &of_large, &flow_path, 4 * RTT_US);
	assert_int_equal(t.rate_bytes_ps, 800000);
	tfrc_silent(&t, &of_large, &flow_path, 8 * RTT_US);
	assert_int_equal(t.rate_bytes_ps, 200000);
	/* what arrived before does not lift it again */
	tfrc_round(&t, &of_large, &flow_path, 150000, false);
	assert_int_equal(t.rate_bytes_ps, 300000);
	tfrc_silent(&t, &of_large, &flow_path, U32_MAX);
	assert_int_equal(t.rate_bytes_ps, 100000);
	/* a flow that is slower is not made faster */
	t.rate_bytes_ps = 50000;
	tfrc_silent(&t, &of_large, &flow_path, U32_MAX);
	assert_int_equal(t.rate_bytes_ps, 50000);
}

/* Half, and no window is kept. A spurious timeout is taken back. */
static void a_timeout_halves_the_rate(void **state)
{
	struct tfrc t = started();

	(void)state;
	t.received_bytes_ps = 90000;
	tfrc_timeout(&t, &of_large, &flow_path);
	assert_int_equal(t.rate_bytes_ps, 50000);
	assert_int_equal(t.received_bytes_ps, 25000);
	tfrc_take_back(&t, &of_large, &flow_path, 0);
	assert_int_equal(t.rate_bytes_ps, 100000);
}

static void the_window_does_not_hold_up_a_paced_flow(void **state)
{
	(void)state;
	/* 1 Mbyte/s, 100 ms: 100 packets in a round trip */
	assert_int_equal(tfrc_window(1000000, RTT_US, 1000), 201);
	assert_int_equal(tfrc_window(0, RTT_US, 1000), TFRC_WINDOW_MIN);
	assert_int_equal(tfrc_window(U64_MAX, U32_MAX, 0), S32_MAX);
	assert_int_equal(tfrc_window(U64_MAX, 0, 65535),
			 tfrc_window(TFRC_RATE_MAX_BYTES_PS, 100, 65535));
	assert_int_equal(tfrc_window(1000000, 0, 1), tfrc_window(1000000, 100, 1));
	assert_int_equal(tfrc_window(1000000, U32_MAX, 1), tfrc_window(1000000, 10000000, 1));
	/* and who comes after it goes on at the same rate */
	assert_int_equal(tfrc_window_left(tfrc_window(1000000, RTT_US, 1000)), 100);
	assert_int_equal(tfrc_window_left(0), 1);
}

/* RFC 3448, 4.3, with q = 0.9 */
static void the_round_trip_is_a_mean_of_ten(void **state)
{
	struct tfrc t = started();
	double exact = 2 * RTT_US;
	int i;

	(void)state;
	tfrc_take_rtt(&t, 2 * RTT_US);
	assert_int_equal(tfrc_rtt_us(&t), 2 * RTT_US);
	assert_true(lose_one(&t, 1000000));
	for (i = 0; i < 1000; i++) {
		u32 now_us = 50 + (u32)draw(20000000);

		tfrc_take_rtt(&t, now_us);
		exact = 0.9 * exact + 0.1 * fmin(fmax(now_us, TFRC_RTT_MIN_US), TFRC_RTT_MAX_US);
		assert_true(fabs(tfrc_rtt_us(&t) - exact) <= 2);
	}
	/* and what does not change stays, at either end */
	for (i = 0; i < 1000; i++)
		tfrc_take_rtt(&t, 0);
	assert_in_range(tfrc_rtt_us(&t), TFRC_RTT_MIN_US, TFRC_RTT_MIN_US + 1);
	for (i = 0; i < 1000; i++)
		tfrc_take_rtt(&t, U32_MAX);
	assert_in_range(tfrc_rtt_us(&t), TFRC_RTT_MAX_US - 1, TFRC_RTT_MAX_US);
}

static void what_is_out_of_range_is_the_nearest(void **state)
{
	const struct tfrc_path endless = { RTT_US, 2 * TFRC_BYTES_MAX, 1000 };
	const struct tfrc_packets one = { 1, 1000, 0 };
	struct tfrc t;

	(void)state;
	assert_int_equal(tfrc_speed_bytes_ps(1000, 0), 1000000000);
	assert_int_equal(tfrc_speed_bytes_ps(U64_MAX, 1), TFRC_RATE_MAX_BYTES_PS);
	assert_int_equal(tfrc_speed_bytes_ps(U64_MAX, 4000000000U),
			 tfrc_speed_bytes_ps(TFRC_BYTES_MAX, 4000000000U));
	assert_int_equal(tfrc_speed_bytes_ps(0, 5), 0);
	assert_int_equal(tfrc_bytes(1000000, RTT_US), 100000);
	assert_int_equal(tfrc_bytes(U64_MAX, U32_MAX), 10 * TFRC_RATE_MAX_BYTES_PS);
	assert_int_equal(tfrc_bytes(1000, 10000001), 10000);
	tfrc_start(&t, 0, 0, 0);
	assert_int_equal(t.rate_bytes_ps, 1);
	tfrc_start(&t, 0, 1000, 0);
	assert_int_equal(t.rate_bytes_ps, 10000000);
	tfrc_start(&t, 0, 1000, U32_MAX);
	assert_int_equal(t.rate_bytes_ps, 100);
	/* which would wrap to nothing */
	t = started();
	assert_true(tfrc_take_lost(&t, &of_large, &one, &endless));
	assert_int_equal(tfrc_mean_q16(&t, &of_large, &flow_path), TFRC_INTERVAL_MAX_Q16);
	tfrc_start(&t, 0, U32_MAX, 1);
	tfrc_round(&t, &of_large, &flow_path, U64_MAX, false);
	assert_int_equal(t.received_bytes_ps, TFRC_RATE_MAX_BYTES_PS);
	t.rate_bytes_ps = TFRC_RATE_MAX_BYTES_PS;
	tfrc_round(&t, &of_large, &flow_path, U64_MAX, false);
	assert_int_equal(t.rate_bytes_ps, TFRC_RATE_MAX_BYTES_PS);
}

/* What is told of the time when the LIP ends is its low 32 bits: 40 minutes later they would say
 * that it goes on
 */
static void a_silence_ends_the_loss_insensitive_period(void **state)
{
	static const struct tfrc_params params = { .reference_bytes = 1448, .method = TFRC_VIRTUAL };
	const u32 silent_us = 40U * 60 * USEC_PER_SEC;
	struct tfrc_path path = {
		.rtt_us = 100000, .flight_bytes = 100000, .packet_bytes = 1448,
	};
	struct tfrc_packets lost = { 1, 1448, 1000 };
	struct tfrc t;

	(void)state;
	tfrc_start(&t, 1, 14480, 100000);
	assert_int_equal(tfrc_take_lost(&t, &params, &lost, &path), 1);
	tfrc_silent(&t, &params, &path, silent_us);
	lost.now_us += silent_us;
	assert_int_equal(tfrc_take_lost(&t, &params, &lost, &path), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_start_doubles),
		cmocka_unit_test(the_first_loss_event_ends_slow_start),
		cmocka_unit_test(a_loss_event_never_raises_the_rate),
		cmocka_unit_test(the_rate_follows_the_loss_interval),
		cmocka_unit_test(packets_per_second_have_a_cap),
		cmocka_unit_test(lip_scaling_has_a_longer_history),
		cmocka_unit_test(what_was_not_lost_is_taken_back),
		cmocka_unit_test(a_silent_flow_slows_down),
		cmocka_unit_test(a_timeout_halves_the_rate),
		cmocka_unit_test(the_window_does_not_hold_up_a_paced_flow),
		cmocka_unit_test(the_round_trip_is_a_mean_of_ten),
		cmocka_unit_test(a_silence_ends_the_loss_insensitive_period),
		cmocka_unit_test(what_is_out_of_range_is_the_nearest),
	};

	return cmocka_run_group_tests_name("tfrc", tests, NULL, NULL);
}
