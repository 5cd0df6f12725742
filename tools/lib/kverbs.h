/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KVERBS_H
#define _KVERBS_H

/*
 * libkverbs: a thin C library over the ioctls of /dev/kverbs.
 *
 * One function per ioctl. Each fills in the size, retries nothing, keeps no
 * state and returns a negative errno on failure; what the ioctl means, and what
 * its errors mean, is told in <linux/kverbs.h>. Beside them: addresses as people
 * write them, names for every number, and one function that turns a first cause
 * into words.
 */

#include <stdbool.h>
#include <stddef.h>
#include <linux/kverbs.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KVERBS_DEVICE_FILE	"/dev/kverbs"

/*
 * What `kverbs serve` and `kverbs write` say to each other, as tags: ASCII,
 * first character in the highest byte used.
 */
#define KVERBS_TAG_END		0x656e64ULL		/* "end": offset + length is the size */
#define KVERBS_TAG_FILE		0x66696c65ULL		/* "file": a region to write a file to */
#define KVERBS_TAG_DURABLE	0x64757261626c65ULL	/* "durable": so, and it is persisted */

/* Room for "[v6-address%interface]:port" and its final 0. */
#define KVERBS_ADDR_TEXT	80

/**
 * kverbs_open() - open /dev/kverbs, a new context
 *
 * Return: a file descriptor (close-on-exec), or a negative errno: ENOENT or
 * ENODEV when the module is not loaded, EACCES without permission.
 */
int kverbs_open(void);

/**
 * kverbs_ioctl() - any ioctl of /dev/kverbs, as it is
 * @fd: the context
 * @cmd: KVERBS_QUERY and so on
 * @arg: its struct, with the size filled in
 *
 * Return: 0 or a negative errno.
 */
int kverbs_ioctl(int fd, unsigned long cmd, void *arg);

/**
 * kverbs_query() - what the module can do
 * @fd: the context
 * @query: out; in: @nr_devices and @devices
 *
 * Return: 0 or a negative errno.
 */
int kverbs_query(int fd, struct kverbs_query *query);

/**
 * kverbs_query_devices() - what the module can do, and all devices it can use
 * @fd: the context
 * @query: out; @nr_devices says how many there are
 * @devices: out: the caller frees it; NULL when there is none
 *
 * Return: 0 or a negative errno.
 */
int kverbs_query_devices(int fd, struct kverbs_query *query,
			 struct kverbs_device **devices);

/**
 * kverbs_conn_query() - state, capacities, counters and first error
 * @fd: the context
 * @conn_id: a connection
 * @query: out
 *
 * Return: 0 or a negative errno.
 */
int kverbs_conn_query(int fd, __u32 conn_id, struct kverbs_conn_query *query);

/**
 * kverbs_buf_register() - pin user memory
 * @fd: the context
 * @addr: start, any alignment
 * @length: bytes
 * @flags: KVERBS_BUF_WRITABLE, if a peer or a read is to write to it, or 0
 * @buf_id: out
 *
 * Return: 0 or a negative errno.
 */
int kverbs_buf_register(int fd, const void *addr, __u64 length, __u32 flags,
			__u32 *buf_id);

/**
 * kverbs_buf_alloc() - a buffer of kernel pages
 * @fd: the context
 * @length: bytes, rounded up to whole pages
 * @numa_node: -1 for any
 * @buf_id: out
 * @mmap_offset: out: for kverbs_buf_map()
 *
 * Return: 0 or a negative errno.
 */
int kverbs_buf_alloc(int fd, __u64 length, int numa_node, __u32 *buf_id,
		     __u64 *mmap_offset);

/**
 * kverbs_buf_map() - map a buffer of kernel pages, to read and write
 * @fd: the context
 * @length: of the buffer
 * @mmap_offset: as kverbs_buf_alloc() told
 * @addr: out; the caller unmaps it with munmap()
 *
 * Return: 0 or a negative errno.
 */
int kverbs_buf_map(int fd, __u64 length, __u64 mmap_offset, void **addr);

/**
 * kverbs_destroy() - drop an id
 * @fd: the context
 * @id: of a buffer, connection, listener or region
 *
 * Return: 0 or a negative errno.
 */
int kverbs_destroy(int fd, __u32 id);

/**
 * kverbs_listen() - listen for connections
 * @fd: the context
 * @listen: in: address (kverbs_addr_parse() makes one), limits, attributes;
 *	out: @listener_id, @port, and on failure @error
 *
 * Return: 0 or a negative errno.
 */
int kverbs_listen(int fd, struct kverbs_listen *listen);

/**
 * kverbs_connect() - connect to a listener
 * @fd: the context
 * @connect: in: addresses, time-out, attributes; out: @conn_id, and on failure
 *	@error
 *
 * Return: 0 or a negative errno.
 */
int kverbs_connect(int fd, struct kverbs_connect *connect);

/**
 * kverbs_accept() - take an established connection
 * @fd: the context
 * @accept: in: @listener_id, @flags, @timeout_ms; out: @conn_id, @peer
 *
 * Return: 0 or a negative errno.
 */
int kverbs_accept(int fd, struct kverbs_accept *accept);

/**
 * kverbs_disconnect() - finish a connection's work and close it
 * @fd: the context
 * @conn_id: a connection; its id stays until destroyed
 * @timeout_ms: how long the work may take; 0 = 10000
 *
 * Return: 0 or a negative errno.
 */
int kverbs_disconnect(int fd, __u32 conn_id, __u32 timeout_ms);

/**
 * kverbs_abort() - end a connection's work now
 * @fd: the context
 * @conn_id: a connection; its id stays until destroyed
 *
 * Return: 0 or a negative errno.
 */
int kverbs_abort(int fd, __u32 conn_id);

/**
 * kverbs_region_expose() - let a peer reach a buffer
 * @fd: the context
 * @expose: in: target, buffer, range, rights, tag; out: @region_id
 *
 * Return: 0 or a negative errno.
 */
int kverbs_region_expose(int fd, struct kverbs_region_expose *expose);

/**
 * kverbs_region_list() - the regions of a connection, own and remote
 * @fd: the context
 * @conn_id: a connection
 * @regions: out
 * @nr: in: room in @regions; out: how many there are, may be more
 *
 * Return: 0 or a negative errno.
 */
int kverbs_region_list(int fd, __u32 conn_id, struct kverbs_region *regions,
		       __u32 *nr);

/**
 * kverbs_submit() - hand in work, one event for each item, and take none
 * @fd: the context
 * @conn_id: a connection
 * @items: the work
 * @nr: how many
 *
 * Return: how many were accepted (a prefix, at least one), or a negative errno.
 */
int kverbs_submit(int fd, __u32 conn_id, const struct kverbs_item *items,
		  __u32 nr);

/**
 * kverbs_submit_cmd() - hand in work with all that SUBMIT can do: one event for
 *	the batch, and taking events in the same call
 * @fd: the context
 * @submit: in: all but @size; out: @accepted, @error, and in @take how many
 *	events and how many bytes of messages were taken: fill both in again
 *	before the next call
 *
 * Return: 0 when at least one item was accepted, or a negative errno.
 */
int kverbs_submit_cmd(int fd, struct kverbs_submit *submit);

/**
 * kverbs_wait() - take events
 * @fd: the context
 * @events: out
 * @nr: room in @events
 * @timeout_ms: 0 = wait for ever
 * @flags: KVERBS_NONBLOCK or 0
 *
 * Return: how many were taken (at least one), or a negative errno: EAGAIN when
 * there is none, ETIMEDOUT, EINTR. Of messages only the events are taken, cut to
 * nothing: who expects messages calls kverbs_wait_cmd().
 */
int kverbs_wait(int fd, struct kverbs_event *events, __u32 nr,
		__u32 timeout_ms, __u32 flags);

/**
 * kverbs_wait_cmd() - take events, and the bytes of messages
 * @fd: the context
 * @wait: in: all but @size; out: in @take how many events and how many bytes
 *
 * Return: 0 or a negative errno: EAGAIN when there is none, ETIMEDOUT, EINTR.
 */
int kverbs_wait_cmd(int fd, struct kverbs_wait *wait);

/**
 * kverbs_ack() - tell the writer that its data is consumed
 * @fd: the context
 * @conn_id: a connection
 * @seq: everything up to this notification
 * @flags: KVERBS_ACK_PERSISTED or 0
 *
 * Return: 0 or a negative errno.
 */
int kverbs_ack(int fd, __u32 conn_id, __u64 seq, __u32 flags);

/**
 * kverbs_bench() - the same work many times, without system calls
 * @fd: the context
 * @bench: in: all but @size; out: @done and @ns
 *
 * Return: 0, or a negative errno: that of the first item that failed.
 */
int kverbs_bench(int fd, struct kverbs_bench *bench);

/**
 * kverbs_addr_parse() - an address as people write it
 * @text: HOST, HOST:PORT, V6ADDRESS, [V6ADDRESS] or [V6ADDRESS]:PORT; HOST is a
 *	name or an IPv4 address. Without HOST (":PORT") a @passive one means any
 * @port: when @text has none
 * @passive: true to listen on it: then port 0 is allowed, it means any
 * @addr: out: a struct sockaddr_in or sockaddr_in6
 * @why: out, on failure: what is wrong, in words
 *
 * Return: 0, EINVAL for what cannot be an address, ENOENT for a name that does
 * not resolve, negative.
 */
int kverbs_addr_parse(const char *text, __u16 port, bool passive,
		      __u8 addr[KVERBS_ADDR_MAX], const char **why);

/**
 * kverbs_addr_text() - the other way round
 * @addr: a struct sockaddr_in or sockaddr_in6, any alignment
 * @text: out: HOST:PORT or [V6ADDRESS]:PORT, numeric; "-" when there is none
 *
 * Return: @text.
 */
const char *kverbs_addr_text(const __u8 addr[KVERBS_ADDR_MAX],
			     char text[KVERBS_ADDR_TEXT]);

/**
 * kverbs_addr_set_port() - give an address another port
 * @addr: a struct sockaddr_in or sockaddr_in6, any alignment
 * @port: host byte order
 */
void kverbs_addr_set_port(__u8 addr[KVERBS_ADDR_MAX], __u16 port);

/**
 * kverbs_moment_name() - POSTED, COMPLETED, ...
 * @moment: enum kverbs_moment
 *
 * Return: its name, upper case; "?" when there is no such moment.
 */
const char *kverbs_moment_name(__u32 moment);

/**
 * kverbs_step_name() - a short name of a step, for machines
 * @step: enum kverbs_step
 *
 * Return: its name in lower case, such as "resolve_addr"; "?" if unknown.
 */
const char *kverbs_step_name(__u32 step);

/**
 * kverbs_state_name() - a connection's state
 * @state: enum kverbs_state
 *
 * Return: its name in lower case; "?" if unknown.
 */
const char *kverbs_state_name(__u32 state);

/**
 * kverbs_transport_name() - what carries the verbs
 * @transport: enum kverbs_transport
 *
 * Return: "InfiniBand", "RoCE", "iWARP" or "other".
 */
const char *kverbs_transport_name(__u32 transport);

/**
 * kverbs_poll_name() - who polls the send completion queue
 * @poll: enum kverbs_poll
 *
 * Return: its name in lower case; "?" if unknown.
 */
const char *kverbs_poll_name(__u32 poll);

/**
 * kverbs_op_name() - what an item does
 * @op: enum kverbs_op
 *
 * Return: its name in lower case, such as "fetch_add"; "?" if unknown.
 */
const char *kverbs_op_name(__u32 op);

/**
 * kverbs_feature_name() - what a module or a device can do
 * @feature: one bit of enum kverbs_feature
 *
 * Return: its name in lower case; "?" if unknown, or if it is not one bit.
 */
const char *kverbs_feature_name(__u64 feature);

/**
 * kverbs_placement_name() - what is known of an item's data
 * @placement: enum kverbs_placement
 *
 * Return: its name in lower case; "?" if unknown.
 */
const char *kverbs_placement_name(__u32 placement);

/**
 * kverbs_event_name() - what an event tells
 * @kind: enum kverbs_event_kind
 *
 * Return: its name in lower case; "?" if unknown.
 */
const char *kverbs_event_name(__u32 kind);

/**
 * kverbs_reject_name() - why a kverbs target refused
 * @reject: enum kverbs_reject
 *
 * Return: its name in lower case; "?" if unknown.
 */
const char *kverbs_reject_name(__u32 reject);

/**
 * kverbs_wc_status_name() - the status of a work completion
 * @status: enum ib_wc_status
 *
 * Return: the kernel's own text, such as "remote access error".
 */
const char *kverbs_wc_status_name(__u32 status);

/**
 * kverbs_cm_event_name() - an event of the connection manager
 * @event: enum rdma_cm_event_type
 *
 * Return: its name in lower case; "?" if unknown.
 */
const char *kverbs_cm_event_name(__u32 event);

/**
 * kverbs_cm_reject_name() - why the connection manager at the peer refused
 * @status: &kverbs_error.cm_status of a REJECTED event: a positive one is
 *	InfiniBand's reject reason, a negative one an errno (iWARP)
 *
 * Return: the reason in words.
 */
const char *kverbs_cm_reject_name(__s32 status);

/**
 * struct kverbs_explanation - a first cause in words
 * @step: what was being done, such as "connecting"
 * @cause: why it failed, numbers named
 * @advice: what to do next
 */
struct kverbs_explanation {
	const char *step;
	char cause[256];
	const char *advice;
};

/**
 * kverbs_explain() - find the words for a first cause
 * @error: the first cause
 * @words: out
 */
void kverbs_explain(const struct kverbs_error *error,
		    struct kverbs_explanation *words);

/**
 * kverbs_explain_text() - these words as a message: step, device, addresses,
 *	cause, and what to do next
 * @words: from kverbs_explain(), or the caller's own
 * @device: name of the RDMA device; NULL or empty when there is none
 * @local: own address as text; NULL or empty when there is none
 * @peer: the peer's address as text; NULL or empty when there is none
 * @text: out: two lines, the second indented; no newline at the end
 * @size: of @text; 1024 is enough
 *
 * Return: @text.
 */
const char *kverbs_explain_text(const struct kverbs_explanation *words,
				const char *device, const char *local,
				const char *peer, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* _KVERBS_H */
