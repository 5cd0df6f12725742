// SPDX-License-Identifier: GPL-2.0-only
/*
 * BENCH: the same work as by SUBMIT and WAIT, without a system call for each
 * batch. What it is faster by is the price of the interface.
 *
 * The caller's thread makes batches and hands them in; each tells of its end by
 * a call, under the send queue's lock, that counts it and wakes the thread. All
 * of them have ended before the ioctl returns.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ioctl.h"
#include "ioctl_transfer.h"
#include "work.h"

#define KVERBS_MAX_SAMPLES	1048576

/**
 * struct kverbs_run - a BENCH in progress
 * @cmd: what is asked for
 * @conn: where it goes
 * @item: one batch's items, used again and again
 * @sample: room for @cmd->nr_samples, or NULL
 * @wait: where the thread waits
 * @in_flight: batches on the way; this and all below is written by the end of a
 *	batch, with the send queue's lock held
 * @ended: batches that have ended
 * @done: items that succeeded
 * @last: when the last batch ended
 * @code: errno of the first item that failed
 */
struct kverbs_run {
	struct kverbs_bench *cmd;
	struct kverbs_connection *conn;
	struct kverbs_item *item;
	u64 *sample;
	wait_queue_head_t wait;
	atomic_t in_flight;
	u64 ended;
	u64 done;
	u64 last;
	u32 code;
};

static void kverbs_run_ended(struct kverbs_batch *batch)
{
	struct kverbs_run *run = batch->private;

	run->last = batch->stamps[KVERBS_COMPLETED] ?: ktime_get_ns();
	if (run->ended < run->cmd->nr_samples)
		run->sample[run->ended] = run->last - batch->stamps[KVERBS_POSTED];
	run->ended++;
	run->done += batch->nr - batch->failed;
	if (batch->code && !run->code)
		WRITE_ONCE(run->code, batch->code);
	atomic_dec(&run->in_flight);
	wake_up(&run->wait);
}

static bool kverbs_run_below(struct kverbs_run *run, int limit)
{
	return atomic_read(&run->in_flight) <= limit;
}

/* Until at most @limit batches are on the way, polling where nobody else does. */
static int kverbs_run_wait(struct kverbs_run *run, int limit)
{
	if (run->conn->attr.poll != KVERBS_POLL_DIRECT)
		return wait_event_killable(run->wait, kverbs_run_below(run, limit)) ? -EINTR : 0;
	while (!kverbs_run_below(run, limit)) {
		if (fatal_signal_pending(current))
			return -EINTR;
		kverbs_qp_poll(&run->conn->qp);
		cond_resched();
	}
	return 0;
}

/* The next @nr items, from item number @first on. */
static void kverbs_run_fill(struct kverbs_run *run, u64 first, u32 nr)
{
	u64 at, per_span = div64_u64(run->cmd->span, run->cmd->length);
	u32 i;

	div64_u64_rem(first, per_span, &at);
	at *= run->cmd->length;
	for (i = 0; i < nr; i++) {
		run->item[i].buf_offset = at;
		run->item[i].region_offset = at;
		at += run->cmd->length;
		if (at == run->cmd->span)
			at = 0;
	}
}

static int kverbs_run_batch(struct kverbs_run *run, u32 nr)
{
	struct kverbs_batch *batch = kverbs_batch_create(run->conn, nr);
	int ret;

	if (!batch) {
		kverbs_context_unreserve(run->conn->ctx, nr);
		return -ENOMEM;
	}
	batch->ended = kverbs_run_ended;
	batch->private = run;
	ret = kverbs_batch_add_items(batch, run->conn, run->item, nr);
	if (!ret) {
		atomic_inc(&run->in_flight);
		ret = kverbs_work_submit(run->conn, batch);
		if (ret)
			atomic_dec(&run->in_flight);
	}
	if (ret)
		kverbs_batch_discard(batch);
	else
		kverbs_batch_put(batch);
	return ret;
}

/*
 * A batch that has told of its end gives its reservation back in the same critical
 * section: if there seems to be no room, wait for that.
 */
static u32 kverbs_run_reserve(struct kverbs_run *run, u32 nr)
{
	struct kverbs_context *ctx = run->conn->ctx;
	u32 room = kverbs_context_reserve(ctx, nr);

	if (room == nr)
		return room;
	kverbs_context_unreserve(ctx, room);
	spin_lock_bh(&run->conn->qp.lock);
	spin_unlock_bh(&run->conn->qp.lock);
	return kverbs_context_reserve(ctx, nr);
}

static int kverbs_run_submit(struct kverbs_run *run, u64 first, u32 nr)
{
	u32 room;
	int ret;

	kverbs_run_fill(run, first, nr);
	ret = kverbs_connection_hold(run->conn, KVERBS_CONN_UP);
	if (ret)
		return ret;
	room = kverbs_run_reserve(run, nr);
	ret = room == nr ? kverbs_run_batch(run, nr) : -EAGAIN;
	if (room < nr)
		kverbs_context_unreserve(run->conn->ctx, room);
	kverbs_connection_unhold(run->conn);
	return ret;
}

/* All batches, as far as nothing fails. */
static int kverbs_run_submits(struct kverbs_run *run)
{
	u64 first, nr;
	int ret = 0;

	for (first = 0; first < run->cmd->count && !ret; first += nr) {
		nr = min_t(u64, run->cmd->batch, run->cmd->count - first);
		ret = kverbs_run_submit(run, first, nr);
		ret = ret ?: kverbs_run_wait(run, run->cmd->in_flight - 1);
		ret = ret ?: -(int)READ_ONCE(run->code);
		/* Where each batch ends at once, nothing above looks at signals. */
		if (!ret && fatal_signal_pending(current))
			ret = -EINTR;
		cond_resched();
	}
	return ret;
}

static int kverbs_run_all(struct kverbs_run *run)
{
	int ret = kverbs_run_submits(run);

	/* Nothing may refer to this run any more: killed, end the connection. */
	if (kverbs_run_wait(run, 0)) {
		ret = -EINTR;
		kverbs_connection_end(run->conn, KVERBS_STEP_LOCAL, ECANCELED);
		wait_event(run->wait, kverbs_run_below(run, 0));
	}
	/* The last to end may still be in the middle of telling. */
	spin_lock_bh(&run->conn->qp.lock);
	spin_unlock_bh(&run->conn->qp.lock);
	/* That an item failed is why the connection takes no more. */
	return run->code ? -(int)run->code : ret;
}

static u64 kverbs_bench_rest(const struct kverbs_bench *cmd)
{
	u64 rest;

	div64_u64_rem(cmd->span, cmd->length, &rest);
	return rest;
}

static int kverbs_bench_check(const struct kverbs_bench *cmd)
{
	if (cmd->flags)
		return -EOPNOTSUPP;
	if (cmd->op != KVERBS_OP_WRITE && cmd->op != KVERBS_OP_READ)
		return -EOPNOTSUPP;
	if (cmd->reserved || !cmd->length || !cmd->span || kverbs_bench_rest(cmd) ||
	    !cmd->count || !cmd->batch || cmd->batch > KVERBS_MAX_BATCH || !cmd->in_flight ||
	    (u64)cmd->batch * cmd->in_flight > KVERBS_MAX_PENDING ||
	    cmd->nr_samples > KVERBS_MAX_SAMPLES || (cmd->nr_samples && !cmd->samples))
		return -EINVAL;
	return 0;
}

static int kverbs_bench_prepare(struct kverbs_run *run)
{
	struct kverbs_bench *cmd = run->cmd;
	u32 i;

	run->item = kvcalloc(cmd->batch, sizeof(*run->item), GFP_KERNEL_ACCOUNT);
	if (cmd->nr_samples)
		run->sample = kvcalloc(cmd->nr_samples, sizeof(u64), GFP_KERNEL_ACCOUNT);
	if (!run->item || (cmd->nr_samples && !run->sample))
		return -ENOMEM;
	for (i = 0; i < cmd->batch; i++) {
		run->item[i].op = cmd->op;
		run->item[i].buf_id = cmd->buf_id;
		run->item[i].region_id = cmd->region_id;
		run->item[i].length = cmd->length;
		run->item[i].until = KVERBS_COMPLETED;
	}
	return 0;
}

static int kverbs_bench(struct kverbs_call *call, struct kverbs_run *run)
{
	struct kverbs_bench *cmd = &call->cmd.bench;
	u64 begin, nr;
	int ret;

	ret = kverbs_bench_prepare(run);
	if (ret)
		return ret;
	begin = ktime_get_ns();
	ret = kverbs_run_all(run);
	if (ret)
		return ret;
	cmd->done = run->done;
	cmd->ns = run->last - begin;
	nr = min_t(u64, run->ended, cmd->nr_samples);
	cmd->nr_samples = nr;
	if (nr && copy_to_user(u64_to_user_ptr(cmd->samples), run->sample, nr * sizeof(u64)))
		return -EFAULT;
	return kverbs_reply(call);
}

/**
 * kverbs_ioctl_bench() - KVERBS_BENCH
 * @call: the ioctl
 *
 * Context: Process context, killable.
 * Return: 0 or -errno.
 */
int kverbs_ioctl_bench(struct kverbs_call *call)
{
	struct kverbs_run run = { .cmd = &call->cmd.bench };
	int ret;

	ret = kverbs_bench_check(run.cmd);
	if (ret)
		return ret;
	run.conn = kverbs_call_connection(call, run.cmd->conn_id);
	if (IS_ERR(run.conn))
		return PTR_ERR(run.conn);
	init_waitqueue_head(&run.wait);
	ret = kverbs_bench(call, &run);
	kvfree(run.item);
	kvfree(run.sample);
	kverbs_connection_put(run.conn);
	return ret;
}
