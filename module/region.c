// SPDX-License-Identifier: GPL-2.0-only
/*
 * Regions. See region.h.
 *
 * An own region's registrations are destroyed only when the queue pair is gone:
 * invalidating a key is no barrier against a packet that has passed its check,
 * a destroyed queue pair is. So memory is unmapped and unpinned after that.
 */
#include <linux/overflow.h>
#include <linux/slab.h>

#include "region.h"
#include "work.h"

/* Nothing to do: registrations are undone with the queue pair. */
static void kverbs_region_reclaimed(struct kverbs_slot_owner *owner,
				    const struct kverbs_fate *fate)
{
}

static void kverbs_region_own_release(struct kverbs_object *obj)
{
	struct kverbs_region_own *region = kverbs_to_region(obj);

	kvfree(region->key);
	kverbs_connection_put(region->conn);
	kfree(region);
}

/**
 * kverbs_region_check() - may this be exposed?
 * @buf: the buffer
 * @offset: start in it
 * @length: bytes
 * @rights: KVERBS_RIGHT_*
 *
 * Context: Any.
 * Return: 0, -EINVAL, -EOPNOTSUPP, -ERANGE, -EACCES.
 */
int kverbs_region_check(struct kverbs_buffer *buf, u64 offset, u64 length, u32 rights)
{
	u64 end;

	if (!length || !rights)
		return -EINVAL;
	if (rights & ~(KVERBS_RIGHT_WRITE | KVERBS_RIGHT_READ | KVERBS_RIGHT_ATOMIC))
		return -EOPNOTSUPP;
	if (check_add_overflow(offset, length, &end) || end > buf->length)
		return -ERANGE;
	/* Remote write and atomics imply local write (IBTA vol. 1, 11.2.8.2). */
	return buf->writable || rights == KVERBS_RIGHT_READ ? 0 : -EACCES;
}

static int kverbs_region_access(u32 rights)
{
	int access = 0;

	if (rights & KVERBS_RIGHT_WRITE)
		access |= IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE;
	if (rights & KVERBS_RIGHT_READ)
		access |= IB_ACCESS_REMOTE_READ;
	if (rights & KVERBS_RIGHT_ATOMIC)
		access |= IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_ATOMIC;
	return access;
}

static int kverbs_region_register(struct kverbs_region_own *region)
{
	struct kverbs_connection *conn = region->conn;
	u32 i;
	int ret;

	ret = kverbs_mr_init(&region->mr, conn->qp.pd, conn->qp.dev, region->map,
			     region->offset, region->length, region->obj.id,
			     kverbs_region_access(region->rights));
	if (ret)
		return ret;
	region->key = kvcalloc(region->mr.nr, sizeof(*region->key), GFP_KERNEL_ACCOUNT);
	if (!region->key) {
		kverbs_mr_fini(&region->mr);
		return -ENOMEM;
	}
	for (i = 0; i < region->mr.nr; i++)
		region->key[i] = cpu_to_be32(region->mr.key[i]);
	return 0;
}

/* Hand it to the pump, unless the connection ends meanwhile. */
static int kverbs_region_start(struct kverbs_region_own *region)
{
	struct kverbs_connection *conn = region->conn;
	struct kverbs_work *work = kverbs_conn_work(conn);
	int ret = -ENOTCONN;

	kverbs_object_get(&region->obj);
	spin_lock_bh(&conn->qp.lock);
	if (!work->closed) {
		list_add_tail(&region->list, &work->regions);
		list_add_tail(&region->pending, &work->advertise);
		ret = 0;
	}
	spin_unlock_bh(&conn->qp.lock);
	if (ret)
		kverbs_object_put(&region->obj);
	else
		conn->ops->pump(conn);
	return ret;
}

static struct kverbs_region_own *kverbs_region_create(struct kverbs_connection *conn)
{
	struct kverbs_region_own *region = kzalloc(sizeof(*region), GFP_KERNEL_ACCOUNT);

	if (!region)
		return NULL;
	kverbs_object_init(&region->obj, KVERBS_REGION, kverbs_region_own_release);
	kverbs_connection_get(conn);
	region->conn = conn;
	region->owner.reclaimed = kverbs_region_reclaimed;
	INIT_LIST_HEAD(&region->list);
	INIT_LIST_HEAD(&region->pending);
	return region;
}

/**
 * kverbs_region_expose() - expose memory on a connection
 * @conn: up, and held meanwhile (kverbs_connection_hold())
 * @buf: the buffer; checked with kverbs_region_check()
 * @offset: start in it
 * @length: bytes
 * @rights: KVERBS_RIGHT_*
 * @tag: told to the peer
 *
 * Context: Process context, may sleep.
 * Return: the region, published, with a reference, or ERR_PTR().
 */
struct kverbs_region_own *kverbs_region_expose(struct kverbs_connection *conn,
					       struct kverbs_buffer *buf, u64 offset,
					       u64 length, u32 rights, u64 tag)
{
	struct kverbs_region_own *region = kverbs_region_create(conn);
	int ret;

	if (!region)
		return ERR_PTR(-ENOMEM);
	if (rights & KVERBS_RIGHT_ATOMIC && !conn->qp.dev->atomic) {
		ret = -EOPNOTSUPP;
		goto err_put;
	}
	region->offset = offset;
	region->length = length;
	region->rights = rights;
	region->tag = tag;
	region->map = kverbs_mapping_get(buf, conn->qp.dev);
	if (IS_ERR(region->map)) {
		ret = PTR_ERR(region->map);
		goto err_put;
	}
	if (rights & KVERBS_RIGHT_READ)
		kverbs_mapping_sync_for_device(region->map, offset, length);
	ret = kverbs_context_name(conn->ctx, &region->obj);
	if (ret)
		goto err_unmap;
	ret = kverbs_region_register(region);
	if (ret)
		goto err_unname;
	ret = kverbs_region_start(region);
	if (ret)
		goto err_deregister;
	kverbs_context_show(conn->ctx, &region->obj);
	return region;

err_deregister:
	kverbs_mr_fini(&region->mr);
err_unname:
	kverbs_context_unname(conn->ctx, &region->obj);
err_unmap:
	kverbs_mapping_put(region->map);
err_put:
	kverbs_object_put(&region->obj);
	return ERR_PTR(ret);
}

/**
 * kverbs_region_expose_later() - expose memory to each connection accepted later
 * @l: the listener
 * @buf: the buffer; checked with kverbs_region_check()
 * @offset: start in it
 * @length: bytes
 * @rights: KVERBS_RIGHT_*
 * @tag: told to the peers
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOMEM, -ENOSPC.
 */
int kverbs_region_expose_later(struct kverbs_listener *l, struct kverbs_buffer *buf,
			       u64 offset, u64 length, u32 rights, u64 tag)
{
	struct kverbs_exposure *e = kzalloc(sizeof(*e), GFP_KERNEL_ACCOUNT);
	bool fits;

	if (!e)
		return -ENOMEM;
	kverbs_object_get(&buf->obj);
	e->buf = buf;
	e->offset = offset;
	e->length = length;
	e->rights = rights;
	e->tag = tag;
	mutex_lock(&l->lock);
	fits = l->nr_exposures < KVERBS_MAX_EXPOSURES;
	if (fits) {
		list_add_tail(&e->list, &l->exposures);
		l->nr_exposures++;
	}
	mutex_unlock(&l->lock);
	if (fits)
		return 0;
	kverbs_object_put(&buf->obj);
	kfree(e);
	return -ENOSPC;
}

static struct kverbs_exposure *kverbs_exposure_after(struct kverbs_listener *l,
						     struct kverbs_exposure *e)
{
	mutex_lock(&l->lock);
	e = list_next_entry(e, list);
	if (list_entry_is_head(e, &l->exposures, list))
		e = NULL;
	mutex_unlock(&l->lock);
	return e;
}

/**
 * kverbs_region_expose_all() - what a listener exposes, on one connection
 * @l: the listener
 * @conn: accepted by it just now, held
 *
 * Context: Process context, may sleep.
 * Return: 0 or -errno of the first that failed.
 */
int kverbs_region_expose_all(struct kverbs_listener *l, struct kverbs_connection *conn)
{
	struct kverbs_region_own *region;
	struct kverbs_exposure *e;

	/* They are only added, so one stays good without the lock. */
	e = list_entry(&l->exposures, struct kverbs_exposure, list);
	while ((e = kverbs_exposure_after(l, e))) {
		region = kverbs_region_expose(conn, e->buf, e->offset, e->length,
					      e->rights, e->tag);
		if (IS_ERR(region))
			return PTR_ERR(region);
		kverbs_object_put(&region->obj);
	}
	return 0;
}

static void kverbs_region_add_regs(struct kverbs_region_own *region)
{
	struct kverbs_qp *qp = &region->conn->qp;
	struct kverbs_wr *wr;

	while (region->registered < region->mr.nr && kverbs_qp_room(qp, KVERBS_SLOT_REG)) {
		wr = kverbs_qp_next(qp, KVERBS_SLOT_REG, &region->owner);
		kverbs_mr_prepare(&region->mr, region->registered++, &wr->reg);
	}
}

static void kverbs_region_add_adverts(struct kverbs_region_own *region)
{
	struct kverbs_msg msg;

	while (region->advertised < region->mr.nr) {
		u32 count = min_t(u32, region->mr.nr - region->advertised, KVERBS_WIRE_KEYS);

		msg = (struct kverbs_msg) {
			.type = KVERBS_MSG_REGION,
			.region = {
				.region = region->obj.id,
				.rights = region->rights,
				.length = region->length,
				.tag = region->tag,
				.addr = region->mr.addr,
				.span = region->mr.span,
				.lead = region->mr.lead,
				.keys = region->mr.nr,
				.first = region->advertised,
				.count = count,
				.key = region->key + region->advertised,
			},
		};
		if (!kverbs_control_put(region->conn, &msg))
			return;
		region->advertised += count;
	}
}

/**
 * kverbs_region_pump() - add registrations and advertisements to the chain
 * @conn: the connection
 *
 * Context: Send queue lock held.
 */
void kverbs_region_pump(struct kverbs_connection *conn)
{
	struct kverbs_work *work = kverbs_conn_work(conn);
	struct kverbs_region_own *region, *next;

	list_for_each_entry_safe(region, next, &work->advertise, pending) {
		kverbs_region_add_regs(region);
		if (region->registered < region->mr.nr)
			return;
		kverbs_region_add_adverts(region);
		if (region->advertised < region->mr.nr)
			return;
		list_del_init(&region->pending);
	}
}

/**
 * kverbs_region_find() - an own region by the name the peer knows
 * @conn: the connection
 * @name: any number
 *
 * Context: Send queue lock held, for as long as the result is used.
 * Return: the region or NULL.
 */
struct kverbs_region_own *kverbs_region_find(struct kverbs_connection *conn, u32 name)
{
	struct kverbs_region_own *region;

	lockdep_assert_held(&conn->qp.lock);
	list_for_each_entry(region, &kverbs_conn_work(conn)->regions, list)
		if (region->obj.id == name)
			return region;
	return NULL;
}

static void kverbs_remote_event_fill(struct kverbs_event_node *node, struct kverbs_event *event)
{
	struct kverbs_region_remote *remote =
		container_of(node, struct kverbs_region_remote, node);

	event->kind = KVERBS_EVENT_REGION;
	event->id = remote->conn_id;
	event->region_id = remote->obj.id;
	event->rights = remote->rights;
	event->length = remote->length;
	event->tag = remote->tag;
}

static void kverbs_remote_event_taken(struct kverbs_event_node *node)
{
	kverbs_object_put(&container_of(node, struct kverbs_region_remote, node)->obj);
}

static const struct kverbs_event_ops kverbs_remote_event_ops = {
	.fill = kverbs_remote_event_fill,
	.taken = kverbs_remote_event_taken,
};

static void kverbs_remote_release(struct kverbs_object *obj)
{
	struct kverbs_region_remote *remote = kverbs_to_remote(obj);

	kvfree(remote->target.key);
	kfree(remote);
}

static struct kverbs_region_remote *kverbs_remote_find(struct kverbs_work *work, u32 name)
{
	struct kverbs_region_remote *remote;

	list_for_each_entry(remote, &work->remotes, list)
		if (remote->name == name)
			return remote;
	return NULL;
}

/* The first piece: everything but the keys. */
static struct kverbs_region_remote *kverbs_remote_create(struct kverbs_connection *conn,
							 const struct kverbs_msg_region *msg)
{
	struct kverbs_work *work = kverbs_conn_work(conn);
	struct kverbs_region_remote *remote;

	if (work->nr_remotes >= KVERBS_MAX_REMOTES ||
	    msg->keys > KVERBS_MAX_KEYS - work->nr_keys)
		return ERR_PTR(-ENOSPC);
	remote = kzalloc(sizeof(*remote), GFP_KERNEL_ACCOUNT);
	if (!remote)
		return ERR_PTR(-ENOMEM);
	kverbs_object_init(&remote->obj, KVERBS_REMOTE, kverbs_remote_release);
	kverbs_event_node_init(&remote->node, &kverbs_remote_event_ops);
	remote->target.key = kvcalloc(msg->keys, sizeof(u32), GFP_KERNEL_ACCOUNT);
	if (!remote->target.key) {
		kverbs_object_put(&remote->obj);
		return ERR_PTR(-ENOMEM);
	}
	remote->conn = conn;
	remote->conn_id = conn->obj.id;
	remote->name = msg->region;
	remote->rights = msg->rights;
	remote->length = msg->length;
	remote->tag = msg->tag;
	remote->keys = msg->keys;
	remote->target.addr = msg->addr;
	remote->target.span = msg->span;
	remote->target.lead = msg->lead;

	spin_lock_bh(&conn->qp.lock);
	list_add_tail(&remote->list, &work->remotes);
	work->nr_remotes++;
	work->nr_keys += msg->keys;
	spin_unlock_bh(&conn->qp.lock);
	return remote;
}

/* All pieces of one region say the same and come in order. */
static bool kverbs_remote_fits(const struct kverbs_region_remote *remote,
			       const struct kverbs_msg_region *msg)
{
	return msg->first == remote->got && msg->keys == remote->keys &&
	       msg->length == remote->length && msg->rights == remote->rights &&
	       msg->tag == remote->tag && msg->addr == remote->target.addr &&
	       msg->span == remote->target.span && msg->lead == remote->target.lead;
}

/* Once whole, and once the program knows the connection. */
static int kverbs_remote_announce(struct kverbs_connection *conn,
				  struct kverbs_region_remote *remote)
{
	int ret;

	if (remote->announced || remote->got < remote->keys || !kverbs_conn_work(conn)->known)
		return 0;
	if (!atomic_add_unless(&conn->ctx->remotes, 1, KVERBS_MAX_REMOTE_IDS))
		return -ENOSPC;
	ret = kverbs_context_publish(conn->ctx, &remote->obj);
	if (ret) {
		atomic_dec(&conn->ctx->remotes);
		return ret;
	}
	remote->announced = true;
	kverbs_object_get(&remote->obj);
	if (!kverbs_event_push(&conn->ctx->events, &remote->node))
		kverbs_object_put(&remote->obj);
	return 0;
}

/**
 * kverbs_region_told() - announce what came before the program knew of @conn
 * @conn: the connection
 *
 * Context: Process context, remote lock held, may sleep.
 * Return: 0 or -errno.
 */
int kverbs_region_told(struct kverbs_connection *conn)
{
	struct kverbs_work *work = kverbs_conn_work(conn);
	struct kverbs_region_remote *remote;
	int ret = 0;

	lockdep_assert_held(&work->remote_lock);
	list_for_each_entry(remote, &work->remotes, list)
		ret = ret ?: kverbs_remote_announce(conn, remote);
	return ret;
}

/* Put the piece where it belongs. @remote_lock held. */
static int kverbs_remote_add(struct kverbs_connection *conn, const struct kverbs_msg_region *msg)
{
	struct kverbs_region_remote *remote;
	u32 *key;
	u32 i;

	remote = kverbs_remote_find(kverbs_conn_work(conn), msg->region);
	if (!remote && !msg->first)
		remote = kverbs_remote_create(conn, msg);
	if (IS_ERR(remote))
		return PTR_ERR(remote);
	if (!remote || !kverbs_remote_fits(remote, msg))
		return -EPROTO;
	/* Nobody reads them before it is announced. */
	key = (u32 *)remote->target.key;
	for (i = 0; i < msg->count; i++)
		key[remote->got++] = be32_to_cpu(msg->key[i]);
	if (remote->got == remote->keys) {
		spin_lock_bh(&conn->qp.lock);
		conn->qp.counters.regions_received++;
		spin_unlock_bh(&conn->qp.lock);
	}
	return kverbs_remote_announce(conn, remote);
}

/**
 * kverbs_region_received() - a piece of an advertisement has come
 * @conn: the connection
 * @msg: the piece, checked by itself
 *
 * Context: Receive completion, process context, may sleep.
 * Return: 0; -EPROTO for a piece that does not fit, -ENOSPC when the peer
 * advertises too much, -ENOMEM.
 */
int kverbs_region_received(struct kverbs_connection *conn, const struct kverbs_msg_region *msg)
{
	struct kverbs_work *work = kverbs_conn_work(conn);
	int ret;

	mutex_lock(&work->remote_lock);
	ret = kverbs_remote_add(conn, msg);
	mutex_unlock(&work->remote_lock);
	return ret;
}

/**
 * kverbs_region_count() - list the regions of a connection
 * @conn: the connection
 * @info: filled in, as far as there is room
 * @room: how many fit
 *
 * Context: Process context.
 * Return: how many there are.
 */
u32 kverbs_region_count(struct kverbs_connection *conn, struct kverbs_region *info, u32 room)
{
	struct kverbs_work *work = kverbs_conn_work(conn);
	struct kverbs_region_remote *remote;
	struct kverbs_region_own *own;
	u32 nr = 0;

	spin_lock_bh(&conn->qp.lock);
	list_for_each_entry(own, &work->regions, list) {
		if (nr++ >= room)
			continue;
		*info++ = (struct kverbs_region) {
			.region_id = own->obj.id,
			.length = own->length,
			.tag = own->tag,
			.rights = own->rights,
			.keys = own->mr.nr,
		};
	}
	list_for_each_entry(remote, &work->remotes, list) {
		if (!remote->announced || nr++ >= room)
			continue;
		*info++ = (struct kverbs_region) {
			.region_id = remote->obj.id,
			.flags = KVERBS_REGION_REMOTE,
			.length = remote->length,
			.tag = remote->tag,
			.rights = remote->rights,
			.keys = remote->keys,
		};
	}
	spin_unlock_bh(&conn->qp.lock);
	return nr;
}

/**
 * kverbs_region_end() - end all regions of a connection
 * @conn: its queue pair is gone, and so are its receive completions
 *
 * Context: Process context, may sleep.
 */
void kverbs_region_end(struct kverbs_connection *conn)
{
	struct kverbs_work *work = kverbs_conn_work(conn);
	struct kverbs_region_remote *remote, *next_remote;
	struct kverbs_region_own *own, *next_own;
	LIST_HEAD(remotes);
	LIST_HEAD(regions);

	/* ACCEPT or CONNECT may be telling of them just now. */
	mutex_lock(&work->remote_lock);
	spin_lock_bh(&conn->qp.lock);
	list_splice_init(&work->regions, &regions);
	list_splice_init(&work->remotes, &remotes);
	INIT_LIST_HEAD(&work->advertise);
	spin_unlock_bh(&conn->qp.lock);
	mutex_unlock(&work->remote_lock);

	list_for_each_entry_safe(own, next_own, &regions, list) {
		kverbs_context_unpublish(conn->ctx, &own->obj);
		kverbs_mr_fini(&own->mr);
		kverbs_mapping_put(own->map);
		kverbs_object_put(&own->obj);
	}
	list_for_each_entry_safe(remote, next_remote, &remotes, list) {
		if (remote->announced)
			atomic_dec(&conn->ctx->remotes);
		kverbs_context_unpublish(conn->ctx, &remote->obj);
		kverbs_object_put(&remote->obj);
	}
}
