// SPDX-License-Identifier: GPL-2.0
/* longest_queue.h against a look at every queue, for any order of events */
#include "naive_longest_queue.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	naive_compare(data, size);
	return 0;
}
