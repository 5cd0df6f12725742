// SPDX-License-Identifier: GPL-2.0-only
/*
 * kverbs bench: how fast writes and reads are, and whether they do what they say.
 *
 * Here are the arguments, the order of things, and what is printed. For each size:
 * fill source and target (bench_data.c), move items for a warm-up and then for the
 * measurement (bench_run.c), compare all of the target. --raw leaves all of that
 * to another module (bench_raw.c). A row is printed only when its data is right.
 */

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define SIZE_MAX_ITEM	(1024ULL * 1024 * 1024)
#define SECONDS_MAX	86400
#define SECONDS		2
#define PROBE_NS	100000000ULL	/* a probe shorter than this tells too little */
#define SIZES		"64,4k,64k,1m"

static const char * const paths[] = { "ioctl", "in-kernel", "raw" };

static const struct { unsigned int part; const char *key; } parts[] = {
	{ 0, "min" },
	{ 5000, "p50" },
	{ 9000, "p90" },
	{ 9900, "p99" },
	{ 9990, "p99_9" },
	{ 10000, "max" },
};

#define COUNT(table)	(sizeof(table) / sizeof(*(table)))

/* "64" or "64-1m": all powers of two times 64 up to 1m. */
static bool add_sizes(struct bench *bench, char *text)
{
	char *dash = strchr(text, '-');
	__u64 size, last;

	if (dash)
		*dash = 0;
	if (!parse_size(text, &size) || !parse_size(dash ? dash + 1 : text, &last) ||
	    last < size || last > SIZE_MAX_ITEM)
		return false;
	for (; size <= last; size *= 2) {
		if (bench->nr_sizes == BENCH_SIZES)
			return false;
		bench->sizes[bench->nr_sizes++] = size;
	}
	return true;
}

static bool set_sizes(struct bench *bench, const char *value)
{
	char *copy = strdup(value), *rest = copy, *part;
	bool ok = copy;

	bench->nr_sizes = 0;
	while (ok && (part = strsep(&rest, ",")))
		ok = add_sizes(bench, part);
	free(copy);
	return ok;
}

static bool set_u32(const char *value, __u32 *number)
{
	__u64 wide;

	if (!parse_number(value, UINT32_MAX, &wide))
		return false;
	*number = wide;
	return true;
}

/* parse_number(), but 0 too. */
static bool set_from_zero(const char *value, __u64 most, __u64 *number)
{
	*number = 0;
	return !strcmp(value, "0") || parse_number(value, most, number);
}

static bool set_cpu(struct bench *bench, const char *value)
{
	__u64 cpu;

	if (!set_from_zero(value, INT32_MAX, &cpu))
		return false;
	bench->attr.cpu = cpu;
	bench->attr.flags |= KVERBS_CONN_CPU;
	return true;
}

static bool set_until(struct bench *bench, const char *value)
{
	bench->until = !strcmp(value, "delivered") ? KVERBS_DELIVERED : KVERBS_COMPLETED;
	return bench->until == KVERBS_DELIVERED || !strcmp(value, "completed");
}

static bool set_flag(struct bench *bench, char letter)
{
	switch (letter) {
	case 'r':
		bench->attr.flags |= KVERBS_CONN_REG;
		break;
	case 'i':
		bench->inlined = true;
		break;
	case 'k':
		bench->path = BENCH_IN_KERNEL;
		break;
	case 'R':
		bench->path = BENCH_RAW;
		break;
	case 'B':
		bench->bh = true;
		break;
	default:
		bench->self = true;
		break;
	}
	return true;
}

static bool set(void *context, char letter, const char *value)
{
	struct bench *bench = context;

	switch (letter) {
	case 's':
		return set_sizes(bench, value);
	case 'd':
		return set_u32(value, &bench->depth);
	case 'b':
		return set_u32(value, &bench->batch);
	case 'n':
		return set_u32(value, &bench->connections);
	case 't':
		return set_u32(value, &bench->threads);
	case 'c':
		return parse_poll(value, &bench->attr.poll);
	case 'C':
		return set_cpu(bench, value);
	case 'N':
		return parse_number(value, INT64_MAX, &bench->count);
	case 'D':
		return parse_number(value, SECONDS_MAX, &bench->seconds);
	case 'w':
		return set_from_zero(value, INT64_MAX, &bench->warmup);
	case 'u':
		return set_until(bench, value);
	default:
		return set_flag(bench, letter);
	}
}

static __u64 largest(const struct bench *bench)
{
	__u64 most = 0;
	unsigned int i;

	for (i = 0; i < bench->nr_sizes; i++)
		most = bench->sizes[i] > most ? bench->sizes[i] : most;
	return most;
}

/* What cannot go together, in words; NULL when all is well. */
static const char *conflict(const struct bench *bench)
{
	bool plain = !bench->attr.flags && !bench->inlined && bench->until == KVERBS_COMPLETED;

	if (bench->count && bench->seconds)
		return "--count and --duration: one of them";
	if (bench->connections < bench->threads)
		return "--connections: at least one for each thread";
	if (bench->op == KVERBS_OP_READ && (bench->inlined || bench->until > KVERBS_COMPLETED))
		return "a read is never inline and has no moment after completed";
	if (bench->bh && bench->path != BENCH_RAW)
		return "--bh: only with --raw";
	if (bench->path == BENCH_IN_KERNEL && bench->connections != bench->threads)
		return "--in-kernel: one connection for each thread";
	if (bench->path == BENCH_IN_KERNEL && (bench->inlined || bench->until > KVERBS_COMPLETED))
		return "--in-kernel: neither --inline nor --until";
	if (bench->path == BENCH_RAW && !bench->self)
		return "--raw: only with --self";
	if (bench->path == BENCH_RAW && bench->connections > 1)
		return "--raw: one connection and one thread";
	if (bench->path == BENCH_RAW && !plain)
		return "--raw: neither --cpu, --reg, --inline nor --until";
	if (bench->path == BENCH_RAW &&
	    (bench->largest > RAW_LENGTH || (__u64)bench->batch * bench->in_flight > RAW_DEPTH))
		return "--raw: sizes of 4 MiB and a depth of 8192 at most";
	return NULL;
}

/* What was not given, and what follows from what was. */
static void complete(struct bench *bench)
{
	__u64 size, span;
	unsigned int i;

	if (!bench->connections)
		bench->connections = bench->threads;
	bench->in_flight = bench->depth / bench->batch ? bench->depth / bench->batch : 1;
	if (bench->warmup == UINT64_MAX)
		bench->warmup = (__u64)bench->batch * bench->in_flight * bench->connections;
	bench->attr.depth = bench->depth;
	bench->largest = largest(bench);
	for (i = 0; i < bench->nr_sizes; i++) {
		size = bench->sizes[i];
		span = size < BENCH_SPAN ? BENCH_SPAN / size : 1;
		if (span > (__u64)bench->batch * bench->in_flight)
			span = (__u64)bench->batch * bench->in_flight;
		bench->room = span * size > bench->room ? span * size : bench->room;
		if (bench->inlined && size <= INLINE_MAX && size > bench->attr.max_inline)
			bench->attr.max_inline = size;
	}
	bench->room = (bench->room + BENCH_GUARD - 1) / BENCH_GUARD * BENCH_GUARD;
}

static int parse_arguments(struct bench *bench, const struct verb *verb, int argc, char **argv)
{
	const char *why;
	int first = options_parse(verb, argc, argv, set, bench);

	if (first < 0)
		return first;
	if (argc - first != 2)
		return -1 - fail_usage(verb, "`write` or `read` and an address, not %d arguments",
				       argc - first);
	if (!strcmp(argv[first], "read"))
		bench->op = KVERBS_OP_READ;
	else if (strcmp(argv[first], "write"))
		return -1 - fail_usage(verb, "`write` or `read`, not '%s'", argv[first]);
	if (kverbs_addr_parse(argv[first + 1], bench->self ? 0 : KVERBS_PORT, bench->self,
			      bench->addr, &why))
		return -1 - fail_usage(verb, "address '%s': %s", argv[first + 1], why);
	complete(bench);
	why = conflict(bench);
	if (why)
		return -1 - fail_usage(verb, "%s", why);
	if (!bench->count && !bench->seconds)
		bench->seconds = SECONDS;
	return OUTCOME_OK;
}

/* Where it runs. The floor does not tell its device. */
static bool print_where(struct bench *bench)
{
	struct kverbs_conn_query query = { 0 };
	char local[KVERBS_ADDR_TEXT], peer[KVERBS_ADDR_TEXT];
	const struct lane *lane = bench->lanes;
	bool software;

	out_str("bench", "bench %s", kverbs_op_name(bench->op));
	out_str("path", ", path %s", paths[bench->path]);
	if (bench->path == BENCH_RAW) {
		software = only_software();
		out_str("local", ": %s, both ends in this host\n",
			kverbs_addr_text(bench->addr, local));
	} else {
		kverbs_conn_query(lane->fd, lane->conn_id, &query);
		software = device_is_software(lane->fd, query.error.device);
		out_str("device", ": %s", query.error.device);
		out_num("port", " port %lld", query.port);
		out_str("transport", ", %s", kverbs_transport_name(query.transport));
		out_str("local", ", %s", kverbs_addr_text(query.src, local));
		out_str("peer", " -> %s", kverbs_addr_text(query.dst, peer));
		out_num("depth_granted", NULL, query.depth);
		out_text("%s\n", bench->self ? ", both ends in this process" : "");
	}
	out_bool("self", bench->self);
	out_bool("software", software);
	return software;
}

static void print_setting(struct bench *bench, bool software)
{
	bool registered = bench->attr.flags & KVERBS_CONN_REG;

	out_num("depth", "depth %lld", bench->depth);
	out_num("batch", ", batches of %lld", bench->batch);
	out_num("in_flight", ", %lld in flight on each connection", bench->in_flight);
	out_num("connections", "; connections %lld", bench->connections);
	out_num("threads", ", threads %lld\n", bench->threads);
	out_str("poll", "completions by %s", kverbs_poll_name(bench->attr.poll));
	if (bench->attr.flags & KVERBS_CONN_CPU)
		out_num("cpu", ", vector of CPU %lld", bench->attr.cpu);
	out_str("until", ", each item until %s", kverbs_moment_name(bench->until));
	out_bool("registered", registered);
	out_text("%s", registered ? ", a registration for each piece" : "");
	out_bool("inline_asked", bench->inlined);
	out_text("%s", bench->inlined ? ", inline where it fits" : "");
	out_bool("bh_off", bench->bh);
	out_text("%s\n", bench->bh ? ", bottom halves off" : "");
	out_num("warmup", NULL, bench->warmup);
	out_str("latency_of", "latency of one submission: %s\n",
		bench->path == BENCH_CALLS ?
		"from before SUBMIT to the time stamp of that moment in its event" :
		"from its submission to its end, as the kernel tells");
	if (software)
		out_text("a software device (rxe, siw): these figures are not those of hardware\n");
}

static void print_head(struct bench *bench)
{
	char rate[16];
	size_t i;

	out_begin();
	print_setting(bench, print_where(bench));
	snprintf(rate, sizeof(rate), "%ss/s", kverbs_op_name(bench->op));
	out_text("%10s %11s %10s  latency in microseconds\n", "size", "rate", "bandwidth");
	out_text("%10s %11s %10s", "bytes", rate, "MiB/s");
	for (i = 0; i < COUNT(parts); i++)
		out_text(" %9s", parts[i].part == 9990 ? "p99.9" : parts[i].key);
	out_text(" %10s\n", "items");
	out_array("results");
	fflush(stdout);
}

static void print_row(const struct row *row, bool inlined)
{
	double rate = row->items * 1e9 / row->ns;
	__u64 value;
	size_t i;

	out_object(NULL);
	out_num("size_bytes", "%10lld", row->size);
	out_real("rate_per_s", " %11.1f", rate);
	out_real("bandwidth_mib_per_s", " %10.2f", rate * row->size / (1024 * 1024));
	out_num("duration_ns", NULL, row->ns);
	out_object("latency_ns");
	out_num("samples", NULL, row->hist.nr);
	for (i = 0; i < COUNT(parts); i++) {
		value = hist_value(&row->hist, parts[i].part);
		out_num(parts[i].key, NULL, value);
		out_text(" %9.1f", value / 1e3);
	}
	out_close();
	out_num("items", " %10lld", row->items);
	out_bool("inline", row->inlined);
	out_bool("verified", true);
	out_text("  %sverified\n", inlined && row->inlined ? "inline, " : "");
	out_close();
	fflush(stdout);
}

static bool run(struct bench *bench, __u64 count, struct row *row)
{
	if (bench->path == BENCH_RAW)
		return raw_run(bench, row->size, count, row);
	return bench_run(bench, count, row);
}

/* The kernel counts items, not seconds: shorter runs tell how many it takes. */
static __u64 count_of(struct bench *bench, struct row *row)
{
	__u64 count = 4ULL * bench->batch * bench->in_flight * bench->connections;

	for (;; count *= 4) {
		if (!run(bench, count, row))
			return 0;
		if (row->ns >= PROBE_NS || count > INT32_MAX)
			break;
	}
	count = bench->seconds * 1e9 / row->ns * count;
	return count ? count : 1;
}

static bool measure(struct bench *bench, struct row *row)
{
	__u64 count = bench->count;

	if (bench->path != BENCH_RAW) {
		if (!data_prepare(bench, row->size) || !bench_arm(bench, row->size))
			return false;
		if (bench->warmup && !bench_run(bench, bench->warmup, row))
			return false;
	}
	if (!count && bench->path != BENCH_CALLS) {
		count = count_of(bench, row);
		if (!count)
			return false;
	}
	return run(bench, count, row) &&
	       (bench->path == BENCH_RAW || data_verify(bench, row->size));
}

/* A failure after the head: in JSON it belongs into the object that is open. */
static int fail_open(const struct bench *bench)
{
	if (!out_is_json())
		return fail(&bench->problem);
	out_close();
	problem_object(&bench->problem);
	out_end();
	return bench->problem.result;
}

static int run_sizes(struct bench *bench)
{
	struct row row = { 0 };
	unsigned int i;

	print_head(bench);
	for (i = 0; i < bench->nr_sizes; i++) {
		row.size = bench->sizes[i];
		if (!measure(bench, &row))
			return fail_open(bench);
		print_row(&row, bench->inlined);
	}
	out_end();
	return OUTCOME_OK;
}

static int bench_verb_run(const struct verb *verb, int argc, char **argv)
{
	struct bench bench = {
		.op = KVERBS_OP_WRITE,
		.depth = 128,
		.batch = 1,
		.threads = 1,
		.until = KVERBS_COMPLETED,
		.warmup = UINT64_MAX,
		.far = -1,
		.gate = PTHREAD_MUTEX_INITIALIZER,
	};
	int ret;

	set_sizes(&bench, SIZES);
	ret = parse_arguments(&bench, verb, argc, argv);
	if (ret < 0)
		return -1 - ret;
	if (bench.path == BENCH_RAW)
		return raw_open(&bench) ? run_sizes(&bench) : fail(&bench.problem);
	ret = bench_open(&bench) ? run_sizes(&bench) : fail(&bench.problem);
	bench_close(&bench);
	return ret;
}

static const struct choice choices[] = {
	{ 's', "size", "N[k|m|g],...",
	  "bytes of an item, one after the other (default " SIZES "); A-B: doubling" },
	{ 'd', "depth", "N", "items in flight on one connection (default 128)" },
	{ 'b', "batch", "N", "items of one SUBMIT, which get one event (default 1)" },
	{ 'n', "connections", "N", "connections, shared out to the threads (default: one each)" },
	{ 't', "threads", "N", "threads, each with a context of its own (default 1)" },
	{ 'c', "poll", "softirq|workqueue|unbound|direct",
	  "who polls completions (default softirq); direct: WAIT itself" },
	{ 'C', "cpu", "N", "take the completion vector of this CPU" },
	{ 'N', "count", "N", "measure so many items, of all connections" },
	{ 'D', "duration", "SECONDS", "measure for so long (default 2)" },
	{ 'w', "warmup", "N", "items before, not measured (default: the depth of all)" },
	{ 'u', "until", "completed|delivered", "the moment that ends an item (default completed)" },
	{ 'r', "reg", NULL, "a registration for each piece, not the local key" },
	{ 'i', "inline", NULL, "writes: send inline where size and device permit" },
	{ 'k', "in-kernel", NULL, "the same work without system calls" },
	{ 'R', "raw", NULL, "the floor: bare posts by the module kverbs_raw; with --self" },
	{ 'B', "bh", NULL, "with --raw: post with bottom halves off" },
	{ 'S', "self", NULL, "be the peer too: ADDR is an own address" },
	{ 0 }
};

const struct verb bench_verb = {
	.name = "bench",
	.args = "write|read ADDR[:PORT]",
	.summary = "Measure writes or reads, and verify them",
	.text = "The peer runs `kverbs serve`, with a --size of at least the largest item; with\n"
		"--self none is needed. Depth / batch batches are in flight on each connection.\n"
		"For each size one row: rate, bandwidth (MiB are 2^20 bytes) and the latency of a\n"
		"submission. Only items that succeeded count; the first failure ends it. After\n"
		"each size the whole target is compared, with guards around it; data that differs\n"
		"is exit code 5.\n",
	.choices = choices,
	.run = bench_verb_run,
};
