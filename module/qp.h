/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The queue pair and its completion queues: the only room that posts.
 *
 * Work requests are gathered into a chain (kverbs_qp_next) and handed to the
 * device with one ib_post_send (kverbs_qp_post). Every one holds a slot from
 * then until it is reclaimed; its owner is told exactly once, in order, with
 * its fate. What a post did not take is given back at once as unsent; what it
 * took is live and is awaited.
 *
 * Queue arithmetic, once and for all:
 *
 *	send WRs  = depth (data) + KVERBS_REG_SLOTS + 2 * registrations per
 *		    operation at once + KVERBS_CTRL_SLOTS + 1 (drain)
 *	recv WRs  = KVERBS_CTRL_RECVS + KVERBS_DATA_RECVS + 1 (drain)
 *	send CQEs = send WRs, signaled or not: each has one if it fails
 *	recv CQEs = recv WRs
 */
#ifndef KVERBS_QP_H
#define KVERBS_QP_H

#include <linux/completion.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include <linux/kverbs.h>

#include "device.h"
#include "mr.h"
#include "slice.h"
#include "slots.h"

#define KVERBS_DEPTH		128	/* data slots when none are asked for */
#define KVERBS_DEPTH_MAX	8192	/* data slots that may be asked for */
#define KVERBS_REG_SLOTS	16
#define KVERBS_CTRL_SLOTS	16
#define KVERBS_CTRL_RECVS	16
#define KVERBS_DATA_RECVS	128
#define KVERBS_RECVS		(KVERBS_CTRL_RECVS + KVERBS_DATA_RECVS)
#define KVERBS_CHAIN		32	/* work requests handed over at once */
#define KVERBS_INLINE_MAX	512	/* bytes of an inline write, at most */
#define KVERBS_LOCAL_MRS	128	/* registrations per operation at once, at most */
#define KVERBS_READ_MRS		16	/* the same, where only reads need them */

/**
 * struct kverbs_fate - what became of a work request
 * @status: IB_WC_SUCCESS, or why not
 * @vendor_err: the device's own code beside it
 * @code: positive errno that stands for it, 0 for success
 * @unsent: the device never took it; then @code is the errno of the post
 * @now: CLOCK_MONOTONIC nanoseconds when this was learned
 */
struct kverbs_fate {
	enum ib_wc_status status;
	u32 vendor_err;
	int code;
	bool unsent;
	u64 now;
};

/**
 * struct kverbs_slot_owner - who posted a work request
 * @reclaimed: called once for each, in the order of posting, with the send
 *	queue's lock held; must not post
 */
struct kverbs_slot_owner {
	void (*reclaimed)(struct kverbs_slot_owner *owner, const struct kverbs_fate *fate);
};

struct kverbs_qp;

/**
 * struct kverbs_qp_ops - upcalls; none with a lock held
 * @failed: the queue pair cannot go on; may come more than once, in any context
 * @progress: slots came free; softirq or process context
 * @event: an asynchronous event of the queue pair; any context
 */
struct kverbs_qp_ops {
	void (*failed)(struct kverbs_qp *qp, const struct kverbs_error *why);
	void (*progress)(struct kverbs_qp *qp);
	void (*event)(struct kverbs_qp *qp, enum ib_event_type event);
};

/**
 * struct kverbs_wr - a work request being built
 * @rdma: as a write or read
 * @atomic: as an atomic
 * @reg: as a registration
 * @send: as a send, and what all of them have in common
 * @index: its slot
 * @sge: its gather elements
 */
struct kverbs_wr {
	union {
		struct ib_rdma_wr rdma;
		struct ib_atomic_wr atomic;
		struct ib_reg_wr reg;
		struct ib_send_wr send;
	};
	u32 index;
	struct ib_sge sge[KVERBS_SLICE_SGE];
};

/**
 * struct kverbs_wqe - the completion entry of one slot
 * @cqe: names it to the device
 * @qp: whose
 */
struct kverbs_wqe {
	struct ib_cqe cqe;
	struct kverbs_qp *qp;
};

/**
 * struct kverbs_drain - marks the end of a queue
 * @cqe: of the marker
 * @done: it came out, so everything before it did
 */
struct kverbs_drain {
	struct ib_cqe cqe;
	struct completion done;
};

/**
 * struct kverbs_qp - one queue pair
 * @dev: the device, held by whoever owns this
 * @pd: of its own: no key of another connection is good here
 * @qp: NULL until attached
 * @qpn: its number
 * @send_cq: polled as asked for
 * @recv_cq: always polled in a workqueue
 * @ops: upcalls
 * @lock: guards the send queue: @slots, @chain, @nr_chain, @fenced,
 *	@last_progress, @counters, and whatever the floors above feed it with.
 *	Taken with bottom halves off; the event queue's lock nests inside
 * @slots: one per work request
 * @wqe: completion entry per slot
 * @chain: work requests being gathered
 * @nr_chain: how many
 * @fenced: posts nothing any more
 * @stuck: the provider did not give it back: what it may touch stays pinned
 * @poll_lock: held while IB_POLL_DIRECT's queue is polled, and while it goes
 * @limits: what a piece of a write may be
 * @read_limits: of a read
 * @locals: registrations per operation, none where nothing needs them; their
 *	list is guarded by @lock
 * @reg: every piece goes through one
 * @max_inline: bytes of an inline write that were asked for
 * @depth: data slots
 * @poll: enum kverbs_poll
 * @asked: capacities asked for
 * @actual: capacities given
 * @last_progress: jiffies of the last completion, or of the first post after
 *	the queue was empty
 * @counters: what happened
 * @sq_drain: marker of the send queue
 * @rq_drain: marker of the receive queue
 */
struct kverbs_qp {
	struct kverbs_dev *dev;
	struct ib_pd *pd;
	struct ib_qp *qp;
	u32 qpn;
	struct ib_cq *send_cq;
	struct ib_cq *recv_cq;
	const struct kverbs_qp_ops *ops;
	spinlock_t lock;		/* see above */
	struct kverbs_slots slots;
	struct kverbs_wqe *wqe;
	struct kverbs_wr *chain;
	u32 nr_chain;
	bool fenced;
	bool stuck;
	struct mutex poll_lock;		/* see above */
	struct kverbs_slice_limits limits;
	struct kverbs_slice_limits read_limits;
	struct kverbs_mr_pool locals;
	bool reg;
	u32 max_inline;
	u32 depth;
	u32 poll;
	struct kverbs_caps asked;
	struct kverbs_caps actual;
	unsigned long last_progress;
	struct kverbs_counters counters;
	struct kverbs_drain sq_drain;
	struct kverbs_drain rq_drain;
};

void kverbs_qp_init(struct kverbs_qp *qp, const struct kverbs_qp_ops *ops);
int kverbs_qp_alloc(struct kverbs_qp *qp, struct kverbs_dev *dev, u32 depth,
		    const struct kverbs_conn_attr *conn);
void kverbs_qp_attr(struct kverbs_qp *qp, struct ib_qp_init_attr *attr);
void kverbs_qp_attach(struct kverbs_qp *qp, struct ib_qp *ibqp, const struct ib_qp_cap *cap);
struct kverbs_wr *kverbs_qp_next(struct kverbs_qp *qp, enum kverbs_slot_class class,
				 struct kverbs_slot_owner *owner);
void kverbs_qp_poll(struct kverbs_qp *qp);
u32 kverbs_qp_room(struct kverbs_qp *qp, enum kverbs_slot_class class);
int kverbs_qp_post(struct kverbs_qp *qp);
int kverbs_qp_post_recv(struct kverbs_qp *qp, const struct ib_recv_wr *wr);
void kverbs_qp_fence(struct kverbs_qp *qp);
bool kverbs_qp_drain(struct kverbs_qp *qp, unsigned long timeout);
void kverbs_qp_walk(struct kverbs_qp *qp);
int kverbs_qp_destroy(struct kverbs_qp *qp);
void kverbs_qp_free(struct kverbs_qp *qp);
int kverbs_wc_errno(enum ib_wc_status status);

#endif /* KVERBS_QP_H */
