// SPDX-License-Identifier: GPL-2.0-only
/*
 * A real write inside the kernel: both ends of a connection in one test, over
 * whatever soft device holds the test's address, without any ioctl. What the
 * target holds afterwards is compared byte by byte, with the bytes around it.
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
#define REGION_BYTES	(5UL * SZ_1M)	/* more than one key on both devices */
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
	char **addr;
	u32 transport;
	u32 poll;
	u32 depth;
};

static const struct way ways[] = {
	{ "rxe, softirq, depth 128", &rxe_addr, KVERBS_TRANSPORT_ROCE, KVERBS_POLL_SOFTIRQ, 128 },
	{ "rxe, workqueue, depth 1", &rxe_addr, KVERBS_TRANSPORT_ROCE, KVERBS_POLL_WORKQUEUE, 1 },
	{ "siw, softirq, depth 128", &siw_addr, KVERBS_TRANSPORT_IWARP, KVERBS_POLL_SOFTIRQ, 128 },
	{ "siw, workqueue, depth 1", &siw_addr, KVERBS_TRANSPORT_IWARP, KVERBS_POLL_WORKQUEUE, 1 },
};

static void way_describe(const struct way *way, char *description)
{
	strscpy(description, way->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(way, ways, way_describe);

/* Both ends: A connects and writes, B listens and exposes. */
struct ends {
	struct kverbs_context *a;
	struct kverbs_context *b;
	struct kverbs_listener *listener;
	struct kverbs_connection *conn_a;
	struct kverbs_connection *conn_b;
	struct kverbs_buffer *source;
	struct kverbs_buffer *sink;
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

/* The next event of a kind; others in between are taken and dropped. */
static void next_event(struct kunit *test, struct kverbs_context *ctx, u32 kind,
		       struct kverbs_event *event)
{
	struct kverbs_event_node *node;
	int ret;

	do {
		ret = kverbs_event_wait(&ctx->events, msecs_to_jiffies(PATIENCE_MS));
		KUNIT_ASSERT_EQ(test, ret, 0);
		node = kverbs_event_pop(&ctx->events);
		KUNIT_ASSERT_NOT_NULL(test, node);
		kverbs_event_take(node, event);
		node->ops->taken(node);
	} while (event->kind != kind);
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

static void expose(struct kunit *test, struct ends *e)
{
	struct kverbs_region_own *region;
	struct kverbs_object *obj;
	struct kverbs_event event;

	KUNIT_ASSERT_EQ(test, kverbs_connection_hold(e->conn_b, KVERBS_CONN_UP), 0);
	region = kverbs_region_expose(e->conn_b, e->sink, LEAD, REGION_BYTES,
				      KVERBS_RIGHT_WRITE, 42);
	kverbs_connection_unhold(e->conn_b);
	KUNIT_ASSERT_FALSE(test, IS_ERR(region));
	kverbs_object_put(&region->obj);

	next_event(test, e->a, KVERBS_EVENT_REGION, &event);
	KUNIT_EXPECT_EQ(test, event.length, (u64)REGION_BYTES);
	KUNIT_EXPECT_EQ(test, event.tag, 42ULL);
	obj = kverbs_context_find(e->a, event.region_id, KVERBS_REMOTE);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	e->remote = kverbs_to_remote(obj);
	KUNIT_EXPECT_GT(test, e->remote->keys, 1U);
}

static void write(struct kunit *test, struct ends *e, struct kverbs_item *item)
{
	struct kverbs_mapping *map;
	struct kverbs_batch *batch;
	int ret;

	item->op = KVERBS_OP_WRITE;
	KUNIT_ASSERT_EQ(test, kverbs_context_reserve(e->a, 1), 1);
	KUNIT_ASSERT_EQ(test, kverbs_connection_hold(e->conn_a, KVERBS_CONN_UP), 0);
	map = kverbs_mapping_get(e->source, e->conn_a->qp.dev);
	batch = kverbs_batch_create(e->conn_a, 1);
	ret = kverbs_transfer_check(e->conn_a, item) ?:
	      kverbs_transfer_init(batch, item, e->source, map, e->remote) ?:
	      kverbs_work_submit(e->conn_a, batch);
	kverbs_mapping_put(map);
	kverbs_batch_put(batch);
	kverbs_connection_unhold(e->conn_a);
	KUNIT_ASSERT_EQ(test, ret, 0);
}

/* All of the sink is guard but for what @item placed. */
static void compare(struct kunit *test, struct ends *e, const struct kverbs_item *item)
{
	u64 start = LEAD + item->region_offset;
	u64 wrong = 0, first = 0;
	u64 i;

	for (i = 0; i < e->sink->length; i++) {
		bool inside = i >= start && i < start + item->length;
		u8 want = inside ? pattern(i - start + item->buf_offset) : GUARD;

		if (*byte_at(e->sink, i) != want && !wrong++)
			first = i;
	}
	KUNIT_EXPECT_EQ_MSG(test, wrong, 0ULL, "wrong bytes, the first at %llu", first);
}

static void acknowledge(struct kunit *test, struct ends *e, const struct kverbs_item *item)
{
	struct kverbs_event event;
	int i;

	next_event(test, e->b, KVERBS_EVENT_NOTIFY, &event);
	KUNIT_EXPECT_EQ(test, event.offset, item->region_offset);
	KUNIT_EXPECT_EQ(test, event.length, item->length);
	KUNIT_EXPECT_EQ(test, event.tag, item->tag);
	compare(test, e, item);
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

static void make_ends(struct kunit *test, struct ends *e, const struct way *way)
{
	struct kverbs_conn_attr attr = {
		.depth = way->depth,
		.poll = way->poll,
		.no_progress_ms = PATIENCE_MS,
	};
	struct sockaddr_storage addr = {};
	struct sockaddr_in *in = (struct sockaddr_in *)&addr;

	in->sin_family = AF_INET;
	KUNIT_ASSERT_EQ(test, in4_pton(*way->addr, -1, (u8 *)&in->sin_addr, -1, NULL), 1);
	e->a = kverbs_context_create(&init_net);
	e->b = kverbs_context_create(&init_net);
	KUNIT_ASSERT_TRUE(test, e->a && e->b);
	e->source = kverbs_buffer_alloc(REGION_BYTES, NUMA_NO_NODE);
	e->sink = kverbs_buffer_alloc(REGION_BYTES + 2 * LEAD, NUMA_NO_NODE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(e->source) || IS_ERR(e->sink));
	fill(e->source, pattern);
	fill(e->sink, guarded);
	listen(test, e, &attr, &addr);
	connect(test, e, &attr, &addr);
	expose(test, e);
}

static void write_places_every_byte(struct kunit *test)
{
	const struct way *way = test->param_value;
	struct ends *e = test->priv;
	struct kverbs_item item = {
		.flags = KVERBS_ITEM_NOTIFY,
		.buf_offset = 3,
		.region_offset = 1001,
		.length = REGION_BYTES - 2049,
		.until = KVERBS_PERSISTED,
		.user_data = 7,
		.tag = 99,
	};

	if (!have_device(way->transport))
		kunit_skip(test, "no such device here");
	make_ends(test, e, way);
	write(test, e, &item);
	acknowledge(test, e, &item);
	KUNIT_EXPECT_EQ(test, e->conn_a->qp.depth, way->depth);
	KUNIT_EXPECT_EQ(test, e->conn_a->qp.counters.bytes, item.length);
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
