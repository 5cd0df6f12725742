// SPDX-License-Identifier: GPL-2.0-only
/*
 * Batches: who is told of the end of their items, in which order and with which
 * numbers, and that a batch goes with the last that needs it and not before. That
 * it has gone shows in the context, where it counts for as long as it is there.
 */
#include <kunit/test.h>

#include "../module/batch.c"
#include "rig.h"

#define NR	6

static void fill_items(struct kverbs_item *it, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		it[i] = rig_item(KVERBS_OP_WRITE, i * 8, i * 16, i + 1);
		it[i].user_data = 100 + i;
	}
}

/* End what is not under way any more, as the teardown does. */
static void abort_all(struct rig *rig)
{
	rig_poll(rig);
	rig->conn->ops->abort(rig->conn);
}

/* Each has its event, in order; the batch stays until the last is taken. */
static void an_event_each(struct kunit *test)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){});
	struct kverbs_batch *batch;
	struct kverbs_item it[NR];
	struct kverbs_event event;
	u32 i;

	fill_items(it, NR);
	batch = rig_batch(rig, it, NR, false);
	KUNIT_EXPECT_EQ(test, refcount_read(&batch->ref), 1 + NR);
	rig_complete(rig, NR, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, refcount_read(&batch->ref), 1 + NR);
	kverbs_batch_put(batch);
	for (i = 0; i < NR; i++) {
		KUNIT_EXPECT_EQ(test, atomic_read(&rig->ctx->pending), NR);
		KUNIT_ASSERT_TRUE(test, rig_event(rig, &event));
		KUNIT_EXPECT_EQ(test, event.kind, KVERBS_EVENT_FINAL);
		KUNIT_EXPECT_EQ(test, event.user_data, 100 + i);
		KUNIT_EXPECT_EQ(test, event.length, i + 1);
		KUNIT_EXPECT_EQ(test, event.status, 0);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->ctx->pending), 0);
	KUNIT_EXPECT_FALSE(test, rig_event(rig, &event));
}

/* All go well: one event, and nothing else. */
static void one_event(struct kunit *test)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){});
	struct kverbs_batch *batch;
	struct kverbs_item it[NR];
	struct kverbs_event event;

	fill_items(it, NR);
	batch = rig_batch(rig, it, NR, true);
	KUNIT_EXPECT_EQ(test, refcount_read(&batch->ref), 2 + NR);
	rig_complete(rig, NR - 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, rig_event(rig, &event));
	rig_complete(rig, 1, IB_WC_SUCCESS);
	/* What has ended well needs the batch no more; the event does. */
	KUNIT_EXPECT_EQ(test, refcount_read(&batch->ref), 2);
	kverbs_batch_put(batch);
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->ctx->pending), NR);
	KUNIT_ASSERT_TRUE(test, rig_event(rig, &event));
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->ctx->pending), 0);
	KUNIT_EXPECT_EQ(test, event.kind, KVERBS_EVENT_BATCH);
	KUNIT_EXPECT_EQ(test, event.user_data, 4711);
	KUNIT_EXPECT_EQ(test, event.nr, NR);
	KUNIT_EXPECT_EQ(test, event.nr_failed, 0);
	KUNIT_EXPECT_EQ(test, event.status, 0);
	KUNIT_EXPECT_EQ(test, event.reached, KVERBS_COMPLETED);
	KUNIT_EXPECT_EQ(test, event.length, NR * (NR + 1) / 2);
	KUNIT_EXPECT_GE(test, event.stamps[KVERBS_COMPLETED], event.stamps[KVERBS_POSTED]);
	KUNIT_EXPECT_EQ(test, event.stamps[KVERBS_DELIVERED], 0);
	KUNIT_EXPECT_FALSE(test, rig_event(rig, &event));
}

static const u32 good_ones[] = { 0, 1, NR / 2, NR - 1 };

static void good_name(const u32 *good, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "after_%u", *good);
}

KUNIT_ARRAY_PARAM(good, good_ones, good_name);

/* Some go well and the rest fails: each failure's event, and then the one for all. */
static void failures_first(struct kunit *test)
{
	u32 i, good = *(const u32 *)test->param_value;
	struct rig *rig = rig_make(test, &(struct rig_attr){});
	struct kverbs_batch *batch;
	struct kverbs_item it[NR];
	struct kverbs_event event;

	fill_items(it, NR);
	batch = rig_batch(rig, it, NR, true);
	rig_complete(rig, good + 1, IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_FALSE(test, rig_event(rig, &event));
	abort_all(rig);
	for (i = good; i < NR; i++) {
		/* The batch's event is there, too, behind them. */
		KUNIT_EXPECT_EQ(test, refcount_read(&batch->ref), 2 + NR - i);
		KUNIT_ASSERT_TRUE(test, rig_event(rig, &event));
		KUNIT_EXPECT_EQ(test, event.kind, KVERBS_EVENT_FINAL);
		KUNIT_EXPECT_EQ(test, event.user_data, 100 + i);
		KUNIT_EXPECT_EQ(test, event.status, i == good ? EACCES : ECONNRESET);
		KUNIT_EXPECT_EQ(test, event.wc_status, i == good ? IB_WC_REM_ACCESS_ERR : 0);
		KUNIT_EXPECT_EQ(test, event.placement, KVERBS_PLACEMENT_UNKNOWN);
	}
	KUNIT_ASSERT_TRUE(test, rig_event(rig, &event));
	KUNIT_EXPECT_EQ(test, event.kind, KVERBS_EVENT_BATCH);
	KUNIT_EXPECT_EQ(test, event.nr, NR);
	KUNIT_EXPECT_EQ(test, event.nr_failed, NR - good);
	KUNIT_EXPECT_EQ(test, event.status, EACCES);
	KUNIT_EXPECT_EQ(test, event.reached, KVERBS_POSTED);
	KUNIT_EXPECT_EQ(test, event.length, good * (good + 1) / 2);
	KUNIT_EXPECT_FALSE(test, rig_event(rig, &event));
	KUNIT_EXPECT_EQ(test, refcount_read(&batch->ref), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->ctx->pending), NR);
	kverbs_batch_put(batch);
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->ctx->pending), 0);
}

/* Items that never got to the device are unsent, and counted like the others. */
static void cut_short(struct kunit *test)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){ .depth = 2 });
	struct kverbs_event event;
	struct kverbs_item it[NR];
	u32 i;

	fill_items(it, NR);
	kverbs_batch_put(rig_batch(rig, it, NR, true));
	KUNIT_EXPECT_EQ(test, rig_posted(rig), 2);
	kverbs_qp_fence(&rig->conn->qp);
	rig_complete(rig, 2, IB_WC_SUCCESS);
	abort_all(rig);
	for (i = 2; i < NR; i++) {
		KUNIT_ASSERT_TRUE(test, rig_event(rig, &event));
		KUNIT_EXPECT_EQ(test, event.user_data, 100 + i);
		KUNIT_EXPECT_EQ(test, event.placement, KVERBS_PLACEMENT_UNSENT);
	}
	KUNIT_ASSERT_TRUE(test, rig_event(rig, &event));
	KUNIT_EXPECT_EQ(test, event.kind, KVERBS_EVENT_BATCH);
	KUNIT_EXPECT_EQ(test, event.nr_failed, NR - 2);
	KUNIT_EXPECT_EQ(test, event.length, 1 + 2);
}

/* Two batches under way: each counts its own. */
static void two_batches(struct kunit *test)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){});
	struct kverbs_event event;
	struct kverbs_item it[NR];
	u32 i;

	fill_items(it, NR);
	kverbs_batch_put(rig_batch(rig, it, 4, true));
	kverbs_batch_put(rig_batch(rig, it + 4, 2, true));
	/* The last of the second is signaled, and tells of all before it. */
	rig_complete(rig, NR, IB_WC_SUCCESS);
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_TRUE(test, rig_event(rig, &event));
		KUNIT_EXPECT_EQ(test, event.kind, KVERBS_EVENT_BATCH);
		KUNIT_EXPECT_EQ(test, event.nr, i ? 2 : 4);
		KUNIT_EXPECT_EQ(test, event.length, i ? 5 + 6 : 1 + 2 + 3 + 4);
	}
	KUNIT_EXPECT_FALSE(test, rig_event(rig, &event));
}

/* Nobody will take events any more: what they held is given back at once. */
static void closed_queue(struct kunit *test)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){});
	struct kverbs_batch *batch[2];
	struct kverbs_item it[NR];

	fill_items(it, NR);
	batch[0] = rig_batch(rig, it, NR, true);
	batch[1] = rig_batch(rig, it, NR, false);
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->ctx->pending), 2 * NR);
	kverbs_event_close(&rig->ctx->events);
	/* One of the first fails, and so do all of the second. */
	rig_complete(rig, NR, IB_WC_RETRY_EXC_ERR);
	abort_all(rig);
	KUNIT_EXPECT_EQ(test, batch[0]->failed, 1);
	KUNIT_EXPECT_EQ(test, batch[0]->left, 0);
	KUNIT_EXPECT_EQ(test, refcount_read(&batch[0]->ref), 1);
	KUNIT_EXPECT_EQ(test, refcount_read(&batch[1]->ref), 1);
	kverbs_batch_put(batch[0]);
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->ctx->pending), NR);
	kverbs_batch_put(batch[1]);
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->ctx->pending), 0);
}

/* Closed with events that nobody has taken: the same. */
static void closed_with_events(struct kunit *test)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){});
	struct kverbs_batch *batch;
	struct kverbs_item it[NR];

	fill_items(it, NR);
	batch = rig_batch(rig, it, NR, true);
	rig_complete(rig, 3, IB_WC_LOC_PROT_ERR);
	abort_all(rig);
	KUNIT_EXPECT_EQ(test, refcount_read(&batch->ref), 2 + NR - 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->ctx->pending), NR);
	kverbs_event_close(&rig->ctx->events);
	KUNIT_EXPECT_EQ(test, refcount_read(&batch->ref), 1);
	kverbs_batch_put(batch);
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->ctx->pending), 0);
}

static void batch_ended(struct kverbs_batch *batch)
{
	lockdep_assert_held(&batch->work->conn->qp.lock);
	++*(u32 *)batch->private;
}

/* A caller in the kernel is called once, and no event comes, not even of failures. */
static void ended(struct kunit *test)
{
	u32 calls = 0, good = *(const u32 *)test->param_value;
	struct rig *rig = rig_make(test, &(struct rig_attr){});
	struct kverbs_batch *batch;
	struct kverbs_item it[NR];
	struct kverbs_event event;

	fill_items(it, NR);
	batch = rig_batch(rig, it, NR, false);
	batch->ended = batch_ended;
	batch->private = &calls;
	rig_complete(rig, good + 1, IB_WC_REM_OP_ERR);
	KUNIT_EXPECT_EQ(test, calls, 0);
	abort_all(rig);
	KUNIT_EXPECT_EQ(test, calls, 1);
	KUNIT_EXPECT_EQ(test, batch->failed, NR - good);
	KUNIT_EXPECT_EQ(test, batch->code, EREMOTEIO);
	KUNIT_EXPECT_FALSE(test, rig_event(rig, &event));
	KUNIT_EXPECT_EQ(test, refcount_read(&batch->ref), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->ctx->pending), NR);
	kverbs_batch_put(batch);
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->ctx->pending), 0);
}

/* Not accepted: both ends' memory is let go, and nobody hears of it. */
static void discarded(struct kunit *test)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){ .inline_bytes = 64 });
	struct kverbs_item it[NR];
	struct kverbs_batch *batch;
	struct kverbs_event event;
	u32 i;

	fill_items(it, NR);
	it[1].flags = KVERBS_ITEM_INLINE;
	KUNIT_ASSERT_EQ(test, kverbs_context_reserve(rig->ctx, NR), NR);
	batch = kverbs_batch_create(rig->conn, NR);
	KUNIT_ASSERT_NOT_NULL(test, batch);
	for (i = 0; i < NR - 1; i++)
		KUNIT_EXPECT_EQ(test, 0, kverbs_transfer_init(batch, &it[i], &rig->buf, &rig->map,
							      &rig->remote));
	it[i].buf_offset = rig->buf.length;
	KUNIT_EXPECT_EQ(test, -ERANGE, kverbs_transfer_init(batch, &it[i], &rig->buf, &rig->map,
							    &rig->remote));
	KUNIT_EXPECT_EQ(test, batch->nr, NR - 1);
	/* An inline one has its bytes and no need of the mapping. */
	KUNIT_EXPECT_EQ(test, kref_read(&rig->map.ref), 1 + NR - 2);
	KUNIT_EXPECT_EQ(test, kref_read(&rig->remote.obj.ref), 1 + NR - 1);
	KUNIT_EXPECT_EQ(test, kref_read(&rig->ctx->ref), 3);
	kverbs_batch_discard(batch);
	KUNIT_EXPECT_EQ(test, kref_read(&rig->map.ref), 1);
	KUNIT_EXPECT_EQ(test, kref_read(&rig->remote.obj.ref), 1);
	KUNIT_EXPECT_EQ(test, kref_read(&rig->ctx->ref), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->ctx->pending), 0);
	KUNIT_EXPECT_FALSE(test, rig_event(rig, &event));
	KUNIT_EXPECT_EQ(test, rig_posted(rig), 0);
}

/* The numbers of an event for all, from ends in any order and of any kind. */
static void counting(struct kunit *test)
{
	static const struct {
		u32 reached;
		u32 code;
		u64 length;
		u64 stamps[KVERBS_MOMENTS];
	} ends[] = {
		{ KVERBS_PERSISTED, 0, 1000, { 0, 6, 7, 8, 9 } },
		{ KVERBS_DELIVERED, 0, 1ULL << 40, { 0, 20, 21 } },
		{ KVERBS_CONSUMED, ETIMEDOUT, 17, { 0, 7, 30, 31 } },
		{ KVERBS_CONSUMED, EIO, 18, { 0, 5, 6, 7 } },
	};
	static const u64 stamps[KVERBS_MOMENTS] = { 4, 20, 30, 31, 9 };
	struct rig *rig = rig_make(test, &(struct rig_attr){});
	struct kverbs_batch *batch;
	struct kverbs_transfer *t;
	struct kverbs_event event;
	u32 i;

	KUNIT_ASSERT_EQ(test, kverbs_context_reserve(rig->ctx, 1), 1);
	batch = kverbs_batch_create(rig->conn, 1);
	KUNIT_ASSERT_NOT_NULL(test, batch);
	t = &batch->transfer[0];
	batch->one = true;
	batch->nr = ARRAY_SIZE(ends);
	/* Posted is what the submission says, once for all. */
	batch->stamps[KVERBS_POSTED] = stamps[KVERBS_POSTED];
	spin_lock_bh(&rig->conn->qp.lock);
	kverbs_batch_accept(batch);
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		memset(t, 0, sizeof(*t));
		t->reached = ends[i].reached;
		t->error.code = ends[i].code;
		t->length = ends[i].length;
		memcpy(t->stamps, &ends[i].stamps[KVERBS_COMPLETED], sizeof(t->stamps));
		kverbs_batch_count(batch, t);
		kverbs_batch_put(batch);
	}
	spin_unlock_bh(&rig->conn->qp.lock);
	kverbs_batch_put(batch);

	KUNIT_ASSERT_TRUE(test, rig_event(rig, &event));
	KUNIT_EXPECT_EQ(test, event.kind, KVERBS_EVENT_BATCH);
	KUNIT_EXPECT_EQ(test, event.nr, 4);
	KUNIT_EXPECT_EQ(test, event.nr_failed, 2);
	KUNIT_EXPECT_EQ(test, event.status, ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, event.reached, KVERBS_DELIVERED);
	KUNIT_EXPECT_EQ(test, event.length, (1ULL << 40) + 1000);
	for (i = 0; i < KVERBS_MOMENTS; i++)
		KUNIT_EXPECT_EQ(test, event.stamps[i], stamps[i]);
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->ctx->pending), 0);
}

static struct kunit_case batch_cases[] = {
	KUNIT_CASE(an_event_each),
	KUNIT_CASE(one_event),
	KUNIT_CASE_PARAM(failures_first, good_gen_params),
	KUNIT_CASE(cut_short),
	KUNIT_CASE(two_batches),
	KUNIT_CASE(closed_queue),
	KUNIT_CASE(closed_with_events),
	KUNIT_CASE_PARAM(ended, good_gen_params),
	KUNIT_CASE(discarded),
	KUNIT_CASE(counting),
	{}
};

static struct kunit_suite batch_suite = {
	.name = "batch",
	.init = rig_init,
	.exit = rig_exit,
	.test_cases = batch_cases,
};

kunit_test_suite(batch_suite);
