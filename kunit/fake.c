// SPDX-License-Identifier: GPL-2.0-only
/*
 * A fake provider: an RDMA device that does what a test tells it. See fake.h.
 *
 * It has one port that speaks nothing, so no other kernel user of RDMA attaches
 * to it, and no DMA. Completions are written under the queue pair's lock and
 * told to the completion queue's owner without it.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "compat.h"
#include "fake.h"

static struct fake_device *to_dev(struct ib_device *ib)
{
	return container_of(ib, struct fake_device, ib);
}

static struct fake_cq *to_cq(struct ib_cq *ib)
{
	return container_of(ib, struct fake_cq, ib);
}

/**
 * fake_qp() - the fake behind a queue pair
 * @qp: made on a fake device
 *
 * Return: the fake.
 */
struct fake_qp *fake_qp(struct ib_qp *qp)
{
	return container_of(qp, struct fake_qp, ib);
}

/* The device, its port and its protection domains. */

static int fake_query_device(struct ib_device *ib, struct ib_device_attr *attr,
			     struct ib_udata *udata)
{
	const struct fake_device *dev = to_dev(ib);

	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY;
	attr->max_qp = 16;
	attr->max_qp_wr = dev->max_qp_wr;
	attr->max_cq = 32;
	attr->max_cqe = dev->max_cqe;
	attr->max_pd = 16;
	attr->max_send_sge = FAKE_SGE;
	attr->max_recv_sge = FAKE_SGE;
	attr->max_mr = 1024;
	return 0;
}

static int fake_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	attr->state = IB_PORT_ACTIVE;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->max_msg_sz = 1u << 30;
	return 0;
}

static int fake_port_immutable(struct ib_device *ib, u32 port,
			       struct ib_port_immutable *immutable)
{
	return 0;
}

struct fake_pd {
	struct ib_pd ib;
};

static int fake_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

static int fake_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

/* Demanded by the core, and never called as everything has local_dma_lkey. */
static struct ib_mr *fake_get_dma_mr(struct ib_pd *pd, int access)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static struct ib_mr *fake_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
				      u64 virt_addr, int access, FAKE_DMAH
				      struct ib_udata *udata)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static struct ib_mr *fake_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_sg)
{
	struct fake_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->ib.lkey = ++to_dev(pd->device)->mrs << 8;
	mr->ib.rkey = mr->ib.lkey;
	return &mr->ib;
}

static int fake_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int nr, unsigned int *offset)
{
	int i;

	mr->iova = sg_dma_address(sg);
	mr->length = 0;
	for (i = 0; i < nr; i++)
		mr->length += sg_dma_len(&sg[i]);
	return nr;
}

static int fake_dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	kfree(container_of(mr, struct fake_mr, ib));
	return 0;
}

/* Completion queues. */

static int fake_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
			  struct fake_cq_udata *udata)
{
	struct fake_cq *cq = to_cq(ib);

	spin_lock_init(&cq->lock);
	cq->ib.cqe = attr->cqe;
	cq->wc = kvcalloc(attr->cqe, sizeof(*cq->wc), GFP_KERNEL);
	return cq->wc ? 0 : -ENOMEM;
}

static int fake_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	kvfree(to_cq(ib)->wc);
	return 0;
}

static int fake_poll_cq(struct ib_cq *ib, int room, struct ib_wc *wc)
{
	struct fake_cq *cq = to_cq(ib);
	unsigned long flags;
	int nr;

	spin_lock_irqsave(&cq->lock, flags);
	for (nr = 0; nr < room && cq->tail != cq->head; nr++)
		wc[nr] = cq->wc[cq->tail++ % cq->ib.cqe];
	spin_unlock_irqrestore(&cq->lock, flags);
	return nr;
}

static int fake_arm_cq(struct ib_cq *ib, enum ib_cq_notify_flags how)
{
	struct fake_cq *cq = to_cq(ib);
	unsigned long flags;
	int missed;

	spin_lock_irqsave(&cq->lock, flags);
	cq->armed = true;
	missed = how & IB_CQ_REPORT_MISSED_EVENTS && cq->tail != cq->head;
	spin_unlock_irqrestore(&cq->lock, flags);
	return missed;
}

static void cq_write(struct fake_cq *cq, struct ib_wc *wc)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->head - cq->tail >= cq->ib.cqe)
		atomic_inc(&to_dev(cq->ib.device)->overruns);
	else
		cq->wc[cq->head++ % cq->ib.cqe] = *wc;
	spin_unlock_irqrestore(&cq->lock, flags);
}

static void cq_tell(struct fake_cq *cq)
{
	unsigned long flags;
	bool tell;

	spin_lock_irqsave(&cq->lock, flags);
	tell = cq->armed && cq->head != cq->tail;
	if (tell)
		cq->armed = false;
	spin_unlock_irqrestore(&cq->lock, flags);
	if (tell)
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
}

/* Queue pairs. */

static bool queue_idle(const struct fake_queue *q)
{
	return q->completed == q->posted;
}

static void wr_tell(struct fake_qp *qp, struct fake_queue *q, const struct fake_wr *wr,
		    enum ib_wc_status status)
{
	struct ib_wc wc;

	/* What a failed one does not say is wrong on purpose. */
	memset(&wc, status ? 0xa5 : 0, sizeof(wc));
	wc.wr_cqe = wr->cqe;
	wc.status = status;
	wc.qp = &qp->ib;
	cq_write(q->cq, &wc);
}

/* The oldest work request leaves its queue. */
static void queue_pop(struct fake_qp *qp, struct fake_queue *q, enum ib_wc_status status)
{
	const struct fake_wr *wr = &q->wr[q->completed++];

	lockdep_assert_held(&qp->lock);
	if (!wr->early && (status || wr->flags & IB_SEND_SIGNALED))
		wr_tell(qp, q, wr, status);
}

static void queue_flush(struct fake_qp *qp, struct fake_queue *q)
{
	while (!queue_idle(q))
		queue_pop(qp, q, IB_WC_WR_FLUSH_ERR);
}

/* Flush what is not held back. */
static void qp_flush(struct fake_qp *qp, u32 held)
{
	lockdep_assert_held(&qp->lock);
	if (!(held & FAKE_SQ))
		queue_flush(qp, &qp->sq);
	if (!(held & FAKE_RQ))
		queue_flush(qp, &qp->rq);
}

static void qp_flush_if_dead(struct fake_qp *qp)
{
	if (qp->state == IB_QPS_ERR)
		qp_flush(qp, to_dev(qp->ib.device)->hold_flush);
}

static void qp_tell(struct fake_qp *qp)
{
	cq_tell(qp->sq.cq);
	cq_tell(qp->rq.cq);
}

/**
 * fake_complete() - the oldest work requests on the send queue are done
 * @qp: the queue pair
 * @nr: how many, at most
 * @status: of the last one; those before it succeed. A failure moves the queue
 *	pair to the error state
 *
 * Return: how many there were.
 */
u32 fake_complete(struct fake_qp *qp, u32 nr, enum ib_wc_status status)
{
	u32 done;

	spin_lock_bh(&qp->lock);
	nr = min(nr, qp->sq.posted - qp->sq.completed);
	for (done = 1; done <= nr; done++)
		queue_pop(qp, &qp->sq, done == nr ? status : IB_WC_SUCCESS);
	if (nr && status)
		qp->state = IB_QPS_ERR;
	qp_flush_if_dead(qp);
	spin_unlock_bh(&qp->lock);
	qp_tell(qp);
	return nr;
}

/**
 * fake_complete_early() - a signaled work request succeeds before its turn
 * @qp: the queue pair
 * @nth: which one of those on the send queue, 0 = the oldest; it stays there until
 *	those before it have left
 */
void fake_complete_early(struct fake_qp *qp, u32 nth)
{
	struct fake_wr *wr;

	spin_lock_bh(&qp->lock);
	wr = &qp->sq.wr[qp->sq.completed + nth];
	wr->early = true;
	wr_tell(qp, &qp->sq, wr, IB_WC_SUCCESS);
	spin_unlock_bh(&qp->lock);
	qp_tell(qp);
}

/**
 * fake_forget() - forget what was posted, to make room
 * @qp: the queue pair; its send queue is empty
 */
void fake_forget(struct fake_qp *qp)
{
	spin_lock_bh(&qp->lock);
	if (queue_idle(&qp->sq)) {
		qp->sq.posted = 0;
		qp->sq.completed = 0;
	}
	spin_unlock_bh(&qp->lock);
}

/**
 * fake_flush() - the flush that was held back comes, late
 * @qp: the queue pair
 */
void fake_flush(struct fake_qp *qp)
{
	spin_lock_bh(&qp->lock);
	qp_flush(qp, 0);
	spin_unlock_bh(&qp->lock);
	qp_tell(qp);
}

/* -errno if the queue does not take one more. */
static int queue_push(struct fake_qp *qp, struct fake_queue *q, const struct fake_wr *wr)
{
	lockdep_assert_held(&qp->lock);
	if (q->posted - q->completed >= q->size || q->posted == FAKE_POSTED) {
		atomic_inc(&to_dev(qp->ib.device)->overruns);
		return -ENOMEM;
	}
	q->wr[q->posted++] = *wr;
	return 0;
}

/* What belongs to one kind of work request alone. */
static void keep_kind(struct fake_wr *kept, const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_RDMA_READ_WITH_INV:
	case IB_WR_RDMA_WRITE_WITH_IMM:
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_READ:
		kept->remote_addr = rdma_wr(wr)->remote_addr;
		kept->rkey = rdma_wr(wr)->rkey;
		if (wr->opcode == IB_WR_RDMA_WRITE_WITH_IMM)
			kept->imm = be32_to_cpu(wr->ex.imm_data);
		if (wr->opcode == IB_WR_RDMA_READ_WITH_INV)
			kept->invalidate = wr->ex.invalidate_rkey;
		break;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
	case IB_WR_ATOMIC_CMP_AND_SWP:
		kept->remote_addr = atomic_wr(wr)->remote_addr;
		kept->rkey = atomic_wr(wr)->rkey;
		kept->compare_add = atomic_wr(wr)->compare_add;
		kept->swap = atomic_wr(wr)->swap;
		break;
	case IB_WR_REG_MR:
		kept->mr = reg_wr(wr)->mr;
		kept->key = reg_wr(wr)->key;
		kept->access = reg_wr(wr)->access;
		break;
	case IB_WR_LOCAL_INV:
		kept->invalidate = wr->ex.invalidate_rkey;
		break;
	default:
		break;
	}
}

static int send_one(struct fake_qp *qp, const struct ib_send_wr *wr)
{
	struct fake_device *dev = to_dev(qp->ib.device);
	struct fake_wr kept = {
		.opcode = wr->opcode,
		.flags = wr->send_flags,
		.cqe = wr->wr_cqe,
		.nr_sge = wr->num_sge,
		.post = dev->sq_posts,
	};

	if (wr->num_sge > FAKE_SGE)
		return -EINVAL;
	memcpy(kept.sge, wr->sg_list, wr->num_sge * sizeof(*kept.sge));
	keep_kind(&kept, wr);
	if (dev->fail_post && !--dev->fail_post)
		return -EINVAL;
	return queue_push(qp, &qp->sq, &kept);
}

static int fake_post_send(struct ib_qp *ib, const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad_wr)
{
	struct fake_device *dev = to_dev(ib->device);
	struct fake_qp *qp = fake_qp(ib);
	int ret = 0;

	spin_lock_bh(&qp->lock);
	dev->sq_posts++;
	while (wr && !ret) {
		ret = send_one(qp, wr);
		if (!ret)
			wr = wr->next;
	}
	if (ret && !dev->bad_wr_untouched)
		*bad_wr = wr;
	qp_flush_if_dead(qp);
	spin_unlock_bh(&qp->lock);
	qp_tell(qp);
	return ret;
}

static int fake_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr,
			  const struct ib_recv_wr **bad_wr)
{
	struct fake_qp *qp = fake_qp(ib);
	int ret = 0;

	spin_lock_bh(&qp->lock);
	for (; wr && !ret; wr = wr->next) {
		ret = queue_push(qp, &qp->rq, &(struct fake_wr){
			.cqe = wr->wr_cqe, .nr_sge = wr->num_sge,
		});
		if (ret)
			*bad_wr = wr;
	}
	qp_flush_if_dead(qp);
	spin_unlock_bh(&qp->lock);
	qp_tell(qp);
	return ret;
}

static int fake_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr,
			  struct ib_udata *udata)
{
	struct fake_qp *qp = fake_qp(ib);

	if (attr->cap.max_send_wr > ib->device->attrs.max_qp_wr ||
	    attr->cap.max_recv_wr > ib->device->attrs.max_qp_wr)
		return -EINVAL;
	spin_lock_init(&qp->lock);
	qp->ib.qp_num = FAKE_QPN;
	qp->state = IB_QPS_RESET;
	qp->sq.size = attr->cap.max_send_wr;
	qp->rq.size = attr->cap.max_recv_wr;
	qp->sq.cq = to_cq(attr->send_cq);
	qp->rq.cq = to_cq(attr->recv_cq);
	return 0;
}

static int fake_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
			  struct ib_udata *udata)
{
	struct fake_qp *qp = fake_qp(ib);

	if (to_dev(ib->device)->fail_modify)
		return -EIO;
	spin_lock_bh(&qp->lock);
	if (mask & IB_QP_STATE)
		qp->state = attr->qp_state;
	qp_flush_if_dead(qp);
	spin_unlock_bh(&qp->lock);
	qp_tell(qp);
	return 0;
}

static int fake_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	return to_dev(ib->device)->fail_destroy ? -EBUSY : 0;
}

static const struct ib_device_ops fake_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.query_device = fake_query_device,
	.query_port = fake_query_port,
	.get_port_immutable = fake_port_immutable,
	.alloc_pd = fake_alloc_pd,
	.dealloc_pd = fake_dealloc_pd,
	.get_dma_mr = fake_get_dma_mr,
	.reg_user_mr = fake_reg_user_mr,
	.alloc_mr = fake_alloc_mr,
	.map_mr_sg = fake_map_mr_sg,
	.dereg_mr = fake_dereg_mr,
	.create_cq = fake_create_cq,
	.destroy_cq = fake_destroy_cq,
	.poll_cq = fake_poll_cq,
	.req_notify_cq = fake_arm_cq,
	.create_qp = fake_create_qp,
	.modify_qp = fake_modify_qp,
	.destroy_qp = fake_destroy_qp,
	.post_send = fake_post_send,
	.post_recv = fake_post_recv,

	INIT_RDMA_OBJ_SIZE(ib_pd, fake_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, fake_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, fake_qp, ib),
};

/**
 * fake_create() - make a device and register it
 * @max_qp_wr: work requests in one queue
 * @max_cqe: entries in one completion queue
 *
 * Context: Process context; sleeps.
 * Return: the device, or ERR_PTR.
 */
struct fake_device *fake_create(u32 max_qp_wr, u32 max_cqe)
{
	struct fake_device *dev = ib_alloc_device(fake_device, ib);
	int ret;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	dev->ib.node_type = RDMA_NODE_RNIC;
	dev->ib.phys_port_cnt = 1;
	dev->ib.num_comp_vectors = 1;
	dev->ib.local_dma_lkey = FAKE_LKEY;
	dev->max_qp_wr = max_qp_wr;
	dev->max_cqe = max_cqe;
	ib_set_device_ops(&dev->ib, &fake_ops);
	ret = ib_register_device(&dev->ib, "kvfake%d", NULL);
	if (ret) {
		ib_dealloc_device(&dev->ib);
		return ERR_PTR(ret);
	}
	return dev;
}

/**
 * fake_destroy() - unregister the device; all its objects are gone
 * @dev: the device
 *
 * Context: Process context; sleeps.
 */
void fake_destroy(struct fake_device *dev)
{
	ib_unregister_device(&dev->ib);
	ib_dealloc_device(&dev->ib);
}
