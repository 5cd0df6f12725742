// SPDX-License-Identifier: GPL-2.0-only
/*
 * Failures. Whatever goes wrong becomes a struct problem and is printed once:
 * as a message on standard error, or as an object on standard output in JSON.
 * Both name step, addresses, device, cause and what to do next.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "print.h"
#include "tool.h"

struct problem problem_local(enum outcome result, const char *step, const char *doing,
			     int code, const char *advice, const char *cause, ...)
{
	struct problem problem = {
		.result = result,
		.step = step,
		.words = { .step = doing, .advice = advice },
		.error.code = code,
	};
	va_list args;

	va_start(args, cause);
	vsnprintf(problem.words.cause, sizeof(problem.words.cause), cause, args);
	va_end(args);
	return problem;
}

static enum outcome result_of(const struct kverbs_error *error)
{
	switch (error->step) {
	case KVERBS_STEP_RESOLVE_ADDR:
	case KVERBS_STEP_RESOLVE_ROUTE:
		return OUTCOME_DEVICE;
	case KVERBS_STEP_BIND:
		return error->code == EADDRINUSE || error->code == EACCES ?
		       OUTCOME_CONNECT : OUTCOME_DEVICE;
	case KVERBS_STEP_SETUP:
		return error->code == ENOMEM ? OUTCOME_LOCAL : OUTCOME_CONNECT;
	case KVERBS_STEP_CONNECT:
	case KVERBS_STEP_HELLO:
		return OUTCOME_CONNECT;
	case KVERBS_STEP_PEER:
	case KVERBS_STEP_PROGRESS:
		return OUTCOME_PEER;
	default:
		return OUTCOME_TRANSFER;
	}
}

struct problem problem_of(const struct kverbs_error *error, const char *local,
			  const char *peer)
{
	struct problem problem = {
		.result = result_of(error),
		.step = kverbs_step_name(error->step),
		.error = *error,
	};

	kverbs_explain(error, &problem.words);
	if (local)
		snprintf(problem.local, sizeof(problem.local), "%s", local);
	if (peer)
		snprintf(problem.peer, sizeof(problem.peer), "%s", peer);
	return problem;
}

struct problem problem_of_item(const struct kverbs_error *first,
			       const struct kverbs_event *event, __u32 status,
			       const char *local, const char *peer)
{
	struct kverbs_error error = *first;

	if (error.step)
		return problem_of(first, local, peer);
	error.step = KVERBS_STEP_POST;
	error.code = status;
	if (event) {
		error.code = event->status;
		error.wc_status = event->wc_status;
		error.vendor_err = event->vendor_err;
		if (event->step)
			error.step = event->step;
		else if (event->status == ETIMEDOUT)
			error.step = KVERBS_STEP_PEER;
	}
	return problem_of(&error, local, peer);
}

#define BUDGET \
	"%s do not fit into the locked-memory budget (ulimit -l: %s), or into memory"

struct problem problem_budget(int code, __u64 bytes, const char *advice)
{
	char size[32], limit[32] = "unlimited";
	struct rlimit rlimit;

	if (!getrlimit(RLIMIT_MEMLOCK, &rlimit) && rlimit.rlim_cur != RLIM_INFINITY)
		size_text(rlimit.rlim_cur, limit);
	size_text(bytes, size);
	if (code == ENOMEM)
		return problem_local(OUTCOME_LOCAL, "buf_alloc", "allocating the buffer", code,
				     advice, BUDGET, size, limit);
	return problem_local(OUTCOME_LOCAL, "buf_alloc", "allocating the buffer", code,
			     advice, "%s of kernel memory: %s", size, strerror(code));
}

static void counts_object(const struct problem *problem)
{
	__u32 i;

	out_object("blocks");
	for (i = KVERBS_PLACEMENT_PLACED; i <= KVERBS_PLACEMENT_UNSENT; i++)
		out_num(kverbs_placement_name(i), NULL, problem->blocks[i]);
	out_close();
}

static void counts_text(const struct problem *problem)
{
	__u32 i;

	fprintf(stderr, "  blocks:");
	for (i = KVERBS_PLACEMENT_PLACED; i <= KVERBS_PLACEMENT_UNSENT; i++)
		fprintf(stderr, "%s %llu %s", i > KVERBS_PLACEMENT_PLACED ? "," : "",
			problem->blocks[i], kverbs_placement_name(i));
	fprintf(stderr, "\n");
}

void problem_object(const struct problem *problem)
{
	const struct kverbs_error *error = &problem->error;

	out_object("error");
	out_num("exit_code", NULL, problem->result);
	out_str("step", NULL, problem->step);
	out_str("errno", NULL, error->code ? strerrorname_np(error->code) : NULL);
	out_num("code", NULL, error->code);
	out_str("cause", NULL, problem->words.cause);
	out_str("advice", NULL, problem->words.advice);
	out_str("device", NULL, *error->device ? error->device : NULL);
	out_str("local", NULL, *problem->local ? problem->local : NULL);
	out_str("peer", NULL, *problem->peer ? problem->peer : NULL);
	if (error->step) {
		out_num("wc_status", NULL, error->wc_status);
		out_str("wc_status_name", NULL,
			error->wc_status ? kverbs_wc_status_name(error->wc_status) : NULL);
		out_num("vendor_err", NULL, error->vendor_err);
		out_num("cm_event", NULL, error->cm_event);
		out_str("cm_event_name", NULL,
			error->cm_event ? kverbs_cm_event_name(error->cm_event) : NULL);
		out_num("cm_status", NULL, error->cm_status);
		out_str("reject", NULL, kverbs_reject_name(error->reject));
	}
	if (problem->counted)
		counts_object(problem);
	out_close();
}

const char *problem_text(const struct problem *problem, char *text, size_t size)
{
	return kverbs_explain_text(&problem->words, problem->error.device, problem->local,
				   problem->peer, text, size);
}

int fail(const struct problem *problem)
{
	char text[1024];

	if (out_is_json()) {
		out_begin();
		problem_object(problem);
		out_end();
	} else {
		fflush(stdout);
		fprintf(stderr, "kverbs: %s\n", problem_text(problem, text, sizeof(text)));
		if (problem->counted)
			counts_text(problem);
	}
	return problem->result;
}

int fail_usage(const struct verb *verb, const char *cause, ...)
{
	struct problem problem = {
		.result = OUTCOME_USAGE,
		.step = "arguments",
		.words = { .step = "reading the arguments" },
		.error.code = EINVAL,
	};
	char advice[64];
	va_list args;

	va_start(args, cause);
	vsnprintf(problem.words.cause, sizeof(problem.words.cause), cause, args);
	va_end(args);
	snprintf(advice, sizeof(advice), "see `kverbs %s%s--help`", verb ? verb->name : "",
		 verb ? " " : "");
	problem.words.advice = advice;
	return fail(&problem);
}
