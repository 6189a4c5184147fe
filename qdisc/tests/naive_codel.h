/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CoDel as RFC 8289 (section 5) has it, with real roots, and with what net/codel_impl.h
 * does beyond it: the least backlog that is in question is the caller's, and a mark of
 * ce-threshold. Time is in units of 1024 ns.
 */
#ifndef _FQ_RR_NAIVE_CODEL_H
#define _FQ_RR_NAIVE_CODEL_H

#include <math.h>

#include "portable.h"

struct naive_codel {
	double target, interval, ce_threshold;
	u32 spared, spared_slow;	/* the latter from a delay of slow on */
	double slow, slow_interval;	/* but not if the interval is shorter than the latter */
	double first_above, drop_next;	/* first_above 0: not above */
	u32 count, lastcount;
	bool dropping;
	u32 drops, marks;
};

/*
 * A queue of packets that came at times; @head is the next to leave. Where @untimed is not
 * NULL, packets that it is true of count as having just come.
 */
struct naive_queue {
	const double *came;
	u32 head, tail;
	const bool *untimed;
};

static inline double naive_codel_delay(const struct naive_queue *q, double now)
{
	return q->untimed && q->untimed[q->head] ? 0 : now - q->came[q->head];
}

static inline bool naive_codel_may_drop(struct naive_codel *c, const struct naive_queue *q,
					double now)
{
	double delay = naive_codel_delay(q, now);
	bool is_slow = delay >= c->slow && c->interval >= c->slow_interval;
	u32 left = q->tail - q->head - 1;

	if (delay < c->target || left <= (is_slow ? c->spared_slow : c->spared)) {
		c->first_above = 0;
		return false;
	}
	if (!c->first_above) {
		c->first_above = now + c->interval;
		return false;
	}
	return now > c->first_above;
}

/* returns the number of the packet that leaves */
static inline u32 naive_codel_dequeue(struct naive_codel *c, struct naive_queue *q, double now)
{
	bool may_drop = naive_codel_may_drop(c, q, now);

	if (c->dropping) {
		if (!may_drop)
			c->dropping = false;
		while (c->dropping && now >= c->drop_next) {
			c->count++;
			c->drops++;
			q->head++;
			if (!naive_codel_may_drop(c, q, now))
				c->dropping = false;
			else
				c->drop_next += c->interval / sqrt(c->count);
		}
	} else if (may_drop) {
		u32 delta = c->count - c->lastcount;

		c->drops++;
		q->head++;
		naive_codel_may_drop(c, q, now);
		c->dropping = true;
		c->count = delta > 1 && now - c->drop_next < 16 * c->interval ? delta : 1;
		c->lastcount = c->count;
		c->drop_next = now + c->interval / sqrt(c->count);
	}
	if (naive_codel_delay(q, now) > c->ce_threshold)
		c->marks++;
	return q->head++;
}

static inline bool naive_codel_above(const struct naive_codel *c)
{
	return c->first_above || c->dropping;
}

#endif
