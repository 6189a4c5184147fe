// SPDX-License-Identifier: GPL-2.0
/*
 * tc plugin for fq_rr: reads its options, prints its options and statistics.
 *
 * tc loads q_fq_rr.so from its library folder, or from $TC_LIB_DIR. What is
 * printed can be given back as options. The kernel checks every value again;
 * it is checked here too because kernels before 6.2 cannot name it.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <linux/pkt_sched_fq_rr.h>

#include "tc_plugin.h"

/* room for the options in tc's request, whose buffer is far larger (bytes) */
#define FQ_RR_TC_MAX_REQUEST 16384

#define FQ_RR_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const char *const fq_rr_scheduler_names[] = {
	[FQ_RR_SCHEDULER_DRR] = "drr",
	[FQ_RR_SCHEDULER_STRICT] = "strict",
};

static const char *const fq_rr_drop_names[] = {
	[FQ_RR_DROP_LONGEST_QUEUE] = "longest-queue",
	[FQ_RR_DROP_LONGEST_HEAD] = "longest-head",
	[FQ_RR_DROP_LONGEST_TAIL] = "longest-tail",
	[FQ_RR_DROP_ARRIVING] = "arriving",
};

static const char *const fq_rr_mode_names[] = {
	[FQ_RR_MODE_FLOW] = "flow",
	[FQ_RR_MODE_SRC_HOST] = "src-host",
	[FQ_RR_MODE_DST_HOST] = "dst-host",
	[FQ_RR_MODE_CLASS] = "class",
};

_Static_assert(FQ_RR_ARRAY_SIZE(fq_rr_mode_names) == FQ_RR_MODE_MAX + 1,
	       "a name for every mode");

static const char *const fq_rr_hosts_names[] = {
	[FQ_RR_HOSTS_NONE] = "none",
	[FQ_RR_HOSTS_SRC] = "src",
	[FQ_RR_HOSTS_DST] = "dst",
	[FQ_RR_HOSTS_BOTH] = "both",
};

_Static_assert(FQ_RR_ARRAY_SIZE(fq_rr_hosts_names) == FQ_RR_HOSTS_MAX + 1,
	       "a name for all that hosts may be");

static const char *const fq_rr_layer_names[] = {
	[FQ_RR_LAYER_FRAME] = "frame",
	[FQ_RR_LAYER_IP] = "ip",
};

static const char *const fq_rr_framing_names[] = {
	[FQ_RR_FRAMING_PLAIN] = "plain",
	[FQ_RR_FRAMING_ATM] = "atm",
	[FQ_RR_FRAMING_PTM] = "ptm",
};

_Static_assert(FQ_RR_ARRAY_SIZE(fq_rr_layer_names) == FQ_RR_LAYER_MAX + 1,
	       "a name for every layer");
_Static_assert(FQ_RR_ARRAY_SIZE(fq_rr_framing_names) == FQ_RR_FRAMING_MAX + 1,
	       "a name for every framing");
_Static_assert(FQ_RR_ARRAY_SIZE(fq_rr_scheduler_names) ==
	       FQ_RR_SCHEDULER_MAX + 1, "a name for every scheduler");
_Static_assert(FQ_RR_ARRAY_SIZE(fq_rr_drop_names) == FQ_RR_DROP_MAX + 1,
	       "a name for every drop policy");

/* how a value is written */
enum fq_rr_form {
	FQ_RR_FORM_NUMBER,
	FQ_RR_FORM_SIZE,
	FQ_RR_FORM_RATE,
	FQ_RR_FORM_TIME,
	FQ_RR_FORM_NAME,
	FQ_RR_FORM_FLAG,
	FQ_RR_FORM_WORD,	/* alone: 1; shown only then */
};

/**
 * struct fq_rr_option - one option
 * @key: keyword on the command line
 * @json: key in JSON, or NULL if as @key
 * @form: how the value is written
 * @type: attribute
 * @min: least value
 * @max: greatest value
 * @special: word for the value @special_value, or NULL
 * @special_value: what that word stands for
 * @names: words for the values from 0, with FQ_RR_FORM_NAME
 */
struct fq_rr_option {
	const char *key;
	const char *json;
	enum fq_rr_form form;
	int type;
	__s64 min;
	__s64 max;
	const char *special;
	__u64 special_value;
	const char *const *names;
};

static const struct fq_rr_option fq_rr_options[] = {
	{ .key = "limit", .form = FQ_RR_FORM_NUMBER, .type = TCA_FQ_RR_LIMIT,
	  .min = FQ_RR_LIMIT_MIN, .max = FQ_RR_LIMIT_MAX,
	  .special = "auto", .special_value = FQ_RR_LIMIT_AUTO },
	{ .key = "memory-limit", .json = "memory_limit",
	  .form = FQ_RR_FORM_SIZE, .type = TCA_FQ_RR_MEMORY_LIMIT,
	  .min = FQ_RR_MEMORY_LIMIT_MIN, .max = FQ_RR_MEMORY_LIMIT_MAX,
	  .special = "auto", .special_value = FQ_RR_MEMORY_LIMIT_AUTO },
	{ .key = "flows", .form = FQ_RR_FORM_NUMBER, .type = TCA_FQ_RR_FLOWS,
	  .min = FQ_RR_FLOWS_MIN, .max = FQ_RR_FLOWS_MAX },
	{ .key = "quantum", .form = FQ_RR_FORM_SIZE,
	  .type = TCA_FQ_RR_QUANTUM,
	  .min = FQ_RR_QUANTUM_MIN, .max = FQ_RR_QUANTUM_MAX,
	  .special = "auto", .special_value = FQ_RR_QUANTUM_AUTO },
	{ .key = "rate", .form = FQ_RR_FORM_RATE, .type = TCA_FQ_RR_RATE64,
	  .min = FQ_RR_RATE_MIN, .max = FQ_RR_RATE_MAX,
	  .special = "unlimited", .special_value = FQ_RR_RATE_NONE },
	{ .key = "overhead", .form = FQ_RR_FORM_NUMBER,
	  .type = TCA_FQ_RR_OVERHEAD,
	  .min = FQ_RR_OVERHEAD_MIN, .max = FQ_RR_OVERHEAD_MAX },
	{ .key = "mpu", .form = FQ_RR_FORM_NUMBER, .type = TCA_FQ_RR_MPU,
	  .min = 0, .max = FQ_RR_MPU_MAX },
	{ .key = "scheduler", .form = FQ_RR_FORM_NAME,
	  .type = TCA_FQ_RR_SCHEDULER,
	  .min = 0, .max = FQ_RR_SCHEDULER_MAX,
	  .names = fq_rr_scheduler_names },
	{ .key = "drop", .form = FQ_RR_FORM_NAME, .type = TCA_FQ_RR_DROP,
	  .min = 0, .max = FQ_RR_DROP_MAX, .names = fq_rr_drop_names },
	{ .key = "split-gso", .json = "split_gso", .form = FQ_RR_FORM_FLAG,
	  .type = TCA_FQ_RR_SPLIT_GSO, .min = 0, .max = 1 },
	{ .key = "seed", .form = FQ_RR_FORM_NUMBER, .type = TCA_FQ_RR_SEED,
	  .min = 1, .max = UINT32_MAX,
	  .special = "random", .special_value = FQ_RR_SEED_RANDOM },
	{ .key = "qlbp", .form = FQ_RR_FORM_FLAG, .type = TCA_FQ_RR_QLBP,
	  .min = 0, .max = 1 },
	{ .key = "mu-min", .json = "mu_min", .form = FQ_RR_FORM_RATE,
	  .type = TCA_FQ_RR_MU_MIN,
	  .min = FQ_RR_RATE_MIN, .max = FQ_RR_RATE_MAX,
	  .special = "auto", .special_value = FQ_RR_MU_AUTO },
	{ .key = "mu-max", .json = "mu_max", .form = FQ_RR_FORM_RATE,
	  .type = TCA_FQ_RR_MU_MAX,
	  .min = FQ_RR_RATE_MIN, .max = FQ_RR_RATE_MAX,
	  .special = "auto", .special_value = FQ_RR_MU_AUTO },
	{ .key = "q-max", .json = "q_max", .form = FQ_RR_FORM_SIZE,
	  .type = TCA_FQ_RR_Q_MAX,
	  .min = FQ_RR_Q_MAX_MIN, .max = FQ_RR_Q_MAX_MAX,
	  .special = "auto", .special_value = FQ_RR_Q_MAX_AUTO },
	{ .key = "load", .form = FQ_RR_FORM_NUMBER, .type = TCA_FQ_RR_LOAD,
	  .min = FQ_RR_LOAD_MIN, .max = FQ_RR_LOAD_MAX },
	{ .key = "max-delay", .json = "max_delay_us", .form = FQ_RR_FORM_TIME,
	  .type = TCA_FQ_RR_MAX_DELAY,
	  .min = FQ_RR_MAX_DELAY_MIN, .max = FQ_RR_MAX_DELAY_MAX },
	{ .key = "mode", .form = FQ_RR_FORM_NAME, .type = TCA_FQ_RR_MODE,
	  .min = 0, .max = FQ_RR_MODE_MAX, .names = fq_rr_mode_names },
	{ .key = "charge-drops", .json = "charge_drops",
	  .form = FQ_RR_FORM_FLAG, .type = TCA_FQ_RR_CHARGE_DROPS,
	  .min = 0, .max = 1 },
	{ .key = "ecn", .form = FQ_RR_FORM_NUMBER, .type = TCA_FQ_RR_ECN,
	  .min = FQ_RR_ECN_MIN, .max = FQ_RR_ECN_MAX,
	  .special = "off", .special_value = FQ_RR_ECN_OFF },
	{ .key = "layer", .form = FQ_RR_FORM_NAME, .type = TCA_FQ_RR_LAYER,
	  .min = 0, .max = FQ_RR_LAYER_MAX, .names = fq_rr_layer_names },
	{ .key = "framing", .form = FQ_RR_FORM_NAME,
	  .type = TCA_FQ_RR_FRAMING,
	  .min = 0, .max = FQ_RR_FRAMING_MAX, .names = fq_rr_framing_names },
	{ .key = "catch-up", .json = "catch_up_us", .form = FQ_RR_FORM_TIME,
	  .type = TCA_FQ_RR_CATCH_UP,
	  .min = FQ_RR_CATCH_UP_MIN, .max = FQ_RR_CATCH_UP_MAX },
	{ .key = "aqm", .form = FQ_RR_FORM_FLAG, .type = TCA_FQ_RR_AQM,
	  .min = 0, .max = 1 },
	{ .key = "target", .json = "target_us", .form = FQ_RR_FORM_TIME,
	  .type = TCA_FQ_RR_TARGET,
	  .min = FQ_RR_TARGET_MIN, .max = FQ_RR_TARGET_MAX },
	{ .key = "interval", .json = "interval_us", .form = FQ_RR_FORM_TIME,
	  .type = TCA_FQ_RR_INTERVAL,
	  .min = FQ_RR_INTERVAL_MIN, .max = FQ_RR_INTERVAL_MAX },
	{ .key = "ce-threshold", .json = "ce_threshold_us",
	  .form = FQ_RR_FORM_TIME, .type = TCA_FQ_RR_CE_THRESHOLD,
	  .min = FQ_RR_CE_THRESHOLD_MIN, .max = FQ_RR_CE_THRESHOLD_MAX,
	  .special = "off", .special_value = FQ_RR_CE_THRESHOLD_OFF },
	{ .key = "noecn", .form = FQ_RR_FORM_WORD, .type = TCA_FQ_RR_NOECN,
	  .min = 0, .max = 1 },
	{ .key = "hosts", .form = FQ_RR_FORM_NAME, .type = TCA_FQ_RR_HOSTS,
	  .min = 0, .max = FQ_RR_HOSTS_MAX, .names = fq_rr_hosts_names },
	{ .key = "nat", .form = FQ_RR_FORM_FLAG, .type = TCA_FQ_RR_NAT,
	  .min = 0, .max = 1 },
};

/*
 * Links by name, with the names and numbers of CAKE's. Each sets all that there
 * is to say of a link, so that nothing of the last one stays.
 */
static const struct fq_rr_link {
	const char *name;
	int overhead;
	int mpu;
	int framing;
	int layer;
} fq_rr_links[] = {
	{ "raw",	     0,  0, FQ_RR_FRAMING_PLAIN, FQ_RR_LAYER_FRAME },
	{ "conservative",   48,  0, FQ_RR_FRAMING_ATM,   FQ_RR_LAYER_IP },
	{ "ipoa-vcmux",	     8,  0, FQ_RR_FRAMING_ATM,   FQ_RR_LAYER_IP },
	{ "ipoa-llcsnap",   16,  0, FQ_RR_FRAMING_ATM,   FQ_RR_LAYER_IP },
	{ "bridged-vcmux",  24,  0, FQ_RR_FRAMING_ATM,   FQ_RR_LAYER_IP },
	{ "bridged-llcsnap", 32, 0, FQ_RR_FRAMING_ATM,   FQ_RR_LAYER_IP },
	{ "pppoa-vcmux",    10,  0, FQ_RR_FRAMING_ATM,   FQ_RR_LAYER_IP },
	{ "pppoa-llc",	    14,  0, FQ_RR_FRAMING_ATM,   FQ_RR_LAYER_IP },
	{ "pppoe-vcmux",    32,  0, FQ_RR_FRAMING_ATM,   FQ_RR_LAYER_IP },
	{ "pppoe-llcsnap",  40,  0, FQ_RR_FRAMING_ATM,   FQ_RR_LAYER_IP },
	{ "pppoe-ptm",	    30,  0, FQ_RR_FRAMING_PTM,   FQ_RR_LAYER_IP },
	{ "bridged-ptm",    22,  0, FQ_RR_FRAMING_PTM,   FQ_RR_LAYER_IP },
	{ "docsis",	    18, 64, FQ_RR_FRAMING_PLAIN, FQ_RR_LAYER_IP },
	{ "ethernet",	    38, 84, FQ_RR_FRAMING_PLAIN, FQ_RR_LAYER_IP },
};

/* a VLAN tag on the link that the device does not know of (bytes) */
#define FQ_RR_VLAN_BYTES 4

static const struct fq_rr_option fq_rr_class_options[] = {
	{ .key = "weight", .form = FQ_RR_FORM_NUMBER,
	  .type = TCA_FQ_RR_CLASS_WEIGHT,
	  .min = FQ_RR_WEIGHT_MIN, .max = FQ_RR_WEIGHT_MAX },
};

/* a family of options: those of the qdisc, or those of a class */
struct fq_rr_options {
	const struct fq_rr_option *option;
	unsigned int count;
	void (*explain)(void);
};

static void fq_rr_explain(void)
{
	fprintf(stderr,
		"Usage: ... fq_rr [ limit PACKETS | auto ] [ memory-limit BYTES | auto ] [ flows NUMBER ]\n"
		"                 [ quantum BYTES | auto ] [ rate RATE | unlimited ] [ catch-up TIME ]\n"
		"                 [ overhead BYTES ] [ mpu BYTES ]\n"
		"                 [ scheduler drr | strict ]\n"
		"                 [ drop longest-queue | longest-head | longest-tail | arriving ]\n"
		"                 [ split-gso | no-split-gso ] [ seed NUMBER | random ]\n"
		"                 [ mode flow | src-host | dst-host | class ]\n"
		"                 [ hosts none | src | dst | both ] [ nat | no-nat ]\n"
		"                 [ charge-drops | no-charge-drops ] [ ecn PERCENT | off ]\n"
		"                 [ aqm | no-aqm ] [ target TIME ] [ interval TIME ]\n"
		"                 [ ce-threshold TIME | off ] [ ecn | noecn ]\n"
		"                 [ no-qlbp | qlbp [ mu-min RATE | auto ] [ mu-max RATE | auto ]\n"
		"                   [ q-max BYTES | auto ] [ load PERCENT ] [ max-delay TIME ] ]\n"
		"                 [ layer frame | ip ] [ framing plain | atm | ptm ]\n"
		"                 [ LINK [ ether-vlan ]... ] [ atm | ptm | noatm ]\n"
		"LINK := raw | conservative | ethernet | docsis | pppoe-ptm | bridged-ptm |\n"
		"        pppoa-vcmux | pppoa-llc | pppoe-vcmux | pppoe-llcsnap |\n"
		"        bridged-vcmux | bridged-llcsnap | ipoa-vcmux | ipoa-llcsnap\n");
}

static void fq_rr_explain_class(void)
{
	fprintf(stderr, "Usage: ... fq_rr [ weight NUMBER ]\n");
}

static const struct fq_rr_options fq_rr_of_qdisc = {
	fq_rr_options, FQ_RR_ARRAY_SIZE(fq_rr_options), fq_rr_explain,
};

static const struct fq_rr_options fq_rr_of_class = {
	fq_rr_class_options, FQ_RR_ARRAY_SIZE(fq_rr_class_options),
	fq_rr_explain_class,
};

/* ---- parse ---- */

/* what may follow a number, and what it stands for */
struct fq_rr_unit {
	const char *suffix;
	double factor;
};

static const struct fq_rr_unit fq_rr_sizes[] = {
	{ "", 1 }, { "b", 1 },
	{ "k", 1 << 10 }, { "kb", 1 << 10 },
	{ "m", 1 << 20 }, { "mb", 1 << 20 },
	{ "g", 1 << 30 }, { "gb", 1 << 30 },
	{ NULL, 0 },
};

/* in microseconds, which a time without a unit is in, as everywhere in tc */
static const struct fq_rr_unit fq_rr_times[] = {
	{ "", 1 }, { "us", 1 }, { "ms", 1e3 }, { "s", 1e6 }, { NULL, 0 },
};

/* a number that may have a fraction, and a unit */
static int fq_rr_parse_amount(const struct fq_rr_unit *unit, const char *arg,
			      double *value)
{
	char *end;

	*value = strtod(arg, &end);
	if (end == arg || !isfinite(*value))
		return -1;
	for (; unit->suffix; unit++) {
		if (strcasecmp(end, unit->suffix))
			continue;
		*value = trunc(*value * unit->factor);
		return 0;
	}
	return -1;
}

static int fq_rr_parse_number(const char *arg, double *value)
{
	char *end;

	/* beyond the range of the type is beyond every limit below, too */
	*value = strtoll(arg, &end, 0);
	return end == arg || *end ? -1 : 0;
}

/* a rate in bytes per second; tc's own reader takes a sign for a huge rate */
static int fq_rr_parse_rate(const char *arg, double *value)
{
	__u64 rate;

	if (!isdigit((unsigned char)*arg) && *arg != '.')
		return -1;
	if (get_rate64(&rate, arg))
		return -1;
	*value = rate;
	return 0;
}

static int fq_rr_parse_name(const struct fq_rr_option *o, const char *arg,
			    double *value)
{
	__s64 i;

	for (i = 0; i <= o->max; i++) {
		if (strcmp(arg, o->names[i]))
			continue;
		*value = i;
		return 0;
	}
	return -1;
}

/* what would have been right */
static void fq_rr_complain(const struct fq_rr_option *o, const char *arg)
{
	__s64 i;

	fprintf(stderr, "fq_rr: %s \"%s\" is not ", o->key, arg);
	switch (o->form) {
	case FQ_RR_FORM_NAME:
		for (i = 0; i <= o->max; i++)
			fprintf(stderr, "%s%s", i ? " | " : "one of ",
				o->names[i]);
		break;
	case FQ_RR_FORM_RATE:
		fprintf(stderr, "in %lldbit..%lldGbit", o->min * 8,
			o->max * 8 / 1000000000);
		break;
	case FQ_RR_FORM_SIZE:
		fprintf(stderr, "in %lld..%lld bytes", o->min, o->max);
		break;
	case FQ_RR_FORM_TIME:
		fprintf(stderr, "in %lldus..%llds", o->min, o->max / 1000000);
		break;
	default:
		fprintf(stderr, "a whole number in %lld..%lld", o->min,
			o->max);
	}
	fprintf(stderr, "%s%s\n", o->special ? " nor " : "",
		o->special ? o->special : "");
}

static int fq_rr_parse_value(const struct fq_rr_option *o, const char *arg,
			     __u64 *result)
{
	double value;
	int err;

	if (o->special && !strcmp(arg, o->special)) {
		*result = o->special_value;
		return 0;
	}
	switch (o->form) {
	case FQ_RR_FORM_SIZE:
		err = fq_rr_parse_amount(fq_rr_sizes, arg, &value);
		break;
	case FQ_RR_FORM_TIME:
		err = fq_rr_parse_amount(fq_rr_times, arg, &value);
		break;
	case FQ_RR_FORM_RATE:
		err = fq_rr_parse_rate(arg, &value);
		break;
	case FQ_RR_FORM_NAME:
		err = fq_rr_parse_name(o, arg, &value);
		break;
	default:
		err = fq_rr_parse_number(arg, &value);
	}
	if (err || value < o->min || value > o->max) {
		fq_rr_complain(o, arg);
		return -1;
	}
	/* every limit is far below 2^53: a double holds the value exactly */
	*result = (__s64)value;
	return 0;
}

static const struct fq_rr_option *
fq_rr_find(const struct fq_rr_options *family, const char *key)
{
	unsigned int i;

	for (i = 0; i < family->count; i++)
		if (!strcmp(key, family->option[i].key))
			return &family->option[i];
	return NULL;
}

/* options as they were asked for */
struct fq_rr_request {
	const struct fq_rr_options *family;
	bool given[TCA_FQ_RR_MAX + 1];
	__u64 value[TCA_FQ_RR_MAX + 1];
};

/* note a value; -1 if there is one already */
static int fq_rr_set(struct fq_rr_request *request,
		     const struct fq_rr_option *o, __u64 value)
{
	if (request->given[o->type]) {
		fprintf(stderr, "fq_rr: %s is given twice\n", o->key);
		return -1;
	}
	request->given[o->type] = true;
	request->value[o->type] = value;
	return 0;
}

static int fq_rr_set_key(struct fq_rr_request *request, const char *key,
			 __u64 value)
{
	return fq_rr_set(request, fq_rr_find(request->family, key), value);
}

/* one more tag in the overhead that has been given before */
static int fq_rr_parse_vlan(struct fq_rr_request *request)
{
	const struct fq_rr_option *o = fq_rr_find(request->family, "overhead");
	__s64 overhead = (__s32)request->value[o->type];

	if (!request->given[o->type]) {
		fprintf(stderr, "fq_rr: ether-vlan adds %d to an overhead: name that, or a link, before it\n",
			FQ_RR_VLAN_BYTES);
		return -1;
	}
	overhead += FQ_RR_VLAN_BYTES;
	if (overhead > o->max) {
		fprintf(stderr, "fq_rr: overhead %lld with ether-vlan is not in %lld..%lld\n",
			overhead, o->min, o->max);
		return -1;
	}
	request->value[o->type] = overhead;
	return 0;
}

/* words for a link: 1 if @word is one, 0 if not, -1 if it is wrong here */
static int fq_rr_parse_link(struct fq_rr_request *request, const char *word)
{
	static const struct {
		const char *word;
		__u64 framing;
	} framings[] = {
		{ "noatm", FQ_RR_FRAMING_PLAIN },
		{ "atm", FQ_RR_FRAMING_ATM },
		{ "ptm", FQ_RR_FRAMING_PTM },
	};
	unsigned int i;

	if (request->family != &fq_rr_of_qdisc)
		return 0;
	if (!strcmp(word, "ether-vlan"))
		return fq_rr_parse_vlan(request) ? -1 : 1;
	for (i = 0; i < FQ_RR_ARRAY_SIZE(framings); i++)
		if (!strcmp(word, framings[i].word))
			return fq_rr_set_key(request, "framing",
					     framings[i].framing) ? -1 : 1;
	for (i = 0; i < FQ_RR_ARRAY_SIZE(fq_rr_links); i++) {
		const struct fq_rr_link *link = &fq_rr_links[i];

		if (strcmp(word, link->name))
			continue;
		if (fq_rr_set_key(request, "overhead", link->overhead) ||
		    fq_rr_set_key(request, "mpu", link->mpu) ||
		    fq_rr_set_key(request, "framing", link->framing) ||
		    fq_rr_set_key(request, "layer", link->layer))
			return -1;
		return 1;
	}
	return 0;
}

/* "ecn" alone takes noecn back, as with fq_codel; with a value it is another option */
static bool fq_rr_is_plain_ecn(int argc, char **argv)
{
	return !strcmp(argv[0], "ecn") &&
	       (argc < 2 || (strcmp(argv[1], "off") &&
			     !isdigit((unsigned char)*argv[1])));
}

/**
 * fq_rr_parse_one - read one option
 * @request: where it goes to
 * @argc: arguments left, at least 1
 * @argv: arguments
 *
 * Return: arguments used, or -1 after having said what is wrong.
 */
static int fq_rr_parse_one(struct fq_rr_request *request, int argc, char **argv)
{
	const char *key = argv[0];
	bool no = !strncmp(key, "no-", 3);
	const struct fq_rr_option *option;
	int used = fq_rr_parse_link(request, key);
	__u64 value;

	if (used)
		return used;
	if (request->family == &fq_rr_of_qdisc && fq_rr_is_plain_ecn(argc, argv))
		return fq_rr_set_key(request, "noecn", 0) ? -1 : 1;
	option = fq_rr_find(request->family, no ? key + 3 : key);
	if (!option || (no && option->form != FQ_RR_FORM_FLAG)) {
		fprintf(stderr, "fq_rr: what is \"%s\"?\n", key);
		request->family->explain();
		return -1;
	}
	if (option->form == FQ_RR_FORM_FLAG)
		return fq_rr_set(request, option, !no) ? -1 : 1;
	if (option->form == FQ_RR_FORM_WORD)
		return fq_rr_set(request, option, 1) ? -1 : 1;
	if (argc < 2) {
		fprintf(stderr, "fq_rr: %s needs a value\n", key);
		return -1;
	}
	if (fq_rr_parse_value(option, argv[1], &value) ||
	    fq_rr_set(request, option, value))
		return -1;
	return 2;
}

static void fq_rr_add(struct nlmsghdr *n, const struct fq_rr_option *o,
		      __u64 value)
{
	__u32 narrow = value;

	if (o->form == FQ_RR_FORM_RATE)
		addattr_l(n, FQ_RR_TC_MAX_REQUEST, o->type, &value,
			  sizeof(value));
	else
		addattr_l(n, FQ_RR_TC_MAX_REQUEST, o->type, &narrow,
			  sizeof(narrow));
}

static int fq_rr_parse_all(const struct fq_rr_options *family, int argc,
			   char **argv, struct nlmsghdr *n)
{
	struct fq_rr_request request = { .family = family };
	struct rtattr *nest;
	unsigned int i;

	if (argc > 0 && !strcmp(argv[0], "help")) {
		family->explain();
		return -1;
	}
	while (argc > 0) {
		int used = fq_rr_parse_one(&request, argc, argv);

		if (used < 0)
			return -1;
		argc -= used;
		argv += used;
	}
	nest = addattr_nest(n, FQ_RR_TC_MAX_REQUEST,
			    TCA_OPTIONS | NLA_F_NESTED);
	for (i = 0; i < family->count; i++) {
		const struct fq_rr_option *o = &family->option[i];

		if (request.given[o->type])
			fq_rr_add(n, o, request.value[o->type]);
	}
	addattr_nest_end(n, nest);
	return 0;
}

static int fq_rr_parse_opt(struct tc_plugin_qdisc *qu, int argc, char **argv,
			   struct nlmsghdr *n, const char *dev)
{
	(void)qu;
	(void)dev;
	return fq_rr_parse_all(&fq_rr_of_qdisc, argc, argv, n);
}

static int fq_rr_parse_copt(struct tc_plugin_qdisc *qu, int argc, char **argv,
			    struct nlmsghdr *n, const char *dev)
{
	(void)qu;
	(void)dev;
	return fq_rr_parse_all(&fq_rr_of_class, argc, argv, n);
}

/* ---- print ---- */

/*
 * In the largest unit that loses nothing, so that the text can be given back.
 * Units go up by @step.
 */
static void fq_rr_exact(char *text, size_t room, __u64 value, __u64 step,
			const char *const units[4])
{
	int i = 0;

	while (i < 3 && value && value % step == 0) {
		value /= step;
		i++;
	}
	snprintf(text, room, "%llu%s", value, units[i]);
}

static void fq_rr_print_special(const struct fq_rr_option *o, const char *json)
{
	char text[64];

	/* a number in JSON, or null where the user left the choice to us */
	print_color_null(TC_PRINT_JSON, TC_COLOR_NONE, json, NULL, NULL);
	snprintf(text, sizeof(text), "%s %s ", o->key, o->special);
	print_color_string(TC_PRINT_FP, TC_COLOR_NONE, NULL, "%s", text);
}

static void fq_rr_print_amount(const struct fq_rr_option *o, const char *json,
			       __u64 value)
{
	static const char *const sizes[] = { "b", "Kb", "Mb", "Gb" };
	static const char *const rates[] = { "bit", "Kbit", "Mbit", "Gbit" };
	static const char *const times[] = { "us", "ms", "s", "s" };
	char amount[32];
	char text[64];

	if (o->form == FQ_RR_FORM_RATE)
		fq_rr_exact(amount, sizeof(amount), value * 8, 1000, rates);
	else if (o->form == FQ_RR_FORM_TIME)
		fq_rr_exact(amount, sizeof(amount), value, 1000, times);
	else
		fq_rr_exact(amount, sizeof(amount), value, 1024, sizes);
	snprintf(text, sizeof(text), "%s %s ", o->key, amount);
	print_color_u64(TC_PRINT_JSON, TC_COLOR_NONE, json, NULL, value);
	print_color_string(TC_PRINT_FP, TC_COLOR_NONE, NULL, "%s", text);
}

static void fq_rr_print_name(const struct fq_rr_option *o, const char *json,
			     __u64 value)
{
	const char *name = value <= (__u64)o->max ? o->names[value] : "unknown";
	char fmt[64];

	snprintf(fmt, sizeof(fmt), "%s %%s ", o->key);
	print_color_string(TC_PRINT_ANY, TC_COLOR_NONE, json, fmt, name);
}

static void fq_rr_print_one(const struct fq_rr_option *o, __u64 value)
{
	const char *json = o->json ? o->json : o->key;
	char fmt[64];

	if (o->special && value == o->special_value) {
		fq_rr_print_special(o, json);
		return;
	}
	switch (o->form) {
	case FQ_RR_FORM_SIZE:
	case FQ_RR_FORM_RATE:
	case FQ_RR_FORM_TIME:
		fq_rr_print_amount(o, json, value);
		break;
	case FQ_RR_FORM_NAME:
		fq_rr_print_name(o, json, value);
		break;
	case FQ_RR_FORM_FLAG:
		print_color_bool(TC_PRINT_JSON, TC_COLOR_NONE, json, NULL,
				 value);
		snprintf(fmt, sizeof(fmt), "%s%s ", value ? "" : "no-",
			 o->key);
		print_color_string(TC_PRINT_FP, TC_COLOR_NONE, NULL, "%s",
				   fmt);
		break;
	case FQ_RR_FORM_WORD:
		print_color_bool(TC_PRINT_JSON, TC_COLOR_NONE, json, NULL,
				 value);
		if (value)
			print_color_string(TC_PRINT_FP, TC_COLOR_NONE, NULL,
					   "%s ", o->key);
		break;
	case FQ_RR_FORM_NUMBER:
		snprintf(fmt, sizeof(fmt), "%s %%lld ", o->key);
		/* only the overhead may be negative, and is 32 bits wide */
		print_color_s64(TC_PRINT_ANY, TC_COLOR_NONE, json, fmt,
				o->min < 0 ? (__s64)(__s32)value :
					     (__s64)value);
	}
}

/* an attribute of 4 or 8 bytes; anything else is not ours */
static bool fq_rr_get(const struct rtattr *attr, __u64 *value)
{
	__u32 narrow;

	if (!attr)
		return false;
	switch (RTA_PAYLOAD(attr)) {
	case sizeof(narrow):
		memcpy(&narrow, RTA_DATA(attr), sizeof(narrow));
		*value = narrow;
		return true;
	case sizeof(*value):
		memcpy(value, RTA_DATA(attr), sizeof(*value));
		return true;
	default:
		return false;
	}
}

static void fq_rr_parse_nest(struct rtattr *tb[], int max, struct rtattr *nest)
{
	parse_rtattr_flags(tb, max, RTA_DATA(nest), RTA_PAYLOAD(nest),
			   NLA_F_NESTED);
}

static int fq_rr_print_all(const struct fq_rr_options *family,
			   struct rtattr *opt)
{
	struct rtattr *tb[TCA_FQ_RR_MAX + 1];
	unsigned int i;
	__u64 value;

	if (!opt)
		return 0;
	fq_rr_parse_nest(tb, TCA_FQ_RR_MAX, opt);
	for (i = 0; i < family->count; i++)
		if (fq_rr_get(tb[family->option[i].type], &value))
			fq_rr_print_one(&family->option[i], value);
	return 0;
}

static int fq_rr_print_opt(struct tc_plugin_qdisc *qu, FILE *f,
			   struct rtattr *opt)
{
	(void)qu;
	(void)f;
	return fq_rr_print_all(&fq_rr_of_qdisc, opt);
}

static int fq_rr_print_copt(struct tc_plugin_qdisc *qu, FILE *f,
			    struct rtattr *opt)
{
	(void)qu;
	(void)f;
	return fq_rr_print_all(&fq_rr_of_class, opt);
}

/* statistics: key in JSON, and what stands before the number in text */
static const struct {
	int type;
	const char *json;
	const char *text;
} fq_rr_stats[] = {
	{ TCA_FQ_RR_STATS_FLOWS_ACTIVE, "flows_active", "  flows active" },
	{ TCA_FQ_RR_STATS_ACTIVATIONS, "activations", " activations" },
	{ TCA_FQ_RR_STATS_SPARSE, "sparse", " sparse" },
	{ TCA_FQ_RR_STATS_COLLISIONS, "collisions", " collisions" },
	{ TCA_FQ_RR_STATS_ENQUEUED, "enqueued", "\n  enqueued" },
	{ TCA_FQ_RR_STATS_SPLIT, "split", " split" },
	{ TCA_FQ_RR_STATS_SEGMENTS, "segments", " into" },
	{ TCA_FQ_RR_STATS_OVER_LIMIT, "over_limit", "\n  over-limit" },
	{ TCA_FQ_RR_STATS_OVER_MEMORY, "over_memory", " over-memory" },
	{ TCA_FQ_RR_STATS_FLUSHES, "flushes", " flushes" },
	{ TCA_FQ_RR_STATS_DROPS_FLUSHED, "drops_flushed", "\n  drops flushed" },
	{ TCA_FQ_RR_STATS_DROPS_HEAD, "drops_head", " head" },
	{ TCA_FQ_RR_STATS_DROPS_TAIL, "drops_tail", " tail" },
	{ TCA_FQ_RR_STATS_DROPS_ARRIVING, "drops_arriving", " arriving" },
	{ TCA_FQ_RR_STATS_DROPS_GSO, "drops_gso", " gso" },
	{ TCA_FQ_RR_STATS_LONGEST, "longest_bytes", "\n  longest (bytes)" },
	{ TCA_FQ_RR_STATS_LONGEST_MAX, "longest_max_bytes", " max" },
	{ TCA_FQ_RR_STATS_MEMORY, "memory_bytes", " memory (bytes)" },
	{ TCA_FQ_RR_STATS_MEMORY_MAX, "memory_max_bytes", " max" },
	{ TCA_FQ_RR_STATS_AV_DELAY, "avg_delay_us", "\n  av_delay (us)" },
	{ TCA_FQ_RR_STATS_PK_DELAY, "peak_delay_us", " pk_delay (us)" },
	{ TCA_FQ_RR_STATS_LIMIT, "limit_packets", "\n  limit (packets)" },
	{ TCA_FQ_RR_STATS_MEMORY_LIMIT, "memory_limit_bytes", " memory-limit (bytes)" },
	{ TCA_FQ_RR_STATS_QUANTUM, "quantum_bytes", " quantum (bytes)" },
	{ TCA_FQ_RR_STATS_LAG_MAX, "lag_max_ns", " lag max (ns)" },
	{ TCA_FQ_RR_STATS_LOST, "lost_ns", " lost (ns)" },
	{ TCA_FQ_RR_STATS_MU_MIN, "mu_min_Bps", "\n  qlbp mu-min (bytes/s)" },
	{ TCA_FQ_RR_STATS_MU_MAX, "mu_max_Bps", " mu-max" },
	{ TCA_FQ_RR_STATS_Q_MAX, "q_max_bytes", " q-max (bytes)" },
	{ TCA_FQ_RR_STATS_PACING_RATE, "pacing_rate_Bps", " rate (bytes/s)" },
	{ TCA_FQ_RR_STATS_PACING_BOUND, "pacing_bound_ns", " delay bound (ns)" },
	{ TCA_FQ_RR_STATS_CLASSIFIED, "classified", "\n  classified" },
	{ TCA_FQ_RR_STATS_REHASHES, "rehashes", " rehashes" },
	{ TCA_FQ_RR_STATS_MARKS, "marks", " marks" },
	{ TCA_FQ_RR_STATS_OVER_SHARE, "over_share", " over-share" },
	{ TCA_FQ_RR_STATS_DROPS_AQM, "drops_aqm", "\n  aqm drops" },
	{ TCA_FQ_RR_STATS_MARKS_AQM, "marks_aqm", " marks" },
	{ TCA_FQ_RR_STATS_MARKS_CE, "marks_ce", " ce-threshold marks" },
	{ TCA_FQ_RR_STATS_HOSTS_ACTIVE, "hosts_active", "\n  hosts active" },
};

static void fq_rr_print_number(const struct rtattr *attr, const char *json, const char *fmt)
{
	__u64 value;

	if (fq_rr_get(attr, &value))
		print_color_u64(TC_PRINT_ANY, TC_COLOR_NONE, json, fmt, value);
}

/* a word in text if it is so, true or false in JSON */
static void fq_rr_print_state(const struct rtattr *attr, const char *word)
{
	__u64 value;

	if (!fq_rr_get(attr, &value))
		return;
	print_color_bool(TC_PRINT_JSON, TC_COLOR_NONE, word, NULL, value);
	if (value)
		print_color_string(TC_PRINT_FP, TC_COLOR_NONE, NULL, " %s", word);
}

/* what is shown of one queue; the credit may be negative */
static void fq_rr_print_flow(struct rtattr *nest)
{
	struct rtattr *tb[TCA_FQ_RR_FLOW_MAX + 1];
	__u64 value;

	fq_rr_parse_nest(tb, TCA_FQ_RR_FLOW_MAX, nest);
	if (fq_rr_get(tb[TCA_FQ_RR_FLOW_CREDIT], &value))
		print_color_s64(TC_PRINT_ANY, TC_COLOR_NONE, "credit",
				"  credit %" PRId64, (__s64)value);
	if (fq_rr_get(tb[TCA_FQ_RR_FLOW_HEAD], &value))
		print_color_u64(TC_PRINT_ANY, TC_COLOR_NONE, "head_bytes",
				" head (bytes) %" PRIu64, value);
	if (fq_rr_get(tb[TCA_FQ_RR_FLOW_HASH], &value))
		print_color_u64(TC_PRINT_ANY, TC_COLOR_NONE, "hash",
				" hash %08" PRIx64, value);
	if (fq_rr_get(tb[TCA_FQ_RR_FLOW_HOST], &value))
		print_color_u64(TC_PRINT_ANY, TC_COLOR_NONE, "host",
				" host %" PRIu64, value);
	fq_rr_print_state(tb[TCA_FQ_RR_FLOW_SPARSE], "sparse");
	fq_rr_print_number(tb[TCA_FQ_RR_FLOW_AV_DELAY], "avg_delay_us",
			   "\n  av_delay (us) %" PRIu64);
	fq_rr_print_number(tb[TCA_FQ_RR_FLOW_PK_DELAY], "peak_delay_us",
			   " pk_delay (us) %" PRIu64);
	fq_rr_print_number(tb[TCA_FQ_RR_FLOW_MARKS], "marks", " marks %" PRIu64);
	fq_rr_print_number(tb[TCA_FQ_RR_FLOW_COUNT], "count", " count %" PRIu64);
	fq_rr_print_state(tb[TCA_FQ_RR_FLOW_ABOVE], "above");
	fq_rr_print_state(tb[TCA_FQ_RR_FLOW_DROPPING], "dropping");
	if (fq_rr_get(tb[TCA_FQ_RR_FLOW_DROP_NEXT], &value))
		print_color_s64(TC_PRINT_ANY, TC_COLOR_NONE, "drop_next_us",
				" drop_next (us) %" PRId64, (__s32)value);
}

static int fq_rr_print_xstats(struct tc_plugin_qdisc *qu, FILE *f,
			      struct rtattr *xstats)
{
	struct rtattr *tb[TCA_FQ_RR_STATS_MAX + 1];
	unsigned int i;
	char fmt[64];
	__u64 value;

	(void)qu;
	(void)f;
	if (!xstats)
		return 0;
	fq_rr_parse_nest(tb, TCA_FQ_RR_STATS_MAX, xstats);
	for (i = 0; i < FQ_RR_ARRAY_SIZE(fq_rr_stats); i++) {
		if (!fq_rr_get(tb[fq_rr_stats[i].type], &value))
			continue;
		snprintf(fmt, sizeof(fmt), "%s %%" PRIu64, fq_rr_stats[i].text);
		print_color_u64(TC_PRINT_ANY, TC_COLOR_NONE,
				fq_rr_stats[i].json, fmt, value);
	}
	if (tb[TCA_FQ_RR_STATS_FLOW])
		fq_rr_print_flow(tb[TCA_FQ_RR_STATS_FLOW]);
	return 0;
}

/* the name that tc looks for */
extern struct tc_plugin_qdisc fq_rr_qdisc_util;
struct tc_plugin_qdisc fq_rr_qdisc_util = {
	.id = "fq_rr",
	.parse_qopt = fq_rr_parse_opt,
	.print_qopt = fq_rr_print_opt,
	.print_xstats = fq_rr_print_xstats,
	.parse_copt = fq_rr_parse_copt,
	.print_copt = fq_rr_print_copt,
};
