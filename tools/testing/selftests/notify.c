// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write with notify, and the events it leads to: what the target's program is
 * told, what it acknowledges, and that a slow program slows its writers and
 * loses nothing.
 */
#include "link.h"

static struct kverbs_item notifying(__u32 buf, __u32 region, __u64 to, __u64 length, __u32 until)
{
	struct kverbs_item it = item(buf, 0, region, to, length, until);

	it.flags = KVERBS_ITEM_NOTIFY;
	return it;
}

static void told(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 64 * KIB, 1), g = field_of(&l, 4096, 0);
	struct kverbs_event event;
	struct kverbs_item it;
	__u32 buf, i;
	__u8 *mem;

	mem = source(l.a, 64 * KIB, 0, 1, &buf);
	for (i = 1; i <= 10; i++) {
		it = notifying(buf, f.region, i * 1000, i * 100, KVERBS_DELIVERED);
		it.tag = ~0ULL - i;
		SUBMIT(&l, &it);
		event = NEXT_EVENT(l.b, KVERBS_EVENT_NOTIFY, 0);
		/* The data is there when the program is told. */
		field_expect(&f, i * 1000, mem, i * 100);
		FIELD_CHECK(&f);
		CHECK_EQ(event.id, l.cb);
		CHECK_EQ(event.region_id, f.own);
		CHECK_EQ(event.offset, i * 1000);
		CHECK_EQ(event.length, i * 100);
		CHECK_EQ(event.tag, ~0ULL - i);
		CHECK_EQ(event.seq, i);
		CHECK(event.stamps[KVERBS_POSTED]);
		NEXT_FINAL(l.a);
	}
	it = notifying(buf, g.region, 0, 4096, KVERBS_COMPLETED);
	SUBMIT(&l, &it);
	event = NEXT_EVENT(l.b, KVERBS_EVENT_NOTIFY, 0);
	CHECK_EQ(event.region_id, g.own);
	CHECK_EQ(conn_query(l.b, l.cb).counters.notified, 11);
	link_close(&l);
}

/* Without the flag nobody is woken, whatever moment is asked for. */
static void not_told(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_item it;
	__u32 buf;

	source(l.a, 4096, 0, 2, &buf);
	PUT(&l, buf, 0, f.region, 0, 4096);
	it = item(buf, 0, f.region, 0, 100, KVERBS_COMPLETED);
	SUBMIT(&l, &it);
	NEXT_FINAL(l.a);
	PUT(&l, buf, 0, f.region, 0, 4096);
	CHECK(no_event(l.b, KVERBS_EVENT_NOTIFY, 0));
	link_close(&l);
}

/* One acknowledgement covers all before it; only the flag says persisted. */
static void acknowledged(void)
{
	static const __u32 until[] = {
		KVERBS_CONSUMED, KVERBS_PERSISTED, KVERBS_CONSUMED, KVERBS_CONSUMED,
	};
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_event event;
	struct kverbs_item it;
	__u64 seq[4];
	__u32 buf, i;

	source(l.a, 4096, 0, 3, &buf);
	for (i = 0; i < 4; i++) {
		it = notifying(buf, f.region, 0, 100, until[i]);
		it.user_data = i;
		SUBMIT(&l, &it);
		seq[i] = NEXT_EVENT(l.b, KVERBS_EVENT_NOTIFY, l.cb).seq;
	}
	CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	CHECK_OK(kverbs_ack(l.b, l.cb, seq[2], 0));
	CHECK_EQ(NEXT_FINAL(l.a).user_data, 0);
	CHECK_EQ(NEXT_FINAL(l.a).user_data, 2);
	/* Once more, and backwards, is no error and changes nothing. */
	CHECK_OK(kverbs_ack(l.b, l.cb, seq[2], 0));
	CHECK_OK(kverbs_ack(l.b, l.cb, seq[0], 0));
	CHECK_OK(kverbs_ack(l.b, l.cb, seq[1], KVERBS_ACK_PERSISTED));
	event = NEXT_FINAL(l.a);
	CHECK_EQ(event.user_data, 1);
	CHECK_EQ(event.reached, KVERBS_PERSISTED);
	CHECK_OK(kverbs_ack(l.b, l.cb, seq[3], KVERBS_ACK_PERSISTED));
	event = NEXT_FINAL(l.a);
	CHECK_EQ(event.user_data, 3);
	CHECK_EQ(event.reached, KVERBS_CONSUMED);
	CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	link_close(&l);
}

/* Only what the program has taken can be acknowledged. */
static void bad_acknowledgements(void)
{
	static const __u64 never[] = { 0, 2, 1ULL << 32, 1ULL << 63, ~0ULL };
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_event event;
	struct kverbs_item it;
	__u32 buf, i;

	source(l.a, 4096, 0, 4, &buf);
	CHECK_ERR(kverbs_ack(l.b, l.cb, 1, 0), ERANGE);
	it = notifying(buf, f.region, 0, 100, KVERBS_DELIVERED);
	SUBMIT(&l, &it);
	NEXT_FINAL(l.a);
	/* It has arrived, and nobody has looked. */
	CHECK_ERR(kverbs_ack(l.b, l.cb, 1, 0), ERANGE);
	event = NEXT_EVENT(l.b, KVERBS_EVENT_NOTIFY, 0);
	CHECK_EQ(event.seq, 1);
	for (i = 0; i < ARRAY_SIZE(never); i++)
		CHECK_ERR(kverbs_ack(l.b, l.cb, never[i], 0), ERANGE);
	CHECK_ERR(kverbs_ack(l.a, l.ca, 1, 0), ERANGE);
	CHECK_OK(kverbs_ack(l.b, l.cb, 1, 0));
	CHECK_EQ(conn_query(l.b, l.cb).state, KVERBS_STATE_UP);
	link_close(&l);
}

/* A time-out after COMPLETED ends the item, not the connection. */
static void timed_out(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_event event;
	struct kverbs_item it;
	__u32 buf;
	__u64 seq;

	source(l.a, 4096, 0, 5, &buf);
	it = notifying(buf, f.region, 0, 100, KVERBS_CONSUMED);
	it.timeout_ms = 300;
	it.user_data = 1;
	SUBMIT(&l, &it);
	seq = NEXT_EVENT(l.b, KVERBS_EVENT_NOTIFY, 0).seq;
	event = NEXT_EVENT(l.a, KVERBS_EVENT_FINAL, 0);
	CHECK_EQ(event.user_data, 1);
	CHECK_EQ(event.status, ETIMEDOUT);
	CHECK_EQ(event.asked, KVERBS_CONSUMED);
	CHECK(event.reached == KVERBS_COMPLETED || event.reached == KVERBS_DELIVERED);
	CHECK_EQ(event.stamps[KVERBS_CONSUMED], 0);

	/* The late acknowledgement belongs to nobody. */
	CHECK_OK(kverbs_ack(l.b, l.cb, seq, 0));
	it.timeout_ms = 0;
	it.user_data = 2;
	SUBMIT(&l, &it);
	seq = NEXT_EVENT(l.b, KVERBS_EVENT_NOTIFY, 0).seq;
	CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	CHECK_OK(kverbs_ack(l.b, l.cb, seq, 0));
	CHECK_EQ(NEXT_FINAL(l.a).user_data, 2);
	/* A time-out that is not needed does no harm. */
	it.until = KVERBS_COMPLETED;
	it.timeout_ms = 1;
	SUBMIT(&l, &it);
	NEXT_FINAL(l.a);
	CHECK_EQ(conn_query(l.a, l.ca).state, KVERBS_STATE_UP);
	link_close(&l);
}

/*
 * More notifies than there are data credits, and a target that does not look:
 * the writer stalls, control messages pass, and then everything comes in order.
 */
static void slow_program(void)
{
	enum { NR = 400 };
	static struct kverbs_item items[NR];
	struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	struct link l = link_up();
	struct field f = field_of(&l, NR * 8, 0), g;
	struct kverbs_conn_query query;
	struct kverbs_event event;
	__u32 buf, i;
	__u8 *mem;

	mem = source(l.a, NR * 8, 0, 6, &buf);
	for (i = 0; i < NR; i++) {
		items[i] = notifying(buf, f.region, i * 8, 8, KVERBS_DELIVERED);
		items[i].buf_offset = i * 8;
		items[i].user_data = i;
		items[i].tag = i * 3;
	}
	CHECK_EQ(CHECK_OK(kverbs_submit(l.a, l.ca, items, NR)), NR);
	for (i = 0; conn_query(l.a, l.ca).data_credits; i++) {
		CHECK(i < (__u32)patience_ms() / 20);
		nanosleep(&pause, NULL);
	}
	/* Advertisements pass; by then everything that could has been sent. */
	g = field_of(&l, 4096, 0);
	CHECK(g.region);
	query = conn_query(l.a, l.ca);
	CHECK_EQ(query.data_credits, 0);
	CHECK(query.counters.credit_stalls);
	CHECK(query.counters.finished < NR);
	CHECK_EQ(query.state, KVERBS_STATE_UP);
	note("%llu of %u while nobody looked", query.counters.finished, NR);

	for (i = 0; i < NR; i++) {
		event = NEXT_EVENT(l.b, KVERBS_EVENT_NOTIFY, l.cb);
		CHECK_EQ(event.seq, i + 1);
		CHECK_EQ(event.offset, i * 8);
		CHECK_EQ(event.tag, i * 3);
	}
	for (i = 0; i < NR; i++)
		CHECK_EQ(NEXT_FINAL(l.a).user_data, i);
	field_expect(&f, 0, mem, NR * 8);
	FIELD_CHECK(&f);
	CHECK_EQ(conn_query(l.b, l.cb).counters.notified, NR);
	link_close(&l);
}

/* Both ends notify each other at once, without looking until late. */
static void both_ways(void)
{
	enum { NR = 300 };
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_region_expose back = { .target_id = l.ca, .length = 4096,
					     .rights = KVERBS_RIGHT_WRITE };
	struct kverbs_item it;
	__u32 from_a, from_b, region, i;

	back.buf_id = registered(l.a, memory(4096), 4096, KVERBS_BUF_WRITABLE);
	CHECK_OK(kverbs_region_expose(l.a, &back));
	region = NEXT_EVENT(l.b, KVERBS_EVENT_REGION, l.cb).region_id;
	source(l.a, 4096, 0, 7, &from_a);
	source(l.b, 4096, 0, 8, &from_b);
	for (i = 0; i < NR; i++) {
		it = notifying(from_a, f.region, 0, 10, KVERBS_DELIVERED);
		CHECK_EQ(kverbs_submit(l.a, l.ca, &it, 1), 1);
		it = notifying(from_b, region, 0, 10, KVERBS_DELIVERED);
		CHECK_EQ(kverbs_submit(l.b, l.cb, &it, 1), 1);
	}
	for (i = 1; i <= NR; i++) {
		CHECK_EQ(NEXT_EVENT(l.b, KVERBS_EVENT_NOTIFY, 0).seq, i);
		CHECK_EQ(NEXT_EVENT(l.a, KVERBS_EVENT_NOTIFY, 0).seq, i);
	}
	for (i = 0; i < NR; i++) {
		NEXT_FINAL(l.a);
		NEXT_FINAL(l.b);
	}
	link_close(&l);
}

static bool readable(int fd, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	CHECK_SYS(poll(&pfd, 1, timeout_ms));
	CHECK(!(pfd.revents & ~POLLIN));
	return pfd.revents & POLLIN;
}

static void polled(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_event event;
	struct kverbs_item it;
	__u32 buf;

	source(l.a, 4096, 0, 9, &buf);
	while (kverbs_wait(l.b, &event, 1, 0, KVERBS_NONBLOCK) == 1)
		;
	CHECK(!readable(l.a, 0));
	CHECK(!readable(l.b, 0));
	it = notifying(buf, f.region, 0, 100, KVERBS_CONSUMED);
	SUBMIT(&l, &it);
	CHECK(readable(l.b, patience_ms()));
	CHECK(readable(l.b, 0));
	CHECK(!readable(l.a, 0));
	event = NEXT_EVENT(l.b, KVERBS_EVENT_NOTIFY, 0);
	CHECK(!readable(l.b, 0));
	CHECK_OK(kverbs_ack(l.b, l.cb, event.seq, 0));
	CHECK(readable(l.a, patience_ms()));
	NEXT_FINAL(l.a);
	CHECK(!readable(l.a, 0));
	link_close(&l);
}

static void waiting(void)
{
	struct kverbs_event events[2];
	int fd = context();

	CHECK_ERR(kverbs_wait(fd, events, 0, 1, 0), EINVAL);
	CHECK_ERR(kverbs_wait(fd, events, 4097, 1, 0), EINVAL);
	CHECK_ERR(kverbs_wait(fd, events, ~0u, 1, 0), EINVAL);
	CHECK_ERR(kverbs_wait(fd, events, 2, 0, KVERBS_NONBLOCK), EAGAIN);
	CHECK_ERR(kverbs_wait(fd, events, 2, 20, 0), ETIMEDOUT);
}

/* Two threads on one context: each event goes to one of them. */
enum { SHARED = 400 };

static struct {
	int fd;
	int taken[SHARED];
	int all;
} shared;

static void *taker(void *arg)
{
	struct kverbs_event events[3];
	int nr, i;

	(void)arg;
	while (__atomic_load_n(&shared.all, __ATOMIC_RELAXED) < SHARED) {
		nr = kverbs_wait(shared.fd, events, 3, 100, 0);
		CHECK(nr > 0 || nr == -ETIMEDOUT);
		for (i = 0; i < nr; i++) {
			if (events[i].kind != KVERBS_EVENT_FINAL)
				continue;
			CHECK_EQ(events[i].status, 0);
			CHECK(events[i].user_data < SHARED);
			__atomic_fetch_add(&shared.taken[events[i].user_data], 1,
					   __ATOMIC_RELAXED);
			__atomic_fetch_add(&shared.all, 1, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

static void two_waiters(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	pthread_t threads[2];
	struct kverbs_item it;
	__u32 buf, i;

	source(l.a, 4096, 0, 10, &buf);
	shared.fd = l.a;
	for (i = 0; i < 2; i++)
		CHECK(!pthread_create(&threads[i], NULL, taker, NULL));
	for (i = 0; i < SHARED; i++) {
		it = item(buf, 0, f.region, 0, 10, KVERBS_COMPLETED);
		it.user_data = i;
		SUBMIT(&l, &it);
	}
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < SHARED; i++)
		CHECK_EQ(shared.taken[i], 1);
	link_close(&l);
}

/* Events that cannot be handed over stay. */
static void wait_into_bad_memory(void)
{
	struct kverbs_wait cmd = { .size = sizeof(cmd), .take.nr = 2,
				   .take.timeout_ms = patience_ms() };
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_event *events, event;
	struct kverbs_wait *fixed;
	struct kverbs_item it;
	__u8 *mem = memory(12288);
	__u32 buf, i;

	source(l.a, 4096, 0, 11, &buf);
	for (i = 0; i < 4; i++) {
		it = item(buf, 0, f.region, 0, 10, KVERBS_DELIVERED);
		it.user_data = i;
		SUBMIT(&l, &it);
	}
	CHECK_ERR(kverbs_wait(l.a, NULL, 1, patience_ms(), 0), EFAULT);
	CHECK_ERR(kverbs_wait(l.a, (void *)0xffff888000000000UL, 1, patience_ms(), 0), EFAULT);
	/* The second does not fit into what is mapped. */
	CHECK_SYS(mprotect(mem + 4096, 4096, PROT_NONE));
	events = (void *)(mem + 4096 - sizeof(event) - 16);
	CHECK_EQ(kverbs_wait(l.a, events, 1, patience_ms(), 0), 1);
	CHECK_EQ(events->user_data, 0);
	CHECK_EQ(NEXT_FINAL(l.a).user_data, 1);
	CHECK_EQ(kverbs_wait(l.a, events, 2, patience_ms(), 0), 1);
	CHECK_EQ(events->user_data, 2);

	/* The count cannot be written. */
	cmd.take.events = (uintptr_t)mem;
	fixed = (void *)(mem + 8192);
	*fixed = cmd;
	CHECK_SYS(mprotect(fixed, 4096, PROT_READ));
	CHECK_ERR(kverbs_ioctl(l.a, KVERBS_WAIT, fixed), EFAULT);
	CHECK_EQ(NEXT_FINAL(l.a).user_data, 3);
	CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	link_close(&l);
}

/*
 * As many unfinished or untaken items as QUERY promises, of all connections of a
 * context together. The target does not look, so few of them are ever sent.
 */
static void pending_is_bounded(void)
{
	enum { BATCH = 4096 };
	static struct kverbs_item items[BATCH];
	static struct kverbs_event events[BATCH];
	struct kverbs_query limits = { 0 };
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0), g;
	struct kverbs_item it;
	__u32 other_a, other_b, buf, i, nr, sum, taken = 0;

	CHECK_OK(kverbs_query(l.a, &limits));
	connect_again(&l, NULL, &other_a, &other_b);
	g = field_on(&l, other_a, other_b, 4096, 0);
	source(l.a, 4096, 0, 12, &buf);
	for (i = 0; i < BATCH; i++)
		items[i] = notifying(buf, f.region, 0, 1, KVERBS_DELIVERED);
	for (sum = 0; sum < limits.max_pending; sum += nr)
		nr = CHECK_OK(kverbs_submit(l.a, l.ca, items, BATCH));
	CHECK_EQ(sum, limits.max_pending);
	CHECK_ERR(kverbs_submit(l.a, l.ca, items, 1), EAGAIN);
	it = item(buf, 0, g.region, 0, 1, KVERBS_COMPLETED);
	CHECK_ERR(kverbs_submit(l.a, other_a, &it, 1), EAGAIN);

	/* All of them end; what still counts is that nobody has taken them. */
	CHECK_OK(kverbs_abort(l.a, l.ca));
	CHECK_ERR(kverbs_submit(l.a, other_a, &it, 1), EAGAIN);
	while (taken < sum) {
		nr = CHECK_OK(kverbs_wait(l.a, events, BATCH, patience_ms(), 0));
		for (i = 0; i < nr; i++)
			taken += events[i].kind == KVERBS_EVENT_FINAL;
	}
	CHECK_EQ(kverbs_submit(l.a, other_a, &it, 1), 1);
	NEXT_FINAL(l.a);
	CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	link_close(&l);
}

static const struct test tests[] = {
	{ "told", told },
	{ "not_told", not_told },
	{ "acknowledged", acknowledged },
	{ "bad_acknowledgements", bad_acknowledgements },
	{ "timed_out", timed_out },
	{ "slow_program", slow_program },
	{ "both_ways", both_ways },
	{ "polled", polled },
	{ "waiting", waiting },
	{ "two_waiters", two_waiters },
	{ "wait_into_bad_memory", wait_into_bad_memory },
	{ "pending_is_bounded", pending_is_bounded },
};

int main(int argc, char **argv)
{
	return tests_main(tests, ARRAY_SIZE(tests), argc, argv);
}
