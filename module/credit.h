/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Credits: who may send how many messages.
 *
 * Every message takes one receive at the other end. There are two classes, each
 * with a pool of receives of its own: *control* receives are given back by the
 * kernel at once, *data* receives when the program has taken the event. So a
 * slow program slows its writers, and control messages always pass.
 *
 * Both directions of a class are absolute 32-bit counters that wrap: the sender
 * counts what it sent, the receiver what it gave back, and the receiver tells
 * its counter in the header of every message. Losing or repeating an
 * announcement does no harm.
 *
 * Nothing here locks: the owner of the send queue does.
 */
#ifndef KVERBS_CREDIT_H
#define KVERBS_CREDIT_H

#include <linux/types.h>

/**
 * enum kverbs_credit_class - whose receive a message takes
 * @KVERBS_CREDIT_CONTROL: given back by the kernel at once
 * @KVERBS_CREDIT_DATA: given back when the program has taken the event
 * @KVERBS_CREDITS: how many classes there are
 */
enum kverbs_credit_class {
	KVERBS_CREDIT_CONTROL,
	KVERBS_CREDIT_DATA,
	KVERBS_CREDITS,
};

/**
 * struct kverbs_credit - one class, both directions
 * @tx_pool: receives that the peer keeps for us
 * @sent: messages we sent
 * @tx_returned: receives the peer said it gave back
 * @rx_pool: receives that we keep for the peer
 * @received: messages we received
 * @returned: receives we gave back
 * @announced: the value of @returned last told to the peer
 */
struct kverbs_credit {
	u32 tx_pool;
	u32 sent;
	u32 tx_returned;
	u32 rx_pool;
	u32 received;
	u32 returned;
	u32 announced;
};

void kverbs_credit_init(struct kverbs_credit *c, u32 tx_pool, u32 rx_pool);
u32 kverbs_credit_room(const struct kverbs_credit *c);
void kverbs_credit_take(struct kverbs_credit *c);
int kverbs_credit_update(struct kverbs_credit *c, u32 returned);
int kverbs_credit_receive(struct kverbs_credit *c);
void kverbs_credit_return(struct kverbs_credit *c);
bool kverbs_credit_owed(const struct kverbs_credit *c);
bool kverbs_credit_due(const struct kverbs_credit *c);
u32 kverbs_credit_announce(struct kverbs_credit *c);

#endif /* KVERBS_CREDIT_H */
