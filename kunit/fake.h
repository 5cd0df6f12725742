/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A fake provider: an RDMA device that does what a test tells it.
 *
 * Work requests that are posted wait in their queue until the test completes
 * them (fake_complete()), or until the queue pair goes to the error state, which
 * flushes them; unless flushes are held back, then they come when the test says
 * so (fake_flush()). Everything posted is kept for the test to look at.
 *
 * It is strict where real devices are silent: a queue that gets more than it
 * was made for counts an overrun instead of dropping it. It is unhelpful where
 * real devices are: a failed completion carries nothing right but wr_cqe, status
 * and queue pair.
 */
#ifndef KVERBS_KUNIT_FAKE_H
#define KVERBS_KUNIT_FAKE_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#define FAKE_POSTED	512		/* work requests kept */
#define FAKE_SGE	4		/* gather elements of one */
#define FAKE_LKEY	0x10c4		/* local_dma_lkey */
#define FAKE_QPN	7

/* Bits of struct fake_device's hold_flush. */
#define FAKE_SQ		1
#define FAKE_RQ		2

/**
 * struct fake_wr - a work request that was posted; all but the last two as posted
 * @opcode: what it is
 * @flags: IB_SEND_*
 * @cqe: names its completion
 * @nr_sge: gather elements
 * @sge: they
 * @remote_addr: RDMA and atomics: where
 * @rkey: and under which key
 * @imm: of a write with immediate
 * @invalidate: key that an invalidation, or a read, invalidates
 * @compare_add: of an atomic
 * @swap: of an atomic
 * @mr: that a registration registers
 * @key: under which key
 * @access: and for what
 * @post: by which call of ib_post_send, counted from 1
 * @early: has had its completion, before its turn
 */
struct fake_wr {
	enum ib_wr_opcode opcode;
	int flags;
	struct ib_cqe *cqe;
	int nr_sge;
	struct ib_sge sge[FAKE_SGE];
	u64 remote_addr;
	u32 rkey;
	u32 imm;
	u32 invalidate;
	u64 compare_add;
	u64 swap;
	struct ib_mr *mr;
	u32 key;
	int access;
	u32 post;
	bool early;
};

/**
 * struct fake_queue - one of the two queues of a queue pair
 * @wr: everything the device accepted, in the order of posting
 * @posted: how many
 * @completed: how many of them have left the queue
 * @size: capacity asked for
 * @cq: gets its completions
 */
struct fake_queue {
	struct fake_wr wr[FAKE_POSTED];
	u32 posted;
	u32 completed;
	u32 size;
	struct fake_cq *cq;
};

/**
 * struct fake_qp - a queue pair
 * @ib: for the core
 * @lock: guards all below and the knobs
 * @state: as modified
 * @sq: send queue
 * @rq: receive queue
 */
struct fake_qp {
	struct ib_qp ib;
	spinlock_t lock;		/* see above */
	enum ib_qp_state state;
	struct fake_queue sq;
	struct fake_queue rq;
};

/**
 * struct fake_cq - a completion queue
 * @ib: for the core
 * @lock: guards all below; nests in a queue pair's
 * @wc: ring of completions, @ib.cqe of them
 * @head: completions written
 * @tail: completions polled
 * @armed: tells of the next one
 */
struct fake_cq {
	struct ib_cq ib;
	spinlock_t lock;		/* see above */
	struct ib_wc *wc;
	u32 head;
	u32 tail;
	bool armed;
};

/**
 * struct fake_mr - a memory region; it covers what it is told
 * @ib: for the core
 */
struct fake_mr {
	struct ib_mr ib;
};

/**
 * struct fake_device - the device
 * @ib: for the core
 * @max_qp_wr: limit it reports
 * @max_cqe: limit it reports
 * @fail_post: the so-manyth work request of the next posts is refused, 1 = the
 *	first; 0 = none
 * @bad_wr_untouched: a refused post does not say where it stopped
 * @hold_flush: queues that the error state does not flush before fake_flush()
 * @fail_modify: ib_modify_qp() fails
 * @fail_destroy: ib_destroy_qp() fails
 * @sq_posts: calls of ib_post_send
 * @mrs: memory regions made, of which no two get the same key
 * @overruns: queues that got more than they were made for
 */
struct fake_device {
	struct ib_device ib;
	u32 max_qp_wr;
	u32 max_cqe;
	u32 fail_post;
	bool bad_wr_untouched;
	u32 hold_flush;
	bool fail_modify;
	bool fail_destroy;
	u32 sq_posts;
	u32 mrs;
	atomic_t overruns;
};

struct fake_device *fake_create(u32 max_qp_wr, u32 max_cqe);
void fake_destroy(struct fake_device *dev);
struct fake_qp *fake_qp(struct ib_qp *qp);
u32 fake_complete(struct fake_qp *qp, u32 nr, enum ib_wc_status status);
void fake_complete_early(struct fake_qp *qp, u32 nth);
void fake_forget(struct fake_qp *qp);
void fake_flush(struct fake_qp *qp);

#endif /* KVERBS_KUNIT_FAKE_H */
