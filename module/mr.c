// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registrations: a stretch of a mapping under keys that a peer may use. See mr.h.
 *
 * A stretch is cut into *windows*, one MR each, at multiples of the span counted
 * from the start of the first byte's page; so every window but the first begins
 * on a page, and an address tells its key by a division.
 *
 * A window is mapped from a scatterlist of its own that has exactly its bytes:
 * an extent that reaches over the window's end is split, and no offset into the
 * first entry is needed, which one provider would ignore. Providers look at
 * nothing but DMA addresses and lengths there, so these are all that is set.
 *
 * Each MR then gets an address of our choice in place of the DMA address. The
 * two agree within the page, or the device's page list would be off.
 */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "mr.h"

#define KVERBS_MR_NAME_SHIFT	40	/* the region's name is above, offsets below */
#define KVERBS_MR_GFP		(GFP_KERNEL_ACCOUNT | __GFP_NOWARN)

/*
 * List the next @bytes at @at on @sg, which has one entry a page. That suffices
 * as long as DMA addresses agree with ours within the page; where bouncing makes
 * them differ, the memory cannot be registered.
 */
static int mr_list(struct kverbs_slice *at, u64 bytes, struct scatterlist *sg)
{
	int nr = 0;

	while (bytes) {
		const struct kverbs_extent *extent = &at->source->extent[at->extent];
		u32 size = min_t(u64, bytes, extent->length - at->skip);
		u64 addr = extent->addr + at->skip;

		if (offset_in_page(addr) != offset_in_page(at->offset))
			return -EOPNOTSUPP;
		sg_dma_address(&sg[nr]) = addr;
		sg_dma_len(&sg[nr]) = size;
		nr++;
		bytes -= size;
		at->left -= size;
		at->offset += size;
		at->skip += size;
		if (at->skip == extent->length) {
			at->extent++;
			at->skip = 0;
		}
	}
	return nr;
}

/* One provider says -EINVAL when it has no more MRs; nothing else here can be. */
static struct ib_mr *mr_alloc(struct ib_pd *pd, u32 pages)
{
	struct ib_mr *mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, pages);

	return mr == ERR_PTR(-EINVAL) ? ERR_PTR(-ENOSPC) : mr;
}

/* Make the MR of the next window and move @at behind it. */
static struct ib_mr *mr_window(struct ib_pd *pd, struct kverbs_slice *at, u64 base, u64 bytes,
			       struct scatterlist *sg)
{
	u64 iova = base + at->offset;
	struct ib_mr *mr;
	int nr, mapped;

	mr = mr_alloc(pd, PFN_UP(offset_in_page(iova) + bytes));
	if (IS_ERR(mr))
		return mr;
	nr = mr_list(at, bytes, sg);
	mapped = nr < 0 ? nr : ib_map_mr_sg(mr, sg, nr, NULL, PAGE_SIZE);
	if (mapped < 0 || mapped != nr) {
		ib_dereg_mr(mr);
		return ERR_PTR(mapped < 0 ? mapped : -EOPNOTSUPP);
	}
	mr->iova = iova;
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	return mr;
}

static int mr_windows(struct kverbs_mr *mr, struct ib_pd *pd, struct kverbs_slice *at,
		      struct scatterlist *sg)
{
	u64 base = mr->addr - mr->lead, end;
	struct ib_mr *one;

	for (; at->left; mr->nr++) {
		end = min((mr->nr + 1) * mr->span, at->offset + at->left);
		one = mr_window(pd, at, base, end - at->offset, sg);
		if (IS_ERR(one))
			return PTR_ERR(one);
		mr->mr[mr->nr] = one;
		mr->key[mr->nr] = one->rkey;
		cond_resched();
	}
	return 0;
}

/**
 * kverbs_mr_init() - make the MRs over a stretch of a mapping
 * @mr: to fill; kverbs_mr_fini() undoes it
 * @pd: that the MRs belong to
 * @dev: that @pd belongs to
 * @map: the mapping; the caller's reference lasts until kverbs_mr_fini()
 * @offset: in the buffer
 * @length: bytes, not 0; the stretch lies within the buffer
 * @name: of the region, below 2^24; the high bits of the address
 * @access: IB_ACCESS_*
 *
 * Nothing is registered yet: each of the @nr MRs needs a REG_MR work request
 * from kverbs_mr_prepare(), posted on a queue pair of the same domain.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EOPNOTSUPP when the device has no fast registration, or not of this
 * memory; -ENOSPC when it has not that many MRs; -ENOMEM; what the device said.
 * After a failure there is nothing to undo.
 */
int kverbs_mr_init(struct kverbs_mr *mr, struct ib_pd *pd, struct kverbs_dev *dev,
		   struct kverbs_mapping *map, u64 offset, u64 length, u32 name, int access)
{
	u32 pages = dev->fast_reg_pages;
	struct scatterlist *sg;
	struct kverbs_slice at;
	int ret = -ENOMEM;
	u64 nr;

	*mr = (struct kverbs_mr) { .access = access };
	if (!pages)
		return -EOPNOTSUPP;
	mr->lead = offset_in_page(map->buf->lead + offset);
	mr->addr = ((u64)name << KVERBS_MR_NAME_SHIFT) + mr->lead;
	mr->span = (u64)pages << PAGE_SHIFT;
	nr = div64_u64(mr->lead + length + mr->span - 1, mr->span);
	if (nr > dev->ib->attrs.max_mr)
		return -ENOSPC;

	mr->mr = kvcalloc(nr, sizeof(*mr->mr), KVERBS_MR_GFP);
	mr->key = kvcalloc(nr, sizeof(*mr->key), KVERBS_MR_GFP);
	sg = kvmalloc_array(pages, sizeof(*sg), KVERBS_MR_GFP);
	if (mr->mr && mr->key && sg) {
		sg_init_table(sg, pages);
		/* Positions count from the first byte's page, as windows do. */
		kverbs_slice_init(&at, &map->source, offset, NULL, mr->lead, length);
		ret = mr_windows(mr, pd, &at, sg);
	}
	kvfree(sg);
	if (ret)
		kverbs_mr_fini(mr);
	return ret;
}

/**
 * kverbs_mr_prepare() - fill the work request that registers one MR
 * @mr: the stretch
 * @index: which MR, below @mr->nr; each is registered once in its life
 * @wr: to fill, but for wr_cqe, send_flags and next, which are the poster's
 *
 * Context: Any.
 */
void kverbs_mr_prepare(struct kverbs_mr *mr, u32 index, struct ib_reg_wr *wr)
{
	wr->wr.opcode = IB_WR_REG_MR;
	wr->wr.num_sge = 0;
	wr->mr = mr->mr[index];
	wr->key = mr->key[index];
	wr->access = mr->access;
}

/**
 * kverbs_mr_fini() - destroy the MRs
 * @mr: made by kverbs_mr_init(), or all zero; all zero afterwards. Its work
 *	requests have completed or their queue pair is destroyed
 *
 * Context: Process context, may sleep.
 */
void kverbs_mr_fini(struct kverbs_mr *mr)
{
	while (mr->nr)
		ib_dereg_mr(mr->mr[--mr->nr]);
	kvfree(mr->mr);
	kvfree(mr->key);
	*mr = (struct kverbs_mr) {};
}

static int mr_pool_fill(struct kverbs_mr_pool *pool, struct ib_pd *pd, u32 nr, u32 pages)
{
	struct ib_mr *mr;

	for (; pool->nr < nr; pool->nr++) {
		mr = mr_alloc(pd, pages);
		if (IS_ERR(mr))
			return PTR_ERR(mr);
		pool->local[pool->nr].mr = mr;
		list_add_tail(&pool->local[pool->nr].list, &pool->free);
	}
	return 0;
}

/**
 * kverbs_mr_pool_begin() - an empty pool
 * @pool: to fill
 *
 * Context: Any.
 */
void kverbs_mr_pool_begin(struct kverbs_mr_pool *pool)
{
	*pool = (struct kverbs_mr_pool) {};
	INIT_LIST_HEAD(&pool->free);
	INIT_LIST_HEAD(&pool->used);
}

/**
 * kverbs_mr_pool_init() - make local registrations
 * @pool: empty; kverbs_mr_pool_fini() undoes it, also after a failure
 * @pd: that they belong to
 * @dev: that @pd belongs to
 * @nr: how many, 0 for none
 * @max_bytes: of one piece
 *
 * A piece is also no longer than what one MR covers, wherever in a page it
 * begins.
 *
 * Context: Process context, may sleep.
 * Return: 0 or -errno.
 */
int kverbs_mr_pool_init(struct kverbs_mr_pool *pool, struct ib_pd *pd, struct kverbs_dev *dev,
			u32 nr, u32 max_bytes)
{
	u32 pages = min_t(u32, dev->fast_reg_pages, PFN_UP(max_bytes) + 1);

	if (!nr)
		return 0;
	pool->limits = (struct kverbs_slice_limits) {
		.max_sge = pages,
		.max_bytes = min_t(u32, max_bytes, max(pages - 1, 1U) << PAGE_SHIFT),
	};
	pool->local = kvcalloc(nr, sizeof(*pool->local), KVERBS_MR_GFP);
	pool->sge = kvcalloc(pages, sizeof(*pool->sge), KVERBS_MR_GFP);
	pool->sg = kvcalloc(pages, sizeof(*pool->sg), KVERBS_MR_GFP);
	if (!pool->local || !pool->sge || !pool->sg)
		return -ENOMEM;
	return mr_pool_fill(pool, pd, nr, pages);
}

/**
 * kverbs_mr_pool_fini() - destroy the local registrations
 * @pool: the pool, or all zero; its queue pair is destroyed
 *
 * Context: Process context, may sleep.
 */
void kverbs_mr_pool_fini(struct kverbs_mr_pool *pool)
{
	while (pool->nr)
		ib_dereg_mr(pool->local[--pool->nr].mr);
	kvfree(pool->local);
	kvfree(pool->sge);
	kvfree(pool->sg);
	kverbs_mr_pool_begin(pool);
}

/**
 * kverbs_mr_pool_get() - take a local registration
 * @pool: has one that is free
 *
 * Context: Any; the owner of the send queue serialises.
 * Return: the registration.
 */
struct kverbs_mr_local *kverbs_mr_pool_get(struct kverbs_mr_pool *pool)
{
	struct kverbs_mr_local *local;

	local = list_first_entry(&pool->free, struct kverbs_mr_local, list);
	list_move_tail(&local->list, &pool->used);
	return local;
}

/**
 * kverbs_mr_pool_put() - give back the local registration that was taken first
 * @pool: whose first piece has completed: pieces come back in the order in which
 *	they went. Its key stays until the next use
 *
 * After a post that failed the order is another, but then none is used again.
 *
 * Context: Any; the owner of the send queue serialises.
 */
void kverbs_mr_pool_put(struct kverbs_mr_pool *pool)
{
	list_move_tail(pool->used.next, &pool->free);
}

/**
 * kverbs_mr_local_invalidate() - fill the work request that ends a key
 * @local: @valid, and taken from the pool
 * @wr: to fill, but for wr_cqe, send_flags and next
 *
 * It precedes the next registration rather than follow the piece: there the
 * queue would stand still until the peer has acknowledged the piece (rxe).
 *
 * Context: Any.
 */
void kverbs_mr_local_invalidate(struct kverbs_mr_local *local, struct ib_send_wr *wr)
{
	wr->opcode = IB_WR_LOCAL_INV;
	wr->num_sge = 0;
	wr->ex.invalidate_rkey = local->mr->rkey;
	local->valid = false;
}

/**
 * kverbs_mr_local_prepare() - fill the work request that registers a piece
 * @pool: whose @sge has the piece's @nr elements
 * @local: taken from the pool, not @valid
 * @nr: gather elements; all but the first begin on a page, all but the last end
 *	on one
 * @access: IB_ACCESS_*
 * @wr: to fill, but for wr_cqe, send_flags and next
 *
 * Memory that the device cannot map is not covered then, and the piece fails with
 * a local protection error.
 *
 * Context: Any; nothing is allocated.
 */
void kverbs_mr_local_prepare(struct kverbs_mr_pool *pool, struct kverbs_mr_local *local,
			     u32 nr, int access, struct ib_reg_wr *wr)
{
	struct ib_mr *mr = local->mr;
	u32 i;

	sg_init_table(pool->sg, nr);
	for (i = 0; i < nr; i++) {
		sg_dma_address(&pool->sg[i]) = pool->sge[i].addr;
		sg_dma_len(&pool->sg[i]) = pool->sge[i].length;
	}
	ib_map_mr_sg(mr, pool->sg, nr, NULL, PAGE_SIZE);
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	wr->wr.opcode = IB_WR_REG_MR;
	wr->wr.num_sge = 0;
	wr->mr = mr;
	wr->key = mr->rkey;
	wr->access = access;
	local->valid = true;
}
