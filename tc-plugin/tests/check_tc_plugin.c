// SPDX-License-Identifier: GPL-2.0
/*
 * Does tc_plugin.h say what iproute2's own headers say? Compiling is the test:
 *
 *	gcc -fsyntax-only -std=gnu11 -Itc-plugin -IDIR/include \
 *		-IDIR/include/uapi -IDIR/tc tc-plugin/tests/check_tc_plugin.c
 *
 * with DIR the unpacked sources of iproute2. Prototypes that differ do not
 * compile; layouts and values are compared below.
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "utils.h"
#include "tc_util.h"

#include "tc_plugin.h"

#define SAME_MEMBER(m)							\
	static_assert(offsetof(struct qdisc_util, m) ==			\
		      offsetof(struct tc_plugin_qdisc, m),		\
		      "struct qdisc_util: " #m)

SAME_MEMBER(next);
SAME_MEMBER(id);
SAME_MEMBER(parse_qopt);
SAME_MEMBER(print_qopt);
SAME_MEMBER(print_xstats);
SAME_MEMBER(parse_copt);
SAME_MEMBER(print_copt);
SAME_MEMBER(has_block);
/* tc reads every member of its own structure: ours must not be shorter */
static_assert(sizeof(struct qdisc_util) == sizeof(struct tc_plugin_qdisc),
	      "struct qdisc_util: size");

static_assert(PRINT_FP == TC_PRINT_FP, "enum output_type");
static_assert(PRINT_JSON == TC_PRINT_JSON, "enum output_type");
static_assert(PRINT_ANY == TC_PRINT_ANY, "enum output_type");
static_assert(COLOR_NONE == TC_COLOR_NONE, "enum color_attr");
