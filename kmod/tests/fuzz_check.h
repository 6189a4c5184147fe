/* SPDX-License-Identifier: GPL-2.0 */
/* What a fuzzer promises; one that is broken is said, and ends it */
#ifndef _FUZZ_CHECK_H
#define _FUZZ_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(cond)							\
	do {								\
		if (!(cond)) {						\
			fprintf(stderr, "line %d: %s\n", __LINE__, #cond); \
			abort();					\
		}							\
	} while (0)

#endif /* _FUZZ_CHECK_H */
