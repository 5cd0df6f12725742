/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * io_uring: one item of work for each SQE.
 */
#ifndef KVERBS_URING_H
#define KVERBS_URING_H

#ifdef CONFIG_IO_URING

struct io_uring_cmd;

int kverbs_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);

#else

#define kverbs_uring_cmd	NULL

#endif

#endif /* KVERBS_URING_H */
