// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rig: a connection on the fake provider. See rig.h.
 *
 * It goes the way of a teardown at the end: fenced, drained, walked, aborted,
 * destroyed; and then nobody may hold the memory of either end any more.
 */
#include <linux/slab.h>

#include "rig.h"

#define LIMIT	(30 * HZ)

static struct rig *rig_of(struct kverbs_qp *qp)
{
	struct kverbs_connection *conn = container_of(qp, struct kverbs_connection, qp);

	return container_of(conn->qp.dev, struct rig, dev);
}

/* The connection itself does not hear of it: there is nothing to tear down. */
static void rig_failed(struct kverbs_qp *qp, const struct kverbs_error *why)
{
	atomic_inc(&rig_of(qp)->failed);
}

static void rig_progress(struct kverbs_qp *qp)
{
	struct kverbs_connection *conn = container_of(qp, struct kverbs_connection, qp);

	conn->ops->pump(conn);
}

static void rig_qp_event(struct kverbs_qp *qp, enum ib_event_type event)
{
}

static const struct kverbs_qp_ops rig_ops = {
	.failed = rig_failed,
	.progress = rig_progress,
	.event = rig_qp_event,
};

/* Its memory is part of the rig. */
static void rig_release(struct kverbs_object *obj)
{
}

/**
 * rig_init() - for a suite's init
 * @test: gets an empty rig
 *
 * Return: 0 or -errno.
 */
int rig_init(struct kunit *test)
{
	struct rig *rig = kunit_kzalloc(test, sizeof(*rig), GFP_KERNEL);

	if (!rig)
		return -ENOMEM;
	rig->test = test;
	test->priv = rig;
	rig->page = alloc_page(GFP_KERNEL);
	if (!rig->page)
		return -ENOMEM;
	rig->fake = fake_create(1024, 2048);
	return PTR_ERR_OR_ZERO(rig->fake);
}

/**
 * rig_shape() - lay both ends' memory out anew; nothing is under way
 * @rig: the rig
 * @extent: bytes of each of the buffer's extents
 * @span: bytes that a key of the region covers
 * @lead: bytes of the first key before the region
 */
void rig_shape(struct rig *rig, u32 extent, u64 span, u32 lead)
{
	u32 i;

	for (i = 0; i < RIG_EXTENTS; i++)
		rig->extent[i] = (struct kverbs_extent) {
			.addr = (i + 1) * RIG_STRIDE,
			.offset = (u64)i * extent,
			.length = extent,
		};
	rig->map.source = (struct kverbs_source) { .extent = rig->extent, .nr = RIG_EXTENTS };
	rig->buf.length = (u64)RIG_EXTENTS * extent;
	for (i = 0; i < RIG_KEYS; i++)
		rig->key[i] = 0xb000 + i;
	rig->remote.length = RIG_KEYS * span - lead;
	rig->remote.target = (struct kverbs_target) {
		.addr = RIG_ADDR,
		.span = span,
		.lead = lead,
		.key = rig->key,
	};
}

static void rig_memory(struct rig *rig, const struct rig_attr *attr)
{
	u8 *byte = page_address(rig->page);
	u32 i;

	for (i = 0; i < PAGE_SIZE; i++)
		byte[i] = rig_byte(rig, i);
	rig->buf.page = &rig->page;
	rig->buf.nr_pages = 1;
	rig->buf.writable = true;
	kref_init(&rig->map.ref);
	kverbs_object_init(&rig->remote.obj, KVERBS_REMOTE, rig_release);
	rig->remote.name = RIG_REGION;
	rig->remote.rights = KVERBS_RIGHT_WRITE | KVERBS_RIGHT_READ | KVERBS_RIGHT_ATOMIC;
	rig_shape(rig, attr->extent ?: SZ_4K, attr->span ?: SZ_64K, attr->lead);
}

static int rig_queue_pair(struct rig *rig, u32 depth, const struct kverbs_conn_attr *attr)
{
	struct kverbs_qp *qp = &rig->conn->qp;
	struct ib_qp_init_attr init;
	struct ib_qp *ibqp;
	int ret;

	kverbs_qp_init(qp, &rig_ops);
	ret = kverbs_qp_alloc(qp, &rig->dev, depth, attr);
	if (ret)
		return ret;
	kverbs_qp_attr(qp, &init);
	ibqp = ib_create_qp(qp->pd, &init);
	if (IS_ERR(ibqp))
		return PTR_ERR(ibqp);
	kverbs_qp_attach(qp, ibqp, &init.cap);
	rig->fqp = fake_qp(ibqp);
	return 0;
}

/**
 * rig_make() - bring the connection up
 * @test: with the rig
 * @attr: what it shall be
 *
 * Return: the rig; the test has ended if it cannot be had.
 */
struct rig *rig_make(struct kunit *test, const struct rig_attr *attr)
{
	const struct kverbs_conn_attr conn = {
		.poll = KVERBS_POLL_DIRECT,
		.flags = attr->flags,
		.wr_ceiling = attr->ceiling,
		.max_inline = attr->inline_bytes,
		.no_progress_ms = KVERBS_PROGRESS_MAX_MS,
	};
	struct rig *rig = test->priv;
	struct kverbs_hello hello;

	rig->dev.ib = &rig->fake->ib;
	rig->dev.iwarp = attr->iwarp;
	rig->dev.max_msg = 1 << 30;
	rig->dev.max_sge = attr->sge ?: FAKE_SGE;
	rig->dev.max_read_sge = attr->read_sge ?: FAKE_SGE;
	rig->dev.fast_reg_pages = 8;
	rig->dev.rd_atomic = 4;
	rig_memory(rig, attr);
	rig->ctx = kverbs_context_create(&init_net);
	KUNIT_ASSERT_NOT_NULL(test, rig->ctx);
	rig->conn = kverbs_connection_create(rig->ctx, &conn, &kverbs_work_ops);
	KUNIT_ASSERT_FALSE(test, IS_ERR(rig->conn));
	KUNIT_ASSERT_EQ(test, 0, rig_queue_pair(rig, attr->depth ?: 128, &conn));
	KUNIT_ASSERT_EQ(test, 0, kverbs_control_alloc(rig->conn));
	kverbs_control_hello(&hello);
	kverbs_control_grant(rig->conn, &hello);
	rig->conn->features = U32_MAX;
	rig->conn->rd_out = rig->dev.rd_atomic;
	rig->conn->was_up = true;
	WRITE_ONCE(rig->conn->state, KVERBS_CONN_UP);
	return rig;
}

static void rig_end(struct rig *rig)
{
	struct kverbs_connection *conn = rig->conn;

	conn->ops->quiesce(conn);
	if (rig->fqp) {
		kverbs_qp_fence(&conn->qp);
		KUNIT_EXPECT_TRUE(rig->test, kverbs_qp_drain(&conn->qp, LIMIT));
		rig_poll(rig);
		kverbs_qp_walk(&conn->qp);
	}
	conn->ops->abort(conn);
	KUNIT_EXPECT_EQ(rig->test, 0, kverbs_qp_destroy(&conn->qp));
	kverbs_control_free(conn);
	kverbs_qp_free(&conn->qp);
	KUNIT_EXPECT_EQ(rig->test, kverbs_conn_work(conn)->unfinished, 0);
	KUNIT_EXPECT_EQ(rig->test, conn->qp.counters.submitted, conn->qp.counters.finished);
}

/**
 * rig_exit() - for a suite's exit, whatever state a test left
 * @test: with the rig
 */
void rig_exit(struct kunit *test)
{
	struct rig *rig = test->priv;

	if (!rig || IS_ERR_OR_NULL(rig->fake))
		goto out;
	if (!IS_ERR_OR_NULL(rig->conn))
		rig_end(rig);
	if (rig->ctx) {
		kverbs_event_close(&rig->ctx->events);
		KUNIT_EXPECT_EQ(test, atomic_read(&rig->ctx->pending), 0);
	}
	if (!IS_ERR_OR_NULL(rig->conn)) {
		KUNIT_EXPECT_EQ(test, kref_read(&rig->conn->obj.ref), 1);
		kverbs_connection_put(rig->conn);
		KUNIT_EXPECT_EQ(test, kref_read(&rig->map.ref), 1);
		KUNIT_EXPECT_EQ(test, kref_read(&rig->remote.obj.ref), 1);
	}
	if (rig->ctx) {
		KUNIT_EXPECT_EQ(test, kref_read(&rig->ctx->ref), 1);
		kverbs_context_put(rig->ctx);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->fake->overruns), 0);
	fake_destroy(rig->fake);
out:
	if (rig && rig->page)
		__free_page(rig->page);
}

/**
 * rig_item() - an item to COMPLETED
 * @op: enum kverbs_op
 * @offset: in the buffer
 * @region_offset: in the region, if it has one
 * @length: bytes
 *
 * Return: the item.
 */
struct kverbs_item rig_item(u32 op, u64 offset, u64 region_offset, u64 length)
{
	return (struct kverbs_item) {
		.op = op,
		.buf_offset = offset,
		.region_offset = region_offset,
		.length = length,
		.until = KVERBS_COMPLETED,
	};
}

/**
 * rig_batch() - submit items as one batch
 * @rig: the rig
 * @item: the items, each of which is accepted
 * @nr: how many
 * @one: they get one event for all
 *
 * Return: the batch, with a reference for the caller.
 */
struct kverbs_batch *rig_batch(struct rig *rig, const struct kverbs_item *item, u32 nr, bool one)
{
	struct kverbs_batch *batch;
	u32 i;

	KUNIT_ASSERT_EQ(rig->test, kverbs_context_reserve(rig->ctx, nr), nr);
	batch = kverbs_batch_create(rig->conn, nr);
	KUNIT_ASSERT_NOT_NULL(rig->test, batch);
	batch->one = one;
	batch->user_data = 4711;
	for (i = 0; i < nr; i++) {
		int ret = kverbs_transfer_check(rig->conn, &item[i]) ?:
			  kverbs_transfer_init(batch, &item[i], &rig->buf, &rig->map,
					       item[i].op == KVERBS_OP_SEND ? NULL : &rig->remote);

		KUNIT_EXPECT_EQ_MSG(rig->test, ret, 0, "item %u", i);
	}
	KUNIT_EXPECT_EQ(rig->test, kverbs_work_submit(rig->conn, batch), 0);
	return batch;
}

/**
 * rig_submit() - submit items, an event for each
 * @rig: the rig
 * @item: the items
 * @nr: how many
 */
void rig_submit(struct rig *rig, const struct kverbs_item *item, u32 nr)
{
	kverbs_batch_put(rig_batch(rig, item, nr, false));
}

/**
 * rig_posted() - how many work requests the device has taken so far
 * @rig: the rig
 *
 * Return: that.
 */
u32 rig_posted(struct rig *rig)
{
	return rig->fqp->sq.posted;
}

/**
 * rig_wr() - one of them
 * @rig: the rig
 * @index: which, in the order of posting
 *
 * Return: it; the test has ended if there is none.
 */
const struct fake_wr *rig_wr(struct rig *rig, u32 index)
{
	KUNIT_ASSERT_LT(rig->test, index, rig->fqp->sq.posted);
	return &rig->fqp->sq.wr[index];
}

/**
 * rig_poll() - look at the send completion queue until nothing is left
 * @rig: the rig
 */
void rig_poll(struct rig *rig)
{
	struct fake_cq *cq = rig->fqp->sq.cq;

	while (cq->head != cq->tail)
		kverbs_qp_poll(&rig->conn->qp);
}

/**
 * rig_complete() - the oldest work requests are done, and the completions seen
 * @rig: the rig
 * @nr: how many, at most
 * @status: of the last one
 */
void rig_complete(struct rig *rig, u32 nr, enum ib_wc_status status)
{
	fake_complete(rig->fqp, nr, status);
	rig_poll(rig);
}

/**
 * rig_acknowledge() - the peer says DELIVERED
 * @rig: the rig
 * @delivered: the seq up to which
 */
void rig_acknowledge(struct rig *rig, u64 delivered)
{
	const struct kverbs_msg msg = { .type = KVERBS_MSG_DELIVERED, .delivered = delivered };

	KUNIT_EXPECT_EQ(rig->test, rig->conn->ops->message(rig->conn, &msg, NULL), 0);
}

/**
 * rig_grant() - the peer's program has taken notifications
 * @rig: the rig
 * @nr: how many
 */
void rig_grant(struct rig *rig, u32 nr)
{
	struct kverbs_connection *conn = rig->conn;
	struct kverbs_credit *credit = &conn->control.credit[KVERBS_CREDIT_DATA];

	spin_lock_bh(&conn->qp.lock);
	KUNIT_EXPECT_EQ(rig->test, kverbs_credit_update(credit, credit->tx_returned + nr), 0);
	spin_unlock_bh(&conn->qp.lock);
	conn->ops->pump(conn);
}

/**
 * rig_event() - take the next event
 * @rig: the rig
 * @event: filled in
 *
 * Return: false if there is none.
 */
bool rig_event(struct rig *rig, struct kverbs_event *event)
{
	struct kverbs_event_node *node = kverbs_event_pop(&rig->ctx->events);

	if (!node)
		return false;
	kverbs_event_take(node, event);
	node->ops->taken(node);
	return true;
}

/**
 * rig_message() - what a SEND says
 * @rig: the rig
 * @wr: the SEND, not completed yet
 * @msg: filled in
 *
 * Return: true if it says something.
 */
bool rig_message(struct rig *rig, const struct fake_wr *wr, struct kverbs_msg *msg)
{
	memset(msg, 0, sizeof(*msg));
	if (wr->opcode != IB_WR_SEND || wr->nr_sge != 1)
		return false;
	return !kverbs_wire_get(msg, (void *)(uintptr_t)wr->sge[0].addr, wr->sge[0].length,
				KVERBS_WIRE_MINOR);
}

/**
 * rig_byte() - what is in the buffer at first
 * @rig: the rig
 * @offset: below one page
 *
 * Return: the byte.
 */
u8 rig_byte(struct rig *rig, u64 offset)
{
	return offset * 131 + (offset >> 7);
}
