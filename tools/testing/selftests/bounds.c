// SPDX-License-Identifier: GPL-2.0-only
/*
 * Boundaries, end to end. A small ceiling makes every edge cheap to cross: the
 * first and last bytes of cache lines and pages, of the ceiling and of what the
 * transport puts in a packet, combined with each other at the source, at the
 * target and in the length. Then every pair of a kind of memory at one end, one
 * at the other, a poll context and an operation. After each step every byte is
 * compared, those around included.
 */
#include "link.h"

#include <fcntl.h>

#define RIGHTS	(KVERBS_RIGHT_WRITE | KVERBS_RIGHT_READ)

/* struct range - one write or read */
struct range {
	__u64 from;
	__u64 to;
	__u64 length;
};

/* struct ends - a connection, and memory of each kind at both ends */
struct ends {
	struct link l;
	struct field f;		/* at the target, written to and read from */
	struct field here;	/* where reads come to */
	__u8 *mem;
	__u32 buf;
	__u64 done;
};

#define PLACE	(3 * 4096ULL + 4097 + 64)	/* the farthest offset and length */

static struct ends ends_up(const struct kverbs_conn_attr *attr)
{
	struct ends e = { .l = link_with(attr) };

	e.f = field_as(&e.l, e.l.ca, e.l.cb, PLACE, 0, RIGHTS);
	e.here = landing(e.l.a, PLACE, 0);
	e.mem = source(e.l.a, PLACE, 0, 1, &e.buf);
	return e;
}

/* What the last range changed has to differ in the next, or a lost one is not seen. */
static void write_range(struct ends *e, const struct range *r)
{
	fill(e->mem + r->from, r->length, ++e->done);
	PUT(&e->l, e->buf, r->from, e->f.region, r->to, r->length);
	field_expect(&e->f, r->to, e->mem + r->from, r->length);
	FIELD_CHECK(&e->f);
}

static void read_range(struct ends *e, const struct range *r)
{
	fill(e->f.mem + e->f.guard + r->from, r->length, ++e->done);
	field_expect(&e->f, r->from, e->f.mem + e->f.guard + r->from, r->length);
	GET(&e->l, e->here.buf, e->here.guard + r->to, e->f.region, r->from, r->length);
	field_expect(&e->here, r->to, e->f.mem + e->f.guard + r->from, r->length);
	FIELD_CHECK(&e->here);
	FIELD_CHECK(&e->f);
}

/*
 * struct product - every offset with every other and every length
 *
 * Of more than a kernel does in some seconds, as many as asked for are drawn by
 * chance.
 */
struct product {
	const __u64 *from;
	const __u64 *to;
	const __u64 *length;
	__u32 nr_from;
	__u32 nr_to;
	__u32 nr_length;
};

static struct range product_at(const struct product *p, __u32 i)
{
	return (struct range) {
		.from = p->from[i % p->nr_from],
		.to = p->to[i / p->nr_from % p->nr_to],
		.length = p->length[i / p->nr_from / p->nr_to],
	};
}

static void product_run(const struct product *p, const struct kverbs_conn_attr *attr, __u32 most,
			void (*each)(struct ends *, const struct range *))
{
	const __u32 all = p->nr_from * p->nr_to * p->nr_length;
	__u64 state = chance_state(chance_seed(), 0);
	struct ends e = ends_up(attr);
	struct range r;
	__u32 i;

	for (i = 0; i < all; i++) {
		if (i && i < all - 1 && chance(&state, all) >= most)
			continue;
		r = product_at(p, i);
		each(&e, &r);
	}
	CHECK(no_event(e.l.a, KVERBS_EVENT_FINAL, 0));
	CHECK_EQ(conn_query(e.l.a, e.l.ca).counters.finished, e.done);
	note("%llu of %u combinations", e.done, all);
	link_close(&e.l);
}

/* As many combinations as the kernel at hand does in some seconds. */
static __u32 most_combinations(void)
{
	return slow() ? amount(1500, 400, 60) : amount(6000, 6000, 600);
}

#define CEILING	192ULL

static const __u64 offsets[] = {
	0, 1, 63, 64, 65, CEILING - 1, CEILING, CEILING + 1, 4095, 4096, 4097,
	2 * 4096 - 1, 2 * 4096,
};

static const __u64 lengths[] = {
	1, 63, 64, 65, CEILING - 1, CEILING, CEILING + 1, 2 * CEILING - 1, 2 * CEILING,
	2 * CEILING + 1, 1023, 1024, 1025, 4095, 4096, 4097,
};

static const struct product around_the_ceiling = {
	offsets, offsets, lengths,
	ARRAY_SIZE(offsets), ARRAY_SIZE(offsets), ARRAY_SIZE(lengths),
};

static const struct kverbs_conn_attr small_pieces = { .depth = 8, .wr_ceiling = CEILING };

static void writes_around_the_ceiling(void)
{
	product_run(&around_the_ceiling, &small_pieces, most_combinations(), write_range);
}

static void reads_around_the_ceiling(void)
{
	product_run(&around_the_ceiling, &small_pieces, most_combinations(), read_range);
}

/* The same through a registration of each piece. */
static void registered_around_the_ceiling(void)
{
	struct kverbs_conn_attr attr = small_pieces;

	attr.flags = KVERBS_CONN_REG;
	product_run(&around_the_ceiling, &attr, most_combinations() / 3, write_range);
	product_run(&around_the_ceiling, &attr, most_combinations() / 3, read_range);
}

/* Each piece as large as may be: what packets hold decides. */
static const __u64 packet_offsets[] = { 0, 1, 63, 64, 1023, 1024, 4095, 4096, 4097 };

static const __u64 packet_lengths[] = {
	1, 255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097,
	3 * 1024 - 1, 3 * 1024, 3 * 1024 + 1, 2 * 4096 - 1, 2 * 4096, 2 * 4096 + 1,
};

static const struct product around_the_packet = {
	packet_offsets, packet_offsets, packet_lengths,
	ARRAY_SIZE(packet_offsets), ARRAY_SIZE(packet_offsets), ARRAY_SIZE(packet_lengths),
};

static void writes_around_the_packet(void)
{
	product_run(&around_the_packet, NULL, most_combinations() / 2, write_range);
}

static void reads_around_the_packet(void)
{
	product_run(&around_the_packet, NULL, most_combinations() / 2, read_range);
}

/* A ceiling of one packet, of a page and of one less and more. */
static void ceilings(void)
{
	static const __u32 ceiling[] = { 63, 64, 1023, 1024, 1025, 4095, 4096, 4097 };
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(ceiling); i++) {
		struct kverbs_conn_attr attr = { .depth = 8, .wr_ceiling = ceiling[i] };

		product_run(&around_the_packet, &attr, most_combinations() / 20, write_range);
		product_run(&around_the_packet, &attr, most_combinations() / 20, read_range);
	}
}

/* The last bytes of buffer and region: to the end, and not one further. */
static void to_the_end(void)
{
	struct ends e = ends_up(&small_pieces);
	struct kverbs_item it;
	struct range r;
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		r = (struct range) { PLACE - lengths[i], PLACE - lengths[i], lengths[i] };
		write_range(&e, &r);
		read_range(&e, &r);
		it = item(e.buf, r.from, e.f.region, r.to + 1, r.length, KVERBS_DELIVERED);
		CHECK_ERR(kverbs_submit(e.l.a, e.l.ca, &it, 1), ERANGE);
		it = item(e.buf, r.from + 1, e.f.region, r.to, r.length, KVERBS_DELIVERED);
		CHECK_ERR(kverbs_submit(e.l.a, e.l.ca, &it, 1), ERANGE);
		it = op_item(KVERBS_OP_READ, e.here.buf, e.here.guard, e.f.region, r.from + 1,
			     r.length);
		CHECK_ERR(kverbs_submit(e.l.a, e.l.ca, &it, 1), ERANGE);
	}
	FIELD_CHECK(&e.f);
	FIELD_CHECK(&e.here);
	link_close(&e.l);
}

/*
 * Kinds of memory. Each is made registered and writable at a context; a kind that
 * this kernel does not have gives NULL.
 */
enum kind { ANONYMOUS, MEMFD, FILE_MAPPING, ALLOCATED, THP, HUGE, KINDS };

static const char * const kind_name[KINDS] = {
	"anonymous", "memfd", "file", "allocated", "thp", "huge",
};

#define SPAN	(4 * MIB)	/* two huge pages, where they are huge */

/* struct piece - memory of a kind, and where in it the work is done */
struct piece {
	__u8 *mem;
	__u8 *want;
	__u32 buf;
	__u64 length;
};

static __u8 *mapped_file(int fd, __u64 length)
{
	__u8 *mem;

	CHECK_SYS(ftruncate(fd, length));
	mem = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(mem != MAP_FAILED);
	close(fd);
	return mem;
}

static __u8 *tmpfs_file(__u64 length)
{
	char name[] = "/dev/shm/kverbs-bounds-XXXXXX";
	int fd = CHECK_SYS(mkstemp(name));

	CHECK_SYS(unlink(name));
	return mapped_file(fd, length);
}

#define HUGE_PAGE	(2 * MIB)

static __u8 *transparent(__u64 length)
{
	__u64 at = (uintptr_t)memory(length + HUGE_PAGE);
	__u8 *mem = (void *)((at + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);

	return madvise(mem, length, MADV_HUGEPAGE) ? NULL : mem;
}

/* Have that many huge pages; the answer is how many there are. */
static __u32 huge_pages(__u32 nr)
{
	FILE *file = fopen("/proc/sys/vm/nr_hugepages", "r+");
	__u32 got = 0;

	if (!file)
		return 0;
	fprintf(file, "%u", nr);
	fflush(file);
	rewind(file);
	if (fscanf(file, "%u", &got) != 1)
		got = 0;
	fclose(file);
	return got;
}

/* Enough of them for both ends, and for two that are not quite gone yet. */
static __u8 *huge_page(__u64 length)
{
	const __u32 nr = 4 * length / HUGE_PAGE;
	__u8 *mem;

	if (huge_pages(nr) < nr)
		return NULL;
	mem = mmap(NULL, length, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	return mem == MAP_FAILED ? NULL : mem;
}

static __u8 *allocated(int fd, __u64 length, __u32 *buf)
{
	__u64 offset;
	void *mem;

	CHECK_OK(kverbs_buf_alloc(fd, length, -1, buf, &offset));
	CHECK_OK(kverbs_buf_map(fd, length, offset, &mem));
	return mem;
}

static __u8 *of_kind(int fd, enum kind kind, __u32 *buf)
{
	switch (kind) {
	case ANONYMOUS:
		return memory(SPAN);
	case MEMFD:
		return mapped_file(CHECK_SYS(memfd_create("bounds", MFD_CLOEXEC)), SPAN);
	case FILE_MAPPING:
		return tmpfs_file(SPAN);
	case ALLOCATED:
		return allocated(fd, SPAN, buf);
	case THP:
		return transparent(SPAN);
	default:
		return huge_page(SPAN);
	}
}

static bool piece_of(int fd, enum kind kind, struct piece *p)
{
	*p = (struct piece) { .length = SPAN };
	p->mem = of_kind(fd, kind, &p->buf);
	if (!p->mem)
		return false;
	fill(p->mem, SPAN, 50 + kind);
	p->want = memory(SPAN);
	memcpy(p->want, p->mem, SPAN);
	if (!p->buf)
		p->buf = registered(fd, p->mem, SPAN, KVERBS_BUF_WRITABLE);
	return true;
}

static void piece_drop(int fd, struct piece *p)
{
	CHECK_OK(kverbs_destroy(fd, p->buf));
	CHECK_SYS(munmap(p->mem, p->length));
	CHECK_SYS(munmap(p->want, p->length));
}

static bool has_kind(enum kind kind)
{
	static int answer[KINDS];	/* 0: not asked yet */
	struct piece p;
	int fd;

	if (!answer[kind]) {
		fd = context();
		answer[kind] = piece_of(fd, kind, &p) ? 1 : -1;
		if (answer[kind] > 0)
			piece_drop(fd, &p);
		else
			note("no memory of the kind %s here", kind_name[kind]);
		close(fd);
	}
	return answer[kind] > 0;
}

/*
 * Pairwise: of four columns, each value of one meets each of every other. Rows are
 * made one by one; of some drawn by chance the one with most new pairs is taken.
 */
enum column { SOURCE, TARGET, POLL, WORK, COLUMNS };
enum job { WRITE, NOTIFY, READ, IMM, WORKS };

#define MOST_VALUES	8

static const char * const work_name[WORKS] = { "write", "notify", "read", "imm" };

static const __u32 values[COLUMNS] = {
	[SOURCE] = KINDS, [TARGET] = KINDS, [POLL] = KVERBS_POLL_DIRECT + 1, [WORK] = WORKS,
};

/* struct pairs - which pairs have been had */
struct pairs {
	bool had[COLUMNS][MOST_VALUES][COLUMNS][MOST_VALUES];
	__u32 left;
};

static bool can(enum column column, __u32 value)
{
	if (column == SOURCE || column == TARGET)
		return has_kind(value);
	return column != WORK || value != IMM || !on_siw();
}

static void pairs_init(struct pairs *p)
{
	__u32 a, b, x, y;

	memset(p, 0, sizeof(*p));
	for (a = 0; a < COLUMNS; a++) {
		for (b = a + 1; b < COLUMNS; b++) {
			for (x = 0; x < values[a]; x++) {
				for (y = 0; y < values[b]; y++) {
					p->had[a][x][b][y] = !can(a, x) || !can(b, y);
					p->left += !p->had[a][x][b][y];
				}
			}
		}
	}
}

static __u32 row_gain(const struct pairs *p, const __u32 row[COLUMNS])
{
	__u32 a, b, gain = 0;

	for (a = 0; a < COLUMNS; a++)
		for (b = a + 1; b < COLUMNS; b++)
			gain += !p->had[a][row[a]][b][row[b]];
	return gain;
}

static void row_take(struct pairs *p, const __u32 row[COLUMNS])
{
	__u32 a, b;

	p->left -= row_gain(p, row);
	for (a = 0; a < COLUMNS; a++)
		for (b = a + 1; b < COLUMNS; b++)
			p->had[a][row[a]][b][row[b]] = true;
}

static void row_draw(__u64 *state, __u32 row[COLUMNS])
{
	__u32 a;

	for (a = 0; a < COLUMNS; a++) {
		do
			row[a] = chance(state, values[a]);
		while (!can(a, row[a]));
	}
}

/* The best of some rows; it has at least one new pair. */
static void row_next(const struct pairs *p, __u64 *state, __u32 best[COLUMNS])
{
	__u32 row[COLUMNS], gain, most = 0, tries;

	for (tries = 0; tries < 50 || !most; tries++) {
		row_draw(state, row);
		gain = row_gain(p, row);
		if (gain <= most)
			continue;
		most = gain;
		memcpy(best, row, sizeof(row));
	}
}

static void piece_check(const struct piece *p, const char *what, const __u32 row[COLUMNS])
{
	__u64 i;

	if (!memcmp(p->mem, p->want, p->length))
		return;
	for (i = 0; p->mem[i] == p->want[i]; i++)
		;
	fail_at(__FILE__, __LINE__, "%s, %s to %s, %s: wrong byte in the %s at %llu",
		work_name[row[WORK]], kind_name[row[SOURCE]], kind_name[row[TARGET]],
		kverbs_poll_name(row[POLL]), what, i);
}

/* struct meeting - one row at work */
struct meeting {
	struct link l;
	struct piece source;	/* at the initiator */
	struct piece target;
	__u32 region;
	__u64 lead;		/* bytes of the target before the region */
};

static void meet_once(struct meeting *m, enum job work, __u64 from, __u64 to, __u64 length)
{
	__u8 *source = m->source.want + from, *target = m->target.want + m->lead + to;
	struct kverbs_item it = item(m->source.buf, from, m->region, to, length,
				     KVERBS_DELIVERED);
	struct kverbs_event event;

	if (work == READ) {
		GET(&m->l, m->source.buf, from, m->region, to, length);
		memcpy(source, target, length);
		return;
	}
	it.flags = work == NOTIFY ? KVERBS_ITEM_NOTIFY : work == IMM ? KVERBS_ITEM_IMM : 0;
	it.tag = work == WRITE ? 0 : length;
	SUBMIT(&m->l, &it);
	NEXT_FINAL(m->l.a);
	memcpy(target, source, length);
	if (work == WRITE)
		return;
	event = NEXT_EVENT(m->l.b, work == NOTIFY ? KVERBS_EVENT_NOTIFY : KVERBS_EVENT_IMM,
			   m->l.cb);
	CHECK_EQ(event.tag, length);
}

/* Across small pages, across the huge page wherever it is, and all but the ends. */
static void meet(const __u32 row[COLUMNS])
{
	static const struct range ranges[] = {
		{ 1, 1, 1 }, { 4095, 63, 2 }, { 64, 4000, 4097 }, { 8191, 4095, 65537 },
		{ 2 * MIB - 1, 2 * MIB - 4097, 2 }, { 2 * MIB - 4096, 2 * MIB - 1, 8193 },
		{ 3 * MIB - 5, MIB - 3, 100001 },
	};
	struct kverbs_conn_attr attr = { .poll = row[POLL] };
	struct meeting m = { .l = link_with(&attr), .lead = 4095 };
	__u32 own, i;

	CHECK(piece_of(m.l.a, row[SOURCE], &m.source));
	CHECK(piece_of(m.l.b, row[TARGET], &m.target));
	/* The two must differ, or a read and a write bring nothing. */
	fill(m.target.mem, SPAN, 90);
	memcpy(m.target.want, m.target.mem, SPAN);
	expose_as(&m.l, m.l.ca, m.l.cb, m.target.buf, m.lead, SPAN - 2 * m.lead, RIGHTS, &own,
		  &m.region);
	for (i = 0; i < ARRAY_SIZE(ranges); i++)
		meet_once(&m, row[WORK], ranges[i].from, ranges[i].to, ranges[i].length);
	piece_check(&m.source, "source", row);
	piece_check(&m.target, "target", row);
	link_close(&m.l);
	CHECK_SYS(munmap(m.source.mem, SPAN));
	CHECK_SYS(munmap(m.source.want, SPAN));
	CHECK_SYS(munmap(m.target.mem, SPAN));
	CHECK_SYS(munmap(m.target.want, SPAN));
}

static void pairwise(void)
{
	__u64 state = chance_state(chance_seed(), 1);
	static struct pairs pairs;
	__u32 row[COLUMNS], rows, all;

	pairs_init(&pairs);
	all = pairs.left;
	for (rows = 0; pairs.left; rows++) {
		row_next(&pairs, &state, row);
		row_take(&pairs, row);
		meet(row);
	}
	huge_pages(0);
	note("%u pairs in %u rows", all, rows);
}

/*
 * Where a key ends, so does a piece: through registrations, short ones with a page's
 * end in their source.
 */
static void registered_at_a_key(void)
{
	const struct kverbs_conn_attr attr = { .depth = 16, .flags = KVERBS_CONN_REG };
	const __u64 key = 1024 * KIB, length = 200;
	struct link l = link_with(&attr);
	struct field f = field_as(&l, l.ca, l.cb, key + 4096, 0, RIGHTS);
	__u32 step = amount(3, 11, 17), buf, before, skew;
	__u8 *mem = source(l.a, 3 * 4096, 0, 77, &buf);

	for (before = 1; before < 80; before += step)
		for (skew = 1; skew < 80; skew += step) {
			fill(mem, 3 * 4096, before * 100 + skew);
			PUT(&l, buf, 4096 - skew, f.region, key - before, length);
			field_expect(&f, key - before, mem + 4096 - skew, length);
			if (memcmp(f.mem + f.guard + key - 4096, f.want + f.guard + key - 4096,
				   8192))
				FIELD_CHECK(&f);
		}
	FIELD_CHECK(&f);
	link_close(&l);
}

static const struct test tests[] = {
	{ "writes_around_the_ceiling", writes_around_the_ceiling },
	{ "reads_around_the_ceiling", reads_around_the_ceiling },
	{ "registered_around_the_ceiling", registered_around_the_ceiling },
	{ "writes_around_the_packet", writes_around_the_packet },
	{ "reads_around_the_packet", reads_around_the_packet },
	{ "ceilings", ceilings },
	{ "registered_at_a_key", registered_at_a_key },
	{ "to_the_end", to_the_end },
	{ "pairwise", pairwise },
};

int main(int argc, char **argv)
{
	return tests_main(tests, ARRAY_SIZE(tests), argc, argv);
}
