/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Regions: memory exposed to a peer, and memory that a peer exposed to us.
 *
 * An own region is registered and advertised by the pump: registrations and
 * advertisement go down the same send queue, in that order, so that no peer
 * knows a key before it is good. A remote region is put together from the pieces
 * of an advertisement and announced to the program when it is whole. Both end
 * with their connection, and their ids with them.
 */
#ifndef KVERBS_REGION_H
#define KVERBS_REGION_H

#include "cm.h"
#include "connection.h"
#include "memory.h"
#include "mr.h"

#define KVERBS_MAX_REMOTES	1024	/* regions a peer may advertise */
#define KVERBS_MAX_KEYS		65536	/* keys of all of them */
#define KVERBS_MAX_EXPOSURES	1024	/* what one listener exposes */

/**
 * struct kverbs_region_own - memory exposed on one connection
 * @obj: id and references: the id table, the connection's list, calls
 * @conn: the connection, held
 * @owner: of the registrations
 * @list: link in the connection's list of regions
 * @pending: link in the list of those not wholly advertised
 * @map: the buffer's mapping, held until the queue pair is gone
 * @offset: start in the buffer
 * @length: bytes
 * @rights: KVERBS_RIGHT_*
 * @tag: told to the peer
 * @mr: registrations
 * @key: their keys as they go on the wire
 * @registered: registrations handed to the device
 * @advertised: keys told to the peer; both under the send queue's lock
 */
struct kverbs_region_own {
	struct kverbs_object obj;
	struct kverbs_connection *conn;
	struct kverbs_slot_owner owner;
	struct list_head list;
	struct list_head pending;
	struct kverbs_mapping *map;
	u64 offset;
	u64 length;
	u32 rights;
	u64 tag;
	struct kverbs_mr mr;
	__be32 *key;
	u32 registered;
	u32 advertised;
};

/**
 * struct kverbs_region_remote - memory that the peer exposed
 * @obj: id and references: the id table, the connection's list, transfers, the
 *	queued event
 * @conn: whose; only compared, valid while the id can be found
 * @conn_id: its id
 * @list: link in the connection's list of remote regions
 * @node: the advertisement as an event
 * @name: the peer's name for it
 * @rights: KVERBS_RIGHT_*
 * @length: bytes
 * @tag: of the peer's program
 * @target: where byte 0 is, and the keys
 * @keys: keys in all
 * @got: keys that have come
 * @announced: it has an id and its event
 */
struct kverbs_region_remote {
	struct kverbs_object obj;
	struct kverbs_connection *conn;
	u32 conn_id;
	struct list_head list;
	struct kverbs_event_node node;
	u32 name;
	u32 rights;
	u64 length;
	u64 tag;
	struct kverbs_target target;
	u32 keys;
	u32 got;
	bool announced;
};

struct kverbs_region_own *kverbs_region_expose(struct kverbs_connection *conn,
					       struct kverbs_buffer *buf, u64 offset,
					       u64 length, u32 rights, u64 tag);
int kverbs_region_check(struct kverbs_buffer *buf, u64 offset, u64 length, u32 rights);
int kverbs_region_expose_later(struct kverbs_listener *l, struct kverbs_buffer *buf,
			       u64 offset, u64 length, u32 rights, u64 tag);
int kverbs_region_expose_all(struct kverbs_listener *l, struct kverbs_connection *conn);
void kverbs_region_pump(struct kverbs_connection *conn);
int kverbs_region_told(struct kverbs_connection *conn);
int kverbs_region_received(struct kverbs_connection *conn, const struct kverbs_msg_region *msg);
struct kverbs_region_own *kverbs_region_find(struct kverbs_connection *conn, u32 name);
u32 kverbs_region_count(struct kverbs_connection *conn, struct kverbs_region *info, u32 room);
void kverbs_region_end(struct kverbs_connection *conn);

static inline struct kverbs_region_own *kverbs_to_region(struct kverbs_object *obj)
{
	return container_of(obj, struct kverbs_region_own, obj);
}

static inline struct kverbs_region_remote *kverbs_to_remote(struct kverbs_object *obj)
{
	return container_of(obj, struct kverbs_region_remote, obj);
}

#endif /* KVERBS_REGION_H */
