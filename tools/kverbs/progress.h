/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KVERBS_PROGRESS_H
#define _KVERBS_PROGRESS_H

#include <linux/types.h>

/**
 * progress_show() - draw the progress bar, if standard error is a terminal and
 *	some time has passed since it was last drawn
 * @done: bytes
 * @size: bytes in all
 */
void progress_show(__u64 done, __u64 size);

/**
 * progress_clear() - take it away
 */
void progress_clear(void);

#endif /* _KVERBS_PROGRESS_H */
