// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/kverbs: open, the table of ioctls, mmap, poll, and what closing does.
 *
 * Every ioctl is a row of one table: its number, the size of its struct, and
 * the size of the struct's first version. One copy in, one handler, one reply.
 *
 * Closing ends everything that hangs off the file, all connections at once, and
 * waits for their teardowns, which are bounded. What is not over by then goes on
 * by itself: nothing of it needs the file.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "chardev.h"
#include "cm.h"
#include "ioctl.h"
#include "uring.h"

#define KVERBS_LAST_FIELD(type, member) \
	(offsetof(type, member) + sizeof_field(type, member))

/**
 * struct kverbs_ioctl - a row of the table
 * @cmd: the whole number
 * @size: of the struct
 * @min_size: of its first version
 * @handler: does it
 */
struct kverbs_ioctl {
	unsigned int cmd;
	u32 size;
	u32 min_size;
	int (*handler)(struct kverbs_call *call);
};

#define KVERBS_IOCTL(_cmd, _type, _last, _handler)			\
	[_IOC_NR(_cmd) - KVERBS_CMD_BASE] = {				\
		.cmd = _cmd,						\
		.size = sizeof(struct _type) +				\
			BUILD_BUG_ON_ZERO(sizeof(struct _type) >	\
					  sizeof(union kverbs_cmd)),	\
		.min_size = KVERBS_LAST_FIELD(struct _type, _last),	\
		.handler = _handler,					\
	}

static const struct kverbs_ioctl kverbs_ioctls[] = {
	KVERBS_IOCTL(KVERBS_QUERY, kverbs_query, wr_ceiling, kverbs_ioctl_query),
	KVERBS_IOCTL(KVERBS_CONN_QUERY, kverbs_conn_query, error, kverbs_ioctl_conn_query),
	KVERBS_IOCTL(KVERBS_BUF_REGISTER, kverbs_buf_register, reserved,
		     kverbs_ioctl_buf_register),
	KVERBS_IOCTL(KVERBS_BUF_ALLOC, kverbs_buf_alloc, mmap_offset, kverbs_ioctl_buf_alloc),
	KVERBS_IOCTL(KVERBS_DESTROY, kverbs_destroy, id, kverbs_ioctl_destroy),
	KVERBS_IOCTL(KVERBS_LISTEN, kverbs_listen, error, kverbs_ioctl_listen),
	KVERBS_IOCTL(KVERBS_CONNECT, kverbs_connect, error, kverbs_ioctl_connect),
	KVERBS_IOCTL(KVERBS_ACCEPT, kverbs_accept, reserved, kverbs_ioctl_accept),
	KVERBS_IOCTL(KVERBS_DISCONNECT, kverbs_disconnect, timeout_ms,
		     kverbs_ioctl_disconnect),
	KVERBS_IOCTL(KVERBS_ABORT, kverbs_abort, conn_id, kverbs_ioctl_abort),
	KVERBS_IOCTL(KVERBS_REGION_EXPOSE, kverbs_region_expose, tag,
		     kverbs_ioctl_region_expose),
	KVERBS_IOCTL(KVERBS_REGION_LIST, kverbs_region_list, regions,
		     kverbs_ioctl_region_list),
	KVERBS_IOCTL(KVERBS_SUBMIT, kverbs_submit, take, kverbs_ioctl_submit),
	KVERBS_IOCTL(KVERBS_WAIT, kverbs_wait, take, kverbs_ioctl_wait),
	KVERBS_IOCTL(KVERBS_ACK, kverbs_ack, seq, kverbs_ioctl_ack),
	KVERBS_IOCTL(KVERBS_BENCH, kverbs_bench, ns, kverbs_ioctl_bench),
};

/**
 * kverbs_reply() - write the caller's struct
 * @call: the ioctl
 *
 * Context: Process context.
 * Return: 0 or -EFAULT.
 */
int kverbs_reply(struct kverbs_call *call)
{
	if (copy_to_user(call->user, &call->cmd, min(call->user_size, call->size)))
		return -EFAULT;
	return 0;
}

static long kverbs_dispatch(struct kverbs_context *ctx, const struct kverbs_ioctl *row,
			    void __user *user)
{
	struct kverbs_call call = { .ctx = ctx, .user = user, .size = row->size };
	int ret;

	if (get_user(call.user_size, (u32 __user *)user))
		return -EFAULT;
	if (call.user_size < row->min_size)
		return -EINVAL;
	if (call.user_size > PAGE_SIZE)
		return -E2BIG;
	ret = copy_struct_from_user(&call.cmd, row->size, user, call.user_size);
	if (ret)
		return ret;
	return row->handler(&call);
}

static long kverbs_unlocked_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	unsigned int nr = _IOC_NR(cmd) - KVERBS_CMD_BASE;

	if (nr >= ARRAY_SIZE(kverbs_ioctls))
		return -ENOTTY;
	nr = array_index_nospec(nr, ARRAY_SIZE(kverbs_ioctls));
	if (kverbs_ioctls[nr].cmd != cmd)
		return -ENOTTY;
	return kverbs_dispatch(file->private_data, &kverbs_ioctls[nr], (void __user *)arg);
}

static int kverbs_open(struct inode *inode, struct file *file)
{
	struct kverbs_context *ctx = kverbs_context_create(current->nsproxy->net_ns);

	if (!ctx)
		return -ENOMEM;
	file->private_data = ctx;
	return nonseekable_open(inode, file);
}

static void kverbs_close_listeners(struct kverbs_context *ctx)
{
	struct kverbs_object *obj;

	while ((obj = kverbs_context_first(ctx, KVERBS_LISTENER))) {
		kverbs_listener_close(kverbs_to_listener(obj), ECANCELED);
		kverbs_context_unpublish(ctx, obj);
		kverbs_object_put(obj);
	}
}

static void kverbs_end_connection(struct kverbs_object *obj)
{
	kverbs_connection_end(kverbs_to_connection(obj), KVERBS_STEP_LOCAL, ECANCELED);
}

/* End them all first, so that their teardowns run side by side. */
static void kverbs_close_connections(struct kverbs_context *ctx)
{
	unsigned long until = jiffies + msecs_to_jiffies(2 * KVERBS_CLOSE_MS);
	struct kverbs_object *obj;
	long left;

	kverbs_context_for_each(ctx, KVERBS_CONNECTION, kverbs_end_connection);
	while ((obj = kverbs_context_first(ctx, KVERBS_CONNECTION))) {
		left = max_t(long, until - jiffies, 0);
		kverbs_connection_wait_dead(kverbs_to_connection(obj), jiffies_to_msecs(left));
		kverbs_context_unpublish(ctx, obj);
		kverbs_object_put(obj);
	}
}

static void kverbs_forget(struct kverbs_context *ctx, enum kverbs_kind kind)
{
	struct kverbs_object *obj;

	while ((obj = kverbs_context_first(ctx, kind))) {
		kverbs_context_unpublish(ctx, obj);
		kverbs_object_put(obj);
	}
}

static int kverbs_release(struct inode *inode, struct file *file)
{
	struct kverbs_context *ctx = file->private_data;

	kverbs_close_listeners(ctx);
	kverbs_close_connections(ctx);
	kverbs_event_close(&ctx->events);
	kverbs_forget(ctx, KVERBS_REGION);
	kverbs_forget(ctx, KVERBS_REMOTE);
	kverbs_forget(ctx, KVERBS_BUFFER);
	/* The budget is back when close() returns. */
	kverbs_memory_flush();
	kverbs_context_put(ctx);
	return 0;
}

static int kverbs_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct kverbs_context *ctx = file->private_data;
	struct kverbs_object *obj;
	int ret;

	if (vma->vm_pgoff > U32_MAX)
		return -ENOENT;
	obj = kverbs_context_find(ctx, vma->vm_pgoff, KVERBS_BUFFER);
	if (!obj)
		return -ENOENT;
	ret = kverbs_buffer_mmap(kverbs_to_buffer(obj), vma);
	kverbs_object_put(obj);
	return ret;
}

static __poll_t kverbs_poll(struct file *file, struct poll_table_struct *table)
{
	struct kverbs_context *ctx = file->private_data;

	poll_wait(file, &ctx->events.wait, table);
	/* Nothing would wake the sleeper. */
	if (kverbs_context_polls(ctx))
		return EPOLLERR;
	return kverbs_event_pending(&ctx->events) ? EPOLLIN | EPOLLRDNORM : 0;
}

static const struct file_operations kverbs_fops = {
	.owner = THIS_MODULE,
	.open = kverbs_open,
	.release = kverbs_release,
	.unlocked_ioctl = kverbs_unlocked_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.uring_cmd = kverbs_uring_cmd,
	.mmap = kverbs_mmap,
	.poll = kverbs_poll,
	.llseek = noop_llseek,
};

static struct miscdevice kverbs_miscdev = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kverbs",
	.fops = &kverbs_fops,
	.mode = 0600,
};

/**
 * kverbs_chardev_init() - make /dev/kverbs
 *
 * Context: Module init.
 * Return: 0 or -errno.
 */
int kverbs_chardev_init(void)
{
	return misc_register(&kverbs_miscdev);
}

/**
 * kverbs_chardev_exit() - remove /dev/kverbs
 *
 * Context: Module exit: no file is open.
 */
void kverbs_chardev_exit(void)
{
	misc_deregister(&kverbs_miscdev);
}
