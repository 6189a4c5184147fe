// SPDX-License-Identifier: GPL-2.0
/* pair_probe.h: which ACKs form a train, and what length a train takes */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "pair_probe.h"

static const struct pair_limits limits = {
	.train_min = 2, .train_max = 64, .service_min_ns = 7,
	.train_min_ns = 100 * NSEC_PER_USEC, .train_max_ns = 125 * NSEC_PER_MSEC,
};

static struct pair_sample ack(struct pair_probe *p, u64 now_ns, u32 sent_us,
			      u32 segments)
{
	const struct pair_ack a = { now_ns, sent_us, segments, PAIR_OPEN };

	return pair_probe_ack(p, &a, &limits);
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
		PAIR_RETRANSMITTED, PAIR_HELD, PAIR_DELAYED_ACK,
	};
	struct pair_probe p;
	size_t i, at;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(flaws); i++) {
		for (at = 0; at < 2; at++) {
			struct pair_ack a = { 1000, 10, 2, at ? PAIR_OPEN : flaws[i] };

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

static void an_ack_for_more_than_a_train_is_not_timed_from(void **state)
{
	struct pair_probe p;

	(void)state;
	pair_probe_init(&p, 4);
	ack(&p, 1000, 10, 2);
	ack(&p, 3000, 10, 2);
	/* a receiver that was busy acknowledges 11, and the next two in time */
	assert_int_equal(ack(&p, 14500, 30, 11).verdict, PAIR_SAMPLE);
	ack(&p, 15000, 30, 1);
	assert_int_equal(ack(&p, 17000, 40, 2).verdict, PAIR_MERGED);
	ack(&p, 19000, 40, 2);
	assert_int_equal(ack(&p, 21000, 50, 2).verdict, PAIR_SAMPLE);
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
		if (pair_train(&p, rows[i].service_ns << PAIR_SERVICE_SHIFT,
			       &limits) != rows[i].train)
			fail_msg("%s", rows[i].reason);
	}
	assert_int_equal(pair_train(&p, 1, &limits), 64);
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
	s = (struct pair_sample) { U64_MAX, 1, PAIR_SAMPLE };
	assert_int_equal(pair_service_time(&s), PAIR_SPAN_MAX_NS << PAIR_SERVICE_SHIFT);
	s = (struct pair_sample) { 60 * PAIR_SPAN_MAX_NS, 60, PAIR_SAMPLE };
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
		const struct pair_ack a = { 1000000 * i, i / 2, 2, PAIR_OPEN };

		pair_probe_ack(&p, &a, &crossed);
	}
	assert_int_equal(p.train, 3);
	assert_int_equal(pair_train(&p, 1000ULL << PAIR_SERVICE_SHIFT, &crossed), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_train_of_four_with_delayed_acks),
		cmocka_unit_test(bunched_acks_shift_time_between_gaps_but_not_the_sum),
		cmocka_unit_test(the_first_ack_of_a_train_counts_no_segments),
		cmocka_unit_test(flaws_are_named),
		cmocka_unit_test(an_ack_for_more_than_a_train_is_not_timed_from),
		cmocka_unit_test(a_merging_receiver_lengthens_the_train),
		cmocka_unit_test(a_prompt_receiver_shortens_it_slowly),
		cmocka_unit_test(trains_cut_short_do_not_lengthen_the_train),
		cmocka_unit_test(length_in_time_is_bounded),
		cmocka_unit_test(extremes_do_not_overflow),
		cmocka_unit_test(the_longest_train_holds_where_the_shortest_is_longer),
	};

	return cmocka_run_group_tests_name("pair_probe", tests, NULL, NULL);
}
