/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Transfer: one item of work, from its acceptance to its final event.
 *
 * A transfer is mapped, sliceable and has its event before it is accepted, so
 * nothing on its way can fail for want of memory.
 */
#ifndef KVERBS_TRANSFER_H
#define KVERBS_TRANSFER_H

#include "connection.h"
#include "memory.h"
#include "region.h"

struct kverbs_work;

/**
 * struct kverbs_transfer - one item
 * @list: link in one of the work's lists
 * @owner: of its work requests
 * @work: whose
 * @map: the source, held until it may be reused
 * @remote: the target, held likewise
 * @slice: what is still to be posted
 * @wrs: work requests posted and not reclaimed
 * @posted: work requests that the device took
 * @notify: wake the peer's program
 * @broken: one of its work requests did not succeed
 * @until: enum kverbs_moment that ends it
 * @reached: enum kverbs_moment
 * @seq: of its DONE, 0 without one
 * @timeout_ms: after COMPLETED, 0 = none
 * @deadline: jiffies, once COMPLETED
 * @region_offset: for the peer's program
 * @length: bytes
 * @tag: for the peer's program
 * @user_data: for ours
 * @stamps: when each moment was reached
 * @placement: enum kverbs_placement
 * @error: why it failed
 * @node: its final event
 * @ctx: whose event queue, held
 * @conn_id: for the event: the connection may be gone when it is taken
 */
struct kverbs_transfer {
	struct list_head list;
	struct kverbs_slot_owner owner;
	struct kverbs_work *work;
	struct kverbs_mapping *map;
	struct kverbs_region_remote *remote;
	struct kverbs_slice slice;
	u32 wrs;
	u32 posted;
	bool notify;
	bool broken;
	u8 until;
	u8 reached;
	u8 placement;
	u64 seq;
	u32 timeout_ms;
	unsigned long deadline;
	u64 region_offset;
	u64 length;
	u64 tag;
	u64 user_data;
	u64 stamps[KVERBS_MOMENTS];
	struct {
		u32 code;
		u32 step;
		u32 wc_status;
		u32 vendor_err;
	} error;
	struct kverbs_event_node node;
	struct kverbs_context *ctx;
	u32 conn_id;
};

int kverbs_transfer_init(void);
void kverbs_transfer_exit(void);
struct kverbs_transfer *kverbs_transfer_create(struct kverbs_connection *conn,
					       const struct kverbs_item *item,
					       struct kverbs_buffer *buf,
					       struct kverbs_region_remote *remote);
void kverbs_transfer_discard(struct kverbs_transfer *t);
bool kverbs_transfer_fill(struct kverbs_transfer *t);
void kverbs_transfer_reach(struct kverbs_transfer *t, enum kverbs_moment moment, u64 now);
void kverbs_transfer_finish(struct kverbs_transfer *t);
void kverbs_transfer_abort(struct kverbs_transfer *t);

#endif /* KVERBS_TRANSFER_H */
