// SPDX-License-Identifier: GPL-2.0
/* placing.h: what must hold of every packet's queue, for any order of events */
#include "naive_placing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	naive_compare(data, size);
	return 0;
}
