// SPDX-License-Identifier: GPL-2.0-only
/*
 * The bytes that two kverbs ends exchange.
 *
 * wire.h shows every layout; the structs below are the same, for the compiler.
 * They are packed, which makes them readable at any address, and a field is
 * read only after the length has been checked to reach beyond it.
 *
 * A decoded message is canonical: encoding it again gives the bytes it came
 * from. So whatever is not understood (a flag, a reserved field, a length that
 * does not fit the type) is malformed, and a later version that wants to say
 * more has new message types for it.
 */
#include <asm/byteorder.h>
#include <linux/align.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/string.h>
#include <linux/kverbs.h>
#include "wire.h"

/* What an id with an IP address leaves to its consumer (cma.c): 92 - 36 bytes. */
static_assert(KVERBS_WIRE_HELLO <= KVERBS_WIRE_HELLO_MAX);

#define WIRE_MIN_CONTROL	4	/* fewer control credits can dead-lock */
#define WIRE_MIN_DATA		1
#define WIRE_RIGHTS		(KVERBS_RIGHT_WRITE | KVERBS_RIGHT_READ | KVERBS_RIGHT_ATOMIC)
#define WIRE_HELLO_FIXED	8	/* same in every version, from the start */

struct wire_hello {
	__be32 magic;
	u8 major;
	u8 minor;
	__be16 length;
	__be16 control;
	__be16 data;
	__be32 features;
	u8 nonce[16];
	__be32 reserved;
} __packed;
static_assert(sizeof(struct wire_hello) == KVERBS_WIRE_HELLO);

struct wire_refusal {
	__be32 magic;
	__be32 reason;
} __packed;
static_assert(sizeof(struct wire_refusal) == KVERBS_WIRE_REFUSAL);

struct wire_header {
	u8 type;
	u8 flags;
	__be16 length;
	__be32 control;
	__be32 data;
	__be32 reserved;
} __packed;
static_assert(sizeof(struct wire_header) == KVERBS_WIRE_HEADER);

struct wire_region {
	__be32 region;
	__be32 rights;
	__be64 length;
	__be64 tag;
	__be64 addr;
	__be64 span;
	__be32 lead;
	__be32 keys;
	__be32 first;
	__be32 count;
} __packed;
static_assert(sizeof(struct wire_region) == KVERBS_WIRE_REGION);

struct wire_done {
	__be64 seq;
	__be64 offset;
	__be64 length;
	__be64 tag;
	__be32 region;
	__be32 reserved;
} __packed;

struct wire_delivered {
	__be64 seq;
} __packed;

struct wire_consumed {
	__be64 consumed;
	__be64 persisted;
} __packed;

struct wire_message {
	__be64 seq;
	__be64 tag;
} __packed;
static_assert(sizeof(struct wire_message) == KVERBS_WIRE_MESSAGE);
static_assert(KVERBS_WIRE_HEADER + KVERBS_WIRE_MESSAGE + KVERBS_MESSAGE_MAX <= KVERBS_WIRE_SLOT);

struct wire_goodbye {
	__be32 error;
	__be32 reserved;
} __packed;

/**
 * kverbs_wire_put_hello() - encode a hello
 * @hello: what to say
 * @buf: KVERBS_WIRE_HELLO bytes
 *
 * Context: Any.
 */
void kverbs_wire_put_hello(const struct kverbs_hello *hello, void *buf)
{
	struct wire_hello *w = buf;

	memset(w, 0, sizeof(*w));
	w->magic = cpu_to_be32(KVERBS_WIRE_MAGIC);
	w->major = hello->major;
	w->minor = hello->minor;
	w->length = cpu_to_be16(sizeof(*w));
	w->control = cpu_to_be16(hello->control);
	w->data = cpu_to_be16(hello->data);
}

/**
 * kverbs_wire_get_hello() - decode a hello
 * @hello: result, undefined on failure
 * @buf: private data of a connection manager event, NULL when there was none
 * @len: its length; more than the hello when the transport pads
 *
 * What follows the fields of this version is ignored: a later minor version
 * may have made the hello longer. Another major version may have changed
 * everything behind the length field, so nothing behind it is looked at.
 *
 * Context: Any.
 * Return: 0; -EPROTO when this is not a valid hello; -EPROTONOSUPPORT when it
 * is one of another major version.
 */
int kverbs_wire_get_hello(struct kverbs_hello *hello, const void *buf, u32 len)
{
	const struct wire_hello *w = buf;
	u32 length;

	if (!buf || len < WIRE_HELLO_FIXED)
		return -EPROTO;
	if (w->magic != cpu_to_be32(KVERBS_WIRE_MAGIC))
		return -EPROTO;
	if (w->major != KVERBS_WIRE_MAJOR)
		return -EPROTONOSUPPORT;
	length = be16_to_cpu(w->length);
	if (length < sizeof(*w) || length > len)
		return -EPROTO;
	hello->major = w->major;
	hello->minor = w->minor;
	hello->control = be16_to_cpu(w->control);
	hello->data = be16_to_cpu(w->data);
	if (hello->control < WIRE_MIN_CONTROL || hello->data < WIRE_MIN_DATA)
		return -EPROTO;
	return 0;
}

/**
 * kverbs_wire_put_refusal() - encode why a connection is refused
 * @reason: enum kverbs_reject
 * @buf: KVERBS_WIRE_REFUSAL bytes
 *
 * Context: Any.
 */
void kverbs_wire_put_refusal(u32 reason, void *buf)
{
	struct wire_refusal *w = buf;

	w->magic = cpu_to_be32(KVERBS_WIRE_MAGIC);
	w->reason = cpu_to_be32(reason);
}

/**
 * kverbs_wire_get_refusal() - decode why a connection was refused
 * @buf: private data of the reject, NULL when there was none
 * @len: its length
 *
 * Context: Any.
 * Return: enum kverbs_reject; KVERBS_REJECT_NONE when the reject carries no
 * reason of ours, or one that this version does not know.
 */
u32 kverbs_wire_get_refusal(const void *buf, u32 len)
{
	const struct wire_refusal *w = buf;
	u32 reason;

	if (!buf || len < sizeof(*w))
		return KVERBS_REJECT_NONE;
	if (w->magic != cpu_to_be32(KVERBS_WIRE_MAGIC))
		return KVERBS_REJECT_NONE;
	reason = be32_to_cpu(w->reason);
	return reason <= KVERBS_REJECT_RESOURCES ? reason : KVERBS_REJECT_NONE;
}

static u32 put_region(const struct kverbs_msg_region *m, void *body)
{
	struct wire_region *w = body;
	u32 keys = m->count * sizeof(*m->key);

	w->region = cpu_to_be32(m->region);
	w->rights = cpu_to_be32(m->rights);
	w->length = cpu_to_be64(m->length);
	w->tag = cpu_to_be64(m->tag);
	w->addr = cpu_to_be64(m->addr);
	w->span = cpu_to_be64(m->span);
	w->lead = cpu_to_be32(m->lead);
	w->keys = cpu_to_be32(m->keys);
	w->first = cpu_to_be32(m->first);
	w->count = cpu_to_be32(m->count);
	memcpy(body + sizeof(*w), m->key, keys);
	return sizeof(*w) + keys;
}

static u32 put_done(const struct kverbs_msg_done *m, void *body)
{
	struct wire_done *w = body;

	w->seq = cpu_to_be64(m->seq);
	w->offset = cpu_to_be64(m->offset);
	w->length = cpu_to_be64(m->length);
	w->tag = cpu_to_be64(m->tag);
	w->region = cpu_to_be32(m->region);
	w->reserved = 0;
	return sizeof(*w);
}

static u32 put_delivered(const struct kverbs_msg *msg, void *body)
{
	struct wire_delivered *w = body;

	w->seq = cpu_to_be64(msg->delivered);
	return sizeof(*w);
}

static u32 put_consumed(const struct kverbs_msg *msg, void *body)
{
	struct wire_consumed *w = body;

	w->consumed = cpu_to_be64(msg->consumed);
	w->persisted = cpu_to_be64(msg->persisted);
	return sizeof(*w);
}

static u32 put_goodbye(const struct kverbs_msg *msg, void *body)
{
	struct wire_goodbye *w = body;

	w->error = cpu_to_be32(msg->goodbye);
	w->reserved = 0;
	return sizeof(*w);
}

static u32 put_message(const struct kverbs_msg_bytes *m, void *body)
{
	struct wire_message *w = body;

	w->seq = cpu_to_be64(m->seq);
	w->tag = cpu_to_be64(m->tag);
	memcpy(body + sizeof(*w), m->bytes, m->length);
	return sizeof(*w) + m->length;
}

static u32 put_body(const struct kverbs_msg *msg, void *body)
{
	switch (msg->type) {
	case KVERBS_MSG_REGION:
		return put_region(&msg->region, body);
	case KVERBS_MSG_DONE:
		return put_done(&msg->done, body);
	case KVERBS_MSG_DELIVERED:
		return put_delivered(msg, body);
	case KVERBS_MSG_CONSUMED:
		return put_consumed(msg, body);
	case KVERBS_MSG_GOODBYE:
		return put_goodbye(msg, body);
	case KVERBS_MSG_MESSAGE:
		return put_message(&msg->message, body);
	default:
		return 0;
	}
}

/**
 * kverbs_wire_put() - encode a message
 * @msg: what to say; own messages are not checked
 * @buf: KVERBS_WIRE_SLOT bytes
 *
 * Context: Any.
 * Return: Bytes written.
 */
u32 kverbs_wire_put(const struct kverbs_msg *msg, void *buf)
{
	struct wire_header *w = buf;
	u32 length = sizeof(*w) + put_body(msg, buf + sizeof(*w));

	w->type = msg->type;
	w->flags = 0;
	if (msg->type == KVERBS_MSG_DONE && msg->done.notify)
		w->flags = KVERBS_WIRE_NOTIFY;
	w->length = cpu_to_be16(length);
	w->control = cpu_to_be32(msg->control);
	w->data = cpu_to_be32(msg->data);
	w->reserved = 0;
	return length;
}

/* The region itself: what it claims to cover is possible and its keys match. */
static bool region_sane(const struct kverbs_msg_region *m)
{
	u64 end, covered;

	if (!m->region || !m->length || !m->span || m->lead >= m->span)
		return false;
	if (m->rights & ~WIRE_RIGHTS)
		return false;
	if (check_add_overflow(m->addr, m->length, &end) ||
	    check_add_overflow(m->length, (u64)m->lead, &covered))
		return false;
	return m->keys == div64_u64(covered - 1, m->span) + 1;
}

static int get_region(struct kverbs_msg_region *m, const void *body, u32 len)
{
	const struct wire_region *w = body;

	if (len < sizeof(*w))
		return -EPROTO;
	m->region = be32_to_cpu(w->region);
	m->rights = be32_to_cpu(w->rights);
	m->length = be64_to_cpu(w->length);
	m->tag = be64_to_cpu(w->tag);
	m->addr = be64_to_cpu(w->addr);
	m->span = be64_to_cpu(w->span);
	m->lead = be32_to_cpu(w->lead);
	m->keys = be32_to_cpu(w->keys);
	m->first = be32_to_cpu(w->first);
	m->count = be32_to_cpu(w->count);
	m->key = body + sizeof(*w);
	if (!m->count || m->count > KVERBS_WIRE_KEYS ||
	    len != sizeof(*w) + m->count * sizeof(*m->key))
		return -EPROTO;
	if (m->first >= m->keys || m->count > m->keys - m->first)
		return -EPROTO;
	return region_sane(m) ? 0 : -EPROTO;
}

static int get_done(struct kverbs_msg_done *m, const void *body, u32 len, u8 flags)
{
	const struct wire_done *w = body;
	u64 end;

	if (len != sizeof(*w) || w->reserved)
		return -EPROTO;
	m->seq = be64_to_cpu(w->seq);
	m->offset = be64_to_cpu(w->offset);
	m->length = be64_to_cpu(w->length);
	m->tag = be64_to_cpu(w->tag);
	m->region = be32_to_cpu(w->region);
	m->notify = flags & KVERBS_WIRE_NOTIFY;
	if (!m->seq || !m->region || !m->length ||
	    check_add_overflow(m->offset, m->length, &end))
		return -EPROTO;
	return 0;
}

static int get_delivered(struct kverbs_msg *msg, const void *body, u32 len)
{
	const struct wire_delivered *w = body;

	if (len != sizeof(*w))
		return -EPROTO;
	msg->delivered = be64_to_cpu(w->seq);
	return 0;
}

static int get_consumed(struct kverbs_msg *msg, const void *body, u32 len)
{
	const struct wire_consumed *w = body;

	if (len != sizeof(*w))
		return -EPROTO;
	msg->consumed = be64_to_cpu(w->consumed);
	msg->persisted = be64_to_cpu(w->persisted);
	return msg->persisted <= msg->consumed ? 0 : -EPROTO;
}

static int get_goodbye(struct kverbs_msg *msg, const void *body, u32 len)
{
	const struct wire_goodbye *w = body;

	if (len != sizeof(*w) || w->reserved)
		return -EPROTO;
	msg->goodbye = be32_to_cpu(w->error);
	return msg->goodbye <= MAX_ERRNO ? 0 : -EPROTO;
}

static int get_message(struct kverbs_msg_bytes *m, const void *body, u32 len)
{
	const struct wire_message *w = body;

	if (len <= sizeof(*w) || len - sizeof(*w) > KVERBS_MESSAGE_MAX)
		return -EPROTO;
	m->seq = be64_to_cpu(w->seq);
	m->tag = be64_to_cpu(w->tag);
	m->length = len - sizeof(*w);
	m->bytes = body + sizeof(*w);
	return m->seq ? 0 : -EPROTO;
}

static int get_body(struct kverbs_msg *msg, const void *body, u32 len, u8 flags)
{
	switch (msg->type) {
	case KVERBS_MSG_READY:
	case KVERBS_MSG_CREDIT:
		return len ? -EPROTO : 0;
	case KVERBS_MSG_REGION:
		return get_region(&msg->region, body, len);
	case KVERBS_MSG_DONE:
		return get_done(&msg->done, body, len, flags);
	case KVERBS_MSG_DELIVERED:
		return get_delivered(msg, body, len);
	case KVERBS_MSG_CONSUMED:
		return get_consumed(msg, body, len);
	case KVERBS_MSG_MESSAGE:
		return get_message(&msg->message, body, len);
	default:
		return get_goodbye(msg, body, len);
	}
}

static bool type_known(u8 type)
{
	return type >= KVERBS_MSG_READY && type <= KVERBS_MSG_MESSAGE;
}

/**
 * kverbs_wire_get() - decode a message
 * @msg: result, undefined after -EPROTO. The keys of a REGION and the bytes of a
 *	MESSAGE stay in @buf
 * @buf: bytes received
 * @len: how many
 * @peer_minor: minor version that the peer's hello told
 *
 * Of a type that only a later version knows, nothing but the header is looked
 * at; @msg then has the type and both counters.
 *
 * Context: Any.
 * Return: 0; -ENOMSG for a message to ignore; -EPROTO for a malformed one.
 */
int kverbs_wire_get(struct kverbs_msg *msg, const void *buf, u32 len, u8 peer_minor)
{
	const struct wire_header *w = buf;
	u8 allowed;

	if (len < sizeof(*w) || be16_to_cpu(w->length) != len)
		return -EPROTO;
	msg->type = w->type;
	msg->control = be32_to_cpu(w->control);
	msg->data = be32_to_cpu(w->data);
	if (msg->type == KVERBS_MSG_IMM)
		return -EPROTO;
	if (!type_known(msg->type))
		return peer_minor > KVERBS_WIRE_MINOR ? -ENOMSG : -EPROTO;
	allowed = msg->type == KVERBS_MSG_DONE ? KVERBS_WIRE_NOTIFY : 0;
	if (w->flags & ~allowed || w->reserved)
		return -EPROTO;
	return get_body(msg, buf + sizeof(*w), len - sizeof(*w), w->flags);
}
