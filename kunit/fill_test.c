// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transfers into work requests, field by field, with artificial limits, on the
 * fake provider: what is in each piece, which of them carries the immediate or the
 * fence, what follows the last one in the same chain, and what waits for slots,
 * credits and registrations.
 *
 * The pieces are compared with a model that goes byte by byte.
 */
#include <kunit/test.h>

#include "../module/fill.c"
#include "rig.h"

#define MOST	64

/* What one byte's place says of a piece's boundaries. */
struct place {
	u32 extent;
	u64 local;
	u64 remote;
	u32 rkey;
};

static struct place place_of(const struct rig *rig, const struct kverbs_item *it, u64 n)
{
	const struct kverbs_target *target = &rig->remote.target;
	u32 bytes = rig->extent[0].length;
	u64 from = it->buf_offset + n, to = it->region_offset + n;

	return (struct place) {
		.extent = div64_u64(from, bytes),
		.local = (div64_u64(from, bytes) + 1) * RIG_STRIDE + from -
			 div64_u64(from, bytes) * bytes,
		.remote = RIG_ADDR + to,
		.rkey = rig->key[div64_u64(target->lead + to, target->span)],
	};
}

/* The next piece of an item as it has to be, from its byte @n on. */
static u32 model_piece(const struct rig *rig, const struct kverbs_item *it, u64 n,
		       const struct kverbs_slice_limits *limits, struct fake_wr *wr)
{
	struct place first = place_of(rig, it, n), last = first, p;
	u32 length = 0;

	memset(wr, 0, sizeof(*wr));
	wr->remote_addr = first.remote;
	wr->rkey = first.rkey;
	for (; n + length < it->length && length < limits->max_bytes; length++) {
		p = place_of(rig, it, n + length);
		if (p.rkey != first.rkey)
			break;
		if (!length || p.extent != last.extent) {
			if (wr->nr_sge == limits->max_sge)
				break;
			wr->sge[wr->nr_sge++] = (struct ib_sge) {
				.addr = p.local, .lkey = FAKE_LKEY,
			};
		}
		wr->sge[wr->nr_sge - 1].length++;
		last = p;
	}
	return length;
}

static bool same_piece(const struct fake_wr *got, const struct fake_wr *want)
{
	return got->remote_addr == want->remote_addr && got->rkey == want->rkey &&
	       got->nr_sge == want->nr_sge &&
	       !memcmp(got->sge, want->sge, want->nr_sge * sizeof(*want->sge));
}

/*
 * The work requests from @index on are an item's pieces; all but the last have one
 * opcode. Returns how many there are, 0 if they are not.
 */
static u32 pieces_fit(struct rig *rig, u32 index, const struct kverbs_item *it,
		      const struct kverbs_slice_limits *limits, enum ib_wr_opcode opcode,
		      enum ib_wr_opcode last)
{
	u32 nr = 0, length;
	struct fake_wr want;
	u64 n;

	for (n = 0; n < it->length; n += length, nr++) {
		const struct fake_wr *got = &rig->fqp->sq.wr[index + nr];

		length = model_piece(rig, it, n, limits, &want);
		if (index + nr >= rig_posted(rig) || !same_piece(got, &want) ||
		    got->opcode != (n + length < it->length ? opcode : last))
			return 0;
	}
	return nr;
}

/* Everything posted is done; the item has ended well. */
static bool ends_well(struct rig *rig)
{
	struct kverbs_event event;
	bool well;

	rig_complete(rig, MOST * 2, IB_WC_SUCCESS);
	well = rig_event(rig, &event) && event.kind == KVERBS_EVENT_FINAL && !event.status &&
	       event.reached == KVERBS_COMPLETED && !rig_event(rig, &event);
	fake_forget(rig->fqp);
	return well;
}

/* What the peer is told of a write. */
static bool done_says(struct rig *rig, const struct fake_wr *wr, const struct kverbs_item *it,
		      u64 seq)
{
	struct kverbs_msg msg;

	return rig_message(rig, wr, &msg) && msg.type == KVERBS_MSG_DONE && msg.done.seq == seq &&
	       msg.done.region == RIG_REGION && msg.done.offset == it->region_offset &&
	       msg.done.length == it->length && msg.done.tag == it->tag &&
	       msg.done.notify == !!(it->flags & KVERBS_ITEM_NOTIFY);
}

/* One item with these limits, from submission to its end. */
static bool one_item(struct rig *rig, const struct kverbs_item *it)
{
	bool read = it->op == KVERBS_OP_READ, imm = it->flags & KVERBS_ITEM_IMM;
	bool notify = it->flags & KVERBS_ITEM_NOTIFY;
	enum ib_wr_opcode opcode = read ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE;
	struct kverbs_qp *qp = &rig->conn->qp;
	u64 seq = kverbs_conn_work(rig->conn)->seq;
	u32 nr;

	rig_submit(rig, it, 1);
	nr = pieces_fit(rig, 0, it, read ? &qp->read_limits : &qp->limits, opcode,
			imm ? IB_WR_RDMA_WRITE_WITH_IMM : opcode);
	if (!nr || rig_posted(rig) != nr + notify)
		return false;
	if (imm && rig->fqp->sq.wr[nr - 1].imm != it->tag)
		return false;
	if (notify && (!done_says(rig, &rig->fqp->sq.wr[nr], it, seq + 1) ||
		       rig->fqp->sq.wr[nr].post != rig->fqp->sq.wr[nr - 1].post))
		return false;
	if (kverbs_conn_work(rig->conn)->seq != seq + (imm || notify))
		return false;
	if (imm || notify)
		rig_grant(rig, 1);
	return ends_well(rig);
}

static void set_limits(struct rig *rig, u32 bytes, u32 sge, u32 read_sge)
{
	struct kverbs_qp *qp = &rig->conn->qp;

	qp->limits.max_bytes = bytes;
	qp->limits.max_sge = sge;
	qp->read_limits.max_bytes = bytes;
	qp->read_limits.max_sge = read_sge;
}

static const struct {
	u32 op;
	u32 flags;
} kinds[] = {
	{ KVERBS_OP_WRITE, 0 },
	{ KVERBS_OP_WRITE, KVERBS_ITEM_NOTIFY },
	{ KVERBS_OP_WRITE, KVERBS_ITEM_IMM },
	{ KVERBS_OP_READ, 0 },
};

/* Offsets at and around the edges of extents (5 bytes) and keys (7, the first 4). */
static const u32 offsets[] = { 0, 1, 3, 4, 5, 6, 10, 11 };

static u32 all_lengths(struct rig *rig, u32 kind, u64 from, u64 to)
{
	struct kverbs_item it = rig_item(kinds[kind].op, from, to, 0);
	u32 bad = 0;

	it.flags = kinds[kind].flags;
	it.tag = kinds[kind].op == KVERBS_OP_WRITE ? 0xdeadbeef : 0;
	for (it.length = 1; it.length <= 16; it.length++) {
		if (one_item(rig, &it))
			continue;
		if (!bad++)
			kunit_info(rig->test, "kind %u, %llu bytes from %llu to %llu, at most %u a piece",
				   kind, it.length, from, to, rig->conn->qp.limits.max_bytes);
		rig_complete(rig, MOST * 2, IB_WC_SUCCESS);
		fake_forget(rig->fqp);
	}
	return bad;
}

/* Every length at every edge of both ends, under every limit that bites. */
static void pieces(struct kunit *test)
{
	static const u32 ceilings[] = { 1, 2, 3, 5, 7, 1000 };
	struct rig *rig = rig_make(test, &(struct rig_attr){});
	u32 bad = 0, kind, c, sge, i;

	rig_shape(rig, 5, 7, 3);
	for (c = 0; c < ARRAY_SIZE(ceilings); c++) {
		for (sge = 1; sge <= 3; sge++) {
			set_limits(rig, ceilings[c], sge, 4 - sge);
			for (kind = 0; kind < ARRAY_SIZE(kinds); kind++)
				for (i = 0; i < ARRAY_SIZE(offsets); i++)
					bad += all_lengths(rig, kind, offsets[i],
							   offsets[(i * 3 + c) % 8]);
		}
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->failed), 0);
}

/* A queue that is shorter than the item: the rest follows, and nothing is lost. */
static void short_queue(struct kunit *test)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){ .depth = 3, .ceiling = 8 });
	struct kverbs_item it = rig_item(KVERBS_OP_WRITE, 0, 0, 83);
	struct kverbs_qp *qp = &rig->conn->qp;
	u32 posted;

	it.flags = KVERBS_ITEM_NOTIFY;
	it.tag = 5;
	rig_submit(rig, &it, 1);
	for (posted = 3; posted < 11; posted = min(posted + 3, 11U)) {
		KUNIT_EXPECT_EQ(test, rig_posted(rig), posted);
		KUNIT_EXPECT_EQ(test, kverbs_slots_room(&qp->slots, KVERBS_SLOT_DATA), 0);
		KUNIT_EXPECT_TRUE(test, rig_wr(rig, posted - 1)->flags & IB_SEND_SIGNALED);
		rig_complete(rig, 3, IB_WC_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, rig_posted(rig), 12);
	KUNIT_EXPECT_EQ(test, pieces_fit(rig, 0, &it, &qp->limits, IB_WR_RDMA_WRITE,
					 IB_WR_RDMA_WRITE), 11);
	KUNIT_EXPECT_TRUE(test, done_says(rig, rig_wr(rig, 11), &it, 1));
	KUNIT_EXPECT_EQ(test, rig_wr(rig, 10)->post, rig_wr(rig, 11)->post);
	KUNIT_EXPECT_EQ(test, qp->counters.slot_stalls, 3);
	KUNIT_EXPECT_TRUE(test, ends_well(rig));
}

/* Without a credit the last piece waits, and only the last. */
static void waits_for_credit(struct kunit *test, u32 flags)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){ .ceiling = 16 });
	struct kverbs_credit *credit = &rig->conn->control.credit[KVERBS_CREDIT_DATA];
	struct kverbs_item it[2] = { rig_item(KVERBS_OP_WRITE, 0, 0, 64),
				     rig_item(KVERBS_OP_WRITE, 0, 64, 16) };
	bool notify = flags & KVERBS_ITEM_NOTIFY;
	u32 i;

	it[0].flags = flags;
	for (i = 0; i < KVERBS_DATA_RECVS; i++)
		kverbs_credit_take(credit);
	rig_submit(rig, it, 2);
	KUNIT_EXPECT_EQ(test, rig_posted(rig), 3);
	KUNIT_EXPECT_EQ(test, rig->conn->qp.counters.credit_stalls, 1);
	rig_complete(rig, 3, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, rig_posted(rig), 3);

	rig_grant(rig, 1);
	KUNIT_EXPECT_EQ(test, rig_posted(rig), 5 + notify);
	KUNIT_EXPECT_EQ(test, rig_wr(rig, 3)->opcode,
			notify ? IB_WR_RDMA_WRITE : IB_WR_RDMA_WRITE_WITH_IMM);
	if (notify)
		KUNIT_EXPECT_TRUE(test, done_says(rig, rig_wr(rig, 4), &it[0], 1));
	KUNIT_EXPECT_EQ(test, rig_wr(rig, 4 + notify)->opcode, IB_WR_RDMA_WRITE);
	KUNIT_EXPECT_EQ(test, rig_wr(rig, 3)->post, rig_wr(rig, 4 + notify)->post);
	KUNIT_EXPECT_EQ(test, kverbs_credit_room(credit), 0);
	rig_grant(rig, KVERBS_DATA_RECVS);
}

static void notify_waits_for_credit(struct kunit *test)
{
	waits_for_credit(test, KVERBS_ITEM_NOTIFY);
}

static void immediate_waits_for_credit(struct kunit *test)
{
	waits_for_credit(test, KVERBS_ITEM_IMM);
}

/* Wherever in the chain it comes to lie, the DONE follows its last piece at once. */
static void done_at(struct kunit *test, struct rig *rig, u32 messages, u32 writes)
{
	static struct kverbs_item it[MOST];	/* too many for a stack */
	u64 seq = kverbs_conn_work(rig->conn)->seq;
	u32 i, nr = 0, posted;
	struct kverbs_event event;

	for (i = 0; i < messages; i++)
		it[nr++] = rig_item(KVERBS_OP_SEND, 0, 0, 1);
	for (i = 0; i < writes; i++)
		it[nr++] = rig_item(KVERBS_OP_WRITE, 0, 0, 16);
	it[nr] = rig_item(KVERBS_OP_WRITE, 16, 32, 16);
	it[nr++].flags = KVERBS_ITEM_NOTIFY;
	rig_submit(rig, it, nr);
	posted = rig_posted(rig);
	KUNIT_EXPECT_EQ_MSG(test, rig_wr(rig, posted - 1)->opcode, IB_WR_SEND,
			    "%u messages, %u writes", messages, writes);
	KUNIT_EXPECT_EQ_MSG(test, rig_wr(rig, posted - 2)->opcode, IB_WR_RDMA_WRITE,
			    "%u messages, %u writes", messages, writes);
	KUNIT_EXPECT_EQ_MSG(test, rig_wr(rig, posted - 1)->post, rig_wr(rig, posted - 2)->post,
			    "%u messages, %u writes", messages, writes);
	KUNIT_EXPECT_TRUE_MSG(test, done_says(rig, rig_wr(rig, posted - 1), &it[nr - 1],
					      seq + messages + 1),
			      "%u messages, %u writes", messages, writes);
	rig_complete(rig, posted, IB_WC_SUCCESS);
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_TRUE(test, rig_event(rig, &event) && !event.status);
	KUNIT_EXPECT_FALSE(test, rig_event(rig, &event));
	fake_forget(rig->fqp);
	rig_grant(rig, messages + 1);
}

static void done_everywhere(struct kunit *test, u32 flags)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){ .flags = flags });
	u32 messages, writes;

	for (messages = 0; messages <= 4; messages++)
		for (writes = 0; writes <= 2 * KVERBS_CHAIN / 3; writes++)
			done_at(test, rig, messages, writes);
	for (writes = 2 * KVERBS_CHAIN / 3; writes <= KVERBS_CHAIN + 2; writes++)
		done_at(test, rig, 0, writes);
}

static void done_in_the_chain(struct kunit *test)
{
	done_everywhere(test, 0);
}

static void done_in_the_chain_registered(struct kunit *test)
{
	done_everywhere(test, KVERBS_CONN_REG);
}

/* Asked for by its moment alone, the DONE wakes nobody, and is acknowledged. */
static void delivered(struct kunit *test)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){});
	struct kverbs_item it = rig_item(KVERBS_OP_WRITE, 0, 0, 100);
	struct kverbs_event event;

	it.until = KVERBS_DELIVERED;
	rig_submit(rig, &it, 1);
	KUNIT_EXPECT_EQ(test, rig_posted(rig), 2);
	KUNIT_EXPECT_TRUE(test, done_says(rig, rig_wr(rig, 1), &it, 1));
	rig_complete(rig, 2, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, rig_event(rig, &event));
	rig_acknowledge(rig, 1);
	KUNIT_ASSERT_TRUE(test, rig_event(rig, &event));
	KUNIT_EXPECT_EQ(test, event.status, 0);
	KUNIT_EXPECT_EQ(test, event.reached, KVERBS_DELIVERED);
}

/* Its first work request is fenced, and no other; not what is registered for it. */
static void fence(struct kunit *test, u32 flags, u32 before)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){ .ceiling = 16, .flags = flags });
	struct kverbs_item it[] = {
		rig_item(KVERBS_OP_READ, 0, 0, 16),
		rig_item(KVERBS_OP_WRITE, 0, 0, 64),
		rig_item(KVERBS_OP_WRITE, 0, 0, 32),
	};
	u32 i, fenced = before + 1 + before;

	it[1].flags = KVERBS_ITEM_FENCE;
	rig_submit(rig, it, ARRAY_SIZE(it));
	KUNIT_EXPECT_EQ(test, rig_posted(rig), 7 * (before + 1));
	for (i = 0; i < rig_posted(rig); i++)
		KUNIT_EXPECT_EQ_MSG(test, !!(rig_wr(rig, i)->flags & IB_SEND_FENCE), i == fenced,
				    "work request %u", i);
	KUNIT_EXPECT_EQ(test, rig_wr(rig, fenced)->opcode, IB_WR_RDMA_WRITE);
}

static void fence_first_only(struct kunit *test)
{
	fence(test, 0, 0);
}

static void fence_registered(struct kunit *test)
{
	fence(test, KVERBS_CONN_REG, 1);
}

/* Large pieces show progress by themselves, others only at the end of a chain. */
static void signals(struct kunit *test)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){ .extent = SZ_1M, .span = SZ_8M });
	struct kverbs_item it = rig_item(KVERBS_OP_WRITE, 0, 0, 4 * SZ_256K);
	u32 i;

	set_limits(rig, SZ_256K, 1, 1);
	rig_submit(rig, &it, 1);
	KUNIT_EXPECT_EQ(test, rig_posted(rig), 4);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, rig_wr(rig, i)->flags, IB_SEND_SIGNALED);
	KUNIT_EXPECT_TRUE(test, ends_well(rig));

	set_limits(rig, SZ_256K - 1, 1, 1);
	rig_submit(rig, &it, 1);
	KUNIT_EXPECT_EQ(test, rig_posted(rig), 5);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, rig_wr(rig, i)->flags, i == 4 ? IB_SEND_SIGNALED : 0);
	KUNIT_EXPECT_TRUE(test, ends_well(rig));
}

static bool bytes_are(struct rig *rig, const void *bytes, u64 offset, u32 length)
{
	const u8 *byte = bytes;
	u32 i;

	for (i = 0; i < length && byte[i] == rig_byte(rig, offset + i); i++)
		;
	return i == length;
}

/* Inline: the bytes as they were when the item was accepted, by virtual address. */
static void inline_bytes(struct kunit *test)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){ .inline_bytes = 200, .ceiling = 64 });
	struct kverbs_item it = rig_item(KVERBS_OP_WRITE, 11, 5, 150);
	const struct fake_wr *wr;
	u32 i, at = 0;

	it.flags = KVERBS_ITEM_INLINE | KVERBS_ITEM_NOTIFY;
	rig_submit(rig, &it, 1);
	memset(page_address(rig->page), 0x5a, PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, rig_posted(rig), 4);
	for (i = 0; i < 3; i++, at += wr->sge[0].length) {
		wr = rig_wr(rig, i);
		KUNIT_EXPECT_EQ(test, wr->opcode, IB_WR_RDMA_WRITE);
		KUNIT_EXPECT_EQ(test, wr->flags & ~IB_SEND_SIGNALED, IB_SEND_INLINE);
		KUNIT_EXPECT_EQ(test, wr->nr_sge, 1);
		KUNIT_EXPECT_EQ(test, wr->sge[0].length, i == 2 ? 22 : 64);
		KUNIT_EXPECT_EQ(test, wr->remote_addr, RIG_ADDR + 5 + at);
		KUNIT_EXPECT_TRUE(test, bytes_are(rig, (void *)(uintptr_t)wr->sge[0].addr,
						  11 + at, wr->sge[0].length));
	}
	/* The DONE is not inline. */
	KUNIT_EXPECT_EQ(test, rig_wr(rig, 3)->flags, IB_SEND_SIGNALED);
	KUNIT_EXPECT_EQ(test, kref_read(&rig->map.ref), 1);
	KUNIT_EXPECT_TRUE(test, ends_well(rig));

	it.length = 201;
	KUNIT_EXPECT_EQ(test, kverbs_transfer_check(rig->conn, &it), -EMSGSIZE);
}

static void message(struct kunit *test)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){});
	struct kverbs_item it = rig_item(KVERBS_OP_SEND, 100, 0, KVERBS_MESSAGE_MAX);
	struct kverbs_msg msg;

	it.tag = 0x123456789abcdefULL;
	it.flags = KVERBS_ITEM_FENCE;
	rig_submit(rig, &it, 1);
	KUNIT_ASSERT_EQ(test, rig_posted(rig), 1);
	KUNIT_EXPECT_EQ(test, rig_wr(rig, 0)->flags, IB_SEND_FENCE | IB_SEND_SIGNALED);
	KUNIT_EXPECT_EQ(test, rig_wr(rig, 0)->sge[0].lkey, FAKE_LKEY);
	KUNIT_ASSERT_TRUE(test, rig_message(rig, rig_wr(rig, 0), &msg));
	KUNIT_EXPECT_EQ(test, msg.type, KVERBS_MSG_MESSAGE);
	KUNIT_EXPECT_EQ(test, msg.message.seq, 1);
	KUNIT_EXPECT_EQ(test, msg.message.tag, it.tag);
	KUNIT_EXPECT_EQ(test, msg.message.length, KVERBS_MESSAGE_MAX);
	KUNIT_EXPECT_TRUE(test, bytes_are(rig, msg.message.bytes, 100, KVERBS_MESSAGE_MAX));
	KUNIT_EXPECT_EQ(test, kverbs_credit_room(&rig->conn->control.credit[KVERBS_CREDIT_DATA]),
			KVERBS_DATA_RECVS - 1);
	KUNIT_EXPECT_TRUE(test, ends_well(rig));
}

/* Messages take control slots: when these are out the next one waits, in order. */
static void messages_wait_for_slots(struct kunit *test)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){});
	struct kverbs_item it[KVERBS_CTRL_SLOTS + 2];
	struct kverbs_msg msg;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(it); i++)
		it[i] = rig_item(KVERBS_OP_SEND, i, 0, 1);
	it[KVERBS_CTRL_SLOTS + 1] = rig_item(KVERBS_OP_WRITE, 0, 0, 16);
	rig_submit(rig, it, ARRAY_SIZE(it));
	KUNIT_EXPECT_EQ(test, rig_posted(rig), KVERBS_CTRL_SLOTS);
	KUNIT_EXPECT_EQ(test, rig->conn->qp.counters.credit_stalls, 1);
	rig_complete(rig, KVERBS_CTRL_SLOTS, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, rig_posted(rig), KVERBS_CTRL_SLOTS + 2);
	KUNIT_EXPECT_TRUE(test, rig_message(rig, rig_wr(rig, KVERBS_CTRL_SLOTS), &msg));
	KUNIT_EXPECT_EQ(test, msg.message.seq, KVERBS_CTRL_SLOTS + 1);
	KUNIT_EXPECT_TRUE(test, bytes_are(rig, msg.message.bytes, KVERBS_CTRL_SLOTS, 1));
	KUNIT_EXPECT_EQ(test, rig_wr(rig, KVERBS_CTRL_SLOTS + 1)->opcode, IB_WR_RDMA_WRITE);
}

static void atomics(struct kunit *test)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){ .extent = 64, .span = 4096 });
	struct kverbs_item it[2] = { rig_item(KVERBS_OP_FETCH_ADD, 8, 4096 + 16, 8),
				     rig_item(KVERBS_OP_CMP_SWAP, 72, 24, 8) };
	const struct fake_wr *wr;
	u32 i;

	it[0].operand = 0x1111222233334444ULL;
	it[1].operand = 0x5555666677778888ULL;
	it[1].compare = 0x9999aaaabbbbccccULL;
	it[1].flags = KVERBS_ITEM_FENCE;
	rig_submit(rig, it, 2);
	KUNIT_ASSERT_EQ(test, rig_posted(rig), 2);
	wr = rig_wr(rig, 0);
	KUNIT_EXPECT_EQ(test, wr->opcode, IB_WR_ATOMIC_FETCH_AND_ADD);
	KUNIT_EXPECT_EQ(test, wr->compare_add, it[0].operand);
	KUNIT_EXPECT_EQ(test, wr->swap, 0);
	KUNIT_EXPECT_EQ(test, wr->flags, 0);
	KUNIT_EXPECT_EQ(test, wr->rkey, rig->key[1]);
	KUNIT_EXPECT_EQ(test, wr->sge[0].addr, RIG_STRIDE + 8);
	wr = rig_wr(rig, 1);
	KUNIT_EXPECT_EQ(test, wr->opcode, IB_WR_ATOMIC_CMP_AND_SWP);
	KUNIT_EXPECT_EQ(test, wr->compare_add, it[1].compare);
	KUNIT_EXPECT_EQ(test, wr->swap, it[1].operand);
	KUNIT_EXPECT_EQ(test, wr->flags, IB_SEND_FENCE | IB_SEND_SIGNALED);
	KUNIT_EXPECT_EQ(test, wr->rkey, rig->key[0]);
	KUNIT_EXPECT_EQ(test, wr->sge[0].addr, 2 * RIG_STRIDE + 8);
	for (i = 0; i < 2; i++) {
		wr = rig_wr(rig, i);
		KUNIT_EXPECT_EQ(test, wr->remote_addr, RIG_ADDR + it[i].region_offset);
		KUNIT_EXPECT_EQ(test, wr->nr_sge, 1);
		KUNIT_EXPECT_EQ(test, wr->sge[0].length, 8);
		KUNIT_EXPECT_EQ(test, wr->sge[0].lkey, FAKE_LKEY);
	}
}

/*
 * The work requests from @index on are the registered piece that is item's bytes
 * @n, @length of them. Returns how many they are: with an invalidation of @old, or
 * without one if that is 0.
 */
static u32 registered_piece(struct rig *rig, u32 index, const struct kverbs_item *it, u64 n,
			    u32 length, u32 old)
{
	struct kunit *test = rig->test;
	struct place p = place_of(rig, it, n);
	const struct fake_wr *reg, *wr;

	if (old) {
		KUNIT_EXPECT_EQ_MSG(test, rig_wr(rig, index)->opcode, IB_WR_LOCAL_INV,
				    "at %llu", n);
		KUNIT_EXPECT_EQ(test, rig_wr(rig, index)->invalidate, old);
		KUNIT_EXPECT_FALSE(test, rig_wr(rig, index)->flags);
		index++;
	}
	reg = rig_wr(rig, index);
	KUNIT_EXPECT_EQ_MSG(test, reg->opcode, IB_WR_REG_MR, "at %llu", n);
	KUNIT_EXPECT_FALSE(test, reg->flags & ~IB_SEND_SIGNALED);
	KUNIT_EXPECT_NE(test, reg->key, old);
	wr = rig_wr(rig, index + 1);
	KUNIT_EXPECT_EQ(test, wr->nr_sge, 1);
	KUNIT_EXPECT_EQ(test, wr->sge[0].addr, p.local);
	KUNIT_EXPECT_EQ(test, wr->sge[0].length, length);
	KUNIT_EXPECT_EQ(test, wr->sge[0].lkey, reg->key);
	KUNIT_EXPECT_EQ(test, wr->remote_addr, p.remote);
	KUNIT_EXPECT_EQ(test, wr->rkey, p.rkey);
	return old ? 3 : 2;
}

/*
 * Two registrations for five pieces: an invalidation goes before each use but the
 * first, and when both are out the rest waits until a piece is back.
 */
static void registered(struct kunit *test)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){ .depth = 2, .ceiling = 16,
							     .flags = KVERBS_CONN_REG });
	struct kverbs_item it = rig_item(KVERBS_OP_WRITE, 3, 7, 5 * 16 - 1);
	struct kverbs_qp *qp = &rig->conn->qp;
	struct ib_mr *mr[2];
	u32 at = 0, key[2], i;

	KUNIT_EXPECT_EQ(test, qp->locals.nr, 2);
	rig_submit(rig, &it, 1);
	KUNIT_ASSERT_EQ(test, rig_posted(rig), 4);
	KUNIT_EXPECT_EQ(test, qp->counters.slot_stalls, 1);
	KUNIT_EXPECT_TRUE(test, list_empty(&qp->locals.free));
	for (i = 0; i < 2; i++) {
		mr[i] = rig_wr(rig, at)->mr;
		key[i] = rig_wr(rig, at)->key;
		KUNIT_EXPECT_EQ(test, rig_wr(rig, at)->access, 0);
		at += registered_piece(rig, at, &it, i * 16, 16, 0);
	}
	KUNIT_EXPECT_PTR_NE(test, mr[0], mr[1]);

	rig_complete(rig, 4, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, rig_posted(rig), 10);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_PTR_EQ(test, rig_wr(rig, at + 1)->mr, mr[i]);
		at += registered_piece(rig, at, &it, (2 + i) * 16, 16, key[i]);
		key[i] = rig_wr(rig, at - 2)->key;
	}
	KUNIT_EXPECT_EQ(test, rig_wr(rig, 9)->opcode, IB_WR_RDMA_WRITE);

	rig_complete(rig, 6, IB_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, rig_posted(rig), 13);
	registered_piece(rig, at, &it, 4 * 16, 15, key[0]);
	KUNIT_EXPECT_TRUE(test, ends_well(rig));
	KUNIT_EXPECT_FALSE(test, list_empty(&qp->locals.free));
}

/* An item that fails in the middle gives back what it has, too. */
static void registered_fails(struct kunit *test)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){ .depth = 4, .ceiling = 16,
							     .flags = KVERBS_CONN_REG });
	struct kverbs_item it = rig_item(KVERBS_OP_WRITE, 0, 0, 64);
	struct kverbs_qp *qp = &rig->conn->qp;
	struct list_head *p;
	u32 nr = 0;

	rig_submit(rig, &it, 1);
	KUNIT_EXPECT_EQ(test, rig_posted(rig), 8);
	rig_complete(rig, 4, IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_GT(test, atomic_read(&rig->failed), 0);
	list_for_each(p, &qp->locals.free)
		nr++;
	KUNIT_EXPECT_EQ(test, nr, 4);
}

/* On iWARP a read's own key goes with its completion, and needs nothing before. */
static void iwarp_read(struct kunit *test)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){ .depth = 1, .iwarp = true,
							     .ceiling = 4096 });
	struct kverbs_item it = rig_item(KVERBS_OP_READ, 512, 1024, 3 * 512);
	u32 i;

	set_limits(rig, 512, 4, 4);
	rig->conn->qp.locals.limits.max_bytes = 512;
	rig_submit(rig, &it, 1);
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_EQ(test, rig_posted(rig), 2 * (i + 1));
		registered_piece(rig, 2 * i, &it, i * 512, 512, 0);
		KUNIT_EXPECT_EQ(test, rig_wr(rig, 2 * i)->access,
				IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE);
		KUNIT_EXPECT_EQ(test, rig_wr(rig, 2 * i)->flags, IB_SEND_SIGNALED);
		KUNIT_EXPECT_EQ(test, rig_wr(rig, 2 * i + 1)->opcode, IB_WR_RDMA_READ_WITH_INV);
		KUNIT_EXPECT_EQ(test, rig_wr(rig, 2 * i + 1)->invalidate,
				rig_wr(rig, 2 * i)->key);
		if (i)
			KUNIT_EXPECT_NE(test, rig_wr(rig, 2 * i)->key,
					rig_wr(rig, 2 * i - 2)->key);
		if (i < 2)
			rig_complete(rig, 2, IB_WC_SUCCESS);
	}
	KUNIT_EXPECT_TRUE(test, ends_well(rig));

	/* A write there goes without, unless all shall. */
	it.op = KVERBS_OP_WRITE;
	it.length = 512;
	rig_submit(rig, &it, 1);
	KUNIT_EXPECT_EQ(test, rig_posted(rig), 1);
	KUNIT_EXPECT_EQ(test, rig_wr(rig, 0)->sge[0].lkey, FAKE_LKEY);
	KUNIT_EXPECT_TRUE(test, ends_well(rig));
}

static void registered_read(struct kunit *test)
{
	struct rig *rig = rig_make(test, &(struct rig_attr){ .flags = KVERBS_CONN_REG });
	struct kverbs_item it = rig_item(KVERBS_OP_READ, 1, 2, 100);

	rig_submit(rig, &it, 1);
	KUNIT_ASSERT_EQ(test, rig_posted(rig), 2);
	registered_piece(rig, 0, &it, 0, 100, 0);
	KUNIT_EXPECT_EQ(test, rig_wr(rig, 0)->access, IB_ACCESS_LOCAL_WRITE);
	KUNIT_EXPECT_EQ(test, rig_wr(rig, 1)->opcode, IB_WR_RDMA_READ);
	KUNIT_EXPECT_TRUE(test, ends_well(rig));
}

static struct kunit_case fill_cases[] = {
	KUNIT_CASE(pieces),
	KUNIT_CASE(short_queue),
	KUNIT_CASE(notify_waits_for_credit),
	KUNIT_CASE(immediate_waits_for_credit),
	KUNIT_CASE(done_in_the_chain),
	KUNIT_CASE(done_in_the_chain_registered),
	KUNIT_CASE(delivered),
	KUNIT_CASE(fence_first_only),
	KUNIT_CASE(fence_registered),
	KUNIT_CASE(signals),
	KUNIT_CASE(inline_bytes),
	KUNIT_CASE(message),
	KUNIT_CASE(messages_wait_for_slots),
	KUNIT_CASE(atomics),
	KUNIT_CASE(registered),
	KUNIT_CASE(registered_fails),
	KUNIT_CASE(registered_read),
	KUNIT_CASE(iwarp_read),
	{}
};

static struct kunit_suite fill_suite = {
	.name = "fill",
	.init = rig_init,
	.exit = rig_exit,
	.test_cases = fill_cases,
};

kunit_test_suite(fill_suite);
