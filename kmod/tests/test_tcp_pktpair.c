// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_pktpair.c with this test for a stack (stack/): what the adapter makes of the
 * stack's events. What the formulas make of the adapter's numbers is tested beside
 * each of them, and the kernel itself in the lab.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* the kernel's warnings are fewer than a test's */
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-const-variable"
#pragma GCC diagnostic ignored "-Wunused-variable"
#include "tcp_pktpair.c"

#include "stack/sender.h"

enum { AVERSE, RISKY, MEMO };

/* the stack's headers on a segment of 1448 bytes: 1514 bytes */
#define SECONDS(n) ((n) * 1000000000ULL)
#define SERVICE_NS(mbit) (1514 * 8 * 1000ULL / (mbit))
#define SHARE_BYTES_PS(mbit) ((1448ULL * NSEC_PER_SEC) / SERVICE_NS(mbit))

static struct sender s;
static struct pktpair *const ca = (struct pktpair *)s.sk.icsk_ca_priv;
static unsigned int traced;

static void stack_traced(const struct sock *sk, const struct pair_sample *sample,
			 const struct control_path *path,
			 const struct control_orders *orders)
{
	traced++;
}

static void begin(int preset, u64 service_ns, u64 rtt_ms)
{
	sender_init(&s, stack_algorithms[preset], service_ns, rtt_ms * NSEC_PER_MSEC);
}

static int set(const struct kernel_param *param, const char *value)
{
	return param->ops->set(value, param);
}

static u64 last_service;
static unsigned int changes;

static void check_train(struct sender *of, const struct rate_sample *rs)
{
	if (ca->service.value != last_service && ca->started) {
		assert_int_equal(ca->train, pair_train(&ca->probe, ca->service.value,
						       &pktpair_trains_of_knobs));
		changes++;
	}
	last_service = ca->service.value;
}

static void the_train_follows_every_change_of_the_share(void **state)
{
	begin(AVERSE, SERVICE_NS(10), 20);
	s.after_ack = check_train;
	sender_run(&s, SECONDS(2));
	assert_int_equal(ca->train, 4);
	/* a packet of a quarter of a megabit takes 48 ms: two are 97, three 145 */
	s.service_ns = SERVICE_NS(1) * 4;
	sender_run(&s, SECONDS(10));
	assert_int_equal(ca->train, 2);
	/* and at a gigabit eight last the 100 us that a train should */
	s.service_ns = SERVICE_NS(1000);
	sender_run(&s, SECONDS(1));
	assert_int_equal(ca->train, 8);
	assert_true(changes >= 2);
}

static void the_link_is_full_and_the_queue_at_its_setpoint(void **state)
{
	static const struct {
		int preset;
		u32 mbit, rtt_ms, ack_every;
	} rows[] = {
		{ AVERSE, 40, 20, 2 }, { AVERSE, 40, 20, 1 }, { AVERSE, 40, 20, 4 },
		{ AVERSE, 1, 100, 2 }, { AVERSE, 500, 10, 2 }, { AVERSE, 10, 1, 2 },
		{ RISKY, 40, 20, 2 }, { MEMO, 40, 20, 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		double full, used;
		u32 queue_us;

		begin(rows[i].preset, SERVICE_NS(rows[i].mbit), rows[i].rtt_ms);
		s.ack_every = rows[i].ack_every;
		sender_run(&s, SECONDS(4));
		used = sender_run(&s, SECONDS(4));
		full = 4.0 * NSEC_PER_SEC / s.service_ns;
		queue_us = (s.sk.srtt_us >> 3) - rows[i].rtt_ms * USEC_PER_MSEC;
		if (used < 0.97 * full)
			fail_msg("row %zu: %.4f of the link", i, used / full);
		/* five packets, and a train of eight at most */
		if (queue_us > 14 * s.service_ns / 1000)
			fail_msg("row %zu: %u us in the queue", i, queue_us);
	}
}

static void a_bad_knob_is_refused_by_name_and_limits(void **state)
{
	static const struct {
		const struct kernel_param *param;
		unsigned int *value;
		const char *bad, *message;
	} rows[] = {
		{ &stack_param_setpoint_packets, &setpoint_packets, "1\n",
			"setpoint_packets=1: not a number from 2 to 4096\n" },
		{ &stack_param_setpoint_packets, &setpoint_packets, "4097",
			"setpoint_packets=4097: not a number from 2 to 4096\n" },
		{ &stack_param_setpoint_max_us, &setpoint_max_us, "soon",
			"setpoint_max_us=soon: not a number from 100 to 10000000\n" },
		{ &stack_param_train_max, &pktpair_trains_of_knobs.train_max, "65",
			"train_max=65: not a number from 2 to 64\n" },
		{ &stack_param_first_window, &first_window, "99999999999",
			"first_window=99999999999: not a number from 0 to 1024\n" },
	};
	char shown[16], before[16];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned int value = *rows[i].value;

		assert_true(set(rows[i].param, rows[i].bad) < 0);
		if (!strstr(stack_message, rows[i].message))
			fail_msg("said: %s", stack_message);
		assert_int_equal(*rows[i].value, value);
		rows[i].param->ops->get(before, rows[i].param);
		assert_int_equal(set(rows[i].param, "7\n") ? 0 : *rows[i].value,
				 rows[i].param == &stack_param_setpoint_max_us ? 0 : 7);
		rows[i].param->ops->get(shown, rows[i].param);
		assert_int_equal(atoi(shown), *rows[i].value);
		assert_int_equal(set(rows[i].param, before), 0);
	}
}

static unsigned long trains_shown(const char *name)
{
	char text[512];
	const char *line;

	stack_param_trains.ops->get(text, &stack_param_trains);
	line = strstr(text, name);
	assert_non_null(line);
	return strtoul(line + strlen(name), NULL, 10);
}

static void trains_are_counted_by_what_became_of_them(void **state)
{
	unsigned long samples = trains_shown("sample"), held = trains_shown("held");
	unsigned long again = trains_shown("retransmitted"), all;

	begin(AVERSE, SERVICE_NS(10), 20);
	traced = 0;
	sender_run(&s, SECONDS(1));
	s.owned = true;
	sender_run(&s, 100 * NSEC_PER_MSEC);
	s.retransmitted = true;
	sender_run(&s, 100 * NSEC_PER_MSEC);
	assert_int_equal(trains_shown("held") - held, 1);
	assert_int_equal(trains_shown("retransmitted") - again, 1);
	all = trains_shown("sample") - samples + 2;
	assert_in_range(all, 200, 300);
	/* the tracepoint has each of them */
	assert_in_range(traced - all, 0, 2);
}

static u64 rate_highest;
static u32 window_highest;

static void note_highest(struct sender *of, const struct rate_sample *rs)
{
	assert_true(of->sk.sk_pacing_rate > 0);
	rate_highest = max_t(u64, rate_highest, of->sk.sk_pacing_rate);
	window_highest = max_t(u32, window_highest, of->sk.snd_cwnd);
}

static void the_pacing_rate_is_never_above_the_sockets_nor_zero(void **state)
{
	begin(AVERSE, SERVICE_NS(10), 20);
	s.sk.sk_max_pacing_rate = 250000;
	s.sk.snd_cwnd_clamp = 30;
	s.sk.icsk_ca_ops->init(&s.sk);
	assert_true(s.sk.sk_pacing_rate <= 250000);
	rate_highest = 0;
	window_highest = 0;
	s.after_ack = note_highest;
	sender_run(&s, SECONDS(4));
	assert_int_equal(rate_highest, 250000);
	assert_true(window_highest <= 30);
	assert_int_equal(s.sk.sk_pacing_status, SK_PACING_NEEDED);
}

static void a_loss_or_a_mark_cuts_the_setpoint_once_and_a_timeout_resets_it(void **state)
{
	int marked;

	for (marked = 0; marked < 2; marked++) {
		begin(AVERSE, SERVICE_NS(40), 20);
		sender_run(&s, SECONDS(1));
		assert_int_equal(ca->aim_q8, 5 * 256);
		s.marks = marked;
		s.losses = !marked;
		sender_run(&s, 2 * NSEC_PER_MSEC);
		assert_int_equal(ca->aim_q8, 5 * 192);
		/* another in the same round trip is the same congestion */
		s.marks = marked;
		s.losses = !marked;
		sender_run(&s, 2 * NSEC_PER_MSEC);
		assert_int_equal(ca->aim_q8, 5 * 192);
		s.sk.icsk_ca_ops->set_state(&s.sk, TCP_CA_Recovery);
		assert_int_equal(ca->setpoint.target_q8, 5 * 192);
		s.sk.icsk_ca_ops->set_state(&s.sk, TCP_CA_Loss);
		sender_run(&s, 2 * NSEC_PER_MSEC);
		assert_int_equal(ca->aim_q8, 5 * 256);
	}
}

static void a_loss_takes_nothing_from_rate_and_window(void **state)
{
	u32 window;

	begin(AVERSE, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(1));
	window = s.sk.snd_cwnd;
	assert_int_equal(s.sk.icsk_ca_ops->ssthresh(&s.sk), TCP_INFINITE_SSTHRESH);
	assert_int_equal(s.sk.icsk_ca_ops->undo_cwnd(&s.sk), window);
	assert_int_equal(s.sk.snd_ssthresh, TCP_INFINITE_SSTHRESH);
	s.losses = 1;
	sender_run(&s, 5 * NSEC_PER_MSEC);
	assert_true(s.sk.sk_pacing_rate >= SHARE_BYTES_PS(10) / 2);
	assert_true(s.sk.snd_cwnd + 4 >= window);
}

static void the_device_gets_its_segment_limit_back(void **state)
{
	begin(AVERSE, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(1));
	assert_int_equal(s.sk.sk_gso_max_segs, 4);
	s.sk.icsk_ca_ops->release(&s.sk);
	assert_int_equal(s.sk.sk_gso_max_segs, U16_MAX);

	/* a new route wrote a limit of its own: it is heeded, and given back */
	begin(AVERSE, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(1));
	s.sk.sk_gso_max_segs = 3;
	sender_run(&s, SECONDS(1));
	assert_int_equal(s.sk.sk_gso_max_segs, 3);
	s.sk.icsk_ca_ops->release(&s.sk);
	assert_int_equal(s.sk.sk_gso_max_segs, 3);
	/* and one that came after our last skb is left alone */
	begin(AVERSE, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(1));
	s.sk.sk_gso_max_segs = 17;
	s.sk.icsk_ca_ops->release(&s.sk);
	assert_int_equal(s.sk.sk_gso_max_segs, 17);
}

static void trains_stay_within_their_bounds(void **state)
{
	assert_int_equal(set(&stack_param_train_max, "6"), 0);
	begin(AVERSE, SERVICE_NS(1000), 20);
	sender_run(&s, SECONDS(1));
	assert_int_equal(ca->train, 6);
	assert_int_equal(set(&stack_param_train_max, "64"), 0);
	assert_int_equal(set(&stack_param_train_min, "8"), 0);
	begin(AVERSE, SERVICE_NS(40), 20);
	sender_run(&s, SECONDS(1));
	assert_int_equal(ca->train, 8);
	assert_int_equal(set(&stack_param_train_min, "4"), 0);
	/* what an skb of the device's size cannot hold is not aimed for */
	begin(AVERSE, SERVICE_NS(1000), 20);
	s.sk.sk_gso_max_size = 5 * 1448;
	sender_run(&s, SECONDS(1));
	assert_int_equal(ca->train, 5);
	begin(MEMO, SERVICE_NS(1000), 20);
	sender_run(&s, SECONDS(1));
	assert_int_equal(s.sk.sk_gso_max_segs, 2);
}

static void without_gaps_deliveries_are_the_share(void **state)
{
	double used;

	/* single segments come back without a gap */
	begin(AVERSE, SERVICE_NS(10), 20);
	s.sk.sk_gso_max_segs = 1;
	s.sk.icsk_ca_ops->init(&s.sk);
	sender_run(&s, SECONDS(4));
	used = (double)sender_run(&s, SECONDS(8)) * s.service_ns /
	       (8.0 * NSEC_PER_SEC);
	if (used < 0.9)
		fail_msg("%.3f of the link", used);
}

static void what_an_application_sends_is_not_the_share(void **state)
{
	u64 share_q10;
	int i;

	begin(AVERSE, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(2));
	share_q10 = ca->service.value;
	/* a packet in five milliseconds, of the four that the link carries: no gaps */
	for (i = 0; i < 400; i++) {
		s.waiting = 1;
		sender_run(&s, 5 * NSEC_PER_MSEC);
		assert_in_range(ca->service.value, share_q10 * 98 / 100,
				share_q10 * 102 / 100);
	}
	/* and then as much as there is: the share within two round trips */
	s.waiting = U32_MAX;
	sender_run(&s, 40 * NSEC_PER_MSEC);
	assert_true(sender_run(&s, 200 * NSEC_PER_MSEC) * s.service_ns >
		    195 * NSEC_PER_MSEC);
}

static void after_a_pause_the_share_is_known(void **state)
{
	begin(AVERSE, SERVICE_NS(10), 20);
	s.waiting = 2000;
	sender_run(&s, SECONDS(8));
	assert_int_equal(s.sk.packets_out, 0);
	s.waiting = U32_MAX;
	sender_run(&s, 25 * NSEC_PER_MSEC);
	assert_true(sender_run(&s, 200 * NSEC_PER_MSEC) * s.service_ns >
		    190 * NSEC_PER_MSEC);
}

static void nonsense_is_forgotten(void **state)
{
	int i;

	begin(AVERSE, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(2));
	for (i = 0; i < 1000; i++) {
		struct rate_sample rs = {
			.acked_sacked = (u32)rand() % 3,
			.delivered = rand() % 2000 - 10,
			.interval_us = rand() % 3000000 - 10,
			.losses = rand() % 7 == 0,
			.prior_delivered = s.sk.delivered - (u32)rand() % 1000,
			.is_retrans = rand() % 9 == 0,
		};

		s.sk.tcp_clock_cache += (u64)rand() % 90000000;
		s.sk.tcp_mstamp = s.sk.tcp_clock_cache / NSEC_PER_USEC;
		s.sk.first_tx_mstamp = s.sk.tcp_mstamp - (u32)rand() % 2000000;
		s.sk.icsk_ca_ops->cong_control(&s.sk, &rs);
		note_highest(&s, &rs);
	}
	s.now_ns = max_t(u64, s.now_ns, s.sk.tcp_clock_cache);
	/* the propagation delay is looked for again after ten seconds */
	sender_run(&s, SECONDS(15));
	assert_in_range(ca->service.value >> 10, SERVICE_NS(10) * 97 / 100,
			SERVICE_NS(10) * 103 / 100);
	assert_in_range(ca->prop.delay_us, 20000, 23000);
	assert_true(sender_run(&s, SECONDS(1)) * s.service_ns >
		    980 * NSEC_PER_MSEC);
}

static void a_name_that_is_taken_leaves_nothing_behind(void **state)
{
	int before = stack_registered;

	stack_module_exit();
	assert_int_equal(stack_registered, before - 3);
	for (stack_register_fails_at = 0; stack_register_fails_at < 3;
	     stack_register_fails_at++) {
		assert_true(stack_module_init() < 0);
		assert_int_equal(stack_registered, 0);
	}
	stack_register_fails_at = -1;
	assert_int_equal(stack_module_init(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_train_follows_every_change_of_the_share),
		cmocka_unit_test(the_link_is_full_and_the_queue_at_its_setpoint),
		cmocka_unit_test(a_bad_knob_is_refused_by_name_and_limits),
		cmocka_unit_test(trains_are_counted_by_what_became_of_them),
		cmocka_unit_test(the_pacing_rate_is_never_above_the_sockets_nor_zero),
		cmocka_unit_test(a_loss_or_a_mark_cuts_the_setpoint_once_and_a_timeout_resets_it),
		cmocka_unit_test(a_loss_takes_nothing_from_rate_and_window),
		cmocka_unit_test(the_device_gets_its_segment_limit_back),
		cmocka_unit_test(trains_stay_within_their_bounds),
		cmocka_unit_test(without_gaps_deliveries_are_the_share),
		cmocka_unit_test(what_an_application_sends_is_not_the_share),
		cmocka_unit_test(after_a_pause_the_share_is_known),
		cmocka_unit_test(nonsense_is_forgotten),
		cmocka_unit_test(a_name_that_is_taken_leaves_nothing_behind),
	};

	if (stack_module_init())
		return 1;
	return cmocka_run_group_tests_name("tcp_pktpair", tests, NULL, NULL);
}
