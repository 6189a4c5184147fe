// SPDX-License-Identifier: GPL-2.0
/* host_turns.h against naive schedulers on two levels, for any order of events */
#include "naive_host_turns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	two_compare(data, size);
	return 0;
}
