// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slice: one range of bytes into pieces that fit one work request each.
 *
 * Two rulers lie along the range: the source's extents and the target's key
 * spans. A piece starts at the cursor; how long it may get is known from the
 * target and the limits, and gathering extents up to that length, or until the
 * gather list is full, makes it.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include "slice.h"

/* Index of the extent that byte @offset of the source lies in. */
static u32 extent_of(const struct kverbs_source *source, u64 offset)
{
	u32 low = 0, high = source->nr;

	while (high - low > 1) {
		u32 mid = low + (high - low) / 2;

		if (source->extent[mid].offset <= offset)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/**
 * kverbs_slice_init() - set a cursor to the start of a range
 * @s: the cursor; it points to @source and @target, which must stay
 * @source: where bytes come from
 * @source_offset: first byte in the source
 * @target: where bytes go to
 * @target_offset: first byte in the target region
 * @length: bytes; the range must lie within source and target
 *
 * Context: Any.
 */
void kverbs_slice_init(struct kverbs_slice *s, const struct kverbs_source *source,
		       u64 source_offset, const struct kverbs_target *target,
		       u64 target_offset, u64 length)
{
	u32 extent = extent_of(source, source_offset);

	*s = (struct kverbs_slice) {
		.source = source,
		.target = target,
		.extent = extent,
		.skip = source_offset - source->extent[extent].offset,
		.offset = target_offset,
		.left = length,
	};
}

/* Gather at most @want bytes from one extent and move the cursor behind them. */
static u32 slice_gather(struct kverbs_slice *s, u32 want, u32 lkey, struct ib_sge *sge)
{
	const struct kverbs_extent *extent = &s->source->extent[s->extent];
	u32 got = min(want, extent->length - s->skip);

	sge->addr = extent->addr + s->skip;
	sge->length = got;
	sge->lkey = lkey;
	s->skip += got;
	if (s->skip == extent->length) {
		s->extent++;
		s->skip = 0;
	}
	return got;
}

/**
 * kverbs_slice_next() - cut the next piece off
 * @s: the cursor
 * @limits: what the piece may be
 * @piece: result
 * @sge: result, room for @limits->max_sge elements
 *
 * Context: Any; the owner of the cursor serialises.
 * Return: true; false when nothing is left, and then nothing is written.
 */
bool kverbs_slice_next(struct kverbs_slice *s, const struct kverbs_slice_limits *limits,
		       struct kverbs_piece *piece, struct ib_sge *sge)
{
	const struct kverbs_target *t = s->target;
	u64 key, done;
	u32 most;

	if (!s->left)
		return false;
	key = div64_u64_rem(t->lead + s->offset, t->span, &done);
	most = min3(s->left, t->span - done, (u64)limits->max_bytes);
	piece->addr = t->addr + s->offset;
	piece->rkey = t->key[key];
	piece->nr_sge = 1;
	piece->length = slice_gather(s, most, limits->lkey, sge);
	while (piece->length < most && piece->nr_sge < limits->max_sge)
		piece->length += slice_gather(s, most - piece->length, limits->lkey,
					      &sge[piece->nr_sge++]);
	s->offset += piece->length;
	s->left -= piece->length;
	return true;
}
