// SPDX-License-Identifier: GPL-2.0
/*
 * shaper.h under any order of arrivals, departures and changes of rate: no
 * overflow (the sanitizers see it), no packet before its time, no gap shorter
 * than the packet before it by more than the slack, and no waiting for longer
 * than the packets sent since take.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz_take.h"
#include "shaper.h"

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

	shaper_set_rate(&sh, take_rate(&data, &size), now);
	while (size) {
		unsigned int act = take(&data, &size, 1) % 8;

		if (act == 0) {
			shaper_set_rate(&sh, take_rate(&data, &size), now);
			least_gap = 0;
		} else if (act == 1) {
			shaper_arrive(&sh, now);
		} else if (act < 4) {
			now += take(&data, &size, act);
		} else {
			u32 len = take(&data, &size, act == 4 ? 4 : 2);
			unsigned __int128 wire;

			if (!shaper_ready(&sh, now))
				now = sh.next_ns;
			if (last && now - last + SHAPER_SLACK_NS < least_gap)
				die("a gap is too short");
			shaper_sent(&sh, now, len);
			wire = (unsigned __int128)len * NSEC_PER_SEC /
			       sh.rate_Bps;
			if (sh.next_ns > now + wire + 1)
				die("the next packet waits too long");
			if (sh.rest >= sh.rate_Bps)
				die("more than a nanosecond is carried");
			last = now;
			least_gap = wire;
		}
	}
	return 0;
}
