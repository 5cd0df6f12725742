// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctls: one function each. A function takes what goes in, hands back what
 * comes out, and returns the negative errno; nothing is hidden behind it.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "kverbs.h"

int kverbs_open(void)
{
	int fd = open(KVERBS_DEVICE_FILE, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int kverbs_ioctl(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) < 0 ? -errno : 0;
}

int kverbs_query(int fd, struct kverbs_query *query)
{
	query->size = sizeof(*query);
	return kverbs_ioctl(fd, KVERBS_QUERY, query);
}

int kverbs_query_devices(int fd, struct kverbs_query *query,
			 struct kverbs_device **devices)
{
	__u32 room = 0;
	int ret;

	*devices = NULL;
	/* A device may come between two calls: ask until all of them fit. */
	for (;;) {
		memset(query, 0, sizeof(*query));
		query->nr_devices = room;
		query->devices = (uintptr_t)*devices;
		ret = kverbs_query(fd, query);
		if (ret || query->nr_devices <= room)
			break;
		free(*devices);
		room = query->nr_devices;
		*devices = calloc(room, sizeof(**devices));
		if (!*devices)
			return -ENOMEM;
	}
	if (ret || !query->nr_devices) {
		free(*devices);
		*devices = NULL;
	}
	return ret;
}

int kverbs_conn_query(int fd, __u32 conn_id, struct kverbs_conn_query *query)
{
	memset(query, 0, sizeof(*query));
	query->size = sizeof(*query);
	query->conn_id = conn_id;
	return kverbs_ioctl(fd, KVERBS_CONN_QUERY, query);
}

int kverbs_buf_register(int fd, const void *addr, __u64 length, __u32 flags,
			__u32 *buf_id)
{
	struct kverbs_buf_register arg = {
		.size = sizeof(arg),
		.flags = flags,
		.addr = (uintptr_t)addr,
		.length = length,
	};
	int ret = kverbs_ioctl(fd, KVERBS_BUF_REGISTER, &arg);

	if (!ret)
		*buf_id = arg.buf_id;
	return ret;
}

int kverbs_buf_alloc(int fd, __u64 length, int numa_node, __u32 *buf_id,
		     __u64 *mmap_offset)
{
	struct kverbs_buf_alloc arg = {
		.size = sizeof(arg),
		.length = length,
		.numa_node = numa_node,
	};
	int ret = kverbs_ioctl(fd, KVERBS_BUF_ALLOC, &arg);

	if (!ret) {
		*buf_id = arg.buf_id;
		*mmap_offset = arg.mmap_offset;
	}
	return ret;
}

int kverbs_buf_map(int fd, __u64 length, __u64 mmap_offset, void **addr)
{
	void *map = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, mmap_offset);

	if (map == MAP_FAILED)
		return -errno;
	*addr = map;
	return 0;
}

int kverbs_destroy(int fd, __u32 id)
{
	struct kverbs_destroy arg = { .size = sizeof(arg), .id = id };

	return kverbs_ioctl(fd, KVERBS_DESTROY, &arg);
}

int kverbs_listen(int fd, struct kverbs_listen *listen)
{
	listen->size = sizeof(*listen);
	return kverbs_ioctl(fd, KVERBS_LISTEN, listen);
}

int kverbs_connect(int fd, struct kverbs_connect *connect)
{
	connect->size = sizeof(*connect);
	return kverbs_ioctl(fd, KVERBS_CONNECT, connect);
}

int kverbs_accept(int fd, struct kverbs_accept *accept)
{
	accept->size = sizeof(*accept);
	return kverbs_ioctl(fd, KVERBS_ACCEPT, accept);
}

int kverbs_disconnect(int fd, __u32 conn_id, __u32 timeout_ms)
{
	struct kverbs_disconnect arg = {
		.size = sizeof(arg),
		.conn_id = conn_id,
		.timeout_ms = timeout_ms,
	};

	return kverbs_ioctl(fd, KVERBS_DISCONNECT, &arg);
}

int kverbs_abort(int fd, __u32 conn_id)
{
	struct kverbs_abort arg = { .size = sizeof(arg), .conn_id = conn_id };

	return kverbs_ioctl(fd, KVERBS_ABORT, &arg);
}

int kverbs_region_expose(int fd, struct kverbs_region_expose *expose)
{
	expose->size = sizeof(*expose);
	return kverbs_ioctl(fd, KVERBS_REGION_EXPOSE, expose);
}

int kverbs_region_list(int fd, __u32 conn_id, struct kverbs_region *regions,
		       __u32 *nr)
{
	struct kverbs_region_list arg = {
		.size = sizeof(arg),
		.conn_id = conn_id,
		.nr = *nr,
		.regions = (uintptr_t)regions,
	};
	int ret = kverbs_ioctl(fd, KVERBS_REGION_LIST, &arg);

	if (!ret)
		*nr = arg.nr;
	return ret;
}

int kverbs_submit(int fd, __u32 conn_id, const struct kverbs_item *items,
		  __u32 nr)
{
	struct kverbs_submit arg = {
		.conn_id = conn_id,
		.nr = nr,
		.items = (uintptr_t)items,
	};
	int ret = kverbs_submit_cmd(fd, &arg);

	return ret ? ret : (int)arg.accepted;
}

int kverbs_submit_cmd(int fd, struct kverbs_submit *submit)
{
	submit->size = sizeof(*submit);
	return kverbs_ioctl(fd, KVERBS_SUBMIT, submit);
}

int kverbs_wait(int fd, struct kverbs_event *events, __u32 nr,
		__u32 timeout_ms, __u32 flags)
{
	struct kverbs_wait arg = {
		.flags = flags,
		.take = {
			.events = (uintptr_t)events,
			.nr = nr,
			.timeout_ms = timeout_ms,
		},
	};
	int ret = kverbs_wait_cmd(fd, &arg);

	return ret ? ret : (int)arg.take.nr;
}

int kverbs_wait_cmd(int fd, struct kverbs_wait *wait)
{
	wait->size = sizeof(*wait);
	return kverbs_ioctl(fd, KVERBS_WAIT, wait);
}

int kverbs_ack(int fd, __u32 conn_id, __u64 seq, __u32 flags)
{
	struct kverbs_ack arg = {
		.size = sizeof(arg),
		.flags = flags,
		.conn_id = conn_id,
		.seq = seq,
	};

	return kverbs_ioctl(fd, KVERBS_ACK, &arg);
}

int kverbs_bench(int fd, struct kverbs_bench *bench)
{
	bench->size = sizeof(*bench);
	return kverbs_ioctl(fd, KVERBS_BENCH, bench);
}
