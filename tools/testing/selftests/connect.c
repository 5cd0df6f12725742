// SPDX-License-Identifier: GPL-2.0-only
/*
 * Making and ending connections: each failure names its step and its cause,
 * limits are kept, and what has ended stays ended.
 */
#include "link.h"

/* A connect that must fail; returns where it failed. */
static struct kverbs_error refused_at(int fd, const char *to, __u16 port, __u32 timeout_ms,
				      int code)
{
	struct kverbs_connect cmd = { .timeout_ms = timeout_ms };

	address(cmd.dst, to, port);
	CHECK_ERR(kverbs_connect(fd, &cmd), code);
	CHECK_EQ(cmd.conn_id, 0);
	CHECK_EQ(cmd.error.code, code);
	return cmd.error;
}

static void no_listener(void)
{
	struct kverbs_error error;
	int fd = context();

	error = refused_at(fd, env("KV_ADDR", ""), 4999, patience_ms(), ECONNREFUSED);
	CHECK_EQ(error.step, KVERBS_STEP_CONNECT);
	CHECK_EQ(error.reject, KVERBS_REJECT_NONE);
	/* siw refuses in the call already, without an event. */
	CHECK(error.cm_event || on_siw());
	CHECK(!strcmp(error.device, env("KV_DEV", "")));
	/* It is gone: no event, no id. */
	CHECK(no_event(fd, KVERBS_EVENT_CONN, 0));
}

static void wrong_port(void)
{
	int fd = context();
	__u16 port;

	listen_at(fd, NULL, &port);
	refused_at(fd, env("KV_ADDR", ""), port == 4999 ? 4998 : 4999, patience_ms(),
		   ECONNREFUSED);
	CHECK(no_event(fd, KVERBS_EVENT_INCOMING, 0));
}

static void shell(const char *command)
{
	int status = system(command);

	if (status)
		fail_at(__FILE__, __LINE__, "'%s' gave %d", command, status);
}

/* An address whose route leads over a netdev without an RDMA device. */
static void no_device(void)
{
	struct kverbs_listen cmd = { 0 };
	struct kverbs_error error;
	int fd = context();

	shell("ip link add plain0 type dummy && ip addr add 10.77.0.1/24 dev plain0 && "
	      "ip link set plain0 up");
	error = refused_at(fd, "10.77.0.2", 4999, patience_ms(), ENODEV);
	CHECK_EQ(error.step, KVERBS_STEP_RESOLVE_ADDR);
	CHECK_EQ(error.device[0], 0);
	refused_at(fd, "10.77.0.1", 4999, patience_ms(), ENODEV);
	address(cmd.addr, "10.77.0.1", 4999);
	CHECK_ERR(kverbs_listen(fd, &cmd), ENODEV);
	CHECK_EQ(cmd.error.step, KVERBS_STEP_BIND);
	CHECK_EQ(cmd.error.code, ENODEV);
	shell("ip link del plain0");
}

static void no_route(void)
{
	struct kverbs_connect cmd = { .timeout_ms = patience_ms() };
	int fd = context(), ret;

	address(cmd.dst, "198.51.100.1", 4999);
	ret = kverbs_connect(fd, &cmd);
	CHECK(ret == -ENETUNREACH || ret == -EHOSTUNREACH);
	CHECK_EQ(cmd.error.step, KVERBS_STEP_RESOLVE_ADDR);
}

/* Nobody answers: the caller's time-out ends it. */
static void nobody_there(void)
{
	struct kverbs_error error;
	int fd = context();

	error = refused_at(fd, "10.9.0.77", 4999, 500, ETIMEDOUT);
	CHECK(error.step == KVERBS_STEP_CONNECT || error.step == KVERBS_STEP_RESOLVE_ADDR);
}

static void sources(void)
{
	struct link l = link_up();
	struct kverbs_connect cmd;

	connect_fill(&cmd, l.port, NULL);
	address(cmd.src, env("KV_ADDR", ""), 0);
	CHECK_OK(kverbs_connect(l.a, &cmd));
	connect_fill(&cmd, l.port, NULL);
	address(cmd.src, "10.9.0.99", 0);
	CHECK(kverbs_connect(l.a, &cmd) < 0);
	CHECK(cmd.error.code && cmd.error.step);
	link_close(&l);
}

static void over_ipv6(void)
{
	struct kverbs_accept accept = { .timeout_ms = patience_ms() };
	struct link l = { .a = context(), .b = context() };
	struct kverbs_connect connect = { .timeout_ms = patience_ms() };
	struct kverbs_listen listen = { 0 };
	char text[KVERBS_ADDR_TEXT];
	struct field f;
	__u32 buf;
	__u8 *mem;

	address(listen.addr, env("KV_ADDR6", "fd00:9::1"), 0);
	CHECK_OK(kverbs_listen(l.b, &listen));
	address(connect.dst, env("KV_ADDR6", "fd00:9::1"), listen.port);
	CHECK_OK(kverbs_connect(l.a, &connect));
	accept.listener_id = listen.listener_id;
	CHECK_OK(kverbs_accept(l.b, &accept));
	CHECK(strstr(kverbs_addr_text(accept.peer, text), env("KV_ADDR6", "fd00:9::1")));
	l.ca = connect.conn_id;
	l.cb = accept.conn_id;
	f = field_of(&l, 10000, 0);
	mem = source(l.a, 10000, 0, 1, &buf);
	PUT(&l, buf, 0, f.region, 0, 10000);
	field_expect(&f, 0, mem, 10000);
	FIELD_CHECK(&f);
	link_close(&l);
}

static void attributes(void)
{
	static const struct kverbs_conn_attr bad[] = {
		{ .depth = 8193 }, { .depth = ~0u }, { .poll = 4 }, { .poll = ~0u },
		{ .no_progress_ms = 600001 }, { .no_progress_ms = ~0u }, { .reserved = 1 },
		{ .wr_ceiling = 1048577 }, { .max_inline = 513 }, { .cpu = 1 },
	};
	struct kverbs_conn_attr attr = { .depth = 1, .poll = KVERBS_POLL_WORKQUEUE,
					 .no_progress_ms = 600000 };
	struct kverbs_listen listen;
	struct kverbs_connect cmd;
	struct link l = link_with(&attr);
	__u32 i;

	CHECK_EQ(conn_query(l.a, l.ca).poll, KVERBS_POLL_WORKQUEUE);
	CHECK_EQ(conn_query(l.b, l.cb).poll, KVERBS_POLL_WORKQUEUE);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		connect_fill(&cmd, l.port, &bad[i]);
		CHECK_ERR(kverbs_connect(l.a, &cmd), EINVAL);
		memset(&listen, 0, sizeof(listen));
		address(listen.addr, env("KV_ADDR", ""), 0);
		listen.attr = bad[i];
		CHECK_ERR(kverbs_listen(l.a, &listen), EINVAL);
	}
	for (i = 2; i < 32; i++) {
		attr.flags = 1u << i;
		connect_fill(&cmd, l.port, &attr);
		CHECK_ERR(kverbs_connect(l.a, &cmd), EOPNOTSUPP);
	}
	link_close(&l);
}

static void bad_addresses(void)
{
	static const __u16 families[] = { AF_UNSPEC, AF_UNIX, AF_NETLINK, 0xffff };
	struct kverbs_listen listen = { 0 };
	struct kverbs_connect cmd;
	int fd = context();
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(families); i++) {
		connect_fill(&cmd, 4999, NULL);
		memcpy(cmd.dst, &families[i], 2);
		CHECK_ERR(kverbs_connect(fd, &cmd), EINVAL);
		connect_fill(&cmd, 4999, NULL);
		memcpy(cmd.src, &families[i], 2);
		if (families[i])
			CHECK_ERR(kverbs_connect(fd, &cmd), EINVAL);
		memcpy(listen.addr, &families[i], 2);
		CHECK_ERR(kverbs_listen(fd, &listen), EINVAL);
	}
	connect_fill(&cmd, 0, NULL);
	CHECK_ERR(kverbs_connect(fd, &cmd), EINVAL);
	address(listen.addr, "10.9.0.99", 0);
	CHECK_ERR(kverbs_listen(fd, &listen), EADDRNOTAVAIL);
	CHECK_EQ(listen.error.step, KVERBS_STEP_BIND);
}

static void address_in_use(void)
{
	struct kverbs_listen listen = { 0 };
	int fd = context();
	__u32 id;
	__u16 port;

	id = listen_at(fd, NULL, &port);
	address(listen.addr, env("KV_ADDR", ""), port);
	CHECK_ERR(kverbs_listen(fd, &listen), EADDRINUSE);
	CHECK_EQ(listen.error.step, KVERBS_STEP_BIND);
	CHECK_EQ(listen.error.code, EADDRINUSE);
	CHECK_OK(kverbs_destroy(fd, id));
	CHECK_OK(kverbs_listen(fd, &listen));
	CHECK_EQ(listen.port, port);
}

/* Any address, also when the device comes with the connection only. */
static void wildcard(void)
{
	struct kverbs_accept accept = { .timeout_ms = patience_ms() };
	struct kverbs_listen listen = { 0 };
	struct kverbs_connect cmd;
	int fd = context();

	address(listen.addr, "0.0.0.0", 0);
	CHECK_OK(kverbs_listen(fd, &listen));
	connect_fill(&cmd, listen.port, NULL);
	CHECK_OK(kverbs_connect(fd, &cmd));
	accept.listener_id = listen.listener_id;
	CHECK_OK(kverbs_accept(fd, &accept));
	CHECK(accept.conn_id != cmd.conn_id);
}

static void full(int fd, __u16 port)
{
	struct kverbs_error error;

	error = refused_at(fd, env("KV_PEER", ""), port, patience_ms(), ECONNREFUSED);
	CHECK_EQ(error.reject, KVERBS_REJECT_LIMIT);
	CHECK_EQ(error.step, KVERBS_STEP_CONNECT);
}

/* Connect until there is room: it comes a little after the old one ended. */
static __u32 connect_soon(int fd, __u16 port)
{
	struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };
	struct kverbs_connect cmd;
	int i, ret = -1;

	for (i = 0; i < patience_ms() / 50 && ret; i++) {
		connect_fill(&cmd, port, NULL);
		ret = kverbs_connect(fd, &cmd);
		if (ret)
			nanosleep(&pause, NULL);
	}
	CHECK_OK(ret);
	return cmd.conn_id;
}

static void connection_limit(void)
{
	struct kverbs_accept accept = { .timeout_ms = patience_ms() };
	struct kverbs_listen listen = { .max_conns = 2 };
	int a = context(), b = context();
	__u32 conns[2], i;

	address(listen.addr, env("KV_ADDR", ""), 0);
	CHECK_OK(kverbs_listen(b, &listen));
	accept.listener_id = listen.listener_id;
	for (i = 0; i < 2; i++) {
		conns[i] = connect_soon(a, listen.port);
		CHECK_OK(kverbs_accept(b, &accept));
	}
	full(a, listen.port);
	CHECK_OK(kverbs_destroy(a, conns[0]));
	connect_soon(a, listen.port);
	CHECK_OK(kverbs_accept(b, &accept));
	full(a, listen.port);
}

static void backlog(void)
{
	struct kverbs_accept accept = { .timeout_ms = patience_ms() };
	struct kverbs_listen listen = { .backlog = 2 };
	int a = context(), b = context();

	address(listen.addr, env("KV_ADDR", ""), 0);
	CHECK_OK(kverbs_listen(b, &listen));
	accept.listener_id = listen.listener_id;
	connect_soon(a, listen.port);
	NEXT_EVENT(b, KVERBS_EVENT_INCOMING, 0);
	connect_soon(a, listen.port);
	NEXT_EVENT(b, KVERBS_EVENT_INCOMING, 0);
	full(a, listen.port);
	CHECK_OK(kverbs_accept(b, &accept));
	connect_soon(a, listen.port);
	CHECK_OK(kverbs_accept(b, &accept));
	CHECK_OK(kverbs_accept(b, &accept));
	accept.flags = KVERBS_NONBLOCK;
	CHECK_ERR(kverbs_accept(b, &accept), EAGAIN);
}

static void accepting(void)
{
	struct kverbs_accept accept = { .flags = KVERBS_NONBLOCK };
	struct kverbs_event event;
	struct kverbs_connect cmd;
	int a = context(), b = context();
	__u16 port;

	accept.listener_id = listen_at(b, NULL, &port);
	CHECK_ERR(kverbs_accept(b, &accept), EAGAIN);
	accept.flags = 0;
	accept.timeout_ms = 20;
	CHECK_ERR(kverbs_accept(b, &accept), ETIMEDOUT);
	connect_fill(&cmd, port, NULL);
	CHECK_OK(kverbs_connect(a, &cmd));
	event = NEXT_EVENT(b, KVERBS_EVENT_INCOMING, 0);
	CHECK_EQ(event.id, accept.listener_id);
	accept.flags = KVERBS_NONBLOCK;
	CHECK_OK(kverbs_accept(b, &accept));
	CHECK_ERR(kverbs_accept(b, &accept), EAGAIN);
}

/* One that ends before it is accepted is no longer there to be accepted. */
static void ended_before_accept(void)
{
	struct kverbs_accept accept = { .flags = KVERBS_NONBLOCK };
	struct kverbs_connect cmd;
	int a = context(), b = context();
	__u16 port;

	accept.listener_id = listen_at(b, NULL, &port);
	connect_fill(&cmd, port, NULL);
	CHECK_OK(kverbs_connect(a, &cmd));
	NEXT_EVENT(b, KVERBS_EVENT_INCOMING, 0);
	close(a);
	/* It may still be accepted as long as nobody knows; then it is told. */
	if (!kverbs_accept(b, &accept))
		NEXT_EVENT(b, KVERBS_EVENT_CONN, accept.conn_id);
	CHECK_ERR(kverbs_accept(b, &accept), EAGAIN);
}

static struct {
	int fd;
	__u32 listener;
	int ret;
} acceptor;

static void *accepts(void *arg)
{
	struct kverbs_accept accept = { .listener_id = acceptor.listener };

	(void)arg;
	acceptor.ret = kverbs_accept(acceptor.fd, &accept);
	return NULL;
}

static void listener_destroyed(void)
{
	struct timespec pause = { .tv_nsec = 200 * 1000 * 1000 };
	pthread_t thread;
	__u16 port;
	int i;

	acceptor.fd = context();
	for (i = 0; i < 3; i++) {
		acceptor.listener = listen_at(acceptor.fd, NULL, &port);
		CHECK(!pthread_create(&thread, NULL, accepts, NULL));
		nanosleep(&pause, NULL);
		CHECK_OK(kverbs_destroy(acceptor.fd, acceptor.listener));
		pthread_join(thread, NULL);
		CHECK_EQ(acceptor.ret, -ENOENT);
	}
	refused_at(acceptor.fd, env("KV_ADDR", ""), port, patience_ms(), ECONNREFUSED);
}

/* Accepted connections outlive their listener; others do not. */
static void listener_leaves_connections(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_connect cmd;
	__u32 buf;
	__u8 *mem;

	connect_fill(&cmd, l.port, NULL);
	CHECK_OK(kverbs_connect(l.a, &cmd));
	NEXT_EVENT(l.b, KVERBS_EVENT_INCOMING, l.listener);
	CHECK_OK(kverbs_destroy(l.b, l.listener));
	CHECK(NEXT_EVENT(l.a, KVERBS_EVENT_CONN, 0).id == cmd.conn_id);
	/* The target's program never had its id. */
	CHECK(no_event(l.b, KVERBS_EVENT_CONN, 0));
	mem = source(l.a, 4096, 0, 2, &buf);
	PUT(&l, buf, 0, f.region, 0, 4096);
	field_expect(&f, 0, mem, 4096);
	FIELD_CHECK(&f);
	link_close(&l);
}

/* What is exposed on the listener appears on every connection, each its own. */
static void exposed_on_listener(void)
{
	struct kverbs_region_expose cmd = { .length = 4096, .rights = KVERBS_RIGHT_WRITE,
					    .tag = 5, .region_id = 77 };
	struct link l = { .a = context(), .b = context() };
	__u8 *mem = memory(4096), *from;
	__u32 regions[3], conns[3], buf, cb, i;
	struct kverbs_event event;
	struct kverbs_item it;

	l.listener = listen_at(l.b, NULL, &l.port);
	cmd.target_id = l.listener;
	cmd.buf_id = registered(l.b, mem, 4096, KVERBS_BUF_WRITABLE);
	CHECK_OK(kverbs_region_expose(l.b, &cmd));
	CHECK_EQ(cmd.region_id, 0);
	CHECK_OK(kverbs_destroy(l.b, cmd.buf_id));
	from = source(l.a, 4096, 0, 3, &buf);
	for (i = 0; i < 3; i++) {
		connect_again(&l, NULL, &conns[i], &cb);
		event = NEXT_EVENT(l.a, KVERBS_EVENT_REGION, conns[i]);
		CHECK_EQ(event.length, 4096);
		CHECK_EQ(event.tag, 5);
		regions[i] = event.region_id;
	}
	for (i = 0; i < 3; i++) {
		it = item(buf, i * 1000, regions[i], i * 1000, 1000, KVERBS_DELIVERED);
		CHECK_EQ(kverbs_submit(l.a, conns[i], &it, 1), 1);
		NEXT_FINAL(l.a);
		it.region_id = regions[(i + 1) % 3];
		CHECK_ERR(kverbs_submit(l.a, conns[i], &it, 1), ENOENT);
	}
	CHECK(!memcmp(mem, from, 3000));
	link_close(&l);
}

static void dead(int fd, __u32 conn, __u32 buf, __u32 region)
{
	struct kverbs_region_expose cmd = { .target_id = conn, .length = 1,
					    .rights = KVERBS_RIGHT_WRITE };
	struct kverbs_item it = item(buf, 0, region, 0, 1, KVERBS_COMPLETED);
	__u32 nr = 0;

	cmd.buf_id = registered(fd, memory(4096), 4096, KVERBS_BUF_WRITABLE);
	CHECK_EQ(conn_query(fd, conn).state, KVERBS_STATE_DEAD);
	CHECK_ERR(kverbs_submit(fd, conn, &it, 1), ENOTCONN);
	CHECK_ERR(kverbs_region_expose(fd, &cmd), ENOTCONN);
	CHECK_ERR(kverbs_disconnect(fd, conn, 0), ENOTCONN);
	CHECK_ERR(kverbs_abort(fd, conn), ENOTCONN);
	CHECK_ERR(kverbs_ack(fd, conn, 1, 0), ENOTCONN);
	CHECK_OK(kverbs_region_list(fd, conn, NULL, &nr));
	CHECK_EQ(nr, 0);
	CHECK(no_event(fd, KVERBS_EVENT_CONN, conn));
	CHECK_OK(kverbs_destroy(fd, conn));
	CHECK_ERR(kverbs_submit(fd, conn, &it, 1), ENOENT);
	CHECK_ERR(kverbs_destroy(fd, conn), ENOENT);
}

/* Orderly: all that was accepted is done, then the peer is told, with status 0. */
static void disconnected(void)
{
	enum { NR = 60 };
	struct kverbs_item items[NR];
	struct link l = link_up();
	struct field f = field_of(&l, 256 * KIB, 0);
	struct kverbs_event event;
	__u32 buf, i;
	__u8 *mem;

	mem = source(l.a, 256 * KIB, 0, 4, &buf);
	for (i = 0; i < NR; i++) {
		items[i] = item(buf, i * 4096, f.region, i * 4096, 4096, KVERBS_COMPLETED);
		items[i].flags = KVERBS_ITEM_NOTIFY;
	}
	CHECK_EQ(CHECK_OK(kverbs_submit(l.a, l.ca, items, NR)), NR);
	CHECK_OK(kverbs_disconnect(l.a, l.ca, patience_ms()));
	for (i = 0; i < NR; i++)
		NEXT_FINAL(l.a);
	event = NEXT_EVENT(l.a, KVERBS_EVENT_CONN, l.ca);
	CHECK_EQ(event.status, 0);
	CHECK_EQ(event.state, KVERBS_STATE_DEAD);
	CHECK_EQ(event.step, KVERBS_STEP_LOCAL);
	/* Notifications come before the end, and none is lost. */
	for (i = 1; i <= NR; i++) {
		CHECK_OK(kverbs_wait(l.b, &event, 1, patience_ms(), 0));
		if (event.kind == KVERBS_EVENT_INCOMING)
			CHECK_OK(kverbs_wait(l.b, &event, 1, patience_ms(), 0));
		CHECK_EQ(event.kind, KVERBS_EVENT_NOTIFY);
		CHECK_EQ(event.seq, i);
	}
	event = NEXT_EVENT(l.b, KVERBS_EVENT_CONN, l.cb);
	CHECK_EQ(event.status, 0);
	CHECK_EQ(event.step, KVERBS_STEP_PEER);
	field_expect(&f, 0, mem, NR * 4096);
	FIELD_CHECK(&f);
	dead(l.a, l.ca, buf, f.region);
	dead(l.b, l.cb, f.buf, f.own);
	link_close(&l);
}

/* Hand in work, end the connection, and count what comes back. */
static void ended_with_work(int (*end)(int fd, __u32 conn), bool id_stays)
{
	enum { NR = 64 };
	struct kverbs_conn_attr attr = { .depth = 4 };
	static bool seen[NR];
	struct link l = link_with(&attr);
	const __u64 length = 2 * MIB;
	struct field f = field_of(&l, length, 0);
	struct kverbs_item items[NR];
	struct kverbs_event event;
	__u32 buf, i, failed = 0;

	source(l.a, length, 0, 5, &buf);
	for (i = 0; i < NR; i++) {
		items[i] = item(buf, 0, f.region, 0, length, KVERBS_DELIVERED);
		items[i].user_data = i;
	}
	CHECK_EQ(CHECK_OK(kverbs_submit(l.a, l.ca, items, NR)), NR);
	CHECK_OK(end(l.a, l.ca));
	/* When the call returns, all is there. */
	for (i = 0; i < NR; i++) {
		if (!event_kept(l.a, KVERBS_EVENT_FINAL, 0, &event))
			do
				CHECK_EQ(kverbs_wait(l.a, &event, 1, 0, KVERBS_NONBLOCK), 1);
			while (event.kind != KVERBS_EVENT_FINAL);
		CHECK(event.user_data < NR);
		CHECK(!seen[event.user_data]);
		seen[event.user_data] = true;
		failed += !!event.status;
		if (!event.status)
			continue;
		CHECK_EQ(event.step, KVERBS_STEP_LOCAL);
		CHECK_EQ(event.status, ECANCELED);
		CHECK(event.placement);
	}
	CHECK(failed);
	event = NEXT_EVENT(l.b, KVERBS_EVENT_CONN, l.cb);
	CHECK(event.status);
	CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	if (id_stays) {
		NEXT_EVENT(l.a, KVERBS_EVENT_CONN, l.ca);
		CHECK_EQ(conn_query(l.a, l.ca).counters.finished, NR);
		CHECK_EQ(conn_query(l.a, l.ca).counters.failed, failed);
		dead(l.a, l.ca, buf, f.region);
	} else {
		CHECK_ERR(kverbs_abort(l.a, l.ca), ENOENT);
	}
	dead(l.b, l.cb, f.buf, f.own);
	link_close(&l);
}

static void aborted_with_work(void)
{
	ended_with_work(kverbs_abort, true);
}

static void destroyed_with_work(void)
{
	ended_with_work(kverbs_destroy, false);
}

static int disconnect_at_once(int fd, __u32 conn)
{
	int ret = kverbs_disconnect(fd, conn, 1);

	return ret == -ETIMEDOUT ? 0 : ret ? ret : -EALREADY;
}

/* Work that does not end in time ends as after ABORT, with its own cause. */
static void disconnect_timed_out(void)
{
	struct kverbs_conn_attr attr = { .depth = 1 };
	struct link l = link_with(&attr);
	const __u64 length = 16 * MIB;
	struct field f = field_of(&l, length, 0);
	struct kverbs_event event;
	struct kverbs_item it;
	__u32 buf;

	source(l.a, length, 0, 6, &buf);
	it = item(buf, 0, f.region, 0, length, KVERBS_DELIVERED);
	SUBMIT(&l, &it);
	CHECK_OK(disconnect_at_once(l.a, l.ca));
	event = NEXT_EVENT(l.a, KVERBS_EVENT_FINAL, 0);
	CHECK(event.status);
	CHECK_EQ(event.step, KVERBS_STEP_LOCAL);
	CHECK_EQ(event.placement, KVERBS_PLACEMENT_UNKNOWN);
	CHECK(NEXT_EVENT(l.b, KVERBS_EVENT_CONN, l.cb).status);
	link_close(&l);
}

/* Closing the region's id closes its connection, as documented. */
static void region_destroyed(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);

	CHECK_OK(kverbs_destroy(l.b, f.own));
	NEXT_EVENT(l.a, KVERBS_EVENT_CONN, l.ca);
	NEXT_EVENT(l.b, KVERBS_EVENT_CONN, l.cb);
	dead(l.b, l.cb, f.buf, f.own);
	link_close(&l);
}

static __u32 connections(int fd)
{
	struct kverbs_device device = { 0 };
	struct kverbs_query query = { .nr_devices = 1, .devices = (uintptr_t)&device };

	CHECK_OK(kverbs_query(fd, &query));
	return device.connections;
}

/* Again and again: nothing adds up. */
static void many_times(void)
{
	__u32 i, ca, cb, before, rounds = amount(200, 60, 20);
	struct link l = link_up();
	struct kverbs_event event;

	before = connections(l.a);
	CHECK_EQ(before, 2);
	for (i = 0; i < rounds; i++) {
		connect_again(&l, NULL, &ca, &cb);
		CHECK_EQ(connections(l.a), 4);
		if (i % 2)
			CHECK_OK(kverbs_disconnect(l.a, ca, 0));
		else
			CHECK_OK(kverbs_disconnect(l.b, cb, 0));
		event = NEXT_EVENT(l.a, KVERBS_EVENT_CONN, ca);
		CHECK_EQ(event.status, 0);
		event = NEXT_EVENT(l.b, KVERBS_EVENT_CONN, cb);
		CHECK_EQ(event.status, 0);
		CHECK_OK(kverbs_destroy(l.a, ca));
		CHECK_OK(kverbs_destroy(l.b, cb));
		CHECK_EQ(connections(l.a), before);
	}
	link_close(&l);
}

enum { THREADS = 8 };

static struct {
	int fd;
	__u16 port;
	__u32 conns[THREADS];
} parallel;

static void *connector(void *arg)
{
	__u32 *conn = arg;

	*conn = connect_soon(parallel.fd, parallel.port);
	return NULL;
}

static void in_parallel(void)
{
	struct kverbs_accept accept = { .timeout_ms = patience_ms() };
	pthread_t threads[THREADS];
	__u32 i, j, accepted[THREADS];
	int b = context();

	parallel.fd = context();
	accept.listener_id = listen_at(b, NULL, &parallel.port);
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, connector, &parallel.conns[i]));
	for (i = 0; i < THREADS; i++) {
		CHECK_OK(kverbs_accept(b, &accept));
		accepted[i] = accept.conn_id;
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		for (j = 0; j < i; j++) {
			CHECK(parallel.conns[i] != parallel.conns[j]);
			CHECK(accepted[i] != accepted[j]);
		}
	}
	for (i = 0; i < THREADS; i++)
		CHECK_EQ(conn_query(b, accepted[i]).state, KVERBS_STATE_UP);
}

static const struct test tests[] = {
	{ "no_listener", no_listener },
	{ "wrong_port", wrong_port },
	{ "no_device", no_device },
	{ "no_route", no_route },
	{ "nobody_there", nobody_there },
	{ "sources", sources },
	{ "over_ipv6", over_ipv6 },
	{ "attributes", attributes },
	{ "bad_addresses", bad_addresses },
	{ "address_in_use", address_in_use },
	{ "wildcard", wildcard },
	{ "connection_limit", connection_limit },
	{ "backlog", backlog },
	{ "accepting", accepting },
	{ "ended_before_accept", ended_before_accept },
	{ "listener_destroyed", listener_destroyed },
	{ "listener_leaves_connections", listener_leaves_connections },
	{ "exposed_on_listener", exposed_on_listener },
	{ "disconnected", disconnected },
	{ "aborted_with_work", aborted_with_work },
	{ "destroyed_with_work", destroyed_with_work },
	{ "disconnect_timed_out", disconnect_timed_out },
	{ "region_destroyed", region_destroyed },
	{ "many_times", many_times },
	{ "in_parallel", in_parallel },
};

int main(int argc, char **argv)
{
	return tests_main(tests, ARRAY_SIZE(tests), argc, argv);
}
