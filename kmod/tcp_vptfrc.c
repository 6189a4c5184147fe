// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_vptfrc: TCP-friendly rate control for flows with packets of any size.
 *
 * Widmer, Boutremans and Le Boudec (2004) compute the rate of a TCP flow from the round trip
 * and the loss event rate, with the packet size of a TCP flow that is limited by nothing, and
 * measure losses as such a flow would see them. So voice, games, telemetry and tunnels get
 * the bytes per second of a bulk transfer, whatever their packet size, at a rate that does not
 * swing.
 *
 * Every acknowledgment goes these steps:
 *
 *	vptfrc_take_losses	what the stack has newly marked as lost	(tfrc_loss.h)
 *	vptfrc_take_arrivals	what was delivered, and of what size	(tfrc_loss.h)
 *	vptfrc_end_round	once in a round trip: the rate		(tfrc.h)
 *	vptfrc_apply		pacing rate and window
 *
 * The headers hold the formulas and know no socket. This file holds none, and knows the stack:
 *
 *  - Lost is what the sender's scoreboard marks: SACK, RACK, timeouts, also of what
 *    was sent again. tp->lost counts all of these, and never goes back.
 *  - What D-SACK, time stamps or F-RTO show not to be lost, the stack tells by undo_cwnd().
 *  - The stack answers one ECN mark in a round trip, by the state CWR. How many small
 *    packets are marked is not told (RFC 3168), so a mark is the loss of a reference packet.
 *  - Sizes: the mean of what is outstanding. It is exact while packets are of one size.
 *
 * Error recovery and pacing are the stack's.
 */
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <linux/random.h>
#include <net/tcp.h>

#include "knob.h"
#include "tfrc.h"

#define CREATE_TRACE_POINTS
#include "vptfrc_trace.h"

/* Payload of a full Ethernet packet with time stamps, bytes: what a bulk flow sends */
#define VPTFRC_REFERENCE_BYTES	1448
/* smallest reference, bytes: with less, headers are most of what a flow sends */
#define VPTFRC_REFERENCE_MIN	64
/* cap on the packet rate, times a TCP flow's: at 1460 a packet of one byte has none */
#define VPTFRC_CAP_MAX		1460
/* Send buffer beyond the window, windows: slow start doubles it in a round trip */
#define VPTFRC_SNDBUF_FACTOR	2
/* Smallest skbs: single packets, since packets that leave together are lost together */
#define VPTFRC_TSO_SEGS		1

/**
 * struct vptfrc - state of one connection
 * @tfrc: the rate; NULL: there was no memory yet
 * @params: the knobs when it began
 * @round_us: when the round trip began, low bits
 * @acked_us: when something was acknowledged last, or silence began that has not been counted
 * @bytes: bytes that have been counted as delivered
 * @round_bytes: the same when the round trip began
 * @rate_bytes_ps: allowed rate, for who has no lock
 * @round_delivered: tp->delivered that ends the round trip
 * @lost: tp->lost that has been counted
 * @packet_bytes: mean size of the packets outstanding
 * @events: loss events that an undo of the stack takes back
 * @limited: in this round trip the application had too little to send
 */
struct vptfrc {
	struct tfrc *tfrc;
	struct tfrc_params params;
	u32 round_us;
	u32 round_delivered;
	u64 acked_us;
	u64 bytes;
	u64 round_bytes;
	u64 rate_bytes_ps;
	u32 lost;
	u32 packet_bytes;
	u16 events;
	u8 limited:1;
};

/* ---- knobs ---- */

static const struct trace_print_flags vptfrc_methods[] = { VPTFRC_METHODS };
static const struct trace_print_flags vptfrc_modes[] = { VPTFRC_MODES };

static unsigned int method __read_mostly = TFRC_VIRTUAL;
static unsigned int mode __read_mostly = TFRC_PACKET_MODE;

struct vptfrc_choice {
	unsigned int *value;
	const struct trace_print_flags *names;
	int count;
};

/* The names of a choice, for the message that refuses all others */
static void vptfrc_list(const struct vptfrc_choice *choice, char *buffer, size_t size)
{
	int i, length = 0;

	for (i = 0; i < choice->count; i++)
		length += scnprintf(buffer + length, size - length, "%s%s", i ? ", " : "",
				    choice->names[i].name);
}

static int vptfrc_choice_set(const char *text, const struct kernel_param *kp)
{
	const struct vptfrc_choice *choice = kp->arg;
	int i, length = (int)strcspn(text, "\n");
	unsigned int value, its_method, its_mode;
	char names[80];

	for (i = 0; i < choice->count; i++)
		if (strlen(choice->names[i].name) == length &&
		    !strncmp(choice->names[i].name, text, length))
			break;
	if (i == choice->count) {
		vptfrc_list(choice, names, sizeof(names));
		pr_err("%s=%.*s: not one of %s\n", kp->name, length, text, names);
		return -EINVAL;
	}
	value = choice->names[i].mask;
	its_method = choice->value == &method ? value : method;
	its_mode = choice->value == &mode ? value : mode;
	if (!tfrc_is_defined(its_method, its_mode)) {
		pr_err("%s=%.*s: method %s has no mode %s\n", kp->name, length, text,
		       vptfrc_methods[its_method].name, vptfrc_modes[its_mode].name);
		return -EINVAL;
	}
	WRITE_ONCE(*choice->value, value);
	return 0;
}

static int vptfrc_choice_get(char *buffer, const struct kernel_param *kp)
{
	const struct vptfrc_choice *choice = kp->arg;

	return sysfs_emit(buffer, "%s\n", choice->names[READ_ONCE(*choice->value)].name);
}

static const struct kernel_param_ops vptfrc_choice_ops = {
	.set = vptfrc_choice_set,
	.get = vptfrc_choice_get,
};

static struct vptfrc_choice method_choice = {
	.value = &method, .names = vptfrc_methods, .count = ARRAY_SIZE(vptfrc_methods),
};

module_param_cb(method, &vptfrc_choice_ops, &method_choice, 0644);
MODULE_PARM_DESC(method,
		 "how losses of small packets are counted: unmodified, unbiasing, virtual (default), sampling, lip");

static struct vptfrc_choice mode_choice = {
	.value = &mode, .names = vptfrc_modes, .count = ARRAY_SIZE(vptfrc_modes),
};

module_param_cb(mode, &vptfrc_choice_ops, &mode_choice, 0644);
MODULE_PARM_DESC(mode,
		 "what the bottleneck's drops depend on: packet (default), byte, byte-tail (drop-tail queue limited in bytes)");

NUMBER_KNOB(reference_bytes, VPTFRC_REFERENCE_BYTES, VPTFRC_REFERENCE_MIN, TFRC_PACKET_MAX_BYTES,
	    "payload of the packets of the flow whose rate is computed, bytes (64-65535, default 1448)");
NUMBER_KNOB(packet_rate_cap, 0, 0, VPTFRC_CAP_MAX,
	    "most packets per second, as a multiple of that flow's (1-1460); 0 (default): no cap");

/* ---- from the stack's events to the formulas' arguments ---- */

/* @speed_bytes_ps: what arrives now */
static struct tfrc_path vptfrc_path(const struct sock *sk, u64 speed_bytes_ps)
{
	const struct vptfrc *ca = inet_csk_ca(sk);

	return (struct tfrc_path){
		.rtt_us = tfrc_rtt_us(ca->tfrc),
		/* in flight in the round trip that is computed with */
		.flight_bytes = tfrc_bytes(speed_bytes_ps, tfrc_rtt_us(ca->tfrc)),
		.packet_bytes = ca->packet_bytes,
	};
}

/* What arrives, by the stack's rate sample; without one, as in the last round trip */
static u64 vptfrc_speed_bytes_ps(const struct vptfrc *ca, const struct rate_sample *rs)
{
	if (rs && rs->delivered > 0 && rs->interval_us > 0)
		return tfrc_speed_bytes_ps((u64)rs->delivered * ca->packet_bytes, rs->interval_us);
	return ca->tfrc->received_bytes_ps ?: ca->tfrc->rate_bytes_ps;
}

static void vptfrc_trace(const struct sock *sk, const struct tfrc_path *path, bool loss_event)
{
	const struct vptfrc *ca = inet_csk_ca(sk);

	if (trace_vptfrc_rate_enabled())
		trace_vptfrc_rate(sk, ca->tfrc, &ca->params, path, loss_event);
}

/* The stack takes a pacing rate of 0 for none */
static u64 vptfrc_pace(struct sock *sk)
{
	const struct vptfrc *ca = inet_csk_ca(sk);
	u64 rate = min_t(u64, ca->tfrc->rate_bytes_ps, READ_ONCE(sk->sk_max_pacing_rate));

	WRITE_ONCE(sk->sk_pacing_rate, max_t(u64, rate, 1));
	return rate;
}

static void vptfrc_apply(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vptfrc *ca = inet_csk_ca(sk);
	u64 rate = vptfrc_pace(sk);
	/* the stack computes with full packets times this in 32 bits */
	u32 most = min_t(u32, tp->snd_cwnd_clamp, U32_MAX / max_t(u32, tp->mss_cache, 1));
	/* what left when the queue was long is still in flight when it has become short */
	u32 rtt_us = max_t(u32, tp->srtt_us >> 3, tfrc_rtt_us(ca->tfrc));

	WRITE_ONCE(ca->rate_bytes_ps, ca->tfrc->rate_bytes_ps);
	tcp_snd_cwnd_set(tp, min_t(u32, tfrc_window(rate, rtt_us, ca->packet_bytes), most));
}

/* Mean size of what is outstanding: SACKed and lost packets are part of both numbers */
static void vptfrc_note_size(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vptfrc *ca = inet_csk_ca(sk);

	if (tp->packets_out)
		ca->packet_bytes = max_t(u32, (tp->snd_nxt - tp->snd_una) / tp->packets_out, 1);
}

static void vptfrc_lose(struct sock *sk, u32 packets, u64 bytes, const struct rate_sample *rs)
{
	struct vptfrc *ca = inet_csk_ca(sk);
	const struct tfrc_path path = vptfrc_path(sk, vptfrc_speed_bytes_ps(ca, rs));
	const struct tfrc_packets lost = {
		.packets = packets,
		.bytes = bytes,
		.now_us = (u32)tcp_sk(sk)->tcp_mstamp,
	};

	if (!tfrc_take_lost(ca->tfrc, &ca->params, &lost, &path))
		return;
	ca->events++;
	vptfrc_trace(sk, &path, true);
}

/* What the stack has marked as lost since the last time */
static void vptfrc_take_losses(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vptfrc *ca = inet_csk_ca(sk);
	u32 packets = tp->lost - ca->lost;

	if (!packets)
		return;
	ca->lost = tp->lost;
	vptfrc_lose(sk, packets, (u64)packets * ca->packet_bytes, rs);
}

/* What has arrived. Bytes that are acknowledged out of order count with their mean size, until
 * they are acknowledged in order.
 */
static void vptfrc_take_arrivals(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vptfrc *ca = inet_csk_ca(sk);
	u64 bytes = tp->bytes_acked + (u64)tp->sacked_out * ca->packet_bytes;
	struct tfrc_packets arrived = {
		.packets = rs->acked_sacked,
		.now_us = (u32)tp->tcp_mstamp,
	};

	if (!arrived.packets)
		return;
	ca->acked_us = tp->tcp_mstamp;
	ca->limited |= rs->is_app_limited;
	if (bytes > ca->bytes) {
		arrived.bytes = bytes - ca->bytes;
		ca->bytes = bytes;
	}
	tfrc_arrived(&ca->tfrc->loss, &ca->params, &arrived);
}

static void vptfrc_begin_round(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vptfrc *ca = inet_csk_ca(sk);

	ca->round_us = (u32)tp->tcp_mstamp;
	ca->round_bytes = ca->bytes;
	ca->round_delivered = tp->delivered;
	ca->limited = 0;
}

static noinline void vptfrc_end_round(struct sock *sk, const struct rate_sample *rs)
{
	struct vptfrc *ca = inet_csk_ca(sk);
	u64 received = tfrc_speed_bytes_ps(ca->bytes - ca->round_bytes,
					   (u32)tcp_sk(sk)->tcp_mstamp - ca->round_us);
	struct tfrc_path path;

	tfrc_take_rtt(ca->tfrc, tcp_sk(sk)->srtt_us >> 3);
	path = vptfrc_path(sk, received);
	tfrc_round(ca->tfrc, &ca->params, &path, received, ca->limited);
	vptfrc_begin_round(sk);
	vptfrc_apply(sk);
	vptfrc_trace(sk, &path, false);
}

/* Nothing was in flight: the application, or a limit of the receiver's, held the flow up */
static noinline void vptfrc_resume(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vptfrc *ca = inet_csk_ca(sk);
	u32 silent_us = (u32)min_t(u64, tp->tcp_mstamp - ca->acked_us, U32_MAX);
	const struct tfrc_path path = vptfrc_path(sk, ca->tfrc->rate_bytes_ps);

	if (silent_us < path.rtt_us)
		return;
	ca->acked_us += tfrc_silent(ca->tfrc, &ca->params, &path, silent_us);
	vptfrc_begin_round(sk);
	/* its first ACKs show a window's first packets only */
	ca->limited = 1;
	vptfrc_apply(sk);
}

/* The rate is the initial window in a round trip, as soon as that is known */
static void vptfrc_begin(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vptfrc *ca = inet_csk_ca(sk);
	struct tfrc *tfrc;
	u32 window_bytes;

	/* the SYN's acknowledgment comes here before init() does, and nobody would free this */
	if (!ca->params.reference_bytes || !tp->srtt_us)
		return;
	tfrc = kmalloc(sizeof(*tfrc), GFP_ATOMIC | __GFP_NOWARN);
	if (!tfrc) {
		/* what is TCP-friendly at a loss event rate of 0.1 is so below it */
		tcp_snd_cwnd_set(tp, min_t(u32, TFRC_WINDOW_MIN, tp->snd_cwnd_clamp));
		return;
	}
	ca->packet_bytes = max_t(u32, tp->mss_cache, 1);
	vptfrc_note_size(sk);
	/* of a socket that changes to vptfrc, its window */
	window_bytes = (u32)min_t(u64, (u64)tcp_snd_cwnd(tp) * ca->packet_bytes, U32_MAX);
	tfrc_start(tfrc, get_random_u32(), window_bytes, tp->srtt_us >> 3);
	tfrc_floor(tfrc, TCP_INIT_CWND * ca->packet_bytes);
	ca->tfrc = tfrc;
	/* more than its SYN */
	if (tp->lost && tp->bytes_acked > 1) {
		struct tfrc_path path = vptfrc_path(sk, 0);

		path.flight_bytes = window_bytes;
		tfrc_has_lost(tfrc, &ca->params, &path);
	}
	ca->lost = tp->lost;
	ca->bytes = tp->bytes_acked;
	ca->acked_us = tp->tcp_mstamp;
	vptfrc_begin_round(sk);
	vptfrc_apply(sk);
}

/* ---- what the stack calls ---- */

static void vptfrc_cong_control(COMPAT_CONG_CONTROL_ARGS(sk, rs))
{
	struct vptfrc *ca = inet_csk_ca(sk);

	if (unlikely(!ca->tfrc)) {
		vptfrc_begin(sk);
		return;
	}
	vptfrc_take_losses(sk, rs);
	vptfrc_take_arrivals(sk, rs);
	vptfrc_note_size(sk);
	/* a duplicate ACK without SACK tells of no packet */
	if (rs->acked_sacked && rs->prior_mstamp &&
	    !before(rs->prior_delivered, ca->round_delivered))
		vptfrc_end_round(sk, rs);
	else
		vptfrc_apply(sk);
}

/* Asked right before the stack sizes an skb */
static u32 vptfrc_min_tso_segs(struct sock *sk)
{
	const struct vptfrc *ca = inet_csk_ca(sk);

	if (ca->tfrc && !tcp_sk(sk)->packets_out)
		vptfrc_resume(sk);
	return VPTFRC_TSO_SEGS;
}

static void vptfrc_undisturbed(struct sock *sk)
{
	struct vptfrc *ca = inet_csk_ca(sk);

	ca->events = 0;
	tfrc_undisturbed(ca->tfrc);
}

static void vptfrc_set_state(struct sock *sk, u8 new_state)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vptfrc *ca = inet_csk_ca(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;

	if (!ca->tfrc)
		return;
	/* From here on there is another disturbance to take back. Until then a D-SACK may come for
	 * the last one, after the stack has recovered. A timer that runs out after progress is
	 * another (tcp_enter_loss()).
	 */
	if ((state < TCP_CA_CWR && new_state >= TCP_CA_CWR) ||
	    (state == TCP_CA_Loss && new_state == TCP_CA_Loss && !inet_csk(sk)->icsk_retransmits))
		vptfrc_undisturbed(sk);
	/* A mark, a drop by this host's own qdisc, or a lost tail that a probe has mended, which
	 * nothing tells apart here: it counts as a reference packet as well. The stack stays in
	 * this state until what it sent after the receiver's first echo is acknowledged; until
	 * then all ACKs are echoes (RFC 3168, 6.1.3).
	 */
	if (new_state == TCP_CA_CWR) {
		vptfrc_lose(sk, 1, ca->params.reference_bytes, NULL);
		/* and nothing takes it back: a D-SACK that comes now is of what was before */
		vptfrc_undisturbed(sk);
	}
	/* tcp_enter_loss() has set this window; a packet that is too large for the path is sent
	 * again in this state too (tcp_simple_retransmit()): no timer ran out, nothing was dropped
	 */
	if (new_state == TCP_CA_Loss && tcp_snd_cwnd(tp) != tcp_packets_in_flight(tp) + 1) {
		ca->lost = tp->lost;
	} else if (new_state == TCP_CA_Loss) {
		struct tfrc_path path;

		/* a timer that runs out again is the same loss event: the equation counts a
		 * sequence of timeouts once, and has their back-off in it
		 */
		if (inet_csk(sk)->icsk_retransmits) {
			ca->lost = tp->lost;
			/* when it ends is known for 35 minutes only; a timer runs out within two */
			tfrc_end_lip(&ca->tfrc->loss, (u32)tp->tcp_mstamp);
		}
		vptfrc_take_losses(sk, NULL);
		path = vptfrc_path(sk, ca->tfrc->rate_bytes_ps);
		tfrc_timeout(ca->tfrc, &ca->params, &path);
		vptfrc_pace(sk);
	}
}

/* The window never starts slowly: the rate does */
static u32 vptfrc_ssthresh(struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

/* What was taken for lost since the stack was last undisturbed was not */
static u32 vptfrc_undo_cwnd(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vptfrc *ca = inet_csk_ca(sk);

	if (ca->tfrc) {
		const struct tfrc_path path = vptfrc_path(sk, ca->tfrc->rate_bytes_ps);

		tfrc_take_back(ca->tfrc, &ca->params, &path, ca->events);
		ca->events = 0;
		ca->lost = tp->lost;
	}
	return max_t(u32, tcp_snd_cwnd(tp), tp->prior_cwnd);
}

static u32 vptfrc_sndbuf_expand(struct sock *sk)
{
	return VPTFRC_SNDBUF_FACTOR;
}

/* In BBR's slot: its bandwidth is the allowed rate here, its round trip the smoothed one. The
 * gains are zero, which "ss" does not print.
 */
static size_t vptfrc_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct vptfrc *ca = inet_csk_ca(sk);
	/* read once: this runs without the socket's lock */
	u64 rate = READ_ONCE(ca->rate_bytes_ps);

	if (!(ext & (1 << (INET_DIAG_BBRINFO - 1))) &&
	    !(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	memset(&info->bbr, 0, sizeof(info->bbr));
	info->bbr.bbr_bw_lo = (u32)rate;
	info->bbr.bbr_bw_hi = (u32)(rate >> 32);
	info->bbr.bbr_min_rtt = READ_ONCE(tcp_sk(sk)->srtt_us) >> 3;
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

static void vptfrc_init(struct sock *sk)
{
	struct vptfrc *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	ca->params = (struct tfrc_params){
		.reference_bytes = READ_ONCE(reference_bytes),
		.method = READ_ONCE(method),
		.mode = READ_ONCE(mode),
		.packet_rate_cap = READ_ONCE(packet_rate_cap),
	};
	tcp_sk(sk)->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	vptfrc_begin(sk);
}

/* A window that has met losses does not start slowly */
static void vptfrc_release(struct sock *sk)
{
	struct vptfrc *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (ca->tfrc) {
		tcp_snd_cwnd_set(tp, tfrc_window_left(tcp_snd_cwnd(tp)));
		if (!tfrc_in_slow_start(ca->tfrc))
			tp->snd_ssthresh = max_t(u32, tcp_snd_cwnd(tp), 2);
	}
	kfree(ca->tfrc);
	ca->tfrc = NULL;
}

/* Every user may choose it: by its equation a flow gets what a TCP flow of the reference
 * size gets. Methods that give small packets more are the administrator's to choose.
 */
static struct tcp_congestion_ops vptfrc_ops __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.name		= "vptfrc",
	.owner		= THIS_MODULE,
	.init		= vptfrc_init,
	.release	= vptfrc_release,
	.cong_control	= vptfrc_cong_control,
	.min_tso_segs	= vptfrc_min_tso_segs,
	.set_state	= vptfrc_set_state,
	.ssthresh	= vptfrc_ssthresh,
	.undo_cwnd	= vptfrc_undo_cwnd,
	.sndbuf_expand	= vptfrc_sndbuf_expand,
	.get_info	= vptfrc_get_info,
};

static int __init vptfrc_register(void)
{
	BUILD_BUG_ON(sizeof(struct vptfrc) > ICSK_CA_PRIV_SIZE);

	return tcp_register_congestion_control(&vptfrc_ops);
}

static void __exit vptfrc_unregister(void)
{
	tcp_unregister_congestion_control(&vptfrc_ops);
}

module_init(vptfrc_register);
module_exit(vptfrc_unregister);

MODULE_LICENSE("GPL");
MODULE_VERSION("0.1");
MODULE_AUTHOR("The packet pair for Linux authors");
MODULE_DESCRIPTION("TCP-friendly rate control for packets of any size");
