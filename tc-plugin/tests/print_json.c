// SPDX-License-Identifier: GPL-2.0
/*
 * What a tc plugin uses of tc, for a program that wants its JSON: tc of iproute2 before 6.2
 * prints classes as text, whatever -j says.
 *
 *	gcc -shared -fPIC -std=gnu11 -Iinclude/uapi -Itc-plugin -o FILE tc-plugin/tests/print_json.c
 *
 * Load this for all to see, then the plugin; call print_xstats() and then printed_json().
 * Anything but printing fails.
 */
#include <inttypes.h>
#include <string.h>

#include "tc_plugin.h"

static char json[65536];
static size_t used;

/* the members printed since the last call, each followed by a comma */
const char *printed_json(void);
const char *printed_json(void)
{
	used = 0;
	return json;
}

static int member(unsigned int type, const char *key, const char *value)
{
	if (type == TC_PRINT_FP)
		return 0;
	used += snprintf(json + used, sizeof(json) - used, "\"%s\": %s,", key, value);
	return 0;
}

int print_color_u64(unsigned int type, unsigned int color, const char *key,
		    const char *fmt, uint64_t value)
{
	char text[32];

	(void)color;
	(void)fmt;
	snprintf(text, sizeof(text), "%" PRIu64, value);
	return member(type, key, text);
}

int print_color_s64(unsigned int type, unsigned int color, const char *key,
		    const char *fmt, int64_t value)
{
	char text[32];

	(void)color;
	(void)fmt;
	snprintf(text, sizeof(text), "%" PRId64, value);
	return member(type, key, text);
}

int print_color_bool(unsigned int type, unsigned int color, const char *key,
		     const char *fmt, bool value)
{
	(void)color;
	(void)fmt;
	return member(type, key, value ? "true" : "false");
}

int print_color_null(unsigned int type, unsigned int color, const char *key,
		     const char *fmt, const char *value)
{
	(void)color;
	(void)fmt;
	(void)value;
	return member(type, key, "null");
}

int print_color_string(unsigned int type, unsigned int color, const char *key,
		       const char *fmt, const char *value)
{
	char text[256];

	(void)color;
	(void)fmt;
	snprintf(text, sizeof(text), "\"%s\"", value);
	return member(type, key, text);
}

int parse_rtattr_flags(struct rtattr *tb[], int max, struct rtattr *rta, int len,
		       unsigned short flags)
{
	memset(tb, 0, sizeof(*tb) * (max + 1));
	for (; RTA_OK(rta, len); rta = RTA_NEXT(rta, len))
		if ((rta->rta_type & ~flags) <= max && !tb[rta->rta_type & ~flags])
			tb[rta->rta_type & ~flags] = rta;
	return 0;
}

int addattr_l(struct nlmsghdr *n, int maxlen, int type, const void *data, int alen)
{
	(void)n;
	(void)maxlen;
	(void)type;
	(void)data;
	(void)alen;
	return -1;
}

struct rtattr *addattr_nest(struct nlmsghdr *n, int maxlen, int type)
{
	(void)n;
	(void)maxlen;
	(void)type;
	return NULL;
}

int addattr_nest_end(struct nlmsghdr *n, struct rtattr *nest)
{
	(void)n;
	(void)nest;
	return -1;
}

int get_rate64(__u64 *rate, const char *str)
{
	(void)rate;
	(void)str;
	return -1;
}
