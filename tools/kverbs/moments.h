/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KVERBS_MOMENTS_H
#define _KVERBS_MOMENTS_H

#include "tool.h"

/**
 * struct sample - when one write came to which moment
 * @stamps: nanoseconds, 0 when not reached
 */
struct sample {
	__u64 stamps[KVERBS_MOMENTS];
};

/**
 * struct moments - the times of a transfer's writes
 * @first: of its first block
 * @last: of its last block
 * @kept: every @stride-th, for the median
 * @nr: how many are in @kept
 * @seen: how many writes there were
 * @stride: 1, and doubled each time that @kept is full
 */
struct moments {
	struct sample first;
	struct sample last;
	struct sample *kept;
	size_t nr;
	__u64 seen;
	__u64 stride;
};

/**
 * moments_add() - one more write has ended well
 * @moments: all zero at first
 * @event: its final event
 */
void moments_add(struct moments *moments, const struct kverbs_event *event);

/**
 * moments_print() - print the table: first, median and last write
 * @moments: with at least one write
 */
void moments_print(struct moments *moments);

/**
 * moments_free() - drop the memory
 * @moments: which
 */
void moments_free(struct moments *moments);

#endif /* _KVERBS_MOMENTS_H */
