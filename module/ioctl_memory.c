// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers, and the end of any id.
 */
#include "cm.h"
#include "ioctl.h"
#include "region.h"

/* Name, answer, show: a buffer that the caller cannot learn of does not stay. */
static int kverbs_buffer_publish(struct kverbs_call *call, struct kverbs_buffer *buf,
				 u32 *id, u64 *mmap_offset)
{
	int ret = kverbs_context_name(call->ctx, &buf->obj);

	if (ret)
		goto out;
	*id = buf->obj.id;
	if (mmap_offset)
		*mmap_offset = (u64)buf->obj.id << PAGE_SHIFT;
	ret = kverbs_reply(call);
	if (ret)
		kverbs_context_unname(call->ctx, &buf->obj);
	else
		kverbs_context_show(call->ctx, &buf->obj);
out:
	kverbs_object_put(&buf->obj);
	if (ret)
		kverbs_memory_flush();
	return ret;
}

/**
 * kverbs_ioctl_buf_register() - KVERBS_BUF_REGISTER
 * @call: the ioctl
 *
 * Context: Process context.
 * Return: 0 or -errno.
 */
int kverbs_ioctl_buf_register(struct kverbs_call *call)
{
	struct kverbs_buf_register *cmd = &call->cmd.buf_register;
	struct kverbs_buffer *buf;

	if (cmd->flags & ~KVERBS_BUF_WRITABLE)
		return -EOPNOTSUPP;
	if (cmd->reserved || !cmd->length)
		return -EINVAL;
	buf = kverbs_buffer_register(cmd->addr, cmd->length, cmd->flags & KVERBS_BUF_WRITABLE);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	return kverbs_buffer_publish(call, buf, &cmd->buf_id, NULL);
}

/**
 * kverbs_ioctl_buf_alloc() - KVERBS_BUF_ALLOC
 * @call: the ioctl
 *
 * Context: Process context.
 * Return: 0 or -errno.
 */
int kverbs_ioctl_buf_alloc(struct kverbs_call *call)
{
	struct kverbs_buf_alloc *cmd = &call->cmd.buf_alloc;
	struct kverbs_buffer *buf;

	if (cmd->flags)
		return -EOPNOTSUPP;
	if (!cmd->length)
		return -EINVAL;
	buf = kverbs_buffer_alloc(cmd->length, cmd->numa_node);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	return kverbs_buffer_publish(call, buf, &cmd->buf_id, &cmd->mmap_offset);
}

static void kverbs_destroy_connection(struct kverbs_connection *conn)
{
	kverbs_connection_end(conn, KVERBS_STEP_LOCAL, ECANCELED);
	kverbs_connection_wait_dead(conn, 2 * KVERBS_CLOSE_MS);
}

/**
 * kverbs_ioctl_destroy() - KVERBS_DESTROY
 * @call: the ioctl
 *
 * The one who takes the id away does the rest, so two callers cannot both.
 *
 * Context: Process context.
 * Return: 0 or -ENOENT.
 */
int kverbs_ioctl_destroy(struct kverbs_call *call)
{
	struct kverbs_object *obj = kverbs_context_find_any(call->ctx, call->cmd.destroy.id);
	bool mine;

	if (!obj)
		return -ENOENT;
	mine = kverbs_context_unpublish(call->ctx, obj);
	if (mine) {
		switch ((enum kverbs_kind)obj->kind) {
		case KVERBS_CONNECTION:
			kverbs_destroy_connection(kverbs_to_connection(obj));
			break;
		case KVERBS_LISTENER:
			kverbs_listener_close(kverbs_to_listener(obj), ENOENT);
			break;
		case KVERBS_REGION:
			kverbs_destroy_connection(kverbs_to_region(obj)->conn);
			break;
		case KVERBS_BUFFER:
		case KVERBS_REMOTE:
			break;
		}
	}
	kverbs_object_put(obj);
	/* The budget is back when this returns, unless the memory is in use. */
	kverbs_memory_flush();
	return mine ? 0 : -ENOENT;
}
