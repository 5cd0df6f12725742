// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interface as such: numbers, sizes, pointers, flags, reserved fields and
 * ids. Whatever is wrong has one errno, and leaves everything as it was.
 */
#include "link.h"

#include <stddef.h>

/* Any ioctl's struct, with room for a tail behind it. */
union any {
	__u32 size;
	struct kverbs_query query;
	struct kverbs_conn_query conn_query;
	struct kverbs_buf_register buf_register;
	struct kverbs_buf_alloc buf_alloc;
	struct kverbs_destroy destroy;
	struct kverbs_listen listen;
	struct kverbs_connect connect;
	struct kverbs_accept accept;
	struct kverbs_disconnect disconnect;
	struct kverbs_abort abort;
	struct kverbs_region_expose expose;
	struct kverbs_region_list region_list;
	struct kverbs_submit submit;
	struct kverbs_wait wait;
	struct kverbs_ack ack;
	struct kverbs_bench bench;
	__u8 room[4096];
};

/*
 * Every ioctl, and for each an argument that passes all checks of the size and
 * is then answered with @answer, which no check of the size gives.
 */
static const struct row {
	const char *name;
	unsigned long cmd;
	__u32 size;
	int answer;
	union any arg;
} rows[] = {
#define ROW(_cmd, _type, _answer, ...) \
	{ #_cmd, _cmd, sizeof(struct _type), _answer, { __VA_ARGS__ } }
	ROW(KVERBS_QUERY, kverbs_query, 0, .query = { .abi = 0 }),
	ROW(KVERBS_CONN_QUERY, kverbs_conn_query, ENOENT, .conn_query = { .conn_id = 0 }),
	ROW(KVERBS_BUF_REGISTER, kverbs_buf_register, EOPNOTSUPP,
	    .buf_register = { .flags = 1 << 31 }),
	ROW(KVERBS_BUF_ALLOC, kverbs_buf_alloc, EOPNOTSUPP, .buf_alloc = { .flags = 1 }),
	ROW(KVERBS_DESTROY, kverbs_destroy, ENOENT, .destroy = { .id = 0 }),
	ROW(KVERBS_LISTEN, kverbs_listen, EOPNOTSUPP, .listen = { .flags = 1 }),
	ROW(KVERBS_CONNECT, kverbs_connect, EOPNOTSUPP, .connect = { .flags = 1 }),
	ROW(KVERBS_ACCEPT, kverbs_accept, ENOENT, .accept = { .listener_id = ~0u }),
	ROW(KVERBS_DISCONNECT, kverbs_disconnect, ENOENT, .disconnect = { .conn_id = ~0u }),
	ROW(KVERBS_ABORT, kverbs_abort, ENOENT, .abort = { .conn_id = ~0u }),
	ROW(KVERBS_REGION_EXPOSE, kverbs_region_expose, ENOENT, .expose = { .buf_id = ~0u }),
	ROW(KVERBS_REGION_LIST, kverbs_region_list, ENOENT, .region_list = { .conn_id = ~0u }),
	ROW(KVERBS_SUBMIT, kverbs_submit, ENOENT, .submit = { .conn_id = ~0u, .nr = 1 }),
	ROW(KVERBS_WAIT, kverbs_wait, EAGAIN, .wait = { .flags = KVERBS_NONBLOCK, .take.nr = 1 }),
	ROW(KVERBS_ACK, kverbs_ack, ENOENT, .ack = { .conn_id = ~0u }),
	ROW(KVERBS_BENCH, kverbs_bench, ENOENT, .bench = {
		.conn_id = ~0u, .op = KVERBS_OP_WRITE, .length = 1, .span = 1, .count = 1,
		.batch = 1, .in_flight = 1 }),
};

static void expect(int fd, const struct row *row, const char *what, void *arg, int code)
{
	int ret = kverbs_ioctl(fd, row->cmd, arg);

	if (ret != -code)
		fail_at(__FILE__, __LINE__, "%s, %s: %s, not %s", row->name, what,
			result_name(ret), result_name(-code));
}

static void with_size(int fd, const struct row *row, const char *what, __u32 size, int code)
{
	union any arg = row->arg;

	arg.size = size;
	expect(fd, row, what, &arg, code);
}

static void sizes_of(int fd, const struct row *row)
{
	static const __u32 tails[] = { 1, 4, 8, 512 };
	union any arg;
	__u32 i;

	with_size(fd, row, "exact size", row->size, row->answer);
	with_size(fd, row, "size 0", 0, EINVAL);
	with_size(fd, row, "size 4", 4, EINVAL);
	with_size(fd, row, "one byte short", row->size - 1, EINVAL);
	for (i = 0; i < ARRAY_SIZE(tails); i++) {
		with_size(fd, row, "zero tail", row->size + tails[i], row->answer);
		arg = row->arg;
		arg.size = row->size + tails[i];
		arg.room[arg.size - 1] = 1;
		expect(fd, row, "tail that is not zero", &arg, E2BIG);
	}
}

static void sizes(void)
{
	int fd = context();
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		sizes_of(fd, &rows[i]);
}

static void unknown_numbers(void)
{
	struct kverbs_query query = { .size = sizeof(query) };
	int fd = context(), nr;
	char byte = 0;

	for (nr = 0; nr < 256; nr++) {
		if (nr < KVERBS_CMD_BASE || nr > KVERBS_CMD_BENCH)
			CHECK_ERR(kverbs_ioctl(fd, _IO(KVERBS_TYPE, nr), &query), ENOTTY);
		CHECK_ERR(kverbs_ioctl(fd, _IO(KVERBS_TYPE ^ 1, nr), &query), ENOTTY);
		CHECK_ERR(kverbs_ioctl(fd, _IOWR(KVERBS_TYPE, nr, query), &query), ENOTTY);
	}
	CHECK(read(fd, &byte, 1) == -1);
	CHECK(write(fd, &byte, 1) == -1);
	CHECK_OK(kverbs_query(fd, &query));
}

/* NULL, kernel memory, unaligned, read-only, and a struct cut off by its page. */
static void pointers(void)
{
	__u8 *two = memory(8192), *odd = memory(8192) + 1;
	int fd = context();
	const struct row *row;
	__u32 i;

	CHECK_SYS(mprotect(two + 4096, 4096, PROT_NONE));
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		row = &rows[i];
		expect(fd, row, "NULL", NULL, EFAULT);
		expect(fd, row, "unmapped", two + 4096, EFAULT);
		expect(fd, row, "kernel address", (void *)0xffff888000000000UL, EFAULT);
		expect(fd, row, "last address", (void *)~0UL, EFAULT);
		memcpy(odd, &row->arg, row->size);
		memcpy(odd, &row->size, 4);
		expect(fd, row, "unaligned", odd, row->answer);
		memcpy(two + 4096 - row->size + 4, odd, row->size - 4);
		expect(fd, row, "cut off", two + 4096 - row->size + 4, EFAULT);
		memcpy(two + 4096 - row->size, odd, row->size);
		expect(fd, row, "to the end of the page", two + 4096 - row->size, row->answer);
	}
}

static void *read_only(const void *arg, size_t size)
{
	__u8 *mem = memory(4096);

	memcpy(mem, arg, size);
	CHECK_SYS(mprotect(mem, 4096, PROT_READ));
	return mem;
}

static __u32 next_id(int fd)
{
	__u64 offset;
	__u32 id;

	CHECK_OK(kverbs_buf_alloc(fd, 1, -1, &id, &offset));
	CHECK_OK(kverbs_destroy(fd, id));
	return id;
}

/* A reply that cannot be written: nothing was made. */
static void unwritable_reply(void)
{
	struct kverbs_buf_register reg = { .size = sizeof(reg), .length = 4096 };
	struct kverbs_buf_alloc alloc = { .size = sizeof(alloc), .length = 4096, .numa_node = -1 };
	struct kverbs_listen listen = { .size = sizeof(listen) };
	struct kverbs_accept accept = { .size = sizeof(accept), .flags = KVERBS_NONBLOCK };
	struct kverbs_query query = { .size = sizeof(query) };
	struct kverbs_connect connect;
	int fd = context(), other = context();
	__u32 before, id, listener;
	__u16 port;

	before = next_id(fd);
	reg.addr = (uintptr_t)memory(4096);
	CHECK_ERR(kverbs_ioctl(fd, KVERBS_QUERY, read_only(&query, sizeof(query))), EFAULT);
	CHECK_ERR(kverbs_ioctl(fd, KVERBS_BUF_REGISTER, read_only(&reg, sizeof(reg))), EFAULT);
	CHECK_ERR(kverbs_ioctl(fd, KVERBS_BUF_ALLOC, read_only(&alloc, sizeof(alloc))), EFAULT);
	address(listen.addr, env("KV_ADDR", "10.9.0.1"), 20001);
	CHECK_ERR(kverbs_ioctl(fd, KVERBS_LISTEN, read_only(&listen, sizeof(listen))), EFAULT);
	listener = listen_at(other, NULL, &port);
	connect_fill(&connect, port, NULL);
	connect.size = sizeof(connect);
	CHECK_ERR(kverbs_ioctl(fd, KVERBS_CONNECT, read_only(&connect, sizeof(connect))), EFAULT);
	for (id = before; id <= before + 16; id++)
		CHECK_ERR(kverbs_destroy(fd, id), ENOENT);
	/* The address is free again. */
	CHECK_OK(kverbs_listen(fd, &listen));

	/* The one that cannot be told is not left hanging about. */
	CHECK_OK(kverbs_destroy(other, listener));
	listener = listen_at(other, NULL, &port);
	connect_fill(&connect, port, NULL);
	CHECK_OK(kverbs_connect(fd, &connect));
	NEXT_EVENT(other, KVERBS_EVENT_INCOMING, listener);
	accept.listener_id = listener;
	CHECK_ERR(kverbs_ioctl(other, KVERBS_ACCEPT, read_only(&accept, sizeof(accept))), EFAULT);
	accept.flags = 0;
	accept.timeout_ms = 1;
	/* Either it is still there to be accepted, or it has ended. */
	if (kverbs_accept(other, &accept))
		NEXT_EVENT(fd, KVERBS_EVENT_CONN, connect.conn_id);
}

/* Every field that has to be zero, and every flag that does not exist. */
static void reserved(void)
{
	struct kverbs_buf_register reg = { .length = 4096 };
	struct kverbs_listen listen = { 0 };
	struct kverbs_connect connect;
	struct kverbs_accept accept = { .flags = KVERBS_NONBLOCK };
	struct kverbs_region_list list = { .size = sizeof(list) };
	struct kverbs_ack ack = { .size = sizeof(ack) };
	struct kverbs_query query = { .flags = 1 };
	struct link l = link_up();
	struct kverbs_disconnect bye = { .size = sizeof(bye), .flags = 1, .conn_id = l.ca };
	struct kverbs_submit submit = { .size = sizeof(submit), .flags = 1 << 2, .conn_id = l.ca,
					.nr = 1 };
	struct kverbs_region_expose expose = { .size = sizeof(expose), .flags = 1,
					       .target_id = l.ca };
	struct kverbs_event event;
	__u32 bit, buf;

	CHECK_ERR(kverbs_query(l.a, &query), EOPNOTSUPP);
	CHECK_ERR(kverbs_ioctl(l.a, KVERBS_DISCONNECT, &bye), EOPNOTSUPP);
	CHECK_ERR(kverbs_ioctl(l.a, KVERBS_SUBMIT, &submit), EOPNOTSUPP);
	CHECK_ERR(kverbs_ioctl(l.a, KVERBS_REGION_EXPOSE, &expose), EOPNOTSUPP);
	reg.size = sizeof(reg);
	reg.addr = (uintptr_t)memory(4096);
	reg.reserved = 1;
	CHECK_ERR(kverbs_ioctl(l.a, KVERBS_BUF_REGISTER, &reg), EINVAL);
	for (bit = 1; bit < 32; bit++) {
		CHECK_ERR(kverbs_buf_register(l.a, (void *)reg.addr, 4096, 1u << bit, &buf),
			  EOPNOTSUPP);
		CHECK_ERR(kverbs_wait(l.a, &event, 1, 1, 1u << bit), EOPNOTSUPP);
		CHECK_ERR(kverbs_ack(l.a, l.ca, 1, 1u << bit), EOPNOTSUPP);
		accept.flags = 1u << bit;
		accept.listener_id = l.listener;
		CHECK_ERR(kverbs_accept(l.b, &accept), EOPNOTSUPP);
	}
	accept.flags = KVERBS_NONBLOCK;
	accept.reserved[0] = 1;
	CHECK_ERR(kverbs_accept(l.b, &accept), EINVAL);
	accept.reserved[0] = 0;
	accept.reserved[1] = 1 << 31;
	CHECK_ERR(kverbs_accept(l.b, &accept), EINVAL);
	address(listen.addr, env("KV_ADDR", "10.9.0.1"), 0);
	listen.reserved = 1;
	CHECK_ERR(kverbs_listen(l.a, &listen), EINVAL);
	listen.reserved = 0;
	listen.attr.reserved = 1;
	CHECK_ERR(kverbs_listen(l.a, &listen), EINVAL);
	connect_fill(&connect, l.port, NULL);
	connect.reserved[0] = 1;
	CHECK_ERR(kverbs_connect(l.a, &connect), EINVAL);
	connect_fill(&connect, l.port, NULL);
	connect.reserved[1] = 1;
	CHECK_ERR(kverbs_connect(l.a, &connect), EINVAL);
	list.conn_id = l.ca;
	list.reserved = 1;
	CHECK_ERR(kverbs_ioctl(l.a, KVERBS_REGION_LIST, &list), EINVAL);
	ack.conn_id = l.cb;
	ack.reserved = 1;
	CHECK_ERR(kverbs_ioctl(l.b, KVERBS_ACK, &ack), EINVAL);
	CHECK_EQ(conn_query(l.a, l.ca).state, KVERBS_STATE_UP);
	link_close(&l);
}

/* Ask everything that takes a connection for an id that is none. */
static void no_connection(int fd, __u32 id)
{
	struct kverbs_conn_query query = { 0 };
	struct kverbs_item it = { .op = KVERBS_OP_WRITE, .length = 1, .until = 1 };
	__u32 nr = 0;

	CHECK_ERR(kverbs_conn_query(fd, id, &query), ENOENT);
	CHECK_ERR(kverbs_disconnect(fd, id, 0), ENOENT);
	CHECK_ERR(kverbs_abort(fd, id), ENOENT);
	CHECK_ERR(kverbs_region_list(fd, id, NULL, &nr), ENOENT);
	CHECK_ERR(kverbs_submit(fd, id, &it, 1), ENOENT);
	CHECK_ERR(kverbs_ack(fd, id, 1, 0), ENOENT);
}

static void no_listener(int fd, __u32 id)
{
	struct kverbs_accept accept = { .flags = KVERBS_NONBLOCK, .listener_id = id };

	CHECK_ERR(kverbs_accept(fd, &accept), ENOENT);
}

static void no_target(int fd, __u32 id, __u32 buf)
{
	struct kverbs_region_expose cmd = { .target_id = id, .buf_id = buf, .length = 1,
					    .rights = KVERBS_RIGHT_WRITE };

	CHECK_ERR(kverbs_region_expose(fd, &cmd), ENOENT);
}

/* Ids that do not exist, are of another kind, or belong to another file. */
static void ids(void)
{
	static const __u32 strange[] = { 0, 77777, 1 << 24, 1u << 31, ~0u };
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_region_expose cmd = { .target_id = l.cb, .length = 1,
					    .rights = KVERBS_RIGHT_WRITE };
	const __u32 other_kind[] = { f.buf, f.own, l.listener };
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(strange); i++) {
		no_connection(l.b, strange[i]);
		no_listener(l.b, strange[i]);
		no_target(l.b, strange[i], f.buf);
		CHECK_ERR(kverbs_destroy(l.b, strange[i]), ENOENT);
		cmd.buf_id = strange[i];
		CHECK_ERR(kverbs_region_expose(l.b, &cmd), ENOENT);
	}
	for (i = 0; i < ARRAY_SIZE(other_kind); i++)
		no_connection(l.b, other_kind[i]);
	no_listener(l.b, l.cb);
	no_listener(l.b, f.buf);
	no_listener(l.b, f.own);
	no_target(l.b, f.buf, f.buf);
	no_target(l.b, f.own, f.buf);
	cmd.buf_id = l.cb;
	CHECK_ERR(kverbs_region_expose(l.b, &cmd), ENOENT);
	/* The other context has fewer ids than this one. */
	no_connection(l.a, f.own + 10);
	CHECK_ERR(kverbs_destroy(l.a, f.own + 10), ENOENT);
	CHECK_OK(kverbs_destroy(l.a, f.region));
	CHECK_ERR(kverbs_destroy(l.a, f.region), ENOENT);
	CHECK_EQ(conn_query(l.b, l.cb).state, KVERBS_STATE_UP);
	FIELD_CHECK(&f);
	link_close(&l);
}

static void ids_are_cyclic(void)
{
	__u32 id, last = 0, i;
	int fd = context();

	for (i = 0; i < amount(2000, 500, 100); i++, last = id) {
		id = next_id(fd);
		CHECK(id > last);
	}
}

/* As many objects as QUERY promises, then ENOSPC, and one less makes room. */
static void ids_are_bounded(void)
{
	struct kverbs_query query = { 0 };
	int fd = context();
	__u8 *mem = memory(4096);
	__u32 i, id = 0;

	CHECK_OK(kverbs_query(fd, &query));
	CHECK(query.max_ids >= 1024);
	for (i = 0; i < query.max_ids; i++)
		CHECK_OK(kverbs_buf_register(fd, mem, 1, 0, &id));
	CHECK_ERR(kverbs_buf_register(fd, mem, 1, 0, &id), ENOSPC);
	CHECK_OK(kverbs_destroy(fd, id));
	CHECK_OK(kverbs_buf_register(fd, mem, 1, 0, &id));
	CHECK_ERR(kverbs_buf_register(fd, mem, 1, 0, &i), ENOSPC);
	close(fd);
}

static void query(void)
{
	struct kverbs_device devices[8] = { 0 };
	struct kverbs_query q = { .nr_devices = 8, .devices = (uintptr_t)devices };
	bool found = false;
	int fd = context();
	__u32 i;

	CHECK_OK(kverbs_query(fd, &q));
	CHECK_EQ(q.abi, KVERBS_ABI);
	CHECK(q.nr_devices >= 1 && q.nr_devices <= 8);
	CHECK((q.features & KVERBS_FEATURE_WRITE) && (q.features & KVERBS_FEATURE_NOTIFY));
	CHECK(q.max_batch && q.max_pending && q.max_depth && q.default_depth && q.wr_ceiling);
	for (i = 0; i < q.nr_devices; i++) {
		if (strcmp(devices[i].name, env("KV_DEV", "rxe0")))
			continue;
		found = true;
		CHECK_EQ(devices[i].transport, on_siw() ? KVERBS_TRANSPORT_IWARP :
							  KVERBS_TRANSPORT_ROCE);
		CHECK_EQ(devices[i].ports, 1);
		CHECK_EQ(devices[i].virt_dma, 1);
		CHECK(devices[i].features & KVERBS_FEATURE_READ);
		CHECK_EQ(!(devices[i].features & KVERBS_FEATURE_IMM), on_siw());
		CHECK(!(devices[i].features & ~q.features));
		CHECK(devices[i].fast_reg_pages >= 256);
		CHECK(devices[i].max_qp_wr && devices[i].max_send_sge && devices[i].max_cqe);
	}
	CHECK(found);

	/* Room for none: only the count. */
	memset(&q, 0, sizeof(q));
	CHECK_OK(kverbs_query(fd, &q));
	CHECK(q.nr_devices >= 1);
	q.nr_devices = 1;
	q.devices = 8;
	CHECK_ERR(kverbs_query(fd, &q), EFAULT);
	q.nr_devices = ~0u;
	CHECK_ERR(kverbs_query(fd, &q), EFAULT);
}

/* One layout for 32 and 64 bits: these numbers are for ever. */
static void layout(void)
{
#define AT(_type, _member, _offset) \
	CHECK_EQ(offsetof(struct _type, _member), _offset)
#define SIZE(_type, _size) \
	CHECK_EQ(sizeof(struct _type), _size)
	SIZE(kverbs_error, 96);
	AT(kverbs_error, device, 32);
	SIZE(kverbs_device, 120);
	AT(kverbs_device, max_msg, 104);
	SIZE(kverbs_query, 56);
	AT(kverbs_query, devices, 16);
	AT(kverbs_query, wr_ceiling, 52);
	SIZE(kverbs_conn_attr, 32);
	SIZE(kverbs_buf_register, 32);
	AT(kverbs_buf_register, addr, 8);
	SIZE(kverbs_buf_alloc, 32);
	AT(kverbs_buf_alloc, mmap_offset, 24);
	SIZE(kverbs_destroy, 8);
	SIZE(kverbs_listen, 188);
	AT(kverbs_listen, attr, 48);
	AT(kverbs_listen, error, 92);
	SIZE(kverbs_connect, 208);
	AT(kverbs_connect, attr, 68);
	AT(kverbs_connect, error, 112);
	SIZE(kverbs_accept, 56);
	SIZE(kverbs_disconnect, 16);
	SIZE(kverbs_abort, 8);
	SIZE(kverbs_caps, 24);
	SIZE(kverbs_counters, 120);
	SIZE(kverbs_conn_query, 424);
	AT(kverbs_conn_query, asked, 56);
	AT(kverbs_conn_query, src, 120);
	AT(kverbs_conn_query, counters, 208);
	AT(kverbs_conn_query, error, 328);
	SIZE(kverbs_region_expose, 48);
	SIZE(kverbs_region, 32);
	SIZE(kverbs_region_list, 24);
	SIZE(kverbs_item, 80);
	AT(kverbs_item, until, 56);
	SIZE(kverbs_take, 32);
	SIZE(kverbs_submit, 72);
	AT(kverbs_submit, take, 40);
	SIZE(kverbs_event, 136);
	AT(kverbs_event, stamps, 56);
	AT(kverbs_event, seq, 120);
	SIZE(kverbs_wait, 40);
	SIZE(kverbs_bench, 88);
	SIZE(kverbs_ack, 24);
	CHECK_EQ(KVERBS_QUERY, 0xba80);
	CHECK_EQ(KVERBS_ACK, 0xba8e);
	SIZE(kverbs_uring_cmd, 16);
	CHECK_EQ(KVERBS_BENCH, 0xba8f);
	CHECK_EQ(KVERBS_URING_SUBMIT, 0xba90);
}

static const struct test tests[] = {
	{ "layout", layout },
	{ "unknown_numbers", unknown_numbers },
	{ "sizes", sizes },
	{ "pointers", pointers },
	{ "unwritable_reply", unwritable_reply },
	{ "reserved", reserved },
	{ "ids", ids },
	{ "ids_are_cyclic", ids_are_cyclic },
	{ "ids_are_bounded", ids_are_bounded },
	{ "query", query },
};

int main(int argc, char **argv)
{
	return tests_main(tests, ARRAY_SIZE(tests), argc, argv);
}
