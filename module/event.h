/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events: an intrusive queue.
 *
 * An event lives in its source (a transfer, a receive slot, a region, a
 * connection) and is queued by linking it, so there is nothing to overflow,
 * nothing to lose and nothing to allocate. A source that is queued already
 * stays where it is: it is asked what to say when it is taken, not before.
 *
 * The queue knows no context and no kind of source.
 */
#ifndef KVERBS_EVENT_H
#define KVERBS_EVENT_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

struct kverbs_event;
struct kverbs_event_node;

/**
 * struct kverbs_event_ops - what a source can do
 * @fill: write what the event says; @event is all zero but for the time stamp
 *	KVERBS_POSTED. Process context; must not sleep
 * @taken: the program has it, or never will: give the source's hold back.
 *	Process context, may sleep
 * @bytes: what comes beside the event, @length bytes of it, good until @taken;
 *	NULL for a source that has nothing of the kind
 */
struct kverbs_event_ops {
	void (*fill)(struct kverbs_event_node *node, struct kverbs_event *event);
	void (*taken)(struct kverbs_event_node *node);
	const void *(*bytes)(struct kverbs_event_node *node, u32 *length);
};

/**
 * struct kverbs_event_node - what a source embeds
 * @list: link in the queue, empty when not queued
 * @ops: of the source
 * @when: CLOCK_MONOTONIC nanoseconds when it was queued; of the last time, if
 *	it was queued again before its event was taken
 */
struct kverbs_event_node {
	struct list_head list;
	const struct kverbs_event_ops *ops;
	u64 when;
};

/**
 * struct kverbs_event_queue - first in, first out
 * @lock: guards @list, @closed and the nodes' links; innermost of all locks,
 *	taken with bottom halves off
 * @list: the nodes
 * @wait: woken by every push and by close
 * @closed: takes no more
 * @kicks: times that whoever waited was told to look around
 */
struct kverbs_event_queue {
	spinlock_t lock;	/* see above */
	struct list_head list;
	wait_queue_head_t wait;
	bool closed;
	u32 kicks;
};

void kverbs_event_init(struct kverbs_event_queue *q);
void kverbs_event_node_init(struct kverbs_event_node *node, const struct kverbs_event_ops *ops);
bool kverbs_event_push(struct kverbs_event_queue *q, struct kverbs_event_node *node);
struct kverbs_event_node *kverbs_event_pop(struct kverbs_event_queue *q);
bool kverbs_event_unpop(struct kverbs_event_queue *q, struct kverbs_event_node *node);
bool kverbs_event_pending(struct kverbs_event_queue *q);
u32 kverbs_event_kicks(struct kverbs_event_queue *q);
int kverbs_event_wait(struct kverbs_event_queue *q, unsigned long timeout, u32 kicks);
void kverbs_event_kick(struct kverbs_event_queue *q);
void kverbs_event_take(struct kverbs_event_node *node, struct kverbs_event *event);
void kverbs_event_close(struct kverbs_event_queue *q);

#endif /* KVERBS_EVENT_H */
