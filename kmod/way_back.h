/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a round trip is longer by than the propagation delay and the flow's own queue.
 *
 * Others' packets on the way back delay each ACK by about as much (round_check.h finds by how
 * much), or a radio or a driver hands ACKs over in bunches (held_acks.h). Either is no queue at
 * the bottleneck, and packets whose ACKs are on their way back are in the pipe.
 */
#ifndef _WAY_BACK_H
#define _WAY_BACK_H

#include "held_acks.h"
#include "portable.h"
#include "propagation_delay.h"

/**
 * struct way_back - what the way back takes beyond the propagation delay; zero at first
 * @longer_us: each ACK; at most PROP_MAX_US
 * @held: what ACKs are held for beyond that
 */
struct way_back {
	u32 longer_us;
	struct held_acks held;
};

/**
 * way_back_came - an ACK came
 * @w: the way back
 * @rtt_us: its round trip
 * @prop_us: propagation delay, PROP_UNKNOWN_US included
 * @there_us: what its packet waited on the way there, by the receiver's clock
 *
 * A shorter round trip says that the way back is shorter again.
 */
static inline void way_back_came(struct way_back *w, u32 rtt_us, u32 prop_us, u32 there_us)
{
	u32 above_us = rtt_us - min_t(u32, rtt_us, prop_us);

	if (unlikely(w->longer_us > above_us))
		w->longer_us = above_us;
	held_acks_came(&w->held, above_us - w->longer_us, there_us);
}

/**
 * way_back_period - a period of a round trip or more has ended
 * @w: the way back
 * @longer_us: what it has shown the way back to be longer than it was
 * @silence_us: longest time between two ACKs in it; 0: the receiver's clock is of no use
 * @limited: it says nothing of ACKs that are held
 */
static inline void way_back_period(struct way_back *w, u32 longer_us, u32 silence_us, bool limited)
{
	w->longer_us = (u32)min_t(u64, (u64)w->longer_us + longer_us, PROP_MAX_US);
	if (!limited)
		held_acks_period(&w->held, silence_us);
}

/**
 * way_back_renewed - the propagation delay was measured anew, with what the way back takes
 * @w: the way back
 */
static inline void way_back_renewed(struct way_back *w)
{
	w->longer_us = 0;
}

/**
 * way_back_prop_us - how long a packet takes that meets no queue of its own flow
 * @w: the way back
 * @prop_us: propagation delay
 *
 * Return: us, at most PROP_MAX_US; a @prop_us beyond PROP_MAX_US, as PROP_UNKNOWN_US is, itself.
 */
static inline u32 way_back_prop_us(const struct way_back *w, u32 prop_us)
{
	return prop_us > PROP_MAX_US ? prop_us :
				       min_t(u32, prop_us + w->longer_us, PROP_MAX_US);
}

/**
 * way_back_pipe_us - how long a packet is in the pipe: the same, and what its ACK is held for
 * @w: the way back
 * @prop_us: propagation delay; beyond PROP_MAX_US, that
 *
 * Return: us, at most PROP_MAX_US.
 */
static inline u32 way_back_pipe_us(const struct way_back *w, u32 prop_us)
{
	/* 2 * PROP_MAX_US and two seconds are below 2^32 */
	return min_t(u32, min_t(u32, prop_us, PROP_MAX_US) + w->longer_us +
			  held_acks_us(&w->held), PROP_MAX_US);
}

#endif /* _WAY_BACK_H */
