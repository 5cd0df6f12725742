/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The floor: what a provider does when nothing stands between it and a loop.
 *
 * kverbs_raw.ko makes a connection of its own to itself by rdma_cm, with one
 * allocated buffer at each end, and posts prebuilt chains of RDMA Writes or Reads
 * as fast as they complete. /dev/kverbs_raw takes one ioctl, which does all of it
 * and returns when the connection is gone again. It shares no code with
 * kverbs.ko and needs nothing of it.
 */
#ifndef _KVERBS_RAW_H
#define _KVERBS_RAW_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define KVERBS_RAW_FILE		"/dev/kverbs_raw"

#define KVERBS_RAW_READ		(1 << 0)	/* RDMA Read, not Write */
/*
 * Post from the caller's thread with bottom halves off, every chain, and wake it
 * for each. Otherwise a chain is posted again by the completion of its last work
 * request, in the poll context, and the thread sleeps (or polls) until the end.
 */
#define KVERBS_RAW_BH		(1 << 1)

/**
 * struct kverbs_raw - one run
 * @size: sizeof(struct kverbs_raw)
 * @flags: KVERBS_RAW_*
 * @addr: struct sockaddr_in or sockaddr_in6: own address, port 0 = any
 * @poll: enum kverbs_poll of the send completion queue
 * @length: bytes of one operation, 1 to 4 MiB. EMSGSIZE if the device cannot
 *	cover them by one registration (rxe: more than 2 MiB; siw: 1 MiB)
 * @depth: work requests on the send queue at once, 1 to 8192
 * @chain: work requests handed over at once, 1 to @depth, a divisor of @depth
 * @signal: every how many a work request is signaled, 1 to @chain, a divisor of
 *	@chain
 * @count: operations measured, not 0, a multiple of @chain, less than 2^32 chains
 * @warmup: operations before them, the same, or 0. The measured ones begin when
 *	all of these have completed
 * @nr_samples: room in @samples, at most 2^24; 0 without @samples
 * @reserved: must be 0
 * @samples: user pointer to __u64[@nr_samples]: for each chain, in order, the
 *	nanoseconds from its post to its last completion; or 0
 * @done: out: operations that succeeded
 * @ns: out: CLOCK_MONOTONIC nanoseconds from the first measured post to the last
 *	completion
 * @different: out: bytes of the target that differ from the source at the end
 *
 * Killable. Returns 0, or -1 with the errno of what failed first.
 */
struct kverbs_raw {
	__u32 size;
	__u32 flags;
	__u8 addr[28];
	__u32 poll;
	__u32 length;
	__u32 depth;
	__u32 chain;
	__u32 signal;
	__aligned_u64 count;
	__aligned_u64 warmup;
	__u32 nr_samples;
	__u32 reserved;
	__aligned_u64 samples;
	__aligned_u64 done;
	__aligned_u64 ns;
	__aligned_u64 different;
};

#define KVERBS_RAW_RUN		_IO(0xBA, 0xf0)

#endif /* _KVERBS_RAW_H */
