/* SPDX-License-Identifier: GPL-2.0 */
/* What came of a case, as one line of JSON. Times are in us, but for done_s. */
#ifndef _SIMULATOR_REPORT_H
#define _SIMULATOR_REPORT_H

#include <stdio.h>

#include "network.h"

static inline void report_histogram(FILE *to, const char *name, const struct histogram *h)
{
	fprintf(to, "\"%s_p50_us\": %u, \"%s_p99_us\": %u, \"%s_max_us\": %u", name,
		histogram_permille(h, 500), name, histogram_permille(h, 990), name, h->largest);
}

static inline void report_number(FILE *to, const char *name, u64 value)
{
	fprintf(to, "\"%s\": %llu, ", name, (unsigned long long)value);
}

static inline void report_points(FILE *to, const struct flow_figures *figures)
{
	u64 i;

	fprintf(to, ", \"series\": [");
	for (i = 0; i < figures->points_count; i++)
		fprintf(to, "%s[%llu, %u, %u, %llu]", i ? ", " : "",
			(unsigned long long)figures->points[i].at_us, figures->points[i].rtt_us,
			figures->points[i].cwnd,
			(unsigned long long)figures->points[i].rate_bytes_ps);
	fprintf(to, "]");
}

static inline void report_trains(FILE *to, const struct flow_figures *figures)
{
	u64 i;

	fprintf(to, ", \"trains\": [");
	for (i = 0; i < figures->trains_count; i++) {
		const struct flow_train *train = &figures->trains[i];

		fprintf(to, "%s[%llu, %llu, %u, %u, %u, %llu]", i ? ", " : "",
			(unsigned long long)train->at_us, (unsigned long long)train->gap_ns,
			train->segments, train->rtt_us, train->delivered,
			(unsigned long long)train->service_ns);
	}
	fprintf(to, "]");
}

static inline void report_flow(FILE *to, const struct network *n, const struct flow *f)
{
	const struct flow_figures *figures = &f->figures;
	bool tcp = f->config.source == FLOW_TCP;
	u64 delivered = tcp ? f->una : figures->arrived;
	u64 measured = delivered - figures->delivered_from;

	fprintf(to, "{\"cc\": \"%s\", ", tcp ? f->config.algorithm->name :
		f->config.source == FLOW_CONSTANT ? "constant" : "poisson");
	report_number(to, "begun_us", f->begun_ns / NSEC_PER_USEC);
	report_number(to, "delivered", delivered);
	report_number(to, "goodput_bytes", measured * f->config.mss);
	report_number(to, "wire_bytes", measured * (f->config.mss + PACKET_HEADER_BYTES));
	report_number(to, "sent", figures->sent);
	report_number(to, "dropped", figures->dropped);
	report_number(to, "retransmits", figures->retransmits);
	report_number(to, "losses", figures->losses);
	report_number(to, "timeouts", figures->timeouts);
	report_number(to, "probes", figures->probes);
	report_number(to, "rounds", figures->rounds);
	report_number(to, "alarms", tcp ? adapter_alarms(&f->sk) : 0);
	report_number(to, "acks", figures->acks);
	report_number(to, "over_start", figures->over_start);
	report_number(to, "acks_later", figures->acks_later);
	report_number(to, "over_later", figures->over_later);
	if (figures->done_ns)
		fprintf(to, "\"done_s\": %.9f, ", (double)figures->done_ns / NSEC_PER_SEC);
	else
		fprintf(to, "\"done_s\": null, ");
	report_histogram(to, "rtt", &figures->rtt_us);
	fprintf(to, ", ");
	report_histogram(to, "queue", &figures->queue_us);
	if (n->series)
		report_points(to, figures);
	if (n->trains)
		report_trains(to, figures);
	fprintf(to, "}");
}

static inline void report_case(FILE *to, const struct network *n)
{
	u32 i;

	fprintf(to, "{\"name\": \"%s\", ", n->name);
	report_number(to, "seed", n->seed);
	fprintf(to, "\"seconds\": %.9f, \"capacity_bytes\": %.0f, \"flows\": [",
		(double)n->end_ns / NSEC_PER_SEC, n->capacity_bytes);
	for (i = 0; i < n->flows_count; i++) {
		fprintf(to, "%s", i ? ", " : "");
		report_flow(to, n, &n->flows[i]);
	}
	fprintf(to, "], \"servers\": [");
	for (i = 0; i < n->servers_count; i++) {
		const struct server *s = &n->servers[i];

		fprintf(to, "%s{", i ? ", " : "");
		report_number(to, "served_bytes", s->served_bytes);
		report_number(to, "dropped", s->drops);
		report_number(to, "longest_packets", s->longest_packets);
		report_histogram(to, "queue", &s->sojourn_us);
		fprintf(to, "}");
	}
	fprintf(to, "]}\n");
}

#endif /* _SIMULATOR_REPORT_H */
