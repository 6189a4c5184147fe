/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the unit tests use of cmocka, where there is no cmocka: in 32 bits. Prints TAP.
 */
#ifndef _CMOCKA_32BIT_H
#define _CMOCKA_32BIT_H

#include <stdio.h>
#include <stdlib.h>

struct CMUnitTest {
	const char *name;
	void (*test)(void **state);
	int (*setup)(void **state);
	int (*teardown)(void **state);
};

static jmp_buf cmocka_failed;

#define fail_msg(...) \
	do { \
		printf("# %s:%d: ", __FILE__, __LINE__); \
		printf(__VA_ARGS__); \
		printf("\n"); \
		longjmp(cmocka_failed, 1); \
	} while (0)
#define assert_true(a) \
	do { \
		if (!(a)) \
			fail_msg("%s", #a); \
	} while (0)
#define assert_false(a) assert_true(!(a))
#define assert_null(a) assert_true(!(a))
#define assert_non_null(a) assert_true(a)
#define assert_ptr_equal(a, b) assert_true((a) == (b))
#define assert_int_equal(a, b) \
	do { \
		long long a_ = (long long)(a), b_ = (long long)(b); \
		if (a_ != b_) \
			fail_msg("%s: %lld, not %lld", #a, a_, b_); \
	} while (0)
#define assert_memory_equal(a, b, size) assert_true(!memcmp(a, b, size))
#define assert_string_equal(a, b) assert_true(!strcmp(a, b))
#define assert_in_range(a, lo, hi) \
	do { \
		unsigned long long a_ = (a); \
		if (a_ < (unsigned long long)(lo) || a_ > (unsigned long long)(hi)) \
			fail_msg("%s: %llu, not %s .. %s", #a, a_, #lo, #hi); \
	} while (0)
#define cmocka_unit_test(f) { #f, f, NULL, NULL }
#define cmocka_unit_test_setup_teardown(f, before, after) { #f, f, before, after }
#define cmocka_run_group_tests_name(name, tests, before, after) \
	cmocka_run(tests, sizeof(tests) / sizeof((tests)[0]))

static inline int cmocka_run(const struct CMUnitTest *tests, size_t count)
{
	volatile int failed = 0;
	volatile size_t i;

	printf("1..%zu\n", count);
	for (i = 0; i < count; i++) {
		void *state = NULL;
		volatile int bad = 1;

		if (tests[i].setup)
			tests[i].setup(&state);
		if (!setjmp(cmocka_failed)) {
			tests[i].test(&state);
			bad = 0;
		}
		if (tests[i].teardown)
			tests[i].teardown(&state);
		printf("%s - %s\n", bad ? "not ok" : "ok", tests[i].name);
		failed += bad;
	}
	return failed;
}

#endif /* _CMOCKA_32BIT_H */
