// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue pair on the fake provider: what is posted, what becomes of every
 * work request when a post is accepted in part, when completions fail, and when
 * the flush comes late or never.
 *
 * One rule is checked after every test: each work request's owner was told
 * exactly once, in the order of posting (what was never sent may be told
 * earlier), and no queue of the device got more than it was made for.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>

#include "../module/qp.c"
#include "fake.h"

#define LIMIT	(30 * HZ)
#define MOST	(KVERBS_CHAIN * 8)

/* One work request's owner. */
struct teller {
	struct kverbs_slot_owner base;
	struct stage *stage;
	u32 told;
	u32 turn;			/* when it was told, counted from 1 */
	struct kverbs_fate fate;
};

struct stage {
	struct fake_device *fake;
	struct fake_qp *fqp;
	struct kverbs_dev dev;
	struct kverbs_qp qp;
	struct teller teller[MOST];
	u32 added;
	u32 turns;
	u32 failed;			/* upcalls, guarded by the queue pair's lock */
	struct kverbs_error why;	/* of the first one */
	u32 progress;
};

static void teller_reclaimed(struct kverbs_slot_owner *owner, const struct kverbs_fate *fate)
{
	struct teller *t = container_of(owner, struct teller, base);

	lockdep_assert_held(&t->stage->qp.lock);
	t->told++;
	t->turn = ++t->stage->turns;
	t->fate = *fate;
}

static void stage_failed(struct kverbs_qp *qp, const struct kverbs_error *why)
{
	struct stage *st = container_of(qp, struct stage, qp);

	spin_lock_bh(&qp->lock);
	if (!st->failed++)
		st->why = *why;
	spin_unlock_bh(&qp->lock);
}

static void stage_progress(struct kverbs_qp *qp)
{
	struct stage *st = container_of(qp, struct stage, qp);

	spin_lock_bh(&qp->lock);
	st->progress++;
	spin_unlock_bh(&qp->lock);
}

static void stage_event(struct kverbs_qp *qp, enum ib_event_type event)
{
}

static const struct kverbs_qp_ops stage_ops = {
	.failed = stage_failed,
	.progress = stage_progress,
	.event = stage_event,
};

/* Make the stage's queue pair with @depth data slots. */
static void set_up(struct kunit *test, u32 depth, bool iwarp)
{
	const struct kverbs_conn_attr conn = { .poll = KVERBS_POLL_SOFTIRQ };
	struct stage *st = test->priv;
	struct ib_qp_init_attr attr;
	struct ib_qp *ibqp;

	st->dev.ib = &st->fake->ib;
	st->dev.iwarp = iwarp;
	st->dev.max_msg = 1 << 30;
	st->dev.max_sge = 4;
	kverbs_qp_init(&st->qp, &stage_ops);
	KUNIT_ASSERT_EQ(test, 0, kverbs_qp_alloc(&st->qp, &st->dev, depth, &conn));
	kverbs_qp_attr(&st->qp, &attr);
	ibqp = ib_create_qp(st->qp.pd, &attr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ibqp));
	kverbs_qp_attach(&st->qp, ibqp, &attr.cap);
	st->fqp = fake_qp(ibqp);
}

static int qp_case_init(struct kunit *test)
{
	struct stage *st = kunit_kzalloc(test, sizeof(*st), GFP_KERNEL);
	u32 i;

	if (!st)
		return -ENOMEM;
	for (i = 0; i < MOST; i++) {
		st->teller[i].base.reclaimed = teller_reclaimed;
		st->teller[i].stage = st;
	}
	test->priv = st;
	st->fake = fake_create(1024, 2048);
	return PTR_ERR_OR_ZERO(st->fake);
}

/* Give everything back, whatever state a test left. */
static void qp_case_exit(struct kunit *test)
{
	struct stage *st = test->priv;

	if (!st || IS_ERR_OR_NULL(st->fake))
		return;
	st->fake->fail_destroy = false;
	KUNIT_EXPECT_EQ(test, 0, kverbs_qp_destroy(&st->qp));
	kverbs_qp_free(&st->qp);
	fake_destroy(st->fake);
}

/* Add @nr work requests of a class to the chain; the caller holds the lock. */
static void add(struct stage *st, enum kverbs_slot_class class, u32 nr)
{
	struct kverbs_wr *wr;

	while (nr--) {
		wr = kverbs_qp_next(&st->qp, class, &st->teller[st->added++].base);
		wr->send.opcode = IB_WR_RDMA_WRITE;
		wr->send.num_sge = 1;
	}
}

/* Post a chain of @nr writes. */
static int post(struct stage *st, u32 nr)
{
	int ret;

	spin_lock_bh(&st->qp.lock);
	add(st, KVERBS_SLOT_DATA, nr);
	ret = kverbs_qp_post(&st->qp);
	spin_unlock_bh(&st->qp.lock);
	return ret;
}

static u32 turns(struct stage *st)
{
	u32 nr;

	spin_lock_bh(&st->qp.lock);
	nr = st->turns;
	spin_unlock_bh(&st->qp.lock);
	return nr;
}

/* Completions are told in a softirq or a worker: wait until @nr owners were. */
static bool told(struct stage *st, u32 nr)
{
	unsigned long end = jiffies + LIMIT;

	while (turns(st) < nr && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	return turns(st) == nr;
}

static bool drain_and_walk(struct stage *st)
{
	bool drained;

	kverbs_qp_fence(&st->qp);
	drained = kverbs_qp_drain(&st->qp, LIMIT);
	kverbs_qp_walk(&st->qp);
	return drained;
}

/* Work request @i has this fate. */
static bool fate_is(struct stage *st, u32 i, enum ib_wc_status status, bool unsent)
{
	const struct teller *t = &st->teller[i];

	return t->told == 1 && t->fate.status == status && t->fate.unsent == unsent &&
	       !t->fate.code == !status && t->fate.now;
}

/* Every owner was told once; those that were sent, in order. */
static void expect_all_told(struct kunit *test)
{
	struct stage *st = test->priv;
	u32 i, turn = 0;

	KUNIT_EXPECT_EQ(test, st->turns, st->added);
	KUNIT_EXPECT_EQ(test, kverbs_slots_outstanding(&st->qp.slots), 0);
	for (i = 0; i < st->added; i++) {
		const struct teller *t = &st->teller[i];

		KUNIT_EXPECT_EQ_MSG(test, t->told, 1, "work request %u", i);
		if (t->fate.unsent)
			continue;
		KUNIT_EXPECT_GT_MSG(test, t->turn, turn, "work request %u", i);
		turn = t->turn;
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&st->fake->overruns), 0);
}

/* The last of a chain is signaled, and its completion tells all before it. */
static void success(struct kunit *test)
{
	struct stage *st = test->priv;
	u32 i;

	set_up(test, 128, false);
	KUNIT_ASSERT_EQ(test, 0, post(st, 5));
	KUNIT_EXPECT_EQ(test, st->fake->sq_posts, 1);
	KUNIT_EXPECT_EQ(test, st->fqp->sq.posted, 5);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, st->fqp->sq.wr[i].flags, i == 4 ? IB_SEND_SIGNALED : 0);

	fake_complete(st->fqp, 4, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, st->fqp->sq.cq->head, 0);
	fake_complete(st->fqp, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, told(st, 5));
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_TRUE(test, fate_is(st, i, IB_WC_SUCCESS, false));
	KUNIT_EXPECT_TRUE(test, drain_and_walk(st));
	KUNIT_EXPECT_EQ(test, st->progress, 1);
	KUNIT_EXPECT_EQ(test, st->failed, 0);
	KUNIT_EXPECT_EQ(test, st->qp.counters.wrs, 5);
	KUNIT_EXPECT_EQ(test, st->qp.counters.posts, 1);
	KUNIT_EXPECT_EQ(test, st->qp.counters.signaled, 1);
	expect_all_told(test);
}

static void empty_chain(struct kunit *test)
{
	struct stage *st = test->priv;

	set_up(test, 8, false);
	KUNIT_EXPECT_EQ(test, 0, post(st, 0));
	KUNIT_EXPECT_EQ(test, st->fake->sq_posts, 0);
	KUNIT_EXPECT_TRUE(test, drain_and_walk(st));
}

/* A long chain is signaled inside as well, once in half a ring. */
static void interval_seen(struct kunit *test)
{
	struct stage *st = test->priv;
	u32 i, half, before, after;
	int ret;

	set_up(test, 8, false);
	half = st->qp.slots.size / 2;
	KUNIT_ASSERT_LT(test, half, KVERBS_CHAIN);
	spin_lock_bh(&st->qp.lock);
	add(st, KVERBS_SLOT_REG, 8);
	add(st, KVERBS_SLOT_DATA, 8);
	add(st, KVERBS_SLOT_CONTROL, 16);
	before = kverbs_qp_room(&st->qp, KVERBS_SLOT_REG);
	ret = kverbs_qp_post(&st->qp);
	after = kverbs_qp_room(&st->qp, KVERBS_SLOT_REG);
	spin_unlock_bh(&st->qp.lock);
	KUNIT_EXPECT_EQ(test, ret, 0);
	KUNIT_EXPECT_EQ(test, before, 0);	/* the chain is full */
	KUNIT_EXPECT_EQ(test, after, 8);
	KUNIT_EXPECT_EQ(test, st->fake->sq_posts, 1);
	for (i = 0; i < 32; i++)
		KUNIT_EXPECT_EQ_MSG(test, st->fqp->sq.wr[i].flags,
				    i == half - 1 || i == 31 ? IB_SEND_SIGNALED : 0,
				    "work request %u", i);
	fake_complete(st->fqp, half, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, told(st, half));
	fake_complete(st->fqp, 32, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, told(st, 32));
	KUNIT_EXPECT_TRUE(test, drain_and_walk(st));
	expect_all_told(test);
}

static void iwarp_signals_all(struct kunit *test)
{
	struct stage *st = test->priv;
	u32 i;

	set_up(test, 128, true);
	KUNIT_ASSERT_EQ(test, 0, post(st, 20));
	for (i = 0; i < 20; i++)
		KUNIT_EXPECT_EQ(test, st->fqp->sq.wr[i].flags, IB_SEND_SIGNALED);
	for (i = 1; i <= 20; i++) {
		fake_complete(st->fqp, 1, IB_WC_SUCCESS);
		KUNIT_EXPECT_TRUE(test, told(st, i));
	}
	KUNIT_EXPECT_TRUE(test, drain_and_walk(st));
	expect_all_told(test);
}

/* Completions before their turn wait for it; owners are told in order of posting. */
static void out_of_order(struct kunit *test)
{
	struct stage *st = test->priv;
	u32 i;

	set_up(test, 16, true);
	KUNIT_ASSERT_EQ(test, 0, post(st, 6));
	fake_complete_early(st->fqp, 1);
	fake_complete_early(st->fqp, 2);
	fake_complete_early(st->fqp, 4);
	fake_complete(st->fqp, 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, told(st, 3));
	KUNIT_EXPECT_EQ(test, kverbs_slots_outstanding(&st->qp.slots), 3);
	/* The fourth fails, the fifth had succeeded, the last is flushed. */
	fake_complete(st->fqp, 3, IB_WC_LOC_QP_OP_ERR);
	KUNIT_EXPECT_TRUE(test, told(st, 6));
	for (i = 0; i < 6; i++)
		KUNIT_EXPECT_TRUE_MSG(test, fate_is(st, i, i == 3 ? IB_WC_LOC_QP_OP_ERR :
						    i == 5 ? IB_WC_WR_FLUSH_ERR :
						    IB_WC_SUCCESS, false),
				      "work request %u", i);
	KUNIT_EXPECT_TRUE(test, drain_and_walk(st));
	expect_all_told(test);
}

/*
 * A post that stops at work request @at of 8, after one chain of 3 that went
 * well. What was taken is live until it is flushed; the rest is told at once.
 */
static void partial_at(struct kunit *test, u32 at)
{
	struct stage *st = test->priv;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, post(st, 3));
	st->fake->fail_post = at;
	KUNIT_EXPECT_EQ(test, -EINVAL, post(st, 8));
	KUNIT_EXPECT_TRUE(test, st->qp.fenced);
	KUNIT_EXPECT_EQ(test, st->qp.counters.partial_posts, 1);
	KUNIT_EXPECT_EQ(test, st->qp.counters.wrs, 3 + at - 1);
	KUNIT_EXPECT_EQ(test, kverbs_slots_outstanding(&st->qp.slots), 3 + at - 1);
	KUNIT_EXPECT_EQ(test, turns(st), 8 - (at - 1));
	for (i = 3 + at - 1; i < 11; i++)
		KUNIT_EXPECT_TRUE(test, fate_is(st, i, IB_WC_GENERAL_ERR, true));
	fake_complete(st->fqp, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, told(st, 8 - (at - 1) + 3));
	KUNIT_EXPECT_TRUE(test, drain_and_walk(st));
	for (i = 0; i < 3 + at - 1; i++)
		KUNIT_EXPECT_TRUE(test, fate_is(st, i, i < 3 ? IB_WC_SUCCESS :
						IB_WC_WR_FLUSH_ERR, false));
	KUNIT_EXPECT_EQ(test, kverbs_slots_room(&st->qp.slots, KVERBS_SLOT_DATA), 16);
	expect_all_told(test);
}

static const u32 positions[] = { 1, 2, 3, 4, 5, 6, 7, 8 };

static void position_name(const u32 *at, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "at_%u", *at);
}

KUNIT_ARRAY_PARAM(position, positions, position_name);

static void partial_post(struct kunit *test)
{
	set_up(test, 16, false);
	partial_at(test, *(const u32 *)test->param_value);
}

/*
 * The same without being told where it stopped: all of it counts as live, and
 * what no flush ever speaks of is found by the walk.
 */
static void partial_unknown(struct kunit *test)
{
	u32 i, at = *(const u32 *)test->param_value;
	struct stage *st = test->priv;

	set_up(test, 16, false);
	KUNIT_ASSERT_EQ(test, 0, post(st, 3));
	st->fake->fail_post = at;
	st->fake->bad_wr_untouched = true;
	KUNIT_EXPECT_EQ(test, -EINVAL, post(st, 8));
	KUNIT_EXPECT_TRUE(test, st->qp.fenced);
	KUNIT_EXPECT_EQ(test, kverbs_slots_outstanding(&st->qp.slots), 11);
	KUNIT_EXPECT_EQ(test, turns(st), 0);

	kverbs_qp_fence(&st->qp);
	KUNIT_EXPECT_TRUE(test, kverbs_qp_drain(&st->qp, LIMIT));
	KUNIT_EXPECT_EQ(test, turns(st), 3 + at - 1);
	kverbs_qp_walk(&st->qp);
	for (i = 0; i < 11; i++)
		KUNIT_EXPECT_TRUE(test, fate_is(st, i, IB_WC_WR_FLUSH_ERR, false));
	expect_all_told(test);
}

/* A failure in the middle: before it success, from it on what is said. */
static void error_in_the_middle(struct kunit *test)
{
	struct stage *st = test->priv;
	u32 i;

	set_up(test, 16, false);
	KUNIT_ASSERT_EQ(test, 0, post(st, 8));
	fake_complete(st->fqp, 4, IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_TRUE(test, told(st, 8));
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_TRUE(test, fate_is(st, i, i < 3 ? IB_WC_SUCCESS :
						i == 3 ? IB_WC_REM_ACCESS_ERR :
						IB_WC_WR_FLUSH_ERR, false));
	KUNIT_EXPECT_TRUE(test, drain_and_walk(st));
	KUNIT_EXPECT_EQ(test, st->failed, 5);
	KUNIT_EXPECT_EQ(test, st->why.step, KVERBS_STEP_SEND);
	KUNIT_EXPECT_EQ(test, st->why.code, EACCES);
	KUNIT_EXPECT_EQ(test, st->why.wc_status, IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, st->qp.counters.flushed, 4);
	expect_all_told(test);
}

/*
 * Unsignaled work that succeeded at the very end of a queue: no completion will
 * ever speak of it. It came about by a post that lost its signaled end.
 */
static void silent_tail(struct kunit *test)
{
	struct stage *st = test->priv;
	u32 i;

	set_up(test, 16, false);
	st->fake->fail_post = 6;
	KUNIT_EXPECT_EQ(test, -EINVAL, post(st, 6));
	fake_complete(st->fqp, 5, IB_WC_SUCCESS);
	kverbs_qp_fence(&st->qp);
	KUNIT_EXPECT_TRUE(test, kverbs_qp_drain(&st->qp, LIMIT));
	KUNIT_EXPECT_EQ(test, turns(st), 1);
	KUNIT_EXPECT_EQ(test, kverbs_slots_outstanding(&st->qp.slots), 5);
	kverbs_qp_walk(&st->qp);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_TRUE(test, fate_is(st, i, IB_WC_WR_FLUSH_ERR, false));
	expect_all_told(test);
}

/* The flush does not come in time: nobody is told anything; then it does. */
static void late_flush(struct kunit *test)
{
	struct stage *st = test->priv;

	set_up(test, 16, false);
	KUNIT_ASSERT_EQ(test, 0, post(st, 8));
	st->fake->hold_flush = FAKE_SQ | FAKE_RQ;
	kverbs_qp_fence(&st->qp);
	KUNIT_EXPECT_FALSE(test, kverbs_qp_drain(&st->qp, 2));
	KUNIT_EXPECT_EQ(test, turns(st), 0);
	KUNIT_EXPECT_EQ(test, kverbs_slots_outstanding(&st->qp.slots), 8);
	fake_flush(st->fqp);
	KUNIT_EXPECT_TRUE(test, told(st, 8));
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&st->qp.sq_drain.done, LIMIT));
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&st->qp.rq_drain.done, LIMIT));
	expect_all_told(test);
}

/* One queue is flushed and the other is not: that is not drained. */
static void half_flush(struct kunit *test, u32 held)
{
	struct stage *st = test->priv;

	set_up(test, 16, false);
	KUNIT_ASSERT_EQ(test, 0, post(st, 8));
	st->fake->hold_flush = held;
	kverbs_qp_fence(&st->qp);
	KUNIT_EXPECT_FALSE(test, kverbs_qp_drain(&st->qp, HZ / 10));
	if (held == FAKE_SQ)
		KUNIT_EXPECT_EQ(test, turns(st), 0);
	fake_flush(st->fqp);
	KUNIT_EXPECT_TRUE(test, told(st, 8));
	expect_all_told(test);
}

static void send_queue_not_flushed(struct kunit *test)
{
	half_flush(test, FAKE_SQ);
}

static void receive_queue_not_flushed(struct kunit *test)
{
	half_flush(test, FAKE_RQ);
}

/* The flush never comes: the destroyed queue pair is the end of it. */
static void no_flush(struct kunit *test)
{
	struct stage *st = test->priv;

	set_up(test, 16, false);
	KUNIT_ASSERT_EQ(test, 0, post(st, 8));
	st->fake->hold_flush = FAKE_SQ | FAKE_RQ;
	kverbs_qp_fence(&st->qp);
	KUNIT_EXPECT_FALSE(test, kverbs_qp_drain(&st->qp, 2));
	KUNIT_ASSERT_EQ(test, 0, kverbs_qp_destroy(&st->qp));
	KUNIT_EXPECT_EQ(test, turns(st), 0);
	kverbs_qp_walk(&st->qp);
	expect_all_told(test);
}

/* A device that does not even let go: everything stays as it is. */
static void no_destroy(struct kunit *test)
{
	struct stage *st = test->priv;

	set_up(test, 16, false);
	KUNIT_ASSERT_EQ(test, 0, post(st, 8));
	st->fake->fail_modify = true;
	st->fake->fail_destroy = true;
	kverbs_qp_fence(&st->qp);
	KUNIT_EXPECT_FALSE(test, kverbs_qp_drain(&st->qp, LIMIT));
	KUNIT_EXPECT_NE(test, 0, kverbs_qp_destroy(&st->qp));
	KUNIT_EXPECT_NOT_NULL(test, st->qp.qp);
	KUNIT_EXPECT_NOT_NULL(test, st->qp.send_cq);
	KUNIT_EXPECT_NOT_NULL(test, st->qp.recv_cq);
	KUNIT_EXPECT_EQ(test, turns(st), 0);
	/* Later it does. */
	st->fake->fail_modify = false;
	KUNIT_EXPECT_TRUE(test, drain_and_walk(st));
	expect_all_told(test);
}

static void receive_done(struct ib_cq *cq, struct ib_wc *wc)
{
}

/*
 * Everything full, then all of it fails at once: every queue has room for what
 * the arithmetic promises, the drain's markers included.
 */
static void full_queues(struct kunit *test)
{
	struct stage *st = test->priv;
	struct ib_cqe cqe = { .done = receive_done };
	struct ib_recv_wr recv = { .wr_cqe = &cqe };
	enum kverbs_slot_class class;
	int i, room, ret = 0;

	set_up(test, 70, false);
	spin_lock_bh(&st->qp.lock);
	for (class = 0; class < KVERBS_SLOT_CLASSES; class++)
		while (!ret && (room = kverbs_qp_room(&st->qp, class))) {
			add(st, class, room);
			ret = kverbs_qp_post(&st->qp);
		}
	spin_unlock_bh(&st->qp.lock);
	KUNIT_EXPECT_EQ(test, ret, 0);
	KUNIT_EXPECT_EQ(test, st->added, 70 + KVERBS_REG_SLOTS + KVERBS_CTRL_SLOTS);
	for (i = 0; i < KVERBS_RECVS; i++)
		KUNIT_EXPECT_EQ(test, 0, kverbs_qp_post_recv(&st->qp, &recv));
	st->fake->hold_flush = FAKE_SQ | FAKE_RQ;
	kverbs_qp_fence(&st->qp);
	KUNIT_EXPECT_FALSE(test, kverbs_qp_drain(&st->qp, 1));
	local_bh_disable();
	fake_flush(st->fqp);	/* nothing is polled until all of it is written */
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, told(st, st->added));
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&st->qp.sq_drain.done, LIMIT));
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&st->qp.rq_drain.done, LIMIT));
	expect_all_told(test);
}

/* One data slot: every write is a chain of its own, for longer than the ring. */
static void depth_one(struct kunit *test)
{
	struct stage *st = test->priv;
	u32 i;

	set_up(test, 1, false);
	for (i = 0; i < 100; i++) {
		KUNIT_ASSERT_EQ(test, 0, post(st, 1));
		KUNIT_ASSERT_EQ(test, st->fqp->sq.wr[i].flags, IB_SEND_SIGNALED);
		fake_complete(st->fqp, 1, IB_WC_SUCCESS);
		KUNIT_ASSERT_TRUE(test, told(st, i + 1));
	}
	KUNIT_EXPECT_TRUE(test, drain_and_walk(st));
	expect_all_told(test);
}

/* Depth is clamped to what the device has, with the other slots on top. */
static void clamped(struct kunit *test)
{
	u32 extra = KVERBS_REG_SLOTS + KVERBS_CTRL_SLOTS + 1;
	struct stage *st = test->priv;

	set_up(test, 8192, false);
	KUNIT_EXPECT_EQ(test, st->qp.depth, 1024 - extra);
	KUNIT_EXPECT_EQ(test, st->qp.asked.send_wr, 1024);
	KUNIT_EXPECT_EQ(test, st->qp.limits.lkey, FAKE_LKEY);
	KUNIT_EXPECT_TRUE(test, drain_and_walk(st));
}

static struct kunit_case qp_cases[] = {
	KUNIT_CASE(success),
	KUNIT_CASE(empty_chain),
	KUNIT_CASE(interval_seen),
	KUNIT_CASE(iwarp_signals_all),
	KUNIT_CASE(out_of_order),
	KUNIT_CASE_PARAM(partial_post, position_gen_params),
	KUNIT_CASE_PARAM(partial_unknown, position_gen_params),
	KUNIT_CASE(error_in_the_middle),
	KUNIT_CASE(silent_tail),
	KUNIT_CASE(late_flush),
	KUNIT_CASE(send_queue_not_flushed),
	KUNIT_CASE(receive_queue_not_flushed),
	KUNIT_CASE(no_flush),
	KUNIT_CASE(no_destroy),
	KUNIT_CASE(full_queues),
	KUNIT_CASE(depth_one),
	KUNIT_CASE(clamped),
	{}
};

static struct kunit_suite qp_suite = {
	.name = "qp",
	.init = qp_case_init,
	.exit = qp_case_exit,
	.test_cases = qp_cases,
};

kunit_test_suite(qp_suite);
