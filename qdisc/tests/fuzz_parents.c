// SPDX-License-Identifier: GPL-2.0
/* parents.h below chains of parents of every behaviour, for any order of events */
#include "naive_parents.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	naive_run(data, size);
	return 0;
}
