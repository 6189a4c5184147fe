/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A network: flows, one or more servers in a row, and what changes during a run.
 *
 *	sender - access - ahead - server - delay - server - delay - receiver
 *	sender <- hand-overs, interrupts, jitter, link of the way back <- receiver
 */
#ifndef _SIMULATOR_NETWORK_H
#define _SIMULATOR_NETWORK_H

#include "receiver.h"
#include "server.h"
#include "tcp_ack.h"

#define NETWORK_FLOWS 64
#define NETWORK_SERVERS 4
#define NETWORK_CHANGES 256
#define NETWORK_NAME 64

/* streams of random numbers of each flow: data and source, ACKs, times */
#define NETWORK_STREAMS 2

/**
 * struct network_change - a value that changes
 * @at_ns: when
 * @field: what of the configuration
 * @value: to what
 */
struct network_change {
	u64 at_ns;
	u64 *field;
	u64 value;
};

/**
 * struct network - all of one run
 * @name: of the case
 * @seed: of random numbers
 * @end_ns: when the run ends
 * @from_ns: when measuring of goodput and capacity begins
 * @series: each ACK is kept
 * @trains: each train that gave a sample is kept
 * @flows_count: how many flows
 * @servers_count: how many servers
 * @clock: the time
 * @pool: packets
 * @flow_configs: what flows are
 * @server_configs: what servers are
 * @flows: the flows
 * @servers: the servers, as packets pass them
 * @changes: what changes, in order
 * @changes_count: how many
 * @changes_done: so many have
 * @change: the next
 * @measure: when measuring begins
 * @capacity_bytes: what the slowest server could have sent in the time that is measured
 * @since_ns: up to when @capacity_bytes counts
 */
struct network {
	char name[NETWORK_NAME];
	u64 seed;
	u64 end_ns;
	u64 from_ns;
	u64 series;
	u64 trains;
	u64 flows_count;
	u64 servers_count;
	struct clock clock;
	struct packet_pool pool;
	struct flow_config flow_configs[NETWORK_FLOWS];
	struct server_config server_configs[NETWORK_SERVERS];
	struct flow flows[NETWORK_FLOWS];
	struct server servers[NETWORK_SERVERS];
	struct network_change changes[NETWORK_CHANGES];
	u32 changes_count;
	u32 changes_done;
	struct timer change, measure;
	double capacity_bytes;
	u64 since_ns;
};

/* the one that runs: packets know no more than their flow */
static struct network *network;

/* ---- the way of a packet ---- */

static inline void network_lose(struct packet *p)
{
	p->flow->figures.dropped++;
	packet_free(&network->pool, p);
}

static inline void network_enter(struct packet *p)
{
	if (chance_of(&p->flow->chance, p->flow->config.loss_ppm))
		network_lose(p);
	else
		server_arrive(&network->servers[p->hop], p);
}

static inline void network_forward(struct packet *p)
{
	if (p->hop == p->flow->config.leave) {
		receiver_take(p);
		return;
	}
	p->hop++;
	server_arrive(&network->servers[p->hop], p);
}

/* ---- sources ---- */

/* In the part of the time in which the application, or the source, is silent? */
static inline u64 network_silent_ns(const struct flow *f)
{
	u64 cycle_ns = f->config.on_ns + f->config.off_ns, into_ns;

	if (!f->config.off_ns)
		return 0;
	into_ns = (f->clock->now_ns - f->config.start_ns) % cycle_ns;
	return into_ns < f->config.on_ns ? 0 : cycle_ns - into_ns;
}

static inline void network_source_sends(struct flow *f)
{
	u64 gap_ns = tcp_wire_bytes(f) * 8ULL * NSEC_PER_SEC / f->config.send_bps;

	tcp_emit(f, f->nxt++);
	if (f->config.source == FLOW_POISSON)
		gap_ns = chance_exponential(&f->chance, gap_ns);
	clock_set(f->clock, &f->app, f->clock->now_ns + gap_ns);
}

/* What the application writes; it is then what limits the flow, until it writes again */
static inline void network_app_writes(struct flow *f)
{
	struct sock *sk = &f->sk;
	u64 chunk = f->config.app_chunk, bytes = chunk * sk->mss_cache;
	u64 gap_ns = f->config.app_bps ? bytes * 8 * NSEC_PER_SEC / f->config.app_bps : 0;

	flow_clock(f);
	/* tcp_rate_check_app_limited() */
	if (!tcp_unsent(f) && tcp_packets_in_flight(sk) < tcp_snd_cwnd(sk) &&
	    sk->lost_out <= sk->retrans_out)
		f->app_limited = sk->delivered + tcp_packets_in_flight(sk) ?: 1;
	if (!f->config.app_bps) {
		/* without a rate, as much as the flow takes while it is on */
		chunk = tcp_unsent(f) < chunk ? chunk : 0;
		gap_ns = NSEC_PER_MSEC;
	}
	if (f->config.segments)
		chunk = min_t(u64, chunk, f->config.segments - f->written);
	f->written += (u32)chunk;
	tcp_push(f);
	clock_set(f->clock, &f->app, f->clock->now_ns + gap_ns);
}

static inline void network_app(void *owner)
{
	struct flow *f = owner;
	u64 silent_ns = network_silent_ns(f);

	if (f->stopped)
		return;
	if (silent_ns)
		clock_set(f->clock, &f->app, f->clock->now_ns + silent_ns);
	else if (f->config.source != FLOW_TCP)
		network_source_sends(f);
	else
		network_app_writes(f);
}

/* ---- a flow's life ---- */

static inline void network_stop(void *owner)
{
	struct flow *f = owner;

	f->stopped = true;
}

/* The handshake is over: tcp_init_transfer() */
static inline void network_established(void *owner)
{
	struct flow *f = owner;
	struct sock *sk = &f->sk;

	flow_clock(f);
	timer_init(&f->life, network_stop, f);
	if (f->config.stop_ns)
		clock_set(f->clock, &f->life, f->config.stop_ns);
	f->begun_ns = f->clock->now_ns;
	if (f->config.source != FLOW_TCP) {
		network_app(f);
		return;
	}
	tcp_rtt_sample(f, (u32)((f->clock->now_ns - f->config.start_ns) / NSEC_PER_USEC));
	sk->icsk_ca_ops->init(sk);
	if (f->config.app_bps || f->config.off_ns) {
		network_app(f);
		return;
	}
	f->written = f->config.segments ? (u32)f->config.segments : S32_MAX;
	tcp_push(f);
}

/* SYN and SYN-ACK meet no queue on the way there */
static inline void network_begin(void *owner)
{
	struct flow *f = owner;
	u64 there_ns = f->config.ahead_ns + f->config.beyond_ns, at_ns = f->clock->now_ns;

	timer_init(&f->life, network_established, f);
	if (f->config.source == FLOW_TCP)
		at_ns = ack_path_arrival(&f->back, at_ns + there_ns,
					 f->config.path_ns - there_ns, PACKET_HEADER_BYTES);
	/* lost: again after a second, which is early enough */
	if (at_ns == CLOCK_NEVER)
		at_ns = f->clock->now_ns + NSEC_PER_SEC + f->config.path_ns;
	clock_set(f->clock, &f->life, at_ns);
}

static inline void network_init_sock(struct flow *f)
{
	struct sock *sk = &f->sk;

	sk->icsk_ca_ops = f->config.algorithm;
	sk->sk_max_pacing_rate = ~0UL;
	sk->sk_gso_max_size = 65536;
	sk->sk_gso_max_segs = (u16)f->config.gso_segments;
	sk->mss_cache = (u32)f->config.mss;
	sk->snd_una = 1;
	sk->snd_nxt = 1;
	sk->snd_cwnd = (u32)f->config.first_cwnd;
	sk->snd_cwnd_clamp = U32_MAX;
	sk->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	sk->min_rtt_us = U32_MAX;
	/* the SYN */
	sk->delivered = 1;
	sk->tsorted_sent_queue.next = &sk->tsorted_sent_queue;
	sk->tsorted_sent_queue.prev = &sk->tsorted_sent_queue;
}

static inline void network_init_flow(struct network *n, u32 index)
{
	struct flow *f = &n->flows[index];
	u64 hop;

	memset(f, 0, sizeof(*f));
	f->config = n->flow_configs[index];
	for (hop = f->config.enter; hop <= f->config.leave; hop++)
		f->config.beyond_ns += n->servers[hop].config.delay_ns;
	f->clock = &n->clock;
	f->pool = &n->pool;
	f->index = index;
	f->enter = network_enter;
	f->oldest = SEGMENT_NONE;
	f->newest = SEGMENT_NONE;
	f->ring_mask = 63;
	f->ring = calloc(f->ring_mask + 1, sizeof(*f->ring));
	if (!f->ring)
		abort();
	f->window_end = (u32)f->config.window;
	f->round_delivered = 1;
	f->rto_us = TCP_RTO_INIT_US;
	network_init_sock(f);
	chance_init(&f->chance, n->seed, NETWORK_STREAMS * index);
	ack_path_init(&f->back, &f->config.back, n->seed, NETWORK_STREAMS * index + 1);
	line_init(&f->ahead, f->clock, network_enter);
	line_init(&f->behind, f->clock, tcp_take_ack);
	timer_init(&f->pace, tcp_pace_fires, f);
	timer_init(&f->retransmit, tcp_retransmit_fires, f);
	timer_init(&f->app, network_app, f);
	timer_init(&f->life, network_begin, f);
	receiver_init(f);
	if (n->series) {
		f->figures.points_room = 1024;
		f->figures.points = calloc(1024, sizeof(*f->figures.points));
		if (!f->figures.points)
			abort();
	}
	clock_set(f->clock, &f->life, f->config.start_ns);
}

/* ---- a run ---- */

/* Up to now; the slowest server is what the flows could have had */
static inline void network_count_capacity(struct network *n)
{
	u64 rate_bps = U64_MAX, since_ns;
	u32 i;

	for (i = 0; i < n->servers_count; i++)
		rate_bps = min_t(u64, rate_bps, n->servers[i].config.rate_bps);
	since_ns = max_t(u64, n->since_ns, n->from_ns);
	if (n->clock.now_ns > since_ns)
		n->capacity_bytes += (double)rate_bps / 8 / NSEC_PER_SEC *
				     (double)(n->clock.now_ns - since_ns);
	n->since_ns = n->clock.now_ns;
}

static inline void network_measure(void *owner)
{
	struct network *n = owner;
	u32 i;

	for (i = 0; i < n->flows_count; i++)
		n->flows[i].figures.delivered_from = n->flows[i].config.source == FLOW_TCP ?
			n->flows[i].una : n->flows[i].figures.arrived;
}

static inline void network_changes(void *owner)
{
	struct network *n = owner;
	struct network_change *change = &n->changes[n->changes_done++];

	network_count_capacity(n);
	*change->field = change->value;
	if (n->changes_done < n->changes_count)
		clock_set(&n->clock, &n->change, n->changes[n->changes_done].at_ns);
}

/* Before any run. Fields of a change are of the servers and flows themselves. */
static inline void network_init(struct network *n)
{
	u32 i;

	network = n;
	n->clock = (struct clock) {};
	for (i = 0; i < n->servers_count; i++)
		server_init(&n->servers[i], &n->clock, &n->server_configs[i], network_forward,
			    network_lose);
	for (i = 0; i < n->flows_count; i++)
		network_init_flow(n, i);
	n->changes_done = 0;
	n->capacity_bytes = 0;
	n->since_ns = 0;
	timer_init(&n->change, network_changes, n);
	timer_init(&n->measure, network_measure, n);
	if (n->changes_count)
		clock_set(&n->clock, &n->change, n->changes[0].at_ns);
	clock_set(&n->clock, &n->measure, n->from_ns);
}

static inline void network_run(struct network *n)
{
	network = n;
	clock_run(&n->clock, n->end_ns);
	network_count_capacity(n);
}

static inline void network_free(struct network *n)
{
	u32 i;

	for (i = 0; i < n->flows_count; i++) {
		struct sock *sk = &n->flows[i].sk;

		if (sk->icsk_ca_ops && sk->icsk_ca_ops->release)
			sk->icsk_ca_ops->release(sk);
		free(n->flows[i].ring);
		free(n->flows[i].receiver.spans);
		free(n->flows[i].figures.points);
		free(n->flows[i].figures.trains);
	}
	packet_pool_free(&n->pool);
	free(n->clock.heap);
	n->clock = (struct clock) {};
}

#endif /* _SIMULATOR_NETWORK_H */
