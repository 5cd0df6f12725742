// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connection: states, the first error, the one teardown. See connection.h.
 *
 * The order of the teardown, and why:
 *
 *  1. quiesce: the floor above takes no more work and the send queue is fenced,
 *     so nobody posts behind the drain;
 *  2. disconnect, if it was up: the peer learns at once. If it never came up the
 *     connection manager's id is destroyed first instead, which fences the
 *     handlers that may still be building the queue pair;
 *  3. drain, bounded: every work request has a completion, or none will come;
 *  4. abort: everything accepted gets its final event. If the drain did not end,
 *     this waits until the queue pair is destroyed, since until then the device
 *     may still read the sources;
 *  5. destroy the id, the queue pair and its completion queues, then what was
 *     registered and mapped, then the domain, then leave the device.
 *
 * No step waits for user space, so the removal of a device always ends.
 */
#include <linux/slab.h>

#include "connection.h"
#include "trace.h"

static struct workqueue_struct *kverbs_teardown_wq;

/*
 * All connections of all contexts, oldest first, for whoever looks at them from
 * outside. One is in it for as long as there are references; looking takes one.
 */
static DEFINE_MUTEX(kverbs_connections_lock);	/* guards the list; innermost, held briefly */
static LIST_HEAD(kverbs_connections);
static u64 kverbs_connections_serial;

/**
 * kverbs_connection_init() - make the workqueue of the teardowns
 *
 * Context: Module init.
 * Return: 0 or -ENOMEM.
 */
int kverbs_connection_init(void)
{
	kverbs_teardown_wq = alloc_workqueue("kverbs_teardown", WQ_UNBOUND, 0);
	return kverbs_teardown_wq ? 0 : -ENOMEM;
}

/**
 * kverbs_connection_exit() - wait for every teardown
 *
 * Context: Module exit; no file is open and no device is known any more.
 */
void kverbs_connection_exit(void)
{
	destroy_workqueue(kverbs_teardown_wq);
}

/**
 * kverbs_connection_queue() - run work beside the teardowns
 * @work: may sleep
 *
 * Context: Any.
 * Return: false if it was queued already.
 */
bool kverbs_connection_queue(struct work_struct *work)
{
	return queue_work(kverbs_teardown_wq, work);
}

static void kverbs_connection_event_fill(struct kverbs_event_node *node,
					 struct kverbs_event *event)
{
	struct kverbs_connection *conn = container_of(node, struct kverbs_connection, node);

	event->kind = KVERBS_EVENT_CONN;
	event->id = conn->obj.id;
	event->state = KVERBS_STATE_DEAD;
	event->status = conn->error.code;
	event->step = conn->error.step;
	event->wc_status = conn->error.wc_status;
	event->vendor_err = conn->error.vendor_err;
}

static void kverbs_connection_event_taken(struct kverbs_event_node *node)
{
	kverbs_connection_put(container_of(node, struct kverbs_connection, node));
}

static const struct kverbs_event_ops kverbs_connection_event_ops = {
	.fill = kverbs_connection_event_fill,
	.taken = kverbs_connection_event_taken,
};

static void kverbs_connection_qp_failed(struct kverbs_qp *qp, const struct kverbs_error *why)
{
	kverbs_connection_fail(container_of(qp, struct kverbs_connection, qp), why);
}

static void kverbs_connection_qp_progress(struct kverbs_qp *qp)
{
	struct kverbs_connection *conn = container_of(qp, struct kverbs_connection, qp);

	conn->ops->pump(conn);
}

static void kverbs_connection_qp_event(struct kverbs_qp *qp, enum ib_event_type event)
{
	struct kverbs_connection *conn = container_of(qp, struct kverbs_connection, qp);

	switch (event) {
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_CQ_ERR:
		kverbs_connection_end(conn, KVERBS_STEP_DEVICE, EIO);
		break;
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		kverbs_connection_end(conn, KVERBS_STEP_PEER, EACCES);
		break;
	default:
		break;
	}
}

static const struct kverbs_qp_ops kverbs_connection_qp_ops = {
	.failed = kverbs_connection_qp_failed,
	.progress = kverbs_connection_qp_progress,
	.event = kverbs_connection_qp_event,
};

static void kverbs_connection_poll(struct kverbs_poller *poller)
{
	kverbs_qp_poll(&container_of(poller, struct kverbs_connection, poller)->qp);
}

static void kverbs_connection_device_gone(struct kverbs_dev_user *user)
{
	kverbs_connection_end(container_of(user, struct kverbs_connection, user),
			      KVERBS_STEP_DEVICE, ENODEV);
}

static void kverbs_connection_half_open(struct work_struct *work)
{
	struct kverbs_connection *conn = container_of(to_delayed_work(work),
						      struct kverbs_connection, half_open);

	struct kverbs_error why = { .step = KVERBS_STEP_CONNECT, .code = ETIMEDOUT };

	kverbs_connection_fail_early(conn, &why);
}

static void kverbs_connection_enlist(struct kverbs_connection *conn)
{
	mutex_lock(&kverbs_connections_lock);
	conn->serial = kverbs_connections_serial++;
	list_add_tail(&conn->all, &kverbs_connections);
	mutex_unlock(&kverbs_connections_lock);
}

static void kverbs_connection_delist(struct kverbs_connection *conn)
{
	mutex_lock(&kverbs_connections_lock);
	list_del(&conn->all);
	mutex_unlock(&kverbs_connections_lock);
}

static void kverbs_connection_release(struct kverbs_object *obj)
{
	struct kverbs_connection *conn = kverbs_to_connection(obj);

	kverbs_connection_delist(conn);
	if (conn->work)
		conn->ops->release(conn);
	kverbs_control_release(conn);
	kverbs_context_put(conn->ctx);
	kfree(conn);
}

/* Undo the half of the queue pair's world that needs no device to agree. */
static void kverbs_connection_free_queues(struct kverbs_connection *conn)
{
	struct kverbs_dev *dev = conn->user.dev;

	conn->ops->unregister(conn);
	kverbs_control_free(conn);
	kverbs_qp_free(&conn->qp);
	if (dev) {
		atomic_dec(&dev->connections);
		kverbs_dev_leave(&conn->user);
	}
}

static void kverbs_connection_destroy_id(struct kverbs_connection *conn)
{
	if (conn->cm_id)
		rdma_destroy_id(conn->cm_id);
	conn->cm_id = NULL;
}

/* Steps 2 to 5. False: the provider did not give the queue pair back. */
static bool kverbs_connection_dismantle(struct kverbs_connection *conn)
{
	bool drained, given_back;

	if (conn->was_up)
		rdma_disconnect(conn->cm_id);
	else
		kverbs_connection_destroy_id(conn);

	drained = kverbs_qp_drain(&conn->qp, msecs_to_jiffies(KVERBS_CLOSE_MS));
	if (drained) {
		kverbs_qp_walk(&conn->qp);
		conn->ops->abort(conn);
	} else {
		ibdev_warn(conn->qp.dev->ib, "kverbs: connection %u did not drain\n",
			   conn->obj.id);
	}

	kverbs_connection_destroy_id(conn);
	kverbs_context_remove_poller(conn->ctx, &conn->poller);
	given_back = !kverbs_qp_destroy(&conn->qp);
	if (!given_back)
		ibdev_err(conn->qp.dev->ib,
			  "kverbs: connection %u: queue pair not given back, its memory stays pinned\n",
			  conn->obj.id);
	if (!drained) {
		kverbs_qp_walk(&conn->qp);
		conn->ops->abort(conn);
	}
	return given_back;
}

static void kverbs_connection_push(struct kverbs_connection *conn)
{
	kverbs_connection_get(conn);
	if (!kverbs_event_push(&conn->ctx->events, &conn->node))
		kverbs_connection_put(conn);
}

/**
 * kverbs_connection_tell() - the program knows a connection now
 * @conn: returned by CONNECT or ACCEPT
 *
 * Before, none of its events comes: a program never hears of an id it was not
 * given, and a peer that comes and goes leaves nothing in the queue.
 *
 * Context: Process context, may sleep.
 */
void kverbs_connection_tell(struct kverbs_connection *conn)
{
	bool dead;

	/* What came early comes before its end. */
	conn->ops->told(conn);
	spin_lock_irq(&conn->lock);
	conn->told = true;
	dead = conn->state == KVERBS_CONN_DEAD;
	spin_unlock_irq(&conn->lock);
	if (dead)
		kverbs_connection_push(conn);
}

static void kverbs_connection_set_dead(struct kverbs_connection *conn)
{
	unsigned long flags;
	bool told;

	spin_lock_irqsave(&conn->lock, flags);
	trace_kverbs_state(conn->obj.id, conn->state, KVERBS_CONN_DEAD, conn->error.step,
			   conn->error.code);
	conn->state = KVERBS_CONN_DEAD;
	told = conn->told;
	spin_unlock_irqrestore(&conn->lock, flags);
	if (told)
		kverbs_connection_push(conn);
	wake_up_all(&conn->wait);
}

static void kverbs_connection_teardown(struct work_struct *work)
{
	struct kverbs_connection *conn = container_of(work, struct kverbs_connection, teardown);
	bool given_back;

	kverbs_qp_fence(&conn->qp);
	conn->ops->quiesce(conn);
	given_back = kverbs_connection_dismantle(conn);
	/* The id is gone, so no handler starts this any more. */
	cancel_delayed_work_sync(&conn->half_open);
	if (given_back)
		kverbs_connection_free_queues(conn);
	else
		kverbs_connection_get(conn);	/* for ever: the provider refers to it */
	if (conn->gone)
		conn->gone(conn);
	kverbs_connection_set_dead(conn);
	kverbs_connection_put(conn);
}

/**
 * kverbs_connection_create() - begin a connection's life
 * @ctx: whose it is
 * @attr: what is asked for, checked
 * @ops: the floor above
 *
 * It is held until kverbs_connection_unhold(), since whoever makes it uses its
 * id and its queue pair without a lock. The only way to end it is
 * kverbs_connection_fail() and putting the reference.
 *
 * Context: Process context, may sleep.
 * Return: a connection in state NEW with a reference, or ERR_PTR().
 */
struct kverbs_connection *kverbs_connection_create(struct kverbs_context *ctx,
						   const struct kverbs_conn_attr *attr,
						   const struct kverbs_connection_ops *ops)
{
	struct kverbs_connection *conn = kzalloc(sizeof(*conn), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!conn)
		return ERR_PTR(-ENOMEM);
	kverbs_object_init(&conn->obj, KVERBS_CONNECTION, kverbs_connection_release);
	kverbs_context_get(ctx);
	conn->ctx = ctx;
	conn->ops = ops;
	conn->attr = *attr;
	conn->holds = 1;
	spin_lock_init(&conn->lock);
	init_waitqueue_head(&conn->wait);
	INIT_WORK(&conn->teardown, kverbs_connection_teardown);
	INIT_DELAYED_WORK(&conn->half_open, kverbs_connection_half_open);
	INIT_LIST_HEAD(&conn->link);
	INIT_LIST_HEAD(&conn->all);
	INIT_LIST_HEAD(&conn->poller.list);
	conn->poller.poll = kverbs_connection_poll;
	kverbs_event_node_init(&conn->node, &kverbs_connection_event_ops);
	kverbs_qp_init(&conn->qp, &kverbs_connection_qp_ops);

	ret = ops->attach(conn);
	if (ret) {
		kverbs_connection_put(conn);
		return ERR_PTR(ret);
	}
	kverbs_connection_enlist(conn);
	return conn;
}

/* From @conn on, the first that is not being released; with a reference. */
static struct kverbs_connection *kverbs_connection_alive(struct kverbs_connection *conn)
{
	lockdep_assert_held(&kverbs_connections_lock);
	list_for_each_entry_from(conn, &kverbs_connections, all)
		if (kref_get_unless_zero(&conn->obj.ref))
			return conn;
	return NULL;
}

/**
 * kverbs_connection_from() - look at all connections, from a place on
 * @serial: the place; 0 is the beginning
 *
 * Context: Process context, may sleep.
 * Return: the first connection with this @serial or a greater one, with a
 * reference for the caller, or NULL.
 */
struct kverbs_connection *kverbs_connection_from(u64 serial)
{
	struct kverbs_connection *conn;

	mutex_lock(&kverbs_connections_lock);
	list_for_each_entry(conn, &kverbs_connections, all)
		if (conn->serial >= serial)
			break;
	conn = kverbs_connection_alive(conn);
	mutex_unlock(&kverbs_connections_lock);
	return conn;
}

/**
 * kverbs_connection_next() - go one on
 * @conn: with a reference, which is given back
 *
 * Context: Process context, may sleep.
 * Return: as kverbs_connection_from().
 */
struct kverbs_connection *kverbs_connection_next(struct kverbs_connection *conn)
{
	struct kverbs_connection *next;

	mutex_lock(&kverbs_connections_lock);
	next = kverbs_connection_alive(list_next_entry(conn, all));
	mutex_unlock(&kverbs_connections_lock);
	kverbs_connection_put(conn);
	return next;
}

static int kverbs_connection_create_qp(struct kverbs_connection *conn, struct kverbs_dev *dev,
				       u32 depth, const struct kverbs_conn_attr *attr)
{
	struct ib_qp_init_attr init;
	int ret;

	ret = kverbs_qp_alloc(&conn->qp, dev, depth, attr);
	if (ret)
		return ret;
	kverbs_qp_attr(&conn->qp, &init);
	ret = rdma_create_qp(conn->cm_id, conn->qp.pd, &init);
	if (!ret)
		kverbs_qp_attach(&conn->qp, conn->cm_id->qp, &init.cap);
	return ret;
}

/*
 * A device's limit of work requests holds for small ones only: with many gather
 * elements it may refuse what it advertises. And it does not advertise what it
 * can send inline. Then ask for less.
 */
static int kverbs_connection_make_qp(struct kverbs_connection *conn, struct kverbs_dev *dev)
{
	struct kverbs_conn_attr attr = conn->attr;
	u32 depth = attr.depth ?: KVERBS_DEPTH;
	int ret;

	for (;;) {
		ret = kverbs_connection_create_qp(conn, dev, depth, &attr);
		if ((ret != -EINVAL && ret != -ENOMEM) || depth == 1)
			break;
		kverbs_qp_destroy(&conn->qp);
		kverbs_qp_free(&conn->qp);
		if (attr.max_inline)
			attr.max_inline /= 2;
		else
			depth /= 2;
	}
	if (!ret && conn->attr.poll == KVERBS_POLL_DIRECT)
		kverbs_context_add_poller(conn->ctx, &conn->poller);
	conn->info.depth_asked = conn->attr.depth ?: KVERBS_DEPTH;
	return ret;
}

/**
 * kverbs_connection_setup() - make queue pair and control channel
 * @conn: its @cm_id has a device; the caller is the id's handler, so that the
 *	teardown's rdma_destroy_id() waits for us
 *
 * What was made when it fails is undone by the teardown.
 *
 * Context: Process context, may sleep.
 * Return: 0 or -errno.
 */
int kverbs_connection_setup(struct kverbs_connection *conn)
{
	struct kverbs_dev *dev = kverbs_dev_get(conn->cm_id->device);
	int ret;

	if (!dev)
		return -ENODEV;
	ret = kverbs_dev_join(dev, &conn->user, kverbs_connection_device_gone);
	kverbs_dev_put(dev);
	if (ret)
		return ret;
	atomic_inc(&dev->connections);
	conn->features = kverbs_dev_features(dev);
	conn->rd_in = dev->rd_atomic;
	conn->rd_out = dev->rd_atomic;
	strscpy(conn->info.error.device, dev->ib->name, sizeof(conn->info.error.device));
	ret = kverbs_connection_make_qp(conn, dev);
	ret = ret ?: kverbs_control_alloc(conn);
	return ret ?: kverbs_control_post_recvs(conn);
}

/**
 * kverbs_connection_expect() - end it unless it is up in time
 * @conn: in the handshake; the caller is its id's handler
 * @timeout_ms: the time
 *
 * Context: Process context.
 */
void kverbs_connection_expect(struct kverbs_connection *conn, u32 timeout_ms)
{
	queue_delayed_work(kverbs_teardown_wq, &conn->half_open, msecs_to_jiffies(timeout_ms));
}

/**
 * kverbs_connection_advance() - go one state on, unless it failed meanwhile
 * @conn: the connection
 * @from: where it has to be
 * @to: where it goes
 *
 * Context: Any.
 * Return: true if it went.
 */
bool kverbs_connection_advance(struct kverbs_connection *conn,
			       enum kverbs_conn_state from, enum kverbs_conn_state to)
{
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&conn->lock, flags);
	ok = conn->state == from;
	if (ok) {
		WRITE_ONCE(conn->state, to);
		conn->was_up |= to == KVERBS_CONN_UP;
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	if (!ok)
		return false;
	trace_kverbs_state(conn->obj.id, from, to, 0, 0);
	wake_up_all(&conn->wait);
	return true;
}

/* After our goodbye the peer closes, or its adapter does: that is no error. */
static bool kverbs_connection_expected(struct kverbs_connection *conn, u32 step)
{
	return conn->leaving && (step == KVERBS_STEP_PEER || step == KVERBS_STEP_POST ||
				 step == KVERBS_STEP_RECV);
}

static void kverbs_connection_fail_before(struct kverbs_connection *conn,
					  enum kverbs_conn_state limit,
					  const struct kverbs_error *why)
{
	const struct kverbs_error ours = { .step = KVERBS_STEP_LOCAL };
	enum kverbs_conn_state from;
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	from = conn->state;
	if (from < limit) {
		conn->error = kverbs_connection_expected(conn, why->step) ? ours : *why;
		WRITE_ONCE(conn->state, KVERBS_CONN_CLOSING);
		kverbs_connection_get(conn);
		if (!conn->holds)
			queue_work(kverbs_teardown_wq, &conn->teardown);
	}
	spin_unlock_irqrestore(&conn->lock, flags);
	if (from >= limit)
		return;
	trace_kverbs_state(conn->obj.id, from, KVERBS_CONN_CLOSING, why->step, why->code);
	wake_up_all(&conn->wait);
}

/**
 * kverbs_connection_fail() - end a connection; the first cause is kept
 * @conn: the connection
 * @why: the cause; its @device is filled in elsewhere
 *
 * Context: Any.
 */
void kverbs_connection_fail(struct kverbs_connection *conn, const struct kverbs_error *why)
{
	kverbs_connection_fail_before(conn, KVERBS_CONN_CLOSING, why);
}

/**
 * kverbs_connection_fail_early() - end a connection unless it is up
 * @conn: the connection
 * @why: the cause
 *
 * Context: Any.
 */
void kverbs_connection_fail_early(struct kverbs_connection *conn, const struct kverbs_error *why)
{
	kverbs_connection_fail_before(conn, KVERBS_CONN_UP, why);
}

/**
 * kverbs_connection_leave() - this end is about to say goodbye
 * @conn: the connection
 *
 * Context: Process context.
 */
void kverbs_connection_leave(struct kverbs_connection *conn)
{
	spin_lock_irq(&conn->lock);
	conn->leaving = true;
	spin_unlock_irq(&conn->lock);
}

/**
 * kverbs_connection_goodbye() - the peer has said goodbye
 * @conn: the connection
 * @code: its errno, 0 for an orderly end
 *
 * The word travels on the receive queue and may come after what followed it: the
 * end of the connection itself. Then it is still the better cause.
 *
 * Context: Process context.
 */
void kverbs_connection_goodbye(struct kverbs_connection *conn, u32 code)
{
	struct kverbs_error why = { .step = KVERBS_STEP_PEER, .code = code };

	kverbs_connection_fail(conn, &why);
	spin_lock_irq(&conn->lock);
	if (conn->state == KVERBS_CONN_CLOSING && conn->error.step == KVERBS_STEP_PEER)
		conn->error = why;
	spin_unlock_irq(&conn->lock);
}

/**
 * kverbs_connection_hold() - keep a connection from its teardown
 * @conn: the connection
 * @state: the state it has to be in
 *
 * Between hold and unhold its device, domain and queues stay. It may fail
 * meanwhile; its teardown then waits for kverbs_connection_unhold(), so nothing
 * in between may wait for user space or for the peer.
 *
 * Context: Process context.
 * Return: 0 or -ENOTCONN.
 */
int kverbs_connection_hold(struct kverbs_connection *conn, enum kverbs_conn_state state)
{
	bool ok;

	spin_lock_irq(&conn->lock);
	ok = conn->state == state;
	conn->holds += ok;
	spin_unlock_irq(&conn->lock);
	return ok ? 0 : -ENOTCONN;
}

/**
 * kverbs_connection_unhold() - let a teardown begin
 * @conn: held
 *
 * Context: Process context.
 */
void kverbs_connection_unhold(struct kverbs_connection *conn)
{
	spin_lock_irq(&conn->lock);
	if (!--conn->holds && conn->state == KVERBS_CONN_CLOSING)
		queue_work(kverbs_teardown_wq, &conn->teardown);
	spin_unlock_irq(&conn->lock);
}

/**
 * kverbs_connection_end() - kverbs_connection_fail() with step and code alone
 * @conn: the connection
 * @step: enum kverbs_step
 * @code: positive errno, 0 for an orderly end
 *
 * Context: Any.
 */
void kverbs_connection_end(struct kverbs_connection *conn, enum kverbs_step step, int code)
{
	struct kverbs_error why = { .step = step, .code = code };

	kverbs_connection_fail(conn, &why);
}

/**
 * kverbs_connection_post_failed() - the device refused work
 * @conn: the connection
 * @step: KVERBS_STEP_POST or KVERBS_STEP_RECV
 * @ret: what the provider said
 *
 * A provider that says -ENOTCONN has learnt of the peer's close before the
 * connection manager told us (siw).
 *
 * Context: Any.
 */
void kverbs_connection_post_failed(struct kverbs_connection *conn, enum kverbs_step step, int ret)
{
	if (ret == -ENOTCONN)
		kverbs_connection_end(conn, KVERBS_STEP_PEER, ECONNRESET);
	else
		kverbs_connection_end(conn, step, -ret);
}

/**
 * kverbs_connection_error() - the first cause, for user space
 * @conn: the connection
 * @error: filled in; all zero while there is none
 *
 * Context: Any; nests inside the send queue's lock.
 */
void kverbs_connection_error(struct kverbs_connection *conn, struct kverbs_error *error)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	*error = conn->error;
	spin_unlock_irqrestore(&conn->lock, flags);
	memcpy(error->device, conn->info.error.device, sizeof(error->device));
}

/* Numbers that only the provider knows; 0 where it does not tell. */
static void kverbs_connection_snapshot_qp(struct kverbs_connection *conn)
{
	int mask = IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_SQ_PSN;
	struct kverbs_conn_query *info = &conn->info;
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr = {};

	info->qpn = conn->qp.qp->qp_num;
	if (conn->qp.dev->iwarp || ib_query_qp(conn->qp.qp, &attr, mask, &init))
		return;
	info->peer_qpn = attr.dest_qp_num;
	info->send_psn = attr.sq_psn;
	info->recv_psn = attr.rq_psn;
	if (attr.path_mtu)
		info->mtu = ib_mtu_enum_to_int(attr.path_mtu);
}

/**
 * kverbs_connection_snapshot() - keep what CONN_QUERY tells of a connection
 * @conn: has a queue pair and both addresses; the caller is its id's handler
 *
 * Context: Process context, may sleep.
 */
void kverbs_connection_snapshot(struct kverbs_connection *conn)
{
	struct rdma_cm_id *id = conn->cm_id;
	struct kverbs_conn_query *info = &conn->info;

	conn->src = id->route.addr.src_addr;
	conn->dst = id->route.addr.dst_addr;
	info->port = id->port_num;
	info->transport = kverbs_dev_transport(conn->qp.dev, id->port_num);
	rdma_read_gids(id, (union ib_gid *)info->src_gid, (union ib_gid *)info->dst_gid);
	kverbs_connection_snapshot_qp(conn);
}

static u32 kverbs_connection_state(const struct kverbs_connection *conn)
{
	switch (conn->state) {
	case KVERBS_CONN_UP:
		return KVERBS_STATE_UP;
	case KVERBS_CONN_CLOSING:
		return KVERBS_STATE_CLOSING;
	case KVERBS_CONN_DEAD:
		return KVERBS_STATE_DEAD;
	default:
		return KVERBS_STATE_CONNECTING;
	}
}

/**
 * kverbs_connection_query() - everything CONN_QUERY tells
 * @conn: the connection
 * @query: filled in, but for @size
 *
 * Context: Process context.
 */
void kverbs_connection_query(struct kverbs_connection *conn, struct kverbs_conn_query *query)
{
	u32 size = query->size;

	*query = conn->info;
	query->size = size;
	query->conn_id = conn->obj.id;
	query->initiator = conn->initiator;
	query->poll = conn->attr.poll;
	query->depth = conn->qp.depth;
	query->flags = conn->attr.flags;
	query->wr_ceiling = conn->qp.limits.max_bytes;
	query->rd_atomic = conn->rd_out;
	query->asked = conn->qp.asked;
	query->actual = conn->qp.actual;
	memcpy(query->src, &conn->src, sizeof(query->src));
	memcpy(query->dst, &conn->dst, sizeof(query->dst));

	spin_lock_bh(&conn->qp.lock);
	query->counters = conn->qp.counters;
	query->data_credits = kverbs_credit_room(&conn->control.credit[KVERBS_CREDIT_DATA]);
	spin_unlock_bh(&conn->qp.lock);

	kverbs_connection_error(conn, &query->error);
	query->state = kverbs_connection_state(conn);
}

/* Which step a connection is in before it is up. */
static enum kverbs_step kverbs_connection_step(enum kverbs_conn_state state)
{
	switch (state) {
	case KVERBS_CONN_NEW:
	case KVERBS_CONN_ADDR:
		return KVERBS_STEP_RESOLVE_ADDR;
	case KVERBS_CONN_ROUTE:
		return KVERBS_STEP_RESOLVE_ROUTE;
	default:
		return KVERBS_STEP_CONNECT;
	}
}

/**
 * kverbs_connection_wait_up() - wait until a connection is up or failed
 * @conn: the connection
 * @timeout_ms: not 0
 *
 * On time-out or a fatal signal the connection is ended.
 *
 * Context: Process context, may sleep; killable.
 * Return: 0 or the -errno of the first cause.
 */
int kverbs_connection_wait_up(struct kverbs_connection *conn, u32 timeout_ms)
{
	struct kverbs_error why = {};
	long left;

	left = wait_event_killable_timeout(conn->wait,
					   READ_ONCE(conn->state) >= KVERBS_CONN_UP,
					   msecs_to_jiffies(timeout_ms));
	if (left <= 0) {
		why.step = kverbs_connection_step(READ_ONCE(conn->state));
		why.code = left ? EINTR : ETIMEDOUT;
		kverbs_connection_fail(conn, &why);
	}
	kverbs_connection_error(conn, &why);
	return kverbs_connection_is_up(conn) ? 0 : -(int)(why.code ?: ECONNRESET);
}

/**
 * kverbs_connection_wait_dead() - wait until the teardown is over
 * @conn: failed
 * @timeout_ms: how long
 *
 * Context: Process context, may sleep, not interruptible: the teardown is
 * bounded.
 * Return: true if it is.
 */
bool kverbs_connection_wait_dead(struct kverbs_connection *conn, u32 timeout_ms)
{
	return wait_event_timeout(conn->wait, READ_ONCE(conn->state) == KVERBS_CONN_DEAD,
				  msecs_to_jiffies(timeout_ms));
}
