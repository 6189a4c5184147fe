// SPDX-License-Identifier: GPL-2.0
/*
 * cubic_window.h under any ACKs, losses, silences and windows: the window never falls on an
 * ACK, grows by no more than was delivered, and after anything it grows again.
 */
#include <math.h>

#include "fuzz_check.h"
#include "cubic_window.h"

/* Numbers of all magnitudes, and those around a power of two */
static u32 number(u8 octave, u8 rest)
{
	return (1U << octave % 32) + ((u32)rest << (octave % 32 > 7 ? octave % 32 - 8 : 0)) -
	       (octave & 32 ? 1 : 0);
}

static void check_state(const struct cubic_window *c)
{
	/* a window of Reno's that is 0 is no epoch */
	CHECK(c->reno <= CUBIC_WINDOW_MAX);
	CHECK(c->max <= CUBIC_WINDOW_MAX);
	CHECK(!c->reno || c->max);
}

static u32 check_ack(struct cubic_window *c, u32 window, u32 *count,
		     const struct cubic_window_acked *it)
{
	u32 counts = clamp_t(u32, window, 1, CUBIC_WINDOW_MAX);
	u32 got = cubic_window_ack(c, window, count, it);

	CHECK(got >= counts && got <= CUBIC_WINDOW_MAX);
	CHECK(got - counts <= it->acked);
	/* in congestion avoidance: half of what was delivered, and one for what was counted */
	if (counts >= it->ssthresh)
		CHECK(got - counts <= it->acked / 2 + 1);
	check_state(c);
	return got;
}

/* A loss at this window: what is left, and what becomes of the maximum */
static u32 check_loss(struct cubic_window *c, u32 window)
{
	u32 counts = min_t(u32, window, CUBIC_WINDOW_MAX), max = c->max;
	u32 left = cubic_window_ssthresh(c, window);

	CHECK(left == max_t(u32, (u32)floor(counts * (717 / 1024.0)), 2));
	CHECK(c->max == (counts < max ? (u32)floor(counts * (1741 / 2048.0)) : counts));
	check_state(c);
	return left;
}

/* After 200 windows there is one packet more at least, whatever was before */
static void check_growth(struct cubic_window *c, u32 window, u32 count, u32 now_us)
{
	const u32 rtt_us = 20000;
	u32 before = window, i;

	for (i = 0; i < 200; i++) {
		struct cubic_window_acked it = { 0, window, now_us, rtt_us };

		window = check_ack(c, window, &count, &it);
		now_us += rtt_us;
	}
	CHECK(window > before);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u32 window = 10, count = 0, ssthresh = U32_MAX, now_us = 0, rtt_us = 20000;
	struct cubic_window c;

	cubic_window_reset(&c);
	for (; size >= 5; size -= 5, data += 5) {
		u32 one = number(data[1], data[2]), other = number(data[3], data[4]);
		struct cubic_window_acked it = { ssthresh, one, now_us, rtt_us };

		now_us += other;
		switch (data[0] % 8) {
		case 0:
			ssthresh = check_loss(&c, window);
			window = ssthresh;
			break;
		case 1:
			cubic_window_idle(&c, other);
			break;
		case 2:
			CHECK(!cubic_window_queued(one, other) || one > other);
			CHECK(cubic_window_queued(one, other) || one <= other * 1.125);
			rtt_us = one;
			break;
		case 3:
			/* a small one, or any */
			window = data[0] & 8 ? data[2] % 4 : one;
			ssthresh = data[0] & 16 ? 0 : other;
			break;
		case 4:
			count = one;
			break;
		case 5:
			/* a timer ran out */
			ssthresh = check_loss(&c, window);
			cubic_window_reset(&c);
			window = 1;
			break;
		default:
			it.now_us = now_us;
			/* a whole window, or any number */
			if (data[0] & 8)
				it.acked = window;
			window = check_ack(&c, window, &count, &it);
		}
	}
	check_growth(&c, clamp_t(u32, window, 1, 1U << 24), count, now_us);
	return 0;
}
