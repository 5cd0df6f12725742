// SPDX-License-Identifier: GPL-2.0-only
/*
 * The data of `kverbs bench`, before and after it is measured.
 *
 * Source and target of a connection get the same pseudo-random words, the target
 * with every bit inverted: so no byte of the target is right before it has
 * arrived, and none can arrive where it was right already. Every size has a seed
 * of its own, so nothing is left over from the one before. Afterwards the whole
 * target is compared, byte for byte, guards and all: what items have reached must
 * be as in the source, everything else still inverted.
 *
 * The memory of a remote peer is filled by RDMA Write and read back by RDMA Read,
 * both through a second buffer on this end.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

#define WORD		8ULL
#define PLAIN		0ULL
#define INVERTED	(~0ULL)

/* The word at a distance from where the data begins, which may be negative. */
static __u64 word_at(__u64 seed, __s64 distance)
{
	__u64 x = (seed + distance / (__s64)WORD) * 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 32) * 0xd6e8feb86659fd93ULL;
	return x ^ x >> 32;
}

static void fill(struct memory *memory, __u64 seed, __u64 mask)
{
	__u64 at, word;

	for (at = 0; at < memory->bytes; at += WORD) {
		word = word_at(seed, (__s64)(at - memory->head)) ^ mask;
		memcpy(memory->map + at, &word, WORD);
	}
}

/* Compare one word, byte by byte: the first @plain of its bytes are not inverted. */
static unsigned int compare_word(const __u8 *have, __u64 word, __u64 plain, __u64 *first)
{
	unsigned int i, wrong = 0;
	__u8 want[WORD];

	memcpy(want, &word, WORD);
	for (i = 0; i < WORD; i++) {
		if (have[i] == (__u8)(i < plain ? want[i] : ~want[i]))
			continue;
		if (!wrong++)
			*first = i;
	}
	return wrong;
}

/*
 * How many bytes of a target are wrong. @reached bytes of the data have to be
 * plain, all others inverted.
 */
static __u64 compare(const struct memory *memory, __u64 seed, __u64 reached, __s64 *first)
{
	__u64 at, word, have, plain, wrong = 0, offset = 0;
	unsigned int bytes;
	__s64 distance;

	for (at = 0; at < memory->bytes; at += WORD) {
		distance = (__s64)(at - memory->head);
		word = word_at(seed, distance);
		plain = distance < 0 || distance >= (__s64)reached ? 0 : reached - distance;
		if (plain > WORD)
			plain = WORD;
		memcpy(&have, memory->map + at, WORD);
		if (have == (word ^ (plain ? PLAIN : INVERTED)) && plain % WORD == 0)
			continue;
		bytes = compare_word(memory->map + at, word, plain, &offset);
		if (bytes && !wrong)
			*first = distance + (__s64)offset;
		wrong += bytes;
	}
	return wrong;
}

struct problem data_differs(__u64 bytes, const char *where)
{
	return problem_local(OUTCOME_TRANSFER, "verify", "verifying the data", EBADMSG,
			     "all work was reported as successful: report this with device, driver and kernel",
			     "%llu bytes of the target are not what they should be%s",
			     (unsigned long long)bytes, where);
}

/* One item by itself, outside of what is measured. */
static bool move(struct bench *bench, struct lane *lane, const struct kverbs_item *item)
{
	struct kverbs_event event = { 0 };
	int ret = kverbs_submit(lane->fd, lane->conn_id, item, 1);

	while (ret > 0) {
		ret = kverbs_wait(lane->fd, &event, 1, 0, 0);
		if (ret == -EINTR)
			ret = 1;
		else if (ret > 0 && event.kind == KVERBS_EVENT_FINAL && event.id == lane->conn_id)
			break;
	}
	if (ret > 0 && !event.status)
		return true;
	bench->problem = ret < 0 ? lane_problem(lane, -ret, NULL) : lane_problem(lane, 0, &event);
	return false;
}

/* The second buffer to or from the peer's region: the data, and behind it a guard. */
static bool move_all(struct bench *bench, struct lane *lane, __u32 op, __u64 size)
{
	struct kverbs_item item = {
		.op = op,
		.buf_id = lane->other.buf_id,
		.region_id = lane->region_id,
		.buf_offset = lane->other.head,
		.length = lane->slots * size + BENCH_GUARD,
		.until = KVERBS_COMPLETED,
	};

	if (item.length > lane->region_length)
		item.length = lane->region_length;
	/* What is not read back is then seen to be missing. */
	if (op == KVERBS_OP_READ)
		memset(lane->other.map + lane->other.head, 0, item.length);
	return move(bench, lane, &item);
}

/*
 * Not all that is COMPLETED is placed (iWARP). A read of the region is answered
 * only when all writes before it are, so this end reads a byte, into a guard of
 * the source, before it looks at the target.
 */
static bool settle(struct bench *bench, struct lane *lane)
{
	struct kverbs_item item = {
		.op = KVERBS_OP_READ,
		.buf_id = lane->near.buf_id,
		.region_id = lane->region_id,
		.buf_offset = lane->near.bytes - 1,
		.length = 1,
		.until = KVERBS_COMPLETED,
	};

	return move(bench, lane, &item);
}

/* Items next to each other: all that are in flight, but for what memory there is. */
static __u64 slots_of(const struct bench *bench, const struct lane *lane, __u64 size)
{
	__u64 slots = (__u64)bench->batch * bench->in_flight;

	if (slots > BENCH_SPAN / size)
		slots = BENCH_SPAN / size;
	if (slots > lane->region_length / size)
		slots = lane->region_length / size;
	return slots ? slots : 1;
}

static bool prepare(struct bench *bench, struct lane *lane, __u64 size)
{
	bool write = bench->op == KVERBS_OP_WRITE;

	lane->slots = slots_of(bench, lane, size);
	lane->seed = now_ns() * 0x2545f4914f6cdd1dULL;
	lane->most = 0;
	fill(&lane->near, lane->seed, write ? PLAIN : INVERTED);
	fill(&lane->other, lane->seed, write ? INVERTED : PLAIN);
	return bench->self || move_all(bench, lane, KVERBS_OP_WRITE, size);
}

bool data_prepare(struct bench *bench, __u64 size)
{
	__u32 i;

	for (i = 0; i < bench->connections; i++)
		if (!prepare(bench, &bench->lanes[i], size))
			return false;
	return true;
}

static bool verify(struct bench *bench, struct lane *lane, __u64 size)
{
	struct memory *target = bench->op == KVERBS_OP_WRITE ? &lane->other : &lane->near;
	__u64 wrong, items = lane->most < lane->slots ? lane->most : lane->slots;
	char where[64];
	__s64 first = 0;

	if (bench->op == KVERBS_OP_WRITE && bench->self && !settle(bench, lane))
		return false;
	if (bench->op == KVERBS_OP_WRITE && !bench->self &&
	    !move_all(bench, lane, KVERBS_OP_READ, size))
		return false;
	wrong = compare(target, lane->seed, items * size, &first);
	if (!wrong)
		return true;
	snprintf(where, sizeof(where), ", the first at offset %lld", (long long)first);
	bench->problem = data_differs(wrong, where);
	lane_ends(lane, &bench->problem);
	return false;
}

bool data_verify(struct bench *bench, __u64 size)
{
	__u32 i;

	for (i = 0; i < bench->connections; i++)
		if (!verify(bench, &bench->lanes[i], size))
			return false;
	return true;
}
