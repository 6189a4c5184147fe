/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * fq_rr, the packet-pair round robin queueing discipline: what tc and the
 * kernel say to each other.
 *
 * Options are attributes nested in TCA_OPTIONS, statistics attributes nested
 * in TCA_STATS_APP. Readers must skip attributes that they do not know; new
 * ones are added at the end.
 *
 * Every limit stands here once, with its unit and its reason, and is shared by
 * the kernel's check, tc's check and the tests.
 */
#ifndef _UAPI_LINUX_PKT_SCHED_FQ_RR_H
#define _UAPI_LINUX_PKT_SCHED_FQ_RR_H

#include <linux/types.h>

/* options */
enum {
	TCA_FQ_RR_UNSPEC,
	TCA_FQ_RR_PAD,
	TCA_FQ_RR_LIMIT,	/* u32, packets in the buffer, or FQ_RR_LIMIT_AUTO */
	TCA_FQ_RR_MEMORY_LIMIT,	/* u32, bytes of memory in the buffer, or ..._AUTO */
	TCA_FQ_RR_FLOWS,	/* u32, number of queues, fixed at creation */
	TCA_FQ_RR_QUANTUM,	/* u32, bytes, or FQ_RR_QUANTUM_AUTO */
	TCA_FQ_RR_RATE64,	/* u64, bytes per second, or FQ_RR_RATE_NONE */
	TCA_FQ_RR_OVERHEAD,	/* s32, bytes per packet beside its length */
	TCA_FQ_RR_MPU,		/* u32, bytes that a packet counts at least */
	TCA_FQ_RR_SCHEDULER,	/* u32, enum fq_rr_scheduler */
	TCA_FQ_RR_DROP,		/* u32, enum fq_rr_drop */
	TCA_FQ_RR_SPLIT_GSO,	/* u32, 0 or 1: split super-packets */
	TCA_FQ_RR_SEED,		/* u32, of the flow hash, FQ_RR_SEED_RANDOM */
	TCA_FQ_RR_QLBP,		/* u32, 0 or 1: rate follows the backlog */
	TCA_FQ_RR_MU_MIN,	/* u64, bytes per second, or FQ_RR_MU_AUTO */
	TCA_FQ_RR_MU_MAX,	/* u64, bytes per second, or FQ_RR_MU_AUTO */
	TCA_FQ_RR_Q_MAX,	/* u32, bytes, or FQ_RR_Q_MAX_AUTO */
	TCA_FQ_RR_LOAD,		/* u32, per cent of the rate */
	TCA_FQ_RR_MAX_DELAY,	/* u32, microseconds */
	TCA_FQ_RR_MODE,		/* u32, enum fq_rr_mode */
	TCA_FQ_RR_CHARGE_DROPS,	/* u32, 0 or 1: flows pay for what they lose */
	TCA_FQ_RR_ECN,		/* u32, per cent of the fair share, or ..._OFF */
	TCA_FQ_RR_UNUSED_22,	/* refused */
	TCA_FQ_RR_LAYER,	/* u32, enum fq_rr_layer */
	TCA_FQ_RR_FRAMING,	/* u32, enum fq_rr_framing */
	TCA_FQ_RR_CATCH_UP,	/* u32, microseconds */
	TCA_FQ_RR_AQM,		/* u32, 0 or 1: CoDel in each queue */
	TCA_FQ_RR_TARGET,	/* u32, microseconds */
	TCA_FQ_RR_INTERVAL,	/* u32, microseconds */
	TCA_FQ_RR_CE_THRESHOLD,	/* u32, microseconds, or ..._OFF */
	TCA_FQ_RR_NOECN,	/* u32, 0 or 1: CoDel drops what it could mark */
	TCA_FQ_RR_HOSTS,	/* u32, enum fq_rr_hosts */
	TCA_FQ_RR_NAT,		/* u32, 0 or 1: addresses as hosts themselves have them */
	__TCA_FQ_RR_MAX
};

#define TCA_FQ_RR_MAX (__TCA_FQ_RR_MAX - 1)

/* options of a class, nested in TCA_OPTIONS */
enum {
	TCA_FQ_RR_CLASS_UNSPEC,
	TCA_FQ_RR_CLASS_WEIGHT,	/* u32, shares of the link */
	__TCA_FQ_RR_CLASS_MAX
};

#define TCA_FQ_RR_CLASS_MAX (__TCA_FQ_RR_CLASS_MAX - 1)

/**
 * enum fq_rr_mode - who shares a queue, where no filter has a say
 * @FQ_RR_MODE_FLOW: packets of one flow, as the kernel's flow hash has it
 * @FQ_RR_MODE_SRC_HOST: packets from one address
 * @FQ_RR_MODE_DST_HOST: packets to one address
 * @FQ_RR_MODE_CLASS: all, in the first queue
 */
enum fq_rr_mode {
	FQ_RR_MODE_FLOW,
	FQ_RR_MODE_SRC_HOST,
	FQ_RR_MODE_DST_HOST,
	FQ_RR_MODE_CLASS,
};

#define FQ_RR_MODE_MAX FQ_RR_MODE_CLASS

/**
 * enum fq_rr_hosts - whose queues share one part of the link
 * @FQ_RR_HOSTS_NONE: nobody's: each queue has a part
 * @FQ_RR_HOSTS_SRC: those of packets from one address
 * @FQ_RR_HOSTS_DST: those of packets to one address
 * @FQ_RR_HOSTS_BOTH: those of packets from one address to another
 *
 * Not with FQ_RR_MODE_CLASS, whose packets share one queue. A queue that a filter or a
 * priority names has a part of its own, by its weight.
 */
enum fq_rr_hosts {
	FQ_RR_HOSTS_NONE,
	FQ_RR_HOSTS_SRC,
	FQ_RR_HOSTS_DST,
	FQ_RR_HOSTS_BOTH,
};

#define FQ_RR_HOSTS_MAX FQ_RR_HOSTS_BOTH

/**
 * enum fq_rr_scheduler - what a flow pays for a packet
 * @FQ_RR_SCHEDULER_DRR: its length: flows get equal shares of bytes
 * @FQ_RR_SCHEDULER_STRICT: the same for any packet: equal shares of packets
 */
enum fq_rr_scheduler {
	FQ_RR_SCHEDULER_DRR,
	FQ_RR_SCHEDULER_STRICT,
};

#define FQ_RR_SCHEDULER_MAX FQ_RR_SCHEDULER_STRICT

/**
 * enum fq_rr_drop - what is dropped when the buffer is full
 * @FQ_RR_DROP_LONGEST_QUEUE: all of the longest queue, except for a packet
 *	that is just arriving. The longest takes the largest part of the buffer: of
 *	the packets or of the memory that may wait, whichever part is larger
 * @FQ_RR_DROP_LONGEST_HEAD: the oldest packet of the longest queue
 * @FQ_RR_DROP_LONGEST_TAIL: the newest packet of the longest queue
 * @FQ_RR_DROP_ARRIVING: the packet that arrives
 */
enum fq_rr_drop {
	FQ_RR_DROP_LONGEST_QUEUE,
	FQ_RR_DROP_LONGEST_HEAD,
	FQ_RR_DROP_LONGEST_TAIL,
	FQ_RR_DROP_ARRIVING,
};

#define FQ_RR_DROP_MAX FQ_RR_DROP_ARRIVING

/**
 * enum fq_rr_layer - the length that the overhead is added to
 * @FQ_RR_LAYER_FRAME: of the frame, with a VLAN tag that the device inserts
 * @FQ_RR_LAYER_IP: from the network header on, as CAKE's keywords have it
 */
enum fq_rr_layer {
	FQ_RR_LAYER_FRAME,
	FQ_RR_LAYER_IP,
};

#define FQ_RR_LAYER_MAX FQ_RR_LAYER_IP

/**
 * enum fq_rr_framing - how the link packs what it is given
 * @FQ_RR_FRAMING_PLAIN: byte by byte
 * @FQ_RR_FRAMING_ATM: in cells of 53 bytes for 48
 * @FQ_RR_FRAMING_PTM: 65 bytes for 64
 */
enum fq_rr_framing {
	FQ_RR_FRAMING_PLAIN,
	FQ_RR_FRAMING_ATM,
	FQ_RR_FRAMING_PTM,
};

#define FQ_RR_FRAMING_MAX FQ_RR_FRAMING_PTM

/*
 * limit (packets). Above: 2^20 small packets occupy 0.8 GB, more than any link
 * needs for a second of buffer at 10 Gbit/s of full packets (0.8 million).
 * By default at most that of fq_codel, so that the two can be compared.
 */
#define FQ_RR_LIMIT_MIN 1U
#define FQ_RR_LIMIT_MAX (1U << 20)
#define FQ_RR_AUTO_PACKETS_MAX 10240U

/*
 * memory-limit (bytes, as the kernel accounts packets: with their overhead).
 * Below: one 64 KiB super-packet with its overhead fits. Above: what any user
 * namespace's root may pin with one qdisc. By default at most that
 * of fq_codel.
 */
#define FQ_RR_MEMORY_LIMIT_MIN (128U << 10)
#define FQ_RR_MEMORY_LIMIT_MAX (1U << 30)
#define FQ_RR_AUTO_MEMORY_MAX (32U << 20)

/*
 * Where neither limit is given ("auto"), the buffer follows the rate: memory for
 * what the link sends in FQ_RR_AUTO_INTERVALS times interval, by default in 400 ms, which is
 * CAKE's rule; and a packet for each FQ_RR_AUTO_PACKET_BYTES of it, which is between what a
 * small packet occupies (768) and what a full one does (2304). At least 4 MB: 1820 full
 * packets, so that each of hundreds of flows has room for a train. At most, and without a
 * rate: the values above. Where one limit is given the other is the value above, so that
 * the given one decides.
 */
#define FQ_RR_LIMIT_AUTO 0U
#define FQ_RR_MEMORY_LIMIT_AUTO 0U
#define FQ_RR_AUTO_INTERVALS 4U
#define FQ_RR_AUTO_PACKET_BYTES 1024U
#define FQ_RR_AUTO_MEMORY_MIN (4U << 20)

/*
 * flows (queues). Above: 65536 queues occupy 9.0 MB, and 11.1 MB more once hosts are
 * asked for. Default: that of fq_codel and of
 * CAKE: no two of a hundred backlogged flows share a queue, and one in 1700 of 500.
 */
#define FQ_RR_FLOWS_MIN 1U
#define FQ_RR_FLOWS_MAX 65536U
#define FQ_RR_FLOWS_DEFAULT 1024U

/*
 * quantum (bytes). Below: with less, a full packet is worth more than six
 * rounds of a byte-fair schedule, and the option means nothing. Above: a round
 * of so many bytes per flow (8 ms at 1 Gbit/s) is no round robin any more.
 * Auto: the device's largest packet, header included, within these limits, which
 * is the least that is fair to the byte; taken when the qdisc is added and at each
 * change. A round never grants less than its largest packet.
 */
#define FQ_RR_QUANTUM_AUTO 0U
#define FQ_RR_QUANTUM_MIN 256U
#define FQ_RR_QUANTUM_MAX (1U << 20)

/*
 * rate (bytes per second). Below (8 kbit/s): a full packet lasts 1.5 s, a
 * super-packet that is not split a minute. Above (1 Tbit/s): the time of a
 * minimal packet is below a nanosecond.
 */
#define FQ_RR_RATE_NONE (~0ULL)
#define FQ_RR_RATE_MIN 1000ULL
#define FQ_RR_RATE_MAX 125000000000ULL

/*
 * overhead and mpu (bytes), the ranges of CAKE: from leaving out all headers
 * to a stack of tunnels on ATM; two ATM cells and more as smallest packet.
 */
#define FQ_RR_OVERHEAD_MIN (-64)
#define FQ_RR_OVERHEAD_MAX 256
#define FQ_RR_MPU_MAX 256U

/*
 * catch-up (microseconds that the link stood idle because the machine was late, and
 * that are made up for by gaps that are an eighth shorter). Above: a second takes seven
 * more to make up for. Default: twice what softirqs that come 1 ms late
 * every 10 ms need to keep the rate. What comes after a stall exceeds the rate's due by
 * no more than that, which a policer with 2 ms of burst lets through.
 */
#define FQ_RR_CATCH_UP_MIN 0U
#define FQ_RR_CATCH_UP_MAX 1000000U
#define FQ_RR_CATCH_UP_DEFAULT 2000U

/* seed of the flow hash: a new random one for each qdisc */
#define FQ_RR_SEED_RANDOM 0U

/*
 * qlbp (queue-length based pacing). While it is off, mu-min to max-delay are not
 * shown, may not be given, and become the defaults.
 *
 * mu-min and mu-max (bytes per second): the range of rate. Auto: by rate and
 * load.
 */
#define FQ_RR_MU_AUTO 0ULL

/*
 * q-max (bytes of packets that wait, as tc shows them). Below: less than the
 * smallest packet would mean no pacing. Above: what memory-limit may hold.
 * Auto: what mu-max sends in max-delay.
 */
#define FQ_RR_Q_MAX_AUTO 0U
#define FQ_RR_Q_MAX_MIN 60U
#define FQ_RR_Q_MAX_MAX (1U << 30)

/* load (per cent of rate that is used on average). Default: a busy link's. */
#define FQ_RR_LOAD_MIN 1U
#define FQ_RR_LOAD_MAX 100U
#define FQ_RR_LOAD_DEFAULT 80U

/*
 * max-delay (microseconds). Below: a full packet's time at 12 Gbit/s. Above: no
 * transport protocol waits longer. Default: a third of the 30 ms between two
 * packets of a voice call, and less than most paths' propagation delay.
 */
#define FQ_RR_MAX_DELAY_MIN 1U
#define FQ_RR_MAX_DELAY_MAX 10000000U
#define FQ_RR_MAX_DELAY_DEFAULT 10000U

/*
 * ecn (per cent of the fair share of the buffer, above which a queue is marked).
 * Above: with more, the buffer is full before the queue is long.
 */
#define FQ_RR_ECN_OFF 0U
#define FQ_RR_ECN_MIN 1U
#define FQ_RR_ECN_MAX 100U

/*
 * When the mode changes, all packets that wait are placed anew, under the qdisc's lock.
 * That is put off until at most FQ_RR_REHASH_PACKETS wait: more than the default limit, so
 * that it is put off only where the user has asked for more.
 */
#define FQ_RR_REHASH_PACKETS 16384U

/*
 * Delay control inside a queue: CoDel (RFC 8289), as in net/codel.h.
 *
 * target (microseconds): the delay in a queue that is accepted for good. Default: RFC
 * 8289's. interval (microseconds): how long a delay above it is accepted; about the
 * longest usual round trip, by default RFC 8289's. Below: a full packet's time at 1
 * Gbit/s, rounded down. Above: no transport protocol waits longer, and CoDel's clock has
 * room for two hundred times as much.
 */
#define FQ_RR_TARGET_MIN 10U
#define FQ_RR_TARGET_MAX 10000000U
#define FQ_RR_TARGET_DEFAULT 5000U
#define FQ_RR_INTERVAL_MIN 10U
#define FQ_RR_INTERVAL_MAX 10000000U
#define FQ_RR_INTERVAL_DEFAULT 100000U

/*
 * ce-threshold (microseconds in a queue, above which every packet that allows it is
 * marked). The range is that of target.
 */
#define FQ_RR_CE_THRESHOLD_OFF 0U
#define FQ_RR_CE_THRESHOLD_MIN 10U
#define FQ_RR_CE_THRESHOLD_MAX 10000000U

/* weight (shares of the link) of a class; above: what a byte holds */
#define FQ_RR_WEIGHT_MIN 1U
#define FQ_RR_WEIGHT_MAX 255U

/* statistics; packets are segments where super-packets are split */
enum {
	TCA_FQ_RR_STATS_UNSPEC,
	TCA_FQ_RR_STATS_PAD,
	TCA_FQ_RR_STATS_ENQUEUED,	/* u64, packets accepted */
	TCA_FQ_RR_STATS_DROPS_FLUSHED,	/* u64, packets, by longest-queue */
	TCA_FQ_RR_STATS_DROPS_HEAD,	/* u64, packets, by longest-head */
	TCA_FQ_RR_STATS_DROPS_TAIL,	/* u64, packets, by longest-tail */
	TCA_FQ_RR_STATS_DROPS_ARRIVING,	/* u64, packets, refused for space */
	TCA_FQ_RR_STATS_DROPS_GSO,	/* u64, super-packets not splittable */
	TCA_FQ_RR_STATS_FLUSHES,	/* u64, queues flushed */
	TCA_FQ_RR_STATS_OVER_LIMIT,	/* u64, times above the packet limit */
	TCA_FQ_RR_STATS_OVER_MEMORY,	/* u64, times above the memory limit */
	TCA_FQ_RR_STATS_SPLIT,		/* u64, super-packets split */
	TCA_FQ_RR_STATS_SEGMENTS,	/* u64, packets that they gave */
	TCA_FQ_RR_STATS_ACTIVATIONS,	/* u64, times a queue began to fill */
	TCA_FQ_RR_STATS_SPARSE,		/* u64, of them, went ahead of the round */
	TCA_FQ_RR_STATS_COLLISIONS,	/* u64, packets behind another flow's */
	TCA_FQ_RR_STATS_FLOWS_ACTIVE,	/* u32, queues with packets now */
	TCA_FQ_RR_STATS_LONGEST,	/* u32, bytes, longest queue now */
	TCA_FQ_RR_STATS_LONGEST_MAX,	/* u32, bytes, longest queue ever */
	TCA_FQ_RR_STATS_MEMORY,		/* u32, bytes of memory in use */
	TCA_FQ_RR_STATS_MEMORY_MAX,	/* u32, bytes of memory, most ever */
	TCA_FQ_RR_STATS_QUANTUM,	/* u32, bytes, in force */
	TCA_FQ_RR_STATS_LAG_MAX,	/* u64, ns, latest packet of the shaper */
	TCA_FQ_RR_STATS_FLOW,		/* nest, of a class: its queue */
	/* only with qlbp */
	TCA_FQ_RR_STATS_MU_MIN,		/* u64, bytes/s, what auto came to */
	TCA_FQ_RR_STATS_MU_MAX,		/* u64, bytes/s, what auto came to */
	TCA_FQ_RR_STATS_Q_MAX,		/* u32, bytes, what auto came to */
	TCA_FQ_RR_STATS_PACING_RATE,	/* u64, bytes/s, now; 0: no limit */
	TCA_FQ_RR_STATS_UNUSED_28,	/* never shown */
	TCA_FQ_RR_STATS_UNUSED_29,	/* never shown */
	TCA_FQ_RR_STATS_PACING_BOUND,	/* u64, ns, most in a steady state */
	TCA_FQ_RR_STATS_CLASSIFIED,	/* u64, packets that a filter placed */
	TCA_FQ_RR_STATS_REHASHES,	/* u64, times all packets were placed anew */
	TCA_FQ_RR_STATS_MARKS,		/* u64, packets marked by ecn */
	TCA_FQ_RR_STATS_OVER_SHARE,	/* u64, drops by ecn: could not be marked */
	TCA_FQ_RR_STATS_LOST,		/* u64, ns, lateness beyond catch-up */
	TCA_FQ_RR_STATS_DROPS_AQM,	/* u64, packets, by delay control */
	TCA_FQ_RR_STATS_MARKS_AQM,	/* u64, packets marked by delay control */
	TCA_FQ_RR_STATS_MARKS_CE,	/* u64, packets marked by ce-threshold */
	TCA_FQ_RR_STATS_LIMIT,		/* u32, packets, in force */
	TCA_FQ_RR_STATS_MEMORY_LIMIT,	/* u32, bytes, in force */
	TCA_FQ_RR_STATS_AV_DELAY,	/* u32, us, average time in the queue */
	TCA_FQ_RR_STATS_PK_DELAY,	/* u32, us, the same, longest of late */
	TCA_FQ_RR_STATS_HOSTS_ACTIVE,	/* u32, with hosts: those with packets now */
	__TCA_FQ_RR_STATS_MAX
};

#define TCA_FQ_RR_STATS_MAX (__TCA_FQ_RR_STATS_MAX - 1)

/*
 * A queue with packets is shown as a class, numbered from 1 (the last of 65536
 * is 0); what it has sent is in TCA_STATS_BASIC, what waits in it and what it has lost in
 * TCA_STATS_QUEUE, and in TCA_FQ_RR_STATS_FLOW:
 */
enum {
	TCA_FQ_RR_FLOW_UNSPEC,
	TCA_FQ_RR_FLOW_PAD,
	TCA_FQ_RR_FLOW_CREDIT,	/* s64, bytes (strict: packets) to send until it waits */
	TCA_FQ_RR_FLOW_HASH,	/* u32, of the flow whose packet came last */
	TCA_FQ_RR_FLOW_SPARSE,	/* u32, 1: its first packet goes ahead */
	TCA_FQ_RR_FLOW_HEAD,	/* u32, bytes of the packet that is next */
	TCA_FQ_RR_FLOW_MARKS,	/* u32, packets marked */
	TCA_FQ_RR_FLOW_AV_DELAY, /* u32, us, average time in the queue */
	TCA_FQ_RR_FLOW_PK_DELAY, /* u32, us, the same, longest of late */
	/* CoDel's state; only with aqm */
	TCA_FQ_RR_FLOW_ABOVE,	/* u32, 1: its delay has been above target since it was below */
	TCA_FQ_RR_FLOW_DROPPING, /* u32, 1: for an interval, so that CoDel drops or marks */
	TCA_FQ_RR_FLOW_COUNT,	/* u32, drops and marks since then, with what it remembers */
	TCA_FQ_RR_FLOW_DROP_NEXT, /* s32, us until the next, if dropping */
	TCA_FQ_RR_FLOW_HOST,	/* u32, with hosts: number of its host, from 1 */
	__TCA_FQ_RR_FLOW_MAX
};

#define TCA_FQ_RR_FLOW_MAX (__TCA_FQ_RR_FLOW_MAX - 1)

#endif /* _UAPI_LINUX_PKT_SCHED_FQ_RR_H */
