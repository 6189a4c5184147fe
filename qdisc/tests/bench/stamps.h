/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a stamp is: in the lab a count of instructions, which get_cycles() reads; in
 * User Mode Linux, whose code runs on the processor as it is, the processor's time
 * stamp counter, which nobody reads there.
 *
 * There a qdisc that asks for the time would ask the host, which costs more than
 * where the kernel reads the counter itself. So the counter becomes the
 * clock, and a qdisc pays for the time what it pays on a machine of its own.
 */
#ifndef _COST_STAMPS_H
#define _COST_STAMPS_H

#include <linux/timex.h>
#include <linux/types.h>

#ifdef CONFIG_UML

#include <linux/clocksource.h>
#include <linux/math64.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

/* long beside one reading of the host's clock (microseconds at worst): 1 in 10^5 */
#define COST_CALIBRATION_NS (200 * NSEC_PER_MSEC)

/**
 * cost_begin - cost_stamp(), when what has been written has reached memory as well
 *
 * A packet that comes has been there for a while: who takes it does not wait until it
 * has been made.
 *
 * Return: ticks.
 */
static inline u64 cost_begin(void)
{
	u32 low, high;

	asm volatile("mfence; lfence; rdtsc; lfence"
		     : "=a" (low), "=d" (high) : : "memory");
	return (u64)high << 32 | low;
}

/**
 * cost_stamp - the counter, when all before it is done and nothing after has begun
 *
 * Return: ticks.
 */
static inline u64 cost_stamp(void)
{
	u32 low, high;

	asm volatile("lfence; rdtsc; lfence"
		     : "=a" (low), "=d" (high) : : "memory");
	return (u64)high << 32 | low;
}

static u64 cost_clock_read(struct clocksource *clock)
{
	u32 low, high;

	/* as the kernel of a machine of its own does it */
	asm volatile("lfence; rdtsc" : "=a" (low), "=d" (high) : : "memory");
	return (u64)high << 32 | low;
}

static struct clocksource cost_clock = {
	.name = "cost-tsc",
	.rating = 450,	/* above all others: the host's clock has 300 */
	.read = cost_clock_read,
	.mask = CLOCKSOURCE_MASK(64),
	.flags = CLOCK_SOURCE_IS_CONTINUOUS,
};

/**
 * cost_clock_start - find out how fast the counter is and make it the clock
 * @khz: out: ticks in a millisecond
 *
 * Return: 0 or a negative error.
 */
static inline int cost_clock_start(u32 *khz)
{
	u64 began_ns = ktime_get_ns();
	u64 began = cost_stamp();
	u64 took_ns, took;

	do {
		took_ns = ktime_get_ns() - began_ns;
		took = cost_stamp() - began;
	} while (took_ns < COST_CALIBRATION_NS);
	*khz = div64_u64(took * USEC_PER_SEC, took_ns);
	return clocksource_register_khz(&cost_clock, *khz);
}

static inline void cost_clock_stop(void)
{
	clocksource_unregister(&cost_clock);
}

#else

static inline u64 cost_begin(void)
{
	return get_cycles();
}

static inline u64 cost_stamp(void)
{
	return get_cycles();
}

/* instructions have no duration */
static inline int cost_clock_start(u32 *khz)
{
	*khz = 0;
	return 0;
}

static inline void cost_clock_stop(void)
{
}

#endif /* CONFIG_UML */

#endif /* _COST_STAMPS_H */
