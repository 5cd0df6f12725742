// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random work against a model in plain memory.
 *
 * Four threads submit operations of every kind, in bursts, on three connections
 * of two contexts. Each thread owns a stripe of every region and of the local
 * memory, so what every byte has to be is known although they all run at once:
 * each operation is done to the model when it is made, in the order in which a
 * connection begins its items. Where the transport promises no order, behind a
 * read whose source is written to, the item is fenced.
 *
 * One thread for each context takes the events and hands them to who submitted.
 * One at the target takes what its program is told, checks it against what was
 * sent, and acknowledges it. Exactly one final outcome for each item accepted is
 * checked throughout: a second one names a burst that is over.
 *
 * Where connections are cut short, no two operations touch the same byte, and
 * each item's own outcome says what its bytes must be.
 */
#include "link.h"

enum { THREADS = 4, CONNS = 3, CONTEXTS = 2, BURST = 96, RING = 1024, RECORDS = 8192 };

#define STRIPE		(32 * KIB + 24)		/* of a region, a thread's; times 8 bytes */
#define LONG_STRIPE	(128 * KIB + 24)	/* where no byte is used twice */
#define SOURCE		(512 * KIB)		/* of the source, a thread's */
#define LANDING		(512 * KIB)		/* where reads come to, a thread's */

/* struct told - what the peer's program is to be told of next */
struct told {
	bool used;
	__u32 kind;
	__u64 offset;
	__u64 length;
	__u64 digest;		/* of a message's bytes */
};

/* struct conn - a connection and its region */
struct conn {
	struct link l;		/* its context at a, and the target */
	__u32 index;
	__u32 context;
	struct field f;
	__u8 *first;		/* what the region's memory was at first */
	__u64 counter;		/* offset of eight bytes that all threads add to */
	__u64 accepted;
	__u32 max_inline;
	bool refuses;
	__u32 ended;		/* events that say so */
};

/* struct op - an item and what became of it */
struct op {
	struct kverbs_item item;
	bool copied;		/* the source may be changed at once */
	bool any;		/* what it brings is not known beforehand */
	bool accepted;
	__u32 part;		/* the submission */
	__u32 finals;
	struct kverbs_event final;
};

/* struct part - one submission of a burst */
struct part {
	struct conn *conn;
	bool batch;
	__u32 first;
	__u32 nr;
	__u32 accepted;
	__u32 events;		/* KVERBS_EVENT_BATCH */
	struct kverbs_event event;
};

/* struct record - where something was written to, and what is known of it */
struct record {
	struct conn *conn;
	__u64 offset;
	__u64 length;
	__u32 placement;
};

struct worker {
	pthread_t thread;
	__u32 id;
	__u64 state;
	__u64 done;			/* items, all bursts */
	__u64 failed;
	__u32 told[CONNS];		/* sent so far */
	__u64 place[CONNS];		/* next unused byte of the stripe */
	__u32 *read_in[CONNS];		/* by byte: the epoch in which it was last read */
	__u32 epoch[CONNS];		/* ends with a fence */
	__u64 from;			/* next unused byte of the source */
	__u64 to;			/* and of the landing */
	__u32 burst;
	__u32 nr_ops;
	__u32 nr_parts;
	struct op ops[BURST];
	struct part parts[BURST];
	struct record *records;
	__u32 nr_records;
	pthread_mutex_t lock;		/* guards what follows, and outcomes in ops, parts */
	pthread_cond_t ended;
	__s64 left;			/* outcomes to come */
};

static struct {
	bool cut;			/* connections end in the middle */
	bool stop;
	__u64 seed;
	__u64 stripe;
	__u64 per_phase;		/* items of a thread */
	__u32 phases;
	int a[CONTEXTS];
	int b;
	struct conn conn[CONNS];
	struct worker worker[THREADS];
	__u8 *source;
	struct field landing;
	__u32 source_buf[CONTEXTS];
	__u32 landing_buf[CONTEXTS];
	pthread_t taker[CONTEXTS];
	pthread_t target;
	bool target_stops;		/* with nothing left to hear; at once if cut */
	__u64 seq[CONNS];		/* the last one that the target heard */
	pthread_barrier_t barrier;
	pthread_mutex_t told_lock;	/* guards what follows */
	struct told told[THREADS][CONNS][RING];
	__u32 heard[THREADS][CONNS];
} world;

static bool stopping(void)
{
	return __atomic_load_n(&world.stop, __ATOMIC_ACQUIRE);
}

static __u64 digest(const __u8 *bytes, __u64 length)
{
	__u64 x = 14695981039346656037ULL, i;

	for (i = 0; i < length; i++)
		x = (x ^ bytes[i]) * 1099511628211ULL;
	return x;
}

/*
 * Making operations.
 */

static __u8 *region_want(const struct conn *c, __u64 offset)
{
	return c->f.want + c->f.guard + offset;
}

static __u8 *landing_want(__u64 offset)
{
	return world.landing.want + world.landing.guard + offset;
}

static __u8 *landing_is(__u64 offset)
{
	return world.landing.mem + world.landing.guard + offset;
}

/* Mostly small, sometimes many packets long. */
static __u64 some_length(struct worker *w)
{
	const __u32 kind = chance(&w->state, 10);

	return 1 + chance(&w->state, kind < 6 ? 256 : kind < 9 || world.cut ? 2500 : 16384);
}

/* Where in the region to write to. False when none of it is left. */
static bool some_place(struct worker *w, const struct conn *c, __u64 length, __u64 *offset)
{
	__u64 *next = &w->place[c->index];

	*offset = w->id * world.stripe;
	if (!world.cut) {
		*offset += chance(&w->state, world.stripe - length + 1);
		return true;
	}
	if (*next + length > world.stripe)
		return false;
	*offset += *next;
	*next += length + chance(&w->state, 9);
	return true;
}

/* Bytes of the source that nothing on the way uses, with something new in them. */
static bool some_source(struct worker *w, __u64 length, __u64 *from)
{
	const __u64 at = w->from + chance(&w->state, 70);

	if (at + length > SOURCE)
		return false;
	w->from = at + length;
	*from = w->id * SOURCE + at;
	fill(world.source + *from, length, chance(&w->state, ~0u));
	return true;
}

static bool some_landing(struct worker *w, __u64 length, __u64 align, __u64 *to)
{
	const __u64 at = (w->to + chance(&w->state, 70)) / align * align + align;

	if (at + length > LANDING)
		return false;
	w->to = at + length;
	*to = w->id * LANDING + at;
	return true;
}

/* What is being read must not change under it. Behind a fence all of it has ended. */
static void fence_if_read(struct worker *w, const struct conn *c, struct kverbs_item *it)
{
	const __u32 *read_in = w->read_in[c->index] + (it->region_offset - w->id * world.stripe);
	__u64 i;

	for (i = 0; i < it->length; i++) {
		if (read_in[i] != w->epoch[c->index])
			continue;
		it->flags |= KVERBS_ITEM_FENCE;
		w->epoch[c->index]++;
		return;
	}
}

static void reads(struct worker *w, const struct conn *c, const struct kverbs_item *it)
{
	__u32 *read_in = w->read_in[c->index] + (it->region_offset - w->id * world.stripe);
	__u64 i;

	for (i = 0; i < it->length; i++)
		read_in[i] = w->epoch[c->index];
}

/* The tag says who sent it where, and the how manieth it is. */
static void tell(struct worker *w, const struct conn *c, struct kverbs_item *it, __u32 kind)
{
	const __u32 nr = w->told[c->index]++;
	struct told *t = &world.told[w->id][c->index][nr % RING];

	it->tag = w->id << 30 | c->index << 28 | nr;
	if (kind != KVERBS_EVENT_IMM)
		it->tag |= ~it->tag << 32;
	it->until = KVERBS_COMPLETED + chance(&w->state, KVERBS_MOMENTS - 1);
	pthread_mutex_lock(&world.told_lock);
	CHECK(!t->used);
	*t = (struct told) { true, kind, it->region_offset, it->length, 0 };
	if (kind == KVERBS_EVENT_MESSAGE)
		t->digest = digest(world.source + it->buf_offset, it->length);
	pthread_mutex_unlock(&world.told_lock);
}

static bool make_write(struct worker *w, struct conn *c, struct op *op, __u32 flags)
{
	struct kverbs_item *it = &op->item;

	it->op = KVERBS_OP_WRITE;
	it->flags = flags;
	it->buf_id = world.source_buf[c->context];
	it->length = flags & KVERBS_ITEM_INLINE ? 1 + chance(&w->state, c->max_inline) :
		     some_length(w);
	it->until = KVERBS_COMPLETED + chance(&w->state, 2);
	if (!some_place(w, c, it->length, &it->region_offset) ||
	    !some_source(w, it->length, &it->buf_offset))
		return false;
	fence_if_read(w, c, it);
	memcpy(region_want(c, it->region_offset), world.source + it->buf_offset, it->length);
	if (flags & KVERBS_ITEM_NOTIFY)
		tell(w, c, it, KVERBS_EVENT_NOTIFY);
	if (flags & KVERBS_ITEM_IMM)
		tell(w, c, it, KVERBS_EVENT_IMM);
	op->copied = flags & KVERBS_ITEM_INLINE;
	return true;
}

/* From anywhere in the stripe; where bytes are used once, from what was written. */
static bool make_read(struct worker *w, struct conn *c, struct op *op)
{
	__u64 most = world.cut ? w->place[c->index] : world.stripe;
	struct kverbs_item *it = &op->item;

	if (most > world.stripe)
		most = world.stripe;
	it->op = KVERBS_OP_READ;
	it->buf_id = world.landing_buf[c->context];
	it->length = some_length(w);
	if (it->length > most || !some_landing(w, it->length, 1, &it->buf_offset))
		return false;
	it->region_offset = w->id * world.stripe + chance(&w->state, most - it->length + 1);
	memcpy(landing_want(it->buf_offset), region_want(c, it->region_offset), it->length);
	it->buf_offset += world.landing.guard;
	reads(w, c, it);
	return true;
}

static bool make_message(struct worker *w, struct conn *c, struct op *op)
{
	struct kverbs_item *it = &op->item;

	it->op = KVERBS_OP_SEND;
	it->buf_id = world.source_buf[c->context];
	it->region_id = 0;
	it->length = 1 + chance(&w->state, KVERBS_MESSAGE_MAX);
	if (!some_source(w, it->length, &it->buf_offset))
		return false;
	tell(w, c, it, KVERBS_EVENT_MESSAGE);
	op->copied = true;
	return true;
}

/* On eight bytes of the thread's own, so that what they were is known. */
static bool make_atomic(struct worker *w, struct conn *c, struct op *op)
{
	struct kverbs_item *it = &op->item;
	__u64 was, now;

	it->length = 8;
	it->buf_id = world.landing_buf[c->context];
	w->place[c->index] = (w->place[c->index] + 7) & ~7ULL;
	if (!some_place(w, c, 8, &it->region_offset) || !some_landing(w, 8, 8, &it->buf_offset))
		return false;
	it->region_offset &= ~7ULL;
	memcpy(&was, region_want(c, it->region_offset), 8);
	it->operand = (__u64)chance(&w->state, ~0u) << 32 | chance(&w->state, ~0u);
	it->op = chance(&w->state, 2) ? KVERBS_OP_FETCH_ADD : KVERBS_OP_CMP_SWAP;
	if (it->op == KVERBS_OP_CMP_SWAP)
		it->compare = chance(&w->state, 2) ? was : ~was;
	now = it->op == KVERBS_OP_FETCH_ADD ? was + it->operand :
	      it->compare == was ? it->operand : was;
	fence_if_read(w, c, it);
	reads(w, c, it);
	memcpy(region_want(c, it->region_offset), &now, 8);
	memcpy(landing_want(it->buf_offset), &was, 8);
	it->buf_offset += world.landing.guard;
	return true;
}

/* On the counter that all threads share: only the sum is known. */
static bool make_count(struct worker *w, struct conn *c, struct op *op)
{
	struct kverbs_item *it = &op->item;

	it->op = KVERBS_OP_FETCH_ADD;
	it->length = 8;
	it->buf_id = world.landing_buf[c->context];
	it->region_offset = c->counter;
	it->operand = chance(&w->state, 1000000);
	if (!some_landing(w, 8, 8, &it->buf_offset))
		return false;
	it->buf_offset += world.landing.guard;
	op->any = true;
	__atomic_fetch_add((__u64 *)region_want(c, c->counter), it->operand, __ATOMIC_RELAXED);
	return true;
}

static bool make_some(struct worker *w, struct conn *c, struct op *op)
{
	const __u32 kind = chance(&w->state, 100);

	if (kind < 12)
		return make_write(w, c, op, KVERBS_ITEM_NOTIFY);
	if (kind < 20)
		return make_write(w, c, op, on_siw() ? 0 : KVERBS_ITEM_IMM);
	if (kind < 28 && c->max_inline)
		return make_write(w, c, op, KVERBS_ITEM_INLINE |
				  (kind < 24 ? 0 : KVERBS_ITEM_NOTIFY));
	if (kind < 48)
		return make_read(w, c, op);
	if (kind < 56)
		return make_message(w, c, op);
	if (kind < 60 && !on_siw())
		return make_atomic(w, c, op);
	if (kind < 62 && !on_siw() && !world.cut)
		return make_count(w, c, op);
	return make_write(w, c, op, 0);
}

/* One more operation of the burst. False when there is no room for it. */
static bool make_op(struct worker *w, struct conn *c)
{
	struct op *op = &w->ops[w->nr_ops];

	if (w->nr_ops == BURST)
		return false;
	memset(op, 0, sizeof(*op));
	op->item.region_id = c->f.region;
	op->item.until = KVERBS_COMPLETED;
	op->item.user_data = (__u64)w->id << 56 | (__u64)w->burst << 16 | w->nr_ops;
	op->part = w->nr_parts;
	if (!make_some(w, c, op))
		return false;
	/* One more than needed does no harm. siw has none for reads. */
	if (!chance(&w->state, 12) && !(on_siw() && op->item.op == KVERBS_OP_READ))
		op->item.flags |= KVERBS_ITEM_FENCE;
	w->nr_ops++;
	return true;
}

/*
 * Outcomes.
 */

#define BATCH_BIT	(1ULL << 63)

static struct conn *conn_of(int fd, __u32 id)
{
	__u32 i;

	for (i = 0; i < CONNS; i++)
		if (world.conn[i].l.a == fd && world.conn[i].l.ca == id)
			return &world.conn[i];
	fail_at(__FILE__, __LINE__, "an event of connection %u, which is not ours", id);
}

static void stamps_check(const struct kverbs_event *event)
{
	__u32 i;

	CHECK(event->stamps[KVERBS_POSTED]);
	for (i = 1; i <= event->reached && i < KVERBS_MOMENTS; i++)
		CHECK(event->stamps[i] >= event->stamps[i - 1]);
}

static void batch_ended(struct worker *w, const struct kverbs_event *event, __u32 index)
{
	struct part *part = &w->parts[index];

	CHECK(index < w->nr_parts);
	CHECK(part->batch);
	CHECK_EQ(event->id, part->conn->l.ca);
	CHECK_EQ(part->events, 0);
	part->events++;
	part->event = *event;
	w->left--;
}

static void item_ended(struct worker *w, const struct kverbs_event *event, __u32 index)
{
	struct op *op = &w->ops[index];
	struct part *part;

	CHECK(index < w->nr_ops);
	part = &w->parts[op->part];
	CHECK_EQ(event->id, part->conn->l.ca);
	CHECK_EQ(event->length, op->item.length);
	CHECK_EQ(event->asked, op->item.until);
	CHECK_EQ(op->finals, 0);
	CHECK(event->status || event->reached == op->item.until);
	op->finals++;
	op->final = *event;
	if (!part->batch) {
		w->left--;
		return;
	}
	/* Of a batch only what failed is told, and before the batch is. */
	CHECK(event->status);
	CHECK_EQ(part->events, 0);
}

static void outcome(const struct kverbs_event *event)
{
	const __u64 data = event->user_data & ~BATCH_BIT;
	struct worker *w = &world.worker[data >> 56];

	CHECK(data >> 56 < THREADS);
	stamps_check(event);
	pthread_mutex_lock(&w->lock);
	if ((data >> 16 & 0xffffffff) != w->burst)
		fail_at(__FILE__, __LINE__, "a second outcome, of burst %llu in burst %u",
			data >> 16 & 0xffffffff, w->burst);
	if (event->kind == KVERBS_EVENT_BATCH)
		batch_ended(w, event, data & 0xffff);
	else
		item_ended(w, event, data & 0xffff);
	if (!w->left)
		pthread_cond_signal(&w->ended);
	pthread_mutex_unlock(&w->lock);
}

static void dispatch(int fd, const struct kverbs_event *event)
{
	if (event->kind == KVERBS_EVENT_FINAL || event->kind == KVERBS_EVENT_BATCH) {
		/* All of a connection's come before its end, where one thread takes them. */
		CHECK(!conn_of(fd, event->id)->ended);
		outcome(event);
	} else if (event->kind == KVERBS_EVENT_CONN) {
		if (!world.cut)
			fail_at(__FILE__, __LINE__, "a connection ended: %s at step %s",
				result_name(-(long)event->status), kverbs_step_name(event->step));
		CHECK_EQ(__atomic_add_fetch(&conn_of(fd, event->id)->ended, 1, __ATOMIC_ACQ_REL),
			 1);
	}
}

/* Until told to stop, and then until there is nothing any more. */
static void *taking(void *arg)
{
	const int fd = *(int *)arg;
	struct kverbs_event events[64];
	int nr, i;

	do {
		nr = kverbs_wait(fd, events, ARRAY_SIZE(events), 100, 0);
		CHECK(nr > 0 || nr == -ETIMEDOUT);
		for (i = 0; i < nr; i++)
			dispatch(fd, &events[i]);
	} while (nr > 0 || !stopping());
	return NULL;
}

/*
 * Submitting.
 */

static __u32 submit_part(struct worker *w, struct part *part, const struct kverbs_item *items)
{
	struct conn *c = part->conn;
	struct kverbs_submit cmd = submission(c->l.ca, items, part->nr, 0);
	struct kverbs_event events[8];
	__u32 i;
	int ret;

	if (part->batch)
		cmd.flags |= KVERBS_SUBMIT_BATCH;
	cmd.user_data = BATCH_BIT | (__u64)w->id << 56 | (__u64)w->burst << 16 |
			(part - w->parts);
	if (!world.cut && !chance(&w->state, 4)) {
		cmd.flags |= KVERBS_NONBLOCK;
		cmd.take.events = (uintptr_t)events;
		cmd.take.nr = ARRAY_SIZE(events);
	}
	ret = kverbs_ioctl(c->l.a, KVERBS_SUBMIT, &cmd);
	if (ret || cmd.accepted < part->nr) {
		const int why = ret ? -ret : (int)cmd.error;

		if (!world.cut || (why != ENOTCONN && why != ENODEV))
			fail_at(__FILE__, __LINE__, "submit of %u gave %s after %u", part->nr,
				result_name(-why), ret ? 0 : cmd.accepted);
		__atomic_store_n(&c->refuses, true, __ATOMIC_RELAXED);
	}
	for (i = 0; !ret && cmd.take.events && i < cmd.take.nr; i++)
		dispatch(c->l.a, &events[i]);
	return ret ? 0 : cmd.accepted;
}

/* Some operations on one connection, in one call. */
static bool submit_some(struct worker *w, struct conn *c, __u32 nr)
{
	struct part *part = &w->parts[w->nr_parts];
	struct kverbs_item items[BURST];
	__u32 first = w->nr_ops, i;
	struct op *op;

	if (w->nr_parts == BURST)
		return false;
	while (w->nr_ops - first < nr && make_op(w, c))
		;
	if (w->nr_ops == first)
		return false;
	*part = (struct part) { .conn = c, .batch = chance(&w->state, 2), .first = first,
				.nr = w->nr_ops - first };
	for (i = 0; i < part->nr; i++)
		items[i] = w->ops[first + i].item;
	pthread_mutex_lock(&w->lock);
	w->nr_parts++;
	w->left += part->batch ? 1 : part->nr;
	pthread_mutex_unlock(&w->lock);

	part->accepted = submit_part(w, part, items);
	for (i = 0; i < part->nr; i++) {
		op = &w->ops[first + i];
		op->accepted = i < part->accepted;
		if (op->copied)
			memset(world.source + op->item.buf_offset, 0x5a, op->item.length);
	}
	pthread_mutex_lock(&w->lock);
	w->left -= part->batch ? !part->accepted : part->nr - part->accepted;
	pthread_mutex_unlock(&w->lock);
	__atomic_fetch_add(&c->accepted, part->accepted, __ATOMIC_RELAXED);
	w->done += part->accepted;
	return true;
}

/* Wait for all outcomes of the burst. */
static void burst_wait(struct worker *w)
{
	struct timespec until;
	int ret = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 2 * patience_ms() / 1000;
	pthread_mutex_lock(&w->lock);
	while (w->left && !ret)
		ret = pthread_cond_timedwait(&w->ended, &w->lock, &until);
	if (w->left)
		fail_at(__FILE__, __LINE__, "thread %u, burst %u: %lld outcomes did not come",
			w->id, w->burst, w->left);
	pthread_mutex_unlock(&w->lock);
}

static bool succeeded(const struct worker *w, const struct op *op)
{
	if (!op->accepted)
		return false;
	return w->parts[op->part].batch ? !op->finals : !op->final.status;
}

static void part_check(const struct worker *w, const struct part *part)
{
	__u32 i, failed = 0;
	__u64 length = 0;

	for (i = part->first; i < part->first + part->nr; i++) {
		const struct op *op = &w->ops[i];

		if (!op->accepted || !part->batch)
			CHECK_EQ(op->finals, op->accepted);
		failed += op->finals && op->final.status;
		length += succeeded(w, op) ? op->item.length : 0;
	}
	CHECK(!failed || world.cut);
	CHECK_EQ(part->events, part->batch && part->accepted);
	if (!part->events)
		return;
	CHECK_EQ(part->event.nr, part->accepted);
	CHECK_EQ(part->event.nr_failed, failed);
	CHECK_EQ(part->event.length, length);
	CHECK_EQ(!part->event.status, !failed);
}

/* What is known of a write's bytes. */
static __u32 placement(const struct worker *w, const struct op *op)
{
	const __u32 sure = !on_siw() || op->item.until >= KVERBS_DELIVERED ?
			   KVERBS_PLACEMENT_PLACED : KVERBS_PLACEMENT_UNKNOWN;

	if (succeeded(w, op) && w->parts[op->part].batch)
		return sure;
	if (succeeded(w, op) && op->item.op == KVERBS_OP_WRITE)
		CHECK_EQ(op->final.placement, sure);
	CHECK(op->final.placement >= KVERBS_PLACEMENT_PLACED &&
	      op->final.placement <= KVERBS_PLACEMENT_UNSENT);
	return op->final.placement;
}

static void op_check(struct worker *w, const struct op *op)
{
	const struct kverbs_item *it = &op->item;
	const bool brings = it->op != KVERBS_OP_WRITE && it->op != KVERBS_OP_SEND;
	const __u64 to = it->buf_offset - world.landing.guard;

	w->failed += op->accepted && !succeeded(w, op);
	if (brings && (op->any || !succeeded(w, op)))
		memcpy(landing_want(to), landing_is(to), it->length);
	if (!op->accepted || it->op == KVERBS_OP_READ || it->op == KVERBS_OP_SEND)
		return;
	if (!world.cut) {
		placement(w, op);
		return;
	}
	CHECK(w->nr_records < RECORDS);
	w->records[w->nr_records++] = (struct record) {
		w->parts[op->part].conn, it->region_offset, it->length, placement(w, op),
	};
}

/* All of the burst has ended: see how, and what the reads brought. */
static void burst_end(struct worker *w)
{
	const __u64 base = w->id * LANDING;
	__u32 i;

	burst_wait(w);
	for (i = 0; i < w->nr_parts; i++)
		part_check(w, &w->parts[i]);
	for (i = 0; i < w->nr_ops; i++)
		op_check(w, &w->ops[i]);
	if (memcmp(landing_is(base), landing_want(base), w->to))
		fail_at(__FILE__, __LINE__, "thread %u, burst %u brought wrong bytes", w->id,
			w->burst);
}

static void burst_begin(struct worker *w)
{
	__u32 i;

	pthread_mutex_lock(&w->lock);
	w->burst++;
	w->nr_ops = 0;
	w->nr_parts = 0;
	pthread_mutex_unlock(&w->lock);
	w->from = 0;
	w->to = 0;
	for (i = 0; i < CONNS; i++)
		w->epoch[i]++;
}

static bool refuses(const struct conn *c)
{
	return __atomic_load_n(&c->refuses, __ATOMIC_RELAXED);
}

/* Between one call with one item and a full burst. False when nothing could be done. */
static bool burst_run(struct worker *w)
{
	__u32 calls = 1 + chance(&w->state, 6), i;
	struct conn *c;

	burst_begin(w);
	for (i = 0; i < calls; i++) {
		c = &world.conn[chance(&w->state, CONNS)];
		if (!refuses(c))
			submit_some(w, c, 1 + chance(&w->state, chance(&w->state, 4) ? 24 : 64));
	}
	burst_end(w);
	return w->nr_ops;
}

/* A last write to each region, DELIVERED: then what was before it is placed. */
static void flush(struct worker *w)
{
	struct part *part;
	struct op *op;
	__u32 i;

	burst_begin(w);
	for (i = 0; i < CONNS; i++) {
		op = &w->ops[w->nr_ops];
		part = &w->parts[w->nr_parts];
		*op = (struct op) { .part = w->nr_parts };
		*part = (struct part) { .conn = &world.conn[i], .first = w->nr_ops, .nr = 1 };
		op->item.region_id = part->conn->f.region;
		op->item.user_data = (__u64)w->id << 56 | (__u64)w->burst << 16 | w->nr_ops;
		CHECK(make_write(w, part->conn, op, 0));
		op->item.until = KVERBS_DELIVERED;
		pthread_mutex_lock(&w->lock);
		w->nr_ops++;
		w->nr_parts++;
		w->left++;
		pthread_mutex_unlock(&w->lock);
		part->accepted = submit_part(w, part, &op->item);
		op->accepted = true;
		__atomic_fetch_add(&part->conn->accepted, 1, __ATOMIC_RELAXED);
		w->done++;
	}
	burst_end(w);
}

static void *working(void *arg)
{
	struct worker *w = arg;
	__u32 phase;
	__u64 end;

	for (phase = 0; phase < world.phases; phase++) {
		end = w->done + world.per_phase;
		while (w->done < end)
			burst_run(w);
		flush(w);
		pthread_barrier_wait(&world.barrier);	/* all have ended */
		pthread_barrier_wait(&world.barrier);	/* all is compared */
	}
	return NULL;
}

/* Until every connection refuses, or no byte of the stripes is left. */
static void *working_until_cut(void *arg)
{
	struct worker *w = arg;
	__u32 i, idle = 0;

	while (idle < 50) {
		idle = burst_run(w) ? 0 : idle + 1;
		for (i = 0; i < CONNS && refuses(&world.conn[i]); i++)
			;
		if (i == CONNS)
			break;
	}
	return NULL;
}

/*
 * The target's program.
 */

static void hear(const struct kverbs_event *event, const __u8 *data)
{
	const __u32 low = event->tag, thread = low >> 30, index = low >> 28 & 3;
	const __u32 nr = low & 0xfffffff;
	struct told *t;

	CHECK(index < CONNS);
	t = &world.told[thread][index][nr % RING];
	pthread_mutex_lock(&world.told_lock);
	CHECK_EQ(event->id, world.conn[index].l.cb);
	CHECK_EQ(nr, world.heard[thread][index]);
	world.heard[thread][index]++;
	CHECK(t->used);
	CHECK_EQ(event->kind, t->kind);
	CHECK_EQ(event->status, 0);
	if (event->kind == KVERBS_EVENT_IMM) {
		CHECK_EQ(event->tag >> 32, 0);
		CHECK(event->length && event->length <= t->length);
	} else {
		CHECK_EQ(event->tag >> 32, (__u32)~low);
		CHECK_EQ(event->length, t->length);
	}
	if (event->kind == KVERBS_EVENT_NOTIFY) {
		CHECK_EQ(event->offset, t->offset);
		CHECK_EQ(event->region_id, world.conn[index].f.own);
	}
	if (event->kind == KVERBS_EVENT_MESSAGE)
		CHECK_EQ(digest(data + event->offset, event->length), t->digest);
	t->used = false;
	pthread_mutex_unlock(&world.told_lock);
}

/* Everything that this connection's program has taken is on stable storage. */
static void acknowledge(__u32 conn, __u64 seq)
{
	const int ret = kverbs_ack(world.b, conn, seq, KVERBS_ACK_PERSISTED);

	/* An end that came first may have taken even the id. */
	if (world.cut && (ret == -ENOTCONN || ret == -ENODEV || ret == -ENOENT))
		return;
	CHECK_OK(ret);
}

static void hear_all(const struct kverbs_event *events, int nr, const __u8 *data)
{
	bool heard[CONNS] = { false };
	__u32 index;
	int i;

	for (i = 0; i < nr; i++) {
		if (events[i].kind != KVERBS_EVENT_NOTIFY && events[i].kind != KVERBS_EVENT_IMM &&
		    events[i].kind != KVERBS_EVENT_MESSAGE) {
			CHECK(world.cut || events[i].kind != KVERBS_EVENT_CONN);
			continue;
		}
		hear(&events[i], data);
		index = events[i].tag >> 28 & 3;
		CHECK(events[i].seq > world.seq[index]);
		world.seq[index] = events[i].seq;
		heard[index] = true;
	}
	for (index = 0; index < CONNS; index++)
		if (heard[index])
			acknowledge(world.conn[index].l.cb, world.seq[index]);
}

static void *hearing(void *arg)
{
	static __u8 data[16 * KIB];
	struct kverbs_event events[64];
	__u32 used;
	int nr;

	(void)arg;
	do {
		nr = take_events(world.b, events, ARRAY_SIZE(events), data, sizeof(data), &used,
				 100, 0);
		CHECK(nr > 0 || nr == -ETIMEDOUT);
		CHECK(used <= sizeof(data));
		hear_all(events, nr, data);
	} while (!__atomic_load_n(&world.target_stops, __ATOMIC_ACQUIRE) ||
		 (nr > 0 && !world.cut));
	return NULL;
}

static void target_stop(void)
{
	__atomic_store_n(&world.target_stops, true, __ATOMIC_RELEASE);
	pthread_join(world.target, NULL);
}

/*
 * Comparing.
 */

static void pause_ms(__u32 ms)
{
	struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&pause, NULL);
}

static bool heard_of(__u32 thread, __u32 index)
{
	bool heard;

	pthread_mutex_lock(&world.told_lock);
	heard = world.heard[thread][index] == world.worker[thread].told[index];
	pthread_mutex_unlock(&world.told_lock);
	return heard;
}

/* The target has heard of everything that it was told. */
static void all_heard(void)
{
	__u32 t, i, tries;

	for (t = 0; t < THREADS; t++) {
		for (i = 0; i < CONNS; i++) {
			for (tries = 0; !heard_of(t, i); tries++) {
				CHECK(tries < (__u32)patience_ms() / 10);
				pause_ms(10);
			}
		}
	}
}

static void compare(void)
{
	__u32 i;

	all_heard();
	for (i = 0; i < CONNS; i++)
		FIELD_CHECK(&world.conn[i].f);
	FIELD_CHECK(&world.landing);
}

/* Each write by what its outcome says; all other bytes as they were at first. */
static void record_check(const struct record *r, __u8 *expect)
{
	const __u64 at = r->conn->f.guard + r->offset;
	const __u8 *is = r->conn->f.mem + at, *want = r->conn->f.want + at;
	const __u8 *first = r->conn->first + at;
	__u64 i;

	if (r->placement == KVERBS_PLACEMENT_PLACED) {
		memcpy(expect + at, want, r->length);
	} else if (r->placement == KVERBS_PLACEMENT_UNKNOWN) {
		for (i = 0; i < r->length; i++)
			if (is[i] != want[i] && is[i] != first[i])
				fail_at(__FILE__, __LINE__,
					"byte %llu of %llu at %llu is neither old nor new", i,
					r->length, r->offset);
		memcpy(expect + at, is, r->length);
	}
}

static void compare_by_outcome(void)
{
	__u64 known[KVERBS_PLACEMENT_UNSENT + 1] = { 0 }, all;
	struct worker *w;
	__u8 *expect;
	__u32 i, t, n;

	for (i = 0; i < CONNS; i++) {
		struct field *f = &world.conn[i].f;

		all = 2 * f->guard + f->length;
		expect = memory(all);
		memcpy(expect, world.conn[i].first, all);
		for (t = 0; t < THREADS; t++) {
			w = &world.worker[t];
			for (n = 0; n < w->nr_records; n++) {
				if (w->records[n].conn != &world.conn[i])
					continue;
				record_check(&w->records[n], expect);
				known[w->records[n].placement]++;
			}
		}
		memcpy(f->want, expect, all);
		FIELD_CHECK(f);
		CHECK_SYS(munmap(expect, all));
	}
	FIELD_CHECK(&world.landing);
	note("writes placed %llu, unknown %llu, unsent %llu", known[KVERBS_PLACEMENT_PLACED],
	     known[KVERBS_PLACEMENT_UNKNOWN], known[KVERBS_PLACEMENT_UNSENT]);
}

/*
 * The world.
 */

static void conn_up(struct conn *c, const struct link *l, __u32 index,
		    const struct kverbs_conn_attr *attr)
{
	const __u32 rights = KVERBS_RIGHT_WRITE | KVERBS_RIGHT_READ |
			     (on_siw() ? 0 : KVERBS_RIGHT_ATOMIC);
	const __u64 length = THREADS * world.stripe + 8;

	memset(c, 0, sizeof(*c));
	c->l = *l;
	c->index = index;
	c->context = l->a == world.a[0] ? 0 : 1;
	connect_again(&c->l, attr, &c->l.ca, &c->l.cb);
	c->f = field_as(&c->l, c->l.ca, c->l.cb, length, 0, rights);
	c->first = memory(2 * c->f.guard + length);
	memcpy(c->first, c->f.mem, 2 * c->f.guard + length);
	c->counter = THREADS * world.stripe;
	c->max_inline = conn_query(c->l.a, c->l.ca).actual.max_inline;
}

/* What a connection is like is drawn, but for what the case asks for. */
static void conns_up(__u64 *state, const struct kverbs_conn_attr asked[CONNS])
{
	static const __u32 ceilings[] = { 0, 0, 1000, 4096, 64 * KIB };
	static const __u32 depths[] = { 0, 2, 7, 32 };
	struct kverbs_conn_attr attr = { .poll = chance(state, 3) };
	struct link l = { .a = world.a[0], .b = world.b };
	__u32 i;

	l.listener = listen_at(l.b, &attr, &l.port);
	for (i = 0; i < CONNS; i++) {
		attr = asked[i];
		attr.depth = depths[chance(state, ARRAY_SIZE(depths))];
		attr.wr_ceiling = ceilings[chance(state, ARRAY_SIZE(ceilings))];
		attr.max_inline = chance(state, 2) * 128;
		if (!attr.poll)
			attr.poll = chance(state, 3);
		l.a = world.a[i < 2 ? 0 : 1];
		conn_up(&world.conn[i], &l, i, &attr);
		note("connection %u: poll %s, depth %u, ceiling %u, inline %u", i,
		     kverbs_poll_name(attr.poll), attr.depth, attr.wr_ceiling,
		     world.conn[i].max_inline);
	}
}

static void memory_up(void)
{
	__u32 i;

	world.source = memory(THREADS * SOURCE);
	world.landing = landing(world.a[0], THREADS * LANDING, 0);
	for (i = 0; i < CONTEXTS; i++) {
		world.source_buf[i] = registered(world.a[i], world.source, THREADS * SOURCE, 0);
		world.landing_buf[i] = i ? registered(world.a[i], world.landing.mem,
						      2 * world.landing.guard +
						      world.landing.length,
						      KVERBS_BUF_WRITABLE) : world.landing.buf;
	}
}

static void worker_up(struct worker *w, __u32 id)
{
	__u32 i;

	memset(w, 0, sizeof(*w));
	w->id = id;
	w->state = chance_state(world.seed, 1 + id);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->ended, NULL);
	w->records = memory(RECORDS * sizeof(*w->records));
	for (i = 0; i < CONNS; i++)
		w->read_in[i] = memory(world.stripe * sizeof(*w->read_in[i]));
}

static void world_up(__u64 *state, __u64 stripe, const struct kverbs_conn_attr asked[CONNS])
{
	__u32 i;

	world.stop = false;
	world.target_stops = false;
	memset(world.seq, 0, sizeof(world.seq));
	world.stripe = stripe;
	memset(world.heard, 0, sizeof(world.heard));
	memset(world.told, 0, sizeof(world.told));
	pthread_mutex_init(&world.told_lock, NULL);
	world.b = context();
	for (i = 0; i < CONTEXTS; i++)
		world.a[i] = context();
	conns_up(state, asked);
	memory_up();
	for (i = 0; i < THREADS; i++)
		worker_up(&world.worker[i], i);
}

static void world_runs(void *(*work)(void *))
{
	__u32 i;

	CHECK(!pthread_create(&world.target, NULL, hearing, NULL));
	for (i = 0; i < CONTEXTS; i++)
		CHECK(!pthread_create(&world.taker[i], NULL, taking, &world.a[i]));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&world.worker[i].thread, NULL, work, &world.worker[i]));
}

static void workers_join(void)
{
	__u32 i;

	for (i = 0; i < THREADS; i++)
		pthread_join(world.worker[i].thread, NULL);
}

static void takers_stop(void)
{
	__u32 i;

	__atomic_store_n(&world.stop, true, __ATOMIC_RELEASE);
	for (i = 0; i < CONTEXTS; i++)
		pthread_join(world.taker[i], NULL);
}

/* Items accepted, as the threads counted them and as the kernel did. */
static __u64 count_check(void)
{
	struct kverbs_counters counters;
	__u64 done = 0, accepted = 0;
	__u32 i;

	for (i = 0; i < CONNS; i++) {
		counters = conn_query(world.conn[i].l.a, world.conn[i].l.ca).counters;
		CHECK_EQ(counters.submitted, world.conn[i].accepted);
		CHECK_EQ(counters.finished, counters.submitted);
		accepted += world.conn[i].accepted;
	}
	for (i = 0; i < THREADS; i++)
		done += world.worker[i].done;
	CHECK_EQ(done, accepted);
	return done;
}

static void contexts_close(void)
{
	__u32 i;

	for (i = 0; i < CONTEXTS; i++)
		close(world.a[i]);
	if (world.b >= 0)
		close(world.b);
}

/* A tenth where processors are emulated, a hundredth there under all checkers. */
static __u64 all_items(void)
{
	return slow() ? amount(10000, 1000, 1000) : amount(100000, 100000, 1000);
}

static void run(__u64 all, const struct kverbs_conn_attr asked[CONNS])
{
	__u64 state;
	__u32 i;

	world.seed = chance_seed();
	state = chance_state(world.seed, 0);
	world.phases = all / (THREADS * 500) ? all / (THREADS * 500) : 1;
	world.per_phase = all / THREADS / world.phases;
	world_up(&state, STRIPE, asked);
	CHECK(!pthread_barrier_init(&world.barrier, NULL, THREADS + 1));
	world_runs(working);
	for (i = 0; i < world.phases; i++) {
		pthread_barrier_wait(&world.barrier);
		compare();
		pthread_barrier_wait(&world.barrier);
	}
	workers_join();
	takers_stop();
	target_stop();
	compare();
	note("%llu items, compared %u times", count_check(), world.phases + 1);
	contexts_close();
}

static void random_items(void)
{
	static const struct kverbs_conn_attr asked[CONNS];

	run(all_items(), asked);
}

/* The same where every piece is registered. */
static void registered_items(void)
{
	static const struct kverbs_conn_attr asked[CONNS] = {
		{ .flags = KVERBS_CONN_REG }, { .flags = KVERBS_CONN_REG },
		{ .flags = KVERBS_CONN_REG },
	};

	run(all_items() / 8, asked);
}

/* The same where one connection is polled by the thread that takes its events. */
static void direct_items(void)
{
	static const struct kverbs_conn_attr asked[CONNS] = {
		[2] = { .poll = KVERBS_POLL_DIRECT },
	};

	run(all_items() / 20, asked);
}

/*
 * Ends of connections in the middle.
 */

static const char * const way_name[] = {
	"disconnected", "aborted", "disconnected by the peer", "aborted by the peer",
	"destroyed by the peer", "peer's file closed",
};

static int end_conn(const struct conn *c, __u32 way)
{
	switch (way) {
	case 0:
		return kverbs_disconnect(c->l.a, c->l.ca, patience_ms());
	case 1:
		return kverbs_abort(c->l.a, c->l.ca);
	case 2:
		return kverbs_disconnect(world.b, c->l.cb, patience_ms());
	case 3:
		return kverbs_abort(world.b, c->l.cb);
	default:
		return kverbs_destroy(world.b, c->l.cb);
	}
}

/* One after the other, each its own way; or all at once with the peer's file. */
static void end_all(__u64 *state)
{
	__u32 order = chance(state, CONNS), way, i;
	int ret;

	for (i = 0; i < CONNS; i++) {
		struct conn *c = &world.conn[(order + i) % CONNS];

		pause_ms(chance(state, slow() ? 1000 : 150));
		way = chance(state, ARRAY_SIZE(way_name));
		note("connection %u: %s", c->index, way_name[way]);
		if (way == ARRAY_SIZE(way_name) - 1) {
			target_stop();
			CHECK_SYS(close(world.b));
			world.b = -1;
			return;
		}
		ret = end_conn(c, way);
		CHECK(!ret || ret == -ETIMEDOUT || ret == -ENOTCONN);
	}
}

static void all_ended(void)
{
	__u32 i, tries;

	for (i = 0; i < CONNS; i++) {
		for (tries = 0; !__atomic_load_n(&world.conn[i].ended, __ATOMIC_ACQUIRE);
		     tries++) {
			CHECK(tries < (__u32)patience_ms() / 10);
			pause_ms(10);
		}
	}
}

static void cut_once(__u64 *state)
{
	static const struct kverbs_conn_attr asked[CONNS];
	__u64 failed = 0;
	__u32 i;

	world_up(state, LONG_STRIPE, asked);
	world_runs(working_until_cut);
	end_all(state);
	workers_join();
	all_ended();
	takers_stop();
	for (i = 0; i < CONNS; i++)
		CHECK_EQ(world.conn[i].ended, 1);
	if (world.b >= 0)
		target_stop();
	compare_by_outcome();
	for (i = 0; i < THREADS; i++)
		failed += world.worker[i].failed;
	note("%llu items accepted, %llu of them failed", count_check(), failed);
	contexts_close();
}

static void memory_down(void)
{
	__u32 i, t;

	for (i = 0; i < CONNS; i++) {
		struct field *f = &world.conn[i].f;

		munmap(f->mem, 2 * f->guard + f->length);
		munmap(f->want, 2 * f->guard + f->length);
		munmap(world.conn[i].first, 2 * f->guard + f->length);
		for (t = 0; t < THREADS; t++)
			munmap(world.worker[t].read_in[i],
			       world.stripe * sizeof(*world.worker[t].read_in[i]));
	}
	for (t = 0; t < THREADS; t++)
		munmap(world.worker[t].records, RECORDS * sizeof(struct record));
	munmap(world.source, THREADS * SOURCE);
	munmap(world.landing.mem, 2 * world.landing.guard + world.landing.length);
	munmap(world.landing.want, 2 * world.landing.guard + world.landing.length);
}

static void cut_short(void)
{
	const __u32 rounds = amount(12, 8, 3);
	const __u64 seed = chance_seed();
	__u64 state = chance_state(seed, 0);
	__u32 i;

	world.cut = true;
	for (i = 0; i < rounds; i++) {
		world.seed = seed + i;
		cut_once(&state);
		memory_down();
	}
}

static const struct test tests[] = {
	{ "random", random_items },
	{ "registered", registered_items },
	{ "direct", direct_items },
	{ "cut_short", cut_short },
};

int main(int argc, char **argv)
{
	return tests_main(tests, ARRAY_SIZE(tests), argc, argv);
}
