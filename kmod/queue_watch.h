/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue that the newest packet will meet at the bottleneck, for whoever watches.
 *
 *	n_b = S - pipe + age / s_b + idle - 1/2
 *
 * (Packet-pair memorandum of 1994, eq 12, which has S - R / s_b.) The law needs none of
 * the last three terms: it aims with S - pipe, of queue_estimate.h. Here
 *
 *  - the newest packet was sent some time ago, its age, in which the queue was
 *    served and nothing was added: it met more than the next packet will;
 *  - a moment without a packet to serve, because an application or a late ACK
 *    held the sender up, leaves a gap in the pipe, which S then lacks although
 *    the queue does not. The sender knows its own pauses: where one lasted
 *    longer than its queue did, the rest was idle time (the recursion of Lindley).
 *    The gap counts until the first packet sent after it is acknowledged;
 *  - the packet in service is gone from the queue and its remaining time is not:
 *    half a packet.
 */
#ifndef _QUEUE_WATCH_H
#define _QUEUE_WATCH_H

#include "control_law.h"
#include "portable.h"

/* binary places of a number of packets */
#define QUEUE_IDLE_SHIFT	4

/**
 * struct queue_watch - what is remembered from one acknowledgment to the next
 * @empty_us: when the bottleneck will have served what was sent, if all goes on;
 *	in terms of send times, low 32 bits
 * @resumed_us: send time of the first packet after the idle time
 * @idle_q4: packets that could have been served in the idle time, saturating
 * @started: @empty_us is valid
 */
struct queue_watch {
	u32 empty_us;
	u32 resumed_us;
	u16 idle_q4;
	bool started;
};

/* Packets that could have been served in the idle time that is still in the pipe */
static inline s64 queue_idle_q8(struct queue_watch *w,
				const struct control_path *path, u32 now_us,
				u32 newest_us)
{
	bool in_pipe = w->idle_q4 && (s32)(w->resumed_us - (now_us - path->rtt_us)) > 0;
	s32 pause_us = (s32)(newest_us - w->empty_us);

	if (!in_pipe)
		w->idle_q4 = 0;
	if (pause_us > 0) {
		u64 idle_q4 = control_served_q8((u32)pause_us, path->service_q10) >>
			      (8 - QUEUE_IDLE_SHIFT);

		/* one time for all of it: that of the greater part */
		if (idle_q4 >= w->idle_q4)
			w->resumed_us = newest_us;
		w->idle_q4 = (u16)min_t(u64, w->idle_q4 + idle_q4, U16_MAX);
	}
	return (s64)w->idle_q4 << (8 - QUEUE_IDLE_SHIFT);
}

/**
 * queue_newest_q8 - the queue that the newest packet will meet: n_b
 * @w: the watch
 * @path: the path; its backlog is not read
 * @beyond_pipe_q8: from queue_beyond_pipe_q8(), for this acknowledgment
 * @now_us: time (low 32 bits)
 *
 * To be called with every acknowledgment, so that pauses are seen, or
 * queue_newest_unwatched() instead.
 *
 * Return: packets, 0 .. CONTROL_BACKLOG_MAX, and at most what is outstanding.
 */
static inline u32 queue_newest_q8(struct queue_watch *w,
				  const struct control_path *path,
				  s64 beyond_pipe_q8, u32 now_us)
{
	u32 newest_us = now_us - path->newest_age_us;
	s64 outstanding_q8 = (s64)min_t(u32, path->outstanding, CONTROL_BACKLOG_MAX) *
			     CONTROL_PACKET_Q8;
	s64 backlog_q8 = beyond_pipe_q8 - CONTROL_PACKET_Q8 / 2 +
			 (s64)control_served_q8(path->newest_age_us,
						path->service_q10);
	u64 left_us;

	if (w->started)
		backlog_q8 += queue_idle_q8(w, path, now_us, newest_us);
	else
		w->idle_q4 = 0;
	backlog_q8 = clamp_t(s64, backlog_q8, 0, outstanding_q8);
	left_us = div_u64(mul_u64_u32_shr(path->service_q10,
					  (u32)backlog_q8 + CONTROL_PACKET_Q8,
					  CONTROL_SERVICE_SHIFT + 8),
			  NSEC_PER_USEC);
	w->empty_us = newest_us + (u32)min_t(u64, left_us, S32_MAX);
	w->started = true;
	return (u32)backlog_q8;
}

/**
 * queue_newest_unwatched - nobody asks for n_b after this acknowledgment
 * @w: the watch, whose idle times begin anew
 */
static inline void queue_newest_unwatched(struct queue_watch *w)
{
	w->started = false;
}

#endif /* _QUEUE_WATCH_H */
