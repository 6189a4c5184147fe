// SPDX-License-Identifier: GPL-2.0
/*
 * traffic - all traffic of one run of a network experiment, from one process
 *
 *	traffic PLAN OUT
 *
 * Every socket is opened in the network namespace of its host. When all are open and
 * connected, "ready" is written to standard output and one line is read from standard
 * input: the time at which the run begins (CLOCK_MONOTONIC, ns). All times below count
 * from there. After the run the results are written to the folder OUT, then "done" to
 * standard output; the exit status is 0. A fault in the plan, or a failed system call
 * without which the run means nothing, is one line on standard error and status 1.
 * A flow that fails does not end the run.
 *
 * The clock of the guest counts instructions, so what this program executes is part of
 * the experiment: each end of a flow is a thread in a blocking system call, payload is
 * not copied to user space, files are written after the run, and sinks are read after it or,
 * where a run has more packets than they hold, by small parts.
 *
 * Built with -DSPLIT=1 it has one machine's part of a run, the same plan being given to each
 * machine. Before "ready" it writes "listening", when all that others connect to is there, and
 * reads the line "connect". After the last of its own flows and sources it writes "sent", and
 * reads the line "stop", until which its sinks receive.
 *
 * PLAN: a line "KIND KEY=VALUE ..." for each item, words separated by one space. Empty
 * lines and lines that begin with # are ignored. Keys in brackets may be absent. Numbers
 * are decimal, and 0 unless another default is given.
 *
 * flow: one TCP connection
 *	name, from, to		from and to: namespace files of client and server
 *	from_address, to_address, port	port of the client; the server's is higher by 20000
 *	[part]			with SPLIT, also of a source: this machine has the client, the
 *				server, or none; default: both ends
 *	[start_ns]
 *	bytes			the client sends that many,
 *	  or seconds_ns		or sends until start_ns + seconds_ns, and one byte more,
 *	  or exchanges		or has the exchanges of this file: each line is
 *				"REQUEST_BYTES RESPONSE_BYTES THINK_NS", the last being
 *				the pause between a response and the next request
 *	[cc]			congestion control; default: that of the namespace
 *	[mss]			TCP_MAXSEG of the client; 0: not set
 *	[sndbuf] [rcvbuf]	of both ends; 0: not set
 *	[write]			bytes per system call; 0: 131072
 *	[write_gap_ns]		with exchanges: so much lies between the system calls of a message, but
 *				for what is late; 0: none
 *	[until_ns]		with exchanges: none begins at this time or later; 0: all are had
 *	[writes]		with bytes and write: file, a line for each write: how long after
 *				start_ns it is handed over, ns, whatever has been acknowledged; it is
 *				late where the socket has no room
 *	[unsent]		TCP_NOTSENT_LOWAT of the ends that send; 0: not set
 *	[packets_ps]		with seconds_ns: the client sends so many packets a second, each of
 *				what the rate that its congestion control tells (in BBR's slot)
 *				sends until the next, from 1 byte to write; 0: it fills the socket
 *	[write_least]		with seconds_ns: each write has a size that is drawn, from this to
 *				write, and is never joined with another; 0: each is write
 *	[draws]			of what is drawn; another flow of the same has others
 *	[connect]		before (default): connected before the run begins;
 *				start: connected at start_ns
 * source: UDP packets at given times, to port 9
 *	name, from, to, from_address, to_address, port
 *	[ports]			consecutive ports that take turns, 1 by default
 *	packet_bytes		of a packet with its IP and UDP headers
 *	[burst]			packets that are sent at once (UDP_SEGMENT), 1 by default
 *	times			file: little-endian u64, ns, one for each packet or burst
 * sample: read TCP_INFO of each open flow, and each queue
 *	every_ns
 * queue: the root queueing discipline of a device
 *	name, in		in: namespace file of the device's node
 * end: flows that are unfinished then have failed; required
 *	at_ns
 *	[with_flows]		1: sources stop when the last flow has ended
 *
 * OUT/flows: a JSON object for each flow, a line each, in the order of the plan: name,
 *	began_ns, ended_ns, bytes_acked, retransmits, data_packets_sent, mss_bytes,
 *	min_rtt_us, cc, error, and for a flow that has them exchanges, a list of
 *	[began_ns, ended_ns]. A flow begins when its first byte is written, or when it
 *	connects (connect=start). It ends when its last byte is acknowledged, by the
 *	kernel's own time stamp, or when its last response is complete. Figures are those
 *	of the client, but of the server where there are exchanges: of the end whose
 *	sending matters. bytes_acked is payload. What has not happened is null.
 * OUT/sources: likewise name, sent, not_sent, received, all in packets; not_sent are
 *	those that the socket did not take.
 * OUT/received: a struct received for each UDP packet that arrived, native byte order
 * OUT/samples: a struct sample for each flow and sample, native byte order
 * OUT/queues: a struct queue_sample for each queue and sample, native byte order
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/errqueue.h>
#include <linux/gen_stats.h>
#include <linux/inet_diag.h>
#include <linux/net_tstamp.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <linux/udp.h>

/* constant, and no #ifdef around code: what measures in virtual time executes not one instruction more */
#ifndef SPLIT
#define SPLIT 0
#endif
#define NSEC_PER_SEC 1000000000LL
#define USEC_PER_SEC 1000000
#define NSEC_PER_USEC 1000
#define SERVER_PORT_OFFSET 20000
#define SINK_PORT 9
/* the latest time in a plan: 11 days, far from any overflow */
#define MOST_NS 1000000000000000ULL
#define MOST_BYTES (1ULL << 50)
#define DEFAULT_WRITE_BYTES 131072
/* of a write, a read, or a socket's buffer */
#define MOST_BUFFER_BYTES (1UL << 30)
#define IPV4_UDP_HEADER_BYTES 28
#define IPV6_UDP_HEADER_BYTES 48
/* when it was sent (u64, CLOCK_REALTIME ns), and the source's index (u32) */
#define PAYLOAD_HEADER_BYTES 12
#define MOST_PAYLOAD_BYTES 65507
/* UDP_MAX_SEGMENTS of older kernels */
#define MOST_BURST 64
/* of a UDP socket; the kernel doubles it, and all sockets together hold a part of the memory */
#define UDP_BUFFER_BYTES (256 << 20)
/*
 * So many may be unread while more are sent: with 25,000 in each of three sinks a packet was
 * lost. One of more than 1,500 bytes counts as several, since it takes as much of the room.
 */
#define READ_EVERY_PACKETS 16384
#define COUNTED_BYTES 1500
/* what is under way at the end is awaited for 20 times 50 ms */
#define DRAIN_TRIES 20
#define DRAIN_PERIOD_NS (50 * 1000 * 1000)
/* messages per system call: twice what a burst brings */
#define BATCH (2 * MOST_BURST)
#define STACK_BYTES (256 << 10)
/* of a flow that sizes its packets: a tenth of what the guest's CPU carries */
#define MOST_PACKETS_PS 10000
#define MOST_FILES 65536
#define OFFSET_TRIES 16

typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static_assert(offsetof(struct sockaddr_in, sin_port) ==
	      offsetof(struct sockaddr_in6, sin6_port), "one port for both families");

/* what a flow and a source have in common */
struct ends {
	size_t line;	/* of the plan */
	char *who;	/* in messages */
	char *name, *from, *to, *from_address, *to_address, *part;
	u64 port;
	union address client, server;
};

struct exchange {
	u64 request_bytes, response_bytes, think_ns;
	s64 began_ns, ended_ns;
};

struct flow {
	struct ends ends;
	char *cc, *connect, *exchanges_file, *writes_file;
	u64 start_ns, bytes, seconds_ns, mss, sndbuf, rcvbuf, write, unsent, packets_ps,
	    write_least, draws, write_gap_ns, until_ns;
	struct exchange *exchanges;
	u64 *writes_ns;		/* of as many writes as the bytes are */
	size_t exchange_count;
	int listener, client, server;
	atomic_int measured;	/* the end that is sampled, -1 before it is connected */
	atomic_size_t exchanges_done;
	_Atomic s64 began_ns;	/* -1: not yet */
	/* run.lock protects what follows */
	bool finished;
	s64 ended_ns;
	char error[128], cc_in_force[16];
	struct tcp_info info;
};

struct source {
	struct ends ends;
	char *times_file;
	u64 ports, packet_bytes, burst;
	size_t payload_bytes;
	unsigned char *payload;	/* of a burst */
	int *senders;
	size_t turn;
	u64 sent, not_sent, received;
};

struct queue {
	char *name, *in;
	int socket;	/* of rtnetlink, in the namespace */
	int device;	/* its index there */
};

struct sink {
	const struct ends *ends;	/* of the first source that sends to it */
	int socket;
};

struct end {
	u64 at_ns, with_flows;
};

/* a packet or burst that is to be sent */
struct event {
	u64 time_ns;
	size_t source;
};

struct received {
	u32 source;		/* its index in the plan, from 0 */
	u32 reserved;
	s64 sent_ns;		/* when it was handed to the kernel */
	s64 delay_ns;		/* from then until the sink's host received it */
};

static_assert(sizeof(struct received) == 24, "no padding");

struct sample {
	u32 flow;		/* its index in the plan, from 0 */
	u32 cwnd;		/* packets */
	u64 time_ns;
	u64 bytes_acked;	/* payload */
	u64 pacing_rate;	/* bytes per second; all ones: not paced */
	u32 srtt_us;
	u32 min_rtt_us;
	u32 unacked;		/* packets */
	u32 retrans_total;	/* packets */
	u32 lost;		/* packets */
	u32 notsent_bytes;
	u32 delivered;		/* packets */
	u32 state;		/* tcpi_state: 1 is established */
};

static_assert(sizeof(struct sample) == 64, "no padding");

struct queue_sample {
	u32 queue;		/* its index in the plan, from 0 */
	u32 packets;		/* that wait, those of inner queues included */
	u64 time_ns;
	u32 bytes;		/* of these packets, as the queue counts them */
	u32 drops;		/* packets, since the queue was made */
};

static_assert(sizeof(struct queue_sample) == 24, "no padding");

/* RTM_GETQDISC of a device's root, and the answer */
struct queue_request {
	struct nlmsghdr head;
	struct tcmsg about;
};

#define ANSWER_BYTES 16384

enum { OUT_FLOWS, OUT_SOURCES, OUT_RECEIVED, OUT_SAMPLES, OUT_QUEUES, OUT_COUNT };
static const char *const out_names[] = { "flows", "sources", "received", "samples", "queues" };

static struct {
	struct flow *flows;
	struct source *sources;
	struct sink *sinks;
	struct event *events;
	struct received *received;
	struct sample *samples;
	struct queue *queues;
	struct queue_sample *queue_samples;
	size_t queue_count, queue_sample_count;
	size_t flow_count, source_count, sink_count, event_count, received_count, sample_count;
	u64 sample_every_ns;
	struct end end;
	void *zeros;		/* what flows send, and where they receive, unwritten */
	s64 begin_ns;		/* of CLOCK_MONOTONIC */
	s64 real_offset_ns;	/* from CLOCK_MONOTONIC to CLOCK_REALTIME */
	FILE *out[OUT_COUNT];
	pthread_mutex_t lock;	/* protects what follows, and samples */
	pthread_cond_t all_finished;
	size_t unfinished;	/* flows, and 1 for all sources unless they end with the flows */
	atomic_bool over;
} run = { .lock = PTHREAD_MUTEX_INITIALIZER };

__attribute__((format(printf, 1, 2), noreturn))
static void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("traffic: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	exit(1);
}

#define plan_fault(line, format, ...) die("plan line %zu: " format, line, ##__VA_ARGS__)

/* For system calls: passes on what they return */
static int must(int result, const char *who, const char *what)
{
	if (result < 0)
		die("%s: %s: %m", who, what);
	return result;
}

/*
 * Room for one more item, which is zero. An array has room for a power of two of items:
 * it has to grow when its count is one.
 */
static void *grow(void *items, size_t count, size_t size)
{
	size_t room = count ? 2 * count : 1;

	if (count & (count - 1))
		return items;
	items = reallocarray(items, room, size);
	if (!items)
		die("out of memory");
	memset((char *)items + count * size, 0, (room - count) * size);
	return items;
}

static s64 timespec_ns(const struct timespec *time)
{
	return time->tv_sec * NSEC_PER_SEC + time->tv_nsec;
}

static s64 clock_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return timespec_ns(&time);
}

/* Of several readings, that with the least time between the clocks: none was interrupted */
static s64 real_offset_ns(void)
{
	s64 least = INT64_MAX, offset = 0;
	int i;

	for (i = 0; i < OFFSET_TRIES; i++) {
		s64 before = clock_ns(CLOCK_MONOTONIC);
		s64 real = clock_ns(CLOCK_REALTIME);
		s64 took = clock_ns(CLOCK_MONOTONIC) - before;

		if (took < least) {
			least = took;
			offset = real - before - took / 2;
		}
	}
	return offset;
}

/* From here on a time counts from the beginning of the run */
static s64 now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC) - run.begin_ns;
}

static struct timespec monotonic(s64 ns)
{
	return (struct timespec){ (run.begin_ns + ns) / NSEC_PER_SEC,
				  (run.begin_ns + ns) % NSEC_PER_SEC };
}

static void sleep_until(s64 ns)
{
	struct timespec until = monotonic(ns);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* Whether an end is on this machine */
static bool has_client(const struct ends *ends)
{
	return !SPLIT || !ends->part || !strcmp(ends->part, "client");
}

static bool has_server(const struct ends *ends)
{
	return !SPLIT || !ends->part || !strcmp(ends->part, "server");
}

/* The plan */

struct key {
	const char *name;
	size_t offset;
	bool required;
	u64 least, most;	/* of a number; most is 0 for a text */
};

#define TEXT(key, type, member, required) { key, offsetof(type, member), required, 0, 0 }
#define NUMBER(key, type, member, required, least, most) \
	{ key, offsetof(type, member), required, least, most }
#if SPLIT
#define PART(type) TEXT("part", type, ends.part, false),
#else
#define PART(type)
#endif
#define ENDS(type)						\
	PART(type)						\
	TEXT("name", type, ends.name, true),			\
	TEXT("from", type, ends.from, true),			\
	TEXT("to", type, ends.to, true),			\
	TEXT("from_address", type, ends.from_address, true),	\
	TEXT("to_address", type, ends.to_address, true),	\
	NUMBER("port", type, ends.port, true, 1, UINT16_MAX)

static const struct key flow_keys[] = {
	ENDS(struct flow),
	NUMBER("start_ns", struct flow, start_ns, false, 0, MOST_NS),
	NUMBER("bytes", struct flow, bytes, false, 0, MOST_BYTES),
	NUMBER("seconds_ns", struct flow, seconds_ns, false, 0, MOST_NS),
	TEXT("exchanges", struct flow, exchanges_file, false),
	TEXT("writes", struct flow, writes_file, false),
	TEXT("cc", struct flow, cc, false),
	NUMBER("mss", struct flow, mss, false, 0, INT16_MAX),
	NUMBER("sndbuf", struct flow, sndbuf, false, 0, MOST_BUFFER_BYTES),
	NUMBER("rcvbuf", struct flow, rcvbuf, false, 0, MOST_BUFFER_BYTES),
	NUMBER("write", struct flow, write, false, 0, MOST_BUFFER_BYTES),
	NUMBER("write_gap_ns", struct flow, write_gap_ns, false, 0, MOST_NS),
	NUMBER("until_ns", struct flow, until_ns, false, 0, MOST_NS),
	NUMBER("unsent", struct flow, unsent, false, 0, MOST_BUFFER_BYTES),
	NUMBER("packets_ps", struct flow, packets_ps, false, 0, MOST_PACKETS_PS),
	NUMBER("write_least", struct flow, write_least, false, 0, MOST_BUFFER_BYTES),
	NUMBER("draws", struct flow, draws, false, 0, UINT32_MAX),
	TEXT("connect", struct flow, connect, false),
	{ .name = NULL },
};

static const struct key source_keys[] = {
	ENDS(struct source),
	NUMBER("ports", struct source, ports, false, 1, UINT16_MAX),
	NUMBER("packet_bytes", struct source, packet_bytes, true, 1, UINT16_MAX),
	NUMBER("burst", struct source, burst, false, 1, MOST_BURST),
	TEXT("times", struct source, times_file, true),
	{ .name = NULL },
};

static const struct key queue_keys[] = {
	TEXT("name", struct queue, name, true),
	TEXT("in", struct queue, in, true),
	{ .name = NULL },
};

static const struct key sample_keys[] = { { "every_ns", 0, true, 1, MOST_NS }, { .name = NULL } };
static const struct key end_keys[] = {
	NUMBER("at_ns", struct end, at_ns, true, 1, MOST_NS),
	NUMBER("with_flows", struct end, with_flows, false, 0, 1),
	{ .name = NULL },
};


static void parse_number(size_t line, const struct key *key, const char *text, u64 *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno ||
	    *number < key->least || *number > key->most)
		plan_fault(line, "%s=%s is not a number from %" PRIu64 " to %" PRIu64,
			   key->name, text, key->least, key->most);
}

/* KEY=VALUE ..., into the members of an item */
static void parse_keys(size_t line, const struct key *keys, char *words, void *item)
{
	const struct key *key;
	u64 seen = 0;
	char *word;

	while ((word = strsep(&words, " "))) {
		char *value = strchr(word, '=');

		if (!value)
			plan_fault(line, "\"%s\" is not KEY=VALUE", word);
		*value++ = '\0';
		for (key = keys; key->name && strcmp(key->name, word); key++)
			;
		if (!key->name)
			plan_fault(line, "unknown key %s", word);
		if (seen & 1ULL << (key - keys))
			plan_fault(line, "a second %s", word);
		seen |= 1ULL << (key - keys);
		if (key->most)
			parse_number(line, key, value, item + key->offset);
		else
			*(char **)(item + key->offset) = strdup(value);
	}
	for (key = keys; key->name; key++)
		if (key->required && !(seen & 1ULL << (key - keys)))
			plan_fault(line, "missing key %s", key->name);
}

static union address parse_address(size_t line, const char *text)
{
	union address address = { .any.sa_family = AF_INET };

	if (inet_pton(AF_INET, text, &address.v4.sin_addr) == 1)
		return address;
	address.any.sa_family = AF_INET6;
	if (inet_pton(AF_INET6, text, &address.v6.sin6_addr) != 1)
		plan_fault(line, "%s is not an address", text);
	return address;
}

static void parse_ends(size_t line, const char *kind, u64 last_port, struct ends *ends)
{
	ends->line = line;
	/* it is printed as JSON, without escapes */
	if (!*ends->name || strpbrk(ends->name, "\"\\\t\r"))
		plan_fault(line, "name=%s has characters that a name must not have", ends->name);
	if (asprintf(&ends->who, "%s %s", kind, ends->name) < 0)
		die("out of memory");
	ends->client = parse_address(line, ends->from_address);
	ends->server = parse_address(line, ends->to_address);
	if (ends->client.any.sa_family != ends->server.any.sa_family)
		plan_fault(line, "addresses of two families");
	if (SPLIT && ends->part && strcmp(ends->part, "client") &&
	    strcmp(ends->part, "server") && strcmp(ends->part, "none"))
		plan_fault(line, "part=%s is neither client nor server nor none", ends->part);
	if (last_port > UINT16_MAX)
		plan_fault(line, "port=%" PRIu64 " is too high", ends->port);
}

static void parse_exchanges(struct flow *flow)
{
	FILE *file = fopen(flow->exchanges_file, "re");
	struct exchange *next;
	char *text = NULL;
	size_t room = 0;
	char more;

	if (!file)
		plan_fault(flow->ends.line, "%s: %m", flow->exchanges_file);
	while (getline(&text, &room, file) > 0) {
		flow->exchanges = grow(flow->exchanges, flow->exchange_count, sizeof(*next));
		next = &flow->exchanges[flow->exchange_count++];
		if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %c", &next->request_bytes,
			   &next->response_bytes, &next->think_ns, &more) != 3 ||
		    !next->request_bytes || next->request_bytes > MOST_BYTES ||
		    !next->response_bytes || next->response_bytes > MOST_BYTES ||
		    next->think_ns > MOST_NS)
			plan_fault(flow->ends.line, "%s line %zu is not an exchange",
				   flow->exchanges_file, flow->exchange_count);
	}
	if (!flow->exchange_count)
		plan_fault(flow->ends.line, "%s is empty", flow->exchanges_file);
	free(text);
	fclose(file);
}

/* A write at a time for all bytes, none before the one that it follows */
static void parse_writes(struct flow *flow)
{
	u64 wanted = (flow->bytes + flow->write - 1) / flow->write, last_ns = 0;
	FILE *file = fopen(flow->writes_file, "re");
	size_t line = flow->ends.line, count = 0;
	char *text = NULL, *end;
	size_t room = 0;

	if (!file)
		plan_fault(line, "%s: %m", flow->writes_file);
	while (getline(&text, &room, file) > 0) {
		u64 at_ns = strtoull(text, &end, 10);

		if (*text < '0' || *text > '9' || *end != '\n' || at_ns > MOST_NS || at_ns < last_ns)
			plan_fault(line, "%s line %zu is not a time, or before the last one",
				   flow->writes_file, count + 1);
		flow->writes_ns = grow(flow->writes_ns, count, sizeof(*flow->writes_ns));
		flow->writes_ns[count++] = last_ns = at_ns;
	}
	if (count != wanted)
		plan_fault(line, "%s has %zu times for %" PRIu64 " writes", flow->writes_file,
			   count, wanted);
	free(text);
	fclose(file);
}

static void parse_flow(size_t line, char *words)
{
	struct flow *flow;

	run.flows = grow(run.flows, run.flow_count, sizeof(*flow));
	flow = &run.flows[run.flow_count++];
	flow->client = -1;
	flow->measured = -1;
	flow->began_ns = -1;
	flow->ended_ns = -1;
	parse_keys(line, flow_keys, words, flow);
	parse_ends(line, "flow", flow->ends.port + SERVER_PORT_OFFSET, &flow->ends);
	if (!!flow->bytes + !!flow->seconds_ns + !!flow->exchanges_file != 1)
		plan_fault(line, "one of bytes, seconds_ns and exchanges is expected");
	if (flow->write_least && (!flow->seconds_ns || flow->packets_ps))
		plan_fault(line, "write_least=%" PRIu64 " without seconds_ns, or with packets_ps",
			   flow->write_least);
	if (flow->write_least > flow->write)
		plan_fault(line, "write_least=%" PRIu64 " above write=%" PRIu64, flow->write_least,
			   flow->write);
	if (flow->packets_ps && !flow->seconds_ns)
		plan_fault(line, "packets_ps=%" PRIu64 " without seconds_ns", flow->packets_ps);
	if ((flow->write_gap_ns || flow->until_ns) && !flow->exchanges_file)
		plan_fault(line, "write_gap_ns and until_ns are of exchanges");
	if (flow->writes_file && (!flow->bytes || !flow->write))
		plan_fault(line, "writes are of bytes, and need write");
	if (flow->connect && strcmp(flow->connect, "before") && strcmp(flow->connect, "start"))
		plan_fault(line, "connect=%s is neither before nor start", flow->connect);
	if (!flow->write)
		flow->write = DEFAULT_WRITE_BYTES;
	if (flow->exchanges_file)
		parse_exchanges(flow);
	if (flow->writes_file)
		parse_writes(flow);
}

static void parse_source(size_t line, char *words)
{
	struct source *source;
	size_t headers;

	run.sources = grow(run.sources, run.source_count, sizeof(*source));
	source = &run.sources[run.source_count++];
	source->ports = 1;
	source->burst = 1;
	parse_keys(line, source_keys, words, source);
	parse_ends(line, "source", source->ends.port + source->ports - 1, &source->ends);
	headers = source->ends.client.any.sa_family == AF_INET ?
		  IPV4_UDP_HEADER_BYTES : IPV6_UDP_HEADER_BYTES;
	if (source->packet_bytes < headers + PAYLOAD_HEADER_BYTES)
		plan_fault(line, "packet_bytes=%" PRIu64 " is less than %zu",
			   source->packet_bytes, headers + PAYLOAD_HEADER_BYTES);
	source->payload_bytes = source->packet_bytes - headers;
	if (source->payload_bytes * source->burst > MOST_PAYLOAD_BYTES)
		plan_fault(line, "a burst has more than %d bytes", MOST_PAYLOAD_BYTES);
}

static void parse_queue(size_t line, char *words)
{
	struct queue *queue;

	run.queues = grow(run.queues, run.queue_count, sizeof(*queue));
	queue = &run.queues[run.queue_count++];
	parse_keys(line, queue_keys, words, queue);
	if (strlen(queue->name) >= IF_NAMESIZE)
		plan_fault(line, "name=%s is too long for a device", queue->name);
}

static void parse_line(size_t line, char *words)
{
	char *kind = strsep(&words, " ");
	bool sample = !strcmp(kind, "sample");
	u64 *number = sample ? &run.sample_every_ns : &run.end.at_ns;

	if (!strcmp(kind, "flow"))
		parse_flow(line, words);
	else if (!strcmp(kind, "source"))
		parse_source(line, words);
	else if (!strcmp(kind, "queue"))
		parse_queue(line, words);
	else if (!sample && strcmp(kind, "end"))
		plan_fault(line, "unknown kind %s", kind);
	else if (*number)
		plan_fault(line, "a second %s", kind);
	else
		parse_keys(line, sample ? sample_keys : end_keys, words, number);
}

static void parse_plan(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t line = 0, room = 0;

	if (!file)
		die("%s: %m", path);
	while (getline(&text, &room, file) > 0) {
		line++;
		text[strcspn(text, "\n")] = '\0';
		if (*text && *text != '#')
			parse_line(line, text);
	}
	free(text);
	fclose(file);
	if (!run.end.at_ns)
		die("plan: no end");
}

/* Before the run */

static int set_option(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}

static socklen_t prepare(union address *address, u64 port)
{
	address->v4.sin_port = htons(port);
	return address->any.sa_family == AF_INET ? sizeof(address->v4) : sizeof(address->v6);
}

static int bind_to(int fd, union address address, u64 port)
{
	socklen_t length = prepare(&address, port);

	return bind(fd, &address.any, length);
}

static int connect_to(int fd, union address address, u64 port)
{
	socklen_t length = prepare(&address, port);

	return connect(fd, &address.any, length);
}

/* A socket stays in the namespace in which it was opened */
static int open_in(const char *path, const char *who, int family, int type, int protocol)
{
	int own = must(open("/proc/thread-self/ns/net", O_RDONLY), who, "own namespace");
	int there = must(open(path, O_RDONLY), who, path);
	int fd;

	must(setns(there, CLONE_NEWNET), who, path);
	fd = must(socket(family, type, protocol), who, "socket");
	must(setns(own, CLONE_NEWNET), who, "own namespace");
	close(there);
	close(own);
	return fd;
}

static int socket_in(const char *path, const struct ends *ends, int type)
{
	return open_in(path, ends->who, ends->client.any.sa_family, type, 0);
}

/* Of a client or a listener, from which the server inherits them */
static void set_flow_options(const struct flow *flow, int fd)
{
	/* the process ends with a reset: no TIME_WAIT is left to the next run */
	const struct linger abort = { .l_onoff = 1 };
	const char *who = flow->ends.who;

	must(setsockopt(fd, SOL_SOCKET, SO_LINGER, &abort, sizeof(abort)), who, "SO_LINGER");
	must(set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1), who, "SO_REUSEADDR");
	if (flow->sndbuf)
		must(set_option(fd, SOL_SOCKET, SO_SNDBUF, flow->sndbuf), who, "sndbuf");
	if (flow->rcvbuf)
		must(set_option(fd, SOL_SOCKET, SO_RCVBUF, flow->rcvbuf), who, "rcvbuf");
	if (flow->unsent)
		must(set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, flow->unsent), who, "unsent");
	if (flow->cc && *flow->cc && (fd == flow->client || flow->exchanges))
		must(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, flow->cc, strlen(flow->cc)),
		     who, flow->cc);
}

static int connect_client(struct flow *flow)
{
	/* which write is to be stamped, the write itself says */
	if (connect_to(flow->client, flow->ends.server, flow->ends.port + SERVER_PORT_OFFSET) ||
	    set_option(flow->client, SOL_SOCKET, SO_TIMESTAMPING, SOF_TIMESTAMPING_SOFTWARE |
		       SOF_TIMESTAMPING_OPT_TSONLY | SOF_TIMESTAMPING_OPT_ID))
		return -1;
	if (!flow->exchanges)
		flow->measured = flow->client;
	return 0;
}

static int accept_server(struct flow *flow)
{
	flow->server = accept(flow->listener, NULL, NULL);
	if (flow->server >= 0 && flow->exchanges)
		flow->measured = flow->server;
	return flow->server < 0 ? -1 : 0;
}

static bool connects_at_start(const struct flow *flow)
{
	return flow->connect && !strcmp(flow->connect, "start");
}

static void open_listener(struct flow *flow)
{
	const struct ends *ends = &flow->ends;

	flow->listener = socket_in(ends->to, ends, SOCK_STREAM);
	set_flow_options(flow, flow->listener);
	must(bind_to(flow->listener, ends->server, ends->port + SERVER_PORT_OFFSET),
	     ends->who, "bind server");
	must(listen(flow->listener, 1), ends->who, "listen");
}

static void open_client(struct flow *flow)
{
	const struct ends *ends = &flow->ends;

	flow->client = socket_in(ends->from, ends, SOCK_STREAM);
	set_flow_options(flow, flow->client);
	if (flow->mss)
		must(set_option(flow->client, IPPROTO_TCP, TCP_MAXSEG, flow->mss),
		     ends->who, "mss");
	must(bind_to(flow->client, ends->client, ends->port), ends->who, "bind client");
	/* no page fault when it is sent: all of it is the kernel's page of zeros */
	must(madvise(run.zeros, flow->write, MADV_POPULATE_READ), ends->who, "madvise");
}

static void join_flow(struct flow *flow)
{
	const struct ends *ends = &flow->ends;

	if (connects_at_start(flow))
		return;
	if (has_client(ends))
		must(connect_client(flow), ends->who, "connect");
	if (has_server(ends))
		must(accept_server(flow), ends->who, "accept");
}

static void open_flow(struct flow *flow)
{
	if (has_server(&flow->ends))
		open_listener(flow);
	if (has_client(&flow->ends))
		open_client(flow);
	/* the other end may be on another machine, which has no listener yet */
	if (!SPLIT)
		join_flow(flow);
}

/* All sources with the same namespace and address have one sink */
static void open_sink(const struct ends *ends)
{
	size_t i;
	int fd;

	for (i = 0; i < run.sink_count; i++)
		if (!strcmp(run.sinks[i].ends->to, ends->to) &&
		    !strcmp(run.sinks[i].ends->to_address, ends->to_address))
			return;
	fd = socket_in(ends->to, ends, SOCK_DGRAM);
	must(set_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1), ends->who, "SO_TIMESTAMPNS");
	must(set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, UDP_BUFFER_BYTES), ends->who,
	     "SO_RCVBUFFORCE");
	must(bind_to(fd, ends->server, SINK_PORT), ends->who, "bind sink");
	run.sinks = grow(run.sinks, run.sink_count, sizeof(*run.sinks));
	run.sinks[run.sink_count++] = (struct sink){ ends, fd };
}

static int open_sender(const struct source *source, u64 port)
{
	const struct ends *ends = &source->ends;
	int fd = socket_in(ends->from, ends, SOCK_DGRAM | SOCK_NONBLOCK);

	must(set_option(fd, SOL_SOCKET, SO_SNDBUFFORCE, UDP_BUFFER_BYTES), ends->who,
	     "SO_SNDBUFFORCE");
	if (source->burst > 1)
		must(set_option(fd, IPPROTO_UDP, UDP_SEGMENT, source->payload_bytes),
		     ends->who, "UDP_SEGMENT");
	must(bind_to(fd, ends->client, port), ends->who, "bind");
	must(connect_to(fd, ends->server, SINK_PORT), ends->who, "connect");
	return fd;
}

static void read_times(const struct source *source)
{
	FILE *file = fopen(source->times_file, "re");
	u64 time_ns;
	size_t got;

	if (!file)
		plan_fault(source->ends.line, "%s: %m", source->times_file);
	while ((got = fread(&time_ns, 1, sizeof(time_ns), file)) == sizeof(time_ns)) {
		time_ns = le64toh(time_ns);
		if (time_ns >= run.end.at_ns)
			plan_fault(source->ends.line, "%s: %" PRIu64 " is not before the end",
				   source->times_file, time_ns);
		run.events = grow(run.events, run.event_count, sizeof(*run.events));
		run.events[run.event_count++] = (struct event){ time_ns, source - run.sources };
	}
	if (got || ferror(file))
		plan_fault(source->ends.line, "%s is not a list of times", source->times_file);
	fclose(file);
}

static void open_source(struct source *source)
{
	u32 index = source - run.sources;
	size_t i;

	if (has_client(&source->ends))
		read_times(source);
	if (has_server(&source->ends))
		open_sink(&source->ends);
	if (!has_client(&source->ends))
		return;
	source->senders = calloc(source->ports, sizeof(*source->senders));
	source->payload = calloc(source->burst, source->payload_bytes);
	if (!source->senders || !source->payload)
		die("out of memory");
	for (i = 0; i < source->ports; i++)
		source->senders[i] = open_sender(source, source->ends.port + i);
	for (i = 0; i < source->burst; i++)
		memcpy(source->payload + i * source->payload_bytes + sizeof(u64),
		       &index, sizeof(index));
}

static void open_queue(struct queue *queue)
{
	struct ifreq device = { 0 };

	queue->socket = open_in(queue->in, queue->name, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	strcpy(device.ifr_name, queue->name);
	must(ioctl(queue->socket, SIOCGIFINDEX, &device), queue->name, "SIOCGIFINDEX");
	queue->device = device.ifr_ifindex;
}

static int compare_events(const void *left, const void *right)
{
	const struct event *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->source > b->source) - (a->source < b->source);
}

static void open_all(const char *folder)
{
	char *path;
	size_t i;

	run.zeros = mmap(NULL, MOST_BUFFER_BYTES, PROT_READ,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (run.zeros == MAP_FAILED)
		die("mmap: %m");
	for (i = 0; i < run.flow_count; i++)
		open_flow(&run.flows[i]);
	for (i = 0; i < run.source_count; i++)
		open_source(&run.sources[i]);
	for (i = 0; i < run.queue_count; i++)
		open_queue(&run.queues[i]);
	if (run.event_count)
		qsort(run.events, run.event_count, sizeof(*run.events), compare_events);
	for (i = 0; i < OUT_COUNT; i++) {
		if (asprintf(&path, "%s/%s", folder, out_names[i]) < 0)
			die("out of memory");
		run.out[i] = fopen(path, "we");
		if (!run.out[i])
			die("%s: %m", path);
		free(path);
	}
}

/* Flows */

/* Called with run.lock held */
static void one_finished(void)
{
	if (!--run.unfinished)
		pthread_cond_signal(&run.all_finished);
}

/* The first result of a flow counts: its end, or a call that failed in either thread */
static void flow_finish(struct flow *flow, s64 ended_ns, const char *failed)
{
	int error = errno;

	pthread_mutex_lock(&run.lock);
	if (!flow->finished && !run.over) {
		flow->finished = true;
		flow->ended_ns = ended_ns;
		errno = error;
		if (failed)
			snprintf(flow->error, sizeof(flow->error), "%s: %m", failed);
		if (has_client(&flow->ends))
			one_finished();
	}
	pthread_mutex_unlock(&run.lock);
}

static int flow_fail(struct flow *flow, const char *failed)
{
	flow_finish(flow, -1, failed);
	return -1;
}

/* One write; if it is the last, the kernel notes when its last byte is acknowledged */
static ssize_t send_zeros(int fd, size_t bytes, bool last)
{
	union {
		char bytes[CMSG_SPACE(sizeof(u32))];
		struct cmsghdr header;
	} control = { .header = { CMSG_LEN(sizeof(u32)), SOL_SOCKET, SO_TIMESTAMPING } };
	struct iovec part = { run.zeros, bytes };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	const u32 flags = SOF_TIMESTAMPING_TX_ACK;

	if (last) {
		memcpy(CMSG_DATA(&control.header), &flags, sizeof(flags));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL);
}

static int flow_send(struct flow *flow, int fd, u64 bytes, bool stamp)
{
	while (bytes) {
		size_t part = bytes < flow->write ? bytes : flow->write;
		ssize_t sent = send_zeros(fd, part, stamp && part == bytes);

		if (sent < 0)
			return flow_fail(flow, "send");
		bytes -= sent;
	}
	return 0;
}

/* All bytes, a write at each time: a source that goes on whatever has been acknowledged */
static int flow_send_at_times(struct flow *flow)
{
	const u64 *after_ns = flow->writes_ns;
	u64 bytes = flow->bytes;

	while (bytes) {
		size_t part = bytes < flow->write ? bytes : flow->write;

		sleep_until(flow->start_ns + *after_ns++);
		if (flow_send(flow, flow->client, part, part == bytes))
			return -1;
		bytes -= part;
	}
	return 0;
}

/* A request or a response: at once, or as a source that makes a write of it at a time */
static int flow_send_message(struct flow *flow, int fd, u64 bytes)
{
	s64 due_ns;

	if (!flow->write_gap_ns)
		return flow_send(flow, fd, bytes, false);
	for (due_ns = now_ns(); bytes; due_ns += flow->write_gap_ns) {
		size_t part = bytes < flow->write ? bytes : flow->write;

		sleep_until(due_ns);
		if (flow_send(flow, fd, part, false))
			return -1;
		bytes -= part;
	}
	return 0;
}

/* MSG_TRUNC: the kernel discards what it receives instead of copying it */
static int flow_receive(struct flow *flow, int fd, u64 bytes)
{
	while (bytes) {
		size_t part = bytes < MOST_BUFFER_BYTES ? bytes : MOST_BUFFER_BYTES;
		ssize_t got = recv(fd, run.zeros, part, MSG_WAITALL | MSG_TRUNC);

		if (!got)
			errno = EPIPE;
		if (got <= 0)
			return flow_fail(flow, "recv");
		bytes -= got;
	}
	return 0;
}

static void set_send_timeout(int fd, s64 ns)
{
	struct timeval timeout = { ns / NSEC_PER_SEC, ns % NSEC_PER_SEC / NSEC_PER_USEC };

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
}

/* A size from write_least to write, each as likely: a congruential generator's upper half */
static size_t drawn_bytes(const struct flow *flow, u64 *random)
{
	*random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
	return flow->write_least +
	       ((*random >> 32) * (flow->write - flow->write_least + 1) >> 32);
}

/*
 * Write until a time. A write that still blocks then is given up: it could take
 * seconds. One byte more carries the request for the time stamp.
 */
static int flow_send_until(struct flow *flow, s64 until_ns, u64 *bytes)
{
	u64 random = flow->draws << 32 | flow->ends.port;
	s64 left_ns;

	if (flow->write_least)
		set_option(flow->client, IPPROTO_TCP, TCP_NODELAY, 1);
	while ((left_ns = until_ns - now_ns()) > 0) {
		ssize_t sent;

		/* 0 would be for ever */
		set_send_timeout(flow->client, left_ns + NSEC_PER_USEC);
		if (flow->write_least)
			sent = send(flow->client, run.zeros, drawn_bytes(flow, &random),
				    MSG_NOSIGNAL | MSG_EOR);
		else
			sent = send_zeros(flow->client, flow->write, false);
		if (sent < 0 && errno != EAGAIN)
			return flow_fail(flow, "send");
		if (sent > 0)
			*bytes += sent;
	}
	set_send_timeout(flow->client, 0);
	++*bytes;
	return flow_send(flow, flow->client, 1, true);
}

/* What the congestion control allows; 0 if it does not tell, with errno */
static u64 allowed_bytes_ps(int fd)
{
	struct tcp_bbr_info info = { 0 };
	socklen_t length = sizeof(info);

	errno = EOPNOTSUPP;
	if (getsockopt(fd, IPPROTO_TCP, TCP_CC_INFO, &info, &length) || length < sizeof(info))
		return 0;
	return (u64)info.bbr_bw_hi << 32 | info.bbr_bw_lo;
}

/*
 * Packets at a fixed rate until a time, each as large as the allowed rate makes it. Who
 * has more than that still unsent skips its turn, as a codec drops a frame: it would only
 * come late. MSG_EOR: two writes are never one packet.
 */
static int flow_send_packets_until(struct flow *flow, s64 until_ns, u64 *bytes)
{
	s64 gap_ns = NSEC_PER_SEC / flow->packets_ps, due_ns;

	set_option(flow->client, IPPROTO_TCP, TCP_NODELAY, 1);
	for (due_ns = flow->began_ns; due_ns < until_ns; due_ns += gap_ns) {
		u64 rate, size;
		ssize_t sent;
		int unsent;

		sleep_until(due_ns);
		rate = allowed_bytes_ps(flow->client);
		if (!rate)
			return flow_fail(flow, "packets_ps: allowed rate");
		size = rate / flow->packets_ps;
		size = size > flow->write ? flow->write : size ?: 1;
		if (ioctl(flow->client, SIOCOUTQNSD, &unsent))
			return flow_fail(flow, "SIOCOUTQNSD");
		if ((u64)unsent > size)
			continue;
		sent = send(flow->client, run.zeros, size, MSG_NOSIGNAL | MSG_DONTWAIT | MSG_EOR);
		if (sent < 0 && errno != EAGAIN)
			return flow_fail(flow, "send");
		if (sent > 0)
			*bytes += sent;
	}
	++*bytes;
	return flow_send(flow, flow->client, 1, true);
}

/*
 * One message of the error queue. Returns the stamp if it is that of byte number id
 * (modulo 2^32, from 0), 0 if it is another, and -1 if there is none.
 */
static s64 read_stamp(int fd, u32 id)
{
	union {
		char bytes[512];
		struct cmsghdr header;
	} control;
	struct msghdr message = { .msg_control = &control, .msg_controllen = sizeof(control) };
	struct scm_timestamping stamp = { 0 };
	struct sock_extended_err about = { 0 };
	struct cmsghdr *part;

	if (recvmsg(fd, &message, MSG_ERRQUEUE) < 0)
		return -1;
	for (part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
		if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPING)
			memcpy(&stamp, CMSG_DATA(part), sizeof(stamp));
		else if (part->cmsg_type == IP_RECVERR || part->cmsg_type == IPV6_RECVERR)
			memcpy(&about, CMSG_DATA(part), sizeof(about));
	}
	if (about.ee_origin != SO_EE_ORIGIN_TIMESTAMPING || about.ee_info != SCM_TSTAMP_ACK ||
	    about.ee_data != id)
		return 0;
	return timespec_ns(&stamp.ts[0]);
}

static s64 last_byte_acked_ns(struct flow *flow, u64 bytes)
{
	struct pollfd errors = { .fd = flow->client };
	socklen_t length = sizeof(int);
	s64 stamp_ns;
	int error = 0;

	do {
		poll(&errors, 1, -1);
		stamp_ns = read_stamp(flow->client, bytes - 1);
	} while (!stamp_ns);
	if (stamp_ns > 0)
		return stamp_ns - run.real_offset_ns - run.begin_ns;
	getsockopt(flow->client, SOL_SOCKET, SO_ERROR, &error, &length);
	errno = error ?: ENOTCONN;
	return flow_fail(flow, "last acknowledgment");
}

/* Requests and responses, at the client; returns when the last was complete */
static s64 exchange_all(struct flow *flow)
{
	struct exchange *next = flow->exchanges;
	s64 ended_ns = 0, due_ns = flow->start_ns;

	for (; flow->exchanges_done < flow->exchange_count; next++) {
		if (flow->exchanges_done)
			due_ns = ended_ns + next[-1].think_ns;
		if (flow->until_ns && due_ns >= (s64)flow->until_ns)
			return due_ns;
		if (flow->exchanges_done)
			sleep_until(due_ns);
		next->began_ns = now_ns();
		if (flow_send_message(flow, flow->client, next->request_bytes) ||
		    flow_receive(flow, flow->client, next->response_bytes))
			return -1;
		ended_ns = now_ns();
		next->ended_ns = ended_ns;
		flow->exchanges_done++;
	}
	return ended_ns;
}

static void *run_client(void *arg)
{
	struct flow *flow = arg;
	s64 until_ns = flow->start_ns + flow->seconds_ns, ended_ns = -1;
	u64 bytes = flow->bytes;

	sleep_until(flow->start_ns);
	flow->began_ns = now_ns();
	if (connects_at_start(flow) && connect_client(flow))
		flow_fail(flow, "connect");
	else if (flow->exchanges)
		ended_ns = exchange_all(flow);
	else if (flow->writes_ns ? !flow_send_at_times(flow) :
		 bytes ? !flow_send(flow, flow->client, bytes, true) :
		 flow->packets_ps ? !flow_send_packets_until(flow, until_ns, &bytes) :
		 !flow_send_until(flow, until_ns, &bytes))
		ended_ns = last_byte_acked_ns(flow, bytes);
	if (ended_ns >= 0)
		flow_finish(flow, ended_ns, NULL);
	return NULL;
}

static void *run_server(void *arg)
{
	struct flow *flow = arg;
	size_t i;

	if (connects_at_start(flow) && accept_server(flow))
		flow_fail(flow, "accept");
	else if (!flow->exchanges)
		flow_receive(flow, flow->server, flow->bytes ?: UINT64_MAX);
	else
		for (i = 0; i < flow->exchange_count; i++)
			if (flow_receive(flow, flow->server, flow->exchanges[i].request_bytes) ||
			    flow_send_message(flow, flow->server,
					      flow->exchanges[i].response_bytes))
				break;
	return NULL;
}

/* bytes_acked becomes payload: the kernel counts a client's SYN as a byte */
static void read_info(const struct flow *flow, int fd, struct tcp_info *info)
{
	socklen_t length = sizeof(*info);

	memset(info, 0, length);
	getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &length);
	if (fd == flow->client && info->tcpi_bytes_acked)
		info->tcpi_bytes_acked--;
}

static void sample_flow(u32 index, s64 time_ns)
{
	struct flow *flow = &run.flows[index];
	struct tcp_info info;

	if (flow->measured < 0 || flow->finished)
		return;
	read_info(flow, flow->measured, &info);
	run.samples = grow(run.samples, run.sample_count, sizeof(*run.samples));
	run.samples[run.sample_count++] = (struct sample){
		.flow = index,
		.cwnd = info.tcpi_snd_cwnd,
		.time_ns = time_ns,
		.bytes_acked = info.tcpi_bytes_acked,
		.pacing_rate = info.tcpi_pacing_rate,
		.srtt_us = info.tcpi_rtt,
		.min_rtt_us = info.tcpi_min_rtt,
		.unacked = info.tcpi_unacked,
		.retrans_total = info.tcpi_total_retrans,
		.lost = info.tcpi_lost,
		.notsent_bytes = info.tcpi_notsent_bytes,
		.delivered = info.tcpi_delivered,
		.state = info.tcpi_state,
	};
}

static void note_queue(const struct nlmsghdr *head, struct queue_sample *sample)
{
	const struct rtattr *part = TCA_RTA(NLMSG_DATA(head));
	int left = TCA_PAYLOAD(head);
	struct tc_stats stats;

	for (; RTA_OK(part, left); part = RTA_NEXT(part, left)) {
		if (part->rta_type != TCA_STATS || RTA_PAYLOAD(part) < sizeof(stats))
			continue;
		memcpy(&stats, RTA_DATA(part), sizeof(stats));
		sample->packets = stats.qlen;
		sample->bytes = stats.backlog;
		sample->drops = stats.drops;
	}
}

/* A device that has no queue is acknowledged without an answer: its sample is all zero */
static void sample_queue(u32 index, s64 time_ns)
{
	const struct queue *queue = &run.queues[index];
	const struct queue_request request = {
		.head = { sizeof(request), RTM_GETQDISC, NLM_F_REQUEST | NLM_F_ECHO | NLM_F_ACK,
			  0, 0 },
		.about = { .tcm_ifindex = queue->device, .tcm_parent = TC_H_ROOT },
	};
	struct queue_sample sample = { .queue = index, .time_ns = time_ns };
	_Alignas(struct nlmsghdr) char answer[ANSWER_BYTES];
	const struct nlmsghdr *head = (void *)answer;

	must(send(queue->socket, &request, sizeof(request), 0), queue->name, "RTM_GETQDISC");
	do {
		must(recv(queue->socket, answer, sizeof(answer), 0), queue->name, "RTM_GETQDISC");
		if (head->nlmsg_type == RTM_NEWQDISC)
			note_queue(head, &sample);
	} while (head->nlmsg_type != NLMSG_ERROR);
	errno = -((const struct nlmsgerr *)NLMSG_DATA(head))->error;
	must(errno ? -1 : 0, queue->name, "RTM_GETQDISC");
	run.queue_samples = grow(run.queue_samples, run.queue_sample_count, sizeof(sample));
	run.queue_samples[run.queue_sample_count++] = sample;
}

static void *run_samples(void *unused __attribute__((unused)))
{
	s64 due_ns, time_ns;
	size_t i;

	for (due_ns = 0; !run.over; due_ns += run.sample_every_ns) {
		sleep_until(due_ns);
		pthread_mutex_lock(&run.lock);
		time_ns = now_ns();
		for (i = 0; i < run.flow_count && !run.over; i++)
			sample_flow(i, time_ns);
		for (i = 0; i < run.queue_count && !run.over; i++)
			sample_queue(i, time_ns);
		pthread_mutex_unlock(&run.lock);
	}
	return NULL;
}

/* UDP */

static void send_burst(struct source *source)
{
	int fd = source->senders[source->turn++ % source->ports];
	u64 sent_ns = clock_ns(CLOCK_REALTIME);
	size_t i;

	for (i = 0; i < source->burst; i++)
		memcpy(source->payload + i * source->payload_bytes, &sent_ns, sizeof(sent_ns));
	if (send(fd, source->payload, source->burst * source->payload_bytes, 0) >= 0)
		source->sent += source->burst;
	else if (errno == EAGAIN || errno == ENOBUFS)
		source->not_sent += source->burst;
	else
		die("%s: send: %m", source->ends.who);
}

/* Record one message of a sink; what is too short to be from a source is ignored */
static void note_received(struct msghdr *message, size_t bytes)
{
	const unsigned char *payload = message->msg_iov->iov_base;
	struct cmsghdr *control = CMSG_FIRSTHDR(message);
	struct timespec stamp;
	s64 sent_ns;
	u32 source;

	memcpy(&sent_ns, payload, sizeof(sent_ns));
	memcpy(&source, payload + sizeof(sent_ns), sizeof(source));
	if (bytes < PAYLOAD_HEADER_BYTES || source >= run.source_count || !control)
		return;
	memcpy(&stamp, CMSG_DATA(control), sizeof(stamp));
	run.sources[source].received++;
	run.received = grow(run.received, run.received_count, sizeof(*run.received));
	run.received[run.received_count++] = (struct received){
		.source = source,
		.sent_ns = sent_ns - run.real_offset_ns - run.begin_ns,
		.delay_ns = timespec_ns(&stamp) - sent_ns,
	};
}

/* Read one batch of messages; returns whether there may be more */
static bool read_batch(int fd)
{
	_Alignas(struct cmsghdr) char controls[BATCH][CMSG_SPACE(sizeof(struct timespec))];
	unsigned char payloads[BATCH][PAYLOAD_HEADER_BYTES];
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	int got, i;

	for (i = 0; i < BATCH; i++) {
		parts[i] = (struct iovec){ payloads[i], sizeof(payloads[i]) };
		messages[i].msg_hdr = (struct msghdr){
			.msg_iov = &parts[i],
			.msg_iovlen = 1,
			.msg_control = controls[i],
			.msg_controllen = sizeof(controls[i]),
		};
	}
	got = recvmmsg(fd, messages, BATCH, MSG_DONTWAIT, NULL);
	for (i = 0; i < got; i++)
		note_received(&messages[i].msg_hdr, messages[i].msg_len);
	return got == BATCH;
}

/*
 * Beside a long run: once READ_EVERY_PACKETS were sent, a batch is read after each burst until
 * all sinks are empty. A shorter run reads nothing before its end.
 */
static void read_while_sending(size_t sent)
{
	static size_t unread, sink;

	unread += sent;
	if (unread < READ_EVERY_PACKETS || !run.sink_count)
		return;
	if (!read_batch(run.sinks[sink].socket) && ++sink == run.sink_count)
		sink = unread = 0;
}

static void read_all(void)
{
	size_t i;

	for (i = 0; i < run.sink_count; i++)
		while (read_batch(run.sinks[i].socket))
			;
}

static void *run_sources(void *unused __attribute__((unused)))
{
	struct source *source;
	size_t i;

	for (i = 0; i < run.event_count; i++) {
		s64 due_ns = run.events[i].time_ns;

		if (now_ns() < due_ns)
			sleep_until(due_ns);
		if (run.over)
			break;
		source = &run.sources[run.events[i].source];
		send_burst(source);
		read_while_sending(source->burst * (1 + source->payload_bytes / COUNTED_BYTES));
	}
	pthread_mutex_lock(&run.lock);
	if (!run.end.with_flows)
		one_finished();
	pthread_mutex_unlock(&run.lock);
	/* nothing on this machine tells how many packets others send here */
	while (SPLIT && run.sink_count && !run.over) {
		sleep_until(now_ns() + DRAIN_PERIOD_NS);
		read_all();
	}
	return NULL;
}

/* When all is sent: await what is under way. No sink may have lost a packet. */
static void read_sinks(void)
{
	s64 over_ns = now_ns();
	u64 sent = 0;
	size_t i, try;

	if (SPLIT && !run.sink_count)
		return;
	for (i = 0; i < run.source_count; i++)
		sent += run.sources[i].sent;
	for (try = 0; try <= DRAIN_TRIES && (!try || run.received_count < sent); try++) {
		sleep_until(over_ns + try * DRAIN_PERIOD_NS);
		read_all();
	}
	for (i = 0; i < run.sink_count; i++) {
		u32 memory[SK_MEMINFO_VARS] = { 0 };
		socklen_t length = sizeof(memory);

		must(getsockopt(run.sinks[i].socket, SOL_SOCKET, SO_MEMINFO, memory, &length),
		     run.sinks[i].ends->who, "SO_MEMINFO");
		if (memory[SK_MEMINFO_DROPS])
			die("%s: %u packets lost in the sink", run.sinks[i].ends->who,
			    memory[SK_MEMINFO_DROPS]);
	}
}

/* The run */

/* Says that something is so, and waits to be told what it is then to do */
static void await_word(const char *is_so, const char *word)
{
	char line[32];

	puts(is_so);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		die("standard input ended before %s", word);
	line[strcspn(line, "\n")] = '\0';
	if (strcmp(line, word))
		die("standard input is not %s: %s", word, line);
}

static void await_connected(void)
{
	size_t i;

	await_word("listening", "connect");
	for (i = 0; i < run.flow_count; i++)
		join_flow(&run.flows[i]);
}

static void await_begin(void)
{
	char line[32];
	char *end;

	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		die("standard input has no time of the beginning");
	run.begin_ns = strtoll(line, &end, 10);
	if ((*end && *end != '\n') || run.begin_ns <= 0)
		die("standard input is not a time: %s", line);
	run.real_offset_ns = real_offset_ns();
}

static pthread_t start_thread(void *(*body)(void *), void *arg)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	errno = pthread_create(&thread, &attributes, body, arg);
	if (errno)
		die("thread: %m");
	pthread_attr_destroy(&attributes);
	return thread;
}

/* Returns the thread of the sources, which there always is */
static pthread_t start_all(void)
{
	pthread_t sources;
	size_t i;

	run.unfinished = !run.end.with_flows;
	for (i = 0; i < run.flow_count; i++)
		run.unfinished += has_client(&run.flows[i].ends);
	for (i = 0; i < run.flow_count; i++) {
		if (has_server(&run.flows[i].ends))
			start_thread(run_server, &run.flows[i]);
		if (has_client(&run.flows[i].ends))
			start_thread(run_client, &run.flows[i]);
	}
	sources = start_thread(run_sources, NULL);
	if (run.sample_every_ns)
		start_thread(run_samples, NULL);
	if (now_ns() >= 0)
		die("the beginning is past");
	return sources;
}

/*
 * No thread changes the results of flows any more when this returns. Threads of unfinished
 * flows stay in their system calls and end with the process.
 */
static void await_end(void)
{
	struct timespec end = monotonic(run.end.at_ns);
	size_t i;

	pthread_mutex_lock(&run.lock);
	while (run.unfinished &&
	       pthread_cond_timedwait(&run.all_finished, &run.lock, &end) != ETIMEDOUT)
		;
	if (SPLIT) {
		pthread_mutex_unlock(&run.lock);
		await_word("sent", "stop");
		pthread_mutex_lock(&run.lock);
	}
	run.over = true;
	for (i = 0; i < run.flow_count; i++) {
		struct flow *flow = &run.flows[i];
		int fd = flow->measured < 0 ? flow->client : flow->measured;
		socklen_t length = sizeof(flow->cc_in_force);

		if (!flow->finished)
			strcpy(flow->error, "did not end");
		read_info(flow, fd, &flow->info);
		getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, flow->cc_in_force, &length);
	}
	pthread_mutex_unlock(&run.lock);
}

static void write_time(FILE *out, const char *key, s64 ns)
{
	if (ns < 0)
		fprintf(out, ",\"%s\":null", key);
	else
		fprintf(out, ",\"%s\":%" PRId64, key, ns);
}

static void write_flow(FILE *out, const struct flow *flow)
{
	const struct tcp_info *info = &flow->info;
	const char *quote = *flow->error ? "\"" : "";
	size_t i;

	fprintf(out, "{\"name\":\"%s\"", flow->ends.name);
	write_time(out, "began_ns", flow->began_ns);
	write_time(out, "ended_ns", flow->ended_ns);
	fprintf(out, ",\"bytes_acked\":%llu,\"retransmits\":%u,\"data_packets_sent\":%u,",
		info->tcpi_bytes_acked, info->tcpi_total_retrans, info->tcpi_data_segs_out);
	fprintf(out, "\"mss_bytes\":%u,\"min_rtt_us\":%u,\"cc\":\"%s\",\"error\":%s%s%s",
		info->tcpi_snd_mss, info->tcpi_min_rtt, flow->cc_in_force,
		quote, *flow->error ? flow->error : "null", quote);
	if (flow->exchanges) {
		fputs(",\"exchanges\":[", out);
		for (i = 0; i < flow->exchanges_done; i++)
			fprintf(out, "%s[%" PRId64 ",%" PRId64 "]", i ? "," : "",
				flow->exchanges[i].began_ns, flow->exchanges[i].ended_ns);
		fputc(']', out);
	}
	fputs("}\n", out);
}

static void write_all(void)
{
	size_t i;

	for (i = 0; i < run.flow_count; i++)
		write_flow(run.out[OUT_FLOWS], &run.flows[i]);
	for (i = 0; i < run.source_count; i++) {
		const struct source *source = &run.sources[i];

		fprintf(run.out[OUT_SOURCES], "{\"name\":\"%s\",\"sent\":%" PRIu64,
			source->ends.name, source->sent);
		fprintf(run.out[OUT_SOURCES], ",\"not_sent\":%" PRIu64 ",\"received\":%" PRIu64
			"}\n", source->not_sent, source->received);
	}
	if (run.received_count)
		fwrite(run.received, sizeof(*run.received), run.received_count,
		       run.out[OUT_RECEIVED]);
	if (run.sample_count)
		fwrite(run.samples, sizeof(*run.samples), run.sample_count, run.out[OUT_SAMPLES]);
	if (run.queue_sample_count)
		fwrite(run.queue_samples, sizeof(*run.queue_samples), run.queue_sample_count,
		       run.out[OUT_QUEUES]);
	for (i = 0; i < OUT_COUNT; i++)
		if (ferror(run.out[i]) | fclose(run.out[i]))
			die("%s: cannot be written", out_names[i]);
}

/* As far as is allowed: where that is too little, opening a socket fails and says so */
static void raise_file_limit(void)
{
	struct rlimit files = { MOST_FILES, MOST_FILES };

	if (!setrlimit(RLIMIT_NOFILE, &files) || getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

int main(int argc, char **argv)
{
	pthread_condattr_t clock;
	pthread_t sources;

	if (argc != 3) {
		fputs("usage: traffic PLAN OUT\n", stderr);
		return 2;
	}
	raise_file_limit();
	/* all threads inherit it */
	must(prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0), "process", "timer slack");
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&run.all_finished, &clock);
	parse_plan(argv[1]);
	open_all(argv[2]);
	if (SPLIT)
		await_connected();
	await_begin();
	sources = start_all();
	await_end();
	pthread_join(sources, NULL);
	read_sinks();
	write_all();
	puts("done");
	return 0;
}
