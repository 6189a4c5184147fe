// SPDX-License-Identifier: GPL-2.0
/*
 * options.h under any sequence of requests, as one qdisc gets them: a byte says
 * which attribute comes next or that the message ends, and the next one how its value is
 * found: in the input, or beside one of the option's limits.
 */
#include "fuzz_take.h"
#include "naive_options.h"

#define ATTRIBUTE 0x3f
#define END_OF_MESSAGE 0

static s64 take_value(const struct fq_rr_option *option, unsigned int how,
		      const uint8_t **data, size_t *size)
{
	u64 drawn = take(data, size, option->size ?: 4);
	s64 value = drawn;

	switch (how) {
	case 0:
		return option->min + (s64)(drawn % 3) - 1;
	case 1:
		return option->max + (s64)(drawn % 3) - 1;
	case 2:
		return option->also;
	case 3:
		return option->min + (s64)(drawn % (option->max - option->min + 1));
	case 4:
		return 0;
	default:
		return value;
	}
}

/* as wide as the attribute is */
static s64 narrow(unsigned int type, s64 value)
{
	if (fq_rr_options[type].size == sizeof(u64))
		return value;
	return type == TCA_FQ_RR_OVERHEAD ? (s64)(s32)value : (s64)(u32)value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fq_rr_request request = { 0 };
	struct fq_rr_config config;
	bool created = false;

	/* byte for byte comparable, whatever lies between the members */
	memset(&config, 0, sizeof(config));
	fq_rr_options_default(&config);
	while (size) {
		u8 byte = *data++;
		unsigned int type = byte & ATTRIBUTE;

		size--;
		if (type == END_OF_MESSAGE) {
			created |= naive_compare(&config, created, &request);
			memset(&request, 0, sizeof(request));
		} else if (type <= TCA_FQ_RR_MAX) {
			request.given |= 1ULL << type;
			request.value[type] =
				narrow(type, take_value(&fq_rr_options[type],
							take(&data, &size, 1) % 8,
							&data, &size));
		} else {
			/* of no attribute: nobody looks at it */
			request.given |= 1ULL << type;
			if (fq_rr_option_get(&config, type + byte))
				naive_die("no option has a value");
		}
	}
	naive_compare(&config, created, &request);
	return 0;
}
