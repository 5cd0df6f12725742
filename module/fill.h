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

bool kverbs_fill(struct kverbs_transfer *t);
void kverbs_fill_reclaim(struct kverbs_transfer *t);

#endif /* KVERBS_FILL_H */
