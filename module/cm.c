// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bringing a connection up by rdma_cm. See cm.h.
 *
 * A handler runs with its id's handler mutex held (drivers/infiniband/core/
 * cma.c, cma_cm_event_handler()). It builds what the step needs and asks for the
 * next step; whatever goes wrong it hands to kverbs_connection_fail() and returns
 * 0, since a non-zero return destroys the id, which is the teardown's to destroy.
 * The one exception is a request that no connection was made for.
 */
#include <linux/slab.h>
#include <rdma/ib_cm.h>

#include "cm.h"
#include "trace.h"

/*
 * Requests that the provider may hold for us: more than any listener is likely
 * to admit. An iWARP provider resets what is beyond it without a word, while we
 * refuse with a reason.
 */
#define KVERBS_CM_BACKLOG	4096
#define KVERBS_CM_RETRIES	6	/* 7 would be for ever */
#define KVERBS_CM_ACK_TIMEOUT	16	/* 4.096 us << 16 = 268 ms */

static int kverbs_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);

static void kverbs_cm_param(const struct kverbs_connection *conn,
			    struct rdma_conn_param *param, const void *data, u8 len)
{
	*param = (struct rdma_conn_param) {
		.private_data = data,
		.private_data_len = len,
		.responder_resources = conn->rd_in,
		.initiator_depth = conn->rd_out,
		.flow_control = 1,
		.retry_count = KVERBS_CM_RETRIES,
		.rnr_retry_count = KVERBS_CM_RETRIES,
	};
}

/*
 * Neither end has more reads and atomics on the way than the other can answer.
 * rdma_cm tells the peer's numbers from our side: what it may want of us is
 * responder_resources.
 */
static void kverbs_cm_agree(struct kverbs_connection *conn, const struct rdma_conn_param *peer)
{
	conn->rd_in = min(conn->rd_in, peer->responder_resources);
	conn->rd_out = min(conn->rd_out, peer->initiator_depth);
}

static void kverbs_cm_addr_resolved(struct kverbs_connection *conn)
{
	int ret = kverbs_connection_setup(conn);

	if (ret) {
		kverbs_connection_end(conn, KVERBS_STEP_SETUP, -ret);
		return;
	}
	if (!kverbs_connection_advance(conn, KVERBS_CONN_ADDR, KVERBS_CONN_ROUTE))
		return;
	ret = rdma_resolve_route(conn->cm_id, KVERBS_CONNECT_MS);
	if (ret)
		kverbs_connection_end(conn, KVERBS_STEP_RESOLVE_ROUTE, -ret);
}

static void kverbs_cm_ask(struct kverbs_connection *conn,
			  int (*connect)(struct rdma_cm_id *id, struct rdma_conn_param *param))
{
	u8 data[KVERBS_WIRE_HELLO];
	struct rdma_conn_param param;
	struct kverbs_hello hello;
	int ret;

	kverbs_control_hello(&hello);
	kverbs_wire_put_hello(&hello, data);
	kverbs_cm_param(conn, &param, data, sizeof(data));
	rdma_set_ack_timeout(conn->cm_id, KVERBS_CM_ACK_TIMEOUT);
	ret = connect(conn->cm_id, &param);
	if (ret)
		kverbs_connection_end(conn, KVERBS_STEP_CONNECT, -ret);
}

static void kverbs_cm_connect_work(struct work_struct *work)
{
	struct kverbs_connection *conn = container_of(work, struct kverbs_connection, connect);

	kverbs_cm_ask(conn, rdma_connect);
	kverbs_connection_unhold(conn);
}

/*
 * siw connects its TCP socket in rdma_connect() and waits (siw_cm.c,
 * siw_connect()); rdma_cm has one ordered workqueue for the handlers of the whole
 * host. So on iWARP ask from work of our own.
 */
static void kverbs_cm_route_resolved(struct kverbs_connection *conn)
{
	if (!kverbs_connection_advance(conn, KVERBS_CONN_ROUTE, KVERBS_CONN_HANDSHAKE))
		return;
	if (!conn->qp.dev->iwarp)
		kverbs_cm_ask(conn, rdma_connect_locked);
	else if (!kverbs_connection_hold(conn, KVERBS_CONN_HANDSHAKE))
		kverbs_connection_queue(&conn->connect);
}

/* At the target, READY says it: see kverbs_cm_ready(). */
static void kverbs_cm_established(struct kverbs_connection *conn,
				  const struct rdma_cm_event *event)
{
	struct kverbs_hello hello;
	int ret;

	if (!conn->initiator)
		return;
	ret = kverbs_wire_get_hello(&hello, event->param.conn.private_data,
				    event->param.conn.private_data_len);
	if (ret) {
		kverbs_connection_end(conn, KVERBS_STEP_HELLO, -ret);
		return;
	}
	if (!conn->qp.dev->iwarp)
		kverbs_cm_agree(conn, &event->param.conn);
	kverbs_control_grant(conn, &hello);
	kverbs_connection_snapshot(conn);
	kverbs_control_ready(conn);
	if (kverbs_connection_advance(conn, KVERBS_CONN_HANDSHAKE, KVERBS_CONN_UP))
		conn->ops->pump(conn);
}

static enum kverbs_step kverbs_cm_event_step(struct kverbs_connection *conn,
					     enum rdma_cm_event_type event)
{
	switch (event) {
	case RDMA_CM_EVENT_ADDR_ERROR:
		return KVERBS_STEP_RESOLVE_ADDR;
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return KVERBS_STEP_RESOLVE_ROUTE;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return KVERBS_STEP_DEVICE;
	default:
		return conn->was_up ? KVERBS_STEP_PEER : KVERBS_STEP_CONNECT;
	}
}

static int kverbs_cm_event_code(const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_REJECTED:
		return -ECONNREFUSED;
	case RDMA_CM_EVENT_DISCONNECTED:
		return -ECONNRESET;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return -ENODEV;
	default:
		return event->status < 0 ? event->status : -EHOSTUNREACH;
	}
}

/* An event that ends the connection, with all that it says. */
static void kverbs_cm_lost(struct kverbs_connection *conn, struct rdma_cm_event *event)
{
	struct kverbs_error why = {
		.step = kverbs_cm_event_step(conn, event->event),
		.code = -kverbs_cm_event_code(event),
		.cm_event = event->event,
		.cm_status = event->status,
	};

	if (event->event == RDMA_CM_EVENT_REJECTED) {
		/*
		 * Not rdma_consumer_reject_data(): siw says -ECONNRESET, and then
		 * it finds none. A refusal of ours is known by its magic number.
		 */
		why.reject = kverbs_wire_get_refusal(event->param.conn.private_data,
						     event->param.conn.private_data_len);
		if (why.reject == KVERBS_REJECT_VERSION ||
		    why.reject == KVERBS_REJECT_MALFORMED)
			why.step = KVERBS_STEP_HELLO;
	}
	kverbs_connection_fail(conn, &why);
}

static int kverbs_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kverbs_connection *conn = id->context;

	trace_kverbs_cm_event(conn->obj.id, event->event, event->status);
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		kverbs_cm_addr_resolved(conn);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		kverbs_cm_route_resolved(conn);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		kverbs_cm_established(conn, event);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		kverbs_cm_lost(conn, event);
		break;
	default:
		/* TIMEWAIT_EXIT, ADDR_CHANGE and what later kernels add. */
		break;
	}
	return 0;
}

/**
 * kverbs_cm_connect() - start connecting
 * @conn: in state NEW, held back (kverbs_connection_create())
 * @src: own address, or family 0
 * @dst: the peer's
 * @timeout_ms: for the resolution of the address
 *
 * What goes wrong ends the connection. Its teardown may begin when this returns.
 *
 * Context: Process context, may sleep.
 */
void kverbs_cm_connect(struct kverbs_connection *conn, struct sockaddr_storage *src,
		       struct sockaddr_storage *dst, u32 timeout_ms)
{
	struct rdma_cm_id *id;
	int ret;

	conn->initiator = true;
	INIT_WORK(&conn->connect, kverbs_cm_connect_work);
	conn->dst = *dst;
	id = rdma_create_id(conn->ctx->net, kverbs_cm_handler, conn, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id)) {
		kverbs_connection_end(conn, KVERBS_STEP_SETUP, -PTR_ERR(id));
		goto out;
	}
	conn->cm_id = id;
	kverbs_connection_advance(conn, KVERBS_CONN_NEW, KVERBS_CONN_ADDR);
	ret = rdma_resolve_addr(id, src->ss_family ? (struct sockaddr *)src : NULL,
				(struct sockaddr *)dst, timeout_ms);
	if (ret)
		kverbs_connection_end(conn, KVERBS_STEP_RESOLVE_ADDR, -ret);
out:
	kverbs_connection_unhold(conn);
}

static void kverbs_listener_incoming_fill(struct kverbs_event_node *node,
					  struct kverbs_event *event)
{
	event->kind = KVERBS_EVENT_INCOMING;
	event->id = container_of(node, struct kverbs_listener, incoming)->obj.id;
}

static void kverbs_listener_incoming_taken(struct kverbs_event_node *node)
{
	kverbs_object_put(&container_of(node, struct kverbs_listener, incoming)->obj);
}

static const struct kverbs_event_ops kverbs_listener_incoming_ops = {
	.fill = kverbs_listener_incoming_fill,
	.taken = kverbs_listener_incoming_taken,
};

static void kverbs_listener_ended_fill(struct kverbs_event_node *node,
				       struct kverbs_event *event)
{
	struct kverbs_listener *l = container_of(node, struct kverbs_listener, ended);

	event->kind = KVERBS_EVENT_LISTENER;
	event->id = l->obj.id;
	event->status = READ_ONCE(l->status);
}

static void kverbs_listener_ended_taken(struct kverbs_event_node *node)
{
	kverbs_object_put(&container_of(node, struct kverbs_listener, ended)->obj);
}

static const struct kverbs_event_ops kverbs_listener_ended_ops = {
	.fill = kverbs_listener_ended_fill,
	.taken = kverbs_listener_ended_taken,
};

static void kverbs_listener_push(struct kverbs_listener *l, struct kverbs_event_node *node)
{
	kverbs_object_get(&l->obj);
	if (!kverbs_event_push(&l->ctx->events, node))
		kverbs_object_put(&l->obj);
}

/* READY has come: the connection is up and waits to be accepted. */
static int kverbs_cm_ready(struct kverbs_connection *conn)
{
	struct kverbs_listener *l = kverbs_to_listener(conn->listener);
	bool queued;

	if (kverbs_connection_hold(conn, KVERBS_CONN_HANDSHAKE))
		return -EPROTO;
	kverbs_connection_snapshot(conn);
	kverbs_connection_unhold(conn);
	mutex_lock(&l->lock);
	queued = !l->closed &&
		 kverbs_connection_advance(conn, KVERBS_CONN_HANDSHAKE, KVERBS_CONN_UP);
	if (queued) {
		kverbs_connection_get(conn);
		list_add_tail(&conn->link, &l->queue);
		l->queued++;
	}
	mutex_unlock(&l->lock);
	if (!queued)
		return -EPROTO;
	kverbs_listener_push(l, &l->incoming);
	wake_up_all(&l->wait);
	return 0;
}

/* Called once by the teardown of each of its connections. */
static void kverbs_cm_gone(struct kverbs_connection *conn)
{
	struct kverbs_listener *l = kverbs_to_listener(conn->listener);
	bool waiting, taken;

	mutex_lock(&l->lock);
	waiting = !list_empty(&conn->link);
	taken = conn->taken;
	if (waiting) {
		list_del_init(&conn->link);
		l->queued--;
	}
	l->alive--;
	mutex_unlock(&l->lock);

	/* Nobody knows the id of a connection that was never taken. */
	if (!taken)
		kverbs_context_unpublish(conn->ctx, &conn->obj);
	if (waiting)
		kverbs_connection_put(conn);
	kverbs_object_put(&l->obj);
}

/* Count a new connection in, unless there are too many. */
static enum kverbs_reject kverbs_listener_admit(struct kverbs_listener *l)
{
	enum kverbs_reject reject = KVERBS_REJECT_NONE;

	mutex_lock(&l->lock);
	if (l->closed || l->queued >= l->backlog || l->alive >= l->max_conns)
		reject = KVERBS_REJECT_LIMIT;
	else
		l->alive++;
	mutex_unlock(&l->lock);
	return reject;
}

static int kverbs_cm_refuse(struct rdma_cm_id *id, enum kverbs_reject reject)
{
	u8 data[KVERBS_WIRE_REFUSAL];

	kverbs_wire_put_refusal(reject, data);
	return rdma_reject(id, data, sizeof(data), IB_CM_REJ_CONSUMER_DEFINED);
}

/* Queue pair and answer for a connection that is counted in and has its id. */
static int kverbs_cm_answer(struct kverbs_connection *conn, struct kverbs_listener *l,
			    const struct kverbs_hello *peer,
			    const struct rdma_conn_param *asked)
{
	u8 data[KVERBS_WIRE_HELLO];
	struct rdma_conn_param param;
	struct kverbs_hello hello;
	int ret;

	ret = kverbs_context_publish(l->ctx, &conn->obj) ?: kverbs_connection_setup(conn);
	if (ret)
		return ret;
	kverbs_control_grant(conn, peer);
	kverbs_connection_expect(conn, l->half_open_ms);
	kverbs_control_hello(&hello);
	kverbs_wire_put_hello(&hello, data);
	kverbs_cm_agree(conn, asked);
	kverbs_cm_param(conn, &param, data, sizeof(data));
	rdma_set_ack_timeout(conn->cm_id, KVERBS_CM_ACK_TIMEOUT);
	return rdma_accept(conn->cm_id, &param);
}

/* From here on the id is the connection's, to be destroyed by its teardown. */
static void kverbs_cm_adopt(struct kverbs_connection *conn, struct kverbs_listener *l,
			    struct rdma_cm_id *id)
{
	kverbs_object_get(&l->obj);
	conn->listener = &l->obj;
	conn->established = kverbs_cm_ready;
	conn->gone = kverbs_cm_gone;
	conn->cm_id = id;
	id->context = conn;
	id->event_handler = kverbs_cm_handler;
	kverbs_connection_advance(conn, KVERBS_CONN_NEW, KVERBS_CONN_HANDSHAKE);
}

static void kverbs_cm_accept(struct kverbs_connection *conn, struct kverbs_listener *l,
			     struct rdma_cm_id *id, const struct kverbs_hello *peer,
			     const struct rdma_conn_param *asked)
{
	int ret;

	kverbs_cm_adopt(conn, l, id);
	ret = kverbs_cm_answer(conn, l, peer, asked);
	if (ret) {
		kverbs_cm_refuse(id, KVERBS_REJECT_RESOURCES);
		kverbs_connection_end(conn, KVERBS_STEP_SETUP, -ret);
	}
	kverbs_connection_unhold(conn);
	kverbs_connection_put(conn);
}

/* A non-zero return destroys @id: only while there is no connection for it. */
static int kverbs_cm_request(struct kverbs_listener *l, struct rdma_cm_id *id,
			     struct rdma_cm_event *event)
{
	struct kverbs_connection *conn;
	enum kverbs_reject reject;
	struct kverbs_hello hello;
	int ret;

	ret = kverbs_wire_get_hello(&hello, event->param.conn.private_data,
				    event->param.conn.private_data_len);
	if (ret) {
		kverbs_cm_refuse(id, ret == -EPROTONOSUPPORT ? KVERBS_REJECT_VERSION :
							       KVERBS_REJECT_MALFORMED);
		return ret;
	}
	reject = kverbs_listener_admit(l);
	if (reject) {
		kverbs_cm_refuse(id, reject);
		return -EBUSY;
	}
	conn = kverbs_connection_create(l->ctx, &l->attr, l->ops);
	if (IS_ERR(conn)) {
		mutex_lock(&l->lock);
		l->alive--;
		mutex_unlock(&l->lock);
		kverbs_cm_refuse(id, KVERBS_REJECT_RESOURCES);
		return PTR_ERR(conn);
	}
	kverbs_cm_accept(conn, l, id, &hello, &event->param.conn);
	return 0;
}

static int kverbs_listener_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct kverbs_listener *l = id->context;

	trace_kverbs_cm_event(l->obj.id, event->event, event->status);
	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return kverbs_cm_request(l, id, event);
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		kverbs_object_get(&l->obj);
		if (!kverbs_connection_queue(&l->close))
			kverbs_object_put(&l->obj);
		break;
	default:
		break;
	}
	return 0;
}

static void kverbs_listener_close_work(struct work_struct *work)
{
	struct kverbs_listener *l = container_of(work, struct kverbs_listener, close);

	mutex_lock(&l->starting);
	mutex_unlock(&l->starting);
	kverbs_listener_close(l, ENODEV);
	kverbs_listener_push(l, &l->ended);
	kverbs_object_put(&l->obj);
}

static void kverbs_listener_release(struct kverbs_object *obj)
{
	struct kverbs_listener *l = kverbs_to_listener(obj);
	struct kverbs_exposure *e, *next;

	list_for_each_entry_safe(e, next, &l->exposures, list) {
		kverbs_object_put(&e->buf->obj);
		kfree(e);
	}
	kverbs_context_put(l->ctx);
	kfree(l);
}

/**
 * kverbs_listener_create() - make a listener that does not listen yet
 * @ctx: whose it is
 * @attr: of its connections, checked
 * @ops: the floor above, for its connections
 *
 * The caller sets @backlog, @max_conns and @half_open_ms.
 *
 * Context: Process context, may sleep.
 * Return: with a reference, or NULL without memory.
 */
struct kverbs_listener *kverbs_listener_create(struct kverbs_context *ctx,
					       const struct kverbs_conn_attr *attr,
					       const struct kverbs_connection_ops *ops)
{
	struct kverbs_listener *l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);

	if (!l)
		return NULL;
	kverbs_object_init(&l->obj, KVERBS_LISTENER, kverbs_listener_release);
	kverbs_context_get(ctx);
	l->ctx = ctx;
	l->attr = *attr;
	l->ops = ops;
	mutex_init(&l->starting);
	mutex_init(&l->lock);
	INIT_LIST_HEAD(&l->queue);
	INIT_LIST_HEAD(&l->exposures);
	init_waitqueue_head(&l->wait);
	INIT_WORK(&l->close, kverbs_listener_close_work);
	kverbs_event_node_init(&l->incoming, &kverbs_listener_incoming_ops);
	kverbs_event_node_init(&l->ended, &kverbs_listener_ended_ops);
	return l;
}

static int kverbs_listener_bind(struct kverbs_listener *l, struct sockaddr_storage *addr)
{
	int ret = 0;

	if (addr->ss_family == AF_INET6)
		ret = rdma_set_afonly(l->cm_id, 1);
	ret = ret ?: rdma_bind_addr(l->cm_id, (struct sockaddr *)addr);
	return ret ?: rdma_listen(l->cm_id, KVERBS_CM_BACKLOG);
}

/**
 * kverbs_listener_start() - bind and listen
 * @l: the listener, named, not yet shown
 * @addr: where; the port is filled in
 * @why: filled in on error
 *
 * Context: Process context, may sleep.
 * Return: 0 or -errno; then the caller closes it.
 */
int kverbs_listener_start(struct kverbs_listener *l, struct sockaddr_storage *addr,
			  struct kverbs_error *why)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(l->ctx->net, kverbs_listener_handler, l, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	mutex_lock(&l->starting);
	l->cm_id = id;
	ret = kverbs_listener_bind(l, addr);
	*addr = id->route.addr.src_addr;
	mutex_unlock(&l->starting);
	if (ret) {
		why->step = KVERBS_STEP_BIND;
		why->code = -ret;
	}
	return ret;
}

/* A connection, or why there will be none, or -EAGAIN. */
static struct kverbs_connection *kverbs_listener_take(struct kverbs_listener *l)
{
	struct kverbs_connection *conn;

	mutex_lock(&l->lock);
	conn = list_first_entry_or_null(&l->queue, struct kverbs_connection, link);
	if (conn) {
		list_del_init(&conn->link);
		l->queued--;
		conn->taken = true;
	} else {
		conn = ERR_PTR(l->closed ? -(long)l->status : -EAGAIN);
	}
	mutex_unlock(&l->lock);
	return conn;
}

static bool kverbs_listener_ready(struct kverbs_listener *l)
{
	return READ_ONCE(l->queued) || READ_ONCE(l->closed);
}

/**
 * kverbs_listener_accept() - take an established connection
 * @l: the listener
 * @nonblock: do not wait
 * @timeout_ms: 0 = for ever
 *
 * Context: Process context, may sleep; interruptible.
 * Return: a connection with a reference, or ERR_PTR(): -EAGAIN, -ETIMEDOUT,
 * -EINTR, or the reason why the listener is closed.
 */
struct kverbs_connection *kverbs_listener_accept(struct kverbs_listener *l, bool nonblock,
						 u32 timeout_ms)
{
	long left = timeout_ms ? msecs_to_jiffies(timeout_ms) : MAX_SCHEDULE_TIMEOUT;
	struct kverbs_connection *conn;

	for (;;) {
		conn = kverbs_listener_take(l);
		if (conn != ERR_PTR(-EAGAIN) || nonblock)
			return conn;
		left = wait_event_interruptible_timeout(l->wait, kverbs_listener_ready(l), left);
		if (left <= 0)
			return ERR_PTR(left ? -EINTR : -ETIMEDOUT);
	}
}

/**
 * kverbs_listener_close() - take no more, end what was not accepted
 * @l: the listener
 * @status: positive errno for those who wait in accept
 *
 * Context: Process context, may sleep; not from its own handler.
 */
void kverbs_listener_close(struct kverbs_listener *l, u32 status)
{
	struct rdma_cm_id *id = xchg(&l->cm_id, NULL);
	struct kverbs_connection *conn;

	mutex_lock(&l->lock);
	if (!l->closed)
		l->status = status;
	WRITE_ONCE(l->closed, true);
	list_for_each_entry(conn, &l->queue, link)
		kverbs_connection_end(conn, KVERBS_STEP_LOCAL, ECONNREFUSED);
	mutex_unlock(&l->lock);
	wake_up_all(&l->wait);
	if (id)
		rdma_destroy_id(id);
}
