// SPDX-License-Identifier: GPL-2.0-only
/*
 * Batch: the transfers of one submission. See batch.h.
 *
 * kverbs_transfer_init() makes the transfers one after the other, up to the first
 * that is refused; kverbs_batch_accept() is the point of no return, after which
 * each has exactly one final outcome. A batch that is not accepted is discarded.
 */
#include <linux/slab.h>

#include "batch.h"
#include "trace.h"
#include "work.h"

static void kverbs_batch_event_fill(struct kverbs_event_node *node, struct kverbs_event *event)
{
	struct kverbs_batch *batch = container_of(node, struct kverbs_batch, node);

	event->kind = KVERBS_EVENT_BATCH;
	event->id = batch->conn_id;
	event->user_data = batch->user_data;
	event->status = batch->code;
	event->reached = batch->reached;
	event->length = batch->bytes;
	event->nr = batch->nr;
	event->nr_failed = batch->failed;
	memcpy(event->stamps, batch->stamps, sizeof(event->stamps));
}

static void kverbs_batch_event_taken(struct kverbs_event_node *node)
{
	kverbs_batch_put(container_of(node, struct kverbs_batch, node));
}

static const struct kverbs_event_ops kverbs_batch_event_ops = {
	.fill = kverbs_batch_event_fill,
	.taken = kverbs_batch_event_taken,
};

/**
 * kverbs_batch_create() - make room for transfers
 * @conn: held meanwhile
 * @nr: how many at most, not 0; so much of the context is reserved
 *	(kverbs_context_reserve()), and given back when the batch is freed. On
 *	failure it is the caller's
 *
 * Context: Process context, may sleep.
 * Return: an empty batch with one reference, or NULL without memory.
 */
struct kverbs_batch *kverbs_batch_create(struct kverbs_connection *conn, u32 nr)
{
	struct kverbs_batch *batch;

	batch = kvmalloc(struct_size(batch, transfer, nr), GFP_KERNEL_ACCOUNT);
	if (!batch)
		return NULL;
	memset(batch, 0, sizeof(*batch));
	refcount_set(&batch->ref, 1);
	kverbs_context_get(conn->ctx);
	batch->ctx = conn->ctx;
	batch->work = kverbs_conn_work(conn);
	batch->conn_id = conn->obj.id;
	batch->reserved = nr;
	batch->reached = KVERBS_MOMENTS;
	kverbs_event_node_init(&batch->node, &kverbs_batch_event_ops);
	return batch;
}

/**
 * kverbs_batch_string() - make a list of its transfers
 * @batch: has at least one transfer
 * @list: an empty list
 *
 * They lie side by side, so their links are known without looking.
 *
 * Context: Process context.
 */
void kverbs_batch_string(struct kverbs_batch *batch, struct list_head *list)
{
	struct kverbs_transfer *t = batch->transfer, *last = &batch->transfer[batch->nr - 1];

	trace_kverbs_submit(batch->conn_id, batch->nr, t->user_data, t->region_offset, t->length);
	list->next = &t->list;
	t->list.prev = list;
	for (; t < last; t++) {
		t->list.next = &t[1].list;
		t[1].list.prev = &t->list;
	}
	t->list.next = list;
	list->prev = &t->list;
}

/**
 * kverbs_batch_accept() - from here on each of its transfers has one outcome
 * @batch: has at least one transfer
 *
 * Context: Send queue lock held.
 */
void kverbs_batch_accept(struct kverbs_batch *batch)
{
	batch->left = batch->nr;
	refcount_add(batch->nr + batch->one, &batch->ref);
}

/**
 * kverbs_batch_discard() - drop a batch that was not accepted
 * @batch: with the caller's reference
 *
 * Context: Process context.
 */
void kverbs_batch_discard(struct kverbs_batch *batch)
{
	u32 i;

	for (i = 0; i < batch->nr; i++)
		kverbs_transfer_release(&batch->transfer[i]);
	kverbs_batch_put(batch);
}

/**
 * kverbs_batch_count() - one transfer of a batch has ended
 * @batch: told at once of all, by @one or @ended
 * @t: the transfer
 *
 * Context: Send queue lock held.
 */
void kverbs_batch_count(struct kverbs_batch *batch, const struct kverbs_transfer *t)
{
	u32 moment;

	for (moment = KVERBS_COMPLETED; moment <= t->reached; moment++)
		batch->stamps[moment] = max(batch->stamps[moment], t->stamps[moment - 1]);
	batch->reached = min_t(u32, batch->reached, t->reached);
	if (t->error.code) {
		batch->failed++;
		batch->code = batch->code ?: t->error.code;
	} else {
		batch->bytes += t->length;
	}
	if (--batch->left)
		return;
	if (batch->ended)
		batch->ended(batch);
	else if (!kverbs_event_push(&batch->ctx->events, &batch->node))
		kverbs_batch_event_taken(&batch->node);
}

/**
 * kverbs_batch_put() - give a reference back
 * @batch: the batch
 *
 * Context: Any but hard interrupt.
 */
void kverbs_batch_put(struct kverbs_batch *batch)
{
	if (!refcount_dec_and_test(&batch->ref))
		return;
	kverbs_context_unreserve(batch->ctx, batch->reserved);
	kverbs_context_put(batch->ctx);
	kvfree(batch);
}
