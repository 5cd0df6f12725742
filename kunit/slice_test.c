// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slice, against a model that goes byte by byte.
 *
 * With limits of a few bytes every way to cut a source into extents, a target
 * into key spans and a range into pieces can be tried, so every boundary meets
 * every other one. The model knows no lengths, only "does the next byte still
 * belong to this piece?".
 */
#include <kunit/test.h>

#include "../module/slice.c"

#define SMALL	5			/* bytes of the largest small source */
#define LKEY	0x1234

/* A key that tells its index. */
static u32 key_of(u64 index)
{
	return 0xabc00000 + index;
}

/* Where byte @offset of a source is, by looking at every extent. */
static u64 source_addr(const struct kverbs_source *source, u64 offset, u32 *extent)
{
	u32 i;

	for (i = 0; i < source->nr; i++) {
		const struct kverbs_extent *e = &source->extent[i];

		if (offset >= e->offset && offset - e->offset < e->length) {
			*extent = i;
			return e->addr + (offset - e->offset);
		}
	}
	return U64_MAX;
}

struct job {
	const struct kverbs_source *source;
	const struct kverbs_target *target;
	const struct kverbs_slice_limits *limits;
	u64 from, to, length;
};

/* The model: the piece that starts at byte @at of the range. */
static u32 model_piece(const struct job *r, u64 at, struct kverbs_piece *piece,
		       struct ib_sge *sge)
{
	const struct kverbs_target *t = r->target;
	u32 extent, last = U32_MAX;
	u64 byte, addr, key;

	*piece = (struct kverbs_piece) {};
	for (byte = at; byte < r->length; byte++) {
		addr = source_addr(r->source, r->from + byte, &extent);
		key = (t->lead + r->to + byte) / t->span;
		if (byte == at) {
			piece->addr = t->addr + r->to + byte;
			piece->rkey = t->key[key];
		}
		if (t->key[key] != piece->rkey || piece->length == r->limits->max_bytes)
			break;
		if (extent != last) {
			if (piece->nr_sge == r->limits->max_sge)
				break;
			sge[piece->nr_sge++] = (struct ib_sge) {
				.addr = addr, .lkey = r->limits->lkey,
			};
			last = extent;
		}
		sge[piece->nr_sge - 1].length++;
		piece->length++;
	}
	return piece->length;
}

/* Slice a range and hold every piece against the model's. */
static bool as_model(const struct job *r)
{
	struct ib_sge sge[KVERBS_SLICE_SGE + 1], want_sge[KVERBS_SLICE_SGE];
	struct kverbs_piece piece, want;
	struct kverbs_slice s;
	u64 at = 0;

	kverbs_slice_init(&s, r->source, r->from, r->target, r->to, r->length);
	while (at < r->length) {
		memset(sge, 0xa5, sizeof(sge));
		at += model_piece(r, at, &want, want_sge);
		if (!kverbs_slice_next(&s, r->limits, &piece, sge))
			return false;
		if (memcmp(&piece, &want, sizeof(want)) ||
		    memcmp(sge, want_sge, want.nr_sge * sizeof(*sge)))
			return false;
		/* No element is written beyond those used. */
		if (sge[want.nr_sge].length != 0xa5a5a5a5)
			return false;
	}
	return !kverbs_slice_next(&s, r->limits, &piece, sge) && !s.left;
}

/* Cut @total bytes wherever @cuts has a bit; extents are apart, or they touch. */
static void make_source(struct kverbs_source *source, struct kverbs_extent *extent,
			u32 total, u32 cuts, u64 gap)
{
	u32 byte;

	source->extent = extent;
	source->nr = 0;
	for (byte = 0; byte < total; byte++) {
		if (!byte || cuts & BIT(byte - 1)) {
			extent[source->nr++] = (struct kverbs_extent) {
				.addr = 0x100000 + byte + gap * source->nr,
				.offset = byte,
			};
		}
		extent[source->nr - 1].length++;
	}
}

/* Every range of a source, under every limit. Returns how many went wrong. */
static int every_range(const struct kverbs_source *source, u32 total,
		       const struct kverbs_target *target)
{
	struct kverbs_slice_limits limits = { .lkey = LKEY };
	struct job r = { source, target, &limits };
	int wrong = 0;

	for (r.from = 0; r.from < total; r.from++)
		for (r.length = 1; r.from + r.length <= total; r.length++)
			for (r.to = 0; r.to < 3; r.to++)
				for (limits.max_sge = 1; limits.max_sge <= 3; limits.max_sge++)
					for (limits.max_bytes = 1; limits.max_bytes <= total;
					     limits.max_bytes++)
						wrong += !as_model(&r);
	return wrong;
}

static void exhaustive(struct kunit *test)
{
	struct kverbs_extent extent[SMALL];
	u32 total, cuts, i, key[SMALL * 3];
	struct kverbs_target target = { .addr = 0x7f000000, .key = key };
	struct kverbs_source source;

	for (i = 0; i < ARRAY_SIZE(key); i++)
		key[i] = key_of(i);
	for (total = 1; total <= SMALL; total++)
		for (cuts = 0; cuts < BIT(total - 1); cuts++) {
			make_source(&source, extent, total, cuts, 0x1000);
			for (target.span = 1; target.span <= 4; target.span++)
				for (target.lead = 0; target.lead < target.span; target.lead++)
					KUNIT_EXPECT_EQ_MSG(test, 0,
							    every_range(&source, total, &target),
							    "%u bytes, cuts %x, span %llu, lead %u",
							    total, cuts, target.span, target.lead);
			cond_resched();
		}
}

/* Extents that happen to touch are still one gather element each. */
static void touching_extents(struct kunit *test)
{
	struct kverbs_extent extent[SMALL];
	u32 key = key_of(0);
	struct kverbs_target target = { .addr = 0x7f000000, .span = 1000, .key = &key };
	struct kverbs_source source;
	u32 cuts;

	for (cuts = 0; cuts < BIT(SMALL - 1); cuts++) {
		make_source(&source, extent, SMALL, cuts, 0);
		KUNIT_EXPECT_EQ(test, 0, every_range(&source, SMALL, &target));
	}
}

static void nothing(struct kunit *test)
{
	struct kverbs_extent extent = { .addr = 0x1000, .length = 4096 };
	struct kverbs_source source = { &extent, 1 };
	u32 key = 1;
	struct kverbs_target target = { .span = 4096, .key = &key };
	struct kverbs_slice_limits limits = { 1, 1, LKEY };
	struct kverbs_piece piece;
	struct kverbs_slice s;
	struct ib_sge sge;

	kverbs_slice_init(&s, &source, 17, &target, 3, 0);
	memset(&piece, 0xa5, sizeof(piece));
	KUNIT_EXPECT_FALSE(test, kverbs_slice_next(&s, &limits, &piece, &sge));
	KUNIT_EXPECT_EQ(test, piece.length, 0xa5a5a5a5);
	KUNIT_EXPECT_FALSE(test, kverbs_slice_next(&s, &limits, &piece, &sge));
}

/* The first extent is found for every start, with any number of extents. */
static void first_extent(struct kunit *test)
{
	struct kverbs_extent *extent = kunit_kcalloc(test, 70, sizeof(*extent), GFP_KERNEL);
	u32 key = 5, nr, i, index;
	struct kverbs_target target = { .span = U64_MAX, .key = &key };
	struct kverbs_slice_limits limits = { 1, 1, LKEY };
	struct kverbs_source source = { extent };
	struct kverbs_piece piece;
	struct kverbs_slice s;
	struct ib_sge sge;
	u64 at, end = 0;

	KUNIT_ASSERT_NOT_NULL(test, extent);
	for (nr = 1; nr <= 70; nr++) {
		extent[nr - 1] = (struct kverbs_extent) {
			.addr = 0x10000 * nr, .offset = end, .length = nr % 7 + 1,
		};
		end += extent[nr - 1].length;
		source.nr = nr;
		for (at = 0; at < end; at++) {
			kverbs_slice_init(&s, &source, at, &target, 0, end - at);
			KUNIT_ASSERT_TRUE(test, kverbs_slice_next(&s, &limits, &piece, &sge));
			KUNIT_ASSERT_EQ(test, sge.addr, source_addr(&source, at, &i));
		}
		index = nr - 1;
		kverbs_slice_init(&s, &source, extent[index].offset, &target, 0, 1);
		KUNIT_ASSERT_EQ(test, s.extent, index);
		KUNIT_ASSERT_EQ(test, s.skip, 0);
	}
}

/*
 * A model for ranges too long to count: every gather element is where the
 * source has its bytes, the remote side goes on without a gap, both ends of a
 * piece are under its key, and a piece stops only for a reason.
 */
static bool piece_sane(const struct job *r, u64 at, const struct kverbs_piece *piece,
		       const struct ib_sge *sge)
{
	const struct kverbs_target *t = r->target;
	u64 key = (t->lead + r->to + at) / t->span, bytes = 0, after;
	u32 i, extent = 0;
	bool full;

	if (piece->addr != t->addr + r->to + at || piece->rkey != t->key[key] ||
	    !piece->nr_sge || piece->nr_sge > r->limits->max_sge ||
	    !piece->length || piece->length > r->limits->max_bytes)
		return false;
	for (i = 0; i < piece->nr_sge; i++) {
		if (sge[i].lkey != r->limits->lkey || !sge[i].length ||
		    sge[i].addr != source_addr(r->source, r->from + at + bytes, &extent))
			return false;
		bytes += sge[i].length;
		if (bytes > piece->length ||
		    r->from + at + bytes > r->source->extent[extent].offset +
					   r->source->extent[extent].length)
			return false;
	}
	after = at + bytes;
	full = piece->nr_sge == r->limits->max_sge &&
	       r->from + after == r->source->extent[extent].offset +
				  r->source->extent[extent].length;
	return bytes == piece->length &&
	       key == (t->lead + r->to + after - 1) / t->span &&
	       (after == r->length || piece->length == r->limits->max_bytes || full ||
		key != (t->lead + r->to + after) / t->span);
}

static u64 slice_all(const struct job *r, u32 *pieces)
{
	struct ib_sge sge[KVERBS_SLICE_SGE];
	struct kverbs_piece piece;
	struct kverbs_slice s;
	u64 at = 0;

	*pieces = 0;
	kverbs_slice_init(&s, r->source, r->from, r->target, r->to, r->length);
	while (kverbs_slice_next(&s, r->limits, &piece, sge)) {
		if (!piece_sane(r, at, &piece, sge))
			break;
		at += piece.length;
		++*pieces;
	}
	return at;
}

#define GIB	BIT_ULL(30)

/* Five extents of just under 4 GiB, four odd keys. */
static const struct kverbs_extent large_extent[] = {
	{ 0x0000001000000000, 0, U32_MAX },
	{ 0x0000003000000123, 0x0ffffffffull, U32_MAX },
	{ 0xffffff0000000000, 0x1fffffffeull, U32_MAX },
	{ 0x0000005000000000, 0x2fffffffdull, 1 },
	{ 0x0000007000000fff, 0x2fffffffeull, U32_MAX },
};

static const u32 large_key[] = { 11, 22, 33, 44, 55, 66 };

static void beyond_4_gib(struct kunit *test)
{
	static const u64 lengths[] = {
		1, U32_MAX - 1ull, U32_MAX, 1ull << 32, (1ull << 32) + 1, 2 * GIB,
		2 * U32_MAX - 1ull, 9 * GIB + 7,
	};
	static const u64 starts[] = {
		0, 1, U32_MAX - 1ull, U32_MAX, 1ull << 32, 0x1fffffffdull, 0x1fffffffeull,
	};
	static const u32 ceilings[] = { U32_MAX, 1u << 31, (1u << 30) + 1 };
	struct kverbs_source source = { large_extent, ARRAY_SIZE(large_extent) };
	struct kverbs_target target = {
		.addr = 0xfffffff000000000, .span = 3 * GIB + 5, .lead = 77, .key = large_key,
	};
	struct kverbs_slice_limits limits = { .lkey = LKEY };
	struct job r = { &source, &target, &limits };
	u32 l, f, t, c, pieces;

	for (l = 0; l < ARRAY_SIZE(lengths); l++)
		for (f = 0; f < ARRAY_SIZE(starts); f++)
			for (t = 0; t < 3; t++)
				for (c = 0; c < ARRAY_SIZE(ceilings); c++) {
					r.length = min(lengths[l], 0x3fffffffdull - starts[f]);
					r.from = starts[f];
					r.to = starts[t + 1];
					limits.max_bytes = ceilings[c];
					limits.max_sge = 1 + (l + f) % 3;
					KUNIT_EXPECT_EQ_MSG(test, slice_all(&r, &pieces), r.length,
							    "%llu bytes at %llu to %llu, ceiling %u",
							    r.length, r.from, r.to,
							    limits.max_bytes);
				}
}

/* The real thing: 1 GiB out of single pages, 6 elements, 1 MiB at most. */
static void one_gib_of_pages(struct kunit *test)
{
	u32 nr = GIB / 4096 + 1, i, pieces;
	struct kverbs_extent *extent = kvcalloc(nr, sizeof(*extent), GFP_KERNEL);
	u32 *key = kvcalloc(1025, sizeof(*key), GFP_KERNEL);
	struct kverbs_slice_limits limits = { 6, 1 << 20, LKEY };
	struct kverbs_target target = {
		.addr = 0x0001000000000123, .span = 1 << 20, .lead = 0x123, .key = key,
	};
	struct kverbs_source source = { extent, nr };
	struct kverbs_piece piece;
	struct kverbs_slice s;
	struct ib_sge sge[6];
	u64 done = 0;

	if (!extent || !key) {
		KUNIT_FAIL(test, "no memory");
		goto out;
	}
	for (i = 0; i < nr; i++)
		extent[i] = (struct kverbs_extent) { 0x100000000 + 8192ull * i, 4096ull * i, 4096 };
	for (i = 0; i < 1025; i++)
		key[i] = key_of(i);

	/* Starts inside a page; each key's span ends with a short piece. */
	kverbs_slice_init(&s, &source, 0x800, &target, 0, GIB);
	for (pieces = 0; kverbs_slice_next(&s, &limits, &piece, sge); pieces++) {
		if (piece.rkey != key_of((0x123 + done) >> 20) ||
		    piece.addr != target.addr + done ||
		    sge[0].addr != 0x100000000 + (0x800 + done) / 4096 * 8192 +
				   (0x800 + done) % 4096)
			break;
		done += piece.length;
	}
	KUNIT_EXPECT_EQ(test, done, GIB);
	KUNIT_EXPECT_EQ(test, s.left, 0);
	/* A span of 256 pages out of 257 page ends is 42 pieces of 6 and one of 5. */
	KUNIT_EXPECT_EQ(test, pieces, 1024 * 43 + 1);
out:
	kvfree(extent);
	kvfree(key);
}

/* One extent that is long: only the ceiling and the span cut. */
static void ceiling(struct kunit *test)
{
	struct kverbs_extent extent = { .addr = 0x1000, .length = 10 << 20 };
	struct kverbs_source source = { &extent, 1 };
	u32 key[] = { 1, 2, 3 }, pieces;
	struct kverbs_target target = { .addr = 0x5000, .span = 4 << 20, .key = key };
	struct kverbs_slice_limits limits = { KVERBS_SLICE_SGE, 1 << 20, LKEY };
	struct job r = { &source, &target, &limits, .length = 10 << 20 };

	KUNIT_EXPECT_EQ(test, slice_all(&r, &pieces), r.length);
	KUNIT_EXPECT_EQ(test, pieces, 10);
	r.from = 1;
	r.to = 1;
	r.length = (10 << 20) - 1;
	KUNIT_EXPECT_EQ(test, slice_all(&r, &pieces), r.length);
	KUNIT_EXPECT_EQ(test, pieces, 4 + 4 + 2);
	limits.max_bytes = U32_MAX;
	KUNIT_EXPECT_EQ(test, slice_all(&r, &pieces), r.length);
	KUNIT_EXPECT_EQ(test, pieces, 3);
}

static struct kunit_case slice_cases[] = {
	KUNIT_CASE(exhaustive),
	KUNIT_CASE(touching_extents),
	KUNIT_CASE(nothing),
	KUNIT_CASE(first_extent),
	KUNIT_CASE(beyond_4_gib),
	KUNIT_CASE(one_gib_of_pages),
	KUNIT_CASE(ceiling),
	{}
};

static struct kunit_suite slice_suite = {
	.name = "slice",
	.test_cases = slice_cases,
};

kunit_test_suite(slice_suite);
