// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two guests, A the initiator and B the target: every byte of a long stream of
 * writes, and what one end sees when the other ends suddenly. Both run the same
 * case and meet at barriers.
 */
#include "link.h"

#include <time.h>

static bool at_a(void)
{
	return !strcmp(env("KV_ROLE", "A"), "A");
}

/* Meet the other guest at @name; what it brought, as a number. */
static long meet(const char *name, long value)
{
	char command[100], line[64] = "";
	FILE *out;

	snprintf(command, sizeof(command), "%s %s %ld", env("KV_SYNC", "kv-sync"), name, value);
	fflush(stdout);
	out = popen(command, "r");
	CHECK(out);
	if (!fgets(line, sizeof(line), out))
		line[0] = 0;
	CHECK_EQ(pclose(out), 0);
	return atol(line);
}

/* struct half - this end's half of a connection */
struct half {
	int fd;
	__u32 conn;
	__u32 buf;
	__u32 region;		/* remote at A, own at B */
	__u8 *mem;
	__u64 length;
};

/* B exposes @length bytes, A learns of them and has as many to send. */
static struct half half_up(const char *name, __u64 length)
{
	struct half h = { .fd = context(), .length = length };
	struct kverbs_accept accept = { .timeout_ms = patience_ms() };
	struct kverbs_region_expose cmd = { .length = length, .rights = KVERBS_RIGHT_WRITE };
	struct kverbs_connect connect;
	__u16 port = 0;

	if (at_a()) {
		port = meet(name, 0);
		connect_fill(&connect, port, NULL);
		CHECK_OK(kverbs_connect(h.fd, &connect));
		h.conn = connect.conn_id;
		h.region = NEXT_EVENT(h.fd, KVERBS_EVENT_REGION, h.conn).region_id;
		h.mem = source(h.fd, length, 1, 1, &h.buf);
		return h;
	}
	accept.listener_id = listen_at(h.fd, NULL, &port);
	meet(name, port);
	CHECK_OK(kverbs_accept(h.fd, &accept));
	h.conn = accept.conn_id;
	h.mem = (__u8 *)memory(length + 2 * GUARD) + GUARD;
	memset(h.mem - GUARD, 0xa5, length + 2 * GUARD);
	h.buf = registered(h.fd, h.mem - GUARD, length + 2 * GUARD, KVERBS_BUF_WRITABLE);
	cmd.target_id = h.conn;
	cmd.buf_id = h.buf;
	cmd.offset = GUARD;
	CHECK_OK(kverbs_region_expose(h.fd, &cmd));
	h.region = cmd.region_id;
	return h;
}

/* The n-th write of the stream: both ends work it out. */
static void nth(__u32 n, __u64 room, __u64 *from, __u64 *to, __u64 *length)
{
	__u32 x = n * 2654435761u + 12345;

	*length = n % 5 ? x % 9000 + 1 : x % 200000 + 1;
	*from = (x >> 7) % (room - *length);
	*to = (x >> 3) % (room - *length);
}

static void stream_send(struct half *h, __u32 writes)
{
	struct kverbs_item it;
	__u64 from, to, length;
	__u32 n, ended = 0;

	for (n = 0; n < writes; n++) {
		nth(n, h->length, &from, &to, &length);
		it = item(h->buf, from, h->region, to, length, KVERBS_DELIVERED);
		it.user_data = n;
		if (n % 7 == 0 || n == writes - 1)
			it.flags = KVERBS_ITEM_NOTIFY;
		if (n == writes - 1)
			it.until = KVERBS_CONSUMED;
		it.tag = n;
		CHECK_EQ(CHECK_OK(kverbs_submit(h->fd, h->conn, &it, 1)), 1);
		if (n >= 100)
			CHECK_EQ(NEXT_FINAL(h->fd).user_data, ended++);
	}
	while (ended < writes)
		CHECK_EQ(NEXT_FINAL(h->fd).user_data, ended++);
}

static void stream_receive(struct half *h, __u32 writes)
{
	__u8 *sent = memory(h->length), *want = memory(h->length + 2 * GUARD);
	struct kverbs_event event;
	__u64 from, to, length, seq = 0;
	__u32 n;

	fill(sent, h->length, 1);
	memset(want, 0xa5, h->length + 2 * GUARD);
	for (n = 0; n < writes; n++) {
		nth(n, h->length, &from, &to, &length);
		memcpy(want + GUARD + to, sent + from, length);
		if (n % 7 && n != writes - 1)
			continue;
		event = NEXT_EVENT(h->fd, KVERBS_EVENT_NOTIFY, h->conn);
		CHECK_EQ(event.tag, n);
		CHECK_EQ(event.offset, to);
		CHECK_EQ(event.length, length);
		seq = event.seq;
	}
	for (n = 0; n < h->length + 2 * GUARD; n++)
		if (h->mem[(long)n - (long)GUARD] != want[n])
			fail_at(__FILE__, __LINE__, "wrong byte at %ld", (long)n - (long)GUARD);
	CHECK_OK(kverbs_ack(h->fd, h->conn, seq, 0));
}

static void stream(void)
{
	__u32 writes = amount(2000, 1000, 200);
	struct half h = half_up("stream", 3 * MIB + 77);

	if (at_a())
		stream_send(&h, writes);
	else
		stream_receive(&h, writes);
	meet("stream-end", 0);
}

/* Write until the connection ends; one event tells of it, and one each item. */
static struct kverbs_event write_to_the_end(struct half *h)
{
	struct kverbs_event event = { 0 };
	__u64 accepted = 0, ended = 0, next = 0;
	struct kverbs_item it;
	int ret = 1;

	while (ret == 1 || ended < accepted) {
		while (ret == 1 && accepted - ended < 32) {
			it = item(h->buf, 0, h->region, 0, h->length, KVERBS_DELIVERED);
			it.user_data = accepted;
			ret = kverbs_submit(h->fd, h->conn, &it, 1);
			accepted += ret == 1;
		}
		if (ended == accepted)
			break;
		event = NEXT_EVENT(h->fd, KVERBS_EVENT_FINAL, h->conn);
		ended++;
		if (event.status)
			continue;
		CHECK(event.user_data >= next);
		next = event.user_data + 1;
	}
	CHECK_ERR(ret, ENOTCONN);
	event = NEXT_EVENT(h->fd, KVERBS_EVENT_CONN, h->conn);
	CHECK(no_event(h->fd, KVERBS_EVENT_FINAL, 0));
	CHECK(no_event(h->fd, KVERBS_EVENT_CONN, 0));
	return event;
}

static void sleep_ms(__u32 ms)
{
	struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&pause, NULL);
}

/* A child does this end's part, until it is killed. */
static void child_killed(const char *name, bool writes)
{
	int status, pipes[2];
	struct half h;
	char byte;
	pid_t pid;

	CHECK_SYS(pipe(pipes));
	pid = CHECK_SYS(fork());
	if (!pid) {
		h = half_up(name, 256 * KIB);
		CHECK_EQ(write(pipes[1], "x", 1), 1);
		if (writes)
			write_to_the_end(&h);
		pause();
		_exit(1);
	}
	CHECK_EQ(read(pipes[0], &byte, 1), 1);
	sleep_ms(1000);
	kill(pid, SIGKILL);
	CHECK(reaped(pid, &status, 60));
}

static void writer_killed(void)
{
	struct kverbs_event event;
	struct half h;

	if (at_a()) {
		child_killed("writer-killed", true);
	} else {
		h = half_up("writer-killed", 256 * KIB);
		event = NEXT_EVENT(h.fd, KVERBS_EVENT_CONN, h.conn);
		CHECK(event.status);
		CHECK_EQ(event.step, KVERBS_STEP_PEER);
		CHECK(no_event(h.fd, KVERBS_EVENT_CONN, 0));
	}
	meet("writer-killed-end", 0);
}

static void target_killed(void)
{
	struct half h;

	if (at_a()) {
		h = half_up("target-killed", 256 * KIB);
		CHECK(write_to_the_end(&h).status);
	} else {
		child_killed("target-killed", false);
	}
	meet("target-killed-end", 0);
}

static void shell(const char *command)
{
	CHECK_EQ(system(command), 0);
}

/* The target's device goes in the middle of it: both ends are told. */
static void target_loses_device(void)
{
	struct half h = half_up("device", 256 * KIB);
	struct kverbs_event event;

	if (at_a()) {
		CHECK(write_to_the_end(&h).status);
	} else {
		sleep_ms(1000);
		shell("timeout 60 rdma link delete \"$KV_DEV\"");
		event = NEXT_EVENT(h.fd, KVERBS_EVENT_CONN, h.conn);
		CHECK(event.status);
		shell("rdma link add \"$KV_DEV\" type \"$KV_PROVIDER\" netdev \"$KV_NETDEV\"");
		shell("for i in $(seq 100); do "
		      "grep -qs ffff:0a /sys/class/infiniband/$KV_DEV/ports/1/gids/* && exit 0; "
		      "sleep 0.1; done; exit 1");
	}
	meet("device-end", 0);
	/* And again, with the device that came back. */
	h = half_up("device-again", 256 * KIB);
	if (at_a())
		stream_send(&h, 50);
	else
		stream_receive(&h, 50);
	meet("device-again-end", 0);
}

/*
 * What A sends goes to nobody: the writer notices by itself, within its bound.
 * (Taking B's interface down would also stop A's emulator, which waits for room
 * on the wire.)
 */
static void cut_off(void)
{
	struct half h = half_up("cut", 256 * KIB);
	struct kverbs_event event;

	if (at_a()) {
		shell("(sleep 1; ip neigh replace \"$KV_PEER\" lladdr 02:00:00:00:00:99 "
		      "dev \"$KV_NETDEV\" nud permanent) &");
		event = write_to_the_end(&h);
		CHECK(event.status);
		note("the writer was told %s at step %s",
		     strerrorname_np(event.status), kverbs_step_name(event.step));
		shell("ip neigh del \"$KV_PEER\" dev \"$KV_NETDEV\"");
	}
	meet("cut-end", 0);
	if (!at_a())
		CHECK_OK(kverbs_destroy(h.fd, h.conn));
	meet("cut-mended", 0);
}

static const struct test tests[] = {
	{ "stream", stream },
	{ "writer_killed", writer_killed },
	{ "target_killed", target_killed },
	{ "target_loses_device", target_loses_device },
	{ "cut_off", cut_off },
};

int main(int argc, char **argv)
{
	return tests_main(tests, ARRAY_SIZE(tests), argc, argv);
}
