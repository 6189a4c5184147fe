/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random numbers: a stream for each purpose, so that one more draw for one purpose moves
 * no other (splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number
 * generators", 2014).
 */
#ifndef _SIMULATOR_CHANCE_H
#define _SIMULATOR_CHANCE_H

#include <math.h>
#include <net/tcp.h>

#define CHANCE_PPM 1000000

struct chance {
	u64 state;
};

static inline u64 chance_draw(struct chance *c)
{
	u64 z = c->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static inline void chance_init(struct chance *c, u64 seed, u64 stream)
{
	c->state = seed * 0x9e3779b97f4a7c15ULL ^ (stream + 1) * 0xd1342543de82ef95ULL;
	chance_draw(c);
}

/* 0 <= part < 1 */
static inline double chance_part(struct chance *c)
{
	return (double)(chance_draw(c) >> 11) / (1ULL << 53);
}

static inline u64 chance_uniform(struct chance *c, u64 below)
{
	return below ? (u64)(chance_part(c) * (double)below) : 0;
}

static inline u64 chance_exponential(struct chance *c, u64 mean)
{
	return (u64)(-log(1 - chance_part(c)) * (double)mean);
}

static inline bool chance_of(struct chance *c, u64 ppm)
{
	return ppm && chance_uniform(c, CHANCE_PPM) < ppm;
}

#endif /* _SIMULATOR_CHANCE_H */
