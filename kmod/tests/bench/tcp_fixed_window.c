// SPDX-License-Identifier: GPL-2.0
/*
 * A congestion control without control: the window is always the same. A source that sends
 * what it has as soon as it has it, for experiments about what such a source does to others
 * and to itself.
 *
 *	echo 50 > /sys/module/tcp_fixed_window/parameters/window
 *
 * Only the window is this module's. Losses are found and repaired by the stack: a lost packet
 * is sent again as soon as SACK blocks or RACK's timer show the loss, with no pacing and no
 * smaller window, and the timeout is the stack's with its doubling. After a timeout the stack
 * sends one packet; the first ACK then releases what else was lost.
 *
 * A window that the buffers never fill makes it the uncontrolled source of Keshav and Morgan
 * (1995), a small one the "generic" protocol of Keshav's thesis, chapter 6, but for its timer.
 *
 * It is not for networks that others use: only root may choose it, and it is never installed.
 */
#include <linux/module.h>
#include <net/tcp.h>

#define FIXED_WINDOW_MIN	1
/* 2^20 packets are more than any socket's buffer takes */
#define FIXED_WINDOW_MAX	(1 << 20)
#define FIXED_WINDOW_DEFAULT	20

static unsigned int window = FIXED_WINDOW_DEFAULT;

static int fixed_window_set_param(const char *text, const struct kernel_param *kp)
{
	return param_set_uint_minmax(text, kp, FIXED_WINDOW_MIN, FIXED_WINDOW_MAX);
}

static const struct kernel_param_ops fixed_window_param_ops = {
	.set = fixed_window_set_param,
	.get = param_get_uint,
};

module_param_cb(window, &fixed_window_param_ops, &window, 0644);
MODULE_PARM_DESC(window, "packets that may be outstanding, of every flow, at once when it is written");

static void fixed_window_apply(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, min_t(u32, READ_ONCE(window), tp->snd_cwnd_clamp));
}

static void fixed_window_init(struct sock *sk)
{
	tcp_sk(sk)->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	fixed_window_apply(sk);
}

/* With this the stack leaves the window alone in recovery, and after a pause */
static void fixed_window_cong_control(COMPAT_CONG_CONTROL_ARGS(sk, rs))
{
	fixed_window_apply(sk);
}

/* A timeout has set the window to what is in flight and one */
static void fixed_window_set_state(struct sock *sk, u8 state)
{
	fixed_window_apply(sk);
}

static u32 fixed_window_ssthresh(struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

static u32 fixed_window_undo_cwnd(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

/* No TCP_CONG_NON_RESTRICTED: it harms whoever shares a FIFO with it */
static struct tcp_congestion_ops fixed_window_ops __read_mostly = {
	.name		= "fixed_window",
	.owner		= THIS_MODULE,
	.init		= fixed_window_init,
	.cong_control	= fixed_window_cong_control,
	.set_state	= fixed_window_set_state,
	.ssthresh	= fixed_window_ssthresh,
	.undo_cwnd	= fixed_window_undo_cwnd,
};

static int __init fixed_window_register(void)
{
	return tcp_register_congestion_control(&fixed_window_ops);
}

static void __exit fixed_window_unregister(void)
{
	tcp_unregister_congestion_control(&fixed_window_ops);
}

module_init(fixed_window_register);
module_exit(fixed_window_unregister);

MODULE_LICENSE("GPL");
MODULE_VERSION("0.1");
MODULE_AUTHOR("The packet pair for Linux authors");
MODULE_DESCRIPTION("TCP with a window that stays, for experiments");
