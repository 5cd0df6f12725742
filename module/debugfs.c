// SPDX-License-Identifier: GPL-2.0-only
/*
 * debugfs: /sys/kernel/debug/kverbs/connections, one line for each connection of
 * all contexts, in words of the form key=value.
 *
 * It tells numbers: never an address of memory, a key or data. A connection is
 * held by a reference while its line is made, and by no lock; what belongs
 * together is copied under the send queue's lock and printed afterwards. So a
 * reader delays nobody, and a connection may end under its eyes.
 *
 * Nothing here fails: without debugfs there is nothing to see.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "debugfs.h"
#include "work.h"

static struct dentry *kverbs_debugfs_dir;

static const char * const kverbs_state_names[] = {
	[KVERBS_CONN_NEW] = "new",
	[KVERBS_CONN_ADDR] = "addr",
	[KVERBS_CONN_ROUTE] = "route",
	[KVERBS_CONN_HANDSHAKE] = "handshake",
	[KVERBS_CONN_UP] = "up",
	[KVERBS_CONN_CLOSING] = "closing",
	[KVERBS_CONN_DEAD] = "dead",
};

static const char * const kverbs_poll_names[] = {
	[KVERBS_POLL_SOFTIRQ] = "softirq",
	[KVERBS_POLL_WORKQUEUE] = "workqueue",
	[KVERBS_POLL_UNBOUND] = "unbound",
	[KVERBS_POLL_DIRECT] = "direct",
};

static const char * const kverbs_class_names[] = {
	[KVERBS_SLOT_DATA] = "data",
	[KVERBS_SLOT_REG] = "reg",
	[KVERBS_SLOT_CONTROL] = "control",
};

static const char * const kverbs_step_names[] = {
	[KVERBS_STEP_NONE] = "none",
	[KVERBS_STEP_RESOLVE_ADDR] = "resolve_addr",
	[KVERBS_STEP_RESOLVE_ROUTE] = "resolve_route",
	[KVERBS_STEP_SETUP] = "setup",
	[KVERBS_STEP_CONNECT] = "connect",
	[KVERBS_STEP_HELLO] = "hello",
	[KVERBS_STEP_BIND] = "bind",
	[KVERBS_STEP_POST] = "post",
	[KVERBS_STEP_SEND] = "send",
	[KVERBS_STEP_RECV] = "recv",
	[KVERBS_STEP_CONTROL] = "control",
	[KVERBS_STEP_PROGRESS] = "progress",
	[KVERBS_STEP_PEER] = "peer",
	[KVERBS_STEP_LOCAL] = "local",
	[KVERBS_STEP_DEVICE] = "device",
};

/**
 * struct kverbs_sight - what a line says of the send queue, all at one moment
 * @slots: the ring; only its counts are looked at
 * @room: messages that may be sent now, by class of credit
 * @held: of the receives that we keep for the peer, those not given back
 * @unfinished: items without a final event
 * @incomplete: items short of COMPLETED
 * @counters: of the connection
 */
struct kverbs_sight {
	struct kverbs_slots slots;
	u32 room[KVERBS_CREDITS];
	u32 held[KVERBS_CREDITS];
	u32 unfinished;
	u32 incomplete;
	struct kverbs_counters counters;
};

static void kverbs_sight_take(struct kverbs_sight *sight, struct kverbs_connection *conn)
{
	const struct kverbs_work *work = kverbs_conn_work(conn);
	const struct kverbs_credit *credit = conn->control.credit;
	int i;

	spin_lock_bh(&conn->qp.lock);
	sight->slots = conn->qp.slots;
	for (i = 0; i < KVERBS_CREDITS; i++) {
		sight->room[i] = kverbs_credit_room(&credit[i]);
		sight->held[i] = credit[i].received - credit[i].returned;
	}
	sight->unfinished = work->unfinished;
	sight->incomplete = work->incomplete;
	sight->counters = conn->qp.counters;
	spin_unlock_bh(&conn->qp.lock);
}

/* Who it is. "-" stands for what is not known, or not yet. */
static void kverbs_show_who(struct seq_file *m, const struct kverbs_connection *conn)
{
	const char *device = conn->info.error.device;

	seq_printf(m, "id=%u device=%s state=%s role=%s", conn->obj.id, *device ? device : "-",
		   kverbs_state_names[READ_ONCE(conn->state)],
		   conn->initiator ? "initiator" : "target");
	if (conn->src.ss_family)
		seq_printf(m, " src=%pISpc", &conn->src);
	else
		seq_puts(m, " src=-");
	if (conn->dst.ss_family)
		seq_printf(m, " dst=%pISpc", &conn->dst);
	else
		seq_puts(m, " dst=-");
	seq_printf(m, " qpn=%u depth=%u poll=%s", conn->info.qpn, conn->qp.depth,
		   kverbs_poll_names[conn->attr.poll]);
}

static void kverbs_show_sight(struct seq_file *m, const struct kverbs_sight *sight)
{
	int i;

	for (i = 0; i < KVERBS_SLOT_CLASSES; i++)
		seq_printf(m, " %s_out=%u %s_free=%u",
			   kverbs_class_names[i], sight->slots.used[i], kverbs_class_names[i],
			   kverbs_slots_room(&sight->slots, i));
	seq_printf(m, " control_credits=%u data_credits=%u control_held=%u data_held=%u",
		   sight->room[KVERBS_CREDIT_CONTROL], sight->room[KVERBS_CREDIT_DATA],
		   sight->held[KVERBS_CREDIT_CONTROL], sight->held[KVERBS_CREDIT_DATA]);
	seq_printf(m, " unfinished=%u incomplete=%u submitted=%llu finished=%llu failed=%llu",
		   sight->unfinished, sight->incomplete, sight->counters.submitted,
		   sight->counters.finished, sight->counters.failed);
}

static int kverbs_connections_show(struct seq_file *m, void *v)
{
	struct kverbs_connection *conn = v;
	struct kverbs_sight sight;
	struct kverbs_error error;

	kverbs_sight_take(&sight, conn);
	kverbs_connection_error(conn, &error);
	kverbs_show_who(m, conn);
	kverbs_show_sight(m, &sight);
	seq_printf(m, " step=%s code=%u wc_status=%u\n", kverbs_step_names[error.step],
		   error.code, error.wc_status);
	return 0;
}

/* A position is a serial number, so what is there all the time is always seen. */
static void *kverbs_connections_start(struct seq_file *m, loff_t *pos)
{
	struct kverbs_connection *conn = kverbs_connection_from(*pos);

	if (conn)
		*pos = conn->serial;
	return conn;
}

static void *kverbs_connections_next(struct seq_file *m, void *v, loff_t *pos)
{
	struct kverbs_connection *conn = v;

	*pos = conn->serial + 1;
	conn = kverbs_connection_next(conn);
	if (conn)
		*pos = conn->serial;
	return conn;
}

static void kverbs_connections_stop(struct seq_file *m, void *v)
{
	if (v)
		kverbs_connection_put(v);
}

static const struct seq_operations kverbs_connections_sops = {
	.start = kverbs_connections_start,
	.next = kverbs_connections_next,
	.stop = kverbs_connections_stop,
	.show = kverbs_connections_show,
};

DEFINE_SEQ_ATTRIBUTE(kverbs_connections);

/**
 * kverbs_debugfs_init() - show what there is, where the kernel has debugfs
 *
 * Context: Module init; cannot fail.
 */
void kverbs_debugfs_init(void)
{
	kverbs_debugfs_dir = debugfs_create_dir("kverbs", NULL);
	debugfs_create_file("connections", 0400, kverbs_debugfs_dir, NULL,
			    &kverbs_connections_fops);
}

/**
 * kverbs_debugfs_exit() - show nothing any more
 *
 * Context: Module exit; nobody has the file open.
 */
void kverbs_debugfs_exit(void)
{
	debugfs_remove_recursive(kverbs_debugfs_dir);
}
