// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many items in one call: thousands of scattered blocks with one event for all of
 * them or one each, what is refused of a batch and what fails in it, events taken
 * by the call that submits, and many threads and connections on one queue of
 * events.
 */
#include "link.h"

#include <sys/time.h>

enum { MOST = 4096 };

static struct kverbs_item items[MOST];
static struct kverbs_event events[MOST];

static struct kverbs_submit batch_of(__u32 conn, __u32 nr, __u64 user_data)
{
	struct kverbs_submit cmd = submission(conn, items, nr, KVERBS_SUBMIT_BATCH);

	cmd.user_data = user_data;
	return cmd;
}

static void submit_batch(struct link *l, __u32 nr, __u64 user_data)
{
	struct kverbs_submit cmd = batch_of(l->ca, nr, user_data);

	CHECK_OK(kverbs_ioctl(l->a, KVERBS_SUBMIT, &cmd));
	CHECK_EQ(cmd.accepted, nr);
	CHECK_EQ(cmd.error, 0);
}

/* A batch that went well. Its stamps run up to what all of it has reached. */
static void batch_check(const struct kverbs_event *event, __u32 conn, __u32 nr, __u64 length,
			__u64 user_data, __u32 reached)
{
	__u32 i;

	CHECK_EQ(event->kind, KVERBS_EVENT_BATCH);
	CHECK_EQ(event->id, conn);
	CHECK_EQ(event->status, 0);
	CHECK_EQ(event->nr, nr);
	CHECK_EQ(event->nr_failed, 0);
	CHECK_EQ(event->length, length);
	CHECK_EQ(event->user_data, user_data);
	CHECK_EQ(event->reached, reached);
	CHECK(event->stamps[KVERBS_POSTED]);
	for (i = 1; i <= reached; i++)
		CHECK(event->stamps[i] >= event->stamps[i - 1]);
}

/* struct scatter - blocks from anywhere in a source to places of their own */
struct scatter {
	struct link l;
	struct field f;
	__u8 *mem;
	__u32 buf;
	__u64 length;		/* of all blocks */
};

/* Give each of the items a place in the region, in no order. */
static __u64 scatter_places(__u64 *state, __u32 nr, __u64 unit)
{
	__u64 at = 0, length;
	__u32 i, other;

	for (i = 0; i < nr; i++) {
		items[i].region_offset = at;
		items[i].length = unit + chance(state, 15 * unit + 1);
		at += items[i].length + chance(state, 100);
	}
	for (i = nr - 1; i; i--) {
		other = chance(state, i + 1);
		length = items[i].length;
		items[i].length = items[other].length;
		items[other].length = length;
		length = items[i].region_offset;
		items[i].region_offset = items[other].region_offset;
		items[other].region_offset = length;
	}
	return at;
}

static void scatter_up(struct scatter *s, const struct kverbs_conn_attr *attr, __u32 nr,
		       __u32 until)
{
	const __u64 unit = amount(2048, 512, 256), all = 4 * MIB;
	__u64 state = chance_state(chance_seed(), 0), from, extent;
	__u32 i;

	extent = scatter_places(&state, nr, unit);
	s->l = link_with(attr);
	s->f = field_of(&s->l, extent, 77);
	s->mem = source(s->l.a, all, 33, 1, &s->buf);
	s->length = 0;
	for (i = 0; i < nr; i++) {
		from = chance(&state, all - items[i].length + 1);
		items[i] = item(s->buf, from, s->f.region, items[i].region_offset,
				items[i].length, until);
		items[i].user_data = i;
		field_expect(&s->f, items[i].region_offset, s->mem + from, items[i].length);
		s->length += items[i].length;
	}
	note("%u blocks, %llu KiB", nr, s->length / KIB);
}

/* A final event that may take long, as long as there is progress. */
static struct kverbs_event patient_event(struct link *l)
{
	struct kverbs_event event;
	__u64 before, now = 0;
	int ret;

	do {
		before = now;
		ret = kverbs_wait(l->a, &event, 1, patience_ms(), 0);
		now = conn_query(l->a, l->ca).counters.wrs;
	} while (ret == -ETIMEDOUT && now > before);
	CHECK_OK(ret);
	return event;
}

static void scattered_with(const struct kverbs_conn_attr *attr, __u32 nr)
{
	struct kverbs_event event;
	struct scatter s;

	scatter_up(&s, attr, nr, KVERBS_DELIVERED);
	submit_batch(&s.l, nr, 0xfeedULL << 40);
	event = patient_event(&s.l);
	batch_check(&event, s.l.ca, nr, s.length, 0xfeedULL << 40, KVERBS_DELIVERED);
	FIELD_CHECK(&s.f);
	CHECK_ERR(kverbs_wait(s.l.a, &event, 1, 0, KVERBS_NONBLOCK), EAGAIN);
	CHECK_EQ(conn_query(s.l.a, s.l.ca).counters.submitted, nr);
	CHECK_EQ(conn_query(s.l.a, s.l.ca).counters.finished, nr);
	CHECK_EQ(conn_query(s.l.a, s.l.ca).counters.failed, 0);
	CHECK_EQ(conn_query(s.l.a, s.l.ca).counters.bytes, s.length);
	link_close(&s.l);
}

static void scattered(void)
{
	scattered_with(NULL, MOST);
}

static void scattered_in_pieces(void)
{
	struct kverbs_conn_attr attr = { .depth = 32, .wr_ceiling = 4000,
					 .poll = KVERBS_POLL_WORKQUEUE };

	scattered_with(&attr, slow() ? amount(MOST, MOST / 4, MOST / 16) : MOST);
}

/* All that one call takes, or less where each takes its time. */
static __u32 many_items(void)
{
	return slow() ? amount(MOST, MOST / 4, MOST / 8) : MOST;
}

/* The same without the flag: one event each, in order. */
static void one_event_each(void)
{
	const __u32 all = many_items();
	__u32 i, nr, done = 0;
	struct scatter s;

	scatter_up(&s, NULL, all, KVERBS_COMPLETED);
	CHECK_EQ(CHECK_OK(kverbs_submit(s.l.a, s.l.ca, items, all)), all);
	while (done < all) {
		nr = CHECK_OK(kverbs_wait(s.l.a, events, MOST, patience_ms(), 0));
		for (i = 0; i < nr; i++, done++) {
			CHECK_EQ(events[i].kind, KVERBS_EVENT_FINAL);
			CHECK_EQ(events[i].status, 0);
			CHECK_EQ(events[i].user_data, done);
			CHECK_EQ(events[i].length, items[done].length);
		}
	}
	CHECK(no_event(s.l.a, KVERBS_EVENT_BATCH, 0));
	/* On iWARP COMPLETED is not placed: what follows shows that it is. */
	PUT(&s.l, s.buf, items[0].buf_offset, s.f.region, items[0].region_offset, 1);
	FIELD_CHECK(&s.f);
	link_close(&s.l);
}

/* Small writes: few doorbells for many of them. */
static void few_posts(void)
{
	const __u32 all = many_items();
	struct link l = link_up();
	struct field f = field_of(&l, all * 64, 0);
	struct kverbs_conn_query query;
	struct kverbs_event event;
	__u32 buf, i;
	__u8 *mem;

	mem = source(l.a, all * 64, 0, 2, &buf);
	for (i = 0; i < all; i++) {
		items[i] = item(buf, i * 64, f.region, (all - 1 - i) * 64, 64, KVERBS_COMPLETED);
		field_expect(&f, (all - 1 - i) * 64, mem + i * 64, 64);
	}
	submit_batch(&l, all, 1);
	event = patient_event(&l);
	batch_check(&event, l.ca, all, all * 64, 1, KVERBS_COMPLETED);
	query = conn_query(l.a, l.ca);
	note("%u items: %llu work requests in %llu posts, %llu signaled", all,
	     query.counters.wrs, query.counters.posts, query.counters.signaled);
	CHECK(query.counters.wrs >= all);
	/* Where each work request is signaled, each makes room for one. */
	CHECK(query.counters.posts <= (on_siw() ? query.counters.wrs : all / 8 + 64));
	PUT(&l, buf, 0, f.region, (all - 1) * 64, 64);
	FIELD_CHECK(&f);
	link_close(&l);
}

/* The bad item ends the batch; the event is of what was before it. */
static void prefix(void)
{
	static const __u32 bad[] = { 0, 1, 7, 99, 199 };
	enum { NR = 200 };
	struct kverbs_submit cmd;
	struct link l = link_up();
	struct field f = field_of(&l, NR * 16, 0);
	struct kverbs_event event;
	__u32 buf, i, j;
	__u8 *mem;

	mem = source(l.a, NR * 16, 0, 3, &buf);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		fill(mem, NR * 16, 30 + i);
		for (j = 0; j < NR; j++)
			items[j] = item(buf, j * 16, f.region, j * 16, 16, KVERBS_DELIVERED);
		items[bad[i]].length = NR * 16 + 1;
		cmd = batch_of(l.ca, NR, i);
		if (!bad[i]) {
			CHECK_ERR(kverbs_ioctl(l.a, KVERBS_SUBMIT, &cmd), ERANGE);
			CHECK(no_event(l.a, KVERBS_EVENT_BATCH, 0));
			CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
			continue;
		}
		CHECK_OK(kverbs_ioctl(l.a, KVERBS_SUBMIT, &cmd));
		CHECK_EQ(cmd.accepted, bad[i]);
		CHECK_EQ(cmd.error, ERANGE);
		event = NEXT_EVENT(l.a, KVERBS_EVENT_BATCH, l.ca);
		batch_check(&event, l.ca, bad[i], bad[i] * 16, i, KVERBS_DELIVERED);
		CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
		field_expect(&f, 0, mem, bad[i] * 16);
		FIELD_CHECK(&f);
	}
	link_close(&l);
}

static void refused(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_query limits = { 0 };
	struct kverbs_submit cmd, good;
	__u32 buf, bit;

	CHECK_OK(kverbs_query(l.a, &limits));
	CHECK_EQ(limits.max_batch, MOST);
	source(l.a, 4096, 0, 4, &buf);
	items[0] = item(buf, 0, f.region, 0, 64, KVERBS_DELIVERED);
	good = batch_of(l.ca, 1, 0);
	cmd = good;
	cmd.nr = 0;
	CHECK_ERR(kverbs_ioctl(l.a, KVERBS_SUBMIT, &cmd), EINVAL);
	cmd.nr = limits.max_batch + 1;
	CHECK_ERR(kverbs_ioctl(l.a, KVERBS_SUBMIT, &cmd), EINVAL);
	for (bit = 2; bit < 32; bit++) {
		cmd = good;
		cmd.flags |= 1U << bit;
		CHECK_ERR(kverbs_ioctl(l.a, KVERBS_SUBMIT, &cmd), EOPNOTSUPP);
	}
	cmd = good;
	cmd.take.events = (uintptr_t)events;
	cmd.take.nr = MOST + 1;
	CHECK_ERR(kverbs_ioctl(l.a, KVERBS_SUBMIT, &cmd), EINVAL);
	cmd.take.nr = 1;
	cmd.take.reserved = 1;
	CHECK_ERR(kverbs_ioctl(l.a, KVERBS_SUBMIT, &cmd), EINVAL);
	CHECK_EQ(conn_query(l.a, l.ca).counters.submitted, 0);
	CHECK_OK(kverbs_ioctl(l.a, KVERBS_SUBMIT, &good));
	NEXT_EVENT(l.a, KVERBS_EVENT_BATCH, l.ca);
	link_close(&l);
}

/* Different operations and moments: the batch has come as far as its last. */
static void mixed(void)
{
	enum { NR = 60 };
	struct link l = link_up();
	struct field f = field_as(&l, l.ca, l.cb, 8192, 0,
				  KVERBS_RIGHT_READ | KVERBS_RIGHT_WRITE);
	struct field here = landing(l.a, 8192, 1);
	__u8 bytes[KVERBS_MESSAGE_MAX];
	struct kverbs_event event;
	__u64 length = 0;
	__u32 buf, i;
	__u8 *mem;

	mem = source(l.a, 8192, 0, 5, &buf);
	for (i = 0; i < NR; i++) {
		switch (i % 3) {
		case 0:
			items[i] = item(buf, i, f.region, i * 100, 100, KVERBS_DELIVERED);
			field_expect(&f, i * 100, mem + i, 100);
			break;
		case 1:
			items[i] = op_item(KVERBS_OP_READ, here.buf, here.guard + i * 100,
					   f.region, (i - 1) * 100, 99);
			field_expect(&here, i * 100, mem + i - 1, 99);
			break;
		default:
			items[i] = op_item(KVERBS_OP_SEND, buf, i, 0, 0, 98);
			items[i].tag = i;
			items[i].until = KVERBS_DELIVERED;
		}
		length += items[i].length;
	}
	submit_batch(&l, NR, ~0ULL);
	event = NEXT_EVENT(l.a, KVERBS_EVENT_BATCH, l.ca);
	batch_check(&event, l.ca, NR, length, ~0ULL, KVERBS_COMPLETED);
	CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	for (i = 2; i < NR; i += 3) {
		CHECK_EQ(NEXT_MESSAGE(l.b, l.cb, bytes).tag, i);
		CHECK(!memcmp(bytes, mem + i, 98));
	}
	FIELD_CHECK(&f);
	FIELD_CHECK(&here);
	link_close(&l);
}

/* Three of a batch run into their time-outs: they are told of, then the batch. */
static void some_fail(void)
{
	enum { NR = 40 };
	static const __u32 late[] = { 3, 4, 39 };
	bool told[NR] = { false };
	struct link l = link_up();
	struct field f = field_of(&l, NR * 50, 0);
	struct kverbs_event event;
	__u32 buf, i;
	__u8 *mem;

	mem = source(l.a, NR * 50, 0, 6, &buf);
	for (i = 0; i < NR; i++) {
		items[i] = item(buf, i * 50, f.region, i * 50, 50, KVERBS_DELIVERED);
		items[i].user_data = i;
	}
	for (i = 0; i < ARRAY_SIZE(late); i++) {
		items[late[i]].flags = KVERBS_ITEM_NOTIFY;
		items[late[i]].until = KVERBS_CONSUMED;
		items[late[i]].timeout_ms = 200;
	}
	forget_events(l.a);
	submit_batch(&l, NR, 5);
	for (i = 0; i < ARRAY_SIZE(late); i++) {
		CHECK_EQ(kverbs_wait(l.a, &event, 1, patience_ms(), 0), 1);
		CHECK_EQ(event.kind, KVERBS_EVENT_FINAL);
		CHECK_EQ(event.status, ETIMEDOUT);
		CHECK(event.user_data < NR && !told[event.user_data]);
		told[event.user_data] = true;
	}
	CHECK(told[late[0]] && told[late[1]] && told[late[2]]);
	CHECK_EQ(kverbs_wait(l.a, &event, 1, patience_ms(), 0), 1);
	CHECK_EQ(event.kind, KVERBS_EVENT_BATCH);
	CHECK_EQ(event.user_data, 5);
	CHECK_EQ(event.status, ETIMEDOUT);
	CHECK_EQ(event.nr, NR);
	CHECK_EQ(event.nr_failed, ARRAY_SIZE(late));
	CHECK_EQ(event.length, (NR - ARRAY_SIZE(late)) * 50);
	CHECK(event.reached < KVERBS_CONSUMED);
	CHECK_ERR(kverbs_wait(l.a, &event, 1, 0, KVERBS_NONBLOCK), EAGAIN);
	field_expect(&f, 0, mem, NR * 50);
	FIELD_CHECK(&f);
	CHECK_EQ(conn_query(l.a, l.ca).state, KVERBS_STATE_UP);
	link_close(&l);
}

/* One of each for what failed, then the batch, then the connection. */
static void ended_early(struct link *l, __u32 nr, __u64 user_data)
{
	static bool seen[MOST];
	struct kverbs_event event;
	__u32 failed = 0;

	for (;;) {
		CHECK_EQ(kverbs_wait(l->a, &event, 1, patience_ms(), 0), 1);
		if (event.kind == KVERBS_EVENT_BATCH)
			break;
		if (event.kind == KVERBS_EVENT_REGION)
			continue;
		CHECK_EQ(event.kind, KVERBS_EVENT_FINAL);
		CHECK_EQ(event.status, ECANCELED);
		CHECK(event.placement >= KVERBS_PLACEMENT_PLACED &&
		      event.placement <= KVERBS_PLACEMENT_UNSENT);
		CHECK(event.user_data < nr && !seen[event.user_data]);
		seen[event.user_data] = true;
		failed++;
	}
	CHECK_EQ(event.user_data, user_data);
	CHECK_EQ(event.nr, nr);
	CHECK_EQ(event.nr_failed, failed);
	CHECK_EQ(event.length, (nr - failed) * 10);
	CHECK_EQ(event.status, ECANCELED);
	CHECK(failed);
	note("%u of %u failed", failed, nr);
	CHECK_EQ(kverbs_wait(l->a, &event, 1, patience_ms(), 0), 1);
	CHECK_EQ(event.kind, KVERBS_EVENT_CONN);
	CHECK_ERR(kverbs_wait(l->a, &event, 1, 0, KVERBS_NONBLOCK), EAGAIN);
	CHECK_EQ(conn_query(l->a, l->ca).counters.finished, nr);
	CHECK_EQ(conn_query(l->a, l->ca).counters.failed, failed);
}

/* The target does not look, so that most of the batch is never sent. */
static void aborted(void)
{
	const __u32 nr = amount(4096, 2000, 500);
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	__u32 buf, i;

	source(l.a, 4096, 0, 7, &buf);
	for (i = 0; i < nr; i++) {
		items[i] = item(buf, 0, f.region, i % 400 * 10, 10, KVERBS_DELIVERED);
		items[i].flags = KVERBS_ITEM_NOTIFY;
		items[i].user_data = i;
	}
	submit_batch(&l, nr, 6);
	CHECK_OK(kverbs_abort(l.a, l.ca));
	ended_early(&l, nr, 6);
	link_close(&l);
}

/* Work and its event in one call, and nothing is told twice. */
static void submit_and_wait(void)
{
	const __u32 rounds = amount(500, 500, 100);
	struct link l = link_up();
	struct field f = field_of(&l, 64 * KIB, 0);
	struct kverbs_submit cmd;
	__u32 buf, i, j;
	__u8 *mem;

	mem = source(l.a, 64 * KIB, 0, 8, &buf);
	forget_events(l.a);
	for (i = 0; i < rounds; i++) {
		items[0] = item(buf, i * 3, f.region, i * 100, 1 + i % 100, KVERBS_DELIVERED);
		items[0].user_data = i;
		field_expect(&f, i * 100, mem + i * 3, 1 + i % 100);
		cmd = submission(l.ca, items, 1, 0);
		cmd.take.events = (uintptr_t)events;
		cmd.take.nr = 8;
		cmd.take.timeout_ms = patience_ms();
		CHECK_OK(kverbs_ioctl(l.a, KVERBS_SUBMIT, &cmd));
		CHECK_EQ(cmd.accepted, 1);
		CHECK_EQ(cmd.take.nr, 1);
		CHECK_EQ(events[0].kind, KVERBS_EVENT_FINAL);
		CHECK_EQ(events[0].status, 0);
		CHECK_EQ(events[0].user_data, i);
	}
	FIELD_CHECK(&f);
	for (i = 0; i < 10; i++) {
		for (j = 0; j < 100; j++)
			items[j] = item(buf, i, f.region, j * 100, 100, KVERBS_DELIVERED);
		cmd = batch_of(l.ca, 100, i);
		cmd.take.events = (uintptr_t)events;
		cmd.take.nr = 8;
		CHECK_OK(kverbs_ioctl(l.a, KVERBS_SUBMIT, &cmd));
		CHECK_EQ(cmd.take.nr, 1);
		batch_check(&events[0], l.ca, 100, 10000, i, KVERBS_DELIVERED);
	}
	CHECK_ERR(kverbs_wait(l.a, events, 1, 0, KVERBS_NONBLOCK), EAGAIN);
	link_close(&l);
}

/* Take only what there is: sooner or later that is everything, once. */
static void submit_and_look(void)
{
	enum { NR = 1000 };
	static bool seen[NR];
	const __u32 nr = amount(NR, NR, 200);
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	__u32 buf, i, j, taken = 0, by_submit;
	struct kverbs_submit cmd;

	source(l.a, 4096, 0, 9, &buf);
	forget_events(l.a);
	for (i = 0; i < nr; i++) {
		items[0] = item(buf, 0, f.region, 0, 64, KVERBS_COMPLETED);
		items[0].user_data = i;
		cmd = submission(l.ca, items, 1, KVERBS_NONBLOCK);
		cmd.take.events = (uintptr_t)(events + taken);
		cmd.take.nr = 4;
		CHECK_OK(kverbs_ioctl(l.a, KVERBS_SUBMIT, &cmd));
		CHECK_EQ(cmd.accepted, 1);
		CHECK(cmd.take.nr <= 4);
		taken += cmd.take.nr;
	}
	by_submit = taken;
	while (taken < nr)
		taken += CHECK_OK(kverbs_wait(l.a, events + taken, 16, patience_ms(), 0));
	note("%u of %u taken by SUBMIT", by_submit, nr);
	for (j = 0; j < nr; j++) {
		CHECK_EQ(events[j].kind, KVERBS_EVENT_FINAL);
		CHECK(events[j].user_data < nr && !seen[events[j].user_data]);
		seen[events[j].user_data] = true;
	}
	CHECK_ERR(kverbs_wait(l.a, events, 1, 0, KVERBS_NONBLOCK), EAGAIN);
	link_close(&l);
}

/* An item that nobody will acknowledge, by a call that waits for events. */
static struct kverbs_submit waiting_for_nobody(struct link *l, struct field *f, __u32 buf)
{
	struct kverbs_submit cmd;

	forget_events(l->a);
	items[0] = item(buf, 0, f->region, 0, 64, KVERBS_CONSUMED);
	cmd = submission(l->ca, items, 1, 0);
	cmd.take.events = (uintptr_t)events;
	cmd.take.nr = 4;
	return cmd;
}

/* The item is accepted, whatever becomes of the waiting. */
static void accepted_and_finished(struct link *l, const struct kverbs_submit *cmd)
{
	struct kverbs_event event;

	CHECK_EQ(cmd->accepted, 1);
	CHECK_EQ(cmd->error, 0);
	CHECK_EQ(cmd->take.nr, 0);
	event = NEXT_EVENT(l->b, KVERBS_EVENT_NOTIFY, l->cb);
	CHECK_OK(kverbs_ack(l->b, l->cb, event.seq, 0));
	NEXT_FINAL(l->a);
	CHECK(no_event(l->a, KVERBS_EVENT_FINAL, 0));
}

static void waiting_times_out(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_submit cmd;
	__u32 buf;

	source(l.a, 4096, 0, 10, &buf);
	cmd = waiting_for_nobody(&l, &f, buf);
	cmd.take.timeout_ms = 50;
	CHECK_OK(kverbs_ioctl(l.a, KVERBS_SUBMIT, &cmd));
	accepted_and_finished(&l, &cmd);
	cmd = waiting_for_nobody(&l, &f, buf);
	cmd.flags = KVERBS_NONBLOCK;
	CHECK_OK(kverbs_ioctl(l.a, KVERBS_SUBMIT, &cmd));
	accepted_and_finished(&l, &cmd);
	link_close(&l);
}

static int rung;

static void ring(int signal)
{
	(void)signal;
	__atomic_fetch_add(&rung, 1, __ATOMIC_RELAXED);
}

/* Again and again, so that one comes while the call waits. */
static void alarms(int ms)
{
	struct sigaction action = { .sa_handler = ring };
	const struct timeval time = { .tv_usec = ms * 1000 };
	struct itimerval timer = { time, time };

	CHECK_SYS(sigaction(SIGALRM, &action, NULL));
	CHECK_SYS(setitimer(ITIMER_REAL, &timer, NULL));
}

static void waiting_is_interrupted(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_submit cmd;
	__u32 buf;

	source(l.a, 4096, 0, 11, &buf);
	cmd = waiting_for_nobody(&l, &f, buf);
	alarms(50);
	CHECK_OK(kverbs_ioctl(l.a, KVERBS_SUBMIT, &cmd));
	CHECK_ERR(kverbs_wait(l.a, events, 1, 0, 0), EINTR);
	alarms(0);
	CHECK(__atomic_load_n(&rung, __ATOMIC_RELAXED));
	accepted_and_finished(&l, &cmd);
	link_close(&l);
}

static void waiting_is_killed(void)
{
	int pipes[2], status;
	char byte;
	pid_t pid;

	CHECK_SYS(pipe(pipes));
	pid = CHECK_SYS(fork());
	if (!pid) {
		struct link l = link_up();
		struct field f = field_of(&l, 4096, 0);
		struct kverbs_submit cmd;
		__u32 buf;

		source(l.a, 4096, 0, 12, &buf);
		cmd = waiting_for_nobody(&l, &f, buf);
		CHECK_EQ(write(pipes[1], "x", 1), 1);
		kverbs_ioctl(l.a, KVERBS_SUBMIT, &cmd);
		_exit(0);
	}
	close(pipes[1]);
	CHECK_EQ(read(pipes[0], &byte, 1), 1);
	CHECK(!reaped(pid, &status, 1));
	kill(pid, SIGKILL);
	CHECK(reaped(pid, &status, 60));
	CHECK(WIFSIGNALED(status));
}

/* A call that is refused takes nothing. */
static void refused_takes_nothing(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_submit cmd;
	struct pollfd pfd = { .fd = l.a, .events = POLLIN };
	__u32 buf;

	source(l.a, 4096, 0, 13, &buf);
	forget_events(l.a);
	items[0] = item(buf, 0, f.region, 0, 64, KVERBS_DELIVERED);
	items[0].user_data = 77;
	SUBMIT(&l, &items[0]);
	CHECK_EQ(CHECK_SYS(poll(&pfd, 1, patience_ms())), 1);
	items[0].length = 4097;
	cmd = submission(l.ca, items, 1, 0);
	cmd.take.events = (uintptr_t)events;
	cmd.take.nr = 4;
	CHECK_ERR(kverbs_ioctl(l.a, KVERBS_SUBMIT, &cmd), ERANGE);
	CHECK_EQ(NEXT_FINAL(l.a).user_data, 77);
	/* A prefix that is accepted does. */
	items[1] = items[0];
	items[0].length = 64;
	cmd = submission(l.ca, items, 2, 0);
	cmd.take.events = (uintptr_t)events;
	cmd.take.nr = 4;
	CHECK_OK(kverbs_ioctl(l.a, KVERBS_SUBMIT, &cmd));
	CHECK_EQ(cmd.accepted, 1);
	CHECK_EQ(cmd.error, ERANGE);
	CHECK_EQ(cmd.take.nr, 1);
	CHECK_EQ(events[0].user_data, 77);
	link_close(&l);
}

/* The call brings messages, too. */
static void submit_takes_messages(void)
{
	struct link l = link_up();
	__u8 bytes[KVERBS_MESSAGE_MAX + 1];
	struct kverbs_submit cmd;
	__u32 from_a, from_b;
	__u8 *mem;

	mem = source(l.a, 4096, 0, 14, &from_a);
	source(l.b, 4096, 0, 15, &from_b);
	forget_events(l.b);
	items[0] = op_item(KVERBS_OP_SEND, from_a, 9, 0, 0, 300);
	items[0].until = KVERBS_DELIVERED;
	items[0].tag = 3;
	SUBMIT(&l, &items[0]);
	NEXT_FINAL(l.a);
	items[0].buf_id = from_b;
	cmd = submission(l.cb, items, 1, 0);
	cmd.take.events = (uintptr_t)events;
	cmd.take.nr = 1;
	cmd.take.data = (uintptr_t)bytes;
	cmd.take.data_length = KVERBS_MESSAGE_MAX;
	bytes[300] = 0xa5;
	CHECK_OK(kverbs_ioctl(l.b, KVERBS_SUBMIT, &cmd));
	CHECK_EQ(cmd.take.nr, 1);
	CHECK_EQ(cmd.take.data_length, 300);
	CHECK_EQ(events[0].kind, KVERBS_EVENT_MESSAGE);
	CHECK_EQ(events[0].status, 0);
	CHECK(!memcmp(bytes, mem + 9, 300));
	CHECK_EQ(bytes[300], 0xa5);
	NEXT_MESSAGE(l.a, l.ca, bytes);
	NEXT_FINAL(l.b);
	link_close(&l);
}

/* Two threads hand in batches on one connection, each over its own half. */
enum { HALF = 200, BATCHES = 20 };

struct submitter {
	struct link *l;
	struct field *f;
	__u32 buf;
	__u32 half;
	__u32 batches;
};

static void *submitting(void *arg)
{
	struct submitter *s = arg;
	struct kverbs_item mine[HALF];
	struct kverbs_submit cmd;
	__u32 i, n;

	for (n = 0; n < s->batches; n++) {
		for (i = 0; i < HALF; i++)
			mine[i] = item(s->buf, (s->half * HALF + i) * 32 + n, s->f->region,
				       (s->half * HALF + i) * 32, 32, KVERBS_DELIVERED);
		cmd = submission(s->l->ca, mine, HALF, KVERBS_SUBMIT_BATCH);
		cmd.user_data = s->half * BATCHES + n;
		CHECK_OK(kverbs_ioctl(s->l->a, KVERBS_SUBMIT, &cmd));
		CHECK_EQ(cmd.accepted, HALF);
	}
	return NULL;
}

static void two_submitters(void)
{
	const __u32 batches = amount(BATCHES, BATCHES, 5);
	struct link l = link_up();
	struct field f = field_of(&l, 2 * HALF * 32, 3);
	struct submitter s[2];
	bool seen[2 * BATCHES] = { false };
	pthread_t threads[2];
	struct kverbs_event event;
	__u32 buf, i;
	__u8 *mem;

	mem = source(l.a, 2 * HALF * 32 + BATCHES, 1, 16, &buf);
	for (i = 0; i < 2; i++) {
		s[i] = (struct submitter) { &l, &f, buf, i, batches };
		CHECK(!pthread_create(&threads[i], NULL, submitting, &s[i]));
	}
	for (i = 0; i < 2 * batches; i++) {
		event = NEXT_EVENT(l.a, KVERBS_EVENT_BATCH, l.ca);
		CHECK(event.user_data < 2 * BATCHES && !seen[event.user_data]);
		seen[event.user_data] = true;
		batch_check(&event, l.ca, HALF, HALF * 32, event.user_data, KVERBS_DELIVERED);
	}
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK(no_event(l.a, KVERBS_EVENT_BATCH, 0));
	CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	field_expect(&f, 0, mem + batches - 1, 2 * HALF * 32);
	FIELD_CHECK(&f);
	link_close(&l);
}

/* Many connections, one queue of events, and several threads that take from it. */
enum { CONNS = 8, TAKERS = 3, EACH = 100 };

static struct {
	int fd;
	__u32 conn[CONNS];
	__u32 each;
	__u32 taken[CONNS][EACH];
	__u32 all;
} crowd;

static void crowd_take(const struct kverbs_event *event)
{
	__u32 conn = event->user_data / EACH, nr = event->user_data % EACH;

	if (event->kind != KVERBS_EVENT_FINAL && event->kind != KVERBS_EVENT_BATCH)
		return;
	CHECK_EQ(event->status, 0);
	CHECK(conn < CONNS);
	CHECK_EQ(event->id, crowd.conn[conn]);
	CHECK_EQ(event->kind, nr % 2 ? KVERBS_EVENT_BATCH : KVERBS_EVENT_FINAL);
	__atomic_fetch_add(&crowd.taken[conn][nr], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&crowd.all, 1, __ATOMIC_RELAXED);
}

static void *crowd_taker(void *arg)
{
	struct kverbs_event mine[5];
	int nr, i;

	(void)arg;
	while (__atomic_load_n(&crowd.all, __ATOMIC_RELAXED) < CONNS * crowd.each) {
		nr = kverbs_wait(crowd.fd, mine, ARRAY_SIZE(mine), 100, 0);
		CHECK(nr > 0 || nr == -ETIMEDOUT);
		for (i = 0; i < nr; i++)
			crowd_take(&mine[i]);
	}
	return NULL;
}

/* In turn one item alone and three as a batch. */
static void crowd_submit(struct link *l, const struct field *f, __u32 buf, __u32 conn, __u32 nr)
{
	struct kverbs_submit cmd;
	__u32 i, parts = nr % 2 ? 3 : 1;

	for (i = 0; i < parts; i++) {
		items[i] = item(buf, conn * 100 + nr, f->region, nr * 64 + i * 20, 20,
				KVERBS_DELIVERED);
		items[i].user_data = conn * EACH + nr;
	}
	cmd = submission(l->ca, items, parts, nr % 2 ? KVERBS_SUBMIT_BATCH : 0);
	cmd.user_data = conn * EACH + nr;
	CHECK_OK(kverbs_ioctl(l->a, KVERBS_SUBMIT, &cmd));
	CHECK_EQ(cmd.accepted, parts);
}

static void many_connections(void)
{
	struct link l[CONNS] = { link_up() };
	pthread_t threads[TAKERS];
	struct field f[CONNS];
	__u32 buf, i, j, k;
	__u8 *mem;

	crowd.each = amount(EACH, EACH, 20);
	crowd.fd = l[0].a;
	for (i = 0; i < CONNS; i++) {
		if (i) {
			l[i] = l[0];
			connect_again(&l[0], NULL, &l[i].ca, &l[i].cb);
		}
		f[i] = field_of(&l[i], EACH * 64, i);
		crowd.conn[i] = l[i].ca;
	}
	mem = source(l[0].a, 4096, 0, 17, &buf);
	for (i = 0; i < TAKERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, crowd_taker, NULL));
	for (j = 0; j < crowd.each; j++) {
		for (i = 0; i < CONNS; i++) {
			for (k = 0; k < (j % 2 ? 3 : 1); k++)
				field_expect(&f[i], j * 64 + k * 20, mem + i * 100 + j, 20);
			crowd_submit(&l[i], &f[i], buf, i, j);
		}
	}
	for (i = 0; i < TAKERS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < CONNS; i++) {
		for (j = 0; j < crowd.each; j++)
			CHECK_EQ(crowd.taken[i][j], 1);
		FIELD_CHECK(&f[i]);
	}
	CHECK(no_event(l[0].a, KVERBS_EVENT_FINAL, 0));
	CHECK(no_event(l[0].a, KVERBS_EVENT_BATCH, 0));
	link_close(&l[0]);
}

static const struct test tests[] = {
	{ "scattered", scattered },
	{ "scattered_in_pieces", scattered_in_pieces },
	{ "one_event_each", one_event_each },
	{ "few_posts", few_posts },
	{ "prefix", prefix },
	{ "refused", refused },
	{ "mixed", mixed },
	{ "some_fail", some_fail },
	{ "aborted", aborted },
	{ "submit_and_wait", submit_and_wait },
	{ "submit_and_look", submit_and_look },
	{ "waiting_times_out", waiting_times_out },
	{ "waiting_is_interrupted", waiting_is_interrupted },
	{ "waiting_is_killed", waiting_is_killed },
	{ "refused_takes_nothing", refused_takes_nothing },
	{ "submit_takes_messages", submit_takes_messages },
	{ "two_submitters", two_submitters },
	{ "many_connections", many_connections },
};

int main(int argc, char **argv)
{
	return tests_main(tests, ARRAY_SIZE(tests), argc, argv);
}
