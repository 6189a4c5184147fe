/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a flow's hash to the number of its queue.
 *
 * Packets of local sockets and of most drivers carry a hash, but the same one
 * at every hop and for as long as the flow lasts. So that who shares a queue
 * with whom differs between qdiscs and cannot be foreseen by a sender, the hash
 * is mixed with two random numbers. Multiply, add, take the upper half: for
 * random @mul and @add that is strongly universal (Dietzfelbinger 1996), that
 * is, any two different hashes meet with the chance of two random numbers.
 */
#ifndef _FQ_RR_FLOW_INDEX_H
#define _FQ_RR_FLOW_INDEX_H

#include "portable.h"

/**
 * struct flow_mix - the perturbation
 * @mul: random
 * @add: random
 */
struct flow_mix {
	u64 mul;
	u64 add;
};

/**
 * flow_index - the queue for a hash
 * @mix: perturbation
 * @hash: of the flow
 * @flows: number of queues; 0 counts as 1
 *
 * Return: number of the queue, from 0 to @flows - 1, each with a share of the
 * hashes that differs from the others' by less than @flows / 2^32.
 */
static inline u32 flow_index(const struct flow_mix *mix, u32 hash, u32 flows)
{
	u32 mixed = (mix->mul * hash + mix->add) >> 32;

	return ((u64)mixed * flows) >> 32;
}

#endif /* _FQ_RR_FLOW_INDEX_H */
