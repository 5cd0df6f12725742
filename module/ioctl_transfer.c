// SPDX-License-Identifier: GPL-2.0-only
/*
 * SUBMIT, WAIT, ACK.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ioctl.h"
#include "ioctl_transfer.h"
#include "transfer.h"
#include "work.h"

/**
 * struct kverbs_batch - a SUBMIT in progress
 * @call: the ioctl
 * @conn: where it goes
 * @item: copy of the caller's items
 * @buf: the last item's buffer, with a reference
 * @remote: the last item's region, with a reference
 * @transfers: made so far, in order
 */
struct kverbs_batch {
	struct kverbs_call *call;
	struct kverbs_connection *conn;
	struct kverbs_item *item;
	struct kverbs_buffer *buf;
	struct kverbs_region_remote *remote;
	struct list_head transfers;
};

static int kverbs_item_check(const struct kverbs_item *item)
{
	if (item->op != KVERBS_OP_WRITE || item->flags & ~KVERBS_ITEM_NOTIFY)
		return -EOPNOTSUPP;
	if (!item->length || item->until < KVERBS_COMPLETED || item->until >= KVERBS_MOMENTS)
		return -EINVAL;
	/* Nobody consumes what nobody is told of. */
	if (item->until >= KVERBS_CONSUMED && !(item->flags & KVERBS_ITEM_NOTIFY))
		return -EINVAL;
	return 0;
}

/* Items of a batch mostly name the same objects: look up what differs. */
static int kverbs_batch_resolve(struct kverbs_batch *b, const struct kverbs_item *item)
{
	struct kverbs_context *ctx = b->call->ctx;
	struct kverbs_object *obj;

	if (!b->buf || b->buf->obj.id != item->buf_id) {
		obj = kverbs_context_find(ctx, item->buf_id, KVERBS_BUFFER);
		if (!obj)
			return -ENOENT;
		if (b->buf)
			kverbs_object_put(&b->buf->obj);
		b->buf = kverbs_to_buffer(obj);
	}
	if (!b->remote || b->remote->obj.id != item->region_id) {
		obj = kverbs_context_find(ctx, item->region_id, KVERBS_REMOTE);
		if (!obj)
			return -ENOENT;
		if (b->remote)
			kverbs_object_put(&b->remote->obj);
		b->remote = kverbs_to_remote(obj);
	}
	return b->remote->conn == b->conn ? 0 : -ENOENT;
}

static int kverbs_batch_add(struct kverbs_batch *b, const struct kverbs_item *item)
{
	struct kverbs_transfer *t;
	int ret;

	ret = kverbs_item_check(item) ?: kverbs_batch_resolve(b, item);
	if (ret)
		return ret;
	t = kverbs_transfer_create(b->conn, item, b->buf, b->remote);
	if (IS_ERR(t))
		return PTR_ERR(t);
	list_add_tail(&t->list, &b->transfers);
	return 0;
}

/* Make transfers of the items, up to the first that is refused. */
static void kverbs_batch_make(struct kverbs_batch *b, struct kverbs_submit *cmd)
{
	int ret = 0;

	for (cmd->accepted = 0; cmd->accepted < cmd->nr; cmd->accepted++) {
		ret = kverbs_batch_add(b, &b->item[cmd->accepted]);
		if (ret)
			break;
		cond_resched();
	}
	cmd->error = -ret;
}

static void kverbs_batch_discard(struct kverbs_batch *b)
{
	struct kverbs_transfer *t, *next;

	list_for_each_entry_safe(t, next, &b->transfers, list)
		kverbs_transfer_discard(t);
	if (b->buf)
		kverbs_object_put(&b->buf->obj);
	if (b->remote)
		kverbs_object_put(&b->remote->obj);
}

/* No memory of the caller's is touched while the connection is held. */
static int kverbs_submit(struct kverbs_batch *b)
{
	struct kverbs_submit *cmd = &b->call->cmd.submit;
	int ret;

	ret = kverbs_connection_hold(b->conn, KVERBS_CONN_UP);
	if (ret)
		return ret;
	kverbs_batch_make(b, cmd);
	ret = -(int)cmd->error;
	if (cmd->accepted)
		ret = kverbs_work_submit(b->conn, &b->transfers);
	kverbs_batch_discard(b);
	kverbs_connection_unhold(b->conn);
	return ret;
}

/* The items, and the proof that an answer can be written: once work is accepted
 * it cannot be taken back.
 */
static int kverbs_batch_read(struct kverbs_batch *b)
{
	struct kverbs_submit *cmd = &b->call->cmd.submit;

	cmd->accepted = 0;
	cmd->error = 0;
	if (copy_from_user(b->item, u64_to_user_ptr(cmd->items), cmd->nr * sizeof(*b->item)))
		return -EFAULT;
	return kverbs_reply(b->call);
}

/**
 * kverbs_ioctl_submit() - KVERBS_SUBMIT
 * @call: the ioctl
 *
 * Context: Process context.
 * Return: 0 when at least one item was accepted, or -errno.
 */
int kverbs_ioctl_submit(struct kverbs_call *call)
{
	struct kverbs_submit *cmd = &call->cmd.submit;
	struct kverbs_batch b = { .call = call, .transfers = LIST_HEAD_INIT(b.transfers) };
	int ret;

	if (cmd->flags)
		return -EOPNOTSUPP;
	if (!cmd->nr || cmd->nr > KVERBS_MAX_BATCH)
		return -EINVAL;
	b.conn = kverbs_call_connection(call, cmd->conn_id);
	if (IS_ERR(b.conn))
		return PTR_ERR(b.conn);
	b.item = kvmalloc_array(cmd->nr, sizeof(*b.item), GFP_KERNEL_ACCOUNT);
	ret = b.item ? kverbs_batch_read(&b) : -ENOMEM;
	ret = ret ?: kverbs_submit(&b);
	ret = ret ?: kverbs_reply(call);
	kvfree(b.item);
	kverbs_connection_put(b.conn);
	return ret;
}

/* One event to the caller. One that cannot be written stays the next one. */
static int kverbs_take_event(struct kverbs_context *ctx, struct kverbs_event __user *user)
{
	struct kverbs_event_node *node = kverbs_event_pop(&ctx->events);
	struct kverbs_event event;

	if (!node)
		return -EAGAIN;
	kverbs_event_take(node, &event);
	if (copy_to_user(user, &event, sizeof(event))) {
		if (!kverbs_event_unpop(&ctx->events, node))
			node->ops->taken(node);
		return -EFAULT;
	}
	node->ops->taken(node);
	return 0;
}

static int kverbs_take_events(struct kverbs_context *ctx, struct kverbs_wait *cmd)
{
	struct kverbs_event __user *user = u64_to_user_ptr(cmd->events);
	u32 nr = 0;
	int ret = 0;

	while (nr < cmd->nr && !ret) {
		ret = kverbs_take_event(ctx, user + nr);
		nr += !ret;
		cond_resched();
	}
	if (!nr)
		return ret;
	cmd->nr = nr;
	return 0;
}

/**
 * kverbs_ioctl_wait() - KVERBS_WAIT
 * @call: the ioctl
 *
 * Context: Process context, interruptible.
 * Return: 0 with at least one event, or -errno.
 */
int kverbs_ioctl_wait(struct kverbs_call *call)
{
	struct kverbs_wait *cmd = &call->cmd.wait;
	unsigned long until = jiffies + msecs_to_jiffies(cmd->timeout_ms);
	long left = MAX_SCHEDULE_TIMEOUT;
	int ret;

	if (cmd->flags & ~KVERBS_NONBLOCK)
		return -EOPNOTSUPP;
	if (!cmd->nr || cmd->nr > KVERBS_MAX_BATCH)
		return -EINVAL;
	/* What is taken cannot be put back: see first that the answer can be told. */
	ret = kverbs_reply(call);
	if (ret)
		return ret;
	do {
		ret = kverbs_take_events(call->ctx, cmd);
		if (ret != -EAGAIN || cmd->flags & KVERBS_NONBLOCK)
			break;
		/* Another reader may be faster: then wait for what is left. */
		if (cmd->timeout_ms)
			left = max_t(long, until - jiffies, 0);
		ret = kverbs_event_wait(&call->ctx->events, left) ?: -EAGAIN;
	} while (ret == -EAGAIN);
	return ret ?: kverbs_reply(call);
}

/**
 * kverbs_ioctl_ack() - KVERBS_ACK
 * @call: the ioctl
 *
 * Context: Process context.
 * Return: 0 or -errno.
 */
int kverbs_ioctl_ack(struct kverbs_call *call)
{
	struct kverbs_ack *cmd = &call->cmd.ack;
	struct kverbs_connection *conn;
	int ret;

	if (cmd->flags & ~KVERBS_ACK_PERSISTED)
		return -EOPNOTSUPP;
	if (cmd->reserved)
		return -EINVAL;
	conn = kverbs_call_connection(call, cmd->conn_id);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	ret = kverbs_work_ack(conn, cmd->seq, cmd->flags & KVERBS_ACK_PERSISTED);
	kverbs_connection_put(conn);
	return ret;
}
