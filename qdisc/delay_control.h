/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which packets CoDel is asked about.
 *
 * The kernel's CoDel (net/codel_impl.h, RFC 8289) decides what is dropped or marked. It
 * leaves a queue alone that is short, by a number of its caller's, and here that number
 * is what packet pair keeps in a queue at its setpoint, at a share as the delay of the
 * packet tells: a sender that controls the delay itself is not to be controlled a second time.
 *
 * CoDel keeps 24 bytes for each queue, which no packet shares a cache line with. As long
 * as a queue is short or its delay below the target, the answer is known without them. And
 * as long as a queue is short nobody need know what time it is, when a packet comes or when
 * it leaves. A packet that came to a short queue and leaves a long one behind counts as one
 * that just came: CoDel begins to count its interval so many packets later.
 *
 * Times are CoDel's: 1024 ns, in 32 bits that wrap. A delay beyond 36 minutes counts as
 * one that is below the target.
 */
#ifndef _FQ_RR_DELAY_CONTROL_H
#define _FQ_RR_DELAY_CONTROL_H

#include "portable.h"

/*
 * Packets that may wait behind one that leaves. tcp_pktpair aims at five packets or 5 ms,
 * whichever is less, or at half a train and one packet if that is more, and sends four packets
 * at a time. Just before a train comes, the queue is as short as it gets, and CoDel acts only on
 * what is long for a whole interval.
 *
 * Where five packets last less than 5 ms (above 12 Mbit/s), five wait then, and one or two more
 * since the law errs. With eight here CUBIC's delay at 19 Mbit/s would be 9 % longer at its
 * 99th percentile than over CAKE, and is the same with seven.
 */
#define DELAY_CONTROL_SPARED_PACKETS 7
/*
 * The same of a packet that has waited for long, as a slow share makes it: below 7 Mbit/s
 * three packets wait before a train comes, and one more since the law errs.
 */
#define DELAY_CONTROL_SPARED_SLOW 4
/* "for long" (1024 ns): 10 ms, in which ten packets leave at 12 Mbit/s, and six at 7 */
#define DELAY_CONTROL_SLOW ((u32)(10 * NSEC_PER_MSEC >> 10))
/*
 * The shortest interval in which such a queue is as short again (1024 ns): a train of four leaves
 * within 100 ms at 0.48 Mbit/s. In a shorter one a train would be dropped from before it is gone.
 */
#define DELAY_CONTROL_SLOW_INTERVAL ((u32)(100 * NSEC_PER_MSEC >> 10))

/**
 * delay_control_spared - how many packets may wait behind one that leaves
 * @delay: of the packet in its queue (1024 ns)
 * @interval: how long CoDel waits before it drops (1024 ns)
 *
 * Trains are longer where ACKs come in bursts: those are not spared.
 *
 * Return: packets, at least DELAY_CONTROL_SPARED_SLOW.
 */
static inline u32 delay_control_spared(u32 delay, u32 interval)
{
	return (s32)(delay - DELAY_CONTROL_SLOW) < 0 || interval < DELAY_CONTROL_SLOW_INTERVAL ?
		DELAY_CONTROL_SPARED_PACKETS : DELAY_CONTROL_SPARED_SLOW;
}

/**
 * delay_control_timed_from - how many packets a queue has while time does not matter, at most
 * @on: whether there is delay control
 * @marks_all: whether every packet is marked whose delay is above a threshold
 *
 * The arrival of a packet is noted if so many wait in its queue already. A packet that
 * leaves a queue of no more than so many, itself among them, need not be asked about unless
 * CoDel has found the queue above its target.
 *
 * Return: packets.
 */
static inline u32 delay_control_timed_from(bool on, bool marks_all)
{
	if (!on)
		return U32_MAX;
	return marks_all ? 0 : DELAY_CONTROL_SPARED_SLOW + 1;
}

/**
 * delay_control_arrived - when a packet came, for CoDel
 * @noted: as it was noted (1024 ns); 0: it was not
 * @now: a time that was read before CoDel reads its own (1024 ns)
 *
 * CoDel takes differences as signed: what came after its clock was read, or 36 minutes
 * ago, would be above any threshold.
 *
 * Return: @noted; of what was not noted, or seems to come from the future, @now.
 */
static inline u32 delay_control_arrived(u32 noted, u32 now)
{
	return !noted || (s32)(now - noted) < 0 ? now : noted;
}

/**
 * delay_control_calm - whether CoDel, asked now, would let a packet pass and remember nothing
 * @delay: of the packet in its queue (1024 ns)
 * @target: delay that is accepted for good (1024 ns)
 * @interval: how long it may last above that (1024 ns)
 * @ce_threshold: delay above which all packets are marked (1024 ns)
 * @left: packets of its queue behind it
 * @above: whether CoDel has found the queue above its target since it was last below
 *
 * Return: true if so; codel_dequeue() need not be called then.
 */
static inline bool delay_control_calm(u32 delay, u32 target, u32 interval,
				      u32 ce_threshold, u32 left, bool above)
{
	if (above || (s32)(delay - ce_threshold) > 0)
		return false;
	return (s32)(delay - target) < 0 || left <= delay_control_spared(delay, interval);
}

#endif /* _FQ_RR_DELAY_CONTROL_H */
