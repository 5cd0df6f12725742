/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What those who submit have in common.
 */
#ifndef KVERBS_IOCTL_TRANSFER_H
#define KVERBS_IOCTL_TRANSFER_H

#include "batch.h"

#define KVERBS_MAX_BATCH	4096	/* items of one SUBMIT, events of one WAIT */

int kverbs_batch_add_items(struct kverbs_batch *batch, struct kverbs_connection *conn,
			   const struct kverbs_item *item, u32 nr);

#endif /* KVERBS_IOCTL_TRANSFER_H */
