/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory: pin or allocate it, charge it, map it for a device.
 *
 * A *buffer* is a list of pages: either user pages, pinned for long, or kernel
 * pages that user space maps. Both are charged to the locked-memory budget of
 * the user who made it and given back to the same user, whoever drops it last.
 * A buffer is mapped for a device the first time it is used there, and stays
 * mapped until the buffer or the device goes: a *mapping* is the list of DMA
 * extents that gather elements and registrations are made of.
 *
 * Whoever has work on a device holds the mapping, and a mapping holds the
 * pages: nothing is unmapped or unpinned while a device may touch it, however
 * early the id is destroyed.
 */
#ifndef KVERBS_MEMORY_H
#define KVERBS_MEMORY_H

#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/scatterlist.h>
#include <linux/workqueue.h>

#include "context.h"
#include "device.h"
#include "slice.h"

struct cred;

/**
 * struct kverbs_buffer - pages
 * @obj: id and references: of those who may still begin to use it
 * @holds: of the pages: one for all of @obj's references, one for each mapping
 * @page: @nr_pages of them
 * @nr_pages: number of pages
 * @lead: bytes of the first page before the first byte
 * @length: bytes
 * @writable: may be exposed to a peer's writes
 * @pinned: user pages, to be unpinned; otherwise ours, to be freed
 * @mm: whose pinned_vm shows the pages, held (mmgrab); NULL for a kernel thread
 * @cred: the credentials it was made with, held; their user's locked_vm is charged
 * @lock: guards @mappings and the mappings' links; outside of a device's lock
 * @mappings: struct kverbs_mapping, one a device
 * @work: does what is left to do after @obj's last reference
 */
struct kverbs_buffer {
	struct kverbs_object obj;
	refcount_t holds;
	struct page **page;
	unsigned long nr_pages;
	u32 lead;
	u64 length;
	bool writable;
	bool pinned;
	struct mm_struct *mm;
	const struct cred *cred;
	struct mutex lock;	/* guards mappings */
	struct list_head mappings;
	struct work_struct work;
};

/**
 * struct kverbs_mapping - a buffer as one device sees it
 * @ref: one for the buffer's list, one for each use
 * @buf: the buffer, whose pages it holds
 * @user: its place in the device's list
 * @list: link in @buf's mappings, empty once taken off
 * @sgt: the DMA mapping
 * @source: its DMA addresses as extents, offset 0 is the buffer's first byte.
 *	Gather elements and registrations are made of them
 * @dir: DMA direction
 * @need_sync: CPU and device must be told of each other's writes
 * @detach: takes it off the list when the device goes; has a reference while
 *	queued
 * @work: unmaps it when the last reference went where that cannot be done
 */
struct kverbs_mapping {
	struct kref ref;
	struct kverbs_buffer *buf;
	struct kverbs_dev_user user;
	struct list_head list;
	struct sg_table sgt;
	struct kverbs_source source;
	enum dma_data_direction dir;
	bool need_sync;
	struct work_struct detach;
	struct work_struct work;
};

int kverbs_memory_init(void);
void kverbs_memory_exit(void);
void kverbs_memory_flush(void);

struct kverbs_buffer *kverbs_buffer_register(u64 addr, u64 length, bool writable);
struct kverbs_buffer *kverbs_buffer_alloc(u64 length, int node);
void kverbs_buffer_copy(const struct kverbs_buffer *buf, u64 offset, void *to, u32 length);
int kverbs_buffer_mmap(struct kverbs_buffer *buf, struct vm_area_struct *vma);
struct kverbs_mapping *kverbs_mapping_get(struct kverbs_buffer *buf, struct kverbs_dev *dev);
void kverbs_mapping_hold(struct kverbs_mapping *map);
void kverbs_mapping_put(struct kverbs_mapping *map);
void kverbs_mapping_sync_for_device(struct kverbs_mapping *map, u64 offset, u64 length);
void kverbs_mapping_sync_for_cpu(struct kverbs_mapping *map, u64 offset, u64 length);

static inline struct kverbs_buffer *kverbs_to_buffer(struct kverbs_object *obj)
{
	return container_of(obj, struct kverbs_buffer, obj);
}

#endif /* KVERBS_MEMORY_H */
