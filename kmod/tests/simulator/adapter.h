/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The real tcp_pktpair.c, as it is, in user space: a law is simulated by building again.
 * To be included before all else, since it says how knobs are read.
 */
#ifndef _SIMULATOR_ADAPTER_H
#define _SIMULATOR_ADAPTER_H

#define STACK_TRACING false

/* the kernel's warnings are fewer */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-const-variable"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include "tcp_pktpair.c"

static void stack_traced(const struct sock *sk, const struct pair_sample *sample,
			 const struct control_path *path, const struct control_orders *orders)
{
	/* STACK_TRACING: nobody asks */
	(void)sk;
	(void)sample;
	(void)path;
	(void)orders;
}

/* The algorithms that tcp_pktpair.c registers are in stack_algorithms from here on */
static inline void adapter_register(void)
{
	if (!stack_registered && stack_module_init())
		abort();
}

#pragma GCC diagnostic pop

/* Every module parameter; NULL: none of that name */
static inline const struct kernel_param *adapter_knob(const char *name)
{
	const struct kernel_param *const *knob;

	for (knob = __start_stack_params; knob < __stop_stack_params; knob++)
		if (!strcmp((*knob)->name, name))
			return *knob;
	return NULL;
}

#endif /* _SIMULATOR_ADAPTER_H */
