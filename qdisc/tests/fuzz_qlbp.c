// SPDX-License-Identifier: GPL-2.0
/*
 * qlbp.h with any rule, under any order of arrivals, departures and drops, with
 * shaper.h as its link: no overflow (the sanitizers see it), the rate within the
 * rule's, a link that works on, and no packet later than at the lowest rate.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz_take.h"
#include "qlbp.h"
#include "shaper.h"

static void die(const char *what)
{
	fprintf(stderr, "qlbp: %s\n", what);
	abort();
}

static struct qlbp take_rule(const uint8_t **data, size_t *size)
{
	u64 link = take_rate(data, size);
	struct qlbp p = { .link_Bps = link };

	if (take(data, size, 1) & 1) {
		u32 load = take(data, size, 1) - 1;
		u64 q_max;

		p.mu_max_Bps = qlbp_mu_max(link, load);
		p.mu_min_Bps = qlbp_mu_min(link, load);
		q_max = qlbp_q_max(p.mu_max_Bps,
				   take(data, size, 3) % 10000001);
		p.q_max_bytes = clamp_t(u64, q_max, 64, 1U << 30);
	} else {
		u64 mu_max = take_rate(data, size);
		u64 mu_min = take_rate(data, size);

		p.mu_max_Bps = min_t(u64, mu_max, link);
		p.mu_min_Bps = min_t(u64, mu_min, p.mu_max_Bps);
		p.q_max_bytes = 64 + take(data, size, 4) % ((1U << 30) - 63);
	}
	if (!p.mu_min_Bps || p.mu_min_Bps > p.mu_max_Bps ||
	    p.mu_max_Bps > p.link_Bps)
		die("the rates are in the wrong order");
	if (take(data, size, 1) & 1)
		p.link_Bps = 0;
	return p;
}

/* rules that no option leads to: nothing overflows or divides by zero */
static void try_any(const uint8_t **data, size_t *size)
{
	u64 rate = take(data, size, 8) - 1;
	u32 number = take(data, size, 4) - 1;
	struct qlbp p = {
		.mu_min_Bps = 1,
		.mu_max_Bps = max_t(u64, rate, 1),
		.q_max_bytes = number,
	};

	if (!qlbp_mu_max(rate, number) || !qlbp_mu_min(rate, number))
		die("a rate of 0");
	qlbp_q_max(rate, number);
	if (qlbp_rate(&p, number) != (number ? p.mu_max_Bps : 0))
		die("another rate at the end of the line");
	p.mu_max_Bps = rate;
	if (!qlbp_delay_bound_ns(&p) != !number)
		die("a bound of 0");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct qlbp p = take_rule(&data, &size);
	struct shaper sh = { 0 };
	u64 now = 1, backlog = 0;
	u32 packets = 0;

	shaper_set_rate(&sh, qlbp_rate(&p, 0), now);
	try_any(&data, &size);
	while (size) {
		unsigned int act = take(&data, &size, 1) % 8;
		u32 len = take(&data, &size, 2);
		u64 rate;

		if (act == 0) {
			now += take(&data, &size, 5);
		} else if (act == 1) {
			packets = 0;
			backlog = 0;
		} else if (act < 5) {
			if (!packets)
				shaper_arrive(&sh, now);
			packets++;
			backlog = min_t(u64, backlog + len, U32_MAX);
		} else if (packets) {
			if (sh.rate_Bps && !shaper_ready(&sh, now))
				now = sh.next_ns;
			packets--;
			backlog = packets ? backlog - min_t(u64, len, backlog) :
				  0;
			shaper_set_rate(&sh, qlbp_rate(&p, backlog), now);
			if (sh.rate_Bps)
				shaper_sent(&sh, now, len);
		}
		rate = qlbp_rate(&p, backlog);
		if (rate < p.mu_min_Bps && (rate || p.link_Bps))
			die("below the lowest rate");
		if (backlog <= p.q_max_bytes && rate > p.mu_max_Bps)
			die("above the highest rate");
		shaper_set_rate(&sh, rate, now);
		if (sh.rate_Bps && sh.rest >= sh.rate_Bps)
			die("more than a nanosecond is carried");
		/* with what a nanosecond at the highest rate carries over */
		if (sh.next_ns > now && (unsigned __int128)(sh.next_ns - now) *
		    p.mu_min_Bps > (unsigned __int128)65536 * NSEC_PER_SEC +
		    125000000000ULL)
			die("a packet lasts longer than at the lowest rate");
	}
	return 0;
}
