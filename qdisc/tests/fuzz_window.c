// SPDX-License-Identifier: GPL-2.0
/* window.h: no packet is dropped for a flow while a queue of its window is idle */
#include "naive_window.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const u32 queues[] = { 1, 5, 16, 40 };
	struct naive_window *n;

	if (!size)
		return 0;
	n = naive_make(queues[data[0] % 4]);
	naive_run(n, data + 1, size - 1);
	naive_free(n);
	return 0;
}
