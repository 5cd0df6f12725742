/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work: the work floor's part of a connection, and the pump.
 *
 * A transfer goes through lists of its connection, all under the send queue's
 * lock:
 *
 *	fifo ------------------------> await[DELIVERED] -> ... -> final event
 *	(short of COMPLETED; from      (acknowledged in the
 *	 @unposted on not wholly	order of their seq)
 *	 on the device)
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
#ifndef KVERBS_WORK_H
#define KVERBS_WORK_H

#include "connection.h"

struct kverbs_batch;

/**
 * struct kverbs_work - the work floor's part of a connection
 * @conn: the connection it is part of
 * @closed: accepts nothing more; this and all up to @advertise is guarded by
 *	the send queue's lock
 * @draining: accepts nothing more, but finishes what it has
 * @fifo: transfers short of COMPLETED
 * @unposted: in @fifo, the first that is not wholly posted; @fifo itself if all are
 * @last_fill: jiffies when one of @fifo last got on
 * @await: transfers that are COMPLETED, by the moment they wait for
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
 * @remote_lock: guards @known, @early, @remotes, @nr_remotes and @nr_keys; taken
 *	by receive completions, outside of the send queue's lock
 * @known: the program knows the connection
 * @early: events of struct kverbs_recv that came before that: a peer nobody was
 *	told of leaves nothing in the event queue
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
	struct list_head *unposted;
	unsigned long last_fill;
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
	struct list_head early;
	struct list_head remotes;
	u32 nr_remotes;
	u32 nr_keys;
	bool ticking;
	struct delayed_work tick;
};

extern const struct kverbs_connection_ops kverbs_work_ops;

int kverbs_work_submit(struct kverbs_connection *conn, struct kverbs_batch *batch);
int kverbs_work_ack(struct kverbs_connection *conn, u64 seq, bool persisted);
int kverbs_work_finish(struct kverbs_connection *conn, u32 timeout_ms);
void kverbs_work_advance(struct kverbs_work *work, u64 now);

static inline struct kverbs_work *kverbs_conn_work(struct kverbs_connection *conn)
{
	return conn->work;
}

#endif /* KVERBS_WORK_H */
