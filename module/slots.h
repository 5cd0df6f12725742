/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Slots: one per work request on the send queue.
 *
 * A send queue is a ring. Every work request that is posted, signaled or not,
 * holds one slot from before it is posted until it is reclaimed, and slots are
 * reclaimed strictly in the order of posting: a completion for one slot
 * reclaims all the unsignaled ones before it (an RC send queue completes in
 * order, IBTA vol. 1, 10.8.5), and after a drain what is left is walked. Each
 * slot is counted once when it is taken and once when it is popped or taken
 * back, never by completion.
 *
 * Slots come in classes with a limit each, so that bulk data never takes the
 * place of a control message. Every class shares the one ring.
 *
 * Nothing here locks and nothing here knows a device: the owner of the send
 * queue does.
 */
#ifndef KVERBS_SLOTS_H
#define KVERBS_SLOTS_H

#include <linux/types.h>

/**
 * enum kverbs_slot_class - what a slot is taken for
 * @KVERBS_SLOT_DATA: user writes
 * @KVERBS_SLOT_REG: registrations
 * @KVERBS_SLOT_CONTROL: control messages
 * @KVERBS_SLOT_CLASSES: how many classes there are
 */
enum kverbs_slot_class {
	KVERBS_SLOT_DATA,
	KVERBS_SLOT_REG,
	KVERBS_SLOT_CONTROL,
	KVERBS_SLOT_CLASSES,
};

struct kverbs_slot_owner;

/**
 * struct kverbs_slot - one work request
 * @owner: who is told when it is reclaimed
 * @class: enum kverbs_slot_class
 * @signaled: it will have a completion of its own even if it succeeds
 */
struct kverbs_slot {
	struct kverbs_slot_owner *owner;
	u8 class;
	bool signaled;
};

/**
 * struct kverbs_slots - the ring
 * @slot: @size of them
 * @size: sum of the limits
 * @head: position of the slot that is taken next
 * @tail: position of the oldest slot outstanding
 * @outstanding: slots from @tail on that are taken
 * @unsignaled: slots taken since the last signaled one, or more
 * @interval: at the latest every so many slots one is signaled
 * @limit: most slots of each class at once
 * @used: slots of each class now
 */
struct kverbs_slots {
	struct kverbs_slot *slot;
	u32 size;
	u32 head;
	u32 tail;
	u32 outstanding;
	u32 unsignaled;
	u32 interval;
	u32 limit[KVERBS_SLOT_CLASSES];
	u32 used[KVERBS_SLOT_CLASSES];
};

int kverbs_slots_init(struct kverbs_slots *s, const u32 limit[KVERBS_SLOT_CLASSES],
		      bool signal_all);
void kverbs_slots_fini(struct kverbs_slots *s);
u32 kverbs_slots_room(const struct kverbs_slots *s, enum kverbs_slot_class class);
u32 kverbs_slots_take(struct kverbs_slots *s, enum kverbs_slot_class class,
		      struct kverbs_slot_owner *owner);
bool kverbs_slots_signal(struct kverbs_slots *s, u32 index, bool force);
void kverbs_slots_untake(struct kverbs_slots *s, u32 nr);
u32 kverbs_slots_outstanding(const struct kverbs_slots *s);
bool kverbs_slots_holds(const struct kverbs_slots *s, u32 index);
struct kverbs_slot *kverbs_slots_pop(struct kverbs_slots *s);

#endif /* KVERBS_SLOTS_H */
