/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KVERBS_BENCH_H
#define _KVERBS_BENCH_H

#include <pthread.h>
#include <stdatomic.h>

#include "hist.h"
#include "tool.h"

#define BENCH_SIZES	64
#define BENCH_GUARD	4096ULL			/* before and behind the data */
#define BENCH_SPAN	(4 * 1024 * 1024ULL)	/* memory of a connection, or one item */
#define BENCH_EVENTS	64			/* taken at once */
#define BENCH_SAMPLES	(1U << 20)		/* latencies asked of the kernel at once */
#define INLINE_MAX	512

/**
 * enum bench_path - who drives the work
 * @BENCH_CALLS: this program, by SUBMIT and WAIT
 * @BENCH_IN_KERNEL: KVERBS_BENCH
 * @BENCH_RAW: /dev/kverbs_raw
 */
enum bench_path {
	BENCH_CALLS,
	BENCH_IN_KERNEL,
	BENCH_RAW,
};

/**
 * struct memory - a kernel buffer with guards
 * @buf_id: its id, in the context it was made in
 * @map: all of it
 * @head: where the data begins; before it a guard, or nothing
 * @bytes: of @map: head, data, a guard
 */
struct memory {
	__u32 buf_id;
	__u8 *map;
	__u64 head;
	__u64 bytes;
};

/**
 * struct lane - one connection at work
 * @fd: the context of its worker
 * @conn_id: the connection there
 * @region_id: the peer's region
 * @region_length: bytes of it
 * @max_inline: what the device gave
 * @device: name of the RDMA device
 * @local: own address
 * @peer: the peer's
 * @near: what items move from or to
 * @other: with --self what is exposed; otherwise a second buffer on this end, to
 *	fill the peer's region and to read it back
 * @seed: of the data
 * @slots: items next to each other in memory; item n is at n modulo this
 * @items: batches in flight times items in a batch, made once for a size
 * @started: for each of these batches when it was submitted; 0 when it is free
 * @next: the batch to submit next
 * @flying: batches on their way
 * @given: items submitted in this run
 * @most: greatest @given of this size's runs
 */
struct lane {
	int fd;
	__u32 conn_id;
	__u32 region_id;
	__u64 region_length;
	__u32 max_inline;
	char device[KVERBS_NAME_MAX];
	char local[KVERBS_ADDR_TEXT];
	char peer[KVERBS_ADDR_TEXT];
	struct memory near;
	struct memory other;
	__u64 seed;
	__u64 slots;
	struct kverbs_item *items;
	__u64 *started;
	__u32 next;
	__u32 flying;
	__u64 given;
	__u64 most;
};

/**
 * struct worker - one thread, its context and its connections
 * @bench: whose
 * @thread: the thread
 * @fd: the context
 * @lanes: its connections
 * @nr_lanes: how many
 * @turn: the lane to look at first
 * @flying: batches of all lanes on their way
 * @left: items to submit
 * @deadline: submit none after this; 0 = never mind
 * @done: items that succeeded
 * @start: when the first was submitted
 * @end: when the last had ended
 * @submit: the call, filled in once
 * @wait: the same
 * @events: room for both
 * @hist: latencies
 * @failed: @problem holds
 * @problem: the first failure
 */
struct worker {
	struct bench *bench;
	pthread_t thread;
	int fd;
	struct lane *lanes;
	__u32 nr_lanes;
	__u32 turn;
	__u32 flying;
	__u64 left;
	__u64 deadline;
	__u64 done;
	__u64 start;
	__u64 end;
	struct kverbs_submit submit;
	struct kverbs_wait wait;
	struct kverbs_event events[BENCH_EVENTS];
	struct hist hist;
	bool failed;
	struct problem problem;
};

/**
 * struct row - what was measured of one size
 * @size: bytes of an item
 * @items: that succeeded
 * @ns: from the first submission to the last end
 * @inlined: their data was sent inline
 * @hist: latencies of submissions
 */
struct row {
	__u64 size;
	__u64 items;
	__u64 ns;
	bool inlined;
	struct hist hist;
};

/**
 * struct bench - the whole run
 * @op: KVERBS_OP_WRITE or KVERBS_OP_READ
 * @path: who drives
 * @self: both ends are here
 * @addr: the peer's address, or own
 * @sizes: bytes of an item, one after the other
 * @nr_sizes: how many
 * @largest: of them
 * @depth: items in flight on one connection
 * @batch: items of one submission
 * @in_flight: submissions in flight on one connection
 * @connections: of all threads
 * @threads: each with a context of its own
 * @attr: of the connections
 * @until: moment that ends an item
 * @count: items to measure, of all connections; 0: by time
 * @seconds: how long to measure
 * @warmup: items before that
 * @inlined: send inline where the size permits
 * @bh: raw: post with bottom halves off
 * @room: bytes of data of each lane
 * @raw: /dev/kverbs_raw
 * @far: with @self, the context of the other end, otherwise -1
 * @listener_id: there
 * @lanes: all connections
 * @workers: all threads
 * @stop: a worker has failed
 * @gate: held while threads are made, so that they start together
 * @problem: the first failure
 */
struct bench {
	__u32 op;
	enum bench_path path;
	bool self;
	__u8 addr[KVERBS_ADDR_MAX];
	__u64 sizes[BENCH_SIZES];
	unsigned int nr_sizes;
	__u64 largest;
	__u32 depth;
	__u32 batch;
	__u32 in_flight;
	__u32 connections;
	__u32 threads;
	struct kverbs_conn_attr attr;
	__u32 until;
	__u64 count;
	__u64 seconds;
	__u64 warmup;
	bool inlined;
	bool bh;
	__u64 room;
	int raw;
	int far;
	__u32 listener_id;
	struct lane *lanes;
	struct worker *workers;
	atomic_bool stop;
	pthread_mutex_t gate;
	struct problem problem;
};

/* Functions that return bool say false for a failure, which is in the problem. */

/* bench_link.c */

/**
 * bench_open() - contexts, connections, regions and memory
 * @bench: which
 *
 * Return: true if all of it is there.
 */
bool bench_open(struct bench *bench);

/**
 * bench_close() - give all of it back, the connections in good order
 * @bench: which, also if it is half made
 */
void bench_close(struct bench *bench);

/**
 * lane_problem() - why work of a connection failed
 * @lane: which
 * @status: positive errno, when there was no event
 * @event: the final event that told, or NULL
 *
 * Return: the connection's first cause if it has one, otherwise this.
 */
struct problem lane_problem(const struct lane *lane, __u32 status,
			    const struct kverbs_event *event);

/**
 * lane_ends() - put device and both addresses into a problem
 * @lane: whose
 * @problem: of it
 */
void lane_ends(const struct lane *lane, struct problem *problem);

/* bench_data.c */

/**
 * data_prepare() - fill source and target of every connection, differently
 * @bench: which
 * @size: bytes of an item; sets each lane's number of slots
 *
 * Return: true when it is done.
 */
bool data_prepare(struct bench *bench, __u64 size);

/**
 * data_verify() - compare: what was moved has arrived, and nothing else changed
 * @bench: which
 * @size: bytes of an item
 *
 * Return: true if so.
 */
bool data_verify(struct bench *bench, __u64 size);

/**
 * data_differs() - the problem of data that is wrong
 * @bytes: how many bytes differ
 * @where: of the first, in words
 *
 * Return: the problem.
 */
struct problem data_differs(__u64 bytes, const char *where);

/* bench_run.c */

/**
 * bench_arm() - make the items of one size
 * @bench: which
 * @size: bytes of an item
 *
 * Return: true when they are made.
 */
bool bench_arm(struct bench *bench, __u64 size);

/**
 * bench_run() - move items, on all threads
 * @bench: armed
 * @count: how many; 0: by time
 * @row: out: @items, @ns, @hist, @inlined
 *
 * Return: true if every single one succeeded.
 */
bool bench_run(struct bench *bench, __u64 count, struct row *row);

/* bench_raw.c */

#define RAW_LENGTH	(4 * 1024 * 1024ULL)	/* most bytes of an item */
#define RAW_DEPTH	8192			/* most items in flight */

/**
 * raw_open() - open /dev/kverbs_raw
 * @bench: which
 *
 * Return: true if it is there.
 */
bool raw_open(struct bench *bench);

/**
 * raw_run() - the same by /dev/kverbs_raw, warm-up and verification included
 * @bench: with the file open
 * @size: bytes of an item
 * @count: how many; made a multiple of a batch
 * @row: out: @items, @ns, @hist
 *
 * Return: true if every single one succeeded and the data is right.
 */
bool raw_run(struct bench *bench, __u64 size, __u64 count, struct row *row);

#endif /* _KVERBS_BENCH_H */
