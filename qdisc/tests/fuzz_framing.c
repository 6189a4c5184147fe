// SPDX-License-Identifier: GPL-2.0
/* framing.h with any link and any super-packet, against a count of bytes. */
#include <stdio.h>
#include <stdlib.h>

#include "framing.h"
#include "naive_framing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct {
		u32 len, full;
		s32 overhead;
		u32 mpu, segs;
		u8 kind;
	} in;
	struct framing f;

	if (size < sizeof(in))
		return 0;
	memcpy(&in, data, sizeof(in));
	f.overhead_bytes = in.overhead;
	f.mpu_bytes = in.mpu;
	/* a kind that is none, too */
	f.kind = in.kind % (FQ_RR_FRAMING_MAX + 2);
	/* as it is, the sanitizers look on; cut short, it can be counted */
	framing_super_packet(&f, in.len, in.full, in.segs);
	f.overhead_bytes %= 257;
	f.mpu_bytes %= 257;
	in.len %= 70000;
	in.full %= 10000;
	in.segs %= 65;
	if (framing_super_packet(&f, in.len, in.full, in.segs) !=
	    naive_super_packet(&f, in.len, in.full, in.segs)) {
		fprintf(stderr, "framing: another length\n");
		abort();
	}
	return 0;
}
