// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work: what a connection does for its program, and the pump. See work.h.
 *
 * Everything here turns around the send queue's lock. Submit puts transfers into
 * the fifo and pumps; completions and acknowledgements take them through the
 * lists and pump again. The tick watches what may not happen: time-outs, and a
 * device that makes no progress.
 */
#include <linux/ktime.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "batch.h"
#include "fill.h"
#include "region.h"
#include "trace.h"
#include "work.h"

#define KVERBS_TICK	(HZ / 10)

/**
 * kverbs_work_advance() - take what is acknowledged from the lists' heads
 * @work: the work
 * @now: CLOCK_MONOTONIC nanoseconds
 *
 * Context: Send queue lock held.
 */
void kverbs_work_advance(struct kverbs_work *work, u64 now)
{
	struct kverbs_transfer *t, *next;
	int moment;

	for (moment = KVERBS_DELIVERED; moment < KVERBS_MOMENTS; moment++) {
		list_for_each_entry_safe(t, next, &work->await[moment], list) {
			if (t->seq > work->acked[moment])
				break;
			kverbs_transfer_reach(t, moment, now);
		}
	}
}

static void kverbs_work_add_transfers(struct kverbs_work *work)
{
	u32 before = work->conn->qp.nr_chain;

	while (work->unposted != &work->fifo &&
	       kverbs_fill(list_entry(work->unposted, struct kverbs_transfer, list)))
		work->unposted = work->unposted->next;
	if (work->conn->qp.nr_chain != before)
		work->last_fill = jiffies;
}

static void kverbs_work_add_delivered(struct kverbs_work *work)
{
	struct kverbs_msg msg = { .type = KVERBS_MSG_DELIVERED, .delivered = work->seen };

	if (kverbs_control_put(work->conn, &msg))
		work->told = work->seen;
}

static void kverbs_work_add_consumed(struct kverbs_work *work)
{
	struct kverbs_msg msg = {
		.type = KVERBS_MSG_CONSUMED,
		.consumed = work->consumed,
		.persisted = work->persisted,
	};

	if (kverbs_control_put(work->conn, &msg))
		work->want_consumed = false;
}

/* Tell the peer how far its writes have come; each message covers all before. */
static void kverbs_work_add_acks(struct kverbs_work *work)
{
	if (work->told < work->seen)
		kverbs_work_add_delivered(work);
	if (work->want_consumed)
		kverbs_work_add_consumed(work);
}

/* Watch as long as anything is unfinished or on the device. */
static void kverbs_work_watch(struct kverbs_work *work)
{
	if (work->ticking || work->closed)
		return;
	if (!work->unfinished && !kverbs_slots_outstanding(&work->conn->qp.slots))
		return;
	work->ticking = true;
	schedule_delayed_work(&work->tick, KVERBS_TICK);
}

static int kverbs_work_pump_locked(struct kverbs_work *work)
{
	struct kverbs_connection *conn = work->conn;
	bool full;
	int ret;

	do {
		if (conn->qp.fenced || work->closed || !conn->was_up)
			return 0;
		kverbs_control_pump(conn);
		kverbs_region_pump(conn);
		kverbs_work_add_acks(work);
		kverbs_work_add_transfers(work);
		full = conn->qp.nr_chain > KVERBS_CHAIN - KVERBS_FILL_MOST &&
		       !(work->unposted == &work->fifo && list_empty(&work->advertise));
		ret = kverbs_qp_post(&conn->qp);
	} while (full && !ret);
	kverbs_work_watch(work);
	return ret;
}

static void kverbs_work_pump(struct kverbs_connection *conn)
{
	int ret;

	spin_lock_bh(&conn->qp.lock);
	ret = kverbs_work_pump_locked(kverbs_conn_work(conn));
	spin_unlock_bh(&conn->qp.lock);
	if (unlikely(ret))
		kverbs_connection_post_failed(conn, KVERBS_STEP_POST, ret);
}

static void kverbs_work_expire(struct kverbs_work *work)
{
	struct kverbs_transfer *t, *next;
	int moment;

	for (moment = KVERBS_DELIVERED; moment < KVERBS_MOMENTS; moment++) {
		list_for_each_entry_safe(t, next, &work->await[moment], list) {
			if (!t->timeout_ms || time_before(jiffies, t->deadline))
				continue;
			t->error.code = ETIMEDOUT;
			kverbs_transfer_finish(t);
		}
	}
}

static bool kverbs_work_stalled(struct kverbs_work *work)
{
	struct kverbs_qp *qp = &work->conn->qp;
	unsigned long bound = msecs_to_jiffies(work->conn->attr.no_progress_ms);

	return kverbs_slots_outstanding(&qp->slots) &&
	       time_after(jiffies, qp->last_progress + bound);
}

static void kverbs_work_tick(struct work_struct *tick)
{
	struct kverbs_work *work = container_of(to_delayed_work(tick), struct kverbs_work, tick);
	struct kverbs_connection *conn = work->conn;
	bool stalled;

	/* Where nobody waits, nobody polls: what has completed is no stall. */
	kverbs_qp_poll(&conn->qp);
	spin_lock_bh(&conn->qp.lock);
	if (work->timed)
		kverbs_work_expire(work);
	stalled = !conn->qp.fenced && kverbs_work_stalled(work);
	work->ticking = false;
	kverbs_work_watch(work);
	spin_unlock_bh(&conn->qp.lock);
	if (stalled)
		kverbs_connection_end(conn, KVERBS_STEP_PROGRESS, ETIMEDOUT);
}

/**
 * kverbs_work_submit() - accept a batch and pump
 * @conn: the connection
 * @batch: with at least one transfer
 *
 * From here on each has exactly one final outcome.
 *
 * Context: Process context.
 * Return: 0, or -ENOTCONN with nothing accepted.
 */
int kverbs_work_submit(struct kverbs_connection *conn, struct kverbs_batch *batch)
{
	struct kverbs_work *work = kverbs_conn_work(conn);
	u64 now = ktime_get_ns();
	LIST_HEAD(transfers);
	int ret;

	kverbs_batch_string(batch, &transfers);
	spin_lock_bh(&conn->qp.lock);
	if (work->closed || work->draining) {
		spin_unlock_bh(&conn->qp.lock);
		return -ENOTCONN;
	}
	kverbs_batch_accept(batch);
	batch->stamps[KVERBS_POSTED] = now;
	if (work->unposted == &work->fifo)
		work->unposted = transfers.next;
	list_splice_tail(&transfers, &work->fifo);
	work->unfinished += batch->nr;
	work->incomplete += batch->nr;
	conn->qp.counters.submitted += batch->nr;
	ret = kverbs_work_pump_locked(work);
	spin_unlock_bh(&conn->qp.lock);
	if (unlikely(ret))
		kverbs_connection_post_failed(conn, KVERBS_STEP_POST, ret);
	return 0;
}

/**
 * kverbs_work_ack() - our program has consumed notifications
 * @conn: the connection
 * @seq: all up to this one
 * @persisted: and has them on stable storage
 *
 * Context: Process context.
 * Return: 0, -ERANGE when no such notification was taken, -ENOTCONN.
 */
int kverbs_work_ack(struct kverbs_connection *conn, u64 seq, bool persisted)
{
	struct kverbs_work *work = kverbs_conn_work(conn);
	int ret = 0;

	spin_lock_bh(&conn->qp.lock);
	if (work->closed || !conn->was_up) {
		ret = -ENOTCONN;
	} else if (!seq || seq > conn->control.taken) {
		ret = -ERANGE;
	} else {
		work->consumed = max(work->consumed, seq);
		if (persisted)
			work->persisted = max(work->persisted, seq);
		work->want_consumed = true;
	}
	spin_unlock_bh(&conn->qp.lock);
	if (!ret)
		kverbs_work_pump(conn);
	return ret;
}

static bool kverbs_work_idle(struct kverbs_work *work)
{
	struct kverbs_qp *qp = &work->conn->qp;
	bool idle;

	spin_lock_bh(&qp->lock);
	idle = work->closed || !work->incomplete;
	spin_unlock_bh(&qp->lock);
	return idle;
}

/* How long to sleep before looking again, where looking is our task. */
static long kverbs_work_nap(struct kverbs_connection *conn, unsigned long until)
{
	return conn->attr.poll == KVERBS_POLL_DIRECT ? 1 : max_t(long, until - jiffies, 0);
}

/**
 * kverbs_work_finish() - accept no more, wait until all is COMPLETED
 * @conn: the connection
 * @timeout_ms: how long
 *
 * Context: Process context, may sleep; killable.
 * Return: 0, -ETIMEDOUT, -EINTR, or -ENOTCONN if it is or goes down.
 */
int kverbs_work_finish(struct kverbs_connection *conn, u32 timeout_ms)
{
	unsigned long until = jiffies + msecs_to_jiffies(timeout_ms);
	struct kverbs_work *work = kverbs_conn_work(conn);
	long left;

	spin_lock_bh(&conn->qp.lock);
	work->draining = true;
	spin_unlock_bh(&conn->qp.lock);
	do {
		kverbs_qp_poll(&conn->qp);
		left = wait_event_killable_timeout(conn->wait,
						   kverbs_work_idle(work) ||
						   !kverbs_connection_is_up(conn),
						   kverbs_work_nap(conn, until));
	} while (!left && time_before(jiffies, until));
	if (left <= 0)
		return left ? -EINTR : -ETIMEDOUT;
	return kverbs_connection_is_up(conn) ? 0 : -ENOTCONN;
}

/* The region that a DONE is about, if all it claims can be. */
static struct kverbs_region_own *kverbs_work_check_done(struct kverbs_connection *conn,
							const struct kverbs_msg_done *done)
{
	struct kverbs_region_own *region;
	u64 end;

	spin_lock_bh(&conn->qp.lock);
	region = kverbs_region_find(conn, done->region);
	if (region && (done->seq != kverbs_conn_work(conn)->seen + 1 ||
		       check_add_overflow(done->offset, done->length, &end) ||
		       end > region->length))
		region = NULL;
	spin_unlock_bh(&conn->qp.lock);
	return region;
}

/* The event keeps its receive, and the receive its connection. */
static bool kverbs_work_push(struct kverbs_connection *conn, struct kverbs_event_node *node)
{
	kverbs_connection_get(conn);
	if (kverbs_event_push(&conn->ctx->events, node))
		return true;
	kverbs_connection_put(conn);
	return false;
}

static int kverbs_work_tell(struct kverbs_connection *conn, struct kverbs_recv *recv)
{
	struct kverbs_work *work = kverbs_conn_work(conn);
	bool kept = true;

	mutex_lock(&work->remote_lock);
	if (work->known)
		kept = kverbs_work_push(conn, &recv->node);
	else
		list_add_tail(&recv->node.list, &work->early);
	mutex_unlock(&work->remote_lock);
	return kept;
}

static void kverbs_work_told(struct kverbs_connection *conn)
{
	struct kverbs_work *work = kverbs_conn_work(conn);
	struct kverbs_event_node *node, *next;
	int ret;

	mutex_lock(&work->remote_lock);
	work->known = true;
	ret = kverbs_region_told(conn);
	list_for_each_entry_safe(node, next, &work->early, list) {
		list_del_init(&node->list);
		kverbs_work_push(conn, node);
	}
	mutex_unlock(&work->remote_lock);
	if (ret)
		kverbs_connection_end(conn, KVERBS_STEP_CONTROL, -ret);
}

/* A DONE: check the peer's claim, note its seq, wake the program if asked to. */
static int kverbs_work_got_done(struct kverbs_connection *conn,
				const struct kverbs_msg_done *done, struct kverbs_recv *recv)
{
	/* Regions outlive the receive completions. */
	struct kverbs_region_own *region = kverbs_work_check_done(conn, done);

	if (!region)
		return -EPROTO;
	kverbs_mapping_sync_for_cpu(region->map, region->offset + done->offset, done->length);
	recv->region = region->obj.id;

	spin_lock_bh(&conn->qp.lock);
	conn->qp.counters.notified += done->notify;
	kverbs_conn_work(conn)->seen = done->seq;
	spin_unlock_bh(&conn->qp.lock);
	return done->notify ? kverbs_work_tell(conn, recv) : 0;
}

/* A message or an immediate: the next in order, and always told. */
static int kverbs_work_got_data(struct kverbs_connection *conn, struct kverbs_recv *recv)
{
	struct kverbs_work *work = kverbs_conn_work(conn);
	bool next;

	spin_lock_bh(&conn->qp.lock);
	/* An immediate carries no seq: it counts by coming. */
	if (recv->kind == KVERBS_EVENT_IMM)
		recv->done.seq = work->seen + 1;
	next = recv->done.seq == work->seen + 1;
	work->seen += next;
	conn->qp.counters.notified += next;
	spin_unlock_bh(&conn->qp.lock);
	return next ? kverbs_work_tell(conn, recv) : -EPROTO;
}

/* An acknowledgement up to @seq: of something we sent, and never less. */
static int kverbs_work_acked(struct kverbs_work *work, enum kverbs_moment moment, u64 seq)
{
	if (seq > work->seq || seq < work->acked[moment])
		return -EPROTO;
	work->acked[moment] = seq;
	return 0;
}

static int kverbs_work_got_ack(struct kverbs_connection *conn, const struct kverbs_msg *msg)
{
	struct kverbs_work *work = kverbs_conn_work(conn);
	int ret;

	spin_lock_bh(&conn->qp.lock);
	if (msg->type == KVERBS_MSG_DELIVERED)
		ret = kverbs_work_acked(work, KVERBS_DELIVERED, msg->delivered);
	else
		ret = kverbs_work_acked(work, KVERBS_CONSUMED, msg->consumed) ?:
		      kverbs_work_acked(work, KVERBS_PERSISTED, msg->persisted);
	if (!ret)
		kverbs_work_advance(work, ktime_get_ns());
	spin_unlock_bh(&conn->qp.lock);
	return ret;
}

static int kverbs_work_message(struct kverbs_connection *conn, const struct kverbs_msg *msg,
			       struct kverbs_recv *recv)
{
	switch (msg->type) {
	case KVERBS_MSG_REGION:
		return kverbs_region_received(conn, &msg->region);
	case KVERBS_MSG_DONE:
		return kverbs_work_got_done(conn, &msg->done, recv);
	case KVERBS_MSG_MESSAGE:
	case KVERBS_MSG_IMM:
		return kverbs_work_got_data(conn, recv);
	case KVERBS_MSG_DELIVERED:
	case KVERBS_MSG_CONSUMED:
		return kverbs_work_got_ack(conn, msg);
	default:
		return -EPROTO;
	}
}

static int kverbs_work_attach(struct kverbs_connection *conn)
{
	struct kverbs_work *work = kzalloc(sizeof(*work), GFP_KERNEL_ACCOUNT);
	int i;

	if (!work)
		return -ENOMEM;
	work->conn = conn;
	INIT_LIST_HEAD(&work->fifo);
	work->unposted = &work->fifo;
	for (i = 0; i < KVERBS_MOMENTS; i++)
		INIT_LIST_HEAD(&work->await[i]);
	INIT_LIST_HEAD(&work->regions);
	INIT_LIST_HEAD(&work->advertise);
	INIT_LIST_HEAD(&work->remotes);
	INIT_LIST_HEAD(&work->early);
	mutex_init(&work->remote_lock);
	INIT_DELAYED_WORK(&work->tick, kverbs_work_tick);
	conn->work = work;
	return 0;
}

static void kverbs_work_quiesce(struct kverbs_connection *conn)
{
	struct kverbs_work *work = kverbs_conn_work(conn);

	spin_lock_bh(&conn->qp.lock);
	work->closed = true;
	spin_unlock_bh(&conn->qp.lock);
	cancel_delayed_work_sync(&work->tick);
}

static void kverbs_work_abort(struct kverbs_connection *conn)
{
	struct kverbs_work *work = kverbs_conn_work(conn);
	struct kverbs_transfer *t, *next;
	int moment;

	spin_lock_bh(&conn->qp.lock);
	for (moment = KVERBS_MOMENTS - 1; moment >= KVERBS_DELIVERED; moment--)
		list_for_each_entry_safe(t, next, &work->await[moment], list)
			kverbs_transfer_abort(t);
	work->unposted = &work->fifo;
	list_for_each_entry_safe(t, next, &work->fifo, list)
		kverbs_transfer_abort(t);
	spin_unlock_bh(&conn->qp.lock);
}

static void kverbs_work_release(struct kverbs_connection *conn)
{
	kfree(conn->work);
}

/* What the link floor calls. */
const struct kverbs_connection_ops kverbs_work_ops = {
	.attach = kverbs_work_attach,
	.told = kverbs_work_told,
	.pump = kverbs_work_pump,
	.message = kverbs_work_message,
	.quiesce = kverbs_work_quiesce,
	.abort = kverbs_work_abort,
	.unregister = kverbs_region_end,
	.release = kverbs_work_release,
};
