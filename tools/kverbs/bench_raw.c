// SPDX-License-Identifier: GPL-2.0-only
/*
 * The floor that `kverbs bench` is measured against: /dev/kverbs_raw posts chains
 * that were made beforehand on a connection of its own to itself, and does nothing
 * else. It takes one ioctl for a whole run; nothing of kverbs.ko is in its way.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../testing/bench/kverbs_raw.h"
#include "bench.h"

#define RUNNING		"running the floor"

#define OPENING		"opening " KVERBS_RAW_FILE

bool raw_open(struct bench *bench)
{
	bench->raw = open(KVERBS_RAW_FILE, O_RDWR | O_CLOEXEC);
	if (bench->raw >= 0)
		return true;
	if (errno == EACCES || errno == EPERM)
		bench->problem = problem_local(OUTCOME_MODULE, "open_raw", OPENING, errno,
					       "run as root", "no permission for user %u",
					       geteuid());
	else
		bench->problem = problem_local(OUTCOME_MODULE, "open_raw", OPENING, errno,
					       "load it: `insmod kverbs_raw.ko` as root; its source is tools/testing/bench",
					       "the module kverbs_raw is not loaded");
	return false;
}

static struct problem raw_problem(const struct bench *bench, int code)
{
	enum outcome result = OUTCOME_TRANSFER;
	struct problem problem;

	switch (code) {
	case ENODEV:
	case EADDRNOTAVAIL:
		result = OUTCOME_DEVICE;
		break;
	case ECONNREFUSED:
	case ECONNRESET:
	case EADDRINUSE:
		result = OUTCOME_CONNECT;
		break;
	case ENOMEM:
		result = OUTCOME_LOCAL;
		break;
	case EINVAL:
	case EMSGSIZE:
	case EOPNOTSUPP:
		result = OUTCOME_USAGE;
		break;
	}
	problem = problem_local(result, "raw_run", RUNNING, code,
				"check the address by `kverbs devices`; look at the kernel log (dmesg)",
				"%s", code == EMSGSIZE ?
				"the device cannot cover this size by one registration" :
				strerror(code));
	kverbs_addr_text(bench->addr, problem.local);
	memcpy(problem.peer, problem.local, sizeof(problem.peer));
	return problem;
}

static __u64 round_up(__u64 value, __u64 to)
{
	return (value + to - 1) / to * to;
}

bool raw_run(struct bench *bench, __u64 size, __u64 count, struct row *row)
{
	struct kverbs_raw raw = {
		.size = sizeof(raw),
		.flags = (bench->op == KVERBS_OP_READ ? KVERBS_RAW_READ : 0) |
			 (bench->bh ? KVERBS_RAW_BH : 0),
		.poll = bench->attr.poll,
		.length = size,
		.depth = bench->batch * bench->in_flight,
		.chain = bench->batch,
		.signal = bench->batch,
		.count = round_up(count, bench->batch),
		.warmup = round_up(bench->warmup, bench->batch),
	};
	__u64 i, chains = raw.count / raw.chain;
	__u32 nr = chains < BENCH_SAMPLES ? chains : BENCH_SAMPLES;
	__u64 *samples = calloc(nr, sizeof(*samples));
	int code;

	memcpy(raw.addr, bench->addr, sizeof(raw.addr));
	raw.samples = (uintptr_t)samples;
	raw.nr_samples = samples ? nr : 0;
	code = ioctl(bench->raw, KVERBS_RAW_RUN, &raw) ? errno : 0;
	if (!code && raw.done != raw.count)
		code = EIO;
	memset(&row->hist, 0, sizeof(row->hist));
	for (i = 0; !code && i < raw.nr_samples; i++)
		hist_add(&row->hist, samples[i]);
	free(samples);
	row->items = raw.done;
	row->ns = raw.ns ? raw.ns : 1;
	row->inlined = false;
	if (code)
		bench->problem = raw_problem(bench, code);
	else if (raw.different)
		bench->problem = data_differs(raw.different, "");
	return !code && !raw.different;
}
