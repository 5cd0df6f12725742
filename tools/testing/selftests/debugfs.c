// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/kverbs/connections: a line says what CONN_QUERY says, there is
 * one as long as there is the connection, and reading harms nobody, whatever
 * connections do meanwhile.
 */
#include "link.h"

#include <fcntl.h>
#include <sys/stat.h>

#define FILE_NAME	"/sys/kernel/debug/kverbs/connections"
#define ROOM		(512 * KIB)

static const char * const keys[] = {
	"id", "device", "state", "role", "src", "dst", "qpn", "depth", "poll",
	"data_out", "data_free", "reg_out", "reg_free", "control_out", "control_free",
	"control_credits", "data_credits", "control_held", "data_held",
	"unfinished", "incomplete", "submitted", "finished", "failed",
	"step", "code", "wc_status",
};

/* struct line - one line, taken apart */
struct line {
	char text[1000];
	const char *value[ARRAY_SIZE(keys)];
};

/* All of the file, by reads of @step bytes. */
static char *contents(size_t step)
{
	char *text = memory(ROOM);
	size_t used = 0;
	ssize_t got;
	int fd;

	fd = open(FILE_NAME, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && access("/sys/kernel/debug/kverbs", F_OK) &&
	    system("grep -qw debugfs /proc/filesystems"))
		skip("a kernel without debugfs");
	CHECK_SYS(fd);
	while ((got = CHECK_SYS(read(fd, text + used, step)))) {
		used += got;
		CHECK(used + step < ROOM);
	}
	close(fd);
	return text;
}

static void contents_free(char *text)
{
	munmap(text, ROOM);
}

static const char *word(const struct line *line, const char *key)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(keys[i], key))
			return line->value[i];
	fail_at(__FILE__, __LINE__, "no key %s", key);
}

static __u64 number(const struct line *line, const char *key)
{
	const char *text = word(line, key);
	__u64 value;
	char *end;

	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end)
		fail_at(__FILE__, __LINE__, "%s is no number: %s", key, text);
	return value;
}

/* All keys in their order, and what has to hold of every line at any time. */
static void line_parse(struct line *line, const char *text, size_t length)
{
	char *rest = line->text, *part;
	size_t i;

	CHECK(length && length < sizeof(line->text));
	memcpy(line->text, text, length);
	line->text[length] = 0;
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		size_t key = strlen(keys[i]);

		part = strsep(&rest, " ");
		if (!part || strncmp(part, keys[i], key) || part[key] != '=' || !part[key + 1])
			fail_at(__FILE__, __LINE__, "no %s where it should be: %.*s", keys[i],
				(int)length, text);
		line->value[i] = part + key + 1;
	}
	CHECK(!rest);
	CHECK_EQ(number(line, "unfinished"),
		 number(line, "submitted") - number(line, "finished"));
	CHECK(number(line, "incomplete") <= number(line, "unfinished"));
	CHECK(number(line, "failed") <= number(line, "finished"));
	/* Until there is a queue, its depth is only what it will be. */
	if (number(line, "data_out") + number(line, "data_free"))
		CHECK_EQ(number(line, "data_out") + number(line, "data_free"),
			 number(line, "depth"));
	CHECK(!strcmp(word(line, "role"), "initiator") || !strcmp(word(line, "role"), "target"));
}

/* How many lines there are; those that @fits chooses are counted, the last is kept. */
static int lines(struct line *found, bool (*fits)(const struct line *line, const void *arg),
		 const void *arg)
{
	char *text = contents(65536), *at = text, *end;
	struct line line;
	int nr = 0;

	for (; (end = strchr(at, '\n')); at = end + 1) {
		line_parse(&line, at, end - at);
		if (fits && !fits(&line, arg))
			continue;
		nr++;
		if (found)
			line_parse(found, at, end - at);
	}
	CHECK(!*at);
	contents_free(text);
	return nr;
}

static bool is_connection(const struct line *line, const void *arg)
{
	const struct kverbs_conn_query *query = arg;

	return number(line, "id") == query->conn_id && number(line, "qpn") == query->qpn &&
	       !strcmp(word(line, "role"), query->initiator ? "initiator" : "target");
}

static void line_of(const struct kverbs_conn_query *query, struct line *line)
{
	CHECK_EQ(lines(line, is_connection, query), 1);
}

static void word_is(const struct line *line, const char *key, const char *want)
{
	if (strcmp(word(line, key), want))
		fail_at(__FILE__, __LINE__, "%s is %s, not %s", key, word(line, key), want);
}

/* What CONN_QUERY and the line tell, of a connection that nothing happens to. */
static void says_the_same(int fd, __u32 conn, struct line *line)
{
	struct kverbs_conn_query query = conn_query(fd, conn);
	char text[KVERBS_ADDR_TEXT];

	line_of(&query, line);
	word_is(line, "device", query.error.device);
	word_is(line, "state", kverbs_state_name(query.state));
	word_is(line, "src", kverbs_addr_text(query.src, text));
	word_is(line, "dst", kverbs_addr_text(query.dst, text));
	word_is(line, "poll", kverbs_poll_name(query.poll));
	word_is(line, "step", kverbs_step_name(query.error.step));
	CHECK_EQ(number(line, "depth"), query.depth);
	CHECK_EQ(number(line, "data_credits"), query.data_credits);
	CHECK_EQ(number(line, "submitted"), query.counters.submitted);
	CHECK_EQ(number(line, "finished"), query.counters.finished);
	CHECK_EQ(number(line, "failed"), query.counters.failed);
	CHECK_EQ(number(line, "code"), query.error.code);
	CHECK_EQ(number(line, "wc_status"), query.error.wc_status);
}

static void pause_a_little(void)
{
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };

	nanosleep(&pause, NULL);
}

/* Wait until nothing but @want lines is left. */
static void come_to(int want)
{
	int i;

	for (i = 0; i < patience_ms() / 10 && lines(NULL, NULL, NULL) != want; i++)
		pause_a_little();
	CHECK_EQ(lines(NULL, NULL, NULL), want);
}

/* Wait until a key of a connection has come to a value. */
static void key_comes_to(int fd, __u32 conn, const char *key, __u64 want)
{
	struct kverbs_conn_query query = conn_query(fd, conn);
	struct line line;
	int i;

	for (i = 0; i < patience_ms() / 10; i++) {
		line_of(&query, &line);
		if (number(&line, key) == want)
			return;
		pause_a_little();
	}
	fail_at(__FILE__, __LINE__, "%s is %s, not %llu", key, word(&line, key), want);
}

/* Each poll context and depth, both ends, idle and after some writes. */
static void like_conn_query(void)
{
	struct kverbs_conn_attr attr = { .depth = 7 };
	struct line line;
	struct field f;
	__u32 buf, i;
	struct link l;

	come_to(0);
	for (attr.poll = KVERBS_POLL_SOFTIRQ; attr.poll <= KVERBS_POLL_DIRECT; attr.poll++) {
		l = link_with(&attr);
		CHECK_EQ(lines(NULL, NULL, NULL), 2);
		says_the_same(l.a, l.ca, &line);
		word_is(&line, "state", "up");
		word_is(&line, "role", "initiator");
		CHECK_EQ(number(&line, "submitted"), 0);
		says_the_same(l.b, l.cb, &line);
		word_is(&line, "role", "target");

		f = field_of(&l, 64 * KIB, 0);
		source(l.a, 4096, 0, 1, &buf);
		for (i = 0; i < 9; i++)
			PUT(&l, buf, 0, f.region, i * 4096, 4096);
		says_the_same(l.a, l.ca, &line);
		CHECK_EQ(number(&line, "submitted"), 9);
		CHECK_EQ(number(&line, "unfinished"), 0);
		says_the_same(l.b, l.cb, &line);
		link_close(&l);
		come_to(0);
	}
}

/* Items that wait for the peer's program, and receives that it has not given back. */
static void unfinished(void)
{
	struct kverbs_event event;
	struct line line;
	struct field f;
	struct link l;
	__u32 buf, i;

	l = link_up();
	f = field_of(&l, 4096, 0);
	source(l.a, 4096, 0, 1, &buf);
	forget_events(l.b);
	for (i = 0; i < 3; i++) {
		struct kverbs_item it = item(buf, 0, f.region, 0, 4096, KVERBS_CONSUMED);

		SUBMIT(&l, &it);
	}
	key_comes_to(l.a, l.ca, "incomplete", 0);
	key_comes_to(l.b, l.cb, "data_held", 3);
	says_the_same(l.a, l.ca, &line);
	CHECK_EQ(number(&line, "unfinished"), 3);
	CHECK_EQ(number(&line, "data_credits"), 125);

	event = NEXT_EVENT(l.b, KVERBS_EVENT_NOTIFY, l.cb);
	says_the_same(l.b, l.cb, &line);
	CHECK_EQ(number(&line, "data_held"), 2);
	CHECK_OK(kverbs_ack(l.b, l.cb, event.seq, 0));
	NEXT_FINAL(l.a);
	says_the_same(l.a, l.ca, &line);
	CHECK_EQ(number(&line, "unfinished"), 2);
	CHECK_EQ(number(&line, "finished"), 1);
	link_close(&l);
	come_to(0);
}

/* One that has ended keeps its line, with the first error, as long as its id. */
static void ended(void)
{
	struct line line;
	struct link l;
	struct field f;
	__u32 buf;

	l = link_up();
	f = field_of(&l, 4096, 0);
	source(l.a, 4096, 0, 1, &buf);
	PUT(&l, buf, 0, f.region, 0, 4096);
	CHECK_OK(kverbs_abort(l.b, l.cb));
	NEXT_EVENT(l.a, KVERBS_EVENT_CONN, l.ca);
	NEXT_EVENT(l.b, KVERBS_EVENT_CONN, l.cb);
	says_the_same(l.a, l.ca, &line);
	word_is(&line, "state", "dead");
	word_is(&line, "step", "peer");
	CHECK(number(&line, "code"));
	CHECK_EQ(number(&line, "data_out"), 0);
	says_the_same(l.b, l.cb, &line);
	word_is(&line, "state", "dead");
	word_is(&line, "step", "local");

	CHECK_OK(kverbs_destroy(l.a, l.ca));
	come_to(1);
	CHECK_OK(kverbs_destroy(l.b, l.cb));
	come_to(0);
	link_close(&l);
}

static bool asks_nobody(const struct line *line, const void *arg)
{
	return !strcmp(word(line, "dst"), arg);
}

static pid_t ask_nobody(void)
{
	struct kverbs_connect cmd;
	pid_t pid = CHECK_SYS(fork());

	if (pid)
		return pid;
	connect_fill(&cmd, 4999, NULL);
	address(cmd.dst, "10.9.0.77", 4999);
	kverbs_connect(context(), &cmd);
	_exit(0);
}

/* One that is not up yet is seen too, and nothing is said that is not known. */
static void not_up_yet(void)
{
	struct line line;
	int i, status;
	pid_t pid;

	come_to(0);
	pid = ask_nobody();
	for (i = 0; i < patience_ms() / 10; i++) {
		if (lines(&line, asks_nobody, "10.9.0.77:4999"))
			break;
		if (waitpid(pid, &status, WNOHANG) == pid)
			skip("refused before anybody could look");
		pause_a_little();
	}
	CHECK(!strcmp(word(&line, "state"), "addr") || !strcmp(word(&line, "state"), "route") ||
	      !strcmp(word(&line, "state"), "handshake"));
	word_is(&line, "role", "initiator");
	word_is(&line, "step", "none");
	CHECK_EQ(number(&line, "submitted"), 0);
	kill(pid, SIGKILL);
	CHECK(reaped(pid, &status, 60));
	come_to(0);
}

/* More than a page of lines: each connection once, however it is read. */
static void in_pieces(void)
{
	char *whole, *pieces;
	__u32 ca[20], cb[20];
	struct line line;
	struct link l;
	size_t step;
	int i;

	l = link_up();
	for (i = 0; i < 20; i++)
		connect_again(&l, NULL, &ca[i], &cb[i]);
	/* Until credits that are owed have been told. */
	for (i = 0; i < 20; i++) {
		key_comes_to(l.a, ca[i], "control_out", 0);
		key_comes_to(l.b, cb[i], "control_held", 0);
	}
	CHECK_EQ(lines(NULL, NULL, NULL), 42);
	for (i = 0; i < 20; i++) {
		says_the_same(l.a, ca[i], &line);
		says_the_same(l.b, cb[i], &line);
	}
	whole = contents(65536);
	CHECK(strlen(whole) > 8192);
	for (step = 1; step < 6000; step = step * 7 + 1) {
		pieces = contents(step);
		CHECK(!strcmp(whole, pieces));
		contents_free(pieces);
	}
	link_close(&l);
	come_to(0);
}

/* Nothing can be changed here. */
static void read_only(void)
{
	struct stat st;
	int fd;

	contents_free(contents(65536));
	CHECK_SYS(stat(FILE_NAME, &st));
	CHECK_EQ(st.st_mode & 07777, 0400);
	fd = open(FILE_NAME, O_WRONLY);
	CHECK(fd < 0 || write(fd, "0\n", 2) < 0);
}

static void come_and_go(int rounds)
{
	struct link l;
	struct field f;
	__u32 buf;
	int i;

	for (i = 0; i < rounds; i++) {
		l = link_up();
		f = field_of(&l, 4096, 0);
		source(l.a, 4096, 0, i, &buf);
		PUT(&l, buf, 0, f.region, 0, 4096);
		if (i % 3 == 0)
			CHECK_OK(kverbs_abort(l.a, l.ca));
		else if (i % 3 == 1)
			CHECK_OK(kverbs_destroy(l.b, l.cb));
		link_close(&l);
		nr_kept = 0;
	}
}

static void keep_looking(int step)
{
	for (;;) {
		contents_free(contents(step));
		lines(NULL, NULL, NULL);
	}
}

/* Connections come and go in three processes, and three look on. */
static void storm(void)
{
	int rounds = amount(150, 40, 8), status, i;
	pid_t pid[6];

	come_to(0);
	note("%d rounds in each of 3 processes", rounds);
	fflush(stdout);
	for (i = 0; i < 6; i++) {
		pid[i] = CHECK_SYS(fork());
		if (pid[i])
			continue;
		if (i < 3)
			come_and_go(rounds);
		else
			keep_looking(i == 3 ? 1 : i == 4 ? 700 : 65536);
		_exit(0);
	}
	for (i = 0; i < 3; i++) {
		CHECK(reaped(pid[i], &status, case_limit()));
		CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	}
	for (i = 3; i < 6; i++) {
		/* One that had found something wrong would have ended. */
		CHECK_EQ(waitpid(pid[i], &status, WNOHANG), 0);
		kill(pid[i], SIGKILL);
		CHECK(reaped(pid[i], &status, 30));
	}
	come_to(0);
}

static const struct test tests[] = {
	{ "like_conn_query", like_conn_query },
	{ "unfinished", unfinished },
	{ "ended", ended },
	{ "not_up_yet", not_up_yet },
	{ "in_pieces", in_pieces },
	{ "read_only", read_only },
	{ "storm", storm },
};

int main(int argc, char **argv)
{
	return tests_main(tests, ARRAY_SIZE(tests), argc, argv);
}
