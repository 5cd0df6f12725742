// SPDX-License-Identifier: GPL-2.0-only
/*
 * LISTEN, CONNECT, ACCEPT, DISCONNECT, ABORT.
 */
#include <linux/in.h>
#include <linux/in6.h>

#include "cm.h"
#include "ioctl.h"
#include "region.h"
#include "work.h"

static u32 kverbs_sockaddr_port(const struct sockaddr_storage *ss)
{
	return ntohs(ss->ss_family == AF_INET ? ((struct sockaddr_in *)ss)->sin_port :
						((struct sockaddr_in6 *)ss)->sin6_port);
}

/* It listens before it can be found. One that the caller cannot learn of ends. */
static int kverbs_listen(struct kverbs_call *call, struct kverbs_listener *l,
			 struct sockaddr_storage *addr)
{
	struct kverbs_listen *cmd = &call->cmd.listen;
	int ret;

	ret = kverbs_context_name(call->ctx, &l->obj);
	if (ret)
		return ret;
	ret = kverbs_listener_start(l, addr, &cmd->error);
	if (ret) {
		kverbs_reply(call);
		goto err_close;
	}
	cmd->listener_id = l->obj.id;
	cmd->port = kverbs_sockaddr_port(addr);
	ret = kverbs_reply(call);
	if (ret)
		goto err_close;
	kverbs_context_show(call->ctx, &l->obj);
	return 0;

err_close:
	kverbs_listener_close(l, ECANCELED);
	kverbs_context_unname(call->ctx, &l->obj);
	return ret;
}

/**
 * kverbs_ioctl_listen() - KVERBS_LISTEN
 * @call: the ioctl
 *
 * Context: Process context.
 * Return: 0 or -errno.
 */
int kverbs_ioctl_listen(struct kverbs_call *call)
{
	struct kverbs_listen *cmd = &call->cmd.listen;
	struct sockaddr_storage addr;
	struct kverbs_listener *l;
	int ret;

	if (cmd->flags)
		return -EOPNOTSUPP;
	if (cmd->reserved || kverbs_call_sockaddr(&addr, cmd->addr, false))
		return -EINVAL;
	ret = kverbs_call_attr(&cmd->attr);
	if (ret)
		return ret;
	memset(&cmd->error, 0, sizeof(cmd->error));
	l = kverbs_listener_create(call->ctx, &cmd->attr, &kverbs_work_ops);
	if (!l)
		return -ENOMEM;
	l->backlog = min_t(u32, cmd->backlog ?: 16, INT_MAX);
	l->max_conns = cmd->max_conns ?: 1024;
	l->half_open_ms = cmd->half_open_ms ?: KVERBS_HALF_OPEN_MS;
	ret = kverbs_listen(call, l, &addr);
	kverbs_object_put(&l->obj);
	return ret;
}

/* It never came up, or the caller cannot learn of it. */
static void kverbs_connect_undo(struct kverbs_call *call, struct kverbs_connection *conn)
{
	kverbs_connection_end(conn, KVERBS_STEP_LOCAL, ECANCELED);
	kverbs_context_unpublish(call->ctx, &conn->obj);
	if (!fatal_signal_pending(current))
		kverbs_connection_wait_dead(conn, MSEC_PER_SEC);
}

static int kverbs_connect(struct kverbs_call *call, struct kverbs_connection *conn,
			  struct sockaddr_storage *src, struct sockaddr_storage *dst)
{
	struct kverbs_connect *cmd = &call->cmd.connect;
	u32 timeout_ms = min_t(u32, cmd->timeout_ms ?: KVERBS_CONNECT_MS, INT_MAX);
	int ret, err;

	ret = kverbs_context_publish(call->ctx, &conn->obj);
	if (ret) {
		kverbs_connection_unhold(conn);
		kverbs_connection_end(conn, KVERBS_STEP_LOCAL, -ret);
		return ret;
	}
	kverbs_cm_connect(conn, src, dst, timeout_ms);
	ret = kverbs_connection_wait_up(conn, timeout_ms);
	cmd->conn_id = ret ? 0 : conn->obj.id;
	kverbs_connection_error(conn, &cmd->error);
	err = kverbs_reply(call);
	if (ret || err)
		kverbs_connect_undo(call, conn);
	else
		kverbs_connection_tell(conn);
	return ret ?: err;
}

/**
 * kverbs_ioctl_connect() - KVERBS_CONNECT
 * @call: the ioctl
 *
 * Context: Process context, killable.
 * Return: 0 or -errno of the first cause.
 */
int kverbs_ioctl_connect(struct kverbs_call *call)
{
	struct kverbs_connect *cmd = &call->cmd.connect;
	struct sockaddr_storage src = {}, dst;
	struct kverbs_connection *conn;
	int ret;

	if (cmd->flags)
		return -EOPNOTSUPP;
	if (cmd->reserved[0] || cmd->reserved[1] || kverbs_call_sockaddr(&dst, cmd->dst, true))
		return -EINVAL;
	if (((struct sockaddr *)cmd->src)->sa_family &&
	    kverbs_call_sockaddr(&src, cmd->src, false))
		return -EINVAL;
	ret = kverbs_call_attr(&cmd->attr);
	if (ret)
		return ret;
	conn = kverbs_connection_create(call->ctx, &cmd->attr, &kverbs_work_ops);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	ret = kverbs_connect(call, conn, &src, &dst);
	kverbs_connection_put(conn);
	return ret;
}

/* What the listener exposes, then the answer. Either failing ends it. */
static int kverbs_accept(struct kverbs_call *call, struct kverbs_listener *l,
			 struct kverbs_connection *conn)
{
	struct kverbs_accept *cmd = &call->cmd.accept;
	int ret;

	ret = kverbs_connection_hold(conn, KVERBS_CONN_UP);
	if (!ret) {
		ret = kverbs_region_expose_all(l, conn);
		kverbs_connection_unhold(conn);
		if (ret)
			return ret;
	}
	/* One that ended meanwhile is told by its event, like any other. */
	cmd->conn_id = conn->obj.id;
	memcpy(cmd->peer, &conn->dst, sizeof(cmd->peer));
	ret = kverbs_reply(call);
	if (!ret)
		kverbs_connection_tell(conn);
	return ret;
}

/**
 * kverbs_ioctl_accept() - KVERBS_ACCEPT
 * @call: the ioctl
 *
 * Context: Process context, interruptible.
 * Return: 0 or -errno.
 */
int kverbs_ioctl_accept(struct kverbs_call *call)
{
	struct kverbs_accept *cmd = &call->cmd.accept;
	struct kverbs_connection *conn;
	struct kverbs_object *obj;
	int ret;

	if (cmd->flags & ~KVERBS_NONBLOCK)
		return -EOPNOTSUPP;
	if (cmd->reserved[0] || cmd->reserved[1])
		return -EINVAL;
	obj = kverbs_context_find(call->ctx, cmd->listener_id, KVERBS_LISTENER);
	if (!obj)
		return -ENOENT;
	conn = kverbs_listener_accept(kverbs_to_listener(obj), cmd->flags & KVERBS_NONBLOCK,
				      cmd->timeout_ms);
	ret = PTR_ERR_OR_ZERO(conn);
	if (!ret) {
		ret = kverbs_accept(call, kverbs_to_listener(obj), conn);
		if (ret) {
			kverbs_connection_end(conn, KVERBS_STEP_LOCAL, -ret);
			kverbs_context_unpublish(call->ctx, &conn->obj);
		}
		kverbs_connection_put(conn);
	}
	kverbs_object_put(obj);
	return ret;
}

static bool kverbs_said_all(struct kverbs_connection *conn)
{
	bool all;

	spin_lock_bh(&conn->qp.lock);
	all = conn->qp.fenced || (!conn->control.want_goodbye &&
				  !kverbs_slots_outstanding(&conn->qp.slots));
	spin_unlock_bh(&conn->qp.lock);
	return all;
}

/* A goodbye that does not get through in time is none: the close tells too. */
static void kverbs_say_goodbye(struct kverbs_connection *conn)
{
	unsigned long until = jiffies + HZ;

	kverbs_control_goodbye(conn, 0);
	while (!kverbs_said_all(conn) && time_before(jiffies, until) &&
	       !fatal_signal_pending(current)) {
		schedule_timeout_killable(1);
		kverbs_qp_poll(&conn->qp);
	}
}

/**
 * kverbs_ioctl_disconnect() - KVERBS_DISCONNECT
 * @call: the ioctl
 *
 * Context: Process context, killable.
 * Return: 0, -ENOENT, -ENOTCONN, -ETIMEDOUT, -EINTR.
 */
int kverbs_ioctl_disconnect(struct kverbs_call *call)
{
	struct kverbs_disconnect *cmd = &call->cmd.disconnect;
	struct kverbs_connection *conn;
	int ret;

	if (cmd->flags)
		return -EOPNOTSUPP;
	conn = kverbs_call_connection(call, cmd->conn_id);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	ret = kverbs_connection_is_up(conn) ? 0 : -ENOTCONN;
	if (!ret) {
		ret = kverbs_work_finish(conn, cmd->timeout_ms ?: KVERBS_CLOSE_MS);
		if (!ret)
			kverbs_say_goodbye(conn);
		kverbs_connection_end(conn, KVERBS_STEP_LOCAL, -ret);
		if (!fatal_signal_pending(current))
			kverbs_connection_wait_dead(conn, 2 * KVERBS_CLOSE_MS);
	}
	kverbs_connection_put(conn);
	return ret;
}

/**
 * kverbs_ioctl_abort() - KVERBS_ABORT
 * @call: the ioctl
 *
 * Context: Process context.
 * Return: 0, -ENOENT, -ENOTCONN when it had ended already.
 */
int kverbs_ioctl_abort(struct kverbs_call *call)
{
	struct kverbs_connection *conn = kverbs_call_connection(call, call->cmd.abort.conn_id);
	bool up;

	if (IS_ERR(conn))
		return PTR_ERR(conn);
	up = READ_ONCE(conn->state) < KVERBS_CONN_CLOSING;
	kverbs_connection_end(conn, KVERBS_STEP_LOCAL, ECANCELED);
	kverbs_connection_wait_dead(conn, 2 * KVERBS_CLOSE_MS);
	kverbs_connection_put(conn);
	return up ? 0 : -ENOTCONN;
}
