// SPDX-License-Identifier: GPL-2.0
/*
 * framing.h: known lengths of known links, and every length against a count
 * byte by byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "framing.h"
#include "naive_framing.h"

#define PLAIN	FQ_RR_FRAMING_PLAIN
#define ATM	FQ_RR_FRAMING_ATM
#define PTM	FQ_RR_FRAMING_PTM

static void known_packets(void **state)
{
	static const struct {
		struct framing f;
		u32 len, wire;
		const char *reason;
	} rows[] = {
		{ { 0, 0, PLAIN }, 1514, 1514, "nothing set" },
		{ { 24, 0, PLAIN }, 1514, 1538, "Ethernet's preamble, gap and check" },
		{ { -14, 0, PLAIN }, 514, 500, "the IP datagram alone" },
		{ { -64, 0, PLAIN }, 60, 0, "less than nothing is nothing" },
		{ { 0, 84, PLAIN }, 60, 84, "a small packet is padded" },
		{ { 24, 84, PLAIN }, 60, 84, "the overhead counts towards the mpu" },
		{ { 24, 84, PLAIN }, 61, 85, "and exceeds it by one" },
		{ { 32, 0, ATM }, 40, 106, "a TCP ACK over PPPoE VC-mux: two cells" },
		{ { 8, 0, ATM }, 40, 53, "over IPoA VC-mux it fits into one" },
		{ { 8, 0, ATM }, 41, 106, "and a byte more does not" },
		{ { 32, 0, ATM }, 1492, 1696, "a full packet over PPPoE: 32 cells" },
		{ { -64, 0, ATM }, 60, 0, "nothing takes no cell" },
		{ { 0, 96, ATM }, 1, 106, "the mpu is filled up before cells are" },
		{ { 22, 0, PTM }, 1500, 1546, "a full packet over bridged PTM: 24 more" },
		{ { 0, 0, PTM }, 64, 65, "64 bytes are 65" },
		{ { 0, 0, PTM }, 65, 67, "65 are two parts" },
		{ { 256, 256, PLAIN }, UINT32_MAX, UINT32_MAX, "no overflow" },
		{ { 256, 256, ATM }, UINT32_MAX, UINT32_MAX, "nor of cells" },
		{ { 256, 256, PTM }, UINT32_MAX, UINT32_MAX, "nor of parts" },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 wire = framing_packet(&rows[i].f, rows[i].len);

		if (wire != rows[i].wire)
			fail_msg("%s: %u", rows[i].reason, wire);
	}
}

static void known_super_packets(void **state)
{
	static const struct {
		struct framing f;
		u32 len, full, segs, wire;
		const char *reason;
	} rows[] = {
		{ { 0, 0, PLAIN }, 1514, 0, 1, 1514, "one segment is a packet" },
		{ { 24, 0, PLAIN }, 45420, 1514, 30, 46140, "each has its overhead" },
		{ { 0, 256, PLAIN }, 45420, 151, 300, 76815,
		  "each is padded, but the last of 271 bytes" },
		{ { 0, 0, ATM }, 1514 + 1514 + 60, 1514, 3, 32 * 53 * 2 + 106,
		  "each begins a cell; the last is short" },
		{ { 0, 0, ATM }, 100, 90, 2, 106 + 53, "10 bytes are left" },
		{ { 0, 0, PLAIN }, 100, 101, 2, 100, "a length that cannot be" },
		{ { -64, 0, PLAIN }, 65535, 1, 65535, 0, "no underflow" },
		{ { 256, 256, ATM }, UINT32_MAX, 65536, 65535, UINT32_MAX,
		  "no overflow" },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 wire = framing_super_packet(&rows[i].f, rows[i].len,
						rows[i].full, rows[i].segs);

		if (wire != rows[i].wire)
			fail_msg("%s: %u", rows[i].reason, wire);
	}
}

/* every length of a packet on Ethernet, with every kind of link */
static void agrees_with_a_count_of_bytes(void **state)
{
	static const s32 overheads[] = { -64, -14, 0, 8, 48, 256 };
	static const u32 mpus[] = { 0, 64, 84, 256 };
	unsigned int i, k;
	u32 kind, len;

	(void)state;
	for (kind = 0; kind <= FQ_RR_FRAMING_MAX; kind++)
		for (i = 0; i < ARRAY_SIZE(overheads); i++)
			for (k = 0; k < ARRAY_SIZE(mpus); k++)
				for (len = 0; len < 1600; len++) {
					struct framing f = { overheads[i],
							     mpus[k], kind };

					assert_int_equal(framing_packet(&f, len),
							 naive_packet(&f, len));
				}
}

/* no segments are one; any numbers at once divide by nothing and overflow nowhere */
static void any_super_packet_has_a_length(void **state)
{
	static const u32 numbers[] = { 0, 1, 65535, 1U << 31, UINT32_MAX };
	struct framing f = { 0, 0, PLAIN };
	size_t i, k, l;

	(void)state;
	assert_int_equal(framing_super_packet(&f, 1514, 100, 0), 1514);
	assert_int_equal(framing_super_packet(&f, 1514, 100, 1), 1514);
	for (f.kind = 0; f.kind <= FQ_RR_FRAMING_MAX + 1; f.kind++)
		for (i = 0; i < ARRAY_SIZE(numbers); i++)
			for (k = 0; k < ARRAY_SIZE(numbers); k++)
				for (l = 0; l < ARRAY_SIZE(numbers); l++) {
					f.overhead_bytes = numbers[l];
					f.mpu_bytes = numbers[l];
					framing_super_packet(&f, numbers[i], 1514,
							     numbers[k]);
				}
	f = (struct framing){ 0, 0, FQ_RR_FRAMING_MAX + 1 };
	assert_int_equal(framing_packet(&f, 1514), 1514);
}

/* as it says, or as its bytes need */
static void segments_are_counted(void **state)
{
	static const struct {
		u32 told, bytes, segment_bytes, due;
	} rows[] = {
		{ 7, 5054, 500, 7 },
		{ 0, 5000, 500, 10 },
		{ 0, 5054, 500, 11 },
		{ 0, 54, 1448, 1 },
		{ 0, 0, 1448, 1 },
		{ 0, 40, 0, 40 },
		{ 0, 65535, 1, 65535 },
		{ 0, 524280, 1, 65535 },
		{ 0, UINT32_MAX, UINT32_MAX, 1 },
		{ 70000, 0, 0, 65535 },
	};
	unsigned int i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(framing_segments(rows[i].told, rows[i].bytes, rows[i].segment_bytes),
				 rows[i].due);
}

static void each_segment_has_its_headers(void **state)
{
	static const struct {
		u32 len, bytes, segment_bytes, segs, due;
		const char *reason;
	} rows[] = {
		/* 66 bytes of headers, 44 segments of 1448 */
		{ 44 * 1514, 66 + 44 * 1448, 1448, 44, 1514, "all as long" },
		{ 43 * 1514 + 166, 66 + 43 * 1448 + 100, 1448, 44, 1514, "a short one at the end" },
		{ 2 * 1514, 66 + 2 * 1448, 1448, 2, 1514, "two" },
		{ 2 * 1514, 66 + 2 * 1448, 1448, 1, 1514, "one counts as two" },
		{ 2 * 1514, 66 + 2 * 1448, 1448, 0, 1514, "none, too" },
		{ 1000, 1000, 1448, 44, 1448, "nobody counted the headers" },
		{ 999, 1000, 1448, 44, 1448, "nor here" },
		{ U32_MAX, 0, U32_MAX, 2, U32_MAX, "no wrap" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (framing_full_bytes(rows[i].len, rows[i].bytes, rows[i].segment_bytes,
				       rows[i].segs) != rows[i].due)
			fail_msg("%s", rows[i].reason);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_packets),
		cmocka_unit_test(known_super_packets),
		cmocka_unit_test(segments_are_counted),
		cmocka_unit_test(each_segment_has_its_headers),
		cmocka_unit_test(agrees_with_a_count_of_bytes),
		cmocka_unit_test(any_super_packet_has_a_length),
	};

	return cmocka_run_group_tests_name("framing", tests, NULL, NULL);
}
