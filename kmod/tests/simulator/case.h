/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A case: one line of KEY=VALUE words. A key of flows or servers means all of them; with
 * .INDEX, counted from 0, one of them; with @SECONDS, from then on. A module parameter of
 * tcp_pktpair is a key, too. What is wrong is said with the key, its value and the limits.
 *
 *	flows=2 cc=pktpair cc.1=cubic start_s.1=5 rate_mbit=20 rate_mbit@10=5 queue=rr
 */
#ifndef _SIMULATOR_CASE_H
#define _SIMULATOR_CASE_H

#include "adapter.h"

#include <ctype.h>
#include <stdio.h>

#include "network.h"
#include "reference_cc.h"

#define CASE_MESSAGE 320
#define CASE_KNOBS 16
#define CASE_KNOB_TEXT 512
#define CASE_ALGORITHMS \
	"pktpair pktpair_1994 reno cubic constant poisson"

enum case_scope { CASE_RUN, CASE_FLOW, CASE_SERVER };

/**
 * struct case_key - what may be asked for
 * @name: before the =
 * @scope: of what it is
 * @offset: of its field: in struct network, flow_config or server_config
 * @min: least value, in the key's unit
 * @max: greatest
 * @scale: field's units in the key's
 * @initial: in the field's unit, where the key is not given
 * @choices: names of 0, 1, ..., with a blank between; NULL: it is a number
 * @changes: may be given with @SECONDS
 */
struct case_key {
	const char *name;
	enum case_scope scope;
	size_t offset;
	double min, max, scale;
	u64 initial;
	const char *choices;
	bool changes;
};

#define CASE_OF_RUN(key, field, lo, hi, in, at_first) \
	{ key, CASE_RUN, offsetof(struct network, field), lo, hi, in, at_first, NULL, false }
#define CASE_OF_FLOW(key, field, lo, hi, in, at_first, may_change) \
	{ key, CASE_FLOW, offsetof(struct flow_config, field), lo, hi, in, at_first, NULL, \
	  may_change }
#define CASE_OF_SERVER(key, field, lo, hi, in, at_first, may_change) \
	{ key, CASE_SERVER, offsetof(struct server_config, field), lo, hi, in, at_first, NULL, \
	  may_change }
#define CASE_CHOICE(key, its_scope, its_struct, field, names) \
	{ key, its_scope, offsetof(struct its_struct, field), 0, 0, 1, 0, names, false }

static const struct case_key case_keys[] = {
	CASE_OF_RUN("flows", flows_count, 1, NETWORK_FLOWS, 1, 1),
	CASE_OF_RUN("servers", servers_count, 1, NETWORK_SERVERS, 1, 1),
	CASE_OF_RUN("seed", seed, 0, 4294967295.0, 1, 0),
	CASE_OF_RUN("seconds", end_ns, 0.001, 3600, 1e9, 10ULL * NSEC_PER_SEC),
	CASE_OF_RUN("from_s", from_ns, 0, 3600, 1e9, 0),
	CASE_OF_RUN("series", series, 0, 1, 1, 0),
	CASE_OF_RUN("trains", trains, 0, 1, 1, 0),

	CASE_OF_FLOW("start_s", start_ns, 0, 3600, 1e9, 0, false),
	CASE_OF_FLOW("stop_s", stop_ns, 0, 3600, 1e9, 0, false),
	CASE_OF_FLOW("segments", segments, 0, 1e9, 1, 0, false),
	CASE_OF_FLOW("mss", mss, 64, 8948, 1, 1448, false),
	CASE_OF_FLOW("path_ms", path_ns, 0.01, 10000, 1e6, 20 * NSEC_PER_MSEC, true),
	CASE_OF_FLOW("ahead_ms", ahead_ns, 0, 10000, 1e6, 0, false),
	CASE_OF_FLOW("access_mbit", access_bps, 0, 400000, 1e6, 0, true),
	CASE_OF_FLOW("window", window, 1, 1e7, 1, 10000000, false),
	CASE_OF_FLOW("first_cwnd", first_cwnd, 1, 1024, 1, 10, false),
	CASE_OF_FLOW("gso_segments", gso_segments, 1, 65535, 1, 65535, false),
	CASE_OF_FLOW("ack_every", ack_every, 1, 1024, 1, 2, true),
	CASE_OF_FLOW("quickacks", quickacks, 0, 1000, 1, 0, false),
	CASE_OF_FLOW("delack_ms", delack_ns, 0, 1000, 1e6, 40 * NSEC_PER_MSEC, false),
	CASE_OF_FLOW("gro_ms", gro_ns, 0, 1000, 1e6, 0, false),
	CASE_OF_FLOW("app_mbit", app_bps, 0, 400000, 1e6, 0, true),
	CASE_OF_FLOW("app_chunk", app_chunk, 1, 65536, 1, 64, false),
	CASE_OF_FLOW("send_mbit", send_bps, 0.001, 400000, 1e6, 1000000, true),
	CASE_OF_FLOW("on_s", on_ns, 0.001, 3600, 1e9, NSEC_PER_SEC, false),
	CASE_OF_FLOW("off_s", off_ns, 0, 3600, 1e9, 0, false),
	CASE_OF_FLOW("bucket", bucket, 0, SERVER_BUCKETS - 1, 1, 0, false),
	CASE_OF_FLOW("enter", enter, 0, NETWORK_SERVERS - 1, 1, 0, false),
	CASE_OF_FLOW("leave", leave, 0, NETWORK_SERVERS - 1, 1, U64_MAX, false),
	CASE_OF_FLOW("ecn", ecn, 0, 1, 1, 0, false),
	CASE_OF_FLOW("loss_ppm", loss_ppm, 0, 1000000, 1, 0, true),
	CASE_OF_FLOW("rtt_limit_ms", rtt_limit_ns, 0, 1e6, 1e6, U64_MAX, true),
	CASE_OF_FLOW("ack_period_ms", back.period_ns, 0, 10000, 1e6, 0, true),
	CASE_OF_FLOW("ack_open_us", back.open_ns, 0, 1e7, 1e3, 0, true),
	CASE_OF_FLOW("ack_phase_ms", back.phase_ns, 0, 10000, 1e6, 0, false),
	CASE_OF_FLOW("ack_spacing_us", back.spacing_ns, 0, 1e6, 1e3, NSEC_PER_USEC, false),
	CASE_OF_FLOW("jitter_ms", back.jitter_ns, 0, 10000, 1e6, 0, true),
	CASE_OF_FLOW("interrupt_ms", back.interrupt_ns, 0, 1000, 1e6, 0, true),
	CASE_OF_FLOW("back_mbit", back.rate_bps, 0, 400000, 1e6, 0, true),
	CASE_OF_FLOW("back_load", back.load_ppm, 0, 0.99, 1e6, 0, true),
	CASE_OF_FLOW("ack_loss_ppm", back.loss_ppm, 0, 1000000, 1, 0, true),
	CASE_CHOICE("ack_gaps", CASE_FLOW, flow_config, back.gaps,
		    "fixed uniform exponential on-off"),
	CASE_CHOICE("jitter", CASE_FLOW, flow_config, back.jitter, "uniform exponential"),

	CASE_OF_SERVER("rate_mbit", rate_bps, 0.001, 400000, 1e6, 10000000, true),
	CASE_OF_SERVER("delay_ms", delay_ns, 0, 10000, 1e6, 0, false),
	CASE_OF_SERVER("limit_packets", limit_packets, 1, 1e7, 1, 10000000, true),
	CASE_OF_SERVER("limit_bytes", limit_bytes, 1514, 1e11, 1, 100000000000ULL, true),
	CASE_OF_SERVER("quantum_bytes", quantum_bytes, 1, 1e6, 1, 1514, false),
	CASE_OF_SERVER("burst_bytes", burst_bytes, 1514, 1e9, 1, 15140, true),
	CASE_OF_SERVER("codel", has_codel, 0, 1, 1, 0, false),
	CASE_OF_SERVER("target_ms", codel.target_ns, 0.01, 1000, 1e6, 5 * NSEC_PER_MSEC, false),
	CASE_OF_SERVER("interval_ms", codel.interval_ns, 0.1, 10000, 1e6, 100 * NSEC_PER_MSEC,
		       false),
	CASE_OF_SERVER("marks", codel.ecn, 0, 1, 1, 0, false),
	CASE_CHOICE("queue", CASE_SERVER, server_config, turns, "fifo rr rr-packets drr policer"),
	CASE_CHOICE("overflow", CASE_SERVER, server_config, overflow, "tail flush batch"),
};

/**
 * struct case_word - KEY.INDEX@SECONDS=VALUE
 * @text: as it was given
 * @key: without index and time
 * @index: -1: none
 * @at_s: -1: none
 * @value: after the =
 */
struct case_word {
	const char *text;
	char key[32];
	int index;
	double at_s;
	const char *value;
};

/**
 * struct case_reader - while a line is read
 * @network: to be filled
 * @message: what is wrong
 * @knobs: module parameters, as NAME=VALUE
 * @knobs_count: how many
 */
struct case_reader {
	struct network *network;
	char message[CASE_MESSAGE];
	char knobs[CASE_KNOBS][64];
	u32 knobs_count;
};

#define case_bad(reader, ...) \
	(snprintf((reader)->message, CASE_MESSAGE, __VA_ARGS__), false)

/* ---- words ---- */

/* A number that is all of a text */
static inline bool case_number(const char *text, double *value)
{
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	*value = strtod(text, &end);
	return !*end && isfinite(*value);
}

static inline bool case_split(struct case_reader *r, const char *text, struct case_word *w)
{
	size_t key = strcspn(text, ".@=");
	const char *equals = strchr(text, '='), *at = text + key;
	char part[32];

	*w = (struct case_word) { .text = text, .index = -1, .at_s = -1 };
	if (!equals || !key || key >= sizeof(w->key) || equals - text >= (long)sizeof(w->key))
		return case_bad(r, "%.80s: not KEY=VALUE, KEY.INDEX=VALUE or KEY@SECONDS=VALUE",
				text);
	memcpy(w->key, text, key);
	w->value = equals + 1;
	while (at < equals) {
		size_t length = strcspn(at + 1, ".@=");
		double number;

		/* a time has places */
		if (*at == '@')
			length = (size_t)(equals - at - 1);
		memcpy(part, at + 1, length);
		part[length] = 0;
		if (!case_number(part, &number) || number > 3600)
			return case_bad(r, "%.80s: no index or time \"%s\" from 0 to 3600", text,
					part);
		if (*at == '@')
			w->at_s = number;
		else
			w->index = (int)number;
		at += length + 1;
	}
	return true;
}

/* ---- where a value goes ---- */

static inline u64 *case_field(struct network *n, const struct case_key *key, u32 index)
{
	char *base = (char *)n;

	if (key->scope == CASE_FLOW)
		base = (char *)&n->flow_configs[index];
	else if (key->scope == CASE_SERVER)
		base = (char *)&n->server_configs[index];
	return (u64 *)(void *)(base + key->offset);
}

/* In what runs */
static inline u64 *case_live_field(struct network *n, const struct case_key *key, u32 index)
{
	size_t back = offsetof(struct flow_config, back);

	if (key->scope == CASE_SERVER)
		return (u64 *)(void *)((char *)&n->servers[index].config + key->offset);
	if (key->offset >= back)
		return (u64 *)(void *)((char *)&n->flows[index].back.config + key->offset - back);
	return (u64 *)(void *)((char *)&n->flows[index].config + key->offset);
}

static inline u32 case_count(const struct network *n, enum case_scope scope)
{
	return (u32)(scope == CASE_FLOW ? n->flows_count :
		     scope == CASE_SERVER ? n->servers_count : 1);
}

static inline bool case_change(struct case_reader *r, const struct case_word *w, u64 *field,
			       u64 value)
{
	struct network *n = r->network;
	u32 at = n->changes_count;
	struct network_change change = {
		.at_ns = (u64)(w->at_s * NSEC_PER_SEC), .field = field, .value = value,
	};

	if (at == NETWORK_CHANGES)
		return case_bad(r, "%.80s: more than %d changes", w->text, NETWORK_CHANGES);
	for (; at && n->changes[at - 1].at_ns > change.at_ns; at--)
		n->changes[at] = n->changes[at - 1];
	n->changes[at] = change;
	n->changes_count++;
	return true;
}

/* To one or all, now or later */
static inline bool case_store(struct case_reader *r, const struct case_word *w,
			      const struct case_key *key, u64 value)
{
	u32 count = case_count(r->network, key->scope), i;

	for (i = 0; i < count; i++) {
		if (w->index >= 0 && i != (u32)w->index)
			continue;
		if (w->at_s < 0)
			*case_field(r->network, key, i) = value;
		else if (!case_change(r, w, case_live_field(r->network, key, i), value))
			return false;
	}
	return true;
}

/* ---- values ---- */

static inline bool case_choose(const char *choices, const char *name, u64 *value)
{
	size_t length = strlen(name);

	for (*value = 0; *choices; (*value)++) {
		size_t one = strcspn(choices, " ");

		if (one == length && !memcmp(choices, name, one))
			return true;
		choices += one + (choices[one] == ' ');
	}
	return false;
}

static inline bool case_value(struct case_reader *r, const struct case_word *w,
			      const struct case_key *key, u64 *value)
{
	double number;

	if (key->choices) {
		if (case_choose(key->choices, w->value, value))
			return true;
		return case_bad(r, "%.80s: not one of: %s", w->text, key->choices);
	}
	if (!case_number(w->value, &number) || number < key->min || number > key->max)
		return case_bad(r, "%.80s: not a number from %.10g to %.10g", w->text, key->min,
				key->max);
	*value = (u64)llround(number * key->scale);
	return true;
}

static inline const struct tcp_congestion_ops *case_algorithm(const char *name)
{
	int i;

	if (!strcmp(name, reference_reno.name))
		return &reference_reno;
	if (!strcmp(name, reference_cubic.name))
		return &reference_cubic;
	for (i = 0; i < stack_registered; i++)
		if (!strcmp(name, stack_algorithms[i]->name))
			return stack_algorithms[i];
	return NULL;
}

static inline bool case_cc(struct case_reader *r, const struct case_word *w)
{
	const struct tcp_congestion_ops *algorithm = case_algorithm(w->value);
	u64 source = FLOW_TCP;
	u32 i;

	if (!algorithm && !case_choose("tcp constant poisson", w->value, &source))
		source = FLOW_TCP;
	if ((!algorithm && source == FLOW_TCP) || w->at_s >= 0)
		return case_bad(r, "%.80s: not one of: " CASE_ALGORITHMS, w->text);
	for (i = 0; i < r->network->flows_count; i++) {
		if (w->index >= 0 && i != (u32)w->index)
			continue;
		r->network->flow_configs[i].algorithm = algorithm;
		r->network->flow_configs[i].source = source;
	}
	return true;
}

static inline bool case_name(struct case_reader *r, const struct case_word *w)
{
	const char *good = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			   "0123456789_.,:+-/";
	size_t length = strlen(w->value);

	if (!length || length >= NETWORK_NAME || strspn(w->value, good) != length)
		return case_bad(r, "%.80s: not 1 to %d letters, digits or _.,:+-/", w->text,
				NETWORK_NAME - 1);
	strcpy(r->network->name, w->value);
	return true;
}

static inline bool case_knob(struct case_reader *r, const struct case_word *w,
			     const struct kernel_param *knob)
{
	char before_it[CASE_KNOB_TEXT];
	int err;

	if (!knob->ops->set || w->index >= 0 || w->at_s >= 0)
		return case_bad(r, "%.80s: a module parameter that is set once, for all", w->text);
	if (r->knobs_count == CASE_KNOBS || strlen(w->text) >= sizeof(r->knobs[0]))
		return case_bad(r, "%.80s: more than %d module parameters, or too long", w->text,
				CASE_KNOBS);
	knob->ops->get(before_it, knob);
	err = knob->ops->set(w->value, knob);
	if (err)
		return case_bad(r, "%.*s", (int)strcspn(strstr(stack_message, w->key), "\n"),
				strstr(stack_message, w->key));
	knob->ops->set(before_it, knob);
	strcpy(r->knobs[r->knobs_count++], w->text);
	return true;
}

static inline const struct case_key *case_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(case_keys); i++)
		if (!strcmp(case_keys[i].name, name))
			return &case_keys[i];
	return NULL;
}

static inline bool case_word(struct case_reader *r, const struct case_word *w)
{
	const struct case_key *key = case_find(w->key);
	const struct kernel_param *knob = adapter_knob(w->key);
	enum case_scope scope = key ? key->scope : CASE_FLOW;
	u64 value;

	if (!strcmp(w->key, "name"))
		return case_name(r, w);
	if (!key && knob)
		return case_knob(r, w, knob);
	if (!key && strcmp(w->key, "cc"))
		return case_bad(r, "%.80s: no such key", w->text);
	if (w->index >= (int)case_count(r->network, scope) || (w->index >= 0 && scope == CASE_RUN))
		return case_bad(r, "%.80s: index above %d", w->text,
				scope == CASE_RUN ? -1 : (int)case_count(r->network, scope) - 1);
	if (!key)
		return case_cc(r, w);
	if (w->at_s >= 0 && !key->changes)
		return case_bad(r, "%.80s: does not change during a run", w->text);
	return case_value(r, w, key, &value) && case_store(r, w, key, value);
}

/* ---- lines ---- */

static inline void case_defaults(struct network *n)
{
	size_t i;
	u32 j;

	n->changes_count = 0;
	strcpy(n->name, "case");
	for (i = 0; i < ARRAY_SIZE(case_keys); i++) {
		u32 count = case_keys[i].scope == CASE_FLOW ? NETWORK_FLOWS :
			    case_keys[i].scope == CASE_SERVER ? NETWORK_SERVERS : 1;

		for (j = 0; j < count; j++)
			*case_field(n, &case_keys[i], j) = case_keys[i].initial;
	}
	for (j = 0; j < NETWORK_FLOWS; j++) {
		n->flow_configs[j].bucket = j;
		n->flow_configs[j].algorithm = stack_algorithms[0];
		n->flow_configs[j].source = FLOW_TCP;
	}
}

/* What no key alone can say */
static inline bool case_fits(struct case_reader *r)
{
	struct network *n = r->network;
	u64 hop;
	u32 i;

	for (i = 0; i < n->flows_count; i++) {
		struct flow_config *f = &n->flow_configs[i];
		u64 there_ns = f->ahead_ns;

		if (f->leave == U64_MAX)
			f->leave = n->servers_count - 1;
		if (f->leave >= n->servers_count || f->enter > f->leave)
			return case_bad(r, "leave.%u=%u: not from enter.%u=%u to servers - 1=%u", i,
					(u32)f->leave, i, (u32)f->enter,
					(u32)n->servers_count - 1);
		for (hop = f->enter; hop <= f->leave; hop++)
			there_ns += n->server_configs[hop].delay_ns;
		if (f->path_ns < there_ns)
			return case_bad(r, "path_ms.%u=%g: below the %g ms of ahead_ms and delay_ms", i,
					(double)f->path_ns / 1e6, (double)there_ns / 1e6);
	}
	return true;
}

/* Words that match come in the order of the line */
static inline bool case_words(struct case_reader *r, char *line, int pass)
{
	char *save, *text;

	for (text = strtok_r(line, " \t\r\n", &save); text;
	     text = strtok_r(NULL, " \t\r\n", &save)) {
		struct case_word w;
		bool counts;

		if (!case_split(r, text, &w))
			return false;
		counts = !strcmp(w.key, "flows") || !strcmp(w.key, "servers");
		/* first how many there are, then what all are, then what one is */
		if (pass != (counts ? 0 : w.index < 0 ? 1 : 2))
			continue;
		if (!case_word(r, &w))
			return false;
	}
	return true;
}

/**
 * case_read - a network from a line
 * @r: with the network to be filled
 * @line: words
 *
 * Return: false: something is wrong, and @r->message says what.
 */
static inline bool case_read(struct case_reader *r, const char *line)
{
	int pass;

	r->knobs_count = 0;
	case_defaults(r->network);
	for (pass = 0; pass < 3; pass++) {
		char *copy = strdup(line);
		bool good = copy && case_words(r, copy, pass);

		free(copy);
		if (!good)
			return false;
	}
	return case_fits(r);
}

/* The case's own module parameters; with @undo, what they were before */
static inline void case_set_knobs(struct case_reader *r, bool undo)
{
	static char before_it[CASE_KNOBS][CASE_KNOB_TEXT];
	u32 i;

	for (i = 0; i < r->knobs_count; i++) {
		char *value = strchr(r->knobs[i], '='), name[64];
		const struct kernel_param *knob;

		snprintf(name, sizeof(name), "%.*s", (int)(value - r->knobs[i]), r->knobs[i]);
		knob = adapter_knob(name);
		if (!undo)
			knob->ops->get(before_it[i], knob);
		knob->ops->set(undo ? before_it[i] : value + 1, knob);
	}
}

#endif /* _SIMULATOR_CASE_H */
