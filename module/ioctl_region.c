// SPDX-License-Identifier: GPL-2.0-only
/*
 * REGION_EXPOSE and REGION_LIST.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "cm.h"
#include "ioctl.h"
#include "region.h"

static int kverbs_expose_on_connection(struct kverbs_call *call, struct kverbs_connection *conn,
				       struct kverbs_buffer *buf)
{
	struct kverbs_region_expose *cmd = &call->cmd.expose;
	struct kverbs_region_own *region;
	int ret;

	ret = kverbs_connection_hold(conn, KVERBS_CONN_UP);
	if (ret)
		return ret;
	region = kverbs_region_expose(conn, buf, cmd->offset, cmd->length, cmd->rights, cmd->tag);
	kverbs_connection_unhold(conn);
	if (IS_ERR(region))
		return PTR_ERR(region);
	cmd->region_id = region->obj.id;
	kverbs_object_put(&region->obj);
	/* The peer may know it by now: a caller that gave no memory for the
	 * answer finds it with REGION_LIST.
	 */
	return kverbs_reply(call);
}

static int kverbs_expose_on_listener(struct kverbs_call *call, struct kverbs_listener *l,
				     struct kverbs_buffer *buf)
{
	struct kverbs_region_expose *cmd = &call->cmd.expose;

	cmd->region_id = 0;
	return kverbs_reply(call) ?:
	       kverbs_region_expose_later(l, buf, cmd->offset, cmd->length, cmd->rights,
					  cmd->tag);
}

static int kverbs_expose(struct kverbs_call *call, struct kverbs_buffer *buf)
{
	struct kverbs_region_expose *cmd = &call->cmd.expose;
	struct kverbs_object *target;
	int ret;

	ret = kverbs_region_check(buf, cmd->offset, cmd->length, cmd->rights);
	if (ret)
		return ret;
	target = kverbs_context_find_any(call->ctx, cmd->target_id);
	if (!target)
		return -ENOENT;
	switch (target->kind) {
	case KVERBS_CONNECTION:
		ret = kverbs_expose_on_connection(call, kverbs_to_connection(target), buf);
		break;
	case KVERBS_LISTENER:
		ret = kverbs_expose_on_listener(call, kverbs_to_listener(target), buf);
		break;
	default:
		ret = -ENOENT;
	}
	kverbs_object_put(target);
	return ret;
}

/**
 * kverbs_ioctl_region_expose() - KVERBS_REGION_EXPOSE
 * @call: the ioctl
 *
 * Context: Process context.
 * Return: 0 or -errno.
 */
int kverbs_ioctl_region_expose(struct kverbs_call *call)
{
	struct kverbs_object *buf;
	int ret;

	if (call->cmd.expose.flags)
		return -EOPNOTSUPP;
	buf = kverbs_context_find(call->ctx, call->cmd.expose.buf_id, KVERBS_BUFFER);
	if (!buf)
		return -ENOENT;
	ret = kverbs_expose(call, kverbs_to_buffer(buf));
	kverbs_object_put(buf);
	return ret;
}

static int kverbs_list_regions(struct kverbs_region_list *cmd, struct kverbs_connection *conn)
{
	u32 room = cmd->regions ? min_t(u32, cmd->nr, KVERBS_MAX_IDS) : 0;
	struct kverbs_region *info;
	int ret = 0;

	info = kvcalloc(max_t(u32, room, 1), sizeof(*info), GFP_KERNEL_ACCOUNT);
	if (!info)
		return -ENOMEM;
	cmd->nr = kverbs_region_count(conn, info, room);
	room = min(room, cmd->nr);
	if (copy_to_user(u64_to_user_ptr(cmd->regions), info, room * sizeof(*info)))
		ret = -EFAULT;
	kvfree(info);
	return ret;
}

/**
 * kverbs_ioctl_region_list() - KVERBS_REGION_LIST
 * @call: the ioctl
 *
 * Context: Process context.
 * Return: 0 or -errno.
 */
int kverbs_ioctl_region_list(struct kverbs_call *call)
{
	struct kverbs_region_list *cmd = &call->cmd.region_list;
	struct kverbs_connection *conn;
	int ret;

	if (cmd->reserved)
		return -EINVAL;
	conn = kverbs_call_connection(call, cmd->conn_id);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	ret = kverbs_list_regions(cmd, conn);
	kverbs_connection_put(conn);
	return ret ?: kverbs_reply(call);
}
