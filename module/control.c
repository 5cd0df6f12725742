// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control channel. See control.h; the bytes are wire.h's, the rule of who
 * may send is credit.h's.
 *
 * An ordinary control message leaves one credit in the pool, for a bare CREDIT:
 * so two ends that both spent all they had still tell each other of what they
 * gave back. A bare CREDIT is sent when half a pool is owed and nothing else
 * went out that carried the counters.
 */
#include <linux/slab.h>

#include "connection.h"
#include "control.h"
#include "trace.h"

static const struct kverbs_event_ops kverbs_recv_event_ops;
static void kverbs_control_recv_done(struct ib_cq *cq, struct ib_wc *wc);

/* Nothing to do: the slot's reclaim is the buffer's. */
static void kverbs_control_reclaimed(struct kverbs_slot_owner *owner,
				     const struct kverbs_fate *fate)
{
}

static int kverbs_control_map_recv(struct kverbs_connection *conn, struct kverbs_recv *recv)
{
	struct ib_device *ib = conn->control.dev;

	recv->buf = kmalloc(KVERBS_WIRE_SLOT, GFP_KERNEL_ACCOUNT);
	if (!recv->buf)
		return -ENOMEM;
	recv->dma = ib_dma_map_single(ib, recv->buf, KVERBS_WIRE_SLOT, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(ib, recv->dma)) {
		kfree(recv->buf);
		recv->buf = NULL;
		return -EIO;
	}
	recv->conn = conn;
	recv->cqe.done = kverbs_control_recv_done;
	kverbs_event_node_init(&recv->node, &kverbs_recv_event_ops);
	return 0;
}

/**
 * kverbs_control_alloc() - buffers, mapped; nothing is posted yet
 * @conn: joined to its device
 *
 * On error what was made stays, for kverbs_control_free().
 *
 * Context: Process context, may sleep.
 * Return: 0 or -errno.
 */
int kverbs_control_alloc(struct kverbs_connection *conn)
{
	struct kverbs_control *ctl = &conn->control;
	struct ib_device *ib = conn->qp.dev->ib;
	int i, ret;

	ctl->owner.reclaimed = kverbs_control_reclaimed;
	ctl->recv = kvcalloc(KVERBS_RECVS, sizeof(*ctl->recv), GFP_KERNEL_ACCOUNT);
	if (!ctl->recv)
		return -ENOMEM;
	ctl->dev = ib;
	for (i = 0; i < KVERBS_RECVS; i++) {
		ret = kverbs_control_map_recv(conn, &ctl->recv[i]);
		if (ret)
			return ret;
	}
	ctl->tx = kzalloc(KVERBS_CTRL_SLOTS * KVERBS_WIRE_SLOT, GFP_KERNEL_ACCOUNT);
	if (!ctl->tx)
		return -ENOMEM;
	ctl->tx_dma = ib_dma_map_single(ib, ctl->tx, KVERBS_CTRL_SLOTS * KVERBS_WIRE_SLOT,
					DMA_TO_DEVICE);
	if (ib_dma_mapping_error(ib, ctl->tx_dma)) {
		kfree(ctl->tx);
		ctl->tx = NULL;
		return -EIO;
	}
	return 0;
}

/**
 * kverbs_control_free() - unmap and free the buffers
 * @conn: its queue pair is destroyed
 *
 * The receives themselves stay, bytes and all, since the program may not yet have
 * taken their events: they go with the connection (kverbs_control_release()).
 *
 * Context: Process context, may sleep.
 */
void kverbs_control_free(struct kverbs_connection *conn)
{
	struct kverbs_control *ctl = &conn->control;
	int i;

	if (!ctl->dev)
		return;
	for (i = 0; i < KVERBS_RECVS && ctl->recv[i].buf; i++)
		ib_dma_unmap_single(ctl->dev, ctl->recv[i].dma, KVERBS_WIRE_SLOT,
				    DMA_FROM_DEVICE);
	if (ctl->tx)
		ib_dma_unmap_single(ctl->dev, ctl->tx_dma,
				    KVERBS_CTRL_SLOTS * KVERBS_WIRE_SLOT, DMA_TO_DEVICE);
	kfree(ctl->tx);
	ctl->tx = NULL;
	ctl->dev = NULL;
}

/**
 * kverbs_control_release() - free the receives
 * @conn: nobody refers to it any more
 *
 * Context: Process context.
 */
void kverbs_control_release(struct kverbs_connection *conn)
{
	struct kverbs_control *ctl = &conn->control;
	int i;

	for (i = 0; ctl->recv && i < KVERBS_RECVS; i++)
		kfree(ctl->recv[i].buf);
	kvfree(ctl->recv);
}

static int kverbs_recv_post(struct kverbs_recv *recv)
{
	struct ib_sge sge = {
		.addr = recv->dma,
		.length = KVERBS_WIRE_SLOT,
		.lkey = recv->conn->qp.pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &recv->cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	ib_dma_sync_single_for_device(recv->conn->control.dev, recv->dma, KVERBS_WIRE_SLOT,
				      DMA_FROM_DEVICE);
	return kverbs_qp_post_recv(&recv->conn->qp, &wr);
}

/**
 * kverbs_control_post_recvs() - post all the receives
 * @conn: has a queue pair, not yet connected
 *
 * Context: Process context.
 * Return: 0 or -errno.
 */
int kverbs_control_post_recvs(struct kverbs_connection *conn)
{
	int i, ret = 0;

	for (i = 0; i < KVERBS_RECVS && !ret; i++)
		ret = kverbs_recv_post(&conn->control.recv[i]);
	return ret;
}

/**
 * kverbs_control_hello() - what this end says of itself
 * @hello: filled in
 *
 * Context: Any.
 */
void kverbs_control_hello(struct kverbs_hello *hello)
{
	*hello = (struct kverbs_hello) {
		.major = KVERBS_WIRE_MAJOR,
		.minor = KVERBS_WIRE_MINOR,
		.control = KVERBS_CTRL_RECVS,
		.data = KVERBS_DATA_RECVS,
	};
}

/**
 * kverbs_control_grant() - set the credits up from the peer's hello
 * @conn: nothing sent or received yet
 * @peer: its hello, checked
 *
 * Context: Process context.
 */
void kverbs_control_grant(struct kverbs_connection *conn, const struct kverbs_hello *peer)
{
	struct kverbs_credit *credit = conn->control.credit;

	conn->peer_minor = peer->minor;
	spin_lock_bh(&conn->qp.lock);
	kverbs_credit_init(&credit[KVERBS_CREDIT_CONTROL], peer->control, KVERBS_CTRL_RECVS);
	kverbs_credit_init(&credit[KVERBS_CREDIT_DATA], peer->data, KVERBS_DATA_RECVS);
	spin_unlock_bh(&conn->qp.lock);
}

/**
 * kverbs_control_room() - messages of a class that can be put now
 * @conn: the connection
 * @class: of the credit that they take
 *
 * Context: Send queue lock held.
 * Return: how many.
 */
u32 kverbs_control_room(struct kverbs_connection *conn, enum kverbs_credit_class class)
{
	u32 credits = kverbs_credit_room(&conn->control.credit[class]);
	u32 keep = class == KVERBS_CREDIT_CONTROL;

	return min(kverbs_qp_room(&conn->qp, KVERBS_SLOT_CONTROL),
		   credits > keep ? credits - keep : 0);
}

static enum kverbs_credit_class kverbs_control_class(const struct kverbs_msg *msg)
{
	switch (msg->type) {
	case KVERBS_MSG_DONE:
		return msg->done.notify ? KVERBS_CREDIT_DATA : KVERBS_CREDIT_CONTROL;
	case KVERBS_MSG_IMM:
	case KVERBS_MSG_MESSAGE:
		return KVERBS_CREDIT_DATA;
	default:
		return KVERBS_CREDIT_CONTROL;
	}
}

/**
 * kverbs_control_spend() - the next work request takes a receive of the peer's
 *	data class without being a message
 * @conn: the connection; there is a credit
 *
 * Context: Send queue lock held.
 */
void kverbs_control_spend(struct kverbs_connection *conn)
{
	lockdep_assert_held(&conn->qp.lock);
	kverbs_credit_take(&conn->control.credit[KVERBS_CREDIT_DATA]);
}

/**
 * kverbs_control_add() - encode into the next buffer and add a SEND to the chain
 * @conn: the connection; there is room (kverbs_control_room())
 * @msg: the message; its counters are filled in here
 * @owner: told when it is reclaimed
 *
 * Context: Send queue lock held.
 * Return: the work request.
 */
struct kverbs_wr *kverbs_control_add(struct kverbs_connection *conn, struct kverbs_msg *msg,
				     struct kverbs_slot_owner *owner)
{
	struct kverbs_control *ctl = &conn->control;
	u32 at = ctl->tx_next * KVERBS_WIRE_SLOT;
	struct kverbs_wr *wr;

	lockdep_assert_held(&conn->qp.lock);
	kverbs_credit_take(&ctl->credit[kverbs_control_class(msg)]);
	msg->control = kverbs_credit_announce(&ctl->credit[KVERBS_CREDIT_CONTROL]);
	msg->data = kverbs_credit_announce(&ctl->credit[KVERBS_CREDIT_DATA]);

	wr = kverbs_qp_next(&conn->qp, KVERBS_SLOT_CONTROL, owner);
	wr->send.opcode = IB_WR_SEND;
	wr->send.num_sge = 1;
	wr->sge[0].addr = ctl->tx_dma + at;
	wr->sge[0].length = kverbs_wire_put(msg, ctl->tx + at);
	wr->sge[0].lkey = conn->qp.pd->local_dma_lkey;
	ib_dma_sync_single_for_device(ctl->dev, wr->sge[0].addr, KVERBS_WIRE_SLOT,
				      DMA_TO_DEVICE);

	ctl->tx_next = (ctl->tx_next + 1) % KVERBS_CTRL_SLOTS;
	conn->qp.counters.ctrl_sent++;
	trace_kverbs_control(conn->obj.id, true, msg->type,
			     kverbs_credit_room(&ctl->credit[KVERBS_CREDIT_CONTROL]));
	return wr;
}

/**
 * kverbs_control_put() - add a message to the chain, if there is room
 * @conn: the connection
 * @msg: the message; its counters are filled in here
 *
 * Context: Send queue lock held.
 * Return: false when there is no room (kverbs_control_room()).
 */
bool kverbs_control_put(struct kverbs_connection *conn, struct kverbs_msg *msg)
{
	if (!kverbs_control_room(conn, kverbs_control_class(msg)))
		return false;
	kverbs_control_add(conn, msg, &conn->control.owner);
	return true;
}

/* The first word and the last. */
static void control_pump_words(struct kverbs_connection *conn)
{
	struct kverbs_msg bye = { .type = KVERBS_MSG_GOODBYE, .goodbye = conn->control.goodbye };
	struct kverbs_msg ready = { .type = KVERBS_MSG_READY };
	struct kverbs_control *ctl = &conn->control;

	if (ctl->want_ready && kverbs_control_put(conn, &ready))
		ctl->want_ready = false;
	if (ctl->want_goodbye && kverbs_control_put(conn, &bye))
		ctl->want_goodbye = false;
}

/**
 * kverbs_control_pump() - add what this room has to say to the chain
 * @conn: the connection
 *
 * Context: Send queue lock held.
 */
void kverbs_control_pump(struct kverbs_connection *conn)
{
	struct kverbs_control *ctl = &conn->control;

	if (unlikely(ctl->want_ready || ctl->want_goodbye))
		control_pump_words(conn);
	if (kverbs_credit_due(ctl->credit) && kverbs_qp_room(&conn->qp, KVERBS_SLOT_CONTROL)) {
		struct kverbs_msg msg = { .type = KVERBS_MSG_CREDIT };

		kverbs_control_add(conn, &msg, &ctl->owner);
	}
}

/**
 * kverbs_control_ready() - let READY be the initiator's first word
 * @conn: about to be up: nothing is sent before
 *
 * Context: Process context.
 */
void kverbs_control_ready(struct kverbs_connection *conn)
{
	spin_lock_bh(&conn->qp.lock);
	conn->control.want_ready = true;
	spin_unlock_bh(&conn->qp.lock);
}

/**
 * kverbs_control_goodbye() - tell the peer that this end closes
 * @conn: up
 * @code: positive errno, 0 for an orderly end
 *
 * Context: Process context.
 */
void kverbs_control_goodbye(struct kverbs_connection *conn, u32 code)
{
	kverbs_connection_leave(conn);
	spin_lock_bh(&conn->qp.lock);
	conn->control.goodbye = code;
	conn->control.want_goodbye = true;
	spin_unlock_bh(&conn->qp.lock);
	conn->ops->pump(conn);
}

/**
 * kverbs_recv_give_back() - post a receive again and owe its credit
 * @recv: its message is done with
 *
 * Context: Process context. The caller holds a reference on the connection.
 */
void kverbs_recv_give_back(struct kverbs_recv *recv)
{
	bool notify = recv->done.notify;
	struct kverbs_connection *conn = recv->conn;
	struct kverbs_credit *credit;
	bool owed = false;
	int ret = 0;

	credit = &conn->control.credit[notify ? KVERBS_CREDIT_DATA : KVERBS_CREDIT_CONTROL];
	spin_lock_bh(&conn->qp.lock);
	if (!conn->qp.fenced) {
		ret = kverbs_recv_post(recv);
		kverbs_credit_return(credit);
		owed = kverbs_credit_owed(credit);
	}
	spin_unlock_bh(&conn->qp.lock);
	if (ret)
		kverbs_connection_post_failed(conn, KVERBS_STEP_RECV, ret);
	else if (owed)
		conn->ops->pump(conn);
}

static void kverbs_recv_event_fill(struct kverbs_event_node *node, struct kverbs_event *event)
{
	struct kverbs_recv *recv = container_of(node, struct kverbs_recv, node);

	event->kind = recv->kind;
	event->id = recv->conn->obj.id;
	event->region_id = recv->region;
	event->offset = recv->done.offset;
	event->length = recv->done.length;
	event->tag = recv->done.tag;
	event->seq = recv->done.seq;
}

static void kverbs_recv_event_taken(struct kverbs_event_node *node)
{
	struct kverbs_recv *recv = container_of(node, struct kverbs_recv, node);
	struct kverbs_connection *conn = recv->conn;

	spin_lock_bh(&conn->qp.lock);
	conn->control.taken = max(conn->control.taken, recv->done.seq);
	spin_unlock_bh(&conn->qp.lock);
	kverbs_recv_give_back(recv);
	kverbs_connection_put(conn);
}

static const void *kverbs_recv_event_bytes(struct kverbs_event_node *node, u32 *length)
{
	struct kverbs_recv *recv = container_of(node, struct kverbs_recv, node);

	*length = recv->done.length;
	return recv->kind == KVERBS_EVENT_MESSAGE ? recv->bytes : NULL;
}

static const struct kverbs_event_ops kverbs_recv_event_ops = {
	.fill = kverbs_recv_event_fill,
	.taken = kverbs_recv_event_taken,
	.bytes = kverbs_recv_event_bytes,
};

/* The initiator's first word: the accepted connection is up. */
static int kverbs_control_got_ready(struct kverbs_connection *conn)
{
	if (conn->initiator || !conn->established)
		return -EPROTO;
	return conn->established(conn);
}

static int kverbs_control_dispatch(struct kverbs_connection *conn, const struct kverbs_msg *msg,
				   struct kverbs_recv *recv)
{
	switch (msg->type) {
	case KVERBS_MSG_READY:
		return kverbs_control_got_ready(conn);
	case KVERBS_MSG_CREDIT:
		return 0;
	case KVERBS_MSG_GOODBYE:
		kverbs_connection_goodbye(conn, msg->goodbye);
		return 0;
	default:
		if (!conn->was_up)
			return -EPROTO;
		return conn->ops->message(conn, msg, recv);
	}
}

/* Count the receive and take the counters in; -EPROTO for a peer that cheats. */
static int kverbs_control_account(struct kverbs_connection *conn, const struct kverbs_msg *msg)
{
	struct kverbs_credit *credit = conn->control.credit;
	int ret;

	spin_lock_bh(&conn->qp.lock);
	conn->qp.counters.ctrl_received += msg->type != KVERBS_MSG_IMM;
	ret = kverbs_credit_receive(&credit[kverbs_control_class(msg)]);
	/* An immediate comes without counters. */
	if (!ret && msg->type != KVERBS_MSG_IMM)
		ret = kverbs_credit_update(&credit[KVERBS_CREDIT_CONTROL], msg->control) ?:
		      kverbs_credit_update(&credit[KVERBS_CREDIT_DATA], msg->data);
	trace_kverbs_control(conn->obj.id, false, msg->type,
			     kverbs_credit_room(&credit[KVERBS_CREDIT_CONTROL]));
	spin_unlock_bh(&conn->qp.lock);
	return ret;
}

/* The event that a message may become, whose receive then stays with it. */
static void kverbs_recv_fill(struct kverbs_recv *recv, const struct kverbs_msg *msg)
{
	memset(&recv->done, 0, sizeof(recv->done));
	recv->region = 0;
	recv->bytes = NULL;
	switch (msg->type) {
	case KVERBS_MSG_IMM:
		recv->kind = KVERBS_EVENT_IMM;
		recv->done = msg->done;
		break;
	case KVERBS_MSG_DONE:
		recv->kind = KVERBS_EVENT_NOTIFY;
		recv->done = msg->done;
		break;
	case KVERBS_MSG_MESSAGE:
		recv->kind = KVERBS_EVENT_MESSAGE;
		recv->done.seq = msg->message.seq;
		recv->done.tag = msg->message.tag;
		recv->done.length = msg->message.length;
		recv->done.notify = true;
		recv->bytes = msg->message.bytes;
		break;
	}
}

/* Returns 1 when the message keeps its receive, otherwise 0 or -errno. */
static int kverbs_control_receive(struct kverbs_connection *conn, struct kverbs_recv *recv,
				  const struct ib_wc *wc)
{
	struct kverbs_msg msg = {};
	int ret = 0;

	if (wc->wc_flags & IB_WC_WITH_IMM) {
		if (wc->opcode != IB_WC_RECV_RDMA_WITH_IMM)
			return -EPROTO;
		msg.type = KVERBS_MSG_IMM;
		msg.done.length = wc->byte_len;
		msg.done.tag = be32_to_cpu(wc->ex.imm_data);
		msg.done.notify = true;
	} else {
		ib_dma_sync_single_for_cpu(conn->control.dev, recv->dma, KVERBS_WIRE_SLOT,
					   DMA_FROM_DEVICE);
		ret = kverbs_wire_get(&msg, recv->buf, wc->byte_len, conn->peer_minor);
	}
	if (ret && ret != -ENOMSG)
		return ret;
	kverbs_recv_fill(recv, &msg);
	return kverbs_control_account(conn, &msg) ?:
	       ret ? 0 : kverbs_control_dispatch(conn, &msg, recv);
}

static void kverbs_control_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kverbs_recv *recv = container_of(wc->wr_cqe, struct kverbs_recv, cqe);
	struct kverbs_connection *conn = recv->conn;
	int ret;

	if (unlikely(wc->status)) {
		struct kverbs_error why = {
			.step = wc->status == IB_WC_WR_FLUSH_ERR ? KVERBS_STEP_PEER :
								   KVERBS_STEP_RECV,
			.code = -kverbs_wc_errno(wc->status),
			.wc_status = wc->status,
			.vendor_err = wc->vendor_err,
		};

		/* Flushed before it was up: the connection manager knows why. */
		if (wc->status != IB_WC_WR_FLUSH_ERR || conn->was_up)
			kverbs_connection_fail(conn, &why);
		return;
	}
	ret = kverbs_control_receive(conn, recv, wc);
	if (ret < 0)
		kverbs_connection_end(conn, KVERBS_STEP_CONTROL, -ret);
	else if (!ret)
		kverbs_recv_give_back(recv);
	/* Credits may have come, and slots where nobody polls for them. */
	kverbs_qp_poll(&conn->qp);
	conn->ops->pump(conn);
}
