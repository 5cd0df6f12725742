/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KVERBS_TRANSFER_H
#define _KVERBS_TRANSFER_H

#include "moments.h"
#include "sha.h"
#include "tool.h"

#define TIMEOUT_S	10		/* to connect, and to be offered memory */
#define TIMEOUT_MAX	86400
#define BLOCK_SIZE	(1024ULL * 1024)
#define BLOCK_MAX	(1024 * BLOCK_SIZE)

/* struct transfer - one file on its way to a peer */
struct transfer {
	/* asked for */
	__u8 target[KVERBS_ADDR_MAX];
	__u8 source[KVERBS_ADDR_MAX];
	const char *source_text;
	const char *path;
	__u32 until;
	__u32 depth;
	__u32 poll;
	__u64 block;
	__u64 timeout_s;		/* 0: the defaults */
	/* the file, and what its first failure was */
	int file;
	__u64 size;
	struct problem problem;
	bool failed;
	/* the peer */
	int fd;
	__u32 conn_id;
	__u32 region_id;
	char local[KVERBS_ADDR_TEXT];
	char peer[KVERBS_ADDR_TEXT];
	char device[KVERBS_NAME_MAX];
	/* the ring */
	__u32 buf_id;
	__u8 *ring;
	unsigned int slots;
	__u64 busy;
	/* what has happened */
	__u64 blocks;
	__u64 next;
	__u64 ended;
	__u64 placed[KVERBS_PLACEMENT_UNSENT + 1];
	struct kverbs_event failure;
	struct sha256_ctx sha;
	struct moments moments;
};

/**
 * transfer_run() - write the file and report
 * @t: with file, connection and region
 *
 * Return: enum outcome
 */
int transfer_run(struct transfer *t);

/**
 * transfer_ends() - put device and both addresses into the problem
 * @t: whose
 */
void transfer_ends(struct transfer *t);

#endif /* _KVERBS_TRANSFER_H */
