// SPDX-License-Identifier: GPL-2.0-only
/*
 * Real operations inside the kernel: both ends of a connection in one test, over
 * whatever soft device holds the test's address, without any ioctl. What either
 * end holds afterwards is compared byte by byte, with the bytes around it.
 *
 * The guest has an rxe device with one address and a siw device with another;
 * a device that is not there is skipped, and counted as skipped.
 */
#include <kunit/test.h>
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/moduleparam.h>
#include <rdma/rdma_cm.h>

#include "../module/cm.h"
#include "../module/region.h"
#include "../module/batch.h"
#include "../module/work.h"

#define PATIENCE_MS	20000
#define REGION_BYTES	(2UL * SZ_1M + SZ_512K)	/* more than one key on both devices */
#define FEW_BYTES	(16UL * SZ_1K)
#define LEAD		777		/* guard before what is exposed */
#define GUARD		0xa5

static char *rxe_addr = "10.9.0.1";
module_param(rxe_addr, charp, 0444);
MODULE_PARM_DESC(rxe_addr, "address on an rxe device");

static char *siw_addr = "10.8.0.1";
module_param(siw_addr, charp, 0444);
MODULE_PARM_DESC(siw_addr, "address on a siw device");

struct way {
	const char *name;
	u32 transport;
	u32 poll;
	u32 depth;
	u32 flags;
};

#define RXE	KVERBS_TRANSPORT_ROCE
#define SIW	KVERBS_TRANSPORT_IWARP

static const struct way ways[] = {
	{ "rxe, softirq, depth 128", RXE, KVERBS_POLL_SOFTIRQ, 128 },
	{ "rxe, workqueue, depth 1", RXE, KVERBS_POLL_WORKQUEUE, 1 },
	{ "rxe, unbound, depth 16", RXE, KVERBS_POLL_UNBOUND, 16 },
	{ "rxe, direct, depth 128", RXE, KVERBS_POLL_DIRECT, 128 },
	{ "rxe, direct, depth 1", RXE, KVERBS_POLL_DIRECT, 1 },
	{ "rxe, registered, depth 128", RXE, KVERBS_POLL_SOFTIRQ, 128, KVERBS_CONN_REG },
	{ "rxe, registered, depth 1", RXE, KVERBS_POLL_UNBOUND, 1, KVERBS_CONN_REG },
	{ "siw, softirq, depth 128", SIW, KVERBS_POLL_SOFTIRQ, 128 },
	{ "siw, workqueue, depth 1", SIW, KVERBS_POLL_WORKQUEUE, 1 },
	{ "siw, unbound, depth 16", SIW, KVERBS_POLL_UNBOUND, 16 },
	{ "siw, direct, depth 128", SIW, KVERBS_POLL_DIRECT, 128 },
	{ "siw, direct, depth 1", SIW, KVERBS_POLL_DIRECT, 1 },
	{ "siw, registered, depth 128", SIW, KVERBS_POLL_SOFTIRQ, 128, KVERBS_CONN_REG },
	{ "siw, registered, depth 1", SIW, KVERBS_POLL_UNBOUND, 1, KVERBS_CONN_REG },
};

static void way_describe(const struct way *way, char *description)
{
	strscpy(description, way->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(way, ways, way_describe);

/* For what does not go in pieces: one way a device. */
static const struct way few_ways[] = {
	{ "rxe", RXE, KVERBS_POLL_SOFTIRQ, 16 },
	{ "siw", SIW, KVERBS_POLL_SOFTIRQ, 16 },
};

KUNIT_ARRAY_PARAM(few, few_ways, way_describe);

/* Both ends: A connects and works, B listens and exposes. */
struct ends {
	struct kverbs_context *a;
	struct kverbs_context *b;
	struct kverbs_listener *listener;
	struct kverbs_connection *conn_a;
	struct kverbs_connection *conn_b;
	struct kverbs_buffer *source;
	struct kverbs_buffer *sink;
	struct kverbs_buffer *back;	/* at A, to read into */
	struct kverbs_region_remote *remote;
};

static u8 *byte_at(struct kverbs_buffer *buf, u64 offset)
{
	return (u8 *)page_address(buf->page[offset >> PAGE_SHIFT]) + offset_in_page(offset);
}

static void fill(struct kverbs_buffer *buf, int (*value)(u64 offset))
{
	u64 i;

	for (i = 0; i < buf->length; i++)
		*byte_at(buf, i) = value(i);
}

static int pattern(u64 offset)
{
	return (offset * 131 + (offset >> 12)) & 0xff;
}

static int guarded(u64 offset)
{
	return GUARD;
}

/* As WAIT does: where something has to be polled for, poll. */
static int wait_events(struct kverbs_context *ctx)
{
	unsigned long until = jiffies + msecs_to_jiffies(PATIENCE_MS);

	if (!kverbs_context_polls(ctx))
		return kverbs_event_wait(&ctx->events, msecs_to_jiffies(PATIENCE_MS),
					 kverbs_event_kicks(&ctx->events));
	while (!kverbs_event_pending(&ctx->events)) {
		if (time_after(jiffies, until))
			return -ETIMEDOUT;
		kverbs_context_poll(ctx);
		cond_resched();
	}
	return 0;
}

/*
 * The next event of a kind; others in between are taken and dropped. If it brings
 * bytes, they go to @bytes, and *@length says how many.
 */
static void next_event_bytes(struct kunit *test, struct kverbs_context *ctx, u32 kind,
			     struct kverbs_event *event, void *bytes, u32 *length)
{
	struct kverbs_event_node *node;
	const void *from;

	do {
		KUNIT_ASSERT_EQ(test, wait_events(ctx), 0);
		node = kverbs_event_pop(&ctx->events);
		KUNIT_ASSERT_NOT_NULL(test, node);
		kverbs_event_take(node, event);
		if (bytes && event->kind == kind) {
			from = node->ops->bytes ? node->ops->bytes(node, length) : NULL;
			memcpy(bytes, from, from ? *length : 0);
		}
		node->ops->taken(node);
	} while (event->kind != kind);
}

static void next_event(struct kunit *test, struct kverbs_context *ctx, u32 kind,
		       struct kverbs_event *event)
{
	next_event_bytes(test, ctx, kind, event, NULL, NULL);
}

static bool have_device(u32 transport)
{
	struct kverbs_device *info = kcalloc(16, sizeof(*info), GFP_KERNEL);
	bool found = false;
	u32 i, nr;

	if (!info)
		return false;
	nr = min_t(u32, kverbs_dev_list(info, 16), 16);
	for (i = 0; i < nr; i++)
		found |= info[i].transport == transport;
	kfree(info);
	return found;
}

static void listen(struct kunit *test, struct ends *e, const struct kverbs_conn_attr *attr,
		   struct sockaddr_storage *addr)
{
	struct kverbs_error why = {};

	e->listener = kverbs_listener_create(e->b, attr, &kverbs_work_ops);
	KUNIT_ASSERT_NOT_NULL(test, e->listener);
	e->listener->backlog = 4;
	e->listener->max_conns = 4;
	e->listener->half_open_ms = PATIENCE_MS;
	KUNIT_ASSERT_EQ(test, kverbs_context_publish(e->b, &e->listener->obj), 0);
	KUNIT_ASSERT_EQ(test, kverbs_listener_start(e->listener, addr, &why), 0);
}

static void connect(struct kunit *test, struct ends *e, const struct kverbs_conn_attr *attr,
		    struct sockaddr_storage *addr)
{
	struct sockaddr_storage any = {};
	struct kverbs_connection *conn;

	conn = kverbs_connection_create(e->a, attr, &kverbs_work_ops);
	KUNIT_ASSERT_FALSE(test, IS_ERR(conn));
	e->conn_a = conn;
	KUNIT_ASSERT_EQ(test, kverbs_context_publish(e->a, &conn->obj), 0);
	kverbs_cm_connect(conn, &any, addr, PATIENCE_MS);
	KUNIT_ASSERT_EQ(test, kverbs_connection_wait_up(conn, PATIENCE_MS), 0);
	kverbs_connection_tell(conn);

	conn = kverbs_listener_accept(e->listener, false, PATIENCE_MS);
	KUNIT_ASSERT_FALSE(test, IS_ERR(conn));
	e->conn_b = conn;
	kverbs_connection_tell(conn);
}

#define RIGHTS	(KVERBS_RIGHT_WRITE | KVERBS_RIGHT_READ)

static void expose(struct kunit *test, struct ends *e, u64 length, u32 rights)
{
	struct kverbs_region_own *region;
	struct kverbs_object *obj;
	struct kverbs_event event;

	KUNIT_ASSERT_EQ(test, kverbs_connection_hold(e->conn_b, KVERBS_CONN_UP), 0);
	region = kverbs_region_expose(e->conn_b, e->sink, LEAD, length, rights, 42);
	kverbs_connection_unhold(e->conn_b);
	KUNIT_ASSERT_FALSE(test, IS_ERR(region));
	kverbs_object_put(&region->obj);

	next_event(test, e->a, KVERBS_EVENT_REGION, &event);
	KUNIT_EXPECT_EQ(test, event.length, length);
	KUNIT_EXPECT_EQ(test, event.tag, 42ULL);
	KUNIT_EXPECT_EQ(test, event.rights, rights);
	obj = kverbs_context_find(e->a, event.region_id, KVERBS_REMOTE);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	e->remote = kverbs_to_remote(obj);
}

/* Hand an item in, whose local end is @buf. */
static int submit(struct kunit *test, struct ends *e, struct kverbs_buffer *buf,
		  const struct kverbs_item *item)
{
	struct kverbs_region_remote *remote = item->op == KVERBS_OP_SEND ? NULL : e->remote;
	struct kverbs_mapping *map;
	struct kverbs_batch *batch;
	int ret;

	KUNIT_ASSERT_EQ(test, kverbs_context_reserve(e->a, 1), 1);
	KUNIT_ASSERT_EQ(test, kverbs_connection_hold(e->conn_a, KVERBS_CONN_UP), 0);
	map = kverbs_mapping_get(buf, e->conn_a->qp.dev);
	batch = kverbs_batch_create(e->conn_a, 1);
	ret = kverbs_transfer_check(e->conn_a, item) ?:
	      kverbs_transfer_init(batch, item, buf, map, remote) ?:
	      kverbs_work_submit(e->conn_a, batch);
	kverbs_mapping_put(map);
	if (ret)
		kverbs_batch_discard(batch);
	else
		kverbs_batch_put(batch);
	kverbs_connection_unhold(e->conn_a);
	return ret;
}

/* All of @buf is guard but for @length bytes at @start, of the pattern from @from on. */
static void compare(struct kunit *test, struct kverbs_buffer *buf, u64 start, u64 length, u64 from)
{
	u64 wrong = 0, first = 0;
	u64 i;

	for (i = 0; i < buf->length; i++) {
		bool inside = i >= start && i < start + length;
		u8 want = inside ? pattern(i - start + from) : GUARD;

		if (*byte_at(buf, i) != want && !wrong++)
			first = i;
	}
	KUNIT_EXPECT_EQ_MSG(test, wrong, 0ULL, "wrong bytes, the first at %llu", first);
}

static void compare_sink(struct kunit *test, struct ends *e, const struct kverbs_item *item)
{
	compare(test, e->sink, LEAD + item->region_offset, item->length, item->buf_offset);
}

static void acknowledge(struct kunit *test, struct ends *e, const struct kverbs_item *item)
{
	struct kverbs_event event;
	int i;

	next_event(test, e->b, KVERBS_EVENT_NOTIFY, &event);
	KUNIT_EXPECT_EQ(test, event.offset, item->region_offset);
	KUNIT_EXPECT_EQ(test, event.length, item->length);
	KUNIT_EXPECT_EQ(test, event.tag, item->tag);
	compare_sink(test, e, item);
	KUNIT_EXPECT_EQ(test, kverbs_work_ack(e->conn_b, event.seq, true), 0);

	next_event(test, e->a, KVERBS_EVENT_FINAL, &event);
	KUNIT_EXPECT_EQ(test, event.status, 0U);
	KUNIT_EXPECT_EQ(test, event.user_data, item->user_data);
	KUNIT_EXPECT_EQ(test, event.reached, (u32)KVERBS_PERSISTED);
	KUNIT_EXPECT_EQ(test, event.placement, (u32)KVERBS_PLACEMENT_PLACED);
	for (i = KVERBS_COMPLETED; i < KVERBS_MOMENTS; i++)
		KUNIT_EXPECT_GE(test, event.stamps[i], event.stamps[i - 1]);
}

static void end(struct kverbs_connection *conn)
{
	if (!conn)
		return;
	kverbs_connection_end(conn, KVERBS_STEP_LOCAL, ECANCELED);
	kverbs_connection_wait_dead(conn, PATIENCE_MS);
	kverbs_context_unpublish(conn->ctx, &conn->obj);
	kverbs_connection_put(conn);
}

/* Undo what there is, also after a failed assertion in the middle. */
static void write_exit(struct kunit *test)
{
	struct ends *e = test->priv;

	if (e->listener)
		kverbs_listener_close(e->listener, ECANCELED);
	end(e->conn_a);
	end(e->conn_b);
	if (e->listener) {
		kverbs_context_unpublish(e->b, &e->listener->obj);
		kverbs_object_put(&e->listener->obj);
	}
	if (e->remote)
		kverbs_object_put(&e->remote->obj);
	if (!IS_ERR_OR_NULL(e->source))
		kverbs_object_put(&e->source->obj);
	if (!IS_ERR_OR_NULL(e->sink))
		kverbs_object_put(&e->sink->obj);
	if (!IS_ERR_OR_NULL(e->back))
		kverbs_object_put(&e->back->obj);
	if (e->a) {
		kverbs_event_close(&e->a->events);
		kverbs_context_put(e->a);
	}
	if (e->b) {
		kverbs_event_close(&e->b->events);
		kverbs_context_put(e->b);
	}
	kverbs_memory_flush();
}

static int write_init(struct kunit *test)
{
	struct ends *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);

	if (!e)
		return -ENOMEM;
	test->priv = e;
	return 0;
}

static void make_ends(struct kunit *test, struct ends *e, const struct way *way, u64 length,
		      u32 rights)
{
	struct kverbs_conn_attr attr = {
		.depth = way->depth,
		.poll = way->poll,
		.flags = way->flags,
		.no_progress_ms = PATIENCE_MS,
	};
	const char *text = way->transport == SIW ? siw_addr : rxe_addr;
	struct sockaddr_storage addr = {};
	struct sockaddr_in *in = (struct sockaddr_in *)&addr;

	if (!have_device(way->transport))
		kunit_skip(test, "no such device here");
	in->sin_family = AF_INET;
	KUNIT_ASSERT_EQ(test, in4_pton(text, -1, (u8 *)&in->sin_addr, -1, NULL), 1);
	e->a = kverbs_context_create(&init_net);
	e->b = kverbs_context_create(&init_net);
	KUNIT_ASSERT_TRUE(test, e->a && e->b);
	e->source = kverbs_buffer_alloc(length, NUMA_NO_NODE);
	e->sink = kverbs_buffer_alloc(length + 2 * LEAD, NUMA_NO_NODE);
	e->back = kverbs_buffer_alloc(length, NUMA_NO_NODE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(e->source) || IS_ERR(e->sink) || IS_ERR(e->back));
	fill(e->source, pattern);
	fill(e->sink, guarded);
	fill(e->back, guarded);
	listen(test, e, &attr, &addr);
	connect(test, e, &attr, &addr);
	expose(test, e, length, rights);
}

/* An item has ended, and well. */
static void ended_well(struct kunit *test, struct ends *e, u64 user_data)
{
	struct kverbs_event event;

	next_event(test, e->a, KVERBS_EVENT_FINAL, &event);
	KUNIT_EXPECT_EQ(test, event.status, 0U);
	KUNIT_EXPECT_EQ(test, event.user_data, user_data);
}

static void write_places_every_byte(struct kunit *test)
{
	const struct way *way = test->param_value;
	struct ends *e = test->priv;
	struct kverbs_item item = {
		.op = KVERBS_OP_WRITE,
		.flags = KVERBS_ITEM_NOTIFY,
		.buf_offset = 3,
		.region_offset = 1001,
		.length = REGION_BYTES - 2049,
		.until = KVERBS_PERSISTED,
		.user_data = 7,
		.tag = 99,
	};

	make_ends(test, e, way, REGION_BYTES, RIGHTS);
	KUNIT_EXPECT_GT(test, e->remote->keys, 1U);
	KUNIT_ASSERT_EQ(test, submit(test, e, e->source, &item), 0);
	acknowledge(test, e, &item);
	KUNIT_EXPECT_EQ(test, e->conn_a->qp.depth, way->depth);
	KUNIT_EXPECT_EQ(test, e->conn_a->qp.counters.bytes, item.length);
}

/* What was written is read back to another place, and nothing around it changes. */
static void read_returns_every_byte(struct kunit *test)
{
	const struct way *way = test->param_value;
	struct ends *e = test->priv;
	struct kverbs_item item = {
		.op = KVERBS_OP_WRITE,
		.buf_offset = 5,
		.region_offset = 11,
		.length = REGION_BYTES - 4097,
		.until = KVERBS_DELIVERED,
		.user_data = 1,
	};

	make_ends(test, e, way, REGION_BYTES, RIGHTS);
	KUNIT_ASSERT_EQ(test, submit(test, e, e->source, &item), 0);
	ended_well(test, e, 1);

	item.op = KVERBS_OP_READ;
	item.buf_offset = 2001;
	item.region_offset += 100;
	item.length -= 200;
	item.until = KVERBS_COMPLETED;
	item.user_data = 2;
	KUNIT_ASSERT_EQ(test, submit(test, e, e->back, &item), 0);
	ended_well(test, e, 2);
	compare(test, e->back, 2001, item.length, 5 + 100);
	compare(test, e->sink, LEAD + 11, item.length + 200, 5);
}

/* The longest message and the shortest arrive whole and in order. */
static void messages_arrive(struct kunit *test)
{
	u8 *bytes = kunit_kzalloc(test, KVERBS_MESSAGE_MAX, GFP_KERNEL);
	struct ends *e = test->priv;
	struct kverbs_item item = {
		.op = KVERBS_OP_SEND,
		.until = KVERBS_CONSUMED,
	};
	struct kverbs_event event;
	u32 i, k, length = 0;

	KUNIT_ASSERT_NOT_NULL(test, bytes);
	make_ends(test, e, test->param_value, FEW_BYTES, RIGHTS);
	for (i = 0; i < 4; i++) {
		item.buf_offset = 4090 + i;
		item.length = i & 1 ? 1 : KVERBS_MESSAGE_MAX;
		item.tag = 1000 + i;
		item.user_data = i;
		KUNIT_ASSERT_EQ(test, submit(test, e, e->source, &item), 0);
	}
	/* They were copied: what the source becomes is no matter. */
	fill(e->source, guarded);
	for (i = 0; i < 4; i++) {
		next_event_bytes(test, e->b, KVERBS_EVENT_MESSAGE, &event, bytes, &length);
		KUNIT_EXPECT_EQ(test, event.tag, 1000 + i);
		KUNIT_EXPECT_EQ(test, event.seq, i + 1);
		KUNIT_EXPECT_EQ(test, length, i & 1 ? 1 : KVERBS_MESSAGE_MAX);
		for (k = 0; k < length; k++)
			KUNIT_ASSERT_EQ(test, bytes[k], pattern(4090 + i + k));
		KUNIT_EXPECT_EQ(test, kverbs_work_ack(e->conn_b, event.seq, false), 0);
		ended_well(test, e, i);
	}
	item.length = KVERBS_MESSAGE_MAX + 1;
	KUNIT_EXPECT_EQ(test, submit(test, e, e->source, &item), -EMSGSIZE);
}

/* The data is there before the immediate is told; iWARP has none. */
static void immediate_follows_data(struct kunit *test)
{
	const struct way *way = test->param_value;
	struct ends *e = test->priv;
	struct kverbs_item item = {
		.op = KVERBS_OP_WRITE,
		.flags = KVERBS_ITEM_IMM,
		.buf_offset = 77,
		.region_offset = 13,
		.length = FEW_BYTES - 99,
		.until = KVERBS_CONSUMED,
		.user_data = 3,
		.tag = 0xfeedbeef,
	};
	struct kverbs_event event;

	make_ends(test, e, way, FEW_BYTES, RIGHTS);
	if (way->transport == SIW) {
		KUNIT_EXPECT_EQ(test, submit(test, e, e->source, &item), -EOPNOTSUPP);
		return;
	}
	KUNIT_ASSERT_EQ(test, submit(test, e, e->source, &item), 0);
	next_event(test, e->b, KVERBS_EVENT_IMM, &event);
	KUNIT_EXPECT_EQ(test, event.tag, 0xfeedbeefULL);
	KUNIT_EXPECT_EQ(test, event.seq, 1ULL);
	compare_sink(test, e, &item);
	KUNIT_EXPECT_EQ(test, kverbs_work_ack(e->conn_b, event.seq, false), 0);
	ended_well(test, e, 3);
}

static u64 word_at(struct kverbs_buffer *buf, u64 offset)
{
	u64 word;

	memcpy(&word, byte_at(buf, offset), sizeof(word));
	return word;
}

/* Add, not swap, swap: what was there comes back, what is there is right. */
static void atomics_change_one_word(struct kunit *test)
{
	const struct way *way = test->param_value;
	const u64 at = 8 - LEAD % 8, before = 0x0101010101010101ULL * GUARD;
	struct ends *e = test->priv;
	struct kverbs_item item = {
		.op = KVERBS_OP_FETCH_ADD,
		.buf_offset = 64,
		.region_offset = at,
		.length = 8,
		.until = KVERBS_COMPLETED,
		.operand = 0x123456789ULL,
	};
	u64 i;

	make_ends(test, e, way, FEW_BYTES, way->transport == SIW ?
					   RIGHTS : KVERBS_RIGHT_ATOMIC);
	if (way->transport == SIW) {
		KUNIT_EXPECT_EQ(test, submit(test, e, e->back, &item), -EOPNOTSUPP);
		return;
	}
	KUNIT_ASSERT_EQ(test, submit(test, e, e->back, &item), 0);
	ended_well(test, e, 0);
	KUNIT_EXPECT_EQ(test, word_at(e->back, 64), before);
	KUNIT_EXPECT_EQ(test, word_at(e->sink, LEAD + at), before + 0x123456789ULL);

	item.op = KVERBS_OP_CMP_SWAP;
	item.compare = before;
	item.operand = 5;
	KUNIT_ASSERT_EQ(test, submit(test, e, e->back, &item), 0);
	ended_well(test, e, 0);
	KUNIT_EXPECT_EQ(test, word_at(e->back, 64), before + 0x123456789ULL);
	KUNIT_EXPECT_EQ(test, word_at(e->sink, LEAD + at), before + 0x123456789ULL);

	item.compare = before + 0x123456789ULL;
	KUNIT_ASSERT_EQ(test, submit(test, e, e->back, &item), 0);
	ended_well(test, e, 0);
	KUNIT_EXPECT_EQ(test, word_at(e->back, 64), before + 0x123456789ULL);
	KUNIT_EXPECT_EQ(test, word_at(e->sink, LEAD + at), 5ULL);

	for (i = 0; i < e->sink->length; i++)
		if (i < LEAD + at || i >= LEAD + at + 8)
			KUNIT_ASSERT_EQ_MSG(test, *byte_at(e->sink, i), GUARD, "byte %llu", i);
}

static int write_suite_init(struct kunit_suite *suite)
{
	int ret;

	ret = kverbs_memory_init();
	if (ret)
		return ret;
	ret = kverbs_connection_init();
	if (ret)
		goto err_memory;
	ret = kverbs_device_init();
	if (!ret)
		return 0;
	kverbs_connection_exit();
err_memory:
	kverbs_memory_exit();
	return ret;
}

static void write_suite_exit(struct kunit_suite *suite)
{
	kverbs_device_exit();
	kverbs_connection_exit();
	kverbs_memory_exit();
}

static struct kunit_case write_cases[] = {
	KUNIT_CASE_PARAM(write_places_every_byte, way_gen_params),
	KUNIT_CASE_PARAM(read_returns_every_byte, way_gen_params),
	KUNIT_CASE_PARAM(messages_arrive, few_gen_params),
	KUNIT_CASE_PARAM(immediate_follows_data, few_gen_params),
	KUNIT_CASE_PARAM(atomics_change_one_word, few_gen_params),
	{}
};

static struct kunit_suite write_suite = {
	.name = "write",
	.suite_init = write_suite_init,
	.suite_exit = write_suite_exit,
	.init = write_init,
	.exit = write_exit,
	.test_cases = write_cases,
};

kunit_test_suites(&write_suite);
