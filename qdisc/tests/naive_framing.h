/* SPDX-License-Identifier: GPL-2.0 */
/*
 * framing.h once more, byte by byte: a counter goes up for each byte that the
 * link carries, as the standards describe it.
 */
#ifndef _NAIVE_FRAMING_H
#define _NAIVE_FRAMING_H

#include "framing.h"

/* for packets of up to a few million bytes */
static inline u64 naive_packet(const struct framing *f, u64 len)
{
	s64 bytes = (s64)len + f->overhead_bytes;
	u64 wire = 0;
	s64 i;

	while (bytes < (s64)f->mpu_bytes)
		bytes++;
	for (i = 0; i < bytes; i++) {
		/* an ATM cell: five bytes of header, and filled up to the end */
		if (f->kind == FQ_RR_FRAMING_ATM)
			wire += i % 48 == 0 ? 5 + 48 : 0;
		/* PTM: a synchronising byte before each 64 */
		else if (f->kind == FQ_RR_FRAMING_PTM)
			wire += i % 64 == 0 ? 2 : 1;
		else
			wire++;
	}
	return wire;
}

static inline u64 naive_super_packet(const struct framing *f, u64 len, u64 full,
				     u32 segs)
{
	u64 wire = 0;

	/* none is one */
	if (!segs)
		segs = 1;
	if (full * (segs - 1) > len)
		full = len / segs;
	for (; segs > 1; segs--, len -= full)
		wire += naive_packet(f, full);
	return wire + naive_packet(f, len);
}

#endif /* _NAIVE_FRAMING_H */
