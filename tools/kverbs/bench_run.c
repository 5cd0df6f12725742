// SPDX-License-Identifier: GPL-2.0-only
/*
 * The measured part of `kverbs bench`.
 *
 * All that can be made beforehand is: items for every batch that may be in flight
 * are made once for a size and handed in again and again. A batch that has ended
 * is replaced by the next in the same call that takes the events: SUBMIT waits for
 * events only when nothing more may be submitted, so that in steady state there is
 * one system call for each batch. The clock is read once for each call: the end of
 * one is the start of the next.
 *
 * A latency is that of one submission: from before its SUBMIT to the time stamp
 * that the kernel has put into its event for the moment asked for. With
 * KVERBS_BENCH it is what the kernel tells: from submission to end.
 *
 * Only success counts. The first failure of any thread stops all of them.
 */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define DELIVERED_MS	60000
#define LANE_SHIFT	32	/* user_data: lane above, batch below */

static bool is_inlined(const struct bench *bench, const struct lane *lane, __u64 size)
{
	return bench->inlined && size <= lane->max_inline;
}

static bool arm(struct bench *bench, struct lane *lane, __u64 number, __u64 size)
{
	__u64 i, nr = (__u64)bench->batch * bench->in_flight;

	free(lane->items);
	free(lane->started);
	lane->items = calloc(nr, sizeof(*lane->items));
	lane->started = calloc(bench->in_flight, sizeof(*lane->started));
	for (i = 0; lane->items && i < nr; i++)
		lane->items[i] = (struct kverbs_item) {
			.op = bench->op,
			.flags = is_inlined(bench, lane, size) ? KVERBS_ITEM_INLINE : 0,
			.buf_id = lane->near.buf_id,
			.region_id = lane->region_id,
			.buf_offset = lane->near.head + i % lane->slots * size,
			.region_offset = i % lane->slots * size,
			.length = size,
			.user_data = number << LANE_SHIFT | i / bench->batch,
			.until = bench->until,
			.timeout_ms = bench->until > KVERBS_COMPLETED ? DELIVERED_MS : 0,
		};
	return lane->items && lane->started;
}

bool bench_arm(struct bench *bench, __u64 size)
{
	struct worker *worker;
	__u32 i, n;

	for (i = 0; i < bench->threads; i++) {
		worker = &bench->workers[i];
		for (n = 0; n < worker->nr_lanes; n++) {
			if (arm(bench, &worker->lanes[n], n, size))
				continue;
			bench->problem = problem_local(OUTCOME_LOCAL, "memory", "starting", ENOMEM,
						       "use a smaller --batch or --depth",
						       "no memory");
			return false;
		}
	}
	return true;
}

/* The first failure of a worker; it ends the run for all. */
static void worker_fails(struct worker *worker, const struct lane *lane, __u32 status,
			 const struct kverbs_event *event)
{
	if (!worker->failed)
		worker->problem = lane_problem(lane, status, event);
	worker->failed = true;
	atomic_store(&worker->bench->stop, true);
}

/* A batch, or a single item, has ended well. */
static void on_end(struct worker *worker, const struct kverbs_event *event, __u32 nr)
{
	struct lane *lane = &worker->lanes[event->user_data >> LANE_SHIFT];
	__u64 *started = &lane->started[(__u32)event->user_data];
	__u64 stamp = event->stamps[worker->bench->until];

	hist_add(&worker->hist, stamp > *started ? stamp - *started : 0);
	*started = 0;
	lane->flying--;
	worker->flying--;
	worker->done += nr;
}

static struct lane *lane_of(struct worker *worker, __u32 conn_id)
{
	struct lane *lane = worker->lanes;

	while (lane->conn_id != conn_id && lane < worker->lanes + worker->nr_lanes - 1)
		lane++;
	return lane;
}

/* A failed item's FINAL comes before its batch's event, and tells more. */
static void on_event(struct worker *worker, const struct kverbs_event *event)
{
	if (event->kind == KVERBS_EVENT_FINAL && event->status)
		worker_fails(worker, lane_of(worker, event->id), event->status, event);
	else if (event->kind == KVERBS_EVENT_FINAL)
		on_end(worker, event, 1);
	else if (event->kind == KVERBS_EVENT_BATCH && event->status)
		worker_fails(worker, lane_of(worker, event->id), event->status, event);
	else if (event->kind == KVERBS_EVENT_BATCH)
		on_end(worker, event, event->nr);
	else if (event->kind == KVERBS_EVENT_CONN && event->state == KVERBS_STATE_DEAD)
		worker_fails(worker, lane_of(worker, event->id),
			     event->status ? event->status : ECONNRESET, NULL);
}

static void on_events(struct worker *worker, __u32 nr)
{
	__u32 i;

	for (i = 0; i < nr; i++)
		on_event(worker, &worker->events[i]);
}

/* A lane whose next batch is free; each has its turn. */
static struct lane *free_lane(struct worker *worker)
{
	struct lane *lane;
	__u32 i;

	for (i = 0; i < worker->nr_lanes; i++) {
		lane = &worker->lanes[worker->turn];
		if (++worker->turn == worker->nr_lanes)
			worker->turn = 0;
		if (!lane->started[lane->next])
			return lane;
	}
	return NULL;
}

static void submit(struct worker *worker, struct lane *lane, __u64 now)
{
	const struct bench *bench = worker->bench;
	struct kverbs_submit *cmd = &worker->submit;
	struct kverbs_item *items = &lane->items[(__u64)lane->next * bench->batch];
	__u32 nr = worker->left < bench->batch ? worker->left : bench->batch;
	bool last = worker->flying + 1 == worker->nr_lanes * bench->in_flight ||
		    worker->left == nr;
	int ret;

	cmd->conn_id = lane->conn_id;
	cmd->nr = nr;
	cmd->items = (uintptr_t)items;
	cmd->user_data = items->user_data;
	cmd->flags = (bench->batch > 1 ? KVERBS_SUBMIT_BATCH : 0) | (last ? 0 : KVERBS_NONBLOCK);
	cmd->take.nr = BENCH_EVENTS;
	ret = kverbs_submit_cmd(worker->fd, cmd);
	if (ret || cmd->accepted != nr) {
		worker_fails(worker, lane, ret ? -ret : (int)cmd->error, NULL);
		return;
	}
	lane->started[lane->next] = now;
	lane->flying++;
	lane->given += nr;
	if (++lane->next == bench->in_flight)
		lane->next = 0;
	worker->flying++;
	worker->left -= nr;
	on_events(worker, cmd->take.nr);
}

static void take(struct worker *worker)
{
	int ret;

	worker->wait.take.nr = BENCH_EVENTS;
	ret = kverbs_wait_cmd(worker->fd, &worker->wait);
	if (!ret)
		on_events(worker, worker->wait.take.nr);
	else if (ret != -EINTR)
		worker_fails(worker, worker->lanes, -ret, NULL);
}

static void run_calls(struct worker *worker)
{
	struct bench *bench = worker->bench;
	struct lane *lane;

	while (!atomic_load_explicit(&bench->stop, memory_order_relaxed)) {
		lane = NULL;
		if (worker->left && (!worker->deadline || worker->end < worker->deadline))
			lane = free_lane(worker);
		if (lane)
			submit(worker, lane, worker->end);
		else if (worker->flying)
			take(worker);
		else
			break;
		worker->end = now_ns();
	}
}

/* One connection for each worker: KVERBS_BENCH drives one. */
static void run_in_kernel(struct worker *worker)
{
	const struct bench *bench = worker->bench;
	struct lane *lane = worker->lanes;
	__u64 i, batches = (worker->left + bench->batch - 1) / bench->batch;
	__u32 nr = batches < BENCH_SAMPLES ? batches : BENCH_SAMPLES;
	__u64 *samples = calloc(nr, sizeof(*samples));
	struct kverbs_bench cmd = {
		.conn_id = lane->conn_id,
		.op = bench->op,
		.buf_id = lane->near.buf_id,
		.region_id = lane->region_id,
		.length = lane->items->length,
		.span = lane->slots * lane->items->length,
		.count = worker->left,
		.batch = bench->batch,
		.in_flight = bench->in_flight,
		.nr_samples = samples ? nr : 0,
		.samples = (uintptr_t)samples,
	};
	int ret = kverbs_bench(worker->fd, &cmd);

	if (ret || cmd.done != cmd.count)
		worker_fails(worker, lane, ret ? -ret : EIO, NULL);
	for (i = 0; !ret && i < cmd.nr_samples; i++)
		hist_add(&worker->hist, samples[i]);
	lane->given = cmd.count;
	worker->done = cmd.done;
	worker->end = worker->start + cmd.ns;
	free(samples);
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	struct bench *bench = worker->bench;

	pthread_mutex_lock(&bench->gate);
	pthread_mutex_unlock(&bench->gate);
	worker->start = now_ns();
	worker->end = worker->start;
	if (worker->deadline)
		worker->deadline += worker->start;
	if (!worker->left)
		return NULL;
	if (bench->path == BENCH_IN_KERNEL)
		run_in_kernel(worker);
	else
		run_calls(worker);
	return NULL;
}

/* Its share of @count items, or (@count 0) as many as it can. */
static void reset(struct worker *worker, __u32 number, __u64 count)
{
	const struct bench *bench = worker->bench;
	struct lane *lane;

	memset(&worker->hist, 0, sizeof(worker->hist));
	memset(&worker->submit, 0, sizeof(worker->submit));
	memset(&worker->wait, 0, sizeof(worker->wait));
	worker->submit.take.events = (uintptr_t)worker->events;
	worker->wait.take.events = (uintptr_t)worker->events;
	worker->turn = 0;
	worker->flying = 0;
	worker->done = 0;
	worker->left = count ? count / bench->threads + (number < count % bench->threads) :
			       UINT64_MAX;
	worker->deadline = count ? 0 : bench->seconds * 1000000000ULL;
	for (lane = worker->lanes; lane < worker->lanes + worker->nr_lanes; lane++) {
		lane->next = 0;
		lane->flying = 0;
		lane->given = 0;
	}
}

/* All threads at once; a single one needs none of its own. */
static void start(struct bench *bench)
{
	__u32 i, nr;

	if (bench->threads == 1) {
		worker_main(bench->workers);
		return;
	}
	pthread_mutex_lock(&bench->gate);
	for (nr = 0; nr < bench->threads; nr++) {
		struct worker *worker = &bench->workers[nr];
		int ret = pthread_create(&worker->thread, NULL, worker_main, worker);

		if (!ret)
			continue;
		worker->problem = problem_local(OUTCOME_LOCAL, "thread", "starting a thread", ret,
						"use fewer --threads", "%s", strerror(ret));
		worker->failed = true;
		atomic_store(&bench->stop, true);
		break;
	}
	pthread_mutex_unlock(&bench->gate);
	for (i = 0; i < nr; i++)
		pthread_join(bench->workers[i].thread, NULL);
}

/* What the threads have found, put together. */
static bool gather(struct bench *bench, struct row *row)
{
	__u64 first = UINT64_MAX, last = 0;
	struct worker *worker;
	struct lane *lane;
	__u32 i;

	memset(&row->hist, 0, sizeof(row->hist));
	row->items = 0;
	for (i = 0; i < bench->threads; i++) {
		worker = &bench->workers[i];
		if (worker->failed) {
			bench->problem = worker->problem;
			return false;
		}
		if (worker->done) {
			first = worker->start < first ? worker->start : first;
			last = worker->end > last ? worker->end : last;
		}
		row->items += worker->done;
		hist_merge(&row->hist, &worker->hist);
	}
	row->ns = last > first ? last - first : 1;
	row->inlined = true;
	for (i = 0; i < bench->connections; i++) {
		lane = &bench->lanes[i];
		lane->most = lane->given > lane->most ? lane->given : lane->most;
		row->inlined &= !!(lane->items->flags & KVERBS_ITEM_INLINE);
	}
	return true;
}

bool bench_run(struct bench *bench, __u64 count, struct row *row)
{
	__u32 i;

	for (i = 0; i < bench->threads; i++)
		reset(&bench->workers[i], i, count);
	start(bench);
	return gather(bench, row);
}
