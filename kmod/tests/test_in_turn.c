// SPDX-License-Identifier: GPL-2.0
/*
 * in_turn.h: how many blocks it takes to know a FIFO, a round robin and a policer, what the
 * first packet shows, and how often trains are to show a gap; turns against quotients in
 * floating point
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "draw.h"
#include "in_turn.h"

#define TURN_US 1000U
/* turns that a block of weight one waits, and the weight of the least that says something */
#define ONE IN_TURN_WEIGHT_TURNS
#define LEAST_Q4 ((IN_TURN_BUSY << 4) / ONE)
#define BLOCKS_OF_LEAST ((IN_TURN_ALARM_Q4 + LEAST_Q4 - 1) / LEAST_Q4)

/* A block whose packets waited for so many turns */
static struct in_turn_block block(u32 served_q8, u32 turns)
{
	return (struct in_turn_block) {
		.served_q8 = served_q8, .waited_us = turns * TURN_US, .turn_us = TURN_US,
	};
}

/* Return: after which of so many equal blocks the law changes; 0: it does not */
static u32 blocks_until_change(struct in_turn *t, struct in_turn_block b, u32 most)
{
	bool before = t->shared;
	u32 n;

	for (n = 1; n <= most; n++) {
		bool changed = in_turn_take(t, &b);

		assert_int_equal(changed, t->shared != before);
		if (changed)
			return n;
	}
	return 0;
}

static void a_fifo_is_known_after_blocks_of_a_queue(void **state)
{
	static const struct {
		u32 served_q8, waited_us, turn_us;
		bool lossy;
		u32 expected;
		const char *reason;
	} rows[] = {
		{ 128, 3 * ONE * 1000, 1000, false, 3, "three of a long queue" },
		{ 128, 180000, 1000, false, 3, "no fewer of a longer one" },
		{ 128, U32_MAX, 1, false, 3, "nor of the longest: no product wraps" },
		{ 128, 2 * ONE * 1000, 1000, false, 4, "a block counts for what it waited" },
		{ 128, 2 * ONE * 1000 - 1, 1000, false, 5, "in 16ths, rounded down" },
		{ 128, ONE * 1000, 1000, false, 8, "for one" },
		{ 128, 3000, 1000, false, BLOCKS_OF_LEAST, "of three turns" },
		{ 128, 2999, 1000, false, 0, "the queue may have run empty" },
		{ 128, 3000, 1000, true, 4, "one that overflowed counts for two" },
		{ 128, 2 * ONE * 1000 + 1000 * ONE / 4, 1000, true, 4, "or for more" },
		{ 128, 3 * ONE * 1000, 1000, true, 3, "and for three at most" },
		{ 128, 2999, 1000, true, 0, "but for nothing without a queue" },
		{ 256, 3000, 1000, true, 0, "and for turns, if it speaks for them" },
		{ 128, 0, 1000, false, 0, "no queue says nothing" },
		{ 128, U32_MAX, 1431655765, false, BLOCKS_OF_LEAST, "three of the longest turns" },
		{ 128, U32_MAX, 1431655766, false, 0, "less: no product wraps" },
		{ 128, 0, 0, false, 128, "a turn without time, a 16th" },
		{ 128, ONE, 0, false, 8, "it counts as one microsecond" },
		{ 128, 3 * ONE, 0, false, 3, "the same" },
		{ 229, 3 * ONE * 1000, 1000, false, 3, "less than 0.9" },
		{ 230, 3 * ONE * 1000, 1000, false, 0, "0.9 speaks for nothing" },
		{ 256, 3 * ONE * 1000, 1000, false, 0, "turns" },
		{ 1, 3 * ONE * 1000, 1000, false, 3, "almost nothing of the link" },
		{ 0, 3 * ONE * 1000, 1000, false, 0, "nothing known" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct in_turn_block b = {
			.served_q8 = rows[i].served_q8, .waited_us = rows[i].waited_us,
			.turn_us = rows[i].turn_us, .lossy = rows[i].lossy,
		};
		struct in_turn t = {};
		u32 got = blocks_until_change(&t, b, 1000);

		if (got != rows[i].expected)
			fail_msg("%s: %u", rows[i].reason, got);
		assert_int_equal(t.alarms, !!got);
		assert_int_equal(t.shared, !!got);
		assert_int_equal(t.score_q4, 0);
	}
}

/* A block that speaks for turns takes back two that spoke against them */
static void turns_count_twice(void **state)
{
	static const struct {
		u32 served_q8, turns, expected_q4;
		const char *reason;
	} rows[] = {
		{ 243, ONE, 96 - 32, "twice" },
		{ 242, ONE, 96, "from 0.95 on" },
		{ 230, ONE, 96, "from 0.9 to there: nothing" },
		{ 256, 3, 96 - 2 * LEAST_Q4, "as much as it waited" },
		{ 1024, 18, 0, "both" },
		{ 256, 100, 0, "and no more than there is" },
		{ 256, 2, 95, "a sixteenth less without a queue" },
		{ 0, 100, 95, "and without knowledge" },
		{ 229, ONE, 96 + 16, "once in the other direction" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct in_turn_block b = block(128, 18);
		struct in_turn t = {};

		in_turn_take(&t, &b);
		in_turn_take(&t, &b);
		assert_int_equal(t.score_q4, 96);
		b = block(rows[i].served_q8, rows[i].turns);
		assert_false(in_turn_take(&t, &b));
		if (t.score_q4 != rows[i].expected_q4)
			fail_msg("%s: %u", rows[i].reason, t.score_q4);
	}
}

static void turns_bring_the_pair_law_back_after_a_while(void **state)
{
	static const u32 blocks[] = { 8, 16, 32, 64, 64, 64 };
	struct in_turn t = {};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		assert_int_equal(blocks_until_change(&t, block(128, 18), 100), 3);
		assert_int_equal(t.alarms, i + 1);
		assert_int_equal(t.relapses, min_t(size_t, i, IN_TURN_RELAPSES));
		/* in a row: one that does not speak for them begins anew */
		assert_int_equal(blocks_until_change(&t, block(243, 3), blocks[i] - 1), 0);
		assert_int_equal(blocks_until_change(&t, block(242, 3), 1), 0);
		assert_int_equal(blocks_until_change(&t, block(243, 3), blocks[i] - 1), 0);
		/* those without a queue, or that know nothing, do not end the row */
		assert_int_equal(blocks_until_change(&t, block(128, 2), 300), 0);
		assert_int_equal(blocks_until_change(&t, block(0, 18), 300), 0);
		assert_int_equal(blocks_until_change(&t, block(1024, 3), 1), 1);
		assert_false(t.shared);
		assert_int_equal(t.turns, 0);
		assert_int_equal(t.alarms, i + 1);
	}
	/* and a FIFO never does */
	assert_int_equal(blocks_until_change(&t, block(128, 18), 100), 3);
	assert_int_equal(blocks_until_change(&t, block(128, 18), 1000), 0);
	assert_int_equal(t.alarms, ARRAY_SIZE(blocks) + 1);
}

/* An ACK tells of its last packet alone: the first that it covers waited less */
static void packets_of_one_ack_wait_for_each_other(void **state)
{
	static const struct {
		u32 per_ack, turn_us;
		/* least wait; 0: none is long enough, or any is where a turn takes no time */
		u32 busy_us;
		const char *reason;
	} rows[] = {
		{ 0, 1000, 3000, "nothing known: a stock receiver" },
		{ 1, 1000, 3000, "each packet: no less than a stock one" },
		{ 2, 1000, 3000, "a stock one" },
		{ 3, 1000, 4000, "a packet between" },
		{ 4, 1000, 5000, "two" },
		{ 32, 1000, 33000, "thirty" },
		{ 64, 1000, 65000, "an skb" },
		{ 32, 0, 0, "a turn without time" },
		{ 2, 1431655765, 4294967295U, "three of the longest turns" },
		{ 2, 1431655766, 0, "longer: no product wraps" },
		{ 3, 1073741823, 4294967292U, "four of the longest" },
		{ 3, 1073741824, 0, "longer" },
		{ 65535, 65535, 4294901760U, "the largest square" },
		{ 65535, 65536, 0, "a larger" },
		{ U32_MAX - 1, 1, 4294967295U, "almost the most segments" },
		{ U32_MAX, 1, 0, "the most: no sum wraps" },
		{ U32_MAX, U32_MAX, 0, "and no product" },
		{ U32_MAX, 0, 0, "nor without time" },
	};
	size_t i;
	u32 n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct in_turn_block b = {
			.served_q8 = 128, .turn_us = rows[i].turn_us,
			.per_ack = rows[i].per_ack,
			.waited_us = rows[i].turn_us ? U32_MAX : 0,
		};
		struct in_turn t = { .score_q4 = 16 }, shared = { .shared = 1, .turns = 3 };
		const bool busy = rows[i].busy_us || !rows[i].turn_us;

		if (rows[i].busy_us)
			b.waited_us = rows[i].busy_us;
		in_turn_take(&t, &b);
		if ((t.score_q4 > 16) != busy || (t.score_q4 == 15) == busy)
			fail_msg("%s: %u", rows[i].reason, t.score_q4);
		in_turn_take(&shared, &b);
		assert_int_equal(shared.turns, busy ? 0 : 3);
		if (!rows[i].busy_us)
			continue;
		b.waited_us--;
		t.score_q4 = 16;
		in_turn_take(&t, &b);
		if (t.score_q4 != 15)
			fail_msg("less than %s: %u", rows[i].reason, t.score_q4);
		shared.turns = 3;
		in_turn_take(&shared, &b);
		assert_int_equal(shared.turns, 3);
	}
	for (n = 0; n < 300000; n++) {
		const struct in_turn_block b = {
			.served_q8 = 128, .waited_us = (u32)draw_scale(32) - 1,
			.turn_us = (u32)draw_scale(32) - 1,
			.per_ack = (u32)draw_scale(n % 2 ? 6 : 32) - 1,
		};
		struct in_turn t = { .score_q4 = 16 };

		in_turn_take(&t, &b);
		assert_int_equal(t.score_q4 > 16, b.waited_us >=
				 (1.0 + fmax(b.per_ack, 2)) * b.turn_us);
	}
}

/* What a block counts for, and whether it speaks for a policer, is a matter of turns alone */
static void packets_of_one_ack_weigh_no_less(void **state)
{
	struct in_turn_block b = block(128, 33);
	struct in_turn t = {};

	(void)state;
	b.per_ack = 32;
	assert_int_equal(blocks_until_change(&t, b, 10), 3);
	b.served_q8 = 256;
	assert_int_equal(blocks_until_change(&t, b, 10), IN_TURN_RETURN);
	/* more than a turn is no policer's, although it is too little to say more */
	b = block(0, 2);
	b.per_ack = 32;
	b.lossy = true;
	memset(&t, 0, sizeof(t));
	assert_int_equal(blocks_until_change(&t, b, 100), 0);
	assert_int_equal(t.lossy, 0);
	b.waited_us = TURN_US;
	assert_int_equal(blocks_until_change(&t, b, 100), 0);
	assert_true(t.policed);
}

/* Trains that show a gap cost the flow its share, until one has spoken for turns */
static void one_round_trip_in_twelve_shows_a_gap_or_one_in_two(void **state)
{
	struct in_turn t = {};
	u32 turns;

	(void)state;
	assert_int_equal(in_turn_probe_rounds(&t), 12);
	assert_int_equal(blocks_until_change(&t, block(128, 18), 100), 3);
	assert_int_equal(in_turn_probe_rounds(&t), 12);
	/* neither speaks for turns */
	assert_int_equal(blocks_until_change(&t, block(242, 3), 1), 0);
	assert_int_equal(blocks_until_change(&t, block(256, 2), 1), 0);
	assert_int_equal(in_turn_probe_rounds(&t), 12);
	assert_int_equal(blocks_until_change(&t, block(243, 3), 1), 0);
	assert_int_equal(in_turn_probe_rounds(&t), 2);
	/* what says nothing leaves it so, and what does not speak for them ends it */
	assert_int_equal(blocks_until_change(&t, block(256, 2), 100), 0);
	assert_int_equal(in_turn_probe_rounds(&t), 2);
	assert_int_equal(blocks_until_change(&t, block(242, 3), 1), 0);
	assert_int_equal(in_turn_probe_rounds(&t), 12);
	/* however many, until the pair law steers */
	for (turns = 1; turns < IN_TURN_RETURN; turns++) {
		assert_int_equal(blocks_until_change(&t, block(256, 3), 1), 0);
		assert_int_equal(in_turn_probe_rounds(&t), 2);
	}
	assert_int_equal(blocks_until_change(&t, block(256, 3), 1), 1);
	/* and for another alarm they count no more */
	assert_int_equal(blocks_until_change(&t, block(128, 18), 100), 3);
	assert_int_equal(in_turn_probe_rounds(&t), 12);
	t.turns = U8_MAX;
	assert_int_equal(in_turn_probe_rounds(&t), 2);
}

/* ---- a policer ---- */

static void lossy_blocks(struct in_turn *t, u32 waited_us, bool lossy, u32 count)
{
	const struct in_turn_block b = {
		.waited_us = waited_us, .turn_us = TURN_US, .lossy = lossy,
	};

	while (count--)
		in_turn_take(t, &b);
}

static void much_is_lost_and_nothing_waits_at_a_policer(void **state)
{
	struct in_turn t = {};

	(void)state;
	lossy_blocks(&t, TURN_US, true, 7);
	assert_false(t.policed);
	lossy_blocks(&t, TURN_US, true, 1);
	assert_true(t.policed);

	/* a block without losses takes back one part in 48, but no more than there is */
	memset(&t, 0, sizeof(t));
	lossy_blocks(&t, 0, false, 5);
	lossy_blocks(&t, 0, true, 7);
	lossy_blocks(&t, 0, false, 1);
	lossy_blocks(&t, 0, true, 1);
	assert_false(t.policed);
	lossy_blocks(&t, 0, true, 1);
	assert_true(t.policed);
	memset(&t, 0, sizeof(t));
	lossy_blocks(&t, 0, true, 7);
	lossy_blocks(&t, 0, false, 6);
	lossy_blocks(&t, 0, true, 1);
	assert_false(t.policed);
	lossy_blocks(&t, 0, true, 1);
	assert_true(t.policed);
	memset(&t, 0, sizeof(t));
	lossy_blocks(&t, 0, true, 7);
	lossy_blocks(&t, 0, false, 7);
	lossy_blocks(&t, 0, true, 2);
	assert_false(t.policed);

	/* a block in which packets waited for more than a turn takes all back */
	memset(&t, 0, sizeof(t));
	lossy_blocks(&t, 0, true, 7);
	lossy_blocks(&t, TURN_US + 1, true, 1);
	lossy_blocks(&t, 0, true, 7);
	assert_false(t.policed);
	lossy_blocks(&t, 0, true, 1);
	assert_true(t.policed);
}

/* Blocks that believed more than twice what was delivered: three are enough */
static void a_policer_is_found_sooner_where_much_more_was_believed(void **state)
{
	static const struct {
		u32 faster, slower, quiet, more_faster;
		bool policed;
		const char *reason;
	} rows[] = {
		{ 3, 0, 0, 0, true, "three" },
		{ 2, 0, 0, 0, false, "two" },
		{ 2, 2, 0, 0, false, "two, and two that believed less" },
		{ 2, 3, 0, 0, true, "and three" },
		{ 1, 5, 0, 0, false, "one and five" },
		{ 1, 6, 0, 0, true, "and six" },
		{ 2, 0, 1, 1, false, "without losses takes back" },
		{ 2, 0, 1, 2, true, "less than another" },
		{ 2, 2, 12, 1, true, "44 less 12, and 16: just enough" },
		{ 2, 2, 13, 1, false, "a block less" },
	};
	const struct in_turn_block faster = {
		.waited_us = TURN_US, .turn_us = TURN_US, .lossy = true, .faster = true,
	};
	const struct in_turn_block quiet = {
		.waited_us = TURN_US, .turn_us = TURN_US, .faster = true,
	};
	size_t i;
	u32 n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct in_turn t = {};

		for (n = 0; n < rows[i].faster; n++)
			in_turn_take(&t, &faster);
		lossy_blocks(&t, 0, true, rows[i].slower);
		/* that much was believed counts where much was lost */
		for (n = 0; n < rows[i].quiet; n++)
			in_turn_take(&t, &quiet);
		for (n = 0; n < rows[i].more_faster; n++)
			in_turn_take(&t, &faster);
		if (t.policed != rows[i].policed)
			fail_msg("%s: %u of 48", rows[i].reason, t.lossy);
	}
}

/* Until 16 blocks lost nothing, gaps showed what was delivered, or packets waited; then for good */
static void a_policer_is_suspected_from_its_first_losses_on(void **state)
{
	const struct in_turn_block faster = {
		.turn_us = TURN_US, .lossy = true, .faster = true,
	};
	const struct in_turn_block served = { .turn_us = TURN_US, .served_q8 = IN_TURN_ONE_Q8 };
	struct in_turn t = {};

	(void)state;
	assert_false(in_turn_suspects_policer(&t));
	lossy_blocks(&t, 0, false, 10);
	assert_false(in_turn_suspects_policer(&t));
	in_turn_take(&t, &faster);
	lossy_blocks(&t, TURN_US, false, 15);
	assert_true(in_turn_suspects_policer(&t));
	lossy_blocks(&t, 0, false, 1);
	assert_false(in_turn_suspects_policer(&t));
	in_turn_take(&t, &faster);
	in_turn_take(&t, &served);
	assert_false(in_turn_suspects_policer(&t));
	/* gaps may show by chance what was delivered */
	in_turn_take(&t, &faster);
	assert_true(in_turn_suspects_policer(&t));
	/* a small buffer of a round robin holds a turn's wait now and then */
	lossy_blocks(&t, TURN_US + 1, true, 1);
	in_turn_take(&t, &faster);
	assert_false(in_turn_suspects_policer(&t));
	lossy_blocks(&t, 0, true, 100);
	assert_true(t.policed);
	assert_false(in_turn_suspects_policer(&t));
}

/* A policer drops nothing at a quarter of its rate. What goes on there is no policer's; at an eighth of
 * it, where no packet has waited so far
 */
static void losses_that_go_on_at_a_fraction_of_the_rate_are_random(void **state)
{
	static const u32 fractions[] = { 4, 8 };
	u32 i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(fractions); i++) {
		struct in_turn_block b = {
			.turn_us = fractions[i] * (TURN_US + 1) - 1, .lossy = true,
		};
		struct in_turn t = { .queued = fractions[i] == 4 };

		lossy_blocks(&t, 0, true, 8);
		/* just that; less, without losses, and with gaps that show it */
		for (k = 0; k < 100; k++) {
			in_turn_take(&t, &b);
			assert_true(t.policed && !t.random);
		}
		b.turn_us++;
		b.lossy = false;
		in_turn_take(&t, &b);
		b.lossy = true;
		b.served_q8 = IN_TURN_SHARED_Q8;
		in_turn_take(&t, &b);
		assert_true(t.policed && !t.random);
		b.served_q8 = 0;
		in_turn_take(&t, &b);
		assert_true(!t.policed && t.random);
		assert_int_equal(t.lossy, 0);
		/* blocks that lose more than at random find a policer again, and then it is one */
		lossy_blocks(&t, TURN_US + 1, true, 1);
		lossy_blocks(&t, 0, true, 7);
		assert_true(!t.policed && t.random);
		lossy_blocks(&t, 0, true, 1);
		assert_true(t.policed && !t.random);
		/* a queue speaks against it */
		b.waited_us = b.turn_us + 1;
		in_turn_take(&t, &b);
		assert_true(t.policed && !t.random);
	}
}

/* Flows that join a small buffer: each block delivers less than the one before */
static void a_policer_has_one_rate(void **state)
{
	struct in_turn_block b = {
		.waited_us = 0, .turn_us = 100, .lossy = true, .faster = true,
	};
	struct in_turn t = {};
	u32 n;

	(void)state;
	for (n = 0; n < 20; n++) {
		in_turn_take(&t, &b);
		assert_false(t.policed);
		b.turn_us += b.turn_us / 2;
	}
	/* half as much counts with the block before, and less does not */
	memset(&t, 0, sizeof(t));
	b.turn_us = 1000;
	in_turn_take(&t, &b);
	b.turn_us = 2001;
	in_turn_take(&t, &b);
	in_turn_take(&t, &b);
	assert_true(t.policed);
	memset(&t, 0, sizeof(t));
	b.turn_us = 1000;
	in_turn_take(&t, &b);
	b.turn_us = 2002;
	in_turn_take(&t, &b);
	in_turn_take(&t, &b);
	assert_false(t.policed);
	in_turn_take(&t, &b);
	assert_true(t.policed);
	/* of the fastest block: one that delivers more does not begin anew */
	memset(&t, 0, sizeof(t));
	b.turn_us = 2000;
	in_turn_take(&t, &b);
	b.turn_us = 900;
	in_turn_take(&t, &b);
	b.turn_us = 2000;
	in_turn_take(&t, &b);
	assert_false(t.policed);

	/* twice the rate of the fastest block passes without a loss: there is no policer */
	memset(&t, 0, sizeof(t));
	lossy_blocks(&t, 0, true, 8);
	b.lossy = false;
	b.turn_us = TURN_US / 2;
	in_turn_take(&t, &b);
	assert_true(t.policed);
	b.turn_us--;
	in_turn_take(&t, &b);
	assert_false(t.policed);
	/* and what spoke for it is forgotten */
	lossy_blocks(&t, 0, true, 7);
	assert_false(t.policed);
}

/* Gaps that show what was delivered show a bottleneck that serves: no policer does */
static void gaps_that_show_what_was_delivered_speak_against_a_policer(void **state)
{
	static const struct {
		u32 served_q8;
		bool served;
		const char *reason;
	} rows[] = {
		{ 0, false, "no gap says anything" },
		{ 1, false, "almost all of the link was left for others, or dropped" },
		{ 229, false, "less than 0.9" },
		{ 230, true, "0.9" },
		{ 256, true, "all of it" },
		{ U32_MAX, true, "more" },
	};
	size_t i;
	u32 n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct in_turn_block b = {
			.served_q8 = rows[i].served_q8, .turn_us = TURN_US, .lossy = true,
			.faster = true,
		};
		struct in_turn t = {};

		for (n = 0; n < 1000; n++)
			in_turn_take(&t, &b);
		if (t.policed == rows[i].served)
			fail_msg("%s", rows[i].reason);
		/* it takes all back, and so does one of many blocks */
		memset(&t, 0, sizeof(t));
		lossy_blocks(&t, 0, true, 7);
		in_turn_take(&t, &b);
		lossy_blocks(&t, 0, true, 7);
		assert_int_equal(t.policed, !rows[i].served);
		/* 24 end a policer, with losses or without */
		memset(&t, 0, sizeof(t));
		lossy_blocks(&t, 0, true, 8);
		for (n = 0; n < 23; n++)
			in_turn_take(&t, &b);
		assert_true(t.policed);
		in_turn_take(&t, &b);
		assert_int_equal(t.policed, !rows[i].served);
	}
}

static void a_policer_is_gone_after_24_blocks_with_a_queue(void **state)
{
	struct in_turn t = {};

	(void)state;
	lossy_blocks(&t, 0, true, 8);
	/* that nothing is lost is what probes find most of the time */
	lossy_blocks(&t, 0, false, 1000);
	assert_true(t.policed);
	lossy_blocks(&t, TURN_US + 1, true, 23);
	assert_true(t.policed);
	lossy_blocks(&t, TURN_US, false, 1);
	lossy_blocks(&t, TURN_US + 1, false, 23);
	assert_true(t.policed);
	lossy_blocks(&t, TURN_US + 1, false, 1);
	assert_false(t.policed);
	/* and from the beginning */
	lossy_blocks(&t, 0, true, 7);
	assert_false(t.policed);
	lossy_blocks(&t, 0, true, 1);
	assert_true(t.policed);
}

/* However much was lost when it was found */
static void a_policer_is_gone_after_24_blocks_however_it_was_found(void **state)
{
	const struct in_turn_block faster = {
		.turn_us = TURN_US, .lossy = true, .faster = true,
	};
	u32 slower, blocks;

	(void)state;
	for (slower = 0; slower < 8; slower++) {
		struct in_turn t = {};

		lossy_blocks(&t, 0, true, slower);
		while (!t.policed)
			in_turn_take(&t, &faster);
		for (blocks = 1; blocks <= 24; blocks++) {
			lossy_blocks(&t, TURN_US + 1, false, 1);
			if (t.policed != (blocks < 24))
				fail_msg("%u blocks that believed less: %u of 24", slower, t.lossy);
		}
	}
}

/* Whether flows are served in turn is asked beside it */
static void a_policer_and_a_score_are_apart(void **state)
{
	struct in_turn t = {};

	(void)state;
	assert_int_equal(blocks_until_change(&t, block(128, ONE), 3), 0);
	lossy_blocks(&t, 0, true, 100);
	assert_true(t.policed);
	/* nothing has renewed it */
	assert_int_equal(t.score_q4, 0);
	assert_int_equal(blocks_until_change(&t, block(128, ONE), 100), 8);
	assert_true(t.policed && t.shared);
	assert_int_equal(blocks_until_change(&t, block(256, ONE), 100), 8);
	assert_true(t.policed);
}

/* ---- turns, and the first packet ---- */

static void a_turn_is_as_long_as_full_packets_take(void **state)
{
	static const struct {
		u64 service_q10;
		u32 payload_bytes, turn_us;
		const char *reason;
	} rows[] = {
		{ 1211200ULL << 10, 1448, 1211, "a full packet at 10 Mbit/s, rounded down" },
		{ 1211200ULL << 10, 1449, 1211, "a longer one is a full one" },
		{ 1211200ULL << 10, U32_MAX, 1211, "no sum wraps" },
		{ 1211200ULL << 10, 691, 2422, "half a packet: full ones of others come between" },
		{ 66000ULL << 10, 0, 1514, "nothing but headers" },
		{ 66000ULL << 10, 1, 1491, "a byte" },
		{ (1000ULL << 10) - 1, 1448, 0, "less than a microsecond" },
		{ 1000ULL << 10, 1448, 1, "one" },
		{ 0, 0, 0, "nothing is known" },
		{ 1ULL << 47, 1448, 137438953, "the longest" },
		{ U64_MAX, 1448, 137438953, "longer is the longest" },
		{ U64_MAX, 0, 3152766296U, "no product wraps" },
	};
	size_t i;
	u32 n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 got = in_turn_us(rows[i].service_q10, rows[i].payload_bytes);

		if (got != rows[i].turn_us)
			fail_msg("%s: %u us", rows[i].reason, got);
	}
	for (n = 0; n < 300000; n++) {
		const u64 service_q10 = draw_scale(48) - 1;
		const u32 payload_bytes = (u32)draw_scale(n % 2 ? 11 : 32) - 1;
		double exact_us = fmin((double)service_q10, 0x1p47) / 1024e3 * 1514 /
				  fmin(payload_bytes + 66.0, 1514);
		double got_us = in_turn_us(service_q10, payload_bytes);

		/* a nanosecond of the service time and two quotients are rounded down */
		if (got_us > exact_us || got_us < exact_us - 1 - 1e-3 * (1514.0 / 66 + 1))
			fail_msg("%.0f of %u bytes: %.0f us, exact %.3f", (double)service_q10,
				 payload_bytes, got_us, exact_us);
	}
}

/* It waits for a turn or two where flows are served in turn, whatever the others have */
static void a_first_packet_that_waits_for_longer_than_turns_waits_for_others(void **state)
{
	static const struct {
		struct in_turn_first first;
		bool alarm;
		const char *reason;
	} rows[] = {
		{ { 4250, 1000, 20000 }, false, "three turns and a 16th of the delay" },
		{ { 4251, 1000, 20000 }, true, "more" },
		{ { 3000, 1000, 15 }, false, "a 16th is rounded down" },
		{ { 3001, 1000, 15 }, true, "and not up" },
		{ { 3001, 1000, 16 }, false, "a microsecond" },
		{ { 1250, 0, 20000 }, false, "no turn is known: jitter" },
		{ { 1251, 0, 20000 }, true, "and not jitter" },
		{ { 0, 0, 0 }, false, "nothing is told" },
		{ { 1, 0, 0 }, true, "of no delay there is no jitter" },
		{ { U32_MAX, 0, U32_MAX }, true, "the longest wait" },
		{ { U32_MAX, 1342177280, U32_MAX }, false, "the longest delay" },
		{ { U32_MAX, 1342177279, U32_MAX }, true, "and of a shorter turn, more" },
		{ { U32_MAX, U32_MAX, 0 }, false, "the longest turn: no product wraps" },
		{ { 3000000000U, 1431655766, 0 }, false, "the shortest that would wrap" },
	};
	size_t i;
	u32 n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct in_turn t = { .policed = 1, .lossy = 9, .score_q4 = 77 };
		bool alarm = in_turn_take_first(&t, &rows[i].first);

		if (alarm != rows[i].alarm)
			fail_msg("%s", rows[i].reason);
		assert_int_equal(t.alarms, alarm);
		assert_int_equal(t.shared, alarm);
		/* the score begins anew, as with any alarm, and a policer is a policer */
		assert_int_equal(t.score_q4, alarm ? 0 : 77);
		assert_int_equal(t.lossy, 9);
		assert_true(t.policed);
		assert_int_equal(t.relapses, 0);
	}
	for (n = 0; n < 300000; n++) {
		const struct in_turn_first first = {
			.waited_us = (u32)draw_scale(32) - 1, .turn_us = (u32)draw_scale(32) - 1,
			.prop_us = (u32)draw_scale(32) - 1,
		};
		double most_us = 3.0 * first.turn_us + floor(first.prop_us / 16.0);
		struct in_turn t = {};

		assert_int_equal(in_turn_take_first(&t, &first), first.waited_us > most_us);
	}
}

/* It is told for a time, and gives one alarm; after that blocks say what there is */
static void a_first_packet_gives_no_second_alarm(void **state)
{
	const struct in_turn_first first = { 10000, 1000, 20000 };
	struct in_turn t = {};
	u32 n;

	(void)state;
	assert_true(in_turn_take_first(&t, &first));
	for (n = 0; n < 10; n++)
		assert_false(in_turn_take_first(&t, &first));
	assert_true(t.shared);
	/* back to the pair law, by blocks that speak for turns */
	assert_int_equal(blocks_until_change(&t, block(256, 3), 100), IN_TURN_RETURN);
	assert_false(in_turn_take_first(&t, &first));
	assert_false(t.shared);
	assert_int_equal(t.alarms, 1);
	/* and blocks give alarms as before */
	assert_int_equal(blocks_until_change(&t, block(128, 3 * ONE), 100), 3);
	assert_int_equal(t.alarms, 2);

	/* after an alarm by blocks the first packet says nothing new */
	memset(&t, 0, sizeof(t));
	assert_int_equal(blocks_until_change(&t, block(128, 3 * ONE), 100), 3);
	assert_false(in_turn_take_first(&t, &first));
	assert_true(t.shared);
	assert_int_equal(t.alarms, 1);
}

/* ---- how short trains may be ---- */

static void a_short_train_is_not_for_what_may_be_a_fifo(void **state)
{
	/* two blocks at most */
	static const struct {
		u32 served_q8[2], turns[2], least;
		const char *reason;
	} rows[] = {
		{ { 0, 0 }, { 9, 9 }, 1, "nothing is known" },
		{ { 243, 0 }, { 0, 9 }, 1, "turns, without a queue" },
		{ { 242, 242 }, { 9, 9 }, 1, "not quite turns, and no FIFO" },
		{ { 256, 242 }, { 9, 9 }, 1, "which take nothing back" },
		{ { 256, 230 }, { 9, 9 }, 1, "from 0.9 on" },
		{ { 256, 229 }, { 9, 9 }, 4, "a FIFO" },
		{ { 256, 229 }, { 9, 2 }, 1, "which nothing shows without a queue" },
		{ { 229, 256 }, { 9, 0 }, 4, "turns, and a score" },
		{ { 229, 256 }, { 3, 9 }, 1, "turns, and none left" },
	};
	struct in_turn t = {};
	size_t i;
	u32 n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		memset(&t, 0, sizeof(t));
		for (n = 0; n < 2; n++) {
			const struct in_turn_block b = block(rows[i].served_q8[n],
							     rows[i].turns[n]);

			in_turn_take(&t, &b);
		}
		if (in_turn_least_train(&t, 4) != rows[i].least)
			fail_msg("%s: %u", rows[i].reason, in_turn_least_train(&t, 4));
		assert_int_equal(in_turn_least_train(&t, 0), 1);
		assert_int_equal(in_turn_least_train(&t, U32_MAX),
				 rows[i].least == 1 ? 1 : U32_MAX);
	}
	/* since the alarm: blocks that speak for turns again */
	memset(&t, 0, sizeof(t));
	assert_int_equal(blocks_until_change(&t, block(128, 3 * ONE), 3), 3);
	assert_int_equal(in_turn_least_train(&t, 4), 1);
	/* a policer, whatever the score */
	memset(&t, 0, sizeof(t));
	lossy_blocks(&t, 0, true, 7);
	t.score_q4 = 100;
	assert_int_equal(in_turn_least_train(&t, 4), 4);
	lossy_blocks(&t, 0, true, 1);
	assert_int_equal(in_turn_least_train(&t, 4), 1);
}

/* More than half of what is served: no other has more */
static void a_flow_has_most_of_a_fifo_or_others_do(void **state)
{
	static const struct {
		u32 served_q8;
		bool most;
	} rows[] = {
		{ 1, false }, { 128, false }, { 129, true }, { 256, true }, { U32_MAX, true },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct in_turn_block b = block(rows[i].served_q8, 9);

		assert_int_equal(in_turn_has_most(&b), rows[i].most);
	}
}

/* ---- many blocks ---- */

static u32 draw_turns(u32 least, u32 below)
{
	return least + (u32)draw(below - least);
}

/* c = 1 +- 8 %, and one block in a hundred that shows half of it */
static void a_round_robin_gives_no_alarm(void **state)
{
	struct in_turn t = {};
	u32 i;

	(void)state;
	seed = 1;
	for (i = 0; i < 100000; i++) {
		struct in_turn_block b = block(256 - 20 + (u32)draw(41), draw_turns(0, 60));

		if (!draw(100))
			b.served_q8 = 128;
		if (in_turn_take(&t, &b))
			fail_msg("block %u", i);
	}
	assert_int_equal(t.alarms, 0);
}

/* c = .2 to .84 */
static void a_fifo_gives_an_alarm_within_ten_blocks(void **state)
{
	u32 i, n;

	(void)state;
	seed = 1;
	for (i = 0; i < 10000; i++) {
		struct in_turn t = {};

		for (n = 0; n < 10 && !t.shared; n++) {
			struct in_turn_block b = block(51 + (u32)draw(164), draw_turns(5, 60));

			in_turn_take(&t, &b);
		}
		if (!t.shared)
			fail_msg("run %u: %u/16", i, t.score_q4);
		/* and the law stays */
		for (n = 0; n < 100; n++) {
			struct in_turn_block b = block(51 + (u32)draw(164), draw_turns(0, 60));

			assert_false(in_turn_take(&t, &b));
		}
	}
}

static void any_blocks_leave_numbers_in_their_bounds(void **state)
{
	struct in_turn t = {};
	u32 i, changes = 0, policed = 0, firsts = 0;

	(void)state;
	for (i = 0; i < 2000000; i++) {
		const u32 before = t.alarms, which = (u32)(i / 1000 % 3);
		const struct in_turn_first first = {
			.waited_us = (u32)draw_scale(32) - 1,
			.turn_us = (u32)draw_scale(32) - 1,
			.prop_us = (u32)draw_scale(32) - 1,
		};
		const struct in_turn_block b = {
			.served_q8 = which ? (which == 1 ? 256 : 100) : (u32)draw_scale(32) - 1,
			.waited_us = (u32)draw_scale(32) - 1,
			.turn_us = (u32)draw_scale(draw(2) ? 32 : 8) - 1,
			.per_ack = (u32)draw_scale(draw(4) ? 5 : 32) - 1,
			.lossy = draw(2),
			.faster = draw(2),
		};
		const bool shared = t.shared, changed = in_turn_take(&t, &b);

		assert_int_equal(changed, shared != t.shared);
		assert_int_equal(t.alarms - before, changed && t.shared);
		assert_true(t.score_q4 < IN_TURN_ALARM_Q4);
		assert_true(!t.shared || !t.score_q4);
		assert_true(t.turns < IN_TURN_RETURN << t.relapses);
		assert_true(t.shared || !t.turns);
		assert_true(in_turn_least_train(&t, b.served_q8) >= 1);
		assert_int_equal(in_turn_probe_rounds(&t), t.turns ? 2 : 12);
		assert_true(t.relapses <= IN_TURN_RELAPSES);
		if (t.policed)
			assert_in_range(t.lossy, 1, IN_TURN_POLICED);
		else
			assert_true(t.lossy < IN_TURN_POLICED);
		changes += changed;
		policed += t.policed;
		if (i % 100)
			continue;
		/* the first alarm of all, or none */
		if (in_turn_take_first(&t, &first)) {
			assert_int_equal(t.alarms, 1);
			assert_true(t.shared && !t.score_q4 && !t.turns);
			firsts++;
		}
		if (!draw(100))
			memset(&t, 0, sizeof(t));
	}
	assert_true(changes > 100);
	assert_true(firsts > 50);
	assert_in_range(policed, 1, i - 1);
}

/* a flow with a window of two has few blocks, each of several round trips */
static void a_suspicion_falls_with_each_round_trip_that_says_nothing(void **state)
{
	static const struct {
		u32 score_q4, rounds, expected;
	} rows[] = {
		{ 80, 0, 79 }, { 80, 1, 79 }, { 80, 4, 76 }, { 80, 80, 0 }, { 80, U32_MAX, 0 },
		{ 1, 4, 0 }, { 0, 4, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct in_turn t = { .score_q4 = (u8)rows[i].score_q4 };
		struct in_turn_block b = block(0, 18);

		b.rounds = rows[i].rounds;
		assert_false(in_turn_take(&t, &b));
		assert_int_equal(t.score_q4, rows[i].expected);
		/* nor one without a queue */
		t.score_q4 = (u8)rows[i].score_q4;
		b = block(128, 0);
		b.rounds = rows[i].rounds;
		assert_false(in_turn_take(&t, &b));
		assert_int_equal(t.score_q4, rows[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fifo_is_known_after_blocks_of_a_queue),
		cmocka_unit_test(turns_count_twice),
		cmocka_unit_test(turns_bring_the_pair_law_back_after_a_while),
		cmocka_unit_test(packets_of_one_ack_wait_for_each_other),
		cmocka_unit_test(packets_of_one_ack_weigh_no_less),
		cmocka_unit_test(one_round_trip_in_twelve_shows_a_gap_or_one_in_two),
		cmocka_unit_test(much_is_lost_and_nothing_waits_at_a_policer),
		cmocka_unit_test(a_policer_is_found_sooner_where_much_more_was_believed),
		cmocka_unit_test(a_policer_is_suspected_from_its_first_losses_on),
		cmocka_unit_test(losses_that_go_on_at_a_fraction_of_the_rate_are_random),
		cmocka_unit_test(a_policer_has_one_rate),
		cmocka_unit_test(gaps_that_show_what_was_delivered_speak_against_a_policer),
		cmocka_unit_test(a_policer_is_gone_after_24_blocks_with_a_queue),
		cmocka_unit_test(a_policer_is_gone_after_24_blocks_however_it_was_found),
		cmocka_unit_test(a_policer_and_a_score_are_apart),
		cmocka_unit_test(a_turn_is_as_long_as_full_packets_take),
		cmocka_unit_test(a_first_packet_that_waits_for_longer_than_turns_waits_for_others),
		cmocka_unit_test(a_first_packet_gives_no_second_alarm),
		cmocka_unit_test(a_short_train_is_not_for_what_may_be_a_fifo),
		cmocka_unit_test(a_flow_has_most_of_a_fifo_or_others_do),
		cmocka_unit_test(a_round_robin_gives_no_alarm),
		cmocka_unit_test(a_fifo_gives_an_alarm_within_ten_blocks),
		cmocka_unit_test(any_blocks_leave_numbers_in_their_bounds),
		cmocka_unit_test(a_suspicion_falls_with_each_round_trip_that_says_nothing),
	};

	return cmocka_run_group_tests_name("in_turn", tests, NULL, NULL);
}
