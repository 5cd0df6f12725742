// SPDX-License-Identifier: GPL-2.0-only
/*
 * kverbs: an in-kernel RDMA client.
 *
 * Moves data by RDMA, above all by RC RDMA Write, for processes that hold
 * /dev/kverbs, with the kernel's own verbs and rdma_cm. The floors of the house,
 * ground first:
 *
 *	ground	wire slice slots credit event context trace
 *	device	device memory mr qp
 *	link	connection cm control
 *	work	region batch transfer fill work
 *	face	chardev ioctl_* uring debugfs
 *
 * No include points upward.
 */
#include <linux/module.h>

#include "chardev.h"
#include "connection.h"
#include "debugfs.h"
#include "device.h"
#include "memory.h"

static int __init kverbs_init(void)
{
	int ret;

	ret = kverbs_memory_init();
	if (ret)
		return ret;
	ret = kverbs_connection_init();
	if (ret)
		goto err_memory;
	ret = kverbs_device_init();
	if (ret)
		goto err_connection;
	ret = kverbs_chardev_init();
	if (ret)
		goto err_device;
	kverbs_debugfs_init();
	return 0;

err_device:
	kverbs_device_exit();
err_connection:
	kverbs_connection_exit();
err_memory:
	kverbs_memory_exit();
	return ret;
}

/* No file is open; the devices' removal waits for what is left of connections. */
static void __exit kverbs_exit(void)
{
	kverbs_debugfs_exit();
	kverbs_chardev_exit();
	kverbs_device_exit();
	kverbs_connection_exit();
	kverbs_memory_exit();
}

module_init(kverbs_init);
module_exit(kverbs_exit);

MODULE_DESCRIPTION("In-kernel RDMA client: RDMA Write through kernel verbs");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
