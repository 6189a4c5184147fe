/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How many bytes of a link a packet occupies.
 *
 *	packet = max(length + overhead, mpu)
 *	plain:	 packet
 *	ATM:	 53 bytes for every 48 begun	(ITU-T I.361, AAL5)
 *	PTM:	 65 bytes for every 64, the last part counted by its bytes and one
 *		 more				(IEEE 802.3 clause 61.3, 64B/65B)
 *
 * The same arithmetic as CAKE's, so that its settings can be carried over.
 */
#ifndef _FQ_RR_FRAMING_H
#define _FQ_RR_FRAMING_H

#include <linux/pkt_sched_fq_rr.h>

#include "portable.h"

#define FRAMING_ATM_CELL_BYTES		53
#define FRAMING_ATM_PAYLOAD_BYTES	48
#define FRAMING_PTM_PAYLOAD_BYTES	64

/**
 * struct framing - a link's way of packing
 * @overhead_bytes: added to each packet's length, may be negative (bytes)
 * @mpu_bytes: what a shorter packet counts for, before cells (bytes)
 * @kind: enum fq_rr_framing; others count as FQ_RR_FRAMING_PLAIN
 */
struct framing {
	s32 overhead_bytes;
	u32 mpu_bytes;
	u32 kind;
};

/**
 * framing_packet - what one packet occupies
 * @f: the link
 * @len: length of the packet (bytes)
 *
 * Return: bytes, at most U32_MAX.
 */
static inline u32 framing_packet(const struct framing *f, u32 len)
{
	s64 packet = max_t(s64, (s64)len + f->overhead_bytes, f->mpu_bytes);
	u64 wire = packet;

	/* 33 bits times 53 have room in 64 */
	if (f->kind == FQ_RR_FRAMING_ATM)
		wire = div64_u64(wire + FRAMING_ATM_PAYLOAD_BYTES - 1,
				 FRAMING_ATM_PAYLOAD_BYTES) *
		       FRAMING_ATM_CELL_BYTES;
	else if (f->kind == FQ_RR_FRAMING_PTM)
		wire += div64_u64(wire + FRAMING_PTM_PAYLOAD_BYTES - 1,
				  FRAMING_PTM_PAYLOAD_BYTES);
	return min_t(u64, wire, U32_MAX);
}

/**
 * framing_segments - how many segments a super-packet is split into
 * @told: as it says itself; 0: it does not, as those of guests and of packet sockets
 * @bytes: its length, with its headers once (bytes)
 * @segment_bytes: payload of a segment (bytes); 0 counts as 1
 *
 * Return: segments, 1 to U16_MAX. Of one that does not say, its headers count as payload:
 * one too many where the last segment has no room for as much.
 */
static inline u32 framing_segments(u32 told, u32 bytes, u32 segment_bytes)
{
	u32 size = max_t(u32, segment_bytes, 1);

	if (!told)
		told = (u32)div_u64((u64)bytes + size - 1, size);
	return clamp_t(u32, told, 1, U16_MAX);
}

/**
 * framing_full_bytes - length of each segment of a super-packet but the last
 * @len: length of all its segments with their headers (bytes)
 * @bytes: its length with its headers once (bytes)
 * @segment_bytes: payload of a segment (bytes)
 * @segs: segments; fewer than 2 count as 2
 *
 * Return: bytes, at most U32_MAX; without headers, if @len is not above @bytes.
 */
static inline u32 framing_full_bytes(u32 len, u32 bytes, u32 segment_bytes, u32 segs)
{
	u32 headers = len > bytes ? (len - bytes) / (max_t(u32, segs, 2) - 1) : 0;

	return (u32)min_t(u64, (u64)headers + segment_bytes, U32_MAX);
}

/**
 * framing_super_packet - what a super-packet occupies once it is split
 * @f: the link
 * @len: length of all its segments with their headers (bytes)
 * @full: length of each segment but the last (bytes); if it does not fit into
 *	@len, all are taken to be equal
 * @segs: segments; 0 counts as 1
 *
 * Return: bytes, at most U32_MAX.
 */
static inline u32 framing_super_packet(const struct framing *f, u32 len,
				       u32 full, u32 segs)
{
	u64 wire;

	segs = max_t(u32, segs, 1);
	if ((u64)full * (segs - 1) > len)
		full = len / segs;
	wire = (u64)framing_packet(f, full) * (segs - 1);
	wire += framing_packet(f, len - full * (segs - 1));
	return min_t(u64, wire, U32_MAX);
}

#endif /* _FQ_RR_FRAMING_H */
