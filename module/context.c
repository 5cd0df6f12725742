// SPDX-License-Identifier: GPL-2.0-only
/*
 * Context: ids and one event queue of one open file. See context.h.
 *
 * A lookup takes its reference under the table's lock, and the id is dropped
 * under the same lock before the table's own reference goes, so a reference
 * found by id is always good.
 */
#include <linux/slab.h>

#include "context.h"

/**
 * kverbs_context_create() - make a context
 * @net: network namespace; a reference is taken
 *
 * Context: Process context, may sleep.
 * Return: a context with one reference, or NULL without memory.
 */
struct kverbs_context *kverbs_context_create(struct net *net)
{
	struct kverbs_context *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);

	if (!ctx)
		return NULL;
	kref_init(&ctx->ref);
	ctx->net = get_net(net);
	ctx->next_id = 1;
	kverbs_event_init(&ctx->events);
	mutex_init(&ctx->poll_lock);
	INIT_LIST_HEAD(&ctx->pollers);
	xa_init_flags(&ctx->ids, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	return ctx;
}

static void kverbs_context_release(struct kref *ref)
{
	struct kverbs_context *ctx = container_of(ref, struct kverbs_context, ref);

	xa_destroy(&ctx->ids);
	mutex_destroy(&ctx->poll_lock);
	put_net(ctx->net);
	kfree(ctx);
}

/**
 * kverbs_context_get() - take a reference
 * @ctx: the context
 *
 * Context: Any.
 */
void kverbs_context_get(struct kverbs_context *ctx)
{
	kref_get(&ctx->ref);
}

/**
 * kverbs_context_put() - give a reference back
 * @ctx: the context
 *
 * Context: Any but hard interrupt.
 */
void kverbs_context_put(struct kverbs_context *ctx)
{
	kref_put(&ctx->ref, kverbs_context_release);
}

/**
 * kverbs_context_reserve() - room for items to be accepted
 * @ctx: the context
 * @nr: how many are wanted
 *
 * Context: Any.
 * Return: how many may be accepted, at most @nr; the rest of
 * KVERBS_MAX_PENDING is taken.
 */
u32 kverbs_context_reserve(struct kverbs_context *ctx, u32 nr)
{
	int old = atomic_read(&ctx->pending);
	u32 got;

	do {
		got = min_t(u32, nr, KVERBS_MAX_PENDING - old);
	} while (!atomic_try_cmpxchg(&ctx->pending, &old, old + got));
	return got;
}

/**
 * kverbs_context_unreserve() - items are taken, or were not accepted after all
 * @ctx: the context
 * @nr: how many
 *
 * Context: Any.
 */
void kverbs_context_unreserve(struct kverbs_context *ctx, u32 nr)
{
	atomic_sub(nr, &ctx->pending);
}

/**
 * kverbs_context_add_poller() - whoever waits for events polls this, too
 * @ctx: the context
 * @poller: its @poll is set
 *
 * Context: Process context, may sleep.
 */
void kverbs_context_add_poller(struct kverbs_context *ctx, struct kverbs_poller *poller)
{
	mutex_lock(&ctx->poll_lock);
	list_add_tail(&poller->list, &ctx->pollers);
	mutex_unlock(&ctx->poll_lock);
	/* Those who sleep shall poll from now on. */
	kverbs_event_kick(&ctx->events);
}

/**
 * kverbs_context_remove_poller() - it is not polled any more
 * @ctx: the context
 * @poller: added, or only initialised (then nothing happens)
 *
 * Context: Process context, may sleep; not from its @poll.
 */
void kverbs_context_remove_poller(struct kverbs_context *ctx, struct kverbs_poller *poller)
{
	mutex_lock(&ctx->poll_lock);
	list_del_init(&poller->list);
	mutex_unlock(&ctx->poll_lock);
}

/**
 * kverbs_context_poll() - poll all of them once
 * @ctx: the context
 *
 * One caller at a time: others return at once, what they wait for is under way.
 *
 * Context: Process context.
 */
void kverbs_context_poll(struct kverbs_context *ctx)
{
	struct kverbs_poller *poller;

	if (!mutex_trylock(&ctx->poll_lock))
		return;
	list_for_each_entry(poller, &ctx->pollers, list)
		poller->poll(poller);
	mutex_unlock(&ctx->poll_lock);
}

/**
 * kverbs_context_polls() - is there anything to be polled?
 * @ctx: the context
 *
 * Context: Any.
 * Return: true if events may come by kverbs_context_poll() alone.
 */
bool kverbs_context_polls(struct kverbs_context *ctx)
{
	return !list_empty_careful(&ctx->pollers);
}

/**
 * kverbs_object_init() - begin an object's life with one reference and no id
 * @obj: embedded in the real thing
 * @kind: what the real thing is
 * @release: frees the real thing
 *
 * Context: Any.
 */
void kverbs_object_init(struct kverbs_object *obj, enum kverbs_kind kind,
			void (*release)(struct kverbs_object *obj))
{
	kref_init(&obj->ref);
	obj->id = 0;
	obj->kind = kind;
	obj->release = release;
}

/**
 * kverbs_object_get() - take a reference
 * @obj: the object
 *
 * Context: Any.
 */
void kverbs_object_get(struct kverbs_object *obj)
{
	kref_get(&obj->ref);
}

static void kverbs_object_release(struct kref *ref)
{
	struct kverbs_object *obj = container_of(ref, struct kverbs_object, ref);

	obj->release(obj);
}

/**
 * kverbs_object_put() - give a reference back
 * @obj: the object
 *
 * Context: Any but hard interrupt.
 */
void kverbs_object_put(struct kverbs_object *obj)
{
	kref_put(&obj->ref, kverbs_object_release);
}

/**
 * kverbs_context_name() - give an object an id by which it cannot be found yet
 * @ctx: the context
 * @obj: without an id
 *
 * Ids are cyclic: a free one is used again only after all the others were.
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOSPC when too many ids are in use, -ENOMEM.
 */
int kverbs_context_name(struct kverbs_context *ctx, struct kverbs_object *obj)
{
	u32 id;
	int ret;

	if (!atomic_add_unless(&ctx->nr_ids, 1, KVERBS_MAX_IDS))
		return -ENOSPC;
	ret = xa_alloc_cyclic_bh(&ctx->ids, &id, NULL, XA_LIMIT(1, KVERBS_ID_MAX),
				 &ctx->next_id, GFP_KERNEL_ACCOUNT);
	if (ret < 0) {
		atomic_dec(&ctx->nr_ids);
		return ret;
	}
	obj->id = id;
	return 0;
}

/**
 * kverbs_context_show() - from now on an object is found by its id
 * @ctx: the context
 * @obj: named; the table takes a reference
 *
 * Context: Process context. Cannot fail: the table has the place.
 */
void kverbs_context_show(struct kverbs_context *ctx, struct kverbs_object *obj)
{
	kverbs_object_get(obj);
	xa_lock_bh(&ctx->ids);
	__xa_store(&ctx->ids, obj->id, obj, GFP_NOWAIT);
	xa_unlock_bh(&ctx->ids);
}

/**
 * kverbs_context_unname() - take the id of an object that was never shown away
 * @ctx: the context
 * @obj: named
 *
 * Context: Any but hard interrupt.
 */
void kverbs_context_unname(struct kverbs_context *ctx, struct kverbs_object *obj)
{
	xa_lock_bh(&ctx->ids);
	__xa_erase(&ctx->ids, obj->id);
	xa_unlock_bh(&ctx->ids);
	atomic_dec(&ctx->nr_ids);
}

/**
 * kverbs_context_publish() - name and show at once
 * @ctx: the context
 * @obj: without an id; the table takes a reference
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOSPC when too many ids are in use, -ENOMEM.
 */
int kverbs_context_publish(struct kverbs_context *ctx, struct kverbs_object *obj)
{
	int ret = kverbs_context_name(ctx, obj);

	if (!ret)
		kverbs_context_show(ctx, obj);
	return ret;
}

/**
 * kverbs_context_find_any() - look an id up
 * @ctx: the context
 * @id: any number
 *
 * Context: Any but hard interrupt.
 * Return: the object with a reference for the caller, or NULL.
 */
struct kverbs_object *kverbs_context_find_any(struct kverbs_context *ctx, u32 id)
{
	struct kverbs_object *obj;

	xa_lock_bh(&ctx->ids);
	obj = xa_load(&ctx->ids, id);
	if (obj)
		kverbs_object_get(obj);
	xa_unlock_bh(&ctx->ids);
	return obj;
}

/**
 * kverbs_context_find() - look an id of one kind up
 * @ctx: the context
 * @id: any number
 * @kind: what it has to be
 *
 * Context: Any but hard interrupt.
 * Return: the object with a reference for the caller, or NULL if there is none
 * or it is of another kind.
 */
struct kverbs_object *kverbs_context_find(struct kverbs_context *ctx, u32 id,
					  enum kverbs_kind kind)
{
	struct kverbs_object *obj = kverbs_context_find_any(ctx, id);

	if (obj && obj->kind != kind) {
		kverbs_object_put(obj);
		return NULL;
	}
	return obj;
}

/**
 * kverbs_context_unpublish() - take an object's id away
 * @ctx: the context
 * @obj: the object; the caller holds a reference of its own
 *
 * Context: Any but hard interrupt.
 * Return: true for the one caller that took it, false if it was gone already.
 */
bool kverbs_context_unpublish(struct kverbs_context *ctx, struct kverbs_object *obj)
{
	bool mine = false;

	xa_lock_bh(&ctx->ids);
	if (obj->id && xa_load(&ctx->ids, obj->id) == obj) {
		__xa_erase(&ctx->ids, obj->id);
		mine = true;
	}
	xa_unlock_bh(&ctx->ids);
	if (mine) {
		atomic_dec(&ctx->nr_ids);
		kverbs_object_put(obj);
	}
	return mine;
}

/**
 * kverbs_context_first() - any one object of a kind, for emptying the table
 * @ctx: the context
 * @kind: which kind
 *
 * Context: Any but hard interrupt.
 * Return: the object with the lowest id, with a reference, or NULL.
 */
struct kverbs_object *kverbs_context_first(struct kverbs_context *ctx,
					   enum kverbs_kind kind)
{
	struct kverbs_object *obj, *found = NULL;
	unsigned long id;

	xa_lock_bh(&ctx->ids);
	xa_for_each(&ctx->ids, id, obj) {
		if (obj->kind == kind) {
			kverbs_object_get(obj);
			found = obj;
			break;
		}
	}
	xa_unlock_bh(&ctx->ids);
	return found;
}

/**
 * kverbs_context_for_each() - call a function for every object of a kind
 * @ctx: the context
 * @kind: which kind
 * @fn: called with the table's lock held: must not sleep, publish or unpublish
 *
 * Context: Any but hard interrupt.
 */
void kverbs_context_for_each(struct kverbs_context *ctx, enum kverbs_kind kind,
			     void (*fn)(struct kverbs_object *obj))
{
	struct kverbs_object *obj;
	unsigned long id;

	xa_lock_bh(&ctx->ids);
	xa_for_each(&ctx->ids, id, obj)
		if (obj->kind == kind)
			fn(obj);
	xa_unlock_bh(&ctx->ids);
}
