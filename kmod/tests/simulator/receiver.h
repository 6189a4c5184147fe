/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receiver: when it acknowledges, and what it says. As in the kernel: every so many
 * segments, or after the delayed-ACK timer; at once what is out of order, of which after
 * three ACKs the others are held back for a twentieth of a round trip, at most 1 ms
 * (tcp_comp_sack); SACK blocks of the newest ranges first. GRO gathers packets for a time.
 */
#ifndef _SIMULATOR_RECEIVER_H
#define _SIMULATOR_RECEIVER_H

#include "flow.h"

/* duplicate ACKs that are sent at once, and time that more are held back */
#define RECEIVER_DUPACKS 3
#define RECEIVER_COMPRESS_NS NSEC_PER_MSEC
#define RECEIVER_COMPRESS_PART 20
/* 64 KB */
#define RECEIVER_GRO_BYTES 65535

static inline void receiver_ack(struct flow *f)
{
	struct receiver *r = &f->receiver;
	u64 delay_ns = f->config.path_ns - f->config.ahead_ns - f->config.beyond_ns, arrives_ns;
	struct packet *p;

	clock_cancel(f->clock, &r->delack);
	clock_cancel(f->clock, &r->compressed);
	r->acked = r->next;
	arrives_ns = ack_path_arrival(&f->back, f->clock->now_ns, delay_ns, PACKET_HEADER_BYTES);
	if (arrives_ns == CLOCK_NEVER) {
		r->duplicates = 0;
		return;
	}
	p = packet_take(f->pool);
	p->flow = f;
	p->segment = r->next;
	p->bytes = PACKET_HEADER_BYTES;
	p->stamp_ms = r->stamp_ms;
	p->stamped_ms = flow_now_ms(f);
	p->window = (u32)f->config.window;
	p->ece = r->echoes;
	p->duplicates = (u8)min_t(u32, r->duplicates, U8_MAX);
	r->duplicates = 0;
	p->sacked = (u8)min_t(u32, r->recent_count, PACKET_SACKS);
	memcpy(p->sacks, r->recent, p->sacked * sizeof(p->sacks[0]));
	line_put(&f->behind, p, arrives_ns);
}

static inline void receiver_timer(void *owner)
{
	receiver_ack(owner);
}

/* ---- what has arrived beyond the first missing segment ---- */

/* The newest range goes to the front; what it covers is said once */
static inline void receiver_recent(struct receiver *r, struct span newest)
{
	u32 i, kept = 0;
	struct span old[FLOW_RECENT_SPANS];

	for (i = 0; i < r->recent_count; i++)
		if (before(r->recent[i].end, newest.first) ||
		    after(r->recent[i].first, newest.end))
			old[kept++] = r->recent[i];
	r->recent[0] = newest;
	kept = min_t(u32, kept, FLOW_RECENT_SPANS - 1);
	memcpy(&r->recent[1], old, kept * sizeof(old[0]));
	r->recent_count = kept + 1;
}

static inline void receiver_forget_recent(struct receiver *r)
{
	u32 i, kept = 0;

	for (i = 0; i < r->recent_count; i++)
		if (after(r->recent[i].end, r->next))
			r->recent[kept++] = r->recent[i];
	r->recent_count = kept;
}

/* false: has arrived before */
static inline bool receiver_insert(struct receiver *r, u32 segment)
{
	u32 at = r->spans_count, last;

	/* most come behind the last range */
	while (at && before(segment, r->spans[at - 1].first))
		at--;
	if (at && before(segment, r->spans[at - 1].end))
		return false;
	if (at && r->spans[at - 1].end == segment) {
		r->spans[--at].end++;
	} else if (at < r->spans_count && r->spans[at].first == segment + 1) {
		r->spans[at].first--;
	} else {
		if (r->spans_count == r->spans_room) {
			r->spans_room = r->spans_room ? r->spans_room * 2 : 16;
			r->spans = realloc(r->spans, r->spans_room * sizeof(*r->spans));
			if (!r->spans)
				abort();
		}
		memmove(&r->spans[at + 1], &r->spans[at],
			(r->spans_count - at) * sizeof(*r->spans));
		r->spans[at] = (struct span) { segment, segment + 1 };
		r->spans_count++;
	}
	last = at + 1;
	if (last < r->spans_count && r->spans[at].end == r->spans[last].first) {
		r->spans[at].end = r->spans[last].end;
		r->spans_count--;
		memmove(&r->spans[last], &r->spans[last + 1],
			(r->spans_count - last) * sizeof(*r->spans));
	}
	receiver_recent(r, r->spans[at]);
	return true;
}

/* The first missing one has come; perhaps what is behind it is there */
static inline void receiver_advance(struct receiver *r)
{
	r->next++;
	if (!r->spans_count || r->spans[0].first != r->next)
		return;
	r->next = r->spans[0].end;
	r->spans_count--;
	memmove(&r->spans[0], &r->spans[1], r->spans_count * sizeof(*r->spans));
	receiver_forget_recent(r);
}

/* Takes a packet's news; true: it wants an ACK at once */
static inline bool receiver_note(struct flow *f, const struct packet *p)
{
	struct receiver *r = &f->receiver;
	bool hole = r->spans_count;

	r->taken++;
	if (p->ce)
		r->echoes = true;
	else if (p->cwr)
		r->echoes = false;
	if (!after(p->segment, r->acked))
		r->stamp_ms = p->stamp_ms;
	if (before(p->segment, r->next)) {
		r->duplicates++;
		return true;
	}
	if (p->segment == r->next) {
		receiver_advance(r);
		return hole;
	}
	r->duplicates += !receiver_insert(r, p->segment);
	return true;
}

/* ---- when to acknowledge ---- */

/* Out of order: the first duplicates at once, others together */
static inline void receiver_ack_or_compress(struct flow *f)
{
	struct receiver *r = &f->receiver;
	u64 delay_ns;

	if (r->compressed_next != r->next) {
		r->compressed_next = r->next;
		r->immediate = 0;
	}
	if (r->immediate < RECEIVER_DUPACKS || !r->spans_count) {
		r->immediate++;
		receiver_ack(f);
		return;
	}
	if (r->compressed.slot)
		return;
	delay_ns = min_t(u64, RECEIVER_COMPRESS_NS, f->config.path_ns / RECEIVER_COMPRESS_PART);
	clock_set(f->clock, &r->compressed, f->clock->now_ns + delay_ns);
}

static inline void receiver_answer(struct flow *f, bool at_once)
{
	struct receiver *r = &f->receiver;

	if (r->taken <= f->config.quickacks || r->next - r->acked >= f->config.ack_every)
		receiver_ack(f);
	else if (at_once)
		receiver_ack_or_compress(f);
	else if (!r->delack.slot)
		clock_set(f->clock, &r->delack, f->clock->now_ns + f->config.delack_ns);
}

static inline void receiver_done(struct flow *f, struct packet *p)
{
	f->figures.arrived++;
	histogram_add(&f->figures.queue_us, (u32)(p->waited_ns / NSEC_PER_USEC));
	packet_free(f->pool, p);
}

/* What was gathered is one packet to TCP where it is in order */
static inline void receiver_gro(void *owner)
{
	struct flow *f = owner;
	struct receiver *r = &f->receiver;
	struct packet *p = r->gathered;
	u32 bytes = 0, expected = 0;
	bool at_once = false;

	r->gathered = NULL;
	while (p) {
		struct packet *next = p->next;

		if (bytes && (p->segment != expected || bytes + p->bytes > RECEIVER_GRO_BYTES)) {
			receiver_answer(f, at_once);
			at_once = false;
			bytes = 0;
		}
		expected = p->segment + 1;
		bytes += p->bytes;
		at_once |= receiver_note(f, p);
		receiver_done(f, p);
		p = next;
	}
	receiver_answer(f, at_once);
}

/* A data packet has come */
static inline void receiver_take(struct packet *p)
{
	struct flow *f = p->flow;
	struct receiver *r = &f->receiver;
	bool at_once;

	if (f->config.source != FLOW_TCP) {
		receiver_done(f, p);
		return;
	}
	if (f->config.gro_ns) {
		p->next = NULL;
		if (r->gathered)
			r->gathered_tail->next = p;
		else
			r->gathered = p;
		r->gathered_tail = p;
		if (!r->gro.slot)
			clock_set(f->clock, &r->gro, f->clock->now_ns + f->config.gro_ns);
		return;
	}
	at_once = receiver_note(f, p);
	receiver_done(f, p);
	receiver_answer(f, at_once);
}

static inline void receiver_init(struct flow *f)
{
	struct receiver *r = &f->receiver;

	timer_init(&r->delack, receiver_timer, f);
	timer_init(&r->compressed, receiver_timer, f);
	timer_init(&r->gro, receiver_gro, f);
}

#endif /* _SIMULATOR_RECEIVER_H */
