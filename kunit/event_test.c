// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events: order, sticky sources, waiting and the end.
 *
 * Where a thread must be asleep before something happens, the test waits until
 * it is (it shows on the wait queue), so no outcome depends on time; the limits
 * are only there so that a wake-up that never comes ends as a failure.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/jiffies.h>

#include "../module/event.c"

#define LIMIT	(30 * HZ)
#define NODES	6

/* A source that tells what was done to it. */
struct source {
	struct kverbs_event_node node;
	struct kverbs_event_queue *queue;
	u32 id;
	u32 filled;
	u32 taken;
	u32 taken_at;			/* counts ->taken over all sources */
	bool clean;			/* what fill() got was all zero but the stamp */
	bool again;			/* queue it again in fill() */
};

static u32 taken_so_far;

static void source_fill(struct kverbs_event_node *node, struct kverbs_event *event)
{
	struct source *s = container_of(node, struct source, node);
	struct kverbs_event blank = {};

	blank.stamps[KVERBS_POSTED] = event->stamps[KVERBS_POSTED];
	s->clean = !memcmp(event, &blank, sizeof(blank));
	s->filled++;
	event->kind = KVERBS_EVENT_CONN;
	event->id = s->id;
	if (s->again)
		kverbs_event_push(s->queue, node);
}

static void source_taken(struct kverbs_event_node *node)
{
	struct source *s = container_of(node, struct source, node);

	/* The queue's lock is not held, or this would not come back. */
	kverbs_event_pending(s->queue);
	s->taken++;
	s->taken_at = ++taken_so_far;
}

static const struct kverbs_event_ops source_ops = {
	.fill = source_fill,
	.taken = source_taken,
};

struct stage {
	struct kverbs_event_queue q;
	struct source source[NODES];
};

/* Wait, as one who was never kicked. */
static int wait_on(struct kverbs_event_queue *q, unsigned long timeout)
{
	return kverbs_event_wait(q, timeout, kverbs_event_kicks(q));
}

static int event_case_init(struct kunit *test)
{
	struct stage *st = kunit_kzalloc(test, sizeof(*st), GFP_KERNEL);
	u32 i;

	if (!st)
		return -ENOMEM;
	memset(&st->q, 0xa5, sizeof(st->q));
	kverbs_event_init(&st->q);
	for (i = 0; i < NODES; i++) {
		kverbs_event_node_init(&st->source[i].node, &source_ops);
		st->source[i].queue = &st->q;
		st->source[i].id = 100 + i;
	}
	taken_so_far = 0;
	test->priv = st;
	return 0;
}

static bool push(struct stage *st, u32 i)
{
	return kverbs_event_push(&st->q, &st->source[i].node);
}

/* Index of the node popped, or -1. */
static int pop(struct stage *st)
{
	struct kverbs_event_node *node = kverbs_event_pop(&st->q);

	return node ? container_of(node, struct source, node) - st->source : -1;
}

static void order(struct kunit *test)
{
	struct stage *st = test->priv;
	int i;

	KUNIT_EXPECT_FALSE(test, kverbs_event_pending(&st->q));
	KUNIT_EXPECT_EQ(test, pop(st), -1);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_TRUE(test, push(st, i));
	KUNIT_EXPECT_EQ(test, pop(st), 0);
	KUNIT_EXPECT_TRUE(test, push(st, 3));
	KUNIT_EXPECT_TRUE(test, push(st, 0));
	KUNIT_EXPECT_EQ(test, pop(st), 1);
	KUNIT_EXPECT_EQ(test, pop(st), 2);
	KUNIT_EXPECT_EQ(test, pop(st), 3);
	KUNIT_EXPECT_TRUE(test, kverbs_event_pending(&st->q));
	KUNIT_EXPECT_EQ(test, pop(st), 0);
	KUNIT_EXPECT_EQ(test, pop(st), -1);
	KUNIT_EXPECT_FALSE(test, kverbs_event_pending(&st->q));
	for (i = 0; i < NODES; i++)
		KUNIT_EXPECT_EQ(test, st->source[i].filled + st->source[i].taken, 0);
}

/* A node that is queued stays where it is, and keeps its stamp. */
static void push_twice(struct kunit *test)
{
	struct stage *st = test->priv;

	KUNIT_EXPECT_TRUE(test, push(st, 0));
	KUNIT_EXPECT_TRUE(test, push(st, 1));
	st->source[0].node.when = 77;
	KUNIT_EXPECT_FALSE(test, push(st, 0));
	KUNIT_EXPECT_EQ(test, st->source[0].node.when, 77);
	KUNIT_EXPECT_EQ(test, pop(st), 0);
	KUNIT_EXPECT_EQ(test, pop(st), 1);
	KUNIT_EXPECT_EQ(test, pop(st), -1);
}

static void unpop(struct kunit *test)
{
	struct stage *st = test->priv;
	u64 when;

	push(st, 0);
	push(st, 1);
	when = st->source[0].node.when;
	KUNIT_EXPECT_EQ(test, pop(st), 0);
	KUNIT_EXPECT_TRUE(test, kverbs_event_unpop(&st->q, &st->source[0].node));
	KUNIT_EXPECT_EQ(test, st->source[0].node.when, when);
	KUNIT_EXPECT_EQ(test, pop(st), 0);

	/* Queued again meanwhile: it has a new place. */
	push(st, 0);
	KUNIT_EXPECT_FALSE(test, kverbs_event_unpop(&st->q, &st->source[0].node));
	KUNIT_EXPECT_EQ(test, pop(st), 1);
	KUNIT_EXPECT_EQ(test, pop(st), 0);

	kverbs_event_close(&st->q);
	KUNIT_EXPECT_FALSE(test, kverbs_event_unpop(&st->q, &st->source[0].node));
	KUNIT_EXPECT_EQ(test, pop(st), -1);
	KUNIT_EXPECT_EQ(test, st->source[0].taken, 0);
}

static void take(struct kunit *test)
{
	struct stage *st = test->priv;
	struct kverbs_event event;
	u64 before = ktime_get_ns();

	push(st, 2);
	pop(st);
	memset(&event, 0xa5, sizeof(event));
	kverbs_event_take(&st->source[2].node, &event);
	KUNIT_EXPECT_EQ(test, st->source[2].filled, 1);
	KUNIT_EXPECT_TRUE(test, st->source[2].clean);
	KUNIT_EXPECT_EQ(test, st->source[2].taken, 0);
	KUNIT_EXPECT_EQ(test, event.kind, KVERBS_EVENT_CONN);
	KUNIT_EXPECT_EQ(test, event.id, 102);
	KUNIT_EXPECT_EQ(test, event.stamps[KVERBS_POSTED], st->source[2].node.when);
	KUNIT_EXPECT_GE(test, event.stamps[KVERBS_POSTED], before);
	KUNIT_EXPECT_LE(test, event.stamps[KVERBS_POSTED], ktime_get_ns());
}

/* Something new happens to a source while its event is on its way out. */
static void sticky(struct kunit *test)
{
	struct stage *st = test->priv;
	struct kverbs_event event;

	push(st, 0);
	push(st, 1);
	KUNIT_EXPECT_EQ(test, pop(st), 0);
	st->source[0].again = true;
	kverbs_event_take(&st->source[0].node, &event);
	st->source[0].again = false;
	KUNIT_EXPECT_EQ(test, pop(st), 1);
	KUNIT_EXPECT_EQ(test, pop(st), 0);
	kverbs_event_take(&st->source[0].node, &event);
	KUNIT_EXPECT_EQ(test, st->source[0].filled, 2);
	KUNIT_EXPECT_EQ(test, pop(st), -1);
}

static void close_queue(struct kunit *test)
{
	struct stage *st = test->priv;
	int i;

	for (i = 3; i >= 0; i--)
		push(st, i);
	KUNIT_EXPECT_EQ(test, pop(st), 3);
	kverbs_event_close(&st->q);
	KUNIT_EXPECT_EQ(test, st->source[2].taken_at, 1);
	KUNIT_EXPECT_EQ(test, st->source[1].taken_at, 2);
	KUNIT_EXPECT_EQ(test, st->source[0].taken_at, 3);
	KUNIT_EXPECT_EQ(test, st->source[3].taken, 0);
	KUNIT_EXPECT_EQ(test, taken_so_far, 3);
	KUNIT_EXPECT_FALSE(test, kverbs_event_pending(&st->q));
	for (i = 0; i < NODES; i++) {
		KUNIT_EXPECT_FALSE(test, push(st, i));
		KUNIT_EXPECT_EQ(test, st->source[i].filled, 0);
	}
	KUNIT_EXPECT_EQ(test, pop(st), -1);
	kverbs_event_close(&st->q);
	KUNIT_EXPECT_EQ(test, taken_so_far, 3);
}

static void wait_at_once(struct kunit *test)
{
	struct stage *st = test->priv;

	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, wait_on(&st->q, 0));
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, wait_on(&st->q, 1));
	push(st, 0);
	KUNIT_EXPECT_EQ(test, 0, wait_on(&st->q, 0));
	KUNIT_EXPECT_EQ(test, 0, wait_on(&st->q, MAX_SCHEDULE_TIMEOUT));
	KUNIT_EXPECT_EQ(test, pop(st), 0);
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, wait_on(&st->q, 0));
	kverbs_event_close(&st->q);
	KUNIT_EXPECT_EQ(test, -ENODEV, wait_on(&st->q, 0));
	KUNIT_EXPECT_EQ(test, -ENODEV, wait_on(&st->q, MAX_SCHEDULE_TIMEOUT));
}

/* A thread that waits for ever. */
struct sleeper {
	struct kverbs_event_queue *q;
	struct task_struct *task;
	struct completion woken;
	int ret;
};

static int sleep_on(void *data)
{
	struct sleeper *s = data;

	allow_signal(SIGINT);
	s->ret = wait_on(s->q, MAX_SCHEDULE_TIMEOUT);
	complete(&s->woken);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static void sleeper_start(struct kunit *test, struct sleeper *s)
{
	struct stage *st = test->priv;
	unsigned long end = jiffies + LIMIT;

	s->q = &st->q;
	s->ret = 1;
	init_completion(&s->woken);
	s->task = kthread_run(sleep_on, s, "kverbs_kunit");
	KUNIT_ASSERT_FALSE(test, IS_ERR(s->task));
	while (!wq_has_sleeper(&st->q.wait) && time_before(jiffies, end))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_TRUE(test, wq_has_sleeper(&st->q.wait));
	KUNIT_EXPECT_FALSE(test, completion_done(&s->woken));
}

/* Woken by what the test did, or, so as not to hang, by closing the queue. */
static int sleeper_end(struct kunit *test, struct sleeper *s)
{
	int ret = -EDEADLK;

	if (wait_for_completion_timeout(&s->woken, LIMIT))
		ret = s->ret;
	else
		kverbs_event_close(s->q);
	kthread_stop(s->task);
	return ret;
}

static void wake_by_push(struct kunit *test)
{
	struct stage *st = test->priv;
	struct sleeper s;

	sleeper_start(test, &s);
	push(st, 4);
	KUNIT_EXPECT_EQ(test, 0, sleeper_end(test, &s));
	KUNIT_EXPECT_EQ(test, pop(st), 4);
}

static void wake_by_unpop(struct kunit *test)
{
	struct stage *st = test->priv;
	struct sleeper s;

	push(st, 4);
	pop(st);
	sleeper_start(test, &s);
	kverbs_event_unpop(&st->q, &st->source[4].node);
	KUNIT_EXPECT_EQ(test, 0, sleeper_end(test, &s));
}

static void wake_by_close(struct kunit *test)
{
	struct stage *st = test->priv;
	struct sleeper s[2];

	sleeper_start(test, &s[0]);
	sleeper_start(test, &s[1]);
	kverbs_event_close(&st->q);
	KUNIT_EXPECT_EQ(test, -ENODEV, sleeper_end(test, &s[0]));
	KUNIT_EXPECT_EQ(test, -ENODEV, sleeper_end(test, &s[1]));
}

static void wake_by_signal(struct kunit *test)
{
	struct sleeper s;

	sleeper_start(test, &s);
	send_sig(SIGINT, s.task, 1);
	KUNIT_EXPECT_EQ(test, -EINTR, sleeper_end(test, &s));
}

/* Pushers in softirq context, as completions are, against a reader. */
static void push_from_softirq(struct kunit *test)
{
	struct stage *st = test->priv;
	u32 round;

	for (round = 0; round < 100; round++) {
		local_bh_disable();
		push(st, round % NODES);
		local_bh_enable();
		KUNIT_EXPECT_EQ(test, 0, wait_on(&st->q, LIMIT));
		KUNIT_EXPECT_EQ(test, pop(st), round % NODES);
	}
}

/* A kick ends a wait that began before it, and no later one. */
static void kicked(struct kunit *test)
{
	struct stage *st = test->priv;
	u32 kicks = kverbs_event_kicks(&st->q);

	kverbs_event_kick(&st->q);
	KUNIT_EXPECT_EQ(test, 0, kverbs_event_wait(&st->q, MAX_SCHEDULE_TIMEOUT, kicks));
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, wait_on(&st->q, 1));
}

static struct kunit_case event_cases[] = {
	KUNIT_CASE(kicked),
	KUNIT_CASE(order),
	KUNIT_CASE(push_twice),
	KUNIT_CASE(unpop),
	KUNIT_CASE(take),
	KUNIT_CASE(sticky),
	KUNIT_CASE(close_queue),
	KUNIT_CASE(wait_at_once),
	KUNIT_CASE(wake_by_push),
	KUNIT_CASE(wake_by_unpop),
	KUNIT_CASE(wake_by_close),
	KUNIT_CASE(wake_by_signal),
	KUNIT_CASE(push_from_softirq),
	{}
};

static struct kunit_suite event_suite = {
	.name = "event",
	.init = event_case_init,
	.test_cases = event_cases,
};

kunit_test_suite(event_suite);
