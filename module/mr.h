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

int kverbs_mr_init(struct kverbs_mr *mr, struct ib_pd *pd, struct kverbs_dev *dev,
		   struct kverbs_mapping *map, u64 offset, u64 length, u32 name, int access);
void kverbs_mr_prepare(struct kverbs_mr *mr, u32 index, struct ib_reg_wr *wr);
void kverbs_mr_fini(struct kverbs_mr *mr);

#endif /* KVERBS_MR_H */
