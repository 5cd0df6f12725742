// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDMA Write: every byte arrives, and no other byte changes, whatever the size,
 * the alignment, the depth of the queue and who polls it; each item accepted
 * ends in one final event; and what cannot be right is refused with nothing
 * changed.
 */
#include "link.h"

static const __u64 sizes[] = {
	1, 63, 64, 65, 1023, 1024, 1025, 2048, 4095, 4096, 4097,
	64 * KIB - 1, 64 * KIB, 64 * KIB + 1, MIB - 1, MIB, MIB + 1,
};

static void one_of_each_size(const struct kverbs_conn_attr *attr, __u64 from_skew, __u64 to_skew)
{
	struct link l = link_with(attr);
	struct field f = field_of(&l, 2 * MIB, to_skew);
	__u64 to = 0;
	__u8 *mem;
	__u32 buf, i;

	mem = source(l.a, 2 * MIB, from_skew, 1, &buf);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		to = (to + 12289) % (2 * MIB - sizes[i] + 1);
		PUT(&l, buf, i * 7, f.region, to, sizes[i]);
		field_expect(&f, to, mem + i * 7, sizes[i]);
		FIELD_CHECK(&f);
	}
	link_close(&l);
}

static void aligned(void)
{
	one_of_each_size(NULL, 0, 0);
}

static void unaligned(void)
{
	one_of_each_size(NULL, 1, 4095);
	one_of_each_size(NULL, 2047, 3);
}

static void by_workqueue(void)
{
	struct kverbs_conn_attr attr = { .poll = KVERBS_POLL_WORKQUEUE };

	one_of_each_size(&attr, 5, 11);
}

/* The path MTU, one less and one more, at the edges of the region. */
static void around_the_mtu(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 64 * KIB, 1);
	__u64 mtu = conn_query(l.a, l.ca).mtu;
	__u64 length;
	__u8 *mem;
	__u32 buf;

	if (on_siw())
		CHECK_EQ(mtu, 0);
	else
		CHECK(mtu >= 256 && mtu <= 4096);
	mtu = mtu ? mtu : 1460;
	mem = source(l.a, 64 * KIB, 3, 2, &buf);
	for (length = mtu - 1; length <= mtu + 1; length++) {
		PUT(&l, buf, 17, f.region, 0, length);
		field_expect(&f, 0, mem + 17, length);
		FIELD_CHECK(&f);
		PUT(&l, buf, 0, f.region, f.length - length, length);
		field_expect(&f, f.length - length, mem, length);
		FIELD_CHECK(&f);
	}
	PUT(&l, buf, 0, f.region, 0, f.length);
	field_expect(&f, 0, mem, f.length);
	FIELD_CHECK(&f);
	link_close(&l);
}

/* Many items in each call, small and odd, all in one order. */
static void batches(void)
{
	enum { NR = 500 };
	static struct kverbs_item items[NR];
	__u64 rounds = amount(20, 8, 2), done = 0;
	struct link l = link_up();
	struct field f = field_of(&l, NR * 100, 9);
	struct kverbs_event event;
	__u32 buf, i, r;
	__u8 *mem;

	mem = source(l.a, NR * 100, 77, 3, &buf);
	for (r = 0; r < rounds; r++) {
		for (i = 0; i < NR; i++) {
			items[i] = item(buf, (i + r) % NR * 100, f.region, i * 100,
					1 + (i + r) % 100, KVERBS_DELIVERED);
			items[i].user_data = (__u64)r << 32 | i;
			field_expect(&f, i * 100, mem + items[i].buf_offset, items[i].length);
		}
		CHECK_EQ(CHECK_OK(kverbs_submit(l.a, l.ca, items, NR)), NR);
		for (i = 0; i < NR; i++, done++) {
			event = NEXT_FINAL(l.a);
			CHECK_EQ(event.user_data, (__u64)r << 32 | i);
			CHECK_EQ(event.id, l.ca);
		}
		FIELD_CHECK(&f);
	}
	CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	CHECK_EQ(conn_query(l.a, l.ca).counters.submitted, done);
	CHECK_EQ(conn_query(l.a, l.ca).counters.finished, done);
	link_close(&l);
}

/* The bad item ends the batch; what was before it is done. */
static void prefix(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_item items[5];
	struct kverbs_submit cmd = {
		.size = sizeof(cmd), .conn_id = l.ca, .nr = 5, .items = (uintptr_t)items,
	};
	__u32 buf, i;
	__u8 *mem;

	mem = source(l.a, 4096, 0, 4, &buf);
	for (i = 0; i < 5; i++) {
		items[i] = item(buf, i * 100, f.region, i * 100, 100, KVERBS_DELIVERED);
		items[i].user_data = i;
	}
	items[3].length = 5000;
	CHECK_OK(kverbs_ioctl(l.a, KVERBS_SUBMIT, &cmd));
	CHECK_EQ(cmd.accepted, 3);
	CHECK_EQ(cmd.error, ERANGE);
	for (i = 0; i < 3; i++)
		CHECK_EQ(NEXT_FINAL(l.a).user_data, i);
	field_expect(&f, 0, mem, 300);
	FIELD_CHECK(&f);

	cmd.items = (uintptr_t)&items[3];
	cmd.nr = 2;
	CHECK_ERR(kverbs_ioctl(l.a, KVERBS_SUBMIT, &cmd), ERANGE);
	CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	FIELD_CHECK(&f);
	CHECK_EQ(conn_query(l.a, l.ca).counters.submitted, 3);
	link_close(&l);
}

static void refused(struct link *l, const struct kverbs_item *it, int code)
{
	CHECK_ERR(kverbs_submit(l->a, l->ca, it, 1), code);
}

/* Offsets and lengths from the edges of buffer and region to 2^64 - 1. */
static void out_of_bounds(void)
{
	static const __u64 far[] = {
		4096, 4097, 1ULL << 32, (1ULL << 32) + 1, 1ULL << 63, (1ULL << 63) + 1,
		~0ULL - 4095, ~0ULL - 1, ~0ULL,
	};
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_item it;
	__u32 buf, i;

	source(l.a, 4096, 0, 5, &buf);
	for (i = 0; i < ARRAY_SIZE(far); i++) {
		it = item(buf, far[i], f.region, 0, 1, KVERBS_COMPLETED);
		refused(&l, &it, ERANGE);
		it = item(buf, 0, f.region, far[i], 1, KVERBS_COMPLETED);
		refused(&l, &it, ERANGE);
		it = item(buf, 0, f.region, 0, far[i], KVERBS_COMPLETED);
		if (far[i] > 4096)
			refused(&l, &it, ERANGE);
		it = item(buf, 1, f.region, 0, far[i], KVERBS_COMPLETED);
		refused(&l, &it, ERANGE);
		it = item(buf, far[i], f.region, far[i], far[i], KVERBS_COMPLETED);
		refused(&l, &it, ERANGE);
	}
	it = item(buf, 0, f.region, 0, 0, KVERBS_COMPLETED);
	refused(&l, &it, EINVAL);
	it = item(buf, 4095, f.region, 4095, 2, KVERBS_COMPLETED);
	refused(&l, &it, ERANGE);
	CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	FIELD_CHECK(&f);
	CHECK_EQ(conn_query(l.a, l.ca).state, KVERBS_STATE_UP);
	link_close(&l);
}

static void bad_items(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_item good, it;
	__u32 buf;

	source(l.a, 4096, 0, 6, &buf);
	good = item(buf, 0, f.region, 0, 64, KVERBS_COMPLETED);
	it = good;
	it.op = 0;
	refused(&l, &it, EOPNOTSUPP);
	it = good;
	it.op = ~0u;
	refused(&l, &it, EOPNOTSUPP);
	it = good;
	it.flags = 1 << 31;
	refused(&l, &it, EOPNOTSUPP);
	it = good;
	it.until = KVERBS_POSTED;
	refused(&l, &it, EINVAL);
	it = good;
	it.until = KVERBS_MOMENTS;
	refused(&l, &it, EINVAL);
	it = good;
	it.until = KVERBS_CONSUMED;
	refused(&l, &it, EINVAL);
	it = good;
	it.buf_id = 0;
	refused(&l, &it, ENOENT);
	it = good;
	it.buf_id = l.ca;
	refused(&l, &it, ENOENT);
	it = good;
	it.region_id = buf;
	refused(&l, &it, ENOENT);
	it = good;
	it.region_id = ~0u;
	refused(&l, &it, ENOENT);
	CHECK_ERR(kverbs_submit(l.a, l.ca, NULL, 1), EFAULT);
	CHECK_ERR(kverbs_submit(l.a, l.ca, &good, 0), EINVAL);
	CHECK_ERR(kverbs_submit(l.a, l.ca, &good, ~0u), EINVAL);
	CHECK_ERR(kverbs_submit(l.a, buf, &good, 1), ENOENT);
	CHECK_EQ(conn_query(l.a, l.ca).counters.submitted, 0);
	SUBMIT(&l, &good);
	NEXT_FINAL(l.a);
	link_close(&l);
}

/* A region of another connection between the same ends is not this one's. */
static void two_connections(void)
{
	struct link l = link_up(), m = l;
	struct field f, g;
	struct kverbs_item it;
	__u32 buf, i;
	__u8 *mem;

	connect_again(&l, NULL, &m.ca, &m.cb);
	f = field_of(&l, 64 * KIB, 0);
	g = field_of(&m, 64 * KIB, 1);
	mem = source(l.a, 64 * KIB, 0, 7, &buf);
	it = item(buf, 0, g.region, 0, 64, KVERBS_COMPLETED);
	refused(&l, &it, ENOENT);
	for (i = 0; i < 16; i++) {
		it = item(buf, i * 1000, f.region, i * 3000, 1000, KVERBS_DELIVERED);
		SUBMIT(&l, &it);
		field_expect(&f, i * 3000, mem + i * 1000, 1000);
		it = item(buf, i * 500, g.region, i * 2000, 2000, KVERBS_DELIVERED);
		SUBMIT(&m, &it);
		field_expect(&g, i * 2000, mem + i * 500, 2000);
	}
	for (i = 0; i < 32; i++)
		NEXT_FINAL(l.a);
	FIELD_CHECK(&f);
	FIELD_CHECK(&g);
	CHECK_OK(kverbs_abort(m.a, m.ca));
	it = item(buf, 0, f.region, 0, 64, KVERBS_DELIVERED);
	SUBMIT(&l, &it);
	NEXT_FINAL(l.a);
	link_close(&l);
}

static void two_regions(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 10000, 0), g = field_of(&l, 20000, 100);
	__u32 buf, own, twice;
	__u8 *mem;

	mem = source(l.a, 20000, 0, 8, &buf);
	CHECK(f.region != g.region);
	PUT(&l, buf, 0, g.region, 0, 20000);
	field_expect(&g, 0, mem, 20000);
	PUT(&l, buf, 5000, f.region, 0, 10000);
	field_expect(&f, 0, mem + 5000, 10000);
	FIELD_CHECK(&f);
	FIELD_CHECK(&g);

	/* The same memory once more, another stretch. */
	expose(&l, l.ca, l.cb, f.buf, f.guard + 100, 50, &own, &twice);
	PUT(&l, buf, 1, twice, 0, 50);
	field_expect(&f, 100, mem + 1, 50);
	FIELD_CHECK(&f);
	link_close(&l);
}

/* More than one fast registration can cover, and writes across the keys. */
static void many_keys(void)
{
	const __u64 length = 5 * MIB + 12345, step = MIB;
	struct kverbs_region regions[4];
	struct link l = link_up();
	struct field f = field_of(&l, length, 1234);
	__u32 buf, nr = ARRAY_SIZE(regions);
	__u64 edge;
	__u8 *mem;

	CHECK_OK(kverbs_region_list(l.a, l.ca, regions, &nr));
	CHECK_EQ(nr, 1);
	CHECK(regions[0].flags & KVERBS_REGION_REMOTE);
	CHECK_EQ(regions[0].length, length);
	CHECK(regions[0].keys >= 3);
	mem = source(l.a, length, 4001, 9, &buf);
	PUT(&l, buf, 0, f.region, 0, length);
	field_expect(&f, 0, mem, length);
	FIELD_CHECK(&f);
	/* Around every multiple of 1 MiB from the region's first page. */
	for (edge = step - 1234; edge < length; edge += step) {
		PUT(&l, buf, 3, f.region, edge - 1, 2);
		field_expect(&f, edge - 1, mem + 3, 2);
		PUT(&l, buf, 11, f.region, edge - 4099, 8197);
		field_expect(&f, edge - 4099, mem + 11, 8197);
		PUT(&l, buf, 7, f.region, edge, 1);
		field_expect(&f, edge, mem + 7, 1);
	}
	FIELD_CHECK(&f);
	link_close(&l);
}

/* @length bytes of address space over a small memfd, again and again. */
static __u8 *folded(__u64 length, __u64 period, __u8 **first)
{
	int fd = CHECK_SYS(memfd_create("folded", MFD_CLOEXEC));
	__u8 *mem = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u64 at, part;

	CHECK(mem != MAP_FAILED);
	CHECK_SYS(ftruncate(fd, period));
	for (at = 0; at < length; at += part) {
		part = length - at < period ? length - at : period;
		CHECK(mmap(mem + at, part, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			   0) == mem + at);
	}
	*first = mem;
	close(fd);
	return mem;
}

/* A final event that may take long, as long as there is progress. */
static void patient_final(struct link *l)
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
	event_keep(l->a, &event);
	NEXT_FINAL(l->a);
}

/*
 * A write far larger than the queue. Source and target repeat with different
 * periods, so a piece that goes astray by any but their common multiple shows
 * in the last ones.
 */
static void huge(__u32 depth)
{
	const __u64 length = amount(GIB, 128 * MIB, 16 * MIB), from = 2 * MIB, to = 3 * MIB;
	struct kverbs_conn_attr attr = { .depth = depth };
	struct link l = link_with(&attr);
	struct kverbs_conn_query query = conn_query(l.a, l.ca);
	__u8 *source_mem, *target_mem;
	__u32 src, dst, own, region;
	struct kverbs_item it;
	__u64 i, last;

	CHECK_EQ(query.depth, depth);
	folded(length, from, &source_mem);
	folded(length, to, &target_mem);
	fill(source_mem, from, 10);
	src = registered(l.a, source_mem, length, 0);
	dst = registered(l.b, target_mem, length, KVERBS_BUF_WRITABLE);
	expose(&l, l.ca, l.cb, dst, 0, length, &own, &region);
	it = item(src, 0, region, 0, length, KVERBS_DELIVERED);
	SUBMIT(&l, &it);
	patient_final(&l);
	for (i = 0; i < to; i++) {
		/* The last place of the target that shows here. */
		last = i + (length - 1 - i) / to * to;
		if (target_mem[i] != source_mem[last % from])
			fail_at(__FILE__, __LINE__, "wrong byte at %llu", last);
	}
	query = conn_query(l.a, l.ca);
	CHECK_EQ(query.counters.bytes, length);
	CHECK(query.counters.wrs >= length / MIB);
	CHECK(query.counters.slot_stalls || depth > length / MIB);
	note("depth %u: %llu MiB, %llu work requests in %llu posts, %llu signaled, %llu stalls",
	     depth, length / MIB, query.counters.wrs, query.counters.posts,
	     query.counters.signaled, query.counters.slot_stalls);
	link_close(&l);
}

static void huge_depth_1(void)
{
	huge(1);
}

static void huge_depth_128(void)
{
	huge(128);
}

/* What CONN_QUERY says of both ends agrees, and the counters with the work. */
static void counters(void)
{
	enum { NR = 200 };
	struct kverbs_conn_attr attr = { .depth = 16 };
	struct link l = link_with(&attr);
	struct field f = field_of(&l, 4096, 0);
	static struct kverbs_item items[NR];
	struct kverbs_conn_query a, b;
	__u32 buf, i;

	source(l.a, 4096, 0, 11, &buf);
	for (i = 0; i < NR; i++)
		items[i] = item(buf, 0, f.region, 0, 100, KVERBS_COMPLETED);
	CHECK_EQ(CHECK_OK(kverbs_submit(l.a, l.ca, items, NR)), NR);
	for (i = 0; i < NR; i++)
		NEXT_FINAL(l.a);
	a = conn_query(l.a, l.ca);
	b = conn_query(l.b, l.cb);
	CHECK_EQ(a.state, KVERBS_STATE_UP);
	CHECK_EQ(b.state, KVERBS_STATE_UP);
	CHECK_EQ(a.initiator, 1);
	CHECK_EQ(b.initiator, 0);
	CHECK_EQ(a.depth_asked, 16);
	CHECK_EQ(a.depth, 16);
	CHECK_EQ(a.transport, on_siw() ? KVERBS_TRANSPORT_IWARP : KVERBS_TRANSPORT_ROCE);
	CHECK(!strcmp(a.error.device, env("KV_DEV", "rxe0")));
	CHECK_EQ(a.error.code, 0);
	CHECK(a.qpn && b.qpn && a.qpn != b.qpn);
	if (!on_siw()) {
		CHECK_EQ(a.peer_qpn, b.qpn);
		CHECK_EQ(b.peer_qpn, a.qpn);
		CHECK_EQ(a.mtu, b.mtu);
		CHECK(!memcmp(a.src_gid, b.dst_gid, 16));
	}
	CHECK(!memcmp(a.src, b.dst, 8));
	CHECK(!memcmp(a.dst, b.src, 8));
	CHECK(a.asked.send_wr > 16);
	CHECK(a.actual.send_wr >= a.asked.send_wr);
	CHECK(a.actual.recv_wr >= a.asked.recv_wr);
	CHECK(a.actual.send_cqe >= a.asked.send_cqe);
	CHECK(a.actual.recv_cqe >= a.asked.recv_cqe);

	CHECK_EQ(a.counters.submitted, NR);
	CHECK_EQ(a.counters.finished, NR);
	CHECK_EQ(a.counters.failed, 0);
	CHECK_EQ(a.counters.bytes, NR * 100);
	CHECK(a.counters.wrs >= NR);
	CHECK(a.counters.posts <= a.counters.wrs);
	CHECK(a.counters.slot_stalls);
	CHECK_EQ(a.counters.partial_posts, 0);
	CHECK_EQ(a.counters.flushed, 0);
	CHECK_EQ(a.counters.regions_received, 1);
	if (on_siw())
		CHECK_EQ(a.counters.signaled, a.counters.wrs);
	else
		CHECK(a.counters.signaled < a.counters.wrs);
	link_close(&l);
}

/* Every moment up to the one asked for has its stamp, in order. */
static void moments(void)
{
	struct link l = link_up();
	struct field f = field_of(&l, 4096, 0);
	struct kverbs_event event, told;
	struct kverbs_item it;
	__u32 buf, until, i;

	source(l.a, 4096, 0, 12, &buf);
	for (until = KVERBS_COMPLETED; until < KVERBS_MOMENTS; until++) {
		it = item(buf, 0, f.region, 0, 1000, until);
		it.user_data = until;
		SUBMIT(&l, &it);
		if (until >= KVERBS_CONSUMED) {
			told = NEXT_EVENT(l.b, KVERBS_EVENT_NOTIFY, l.cb);
			CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
			CHECK_OK(kverbs_ack(l.b, l.cb, told.seq,
					    until == KVERBS_PERSISTED ? KVERBS_ACK_PERSISTED : 0));
		}
		event = NEXT_FINAL(l.a);
		CHECK_EQ(event.user_data, until);
		CHECK_EQ(event.asked, until);
		CHECK_EQ(event.reached, until);
		CHECK_EQ(event.length, 1000);
		CHECK_EQ(event.placement, on_siw() && until < KVERBS_DELIVERED ?
			 KVERBS_PLACEMENT_UNKNOWN : KVERBS_PLACEMENT_PLACED);
		CHECK(event.stamps[0]);
		for (i = 1; i < KVERBS_MOMENTS; i++) {
			if (i <= until)
				CHECK(event.stamps[i] >= event.stamps[i - 1]);
			else
				CHECK_EQ(event.stamps[i], 0);
		}
		CHECK(no_event(l.a, KVERBS_EVENT_FINAL, 0));
	}
	link_close(&l);
}

/* The largest and the smallest depth, and more than there is. */
static void depths(void)
{
	static const __u32 depth[] = { 1, 2, 3, 8192 };
	struct kverbs_conn_query query;
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(depth); i++) {
		struct kverbs_conn_attr attr = { .depth = depth[i] };
		struct link l = link_with(&attr);
		struct field f = field_of(&l, 256 * KIB, 0);
		__u32 buf;
		__u8 *mem = source(l.a, 256 * KIB, 0, i, &buf);

		query = conn_query(l.a, l.ca);
		CHECK_EQ(query.depth_asked, depth[i]);
		CHECK(query.depth && query.depth <= depth[i]);
		PUT(&l, buf, 0, f.region, 0, 256 * KIB);
		field_expect(&f, 0, mem, 256 * KIB);
		FIELD_CHECK(&f);
		link_close(&l);
	}
}

static const struct test tests[] = {
	{ "aligned", aligned },
	{ "unaligned", unaligned },
	{ "by_workqueue", by_workqueue },
	{ "around_the_mtu", around_the_mtu },
	{ "batches", batches },
	{ "prefix", prefix },
	{ "out_of_bounds", out_of_bounds },
	{ "bad_items", bad_items },
	{ "two_connections", two_connections },
	{ "two_regions", two_regions },
	{ "many_keys", many_keys },
	{ "huge_depth_1", huge_depth_1 },
	{ "huge_depth_128", huge_depth_128 },
	{ "counters", counters },
	{ "moments", moments },
	{ "depths", depths },
};

int main(int argc, char **argv)
{
	return tests_main(tests, ARRAY_SIZE(tests), argc, argv);
}
