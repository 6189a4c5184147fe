// SPDX-License-Identifier: GPL-2.0
/* buffer.h beside queues that are searched and summed anew each time */
#include "naive_buffer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	naive_run(data, size);
	return 0;
}
