// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transfers and the pump. See transfer.h.
 *
 * What a slice puts into the chain counts in @wrs until it is reclaimed. When
 * the whole range is posted and @wrs is back to zero, the transfer has come to
 * COMPLETED and its source may be reused. From there on it waits for the peer's
 * acknowledgements, or ends by its time-out.
 *
 * A transfer that met an error ends when its last work request is reclaimed:
 * not before, since the device may still read its source. Transfers that were
 * never posted, or wait for an acknowledgement that will not come, are ended by
 * kverbs_work_abort(), when nothing is on the device any more.
 */
#include <linux/ktime.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "trace.h"
#include "transfer.h"

#define KVERBS_TICK		(HZ / 10)
#define KVERBS_SIGNAL_BYTES	SZ_256K

static struct kmem_cache *kverbs_transfer_cache;

/**
 * kverbs_transfer_init() - make the cache of transfers
 *
 * Context: Module init.
 * Return: 0 or -ENOMEM.
 */
int kverbs_transfer_init(void)
{
	kverbs_transfer_cache = KMEM_CACHE(kverbs_transfer, SLAB_ACCOUNT);
	return kverbs_transfer_cache ? 0 : -ENOMEM;
}

/**
 * kverbs_transfer_exit() - destroy the cache
 *
 * Context: Module exit.
 */
void kverbs_transfer_exit(void)
{
	kmem_cache_destroy(kverbs_transfer_cache);
}

static void kverbs_transfer_event_fill(struct kverbs_event_node *node,
				       struct kverbs_event *event)
{
	struct kverbs_transfer *t = container_of(node, struct kverbs_transfer, node);

	event->kind = KVERBS_EVENT_FINAL;
	event->id = t->conn_id;
	event->user_data = t->user_data;
	event->status = t->error.code;
	event->asked = t->until;
	event->reached = t->reached;
	event->placement = t->placement;
	event->step = t->error.step;
	event->wc_status = t->error.wc_status;
	event->vendor_err = t->error.vendor_err;
	event->length = t->length;
	memcpy(event->stamps, t->stamps, sizeof(t->stamps));
}

static void kverbs_transfer_event_taken(struct kverbs_event_node *node)
{
	struct kverbs_transfer *t = container_of(node, struct kverbs_transfer, node);

	atomic_dec(&t->ctx->pending);
	kverbs_context_put(t->ctx);
	kmem_cache_free(kverbs_transfer_cache, t);
}

static const struct kverbs_event_ops kverbs_transfer_event_ops = {
	.fill = kverbs_transfer_event_fill,
	.taken = kverbs_transfer_event_taken,
};

/* The device is done with source and keys. */
static void kverbs_transfer_unmap(struct kverbs_transfer *t)
{
	if (!t->map)
		return;
	/* What a device may still touch stays pinned for ever. */
	if (!t->work->conn->qp.stuck || !t->posted)
		kverbs_mapping_put(t->map);
	kverbs_object_put(&t->remote->obj);
	t->map = NULL;
	t->remote = NULL;
}

static u32 kverbs_transfer_placement(const struct kverbs_transfer *t)
{
	u32 placed = t->work->conn->qp.dev->iwarp ? KVERBS_DELIVERED : KVERBS_COMPLETED;

	if (t->reached >= placed)
		return KVERBS_PLACEMENT_PLACED;
	return t->posted ? KVERBS_PLACEMENT_UNKNOWN : KVERBS_PLACEMENT_UNSENT;
}

/* The one place where a transfer ends. Send queue lock held. */
static void kverbs_transfer_finish(struct kverbs_transfer *t)
{
	struct kverbs_work *work = t->work;
	struct kverbs_qp *qp = &work->conn->qp;

	lockdep_assert_held(&qp->lock);
	list_del_init(&t->list);
	kverbs_transfer_unmap(t);
	t->placement = kverbs_transfer_placement(t);
	work->unfinished--;
	if (t->reached < KVERBS_COMPLETED && !--work->incomplete)
		wake_up_all(&work->conn->wait);
	if (t->reached >= KVERBS_COMPLETED && t->timeout_ms)
		work->timed--;
	qp->counters.finished++;
	qp->counters.failed += !!t->error.code;
	trace_kverbs_final(t->conn_id, t->user_data, t->reached, t->placement, t->error.code);
	if (!kverbs_event_push(&t->ctx->events, &t->node))
		kverbs_transfer_event_taken(&t->node);
}

/* End with the connection's first error as the cause. */
static void kverbs_transfer_abort(struct kverbs_transfer *t)
{
	struct kverbs_error why;

	if (!t->error.code) {
		kverbs_connection_error(t->work->conn, &why);
		t->error.step = why.step ?: KVERBS_STEP_PEER;
		t->error.code = why.code ?: t->error.step == KVERBS_STEP_LOCAL ? ECANCELED :
										 ECONNRESET;
		t->error.wc_status = why.wc_status;
		t->error.vendor_err = why.vendor_err;
	}
	kverbs_transfer_finish(t);
}

static void kverbs_transfer_reach(struct kverbs_transfer *t, enum kverbs_moment moment, u64 now)
{
	struct kverbs_work *work = t->work;

	t->reached = moment;
	t->stamps[moment] = max(now, t->stamps[moment - 1]);
	if (moment < t->until)
		list_move_tail(&t->list, &work->await[moment + 1]);
	else
		kverbs_transfer_finish(t);
}

/* Take from the head of each list what is acknowledged, moment by moment. */
static void kverbs_work_advance(struct kverbs_work *work, u64 now)
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

/* Its last work request came back and the whole range was posted. */
static void kverbs_transfer_completed(struct kverbs_transfer *t, u64 now)
{
	struct kverbs_work *work = t->work;

	kverbs_transfer_unmap(t);
	work->conn->qp.counters.bytes += t->length;
	if (t->timeout_ms) {
		t->deadline = jiffies + msecs_to_jiffies(t->timeout_ms);
		work->timed++;
	}
	if (!--work->incomplete)
		wake_up_all(&work->conn->wait);
	kverbs_transfer_reach(t, KVERBS_COMPLETED, now);
	if (work->acked[KVERBS_DELIVERED])
		kverbs_work_advance(work, now);
}

static void kverbs_transfer_reclaimed(struct kverbs_slot_owner *owner,
				      const struct kverbs_fate *fate)
{
	struct kverbs_transfer *t = container_of(owner, struct kverbs_transfer, owner);

	t->wrs--;
	t->posted -= fate->unsent;
	if (unlikely(fate->status) && !t->error.code && fate->status != IB_WC_WR_FLUSH_ERR) {
		t->error.step = fate->unsent ? KVERBS_STEP_POST : KVERBS_STEP_SEND;
		t->error.code = fate->code;
		t->error.wc_status = fate->unsent ? 0 : fate->status;
		t->error.vendor_err = fate->vendor_err;
	}
	t->broken |= !!fate->status;
	if (t->wrs)
		return;
	if (unlikely(t->broken))
		kverbs_transfer_abort(t);
	else if (!t->slice.left)
		kverbs_transfer_completed(t, fate->now);
}

static bool kverbs_transfer_wants_done(const struct kverbs_transfer *t)
{
	return t->notify || t->until > KVERBS_COMPLETED;
}

/* Room for the last piece and the DONE that goes with it. */
static bool kverbs_transfer_done_room(struct kverbs_transfer *t)
{
	struct kverbs_connection *conn = t->work->conn;
	enum kverbs_credit_class class = t->notify ? KVERBS_CREDIT_DATA : KVERBS_CREDIT_CONTROL;

	return KVERBS_CHAIN - conn->qp.nr_chain >= 2 && kverbs_control_room(conn, class);
}

static void kverbs_transfer_put_done(struct kverbs_transfer *t)
{
	struct kverbs_msg msg = {
		.type = KVERBS_MSG_DONE,
		.done = {
			.seq = ++t->work->seq,
			.offset = t->region_offset,
			.length = t->length,
			.tag = t->tag,
			.region = t->remote->name,
			.notify = t->notify,
		},
	};

	t->seq = msg.done.seq;
	kverbs_control_put(t->work->conn, &msg);
}

static void kverbs_transfer_add_piece(struct kverbs_transfer *t)
{
	struct kverbs_qp *qp = &t->work->conn->qp;
	struct kverbs_piece piece;
	struct kverbs_wr *wr;

	wr = kverbs_qp_next(qp, KVERBS_SLOT_DATA, &t->owner);
	kverbs_slice_next(&t->slice, &qp->limits, &piece, wr->sge);
	wr->send.opcode = IB_WR_RDMA_WRITE;
	wr->send.num_sge = piece.nr_sge;
	wr->rdma.remote_addr = piece.addr;
	wr->rdma.rkey = piece.rkey;
	/* Show progress: a chain of large pieces may take long. */
	if (piece.length >= KVERBS_SIGNAL_BYTES)
		wr->send.send_flags = IB_SEND_SIGNALED;
	t->wrs++;
	t->posted++;
}

/* Add what fits of one transfer to the chain. True when all of it is there. */
static bool kverbs_transfer_fill(struct kverbs_transfer *t)
{
	struct kverbs_qp *qp = &t->work->conn->qp;
	bool done = kverbs_transfer_wants_done(t);

	while (t->slice.left) {
		if (!kverbs_qp_room(qp, KVERBS_SLOT_DATA)) {
			qp->counters.slot_stalls++;
			return false;
		}
		if (done && t->slice.left <= qp->limits.max_bytes &&
		    !kverbs_transfer_done_room(t)) {
			qp->counters.credit_stalls++;
			return false;
		}
		kverbs_transfer_add_piece(t);
	}
	if (done)
		kverbs_transfer_put_done(t);
	return true;
}

static void kverbs_work_add_transfers(struct kverbs_work *work)
{
	struct kverbs_transfer *t, *next;

	list_for_each_entry_safe(t, next, &work->fifo, list) {
		if (!kverbs_transfer_fill(t))
			return;
		list_move_tail(&t->list, &work->await[KVERBS_COMPLETED]);
	}
}

/* Tell the peer how far its writes have come; each message covers all before. */
static void kverbs_work_add_acks(struct kverbs_work *work)
{
	struct kverbs_msg msg = { .type = KVERBS_MSG_DELIVERED, .delivered = work->seen };

	if (work->told < work->seen && kverbs_control_put(work->conn, &msg))
		work->told = work->seen;

	msg = (struct kverbs_msg) {
		.type = KVERBS_MSG_CONSUMED,
		.consumed = work->consumed,
		.persisted = work->persisted,
	};
	if (work->want_consumed && kverbs_control_put(work->conn, &msg))
		work->want_consumed = false;
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
		full = conn->qp.nr_chain >= KVERBS_CHAIN - 1;
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
 * kverbs_transfer_create() - make a transfer from an item
 * @conn: up and held
 * @item: checked but for its ranges
 * @buf: the source
 * @remote: the target, on @conn
 *
 * Context: Process context, may sleep.
 * Return: a transfer, not yet submitted, or ERR_PTR().
 */
struct kverbs_transfer *kverbs_transfer_create(struct kverbs_connection *conn,
					       const struct kverbs_item *item,
					       struct kverbs_buffer *buf,
					       struct kverbs_region_remote *remote)
{
	struct kverbs_transfer *t;
	u64 end;

	if (check_add_overflow(item->buf_offset, item->length, &end) || end > buf->length)
		return ERR_PTR(-ERANGE);
	if (check_add_overflow(item->region_offset, item->length, &end) ||
	    end > remote->length)
		return ERR_PTR(-ERANGE);
	if (!(remote->rights & KVERBS_RIGHT_WRITE))
		return ERR_PTR(-EACCES);
	if (!atomic_add_unless(&conn->ctx->pending, 1, KVERBS_MAX_PENDING))
		return ERR_PTR(-EAGAIN);
	t = kmem_cache_zalloc(kverbs_transfer_cache, GFP_KERNEL);
	if (!t) {
		atomic_dec(&conn->ctx->pending);
		return ERR_PTR(-ENOMEM);
	}
	kverbs_context_get(conn->ctx);
	t->ctx = conn->ctx;
	t->conn_id = conn->obj.id;
	t->work = kverbs_conn_work(conn);
	t->owner.reclaimed = kverbs_transfer_reclaimed;
	t->notify = item->flags & KVERBS_ITEM_NOTIFY;
	t->until = item->until;
	t->timeout_ms = item->timeout_ms;
	t->region_offset = item->region_offset;
	t->length = item->length;
	t->tag = item->tag;
	t->user_data = item->user_data;
	INIT_LIST_HEAD(&t->list);
	kverbs_event_node_init(&t->node, &kverbs_transfer_event_ops);
	t->map = kverbs_mapping_get(buf, conn->qp.dev);
	if (IS_ERR(t->map)) {
		struct kverbs_mapping *map = t->map;

		kverbs_transfer_event_taken(&t->node);
		return ERR_CAST(map);
	}
	kverbs_object_get(&remote->obj);
	t->remote = remote;
	kverbs_mapping_sync_for_device(t->map, item->buf_offset, item->length);
	kverbs_slice_init(&t->slice, &t->map->source, item->buf_offset, &remote->target,
			  item->region_offset, item->length);
	return t;
}

/**
 * kverbs_transfer_discard() - drop a transfer that was not submitted
 * @t: the transfer
 *
 * Context: Process context.
 */
void kverbs_transfer_discard(struct kverbs_transfer *t)
{
	list_del(&t->list);
	kverbs_transfer_unmap(t);
	kverbs_transfer_event_taken(&t->node);
}

/**
 * kverbs_transfer_submit() - accept transfers and pump
 * @conn: the connection
 * @batch: struct kverbs_transfer, in order; empty afterwards unless it failed
 *
 * From here on each has exactly one final event.
 *
 * Context: Process context.
 * Return: 0, or -ENOTCONN with nothing accepted.
 */
int kverbs_transfer_submit(struct kverbs_connection *conn, struct list_head *batch)
{
	struct kverbs_work *work = kverbs_conn_work(conn);
	u64 now = ktime_get_ns();
	struct kverbs_transfer *t;
	int ret = 0;

	spin_lock_bh(&conn->qp.lock);
	if (work->closed || work->draining) {
		spin_unlock_bh(&conn->qp.lock);
		return -ENOTCONN;
	}
	list_for_each_entry(t, batch, list) {
		trace_kverbs_submit(t->conn_id, t->user_data, t->region_offset, t->length);
		t->stamps[KVERBS_POSTED] = now;
		work->unfinished++;
		work->incomplete++;
		conn->qp.counters.submitted++;
	}
	list_splice_tail_init(batch, &work->fifo);
	ret = kverbs_work_pump_locked(work);
	spin_unlock_bh(&conn->qp.lock);
	if (unlikely(ret))
		kverbs_connection_post_failed(conn, KVERBS_STEP_POST, ret);
	return 0;
}

/**
 * kverbs_transfer_ack() - our program has consumed notifications
 * @conn: the connection
 * @seq: all up to this one
 * @persisted: and has them on stable storage
 *
 * Context: Process context.
 * Return: 0, -ERANGE when no such notification was taken, -ENOTCONN.
 */
int kverbs_transfer_ack(struct kverbs_connection *conn, u64 seq, bool persisted)
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

/**
 * kverbs_transfer_finish_all() - accept no more, wait until all is COMPLETED
 * @conn: the connection
 * @timeout_ms: how long
 *
 * Context: Process context, may sleep; killable.
 * Return: 0, -ETIMEDOUT, -EINTR, or -ENOTCONN if it is or goes down.
 */
int kverbs_transfer_finish_all(struct kverbs_connection *conn, u32 timeout_ms)
{
	struct kverbs_work *work = kverbs_conn_work(conn);
	long left;

	spin_lock_bh(&conn->qp.lock);
	work->draining = true;
	spin_unlock_bh(&conn->qp.lock);
	left = wait_event_killable_timeout(conn->wait,
					   kverbs_work_idle(work) ||
					   !kverbs_connection_is_up(conn),
					   msecs_to_jiffies(timeout_ms));
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
	if (!done->notify)
		return 0;

	kverbs_connection_get(conn);
	if (kverbs_event_push(&conn->ctx->events, &recv->node))
		return 1;
	kverbs_connection_put(conn);
	return 0;
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
	for (i = 0; i < KVERBS_MOMENTS; i++)
		INIT_LIST_HEAD(&work->await[i]);
	INIT_LIST_HEAD(&work->regions);
	INIT_LIST_HEAD(&work->advertise);
	INIT_LIST_HEAD(&work->remotes);
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
	for (moment = KVERBS_MOMENTS - 1; moment >= KVERBS_COMPLETED; moment--)
		list_for_each_entry_safe(t, next, &work->await[moment], list)
			kverbs_transfer_abort(t);
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
	.told = kverbs_region_told,
	.pump = kverbs_work_pump,
	.message = kverbs_work_message,
	.quiesce = kverbs_work_quiesce,
	.abort = kverbs_work_abort,
	.unregister = kverbs_region_end,
	.release = kverbs_work_release,
};
