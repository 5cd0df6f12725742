/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KVERBS_SHA_H
#define _KVERBS_SHA_H

#include <stdio.h>
#include <nettle/sha2.h>

#include "tool.h"

/* SHA-256 is nettle's; only the spelling is ours. */

/**
 * sha_text() - end a SHA-256, in hexadecimal
 * @sha: begun by sha256_init(), fed by sha256_update()
 * @text: out
 */
static inline void sha_text(struct sha256_ctx *sha, char text[SHA_TEXT])
{
	__u8 digest[SHA256_DIGEST_SIZE];
	int i;

	sha256_digest(sha, sizeof(digest), digest);
	for (i = 0; i < SHA256_DIGEST_SIZE; i++)
		sprintf(text + 2 * i, "%02x", digest[i]);
}

#endif /* _KVERBS_SHA_H */
