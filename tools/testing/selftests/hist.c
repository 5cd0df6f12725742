// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tool's histogram against a sorted array: every edge of a bucket, random
 * values over the whole range, merging, and what is beyond the range.
 */
#include "harness.h"

#include "../../kverbs/hist.c"

#define VALUES	100000

static bool close_to(__u64 got, __u64 want)
{
	__u64 off = got > want ? got - want : want - got;

	return !off || off < (want >> 6) + 1;
}

/* @value is the median of three. */
static void check_value(__u64 value)
{
	static struct hist hist;

	memset(&hist, 0, sizeof(hist));
	hist_add(&hist, 0);
	hist_add(&hist, value);
	hist_add(&hist, (1ULL << HIST_TOP) - 1);
	CHECK(close_to(hist_value(&hist, 5000), value));
}

static void edges(void)
{
	int power, near;

	for (power = 2; power < HIST_TOP; power++)
		for (near = -2; near <= 2; near++)
			check_value((1ULL << power) + near);
}

static int by_value(const void *left, const void *right)
{
	__u64 a = *(const __u64 *)left, b = *(const __u64 *)right;

	return (a > b) - (a < b);
}

static __u64 next_random(__u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void random_values(void)
{
	static const unsigned int parts[] = { 0, 1, 10, 5000, 9000, 9900, 9990, 9999, 10000 };
	static struct hist all, half[2];
	static __u64 values[VALUES];
	__u64 rank, state = 88172645463325252ULL;
	size_t i;

	for (i = 0; i < VALUES; i++) {
		values[i] = next_random(&state) >> (24 + next_random(&state) % 40);
		hist_add(&all, values[i]);
		hist_add(&half[i % 2], values[i]);
	}
	hist_merge(&half[0], &half[1]);
	CHECK(!memcmp(&half[0], &all, sizeof(all)));
	qsort(values, VALUES, sizeof(*values), by_value);
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		rank = ((__u64)VALUES * parts[i] + 9999) / 10000;
		CHECK(close_to(hist_value(&all, parts[i]), values[rank ? rank - 1 : 0]));
	}
	CHECK_EQ(all.min, values[0]);
	CHECK_EQ(all.max, values[VALUES - 1]);
}

static void beyond(void)
{
	static struct hist hist, none;

	CHECK_EQ(hist_value(&none, 5000), 0);
	hist_add(&hist, 7);
	hist_merge(&hist, &none);
	hist_add(&hist, ~0ULL);
	CHECK_EQ(hist_value(&hist, 0), 7);
	CHECK(hist_value(&hist, 10000) == ~0ULL);
	CHECK_EQ(hist.nr, 2);
}

static const struct test tests[] = {
	{ "edges", edges },
	{ "random_values", random_values },
	{ "beyond", beyond },
};

int main(int argc, char **argv)
{
	return tests_main(tests, ARRAY_SIZE(tests), argc, argv);
}
