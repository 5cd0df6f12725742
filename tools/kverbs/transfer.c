// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file on its way.
 *
 * It is read, block by block, into a ring of kernel memory, and written from
 * there to the same offset of the peer's region. A slot of the ring is used
 * again when its block has come to COMPLETED, so any file fits a small
 * locked-memory budget. The last block carries the notification with the tag
 * "end", and it alone waits for the moment that was asked for: the device
 * writes in order, so what holds for the last block holds for all.
 *
 * Only success counts. After the first failure nothing more is submitted, what
 * is in flight is awaited, and the connection's first error is the reason.
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "print.h"
#include "progress.h"
#include "transfer.h"

#define RING_SIZE	(4 * BLOCK_SIZE)
#define SLOTS_MAX	64		/* bits of transfer.busy */
#define EVENTS		32
#define ACK_BASE_S	60		/* for the peer to store it: this, and one */
#define ACK_RATE	(4 * BLOCK_SIZE) /* second more for each so many bytes */
#define ADVICE_FILE	"leave the file alone while it is written"
#define ADVICE_ACK \
	"look at what the peer's program does, or give it more time by --timeout"

void transfer_ends(struct transfer *t)
{
	memcpy(t->problem.local, t->local, sizeof(t->local));
	memcpy(t->problem.peer, t->peer, sizeof(t->peer));
	memcpy(t->problem.error.device, t->device, sizeof(t->device));
}

static int make_ring(struct transfer *t)
{
	__u64 offset, bytes;
	int ret;

	if (t->block > t->size)
		t->block = t->size;
	t->blocks = (t->size + t->block - 1) / t->block;
	t->slots = RING_SIZE / t->block;
	if (t->slots < 2)
		t->slots = 2;
	if (t->slots > SLOTS_MAX)
		t->slots = SLOTS_MAX;
	if (t->slots > t->blocks)
		t->slots = t->blocks;
	bytes = t->slots * t->block;
	ret = kverbs_buf_alloc(t->fd, bytes, -1, &t->buf_id, &offset);
	if (!ret)
		ret = kverbs_buf_map(t->fd, bytes, offset, (void **)&t->ring);
	if (!ret)
		return OUTCOME_OK;
	t->problem = problem_budget(-ret, bytes,
				    "raise it (`ulimit -l`), run as root, or use a smaller --block");
	return fail(&t->problem);
}

/* Read a block into its slot. Returns false when the file does not give it. */
static bool read_block(struct transfer *t, __u8 *slot, __u64 offset, __u64 length)
{
	__u64 done = 0;
	ssize_t ret;

	while (done < length) {
		ret = pread(t->file, slot + done, length - done, offset + done);
		if (ret < 0 && errno == EINTR)
			continue;
		if (ret <= 0) {
			const char *cause = ret ? strerror(errno) : "it became shorter";

			t->problem = problem_local(OUTCOME_LOCAL, "read_file", "reading the file",
						   ret ? errno : ENODATA, ADVICE_FILE, "%s: %s",
						   t->path, cause);
			return false;
		}
		done += ret;
	}
	sha256_update(&t->sha, length, slot);
	return true;
}

static __u32 ack_timeout_ms(const struct transfer *t)
{
	__u64 seconds = t->timeout_s ? t->timeout_s : ACK_BASE_S + t->size / ACK_RATE;

	return (seconds < TIMEOUT_MAX ? seconds : TIMEOUT_MAX) * 1000;
}

/* Take events, at least one. */
static void take_events(struct transfer *t)
{
	struct kverbs_event events[EVENTS];
	int nr, i;

	nr = kverbs_wait(t->fd, events, EVENTS, 0, 0);
	for (i = 0; i < nr; i++) {
		if (events[i].kind != KVERBS_EVENT_FINAL)
			continue;
		t->ended++;
		t->placed[events[i].placement]++;
		t->busy &= ~(1ULL << (events[i].user_data % t->slots));
		if (!events[i].status) {
			moments_add(&t->moments, &events[i]);
		} else if (!t->failed) {
			t->failed = true;
			t->failure = events[i];
		}
	}
	if (nr < 0 && nr != -EINTR) {
		/* Cannot be; do not wait for ever for what nobody will tell. */
		t->failed = true;
		t->failure.status = -nr;
		t->ended = t->next;
	}
}

/* Hand in the next block. Its slot is free. */
static void submit_block(struct transfer *t)
{
	unsigned int slot = t->next % t->slots;
	bool last = t->next == t->blocks - 1;
	struct kverbs_item item = {
		.op = KVERBS_OP_WRITE,
		.flags = last ? KVERBS_ITEM_NOTIFY : 0,
		.buf_id = t->buf_id,
		.region_id = t->region_id,
		.buf_offset = slot * t->block,
		.region_offset = t->next * t->block,
		.length = last ? t->size - t->next * t->block : t->block,
		.user_data = t->next,
		.tag = last ? KVERBS_TAG_END : 0,
		.until = last ? t->until : KVERBS_COMPLETED,
		.timeout_ms = last ? ack_timeout_ms(t) : 0,
	};
	int ret;

	if (!read_block(t, t->ring + item.buf_offset, item.region_offset, item.length)) {
		t->failed = true;
		return;
	}
	while ((ret = kverbs_submit(t->fd, t->conn_id, &item, 1)) == -EAGAIN &&
	       t->ended < t->next)
		take_events(t);
	if (ret < 0) {
		t->failure.status = -ret;
		t->failed = true;
		return;
	}
	t->busy |= 1ULL << slot;
	t->next++;
}

static void send_blocks(struct transfer *t)
{
	sha256_init(&t->sha);
	while (!t->failed && t->next < t->blocks) {
		while (!t->failed && t->busy & 1ULL << t->next % t->slots)
			take_events(t);
		if (!t->failed)
			submit_block(t);
		progress_show(t->ended * t->block, t->size);
	}
	while (t->ended < t->next) {
		take_events(t);
		progress_show(t->ended * t->block, t->size);
	}
	progress_clear();
}

/* The first cause of a failed transfer. */
static void find_cause(struct transfer *t, const struct kverbs_conn_query *query)
{
	const struct kverbs_event *event = &t->failure;

	if (t->problem.result) {
		/* The file has failed, not the connection. */
	} else if (!query->error.step && event->status == ETIMEDOUT &&
		   event->reached >= KVERBS_COMPLETED) {
		t->problem = problem_local(OUTCOME_PEER, "acknowledge",
					   "waiting for the acknowledgment", ETIMEDOUT, ADVICE_ACK,
					   "all is written and %s, but not %s in time",
					   kverbs_moment_name(event->reached),
					   kverbs_moment_name(event->asked));
	} else {
		t->problem = problem_of_item(&query->error, event, event->status, NULL, NULL);
	}
	transfer_ends(t);
	t->problem.counted = true;
	memcpy(t->problem.blocks, t->placed, sizeof(t->placed));
	t->problem.blocks[KVERBS_PLACEMENT_UNSENT] += t->blocks - t->next;
}

/* What the moment reached is worth, in words. */
static const char *meaning(__u32 reached, __u32 transport)
{
	switch (reached) {
	case KVERBS_COMPLETED:
		return transport == KVERBS_TRANSPORT_IWARP ?
		       "handed to TCP; whether it is placed is not known" :
		       "the peer's adapter has acknowledged it";
	case KVERBS_DELIVERED:
		return "it is in the peer's memory";
	case KVERBS_CONSUMED:
		return "the peer's program has acknowledged it";
	default:
		return "the peer's program has it on stable storage";
	}
}

/* The clock stops when the peer has said that the last block is there. */
static double duration(const struct moments *moments)
{
	const __u64 *last = moments->last.stamps;
	__u64 end = last[KVERBS_DELIVERED] ? last[KVERBS_DELIVERED] : last[KVERBS_COMPLETED];

	return (end - moments->first.stamps[KVERBS_POSTED]) / 1e9;
}

static void report(struct transfer *t, const struct kverbs_conn_query *query)
{
	bool software = device_is_software(t->fd, query->error.device);
	double seconds = duration(&t->moments);
	char sha[SHA_TEXT];

	out_begin();
	conn_print(query, software);
	moments_print(&t->moments);
	out_text("result\n");
	out_str("file", "  file         %s\n", t->path);
	out_num("bytes", "  bytes        %lld", t->size);
	out_num("blocks", " in %lld blocks", t->blocks);
	out_num("block_size", " of %lld\n", t->block);
	out_real("seconds", "  duration     %.6f s, reading the file included\n", seconds);
	out_real("rate_mib_s", "  rate         %.1f MiB/s",
		 seconds > 0 ? t->size / seconds / BLOCK_SIZE : 0);
	out_text("%s\n", software ? "; a software device: no measure for hardware" : "");
	out_str("reached", "  reached      %s", kverbs_moment_name(t->until));
	out_text(": %s\n", meaning(t->until, query->transport));
	sha_text(&t->sha, sha);
	out_str("sha256", "  SHA-256      %s\n", sha);
	out_end();
}

int transfer_run(struct transfer *t)
{
	struct kverbs_conn_query query;
	int ret = make_ring(t);

	if (ret)
		return ret;
	send_blocks(t);
	kverbs_conn_query(t->fd, t->conn_id, &query);
	if (t->failed) {
		find_cause(t, &query);
		ret = fail(&t->problem);
	} else {
		report(t, &query);
	}
	moments_free(&t->moments);
	kverbs_disconnect(t->fd, t->conn_id, 0);
	return ret;
}

