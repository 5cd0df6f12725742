// SPDX-License-Identifier: GPL-2.0-only
/*
 * io_uring: an item of work as a command, its outcome as the command's CQE.
 *
 * A command is a batch of one. It lives as long as its item: whatever ends that
 * calls kverbs_uring_ended(), under the send queue's lock and in any context but
 * hard interrupt, which sends the command back to its task; only there its CQE is
 * made. So there is one CQE for each command, by the same rule by which there is
 * one final outcome for each item.
 *
 * A command is issued where its submitter is, also when io_uring would rather not
 * sleep (IO_URING_F_NONBLOCK): nothing here waits for a peer, a device or another
 * process. What may sleep is what SUBMIT does as well: a fault on the item, memory
 * allocation, and the mutex under which a buffer is mapped, once for each device.
 * io_uring's way out, -EAGAIN, would issue the command again on a thread of its
 * pool, and items would no longer begin in the order of their SQEs. For the same
 * reason EAGAIN as an outcome does not go back by the return value.
 *
 * A command holds the file. So when its program is gone the file is not released,
 * nor its connections ended, while an item waits for the peer's program: to be
 * consumed, or for a credit that this has not given back. Therefore an item that
 * nobody waits for any more is let go of: one that is not on the device ends, one
 * that is on it is told to want nothing of the peer, and the connection's bound on
 * progress sees to it that it ends soon. Since 6.7 io_uring says when: for every
 * command of a ring that is closed or of a task that ends, again and again until the
 * command is gone, so that a request that comes too early is lost without harm.
 *
 * Before, io_uring only waits, and a task that ends cannot even be killed then. So
 * nothing past COMPLETED is accepted there, and what waits for a credit has a limit:
 * the bound on progress holds for it, too.
 *
 * A command holds its connection too, for the sake of the send queue's lock.
 */
#include <linux/fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "ioctl.h"
#include "ioctl_transfer.h"
#include "uring.h"
#include "work.h"

/**
 * struct kverbs_uring_limit - looks after a command that io_uring does not ask to end
 * @look: looks whether its item is kept from the device
 * @batch: the command's
 * @conn: the command's
 */
struct kverbs_uring_limit {
	struct delayed_work look;
	struct kverbs_batch *batch;
	struct kverbs_connection *conn;
};

/**
 * struct kverbs_uring - what a command remembers, in its own memory
 * @batch: of one item, referenced
 * @conn: where it went, referenced
 * @limit: NULL where none is needed; written with the send queue's lock held
 */
struct kverbs_uring {
	struct kverbs_batch *batch;
	struct kverbs_connection *conn;
	struct kverbs_uring_limit *limit;
};

static struct kverbs_uring *kverbs_uring(struct io_uring_cmd *cmd)
{
	static_assert(sizeof(struct kverbs_uring) <= sizeof_field(struct io_uring_cmd, pdu));
	return (struct kverbs_uring *)cmd->pdu;
}

/* The outcome as a CQE: from here on there is no command any more. */
static void kverbs_uring_tell(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct kverbs_uring uring = *kverbs_uring(cmd);
	struct kverbs_batch *batch = uring.batch;
	int res = batch->code ? -(int)batch->code : (int)batch->reached;

	if (uring.limit)
		cancel_delayed_work_sync(&uring.limit->look);
	kfree(uring.limit);
	/*
	 * Until it is done it may be asked to end, where it can be. Where it cannot,
	 * nothing of ours comes after it: the file goes with it, and the module with
	 * the file.
	 */
	if (KVERBS_URING_CANCEL)
		kverbs_uring_done(cmd, res, issue_flags);
	kverbs_batch_put(batch);
	kverbs_connection_put(uring.conn);
	if (!KVERBS_URING_CANCEL)
		kverbs_uring_done(cmd, res, issue_flags);
}

KVERBS_URING_TASK_WORK(kverbs_uring_tell_in_task, kverbs_uring_tell)

static void kverbs_uring_ended(struct kverbs_batch *batch)
{
	kverbs_uring_in_task(batch->private, kverbs_uring_tell_in_task);
}

/*
 * Nobody waits for this item any more. What is on the device comes back, and when it
 * is back this is the end; what is not, and what waits for the peer, ends now. One
 * that is on the device in part would have to wait for a credit at its end: then the
 * peer is not told, and that is an error.
 */
static void kverbs_uring_let_go(struct kverbs_transfer *t, u32 code)
{
	const u32 told = KVERBS_ITEM_NOTIFY | KVERBS_ITEM_IMM;

	lockdep_assert_held(&t->batch->work->conn->qp.lock);
	if (!t->wrs || t->reached >= KVERBS_COMPLETED) {
		t->error.code = t->error.code ?: code;
		kverbs_transfer_finish(t);
		return;
	}
	t->until = KVERBS_COMPLETED;
	if (t->slice.left && t->flags & told) {
		t->flags &= ~told;
		t->error.code = t->error.code ?: code;
	}
}

/* io_uring's own lock keeps the command from being told meanwhile. */
static void kverbs_uring_cancel(struct io_uring_cmd *cmd)
{
	struct kverbs_uring *uring = kverbs_uring(cmd);
	struct kverbs_connection *conn = uring->conn;
	bool ended = false;

	spin_lock_bh(&conn->qp.lock);
	/* None is left when it has ended, or is not yet accepted. */
	if (uring->batch->left) {
		kverbs_uring_let_go(&uring->batch->transfer[0], ECANCELED);
		ended = !uring->batch->left;
	}
	spin_unlock_bh(&conn->qp.lock);
	/* Others may have stood behind it. */
	if (ended)
		conn->ops->pump(conn);
}

static unsigned long kverbs_uring_bound(const struct kverbs_connection *conn)
{
	return msecs_to_jiffies(conn->attr.no_progress_ms);
}

/* Is its item not on the device, or not wholly? */
static bool kverbs_uring_waits(const struct kverbs_batch *batch)
{
	const struct kverbs_transfer *t = &batch->transfer[0];

	return batch->left && (!t->wrs || t->slice.left);
}

/*
 * Is no data on the device, and has nothing got on for so long? Then it is the peer
 * who is waited for. What we answer the peer meanwhile does not count.
 */
static bool kverbs_uring_stalled(struct kverbs_connection *conn)
{
	return !conn->qp.slots.used[KVERBS_SLOT_DATA] &&
	       time_after(jiffies, kverbs_conn_work(conn)->last_fill +
				   kverbs_uring_bound(conn));
}

static void kverbs_uring_look(struct work_struct *work)
{
	struct kverbs_uring_limit *limit = container_of(to_delayed_work(work),
							struct kverbs_uring_limit, look);
	struct kverbs_connection *conn = limit->conn;
	bool waits, stalled;

	spin_lock_bh(&conn->qp.lock);
	waits = kverbs_uring_waits(limit->batch);
	stalled = waits && kverbs_uring_stalled(conn);
	if (stalled)
		kverbs_uring_let_go(&limit->batch->transfer[0], ETIMEDOUT);
	else if (waits)
		schedule_delayed_work(&limit->look, kverbs_uring_bound(conn));
	spin_unlock_bh(&conn->qp.lock);
	if (stalled)
		conn->ops->pump(conn);
}

/* The command is there for sure only as long as its item waits. */
static void kverbs_uring_set_limit(struct kverbs_connection *conn, struct kverbs_batch *batch)
{
	struct kverbs_uring_limit *limit;
	bool let_go = false;

	spin_lock_bh(&conn->qp.lock);
	if (!kverbs_uring_waits(batch))
		goto out;
	limit = kmalloc(sizeof(*limit), GFP_ATOMIC | __GFP_ACCOUNT);
	if (!limit) {
		kverbs_uring_let_go(&batch->transfer[0], ENOMEM);
		let_go = true;
		goto out;
	}
	limit->batch = batch;
	limit->conn = conn;
	INIT_DELAYED_WORK(&limit->look, kverbs_uring_look);
	kverbs_uring(batch->private)->limit = limit;
	schedule_delayed_work(&limit->look, kverbs_uring_bound(conn));
out:
	spin_unlock_bh(&conn->qp.lock);
	/* Others may have stood behind it. */
	if (let_go)
		conn->ops->pump(conn);
}

/* The item may end, and its command be gone, before this returns. */
static int kverbs_uring_accept(struct kverbs_connection *conn, struct kverbs_batch *batch)
{
	int ret;

	if (KVERBS_URING_CANCEL)
		return kverbs_work_submit(conn, batch);
	refcount_inc(&batch->ref);
	ret = kverbs_work_submit(conn, batch);
	if (!ret)
		kverbs_uring_set_limit(conn, batch);
	kverbs_batch_put(batch);
	return ret;
}

/* A command that has been marked is not just refused: only its end takes the mark away. */
static int kverbs_uring_hand_in(struct io_uring_cmd *cmd, unsigned int issue_flags,
				struct kverbs_connection *conn, struct kverbs_batch *batch)
{
	int ret;

	kverbs_connection_get(conn);
	*kverbs_uring(cmd) = (struct kverbs_uring) { .batch = batch, .conn = conn };
	batch->ended = kverbs_uring_ended;
	batch->private = cmd;
	kverbs_uring_mark_cancelable(cmd, issue_flags);
	ret = kverbs_uring_accept(conn, batch);
	if (!ret)
		return 0;
	kverbs_uring_done(cmd, ret, issue_flags);
	kverbs_connection_put(conn);
	return -EIOCBQUEUED;
}

static int kverbs_uring_batch(struct io_uring_cmd *cmd, unsigned int issue_flags,
			      struct kverbs_connection *conn, const struct kverbs_item *item)
{
	struct kverbs_batch *batch = kverbs_batch_create(conn, 1);
	int ret;

	if (!batch) {
		kverbs_context_unreserve(conn->ctx, 1);
		return -ENOMEM;
	}
	ret = kverbs_batch_add_items(batch, conn, item, 1);
	/* What nobody asks to end must not wait for the peer's program. */
	if (!ret && !KVERBS_URING_CANCEL && item->until > KVERBS_COMPLETED)
		ret = -EOPNOTSUPP;
	ret = ret ?: kverbs_uring_hand_in(cmd, issue_flags, conn, batch);
	if (ret)
		kverbs_batch_discard(batch);
	return ret;
}

static int kverbs_uring_submit(struct io_uring_cmd *cmd, unsigned int issue_flags,
			       struct kverbs_connection *conn, const struct kverbs_item *item)
{
	int ret;

	/* Nobody would poll for it. */
	if (conn->attr.poll == KVERBS_POLL_DIRECT)
		return -EOPNOTSUPP;
	ret = kverbs_connection_hold(conn, KVERBS_CONN_UP);
	if (ret)
		return ret;
	ret = kverbs_context_reserve(conn->ctx, 1) ?
	      kverbs_uring_batch(cmd, issue_flags, conn, item) : -EAGAIN;
	kverbs_connection_unhold(conn);
	return ret;
}

/* The command's bytes lie where the program can change them: take each once. */
static int kverbs_uring_read(const struct io_uring_cmd *cmd, u32 *conn_id,
			     struct kverbs_item *item)
{
	const struct kverbs_uring_cmd *arg = kverbs_uring_payload(cmd);

	static_assert(sizeof(*arg) == 16);
	if (READ_ONCE(arg->flags) || cmd->flags & KVERBS_URING_FLAGS)
		return -EOPNOTSUPP;
	*conn_id = READ_ONCE(arg->conn_id);
	if (copy_from_user(item, u64_to_user_ptr(READ_ONCE(arg->item)), sizeof(*item)))
		return -EFAULT;
	return 0;
}

static int kverbs_uring_issue(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct kverbs_context *ctx = cmd->file->private_data;
	struct kverbs_connection *conn;
	struct kverbs_object *obj;
	struct kverbs_item item;
	u32 conn_id;
	int ret;

	if (cmd->cmd_op != KVERBS_URING_SUBMIT)
		return -ENOTTY;
	/* Such a ring looks for completions by a call that there is none of here. */
	if (issue_flags & IO_URING_F_IOPOLL)
		return -EOPNOTSUPP;
	ret = kverbs_uring_read(cmd, &conn_id, &item);
	if (ret)
		return ret;
	obj = kverbs_context_find(ctx, conn_id, KVERBS_CONNECTION);
	if (!obj)
		return -ENOENT;
	conn = kverbs_to_connection(obj);
	ret = kverbs_uring_submit(cmd, issue_flags, conn, &item);
	kverbs_connection_put(conn);
	return ret;
}

/**
 * kverbs_uring_cmd() - a command of an SQE, or the request to end one
 * @cmd: the command
 * @issue_flags: enum io_uring_cmd_flags
 *
 * Context: Process context, may sleep.
 * Return: -EIOCBQUEUED when the command has or will have its outcome, otherwise
 * the -errno that is its outcome.
 */
int kverbs_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	int ret;

	if (issue_flags & KVERBS_URING_CANCEL) {
		kverbs_uring_cancel(cmd);
		return 0;
	}
	ret = kverbs_uring_issue(cmd, issue_flags);
	if (ret == -EAGAIN) {
		kverbs_uring_done(cmd, ret, issue_flags);
		return -EIOCBQUEUED;
	}
	return ret ?: -EIOCBQUEUED;
}
