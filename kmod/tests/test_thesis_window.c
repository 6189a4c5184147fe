// SPDX-License-Identifier: GPL-2.0
/*
 * thesis_window.h against what the thesis and the paper of DECbit say, and against the same rules
 * in floating point.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/bench/thesis_window.h"

static double packets(const struct thesis_window *w)
{
	return w->window_q16 / (double)THESIS_ONE_Q16;
}

static void ack(struct thesis_window *w, u32 count, u32 most, bool marked)
{
	while (count--)
		thesis_acked(w, most, marked);
}

static void generic_stays(void **state)
{
	struct thesis_window w;

	(void)state;
	thesis_begin(&w, THESIS_GENERIC, 5);
	assert_int_equal(thesis_packets(&w), 5);
	ack(&w, 100, 5, true);
	thesis_lost(&w, false);
	thesis_lost(&w, true);
	assert_int_equal(thesis_packets(&w), 5);
	/* the route says otherwise */
	ack(&w, 1, 40, false);
	assert_int_equal(thesis_packets(&w), 40);
}

static void jk_doubles_up_to_half_and_then_grows_by_one(void **state)
{
	struct thesis_window w;
	double model;
	int i;

	(void)state;
	thesis_begin(&w, THESIS_JK, 1000);
	assert_int_equal(thesis_packets(&w), 1);
	for (i = 1; i <= 64; i *= 2) {
		assert_int_equal(thesis_packets(&w), i);
		ack(&w, thesis_packets(&w), 1000, false);
	}
	assert_int_equal(thesis_packets(&w), 128);
	thesis_lost(&w, false);
	assert_int_equal(thesis_packets(&w), 1);
	assert_int_equal(w.ssthresh, 64);
	ack(&w, 63, 1000, false);
	assert_int_equal(thesis_packets(&w), 64);
	/* a packet in a round trip, within what is cut off of each step */
	model = 64;
	for (i = 0; i < 6400; i++) {
		ack(&w, 1, 1000, false);
		model += 1 / model;
		assert_true(fabs(packets(&w) - model) <= (i + 1) / (double)THESIS_ONE_Q16);
	}
	assert_in_range(thesis_packets(&w), 129, 131);
}

static void jk_never_grows_beyond_the_most(void **state)
{
	struct thesis_window w;

	(void)state;
	thesis_begin(&w, THESIS_JK, 40);
	ack(&w, 1000, 40, false);
	assert_int_equal(w.window_q16, 40 << THESIS_SHIFT);
	thesis_lost(&w, true);
	assert_int_equal(w.ssthresh, 20);
	/* a window of one or two: slow start goes to two */
	thesis_lost(&w, true);
	assert_int_equal(w.ssthresh, THESIS_SSTHRESH_MIN);
}

static void decbit_looks_at_the_second_of_two_windows(void **state)
{
	static const struct {
		const char *reason;
		u32 first, second;	/* marked ones of 8, and of 8 */
		double next;
	} rows[] = {
		{ "no mark", 0, 0, 9 },
		{ "those of the window before do not count", 8, 0, 9 },
		{ "less than half", 8, 3, 9 },
		{ "half of them", 0, 4, 7 },
		{ "all of them", 0, 8, 7 },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct thesis_window w = { .protocol = THESIS_DECBIT, .window_q16 = 8 << THESIS_SHIFT };

		thesis_cycle(&w, 8);
		ack(&w, rows[i].first, 100, true);
		ack(&w, 8 - rows[i].first, 100, false);
		ack(&w, rows[i].second, 100, true);
		if (rows[i].second < 8)
			assert_int_equal(thesis_packets(&w), 8);
		ack(&w, 8 - rows[i].second, 100, false);
		if (packets(&w) != rows[i].next)
			fail_msg("%s: %g, not %g", rows[i].reason, packets(&w), rows[i].next);
	}
}

static void decbit_begins_with_one_packet_and_is_never_less(void **state)
{
	struct thesis_window w;

	(void)state;
	thesis_begin(&w, THESIS_DECBIT, 3);
	assert_int_equal(thesis_packets(&w), 1);
	ack(&w, 1, 3, false);
	assert_int_equal(thesis_packets(&w), 2);
	/* of one packet before and two */
	ack(&w, 2, 3, false);
	assert_int_equal(thesis_packets(&w), 2);
	ack(&w, 1, 3, false);
	assert_int_equal(thesis_packets(&w), 3);
	ack(&w, 100, 3, false);
	assert_int_equal(thesis_packets(&w), 3);
	/* the fraction is kept: 3 7/8 7/8 7/8 is 2.01 */
	ack(&w, 5 + 5 + 4, 3, true);
	ack(&w, 1000, 3, true);
	assert_int_equal(w.window_q16, THESIS_ONE_Q16);
}

static void decbit_is_one_packet_after_a_timeout(void **state)
{
	struct thesis_window w;

	(void)state;
	thesis_begin(&w, THESIS_DECBIT, 100);
	ack(&w, 500, 100, false);
	assert_true(thesis_packets(&w) > 10);
	thesis_lost(&w, false);
	assert_true(thesis_packets(&w) > 10);
	thesis_lost(&w, true);
	assert_int_equal(thesis_packets(&w), 1);
}

static void any_acks_and_losses_leave_a_window(void **state)
{
	int protocol, i;

	(void)state;
	srand(1);
	for (protocol = THESIS_GENERIC; protocol <= THESIS_DECBIT; protocol++) {
		struct thesis_window w;

		thesis_begin(&w, protocol, 0);
		for (i = 0; i < 200000; i++) {
			u32 most = i % 1000 < 500 ? U32_MAX : (u32)rand() % 100;

			if (rand() % 500)
				thesis_acked(&w, most, rand() % 3 == 0);
			else
				thesis_lost(&w, rand() % 2);
			assert_in_range(thesis_packets(&w), 1, THESIS_WINDOW_MAX);
			assert_true(w.left && w.marked <= w.counted);
		}
	}
}

static void a_timeout_is_two_round_trips(void **state)
{
	(void)state;
	assert_int_equal(thesis_timeout_us(1000000, 200000), 2000000);
	assert_int_equal(thesis_timeout_us(50000, 200000), 200000);
	assert_int_equal(thesis_timeout_us(U32_MAX, 0), U32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(generic_stays),
		cmocka_unit_test(jk_doubles_up_to_half_and_then_grows_by_one),
		cmocka_unit_test(jk_never_grows_beyond_the_most),
		cmocka_unit_test(decbit_looks_at_the_second_of_two_windows),
		cmocka_unit_test(decbit_begins_with_one_packet_and_is_never_less),
		cmocka_unit_test(decbit_is_one_packet_after_a_timeout),
		cmocka_unit_test(any_acks_and_losses_leave_a_window),
		cmocka_unit_test(a_timeout_is_two_round_trips),
	};

	return cmocka_run_group_tests_name("thesis_window", tests, NULL, NULL);
}
