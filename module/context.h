/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Context: what one open file lends to its objects.
 *
 * Ids, one event queue and one network namespace. Everything a program makes
 * hangs off the context; objects hold a reference on it for as long as they may
 * still queue an event, which is longer than the file may be open.
 *
 * An object is named by an id from when it is published until the id is
 * dropped; it lives as long as anyone holds a reference. The table holds one.
 *
 * This room knows no kind of object: it counts, names and lets go.
 */
#ifndef KVERBS_CONTEXT_H
#define KVERBS_CONTEXT_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>

#include "event.h"

#define KVERBS_MAX_IDS		16384	/* objects of one context */
#define KVERBS_ID_MAX		((1 << 24) - 1)	/* a region's id is part of its address */
#define KVERBS_MAX_REMOTE_IDS	(KVERBS_MAX_IDS / 2)	/* of them, peers' regions */
#define KVERBS_MAX_PENDING	65536	/* items accepted and not yet taken */

/**
 * enum kverbs_kind - what an id names
 * @KVERBS_BUFFER: struct kverbs_buffer
 * @KVERBS_CONNECTION: struct kverbs_connection
 * @KVERBS_LISTENER: struct kverbs_listener
 * @KVERBS_REGION: struct kverbs_region_own, exposed by us
 * @KVERBS_REMOTE: struct kverbs_region_remote, the peer's
 */
enum kverbs_kind {
	KVERBS_BUFFER = 1,
	KVERBS_CONNECTION,
	KVERBS_LISTENER,
	KVERBS_REGION,
	KVERBS_REMOTE,
};

/**
 * struct kverbs_object - what has an id
 * @ref: references
 * @id: 0 until published; constant from then on
 * @kind: enum kverbs_kind
 * @release: called when the last reference goes; any context but hard interrupt
 */
struct kverbs_object {
	struct kref ref;
	u32 id;
	u8 kind;
	void (*release)(struct kverbs_object *obj);
};

/**
 * struct kverbs_poller - something that brings events only when it is polled
 * @list: link in the context's pollers, empty when it is none
 * @poll: look once; process context, must not sleep for long
 */
struct kverbs_poller {
	struct list_head list;
	void (*poll)(struct kverbs_poller *poller);
};

/**
 * struct kverbs_context - one open file
 * @ref: held by the file and by objects that may queue events
 * @net: the opener's network namespace, held
 * @events: the one queue
 * @ids: struct kverbs_object by id; its own lock guards it
 * @next_id: where the search for the next free id begins; under the xarray's
 *	lock
 * @nr_ids: objects published, at most KVERBS_MAX_IDS
 * @remotes: peers' regions published, at most KVERBS_MAX_REMOTE_IDS
 * @pending: items accepted whose final event has not been taken
 * @poll_lock: guards @pollers; held while they poll
 * @pollers: struct kverbs_poller
 */
struct kverbs_context {
	struct kref ref;
	struct net *net;
	struct kverbs_event_queue events;
	struct xarray ids;
	u32 next_id;
	atomic_t nr_ids;
	atomic_t remotes;
	atomic_t pending;
	struct mutex poll_lock;		/* see above */
	struct list_head pollers;
};

struct kverbs_context *kverbs_context_create(struct net *net);
void kverbs_context_get(struct kverbs_context *ctx);
void kverbs_context_put(struct kverbs_context *ctx);

u32 kverbs_context_reserve(struct kverbs_context *ctx, u32 nr);
void kverbs_context_unreserve(struct kverbs_context *ctx, u32 nr);

void kverbs_context_add_poller(struct kverbs_context *ctx, struct kverbs_poller *poller);
void kverbs_context_remove_poller(struct kverbs_context *ctx, struct kverbs_poller *poller);
void kverbs_context_poll(struct kverbs_context *ctx);
bool kverbs_context_polls(struct kverbs_context *ctx);

void kverbs_object_init(struct kverbs_object *obj, enum kverbs_kind kind,
			void (*release)(struct kverbs_object *obj));
void kverbs_object_get(struct kverbs_object *obj);
void kverbs_object_put(struct kverbs_object *obj);

int kverbs_context_name(struct kverbs_context *ctx, struct kverbs_object *obj);
void kverbs_context_show(struct kverbs_context *ctx, struct kverbs_object *obj);
void kverbs_context_unname(struct kverbs_context *ctx, struct kverbs_object *obj);
int kverbs_context_publish(struct kverbs_context *ctx, struct kverbs_object *obj);
struct kverbs_object *kverbs_context_find(struct kverbs_context *ctx, u32 id,
					  enum kverbs_kind kind);
struct kverbs_object *kverbs_context_find_any(struct kverbs_context *ctx, u32 id);
bool kverbs_context_unpublish(struct kverbs_context *ctx, struct kverbs_object *obj);
struct kverbs_object *kverbs_context_first(struct kverbs_context *ctx,
					   enum kverbs_kind kind);
void kverbs_context_for_each(struct kverbs_context *ctx, enum kverbs_kind kind,
			     void (*fn)(struct kverbs_object *obj));

#endif /* KVERBS_CONTEXT_H */
