/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connection: one RC queue pair with a life, a first error and one teardown.
 *
 *	NEW -> ADDR -> ROUTE -> HANDSHAKE -> UP -> CLOSING -> DEAD
 *	  `-------`------`----------`----------^
 *
 * Whatever ends a connection calls kverbs_connection_fail(), from any context,
 * any number of times: the first one is kept as the cause, moves the state to
 * CLOSING and queues the teardown, which runs exactly once, on a workqueue of
 * our own, and is the only place where anything of a connection is undone.
 */
#ifndef KVERBS_CONNECTION_H
#define KVERBS_CONNECTION_H

#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cm.h>

#include "context.h"
#include "control.h"
#include "device.h"
#include "qp.h"

#define KVERBS_CLOSE_MS		10000	/* drain, at most */
#define KVERBS_CONNECT_MS	10000
#define KVERBS_HALF_OPEN_MS	5000
#define KVERBS_PROGRESS_MS	10000
#define KVERBS_PROGRESS_MAX_MS	600000

/**
 * enum kverbs_conn_state - the states, in order
 * @KVERBS_CONN_NEW: nothing has happened
 * @KVERBS_CONN_ADDR: the address is being resolved
 * @KVERBS_CONN_ROUTE: the route is being resolved
 * @KVERBS_CONN_HANDSHAKE: there is a queue pair; the peer has been asked, or is
 *	being answered
 * @KVERBS_CONN_UP: takes work
 * @KVERBS_CONN_CLOSING: has a first error; the teardown is queued or runs
 * @KVERBS_CONN_DEAD: the teardown is over
 */
enum kverbs_conn_state {
	KVERBS_CONN_NEW,
	KVERBS_CONN_ADDR,
	KVERBS_CONN_ROUTE,
	KVERBS_CONN_HANDSHAKE,
	KVERBS_CONN_UP,
	KVERBS_CONN_CLOSING,
	KVERBS_CONN_DEAD,
};

struct kverbs_connection;

/**
 * struct kverbs_connection_ops - what the floor above does for a connection
 * @attach: make its part (conn->work); before there is a queue pair. Process
 *	context
 * @told: the program knows the connection now: its events may come. Process
 *	context
 * @pump: slots or credits came free, or something is to be sent. Softirq or
 *	process context, no lock held
 * @message: a control message of its own. Receive completion, process context.
 *	-errno ends the connection; 1 means that it keeps the receive
 * @quiesce: take no more work. Process context
 * @abort: nothing is on the device any more: end everything. Process context
 * @unregister: the queue pair is gone: give back what was registered in its
 *	domain. Process context
 * @release: free conn->work. Process context
 */
struct kverbs_connection_ops {
	int (*attach)(struct kverbs_connection *conn);
	void (*told)(struct kverbs_connection *conn);
	void (*pump)(struct kverbs_connection *conn);
	int (*message)(struct kverbs_connection *conn, const struct kverbs_msg *msg,
		       struct kverbs_recv *recv);
	void (*quiesce)(struct kverbs_connection *conn);
	void (*abort)(struct kverbs_connection *conn);
	void (*unregister)(struct kverbs_connection *conn);
	void (*release)(struct kverbs_connection *conn);
};

/**
 * struct kverbs_connection - one connection
 * @obj: id and references. One reference each: the id table, the teardown until
 *	it is over, the listener's queue, every event that is queued, every call
 *	in progress
 * @ctx: whose it is, held
 * @ops: the floor above
 * @work: the floor above's part
 * @attr: what was asked for
 * @initiator: we connected; otherwise we accepted
 * @lock: guards @state to @error; taken with interrupts off since
 *	asynchronous events come in any context. Nothing nests inside
 * @state: enum kverbs_conn_state
 * @was_up: it has been UP
 * @told: the program knows it, so it gets the event of its end
 * @leaving: this end has said goodbye: what the peer does now is no error
 * @holds: a teardown waits until there are none
 * @error: the first cause, valid from CLOSING on
 * @wait: woken by every change of state
 * @teardown: queued once
 * @half_open: ends a peer that does not complete its hello
 * @cm_id: the connection manager's; made once, destroyed by the teardown.
 *	NULL when there is none (yet)
 * @user: its place in the device's list
 * @connect: asks the peer, where the connection manager's handler must not wait
 * @peer_minor: protocol version of the peer
 * @features: what this connection can do, enum kverbs_feature
 * @rd_out: reads and atomics that we may have on the way
 * @rd_in: that the peer may; both from the device, then as agreed
 * @control: the control channel
 * @qp: the queue pair
 * @poller: looks at a send completion queue that is polled directly
 * @node: the state as an event, pushed when DEAD
 * @taken: ACCEPT has taken it; guarded by the listener's lock
 * @link: in @listener's queue of connections to accept
 * @established: takes an accepted connection up when the peer's first word has
 *	come; -errno ends it
 * @gone: tells the listener that one connection less is alive; set when
 *	accepted by one, called once by the teardown
 * @listener: whose it was, held by @gone's end
 * @src: own address
 * @dst: peer's address
 * @info: what KVERBS_CMD_CONN_QUERY tells of the queue pair, taken when up
 * @all: link in the list of all connections, until the release
 * @serial: ascends in that list; never used twice
 */
struct kverbs_connection {
	struct kverbs_object obj;
	struct kverbs_context *ctx;
	const struct kverbs_connection_ops *ops;
	void *work;
	struct kverbs_conn_attr attr;
	bool initiator;
	spinlock_t lock;		/* see above */
	enum kverbs_conn_state state;
	bool was_up;
	bool told;
	bool leaving;
	u32 holds;
	struct kverbs_error error;
	wait_queue_head_t wait;
	struct work_struct teardown;
	struct delayed_work half_open;
	struct rdma_cm_id *cm_id;
	struct kverbs_dev_user user;
	struct work_struct connect;
	u8 peer_minor;
	u32 features;
	u8 rd_out;
	u8 rd_in;
	struct kverbs_control control;
	struct kverbs_qp qp;
	struct kverbs_poller poller;
	struct kverbs_event_node node;
	bool taken;
	struct list_head link;
	int (*established)(struct kverbs_connection *conn);
	void (*gone)(struct kverbs_connection *conn);
	struct kverbs_object *listener;
	struct sockaddr_storage src;
	struct sockaddr_storage dst;
	struct kverbs_conn_query info;
	struct list_head all;
	u64 serial;
};

int kverbs_connection_init(void);
void kverbs_connection_exit(void);
bool kverbs_connection_queue(struct work_struct *work);

struct kverbs_connection *kverbs_connection_create(struct kverbs_context *ctx,
						   const struct kverbs_conn_attr *attr,
						   const struct kverbs_connection_ops *ops);
struct kverbs_connection *kverbs_connection_from(u64 serial);
struct kverbs_connection *kverbs_connection_next(struct kverbs_connection *conn);
int kverbs_connection_setup(struct kverbs_connection *conn);
void kverbs_connection_expect(struct kverbs_connection *conn, u32 timeout_ms);
bool kverbs_connection_advance(struct kverbs_connection *conn,
			       enum kverbs_conn_state from, enum kverbs_conn_state to);
void kverbs_connection_fail(struct kverbs_connection *conn, const struct kverbs_error *why);
void kverbs_connection_fail_early(struct kverbs_connection *conn, const struct kverbs_error *why);
int kverbs_connection_hold(struct kverbs_connection *conn, enum kverbs_conn_state state);
void kverbs_connection_unhold(struct kverbs_connection *conn);
void kverbs_connection_tell(struct kverbs_connection *conn);
void kverbs_connection_leave(struct kverbs_connection *conn);
void kverbs_connection_goodbye(struct kverbs_connection *conn, u32 code);
void kverbs_connection_post_failed(struct kverbs_connection *conn, enum kverbs_step step, int ret);
void kverbs_connection_end(struct kverbs_connection *conn, enum kverbs_step step, int code);
void kverbs_connection_snapshot(struct kverbs_connection *conn);
void kverbs_connection_query(struct kverbs_connection *conn, struct kverbs_conn_query *query);
int kverbs_connection_wait_up(struct kverbs_connection *conn, u32 timeout_ms);
bool kverbs_connection_wait_dead(struct kverbs_connection *conn, u32 timeout_ms);
void kverbs_connection_error(struct kverbs_connection *conn, struct kverbs_error *error);

static inline bool kverbs_connection_is_up(const struct kverbs_connection *conn)
{
	return READ_ONCE(conn->state) == KVERBS_CONN_UP;
}

static inline struct kverbs_connection *kverbs_to_connection(struct kverbs_object *obj)
{
	return container_of(obj, struct kverbs_connection, obj);
}

static inline void kverbs_connection_get(struct kverbs_connection *conn)
{
	kverbs_object_get(&conn->obj);
}

static inline void kverbs_connection_put(struct kverbs_connection *conn)
{
	kverbs_object_put(&conn->obj);
}

#endif /* KVERBS_CONNECTION_H */
