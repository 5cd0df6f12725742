// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transfers. See transfer.h; how they are posted is told in fill.c.
 *
 * What is put into the chain counts in @wrs until it is reclaimed. When the
 * whole range is posted and @wrs is back to zero, the transfer has come to
 * COMPLETED and its memory may be reused. From there on it waits for the peer's
 * acknowledgements, or ends by its time-out.
 *
 * After the first error nothing ends by itself any more: the connection is torn
 * down, and when nothing is on the device all that is left is ended by
 * kverbs_work_abort(), in the order of submission.
 */
#include <linux/math64.h>
#include <linux/nospec.h>
#include <linux/slab.h>

#include "batch.h"
#include "fill.h"
#include "trace.h"
#include "work.h"

/**
 * struct kverbs_op_rule - what an operation may be
 * @rights: KVERBS_RIGHT_* that it needs of the region; 0 = it has no region
 * @flags: KVERBS_ITEM_* that go with it
 * @features: enum kverbs_feature that the device must have
 * @sink: it changes the buffer, and has no moment after COMPLETED
 */
struct kverbs_op_rule {
	u32 rights;
	u32 flags;
	u32 features;
	bool sink;
};

#define KVERBS_ITEM_ALL \
	(KVERBS_ITEM_NOTIFY | KVERBS_ITEM_IMM | KVERBS_ITEM_FENCE | KVERBS_ITEM_INLINE)

static const struct kverbs_op_rule kverbs_op_rules[] = {
	[KVERBS_OP_WRITE] = {
		.rights = KVERBS_RIGHT_WRITE,
		.flags = KVERBS_ITEM_ALL,
		.features = KVERBS_FEATURE_WRITE,
	},
	[KVERBS_OP_READ] = {
		.rights = KVERBS_RIGHT_READ,
		.flags = KVERBS_ITEM_FENCE,
		.features = KVERBS_FEATURE_READ,
		.sink = true,
	},
	[KVERBS_OP_SEND] = {
		.flags = KVERBS_ITEM_FENCE,
		.features = KVERBS_FEATURE_SEND,
	},
	[KVERBS_OP_FETCH_ADD] = {
		.rights = KVERBS_RIGHT_ATOMIC,
		.flags = KVERBS_ITEM_FENCE,
		.features = KVERBS_FEATURE_ATOMIC,
		.sink = true,
	},
	[KVERBS_OP_CMP_SWAP] = {
		.rights = KVERBS_RIGHT_ATOMIC,
		.flags = KVERBS_ITEM_FENCE,
		.features = KVERBS_FEATURE_ATOMIC,
		.sink = true,
	},
};

static const struct kverbs_op_rule *kverbs_op_rule(u32 op)
{
	if (!op || op >= ARRAY_SIZE(kverbs_op_rules))
		return NULL;
	return &kverbs_op_rules[array_index_nospec(op, ARRAY_SIZE(kverbs_op_rules))];
}

static bool kverbs_op_is_atomic(u32 op)
{
	return op == KVERBS_OP_FETCH_ADD || op == KVERBS_OP_CMP_SWAP;
}

/* What the peer's program is told of, it can acknowledge. */
static bool kverbs_item_told(u32 op, u32 flags)
{
	return op == KVERBS_OP_SEND || flags & (KVERBS_ITEM_NOTIFY | KVERBS_ITEM_IMM);
}

static int kverbs_item_check_size(struct kverbs_connection *conn, const struct kverbs_item *item)
{
	u32 most = conn->qp.actual.max_inline;

	if (!item->length || (kverbs_op_is_atomic(item->op) && item->length != sizeof(u64)))
		return -EINVAL;
	if (item->op == KVERBS_OP_SEND && item->length > KVERBS_MESSAGE_MAX)
		return -EMSGSIZE;
	if (item->flags & KVERBS_ITEM_INLINE && item->length > most)
		return most ? -EMSGSIZE : -EOPNOTSUPP;
	return 0;
}

/* Fields that the operation has no use for are zero, those it has are in range. */
static int kverbs_item_check_fields(const struct kverbs_item *item,
				    const struct kverbs_op_rule *rule)
{
	if (!rule->rights && (item->region_id || item->region_offset))
		return -EINVAL;
	if (rule->sink && item->tag)
		return -EINVAL;
	if (item->flags & KVERBS_ITEM_IMM &&
	    (item->tag > U32_MAX || item->flags & KVERBS_ITEM_NOTIFY))
		return -EINVAL;
	if (item->operand && !kverbs_op_is_atomic(item->op))
		return -EINVAL;
	return item->compare && item->op != KVERBS_OP_CMP_SWAP ? -EINVAL : 0;
}

static int kverbs_item_check_moment(const struct kverbs_item *item,
				    const struct kverbs_op_rule *rule)
{
	if (item->until < KVERBS_COMPLETED || item->until >= KVERBS_MOMENTS)
		return -EINVAL;
	if (rule->sink && item->until > KVERBS_COMPLETED)
		return -EOPNOTSUPP;
	/* Nobody consumes what nobody is told of. */
	if (item->until >= KVERBS_CONSUMED && !kverbs_item_told(item->op, item->flags))
		return -EINVAL;
	return 0;
}

/**
 * kverbs_transfer_check() - can this item be done on this connection?
 * @conn: held
 * @item: from the program; its objects and ranges are not looked at
 *
 * Context: Any.
 * Return: 0, -EOPNOTSUPP, -EINVAL, -EMSGSIZE.
 */
int kverbs_transfer_check(struct kverbs_connection *conn, const struct kverbs_item *item)
{
	const struct kverbs_op_rule *rule = kverbs_op_rule(item->op);
	u32 features;

	/* What is asked for most can do without a closer look. */
	if (likely(item->op == KVERBS_OP_WRITE && !item->flags && item->length &&
		   item->until == KVERBS_COMPLETED && !item->operand && !item->compare))
		return 0;
	if (!rule || item->flags & ~KVERBS_ITEM_ALL)
		return -EOPNOTSUPP;
	if (item->flags & ~rule->flags)
		return -EINVAL;
	features = rule->features;
	if (item->flags & KVERBS_ITEM_IMM)
		features |= KVERBS_FEATURE_IMM;
	if (features & ~conn->features || (rule->sink && !conn->rd_out))
		return -EOPNOTSUPP;
	/* A fenced read is none there is on iWARP's send queue (siw_qp.c). */
	if (item->op == KVERBS_OP_READ && item->flags & KVERBS_ITEM_FENCE && conn->qp.dev->iwarp)
		return -EOPNOTSUPP;
	return kverbs_item_check_size(conn, item) ?: kverbs_item_check_fields(item, rule) ?:
	       kverbs_item_check_moment(item, rule);
}

static void kverbs_transfer_event_fill(struct kverbs_event_node *node,
				       struct kverbs_event *event)
{
	struct kverbs_transfer *t = container_of(node, struct kverbs_transfer, node);
	u32 moment;

	event->kind = KVERBS_EVENT_FINAL;
	event->id = t->batch->conn_id;
	event->user_data = t->user_data;
	event->status = t->error.code;
	event->asked = t->until;
	event->reached = t->reached;
	event->placement = t->placement;
	event->step = t->error.step;
	event->wc_status = t->error.wc_status;
	event->vendor_err = t->error.vendor_err;
	event->length = t->length;
	event->stamps[KVERBS_POSTED] = t->batch->stamps[KVERBS_POSTED];
	for (moment = KVERBS_COMPLETED; moment <= t->reached; moment++)
		event->stamps[moment] = t->stamps[moment - 1];
}

static void kverbs_transfer_event_taken(struct kverbs_event_node *node)
{
	struct kverbs_transfer *t = container_of(node, struct kverbs_transfer, node);

	kverbs_batch_put(t->batch);
}

static const struct kverbs_event_ops kverbs_transfer_event_ops = {
	.fill = kverbs_transfer_event_fill,
	.taken = kverbs_transfer_event_taken,
};

/**
 * kverbs_transfer_release() - let go of the memory of both ends
 * @t: the device does not touch it, or never knew it
 *
 * Context: Any but hard interrupt.
 */
void kverbs_transfer_release(struct kverbs_transfer *t)
{
	if (t->map)
		kverbs_mapping_put(t->map);
	if (t->remote)
		kverbs_object_put(&t->remote->obj);
	kfree(t->copy);
	t->map = NULL;
	t->remote = NULL;
	t->copy = NULL;
}

static u32 kverbs_transfer_placement(const struct kverbs_transfer *t)
{
	bool handed_over = t->batch->work->conn->qp.dev->iwarp &&
			   !kverbs_op_rules[t->op].sink;
	u32 placed = handed_over ? KVERBS_DELIVERED : KVERBS_COMPLETED;

	if (t->reached >= placed)
		return KVERBS_PLACEMENT_PLACED;
	return t->posted ? KVERBS_PLACEMENT_UNKNOWN : KVERBS_PLACEMENT_UNSENT;
}

static void kverbs_transfer_push(struct kverbs_transfer *t)
{
	kverbs_event_node_init(&t->node, &kverbs_transfer_event_ops);
	t->placement = kverbs_transfer_placement(t);
	if (!kverbs_event_push(&t->batch->ctx->events, &t->node))
		kverbs_transfer_event_taken(&t->node);
}

/* Tell whoever is told of it; afterwards the transfer may be gone. */
static void kverbs_transfer_report(struct kverbs_transfer *t)
{
	struct kverbs_batch *batch = t->batch;
	bool own_event = t->error.code && !batch->ended;

	if (!batch->one && !batch->ended) {
		kverbs_transfer_push(t);
		return;
	}
	/* The event for all comes last, and keeps the batch until then. */
	if (own_event)
		kverbs_transfer_push(t);
	kverbs_batch_count(batch, t);
	if (!own_event)
		kverbs_batch_put(batch);
}

/**
 * kverbs_transfer_finish() - the one place where a transfer ends
 * @t: in one of its work's lists
 *
 * Context: Send queue lock held.
 */
void kverbs_transfer_finish(struct kverbs_transfer *t)
{
	struct kverbs_batch *batch = t->batch;
	struct kverbs_work *work = batch->work;
	struct kverbs_qp *qp = &work->conn->qp;

	lockdep_assert_held(&qp->lock);
	/* One that nobody waits for any more may be the next to be posted. */
	if (unlikely(work->unposted == &t->list))
		work->unposted = t->list.next;
	list_del(&t->list);
	/* What a device may still touch stays pinned for ever. */
	if (!qp->stuck || !t->posted)
		kverbs_transfer_release(t);
	work->unfinished--;
	if (t->reached < KVERBS_COMPLETED && !--work->incomplete)
		wake_up_all(&work->conn->wait);
	if (t->reached >= KVERBS_COMPLETED && t->timeout_ms)
		work->timed--;
	qp->counters.finished++;
	qp->counters.failed += !!t->error.code;
	trace_kverbs_final(batch->conn_id, t->user_data, t->reached, t->error.code);
	kverbs_transfer_report(t);
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

	kverbs_connection_error(t->batch->work->conn, &why);
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
	t->reached = moment;
	t->stamps[moment - 1] = now;
	if (moment < t->until)
		list_move_tail(&t->list, &t->batch->work->await[moment + 1]);
	else
		kverbs_transfer_finish(t);
}

/* Its last work request came back and the whole range was posted. */
static void kverbs_transfer_completed(struct kverbs_transfer *t, u64 now)
{
	struct kverbs_work *work = t->batch->work;

	if (unlikely(kverbs_op_rules[t->op].sink))
		kverbs_mapping_sync_for_cpu(t->map, t->offset, t->length);
	kverbs_transfer_release(t);
	work->conn->qp.counters.bytes += t->length;
	if (t->timeout_ms) {
		t->deadline = jiffies + msecs_to_jiffies(t->timeout_ms);
		work->timed++;
	}
	if (!--work->incomplete && wq_has_sleeper(&work->conn->wait))
		wake_up_all(&work->conn->wait);
	kverbs_transfer_reach(t, KVERBS_COMPLETED, now);
	if (work->acked[KVERBS_DELIVERED])
		kverbs_work_advance(work, now);
}

static void kverbs_transfer_blame(struct kverbs_transfer *t, const struct kverbs_fate *fate)
{
	t->broken = true;
	if (t->error.code || fate->status == IB_WC_WR_FLUSH_ERR)
		return;
	t->error.step = fate->unsent ? KVERBS_STEP_POST : KVERBS_STEP_SEND;
	t->error.code = fate->code;
	t->error.wc_status = fate->unsent ? 0 : fate->status;
	t->error.vendor_err = fate->vendor_err;
}

static void kverbs_transfer_reclaimed(struct kverbs_slot_owner *owner,
				      const struct kverbs_fate *fate)
{
	struct kverbs_transfer *t = container_of(owner, struct kverbs_transfer, owner);

	t->wrs--;
	t->posted -= fate->unsent;
	if (unlikely(t->registers))
		kverbs_mr_pool_put(&t->batch->work->conn->qp.locals);
	if (unlikely(fate->status))
		kverbs_transfer_blame(t, fate);
	if (!t->wrs && !t->slice.left && !t->broken)
		kverbs_transfer_completed(t, fate->now);
}

/* Bytes that the program may change as soon as the item is accepted. */
static int kverbs_transfer_copy(struct kverbs_transfer *t, const struct kverbs_buffer *buf)
{
	struct kverbs_copy *copy = kmalloc(struct_size(copy, bytes, t->length), GFP_KERNEL_ACCOUNT);

	if (!copy)
		return -ENOMEM;
	copy->length = t->length;
	kverbs_buffer_copy(buf, t->offset, copy->bytes, t->length);
	/* Inline bytes are given by their virtual address. */
	copy->extent = (struct kverbs_extent) {
		.addr = (uintptr_t)copy->bytes,
		.length = t->length,
	};
	copy->source = (struct kverbs_source) { .extent = &copy->extent, .nr = 1 };
	t->copy = copy;
	return 0;
}

/* Both ends' memory, and the cursor over them. */
static int kverbs_transfer_memory(struct kverbs_transfer *t, struct kverbs_buffer *buf,
				  struct kverbs_mapping *map,
				  struct kverbs_region_remote *remote)
{
	int ret;

	if (t->op == KVERBS_OP_SEND || t->flags & KVERBS_ITEM_INLINE) {
		ret = kverbs_transfer_copy(t, buf);
		if (ret)
			return ret;
	} else {
		kverbs_mapping_hold(map);
		t->map = map;
		if (map->need_sync)
			kverbs_mapping_sync_for_device(map, t->offset, t->length);
	}
	if (!remote)
		return 0;
	kverbs_object_get(&remote->obj);
	t->remote = remote;
	kverbs_slice_init(&t->slice, t->map ? &map->source : &t->copy->source,
			  t->map ? t->offset : 0, &remote->target, t->region_offset, t->length);
	return 0;
}

static bool kverbs_range_ok(u64 offset, u64 length, u64 all)
{
	return length <= all && offset <= all - length;
}

/* The ranges, the rights, and that 8 bytes are 8 bytes. */
static int kverbs_transfer_fits(const struct kverbs_item *item, const struct kverbs_buffer *buf,
				const struct kverbs_region_remote *remote)
{
	const struct kverbs_op_rule *rule = &kverbs_op_rules[item->op];
	u64 end;

	if (!kverbs_range_ok(item->buf_offset, item->length, buf->length))
		return -ERANGE;
	if (remote && !kverbs_range_ok(item->region_offset, item->length, remote->length))
		return -ERANGE;
	if ((remote && ~remote->rights & rule->rights) || (rule->sink && !buf->writable))
		return -EACCES;
	if (!kverbs_op_is_atomic(item->op))
		return 0;
	if (!IS_ALIGNED(remote->target.addr + item->region_offset, sizeof(u64)) ||
	    !IS_ALIGNED(buf->lead + item->buf_offset, sizeof(u64)))
		return -EINVAL;
	/* A key may end anywhere, if the peer says so. */
	div64_u64_rem(remote->target.lead + item->region_offset, remote->target.span, &end);
	return end + sizeof(u64) > remote->target.span ? -EINVAL : 0;
}

/* Does each piece go through a registration? */
static bool kverbs_transfer_registers(const struct kverbs_transfer *t)
{
	const struct kverbs_qp *qp = &t->batch->work->conn->qp;

	if (likely(!qp->locals.nr) || t->flags & KVERBS_ITEM_INLINE)
		return false;
	return t->op == KVERBS_OP_READ || (qp->reg && t->op == KVERBS_OP_WRITE);
}

/**
 * kverbs_transfer_init() - make the next transfer of a batch from an item
 * @batch: not accepted yet, with room
 * @item: checked (kverbs_transfer_check())
 * @buf: the local buffer
 * @map: its mapping on the connection's device
 * @remote: the remote region, on the same connection; NULL for a message
 *
 * Context: Process context, may sleep.
 * Return: 0, -ERANGE, -EACCES, -EINVAL, -ENOMEM.
 */
int kverbs_transfer_init(struct kverbs_batch *batch, const struct kverbs_item *item,
			 struct kverbs_buffer *buf, struct kverbs_mapping *map,
			 struct kverbs_region_remote *remote)
{
	struct kverbs_transfer *t = &batch->transfer[batch->nr];
	int ret;

	ret = kverbs_transfer_fits(item, buf, remote);
	if (ret)
		return ret;
	/* Field by field: what is set later is not cleared now. */
	t->owner.reclaimed = kverbs_transfer_reclaimed;
	t->batch = batch;
	t->op = item->op;
	t->until = item->until;
	t->reached = KVERBS_POSTED;
	t->flags = item->flags;
	t->broken = false;
	t->fence = item->flags & KVERBS_ITEM_FENCE;
	t->registers = kverbs_transfer_registers(t);
	t->wrs = 0;
	t->posted = 0;
	t->slice.left = 0;
	t->map = NULL;
	t->copy = NULL;
	t->remote = NULL;
	t->offset = item->buf_offset;
	t->region_offset = item->region_offset;
	t->length = item->length;
	t->tag = item->tag;
	t->user_data = item->user_data;
	t->operand = item->operand;
	t->compare = item->compare;
	t->timeout_ms = item->timeout_ms;
	/* Whole: an event tells all of it. */
	memset(&t->error, 0, sizeof(t->error));
	ret = kverbs_transfer_memory(t, buf, map, remote);
	if (ret)
		kverbs_transfer_release(t);
	else
		batch->nr++;
	return ret;
}
