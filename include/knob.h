/* SPDX-License-Identifier: GPL-2.0 */
/* Module parameters that are numbers within a range, of whatever module has them. */
#ifndef _KNOB_H
#define _KNOB_H

#include <linux/module.h>

/**
 * struct knob_range - a number, and what it may be
 * @value: where it is
 * @min: smallest
 * @max: largest
 */
struct knob_range {
	unsigned int *value;
	unsigned int min;
	unsigned int max;
};

static int knob_range_set(const char *text, const struct kernel_param *kp)
{
	const struct knob_range *range = kp->arg;
	unsigned int value;
	int err = kstrtouint(text, 0, &value);

	if (err || value < range->min || value > range->max) {
		pr_err("%s=%.*s: not a number from %u to %u\n", kp->name,
		       (int)strcspn(text, "\n"), text, range->min, range->max);
		return err ?: -ERANGE;
	}
	WRITE_ONCE(*range->value, value);
	return 0;
}

static int knob_range_get(char *buffer, const struct kernel_param *kp)
{
	const struct knob_range *range = kp->arg;

	return sysfs_emit(buffer, "%u\n", READ_ONCE(*range->value));
}

static const struct kernel_param_ops knob_range_ops = {
	.set = knob_range_set,
	.get = knob_range_get,
};

/* A parameter by the name @name, whose value is at @place */
#define NUMBER_KNOB_AT(name, place, lo, hi, text)				\
	static struct knob_range name##_range = {			\
		.value = place, .min = lo, .max = hi,			\
	};								\
	module_param_cb(name, &knob_range_ops, &name##_range, 0644);	\
	MODULE_PARM_DESC(name, text)
/* and one that is a variable of that name */
#define NUMBER_KNOB(name, initial, lo, hi, text)				\
	static unsigned int name __read_mostly = initial;		\
	NUMBER_KNOB_AT(name, &name, lo, hi, text)

#endif /* _KNOB_H */
