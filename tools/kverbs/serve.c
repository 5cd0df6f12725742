// SPDX-License-Identifier: GPL-2.0-only
/*
 * kverbs serve: expose memory and let writers put files into it.
 *
 * Each writer that connects gets a kernel buffer and a region of its own over
 * it. It writes blocks at their offsets in its file; its last block notifies
 * with the tag "end", and offset + length of that notification is the file's
 * size. Then the file is in the buffer: it is hashed, stored, and acknowledged.
 * A writer may read its region too, which is what `kverbs bench` does.
 *
 * All is one loop over the context's events. SIGINT and SIGTERM are blocked and
 * read from a file descriptor, so that none is missed and none comes at a bad
 * moment.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "print.h"
#include "tool.h"

#define WRITERS_MAX	16	/* at once; each holds memory of --size */
#define LINGER_MS	5000	/* with --once, for the writer to leave by itself */
#define EVENTS		16

/* struct writer - one peer that writes to us */
struct writer {
	struct writer *next;
	__u32 conn_id;
	__u32 buf_id;
	void *map;
	unsigned int files;
	char name[KVERBS_ADDR_TEXT];
};

struct server {
	const char *address;
	const char *output;
	__u64 size;
	bool once;
	bool persist;
	int fd;
	int signals;		/* readable when it is time to end */
	__u32 listener_id;
	struct writer *writers;
	bool finished;		/* --once: its file has come */
	bool stopped;		/* listener or context are gone */
	int outcome;
};

/* What happened: in JSON, one object a line. */
static void say_begin(const char *event, const char *peer)
{
	out_begin();
	out_str("event", NULL, event);
	out_str("peer", peer ? "%s " : NULL, peer);
}

/* A problem with one writer; the others go on. */
static void say_problem(const struct writer *writer, const char *event,
			const struct problem *problem)
{
	char text[1024];

	say_begin(event, writer->name);
	out_text("%s: %s\n", event, problem_text(problem, text, sizeof(text)));
	problem_object(problem);
	out_end();
}

static struct writer *find(struct server *server, __u32 conn_id)
{
	struct writer *writer = server->writers;

	while (writer && writer->conn_id != conn_id)
		writer = writer->next;
	return writer;
}

/* Close a writer's connection first: then nobody writes to the buffer any more. */
static void drop(struct server *server, struct writer *writer)
{
	struct writer **link = &server->writers;

	while (*link != writer)
		link = &(*link)->next;
	*link = writer->next;
	kverbs_destroy(server->fd, writer->conn_id);
	if (writer->map)
		munmap(writer->map, server->size);
	if (writer->buf_id)
		kverbs_destroy(server->fd, writer->buf_id);
	free(writer);
}

/* The reason why a connection ended, as the module has kept it. */
static struct problem reason(struct server *server, struct writer *writer)
{
	char local[KVERBS_ADDR_TEXT] = "";
	struct kverbs_conn_query query;

	if (!kverbs_conn_query(server->fd, writer->conn_id, &query))
		kverbs_addr_text(query.src, local);
	if (!query.error.step)
		query.error.step = KVERBS_STEP_PEER;
	return problem_of(&query.error, local, writer->name);
}

static void say_connected(struct server *server, struct writer *writer)
{
	struct kverbs_conn_query query;

	if (kverbs_conn_query(server->fd, writer->conn_id, &query))
		return;
	say_begin("connected", writer->name);
	out_str("device", "connected: %s", query.error.device);
	out_num("port", " port %lld", query.port);
	out_str("transport", ", %s", kverbs_transport_name(query.transport));
	out_num("qpn", ", QPN %lld", query.qpn);
	out_num("peer_qpn", query.peer_qpn ? " <- %lld" : NULL, query.peer_qpn);
	out_text("\n");
	out_end();
}

/* Memory for a writer, and the region over it. */
static int furnish(struct server *server, struct writer *writer, struct problem *problem)
{
	struct kverbs_region_expose expose = {
		.target_id = writer->conn_id,
		.length = server->size,
		.rights = KVERBS_RIGHT_WRITE | KVERBS_RIGHT_READ,
		.tag = server->persist ? KVERBS_TAG_DURABLE : KVERBS_TAG_FILE,
	};
	__u64 offset;
	int ret;

	ret = kverbs_buf_alloc(server->fd, server->size, -1, &writer->buf_id, &offset);
	if (!ret)
		ret = kverbs_buf_map(server->fd, server->size, offset, &writer->map);
	if (ret) {
		*problem = problem_budget(-ret, server->size,
					  "raise it (`ulimit -l`), run as root, or use a smaller --size");
		return ret;
	}
	expose.buf_id = writer->buf_id;
	ret = kverbs_region_expose(server->fd, &expose);
	if (ret == -ENOTCONN)
		*problem = reason(server, writer);
	else if (ret)
		*problem = problem_local(OUTCOME_LOCAL, "region_expose", "exposing the memory",
					 -ret, "look at the kernel log (dmesg)", "%s",
					 strerror(-ret));
	return ret;
}

/* Take the connections that the listener has. */
static void on_incoming(struct server *server)
{
	struct kverbs_accept accept;
	struct problem problem;
	struct writer *writer;

	for (;;) {
		memset(&accept, 0, sizeof(accept));
		accept.listener_id = server->listener_id;
		accept.flags = KVERBS_NONBLOCK;
		if (kverbs_accept(server->fd, &accept))
			return;
		writer = calloc(1, sizeof(*writer));
		if (!writer) {
			kverbs_destroy(server->fd, accept.conn_id);
			return;
		}
		writer->conn_id = accept.conn_id;
		writer->next = server->writers;
		server->writers = writer;
		kverbs_addr_text(accept.peer, writer->name);
		if (furnish(server, writer, &problem)) {
			say_problem(writer, "refused", &problem);
			drop(server, writer);
		} else {
			say_connected(server, writer);
		}
	}
}

static void say_file(struct server *server, struct writer *writer, __u64 size,
		     const char *sha, bool told)
{
	say_begin("file", writer->name);
	out_num("bytes", "wrote %lld bytes", size);
	out_str("sha256", ", SHA-256 %s", sha);
	out_str("output", ", stored as %s", server->output);
	out_bool("persisted", server->persist);
	out_text("%s", server->persist ? ", on stable storage" : "");
	out_bool("acknowledged", told);
	out_text("%s\n", told ? "" : "; it left before the acknowledgment");
	out_end();
}

/* A whole file is in the buffer. */
static void on_file(struct server *server, struct writer *writer,
		    const struct kverbs_event *event)
{
	__u64 size = event->offset + event->length;
	struct problem problem;
	char sha[SHA_TEXT];
	int ret;

	ret = store_file(server->output, writer->map, size, server->persist, sha);
	if (ret == -EINTR)
		return;
	if (ret) {
		problem = problem_local(OUTCOME_LOCAL, "store_file", "storing the file", -ret,
					"check the folder of --output: rights, space",
					"%s: %s", server->output, strerror(-ret));
		say_problem(writer, "failed", &problem);
		drop(server, writer);
		server->outcome = server->once ? OUTCOME_LOCAL : OUTCOME_OK;
	} else {
		ret = kverbs_ack(server->fd, writer->conn_id, event->seq,
				 server->persist ? KVERBS_ACK_PERSISTED : 0);
		writer->files++;
		say_file(server, writer, size, sha, !ret);
	}
	server->finished = server->once;
}

static void on_notify(struct server *server, const struct kverbs_event *event)
{
	struct writer *writer = find(server, event->id);

	if (!writer || server->finished)
		return;
	if (event->tag == KVERBS_TAG_END)
		on_file(server, writer, event);
	else
		kverbs_ack(server->fd, writer->conn_id, event->seq, 0);
}

/* A connection has ended, and all that had come over it has been taken. */
static void on_end(struct server *server, const struct kverbs_event *event)
{
	struct writer *writer = find(server, event->id);
	struct problem problem;

	if (!writer || event->state != KVERBS_STATE_DEAD)
		return;
	problem = reason(server, writer);
	if (problem.error.step == KVERBS_STEP_PEER && (writer->files || !problem.error.code)) {
		say_begin("left", writer->name);
		out_text("left\n");
		out_end();
	} else {
		say_problem(writer, "vanished", &problem);
	}
	drop(server, writer);
}

static void on_event(struct server *server, const struct kverbs_event *event)
{
	struct problem problem;

	switch (event->kind) {
	case KVERBS_EVENT_INCOMING:
		if (!server->finished)
			on_incoming(server);
		break;
	case KVERBS_EVENT_NOTIFY:
		on_notify(server, event);
		break;
	case KVERBS_EVENT_CONN:
		on_end(server, event);
		break;
	case KVERBS_EVENT_LISTENER:
		problem = problem_local(OUTCOME_DEVICE, "listen", "listening", event->status,
					"look at `rdma link` and the kernel log, then start again",
					"the RDMA device was removed");
		server->outcome = fail(&problem);
		server->stopped = true;
		break;
	}
}

/* Wait for events. Returns false when it is time to end. */
static bool wait_events(struct server *server)
{
	struct pollfd polls[] = {
		{ .fd = server->fd, .events = POLLIN },
		{ .fd = server->signals, .events = POLLIN },
	};
	int ret = poll(polls, 2, server->finished ? LINGER_MS : -1);

	return ret < 0 ? errno == EINTR : ret > 0 && !polls[1].revents;
}

static void loop(struct server *server)
{
	struct kverbs_event events[EVENTS];
	int nr, i;

	while (!server->stopped && !(server->finished && !server->writers) &&
	       wait_events(server)) {
		nr = kverbs_wait(server->fd, events, EVENTS, 0, KVERBS_NONBLOCK);
		for (i = 0; i < nr; i++)
			on_event(server, &events[i]);
		if (nr < 0 && nr != -EAGAIN && nr != -EINTR) {
			struct problem problem =
				problem_local(OUTCOME_DEVICE, "wait", "waiting for events", -nr,
					      "look at the kernel log, then start again", "%s",
					      strerror(-nr));
			server->outcome = fail(&problem);
			server->stopped = true;
		}
	}
}

/* Orderly, so that acknowledgments that are on their way arrive. */
static void close_all(struct server *server)
{
	kverbs_destroy(server->fd, server->listener_id);
	while (server->writers) {
		kverbs_disconnect(server->fd, server->writers->conn_id, 1000);
		drop(server, server->writers);
	}
	close(server->fd);
}

static int start_listening(struct server *server, const struct verb *verb)
{
	struct kverbs_listen listen = { .max_conns = WRITERS_MAX };
	char text[KVERBS_ADDR_TEXT], size[32];
	struct problem problem;
	const char *why;
	int ret;

	if (kverbs_addr_parse(server->address, KVERBS_PORT, true, listen.addr, &why))
		return fail_usage(verb, "address '%s': %s", server->address, why);
	server->fd = context_open(NULL, true, &problem);
	if (server->fd < 0)
		return fail(&problem);
	ret = kverbs_listen(server->fd, &listen);
	if (ret) {
		if (!listen.error.code)
			listen.error.code = -ret;
		if (!listen.error.step)
			listen.error.step = KVERBS_STEP_BIND;
		kverbs_addr_text(listen.addr, text);
		problem = problem_of(&listen.error, text, NULL);
		return fail(&problem);
	}
	server->listener_id = listen.listener_id;
	kverbs_addr_set_port(listen.addr, listen.port);
	say_begin("listening", NULL);
	out_str("local", "listening on %s", kverbs_addr_text(listen.addr, text));
	out_num("size", NULL, server->size);
	out_text(" for files of up to %s; Ctrl-C ends\n", size_text(server->size, size));
	out_end();
	return OUTCOME_OK;
}

static int catch_signals(void)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	return signalfd(-1, &mask, SFD_CLOEXEC);
}

static bool set(void *context, char letter, const char *value)
{
	struct server *server = context;

	switch (letter) {
	case 's':
		return parse_size(value, &server->size);
	case 'o':
		server->output = value;
		return *value;
	case 'P':
		server->persist = true;
		return true;
	default:
		server->once = true;
		return true;
	}
}

static int serve_run(const struct verb *verb, int argc, char **argv)
{
	struct server server = { 0 };
	int ret = options_parse(verb, argc, argv, set, &server);

	if (ret < 0)
		return -1 - ret;
	if (argc - ret != 1)
		return fail_usage(verb, "one address to listen on, not %d", argc - ret);
	if (!server.size)
		return fail_usage(verb, "--size is needed: how large a file may be, such as 64M");
	if (server.persist && !server.output)
		return fail_usage(verb, "--persist needs --output: without it nothing is stored");
	server.address = argv[ret];
	server.signals = catch_signals();
	ret = start_listening(&server, verb);
	if (ret)
		return ret;
	loop(&server);
	close_all(&server);
	return server.outcome;
}

static const struct choice choices[] = {
	{ 's', "size", "N[K|M|G]", "largest file, the size of each writer's region" },
	{ 'o', "output", "FILE", "store what was written; replaced as a whole" },
	{ 'P', "persist", NULL, "flush it to stable storage before acknowledging" },
	{ '1', "once", NULL, "end after one file" },
	{ 0 }
};

const struct verb serve_verb = {
	.name = "serve",
	.args = "ADDR[:PORT]",
	.summary = "Expose memory and receive files into it",
	.text = "ADDR is a name, an IPv4 address, or an IPv6 address, in brackets before a\n"
		"port; 0.0.0.0 is any IPv4 address, [::] any IPv6 address. The default port is\n"
		"7479, 0 means any free one.\n"
		"Each writer gets a region of its own, of kernel memory, which it may write and\n"
		"read (`kverbs bench` does both). Without --output a file is only hashed. Runs\n"
		"until SIGINT or SIGTERM.\n",
	.choices = choices,
	.run = serve_run,
};
