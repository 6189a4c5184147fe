/* SPDX-License-Identifier: GPL-2.0 */
/* A tracepoint calls stack_traced_NAME(), which the test defines */
#ifndef STACK_TRACING
#define STACK_TRACING true
#endif
#define TRACE_DEFINE_ENUM(x)
#define TP_PROTO(...) __VA_ARGS__
#define TP_ARGS(...) __VA_ARGS__
#define TRACE_EVENT(its_name, proto, args, ...)		\
	static void stack_traced_##its_name(proto);	\
	static inline bool trace_##its_name##_enabled(void) \
	{						\
		return STACK_TRACING;				\
	}						\
	static inline void trace_##its_name(proto)	\
	{						\
		stack_traced_##its_name(args);		\
	}
