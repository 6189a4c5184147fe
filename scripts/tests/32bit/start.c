// SPDX-License-Identifier: GPL-2.0
/*
 * Begins a 32-bit program without the C library's own beginning, which comes with
 * a development package that nothing else here needs; the library itself is
 * there. And drives a fuzzer's target with inputs by number, since there is no
 * libFuzzer either.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef FUZZ_RUNS
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Long ones and short ones; bytes that are often 0 or 255 reach further */
int main(void)
{
	static uint8_t data[4096];
	uint64_t seed = 1;
	int run;

	for (run = 0; run < FUZZ_RUNS; run++) {
		size_t size = (size_t)1 << (run % 13), i;

		for (i = 0; i < size; i++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			data[i] = (seed >> 60) == 0 ? 0 : (seed >> 60) == 1 ? 255 : seed >> 33;
		}
		LLVMFuzzerTestOneInput(data, size);
	}
	printf("1..1\nok - %d inputs\n", FUZZ_RUNS);
	return 0;
}
#else
int main(void);
#endif

void _start(void);
__attribute__((force_align_arg_pointer)) void _start(void)
{
	exit(main());
}
