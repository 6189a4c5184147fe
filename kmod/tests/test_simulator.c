// SPDX-License-Identifier: GPL-2.0
/*
 * The simulator (simulator/): that packets are neither made nor lost, that servers, ACK
 * paths and reference flows do what their formulas say, and that the adapter does in it
 * what it does on the sender of its own tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "simulator/case.h"
#include "simulator/report.h"

#define SEGMENT_BYTES (1448 + PACKET_HEADER_BYTES)

static struct network n;
static struct case_reader reader = { .network = &n };

static void run(const char *line)
{
	network_free(&n);
	if (!case_read(&reader, line))
		fail_msg("%s: %s", line, reader.message);
	case_set_knobs(&reader, false);
	network_init(&n);
	network_run(&n);
	case_set_knobs(&reader, true);
}

static double link_used(void)
{
	double bytes = 0;
	u32 i;

	for (i = 0; i < n.flows_count; i++) {
		const struct flow *f = &n.flows[i];
		u64 delivered = f->config.source == FLOW_TCP ? f->una : f->figures.arrived;

		bytes += (double)(delivered - f->figures.delivered_from) *
			 (double)(f->config.mss + PACKET_HEADER_BYTES);
	}
	return bytes / n.capacity_bytes;
}

/* ---- time ---- */

static u32 fired[4], fired_count;

static void note_fired(void *owner)
{
	fired[fired_count++] = *(u32 *)owner;
}

static void timers_fire_in_the_order_of_their_times(void **state)
{
	u32 numbers[] = { 0, 1, 2, 3 }, i;
	struct timer timers[4];
	struct clock c = {};

	(void)state;
	fired_count = 0;
	for (i = 0; i < 4; i++)
		timer_init(&timers[i], note_fired, &numbers[i]);
	clock_set(&c, &timers[0], 30);
	clock_set(&c, &timers[1], 20);
	clock_set(&c, &timers[2], 20);
	clock_set(&c, &timers[3], 5);
	clock_cancel(&c, &timers[3]);
	clock_run(&c, 25);
	assert_int_equal(fired_count, 2);
	assert_int_equal(fired[0], 1);
	assert_int_equal(fired[1], 2);
	/* set anew, it is behind what was set for the same moment */
	clock_set(&c, &timers[3], 30);
	clock_set(&c, &timers[0], 30);
	clock_run(&c, 30);
	assert_int_equal(fired_count, 4);
	assert_int_equal(fired[2], 3);
	assert_int_equal(fired[3], 0);
	free(c.heap);
}

static void a_percentile_is_a_64th_too_low_at_most(void **state)
{
	static struct histogram h;
	u32 value, seen;

	(void)state;
	for (value = 1; value < 100000; value += 7) {
		seen = histogram_value(histogram_class(value));
		assert_true(seen <= value && value - seen <= value / 64);
		histogram_add(&h, value);
	}
	assert_int_equal(histogram_class(U32_MAX), HISTOGRAM_CLASSES - 1);
	assert_int_equal(h.largest, 99996);
	seen = histogram_permille(&h, 500);
	assert_true(seen > 48500 && seen <= 50000);
}

/* ---- packets ---- */

/* Data on the way: all packets but ACKs */
static u64 under_way(void)
{
	u64 acks = 0;
	u32 i;

	for (i = 0; i < n.flows_count; i++) {
		const struct packet *p;

		for (p = n.flows[i].behind.head; p; p = p->next)
			acks++;
	}
	return n.pool.in_use - acks;
}

static const char *const many_networks[] = {
	"cc=reno rate_mbit=5 limit_packets=10 queue=fifo",
	"cc=cubic flows=3 queue=rr limit_packets=30 overflow=flush",
	"cc=pktpair flows=5 queue=rr-packets limit_packets=40 overflow=flush mss.2=500",
	"cc=cubic flows=4 queue=drr codel=1 limit_packets=60 overflow=batch path_ms=50",
	"cc=cubic queue=policer rate_mbit=8 burst_bytes=15000",
	"cc=cubic cc.1=pktpair flows=2 bucket=3 queue=rr loss_ppm=10000 ack_loss_ppm=50000",
	"cc=pktpair queue=rr gro_ms=1 ack_every=8 jitter_ms=5 limit_packets=20",
	"cc=pktpair flows=2 cc.1=poisson send_mbit=3 servers=2 delay_ms=2 rate_mbit.1=8 seed=3",
	"cc=pktpair setpoint_probing=1 back_mbit=1 back_load=0.5 app_mbit=2 app_chunk=3",
	"cc=reno ecn=1 marks=1 codel=1 queue=fifo access_mbit=100 ahead_ms=5",
	"cc=cubic off_s=0.5 on_s=0.3 rate_mbit=20 rate_mbit@2=3 path_ms@3=90 queue=rr",
	"cc=pktpair_1994 ack_period_ms=4 ack_gaps=exponential limit_packets=15",
};

static void packets_are_neither_made_nor_lost(void **state)
{
	char line[256];
	size_t i;
	u32 j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(many_networks); i++) {
		u64 sent = 0, gone = 0;

		snprintf(line, sizeof(line), "seconds=4.5 %s", many_networks[i]);
		run(line);
		for (j = 0; j < n.flows_count; j++) {
			sent += n.flows[j].figures.sent;
			gone += n.flows[j].figures.arrived + n.flows[j].figures.dropped;
		}
		if (sent != gone + under_way() || sent < 500)
			fail_msg("%s: sent %llu, %llu arrived or dropped, %llu under way", line,
				 (unsigned long long)sent, (unsigned long long)gone,
				 (unsigned long long)under_way());
	}
}

static void all_arrives_in_the_end(void **state)
{
	char line[256];
	size_t i;
	u32 j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(many_networks); i++) {
		snprintf(line, sizeof(line), "seconds=60 stop_s=4 %s", many_networks[i]);
		run(line);
		assert_int_equal(n.pool.in_use, 0);
		for (j = 0; j < n.flows_count; j++) {
			const struct flow *f = &n.flows[j];

			if (f->config.source == FLOW_TCP && (f->una != f->nxt ||
			    f->receiver.next != f->nxt || f->sk.packets_out || f->sk.lost_out ||
			    f->sk.sacked_out || f->sk.retrans_out || f->to_resend))
				fail_msg("%s: flow %u: %u of %u, %u out, %u lost, %u SACKed", line,
					 j, f->una, f->nxt, f->sk.packets_out, f->sk.lost_out,
					 f->sk.sacked_out);
		}
	}
}

static void a_receiver_says_what_it_has_newest_first(void **state)
{
	static const u32 arrive[] = { 2, 3, 7, 10, 8, 5 };
	struct receiver r = {};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(arrive); i++)
		assert_true(receiver_insert(&r, arrive[i]));
	assert_true(!receiver_insert(&r, 8));
	assert_int_equal(r.spans_count, 4);
	assert_int_equal(r.recent_count, 4);
	assert_int_equal(r.recent[0].first, 5);
	assert_int_equal(r.recent[1].first, 7);
	assert_int_equal(r.recent[1].end, 9);
	assert_int_equal(r.recent[2].first, 10);
	/* 0 and 1 come: up to 3 there is no hole */
	receiver_advance(&r);
	receiver_advance(&r);
	assert_int_equal(r.next, 4);
	assert_int_equal(r.recent_count, 3);
	free(r.spans);
}

/* ---- servers ---- */

static void two_flows_share_a_round_robin(void **state)
{
	static const char *const rows[] = {
		"queue=rr", "queue=rr-packets", "queue=drr", "queue=rr cc=pktpair cc.1=cubic",
	};
	char line[256];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		double ratio;

		snprintf(line, sizeof(line),
			 "flows=2 cc=pktpair rate_mbit=20 path_ms=40 seconds=8 from_s=3 limit_packets=200 overflow=flush %s",
			 rows[i]);
		run(line);
		ratio = (double)(n.flows[0].una - n.flows[0].figures.delivered_from) /
			(double)(n.flows[1].una - n.flows[1].figures.delivered_from);
		if (ratio < 0.97 || ratio > 1.03 || link_used() < 0.97)
			fail_msg("%s: %.3f, %.3f of the link", rows[i], ratio, link_used());
	}
}

static void bytes_and_not_packets_are_shared(void **state)
{
	double ratio;

	(void)state;
	run("flows=2 cc=constant send_mbit=20 mss=1434 mss.1=434 "
	    "rate_mbit=10 queue=rr limit_packets=100 overflow=flush seconds=5");
	ratio = (double)n.flows[1].figures.arrived / (double)n.flows[0].figures.arrived;
	assert_true(ratio > 2.9 && ratio < 3.1);
	run("flows=2 cc=constant send_mbit=20 mss=1434 mss.1=434 "
	    "rate_mbit=10 queue=rr-packets limit_packets=100 overflow=flush seconds=5");
	ratio = (double)n.flows[1].figures.arrived / (double)n.flows[0].figures.arrived;
	assert_true(ratio > 0.97 && ratio < 1.03);
}

static void one_bucket_is_a_fifo(void **state)
{
	(void)state;
	run("flows=3 cc=constant bucket=0 bucket.2=1 send_mbit=20 "
	    "rate_mbit=12 queue=rr limit_packets=90 overflow=flush seconds=5");
	/* two share what the third has alone */
	assert_true(labs((long)(n.flows[0].figures.arrived + n.flows[1].figures.arrived -
				n.flows[2].figures.arrived)) < 100);
}

static void a_policer_passes_its_rate(void **state)
{
	double bytes;

	(void)state;
	run("cc=poisson send_mbit=20 queue=policer rate_mbit=8 "
	    "burst_bytes=30000 seconds=10 seed=2");
	bytes = (double)n.flows[0].figures.arrived * SEGMENT_BYTES;
	assert_true(bytes > 10e6 * 0.99 && bytes <= 10e6 + 30000);
	assert_int_equal(n.servers[0].longest_packets, 0);
	/* what is slower passes whole */
	run("cc=constant send_mbit=7.9 queue=policer rate_mbit=8 burst_bytes=1600 seconds=10");
	assert_int_equal(n.flows[0].figures.dropped, 0);
}

static void a_flush_takes_the_longest_queue(void **state)
{
	(void)state;
	run("flows=2 cc=constant send_mbit=30 send_mbit.1=3 rate_mbit=10 "
	    "queue=rr limit_packets=50 overflow=flush seconds=5");
	assert_int_equal(n.flows[1].figures.dropped, 0);
	assert_true(n.flows[0].figures.dropped > 1000);
	assert_int_equal(n.servers[0].longest_packets, 51);
}

static struct packet late[64];
static u32 late_taken;
static u64 late_now_ns;

static struct packet *take_late(void *of)
{
	struct packet *p = &late[late_taken++ % 64];

	(void)of;
	/* each has waited for 20 ms */
	*p = (struct packet) { .arrived_ns = late_now_ns - 20 * NSEC_PER_MSEC };
	return p;
}

static u64 drop_times_ns[8];
static u32 drops;

static void drop_late(void *of, struct packet *p)
{
	(void)of;
	(void)p;
	if (drops < 8)
		drop_times_ns[drops] = late_now_ns;
	drops++;
}

static u64 plenty(void *of)
{
	(void)of;
	return 1000000;
}

/* An interval after the first late packet, then after an interval over 1, sqrt(2), ... */
static void codel_drops_when_rfc_8289_says(void **state)
{
	struct codel_queue queue = { .take = take_late, .drop = drop_late, .bytes = plenty };
	struct codel_params params = {
		.target_ns = 5 * NSEC_PER_MSEC, .interval_ns = 100 * NSEC_PER_MSEC,
	};
	double expected_ms = 1100;
	struct codel v = {};
	u32 i;

	(void)state;
	drops = 0;
	for (late_now_ns = NSEC_PER_SEC; drops < 8; late_now_ns += 100 * NSEC_PER_USEC)
		codel_dequeue(&v, &params, &queue, late_now_ns);
	for (i = 0; i < 8; i++) {
		double at_ms = (double)drop_times_ns[i] / NSEC_PER_MSEC;

		if (at_ms < expected_ms || at_ms > expected_ms + 0.11 * (i + 1))
			fail_msg("drop %u at %.2f ms instead of %.2f", i, at_ms, expected_ms);
		expected_ms += 100 / sqrt(i + 1);
	}
}

/* ---- the way back ---- */

static void slots_release_acks_together(void **state)
{
	struct ack_path_config config = { .period_ns = 4000000, .spacing_ns = 1000 };
	struct ack_path a;
	u64 at_ns, sent_ns, slot_ns = 0, in_slot = 0;

	(void)state;
	ack_path_init(&a, &config, 1, 1);
	for (sent_ns = 100; sent_ns < 50 * NSEC_PER_MSEC; sent_ns += 300000) {
		at_ns = ack_path_arrival(&a, sent_ns, 10 * NSEC_PER_MSEC, 66);
		in_slot = at_ns / 4000000 * 4000000 == slot_ns ? in_slot + 1 : 0;
		slot_ns = at_ns / 4000000 * 4000000;
		assert_int_equal(at_ns - slot_ns, in_slot * 1000);
		assert_true(slot_ns >= sent_ns + 10 * NSEC_PER_MSEC);
		assert_true(slot_ns < sent_ns + 14 * NSEC_PER_MSEC);
	}
	/* open at the end of each period */
	config.open_ns = 1000000;
	ack_path_init(&a, &config, 1, 1);
	assert_int_equal(ack_path_arrival(&a, 8500000, 0, 66), 11000000);
	assert_int_equal(ack_path_arrival(&a, 11400000, 0, 66), 11400000);
	assert_int_equal(ack_path_arrival(&a, 12000001, 0, 66), 15000000);
}

/* Hand-overs are a period apart in the mean; without order none arrives before another */
static void hand_overs_of_all_kinds_keep_order_and_mean(void **state)
{
	u64 gaps, at_ns, last_ns, sent_ns, slots;

	(void)state;
	for (gaps = ACK_PATH_FIXED; gaps <= ACK_PATH_EXPONENTIAL; gaps++) {
		struct ack_path_config config = { .period_ns = 2000000, .gaps = gaps };
		struct ack_path a;

		ack_path_init(&a, &config, 7, 1);
		last_ns = 0;
		slots = 0;
		for (sent_ns = 1; sent_ns < 2 * NSEC_PER_SEC; sent_ns += 1000) {
			at_ns = ack_path_arrival(&a, sent_ns, 0, 66);
			assert_true(at_ns >= last_ns && at_ns >= sent_ns);
			slots += at_ns > last_ns;
			last_ns = at_ns;
		}
		assert_true(slots > 900 && slots < 1100);
	}
}

static void interrupts_and_links_delay_acks(void **state)
{
	struct ack_path_config config = { .interrupt_ns = 1000000 };
	struct ack_path a;
	u64 sent_ns, sum_ns = 0;

	(void)state;
	ack_path_init(&a, &config, 1, 1);
	assert_int_equal(ack_path_arrival(&a, 5000000, 0, 66), 6000000);
	assert_int_equal(ack_path_arrival(&a, 5900000, 0, 66), 6000000);
	assert_int_equal(ack_path_arrival(&a, 6100000, 0, 66), 7100000);
	/* 66 bytes at 1 Mbit/s; with others' packets at half the load they wait, as of M/D/1,
	 * for half a full packet in the mean
	 */
	config = (struct ack_path_config) { .rate_bps = 1000000 };
	ack_path_init(&a, &config, 1, 1);
	assert_int_equal(ack_path_arrival(&a, 5000000, 0, 66), 5528000);
	config.load_ppm = 500000;
	ack_path_init(&a, &config, 1, 1);
	for (sent_ns = 0; sent_ns < 400 * (u64)NSEC_PER_SEC; sent_ns += 40 * NSEC_PER_MSEC)
		sum_ns += ack_path_arrival(&a, sent_ns, 0, 66) - sent_ns - 528000;
	assert_true(sum_ns / 10000 > 5000000 && sum_ns / 10000 < 7500000);
}

/* ---- senders ---- */

static void reno_fills_a_fifo_and_halves(void **state)
{
	u32 largest = 0, least = U32_MAX, i;
	const struct flow_figures *figures = &n.flows[0].figures;

	(void)state;
	/* a pipe of 66 and a buffer of 66: the window is at most 133 */
	run("cc=reno rate_mbit=20 path_ms=40 seconds=40 from_s=10 limit_packets=66 series=1");
	for (i = 0; i < figures->points_count; i++) {
		if (figures->points[i].at_us < 20 * USEC_PER_SEC)
			continue;
		largest = max_t(u32, largest, figures->points[i].cwnd);
		least = min_t(u32, least, figures->points[i].cwnd);
	}
	assert_true(largest >= 131 && largest <= 136);
	assert_true(least >= largest / 2 - 3 && least <= largest / 2 + 1);
	assert_true(link_used() > 0.98);
	assert_int_equal(figures->timeouts, 0);
	assert_int_equal(figures->dropped, figures->retransmits);
	assert_int_equal(n.servers[0].longest_packets, 66);
}

/* Acknowledged once in a round trip of 100 ms: C (t - K)^3 + W_max */
static void cubic_grows_by_its_formula(void **state)
{
	struct sock sk = { .snd_cwnd = 400, .snd_cwnd_clamp = U32_MAX };
	struct cubic *ca = inet_csk_ca(&sk);
	double k_s = cbrt(400 * (1 - CUBIC_BETA) / CUBIC_C), expected;
	u32 i, j;

	(void)state;
	reference_cubic.init(&sk);
	ca->delay_min_us = 100000;
	sk.tcp_mstamp = 1000000;
	sk.snd_ssthresh = reference_cubic.ssthresh(&sk);
	assert_int_equal(sk.snd_ssthresh, 280);
	sk.snd_cwnd = 280;
	for (i = 1; i <= 120; i++) {
		u32 cwnd = sk.snd_cwnd;

		for (j = 0; j < cwnd; j++) {
			sk.tcp_mstamp += 100000 / cwnd;
			reference_cubic.cong_avoid(&sk, 0, 1);
		}
		expected = CUBIC_C * pow(i * 0.1 - k_s, 3) + 400;
		if (fabs(sk.snd_cwnd - expected) > 0.02 * expected)
			fail_msg("after %.1f s: %u instead of %.1f", i * 0.1, sk.snd_cwnd,
				 expected);
	}
	/* fast convergence: a loss below the last one's window leaves room */
	sk.snd_cwnd = 300;
	ca->w_max = 400;
	reference_cubic.ssthresh(&sk);
	assert_true(fabs(ca->w_max - 300 * (1 + CUBIC_BETA) / 2) < 0.01);
}

static void a_flow_comes_back_after_an_outage(void **state)
{
	static const char *const algorithms[] = { "pktpair", "reno", "cubic" };
	char line[256];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(algorithms); i++) {
		snprintf(line, sizeof(line),
			 "cc=%s loss_ppm@2=1000000 loss_ppm@4=0 seconds=12 from_s=8 queue=rr limit_packets=40",
			 algorithms[i]);
		run(line);
		assert_true(n.flows[0].figures.timeouts >= 2);
		if (link_used() < 0.95)
			fail_msg("%s: %.3f", algorithms[i], link_used());
	}
}

/* The last of a file is lost: no ACK says so, and a probe asks after two round trips */
static void a_lost_tail_is_probed_for(void **state)
{
	(void)state;
	run("cc=reno segments=10 path_ms=100 rate_mbit=10 limit_packets=6 seconds=5");
	assert_int_equal(n.flows[0].figures.dropped, 3);
	assert_int_equal(n.flows[0].figures.probes, 1);
	assert_int_equal(n.flows[0].figures.timeouts, 0);
	assert_true(n.flows[0].figures.done_ns < 800 * (u64)NSEC_PER_MSEC);
}

static void windows_and_applications_limit(void **state)
{
	(void)state;
	run("cc=pktpair window=20 path_ms=100 rate_mbit=10 seconds=10 from_s=2");
	/* twenty in a round trip of 100 ms and two packets' service */
	assert_true(fabs(link_used() - 20 * SEGMENT_BYTES * 8 / 0.1024 / 10e6) < 0.005);
	run("cc=pktpair app_mbit=2 app_chunk=5 rate_mbit=10 seconds=10 from_s=2");
	assert_true(fabs(link_used() - 0.2 * SEGMENT_BYTES / 1448) < 0.005);
}

/* As the_link_is_full_and_the_queue_at_its_setpoint() of test_tcp_pktpair.c. The setpoint of
 * one that probes rises to its bound of 5 ms, 17 packets.
 */
static void pktpair_alone_holds_its_setpoint(void **state)
{
	static const struct {
		const char *cc;
		u32 mbit, rtt_ms, ack_every;
	} rows[] = {
		{ "pktpair", 40, 20, 2 }, { "pktpair", 40, 20, 1 }, { "pktpair", 40, 20, 4 },
		{ "pktpair", 1, 100, 2 }, { "pktpair", 500, 10, 2 }, { "pktpair", 10, 1, 2 },
		{ "pktpair setpoint_probing=1", 40, 20, 2 },
		{ "pktpair_1994", 40, 20, 1 },
	};
	char line[256];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 queue_us, service_us = SEGMENT_BYTES * 8 / rows[i].mbit;

		snprintf(line, sizeof(line),
			 "cc=%s rate_mbit=%u path_ms=%u ack_every=%u seconds=8 from_s=4",
			 rows[i].cc, rows[i].mbit, rows[i].rtt_ms, rows[i].ack_every);
		run(line);
		queue_us = (n.flows[0].sk.srtt_us >> 3) - rows[i].rtt_ms * USEC_PER_MSEC;
		if (link_used() < 0.97 || queue_us > (i == 6 ? 21 : 14) * service_us)
			fail_msg("row %zu: %.3f of the link, %u us in the queue", i, link_used(),
				 queue_us);
	}
}

/* Where ACKs are handed over at random times, the pipe holds as much as they are held for.
 * Without held_acks.h the means are 0.72 and 0.58 of the link.
 */
static void held_acks_leave_no_link_idle(void **state)
{
	static const struct {
		u32 mbit;
		double least;
	} rows[] = { { 20, 0.78 }, { 100, 0.7 } };
	char line[256];
	u32 i, seed;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		double used = 0;

		for (seed = 1; seed <= 5; seed++) {
			snprintf(line, sizeof(line),
				 "cc=pktpair rate_mbit=%u path_ms=20 ack_period_ms=8 "
				 "ack_gaps=exponential seed=%u seconds=15 from_s=2",
				 rows[i].mbit, seed);
			run(line);
			used += link_used() / 5;
		}
		if (used < rows[i].least)
			fail_msg("%u Mbit/s: %.3f of the link", rows[i].mbit, used);
	}
}

/* Who joins a busy round robin waits for a long turn; if the others leave then, the gaps of its
 * first whole train are short. Its first packet is no sign of a FIFO: all ten alarm if no turn is
 * noted before that train is whole.
 */
static void who_joins_as_others_leave_has_met_no_fifo(void **state)
{
	char line[1024];
	u32 seed, other;
	int length;

	(void)state;
	for (seed = 1; seed <= 10; seed++) {
		u32 joins_ms = 1100 + 13 * seed;

		length = snprintf(line, sizeof(line),
				  "flows=31 cc=cubic cc.0=pktpair queue=drr codel=1 rate_mbit=10 "
				  "path_ms=40 jitter_ms=0.5 seconds=4 seed=%u start_s.0=%u.%03u "
				  "stop_s=%u.%03u stop_s.0=4", seed, joins_ms / 1000, joins_ms % 1000,
				  (joins_ms + 120) / 1000, (joins_ms + 120) % 1000);
		for (other = 1; other <= 30; other++)
			length += snprintf(line + length, sizeof(line) - length,
					   " start_s.%u=0.%03u", other, other * 7 % 30 * 12);
		assert_true(length < (int)sizeof(line));
		run(line);
		if (adapter_alarms(&n.flows[0].sk))
			fail_msg("seed %u: an alarm", seed);
	}
}

/* ---- cases ---- */

static char *reported(const char *line)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	run(line);
	report_case(to, &n);
	fclose(to);
	return text;
}

static void a_seed_says_all(void **state)
{
	static const char *const line =
		"flows=3 cc=pktpair cc.1=cubic cc.2=poisson queue=rr "
		"jitter_ms=3 loss_ppm=100 seconds=3 series=1";
	char other[256], *first = reported(line), *second = reported(line), *third;

	(void)state;
	assert_int_equal(strcmp(first, second), 0);
	snprintf(other, sizeof(other), "%s seed=1", line);
	third = reported(other);
	assert_true(strcmp(first, third));
	free(first);
	free(second);
	free(third);
}

static void what_is_wrong_is_said_with_key_value_and_limits(void **state)
{
	static const struct {
		const char *line, *message;
	} rows[] = {
		{ "rate_mbit=0", "rate_mbit=0: not a number from 0.001 to 400000" },
		{ "rate_mbit=fast", "rate_mbit=fast: not a number from 0.001 to 400000" },
		{ "seconds=1e9", "seconds=1e9: not a number from 0.001 to 3600" },
		{ "flows=65", "flows=65: not a number from 1 to 64" },
		{ "flows=2 cc.2=reno", "cc.2=reno: index above 1" },
		{ "cc=vegas", "cc=vegas: not one of: " CASE_ALGORITHMS },
		{ "queue=lifo", "queue=lifo: not one of: fifo rr rr-packets drr policer" },
		{ "speed=3", "speed=3: no such key" },
		{ "rate_mbit",
		  "rate_mbit: not KEY=VALUE, KEY.INDEX=VALUE or KEY@SECONDS=VALUE" },
		{ "mss@3=500", "mss@3=500: does not change during a run" },
		{ "path_ms=5 ahead_ms=6", "path_ms.0=5: below the 6 ms of ahead_ms and delay_ms" },
		{ "servers=2 leave=2", "leave.0=2: not from enter.0=0 to servers - 1=1" },
		{ "setpoint_packets=1", "setpoint_packets=1: not a number from 2 to 4096" },
		{ "rate_mbit@x=3", "rate_mbit@x=3: no index or time \"x\" from 0 to 3600" },
		{ "seed.0=1", "seed.0=1: index above -1" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (case_read(&reader, rows[i].line))
			fail_msg("%s: nothing was said", rows[i].line);
		if (strcmp(reader.message, rows[i].message))
			fail_msg("%s: said \"%s\"", rows[i].line, reader.message);
	}
	assert_true(case_read(&reader, "rate_mbit@2.5=3 rate_mbit.0@1=4"));
	assert_int_equal(n.changes_count, 2);
	assert_int_equal(n.changes[0].value, 4000000);
	assert_int_equal(n.changes[1].at_ns, 2500 * (u64)NSEC_PER_MSEC);
}

static void a_knob_holds_for_one_case(void **state)
{
	u32 queue_us;

	(void)state;
	run("rate_mbit=10 path_ms=20 seconds=5 setpoint_packets=40 setpoint_max_us=1000000");
	queue_us = histogram_permille(&n.flows[0].figures.queue_us, 500);
	/* forty packets of 1.2 ms */
	assert_true(queue_us > 40000 && queue_us < 60000);
	run("rate_mbit=10 path_ms=20 seconds=5");
	assert_true(histogram_permille(&n.flows[0].figures.queue_us, 500) < 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_fire_in_the_order_of_their_times),
		cmocka_unit_test(a_percentile_is_a_64th_too_low_at_most),
		cmocka_unit_test(packets_are_neither_made_nor_lost),
		cmocka_unit_test(all_arrives_in_the_end),
		cmocka_unit_test(a_receiver_says_what_it_has_newest_first),
		cmocka_unit_test(two_flows_share_a_round_robin),
		cmocka_unit_test(bytes_and_not_packets_are_shared),
		cmocka_unit_test(one_bucket_is_a_fifo),
		cmocka_unit_test(a_policer_passes_its_rate),
		cmocka_unit_test(a_flush_takes_the_longest_queue),
		cmocka_unit_test(codel_drops_when_rfc_8289_says),
		cmocka_unit_test(slots_release_acks_together),
		cmocka_unit_test(hand_overs_of_all_kinds_keep_order_and_mean),
		cmocka_unit_test(interrupts_and_links_delay_acks),
		cmocka_unit_test(reno_fills_a_fifo_and_halves),
		cmocka_unit_test(cubic_grows_by_its_formula),
		cmocka_unit_test(a_flow_comes_back_after_an_outage),
		cmocka_unit_test(a_lost_tail_is_probed_for),
		cmocka_unit_test(windows_and_applications_limit),
		cmocka_unit_test(pktpair_alone_holds_its_setpoint),
		cmocka_unit_test(held_acks_leave_no_link_idle),
		cmocka_unit_test(who_joins_as_others_leave_has_met_no_fifo),
		cmocka_unit_test(a_seed_says_all),
		cmocka_unit_test(what_is_wrong_is_said_with_key_value_and_limits),
		cmocka_unit_test(a_knob_holds_for_one_case),
	};

	int failed;

	adapter_register();
	failed = cmocka_run_group_tests_name("simulator", tests, NULL, NULL);
	network_free(&n);
	return failed;
}
