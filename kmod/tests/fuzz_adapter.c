// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_pktpair.c on a path that changes at will, with losses, marks, retransmissions,
 * timeouts, pauses, limits of the socket, and acknowledgments that no stack would
 * make up. Neither rate nor window is ever zero, nor above the socket's, and no
 * estimate leaves its range. (That estimates come back to the truth is for
 * fuzz_controller.c to say.)
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

static void stack_traced(const struct sock *sk, const struct pair_sample *sample,
			 const struct control_path *path,
			 const struct control_orders *orders)
{
	CHECK(sample->verdict > PAIR_OPEN && sample->verdict < PAIR_VERDICTS);
	CHECK(path->newest_backlog_q8 <= CONTROL_BACKLOG_MAX * CONTROL_PACKET_Q8);
}

static void check(struct sender *of, const struct rate_sample *rs)
{
	CHECK(of->sk.sk_pacing_rate >= 1);
	CHECK(of->sk.sk_pacing_rate <= of->sk.sk_max_pacing_rate);
	CHECK(of->sk.snd_cwnd >= 1);
	CHECK(of->sk.snd_cwnd <= of->sk.snd_cwnd_clamp);
	CHECK(ca->train >= 1 && ca->train <= 64);
	CHECK(ca->service.value <= FUZZY_VALUE_MAX);
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
	struct rate_sample rs = {
		.acked_sacked = (u32)take(data, size, 1) % 70,
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
	s.now_ns += take_scale(data, size, 34);
	s.sk.tcp_clock_cache = s.now_ns;
	s.sk.tcp_mstamp = s.now_ns / NSEC_PER_USEC;
	if (flags & 16)
		s.sk.first_tx_mstamp = s.sk.tcp_mstamp -
			min_t(u64, s.sk.tcp_mstamp, take_scale(data, size, 30));
	s.sk.icsk_ca_ops->cong_control(&s.sk, &rs);
	check(&s, &rs);
	/* what it sent meanwhile has come back */
	sender_run(&s, 0);
}

static void take_step(const u8 **data, size_t *size)
{
	static const u8 states[] = { TCP_CA_Open, TCP_CA_CWR, TCP_CA_Recovery,
				     TCP_CA_Loss };
	u64 limit;

	switch (take(data, size, 1) % 12) {
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
		s.marks = 1;
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
		s.sk.icsk_ca_state = states[take(data, size, 1) % 4];
		s.sk.icsk_ca_ops->set_state(&s.sk, s.sk.icsk_ca_state);
		break;
	case 9:
		s.sk.mss_cache = 36 + (u32)take_scale(data, size, 13);
		s.sk.sk_gso_max_segs = 1 + (u16)take(data, size, 1);
		break;
	case 10:
		limit = take_scale(data, size, 31);
		/* both at once, as setsockopt() does it */
		s.sk.sk_max_pacing_rate = limit;
		s.sk.sk_pacing_rate = min_t(u64, s.sk.sk_pacing_rate, limit);
		s.sk.snd_cwnd_clamp = 1 + (u32)(limit % WINDOW_MAX);
		s.sk.snd_cwnd = min_t(u32, s.sk.snd_cwnd, s.sk.snd_cwnd_clamp);
		break;
	default:
		take_nonsense(data, size);
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
	preset = (int)take(&data, &size, 1) % 3;
	sender_init(&s, stack_algorithms[preset], service_ns, rtt_ns);
	s.sk.snd_cwnd_clamp = WINDOW_MAX;
	s.after_ack = check;
	while (size && steps++ < 40)
		take_step(&data, &size);
	return 0;
}
