/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A link of a given rate that never sends a burst.
 *
 * A token bucket saves up while the link idles and then passes a pair of
 * packets unshaped; to a protocol that reads the rate from their spacing that
 * is a link of infinite speed. Here nothing is saved. There is the clock of an
 * ideal link, which starts a packet when the one before has left:
 *
 *	start = max(next, now - slack)		of a packet sent at @now
 *	next  = start + wire_bytes / rate
 *
 * and, when a packet arrives at an idle link, next = max(next, now).
 *
 * A timer that fires late delays one packet; the next one is due at its ideal
 * time all the same, so lateness up to the slack does not add up and costs no
 * rate. Lateness beyond it is missed time: the link stood idle while packets
 * waited. Missed time is made up for gently, a packet at a time:
 *
 *	missed += now - slack - next		where that is positive
 *	next   -= min(missed, wire_bytes / rate / 8)
 *
 * so the link runs at 8/7 of its rate until all is made up for, and no gap is
 * shorter than 7/8 of its packet's time by more than the slack. What is missed
 * beyond a bound (a stalled machine) is lost, and counted.
 *
 * Softirqs that come 1 ms late every 10 ms cost nothing that way: 0.9 ms are
 * missed, and the other 9 ms make up for 9 / 7.
 *
 * Times are exact: the part of a nanosecond that the division leaves over is
 * carried into the next packet.
 */
#ifndef _FQ_RR_SHAPER_H
#define _FQ_RR_SHAPER_H

#include "portable.h"

/*
 * Lateness that is made up for at once, and the error of any gap beside the
 * eighth (ns). 100 us covers the interrupt latency of an idle machine coming out
 * of a deep sleep state, and is less than a full Ethernet packet lasts at
 * 100 Mbit/s (121 us): up to that rate lateness can shorten one gap but not send
 * three packets back to back.
 */
#define SHAPER_SLACK_NS (100 * NSEC_PER_USEC)

/*
 * The part of a packet's time by which missed time is made up for, 1/8 as a
 * shift: a share read from such gaps is a seventh too large, and lateness for a
 * ninth of the time costs no rate.
 */
#define SHAPER_CATCH_UP_SHIFT 3

/*
 * Larger rates count as this one (bytes per second): with what is left over, the parts
 * of a packet of 2^32 bytes then fit 64 bits.
 */
#define SHAPER_RATE_MAX (1ULL << 62)

/**
 * struct shaper - an ideal link, all zero at first
 * @rate_Bps: its rate (bytes per second); 0: does not shape
 * @next_ns: when the next packet may start (ns)
 * @rest: what is left over of @next_ns, a part of a ns in units of 1 / @rate_Bps ns
 * @lost_ns: missed time that is not made up for, since the beginning (ns)
 * @missed_ns: missed time to be made up for (ns), no more than @catch_up_ns
 * @catch_up_ns: bound of @missed_ns (ns)
 */
struct shaper {
	u64 rate_Bps;
	u64 next_ns;
	u64 rest;
	u64 lost_ns;
	u32 missed_ns;
	u32 catch_up_ns;
};

/**
 * shaper_reset - nothing waits and nothing is on the link, since long ago
 * @sh: shaper; keeps its rate, its bound and what is lost
 */
static inline void shaper_reset(struct shaper *sh)
{
	sh->next_ns = 0;
	sh->rest = 0;
	sh->missed_ns = 0;
}

/**
 * shaper_set_catch_up - change how much missed time is made up for
 * @sh: shaper
 * @catch_up_ns: bound (ns); 0: none
 */
static inline void shaper_set_catch_up(struct shaper *sh, u32 catch_up_ns)
{
	sh->catch_up_ns = catch_up_ns;
	sh->missed_ns = min_t(u32, sh->missed_ns, catch_up_ns);
}

/**
 * shaper_set_rate - change the rate, also while a packet is on the link
 * @sh: shaper
 * @rate_Bps: rate (bytes per second), 0 for none; beyond SHAPER_RATE_MAX, that
 * @now_ns: the time (ns), of a clock that must never go back
 *
 * What is left of the packet on the link goes on at the new rate, exactly: a
 * slow link made fast is fast at once, and a rate that follows the backlog may
 * change many times in one packet. Missed time stays, as time.
 */
static inline void shaper_set_rate(struct shaper *sh, u64 rate_Bps, u64 now_ns)
{
	rate_Bps = min_t(u64, rate_Bps, SHAPER_RATE_MAX);
	if (rate_Bps == sh->rate_Bps)
		return;
	if (!rate_Bps || !sh->rate_Bps) {
		sh->next_ns = now_ns;
		sh->rest = 0;
		sh->missed_ns = 0;
	} else if (sh->next_ns > now_ns) {
		/*
		 * In 10^-9 bytes, of which one packet has less than 2^62; the
		 * remainder is less than the rate.
		 */
		u64 left = (sh->next_ns - now_ns) * sh->rate_Bps + sh->rest;
		u64 left_ns = div64_u64(left, rate_Bps);

		PRECONDITION(sh->next_ns - now_ns <= div64_u64(U64_MAX - sh->rest,
							       sh->rate_Bps));
		sh->next_ns = now_ns + left_ns;
		sh->rest = left - left_ns * rate_Bps;
	} else {
		sh->rest = 0;
	}
	sh->rate_Bps = rate_Bps;
}

/**
 * shaper_arrive - a packet arrives at an empty queue
 * @sh: shaper
 * @now_ns: the time (ns)
 *
 * The ideal link cannot start it before now, so that what was sent late before
 * the queue emptied is not made up for by sending this one early.
 */
static inline void shaper_arrive(struct shaper *sh, u64 now_ns)
{
	if (now_ns > sh->next_ns) {
		sh->next_ns = now_ns;
		sh->rest = 0;
	}
	sh->missed_ns = min_t(u64, sh->missed_ns, sh->next_ns - now_ns);
}

/**
 * shaper_ready - whether a packet may be sent
 * @sh: shaper
 * @now_ns: the time (ns)
 *
 * Return: true if so; if not, ask again at @sh->next_ns.
 */
static inline bool shaper_ready(const struct shaper *sh, u64 now_ns)
{
	return now_ns >= sh->next_ns;
}

/* @late_ns is more than the slack: the rest of it was missed */
static inline void shaper_miss(struct shaper *sh, u64 now_ns, u64 late_ns)
{
	u64 missed_ns = sh->missed_ns + late_ns - SHAPER_SLACK_NS;

	sh->next_ns = now_ns - SHAPER_SLACK_NS;
	sh->rest = 0;
	sh->missed_ns = min_t(u64, missed_ns, sh->catch_up_ns);
	sh->lost_ns += missed_ns - sh->missed_ns;
}

/**
 * shaper_sent - a packet is sent
 * @sh: shaper; without a rate nothing changes
 * @now_ns: the time (ns); if the packet is not due, it counts as sent in time
 * @wire_bytes: its length on the link; 32 bits of it make a product of 62 bits, which
 *	leaves room for the rest
 *
 * Return: how late it is (ns), all of it, made up for or not.
 */
static inline u64 shaper_sent(struct shaper *sh, u64 now_ns, u32 wire_bytes)
{
	u64 late_ns = now_ns > sh->next_ns ? now_ns - sh->next_ns : 0;
	u64 parts;
	u64 ns;

	if (!sh->rate_Bps)
		return 0;
	if (unlikely(late_ns > SHAPER_SLACK_NS))
		shaper_miss(sh, now_ns, late_ns);
	parts = (u64)wire_bytes * NSEC_PER_SEC + sh->rest;
	ns = div64_u64(parts, sh->rate_Bps);
	sh->rest = parts - ns * sh->rate_Bps;
	sh->next_ns += ns;
	if (unlikely(sh->missed_ns)) {
		u32 sooner_ns = min_t(u64, ns >> SHAPER_CATCH_UP_SHIFT,
				      sh->missed_ns);

		sh->next_ns -= sooner_ns;
		sh->missed_ns -= sooner_ns;
	}
	return late_ns;
}

#endif /* _FQ_RR_SHAPER_H */
