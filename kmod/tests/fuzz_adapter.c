// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_pktpair.c on a path that changes at will, with losses, marks that are echoed,
 * timeouts, receivers that renege, other sizes of packets, SYNs that were lost, pauses,
 * limits of the socket, time stamps of any clock, no memory, bottlenecks that do not serve
 * in turn or police, and acknowledgments that no stack would make up. Neither rate
 * nor window is ever zero, nor above the socket's, and no estimate leaves its range;
 * whatever a packet's arrival is worth, the window is set by it; after a timeout it
 * grows by no more than arrives; another size of packets leaves the share in bytes; one
 * mark is one cut; and what "ss" shows is what is in force. (That estimates come back to
 * the truth is for fuzz_controller.c to say.)
 */
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-const-variable"
#pragma GCC diagnostic ignored "-Wunused-variable"
#include "tcp_pktpair.c"

#include "fuzz_check.h"
#define SENDER_RING 512
#include "stack/sender.h"

#define WINDOW_MAX 200

static struct sender s;
static struct pktpair *const ca = (struct pktpair *)s.sk.icsk_ca_priv;

static void stack_traced_pktpair_sample(const struct sock *sk, const struct pair_sample *sample,
					const struct control_path *path,
					const struct control_orders *orders)
{
	CHECK(sample->verdict > PAIR_OPEN && sample->verdict < PAIR_VERDICTS);
	CHECK(path->newest_backlog_q8 <= CONTROL_BACKLOG_MAX * CONTROL_PACKET_Q8);
}

static void stack_traced_pktpair_turns(const struct sock *sk, const struct in_turn *turns,
				       const struct in_turn_block *block, u32 rounds)
{
	CHECK(block->served_q8 <= ROUND_SERVED_MAX_Q8);
	CHECK(block->per_ack == pair_probe_usual(&ca->probe) || turns->shared);
	CHECK(turns->score_q4 < IN_TURN_ALARM_Q4);
	CHECK(turns->relapses <= IN_TURN_RELAPSES);
	CHECK(turns->policed ? turns->lossy > 0 : turns->lossy < IN_TURN_POLICED);
	CHECK(turns->lossy <= IN_TURN_POLICED);
}

/* before this acknowledgment */
static u32 window, in_flight, windows_set, answers, setpoint_q8, highest_q8;

/* in the state Loss, which tcp_simple_retransmit() has set */
static bool without_timer;

/* tp->prior_ssthresh */
static u32 prior_ssthresh;

static void remember(void)
{
	window = s.sk.snd_cwnd;
	in_flight = tcp_packets_in_flight(&s.sk);
	windows_set = s.sk.windows_set;
	answers = s.answers;
	setpoint_q8 = ca->setpoint.target_q8;
	highest_q8 = ca->evidence ? pktpair_setpoint_highest_q8(&s.sk) : 0;
}

static void check_shown(void)
{
	union tcp_cc_info info;
	double gain = 0;
	int attr = 0;

	if (!s.sk.icsk_ca_ops->get_info(&s.sk, 1 << (INET_DIAG_BBRINFO - 1), &attr, &info)) {
		CHECK(pktpair_is_shared(ca) && !attr);
		return;
	}
	CHECK(attr == INET_DIAG_BBRINFO && !pktpair_is_shared(ca));
	if (ca->service.value && ca->prop.delay_us != PROP_UNKNOWN_US) {
		double share = info.bbr.bbr_bw_lo + 0x1p32 * info.bbr.bbr_bw_hi;

		gain = 256.0 * (double)s.sk.sk_pacing_rate / (share ?: 1);
	}
	CHECK(info.bbr.bbr_pacing_gain > gain * 0.999 - 2 || info.bbr.bbr_pacing_gain == U32_MAX);
	CHECK(info.bbr.bbr_pacing_gain < gain * 1.001 + 2);
}

/* What holds of every socket after every acknowledgment */
static void check_bounds(void)
{
	u32 segments = s.sk.icsk_ca_ops->min_tso_segs(&s.sk);

	CHECK(s.sk.sk_pacing_rate >= 1);
	CHECK(s.sk.sk_pacing_rate <= s.sk.sk_max_pacing_rate);
	CHECK(s.sk.snd_cwnd >= 1);
	CHECK(s.sk.snd_cwnd <= s.sk.snd_cwnd_clamp);
	CHECK(segments >= 1 && segments <= 64);
	CHECK(s.sk.snd_ssthresh >= 2);
	CHECK(s.sk.snd_ssthresh == TCP_INFINITE_SSTHRESH || pktpair_is_shared(ca));
}

/* CUBIC's window steers: no loss of the path has a word in it but by its threshold */
static void check_shared(const struct sender *of, const struct rate_sample *rs)
{
	u8 state = of->sk.icsk_ca_state;

	if (state != TCP_CA_Recovery && state != TCP_CA_CWR)
		CHECK(of->sk.snd_cwnd <= max_t(u32, window, 1) + rs->acked_sacked);
	check_shown();
	remember();
	check_bounds();
}

static void check(struct sender *of, const struct rate_sample *rs)
{
	u8 state = of->sk.icsk_ca_state;
	u32 mending = of->sk.lost_out + of->sk.retrans_out;

	if (!ca->evidence) {
		check_shared(of, rs);
		return;
	}
	/* before the path is known, only slow start has a word in it, and that is asked only
	 * where the window holds up what is sent
	 */
	CHECK(of->sk.windows_set != windows_set || !rs->prior_mstamp ||
	      ((rs->is_app_limited || state == TCP_CA_CWR || state == TCP_CA_Recovery ||
		!tcp_is_cwnd_limited(&of->sk) ||
		round_shows_queue(pktpair_rtt_us(&of->sk, rs), pktpair_prop_us(ca), tcp_snd_cwnd(&of->sk),
				  control_own_queue(&ca->setpoint, ca->train))) &&
	       (!ca->service.value || ca->prop.delay_us == PROP_UNKNOWN_US)));
	if (state != TCP_CA_Loss)
		without_timer = false;
	if (state == TCP_CA_Loss && !without_timer &&
	    mending > tcp_packets_in_flight(&of->sk) / 8)
		CHECK(of->sk.snd_cwnd <= max_t(u32, window + rs->acked_sacked, 2));
	if (state >= TCP_CA_Recovery && mending > tcp_packets_in_flight(&of->sk) / 8)
		CHECK(of->sk.snd_cwnd <= max_t(u32, max_t(u32, window, in_flight) +
							    rs->acked_sacked, 10));
	CHECK(ca->setpoint.target_q8 >= setpoint_q8 || rs->losses > 0 ||
	      of->answers != answers || state == TCP_CA_Loss ||
	      ca->setpoint.target_q8 == pktpair_setpoint_highest_q8(&of->sk) ||
	      /* a round trip ends before what it delivered is believed */
	      ca->setpoint.target_q8 == highest_q8);
	check_shown();
	remember();
	check_bounds();
	CHECK(ca->train >= 1 && ca->train <= 64);
	/* a share that a period at a policer has set comes with single segments */
	CHECK(!ca->evidence->turns.policed || !ca->evidence->check.slowed ||
	      pktpair_is_shared(ca) || ca->train == 1);
	CHECK(ca->service.value <= FUZZY_VALUE_MAX);
	CHECK(ca->evidence->check.bursts <= ROUND_BURSTS_MAX);
	CHECK(ca->evidence->check.shorter <= ROUND_SHORTER_MAX);
	CHECK(ca->evidence->check.lossy <= ROUND_LOSSY);
	/* nothing would drain the queue */
	CHECK(ca->service.value || !prop_dipping(&ca->prop));
}

static u64 take(const u8 **data, size_t *size, unsigned int bytes)
{
	u64 value = 0;

	while (bytes-- && *size) {
		value = value << 8 | *(*data)++;
		(*size)--;
	}
	return value;
}

/* spread over the magnitudes: 2^0 to 2^bits */
static u64 take_scale(const u8 **data, size_t *size, unsigned int bits)
{
	u64 octave = take(data, size, 1) % bits;

	return (1ULL << octave) + take(data, size, 2) % (1ULL << octave);
}

static void take_nonsense(const u8 **data, size_t *size)
{
	u32 acked = (u32)take(data, size, 1);
	struct rate_sample rs = {
		.acked_sacked = acked % 70,
		.delivered = (s32)take_scale(data, size, 31) - 5,
		.interval_us = (long)take_scale(data, size, 31) - 5,
		.losses = (int)take(data, size, 1) % 3,
		.prior_delivered = s.sk.delivered - (u32)take(data, size, 1),
	};
	u8 flags = (u8)take(data, size, 1);

	rs.is_retrans = flags & 1;
	rs.is_app_limited = flags & 2;
	rs.is_ack_delayed = flags & 4;
	s.sk.owned = flags & 8;
	s.sk.sackless = flags & 64;
	s.sk.rx_opt.saw_tstamp = flags & 128;
	s.sk.rx_opt.rcv_tsval = (u32)take_scale(data, size, 32);
	s.now_ns += take_scale(data, size, 34);
	s.sk.tcp_clock_cache = s.now_ns;
	s.sk.tcp_mstamp = s.now_ns / NSEC_PER_USEC;
	if (rs.delivered > 0 || flags & 32)
		rs.prior_mstamp = s.sk.tcp_mstamp;
	if (flags & 16)
		s.sk.first_tx_mstamp = s.sk.tcp_mstamp -
			min_t(u64, s.sk.tcp_mstamp, take_scale(data, size, 30));
	/* packets are missing before some that have arrived */
	s.sk.sacked_out = min_t(u32, acked / 70, s.sk.packets_out - s.sk.lost_out);
	s.sk.icsk_ca_ops->cong_control(&s.sk, &rs);
	check(&s, &rs);
	s.sk.sacked_out = 0;
	remember();
	/* what it sent meanwhile has come back */
	sender_run(&s, 0);
}

/* Payload per second that is believed */
static double believed(void)
{
	return ca->service.value ? ca->mss / (double)ca->service.value : 0;
}

static void take_mss(u32 mss)
{
	double before_it = believed(), room = (double)s.sk.snd_cwnd - tcp_packets_in_flight(&s.sk);
	u32 window_before = s.sk.snd_cwnd, mss_before = ca->evidence ? ca->evidence->counted_mss : 0;

	s.sk.mss_cache = mss;
	s.sk.icsk_ca_ops->min_tso_segs(&s.sk);
	if (!ca->evidence)
		return;
	CHECK(ca->mss == mss);
	/* within what a whole unit is of so short a time */
	if (s.sk.data_segs_out && ca->service.value > 100000 &&
	    ca->service.value < FUZZY_VALUE_MAX && before_it)
		CHECK(believed() < before_it * 1.001 && believed() > before_it * 0.999);
	/* the first window is packets of whatever size, as is one of packets that count alike */
	if (control_sizes_agree(mss, mss_before))
		CHECK(s.sk.snd_cwnd == window_before);
	else if (room > 0 && s.sk.data_segs_out)
		CHECK(((double)s.sk.snd_cwnd - tcp_packets_in_flight(&s.sk)) * mss <=
		      room * mss_before + mss);
	remember();
}

/* @by_timer: as tcp_enter_loss() does it, or tcp_simple_retransmit(). @taken_back: what
 * was in the state before was none
 */
static void change_state(u8 state, bool by_timer, bool taken_back)
{
	if (state == TCP_CA_Open && taken_back)
		s.sk.snd_cwnd = s.sk.icsk_ca_ops->undo_cwnd(&s.sk);
	if (state == TCP_CA_Open && taken_back)
		s.sk.snd_ssthresh = max_t(u32, s.sk.snd_ssthresh, prior_ssthresh);
	if (state >= TCP_CA_Recovery)
		s.sk.prior_cwnd = s.sk.snd_cwnd;
	/* tcp_current_ssthresh(), and what tcp_init_cwnd_reduction() does */
	if (state >= TCP_CA_CWR && state > s.sk.icsk_ca_state) {
		prior_ssthresh = s.sk.snd_ssthresh;
		if (s.sk.icsk_ca_state < TCP_CA_CWR)
			prior_ssthresh = max_t(u32, prior_ssthresh, s.sk.snd_cwnd / 4 * 3);
		s.sk.snd_cwnd_cnt = 0;
		s.sk.snd_ssthresh = s.sk.icsk_ca_ops->ssthresh(&s.sk);
		CHECK(s.sk.snd_ssthresh >= 2);
		CHECK(pktpair_is_shared(ca) == (s.sk.snd_ssthresh < TCP_INFINITE_SSTHRESH));
	}
	if (state == TCP_CA_Loss && by_timer)
		s.sk.snd_cwnd = min_t(u32, tcp_packets_in_flight(&s.sk) + 1,
				      s.sk.snd_cwnd_clamp);
	without_timer = state == TCP_CA_Loss && !by_timer;
	s.sk.icsk_ca_ops->set_state(&s.sk, state);
	s.sk.icsk_ca_state = state;
	remember();
}

/* CUBIC begins with a first flight where the first packet waited for others, after slow start
 * where this flow has most, else in slow start; the pair law with the window as it is
 */
static void check_law(const struct round_found *found)
{
	const struct in_turn was = ca->evidence->turns;
	const u32 before_it = s.sk.snd_cwnd, threshold = s.sk.snd_ssthresh;
	const bool first = !was.alarms && found->first_waited_us >
		3ULL * in_turn_us(found->slowest_q10, ca->mss) + pktpair_prop_us(ca) / 16;
	u32 begins = before_it, expected = TCP_INFINITE_SSTHRESH;

	pktpair_judge_turns(&s.sk, found);
	CHECK(!first || ca->evidence->turns.shared);
	if (was.shared == ca->evidence->turns.shared) {
		expected = threshold;
	} else if (first) {
		begins = min_t(u32, before_it, 10);
		expected = 10;
	} else if (!was.shared && found->served_q8 > IN_TURN_ONE_Q8 / 2) {
		expected = max_t(u32, before_it, 2);
	}
	CHECK(s.sk.snd_cwnd == begins && s.sk.snd_ssthresh == expected);
}

/* What a block of round trips may have shown, some times in a row, and the first packet */
static void take_blocks(const u8 **data, size_t *size, bool first)
{
	struct round_found found = {
		.service_q10 = 1, .delivered_q10 = take_scale(data, size, 47),
		.waited_us = (u32)take_scale(data, size, 27),
		.served_q8 = (u32)take_scale(data, size, 10),
	};
	u8 flags = (u8)take(data, size, 1), times = flags % 64;

	found.limited = flags & 64;
	found.lossy = flags & 128;
	if (first) {
		found.faster = take(data, size, 1) & 1;
		found.first_waited_us = (u32)take_scale(data, size, 27) - 1;
		found.slowest_q10 = take_scale(data, size, 47) - 1;
	}
	while (ca->evidence && times--)
		check_law(&found);
	remember();
}

/* A new connection, or another algorithm in mid-flow, which is the same one maybe */
static void take_change(u8 flags, bool begins)
{
	if (begins) {
		s.sk.snd_cwnd = 1;
		s.sk.data_segs_out = 0;
	}
	stack_memory_fails = flags & 1;
	sender_change(&s, stack_algorithms[flags >> 1 & 1]);
	stack_memory_fails = false;
	CHECK(stack_allocated == !(flags & 1));
	CHECK(s.sk.snd_ssthresh == TCP_INFINITE_SSTHRESH);
	remember();
}

static void take_step(const u8 **data, size_t *size)
{
	static const u8 states[] = { TCP_CA_Open, TCP_CA_CWR, TCP_CA_Recovery,
				     TCP_CA_Loss };
	const u32 step = (u32)take(data, size, 1) % 21;
	u64 limit;
	u8 drawn;

	switch (step) {
	case 0:
		s.service_ns = 1000 + take_scale(data, size, 27);
		break;
	case 1:
		s.prop_ns = take_scale(data, size, 32);
		break;
	case 2:
		s.ack_every = 1 + (u32)take(data, size, 1) % 40;
		break;
	case 3:
		s.losses = 1;
		break;
	case 4:
		s.marked = true;
		break;
	case 5:
		s.retransmitted = true;
		break;
	case 6:
		s.owned = true;
		break;
	case 7:
		s.waiting = take(data, size, 1);
		break;
	case 8:
		drawn = (u8)take(data, size, 1);
		change_state(states[drawn % 4], drawn & 0x80, drawn & 0x40);
		s.answers++;
		break;
	case 9:
		take_mss(36 + (u32)take_scale(data, size, 16) % 65000);
		s.sk.sk_gso_max_segs = 1 + (u16)take(data, size, 1);
		break;
	case 10:
		limit = take_scale(data, size, 31);
		/* both at once, as setsockopt() does it */
		s.sk.sk_max_pacing_rate = limit;
		s.sk.sk_pacing_rate = min_t(u64, s.sk.sk_pacing_rate, limit);
		s.sk.snd_cwnd_clamp = 1 + (u32)(limit % WINDOW_MAX);
		s.sk.snd_cwnd = min_t(u32, s.sk.snd_cwnd, s.sk.snd_cwnd_clamp);
		/* it is the route's, and was this when the window was */
		s.sk.prior_cwnd = min_t(u32, s.sk.prior_cwnd, s.sk.snd_cwnd_clamp);
		break;
	case 11:
		take_nonsense(data, size);
		break;
	case 12:
	case 13:
		sender_timeout(&s, take(data, size, 1) & 1);
		s.now_ns += take_scale(data, size, 34);
		remember();
		break;
	case 14:
		s.sk.total_retrans = (u32)take(data, size, 1) % 4;
		s.sk.undo_marker = (u32)take(data, size, 1) % 2;
		first_window = (u32)take(data, size, 1);
		take_change((u8)take(data, size, 1), true);
		CHECK(s.sk.snd_cwnd == 1 || s.sk.total_retrans < 2 || !s.sk.undo_marker);
		first_window = 0;
		break;
	case 15:
		take_change((u8)take(data, size, 1), false);
		break;
	case 16:
	case 17:
		take_blocks(data, size, step == 17);
		break;
	case 18:
		/* others' packets come between */
		s.turn = (u32)take(data, size, 1) % 32;
		s.turn_left = s.turn;
		s.others_ns = take_scale(data, size, 30);
		break;
	case 19:
		s.no_stamps = take(data, size, 1) & 1;
		s.ahead = (u32)take_scale(data, size, 32);
		break;
	default:
		/* as little as there is */
		s.service_ns = take_scale(data, size, 36);
	}
	/* as much as fits a few hundred ACKs */
	sender_run(&s, take_scale(data, size, 28));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const u64 service_ns = 10 * NSEC_PER_MSEC;
	const u64 rtt_ns = 100 * NSEC_PER_MSEC;
	unsigned int steps = 0;
	int preset;

	if (!stack_registered && stack_module_init())
		return 0;
	preset = (int)take(&data, &size, 1);
	stack_memory_fails = preset & 2;
	preset &= 1;
	sender_init(&s, stack_algorithms[preset], service_ns, rtt_ns);
	stack_memory_fails = false;
	s.sk.snd_cwnd_clamp = WINDOW_MAX;
	without_timer = false;
	prior_ssthresh = TCP_INFINITE_SSTHRESH;
	s.after_ack = check;
	remember();
	while (size && steps++ < 40)
		take_step(&data, &size);
	sender_release(&s);
	CHECK(!stack_allocated);
	return 0;
}
