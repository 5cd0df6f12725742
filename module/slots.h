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
 * Where everything is signaled, completions need not come in order: siw tells of
 * a write when it is sent, and of a read before it when the answer has come. A
 * slot whose completion came early waits for those before it.
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
 * @done: it has had it
 * @status: enum ib_wc_status of that
 * @vendor_err: the device's own code beside it
 */
struct kverbs_slot {
	struct kverbs_slot_owner *owner;
	u8 class;
	bool signaled;
	bool done;
	u8 status;
	u32 vendor_err;
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
void kverbs_slots_untake(struct kverbs_slots *s, u32 nr);

static inline u32 kverbs_slots_after(const struct kverbs_slots *s, u32 index)
{
	return index + 1 == s->size ? 0 : index + 1;
}

/**
 * kverbs_slots_room() - how many slots can be taken now
 * @s: the ring
 * @class: for what
 *
 * Context: Any; the owner of the send queue serialises.
 * Return: Free slots of the class.
 */
static inline u32 kverbs_slots_room(const struct kverbs_slots *s, enum kverbs_slot_class class)
{
	return s->limit[class] - s->used[class];
}

/**
 * kverbs_slots_take() - take the next slot
 * @s: the ring, with room for the class
 * @class: for what
 * @owner: who is told when it is reclaimed
 *
 * Context: Any; the owner of the send queue serialises.
 * Return: Its position in the ring, 0 to @size - 1.
 */
static inline u32 kverbs_slots_take(struct kverbs_slots *s, enum kverbs_slot_class class,
				    struct kverbs_slot_owner *owner)
{
	u32 index = s->head;

	s->slot[index] = (struct kverbs_slot) { .owner = owner, .class = class };
	s->head = kverbs_slots_after(s, index);
	s->used[class]++;
	s->outstanding++;
	return index;
}

/**
 * kverbs_slots_signal() - decide whether a work request is signaled
 * @s: the ring
 * @index: the slot, asked once for each, in the order they were taken
 * @force: signaled in any case
 *
 * Context: Any; the owner of the send queue serialises.
 * Return: true when it must be posted with IB_SEND_SIGNALED.
 */
static inline bool kverbs_slots_signal(struct kverbs_slots *s, u32 index, bool force)
{
	if (likely(!force && ++s->unsignaled < s->interval))
		return false;
	s->slot[index].signaled = true;
	s->unsignaled = 0;
	return true;
}

/**
 * kverbs_slots_outstanding() - how many slots are taken
 * @s: the ring
 *
 * Context: Any; the owner of the send queue serialises.
 * Return: Slots of all classes taken and not yet popped or taken back.
 */
static inline u32 kverbs_slots_outstanding(const struct kverbs_slots *s)
{
	return s->outstanding;
}

/**
 * kverbs_slots_holds() - is this slot taken?
 * @s: the ring
 * @index: position in the ring, any number
 *
 * Context: Any; the owner of the send queue serialises.
 * Return: true when it is outstanding.
 */
static inline bool kverbs_slots_holds(const struct kverbs_slots *s, u32 index)
{
	u32 age;

	if (index >= s->size)
		return false;
	age = index >= s->tail ? index - s->tail : index + (s->size - s->tail);
	return age < s->outstanding;
}

/**
 * kverbs_slots_due() - can the oldest slot be reclaimed?
 * @s: the ring
 * @index: the slot that has just been done
 *
 * A slot that is done can, when it is the oldest. So can an unsignaled one before
 * @index: the queue has passed it.
 *
 * Context: Any; the owner of the send queue serialises.
 * Return: true until there is nothing left to reclaim for now.
 */
static inline bool kverbs_slots_due(const struct kverbs_slots *s, u32 index)
{
	const struct kverbs_slot *slot = &s->slot[s->tail];

	if (!s->outstanding)
		return false;
	return slot->done || (!slot->signaled && kverbs_slots_holds(s, index));
}

/**
 * kverbs_slots_pop() - reclaim the oldest slot
 * @s: the ring
 *
 * Context: Any; the owner of the send queue serialises.
 * Return: The slot, whose content stays until its position is taken again;
 * NULL when none is outstanding.
 */
static inline struct kverbs_slot *kverbs_slots_pop(struct kverbs_slots *s)
{
	struct kverbs_slot *slot = &s->slot[s->tail];

	if (!s->outstanding)
		return NULL;
	s->tail = kverbs_slots_after(s, s->tail);
	s->used[slot->class]--;
	s->outstanding--;
	return slot;
}

#endif /* KVERBS_SLOTS_H */
