/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KVERBS_HIST_H
#define _KVERBS_HIST_H

#include <linux/types.h>

#define HIST_LINEAR	6	/* 2^6 buckets for each power of two */
#define HIST_TOP	40	/* values below 2^40: as nanoseconds, 18 minutes */
#define HIST_BUCKETS	((HIST_TOP - HIST_LINEAR + 1) << HIST_LINEAR)

/**
 * struct hist - a log-linear histogram; all zero is an empty one
 * @nr: values
 * @min: the least, exactly
 * @max: the greatest, exactly
 * @count: values in each bucket
 */
struct hist {
	__u64 nr;
	__u64 min;
	__u64 max;
	__u64 count[HIST_BUCKETS];
};

/**
 * hist_add() - one more value
 * @hist: where to
 * @value: from 2^40 on it is counted, and kept as @hist->max, but not told apart
 */
void hist_add(struct hist *hist, __u64 value);

/**
 * hist_merge() - add all values of another histogram
 * @hist: where to
 * @more: the other
 */
void hist_merge(struct hist *hist, const struct hist *more);

/**
 * hist_value() - the value that a part of all values does not exceed
 * @hist: where from
 * @part: in ten-thousandths: 5000 is the median; 0 is the least, 10000 the
 *	greatest value
 *
 * Return: the value, less than 1/64 of itself away from the right one; 0 when
 * there are none.
 */
__u64 hist_value(const struct hist *hist, unsigned int part);

#endif /* _KVERBS_HIST_H */
