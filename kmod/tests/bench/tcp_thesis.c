// SPDX-License-Identifier: GPL-2.0
/*
 * The protocols beside packet pair in Keshav's thesis (1991), chapter 6, for experiments:
 * thesis_generic, thesis_jk and thesis_decbit. thesis_window.h has their windows.
 *
 *	echo 5 > /sys/module/tcp_thesis/parameters/window
 *
 * is the most that any window may be, at once. What is the stack's, and not the thesis':
 *
 * - losses are found by SACK blocks, RACK and the timeout. With net.ipv4.tcp_recovery,
 *   tcp_early_retrans and tcp_frto 0, and tcp_reordering above the window, the timeout alone
 *   finds them, as generic has it; what is sent again then is what no SACK block names;
 * - generic's timeout is twice the stack's average of the round trip, which leaves out what the
 *   thesis has of packets that were sent again: the time since they were first sent. The stack
 *   doubles the timeout with each that follows another;
 * - a window is one of packets in the network: those that are lost or that SACK blocks name are
 *   outside it. For generic, whose window is all that is unacknowledged, they count.
 *
 * A receiver whose route to the source says "congctl thesis_decbit" answers each marked packet with
 * a marked ACK, as dctcp does; "quickack 1" has it answer each packet.
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "thesis_window.h"

/* the stack's least timeout, where the route has none */
#define THESIS_TIMEOUT_MIN_US	jiffies_to_usecs(TCP_RTO_MIN)

static unsigned int window = THESIS_WINDOW_MAX;

static int thesis_set_param(const char *text, const struct kernel_param *kp)
{
	return param_set_uint_minmax(text, kp, 1, THESIS_WINDOW_MAX);
}

static const struct kernel_param_ops thesis_param_ops = {
	.set = thesis_set_param,
	.get = param_get_uint,
};

module_param_cb(window, &thesis_param_ops, &window, 0644);
MODULE_PARM_DESC(window, "packets that may be outstanding at most, of every flow (default 65534)");

/**
 * struct thesis - a flow
 * @window: its window
 * @una: the last ACK
 * @marked: the ACK that is being handled has the congestion bit
 * @resend: a packet is to be sent again at once, whatever the window
 */
struct thesis {
	struct thesis_window window;
	u32 una;
	bool marked;
	bool resend;
};

static_assert(sizeof(struct thesis) <= ICSK_CA_PRIV_SIZE);

static u32 thesis_most(const struct sock *sk)
{
	return min_t(u32, READ_ONCE(window), tcp_sk(sk)->snd_cwnd_clamp);
}

/* Packets in the network, so that what is lost is sent, and no more than @packets unacknowledged */
static u32 thesis_strict(const struct tcp_sock *tp, u32 packets)
{
	u32 allowed = tcp_packets_in_flight(tp);

	if (tp->lost_out > tp->retrans_out)
		allowed += tp->lost_out - tp->retrans_out;
	if (tp->packets_out < packets)
		allowed += packets - tp->packets_out;
	return max_t(u32, allowed, 1);
}

static void thesis_apply(struct sock *sk)
{
	struct thesis *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 packets = thesis_packets(&ca->window);

	if (ca->window.protocol == THESIS_GENERIC)
		packets = thesis_strict(tp, packets);
	if (ca->resend)
		packets = max_t(u32, packets, tcp_packets_in_flight(tp) + 1);
	tcp_snd_cwnd_set(tp, packets);
}

static void thesis_init(struct sock *sk, enum thesis_protocol protocol)
{
	struct thesis *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	ca->una = tp->snd_una;
	ca->marked = false;
	ca->resend = false;
	thesis_begin(&ca->window, protocol, thesis_most(sk));
	thesis_apply(sk);
}

static void thesis_generic_init(struct sock *sk)
{
	thesis_init(sk, THESIS_GENERIC);
}

static void thesis_jk_init(struct sock *sk)
{
	thesis_init(sk, THESIS_JK);
}

static void thesis_decbit_init(struct sock *sk)
{
	thesis_init(sk, THESIS_DECBIT);
}

/* With this the stack leaves the window alone in recovery, and after a pause */
static void thesis_cong_control(COMPAT_CONG_CONTROL_ARGS(sk, rs))
{
	struct thesis *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (after(tp->snd_una, ca->una))
		thesis_acked(&ca->window, thesis_most(sk), ca->marked);
	ca->una = tp->snd_una;
	ca->marked = false;
	thesis_apply(sk);
	ca->resend = false;
}

static void thesis_set_state(struct sock *sk, u8 state)
{
	struct thesis *ca = inet_csk_ca(sk);

	if (state == TCP_CA_Recovery || state == TCP_CA_Loss) {
		thesis_lost(&ca->window, state == TCP_CA_Loss);
		ca->resend = state == TCP_CA_Recovery;
	}
	thesis_apply(sk);
}

static void thesis_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	u32 smoothed_us = tcp_sk(sk)->srtt_us >> 3;
	u32 timeout_us = thesis_timeout_us(smoothed_us, THESIS_TIMEOUT_MIN_US);

	if (smoothed_us && !inet_csk(sk)->icsk_backoff)
		inet_csk(sk)->icsk_rto = min_t(u32, usecs_to_jiffies(timeout_us), TCP_RTO_MAX);
}

static void thesis_in_ack_event(struct sock *sk, u32 flags)
{
	struct thesis *ca = inet_csk_ca(sk);

	ca->marked = flags & CA_ACK_ECE;
}

/* A receiver: the next ACK has the bit of the packet that came last */
static void thesis_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_ECN_IS_CE)
		tcp_sk(sk)->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else if (event == CA_EVENT_ECN_NO_CE)
		tcp_sk(sk)->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

static u32 thesis_ssthresh(struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

static u32 thesis_undo_cwnd(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

/* No TCP_CONG_NON_RESTRICTED: generic harms whoever shares a FIFO with it */
#define THESIS_OPS(protocol)					\
	.name		= "thesis_" protocol,			\
	.owner		= THIS_MODULE,				\
	.cong_control	= thesis_cong_control,			\
	.set_state	= thesis_set_state,			\
	.ssthresh	= thesis_ssthresh,			\
	.undo_cwnd	= thesis_undo_cwnd

static struct tcp_congestion_ops thesis_ops[] __read_mostly = {
	{
		THESIS_OPS("generic"),
		.init		= thesis_generic_init,
		.pkts_acked	= thesis_pkts_acked,
	},
	{
		THESIS_OPS("jk"),
		.init		= thesis_jk_init,
	},
	{
		THESIS_OPS("decbit"),
		.init		= thesis_decbit_init,
		.flags		= TCP_CONG_NEEDS_ECN,
		.in_ack_event	= thesis_in_ack_event,
		.cwnd_event	= thesis_cwnd_event,
	},
};

static void thesis_unregister_first(unsigned int count)
{
	while (count--)
		tcp_unregister_congestion_control(&thesis_ops[count]);
}

static int __init thesis_register(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(thesis_ops); i++) {
		err = tcp_register_congestion_control(&thesis_ops[i]);
		if (err) {
			thesis_unregister_first(i);
			return err;
		}
	}
	return 0;
}

static void __exit thesis_unregister(void)
{
	thesis_unregister_first(ARRAY_SIZE(thesis_ops));
}

module_init(thesis_register);
module_exit(thesis_unregister);

MODULE_LICENSE("GPL");
MODULE_VERSION("0.1");
MODULE_AUTHOR("The packet pair for Linux authors");
MODULE_DESCRIPTION("TCP as in Keshav's thesis, chapter 6, for experiments");
