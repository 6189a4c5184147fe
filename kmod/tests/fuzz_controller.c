// SPDX-License-Identifier: GPL-2.0
/*
 * Arbitrary acknowledgments through the whole chain, train to window. Whatever
 * comes, the numbers stay in their ranges, and after any nonsense a path that
 * behaves is measured right again.
 */
#include "control_law.h"
#include "fuzz_check.h"
#include "fuzzy_average.h"
#include "law_1994.h"
#include "pair_probe.h"
#include "propagation_delay.h"
#include "queue_ack.h"

struct chain {
	struct pair_probe probe;
	struct pair_mean mean;
	struct fuzzy_average service;
	struct propagation_delay prop;
	struct control_setpoint setpoint;
	struct queue_estimate queue;
	struct queue_watch watch;
	u64 mean_1994;
	u32 backlog_q8;
	u64 rate;
	u64 now_ns;
};

/* what the module's knobs begin with, and whatever pair_limits may be */
static const struct pair_limits usual_limits = {
	.train_min = 4, .train_max = 64, .service_min_ns = 7,
	.train_min_ns = 100 * NSEC_PER_USEC, .train_max_ns = 125 * NSEC_PER_MSEC,
};

static struct pair_limits limits;

/* arguments that nobody passes: they are held within bounds */
static void take_any(u32 one, u32 two, u32 three)
{
	u64 wide = (u64)one << 32 | two;
	struct control_setpoint setpoint = { 0 };
	struct pair_probe probe;

	CHECK(control_first_window(wide, three, one) <= S32_MAX);
	control_window_rate_bytes_ps(one, two, three % 2 ? three : 0);
	control_setpoint_reset(&setpoint, one);
	control_setpoint_round(&setpoint, two, three);
	control_setpoint_round(&setpoint, two, three);
	CHECK(setpoint.target_q8 <= CONTROL_SETPOINT_MAX_Q8);
	pair_probe_init(&probe, one);
	CHECK(probe.train >= 1);
}

static void take(struct chain *c, const struct pair_ack *ack, u32 rtt_us,
		 u32 outstanding, u32 delivered, u32 mss)
{
	struct pair_sample s = pair_probe_ack(&c->probe, ack, &limits);
	struct queue_backlog queue;
	struct control_path path;
	u32 now_ms = (u32)(c->now_ns / NSEC_PER_MSEC), train, window;
	s32 setpoint;
	u64 share, rate;

	CHECK(s.verdict < PAIR_VERDICTS);
	if (s.verdict == PAIR_SAMPLE) {
		bool bunched = c->service.value &&
			       pair_probe_bunched(&c->probe, s.segments,
						  pair_service_time(&s),
						  c->service.value, &limits);

		u64 took_q10 = pair_service_time(&s);

		CHECK(s.segments >= 1);
		if (!c->service.value)
			fuzzy_start(&c->service, took_q10);
		else if (!bunched && fuzzy_run(&c->service, took_q10))
			memset(&c->mean, 0, sizeof(c->mean));
		else if (pair_mean_add(&c->mean, &s, (u32)(c->now_ns / 1000),
				       rtt_us / 8)) {
			s = pair_mean_take(&c->mean);
			fuzzy_update(&c->service, pair_service_time(&s));
		}
	}
	prop_sample(&c->prop, rtt_us, now_ms);
	if (delivered % 3 == 0)
		prop_round(&c->prop, now_ms, true);
	if (delivered % 5 == 0)
		control_setpoint_round(&c->setpoint, 2 * CONTROL_PACKET_Q8,
				       CONTROL_SETPOINT_MAX_Q8);
	if (ack->flaw != PAIR_OPEN)
		control_setpoint_congestion(&c->setpoint);
	take_any(mss, outstanding, delivered);
	CHECK(c->prop.delay_us <= PROP_MAX_US);
	if (!c->service.value)
		return;
	CHECK(c->service.value <= FUZZY_VALUE_MAX);

	train = pair_train(&c->probe, c->service.value,
			   delivered % 2 ? c->prop.delay_us : 0, &limits);
	CHECK(train >= 1 && train <= limits.train_max);
	path = (struct control_path) {
		.service_q10 = c->service.value,
		.rtt_us = max_t(u32, rtt_us, c->prop.delay_us),
		.prop_us = c->prop.delay_us,
		.outstanding = outstanding,
		.delivered = delivered,
	};
	path.newest_age_us = mss;
	queue = queue_estimate_ack(&c->queue, &c->watch, &path, (u32)(c->now_ns / 1000));
	CHECK(queue.newest_q8 <= CONTROL_BACKLOG_MAX * CONTROL_PACKET_Q8);
	CHECK(queue.newest_q8 / CONTROL_PACKET_Q8 <= outstanding);
	CHECK(queue.beyond_pipe_q8 <= CONTROL_BACKLOG_MAX * CONTROL_PACKET_Q8);
	path.backlog_q8 = queue.beyond_pipe_q8;
	if (delivered % 7 == 0)
		queue_estimate_round(&c->queue);

	CHECK(c->setpoint.target_q8 >= CONTROL_SETPOINT_MIN_Q8);
	CHECK(c->setpoint.target_q8 <= CONTROL_SETPOINT_MAX_Q8);
	setpoint = (s32)control_setpoint_q8(&c->setpoint, 5 * CONTROL_PACKET_Q8,
					    control_bound_q8(5000000,
							     c->service.value),
					    train);
	if (prop_dipping(&c->prop))
		setpoint = -setpoint;

	share = control_share_bytes_ps(&path, mss);
	rate = control_rate_bytes_ps(&path, setpoint, mss);
	CHECK(rate >= 1 && rate + 1 >= share / 2 && rate <= 2 * share + 1);
	window = control_window(&path, setpoint, train);
	CHECK(window >= min_t(u32, CONTROL_DRAIN_LEAST, outstanding) ||
	      !outstanding);
	CHECK(window >= 1 && window <= S32_MAX);
	c->backlog_q8 = path.backlog_q8;
	c->rate = rate;

	/* the memorandum's on the same numbers */
	path.backlog_q8 = law_1994_backlog_q8(&path);
	CHECK(path.backlog_q8 <= CONTROL_BACKLOG_MAX * CONTROL_PACKET_Q8);
	CHECK(law_1994_correction_bytes_ps(&path, c->setpoint.target_q8, U32_MAX, 1) ==
	      law_1994_correction_bytes_ps(&path, c->setpoint.target_q8, CONTROL_MSS_MAX, 1));
	rate = law_1994_rate_bytes_ps(&path, c->setpoint.target_q8, mss,
				      c->mean_1994);
	CHECK(rate >= 1 && rate < 1ULL << 60);
	c->mean_1994 = law_1994_mean_bytes_ps(c->mean_1994, rate);
	CHECK(c->mean_1994 >= 1 && c->mean_1994 < 1ULL << 60);
	CHECK(law_1994_window(&path, c->setpoint.target_q8) >= 4);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct chain c = { .now_ns = 1000000 };
	const size_t step = 16;
	u32 sent = 1, i;
	u64 value;

	limits = usual_limits;
	if (size && data[0] & 1) {
		limits.train_min = 1 + data[size - 1];
		limits.train_max = 1 + data[size / 2] % 255;
		limits.service_min_ns = data[size / 2] << data[size - 1] % 24;
		limits.train_min_ns = (1ULL << data[size - 1] % 54) - 1;
		limits.train_max_ns = (1ULL << data[size / 2] % 54) - 1;
	}
	pair_probe_init(&c.probe, 4);
	prop_init(&c.prop, 0);
	control_setpoint_reset(&c.setpoint, 5 * CONTROL_PACKET_Q8);

	for (; size >= step; size -= step, data += step) {
		struct pair_ack ack = { .flaw = data[0] % 8 ? PAIR_OPEN :
					PAIR_RETRANSMITTED + data[1] % 4 };
		u64 jump;
		u32 word[3];

		memcpy(word, data + 4, sizeof(word));
		/* a nanosecond to a minute later */
		jump = 1ULL << (data[1] % 36);
		c.now_ns += jump + word[0] % jump;
		sent += data[2] % 3 == 0;
		ack.now_ns = c.now_ns;
		ack.sent_us = sent;
		ack.segments = word[1] >> data[3] % 32;
		ack.tick = word[2] ^ word[0];
		ack.fills_hole = data[3] & 32;
		take(&c, &ack, word[2] >> data[2] % 32, word[1], word[0],
		     word[2]);
	}

	/* with other trains the path below has no gaps to show */
	if (memcmp(&limits, &usual_limits, sizeof(limits)))
		return 0;
	control_setpoint_reset(&c.setpoint, 5 * CONTROL_PACKET_Q8);
	/* and now trains of four, a segment every 10 ms, delayed ACKs, for 26 s:
	 * long enough to look for R again
	 */
	for (i = 0; i < 1300; i++) {
		struct pair_ack ack = { .sent_us = 1000000000 + i / 2, .segments = 2,
					.flaw = PAIR_OPEN };

		c.now_ns += 20 * NSEC_PER_MSEC;
		ack.now_ns = c.now_ns;
		/* what divides the count of delivered packets ends a round trip */
		take(&c, &ack, 440000, 48, i % 22 ? 44 : 42, 1448);
	}
	value = c.service.value >> PAIR_SERVICE_SHIFT;
	CHECK(value >= 9900000 && value <= 10100000);
	CHECK(c.prop.delay_us == 440000);
	/* 48 in flight, 44 delivered: four wait, by either estimate */
	CHECK(c.backlog_q8 >= 3 * CONTROL_PACKET_Q8 &&
	      c.backlog_q8 <= 5 * CONTROL_PACKET_Q8);
	/* 144,800 bytes/s is the share; the memorandum's mean has come near, too */
	CHECK(c.rate >= 72000 && c.rate <= 290000);
	CHECK(c.mean_1994 >= 72000 && c.mean_1994 <= 290000);
	return 0;
}
