/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the qdiscs above fq_rr ("parents") are notified of, so that their packet and
 * byte counts equal what fq_rr holds.
 *
 * What a parent does:
 * - It passes one packet of @len bytes to its child. If the child's verdict is
 *   NET_XMIT_SUCCESS it counts that packet, and puts the child on its list of active
 *   children. After any other verdict it counts nothing and activates nothing.
 * - qdisc_tree_reduce_backlog() corrects the counts of all parents. On its way up it
 *   calls qlen_notify() of every parent whose child has no packet by that child's own
 *   count: the parent then takes the child off its list. Kernels without "qlen_notify
 *   must be idempotent" corrupt the list if the child is not on it, and every kernel
 *   stops serving a child that has packets and is not on it.
 *
 * A correction during enqueue comes before any parent has counted the packet. The counts
 * that it leaves may therefore not be 0 anywhere. So if one packet remains:
 * - the qdisc held others before: the verdict is NET_XMIT_CN, the parents do not count
 *   the packet that arrived, and keep one of those that they had counted;
 * - it was empty before: no correction is possible, neither now nor when the packet is
 *   taken out, which some parents do before those above them have counted it (HFSC peeks
 *   while it enqueues). The packet is given the length that the parents will count.
 *
 * NET_XMIT_CN else means that the flow of the packet has had a packet dropped: a local
 * sender slows down. It cannot be the verdict for a packet that came to an empty qdisc,
 * since nobody would activate the child.
 */
#ifndef _FQ_RR_PARENTS_H
#define _FQ_RR_PARENTS_H

#include "portable.h"

/**
 * struct fq_rr_outcome - what was queued and dropped while one packet was enqueued
 * @queued: packets appended to queues: its segments, if it was split
 * @queued_bytes: their length (bytes)
 * @dropped: packets dropped that had been in a queue, arrived ones included
 * @dropped_bytes: their length (bytes)
 * @own_dropped: one of @dropped, or a segment that was refused and never queued, was of
 *	the flow of the packet that arrived
 */
struct fq_rr_outcome {
	u32 queued;
	u32 queued_bytes;
	u32 dropped;
	u32 dropped_bytes;
	bool own_dropped;
};

/**
 * enum parents_verdict - what enqueue answers
 * @PARENTS_SUCCESS: NET_XMIT_SUCCESS: the parents count the packet
 * @PARENTS_CN: NET_XMIT_CN: they do not, though it or a part of it may be queued
 * @PARENTS_DROP: NET_XMIT_DROP: they do not, and no part of it is queued
 */
enum parents_verdict {
	PARENTS_SUCCESS,
	PARENTS_CN,
	PARENTS_DROP,
};

/**
 * struct parents_correction - arguments of one qdisc_tree_reduce_backlog()
 * @packets: that the parents count less from now on; what is above 0 are drops to them
 * @bytes: that they count less (bytes)
 */
struct parents_correction {
	s32 packets;
	s32 bytes;
};

/**
 * struct parents_report - what to do after enqueueing one packet
 * @split: first correction: segments instead of the packet
 * @drops: second correction: what was dropped. Neither is to be made if all of it is 0.
 * @set_length: the one packet that is left is to be given the length that the parents
 *	know the arriving packet by
 * @verdict: what enqueue answers
 */
struct parents_report {
	struct parents_correction split;
	struct parents_correction drops;
	bool set_length;
	enum parents_verdict verdict;
};

/**
 * parents_report - what follows from enqueueing one packet
 * @outcome: what was queued and dropped meanwhile
 * @len: length of the packet as the parents know it (bytes)
 * @left: packets that the qdisc now counts, a peeked one included
 * @parents: whether there are any
 *
 * For any arguments the corrections and the verdict add up to what was queued less what
 * was dropped, in packets; in bytes too unless @set_length.
 *
 * Return: corrections, in their order, and the verdict.
 */
static inline struct parents_report
parents_report(const struct fq_rr_outcome *outcome, u32 len, u32 left, bool parents)
{
	/* as u32, since sums of lengths may wrap on their way */
	u32 packets = outcome->dropped - outcome->queued;
	u32 bytes = outcome->dropped_bytes - outcome->queued_bytes;
	struct parents_report report = { .verdict = PARENTS_DROP };
	bool was_empty = left + packets == 0;

	if (!outcome->queued || !left) {
		report.drops.packets = packets;
		report.drops.bytes = bytes;
		return report;
	}
	if (was_empty && left == 1) {
		report.verdict = PARENTS_SUCCESS;
		report.set_length = parents;
		return report;
	}
	report.split.packets = 1 - outcome->queued;
	report.split.bytes = len - outcome->queued_bytes;
	report.drops.packets = outcome->dropped;
	report.drops.bytes = outcome->dropped_bytes;
	if (was_empty || (!outcome->own_dropped && !(left == 1 && parents))) {
		report.verdict = PARENTS_SUCCESS;
		return report;
	}
	report.verdict = PARENTS_CN;
	report.drops.packets -= 1;
	report.drops.bytes -= len;
	return report;
}

#endif /* _FQ_RR_PARENTS_H */
