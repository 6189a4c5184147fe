/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When the switches of Keshav's thesis (1991), chapter 6, set the congestion bit.
 *
 * Selective DECbit at a FIFO. The queue's average is that of Ramakrishnan and Jain, "A binary
 * feedback scheme for congestion avoidance in computer networks", ACM Transactions on Computer
 * Systems 8(2), 1990: over the last cycle of a busy and an idle time and the present cycle so
 * far, with the packet that is being sent. Whose bits are set is as in Ramakrishnan, Chiu and
 * Jain, "Congestion avoidance in computer networks with a connectionless network layer, part IV: a
 * selective binary feedback scheme for general topologies", DEC-TR-510, 1987, of which the thesis
 * names the parts (capacity factor, panic mode): below an average of one nobody's; from one on
 * those of who sends more than the max-min share of a part of the link, the capacity factor; in
 * panic, everybody's. Chosen here, since that report is not at hand: demands are counted in bytes over the
 * time of the average, and it is panic from an average of two on.
 *
 * A cycle that has lasted for DECBIT_CYCLE_MAX_NS ends there, or a link that is always
 * busy would forget nothing.
 *
 * FQ with bits (6.5): "whenever the source's queue length is greater than 1/3 of its fair share of
 * buffer space".
 *
 * Times are arguments.
 */
#ifndef _DECBIT_QUEUE_H
#define _DECBIT_QUEUE_H

#include "portable.h"

#define DECBIT_USERS		64
/* ns: five round trips of the longest path in the thesis' scenario 7 */
#define DECBIT_CYCLE_MAX_NS	(60ULL * 1000000000ULL)
/* thresholds of the average, packets */
#define DECBIT_SELECT		1U
#define DECBIT_PANIC		2U
#define FQBIT_PART		3U

/**
 * struct decbit_cycle - a busy time and the idle time after it
 * @since_ns: when it began
 * @packet_ns: packets that were there, times how long
 * @bytes: that each user sent
 */
struct decbit_cycle {
	u64 since_ns;
	u64 packet_ns;
	u64 bytes[DECBIT_USERS];
};

/**
 * struct decbit_queue - what a switch remembers
 * @last: the cycle before
 * @now: the present one
 * @at_ns: until when it is counted
 * @packets: that wait or are being sent
 * @begun: a packet has come
 */
struct decbit_queue {
	struct decbit_cycle last;
	struct decbit_cycle now;
	u64 at_ns;
	u32 packets;
	bool begun;
};

static inline void decbit_next_cycle(struct decbit_queue *q, u64 now_ns)
{
	q->last = q->now;
	memset(&q->now, 0, sizeof(q->now));
	q->now.since_ns = now_ns;
}

static inline void decbit_count(struct decbit_queue *q, u64 now_ns)
{
	q->now.packet_ns += q->packets * (now_ns - q->at_ns);
	q->at_ns = now_ns;
}

/**
 * decbit_comes - a packet comes, whether it finds room or not
 * @q: the switch
 * @user: whose (below DECBIT_USERS)
 * @bytes: of the packet
 * @now_ns: a clock that never goes back
 */
static inline void decbit_comes(struct decbit_queue *q, u32 user, u32 bytes, u64 now_ns)
{
	if (!q->begun) {
		q->begun = true;
		q->at_ns = now_ns;
		q->last.since_ns = now_ns;
		q->now.since_ns = now_ns;
	}
	decbit_count(q, now_ns);
	if (!q->packets || now_ns - q->now.since_ns >= DECBIT_CYCLE_MAX_NS)
		decbit_next_cycle(q, now_ns);
	q->now.bytes[user] += bytes;
}

/**
 * decbit_waits - the packet that has come has found room
 * @q: the switch
 */
static inline void decbit_waits(struct decbit_queue *q)
{
	q->packets++;
}

/**
 * decbit_leaves - a packet has been sent
 * @q: the switch
 * @now_ns: a clock that never goes back
 */
static inline void decbit_leaves(struct decbit_queue *q, u64 now_ns)
{
	decbit_count(q, now_ns);
	if (q->packets)
		q->packets--;
}

/**
 * decbit_reaches - whether the average is as much
 * @q: the switch
 * @packets: as this
 *
 * Return: whether it is, over the last cycle and the present one until now.
 */
static inline bool decbit_reaches(const struct decbit_queue *q, u32 packets)
{
	u64 lasted_ns = q->at_ns - q->last.since_ns;

	return lasted_ns && q->last.packet_ns + q->now.packet_ns >= packets * lasted_ns;
}

static inline u64 decbit_demand(const struct decbit_queue *q, u32 user)
{
	return q->last.bytes[user] + q->now.bytes[user];
}

/**
 * decbit_share - the max-min share of those who want more than it
 * @q: the switch
 * @capacity: bytes that all may have
 *
 * Whoever wants less than an equal part of what is left has it; the others share the rest.
 *
 * Return: bytes; U64_MAX if all have what they want.
 */
static inline u64 decbit_share(const struct decbit_queue *q, u64 capacity)
{
	bool has[DECBIT_USERS] = { false };
	u32 user, wanting = 0, found;
	u64 share;

	for (user = 0; user < DECBIT_USERS; user++) {
		has[user] = !decbit_demand(q, user);
		wanting += !has[user];
	}
	while (wanting) {
		share = div_u64(capacity, wanting);
		found = 0;
		for (user = 0; user < DECBIT_USERS; user++) {
			if (has[user] || decbit_demand(q, user) > share)
				continue;
			has[user] = true;
			capacity -= decbit_demand(q, user);
			found++;
		}
		if (!found)
			return share;
		wanting -= found;
	}
	return U64_MAX;
}

/**
 * decbit_marks - whether the bit of a packet that has just come is to be set
 * @q: the switch
 * @user: whose it is
 * @rate_bytes_s: of the link
 * @factor_pct: of that, what is shared: the capacity factor (at most 100)
 * @panics: whether there is a panic mode
 *
 * Return: whether it is.
 */
static inline bool decbit_marks(const struct decbit_queue *q, u32 user, u32 rate_bytes_s,
				u32 factor_pct, bool panics)
{
	u64 lasted_us = div_u64(q->at_ns - q->last.since_ns, NSEC_PER_USEC);
	u64 capacity = div_u64(lasted_us * rate_bytes_s, 1000000);

	if (!decbit_reaches(q, DECBIT_SELECT))
		return false;
	if (panics && decbit_reaches(q, DECBIT_PANIC))
		return true;
	return decbit_demand(q, user) > decbit_share(q, div_u64(capacity * factor_pct, 100));
}

/**
 * fqbit_marks - whether a queue has more than a third of its fair share of the buffer
 * @packets: in the queue
 * @queues: that have packets
 * @limit: packets of the buffer
 *
 * Return: whether it has.
 */
static inline bool fqbit_marks(u32 packets, u32 queues, u32 limit)
{
	return (u64)packets * queues * FQBIT_PART > limit;
}

#endif /* _DECBIT_QUEUE_H */
