// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events: an intrusive queue.
 *
 * Whoever links a node gives the queue a hold on the node's source; whoever
 * pops it has that hold, fills the event, and gives the hold back by ->taken
 * when the program has it. A node that was popped may be linked again at once,
 * with a new hold, even before its first event is filled: a sticky source says
 * then what is true now, twice.
 *
 * Waiters are woken with the lock held. The last event of a context may let
 * another thread free it, queue and all; that thread closes the queue first and
 * so waits here until a push has let go.
 */
#include <linux/errno.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/kverbs.h>
#include "event.h"

/**
 * kverbs_event_init() - make an empty queue
 * @q: the queue; kverbs_event_close() ends it
 *
 * Context: Any.
 */
void kverbs_event_init(struct kverbs_event_queue *q)
{
	spin_lock_init(&q->lock);
	INIT_LIST_HEAD(&q->list);
	init_waitqueue_head(&q->wait);
	q->closed = false;
}

/**
 * kverbs_event_node_init() - make a node that is not queued
 * @node: the node
 * @ops: of its source
 *
 * Context: Any.
 */
void kverbs_event_node_init(struct kverbs_event_node *node,
			    const struct kverbs_event_ops *ops)
{
	INIT_LIST_HEAD(&node->list);
	node->ops = ops;
	node->when = 0;
}

static bool event_linkable(struct kverbs_event_queue *q, struct kverbs_event_node *node)
{
	lockdep_assert_held(&q->lock);
	return !q->closed && list_empty(&node->list);
}

/**
 * kverbs_event_push() - queue a node, stamp it and wake waiters
 * @q: the queue
 * @node: the node; the caller holds its source for the queue
 *
 * Context: Process or softirq context.
 * Return: true when it was linked and the hold is the queue's; false when it
 * is queued already or the queue is closed: the caller keeps its hold.
 */
bool kverbs_event_push(struct kverbs_event_queue *q, struct kverbs_event_node *node)
{
	bool linked;

	spin_lock_bh(&q->lock);
	linked = event_linkable(q, node);
	if (linked) {
		WRITE_ONCE(node->when, ktime_get_ns());
		list_add_tail(&node->list, &q->list);
		wake_up(&q->wait);
	}
	spin_unlock_bh(&q->lock);
	return linked;
}

/**
 * kverbs_event_pop() - take the oldest node off
 * @q: the queue
 *
 * Context: Process or softirq context.
 * Return: The node, whose hold is now the caller's; NULL when there is none.
 */
struct kverbs_event_node *kverbs_event_pop(struct kverbs_event_queue *q)
{
	struct kverbs_event_node *node;

	spin_lock_bh(&q->lock);
	node = list_first_entry_or_null(&q->list, struct kverbs_event_node, list);
	if (node)
		list_del_init(&node->list);
	spin_unlock_bh(&q->lock);
	return node;
}

/**
 * kverbs_event_unpop() - put a node back at the head
 * @q: the queue
 * @node: popped, and could not be handed over
 *
 * Context: Process or softirq context.
 * Return: true when it was linked; false when it was queued again meanwhile or
 * the queue is closed: the caller keeps its hold.
 */
bool kverbs_event_unpop(struct kverbs_event_queue *q, struct kverbs_event_node *node)
{
	bool linked;

	spin_lock_bh(&q->lock);
	linked = event_linkable(q, node);
	if (linked) {
		list_add(&node->list, &q->list);
		wake_up(&q->wait);
	}
	spin_unlock_bh(&q->lock);
	return linked;
}

/**
 * kverbs_event_pending() - is there something to pop?
 * @q: the queue
 *
 * Context: Process or softirq context.
 * Return: true when there is.
 */
bool kverbs_event_pending(struct kverbs_event_queue *q)
{
	bool pending;

	spin_lock_bh(&q->lock);
	pending = !list_empty(&q->list);
	spin_unlock_bh(&q->lock);
	return pending;
}

/* What a waiter waits for: 0 something to pop, -ENODEV the end, -EAGAIN neither. */
static int event_state(struct kverbs_event_queue *q)
{
	int state = -EAGAIN;

	spin_lock_bh(&q->lock);
	if (q->closed)
		state = -ENODEV;
	else if (!list_empty(&q->list))
		state = 0;
	spin_unlock_bh(&q->lock);
	return state;
}

/**
 * kverbs_event_kicks() - what to tell kverbs_event_wait()
 * @q: the queue
 *
 * Context: Any; before the caller looks at whatever a kick is about.
 * Return: how often it was kicked.
 */
u32 kverbs_event_kicks(struct kverbs_event_queue *q)
{
	return READ_ONCE(q->kicks);
}

/**
 * kverbs_event_wait() - wait until there is something to pop
 * @q: the queue
 * @timeout: jiffies, MAX_SCHEDULE_TIMEOUT for ever
 * @kicks: from kverbs_event_kicks(): a kick since then ends the wait
 *
 * Another thread may pop it first: pop says whether there is one.
 *
 * Context: Process context; sleeps.
 * Return: 0 when something is pending, or after a kick; -ETIMEDOUT; -EINTR when a
 * signal came; -ENODEV when the queue is closed.
 */
int kverbs_event_wait(struct kverbs_event_queue *q, unsigned long timeout, u32 kicks)
{
	int state;
	long left;

	left = wait_event_interruptible_timeout(q->wait,
						(state = event_state(q)) != -EAGAIN ||
						READ_ONCE(q->kicks) != kicks,
						timeout);
	if (left > 0)
		return state == -EAGAIN ? 0 : state;
	return left ? -EINTR : -ETIMEDOUT;
}

/**
 * kverbs_event_kick() - let those who wait look around
 * @q: the queue
 *
 * Context: Any but hard interrupt.
 */
void kverbs_event_kick(struct kverbs_event_queue *q)
{
	spin_lock_bh(&q->lock);
	q->kicks++;
	spin_unlock_bh(&q->lock);
	wake_up_all(&q->wait);
}

/**
 * kverbs_event_take() - let a source say what its event is
 * @node: popped
 * @event: result
 *
 * ->taken is left to the caller, who knows whether the program got the event.
 *
 * Context: Process context.
 */
void kverbs_event_take(struct kverbs_event_node *node, struct kverbs_event *event)
{
	memset(event, 0, sizeof(*event));
	event->stamps[KVERBS_POSTED] = READ_ONCE(node->when);
	node->ops->fill(node, event);
}

/**
 * kverbs_event_close() - end the queue
 * @q: the queue; takes no more from now on
 *
 * Every node that is still queued is popped and its hold given back. When this
 * returns, no push is inside the queue.
 *
 * Context: Process context; may sleep.
 */
void kverbs_event_close(struct kverbs_event_queue *q)
{
	struct kverbs_event_node *node;

	spin_lock_bh(&q->lock);
	q->closed = true;
	wake_up_all(&q->wait);
	spin_unlock_bh(&q->lock);
	while ((node = kverbs_event_pop(q)))
		node->ops->taken(node);
}
