// SPDX-License-Identifier: GPL-2.0
/*
 * cubic_window.h over the record of a connection of the kernel's tcp_cubic.
 *
 * Standard input has a line for each event, times in microseconds:
 *
 *	ack TIME ACKED RTT_MIN		an ACK that tcp_cubic took for growth
 *	loss TIME CWND			tcp_cubic was asked for a threshold
 *
 * For each loss a line is printed: the kernel's window before it and the header's.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cubic_window.h"

/* the stack's initial window, packets (RFC 6928) */
#define FIRST_WINDOW 10

int main(void)
{
	u32 window = FIRST_WINDOW, ssthresh = U32_MAX, count = 0, a, b;
	struct cubic_window c;
	char event[8];
	u64 time_us;
	int read;

	cubic_window_reset(&c);
	while ((read = scanf("%7s %" SCNu64 " %" SCNu32, event, &time_us, &a)) == 3) {
		if (event[0] == 'l') {
			printf("%" PRIu32 " %" PRIu32 "\n", a, window);
			ssthresh = cubic_window_ssthresh(&c, window);
			window = ssthresh;
			/* as tcp_init_cwnd_reduction() does */
			count = 0;
		} else if (scanf("%" SCNu32, &b) == 1) {
			const struct cubic_window_acked acked = { ssthresh, a, (u32)time_us, b };

			window = cubic_window_ack(&c, window, &count, &acked);
		}
	}
	return read != EOF;
}
