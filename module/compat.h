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

#endif /* KVERBS_COMPAT_H */
