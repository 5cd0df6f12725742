// SPDX-License-Identifier: GPL-2.0-only
/*
 * The floor of the benchmark: prebuilt work requests and a bare ib_post_send().
 * See kverbs_raw.h for what a run is.
 *
 * A run lives in one call of the ioctl. Its thread makes the connection step by
 * step and waits for each; the handlers of the connection manager only tell how
 * far things are. Both ends are here, on one host, on the device that has the
 * address. The memory of the target is registered once, that of the initiator is
 * named by the domain's local key.
 *
 * The work requests are built before the first is posted and never change: a ring
 * of chains over the same two buffers. The thread posts each chain of the ring
 * once; from then on a chain is posted again by the completion of its last work
 * request, in whatever context completions come, and the thread sleeps until the
 * last. No lock, no list, no wakeup between two operations: a client of the
 * provider cannot do less. With IB_POLL_DIRECT completions come in the thread,
 * which spins. With KVERBS_RAW_BH every post is the thread's, bottom halves off,
 * and each completion wakes it: what one operation at a time costs at best.
 *
 * A completion queue calls one done() at a time. So what done() changes while
 * work is under way (@left, @completed, the ring) is done()'s alone; the thread
 * sets it up when nothing is, and reads @completed.
 *
 * The end: @error keeps the first of what went wrong, and fences: nothing is
 * posted after it is set, except by a done() that looked just before. The drain's
 * marker comes out after that done(), whose chain may be behind the marker; a
 * second drain takes it out. Nothing waits for user space, so a device that goes
 * away (RDMA_CM_EVENT_DEVICE_REMOVAL) waits for a run only until it is torn down.
 */
#include <linux/gfp.h>
#include <linux/math64.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "kverbs_raw.h"

#define RAW_MAX_LENGTH	SZ_4M
#define RAW_MAX_DEPTH	8192
#define RAW_MAX_SAMPLES	SZ_16M
#define RAW_CM_MS	10000
#define RAW_CM_RETRIES	6	/* 7 would be for ever */
#define RAW_BUDGET	64	/* completions between two looks at the signals */

/* How far an end is; in this order. */
enum raw_state {
	RAW_NEW,
	RAW_ADDR,
	RAW_ROUTE,
	RAW_REQUEST,
	RAW_UP,
};

struct raw_end {
	struct raw_run *run;
	enum raw_state state;		/* set by the handler */
	struct rdma_cm_id *id;
	u8 *buf;			/* contiguous: one gather element names it */
	struct scatterlist sg;		/* the same, mapped */
	bool mapped;
	struct ib_pd *pd;
	struct ib_cq *cq;		/* of both queues */
	struct ib_mr *mr;		/* over buf, if it is registered */
	struct ib_cqe step;		/* of what is done once, beside the chains */
};

struct raw_chain {
	struct ib_cqe cqe;		/* of its last work request */
	struct raw_run *run;
	struct ib_rdma_wr *wr;		/* the first one */
	u64 posted;			/* when, for samples */
};

struct raw_run {
	struct kverbs_raw arg;
	enum ib_poll_context poll;	/* of the initiator */
	bool reads;			/* KVERBS_RAW_READ */
	bool by_thread;			/* KVERBS_RAW_BH */
	wait_queue_head_t wait;		/* where the thread waits for everything */
	int error;			/* the first; nothing is posted any more */
	struct rdma_cm_id *listener;
	struct raw_end initiator;
	struct raw_end target;

	struct ib_qp *qp;		/* of the initiator */
	struct ib_sge sge;		/* the initiator's buffer */
	struct ib_cqe middle;		/* of all but the last of a chain */
	struct raw_chain *chains;
	u32 nr_chains;
	struct ib_rdma_wr *wrs;		/* of all chains */

	u32 total;			/* chains of this phase */
	u32 left;			/* of these, those that done() has yet to post */
	u32 completed;
	u64 end;			/* when the last one had */
	u64 *sample;			/* where this phase's samples go, or NULL */
	u64 *samples;
};

/* By enum kverbs_poll. */
static const enum ib_poll_context raw_polls[] = {
	IB_POLL_SOFTIRQ,
	IB_POLL_WORKQUEUE,
	IB_POLL_UNBOUND_WORKQUEUE,
	IB_POLL_DIRECT,
};

static void raw_fail(struct raw_run *run, int error)
{
	cmpxchg(&run->error, 0, error);
	wake_up(&run->wait);
}

static void raw_wc_failed(struct raw_run *run, const struct ib_wc *wc)
{
	if (wc->status == IB_WC_WR_FLUSH_ERR) {
		raw_fail(run, -ECONNRESET);
		return;
	}
	if (!READ_ONCE(run->error))
		ibdev_warn(wc->qp->device, "kverbs_raw: %s\n", ib_wc_status_msg(wc->status));
	raw_fail(run, wc->status == IB_WC_RETRY_EXC_ERR ? -ETIMEDOUT : -EIO);
}

static void raw_post(struct raw_chain *chain)
{
	struct raw_run *run = chain->run;
	int ret;

	if (run->sample)
		chain->posted = ktime_get_ns();
	ret = ib_post_send(run->qp, &chain->wr->wr, NULL);
	if (unlikely(ret))
		raw_fail(run, ret);
}

/*
 * The last work request of a chain. Once the thread sees that all have completed
 * it may set the next phase up, so that store is the last but the wakeup.
 */
static void raw_chain_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct raw_chain *chain = container_of(wc->wr_cqe, struct raw_chain, cqe);
	struct raw_run *run = chain->run;
	u32 completed = run->completed;
	bool wake;

	if (unlikely(wc->status)) {
		raw_wc_failed(run, wc);
		return;
	}
	if (run->sample && completed < run->arg.nr_samples)
		run->sample[completed] = ktime_get_ns() - chain->posted;
	completed++;
	if (run->left && likely(!READ_ONCE(run->error))) {
		run->left--;
		WRITE_ONCE(run->completed, completed);
		raw_post(chain);
		return;
	}
	wake = run->by_thread;
	if (completed == run->total) {
		run->end = ktime_get_ns();
		wake = true;
	}
	/* Pairs with the load in raw_reached(). */
	smp_store_release(&run->completed, completed);
	if (wake)
		wake_up(&run->wait);
}

static void raw_middle_done(struct ib_cq *cq, struct ib_wc *wc)
{
	if (unlikely(wc->status))
		raw_wc_failed(container_of(wc->wr_cqe, struct raw_run, middle), wc);
}

static void raw_step_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct raw_run *run = container_of(wc->wr_cqe, struct raw_end, step)->run;

	if (wc->status) {
		raw_wc_failed(run, wc);
		return;
	}
	/* Pairs with the load in raw_reached(). */
	smp_store_release(&run->completed, 1);
	wake_up(&run->wait);
}

static bool raw_reached(struct raw_run *run, u32 completed)
{
	/* Pairs with the stores of the done() functions: @end, what was placed. */
	return smp_load_acquire(&run->completed) >= completed || READ_ONCE(run->error);
}

/* Wait until so many have completed: asleep, or as the one who polls. */
static int raw_wait(struct raw_run *run, u32 completed)
{
	if (run->poll != IB_POLL_DIRECT) {
		if (wait_event_killable(run->wait, raw_reached(run, completed)))
			return -EINTR;
		return READ_ONCE(run->error);
	}
	while (!raw_reached(run, completed)) {
		ib_process_cq_direct(run->initiator.cq, RAW_BUDGET);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return READ_ONCE(run->error);
}

/* Every post is the thread's, as far as the ring has room. */
static int raw_drive_by_thread(struct raw_run *run)
{
	u32 i, next = 0;
	int ret = 0;

	for (i = 0; i < run->total && !ret; i++) {
		local_bh_disable();
		raw_post(&run->chains[next]);
		local_bh_enable();
		if (++next == run->nr_chains)
			next = 0;
		if (i + 1 >= run->nr_chains)
			ret = raw_wait(run, i + 2 - run->nr_chains);
	}
	return ret ?: raw_wait(run, run->total);
}

/* Post so many chains and wait for all of them; nothing is under way before. */
static int raw_drive(struct raw_run *run, u32 total)
{
	u32 i, first = min(total, run->nr_chains);

	run->total = total;
	run->completed = 0;
	run->left = 0;
	if (!total)
		return 0;
	if (run->by_thread)
		return raw_drive_by_thread(run);
	run->left = total - first;
	for (i = 0; i < first && !READ_ONCE(run->error); i++)
		raw_post(&run->chains[i]);
	return raw_wait(run, total);
}

static void raw_prepare(struct raw_run *run)
{
	struct ib_mr *sink = run->initiator.mr, *mr = run->target.mr;
	u32 i, chain = run->arg.chain;

	run->qp = run->initiator.id->qp;
	run->sge.addr = sg_dma_address(&run->initiator.sg);
	run->sge.length = run->arg.length;
	run->sge.lkey = sink ? sink->lkey : run->initiator.pd->local_dma_lkey;
	run->middle.done = raw_middle_done;
	for (i = 0; i < run->nr_chains; i++) {
		run->chains[i].cqe.done = raw_chain_done;
		run->chains[i].run = run;
		run->chains[i].wr = &run->wrs[i * chain];
	}
	for (i = 0; i < run->arg.depth; i++) {
		struct ib_rdma_wr *wr = &run->wrs[i];
		u32 at = i % chain + 1;

		wr->wr.next = at < chain ? &run->wrs[i + 1].wr : NULL;
		wr->wr.wr_cqe = at < chain ? &run->middle : &run->chains[i / chain].cqe;
		wr->wr.sg_list = &run->sge;
		wr->wr.num_sge = 1;
		wr->wr.opcode = run->reads ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE;
		wr->wr.send_flags = at % run->arg.signal ? 0 : IB_SEND_SIGNALED;
		wr->remote_addr = mr->iova;
		wr->rkey = mr->rkey;
	}
}

/* Of an end that is up. */
static int raw_register(struct raw_end *end)
{
	struct ib_reg_wr reg = {
		.wr = {
			.wr_cqe = &end->step,
			.opcode = IB_WR_REG_MR,
			.send_flags = IB_SEND_SIGNALED,
		},
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
			  (end->run->reads ? IB_ACCESS_REMOTE_READ : 0),
	};
	struct ib_mr *mr;
	int ret;

	mr = ib_alloc_mr(end->pd, IB_MR_TYPE_MEM_REG, PFN_UP(end->run->arg.length));
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	end->mr = mr;
	ret = ib_map_mr_sg(mr, &end->sg, 1, NULL, PAGE_SIZE);
	if (ret != 1)
		return ret < 0 ? ret : -EINVAL;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	reg.mr = mr;
	reg.key = mr->rkey;
	end->run->completed = 0;
	ret = ib_post_send(end->id->qp, &reg.wr, NULL);
	return ret ?: raw_wait(end->run, 1);
}

static int raw_register_all(struct raw_run *run)
{
	int ret = raw_register(&run->target);

	/* On iWARP the response to a read is written by the peer. */
	if (!ret && run->reads && rdma_protocol_iwarp(run->initiator.id->device, 1))
		ret = raw_register(&run->initiator);
	return ret;
}

/*
 * An empty message behind the writes: when it has come, so have they. On iWARP
 * their completion says only that TCP has them.
 */
static int raw_barrier(struct raw_run *run)
{
	struct ib_send_wr wr = { .wr_cqe = &run->middle, .opcode = IB_WR_SEND };
	int ret;

	run->completed = 0;
	ret = ib_post_send(run->qp, &wr, NULL);
	return ret ?: raw_wait(run, 1);
}

static int raw_measure(struct raw_run *run)
{
	struct kverbs_raw *arg = &run->arg;
	u64 begin;
	int ret;

	ret = raw_drive(run, div_u64(arg->warmup, arg->chain));
	if (ret)
		return ret;
	run->sample = run->samples;
	begin = ktime_get_ns();
	ret = raw_drive(run, div_u64(arg->count, arg->chain));
	arg->done = (u64)READ_ONCE(run->completed) * arg->chain;
	if (ret)
		return ret;
	arg->ns = run->end - begin;
	return raw_barrier(run);
}

/* The queue has room for the ring and one more besides; the drain needs another. */
static int raw_end_setup(struct raw_end *end, enum ib_poll_context poll, u32 depth)
{
	struct ib_device *dev = end->id->device;
	struct ib_recv_wr recv = { .wr_cqe = &end->step };
	struct ib_qp_init_attr attr = {
		.cap.max_send_wr = depth + 2,
		.cap.max_recv_wr = 2,
		.cap.max_send_sge = 1,
		.cap.max_recv_sge = 1,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	u32 nr_cqe = attr.cap.max_send_wr + attr.cap.max_recv_wr;
	struct ib_pd *pd;
	struct ib_cq *cq;
	int ret;

	if (attr.cap.max_send_wr > dev->attrs.max_qp_wr || nr_cqe > dev->attrs.max_cqe)
		return -EINVAL;
	/* One registration has to cover the buffer. */
	if (PFN_UP(end->run->arg.length) > dev->attrs.max_fast_reg_page_list_len)
		return -EMSGSIZE;
	end->step.done = raw_step_done;
	sg_init_one(&end->sg, end->buf, end->run->arg.length);
	if (ib_dma_map_sg(dev, &end->sg, 1, DMA_BIDIRECTIONAL) != 1)
		return -ENOMEM;
	end->mapped = true;
	pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	end->pd = pd;
	cq = ib_alloc_cq_any(dev, NULL, nr_cqe, poll);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	end->cq = cq;
	attr.send_cq = cq;
	attr.recv_cq = cq;
	ret = rdma_create_qp(end->id, pd, &attr);
	if (!ret && end == &end->run->target)
		ret = ib_post_recv(end->id->qp, &recv, NULL);
	return ret;
}

/* Also of an end that is half made. A drain of what never was up ends, too. */
static void raw_end_destroy(struct raw_end *end)
{
	if (!end->id)
		return;
	if (end->id->qp) {
		rdma_disconnect(end->id);
		ib_drain_qp(end->id->qp);
		rdma_destroy_qp(end->id);
	}
	if (end->mr)
		ib_dereg_mr(end->mr);
	if (end->cq)
		ib_free_cq(end->cq);
	if (end->pd)
		ib_dealloc_pd(end->pd);
	if (end->mapped)
		ib_dma_unmap_sg(end->id->device, &end->sg, 1, DMA_BIDIRECTIONAL);
	rdma_destroy_id(end->id);
}

/* The listener first: it is what makes the target's id. */
static void raw_disconnect(struct raw_run *run)
{
	raw_fail(run, -ESHUTDOWN);
	if (run->listener)
		rdma_destroy_id(run->listener);
	if (run->initiator.id && run->initiator.id->qp)
		ib_drain_sq(run->initiator.id->qp);
	raw_end_destroy(&run->initiator);
	raw_end_destroy(&run->target);
}

static void raw_advance(struct raw_end *end, enum raw_state state)
{
	/* Pairs with the load in raw_await(). */
	smp_store_release(&end->state, state);
	wake_up(&end->run->wait);
}

/*
 * Of all three ids. The listener's context is the target, which its first request
 * becomes; a request that is refused here is destroyed by the caller.
 */
static int raw_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct raw_end *end = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		raw_advance(end, RAW_ADDR);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		raw_advance(end, RAW_ROUTE);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		if (end->id)
			return -EBUSY;
		end->id = id;
		raw_advance(end, RAW_REQUEST);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		raw_advance(end, RAW_UP);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		raw_fail(end->run, event->status < 0 ? event->status : -EHOSTUNREACH);
		break;
	case RDMA_CM_EVENT_REJECTED:
		raw_fail(end->run, -ECONNREFUSED);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		raw_fail(end->run, -ECONNRESET);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		raw_fail(end->run, -ENODEV);
		break;
	default:
		break;
	}
	return 0;
}

static int raw_await(struct raw_end *end, enum raw_state state)
{
	struct raw_run *run = end->run;
	long left;

	/* Pairs with the store in raw_advance(): @id of the target. */
	left = wait_event_killable_timeout(run->wait, smp_load_acquire(&end->state) >= state ||
					   READ_ONCE(run->error), msecs_to_jiffies(RAW_CM_MS));
	if (left <= 0)
		return left ? -EINTR : -ETIMEDOUT;
	return READ_ONCE(run->error);
}

static void raw_param(struct raw_end *end, struct rdma_conn_param *param)
{
	const struct ib_device_attr *attrs = &end->id->device->attrs;

	*param = (struct rdma_conn_param) {
		.responder_resources = min(attrs->max_qp_rd_atom, U8_MAX),
		.initiator_depth = min(attrs->max_qp_init_rd_atom, U8_MAX),
		.flow_control = 1,
		.retry_count = RAW_CM_RETRIES,
		.rnr_retry_count = RAW_CM_RETRIES,
	};
}

static int raw_create_id(struct raw_end *context, struct rdma_cm_id **where)
{
	struct rdma_cm_id *id = rdma_create_id(&init_net, raw_cm_handler, context,
					       RDMA_PS_TCP, IB_QPT_RC);

	if (IS_ERR(id))
		return PTR_ERR(id);
	*where = id;
	return 0;
}

static int raw_ask(struct raw_run *run)
{
	struct raw_end *end = &run->initiator;
	struct rdma_conn_param param;
	int ret;

	ret = raw_create_id(end, &end->id);
	ret = ret ?: rdma_resolve_addr(end->id, NULL,
				       (struct sockaddr *)&run->listener->route.addr.src_addr,
				       RAW_CM_MS);
	ret = ret ?: raw_await(end, RAW_ADDR);
	ret = ret ?: raw_end_setup(end, run->poll, run->arg.depth);
	ret = ret ?: rdma_resolve_route(end->id, RAW_CM_MS);
	ret = ret ?: raw_await(end, RAW_ROUTE);
	if (ret)
		return ret;
	raw_param(end, &param);
	return rdma_connect(end->id, &param);
}

static int raw_answer(struct raw_run *run)
{
	struct raw_end *end = &run->target;
	struct rdma_conn_param param;
	int ret;

	ret = raw_await(end, RAW_REQUEST);
	ret = ret ?: raw_end_setup(end, IB_POLL_WORKQUEUE, 0);
	if (ret)
		return ret;
	raw_param(end, &param);
	/* Outside of a handler, its lock is the caller's to take. */
	rdma_lock_handler(end->id);
	ret = rdma_accept(end->id, &param);
	rdma_unlock_handler(end->id);
	return ret;
}

static int raw_connect(struct raw_run *run)
{
	int ret = raw_create_id(&run->target, &run->listener);

	ret = ret ?: rdma_bind_addr(run->listener, (struct sockaddr *)run->arg.addr);
	ret = ret ?: rdma_listen(run->listener, 1);
	ret = ret ?: raw_ask(run);
	ret = ret ?: raw_answer(run);
	ret = ret ?: raw_await(&run->initiator, RAW_UP);
	return ret ?: raw_await(&run->target, RAW_UP);
}

static void raw_free(struct raw_run *run)
{
	if (run->initiator.buf)
		free_pages_exact(run->initiator.buf, run->arg.length);
	if (run->target.buf)
		free_pages_exact(run->target.buf, run->arg.length);
	kvfree(run->chains);
	kvfree(run->wrs);
	kvfree(run->samples);
}

static int raw_alloc(struct raw_run *run)
{
	struct kverbs_raw *arg = &run->arg;

	run->nr_chains = arg->depth / arg->chain;
	run->initiator.buf = alloc_pages_exact(arg->length, GFP_KERNEL | __GFP_NOWARN);
	run->target.buf = alloc_pages_exact(arg->length, GFP_KERNEL | __GFP_NOWARN);
	run->chains = kvcalloc(run->nr_chains, sizeof(*run->chains), GFP_KERNEL);
	run->wrs = kvcalloc(arg->depth, sizeof(*run->wrs), GFP_KERNEL);
	if (arg->nr_samples)
		run->samples = kvcalloc(arg->nr_samples, sizeof(*run->samples), GFP_KERNEL);
	if (!run->initiator.buf || !run->target.buf || !run->chains || !run->wrs ||
	    (arg->nr_samples && !run->samples))
		return -ENOMEM;
	return 0;
}

/* Every byte of the sink differs from what it is to become. */
static void raw_fill(struct raw_run *run)
{
	u8 *source = run->reads ? run->target.buf : run->initiator.buf;
	u8 *sink = run->reads ? run->initiator.buf : run->target.buf;
	u32 i;

	get_random_bytes(source, run->arg.length);
	for (i = 0; i < run->arg.length; i++)
		sink[i] = ~source[i];
}

static u64 raw_compare(const struct raw_run *run)
{
	u64 different = 0;
	u32 i;

	for (i = 0; i < run->arg.length; i++)
		different += run->initiator.buf[i] != run->target.buf[i];
	return different;
}

/* Whole chains, at most so many that a counter of them fits 32 bits. */
static bool raw_counts(u64 count, u32 chain)
{
	u32 rest;

	return div_u64_rem(count, chain, &rest) <= U32_MAX && !rest;
}

static int raw_check(const struct kverbs_raw *arg)
{
	if (arg->size != sizeof(*arg) || arg->reserved ||
	    arg->flags & ~(KVERBS_RAW_READ | KVERBS_RAW_BH))
		return -EINVAL;
	if (arg->poll >= ARRAY_SIZE(raw_polls) || !arg->length || arg->length > RAW_MAX_LENGTH)
		return -EINVAL;
	if (!arg->depth || arg->depth > RAW_MAX_DEPTH || !arg->chain || arg->depth % arg->chain ||
	    !arg->signal || arg->chain % arg->signal)
		return -EINVAL;
	if (!arg->count || !raw_counts(arg->count, arg->chain) ||
	    !raw_counts(arg->warmup, arg->chain))
		return -EINVAL;
	return !!arg->samples == !!arg->nr_samples && arg->nr_samples <= RAW_MAX_SAMPLES ?
	       0 : -EINVAL;
}

static int raw_run(struct raw_run *run)
{
	int ret = raw_alloc(run);

	run->arg.done = 0;
	run->arg.ns = 0;
	run->arg.different = 0;
	if (ret)
		return ret;
	raw_fill(run);
	ret = raw_connect(run);
	ret = ret ?: raw_register_all(run);
	if (!ret) {
		raw_prepare(run);
		ret = raw_measure(run);
	}
	raw_disconnect(run);
	if (!ret)
		run->arg.different = raw_compare(run);
	return ret;
}

static int raw_copy_samples(const struct raw_run *run)
{
	u64 nr = min_t(u64, run->arg.nr_samples, div_u64(run->arg.count, run->arg.chain));

	if (copy_to_user(u64_to_user_ptr(run->arg.samples), run->samples, nr * sizeof(u64)))
		return -EFAULT;
	return 0;
}

static long raw_ioctl(struct file *file, unsigned int cmd, unsigned long user)
{
	struct kverbs_raw __user *arg = (struct kverbs_raw __user *)user;
	struct raw_run *run;
	int ret;

	if (cmd != KVERBS_RAW_RUN)
		return -ENOTTY;
	run = kzalloc(sizeof(*run), GFP_KERNEL);
	if (!run)
		return -ENOMEM;
	init_waitqueue_head(&run->wait);
	run->initiator.run = run;
	run->target.run = run;
	ret = copy_from_user(&run->arg, arg, sizeof(run->arg)) ? -EFAULT : raw_check(&run->arg);
	if (!ret) {
		run->poll = raw_polls[run->arg.poll];
		run->reads = run->arg.flags & KVERBS_RAW_READ;
		run->by_thread = run->arg.flags & KVERBS_RAW_BH;
		ret = raw_run(run);
		if (!ret && run->samples)
			ret = raw_copy_samples(run);
		if (copy_to_user(arg, &run->arg, sizeof(run->arg)))
			ret = ret ?: -EFAULT;
		raw_free(run);
	}
	kfree(run);
	return ret;
}

static const struct file_operations raw_fops = {
	.owner = THIS_MODULE,
	.llseek = noop_llseek,
	.unlocked_ioctl = raw_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice raw_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kverbs_raw",
	.fops = &raw_fops,
	.mode = 0600,
};
module_misc_device(raw_misc);

MODULE_DESCRIPTION("kverbs: the floor of its benchmark");
MODULE_LICENSE("GPL");
