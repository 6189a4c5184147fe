// SPDX-License-Identifier: GPL-2.0
/* round_robin.h against the naive scheduler, for any order of events */
#include "naive_round_robin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	naive_compare(data, size);
	return 0;
}
