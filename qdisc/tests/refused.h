/* SPDX-License-Identifier: GPL-2.0 */
/*
 * That a header notices a caller who breaks a precondition: assert_refused(call). To be
 * included before that header, whose PRECONDITION() then ends the call and not the test.
 */
#ifndef _REFUSED_H
#define _REFUSED_H

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "portable.h"

static jmp_buf refused_at;
static bool refusal_expected;

static void __attribute__((__noreturn__)) refused_by(const char *condition)
{
	if (refusal_expected)
		longjmp(refused_at, 1);
	fprintf(stderr, "precondition %s\n", condition);
	abort();
}

#undef assert
#define assert(condition) ((condition) ? (void)0 : refused_by(#condition))

#define assert_refused(call)						\
	do {								\
		volatile bool was_refused_ = true;			\
									\
		refusal_expected = true;				\
		if (!setjmp(refused_at)) {				\
			(void)(call);					\
			was_refused_ = false;				\
		}							\
		refusal_expected = false;				\
		if (!was_refused_)					\
			fail_msg("%s is not refused", #call);		\
	} while (0)

#endif /* _REFUSED_H */
