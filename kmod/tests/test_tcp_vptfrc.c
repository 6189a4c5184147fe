// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_vptfrc.c with this test for a stack (stack/): what the adapter makes of the stack's
 * events. What the formulas make of its numbers is tested beside each of them.
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
#include "tcp_vptfrc.c"

#include "draw.h"
#include "stack/sender.h"

#define SECONDS(n) ((n) * 1000000000ULL)
#define RTT_MS 100
/* no packet waits for another */
#define FAST_NS 10

static struct sender s;
static struct vptfrc *const ca = (struct vptfrc *)s.sk.icsk_ca_priv;
static unsigned int rounds, events;
static struct tfrc_path traced_path;

static void stack_traced_vptfrc_rate(const struct sock *sk, const struct tfrc *tfrc,
				     const struct tfrc_params *params,
				     const struct tfrc_path *path, bool loss_event)
{
	rounds += !loss_event;
	events += loss_event;
	traced_path = *path;
	assert_ptr_equal(tfrc, ca->tfrc);
}

static void begin(u64 service_ns, u32 mss)
{
	sender_init(&s, stack_algorithms[0], service_ns, RTT_MS * NSEC_PER_MSEC);
	s.sk.mss_cache = mss;
	s.sk.snd_cwnd = 20;
	s.ack_every = 1;
	sender_change(&s, stack_algorithms[0]);
	rounds = 0;
	events = 0;
}

static int set(const struct kernel_param *param, const char *value)
{
	return param->ops->set(value, param);
}

/* The first flight in a round trip, and twice as much in the next */
static void slow_start_doubles_the_rate(void **state)
{
	begin(FAST_NS, 1448);
	assert_int_equal(s.sk.sk_pacing_rate, 144800);
	assert_true(s.sk.snd_cwnd >= 20);
	sender_run(&s, 150 * NSEC_PER_MSEC);
	assert_in_range(s.sk.sk_pacing_rate, 144800, 289600);
	sender_run(&s, SECONDS(1));
	assert_true(s.sk.sk_pacing_rate > 8 * 144800);
	assert_in_range(rounds, 5, 13);
	assert_true(tfrc_in_slow_start(ca->tfrc));
}

/* A link of 10 Mbit/s that loses nothing: at most twice what arrives */
static void the_rate_is_at_most_twice_what_arrives(void **state)
{
	begin(1158400, 1448);
	sender_run(&s, SECONDS(4));
	assert_in_range(s.sk.sk_pacing_rate, 1250000, 2600000);
	/* the window bounds what is in flight, although the queue would hold all of it */
	assert_true(tcp_packets_in_flight(&s.sk) <= s.sk.snd_cwnd);
}

/* Loses each packet with a probability, beside the ACKs of others */
static double lost_part;

static void lose_some(struct sender *of, const struct rate_sample *rs)
{
	u32 i;

	for (i = 0; i < rs->acked_sacked; i++)
		of->losses += draw(1 << 20) < lost_part * (1 << 20);
}

/* Mean rate of the second half of a run, bytes per second */
static double mean_rate(u32 mss, double p, u64 seconds)
{
	u64 sent;

	begin(FAST_NS, mss);
	lost_part = p;
	s.after_ack = lose_some;
	sender_run(&s, SECONDS(seconds) / 2);
	sent = s.bytes_sent;
	sender_run(&s, SECONDS(seconds) / 2);
	return (double)(s.bytes_sent - sent) / ((double)seconds / 2);
}

/* With the default method small packets get what full ones get, and those what the equation
 * says: at 1 % some 11.7 packets in a round trip
 */
static void small_packets_get_the_same_rate(void **state)
{
	double full = mean_rate(1448, 0.01, 400), small = mean_rate(100, 0.01, 200), other;

	if (full < 0.95 * 117200 * 1.448 || full > 1.2 * 117200 * 1.448)
		fail_msg("full packets: %f", full);
	if (fabs(small / full - 1) > 0.15)
		fail_msg("small packets: %f, full ones: %f", small, full);
	/* which without a method they would not */
	assert_int_equal(set(&stack_param_method, "unmodified"), 0);
	other = mean_rate(100, 0.01, 200);
	assert_int_equal(set(&stack_param_method, "virtual"), 0);
	if (other < 1.5 * full)
		fail_msg("unmodified: %f, full packets: %f", other, full);
}

/* The knobs that a connection began with are its own for as long as it lasts */
static void knobs_are_read_when_a_connection_begins(void **state)
{
	static const struct {
		const struct kernel_param *of;
		const char *good, *back;
	} rows[] = {
		{ &stack_param_method, "sampling", "virtual" },
		{ &stack_param_mode, "byte\n", "packet" },
		{ &stack_param_reference_bytes, "1000", "1448" },
		{ &stack_param_packet_rate_cap, "2", "0" },
	};
	struct tfrc_params first;
	unsigned int i;

	begin(FAST_NS, 1448);
	first = ca->params;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(set(rows[i].of, rows[i].good), 0);
	sender_run(&s, SECONDS(1));
	assert_memory_equal(&first, &ca->params, sizeof(first));
	begin(FAST_NS, 1448);
	assert_int_equal(ca->params.method, TFRC_SAMPLING);
	assert_int_equal(ca->params.mode, TFRC_BYTE_MODE);
	assert_int_equal(ca->params.reference_bytes, 1000);
	assert_int_equal(ca->params.packet_rate_cap, 2);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(set(rows[i].of, rows[i].back), 0);
}

static void bad_knobs_are_refused_by_name_and_limit(void **state)
{
	static const struct {
		const struct kernel_param *of;
		const char *bad, *says;
	} rows[] = {
		{ &stack_param_method, "virtua", "method=virtua: not one of unmodified, unbiasing, virtual, sampling, lip" },
		{ &stack_param_method, "virtuals", "method=virtuals: not one of" },
		{ &stack_param_method, "", "method=: not one of" },
		{ &stack_param_mode, "bytes", "mode=bytes: not one of packet, byte, byte-tail" },
		{ &stack_param_reference_bytes, "63", "reference_bytes=63: not a number from 64 to 65535" },
		{ &stack_param_reference_bytes, "65536", "reference_bytes=65536: not a number from 64 to 65535" },
		{ &stack_param_reference_bytes, "-1", "reference_bytes=-1: not a number" },
		{ &stack_param_packet_rate_cap, "1461", "packet_rate_cap=1461: not a number from 0 to 1460" },
	};
	unsigned int i;
	char text[80];

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(set(rows[i].of, rows[i].bad) < 0);
		if (!strstr(stack_message, rows[i].says))
			fail_msg("%s, not %s", stack_message, rows[i].says);
	}
	/* what the paper does not define, in either order */
	assert_int_equal(set(&stack_param_method, "lip"), 0);
	assert_true(set(&stack_param_mode, "byte") < 0);
	assert_non_null(strstr(stack_message, "mode=byte: method lip has no mode byte"));
	assert_int_equal(set(&stack_param_method, "virtual"), 0);
	assert_int_equal(set(&stack_param_mode, "byte-tail"), 0);
	assert_true(set(&stack_param_method, "unbiasing") < 0);
	assert_non_null(strstr(stack_message, "method unbiasing has no mode byte-tail"));
	stack_param_method.ops->get(text, &stack_param_method);
	assert_string_equal(text, "virtual\n");
	stack_param_mode.ops->get(text, &stack_param_mode);
	assert_string_equal(text, "byte-tail\n");
	assert_int_equal(set(&stack_param_mode, "packet"), 0);
	stack_param_reference_bytes.ops->get(text, &stack_param_reference_bytes);
	assert_string_equal(text, "1448\n");
}

/* The first loss event: from slow start to half of what arrives, once in a round trip */
static void losses_of_a_round_trip_are_one_event(void **state)
{
	u64 arrives;

	begin(1158400, 1448);
	sender_run(&s, SECONDS(2));
	arrives = ca->tfrc->received_bytes_ps;
	s.losses = 3;
	sender_run(&s, 20 * NSEC_PER_MSEC);
	assert_int_equal(events, 1);
	assert_in_range(s.sk.sk_pacing_rate, arrives * 2 / 5, arrives * 3 / 5);
	s.losses = 1;
	sender_run(&s, 20 * NSEC_PER_MSEC);
	assert_int_equal(events, 1);
	sender_run(&s, SECONDS(3));
	s.losses = 1;
	sender_run(&s, 20 * NSEC_PER_MSEC);
	assert_int_equal(events, 2);
}

/* With virtual packets 15 losses of 100 bytes are one of 1448 */
static void small_losses_add_up(void **state)
{
	begin(FAST_NS, 100);
	sender_run(&s, SECONDS(1));
	s.losses = 14;
	sender_run(&s, SECONDS(1));
	assert_int_equal(events, 0);
	assert_int_equal(ca->packet_bytes, 100);
	s.losses = 1;
	sender_run(&s, SECONDS(1));
	assert_int_equal(events, 1);
}

/* RFC 3168: all ACKs are echoes until the sender has answered; that is one mark */
static void a_mark_is_one_loss_event(void **state)
{
	u64 before;

	begin(1158400, 100);
	sender_run(&s, SECONDS(3));
	before = s.sk.sk_pacing_rate;
	s.marked = true;
	sender_run(&s, SECONDS(1));
	assert_int_equal(events, 1);
	assert_int_equal(s.answers, 1);
	assert_true(s.sk.sk_pacing_rate < before * 3 / 4);
}

/* D-SACK, time stamps, F-RTO: the stack asks for the window before */
static void what_was_not_lost_is_taken_back(void **state)
{
	u64 before;

	begin(1158400, 1448);
	sender_run(&s, SECONDS(2));
	before = s.sk.sk_pacing_rate;
	sender_state(&s, TCP_CA_Recovery);
	s.losses = 1;
	sender_run(&s, 30 * NSEC_PER_MSEC);
	assert_int_equal(events, 1);
	assert_true(s.sk.sk_pacing_rate < before * 3 / 4);
	/* marked as lost, and taken back before an ACK has told of it */
	s.sk.lost += 5;
	tcp_snd_cwnd_set(&s.sk, stack_algorithms[0]->undo_cwnd(&s.sk));
	sender_run(&s, SECONDS(1));
	assert_int_equal(events, 1);
	assert_true(tfrc_in_slow_start(ca->tfrc));
	assert_true(s.sk.sk_pacing_rate > before * 3 / 4);

	/* a D-SACK may come when the stack has recovered, and has seen reordering since */
	sender_state(&s, TCP_CA_Recovery);
	s.losses = 1;
	sender_run(&s, SECONDS(1));
	sender_state(&s, TCP_CA_Open);
	sender_state(&s, TCP_CA_Disorder);
	assert_false(tfrc_in_slow_start(ca->tfrc));
	stack_algorithms[0]->undo_cwnd(&s.sk);
	assert_true(tfrc_in_slow_start(ca->tfrc));

	/* when there is another disturbance, what was before it stays */
	sender_state(&s, TCP_CA_Open);
	sender_state(&s, TCP_CA_Recovery);
	s.losses = 1;
	sender_run(&s, SECONDS(1));
	sender_state(&s, TCP_CA_Open);
	sender_state(&s, TCP_CA_Recovery);
	stack_algorithms[0]->undo_cwnd(&s.sk);
	assert_false(tfrc_in_slow_start(ca->tfrc));
}

static void a_timeout_is_a_loss_event_and_half_the_rate(void **state)
{
	u64 before;

	begin(1158400, 1448);
	sender_run(&s, SECONDS(2));
	s.losses = 1;
	sender_run(&s, SECONDS(3));
	before = ca->tfrc->rate_bytes_ps;
	sender_timeout(&s, false);
	assert_int_equal(events, 2);
	assert_true(ca->tfrc->rate_bytes_ps <= before / 2);
	assert_int_equal(s.sk.sk_pacing_rate, ca->tfrc->rate_bytes_ps);
	/* and what was lost is counted once */
	sender_run(&s, 150 * NSEC_PER_MSEC);
	assert_int_equal(events, 2);
	sender_run(&s, SECONDS(20));
	assert_true(s.sk.sk_pacing_rate > before / 2);
}

/* The equation counts a sequence of timeouts as one: its timer backs off by itself. Eight loss
 * intervals of a packet each would allow a packet in 97 s, long after all others have gone.
 */
static void a_timer_that_runs_out_again_is_the_same_loss_event(void **state)
{
	unsigned int i;
	u64 before;

	(void)state;
	begin(1158400, 1448);
	sender_run(&s, SECONDS(2));
	s.losses = 1;
	sender_run(&s, SECONDS(3));
	before = ca->tfrc->rate_bytes_ps;
	for (i = 0; i < 8; i++) {
		sender_timeout(&s, false);
		s.now_ns += SECONDS(1);
		s.sk.tcp_mstamp = s.now_ns / NSEC_PER_USEC;
	}
	assert_int_equal(events, 2);
	/* each halves the rate */
	assert_true(ca->tfrc->rate_bytes_ps <= before / 256 + 1);
	/* and when packets arrive again, it is back soon */
	sender_run(&s, SECONDS(5));
	assert_true(ca->tfrc->rate_bytes_ps > before / 2);
	/* after something was acknowledged, another timeout is another event */
	sender_timeout(&s, false);
	assert_int_equal(events, 3);
}

static void an_idle_flow_slows_down_and_resumes(void **state)
{
	u64 before;

	begin(FAST_NS, 1448);
	sender_run(&s, SECONDS(1));
	s.waiting = 0;
	sender_run(&s, SECONDS(1));
	before = s.sk.sk_pacing_rate;
	/* 12 round trips: an eighth */
	sender_run(&s, 200 * NSEC_PER_MSEC);
	s.waiting = 1;
	sender_run(&s, NSEC_PER_MSEC);
	assert_in_range(s.sk.sk_pacing_rate, before / 8 - 1, before / 2);
	/* a minute: the first window */
	sender_run(&s, SECONDS(60));
	s.waiting = 100000;
	sender_run(&s, NSEC_PER_MSEC);
	assert_in_range(s.sk.sk_pacing_rate, 144000, 145600);
	sender_run(&s, SECONDS(1));
	assert_true(s.sk.sk_pacing_rate > 4 * 144800);
}

/* What the application does not send does not lower the rate, and does not raise it */
static void an_application_that_sends_little_keeps_its_rate(void **state)
{
	u64 before;
	u32 i;

	begin(FAST_NS, 1448);
	sender_run(&s, NSEC_PER_SEC / 2);
	before = s.sk.sk_pacing_rate;
	for (i = 0; i < 100; i++) {
		s.waiting = 1;
		sender_run(&s, 50 * NSEC_PER_MSEC);
	}
	assert_in_range(s.sk.sk_pacing_rate, before * 3 / 4, before * 2);
}

static void the_user_s_limit_holds(void **state)
{
	begin(FAST_NS, 1448);
	s.sk.sk_max_pacing_rate = 200000;
	sender_run(&s, SECONDS(3));
	assert_int_equal(s.sk.sk_pacing_rate, 200000);
	assert_in_range(s.bytes_sent, 500000, 650000);
}

/* Two packets in a round trip, until there is memory */
static void without_memory_little_is_sent(void **state)
{
	union tcp_cc_info info;
	int attr = 0;

	stack_memory_fails = true;
	begin(FAST_NS, 1448);
	assert_null(ca->tfrc);
	assert_int_equal(s.sk.snd_cwnd, 2);
	s.losses = 3;
	s.marked = true;
	sender_run(&s, SECONDS(1));
	assert_true(s.bytes_sent <= 1448 * 2 * 11);
	stack_algorithms[0]->undo_cwnd(&s.sk);
	sender_timeout(&s, false);
	assert_int_equal(stack_algorithms[0]->get_info(&s.sk, ~0U, &attr, &info), sizeof(info.bbr));
	stack_memory_fails = false;
	sender_run(&s, SECONDS(2));
	assert_non_null(ca->tfrc);
	/* and no slow start, since packets were lost meanwhile */
	assert_false(tfrc_in_slow_start(ca->tfrc));
	assert_in_range(s.sk.sk_pacing_rate, 2 * 1448 * 10, 144800);
}

/* The SYN's acknowledgment comes before init(), on memory that is zero */
static void nothing_is_kept_before_init(void **state)
{
	const struct rate_sample rs = { .acked_sacked = 1 };

	begin(FAST_NS, 1448);
	sender_release(&s);
	memset(ca, 0, sizeof(*ca));
	s.sk.icsk_ca_ops = stack_algorithms[0];
	s.sk.icsk_ca_ops->cong_control(&s.sk, &rs);
	assert_int_equal(stack_allocated, 0);
	assert_null(ca->tfrc);
	/* nor where the round trip is not known yet */
	s.sk.srtt_us = 0;
	s.sk.icsk_ca_ops->init(&s.sk);
	assert_int_equal(stack_allocated, 0);
	s.sk.srtt_us = 800000;
	s.sk.icsk_ca_ops->cong_control(&s.sk, &rs);
	assert_int_equal(stack_allocated, 1);
	sender_release(&s);
	assert_int_equal(stack_allocated, 0);
}

static void ss_shows_the_rate(void **state)
{
	union tcp_cc_info info;
	int attr = 0;

	begin(FAST_NS, 1448);
	sender_run(&s, SECONDS(1));
	assert_int_equal(stack_algorithms[0]->get_info(&s.sk, 0, &attr, &info), 0);
	assert_int_equal(stack_algorithms[0]->get_info(&s.sk, 1 << (INET_DIAG_VEGASINFO - 1), &attr,
						       &info), sizeof(info.bbr));
	assert_int_equal(attr, INET_DIAG_BBRINFO);
	assert_int_equal(info.bbr.bbr_bw_lo + ((u64)info.bbr.bbr_bw_hi << 32),
			 ca->tfrc->rate_bytes_ps);
	assert_int_equal(info.bbr.bbr_min_rtt, s.sk.srtt_us >> 3);
	assert_int_equal(info.bbr.bbr_pacing_gain, 0);
}

/* A path that got narrower, or an application that sends less at once */
static void sizes_are_those_of_what_is_outstanding(void **state)
{
	begin(1158400, 1448);
	sender_run(&s, SECONDS(1));
	assert_int_equal(ca->packet_bytes, 1448);
	s.sk.mss_cache = 300;
	sender_run(&s, SECONDS(2));
	assert_int_equal(ca->packet_bytes, 300);
	assert_int_equal(traced_path.packet_bytes, 300);
}

/* With segments that are acknowledged out of order, and sizes that change */
static void all_bytes_are_counted_once(void **state)
{
	u32 i;

	begin(FAST_NS, 1448);
	for (i = 0; i < 20; i++) {
		s.sk.mss_cache = i % 2 ? 1448 : 300;
		sender_run(&s, 70 * NSEC_PER_MSEC);
		s.sk.sacked_out = i % 3 ? 0 : min_t(u32, 3, s.sk.packets_out);
	}
	s.sk.sacked_out = 0;
	s.waiting = 0;
	sender_run(&s, SECONDS(1));
	assert_int_equal(ca->bytes, s.sk.bytes_acked);
	/* half bytes, from the beginning on: there was no loss event */
	assert_in_range(ca->tfrc->loss.count, 2 * s.sk.bytes_acked * 0.98,
			2 * s.sk.bytes_acked * 1.001);
}

/* Without SACK a duplicate ACK counts as a delivered packet, but tells of none, and when the
 * connection has delivered 2^31 packets, 0 is later than any of them
 */
static void a_duplicate_ack_without_sack_ends_no_round_trip(void **state)
{
	u32 ahead, before;
	int i;

	(void)state;
	begin(1158400, 1448);
	sender_run(&s, 2000000000ULL);
	ahead = 0x80010000U - s.sk.delivered;
	s.sk.delivered += ahead;
	ca->round_delivered += ahead;
	before = rounds;
	for (i = 0; i < 12; i++) {
		struct rate_sample rs = { .acked_sacked = 1, .delivered = -1, .interval_us = -1 };

		s.sk.delivered++;
		s.sk.tcp_mstamp += 10;
		s.sk.icsk_ca_ops->cong_control(&s.sk, &rs);
	}
	assert_int_equal(rounds, before);
}

/* The stack sends again what is too large for the path in the state Loss, without a timeout:
 * it leaves the window as it is then
 */
static void a_packet_too_large_is_no_loss_event(void **state)
{
	u64 before;

	(void)state;
	begin(1158400, 1448);
	sender_run(&s, 300000000ULL);
	before = ca->tfrc->rate_bytes_ps;
	s.sk.snd_cwnd = tcp_packets_in_flight(&s.sk) + 7;
	s.sk.lost += 4;
	s.sk.icsk_ca_ops->set_state(&s.sk, TCP_CA_Loss);
	assert_int_equal(ca->tfrc->rate_bytes_ps, before);
	assert_int_equal(ca->events, 0);
	/* a timer leaves one packet more than is in flight */
	s.sk.snd_cwnd = tcp_packets_in_flight(&s.sk) + 1;
	s.sk.lost += 4;
	s.sk.icsk_ca_ops->set_state(&s.sk, TCP_CA_Loss);
	assert_true(ca->tfrc->rate_bytes_ps < before);
}

/* The window of another law is where the flow starts, and no floor for when it is silent */
static void the_window_of_another_law_is_no_floor(void **state)
{
	u64 first;

	(void)state;
	begin(1158400, 1448);
	first = ca->tfrc->rate_bytes_ps;
	sender_init(&s, stack_algorithms[0], 1158400, RTT_MS * NSEC_PER_MSEC);
	s.sk.mss_cache = 1448;
	s.sk.snd_cwnd = 10000;
	sender_change(&s, stack_algorithms[0]);
	assert_true(ca->tfrc->rate_bytes_ps > 400 * first);
	assert_int_equal(ca->tfrc->first_bytes, TCP_INIT_CWND * 1448);
}

/* Who changes to another law and back has the rate that it had, and what was lost was lost */
static void a_change_forgets_no_losses(void **state)
{
	u64 honest, changed, first;
	unsigned int i;

	(void)state;
	begin(FAST_NS, 1448);
	lost_part = 0.03;
	s.after_ack = lose_some;
	sender_run(&s, SECONDS(20));
	first = s.sk.sk_pacing_rate;
	for (i = 0; i < 12; i++)
		sender_change(&s, stack_algorithms[0]);
	assert_false(tfrc_in_slow_start(ca->tfrc));
	assert_true(s.sk.sk_pacing_rate <= first + first / 8);
	honest = s.bytes_sent;
	sender_run(&s, SECONDS(60));
	honest = s.bytes_sent - honest;
	changed = s.bytes_sent;
	for (i = 0; i < 1200; i++) {
		sender_run(&s, 50 * NSEC_PER_MSEC);
		sender_change(&s, stack_algorithms[0]);
	}
	changed = s.bytes_sent - changed;
	assert_true(changed < honest * 11 / 10);
	s.after_ack = NULL;
}

/* and to the next law it leaves the window of a round trip, which has met losses */
static void the_next_law_has_a_round_trip_s_window(void **state)
{
	u32 window;

	(void)state;
	begin(FAST_NS, 1448);
	sender_run(&s, SECONDS(1));
	window = s.sk.snd_cwnd;
	stack_algorithms[0]->release(&s.sk);
	assert_int_equal(s.sk.snd_cwnd, window / TFRC_WINDOW_RTTS);
	assert_int_equal(s.sk.snd_ssthresh, TCP_INFINITE_SSTHRESH);
	begin(FAST_NS, 1448);
	s.losses = 1;
	sender_run(&s, SECONDS(1));
	stack_algorithms[0]->release(&s.sk);
	assert_int_equal(s.sk.snd_ssthresh, s.sk.snd_cwnd);
}

/* A host that is away for 40 minutes has timeouts, and the insensitive period has ended by then */
static void an_outage_ends_the_insensitive_period(void **state)
{
	unsigned int i;

	(void)state;
	begin(1158400, 1448);
	sender_run(&s, SECONDS(2));
	s.losses = 1;
	sender_run(&s, SECONDS(3));
	for (i = 0; i < 22; i++) {
		sender_timeout(&s, false);
		s.now_ns += SECONDS(110);
		s.sk.tcp_mstamp = s.now_ns / NSEC_PER_USEC;
	}
	events = 0;
	lost_part = 0.2;
	s.after_ack = lose_some;
	/* its first packet is the one that 64 s allow */
	sender_run(&s, SECONDS(600));
	assert_true(events > 100);
	s.after_ack = NULL;
}

/* a round trip below what is computed with: half of what arrives, as at any */
static void a_short_round_trip_is_one_of_100_us(void **state)
{
	static const u32 round_trips_us[] = { 100, 50, 10, 3 };
	const u64 speed = 1250000000;
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(round_trips_us); i++) {
		begin(1158, 1448);
		s.sk.srtt_us = round_trips_us[i] << 3;
		tfrc_take_rtt(ca->tfrc, round_trips_us[i]);
		ca->tfrc->rate_bytes_ps = 2 * speed;
		ca->tfrc->received_bytes_ps = speed;
		vptfrc_lose(&s.sk, 1, 1448, NULL);
		assert_in_range(ca->tfrc->rate_bytes_ps, speed * 49 / 100, speed * 51 / 100);
	}
}

/* The queue has drained: what left while it was long is still in flight, and neither rate nor
 * window follow at once. A round trip later R is a twentieth shorter.
 */
static void a_queue_that_drains_holds_up_nothing(void **state)
{
	u32 window, rtt_us;
	u64 friendly;

	(void)state;
	begin(1158400, 1448);
	sender_run(&s, SECONDS(2));
	s.losses = 1;
	sender_run(&s, SECONDS(10));
	s.sk.srtt_us = tfrc_rtt_us(ca->tfrc) << 3;
	vptfrc_apply(&s.sk);
	window = s.sk.snd_cwnd;
	s.sk.srtt_us /= 2;
	vptfrc_apply(&s.sk);
	assert_int_equal(s.sk.snd_cwnd, window);
	s.sk.srtt_us *= 4;
	vptfrc_apply(&s.sk);
	assert_in_range(s.sk.snd_cwnd, 2 * window - 4, 2 * window + 1);

	s.sk.srtt_us /= 4;
	rtt_us = tfrc_rtt_us(ca->tfrc);
	traced_path = vptfrc_path(&s.sk, 0);
	friendly = tfrc_friendly_bytes_ps(ca->tfrc, &ca->params, &traced_path);
	vptfrc_end_round(&s.sk, NULL);
	assert_in_range(tfrc_rtt_us(ca->tfrc), rtt_us * 949 / 1000, rtt_us * 951 / 1000);
	assert_in_range(tfrc_friendly_bytes_ps(ca->tfrc, &ca->params, &traced_path),
			friendly * 104 / 100, friendly * 107 / 100);
}

/* of each disturbance its own loss events only */
static void a_late_undo_is_of_the_last_disturbance(void **state)
{
	u8 closed;

	(void)state;
	/* a timer that runs out after progress is another than the first */
	begin(1158400, 1448);
	sender_run(&s, SECONDS(2));
	sender_timeout(&s, false);
	s.sk.icsk_retransmits = 0;
	closed = ca->tfrc->history.closed;
	s.sk.icsk_ca_state = TCP_CA_Loss;
	sender_timeout(&s, false);
	stack_algorithms[0]->undo_cwnd(&s.sk);
	assert_int_equal(ca->tfrc->history.closed, closed);

	/* a mark after a recovery is not what a D-SACK for the recovery takes back */
	begin(1158400, 1448);
	sender_run(&s, SECONDS(2));
	sender_state(&s, TCP_CA_Recovery);
	s.losses = 1;
	sender_run(&s, SECONDS(3));
	sender_state(&s, TCP_CA_CWR);
	sender_state(&s, TCP_CA_Open);
	closed = ca->tfrc->history.closed;
	stack_algorithms[0]->undo_cwnd(&s.sk);
	assert_int_equal(ca->tfrc->history.closed, closed);

	/* and nothing of a rate before a silence */
	s.waiting = 0;
	sender_run(&s, SECONDS(60));
	s.waiting = 1;
	sender_run(&s, NSEC_PER_MSEC);
	stack_algorithms[0]->undo_cwnd(&s.sk);
	assert_true(ca->tfrc->rate_bytes_ps <= TCP_INIT_CWND * 14480);
}

/* A silence is as long as it is: its microseconds do not fit in 32 bits */
static void an_hour_and_more_is_a_silence(void **state)
{
	(void)state;
	begin(FAST_NS, 1448);
	sender_run(&s, SECONDS(1));
	assert_true(s.sk.sk_pacing_rate > 2 * TCP_INIT_CWND * 14480);
	s.waiting = 0;
	sender_run(&s, SECONDS(1));
	s.now_ns += 4294967296000ULL;
	s.waiting = 1;
	sender_run(&s, NSEC_PER_MSEC);
	assert_true(s.sk.sk_pacing_rate <= TCP_INIT_CWND * 14480);
}

/* and however often something is about to be sent in it, when nothing is acknowledged */
static void a_silence_adds_up(void **state)
{
	unsigned int i;

	(void)state;
	begin(FAST_NS, 1448);
	sender_run(&s, SECONDS(1));
	s.waiting = 0;
	sender_run(&s, 200 * NSEC_PER_MSEC);
	assert_true(ca->tfrc->rate_bytes_ps > 2 * TCP_INIT_CWND * 14480);
	for (i = 0; i < 1000; i++) {
		s.now_ns += 10 * NSEC_PER_MSEC;
		s.sk.tcp_mstamp = s.now_ns / NSEC_PER_USEC;
		/* less than a round trip of 100 ms each, ten seconds in all */
		if (i % 9 == 8)
			vptfrc_resume(&s.sk);
	}
	assert_true(ca->tfrc->rate_bytes_ps < 2 * TCP_INIT_CWND * 14480);
}

/* the stack multiplies the window with the size of a full packet */
static void a_window_in_bytes_fits_32_bits(void **state)
{
	(void)state;
	begin(FAST_NS, 1448);
	s.sk.snd_cwnd_clamp = U32_MAX / 2;
	ca->tfrc->rate_bytes_ps = 125000000;
	ca->packet_bytes = 1;
	vptfrc_apply(&s.sk);
	assert_true((u64)s.sk.snd_cwnd * s.sk.mss_cache <= U32_MAX);
	assert_true(s.sk.snd_cwnd > 1000000);
}

/* which the stack would take for none at all */
static void no_pacing_rate_is_zero(void **state)
{
	(void)state;
	begin(1158400, 1448);
	sender_run(&s, SECONDS(2));
	s.sk.sk_max_pacing_rate = 0;
	sender_timeout(&s, false);
	assert_int_equal(s.sk.sk_pacing_rate, 1);
}

/* An undo gives back the rate before what it undoes, and not before anything earlier */
static void an_undo_gives_back_nothing_of_an_earlier_event(void **state)
{
	u64 rate;

	(void)state;
	begin(1158400, 1448);
	sender_run(&s, 300000000ULL);
	ca->tfrc->before_bytes_ps = 4 * ca->tfrc->rate_bytes_ps;
	rate = ca->tfrc->rate_bytes_ps;
	s.sk.icsk_ca_state = TCP_CA_Open;
	s.sk.icsk_ca_ops->set_state(&s.sk, TCP_CA_Recovery);
	s.sk.icsk_ca_state = TCP_CA_Recovery;
	s.sk.icsk_ca_ops->undo_cwnd(&s.sk);
	assert_int_equal(ca->tfrc->rate_bytes_ps, rate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_start_doubles_the_rate),
		cmocka_unit_test(the_rate_is_at_most_twice_what_arrives),
		cmocka_unit_test(small_packets_get_the_same_rate),
		cmocka_unit_test(knobs_are_read_when_a_connection_begins),
		cmocka_unit_test(bad_knobs_are_refused_by_name_and_limit),
		cmocka_unit_test(losses_of_a_round_trip_are_one_event),
		cmocka_unit_test(small_losses_add_up),
		cmocka_unit_test(a_mark_is_one_loss_event),
		cmocka_unit_test(what_was_not_lost_is_taken_back),
		cmocka_unit_test(a_timeout_is_a_loss_event_and_half_the_rate),
		cmocka_unit_test(a_timer_that_runs_out_again_is_the_same_loss_event),
		cmocka_unit_test(an_idle_flow_slows_down_and_resumes),
		cmocka_unit_test(an_application_that_sends_little_keeps_its_rate),
		cmocka_unit_test(the_user_s_limit_holds),
		cmocka_unit_test(without_memory_little_is_sent),
		cmocka_unit_test(nothing_is_kept_before_init),
		cmocka_unit_test(ss_shows_the_rate),
		cmocka_unit_test(sizes_are_those_of_what_is_outstanding),
		cmocka_unit_test(a_duplicate_ack_without_sack_ends_no_round_trip),
		cmocka_unit_test(a_packet_too_large_is_no_loss_event),
		cmocka_unit_test(the_window_of_another_law_is_no_floor),
		cmocka_unit_test(an_undo_gives_back_nothing_of_an_earlier_event),
		cmocka_unit_test(a_change_forgets_no_losses),
		cmocka_unit_test(the_next_law_has_a_round_trip_s_window),
		cmocka_unit_test(an_outage_ends_the_insensitive_period),
		cmocka_unit_test(a_short_round_trip_is_one_of_100_us),
		cmocka_unit_test(a_queue_that_drains_holds_up_nothing),
		cmocka_unit_test(a_late_undo_is_of_the_last_disturbance),
		cmocka_unit_test(an_hour_and_more_is_a_silence),
		cmocka_unit_test(a_silence_adds_up),
		cmocka_unit_test(a_window_in_bytes_fits_32_bits),
		cmocka_unit_test(no_pacing_rate_is_zero),
		cmocka_unit_test(all_bytes_are_counted_once),
	};

	if (stack_module_init())
		return 1;
	return cmocka_run_group_tests_name("tcp_vptfrc", tests, NULL, NULL);
}
