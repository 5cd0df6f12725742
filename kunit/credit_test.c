// SPDX-License-Identifier: GPL-2.0-only
/*
 * Credits: the arithmetic near the wrap, and two ends that talk.
 *
 * The two ends send, receive and take in random order with messages under way
 * in both directions, until nothing can happen any more. By then everything
 * must have been sent, received and taken: if not, they wait for each other.
 * Half of the runs start their counters just below 2^32.
 */
#include <kunit/test.h>
#include <linux/prandom.h>

#include "../module/credit.c"

#define CONTROL	KVERBS_CREDIT_CONTROL
#define DATA	KVERBS_CREDIT_DATA

/* As if so many messages had gone both ways and been given back. */
static void start_at(struct kverbs_credit *c, u32 tx_pool, u32 rx_pool, u32 count)
{
	kverbs_credit_init(c, tx_pool, rx_pool);
	c->sent = count;
	c->tx_returned = count;
	c->received = count;
	c->returned = count;
	c->announced = count;
}

static const u32 starts[] = { 0, 1, 0x7ffffffe, U32_MAX - 20, U32_MAX - 2, U32_MAX };

static void room(struct kunit *test)
{
	struct kverbs_credit c;
	u32 i, left;

	kverbs_credit_init(&c, 3, 5);
	KUNIT_EXPECT_EQ(test, kverbs_credit_room(&c), 3);
	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		start_at(&c, 4, 4, starts[i]);
		for (left = 4; left; left--) {
			KUNIT_EXPECT_EQ(test, kverbs_credit_room(&c), left);
			kverbs_credit_take(&c);
		}
		KUNIT_EXPECT_EQ(test, kverbs_credit_room(&c), 0);
		KUNIT_EXPECT_EQ(test, 0, kverbs_credit_update(&c, starts[i] + 1));
		KUNIT_EXPECT_EQ(test, kverbs_credit_room(&c), 1);
		KUNIT_EXPECT_EQ(test, 0, kverbs_credit_update(&c, starts[i] + 1));
		KUNIT_EXPECT_EQ(test, kverbs_credit_room(&c), 1);
		KUNIT_EXPECT_EQ(test, 0, kverbs_credit_update(&c, starts[i] + 4));
		KUNIT_EXPECT_EQ(test, kverbs_credit_room(&c), 4);
	}
}

/* The peer's counter: all that is possible is believed, nothing else is. */
static void hostile_update(struct kunit *test)
{
	struct kverbs_credit c, was;
	u32 i, offset;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		for (offset = 0; offset < 10; offset++) {
			start_at(&c, 8, 8, starts[i] - 6);
			c.sent = starts[i];
			c.tx_returned = starts[i] - 3;
			KUNIT_EXPECT_EQ_MSG(test, kverbs_credit_update(&c, starts[i] - 6 + offset),
					    offset < 3 || offset > 6 ? -EPROTO : 0,
					    "start %u, offset %u", starts[i], offset);
		}
		start_at(&c, 8, 8, starts[i]);
		kverbs_credit_take(&c);
		was = c;
		KUNIT_EXPECT_EQ(test, -EPROTO, kverbs_credit_update(&c, starts[i] + 2));
		KUNIT_EXPECT_EQ(test, -EPROTO, kverbs_credit_update(&c, starts[i] - 1));
		KUNIT_EXPECT_EQ(test, -EPROTO, kverbs_credit_update(&c, starts[i] + (1u << 31)));
		KUNIT_EXPECT_EQ(test, memcmp(&c, &was, sizeof(c)), 0);
	}
}

/* What was given back but not told is not the peer's to use. */
static void overrun(struct kunit *test)
{
	struct kverbs_credit c;
	u32 i, nr;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		start_at(&c, 8, 3, starts[i]);
		for (nr = 0; nr < 3; nr++)
			KUNIT_EXPECT_EQ(test, 0, kverbs_credit_receive(&c));
		KUNIT_EXPECT_EQ(test, -EPROTO, kverbs_credit_receive(&c));
		kverbs_credit_return(&c);
		KUNIT_EXPECT_EQ(test, -EPROTO, kverbs_credit_receive(&c));
		KUNIT_EXPECT_EQ(test, kverbs_credit_announce(&c), starts[i] + 1);
		KUNIT_EXPECT_EQ(test, 0, kverbs_credit_receive(&c));
		KUNIT_EXPECT_EQ(test, -EPROTO, kverbs_credit_receive(&c));
	}
}

static void owed(struct kunit *test)
{
	static const struct { u32 pool, at; } rows[] = {
		{ 1, 1 }, { 2, 1 }, { 3, 1 }, { 4, 2 }, { 5, 2 }, { 16, 8 }, { 128, 64 },
	};
	struct kverbs_credit c;
	u32 i, r, nr;

	for (i = 0; i < ARRAY_SIZE(starts); i++)
		for (r = 0; r < ARRAY_SIZE(rows); r++) {
			start_at(&c, 8, rows[r].pool, starts[i]);
			for (nr = 0; nr < rows[r].at; nr++) {
				KUNIT_EXPECT_FALSE(test, kverbs_credit_owed(&c));
				KUNIT_EXPECT_EQ(test, 0, kverbs_credit_receive(&c));
				kverbs_credit_return(&c);
			}
			KUNIT_EXPECT_TRUE(test, kverbs_credit_owed(&c));
			KUNIT_EXPECT_EQ(test, kverbs_credit_announce(&c), starts[i] + nr);
			KUNIT_EXPECT_FALSE(test, kverbs_credit_owed(&c));
		}
}

/* The last receive at the peer is for giving control receives back. */
static void due(struct kunit *test)
{
	struct kverbs_credit c[KVERBS_CREDITS];

	kverbs_credit_init(&c[CONTROL], 4, 4);
	kverbs_credit_init(&c[DATA], 4, 1);
	KUNIT_EXPECT_FALSE(test, kverbs_credit_due(c));
	kverbs_credit_receive(&c[DATA]);
	kverbs_credit_return(&c[DATA]);
	KUNIT_EXPECT_TRUE(test, kverbs_credit_due(c));
	kverbs_credit_take(&c[CONTROL]);
	kverbs_credit_take(&c[CONTROL]);
	KUNIT_EXPECT_TRUE(test, kverbs_credit_due(c));
	kverbs_credit_take(&c[CONTROL]);
	KUNIT_EXPECT_FALSE(test, kverbs_credit_due(c));
	kverbs_credit_receive(&c[CONTROL]);
	kverbs_credit_receive(&c[CONTROL]);
	kverbs_credit_return(&c[CONTROL]);
	kverbs_credit_return(&c[CONTROL]);
	KUNIT_EXPECT_TRUE(test, kverbs_credit_due(c));
	kverbs_credit_take(&c[CONTROL]);
	KUNIT_EXPECT_FALSE(test, kverbs_credit_due(c));
}

/* Two ends. */

#define UNDER_WAY	64		/* more than both pools of a direction */

struct message {
	u8 class;
	u32 counter[KVERBS_CREDITS];
};

struct end {
	struct kverbs_credit c[KVERBS_CREDITS];
	u32 want[KVERBS_CREDITS];	/* ordinary messages still to send */
	u32 untaken;			/* data messages the program has not taken */
	u32 got[KVERBS_CREDITS];	/* messages received */
	u32 bare;			/* CREDITs sent */
	bool asleep;			/* the program takes nothing */
	struct message way[UNDER_WAY];	/* to the other end, oldest first */
	u32 nr_way;
};

struct talk {
	struct end end[2];
	struct rnd_state rnd;
	const char *wrong;
};

static void end_send(struct talk *t, struct end *e, u32 class)
{
	struct message *m = &e->way[e->nr_way++];

	kverbs_credit_take(&e->c[class]);
	m->class = class;
	m->counter[CONTROL] = kverbs_credit_announce(&e->c[CONTROL]);
	m->counter[DATA] = kverbs_credit_announce(&e->c[DATA]);
	if (e->nr_way == UNDER_WAY)
		t->wrong = "more under way than both pools";
}

static bool send_ordinary(struct talk *t, struct end *e, u32 class)
{
	u32 keep = class == CONTROL ? 1 : 0;

	if (!e->want[class] || kverbs_credit_room(&e->c[class]) <= keep)
		return false;
	e->want[class]--;
	end_send(t, e, class);
	return true;
}

static bool send_bare(struct talk *t, struct end *e)
{
	if (!kverbs_credit_due(e->c))
		return false;
	e->bare++;
	end_send(t, e, CONTROL);
	return true;
}

/* The oldest message on its way to @e arrives. */
static bool arrive(struct talk *t, struct end *from, struct end *e)
{
	struct message m = from->way[0];

	if (!from->nr_way)
		return false;
	memmove(from->way, from->way + 1, --from->nr_way * sizeof(m));
	if (kverbs_credit_update(&e->c[CONTROL], m.counter[CONTROL]) ||
	    kverbs_credit_update(&e->c[DATA], m.counter[DATA]))
		t->wrong = "an honest counter is refused";
	if (kverbs_credit_receive(&e->c[m.class]))
		t->wrong = "an honest message is refused";
	e->got[m.class]++;
	if (m.class == CONTROL)
		kverbs_credit_return(&e->c[CONTROL]);
	else
		e->untaken++;
	return true;
}

static bool program_takes(struct end *e)
{
	if (!e->untaken || e->asleep)
		return false;
	e->untaken--;
	kverbs_credit_return(&e->c[DATA]);
	return true;
}

#define ACTIONS	10

static bool act(struct talk *t, u32 action)
{
	struct end *e = &t->end[action & 1], *other = &t->end[!(action & 1)];

	switch (action / 2) {
	case 0:
		return send_ordinary(t, e, CONTROL);
	case 1:
		return send_ordinary(t, e, DATA);
	case 2:
		return send_bare(t, e);
	case 3:
		return arrive(t, other, e);
	default:
		return program_takes(e);
	}
}

/*
 * What is likely to happen for a while, and half of it not at all. Most often
 * both ends are in the same mood: that is when they get into each other's way.
 */
static u32 change_mood(struct talk *t, u32 weight[ACTIONS])
{
	bool alike = prandom_u32_state(&t->rnd) % 4;
	u32 i, sum = 0;

	for (i = 0; i < ACTIONS; i++) {
		if (alike && i & 1)
			weight[i] = weight[i - 1];
		else
			weight[i] = prandom_u32_state(&t->rnd) & 1 ?
				    1 + prandom_u32_state(&t->rnd) % 100 : 0;
		sum += weight[i];
	}
	return sum;
}

static u32 choose(struct talk *t, const u32 weight[ACTIONS], u32 sum)
{
	u32 i, dice = prandom_u32_state(&t->rnd) % sum;

	for (i = 0; dice >= weight[i]; i++)
		dice -= weight[i];
	return i;
}

static bool act_somehow(struct talk *t)
{
	u32 i;

	for (i = 0; i < ACTIONS; i++)
		if (act(t, i))
			return true;
	return false;
}

/*
 * Until nothing can happen any more. The mood changes every now and then, so
 * that messages pile up, cross and are slow, programs doze and hurry.
 */
static void run(struct talk *t)
{
	u32 weight[ACTIONS], sum, rounds;

	do {
		sum = change_mood(t, weight);
		rounds = prandom_u32_state(&t->rnd) % 40;
		while (rounds-- && sum && !t->wrong)
			act(t, choose(t, weight, sum));
	} while (!t->wrong && act_somehow(t));
}

static u32 between(struct talk *t, u32 low, u32 high)
{
	return low + prandom_u32_state(&t->rnd) % (high - low + 1);
}

static void meet(struct talk *t, u32 seed)
{
	u32 class, pool[2], count;
	struct end *a = &t->end[0], *b = &t->end[1];

	memset(t, 0, sizeof(*t));
	prandom_seed_state(&t->rnd, seed);
	for (class = 0; class < KVERBS_CREDITS; class++) {
		pool[0] = class == CONTROL ? between(t, 4, 6) : between(t, 1, 4);
		pool[1] = class == CONTROL ? between(t, 4, 6) : between(t, 1, 4);
		count = seed & 1 ? U32_MAX - between(t, 0, 30) : 0;
		start_at(&a->c[class], pool[0], pool[1], count);
		start_at(&b->c[class], pool[1], pool[0], count);
		a->want[class] = between(t, 0, 1) * 30 + between(t, 0, 6);
		b->want[class] = between(t, 0, 1) * 30 + between(t, 0, 6);
	}
}

/* Are both ends at peace? Also, updates do not answer updates for ever. */
static const char *unfinished(const struct talk *t)
{
	u32 i, bare = t->end[0].bare + t->end[1].bare, sent = 0;

	for (i = 0; i < 2; i++) {
		const struct end *e = &t->end[i];

		if (e->want[CONTROL] || e->want[DATA])
			return "not everything could be sent";
		if (e->nr_way || e->untaken)
			return "not everything was received and taken";
		if (e->c[CONTROL].sent - e->c[CONTROL].tx_returned > e->c[CONTROL].tx_pool / 2)
			return "at rest, less than half a control pool is free";
		if (e->c[DATA].sent - e->c[DATA].tx_returned > e->c[DATA].tx_pool / 2)
			return "at rest, less than half a data pool is free";
		sent += e->got[CONTROL] + e->got[DATA];
	}
	return bare > 2 * (sent - bare) ? "CREDITs answer CREDITs" : NULL;
}

static void no_deadlock(struct kunit *test)
{
	struct talk *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	const char *wrong;
	u32 seed;

	KUNIT_ASSERT_NOT_NULL(test, t);
	for (seed = 0; seed < 10000; seed++) {
		meet(t, seed);
		run(t);
		wrong = t->wrong ?: unfinished(t);
		if (wrong) {
			KUNIT_FAIL(test, "seed %u: %s", seed, wrong);
			return;
		}
		cond_resched();
	}
}

/*
 * Both ends have used all but the last control receive, nothing of it has
 * arrived, and both have data receives to give back. If each spent its last
 * receive on that, none could ever speak again.
 */
static void crossing(struct kunit *test)
{
	struct talk *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	for (i = 0; i < 2; i++) {
		struct end *e = &t->end[i];

		kverbs_credit_init(&e->c[CONTROL], 4, 4);
		kverbs_credit_init(&e->c[DATA], 1, 1);
		e->want[CONTROL] = 20;
		while (send_ordinary(t, e, CONTROL))
			;
		KUNIT_EXPECT_EQ(test, kverbs_credit_room(&e->c[CONTROL]), 1);
		kverbs_credit_receive(&e->c[DATA]);
		kverbs_credit_return(&e->c[DATA]);
		KUNIT_EXPECT_FALSE(test, send_bare(t, e));
	}
	for (i = 0; i < 2; i++)
		while (arrive(t, &t->end[!i], &t->end[i]))
			;
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_TRUE(test, send_bare(t, &t->end[i]));
}

/* A program that takes nothing stops its writer, and nothing else. */
static void starvation(struct kunit *test)
{
	struct talk *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct end *a, *b;
	u32 seed, pool;

	KUNIT_ASSERT_NOT_NULL(test, t);
	for (seed = 0; seed < 200; seed++) {
		meet(t, seed);
		a = &t->end[0];
		b = &t->end[1];
		b->asleep = true;
		a->want[CONTROL] = 100;
		b->want[CONTROL] = 100;
		a->want[DATA] = 50;
		b->want[DATA] = 50;
		pool = a->c[DATA].tx_pool;
		run(t);
		KUNIT_ASSERT_NULL(test, t->wrong);
		KUNIT_ASSERT_EQ(test, b->got[DATA], pool);
		KUNIT_ASSERT_EQ(test, a->want[DATA], 50 - pool);
		KUNIT_ASSERT_EQ(test, a->got[DATA], 50);
		KUNIT_ASSERT_EQ(test, a->want[CONTROL] + b->want[CONTROL] + b->want[DATA], 0);

		b->asleep = false;
		run(t);
		KUNIT_ASSERT_NULL(test, t->wrong);
		KUNIT_ASSERT_EQ(test, b->got[DATA], 50);
		KUNIT_ASSERT_NULL(test, unfinished(t));
	}
}

static struct kunit_case credit_cases[] = {
	KUNIT_CASE(room),
	KUNIT_CASE(hostile_update),
	KUNIT_CASE(overrun),
	KUNIT_CASE(owed),
	KUNIT_CASE(due),
	KUNIT_CASE(crossing),
	KUNIT_CASE(no_deadlock),
	KUNIT_CASE(starvation),
	{}
};

static struct kunit_suite credit_suite = {
	.name = "credit",
	.test_cases = credit_cases,
};

kunit_test_suite(credit_suite);
