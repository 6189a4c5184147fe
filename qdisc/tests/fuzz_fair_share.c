// SPDX-License-Identifier: GPL-2.0
/* fair_share.h against the same in wider numbers, for any arguments that may be */
#include <stdlib.h>

#include "fair_share.h"

struct input {
	u32 limit, memory_limit, packets, memory, weights, queue;
	u8 weight, percent;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in;
	unsigned __int128 fit;
	u32 buffer, weight;
	bool exceeded;

	if (size < sizeof(in))
		return 0;
	memcpy(&in, data, sizeof(in));
	weight = 1 + in.weight % 255;
	in.weights = weight + in.weights % (65535U * 255);
	in.percent = 1 + in.percent % 100;

	buffer = fair_share_buffer(in.limit, in.memory_limit, in.packets,
				   in.memory);
	fit = in.limit;
	if (in.memory)
		fit = (unsigned __int128)in.memory_limit * in.packets / in.memory;
	if (buffer != (fit < in.limit ? fit : in.limit))
		abort();
	exceeded = (unsigned __int128)in.queue * in.weights * 100 >
		   (unsigned __int128)in.percent * buffer * weight;
	/* who takes the larger part of either limit has the larger key */
	{
		u32 limit = 1 + in.limit % FAIR_SHARE_LIMIT_MAX;
		u32 memory_limit = 8 + in.memory_limit % (FAIR_SHARE_MEMORY_MAX - 7);
		u64 key = fair_share_key(limit, memory_limit, in.queue, in.memory);
		unsigned __int128 part = (unsigned __int128)in.queue * memory_limit;

		if (part < (unsigned __int128)in.memory * limit)
			part = (unsigned __int128)in.memory * limit;
		if (key != part / 8)
			abort();
		if (in.queue && !key)
			abort();
	}
	if (fair_share_exceeded(in.queue, weight, in.weights, buffer,
				in.percent) !=
	    (exceeded && in.queue > FAIR_SHARE_FREE_PACKETS))
		abort();
	return 0;
}
