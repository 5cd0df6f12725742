// SPDX-License-Identifier: GPL-2.0-only
/*
 * What `kverbs bench` works on: a context for each thread, and in it the thread's
 * connections, each with a buffer and with a region of the peer's. With --self a
 * second context of this process is the peer: it listens on the same address and
 * exposes a buffer to each connection. Otherwise the peer runs `kverbs serve`.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

#define TIMEOUT_NS	10000000000ULL	/* to connect, and to be offered memory */
#define ADVICE_BUDGET \
	"raise it (`ulimit -l`), run as root, or use smaller sizes or fewer connections"
#define ADVICE_SERVE	"look whether `kverbs serve` runs there, and at what it printed"
#define RIGHTS		(KVERBS_RIGHT_WRITE | KVERBS_RIGHT_READ)

struct problem lane_problem(const struct lane *lane, __u32 status,
			    const struct kverbs_event *event)
{
	struct kverbs_conn_query query;

	if (kverbs_conn_query(lane->fd, lane->conn_id, &query))
		memset(&query, 0, sizeof(query));
	return problem_of_item(&query.error, event, status, lane->local, lane->peer);
}

void lane_ends(const struct lane *lane, struct problem *problem)
{
	memcpy(problem->local, lane->local, sizeof(lane->local));
	memcpy(problem->peer, lane->peer, sizeof(lane->peer));
	memcpy(problem->error.device, lane->device, sizeof(lane->device));
}

static bool make_memory(struct bench *bench, int fd, __u64 head, struct memory *memory)
{
	__u64 offset;
	int ret;

	memory->head = head;
	memory->bytes = head + bench->room + BENCH_GUARD;
	ret = kverbs_buf_alloc(fd, memory->bytes, -1, &memory->buf_id, &offset);
	if (!ret)
		ret = kverbs_buf_map(fd, memory->bytes, offset, (void **)&memory->map);
	if (ret)
		bench->problem = problem_budget(-ret, memory->bytes, ADVICE_BUDGET);
	return !ret;
}

static bool check_region(struct bench *bench, struct lane *lane, const struct kverbs_event *event)
{
	char have[32], want[32];

	lane->region_id = event->region_id;
	lane->region_length = event->length;
	size_text(bench->largest, want);
	if ((event->rights & RIGHTS) != RIGHTS)
		bench->problem =
			problem_local(OUTCOME_PEER, "check_region", "choosing the region", EACCES,
				      "run `kverbs serve` of the same version there",
				      "the peer's memory may not be both written and read");
	else if (event->length < bench->largest)
		bench->problem =
			problem_local(OUTCOME_LOCAL, "check_region", "choosing the region", EFBIG,
				      "start `kverbs serve` with a larger --size, or use smaller sizes",
				      "the largest size is %s, the peer's region %s", want,
				      size_text(event->length, have));
	else
		return true;
	lane_ends(lane, &bench->problem);
	return false;
}

/* Wait for the region of a connection that has just been made. */
static bool find_region(struct bench *bench, struct lane *lane)
{
	__u64 now, end = now_ns() + TIMEOUT_NS;
	struct kverbs_event event;
	int ret;

	while ((now = now_ns()) < end) {
		ret = kverbs_wait(lane->fd, &event, 1, (end - now) / NS_PER_MS + 1, 0);
		if (ret == -EINTR)
			continue;
		if (ret < 0)
			break;
		if (event.id != lane->conn_id)
			continue;
		if (event.kind == KVERBS_EVENT_REGION)
			return check_region(bench, lane, &event);
		if (event.kind == KVERBS_EVENT_CONN && event.state == KVERBS_STATE_DEAD) {
			bench->problem = lane_problem(lane, ECONNRESET, &event);
			return false;
		}
	}
	bench->problem = problem_local(OUTCOME_PEER, "find_region", "waiting for the peer's memory",
				       ETIMEDOUT, ADVICE_SERVE,
				       "the peer has offered no memory in time");
	lane_ends(lane, &bench->problem);
	return false;
}

static bool connect_lane(struct bench *bench, struct lane *lane)
{
	struct kverbs_connect connect = {
		.attr = bench->attr,
		.timeout_ms = TIMEOUT_NS / NS_PER_MS,
	};
	struct kverbs_conn_query query;
	int ret;

	memcpy(connect.dst, bench->addr, sizeof(connect.dst));
	kverbs_addr_text(connect.dst, lane->peer);
	ret = kverbs_connect(lane->fd, &connect);
	if (ret) {
		if (!connect.error.code)
			connect.error.code = -ret;
		if (!connect.error.step)
			connect.error.step = KVERBS_STEP_SETUP;
		bench->problem = problem_of(&connect.error, NULL, lane->peer);
		return false;
	}
	lane->conn_id = connect.conn_id;
	if (!kverbs_conn_query(lane->fd, lane->conn_id, &query)) {
		kverbs_addr_text(query.src, lane->local);
		memcpy(lane->device, query.error.device, sizeof(lane->device));
		lane->max_inline = query.actual.max_inline;
	}
	return true;
}

/* With --self: the other end of a connection, and the region over its memory. */
static bool expose(struct bench *bench, struct lane *lane)
{
	struct kverbs_accept accept = {
		.listener_id = bench->listener_id,
		.timeout_ms = TIMEOUT_NS / NS_PER_MS,
	};
	struct kverbs_region_expose expose = {
		.offset = lane->other.head,
		.length = bench->room,
		.rights = RIGHTS,
	};
	int ret = kverbs_accept(bench->far, &accept);

	if (ret) {
		bench->problem = problem_local(OUTCOME_CONNECT, "accept",
					       "accepting the own connection", -ret,
					       "look at the kernel log (dmesg)", "%s",
					       strerror(-ret));
		return false;
	}
	expose.target_id = accept.conn_id;
	expose.buf_id = lane->other.buf_id;
	ret = kverbs_region_expose(bench->far, &expose);
	if (ret)
		bench->problem = problem_local(OUTCOME_LOCAL, "region_expose",
					       "exposing the memory", -ret,
					       "look at the kernel log (dmesg)", "%s",
					       strerror(-ret));
	return !ret;
}

static bool open_lane(struct bench *bench, struct lane *lane)
{
	/* KVERBS_BENCH begins at offset 0: no guard fits before. */
	__u64 head = bench->path == BENCH_IN_KERNEL ? 0 : BENCH_GUARD;

	return make_memory(bench, lane->fd, head, &lane->near) &&
	       make_memory(bench, bench->self ? bench->far : lane->fd, BENCH_GUARD, &lane->other) &&
	       connect_lane(bench, lane) &&
	       (!bench->self || expose(bench, lane)) &&
	       find_region(bench, lane);
}

static bool start_listening(struct bench *bench)
{
	struct kverbs_listen listen = { 0 };
	char text[KVERBS_ADDR_TEXT];
	int ret;

	bench->far = context_open(NULL, true, &bench->problem);
	if (bench->far < 0)
		return false;
	memcpy(listen.addr, bench->addr, sizeof(listen.addr));
	ret = kverbs_listen(bench->far, &listen);
	if (ret) {
		if (!listen.error.code)
			listen.error.code = -ret;
		if (!listen.error.step)
			listen.error.step = KVERBS_STEP_BIND;
		bench->problem = problem_of(&listen.error, kverbs_addr_text(listen.addr, text),
					    NULL);
		return false;
	}
	bench->listener_id = listen.listener_id;
	kverbs_addr_set_port(bench->addr, listen.port);
	return true;
}

static bool check_limit(struct bench *bench, const char *what, __u64 asked, __u64 most)
{
	if (asked <= most)
		return true;
	bench->problem = problem_local(OUTCOME_USAGE, "arguments", "reading the arguments", EINVAL,
				       "see `kverbs bench --help`", "%s: %llu at most, not %llu",
				       what, (unsigned long long)most, (unsigned long long)asked);
	return false;
}

static bool check_limits(struct bench *bench, const struct kverbs_query *query)
{
	__u64 lanes = (bench->connections + bench->threads - 1) / bench->threads;

	return check_limit(bench, "--depth", bench->depth, query->max_depth) &&
	       check_limit(bench, "--batch", bench->batch, query->max_batch) &&
	       check_limit(bench, "items in flight of one thread",
			   lanes * bench->batch * bench->in_flight, query->max_pending);
}

/* A context for each thread. Connections are dealt out as evenly as can be. */
static bool open_workers(struct bench *bench)
{
	struct lane *lane = bench->lanes;
	struct kverbs_query query;
	struct worker *worker;
	__u32 i, share;

	for (i = 0; i < bench->threads; i++) {
		worker = &bench->workers[i];
		worker->bench = bench;
		worker->fd = context_open(&query, true, &bench->problem);
		if (worker->fd < 0 || !check_limits(bench, &query))
			return false;
		share = bench->connections / bench->threads;
		worker->nr_lanes = share + (i < bench->connections % bench->threads);
		worker->lanes = lane;
		while (lane < worker->lanes + worker->nr_lanes)
			lane++->fd = worker->fd;
	}
	return true;
}

bool bench_open(struct bench *bench)
{
	__u32 i;

	bench->far = -1;
	bench->lanes = calloc(bench->connections, sizeof(*bench->lanes));
	bench->workers = calloc(bench->threads, sizeof(*bench->workers));
	if (!bench->lanes || !bench->workers) {
		bench->problem = problem_local(OUTCOME_LOCAL, "memory", "starting", ENOMEM,
					       "use fewer connections and threads", "no memory");
		return false;
	}
	for (i = 0; i < bench->threads; i++)
		bench->workers[i].fd = -1;
	if (!open_workers(bench) || (bench->self && !start_listening(bench)))
		return false;
	for (i = 0; i < bench->connections; i++)
		if (!open_lane(bench, &bench->lanes[i]))
			return false;
	return true;
}

static void drop_memory(struct memory *memory)
{
	if (memory->map)
		munmap(memory->map, memory->bytes);
}

void bench_close(struct bench *bench)
{
	struct lane *lane;
	__u32 i;

	for (i = 0; bench->lanes && i < bench->connections; i++) {
		lane = &bench->lanes[i];
		if (lane->conn_id)
			kverbs_disconnect(lane->fd, lane->conn_id, 0);
		drop_memory(&lane->near);
		drop_memory(&lane->other);
		free(lane->items);
		free(lane->started);
	}
	for (i = 0; bench->workers && i < bench->threads; i++)
		if (bench->workers[i].fd >= 0)
			close(bench->workers[i].fd);
	if (bench->far >= 0)
		close(bench->far);
	free(bench->lanes);
	free(bench->workers);
}
