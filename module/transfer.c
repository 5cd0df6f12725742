// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transfers. See transfer.h.
 *
 * What a slice puts into the chain counts in @wrs until it is reclaimed. When
 * the whole range is posted and @wrs is back to zero, the transfer has come to
 * COMPLETED and its source may be reused. From there on it waits for the peer's
 * acknowledgements, or ends by its time-out.
 *
 * After the first error nothing ends by itself any more: the connection is torn
 * down, and when nothing is on the device all that is left is ended by
 * kverbs_work_abort(), in the order of submission.
 */
#include <linux/ktime.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "trace.h"
#include "transfer.h"
#include "work.h"

#define KVERBS_SIGNAL_BYTES	SZ_256K	/* a piece this large is signaled */

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

/**
 * kverbs_transfer_finish() - the one place where a transfer ends
 * @t: in one of its work's lists
 *
 * Context: Send queue lock held.
 */
void kverbs_transfer_finish(struct kverbs_transfer *t)
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

/**
 * kverbs_transfer_abort() - end with the connection's first error as the cause
 * @t: none of its work requests is on the device
 *
 * Context: Send queue lock held.
 */
void kverbs_transfer_abort(struct kverbs_transfer *t)
{
	struct kverbs_error why;

	kverbs_connection_error(t->work->conn, &why);
	/* What a provider says of work that we ended ourselves (siw) is noise. */
	if (!t->error.code || why.step == KVERBS_STEP_LOCAL) {
		t->error.step = why.step ?: KVERBS_STEP_PEER;
		t->error.code = why.code ?: t->error.step == KVERBS_STEP_LOCAL ? ECANCELED :
										 ECONNRESET;
		t->error.wc_status = why.wc_status;
		t->error.vendor_err = why.vendor_err;
	}
	kverbs_transfer_finish(t);
}

/**
 * kverbs_transfer_reach() - a moment has come
 * @t: waits for it
 * @moment: enum kverbs_moment
 * @now: CLOCK_MONOTONIC nanoseconds
 *
 * Context: Send queue lock held.
 */
void kverbs_transfer_reach(struct kverbs_transfer *t, enum kverbs_moment moment, u64 now)
{
	struct kverbs_work *work = t->work;

	t->reached = moment;
	t->stamps[moment] = max(now, t->stamps[moment - 1]);
	if (moment < t->until)
		list_move_tail(&t->list, &work->await[moment + 1]);
	else
		kverbs_transfer_finish(t);
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
	if (!t->wrs && !t->slice.left && !t->broken)
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

/**
 * kverbs_transfer_fill() - add what fits of a transfer to the chain
 * @t: the head of the fifo
 *
 * Context: Send queue lock held.
 * Return: true when all of it is there.
 */
bool kverbs_transfer_fill(struct kverbs_transfer *t)
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
