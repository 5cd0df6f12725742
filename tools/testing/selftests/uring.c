// SPDX-License-Identifier: GPL-2.0-only
/*
 * Items by io_uring: every operation and moment, by rings of each kind; one CQE for
 * each, whatever happens; the errno of what is refused; and that nothing outlives
 * those who wait for it, be they killed or their ring closed.
 */
#include "link.h"

#include <fcntl.h>
#include <liburing.h>
#include <sys/utsname.h>

#define DEPTH	64

/* How rings are made, and how their SQEs are issued. */
static const struct manner {
	const char *name;
	__u32 setup;
	__u8 sqe;
} manners[] = {
	{ "plain", 0, 0 },
	{ "deferred", IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, 0 },
	{ "by a thread", IORING_SETUP_SQPOLL, 0 },
	{ "by the pool", 0, IOSQE_ASYNC },
};

/* Does this kernel's io_uring ask commands to end? It does since 6.7. */
static bool asks(void)
{
	struct utsname name;
	long major, minor;
	char *end;

	CHECK_SYS(uname(&name));
	major = strtol(name.release, &end, 10);
	CHECK(major > 0 && *end == '.');
	minor = strtol(end + 1, NULL, 10);
	return major > 6 || (major == 6 && minor >= 7);
}

static void needs_later_moments(void)
{
	if (!asks())
		skip("io_uring of this kernel does not ask commands to end");
}

/* What proves that the bytes are there: on iWARP, COMPLETED alone does not. */
static __u32 in_place(void)
{
	return asks() ? KVERBS_DELIVERED : KVERBS_COMPLETED;
}

static void sleep_briefly(void)
{
	struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };

	nanosleep(&pause, NULL);
}

static bool module_has_it(int fd)
{
	struct kverbs_query query = { 0 };

	CHECK_OK(kverbs_query(fd, &query));
	return query.features & KVERBS_FEATURE_URING;
}

static struct io_uring ring_like(const struct manner *m)
{
	struct io_uring ring;
	int ret = io_uring_queue_init(DEPTH, &ring, m->setup), fd = context();

	if (ret == -EPERM)
		skip("io_uring is disabled");
	if (ret && !module_has_it(fd))
		skip("a kernel without io_uring");
	CHECK_OK(ret);
	CHECK(module_has_it(fd));
	close(fd);
	return ring;
}

/*
 * The ring of most tests: its CQEs are made when it is waited for. Those of others
 * are made by interrupting their task, also in WAIT, which then says EINTR. As does
 * the end of any ring; so a test does not close one and then wait for events.
 */
static struct io_uring ring_up(void)
{
	return ring_like(&manners[1]);
}

/* The same, where this process shall have no ring. */
static void skip_without_rings(void)
{
	struct io_uring ring;
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(io_uring_queue_init(4, &ring, 0) ? 1 : 0);
	CHECK_SYS(pid);
	CHECK_SYS(waitpid(pid, &status, 0));
	if (status)
		skip("no io_uring");
}

/* An SQE: at once, but for a thread that has not taken the earlier ones yet. */
static struct io_uring_sqe *next_sqe(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	int i;

	for (i = 0; !sqe && i < patience_ms() / 10; i++) {
		CHECK(ring->flags & IORING_SETUP_SQPOLL);
		sleep_briefly();
		sqe = io_uring_get_sqe(ring);
	}
	CHECK(sqe);
	return sqe;
}

/* Issue all @nr SQEs that there are. */
#define ISSUE(ring, nr) issue(ring, nr, __FILE__, __LINE__)
static void issue(struct io_uring *ring, __u32 nr, const char *file, int line)
{
	int ret = io_uring_submit(ring);

	/* A thread takes them later, and how many were waiting is all that is said. */
	if (ret < 0 || (!(ring->flags & IORING_SETUP_SQPOLL) && ret != (int)nr))
		fail_at(file, line, "submitting %u SQEs: %d", nr, ret);
}

/* Put one item; @it has to stay until it is issued. */
static struct io_uring_sqe *put_item(struct io_uring *ring, int fd, __u32 conn,
				     const struct kverbs_item *it, __u64 user_data)
{
	struct kverbs_uring_cmd cmd = { .item = (uintptr_t)it, .conn_id = conn };
	struct io_uring_sqe *sqe = next_sqe(ring);

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = KVERBS_URING_SUBMIT;
	sqe->user_data = user_data;
	memcpy(sqe->cmd, &cmd, sizeof(cmd));
	return sqe;
}

/* struct outcome - a CQE */
struct outcome {
	__u64 user_data;
	int res;
};

#define NEXT_CQE(ring) next_cqe(ring, __FILE__, __LINE__)
static struct outcome next_cqe(struct io_uring *ring, const char *file, int line)
{
	struct __kernel_timespec limit = { .tv_sec = patience_ms() / 1000 };
	struct outcome outcome;
	struct io_uring_cqe *cqe;
	int ret;

	do {
		ret = io_uring_wait_cqe_timeout(ring, &cqe, &limit);
	} while (ret == -EINTR);
	if (ret)
		fail_at(file, line, "waiting for a CQE: %s", result_name(ret));
	outcome.user_data = cqe->user_data;
	outcome.res = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return outcome;
}

/* True when no CQE is there, also after what can be run for one has been run. */
static bool no_cqe(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;

	CHECK_OK(io_uring_get_events(ring));
	return io_uring_peek_cqe(ring, &cqe) == -EAGAIN;
}

/* One item, to its CQE. */
static int run_item(struct io_uring *ring, int fd, __u32 conn, const struct kverbs_item *it)
{
	static __u64 number = 1000000;
	struct outcome outcome;

	put_item(ring, fd, conn, it, ++number);
	ISSUE(ring, 1);
	outcome = NEXT_CQE(ring);
	CHECK_EQ(outcome.user_data, number);
	return outcome.res;
}

static void put_all(struct io_uring *ring, int fd, __u32 conn, struct kverbs_item *items, __u32 nr)
{
	__u32 i;

	for (i = 0; i < nr; i++)
		put_item(ring, fd, conn, &items[i], i);
	ISSUE(ring, nr);
}

/* Until the connection has told the end of every item it accepted. */
#define ALL_FINISHED(fd, conn, nr) all_finished(fd, conn, nr, __FILE__, __LINE__)
static void all_finished(int fd, __u32 conn, __u64 nr, const char *file, int line)
{
	struct kverbs_counters c = { 0 };
	int i;

	for (i = 0; i < patience_ms() / 10; i++) {
		c = conn_query(fd, conn).counters;
		if (c.submitted == nr && c.finished == nr)
			return;
		sleep_briefly();
	}
	fail_at(file, line, "%llu of %llu items accepted, %llu finished", c.submitted, nr,
		c.finished);
}

/* Until this end of a connection is dead, by its state: no event is taken. */
#define DEAD(fd, conn) dead(fd, conn, __FILE__, __LINE__)
static void dead(int fd, __u32 conn, const char *file, int line)
{
	int i;

	for (i = 0; i < patience_ms() / 10; i++) {
		if (conn_query(fd, conn).state == KVERBS_STATE_DEAD)
			return;
		sleep_briefly();
	}
	fail_at(file, line, "the connection lives on");
}

/* The module says it has it exactly if a command reaches it. */
static void feature(void)
{
	struct kverbs_item it = { 0 };
	struct io_uring ring;
	int fd = context(), ret = io_uring_queue_init(4, &ring, 0);

	if (ret == -EPERM)
		skip("io_uring is disabled");
	CHECK_EQ(module_has_it(fd), !ret);
	if (ret)
		skip("a kernel without io_uring");
	CHECK_ERR(run_item(&ring, fd, 12345, &it), ENOENT);
}

static void writes_like(const struct manner *m)
{
	static const __u64 sizes[] = { 1, 63, 64, 4095, 4097, 64 * KIB + 1, MIB + 1 };
	struct io_uring ring = ring_like(m);
	struct link l = link_up();
	struct field f = field_of(&l, 2 * MIB, 1);
	struct kverbs_item it;
	__u64 to = 0;
	__u8 *mem;
	__u32 buf, i;

	note("%s", m->name);
	mem = source(l.a, 2 * MIB, 3, 1, &buf);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		to = (to + 12289) % (f.length - sizes[i] + 1);
		it = item(buf, i * 7, f.region, to, sizes[i], in_place());
		put_item(&ring, l.a, l.ca, &it, i)->flags = m->sqe;
		ISSUE(&ring, 1);
		CHECK_EQ(NEXT_CQE(&ring).res, it.until);
		field_expect(&f, to, mem + i * 7, sizes[i]);
	}
	/* In place by now, since this is behind them. */
	PUT(&l, buf, 0, f.region, 0, 1);
	field_expect(&f, 0, mem, 1);
	FIELD_CHECK(&f);
	CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	CHECK(no_cqe(&ring));
	CHECK_EQ(conn_query(l.a, l.ca).counters.submitted, ARRAY_SIZE(sizes) + 1);
	CHECK_EQ(conn_query(l.a, l.ca).counters.failed, 0);
	link_close(&l);
}

static void write_each_size(void)
{
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(manners); i++)
		writes_like(&manners[i]);
}

/* The res is the moment asked for, and it comes when that does. */
static void moments(void)
{
	struct io_uring ring;
	struct kverbs_event event;
	struct kverbs_item it;
	struct field f;
	struct link l;
	__u32 buf, until;
	__u8 *mem;

	needs_later_moments();
	ring = ring_up();
	l = link_up();
	f = field_of(&l, 64 * KIB, 0);
	mem = source(l.a, 64 * KIB, 0, 2, &buf);
	for (until = KVERBS_COMPLETED; until < KVERBS_MOMENTS; until++) {
		it = item(buf, until, f.region, until * 3000, 1000 + until, until);
		it.flags = KVERBS_ITEM_NOTIFY;
		it.tag = until * 0x123456789ULL;
		put_item(&ring, l.a, l.ca, &it, until);
		ISSUE(&ring, 1);
		event = NEXT_EVENT(l.b, KVERBS_EVENT_NOTIFY, 0);
		field_expect(&f, until * 3000, mem + until, 1000 + until);
		FIELD_CHECK(&f);
		CHECK_EQ(event.tag, it.tag);
		CHECK_EQ(event.offset, it.region_offset);
		if (until >= KVERBS_CONSUMED) {
			CHECK(no_cqe(&ring));
			CHECK_OK(kverbs_ack(l.b, l.cb, event.seq, until == KVERBS_PERSISTED ?
					    KVERBS_ACK_PERSISTED : 0));
		}
		CHECK_EQ(NEXT_CQE(&ring).res, until);
	}
	CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	link_close(&l);
}

/* Where rings do not tell that they are closed, nothing may wait for the peer. */
static void moments_refused(void)
{
	struct io_uring ring = ring_up();
	struct kverbs_item it;
	struct field f;
	struct link l;
	__u32 buf, until;
	__u8 *mem;

	if (asks())
		skip("all moments can be had on this kernel");
	l = link_up();
	f = field_of(&l, 4096, 0);
	mem = source(l.a, 4096, 0, 3, &buf);
	for (until = KVERBS_DELIVERED; until < KVERBS_MOMENTS; until++) {
		it = item(buf, 0, f.region, 0, 64, until);
		CHECK_ERR(run_item(&ring, l.a, l.ca, &it), EOPNOTSUPP);
	}
	CHECK_EQ(conn_query(l.a, l.ca).counters.submitted, 0);
	FIELD_CHECK(&f);
	it = item(buf, 0, f.region, 0, 64, KVERBS_COMPLETED);
	it.flags = KVERBS_ITEM_NOTIFY;
	CHECK_EQ(run_item(&ring, l.a, l.ca, &it), KVERBS_COMPLETED);
	NEXT_EVENT(l.b, KVERBS_EVENT_NOTIFY, 0);
	field_expect(&f, 0, mem, 64);
	FIELD_CHECK(&f);
	link_close(&l);
}

/* A moment that does not come in time. */
static void time_out(void)
{
	struct io_uring ring;
	struct kverbs_item it;
	struct field f;
	struct link l;
	__u32 buf;

	needs_later_moments();
	ring = ring_up();
	l = link_up();
	f = field_of(&l, 4096, 0);
	source(l.a, 4096, 0, 4, &buf);
	it = item(buf, 0, f.region, 0, 64, KVERBS_CONSUMED);
	it.timeout_ms = 50;
	CHECK_ERR(run_item(&ring, l.a, l.ca, &it), ETIMEDOUT);
	PUT(&l, buf, 0, f.region, 0, 64);
	link_close(&l);
}

static void read_back(void)
{
	struct io_uring ring = ring_up();
	struct link l = link_up();
	struct field f = field_as(&l, l.ca, l.cb, MIB, 5, KVERBS_RIGHT_READ | KVERBS_RIGHT_WRITE);
	struct field here = landing(l.a, MIB, 77);
	struct kverbs_item it;
	__u32 i;

	for (i = 0; i < 20; i++) {
		it = op_item(KVERBS_OP_READ, here.buf, here.guard + i * 3001, f.region, i * 2999,
			     1 + i * 1000);
		CHECK_EQ(run_item(&ring, l.a, l.ca, &it), KVERBS_COMPLETED);
		field_expect(&here, i * 3001, f.mem + f.guard + i * 2999, 1 + i * 1000);
		FIELD_CHECK(&here);
	}
	FIELD_CHECK(&f);
	link_close(&l);
}

static void message(void)
{
	static const __u32 lengths[] = { 1, 8, 100, KVERBS_MESSAGE_MAX };
	__u8 bytes[KVERBS_MESSAGE_MAX], *mem;
	struct io_uring ring = ring_up();
	struct link l = link_up();
	struct kverbs_event event;
	struct kverbs_item it;
	__u32 buf, i;

	mem = source(l.a, 4096, 9, 5, &buf);
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		it = op_item(KVERBS_OP_SEND, buf, i * 11, 0, 0, lengths[i]);
		it.tag = i + 7;
		CHECK_EQ(run_item(&ring, l.a, l.ca, &it), KVERBS_COMPLETED);
		event = NEXT_MESSAGE(l.b, l.cb, bytes);
		CHECK_EQ(event.length, lengths[i]);
		CHECK_EQ(event.tag, i + 7);
		CHECK(!memcmp(bytes, mem + i * 11, lengths[i]));
	}
	it.length = KVERBS_MESSAGE_MAX + 1;
	CHECK_ERR(run_item(&ring, l.a, l.ca, &it), EMSGSIZE);
	link_close(&l);
}

static void imm_and_atomic(void)
{
	struct io_uring ring = ring_up();
	struct kverbs_event event;
	struct kverbs_item it;
	struct field f, here;
	struct link l;
	__u64 was, now;

	if (on_siw())
		skip("iWARP has neither");
	l = link_up();
	f = field_as(&l, l.ca, l.cb, 4096, 0, KVERBS_RIGHT_WRITE | KVERBS_RIGHT_ATOMIC);
	here = landing(l.a, 4096, 0);
	memcpy(&was, f.mem + f.guard + 64, 8);

	it = op_item(KVERBS_OP_FETCH_ADD, here.buf, here.guard, f.region, 64, 8);
	it.operand = 5;
	CHECK_EQ(run_item(&ring, l.a, l.ca, &it), KVERBS_COMPLETED);
	now = was + 5;
	field_expect(&here, 0, &was, 8);
	field_expect(&f, 64, &now, 8);
	FIELD_CHECK(&here);
	FIELD_CHECK(&f);

	it.op = KVERBS_OP_CMP_SWAP;
	it.compare = now;
	it.operand = 42;
	CHECK_EQ(run_item(&ring, l.a, l.ca, &it), KVERBS_COMPLETED);
	field_expect(&here, 0, &now, 8);
	now = 42;
	field_expect(&f, 64, &now, 8);
	FIELD_CHECK(&here);
	FIELD_CHECK(&f);

	it = item(here.buf, here.guard, f.region, 100, 3, KVERBS_COMPLETED);
	it.flags = KVERBS_ITEM_IMM;
	it.tag = 0xfeedbeef;
	CHECK_EQ(run_item(&ring, l.a, l.ca, &it), KVERBS_COMPLETED);
	event = NEXT_EVENT(l.b, KVERBS_EVENT_IMM, l.cb);
	CHECK_EQ(event.tag, 0xfeedbeef);
	field_expect(&f, 100, here.mem + here.guard, 3);
	FIELD_CHECK(&f);
	link_close(&l);
}

/* struct crowd - many items, each at a place of its own */
struct crowd {
	struct kverbs_item items[1000];
	bool done[1000];
	__u32 nr;
	__u32 put;
	__u32 seen;
};

/* One CQE for each: the one with @user_data has not been there. */
static void crowd_seen(struct crowd *c, const struct outcome *outcome)
{
	CHECK(outcome->user_data < c->put);
	CHECK(!c->done[outcome->user_data]);
	c->done[outcome->user_data] = true;
	c->seen++;
}

static void crowd_like(const struct manner *m)
{
	static struct crowd crowd;
	struct io_uring ring = ring_like(m);
	struct link l = link_up();
	struct crowd *c = &crowd;
	struct outcome outcome;
	struct field f;
	__u32 buf, i;
	__u8 *mem;

	memset(c, 0, sizeof(*c));
	c->nr = amount(1000, 1000, 300);
	f = field_of(&l, c->nr * 100, 3);
	mem = source(l.a, 4096, 1, 6, &buf);
	for (i = 0; i < c->nr; i++) {
		c->items[i] = item(buf, i % 3000, f.region, i * 100, 1 + i * 7 % 100, in_place());
		field_expect(&f, i * 100, mem + i % 3000, c->items[i].length);
	}
	while (c->seen < c->nr) {
		for (i = 0; c->put < c->nr && c->put - c->seen < DEPTH; i++, c->put++)
			put_item(&ring, l.a, l.ca, &c->items[c->put], c->put)->flags = m->sqe;
		if (i)
			ISSUE(&ring, i);
		outcome = NEXT_CQE(&ring);
		CHECK_EQ(outcome.res, in_place());
		crowd_seen(c, &outcome);
	}
	CHECK(no_cqe(&ring));
	/* Behind them all. */
	PUT(&l, buf, 0, f.region, 0, 1);
	field_expect(&f, 0, mem, 1);
	FIELD_CHECK(&f);
	CHECK_EQ(conn_query(l.a, l.ca).counters.submitted, c->nr + 1);
	CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	link_close(&l);
}

static void many(void)
{
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(manners); i++)
		crowd_like(&manners[i]);
}

/* In the order of their SQEs, by the order in which the peer hears of them. */
static void in_order(void)
{
	static struct kverbs_item items[DEPTH];
	struct io_uring ring = ring_up();
	struct link l = link_up();
	struct field f = field_of(&l, 64 * KIB, 0);
	__u32 buf, i;

	source(l.a, 64 * KIB, 0, 7, &buf);
	for (i = 0; i < DEPTH; i++) {
		items[i] = item(buf, 0, f.region, 0, i % 3 ? 10 : 60000, KVERBS_COMPLETED);
		items[i].flags = KVERBS_ITEM_NOTIFY;
		items[i].tag = i;
	}
	put_all(&ring, l.a, l.ca, items, DEPTH);
	for (i = 0; i < DEPTH; i++)
		CHECK_EQ(NEXT_EVENT(l.b, KVERBS_EVENT_NOTIFY, l.cb).tag, i);
	for (i = 0; i < DEPTH; i++)
		CHECK_EQ(NEXT_CQE(&ring).res, KVERBS_COMPLETED);
	link_close(&l);
}

/* A chain of SQEs: the failure of one cancels those behind it. */
static void linked(void)
{
	struct io_uring ring = ring_up();
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_item items[4];
	__u32 buf, i, good = 0;
	__u8 *mem = source(l.a, 4096, 0, 8, &buf);

	for (i = 0; i < 4; i++)
		items[i] = item(buf, i * 100, f.region, i * 100, 50, KVERBS_COMPLETED);
	items[2].length = 5000;
	for (i = 0; i < 4; i++)
		put_item(&ring, l.a, l.ca, &items[i], i)->flags = i < 3 ? IOSQE_IO_LINK : 0;
	ISSUE(&ring, 4);
	for (i = 0; i < 4; i++) {
		struct outcome outcome = NEXT_CQE(&ring);

		CHECK_EQ(outcome.res, outcome.user_data < 2 ? KVERBS_COMPLETED :
				      outcome.user_data == 2 ? -ERANGE : -ECANCELED);
		good += outcome.res > 0;
	}
	CHECK_EQ(good, 2);
	PUT(&l, buf, 0, f.region, 0, 150);
	field_expect(&f, 0, mem, 150);
	FIELD_CHECK(&f);
	link_close(&l);
}

static void refused(struct io_uring *ring, struct link *l, const struct kverbs_item *it, int code)
{
	CHECK_ERR(run_item(ring, l->a, l->ca, it), code);
	CHECK_ERR(kverbs_submit(l->a, l->ca, it, 1), code);
}

/* The same errno as SUBMIT gives, in the CQE; and nothing is accepted. */
static void bad_items(void)
{
	struct io_uring ring = ring_up();
	struct link l = link_up(), other = link_up();
	struct field f = field_of(&l, 4096, 0), g = field_of(&other, 4096, 0);
	struct kverbs_item good, it;
	__u32 buf, i;

	source(l.a, 4096, 0, 9, &buf);
	good = item(buf, 0, f.region, 0, 64, KVERBS_COMPLETED);
#define BAD(_member, _value, _code)						\
	do {									\
		it = good;							\
		it._member = _value;						\
		refused(&ring, &l, &it, _code);					\
	} while (0)
	BAD(op, 0, EOPNOTSUPP);
	BAD(op, 99, EOPNOTSUPP);
	BAD(op, KVERBS_OP_READ, EACCES);
	BAD(flags, 1 << 30, EOPNOTSUPP);
	BAD(flags, KVERBS_ITEM_INLINE, EOPNOTSUPP);
	BAD(buf_id, 0, ENOENT);
	BAD(buf_id, f.region, ENOENT);
	BAD(buf_id, 123456, ENOENT);
	BAD(region_id, 0, ENOENT);
	BAD(region_id, buf, ENOENT);
	BAD(region_id, 123456, ENOENT);
	BAD(length, 0, EINVAL);
	BAD(length, 4097, ERANGE);
	BAD(length, ~0ULL, ERANGE);
	BAD(buf_offset, 4033, ERANGE);
	BAD(region_offset, 4033, ERANGE);
	BAD(region_offset, ~0ULL, ERANGE);
	BAD(until, KVERBS_POSTED, EINVAL);
	BAD(until, KVERBS_MOMENTS, EINVAL);
	BAD(until, KVERBS_CONSUMED, EINVAL);
	BAD(operand, 1, EINVAL);
	BAD(compare, 1, EINVAL);
#undef BAD
	/* Another file's connection and region. */
	for (i = 0; i < 4; i++)
		CHECK_ERR(run_item(&ring, l.a, i ? i * 1000 : 0, &good), ENOENT);
	CHECK_ERR(run_item(&ring, l.a, buf, &good), ENOENT);
	CHECK_ERR(run_item(&ring, l.a, f.region, &good), ENOENT);
	CHECK_ERR(run_item(&ring, l.b, l.ca + 1000, &good), ENOENT);
	CHECK_ERR(run_item(&ring, other.a, other.ca, &good), ENOENT);
	CHECK_EQ(conn_query(l.a, l.ca).counters.submitted, 0);
	CHECK_EQ(conn_query(other.a, other.ca).counters.submitted, 0);
	CHECK_EQ(run_item(&ring, l.a, l.ca, &good), KVERBS_COMPLETED);
	FIELD_CHECK(&g);
	link_close(&l);
	link_close(&other);
}

static void bad_commands(void)
{
	static const __u32 others[] = {
		0, KVERBS_SUBMIT, KVERBS_QUERY, KVERBS_URING_SUBMIT + 1, KVERBS_URING_SUBMIT - 1,
		_IOW(KVERBS_TYPE, KVERBS_CMD_URING_SUBMIT, struct kverbs_uring_cmd), ~0u,
	};
	struct io_uring ring = ring_up();
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_uring_cmd cmd;
	struct io_uring_sqe *sqe;
	struct kverbs_item it;
	struct iovec fixed;
	__u32 buf, bit, i;
	__u8 *mem;

	mem = source(l.a, 4096, 0, 10, &buf);
	it = item(buf, 0, f.region, 0, 64, KVERBS_COMPLETED);
#define REFUSED(_code)								\
	do {									\
		ISSUE(&ring, 1);			\
		CHECK_ERR(NEXT_CQE(&ring).res, _code);				\
	} while (0)
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		put_item(&ring, l.a, l.ca, &it, i)->cmd_op = others[i];
		REFUSED(ENOTTY);
	}
	for (bit = 0; bit < 32; bit++) {
		cmd = (struct kverbs_uring_cmd) {
			.item = (uintptr_t)&it, .conn_id = l.ca, .flags = 1U << bit,
		};
		memcpy(put_item(&ring, l.a, l.ca, &it, bit)->cmd, &cmd, sizeof(cmd));
		REFUSED(EOPNOTSUPP);
	}
	/* An item that cannot be read, wholly or at all. */
	CHECK_ERR(run_item(&ring, l.a, l.ca, NULL), EFAULT);
	CHECK_ERR(run_item(&ring, l.a, l.ca, (void *)0xffff888000000000UL), EFAULT);
	mem = memory(8192);
	CHECK_SYS(mprotect(mem + 4096, 4096, PROT_NONE));
	memcpy(mem + 4096 - sizeof(it) + 8, &it, sizeof(it) - 8);
	CHECK_ERR(run_item(&ring, l.a, l.ca, (void *)(mem + 4096 - sizeof(it) + 8)), EFAULT);
	/* A registered buffer is nothing to us. */
	fixed.iov_base = mem;
	fixed.iov_len = 4096;
	CHECK_OK(io_uring_register_buffers(&ring, &fixed, 1));
	sqe = put_item(&ring, l.a, l.ca, &it, 1);
	sqe->rw_flags = IORING_URING_CMD_FIXED;
	REFUSED(EOPNOTSUPP);
#undef REFUSED
	CHECK_EQ(conn_query(l.a, l.ca).counters.submitted, 0);
	FIELD_CHECK(&f);
	CHECK_EQ(run_item(&ring, l.a, l.ca, &it), KVERBS_COMPLETED);
	link_close(&l);
}

/* The bound that QUERY promises holds for both ways together, and nothing leaks. */
static void pending_is_bounded(void)
{
	enum { BATCH = 4096 };
	static struct kverbs_item items[BATCH];
	static struct kverbs_event events[BATCH];
	struct io_uring ring = ring_up();
	struct kverbs_query limits = { 0 };
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0), g;
	__u32 other_a, other_b, buf, i, nr, sum, taken = 0;
	struct kverbs_item it;

	CHECK_OK(kverbs_query(l.a, &limits));
	connect_again(&l, NULL, &other_a, &other_b);
	g = field_on(&l, other_a, other_b, 4096, 0);
	source(l.a, 4096, 0, 11, &buf);
	it = item(buf, 0, g.region, 0, 1, KVERBS_COMPLETED);
	for (i = 0; i < 100; i++)
		CHECK_EQ(run_item(&ring, l.a, other_a, &it), KVERBS_COMPLETED);
	it.length = 5000;
	for (i = 0; i < 100; i++)
		CHECK_ERR(run_item(&ring, l.a, other_a, &it), ERANGE);
	it.length = 1;
	/* The target does not look, so few of them are ever sent. */
	for (i = 0; i < BATCH; i++) {
		items[i] = item(buf, 0, f.region, 0, 1, KVERBS_DELIVERED);
		items[i].flags = KVERBS_ITEM_NOTIFY;
	}
	for (sum = 0; sum < limits.max_pending; sum += nr)
		nr = CHECK_OK(kverbs_submit(l.a, l.ca, items, BATCH));
	CHECK_EQ(sum, limits.max_pending);
	CHECK_ERR(run_item(&ring, l.a, other_a, &it), EAGAIN);
	put_item(&ring, l.a, other_a, &it, 1)->flags = IOSQE_ASYNC;
	ISSUE(&ring, 1);
	CHECK_ERR(NEXT_CQE(&ring).res, EAGAIN);
	CHECK_OK(kverbs_abort(l.a, l.ca));
	while (taken < sum) {
		nr = CHECK_OK(kverbs_wait(l.a, events, BATCH, patience_ms(), 0));
		for (i = 0; i < nr; i++)
			taken += events[i].kind == KVERBS_EVENT_FINAL;
	}
	CHECK_EQ(run_item(&ring, l.a, other_a, &it), KVERBS_COMPLETED);
	link_close(&l);
}

static void direct(void)
{
	struct kverbs_conn_attr attr = { .poll = KVERBS_POLL_DIRECT };
	struct io_uring ring = ring_up();
	struct link l = link_with(&attr);
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_item it;
	__u32 buf;
	__u8 *mem;

	mem = source(l.a, 4096, 0, 12, &buf);
	it = item(buf, 0, f.region, 0, 64, KVERBS_COMPLETED);
	CHECK_ERR(run_item(&ring, l.a, l.ca, &it), EOPNOTSUPP);
	CHECK_EQ(conn_query(l.a, l.ca).counters.submitted, 0);
	FIELD_CHECK(&f);
	PUT(&l, buf, 0, f.region, 0, 64);
	field_expect(&f, 0, mem, 64);
	FIELD_CHECK(&f);
	link_close(&l);
}

static void contexts(void)
{
	static const __u32 polls[] = { KVERBS_POLL_SOFTIRQ, KVERBS_POLL_WORKQUEUE,
				       KVERBS_POLL_UNBOUND };
	struct io_uring ring = ring_up();
	__u32 i, k;

	for (i = 0; i < ARRAY_SIZE(polls); i++) {
		struct kverbs_conn_attr attr = { .poll = polls[i], .flags = KVERBS_CONN_REG };
		struct link l = link_with(&attr);
		struct field f = field_of(&l, 64 * KIB, 0);
		struct kverbs_item it;
		__u32 buf;
		__u8 *mem = source(l.a, 64 * KIB, 0, 13, &buf);

		for (k = 0; k < 10; k++) {
			it = item(buf, k, f.region, k * 6000, 5000 + k, in_place());
			CHECK_EQ(run_item(&ring, l.a, l.ca, &it), it.until);
			field_expect(&f, k * 6000, mem + k, 5000 + k);
		}
		PUT(&l, buf, 0, f.region, 0, 1);
		field_expect(&f, 0, mem, 1);
		FIELD_CHECK(&f);
		link_close(&l);
	}
}

/* A connection that is no more, in each of its ways. */
static void not_connected(void)
{
	struct io_uring ring = ring_up();
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_item it;
	__u32 buf;

	source(l.a, 4096, 0, 14, &buf);
	it = item(buf, 0, f.region, 0, 64, KVERBS_COMPLETED);
	CHECK_OK(kverbs_abort(l.a, l.ca));
	CHECK_ERR(run_item(&ring, l.a, l.ca, &it), ENOTCONN);
	CHECK_OK(kverbs_destroy(l.a, l.ca));
	CHECK_ERR(run_item(&ring, l.a, l.ca, &it), ENOENT);
	FIELD_CHECK(&f);
	link_close(&l);
}

/* More items that notify than there are credits for, while the target does not look. */
static struct kverbs_item waiting[3 * DEPTH];

static void fill_waiting(__u32 buf, __u32 region, __u32 until)
{
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(waiting); i++) {
		waiting[i] = item(buf, i, region, i * 20, 20, until);
		waiting[i].flags = KVERBS_ITEM_NOTIFY;
	}
}

static void put_waiting(struct io_uring *ring, int fd, __u32 conn)
{
	__u32 i;

	for (i = 0; i < 3; i++)
		put_all(ring, fd, conn, waiting + i * DEPTH, DEPTH);
}

/*
 * More items than there are credits, while the target does not look: where nobody
 * else would, the bound on progress ends those that wait.
 */
static void kept_from_device(void)
{
	struct kverbs_conn_attr attr = { .no_progress_ms = 1000 };
	struct io_uring ring = ring_up();
	struct kverbs_item it;
	struct field f, g;
	struct link l;
	__u32 buf, i, done = 0;
	__u8 *mem;

	if (asks())
		skip("io_uring of this kernel asks commands to end");
	l = link_with(&attr);
	f = field_of(&l, 4096, 0);
	g = field_of(&l, MIB, 0);
	mem = source(l.a, MIB, 0, 21, &buf);
	fill_waiting(buf, f.region, KVERBS_COMPLETED);
	put_waiting(&ring, l.a, l.ca);
	for (i = 0; i < ARRAY_SIZE(waiting); i++) {
		int res = NEXT_CQE(&ring).res;

		CHECK(res == KVERBS_COMPLETED || res == -ETIMEDOUT);
		done += res > 0;
	}
	CHECK(done >= DEPTH && done < ARRAY_SIZE(waiting));
	CHECK_EQ(conn_query(l.a, l.ca).counters.finished, ARRAY_SIZE(waiting));
	/* Only they; and what the device is at for longer is no stall. */
	CHECK_EQ(conn_query(l.a, l.ca).state, KVERBS_STATE_UP);
	for (i = 0; i < 64; i++) {
		it = item(buf, 0, g.region, 0, MIB, KVERBS_COMPLETED);
		CHECK_EQ(run_item(&ring, l.a, l.ca, &it), KVERBS_COMPLETED);
	}
	field_expect(&g, 0, mem, MIB);
	FIELD_CHECK(&g);
	/* Looking gives credits back. */
	for (i = 0; i < done; i++)
		NEXT_EVENT(l.b, KVERBS_EVENT_NOTIFY, l.cb);
	CHECK_EQ(run_item(&ring, l.a, l.ca, &waiting[0]), KVERBS_COMPLETED);
	CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	link_close(&l);
}

/*
 * The connection ends with items at every stage: waiting for the peer's program,
 * for a credit, or not yet begun. Each has its CQE, once, and a failed one says so.
 */
static void end_with_items(void (*end)(struct link *l), int code)
{
	const __u32 until = asks() ? KVERBS_CONSUMED : KVERBS_COMPLETED;
	struct io_uring ring = ring_up();
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	bool seen[ARRAY_SIZE(waiting)] = { 0 };
	__u32 buf, i, failed = 0;

	source(l.a, 4096, 0, 15, &buf);
	fill_waiting(buf, f.region, until);
	/* The CQ ring has room for 2 * DEPTH; io_uring keeps the rest. */
	put_waiting(&ring, l.a, l.ca);
	CHECK_EQ(conn_query(l.a, l.ca).counters.submitted, ARRAY_SIZE(waiting));
	end(&l);
	for (i = 0; i < ARRAY_SIZE(waiting); i++) {
		struct outcome outcome = NEXT_CQE(&ring);
		__u64 which = outcome.user_data;

		/* Thrice the same numbers. */
		CHECK(which < DEPTH);
		while (which < ARRAY_SIZE(seen) && seen[which])
			which += DEPTH;
		CHECK(which < ARRAY_SIZE(seen));
		seen[which] = true;
		if (outcome.res < 0) {
			/* siw may learn of the lost stream by its own sending (EIO). */
			if (!(on_siw() && code == ECONNRESET && outcome.res == -EIO))
				CHECK_ERR(outcome.res, code);
			failed++;
		} else {
			CHECK_EQ(outcome.res, until);
		}
	}
	CHECK(no_cqe(&ring));
	if (asks())
		CHECK_EQ(failed, ARRAY_SIZE(waiting));
	/* There are credits for DEPTH of them, and not for all. */
	CHECK(failed >= DEPTH);
	CHECK_EQ(conn_query(l.a, l.ca).counters.finished, ARRAY_SIZE(waiting));
	CHECK_EQ(conn_query(l.a, l.ca).counters.failed, failed);
	CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	link_close(&l);
}

static void end_by_abort(struct link *l)
{
	CHECK_OK(kverbs_abort(l->a, l->ca));
}

static void end_by_peer(struct link *l)
{
	CHECK_OK(kverbs_abort(l->b, l->cb));
	NEXT_EVENT(l->a, KVERBS_EVENT_CONN, l->ca);
}

static void aborted(void)
{
	end_with_items(end_by_abort, ECANCELED);
}

static void peer_gone(void)
{
	end_with_items(end_by_peer, ECONNRESET);
}

/* Large writes under way when the connection ends: each has its CQE, once. */
static void aborted_under_way(void)
{
	__u32 rounds = amount(10, 5, 3), round, i, buf, failed = 0;
	static struct kverbs_item items[DEPTH];

	for (round = 0; round < rounds; round++) {
		struct io_uring ring = ring_up();
		struct link l = link_up();
		struct field f = field_of(&l, MIB, 0);
		bool seen[DEPTH] = { 0 };

		source(l.a, MIB, 0, 16, &buf);
		for (i = 0; i < DEPTH; i++)
			items[i] = item(buf, 0, f.region, 0, MIB, KVERBS_COMPLETED);
		put_all(&ring, l.a, l.ca, items, DEPTH);
		for (i = 0; i < round; i++)
			sleep_briefly();
		CHECK_OK(kverbs_abort(l.a, l.ca));
		for (i = 0; i < DEPTH; i++) {
			struct outcome outcome = NEXT_CQE(&ring);

			CHECK(outcome.user_data < DEPTH && !seen[outcome.user_data]);
			seen[outcome.user_data] = true;
			CHECK(outcome.res == KVERBS_COMPLETED || outcome.res == -ECANCELED);
			failed += outcome.res < 0;
		}
		CHECK(no_cqe(&ring));
		link_close(&l);
	}
	/* With interrupts of 6.1's rxe, all may be over when they have been put. */
	note("%u of %u failed", failed, rounds * DEPTH);
	CHECK(failed || slow());
}

/*
 * A ring is closed while its items wait for the peer's program and for credits: all
 * of them end, though the target never looks, and the connection lives.
 */
static void ring_closed(void)
{
	struct io_uring ring, other;
	struct kverbs_counters c;
	struct kverbs_item it;
	struct field f, g;
	struct link l;
	__u32 buf;
	__u8 *mem;

	needs_later_moments();
	ring = ring_up();
	other = ring_up();
	l = link_up();
	f = field_of(&l, 8192, 0);
	g = field_of(&l, 4096, 0);
	mem = source(l.a, 8192, 0, 17, &buf);
	fill_waiting(buf, f.region, KVERBS_CONSUMED);
	put_waiting(&ring, l.a, l.ca);
	io_uring_queue_exit(&ring);
	ALL_FINISHED(l.a, l.ca, ARRAY_SIZE(waiting));
	c = conn_query(l.a, l.ca).counters;
	CHECK(c.failed >= DEPTH);
	CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	it = item(buf, 5, g.region, 7, 999, KVERBS_DELIVERED);
	CHECK_EQ(run_item(&other, l.a, l.ca, &it), KVERBS_DELIVERED);
	field_expect(&g, 7, mem + 5, 999);
	FIELD_CHECK(&g);
	CHECK_EQ(conn_query(l.a, l.ca).state, KVERBS_STATE_UP);
	link_close(&l);
}

/*
 * A ring is closed while large writes are on the device: what of a write has begun
 * is finished, and nothing else changes.
 */
static void ring_closed_under_way(void)
{
	struct kverbs_conn_attr attr = { .wr_ceiling = 32 * KIB, .depth = 4 };
	__u32 rounds = amount(10, 5, 3), round, i, buf, failed = 0;
	static struct kverbs_item items[DEPTH];
	static struct io_uring rings[10];
	static struct field fields[10];
	static struct link links[10];
	struct io_uring other;

	needs_later_moments();
	other = ring_up();
	for (round = 0; round < rounds; round++) {
		rings[round] = ring_up();
		links[round] = link_with(&attr);
		fields[round] = field_of(&links[round], MIB, 0);
	}
	for (round = 0; round < rounds; round++) {
		struct io_uring ring = rings[round];
		struct field f = fields[round];
		struct link l = links[round];
		__u8 *mem = source(l.a, MIB, 0, 18, &buf);

		for (i = 0; i < DEPTH; i++)
			items[i] = item(buf, 0, f.region, 0, MIB, KVERBS_DELIVERED);
		put_all(&ring, l.a, l.ca, items, DEPTH);
		for (i = 0; i < round; i++)
			sleep_briefly();
		io_uring_queue_exit(&ring);
		ALL_FINISHED(l.a, l.ca, DEPTH);
		failed += conn_query(l.a, l.ca).counters.failed;
		CHECK_EQ(run_item(&other, l.a, l.ca, &items[0]), KVERBS_DELIVERED);
		field_expect(&f, 0, mem, MIB);
		FIELD_CHECK(&f);
		link_close(&l);
	}
	note("%u of %u failed", failed, rounds * DEPTH);
	CHECK(failed);
}

/* The descriptor goes, the items stay, and what they wait for still comes. */
static void file_closed(void)
{
	struct io_uring ring;
	struct kverbs_event event;
	struct kverbs_item items[8];
	bool seen[8] = { 0 };
	struct outcome outcome;
	struct field f;
	struct link l;
	__u32 buf, i;
	__u8 *mem;

	needs_later_moments();
	ring = ring_up();
	l = link_up();
	f = field_of(&l, 4096, 0);
	mem = source(l.a, 4096, 0, 19, &buf);
	for (i = 0; i < 8; i++)
		items[i] = item(buf, i, f.region, i * 100, 50, KVERBS_CONSUMED);
	put_all(&ring, l.a, l.ca, items, 8);
	close(l.a);
	for (i = 0; i < 8; i++) {
		event = NEXT_EVENT(l.b, KVERBS_EVENT_NOTIFY, l.cb);
		field_expect(&f, i * 100, mem + i, 50);
	}
	FIELD_CHECK(&f);
	CHECK_EQ(conn_query(l.b, l.cb).state, KVERBS_STATE_UP);
	CHECK(no_cqe(&ring));
	CHECK_OK(kverbs_ack(l.b, l.cb, event.seq, 0));
	for (i = 0; i < 8; i++) {
		outcome = NEXT_CQE(&ring);
		CHECK_EQ(outcome.res, KVERBS_CONSUMED);
		CHECK(outcome.user_data < 8 && !seen[outcome.user_data]);
		seen[outcome.user_data] = true;
	}
	/* With the last item the file goes, and with it the connection. */
	CHECK_OK(io_uring_get_events(&ring));
	NEXT_EVENT(l.b, KVERBS_EVENT_CONN, l.cb);
	close(l.b);
}

/* An initiator in a process of its own, that leaves its items behind. */
static void leave_items(__u16 port, __u32 until, const struct manner *m, bool by_exec)
{
	/* On 6.1 a program waits so long for what is kept from the device. */
	struct kverbs_conn_attr attr = { .no_progress_ms = 3000 };
	char *args[2] = { "true" };
	struct io_uring ring = ring_like(m);
	struct kverbs_connect cmd;
	__u32 buf, region;
	int fd = context();

	connect_fill(&cmd, port, &attr);
	CHECK_OK(kverbs_connect(fd, &cmd));
	source(fd, 8192, 0, 20, &buf);
	region = NEXT_EVENT(fd, KVERBS_EVENT_REGION, cmd.conn_id).region_id;
	fill_waiting(buf, region, until);
	put_waiting(&ring, fd, cmd.conn_id);
	while (conn_query(fd, cmd.conn_id).counters.submitted < ARRAY_SIZE(waiting))
		sleep_briefly();
	if (by_exec) {
		execv("/bin/true", args);
		execv("/bin/busybox", args);
		_exit(1);
	}
	kill(getpid(), SIGKILL);
}

/*
 * A program goes while its items wait for ours, which never looks: the file goes
 * too, and the connection ends.
 */
static void program_gone(__u32 until, const struct manner *m, bool by_exec)
{
	struct kverbs_accept accept = { .timeout_ms = patience_ms() };
	struct kverbs_region_expose cmd = { .length = 8192, .rights = KVERBS_RIGHT_WRITE };
	int fd = context(), status;
	__u16 port;
	pid_t pid;

	note("until %s, %s, by %s", kverbs_moment_name(until), m->name,
	     by_exec ? "exec" : "SIGKILL");
	accept.listener_id = listen_at(fd, NULL, &port);
	pid = fork();
	if (!pid) {
		close(fd);
		leave_items(port, until, m, by_exec);
	}
	CHECK_SYS(pid);
	CHECK_OK(kverbs_accept(fd, &accept));
	cmd.target_id = accept.conn_id;
	cmd.buf_id = registered(fd, memory(8192), 8192, KVERBS_BUF_WRITABLE);
	CHECK_OK(kverbs_region_expose(fd, &cmd));
	CHECK(reaped(pid, &status, patience_ms() / 1000));
	if (by_exec)
		CHECK_EQ(status, 0);
	else
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	DEAD(fd, accept.conn_id);
	close(fd);
}

static void program_ends(void)
{
	__u32 i;

	skip_without_rings();
	for (i = 0; i < ARRAY_SIZE(manners); i++) {
		program_gone(KVERBS_COMPLETED, &manners[i], false);
		if (asks())
			program_gone(KVERBS_CONSUMED, &manners[i], false);
	}
}

static void program_replaced(void)
{
	__u32 i;

	skip_without_rings();
	for (i = 0; i < ARRAY_SIZE(manners); i++) {
		program_gone(KVERBS_COMPLETED, &manners[i], true);
		if (asks())
			program_gone(KVERBS_CONSUMED, &manners[i], true);
	}
}

static const struct test tests[] = {
	{ "feature", feature },
	{ "write", write_each_size },
	{ "moments", moments },
	{ "moments_refused", moments_refused },
	{ "time_out", time_out },
	{ "read", read_back },
	{ "send", message },
	{ "imm_and_atomic", imm_and_atomic },
	{ "many", many },
	{ "in_order", in_order },
	{ "linked", linked },
	{ "bad_items", bad_items },
	{ "bad_commands", bad_commands },
	{ "pending_is_bounded", pending_is_bounded },
	{ "direct", direct },
	{ "contexts", contexts },
	{ "not_connected", not_connected },
	{ "kept_from_device", kept_from_device },
	{ "aborted", aborted },
	{ "peer_gone", peer_gone },
	{ "aborted_under_way", aborted_under_way },
	{ "ring_closed", ring_closed },
	{ "ring_closed_under_way", ring_closed_under_way },
	{ "file_closed", file_closed },
	{ "program_ends", program_ends },
	{ "program_replaced", program_replaced },
};

int main(int argc, char **argv)
{
	return tests_main(tests, ARRAY_SIZE(tests), argc, argv);
}
