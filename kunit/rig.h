/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rig: a connection that is up, on the fake provider, without a connection manager
 * and without a peer. What is submitted goes the whole way down to the posted work
 * requests; the test completes them, and says what the peer would.
 *
 * Its completion queue is polled directly, by rig_complete(): nothing happens that
 * the test does not do itself. Local and remote memory are made of addresses and
 * keys that nobody follows, so that every limit can be set as small as a test
 * likes; only the first page of the buffer has bytes.
 */
#ifndef KVERBS_KUNIT_RIG_H
#define KVERBS_KUNIT_RIG_H

#include <kunit/test.h>

#include "../module/batch.h"
#include "../module/work.h"
#include "fake.h"

#define RIG_EXTENTS	64
#define RIG_KEYS	64
#define RIG_STRIDE	0x100000ULL	/* from one extent's address to the next one's */
#define RIG_ADDR	0x7000000000ULL	/* remote address of the region's first byte */
#define RIG_REGION	23		/* the peer's name for it */

/**
 * struct rig_attr - what a rig shall be; 0 is something plain
 * @depth: data slots
 * @flags: KVERBS_CONN_*
 * @iwarp: an iWARP device
 * @ceiling: bytes of a piece
 * @sge: gather elements of a write, at most FAKE_SGE
 * @read_sge: of a read
 * @inline_bytes: of an inline write
 * @extent: bytes of each of the buffer's extents
 * @span: bytes that a key of the region covers
 * @lead: bytes of the first key before the region
 */
struct rig_attr {
	u32 depth;
	u32 flags;
	bool iwarp;
	u32 ceiling;
	u32 sge;
	u32 read_sge;
	u32 inline_bytes;
	u32 extent;
	u64 span;
	u32 lead;
};

/**
 * struct rig - a connection and all it needs
 * @test: whose
 * @fake: the device
 * @fqp: its queue pair
 * @dev: the device as kverbs knows it
 * @ctx: the context
 * @conn: the connection
 * @buf: the local buffer
 * @page: its bytes, as far as there are any
 * @map: its mapping
 * @extent: of the mapping
 * @remote: the peer's region
 * @key: its keys
 * @failed: failures that the queue pair has reported
 */
struct rig {
	struct kunit *test;
	struct fake_device *fake;
	struct fake_qp *fqp;
	struct kverbs_dev dev;
	struct kverbs_context *ctx;
	struct kverbs_connection *conn;
	struct kverbs_buffer buf;
	struct page *page;
	struct kverbs_mapping map;
	struct kverbs_extent extent[RIG_EXTENTS];
	struct kverbs_region_remote remote;
	u32 key[RIG_KEYS];
	atomic_t failed;
};

int rig_init(struct kunit *test);
void rig_exit(struct kunit *test);
struct rig *rig_make(struct kunit *test, const struct rig_attr *attr);
void rig_shape(struct rig *rig, u32 extent, u64 span, u32 lead);
struct kverbs_item rig_item(u32 op, u64 offset, u64 region_offset, u64 length);
struct kverbs_batch *rig_batch(struct rig *rig, const struct kverbs_item *item, u32 nr, bool one);
void rig_submit(struct rig *rig, const struct kverbs_item *item, u32 nr);
u32 rig_posted(struct rig *rig);
const struct fake_wr *rig_wr(struct rig *rig, u32 index);
void rig_complete(struct rig *rig, u32 nr, enum ib_wc_status status);
void rig_poll(struct rig *rig);
void rig_acknowledge(struct rig *rig, u64 delivered);
void rig_grant(struct rig *rig, u32 nr);
bool rig_event(struct rig *rig, struct kverbs_event *event);
bool rig_message(struct rig *rig, const struct fake_wr *wr, struct kverbs_msg *msg);
u8 rig_byte(struct rig *rig, u64 offset);

#endif /* KVERBS_KUNIT_RIG_H */
