// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue pair: posting, reclaiming, draining. See qp.h.
 *
 * Normal operation: the pump of the floor above takes the lock, gathers a chain
 * with kverbs_qp_next() and posts it. The last of a chain is signaled, and at
 * the latest every half queue one is (on iWARP all are: siw sends unsignaled
 * payloads by page reference, so a later completion proves nothing about them).
 * A completion reclaims its slot and every unsignaled one before it.
 *
 * On error only wr_cqe and status of a completion are trusted. The unsignaled slots
 * before the failed one succeeded (an RC send queue completes in order); the ones
 * after it are flushed one by one, signaled or not.
 *
 * A post that fails leaves a live prefix. When the provider says where it
 * stopped (bad_wr), the rest is given back at once, as unsent. When it does not
 * (rxe since 6.12 returns -EINVAL without writing bad_wr when the queue pair is
 * not valid), everything is treated as live until the drain. Nothing is posted
 * after a failed post.
 *
 * The drain is ours rather than ib_drain_qp(), which waits without bound: the
 * queue pair goes to the error state, a marker is posted to each queue, and when
 * both markers have come out everything else has. If they do not within the
 * bound, destroying the queue pair is the barrier: a provider must not touch
 * memory after ib_destroy_qp() returned. What is left then is walked.
 */
#include <linux/ktime.h>
#include <linux/slab.h>

#include "qp.h"
#include "trace.h"

#define KVERBS_POLL_BUDGET	256	/* completions at one look */

/**
 * kverbs_wc_errno() - the errno that stands for a completion status
 * @status: of a work completion
 *
 * Context: Any.
 * Return: -errno, 0 for success.
 */
int kverbs_wc_errno(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_SUCCESS:
		return 0;
	case IB_WC_WR_FLUSH_ERR:
		return -ECONNRESET;
	case IB_WC_RETRY_EXC_ERR:
	case IB_WC_RNR_RETRY_EXC_ERR:
	case IB_WC_RESP_TIMEOUT_ERR:
		return -ETIMEDOUT;
	case IB_WC_REM_ACCESS_ERR:
	case IB_WC_LOC_ACCESS_ERR:
	case IB_WC_LOC_PROT_ERR:
		return -EACCES;
	case IB_WC_REM_INV_REQ_ERR:
	case IB_WC_REM_OP_ERR:
	case IB_WC_REM_ABORT_ERR:
		return -EREMOTEIO;
	default:
		return -EIO;
	}
}

/**
 * kverbs_qp_init() - begin, with nothing allocated
 * @qp: zeroed memory
 * @ops: upcalls
 *
 * Context: Any.
 */
void kverbs_qp_init(struct kverbs_qp *qp, const struct kverbs_qp_ops *ops)
{
	qp->ops = ops;
	spin_lock_init(&qp->lock);
	mutex_init(&qp->poll_lock);
	kverbs_mr_pool_begin(&qp->locals);
	init_completion(&qp->sq_drain.done);
	init_completion(&qp->rq_drain.done);
}

/* A completion error as a first cause; a flush means someone else ended it. */
static void kverbs_qp_report(struct kverbs_qp *qp, enum kverbs_step step,
			     const struct ib_wc *wc)
{
	struct kverbs_error why = {
		.step = wc->status == IB_WC_WR_FLUSH_ERR ? KVERBS_STEP_PEER : step,
		.code = -kverbs_wc_errno(wc->status),
		.wc_status = wc->status,
		.vendor_err = wc->vendor_err,
	};

	qp->ops->failed(qp, &why);
}

static void kverbs_qp_pop(struct kverbs_qp *qp, const struct kverbs_fate *fate)
{
	struct kverbs_slot *slot = kverbs_slots_pop(&qp->slots);

	if (slot->owner)
		slot->owner->reclaimed(slot->owner, fate);
}

/* The oldest slot's own completion says @slot->status. */
static void kverbs_qp_pop_failed(struct kverbs_qp *qp, const struct kverbs_slot *slot, u64 now)
{
	const struct kverbs_fate fate = {
		.status = slot->status,
		.vendor_err = slot->vendor_err,
		.code = -kverbs_wc_errno(slot->status),
		.now = now,
	};

	kverbs_qp_pop(qp, &fate);
}

/*
 * A completion has come for @index: reclaim it with what it says, and the
 * unsignaled ones before it as successful; but never one before its time.
 */
static void kverbs_qp_reclaim(struct kverbs_qp *qp, u32 index, const struct ib_wc *wc)
{
	const struct kverbs_fate success = { .status = IB_WC_SUCCESS, .now = ktime_get_ns() };
	struct kverbs_slot *slot = &qp->slots.slot[index];

	lockdep_assert_held(&qp->lock);
	slot->done = true;
	slot->status = wc->status;
	slot->vendor_err = wc->status ? wc->vendor_err : 0;
	qp->counters.flushed += wc->status == IB_WC_WR_FLUSH_ERR;
	while (kverbs_slots_due(&qp->slots, index)) {
		slot = &qp->slots.slot[qp->slots.tail];
		if (likely(!slot->status))
			kverbs_qp_pop(qp, &success);
		else
			kverbs_qp_pop_failed(qp, slot, success.now);
	}
	qp->last_progress = jiffies;
}

static void kverbs_qp_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kverbs_wqe *wqe = container_of(wc->wr_cqe, struct kverbs_wqe, cqe);
	struct kverbs_qp *qp = wqe->qp;
	u32 index = wqe - qp->wqe;

	trace_kverbs_send_done(qp->qpn, index, wc->status);
	spin_lock_bh(&qp->lock);
	if (kverbs_slots_holds(&qp->slots, index))
		kverbs_qp_reclaim(qp, index, wc);
	spin_unlock_bh(&qp->lock);

	if (unlikely(wc->status))
		kverbs_qp_report(qp, KVERBS_STEP_SEND, wc);
	else
		qp->ops->progress(qp);
}

static void kverbs_qp_drain_done(struct ib_cq *cq, struct ib_wc *wc)
{
	complete(&container_of(wc->wr_cqe, struct kverbs_drain, cqe)->done);
}

static void kverbs_qp_event(struct ib_event *event, void *context)
{
	struct kverbs_qp *qp = context;

	qp->ops->event(qp, event->event);
}

/* Data slots that this device can give, at least one. */
static u32 kverbs_qp_clamp(struct kverbs_dev *dev, u32 depth)
{
	u32 extra = KVERBS_REG_SLOTS + KVERBS_CTRL_SLOTS + 1;
	u32 most = min_t(u32, dev->ib->attrs.max_qp_wr, dev->ib->attrs.max_cqe);

	return clamp_t(u32, depth, 1, most > extra ? most - extra : 1);
}

/* Registrations per operation that a queue of this depth can use. */
static u32 kverbs_qp_locals(const struct kverbs_qp *qp)
{
	if (!qp->dev->fast_reg_pages)
		return 0;
	if (qp->reg)
		return min_t(u32, qp->depth, KVERBS_LOCAL_MRS);
	return qp->dev->iwarp ? min_t(u32, qp->depth, KVERBS_READ_MRS) : 0;
}

static enum ib_poll_context kverbs_qp_context(u32 poll)
{
	switch (poll) {
	case KVERBS_POLL_WORKQUEUE:
		return IB_POLL_WORKQUEUE;
	case KVERBS_POLL_UNBOUND:
		return IB_POLL_UNBOUND_WORKQUEUE;
	case KVERBS_POLL_DIRECT:
		return IB_POLL_DIRECT;
	default:
		return IB_POLL_SOFTIRQ;
	}
}

static int kverbs_qp_alloc_cqs(struct kverbs_qp *qp, const struct kverbs_conn_attr *conn)
{
	enum ib_poll_context poll = kverbs_qp_context(qp->poll);
	struct ib_device *ib = qp->dev->ib;
	struct ib_cq *cq;

	if (conn->flags & KVERBS_CONN_CPU)
		cq = ib_alloc_cq(ib, qp, qp->asked.send_cqe,
				 conn->cpu % ib->num_comp_vectors, poll);
	else
		cq = ib_alloc_cq_any(ib, qp, qp->asked.send_cqe, poll);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	qp->send_cq = cq;

	cq = ib_alloc_cq_any(ib, qp, qp->asked.recv_cqe, IB_POLL_WORKQUEUE);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	qp->recv_cq = cq;
	return 0;
}

static int kverbs_qp_alloc_wqes(struct kverbs_qp *qp)
{
	u32 i;

	qp->wqe = kvcalloc(qp->slots.size, sizeof(*qp->wqe), GFP_KERNEL_ACCOUNT);
	/* One more than is ever used, so that each has a next. */
	qp->chain = kvcalloc(KVERBS_CHAIN + 1, sizeof(*qp->chain), GFP_KERNEL_ACCOUNT);
	if (!qp->wqe || !qp->chain)
		return -ENOMEM;
	/* What never changes of a chain: its order, and where its elements are. */
	for (i = 0; i < KVERBS_CHAIN; i++) {
		qp->chain[i].send.next = &qp->chain[i + 1].send;
		qp->chain[i].send.sg_list = qp->chain[i].sge;
	}
	for (i = 0; i < qp->slots.size; i++) {
		qp->wqe[i].cqe.done = kverbs_qp_send_done;
		qp->wqe[i].qp = qp;
	}
	return 0;
}

/**
 * kverbs_qp_alloc() - slots, protection domain and completion queues
 * @qp: initialised
 * @dev: held by the caller for as long as @qp has anything
 * @depth: data slots asked for
 * @conn: what else is asked for, checked
 *
 * On error what was made stays, for kverbs_qp_free().
 *
 * Context: Process context, may sleep.
 * Return: 0 or -errno.
 */
int kverbs_qp_alloc(struct kverbs_qp *qp, struct kverbs_dev *dev, u32 depth,
		    const struct kverbs_conn_attr *conn)
{
	u32 limit[KVERBS_SLOT_CLASSES];
	struct ib_pd *pd;
	int ret;

	qp->dev = dev;
	qp->poll = conn->poll;
	qp->reg = conn->flags & KVERBS_CONN_REG;
	qp->max_inline = conn->max_inline;
	if (qp->reg && !dev->fast_reg_pages)
		return -EOPNOTSUPP;
	qp->depth = kverbs_qp_clamp(dev, depth);
	limit[KVERBS_SLOT_DATA] = qp->depth;
	limit[KVERBS_SLOT_REG] = KVERBS_REG_SLOTS + 2 * kverbs_qp_locals(qp);
	limit[KVERBS_SLOT_CONTROL] = KVERBS_CTRL_SLOTS;
	ret = kverbs_slots_init(&qp->slots, limit, dev->iwarp);
	if (ret)
		return ret;

	qp->asked.send_wr = qp->slots.size + 1;
	qp->asked.recv_wr = KVERBS_RECVS + 1;
	qp->asked.send_sge = dev->max_sge;
	qp->asked.send_cqe = qp->asked.send_wr;
	qp->asked.recv_cqe = qp->asked.recv_wr;
	qp->asked.max_inline = qp->max_inline;
	qp->limits.max_bytes = min3(dev->max_msg, (u32)SZ_1M, conn->wr_ceiling ?: (u32)SZ_1M);

	ret = kverbs_qp_alloc_wqes(qp);
	if (ret)
		return ret;
	pd = ib_alloc_pd(dev->ib, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	qp->pd = pd;
	ret = kverbs_mr_pool_init(&qp->locals, pd, dev, kverbs_qp_locals(qp),
				  qp->limits.max_bytes);
	return ret ?: kverbs_qp_alloc_cqs(qp, conn);
}

/**
 * kverbs_qp_attr() - what to ask for when the queue pair is created
 * @qp: allocated
 * @attr: filled in
 *
 * Context: Any.
 */
void kverbs_qp_attr(struct kverbs_qp *qp, struct ib_qp_init_attr *attr)
{
	*attr = (struct ib_qp_init_attr) {
		.event_handler = kverbs_qp_event,
		.qp_context = qp,
		.send_cq = qp->send_cq,
		.recv_cq = qp->recv_cq,
		.cap = {
			.max_send_wr = qp->asked.send_wr,
			.max_recv_wr = qp->asked.recv_wr,
			.max_send_sge = qp->asked.send_sge,
			.max_recv_sge = 1,
			.max_inline_data = qp->max_inline,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
}

/**
 * kverbs_qp_attach() - take over a queue pair made with kverbs_qp_attr()
 * @qp: allocated
 * @ibqp: the queue pair, ours to destroy from now on
 * @cap: capacities as the provider gave them
 *
 * Context: Process context.
 */
void kverbs_qp_attach(struct kverbs_qp *qp, struct ib_qp *ibqp, const struct ib_qp_cap *cap)
{
	qp->qpn = ibqp->qp_num;
	qp->actual.send_wr = cap->max_send_wr;
	qp->actual.recv_wr = cap->max_recv_wr;
	qp->actual.send_sge = cap->max_send_sge;
	qp->actual.send_cqe = qp->send_cq->cqe;
	qp->actual.recv_cqe = qp->recv_cq->cqe;
	/* Some give more than was asked for; what was not asked for is not used. */
	qp->actual.max_inline = min(cap->max_inline_data, qp->max_inline);
	qp->limits.max_sge = qp->dev->max_sge;
	qp->limits.lkey = qp->pd->local_dma_lkey;
	qp->read_limits = qp->limits;
	qp->read_limits.max_sge = qp->dev->max_read_sge;

	spin_lock_bh(&qp->lock);
	qp->qp = ibqp;
	spin_unlock_bh(&qp->lock);
}

/**
 * kverbs_qp_poll() - look at a send completion queue that nobody else polls
 * @qp: the queue pair; nothing happens unless it is polled directly
 *
 * One at a time: ib_process_cq_direct() takes no lock. Who comes second goes
 * away, since someone else is looking.
 *
 * Context: Process context; runs completions.
 */
void kverbs_qp_poll(struct kverbs_qp *qp)
{
	if (qp->poll != KVERBS_POLL_DIRECT || !mutex_trylock(&qp->poll_lock))
		return;
	if (qp->send_cq)
		ib_process_cq_direct(qp->send_cq, KVERBS_POLL_BUDGET);
	mutex_unlock(&qp->poll_lock);
}

/**
 * kverbs_qp_room() - work requests of a class that can be added now
 * @qp: the queue pair
 * @class: which class
 *
 * Context: Send queue lock held.
 * Return: how many, bounded by the class, the ring and the chain.
 */
u32 kverbs_qp_room(struct kverbs_qp *qp, enum kverbs_slot_class class)
{
	lockdep_assert_held(&qp->lock);
	return min_t(u32, kverbs_slots_room(&qp->slots, class),
		     KVERBS_CHAIN - qp->nr_chain);
}

/**
 * kverbs_qp_next() - add a work request to the chain
 * @qp: the queue pair
 * @class: its slot's class; there is room (kverbs_qp_room())
 * @owner: told when it is reclaimed; NULL if nobody cares
 *
 * The caller sets opcode, num_sge and all that its opcode has beside these; it may
 * add flags, and ask for a signal with them.
 *
 * Context: Send queue lock held.
 * Return: the work request, with no flags yet.
 */
struct kverbs_wr *kverbs_qp_next(struct kverbs_qp *qp, enum kverbs_slot_class class,
				 struct kverbs_slot_owner *owner)
{
	struct kverbs_wr *wr = &qp->chain[qp->nr_chain++];

	lockdep_assert_held(&qp->lock);
	wr->index = kverbs_slots_take(&qp->slots, class, owner);
	wr->send.wr_cqe = &qp->wqe[wr->index].cqe;
	wr->send.send_flags = 0;
	return wr;
}

/* Signal what asks for it, the last, and one in so many. */
static void kverbs_qp_signal(struct kverbs_qp *qp)
{
	struct kverbs_wr *wr = qp->chain, *last = &qp->chain[qp->nr_chain - 1];

	for (; wr <= last; wr++) {
		if (!kverbs_slots_signal(&qp->slots, wr->index,
					 wr == last || wr->send.send_flags & IB_SEND_SIGNALED))
			continue;
		wr->send.send_flags |= IB_SEND_SIGNALED;
		qp->counters.signaled++;
	}
}

/* The rest from @bad on was not taken: give it back, oldest first. */
static u32 kverbs_qp_give_back(struct kverbs_qp *qp, const struct ib_send_wr *bad, int code)
{
	struct kverbs_fate fate = {
		.status = IB_WC_GENERAL_ERR,
		.code = code == ENOTCONN ? ECONNRESET : code,
		.unsent = true,
		.now = ktime_get_ns(),
	};
	u32 i, first = 0;

	while (first < qp->nr_chain && &qp->chain[first].send != bad)
		first++;
	for (i = first; i < qp->nr_chain; i++) {
		struct kverbs_slot *slot = &qp->slots.slot[qp->chain[i].index];

		if (slot->owner)
			slot->owner->reclaimed(slot->owner, &fate);
	}
	kverbs_slots_untake(&qp->slots, qp->nr_chain - first);
	return first;
}

/**
 * kverbs_qp_post() - hand the chain to the device
 * @qp: the queue pair
 *
 * An empty chain is fine. After an error nothing is ever posted again; the
 * caller reports it once the lock is dropped.
 *
 * Context: Send queue lock held.
 * Return: 0, or the provider's -errno.
 */
int kverbs_qp_post(struct kverbs_qp *qp)
{
	const struct ib_send_wr *bad = NULL;
	u32 posted = qp->nr_chain;
	struct ib_send_wr *last;
	int ret;

	lockdep_assert_held(&qp->lock);
	if (!posted)
		return 0;
	if (kverbs_slots_outstanding(&qp->slots) == posted)
		qp->last_progress = jiffies;
	kverbs_qp_signal(qp);
	last = &qp->chain[posted - 1].send;
	last->next = NULL;
	ret = ib_post_send(qp->qp, &qp->chain[0].send, &bad);
	last->next = &qp->chain[posted].send;
	if (unlikely(ret)) {
		qp->fenced = true;
		qp->counters.partial_posts++;
		if (bad)
			posted = kverbs_qp_give_back(qp, bad, -ret);
	}
	qp->counters.posts++;
	qp->counters.wrs += posted;
	trace_kverbs_post(qp->qpn, posted, ret);
	qp->nr_chain = 0;
	return ret;
}

/**
 * kverbs_qp_post_recv() - post receives
 * @qp: the queue pair
 * @wr: one or a chain
 *
 * Context: Any but hard interrupt.
 * Return: 0 or the provider's -errno: then some may have been posted, and all
 * are awaited by the drain.
 */
int kverbs_qp_post_recv(struct kverbs_qp *qp, const struct ib_recv_wr *wr)
{
	return ib_post_recv(qp->qp, wr, NULL);
}

/**
 * kverbs_qp_fence() - post nothing from now on
 * @qp: the queue pair
 *
 * Context: Any but hard interrupt.
 */
void kverbs_qp_fence(struct kverbs_qp *qp)
{
	spin_lock_bh(&qp->lock);
	qp->fenced = true;
	spin_unlock_bh(&qp->lock);
}

static int kverbs_qp_post_markers(struct kverbs_qp *qp)
{
	struct ib_rdma_wr send = {
		.wr = {
			.wr_cqe = &qp->sq_drain.cqe,
			.opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
		},
	};
	struct ib_recv_wr recv = { .wr_cqe = &qp->rq_drain.cqe };
	int ret;

	qp->sq_drain.cqe.done = kverbs_qp_drain_done;
	qp->rq_drain.cqe.done = kverbs_qp_drain_done;
	ret = ib_post_send(qp->qp, &send.wr, NULL);
	return ret ?: ib_post_recv(qp->qp, &recv, NULL);
}

/* Where nobody polls, do it while waiting. */
static unsigned long kverbs_qp_drain_wait(struct kverbs_qp *qp, unsigned long timeout)
{
	unsigned long until = jiffies + timeout;

	if (qp->poll != KVERBS_POLL_DIRECT)
		return wait_for_completion_timeout(&qp->sq_drain.done, timeout);
	while (!wait_for_completion_timeout(&qp->sq_drain.done, 1)) {
		if (time_after(jiffies, until))
			return 0;
		kverbs_qp_poll(qp);
	}
	return max_t(long, until - jiffies, 1);
}

/**
 * kverbs_qp_drain() - flush everything out of both queues
 * @qp: fenced; nobody posts receives any more
 * @timeout: jiffies to wait
 *
 * Context: Process context, may sleep; never from a completion.
 * Return: true when nothing is on the device any more, false when it did not
 * say so in time: then only kverbs_qp_destroy() is a barrier.
 */
bool kverbs_qp_drain(struct kverbs_qp *qp, unsigned long timeout)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	int ret;

	if (!qp->qp)
		return true;
	ret = ib_modify_qp(qp->qp, &attr, IB_QP_STATE);
	if (!ret)
		ret = kverbs_qp_post_markers(qp);
	if (ret)
		return false;
	timeout = kverbs_qp_drain_wait(qp, timeout);
	return timeout && wait_for_completion_timeout(&qp->rq_drain.done, timeout);
}

/**
 * kverbs_qp_walk() - tell the owners of what is left on the send queue
 * @qp: drained, or destroyed
 *
 * Nothing is on the device any more. Slots that had no completion of their own
 * are given up as flushed.
 *
 * Context: Any but hard interrupt.
 */
void kverbs_qp_walk(struct kverbs_qp *qp)
{
	const struct kverbs_fate flushed = {
		.status = IB_WC_WR_FLUSH_ERR,
		.code = -kverbs_wc_errno(IB_WC_WR_FLUSH_ERR),
		.now = ktime_get_ns(),
	};
	const struct kverbs_fate success = { .status = IB_WC_SUCCESS, .now = flushed.now };
	const struct kverbs_slot *slot;

	spin_lock_bh(&qp->lock);
	while (kverbs_slots_outstanding(&qp->slots)) {
		slot = &qp->slots.slot[qp->slots.tail];
		if (!slot->done)
			kverbs_qp_pop(qp, &flushed);
		else if (slot->status)
			kverbs_qp_pop_failed(qp, slot, flushed.now);
		else
			kverbs_qp_pop(qp, &success);
	}
	spin_unlock_bh(&qp->lock);
}

/**
 * kverbs_qp_destroy() - destroy the queue pair and its completion queues
 * @qp: fenced
 *
 * When it returns 0 the device touches nothing any more and no completion
 * handler runs or will run.
 *
 * Context: Process context, may sleep.
 * Return: 0, or the provider's -errno: then everything must stay as it is.
 */
int kverbs_qp_destroy(struct kverbs_qp *qp)
{
	int ret;

	if (qp->qp) {
		ret = ib_destroy_qp(qp->qp);
		qp->stuck = ret;
		if (ret)
			return ret;
		qp->qp = NULL;
	}
	mutex_lock(&qp->poll_lock);
	if (qp->send_cq)
		ib_free_cq(qp->send_cq);
	qp->send_cq = NULL;
	mutex_unlock(&qp->poll_lock);
	if (qp->recv_cq)
		ib_free_cq(qp->recv_cq);
	qp->recv_cq = NULL;
	return 0;
}

/**
 * kverbs_qp_free() - give the rest back
 * @qp: destroyed, and everything registered in its domain too
 *
 * Context: Process context, may sleep.
 */
void kverbs_qp_free(struct kverbs_qp *qp)
{
	kverbs_mr_pool_fini(&qp->locals);
	if (qp->pd)
		ib_dealloc_pd(qp->pd);
	qp->pd = NULL;
	kvfree(qp->wqe);
	kvfree(qp->chain);
	qp->wqe = NULL;
	qp->chain = NULL;
	kverbs_slots_fini(&qp->slots);
}
