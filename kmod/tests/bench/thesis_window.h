/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Windows of the three protocols beside packet pair in Keshav's thesis (1991), chapter 6.
 *
 * generic: the window is always the most there may be.
 *
 * JK, Jacobson and Karels' control as the thesis has it: "open their flow control window,
 * first exponentially, and then linearly, until a packet loss causes the window size to drop
 * to one". With each ACK of new data the window w grows by 1 up to half of what it was at the
 * last loss, and from there on by 1/w.
 *
 * DECbit: the source's rule of Ramakrishnan and Jain, "A binary feedback scheme for congestion
 * avoidance in computer networks", ACM Transactions on Computer Systems 8(2), 1990. A window is
 * changed when as many packets were acknowledged as the window before it and the window itself
 * have; only the latter's marks count. If half of them or more are marked it becomes 7/8 of
 * itself, else one more. Open there and chosen here: a window begins at one, has a fraction that
 * is kept and not used, and is one again after a timeout, of which the paper has no rule.
 *
 * No window is below one packet. Each call is told the most that it may be.
 */
#ifndef _THESIS_WINDOW_H
#define _THESIS_WINDOW_H

#include "portable.h"

#define THESIS_SHIFT		16
#define THESIS_ONE_Q16		(1U << THESIS_SHIFT)
/* packets: one more has to fit into 32 bits as well */
#define THESIS_WINDOW_MAX	65534U
/* of a window, what is left of it after marks: 7/8 */
#define THESIS_DECREASE_NUM	7U
#define THESIS_DECREASE_SHIFT	3
/* of half a window that was lost, the least that slow start goes to; Jacobson (1988) */
#define THESIS_SSTHRESH_MIN	2U

enum thesis_protocol {
	THESIS_GENERIC,
	THESIS_JK,
	THESIS_DECBIT,
};

/**
 * struct thesis_window - a flow's window
 * @window_q16: packets
 * @ssthresh: JK: packets, from which on it grows linearly
 * @left: DECbit: packets to be acknowledged until the window changes
 * @counted: DECbit: those of the last window that were
 * @marked: DECbit: those of @counted that were marked
 * @protocol: an enum thesis_protocol
 */
struct thesis_window {
	u32 window_q16;
	u32 ssthresh;
	u32 left;
	u32 counted;
	u32 marked;
	u8 protocol;
};

/**
 * thesis_packets - what may be outstanding
 * @w: the window
 *
 * Return: whole packets, one at least.
 */
static inline u32 thesis_packets(const struct thesis_window *w)
{
	return w->window_q16 >> THESIS_SHIFT;
}

/* Between one packet and @most */
static inline void thesis_set(struct thesis_window *w, u64 window_q16, u32 most)
{
	const u64 most_q16 = (u64)clamp_t(u32, most, 1, THESIS_WINDOW_MAX) << THESIS_SHIFT;

	w->window_q16 = (u32)clamp_t(u64, window_q16, THESIS_ONE_Q16, most_q16);
}

/* DECbit: the packets of the window before count for nothing */
static inline void thesis_cycle(struct thesis_window *w, u32 before)
{
	w->left = before + thesis_packets(w);
	w->counted = 0;
	w->marked = 0;
}

/**
 * thesis_begin - a flow before its first packet
 * @w: the window
 * @protocol: whose
 * @most: packets that it may have
 */
static inline void thesis_begin(struct thesis_window *w, enum thesis_protocol protocol, u32 most)
{
	w->protocol = protocol;
	w->ssthresh = THESIS_WINDOW_MAX;
	thesis_set(w, protocol == THESIS_GENERIC ? (u64)most << THESIS_SHIFT : THESIS_ONE_Q16,
		   most);
	thesis_cycle(w, 0);
}

static inline void thesis_jk_acked(struct thesis_window *w, u32 most)
{
	u32 more_q16 = THESIS_ONE_Q16;

	if (thesis_packets(w) >= w->ssthresh)
		more_q16 = (u32)div_u64(1ULL << (2 * THESIS_SHIFT), w->window_q16);
	thesis_set(w, (u64)w->window_q16 + more_q16, most);
}

static inline void thesis_decbit_acked(struct thesis_window *w, u32 most, bool marked)
{
	const u32 before = thesis_packets(w);
	u64 next_q16;

	if (w->left <= before) {
		w->counted++;
		w->marked += marked;
	}
	if (--w->left)
		return;
	if (2 * w->marked >= w->counted)
		next_q16 = (u64)w->window_q16 * THESIS_DECREASE_NUM >> THESIS_DECREASE_SHIFT;
	else
		next_q16 = (u64)w->window_q16 + THESIS_ONE_Q16;
	thesis_set(w, next_q16, most);
	thesis_cycle(w, before);
}

/**
 * thesis_acked - a packet was acknowledged
 * @w: the window
 * @most: packets that it may have
 * @marked: the ACK has the congestion bit
 */
static inline void thesis_acked(struct thesis_window *w, u32 most, bool marked)
{
	if (w->protocol == THESIS_JK)
		thesis_jk_acked(w, most);
	else if (w->protocol == THESIS_DECBIT)
		thesis_decbit_acked(w, most, marked);
	else
		thesis_set(w, (u64)most << THESIS_SHIFT, most);
}

/**
 * thesis_lost - a packet was lost
 * @w: the window
 * @timeout: nobody but the timer has noticed
 */
static inline void thesis_lost(struct thesis_window *w, bool timeout)
{
	if (w->protocol == THESIS_JK) {
		w->ssthresh = max_t(u32, thesis_packets(w) / 2, THESIS_SSTHRESH_MIN);
		w->window_q16 = THESIS_ONE_Q16;
	} else if (w->protocol == THESIS_DECBIT && timeout) {
		w->window_q16 = THESIS_ONE_Q16;
		thesis_cycle(w, 0);
	}
}

/**
 * thesis_timeout_us - generic's timer: twice the round trip
 * @smoothed_us: the stack's exponential average of the round trip
 * @least_us: no less than this
 *
 * Return: us, at most 2^32 - 1.
 */
static inline u32 thesis_timeout_us(u32 smoothed_us, u32 least_us)
{
	return (u32)clamp_t(u64, 2 * (u64)smoothed_us, least_us, U32_MAX);
}

#endif /* _THESIS_WINDOW_H */
