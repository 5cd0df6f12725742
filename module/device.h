/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Devices: which RDMA devices there are, their limits, and whom to tell when
 * one goes.
 *
 * An ib_client tells of every device that comes and goes. A device may go at
 * any time and its removal waits for us, so whoever has verbs objects on it
 * *joins* and is notified; removal is over when all have left. Notified users
 * never wait for user space.
 */
#ifndef KVERBS_DEVICE_H
#define KVERBS_DEVICE_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

struct kverbs_device;	/* uapi */

#define KVERBS_RD_ATOMIC	16	/* reads and atomics on the way at once, at most */

/**
 * struct kverbs_dev - one RDMA device
 * @list: link in the list of all; guarded by that list's mutex
 * @ref: held by the list until removal, by users, and by lookups
 * @ib: the device; valid while a reference is held
 * @lock: guards @users and @removing
 * @users: struct kverbs_dev_user
 * @removing: takes no more users
 * @idle: completed when the last reference goes
 * @connections: connections on it now
 * @iwarp: port 1 speaks iWARP
 * @fast_reg_pages: pages of one fast registration
 * @max_msg: largest message of port 1, bytes
 * @max_sge: gather elements of a write that kverbs uses
 * @max_read_sge: the same, of a read
 * @rd_atomic: reads and atomics on the way at once, each way; 0 = cannot
 * @atomic: has atomics
 */
struct kverbs_dev {
	struct list_head list;
	struct kref ref;
	struct ib_device *ib;
	struct mutex lock;	/* guards users, removing */
	struct list_head users;
	bool removing;
	struct completion idle;
	atomic_t connections;
	bool iwarp;
	u32 fast_reg_pages;
	u32 max_msg;
	u32 max_sge;
	u32 max_read_sge;
	u8 rd_atomic;
	bool atomic;
};

/**
 * struct kverbs_dev_user - someone with verbs objects on a device
 * @list: link in @dev's users
 * @dev: the device, held while joined; NULL otherwise
 * @notify: the device is going: let go soon, then leave. Called once at most,
 *	in process context with the device's lock held: it may queue work, it
 *	must not wait and must not leave by itself
 */
struct kverbs_dev_user {
	struct list_head list;
	struct kverbs_dev *dev;
	void (*notify)(struct kverbs_dev_user *user);
};

int kverbs_device_init(void);
void kverbs_device_exit(void);
struct kverbs_dev *kverbs_dev_get(struct ib_device *ib);
void kverbs_dev_put(struct kverbs_dev *dev);
int kverbs_dev_join(struct kverbs_dev *dev, struct kverbs_dev_user *user,
		    void (*notify)(struct kverbs_dev_user *user));
void kverbs_dev_leave(struct kverbs_dev_user *user);
u32 kverbs_dev_transport(struct kverbs_dev *dev, u32 port);
u32 kverbs_dev_features(const struct kverbs_dev *dev);
u32 kverbs_dev_list(struct kverbs_device *info, u32 room);

#endif /* KVERBS_DEVICE_H */
