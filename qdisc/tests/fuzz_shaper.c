// SPDX-License-Identifier: GPL-2.0
/*
 * shaper.h under any order of arrivals, departures, changes of rate and of what is
 * made up for: no overflow (the sanitizers see it), no packet before its time, no gap
 * shorter than seven eighths of the packet before it by more than the slack, no waiting
 * for longer than the packets sent since take, and no time that is neither used nor made
 * up for nor counted as lost.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz_take.h"
#include "shaper.h"

/* any: none, one that the options allow, or one of 64 bits */
static u64 take_any_rate(const uint8_t **data, size_t *size)
{
	switch (take(data, size, 1) % 8) {
	case 0:
		return 0;
	case 1:
		return take(data, size, 8);
	default:
		return take_rate(data, size);
	}
}

/* so far the clock may run (ns): 146 years */
#define END_NS (1ULL << 62)

static void die(const char *what)
{
	fprintf(stderr, "shaper: %s\n", what);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct shaper sh = { 0 };
	u64 now = 1, last = 0;
	u64 least_gap = 0;

	shaper_set_rate(&sh, take_any_rate(&data, &size), now);
	while (size && now < END_NS && sh.next_ns < END_NS) {
		unsigned int act = take(&data, &size, 1) % 8;

		if (act == 0) {
			shaper_set_rate(&sh, take_any_rate(&data, &size), now);
			least_gap = 0;
		} else if (act == 1) {
			shaper_arrive(&sh, now);
			if (sh.missed_ns && sh.next_ns < now + sh.missed_ns)
				die("an idle link makes up for something");
		} else if (act == 2) {
			shaper_set_catch_up(&sh, take(&data, &size, 4));
		} else if (act < 4) {
			now += take(&data, &size, 5);
		} else {
			u32 len = take(&data, &size, act == 4 ? 4 : 2);
			unsigned __int128 wire;
			u64 used, lost_ns;

			if (!sh.rate_Bps) {
				struct shaper before = sh;

				if (shaper_sent(&sh, now, len) ||
				    memcmp(&before, &sh, sizeof(sh)))
					die("what does not shape changes");
				continue;
			}
			if (!shaper_ready(&sh, now))
				now = sh.next_ns;
			if (last && now - last + SHAPER_SLACK_NS < least_gap)
				die("a gap is too short");
			used = sh.next_ns - sh.missed_ns - sh.lost_ns;
			lost_ns = sh.lost_ns;
			shaper_sent(&sh, now, len);
			wire = (unsigned __int128)len * NSEC_PER_SEC /
			       sh.rate_Bps;
			used = sh.next_ns - sh.missed_ns - sh.lost_ns - used;
			if (used < wire || used > wire + 1)
				die("time is unaccounted for");
			if (sh.lost_ns < lost_ns || sh.missed_ns > sh.catch_up_ns)
				die("more is made up for than may be");
			if (sh.next_ns > now + wire + 1)
				die("the next packet waits too long");
			if (sh.rest >= sh.rate_Bps)
				die("more than a nanosecond is carried");
			last = now;
			least_gap = wire - wire / 8;
		}
	}
	return 0;
}
