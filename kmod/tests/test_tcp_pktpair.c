// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_pktpair.c with this test for a stack (stack/): what the adapter makes of the
 * stack's events. What the formulas make of the adapter's numbers is tested beside
 * each of them, and the kernel itself in the lab.
 */
#include <math.h>
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

#include "draw.h"
#include "stack/sender.h"

enum { DEFAULT, MEMO };

/* the stack's headers on a segment of 1448 bytes: 1514 bytes */
#define SECONDS(n) ((n) * 1000000000ULL)
#define SERVICE_NS(mbit) (1514 * 8 * 1000ULL / (mbit))
#define SHARE_BYTES_PS(mbit) ((1448ULL * NSEC_PER_SEC) / SERVICE_NS(mbit))

static struct sender s;
static struct pktpair *const ca = (struct pktpair *)s.sk.icsk_ca_priv;
static unsigned int traced;
static struct control_path traced_path;
/* sum and number of the service times that the law counted on */
static double counted_on_ns;
static unsigned int counted_on;
static u64 gaps_ns, gaps;

static void stack_traced_pktpair_sample(const struct sock *sk, const struct pair_sample *sample,
					const struct control_path *path,
					const struct control_orders *orders)
{
	traced++;
	if (sample->verdict == PAIR_SAMPLE) {
		gaps_ns += sample->span_ns;
		gaps += sample->segments;
	}
	traced_path = *path;
	if (path->service_q10) {
		counted_on_ns += (double)path->service_q10 / (1 << PAIR_SERVICE_SHIFT);
		counted_on++;
	}
}

static struct in_turn_block traced_block;

static void stack_traced_pktpair_turns(const struct sock *sk, const struct in_turn *turns,
				       const struct in_turn_block *block, u32 rounds)
{
	traced_block = *block;
}

static void begin(int preset, u64 service_ns, u64 rtt_ms)
{
	sender_init(&s, stack_algorithms[preset], service_ns, rtt_ms * NSEC_PER_MSEC);
}

/* The socket changes to the algorithm that it has */
static void begin_again(void)
{
	sender_change(&s, s.sk.icsk_ca_ops);
}

/* In a state of the stack's, which set_state() was told of long ago */
static void be_in_state(u8 state)
{
	s.sk.icsk_ca_state = state;
	ca->unusual = 1;
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
		u32 train = pair_train(&ca->probe, ca->service.value, ca->prop.delay_us,
				       &pktpair_trains_of_knobs);
		u32 least = in_turn_least_train(&ca->evidence->turns, PAIR_TRAIN_SHOWS_GAP);

		assert_int_equal(ca->train,
				 round_train_most(&ca->evidence->check, train, least));
		changes++;
	}
	last_service = ca->service.value;
}

static void the_train_follows_every_change_of_the_share(void **state)
{
	begin(DEFAULT, SERVICE_NS(10), 20);
	s.after_ack = check_train;
	sender_run(&s, SECONDS(2));
	assert_int_equal(ca->train, 4);
	/* a packet of a quarter of a megabit takes 48 ms: two are 97, three 145 */
	s.service_ns = SERVICE_NS(1) * 4;
	sender_run(&s, SECONDS(10));
	assert_int_equal(ca->train, 2);
	/* and at a gigabit eight last the 100 us that a train should */
	s.service_ns = SERVICE_NS(1000);
	/* a share grows three or four times in a round trip */
	sender_run(&s, SECONDS(2));
	assert_int_equal(ca->train, 8);
	assert_true(changes >= 2);
}

static void the_link_is_full_and_the_queue_at_its_setpoint(void **state)
{
	static const struct {
		int preset;
		u32 mbit, rtt_ms, ack_every;
	} rows[] = {
		{ DEFAULT, 40, 20, 2 }, { DEFAULT, 40, 20, 1 }, { DEFAULT, 40, 20, 4 },
		{ DEFAULT, 1, 100, 2 }, { DEFAULT, 500, 10, 2 }, { DEFAULT, 10, 1, 2 },
		{ MEMO, 40, 20, 1 },
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

/* the least and the greatest error of the service time, and the least part of the link */
struct bounds {
	double least, most, used;
};

static void check_bunches(int preset, const struct bounds *bounds)
{
	static const struct {
		u64 service_us, period_us, taken_us, ack_us;
	} rows[] = {
		/* behind one to four packets of a link of 4 Mbit/s */
		{ 250, 4100, 3000, 130 }, { 250, 8300, 6100, 130 },
		{ 500, 8300, 6100, 130 }, { 1000, 13500, 12100, 130 },
		/* an interrupt every one to three milliseconds */
		{ 300, 1000, 990, 1 }, { 250, 1000, 990, 1 }, { 100, 1000, 990, 1 },
		{ 100, 2000, 1990, 1 }, { 300, 3000, 2990, 1 }, { 800, 3000, 2990, 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		double error, full, used;

		begin(preset, rows[i].service_us * NSEC_PER_USEC, 44);
		s.back_period_ns = rows[i].period_us * NSEC_PER_USEC;
		s.back_taken_ns = rows[i].taken_us * NSEC_PER_USEC;
		s.ack_ns = rows[i].ack_us * NSEC_PER_USEC;
		sender_run(&s, SECONDS(2));
		counted_on_ns = counted_on = 0;
		used = sender_run(&s, SECONDS(4));
		full = 4.0 * NSEC_PER_SEC / s.service_ns;
		error = counted_on_ns / counted_on / s.service_ns - 1;
		if (error < bounds->least || error > bounds->most ||
		    used < bounds->used * full)
			fail_msg("row %zu: service time %+.3f, %.3f of the link", i,
				 error, used / full);
	}
}

static void acks_in_bunches_are_not_the_share(void **state)
{
	/* a tenth where trains and interrupts keep step, 0.05 elsewhere */
	check_bunches(DEFAULT, &(struct bounds) { -0.1, 0.1, 0.9 });
}

/* Small packets, of which many are served in a turn among full ones: trains that fall
 * into step with the turns are wrong in the mean
 */
static void check_turns(int preset, const struct bounds *bounds)
{
	static const struct {
		u32 turn, others_us, packet_us, rtt_ms;
	} rows[] = {
		{ 9, 6000, 200, 100 }, { 10, 6000, 200, 40 }, { 9, 4000, 200, 40 },
		{ 9, 14000, 200, 100 }, { 9, 1200, 40, 20 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		double full, used, error, gap;

		begin(preset, rows[i].packet_us * NSEC_PER_USEC, rows[i].rtt_ms);
		s.sk.mss_cache = 98;
		begin_again();
		s.turn = rows[i].turn;
		s.turn_left = s.turn;
		s.others_ns = rows[i].others_us * NSEC_PER_USEC;
		sender_run(&s, SECONDS(3));
		counted_on_ns = counted_on = 0;
		gaps_ns = gaps = 0;
		used = sender_run(&s, SECONDS(6));
		full = s.service_ns + (double)s.others_ns / s.turn;
		error = counted_on_ns / counted_on / full - 1;
		gap = (double)gaps_ns / gaps / full - 1;
		used *= full / (6.0 * NSEC_PER_SEC);
		if (error < bounds->least || error > bounds->most ||
		    used < bounds->used || fabs(gap) > 0.03)
			fail_msg("row %zu: service time %+.3f, gap %+.3f, %.3f of the share",
				 i, error, gap, used);
	}
}

static void packets_that_are_served_many_at_once_show_their_share(void **state)
{
	check_turns(DEFAULT, &(struct bounds) { -0.03, 0.03, 0.98 });
}

static u32 longest_us;

static void note_longest(struct sender *of, const struct rate_sample *rs)
{
	(void)rs;
	longest_us = max_t(u32, longest_us, of->sk.srtt_us >> 3);
}

/* Short trains may keep step with the bunches, and then a mean is as wrong as they are */
static void a_mean_in_bunches_makes_no_queue_of_many_round_trips(void **state)
{
	static const struct {
		u64 service_us, period_us, taken_us;
	} rows[] = { { 100, 1000, 990 }, { 300, 3000, 2990 } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		begin(DEFAULT, rows[i].service_us * NSEC_PER_USEC, 44);
		s.back_period_ns = rows[i].period_us * NSEC_PER_USEC;
		s.back_taken_ns = rows[i].taken_us * NSEC_PER_USEC;
		s.ack_ns = NSEC_PER_USEC;
		sender_run(&s, SECONDS(6));
		longest_us = 0;
		s.after_ack = note_longest;
		sender_run(&s, SECONDS(20));
		if (longest_us > 6 * 44 * USEC_PER_MSEC)
			fail_msg("row %zu: a round trip of %u us", i, longest_us);
	}
}

static void acks_that_are_jittered_make_no_queue_of_many_round_trips(void **state)
{
	static const u64 jitters_us[] = { 150, 300, 500, 800, 2000 };
	size_t i, drawn;

	for (i = 0; i < ARRAY_SIZE(jitters_us); i++) {
		for (drawn = 1; drawn <= 10; drawn++) {
			begin(DEFAULT, 100 * NSEC_PER_USEC, 44);
			s.sk.mss_cache = 448;
			begin_again();
			s.ack_ns = NSEC_PER_USEC;
			s.jitter_ns = jitters_us[i] * NSEC_PER_USEC;
			s.drawn = drawn;
			/* the first train is believed whatever it shows */
			sender_run(&s, SECONDS(1));
			longest_us = 0;
			s.after_ack = note_longest;
			sender_run(&s, SECONDS(4));
			if (longest_us > 5 * 44 * USEC_PER_MSEC)
				fail_msg("%llu us, %zu: a round trip of %u us", jitters_us[i],
					 drawn, longest_us);
		}
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

	begin(DEFAULT, SERVICE_NS(10), 20);
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

/* While losses are repaired every train may be of what is sent again: pktpair_1994 reads its
 * share from these, if a SACK says which packet has arrived
 */
static void the_memorandum_takes_pairs_that_are_sent_again(void **state)
{
	static const struct {
		int preset;
		bool sackless, reads;
	} rows[] = {
		{ MEMO, false, true },
		{ MEMO, true, false },
		{ DEFAULT, false, false },
	};
	size_t i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned long samples, again;

		begin(rows[i].preset, SERVICE_NS(10), 20);
		s.ack_every = 1;
		sender_run(&s, SECONDS(1));
		s.sk.sackless = rows[i].sackless;
		samples = trains_shown("sample");
		again = trains_shown("retransmitted");
		for (k = 0; k < 200; k++) {
			/* each ACK has it */
			s.retransmitted = true;
			sender_run(&s, NSEC_PER_MSEC / 2);
		}
		assert_int_equal(trains_shown("sample") > samples + 5, rows[i].reads);
		assert_int_equal(trains_shown("retransmitted") > again, !rows[i].reads);
	}
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
	begin(DEFAULT, SERVICE_NS(10), 20);
	s.sk.sk_max_pacing_rate = 250000;
	s.sk.snd_cwnd_clamp = 30;
	begin_again();
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
		begin(DEFAULT, SERVICE_NS(40), 20);
		sender_run(&s, SECONDS(1));
		assert_int_equal(ca->aim_q8, 5 * 256);
		s.marked = marked;
		s.losses = !marked;
		sender_run(&s, 2 * NSEC_PER_MSEC);
		assert_int_equal(ca->aim_q8, 5 * 192);
		/* another in the same round trip is the same congestion */
		s.marked = marked;
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

	begin(DEFAULT, SERVICE_NS(10), 20);
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
	begin(DEFAULT, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(1));
	assert_int_equal(s.sk.sk_gso_max_segs, 4);
	s.sk.icsk_ca_ops->release(&s.sk);
	assert_int_equal(s.sk.sk_gso_max_segs, U16_MAX);

	/* a new route wrote a limit of its own: it is heeded, and given back */
	begin(DEFAULT, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(1));
	s.sk.sk_gso_max_segs = 3;
	sender_run(&s, SECONDS(1));
	assert_int_equal(s.sk.sk_gso_max_segs, 3);
	s.sk.icsk_ca_ops->release(&s.sk);
	assert_int_equal(s.sk.sk_gso_max_segs, 3);
	/* and one that came after our last skb is left alone */
	begin(DEFAULT, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(1));
	s.sk.sk_gso_max_segs = 17;
	s.sk.icsk_ca_ops->release(&s.sk);
	assert_int_equal(s.sk.sk_gso_max_segs, 17);
}

static void trains_stay_within_their_bounds(void **state)
{
	assert_int_equal(set(&stack_param_train_max, "6"), 0);
	begin(DEFAULT, SERVICE_NS(1000), 20);
	sender_run(&s, SECONDS(1));
	assert_int_equal(ca->train, 6);
	assert_int_equal(set(&stack_param_train_max, "64"), 0);
	assert_int_equal(set(&stack_param_train_min, "8"), 0);
	begin(DEFAULT, SERVICE_NS(40), 20);
	sender_run(&s, SECONDS(1));
	assert_int_equal(ca->train, 8);
	assert_int_equal(set(&stack_param_train_min, "4"), 0);
	/* what an skb of the device's size cannot hold is not aimed for */
	begin(DEFAULT, SERVICE_NS(1000), 20);
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
	begin(DEFAULT, SERVICE_NS(10), 20);
	s.sk.sk_gso_max_segs = 1;
	begin_again();
	sender_run(&s, SECONDS(4));
	used = (double)sender_run(&s, SECONDS(8)) * s.service_ns /
	       (8.0 * NSEC_PER_SEC);
	if (used < 0.9)
		fail_msg("%.3f of the link", used);
}

/* Below 380 kbit/s of full packets trains are too short for a stock receiver's ACKs, and
 * below 190 for any
 */
static void a_slow_share_that_grows_is_used(void **state)
{
	static const struct {
		u32 from_ms, to_us, rtt_ms, ack_every;
	} rows[] = {
		{ 32, 1200, 100, 2 }, { 40, 1200, 100, 2 }, { 44, 12200, 100, 2 },
		{ 50, 12200, 20, 2 }, { 56, 1200, 300, 2 }, { 60, 1200, 100, 2 },
		{ 68, 9500, 500, 2 }, { 80, 39000, 152, 2 }, { 94, 1700, 195, 2 },
		{ 68, 9500, 500, 1 }, { 160, 1800, 440, 1 }, { 162, 37000, 492, 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		double used;

		begin(DEFAULT, rows[i].from_ms * NSEC_PER_MSEC, rows[i].rtt_ms);
		s.ack_every = rows[i].ack_every;
		sender_run(&s, SECONDS(30));
		s.service_ns = rows[i].to_us * NSEC_PER_USEC;
		sender_run(&s, SECONDS(30));
		/* longer than from one drain of the queue to the next, 25 s at most */
		used = (double)sender_run(&s, SECONDS(30)) * s.service_ns /
		       (30.0 * NSEC_PER_SEC);
		if (used < 0.95)
			fail_msg("row %zu: %.3f of the link", i, used);
	}
}

static void what_an_application_sends_is_not_the_share(void **state)
{
	u64 share_q10;
	int i;

	begin(DEFAULT, SERVICE_NS(10), 20);
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
	begin(DEFAULT, SERVICE_NS(10), 20);
	s.waiting = 2000;
	sender_run(&s, SECONDS(8));
	assert_int_equal(s.sk.packets_out, 0);
	s.waiting = U32_MAX;
	sender_run(&s, 25 * NSEC_PER_MSEC);
	assert_true(sender_run(&s, 200 * NSEC_PER_MSEC) * s.service_ns >
		    190 * NSEC_PER_MSEC);
}

/* ACKs that no stack would make up, of a path that behaves otherwise */
static void burst_of_nonsense(u32 acks)
{
	while (acks--) {
		struct rate_sample rs = {
			.acked_sacked = (u32)draw(3),
			.delivered = (s32)draw_scale(11) - 5,
			.interval_us = 1000 + (long)draw_scale(21),
			.losses = !draw(7),
			.prior_delivered = s.sk.delivered - (u32)draw(1000),
			.is_retrans = !draw(9),
			.is_app_limited = !draw(5),
			.is_ack_delayed = !draw(9),
		};
		/* what makes a sample is of a packet; of a reneging receiver's no sample is */
		bool of_a_packet = rs.delivered > 0 || rs.acked_sacked == 1;

		s.now_ns += 10000 + draw_scale(26);
		s.sk.tcp_clock_cache = s.now_ns;
		s.sk.tcp_mstamp = s.now_ns / NSEC_PER_USEC;
		rs.prior_mstamp = of_a_packet ? s.sk.tcp_mstamp - 1 : 0;
		if (draw(2))
			s.sk.first_tx_mstamp = s.sk.tcp_mstamp -
				min_t(u64, 1000 + draw_scale(20), s.sk.tcp_mstamp);
		s.sk.owned = !draw(9);
		s.sk.icsk_ca_ops->cong_control(&s.sk, &rs);
		if (s.after_ack)
			s.after_ack(&s, &rs);
		if (!draw(9))
			sender_run(&s, draw_scale(26));
	}
	s.sk.owned = false;
}

static void after_any_nonsense_share_and_delay_are_found_again(void **state)
{
	unsigned int path;

	for (path = 0; path < 40; path++) {
		u64 service_ns = 500000 + draw_scale(26);
		u32 rtt_ms = 2 + (u32)draw_scale(9), highest_us;
		double used, error;

		assert_int_equal(set(&stack_param_setpoint_probing, path % 2 ? "1" : "0"), 0);
		begin(DEFAULT, service_ns, rtt_ms);
		s.ack_every = 1 + path % 3 % 2;
		sender_run(&s, draw_scale(31));
		burst_of_nonsense((u32)draw_scale(9));
		/* what was sent meanwhile has to leave; and then the delay is looked for
		 * after a minute at most, and again where it was far off
		 */
		sender_run(&s, s.sk.packets_out * service_ns + SECONDS(140));
		counted_on_ns = counted_on = 0;
		used = (double)sender_run(&s, SECONDS(20)) * service_ns /
		       (20.0 * NSEC_PER_SEC);
		error = counted_on_ns / counted_on / service_ns - 1;
		/* two packets or an ACK's wait for its timer are in each round trip */
		highest_us = (u32)((rtt_ms * NSEC_PER_MSEC + 2 * service_ns +
				    SENDER_DELACK_NS) / NSEC_PER_USEC);
		if (used < 0.9 || fabs(error) > 0.1 || ca->prop.delay_us > highest_us)
			fail_msg("path %u: %u ms, %llu ns a packet: delay %u us, service time %+.3f, %.3f of the link",
				 path, rtt_ms, (unsigned long long)service_ns,
				 ca->prop.delay_us, error, used);
	}
	assert_int_equal(set(&stack_param_setpoint_probing, "0"), 0);
}

static void check_bounds(struct sender *of, const struct rate_sample *rs)
{
	assert_true(of->sk.sk_pacing_rate > 0);
	assert_true(of->sk.sk_pacing_rate <= of->sk.sk_max_pacing_rate);
	assert_true(of->sk.snd_cwnd > 0);
	assert_true(of->sk.snd_cwnd <= of->sk.snd_cwnd_clamp);
}

static void whatever_comes_rate_and_window_are_within_their_bounds(void **state)
{
	static const u8 states[] = { TCP_CA_Open, TCP_CA_CWR, TCP_CA_Recovery,
				     TCP_CA_Loss };
	unsigned int path, i;

	for (path = 0; path < 200; path++) {
		begin((int)(path % 2), 1000 + draw_scale(27), 1 + draw_scale(9));
		s.after_ack = check_bounds;
		for (i = 0; i < 20; i++) {
			/* both at once, as setsockopt() does it */
			s.sk.sk_max_pacing_rate = 1 + draw_scale(32);
			s.sk.sk_pacing_rate = min_t(u64, s.sk.sk_pacing_rate,
						    s.sk.sk_max_pacing_rate);
			s.sk.snd_cwnd_clamp = 1 + (u32)draw(300);
			s.sk.snd_cwnd = min_t(u32, s.sk.snd_cwnd, s.sk.snd_cwnd_clamp);
			s.service_ns = 1000 + draw_scale(27);
			s.prop_ns = draw_scale(30);
			s.ack_every = 1 + (u32)draw(20);
			s.waiting = draw(4) ? U32_MAX : draw(100);
			s.losses = !draw(3);
			s.marked = !draw(3);
			s.sk.icsk_ca_state = states[draw(ARRAY_SIZE(states))];
			s.sk.icsk_ca_ops->set_state(&s.sk, s.sk.icsk_ca_state);
			sender_run(&s, draw_scale(28));
			burst_of_nonsense((u32)draw(20));
		}
	}
}

/* An ACK of the test's own: so much later, of the train before or of another one.
 * It ends no round trip unless the sample says so.
 */
static void take_ack(u64 later_ns, bool other_train, struct rate_sample rs)
{
	s.sk.tcp_clock_cache += later_ns;
	s.sk.tcp_mstamp = s.sk.tcp_clock_cache / NSEC_PER_USEC;
	s.sk.rx_opt.rcv_tsval = SENDER_TICKS + (u32)(s.sk.tcp_mstamp / USEC_PER_MSEC);
	if (other_train)
		s.sk.first_tx_mstamp = s.sk.tcp_mstamp - 25000;
	if (!rs.prior_delivered)
		rs.prior_delivered = ca->round_delivered - 1;
	/* what makes a sample, makes it of a packet */
	if (rs.delivered > 0)
		rs.prior_mstamp = s.sk.tcp_mstamp - 25000;
	s.sk.icsk_ca_ops->cong_control(&s.sk, &rs);
}

/* A train of four, a millisecond after the one before, two segments an ACK */
static void take_train(u64 service_ns)
{
	const struct rate_sample rs = {
		.acked_sacked = 2, .delivered = 16, .interval_us = 25000,
	};

	take_ack(NSEC_PER_MSEC, true, rs);
	take_ack(2 * service_ns, false, rs);
}

static void before_the_first_gap_the_window_grows_by_what_is_delivered(void **state)
{
	static const struct {
		u8 ca_state;
		u32 acked;
		s32 delivered;
		bool app_limited, binds;
		u32 window;
		const char *reason;
	} rows[] = {
		{ TCP_CA_Open, 2, 2, false, true, 12, "two delivered" },
		{ TCP_CA_Loss, 2, 2, false, true, 14, "after a timeout as well" },
		{ TCP_CA_Open, 2, 2, true, true, 14, "it is not the window that holds it up" },
		{ TCP_CA_Open, 2, 2, false, false, 14, "nor here: the receiver's does" },
		{ TCP_CA_Recovery, 2, 2, false, true, 14, "something was lost" },
		{ TCP_CA_CWR, 2, 2, false, true, 14, "something was marked" },
		{ TCP_CA_Open, 0, -1, false, true, 14, "nothing delivered" },
		{ TCP_CA_Loss, 2, -1, false, true, 14, "delivered before already" },
		{ TCP_CA_Open, 9, 9, false, true, 20, "what the socket allows" },
	};
	size_t i;

	begin(DEFAULT, SERVICE_NS(10), 20);
	s.sk.snd_cwnd_clamp = 20;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		be_in_state(rows[i].ca_state);
		s.sk.window_binds = rows[i].binds;
		take_ack(NSEC_PER_MSEC, true, (struct rate_sample) {
			.acked_sacked = rows[i].acked,
			.delivered = rows[i].delivered,
			.is_app_limited = rows[i].app_limited,
		});
		if (s.sk.snd_cwnd != rows[i].window)
			fail_msg("%s: %u", rows[i].reason, s.sk.snd_cwnd);
	}
	assert_int_equal(ca->service.value, 0);
	/* four times in a round trip */
	assert_int_equal(s.sk.sk_pacing_rate, 4 * 20 * 1448 * 50);
}

static void what_arrives_twice_shows_nothing(void **state)
{
	struct pair_probe probe;
	struct propagation_delay prop;
	u32 window;

	begin(DEFAULT, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(1));
	/* anything would do for a round trip */
	ca->prop.delay_us = PROP_UNKNOWN_US;
	probe = ca->probe;
	prop = ca->prop;
	window = s.sk.snd_cwnd;
	take_ack(NSEC_PER_MSEC, false, (struct rate_sample) {
		.acked_sacked = 2, .delivered = -1, .interval_us = -1,
	});
	assert_int_equal(memcmp(&ca->probe, &probe, sizeof(probe)), 0);
	assert_int_equal(memcmp(&ca->prop, &prop, sizeof(prop)), 0);
	assert_int_equal(s.sk.snd_cwnd, window);
}

static void the_first_train_is_believed_while_it_comes_back(void **state)
{
	begin(DEFAULT, SERVICE_NS(10), 20);
	/* its four segments take 5 ms, and its successor two more */
	sender_run(&s, 25500 * NSEC_PER_USEC);
	assert_false(ca->started);
	assert_in_range(ca->service.value >> 10, SERVICE_NS(10) - 2, SERVICE_NS(10) + 2);
}

static void the_first_flight_is_what_the_knobs_know(void **state)
{
	static const struct {
		const char *rate, *window;
		int preset;
		u32 clamp, sent, packets;
		u64 rate_bytes_ps;
		const char *reason;
	} rows[] = {
		{ "0", "0", DEFAULT, 1000, 0, 10, 4 * 10 * 1448 * 50, "the stack's" },
		{ "0", "30", DEFAULT, 1000, 0, 30, 4 * 30 * 1448 * 50, "so many" },
		{ "0", "30", DEFAULT, 20, 0, 20, 4 * 20 * 1448 * 50, "as allowed" },
		{ "0", "30", MEMO, 1000, 0, 2, 4 * 2 * 1448 * 50, "a pair" },
		{ "8000", "0", DEFAULT, 1000, 0, 14, 1000000, "20 kB in 20 ms" },
		{ "8000", "0", DEFAULT, 12, 0, 12, 1000000, "as allowed" },
		{ "1000", "0", DEFAULT, 1000, 0, 10, 125000, "no less than without" },
		{ "8000", "0", MEMO, 1000, 0, 14, 1000000, "the nominal rate" },
		{ "8000", "30", DEFAULT, 1000, 5, 10, 1000000, "it runs already" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(set(&stack_param_first_rate_kbit, rows[i].rate), 0);
		assert_int_equal(set(&stack_param_first_window, rows[i].window), 0);
		begin(rows[i].preset, SERVICE_NS(10), 20);
		s.sk.snd_cwnd = 10;
		s.sk.snd_cwnd_clamp = rows[i].clamp;
		s.sk.data_segs_out = rows[i].sent;
		begin_again();
		if (s.sk.snd_cwnd != rows[i].packets ||
		    s.sk.sk_pacing_rate != rows[i].rate_bytes_ps)
			fail_msg("%s: %u packets, %lu bytes/s", rows[i].reason,
				 s.sk.snd_cwnd, s.sk.sk_pacing_rate);
	}
	assert_int_equal(set(&stack_param_first_window, "0"), 0);
	/* chosen before the handshake has told the MSS, which the stack takes for 536 */
	begin(DEFAULT, SERVICE_NS(10), 20);
	s.sk.mss_cache = 536;
	begin_again();
	s.sk.snd_cwnd = 10;
	s.sk.mss_cache = 1448;
	s.sk.icsk_ca_ops->min_tso_segs(&s.sk);
	assert_int_equal(s.sk.snd_cwnd, 10);
	assert_int_equal(ca->mss, 1448);
	assert_false(ca->mixed);
	/* the known rate is used until a gap has shown another */
	begin(DEFAULT, SERVICE_NS(40), 20);
	assert_int_equal(s.sk.sk_pacing_rate, 1000000);
	sender_run(&s, SECONDS(1));
	assert_true(s.sk.sk_pacing_rate > SHARE_BYTES_PS(40) / 2);
	assert_int_equal(set(&stack_param_first_rate_kbit, "0"), 0);
}

static void the_window_is_never_above_the_sockets(void **state)
{
	begin(DEFAULT, SERVICE_NS(10), 20);
	s.sk.snd_cwnd_clamp = 12;
	window_highest = 0;
	s.after_ack = note_highest;
	sender_run(&s, SECONDS(2));
	assert_int_equal(window_highest, 12);
}

static void an_ack_that_a_timer_sent_ends_no_gap_and_is_no_round_trip(void **state)
{
	static const struct {
		bool said;
		u32 acked, in_flight, per_ack_q4;
		bool flawed;
		const char *reason;
	} rows[] = {
		{ true, 2, 8, 32, true, "the stack says so" },
		{ false, 1, 0, 32, true, "the last one, alone" },
		{ false, 1, 0, 16, false, "alone, as always" },
		{ false, 1, 8, 32, false, "not the last one" },
		{ false, 2, 0, 32, false, "two" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 r_us;

		begin(DEFAULT, SERVICE_NS(10), 20);
		sender_run(&s, SECONDS(1));
		r_us = ca->prop.delay_us;
		ca->probe.per_ack_q4 = (u16)rows[i].per_ack_q4;
		s.sk.packets_out = rows[i].in_flight;
		/* a round trip a millisecond shorter than any before */
		s.sk.first_tx_mstamp = s.sk.tcp_mstamp - r_us + USEC_PER_MSEC;
		take_ack(0, false, (struct rate_sample) {
			.acked_sacked = rows[i].acked, .delivered = 16,
			.interval_us = 25000, .is_ack_delayed = rows[i].said,
		});
		if ((ca->probe.flaw == PAIR_DELAYED_ACK) != rows[i].flawed)
			fail_msg("%s: flaw %d", rows[i].reason, ca->probe.flaw);
		assert_int_equal(ca->prop.delay_us,
				 rows[i].flawed ? r_us : r_us - USEC_PER_MSEC);
	}
}

static void trains_that_differ_are_averaged(void **state)
{
	int i;

	begin(DEFAULT, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(2));
	/* a neighbour's queue runs empty with every second train */
	for (i = 0; i < 200; i++) {
		take_train(SERVICE_NS(10) * (i % 2 ? 15 : 5) / 10);
		assert_in_range(ca->service.value >> 10, SERVICE_NS(10) * 96 / 100,
				SERVICE_NS(10) * 104 / 100);
	}
}

static void a_share_that_has_grown_is_believed_after_two_trains(void **state)
{
	const u64 expected_ns = SERVICE_NS(20);

	begin(DEFAULT, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(2));
	/* or see a_share_that_was_held_for_long_grows_by_half_at_first() */
	ca->evidence->check.steady = 0;
	take_train(SERVICE_NS(20));
	take_train(SERVICE_NS(20));
	assert_in_range(ca->service.value >> 10, SERVICE_NS(10) * 97 / 100,
			SERVICE_NS(10) * 103 / 100);
	/* whose first ACK closes the second */
	take_train(SERVICE_NS(20));
	assert_in_range(ca->service.value >> 10, expected_ns, expected_ns * 105 / 100);
}

/* take_train() tells of 16 packets in 25 ms */
static void a_share_that_was_held_for_long_grows_by_half_at_first(void **state)
{
	const u64 expected_ns = 25 * NSEC_PER_MSEC / (16 * 3 / 2);
	int train;

	begin(DEFAULT, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(2));
	for (train = 0; train < 8; train++)
		take_train(SERVICE_NS(100));
	assert_in_range(ca->service.value >> 10, expected_ns, expected_ns * 105 / 100);
	ca->evidence->check.steady = ROUND_STEADY - 1;
	for (train = 0; train < 4; train++)
		take_train(SERVICE_NS(100));
	assert_in_range(ca->service.value >> 10, expected_ns / 3, expected_ns * 2 / 3);
}

/* A receiver without SACK reports what came twice as it reports what came out of order */
static void in_recovery_without_sack_nothing_shows_the_share(void **state)
{
	int preset, train;

	for (preset = DEFAULT; preset <= MEMO; preset++) {
		u64 before_it;

		begin(preset, SERVICE_NS(10), 20);
		s.ack_every = preset == MEMO ? 1 : 2;
		sender_run(&s, SECONDS(2));
		before_it = ca->service.value;
		s.sk.sackless = true;
		be_in_state(TCP_CA_Recovery);
		for (train = 0; train < 20; train++)
			take_train(before_it >> (PAIR_SERVICE_SHIFT + 1));
		assert_int_equal(ca->service.value, before_it);
		/* with SACK it is the share */
		s.sk.sackless = false;
		for (train = 0; train < 20; train++)
			take_train(before_it >> (PAIR_SERVICE_SHIFT + 1));
		assert_true(ca->service.value < before_it);
		/* nor a smaller one */
		s.sk.sackless = true;
		before_it = ca->service.value;
		for (train = 0; train < 20; train++)
			take_train(before_it >> (PAIR_SERVICE_SHIFT - 1));
		assert_int_equal(ca->service.value, before_it);
		/* and what deliveries say is for neither the rate nor the window */
		take_ack(NSEC_PER_MSEC, true, (struct rate_sample) {
			.acked_sacked = 2, .delivered = 402, .interval_us = 20000,
		});
		assert_int_equal(traced_path.service_q10, ca->service.value);
	}
}

/* After a change of the MSS: the mean size in flight counts, and where something is lost,
 * no more packets than there are, for what is lost was of the size before
 */
static void what_is_in_flight_counts_in_packets_of_the_new_size(void **state)
{
	static const struct {
		u32 mss, lost, packets;
		const char *reason;
	} rows[] = {
		{ 2896, 0, 50, "larger" },
		{ 2896, 10, 45, "larger, of what is not lost" },
		{ 724, 0, 200, "smaller" },
		{ 724, 10, 90, "smaller, and the rest may be of it" },
	};
	size_t i;

	begin(DEFAULT, SERVICE_NS(10), 20);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 found;

		ca->mixed = 1;
		s.sk.packets_out = 100;
		s.sk.snd_nxt = s.sk.snd_una + 100 * 1448;
		s.sk.mss_cache = rows[i].mss;
		s.sk.lost_out = rows[i].lost;
		found = pktpair_outstanding(ca, &s.sk);
		if (found != rows[i].packets)
			fail_msg("%s: %u, not %u", rows[i].reason, found, rows[i].packets);
	}
}

static bool seen_dipping;

static void note_dip(struct sender *of, const struct rate_sample *rs)
{
	bool dipping = prop_dipping(&ca->prop);

	seen_dipping |= dipping;
	if (ca->service.value)
		assert_true((ca->aim_q8 < 0) == dipping);
}

static void the_queue_is_drained_below_zero_to_look_for_the_propagation_delay(void **state)
{
	begin(DEFAULT, SERVICE_NS(10), 20);
	seen_dipping = false;
	s.after_ack = note_dip;
	sender_run(&s, SECONDS(14));
	assert_true(seen_dipping);

	/* the memorandum does not look for it */
	begin(MEMO, SERVICE_NS(10), 20);
	s.ack_every = 1;
	seen_dipping = false;
	s.after_ack = note_dip;
	sender_run(&s, SECONDS(14));
	assert_false(seen_dipping);
}

/* Without a service time no law drains the queue, and a dip would take the queue for the path */
static void without_a_service_time_the_propagation_delay_is_not_looked_for(void **state)
{
	begin(DEFAULT, SERVICE_NS(10), 20);
	/* a flight is one ACK: no gap, no wait, no loss */
	s.sk.snd_cwnd_clamp = 10;
	s.ack_every = 10;
	seen_dipping = false;
	s.after_ack = note_dip;
	sender_run(&s, SECONDS(100));
	assert_true(ca->evidence->rounds > 1000);
	assert_int_equal(ca->service.value, 0);
	assert_false(seen_dipping);
	/* others fill the queue, and the delay grows old */
	s.prop_ns += 10 * NSEC_PER_MSEC;
	sender_run(&s, SECONDS(100));
	assert_int_equal(ca->service.value, 0);
	assert_false(seen_dipping);
	/* as soon as gaps show one it is overdue */
	s.ack_every = 2;
	s.sk.snd_cwnd_clamp = 100;
	sender_run(&s, SECONDS(2));
	assert_true(ca->service.value);
	assert_true(seen_dipping);
}

static void a_setpoint_that_probes_rises_to_its_bound_in_time(void **state)
{
	static const struct {
		const char *probing;
		u32 packets;
	} rows[] = {
		/* 5 ms are sixteen packets of 0.3 ms */
		{ "0", 5 }, { "1", 16 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(set(&stack_param_setpoint_probing, rows[i].probing), 0);
		begin(DEFAULT, SERVICE_NS(40), 20);
		sender_run(&s, SECONDS(4));
		assert_in_range(ca->aim_q8, rows[i].packets * 256,
				(rows[i].packets + 1) * 256);
	}
	assert_int_equal(set(&stack_param_setpoint_probing, "0"), 0);
}

static void what_ss_shows_is_what_is_known(void **state)
{
	const u32 bbr = 1 << (INET_DIAG_BBRINFO - 1);
	const u32 vegas = 1 << (INET_DIAG_VEGASINFO - 1);
	double share, pipe;
	union tcp_cc_info info;
	int attr = -1;
	u64 shown;

	begin(DEFAULT, SERVICE_NS(10), 20);
	/* nothing is known, and nothing asked for */
	memset(&info, 0xff, sizeof(info));
	assert_int_equal(s.sk.icsk_ca_ops->get_info(&s.sk, 0, &attr, &info), 0);
	assert_int_equal(s.sk.icsk_ca_ops->get_info(&s.sk, ~(bbr | vegas), &attr, &info), 0);
	assert_int_equal(attr, -1);
	assert_int_equal(s.sk.icsk_ca_ops->get_info(&s.sk, vegas, &attr, &info),
			 sizeof(info.bbr));
	assert_int_equal(attr, INET_DIAG_BBRINFO);
	assert_int_equal(info.bbr.bbr_bw_lo, 0);
	assert_int_equal(info.bbr.bbr_bw_hi, 0);
	assert_int_equal(info.bbr.bbr_min_rtt, 0);
	assert_int_equal(info.bbr.bbr_cwnd_gain, 0);

	sender_run(&s, SECONDS(2));
	s.sk.icsk_ca_ops->get_info(&s.sk, bbr, &attr, &info);
	share = 1448e9 / (ca->service.value / 1024.0);
	pipe = ca->prop.delay_us * 1e3 / (ca->service.value / 1024.0);
	assert_in_range(info.bbr.bbr_bw_lo, (u64)share - 1, (u64)share + 1);
	assert_in_range(info.bbr.bbr_bw_lo, SHARE_BYTES_PS(10) * 98 / 100,
			SHARE_BYTES_PS(10) * 102 / 100);
	assert_int_equal(info.bbr.bbr_bw_hi, 0);
	assert_in_range(info.bbr.bbr_min_rtt, 20000, 24000);
	/* with eight binary places */
	shown = (u64)(256 * s.sk.sk_pacing_rate / share);
	assert_in_range(info.bbr.bbr_pacing_gain, shown - 1, shown + 1);
	shown = (u64)(256 * s.sk.snd_cwnd / pipe);
	assert_in_range(info.bbr.bbr_cwnd_gain, shown - 1, shown + 2);

	/* 116 Gbit/s */
	ca->service.value = 100 << 10;
	s.sk.icsk_ca_ops->get_info(&s.sk, bbr, &attr, &info);
	shown = (u64)info.bbr.bbr_bw_hi << 32 | info.bbr.bbr_bw_lo;
	assert_true(shown == 14480000000ULL);
}

static void a_name_that_is_taken_leaves_nothing_behind(void **state)
{
	int before = stack_registered;

	stack_module_exit();
	assert_int_equal(stack_registered, before - (MEMO + 1));
	for (stack_register_fails_at = 0; stack_register_fails_at <= MEMO;
	     stack_register_fails_at++) {
		assert_true(stack_module_init() < 0);
		assert_int_equal(stack_registered, 0);
	}
	stack_register_fails_at = -1;
	assert_int_equal(stack_module_init(), 0);
}

/* Segments that arrive within a second after the receiver threw everything away */
static u32 after_reneging(u64 before_ns, u64 rtt_ms)
{
	begin(DEFAULT, SERVICE_NS(10), rtt_ms);
	sender_run(&s, before_ns);
	sender_timeout(&s, true);
	s.now_ns += 200 * NSEC_PER_MSEC;
	return sender_run(&s, SECONDS(1));
}

static void after_reneging_the_window_grows_back_to_the_share(void **state)
{
	/* of 826 that the link carries, and slow start takes six round trips */
	assert_in_range(after_reneging(SECONDS(2), 40), 550, 850);
	assert_in_range(after_reneging(SECONDS(2), 100), 200, 850);
	/* nothing is known yet */
	assert_in_range(after_reneging(10 * NSEC_PER_MSEC, 40), 550, 850);
}

static u32 window_before;

static void check_slow_start(struct sender *of, const struct rate_sample *rs)
{
	u32 mending = of->sk.lost_out + of->sk.retrans_out;

	if (of->sk.icsk_ca_state == TCP_CA_Loss &&
	    mending > tcp_packets_in_flight(&of->sk) / 8)
		assert_true(of->sk.snd_cwnd <= max_t(u32, window_before + rs->acked_sacked, 2));
	window_before = of->sk.snd_cwnd;
}

static void after_a_timeout_the_window_begins_as_in_slow_start(void **state)
{
	int preset;

	for (preset = DEFAULT; preset <= MEMO; preset++) {
		u32 full;

		/* at 10 Gbit/s a train has as many segments as an skb holds */
		begin(preset, SERVICE_NS(10000), 5);
		s.ack_every = preset == MEMO ? 1 : 2;
		sender_run(&s, 300 * NSEC_PER_MSEC);
		if (preset != MEMO)
			assert_int_equal(ca->train, 65536 / 1448);
		sender_timeout(&s, false);
		assert_int_equal(s.sk.snd_cwnd, 1);
		s.now_ns += 200 * NSEC_PER_MSEC;
		window_before = 1;
		s.after_ack = check_slow_start;
		sender_run(&s, 100 * NSEC_PER_MSEC);
		/* and comes back to the share */
		full = sender_run(&s, 100 * NSEC_PER_MSEC);
		if (preset != MEMO)
			assert_true(full > 0.9 * 100 * NSEC_PER_MSEC / SERVICE_NS(10000));
	}
}

/* What tcp_enter_loss() does when a timer has run out */
static void time_out(void)
{
	s.sk.prior_cwnd = s.sk.snd_cwnd;
	tcp_snd_cwnd_set(&s.sk, tcp_packets_in_flight(&s.sk) + 1);
	s.sk.icsk_ca_ops->set_state(&s.sk, TCP_CA_Loss);
	s.sk.icsk_ca_state = TCP_CA_Loss;
}

static void enter(u8 state)
{
	s.sk.icsk_ca_ops->set_state(&s.sk, state);
	s.sk.icsk_ca_state = state;
}

static void take_back(void)
{
	tcp_snd_cwnd_set(&s.sk, s.sk.icsk_ca_ops->undo_cwnd(&s.sk));
	enter(TCP_CA_Open);
}

/* A timer ran out, and the next acknowledgment covers everything: the receiver had it */
static void time_out_for_nothing(void)
{
	s.sk.lost_out = s.sk.packets_out;
	s.sk.retrans_out = s.sk.sacked_out = 0;
	time_out();
	enter(TCP_CA_Open);
	s.sk.packets_out = s.sk.lost_out = 0;
}

static void acknowledge(u32 packets)
{
	take_ack(NSEC_PER_MSEC, false, (struct rate_sample) {
		.acked_sacked = packets, .delivered = 80, .interval_us = 100000,
	});
}

static u32 settle(int preset)
{
	begin(preset, SERVICE_NS(10), 100);
	s.ack_every = preset == MEMO ? 1 : 2;
	sender_run(&s, SECONDS(2));
	return s.sk.snd_cwnd;
}

static void a_timeout_that_one_ack_ends_is_followed_by_slow_start(void **state)
{
	u32 asked_for = settle(DEFAULT), acks = 0, before, flight;
	int preset;

	assert_in_range(asked_for, 80, 110);
	time_out_for_nothing();
	do {
		before = s.sk.snd_cwnd;
		acknowledge(2);
		assert_true(s.sk.snd_cwnd <= max_t(u32, before + 2, 2));
	} while (s.sk.snd_cwnd > before && ++acks < 100);
	/* up to what the law asks for, and is free again */
	assert_in_range(acks, asked_for / 2 - 10, asked_for / 2 + 10);
	assert_false(ca->timed_out);
	assert_false(ca->unusual);
	/* unless the stack takes it back */
	time_out_for_nothing();
	take_back();
	acknowledge(2);
	acknowledge(2);
	assert_in_range(s.sk.snd_cwnd, asked_for - 20, asked_for + 20);
	assert_false(ca->timed_out);
	/* that one ACK may count all that was in flight */
	for (preset = DEFAULT; preset <= MEMO; preset++) {
		settle(preset);
		flight = s.sk.packets_out;
		assert_true(flight > 50);
		time_out_for_nothing();
		acknowledge(flight);
		assert_in_range(s.sk.snd_cwnd, 1, 2);
		acknowledge(flight);
		assert_in_range(s.sk.snd_cwnd, 1, 4);
	}
	/* nor does a socket forget it that changes to pktpair meanwhile */
	s.sk.icsk_ca_state = TCP_CA_Loss;
	begin_again();
	assert_true(ca->timed_out);
	/* but a lost SYN of a peer without SACK is no timeout of what was sent */
	begin(DEFAULT, SERVICE_NS(10), 100);
	s.sk.icsk_ca_state = TCP_CA_Loss;
	begin_again();
	assert_false(ca->timed_out);
}

/* A timeout was right; what comes in the slow start after it, and is taken back, is not it */
static void what_is_taken_back_ends_no_slow_start_before_it(void **state)
{
	int of_timer, i;
	u32 prior;

	for (of_timer = 0; of_timer <= 1; of_timer++) {
		settle(DEFAULT);
		time_out_for_nothing();
		for (i = 0; i < 3; i++) {
			s.sk.packets_out = s.sk.snd_cwnd;
			acknowledge(2);
		}
		prior = s.sk.snd_cwnd;
		assert_in_range(prior, 5, 7);
		if (of_timer) {
			s.sk.lost_out = s.sk.packets_out;
			time_out();
		} else {
			s.sk.prior_cwnd = s.sk.snd_cwnd;
			enter(TCP_CA_Recovery);
			acknowledge(2);
		}
		s.sk.lost_out = 0;
		take_back();
		assert_true(s.sk.snd_cwnd >= prior);
		acknowledge(2);
		assert_in_range(s.sk.snd_cwnd, prior, prior + 4);
	}
}

/* A packet that was too large for the path: no timer ran out, and RFC 4821, 7.6.2 */
static void a_lost_mtu_probe_is_no_timeout(void **state)
{
	u32 window;

	settle(DEFAULT);
	s.sk.packets_out = 12;
	s.sk.lost_out = s.sk.retrans_out = s.sk.sacked_out = 0;
	acknowledge(2);
	window = s.sk.snd_cwnd;
	s.sk.lost_out = 1;
	enter(TCP_CA_Loss);
	take_ack(NSEC_PER_MSEC, false, (struct rate_sample) {
		.acked_sacked = 1, .delivered = 80, .interval_us = 100000, .losses = 1,
	});
	assert_in_range(s.sk.snd_cwnd, window - 2, window + 2);
}

/* The law asks for two packets for a moment, while the queue is drained to look for R */
static void in_loss_a_small_window_of_the_law_ends_no_slow_start(void **state)
{
	const struct rate_sample one = {
		.acked_sacked = 1, .delivered = 2, .interval_us = 100000, .is_retrans = true,
	};
	u32 window;

	begin(DEFAULT, SERVICE_NS(1), 20);
	sender_run(&s, SECONDS(2));
	prop_dip(&ca->prop);
	ca->anew = 1;
	s.sk.packets_out = 12;
	s.sk.lost_out = 12;
	s.sk.retrans_out = 0;
	time_out();
	s.sk.packets_out = 11;
	s.sk.lost_out = 11;
	take_ack(NSEC_PER_MSEC, false, one);
	window = s.sk.snd_cwnd;
	ca->prop.dip_rounds = 0;
	ca->anew = 1;
	s.sk.packets_out = 10;
	s.sk.lost_out = 10;
	take_ack(NSEC_PER_MSEC, false, one);
	assert_in_range(s.sk.snd_cwnd, 1, window + 1);
}

static void after_a_timeout_a_smaller_mss_is_no_more_packets(void **state)
{
	settle(DEFAULT);
	s.sk.packets_out = 20;
	s.sk.lost_out = 20;
	time_out();
	assert_int_equal(s.sk.snd_cwnd, 1);
	s.sk.mss_cache = 98;
	s.sk.icsk_ca_ops->min_tso_segs(&s.sk);
	assert_int_equal(s.sk.snd_cwnd, 1);
}

static void a_lost_syn_leaves_a_window_of_one(void **state)
{
	static const struct {
		const char *rate, *window;
		int preset;
		u32 retransmitted, undo_marker, packets;
		const char *reason;
	} rows[] = {
		{ "0", "30", DEFAULT, 2, 1, 1, "so many were asked for" },
		{ "8000", "0", DEFAULT, 2, 1, 1, "the rate is known" },
		{ "0", "0", MEMO, 2, 1, 1, "a pair is asked for" },
		{ "0", "30", DEFAULT, 1, 1, 30, "one loss is forgiven" },
		{ "0", "30", DEFAULT, 2, 0, 30, "it was not lost: the time stamp says so" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(set(&stack_param_first_rate_kbit, rows[i].rate), 0);
		assert_int_equal(set(&stack_param_first_window, rows[i].window), 0);
		begin(rows[i].preset, SERVICE_NS(10), 20);
		s.sk.snd_cwnd = 1;
		s.sk.total_retrans = rows[i].retransmitted;
		s.sk.undo_marker = rows[i].undo_marker;
		begin_again();
		if (s.sk.snd_cwnd != rows[i].packets)
			fail_msg("%s: %u packets", rows[i].reason, s.sk.snd_cwnd);
	}
	assert_int_equal(set(&stack_param_first_rate_kbit, "0"), 0);
	assert_int_equal(set(&stack_param_first_window, "0"), 0);
}

static u32 setpoint_lowest;

static void note_setpoint(struct sender *of, const struct rate_sample *rs)
{
	setpoint_lowest = min_t(u32, setpoint_lowest, ca->setpoint.target_q8);
}

static void a_mark_that_is_echoed_for_a_round_trip_cuts_once(void **state)
{
	u32 phase_ms;

	/* whenever in a round trip it comes */
	for (phase_ms = 0; phase_ms < 40; phase_ms += 3) {
		begin(DEFAULT, SERVICE_NS(40), 40);
		sender_run(&s, SECONDS(1) + phase_ms * NSEC_PER_MSEC);
		setpoint_lowest = U32_MAX;
		s.after_ack = note_setpoint;
		s.marked = true;
		sender_run(&s, 40 * NSEC_PER_MSEC);
		assert_true(s.sk.delivered_ce > 50);
		sender_run(&s, 80 * NSEC_PER_MSEC);
		assert_int_equal(s.answers, 1);
		if (setpoint_lowest != 5 * 192)
			fail_msg("after %u ms: %u", phase_ms, setpoint_lowest);
		/* another is another's */
		sender_run(&s, 200 * NSEC_PER_MSEC);
		assert_int_equal(ca->setpoint.target_q8, 5 * 256);
		setpoint_lowest = U32_MAX;
		s.marked = true;
		sender_run(&s, 120 * NSEC_PER_MSEC);
		assert_int_equal(s.answers, 2);
		assert_int_equal(setpoint_lowest, 5 * 192);
	}
}

static void another_mss_is_the_same_share_in_bytes(void **state)
{
	static const struct {
		u32 from, to, rtt_ms;
	} rows[] = {
		{ 1448, 8948, 20 }, { 8948, 1448, 20 }, { 1448, 536, 20 }, { 536, 1448, 20 },
		{ 1448, 8948, 100 }, { 8948, 1448, 100 }, { 1448, 536, 100 }, { 1448, 1400, 20 },
	};
	size_t i;
	int preset, round;

	for (preset = DEFAULT; preset <= MEMO; preset++) {
		for (i = 0; i < ARRAY_SIZE(rows); i++) {
			double share = (double)SHARE_BYTES_PS(100) * rows[i].rtt_ms / 1000;

			begin(preset, SERVICE_NS(100), rows[i].rtt_ms);
			s.service_mss = 1448;
			s.ack_every = preset == MEMO ? 1 : 2;
			s.sk.mss_cache = rows[i].from;
			begin_again();
			sender_run(&s, SECONDS(3));
			s.sk.mss_cache = rows[i].to;
			for (round = 0; round < 12; round++) {
				u64 before_it = s.bytes_sent;
				double sent;

				sender_run(&s, rows[i].rtt_ms * NSEC_PER_MSEC);
				sent = (double)(s.bytes_sent - before_it) / share;
				/* small packets have more headers, and of large ones five are
				 * a fifth of what 20 ms hold
				 */
				if (sent < 0.7 || sent > 1.25)
					fail_msg("preset %d, %u to %u, %u ms, round trip %d: %.2f of the share",
						 preset, rows[i].from, rows[i].to,
						 rows[i].rtt_ms, round, sent);
			}
		}
	}
}

/* Path MTU discovery may find its way in steps, each by less than an eighth */
static void an_mss_that_creeps_is_the_same_share_in_bytes(void **state)
{
	static const struct {
		u32 from, by_permille;
	} rows[] = { { 1448, 900 }, { 1448, 1110 } };
	size_t i;
	int step;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		double share_before;
		u32 long_us;
		u64 sent;

		begin(DEFAULT, SERVICE_NS(100), 20);
		s.service_mss = 1448;
		s.sk.mss_cache = rows[i].from;
		begin_again();
		sender_run(&s, SECONDS(3));
		share_before = ca->mss / (double)ca->service.value;
		for (step = 0; step < 18; step++) {
			double share;

			s.sk.mss_cache = s.sk.mss_cache * rows[i].by_permille / 1000;
			s.sk.icsk_ca_ops->min_tso_segs(&s.sk);
			share = ca->mss / (double)ca->service.value;
			if (share < 0.99 * share_before || share > 1.01 * share_before)
				fail_msg("after %d steps of %u per mille: %.2f of the share",
					 step + 1, rows[i].by_permille, share / share_before);
		}
		/* together they are a large change, and what follows is as after a jump */
		assert_true(ca->mixed);
		long_us = 0;
		sent = s.bytes_sent;
		for (step = 0; step < 10; step++) {
			sender_run(&s, 2 * NSEC_PER_MSEC);
			long_us = max_t(u32, long_us, s.sk.srtt_us >> 3);
		}
		if (s.bytes_sent - sent > 1.25 * SHARE_BYTES_PS(100) / 50 || long_us > 30000)
			fail_msg("steps of %u per mille: %.2f of the share, a round trip of %u us",
				 rows[i].by_permille,
				 (double)(s.bytes_sent - sent) * 50 / SHARE_BYTES_PS(100), long_us);
	}
}

/* The MSS is another one, and what it was before: nothing is sent meanwhile */
static void mss_for_a_moment(u32 bytes)
{
	const u32 before_it = s.sk.mss_cache;

	s.sk.mss_cache = bytes;
	s.sk.icsk_ca_ops->min_tso_segs(&s.sk);
	s.sk.mss_cache = before_it;
	s.sk.icsk_ca_ops->min_tso_segs(&s.sk);
}

/* An MTU that falls to 256 bytes for a moment leaves skbs of two segments of 204 bytes in the
 * write queue, behind what was written before. A window of as many packets would be a seventh
 * of the share for as long as there are any.
 */
static void what_was_written_in_small_packets_is_sent_at_the_share(void **state)
{
	enum { LARGE = 8948, SMALL = 408, SKBS = 3000 };
	int preset, round;

	(void)state;
	for (preset = DEFAULT; preset <= MEMO; preset++) {
		double share = (double)SHARE_BYTES_PS(20) * 60 / 1000;

		begin(preset, SERVICE_NS(20), 60);
		s.service_mss = 1448;
		s.ack_every = 1;
		s.sk.mss_cache = LARGE;
		begin_again();
		sender_run(&s, SECONDS(3));
		s.sk.write_seq = s.sk.snd_nxt + (u32)(10 * share) + SKBS * SMALL;
		mss_for_a_moment(204);
		/* the large ones go first, and take more round trips than two */
		sender_run(&s, 10 * 60 * NSEC_PER_MSEC);
		assert_false(ca->mixed);
		s.small_skbs = SKBS;
		s.small_bytes = SMALL;
		for (round = 0; s.small_skbs; round++) {
			u64 before_it = s.bytes_sent;
			double sent;

			sender_run(&s, 60 * NSEC_PER_MSEC);
			sent = (double)(s.bytes_sent - before_it) / share;
			/* a seventh is headers; the memorandum's window is twice a pipe of
			 * eight packets, and what is in flight is a whole number of those
			 */
			if (round > 4 && s.small_skbs && (sent < 0.5 || sent > 1.2))
				fail_msg("preset %d, round trip %d: %.2f of the share",
					 preset, round, sent);
		}
		assert_true(round > 6);
		/* the share has stayed, and packets are of one size again */
		sender_run(&s, 5 * 60 * NSEC_PER_MSEC);
		assert_false(ca->mixed);
	}
}

/* Where each packet takes as long as any, bytes are no measure, and a queue says so */
static void small_packets_make_no_queue_where_turns_go_by_packets(void **state)
{
	enum { LARGE = 8948, SMALL = 408, SKBS = 8000, ROUNDS = 200 };
	int preset, round;

	(void)state;
	for (preset = DEFAULT; preset <= MEMO; preset++) {
		u32 long_ones = 0;

		begin(preset, SERVICE_NS(100), 60);
		s.service_mss = 0;
		s.turn = 1;
		s.others_ns = 2884 * NSEC_PER_USEC;
		s.ack_every = 1;
		s.sk.mss_cache = LARGE;
		begin_again();
		sender_run(&s, SECONDS(3));
		s.sk.write_seq = s.sk.snd_nxt + SKBS * SMALL;
		mss_for_a_moment(LARGE / 2);
		s.small_skbs = SKBS;
		s.small_bytes = SMALL;
		for (round = 0; round < ROUNDS; round++) {
			sender_run(&s, 60 * NSEC_PER_MSEC);
			long_ones += s.sk.srtt_us >> 3 > 3 * 60 * USEC_PER_MSEC;
		}
		assert_true(s.small_skbs);
		assert_in_range(long_ones, 0, ROUNDS / 10);
	}
}

/* Setting IP options changes the MSS by up to 40 bytes, and needs no right: who does so again and
 * again is seen all the same when nine others take turns with him
 */
static void who_changes_the_mss_again_and_again_follows_his_share(void **state)
{
	static const u32 every_ms[] = { 4, 5, 8, 12, 20, 60, 300 };
	size_t i;
	u32 ms;

	(void)state;
	for (i = 0; i < 2 * ARRAY_SIZE(every_ms); i++) {
		const u32 less = i % 2 ? 1444 : 1408, every = every_ms[i / 2];

		begin(DEFAULT, SERVICE_NS(40), 40);
		s.ack_every = 2;
		sender_run(&s, SECONDS(3));
		s.turn = 1;
		s.turn_left = 1;
		s.others_ns = 9 * s.service_ns;
		for (ms = 0; ms < 20000; ms += every) {
			s.sk.mss_cache = s.sk.mss_cache == 1448 ? less : 1448;
			sender_run(&s, every * NSEC_PER_MSEC);
		}
		/* five packets and a train, each ten service times, beyond 40 ms */
		if (s.sk.srtt_us >> 3 > 80000)
			fail_msg("%u every %u ms: a round trip of %u us", less, every,
				 s.sk.srtt_us >> 3);
	}
}

/* A queue that is drained shows nothing while packets of two sizes are in flight */
static void small_packets_do_not_make_a_dip_last(void **state)
{
	enum { LARGE = 8948, SMALL = 408, SKBS = 3000 };

	(void)state;
	begin(DEFAULT, SERVICE_NS(20), 60);
	s.service_mss = 1448;
	s.ack_every = 1;
	s.sk.mss_cache = LARGE;
	begin_again();
	sender_run(&s, SECONDS(3));
	s.sk.write_seq = s.sk.snd_nxt + SKBS * SMALL;
	mss_for_a_moment(204);
	s.small_skbs = SKBS;
	s.small_bytes = SMALL;
	prop_dip(&ca->prop);
	sender_run(&s, 4 * 60 * NSEC_PER_MSEC);
	assert_true(s.small_skbs);
	assert_false(prop_dipping(&ca->prop));
}

/* Requests of two packets tell R and no gap. After a timeout the window is one packet, whose ACK
 * the receiver keeps for 40 ms: no queue of others, and no end of slow start.
 */
static void a_window_of_one_grows_behind_a_receiver_that_waits(void **state)
{
	static const struct {
		u32 mbit, rtt_ms;
	} rows[] = { { 40, 20 }, { 100, 1 }, { 10, 150 } };
	size_t i;
	int n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 sent;

		begin(DEFAULT, SERVICE_NS(rows[i].mbit), rows[i].rtt_ms);
		for (n = 0; n < 3; n++) {
			s.waiting = 2;
			sender_run(&s, SECONDS(1));
		}
		s.waiting = 1;
		sender_run(&s, NSEC_PER_MSEC / 100);
		sender_timeout(&s, false);
		sender_run(&s, SECONDS(1));
		assert_int_equal(s.sk.snd_cwnd, 1);
		s.waiting = U32_MAX;
		sender_run(&s, SECONDS(5));
		sent = sender_run(&s, SECONDS(5));
		if (sent < 0.95 * SECONDS(5) / s.service_ns)
			fail_msg("%u Mbit/s, %u ms: %u packets in 5 s", rows[i].mbit,
				 rows[i].rtt_ms, sent);
	}
}

/* A dip can be under way when the bottleneck is found to be shared, where none may begin. One that
 * froze would spoil all trains, and turns would never be seen again.
 */
static void an_alarm_in_a_dip_is_undone_like_any_other(void **state)
{
	u32 ends_ms, ms, alarms = 0;

	(void)state;
	for (ends_ms = 10300; ends_ms < 10600; ends_ms += 100) {
		begin(DEFAULT, SERVICE_NS(10), 20);
		s.sk.snd_cwnd_clamp = 10;
		s.ack_every = 2;
		s.waiting = 4;
		/* others' queue of 100 ms on the way there, until then */
		for (ms = 0; ms < ends_ms; ms++) {
			if (ms == 5000)
				s.waiting = U32_MAX;
			s.free_ns = max_t(u64, s.free_ns, s.now_ns + (ms < 1000 ? 100 : 104) *
							  NSEC_PER_MSEC);
			sender_run(&s, NSEC_PER_MSEC);
		}
		if (!prop_dipping(&ca->prop))
			continue;
		sender_run(&s, SECONDS(2));
		alarms += ca->evidence->turns.shared;
		s.sk.snd_cwnd_clamp = 2000;
		sender_run(&s, SECONDS(60));
		assert_int_equal(ca->evidence->turns.shared, 0);
		assert_false(prop_dipping(&ca->prop));
	}
	assert_true(alarms);
}

static void what_ss_shows_is_never_wrapped(void **state)
{
	union tcp_cc_info info;
	int attr;

	begin(DEFAULT, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(1));
	/* next to nothing, and R a microsecond */
	ca->service.value = FUZZY_VALUE_MAX;
	ca->prop.delay_us = 1;
	/* or as much as a long holds */
	s.sk.sk_pacing_rate = (unsigned long)min_t(u64, 1ULL << 40, ~0UL);
	s.sk.snd_cwnd = 1U << 30;
	s.sk.icsk_ca_ops->get_info(&s.sk, 1 << (INET_DIAG_BBRINFO - 1), &attr, &info);
	assert_int_equal(info.bbr.bbr_pacing_gain, U32_MAX);
	assert_int_equal(info.bbr.bbr_cwnd_gain, U32_MAX);
	/* of a socket without a limit */
	ca->service.value = SERVICE_NS(10) << PAIR_SERVICE_SHIFT;
	s.sk.sk_pacing_rate = ~0UL;
	s.sk.icsk_ca_ops->get_info(&s.sk, 1 << (INET_DIAG_BBRINFO - 1), &attr, &info);
	/* where a long has 32 bits, as much as that holds */
	if (sizeof(long) > sizeof(u32))
		assert_int_equal(info.bbr.bbr_pacing_gain, U32_MAX);
	else
		assert_in_range(info.bbr.bbr_pacing_gain, 1 << 16, U32_MAX);
}

/* as where a socket is about to change its algorithm, and another's numbers lie there */
static void what_is_no_propagation_delay_is_not_shown(void **state)
{
	static const struct {
		u32 prop_us;
		bool shown;
	} rows[] = {
		{ PROP_MAX_US, true }, { PROP_MAX_US + 1, false }, { 274877907, false },
		{ PROP_UNKNOWN_US - 1, false }, { PROP_UNKNOWN_US, false },
	};
	union tcp_cc_info info;
	int attr;
	size_t i;

	begin(DEFAULT, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(1));
	/* the pipe is as large as it can be, and beyond 64 bits from the third row on */
	ca->service.value = 1;
	s.sk.snd_cwnd = 1U << 20;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		ca->prop.delay_us = rows[i].prop_us;
		s.sk.icsk_ca_ops->get_info(&s.sk, 1 << (INET_DIAG_BBRINFO - 1), &attr, &info);
		assert_int_equal(info.bbr.bbr_cwnd_gain, 0);
		assert_int_equal(info.bbr.bbr_min_rtt, rows[i].shown ? rows[i].prop_us : 0);
	}
}

/* Whoever reads a knob once, by READ_ONCE(), gets its value, and all others nonsense */
static void each_knob_is_read_by_read_once(void **state)
{
	const struct kernel_param *const *param;
	int preset;

	for (param = __start_stack_params; param < __stop_stack_params; param++) {
		const struct knob_range *range = (*param)->arg;

		if ((*param)->ops != &knob_range_ops)
			continue;
		assert_true(stack_hidden_count < STACK_HIDDEN);
		stack_hidden[stack_hidden_count].from = range->value;
		stack_hidden[stack_hidden_count].value = *range->value;
		*range->value = 0xdead0000u + (u32)stack_hidden_count++;
	}
	assert_int_equal(stack_hidden_count, 8);
	for (preset = DEFAULT; preset <= MEMO; preset++) {
		double used;

		begin(preset, SERVICE_NS(10), 20);
		s.ack_every = preset == MEMO ? 1 : 2;
		assert_int_equal(s.sk.snd_cwnd, preset == MEMO ? 2 : 10);
		assert_int_equal(ca->train, preset == MEMO ? 2 : 4);
		sender_run(&s, SECONDS(1));
		s.losses = 1;
		sender_run(&s, SECONDS(3));
		/* merged ACKs make trains as long as they may be */
		if (preset != MEMO)
			assert_int_equal(ca->train, 4);
		s.ack_every = 70;
		sender_run(&s, SECONDS(2));
		assert_in_range(ca->probe.train, preset == MEMO ? 2 : 32, preset == MEMO ? 2 : 64);
		s.ack_every = 1;
		s.back_period_ns = 4100 * NSEC_PER_USEC;
		s.back_taken_ns = 3000 * NSEC_PER_USEC;
		sender_run(&s, SECONDS(4));
		s.back_taken_ns = 0;
		used = sender_run(&s, SECONDS(4)) * (double)s.service_ns / SECONDS(4);
		assert_true(used > 0.9);
		assert_true(ca->aim_q8 <= 5 * 256);
	}
}

static int show_knobs(void **state)
{
	while (stack_hidden_count--)
		*stack_hidden[stack_hidden_count].from = stack_hidden[stack_hidden_count].value;
	stack_hidden_count = 0;
	return 0;
}

static void every_ack_sets_the_rate(void **state)
{
	const struct rate_sample rs = {
		.acked_sacked = 2, .delivered = 16, .interval_us = 25000,
	};
	/* whether it closes a train */
	static const bool closes[] = { true, false, true, false, false, true, true };
	size_t i;

	begin(DEFAULT, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(1));
	take_ack(NSEC_PER_MSEC, false, rs);
	for (i = 0; i < ARRAY_SIZE(closes); i++) {
		s.sk.sk_pacing_rate = 1;
		take_ack(NSEC_PER_MSEC, closes[i], rs);
		assert_true(s.sk.sk_pacing_rate > SHARE_BYTES_PS(10) / 2 * 98 / 100);
	}
}

/* A period without a gap ends, of 30 ms, of which the share of 1.2 ms is 25 packets: with a
 * round trip, or with any ACK
 */
static void a_period_without_a_gap_is_the_share_if_packets_waited(void **state)
{
	enum { SAME, DELIVERED, CLAIMED };
	static const struct {
		u32 packets, wait_us;
		u8 ca_state;
		bool sackless, repaired, lost, dips, dipped, app_limited, timeout;
		int believed;
		const char *reason;
	} rows[] = {
		{ 8, 1300, 0, .believed = DELIVERED, .reason = "a packet waited for longer than one takes" },
		{ 8, 0, 0, .lost = true, .believed = DELIVERED, .reason = "one was lost" },
		{ 13, 1100, 0, .believed = CLAIMED, .reason = "all waited for less than that" },
		{ 12, 1100, 0, .reason = "not the network limits less than half of the share" },
		{ 8, 1300, 0, .dips = true, .reason = "drained on purpose" },
		{ 8, 1300, 0, .dipped = true, .reason = "what was sent in a drain" },
		{ 8, 1300, 0, .app_limited = true, .reason = "the application sends less" },
		{ 8, 1300, TCP_CA_Recovery, .believed = DELIVERED,
			.reason = "sent twice, delivered once" },
		{ 8, 1300, TCP_CA_Loss, .reason = "a period that holds a timeout" },
		{ 8, 1300, 0, .timeout = true, .reason = "or held one" },
		{ 8, 1300, TCP_CA_Recovery, .sackless = true,
			.reason = "what came twice counts twice" },
		{ 8, 1300, 0, .sackless = true, .repaired = true,
			.reason = "for a part of it one hole was sent in a round trip" },
		{ 8, 1300, 0, .repaired = true, .believed = DELIVERED,
			.reason = "with SACK all of them are sent" },
		{ 8, 1300, 0, .sackless = true, .believed = DELIVERED,
			.reason = "without SACK, but nothing is sent twice" },
		{ 7, 1300, 0, .reason = "too few packets" },
	};
	size_t row, i;

	for (row = 0; row < 2 * ARRAY_SIZE(rows); row++) {
		const u32 round_trip = row % 2;
		u64 before_it, expected, error;

		i = row / 2;

		begin(DEFAULT, SERVICE_NS(10), 20);
		sender_run(&s, SECONDS(1));
		before_it = ca->service.value;
		be_in_state(rows[i].ca_state);
		s.sk.sackless = rows[i].sackless;
		ca->dipped = rows[i].dipped;
		if (rows[i].dips)
			prop_dip(&ca->prop);
		pair_probe_abandon(&ca->probe);
		s.sk.tcp_clock_cache += NSEC_PER_MSEC;
		s.sk.tcp_mstamp += USEC_PER_MSEC;
		s.sk.first_tx_mstamp = s.sk.tcp_mstamp - ca->prop.delay_us - rows[i].wait_us;
		ca->evidence->check = (struct round_check) {
			.started = 1,
			.since_us = (u32)s.sk.tcp_mstamp - (rows[i].repaired ? 0 : 30000),
			.delivered = s.sk.delivered - rows[i].packets,
			.rtt_min_us = ca->prop.delay_us + rows[i].wait_us,
		};
		if (rows[i].timeout) {
			s.sk.icsk_ca_ops->set_state(&s.sk, TCP_CA_Loss);
			s.sk.icsk_ca_ops->set_state(&s.sk, TCP_CA_Open);
		}
		if (rows[i].repaired) {
			be_in_state(TCP_CA_Recovery);
			take_ack(0, false, (struct rate_sample) {
				.delivered = 16, .interval_us = 20000,
				.prior_delivered = ca->round_delivered - 1,
			});
			be_in_state(TCP_CA_Open);
			ca->evidence->check.since_us = (u32)s.sk.tcp_mstamp - 30000;
		}
		take_ack(0, false, (struct rate_sample) {
			.acked_sacked = 2, .delivered = 16, .interval_us = 20000,
			.is_app_limited = rows[i].app_limited, .losses = rows[i].lost,
			.prior_delivered = ca->round_delivered - !round_trip,
		});
		expected = before_it;
		if (rows[i].believed == DELIVERED)
			expected = (30000000ULL << PAIR_SERVICE_SHIFT) / rows[i].packets;
		else if (rows[i].believed == CLAIMED)
			expected = before_it - before_it / 8;
		error = ca->service.value > expected ? ca->service.value - expected :
						       expected - ca->service.value;
		if (error > 1)
			fail_msg("%s, %u: %llu, before %llu", rows[i].reason, round_trip,
				 (unsigned long long)ca->service.value,
				 (unsigned long long)before_it);
	}
}

/* In a queue a round trip is longer than a period */
static void a_period_that_is_long_enough_ends_with_any_ack(void **state)
{
	static const struct {
		int preset;
		/* beyond a period's */
		s32 more_us;
		u32 packets;
		s32 delivered;
		bool ends;
		const char *reason;
	} rows[] = {
		{ DEFAULT, 0, 8, 16, true, "as long as it must be" },
		{ DEFAULT, -1, 8, 16, false, "a microsecond less" },
		{ DEFAULT, 1000000, 8, 16, true, "much longer" },
		{ DEFAULT, 0, 7, 16, false, "too few packets" },
		{ DEFAULT, 0, 8, -1, false, "an ACK that counts nothing" },
		{ MEMO, 0, 8, 16, false, "the memorandum asks nothing" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 rounds, now_us, prop_us;

		begin(rows[i].preset, SERVICE_NS(10), 20);
		sender_run(&s, SECONDS(1));
		rounds = ca->evidence->rounds;
		prop_us = ca->prop.delay_us;
		now_us = (u32)s.sk.tcp_mstamp;
		ca->evidence->check = (struct round_check) {
			.started = 1, .since_us = now_us - prop_us - prop_us / 4 - rows[i].more_us,
			.delivered = s.sk.delivered - rows[i].packets, .rtt_min_us = prop_us,
		};
		take_ack(0, false, (struct rate_sample) {
			.acked_sacked = 2, .delivered = rows[i].delivered, .interval_us = 20000,
		});
		/* the next has begun */
		if ((ca->evidence->check.since_us == now_us) != rows[i].ends)
			fail_msg("%s", rows[i].reason);
		assert_int_equal(ca->evidence->rounds, rounds);
	}
	/* before the first round trip has ended there is none, however long it takes */
	begin(DEFAULT, SERVICE_NS(10), 20);
	sender_run(&s, 10 * NSEC_PER_MSEC);
	assert_int_equal(ca->evidence->check.started, 0);
	take_ack(SECONDS(1), false, (struct rate_sample) {
		.acked_sacked = 2, .delivered = 2, .interval_us = 20000,
	});
	assert_int_equal(ca->evidence->check.started, 0);
	assert_int_equal(ca->evidence->rounds, 0);
}

/* Three trains of a tenth of the service time, 1.2 ms. A round trip delivered ten packets in
 * 30 ms, 3 ms each: three times as many are 1 ms each, and of 40 it is 0.25 ms. Of such a
 * change all but 1/32 is believed
 */
static void a_share_is_three_times_what_was_delivered_at_most(void **state)
{
	static const struct {
		s32 delivered;
		u8 lossy, steady;
		u32 least_us, most_us;
		const char *reason;
	} rows[] = {
		{ 10, 0, 0, 1000, 1007, "three times ten" },
		{ 4, 0, 0, 1000, 1007, "fewer than a first flight count as one" },
		{ 40, 0, 0, 187, 281, "three or four times forty" },
		{ 40, 0, ROUND_STEADY, 500, 525, "half more than forty, after many such periods" },
		{ 40, 1, 0, 600, 620, "a quarter more than forty, where a policer is suspected" },
		{ 400, 0, 0, 121, 160, "what the trains show" },
	};
	size_t i, train;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct rate_sample rs = {
			.acked_sacked = 2, .delivered = rows[i].delivered, .interval_us = 30000,
		};
		u32 found_us;

		begin(DEFAULT, SERVICE_NS(10), 20);
		sender_run(&s, SECONDS(2));
		ca->evidence->turns.lossy = rows[i].lossy;
		ca->evidence->turns.queued = 0;
		ca->evidence->check.steady = rows[i].steady;
		/* ACKs come far apart, so that they are not many */
		for (train = 0; train < 3; train++) {
			take_ack(NSEC_PER_MSEC * 10, true, rs);
			take_ack(2 * SERVICE_NS(100), false, rs);
		}
		found_us = (u32)((ca->service.value >> PAIR_SERVICE_SHIFT) / NSEC_PER_USEC);
		if (found_us < rows[i].least_us || found_us > rows[i].most_us)
			fail_msg("%s: %u us", rows[i].reason, found_us);
	}
}

/* ---- a bottleneck that does not serve in turn ---- */

static unsigned long law_shown(const char *name)
{
	char text[512];
	const char *line;

	stack_param_laws.ops->get(text, &stack_param_laws);
	line = strstr(text, name);
	assert_non_null(line);
	return strtoul(line + strlen(name), NULL, 10);
}

/* A block of round trips with a long queue, in which the trains showed a part of what was
 * delivered, 256: all of it
 */
static void take_block(u32 served_q8, bool limited)
{
	const struct round_found found = {
		.service_q10 = ca->service.value, .delivered_q10 = ca->service.value,
		.waited_us = 10 * USEC_PER_SEC, .served_q8 = served_q8,
		.verdict = ROUND_CONFIRMED, .limited = limited,
	};

	pktpair_judge_turns(&s.sk, &found);
}

static void become_shared(u64 service_ns, u64 rtt_ms)
{
	int block;

	begin(DEFAULT, service_ns, rtt_ms);
	sender_run(&s, SECONDS(1));
	for (block = 0; block < 3; block++)
		take_block(100, false);
	assert_int_equal(ca->evidence->turns.shared, 1);
}

static void another_law_begins_with_the_window_and_trains_that_show_gaps(void **state)
{
	unsigned long shared = law_shown("shared"), again = law_shown("in-turn-again");
	u32 window;
	int block;

	begin(DEFAULT, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(1));
	ca->evidence->check.hold = 1000;
	ca->evidence->check.shorter = 3;
	ca->evidence->check.lossy = 60;
	ca->evidence->check.doubted = 1;
	ca->probe.train = 64;
	ca->probe.bunched = 1;
	s.sk.snd_cwnd_cnt = 7;
	window = s.sk.snd_cwnd;
	take_block(100, false);
	take_block(100, false);
	/* the application limited it: it says nothing */
	take_block(100, true);
	assert_int_equal(s.sk.snd_ssthresh, TCP_INFINITE_SSTHRESH);
	assert_int_equal(s.sk.icsk_ca_ops->ssthresh(&s.sk), TCP_INFINITE_SSTHRESH);
	assert_int_equal(ca->evidence->turns.shared, 0);
	take_block(100, false);
	assert_int_equal(ca->evidence->turns.shared, 1);
	/* with a slow start */
	assert_int_equal(s.sk.snd_ssthresh, TCP_INFINITE_SSTHRESH);
	assert_int_equal(s.sk.snd_cwnd, window);
	assert_int_equal(s.sk.snd_cwnd_cnt, 0);
	assert_int_equal(ca->evidence->check.hold, 0);
	assert_int_equal(ca->evidence->check.shorter, 0);
	assert_int_equal(ca->evidence->check.lossy, 0);
	assert_int_equal(ca->evidence->check.doubted, 0);
	assert_int_equal(ca->probe.bunched, 0);
	assert_int_equal(ca->train, 4);
	assert_int_equal(law_shown("shared") - shared, 1);

	/* the pair law finds its window by itself, whatever this one has been and has lost */
	s.sk.snd_cwnd = window + 20;
	s.sk.snd_ssthresh = window;
	ca->evidence->check.hold = 1000;
	ca->evidence->check.shorter = 6;
	ca->evidence->check.lossy = 72;
	ca->evidence->check.doubted = 1;
	for (block = 0; block < 8; block++)
		take_block(256, false);
	assert_int_equal(ca->evidence->check.hold, 0);
	assert_int_equal(ca->evidence->check.shorter, 0);
	assert_int_equal(ca->evidence->check.lossy, 0);
	assert_int_equal(ca->evidence->check.doubted, 0);
	assert_int_equal(ca->evidence->turns.shared, 0);
	assert_int_equal(s.sk.snd_ssthresh, TCP_INFINITE_SSTHRESH);
	assert_int_equal(s.sk.snd_cwnd, window + 20);
	assert_int_equal(s.sk.icsk_ca_ops->ssthresh(&s.sk), TCP_INFINITE_SSTHRESH);
	assert_int_equal(law_shown("in-turn-again") - again, 1);
}

/* Where this flow has most of the bottleneck a slow start would take what others have; what a
 * flow whose first packet waited has beyond a first flight it took for a part of the path
 */
static void cubic_begins_in_one_of_three_ways(void **state)
{
	static const struct {
		u32 served_q8, window;
		bool first, limited;
		u32 begins, threshold;
		const char *reason;
	} rows[] = {
		{ 100, 30, false, false, 30, TCP_INFINITE_SSTHRESH, "others have most" },
		{ 128, 30, false, false, 30, TCP_INFINITE_SSTHRESH, "half is not most" },
		{ 129, 30, false, false, 30, 30, "more than half: after slow start" },
		{ 229, 30, false, false, 30, 30, "almost all" },
		{ 129, 5, false, false, 5, 5, "of a small window" },
		{ 129, 2, false, false, 2, 2, "of the smallest that CUBIC has" },
		{ 129, 1, false, false, 1, 2, "a smaller is no threshold" },
		{ 100, 1, false, false, 1, TCP_INFINITE_SSTHRESH, "nor is any with a slow start" },
		{ 0, 30, true, false, 10, 10, "the first packet waited: a first flight" },
		{ 0, 11, true, false, 10, 10, "a packet more than that" },
		{ 0, 10, true, false, 10, 10, "just that" },
		{ 0, 9, true, false, 9, 10, "a packet less stays" },
		{ 0, 1, true, false, 1, 10, "the smallest" },
		{ 0, 30, true, true, 10, 10, "whatever limited the flow" },
		{ 200, 30, true, false, 10, 10, "and whatever the period shows" },
		{ 100, 30, true, false, 10, 10, "a FIFO" },
		{ 256, 30, true, false, 10, 10, "or turns" },
	};
	size_t i;
	int n;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		begin(DEFAULT, SERVICE_NS(10), 20);
		sender_run(&s, SECONDS(1));
		s.sk.snd_cwnd = rows[i].window;
		if (rows[i].first) {
			const struct round_found found = {
				.service_q10 = ca->service.value, .delivered_q10 = ca->service.value,
				.waited_us = 10 * USEC_PER_SEC, .served_q8 = rows[i].served_q8,
				.slowest_q10 = ca->service.value, .first_waited_us = USEC_PER_SEC,
				.verdict = ROUND_CONFIRMED, .limited = rows[i].limited,
			};

			pktpair_judge_turns(&s.sk, &found);
		} else {
			for (n = 0; n < 3; n++) {
				/* no block changes anything but the last */
				assert_int_equal(s.sk.snd_cwnd, rows[i].window);
				assert_int_equal(s.sk.snd_ssthresh, TCP_INFINITE_SSTHRESH);
				take_block(rows[i].served_q8, false);
			}
		}
		assert_int_equal(ca->evidence->turns.shared, 1);
		/* the block that came with the first packet is not counted */
		assert_int_equal(ca->evidence->turns.score_q4, 0);
		assert_int_equal(ca->evidence->turns.turns, 0);
		if (s.sk.snd_cwnd != rows[i].begins || s.sk.snd_ssthresh != rows[i].threshold)
			fail_msg("%s: %u, threshold %u", rows[i].reason, s.sk.snd_cwnd,
				 s.sk.snd_ssthresh);
		/* and CUBIC goes on from there: a packet for each in slow start */
		s.sk.window_binds = true;
		take_ack(NSEC_PER_MSEC, true, (struct rate_sample) {
			.acked_sacked = 2, .delivered = 16, .interval_us = 20000,
		});
		assert_int_equal(s.sk.snd_cwnd - ca->evidence->probe_room,
				 rows[i].begins + (rows[i].begins < rows[i].threshold ?
				 min_t(u32, 2, rows[i].threshold - rows[i].begins) : 0));
	}
}

/* How many segments an ACK covers, and so how long a wait is that shows a queue */
static void what_an_ack_covers_is_told_of_each_block(void **state)
{
	static const struct {
		u32 per_ack_q4, per_ack;
	} rows[] = { { 16, 1 }, { 32, 2 }, { 48, 3 }, { 128, 8 }, { 512, 32 }, { 1024, 64 } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct round_found found;
		u32 turn_us;

		begin(DEFAULT, SERVICE_NS(10), 20);
		sender_run(&s, SECONDS(1));
		ca->probe.per_ack_q4 = (u16)rows[i].per_ack_q4;
		turn_us = in_turn_us(ca->service.value, ca->mss);
		found = (struct round_found) {
			.service_q10 = ca->service.value, .delivered_q10 = ca->service.value,
			.served_q8 = 100, .verdict = ROUND_CONFIRMED,
			.waited_us = (1 + max_t(u32, rows[i].per_ack, 2)) * turn_us - 1,
		};
		pktpair_judge_turns(&s.sk, &found);
		assert_int_equal(traced_block.per_ack, rows[i].per_ack);
		assert_int_equal(ca->evidence->turns.score_q4, 0);
		found.waited_us++;
		pktpair_judge_turns(&s.sk, &found);
		assert_in_range(ca->evidence->turns.score_q4, 1, IN_TURN_WEIGHT_Q4);
	}
}

/* A packet of a round trip comes back, with another */
static void take_round_trip(u32 rtt_us)
{
	s.sk.tcp_clock_cache += NSEC_PER_MSEC;
	s.sk.tcp_mstamp = s.sk.tcp_clock_cache / NSEC_PER_USEC;
	s.sk.first_tx_mstamp = s.sk.tcp_mstamp - rtt_us;
	take_ack(0, false, (struct rate_sample) {
		.acked_sacked = 2, .delivered = 16, .interval_us = 20000,
	});
}

/* A way there that has become longer looks like a queue, and CUBIC finds its window at once */
static void while_it_is_shared_a_longer_round_trip_ends_slow_start(void **state)
{
	static const struct {
		u32 window, rtts_us[3], threshold;
		const char *reason;
	} rows[] = {
		{ 30, { 200000, 200000, 225000 }, 0, "an eighth longer than the shortest since" },
		{ 30, { 200000, 200000, 225001 }, 34, "more" },
		{ 30, { 200000, 100000, 112501 }, 34, "the shortest counts" },
		{ 30, { 100000, 112501, 112501 }, 32, "which ends it once" },
		{ 1, { 100000, 100000, 112501 }, 5, "whatever the window is" },
	};
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		become_shared(SERVICE_NS(10), 20);
		s.sk.snd_cwnd = rows[i].window;
		/* the window holds up what is sent */
		s.sk.window_binds = true;
		for (n = 0; n < ARRAY_SIZE(rows[i].rtts_us); n++)
			take_round_trip(rows[i].rtts_us[n]);
		if (s.sk.snd_ssthresh != (rows[i].threshold ?: TCP_INFINITE_SSTHRESH))
			fail_msg("%s: %u", rows[i].reason, s.sk.snd_ssthresh);
	}
	/* a window of one is too small a threshold (RFC 5681, 3.1) */
	become_shared(SERVICE_NS(10), 20);
	take_round_trip(100000);
	s.sk.snd_cwnd = 1;
	take_round_trip(112501);
	assert_int_equal(s.sk.snd_ssthresh, 2);
	/* no slow start if the flow has more than half of the link, and none to be ended */
	begin(DEFAULT, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(1));
	for (n = 0; n < 3; n++)
		take_block(200, false);
	i = s.sk.snd_ssthresh;
	assert_true(i < TCP_INFINITE_SSTHRESH);
	s.sk.snd_cwnd += 20;
	take_round_trip(100000);
	take_round_trip(200000);
	assert_int_equal(s.sk.snd_ssthresh, i);
}

/* The propagation delay was not looked for while others filled the queue */
static void turns_return_with_the_shortest_round_trip_since_the_alarm(void **state)
{
	static const struct {
		u32 rtts_us[3], expected_us;
		const char *reason;
	} rows[] = {
		{ { 200000, 150000, 180000 }, 150000, "a longer path" },
		{ { 200000, 15000, 180000 }, 15000, "a shorter one" },
		{ { 2000000000, 2000000000, 2000000000 }, PROP_MAX_US, "100 s at most" },
		{ { 0 }, 0, "no packet came back meanwhile: what was known before" },
	};
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 before_us;

		become_shared(SERVICE_NS(10), 20);
		before_us = ca->prop.delay_us;
		ca->evidence->back.longer_us = 5000;
		for (n = 0; n < ARRAY_SIZE(rows[i].rtts_us) && rows[i].rtts_us[n]; n++) {
			/* what is longer on the way back is a part of all round trips */
			take_round_trip(rows[i].rtts_us[n]);
			ca->evidence->turns.turns = 0;
		}
		for (n = 0; n < 8; n++)
			take_block(256, false);
		assert_int_equal(ca->evidence->turns.shared, 0);
		if (ca->prop.delay_us != (rows[i].expected_us ?: before_us))
			fail_msg("%s: %u us", rows[i].reason, ca->prop.delay_us);
		assert_int_equal(ca->evidence->back.longer_us, rows[i].expected_us ? 0 : 5000);
		/* of another alarm no round trip counts before it */
		for (n = 0; n < 3; n++)
			take_block(100, false);
		take_round_trip(160000);
		for (n = 0; n < 16; n++)
			take_block(256, false);
		assert_int_equal(ca->evidence->turns.shared, 0);
		assert_int_equal(ca->prop.delay_us, 160000);
	}
}

/* A first packet waits for three turns at most; with smaller packets turns are longer */
static void a_first_packet_that_waited_for_others_is_an_alarm(void **state)
{
	static const u32 sizes[] = { 1448, 691 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct round_found found = { .limited = true };
		u32 most_us;

		begin(DEFAULT, SERVICE_NS(10), 20);
		sender_run(&s, SECONDS(1));
		s.sk.mss_cache = sizes[i];
		s.sk.icsk_ca_ops->min_tso_segs(&s.sk);
		/* the longest that was believed since counts */
		found.service_q10 = found.delivered_q10 = 1000 << PAIR_SERVICE_SHIFT;
		found.slowest_q10 = 1000000 << PAIR_SERVICE_SHIFT;
		most_us = (i ? 3 * 2000 : 3 * 1000) + ca->prop.delay_us / 16;
		found.first_waited_us = most_us;
		pktpair_judge_turns(&s.sk, &found);
		assert_int_equal(ca->evidence->turns.alarms, 0);
		found.first_waited_us = most_us + 1;
		pktpair_judge_turns(&s.sk, &found);
		assert_int_equal(ca->evidence->turns.alarms, 1);
		assert_int_equal(ca->evidence->turns.shared, 1);
		assert_int_equal(s.sk.icsk_ca_ops->ssthresh(&s.sk) < TCP_INFINITE_SSTHRESH, 1);
	}
}

static bool first_missing;

/* Selective ACKs come before the first packet's, or after it */
static void hide_holes(struct sender *of, const struct rate_sample *rs)
{
	of->sk.sacked_out = !first_missing && of->sk.packets_out > 1;
}

/* A window of ten packets leaves no queue of its own, so that round trips become shorter when
 * others' queue of @there_us on the way to the receiver ends, or what delays ACKs
 */
static void a_first_packet_in_a_queue_of_others_is_an_alarm(void **state)
{
	static const struct {
		u32 there_us, back_ms, for_ms, ack_every;
		bool missing, no_stamps, alarm;
		const char *reason;
	} rows[] = {
		{ 100000, 0, 300, 2, .alarm = true, .reason = "a queue of others" },
		{ 7000, 0, 300, 2, .alarm = true, .reason = "three turns take 3.6 ms, jitter 1.4" },
		{ 4500, 0, 300, 2, .reason = "less than that" },
		{ 0, 0, 300, 2, .reason = "none" },
		{ 100000, 0, 300, 2, .missing = true, .reason = "the first packet was lost" },
		{ 0, 100, 300, 2, .reason = "ACKs were delayed" },
		{ 0, 100, 300, 2, .no_stamps = true, .alarm = true,
			.reason = "which only a clock tells" },
		{ 100000, 0, 9000, 2, .alarm = true, .reason = "within 10 s" },
		{ 100000, 0, 10500, 2, .reason = "and later" },
		{ 100000, 0, 300, 1, .alarm = true, .reason = "an ACK for each packet" },
		{ 100000, 0, 300, 3, .reason = "a first ACK for three: its last may have waited" },
		{ 0, 0, 300, 3, .reason = "for its own" },
		{ 0, 0, 300, 8, .reason = "of eight, for seven of them" },
	};
	size_t i;
	u32 ms;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		begin(DEFAULT, SERVICE_NS(10), 20 + rows[i].back_ms);
		s.sk.snd_cwnd_clamp = 10;
		s.ack_every = rows[i].ack_every;
		s.no_stamps = rows[i].no_stamps;
		first_missing = rows[i].missing;
		s.after_ack = hide_holes;
		for (ms = 0; ms < rows[i].for_ms; ms++) {
			if (rows[i].there_us)
				s.free_ns = max_t(u64, s.free_ns, s.now_ns +
						  rows[i].there_us * NSEC_PER_USEC);
			sender_run(&s, NSEC_PER_MSEC);
			/* the first flight has left */
			if (!ms)
				s.sk.sacked_out = first_missing;
		}
		assert_int_equal(ca->evidence->turns.alarms, 0);
		s.prop_ns = 20 * NSEC_PER_MSEC;
		sender_run(&s, SECONDS(2));
		if (ca->evidence->turns.alarms != rows[i].alarm)
			fail_msg("%s: %u", rows[i].reason, ca->evidence->turns.alarms);
	}
}

/* A receiver that merges eight segments at first, and a window of two such ACKs: of a flow that
 * is alone or has its turns, what the eighth packet waited was for seven of its own
 */
static void a_first_ack_of_eight_segments_is_no_alarm(void **state)
{
	static const struct {
		u32 mbit, rtt_ms, window, merges_ms, others;
	} rows[] = {
		{ 5, 20, 16, 45, 0 }, { 5, 10, 16, 300, 0 }, { 10, 10, 16, 60, 0 },
		{ 40, 5, 16, 60, 0 }, { 40, 10, 32, 45, 0 }, { 10, 20, 16, 60, 3 },
		{ 40, 20, 32, 100, 1 },
		/* and windows that leave no wait */
		{ 10, 20, 10, 300, 0 }, { 10, 20, 8, 300, 0 },
	};
	size_t i;
	int stamps;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (stamps = 0; stamps <= 1; stamps++) {
			begin(DEFAULT, SERVICE_NS(rows[i].mbit), rows[i].rtt_ms);
			s.sk.snd_cwnd = s.sk.snd_cwnd_clamp = rows[i].window;
			s.ack_every = 8;
			s.no_stamps = !stamps;
			s.turn = s.turn_left = rows[i].others > 0;
			s.others_ns = rows[i].others * s.service_ns;
			sender_run(&s, rows[i].merges_ms * NSEC_PER_MSEC);
			s.ack_every = 1;
			sender_run(&s, SECONDS(1));
			if (ca->evidence->turns.alarms)
				fail_msg("row %zu: %u alarms", i, ca->evidence->turns.alarms);
		}
	}
}

/* On a path that is shorter than a tick of the receiver's clock, whatever its phase is: ACKs
 * are later on the way back at first, and the flow is alone
 */
static void a_tick_of_the_receivers_clock_is_no_wait(void **state)
{
	static const struct {
		u32 later_us;
		bool no_stamps, alarm;
	} rows[] = {
		{ 90, false, false }, { 110, false, false }, { 0, false, false },
		{ 0, true, false }, { 110, true, true },
	};
	u32 phase_us;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (phase_us = 0; phase_us < 1000; phase_us += 50) {
			begin(DEFAULT, SERVICE_NS(1000), 1);
			s.now_ns += phase_us * NSEC_PER_USEC;
			s.prop_ns = (200 + rows[i].later_us) * NSEC_PER_USEC;
			s.no_stamps = rows[i].no_stamps;
			sender_run(&s, 5 * NSEC_PER_MSEC);
			s.prop_ns = 200 * NSEC_PER_USEC;
			sender_run(&s, SECONDS(1) / 2);
			if (ca->evidence->turns.alarms != rows[i].alarm)
				fail_msg("%u us later, phase %u us: %u alarms", rows[i].later_us,
					 phase_us, ca->evidence->turns.alarms);
		}
	}
}

static void while_it_is_shared_ss_shows_nothing_and_a_loss_is_cubics(void **state)
{
	const u32 bbr = 1 << (INET_DIAG_BBRINFO - 1);
	union tcp_cc_info info;
	int attr = -1;
	u32 window;

	become_shared(SERVICE_NS(10), 20);
	assert_int_equal(s.sk.icsk_ca_ops->get_info(&s.sk, bbr, &attr, &info), 0);
	assert_int_equal(attr, -1);
	window = s.sk.snd_cwnd;
	assert_int_equal(s.sk.icsk_ca_ops->ssthresh(&s.sk), window * 717 / 1024);
	/* fast convergence: this loss came before the window of the last one */
	s.sk.snd_cwnd = window / 2;
	s.sk.icsk_ca_ops->ssthresh(&s.sk);
	assert_int_equal(ca->evidence->cubic.max, window / 2 * 1741 / 2048);
	/* after a timeout no window is known (RFC 9438, 4.8) */
	s.sk.icsk_ca_ops->set_state(&s.sk, TCP_CA_Loss);
	assert_int_equal(ca->evidence->cubic.max, 0);
}

static struct cubic_window reference;
static u32 reference_count, reference_window;

/* The window is CUBIC's, and twice as much in a round trip may leave */
static void check_cubic(struct sender *of, const struct rate_sample *rs)
{
	const struct cubic_window_acked acked = {
		.ssthresh = of->sk.snd_ssthresh, .acked = rs->acked_sacked,
		.now_us = (u32)of->sk.tcp_mstamp,
		.rtt_min_us = ca->evidence ? ca->prop.delay_us : 0,
	};
	u8 in = of->sk.icsk_ca_state;
	u32 room;

	/* this bottleneck has no other flow: it would be found out */
	if (ca->evidence)
		ca->evidence->turns.turns = 0;
	if (in == TCP_CA_Recovery || in == TCP_CA_CWR)
		reference_window = of->sk.snd_ssthresh;
	else if (of->sk.window_binds)
		reference_window = cubic_window_ack(&reference, reference_window,
						    &reference_count, &acked);
	reference_window = min_t(u32, reference_window, of->sk.snd_cwnd_clamp);
	/* and room for a train that is to show a gap */
	room = ca->evidence ? ca->evidence->probe_room : 0;
	assert_true(room <= 2);
	assert_int_equal(of->sk.snd_cwnd, reference_window + room);
	assert_int_equal(of->sk.sk_pacing_rate,
			 2ULL * reference_window * of->sk.mss_cache * USEC_PER_SEC /
			 (of->sk.srtt_us >> 3));
}

/* A packet is lost, and what was sent until then is acknowledged a round trip later */
static void lose_one(void)
{
	const u32 expected = cubic_window_ssthresh(&reference, reference_window);

	reference_count = 0;
	sender_state(&s, TCP_CA_Recovery);
	assert_int_equal(s.sk.snd_ssthresh, expected);
}

static void run_as_cubic(void)
{
	int loss;

	reference = (struct cubic_window) { 0 };
	reference_count = 0;
	reference_window = pktpair_shared_window(&s.sk);
	s.after_ack = check_cubic;
	/* slow start, and some epochs */
	sender_run(&s, 150 * NSEC_PER_MSEC);
	for (loss = 0; loss < 4; loss++) {
		lose_one();
		assert_true(s.sk.snd_ssthresh < s.sk.snd_cwnd);
		sender_run(&s, SECONDS(3));
	}
	/* what the application does not fill does not grow; no silence is as long as the timeout */
	s.sk.icsk_rto = 500;
	for (loss = 0; loss < 100; loss++) {
		s.waiting = s.sk.snd_cwnd / 4;
		sender_run(&s, SECONDS(1));
	}
	assert_false(s.sk.window_binds);
	assert_true(s.sk.snd_cwnd < 400);
}

static void while_it_is_shared_the_window_is_cubics(void **state)
{
	become_shared(SERVICE_NS(10), 20);
	run_as_cubic();
	assert_int_equal(ca->evidence->turns.shared, 1);
}

/* Alone at this bottleneck a flow would find out that it is served in turn */
static void stay_shared(struct sender *of, const struct rate_sample *rs)
{
	ca->evidence->turns.turns = 0;
}

/* RFC 9438, 5.8: the curve does not rise while nothing is in flight. The application is silent
 * right after a loss; beside it runs a flow that is not.
 */
static void while_it_is_shared_silence_does_not_raise_the_window(void **state)
{
	static const u32 silences_s[] = { 0, 1, 10, 100, 2000, 5000 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(silences_s); i++) {
		u32 before_it;

		become_shared(SERVICE_NS(10), 20);
		s.after_ack = stay_shared;
		sender_run(&s, 150 * NSEC_PER_MSEC);
		sender_state(&s, TCP_CA_Recovery);
		sender_run(&s, SECONDS(1));
		s.waiting = 0;
		sender_run(&s, SECONDS(1));
		assert_int_equal(s.sk.packets_out, 0);
		before_it = pktpair_shared_window(&s.sk);
		sender_run(&s, SECONDS(silences_s[i]));
		s.waiting = U32_MAX;
		sender_run(&s, SECONDS(1));
		assert_int_equal(ca->evidence->turns.shared, 1);
		/* a few seconds to the last maximum, of which one has passed */
		if (pktpair_shared_window(&s.sk) > before_it + before_it / 4)
			fail_msg("%u s of silence: %u packets, then %u", silences_s[i], before_it,
				 pktpair_shared_window(&s.sk));
	}
}

/* RFC 5681, 4.1: the first packets after a silence, and where the window grows to at once */
static void while_it_is_shared_a_silence_halves_the_window_with_each_timeout(void **state)
{
	static const struct {
		u32 silence_s, expected;
		bool off;
	} rows[] = {
		{ 1, 80, false }, { 2, 40, false }, { 3, 20, false }, { 5, 10, false },
		{ 5000, 10, false }, { 5000, 80, true },
	};
	size_t i, alone;

	for (alone = 0; alone < 2; alone++)
		for (i = 0; i < ARRAY_SIZE(rows); i++) {
			stack_memory_fails = alone;
			if (alone)
				begin(DEFAULT, SERVICE_NS(10), 20);
			else
				become_shared(SERVICE_NS(10), 20);
			stack_memory_fails = false;
			s.after_ack = alone ? NULL : stay_shared;
			sender_run(&s, 150 * NSEC_PER_MSEC);
			s.waiting = 0;
			sender_run(&s, SECONDS(1));
			assert_int_equal(s.sk.packets_out, 0);
			s.sk.icsk_rto = 250;
			s.sk.snd_cwnd = 80;
			s.sk.snd_ssthresh = 40;
			if (alone)
				ca->alone_delivered_us = s.sk.tcp_mstamp;
			else
				ca->evidence->delivered_us = s.sk.tcp_mstamp;
			s.sk.tcp_mstamp += rows[i].silence_s * USEC_PER_SEC;
			stack_net.ipv4.sysctl_tcp_slow_start_after_idle = !rows[i].off;
			s.sk.icsk_ca_ops->min_tso_segs(&s.sk);
			/* asked again before anything is sent */
			s.sk.icsk_ca_ops->min_tso_segs(&s.sk);
			stack_net.ipv4.sysctl_tcp_slow_start_after_idle = 1;
			assert_int_equal(s.sk.snd_cwnd, rows[i].expected);
			assert_int_equal(s.sk.snd_ssthresh, rows[i].expected < 80 ? 60 : 40);
		}
}

static void while_it_is_shared_a_train_that_shows_a_gap_is_longer(void **state)
{
	become_shared(SERVICE_NS(10), 20);
	assert_int_equal(s.sk.icsk_ca_ops->min_tso_segs(&s.sk), 2);
	ca->evidence->probe_seq = s.sk.snd_nxt;
	assert_int_equal(s.sk.icsk_ca_ops->min_tso_segs(&s.sk), 4);
	s.sk.snd_nxt++;
	assert_int_equal(s.sk.icsk_ca_ops->min_tso_segs(&s.sk), 2);
	/* the stack may make larger skbs, as of any flow */
	assert_int_equal(s.sk.sk_gso_max_segs, 4);
}

static u32 rounds_seen, probe_rounds, probes;

/* No block says anything, so that what was said before stays */
static void note_probe(struct sender *of, const struct rate_sample *rs)
{
	round_check_void(&ca->evidence->check);
	/* nor does the window become a queue of seconds */
	of->sk.snd_cwnd = 30 + ca->evidence->probe_room;
	if (ca->evidence->rounds == rounds_seen)
		return;
	assert_int_equal(ca->evidence->rounds, ++rounds_seen);
	assert_int_equal(ca->evidence->probe_seq == of->sk.snd_nxt, !(rounds_seen % probe_rounds));
	probes += !(rounds_seen % probe_rounds);
}

static void note_dip_of_no_block(struct sender *of, const struct rate_sample *rs)
{
	round_check_void(&ca->evidence->check);
	if (ca->evidence->turns.shared)
		of->sk.snd_cwnd = 30 + ca->evidence->probe_room;
	seen_dipping |= prop_dipping(&ca->prop);
}

/* What this flow does not send goes to others, who fill the queue again */
static void a_queue_that_others_may_fill_is_not_drained(void **state)
{
	static const struct {
		u8 shared, score_q4;
		bool dips;
	} rows[] = { { 0, 0, true }, { 1, 0, false }, { 0, 1, false } };
	size_t i;
	int n;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		begin(DEFAULT, SERVICE_NS(10), 20);
		sender_run(&s, SECONDS(1));
		for (n = 0; n < 3 && rows[i].shared; n++)
			take_block(100, false);
		assert_int_equal(ca->evidence->turns.shared, rows[i].shared);
		ca->evidence->turns.score_q4 = rows[i].score_q4;
		round_check_void(&ca->evidence->check);
		seen_dipping = false;
		s.after_ack = note_dip_of_no_block;
		sender_run(&s, SECONDS(30));
		assert_int_equal(ca->evidence->turns.score_q4, rows[i].score_q4);
		assert_int_equal(seen_dipping, rows[i].dips);
	}
}

/* Trains that were sent since, of more segments than CUBIC's */
static u32 long_trains(u32 since)
{
	u32 count = 0;

	for (; since != s.skb_tail; since++)
		count += s.skbs[since % SENDER_RING].segments > PKTPAIR_SHARED_TRAIN;
	return count;
}

static void while_it_is_shared_one_round_trip_in_twelve_has_a_train_that_shows_a_gap(void **state)
{
	static const struct {
		u8 turns;
		u32 rounds;
	} rows[] = { { 0, 12 }, { 1, 2 }, { 7, 2 } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 since, before_it;

		become_shared(SERVICE_NS(10), 20);
		round_check_void(&ca->evidence->check);
		ca->evidence->turns.turns = rows[i].turns;
		probe_rounds = rows[i].rounds;
		before_it = rounds_seen = ca->evidence->rounds;
		since = s.skb_tail;
		probes = 0;
		s.after_ack = note_probe;
		sender_run(&s, SECONDS(20));
		s.after_ack = NULL;
		assert_int_equal(ca->evidence->turns.shared, 1);
		assert_int_equal(ca->evidence->turns.turns, rows[i].turns);
		assert_true(rounds_seen - before_it > 400);
		assert_in_range(probes, (rounds_seen - before_it) / probe_rounds,
				(rounds_seen - before_it) / probe_rounds + 1);
		/* one leaves for each, and the last may be yet to leave */
		assert_in_range(long_trains(since), probes - 1, probes);
	}
}

/* No queue forms at a policer, and what is sent for one is dropped */
static void where_a_rate_is_policed_it_is_paced(void **state)
{
	begin(DEFAULT, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(1));
	ca->evidence->turns.policed = 1;
	ca->evidence->turns.lossy = IN_TURN_POLICED;
	take_ack(NSEC_PER_MSEC, true, (struct rate_sample) {
		.acked_sacked = 2, .delivered = 16, .interval_us = 20000,
	});
	s.sk.packets_out = 8;
	take_ack(NSEC_PER_MSEC, false, (struct rate_sample) {
		.acked_sacked = 2, .delivered = 16, .interval_us = 20000,
	});
	/* with an empty pipe, with a queue that is too short and with one that is too long */
	for (; s.sk.packets_out < 100; s.sk.packets_out++) {
		take_ack(NSEC_PER_MSEC, true, (struct rate_sample) {
			.acked_sacked = 2, .delivered = 16, .interval_us = 20000,
		});
		assert_int_equal(s.sk.sk_pacing_rate,
				 control_share_bytes_ps(&(struct control_path) {
					.service_q10 = ca->service.value }, 1448));
	}
}

/* The first packets of a burst leave a policer at the link's rate */
static void at_a_policer_gaps_show_nothing(void **state)
{
	u64 before_it;
	u32 trains;
	int train;

	begin(DEFAULT, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(1));
	before_it = ca->service.value;
	ca->evidence->turns.policed = 1;
	ca->evidence->turns.lossy = IN_TURN_POLICED;
	/* no period ends here, which would probe the rate */
	ca->evidence->check.delivered = s.sk.delivered;
	trains = ca->evidence->check.trains;
	for (train = 0; train < 200; train++)
		take_train(SERVICE_NS(100));
	assert_int_equal(ca->service.value, before_it);
	/* that they came is known */
	assert_true(ca->evidence->check.trains >= trains + 199);
	/* elsewhere a few in a row are believed, and none of those before is of the row */
	ca->evidence->turns.policed = 0;
	ca->evidence->check.steady = 0;
	take_train(SERVICE_NS(100));
	assert_true(ca->service.value > before_it / 2);
	take_train(SERVICE_NS(100));
	take_train(SERVICE_NS(100));
	assert_true(ca->service.value < before_it / 2);
}

static u32 trains_while_policed;

static void check_single(struct sender *of, const struct rate_sample *rs)
{
	if (!ca->evidence->turns.policed)
		return;
	assert_int_equal(ca->train, 1);
	assert_int_equal(of->sk.icsk_ca_ops->min_tso_segs(&of->sk), 1);
	/* the stack makes no larger skbs either */
	assert_int_equal(of->sk.sk_gso_max_segs, 1);
	trains_while_policed++;
}

/* Packets that leave at once are lost at a policer, whatever its rate is */
static void where_a_rate_is_policed_segments_leave_one_by_one(void **state)
{
	static const struct {
		u32 mbit, train;
	} rows[] = { { 10, 4 }, { 1000, 8 } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		begin(DEFAULT, SERVICE_NS(rows[i].mbit), 20);
		sender_run(&s, SECONDS(1));
		assert_int_equal(ca->train, rows[i].train);
		ca->evidence->turns.policed = 1;
		ca->evidence->turns.lossy = IN_TURN_POLICED;
		/* the period under way ends */
		sender_run(&s, SECONDS(1) / 10);
		trains_while_policed = 0;
		s.after_ack = check_single;
		sender_run(&s, SECONDS(1) / 5);
		assert_true(trains_while_policed > 50);
		/* it is gone, and trains show gaps again */
		ca->evidence->turns.policed = 0;
		ca->evidence->turns.lossy = 0;
		sender_run(&s, SECONDS(1));
		assert_int_equal(ca->evidence->turns.policed, 0);
		assert_int_equal(ca->train, rows[i].train);
		/* where turns have ended too, CUBIC's trains are as anywhere */
		ca->evidence->turns.policed = 1;
		ca->evidence->turns.lossy = IN_TURN_POLICED;
		s.after_ack = NULL;
		take_block(100, false);
		take_block(100, false);
		take_block(100, false);
		assert_int_equal(ca->evidence->turns.shared, 1);
		assert_int_equal(ca->evidence->turns.policed, 1);
		assert_int_equal(ca->train, PAIR_TRAIN_SHOWS_GAP);
	}
}

/* What a period has found says whether there is one */
static void a_policer_is_found_sooner_if_more_was_believed(void **state)
{
	int faster, block;

	for (faster = 0; faster <= 1; faster++) {
		const u32 needed = faster ? 3 : 8;

		begin(DEFAULT, SERVICE_NS(10), 20);
		sender_run(&s, SECONDS(1));
		for (block = 1; block <= 8; block++) {
			const struct round_found found = {
				.service_q10 = ca->service.value,
				.delivered_q10 = ca->service.value,
				.verdict = ROUND_CONFIRMED, .lossy = true, .faster = faster,
			};

			pktpair_judge_turns(&s.sk, &found);
			assert_int_equal(traced_block.faster, faster);
			assert_int_equal(ca->evidence->turns.policed, block >= needed);
		}
	}
}

/* ---- trains that say nothing of the receiver ---- */

/* A hundred trains, each of which comes back as one ACK */
static void take_single_acks(u32 segments)
{
	u32 train;

	for (train = 0; train < 100; train++)
		take_ack(NSEC_PER_MSEC, true, (struct rate_sample) {
			.acked_sacked = segments, .delivered = 16, .interval_us = 25000,
		});
}

static void trains_that_a_drain_has_cut_are_not_lengthened(void **state)
{
	unsigned long drained = trains_shown("drained");
	int after;

	/* while it lasts, and in the round trip after it */
	for (after = 0; after <= 1; after++) {
		begin(DEFAULT, SERVICE_NS(10), 20);
		sender_run(&s, SECONDS(1));
		if (after)
			ca->dipped = 1;
		else
			prop_dip(&ca->prop);
		take_single_acks(4);
		assert_int_equal(ca->probe.train, 4);
	}
	assert_in_range(trains_shown("drained") - drained, 198, 200);
	begin(DEFAULT, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(1));
	take_single_acks(4);
	assert_true(ca->probe.train > 4);
}

static void acks_that_fill_holes_do_not_lengthen_trains(void **state)
{
	begin(DEFAULT, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(1));
	be_in_state(TCP_CA_Recovery);
	take_single_acks(8);
	assert_int_equal(ca->probe.train, 4);
	be_in_state(TCP_CA_Loss);
	take_single_acks(8);
	assert_int_equal(ca->probe.train, 4);
	/* and elsewhere that is how the receiver acknowledges */
	be_in_state(TCP_CA_Open);
	take_single_acks(8);
	assert_true(ca->probe.train > 8);
}

/* ---- the first flight ---- */

/* The service time after the first flight, of ten packets that leave at once. Its ACKs come
 * in slots, 15 us apart.
 */
static u64 first_believed(u64 service_ns, u32 ack_every, u64 slot_ms)
{
	begin(DEFAULT, service_ns, 20);
	s.ack_every = ack_every;
	if (slot_ms) {
		s.back_period_ns = slot_ms * NSEC_PER_MSEC;
		s.back_taken_ns = s.back_period_ns - NSEC_PER_MSEC / 2;
		s.ack_ns = 15 * NSEC_PER_USEC;
	}
	while (s.acked < 10)
		sender_run(&s, NSEC_PER_MSEC / 4);
	assert_int_equal(s.acked, 10);
	assert_int_equal(ca->started, 0);
	return ca->service.value >> PAIR_SERVICE_SHIFT;
}

static void a_first_flight_whose_acks_come_one_by_one_is_believed_whole(void **state)
{
	const u64 service_ns = SERVICE_NS(50);

	/* ten packets take 2.4 ms, of a round trip of 20 */
	assert_in_range(first_believed(service_ns, 1, 0), service_ns - 2, service_ns + 2);
	assert_in_range(first_believed(service_ns, 2, 0), service_ns - 2, service_ns + 2);
}

static void of_a_first_flight_in_bursts_three_times_is_believed(void **state)
{
	/* the ten take 4 ms, in two slots, which show 0.44 ms: 20 to 28 ms over three times ten */
	assert_in_range(first_believed(SERVICE_NS(30), 1, 4), 20000000 / 30, 28000000 / 30);
}

static void of_a_first_flight_in_one_burst_three_times_is_believed(void **state)
{
	/* the ten take 12 ms, and wait for a slot: 15 us are what ACKs take */
	assert_in_range(first_believed(SERVICE_NS(10), 1, 37), 20000000 / 30, 40000000 / 30);
}

static void a_first_train_of_less_than_100_us_is_not_believed(void **state)
{
	/* from the first to the last of the ten are 54 us at two gigabits */
	begin(DEFAULT, SERVICE_NS(2000), 20);
	s.ack_every = 1;
	sender_run(&s, 22 * NSEC_PER_MSEC);
	assert_int_equal(s.acked, 10);
	assert_int_equal(ca->service.value, 0);
	/* and the window grows meanwhile as in slow start */
	assert_int_equal(s.sk.snd_cwnd, 20);
	/* nor when it has come back whole */
	sender_run(&s, 20 * NSEC_PER_MSEC);
	assert_true(s.acked > 10);
	assert_int_equal(ca->service.value, 0);
	/* 109 us at one gigabit */
	begin(DEFAULT, SERVICE_NS(1000), 20);
	s.ack_every = 1;
	sender_run(&s, 22 * NSEC_PER_MSEC);
	assert_in_range(ca->service.value >> PAIR_SERVICE_SHIFT, SERVICE_NS(1000) - 1,
			SERVICE_NS(1000) + 1);
	/* the memorandum believes every pair */
	begin(MEMO, SERVICE_NS(2000), 20);
	s.ack_every = 1;
	sender_run(&s, 22 * NSEC_PER_MSEC);
	assert_true(ca->service.value > 0);
}

/* ---- ACKs in heaps, at a share that has grown tenfold ---- */

/* How far end or way back hand over ACKs: none in the first @taken_us of each period, and
 * @ack_us apart then, or later
 */
struct hand_over {
	u64 period_us, taken_us, ack_us;
};

/* The most that leaves in a round trip of 30 ms, as part of what the hostile suite's bound
 * allows: 2.5 times what the bottleneck carries, 24 packets, and the pipe before (see
 * mininet-tests/hostile/connection.py). The bottleneck becomes ten times as fast, and ACKs
 * come as @how says from @phase_ms in the second round trip on.
 */
static double most_of_the_bound(int preset, u32 phase_ms, const struct hand_over *how)
{
	const u64 carried = 1250000 * 30 / 1000, before = carried / 10;
	const double allowed = 2.5 * (double)carried + 24 * 536 + (double)before;
	double most = 0;
	int i;

	begin(preset, 4608 * NSEC_PER_USEC, 30);
	s.sk.mss_cache = 536;
	begin_again();
	s.no_stamps = true;
	s.ack_every = preset == MEMO ? 1 : 2;
	sender_run(&s, 360 * NSEC_PER_MSEC);
	s.service_ns /= 10;
	for (i = 0; i < 12; i++) {
		u64 sent = s.bytes_sent;

		sender_run(&s, phase_ms * NSEC_PER_MSEC);
		if (i == 1) {
			s.back_period_ns = how->period_us * NSEC_PER_USEC;
			s.back_taken_ns = how->taken_us * NSEC_PER_USEC;
			s.ack_ns = how->ack_us * NSEC_PER_USEC;
		}
		sender_run(&s, (30 - phase_ms) * NSEC_PER_MSEC);
		most = fmax(most, (double)(s.bytes_sent - sent) / allowed);
	}
	return most;
}

/* A heap's gaps are those of who hands it over. The memorandum takes each for a service time,
 * so that what it sends is bounded only where ACKs come as the bottleneck serves. In the third
 * row they come as from a far end whose processor was busy with others.
 */
static void only_acks_that_come_as_served_bound_the_memorandum(void **state)
{
	static const struct {
		int preset;
		struct hand_over how;
		double least, most;
	} rows[] = {
		{ MEMO, { 0, 0, 0 }, 0.2, 0.4 },
		/* no closer than 7/8 of the service time */
		{ MEMO, { 15000, 1700, 403 }, 0.2, 0.4 },
		{ MEMO, { 2000, 1750, 77 }, 1.2, 2 },
		/* who checks what gaps show */
		{ DEFAULT, { 0, 0, 0 }, 0.1, 0.4 },
		{ DEFAULT, { 2000, 1750, 77 }, 0.1, 0.6 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		double most = 0;
		u32 phase;

		for (phase = 0; phase < 30; phase++)
			most = fmax(most, most_of_the_bound(rows[i].preset, phase, &rows[i].how));
		if (most < rows[i].least || most > rows[i].most)
			fail_msg("row %zu: %.2f of the bound", i, most);
	}
}

/* The application allows a fifth of the link, and the receiver acknowledges 6 segments at once,
 * so that trains show no gap. What is claimed meanwhile leaves at once when it allows all.
 */
static void a_limit_of_the_pacing_rate_lets_no_claim_grow(void **state)
{
	const u64 carried = SHARE_BYTES_PS(12) * 80 / 1000;
	u64 sent;

	begin(DEFAULT, SERVICE_NS(12), 80);
	sender_run(&s, SECONDS(1));
	s.ack_every = 6;
	s.sk.sk_max_pacing_rate = SHARE_BYTES_PS(12) / 5;
	/* at that rate the stack sends no larger skbs, whatever the trains are */
	s.sk.sk_gso_max_size = 4 * 1448;
	sender_run(&s, SECONDS(4));
	assert_true(ca->service.value >> PAIR_SERVICE_SHIFT >= SERVICE_NS(12));
	s.sk.sk_gso_max_size = 65536;
	s.sk.sk_max_pacing_rate = ~0UL;
	sent = s.bytes_sent;
	sender_run(&s, 80 * NSEC_PER_MSEC);
	if (s.bytes_sent - sent > 2 * carried)
		fail_msg("%llu bytes, %llu carried", (unsigned long long)(s.bytes_sent - sent),
			 (unsigned long long)carried);
	s.ack_every = 2;
	sender_run(&s, SECONDS(1));
	sent = sender_run(&s, SECONDS(1));
	assert_true(sent > 0.97 * NSEC_PER_SEC / SERVICE_NS(12));
}

/* ---- no memory, and other algorithms ---- */

static int give_memory(void **state)
{
	stack_memory_fails = false;
	return 0;
}

static void without_memory_the_window_is_cubics(void **state)
{
	unsigned long alone = law_shown("no-memory");
	const u32 bbr = 1 << (INET_DIAG_BBRINFO - 1);
	union tcp_cc_info info;
	int attr = -1, preset;
	u8 ca_state;

	stack_memory_fails = true;
	for (preset = DEFAULT; preset <= MEMO; preset++) {
		begin(preset, SERVICE_NS(10), 20);
		assert_null(ca->evidence);
		assert_int_equal(s.sk.sk_pacing_status, SK_PACING_NEEDED);
		assert_int_equal(s.sk.snd_cwnd, 10);
		assert_int_equal(s.sk.icsk_ca_ops->get_info(&s.sk, bbr, &attr, &info), 0);
		run_as_cubic();
		/* nor where the stack has taken a loss back, and the threshold with it */
		s.sk.snd_ssthresh = TCP_INFINITE_SSTHRESH;
		assert_int_equal(s.sk.icsk_ca_ops->get_info(&s.sk, bbr, &attr, &info), 0);
		assert_int_equal(attr, -1);
		assert_int_equal(s.sk.icsk_ca_ops->min_tso_segs(&s.sk), 2);
		assert_int_equal(s.sk.sk_gso_max_segs, U16_MAX);
		/* after a timeout no window is known */
		s.waiting = U32_MAX;
		sender_run(&s, 50 * NSEC_PER_MSEC);
		assert_true(ca->alone.max > 0);
		sender_timeout(&s, false);
		assert_int_equal(ca->alone.max, 0);
		reference = (struct cubic_window) { 0 };
		reference_count = 0;
		reference_window = 1;
		sender_run(&s, SECONDS(1));
		for (ca_state = TCP_CA_Open; ca_state <= TCP_CA_Loss; ca_state++)
			s.sk.icsk_ca_ops->set_state(&s.sk, ca_state);
		/* another size of packets, and a receiver that reneges */
		s.sk.mss_cache = 536;
		s.sk.icsk_ca_ops->min_tso_segs(&s.sk);
		s.after_ack = NULL;
		s.waiting = U32_MAX;
		sender_timeout(&s, true);
		sender_run(&s, SECONDS(1));
		burst_of_nonsense(100);
		s.sk.prior_cwnd = s.sk.snd_cwnd + 5;
		assert_int_equal(s.sk.icsk_ca_ops->undo_cwnd(&s.sk), s.sk.prior_cwnd);
		assert_int_equal(s.sk.icsk_ca_ops->sndbuf_expand(&s.sk), 3);
		s.sk.icsk_ca_ops->release(&s.sk);
		assert_int_equal(s.sk.sk_gso_max_segs, U16_MAX);
	}
	assert_int_equal(law_shown("no-memory") - alone, 2);
}

/* Nothing was reduced yet by this algorithm, whose threshold is infinite */
static void a_socket_that_changes_in_recovery_keeps_its_window(void **state)
{
	u32 window;

	begin(DEFAULT, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(1));
	sender_state(&s, TCP_CA_Recovery);
	window = s.sk.snd_cwnd;
	stack_memory_fails = true;
	begin_again();
	acknowledge(2);
	if (s.sk.snd_cwnd > window + 2)
		fail_msg("a window of %u, before %u", s.sk.snd_cwnd, window);
}

/* The stack calls cong_control() for the SYN's acknowledgment, and init() after it */
static void an_ack_before_init_is_taken(void **state)
{
	struct rate_sample rs = { .acked_sacked = 1, .delivered = 1, .interval_us = 20000 };
	int preset;

	for (preset = DEFAULT; preset <= MEMO; preset++) {
		begin(preset, SERVICE_NS(10), 20);
		s.sk.icsk_ca_ops->release(&s.sk);
		memset(s.sk.icsk_ca_priv, 0, sizeof(s.sk.icsk_ca_priv));
		rs.prior_mstamp = s.sk.tcp_mstamp;
		s.sk.icsk_ca_ops->cong_control(&s.sk, &rs);
		assert_in_range(s.sk.snd_cwnd, preset == MEMO ? 2 : 10, 11);
		s.sk.icsk_ca_ops->init(&s.sk);
		assert_non_null(ca->evidence);
		assert_int_equal(ca->service.value, 0);
	}
}

/* In SYN-SENT a socket has a congestion control whose init() has not run */
static void ss_shows_something_from_init_on(void **state)
{
	const u32 bbr = 1 << (INET_DIAG_BBRINFO - 1);
	union tcp_cc_info info;
	int attr, preset;
	u8 ca_state;

	for (preset = DEFAULT; preset <= MEMO; preset++) {
		begin(preset, SERVICE_NS(10), 20);
		s.ack_every = preset == MEMO ? 1 : 2;
		s.sk.icsk_ca_ops->release(&s.sk);
		memset(s.sk.icsk_ca_priv, 0, sizeof(s.sk.icsk_ca_priv));
		assert_int_equal(s.sk.icsk_ca_ops->get_info(&s.sk, bbr, &attr, &info), 0);
		s.sk.icsk_ca_ops->init(&s.sk);
		for (ca_state = TCP_CA_Open; ca_state <= TCP_CA_Loss; ca_state++) {
			be_in_state(ca_state);
			assert_int_equal(s.sk.icsk_ca_ops->get_info(&s.sk, bbr, &attr, &info),
					 sizeof(info.bbr));
			be_in_state(TCP_CA_Open);
			sender_run(&s, NSEC_PER_SEC);
		}
	}
}

static void what_was_allocated_is_freed_once(void **state)
{
	int before_it;

	sender_release(&s);
	before_it = stack_allocated;
	begin(DEFAULT, SERVICE_NS(10), 20);
	assert_int_equal(stack_allocated, before_it + 1);
	sender_run(&s, NSEC_PER_SEC / 10);
	s.sk.icsk_ca_ops->release(&s.sk);
	assert_null(ca->evidence);
	assert_int_equal(stack_allocated, before_it);
	/* as a socket does that is closed right after a failed change */
	s.sk.icsk_ca_ops->release(&s.sk);
	assert_int_equal(stack_allocated, before_it);
}

static void a_socket_that_changes_in_mid_flow_believes_nothing(void **state)
{
	static struct pktpair_evidence none;
	u32 window;

	/* but that the first packet is gone, and where the connection is */
	round_check_midway(&none.check);
	/* its predecessor has left whatever it likes */
	begin(DEFAULT, SERVICE_NS(10), 20);
	sender_run(&s, SECONDS(1));
	s.sk.icsk_ca_ops->release(&s.sk);
	memset(s.sk.icsk_ca_priv, 0xff, sizeof(s.sk.icsk_ca_priv));
	s.sk.snd_ssthresh = 17;
	window = s.sk.snd_cwnd;
	s.sk.icsk_ca_ops->init(&s.sk);
	none.resized_seq = s.sk.snd_una;
	none.counted_mss = s.sk.mss_cache;
	assert_int_equal(ca->service.value, 0);
	assert_int_equal(ca->started, 0);
	assert_int_equal(ca->prop.delay_us, PROP_UNKNOWN_US);
	assert_int_equal(memcmp(ca->evidence, &none, sizeof(none)), 0);
	assert_int_equal(s.sk.snd_ssthresh, TCP_INFINITE_SSTHRESH);
	assert_int_equal(s.sk.snd_cwnd, window);
	/* it finds its share, in the middle of whatever comes back */
	sender_run(&s, SECONDS(1));
	assert_in_range(ca->service.value >> PAIR_SERVICE_SHIFT, SERVICE_NS(10) * 99 / 100,
			SERVICE_NS(10) * 101 / 100);
	assert_int_equal(ca->evidence->turns.shared, 0);
}

/* An algorithm that keeps its window */
#define KEPT_WINDOW 100

static void keep_window(struct sock *sk)
{
	sk->snd_cwnd = KEPT_WINDOW;
	sk->sk_pacing_rate = sk->sk_max_pacing_rate;
}

static void keep_nothing(struct sock *sk)
{
}

static void keep_through_acks(COMPAT_CONG_CONTROL_ARGS(sk, rs))
{
}

static u32 keep_trains(struct sock *sk)
{
	return 2;
}

static const struct tcp_congestion_ops keeps_window = {
	.init = keep_window, .release = keep_nothing, .cong_control = keep_through_acks,
	.min_tso_segs = keep_trains,
};

/* What the first packet after the change waits for is the flow itself */
static void after_a_change_in_mid_flow_no_packet_is_the_first(void **state)
{
	static const struct {
		u32 mbit, rtt_ms, ack_every;
		bool no_stamps;
	} rows[] = {
		{ 10, 20, 2, false }, { 10, 20, 2, true }, { 10, 20, 1, false },
		{ 40, 10, 2, false }, { 10, 5, 1, true },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const u32 prop_us = rows[i].rtt_ms * USEC_PER_MSEC;

		sender_init(&s, &keeps_window, SERVICE_NS(rows[i].mbit),
			    rows[i].rtt_ms * NSEC_PER_MSEC);
		s.ack_every = rows[i].ack_every;
		s.no_stamps = rows[i].no_stamps;
		sender_run(&s, SECONDS(1));
		assert_int_equal(s.sk.snd_cwnd, KEPT_WINDOW);
		sender_change(&s, stack_algorithms[DEFAULT]);
		assert_int_equal(ca->evidence->check.first_over, 1);
		sender_run(&s, SECONDS(1));
		/* the queue was there before it, and ends with a pause */
		assert_true(ca->prop.delay_us > 2 * prop_us);
		s.waiting = 0;
		sender_run(&s, SECONDS(1));
		s.waiting = U32_MAX;
		sender_run(&s, SECONDS(2));
		assert_true(ca->prop.delay_us < 3 * prop_us / 2);
		if (ca->evidence->turns.alarms)
			fail_msg("row %zu: %u alarms", i, ca->evidence->turns.alarms);
	}
	/* a flow that begins has its first packet before it */
	begin(DEFAULT, SERVICE_NS(10), 20);
	assert_int_equal(ca->evidence->check.first_over, 0);
}

/* Another algorithm may leave any window, and the stack be in the midst of Recovery */
static void a_window_that_is_left_in_recovery_does_not_leave_at_once(void **state)
{
	u32 in_flight;

	begin(DEFAULT, SERVICE_NS(10), 40);
	sender_run(&s, SECONDS(1));
	s.losses = 3;
	s.sk.lost_out = s.sk.packets_out / 2;
	s.sk.icsk_ca_state = TCP_CA_Recovery;
	s.sk.snd_cwnd = 8628;
	in_flight = tcp_packets_in_flight(&s.sk);
	begin_again();
	assert_in_range(s.sk.snd_cwnd, in_flight, in_flight + CONTROL_FIRST_FLIGHT);
	/* the memorandum has no such bound, and a window in another state stays */
	sender_change(&s, stack_algorithms[MEMO]);
	s.sk.snd_cwnd = 8628;
	begin_again();
	assert_int_equal(s.sk.snd_cwnd, 8628);
	s.sk.icsk_ca_state = TCP_CA_Open;
	sender_change(&s, stack_algorithms[DEFAULT]);
	assert_int_equal(s.sk.snd_cwnd, 8628);
}

static u32 recovering_from;

static void check_guard(struct sender *of, const struct rate_sample *rs)
{
	if (rs->acked_sacked)
		assert_true(s.sk.snd_cwnd <= max_t(u32, recovering_from + rs->acked_sacked,
						   CONTROL_FIRST_FLIGHT));
	recovering_from = s.sk.snd_cwnd;
}

static void in_recovery_the_window_follows_what_is_delivered(void **state)
{
	begin(DEFAULT, SERVICE_NS(10), 40);
	sender_run(&s, SECONDS(2));
	be_in_state(TCP_CA_Recovery);
	/* a share that is ten times too large, and a first loss */
	ca->service.value /= 10;
	s.losses = 3;
	s.sk.lost_out = s.sk.packets_out / 2;
	recovering_from = s.sk.packets_out;
	s.after_ack = check_guard;
	sender_run(&s, 20 * NSEC_PER_MSEC);
	assert_true(s.sk.snd_cwnd < 100);
	/* and without recovery the law may ask for all of it at once */
	s.after_ack = NULL;
	be_in_state(TCP_CA_Open);
	ca->service.value = (SERVICE_NS(10) << PAIR_SERVICE_SHIFT) / 10;
	sender_run(&s, 3 * NSEC_PER_MSEC);
	assert_true(s.sk.snd_cwnd > 100);
}

/* A whole window is lost, of which one packet's arrival tells, or a timer that calls the
 * module only with the state
 */
static void of_a_window_that_is_lost_no_more_than_a_first_flight_is_sent_at_once(void **state)
{
	int timer;

	for (timer = 0; timer <= 1; timer++) {
		struct rate_sample rs = { .acked_sacked = 1, .delivered = 1,
					  .interval_us = 200000, .losses = 1 };

		/* at 10 Gbit/s a train has as many segments as an skb holds */
		begin(DEFAULT, SERVICE_NS(10000), 5);
		sender_run(&s, 300 * NSEC_PER_MSEC);
		assert_int_equal(ca->train, 65536 / 1448);
		assert_true(s.sk.packets_out > 1000);
		s.sk.lost_out = s.sk.packets_out - !timer;
		s.sk.icsk_ca_ops->set_state(&s.sk, TCP_CA_Recovery);
		s.sk.icsk_ca_state = TCP_CA_Recovery;
		if (!timer) {
			s.sk.delivered++;
			rs.prior_mstamp = s.sk.tcp_mstamp - 200000;
			rs.prior_delivered = s.sk.delivered - 1;
			s.sk.icsk_ca_ops->cong_control(&s.sk, &rs);
		}
		assert_in_range(s.sk.snd_cwnd, 2, CONTROL_FIRST_FLIGHT);
	}
	/* losses of a noisy link leave the window as it is */
	begin(DEFAULT, SERVICE_NS(10), 40);
	sender_run(&s, SECONDS(2));
	s.sk.snd_cwnd = s.sk.packets_out;
	s.sk.lost_out = s.sk.packets_out / 10;
	s.sk.icsk_ca_ops->set_state(&s.sk, TCP_CA_Recovery);
	assert_int_equal(s.sk.snd_cwnd, s.sk.packets_out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(after_reneging_the_window_grows_back_to_the_share),
		cmocka_unit_test(after_a_timeout_the_window_begins_as_in_slow_start),
		cmocka_unit_test(a_timeout_that_one_ack_ends_is_followed_by_slow_start),
		cmocka_unit_test(what_is_taken_back_ends_no_slow_start_before_it),
		cmocka_unit_test(a_lost_mtu_probe_is_no_timeout),
		cmocka_unit_test(in_loss_a_small_window_of_the_law_ends_no_slow_start),
		cmocka_unit_test(after_a_timeout_a_smaller_mss_is_no_more_packets),
		cmocka_unit_test(a_lost_syn_leaves_a_window_of_one),
		cmocka_unit_test(a_mark_that_is_echoed_for_a_round_trip_cuts_once),
		cmocka_unit_test(another_mss_is_the_same_share_in_bytes),
		cmocka_unit_test(an_mss_that_creeps_is_the_same_share_in_bytes),
		cmocka_unit_test(what_was_written_in_small_packets_is_sent_at_the_share),
		cmocka_unit_test(small_packets_make_no_queue_where_turns_go_by_packets),
		cmocka_unit_test(who_changes_the_mss_again_and_again_follows_his_share),
		cmocka_unit_test(small_packets_do_not_make_a_dip_last),
		cmocka_unit_test(a_window_of_one_grows_behind_a_receiver_that_waits),
		cmocka_unit_test(an_alarm_in_a_dip_is_undone_like_any_other),
		cmocka_unit_test(what_ss_shows_is_never_wrapped),
		cmocka_unit_test(what_is_no_propagation_delay_is_not_shown),
		cmocka_unit_test_setup_teardown(each_knob_is_read_by_read_once,
						NULL, show_knobs),
		cmocka_unit_test(in_recovery_the_window_follows_what_is_delivered),
		cmocka_unit_test(of_a_window_that_is_lost_no_more_than_a_first_flight_is_sent_at_once),
		cmocka_unit_test(the_train_follows_every_change_of_the_share),
		cmocka_unit_test(the_link_is_full_and_the_queue_at_its_setpoint),
		cmocka_unit_test(acks_in_bunches_are_not_the_share),
		cmocka_unit_test(packets_that_are_served_many_at_once_show_their_share),
		cmocka_unit_test(a_mean_in_bunches_makes_no_queue_of_many_round_trips),
		cmocka_unit_test(acks_that_are_jittered_make_no_queue_of_many_round_trips),
		cmocka_unit_test(a_bad_knob_is_refused_by_name_and_limits),
		cmocka_unit_test(trains_are_counted_by_what_became_of_them),
		cmocka_unit_test(the_memorandum_takes_pairs_that_are_sent_again),
		cmocka_unit_test(the_pacing_rate_is_never_above_the_sockets_nor_zero),
		cmocka_unit_test(a_loss_or_a_mark_cuts_the_setpoint_once_and_a_timeout_resets_it),
		cmocka_unit_test(a_loss_takes_nothing_from_rate_and_window),
		cmocka_unit_test(the_device_gets_its_segment_limit_back),
		cmocka_unit_test(trains_stay_within_their_bounds),
		cmocka_unit_test(without_gaps_deliveries_are_the_share),
		cmocka_unit_test(a_slow_share_that_grows_is_used),
		cmocka_unit_test(what_an_application_sends_is_not_the_share),
		cmocka_unit_test(after_a_pause_the_share_is_known),
		cmocka_unit_test(whatever_comes_rate_and_window_are_within_their_bounds),
		cmocka_unit_test(after_any_nonsense_share_and_delay_are_found_again),
		cmocka_unit_test(before_the_first_gap_the_window_grows_by_what_is_delivered),
		cmocka_unit_test(what_arrives_twice_shows_nothing),
		cmocka_unit_test(the_first_train_is_believed_while_it_comes_back),
		cmocka_unit_test(the_first_flight_is_what_the_knobs_know),
		cmocka_unit_test(the_window_is_never_above_the_sockets),
		cmocka_unit_test(an_ack_that_a_timer_sent_ends_no_gap_and_is_no_round_trip),
		cmocka_unit_test(trains_that_differ_are_averaged),
		cmocka_unit_test(a_share_that_has_grown_is_believed_after_two_trains),
		cmocka_unit_test(a_share_that_was_held_for_long_grows_by_half_at_first),
		cmocka_unit_test(in_recovery_without_sack_nothing_shows_the_share),
		cmocka_unit_test(what_is_in_flight_counts_in_packets_of_the_new_size),
		cmocka_unit_test(the_queue_is_drained_below_zero_to_look_for_the_propagation_delay),
		cmocka_unit_test(without_a_service_time_the_propagation_delay_is_not_looked_for),
		cmocka_unit_test(a_setpoint_that_probes_rises_to_its_bound_in_time),
		cmocka_unit_test(what_ss_shows_is_what_is_known),
		cmocka_unit_test(every_ack_sets_the_rate),
		cmocka_unit_test(a_period_without_a_gap_is_the_share_if_packets_waited),
		cmocka_unit_test(a_period_that_is_long_enough_ends_with_any_ack),
		cmocka_unit_test(a_share_is_three_times_what_was_delivered_at_most),
		cmocka_unit_test(another_law_begins_with_the_window_and_trains_that_show_gaps),
		cmocka_unit_test(cubic_begins_in_one_of_three_ways),
		cmocka_unit_test(what_an_ack_covers_is_told_of_each_block),
		cmocka_unit_test(while_it_is_shared_a_longer_round_trip_ends_slow_start),
		cmocka_unit_test(turns_return_with_the_shortest_round_trip_since_the_alarm),
		cmocka_unit_test(a_first_packet_that_waited_for_others_is_an_alarm),
		cmocka_unit_test(a_first_packet_in_a_queue_of_others_is_an_alarm),
		cmocka_unit_test(a_first_ack_of_eight_segments_is_no_alarm),
		cmocka_unit_test(a_tick_of_the_receivers_clock_is_no_wait),
		cmocka_unit_test(while_it_is_shared_ss_shows_nothing_and_a_loss_is_cubics),
		cmocka_unit_test(while_it_is_shared_the_window_is_cubics),
		cmocka_unit_test(a_queue_that_others_may_fill_is_not_drained),
		cmocka_unit_test(while_it_is_shared_a_silence_halves_the_window_with_each_timeout),
		cmocka_unit_test(while_it_is_shared_a_train_that_shows_a_gap_is_longer),
		cmocka_unit_test(while_it_is_shared_one_round_trip_in_twelve_has_a_train_that_shows_a_gap),
		cmocka_unit_test(while_it_is_shared_silence_does_not_raise_the_window),
		cmocka_unit_test(where_a_rate_is_policed_it_is_paced),
		cmocka_unit_test(at_a_policer_gaps_show_nothing),
		cmocka_unit_test(where_a_rate_is_policed_segments_leave_one_by_one),
		cmocka_unit_test(a_policer_is_found_sooner_if_more_was_believed),
		cmocka_unit_test(trains_that_a_drain_has_cut_are_not_lengthened),
		cmocka_unit_test(acks_that_fill_holes_do_not_lengthen_trains),
		cmocka_unit_test(a_first_flight_whose_acks_come_one_by_one_is_believed_whole),
		cmocka_unit_test(of_a_first_flight_in_bursts_three_times_is_believed),
		cmocka_unit_test(of_a_first_flight_in_one_burst_three_times_is_believed),
		cmocka_unit_test(a_first_train_of_less_than_100_us_is_not_believed),
		cmocka_unit_test(only_acks_that_come_as_served_bound_the_memorandum),
		cmocka_unit_test(a_limit_of_the_pacing_rate_lets_no_claim_grow),
		cmocka_unit_test_setup_teardown(without_memory_the_window_is_cubics,
						NULL, give_memory),
		cmocka_unit_test_setup_teardown(a_socket_that_changes_in_recovery_keeps_its_window,
						NULL, give_memory),
		cmocka_unit_test(an_ack_before_init_is_taken),
		cmocka_unit_test(ss_shows_something_from_init_on),
		cmocka_unit_test(what_was_allocated_is_freed_once),
		cmocka_unit_test(a_socket_that_changes_in_mid_flow_believes_nothing),
		cmocka_unit_test(after_a_change_in_mid_flow_no_packet_is_the_first),
		cmocka_unit_test(a_window_that_is_left_in_recovery_does_not_leave_at_once),
		cmocka_unit_test(a_name_that_is_taken_leaves_nothing_behind),
	};

	int failed;

	if (stack_module_init())
		return 1;
	failed = cmocka_run_group_tests_name("tcp_pktpair", tests, NULL, NULL);
	sender_release(&s);
	/* every test's socket has given its memory back */
	if (stack_allocated)
		printf("not ok - %d allocations are left\n", stack_allocated);
	return failed ?: stack_allocated;
}
