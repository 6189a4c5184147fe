// SPDX-License-Identifier: GPL-2.0
/*
 * Answers questions on tcp_vptfrc's formulas, for what judges the paper's by their definitions
 * (mininet-tests/lab/analyse/any_packet_size.py). A question is a line of standard input, its
 * answer a line of standard output:
 *
 *	rate LOSS RTT_US REFERENCE_BYTES RTTS		bytes per second at this loss event rate, with
 *							a timeout of so many round trips
 *	intervals METHOD MODE N BYTES LOSS COUNT	mean, variance of loss intervals, and the LIP, us
 *	defined METHOD MODE				1 if the method has this mode
 *	capped CAP LOSS PACKET_BYTES			bytes per second with a cap on packets, at 100 ms
 *	sends METHOD MODE REFERENCE_BYTES BYTES PACKETS_PS KIND LOSS BY_BYTES SECONDS
 *							bits per second of a paced sender without a stack,
 *							variation of them and of loss intervals
 *
 * METHOD, MODE and KIND are numbers of enum tfrc_method, enum tfrc_mode and enum paced_kind.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "loss_channel.h"
#include "paced_sender.h"
#include "tfrc.h"

/* the mean loss interval of a loss event rate */
static u64 mean_q16(double loss)
{
	return (u64)llround(65536 / loss);
}

static void capped(u32 cap, double loss, u32 packet_bytes)
{
	const struct tfrc_params m = { REFERENCE, TFRC_VIRTUAL, TFRC_PACKET_MODE, cap };
	const struct tfrc_path path = { RTT_US, 0, packet_bytes };
	struct tfrc t;

	tfrc_start(&t, 1, REFERENCE, RTT_US);
	tfrc_history_close(&t.history, mean_q16(loss), TFRC_HALF);
	printf("%llu\n", (unsigned long long)tfrc_friendly_bytes_ps(&t, &m, &path));
}

static bool answer(const char *line)
{
	unsigned int method, mode, bytes, count, number, packets_ps, kind, by_bytes;
	double n, loss;

	/* an answer does not depend on the questions before it */
	seed = 1;
	if (sscanf(line, "rate %lf %u %u %u", &loss, &number, &bytes, &count) == 4 && loss > 0 &&
	    bytes) {
		printf("%llu\n", (unsigned long long)tfrc_rate_bytes_ps(mean_q16(loss), bytes,
									number, count));
	} else if (sscanf(line, "intervals %u %u %lf %u %lf %u", &method, &mode, &n, &bytes, &loss,
			  &count) == 6 && n >= 1 && bytes && loss > 0 && loss <= 1 && count) {
		const struct channel c = { n, bytes, bytes, loss };
		struct measured it = measure(method, mode, &c, count);

		printf("%.17g %.17g %u\n", it.mean, it.variance, it.lip_us);
	} else if (sscanf(line, "defined %u %u", &method, &mode) == 2) {
		printf("%d\n", tfrc_is_defined(method, mode));
	} else if (sscanf(line, "capped %u %lf %u", &number, &loss, &bytes) == 3 && loss > 0) {
		capped(number, loss, bytes);
	} else if (sscanf(line, "sends %u %u %u %u %u %u %lf %u %u", &method, &mode, &number, &bytes,
			  &packets_ps, &kind, &loss, &by_bytes, &count) == 9 && number && bytes &&
		   method <= TFRC_LIP_SCALING && mode < TFRC_MODES &&
		   kind <= PACED_GILBERT && loss > 0 && loss <= 1 && count) {
		const struct tfrc_params m = { number, method, mode, 0 };
		const struct paced_flow flow = { bytes, packets_ps };
		const struct paced_link link = { kind, loss, by_bytes };
		struct paced_result it = paced_send(&m, &flow, &link, count);

		printf("%.17g %.17g %.17g\n", it.bit_s, it.rate_variation, it.interval_variation);
	} else {
		return false;
	}
	return true;
}

int main(void)
{
	char line[256];

	while (fgets(line, sizeof(line), stdin)) {
		if (!answer(line)) {
			line[strcspn(line, "\n")] = 0;
			fprintf(stderr, "ask_vptfrc: %s: no question that has an answer\n", line);
			return 2;
		}
	}
	return 0;
}
