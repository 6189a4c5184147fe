/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loss events and loss intervals, for packets of any size.
 *
 * A loss event is a loss after which losses are ignored for a round trip, the loss
 * insensitive period (LIP). A loss interval is what is sent from one event to the next, with
 * the lost packet that ends it. N packets of the reference size S per round trip, each lost
 * with probability p, give a mean of
 *
 *	E(theta) = N - 1 + 1/p		var = (1 - p) / p^2
 *
 * A flow that sends eta = S/s times as many packets of s bytes at the same rate has more
 * losses in each LIP. Its interval is N * eta - 1 + 1/p: taken as it is, the flow gets too
 * much. Widmer, Boutremans, Le Boudec (2004), section 3, give these methods:
 *
 *	            a loss counts               an interval counts        LIP
 *	unmodified  always                      packets                   one round trip
 *	unbiasing   always                      packets, less the bias    one round trip
 *	virtual     when S bytes were lost      bytes / S                 (N - 1) * S bytes
 *	sampling    with probability s/S        packets, each with s/S    (N - 1) * S bytes
 *	LIP scaling always                      packets                   s/S of a round trip
 *
 * That is the packet mode, where large and small packets are dropped alike. In byte mode the
 * network drops a packet in proportion to its size, and a small flow loses eta times less
 * often. Then every loss counts with virtual packets and with sampling, and unbiasing
 * has another bias. LIP scaling has no byte mode (3.3.3). A drop-tail queue that is limited
 * in bytes drops small packets half as often again, p_S = 2 * eta * p_s (4.2.2): with
 * virtual packets and sampling, what small packets add after the LIP counts half.
 *
 * Differences from the paper:
 *  - Virtual packets: where S is no multiple of s, lost bytes beyond S count for the next
 *    event. Otherwise 800 bytes of 1000 would need two losses, and theta would be 1.6 times
 *    too long. Where S is a multiple of s, both are the same.
 *  - LIP of (N - 1) * S bytes: the paper gives this mean, and calls it one round trip. A
 *    round trip has N * eta - 1 small packets after the lost one. The
 *    difference is most of a packet, 7 % of theta at p = 0.1.
 *  - Drop-tail in bytes: the paper leaves open where the factor enters, and for which sizes
 *    it holds (at eta = 1 it contradicts itself). Here it enters for packets
 *    of half the reference size and less, after the LIP.
 *  - The bias of unbiasing also leaves the open interval.
 */
#ifndef _TFRC_LOSS_H
#define _TFRC_LOSS_H

#include "tfrc_equation.h"
#include "portable.h"

/* Packets of one call. More are no acknowledgment: a window has 2^20 with the largest buffers. */
#define TFRC_PACKETS_MAX	(1U << 20)
/* Most bytes that are computed with, 8 TB: in a round trip of 10 s almost 1 TB/s. As us, or
 * with twenty binary places, they stay below 2^63.
 */
#define TFRC_BYTES_MAX		(1ULL << 43)
/* Packets that arrive in one call, and that sampling draws for, one by one. The rest counts as its
 * mean, so that an acknowledgment for a whole window does not take a millisecond. What is lost
 * is looked at packet by packet until there is a loss event: at most so many one-byte packets as
 * the reference has bytes, in the mean.
 */
#define TFRC_DRAWS_MAX		1024U

/* how losses of small packets become those of reference packets (3.1 to 3.3) */
enum tfrc_method {
	TFRC_UNMODIFIED,
	TFRC_UNBIASING,
	TFRC_VIRTUAL,
	TFRC_SAMPLING,
	TFRC_LIP_SCALING,
	TFRC_METHODS
};

/* what the network's drops depend on */
enum tfrc_mode {
	TFRC_PACKET_MODE,	/* a packet: RED, drop-tail in packets */
	TFRC_BYTE_MODE,		/* its bytes: RED in byte mode */
	TFRC_BYTE_TAIL_MODE,	/* whether it fits: drop-tail in bytes */
	TFRC_MODES
};

/**
 * struct tfrc_params - what a user chooses
 * @reference_bytes: S; beyond 1 to TFRC_PACKET_MAX_BYTES, the nearest of these
 * @method: how small packets are accounted for; what is none counts as TFRC_UNMODIFIED
 * @mode: what drops depend on
 * @packet_rate_cap: most packets per second, as a multiple of a TCP flow's; 0: as many as
 *	the rate in bytes allows
 */
struct tfrc_params {
	u32 reference_bytes;
	enum tfrc_method method;
	enum tfrc_mode mode;
	u32 packet_rate_cap;
};

/**
 * struct tfrc_path - what is known of the flow at the time
 * @rtt_us: round trip; beyond TFRC_RTT_MIN_US to TFRC_RTT_MAX_US, the nearest of these
 * @flight_bytes: bytes of the flow that arrive in a round trip, N * S
 * @packet_bytes: mean size of its packets, s; 0 counts as 1, beyond the reference size, that
 */
struct tfrc_path {
	u32 rtt_us;
	u64 flight_bytes;
	u32 packet_bytes;
};

/**
 * struct tfrc_packets - packets that arrived, or were lost, at one time
 * @packets: how many; beyond TFRC_PACKETS_MAX, that
 * @bytes: their sizes together; beyond 1 to TFRC_PACKET_MAX_BYTES for each packet, the
 *	nearest of these
 * @now_us: time, low bits, may wrap
 */
struct tfrc_packets {
	u32 packets;
	u64 bytes;
	u32 now_us;
};

/**
 * struct tfrc_loss - the open loss interval of one flow; all zero: nothing has happened
 * @random: state of the generator that sampling draws from, any
 * @count: what the open interval counts: half bytes with virtual packets, otherwise packets
 * @lost_bytes: virtual packets: bytes lost since the LIP, or left over by the last event
 * @lip_end_us: when the LIP ends
 * @in_lip: it has not ended
 */
struct tfrc_loss {
	u64 random;
	u64 count;
	u32 lost_bytes;
	u32 lip_end_us;
	bool in_lip;
};

/**
 * tfrc_is_defined - whether the paper defines this method in this mode
 * @method: the method
 * @mode: the mode
 *
 * An unmodified flow has no modes. LIP scaling has no byte mode (3.3.3). The
 * correction for drop-tail queues in bytes is defined for losses after the LIP (4.2.2), which
 * unbiasing does not know.
 */
static inline bool tfrc_is_defined(u32 method, u32 mode)
{
	switch (mode) {
	case TFRC_PACKET_MODE:
		return method < TFRC_METHODS;
	case TFRC_BYTE_MODE:
		return method == TFRC_UNBIASING || method == TFRC_VIRTUAL ||
		       method == TFRC_SAMPLING;
	case TFRC_BYTE_TAIL_MODE:
		return method == TFRC_VIRTUAL || method == TFRC_SAMPLING;
	default:
		return false;
	}
}

static inline u32 tfrc_reference(const struct tfrc_params *m)
{
	return clamp_t(u32, m->reference_bytes, 1, TFRC_PACKET_MAX_BYTES);
}

/* s, of which eta = S/s is at least 1, as in the paper */
static inline u32 tfrc_packet(const struct tfrc_params *m, const struct tfrc_path *path)
{
	return clamp_t(u32, path->packet_bytes, 1, tfrc_reference(m));
}

/**
 * tfrc_lip_us - how long losses are ignored after a loss event
 * @m: the user's choice
 * @path: the flow
 *
 * Return: microseconds, at most a round trip. With virtual packets and sampling the lost
 * packet of S bytes takes its part of the round trip: (N - 1) * eta packets are left.
 */
static inline u32 tfrc_lip_us(const struct tfrc_params *m, const struct tfrc_path *path)
{
	u64 rtt_us = clamp_t(u32, path->rtt_us, TFRC_RTT_MIN_US, TFRC_RTT_MAX_US);
	u32 reference = tfrc_reference(m), packet = tfrc_packet(m, path);

	switch (m->method) {
	case TFRC_LIP_SCALING:
		return (u32)div_u64(rtt_us * packet, reference);
	case TFRC_VIRTUAL:
	case TFRC_SAMPLING:
		return (u32)(rtt_us - div64_u64(rtt_us * (reference - packet),
						max_t(u64, path->flight_bytes, reference)));
	default:
		return (u32)rtt_us;
	}
}

/* Whether packets of this size count half. Only after the LIP, 4.2.2 scales X alone. */
static inline bool tfrc_is_halved(const struct tfrc_loss *l, const struct tfrc_params *m,
				  u64 bytes, u32 packets)
{
	return m->mode == TFRC_BYTE_TAIL_MODE && !l->in_lip &&
	       2 * bytes <= (u64)packets * tfrc_reference(m);
}

/* A number from 0 to below - 1, all alike. A 64-bit congruential generator's upper half. */
static inline u32 tfrc_draw(struct tfrc_loss *l, u32 below)
{
	l->random = l->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)((l->random >> 32) * below >> 32);
}

/* How often packets are sampled: each s/S times in the mean, once or never if it is small
 * (3.2.2). Sizes have eight places, so that a mean size is not rounded to whole bytes.
 */
static inline u64 tfrc_sampled(struct tfrc_loss *l, const struct tfrc_params *m, u32 packets,
			       u64 bytes)
{
	u32 drawn = min_t(u32, packets, TFRC_DRAWS_MAX), reference_q8 = tfrc_reference(m) << 8;
	u32 size_q8, whole, rest_q8, i;
	u64 sampled;

	if (!packets)
		return 0;
	size_q8 = (u32)div_u64(bytes << 8, packets) >> tfrc_is_halved(l, m, bytes, packets);
	whole = size_q8 / reference_q8;
	rest_q8 = size_q8 - whole * reference_q8;
	sampled = (u64)packets * whole + div_u64((u64)(packets - drawn) * rest_q8, reference_q8);
	for (i = 0; i < drawn; i++)
		sampled += tfrc_draw(l, reference_q8) < rest_q8;
	return sampled;
}

/* Adds packets to the open interval; returns what they added */
static inline u64 tfrc_count(struct tfrc_loss *l, const struct tfrc_params *m, u32 packets,
			     u64 bytes)
{
	u64 added = packets, most = TFRC_INTERVAL_MAX_Q16 >> 16;

	if (m->method == TFRC_VIRTUAL) {
		added = tfrc_is_halved(l, m, bytes, packets) ? bytes : 2 * bytes;
		most *= 2 * tfrc_reference(m);
	} else if (m->method == TFRC_SAMPLING) {
		added = tfrc_sampled(l, m, packets, bytes);
	}
	l->count = min_t(u64, l->count + added, most);
	return added;
}

/* At its end, and for ever after it, until the next loss event */
static inline void tfrc_end_lip(struct tfrc_loss *l, u32 now_us)
{
	l->in_lip = l->in_lip && (s32)(now_us - l->lip_end_us) < 0;
}

/* What may be: a number of packets, and bytes that these can have */
static inline struct tfrc_packets tfrc_bounded(const struct tfrc_packets *them)
{
	struct tfrc_packets it = *them;

	it.packets = min_t(u32, it.packets, TFRC_PACKETS_MAX);
	it.bytes = clamp_t(u64, it.bytes, it.packets, (u64)it.packets * TFRC_PACKET_MAX_BYTES);
	return it;
}

/**
 * tfrc_arrived - packets have arrived
 * @l: the open interval
 * @m: the user's choice
 * @them: the packets
 */
static inline void tfrc_arrived(struct tfrc_loss *l, const struct tfrc_params *m,
				const struct tfrc_packets *them)
{
	struct tfrc_packets it = tfrc_bounded(them);

	tfrc_end_lip(l, it.now_us);
	tfrc_count(l, m, it.packets, it.bytes);
}

/**
 * tfrc_open_q16 - length of the open interval so far
 * @l: the open interval
 * @m: the user's choice
 * @path: the flow
 *
 * Return: reference packets, at most 2^27, rounded down.
 */
static inline u64 tfrc_open_q16(const struct tfrc_loss *l, const struct tfrc_params *m,
				const struct tfrc_path *path)
{
	u32 reference = tfrc_reference(m), packet = tfrc_packet(m, path);
	/* (eta - 1) * N, more than any interval where a flow is as fast as no link */
	u64 flight = min_t(u64, path->flight_bytes, TFRC_BYTES_MAX), length_q16, bias_q16;

	/* 2^27 packets of 2^17 half bytes, and 2^15 more, are below 2^60 */
	if (m->method == TFRC_VIRTUAL)
		return min_t(u64, div_u64(l->count << 15, reference), TFRC_INTERVAL_MAX_Q16);
	length_q16 = l->count << 16;
	if (m->method != TFRC_UNBIASING)
		return length_q16;
	if (m->mode == TFRC_PACKET_MODE) {
		bias_q16 = div_u64(flight << 16, packet) - div_u64(flight << 16, reference);
	} else {
		/* (eta - 1) * (theta + 1) / eta, of which eta needs no division (3.1.2) */
		bias_q16 = div_u64((l->count + 1) * (reference - packet) << 16, reference);
	}
	return length_q16 - min_t(u64, length_q16, bias_q16);
}

/* Whether the next loss of this size, outside of the LIP, is a loss event */
static inline bool tfrc_is_event(struct tfrc_loss *l, const struct tfrc_params *m, u32 bytes,
				 u64 counted)
{
	u32 reference = tfrc_reference(m);

	if (m->mode != TFRC_PACKET_MODE)
		return true;
	if (m->method == TFRC_SAMPLING)
		return counted > 0;
	if (m->method != TFRC_VIRTUAL)
		return true;
	l->lost_bytes += bytes;
	if (l->lost_bytes < reference)
		return false;
	/* a packet that is larger leaves nothing over: it is one loss event, however large */
	l->lost_bytes = bytes < reference ? l->lost_bytes - reference : 0;
	return true;
}

/**
 * tfrc_lost - packets were lost, or marked
 * @l: the open interval
 * @m: the user's choice
 * @them: the packets; without any nothing changes
 * @path: the flow
 *
 * At most one loss event, since its LIP holds all that is lost at the same time. What was
 * lost after it begins the next interval.
 *
 * Return: length of the interval that a loss event has ended, reference packets, 1 to
 * 2^27; 0: there is no loss event.
 */
static inline u64 tfrc_lost(struct tfrc_loss *l, const struct tfrc_params *m,
			    const struct tfrc_packets *them, const struct tfrc_path *path)
{
	struct tfrc_packets it = tfrc_bounded(them);
	u64 length_q16 = 0;
	u32 size;

	tfrc_end_lip(l, it.now_us);
	for (; it.packets && !l->in_lip; it.packets--, it.bytes -= size) {
		u64 counted;

		size = (u32)div_u64(it.bytes, it.packets);
		counted = tfrc_count(l, m, 1, size);
		if (!tfrc_is_event(l, m, size, counted))
			continue;
		length_q16 = max_t(u64, tfrc_open_q16(l, m, path), TFRC_ONE_Q16);
		l->count = 0;
		l->lip_end_us = it.now_us + tfrc_lip_us(m, path);
		l->in_lip = true;
	}
	tfrc_count(l, m, it.packets, it.bytes);
	return length_q16;
}

/**
 * tfrc_not_lost - what was taken for lost was not
 * @l: the open interval
 * @m: the user's choice
 * @length_q16: length of the interval that its loss event had ended, or 0; beyond 2^27
 *	packets, that
 *
 * The open interval goes on from there, and the next loss may be a loss event. Of an
 * interval without its bias only that part comes back.
 */
static inline void tfrc_not_lost(struct tfrc_loss *l, const struct tfrc_params *m,
				 u64 length_q16)
{
	u64 length = min_t(u64, length_q16, TFRC_INTERVAL_MAX_Q16);
	u64 most = TFRC_INTERVAL_MAX_Q16 >> 16, count = length >> 16;

	if (m->method == TFRC_VIRTUAL) {
		count = length * tfrc_reference(m) >> 15;
		most *= 2 * tfrc_reference(m);
	}
	l->count = min_t(u64, l->count + count, most);
	l->lost_bytes = 0;
	l->in_lip = false;
}

#endif /* _TFRC_LOSS_H */
