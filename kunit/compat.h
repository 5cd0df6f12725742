/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compat: what a provider has to know about kernel versions. The rooms of
 * ../module have a file of their own for their side.
 */
#ifndef KVERBS_KUNIT_COMPAT_H
#define KVERBS_KUNIT_COMPAT_H

#include <linux/version.h>
#include <rdma/ib_verbs.h>

/* The last argument of create_cq() since 6.11. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define fake_cq_udata	ib_udata
#else
#define fake_cq_udata	uverbs_attr_bundle
#endif

/* reg_user_mr() has a DMA handle before its last argument since 6.17. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define FAKE_DMAH
#else
#define FAKE_DMAH	struct ib_dmah *dmah,
#endif

#endif /* KVERBS_KUNIT_COMPAT_H */
