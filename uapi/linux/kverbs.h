/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
#ifndef _UAPI_LINUX_KVERBS_H
#define _UAPI_LINUX_KVERBS_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * DOC: The interface of /dev/kverbs
 *
 * Everything hangs off one open file, the *context*. Objects are named by
 * integer ids, handed out cyclically per context, so that a stale id does not
 * name a new object soon. All objects of a context end when its last file
 * descriptor is closed.
 *
 * Every ioctl takes one struct that begins with its own size. A newer, larger
 * struct is accepted as long as the part this kernel does not know is zero; an
 * older, shorter one is accepted down to the size of the first version.
 *
 * The errno contract, the same for every ioctl:
 *
 *  - ENOTTY: unknown ioctl number.
 *  - EINVAL: size below the first version, a reserved field that is not zero,
 *    or a value that can never be right (length 0, unknown enum value).
 *  - E2BIG: size beyond what this kernel knows, with a tail that is not zero.
 *  - EOPNOTSUPP: a flag, operation or moment that this kernel, device or
 *    connection does not have.
 *  - EFAULT: memory that cannot be read, written or pinned as asked.
 *  - ENOENT: no object with this id, or one of another kind.
 *  - ERANGE: offset and length reach outside a buffer or region.
 *  - ENOMEM: no memory, or the locked-memory budget (RLIMIT_MEMLOCK) is spent.
 *  - ENOSPC: a bounded number of objects (ids, connections, keys) is used up.
 *  - EAGAIN: nothing to take now (non-blocking), or too much unfinished work.
 *  - EMSGSIZE: more bytes than an operation can carry (SEND, inline), or, in a
 *    MESSAGE event, than the program had room for.
 *  - EINTR: a signal came while waiting.
 *  - ETIMEDOUT: the caller's time-out passed.
 *  - ENODEV: no RDMA device on the route, or the device is gone.
 *  - ENOTCONN: the connection is not up (not yet, or not any more).
 *  - EACCES: the memory does not carry the right that was asked for.
 *  - ECONNREFUSED, ECONNRESET, EHOSTUNREACH, EADDRINUSE, EADDRNOTAVAIL,
 *    EPROTO, EPROTONOSUPPORT: as for sockets; &struct kverbs_error says which
 *    step failed.
 *  - EIO, EREMOTEIO, EACCES, ECANCELED: in errors and final events: the device
 *    or the peer's failed, the peer's refused a key, this end aborted.
 *
 * A failed ioctl changes nothing. Times are CLOCK_MONOTONIC nanoseconds,
 * lengths and offsets are bytes, time-outs are milliseconds.
 */

#define KVERBS_ABI	1
#define KVERBS_TYPE	0xBA
#define KVERBS_PORT	7479	/* default port of the tool, both ends */
#define KVERBS_NAME_MAX	64
#define KVERBS_ADDR_MAX	28	/* sizeof(struct sockaddr_in6) */

enum {
	KVERBS_CMD_BASE = 0x80,
	KVERBS_CMD_QUERY = 0x80,
	KVERBS_CMD_CONN_QUERY = 0x81,
	KVERBS_CMD_BUF_REGISTER = 0x82,
	KVERBS_CMD_BUF_ALLOC = 0x83,
	KVERBS_CMD_DESTROY = 0x84,
	KVERBS_CMD_LISTEN = 0x85,
	KVERBS_CMD_CONNECT = 0x86,
	KVERBS_CMD_ACCEPT = 0x87,
	KVERBS_CMD_DISCONNECT = 0x88,
	KVERBS_CMD_ABORT = 0x89,
	KVERBS_CMD_REGION_EXPOSE = 0x8a,
	KVERBS_CMD_REGION_LIST = 0x8b,
	KVERBS_CMD_SUBMIT = 0x8c,
	KVERBS_CMD_WAIT = 0x8d,
	KVERBS_CMD_ACK = 0x8e,
	KVERBS_CMD_BENCH = 0x8f,
	KVERBS_CMD_URING_SUBMIT = 0x90,
};

/**
 * enum kverbs_moment - how far a write has come; each includes the ones before
 * @KVERBS_POSTED: accepted; the source must not change yet
 * @KVERBS_COMPLETED: its work completion arrived: the source may be reused. On
 *	InfiniBand and RoCE the peer's adapter has acknowledged the data; on
 *	iWARP it was only handed to TCP
 * @KVERBS_DELIVERED: the peer's kverbs has seen what follows the data, so the
 *	data is placed
 * @KVERBS_CONSUMED: the peer's program has acknowledged it (KVERBS_CMD_ACK)
 * @KVERBS_PERSISTED: the same, after the program's own flush to stable storage
 * @KVERBS_MOMENTS: how many there are
 */
enum kverbs_moment {
	KVERBS_POSTED = 0,
	KVERBS_COMPLETED = 1,
	KVERBS_DELIVERED = 2,
	KVERBS_CONSUMED = 3,
	KVERBS_PERSISTED = 4,
	KVERBS_MOMENTS = 5,
};

/**
 * enum kverbs_step - where in a connection's life its first error happened
 * @KVERBS_STEP_NONE: no error
 * @KVERBS_STEP_RESOLVE_ADDR: finding the device for the peer's address
 * @KVERBS_STEP_RESOLVE_ROUTE: finding the path
 * @KVERBS_STEP_SETUP: making the queue pair and its queues
 * @KVERBS_STEP_CONNECT: the connection manager's handshake
 * @KVERBS_STEP_HELLO: the peer's hello was not acceptable
 * @KVERBS_STEP_BIND: binding a listener's address
 * @KVERBS_STEP_POST: handing work to the device
 * @KVERBS_STEP_SEND: a send-queue work completion with an error
 * @KVERBS_STEP_RECV: a receive-queue work completion with an error
 * @KVERBS_STEP_CONTROL: a malformed or forbidden control message
 * @KVERBS_STEP_PROGRESS: work outstanding and no progress within the bound
 * @KVERBS_STEP_PEER: the peer closed or vanished
 * @KVERBS_STEP_LOCAL: this end closed or aborted it
 * @KVERBS_STEP_DEVICE: the device failed or was removed
 */
enum kverbs_step {
	KVERBS_STEP_NONE = 0,
	KVERBS_STEP_RESOLVE_ADDR = 1,
	KVERBS_STEP_RESOLVE_ROUTE = 2,
	KVERBS_STEP_SETUP = 3,
	KVERBS_STEP_CONNECT = 4,
	KVERBS_STEP_HELLO = 5,
	KVERBS_STEP_BIND = 6,
	KVERBS_STEP_POST = 7,
	KVERBS_STEP_SEND = 8,
	KVERBS_STEP_RECV = 9,
	KVERBS_STEP_CONTROL = 10,
	KVERBS_STEP_PROGRESS = 11,
	KVERBS_STEP_PEER = 12,
	KVERBS_STEP_LOCAL = 13,
	KVERBS_STEP_DEVICE = 14,
};

/**
 * enum kverbs_reject - why a target refused, carried to the initiator
 * @KVERBS_REJECT_NONE: not refused by a kverbs target
 * @KVERBS_REJECT_MALFORMED: the hello is too short or not ours
 * @KVERBS_REJECT_VERSION: no common major version of the protocol
 * @KVERBS_REJECT_LIMIT: the listener's connection limit or backlog is reached
 * @KVERBS_REJECT_RESOURCES: the target could not make its queues
 */
enum kverbs_reject {
	KVERBS_REJECT_NONE = 0,
	KVERBS_REJECT_MALFORMED = 1,
	KVERBS_REJECT_VERSION = 2,
	KVERBS_REJECT_LIMIT = 3,
	KVERBS_REJECT_RESOURCES = 4,
};

/**
 * struct kverbs_error - a first cause
 * @step: enum kverbs_step
 * @code: positive errno
 * @wc_status: enum ib_wc_status of the first failed work completion, if one told
 *	of it (KVERBS_STEP_SEND, _RECV; a flush for _PEER); otherwise 0
 * @vendor_err: the device's own code beside it
 * @cm_event: for _RESOLVE_*, _CONNECT and _PEER, enum rdma_cm_event_type that
 *	told; otherwise 0
 * @cm_status: that event's status (errno, or the transport's reject reason)
 * @reject: enum kverbs_reject
 * @reserved: 0
 * @device: name of the RDMA device, empty when none was found yet
 */
struct kverbs_error {
	__u32 step;
	__u32 code;
	__u32 wc_status;
	__u32 vendor_err;
	__u32 cm_event;
	__s32 cm_status;
	__u32 reject;
	__u32 reserved;
	char device[KVERBS_NAME_MAX];
};

/**
 * enum kverbs_transport - what carries the verbs
 * @KVERBS_TRANSPORT_OTHER: none of the below
 * @KVERBS_TRANSPORT_IB: InfiniBand
 * @KVERBS_TRANSPORT_ROCE: RoCE v1 or v2
 * @KVERBS_TRANSPORT_IWARP: iWARP
 */
enum kverbs_transport {
	KVERBS_TRANSPORT_OTHER = 0,
	KVERBS_TRANSPORT_IB = 1,
	KVERBS_TRANSPORT_ROCE = 2,
	KVERBS_TRANSPORT_IWARP = 3,
};

/**
 * struct kverbs_device - one RDMA device that kverbs can use (KVERBS_CMD_QUERY)
 * @name: the device's name, as in /sys/class/infiniband
 * @transport: enum kverbs_transport of its first port
 * @ports: number of ports, numbered from 1
 * @numa_node: -1 when unknown
 * @comp_vectors: completion vectors
 * @max_qp_wr: work requests in one queue
 * @max_send_sge: gather elements in one work request
 * @max_cqe: entries in one completion queue
 * @max_mr: memory regions
 * @max_qp: queue pairs
 * @fast_reg_pages: pages that one fast registration covers
 * @max_msg: largest message of port 1
 * @virt_dma: 1 for a software device without DMA of its own
 * @connections: connections of all contexts on it now
 * @features: bits of enum kverbs_feature that hold for connections on it
 */
struct kverbs_device {
	char name[KVERBS_NAME_MAX];
	__u32 transport;
	__u32 ports;
	__s32 numa_node;
	__u32 comp_vectors;
	__u32 max_qp_wr;
	__u32 max_send_sge;
	__u32 max_cqe;
	__u32 max_mr;
	__u32 max_qp;
	__u32 fast_reg_pages;
	__u32 max_msg;
	__u32 virt_dma;
	__u32 connections;
	__u32 features;
};

/**
 * struct kverbs_query - KVERBS_CMD_QUERY: what this module can do
 * @size: sizeof(struct kverbs_query)
 * @flags: must be 0
 * @abi: out: KVERBS_ABI of the module
 * @nr_devices: in: room in @devices; out: how many devices there are (may be
 *	more than the room; then only as many as fit were written)
 * @devices: user pointer to struct kverbs_device[@nr_devices], or 0
 * @features: out: bits of enum kverbs_feature
 * @max_ids: out: objects of one context
 * @max_batch: out: items of one SUBMIT
 * @max_pending: out: items of one context accepted and not taken by WAIT; a
 *	submission counts whole until the last of it is taken
 * @max_depth: out: largest queue depth that may be asked for
 * @default_depth: out: depth when none is asked for
 * @wr_ceiling: out: largest piece of a write handed to the device at once
 */
struct kverbs_query {
	__u32 size;
	__u32 flags;
	__u32 abi;
	__u32 nr_devices;
	__aligned_u64 devices;
	__aligned_u64 features;
	__u32 max_ids;
	__u32 max_batch;
	__u32 max_pending;
	__u32 max_depth;
	__u32 default_depth;
	__u32 wr_ceiling;
};

/**
 * enum kverbs_feature - bits of &kverbs_query.features: what this module knows;
 * and of &kverbs_device.features: what of it a device can do
 * @KVERBS_FEATURE_WRITE: RDMA Write
 * @KVERBS_FEATURE_NOTIFY: RDMA Write with notify
 * @KVERBS_FEATURE_PERSIST: the PERSISTED moment
 * @KVERBS_FEATURE_READ: RDMA Read
 * @KVERBS_FEATURE_SEND: messages
 * @KVERBS_FEATURE_IMM: RDMA Write with immediate; not on iWARP
 * @KVERBS_FEATURE_ATOMIC: fetch-and-add, compare-and-swap
 * @KVERBS_FEATURE_REG: a registration per operation (KVERBS_CONN_REG)
 * @KVERBS_FEATURE_URING: items by io_uring (KVERBS_CMD_URING_SUBMIT); of the module
 *	alone
 */
enum kverbs_feature {
	KVERBS_FEATURE_WRITE = 1 << 0,
	KVERBS_FEATURE_NOTIFY = 1 << 1,
	KVERBS_FEATURE_PERSIST = 1 << 2,
	KVERBS_FEATURE_READ = 1 << 3,
	KVERBS_FEATURE_SEND = 1 << 4,
	KVERBS_FEATURE_IMM = 1 << 5,
	KVERBS_FEATURE_ATOMIC = 1 << 6,
	KVERBS_FEATURE_REG = 1 << 7,
	KVERBS_FEATURE_URING = 1 << 8,
};

/**
 * enum kverbs_poll - the poll context: who polls a connection's send completion
 * queue
 * @KVERBS_POLL_SOFTIRQ: IB_POLL_SOFTIRQ
 * @KVERBS_POLL_WORKQUEUE: IB_POLL_WORKQUEUE, on the CPU of the interrupt
 * @KVERBS_POLL_UNBOUND: IB_POLL_UNBOUND_WORKQUEUE, on any CPU
 * @KVERBS_POLL_DIRECT: IB_POLL_DIRECT: nobody but WAIT, and SUBMIT while it
 *	waits; both spin then. poll() says POLLERR on a context that has such a
 *	connection
 */
enum kverbs_poll {
	KVERBS_POLL_SOFTIRQ = 0,
	KVERBS_POLL_WORKQUEUE = 1,
	KVERBS_POLL_UNBOUND = 2,
	KVERBS_POLL_DIRECT = 3,
};

/**
 * struct kverbs_conn_attr - what a connection is asked to be
 * @depth: writes on the send queue at once; 0 = default. Clamped to the device;
 *	CONN_QUERY tells what was granted
 * @poll: enum kverbs_poll
 * @no_progress_ms: a connection with work on the device and no completion for
 *	this long fails; 0 = 10000, at most 600000
 * @flags: KVERBS_CONN_*
 * @wr_ceiling: bytes of the largest piece handed to the device at once, 1 to
 *	&kverbs_query.wr_ceiling; 0 = that
 * @max_inline: bytes that KVERBS_ITEM_INLINE is wanted for, at most 512;
 *	CONN_QUERY tells what the device gave, which may be less or 0
 * @cpu: with KVERBS_CONN_CPU, whose completion vector is taken (the vector is
 *	@cpu modulo the device's number of them); otherwise must be 0
 * @reserved: must be 0
 */
struct kverbs_conn_attr {
	__u32 depth;
	__u32 poll;
	__u32 no_progress_ms;
	__u32 flags;
	__u32 wr_ceiling;
	__u32 max_inline;
	__u32 cpu;
	__u32 reserved;
};

#define KVERBS_CONN_CPU		(1 << 0)	/* @cpu counts */
/*
 * Every piece of a write or read goes through a registration of its own, as in
 * storage protocols, rather than through the domain's local key. A diagnostic.
 */
#define KVERBS_CONN_REG		(1 << 1)

/**
 * struct kverbs_buf_register - KVERBS_CMD_BUF_REGISTER: pin user memory
 * @size: sizeof(struct kverbs_buf_register)
 * @flags: KVERBS_BUF_WRITABLE if it may be exposed to a peer's writes
 * @addr: start, any alignment
 * @length: bytes, not 0
 * @buf_id: out
 * @reserved: must be 0
 *
 * Pages are pinned (FOLL_LONGTERM) and charged to the user's RLIMIT_MEMLOCK
 * until the id is destroyed and all work that uses it has ended. A later munmap,
 * fork or exec of the owner does no harm: the pages stay.
 *
 * EFAULT: unmapped, not accessible as asked, or a kind of mapping that cannot
 * be pinned for long. ENOMEM: the budget is spent.
 */
struct kverbs_buf_register {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 length;
	__u32 buf_id;
	__u32 reserved;
};

#define KVERBS_BUF_WRITABLE	(1 << 0)

/**
 * struct kverbs_buf_alloc - KVERBS_CMD_BUF_ALLOC: kernel pages, for mmap
 * @size: sizeof(struct kverbs_buf_alloc)
 * @flags: must be 0; such a buffer is always writable
 * @length: bytes, not 0; rounded up to whole pages, zeroed
 * @numa_node: node to prefer, -1 for any
 * @buf_id: out
 * @mmap_offset: out: give this offset to mmap() of the device file
 *
 * Charged like registered memory, until destroyed and unmapped.
 */
struct kverbs_buf_alloc {
	__u32 size;
	__u32 flags;
	__aligned_u64 length;
	__s32 numa_node;
	__u32 buf_id;
	__aligned_u64 mmap_offset;
};

/**
 * struct kverbs_destroy - KVERBS_CMD_DESTROY: drop any id
 * @size: sizeof(struct kverbs_destroy)
 * @id: of a buffer, connection, listener or region
 *
 * A connection is closed; the call returns when the final events of its work
 * are queued, or after 20 s as for ABORT. A buffer in use lives on until that use
 * ends. A listener's connections that were accepted stay. An exposed region can
 * only be destroyed by closing its connection, which this does. A remote region
 * is forgotten.
 */
struct kverbs_destroy {
	__u32 size;
	__u32 id;
};

/**
 * struct kverbs_listen - KVERBS_CMD_LISTEN
 * @size: sizeof(struct kverbs_listen)
 * @flags: must be 0
 * @addr: struct sockaddr_in or sockaddr_in6; port 0 = any free port. An IPv6
 *	address, the unspecified one too, takes IPv6 only
 * @backlog: established connections not yet taken by ACCEPT; 0 = 16
 * @max_conns: connections alive at once; 0 = 1024
 * @half_open_ms: a peer that does not complete its hello in this time is
 *	dropped; 0 = 5000
 * @attr: of the connections accepted
 * @listener_id: out
 * @port: out: the port, host byte order
 * @reserved: must be 0
 * @error: out, also when the call fails: where it failed
 */
struct kverbs_listen {
	__u32 size;
	__u32 flags;
	__u8 addr[KVERBS_ADDR_MAX];
	__u32 backlog;
	__u32 max_conns;
	__u32 half_open_ms;
	struct kverbs_conn_attr attr;
	__u32 listener_id;
	__u32 port;
	__u32 reserved;
	struct kverbs_error error;
};

/**
 * struct kverbs_connect - KVERBS_CMD_CONNECT
 * @size: sizeof(struct kverbs_connect)
 * @flags: must be 0
 * @dst: peer's struct sockaddr_in or sockaddr_in6
 * @src: own address, or family 0 to let the route decide
 * @timeout_ms: for the whole connect; 0 = 10000
 * @attr: what the connection is asked to be
 * @conn_id: out
 * @reserved: must be 0
 * @error: out, also when the call fails: which step failed and why
 *
 * Blocks, killable. The peer's regions are announced by KVERBS_EVENT_REGION.
 */
struct kverbs_connect {
	__u32 size;
	__u32 flags;
	__u8 dst[KVERBS_ADDR_MAX];
	__u8 src[KVERBS_ADDR_MAX];
	__u32 timeout_ms;
	struct kverbs_conn_attr attr;
	__u32 conn_id;
	__u32 reserved[2];
	struct kverbs_error error;
};

/**
 * struct kverbs_accept - KVERBS_CMD_ACCEPT: take an established connection
 * @size: sizeof(struct kverbs_accept)
 * @flags: KVERBS_NONBLOCK: EAGAIN when there is none
 * @listener_id: in
 * @timeout_ms: 0 = wait for ever (interruptible)
 * @conn_id: out
 * @peer: out: the peer's address
 * @reserved: must be 0
 */
struct kverbs_accept {
	__u32 size;
	__u32 flags;
	__u32 listener_id;
	__u32 timeout_ms;
	__u32 conn_id;
	__u8 peer[KVERBS_ADDR_MAX];
	__u32 reserved[2];
};

/**
 * struct kverbs_disconnect - KVERBS_CMD_DISCONNECT: orderly end
 * @size: sizeof(struct kverbs_disconnect)
 * @flags: must be 0
 * @conn_id: in
 * @timeout_ms: how long accepted work may still take; 0 = 10000
 *
 * Takes no new work, waits until all accepted work has come to COMPLETED, says
 * goodbye and closes. The id stays, for CONN_QUERY, until destroyed. Work that
 * is not COMPLETED in time ends as after ABORT and the call says ETIMEDOUT.
 */
struct kverbs_disconnect {
	__u32 size;
	__u32 flags;
	__u32 conn_id;
	__u32 timeout_ms;
};

/**
 * struct kverbs_abort - KVERBS_CMD_ABORT: end a connection's work now
 * @size: sizeof(struct kverbs_abort)
 * @conn_id: in
 *
 * Returns when every accepted item has its final event queued, or after 20 s: a
 * provider that does not give its queue pair back by then is waited for in the
 * background. ENOTCONN: it had ended already. The id stays, for CONN_QUERY, until
 * destroyed.
 */
struct kverbs_abort {
	__u32 size;
	__u32 conn_id;
};

/**
 * enum kverbs_state - of a connection
 * @KVERBS_STATE_CONNECTING: not yet up
 * @KVERBS_STATE_UP: takes work
 * @KVERBS_STATE_CLOSING: takes no work, being torn down
 * @KVERBS_STATE_DEAD: has no resources any more
 */
enum kverbs_state {
	KVERBS_STATE_CONNECTING = 0,
	KVERBS_STATE_UP = 1,
	KVERBS_STATE_CLOSING = 2,
	KVERBS_STATE_DEAD = 3,
};

/**
 * struct kverbs_caps - capacities of a connection's queues
 * @send_wr: work requests on the send queue
 * @recv_wr: work requests on the receive queue
 * @send_sge: gather elements of a send work request
 * @send_cqe: entries of the send completion queue
 * @recv_cqe: entries of the receive completion queue
 * @max_inline: bytes that may be sent inline
 */
struct kverbs_caps {
	__u32 send_wr;
	__u32 recv_wr;
	__u32 send_sge;
	__u32 send_cqe;
	__u32 recv_cqe;
	__u32 max_inline;
};

/**
 * struct kverbs_counters - of one connection, since it was made
 * @submitted: items accepted
 * @finished: items whose final event was queued
 * @failed: of these, with an error
 * @bytes: bytes of items that came to COMPLETED
 * @wrs: work requests posted, of every kind
 * @posts: calls of ib_post_send
 * @signaled: of @wrs, signaled ones
 * @partial_posts: posts that the device accepted only in part, or not at all
 * @flushed: work completions flushed after the first error
 * @slot_stalls: times the pump stopped for want of a send-queue slot
 * @credit_stalls: times the pump stopped for want of a credit
 * @ctrl_sent: control messages sent
 * @ctrl_received: control messages received
 * @notified: notifications, immediates and messages received
 * @regions_received: regions the peer has advertised
 */
struct kverbs_counters {
	__aligned_u64 submitted;
	__aligned_u64 finished;
	__aligned_u64 failed;
	__aligned_u64 bytes;
	__aligned_u64 wrs;
	__aligned_u64 posts;
	__aligned_u64 signaled;
	__aligned_u64 partial_posts;
	__aligned_u64 flushed;
	__aligned_u64 slot_stalls;
	__aligned_u64 credit_stalls;
	__aligned_u64 ctrl_sent;
	__aligned_u64 ctrl_received;
	__aligned_u64 notified;
	__aligned_u64 regions_received;
};

/**
 * struct kverbs_conn_query - KVERBS_CMD_CONN_QUERY
 * @size: sizeof(struct kverbs_conn_query)
 * @conn_id: in
 * @state: out: enum kverbs_state
 * @initiator: out: 1 at the end that connected, 0 at the end that accepted
 * @transport: out: enum kverbs_transport
 * @port: out: port number of the device
 * @poll: out: enum kverbs_poll
 * @depth_asked: out: depth as asked for (the default if 0 was asked)
 * @depth: out: depth in force
 * @qpn: out: own queue pair number
 * @peer_qpn: out: the peer's, 0 when the provider does not say
 * @send_psn: out: first packet sequence number sent, 0 on iWARP
 * @recv_psn: out: first packet sequence number expected, 0 on iWARP
 * @mtu: out: path MTU in bytes, 0 on iWARP
 * @asked: out: queue capacities asked for
 * @actual: out: queue capacities that the device gave
 * @data_credits: out: notifies, immediates and messages that may still be sent
 *	before the peer's program takes one
 * @flags: out: KVERBS_CONN_*
 * @wr_ceiling: out: bytes of the largest piece, as in force
 * @rd_atomic: out: reads and atomics that this end may have on the way at once
 * @src: out: own address
 * @dst: out: peer's address
 * @src_gid: out
 * @dst_gid: out
 * @counters: out
 * @error: out: the first error; @kverbs_error.device is always filled
 */
struct kverbs_conn_query {
	__u32 size;
	__u32 conn_id;
	__u32 state;
	__u32 initiator;
	__u32 transport;
	__u32 port;
	__u32 poll;
	__u32 depth_asked;
	__u32 depth;
	__u32 qpn;
	__u32 peer_qpn;
	__u32 send_psn;
	__u32 recv_psn;
	__u32 mtu;
	struct kverbs_caps asked;
	struct kverbs_caps actual;
	__u32 data_credits;
	__u32 flags;
	__u32 wr_ceiling;
	__u32 rd_atomic;
	__u8 src[KVERBS_ADDR_MAX];
	__u8 dst[KVERBS_ADDR_MAX];
	__u8 src_gid[16];
	__u8 dst_gid[16];
	struct kverbs_counters counters;
	struct kverbs_error error;
};

/**
 * struct kverbs_region_expose - KVERBS_CMD_REGION_EXPOSE
 * @size: sizeof(struct kverbs_region_expose)
 * @flags: must be 0
 * @target_id: a connection that is up, or a listener: then every connection
 *	that ACCEPT takes later gets a region of its own over the same memory
 * @buf_id: the buffer, writable unless @rights is KVERBS_RIGHT_READ alone
 * @offset: start in the buffer
 * @length: bytes, not 0
 * @rights: KVERBS_RIGHT_*, at least one
 * @region_id: out; 0 for a listener
 * @tag: told to the peer with the advertisement
 *
 * The peer learns the region by an advertisement on the connection's control
 * channel. Keys and addresses never reach user space.
 */
struct kverbs_region_expose {
	__u32 size;
	__u32 flags;
	__u32 target_id;
	__u32 buf_id;
	__aligned_u64 offset;
	__aligned_u64 length;
	__u32 rights;
	__u32 region_id;
	__aligned_u64 tag;
};

#define KVERBS_RIGHT_WRITE	(1 << 0)
#define KVERBS_RIGHT_READ	(1 << 1)
#define KVERBS_RIGHT_ATOMIC	(1 << 2)

/**
 * struct kverbs_region - one region of a connection
 * @region_id: id in this context
 * @flags: KVERBS_REGION_REMOTE if it is the peer's
 * @length: bytes
 * @tag: of the expose
 * @rights: KVERBS_RIGHT_*
 * @keys: how many keys cover it
 */
struct kverbs_region {
	__u32 region_id;
	__u32 flags;
	__aligned_u64 length;
	__aligned_u64 tag;
	__u32 rights;
	__u32 keys;
};

#define KVERBS_REGION_REMOTE	(1 << 0)

/**
 * struct kverbs_region_list - KVERBS_CMD_REGION_LIST
 * @size: sizeof(struct kverbs_region_list)
 * @conn_id: in
 * @nr: in: room in @regions; out: how many there are (may be more)
 * @reserved: must be 0
 * @regions: user pointer to struct kverbs_region[@nr], or 0
 */
struct kverbs_region_list {
	__u32 size;
	__u32 conn_id;
	__u32 nr;
	__u32 reserved;
	__aligned_u64 regions;
};

/**
 * enum kverbs_op - what an item does
 * @KVERBS_OP_WRITE: RDMA Write from a buffer into a remote region that carries
 *	KVERBS_RIGHT_WRITE
 * @KVERBS_OP_READ: RDMA Read from a remote region that carries KVERBS_RIGHT_READ
 *	into a writable buffer. COMPLETED means that the bytes are in the buffer
 * @KVERBS_OP_SEND: a message, at most KVERBS_MESSAGE_MAX bytes, copied from the
 *	buffer when it is accepted, so that the buffer may be reused at once. The
 *	peer's program gets KVERBS_EVENT_MESSAGE. No region
 * @KVERBS_OP_FETCH_ADD: add @operand to 8 bytes of a remote region that carries
 *	KVERBS_RIGHT_ATOMIC; what they were comes into the buffer. Host byte order
 * @KVERBS_OP_CMP_SWAP: the same, but set them to @operand if they equal @compare
 */
enum kverbs_op {
	KVERBS_OP_WRITE = 1,
	KVERBS_OP_READ = 2,
	KVERBS_OP_SEND = 3,
	KVERBS_OP_FETCH_ADD = 4,
	KVERBS_OP_CMP_SWAP = 5,
};

#define KVERBS_MESSAGE_MAX	448	/* bytes of a SEND */

/*
 * WRITE: after the data is placed the peer's program gets a KVERBS_EVENT_NOTIFY
 * with region, offset, length and tag.
 */
#define KVERBS_ITEM_NOTIFY	(1 << 0)
/*
 * WRITE: the last piece carries @tag, which must fit 32 bits, as its immediate;
 * the peer's program gets a KVERBS_EVENT_IMM. Not together with NOTIFY.
 * EOPNOTSUPP on iWARP, whose writes have no immediate (RFC 5040).
 */
#define KVERBS_ITEM_IMM		(1 << 1)
/*
 * Begins only when all earlier reads and atomics of the connection have ended.
 * EOPNOTSUPP for a READ on iWARP.
 */
#define KVERBS_ITEM_FENCE	(1 << 2)
/*
 * WRITE of at most &kverbs_caps.max_inline bytes: they are copied when the item
 * is accepted, so that the source may be reused at once (already at POSTED).
 */
#define KVERBS_ITEM_INLINE	(1 << 3)

/**
 * struct kverbs_item - one piece of work (KVERBS_CMD_SUBMIT)
 * @op: enum kverbs_op
 * @flags: KVERBS_ITEM_*; EINVAL for one that does not go with @op
 * @buf_id: source, or for READ and atomics where the bytes come to
 * @region_id: a remote region of the same connection; 0 for SEND
 * @buf_offset: start in the buffer
 * @region_offset: start in the region; 0 for SEND. For atomics the remote
 *	address, which agrees with the exposed memory's within a page, must be a
 *	multiple of 8, and the local one, too
 * @length: bytes, not 0; 8 for atomics
 * @user_data: comes back in the final event
 * @tag: comes with the notification, the immediate or the message; otherwise
 *	must be 0 unless the item is a WRITE
 * @until: enum kverbs_moment that ends it, COMPLETED or later. CONSUMED and
 *	PERSISTED need something that the peer's program is told of: NOTIFY, IMM
 *	or SEND. READ and atomics have no moment after COMPLETED
 * @timeout_ms: after COMPLETED, how long to wait for @until; 0 = for ever. When
 *	it passes, the item ends with ETIMEDOUT and the moment reached; the
 *	connection lives
 * @operand: atomics: what to add, or to set; otherwise must be 0
 * @compare: CMP_SWAP: what to compare with; otherwise must be 0
 */
struct kverbs_item {
	__u32 op;
	__u32 flags;
	__u32 buf_id;
	__u32 region_id;
	__aligned_u64 buf_offset;
	__aligned_u64 region_offset;
	__aligned_u64 length;
	__aligned_u64 user_data;
	__aligned_u64 tag;
	__u32 until;
	__u32 timeout_ms;
	__aligned_u64 operand;
	__aligned_u64 compare;
};

/**
 * struct kverbs_take - where events go, in SUBMIT and WAIT
 * @events: user pointer to struct kverbs_event[@nr], or 0 with @nr 0
 * @data: user pointer to room for the bytes of messages, or 0
 * @nr: in: room in @events, at most 4096; out: how many were taken
 * @timeout_ms: how long to wait for the first; 0 = for ever (interruptible)
 * @data_length: in: room at @data; out: bytes written there
 * @reserved: must be 0
 *
 * Taking ends before a message whose bytes do not fit behind what the same call
 * has taken already. One that comes first and does not fit is cut: its event says
 * EMSGSIZE. So a program that gives no room gets the event, and no bytes.
 */
struct kverbs_take {
	__aligned_u64 events;
	__aligned_u64 data;
	__u32 nr;
	__u32 timeout_ms;
	__u32 data_length;
	__u32 reserved;
};

#define KVERBS_NONBLOCK		(1 << 0)	/* do not wait for events */
#define KVERBS_SUBMIT_BATCH	(1 << 1)	/* one event for all of them */

/**
 * struct kverbs_submit - KVERBS_CMD_SUBMIT
 * @size: sizeof(struct kverbs_submit)
 * @flags: KVERBS_SUBMIT_BATCH: the items accepted get one KVERBS_EVENT_BATCH for
 *	all, and a FINAL before it for each that failed. KVERBS_NONBLOCK: take
 *	events only if there are any
 * @conn_id: in
 * @nr: items, 1 to &kverbs_query.max_batch
 * @items: user pointer to struct kverbs_item[@nr]
 * @user_data: of the KVERBS_EVENT_BATCH
 * @accepted: out: how many were accepted, always a prefix. Each of these gets
 *	exactly one final event, of its own or its batch's, whatever happens
 * @error: out: positive errno that stopped the first one not accepted, or 0
 * @take: with @nr > 0 the call then takes events of this context, whoever
 *	submitted them, as WAIT does
 *
 * Returns 0 when at least one item was accepted, otherwise the error, and then
 * it takes no events. When items were accepted and waiting for events ends by
 * a signal or its time-out, the call returns 0 with @take.nr 0.
 *
 * Items of one connection begin in the order of submission.
 */
struct kverbs_submit {
	__u32 size;
	__u32 flags;
	__u32 conn_id;
	__u32 nr;
	__aligned_u64 items;
	__aligned_u64 user_data;
	__u32 accepted;
	__u32 error;
	struct kverbs_take take;
};

/**
 * enum kverbs_event_kind - what an event tells
 * @KVERBS_EVENT_FINAL: the final outcome of an item
 * @KVERBS_EVENT_NOTIFY: a peer's write with notify; taking it gives the peer
 *	its data credit back
 * @KVERBS_EVENT_REGION: the peer advertised a region
 * @KVERBS_EVENT_CONN: a connection is dead: comes once, after the final events
 *	of all its items
 * @KVERBS_EVENT_INCOMING: a listener has a connection for ACCEPT
 * @KVERBS_EVENT_LISTENER: a listener ended (its device went away)
 * @KVERBS_EVENT_BATCH: all items of a batch have ended
 * @KVERBS_EVENT_MESSAGE: a peer's SEND; its bytes are at &kverbs_take.data. Taking
 *	it gives the peer its data credit back
 * @KVERBS_EVENT_IMM: a peer's write with immediate: @tag is the immediate. Which
 *	region it went to, the transport does not say. Taking it gives the peer its
 *	data credit back
 */
enum kverbs_event_kind {
	KVERBS_EVENT_FINAL = 1,
	KVERBS_EVENT_NOTIFY = 2,
	KVERBS_EVENT_REGION = 3,
	KVERBS_EVENT_CONN = 4,
	KVERBS_EVENT_INCOMING = 5,
	KVERBS_EVENT_LISTENER = 6,
	KVERBS_EVENT_BATCH = 7,
	KVERBS_EVENT_MESSAGE = 8,
	KVERBS_EVENT_IMM = 9,
};

/**
 * enum kverbs_placement - what is known of an item's data at its end
 * @KVERBS_PLACEMENT_PLACED: it is in the peer's memory (COMPLETED on InfiniBand and
 *	RoCE, DELIVERED on iWARP)
 * @KVERBS_PLACEMENT_UNKNOWN: some of it may be, some may not
 * @KVERBS_PLACEMENT_UNSENT: the device never saw it: none of it is
 */
enum kverbs_placement {
	KVERBS_PLACEMENT_PLACED = 1,
	KVERBS_PLACEMENT_UNKNOWN = 2,
	KVERBS_PLACEMENT_UNSENT = 3,
};

/**
 * struct kverbs_event - one event (KVERBS_CMD_WAIT)
 * @kind: enum kverbs_event_kind
 * @id: the connection, or for INCOMING and LISTENER the listener
 * @user_data: FINAL: of the item; BATCH: of the submission
 * @status: FINAL, CONN, LISTENER: 0 or positive errno; BATCH: of the first item
 *	that failed; MESSAGE: EMSGSIZE when it was cut
 * @asked: FINAL: the moment asked for
 * @reached: FINAL: the moment reached; BATCH: the least of its items
 * @placement: FINAL: enum kverbs_placement; of a READ or an atomic, whether it
 *	was done
 * @state: CONN: enum kverbs_state
 * @step: CONN, and FINAL with an error: enum kverbs_step of the first error
 * @wc_status: enum ib_wc_status, for a failed FINAL
 * @vendor_err: the device's own code beside it
 * @region_id: NOTIFY, REGION: id in this context
 * @rights: REGION: KVERBS_RIGHT_*
 * @stamps: FINAL: when each moment was reached, 0 when not; BATCH: the latest of
 *	its items; [POSTED] is set in every event: when it was queued if neither
 * @offset: NOTIFY: in the region; MESSAGE: of its bytes at &kverbs_take.data
 * @length: NOTIFY, REGION; IMM: of the last piece of the write; MESSAGE: whole,
 *	also when it was cut; FINAL: of the item; BATCH: of all items that succeeded
 * @tag: NOTIFY, REGION, IMM, MESSAGE
 * @seq: NOTIFY, IMM, MESSAGE: name it in KVERBS_CMD_ACK
 * @nr: BATCH: items
 * @nr_failed: BATCH: of these, with an error
 */
struct kverbs_event {
	__u32 kind;
	__u32 id;
	__aligned_u64 user_data;
	__u32 status;
	__u32 asked;
	__u32 reached;
	__u32 placement;
	__u32 state;
	__u32 step;
	__u32 wc_status;
	__u32 vendor_err;
	__u32 region_id;
	__u32 rights;
	__aligned_u64 stamps[KVERBS_MOMENTS];
	__aligned_u64 offset;
	__aligned_u64 length;
	__aligned_u64 tag;
	__aligned_u64 seq;
	__u32 nr;
	__u32 nr_failed;
};

/**
 * struct kverbs_wait - KVERBS_CMD_WAIT: take events
 * @size: sizeof(struct kverbs_wait)
 * @flags: KVERBS_NONBLOCK: EAGAIN when there is none
 * @take: where to, @nr at least 1
 *
 * Returns as soon as there is at least one. poll() says POLLIN when there is.
 */
struct kverbs_wait {
	__u32 size;
	__u32 flags;
	struct kverbs_take take;
};

/**
 * struct kverbs_ack - KVERBS_CMD_ACK: tell the writer
 * @size: sizeof(struct kverbs_ack)
 * @flags: KVERBS_ACK_PERSISTED: also on stable storage
 * @conn_id: in
 * @reserved: must be 0
 * @seq: everything up to this notification is consumed. ERANGE when no such
 *	notification has been taken yet
 */
struct kverbs_ack {
	__u32 size;
	__u32 flags;
	__u32 conn_id;
	__u32 reserved;
	__aligned_u64 seq;
};

#define KVERBS_ACK_PERSISTED	(1 << 0)

/**
 * struct kverbs_bench - KVERBS_CMD_BENCH: the same work without system calls
 * @size: sizeof(struct kverbs_bench)
 * @flags: must be 0
 * @conn_id: in
 * @op: KVERBS_OP_WRITE or KVERBS_OP_READ
 * @buf_id: as in struct kverbs_item
 * @region_id: as in struct kverbs_item
 * @length: bytes of one item, not 0
 * @span: item n is at offset n * @length modulo @span, of buffer and region; a
 *	multiple of @length
 * @count: items in all, not 0
 * @batch: items submitted at once, 1 to &kverbs_query.max_batch
 * @in_flight: batches on the way at once, not 0; @batch * @in_flight at most
 *	&kverbs_query.max_pending
 * @nr_samples: in: room in @samples, at most 2^20; out: how many there are
 * @reserved: must be 0
 * @samples: user pointer to __u64[@nr_samples]: for each batch, in the order in
 *	which they ended, the nanoseconds from its submission to its end; or 0
 * @done: out: items that succeeded
 * @ns: out: from the first submission to the last end
 *
 * A thread of the kernel's side of this call submits and waits: the difference
 * to the same work by SUBMIT is what the system calls cost. Killable; an item
 * that fails ends it with that item's errno.
 */
struct kverbs_bench {
	__u32 size;
	__u32 flags;
	__u32 conn_id;
	__u32 op;
	__u32 buf_id;
	__u32 region_id;
	__aligned_u64 length;
	__aligned_u64 span;
	__aligned_u64 count;
	__u32 batch;
	__u32 in_flight;
	__u32 nr_samples;
	__u32 reserved;
	__aligned_u64 samples;
	__aligned_u64 done;
	__aligned_u64 ns;
};

/**
 * struct kverbs_uring_cmd - KVERBS_CMD_URING_SUBMIT: one item by io_uring
 * @item: user pointer to a struct kverbs_item; read when the SQE is issued, which
 *	io_uring_enter() does, or the thread of a ring with IORING_SETUP_SQPOLL
 * @conn_id: a connection of this file, not of KVERBS_POLL_DIRECT
 * @flags: must be 0
 *
 * No ioctl: the 16 bytes at cmd of an SQE with the opcode IORING_OP_URING_CMD, the
 * file as its fd and KVERBS_URING_SUBMIT as its cmd_op. There is an item for each
 * SQE, and one CQE for each item, when it has ended, whatever happens; no event. Its
 * res is the moment reached (enum kverbs_moment), or a negative errno: what SUBMIT
 * would refuse the item with, or the status of its final event. The item's
 * @user_data is for traces alone, the SQE's comes back.
 *
 * Items of one connection begin in the order of their SQEs, unless IOSQE_ASYNC
 * gives that up. The file stays open as long as any of its items has no CQE.
 *
 * When the ring is closed, or its program ends, an item that is not on the device,
 * whether not yet or not any more, ends with ECANCELED; one that is on it ends when
 * it is COMPLETED, and if the peer's program is not told, with ECANCELED as well.
 *
 * Before Linux 6.7 rings do not say that they are closed; they, and programs in
 * their end, wait for their items. So @until must be COMPLETED there, and an item
 * that the peer keeps from the device, since its program does not take what it is
 * told, ends with ETIMEDOUT when the connection has made no progress for its
 * @no_progress_ms.
 *
 * EOPNOTSUPP: a flag; a connection of KVERBS_POLL_DIRECT, since nobody would poll;
 * a ring with IORING_SETUP_IOPOLL, on kernels that ask the file for its
 * completions; @until, see above.
 * ENOTTY: another cmd_op. EFAULT: @item. ENOENT: no such connection. EAGAIN:
 * &kverbs_query.max_pending items of the file are under way or not yet taken.
 */
struct kverbs_uring_cmd {
	__aligned_u64 item;
	__u32 conn_id;
	__u32 flags;
};

#define KVERBS_QUERY		_IO(KVERBS_TYPE, KVERBS_CMD_QUERY)
#define KVERBS_CONN_QUERY	_IO(KVERBS_TYPE, KVERBS_CMD_CONN_QUERY)
#define KVERBS_BUF_REGISTER	_IO(KVERBS_TYPE, KVERBS_CMD_BUF_REGISTER)
#define KVERBS_BUF_ALLOC	_IO(KVERBS_TYPE, KVERBS_CMD_BUF_ALLOC)
#define KVERBS_DESTROY		_IO(KVERBS_TYPE, KVERBS_CMD_DESTROY)
#define KVERBS_LISTEN		_IO(KVERBS_TYPE, KVERBS_CMD_LISTEN)
#define KVERBS_CONNECT		_IO(KVERBS_TYPE, KVERBS_CMD_CONNECT)
#define KVERBS_ACCEPT		_IO(KVERBS_TYPE, KVERBS_CMD_ACCEPT)
#define KVERBS_DISCONNECT	_IO(KVERBS_TYPE, KVERBS_CMD_DISCONNECT)
#define KVERBS_ABORT		_IO(KVERBS_TYPE, KVERBS_CMD_ABORT)
#define KVERBS_REGION_EXPOSE	_IO(KVERBS_TYPE, KVERBS_CMD_REGION_EXPOSE)
#define KVERBS_REGION_LIST	_IO(KVERBS_TYPE, KVERBS_CMD_REGION_LIST)
#define KVERBS_SUBMIT		_IO(KVERBS_TYPE, KVERBS_CMD_SUBMIT)
#define KVERBS_WAIT		_IO(KVERBS_TYPE, KVERBS_CMD_WAIT)
#define KVERBS_ACK		_IO(KVERBS_TYPE, KVERBS_CMD_ACK)
#define KVERBS_BENCH		_IO(KVERBS_TYPE, KVERBS_CMD_BENCH)
#define KVERBS_URING_SUBMIT	_IO(KVERBS_TYPE, KVERBS_CMD_URING_SUBMIT)

#endif /* _UAPI_LINUX_KVERBS_H */
