// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fill: a transfer into work requests. See fill.h.
 *
 * A write or a read is cut into pieces, one work request each, plus one or two
 * before it where it goes through a registration of its own. The last piece of a
 * write that the peer hears of goes into one chain with the DONE that follows it,
 * or is itself the immediate. A message and an atomic are one work request.
 */
#include "batch.h"
#include "fill.h"
#include "work.h"

#define KVERBS_SIGNAL_BYTES	SZ_256K	/* a piece this large is signaled */

static struct kverbs_connection *fill_conn(const struct kverbs_transfer *t)
{
	return t->batch->work->conn;
}

static bool fill_wants_done(const struct kverbs_transfer *t)
{
	if (t->op != KVERBS_OP_WRITE || t->flags & KVERBS_ITEM_IMM)
		return false;
	return t->flags & KVERBS_ITEM_NOTIFY || t->until > KVERBS_COMPLETED;
}

/* Is there room for what the last piece brings with it? */
static bool fill_last_room(struct kverbs_transfer *t)
{
	struct kverbs_connection *conn = fill_conn(t);

	if (t->flags & KVERBS_ITEM_IMM)
		return kverbs_credit_room(&conn->control.credit[KVERBS_CREDIT_DATA]);
	if (!fill_wants_done(t))
		return true;
	return kverbs_control_room(conn, t->flags & KVERBS_ITEM_NOTIFY ? KVERBS_CREDIT_DATA :
									 KVERBS_CREDIT_CONTROL);
}

static void fill_done(struct kverbs_transfer *t)
{
	struct kverbs_msg msg = {
		.type = KVERBS_MSG_DONE,
		.done = {
			.seq = ++t->batch->work->seq,
			.offset = t->region_offset,
			.length = t->length,
			.tag = t->tag,
			.region = t->remote->name,
			.notify = t->flags & KVERBS_ITEM_NOTIFY,
		},
	};

	t->seq = msg.done.seq;
	kverbs_control_put(fill_conn(t), &msg);
}

/* What all work requests of a transfer have in common. */
static void fill_own(struct kverbs_transfer *t, struct kverbs_wr *wr)
{
	if (t->fence)
		wr->send.send_flags |= IB_SEND_FENCE;
	t->fence = false;
	t->wrs++;
	t->posted++;
}

static void fill_rdma(struct kverbs_transfer *t, struct kverbs_wr *wr,
		      const struct kverbs_piece *piece)
{
	struct kverbs_connection *conn = fill_conn(t);

	wr->send.opcode = t->op == KVERBS_OP_READ ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE;
	wr->send.num_sge = piece->nr_sge;
	wr->rdma.remote_addr = piece->addr;
	wr->rdma.rkey = piece->rkey;
	if (t->copy)
		wr->send.send_flags |= IB_SEND_INLINE;
	/* Show progress: a chain of large pieces may take long. */
	if (piece->length >= KVERBS_SIGNAL_BYTES)
		wr->send.send_flags |= IB_SEND_SIGNALED;
	if (t->flags & KVERBS_ITEM_IMM && !t->slice.left) {
		wr->send.opcode = IB_WR_RDMA_WRITE_WITH_IMM;
		wr->send.ex.imm_data = cpu_to_be32(t->tag);
		t->seq = ++t->batch->work->seq;
		kverbs_control_spend(conn);
	}
	fill_own(t, wr);
}

static void fill_piece(struct kverbs_transfer *t)
{
	struct kverbs_qp *qp = &fill_conn(t)->qp;
	struct kverbs_wr *wr = kverbs_qp_next(qp, KVERBS_SLOT_DATA, &t->owner);
	struct kverbs_piece piece;

	kverbs_slice_next(&t->slice, t->op == KVERBS_OP_READ ? &qp->read_limits : &qp->limits,
			  &piece, wr->sge);
	fill_rdma(t, wr, &piece);
}

/* Does each piece go through a registration? */
static bool fill_registers(const struct kverbs_transfer *t)
{
	const struct kverbs_qp *qp = &fill_conn(t)->qp;

	if (t->copy)
		return false;
	return qp->reg || (qp->dev->iwarp && t->op == KVERBS_OP_READ);
}

static int fill_access(const struct kverbs_transfer *t)
{
	if (t->op == KVERBS_OP_WRITE)
		return 0;
	/* The peer answers a read by writing to the key that the request names. */
	return fill_conn(t)->qp.dev->iwarp ? IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE :
					     IB_ACCESS_LOCAL_WRITE;
}

/*
 * A piece through a registration. On iWARP a read's key is invalidated with its
 * completion, so that the peer cannot write there later.
 */
static void fill_registered(struct kverbs_transfer *t)
{
	struct kverbs_qp *qp = &fill_conn(t)->qp;
	struct kverbs_mr_local *local = kverbs_mr_pool_get(&qp->locals);
	struct kverbs_piece piece;
	struct kverbs_wr *wr;

	if (local->valid) {
		wr = kverbs_qp_next(qp, KVERBS_SLOT_REG, NULL);
		kverbs_mr_local_invalidate(local, &wr->send);
	}
	kverbs_slice_next(&t->slice, &qp->locals.limits, &piece, qp->locals.sge);
	wr = kverbs_qp_next(qp, KVERBS_SLOT_REG, NULL);
	kverbs_mr_local_prepare(&qp->locals, local, piece.nr_sge, fill_access(t), &wr->reg);

	wr = kverbs_qp_next(qp, KVERBS_SLOT_DATA, &t->owner);
	wr->sge[0] = (struct ib_sge) {
		.addr = local->mr->iova,
		.length = piece.length,
		.lkey = local->mr->lkey,
	};
	piece.nr_sge = 1;
	fill_rdma(t, wr, &piece);
	if (qp->dev->iwarp && t->op == KVERBS_OP_READ) {
		wr->send.opcode = IB_WR_RDMA_READ_WITH_INV;
		wr->send.ex.invalidate_rkey = local->mr->rkey;
		local->valid = false;
	}
	list_add_tail(&local->list, &t->locals);
}

/* Room for one more piece, with all that goes before it. */
static bool fill_piece_room(const struct kverbs_transfer *t)
{
	struct kverbs_qp *qp = &fill_conn(t)->qp;

	if (!kverbs_qp_room(qp, KVERBS_SLOT_DATA))
		return false;
	if (!fill_registers(t))
		return true;
	/* Invalidation, registration and the piece itself. */
	return !list_empty(&qp->locals.free) && kverbs_qp_room(qp, KVERBS_SLOT_REG) >= 3;
}

/* A piece and what may follow it fit the chain together. */
static bool fill_chain_room(const struct kverbs_transfer *t)
{
	return KVERBS_CHAIN - fill_conn(t)->qp.nr_chain >= 2;
}

static bool fill_pieces(struct kverbs_transfer *t)
{
	struct kverbs_qp *qp = &fill_conn(t)->qp;
	bool registers = fill_registers(t);

	while (t->slice.left) {
		bool last = t->slice.left <= qp->limits.max_bytes;

		if (!fill_piece_room(t) || (last && !fill_chain_room(t))) {
			qp->counters.slot_stalls++;
			return false;
		}
		if (last && !fill_last_room(t)) {
			qp->counters.credit_stalls++;
			return false;
		}
		if (registers)
			fill_registered(t);
		else
			fill_piece(t);
	}
	if (fill_wants_done(t))
		fill_done(t);
	return true;
}

static bool fill_message(struct kverbs_transfer *t)
{
	struct kverbs_connection *conn = fill_conn(t);
	struct kverbs_msg msg = {
		.type = KVERBS_MSG_MESSAGE,
		.message = {
			.seq = t->batch->work->seq + 1,
			.tag = t->tag,
			.length = t->copy->length,
			.bytes = t->copy->bytes,
		},
	};

	if (!kverbs_control_room(conn, KVERBS_CREDIT_DATA)) {
		conn->qp.counters.credit_stalls++;
		return false;
	}
	t->seq = ++t->batch->work->seq;
	fill_own(t, kverbs_control_add(conn, &msg, &t->owner));
	return true;
}

static bool fill_atomic(struct kverbs_transfer *t)
{
	struct kverbs_qp *qp = &fill_conn(t)->qp;
	struct kverbs_piece piece;
	struct kverbs_wr *wr;

	if (!kverbs_qp_room(qp, KVERBS_SLOT_DATA)) {
		qp->counters.slot_stalls++;
		return false;
	}
	wr = kverbs_qp_next(qp, KVERBS_SLOT_DATA, &t->owner);
	kverbs_slice_next(&t->slice, &qp->limits, &piece, wr->sge);
	wr->send.num_sge = piece.nr_sge;
	wr->atomic.remote_addr = piece.addr;
	wr->atomic.rkey = piece.rkey;
	if (t->op == KVERBS_OP_FETCH_ADD) {
		wr->send.opcode = IB_WR_ATOMIC_FETCH_AND_ADD;
		wr->atomic.compare_add = t->operand;
		wr->atomic.swap = 0;
	} else {
		wr->send.opcode = IB_WR_ATOMIC_CMP_AND_SWP;
		wr->atomic.compare_add = t->compare;
		wr->atomic.swap = t->operand;
	}
	fill_own(t, wr);
	return true;
}

/**
 * kverbs_fill() - add what fits of a transfer to the chain
 * @t: the head of the fifo
 *
 * Context: Send queue lock held.
 * Return: true when all of it is there.
 */
bool kverbs_fill(struct kverbs_transfer *t)
{
	switch (t->op) {
	case KVERBS_OP_SEND:
		return fill_message(t);
	case KVERBS_OP_FETCH_ADD:
	case KVERBS_OP_CMP_SWAP:
		return fill_atomic(t);
	default:
		return fill_pieces(t);
	}
}

/**
 * kverbs_fill_reclaim() - a piece that went through a registration is back
 * @t: whose; its pieces come back in the order in which they went
 *
 * Context: Send queue lock held.
 */
void kverbs_fill_reclaim(struct kverbs_transfer *t)
{
	struct kverbs_mr_local *local;

	local = list_first_entry(&t->locals, struct kverbs_mr_local, list);
	list_del(&local->list);
	kverbs_mr_pool_put(&fill_conn(t)->qp.locals, local);
}
