// SPDX-License-Identifier: GPL-2.0-only
/*
 * kverbs write: put a file into a peer's memory. Here is all that comes before
 * the transfer itself: the arguments, the file, the connection, and the region
 * that the peer offers.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "print.h"
#include "transfer.h"

static int fail_file(const struct transfer *t, const char *step, int code, const char *advice,
		     const char *cause)
{
	struct problem problem = problem_local(OUTCOME_LOCAL, step, "reading the file", code,
					       advice, "%s: %s", t->path, cause);

	return fail(&problem);
}

static int open_file(struct transfer *t)
{
	struct stat stat;

	t->file = open(t->path, O_RDONLY | O_CLOEXEC);
	if (t->file < 0)
		return fail_file(t, "open_file", errno, "check name and rights of the file",
				 strerror(errno));
	if (fstat(t->file, &stat))
		return fail_file(t, "open_file", errno, "check the file system", strerror(errno));
	if (!S_ISREG(stat.st_mode))
		return fail_file(t, "open_file", EINVAL, "copy it into a regular file first",
				 "not a regular file, its size is not known");
	if (!stat.st_size)
		return fail_file(t, "open_file", ENODATA, "choose a file of at least one byte",
				 "the file is empty, there is nothing to write");
	t->size = stat.st_size;
	return OUTCOME_OK;
}

/* The reason why the connection is gone, as the module has kept it. */
static struct problem connection_problem(struct transfer *t)
{
	struct kverbs_conn_query query;

	if (kverbs_conn_query(t->fd, t->conn_id, &query) || !query.error.step)
		query.error.step = KVERBS_STEP_PEER;
	return problem_of(&query.error, t->local, t->peer);
}

static int open_connection(struct transfer *t)
{
	struct kverbs_connect connect = {
		.attr = { .depth = t->depth, .poll = t->poll },
		.timeout_ms = (t->timeout_s ? t->timeout_s : TIMEOUT_S) * 1000,
	};
	struct kverbs_conn_query query;
	int ret;

	memcpy(connect.dst, t->target, sizeof(connect.dst));
	memcpy(connect.src, t->source, sizeof(connect.src));
	kverbs_addr_text(connect.dst, t->peer);
	if (t->source_text)
		kverbs_addr_text(connect.src, t->local);
	ret = kverbs_connect(t->fd, &connect);
	if (ret) {
		if (!connect.error.code)
			connect.error.code = -ret;
		if (!connect.error.step)
			connect.error.step = KVERBS_STEP_SETUP;
		t->problem = problem_of(&connect.error, t->local, t->peer);
		return fail(&t->problem);
	}
	t->conn_id = connect.conn_id;
	if (!kverbs_conn_query(t->fd, t->conn_id, &query)) {
		kverbs_addr_text(query.src, t->local);
		memcpy(t->device, query.error.device, sizeof(t->device));
	}
	return OUTCOME_OK;
}

static int fail_peer(struct transfer *t, enum outcome result, const char *step,
		     const char *doing, int code, const char *advice, const char *cause)
{
	t->problem = problem_local(result, step, doing, code, advice, "%s", cause);
	transfer_ends(t);
	return fail(&t->problem);
}

/* The peer's region, by its advertisement: does it do? */
static int check_region(struct transfer *t, const struct kverbs_event *event)
{
	char cause[160], have[32], want[32];

	if (t->size > event->length) {
		snprintf(cause, sizeof(cause),
			 "the file is larger than the peer's region: %llu bytes (%s), not %llu (%s)",
			 (unsigned long long)t->size, size_text(t->size, want),
			 (unsigned long long)event->length, size_text(event->length, have));
		return fail_peer(t, OUTCOME_LOCAL, "check_region", "choosing the region", EFBIG,
				 "start `kverbs serve` with a larger --size", cause);
	}
	if (t->until == KVERBS_PERSISTED && event->tag == KVERBS_TAG_FILE)
		return fail_peer(t, OUTCOME_PEER, "check_region", "choosing the region", EOPNOTSUPP,
				 "start `kverbs serve` with --output and --persist, or ask for consumed",
				 "the peer does not flush files to stable storage");
	t->region_id = event->region_id;
	return OUTCOME_OK;
}

static int find_region(struct transfer *t)
{
	__u64 wait = (t->timeout_s ? t->timeout_s : TIMEOUT_S) * 1000;
	__u64 now, end = now_ns() / NS_PER_MS + wait;
	struct kverbs_event event;
	int ret;

	while ((now = now_ns() / NS_PER_MS) < end) {
		ret = kverbs_wait(t->fd, &event, 1, end - now, 0);
		if (ret == -EINTR)
			continue;
		if (ret < 0)
			break;
		if (event.kind == KVERBS_EVENT_CONN && event.state >= KVERBS_STATE_CLOSING) {
			t->problem = connection_problem(t);
			return fail(&t->problem);
		}
		if (event.kind == KVERBS_EVENT_REGION && event.rights & KVERBS_RIGHT_WRITE)
			return check_region(t, &event);
	}
	return fail_peer(t, OUTCOME_PEER, "find_region", "waiting for the peer's memory", ETIMEDOUT,
			 "look whether `kverbs serve` runs there, and at what it printed",
			 "the peer has offered no memory to write to in time");
}

static bool set_until(struct transfer *t, const char *value)
{
	static const struct { const char *name; __u32 moment; } rows[] = {
		{ "completed", KVERBS_COMPLETED },
		{ "delivered", KVERBS_DELIVERED },
		{ "consumed", KVERBS_CONSUMED },
		{ "persisted", KVERBS_PERSISTED },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(value, rows[i].name)) {
			t->until = rows[i].moment;
			return true;
		}
	return false;
}

static bool set(void *context, char letter, const char *value)
{
	struct transfer *t = context;
	__u64 number;

	switch (letter) {
	case 'u':
		return set_until(t, value);
	case 'd':
		if (!parse_number(value, UINT32_MAX, &number))
			return false;
		t->depth = number;
		return true;
	case 'c':
		return parse_poll(value, &t->poll);
	case 'b':
		return parse_size(value, &t->block) && t->block <= BLOCK_MAX;
	case 't':
		return parse_number(value, TIMEOUT_MAX, &t->timeout_s);
	default:
		t->source_text = value;
		return true;
	}
}

static int parse_addresses(struct transfer *t, const struct verb *verb, const char *target)
{
	const char *why;

	if (kverbs_addr_parse(target, KVERBS_PORT, false, t->target, &why))
		return fail_usage(verb, "address '%s': %s", target, why);
	if (t->source_text && kverbs_addr_parse(t->source_text, 0, true, t->source, &why))
		return fail_usage(verb, "--source '%s': %s", t->source_text, why);
	/* sa_family */
	if (t->source_text && memcmp(t->source, t->target, sizeof(__u16)))
		return fail_usage(verb, "--source '%s': IPv4 and IPv6 do not mix", t->source_text);
	return OUTCOME_OK;
}

static int write_run(const struct verb *verb, int argc, char **argv)
{
	struct transfer t = { .until = KVERBS_CONSUMED, .block = BLOCK_SIZE, .fd = -1 };
	int ret = options_parse(verb, argc, argv, set, &t);
	struct kverbs_query query;

	if (ret < 0)
		return -1 - ret;
	if (argc - ret != 2)
		return fail_usage(verb, "an address and a file, not %d arguments", argc - ret);
	t.path = argv[ret + 1];
	ret = parse_addresses(&t, verb, argv[ret]);
	if (!ret)
		ret = open_file(&t);
	if (ret)
		return ret;
	t.fd = context_open(&query, true, &t.problem);
	if (t.fd < 0)
		return fail(&t.problem);
	if (t.depth > query.max_depth)
		return fail_usage(verb, "--depth: %u at most", query.max_depth);
	ret = open_connection(&t);
	if (!ret)
		ret = find_region(&t);
	if (!ret)
		ret = transfer_run(&t);
	close(t.fd);
	close(t.file);
	return ret;
}

static const struct choice choices[] = {
	{ 'u', "until", "completed|delivered|consumed|persisted",
	  "the moment that ends it (default consumed)" },
	{ 'd', "depth", "N", "writes on the send queue at once" },
	{ 'c', "poll", "softirq|workqueue|unbound|direct",
	  "who polls completions (default softirq); direct: this program" },
	{ 'b', "block", "N[K|M|G]", "bytes in one write (default 1M)" },
	{ 't', "timeout", "S", "seconds to connect, and to wait for the acknowledgment" },
	{ 's', "source", "ADDR", "own address; default: the route decides" },
	{ 0 }
};

const struct verb write_verb = {
	.name = "write",
	.args = "ADDR[:PORT] FILE",
	.summary = "Write a file into the memory of a peer that serves",
	.text = "The transfer ends well when its last block has come to the moment asked for:\n"
		"  completed   the peer's adapter has it (on iWARP: it was handed to TCP)\n"
		"  delivered   it is in the peer's memory\n"
		"  consumed    the peer's program has acknowledged it\n"
		"  persisted   the same, from stable storage; needs `kverbs serve --persist`\n"
		"The default time-outs are 10 s to connect, and for the acknowledgment 60 s and\n"
		"one more for every 4 MiB.\n",
	.choices = choices,
	.run = write_run,
};
