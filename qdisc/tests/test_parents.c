// SPDX-License-Identifier: GPL-2.0
/*
 * parents.h: counts of all qdiscs above fq_rr, by scenario and at random.
 *
 * The oracle is naive_parents.h, a model of the parents themselves: it knows nothing of
 * the corrections and compares what parents count with what there is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "parents.h"
#include "naive_parents.h"

/* what naive_fq_rr_enqueue() takes from the script */
enum {
	QUEUE = 0,	/* do not refuse a segment */
	REFUSE = 7,
	KEEP_ALL = 3,	/* the policy drops nothing */
	DROP_OLDEST = 0,	/* of flow 0; 8 is added for each flow above */
	FLUSH = 2,
	DROP_ALL = 4,
};

static const u8 *no_drops(void)
{
	static u8 script[256];
	unsigned int i;

	for (i = 0; i < sizeof(script); i += 2)
		script[i + 1] = KEEP_ALL;
	return script;
}

static void expect_failure(const char *what)
{
	fail_msg("%s", what);
}

/* send one packet while the policies do what @script says */
static enum parents_verdict send(struct naive_tree *t, u32 flow, u32 segments,
				 const u8 *script, size_t length)
{
	t->script = script;
	t->length = length;
	return naive_send(t, (struct naive_packet){ 1000 * segments, segments, flow });
}

static void drain(struct naive_tree *t)
{
	struct naive_packet p;

	t->length = 0;
	while (naive_dequeue_peeked(t, t->top, &p))
		naive_check(t);
	naive_check(t);
	assert_int_equal(t->level[t->top].qlen, 0);
}

static void tree(struct naive_tree *t, const enum naive_kind *kinds, unsigned int parents)
{
	unsigned int i;

	naive_init(t);
	t->complain = expect_failure;
	for (i = 0; i < parents; i++)
		naive_add_parent(t, kinds[i]);
}

/*
 * The table of Documentation/fq_rr.rst: what is queued and dropped, and the answer with
 * its corrections. Lengths: the packet of 5000, its five segments of 1054 each.
 */
static void every_row_of_the_table(void **state)
{
	static const struct {
		const char *reason;
		struct fq_rr_outcome outcome;
		u32 len, left;
		struct parents_report wanted;
	} rows[] = {
		{ "a packet, nothing dropped",
		  { 1, 500, 0, 0, false }, 500, 5,
		  { { 0, 0 }, { 0, 0 }, false, PARENTS_SUCCESS } },
		{ "others lose seven",
		  { 1, 500, 7, 7000, false }, 500, 4,
		  { { 0, 0 }, { 7, 7000 }, false, PARENTS_SUCCESS } },
		{ "the flow itself loses one",
		  { 1, 500, 1, 1000, true }, 500, 10,
		  { { 0, 0 }, { 0, 500 }, false, PARENTS_CN } },
		{ "others lose all there was",
		  { 1, 500, 10, 10000, false }, 500, 1,
		  { { 0, 0 }, { 9, 9500 }, false, PARENTS_CN } },
		{ "five segments, nothing dropped, empty before",
		  { 5, 5270, 0, 0, false }, 5000, 5,
		  { { -4, -270 }, { 0, 0 }, false, PARENTS_SUCCESS } },
		{ "five segments, two dropped, empty before",
		  { 5, 5270, 2, 2108, true }, 5000, 3,
		  { { -4, -270 }, { 2, 2108 }, false, PARENTS_SUCCESS } },
		{ "five segments, one is left, empty before",
		  { 5, 5270, 4, 4216, true }, 5000, 1,
		  { { 0, 0 }, { 0, 0 }, true, PARENTS_SUCCESS } },
		{ "three of five segments are refused",
		  { 2, 2108, 0, 0, true }, 5000, 10,
		  { { -1, 2892 }, { -1, -5000 }, false, PARENTS_CN } },
		{ "all are refused",
		  { 0, 0, 0, 0, true }, 5000, 10,
		  { { 0, 0 }, { 0, 0 }, false, PARENTS_DROP } },
		{ "all are dropped, empty before",
		  { 5, 5270, 5, 5270, true }, 5000, 0,
		  { { 0, 0 }, { 0, 0 }, false, PARENTS_DROP } },
		{ "all are dropped with three others",
		  { 5, 5270, 8, 8270, true }, 5000, 0,
		  { { 0, 0 }, { 3, 3000 }, false, PARENTS_DROP } },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct parents_report *w = &rows[i].wanted;
		struct parents_report r;

		r = parents_report(&rows[i].outcome, rows[i].len, rows[i].left, true);
		if (r.split.packets != w->split.packets || r.split.bytes != w->split.bytes ||
		    r.drops.packets != w->drops.packets || r.drops.bytes != w->drops.bytes ||
		    r.set_length != w->set_length || r.verdict != w->verdict)
			fail_msg("%s: (%d, %d), (%d, %d), length %d, verdict %d", rows[i].reason,
				 r.split.packets, r.split.bytes, r.drops.packets, r.drops.bytes,
				 r.set_length, r.verdict);
	}
}

/* without parents nothing is changed for their sake */
static void without_parents_the_last_packet_is_as_it_was(void **state)
{
	struct fq_rr_outcome one_of_five = { 5, 5270, 4, 4216, true };
	struct fq_rr_outcome all_others = { 1, 500, 10, 10000, false };
	struct parents_report r;

	(void)state;
	r = parents_report(&one_of_five, 5000, 1, false);
	assert_false(r.set_length);
	assert_int_equal(r.verdict, PARENTS_SUCCESS);
	r = parents_report(&all_others, 500, 1, false);
	assert_int_equal(r.verdict, PARENTS_SUCCESS);
}

/* each chain of two parents; then @script is what happens to the second of two packets */
static void in_all_trees(u32 before, u32 flow, u32 segments, const u8 *script,
			 size_t length)
{
	enum naive_kind kinds[3];
	struct naive_tree t;
	unsigned int i;

	for (i = 0; i < NAIVE_NETEM * NAIVE_NETEM * NAIVE_KINDS; i++) {
		kinds[0] = i % NAIVE_NETEM;
		kinds[1] = i / NAIVE_NETEM % NAIVE_NETEM;
		kinds[2] = i / NAIVE_NETEM / NAIVE_NETEM;
		tree(&t, kinds, 3);
		if (before)
			send(&t, 0, before, no_drops(), 256);
		send(&t, flow, segments, script, length);
		/* and the parents serve what comes later */
		send(&t, 2, 1, no_drops(), 256);
		drain(&t);
		send(&t, 2, 1, no_drops(), 256);
		drain(&t);
	}
}

/* the case of HFSC above DRR that once stopped both */
static void anothers_packet_flushes_all_there_was(void **state)
{
	static const u8 script[] = { QUEUE, FLUSH };

	(void)state;
	in_all_trees(5, 1, 1, script, sizeof(script));
}

/*
 * To an empty qdisc come five segments and one remains. HFSC peeks at it before the
 * parents above have counted it: a correction by fq_rr's dequeue would make them notify
 * theirs of an idle child.
 */
static void one_segment_of_five_remains(void **state)
{
	static const u8 script[] = { QUEUE, KEEP_ALL, QUEUE, KEEP_ALL, QUEUE, KEEP_ALL,
				     QUEUE, KEEP_ALL, QUEUE, FLUSH };

	(void)state;
	in_all_trees(0, 0, 5, script, sizeof(script));
}

static void two_segments_of_five_remain(void **state)
{
	static const u8 script[] = { QUEUE, KEEP_ALL, QUEUE, KEEP_ALL, QUEUE, KEEP_ALL,
				     QUEUE, FLUSH, QUEUE, KEEP_ALL };

	(void)state;
	in_all_trees(0, 0, 5, script, sizeof(script));
}

static void three_segments_of_five_are_refused(void **state)
{
	static const u8 script[] = { QUEUE, KEEP_ALL, QUEUE, KEEP_ALL, REFUSE, REFUSE, REFUSE };

	(void)state;
	in_all_trees(0, 0, 5, script, sizeof(script));
	in_all_trees(1, 0, 5, script, sizeof(script));
	in_all_trees(1, 1, 5, script, sizeof(script));
}

static void all_but_the_first_segment_are_refused(void **state)
{
	static const u8 script[] = { QUEUE, KEEP_ALL, REFUSE, REFUSE, REFUSE, REFUSE };

	(void)state;
	in_all_trees(0, 0, 5, script, sizeof(script));
}

/* no policy of fq_rr does that, and nothing would break */
static void the_qdisc_is_emptied_while_it_enqueues(void **state)
{
	static const u8 script[] = { QUEUE, DROP_ALL };

	(void)state;
	in_all_trees(0, 0, 1, script, sizeof(script));
	in_all_trees(1, 0, 1, script, sizeof(script));
	in_all_trees(5, 1, 1, script, sizeof(script));
}

static void a_flow_loses_its_oldest(void **state)
{
	static const u8 script[] = { QUEUE, DROP_OLDEST };

	(void)state;
	in_all_trees(1, 0, 1, script, sizeof(script));
	in_all_trees(1, 1, 1, script, sizeof(script));
	in_all_trees(5, 1, 1, script, sizeof(script));
}

/* random trees, packets, policies, changes, resets and replacements */
static void every_parent_counts_what_there_is(void **state)
{
	unsigned int seed;

	(void)state;
	for (seed = 1; seed <= 2000; seed++) {
		u8 script[1024];
		unsigned int k;

		srand(seed);
		for (k = 0; k < sizeof(script); k++)
			script[k] = rand() >> 7;
		naive_run(script, sizeof(script));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_of_the_table),
		cmocka_unit_test(without_parents_the_last_packet_is_as_it_was),
		cmocka_unit_test(anothers_packet_flushes_all_there_was),
		cmocka_unit_test(one_segment_of_five_remains),
		cmocka_unit_test(two_segments_of_five_remain),
		cmocka_unit_test(three_segments_of_five_are_refused),
		cmocka_unit_test(all_but_the_first_segment_are_refused),
		cmocka_unit_test(the_qdisc_is_emptied_while_it_enqueues),
		cmocka_unit_test(a_flow_loses_its_oldest),
		cmocka_unit_test(every_parent_counts_what_there_is),
	};

	return cmocka_run_group_tests_name("parents", tests, NULL, NULL);
}
