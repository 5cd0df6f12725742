// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fill: a transfer into work requests. See fill.h.
 *
 * A write or a read is cut into pieces, one work request each, plus one or two
 * before it where it goes through a registration of its own. The last piece of a
 * write that the peer hears of goes into one chain with the DONE that follows it,
 * or is itself the immediate. A message and an atomic are one work request.
 */
#include <linux/math64.h>

#include "batch.h"
#include "fill.h"
#include "work.h"

#define KVERBS_SIGNAL_BYTES	SZ_256K	/* a piece this large is signaled */
#define KVERBS_SMALL_PIECE	128	/* what siw may send inline with its header */

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

/* Does the peer hear of it, by a DONE or by the last piece itself? */
static bool fill_is_told(const struct kverbs_transfer *t)
{
	return t->flags & KVERBS_ITEM_IMM || fill_wants_done(t);
}

/* Is there room for what the last piece of one that is told brings with it? */
static bool fill_last_room(struct kverbs_transfer *t)
{
	struct kverbs_connection *conn = fill_conn(t);

	if (t->flags & KVERBS_ITEM_IMM)
		return kverbs_credit_room(&conn->control.credit[KVERBS_CREDIT_DATA]);
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
	kverbs_control_add(fill_conn(t), &msg, &fill_conn(t)->control.owner);
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

static int fill_access(const struct kverbs_transfer *t)
{
	if (t->op == KVERBS_OP_WRITE)
		return 0;
	/* The peer answers a read by writing to the key that the request names. */
	return fill_conn(t)->qp.dev->iwarp ? IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE :
					     IB_ACCESS_LOCAL_WRITE;
}

/*
 * siw sends a few registered bytes that lie across a page wrongly: it takes the
 * length of the second part for that of the first (siw_qp_tx.c, siw_try_1seg()).
 * A write's bytes are sent here, a read's at the peer, whose addresses agree with
 * the real ones within a page. So no small piece crosses one.
 */
static u32 fill_registered_most(const struct kverbs_transfer *t)
{
	const struct kverbs_qp *qp = &fill_conn(t)->qp;
	const struct kverbs_slice *s = &t->slice;
	u64 at = t->op == KVERBS_OP_READ ? s->target->addr + s->offset :
					   s->source->extent[s->extent].addr + s->skip;
	u64 done;
	u32 most;

	/* As long as the piece would be: the key may end first. */
	div64_u64_rem(s->target->lead + s->offset, s->target->span, &done);
	most = min3(s->left, s->target->span - done, (u64)qp->locals.limits.max_bytes);
	if (qp->dev->iwarp && most <= KVERBS_SMALL_PIECE)
		most = min_t(u32, most, SZ_4K - (at & (SZ_4K - 1)));
	return most;
}

/*
 * A piece through a registration. On iWARP a read's key is invalidated with its
 * completion, so that the peer cannot write there later.
 */
static void fill_registered(struct kverbs_transfer *t)
{
	struct kverbs_qp *qp = &fill_conn(t)->qp;
	struct kverbs_mr_local *local = kverbs_mr_pool_get(&qp->locals);
	struct kverbs_slice_limits limits = qp->locals.limits;
	struct kverbs_piece piece;
	struct kverbs_wr *wr;

	if (local->valid) {
		wr = kverbs_qp_next(qp, KVERBS_SLOT_REG, NULL);
		kverbs_mr_local_invalidate(local, &wr->send);
	}
	limits.max_bytes = fill_registered_most(t);
	kverbs_slice_next(&t->slice, &limits, &piece, qp->locals.sge);
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
}

/* Room for one more piece and, if it is the last, for what follows it. */
static bool fill_piece_room(const struct kverbs_transfer *t, bool done)
{
	struct kverbs_qp *qp = &fill_conn(t)->qp;
	u32 chain = KVERBS_CHAIN - qp->nr_chain;

	if (!kverbs_slots_room(&qp->slots, KVERBS_SLOT_DATA))
		return false;
	if (likely(!t->registers))
		return chain >= 1 + done;
	/* Invalidation, registration and the piece itself. */
	return chain >= 3 + done && kverbs_slots_room(&qp->slots, KVERBS_SLOT_REG) >= 2 &&
	       !list_empty(&qp->locals.free);
}

static bool fill_pieces(struct kverbs_transfer *t)
{
	struct kverbs_qp *qp = &fill_conn(t)->qp;
	bool told = fill_is_told(t);
	bool done = fill_wants_done(t);

	while (t->slice.left) {
		bool last = t->slice.left <= qp->limits.max_bytes;

		if (!fill_piece_room(t, done && last)) {
			qp->counters.slot_stalls++;
			return false;
		}
		if (told && last && !fill_last_room(t)) {
			qp->counters.credit_stalls++;
			return false;
		}
		if (unlikely(t->registers))
			fill_registered(t);
		else
			fill_piece(t);
	}
	if (done)
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
	struct kverbs_slice_limits limits = {
		.max_sge = 1,
		.max_bytes = sizeof(u64),
		.lkey = qp->limits.lkey,
	};
	struct kverbs_piece piece;
	struct kverbs_wr *wr;

	if (!kverbs_qp_room(qp, KVERBS_SLOT_DATA)) {
		qp->counters.slot_stalls++;
		return false;
	}
	wr = kverbs_qp_next(qp, KVERBS_SLOT_DATA, &t->owner);
	kverbs_slice_next(&t->slice, &limits, &piece, wr->sge);
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
