// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sudden ends: a process killed, a file closed, a signal, a device taken away,
 * all with work under way. The other side hears of it once, every item accepted
 * has one final event, and nobody hangs.
 */
#include "link.h"

#include <time.h>

enum { STREAM = 64 };

#define BLOCK	(64 * KIB)

/* struct stream - work that goes on until the connection ends */
struct stream {
	int fd;
	__u32 conn;
	__u32 buf;
	__u32 region;
	__u64 accepted;
	__u64 ended;
	__u64 failed;
	__u64 next;			/* no success comes before this one any more */
	__u64 under_way[1024];		/* user_data + 1 of an item, at user_data % 1024 */
	__u32 conn_events;
	struct kverbs_event last;	/* the connection's event */
};

static void stream_event(struct stream *s, const struct kverbs_event *event)
{
	if (event->kind == KVERBS_EVENT_CONN && event->id == s->conn) {
		s->last = *event;
		s->conn_events++;
	} else if (event->kind == KVERBS_EVENT_FINAL) {
		__u64 *place = &s->under_way[event->user_data % ARRAY_SIZE(s->under_way)];

		/* One of each. A failure may overtake what waits for its answer. */
		CHECK_EQ(*place, event->user_data + 1);
		*place = 0;
		if (!event->status) {
			CHECK(event->user_data >= s->next);
			s->next = event->user_data + 1;
		}
		s->ended++;
		s->failed += !!event->status;
		CHECK_EQ(s->conn_events, 0);
	}
}

/* Keep up to STREAM items under way, until submitting is refused. */
static void stream_run(struct stream *s, void (*beat)(void))
{
	struct kverbs_event events[STREAM];
	struct kverbs_item it;
	int nr, i, ret = 1;

	while (ret == 1) {
		while (s->accepted - s->ended < STREAM && ret == 1) {
			it = item(s->buf, 0, s->region, s->accepted % 16 * BLOCK, BLOCK,
				  KVERBS_DELIVERED);
			it.user_data = s->accepted;
			ret = kverbs_submit(s->fd, s->conn, &it, 1);
			if (ret != 1)
				break;
			s->under_way[s->accepted % ARRAY_SIZE(s->under_way)] = s->accepted + 1;
			s->accepted++;
		}
		if (beat)
			beat();
		nr = CHECK_OK(kverbs_wait(s->fd, events, STREAM, patience_ms(), 0));
		for (i = 0; i < nr; i++)
			stream_event(s, &events[i]);
	}
	/* Between the device's going and the connection's end it is ENODEV. */
	CHECK(ret == -ENOTCONN || ret == -ENOENT || ret == -ENODEV);
}

/* After the end: what is left comes, and nothing twice. */
static void stream_finish(struct stream *s)
{
	struct kverbs_event event;

	while (s->ended < s->accepted || !s->conn_events) {
		CHECK_EQ(kverbs_wait(s->fd, &event, 1, patience_ms(), 0), 1);
		stream_event(s, &event);
	}
	while (kverbs_wait(s->fd, &event, 1, 0, KVERBS_NONBLOCK) == 1)
		stream_event(s, &event);
	CHECK_EQ(s->ended, s->accepted);
	CHECK_EQ(s->conn_events, 1);
	CHECK_EQ(conn_query(s->fd, s->conn).state, KVERBS_STATE_DEAD);
}

static __u32 random_ms(__u32 most)
{
	static unsigned int seed;

	if (!seed)
		seed = time(NULL) ^ getpid();
	return rand_r(&seed) % (most + 1);
}

static void sleep_ms(__u32 ms)
{
	struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&pause, NULL);
}

/* Expose at a listener's context and accept one. */
static __u32 serve_one(int fd, __u32 listener, __u8 *mem)
{
	struct kverbs_accept accept = { .listener_id = listener, .timeout_ms = patience_ms() };
	struct kverbs_region_expose cmd = { .length = 16 * BLOCK, .rights = KVERBS_RIGHT_WRITE };

	CHECK_OK(kverbs_accept(fd, &accept));
	cmd.target_id = accept.conn_id;
	cmd.buf_id = registered(fd, mem, 16 * BLOCK, KVERBS_BUF_WRITABLE);
	CHECK_OK(kverbs_region_expose(fd, &cmd));
	return accept.conn_id;
}

static void stream_to(struct stream *s, int fd, __u16 port)
{
	struct kverbs_connect cmd;

	memset(s, 0, sizeof(*s));
	s->fd = fd;
	connect_fill(&cmd, port, NULL);
	CHECK_OK(kverbs_connect(fd, &cmd));
	s->conn = cmd.conn_id;
	source(fd, BLOCK, 0, 1, &s->buf);
	s->region = NEXT_EVENT(fd, KVERBS_EVENT_REGION, s->conn).region_id;
}

/* One clear event, whatever the other process was doing. */
static void initiator_killed(void)
{
	__u32 rounds = amount(12, 6, 2), i, conn, listener;
	__u8 *mem = memory(16 * BLOCK);
	struct kverbs_event event;
	struct stream s;
	int fd, status;
	__u16 port;
	pid_t pid;

	fd = context();
	listener = listen_at(fd, NULL, &port);
	for (i = 0; i < rounds; i++) {
		pid = CHECK_SYS(fork());
		if (!pid) {
			close(fd);
			stream_to(&s, context(), port);
			stream_run(&s, NULL);
			_exit(1);
		}
		conn = serve_one(fd, listener, mem);
		sleep_ms(random_ms(slow() ? 1000 : 300));
		CHECK(!waitpid(pid, &status, WNOHANG));
		kill(pid, SIGKILL);
		CHECK(reaped(pid, &status, 60));
		event = NEXT_EVENT(fd, KVERBS_EVENT_CONN, conn);
		CHECK(event.status);
		CHECK_EQ(event.step, KVERBS_STEP_PEER);
		CHECK(no_event(fd, KVERBS_EVENT_CONN, 0));
		/* Nobody writes any more: the memory is ours. */
		memset(mem, 0x55, 16 * BLOCK);
		sleep_ms(20);
		CHECK(mem[0] == 0x55 && !memcmp(mem, mem + 1, 16 * BLOCK - 1));
		CHECK_OK(kverbs_destroy(fd, conn));
	}
}

static void target_killed(void)
{
	__u32 rounds = amount(12, 6, 3), i, listener;
	int fd = context(), b, ports[2], status;
	__u64 failed = 0;
	struct stream s;
	__u16 port;
	pid_t pid;

	for (i = 0; i < rounds; i++) {
		CHECK_SYS(pipe(ports));
		pid = CHECK_SYS(fork());
		if (!pid) {
			close(fd);
			b = context();
			listener = listen_at(b, NULL, &port);
			CHECK_EQ(write(ports[1], &port, 2), 2);
			serve_one(b, listener, memory(16 * BLOCK));
			sleep_ms(random_ms(slow() ? 1000 : 300));
			kill(getpid(), SIGKILL);
		}
		CHECK_EQ(read(ports[0], &port, 2), 2);
		stream_to(&s, fd, port);
		stream_run(&s, NULL);
		stream_finish(&s);
		CHECK(s.last.status);
		failed += s.failed;
		CHECK(reaped(pid, &status, 60));
		CHECK_OK(kverbs_destroy(fd, s.conn));
		close(ports[0]);
		close(ports[1]);
	}
	/* It may have died between two writes, but not every time. */
	CHECK(failed);
}

/* Closing the file with everything under way. */
static void closed(void)
{
	__u32 rounds = amount(10, 5, 2), i, k, conn, listener;
	__u8 *mem = memory(16 * BLOCK);
	struct kverbs_connect cmd;
	struct kverbs_item it;
	struct stream s;
	__u16 port;
	int a, b;

	for (i = 0; i < rounds; i++) {
		a = context();
		b = context();
		listener = listen_at(b, NULL, &port);
		connect_fill(&cmd, port, NULL);
		CHECK_OK(kverbs_connect(a, &cmd));
		conn = serve_one(b, listener, mem);
		memset(&s, 0, sizeof(s));
		source(a, BLOCK, 0, 1, &s.buf);
		s.region = NEXT_EVENT(a, KVERBS_EVENT_REGION, cmd.conn_id).region_id;
		for (k = 0; k < STREAM; k++) {
			it = item(s.buf, 0, s.region, k % 16 * BLOCK, BLOCK, KVERBS_DELIVERED);
			CHECK_EQ(kverbs_submit(a, cmd.conn_id, &it, 1), 1);
		}
		sleep_ms(random_ms(50));
		if (i % 2) {
			close(a);
			CHECK(NEXT_EVENT(b, KVERBS_EVENT_CONN, conn).status);
			close(b);
		} else {
			close(b);
			CHECK(NEXT_EVENT(a, KVERBS_EVENT_CONN, cmd.conn_id).status);
			close(a);
		}
		nr_kept = 0;
	}
}

static void nothing(int sig)
{
	(void)sig;
}

enum call { IN_WAIT, IN_ACCEPT, IN_CONNECT };

static int stuck_in(enum call call)
{
	struct kverbs_accept accept = { 0 };
	struct kverbs_connect connect = { .timeout_ms = 600000 };
	struct kverbs_event event;
	int fd = context();
	__u16 port;

	switch (call) {
	case IN_WAIT:
		return kverbs_wait(fd, &event, 1, 0, 0);
	case IN_ACCEPT:
		accept.listener_id = listen_at(fd, NULL, &port);
		return kverbs_accept(fd, &accept);
	case IN_CONNECT:
		address(connect.dst, "10.9.0.77", 4999);
		return kverbs_connect(fd, &connect);
	}
	return 0;
}

/* Interrupted while it waits: EINTR with a handler, death without one. */
static void interrupted_in(enum call call, bool handled)
{
	struct sigaction action = { .sa_handler = nothing };
	int status, i;
	pid_t pid;

	pid = CHECK_SYS(fork());
	if (!pid) {
		if (handled)
			sigaction(SIGINT, &action, NULL);
		_exit(stuck_in(call) == -EINTR ? 17 : 1);
	}
	sleep_ms(slow() ? 1000 : 300);
	/* Again, should the first have come before it waited. */
	for (i = 0; i < 40; i++) {
		kill(pid, SIGINT);
		if (reaped(pid, &status, 1))
			break;
	}
	CHECK(i < 40);
	if (handled)
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 17);
	else
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

static void interrupted(void)
{
	interrupted_in(IN_WAIT, true);
	interrupted_in(IN_WAIT, false);
	interrupted_in(IN_ACCEPT, true);
	interrupted_in(IN_ACCEPT, false);
	interrupted_in(IN_CONNECT, false);
}

static void shell(const char *format, const char *a, const char *b, const char *c)
{
	char command[300];
	int status;

	snprintf(command, sizeof(command), format, a, b, c);
	status = system(command);
	if (status)
		fail_at(__FILE__, __LINE__, "'%s' gave %d", command, status);
}

static void link_delete(void)
{
	shell("timeout 60 rdma link delete %s", env("KV_DEV", "rxe0"), "", "");
}

/* Give the guest its device back and wait for its addresses. */
static void link_add(void)
{
	shell("rdma link add %s type %s netdev %s", env("KV_DEV", "rxe0"),
	      env("KV_PROVIDER", "rxe"), env("KV_NETDEV", "dummy0"));
	if (!on_siw())
		shell("for i in $(seq 100); do "
		      "grep -qs ffff:0a /sys/class/infiniband/%s/ports/1/gids/* && exit 0; "
		      "sleep 0.1; done; exit 1", env("KV_DEV", "rxe0"), "", "");
}

/* The device is back whatever a case does. */
static void with_link(void (*test)(void))
{
	int status;
	pid_t pid = CHECK_SYS(fork());

	if (!pid) {
		test();
		fflush(stdout);
		_exit(0);
	}
	if (!reaped(pid, &status, case_limit() - 15)) {
		kill(pid, SIGKILL);
		CHECK(reaped(pid, &status, 10));
		note("ran into its limit");
		status = 1;
	}
	if (system("rdma link show | grep -q \"$KV_DEV\""))
		link_add();
	CHECK_EQ(status, 0);
}

/* The same files and buffers go on with the device that came back. */
static void works_again(struct link *l, const struct field *f, __u32 buf, const __u8 *from)
{
	__u32 own, region;

	nr_kept = 0;
	l->listener = listen_at(l->b, NULL, &l->port);
	connect_again(l, NULL, &l->ca, &l->cb);
	memset(f->mem, 0, 2 * f->guard + f->length);
	expose(l, l->ca, l->cb, f->buf, f->guard, f->length, &own, &region);
	PUT(l, buf, 0, region, 0, BLOCK);
	CHECK(!memcmp(f->mem + f->guard, from, BLOCK));
}

static void gone(int fd, __u32 kind, __u32 id)
{
	struct kverbs_event event = NEXT_EVENT(fd, kind, id);

	CHECK_EQ(event.status, ENODEV);
	if (kind == KVERBS_EVENT_CONN)
		CHECK_EQ(event.step, KVERBS_STEP_DEVICE);
}

static void removed_idle_body(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 16 * BLOCK, 0);
	struct kverbs_connect cmd;
	struct kverbs_item it;
	__u32 buf;
	__u8 *from;

	from = source(l.a, BLOCK, 0, 2, &buf);
	PUT(&l, buf, 0, f.region, 0, BLOCK);
	link_delete();
	gone(l.a, KVERBS_EVENT_CONN, l.ca);
	gone(l.b, KVERBS_EVENT_CONN, l.cb);
	gone(l.b, KVERBS_EVENT_LISTENER, l.listener);
	CHECK(no_event(l.a, KVERBS_EVENT_CONN, 0));
	CHECK(no_event(l.b, KVERBS_EVENT_CONN, 0));
	it = item(buf, 0, f.region, 0, 1, KVERBS_COMPLETED);
	CHECK_ERR(kverbs_submit(l.a, l.ca, &it, 1), ENOTCONN);
	CHECK_EQ(conn_query(l.a, l.ca).error.code, ENODEV);
	connect_fill(&cmd, l.port, NULL);
	CHECK_ERR(kverbs_connect(l.a, &cmd), ENODEV);
	CHECK_EQ(cmd.error.step, KVERBS_STEP_RESOLVE_ADDR);
	link_add();
	works_again(&l, &f, buf, from);
}

static void removed_idle(void)
{
	with_link(removed_idle_body);
}

static pthread_t remover;

static void *removes(void *arg)
{
	(void)arg;
	link_delete();
	return NULL;
}

static __u32 beats;

/* In the middle of the stream, beside it. */
static void remove_in_time(void)
{
	if (beats++ == 5)
		CHECK(!pthread_create(&remover, NULL, removes, NULL));
}

static void removed_in_transfer_body(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 16 * BLOCK, 0);
	struct stream s = { .fd = l.a, .conn = l.ca, .region = f.region };
	__u8 *from = source(l.a, BLOCK, 0, 3, &s.buf);

	stream_run(&s, remove_in_time);
	stream_finish(&s);
	pthread_join(remover, NULL);
	/* What was under way may have ended well just before. */
	CHECK(s.last.status);
	CHECK(NEXT_EVENT(l.b, KVERBS_EVENT_CONN, l.cb).status);
	gone(l.b, KVERBS_EVENT_LISTENER, l.listener);
	link_add();
	works_again(&l, &f, s.buf, from);
}

static void removed_in_transfer(void)
{
	with_link(removed_in_transfer_body);
}

static int shared_fd, accept_result;

static void *accepts(void *arg)
{
	struct kverbs_accept accept = { .listener_id = *(__u32 *)arg };

	accept_result = kverbs_accept(shared_fd, &accept);
	return NULL;
}

/* Someone waits in ACCEPT; a wildcard listener lives on and works later. */
static void removed_under_listeners_body(void)
{
	struct kverbs_listen any = { 0 };
	struct kverbs_accept accept = { .timeout_ms = patience_ms() };
	struct kverbs_connect cmd;
	__u32 listener;
	pthread_t thread;
	__u16 port;

	shared_fd = context();
	listener = listen_at(shared_fd, NULL, &port);
	address(any.addr, "0.0.0.0", 0);
	CHECK_OK(kverbs_listen(shared_fd, &any));
	CHECK(!pthread_create(&thread, NULL, accepts, &listener));
	sleep_ms(200);
	link_delete();
	pthread_join(thread, NULL);
	CHECK_EQ(accept_result, -ENODEV);
	gone(shared_fd, KVERBS_EVENT_LISTENER, listener);
	link_add();
	connect_fill(&cmd, any.port, NULL);
	CHECK_OK(kverbs_connect(shared_fd, &cmd));
	accept.listener_id = any.listener_id;
	CHECK_OK(kverbs_accept(shared_fd, &accept));
}

static void removed_under_listeners(void)
{
	with_link(removed_under_listeners_body);
}

/* A connect that is under way ends, and soon. */
static void removed_while_connecting_body(void)
{
	int status;
	pid_t pid = CHECK_SYS(fork());

	if (!pid)
		_exit(stuck_in(IN_CONNECT) == -ENODEV ? 17 : 1);
	sleep_ms(300);
	link_delete();
	CHECK(reaped(pid, &status, 60));
	CHECK_EQ(WEXITSTATUS(status), 17);
}

static void removed_while_connecting(void)
{
	with_link(removed_while_connecting_body);
}

static const struct test tests[] = {
	{ "initiator_killed", initiator_killed },
	{ "target_killed", target_killed },
	{ "closed", closed },
	{ "interrupted", interrupted },
	{ "removed_idle", removed_idle },
	{ "removed_in_transfer", removed_in_transfer },
	{ "removed_under_listeners", removed_under_listeners },
	{ "removed_while_connecting", removed_while_connecting },
};

int main(int argc, char **argv)
{
	return tests_main(tests, ARRAY_SIZE(tests), argc, argv);
}
