/* SPDX-License-Identifier: GPL-2.0 */
/*
 * As much of the kernel as tcp_pktpair.c and tcp_vptfrc.c ask for, so that a unit test can be
 * the stack: the names and meanings are the kernel's, the bodies what a test needs.
 * Whether the kernel agrees is for the tests in the lab to say.
 */
#ifndef _STACK_NET_TCP_H
#define _STACK_NET_TCP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- who reads a knob otherwise than by READ_ONCE() ---- */

/* What is hidden is here, and where it was is nonsense, which a plain read gets */
#define STACK_HIDDEN 16
static struct {
	unsigned int *from;
	unsigned int value;
} stack_hidden[STACK_HIDDEN];
static int stack_hidden_count;

static inline void *stack_place(const volatile void *p)
{
	int i;

	for (i = 0; i < stack_hidden_count; i++)
		if (stack_hidden[i].from == p)
			return &stack_hidden[i].value;
	return (void *)(unsigned long)p;
}

#define READ_ONCE(x) (*(const volatile __typeof__(x) *)stack_place(&(x)))
#define WRITE_ONCE(x, its) (*(volatile __typeof__(x) *)stack_place(&(x)) = (its))

#include "portable.h"

#define KBUILD_MODNAME "tcp_pktpair"
#define COMPAT_CONG_CONTROL_ARGS(sk, rs) struct sock *sk, const struct rate_sample *rs

/* ---- language ---- */

#define __init
#define __exit
#define __read_mostly
#define noinline __attribute__((__noinline__))
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define cmpxchg(p, old, new) __sync_val_compare_and_swap(p, old, new)
#define container_of(p, type, member) \
	((type *)((char *)(p) - offsetof(type, member)))
#define min(a, b) ((a) < (b) ? (a) : (b))

#define DEFINE_PER_CPU(type, name) type name
#define per_cpu(name, cpu) (*((void)(cpu), &(name)))
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (cpu) < 1; (cpu)++)
#define this_cpu_inc(counter) ((counter)++)

#define GFP_ATOMIC 0
#define __GFP_NOWARN 0

/* No memory is left while a test says so; what is allocated and not yet freed */
static bool stack_memory_fails;
static int stack_allocated;

static inline void *kzalloc(size_t bytes, int flags)
{
	void *p = stack_memory_fails ? NULL : calloc(1, bytes);

	(void)flags;
	stack_allocated += !!p;
	return p;
}

/* with what nobody may count on in it */
static inline void *kmalloc(size_t bytes, int flags)
{
	void *p = kzalloc(bytes, flags);

	return p ? memset(p, 0xa5, bytes) : NULL;
}

static inline void kfree(const void *p)
{
	stack_allocated -= !!p;
	free((void *)(unsigned long)p);
}

static inline u32 get_random_u32(void)
{
	return 1;
}

#define EINVAL 22
#define ERANGE 34

/* ---- module ---- */

#define THIS_MODULE NULL
#define MODULE_LICENSE(x)
#define MODULE_VERSION(x)
#define MODULE_AUTHOR(x)
#define MODULE_ALIAS(x)
#define MODULE_DESCRIPTION(x)
#define MODULE_PARM_DESC(name, text)
#define module_init(f) static int (*stack_module_init)(void) = f
#define module_exit(f) static void (*stack_module_exit)(void) = f

struct kernel_param_ops;

struct kernel_param {
	const char *name;
	const struct kernel_param_ops *ops;
	void *arg;
};

struct kernel_param_ops {
	int (*set)(const char *text, const struct kernel_param *kp);
	int (*get)(char *buffer, const struct kernel_param *kp);
};

/* A test reaches a parameter as stack_param_NAME, and all of them from
 * __start_stack_params to __stop_stack_params
 */
#define module_param_cb(its_name, its_ops, its_arg, mode)		\
	static const struct kernel_param stack_param_##its_name = {	\
		.name = #its_name, .ops = its_ops, .arg = its_arg,	\
	};								\
	static const struct kernel_param *const stack_listed_##its_name	\
		__attribute__((section("stack_params"), used)) =	\
		&stack_param_##its_name

extern const struct kernel_param *const __start_stack_params[];
extern const struct kernel_param *const __stop_stack_params[];

/* the last message */
static char stack_message[256];

#define pr_err(...) snprintf(stack_message, sizeof(stack_message), __VA_ARGS__)

static inline int kstrtouint(const char *text, unsigned int base, unsigned int *value)
{
	char *end;
	unsigned long parsed;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	parsed = strtoul(text, &end, (int)base);
	if (*end == '\n')
		end++;
	if (*end)
		return -EINVAL;
	if (parsed > U32_MAX)
		return -ERANGE;
	*value = (unsigned int)parsed;
	return 0;
}

#define scnprintf snprintf
#define sysfs_emit(buffer, ...) sprintf(buffer, __VA_ARGS__)
#define sysfs_emit_at(buffer, at, ...) sprintf((buffer) + (at), __VA_ARGS__)

struct trace_print_flags {
	unsigned long mask;
	const char *name;
};

/* ---- lists ---- */

struct list_head {
	struct list_head *next, *prev;
};

static inline bool list_empty(const struct list_head *head)
{
	return READ_ONCE(head->next) == head;
}

#define list_last_entry(head, type, member) container_of((head)->prev, type, member)

/* ---- sockets ---- */

#define AF_INET6 10
#define ntohs(x) __builtin_bswap16(x)
#define ICSK_CA_PRIV_SIZE 104
#define TCP_INIT_CWND 10
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_CONG_NON_RESTRICTED 1
#define INET_DIAG_VEGASINFO 3
#define INET_DIAG_BBRINFO 16

enum { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
enum sk_pacing { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };

struct sk_buff {
	struct list_head tcp_tsorted_anchor;
	u64 skb_mstamp_ns;
};

struct sock {
	/* struct sock */
	u16 sk_family;
	unsigned long sk_pacing_rate, sk_max_pacing_rate;
	u32 sk_pacing_status;
	u32 sk_gso_max_size;
	u16 sk_gso_max_segs;
	bool owned;
	/* struct inet_sock, inet_connection_sock */
	u16 inet_num, inet_dport;
	u32 inet_saddr, inet_daddr;
	u8 icsk_ca_state;
	u8 icsk_retransmits;
	u32 icsk_rto;
	const struct tcp_congestion_ops *icsk_ca_ops;
	u64 icsk_ca_priv[ICSK_CA_PRIV_SIZE / 8];
	/* struct tcp_sock */
	u64 tcp_clock_cache, tcp_mstamp, tcp_wstamp_ns;
	u64 first_tx_mstamp, delivered_mstamp;
	u32 delivered, delivered_ce, snd_una, snd_nxt, write_seq, srtt_us, mss_cache;
	u32 lost;	/* ever */
	u64 bytes_acked;
	u32 snd_cwnd, snd_cwnd_clamp, snd_ssthresh, data_segs_out;
	u32 packets_out, retrans_out, sacked_out, lost_out;
	u32 total_retrans, undo_marker, prior_cwnd;
	u32 snd_cwnd_cnt;
	u32 min_rtt_us;	/* of rtt_min */
	bool sackless;	/* of rx_opt.sack_ok */
	bool window_binds;	/* tcp_is_cwnd_limited() */
	struct {
		u32 rcv_tsval;
		bool saw_tstamp;
	} rx_opt;
	u32 windows_set;	/* how often; no member of the kernel's */
	struct list_head tsorted_sent_queue;
};

#define tcp_sock sock
#define tcp_sk(sk) (sk)
#define inet_csk(sk) (sk)
#define inet_sk(sk) (sk)
#define inet_csk_ca(sk) ((void *)(sk)->icsk_ca_priv)

struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered;
	s32 delivered;
	long interval_us, rtt_us;
	int losses;
	u32 acked_sacked;
	bool is_app_limited, is_retrans, is_ack_delayed;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

struct tcp_bbr_info {
	u32 bbr_bw_lo, bbr_bw_hi, bbr_min_rtt, bbr_pacing_gain, bbr_cwnd_gain;
};

union tcp_cc_info {
	struct tcp_bbr_info bbr;
};

struct tcp_congestion_ops {
	u32 flags;
	const char *name;
	void *owner;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	void (*cong_control)(COMPAT_CONG_CONTROL_ARGS(sk, rs));
	u32 (*min_tso_segs)(struct sock *sk);
	void (*set_state)(struct sock *sk, u8 new_state);
	u32 (*ssthresh)(struct sock *sk);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*sndbuf_expand)(struct sock *sk);
	size_t (*get_info)(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info);
};

static inline bool before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

static inline bool sock_owned_by_user_nocheck(const struct sock *sk)
{
	return sk->owned;
}

static inline u32 tcp_stamp_us_delta(u64 t1, u64 t0)
{
	return (u32)max_t(s64, (s64)(t1 - t0), 0);
}

static inline u64 tcp_skb_timestamp_us(const struct sk_buff *skb)
{
	return div_u64(skb->skb_mstamp_ns, NSEC_PER_USEC);
}

static inline u32 tcp_packets_in_flight(const struct sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

static inline bool tcp_is_reno(const struct sock *tp)
{
	return tp->sackless;
}

static inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	return sk->window_binds;
}

/* a jiffy is 4 ms, as Debian's */
static inline unsigned int jiffies_to_usecs(unsigned long jiffies)
{
	return 4000 * jiffies;
}

struct net {
	struct {
		u8 sysctl_tcp_slow_start_after_idle;
	} ipv4;
};

static struct net stack_net __maybe_unused = { .ipv4 = { .sysctl_tcp_slow_start_after_idle = 1 } };

static inline const struct net *sock_net(const struct sock *sk)
{
	(void)sk;
	return &stack_net;
}

static inline u32 tcp_current_ssthresh(const struct sock *sk)
{
	u32 most = sk->snd_cwnd / 2 + sk->snd_cwnd / 4;

	return sk->icsk_ca_state == TCP_CA_CWR || sk->icsk_ca_state == TCP_CA_Recovery ?
	       sk->snd_ssthresh : max_t(u32, sk->snd_ssthresh, most);
}

static inline u32 tcp_min_rtt(const struct sock *tp)
{
	return tp->min_rtt_us;
}

static inline u32 tcp_snd_cwnd(const struct sock *tp)
{
	return tp->snd_cwnd;
}

static inline void tcp_snd_cwnd_set(struct sock *tp, u32 value)
{
	if ((int)value <= 0)
		abort();	/* the kernel warns */
	tp->snd_cwnd = value;
	tp->windows_set++;
}

/* What was registered, for the test to call */
#define STACK_ALGORITHMS 8
static struct tcp_congestion_ops *stack_algorithms[STACK_ALGORITHMS];
static int stack_registered, stack_register_fails_at = -1;

static inline int tcp_register_congestion_control(struct tcp_congestion_ops *ops)
{
	if (stack_registered == stack_register_fails_at)
		return -EINVAL;
	stack_algorithms[stack_registered++] = ops;
	return 0;
}

static inline void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops)
{
	if (stack_algorithms[--stack_registered] != ops)
		abort();
}

#endif /* _STACK_NET_TCP_H */
