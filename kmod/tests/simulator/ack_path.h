/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The way back: when an ACK that the receiver sends reaches the sender's stack. In this
 * order: lost or not; a link that other packets are in front on; propagation; jitter;
 * an interrupt that takes in what came since the one before; hand-overs, at which all
 * ACKs that wait arrive together (a Wi-Fi slot, a polling driver). None overtakes another.
 */
#ifndef _SIMULATOR_ACK_PATH_H
#define _SIMULATOR_ACK_PATH_H

#include <net/tcp.h>

#include "chance.h"

/* of the others on the way back: full packets */
#define ACK_PATH_OTHERS_BYTES 1514

/**
 * enum ack_path_gaps - from one hand-over to the next
 * @ACK_PATH_FIXED: the period; ACKs that are under way when others' turn ends arrive
 * @ACK_PATH_UNIFORM: from nothing to two periods
 * @ACK_PATH_EXPONENTIAL: a period in the mean
 * @ACK_PATH_ON_OFF: ACKs pass for a time and are held for a time, each a period in the
 *	mean and exponential
 */
enum ack_path_gaps {
	ACK_PATH_FIXED,
	ACK_PATH_UNIFORM,
	ACK_PATH_EXPONENTIAL,
	ACK_PATH_ON_OFF,
};

enum ack_path_jitter {
	ACK_PATH_JITTER_UNIFORM,
	ACK_PATH_JITTER_EXPONENTIAL,
};

/**
 * struct ack_path_config - what the way back is
 * @period_ns: between hand-overs; 0: none, ACKs arrive as they come
 * @open_ns: of each fixed period, how long ACKs pass at its end
 * @phase_ns: how much later than a multiple of the period fixed hand-overs are
 * @gaps: enum ack_path_gaps
 * @spacing_ns: between ACKs that arrive together
 * @jitter_ns: at most (uniform) or in the mean (exponential)
 * @jitter: enum ack_path_jitter
 * @interrupt_ns: from the first ACK to the interrupt that takes it in
 * @rate_bps: of a link on the way back; 0: none
 * @load_ppm: part of it that others take, as full packets at random times
 * @loss_ppm: part of the ACKs that is lost
 */
struct ack_path_config {
	u64 period_ns;
	u64 open_ns;
	u64 phase_ns;
	u64 gaps;
	u64 spacing_ns;
	u64 jitter_ns;
	u64 jitter;
	u64 interrupt_ns;
	u64 rate_bps;
	u64 load_ppm;
	u64 loss_ppm;
};

/**
 * struct ack_path - state of the way back
 * @config: what it is
 * @chance: random numbers
 * @link_free_ns: when the link on the way back is free
 * @others_ns: when the next of the others' packets comes to it
 * @interrupt_at_ns: the last interrupt that was asked for
 * @opens_ns: the last hand-over asked for; ACKs arrive from then on
 * @shuts_ns: until here
 * @came_ns: when the last ACK came to where hand-overs are
 * @last_ns: when the last ACK arrives
 */
struct ack_path {
	struct ack_path_config config;
	struct chance chance;
	u64 link_free_ns;
	u64 others_ns;
	u64 interrupt_at_ns;
	u64 opens_ns;
	u64 shuts_ns;
	u64 came_ns;
	u64 last_ns;
};

static inline void ack_path_init(struct ack_path *a, const struct ack_path_config *config,
				 u64 seed, u64 stream)
{
	*a = (struct ack_path) { .config = *config };
	chance_init(&a->chance, seed, stream);
}

/* Behind the others' packets on the link */
static inline u64 ack_path_link(struct ack_path *a, u64 at_ns, u32 bytes)
{
	u64 rate = a->config.rate_bps;
	u64 other_ns;

	if (!rate)
		return at_ns;
	other_ns = ACK_PATH_OTHERS_BYTES * 8ULL * NSEC_PER_SEC / rate;
	while (a->config.load_ppm && a->others_ns <= at_ns) {
		a->link_free_ns = max_t(u64, a->link_free_ns, a->others_ns) + other_ns;
		a->others_ns += chance_exponential(&a->chance, other_ns * CHANCE_PPM /
						   a->config.load_ppm);
	}
	a->link_free_ns = max_t(u64, a->link_free_ns, at_ns) + bytes * 8ULL * NSEC_PER_SEC / rate;
	return a->link_free_ns;
}

static inline u64 ack_path_interrupt(struct ack_path *a, u64 at_ns)
{
	if (!a->config.interrupt_ns)
		return at_ns;
	if (at_ns > a->interrupt_at_ns)
		a->interrupt_at_ns = at_ns + a->config.interrupt_ns;
	return a->interrupt_at_ns;
}

static inline u64 ack_path_fixed(const struct ack_path *a, u64 at_ns)
{
	u64 period_ns = a->config.period_ns;
	u64 into_ns = (at_ns + period_ns - a->config.phase_ns % period_ns) % period_ns;

	/* hand-overs are at the end of the period */
	if (!into_ns || into_ns >= period_ns - min_t(u64, a->config.open_ns, period_ns))
		return at_ns;
	return at_ns + period_ns - a->config.open_ns - into_ns;
}

static inline u64 ack_path_slot(struct ack_path *a, u64 at_ns)
{
	u64 mean_ns = a->config.period_ns;

	if (!mean_ns)
		return at_ns;
	if (a->config.gaps == ACK_PATH_FIXED)
		return ack_path_fixed(a, at_ns);
	while (a->shuts_ns < at_ns) {
		a->opens_ns = a->shuts_ns;
		a->opens_ns += a->config.gaps == ACK_PATH_UNIFORM ?
			       chance_uniform(&a->chance, 2 * mean_ns) :
			       chance_exponential(&a->chance, mean_ns);
		a->shuts_ns = a->opens_ns;
		if (a->config.gaps == ACK_PATH_ON_OFF)
			a->shuts_ns += chance_exponential(&a->chance, mean_ns);
	}
	return max_t(u64, at_ns, a->opens_ns);
}

/**
 * ack_path_arrival - when an ACK reaches the sender
 * @a: the way back
 * @sent_ns: when the receiver sends it; no earlier than the one before
 * @delay_ns: propagation
 * @bytes: of it
 *
 * Return: the time; CLOCK_NEVER if it is lost.
 */
static inline u64 ack_path_arrival(struct ack_path *a, u64 sent_ns, u64 delay_ns, u32 bytes)
{
	u64 at_ns;

	if (chance_of(&a->chance, a->config.loss_ppm))
		return U64_MAX;
	at_ns = ack_path_link(a, sent_ns, bytes) + delay_ns;
	if (a->config.jitter_ns)
		at_ns += a->config.jitter == ACK_PATH_JITTER_UNIFORM ?
			 chance_uniform(&a->chance, a->config.jitter_ns) :
			 chance_exponential(&a->chance, a->config.jitter_ns);
	at_ns = max_t(u64, at_ns, a->came_ns);
	a->came_ns = at_ns;
	at_ns = ack_path_slot(a, ack_path_interrupt(a, at_ns));
	if (a->last_ns)
		at_ns = max_t(u64, at_ns, a->last_ns + a->config.spacing_ns);
	a->last_ns = at_ns;
	return at_ns;
}

#endif /* _SIMULATOR_ACK_PATH_H */
