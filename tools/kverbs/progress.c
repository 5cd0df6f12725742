// SPDX-License-Identifier: GPL-2.0-only
/*
 * A progress bar on standard error: only on a terminal, ten times a second.
 */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "progress.h"
#include "tool.h"

#define WIDTH		40
#define INTERVAL	0.1	/* seconds */

static bool drawn;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

void progress_show(__u64 done, __u64 size)
{
	static double last;
	char bar[WIDTH + 1], have[32], all[32];
	double time = now();

	if (!isatty(STDERR_FILENO) || time - last < INTERVAL)
		return;
	last = time;
	if (done > size)
		done = size;
	memset(bar, ' ', WIDTH);
	memset(bar, '#', WIDTH * ((double)done / size));
	bar[WIDTH] = 0;
	fprintf(stderr, "\r[%s] %3.0f %%  %s of %s\033[K", bar, 100.0 * done / size,
		size_text(done, have), size_text(size, all));
	drawn = true;
}

void progress_clear(void)
{
	if (drawn)
		fprintf(stderr, "\r\033[K");
	drawn = false;
}
