// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices: an ib_client and its list of devices. See device.h.
 *
 * The core calls add() and remove(); everyone else finds a device by its
 * ib_device pointer in our own list, which is only compared and never followed,
 * so a lookup that races with removal finds nothing rather than freed memory.
 *
 * Removal goes in this order: off the list (no new lookups), removing (no new
 * users), tell every user, give up the list's reference, and wait until the
 * last one goes. The wait cannot be interrupted, so whoever is notified leaves
 * in bounded time, without user space.
 *
 * Which devices: those that offer kernel verbs at all (the core does not show
 * us the others) and have a gather element to send from. A device without fast
 * registration is kept: RDMA Write needs no registration at the writing end. It
 * cannot expose memory, and says so with fast_reg_pages 0.
 */
#include <linux/slab.h>

#include <linux/kverbs.h>
#include "device.h"
#include "slice.h"

/*
 * Pages of one fast registration, at most. Some devices take tens of thousands
 * and allocate for the most that was asked for; more keys cost less.
 */
#define KVERBS_FAST_REG_MAX	512

static DEFINE_MUTEX(kverbs_devs_lock);	/* guards kverbs_devs and its links */
static LIST_HEAD(kverbs_devs);

static u32 kverbs_dev_fast_reg_pages(const struct ib_device_attr *attrs)
{
	if (!(attrs->device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS))
		return 0;
	return min_t(u32, attrs->max_fast_reg_page_list_len, KVERBS_FAST_REG_MAX);
}

static int kverbs_dev_limits(struct kverbs_dev *dev)
{
	u32 port = rdma_start_port(dev->ib);
	struct ib_port_attr attr;
	int ret;

	ret = ib_query_port(dev->ib, port, &attr);
	if (ret)
		return ret;
	dev->max_msg = attr.max_msg_sz;
	dev->max_sge = clamp(dev->ib->attrs.max_send_sge, 0, KVERBS_SLICE_SGE);
	dev->max_read_sge = clamp_t(u32, dev->ib->attrs.max_sge_rd, 1, dev->max_sge);
	dev->rd_atomic = clamp(min(dev->ib->attrs.max_qp_rd_atom,
				   dev->ib->attrs.max_qp_init_rd_atom), 0, KVERBS_RD_ATOMIC);
	dev->atomic = dev->ib->attrs.atomic_cap != IB_ATOMIC_NONE && dev->rd_atomic;
	dev->fast_reg_pages = kverbs_dev_fast_reg_pages(&dev->ib->attrs);
	dev->iwarp = rdma_protocol_iwarp(dev->ib, port);
	return dev->max_msg && dev->max_sge ? 0 : -EOPNOTSUPP;
}

static struct ib_client kverbs_client;

static int kverbs_device_add(struct ib_device *ib)
{
	struct kverbs_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	int ret;

	if (!dev)
		return -ENOMEM;
	dev->ib = ib;
	ret = kverbs_dev_limits(dev);
	if (ret) {
		ibdev_dbg(ib, "kverbs cannot use this device: %d\n", ret);
		kfree(dev);
		return ret;
	}
	kref_init(&dev->ref);
	mutex_init(&dev->lock);
	INIT_LIST_HEAD(&dev->users);
	init_completion(&dev->idle);
	atomic_set(&dev->connections, 0);
	ib_set_client_data(ib, &kverbs_client, dev);

	mutex_lock(&kverbs_devs_lock);
	list_add_tail(&dev->list, &kverbs_devs);
	mutex_unlock(&kverbs_devs_lock);
	return 0;
}

static void kverbs_device_remove(struct ib_device *ib, void *client_data)
{
	struct kverbs_dev *dev = client_data;
	struct kverbs_dev_user *user;

	mutex_lock(&kverbs_devs_lock);
	list_del(&dev->list);
	mutex_unlock(&kverbs_devs_lock);

	mutex_lock(&dev->lock);
	dev->removing = true;
	list_for_each_entry(user, &dev->users, list)
		user->notify(user);
	mutex_unlock(&dev->lock);

	kverbs_dev_put(dev);
	wait_for_completion(&dev->idle);
	mutex_destroy(&dev->lock);
	kfree(dev);
}

static struct ib_client kverbs_client = {
	.name = "kverbs",
	.add = kverbs_device_add,
	.remove = kverbs_device_remove,
};

/**
 * kverbs_device_init() - begin to follow devices
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOMEM.
 */
int kverbs_device_init(void)
{
	return ib_register_client(&kverbs_client);
}

/**
 * kverbs_device_exit() - stop following devices; waits until all users left
 *
 * Context: Process context, may sleep.
 */
void kverbs_device_exit(void)
{
	ib_unregister_client(&kverbs_client);
}

/**
 * kverbs_dev_get() - find a device
 * @ib: any pointer; it is compared, not followed
 *
 * Context: Process context, may sleep.
 * Return: the device with a reference for the caller, which keeps @ib valid and
 * its removal waiting; NULL when kverbs does not know it (any more).
 */
struct kverbs_dev *kverbs_dev_get(struct ib_device *ib)
{
	struct kverbs_dev *dev, *found = NULL;

	mutex_lock(&kverbs_devs_lock);
	list_for_each_entry(dev, &kverbs_devs, list) {
		if (dev->ib == ib) {
			kref_get(&dev->ref);
			found = dev;
			break;
		}
	}
	mutex_unlock(&kverbs_devs_lock);
	return found;
}

static void kverbs_dev_idle(struct kref *ref)
{
	struct kverbs_dev *dev = container_of(ref, struct kverbs_dev, ref);

	complete(&dev->idle);
}

/**
 * kverbs_dev_put() - give a reference back
 * @dev: the device
 *
 * Context: Any.
 */
void kverbs_dev_put(struct kverbs_dev *dev)
{
	kref_put(&dev->ref, kverbs_dev_idle);
}

/**
 * kverbs_dev_join() - announce verbs objects on a device
 * @dev: the device; the caller holds a reference. On success @user holds one of
 *	its own until it leaves
 * @user: has not joined
 * @notify: see &struct kverbs_dev_user; it may be called before this returns
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENODEV when the device is going.
 */
int kverbs_dev_join(struct kverbs_dev *dev, struct kverbs_dev_user *user,
		    void (*notify)(struct kverbs_dev_user *user))
{
	int ret = -ENODEV;

	mutex_lock(&dev->lock);
	if (!dev->removing) {
		kref_get(&dev->ref);
		user->dev = dev;
		user->notify = notify;
		list_add_tail(&user->list, &dev->users);
		ret = 0;
	}
	mutex_unlock(&dev->lock);
	return ret;
}

/**
 * kverbs_dev_leave() - the verbs objects are gone
 * @user: has joined, or not (then nothing happens); it will not be notified
 *	when this has returned
 *
 * Context: Process context, may sleep. Not from @user's notify.
 */
void kverbs_dev_leave(struct kverbs_dev_user *user)
{
	struct kverbs_dev *dev = user->dev;

	if (!dev)
		return;
	mutex_lock(&dev->lock);
	list_del(&user->list);
	user->dev = NULL;
	mutex_unlock(&dev->lock);
	kverbs_dev_put(dev);
}

/**
 * kverbs_dev_transport() - what carries the verbs of a port
 * @dev: the device
 * @port: port number
 *
 * Context: Any.
 * Return: enum kverbs_transport.
 */
u32 kverbs_dev_transport(struct kverbs_dev *dev, u32 port)
{
	if (!rdma_is_port_valid(dev->ib, port))
		return KVERBS_TRANSPORT_OTHER;
	if (rdma_protocol_iwarp(dev->ib, port))
		return KVERBS_TRANSPORT_IWARP;
	if (rdma_protocol_roce(dev->ib, port))
		return KVERBS_TRANSPORT_ROCE;
	if (rdma_protocol_ib(dev->ib, port))
		return KVERBS_TRANSPORT_IB;
	return KVERBS_TRANSPORT_OTHER;
}

/**
 * kverbs_dev_features() - what connections on a device can do
 * @dev: the device
 *
 * A sink of a read on iWARP is named by a remotely writable key (RFC 5040,
 * section 2.2), so reads need registrations there.
 *
 * Context: Any.
 * Return: bits of enum kverbs_feature.
 */
u32 kverbs_dev_features(const struct kverbs_dev *dev)
{
	u32 features = KVERBS_FEATURE_WRITE | KVERBS_FEATURE_NOTIFY |
		       KVERBS_FEATURE_PERSIST | KVERBS_FEATURE_SEND;

	if (!dev->iwarp)
		features |= KVERBS_FEATURE_IMM;
	if (dev->atomic)
		features |= KVERBS_FEATURE_ATOMIC;
	if (dev->fast_reg_pages)
		features |= KVERBS_FEATURE_REG;
	if (dev->rd_atomic && (!dev->iwarp || dev->fast_reg_pages))
		features |= KVERBS_FEATURE_READ;
	return features;
}

static void kverbs_dev_describe(struct kverbs_dev *dev, struct kverbs_device *info)
{
	const struct ib_device_attr *attrs = &dev->ib->attrs;

	*info = (struct kverbs_device) {
		.transport = kverbs_dev_transport(dev, rdma_start_port(dev->ib)),
		.ports = dev->ib->phys_port_cnt,
		.numa_node = ibdev_to_node(dev->ib),
		.comp_vectors = dev->ib->num_comp_vectors,
		.max_qp_wr = attrs->max_qp_wr,
		.max_send_sge = attrs->max_send_sge,
		.max_cqe = attrs->max_cqe,
		.max_mr = attrs->max_mr,
		.max_qp = attrs->max_qp,
		.fast_reg_pages = dev->fast_reg_pages,
		.max_msg = dev->max_msg,
		.virt_dma = ib_uses_virt_dma(dev->ib),
		.connections = atomic_read(&dev->connections),
		.features = kverbs_dev_features(dev),
	};
	/* dev_name() may be freed by a rename; this array only changes. */
	strscpy(info->name, dev->ib->name, sizeof(info->name));
}

/**
 * kverbs_dev_list() - describe the devices
 * @info: array to fill, may be NULL when @room is 0
 * @room: entries of @info
 *
 * Context: Process context, may sleep.
 * Return: how many devices there are, which may be more than @room.
 */
u32 kverbs_dev_list(struct kverbs_device *info, u32 room)
{
	struct kverbs_dev *dev;
	u32 nr = 0;

	mutex_lock(&kverbs_devs_lock);
	list_for_each_entry(dev, &kverbs_devs, list) {
		if (nr < room)
			kverbs_dev_describe(dev, &info[nr]);
		nr++;
	}
	mutex_unlock(&kverbs_devs_lock);
	return nr;
}
