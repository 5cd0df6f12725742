// SPDX-License-Identifier: GPL-2.0-only
/*
 * Credits: who may send how many messages.
 *
 * The counters are absolute and wrap, so only differences mean something, and
 * these are small: never more than a pool. A peer's number is believed only
 * when the difference it makes is possible.
 *
 * Why two ends that follow these rules never wait for each other: an ordinary
 * message leaves one receive of the control class unused, kept for a bare
 * CREDIT message, and the last one is spent only on a CREDIT that gives control
 * receives back (see kverbs_credit_due()). Suppose that nothing is under way
 * and both ends have no room. Then each end's last message was such a CREDIT,
 * and it gave nothing back that counted: the other end had already known the
 * number when it sent its own last message. But the number was new in that
 * CREDIT, so each CREDIT arrived before the other one was sent, which cannot
 * be. And if only one end has no room, the other owes it a whole pool and may
 * say so.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include "credit.h"

/**
 * kverbs_credit_init() - start counting
 * @c: one class
 * @tx_pool: receives that the peer's hello grants us
 * @rx_pool: receives that our hello grants the peer
 *
 * Context: Any.
 */
void kverbs_credit_init(struct kverbs_credit *c, u32 tx_pool, u32 rx_pool)
{
	*c = (struct kverbs_credit) { .tx_pool = tx_pool, .rx_pool = rx_pool };
}

/**
 * kverbs_credit_room() - how many messages may be sent now
 * @c: one class
 *
 * Context: Any; the owner of the send queue serialises.
 * Return: Receives at the peer that are known to be free.
 */
u32 kverbs_credit_room(const struct kverbs_credit *c)
{
	return c->tx_pool - (c->sent - c->tx_returned);
}

/**
 * kverbs_credit_take() - count a message as sent
 * @c: one class, with room
 *
 * Context: Any; the owner of the send queue serialises.
 */
void kverbs_credit_take(struct kverbs_credit *c)
{
	c->sent++;
}

/**
 * kverbs_credit_update() - hear the peer's counter
 * @c: one class
 * @returned: receives that the peer says it gave back since the start
 *
 * Context: Any; the owner of the send queue serialises.
 * Return: 0; -EPROTO when the peer goes back on its word or gives back more
 * than was sent: nothing is changed then.
 */
int kverbs_credit_update(struct kverbs_credit *c, u32 returned)
{
	if (returned - c->tx_returned > c->sent - c->tx_returned)
		return -EPROTO;
	c->tx_returned = returned;
	return 0;
}

/**
 * kverbs_credit_receive() - count a message as received
 * @c: one class
 *
 * The peer may use what it was told to be free, so the measure is @announced:
 * what was given back without telling is not the peer's yet.
 *
 * Context: Any; the owner of the send queue serialises.
 * Return: 0; -EPROTO when the peer had no credit for it.
 */
int kverbs_credit_receive(struct kverbs_credit *c)
{
	if (c->received - c->announced >= c->rx_pool)
		return -EPROTO;
	c->received++;
	return 0;
}

/**
 * kverbs_credit_return() - give one receive back
 * @c: one class; at most once per message received
 *
 * Context: Any; the owner of the send queue serialises.
 */
void kverbs_credit_return(struct kverbs_credit *c)
{
	c->returned++;
}

/**
 * kverbs_credit_owed() - is it time to tell the peer?
 * @c: one class
 *
 * At half a pool: seldom enough that updates do not answer updates for ever,
 * as a control pool has four receives or more; early enough that the peer still
 * has the other half.
 *
 * Context: Any; the owner of the send queue serialises.
 * Return: true when the peer should be told, by whatever message comes next
 * or, if none does, by one of its own.
 */
bool kverbs_credit_owed(const struct kverbs_credit *c)
{
	return c->returned - c->announced >= max_t(u32, 1, c->rx_pool / 2);
}

/**
 * kverbs_credit_due() - may a bare CREDIT message be sent, and should it?
 * @c: both classes, indexed by enum kverbs_credit_class
 *
 * The last receive at the peer is spent only on giving control receives back;
 * data receives alone wait until there are two.
 *
 * Context: Any; the owner of the send queue serialises.
 * Return: true when a CREDIT should go if nothing else can carry the counters.
 */
bool kverbs_credit_due(const struct kverbs_credit *c)
{
	const struct kverbs_credit *control = &c[KVERBS_CREDIT_CONTROL];
	u32 room = kverbs_credit_room(control);

	if (kverbs_credit_owed(control))
		return room >= 1;
	return kverbs_credit_owed(&c[KVERBS_CREDIT_DATA]) && room >= 2;
}

/**
 * kverbs_credit_announce() - the number to put into the next message
 * @c: one class
 *
 * Context: Any; the owner of the send queue serialises.
 * Return: Receives given back since the start; counted as told.
 */
u32 kverbs_credit_announce(struct kverbs_credit *c)
{
	c->announced = c->returned;
	return c->announced;
}
