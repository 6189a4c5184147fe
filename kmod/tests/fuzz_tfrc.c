// SPDX-License-Identifier: GPL-2.0
/*
 * tfrc.h and what it is made of, under any packets, losses, take-backs, silences and knobs: the
 * rate stays within its bounds, no loss event raises it, and a mean is one of what was measured.
 */
#include "fuzz_check.h"
#include "tfrc.h"

/* Numbers of all magnitudes, and those around a power of two */
static u64 number(u8 octave, u8 rest)
{
	u32 shift = octave % 64;

	return (1ULL << shift) + ((u64)rest << (shift > 7 ? shift - 8 : 0)) - (octave & 64 ? 1 : 0);
}

static void check(const struct tfrc *t, const struct tfrc_params *m, const struct tfrc_path *path)
{
	u64 mean_q16 = tfrc_mean_q16(t, m, path), open_q16 = tfrc_open_q16(&t->loss, m, path);
	u64 friendly = tfrc_friendly_bytes_ps(t, m, path);

	CHECK(t->rate_bytes_ps && t->rate_bytes_ps <= TFRC_RATE_MAX_BYTES_PS);
	CHECK(open_q16 <= TFRC_INTERVAL_MAX_Q16);
	CHECK(tfrc_in_slow_start(t) == !mean_q16);
	CHECK(!mean_q16 || (mean_q16 >= TFRC_ONE_Q16 && mean_q16 <= TFRC_INTERVAL_MAX_Q16));
	CHECK(mean_q16 >= t->history.without_q16);
	CHECK(friendly <= TFRC_RATE_MAX_BYTES_PS);
	CHECK(tfrc_lip_us(m, path) <= TFRC_RTT_MAX_US);
	CHECK(tfrc_rtt_us(t) >= TFRC_RTT_MIN_US && tfrc_rtt_us(t) <= TFRC_RTT_MAX_US);
	CHECK(tfrc_window(t->rate_bytes_ps, path->rtt_us, path->packet_bytes) >= TFRC_WINDOW_MIN);
	CHECK(t->history.closed <= TFRC_KEPT && t->history.newest < TFRC_KEPT);
}

/* A flow that sends and loses nothing is never slower for it */
static void check_recovery(struct tfrc *t, const struct tfrc_params *m)
{
	const struct tfrc_path path = { 20000, 100000, 1000 };
	u64 rate = 0;
	u32 i;

	for (i = 0; i < 30; i++) {
		const struct tfrc_packets some = { 100, 100000, i * 20000 };

		tfrc_arrived(&t->loss, m, &some);
		tfrc_round(t, m, &path, TFRC_RATE_MAX_BYTES_PS, false);
		CHECK(t->rate_bytes_ps >= rate);
		rate = t->rate_bytes_ps;
		check(t, m, &path);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct tfrc_path path = { 20000, 100000, 1000 };
	struct tfrc_params m = { .reference_bytes = 1460 };
	struct tfrc_packets some = { .bytes = 0 };
	struct tfrc t;
	u64 before;

	if (size < 4)
		return 0;
	m.method = data[0] % TFRC_METHODS;
	m.mode = data[1] % TFRC_MODES;
	m.packet_rate_cap = data[0] & 128 ? data[1] : 0;
	tfrc_start(&t, data[2], (u32)number(data[3], data[2]), (u32)number(data[2], data[3]));
	for (size -= 4, data += 4; size >= 5; size -= 5, data += 5) {
		u64 one = number(data[1], data[2]), other = number(data[3], data[4]);

		some.now_us += (u32)other;
		/* as a stack would, or anything */
		some.packets = data[0] & 64 ? (u32)one : data[2];
		some.bytes = data[0] & 128 ? other : (u64)some.packets * 100;
		before = t.rate_bytes_ps;
		switch (data[0] % 8) {
		case 0:
			if (tfrc_take_lost(&t, &m, &some, &path))
				CHECK(t.loss.in_lip && !tfrc_in_slow_start(&t));
			CHECK(t.rate_bytes_ps <= before || t.rate_bytes_ps <= 65535 / 64 + 1);
			break;
		case 1:
			tfrc_take_rtt(&t, (u32)other);
			tfrc_round(&t, &m, &path, one, data[0] & 8);
			break;
		case 2:
			tfrc_take_back(&t, &m, &path, data[2] % 4);
			break;
		case 3:
			if (data[0] & 8)
				tfrc_timeout(&t, &m, &path);
			else
				tfrc_silent(&t, &m, &path, (u32)one);
			CHECK(t.rate_bytes_ps <= before || t.rate_bytes_ps <= 65535 / 64 + 1);
			break;
		case 4:
			path = (struct tfrc_path){ (u32)one, other, data[4] * 16 };
			break;
		case 5:
			m.reference_bytes = (u32)one;
			break;
		default:
			tfrc_arrived(&t.loss, &m, &some);
		}
		check(&t, &m, &path);
	}
	check_recovery(&t, &m);
	return 0;
}
