// SPDX-License-Identifier: GPL-2.0-only
/*
 * SUBMIT, WAIT, ACK.
 *
 * SUBMIT copies the items in before it holds the connection, since no memory of
 * the caller's is touched while that is held: a fault there could wait for the
 * caller. What it has accepted cannot be taken back, so it sees first that its
 * answer can be written.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ioctl.h"
#include "ioctl_transfer.h"
#include "work.h"

/**
 * struct kverbs_resolved - the objects that an item names
 * @buf: the buffer, with a reference; NULL for none yet
 * @map: its mapping on the connection's device, with a reference
 * @remote: the region, with a reference; NULL for none
 *
 * Items of a submission mostly name the same: only what differs is looked up.
 */
struct kverbs_resolved {
	struct kverbs_buffer *buf;
	struct kverbs_mapping *map;
	struct kverbs_region_remote *remote;
};

static void kverbs_resolved_drop(struct kverbs_resolved *r)
{
	if (r->map)
		kverbs_mapping_put(r->map);
	if (r->buf)
		kverbs_object_put(&r->buf->obj);
	if (r->remote)
		kverbs_object_put(&r->remote->obj);
}

static int kverbs_resolve_buffer(struct kverbs_resolved *r, struct kverbs_connection *conn,
				 u32 id)
{
	struct kverbs_object *obj;
	struct kverbs_mapping *map;

	if (r->buf && r->buf->obj.id == id)
		return 0;
	obj = kverbs_context_find(conn->ctx, id, KVERBS_BUFFER);
	if (!obj)
		return -ENOENT;
	map = kverbs_mapping_get(kverbs_to_buffer(obj), conn->qp.dev);
	if (IS_ERR(map)) {
		kverbs_object_put(obj);
		return PTR_ERR(map);
	}
	if (r->buf) {
		kverbs_mapping_put(r->map);
		kverbs_object_put(&r->buf->obj);
	}
	r->buf = kverbs_to_buffer(obj);
	r->map = map;
	return 0;
}

static int kverbs_resolve_remote(struct kverbs_resolved *r, struct kverbs_connection *conn,
				 u32 id)
{
	struct kverbs_object *obj;

	if (r->remote && r->remote->obj.id == id)
		return 0;
	obj = kverbs_context_find(conn->ctx, id, KVERBS_REMOTE);
	if (!obj)
		return -ENOENT;
	if (kverbs_to_remote(obj)->conn != conn) {
		kverbs_object_put(obj);
		return -ENOENT;
	}
	if (r->remote)
		kverbs_object_put(&r->remote->obj);
	r->remote = kverbs_to_remote(obj);
	return 0;
}

static int kverbs_batch_add(struct kverbs_batch *batch, struct kverbs_connection *conn,
			    struct kverbs_resolved *r, const struct kverbs_item *item)
{
	bool message = item->op == KVERBS_OP_SEND;
	int ret;

	ret = kverbs_transfer_check(conn, item) ?: kverbs_resolve_buffer(r, conn, item->buf_id);
	if (!ret && !message)
		ret = kverbs_resolve_remote(r, conn, item->region_id);
	return ret ?: kverbs_transfer_init(batch, item, r->buf, r->map,
					   message ? NULL : r->remote);
}

/**
 * kverbs_batch_add_items() - make transfers of items, up to the first refused
 * @batch: empty
 * @conn: held
 * @item: the items, in kernel memory
 * @nr: how many; so much is reserved
 *
 * Context: Process context, may sleep.
 * Return: 0 or the -errno of the first that was refused; @batch says how many
 * were made.
 */
int kverbs_batch_add_items(struct kverbs_batch *batch, struct kverbs_connection *conn,
			   const struct kverbs_item *item, u32 nr)
{
	struct kverbs_resolved r = {};
	int ret = 0;

	while (batch->nr < nr && !ret) {
		ret = kverbs_batch_add(batch, conn, &r, &item[batch->nr]);
		if (!(batch->nr % 64))
			cond_resched();
	}
	kverbs_resolved_drop(&r);
	return ret;
}

/* Make a batch of as many items as there is room for, and hand it in. */
static int kverbs_submit_some(struct kverbs_connection *conn, struct kverbs_submit *cmd,
			      const struct kverbs_item *item, u32 room)
{
	struct kverbs_batch *batch = kverbs_batch_create(conn, room);
	int ret;

	if (!batch) {
		kverbs_context_unreserve(conn->ctx, room);
		return -ENOMEM;
	}
	batch->one = cmd->flags & KVERBS_SUBMIT_BATCH;
	batch->user_data = cmd->user_data;
	ret = kverbs_batch_add_items(batch, conn, item, room);
	if (!ret && room < cmd->nr)
		ret = -EAGAIN;
	cmd->error = -ret;
	if (batch->nr)
		ret = kverbs_work_submit(conn, batch);
	if (ret) {
		kverbs_batch_discard(batch);
		return ret;
	}
	cmd->accepted = batch->nr;
	kverbs_batch_put(batch);
	return 0;
}

static int kverbs_submit(struct kverbs_connection *conn, struct kverbs_submit *cmd,
			 const struct kverbs_item *item)
{
	int ret = kverbs_connection_hold(conn, KVERBS_CONN_UP);
	u32 room;

	if (ret)
		return ret;
	room = kverbs_context_reserve(conn->ctx, cmd->nr);
	ret = room ? kverbs_submit_some(conn, cmd, item, room) : -EAGAIN;
	kverbs_connection_unhold(conn);
	return ret;
}

/* Where events go, and that no message goes where there is no room. */
static int kverbs_take_check(const struct kverbs_take *take)
{
	return take->nr > KVERBS_MAX_BATCH || take->reserved ? -EINVAL : 0;
}

/*
 * The bytes of a message behind those that this call has taken already; returns
 * how many were written.
 */
static int kverbs_take_bytes(struct kverbs_event_node *node, const struct kverbs_take *take,
			     const struct kverbs_take *taken, struct kverbs_event *event)
{
	u32 room = take->data ? take->data_length - taken->data_length : 0;
	const void *bytes = NULL;
	u32 length;

	if (node->ops->bytes)
		bytes = node->ops->bytes(node, &length);
	if (!bytes)
		return 0;
	if (length > room && taken->nr)
		return -ENOSPC;
	if (length > room)
		event->status = EMSGSIZE;
	length = min(length, room);
	event->offset = taken->data_length;
	if (copy_to_user(u64_to_user_ptr(take->data) + taken->data_length, bytes, length))
		return -EFAULT;
	return length;
}

/* One event to the caller. One that cannot be written stays the next one. */
static int kverbs_take_event(struct kverbs_context *ctx, const struct kverbs_take *take,
			     struct kverbs_take *taken)
{
	struct kverbs_event __user *user = u64_to_user_ptr(take->events);
	struct kverbs_event_node *node = kverbs_event_pop(&ctx->events);
	struct kverbs_event event;
	int ret;

	if (!node)
		return -EAGAIN;
	kverbs_event_take(node, &event);
	ret = kverbs_take_bytes(node, take, taken, &event);
	if (ret >= 0 && copy_to_user(user + taken->nr, &event, sizeof(event)))
		ret = -EFAULT;
	if (ret < 0) {
		if (!kverbs_event_unpop(&ctx->events, node))
			node->ops->taken(node);
		return ret;
	}
	taken->nr++;
	taken->data_length += ret;
	node->ops->taken(node);
	return 0;
}

/* As many as there are and fit; *@taken says what the caller has got. */
static int kverbs_take_events(struct kverbs_context *ctx, const struct kverbs_take *take,
			      struct kverbs_take *taken)
{
	int ret = 0;

	while (taken->nr < take->nr && !ret) {
		ret = kverbs_take_event(ctx, take, taken);
		cond_resched();
	}
	return taken->nr ? 0 : ret;
}

/*
 * Wait for the queue. Where something must be polled for, do so until it brings
 * an event, or the time is up: that is what polling directly means.
 */
static int kverbs_take_sleep(struct kverbs_context *ctx, unsigned long until, bool forever)
{
	u32 kicks = kverbs_event_kicks(&ctx->events);

	if (!kverbs_context_polls(ctx))
		return kverbs_event_wait(&ctx->events,
					 forever ? MAX_SCHEDULE_TIMEOUT :
						   max_t(long, until - jiffies, 0), kicks);
	while (kverbs_context_polls(ctx) && !kverbs_event_pending(&ctx->events)) {
		if (signal_pending(current))
			return -EINTR;
		if (!forever && time_after(jiffies, until))
			return -ETIMEDOUT;
		kverbs_context_poll(ctx);
		cond_resched();
	}
	return 0;
}

/* Take events; the first is waited for unless @flags say not to. */
static int kverbs_take(struct kverbs_context *ctx, struct kverbs_take *take, u32 flags)
{
	unsigned long until = jiffies + msecs_to_jiffies(take->timeout_ms);
	struct kverbs_take taken = {};
	int ret;

	do {
		if (kverbs_context_polls(ctx))
			kverbs_context_poll(ctx);
		ret = kverbs_take_events(ctx, take, &taken);
		if (ret != -EAGAIN || flags & KVERBS_NONBLOCK)
			break;
		/* Another reader may be faster: then wait for what is left. */
		ret = kverbs_take_sleep(ctx, until, !take->timeout_ms) ?: -EAGAIN;
	} while (ret == -EAGAIN);
	take->nr = taken.nr;
	take->data_length = taken.data_length;
	return ret;
}

/* The items, and the proof that an answer can be written. */
static int kverbs_submit_read(struct kverbs_call *call, struct kverbs_item *item)
{
	struct kverbs_submit *cmd = &call->cmd.submit;

	cmd->accepted = 0;
	cmd->error = 0;
	if (copy_from_user(item, u64_to_user_ptr(cmd->items), cmd->nr * sizeof(*item)))
		return -EFAULT;
	return kverbs_reply(call);
}

static int kverbs_submit_check(const struct kverbs_submit *cmd)
{
	if (cmd->flags & ~(KVERBS_NONBLOCK | KVERBS_SUBMIT_BATCH))
		return -EOPNOTSUPP;
	if (!cmd->nr || cmd->nr > KVERBS_MAX_BATCH)
		return -EINVAL;
	return kverbs_take_check(&cmd->take);
}

static int kverbs_submit_and_take(struct kverbs_call *call, struct kverbs_connection *conn,
				  struct kverbs_item *item)
{
	struct kverbs_submit *cmd = &call->cmd.submit;
	int ret;

	ret = kverbs_submit_read(call, item) ?: kverbs_submit(conn, cmd, item);
	if (ret)
		return ret;
	/* The work is accepted: whatever keeps events from being taken is no error. */
	if (!cmd->take.nr || kverbs_take(call->ctx, &cmd->take, cmd->flags)) {
		cmd->take.nr = 0;
		cmd->take.data_length = 0;
	}
	return kverbs_reply(call);
}

/**
 * kverbs_ioctl_submit() - KVERBS_SUBMIT
 * @call: the ioctl
 *
 * Context: Process context, interruptible once work is accepted.
 * Return: 0 when at least one item was accepted, or -errno.
 */
int kverbs_ioctl_submit(struct kverbs_call *call)
{
	struct kverbs_submit *cmd = &call->cmd.submit;
	struct kverbs_item single, *item = &single;
	struct kverbs_connection *conn;
	int ret;

	ret = kverbs_submit_check(cmd);
	if (ret)
		return ret;
	conn = kverbs_call_connection(call, cmd->conn_id);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	if (cmd->nr > 1)
		item = kvmalloc_array(cmd->nr, sizeof(*item), GFP_KERNEL_ACCOUNT);
	ret = item ? kverbs_submit_and_take(call, conn, item) : -ENOMEM;
	if (item != &single)
		kvfree(item);
	kverbs_connection_put(conn);
	return ret;
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
	int ret;

	if (cmd->flags & ~KVERBS_NONBLOCK)
		return -EOPNOTSUPP;
	if (!cmd->take.nr)
		return -EINVAL;
	ret = kverbs_take_check(&cmd->take);
	/* What is taken cannot be put back: see first that the answer can be told. */
	ret = ret ?: kverbs_reply(call);
	ret = ret ?: kverbs_take(call->ctx, &cmd->take, cmd->flags);
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
