/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the formula headers need from their surroundings, in the kernel and in
 * a user-space test alike.
 *
 * This is the only file with "#ifdef __KERNEL__": a header that knows a
 * formula includes it, and other such headers. Names and semantics are the kernel's;
 * the user-space half gives them to a program that has only a C library, and
 * traps where the kernel would divide by zero.
 *
 * PRECONDITION() states what a caller must see to and what would cost too much to
 * enforce for every packet. It ends a unit test or fuzzer, and is a warning in a kernel
 * with CONFIG_DEBUG_NET, which torture and the hostile suite run.
 */
#ifndef _PKTPAIR_PORTABLE_H
#define _PKTPAIR_PORTABLE_H

#ifdef __KERNEL__

#include <linux/types.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <net/net_debug.h>

#define PRECONDITION(cond) DEBUG_NET_WARN_ON_ONCE(!(cond))

#else /* user space: unit tests and fuzzers */

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define U8_MAX UINT8_MAX
#define U16_MAX UINT16_MAX
#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX
#define S32_MAX INT32_MAX
#define S64_MAX INT64_MAX

#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define NSEC_PER_SEC 1000000000L
#define USEC_PER_SEC 1000000L
#define USEC_PER_MSEC 1000L

/* a test's stack may have its own, which sees who reads a knob otherwise */
#ifndef READ_ONCE
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile __typeof__(x) *)&(x) = (value))
#endif
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define noinline __attribute__((__noinline__))
#define __maybe_unused __attribute__((__unused__))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define sizeof_field(type, member) sizeof(((type *)0)->member)
#define PRECONDITION(cond) assert(cond)
#define BUILD_BUG_ON(cond) _Static_assert(!(cond), "BUILD_BUG_ON: " #cond)

#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define max_t(type, a, b) ((type)(a) > (type)(b) ? (type)(a) : (type)(b))
#define clamp_t(type, v, lo, hi) min_t(type, max_t(type, v, lo), hi)
#define swap(a, b) \
	do { __typeof__(a) tmp_ = (a); (a) = (b); (b) = tmp_; } while (0)

/* Elsewhere where a test looks for 64-bit divisions that a 32-bit kernel lacks */
#ifdef PORTABLE_DIVISION_APART
u64 div_u64(u64 dividend, u32 divisor);
s64 div_s64(s64 dividend, s32 divisor);
u64 div64_u64(u64 dividend, u64 divisor);
u64 mul_u64_u32_div(u64 a, u32 mul, u32 divisor);
#else
static inline u64 div_u64(u64 dividend, u32 divisor)
{
	assert(divisor);
	return dividend / divisor;
}

static inline s64 div_s64(s64 dividend, s32 divisor)
{
	assert(divisor);
	return dividend / divisor;
}

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	assert(divisor);
	return dividend / divisor;
}

/* (a * mul) / divisor with a 96-bit product; the quotient must fit 64 bits */
static inline u64 mul_u64_u32_div(u64 a, u32 mul, u32 divisor)
{
	u64 low = (a & U32_MAX) * mul;
	u64 high = (a >> 32) * mul + (low >> 32);

	assert(divisor && high / divisor <= U32_MAX);
	return ((high / divisor) << 32) +
	       (((high % divisor) << 32) | (low & U32_MAX)) / divisor;
}
#endif /* PORTABLE_DIVISION_APART */

/* largest root with root * root <= x */
static inline u32 int_sqrt64(u64 x)
{
	u64 root = 0, bit;

	for (bit = 1ULL << 31; bit; bit >>= 1)
		if ((root | bit) * (root | bit) <= x)
			root |= bit;
	return (u32)root;
}

/* (a * mul) >> shift with a 96-bit product; shift at most 32 */
static inline u64 mul_u64_u32_shr(u64 a, u32 mul, unsigned int shift)
{
	u64 low = (a & U32_MAX) * mul;

	assert(shift <= 32);
	return (((a >> 32) * mul) << (32 - shift)) + (low >> shift);
}

#endif /* __KERNEL__ */

#endif /* _PKTPAIR_PORTABLE_H */
