/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What tfrc.h sends where there is no stack: paced packets on a link that loses some by chance and
 * has no queue. What became of a packet is known a round trip later. Nothing is sent again, there is no
 * window and no timeout. What a flow of tcp_vptfrc sends more or less than this is the stack's
 * doing; an order of methods that this has as well is the methods' own.
 */
#ifndef _PACED_SENDER_H
#define _PACED_SENDER_H

#include <math.h>
#include <stdbool.h>

#include "draw.h"
#include "tfrc.h"

#define PACED_RTT_US	100000U
/* Most bytes in flight, the lab's socket buffer: what holds a flow whose first loss is late. */
#define PACED_WINDOW_BYTES	400000U
/* and packets: of 25 bytes and more, no less */
#define PACED_FLIGHT	(1U << 14)
/* of the runs on the stack as well: slow start and the first loss events are over */
#define PACED_SETTLE_US	10000000.0
#define PACED_BIN_US	1000000.0
/* of a swinging loss, and of the bad times in which all is lost */
#define PACED_SWING_US	10000000.0
#define PACED_BAD_US	10000.0

/** enum paced_kind - how the probability of a loss changes; as the lab's scenario any-packet-size */
enum paced_kind { PACED_STEADY, PACED_SWINGING, PACED_GILBERT };

/**
 * struct paced_link - how packets are lost
 * @kind: always alike; half of the mean and one and a half times that, ten seconds each; or all
 *	of a time that is bad, 10 ms in the mean
 * @loss: mean probability, above 0, at most 1
 * @by_bytes: losses are in proportion to size: @loss is that of 1000 bytes
 */
struct paced_link {
	enum paced_kind kind;
	double loss;
	bool by_bytes;
};

/**
 * struct paced_flow - what is sent
 * @bytes: of each packet, or the most where the number of packets is given
 * @packets_ps: so many packets each second, as large as the rate allows; 0: packets of one size
 */
struct paced_flow {
	u32 bytes;
	u32 packets_ps;
};

/**
 * struct paced_result - what came of it, after the first ten seconds
 * @bit_s: what arrived
 * @rate_variation: deviation over mean of what arrived in bins of a second
 * @interval_variation: deviation over mean of loss intervals
 */
struct paced_result {
	double bit_s, rate_variation, interval_variation;
};

/* numbers of which mean and deviation are asked */
struct paced_sums {
	double count, sum, squares;
};

static inline void paced_add(struct paced_sums *s, double value)
{
	s->count++;
	s->sum += value;
	s->squares += value * value;
}

static inline double paced_variation(const struct paced_sums *s)
{
	double mean = s->count ? s->sum / s->count : 0;

	if (!mean)
		return 0;
	return sqrt(fmax(0, s->squares / s->count - mean * mean)) / mean;
}

/* Time from one packet to the next */
static inline double paced_gap_us(const struct paced_flow *flow, u32 bytes, u64 rate_bytes_ps)
{
	double window_us = (double)PACED_RTT_US * bytes / PACED_WINDOW_BYTES;
	double least_us = fmax(window_us, (double)PACED_RTT_US / (PACED_FLIGHT - 1));

	return fmax(least_us, flow->packets_ps ? 1e6 / flow->packets_ps :
		    bytes * 1e6 / (double)rate_bytes_ps);
}

static inline double paced_uniform(void)
{
	return ((double)draw(1 << 24) + 0.5) / (1 << 24);
}

struct paced_weather {
	double good_until_us, bad_until_us;
};

static inline bool paced_is_lost(const struct paced_link *link, struct paced_weather *is,
				 double now_us, u32 bytes)
{
	double p = link->by_bytes ? link->loss * bytes / 1000 : link->loss;

	if (link->kind == PACED_SWINGING)
		p *= (u64)(now_us / PACED_SWING_US) % 2 ? 1.5 : 0.5;
	if (link->kind != PACED_GILBERT)
		return paced_uniform() < p;
	while (now_us >= is->bad_until_us) {
		is->good_until_us = is->bad_until_us -
			PACED_BAD_US * (1 / link->loss - 1) * log(paced_uniform());
		is->bad_until_us = is->good_until_us - PACED_BAD_US * log(paced_uniform());
	}
	return now_us >= is->good_until_us;
}

/**
 * paced_send - send for a while
 * @m: method, mode, reference size
 * @flow: what is sent
 * @link: how it is lost
 * @seconds: for how long, after the first ten
 *
 * Return: what arrived. What has no mean has no variation: 0.
 */
static inline struct paced_result paced_send(const struct tfrc_params *m,
					     const struct paced_flow *flow,
					     const struct paced_link *link, u32 seconds)
{
	static struct { double at_us; u32 bytes; bool is_lost; } sent[PACED_FLIGHT];
	double next_us = 0, round_us = 0, arrived = 0, in_bin = 0, bin_end_us;
	double end_us = PACED_SETTLE_US + seconds * PACED_BIN_US;
	struct tfrc_path path = { PACED_RTT_US, 0, flow->bytes };
	struct paced_sums bins = { 0 }, intervals = { 0 };
	u32 first = 0, last = 0, bytes = flow->bytes;
	struct paced_weather weather = { 0 };
	struct tfrc t;

	tfrc_start(&t, 1, 4 * tfrc_reference(m), PACED_RTT_US);
	bin_end_us = PACED_SETTLE_US + PACED_BIN_US;
	while (bin_end_us <= end_us) {
		double answer_us = first == last ? INFINITY :
			sent[first % PACED_FLIGHT].at_us + PACED_RTT_US;
		struct tfrc_packets one = { .packets = 1 };
		bool is_lost;

		if (next_us < answer_us) {
			if (flow->packets_ps)
				bytes = (u32)clamp_t(u64, t.rate_bytes_ps / flow->packets_ps, 1,
						     flow->bytes);
			sent[last % PACED_FLIGHT].at_us = next_us;
			sent[last % PACED_FLIGHT].bytes = bytes;
			sent[last++ % PACED_FLIGHT].is_lost =
				paced_is_lost(link, &weather, next_us, bytes);
			next_us += paced_gap_us(flow, bytes, t.rate_bytes_ps);
			continue;
		}
		for (; answer_us >= bin_end_us; bin_end_us += PACED_BIN_US) {
			paced_add(&bins, in_bin);
			in_bin = 0;
		}
		/* what was sent when the last round trip ended, or later: the next has ended */
		if (answer_us - PACED_RTT_US >= round_us) {
			u64 speed = tfrc_speed_bytes_ps((u64)arrived, (u32)fmax(answer_us - round_us,
										PACED_RTT_US));

			path.flight_bytes = tfrc_bytes(speed, PACED_RTT_US);
			tfrc_round(&t, m, &path, speed, flow->packets_ps && bytes == flow->bytes);
			arrived = 0;
			round_us = answer_us;
		}
		one.bytes = sent[first % PACED_FLIGHT].bytes;
		is_lost = sent[first++ % PACED_FLIGHT].is_lost;
		one.now_us = (u32)(u64)answer_us;
		path.packet_bytes = (u32)one.bytes;
		if (!is_lost) {
			tfrc_arrived(&t.loss, m, &one);
			arrived += (double)one.bytes;
			if (answer_us >= PACED_SETTLE_US)
				in_bin += (double)one.bytes;
		} else if (tfrc_take_lost(&t, m, &one, &path) && answer_us >= PACED_SETTLE_US) {
			paced_add(&intervals, (double)t.history.interval[t.history.newest].length_q16);
		}
	}
	return (struct paced_result){
		.bit_s = bins.sum * 8 / seconds,
		.rate_variation = paced_variation(&bins),
		.interval_variation = paced_variation(&intervals),
	};
}

#endif /* _PACED_SENDER_H */
