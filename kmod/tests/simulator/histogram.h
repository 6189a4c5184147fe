/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How times are distributed, in constant space: 64 classes to the octave, so that a
 * percentile is at most 1/64 too low. The largest is kept as it is.
 */
#ifndef _SIMULATOR_HISTOGRAM_H
#define _SIMULATOR_HISTOGRAM_H

#include <net/tcp.h>

#define HISTOGRAM_BITS 6
#define HISTOGRAM_OCTAVE (1U << HISTOGRAM_BITS)
/* up to 2^32 us, more than an hour */
#define HISTOGRAM_CLASSES ((33 - HISTOGRAM_BITS) * HISTOGRAM_OCTAVE)

struct histogram {
	u64 counts[HISTOGRAM_CLASSES];
	u64 count;
	u32 largest;
};

static inline u32 histogram_class(u32 value)
{
	u32 shift;

	if (value < HISTOGRAM_OCTAVE)
		return value;
	shift = 31 - HISTOGRAM_BITS - (u32)__builtin_clz(value);
	return (shift << HISTOGRAM_BITS) + (value >> shift);
}

static inline u32 histogram_value(u32 class)
{
	u32 shift;

	if (class < 2 * HISTOGRAM_OCTAVE)
		return class;
	shift = (class >> HISTOGRAM_BITS) - 1;
	return (class - (shift << HISTOGRAM_BITS)) << shift;
}

static inline void histogram_add(struct histogram *h, u32 value)
{
	h->counts[histogram_class(value)]++;
	h->count++;
	h->largest = max_t(u32, h->largest, value);
}

/* The value that so many in a thousand do not exceed */
static inline u32 histogram_permille(const struct histogram *h, u32 permille)
{
	u64 rank = (h->count * permille + 999) / 1000, seen = 0;
	u32 class;

	for (class = 0; class < HISTOGRAM_CLASSES; class++) {
		seen += h->counts[class];
		if (seen >= rank && seen)
			return histogram_value(class);
	}
	return 0;
}

#endif /* _SIMULATOR_HISTOGRAM_H */
