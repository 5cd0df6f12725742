/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control channel: SEND and RECV beside the writes.
 *
 * Receiving: a fixed array of receives, all posted before the connection comes
 * up. A control message's receive is posted again at once; a notify's receive
 * *is* the program's event and is posted again when the program has taken it.
 * Sending: a fixed ring of send buffers, one per control slot; slots are
 * reclaimed in order, so a free slot is a free buffer. Nothing is allocated
 * after the start, and nothing relies on the receiver-not-ready retries.
 *
 * This room sends READY, CREDIT and GOODBYE itself and hands every message it
 * has no use for to the floor above.
 */
#ifndef KVERBS_CONTROL_H
#define KVERBS_CONTROL_H

#include <rdma/ib_verbs.h>

#include "credit.h"
#include "event.h"
#include "qp.h"
#include "wire.h"

struct kverbs_connection;

/**
 * struct kverbs_recv - one receive
 * @cqe: names it to the device
 * @conn: whose
 * @buf: KVERBS_WIRE_SLOT bytes
 * @dma: where the device sees them
 * @node: what the program is told, as an event
 * @kind: enum kverbs_event_kind of that: NOTIFY, MESSAGE or IMM
 * @done: what it says. Of a message @length is that of its bytes, of an immediate
 *	@tag is the immediate
 * @region: id of the region, in our context, for a notification
 * @bytes: of a message, in @buf
 */
struct kverbs_recv {
	struct ib_cqe cqe;
	struct kverbs_connection *conn;
	void *buf;
	u64 dma;
	struct kverbs_event_node node;
	u32 kind;
	struct kverbs_msg_done done;
	u32 region;
	const void *bytes;
};

/**
 * struct kverbs_control - one end of the channel
 * @owner: of the sends
 * @credit: both classes; guarded by the send queue's lock
 * @tx: KVERBS_CTRL_SLOTS buffers
 * @tx_dma: where the device sees them
 * @tx_next: buffer used next
 * @taken: the highest seq that our program has taken
 * @want_ready: READY is to be sent; this and the next four
 *	under the send queue's lock
 * @want_goodbye: GOODBYE is to be sent
 * @goodbye: its errno
 * @recv: KVERBS_RECVS of them
 * @dev: for unmapping; NULL until started
 */
struct kverbs_control {
	struct kverbs_slot_owner owner;
	struct kverbs_credit credit[KVERBS_CREDITS];
	void *tx;
	u64 tx_dma;
	u32 tx_next;
	u64 taken;
	bool want_ready;
	bool want_goodbye;
	u32 goodbye;
	struct kverbs_recv *recv;
	struct ib_device *dev;
};

int kverbs_control_alloc(struct kverbs_connection *conn);
void kverbs_control_free(struct kverbs_connection *conn);
void kverbs_control_release(struct kverbs_connection *conn);
int kverbs_control_post_recvs(struct kverbs_connection *conn);
void kverbs_control_hello(struct kverbs_hello *hello);
void kverbs_control_grant(struct kverbs_connection *conn, const struct kverbs_hello *peer);
void kverbs_control_ready(struct kverbs_connection *conn);
void kverbs_control_goodbye(struct kverbs_connection *conn, u32 code);
void kverbs_control_pump(struct kverbs_connection *conn);
u32 kverbs_control_room(struct kverbs_connection *conn, enum kverbs_credit_class class);
bool kverbs_control_put(struct kverbs_connection *conn, struct kverbs_msg *msg);
struct kverbs_wr *kverbs_control_add(struct kverbs_connection *conn, struct kverbs_msg *msg,
				     struct kverbs_slot_owner *owner);
void kverbs_control_spend(struct kverbs_connection *conn);
void kverbs_recv_give_back(struct kverbs_recv *recv);

#endif /* KVERBS_CONTROL_H */
