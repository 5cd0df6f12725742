/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registrations: a stretch of a mapping under keys that a peer may use.
 *
 * A device registers a bounded number of pages at once (256 or 512 on the soft
 * ones), so a stretch is covered by an array of MRs, each over the same number
 * of pages. This room allocates, maps and prepares the REG_MR work requests; it
 * posts nothing. An MR is registered once in its life and destroyed, never
 * recycled: no key is valid twice.
 *
 * Beside these there are *local* registrations, for one piece of a write or read
 * each: what storage protocols pay for every operation, and what a read needs
 * on iWARP. They come from a pool and are registered again and again; a key is
 * invalidated before its MR is registered with the next one.
 *
 * The address that a peer sees has nothing of ours in it: the MR's iova is
 * replaced by (name of the region << 40 | offset) before it is registered.
 */
#ifndef KVERBS_MR_H
#define KVERBS_MR_H

#include <rdma/ib_verbs.h>

#include "memory.h"

/**
 * struct kverbs_mr - one stretch under @nr keys
 * @mr: @nr of them
 * @nr: number of MRs
 * @key: their remote keys, for the peer
 * @addr: address of the first byte as the peer sees it
 * @span: bytes that one key covers
 * @lead: bytes of the first key's span before the first byte
 * @access: IB_ACCESS_*
 */
struct kverbs_mr {
	struct ib_mr **mr;
	u32 nr;
	u32 *key;
	u64 addr;
	u64 span;
	u32 lead;
	int access;
};

/**
 * struct kverbs_mr_local - a registration for one piece
 * @list: link in one of the pool's lists
 * @mr: the MR
 * @valid: its key is registered and must be invalidated first
 */
struct kverbs_mr_local {
	struct list_head list;
	struct ib_mr *mr;
	bool valid;
};

/**
 * struct kverbs_mr_pool - the local registrations of a connection
 * @free: those that nobody has; the owner of the send queue serialises
 * @used: the others, in the order in which their pieces were posted
 * @local: @nr of them
 * @nr: number of registrations, 0 where none are needed
 * @limits: what a piece through one of them may be
 * @sge: room for the gather elements of one piece
 * @sg: the same, as ib_map_mr_sg() wants them
 */
struct kverbs_mr_pool {
	struct list_head free;
	struct list_head used;
	struct kverbs_mr_local *local;
	u32 nr;
	struct kverbs_slice_limits limits;
	struct ib_sge *sge;
	struct scatterlist *sg;
};

void kverbs_mr_pool_begin(struct kverbs_mr_pool *pool);
int kverbs_mr_pool_init(struct kverbs_mr_pool *pool, struct ib_pd *pd, struct kverbs_dev *dev,
			u32 nr, u32 max_bytes);
void kverbs_mr_pool_fini(struct kverbs_mr_pool *pool);
struct kverbs_mr_local *kverbs_mr_pool_get(struct kverbs_mr_pool *pool);
void kverbs_mr_pool_put(struct kverbs_mr_pool *pool);
void kverbs_mr_local_invalidate(struct kverbs_mr_local *local, struct ib_send_wr *wr);
void kverbs_mr_local_prepare(struct kverbs_mr_pool *pool, struct kverbs_mr_local *local,
			     u32 nr, int access, struct ib_reg_wr *wr);

int kverbs_mr_init(struct kverbs_mr *mr, struct ib_pd *pd, struct kverbs_dev *dev,
		   struct kverbs_mapping *map, u64 offset, u64 length, u32 name, int access);
void kverbs_mr_prepare(struct kverbs_mr *mr, u32 index, struct ib_reg_wr *wr);
void kverbs_mr_fini(struct kverbs_mr *mr);

#endif /* KVERBS_MR_H */
