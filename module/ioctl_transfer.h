/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits of SUBMIT and WAIT.
 */
#ifndef KVERBS_IOCTL_TRANSFER_H
#define KVERBS_IOCTL_TRANSFER_H

#define KVERBS_MAX_BATCH	4096	/* items of one SUBMIT, events of one WAIT */

#endif /* KVERBS_IOCTL_TRANSFER_H */
