// SPDX-License-Identifier: GPL-2.0
/*
 * host_turns.h: the gap between two packets of a queue, who gets what, and what one host's
 * many flows cost another.
 *
 * A small link is modelled here, as in test_round_robin.c: queues with packets of given
 * sizes, served one at a time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "refused.h"

#include "naive_host_turns.h"

#define QUANTUM 1514
#define FOREVER (UINT32_MAX / 2)
#define QUEUES 1024

struct source {
	struct rr_flow rr;
	u32 host;	/* its hash */
	bool alone;
	u32 packets;	/* backlog */
	u32 size;	/* of each packet (bytes) */
	u64 served;	/* bytes */
};

struct link {
	struct host_turns ht;
	struct rr rr;
	u32 queues;
	struct source s[];
};

static struct link *make(u32 queues, u32 quantum)
{
	const struct flow_mix mix = { 0x9e3779b97f4a7c15ULL, 7 };
	struct link *l = calloc(1, sizeof(*l) + queues * sizeof(l->s[0]));

	assert_non_null(l);
	l->queues = queues;
	rr_init(&l->rr, quantum);
	ht_init(&l->ht, &l->rr, calloc(1, ht_room_bytes(queues)), queues, &mix);
	return l;
}

static void drop(struct link *l)
{
	free(l->ht.hosts);
	free(l);
}

static u32 number(const struct link *l, const struct source *s)
{
	return s - l->s;
}

static bool arrive(struct link *l, u32 queue, u32 packets)
{
	struct source *s = &l->s[queue];
	bool sparse = false;

	if (!s->packets && packets)
		sparse = ht_backlogged(&l->ht, &s->rr, queue, s->host, s->alone);
	s->packets += packets;
	return sparse;
}

static struct source *serve(struct link *l)
{
	struct source *s = (struct source *)ht_next(&l->ht);

	if (!s)
		return NULL;
	s->packets--;
	s->served += s->size;
	ht_sent(&l->ht, &s->rr, number(l, s), s->size, 0, s->packets);
	return s;
}

/* @counts[h] queues for host h, all backlogged for ever with packets of one size */
static u32 fill(struct link *l, const u32 *counts, u32 hosts, u32 size)
{
	u32 h, k, queue = 0;

	for (h = 0; h < hosts; h++) {
		for (k = 0; k < counts[h]; k++, queue++) {
			l->s[queue].host = 100 + h;
			l->s[queue].size = size;
			arrive(l, queue, FOREVER);
		}
	}
	return queue;
}

static void nothing_is_backlogged_at_first(void **state)
{
	struct link *l = make(4, QUANTUM);

	(void)state;
	assert_null(ht_next(&l->ht));
	assert_null(ht_any(&l->ht));
	assert_null(ht_longest(&l->ht, 0, NULL, NULL));
	assert_null(ht_host_of(&l->ht, 0));
	assert_null(ht_host_of(&l->ht, 4));
	drop(l);
}

/*
 * What packet pair measures: among H hosts, a queue of a host with n has exactly H n - 1
 * packets of others between two of its own, every time, whatever the others have.
 */
static void gaps_are_hosts_times_queues(void **state)
{
	static const u32 sizes[] = { 1514, 1500, 1000, 514, 60, 1 };
	static const struct {
		u32 hosts;
		u32 counts[6];
		const char *reason;
	} rows[] = {
		{ 1, { 1 }, "alone" },
		{ 1, { 5 }, "one level" },
		{ 2, { 1, 8 }, "one flow beside eight" },
		{ 2, { 8, 1 }, "eight beside one" },
		{ 3, { 2, 3, 5 }, "no two alike" },
		{ 6, { 1, 1, 1, 1, 1, 1 }, "one level again" },
		{ 6, { 40, 1, 2, 1, 17, 9 }, "a large house" },
	};
	unsigned int i, j, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (j = 0; j < ARRAY_SIZE(sizes); j++) {
			struct link *l = make(80, QUANTUM);
			u32 queues = fill(l, rows[i].counts, rows[i].hosts, sizes[j]);
			unsigned int last[80] = { 0 };

			/* each has been served, and who is behind has caught up */
			for (k = 0; k < 20000; k++)
				serve(l);
			for (k = 1; k <= 20000; k++) {
				struct source *s = serve(l);
				u32 n = number(l, s);
				u32 due = rows[i].hosts * rows[i].counts[s->host - 100];

				if (last[n] && k - last[n] != due)
					fail_msg("%s, %u bytes: a gap of %u packets, not %u",
						 rows[i].reason, sizes[j], k - last[n], due);
				last[n] = k;
			}
			for (k = 0; k < queues; k++)
				assert_true(last[k]);
			drop(l);
		}
	}
}

/*
 * A train that comes to an idle queue: its first packet goes ahead, of all hosts if its own
 * was idle, else of its host's queues. From there on each gap is the share.
 */
static void a_train_reads_its_share_at_once(void **state)
{
	static const u32 counts[] = { 1, 3, 2 };
	unsigned int phase, own, i, k;

	(void)state;
	for (phase = 0; phase < 50; phase++) {
		for (own = 0; own < 2; own++) {
			struct link *l = make(16, QUANTUM);
			u32 queue = fill(l, counts, 3, 1514);
			struct source *s = &l->s[queue];
			/* of host 1 with four queues then, or of a fourth host */
			u32 due = own ? 3 * 4 : 4;
			u32 at[5];

			for (k = 0; k < 300 + phase; k++)
				serve(l);
			s->host = own ? 101 : 999;
			s->size = 1514;
			assert_true(arrive(l, queue, 5));
			for (i = 0, k = 0; i < 5; k++) {
				if (serve(l) == s)
					at[i++] = k;
			}
			assert_in_range(at[0], 0, own ? 2 : 0);
			for (i = 1; i < 5; i++)
				assert_int_equal(at[i] - at[i - 1], due);
			drop(l);
		}
	}
}

/* bytes, whatever the packets and however many queues: the bound of each level */
static void bytes_are_shared_on_both_levels(void **state)
{
	static const struct {
		u32 counts[3];
		u32 sizes[3];	/* of every third queue of a host */
		const char *reason;
	} rows[] = {
		{ { 1, 1, 1 }, { 1514, 1514, 1514 }, "one level" },
		{ { 1, 8, 30 }, { 1514, 1514, 1514 }, "one size" },
		{ { 1, 8, 30 }, { 1514, 60, 514 }, "a usual mix" },
		{ { 9, 2, 3 }, { 65549, 60, 1514 }, "super-packets" },
	};
	unsigned int i, k, h;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct link *l = make(64, QUANTUM);
		u32 queues = fill(l, rows[i].counts, 3, 0);
		u64 largest = QUANTUM;

		for (k = 0; k < queues; k++) {
			l->s[k].size = rows[i].sizes[k % 3];
			largest = max_t(u64, largest, l->s[k].size);
		}
		for (k = 0; k < 100000; k++) {
			u64 hosts[3] = { 0 }, least[3] = { U64_MAX, U64_MAX, U64_MAX };
			u64 most[3] = { 0 };
			u32 n;

			serve(l);
			for (n = 0; n < queues; n++) {
				h = l->s[n].host - 100;
				hosts[h] += l->s[n].served;
				least[h] = min_t(u64, least[h], l->s[n].served);
				most[h] = max_t(u64, most[h], l->s[n].served);
			}
			for (h = 0; h < 3; h++) {
				u64 other = hosts[(h + 1) % 3];

				if (hosts[h] >= other + 3 * largest)
					fail_msg("%s: host %u has %llu, another %llu",
						 rows[i].reason, h,
						 (unsigned long long)hosts[h],
						 (unsigned long long)other);
				assert_true(most[h] < least[h] + 3 * largest);
			}
		}
		drop(l);
	}
}

/*
 * New flows by the thousand, all of one host. On one level they leave the others a ninth
 * (test_round_robin.c); on two they cost them nothing.
 */
static void a_flood_of_new_flows_is_its_hosts_own(void **state)
{
	struct link *l = make(2048, QUANTUM);
	u64 flood = 0;
	u32 k, next = 1;

	(void)state;
	l->s[0] = (struct source) { .host = 1, .size = 1514 };
	arrive(l, 0, FOREVER);
	for (k = 0; k < 40000; k++) {
		u32 tries;
		struct source *s;

		for (tries = 0; tries < 3; tries++, next = next % 2047 + 1) {
			if (l->s[next].packets)
				continue;
			l->s[next].host = 2;
			l->s[next].size = 60;
			arrive(l, next, 1);
		}
		s = serve(l);
		if (s != &l->s[0])
			flood += s->size;
		assert_true(flood <= l->s[0].served + 3 * QUANTUM);
	}
	/* and of the host that floods each waits a round of it, or goes ahead */
	assert_in_range(l->s[0].served, 40000 / 30 * 60, UINT64_MAX);
	drop(l);
}

/* a ping beside its own host's uploads waits for its host's turn, not for its queues */
static void a_ping_waits_for_its_hosts_turn(void **state)
{
	static const u32 counts[] = { 20, 1, 1, 1 };
	struct link *l = make(64, QUANTUM);
	u32 ping = fill(l, counts, 4, 1514), k, i;

	(void)state;
	l->s[ping].host = 100;
	l->s[ping].size = 98;
	for (k = 0; k < 200; k++)
		serve(l);
	for (i = 0; i < 500; i++) {
		assert_true(arrive(l, ping, 1));
		/* one turn of each host, and what its host has left of a grant */
		for (k = 1; serve(l) != &l->s[ping]; k++)
			assert_true(k < 4);
		for (k = 0; k < 160 + i % 7; k++)
			serve(l);
	}
	drop(l);
}

static void weights_count_in_a_host(void **state)
{
	static const u32 counts[] = { 2, 1 };
	struct link *l = make(8, QUANTUM);
	u32 k;

	(void)state;
	fill(l, counts, 2, 1000);
	ht_set_weight(&l->ht, &l->s[0].rr, 0, 3);
	assert_int_equal(ht_shares(&l->ht, 0), 4);
	assert_int_equal(l->rr.shares, 2);
	for (k = 0; k < 16000; k++)
		serve(l);
	/* 3 : 1 of one half, and the other half */
	assert_in_range(l->s[0].served, 5990000, 6010000);
	assert_in_range(l->s[1].served, 1990000, 2010000);
	assert_in_range(l->s[2].served, 7990000, 8010000);
	drop(l);
}

/* a queue that is a host of its own has its weight among hosts, then and later */
static void the_weight_of_one_alone_counts_among_hosts(void **state)
{
	static const u32 counts[] = { 2, 1 };
	struct link *l = make(8, QUANTUM);
	u32 k;

	(void)state;
	fill(l, counts, 2, 1000);
	ht_set_weight(&l->ht, &l->s[3].rr, 3, 2);
	l->s[3] = (struct source) { .rr = l->s[3].rr, .host = 5, .alone = true, .size = 1000 };
	arrive(l, 3, FOREVER);
	assert_int_equal(l->rr.shares, 4);
	for (k = 0; k < 16000; k++)
		serve(l);
	assert_in_range(l->s[3].served, 7990000, 8010000);
	assert_in_range(l->s[2].served, 3990000, 4010000);
	ht_set_weight(&l->ht, &l->s[3].rr, 3, 6);
	assert_int_equal(l->rr.shares, 8);
	l->s[3].served = 0;
	for (k = 0; k < 16000; k++)
		serve(l);
	assert_in_range(l->s[3].served, 11980000, 12020000);
	/* its host belongs to another then, of the weight that hosts have */
	l->s[3].packets = 0;
	ht_idle(&l->ht, &l->s[3].rr, 3);
	assert_int_equal(l->rr.shares, 2);
	l->s[3].alone = false;
	arrive(l, 3, 1);
	assert_int_equal(l->rr.shares, 3);
	drop(l);
}

/* the buffer is shared by weights of hosts, and then of their queues */
static void a_hosts_part_of_the_buffer(void **state)
{
	static const u32 counts[] = { 2, 1 };
	struct link *l = make(8, QUANTUM);

	(void)state;
	assert_int_equal(ht_buffer(&l->ht, 0, 1000), 1000);
	assert_int_equal(ht_shares(&l->ht, 0), 0);
	fill(l, counts, 2, 1000);
	assert_int_equal(ht_buffer(&l->ht, 0, 1001), 500);
	assert_int_equal(ht_buffer(&l->ht, 2, 1001), 500);
	assert_int_equal(ht_shares(&l->ht, 0), 2);
	assert_int_equal(ht_shares(&l->ht, 2), 1);
	assert_int_equal(ht_buffer(&l->ht, 2, U32_MAX), U32_MAX / 2);
	drop(l);
}

/* what a queue loses is paid for by its host too: a flood of one flow has nobody beside it */
static void a_flood_pays_in_both(void **state)
{
	static const u32 counts[] = { 1, 1 };
	struct link *l = make(8, QUANTUM);
	u32 k;

	(void)state;
	/* of no host yet: nobody pays */
	ht_charge(&l->ht, &l->s[5].rr, 5, 1514);
	assert_int_equal(l->s[5].rr.spent, 0);
	fill(l, counts, 2, 1000);
	for (k = 0; k < 20000; k++) {
		ht_charge(&l->ht, &l->s[0].rr, 0, 1000);
		ht_charge(&l->ht, &l->s[0].rr, 0, 1000);
		serve(l);
	}
	/* three packets for each that it sends: two were charged for each packet of the link */
	assert_true(l->s[0].served * 4 < l->s[1].served);
	drop(l);
}

/* idle hosts learn of another quantum when they are backlogged again */
static void a_restart_reaches_idle_hosts(void **state)
{
	struct link *l = make(8, QUANTUM);
	struct ht_host *host;
	u32 k;

	(void)state;
	l->s[0] = (struct source) { .host = 1, .size = 1514 };
	l->s[1] = (struct source) { .host = 2, .size = 1514 };
	arrive(l, 0, 5);
	arrive(l, 1, FOREVER);
	while (l->s[0].packets)
		serve(l);
	host = ht_host_of(&l->ht, 0);
	ht_restart(&l->ht, 1);
	assert_int_equal(host->queues.quantum, QUANTUM);
	assert_int_equal(ht_host_of(&l->ht, 1)->queues.quantum, 1);
	l->s[0].size = 1;
	l->s[1].size = 1;
	arrive(l, 0, FOREVER);
	assert_int_equal(host->queues.quantum, 1);
	assert_int_equal(l->rr.quantum, 1);
	for (k = 0; k < 10; k++)
		serve(l);
	for (k = 0; k < 10; k++)
		assert_true(serve(l) != serve(l));
	drop(l);
}

/* in another host a queue has neither debt nor credit of the one it was in */
static void another_host_is_another_account(void **state)
{
	static const u32 counts[] = { 1, 1 };
	struct link *l = make(8, QUANTUM);
	u32 k;

	(void)state;
	fill(l, counts, 2, 1514);
	for (k = 0; k < 1000; k++)
		serve(l);
	assert_true(l->s[0].rr.spent > 700000);
	l->s[0].packets = 0;
	ht_idle(&l->ht, &l->s[0].rr, 0);
	l->s[0].host = 7;
	l->s[3] = (struct source) { .host = 7, .size = 1514 };
	arrive(l, 3, FOREVER);
	serve(l);
	arrive(l, 0, FOREVER);
	l->s[0].served = 0;
	l->s[3].served = 0;
	for (k = 0; k < 1000; k++)
		serve(l);
	assert_in_range(l->s[0].served, 1514 * 249, 1514 * 251);
	assert_in_range(l->s[3].served, 1514 * 249, 1514 * 251);
	/* and in none, those that take turns with hosts */
	l->s[0].packets = 0;
	ht_idle(&l->ht, &l->s[0].rr, 0);
	ht_leave(&l->ht, &l->s[0].rr, 0);
	ht_leave(&l->ht, &l->s[0].rr, 0);
	assert_null(ht_host_of(&l->ht, 0));
	assert_true(l->s[0].rr.spent == l->rr.now);
	assert_int_equal(ht_credit(&l->ht, &l->s[0].rr, 0), 0);
	/* its weight is then one for there */
	ht_set_weight(&l->ht, &l->s[0].rr, 0, 9);
	assert_int_equal(rr_weight(&l->s[0].rr), 9);
	assert_int_equal(l->rr.shares, 2);
	drop(l);
}

/* hosts are told apart while any place in a window is free */
static void few_hosts_share_one(void **state)
{
	struct link *l = make(QUEUES, QUANTUM);
	u8 seen[QUEUES] = { 0 };
	u32 k, shared = 0;

	(void)state;
	for (k = 0; k < 500; k++) {
		l->s[k] = (struct source) { .host = k * 2654435761U, .size = 1514 };
		arrive(l, k, 1);
		shared += seen[l->ht.host_of[k]]++;
	}
	assert_in_range(shared, 0, 5);
	assert_int_equal(l->rr.active + shared, 500);
	assert_int_equal(l->ht.active, 500);
	while (serve(l))
		;
	assert_int_equal(l->ht.active, 0);
	drop(l);
}

/* seventeen hosts in one window of sixteen: the last is a guest, and stops being one */
static void a_guest_moves_when_a_host_is_free(void **state)
{
	struct link *l = make(32, QUANTUM);
	u32 made = 0, hash, k;

	(void)state;
	for (hash = 1; made < 17; hash++) {
		if (placing_home(&l->ht.placing, hash) >= 16)
			continue;
		l->s[made] = (struct source) { .host = hash, .size = 1514 };
		arrive(l, made++, FOREVER);
	}
	assert_int_equal(l->rr.active, 16);
	k = l->ht.host_of[16];
	for (made = 0; l->ht.host_of[made] == k; made++)
		;
	l->s[made].packets = 0;
	ht_idle(&l->ht, &l->s[made].rr, made);
	/* two places are looked at for each queue that it begins */
	for (k = 17; k < 26; k++) {
		l->s[k] = (struct source) { .host = l->s[16].host, .size = 1514 };
		arrive(l, k, FOREVER);
	}
	assert_int_equal(l->ht.host_of[25], l->ht.host_of[made]);
	assert_true(l->ht.host_of[25] != l->ht.host_of[16]);
	assert_int_equal(l->rr.active, 16);
	drop(l);
}

static u64 packets_of(const struct rr_flow *f, const void *context)
{
	u32 *looks = (u32 *)context;

	++*looks;
	return ((const struct source *)f)->packets;
}

/* all of a household's; of a thousand the next 64, and so each in its time */
static void the_longest_of_a_host_is_found(void **state)
{
	struct link *l = make(2048, QUANTUM);
	u32 k, looks, host;
	struct rr_flow *f;

	(void)state;
	for (k = 0; k < 1000; k++) {
		l->s[k] = (struct source) { .host = 3, .size = 1514 };
		arrive(l, k, k == 777 ? 5000 : 1000);
		if (k != HT_LOOKS - 1)
			continue;
		l->s[50].packets = 1001;
		looks = 0;
		f = ht_longest(&l->ht, l->ht.host_of[0], packets_of, &looks);
		assert_ptr_equal(f, &l->s[50].rr);
		assert_int_equal(looks, HT_LOOKS);
		l->s[50].packets = 1000;
	}
	host = l->ht.host_of[0];
	/* the first packet of each goes ahead; then they are in the round */
	for (k = 0; k < 1000; k++)
		serve(l);
	l->s[777].served = 0;
	for (k = 0; k < 1000; k++) {
		looks = 0;
		f = ht_longest(&l->ht, host, packets_of, &looks);
		assert_int_equal(looks, HT_LOOKS);
		if (f == &l->s[777].rr)
			break;
		serve(l);
	}
	assert_in_range(k, 1, 999);
	assert_int_equal(l->s[777].served, 0);
	drop(l);
}

/* a thousand new flows do not hide the one whose backlog it is */
static void new_flows_do_not_hide_the_longest(void **state)
{
	struct link *l = make(2048, QUANTUM);
	u32 k, looks = 0;

	(void)state;
	l->s[0] = (struct source) { .host = 3, .size = 1514 };
	arrive(l, 0, 1000);
	serve(l);
	for (k = 1; k < 1000; k++) {
		l->s[k] = (struct source) { .host = 3, .size = 60 };
		assert_true(arrive(l, k, 1));
	}
	assert_ptr_equal(ht_longest(&l->ht, l->ht.host_of[0], packets_of, &looks),
			 &l->s[0].rr);
	drop(l);
}

static u32 packets_in(const void *context, u32 queue)
{
	return ((const struct link *)context)->s[queue].packets;
}

/* a window of sixteen backlogged queues: whose flow shares, takes one, or is refused */
static void queues_are_shared_out_to_hosts(void **state)
{
	static const struct {
		const char *owners;	/* of each queue; the longest of each host last */
		char host;
		u32 home;
		u32 due;		/* 99: refused */
		const char *reason;
	} rows[] = {
		{ "aaaaaaaaaaaaaaaa", 'a', 3, 3, "shares with its own host's" },
		{ "aaaaaaaaaaaaaaaa", 'b', 3, 15, "takes one of many" },
		{ "aaaaaaaaaaaaaaab", 'b', 3, 14, "one for each before one has 15" },
		{ "aaaaaaaaaaaaaaab", 'b', 15, 15, "shares with its own, rather than take one" },
		{ "aaaaaaaaaaaaaaab", 'a', 15, 99, "has 15: not the other's as well" },
		{ "aaaaaaaaabbbbbbb", 'b', 0, 8, "seven and nine: takes one" },
		{ "aaaaaaaabbbbbbbb", 'b', 0, 99, "eight each: refused" },
		{ "aabbccddeeffgghh", 'i', 0, 15, "the ninth takes one" },
		{ "abbccddeeffgghhi", 'i', 0, 0, "all have two at most" },
		{ "abcdefghijklmnop", 'q', 7, 7, "more hosts than queues: shares" },
	};
	unsigned int i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct link *l = make(16, QUANTUM);
		u32 found;

		for (k = 0; k < 16; k++) {
			l->s[k] = (struct source) { .host = rows[i].owners[k], .size = 1 };
			arrive(l, k, k + 1);
		}
		found = ht_share(&l->ht, 0, 16, rows[i].home, rows[i].host, packets_in, l);
		if (found != (rows[i].due == 99 ? HT_NONE : rows[i].due))
			fail_msg("%s: %d", rows[i].reason, (int)found);
		drop(l);
	}
}

/* of the host with most, the longest goes; a queue that was never in a host is nobody's */
static void the_longest_of_the_host_with_most_is_taken(void **state)
{
	struct link *l = make(16, QUANTUM);
	u32 k;

	(void)state;
	for (k = 0; k < 12; k++) {
		l->s[k] = (struct source) { .host = k % 3 ? 5 : 6, .size = 1 };
		arrive(l, k, k == 4 ? 100 : 1 + k);
	}
	assert_int_equal(ht_share(&l->ht, 0, 12, 3, 7, packets_in, l), 4);
	/* but not the one that it would share: there is another */
	assert_int_equal(ht_share(&l->ht, 0, 12, 4, 7, packets_in, l), 11);
	/* and none while one is idle, whoever had it */
	assert_int_equal(ht_share(&l->ht, 0, 16, 3, 7, packets_in, l), 12);
	l->s[9].packets = 0;
	assert_int_equal(ht_share(&l->ht, 0, 12, 3, 7, packets_in, l), 9);
	assert_int_equal(ht_share(&l->ht, 0, 12, 3, 6, packets_in, l), 3);
	assert_int_equal(ht_share(&l->ht, 0, 4, 3, 7, packets_in, l), 2);
	assert_int_equal(ht_share(&l->ht, 12, 4, 13, 7, packets_in, l), 13);
	assert_refused(ht_share(&l->ht, 16, 1, 16, 7, packets_in, l));
	assert_refused(ht_share(&l->ht, 8, 9, 9, 7, packets_in, l));
	assert_refused(ht_share(&l->ht, 8, 4, 12, 7, packets_in, l));
	assert_refused(ht_share(&l->ht, 8, 4, 7, 7, packets_in, l));
	drop(l);
}

static void all_queues_are_found(void **state)
{
	static const u32 counts[] = { 3, 1, 2 };
	struct link *l = make(16, QUANTUM);
	u32 k;

	(void)state;
	fill(l, counts, 3, 1514);
	for (k = 0; k < 5; k++)
		serve(l);
	for (k = 0; k < 6; k++) {
		struct source *s = (struct source *)ht_any(&l->ht);

		ht_idle(&l->ht, &s->rr, number(l, s));
	}
	assert_null(ht_any(&l->ht));
	assert_null(ht_next(&l->ht));
	assert_int_equal(l->ht.active, 0);
	drop(l);
}

static void the_wrong_state_changes_nothing(void **state)
{
	static const u32 counts[] = { 1, 1 };
	struct link *l = make(4, QUANTUM);
	struct host_turns before;

	(void)state;
	fill(l, counts, 2, 1514);
	before = l->ht;
	assert_false(ht_backlogged(&l->ht, &l->s[0].rr, 0, 999, true));
	ht_idle(&l->ht, &l->s[3].rr, 3);
	ht_idle(&l->ht, &l->s[2].rr, 4);
	ht_count(&l->ht, 3, 1, 1);
	ht_count(&l->ht, U32_MAX, 1, 1);
	assert_memory_equal(&before, &l->ht, sizeof(before));
	assert_int_equal(l->rr.active, 2);
	assert_refused(ht_backlogged(&l->ht, &l->s[3].rr, 4, 1, false));
	assert_refused(ht_leave(&l->ht, &l->s[0].rr, 0));
	assert_refused(ht_sent(&l->ht, &l->s[3].rr, 3, 1, 0, false));
	assert_refused(ht_sent(&l->ht, &l->s[3].rr, 77, 1, 0, false));
	assert_refused(ht_longest(&l->ht, 4, packets_of, NULL));
	assert_refused(ht_init(&before, &l->rr, l->ht.hosts, 0, &l->ht.placing.mix));
	drop(l);
}

/* scripts of a simple generator; fuzz_host_turns.c finds others */
static void agrees_with_naive_schedulers(void **state)
{
	u8 script[3000];
	unsigned int seed, i;

	(void)state;
	for (seed = 1; seed <= 300; seed++) {
		srand(seed);
		for (i = 0; i < sizeof(script); i++)
			script[i] = rand() >> 7;
		two_compare(script, sizeof(script));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_backlogged_at_first),
		cmocka_unit_test(gaps_are_hosts_times_queues),
		cmocka_unit_test(a_train_reads_its_share_at_once),
		cmocka_unit_test(bytes_are_shared_on_both_levels),
		cmocka_unit_test(a_flood_of_new_flows_is_its_hosts_own),
		cmocka_unit_test(a_ping_waits_for_its_hosts_turn),
		cmocka_unit_test(weights_count_in_a_host),
		cmocka_unit_test(the_weight_of_one_alone_counts_among_hosts),
		cmocka_unit_test(a_hosts_part_of_the_buffer),
		cmocka_unit_test(a_flood_pays_in_both),
		cmocka_unit_test(a_restart_reaches_idle_hosts),
		cmocka_unit_test(another_host_is_another_account),
		cmocka_unit_test(few_hosts_share_one),
		cmocka_unit_test(a_guest_moves_when_a_host_is_free),
		cmocka_unit_test(the_longest_of_a_host_is_found),
		cmocka_unit_test(new_flows_do_not_hide_the_longest),
		cmocka_unit_test(queues_are_shared_out_to_hosts),
		cmocka_unit_test(the_longest_of_the_host_with_most_is_taken),
		cmocka_unit_test(all_queues_are_found),
		cmocka_unit_test(the_wrong_state_changes_nothing),
		cmocka_unit_test(agrees_with_naive_schedulers),
	};

	return cmocka_run_group_tests_name("host_turns", tests, NULL, NULL);
}
