/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fill: a transfer into work requests.
 *
 * Called by the pump, with the send queue's lock held; it never sleeps and never
 * allocates. What does not fit now is put when slots or credits have come free:
 * the transfer remembers where it was.
 */
#ifndef KVERBS_FILL_H
#define KVERBS_FILL_H

#include "transfer.h"

/* Work requests that belong into one chain: invalidate, register, write, DONE. */
#define KVERBS_FILL_MOST	4

bool kverbs_fill(struct kverbs_transfer *t);

#endif /* KVERBS_FILL_H */
