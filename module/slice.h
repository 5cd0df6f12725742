/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Slice: one range of bytes into pieces that fit one work request each.
 *
 * The source is a list of extents (runs of DMA addresses), the target a region
 * under one or more keys. A piece ends where the range ends, where the key's
 * span ends, after max_sge gather elements, or at max_bytes: whichever comes
 * first. The cursor remembers where it is, so a write of any length is posted
 * piece by piece as slots become free, with nothing to allocate on the way.
 *
 * Nothing here locks, allocates or touches a device.
 */
#ifndef KVERBS_SLICE_H
#define KVERBS_SLICE_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#define KVERBS_SLICE_SGE	16	/* gather elements of one piece, at most */

/**
 * struct kverbs_extent - a run of DMA addresses
 * @addr: first address
 * @offset: bytes of the buffer before this extent; ascending, the first has 0
 * @length: bytes, not 0
 */
struct kverbs_extent {
	u64 addr;
	u64 offset;
	u32 length;
};

/**
 * struct kverbs_source - where bytes come from
 * @extent: @nr of them, without gaps
 * @nr: number of extents, not 0
 */
struct kverbs_source {
	const struct kverbs_extent *extent;
	u32 nr;
};

/**
 * struct kverbs_target - where bytes go to
 * @addr: remote address of the region's first byte
 * @span: bytes that one key covers
 * @lead: bytes of the first key's span before the region's first byte
 * @key: the keys
 *
 * Byte r of the region is at address @addr + r under key (@lead + r) / @span.
 */
struct kverbs_target {
	u64 addr;
	u64 span;
	u32 lead;
	const u32 *key;
};

/**
 * struct kverbs_slice - a cursor over one range
 * @source: where bytes come from
 * @target: where bytes go to
 * @extent: index of the extent of the next byte
 * @skip: bytes of that extent already done
 * @offset: offset in the target region of the next byte
 * @left: bytes still to do
 */
struct kverbs_slice {
	const struct kverbs_source *source;
	const struct kverbs_target *target;
	u32 extent;
	u32 skip;
	u64 offset;
	u64 left;
};

/**
 * struct kverbs_slice_limits - what one piece may be
 * @max_sge: gather elements, 1 to KVERBS_SLICE_SGE
 * @max_bytes: length, not 0
 * @lkey: put into every gather element
 */
struct kverbs_slice_limits {
	u32 max_sge;
	u32 max_bytes;
	u32 lkey;
};

/**
 * struct kverbs_piece - one work request's worth
 * @addr: remote address
 * @rkey: remote key
 * @nr_sge: gather elements used
 * @length: bytes in all
 */
struct kverbs_piece {
	u64 addr;
	u32 rkey;
	u32 nr_sge;
	u32 length;
};

void kverbs_slice_init(struct kverbs_slice *s, const struct kverbs_source *source,
		       u64 source_offset, const struct kverbs_target *target,
		       u64 target_offset, u64 length);
bool kverbs_slice_next(struct kverbs_slice *s, const struct kverbs_slice_limits *limits,
		       struct kverbs_piece *piece, struct ib_sge *sge);

#endif /* KVERBS_SLICE_H */
