/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a tc plugin uses of tc, whose own headers no distribution packages.
 * Layout and prototypes are those of iproute2 6.1; newer ones only add
 * "const". tests/check_tc_plugin.c compares them with iproute2's sources.
 */
#ifndef _TC_PLUGIN_H
#define _TC_PLUGIN_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/**
 * struct tc_plugin_qdisc - "struct qdisc_util", found as <kind>_qdisc_util
 * @next: tc's list
 * @id: kind of the qdisc
 * @parse_qopt: adds TCA_OPTIONS for the arguments; not 0: tc gives up
 * @print_qopt: prints TCA_OPTIONS
 * @print_xstats: prints TCA_STATS_APP
 * @parse_copt: for classes
 * @print_copt: for classes
 * @has_block: for filters shared between qdiscs; unused, but tc reads it
 */
struct tc_plugin_qdisc {
	struct tc_plugin_qdisc *next;
	const char *id;
	int (*parse_qopt)(struct tc_plugin_qdisc *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev);
	int (*print_qopt)(struct tc_plugin_qdisc *qu, FILE *f,
			  struct rtattr *opt);
	int (*print_xstats)(struct tc_plugin_qdisc *qu, FILE *f,
			    struct rtattr *xstats);
	int (*parse_copt)(struct tc_plugin_qdisc *qu, int argc, char **argv,
			  struct nlmsghdr *n, const char *dev);
	int (*print_copt)(struct tc_plugin_qdisc *qu, FILE *f,
			  struct rtattr *opt);
	int (*has_block)(struct tc_plugin_qdisc *qu, struct rtattr *opt,
			 __u32 block_idx, bool *p_has);
};

/* "enum output_type": where a value is to appear */
#define TC_PRINT_FP 1	/* text only */
#define TC_PRINT_JSON 2	/* JSON only */
#define TC_PRINT_ANY 4	/* whichever the user asked for */

/* "enum color_attr": no colour */
#define TC_COLOR_NONE 6

/* enumerations are unsigned int in their ABI; so are these parameters */
int print_color_string(unsigned int type, unsigned int color, const char *key,
		       const char *fmt, const char *value);
int print_color_u64(unsigned int type, unsigned int color, const char *key,
		    const char *fmt, uint64_t value);
int print_color_s64(unsigned int type, unsigned int color, const char *key,
		    const char *fmt, int64_t value);
int print_color_bool(unsigned int type, unsigned int color, const char *key,
		     const char *fmt, bool value);
int print_color_null(unsigned int type, unsigned int color, const char *key,
		     const char *fmt, const char *value);
void print_nl(void);

int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data,
	      int alen);
struct rtattr *addattr_nest(struct nlmsghdr *n, int maxlen, int type);
int addattr_nest_end(struct nlmsghdr *n, struct rtattr *nest);
int parse_rtattr_flags(struct rtattr *tb[], int max, struct rtattr *rta,
		       int len, unsigned short flags);
int get_rate64(__u64 *rate, const char *str);

#endif /* _TC_PLUGIN_H */
