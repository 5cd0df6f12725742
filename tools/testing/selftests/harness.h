/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every test program shares: a table of cases, each run in a process of its
 * own with a limit, so that a crash or a hang fails one case; TAP; checks that
 * say where and what; skips.
 *
 *	PROGRAM --list		the cases, one a line
 *	PROGRAM [CASE...]	run these, or all
 *
 * A check that fails ends the case. Limits are bounds on a hang and wide: no
 * test measures time.
 */
#ifndef HARNESS_H
#define HARNESS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <netinet/in.h>

#include "kverbs.h"

#define KIB	1024ULL
#define MIB	(1024 * KIB)
#define GIB	(1024 * MIB)
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/* struct test - one case */
struct test {
	const char *name;
	void (*run)(void);
};

/* What a case leaves for the one who reports it. */
static struct {
	bool skipped;
	char why[200];
} *verdict;

#define CHECK(condition) \
	check_that(!!(condition), #condition, __FILE__, __LINE__)
#define CHECK_EQ(got, want) \
	check_equal((long long)(got), (long long)(want), #got, #want, __FILE__, __LINE__)
/* @call gives 0, a count or a negative errno; the value of the macro is that. */
#define CHECK_OK(call) \
	check_ok((call), #call, __FILE__, __LINE__)
#define CHECK_ERR(call, code) \
	check_err((call), (code), #call, __FILE__, __LINE__)
/* For the C library's calls. */
#define CHECK_SYS(call) \
	check_sys((call), #call, __FILE__, __LINE__)

__attribute__((noreturn, format(printf, 3, 4)))
static inline void fail_at(const char *file, int line, const char *format, ...)
{
	va_list args;

	flockfile(stdout);
	printf("# %s:%d: ", file, line);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

static inline void check_that(bool holds, const char *text, const char *file, int line)
{
	if (!holds)
		fail_at(file, line, "does not hold: %s", text);
}

static inline void check_equal(long long got, long long want, const char *got_text,
			       const char *want_text, const char *file, int line)
{
	if (got != want)
		fail_at(file, line, "%s is %lld (0x%llx), not %lld (0x%llx), which is %s",
			got_text, got, got, want, want, want_text);
}

/* A result as people read it: 0, or the name of an errno. */
static inline const char *result_name(long ret)
{
	const char *name = ret < 0 ? strerrorname_np(-ret) : NULL;

	return ret >= 0 ? "success" : name ? name : "an unknown errno";
}

static inline long check_ok(long ret, const char *text, const char *file, int line)
{
	if (ret < 0)
		fail_at(file, line, "%s gave %s", text, result_name(ret));
	return ret;
}

static inline void check_err(long ret, int code, const char *text, const char *file, int line)
{
	if (ret != -code)
		fail_at(file, line, "%s gave %s, not %s", text, result_name(ret),
			result_name(-code));
}

static inline long check_sys(long ret, const char *text, const char *file, int line)
{
	if (ret == -1)
		fail_at(file, line, "%s failed: %s", text, strerror(errno));
	return ret;
}

__attribute__((noreturn, format(printf, 1, 2)))
static inline void skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(verdict->why, sizeof(verdict->why), format, args);
	va_end(args);
	verdict->skipped = true;
	fflush(stdout);
	_exit(0);
}

__attribute__((format(printf, 1, 2)))
static inline void note(const char *format, ...)
{
	va_list args;

	flockfile(stdout);
	printf("# ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	funlockfile(stdout);
}

static inline const char *env(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

static inline bool on_siw(void)
{
	return !strcmp(env("KV_PROVIDER", "rxe"), "siw");
}

/* Emulated processors: what is waited for may take longer there. */
static inline bool slow(void)
{
	static int answer = -1;
	char line[256];
	FILE *file;

	if (answer >= 0)
		return answer;
	answer = 1;
	file = fopen("/proc/cpuinfo", "r");
	while (file && fgets(line, sizeof(line), file))
		if (strstr(line, "User Mode Linux"))
			answer = 0;
	if (file)
		fclose(file);
	return answer;
}

/*
 * How much of a thing: all of it; less on a kernel that watches its own locks and
 * memory, which takes its time; least with KV_SMALL.
 */
static inline uint64_t amount(uint64_t all, uint64_t less, uint64_t least)
{
	if (*env("KV_SMALL", ""))
		return least;
	return access("/proc/lockdep_stats", F_OK) ? all : less;
}

static inline int case_limit(void)
{
	return slow() ? 150 : 60;
}

/* What a test waits for comes within this, or never. */
static inline int patience_ms(void)
{
	return slow() ? 60000 : 25000;
}

/* Wait for a child of ours, at most @seconds. */
static inline bool reaped(pid_t pid, int *status, int seconds)
{
	struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	int i;

	for (i = 0; i < seconds * 100; i++) {
		if (waitpid(pid, status, WNOHANG) == pid)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static inline const char *outcome_of(int status)
{
	static char text[80];

	if (WIFSIGNALED(status)) {
		snprintf(text, sizeof(text), "ended by signal %s",
			 sigabbrev_np(WTERMSIG(status)));
		return text;
	}
	return WEXITSTATUS(status) ? "" : NULL;
}

/* Run one case in a process group of its own. NULL: it passed. */
static inline const char *case_run(const struct test *test)
{
	const char *why;
	int status;
	pid_t pid;

	memset(verdict, 0, sizeof(*verdict));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		signal(SIGPIPE, SIG_IGN);
		test->run();
		fflush(stdout);
		_exit(0);
	}
	if (pid < 0)
		return "fork failed";
	setpgid(pid, pid);
	if (reaped(pid, &status, case_limit())) {
		why = outcome_of(status);
	} else {
		why = "ran into its limit";
		kill(-pid, SIGKILL);
		if (!reaped(pid, &status, 30))
			why = "ran into its limit and cannot be killed";
	}
	kill(-pid, SIGKILL);
	return why;
}

static inline void case_report(const struct test *test, int nr, int *failed)
{
	const char *why = case_run(test);

	if (why) {
		printf("not ok %d - %s%s%s\n", nr, test->name, *why ? " # " : "", why);
		(*failed)++;
	} else if (verdict->skipped) {
		printf("ok %d - %s # SKIP %s\n", nr, test->name, verdict->why);
	} else {
		printf("ok %d - %s\n", nr, test->name);
	}
	fflush(stdout);
}

static inline bool case_chosen(const char *name, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc < 2;
}

/*
 * siw connects TCP in its caller's context, and nothing ends that but TCP itself,
 * by default after two minutes: let it give up after one more try.
 */
static inline void tcp_gives_up_soon(void)
{
	FILE *file = on_siw() ? fopen("/proc/sys/net/ipv4/tcp_syn_retries", "w") : NULL;

	if (!file)
		return;
	fputs("1", file);
	fclose(file);
}

static inline int tests_main(const struct test *tests, int nr, int argc, char **argv)
{
	int i, chosen = 0, failed = 0;

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (i = 0; i < nr; i++)
			puts(tests[i].name);
		return 0;
	}
	verdict = mmap(NULL, sizeof(*verdict), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (verdict == MAP_FAILED)
		return 1;
	tcp_gives_up_soon();
	for (i = 0; i < nr; i++)
		chosen += case_chosen(tests[i].name, argc, argv);
	printf("TAP version 13\n1..%d\n", chosen);
	chosen = 0;
	for (i = 0; i < nr; i++)
		if (case_chosen(tests[i].name, argc, argv))
			case_report(&tests[i], ++chosen, &failed);
	return !!failed;
}

#endif /* HARNESS_H */
