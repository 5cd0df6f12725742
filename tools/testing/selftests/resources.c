// SPDX-License-Identifier: GPL-2.0-only
/*
 * `rdma resource show` lists what we own, under our name, while a connection is
 * up; and when it has ended, everything is back to where it was.
 */
#include "link.h"

struct census {
	int qp;
	int cq;
	int pd;
	int mr;
	int cm_id;
};

/*
 * Objects of one kind that the kernel says are ours. A queue pair made through
 * the connection manager goes by the connection manager's name.
 */
static int ours(const char *kind, bool print)
{
	char command[100], line[400];
	int nr = 0;
	FILE *out;

	snprintf(command, sizeof(command), "rdma resource show %s", kind);
	out = popen(command, "r");
	CHECK(out);
	while (fgets(line, sizeof(line), out)) {
		if (!strstr(line, env("KV_DEV", "rxe0")) ||
		    (!strstr(line, "[kverbs]") && !strstr(line, "[rdma_cm]")))
			continue;
		nr++;
		if (print)
			note("%.*s", (int)strcspn(line, "\n"), line);
	}
	CHECK_EQ(pclose(out), 0);
	return nr;
}

static struct census census(bool print)
{
	return (struct census) {
		.qp = ours("qp", print),
		.cq = ours("cq", print),
		.pd = ours("pd", print),
		.mr = ours("mr", print),
		.cm_id = ours("cm_id", print),
	};
}

static void nothing_left(void)
{
	struct census c = census(true);

	CHECK_EQ(c.qp + c.cq + c.pd + c.mr + c.cm_id, 0);
}

/*
 * Two ends in this guest: two of each. On iWARP each has registrations ready, that
 * its reads go through.
 */
static void listed(void)
{
	const int spare = on_siw() ? 2 * 16 : 0;
	struct census c;
	struct field f;
	struct link l;

	nothing_left();
	l = link_up();
	c = census(true);
	CHECK_EQ(c.qp, 2);
	CHECK_EQ(c.cq, 4);
	CHECK_EQ(c.pd, 2);
	CHECK_EQ(c.mr, spare);
	/* Both ends and the listener. */
	CHECK_EQ(c.cm_id, 3);
	f = field_of(&l, 4096, 0);
	CHECK_EQ(census(false).mr, spare + 1);
	CHECK_OK(kverbs_disconnect(l.a, l.ca, 0));
	NEXT_EVENT(l.b, KVERBS_EVENT_CONN, l.cb);
	c = census(true);
	CHECK_EQ(c.qp + c.cq + c.pd + c.mr, 0);
	CHECK_EQ(c.cm_id, 1);
	CHECK_OK(kverbs_destroy(l.b, l.listener));
	nothing_left();
	FIELD_CHECK(&f);
	link_close(&l);
}

/* Closing the file is as good. */
static void closed(void)
{
	struct link l = link_up();
	__u32 i, ca, cb;

	for (i = 0; i < 4; i++)
		connect_again(&l, NULL, &ca, &cb);
	CHECK_EQ(census(false).qp, 10);
	link_close(&l);
	nothing_left();
}

/* A failed connect leaves nothing behind either. */
static void after_failures(void)
{
	struct kverbs_connect cmd;
	int fd = context(), i;

	for (i = 0; i < 10; i++) {
		connect_fill(&cmd, 4999, NULL);
		CHECK_ERR(kverbs_connect(fd, &cmd), ECONNREFUSED);
	}
	nothing_left();
}

static const struct test tests[] = {
	{ "listed", listed },
	{ "closed", closed },
	{ "after_failures", after_failures },
};

int main(int argc, char **argv)
{
	return tests_main(tests, ARRAY_SIZE(tests), argc, argv);
}
