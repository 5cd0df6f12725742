/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compat: the only file that knows kernel versions.
 *
 * Each item says since when the newer form exists. Signatures are chosen by
 * version, features by Kconfig symbols; what all supported kernels (6.1, 6.12,
 * 7.2) have in common needs no entry here.
 */
#ifndef KVERBS_COMPAT_H
#define KVERBS_COMPAT_H

#include <linux/mm.h>
#include <linux/version.h>

/*
 * How to pin pages that a device only reads.
 *
 * Before 6.2 a long-term read-only pin did not break copy-on-write for pages
 * that are not anonymous yet (never touched, or of a private file mapping):
 * the first write after the pin gave the process another page than the device
 * has. As ib_umem did in these kernels, ask for write access and force it, so
 * that the copy is made before the pin. The price: a shared read-only mapping
 * cannot be pinned at all there (EFAULT).
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define KVERBS_PIN_READ		(FOLL_LONGTERM | FOLL_WRITE | FOLL_FORCE)
#else
#define KVERBS_PIN_READ		FOLL_LONGTERM
#endif

/* How to pin pages that a device may write. */
#define KVERBS_PIN_WRITE	(FOLL_LONGTERM | FOLL_WRITE)

/* vma->vm_flags is written through vm_flags_set() since 6.3. */
static inline void kverbs_vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	vma->vm_flags |= flags;
#else
	vm_flags_set(vma, flags);
#endif
}

#ifdef CONFIG_IO_URING

/* Commands have a header of their own since 6.8. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#include <linux/io_uring.h>
#else
#include <linux/io_uring/cmd.h>
#endif

/* The flags of a command that are its program's; the upper ones are io_uring's. */
#define KVERBS_URING_FLAGS	0x00ffffffU

/* The bytes that a command brings: it knows its whole SQE since 6.5. */
static inline const void *kverbs_uring_payload(const struct io_uring_cmd *cmd)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	return cmd->cmd;
#else
	return cmd->sqe->cmd;
#endif
}

/* A command that is marked can be asked to end since 6.7; 0: it cannot. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
#define KVERBS_URING_CANCEL	0
static inline void kverbs_uring_mark_cancelable(struct io_uring_cmd *cmd,
						unsigned int issue_flags)
{
}
#else
#define KVERBS_URING_CANCEL	IO_URING_F_CANCEL
static inline void kverbs_uring_mark_cancelable(struct io_uring_cmd *cmd,
						unsigned int issue_flags)
{
	io_uring_cmd_mark_cancelable(cmd, issue_flags);
}
#endif

/* A command has one result alone since 6.18. */
static inline void kverbs_uring_done(struct io_uring_cmd *cmd, int res,
				     unsigned int issue_flags)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
	io_uring_cmd_done(cmd, res, 0, issue_flags);
#else
	io_uring_cmd_done(cmd, res, issue_flags);
#endif
}

/*
 * KVERBS_URING_TASK_WORK(NAME, FN): define a function NAME, to be called in a
 * command's task, that calls FN(cmd, issue_flags). It gets a request rather than a
 * command since 6.19.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 19, 0)
#define KVERBS_URING_TASK_WORK(name, fn)					\
	static void name(struct io_uring_cmd *cmd, unsigned int issue_flags)	\
	{									\
		fn(cmd, issue_flags);						\
	}
#else
#define KVERBS_URING_TASK_WORK(name, fn)					\
	static void name(struct io_tw_req req, io_tw_token_t token)		\
	{									\
		fn(io_uring_cmd_from_tw(req), IO_URING_CMD_TASK_WORK_ISSUE_FLAGS); \
	}
#endif

/*
 * kverbs_uring_in_task(cmd, NAME): call it in the command's task; from any context.
 * Since 6.5 a task that waits for several CQEs need not be woken for each of them.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define kverbs_uring_in_task	io_uring_cmd_complete_in_task
#else
#define kverbs_uring_in_task	io_uring_cmd_do_in_task_lazy
#endif

#endif /* CONFIG_IO_URING */

#endif /* KVERBS_COMPAT_H */
