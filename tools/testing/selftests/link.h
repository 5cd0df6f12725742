/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two ends in one process, and memory that shows every byte that changed.
 *
 * struct link is a pair of contexts, a at the initiator and b at the target,
 * with one connection between them. struct field is memory to be written to: its
 * exposed part lies between two guards, and a copy says what all of it has to
 * be. Events that a test does not wait for are kept until it does.
 */
#ifndef LINK_H
#define LINK_H

#include "harness.h"

#include <time.h>

#define GUARD	8192ULL

/* struct link - a connection and both its ends */
struct link {
	int a;			/* contexts */
	int b;
	__u32 listener;		/* at b */
	__u16 port;
	__u32 ca;		/* the connection at a */
	__u32 cb;		/* and at b */
};

/* struct field - a target */
struct field {
	__u8 *mem;
	__u8 *want;
	__u64 guard;		/* before and after */
	__u64 length;		/* between the guards */
	__u32 buf;		/* at b */
	__u32 own;		/* region at b */
	__u32 region;		/* region at a */
};

/* Events taken and not yet asked for. */
static struct {
	int fd;
	struct kverbs_event event;
} kept[4096];

static int nr_kept;

static inline bool event_fits(const struct kverbs_event *event, __u32 kind, __u32 id)
{
	return event->kind == kind && (!id || event->id == id);
}

static inline void event_keep(int fd, const struct kverbs_event *event)
{
	CHECK(nr_kept < (int)ARRAY_SIZE(kept));
	kept[nr_kept].fd = fd;
	kept[nr_kept++].event = *event;
}

static inline bool event_kept(int fd, __u32 kind, __u32 id, struct kverbs_event *event)
{
	int i;

	for (i = 0; i < nr_kept; i++) {
		if (kept[i].fd != fd || !event_fits(&kept[i].event, kind, id))
			continue;
		*event = kept[i].event;
		nr_kept--;
		memmove(&kept[i], &kept[i + 1], (nr_kept - i) * sizeof(kept[0]));
		return true;
	}
	return false;
}

/* The next event of a kind, of one object or (id 0) of any. */
#define NEXT_EVENT(fd, kind, id) next_event(fd, kind, id, __FILE__, __LINE__)
static inline struct kverbs_event next_event(int fd, __u32 kind, __u32 id,
					     const char *file, int line)
{
	struct kverbs_event event;
	int ret;

	if (event_kept(fd, kind, id, &event))
		return event;
	for (;;) {
		ret = kverbs_wait(fd, &event, 1, patience_ms(), 0);
		if (ret != 1)
			fail_at(file, line, "waiting for an event %s: %s",
				kverbs_event_name(kind), result_name(ret));
		if (event_fits(&event, kind, id))
			return event;
		event_keep(fd, &event);
	}
}

/* True when no event of the kind is there now. */
static inline bool no_event(int fd, __u32 kind, __u32 id)
{
	struct kverbs_event event;
	bool none = !event_kept(fd, kind, id, &event);

	while (none && kverbs_wait(fd, &event, 1, 0, KVERBS_NONBLOCK) == 1) {
		none = !event_fits(&event, kind, id);
		event_keep(fd, &event);
	}
	return none;
}

/* Forget what there is now, such as the arrival of the connection. */
static inline void forget_events(int fd)
{
	struct kverbs_event event;

	while (kverbs_wait(fd, &event, 1, 0, KVERBS_NONBLOCK) == 1)
		;
}

/* A final event that tells of success. */
#define NEXT_FINAL(fd) next_final(fd, __FILE__, __LINE__)
static inline struct kverbs_event next_final(int fd, const char *file, int line)
{
	struct kverbs_event event = next_event(fd, KVERBS_EVENT_FINAL, 0, file, line);

	if (event.status)
		fail_at(file, line, "write %llu ended with %s at step %s (%s), reached %s",
			event.user_data, result_name(-(long)event.status),
			kverbs_step_name(event.step), kverbs_wc_status_name(event.wc_status),
			kverbs_moment_name(event.reached));
	/* Where nothing failed, nothing is said of it: no memory of others' either. */
	if (event.step || event.wc_status || event.vendor_err)
		fail_at(file, line, "a success tells of step %u, status %u, vendor %u",
			event.step, event.wc_status, event.vendor_err);
	return event;
}

static inline void address(__u8 addr[KVERBS_ADDR_MAX], const char *text, __u16 port)
{
	const char *why = "";

	if (kverbs_addr_parse(text, port, true, addr, &why))
		fail_at(__FILE__, __LINE__, "address %s: %s", text, why);
}

static inline int context(void)
{
	return CHECK_OK(kverbs_open());
}

/* Listen on our own address, on any free port. */
static inline __u32 listen_at(int fd, const struct kverbs_conn_attr *attr, __u16 *port)
{
	struct kverbs_listen cmd = { 0 };

	address(cmd.addr, env("KV_ADDR", "10.9.0.1"), 0);
	if (attr)
		cmd.attr = *attr;
	CHECK_OK(kverbs_listen(fd, &cmd));
	CHECK(cmd.port);
	*port = cmd.port;
	return cmd.listener_id;
}

static inline void connect_fill(struct kverbs_connect *cmd, __u16 port,
				const struct kverbs_conn_attr *attr)
{
	memset(cmd, 0, sizeof(*cmd));
	address(cmd->dst, env("KV_PEER", "10.9.0.1"), port);
	cmd->timeout_ms = patience_ms();
	if (attr)
		cmd->attr = *attr;
}

static inline void connect_again(struct link *l, const struct kverbs_conn_attr *attr,
				 __u32 *ca, __u32 *cb)
{
	struct kverbs_accept accept = { .listener_id = l->listener,
					.timeout_ms = patience_ms() };
	struct kverbs_connect cmd;
	int ret;

	connect_fill(&cmd, l->port, attr);
	ret = kverbs_connect(l->a, &cmd);
	if (ret)
		fail_at(__FILE__, __LINE__, "connect gave %s: step %s, code %s, CM event %u/%d",
			result_name(ret), kverbs_step_name(cmd.error.step),
			result_name(-(long)cmd.error.code), cmd.error.cm_event,
			cmd.error.cm_status);
	CHECK_OK(kverbs_accept(l->b, &accept));
	*ca = cmd.conn_id;
	*cb = accept.conn_id;
	CHECK(*ca && *cb);
}

static inline struct link link_with(const struct kverbs_conn_attr *attr)
{
	struct link l = { .a = context(), .b = context() };

	l.listener = listen_at(l.b, attr, &l.port);
	connect_again(&l, attr, &l.ca, &l.cb);
	return l;
}

static inline struct link link_up(void)
{
	return link_with(NULL);
}

static inline void link_close(struct link *l)
{
	close(l->a);
	close(l->b);
}

static inline struct kverbs_conn_query conn_query(int fd, __u32 conn)
{
	struct kverbs_conn_query query = { 0 };

	CHECK_OK(kverbs_conn_query(fd, conn, &query));
	return query;
}

/* A cheap byte stream: different at every place, and for every seed. */
static inline void fill(void *mem, __u64 length, __u32 seed)
{
	__u32 x = seed * 2654435761u + 1;
	__u8 *byte = mem;
	__u64 i;

	for (i = 0; i < length; i++) {
		x = x * 1664525u + 1013904223u;
		byte[i] = x >> 24;
	}
}

static inline void *memory(__u64 length)
{
	void *mem = mmap(NULL, length, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(mem != MAP_FAILED);
	return mem;
}

static inline __u32 registered(int fd, const void *mem, __u64 length, __u32 flags)
{
	__u32 buf;

	CHECK_OK(kverbs_buf_register(fd, mem, length, flags, &buf));
	CHECK(buf);
	return buf;
}

/* A source of @length bytes, @skew bytes into a page. */
static inline __u8 *source(int fd, __u64 length, __u64 skew, __u32 seed, __u32 *buf)
{
	__u8 *mem = memory(length + skew + 4096);

	fill(mem + skew, length, seed);
	*buf = registered(fd, mem + skew, length, 0);
	return mem + skew;
}

/* Expose @mem of B on the connection and learn of it at A. */
static inline void expose_as(struct link *l, __u32 conn_a, __u32 conn_b, __u32 buf,
			     __u64 offset, __u64 length, __u32 rights, __u32 *own, __u32 *remote)
{
	struct kverbs_region_expose cmd = {
		.target_id = conn_b, .buf_id = buf, .offset = offset, .length = length,
		.rights = rights, .tag = 0x1234567890abcdefULL,
	};
	struct kverbs_event event;

	CHECK_OK(kverbs_region_expose(l->b, &cmd));
	CHECK(cmd.region_id);
	event = NEXT_EVENT(l->a, KVERBS_EVENT_REGION, conn_a);
	CHECK_EQ(event.length, length);
	CHECK_EQ(event.tag, cmd.tag);
	CHECK_EQ(event.rights, rights);
	*own = cmd.region_id;
	*remote = event.region_id;
}

static inline void expose(struct link *l, __u32 conn_a, __u32 conn_b, __u32 buf,
			  __u64 offset, __u64 length, __u32 *own, __u32 *remote)
{
	expose_as(l, conn_a, conn_b, buf, offset, length, KVERBS_RIGHT_WRITE, own, remote);
}

/*
 * Memory with guards, registered as a whole at @fd, to be written to by the
 * device: where reads come to, or a field that is not exposed yet.
 */
static inline struct field landing(int fd, __u64 length, __u64 skew)
{
	struct field f = { .guard = GUARD + skew, .length = length };
	__u64 all = 2 * f.guard + length;

	f.mem = memory(all);
	f.want = memory(all);
	fill(f.mem, all, 99);
	memcpy(f.want, f.mem, all);
	f.buf = registered(fd, f.mem, all, KVERBS_BUF_WRITABLE);
	return f;
}

/*
 * A field of @length bytes, @skew bytes into a page. The guards belong to the
 * buffer and not to the region.
 */
static inline struct field field_as(struct link *l, __u32 ca, __u32 cb, __u64 length,
				    __u64 skew, __u32 rights)
{
	struct field f = landing(l->b, length, skew);

	expose_as(l, ca, cb, f.buf, f.guard, length, rights, &f.own, &f.region);
	return f;
}

static inline struct field field_on(struct link *l, __u32 ca, __u32 cb, __u64 length, __u64 skew)
{
	return field_as(l, ca, cb, length, skew, KVERBS_RIGHT_WRITE);
}

static inline struct field field_of(struct link *l, __u64 length, __u64 skew)
{
	return field_on(l, l->ca, l->cb, length, skew);
}

static inline void field_expect(struct field *f, __u64 offset, const void *mem, __u64 length)
{
	memcpy(f->want + f->guard + offset, mem, length);
}

#define FIELD_CHECK(field) field_check(field, __FILE__, __LINE__)
static inline void field_check(const struct field *f, const char *file, int line)
{
	__u64 all = 2 * f->guard + f->length, i = 0, bad = 0, first = 0;

	if (!memcmp(f->mem, f->want, all))
		return;
	for (; i < all; i++) {
		if (f->mem[i] == f->want[i])
			continue;
		if (!bad++)
			first = i;
	}
	fail_at(file, line,
		"%llu bytes differ, first at offset %lld of a region of %llu: 0x%02x, not 0x%02x",
		bad, (long long)(first - f->guard), f->length, f->mem[first], f->want[first]);
}

static inline struct kverbs_item item(__u32 buf, __u64 from, __u32 region, __u64 to,
				      __u64 length, __u32 until)
{
	struct kverbs_item it = {
		.op = KVERBS_OP_WRITE, .buf_id = buf, .region_id = region, .buf_offset = from,
		.region_offset = to, .length = length, .until = until,
	};

	if (until >= KVERBS_CONSUMED)
		it.flags = KVERBS_ITEM_NOTIFY;
	return it;
}

#define SUBMIT(l, it) submit(l, it, __FILE__, __LINE__)
static inline void submit(struct link *l, const struct kverbs_item *it, const char *file, int line)
{
	int ret = kverbs_submit(l->a, l->ca, it, 1);

	if (ret != 1)
		fail_at(file, line, "submit gave %s", result_name(ret));
}

/* One write, to its end: with DELIVERED it is in place on every provider. */
#define PUT(l, buf, from, region, to, length) \
	put(l, buf, from, region, to, length, __FILE__, __LINE__)
static inline struct kverbs_event put(struct link *l, __u32 buf, __u64 from, __u32 region,
				      __u64 to, __u64 length, const char *file, int line)
{
	struct kverbs_item it = item(buf, from, region, to, length, KVERBS_DELIVERED);
	int ret = kverbs_submit(l->a, l->ca, &it, 1);

	if (ret != 1)
		fail_at(file, line, "submit of %llu bytes to %llu: %s", length, to,
			result_name(ret));
	return next_final(l->a, file, line);
}

/* The same for any operation, to COMPLETED. */
static inline struct kverbs_item op_item(__u32 op, __u32 buf, __u64 from, __u32 region,
					 __u64 to, __u64 length)
{
	struct kverbs_item it = item(buf, from, region, to, length, KVERBS_COMPLETED);

	it.op = op;
	return it;
}

/* One read, to its end: then its bytes are in the buffer. */
#define GET(l, buf, to, region, from, length) \
	get(l, buf, to, region, from, length, __FILE__, __LINE__)
static inline struct kverbs_event get(struct link *l, __u32 buf, __u64 to, __u32 region,
				      __u64 from, __u64 length, const char *file, int line)
{
	struct kverbs_item it = op_item(KVERBS_OP_READ, buf, to, region, from, length);
	int ret = kverbs_submit(l->a, l->ca, &it, 1);

	if (ret != 1)
		fail_at(file, line, "submit of a read of %llu bytes from %llu: %s", length, from,
			result_name(ret));
	return next_final(l->a, file, line);
}

/* What SUBMIT takes, to take no events. */
static inline struct kverbs_submit submission(__u32 conn, const struct kverbs_item *items,
					      __u32 nr, __u32 flags)
{
	return (struct kverbs_submit) {
		.size = sizeof(struct kverbs_submit), .flags = flags, .conn_id = conn, .nr = nr,
		.items = (uintptr_t)items,
	};
}

/* WAIT with room for the bytes of messages; @used says how much of it was filled. */
static inline int take_events(int fd, struct kverbs_event *events, __u32 nr, void *data,
			      __u32 room, __u32 *used, __u32 timeout_ms, __u32 flags)
{
	struct kverbs_wait cmd = {
		.size = sizeof(cmd), .flags = flags,
		.take = {
			.events = (uintptr_t)events, .data = (uintptr_t)data, .nr = nr,
			.timeout_ms = timeout_ms, .data_length = room,
		},
	};
	int ret = kverbs_ioctl(fd, KVERBS_WAIT, &cmd);

	*used = ret ? 0 : cmd.take.data_length;
	return ret ? ret : (int)cmd.take.nr;
}

/*
 * The next message, whole; its bytes go to @bytes, which has room for the longest.
 * Events of other kinds are kept. A message that NEXT_EVENT() met has been cut, so
 * ask for it by this alone.
 */
#define NEXT_MESSAGE(fd, id, bytes) next_message(fd, id, bytes, __FILE__, __LINE__)
static inline struct kverbs_event next_message(int fd, __u32 id, void *bytes,
					       const char *file, int line)
{
	struct kverbs_event event;
	__u32 used;
	int ret;

	for (;;) {
		ret = take_events(fd, &event, 1, bytes, KVERBS_MESSAGE_MAX, &used, patience_ms(),
				  0);
		if (ret != 1)
			fail_at(file, line, "waiting for a message: %s", result_name(ret));
		if (event_fits(&event, KVERBS_EVENT_MESSAGE, id))
			break;
		event_keep(fd, &event);
	}
	if (event.status || event.offset || event.length != used)
		fail_at(file, line, "message of %llu bytes at %llu, status %s, %u bytes written",
			event.length, event.offset, result_name(-(long)event.status), used);
	return event;
}

/*
 * Chance that can be had again: the seed is KV_SEED, or else a new one, and said.
 * Threads draw from states of their own.
 */
static inline __u64 chance_seed(void)
{
	const char *given = env("KV_SEED", "");
	struct timespec now;
	__u64 seed;

	clock_gettime(CLOCK_REALTIME, &now);
	seed = *given ? strtoull(given, NULL, 0) :
	       ((__u64)now.tv_sec * 1000000 + now.tv_nsec / 1000) % 1000000007;
	note("KV_SEED=%llu", seed);
	return seed;
}

static inline __u64 chance_state(__u64 seed, __u32 stream)
{
	return (seed + 1) * 0x9e3779b97f4a7c15ULL + stream * 0xbf58476d1ce4e5b9ULL;
}

/* A number below @below. */
static inline __u32 chance(__u64 *state, __u32 below)
{
	__u64 x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return (x >> 31) % below;
}

#endif /* LINK_H */
