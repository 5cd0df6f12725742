// SPDX-License-Identifier: GPL-2.0-only
/*
 * uring-write ADDRESS FILE: write a file to `kverbs serve`, by io_uring.
 *
 * A block of the file is an item, an item is an SQE, and its CQE says how far it has
 * come. The last block tells the target's program that the file is there; up to
 * which moment that one is waited for depends on the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kverbs.h"

#define BLOCK	(64 * 1024)
#define DEPTH	32

struct target {
	int fd;
	__u32 conn_id;
	__u32 region_id;
	__u32 buf_id;
	__u64 size;		/* of the file */
};

static int fail(const char *what, int ret)
{
	fprintf(stderr, "uring-write: %s: %s\n", what, strerror(-ret));
	return 1;
}

/* Connect, and wait for the region to write to. */
static int reach(struct target *t, const char *address)
{
	struct kverbs_connect connect = { 0 };
	struct kverbs_event event;
	const char *why = "no such name";
	int ret;

	if (kverbs_addr_parse(address, KVERBS_PORT, false, connect.dst, &why)) {
		fprintf(stderr, "uring-write: %s: %s\n", address, why);
		return 1;
	}
	t->fd = kverbs_open();
	if (t->fd < 0)
		return fail(KVERBS_DEVICE_FILE, t->fd);
	ret = kverbs_connect(t->fd, &connect);
	if (ret)
		return fail(kverbs_step_name(connect.error.step), ret);
	t->conn_id = connect.conn_id;
	do {
		ret = kverbs_wait(t->fd, &event, 1, 10000, 0);
		if (ret < 0)
			return fail("waiting for a region", ret);
		if (event.kind == KVERBS_EVENT_CONN)
			return fail("waiting for a region", -ENOTCONN);
	} while (event.kind != KVERBS_EVENT_REGION);
	t->region_id = event.region_id;
	return 0;
}

/* The file's pages are the source: nothing is copied. */
static int load(struct target *t, const char *path)
{
	int file = open(path, O_RDONLY), ret;
	struct stat stat;
	void *map;

	if (file < 0 || fstat(file, &stat))
		return fail(path, -errno);
	if (!stat.st_size)
		return fail(path, -ENODATA);
	t->size = stat.st_size;
	map = mmap(NULL, t->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	if (map == MAP_FAILED)
		return fail(path, -errno);
	ret = kverbs_buf_register(t->fd, map, t->size, 0, &t->buf_id);
	return ret ? fail("registering the file", ret) : 0;
}

/* Put one item into the ring; it is read when that is submitted. */
static int put(struct io_uring *ring, const struct target *t, const struct kverbs_item *item)
{
	struct kverbs_uring_cmd cmd = { .item = (uintptr_t)item, .conn_id = t->conn_id };
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (!sqe)
		return -ENOSPC;
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = t->fd;
	sqe->cmd_op = KVERBS_URING_SUBMIT;
	memcpy(sqe->cmd, &cmd, sizeof(cmd));
	return 0;
}

/* Take one CQE: the moment its item has reached, or a negative errno. */
static int take(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	int ret;

	do {
		ret = io_uring_wait_cqe(ring, &cqe);
	} while (ret == -EINTR);
	if (ret)
		return ret;
	ret = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return ret;
}

/* The block at @offset. */
static struct kverbs_item block(const struct target *t, __u64 offset)
{
	__u64 left = t->size - offset;

	return (struct kverbs_item) {
		.op = KVERBS_OP_WRITE,
		.buf_id = t->buf_id,
		.region_id = t->region_id,
		.buf_offset = offset,
		.region_offset = offset,
		.length = left < BLOCK ? left : BLOCK,
		.until = KVERBS_COMPLETED,
	};
}

/* All blocks but the last, up to DEPTH at once. */
static int write_blocks(struct io_uring *ring, const struct target *t, __u64 last)
{
	struct kverbs_item items[DEPTH];
	__u64 offset = 0;
	int nr, i, ret = 0;

	while (offset < last) {
		for (nr = 0; nr < DEPTH && offset < last && !ret; nr++, offset += BLOCK) {
			items[nr] = block(t, offset);
			ret = put(ring, t, &items[nr]);
		}
		ret = ret ? ret : io_uring_submit(ring);
		if (ret < 0)
			return fail("io_uring_submit", ret);
		for (i = 0; i < nr; i++) {
			ret = take(ring);
			if (ret < 0)
				return fail("a block", ret);
		}
		ret = 0;
	}
	return 0;
}

/*
 * The last block says that the file is there. Rings of kernels before 6.7 offer no
 * moment after COMPLETED; others can wait until the target's program has the file.
 */
static int write_last(struct io_uring *ring, const struct target *t, __u64 last)
{
	struct kverbs_item item = block(t, last);
	int ret;

	item.flags = KVERBS_ITEM_NOTIFY;
	item.tag = KVERBS_TAG_END;
	item.until = KVERBS_CONSUMED;
	do {
		ret = put(ring, t, &item);
		ret = ret ? ret : io_uring_submit(ring);
		if (ret < 0)
			return fail("io_uring_submit", ret);
		ret = take(ring);
	} while (ret == -EOPNOTSUPP && item.until-- > KVERBS_COMPLETED);
	if (ret < 0)
		return fail("the last block", ret);
	printf("%llu bytes, %s\n", t->size, kverbs_moment_name(ret));
	return 0;
}

int main(int argc, char **argv)
{
	struct target t = { 0 };
	struct io_uring ring;
	__u64 last;
	int ret;

	if (argc != 3) {
		fprintf(stderr, "usage: uring-write ADDRESS FILE\n");
		return 2;
	}
	ret = io_uring_queue_init(DEPTH, &ring, 0);
	if (ret)
		return fail("io_uring", ret);
	if (reach(&t, argv[1]) || load(&t, argv[2]))
		return 1;
	last = (t.size - 1) / BLOCK * BLOCK;
	if (write_blocks(&ring, &t, last) || write_last(&ring, &t, last))
		return 1;
	ret = kverbs_disconnect(t.fd, t.conn_id, 0);
	return ret ? fail("disconnect", ret) : 0;
}
