/* SPDX-License-Identifier: GPL-2.0 */
/* Arguments for tests that go over a whole range: the same in every run. */
#ifndef _DRAW_H
#define _DRAW_H

#include "portable.h"

static u64 seed = 1;

/* Somewhere in 0 .. below - 1 */
static inline u64 draw(u64 below)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (seed >> 16) % below;
}

/* Somewhere between 2^0 and 2^bits, each octave as likely as the next */
static inline u64 draw_scale(unsigned int bits)
{
	u64 octave = draw(bits);

	return (1ULL << octave) + draw(1ULL << octave);
}

#endif /* _DRAW_H */
