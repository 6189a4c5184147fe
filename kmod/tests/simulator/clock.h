/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Virtual time: timers in a binary heap, each a member of what it belongs to. The clock
 * jumps from timer to timer. Timers of one moment fire in the order in which they were
 * set, so a run depends on nothing but its arguments.
 */
#ifndef _SIMULATOR_CLOCK_H
#define _SIMULATOR_CLOCK_H

#include <net/tcp.h>

/* later than any run ends */
#define CLOCK_NEVER U64_MAX

/**
 * struct timer - something that happens once
 * @at_ns: when
 * @order: among timers of one moment
 * @fire: what happens
 * @owner: to whom
 * @slot: place in the heap, from 1; 0: not set
 */
struct timer {
	u64 at_ns;
	u64 order;
	void (*fire)(void *owner);
	void *owner;
	u32 slot;
};

/**
 * struct clock - virtual time
 * @heap: timers that are set; the root is heap[1]
 * @count: how many
 * @room: what @heap has room for
 * @now_ns: the present
 * @order: how many timers have been set so far
 */
struct clock {
	struct timer **heap;
	u32 count;
	u32 room;
	u64 now_ns;
	u64 order;
};

static inline void timer_init(struct timer *t, void (*fire)(void *owner), void *owner)
{
	*t = (struct timer) { .fire = fire, .owner = owner };
}

static inline bool clock_before(const struct timer *a, const struct timer *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static inline void clock_place(struct clock *c, u32 slot, struct timer *t)
{
	c->heap[slot] = t;
	t->slot = slot;
}

static inline void clock_rise(struct clock *c, u32 slot, struct timer *t)
{
	while (slot > 1 && clock_before(t, c->heap[slot / 2])) {
		clock_place(c, slot, c->heap[slot / 2]);
		slot /= 2;
	}
	clock_place(c, slot, t);
}

static inline void clock_sink(struct clock *c, u32 slot, struct timer *t)
{
	for (;;) {
		u32 child = slot * 2;

		if (child > c->count)
			break;
		if (child < c->count && clock_before(c->heap[child + 1], c->heap[child]))
			child++;
		if (!clock_before(c->heap[child], t))
			break;
		clock_place(c, slot, c->heap[child]);
		slot = child;
	}
	clock_place(c, slot, t);
}

static inline void clock_cancel(struct clock *c, struct timer *t)
{
	struct timer *last;
	u32 slot = t->slot;

	if (!slot)
		return;
	t->slot = 0;
	last = c->heap[c->count--];
	if (last == t)
		return;
	if (slot > 1 && clock_before(last, c->heap[slot / 2]))
		clock_rise(c, slot, last);
	else
		clock_sink(c, slot, last);
}

/* One that is set is set anew; what is past is now */
static inline void clock_set(struct clock *c, struct timer *t, u64 at_ns)
{
	clock_cancel(c, t);
	if (c->count + 2 > c->room) {
		c->room = c->room ? c->room * 2 : 64;
		c->heap = realloc(c->heap, c->room * sizeof(*c->heap));
		if (!c->heap)
			abort();
	}
	t->at_ns = max_t(u64, at_ns, c->now_ns);
	t->order = c->order++;
	clock_rise(c, ++c->count, t);
}

/* All that happens before a moment, or at it */
static inline void clock_run(struct clock *c, u64 until_ns)
{
	while (c->count && c->heap[1]->at_ns <= until_ns) {
		struct timer *t = c->heap[1];

		c->now_ns = t->at_ns;
		clock_cancel(c, t);
		t->fire(t->owner);
	}
	c->now_ns = until_ns;
}

#endif /* _SIMULATOR_CLOCK_H */
