/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bytes that two kverbs ends exchange.
 *
 * A *hello* travels in the connection manager's private data, both ways; a
 * refusal carries its reason the same way. After that, *messages* travel by
 * SEND on the connection itself. All fields are big endian. Nothing here
 * touches a device: encode writes bytes, decode checks every byte it is given
 * and never reads beyond the length it is told.
 *
 * Hello, 36 bytes (a request may carry 56 on InfiniBand and RoCE, which pad
 * with zeros, so that the length received is >= and never ==):
 *
 *	 0 be32 magic "kvrb"
 *	 4 u8   major		differs: refused with a reason
 *	 5 u8   minor		differs: the lower one rules
 *	 6 be16 length		of the whole hello; a later version may be longer
 *	 8 be16 control		credits of the control class this end grants
 *	10 be16 data		credits of the data class this end grants
 *	12 be32 features	none defined: zero, ignored on receipt
 *	16 u8   nonce[16]	zero, ignored on receipt
 *	32 be32 reserved	zero, ignored on receipt
 *
 * Refusal, 8 bytes: be32 magic, be32 enum kverbs_reject.
 *
 * Message header, 16 bytes, then the body of its type:
 *
 *	 0 u8   type
 *	 1 u8   flags		KVERBS_WIRE_NOTIFY on DONE; otherwise zero
 *	 2 be16 length		of the whole message, header included
 *	 4 be32 control		absolute counter: control receives given back
 *	 8 be32 data		absolute counter: data receives given back
 *	12 be32 reserved	zero
 *
 *	READY, CREDIT	nothing
 *	REGION		be32 region, be32 rights, be64 length, be64 tag,
 *			be64 addr, be64 span, be32 lead, be32 keys, be32 first,
 *			be32 count, be32 key[count]
 *	DONE		be64 seq, be64 offset, be64 length, be64 tag,
 *			be32 region, be32 reserved
 *	DELIVERED	be64 seq
 *	CONSUMED	be64 consumed, be64 persisted
 *	MESSAGE		be64 seq, be64 tag, then the program's bytes
 *	GOODBYE		be32 errno, be32 reserved
 */
#ifndef KVERBS_WIRE_H
#define KVERBS_WIRE_H

#include <linux/types.h>

#define KVERBS_WIRE_MAGIC	0x6b767262u	/* "kvrb" */
#define KVERBS_WIRE_MAJOR	1
#define KVERBS_WIRE_MINOR	0
#define KVERBS_WIRE_HELLO	36		/* bytes of a hello */
#define KVERBS_WIRE_HELLO_MAX	56		/* what a request may carry */
#define KVERBS_WIRE_REFUSAL	8		/* bytes of a refusal */
#define KVERBS_WIRE_SLOT	512		/* bytes of a receive */
#define KVERBS_WIRE_HEADER	16
#define KVERBS_WIRE_REGION	56		/* body of REGION without keys */
#define KVERBS_WIRE_MESSAGE	16		/* body of MESSAGE without its bytes */
#define KVERBS_WIRE_KEYS	((KVERBS_WIRE_SLOT - KVERBS_WIRE_HEADER - \
				  KVERBS_WIRE_REGION) / 4)
#define KVERBS_WIRE_NOTIFY	0x01

/**
 * struct kverbs_hello - a hello, in host byte order
 * @major: protocol version that must agree
 * @minor: protocol version that need not
 * @control: receives of the control class granted to the other end, at least 4
 * @data: receives of the data class granted to the other end, at least 1
 */
struct kverbs_hello {
	u8 major;
	u8 minor;
	u16 control;
	u16 data;
};

/**
 * enum kverbs_msg_type - what a message says
 * @KVERBS_MSG_IMM: never on the wire: what the immediate of a write says
 * @KVERBS_MSG_READY: the initiator's first message: both ends can talk
 * @KVERBS_MSG_CREDIT: only the counters in its header
 * @KVERBS_MSG_REGION: a piece of an advertisement
 * @KVERBS_MSG_DONE: the data of a write is placed before this
 * @KVERBS_MSG_DELIVERED: every DONE up to seq was seen
 * @KVERBS_MSG_CONSUMED: the program acknowledged every notify up to a seq
 * @KVERBS_MSG_GOODBYE: this end closes, and why
 * @KVERBS_MSG_MESSAGE: a program's message
 */
enum kverbs_msg_type {
	KVERBS_MSG_IMM = 0,
	KVERBS_MSG_READY = 1,
	KVERBS_MSG_CREDIT = 2,
	KVERBS_MSG_REGION = 3,
	KVERBS_MSG_DONE = 4,
	KVERBS_MSG_DELIVERED = 5,
	KVERBS_MSG_CONSUMED = 6,
	KVERBS_MSG_GOODBYE = 7,
	KVERBS_MSG_MESSAGE = 8,
};

/**
 * struct kverbs_msg_region - a piece of an advertisement
 * @region: the advertiser's name for the region, not 0
 * @rights: KVERBS_RIGHT_*
 * @length: bytes of the region, not 0
 * @tag: the advertiser's program's
 * @addr: remote address of the region's first byte
 * @span: bytes that one key covers, not 0
 * @lead: bytes of the first key's span before the region's first byte, < @span
 * @keys: keys of the whole region: exactly as many as @lead + @length needs
 * @first: index of the first key in this piece
 * @count: keys in this piece, 1 to KVERBS_WIRE_KEYS, within @keys
 * @key: the keys, big endian, @count of them; after decode they point into the
 *	received bytes
 *
 * Byte r of the region is at address @addr + r under key (@lead + r) / @span.
 */
struct kverbs_msg_region {
	u32 region;
	u32 rights;
	u64 length;
	u64 tag;
	u64 addr;
	u64 span;
	u32 lead;
	u32 keys;
	u32 first;
	u32 count;
	const __be32 *key;
};

/**
 * struct kverbs_msg_done - what follows a write
 * @seq: counts the DONEs, MESSAGEs and immediates of a connection from 1
 * @region: the target's name for the region
 * @notify: wake the program
 * @offset: in the region
 * @length: bytes, not 0
 * @tag: for the program
 */
struct kverbs_msg_done {
	u64 seq;
	u64 offset;
	u64 length;
	u64 tag;
	u32 region;
	bool notify;
};

/**
 * struct kverbs_msg_bytes - a program's message
 * @seq: as of a DONE
 * @tag: for the program
 * @length: bytes, 1 to KVERBS_MESSAGE_MAX
 * @bytes: @length of them; after decode they point into the received bytes
 */
struct kverbs_msg_bytes {
	u64 seq;
	u64 tag;
	u32 length;
	const void *bytes;
};

/**
 * struct kverbs_msg - one message, in host byte order
 * @type: enum kverbs_msg_type
 * @control: absolute counter of control receives given back
 * @data: absolute counter of data receives given back
 * @region: for REGION
 * @done: for DONE
 * @delivered: for DELIVERED: the highest seq seen
 * @consumed: for CONSUMED: the highest seq acknowledged
 * @persisted: for CONSUMED: the highest seq on stable storage, <= @consumed
 * @goodbye: for GOODBYE: positive errno, 0 for an orderly close
 * @message: for MESSAGE
 */
struct kverbs_msg {
	u8 type;
	u32 control;
	u32 data;
	union {
		struct kverbs_msg_region region;
		struct kverbs_msg_done done;
		u64 delivered;
		struct {
			u64 consumed;
			u64 persisted;
		};
		u32 goodbye;
		struct kverbs_msg_bytes message;
	};
};

void kverbs_wire_put_hello(const struct kverbs_hello *hello, void *buf);
int kverbs_wire_get_hello(struct kverbs_hello *hello, const void *buf, u32 len);
void kverbs_wire_put_refusal(u32 reason, void *buf);
u32 kverbs_wire_get_refusal(const void *buf, u32 len);
u32 kverbs_wire_put(const struct kverbs_msg *msg, void *buf);
int kverbs_wire_get(struct kverbs_msg *msg, const void *buf, u32 len, u8 peer_minor);

#endif /* KVERBS_WIRE_H */
