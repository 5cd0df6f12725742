/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * debugfs: what connections are doing, for people. See Documentation/ABI/debugfs.
 */
#ifndef KVERBS_DEBUGFS_H
#define KVERBS_DEBUGFS_H

void kverbs_debugfs_init(void);
void kverbs_debugfs_exit(void);

#endif /* KVERBS_DEBUGFS_H */
