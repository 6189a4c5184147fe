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
	CHECK(r->claims <= ROUND_CLAIM_LAST || r->policed);
	CHECK(r->bursts <= ROUND_BURSTS_MAX);
	CHECK(r->shorter <= ROUND_SHORTER_MAX);
	CHECK(r->lossy <= ROUND_LOSSY);
	CHECK(r->hold <= ROUND_BURST << ROUND_BURSTS_MAX);
	CHECK(!r->there_seen || r->there_known);
	CHECK(r->first_rtt_us <= ROUND_MAX_US && (r->first_over || !r->first_rtt_us));
	CHECK(r->slowest_q10 <= ROUND_SERVICE_MAX_Q10);
}

static void check_score(const struct in_turn *t)
{
	CHECK(t->score_q4 < IN_TURN_ALARM_Q4);
	CHECK(t->relapses <= IN_TURN_RELAPSES);
	CHECK(t->turns < IN_TURN_RETURN << t->relapses);
	CHECK(t->lossy <= IN_TURN_POLICED);
	CHECK(t->policed ? t->lossy > 0 : t->lossy < IN_TURN_POLICED);
}

static void check_turns(struct in_turn *t, const struct in_turn_block *b)
{
	const bool served = b->waited_us > b->turn_us || b->served_q8 >= IN_TURN_SHARED_Q8;
	/* three turns, and one for each segment of an ACK beyond two */
	const bool busy = b->waited_us >= (1.0 + max_t(u32, b->per_ack, 2)) * b->turn_us;
	const struct in_turn was = *t;
	const bool changed = in_turn_take(t, b);

	CHECK(changed == (was.shared != t->shared));
	CHECK(t->alarms - was.alarms == (changed && t->shared));
	CHECK(!changed || (b->served_q8 && busy));
	CHECK(t->score_q4 <= was.score_q4 || (b->served_q8 && busy && !was.shared));
	CHECK(t->turns == was.turns || (busy && was.shared));
	CHECK(in_turn_probe_rounds(t) == (t->turns ? 2 : 12));
	/* a policer is found by what is lost, and gone by what is served */
	CHECK(was.policed || !t->policed || (b->lossy && !served));
	CHECK(!was.policed || t->policed || served || b->turn_us < was.policed_us / 2 ||
	      (t->random && b->lossy && b->turn_us / 4 > was.policed_us));
	CHECK(!t->random || !t->policed);
	CHECK(!t->random || was.random || was.policed);
	/* within a factor of two of what was delivered in each block that counts */
	CHECK(!t->policed || was.policed || b->turn_us / 2 <= t->policed_us);
	/* nor suspected where packets have waited for more than a turn */
	CHECK(!in_turn_suspects_policer(t) || (!was.queued && b->waited_us <= b->turn_us));
	CHECK(!t->lossy || t->policed || !b->lossy || served || t->policed_us <= b->turn_us);
	check_score(t);
}

static void check_first(struct in_turn *t, const struct in_turn_first *first)
{
	const double most_us = 3.0 * first->turn_us + first->prop_us / 16;
	const struct in_turn was = *t;

	if (!in_turn_take_first(t, first)) {
		CHECK(was.alarms || first->waited_us <= most_us);
		CHECK(!memcmp(&was, t, sizeof(was)));
		return;
	}
	CHECK(!was.alarms && t->alarms == 1 && t->shared);
	CHECK(first->waited_us > most_us);
	check_score(t);
}

/* From one turn to the next: a full packet is no shorter than the flow's, and at most as many
 * times longer as it is longer than a header
 */
static u32 check_turn_us(u64 service_q10, u32 payload_bytes)
{
	const double service_us = (double)min_t(u64, service_q10, 1ULL << 47) / 1024000;
	const u32 turn_us = in_turn_us(service_q10, payload_bytes);

	CHECK(turn_us >= service_us - 2);
	CHECK(turn_us <= service_us * IN_TURN_FULL_BYTES / IN_TURN_HEADER_BYTES);
	return turn_us;
}

/* At a policer only losses tell, and not those of what was sent before */
static void check_policed(const struct round_check *was, const struct round_check *r,
			  const struct round_found *found, u64 believed_q10)
{
	const u64 less_q10 = min_t(u64, believed_q10, found->delivered_q10);

	CHECK(found->verdict != ROUND_CONTRADICTED);
	CHECK((found->verdict == ROUND_DELIVERED) == (was->lost && !was->slowed));
	CHECK((found->verdict == ROUND_UNCONFIRMED) == !was->lost);
	CHECK(r->slowed == (found->verdict == ROUND_DELIVERED));
	CHECK(r->policed);
	if (found->verdict == ROUND_UNCONFIRMED) {
		CHECK(found->service_q10 <= less_q10);
		CHECK(less_q10 - found->service_q10 <= less_q10 / (was->claims < 7 ? 128 : 8));
	} else {
		/* no loss raises the rate, nor lowers a known one by more than an eighth */
		CHECK(found->service_q10 >= believed_q10);
		CHECK(found->service_q10 <= max_t(u64, believed_q10, found->delivered_q10 +
						  (was->policed ? found->delivered_q10 / 16 : 0)));
		CHECK(!was->policed || found->service_q10 - believed_q10 <= believed_q10 / 8);
	}
}

/* Trains are halved where much was lost, by the third such period at the earliest, and doubled
 * where all of that is forgotten, or where claims came true
 */
static void check_losses(const struct round_check *was, const struct round_check *r,
			 const struct round_seen *seen, const struct round_found *found)
{
	const bool forgotten = !was->lossy && was->shorter;

	if (found->lossy) {
		CHECK(r->lossy == ROUND_LOSSY || r->lossy == was->lossy + ROUND_LOSSES);
		CHECK(r->lossy == ROUND_LOSSY || r->shorter == was->shorter);
		CHECK(r->shorter == was->shorter || r->shorter == was->shorter + 1);
		CHECK(r->shorter == was->shorter || seen->train > 1);
		CHECK(r->lossy < ROUND_LOSSY || seen->train <= 1 ||
		      r->shorter == was->shorter + (was->shorter < ROUND_SHORTER_MAX));
		return;
	}
	CHECK(r->lossy == (forgotten ? ROUND_LOSSES : was->lossy - (was->lossy > 0)));
	CHECK(was->shorter - r->shorter >= (forgotten ? 1 : 0));
	CHECK(was->shorter - r->shorter <= (forgotten ? 1 : 0) +
	      (found->verdict == ROUND_UNCONFIRMED && !seen->policed));
}

/* What a period that is over has shown, and what is told of the first packet with it */
static void check_found(const struct round_check *was, const struct round_check *r,
			const struct round_seen *seen, const struct round_found *found)
{
	const u64 believed_q10 = min_t(u64, seen->service_q10, ROUND_SERVICE_MAX_Q10);

	CHECK(found->delivered_q10 && found->delivered_q10 <= ROUND_SERVICE_MAX_Q10);
	CHECK(!found->limited || (found->verdict == ROUND_CONFIRMED && !found->served_q8));
	CHECK(!found->back_us || !found->limited);
	CHECK(!found->silence_us || !found->limited);
	CHECK(!found->back_us || found->back_us > min_t(u32, seen->prop_us, ROUND_MAX_US) / 4);
	CHECK(found->faster == (believed_q10 && found->delivered_q10 > 2 * believed_q10));
	CHECK(found->first_waited_us <= ROUND_MAX_US);
	CHECK(was->rtt_min_us != U32_MAX || !found->waited_us);
	CHECK(found->slowest_q10 <= ROUND_SERVICE_MAX_Q10);
	CHECK(found->slowest_q10 >= was->slowest_q10);
	/* what is forgotten of the first packet is told no more */
	CHECK(!found->first_waited_us || was->first_rtt_us || !was->first_over);
	CHECK(!found->first_waited_us || found->slowest_q10);
	CHECK(!found->first_waited_us || !was->segments || found->slowest_q10 >=
	      min_t(u64, was->span_ns * 1024 / was->segments, ROUND_SERVICE_MAX_Q10));
	/* a share that a train has shown is confirmed or contradicted */
	CHECK(!was->trains || found->limited || seen->policed || !believed_q10 ||
	      found->verdict == ROUND_CONFIRMED || found->verdict == ROUND_CONTRADICTED);
	CHECK(!r->policed || seen->policed);
	CHECK(!r->slowed || (seen->policed && !found->limited));
	if (seen->policed && believed_q10 && !found->limited)
		check_policed(was, r, found, believed_q10);
}

/* A flow whose packets carry so many bytes is asked what it has seen */
static u64 check_end(struct round_check *r, struct in_turn *t, const struct round_seen *seen,
		     u32 payload_bytes)
{
	const u64 believed_q10 = min_t(u64, seen->service_q10, ROUND_SERVICE_MAX_Q10);
	const bool due = round_check_due(r, seen->now_us, seen->prop_us);
	const struct round_check was = *r;
	const struct round_found found = round_check_end(r, seen);
	const struct in_turn_block block = {
		.served_q8 = found.served_q8, .waited_us = found.waited_us,
		.turn_us = check_turn_us(found.delivered_q10, payload_bytes),
		.per_ack = payload_bytes % 64, .lossy = found.lossy, .faster = found.faster,
	};
	const struct in_turn_first first = {
		.waited_us = found.first_waited_us,
		.turn_us = check_turn_us(found.slowest_q10, payload_bytes),
		.prop_us = seen->prop_us,
	};

	CHECK(found.service_q10 <= ROUND_SERVICE_MAX_Q10);
	CHECK(found.service_q10 || !believed_q10);
	CHECK(found.served_q8 <= ROUND_SERVED_MAX_Q8);
	CHECK(!found.bursts || found.verdict == ROUND_CONTRADICTED);
	check_round(r);
	switch (found.verdict) {
	case ROUND_GOES_ON:
		CHECK(!found.delivered_q10 && !found.first_waited_us && !found.slowest_q10);
		CHECK(found.service_q10 == believed_q10);
		return found.service_q10;
	case ROUND_CONFIRMED:
		CHECK(found.service_q10 == believed_q10);
		break;
	case ROUND_CONTRADICTED:
		CHECK(found.service_q10 <= (found.lossy ? found.delivered_q10 :
							  2 * believed_q10));
		CHECK(found.service_q10 <= found.delivered_q10);
		break;
	case ROUND_DELIVERED:
		/* of which check_policed() knows more */
		if (seen->policed && believed_q10)
			break;
		/* or a claim of an eighth more */
		CHECK(found.service_q10 <= found.delivered_q10);
		CHECK(found.service_q10 >= found.delivered_q10 - found.delivered_q10 / 8);
		break;
	case ROUND_UNCONFIRMED:
		/* a claim is at most half of it */
		CHECK(found.service_q10 <= believed_q10);
		CHECK(found.service_q10 >= min_t(u64, believed_q10, found.delivered_q10) / 2);
		/* of deliveries that are half of what is believed, or more */
		CHECK(seen->policed || found.delivered_q10 <= 2 * believed_q10);
		break;
	}
	CHECK(due);
	check_found(&was, r, seen, &found);
	check_losses(&was, r, seen, &found);
	/* and the next has begun */
	CHECK(r->started && r->since_us == seen->now_us && r->delivered == seen->delivered);
	CHECK(!r->span_ns && !r->segments && !r->trains && !r->ticks && !r->lost);
	CHECK(r->steady <= ROUND_STEADY_MOST);
	check_first(t, &first);
	check_turns(t, &block);
	return found.service_q10;
}

static void check_bound(const struct round_check *r, u32 delivered, u32 interval_us)
{
	const u64 bound_q10 = round_bound_q10(r, delivered, interval_us, false);

	CHECK(round_bound_q10(r, delivered, interval_us, true) >= bound_q10);
	CHECK(bound_q10 >= 1 && bound_q10 <= ROUND_SERVICE_MAX_Q10);
	CHECK(round_train_most(r, delivered, interval_us % 8) >= 1);
	CHECK(round_train_most(r, delivered, interval_us) <= max_t(u32, delivered, 1));
	CHECK(!round_shows_queue(delivered, interval_us, delivered % 64, interval_us % 64) ||
	      delivered > interval_us);
	CHECK(!round_first_even(r, 0, 0) || r->acks >= ROUND_FIRST_ACKS);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct round_seen seen = {
		.service_q10 = 250000 << 10, .prop_us = 20000, .queue = 8, .train = 4,
	};
	struct in_turn_first first = {};
	struct in_turn_block block = {};
	struct round_check r = {};
	struct in_turn turns = {};
	u32 payload_bytes = 1448;

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
			if (data[4] & 128)
				round_check_void(&r);
			if (data[4] & 64)
				round_check_midway(&r);
			break;
		case 3:
			round_check_train(&r, data[0] & 16 ? (u64)one << (data[4] % 32) : one,
					  data[3], data[0] & 32 ? other : data[4] % 4);
			break;
		case 4:
			seen.prop_us = one;
			seen.queue = other;
			if (data[0] & 16) {
				round_check_resize(&r, (u16)other, (u16)payload_bytes);
				payload_bytes = other;
			}
			break;
		case 5:
			seen.service_q10 = data[0] & 16 ? (u64)one << 32 | other : one;
			seen.train = data[0] & 32 ? one : data[4];
			if (data[0] & 64)
				round_check_turn(&r, seen.service_q10);
			break;
		case 6:
			block = (struct in_turn_block) {
				.served_q8 = one, .waited_us = other, .turn_us = data[2],
				.per_ack = data[0] & 128 ? number(data[4], data[1]) : data[3] % 8,
				.lossy = data[4] & 1, .faster = data[4] & 2,
				.rounds = data[3] & 1 ? one : data[4],
			};
			first = (struct in_turn_first) { one, other, data[2] };
			if (data[0] & 32)
				block.turn_us = number(data[2], data[4]);
			if (data[0] & 64)
				first.prop_us = number(data[2], data[4]);
			if (data[0] & 16)
				check_first(&turns, &first);
			else
				check_turns(&turns, &block);
			break;
		case 7:
			check_bound(&r, one, other);
			check_turn_us((u64)one << 32 | other, other);
			break;
		default:
			/* a round trip, as it goes or as nobody saw one */
			seen.now_us += data[0] & 64 ? one : seen.prop_us + (seen.prop_us >> 2);
			seen.tick += data[0] & 32 ? other : seen.prop_us / 800;
			seen.delivered += data[0] & 16 ? one : data[2];
			seen.probes = data[4] & 1;
			seen.missing = data[4] & 16;
			seen.repairs = data[4] & 32;
			seen.limited = data[4] & 2;
			seen.policed = data[4] & 4 ? turns.policed : data[4] & 8;
			seen.random = data[4] & 4 ? turns.random : data[4] & 64;
			seen.service_q10 = check_end(&r, &turns, &seen, payload_bytes);
		}
		check_round(&r);
	}
	return 0;
}
