// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_pktpair: packet-pair rate control for bottlenecks that serve flows in
 * turn.
 *
 * Keshav showed in 1991-95 that where routers serve each flow in turn, the gap
 * between the acknowledgments of packets sent back to back is the time the
 * bottleneck takes to serve one packet of this flow. From it follow the flow's
 * share, without probing for loss, and its queue at the bottleneck, which is
 * held at a setpoint.
 *
 * Every acknowledgment goes four steps:
 *
 *	pktpair_sense      which train it belongs to; a train that has come
 *	                   back whole gives a gap             (pair_probe.h)
 *	pktpair_estimate   service time and propagation delay
 *	                   (fuzzy_average.h, propagation_delay.h, way_back.h)
 *	pktpair_confirm    once in a period, which is a round trip or longer: do
 *	                   deliveries and the queue confirm the service time, and
 *	                   does the bottleneck serve in turn at all?
 *	                   (round_check.h, in_turn.h)
 *	pktpair_steer      queue at the bottleneck, rate, window and length of the
 *	                   next trains     (queue_estimate.h, control_law.h;
 *	                   cubic_window.h where the bottleneck does not serve in
 *	                   turn)
 *
 * While the stack retransmits, and after a change of the MSS, pktpair_take_unusual() stands
 * around these four: it drops samples that count wrongly and bounds the window.
 *
 * The headers hold the formulas and know no socket; this file holds no formula
 * and knows the stack: what a rate_sample means, that one skb of several
 * segments leaves back to back and is one train, that min_tso_segs() is asked
 * right before an skb is sized. Loss recovery is the stack's.
 */
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "control_law.h"
#include "cubic_window.h"
#include "fuzzy_average.h"
#include "in_turn.h"
#include "knob.h"
#include "law_1994.h"
#include "pair_probe.h"
#include "propagation_delay.h"
#include "queue_estimate.h"
#include "queue_watch.h"
#include "round_check.h"
#include "way_back.h"

#define CREATE_TRACE_POINTS
#include "pktpair_trace.h"

/* A link of 100 Gbit/s needs 7 ns for the smallest packet of 88 bytes */
#define PKTPAIR_SERVICE_MIN_NS	7
/* Trains that last less cost the CPU more than the link gains: at 1 Gbit/s of
 * full packets a train grows to 8
 */
#define PKTPAIR_TRAIN_MIN_NS	(100 * NSEC_PER_USEC)
/* Trains that last more hold up the flow itself: below 380 kbit/s of full
 * packets four become three, below 190 kbit/s there are no trains
 */
#define PKTPAIR_TRAIN_MAX_NS	(125 * NSEC_PER_MSEC)
/* Service times are averaged over an eighth of a round trip: excursions that are
 * over before the law could act on them stay inside one mean
 */
#define PKTPAIR_MEANS_PER_RTT	8
/* Send buffer beyond the window: three windows, since the window may grow from
 * ten segments to a whole pipe within one acknowledgment
 */
#define PKTPAIR_SNDBUF_FACTOR	3
/* Pacing before the first gap: the initial window in a quarter of a round trip. The
 * first ACK lets a packet or two go before the second shows the gap, and what these are
 * paced by holds up all that follow
 */
#define PKTPAIR_FIRST_RATE_FACTOR 4

/* What the first ACK may cover at most, segments, so that what it waited is not for the flow
 * itself: a stock receiver's
 */
#define PKTPAIR_FIRST_ACK	2

/* Pacing while CUBIC's window steers: twice the window in a round trip, in slow start and
 * after it. At 1.25 times a flow between unpaced ones loses more often, and had 0.4 of
 * what CUBIC gets there, in the simulator's FIFOs
 */
#define PKTPAIR_SHARED_RATE_FACTOR 2
/* Round trips from a change of the MSS on in which samples may count packets of two sizes: the
 * one under way, and two
 */
#define PKTPAIR_MIXED		3
/* Trains meanwhile: the smallest skbs that the stack builds, and now and then one that shows a
 * gap
 */
#define PKTPAIR_SHARED_TRAIN	2

/**
 * struct pktpair_evidence - what confirms the share, or another law; one for a connection
 * @mean: trains since the last service time
 * @check: the round trips' check of what gaps have shown
 * @turns: whether the bottleneck serves in turn
 * @cubic: the window where it does not
 * @delivered_us: when @cubic last took an acknowledgment
 * @watch: what the newest packet will meet, for a tracer
 * @rounds: round trips
 * @judged_rounds: when @turns last took a block
 * @probe_seq: tp->snd_nxt at which the next train is to show a gap although it is @turns.shared
 * @back: what the way back takes beyond the propagation delay
 * @shared_rtt_us: shortest round trip since @turns.shared
 * @probe_room: packets in the window for that train: an ACK makes room for no more than two
 * @resized_seq: what is before may have been written for another MSS than that of now
 * @counted_mss: payload of what the window and the queue are counted in; the MSS counts alike
 */
struct pktpair_evidence {
	struct pair_mean mean;
	struct round_check check;
	struct in_turn turns;
	struct cubic_window cubic;
	u64 delivered_us;
	struct queue_watch watch;
	u32 rounds;
	u32 judged_rounds;
	u32 probe_seq;
	u32 probe_room;
	u32 resized_seq;
	u16 counted_mss;
	struct way_back back;
	u32 shared_rtt_us;
};

/**
 * struct pktpair - state of one connection
 * @probe: the train coming back
 * @mean_rate_bytes_ps: 1994, which believes every pair: smoothed rate
 * @alone_delivered_us: when @alone last took an acknowledgment
 * @service: service time at the bottleneck, ns in PAIR_SERVICE_SHIFT places
 * @prop: round-trip propagation delay
 * @alone: CUBIC's window, where there was no memory for @evidence and nothing else is used
 * @setpoint: queue aimed for, before its bounds
 * @aim_q8: queue aimed for, packets, chosen when @anew
 * @queue: what the queue at the bottleneck is estimated from
 * @round_delivered: tp->delivered that ends the current round trip
 * @mss: payload of the packets that service time and window count
 * @gso_max_segs: what the device allows; what the field held before us
 * @gso_set: what we wrote to the field, 1 .. 64; 0: nothing yet
 * @train: segments of the next trains, 1 .. 64
 * @mixed: round trips to come in which packets of two sizes are in flight, or were when those
 *	were sent that are acknowledged
 * @unusual: the next acknowledgment is for pktpair_take_unusual()
 * @timed_out: a timer took all for lost, and since then the window has not grown to what
 *	the law asks for
 * @shows_none: CUBIC's window steers, for who has no lock
 * @started: @service holds a whole train, not the running first one
 * @fresh: this acknowledgment gave a service time
 * @anew: what @aim_q8 is chosen from has changed
 * @dipped: the queue was drained on purpose a round trip ago
 * @evidence: NULL: there was no memory, and CUBIC's window steers
 */
struct pktpair {
	struct pair_probe probe;
	struct propagation_delay prop;
	union {
		u64 mean_rate_bytes_ps;
		u64 alone_delivered_us;
	};
	union {
		struct fuzzy_average service;
		struct cubic_window alone;
	};
	struct control_setpoint setpoint;
	s32 aim_q8;
	struct queue_estimate queue;
	u32 round_delivered;
	u16 mss;
	u16 gso_max_segs;
	u8 gso_set;
	u8 train;
	u8 mixed:2,
	   unusual:1,
	   timed_out:1,
	   shows_none:1;
	u8 started:1,
	   fresh:1,
	   anew:1,
	   dipped:1;
	struct pktpair_evidence *evidence;
};

/**
 * struct pktpair_preset - what a registered name stands for
 * @is_1994: the memorandum's law: each pair is a service time, law_1994.h steers, nothing
 *	confirms it, and R is not refreshed
 * @trains: bounds of the trains
 * @first_window: packets of the first flight; 0: a knob
 */
struct pktpair_preset {
	bool is_1994;
	const struct pair_limits *trains;
	u32 first_window;
};

struct pktpair_algorithm {
	struct tcp_congestion_ops ops;
	struct pktpair_preset preset;
};

static const struct pktpair_preset *pktpair_preset(const struct sock *sk)
{
	return &container_of(inet_csk(sk)->icsk_ca_ops,
			     struct pktpair_algorithm, ops)->preset;
}

/* ---- what became of the trains, for whoever asks without tracing ---- */

/* as the tracepoint prints them */
static const struct trace_print_flags pktpair_verdicts[] = { PKTPAIR_VERDICTS };

/* of all connections, since the module was loaded; as wide as a word, so that
 * counting is one instruction
 */
struct pktpair_counters {
	unsigned long trains[PAIR_VERDICTS];
	unsigned long alarms;
	unsigned long returns;
	unsigned long alone;
};

static DEFINE_PER_CPU(struct pktpair_counters, pktpair_counters);

static int pktpair_trains_get(char *buffer, const struct kernel_param *kp)
{
	int i, cpu, length = 0;

	for (i = 0; i < ARRAY_SIZE(pktpair_verdicts); i++) {
		unsigned long sum = 0;

		for_each_possible_cpu(cpu)
			sum += READ_ONCE(per_cpu(pktpair_counters, cpu)
					 .trains[pktpair_verdicts[i].mask]);
		length += sysfs_emit_at(buffer, length, "%s %lu\n",
					pktpair_verdicts[i].name, sum);
	}
	return length;
}

static const struct kernel_param_ops pktpair_trains_ops = {
	.get = pktpair_trains_get,
};

module_param_cb(trains, &pktpair_trains_ops, NULL, 0444);
MODULE_PARM_DESC(trains,
		 "read only: trains that came back, of all connections, by what became of them");

static int pktpair_laws_get(char *buffer, const struct kernel_param *kp)
{
	unsigned long alarms = 0, returns = 0, alone = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		alarms += READ_ONCE(per_cpu(pktpair_counters, cpu).alarms);
		returns += READ_ONCE(per_cpu(pktpair_counters, cpu).returns);
		alone += READ_ONCE(per_cpu(pktpair_counters, cpu).alone);
	}
	return sysfs_emit(buffer, "shared %lu\nin-turn-again %lu\nno-memory %lu\n",
			  alarms, returns, alone);
}

static const struct kernel_param_ops pktpair_laws_ops = {
	.get = pktpair_laws_get,
};

module_param_cb(laws, &pktpair_laws_ops, NULL, 0444);
MODULE_PARM_DESC(laws,
		 "read only: how often a bottleneck was found not to serve in turn, and to do so again, and connections without memory for that, of all connections");

/* ---- knobs ---- */

/* Handed to the formulas as it stands, for it would cost a tenth of an ACK to
 * copy: where the knobs say that the shortest is longer than the longest, the
 * longest holds.
 */
static struct pair_limits pktpair_trains_of_knobs __read_mostly = {
	.train_min = 4,
	.train_max = 64,
	.service_min_ns	= PKTPAIR_SERVICE_MIN_NS,
	.train_min_ns = PKTPAIR_TRAIN_MIN_NS,
	.train_max_ns = PKTPAIR_TRAIN_MAX_NS,
};

/* The memorandum's: pairs, however long they take */
static const struct pair_limits pktpair_trains_of_1994 = {
	.train_min = 2,
	.train_max = 2,
	.service_min_ns = PKTPAIR_SERVICE_MIN_NS,
	.train_max_ns = PAIR_SPAN_MAX_NS,
};

NUMBER_KNOB(setpoint_packets, 5, 2, 4096,
	    "queue aimed for at the bottleneck, packets (2-4096, default 5); where it probes, the first setpoint");
NUMBER_KNOB(setpoint_probing, 0, 0, 1,
	    "0: fixed setpoint (default); 1: a step up every second round trip, three quarters on a loss or mark");
NUMBER_KNOB(setpoint_step, CONTROL_PROBE_STEP, 1, 64,
	    "packets of a step up of the setpoint (1-64, default 2)");
NUMBER_KNOB(setpoint_max_us, 5000, 100, 10000000,
	    "longest time in the queue that the setpoint may mean, us (100-10000000, default 5000)");
NUMBER_KNOB_AT(train_min, &pktpair_trains_of_knobs.train_min, 2, 64,
	       "shortest train, segments (2-64, default 4)");
NUMBER_KNOB_AT(train_max, &pktpair_trains_of_knobs.train_max, 2, 64,
	       "longest train, segments (2-64, default 64)");

NUMBER_KNOB(first_window, 0, 0, 1024,
	    "packets of the first flight (1-1024); 0 (default): the stack's and the route's initial window");
NUMBER_KNOB(first_rate_kbit, 0, 0, 100000000,
	    "rate that the path is known to have, kbit/s of payload, used until a gap has shown it (1-100000000); 0 (default): unknown");

/* ---- from the stack's events to the formulas' arguments ---- */

static const struct pair_limits *pktpair_limits(const struct sock *sk)
{
	return pktpair_preset(sk)->trains;
}

/* The same, where it is known which law it is */
static const struct pair_limits *pktpair_limits_of(bool is_1994)
{
	return is_1994 ? &pktpair_trains_of_1994 : &pktpair_trains_of_knobs;
}

/* CUBIC's window steers: the bottleneck does not serve in turn, or nothing can tell */
static bool pktpair_is_shared(const struct pktpair *ca)
{
	return !ca->evidence || ca->evidence->turns.shared;
}

/* The memorandum's nominal rate, 0: none */
static u64 pktpair_known_bytes_ps(void)
{
	return (u64)READ_ONCE(first_rate_kbit) * 125;	/* 1000 bits */
}

static u32 pktpair_setpoint_first_q8(void)
{
	return READ_ONCE(setpoint_packets) * CONTROL_PACKET_Q8;
}

static u32 pktpair_setpoint_bound_q8(const struct pktpair *ca)
{
	return control_bound_q8((u64)READ_ONCE(setpoint_max_us) * NSEC_PER_USEC,
				ca->service.value);
}

/* where the steps up end */
static u32 pktpair_setpoint_highest_q8(const struct sock *sk)
{
	const struct pktpair *ca = inet_csk_ca(sk);
	u32 first_q8 = pktpair_setpoint_first_q8();

	if (!READ_ONCE(setpoint_probing))
		return first_q8;
	if (pktpair_preset(sk)->is_1994)
		return CONTROL_SETPOINT_MAX_Q8;
	/* or the bound in time would hide the steps */
	return ca->service.value ? max_t(u32, first_q8,
					 pktpair_setpoint_bound_q8(ca)) : first_q8;
}

static u32 pktpair_now_ms(const struct tcp_sock *tp)
{
	return (u32)div_u64(tp->tcp_mstamp, USEC_PER_MSEC);
}

/* The receiver's clock as its last ACK showed it, ms; 0: it shows none */
static u32 pktpair_tick(const struct tcp_sock *tp)
{
	return tp->rx_opt.saw_tstamp ? tp->rx_opt.rcv_tsval : 0;
}

/* Whether the sample may be used: its counts are no more than zero where nothing
 * arrived that had not arrived before, after SACK reneging, and where
 * pktpair_take_unusual() has dropped it
 */
static bool pktpair_counts(const struct rate_sample *rs)
{
	return rs->delivered > 0;
}

/* Whether a packet arrived that had not arrived before. What a receiver has got
 * twice (RFC 2883) the stack counts in acked_sacked, but it is no packet's arrival.
 */
static bool pktpair_delivers(const struct rate_sample *rs)
{
	return pktpair_counts(rs) || rs->prior_mstamp;
}

/* What speaks against taking this ACK's time for a departure at the bottleneck */
static __always_inline enum pair_verdict
pktpair_flaw(const struct sock *sk, const struct rate_sample *rs, bool is_1994)
{
	const struct pktpair *ca = inet_csk_ca(sk);

	/* the memorandum's pairs are of any packets: a SACK names which has arrived */
	if (rs->is_retrans && (!is_1994 || tcp_is_reno(tcp_sk(sk))))
		return PAIR_RETRANSMITTED;
	/* the window cuts trains, which then come back as one ACK */
	if (prop_dipping(&ca->prop) || ca->dipped)
		return PAIR_DRAINED;
	/* it waited in the socket's backlog until the owner let go */
	if (sock_owned_by_user_nocheck(sk))
		return PAIR_HELD;
	/* is_ack_delayed knows only segments below the MSS; the last segment
	 * of all, alone, waits for the receiver's timer just the same
	 */
	if (rs->is_ack_delayed ||
	    (rs->acked_sacked == 1 && !tcp_packets_in_flight(tcp_sk(sk)) &&
	     ca->probe.per_ack_q4 > PAIR_PER_ACK_ONE_Q4))
		return PAIR_DELAYED_ACK;
	return PAIR_OPEN;
}

/* Round trip of the newest delivered segment; 0 where it cannot be told. Not the
 * rate sample's, which comes from time stamps of whole milliseconds where the
 * ACK covers retransmitted data as well.
 */
static u32 pktpair_rtt_us(const struct tcp_sock *tp,
			  const struct rate_sample *rs)
{
	if (!pktpair_counts(rs) || rs->is_retrans)
		return 0;
	return tcp_stamp_us_delta(tp->tcp_mstamp, tp->first_tx_mstamp);
}

/* The same of any acknowledged packet, or in the mean of late */
static u32 pktpair_any_rtt_us(const struct tcp_sock *tp, const struct rate_sample *rs)
{
	return rs->rtt_us > 0 ? (u32)rs->rtt_us : tp->srtt_us >> 3;
}

/* Time since the newest packet in flight was sent, us; 0 if there is none. A
 * paced one may be stamped for a moment that is still to come.
 */
static u32 pktpair_newest_age_us(const struct tcp_sock *tp)
{
	const struct sk_buff *newest;

	if (list_empty(&tp->tsorted_sent_queue))
		return 0;
	newest = list_last_entry(&tp->tsorted_sent_queue, struct sk_buff,
				 tcp_tsorted_anchor);
	return tcp_stamp_us_delta(tp->tcp_mstamp, tcp_skb_timestamp_us(newest));
}

static bool pktpair_round_passed(struct pktpair *ca, const struct tcp_sock *tp,
				 const struct rate_sample *rs)
{
	if (!pktpair_delivers(rs) || before(rs->prior_delivered, ca->round_delivered))
		return false;
	ca->round_delivered = tp->delivered;
	return true;
}

static u32 pktpair_full_packets(const struct tcp_sock *tp)
{
	return control_full_packets(tcp_packets_in_flight(tp), tp->snd_nxt - tp->snd_una,
				    tp->packets_out, tp->mss_cache);
}

/* What is in flight, in packets of the size that is sent now */
static u32 pktpair_outstanding(const struct pktpair *ca, const struct tcp_sock *tp)
{
	u32 in_flight = tcp_packets_in_flight(tp), full;

	if (!ca->mixed)
		return in_flight;
	full = pktpair_full_packets(tp);
	/* what is lost is of the size before, and not in flight */
	return tp->lost_out ? min_t(u32, full, in_flight) : full;
}

/* The share and R: enough for the law */
static bool pktpair_is_known(const struct pktpair *ca)
{
	return ca->service.value && ca->prop.delay_us != PROP_UNKNOWN_US;
}

/* How long a packet takes that meets no queue of its own flow. PROP_UNKNOWN_US stays so. */
static u32 pktpair_prop_us(const struct pktpair *ca)
{
	return way_back_prop_us(&ca->evidence->back, ca->prop.delay_us);
}

/* Trains are GSO skbs, so that what the device or the size of an skb does not
 * allow is not aimed for
 */
static void pktpair_choose_train(struct sock *sk)
{
	struct pktpair *ca = inet_csk_ca(sk);
	const struct pair_limits *limits = pktpair_limits(sk);
	u32 fits = sk->sk_gso_max_size / max_t(u32, tcp_sk(sk)->mss_cache, 1), train;

	if (!ca->service.value)
		return;
	if (ca->evidence->turns.shared) {
		train = PAIR_TRAIN_SHOWS_GAP;
	} else if (ca->evidence->turns.policed) {
		train = 1;
	} else {
		train = pair_train(&ca->probe, ca->service.value,
				   ca->prop.delay_us == PROP_UNKNOWN_US ? 0 : ca->prop.delay_us,
				   limits);
		if (!pktpair_preset(sk)->is_1994)
			train = round_train_most(&ca->evidence->check, train,
						 in_turn_least_train(&ca->evidence->turns,
								     PAIR_TRAIN_SHOWS_GAP));
	}
	fits = max_t(u32, min_t(u32, fits, ca->gso_max_segs), 1);
	ca->train = min_t(u32, fits, train);
	ca->anew = 1;
}

/* Packets of two sizes are in flight, and no train of one size */
static void pktpair_mix(struct pktpair *ca)
{
	pair_probe_abandon(&ca->probe);
	ca->mixed = PKTPAIR_MIXED;
	ca->unusual = 1;
}

/* The MSS has changed. min_tso_segs() notices it before the first packet of the new size is
 * sent. The share in bytes stays, so the service time of a packet is scaled. Unless the new size
 * counts like @counted_mss, the rate samples cannot be used for the rest of the round trip under
 * way and two more: until the end of the first, packets of the old size are acknowledged; in the
 * second, packets whose samples count some of those. Who changes the MSS by little, again and
 * again, is seen all the same.
 */
static noinline void pktpair_resize(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct pktpair *ca = inet_csk_ca(sk);
	struct pktpair_evidence *evidence = ca->evidence;
	u16 mss_before = ca->mss, counted_before = evidence->counted_mss;
	u32 window;

	ca->mss = (u16)tp->mss_cache;
	/* init() may run during the handshake, before the MSS is known; the first window is
	 * a number of packets of any size
	 */
	if (!tp->data_segs_out) {
		evidence->counted_mss = ca->mss;
		return;
	}
	fuzzy_scale(&ca->service, ca->mss, mss_before);
	round_check_resize(&evidence->check, ca->mss, mss_before);
	ca->anew = 1;
	/* many small changes are a large one */
	if (control_sizes_agree(ca->mss, counted_before))
		return;
	evidence->counted_mss = ca->mss;
	window = control_window_resized(tcp_snd_cwnd(tp), tcp_packets_in_flight(tp),
					counted_before, ca->mss);
	/* after a timeout one packet is one packet */
	if (ca->timed_out)
		window = min_t(u32, window, tcp_snd_cwnd(tp));
	tcp_snd_cwnd_set(tp, min_t(u32, window, tp->snd_cwnd_clamp));
	fuzzy_end_run(&ca->service);
	memset(&evidence->mean, 0, sizeof(evidence->mean));
	memset(&ca->queue, 0, sizeof(ca->queue));
	pktpair_mix(ca);
	evidence->resized_seq = tp->write_seq;
	pktpair_choose_train(sk);
}

/* Whether a round trip is longer than the queue that the law asks for makes it */
static bool pktpair_waited_long(const struct pktpair *ca, u32 rtt_us)
{
	return round_waited_long(rtt_us, pktpair_prop_us(ca), ca->service.value,
				 control_own_queue(&ca->setpoint, ca->train));
}

/* What was written before the MSS became larger leaves in packets of the size before. A window
 * that counts packets would be a fraction of the share for as long as there are any. One that
 * counts bytes is for who knows the share, and ends with a queue: a server may take as long for
 * a small packet as for a full one.
 */
static noinline void pktpair_find_small(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct pktpair *ca = inet_csk_ca(sk);

	if (!pktpair_is_known(ca) || ca->evidence->turns.shared ||
	    pktpair_waited_long(ca, tp->srtt_us >> 3))
		ca->evidence->resized_seq = tp->snd_una;
	else if (control_sends_small(pktpair_full_packets(tp), tcp_packets_in_flight(tp)))
		pktpair_mix(ca);
	/* which may last, and shows no drained queue */
	if (ca->mixed)
		prop_round(&ca->prop, pktpair_now_ms(tp), false);
}

/* ---- the four steps, inlined: saving registers is a tenth of an ACK ---- */

/* The train that this acknowledgment closes, if it closes one */
static __always_inline struct pair_sample
pktpair_sense(struct sock *sk, const struct rate_sample *rs, bool is_1994)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct pktpair *ca = inet_csk_ca(sk);
	struct pair_ack ack = {
		.now_ns = tp->tcp_clock_cache,
		/* the stack's send time of the newest delivered skb */
		.sent_us = (u32)tp->first_tx_mstamp,
		.segments = rs->acked_sacked,
		.tick = tp->rx_opt.rcv_tsval,
		.fills_hole = inet_csk(sk)->icsk_ca_state >= TCP_CA_Recovery,
	};

	if (!pktpair_counts(rs))
		return (struct pair_sample) { .verdict = PAIR_OPEN };
	ack.flaw = pktpair_flaw(sk, rs, is_1994);
	round_check_ack(&ca->evidence->check, (u32)tp->tcp_mstamp);
	return pair_probe_ack(&ca->probe, &ack, pktpair_limits_of(is_1994));
}

/* out of line, since means are few */
static noinline void pktpair_service_sample(struct pktpair *ca, u64 service_q10)
{
	if (ca->started)
		fuzzy_update(&ca->service, service_q10);
	else
		fuzzy_start(&ca->service, service_q10);
	ca->started = 1;
	ca->fresh = 1;
	ca->anew = 1;
}

/* A service time that a train shows, but no shorter than deliveries allow; what they allow
 * raises none above @most_q10. Of a first flight all is believed, if its ACKs come one by one,
 * as they left the receiver.
 */
static noinline u64 pktpair_bounded_q10(const struct sock *sk, const struct rate_sample *rs,
					u64 span_ns, u32 ticks, u64 service_q10, u64 most_q10)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct pktpair *ca = inet_csk_ca(sk);
	const struct round_check *check = &ca->evidence->check;
	bool suspected = in_turn_suspects_policer(&ca->evidence->turns);
	u64 bound_q10;

	if (!ca->started && tp->rx_opt.saw_tstamp &&
	    round_first_even(check, span_ns, ticks))
		return service_q10;
	if (rs->interval_us <= 0)
		bound_q10 = round_bound_q10(check, 0, tp->srtt_us >> 3, suspected);
	else
		bound_q10 = round_bound_q10(check, rs->delivered,
					    max_t(u32, rs->interval_us, tcp_min_rtt(tp)),
					    suspected);
	return max_t(u64, service_q10, min_t(u64, bound_q10, most_q10));
}

/* By value, or the train would be kept in memory for every acknowledgment */
static __always_inline u64
pktpair_bounded(const struct sock *sk, const struct rate_sample *rs,
		const struct pair_sample *train, u64 service_q10, u64 most_q10)
{
	if (service_q10 >= most_q10)
		return service_q10;
	return pktpair_bounded_q10(sk, rs, train->span_ns, train->ticks, service_q10, most_q10);
}

/* A train's service time: the mean of some, unless train after train shows that the share
 * is another now. A first train that lasts less than PKTPAIR_TRAIN_MIN_NS may be a burst
 * of ACKs, so no estimate starts from it.
 */
static __always_inline void
pktpair_believe(struct sock *sk, const struct rate_sample *rs, const struct pair_sample *closed)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct pktpair *ca = inet_csk_ca(sk);
	struct pktpair_evidence *evidence = ca->evidence;
	/* the bound does not raise the estimate */
	u64 service_q10 = pair_service_time(closed), most_q10 = ca->service.value ?: U64_MAX;
	bool bursts;

	round_check_train(&evidence->check, closed->span_ns, closed->segments, closed->ticks);
	/* gaps show the link before a policer, until its burst is used up */
	if (unlikely(evidence->turns.policed))
		return;
	if (evidence->check.hold)
		pair_probe_hold(&ca->probe);
	if (!ca->started) {
		if (closed->span_ns >= PKTPAIR_TRAIN_MIN_NS)
			pktpair_service_sample(ca, pktpair_bounded(sk, rs, closed,
								   service_q10, most_q10));
		return;
	}
	bursts = pair_probe_bunched(&ca->probe, closed->segments, service_q10,
				    ca->service.value, pktpair_limits_of(false)) ||
		 evidence->check.hold;
	if (!bursts && fuzzy_run(&ca->service, pktpair_bounded(sk, rs, closed,
							       service_q10, most_q10))) {
		memset(&evidence->mean, 0, sizeof(evidence->mean));
		ca->fresh = 1;
		ca->anew = 1;
	} else if (pair_mean_add(&evidence->mean, closed, (u32)tp->tcp_mstamp,
				 (tp->srtt_us >> 3) / PKTPAIR_MEANS_PER_RTT)) {
		/* the mean takes trains unbounded: bursts cancel in it */
		const struct pair_sample mean = pair_mean_take(&evidence->mean);

		pktpair_service_sample(ca, pktpair_bounded(sk, rs, closed,
							   pair_service_time(&mean), most_q10));
	}
}

/* The first train while it comes back */
static noinline void pktpair_believe_first(struct sock *sk, const struct rate_sample *rs,
					   bool is_1994)
{
	struct pktpair *ca = inet_csk_ca(sk);
	const struct pair_sample open = pair_probe_peek(&ca->probe, pktpair_limits(sk));
	u64 service_q10;

	ca->anew = 1;
	if (open.verdict != PAIR_SAMPLE)
		return;
	service_q10 = pair_service_time(&open);
	if (is_1994) {
		fuzzy_start(&ca->service, service_q10);
		return;
	}
	round_check_turn(&ca->evidence->check, service_q10);
	if (open.span_ns >= PKTPAIR_TRAIN_MIN_NS)
		fuzzy_start(&ca->service, pktpair_bounded(sk, rs, &open, service_q10, U64_MAX));
}

/* What the newest packet will meet is for whoever watches: the law aims with the
 * queue beyond the pipe. By value, so that the path needs no memory otherwise.
 */
static noinline u32
pktpair_watch_queue(struct sock *sk, s64 beyond_pipe_q8, struct control_path path)
{
	struct pktpair *ca = inet_csk_ca(sk);
	u32 newest_q8 = queue_newest_q8(&ca->evidence->watch, &path, beyond_pipe_q8,
					(u32)tcp_sk(sk)->tcp_mstamp);

	return pktpair_preset(sk)->is_1994 ? path.backlog_q8 : newest_q8;
}

/* Service time and propagation delay */
static __always_inline void
pktpair_estimate(struct sock *sk, const struct rate_sample *rs, bool is_1994,
		 const struct pair_sample *closed, u32 rtt_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct pktpair *ca = inet_csk_ca(sk);

	if (closed->verdict == PAIR_SAMPLE) {
		if (is_1994)
			pktpair_service_sample(ca, pair_service_time(closed));
		else
			pktpair_believe(sk, rs, closed);
	} else if (!ca->started) {
		pktpair_believe_first(sk, rs, is_1994);
	}
	if (rtt_us) {
		u32 there_us = round_check_rtt(&ca->evidence->check, rtt_us,
					       tp->rx_opt.rcv_tsval * ROUND_TICK_US -
					       (u32)tp->first_tx_mstamp);

		way_back_came(&ca->evidence->back, rtt_us, ca->prop.delay_us, there_us);
		if (ca->probe.flaw != PAIR_DELAYED_ACK)
			prop_sample(&ca->prop, rtt_us, pktpair_now_ms(tp));
	}
	if (rs->losses > 0)
		round_check_lost(&ca->evidence->check, rs->losses);
}

/* Field by field: a structure that is handed over whole is in memory from its beginning */
static __always_inline struct control_path pktpair_path_copy(const struct control_path *path)
{
	return (struct control_path) {
		.service_q10 = path->service_q10,
		.rtt_us = path->rtt_us,
		.prop_us = path->prop_us,
		.outstanding = path->outstanding,
		.delivered = path->delivered,
		.backlog_q8 = path->backlog_q8,
		.newest_age_us = path->newest_age_us,
		.newest_backlog_q8 = path->newest_backlog_q8,
	};
}

/* What is known of the path after this acknowledgment; false: not yet enough */
static __always_inline bool
pktpair_path(struct sock *sk, const struct rate_sample *rs, bool is_1994, u32 rtt_us,
	     struct control_path *path)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct pktpair *ca = inet_csk_ca(sk);
	u32 delivered = rs->delivered, outstanding = tcp_packets_in_flight(tp), pipe_us;
	s64 beyond_pipe_q8;

	if (!pktpair_is_known(ca))
		return false;
	if (unlikely(!pktpair_counts(rs))) {
		if (!pktpair_delivers(rs))
			return false;
		delivered = 0;
		outstanding = pktpair_outstanding(ca, tp);
	}
	pipe_us = way_back_pipe_us(&ca->evidence->back, ca->prop.delay_us);
	*path = (struct control_path) {
		.service_q10 = ca->service.value,
		.rtt_us = max_t(u32, rtt_us ?: tp->srtt_us >> 3, pipe_us),
		.prop_us = pipe_us,
		.outstanding = outstanding,
		.delivered = delivered,
	};
	queue_pipe_count(&ca->queue, path);
	beyond_pipe_q8 = queue_beyond_pipe_q8(&ca->queue, path);
	path->backlog_q8 = is_1994 ? law_1994_backlog_q8(path) :
				     max_t(s64, beyond_pipe_q8, 0);
	if (trace_pktpair_sample_enabled()) {
		path->newest_age_us = pktpair_newest_age_us(tp);
		path->newest_backlog_q8 = pktpair_watch_queue(sk, beyond_pipe_q8,
							      pktpair_path_copy(path));
	} else {
		queue_newest_unwatched(&ca->evidence->watch);
	}
	return true;
}

/* Another law steers from here on.
 *
 * CUBIC begins with trains that show gaps. Its window is @window at most, and does not start
 * slowly. If @window is 0, the window stays as it is and starts slowly, since a way there that
 * has become longer looks like a queue.
 *
 * The pair law begins with what the gaps of the last period have shown, and with the shortest
 * round trip since the alarm, for no other tells of the path now.
 */
static void pktpair_change_law(struct sock *sk, u32 window)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct pktpair *ca = inet_csk_ca(sk);
	struct pktpair_evidence *evidence = ca->evidence;

	ca->anew = 1;
	ca->shows_none = evidence->turns.shared;
	round_check_another_law(&evidence->check);
	if (!evidence->turns.shared) {
		this_cpu_inc(pktpair_counters.returns);
		tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
		if (evidence->shared_rtt_us != U32_MAX) {
			prop_replace(&ca->prop, evidence->shared_rtt_us, pktpair_now_ms(tp));
			way_back_renewed(&evidence->back);
		}
		pktpair_choose_train(sk);
		return;
	}
	this_cpu_inc(pktpair_counters.alarms);
	cubic_window_reset(&evidence->cubic);
	evidence->probe_room = 0;
	tp->snd_cwnd_cnt = 0;
	evidence->shared_rtt_us = U32_MAX;
	if (window) {
		tp->snd_ssthresh = max_t(u32, window, CUBIC_WINDOW_MIN);
		tcp_snd_cwnd_set(tp, min_t(u32, tcp_snd_cwnd(tp), tp->snd_ssthresh));
	}
	pair_probe_init(&ca->probe, PAIR_TRAIN_SHOWS_GAP);
	pktpair_choose_train(sk);
}

/* What a block of round trips says of the bottleneck */
static void pktpair_judge_turns(struct sock *sk, const struct round_found *found)
{
	struct pktpair *ca = inet_csk_ca(sk);
	const struct in_turn_block block = {
		.served_q8 = found->served_q8,
		.waited_us = found->waited_us,
		.turn_us = in_turn_us(found->delivered_q10, ca->mss),
		.per_ack = pair_probe_usual(&ca->probe),
		.rounds = ca->evidence->rounds - ca->evidence->judged_rounds,
		.lossy = found->lossy,
		.faster = found->faster,
	};
	const struct in_turn_first first = {
		.waited_us = found->first_waited_us,
		.turn_us = in_turn_us(found->slowest_q10, ca->mss),
		.prop_us = pktpair_prop_us(ca),
	};

	ca->evidence->judged_rounds = ca->evidence->rounds;
	/* What a flow whose first packet waited has beyond a first flight, others had before. One
	 * that has most keeps it, and must not take the rest in a slow start.
	 */
	if (in_turn_take_first(&ca->evidence->turns, &first))
		pktpair_change_law(sk, CONTROL_FIRST_FLIGHT);
	else if (!found->limited && in_turn_take(&ca->evidence->turns, &block))
		pktpair_change_law(sk, in_turn_has_most(&block) ? tcp_snd_cwnd(tcp_sk(sk)) : 0);
	if (trace_pktpair_turns_enabled())
		trace_pktpair_turns(sk, &ca->evidence->turns, &block, ca->evidence->rounds);
}

/* Do deliveries and waits confirm the service time? Not asked in the state Loss and after
 * reneging, where samples count nothing.
 */
static noinline void pktpair_confirm(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct pktpair *ca = inet_csk_ca(sk);
	struct pktpair_evidence *evidence = ca->evidence;
	const struct round_seen seen = {
		.service_q10 = ca->service.value,
		.now_us = (u32)tp->tcp_mstamp,
		.tick = pktpair_tick(tp),
		.delivered = tp->delivered,
		.prop_us = pktpair_prop_us(ca),
		.queue = control_own_queue(&ca->setpoint, ca->train),
		.train = ca->train,
		/* what is delivered now was sent a round trip ago */
		.limited = prop_dipping(&ca->prop) || ca->dipped || rs->is_app_limited ||
			   !pktpair_counts(rs) || inet_csk(sk)->icsk_ca_state == TCP_CA_Loss,
		.policed = evidence->turns.policed,
		.random = evidence->turns.random,
		.probes = evidence->turns.shared,
		/* or it waited for the receiver's timer, and R is not known yet */
		.missing = tp->sacked_out || rs->acked_sacked > PKTPAIR_FIRST_ACK ||
			   ca->prop.delay_us == PROP_UNKNOWN_US,
		.repairs = tp->sacked_out,
	};
	const struct round_found found = round_check_end(&evidence->check, &seen);

	if (found.verdict == ROUND_GOES_ON)
		return;
	way_back_period(&evidence->back, found.back_us, found.silence_us, found.limited);
	pktpair_judge_turns(sk, &found);
	if (evidence->turns.shared || found.verdict == ROUND_CONFIRMED)
		return;
	if (found.bursts)
		pair_probe_lengthen(&ca->probe, pktpair_limits(sk));
	fuzzy_start(&ca->service, found.service_q10);
	memset(&evidence->mean, 0, sizeof(evidence->mean));
	ca->started = 1;
	ca->fresh = 1;
	ca->anew = 1;
}

/* What is done once in a round trip */
static noinline void pktpair_end_round(struct sock *sk, const struct rate_sample *rs,
				       bool is_1994)
{
	struct pktpair *ca = inet_csk_ca(sk);
	struct pktpair_evidence *evidence = ca->evidence;
	bool dips = prop_dipping(&ca->prop);

	evidence->rounds++;
	queue_estimate_round(&ca->queue);
	control_setpoint_round(&ca->setpoint,
			       READ_ONCE(setpoint_step) * CONTROL_PACKET_Q8,
			       pktpair_setpoint_highest_q8(sk));
	ca->anew = 1;
	if (!is_1994) {
		/* a drain needs a service time, a queue that only this flow fills, and samples;
		 * it waits for these, but not for turns to return
		 */
		if (evidence->turns.shared ||
		    (ca->service.value && !evidence->turns.score_q4 && !ca->mixed))
			prop_round(&ca->prop, pktpair_now_ms(tcp_sk(sk)),
				   !evidence->turns.shared);
		pktpair_confirm(sk, rs);
	}
	if (!(evidence->rounds % in_turn_probe_rounds(&evidence->turns)))
		evidence->probe_seq = tcp_sk(sk)->snd_nxt;
	ca->dipped = dips;
	/* see pktpair_resize() */
	ca->mixed -= ca->mixed > 0;
	if (unlikely(before(tcp_sk(sk)->snd_una, evidence->resized_seq)))
		pktpair_find_small(sk);
	else
		evidence->resized_seq = tcp_sk(sk)->snd_una;
}

/* The setpoint to aim for: bounded in time, and mirrored below zero while the
 * propagation delay is looked for
 */
static void pktpair_aim(struct sock *sk, bool is_1994)
{
	struct pktpair *ca = inet_csk_ca(sk);

	ca->anew = 0;
	ca->aim_q8 = ca->setpoint.target_q8;
	if (is_1994)
		return;
	ca->aim_q8 = control_setpoint_q8(&ca->setpoint,
					 pktpair_setpoint_first_q8(),
					 pktpair_setpoint_bound_q8(ca),
					 ca->train);
	if (prop_dipping(&ca->prop))
		ca->aim_q8 = -ca->aim_q8;
}

/* The memorandum's rate, whose mean follows each pair */
static void pktpair_steer_1994(struct sock *sk, const struct control_path *path,
			       struct control_orders *orders)
{
	struct pktpair *ca = inet_csk_ca(sk);

	orders->rate_bytes_ps =
		law_1994_rate_bytes_ps(path, orders->setpoint_q8, ca->mss,
				       ca->mean_rate_bytes_ps);
	if (ca->fresh)
		ca->mean_rate_bytes_ps =
			law_1994_mean_bytes_ps(ca->mean_rate_bytes_ps,
					       orders->rate_bytes_ps);
	orders->window = law_1994_window(path, orders->setpoint_q8);
}

/* CUBIC's window, without the room for a train that is to show a gap */
static u32 pktpair_shared_window(const struct sock *sk)
{
	const struct pktpair *ca = inet_csk_ca(sk);
	u32 window = tcp_snd_cwnd(tcp_sk(sk));

	return window - (ca->evidence ? min_t(u32, ca->evidence->probe_room, window - 1) : 0);
}

/* RFC 9438, 5.8: an epoch does not go on while nothing is in flight. The stack starts its clock
 * of deliveries again with the first packet after that. So the time without a packet in flight
 * is from the last acknowledgment to where this sample begins.
 */
static void pktpair_skip_silence(struct cubic_window *cubic, u64 *delivered_us,
				 const struct tcp_sock *tp, const struct rate_sample *rs)
{
	if (rs->prior_mstamp > *delivered_us)
		cubic_window_idle(cubic, (u32)(rs->prior_mstamp - *delivered_us));
	*delivered_us = tp->tcp_mstamp;
}

/* CUBIC's window, and a rate that does not hold it up. A reduction is made at once: the
 * stack reduces no window of a congestion control that has cong_control().
 */
static noinline struct control_orders
pktpair_steer_shared(struct sock *sk, const struct rate_sample *rs,
		     struct cubic_window *cubic, u64 *delivered_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct pktpair *ca = inet_csk_ca(sk);
	const struct cubic_window_acked acked = {
		.ssthresh = tp->snd_ssthresh,
		.acked = rs->acked_sacked,
		.now_us = (u32)tp->tcp_mstamp,
		.rtt_min_us = ca->prop.delay_us == PROP_UNKNOWN_US ? 0 : ca->prop.delay_us,
	};
	struct control_orders orders = {};
	u8 state = inet_csk(sk)->icsk_ca_state;

	pktpair_skip_silence(cubic, delivered_us, tp, rs);
	orders.window = pktpair_shared_window(sk);
	if (state == TCP_CA_Recovery || state == TCP_CA_CWR)
		orders.window = min_t(u32, orders.window, tp->snd_ssthresh);
	else if (pktpair_delivers(rs) && tcp_is_cwnd_limited(sk))
		orders.window = cubic_window_ack(cubic, orders.window, &tp->snd_cwnd_cnt,
						 &acked);
	orders.rate_bytes_ps =
		control_window_rate_bytes_ps(PKTPAIR_SHARED_RATE_FACTOR * orders.window,
					     tp->mss_cache, tp->srtt_us >> 3);
	orders.rate_bytes_ps = max_t(u64, orders.rate_bytes_ps, 1);
	orders.window = max_t(u32, orders.window, 1);
	return orders;
}

/* The same, and what a pair law beside it needs: the shortest round trip, and trains that
 * show whether turns have returned
 */
static noinline struct control_orders
pktpair_steer_beside(struct sock *sk, const struct rate_sample *rs, u32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct pktpair_evidence *evidence = ((struct pktpair *)inet_csk_ca(sk))->evidence;
	struct control_orders orders;

	evidence->shared_rtt_us = min_t(u32, evidence->shared_rtt_us, rtt_us);
	/* no loss so far; or an undo gives back the threshold of the pair law */
	if (tp->snd_ssthresh == TCP_INFINITE_SSTHRESH &&
	    cubic_window_queued(rtt_us, evidence->shared_rtt_us))
		tp->snd_ssthresh = max_t(u32, tcp_snd_cwnd(tp), CUBIC_WINDOW_MIN);
	orders = pktpair_steer_shared(sk, rs, &evidence->cubic, &evidence->delivered_us);
	evidence->probe_room = tp->snd_nxt == evidence->probe_seq ? PKTPAIR_SHARED_TRAIN : 0;
	orders.window += evidence->probe_room;
	return orders;
}

/* The rate that brings the queue to the setpoint, and the cap on the window */
static __always_inline struct control_orders
pktpair_steer(struct sock *sk, const struct rate_sample *rs, bool is_1994,
	      const struct control_path *path)
{
	struct pktpair *ca = inet_csk_ca(sk);
	struct control_orders orders = {};

	if (rs->losses > 0) {
		control_setpoint_congestion(&ca->setpoint);
		ca->anew = 1;
	}
	if (ca->anew)
		pktpair_aim(sk, is_1994);
	if (!is_1994 && unlikely(ca->evidence->turns.shared))
		orders = pktpair_steer_beside(sk, rs, path->rtt_us);
	orders.setpoint_q8 = ca->aim_q8;
	if (is_1994) {
		pktpair_steer_1994(sk, path, &orders);
	} else if (likely(!ca->evidence->turns.shared)) {
		orders.rate_bytes_ps = control_rate_bytes_ps(path, orders.setpoint_q8, ca->mss);
		orders.window = control_window(path, orders.setpoint_q8, ca->train);
		/* a policer keeps no queue: packets sent to build one are dropped */
		if (unlikely(ca->evidence->turns.policed))
			orders.rate_bytes_ps = max_t(u64, control_share_bytes_ps(path, ca->mss),
						     1);
	}
	return orders;
}

/* Before the first gap: what the path is known to have, or the window, several
 * times in a round trip
 */
static void pktpair_first_rate(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = tp->srtt_us >> 3;
	u64 rate = pktpair_known_bytes_ps();

	if (!rate && !rtt_us)
		return;
	if (!rate)
		rate = control_window_rate_bytes_ps(PKTPAIR_FIRST_RATE_FACTOR *
						    tcp_snd_cwnd(tp),
						    tp->mss_cache, rtt_us);
	WRITE_ONCE(sk->sk_pacing_rate,
		   min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

/* The first flight, where a knob or the preset has a word in it; a connection
 * that changes to pktpair keeps its window, and so does one whose SYN was lost
 * (RFC 5681, 3.1; as tcp_init_transfer() tells it)
 */
static void pktpair_first_window(struct sock *sk)
{
	const struct pktpair_preset *preset = pktpair_preset(sk);
	u32 window = preset->first_window ?: READ_ONCE(first_window);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = pktpair_known_bytes_ps();

	if (tp->data_segs_out || (tp->total_retrans > 1 && tp->undo_marker))
		return;
	if (window)
		tcp_snd_cwnd_set(tp, min_t(u32, window, tp->snd_cwnd_clamp));
	window = control_first_window(rate, tp->mss_cache, tp->srtt_us >> 3);
	if (window > tcp_snd_cwnd(tp))
		tcp_snd_cwnd_set(tp, min_t(u32, window, tp->snd_cwnd_clamp));
}

/* Not enough is known yet: the window grows by what is delivered, as in slow
 * start, so that sooner or later a train comes back with a gap. It does not grow while
 * something else limits the flow, like the receiver's window: a larger one would leave at once.
 */
static void pktpair_grow(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct pktpair *ca = inet_csk_ca(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;

	if (state == TCP_CA_Recovery || state == TCP_CA_CWR ||
	    rs->is_app_limited || !pktpair_delivers(rs) || !tcp_is_cwnd_limited(sk))
		return;
	/* the period that goes on will show the share */
	if (ca->prop.delay_us != PROP_UNKNOWN_US &&
	    round_shows_queue(pktpair_rtt_us(tp, rs), pktpair_prop_us(ca), tcp_snd_cwnd(tp),
			      control_own_queue(&ca->setpoint, ca->train)))
		return;
	tcp_snd_cwnd_set(tp, min_t(u32, tcp_snd_cwnd(tp) + rs->acked_sacked,
				   tp->snd_cwnd_clamp));
	pktpair_first_rate(sk);
}

/* Rate and window must be at least 1 */
static __always_inline void pktpair_apply(struct sock *sk, struct control_orders orders)
{
	struct tcp_sock *tp = tcp_sk(sk);

	PRECONDITION(orders.rate_bytes_ps && orders.window);
	WRITE_ONCE(sk->sk_pacing_rate,
		   min_t(u64, orders.rate_bytes_ps, READ_ONCE(sk->sk_max_pacing_rate)));
	tcp_snd_cwnd_set(tp, min_t(u32, orders.window, tp->snd_cwnd_clamp));
}

/* ---- what the stack calls ---- */

/* Out of line and by value: with their addresses known outside, all of these would
 * be kept in memory for every acknowledgment
 */
static noinline void pktpair_trace(const struct sock *sk, struct pair_sample train,
				   struct control_path path,
				   struct control_orders orders)
{
	/* without what others keep on the way back */
	path.prop_us = ((const struct pktpair *)inet_csk_ca(sk))->prop.delay_us;
	trace_pktpair_sample(sk, &train, &path, &orders);
}

static __always_inline void
pktpair_take_ack(struct sock *sk, const struct rate_sample *rs, const bool is_1994)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct pktpair *ca = inet_csk_ca(sk);
	struct pair_sample train = pktpair_sense(sk, rs, is_1994);
	u32 rtt_us = pktpair_rtt_us(tp, rs);
	struct control_orders orders = {};
	struct control_path path = {};

	pktpair_estimate(sk, rs, is_1994, &train, rtt_us);
	if (pktpair_round_passed(ca, tp, rs))
		pktpair_end_round(sk, rs, is_1994);
	else if (!is_1994 && pktpair_counts(rs) &&
		 round_check_due(&ca->evidence->check, (u32)tp->tcp_mstamp,
				 pktpair_prop_us(ca)))
		pktpair_confirm(sk, rs);
	/* the share has changed, or how the receiver acknowledges */
	if (ca->fresh || (train.verdict != PAIR_OPEN && train.verdict != PAIR_SAMPLE))
		pktpair_choose_train(sk);
	if (pktpair_path(sk, rs, is_1994, rtt_us, &path)) {
		orders = pktpair_steer(sk, rs, is_1994, &path);
		pktpair_apply(sk, orders);
	} else {
		pktpair_grow(sk, rs);
	}
	ca->fresh = 0;
	if (train.verdict != PAIR_OPEN) {
		this_cpu_inc(pktpair_counters.trains[train.verdict]);
		if (trace_pktpair_sample_enabled())
			pktpair_trace(sk, (struct pair_sample) {
					      .span_ns = train.span_ns,
					      .segments = train.segments,
					      .ticks = train.ticks,
					      .verdict = train.verdict,
				      }, pktpair_path_copy(&path),
				      (struct control_orders) {
					      .rate_bytes_ps = orders.rate_bytes_ps,
					      .setpoint_q8 = orders.setpoint_q8,
					      .window = orders.window,
				      });
	}
}

/* Whether deliveries bound the window in this state. The memorandum's window does not bind
 * the flow, except after a timeout.
 */
static bool pktpair_guards(const struct sock *sk, u8 state)
{
	const struct pktpair *ca = inet_csk_ca(sk);

	return ca->timed_out || (state >= TCP_CA_Recovery && !pktpair_preset(sk)->is_1994);
}

/* What bounds the window after an acknowledgment */
static struct control_guard pktpair_guard(const struct sock *sk, u32 window, u32 before, u32 acked,
					  bool lost)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct pktpair *ca = inet_csk_ca(sk);

	return (struct control_guard) {
		.in_flight = tcp_packets_in_flight(tp),
		.window = window,
		.before = before,
		.acked = acked,
		.mending = tp->lost_out + tp->retrans_out,
		.train = ca->train,
		.lost = lost,
		.timed_out = ca->timed_out,
	};
}

/* The timer of RACK sends again at once what it takes for lost (RFC 8985, 6.3), which
 * may be the whole window, before cong_control() runs: so the window is bounded here.
 * One packet may always go, or nothing would be sent again until the RTO.
 */
static void pktpair_enter_recovery(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 window = tcp_snd_cwnd(tp);
	const struct control_guard guard = pktpair_guard(sk, window, window, 1, true);

	if (pktpair_guards(sk, TCP_CA_Recovery))
		tcp_snd_cwnd_set(tp, control_window_guarded(&guard));
}

/* An acknowledgment whose sample cannot be used, or whose window is bounded:
 *
 * - Packets of two sizes are in flight, or were when the packet was sent. The stack counts
 *   either size as one packet, so the sample is dropped.
 * - The stack retransmits (Recovery, Loss). The window is bounded by what is delivered; after
 *   a timeout, until it has grown to what the law asks for.
 * - It retransmits without SACK. The stack counts a duplicate acknowledgment as a delivered
 *   packet, even if a segment arrived twice, and sends one hole in a round trip, whatever
 *   the share is. The sample is dropped.
 */
static noinline void
pktpair_take_unusual(struct sock *sk, const struct rate_sample *rs,
		     void (*take_ack)(struct sock *sk, const struct rate_sample *rs))
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct pktpair *ca = inet_csk_ca(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;
	u32 window, before = tcp_snd_cwnd(tp);
	struct rate_sample sample = *rs;

	if (ca->mixed || (state >= TCP_CA_Recovery && tcp_is_reno(tp))) {
		sample.delivered = -1;
		sample.interval_us = -1;
		/* the period under way has such samples in it */
		if (!ca->mixed)
			round_check_void(&ca->evidence->check);
	}
	take_ack(sk, &sample);
	ca->unusual = ca->mixed || ca->timed_out || state >= TCP_CA_Recovery;

	if (!pktpair_is_known(ca) || !pktpair_delivers(&sample))
		return;
	window = tcp_snd_cwnd(tp);
	/* the law's window is in packets of the size that is sent now */
	if (ca->mixed && !ca->evidence->turns.shared) {
		u32 in_flight = tcp_packets_in_flight(tp);
		bool waited = pktpair_waited_long(ca, pktpair_any_rtt_us(tp, rs));

		window = control_window_mixed(window, pktpair_outstanding(ca, tp), in_flight);
		if (control_sends_small(pktpair_full_packets(tp), in_flight))
			window = control_window_small(window, before, rs->acked_sacked, waited);
	}
	if (pktpair_guards(sk, state)) {
		const struct control_guard guard =
			pktpair_guard(sk, window, before, rs->acked_sacked, rs->losses > 0);

		window = control_window_guarded(&guard);
		/* what is delivered meanwhile is no share */
		if (ca->timed_out && window < guard.window)
			round_check_void(&ca->evidence->check);
		ca->timed_out = control_guard_stays(&guard, window, state == TCP_CA_Loss);
	}
	tcp_snd_cwnd_set(tp, min_t(u32, window, tp->snd_cwnd_clamp));
}

/* There was no memory for evidence: one more CUBIC flow. The SYN's acknowledgment comes
 * here as well, before init() does.
 */
static noinline void pktpair_take_alone(struct sock *sk, const struct rate_sample *rs)
{
	struct pktpair *ca = inet_csk_ca(sk);

	pktpair_apply(sk, pktpair_steer_shared(sk, rs, &ca->alone, &ca->alone_delivered_us));
}

/* A function of its own for each law, so that no acknowledgment asks which is its */
#define PKTPAIR_CONG_CONTROL(its_name, is_1994)					\
static noinline void its_name##_ack(struct sock *sk, const struct rate_sample *rs) \
{										\
	pktpair_take_ack(sk, rs, is_1994);					\
}										\
										\
static void its_name(COMPAT_CONG_CONTROL_ARGS(sk, rs))				\
{										\
	const struct pktpair *ca = inet_csk_ca(sk);				\
										\
	if (unlikely(!ca->evidence))						\
		pktpair_take_alone(sk, rs);					\
	else if (unlikely(ca->unusual))						\
		pktpair_take_unusual(sk, rs, its_name##_ack);			\
	else									\
		its_name##_ack(sk, rs);						\
}

PKTPAIR_CONG_CONTROL(pktpair_cong_control, false)
PKTPAIR_CONG_CONTROL(pktpair_cong_control_1994, true)

/* The first packet after a silence, while CUBIC's window steers. The stack restarts no window of a
 * congestion control that has cong_control().
 */
static noinline void pktpair_restart(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct pktpair *ca = inet_csk_ca(sk);
	u64 *delivered_us = ca->evidence ? &ca->evidence->delivered_us : &ca->alone_delivered_us;
	u32 rto_us = jiffies_to_usecs(inet_csk(sk)->icsk_rto);
	u32 window = tcp_snd_cwnd(tp);

	if (!*delivered_us || tp->tcp_mstamp <= *delivered_us ||
	    !READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_slow_start_after_idle))
		return;
	window = cubic_window_restarted(window, tp->tcp_mstamp - *delivered_us, rto_us,
					TCP_INIT_CWND);
	if (window == tcp_snd_cwnd(tp))
		return;
	tp->snd_ssthresh = tcp_current_ssthresh(sk);
	tcp_snd_cwnd_set(tp, window);
	cubic_window_idle(ca->evidence ? &ca->evidence->cubic : &ca->alone,
			  (u32)(tp->tcp_mstamp - *delivered_us));
	*delivered_us = tp->tcp_mstamp;
}

/* Asked right before the stack sizes an skb: one skb is one train. As a lower
 * bound alone this would not do, since below a round trip of 3 ms the stack
 * makes skbs as large as the device allows; the field bounds it from above. And
 * before it looks at the window, so that another MSS does not fill one that was
 * meant for packets of the size before.
 */
static u32 pktpair_min_tso_segs(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct pktpair *ca = inet_csk_ca(sk);

	if (unlikely(!tp->packets_out) && pktpair_is_shared(ca))
		pktpair_restart(sk);
	if (unlikely(!ca->evidence))
		return PKTPAIR_SHARED_TRAIN;
	if (unlikely((u16)tp->mss_cache != ca->mss))
		pktpair_resize(sk);
	/* a new route wrote the device's limit */
	if (sk->sk_gso_max_segs != ca->gso_set)
		ca->gso_max_segs = sk->sk_gso_max_segs;
	ca->gso_set = (u8)min_t(u16, ca->train, ca->gso_max_segs);
	sk->sk_gso_max_segs = ca->gso_set;
	if (unlikely(ca->evidence->turns.shared) && tp->snd_nxt != ca->evidence->probe_seq)
		return min_t(u32, ca->gso_set, PKTPAIR_SHARED_TRAIN);
	return ca->gso_set;
}

static void pktpair_set_state(struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct pktpair *ca = inet_csk_ca(sk);

	if (!ca->evidence) {
		if (new_state == TCP_CA_Loss)
			cubic_window_reset(&ca->alone);
		return;
	}
	ca->unusual |= new_state >= TCP_CA_Recovery;
	/* A mark, or a drop by this host's own qdisc. The stack stays in this state until
	 * what it sent after the receiver's first echo is acknowledged; until then all ACKs
	 * are echoes (RFC 3168, 6.1.3).
	 */
	if (new_state == TCP_CA_CWR) {
		control_setpoint_congestion(&ca->setpoint);
		ca->anew = 1;
	}
	if (new_state == TCP_CA_Recovery)
		pktpair_enter_recovery(sk);
	if (new_state == TCP_CA_Loss) {
		round_check_void(&ca->evidence->check);
		cubic_window_reset(&ca->evidence->cubic);
		/* tcp_enter_loss() has set this window; a packet that is too large for the path,
		 * an MTU probe or one that ICMP complains of, is sent again in this state too
		 * (tcp_simple_retransmit()), and no timer ran out
		 */
		ca->timed_out |= tcp_snd_cwnd(tp) == tcp_packets_in_flight(tp) + 1;
		control_setpoint_reset(&ca->setpoint,
				       pktpair_setpoint_first_q8());
		ca->anew = 1;
	}
}

/* The pair law's window never starts slowly */
static u32 pktpair_ssthresh(struct sock *sk)
{
	struct pktpair *ca = inet_csk_ca(sk);

	if (!pktpair_is_shared(ca))
		return TCP_INFINITE_SSTHRESH;
	return cubic_window_ssthresh(ca->evidence ? &ca->evidence->cubic : &ca->alone,
				     pktpair_shared_window(sk));
}

/* What was taken for lost was not: the window is the one before. If that was the law's, the
 * next acknowledgment finds so, and a slow start that goes on since an earlier timeout goes on.
 */
static u32 pktpair_undo_cwnd(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max_t(u32, tcp_snd_cwnd(tp), tp->prior_cwnd);
}

static u32 pktpair_sndbuf_expand(struct sock *sk)
{
	return PKTPAIR_SNDBUF_FACTOR;
}

/* In BBR's slot, because every field means there what it means here: bandwidth
 * of the bottleneck for this flow, propagation round trip, and how far pacing
 * rate and window are above them. While CUBIC's window steers there is no such
 * bandwidth, and "ss" shows a slow start threshold instead.
 */
static size_t pktpair_get_info(struct sock *sk, u32 ext, int *attr,
			       union tcp_cc_info *info)
{
	const struct pktpair *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	/* read once: this runs without the socket's lock */
	struct control_path path = {
		.service_q10 = READ_ONCE(ca->service.value),
		.prop_us = READ_ONCE(ca->prop.delay_us),
	};
	u64 share;

	if (!(ext & (1 << (INET_DIAG_BBRINFO - 1))) &&
	    !(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	if (!READ_ONCE(ca->evidence) || ca->shows_none)
		return 0;

	memset(&info->bbr, 0, sizeof(info->bbr));
	/* read without the lock while a socket changes its algorithm, it may be anything */
	if (path.service_q10 && path.service_q10 <= CONTROL_SERVICE_MAX_Q10 &&
	    path.prop_us <= PROP_MAX_US) {
		share = control_share_bytes_ps(&path, READ_ONCE(ca->mss));
		info->bbr.bbr_bw_lo = (u32)share;
		info->bbr.bbr_bw_hi = (u32)(share >> 32);
		info->bbr.bbr_min_rtt = path.prop_us;
		info->bbr.bbr_pacing_gain =
			control_gain_q8(READ_ONCE(sk->sk_pacing_rate), share);
		info->bbr.bbr_cwnd_gain =
			control_gain_q8((u64)tcp_snd_cwnd(tp) * CONTROL_PACKET_Q8,
					control_pipe_q8(&path));
	}
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

static void pktpair_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct pktpair *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	ca->evidence = kzalloc(sizeof(*ca->evidence), GFP_ATOMIC | __GFP_NOWARN);
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	if (!ca->evidence) {
		this_cpu_inc(pktpair_counters.alone);
		pktpair_first_rate(sk);
		return;
	}
	/* the stack may be retransmitting when a socket changes to pktpair */
	ca->unusual = 1;
	ca->train = min_t(u32, pair_train_min(pktpair_limits(sk)),
			  pair_train_max(pktpair_limits(sk)));
	pair_probe_init(&ca->probe, ca->train);
	prop_init(&ca->prop, pktpair_now_ms(tp));
	control_setpoint_reset(&ca->setpoint, pktpair_setpoint_first_q8());
	ca->round_delivered = tp->delivered;
	ca->evidence->resized_seq = tp->snd_una;
	ca->mss = (u16)tp->mss_cache;
	ca->evidence->counted_mss = ca->mss;
	ca->gso_max_segs = sk->sk_gso_max_segs;
	/* a lost SYN leaves peers without SACK in this state; pktpair_first_window() heeds it */
	ca->timed_out = inet_csk(sk)->icsk_ca_state == TCP_CA_Loss && tp->data_segs_out;

	if (tp->data_segs_out)
		round_check_midway(&ca->evidence->check);

	pktpair_first_window(sk);
	/* a window that another algorithm has left would go at once, and nothing bounds it
	 * before something is estimated
	 */
	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery)
		pktpair_enter_recovery(sk);
	pktpair_first_rate(sk);
}

static void pktpair_release(struct sock *sk)
{
	struct pktpair *ca = inet_csk_ca(sk);

	/* 0 where it was never set */
	if (ca->gso_set && sk->sk_gso_max_segs == ca->gso_set)
		sk->sk_gso_max_segs = ca->gso_max_segs;
	kfree(ca->evidence);
	ca->evidence = NULL;
}

#define PKTPAIR_OPS(its_name, its_flags, takes_ack) {	\
	.flags		= its_flags,			\
	.name		= its_name,			\
	.owner		= THIS_MODULE,			\
	.init		= pktpair_init,			\
	.release	= pktpair_release,		\
	.cong_control	= takes_ack,			\
	.min_tso_segs	= pktpair_min_tso_segs,		\
	.set_state	= pktpair_set_state,		\
	.ssthresh	= pktpair_ssthresh,		\
	.undo_cwnd	= pktpair_undo_cwnd,		\
	.sndbuf_expand	= pktpair_sndbuf_expand,	\
	.get_info	= pktpair_get_info,		\
}

/* A name each, so that a socket or a route can choose. Every user may choose the one that
 * detects a bottleneck that does not serve in turn.
 */
static struct pktpair_algorithm pktpair_algorithms[] __read_mostly = {
	{
		.ops = PKTPAIR_OPS("pktpair", TCP_CONG_NON_RESTRICTED, pktpair_cong_control),
		.preset = { .trains = &pktpair_trains_of_knobs },
	},
	{
		.ops = PKTPAIR_OPS("pktpair_1994", 0, pktpair_cong_control_1994),
		.preset = {
			.is_1994 = true,
			.trains = &pktpair_trains_of_1994,
			.first_window = 2,
		},
	},
};

static void pktpair_unregister_first(int count)
{
	while (count--)
		tcp_unregister_congestion_control(&pktpair_algorithms[count].ops);
}

static int __init pktpair_register(void)
{
	int i, err;

	/* the same in every kernel from 6.1 to 7.1 */
	BUILD_BUG_ON(ICSK_CA_PRIV_SIZE != 104);
	BUILD_BUG_ON(sizeof(struct pktpair) > ICSK_CA_PRIV_SIZE);
	BUILD_BUG_ON(PAIR_SERVICE_SHIFT != CONTROL_SERVICE_SHIFT);

	for (i = 0; i < ARRAY_SIZE(pktpair_algorithms); i++) {
		err = tcp_register_congestion_control(&pktpair_algorithms[i].ops);
		if (err) {
			pktpair_unregister_first(i);
			return err;
		}
	}
	return 0;
}

static void __exit pktpair_unregister(void)
{
	pktpair_unregister_first(ARRAY_SIZE(pktpair_algorithms));
}

module_init(pktpair_register);
module_exit(pktpair_unregister);

MODULE_LICENSE("GPL");
MODULE_VERSION("0.1");
MODULE_AUTHOR("The packet pair for Linux authors");
MODULE_ALIAS("tcp_pktpair_1994");
MODULE_DESCRIPTION("TCP packet-pair rate control for round-robin bottlenecks");
