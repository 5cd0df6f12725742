// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slots: one per work request on the send queue.
 *
 * The life of a slot: taken for a work request; told whether that is signaled;
 * then either popped, oldest first, when it or a later signaled one completes
 * or when the drained queue is walked, or taken back, newest first, when the
 * device did not accept it.
 *
 * A queue full of unsignaled work requests would never complete anything again.
 * So one in every half queue is signaled, even if nobody wants to know.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include "slots.h"

static u32 slots_before(const struct kverbs_slots *s, u32 index)
{
	return (index ?: s->size) - 1;
}

/**
 * kverbs_slots_init() - make a ring
 * @s: the ring; kverbs_slots_fini() frees it
 * @limit: most slots of each class at once, not all 0
 * @signal_all: every work request is signaled
 *
 * Context: Process context; may sleep.
 * Return: 0; -EINVAL for limits that make no ring; -ENOMEM.
 */
int kverbs_slots_init(struct kverbs_slots *s, const u32 limit[KVERBS_SLOT_CLASSES],
		      bool signal_all)
{
	int class;

	*s = (struct kverbs_slots) {};
	for (class = 0; class < KVERBS_SLOT_CLASSES; class++) {
		s->limit[class] = limit[class];
		if (check_add_overflow(s->size, limit[class], &s->size))
			return -EINVAL;
	}
	if (!s->size)
		return -EINVAL;
	s->interval = signal_all ? 1 : max_t(u32, 1, s->size / 2);
	s->slot = kvcalloc(s->size, sizeof(*s->slot), GFP_KERNEL_ACCOUNT);
	return s->slot ? 0 : -ENOMEM;
}

/**
 * kverbs_slots_fini() - free the ring
 * @s: a ring, or all zero
 *
 * Context: Process context; may sleep.
 */
void kverbs_slots_fini(struct kverbs_slots *s)
{
	kvfree(s->slot);
	s->slot = NULL;
}

/* Count the newest slots up to, and without, the last signaled one. */
static u32 slots_trailing(const struct kverbs_slots *s)
{
	u32 index = s->head;
	u32 nr;

	for (nr = 0; nr < s->outstanding; nr++) {
		index = slots_before(s, index);
		if (s->slot[index].signaled)
			break;
	}
	return nr;
}

/**
 * kverbs_slots_untake() - take the newest slots back
 * @s: the ring
 * @nr: how many, at most what is outstanding
 *
 * For work requests that were not posted after all. A signaled one among them
 * would have reported for those before it, which now count as unsignaled again.
 *
 * Context: Any; the owner of the send queue serialises.
 */
void kverbs_slots_untake(struct kverbs_slots *s, u32 nr)
{
	while (nr--) {
		s->head = slots_before(s, s->head);
		s->used[s->slot[s->head].class]--;
		s->outstanding--;
	}
	s->unsignaled = slots_trailing(s);
}
