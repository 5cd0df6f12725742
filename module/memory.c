// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory: pin or allocate it, charge it, map it for a device. See memory.h.
 *
 * Making a buffer charges first, then takes the pages, and undoes both on any
 * failure. The charge is on the user's locked_vm, a budget that all processes
 * of a user share and that fork and exec do not multiply; mm->pinned_vm only
 * shows it. The credentials are held for their user: modules cannot put a user
 * everywhere.
 *
 * Three counts keep memory alive, and each one's end leads to the next:
 *
 *   buffer->obj.ref   who may begin a use: the id, ioctls under way, user-space
 *                     mappings. At its end all mappings leave the list.
 *   mapping->ref      the list and each use. At its end the mapping is unmapped
 *                     and leaves its device.
 *   buffer->holds     the object as a whole and each mapping. At its end the
 *                     pages are given back and uncharged.
 *
 * Uses end in completions, where nothing of this may be done, so the last put
 * queues work; from there on everything happens at once, and that is why one
 * flush of the queue is enough to see all charges given back.
 *
 * When a device goes, each of its mappings is notified and queues a detach,
 * which takes the mapping off its buffer's list, so that the next use asks the
 * device anew and is told ENODEV. A detach holds a reference on its mapping, and
 * so the pages and the buffer; if there is no reference to be had, the mapping
 * is on its way out already. Whoever finds the mapping on the list under the
 * buffer's lock takes it off and drops the list's reference, detach or buffer.
 *
 * Lock order: buffer's lock, device's lock.
 */
#include <linux/highmem.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/dma-mapping.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "memory.h"

#define KVERBS_PIN_CHUNK	512UL	/* pages pinned or unpinned between reschedules */
#define KVERBS_ALLOC_ORDER	9	/* largest piece of an allocated buffer */

/* For arrays whose size user space decides: charged, and quiet when it fails. */
#define KVERBS_GFP_ARRAY	(GFP_KERNEL_ACCOUNT | __GFP_NOWARN)

/*
 * Pages of one buffer: their array fits kvmalloc(), and offsets fit the 40 bits
 * that the address of a registration has for them.
 */
#define KVERBS_MAX_PAGES	min_t(u64, INT_MAX / sizeof(struct page *), \
				      (1ULL << 40 >> PAGE_SHIFT) - 1)

static struct workqueue_struct *kverbs_free_wq;

/**
 * kverbs_memory_init() - make the queue that gives memory back
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOMEM.
 */
int kverbs_memory_init(void)
{
	kverbs_free_wq = alloc_workqueue("kverbs_free", WQ_UNBOUND, 0);
	return kverbs_free_wq ? 0 : -ENOMEM;
}

/**
 * kverbs_memory_exit() - the end; all buffers have been put
 *
 * Context: Process context, may sleep.
 */
void kverbs_memory_exit(void)
{
	destroy_workqueue(kverbs_free_wq);
}

/**
 * kverbs_memory_flush() - wait until all that was put is given back
 *
 * Pages and charges of buffers whose last references, and those of their
 * mappings, went before the call are given back when it returns. Only a device
 * that is being removed at the same time may take a little longer.
 *
 * Context: Process context, may sleep.
 */
void kverbs_memory_flush(void)
{
	flush_workqueue(kverbs_free_wq);
}

static int buffer_charge(struct kverbs_buffer *buf)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	struct user_struct *user = current_user();
	long old, new;

	if (capable(CAP_IPC_LOCK))
		limit = LONG_MAX;
	old = atomic_long_read(&user->locked_vm);
	do {
		new = old + buf->nr_pages;
		if (new > limit)
			return -ENOMEM;
	} while (!atomic_long_try_cmpxchg(&user->locked_vm, &old, new));
	buf->cred = get_current_cred();

	if (current->mm) {
		mmgrab(current->mm);
		buf->mm = current->mm;
		atomic64_add(buf->nr_pages, &buf->mm->pinned_vm);
	}
	return 0;
}

static void buffer_uncharge(struct kverbs_buffer *buf)
{
	if (buf->mm) {
		atomic64_sub(buf->nr_pages, &buf->mm->pinned_vm);
		mmdrop(buf->mm);
	}
	atomic_long_sub(buf->nr_pages, &buf->cred->user->locked_vm);
	put_cred(buf->cred);
}

/* Give the first @nr pages back. */
static void buffer_put_pages(struct kverbs_buffer *buf, unsigned long nr)
{
	unsigned long i, end;

	for (i = 0; i < nr; i = end) {
		end = min(i + KVERBS_PIN_CHUNK, nr);
		if (buf->pinned) {
			unpin_user_pages_dirty_lock(buf->page + i, end - i, buf->writable);
		} else {
			for (; i < end; i++)
				__free_page(buf->page[i]);
		}
		cond_resched();
	}
}

/* The end of a buffer of which @nr pages are there. */
static void buffer_free(struct kverbs_buffer *buf, unsigned long nr)
{
	buffer_put_pages(buf, nr);
	buffer_uncharge(buf);
	kvfree(buf->page);
	mutex_destroy(&buf->lock);
	kfree(buf);
}

static void buffer_drop_hold(struct kverbs_buffer *buf)
{
	if (refcount_dec_and_test(&buf->holds))
		buffer_free(buf, buf->nr_pages);
}

static void mapping_destroy(struct kref *ref);

static struct kverbs_mapping *buffer_pop_mapping(struct kverbs_buffer *buf)
{
	struct kverbs_mapping *map;

	mutex_lock(&buf->lock);
	map = list_first_entry_or_null(&buf->mappings, struct kverbs_mapping, list);
	if (map)
		list_del_init(&map->list);
	mutex_unlock(&buf->lock);
	return map;
}

static void buffer_work(struct work_struct *work)
{
	struct kverbs_buffer *buf = container_of(work, struct kverbs_buffer, work);
	struct kverbs_mapping *map;

	while ((map = buffer_pop_mapping(buf)))
		kref_put(&map->ref, mapping_destroy);
	buffer_drop_hold(buf);
}

static void buffer_release(struct kverbs_object *obj)
{
	queue_work(kverbs_free_wq, &kverbs_to_buffer(obj)->work);
}

/* A charged buffer without pages yet. */
static struct kverbs_buffer *buffer_create(u64 nr_pages, bool pinned)
{
	struct kverbs_buffer *buf;
	int ret = -ENOMEM;

	if (nr_pages > KVERBS_MAX_PAGES)
		return ERR_PTR(-ENOMEM);
	buf = kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);
	if (!buf)
		return ERR_PTR(-ENOMEM);
	buf->nr_pages = nr_pages;
	buf->pinned = pinned;
	ret = buffer_charge(buf);
	if (ret)
		goto err_free;
	buf->page = kvmalloc_array(nr_pages, sizeof(*buf->page), KVERBS_GFP_ARRAY);
	if (!buf->page)
		goto err_uncharge;

	kverbs_object_init(&buf->obj, KVERBS_BUFFER, buffer_release);
	refcount_set(&buf->holds, 1);
	mutex_init(&buf->lock);
	INIT_LIST_HEAD(&buf->mappings);
	INIT_WORK(&buf->work, buffer_work);
	return buf;

err_uncharge:
	ret = -ENOMEM;
	buffer_uncharge(buf);
err_free:
	kfree(buf);
	return ERR_PTR(ret);
}

static bool buffer_range_ok(u64 addr, u64 length)
{
	unsigned long start = untagged_addr((unsigned long)addr);

	if (addr != (unsigned long)addr || length != (unsigned long)length)
		return false;
	if (PAGE_ALIGN(start + length) < start)
		return false;
	return current->mm && access_ok((void __user *)start, length);
}

/* Other errors than these two mean that the memory is not fit to be pinned. */
static int buffer_pin_error(long ret)
{
	return ret == -ENOMEM || ret == -EINTR ? ret : -EFAULT;
}

/* Pin all pages from @start; *@nr says how many are pinned, on failure too. */
static int buffer_pin(struct kverbs_buffer *buf, unsigned long start, unsigned long *nr)
{
	unsigned int flags = buf->writable ? KVERBS_PIN_WRITE : KVERBS_PIN_READ;
	long got;

	for (*nr = 0; *nr < buf->nr_pages; *nr += got) {
		if (fatal_signal_pending(current))
			return -EINTR;
		got = pin_user_pages_fast(start + (*nr << PAGE_SHIFT),
					  min(buf->nr_pages - *nr, KVERBS_PIN_CHUNK),
					  flags, buf->page + *nr);
		if (got <= 0)
			return buffer_pin_error(got);
		cond_resched();
	}
	return 0;
}

/**
 * kverbs_buffer_register() - pin the caller's memory
 * @addr: user address, any alignment
 * @length: bytes
 * @writable: whether a peer may be allowed to write it
 *
 * Context: Process context of the memory's owner, may sleep.
 * Return: the buffer with one reference, or ERR_PTR: -EINVAL for length 0,
 * -EFAULT for memory that is not there, not accessible as asked or not fit to be
 * pinned for long, -ENOMEM for no memory or a spent budget, -EINTR when killed.
 */
struct kverbs_buffer *kverbs_buffer_register(u64 addr, u64 length, bool writable)
{
	u32 lead = offset_in_page(addr);
	struct kverbs_buffer *buf;
	unsigned long nr;
	int ret;

	if (!length)
		return ERR_PTR(-EINVAL);
	if (!buffer_range_ok(addr, length))
		return ERR_PTR(-EFAULT);
	buf = buffer_create(PAGE_ALIGN(lead + length) >> PAGE_SHIFT, true);
	if (IS_ERR(buf))
		return buf;
	buf->lead = lead;
	buf->length = length;
	buf->writable = writable;
	ret = buffer_pin(buf, addr - lead, &nr);
	if (ret) {
		buffer_free(buf, nr);
		return ERR_PTR(ret);
	}
	return buf;
}

/*
 * Allocate all pages; *@nr says how many are there, on failure too. Large pieces
 * make few extents but are not worth any effort; single pages are, short of
 * killing anyone.
 */
static int buffer_fill(struct kverbs_buffer *buf, int node, unsigned long *nr)
{
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN;
	unsigned int i, order = KVERBS_ALLOC_ORDER;
	struct page *page;

	for (*nr = 0; *nr < buf->nr_pages;) {
		if (fatal_signal_pending(current))
			return -EINTR;
		order = min_t(unsigned int, order, ilog2(buf->nr_pages - *nr));
		page = alloc_pages_node(node, gfp | (order ? __GFP_NORETRY : __GFP_RETRY_MAYFAIL),
					order);
		if (!page && !order)
			return -ENOMEM;
		if (!page) {
			order--;
			continue;
		}
		split_page(page, order);
		for (i = 0; i < 1U << order; i++)
			buf->page[(*nr)++] = page + i;
		cond_resched();
	}
	return 0;
}

/**
 * kverbs_buffer_alloc() - allocate kernel pages that user space can map
 * @length: bytes, rounded up to whole pages; the pages are zeroed
 * @node: NUMA node to prefer, NUMA_NO_NODE for any
 *
 * Context: Process context, may sleep.
 * Return: a writable buffer with one reference, or ERR_PTR: -EINVAL for length 0
 * or a node that is not there, -ENOMEM for no memory or a spent budget, -EINTR
 * when killed.
 */
struct kverbs_buffer *kverbs_buffer_alloc(u64 length, int node)
{
	u64 nr_pages = (length >> PAGE_SHIFT) + !!offset_in_page(length);
	struct kverbs_buffer *buf;
	unsigned long nr;
	int ret;

	if (!length)
		return ERR_PTR(-EINVAL);
	if (node != NUMA_NO_NODE && (node < 0 || node >= MAX_NUMNODES || !node_online(node)))
		return ERR_PTR(-EINVAL);
	if (nr_pages > totalram_pages())
		return ERR_PTR(-ENOMEM);
	buf = buffer_create(nr_pages, false);
	if (IS_ERR(buf))
		return buf;
	buf->length = nr_pages << PAGE_SHIFT;
	buf->writable = true;
	ret = buffer_fill(buf, node, &nr);
	if (ret) {
		buffer_free(buf, nr);
		return ERR_PTR(ret);
	}
	return buf;
}

/**
 * kverbs_buffer_copy() - read bytes of a buffer
 * @buf: the buffer; the caller holds a reference
 * @offset: in the buffer; the range lies within it
 * @to: where to
 * @length: bytes
 *
 * Context: Process context.
 */
void kverbs_buffer_copy(const struct kverbs_buffer *buf, u64 offset, void *to, u32 length)
{
	u64 at = buf->lead + offset;
	u32 size;

	for (; length; length -= size) {
		size = min_t(u32, length, PAGE_SIZE - offset_in_page(at));
		memcpy_from_page(to, buf->page[at >> PAGE_SHIFT], offset_in_page(at), size);
		to += size;
		at += size;
	}
}

static void buffer_vma_open(struct vm_area_struct *vma)
{
	struct kverbs_buffer *buf = vma->vm_private_data;

	kverbs_object_get(&buf->obj);
}

static void buffer_vma_close(struct vm_area_struct *vma)
{
	struct kverbs_buffer *buf = vma->vm_private_data;

	kverbs_object_put(&buf->obj);
}

static const struct vm_operations_struct buffer_vm_ops = {
	.open = buffer_vma_open,
	.close = buffer_vma_close,
};

/**
 * kverbs_buffer_mmap() - map an allocated buffer, or its beginning
 * @buf: the buffer; the mapping holds a reference until it is unmapped
 * @vma: from mmap(); its offset has done its duty and is not looked at
 *
 * Context: Process context, mmap lock held for writing.
 * Return: 0, -EINVAL for a registered buffer, a private mapping or one that is
 * too large, -ENOMEM.
 */
int kverbs_buffer_mmap(struct kverbs_buffer *buf, struct vm_area_struct *vma)
{
	unsigned long nr = vma_pages(vma);
	int ret;

	if (buf->pinned || !(vma->vm_flags & VM_SHARED) || nr > buf->nr_pages)
		return -EINVAL;
	kverbs_vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	ret = vm_insert_pages(vma, vma->vm_start, buf->page, &nr);
	if (ret)
		return ret;
	/* Last: close() is not called for a vma whose mmap() failed. */
	kverbs_object_get(&buf->obj);
	vma->vm_private_data = buf;
	vma->vm_ops = &buffer_vm_ops;
	return 0;
}

static bool mapping_needs_sync(struct kverbs_mapping *map, struct ib_device *ib)
{
	u32 i;

	if (ib_uses_virt_dma(ib))
		return false;
	for (i = 0; i < map->source.nr; i++) {
		if (dma_need_sync(ib->dma_device, map->source.extent[i].addr))
			return true;
	}
	return false;
}

/* Write the DMA addresses down as extents. */
static int mapping_extents(struct kverbs_mapping *map)
{
	struct kverbs_extent *extent;
	struct scatterlist *sg;
	u64 offset = 0;
	int i;

	extent = kvmalloc_array(map->sgt.nents, sizeof(*extent), KVERBS_GFP_ARRAY);
	if (!extent)
		return -ENOMEM;
	for_each_sgtable_dma_sg(&map->sgt, sg, i) {
		extent[i] = (struct kverbs_extent) {
			.addr = sg_dma_address(sg),
			.offset = offset,
			.length = sg_dma_len(sg),
		};
		offset += extent[i].length;
	}
	map->source.extent = extent;
	map->source.nr = map->sgt.nents;
	return 0;
}

static int mapping_map(struct kverbs_mapping *map, struct ib_device *ib)
{
	struct kverbs_buffer *buf = map->buf;
	int ret;

	ret = sg_alloc_table_from_pages_segment(&map->sgt, buf->page, buf->nr_pages, buf->lead,
						buf->length, ib_dma_max_seg_size(ib),
						KVERBS_GFP_ARRAY);
	if (ret)
		return ret;
	/* Whatever the IOMMU or bounce buffers say, they have no room for it. */
	ret = ib_dma_map_sgtable_attrs(ib, &map->sgt, map->dir, 0) ? -ENOMEM : 0;
	if (ret)
		goto err_table;
	ret = mapping_extents(map);
	if (ret)
		goto err_unmap;
	map->need_sync = mapping_needs_sync(map, ib);
	return 0;

err_unmap:
	ib_dma_unmap_sgtable_attrs(ib, &map->sgt, map->dir, 0);
err_table:
	sg_free_table(&map->sgt);
	return ret;
}

static void mapping_unmap(struct kverbs_mapping *map, struct ib_device *ib)
{
	kvfree(map->source.extent);
	ib_dma_unmap_sgtable_attrs(ib, &map->sgt, map->dir, 0);
	sg_free_table(&map->sgt);
}

/* Last reference, process context. A notify until we left finds no reference. */
static void mapping_destroy(struct kref *ref)
{
	struct kverbs_mapping *map = container_of(ref, struct kverbs_mapping, ref);
	struct kverbs_buffer *buf = map->buf;

	mapping_unmap(map, map->user.dev->ib);
	kverbs_dev_leave(&map->user);
	kfree(map);
	buffer_drop_hold(buf);
}

static void mapping_work(struct work_struct *work)
{
	struct kverbs_mapping *map = container_of(work, struct kverbs_mapping, work);

	mapping_destroy(&map->ref);
}

static void mapping_detach(struct work_struct *work)
{
	struct kverbs_mapping *map = container_of(work, struct kverbs_mapping, detach);
	bool listed;

	mutex_lock(&map->buf->lock);
	listed = !list_empty(&map->list);
	list_del_init(&map->list);
	mutex_unlock(&map->buf->lock);
	if (listed)
		kref_put(&map->ref, mapping_destroy);
	kref_put(&map->ref, mapping_destroy);
}

static void mapping_notify(struct kverbs_dev_user *user)
{
	struct kverbs_mapping *map = container_of(user, struct kverbs_mapping, user);

	if (kref_get_unless_zero(&map->ref))
		queue_work(kverbs_free_wq, &map->detach);
}

static struct kverbs_mapping *mapping_find(struct kverbs_buffer *buf, struct kverbs_dev *dev)
{
	struct kverbs_mapping *map;

	lockdep_assert_held(&buf->lock);
	list_for_each_entry(map, &buf->mappings, list) {
		if (map->user.dev == dev) {
			kref_get(&map->ref);
			return map;
		}
	}
	return NULL;
}

static struct kverbs_mapping *mapping_create(struct kverbs_buffer *buf, struct kverbs_dev *dev)
{
	struct kverbs_mapping *map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	int ret;

	lockdep_assert_held(&buf->lock);
	if (!map)
		return ERR_PTR(-ENOMEM);
	kref_init(&map->ref);
	map->buf = buf;
	map->dir = buf->writable ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	INIT_LIST_HEAD(&map->list);
	INIT_WORK(&map->detach, mapping_detach);
	INIT_WORK(&map->work, mapping_work);
	ret = mapping_map(map, dev->ib);
	if (ret)
		goto err_free;
	/* A detach may be queued from here on; it waits for the buffer's lock. */
	ret = kverbs_dev_join(dev, &map->user, mapping_notify);
	if (ret)
		goto err_unmap;
	refcount_inc(&buf->holds);
	kref_get(&map->ref);
	list_add(&map->list, &buf->mappings);
	return map;

err_unmap:
	mapping_unmap(map, dev->ib);
err_free:
	kfree(map);
	return ERR_PTR(ret);
}

/**
 * kverbs_mapping_get() - begin a use of a buffer on a device
 * @buf: the buffer; the caller holds a reference, and may drop it when this has
 *	returned: the mapping keeps the pages
 * @dev: the device; the caller holds a reference
 *
 * The first use on a device maps the buffer there, whole.
 *
 * Context: Process context, may sleep.
 * Return: the mapping with a reference for the caller, or ERR_PTR: -ENODEV when
 * the device is going, -ENOMEM also when the device cannot map so much.
 */
struct kverbs_mapping *kverbs_mapping_get(struct kverbs_buffer *buf, struct kverbs_dev *dev)
{
	struct kverbs_mapping *map;

	mutex_lock(&buf->lock);
	map = mapping_find(buf, dev);
	if (!map)
		map = mapping_create(buf, dev);
	mutex_unlock(&buf->lock);
	return map;
}

/**
 * kverbs_mapping_hold() - one more use of a mapping that is in use
 * @map: the mapping; the caller holds a reference
 *
 * Context: Any.
 */
void kverbs_mapping_hold(struct kverbs_mapping *map)
{
	kref_get(&map->ref);
}

static void mapping_queue(struct kref *ref)
{
	struct kverbs_mapping *map = container_of(ref, struct kverbs_mapping, ref);

	queue_work(kverbs_free_wq, &map->work);
}

/**
 * kverbs_mapping_put() - end a use: the device does not touch it any more
 * @map: the mapping
 *
 * Context: Any but hard interrupt.
 */
void kverbs_mapping_put(struct kverbs_mapping *map)
{
	kref_put(&map->ref, mapping_queue);
}

static void mapping_sync(struct kverbs_mapping *map, u64 offset, u64 length,
			 void (*sync)(struct ib_device *ib, u64 addr, size_t size,
				      enum dma_data_direction dir))
{
	struct ib_device *ib = map->user.dev->ib;
	const struct kverbs_extent *extent;
	struct kverbs_slice at;
	u32 size;

	kverbs_slice_init(&at, &map->source, offset, NULL, 0, length);
	for (; at.left; at.left -= size) {
		extent = &map->source.extent[at.extent++];
		size = min_t(u64, at.left, extent->length - at.skip);
		sync(ib, extent->addr + at.skip, size, map->dir);
		at.skip = 0;
	}
}

/**
 * kverbs_mapping_sync_for_device() - before the device reads what the CPU wrote
 * @map: the mapping; the caller holds a reference
 * @offset: in the buffer
 * @length: bytes
 *
 * Nothing happens where the device sees the CPU's writes by itself.
 *
 * Context: Any.
 */
void kverbs_mapping_sync_for_device(struct kverbs_mapping *map, u64 offset, u64 length)
{
	if (map->need_sync)
		mapping_sync(map, offset, length, ib_dma_sync_single_for_device);
}

/**
 * kverbs_mapping_sync_for_cpu() - before the CPU reads what the device wrote
 * @map: the mapping; the caller holds a reference
 * @offset: in the buffer
 * @length: bytes
 *
 * Nothing happens where the CPU sees the device's writes by itself.
 *
 * Context: Any.
 */
void kverbs_mapping_sync_for_cpu(struct kverbs_mapping *map, u64 offset, u64 length)
{
	if (map->need_sync)
		mapping_sync(map, offset, length, ib_dma_sync_single_for_cpu);
}
