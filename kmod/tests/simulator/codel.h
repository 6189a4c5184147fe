/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CoDel (RFC 8289), as in the kernel's codel_impl.h but with exact square roots: what is
 * dropped or marked when packets have waited for more than a target during an interval.
 */
#ifndef _SIMULATOR_CODEL_H
#define _SIMULATOR_CODEL_H

#include <math.h>

#include "packet.h"

/* a queue of no more than a full packet is none (bytes) */
#define CODEL_MTU_BYTES 1514
/* dropping goes on where it ended if that is no more intervals ago */
#define CODEL_RECENT_INTERVALS 16

/**
 * struct codel_queue - what CoDel needs of a queue
 * @take: the packet in front, NULL: none
 * @drop: one that was taken
 * @bytes: in the queue
 */
struct codel_queue {
	struct packet *(*take)(void *of);
	void (*drop)(void *of, struct packet *p);
	u64 (*bytes)(void *of);
	void *of;
};

/**
 * struct codel - state of one queue
 * @first_above_ns: when waiting has been too long for an interval; 0: it is not
 * @drop_next_ns: when the next packet is dropped
 * @count: dropped since dropping began
 * @last_count: @count when it began
 * @dropping: has begun
 * @marks: packets marked instead of dropped
 */
struct codel {
	u64 first_above_ns;
	u64 drop_next_ns;
	u32 count;
	u32 last_count;
	bool dropping;
	u32 marks;
};

struct codel_params {
	u64 target_ns;
	u64 interval_ns;
	u64 ecn;
};

static inline u64 codel_control_law(const struct codel_params *params, u64 at_ns, u32 count)
{
	return at_ns + (u64)((double)params->interval_ns / sqrt(count));
}

static inline bool codel_should_drop(struct codel *v, const struct codel_params *params,
				     const struct codel_queue *queue, const struct packet *p,
				     u64 now_ns)
{
	if (!p || now_ns - p->arrived_ns < params->target_ns ||
	    queue->bytes(queue->of) <= CODEL_MTU_BYTES) {
		v->first_above_ns = 0;
		return false;
	}
	if (!v->first_above_ns) {
		v->first_above_ns = now_ns + params->interval_ns;
		return false;
	}
	return now_ns > v->first_above_ns;
}

static inline bool codel_marks(struct codel *v, const struct codel_params *params,
			       struct packet *p)
{
	if (!params->ecn || !p->ect)
		return false;
	p->ce = true;
	v->marks++;
	return true;
}

/* dropping has begun, and the packet in front is late as well */
static inline struct packet *codel_go_on(struct codel *v, const struct codel_params *params,
					 const struct codel_queue *queue, struct packet *p,
					 u64 now_ns)
{
	while (v->dropping && now_ns >= v->drop_next_ns) {
		bool marked = codel_marks(v, params, p);

		v->count++;
		if (!marked) {
			queue->drop(queue->of, p);
			p = queue->take(queue->of);
			v->dropping = codel_should_drop(v, params, queue, p, now_ns);
		}
		if (v->dropping)
			v->drop_next_ns = codel_control_law(params, v->drop_next_ns, v->count);
		if (marked)
			break;
	}
	return p;
}

static inline struct packet *codel_begin(struct codel *v, const struct codel_params *params,
					 const struct codel_queue *queue, struct packet *p,
					 u64 now_ns)
{
	u32 delta = v->count - v->last_count;

	if (!codel_marks(v, params, p)) {
		queue->drop(queue->of, p);
		p = queue->take(queue->of);
		codel_should_drop(v, params, queue, p, now_ns);
	}
	v->dropping = true;
	if (delta > 1 && now_ns < v->drop_next_ns + CODEL_RECENT_INTERVALS * params->interval_ns)
		v->count = delta;
	else
		v->count = 1;
	v->last_count = v->count;
	v->drop_next_ns = codel_control_law(params, now_ns, v->count);
	return p;
}

/* The packet that is sent next, NULL: none */
static inline struct packet *codel_dequeue(struct codel *v, const struct codel_params *params,
					   const struct codel_queue *queue, u64 now_ns)
{
	struct packet *p = queue->take(queue->of);
	bool drop = codel_should_drop(v, params, queue, p, now_ns);

	if (!p) {
		v->dropping = false;
		return NULL;
	}
	if (!v->dropping)
		return drop ? codel_begin(v, params, queue, p, now_ns) : p;
	v->dropping = drop;
	return codel_go_on(v, params, queue, p, now_ns);
}

#endif /* _SIMULATOR_CODEL_H */
