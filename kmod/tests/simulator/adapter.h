/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The real tcp_pktpair.c, as it is, in user space: a law is simulated by building again.
 * To be included before all else, since it says how knobs are read.
 */
#ifndef _SIMULATOR_ADAPTER_H
#define _SIMULATOR_ADAPTER_H

#include <stdbool.h>
#include <stddef.h>

/* Who is told of each train that comes back; NULL: nobody */
struct sock;
struct pair_sample;
struct control_path;
static void (*adapter_on_train)(const struct sock *sk, const struct pair_sample *sample,
				const struct control_path *path);

#define STACK_TRACING (adapter_on_train != NULL)

/* the kernel's warnings are fewer */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-const-variable"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include "tcp_pktpair.c"

static void stack_traced_pktpair_sample(const struct sock *sk, const struct pair_sample *sample,
			 const struct control_path *path, const struct control_orders *orders)
{
	adapter_on_train(sk, sample, path);
	(void)orders;
}

static void stack_traced_pktpair_turns(const struct sock *sk, const struct in_turn *turns,
				       const struct in_turn_block *block, u32 rounds)
{
	(void)sk;
	(void)turns;
	(void)block;
	(void)rounds;
}

/* The algorithms that tcp_pktpair.c registers are in stack_algorithms from here on */
static inline void adapter_register(void)
{
	if (!stack_registered && stack_module_init())
		abort();
}

#pragma GCC diagnostic pop

/* How often a flow has taken the bottleneck for one that does not serve in turn */
static inline u32 adapter_alarms(const struct sock *sk)
{
	const struct pktpair *ca = inet_csk_ca(sk);

	if (sk->icsk_ca_ops->init != pktpair_init || !ca->evidence)
		return 0;
	return ca->evidence->turns.alarms;
}

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
