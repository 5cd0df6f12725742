/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bringing connections up by rdma_cm: connect, listen, accept.
 *
 * The initiator's hello travels in the request, the target's in the reply. The
 * target counts a connection as established when the initiator's first control
 * message (READY) has come: until then it is half open, and a timer runs. An
 * established connection waits in its listener's queue until ACCEPT takes it.
 */
#ifndef KVERBS_CM_H
#define KVERBS_CM_H

#include "connection.h"
#include "memory.h"

/**
 * struct kverbs_exposure - what a listener exposes to each connection
 * @list: link in the listener's list
 * @buf: the buffer, held
 * @offset: start in the buffer
 * @length: bytes
 * @rights: KVERBS_RIGHT_*
 * @tag: told to the peer
 */
struct kverbs_exposure {
	struct list_head list;
	struct kverbs_buffer *buf;
	u64 offset;
	u64 length;
	u32 rights;
	u64 tag;
};

/**
 * struct kverbs_listener - takes connections
 * @obj: id and references: the id table, each of its connections, the close
 *	work, queued events, each call in progress
 * @ctx: whose it is, held
 * @ops: the floor above, for its connections
 * @attr: of its connections
 * @backlog: established connections that may wait
 * @max_conns: connections that may be alive
 * @half_open_ms: how long a hello may take
 * @cm_id: NULL once closed; taken by xchg()
 * @starting: held while it starts, so that a close from the device's removal
 *	waits for it. Outermost
 * @lock: guards the fields below up to @nr_exposures
 * @queue: established connections, each with a reference
 * @queued: how many
 * @alive: connections whose teardown is not over
 * @closed: takes no more; @status tells why
 * @status: positive errno
 * @exposures: struct kverbs_exposure, only added to
 * @nr_exposures: how many
 * @wait: woken when the queue grows or it closes
 * @incoming: the event that there is something to accept
 * @ended: the event that it was closed by the device's removal
 * @close: closes it outside of its own handler
 */
struct kverbs_listener {
	struct kverbs_object obj;
	struct kverbs_context *ctx;
	const struct kverbs_connection_ops *ops;
	struct kverbs_conn_attr attr;
	u32 backlog;
	u32 max_conns;
	u32 half_open_ms;
	struct rdma_cm_id *cm_id;
	struct mutex starting;		/* see above */
	struct mutex lock;		/* see above */
	struct list_head queue;
	u32 queued;
	u32 alive;
	bool closed;
	u32 status;
	struct list_head exposures;
	u32 nr_exposures;
	wait_queue_head_t wait;
	struct kverbs_event_node incoming;
	struct kverbs_event_node ended;
	struct work_struct close;
};

void kverbs_cm_connect(struct kverbs_connection *conn, struct sockaddr_storage *src,
		       struct sockaddr_storage *dst, u32 timeout_ms);
struct kverbs_listener *kverbs_listener_create(struct kverbs_context *ctx,
					       const struct kverbs_conn_attr *attr,
					       const struct kverbs_connection_ops *ops);
int kverbs_listener_start(struct kverbs_listener *l, struct sockaddr_storage *addr,
			  struct kverbs_error *why);
struct kverbs_connection *kverbs_listener_accept(struct kverbs_listener *l, bool nonblock,
						 u32 timeout_ms);
void kverbs_listener_close(struct kverbs_listener *l, u32 status);

static inline struct kverbs_listener *kverbs_to_listener(struct kverbs_object *obj)
{
	return container_of(obj, struct kverbs_listener, obj);
}

#endif /* KVERBS_CM_H */
