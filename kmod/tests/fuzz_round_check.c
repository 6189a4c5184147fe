// SPDX-License-Identifier: GPL-2.0
/*
 * round_check.h and in_turn.h under any ACKs, trains, losses, clocks and round trips: what
 * they find stays within its bounds, and so does what they remember.
 */
#include "fuzz_check.h"
#include "in_turn.h"
#include "round_check.h"

/* Numbers of all magnitudes, and those around a power of two */
static u32 number(u8 octave, u8 rest)
{
	return (1U << octave % 32) + ((u32)rest << (octave % 32 > 7 ? octave % 32 - 8 : 0)) -
	       (octave & 32 ? 1 : 0);
}

static void check_round(const struct round_check *r)
{
	CHECK(r->span_ns <= ROUND_SPAN_MAX_NS);
	CHECK(r->claims <= ROUND_PROBE_LAST);
	CHECK(r->bursts <= ROUND_BURSTS_MAX);
	CHECK(r->shorter <= ROUND_SHORTER_MAX);
	CHECK(r->again <= ROUND_AGAIN_MAX);
	CHECK(r->hold <= ROUND_BURST << ROUND_BURSTS_MAX);
	CHECK(r->quiet <= ROUND_QUIET << ROUND_AGAIN_MAX);
	CHECK(!r->there_seen || r->there_known);
}

static void check_turns(struct in_turn *t, const struct in_turn_block *b)
{
	const u32 alarms = t->alarms;
	const bool shared = t->shared, changed = in_turn_take(t, b);

	CHECK(changed == (shared != t->shared));
	CHECK(t->alarms - alarms == (changed && t->shared));
	CHECK(!changed || b->served_q8);
	CHECK(t->score_q4 < IN_TURN_ALARM_Q4);
	CHECK(t->relapses <= IN_TURN_RELAPSES);
	CHECK(t->turns < IN_TURN_RETURN << t->relapses);
	CHECK(t->lossy < IN_TURN_POLICED + IN_TURN_DROPS);
	CHECK(t->policed ? t->lossy > 0 : t->lossy < IN_TURN_POLICED);
}

static u64 check_end(struct round_check *r, struct in_turn *t, const struct round_seen *seen)
{
	const u64 believed_q10 = min_t(u64, seen->service_q10, ROUND_SERVICE_MAX_Q10);
	const struct round_found found = round_check_end(r, seen);
	const struct in_turn_block block = {
		.served_q8 = found.served_q8, .waited_us = found.waited_us,
		.turn_us = (u32)min_t(u64, found.delivered_q10 / 1024000, U32_MAX),
		.lossy = found.lossy,
	};

	CHECK(found.service_q10 <= ROUND_SERVICE_MAX_Q10);
	CHECK(found.service_q10 || !believed_q10);
	CHECK(found.served_q8 <= ROUND_SERVED_MAX_Q8);
	CHECK(!found.bursts || found.verdict == ROUND_CONTRADICTED);
	check_round(r);
	switch (found.verdict) {
	case ROUND_GOES_ON:
		CHECK(!found.delivered_q10);
		CHECK(found.service_q10 == believed_q10);
		return found.service_q10;
	case ROUND_CONFIRMED:
		CHECK(found.service_q10 == believed_q10);
		break;
	case ROUND_CONTRADICTED:
		CHECK(found.service_q10 <= 2 * believed_q10);
		CHECK(found.service_q10 <= found.delivered_q10);
		break;
	case ROUND_DELIVERED:
		/* or a claim of an eighth more */
		CHECK(found.service_q10 <= found.delivered_q10);
		CHECK(found.service_q10 >= found.delivered_q10 - found.delivered_q10 / 8);
		break;
	case ROUND_UNCONFIRMED:
		/* a claim is at most half of it */
		CHECK(found.service_q10 <= believed_q10);
		CHECK(found.service_q10 >= min_t(u64, believed_q10, found.delivered_q10) / 2);
		break;
	}
	CHECK(!found.limited || (found.verdict == ROUND_CONFIRMED && !found.served_q8));
	CHECK(!found.back_us || !found.limited);
	CHECK(!found.back_us || found.back_us > min_t(u32, seen->prop_us, ROUND_MAX_US) / 4);
	CHECK(found.delivered_q10 && found.delivered_q10 <= ROUND_SERVICE_MAX_Q10);
	/* and the next has begun */
	CHECK(r->started && r->since_us == seen->now_us && r->delivered == seen->delivered);
	CHECK(!r->span_ns && !r->segments && !r->trains && !r->ticks && !r->lost);
	check_turns(t, &block);
	return found.service_q10;
}

static void check_bound(const struct round_check *r, u32 delivered, u32 interval_us)
{
	const u64 bound_q10 = round_bound_q10(r, delivered, interval_us);

	CHECK(bound_q10 >= 1 && bound_q10 <= ROUND_SERVICE_MAX_Q10);
	CHECK(round_train_most(r, delivered, interval_us % 8) >= 1);
	CHECK(round_train_most(r, delivered, interval_us) <= max_t(u32, delivered, 1));
	CHECK(!round_shows_queue(delivered, interval_us) || delivered > interval_us);
	CHECK(!round_first_even(r, 0, 0) || r->acks >= ROUND_FIRST_ACKS);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct round_seen seen = {
		.service_q10 = 250000 << 10, .prop_us = 20000, .queue = 8, .train = 4,
	};
	struct in_turn_block block = {};
	struct round_check r = {};
	struct in_turn turns = {};

	for (; size >= 5; size -= 5, data += 5) {
		u32 one = number(data[1], data[2]), other = number(data[3], data[4]);

		switch (data[0] % 10) {
		case 0:
			seen.now_us += one;
			round_check_ack(&r, seen.now_us);
			break;
		case 1:
			round_check_rtt(&r, one, other);
			break;
		case 2:
			round_check_lost(&r, data[0] & 16 ? one : data[2] % 4);
			break;
		case 3:
			round_check_train(&r, data[0] & 16 ? (u64)one << (data[4] % 32) : one,
					  data[3], data[0] & 32 ? other : data[4] % 4);
			break;
		case 4:
			seen.prop_us = one;
			seen.queue = other;
			break;
		case 5:
			seen.service_q10 = data[0] & 16 ? (u64)one << 32 | other : one;
			seen.train = data[0] & 32 ? one : data[4];
			break;
		case 6:
			block = (struct in_turn_block) { one, other, data[2], data[4] & 1 };
			check_turns(&turns, &block);
			break;
		case 7:
			check_bound(&r, one, other);
			break;
		default:
			/* a round trip, as it goes or as nobody saw one */
			seen.now_us += data[0] & 64 ? one : seen.prop_us + (seen.prop_us >> 2);
			seen.tick += data[0] & 32 ? other : seen.prop_us / 800;
			seen.delivered += data[0] & 16 ? one : data[2];
			seen.sampled = data[4] & 1;
			seen.limited = data[4] & 2;
			seen.policed = data[4] & 4 ? turns.policed : data[4] & 8;
			seen.service_q10 = check_end(&r, &turns, &seen);
		}
		check_round(&r);
	}
	return 0;
}
