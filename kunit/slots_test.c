// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slots, against a model that is a plain list: long random sequences of what a
 * send queue does (chains, partial posts, completions, drains) on rings of every
 * shape, with everything that can be asked compared after every step.
 */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "../module/slots.c"

#define MOST	40			/* slots of the largest ring tried */

/* Owners are only compared. */
static struct kverbs_slot_owner *owner_of(u32 nr)
{
	return (struct kverbs_slot_owner *)(unsigned long)(0x1000 + nr);
}

struct model_slot {
	u32 index;
	u32 owner;
	u8 class;
	bool signaled;
};

struct model {
	struct kverbs_slots s;
	struct rnd_state rnd;
	struct model_slot slot[MOST];	/* outstanding, oldest first */
	u32 nr;
	u32 taken;			/* since the start */
	u32 next_index;
};

static u32 pick(struct model *m, u32 below)
{
	return prandom_u32_state(&m->rnd) % below;
}

static bool model_holds(const struct model *m, u32 index)
{
	u32 i;

	for (i = 0; i < m->nr; i++)
		if (m->slot[i].index == index)
			return true;
	return false;
}

static u32 model_used(const struct model *m, u32 class)
{
	u32 i, used = 0;

	for (i = 0; i < m->nr; i++)
		used += m->slot[i].class == class;
	return used;
}

/* The longest run of slots that no completion would tell of. */
static u32 model_silent(const struct model *m)
{
	u32 i, run = 0, longest = 0;

	for (i = 0; i < m->nr; i++) {
		run = m->slot[i].signaled ? 0 : run + 1;
		longest = max(longest, run);
	}
	return longest;
}

/* Everything that can be asked, asked. Returns what is wrong, or NULL. */
static const char *compare(const struct model *m)
{
	u32 i;

	if (kverbs_slots_outstanding(&m->s) != m->nr)
		return "outstanding";
	for (i = 0; i < KVERBS_SLOT_CLASSES; i++)
		if (kverbs_slots_room(&m->s, i) != m->s.limit[i] - model_used(m, i))
			return "room";
	for (i = 0; i < m->s.size + 2; i++)
		if (kverbs_slots_holds(&m->s, i) != model_holds(m, i))
			return "holds";
	if (kverbs_slots_holds(&m->s, U32_MAX))
		return "holds 2^32-1";
	if (m->nr && m->s.tail != m->slot[0].index)
		return "tail";
	if (model_silent(m) >= m->s.interval)
		return "interval";
	return NULL;
}

static const char *take_one(struct model *m, u32 class)
{
	struct model_slot *slot = &m->slot[m->nr];
	u32 index = kverbs_slots_take(&m->s, class, owner_of(m->taken));

	if (index != m->next_index)
		return "index";
	if (m->s.slot[index].owner != owner_of(m->taken) || m->s.slot[index].class != class)
		return "slot";
	*slot = (struct model_slot) { index, m->taken, class, false };
	m->next_index = (index + 1) % m->s.size;
	m->taken++;
	m->nr++;
	return NULL;
}

static const char *decide_one(struct model *m, u32 i, bool force)
{
	struct model_slot *slot = &m->slot[i];

	slot->signaled = kverbs_slots_signal(&m->s, slot->index, force);
	if (force && !slot->signaled)
		return "force";
	if (m->s.slot[slot->index].signaled != slot->signaled)
		return "signaled not recorded";
	return NULL;
}

/* A chain, its last one signaled or not, of which the device takes a prefix. */
static const char *do_chain(struct model *m, u32 *length)
{
	u32 first = m->nr, want = 1 + pick(m, 8), class, i, back;
	bool last = pick(m, 4);
	const char *wrong = NULL;

	while (m->nr - first < want && !wrong) {
		class = pick(m, KVERBS_SLOT_CLASSES);
		if (!kverbs_slots_room(&m->s, class))
			break;
		wrong = take_one(m, class);
	}
	*length = m->nr - first;
	if (!pick(m, 10)) {
		/* Given up before it was linked: nothing was decided yet. */
		kverbs_slots_untake(&m->s, *length);
		m->next_index = (m->next_index + m->s.size - *length) % m->s.size;
		m->nr = first;
		return wrong;
	}
	for (i = first; i < m->nr && !wrong; i++)
		wrong = decide_one(m, i, last && i == m->nr - 1);
	if (!wrong && !pick(m, 4)) {
		back = pick(m, *length + 1);
		kverbs_slots_untake(&m->s, back);
		m->next_index = (m->next_index + m->s.size - back) % m->s.size;
		m->nr -= back;
	}
	return wrong;
}

static const char *pop_some(struct model *m, u32 nr)
{
	struct kverbs_slot *slot;
	u32 i;

	for (i = 0; i < nr; i++) {
		slot = kverbs_slots_pop(&m->s);
		if (slot != &m->s.slot[m->slot[i].index])
			return "popped slot";
		if (slot->owner != owner_of(m->slot[i].owner) ||
		    slot->class != m->slot[i].class ||
		    slot->signaled != m->slot[i].signaled)
			return "content of the popped slot";
	}
	m->nr -= nr;
	memmove(m->slot, m->slot + nr, m->nr * sizeof(*m->slot));
	return NULL;
}

/* A signaled one completes, and with it all before it. */
static const char *do_complete(struct model *m)
{
	u32 i, signaled[MOST], nr = 0;

	for (i = 0; i < m->nr; i++)
		if (m->slot[i].signaled)
			signaled[nr++] = i;
	return nr ? pop_some(m, signaled[pick(m, nr)] + 1) : NULL;
}

static const char *do_drain(struct model *m)
{
	const char *wrong = pop_some(m, m->nr);

	return wrong ?: kverbs_slots_pop(&m->s) ? "popped from an empty ring" : NULL;
}

/*
 * Rings of every shape up to MOST slots. A ring that fills up must be able to
 * go on: there is always a signaled one to wait for.
 */
static const char *random_walk(struct model *m, u32 steps)
{
	const char *wrong = compare(m);
	u32 length;

	while (steps-- && !wrong) {
		switch (pick(m, 40)) {
		case 0:
			wrong = do_drain(m);
			break;
		case 1 ... 22:
			wrong = do_chain(m, &length);
			break;
		default:
			wrong = do_complete(m);
		}
		wrong = wrong ?: compare(m);
	}
	return wrong;
}

static void against_model(struct kunit *test)
{
	struct model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	u32 limit[KVERBS_SLOT_CLASSES];
	const char *wrong;
	u32 seed;

	KUNIT_ASSERT_NOT_NULL(test, m);
	for (seed = 1; seed <= 300; seed++) {
		memset(m, 0, sizeof(*m));
		prandom_seed_state(&m->rnd, seed);
		limit[KVERBS_SLOT_DATA] = 1 + pick(m, 20);
		limit[KVERBS_SLOT_REG] = pick(m, 10);
		limit[KVERBS_SLOT_CONTROL] = pick(m, 10);
		KUNIT_ASSERT_EQ(test, 0, kverbs_slots_init(&m->s, limit, !pick(m, 8)));
		wrong = random_walk(m, 400);
		kverbs_slots_fini(&m->s);
		if (wrong) {
			KUNIT_FAIL(test, "seed %u, limits %u %u %u: %s", seed,
				   limit[0], limit[1], limit[2], wrong);
			return;
		}
		cond_resched();
	}
}

static void limits(struct kunit *test)
{
	struct kverbs_slots s;
	u32 i;

	KUNIT_EXPECT_EQ(test, -EINVAL, kverbs_slots_init(&s, (const u32[]){ 0, 0, 0 }, false));
	kverbs_slots_fini(&s);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			kverbs_slots_init(&s, (const u32[]){ U32_MAX, 0, 1 }, false));
	kverbs_slots_fini(&s);

	KUNIT_ASSERT_EQ(test, 0, kverbs_slots_init(&s, (const u32[]){ 3, 0, 2 }, false));
	KUNIT_EXPECT_EQ(test, s.size, 5);
	KUNIT_EXPECT_EQ(test, kverbs_slots_room(&s, KVERBS_SLOT_REG), 0);
	for (i = 3; i; i--) {
		KUNIT_EXPECT_EQ(test, kverbs_slots_room(&s, KVERBS_SLOT_DATA), i);
		kverbs_slots_take(&s, KVERBS_SLOT_DATA, NULL);
	}
	/* Bulk has taken all it may; control has its own. */
	KUNIT_EXPECT_EQ(test, kverbs_slots_room(&s, KVERBS_SLOT_DATA), 0);
	KUNIT_EXPECT_EQ(test, kverbs_slots_room(&s, KVERBS_SLOT_CONTROL), 2);
	kverbs_slots_fini(&s);
	kverbs_slots_fini(&s);
}

/* One in every half ring, if nobody forces any. */
static void interval(struct kunit *test)
{
	struct kverbs_slots s;
	u32 size, nr, since;

	for (size = 1; size <= 33; size++) {
		KUNIT_ASSERT_EQ(test, 0,
				kverbs_slots_init(&s, (const u32[]){ size, 0, 0 }, false));
		since = 0;
		for (nr = 0; nr < 5 * size; nr++) {
			since++;
			if (kverbs_slots_signal(&s, kverbs_slots_take(&s, 0, NULL), false)) {
				KUNIT_EXPECT_EQ(test, since, size > 1 ? size / 2 : 1);
				since = 0;
			}
			kverbs_slots_pop(&s);
		}
		kverbs_slots_fini(&s);
	}
}

static void signal_all(struct kunit *test)
{
	struct kverbs_slots s;
	u32 nr;

	KUNIT_ASSERT_EQ(test, 0, kverbs_slots_init(&s, (const u32[]){ 8, 8, 8 }, true));
	for (nr = 0; nr < 50; nr++) {
		u32 index = kverbs_slots_take(&s, nr % 3, NULL);

		KUNIT_EXPECT_TRUE(test, kverbs_slots_signal(&s, index, false));
		kverbs_slots_pop(&s);
	}
	kverbs_slots_fini(&s);
}

/*
 * A partial post takes the signaled end of a chain away. The live prefix must
 * count as unsignaled again, or the next chain could fill the ring with silence.
 */
static void untake_signaled(struct kunit *test)
{
	struct kverbs_slots s;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, kverbs_slots_init(&s, (const u32[]){ 8, 0, 0 }, false));
	for (i = 0; i < 4; i++)
		kverbs_slots_take(&s, 0, NULL);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, kverbs_slots_signal(&s, i, i == 3), i == 3);
	kverbs_slots_untake(&s, 1);
	KUNIT_EXPECT_EQ(test, kverbs_slots_outstanding(&s), 3);
	KUNIT_EXPECT_EQ(test, kverbs_slots_room(&s, 0), 5);
	i = kverbs_slots_take(&s, 0, NULL);
	KUNIT_EXPECT_EQ(test, i, 3);
	KUNIT_EXPECT_TRUE(test, kverbs_slots_signal(&s, i, false));
	kverbs_slots_fini(&s);
}

/* What is taken back counts no more: the next signaled one is not early either. */
static void untake_unsignaled(struct kunit *test)
{
	struct kverbs_slots s;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, kverbs_slots_init(&s, (const u32[]){ 8, 0, 0 }, false));
	for (i = 0; i < 5; i++)
		kverbs_slots_take(&s, 0, NULL);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, kverbs_slots_signal(&s, i, i == 1), i == 1);
	kverbs_slots_untake(&s, 2);
	for (i = 3; i < 6; i++) {
		KUNIT_EXPECT_EQ(test, kverbs_slots_take(&s, 0, NULL), i);
		KUNIT_EXPECT_EQ(test, kverbs_slots_signal(&s, i, false), i == 5);
	}
	kverbs_slots_fini(&s);
}

/* The walk after a drain: everything left comes out, once, oldest first. */
static void drain_walk(struct kunit *test)
{
	struct kverbs_slots s;
	struct kverbs_slot *slot;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, kverbs_slots_init(&s, (const u32[]){ 5, 3, 2 }, false));
	for (i = 0; i < 7; i++) {	/* so that the walk crosses the ring's end */
		kverbs_slots_signal(&s, kverbs_slots_take(&s, 0, NULL), false);
		kverbs_slots_pop(&s);
	}
	for (i = 0; i < 5; i++)
		kverbs_slots_signal(&s, kverbs_slots_take(&s, i % 3, owner_of(i)), false);
	for (i = 0; i < 5; i++) {
		slot = kverbs_slots_pop(&s);
		KUNIT_ASSERT_NOT_NULL(test, slot);
		KUNIT_EXPECT_PTR_EQ(test, slot->owner, owner_of(i));
		KUNIT_EXPECT_EQ(test, slot->class, i % 3);
	}
	KUNIT_EXPECT_NULL(test, kverbs_slots_pop(&s));
	KUNIT_EXPECT_EQ(test, kverbs_slots_outstanding(&s), 0);
	for (i = 0; i < KVERBS_SLOT_CLASSES; i++)
		KUNIT_EXPECT_EQ(test, kverbs_slots_room(&s, i), s.limit[i]);
	kverbs_slots_fini(&s);
}

/* The @nr-th order of five things; the next one of it is taken out of @left. */
static u32 next_of_order(u32 *nr, u32 *left, u32 *rest)
{
	u32 i, which = *nr % *rest, thing;

	*nr /= *rest;
	thing = left[which];
	for (i = which; i + 1 < *rest; i++)
		left[i] = left[i + 1];
	--*rest;
	return thing;
}

/*
 * Where all are signaled, completions in any order: a slot is due when it and all
 * before it are done.
 */
static void due_in_order(struct kunit *test)
{
	u32 order, nr, rest, done, popped, first = 4;
	struct kverbs_slots s;

	for (order = 0; order < 120; order++) {
		u32 left[5] = { 0, 1, 2, 3, 4 };

		KUNIT_ASSERT_EQ(test, 0, kverbs_slots_init(&s, (const u32[]){ 7, 0, 0 }, true));
		for (nr = 0; nr < first; nr++) {	/* so that it crosses the ring's end */
			kverbs_slots_take(&s, 0, NULL);
			kverbs_slots_pop(&s);
		}
		for (nr = 0; nr < 5; nr++)
			kverbs_slots_signal(&s, kverbs_slots_take(&s, 0, NULL), true);
		KUNIT_EXPECT_FALSE(test, kverbs_slots_due(&s, first));
		for (nr = order, rest = 5, done = 0, popped = 0; rest;) {
			u32 thing = next_of_order(&nr, left, &rest);
			u32 index = (first + thing) % 7;

			done |= 1 << thing;
			s.slot[index].done = true;
			for (; kverbs_slots_due(&s, index); popped++)
				kverbs_slots_pop(&s);
			KUNIT_EXPECT_EQ_MSG(test, popped, ffz(done), "order %u", order);
		}
		KUNIT_EXPECT_EQ(test, kverbs_slots_outstanding(&s), 0);
		kverbs_slots_fini(&s);
	}
}

/* An unsignaled one is due when a later one is done, and not otherwise. */
static void due_unsignaled(struct kunit *test)
{
	struct kverbs_slots s;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, kverbs_slots_init(&s, (const u32[]){ 16, 0, 0 }, false));
	for (i = 0; i < 6; i++)
		kverbs_slots_signal(&s, kverbs_slots_take(&s, 0, NULL), i == 3);
	KUNIT_EXPECT_FALSE(test, kverbs_slots_due(&s, 9));
	s.slot[3].done = true;
	for (i = 0; kverbs_slots_due(&s, 3); i++)
		kverbs_slots_pop(&s);
	KUNIT_EXPECT_EQ(test, i, 4);
	KUNIT_EXPECT_EQ(test, kverbs_slots_outstanding(&s), 2);
	/* A place taken again begins anew. */
	for (i = 0; i < 14; i++)
		kverbs_slots_take(&s, 0, NULL);
	KUNIT_EXPECT_FALSE(test, s.slot[3].done);
	kverbs_slots_fini(&s);
}

static struct kunit_case slots_cases[] = {
	KUNIT_CASE(limits),
	KUNIT_CASE(interval),
	KUNIT_CASE(signal_all),
	KUNIT_CASE(untake_signaled),
	KUNIT_CASE(untake_unsignaled),
	KUNIT_CASE(drain_walk),
	KUNIT_CASE(due_in_order),
	KUNIT_CASE(due_unsignaled),
	KUNIT_CASE(against_model),
	{}
};

static struct kunit_suite slots_suite = {
	.name = "slots",
	.test_cases = slots_cases,
};

kunit_test_suite(slots_suite);
