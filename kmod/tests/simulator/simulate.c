// SPDX-License-Identifier: GPL-2.0
/*
 * simulate: TCP flows over a network in virtual time, with the real tcp_pktpair.c.
 *
 *	simulate [FILE]
 *
 * FILE, or the standard input, has a case on each line (case.h); blank lines and lines
 * that begin with # are none. Each becomes one line of JSON (report.h). All lines are read
 * before the first case runs: if one is wrong, it is named on the standard error with its
 * number, nothing runs, and the status is 2.
 */
#include "case.h"
#include "report.h"

struct simulate_lines {
	char **line;
	size_t count;
	size_t room;
};

static bool simulate_is_case(const char *line)
{
	line += strspn(line, " \t\r\n");
	return *line && *line != '#';
}

static void simulate_keep(struct simulate_lines *lines, char *line)
{
	if (lines->count == lines->room) {
		lines->room = lines->room ? lines->room * 2 : 64;
		lines->line = realloc(lines->line, lines->room * sizeof(*lines->line));
		if (!lines->line)
			abort();
	}
	lines->line[lines->count++] = line;
}

/* false: something is wrong, and has been said; NULL stands for what is no case */
static bool simulate_read(FILE *from, struct simulate_lines *lines, struct case_reader *r)
{
	size_t number = 0, room = 0;
	char *line = NULL;

	while (getline(&line, &room, from) >= 0) {
		number++;
		if (!simulate_is_case(line))
			continue;
		if (!case_read(r, line)) {
			fprintf(stderr, "simulate: line %zu: %s\n", number, r->message);
			free(line);
			return false;
		}
		simulate_keep(lines, line);
		line = NULL;
		room = 0;
	}
	free(line);
	return true;
}

static void simulate_train(const struct sock *sk, const struct pair_sample *sample,
			   const struct control_path *path)
{
	struct flow *f = container_of((struct sock *)sk, struct flow, sk);
	struct flow_figures *figures = &f->figures;

	if (sample->verdict != PAIR_SAMPLE)
		return;
	figures->trains = flow_kept(figures->trains, figures->trains_count,
				    &figures->trains_room, sizeof(*figures->trains));
	figures->trains[figures->trains_count++] = (struct flow_train) {
		.at_us = f->clock->now_ns / NSEC_PER_USEC,
		.gap_ns = sample->span_ns,
		.service_ns = path->service_q10 >> CONTROL_SERVICE_SHIFT,
		.segments = sample->segments,
		.rtt_us = path->rtt_us,
		.delivered = path->delivered,
	};
}

static void simulate_case(struct case_reader *r, const char *line)
{
	struct network *n = r->network;

	if (!case_read(r, line))
		abort();	/* it was good before */
	case_set_knobs(r, false);
	network_init(n);
	adapter_on_train = n->trains ? simulate_train : NULL;
	network_run(n);
	report_case(stdout, n);
	fflush(stdout);
	network_free(n);
	case_set_knobs(r, true);
}

int main(int argc, char **argv)
{
	static struct network n;
	struct case_reader reader = { .network = &n };
	struct simulate_lines lines = {};
	FILE *from = stdin;
	int status = 0;
	size_t i;

	if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
		fprintf(stderr, "usage: simulate [FILE]\n");
		return 2;
	}
	if (argc == 2)
		from = fopen(argv[1], "r");
	if (!from) {
		perror(argv[1]);
		return 2;
	}
	adapter_register();
	if (!simulate_read(from, &lines, &reader))
		status = 2;
	for (i = 0; i < lines.count; i++) {
		if (!status)
			simulate_case(&reader, lines.line[i]);
		free(lines.line[i]);
	}
	free(lines.line);
	if (from != stdin)
		fclose(from);
	return status;
}
