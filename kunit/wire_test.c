// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bytes that two kverbs ends exchange, tested against bytes written by hand.
 *
 * Every decoder gets its bytes at the very end of a page that no page follows:
 * reading one byte too many is a page fault on any kernel, with KASAN or
 * without.
 *
 * What decodes must encode to the same bytes again. That one property covers
 * every field of every message when any byte of it is changed.
 */
#include <kunit/test.h>
#include <linux/vmalloc.h>

#include "../module/wire.c"

static u8 *end_of_page;		/* nothing is mapped from here on */
static void *page;

/* A copy of @len bytes that ends where the page ends. */
static void *at_end(const void *bytes, u32 len)
{
	return memcpy(end_of_page - len, bytes, len);
}

static int wire_suite_init(struct kunit_suite *suite)
{
	page = vmalloc(PAGE_SIZE);
	if (!page)
		return -ENOMEM;
	end_of_page = page + PAGE_SIZE;
	return 0;
}

static void wire_suite_exit(struct kunit_suite *suite)
{
	vfree(page);
	page = NULL;
}

/* Hellos and refusals. */

static const struct kverbs_hello plain_hello = {
	.major = 1, .minor = 0, .control = 16, .data = 128,
};

static const u8 hello_bytes[36] = {
	0x6b, 0x76, 0x72, 0x62, 0x01, 0x00, 0x00, 0x24,
	0x00, 0x10, 0x00, 0x80,
};

static void hello_golden(struct kunit *test)
{
	u8 buf[KVERBS_WIRE_HELLO + 1];
	struct kverbs_hello hello;

	memset(buf, 0xa5, sizeof(buf));
	kverbs_wire_put_hello(&plain_hello, buf);
	KUNIT_EXPECT_EQ(test, memcmp(buf, hello_bytes, sizeof(hello_bytes)), 0);
	KUNIT_EXPECT_EQ(test, buf[KVERBS_WIRE_HELLO], 0xa5);

	memset(&hello, 0xa5, sizeof(hello));
	KUNIT_EXPECT_EQ(test, 0, kverbs_wire_get_hello(&hello, at_end(hello_bytes, 36), 36));
	KUNIT_EXPECT_EQ(test, hello.major, 1);
	KUNIT_EXPECT_EQ(test, hello.minor, 0);
	KUNIT_EXPECT_EQ(test, hello.control, 16);
	KUNIT_EXPECT_EQ(test, hello.data, 128);
}

/* InfiniBand and RoCE pad a request to 56 bytes and a reply to 196. */
static void hello_padded(struct kunit *test)
{
	u8 buf[196] = {};
	struct kverbs_hello hello;

	memcpy(buf, hello_bytes, sizeof(hello_bytes));
	KUNIT_EXPECT_EQ(test, 0, kverbs_wire_get_hello(&hello, at_end(buf, 56), 56));
	KUNIT_EXPECT_EQ(test, 0, kverbs_wire_get_hello(&hello, at_end(buf, 196), 196));
	KUNIT_EXPECT_EQ(test, hello.control, 16);
	KUNIT_EXPECT_EQ(test, hello.data, 128);
}

static void hello_truncated(struct kunit *test)
{
	struct kverbs_hello hello;
	u32 len;

	KUNIT_EXPECT_EQ(test, -EPROTO, kverbs_wire_get_hello(&hello, NULL, 0));
	KUNIT_EXPECT_EQ(test, -EPROTO, kverbs_wire_get_hello(&hello, NULL, 56));
	for (len = 0; len < 36; len++)
		KUNIT_EXPECT_EQ_MSG(test, -EPROTO,
				    kverbs_wire_get_hello(&hello, at_end(hello_bytes, len), len),
				    "%u bytes", len);
}

/* Any byte with any value: refused, or decoded to what the bytes say. */
static void hello_flipped(struct kunit *test)
{
	struct kverbs_hello hello;
	u8 buf[56] = {};
	u32 at, value;
	int ret, wrong = 0;

	memcpy(buf, hello_bytes, sizeof(hello_bytes));
	for (at = 0; at < sizeof(buf); at++) {
		u8 was = buf[at];

		for (value = 0; value < 256; value++) {
			buf[at] = value;
			ret = kverbs_wire_get_hello(&hello, at_end(buf, 56), 56);
			if (at < 4)
				wrong += ret != (value == was ? 0 : -EPROTO);
			else if (at == 4)
				wrong += ret != (value == was ? 0 : -EPROTONOSUPPORT);
			else if (at >= 12)	/* ignored on receipt */
				wrong += ret || hello.control != 16 || hello.data != 128;
			else if (!ret)
				wrong += hello.minor != buf[5] || buf[6] ||
					 buf[7] < 36 || buf[7] > 56 ||
					 hello.control != buf[8] * 256 + buf[9] ||
					 hello.data != buf[10] * 256 + buf[11] ||
					 hello.control < 4 || !hello.data;
			else
				wrong += ret != -EPROTO || at == 5;
		}
		buf[at] = was;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

struct hello_case {
	const char *name;
	u8 at;
	u8 hi, lo;
	int ret;
};

static const struct hello_case hello_cases[] = {
	{ "length 35", 6, 0, 35, -EPROTO },
	{ "length 0", 6, 0, 0, -EPROTO },
	{ "length 37, longer than received", 6, 0, 37, -EPROTO },
	{ "length 65535", 6, 0xff, 0xff, -EPROTO },
	{ "no control credits", 8, 0, 0, -EPROTO },
	{ "3 control credits", 8, 0, 3, -EPROTO },
	{ "4 control credits", 8, 0, 4, 0 },
	{ "65535 control credits", 8, 0xff, 0xff, 0 },
	{ "no data credits", 10, 0, 0, -EPROTO },
	{ "1 data credit", 10, 0, 1, 0 },
	{ "65535 data credits", 10, 0xff, 0xff, 0 },
	{ "major 0", 4, 0, 0, -EPROTONOSUPPORT },
	{ "major 2", 4, 2, 0, -EPROTONOSUPPORT },
	{ "major 255", 4, 255, 0, -EPROTONOSUPPORT },
	{ "minor 255", 4, 1, 255, 0 },
};

static void hello_limits(struct kunit *test)
{
	const struct hello_case *c;
	struct kverbs_hello hello;
	u8 buf[36];
	int i;

	for (i = 0; i < ARRAY_SIZE(hello_cases); i++) {
		c = &hello_cases[i];
		memcpy(buf, hello_bytes, sizeof(buf));
		buf[c->at] = c->hi;
		buf[c->at + 1] = c->lo;
		KUNIT_EXPECT_EQ_MSG(test, c->ret,
				    kverbs_wire_get_hello(&hello, at_end(buf, 36), 36),
				    "%s", c->name);
	}
}

/* A later minor version has a longer hello with features set: still ours. */
static void hello_future_minor(struct kunit *test)
{
	struct kverbs_hello hello;
	u8 buf[56];

	memset(buf, 0xff, sizeof(buf));
	memcpy(buf, hello_bytes, 12);
	buf[5] = 7;
	buf[7] = 56;
	KUNIT_EXPECT_EQ(test, 0, kverbs_wire_get_hello(&hello, at_end(buf, 56), 56));
	KUNIT_EXPECT_EQ(test, hello.minor, 7);
	KUNIT_EXPECT_EQ(test, hello.control, 16);
}

/* Another major version may look different behind its first 8 bytes. */
static void hello_future_major(struct kunit *test)
{
	static const u8 other[8] = { 0x6b, 0x76, 0x72, 0x62, 2, 0, 0, 8 };
	struct kverbs_hello hello;

	KUNIT_EXPECT_EQ(test, -EPROTONOSUPPORT,
			kverbs_wire_get_hello(&hello, at_end(other, 8), 8));
}

static void refusal(struct kunit *test)
{
	static const u8 golden[8] = { 0x6b, 0x76, 0x72, 0x62, 0, 0, 0, 3 };
	u8 buf[9] = { [8] = 0xa5 };
	u32 reason, len;

	kverbs_wire_put_refusal(KVERBS_REJECT_LIMIT, buf);
	KUNIT_EXPECT_EQ(test, memcmp(buf, golden, 8), 0);
	KUNIT_EXPECT_EQ(test, buf[8], 0xa5);

	for (reason = 0; reason < 300; reason++) {
		kverbs_wire_put_refusal(reason, buf);
		KUNIT_EXPECT_EQ(test, kverbs_wire_get_refusal(at_end(buf, 8), 8),
				reason <= 4 ? reason : KVERBS_REJECT_NONE);
	}
	for (len = 0; len < 8; len++)
		KUNIT_EXPECT_EQ(test, kverbs_wire_get_refusal(at_end(golden, len), len),
				KVERBS_REJECT_NONE);
	KUNIT_EXPECT_EQ(test, kverbs_wire_get_refusal(NULL, 0), KVERBS_REJECT_NONE);
	KUNIT_EXPECT_EQ(test, kverbs_wire_get_refusal(at_end(hello_bytes, 36), 36),
			KVERBS_REJECT_NONE);
	memcpy(buf, golden, 8);
	buf[0] = 'K';
	KUNIT_EXPECT_EQ(test, kverbs_wire_get_refusal(at_end(buf, 8), 8),
			KVERBS_REJECT_NONE);
}

/* Messages. */

#define COUNTERS .control = 0x01020304, .data = 0xfedcba98

static const u8 ready_bytes[] = {
	0x01, 0x00, 0x00, 0x10, 0x01, 0x02, 0x03, 0x04,
	0xfe, 0xdc, 0xba, 0x98, 0x00, 0x00, 0x00, 0x00,
};

static const u8 credit_bytes[] = {
	0x02, 0x00, 0x00, 0x10, 0x01, 0x02, 0x03, 0x04,
	0xfe, 0xdc, 0xba, 0x98, 0x00, 0x00, 0x00, 0x00,
};

static const u8 region_bytes[] = {
	0x03, 0x00, 0x00, 0x50, 0x01, 0x02, 0x03, 0x04,
	0xfe, 0xdc, 0xba, 0x98, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x07,				/* 16 region */
	0x00, 0x00, 0x00, 0x01,				/* 20 rights */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x30, 0x00, 0x00,	/* 24 length */
	0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,	/* 32 tag */
	0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x02, 0x34,	/* 40 addr */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00,	/* 48 span */
	0x00, 0x00, 0x02, 0x34,				/* 56 lead */
	0x00, 0x00, 0x00, 0x04,				/* 60 keys */
	0x00, 0x00, 0x00, 0x01,				/* 64 first */
	0x00, 0x00, 0x00, 0x02,				/* 68 count */
	0xca, 0xfe, 0xba, 0xbe,				/* 72 key[0] */
	0xde, 0xad, 0xbe, 0xef,				/* 76 key[1] */
};

static const u8 done_bytes[] = {
	0x04, 0x00, 0x00, 0x38, 0x01, 0x02, 0x03, 0x04,
	0xfe, 0xdc, 0xba, 0x98, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x02,	/* 16 seq */
	0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x04,	/* 24 offset */
	0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x06,	/* 32 length */
	0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07,	/* 40 tag */
	0x00, 0x00, 0x00, 0x08,				/* 48 region */
	0x00, 0x00, 0x00, 0x00,				/* 52 reserved */
};

static const u8 notify_bytes[] = {
	0x04, 0x01, 0x00, 0x38, 0x01, 0x02, 0x03, 0x04,
	0xfe, 0xdc, 0xba, 0x98, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0xff, 0xff, 0xff, 0xff,
	0x00, 0x00, 0x00, 0x00,
};

static const u8 delivered_bytes[] = {
	0x05, 0x00, 0x00, 0x18, 0x01, 0x02, 0x03, 0x04,
	0xfe, 0xdc, 0xba, 0x98, 0x00, 0x00, 0x00, 0x00,
	0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0,
};

static const u8 consumed_bytes[] = {
	0x06, 0x00, 0x00, 0x20, 0x01, 0x02, 0x03, 0x04,
	0xfe, 0xdc, 0xba, 0x98, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x01,	/* 16 consumed */
	0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00,	/* 24 persisted */
};

static const u8 goodbye_bytes[] = {
	0x07, 0x00, 0x00, 0x18, 0x01, 0x02, 0x03, 0x04,
	0xfe, 0xdc, 0xba, 0x98, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x6e,				/* 16 ETIMEDOUT */
	0x00, 0x00, 0x00, 0x00,				/* 20 reserved */
};

static const u8 message_bytes[] = {
	0x08, 0x00, 0x00, 0x21, 0x01, 0x02, 0x03, 0x04,
	0xfe, 0xdc, 0xba, 0x98, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x04,	/* 16 seq */
	0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8,	/* 24 tag */
	0x6b,							/* 32 "k" */
};

static const __be32 two_keys[] = {
	cpu_to_be32(0xcafebabe), cpu_to_be32(0xdeadbeef),
};

struct golden {
	const char *name;
	const u8 *bytes;
	u32 len;
	struct kverbs_msg msg;
};

static const struct golden goldens[] = {
	{
		"ready", ready_bytes, sizeof(ready_bytes),
		{ .type = KVERBS_MSG_READY, COUNTERS },
	}, {
		"credit", credit_bytes, sizeof(credit_bytes),
		{ .type = KVERBS_MSG_CREDIT, COUNTERS },
	}, {
		"region", region_bytes, sizeof(region_bytes),
		{
			.type = KVERBS_MSG_REGION, COUNTERS,
			.region = {
				.region = 7, .rights = 1, .length = 0x300000,
				.tag = 0x1122334455667788,
				.addr = 0x0001000000000234,
				.span = 0x100000, .lead = 0x234,
				.keys = 4, .first = 1, .count = 2, .key = two_keys,
			},
		},
	}, {
		"done", done_bytes, sizeof(done_bytes),
		{
			.type = KVERBS_MSG_DONE, COUNTERS,
			.done = {
				.seq = 0x100000002, .offset = 0x300000004,
				.length = 0x500000006, .tag = 0x8000000000000007,
				.region = 8,
			},
		},
	}, {
		"done with notify", notify_bytes, sizeof(notify_bytes),
		{
			.type = KVERBS_MSG_DONE, COUNTERS,
			.done = {
				.seq = 1, .length = 1, .region = U32_MAX,
				.notify = true,
			},
		},
	}, {
		"delivered", delivered_bytes, sizeof(delivered_bytes),
		{
			.type = KVERBS_MSG_DELIVERED, COUNTERS,
			.delivered = 0x123456789abcdef0,
		},
	}, {
		"consumed", consumed_bytes, sizeof(consumed_bytes),
		{
			.type = KVERBS_MSG_CONSUMED, COUNTERS,
			.consumed = 0x200000001, .persisted = 0x200000000,
		},
	}, {
		"goodbye", goodbye_bytes, sizeof(goodbye_bytes),
		{ .type = KVERBS_MSG_GOODBYE, COUNTERS, .goodbye = 110 },
	}, {
		"message", message_bytes, sizeof(message_bytes),
		{
			.type = KVERBS_MSG_MESSAGE, COUNTERS,
			.message = {
				.seq = 0x300000004, .tag = 0xa1a2a3a4a5a6a7a8,
				.length = 1, .bytes = "k",
			},
		},
	},
};

/* Written out field by field, so that a field forgotten there fails here. */
static bool same_body(const struct kverbs_msg *a, const struct kverbs_msg *b)
{
	switch (a->type) {
	case KVERBS_MSG_REGION:
		return a->region.region == b->region.region &&
		       a->region.rights == b->region.rights &&
		       a->region.length == b->region.length &&
		       a->region.tag == b->region.tag &&
		       a->region.addr == b->region.addr &&
		       a->region.span == b->region.span &&
		       a->region.lead == b->region.lead &&
		       a->region.keys == b->region.keys &&
		       a->region.first == b->region.first &&
		       a->region.count == b->region.count &&
		       !memcmp(a->region.key, b->region.key,
			       a->region.count * sizeof(__be32));
	case KVERBS_MSG_DONE:
		return a->done.seq == b->done.seq && a->done.offset == b->done.offset &&
		       a->done.length == b->done.length && a->done.tag == b->done.tag &&
		       a->done.region == b->done.region &&
		       a->done.notify == b->done.notify;
	case KVERBS_MSG_DELIVERED:
		return a->delivered == b->delivered;
	case KVERBS_MSG_CONSUMED:
		return a->consumed == b->consumed && a->persisted == b->persisted;
	case KVERBS_MSG_GOODBYE:
		return a->goodbye == b->goodbye;
	case KVERBS_MSG_MESSAGE:
		return a->message.seq == b->message.seq && a->message.tag == b->message.tag &&
		       a->message.length == b->message.length &&
		       !memcmp(a->message.bytes, b->message.bytes, a->message.length);
	default:
		return true;
	}
}

static bool same(const struct kverbs_msg *a, const struct kverbs_msg *b)
{
	return a->type == b->type && a->control == b->control && a->data == b->data &&
	       same_body(a, b);
}

static void golden_put(struct kunit *test)
{
	const struct golden *g;
	u8 buf[KVERBS_WIRE_SLOT];
	u32 len;
	int i;

	for (i = 0; i < ARRAY_SIZE(goldens); i++) {
		g = &goldens[i];
		memset(buf, 0xa5, sizeof(buf));
		len = kverbs_wire_put(&g->msg, buf);
		KUNIT_EXPECT_EQ_MSG(test, len, g->len, "%s", g->name);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(buf, g->bytes, g->len), 0, "%s", g->name);
		KUNIT_EXPECT_EQ_MSG(test, buf[g->len], 0xa5, "%s: wrote on", g->name);
	}
}

static void golden_get(struct kunit *test)
{
	const struct golden *g;
	struct kverbs_msg msg;
	int i;

	for (i = 0; i < ARRAY_SIZE(goldens); i++) {
		g = &goldens[i];
		memset(&msg, 0xa5, sizeof(msg));
		KUNIT_EXPECT_EQ_MSG(test, 0,
				    kverbs_wire_get(&msg, at_end(g->bytes, g->len),
						    g->len, KVERBS_WIRE_MINOR),
				    "%s", g->name);
		KUNIT_EXPECT_TRUE_MSG(test, same(&msg, &g->msg), "%s", g->name);
	}
}

/* Cut off at every length, with the length field as sent and made to match. */
static void truncated(struct kunit *test)
{
	const struct golden *g;
	struct kverbs_msg msg;
	u8 *buf;
	u32 len;
	int i;

	for (i = 0; i < ARRAY_SIZE(goldens); i++) {
		g = &goldens[i];
		for (len = 0; len < g->len; len++) {
			buf = at_end(g->bytes, len);
			KUNIT_EXPECT_EQ_MSG(test, -EPROTO, kverbs_wire_get(&msg, buf, len, 0),
					    "%s, %u bytes", g->name, len);
			if (len < 4)
				continue;
			buf[3] = len;
			KUNIT_EXPECT_EQ_MSG(test, -EPROTO, kverbs_wire_get(&msg, buf, len, 0),
					    "%s, %u bytes and says so", g->name, len);
		}
	}
}

/* Longer than its type, with the length field as sent and made to match. */
static void extended(struct kunit *test)
{
	u8 bytes[KVERBS_WIRE_SLOT];
	const struct golden *g;
	struct kverbs_msg msg;
	u32 more;
	u8 *buf;
	int i;

	for (i = 0; i < ARRAY_SIZE(goldens); i++) {
		g = &goldens[i];
		memset(bytes, 0, sizeof(bytes));
		memcpy(bytes, g->bytes, g->len);
		for (more = 1; more <= 8; more++) {
			buf = at_end(bytes, g->len + more);
			KUNIT_EXPECT_EQ_MSG(test, -EPROTO,
					    kverbs_wire_get(&msg, buf, g->len + more, 0),
					    "%s, %u bytes more", g->name, more);
			/* A message is as long as it says. */
			if (g->msg.type == KVERBS_MSG_MESSAGE)
				continue;
			buf[3] = g->len + more;
			KUNIT_EXPECT_EQ_MSG(test, -EPROTO,
					    kverbs_wire_get(&msg, buf, g->len + more, 0),
					    "%s, %u bytes more and says so", g->name, more);
		}
	}
}

/* How many of the 256 values of one byte are decoded to anything but the truth. */
static int flip_one(const struct golden *g, u32 at)
{
	u8 again[KVERBS_WIRE_SLOT];
	struct kverbs_msg msg;
	u32 value;
	u8 *buf = at_end(g->bytes, g->len);
	int ret, wrong = 0;

	for (value = 0; value < 256; value++) {
		buf[at] = value;
		ret = kverbs_wire_get(&msg, buf, g->len, 0);
		if (ret)
			wrong += ret != -EPROTO || value == g->bytes[at];
		else
			wrong += kverbs_wire_put(&msg, again) != g->len ||
				 memcmp(again, buf, g->len);
	}
	return wrong;
}

static void flipped(struct kunit *test)
{
	const struct golden *g;
	u32 at;
	int i;

	for (i = 0; i < ARRAY_SIZE(goldens); i++) {
		g = &goldens[i];
		for (at = 0; at < g->len; at++)
			KUNIT_EXPECT_EQ_MSG(test, flip_one(g, at), 0, "%s, byte %u",
					    g->name, at);
	}
}

/* A golden message with one field, big endian, set to something else. */
struct patch {
	const char *name;
	const u8 *bytes;
	u32 len;
	u8 at;
	u8 width;
	u64 value;
};

#define PATCH(what, name, at, width, value) \
	{ name, what##_bytes, sizeof(what##_bytes), at, width, value }

static const struct patch hostile_values[] = {
	PATCH(credit, "type 0", 0, 1, 0),
	PATCH(credit, "type 9", 0, 1, 9),
	PATCH(credit, "type 255", 0, 1, 255),
	PATCH(credit, "notify on CREDIT", 1, 1, 1),
	PATCH(credit, "length 0", 2, 2, 0),
	PATCH(credit, "length 15", 2, 2, 15),
	PATCH(credit, "length 17", 2, 2, 17),
	PATCH(credit, "length 65535", 2, 2, 65535),
	PATCH(credit, "reserved", 12, 4, 0x80000000),
	PATCH(region, "notify on REGION", 1, 1, 1),
	PATCH(region, "region 0", 16, 4, 0),
	PATCH(region, "unknown right", 20, 4, 8),
	PATCH(region, "length 0", 24, 8, 0),
	PATCH(region, "length one key too long", 24, 8, 0x400000 - 0x234 + 1),
	PATCH(region, "length one key too short", 24, 8, 0x300000 - 0x234),
	PATCH(region, "length 2^64-1", 24, 8, U64_MAX),
	PATCH(region, "length + lead wraps", 24, 8, U64_MAX - 0x233),
	PATCH(region, "addr wraps", 40, 8, U64_MAX - 0x300000 + 1),
	PATCH(region, "addr 2^64-1", 40, 8, U64_MAX),
	PATCH(region, "span 0", 48, 8, 0),
	PATCH(region, "span 1", 48, 8, 1),
	PATCH(region, "span = lead", 48, 8, 0x234),
	PATCH(region, "span 2^64-1", 48, 8, U64_MAX),
	PATCH(region, "lead = span", 56, 4, 0x100000),
	PATCH(region, "lead 2^32-1", 56, 4, U32_MAX),
	PATCH(region, "lead 0", 56, 4, 0),
	PATCH(region, "keys 0", 60, 4, 0),
	PATCH(region, "keys too few", 60, 4, 3),
	PATCH(region, "keys too many", 60, 4, 5),
	PATCH(region, "keys 2^32-1", 60, 4, U32_MAX),
	PATCH(region, "first + count beyond keys", 64, 4, 3),
	PATCH(region, "first = keys", 64, 4, 4),
	PATCH(region, "first 2^32-1", 64, 4, U32_MAX),
	PATCH(region, "first + count wraps", 64, 4, U32_MAX - 1),
	PATCH(region, "count 0", 68, 4, 0),
	PATCH(region, "count 1", 68, 4, 1),
	PATCH(region, "count 3", 68, 4, 3),
	PATCH(region, "count 2^30 + 2", 68, 4, 0x40000002),
	PATCH(region, "count 2^32-1", 68, 4, U32_MAX),
	PATCH(done, "unknown flag", 1, 1, 2),
	PATCH(done, "unknown flag beside notify", 1, 1, 0x81),
	PATCH(done, "seq 0", 16, 8, 0),
	PATCH(done, "length 0", 32, 8, 0),
	PATCH(done, "offset + length wraps", 24, 8, U64_MAX - 0x500000005),
	PATCH(done, "offset 2^64-1", 24, 8, U64_MAX),
	PATCH(done, "length 2^64-1", 32, 8, U64_MAX),
	PATCH(done, "region 0", 48, 4, 0),
	PATCH(done, "reserved", 52, 4, 1),
	PATCH(consumed, "persisted > consumed", 24, 8, 0x200000002),
	PATCH(consumed, "persisted 2^64-1", 24, 8, U64_MAX),
	PATCH(consumed, "consumed 0", 16, 8, 0),
	PATCH(goodbye, "errno 4096", 16, 4, 4096),
	PATCH(goodbye, "errno 2^32-1", 16, 4, U32_MAX),
	PATCH(goodbye, "reserved", 20, 4, 0x01000000),
	PATCH(message, "seq 0", 16, 8, 0),
	PATCH(message, "notify on MESSAGE", 1, 1, 1),
};

static const struct patch odd_values[] = {
	PATCH(credit, "control counter 0", 4, 4, 0),
	PATCH(credit, "control counter 2^32-1", 4, 4, U32_MAX),
	PATCH(credit, "data counter 2^32-1", 8, 4, U32_MAX),
	PATCH(region, "no rights", 20, 4, 0),
	PATCH(region, "every right", 20, 4, 7),
	PATCH(region, "length longest for 4 keys", 24, 8, 0x400000 - 0x234),
	PATCH(region, "length shortest for 4 keys", 24, 8, 0x300000 - 0x234 + 1),
	PATCH(region, "addr highest", 40, 8, U64_MAX - 0x300000),
	PATCH(region, "addr 0", 40, 8, 0),
	PATCH(region, "lead shortest", 56, 4, 1),
	PATCH(region, "lead longest", 56, 4, 0xfffff),
	PATCH(region, "first 0", 64, 4, 0),
	PATCH(region, "first 2", 64, 4, 2),
	PATCH(done, "offset highest", 24, 8, U64_MAX - 0x500000006),
	PATCH(done, "seq 2^64-1", 16, 8, U64_MAX),
	PATCH(delivered, "seq 0", 16, 8, 0),
	PATCH(consumed, "persisted = consumed", 24, 8, 0x200000001),
	PATCH(consumed, "persisted 0", 24, 8, 0),
	PATCH(goodbye, "orderly", 16, 4, 0),
	PATCH(goodbye, "errno 4095", 16, 4, 4095),
};

static int get_patched(const struct patch *p, struct kverbs_msg *msg)
{
	u8 *buf = at_end(p->bytes, p->len);
	int i;

	for (i = 0; i < p->width; i++)
		buf[p->at + i] = p->value >> (8 * (p->width - 1 - i));
	return kverbs_wire_get(msg, buf, p->len, 0);
}

static void hostile(struct kunit *test)
{
	struct kverbs_msg msg;
	int i;

	for (i = 0; i < ARRAY_SIZE(hostile_values); i++)
		KUNIT_EXPECT_EQ_MSG(test, -EPROTO, get_patched(&hostile_values[i], &msg),
				    "%s", hostile_values[i].name);
}

static void odd_but_valid(struct kunit *test)
{
	struct kverbs_msg msg;
	int i;

	for (i = 0; i < ARRAY_SIZE(odd_values); i++)
		KUNIT_EXPECT_EQ_MSG(test, 0, get_patched(&odd_values[i], &msg),
				    "%s", odd_values[i].name);
}

/* As many keys as fit a receive, and what does not fit any more. */
static void message_lengths(struct kunit *test)
{
	u8 bytes[KVERBS_MESSAGE_MAX + 1], slot[KVERBS_WIRE_SLOT];
	struct kverbs_msg msg = { .type = KVERBS_MSG_MESSAGE }, got;
	u32 len, i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = 7 * i + 1;
	for (i = 1; i <= sizeof(bytes); i++) {
		msg.message = (struct kverbs_msg_bytes) { .seq = i, .length = i, .bytes = bytes };
		memset(slot, 0xa5, sizeof(slot));
		len = kverbs_wire_put(&msg, slot);
		KUNIT_ASSERT_EQ(test, len, 32 + i);
		KUNIT_EXPECT_EQ(test, slot[len], 0xa5);
		if (i > KVERBS_MESSAGE_MAX) {
			KUNIT_EXPECT_EQ(test, -EPROTO,
					kverbs_wire_get(&got, at_end(slot, len), len, 0));
			continue;
		}
		KUNIT_ASSERT_EQ(test, 0, kverbs_wire_get(&got, at_end(slot, len), len, 0));
		KUNIT_EXPECT_TRUE(test, same(&msg, &got));
	}
	/* Without bytes it is none. */
	msg.message = (struct kverbs_msg_bytes) { .seq = 1, .bytes = bytes };
	len = kverbs_wire_put(&msg, slot);
	KUNIT_EXPECT_EQ(test, -EPROTO, kverbs_wire_get(&got, at_end(slot, len), len, 0));
}

static void most_keys(struct kunit *test)
{
	struct kverbs_msg msg = {
		.type = KVERBS_MSG_REGION,
		.region = {
			.region = 1, .rights = 1, .length = 1000, .span = 1,
			.keys = 1000, .first = 500, .count = 110,
		},
	};
	u8 buf[KVERBS_WIRE_SLOT + 4] = {};
	struct kverbs_msg got;
	__be32 key[110];
	int i;

	for (i = 0; i < ARRAY_SIZE(key); i++)
		key[i] = cpu_to_be32(0x01010101 * i);
	msg.region.key = key;
	KUNIT_ASSERT_EQ(test, kverbs_wire_put(&msg, buf), KVERBS_WIRE_SLOT);
	KUNIT_EXPECT_EQ(test, 0, kverbs_wire_get(&got, at_end(buf, KVERBS_WIRE_SLOT),
						 KVERBS_WIRE_SLOT, 0));
	KUNIT_EXPECT_TRUE(test, same(&msg, &got));

	buf[3] += 4;
	buf[71] = 111;
	KUNIT_EXPECT_EQ(test, -EPROTO, kverbs_wire_get(&got, at_end(buf, sizeof(buf)),
						       sizeof(buf), 0));
}

/* An advertisement that claims 2^32 keys and more is measured without wrapping. */
static void huge_region(struct kunit *test)
{
	struct kverbs_msg msg = {
		.type = KVERBS_MSG_REGION,
		.region = {
			.region = 1, .length = U32_MAX, .span = 1, .keys = U32_MAX,
			.count = 1, .key = two_keys,
		},
	};
	u8 buf[KVERBS_WIRE_SLOT];
	struct kverbs_msg got;
	u32 len;

	len = kverbs_wire_put(&msg, buf);
	KUNIT_EXPECT_EQ(test, 0, kverbs_wire_get(&got, at_end(buf, len), len, 0));
	msg.region.first = U32_MAX - 1;
	msg.region.count = 2;
	len = kverbs_wire_put(&msg, buf);
	KUNIT_EXPECT_EQ(test, -EPROTO, kverbs_wire_get(&got, at_end(buf, len), len, 0));
	msg.region.first = 0;
	msg.region.count = 1;
	msg.region.length = 1ull << 32;
	msg.region.keys = 0;
	len = kverbs_wire_put(&msg, buf);
	KUNIT_EXPECT_EQ(test, -EPROTO, kverbs_wire_get(&got, at_end(buf, len), len, 0));
	msg.region.length = (1ull << 32) + 1;
	msg.region.keys = 1;
	len = kverbs_wire_put(&msg, buf);
	KUNIT_EXPECT_EQ(test, -EPROTO, kverbs_wire_get(&got, at_end(buf, len), len, 0));
}

/* A type of a later version: ignored if the peer speaks that, else malformed. */
static void future_version(struct kunit *test)
{
	static const u8 future[] = {
		0x09, 0xff, 0x00, 0x14, 0x01, 0x02, 0x03, 0x04,
		0xfe, 0xdc, 0xba, 0x98, 0x00, 0x00, 0x00, 0x00,
		0xff, 0xff, 0xff, 0xff,
	};
	struct kverbs_msg msg;
	u32 len;
	u8 *buf;
	int i;

	for (i = 9; i < 256; i++) {
		buf = at_end(future, sizeof(future));
		buf[0] = i;
		buf[12] = 0xff;
		memset(&msg, 0, sizeof(msg));
		KUNIT_EXPECT_EQ(test, -ENOMSG,
				kverbs_wire_get(&msg, buf, sizeof(future), 1));
		KUNIT_EXPECT_EQ(test, msg.type, i);
		KUNIT_EXPECT_EQ(test, msg.control, 0x01020304);
		KUNIT_EXPECT_EQ(test, msg.data, 0xfedcba98);
		KUNIT_EXPECT_EQ(test, -EPROTO,
				kverbs_wire_get(&msg, buf, sizeof(future), 0));
	}
	for (len = 0; len < sizeof(future); len++)
		KUNIT_EXPECT_EQ(test, -EPROTO,
				kverbs_wire_get(&msg, at_end(future, len), len, 1));
	/* A known type is held to what it is, whatever the peer speaks. */
	KUNIT_EXPECT_EQ(test, -EPROTO,
			get_patched(&(struct patch)PATCH(done, "", 1, 1, 2), &msg));
	buf = at_end(done_bytes, sizeof(done_bytes));
	buf[1] = 2;
	KUNIT_EXPECT_EQ(test, -EPROTO, kverbs_wire_get(&msg, buf, sizeof(done_bytes), 255));
}

static struct kunit_case wire_cases[] = {
	KUNIT_CASE(hello_golden),
	KUNIT_CASE(hello_padded),
	KUNIT_CASE(hello_truncated),
	KUNIT_CASE(hello_flipped),
	KUNIT_CASE(hello_limits),
	KUNIT_CASE(hello_future_minor),
	KUNIT_CASE(hello_future_major),
	KUNIT_CASE(refusal),
	KUNIT_CASE(golden_put),
	KUNIT_CASE(golden_get),
	KUNIT_CASE(truncated),
	KUNIT_CASE(extended),
	KUNIT_CASE(flipped),
	KUNIT_CASE(hostile),
	KUNIT_CASE(odd_but_valid),
	KUNIT_CASE(message_lengths),
	KUNIT_CASE(most_keys),
	KUNIT_CASE(huge_region),
	KUNIT_CASE(future_version),
	{}
};

static struct kunit_suite wire_suite = {
	.name = "wire",
	.suite_init = wire_suite_init,
	.suite_exit = wire_suite_exit,
	.test_cases = wire_cases,
};

kunit_test_suite(wire_suite);
