// SPDX-License-Identifier: GPL-2.0-only
/*
 * QUERY and CONN_QUERY, and what several ioctls check alike.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "device.h"
#include "ioctl.h"
#include "ioctl_transfer.h"

/**
 * kverbs_call_connection() - a connection by its id
 * @call: the ioctl
 * @id: any number
 *
 * Context: Process context.
 * Return: the connection with a reference, or ERR_PTR(-ENOENT).
 */
struct kverbs_connection *kverbs_call_connection(struct kverbs_call *call, u32 id)
{
	struct kverbs_object *obj = kverbs_context_find(call->ctx, id, KVERBS_CONNECTION);

	return obj ? kverbs_to_connection(obj) : ERR_PTR(-ENOENT);
}

/**
 * kverbs_call_sockaddr() - check a socket address
 * @ss: filled in
 * @addr: KVERBS_ADDR_MAX bytes from the caller
 * @need_port: port 0 is no good
 *
 * Context: Any.
 * Return: 0 or -EINVAL.
 */
int kverbs_call_sockaddr(struct sockaddr_storage *ss, const u8 *addr, bool need_port)
{
	__be16 port;

	memset(ss, 0, sizeof(*ss));
	memcpy(ss, addr, KVERBS_ADDR_MAX);
	switch (ss->ss_family) {
	case AF_INET:
		port = ((struct sockaddr_in *)ss)->sin_port;
		memset((u8 *)ss + sizeof(struct sockaddr_in), 0,
		       sizeof(*ss) - sizeof(struct sockaddr_in));
		break;
	case AF_INET6:
		port = ((struct sockaddr_in6 *)ss)->sin6_port;
		break;
	default:
		return -EINVAL;
	}
	return need_port && !port ? -EINVAL : 0;
}

/**
 * kverbs_call_attr() - check a connection's attributes and fill defaults in
 * @attr: from the caller
 *
 * Context: Any.
 * Return: 0, -EINVAL or -EOPNOTSUPP.
 */
int kverbs_call_attr(struct kverbs_conn_attr *attr)
{
	if (attr->flags & ~(KVERBS_CONN_CPU | KVERBS_CONN_REG))
		return -EOPNOTSUPP;
	if (attr->reserved || attr->depth > KVERBS_DEPTH_MAX ||
	    attr->poll > KVERBS_POLL_DIRECT ||
	    attr->no_progress_ms > KVERBS_PROGRESS_MAX_MS ||
	    attr->wr_ceiling > SZ_1M || attr->max_inline > KVERBS_INLINE_MAX ||
	    (attr->cpu && !(attr->flags & KVERBS_CONN_CPU)))
		return -EINVAL;
	if (!attr->no_progress_ms)
		attr->no_progress_ms = KVERBS_PROGRESS_MS;
	return 0;
}

static int kverbs_query_devices(struct kverbs_query *query)
{
	u32 room = min_t(u32, query->nr_devices, 1024);
	struct kverbs_device *info;
	int ret = 0;

	if (!query->devices)
		room = 0;
	info = kvcalloc(max_t(u32, room, 1), sizeof(*info), GFP_KERNEL);
	if (!info)
		return -ENOMEM;
	query->nr_devices = kverbs_dev_list(info, room);
	room = min(room, query->nr_devices);
	if (copy_to_user(u64_to_user_ptr(query->devices), info, room * sizeof(*info)))
		ret = -EFAULT;
	kvfree(info);
	return ret;
}

/**
 * kverbs_ioctl_query() - KVERBS_QUERY
 * @call: the ioctl
 *
 * Context: Process context.
 * Return: 0 or -errno.
 */
int kverbs_ioctl_query(struct kverbs_call *call)
{
	struct kverbs_query *query = &call->cmd.query;
	int ret;

	if (query->flags)
		return -EOPNOTSUPP;
	ret = kverbs_query_devices(query);
	if (ret)
		return ret;
	query->abi = KVERBS_ABI;
	query->features = KVERBS_FEATURE_WRITE | KVERBS_FEATURE_NOTIFY | KVERBS_FEATURE_PERSIST |
			  KVERBS_FEATURE_READ | KVERBS_FEATURE_SEND | KVERBS_FEATURE_IMM |
			  KVERBS_FEATURE_ATOMIC | KVERBS_FEATURE_REG;
	if (IS_ENABLED(CONFIG_IO_URING))
		query->features |= KVERBS_FEATURE_URING;
	query->max_ids = KVERBS_MAX_IDS;
	query->max_batch = KVERBS_MAX_BATCH;
	query->max_pending = KVERBS_MAX_PENDING;
	query->max_depth = KVERBS_DEPTH_MAX;
	query->default_depth = KVERBS_DEPTH;
	query->wr_ceiling = SZ_1M;
	return kverbs_reply(call);
}

/**
 * kverbs_ioctl_conn_query() - KVERBS_CONN_QUERY
 * @call: the ioctl
 *
 * Context: Process context.
 * Return: 0 or -errno.
 */
int kverbs_ioctl_conn_query(struct kverbs_call *call)
{
	struct kverbs_conn_query *query = &call->cmd.conn_query;
	struct kverbs_connection *conn = kverbs_call_connection(call, query->conn_id);

	if (IS_ERR(conn))
		return PTR_ERR(conn);
	kverbs_connection_query(conn, query);
	kverbs_connection_put(conn);
	return kverbs_reply(call);
}
