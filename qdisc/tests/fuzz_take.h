/* SPDX-License-Identifier: GPL-2.0 */
/* A fuzzer's input as a script: numbers and rates are taken from its front. */
#ifndef _FQ_RR_FUZZ_TAKE_H
#define _FQ_RR_FUZZ_TAKE_H

#include "portable.h"

/* so many bytes of the script as a number, at least 1 */
static inline u64 take(const uint8_t **data, size_t *size, unsigned int bytes)
{
	u64 value = 0;

	while (bytes-- && *size) {
		value = value << 8 | *(*data)++;
		(*size)--;
	}
	return value ? value : 1;
}

/* a rate that the options allow (bytes/s), spread over their magnitudes */
static inline u64 take_rate(const uint8_t **data, size_t *size)
{
	u64 rate = 1000ULL << take(data, size, 1) % 27;

	return min_t(u64, rate + take(data, size, 2), 125000000000ULL);
}

#endif
