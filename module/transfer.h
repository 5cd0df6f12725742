/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Transfer: one item of work, from its acceptance to its final outcome.
 *
 * A transfer is mapped, sliceable and has its event before it is accepted, so
 * nothing on its way can fail for want of memory.
 */
#ifndef KVERBS_TRANSFER_H
#define KVERBS_TRANSFER_H

#include "connection.h"
#include "memory.h"
#include "region.h"

struct kverbs_batch;

/**
 * struct kverbs_copy - bytes that were copied when their item was accepted
 * @extent: them, as a source to be sent inline
 * @source: that
 * @length: how many
 * @bytes: them
 */
struct kverbs_copy {
	struct kverbs_extent extent;
	struct kverbs_source source;
	u32 length;
	u8 bytes[];
};

/**
 * struct kverbs_transfer - one item
 * @list: link in one of the work's lists
 * @owner: of its work requests
 * @batch: its submission, referenced
 * @op: enum kverbs_op
 * @until: enum kverbs_moment that ends it
 * @reached: enum kverbs_moment
 * @placement: enum kverbs_placement
 * @flags: KVERBS_ITEM_*
 * @broken: one of its work requests did not succeed
 * @fence: its first work request has not been posted, and is to be fenced
 * @registers: each of its pieces goes through a registration
 * @wrs: work requests posted and not reclaimed
 * @posted: work requests that the device took
 * @timeout_ms: after COMPLETED, 0 = none
 * @slice: what is still to be posted
 * @map: the local memory, held until it may be reused; NULL for a copy
 * @copy: the local bytes, if they were copied
 * @remote: the remote memory, held likewise; NULL for a message
 * @offset: in the local buffer
 * @region_offset: in the remote region
 * @length: bytes
 * @tag: for the peer's program
 * @user_data: for ours
 * @operand: of an atomic
 * @compare: of an atomic
 * @seq: that the peer counts it by, 0 without one; not of an atomic
 * @deadline: jiffies, once COMPLETED and with a time-out; not of an atomic
 * @stamps: when each moment from COMPLETED to @reached was reached; POSTED is the
 *	batch's
 * @error: why it failed; all zero if it did not
 * @node: its final event, once there is one
 */
struct kverbs_transfer {
	struct list_head list;
	struct kverbs_slot_owner owner;
	struct kverbs_batch *batch;
	u8 op;
	u8 until;
	u8 reached;
	u8 placement;
	u8 flags;
	bool broken;
	bool fence;
	bool registers;
	u32 wrs;
	u32 posted;
	u32 timeout_ms;
	struct kverbs_slice slice;
	struct kverbs_mapping *map;
	struct kverbs_copy *copy;
	struct kverbs_region_remote *remote;
	u64 offset;
	u64 region_offset;
	u64 length;
	u64 tag;
	u64 user_data;
	union {
		struct {
			u64 operand;
			u64 compare;
		};
		struct {
			u64 seq;
			unsigned long deadline;
		};
	};
	u64 stamps[KVERBS_MOMENTS - 1];
	struct {
		u32 code;
		u32 step;
		u32 wc_status;
		u32 vendor_err;
	} error;
	struct kverbs_event_node node;
};

int kverbs_transfer_check(struct kverbs_connection *conn, const struct kverbs_item *item);
int kverbs_transfer_init(struct kverbs_batch *batch, const struct kverbs_item *item,
			 struct kverbs_buffer *buf, struct kverbs_mapping *map,
			 struct kverbs_region_remote *remote);
void kverbs_transfer_release(struct kverbs_transfer *t);
void kverbs_transfer_reach(struct kverbs_transfer *t, enum kverbs_moment moment, u64 now);
void kverbs_transfer_finish(struct kverbs_transfer *t);
void kverbs_transfer_abort(struct kverbs_transfer *t);

#endif /* KVERBS_TRANSFER_H */
