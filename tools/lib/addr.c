// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses as people write them. The only ambiguity is a colon: one colon
 * parts HOST from PORT, several make a bare IPv6 address, and brackets settle
 * it. The rest is getaddrinfo()'s work.
 */

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kverbs.h"

static_assert(sizeof(struct sockaddr_in6) == KVERBS_ADDR_MAX, "sockaddr_in6");

/* "HOST:PORT" in two; @port stays NULL when there is none. */
static int split(char *text, char **host, char **port)
{
	char *end;

	*host = text;
	*port = NULL;
	if (*text == '[') {
		*host = text + 1;
		end = strchr(text, ']');
		if (!end || (end[1] && end[1] != ':'))
			return -EINVAL;
		if (end[1])
			*port = end + 2;
		*end = 0;
		return 0;
	}
	end = strchr(text, ':');
	if (end && end == strrchr(text, ':')) {
		*end = 0;
		*port = end + 1;
	}
	return 0;
}

static int port_number(const char *text, bool passive, __u16 *port)
{
	unsigned long value;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value > 65535 || (!value && !passive))
		return -EINVAL;
	*port = value;
	return 0;
}

static int resolve(const char *host, bool passive, __u8 *addr, const char **why)
{
	struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = passive ? AI_PASSIVE : 0,
	};
	struct addrinfo *info = NULL;
	int ret;

	/* Port 0, because getaddrinfo() wants a host or a service. */
	ret = getaddrinfo(*host ? host : NULL, "0", &hints, &info);
	if (ret) {
		*why = ret == EAI_SYSTEM ? strerror(errno) : gai_strerror(ret);
		return -ENOENT;
	}
	if (info->ai_family != AF_INET && info->ai_family != AF_INET6) {
		*why = "neither IPv4 nor IPv6";
		ret = -EINVAL;
	} else {
		memcpy(addr, info->ai_addr, info->ai_addrlen);
	}
	freeaddrinfo(info);
	return ret;
}

void kverbs_addr_set_port(__u8 addr[KVERBS_ADDR_MAX], __u16 port)
{
	/* Both families have it at the same place. */
	__u16 wire = htons(port);

	memcpy(addr + offsetof(struct sockaddr_in, sin_port), &wire, sizeof(wire));
}

int kverbs_addr_parse(const char *text, __u16 port, bool passive,
		      __u8 addr[KVERBS_ADDR_MAX], const char **why)
{
	char copy[300], *host, *digits;
	int ret;

	memset(addr, 0, KVERBS_ADDR_MAX);
	*why = "not HOST, HOST:PORT or [V6ADDRESS]:PORT";
	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return -EINVAL;
	if (split(copy, &host, &digits) || (!*host && !(passive && digits)))
		return -EINVAL;
	if (digits && port_number(digits, passive, &port)) {
		*why = passive ? "the port is not a number from 0 to 65535" :
				 "the port is not a number from 1 to 65535";
		return -EINVAL;
	}
	ret = resolve(host, passive, addr, why);
	if (!ret)
		kverbs_addr_set_port(addr, port);
	return ret;
}

const char *kverbs_addr_text(const __u8 addr[KVERBS_ADDR_MAX],
			     char text[KVERBS_ADDR_TEXT])
{
	char host[KVERBS_ADDR_TEXT - 10], port[8];
	struct sockaddr_storage name = { 0 };
	socklen_t length;

	memcpy(&name, addr, KVERBS_ADDR_MAX);
	length = name.ss_family == AF_INET ? sizeof(struct sockaddr_in) :
					     sizeof(struct sockaddr_in6);
	if (getnameinfo((struct sockaddr *)&name, length, host, sizeof(host), port,
			sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(text, KVERBS_ADDR_TEXT, "-");
	else
		snprintf(text, KVERBS_ADDR_TEXT,
			 name.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
	return text;
}
