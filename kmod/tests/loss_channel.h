/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loss intervals that a method finds in a flow of paced packets under Bernoulli loss: for the
 * tests of tfrc_loss.h, and for the formulas of the paper (ask_vptfrc.c).
 */
#ifndef _LOSS_CHANNEL_H
#define _LOSS_CHANNEL_H

#include "draw.h"
#include "tfrc_loss.h"

#define RTT_US 100000U
#define REFERENCE 1000U

/**
 * struct measured - loss intervals that a method has found
 * @mean: reference packets
 * @variance: of one interval
 * @lip_us: how long losses are ignored
 */
struct measured {
	double mean, variance;
	u32 lip_us;
};

/**
 * struct channel - packets and how they are lost
 * @n: reference packets per round trip, N
 * @least_bytes: sizes of packets, all alike
 * @most_bytes: from the former to this
 * @p: probability that a packet is lost
 */
struct channel {
	double n;
	u32 least_bytes, most_bytes;
	double p;
};

static struct measured measure(enum tfrc_method method, enum tfrc_mode mode,
			       const struct channel *c, unsigned int intervals)
{
	const struct tfrc_params m = { .reference_bytes = REFERENCE, .method = method, .mode = mode };
	const struct tfrc_path path = {
		.rtt_us = RTT_US,
		.flight_bytes = (u64)(c->n * REFERENCE),
		.packet_bytes = (c->least_bytes + c->most_bytes) / 2,
	};
	struct tfrc_loss l = { .random = 7 };
	double sum = 0, squares = 0, time_us = 4294000000.0;
	unsigned int found = 0;
	struct measured it;

	while (found < intervals + 1) {
		u32 span = c->most_bytes - c->least_bytes + 1;
		struct tfrc_packets one = { 1, c->least_bytes + (u32)draw(span), 0 };
		double length;
		u64 ended_q16;

		/* paced: each takes its part of a round trip */
		time_us += RTT_US * (double)one.bytes / (c->n * REFERENCE);
		one.now_us = (u32)(u64)time_us;
		if ((double)draw(1 << 24) / (1 << 24) >= c->p) {
			tfrc_arrived(&l, &m, &one);
			continue;
		}
		ended_q16 = tfrc_lost(&l, &m, &one, &path);
		/* the first has no event before it */
		if (!ended_q16 || !found++)
			continue;
		length = (double)ended_q16 / 65536;
		sum += length;
		squares += length * length;
	}
	it.mean = sum / intervals;
	it.variance = squares / intervals - it.mean * it.mean;
	it.lip_us = tfrc_lip_us(&m, &path);
	return it;
}

#endif /* _LOSS_CHANNEL_H */
