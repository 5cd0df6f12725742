/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Batch: the transfers of one submission, in one piece of memory.
 *
 * What all of them have in common (context, connection, who is told) is held
 * once. Each transfer has a reference on its batch until nobody needs it any
 * more, so a batch goes with the last of them.
 *
 * Who is told of the end of a transfer:
 *
 *	no @one, no @ended	the program, by an event for each
 *	@one			the program, by an event for each that failed and
 *				one for all
 *	@ended			the caller in the kernel, by a call for all
 *
 * A batch counts against the context's bound on pending items for as long as it
 * is there, whole, since it takes memory whole.
 */
#ifndef KVERBS_BATCH_H
#define KVERBS_BATCH_H

#include "transfer.h"

/**
 * struct kverbs_batch - one submission
 * @ref: one for whoever makes it, one for each transfer, one for its event
 * @ctx: whose event queue, held
 * @work: of the connection
 * @conn_id: for events: the connection may be gone when they are taken
 * @one: one event for all; see above
 * @ended: called instead, with the send queue's lock held; see above
 * @private: of whoever set @ended
 * @node: the event for all
 * @user_data: of that event
 * @reserved: transfers there is room for
 * @nr: transfers accepted
 * @left: of these, without a final outcome; this and all up to @stamps is under
 *	the send queue's lock
 * @failed: of these, with an error
 * @code: errno of the first that failed
 * @reached: the least moment reached
 * @bytes: of those that succeeded
 * @stamps: the latest of each moment
 * @transfer: @nr of them
 */
struct kverbs_batch {
	refcount_t ref;
	struct kverbs_context *ctx;
	struct kverbs_work *work;
	u32 conn_id;
	bool one;
	void (*ended)(struct kverbs_batch *batch);
	void *private;
	struct kverbs_event_node node;
	u64 user_data;
	u32 reserved;
	u32 nr;
	u32 left;
	u32 failed;
	u32 code;
	u32 reached;
	u64 bytes;
	u64 stamps[KVERBS_MOMENTS];
	struct kverbs_transfer transfer[];
};

struct kverbs_batch *kverbs_batch_create(struct kverbs_connection *conn, u32 nr);
void kverbs_batch_string(struct kverbs_batch *batch, struct list_head *list);
void kverbs_batch_accept(struct kverbs_batch *batch);
void kverbs_batch_discard(struct kverbs_batch *batch);
void kverbs_batch_count(struct kverbs_batch *batch, const struct kverbs_transfer *t);
void kverbs_batch_put(struct kverbs_batch *batch);

#endif /* KVERBS_BATCH_H */
