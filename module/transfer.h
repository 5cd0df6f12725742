/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Transfers: work from its acceptance to its final event, and the pump.
 *
 * A transfer goes through lists of its connection, all under the send queue's
 * lock:
 *
 *	fifo ---------> await[COMPLETED] -> await[DELIVERED] -> ... -> final event
 *	(not wholly	(wholly on the	    (acknowledged in the
 *	 posted)	 device)	     order of their seq)
 *
 * Each list is in the order of submission, so an acknowledgement of everything
 * up to a seq takes from the head.
 *
 * The pump posts what slots and credits allow. It is called by submit, by send
 * completions and by the arrival of credits; it never sleeps and never
 * allocates, since everything is mapped, sliceable and reserved before it is
 * accepted. Order of precedence: control messages, registrations and
 * advertisements, acknowledgements, data.
 */
#ifndef KVERBS_TRANSFER_H
#define KVERBS_TRANSFER_H

#include "connection.h"
#include "memory.h"
#include "region.h"

/**
 * struct kverbs_work - the work floor's part of a connection
 * @conn: the connection it is part of
 * @closed: accepts nothing more; this and all up to @advertise is guarded by
 *	the send queue's lock
 * @draining: accepts nothing more, but finishes what it has
 * @fifo: transfers not wholly posted
 * @await: transfers wholly posted, by the moment they wait for
 * @unfinished: transfers without a final event
 * @incomplete: transfers short of COMPLETED
 * @timed: transfers with a time-out that runs
 * @seq: of the last DONE put on the send queue
 * @acked: the peer's acknowledgements, by moment
 * @seen: the highest seq of the peer's DONEs
 * @told: of these, told by DELIVERED
 * @consumed: acknowledged by our program
 * @persisted: the same, on stable storage
 * @want_consumed: CONSUMED is to be sent
 * @regions: struct kverbs_region_own
 * @advertise: those not wholly advertised
 * @remote_lock: guards @known, @remotes, @nr_remotes and @nr_keys; taken by
 *	receive completions, outside of the send queue's lock
 * @known: the program knows the connection
 * @remotes: struct kverbs_region_remote; changed under the send queue's lock too
 * @nr_remotes: how many
 * @nr_keys: their keys
 * @ticking: @tick is queued or runs
 * @tick: watches time-outs and progress while there is work
 */
struct kverbs_work {
	struct kverbs_connection *conn;
	bool closed;
	bool draining;
	struct list_head fifo;
	struct list_head await[KVERBS_MOMENTS];
	u32 unfinished;
	u32 incomplete;
	u32 timed;
	u64 seq;
	u64 acked[KVERBS_MOMENTS];
	u64 seen;
	u64 told;
	u64 consumed;
	u64 persisted;
	bool want_consumed;
	struct list_head regions;
	struct list_head advertise;
	struct mutex remote_lock;	/* see above */
	bool known;
	struct list_head remotes;
	u32 nr_remotes;
	u32 nr_keys;
	bool ticking;
	struct delayed_work tick;
};

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

extern const struct kverbs_connection_ops kverbs_work_ops;

int kverbs_transfer_init(void);
void kverbs_transfer_exit(void);
struct kverbs_transfer *kverbs_transfer_create(struct kverbs_connection *conn,
					       const struct kverbs_item *item,
					       struct kverbs_buffer *buf,
					       struct kverbs_region_remote *remote);
void kverbs_transfer_discard(struct kverbs_transfer *t);
int kverbs_transfer_submit(struct kverbs_connection *conn, struct list_head *batch);
int kverbs_transfer_ack(struct kverbs_connection *conn, u64 seq, bool persisted);
int kverbs_transfer_finish_all(struct kverbs_connection *conn, u32 timeout_ms);

static inline struct kverbs_work *kverbs_conn_work(struct kverbs_connection *conn)
{
	return conn->work;
}

#endif /* KVERBS_TRANSFER_H */
