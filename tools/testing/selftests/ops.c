// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every operation and every flag: reads, immediates, messages, fences, inline
 * data and atomics move exactly the bytes they name, tell the peer's program
 * what they promise, and need the right they say they need; by every poll
 * context, on any completion vector, and by a registration per operation.
 */
#include "link.h"

#define ALL_RIGHTS	(KVERBS_RIGHT_WRITE | KVERBS_RIGHT_READ)

static const __u64 sizes[] = {
	1, 63, 64, 65, 1023, 1024, 1025, 4095, 4096, 4097,
	64 * KIB - 1, 64 * KIB, 64 * KIB + 1, MIB - 1, MIB, MIB + 1,
};

static void refused(struct link *l, const struct kverbs_item *it, int code)
{
	CHECK_ERR(kverbs_submit(l->a, l->ca, it, 1), code);
}

static struct kverbs_item told_item(__u32 flag, __u32 buf, __u32 region, __u64 to, __u64 length,
				    __u64 tag)
{
	struct kverbs_item it = item(buf, 0, region, to, length, KVERBS_DELIVERED);

	it.flags = flag;
	it.tag = tag;
	return it;
}

static struct kverbs_item message(__u32 buf, __u64 from, __u64 length, __u64 tag, __u32 until)
{
	struct kverbs_item it = op_item(KVERBS_OP_SEND, buf, from, 0, 0, length);

	it.tag = tag;
	it.until = until;
	return it;
}

/*
 * What is known and what a device can do are two things: siw has no immediate
 * and no atomics.
 */
static void features(void)
{
	const __u32 common = KVERBS_FEATURE_WRITE | KVERBS_FEATURE_NOTIFY | KVERBS_FEATURE_READ |
			     KVERBS_FEATURE_SEND | KVERBS_FEATURE_PERSIST;
	const __u32 roce = KVERBS_FEATURE_IMM | KVERBS_FEATURE_ATOMIC;
	struct kverbs_device *devices;
	struct kverbs_query query = { 0 };
	__u32 i, found = 0;

	CHECK_OK(kverbs_query_devices(context(), &query, &devices));
	CHECK_EQ(query.features & (common | roce | KVERBS_FEATURE_REG),
		 common | roce | KVERBS_FEATURE_REG);
	for (i = 0; i < query.nr_devices; i++) {
		if (strcmp(devices[i].name, env("KV_DEV", "rxe0")))
			continue;
		found++;
		CHECK_EQ(devices[i].features & common, common);
		CHECK_EQ(devices[i].features & roce, on_siw() ? 0 : roce);
		CHECK_EQ(devices[i].features & ~(__u32)query.features, 0);
	}
	CHECK_EQ(found, 1);
	free(devices);
}

/* Reads of all sizes: what they bring, and that nothing else changes. */
static void reads_of_each_size(const struct kverbs_conn_attr *attr, __u64 from_skew, __u64 to_skew)
{
	struct link l = link_with(attr);
	struct field f = field_as(&l, l.ca, l.cb, 2 * MIB, from_skew, ALL_RIGHTS);
	struct field here = landing(l.a, 2 * MIB, to_skew);
	struct kverbs_event event;
	__u64 from = 0, to = 0;
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		from = (from + 12289) % (f.length - sizes[i] + 1);
		to = (to + 20011) % (here.length - sizes[i] + 1);
		fill(f.mem + f.guard + from, sizes[i], 1000 + i);
		field_expect(&f, from, f.mem + f.guard + from, sizes[i]);
		event = GET(&l, here.buf, here.guard + to, f.region, from, sizes[i]);
		CHECK_EQ(event.length, sizes[i]);
		CHECK_EQ(event.reached, KVERBS_COMPLETED);
		CHECK(event.stamps[KVERBS_COMPLETED] >= event.stamps[KVERBS_POSTED]);
		field_expect(&here, to, f.mem + f.guard + from, sizes[i]);
		FIELD_CHECK(&here);
		FIELD_CHECK(&f);
	}
	link_close(&l);
}

static void read_aligned(void)
{
	reads_of_each_size(NULL, 0, 0);
}

static void read_unaligned(void)
{
	reads_of_each_size(NULL, 1, 4095);
	reads_of_each_size(NULL, 2047, 3);
}

/* One read in many pieces, on a short queue. */
static void read_in_pieces(void)
{
	const __u64 length = amount(MIB, 512 * KIB, 64 * KIB) + 77;
	struct kverbs_conn_attr attr = { .depth = 3, .wr_ceiling = 1000 };
	struct link l = link_with(&attr);
	struct field f = field_as(&l, l.ca, l.cb, length, 5, ALL_RIGHTS);
	struct field here = landing(l.a, length, 1001);
	struct kverbs_conn_query query;

	GET(&l, here.buf, here.guard, f.region, 0, length);
	field_expect(&here, 0, f.mem + f.guard, length);
	FIELD_CHECK(&here);
	query = conn_query(l.a, l.ca);
	CHECK_EQ(query.wr_ceiling, 1000);
	CHECK(query.rd_atomic);
	CHECK_EQ(query.counters.bytes, length);
	CHECK(query.counters.wrs >= length / 1000);
	link_close(&l);
}

/* More reads in one call than may be on the way at once. */
static void many_reads(void)
{
	enum { NR = 500 };
	static struct kverbs_item items[NR];
	struct link l = link_up();
	struct field f = field_as(&l, l.ca, l.cb, NR * 200, 9, KVERBS_RIGHT_READ);
	struct field here = landing(l.a, NR * 200, 3);
	__u32 i;

	for (i = 0; i < NR; i++) {
		items[i] = op_item(KVERBS_OP_READ, here.buf, here.guard + i * 200, f.region,
				   (i * 7) % NR * 200, 1 + (i * 13) % 200);
		items[i].user_data = i;
		field_expect(&here, i * 200, f.mem + f.guard + items[i].region_offset,
			     items[i].length);
	}
	CHECK_EQ(CHECK_OK(kverbs_submit(l.a, l.ca, items, NR)), NR);
	for (i = 0; i < NR; i++)
		CHECK_EQ(NEXT_FINAL(l.a).user_data, i);
	FIELD_CHECK(&here);
	FIELD_CHECK(&f);
	link_close(&l);
}

/* A region under many keys, and reads across them. */
static void read_many_keys(void)
{
	const __u64 length = 5 * MIB + 12345, step = MIB;
	struct kverbs_region region;
	struct link l = link_up();
	struct field f = field_as(&l, l.ca, l.cb, length, 1234, ALL_RIGHTS);
	struct field here = landing(l.a, length, 4001);
	__u32 nr = 1;
	__u64 edge;

	CHECK_OK(kverbs_region_list(l.a, l.ca, &region, &nr));
	CHECK_EQ(region.rights, ALL_RIGHTS);
	CHECK(region.keys >= 3);
	GET(&l, here.buf, here.guard, f.region, 0, length);
	field_expect(&here, 0, f.mem + f.guard, length);
	FIELD_CHECK(&here);
	for (edge = step - 1234; edge < length; edge += step) {
		GET(&l, here.buf, here.guard + 3, f.region, edge - 1, 2);
		field_expect(&here, 3, f.mem + f.guard + edge - 1, 2);
		GET(&l, here.buf, here.guard + 11, f.region, edge - 4099, 8197);
		field_expect(&here, 11, f.mem + f.guard + edge - 4099, 8197);
		FIELD_CHECK(&here);
	}
	FIELD_CHECK(&f);
	link_close(&l);
}

/* What a read must be, and a write of the same region must not. */
static void read_rights(void)
{
	struct link l = link_up();
	struct field w = field_of(&l, 4096, 0);
	struct field r = field_as(&l, l.ca, l.cb, 4096, 0, KVERBS_RIGHT_READ);
	struct field here = landing(l.a, 4096, 0);
	struct kverbs_item good, it;
	__u32 buf, until;

	source(l.a, 4096, 0, 1, &buf);
	good = op_item(KVERBS_OP_READ, here.buf, here.guard, r.region, 0, 64);
	it = good;
	it.region_id = w.region;
	refused(&l, &it, EACCES);
	it = good;
	it.buf_id = buf;
	it.buf_offset = 0;
	refused(&l, &it, EACCES);
	for (until = KVERBS_DELIVERED; until < KVERBS_MOMENTS; until++) {
		it = good;
		it.until = until;
		refused(&l, &it, EOPNOTSUPP);
	}
	it = good;
	it.tag = 1;
	refused(&l, &it, EINVAL);
	it = good;
	it.length = 0;
	refused(&l, &it, EINVAL);
	it = good;
	it.length = 4097;
	refused(&l, &it, ERANGE);
	it = good;
	it.region_offset = 4096;
	refused(&l, &it, ERANGE);
	it = good;
	it.operand = 1;
	refused(&l, &it, EINVAL);
	it = good;
	it.compare = 1;
	refused(&l, &it, EINVAL);
	FIELD_CHECK(&here);
	SUBMIT(&l, &good);
	NEXT_FINAL(l.a);
	field_expect(&here, 0, r.mem + r.guard, 64);
	FIELD_CHECK(&here);
	CHECK_EQ(conn_query(l.a, l.ca).counters.submitted, 1);
	link_close(&l);
}

static void write_rights(void)
{
	static const __u32 flags[] = {
		0, KVERBS_ITEM_NOTIFY, KVERBS_ITEM_FENCE, KVERBS_ITEM_NOTIFY | KVERBS_ITEM_FENCE,
	};
	struct link l = link_up();
	struct field r = field_as(&l, l.ca, l.cb, 4096, 0, KVERBS_RIGHT_READ);
	struct field both = field_as(&l, l.ca, l.cb, 4096, 0, ALL_RIGHTS);
	struct kverbs_item it;
	__u32 buf, i;
	__u8 *mem;

	mem = source(l.a, 4096, 0, 2, &buf);
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		it = told_item(flags[i], buf, r.region, 0, 64, 1);
		refused(&l, &it, EACCES);
		it = told_item(flags[i], buf, both.region, 0, 64, 1);
		it.operand = 1;
		refused(&l, &it, EINVAL);
		it.operand = 0;
		it.compare = 1;
		refused(&l, &it, EINVAL);
	}
	FIELD_CHECK(&r);
	PUT(&l, buf, 0, both.region, 0, 4096);
	field_expect(&both, 0, mem, 4096);
	FIELD_CHECK(&both);
	link_close(&l);
}

/* What may only be read may be exposed to be read, and to nothing else. */
static void read_only_memory(void)
{
	static const __u32 more[] = {
		KVERBS_RIGHT_WRITE, ALL_RIGHTS, KVERBS_RIGHT_READ | KVERBS_RIGHT_ATOMIC,
	};
	struct link l = link_up();
	struct field here = landing(l.a, 8192, 7);
	struct kverbs_region_expose cmd = { .target_id = l.cb, .length = 8192 };
	__u32 buf, own, region, i;
	__u8 *mem;

	mem = source(l.b, 8192, 100, 3, &buf);
	cmd.buf_id = buf;
	for (i = 0; i < ARRAY_SIZE(more); i++) {
		if (on_siw() && more[i] & KVERBS_RIGHT_ATOMIC)
			continue;
		cmd.rights = more[i];
		CHECK_ERR(kverbs_region_expose(l.b, &cmd), EACCES);
	}
	cmd.rights = 0;
	CHECK_ERR(kverbs_region_expose(l.b, &cmd), EINVAL);
	cmd.rights = KVERBS_RIGHT_READ | 1 << 31;
	CHECK_ERR(kverbs_region_expose(l.b, &cmd), EOPNOTSUPP);
	expose_as(&l, l.ca, l.cb, buf, 0, 8192, KVERBS_RIGHT_READ, &own, &region);
	GET(&l, here.buf, here.guard, region, 0, 8192);
	field_expect(&here, 0, mem, 8192);
	FIELD_CHECK(&here);
	link_close(&l);
}

static void skip_without_imm(void)
{
	if (on_siw())
		skip("iWARP has no immediate");
}

/* The event, that the data is there by then, and every moment. */
static void imm(void)
{
	__u32 buf, until;
	struct kverbs_event event;
	struct kverbs_item it;
	struct field f;
	struct link l;
	__u64 seq = 0;
	__u8 *mem;

	skip_without_imm();
	l = link_up();
	f = field_of(&l, 64 * KIB, 1);
	mem = source(l.a, 64 * KIB, 0, 4, &buf);
	for (until = KVERBS_COMPLETED; until < KVERBS_MOMENTS; until++) {
		it = told_item(KVERBS_ITEM_IMM, buf, f.region, until * 5000, until * 1000 + 1,
			       0xffffffffU - until);
		it.until = until;
		it.user_data = until;
		SUBMIT(&l, &it);
		event = NEXT_EVENT(l.b, KVERBS_EVENT_IMM, 0);
		field_expect(&f, it.region_offset, mem, it.length);
		FIELD_CHECK(&f);
		CHECK_EQ(event.id, l.cb);
		CHECK_EQ(event.tag, 0xffffffffU - until);
		CHECK_EQ(event.length, it.length);
		CHECK(event.seq > seq);
		seq = event.seq;
		if (until >= KVERBS_CONSUMED) {
			CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
			CHECK_OK(kverbs_ack(l.b, l.cb, seq, until == KVERBS_PERSISTED ?
					    KVERBS_ACK_PERSISTED : 0));
		}
		event = NEXT_FINAL(l.a);
		CHECK_EQ(event.user_data, until);
		CHECK_EQ(event.reached, until);
		CHECK_EQ(event.placement, KVERBS_PLACEMENT_PLACED);
	}
	CHECK_EQ(conn_query(l.b, l.cb).counters.notified, KVERBS_MOMENTS - 1);
	CHECK(no_event(l.b, KVERBS_EVENT_NOTIFY, 0));
	link_close(&l);
}

/* However many pieces, the last one alone carries it. */
static void imm_in_pieces(void)
{
	struct kverbs_conn_attr attr = { .depth = 4, .wr_ceiling = 100 };
	__u32 buf, i, rounds = 20;
	struct kverbs_event event;
	struct kverbs_item it;
	struct field f;
	struct link l;
	__u8 *mem;

	skip_without_imm();
	l = link_with(&attr);
	f = field_of(&l, 8192, 3);
	mem = source(l.a, 8192, 9, 5, &buf);
	for (i = 1; i <= rounds; i++) {
		it = told_item(KVERBS_ITEM_IMM, buf, f.region, i, i * 99, i);
		SUBMIT(&l, &it);
		event = NEXT_EVENT(l.b, KVERBS_EVENT_IMM, l.cb);
		field_expect(&f, i, mem, i * 99);
		FIELD_CHECK(&f);
		CHECK_EQ(event.tag, i);
		CHECK(event.length && event.length <= it.length);
		NEXT_FINAL(l.a);
		CHECK(no_event(l.b, KVERBS_EVENT_IMM, 0));
	}
	CHECK_EQ(conn_query(l.b, l.cb).counters.notified, rounds);
	link_close(&l);
}

static void imm_refused(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_item it;
	__u32 buf;

	source(l.a, 4096, 0, 6, &buf);
	it = told_item(KVERBS_ITEM_IMM, buf, f.region, 0, 64, 1);
	if (on_siw()) {
		refused(&l, &it, EOPNOTSUPP);
	} else {
		it.tag = 1ULL << 32;
		refused(&l, &it, EINVAL);
		it.tag = ~0ULL;
		refused(&l, &it, EINVAL);
		it.tag = 1;
		it.flags |= KVERBS_ITEM_NOTIFY;
		refused(&l, &it, EINVAL);
		f = field_as(&l, l.ca, l.cb, 4096, 0, KVERBS_RIGHT_READ);
		it = told_item(KVERBS_ITEM_IMM, buf, f.region, 0, 64, 1);
		refused(&l, &it, EACCES);
	}
	CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	CHECK(no_event(l.b, KVERBS_EVENT_IMM, 0));
	FIELD_CHECK(&f);
	CHECK_EQ(conn_query(l.a, l.ca).counters.submitted, 0);
	link_close(&l);
}

/* Messages of every length, whole, and each moment they may wait for. */
static void send_each_length(void)
{
	__u32 step = amount(1, 7, 37), buf, length, until, got = 0;
	__u8 bytes[KVERBS_MESSAGE_MAX + 8];
	struct link l = link_up();
	struct kverbs_event event;
	struct kverbs_item it;
	__u64 seq = 0;
	__u8 *mem;

	mem = source(l.a, 4096, 33, 7, &buf);
	for (length = 1; length <= KVERBS_MESSAGE_MAX; length += step, got++) {
		if (length + step > KVERBS_MESSAGE_MAX)
			length = KVERBS_MESSAGE_MAX;
		until = KVERBS_COMPLETED + length % (KVERBS_MOMENTS - 1);
		it = message(buf, length * 3, length, ~(__u64)length, until);
		SUBMIT(&l, &it);
		memset(bytes, 0xa5, sizeof(bytes));
		event = NEXT_MESSAGE(l.b, l.cb, bytes);
		CHECK_EQ(event.length, length);
		CHECK(!memcmp(bytes, mem + length * 3, length));
		CHECK_EQ(bytes[length], 0xa5);
		CHECK_EQ(bytes[KVERBS_MESSAGE_MAX + 7], 0xa5);
		CHECK_EQ(event.tag, ~(__u64)length);
		CHECK(event.seq > seq);
		seq = event.seq;
		if (until >= KVERBS_CONSUMED) {
			CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
			CHECK_OK(kverbs_ack(l.b, l.cb, seq, KVERBS_ACK_PERSISTED));
		}
		event = NEXT_FINAL(l.a);
		CHECK_EQ(event.reached, until);
		CHECK_EQ(event.length, length);
	}
	CHECK_EQ(conn_query(l.b, l.cb).counters.notified, got);
	link_close(&l);
}

static void send_refused(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_item it;
	__u32 buf;

	source(l.a, 4096, 0, 8, &buf);
	it = message(buf, 0, KVERBS_MESSAGE_MAX + 1, 0, KVERBS_DELIVERED);
	refused(&l, &it, EMSGSIZE);
	it.length = 4096;
	refused(&l, &it, EMSGSIZE);
	it.length = 0;
	refused(&l, &it, EINVAL);
	it.length = 2;
	it.buf_offset = 4095;
	refused(&l, &it, ERANGE);
	it.buf_offset = 0;
	it.region_offset = 1;
	refused(&l, &it, EINVAL);
	it.region_offset = 0;
	it.region_id = f.region;
	refused(&l, &it, EINVAL);
	it.region_id = 0;
	it.buf_id = 0;
	refused(&l, &it, ENOENT);
	it.buf_id = buf;
	it.operand = 1;
	refused(&l, &it, EINVAL);
	CHECK_EQ(conn_query(l.a, l.ca).counters.submitted, 0);
	CHECK(no_event(l.b, KVERBS_EVENT_MESSAGE, 0));
	link_close(&l);
}

/* The bytes are taken at SUBMIT, also of what is sent much later. */
static void send_is_copied(void)
{
	enum { NR = 200 };
	__u8 bytes[KVERBS_MESSAGE_MAX], want[KVERBS_MESSAGE_MAX];
	struct link l = link_up();
	struct kverbs_event event;
	struct kverbs_item it;
	__u32 buf, i;
	__u8 *mem;

	mem = source(l.a, KVERBS_MESSAGE_MAX, 3900, 9, &buf);
	for (i = 0; i < NR; i++) {
		fill(mem, KVERBS_MESSAGE_MAX, i);
		it = message(buf, 0, KVERBS_MESSAGE_MAX, i, KVERBS_DELIVERED);
		SUBMIT(&l, &it);
	}
	memset(mem, 0xee, KVERBS_MESSAGE_MAX);
	for (i = 0; i < NR; i++) {
		event = NEXT_MESSAGE(l.b, l.cb, bytes);
		CHECK_EQ(event.tag, i);
		CHECK_EQ(event.length, KVERBS_MESSAGE_MAX);
		fill(want, sizeof(want), i);
		CHECK(!memcmp(bytes, want, sizeof(want)));
	}
	for (i = 0; i < NR; i++)
		NEXT_FINAL(l.a);
	link_close(&l);
}

/* Too little room cuts a message, none leaves nothing of it; neither loses others. */
static void send_cut(void)
{
	static const __u32 rooms[] = { 0, 1, 99 };
	struct link l = link_up();
	struct kverbs_event event;
	struct kverbs_item it;
	__u32 buf, used, i;
	__u8 bytes[KVERBS_MESSAGE_MAX];
	__u8 *mem;

	mem = source(l.a, 4096, 0, 10, &buf);
	forget_events(l.b);
	for (i = 0; i < ARRAY_SIZE(rooms); i++) {
		it = message(buf, i, 100, i, KVERBS_CONSUMED);
		SUBMIT(&l, &it);
		memset(bytes, 0xa5, sizeof(bytes));
		CHECK_EQ(take_events(l.b, &event, 1, rooms[i] ? bytes : NULL, rooms[i], &used,
				     patience_ms(), 0), 1);
		CHECK_EQ(event.kind, KVERBS_EVENT_MESSAGE);
		CHECK_EQ(event.status, EMSGSIZE);
		CHECK_EQ(event.tag, i);
		CHECK(used <= rooms[i]);
		CHECK(!memcmp(bytes, mem + i, used));
		CHECK_EQ(bytes[rooms[i]], 0xa5);
		/* It is taken, and can be acknowledged. */
		CHECK(no_event(l.b, KVERBS_EVENT_MESSAGE, 0));
		CHECK_OK(kverbs_ack(l.b, l.cb, event.seq, 0));
		NEXT_FINAL(l.a);
	}
	it = message(buf, 50, 100, 77, KVERBS_DELIVERED);
	SUBMIT(&l, &it);
	event = NEXT_MESSAGE(l.b, l.cb, bytes);
	CHECK_EQ(event.tag, 77);
	CHECK(!memcmp(bytes, mem + 50, 100));
	NEXT_FINAL(l.a);
	link_close(&l);
}

/* Room that cannot be written: the message stays. */
static void send_into_bad_memory(void)
{
	struct link l = link_up();
	struct kverbs_event event;
	struct kverbs_item it;
	__u8 bytes[KVERBS_MESSAGE_MAX];
	__u32 buf, used;
	__u8 *mem;

	mem = source(l.a, 4096, 0, 11, &buf);
	forget_events(l.b);
	it = message(buf, 0, 300, 5, KVERBS_DELIVERED);
	SUBMIT(&l, &it);
	NEXT_FINAL(l.a);
	CHECK_ERR(take_events(l.b, &event, 1, (void *)0xffff888000000000UL, 448, &used,
			      patience_ms(), 0), EFAULT);
	event = NEXT_MESSAGE(l.b, l.cb, bytes);
	CHECK_EQ(event.tag, 5);
	CHECK(!memcmp(bytes, mem, 300));
	link_close(&l);
}

/* Events of one WAIT: where each one's bytes are, and who does not fit any more. */
static __u32 check_several(const struct kverbs_event *events, int nr, const __u8 *data, __u32 used,
			   const __u8 *mem, __u32 first)
{
	__u64 end = 0;
	int i;

	for (i = 0; i < nr; i++) {
		CHECK_EQ(events[i].kind, KVERBS_EVENT_MESSAGE);
		CHECK_EQ(events[i].status, 0);
		CHECK_EQ(events[i].tag, first + i);
		CHECK_EQ(events[i].length, 40 + events[i].tag);
		CHECK(events[i].offset >= end);
		end = events[i].offset + events[i].length;
		CHECK(end <= used);
		CHECK(!memcmp(data + events[i].offset, mem + events[i].tag, events[i].length));
	}
	return first + nr;
}

static void send_several(void)
{
	enum { NR = 20 };
	struct kverbs_event events[NR + 1];
	__u8 data[NR * KVERBS_MESSAGE_MAX];
	__u32 buf, used, i, first = 0, calls = 0;
	struct link l = link_up();
	struct kverbs_item it;
	__u8 *mem;
	int nr;

	mem = source(l.a, 4096, 0, 12, &buf);
	forget_events(l.b);
	for (i = 0; i < 2 * NR; i++) {
		it = message(buf, i % NR, 40 + i % NR, i % NR, KVERBS_DELIVERED);
		SUBMIT(&l, &it);
	}
	for (i = 0; i < 2 * NR; i++)
		NEXT_FINAL(l.a);
	/* Room for 130 bytes: two or three at a time, the rest waits. */
	for (first = 0; first < NR; calls++) {
		memset(data, 0xa5, sizeof(data));
		nr = take_events(l.b, events, NR - first, data, 130, &used, patience_ms(), 0);
		CHECK(nr >= 1 && nr <= 3);
		CHECK(used <= 130 && data[130] == 0xa5);
		first = check_several(events, nr, data, used, mem, first);
	}
	CHECK(calls >= NR / 3);
	/* Room for all of them: one call. */
	nr = take_events(l.b, events, NR + 1, data, sizeof(data), &used, patience_ms(), 0);
	CHECK_EQ(nr, NR);
	check_several(events, nr, data, used, mem, 0);
	CHECK(no_event(l.b, KVERBS_EVENT_MESSAGE, 0));
	link_close(&l);
}

/* Everything that the peer's program is told of comes in the order of submission. */
static void told_in_order(void)
{
	static const __u32 kinds[] = {
		KVERBS_EVENT_MESSAGE, KVERBS_EVENT_NOTIFY, KVERBS_EVENT_IMM,
	};
	const __u32 nr = 90, nr_kinds = on_siw() ? 2 : 3;
	__u8 bytes[KVERBS_MESSAGE_MAX];
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_event event;
	struct kverbs_item items[90];
	__u32 buf, used, i;
	__u64 seq = 0;

	source(l.a, 4096, 0, 13, &buf);
	forget_events(l.b);
	for (i = 0; i < nr; i++) {
		if (i % nr_kinds == 0)
			items[i] = message(buf, i, 16, i, KVERBS_DELIVERED);
		else
			items[i] = told_item(i % nr_kinds == 1 ? KVERBS_ITEM_NOTIFY :
					     KVERBS_ITEM_IMM, buf, f.region, i, 16, i);
	}
	CHECK_EQ(CHECK_OK(kverbs_submit(l.a, l.ca, items, nr)), nr);
	for (i = 0; i < nr; i++) {
		CHECK_EQ(take_events(l.b, &event, 1, bytes, sizeof(bytes), &used, patience_ms(),
				     0), 1);
		CHECK_EQ(event.kind, kinds[i % nr_kinds]);
		CHECK_EQ(event.tag, i);
		CHECK(event.seq > seq);
		seq = event.seq;
	}
	for (i = 0; i < nr; i++)
		NEXT_FINAL(l.a);
	link_close(&l);
}

/* A target that does not look stalls its peer, which loses nothing by it. */
static void send_to_slow_program(void)
{
	enum { NR = 300 };
	static struct kverbs_item items[NR];
	struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	__u8 bytes[KVERBS_MESSAGE_MAX];
	struct link l = link_up();
	struct kverbs_conn_query query;
	struct kverbs_event event;
	struct field f;
	__u32 buf, i;
	__u8 *mem;

	mem = source(l.a, 4096, 0, 14, &buf);
	for (i = 0; i < NR; i++) {
		items[i] = message(buf, i, 1 + i, i * 3, KVERBS_DELIVERED);
		items[i].user_data = i;
	}
	CHECK_EQ(CHECK_OK(kverbs_submit(l.a, l.ca, items, NR)), NR);
	for (i = 0; conn_query(l.a, l.ca).data_credits; i++) {
		CHECK(i < (__u32)patience_ms() / 20);
		nanosleep(&pause, NULL);
	}
	/* An advertisement passes; by then everything that could has been sent. */
	f = field_of(&l, 4096, 0);
	CHECK(f.region);
	query = conn_query(l.a, l.ca);
	CHECK_EQ(query.data_credits, 0);
	CHECK(query.counters.credit_stalls);
	CHECK(query.counters.finished < NR);
	CHECK_EQ(query.state, KVERBS_STATE_UP);
	note("%llu of %u while nobody looked", query.counters.finished, NR);
	for (i = 0; i < NR; i++) {
		event = NEXT_MESSAGE(l.b, l.cb, bytes);
		CHECK_EQ(event.tag, i * 3);
		CHECK_EQ(event.length, 1 + i);
		CHECK(!memcmp(bytes, mem + i, 1 + i));
	}
	for (i = 0; i < NR; i++)
		CHECK_EQ(NEXT_FINAL(l.a).user_data, i);
	link_close(&l);
}

/* From the end that accepted, too, and both at once. */
static void send_both_ways(void)
{
	enum { NR = 200 };
	struct link l = link_up();
	__u8 bytes[KVERBS_MESSAGE_MAX];
	__u32 from_a, from_b, i;
	struct kverbs_item it;
	__u8 *at_a, *at_b;

	at_a = source(l.a, 4096, 0, 15, &from_a);
	at_b = source(l.b, 4096, 0, 16, &from_b);
	for (i = 0; i < NR; i++) {
		it = message(from_a, i, 64, i, KVERBS_DELIVERED);
		CHECK_EQ(kverbs_submit(l.a, l.ca, &it, 1), 1);
		it = message(from_b, i, 65, i, KVERBS_DELIVERED);
		CHECK_EQ(kverbs_submit(l.b, l.cb, &it, 1), 1);
	}
	for (i = 0; i < NR; i++) {
		CHECK_EQ(NEXT_MESSAGE(l.b, l.cb, bytes).tag, i);
		CHECK(!memcmp(bytes, at_a + i, 64));
		CHECK_EQ(NEXT_MESSAGE(l.a, l.ca, bytes).tag, i);
		CHECK(!memcmp(bytes, at_b + i, 65));
	}
	for (i = 0; i < NR; i++) {
		NEXT_FINAL(l.a);
		NEXT_FINAL(l.b);
	}
	link_close(&l);
}

/*
 * A read and a fenced write over what it reads, in one call: the read brings
 * what was there before, every time.
 */
static void fence(void)
{
	const __u64 length = 24 * KIB;
	const __u32 rounds = amount(500, 200, 20);
	struct kverbs_conn_attr attr = { .wr_ceiling = 4096 };
	struct link l = link_with(&attr);
	struct field f = field_as(&l, l.ca, l.cb, length, 3, ALL_RIGHTS);
	struct field here = landing(l.a, length, 11);
	struct kverbs_event read, write;
	struct kverbs_item items[2];
	__u32 buf, i;
	__u8 *mem;

	mem = source(l.a, length, 1, 17, &buf);
	for (i = 0; i < rounds; i++) {
		fill(mem, length, 100 + i);
		items[0] = op_item(KVERBS_OP_READ, here.buf, here.guard, f.region, 0, length);
		items[1] = item(buf, 0, f.region, 0, length, KVERBS_DELIVERED);
		items[1].flags = KVERBS_ITEM_FENCE;
		items[1].user_data = 1;
		field_expect(&here, 0, f.want + f.guard, length);
		field_expect(&f, 0, mem, length);
		CHECK_EQ(CHECK_OK(kverbs_submit(l.a, l.ca, items, 2)), 2);
		read = NEXT_FINAL(l.a);
		write = NEXT_FINAL(l.a);
		CHECK(!read.user_data && write.user_data);
		CHECK(write.stamps[KVERBS_COMPLETED] >= read.stamps[KVERBS_COMPLETED]);
		FIELD_CHECK(&here);
		FIELD_CHECK(&f);
	}
	link_close(&l);
}

/* Many reads before it, none before it, and on other operations. */
static void fences(void)
{
	enum { NR = 120 };
	static struct kverbs_item items[NR];
	struct link l = link_up();
	struct field f = field_as(&l, l.ca, l.cb, NR * 64, 0, ALL_RIGHTS);
	struct field here = landing(l.a, NR * 64, 0);
	__u8 bytes[KVERBS_MESSAGE_MAX];
	__u32 buf, i;
	__u8 *mem;

	mem = source(l.a, NR * 64, 0, 18, &buf);
	/* Place after place: read it, then write it. Each write waits for all reads. */
	for (i = 0; i < NR; i++) {
		items[i] = i % 4 != 3 ?
			op_item(KVERBS_OP_READ, here.buf, here.guard + i * 64, f.region,
				i / 4 * 64, 64) :
			item(buf, i * 64, f.region, i / 4 * 64, 64, KVERBS_DELIVERED);
		if (i % 4 == 3)
			items[i].flags = KVERBS_ITEM_FENCE;
		items[i].user_data = i;
	}
	for (i = 0; i < NR; i++) {
		if (i % 4 != 3)
			field_expect(&here, i * 64, f.want + f.guard + i / 4 * 64, 64);
		else
			field_expect(&f, i / 4 * 64, mem + i * 64, 64);
	}
	CHECK_EQ(CHECK_OK(kverbs_submit(l.a, l.ca, items, NR)), NR);
	for (i = 0; i < NR; i++)
		NEXT_FINAL(l.a);
	FIELD_CHECK(&here);
	FIELD_CHECK(&f);

	items[0] = op_item(KVERBS_OP_READ, here.buf, here.guard, f.region, 0, 64);
	/* siw has none of this kind. */
	items[0].flags = on_siw() ? 0 : KVERBS_ITEM_FENCE;
	items[1] = message(buf, 0, 64, 9, KVERBS_DELIVERED);
	items[1].flags = KVERBS_ITEM_FENCE;
	items[2] = told_item(KVERBS_ITEM_NOTIFY | KVERBS_ITEM_FENCE, buf, f.region, 0, 64, 10);
	field_expect(&here, 0, f.want + f.guard, 64);
	field_expect(&f, 0, mem, 64);
	CHECK_EQ(CHECK_OK(kverbs_submit(l.a, l.ca, items, 3)), 3);
	CHECK_EQ(NEXT_MESSAGE(l.b, l.cb, bytes).tag, 9);
	CHECK_EQ(NEXT_EVENT(l.b, KVERBS_EVENT_NOTIFY, l.cb).tag, 10);
	for (i = 0; i < 3; i++)
		NEXT_FINAL(l.a);
	FIELD_CHECK(&here);
	FIELD_CHECK(&f);
	link_close(&l);
}

/* The bytes are taken at SUBMIT: what comes into the source after is not sent. */
static void inline_writes(struct link *l, __u32 max)
{
	const __u32 rounds = amount(300, 300, 60);
	struct field f = field_of(l, (__u64)rounds * max, 1);
	struct kverbs_item it;
	__u32 buf, i, length;
	__u8 *mem;

	mem = source(l->a, max + 1, 4000, 19, &buf);
	for (i = 0; i < rounds; i++) {
		length = i % 3 ? 1 + i % max : max;
		fill(mem, max, i);
		it = item(buf, 0, f.region, i * max, length,
			  i % 2 ? KVERBS_COMPLETED : KVERBS_DELIVERED);
		it.flags = KVERBS_ITEM_INLINE | (i % 5 ? 0 : KVERBS_ITEM_FENCE);
		field_expect(&f, i * max, mem, length);
		SUBMIT(l, &it);
		memset(mem, 0xee, max);
	}
	for (i = 0; i < rounds; i++)
		NEXT_FINAL(l->a);
	PUT(l, buf, 0, f.region, 0, 1);
	field_expect(&f, 0, mem, 1);
	FIELD_CHECK(&f);
	it = item(buf, 0, f.region, 0, max + 1, KVERBS_COMPLETED);
	it.flags = KVERBS_ITEM_INLINE;
	refused(l, &it, EMSGSIZE);
	/* Told of like any other write. */
	it = told_item(KVERBS_ITEM_INLINE | KVERBS_ITEM_NOTIFY, buf, f.region, 0, 1, 5);
	SUBMIT(l, &it);
	CHECK_EQ(NEXT_EVENT(l->b, KVERBS_EVENT_NOTIFY, l->cb).tag, 5);
	NEXT_FINAL(l->a);
	it.flags = KVERBS_ITEM_INLINE | KVERBS_ITEM_IMM;
	if (on_siw())
		return;
	SUBMIT(l, &it);
	CHECK_EQ(NEXT_EVENT(l->b, KVERBS_EVENT_IMM, l->cb).tag, 5);
	NEXT_FINAL(l->a);
}

static void inline_data(void)
{
	static const __u32 asked[] = { 0, 1, 64, 512 };
	struct kverbs_conn_query query;
	struct kverbs_item it;
	struct field f;
	__u32 buf, i;

	for (i = 0; i < ARRAY_SIZE(asked); i++) {
		struct kverbs_conn_attr attr = { .max_inline = asked[i] };
		struct link l = link_with(&attr);

		query = conn_query(l.a, l.ca);
		/* A device that refuses is asked for less. */
		CHECK(query.asked.max_inline <= asked[i]);
		CHECK(query.actual.max_inline <= asked[i]);
		note("inline: asked for %u, got %u", asked[i], query.actual.max_inline);
		if (query.actual.max_inline) {
			inline_writes(&l, query.actual.max_inline);
		} else {
			f = field_of(&l, 4096, 0);
			source(l.a, 4096, 0, 20, &buf);
			it = item(buf, 0, f.region, 0, 1, KVERBS_COMPLETED);
			it.flags = KVERBS_ITEM_INLINE;
			refused(&l, &it, EOPNOTSUPP);
		}
		link_close(&l);
	}
}

static void skip_without_atomics(void)
{
	if (on_siw())
		skip("siw has no atomics");
}

static __u64 *word(const struct field *f, __u64 offset)
{
	return (__u64 *)(f->mem + f->guard + offset);
}

static struct kverbs_item atomic(__u32 op, const struct field *here, __u64 to,
				 const struct field *f, __u64 at, __u64 operand, __u64 compare)
{
	struct kverbs_item it = op_item(op, here->buf, here->guard + to, f->region, at, 8);

	it.operand = operand;
	it.compare = compare;
	return it;
}

/* One atomic, to its end: what comes back, and what stays there. */
static void atomically(struct link *l, __u32 op, struct field *here, struct field *f, __u64 at,
		       __u64 operand, __u64 compare)
{
	struct kverbs_item it = atomic(op, here, at, f, at, operand, compare);
	struct kverbs_event event;
	__u64 was, now;

	memcpy(&was, f->want + f->guard + at, 8);
	now = op == KVERBS_OP_FETCH_ADD ? was + operand : was == compare ? operand : was;
	SUBMIT(l, &it);
	event = NEXT_FINAL(l->a);
	CHECK_EQ(event.reached, KVERBS_COMPLETED);
	CHECK_EQ(event.length, 8);
	field_expect(here, at, &was, 8);
	field_expect(f, at, &now, 8);
	FIELD_CHECK(here);
	FIELD_CHECK(f);
}

static void atomics(void)
{
	static const __u64 add[] = { 1, 0, ~0ULL, 1ULL << 32, 1ULL << 63, 0x0123456789abcdefULL };
	struct field f, here;
	struct link l;
	__u64 at, is;
	__u32 i;

	skip_without_atomics();
	l = link_up();
	f = field_as(&l, l.ca, l.cb, 8192, 0, KVERBS_RIGHT_ATOMIC | KVERBS_RIGHT_READ);
	here = landing(l.a, 8192, 0);
	for (i = 0; i < ARRAY_SIZE(add); i++)
		for (at = 0; at < 8192; at += 4096 - 8)
			atomically(&l, KVERBS_OP_FETCH_ADD, &here, &f, at, add[i], 0);
	for (i = 0; i < 20; i++) {
		at = i % 2 ? 8184 : 4096;
		is = *word(&f, at);
		atomically(&l, KVERBS_OP_CMP_SWAP, &here, &f, at, ~is + i, is);
		CHECK_EQ(*word(&f, at), ~is + i);
		atomically(&l, KVERBS_OP_CMP_SWAP, &here, &f, at, i, is);
		CHECK_EQ(*word(&f, at), ~is + i);
	}
	link_close(&l);
}

/* Two connections count up the same eight bytes: every number is had once. */
static void atomics_by_two(void)
{
	enum { MOST = 1000 };
	static struct kverbs_item items[MOST];
	static bool seen[2 * MOST];
	const __u64 nr = amount(MOST, MOST, 100);
	struct link l, m;
	struct field f, g, here;
	__u64 i, was;

	skip_without_atomics();
	l = link_up();
	m = l;
	connect_again(&l, NULL, &m.ca, &m.cb);
	f = field_as(&l, l.ca, l.cb, 4096, 0, KVERBS_RIGHT_ATOMIC);
	g = f;
	expose_as(&m, m.ca, m.cb, f.buf, f.guard, 4096, KVERBS_RIGHT_ATOMIC, &g.own, &g.region);
	here = landing(l.a, 2 * MOST * 8, 0);
	*word(&f, 64) = 0;
	for (i = 0; i < nr; i++)
		items[i] = atomic(KVERBS_OP_FETCH_ADD, &here, i * 8, &f, 64, 1, 0);
	CHECK_EQ(CHECK_OK(kverbs_submit(l.a, l.ca, items, nr)), nr);
	for (i = 0; i < nr; i++)
		items[i] = atomic(KVERBS_OP_FETCH_ADD, &here, (nr + i) * 8, &g, 64, 1, 0);
	CHECK_EQ(CHECK_OK(kverbs_submit(m.a, m.ca, items, nr)), nr);
	for (i = 0; i < 2 * nr; i++)
		NEXT_FINAL(l.a);
	for (i = 0; i < 2 * nr; i++) {
		was = *word(&here, i * 8);
		CHECK(was < 2 * nr);
		CHECK(!seen[was]);
		seen[was] = true;
	}
	was = 2 * nr;
	field_expect(&f, 64, &was, 8);
	FIELD_CHECK(&f);
	link_close(&l);
}

static void atomics_refused(void)
{
	struct field f, here, plain, odd;
	struct kverbs_item good, it;
	struct link l;
	__u32 buf, i;
	__u64 is;

	skip_without_atomics();
	l = link_up();
	f = field_as(&l, l.ca, l.cb, 4096, 0, KVERBS_RIGHT_ATOMIC | ALL_RIGHTS);
	plain = field_as(&l, l.ca, l.cb, 4096, 0, ALL_RIGHTS);
	here = landing(l.a, 4096, 0);
	source(l.a, 4096, 0, 21, &buf);
	good = atomic(KVERBS_OP_FETCH_ADD, &here, 0, &f, 8, 1, 0);
	for (i = 1; i < 8; i++) {
		it = good;
		it.region_offset = 8 + i;
		refused(&l, &it, EINVAL);
		it = good;
		it.length = i;
		refused(&l, &it, EINVAL);
	}
	it = good;
	it.length = 16;
	refused(&l, &it, EINVAL);
	it = good;
	it.region_id = plain.region;
	refused(&l, &it, EACCES);
	it = good;
	it.buf_id = buf;
	it.buf_offset = 0;
	refused(&l, &it, EACCES);
	it = good;
	it.buf_offset += 4;
	refused(&l, &it, EINVAL);
	it = good;
	it.region_offset = 4096;
	refused(&l, &it, ERANGE);
	it = good;
	it.until = KVERBS_DELIVERED;
	refused(&l, &it, EOPNOTSUPP);
	it = good;
	it.compare = 1;
	refused(&l, &it, EINVAL);
	it = good;
	it.tag = 1;
	refused(&l, &it, EINVAL);
	FIELD_CHECK(&f);
	FIELD_CHECK(&plain);
	FIELD_CHECK(&here);

	/* It is the memory's own alignment that counts, not the offset's. */
	odd = landing(l.b, 4096, 4);
	expose_as(&l, l.ca, l.cb, odd.buf, odd.guard, 4096, KVERBS_RIGHT_ATOMIC, &odd.own,
		  &odd.region);
	it = atomic(KVERBS_OP_FETCH_ADD, &here, 0, &odd, 8, 1, 0);
	refused(&l, &it, EINVAL);
	it.region_offset = 12;
	memcpy(&is, odd.want + odd.guard + 12, 8);
	SUBMIT(&l, &it);
	NEXT_FINAL(l.a);
	field_expect(&here, 0, &is, 8);
	is++;
	field_expect(&odd, 12, &is, 8);
	FIELD_CHECK(&here);
	FIELD_CHECK(&odd);
	CHECK_EQ(conn_query(l.a, l.ca).counters.submitted, 1);
	link_close(&l);
}

static void atomics_on_iwarp(void)
{
	struct kverbs_region_expose cmd = { .length = 4096, .rights = KVERBS_RIGHT_ATOMIC };
	struct kverbs_item it;
	struct field f, here;
	struct link l;

	if (!on_siw())
		skip("this device has atomics");
	l = link_up();
	f = field_as(&l, l.ca, l.cb, 4096, 0, ALL_RIGHTS);
	here = landing(l.a, 4096, 0);
	cmd.target_id = l.cb;
	cmd.buf_id = f.buf;
	CHECK_ERR(kverbs_region_expose(l.b, &cmd), EOPNOTSUPP);
	it = atomic(KVERBS_OP_FETCH_ADD, &here, 0, &f, 0, 1, 0);
	refused(&l, &it, EOPNOTSUPP);
	it = atomic(KVERBS_OP_CMP_SWAP, &here, 0, &f, 0, 1, 2);
	refused(&l, &it, EOPNOTSUPP);
	FIELD_CHECK(&f);
	FIELD_CHECK(&here);
	CHECK_EQ(conn_query(l.a, l.ca).state, KVERBS_STATE_UP);
	link_close(&l);
}

/*
 * Some of each operation on a connection like that, alone and many at once. What
 * is waited for at the target is one piece long: by the direct context, a second
 * one would wait for a WAIT at the initiator.
 */
static void each_operation(const struct kverbs_conn_attr *attr)
{
	enum { NR = 150 };
	static struct kverbs_item items[2 * NR];
	struct link l = link_with(attr);
	struct field f = field_as(&l, l.ca, l.cb, 256 * KIB, 1, ALL_RIGHTS);
	struct field here = landing(l.a, 256 * KIB, 3);
	__u8 bytes[KVERBS_MESSAGE_MAX], *mem;
	struct kverbs_event event;
	struct kverbs_item it;
	__u32 buf, i;

	mem = source(l.a, 256 * KIB, 5, 22, &buf);
	PUT(&l, buf, 0, f.region, 0, 256 * KIB);
	field_expect(&f, 0, mem, 256 * KIB);
	GET(&l, here.buf, here.guard, f.region, 0, 256 * KIB);
	field_expect(&here, 0, mem, 256 * KIB);
	for (i = 0; i < 5; i++) {
		it = told_item(KVERBS_ITEM_NOTIFY, buf, f.region, i * 4096, 1001, i);
		it.until = KVERBS_CONSUMED;
		SUBMIT(&l, &it);
		event = NEXT_EVENT(l.b, KVERBS_EVENT_NOTIFY, l.cb);
		field_expect(&f, i * 4096, mem, 1001);
		FIELD_CHECK(&f);
		CHECK_OK(kverbs_ack(l.b, l.cb, event.seq, 0));
		NEXT_FINAL(l.a);
		it = message(buf, i, 100, i, KVERBS_CONSUMED);
		SUBMIT(&l, &it);
		event = NEXT_MESSAGE(l.b, l.cb, bytes);
		CHECK(!memcmp(bytes, mem + i, 100));
		CHECK_OK(kverbs_ack(l.b, l.cb, event.seq, 0));
		NEXT_FINAL(l.a);
		if (on_siw())
			continue;
		it = told_item(KVERBS_ITEM_IMM, buf, f.region, i, 10, i);
		SUBMIT(&l, &it);
		CHECK_EQ(NEXT_EVENT(l.b, KVERBS_EVENT_IMM, l.cb).tag, i);
		field_expect(&f, i, mem, 10);
		NEXT_FINAL(l.a);
	}
	for (i = 0; i < NR; i++) {
		items[2 * i] = item(buf, i * 3, f.region, i * 1000, 999, KVERBS_DELIVERED);
		field_expect(&f, i * 1000, mem + i * 3, 999);
		items[2 * i + 1] = op_item(KVERBS_OP_READ, here.buf, here.guard + i * 1001,
					   f.region, i * 1000, 999);
		field_expect(&here, i * 1001, mem + i * 3, 999);
	}
	for (i = 0; i < 2 * NR; i++)
		items[i].user_data = i;
	CHECK_EQ(CHECK_OK(kverbs_submit(l.a, l.ca, items, 2 * NR)), 2 * NR);
	for (i = 0; i < 2 * NR; i++)
		NEXT_FINAL(l.a);
	CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	FIELD_CHECK(&f);
	FIELD_CHECK(&here);
	link_close(&l);
}

static void polled_by(__u32 poll)
{
	struct kverbs_conn_attr attr = { .poll = poll };
	struct link l = link_with(&attr);

	CHECK_EQ(conn_query(l.a, l.ca).poll, poll);
	CHECK_EQ(conn_query(l.b, l.cb).poll, poll);
	link_close(&l);
	each_operation(&attr);
	attr.depth = 1;
	attr.wr_ceiling = 4096;
	each_operation(&attr);
}

static void by_softirq(void)
{
	polled_by(KVERBS_POLL_SOFTIRQ);
}

static void by_workqueue(void)
{
	polled_by(KVERBS_POLL_WORKQUEUE);
}

static void by_unbound(void)
{
	polled_by(KVERBS_POLL_UNBOUND);
}

static void by_direct(void)
{
	polled_by(KVERBS_POLL_DIRECT);
}

static short polled(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	CHECK_SYS(poll(&pfd, 1, 0));
	return pfd.revents;
}

/* Nobody polls but WAIT, so poll() cannot know; other contexts do not mind. */
static void direct_and_poll(void)
{
	struct kverbs_conn_attr attr = { .poll = KVERBS_POLL_DIRECT };
	struct link l = link_up(), m = link_with(&attr);
	struct kverbs_event event;

	CHECK(!(polled(l.a) & POLLERR));
	CHECK(polled(m.a) & POLLERR);
	CHECK(polled(m.b) & POLLERR);
	/* WAIT spins, and ends by its time-out all the same. */
	while (kverbs_wait(m.a, &event, 1, 0, KVERBS_NONBLOCK) == 1)
		;
	CHECK_ERR(kverbs_wait(m.a, &event, 1, 50, 0), ETIMEDOUT);
	CHECK_OK(kverbs_destroy(m.a, m.ca));
	CHECK(!(polled(m.a) & POLLERR));
	link_close(&l);
	link_close(&m);
}

/* Connections that are polled in different ways on one context. */
static void direct_beside_others(void)
{
	struct kverbs_conn_attr attr = { .poll = KVERBS_POLL_DIRECT };
	struct link l = link_up(), m = l;
	struct kverbs_item it;
	struct field f, g;
	__u32 buf, i;
	__u8 *mem;

	connect_again(&l, &attr, &m.ca, &m.cb);
	f = field_of(&l, 8192, 0);
	g = field_of(&m, 8192, 0);
	mem = source(l.a, 8192, 0, 23, &buf);
	for (i = 0; i < 64; i++) {
		it = item(buf, i, f.region, i * 100, 100, KVERBS_DELIVERED);
		SUBMIT(&l, &it);
		field_expect(&f, i * 100, mem + i, 100);
		it = item(buf, i, g.region, i * 99, 99, KVERBS_DELIVERED);
		SUBMIT(&m, &it);
		field_expect(&g, i * 99, mem + i, 99);
	}
	for (i = 0; i < 128; i++)
		NEXT_FINAL(l.a);
	FIELD_CHECK(&f);
	FIELD_CHECK(&g);
	link_close(&l);
}

/* Whatever CPU is named: its vector is taken modulo what there is. */
static void by_cpu(void)
{
	static const __u32 cpu[] = { 0, 1, 7, 1000, ~0u };
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(cpu); i++) {
		struct kverbs_conn_attr attr = { .flags = KVERBS_CONN_CPU, .cpu = cpu[i],
						 .poll = i % 3 };
		struct link l = link_with(&attr);
		struct field f = field_of(&l, 64 * KIB, 0);
		__u32 buf;
		__u8 *mem = source(l.a, 64 * KIB, 0, 24 + i, &buf);

		CHECK_EQ(conn_query(l.a, l.ca).flags, KVERBS_CONN_CPU);
		CHECK_EQ(conn_query(l.b, l.cb).flags, KVERBS_CONN_CPU);
		PUT(&l, buf, 0, f.region, 0, 64 * KIB);
		field_expect(&f, 0, mem, 64 * KIB);
		FIELD_CHECK(&f);
		link_close(&l);
	}
}

static void writes_of_each_size(const struct kverbs_conn_attr *attr, __u64 from_skew, __u64 to_skew)
{
	struct link l = link_with(attr);
	struct field f = field_of(&l, 2 * MIB, to_skew);
	__u64 to = 0;
	__u8 *mem;
	__u32 buf, i;

	CHECK_EQ(conn_query(l.a, l.ca).flags, attr->flags);
	mem = source(l.a, 2 * MIB, from_skew, 25, &buf);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		to = (to + 12289) % (f.length - sizes[i] + 1);
		PUT(&l, buf, i * 7, f.region, to, sizes[i]);
		field_expect(&f, to, mem + i * 7, sizes[i]);
		FIELD_CHECK(&f);
	}
	link_close(&l);
}

/* A registration per operation: the same bytes, at any alignment. */
static void registered_each(void)
{
	struct kverbs_conn_attr attr = { .flags = KVERBS_CONN_REG };

	writes_of_each_size(&attr, 0, 0);
	writes_of_each_size(&attr, 4095, 1);
	reads_of_each_size(&attr, 0, 0);
	reads_of_each_size(&attr, 3, 2047);
	each_operation(&attr);
}

static void registered_each_in_pieces(void)
{
	struct kverbs_conn_attr attr = { .flags = KVERBS_CONN_REG, .depth = 2,
					 .wr_ceiling = 5000, .poll = KVERBS_POLL_WORKQUEUE };

	each_operation(&attr);
	attr.depth = 1;
	attr.wr_ceiling = 0;
	attr.poll = KVERBS_POLL_DIRECT;
	each_operation(&attr);
}

static void attribute_refused(struct link *l, const struct kverbs_conn_attr *attr, int code)
{
	struct kverbs_listen listen = { 0 };
	struct kverbs_connect cmd;

	connect_fill(&cmd, l->port, attr);
	CHECK_ERR(kverbs_connect(l->a, &cmd), code);
	address(listen.addr, env("KV_ADDR", "10.9.0.1"), 0);
	listen.attr = *attr;
	CHECK_ERR(kverbs_listen(l->a, &listen), code);
}

static void attributes(void)
{
	static const struct kverbs_conn_attr invalid[] = {
		{ .poll = KVERBS_POLL_DIRECT + 1 }, { .poll = ~0u }, { .wr_ceiling = ~0u },
		{ .max_inline = 513 }, { .max_inline = ~0u },
		{ .cpu = 1 }, { .cpu = ~0u }, { .cpu = 1, .flags = KVERBS_CONN_REG },
		{ .reserved = 1 }, { .reserved = ~0u },
	};
	struct kverbs_conn_attr attr = { 0 };
	struct kverbs_query limits = { 0 };
	struct link l = link_up();
	__u32 i;

	CHECK_OK(kverbs_query(l.a, &limits));
	CHECK_EQ(conn_query(l.a, l.ca).wr_ceiling, limits.wr_ceiling);
	CHECK_EQ(conn_query(l.a, l.ca).flags, 0);
	for (i = 0; i < ARRAY_SIZE(invalid); i++)
		attribute_refused(&l, &invalid[i], EINVAL);
	attr.wr_ceiling = limits.wr_ceiling + 1;
	attribute_refused(&l, &attr, EINVAL);
	attr.wr_ceiling = 0;
	for (i = 2; i < 32; i++) {
		attr.flags = 1U << i;
		attribute_refused(&l, &attr, EOPNOTSUPP);
	}
	link_close(&l);
}

/* The smallest ceiling: one byte a piece. */
static void smallest_ceiling(void)
{
	struct kverbs_conn_attr attr = { .depth = 16, .wr_ceiling = 1 };
	struct link l = link_with(&attr);
	struct field f = field_as(&l, l.ca, l.cb, 4096, 1, ALL_RIGHTS);
	struct field here = landing(l.a, 4096, 0);
	__u32 buf;
	__u8 *mem;

	CHECK_EQ(conn_query(l.a, l.ca).wr_ceiling, 1);
	mem = source(l.a, 4096, 4000, 26, &buf);
	PUT(&l, buf, 7, f.region, 11, 300);
	field_expect(&f, 11, mem + 7, 300);
	FIELD_CHECK(&f);
	CHECK(conn_query(l.a, l.ca).counters.wrs >= 300);
	GET(&l, here.buf, here.guard + 5, f.region, 10, 303);
	field_expect(&here, 5, f.mem + f.guard + 10, 303);
	FIELD_CHECK(&here);
	FIELD_CHECK(&f);
	link_close(&l);
}

static void bad_items(void)
{
	static const __u32 ops[] = {
		KVERBS_OP_WRITE, KVERBS_OP_READ, KVERBS_OP_SEND, KVERBS_OP_FETCH_ADD,
		KVERBS_OP_CMP_SWAP,
	};
	struct link l = link_up();
	struct field f = field_as(&l, l.ca, l.cb, 4096, 0, ALL_RIGHTS);
	struct field here = landing(l.a, 4096, 0);
	struct kverbs_item it;
	__u32 i, bit;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		for (bit = 4; bit < 32; bit++) {
			it = op_item(ops[i], here.buf, here.guard,
				     ops[i] == KVERBS_OP_SEND ? 0 : f.region, 0, 8);
			it.flags = 1U << bit;
			refused(&l, &it, EOPNOTSUPP);
		}
	}
	/* Known flags, of other operations. */
	for (i = 1; i < ARRAY_SIZE(ops); i++) {
		for (bit = 0; bit < 4; bit++) {
			if (1U << bit == KVERBS_ITEM_FENCE)
				continue;
			it = op_item(ops[i], here.buf, here.guard,
				     ops[i] == KVERBS_OP_SEND ? 0 : f.region, 0, 8);
			it.flags = 1U << bit;
			refused(&l, &it, EINVAL);
		}
	}
	for (i = KVERBS_OP_CMP_SWAP + 1; i < 64; i++) {
		it = op_item(i, here.buf, here.guard, f.region, 0, 8);
		refused(&l, &it, EOPNOTSUPP);
	}
	CHECK_EQ(conn_query(l.a, l.ca).counters.submitted, 0);
	FIELD_CHECK(&f);
	FIELD_CHECK(&here);
	link_close(&l);
}

static const struct test tests[] = {
	{ "features", features },
	{ "read_aligned", read_aligned },
	{ "read_unaligned", read_unaligned },
	{ "read_in_pieces", read_in_pieces },
	{ "many_reads", many_reads },
	{ "read_many_keys", read_many_keys },
	{ "read_rights", read_rights },
	{ "write_rights", write_rights },
	{ "read_only_memory", read_only_memory },
	{ "imm", imm },
	{ "imm_in_pieces", imm_in_pieces },
	{ "imm_refused", imm_refused },
	{ "send_each_length", send_each_length },
	{ "send_refused", send_refused },
	{ "send_is_copied", send_is_copied },
	{ "send_cut", send_cut },
	{ "send_into_bad_memory", send_into_bad_memory },
	{ "send_several", send_several },
	{ "told_in_order", told_in_order },
	{ "send_to_slow_program", send_to_slow_program },
	{ "send_both_ways", send_both_ways },
	{ "fence", fence },
	{ "fences", fences },
	{ "inline_data", inline_data },
	{ "atomics", atomics },
	{ "atomics_by_two", atomics_by_two },
	{ "atomics_refused", atomics_refused },
	{ "atomics_on_iwarp", atomics_on_iwarp },
	{ "by_softirq", by_softirq },
	{ "by_workqueue", by_workqueue },
	{ "by_unbound", by_unbound },
	{ "by_direct", by_direct },
	{ "direct_and_poll", direct_and_poll },
	{ "direct_beside_others", direct_beside_others },
	{ "by_cpu", by_cpu },
	{ "registered_each", registered_each },
	{ "registered_each_in_pieces", registered_each_in_pieces },
	{ "attributes", attributes },
	{ "smallest_ceiling", smallest_ceiling },
	{ "bad_items", bad_items },
};

int main(int argc, char **argv)
{
	return tests_main(tests, ARRAY_SIZE(tests), argc, argv);
}
