// SPDX-License-Identifier: GPL-2.0-only
/*
 * The five moments of a transfer's writes, as a table: the first write, the
 * median one (by its time to COMPLETED) and the last. Samples for the median are
 * thinned out as they come, so that a file of any size takes bounded memory.
 */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "moments.h"
#include "print.h"

#define ROOM	4096

static void keep(struct moments *moments, const struct sample *sample)
{
	size_t i;

	if (!moments->kept) {
		moments->kept = calloc(ROOM, sizeof(*moments->kept));
		moments->stride = 1;
	}
	if (!moments->kept || moments->seen % moments->stride)
		return;
	if (moments->nr == ROOM) {
		for (i = 0; i < ROOM / 2; i++)
			moments->kept[i] = moments->kept[2 * i];
		moments->nr = ROOM / 2;
		moments->stride *= 2;
	}
	moments->kept[moments->nr++] = *sample;
}

void moments_add(struct moments *moments, const struct kverbs_event *event)
{
	struct sample sample;

	memcpy(sample.stamps, event->stamps, sizeof(sample.stamps));
	if (!moments->seen)
		moments->first = sample;
	moments->last = sample;
	keep(moments, &sample);
	moments->seen++;
}

static __u64 to_completed(const struct sample *sample)
{
	return sample->stamps[KVERBS_COMPLETED] - sample->stamps[KVERBS_POSTED];
}

static int by_completed(const void *left, const void *right)
{
	__u64 a = to_completed(left), b = to_completed(right);

	return (a > b) - (a < b);
}

/* Microseconds since POSTED; a moment that was not reached is "-" or null. */
static void row(const char *name, const struct sample *sample)
{
	char key[16];
	__u32 i;
	size_t c;

	out_object(name);
	out_text("  %-8s", name);
	for (i = 0; i < KVERBS_MOMENTS; i++) {
		snprintf(key, sizeof(key), "%s", kverbs_moment_name(i));
		for (c = 0; key[c]; c++)
			key[c] = tolower(key[c]);
		if (sample->stamps[i]) {
			out_real(key, " %11.1f",
				 (sample->stamps[i] - sample->stamps[KVERBS_POSTED]) / 1e3);
		} else {
			out_text(" %11s", "-");
			out_str(key, NULL, NULL);
		}
	}
	out_text("\n");
	out_close();
}

void moments_print(struct moments *moments)
{
	__u32 i;

	out_object("moments_us");
	out_text("moments, in microseconds since the write was POSTED\n  %-8s", "write");
	for (i = 0; i < KVERBS_MOMENTS; i++)
		out_text(" %11s", kverbs_moment_name(i));
	out_text("\n");
	row("first", &moments->first);
	if (moments->nr) {
		qsort(moments->kept, moments->nr, sizeof(*moments->kept), by_completed);
		row("median", &moments->kept[(moments->nr - 1) / 2]);
	}
	row("last", &moments->last);
	out_close();
}

void moments_free(struct moments *moments)
{
	free(moments->kept);
}
