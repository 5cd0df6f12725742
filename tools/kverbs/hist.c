// SPDX-License-Identifier: GPL-2.0-only
/*
 * A histogram of fixed size for values of any number. Below 2^6 each value has a
 * bucket of its own; above, each power of two is cut into 2^6 buckets of equal
 * width. So a bucket is never wider than 1/64 of the values in it, and its middle
 * never further away than half of that. Least and greatest value are kept exactly.
 */

#include "hist.h"

#define PER_POWER	(1U << HIST_LINEAR)

static unsigned int bucket_of(__u64 value)
{
	unsigned int shift;

	if (value < PER_POWER)
		return value;
	if (value >> HIST_TOP)
		return HIST_BUCKETS - 1;
	/* The highest bit says which power; the 6 below it, which part of it. */
	shift = 63 - __builtin_clzll(value) - HIST_LINEAR;
	return (shift << HIST_LINEAR) + (value >> shift);
}

static __u64 middle_of(unsigned int bucket)
{
	unsigned int shift;

	if (bucket < 2 * PER_POWER)
		return bucket;
	shift = (bucket >> HIST_LINEAR) - 1;
	return ((__u64)(PER_POWER + bucket % PER_POWER) << shift) + (1ULL << shift) / 2;
}

void hist_add(struct hist *hist, __u64 value)
{
	if (!hist->nr || value < hist->min)
		hist->min = value;
	if (value > hist->max)
		hist->max = value;
	hist->nr++;
	hist->count[bucket_of(value)]++;
}

void hist_merge(struct hist *hist, const struct hist *more)
{
	unsigned int i;

	if (!more->nr)
		return;
	if (!hist->nr || more->min < hist->min)
		hist->min = more->min;
	if (more->max > hist->max)
		hist->max = more->max;
	hist->nr += more->nr;
	for (i = 0; i < HIST_BUCKETS; i++)
		hist->count[i] += more->count[i];
}

__u64 hist_value(const struct hist *hist, unsigned int part)
{
	__u64 rank, seen = 0, value;
	unsigned int i;

	/* Of n values, the one that is ceil(n * part / 10000)th from below. */
	rank = hist->nr / 10000 * part + (hist->nr % 10000 * part + 9999) / 10000;
	if (rank <= 1)
		return hist->min;
	if (rank >= hist->nr)
		return hist->max;
	for (i = 0; i < HIST_BUCKETS - 1; i++) {
		seen += hist->count[i];
		if (seen >= rank)
			break;
	}
	value = middle_of(i);
	if (value < hist->min)
		return hist->min;
	return value > hist->max ? hist->max : value;
}
