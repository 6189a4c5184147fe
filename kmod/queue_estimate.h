/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The flow's queue at the bottleneck, which the law aims with: S - pipe.
 *
 * Keshav's packet-pair memorandum of 1994 has n_b = S - R / s_b (eq 12). With 440
 * packets in the pipe, one percent of error in s_b is 4.4 packets there. So here the
 * pipe is counted. Of the D packets delivered in a round trip T, in which the bottleneck
 * was busy with this flow all the time, D * R / T were in the pipe and the rest in the
 * queue. Where the flow had nothing queued for a moment, D is less: so the most of the
 * last rounds counts. Where that is far from R / s_b, the share has changed or the window
 * is being filled, and R / s_b is used.
 *
 * What the newest packet will meet, n_b, is queue_watch.h's.
 */
#ifndef _QUEUE_ESTIMATE_H
#define _QUEUE_ESTIMATE_H

#include "control_law.h"
#include "portable.h"

/* The counted pipe may stand for R / s_b where they agree to one part in 16: s_b
 * errs by a percent or two, a flow that comes or goes changes the share of the
 * sixteenth by more
 */
#define QUEUE_AGREE_SHIFT	4
/* and two packets, because D counts whole ACKs */
#define QUEUE_AGREE_LEAST_Q8	(2 * CONTROL_PACKET_Q8)
/* D is counted for packets that met a queue: two packets, one more than what
 * their own train puts before the second segment
 */
#define QUEUE_BUSY_Q8		(2 * CONTROL_PACKET_Q8)
/* Round trips that the most is taken of: this many at least, twice as many at
 * most. A pause is in D for one round trip, so that another is without it
 */
#define QUEUE_ROUNDS		2

/**
 * struct queue_estimate - what is remembered from one acknowledgment to the next
 * @pipe_q8: most packets counted in the pipe in this round trip and the one before
 * @pipe_before_q8: the same before that
 * @rounds: round trips since @pipe_before_q8 was set
 */
struct queue_estimate {
	u32 pipe_q8;
	u32 pipe_before_q8;
	u8 rounds;
};

/**
 * queue_estimate_round - a round trip has passed
 * @q: the estimate; a pipe that it held before is forgotten after twice QUEUE_ROUNDS
 */
static inline void queue_estimate_round(struct queue_estimate *q)
{
	if (++q->rounds < QUEUE_ROUNDS)
		return;
	q->rounds = 0;
	q->pipe_before_q8 = q->pipe_q8;
	q->pipe_q8 = 0;
}

/**
 * queue_pipe_count - count the pipe, if the packets delivered last met a queue
 * @q: the estimate
 * @path: the path; its backlog and the newest packet's age are not read
 *
 * For the most of some round trips it need not be every acknowledgment.
 */
static inline void queue_pipe_count(struct queue_estimate *q,
				    const struct control_path *path)
{
	s64 queued_q8 = (s64)control_served_q8(path->rtt_us, path->service_q10) -
			(s64)control_pipe_q8(path);
	u64 delivered_q8 = (u64)min_t(u32, path->delivered, CONTROL_BACKLOG_MAX) *
			   CONTROL_PACKET_Q8;

	if (queued_q8 < QUEUE_BUSY_Q8)
		return;
	/* 2^24 * 2^27 is below 2^64, and R is at most T */
	q->pipe_q8 = max_t(u32, q->pipe_q8,
			   div_u64(delivered_q8 *
				   min_t(u32, path->prop_us, path->rtt_us),
				   max_t(u32, path->rtt_us, 1)));
}

/* The pipe, packets: counted if that is to be had, else R / s_b */
static inline s64 queue_pipe_q8(const struct queue_estimate *q,
				const struct control_path *path)
{
	s64 computed_q8 = (s64)control_pipe_q8(path);
	s64 counted_q8 = max_t(u32, q->pipe_q8, q->pipe_before_q8);
	s64 differ_q8 = counted_q8 - computed_q8;

	if (!counted_q8 || max_t(s64, differ_q8, -differ_q8) >
	    (computed_q8 >> QUEUE_AGREE_SHIFT) + QUEUE_AGREE_LEAST_Q8)
		return computed_q8;
	return counted_q8;
}

/**
 * queue_beyond_pipe_q8 - packets outstanding beyond the pipe
 * @q: the estimate
 * @path: the path; its backlog and the newest packet's age are not read
 *
 * S - pipe: the queue once the idle time that is still in the pipe has passed. The
 * law aims with this one: by n_b a flow that has been idle for nearly all of a round
 * trip would be at its setpoint with one train a round trip, and stay there.
 *
 * Return: packets, at most CONTROL_BACKLOG_MAX; negative: the pipe is not full.
 */
static inline s64 queue_beyond_pipe_q8(const struct queue_estimate *q,
				       const struct control_path *path)
{
	return (s64)min_t(u32, path->outstanding, CONTROL_BACKLOG_MAX) *
	       CONTROL_PACKET_Q8 - queue_pipe_q8(q, path);
}

#endif /* _QUEUE_ESTIMATE_H */
