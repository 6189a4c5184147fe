/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A buffer whose queues are arrays, searched and summed anew whenever something is asked,
 * beside buffer.h: a script of bytes does the same to both, and after each step every
 * packet, sum and counter is compared.
 */
#ifndef _NAIVE_BUFFER_H
#define _NAIVE_BUFFER_H

#include <stdio.h>
#include <stdlib.h>

#include "buffer.h"

#define NAIVE_QUEUES 6
#define NAIVE_PACKETS 2048	/* of a script, ever */
#define NAIVE_NOBODY -1

/**
 * struct naive_packet - a packet of a test's
 * @link: its place; the first member
 * @size: what it takes
 * @number: which it is
 */
struct naive_packet {
	struct packet_link link;
	struct packet_size size;
	u32 number;
};

/**
 * struct naive_queue - numbers of packets, oldest first
 * @packet: they
 * @packets: how many
 * @hash: of the one that came last
 * @charges: dropped packets that it has paid for since it sent one
 * @drops: packets that it has lost
 */
struct naive_queue {
	u32 packet[NAIVE_PACKETS];
	u32 packets;
	u32 hash;
	u32 charges;
	u32 drops;
};

/**
 * struct naive_buffer - both buffers
 * @b: that of buffer.h
 * @flow: its queues
 * @record: what has happened in them
 * @room: of its heap
 * @queue: the naive ones
 * @packet: all packets there are
 * @came: how many have come
 * @queues: how many queues there are
 * @elsewhere: packets that wait, but in no queue
 * @counts: what must have been counted
 * @dropped: numbers of what one step must drop, in any order
 * @drops: how many
 * @bytes: their length
 * @own: one of them was of the queue of the packet that came
 * @hosts_room: of its hosts
 * @host: of each queue, the number of its host as of its last packets, or NAIVE_NOBODY
 */
struct naive_buffer {
	struct buffer b;
	struct fq_rr_flow flow[NAIVE_QUEUES];
	struct queue_record record[NAIVE_QUEUES];
	void *room;
	struct naive_queue queue[NAIVE_QUEUES];
	struct naive_packet packet[NAIVE_PACKETS];
	u32 came;
	u32 queues;
	u32 elsewhere;
	struct buffer_counts counts;
	bool dropped[NAIVE_PACKETS];
	u32 drops;
	u32 bytes;
	bool own;
	void *hosts_room;
	int host[NAIVE_QUEUES];
};

static inline void naive_die(const char *what)
{
	fprintf(stderr, "buffer: %s\n", what);
	abort();
}

static inline struct packet_size naive_size(const struct packet_link *link)
{
	return ((const struct naive_packet *)link)->size;
}

static inline u32 naive_in_queues(const struct naive_buffer *n)
{
	u32 packets = 0, i;

	for (i = 0; i < n->queues; i++)
		packets += n->queue[i].packets;
	return packets;
}

static inline u32 naive_waiting(const struct naive_buffer *n)
{
	return naive_in_queues(n) + n->elsewhere;
}

static inline u64 naive_memory_of(const struct naive_buffer *n, u32 number)
{
	u64 memory = 0;
	u32 i;

	for (i = 0; i < n->queue[number].packets; i++)
		memory += n->packet[n->queue[number].packet[i]].size.memory;
	return memory;
}

static inline u64 naive_memory(const struct naive_buffer *n)
{
	u64 memory = 0;
	u32 i;

	for (i = 0; i < n->queues; i++)
		memory += naive_memory_of(n, i);
	return memory;
}

static inline bool naive_over(const struct naive_buffer *n)
{
	return naive_waiting(n) > n->b.limit || naive_memory(n) > n->b.memory_limit;
}

/* the larger of both parts, in units of which no two different parts have the same */
static inline u64 naive_part(const struct naive_buffer *n, u32 number)
{
	u64 packets = n->queue[number].packets, memory = naive_memory_of(n, number);

	return max_t(u64, packets * n->b.memory_limit, memory * n->b.limit);
}

/* the same of all queues of a host */
static inline u64 naive_part_of_host(const struct naive_buffer *n, int host)
{
	u64 packets = 0, memory = 0;
	u32 i;

	for (i = 0; i < n->queues; i++) {
		if (n->host[i] != host)
			continue;
		packets += n->queue[i].packets;
		memory += naive_memory_of(n, i);
	}
	return max_t(u64, packets * n->b.memory_limit, memory * n->b.limit);
}

/* there are as many hosts as queues */
static inline int naive_largest_host(const struct naive_buffer *n)
{
	int largest = 0, i;

	for (i = 1; i < (int)n->queues; i++)
		if (naive_part_of_host(n, i) / 8 >= naive_part_of_host(n, largest) / 8)
			largest = i;
	return largest;
}

/* of two that are equal, to what buffer.h promises, the one of the higher number */
static inline int naive_longest(const struct naive_buffer *n)
{
	int host = n->b.by_host ? naive_largest_host(n) : NAIVE_NOBODY;
	int longest = NAIVE_NOBODY;
	u32 i;

	for (i = 0; i < n->queues; i++)
		if (n->queue[i].packets && (!n->b.by_host || n->host[i] == host) &&
		    (longest < 0 ||
		     naive_part(n, i) / 8 >= naive_part(n, longest) / 8))
			longest = i;
	return longest;
}

static inline u32 naive_remove(struct naive_buffer *n, u32 number, u32 place)
{
	struct naive_queue *queue = &n->queue[number];
	u32 packet = queue->packet[place];

	memmove(&queue->packet[place], &queue->packet[place + 1],
		(--queue->packets - place) * sizeof(u32));
	return packet;
}

static inline void naive_drop(struct naive_buffer *n, u32 number, u32 place)
{
	u32 packet = naive_remove(n, number, place);

	n->dropped[packet] = true;
	n->drops++;
	n->queue[number].drops++;
	n->bytes += n->packet[packet].size.bytes;
	if (n->b.charge && n->queue[number].charges < RR_CHARGES_MAX)
		n->queue[number].charges++;
}

/* what the policy says, of one queue; @arrived: number of a packet, or NAIVE_NOBODY */
static inline void naive_drop_from(struct naive_buffer *n, u32 number, int arrived)
{
	struct naive_queue *queue = &n->queue[number];

	switch (n->b.drop) {
	case FQ_RR_DROP_LONGEST_QUEUE:
		if ((int)queue->packet[0] == arrived) {
			n->counts.tail++;
			naive_drop(n, number, 0);
			break;
		}
		n->counts.flushes++;
		while (queue->packets && (int)queue->packet[0] != arrived) {
			n->counts.flushed++;
			naive_drop(n, number, 0);
		}
		break;
	case FQ_RR_DROP_LONGEST_HEAD:
		n->counts.head++;
		naive_drop(n, number, 0);
		break;
	default:
		n->counts.tail++;
		naive_drop(n, number, queue->packets - 1);
		break;
	}
}

static inline void naive_make_room(struct naive_buffer *n, int own, int arrived)
{
	int longest;

	if (naive_waiting(n) > n->b.limit)
		n->counts.over_limit++;
	else
		n->counts.over_memory++;
	while (naive_over(n) && (longest = naive_longest(n)) >= 0) {
		n->own |= longest == own;
		naive_drop_from(n, longest, arrived);
	}
}

static inline void naive_note(struct fq_rr_flow *flow, void *visited)
{
	u32 *flows = visited;

	flows[0] += !!flow->head;
	flows[1]++;
}

/* every queue of buffer.h is what the naive one is */
static inline void naive_check(const struct naive_buffer *n)
{
	u32 active = 0, hosts = 0, visited[2] = { 0 }, i, k;

	for (i = 0; i < n->queues; i++) {
		const struct naive_queue *queue = &n->queue[i];
		const struct fq_rr_flow *flow = &n->flow[i];
		const struct packet_link *link = flow->head;
		u32 bytes = 0;

		for (k = 0; k < queue->packets; k++) {
			const struct naive_packet *p = &n->packet[queue->packet[k]];

			if (link != &p->link)
				naive_die("another packet in a queue");
			if (k && link->prev != &n->packet[queue->packet[k - 1]].link)
				naive_die("the way back leads elsewhere");
			bytes += p->size.bytes;
			if (k + 1 == queue->packets && flow->tail != link)
				naive_die("another newest packet");
			link = link->next;
		}
		if (link)
			naive_die("more packets in a queue");
		if (flow->packets != queue->packets || flow->bytes != bytes ||
		    flow->memory != naive_memory_of(n, i))
			naive_die("another sum of a queue");
		if (rr_is_backlogged(&flow->rr) != !!queue->packets)
			naive_die("another queue has a turn");
		if (queue->packets && flow->hash != queue->hash)
			naive_die("another flow came last");
		if (flow->rr.charges != queue->charges)
			naive_die("another number of drops is paid for");
		if (n->record[i].drops != queue->drops)
			naive_die("another number of drops of a queue");
		active += !!queue->packets;
	}
	for (i = 0; n->b.by_host && i < n->queues; i++) {
		const struct ht_host *host = &n->b.hosts.hosts[i];
		u32 packets = 0, memory = 0;

		for (k = 0; k < n->queues; k++) {
			if (n->host[k] != (int)i)
				continue;
			packets += n->queue[k].packets;
			memory += naive_memory_of(n, k);
		}
		if (host->packets != packets || host->memory != memory)
			naive_die("another sum of a host");
		hosts += !!packets;
	}
	if (buffer_active(&n->b) != active || n->b.rr.active != (n->b.by_host ? hosts : active))
		naive_die("another number of queues or hosts");
	buffer_visit(&n->b, naive_note, visited);
	if (visited[0] != active || visited[1] != active)
		naive_die("another queue is visited");
	if (n->b.memory != naive_memory(n))
		naive_die("another sum of memory");
	if (memcmp(&n->b.counts, &n->counts, sizeof(n->counts)))
		naive_die("another count of drops");
}

/* what buffer.h has dropped is what had to be, each once, and @list ends where it says */
static inline void naive_check_dropped(struct naive_buffer *n, const struct packet_list *list,
				       const struct fq_rr_outcome *outcome)
{
	const struct packet_link *link, *last = NULL;
	u32 drops = 0;

	for (link = list->first; link; link = link->next) {
		const struct naive_packet *p = (const struct naive_packet *)link;

		if (!n->dropped[p->number])
			naive_die("dropped what should stay, or twice");
		n->dropped[p->number] = false;
		last = link;
		drops++;
	}
	if (drops != n->drops)
		naive_die("dropped less");
	if (drops && list->last != last)
		naive_die("another last packet");
	if (outcome->dropped != n->drops || outcome->dropped_bytes != n->bytes ||
	    outcome->own_dropped != n->own || outcome->queued || outcome->queued_bytes)
		naive_die("another outcome");
	n->drops = 0;
	n->bytes = 0;
	n->own = false;
}

static inline struct naive_buffer *naive_new(u32 queues)
{
	struct naive_buffer *n = calloc(1, sizeof(*n));

	n->queues = queues;
	n->room = calloc(1, lq_room_bytes(queues));
	n->b.flows = n->flow;
	n->b.records = n->record;
	n->b.limit = FQ_RR_LIMIT_MAX;
	n->b.memory_limit = FQ_RR_MEMORY_LIMIT_MAX;
	rr_init(&n->b.rr, 1514);
	lq_init(&n->b.lq, n->room, queues);
	memset(n->host, NAIVE_NOBODY, sizeof(n->host));
	return n;
}

/* hosts share the link from now on, or queues do; nothing may wait */
static inline void naive_set_by_host(struct naive_buffer *n, bool by_host)
{
	const struct flow_mix mix = { .mul = 0x9e3779b97f4a7c15ULL };
	u32 i;

	if (by_host && !n->hosts_room) {
		n->hosts_room = calloc(1, ht_room_bytes(n->queues));
		ht_init(&n->b.hosts, &n->b.rr, n->hosts_room, n->queues, &mix);
	}
	for (i = 0; n->b.by_host && !by_host && i < n->queues; i++) {
		n->queue[i].charges = n->host[i] < 0 ? n->queue[i].charges : 0;
		n->host[i] = NAIVE_NOBODY;
	}
	buffer_set_by_host(&n->b, by_host);
	if (n->b.by_host != by_host)
		naive_die("hosts, or none, against all wishes");
}

static inline void naive_free(struct naive_buffer *n)
{
	free(n->hosts_room);
	free(n->room);
	free(n);
}

/* limits may be anything that options allow, and far less */
static inline void naive_set_limits(struct naive_buffer *n, u32 limit, u32 memory_limit)
{
	n->b.limit = clamp_t(u32, limit, 1, FQ_RR_LIMIT_MAX);
	n->b.memory_limit = clamp_t(u32, memory_limit, 8, FQ_RR_MEMORY_LIMIT_MAX);
	lq_reset(&n->b.lq);
}

static inline void naive_append(struct naive_buffer *n, u32 number, struct naive_packet *p,
				u32 hash)
{
	/* a host for every hash but the first, which belongs to those that are alone */
	if (!n->flow[number].head)
		buffer_backlogged(&n->b, &n->flow[number], hash % 4 ?: 100 + number,
				  !(hash % 4));
	if (n->b.by_host && n->host[number] != (int)n->b.hosts.host_of[number]) {
		n->host[number] = n->b.hosts.host_of[number];
		n->queue[number].charges = 0;
	}
	buffer_append(&n->b, &n->flow[number], &p->link, p->size, hash);
	n->queue[number].packet[n->queue[number].packets++] = p->number;
	n->queue[number].hash = hash;
}

/**
 * naive_arrive - a packet comes to a queue of both buffers
 * @n: both
 * @number: of the queue
 * @bytes: length of the packet
 * @memory: what it occupies (bytes)
 * @percent: of the fair share, beyond which the queue loses what the policy says; 0: none
 *
 * Return: whether it was queued.
 */
static inline bool naive_arrive(struct naive_buffer *n, u32 number, u32 bytes, u32 memory,
				u32 percent)
{
	struct naive_packet *p = &n->packet[n->came];
	struct fq_rr_flow *flow = &n->flow[number];
	struct packet_list dropped = { 0 };
	struct fq_rr_outcome outcome = { 0 };
	bool refused;

	if (n->came == NAIVE_PACKETS)
		return false;
	p->number = n->came++;
	p->size = (struct packet_size) { bytes, memory };
	/* as an earlier list has left it */
	p->link.next = &p->link;
	p->link.prev = &p->link;
	refused = memory > n->b.memory_limit ||
		  (n->b.drop == FQ_RR_DROP_ARRIVING &&
		   (naive_waiting(n) + 1 > n->b.limit ||
		    naive_memory(n) + memory > n->b.memory_limit));
	if (buffer_refuses(&n->b, naive_waiting(n), memory) != refused)
		naive_die("another packet is refused");
	if (refused) {
		buffer_charge_refused(&n->b, flow, bytes);
		n->queue[number].charges += n->b.charge &&
					    (n->queue[number].packets || !n->b.by_host) &&
					    n->queue[number].charges < RR_CHARGES_MAX;
		naive_check(n);
		return false;
	}
	naive_append(n, number, p, p->number * 7);
	n->b.memory += memory;
	if (buffer_over_limit(&n->b, naive_waiting(n)) != naive_over(n))
		naive_die("over the limit, or not");
	if (naive_over(n)) {
		buffer_make_room(&n->b, naive_waiting(n), flow, &p->link, naive_size,
				 &outcome, &dropped);
		naive_make_room(n, number, p->number);
	} else if (percent &&
		   buffer_exceeds_share(&n->b, flow, naive_waiting(n), percent)) {
		buffer_drop_from(&n->b, flow, &p->link, naive_size, &outcome, &dropped);
		naive_drop_from(n, number, p->number);
	}
	naive_check_dropped(n, &dropped, &outcome);
	naive_check(n);
	return true;
}

/* the queue whose turn it is sends its oldest packet */
static inline void naive_send(struct naive_buffer *n)
{
	struct fq_rr_flow *flow = buffer_next(&n->b, n->b.by_host);
	struct packet_link *link;
	u32 number;

	if (!flow)
		return;
	number = buffer_number(&n->b, flow);
	link = buffer_take_head(flow);
	if (link->next || link->prev)
		naive_die("a packet leaves with others");
	buffer_taken(&n->b, flow, naive_size(link));
	buffer_sent(&n->b, flow, naive_size(link), n->b.by_host);
	n->queue[number].charges = 0;
	if (link != &n->packet[naive_remove(n, number, 0)].link)
		naive_die("another packet leaves");
	naive_check(n);
}

/* packets of all queues are put into others, or all are forgotten */
static inline void naive_detach_all(struct naive_buffer *n, u32 shift, bool forget)
{
	struct packet_list all = buffer_detach_all(&n->b);
	struct packet_link *link = all.first, *next, *last = NULL;
	u32 packets = naive_in_queues(n), i;

	lq_reset(&n->b.lq);
	for (i = 0; i < n->queues; i++) {
		if (n->flow[i].head || rr_is_backlogged(&n->flow[i].rr))
			naive_die("a queue has kept something");
		n->queue[i].packets = 0;
	}
	/* what may change only where nothing waits */
	if (shift & 64)
		naive_set_by_host(n, !n->b.by_host);
	if (shift & 32)
		buffer_restart(&n->b, shift & 16 ? 1 : 1514);
	buffer_set_at_once(&n->b, shift & 8);
	for (; link; link = next) {
		struct naive_packet *p = (struct naive_packet *)link;

		next = link->next;
		last = link;
		packets--;
		if (!forget)
			naive_append(n, (p->number + shift) % n->queues, p, shift);
	}
	if (packets)
		naive_die("not all packets came out of the queues");
	if (all.first && last != all.last)
		naive_die("another last packet of all");
	if (forget)
		n->b.memory = 0;
	naive_check(n);
}

/* one queue's packets go back into it */
static inline void naive_detach(struct naive_buffer *n, u32 number)
{
	struct packet_link *link = buffer_detach(&n->b, &n->flow[number]), *next;
	struct naive_queue *queue = &n->queue[number];
	u32 packets = queue->packets;

	if (!packets != !link)
		naive_die("a queue has lost what was in it");
	if (n->flow[number].packets || n->flow[number].bytes || n->flow[number].memory)
		naive_die("a sum of nothing");
	queue->packets = 0;
	for (; link; link = next) {
		struct naive_packet *p = (struct naive_packet *)link;

		next = link->next;
		buffer_append(&n->b, &n->flow[number], link, p->size, number);
		queue->packet[queue->packets++] = p->number;
		queue->hash = number;
	}
	naive_check(n);
}

static inline void naive_change(struct naive_buffer *n, u32 limit, u32 memory_limit)
{
	struct packet_list dropped = { 0 };
	struct fq_rr_outcome outcome = { .queued = 1, .own_dropped = true };

	naive_set_limits(n, limit, memory_limit);
	if (!naive_over(n))
		return;
	buffer_make_room(&n->b, naive_waiting(n), NULL, NULL, naive_size, &outcome, &dropped);
	naive_make_room(n, NAIVE_NOBODY, NAIVE_NOBODY);
	naive_check_dropped(n, &dropped, &outcome);
	naive_check(n);
}

/**
 * naive_run - run a script
 * @script: queues, policy and limits, then what happens, three bytes a step
 * @length: of the script (bytes)
 *
 * Aborts where something does not hold.
 */
static inline void naive_run(const u8 *script, size_t length)
{
	struct naive_buffer *n;
	u32 percent;
	size_t i;

	if (length < 4)
		return;
	n = naive_new(1 + script[0] % NAIVE_QUEUES);
	n->b.drop = script[1] % (FQ_RR_DROP_MAX + 1);
	n->b.charge = script[1] & 8;
	n->b.strict = script[1] & 16;
	percent = script[1] & 32 ? 33 : 0;
	naive_set_by_host(n, script[1] & 64);
	naive_set_limits(n, script[2] % 64, 64U << script[3] % 16);
	for (i = 4; i + 2 < length; i += 3) {
		u32 number = script[i] / 8 % n->queues;
		u32 bytes = script[i + 1] * 6, memory = 16 + script[i + 2] * 16;

		switch (script[i] % 8) {
		case 0:
		case 1:
		case 2:
			naive_arrive(n, number, bytes, memory, percent);
			break;
		case 3:
			/* a super-packet's many are alike */
			for (; number < n->queues && memory > 2048; memory -= 2048 / 8)
				naive_arrive(n, number, 1514, 2048, percent);
			break;
		case 4:
		case 5:
			naive_send(n);
			break;
		case 6:
			if (script[i] & 64)
				naive_change(n, script[i + 1], memory * 8);
			else
				n->elsewhere = script[i + 1] % 4;
			break;
		default:
			if (script[i] & 64)
				naive_detach(n, number);
			else
				naive_detach_all(n, script[i + 1], script[i] & 128);
			break;
		}
	}
	naive_free(n);
}

#endif /* _NAIVE_BUFFER_H */
