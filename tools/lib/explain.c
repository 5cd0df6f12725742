// SPDX-License-Identifier: GPL-2.0-only
/*
 * A first cause in words. The kernel says which step failed and with what
 * numbers; here stands what that means to a person, and what to do about it.
 * Rows are tried from the top, the first that fits is taken: the special ones
 * come first, and every step ends with a row that fits any code.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kverbs.h"

#define ANY	0xffffffffU

/* enum ib_wc_status, those that call for advice of their own. */
#define WC_LOC_LEN	1
#define WC_LOC_PROT	4
#define WC_REM_INV_REQ	9
#define WC_REM_ACCESS	10
#define WC_REM_OP	11
#define WC_RETRY_EXC	12
#define WC_RNR_RETRY	13

/* enum rdma_cm_event_type; enum ib_cm_rej_reason */
#define CM_REJECTED		8
#define CM_REJ_NO_SERVICE	8
#define CM_REJ_CONSUMER		28

#define ADVICE_PATH \
	"check that the peer is up (ping), that no firewall drops UDP port 4791 " \
	"(RoCE) or the TCP port (iWARP), and that both ends use the same MTU and network"
#define ADVICE_PEER \
	"look at what the peer's program printed, and at the peer's kernel log"
#define ADVICE_VERSION	"run the same version of kverbs at both ends"
#define ADVICE_DEVICES \
	"`kverbs devices` lists the devices and their addresses; a software device " \
	"is made by `rdma link add rxe0 type rxe netdev INTERFACE`"
#define ADVICE_FEATURES \
	"`kverbs devices` lists each device's features; iWARP has no write with immediate"
#define ADVICE_LOG	"look at the kernel log (dmesg), and report it with the output of `kverbs -j devices`"

/**
 * struct rule - one row
 * @step: enum kverbs_step
 * @code: errno, or ANY
 * @wc: enum ib_wc_status, or ANY
 * @cause: in words
 * @advice: what to do next
 */
struct rule {
	__u32 step;
	__u32 code;
	__u32 wc;
	const char *cause;
	const char *advice;
};

static const struct rule rejects[] = {
	[KVERBS_REJECT_MALFORMED] = { .cause = "the peer did not understand our hello",
				      .advice = ADVICE_VERSION },
	[KVERBS_REJECT_VERSION] = { .cause = "the peer speaks another version of the protocol",
				    .advice = ADVICE_VERSION },
	[KVERBS_REJECT_LIMIT] = {
		.cause = "the peer is full: its connection limit or backlog is reached",
		.advice = "try again when another connection has ended" },
	[KVERBS_REJECT_RESOURCES] = {
		.cause = "the peer could not make its queues",
		.advice = "look at the peer's kernel log and memory; a smaller depth needs less" },
};

static const struct rule rules[] = {
	{ KVERBS_STEP_RESOLVE_ADDR, ENODEV, ANY,
	  "there is no RDMA device on the route to the peer", ADVICE_DEVICES },
	{ KVERBS_STEP_RESOLVE_ADDR, ENETUNREACH, ANY, "there is no route to the peer",
	  "check the address, and the route by `ip route get ADDRESS`" },
	{ KVERBS_STEP_RESOLVE_ADDR, EHOSTUNREACH, ANY, "the peer's host cannot be reached",
	  "check the address, and the route by `ip route get ADDRESS`" },
	{ KVERBS_STEP_RESOLVE_ADDR, EADDRNOTAVAIL, ANY,
	  "the own address is not usable: not on this host, or not on the way to the peer",
	  "check it by `ip address`, or leave it to the route" },
	{ KVERBS_STEP_RESOLVE_ADDR, ETIMEDOUT, ANY,
	  "nobody answered for the peer's address on the local network",
	  "check the address, and that the peer is up (ping)" },
	{ KVERBS_STEP_RESOLVE_ADDR, ANY, ANY, "the peer's address could not be resolved",
	  "check the address, and the route by `ip route get ADDRESS`" },

	{ KVERBS_STEP_RESOLVE_ROUTE, ANY, ANY, "no RDMA path leads to the peer",
	  "check by `kverbs devices` that the port is active and has a GID of the peer's network" },

	{ KVERBS_STEP_SETUP, ENOMEM, ANY, "no memory for the queues",
	  "ask for a smaller depth, or free memory" },
	{ KVERBS_STEP_SETUP, ENOSPC, ANY, "the limit of connections is reached",
	  "close others first" },
	{ KVERBS_STEP_SETUP, EOPNOTSUPP, ANY,
	  "the device or this kernel does not have what the connection was asked to be",
	  ADVICE_FEATURES },
	{ KVERBS_STEP_SETUP, ANY, ANY, "the device could not make the queue pair", ADVICE_LOG },

	{ KVERBS_STEP_CONNECT, ECONNREFUSED, ANY, "connection refused: nothing listens there",
	  "start `kverbs serve` on the peer, or check the port (7479 unless told otherwise)" },
	{ KVERBS_STEP_CONNECT, ETIMEDOUT, ANY, "the peer did not answer in time", ADVICE_PATH },
	{ KVERBS_STEP_CONNECT, EHOSTUNREACH, ANY, "the peer cannot be reached", ADVICE_PATH },
	{ KVERBS_STEP_CONNECT, ECONNRESET, ANY,
	  "the peer closed the connection during the handshake", ADVICE_PEER },
	{ KVERBS_STEP_CONNECT, ANY, ANY, "the handshake failed", ADVICE_PATH },

	{ KVERBS_STEP_HELLO, ETIMEDOUT, ANY, "the peer's hello did not come in time",
	  ADVICE_PEER },
	{ KVERBS_STEP_HELLO, ANY, ANY,
	  "the peer's hello is not that of kverbs, or of another version", ADVICE_VERSION },

	{ KVERBS_STEP_BIND, EADDRINUSE, ANY, "the address and port are in use",
	  "choose another port; `rdma resource show cm_id` lists who has it" },
	{ KVERBS_STEP_BIND, EADDRNOTAVAIL, ANY, "the address is not one of this host's",
	  "choose one of those that `ip address` shows" },
	{ KVERBS_STEP_BIND, ENODEV, ANY, "no RDMA device has this address", ADVICE_DEVICES },
	{ KVERBS_STEP_BIND, EACCES, ANY, "the port is reserved",
	  "choose a port from 1024 on" },
	{ KVERBS_STEP_BIND, ANY, ANY, "the address cannot be listened on", ADVICE_DEVICES },

	{ KVERBS_STEP_POST, EMSGSIZE, ANY, "more bytes than the operation can carry",
	  "send in pieces: a message holds 448 bytes, inline what the device gave, "
	  "an atomic 8" },
	{ KVERBS_STEP_POST, EOPNOTSUPP, ANY,
	  "this kernel, device or connection does not have the operation",
	  ADVICE_FEATURES },
	{ KVERBS_STEP_POST, EACCES, ANY,
	  "the region or the own buffer does not carry the right that the operation needs",
	  "expose the region with that right, and make a buffer that is read into writable" },
	{ KVERBS_STEP_POST, EAGAIN, ANY, "too much unfinished work",
	  "take events before submitting more, or submit less at once" },
	{ KVERBS_STEP_POST, ANY, ANY, "the device refused a work request", ADVICE_LOG },

	{ KVERBS_STEP_SEND, ANY, WC_RETRY_EXC, "the peer's adapter stopped answering",
	  ADVICE_PATH },
	{ KVERBS_STEP_SEND, ANY, WC_RNR_RETRY,
	  "the peer had no receive ready, again and again", ADVICE_PEER },
	{ KVERBS_STEP_SEND, ANY, WC_REM_ACCESS,
	  "the peer's adapter refused access: the region is gone, or smaller than told",
	  ADVICE_PEER },
	{ KVERBS_STEP_SEND, ANY, WC_REM_INV_REQ,
	  "the peer's adapter refused the request as invalid", ADVICE_PEER },
	{ KVERBS_STEP_SEND, ANY, WC_REM_OP, "the peer's adapter failed", ADVICE_PEER },
	{ KVERBS_STEP_SEND, ANY, WC_LOC_PROT, "the own device refused the own memory",
	  ADVICE_LOG },
	{ KVERBS_STEP_SEND, ANY, WC_LOC_LEN, "the own device refused the length", ADVICE_LOG },
	{ KVERBS_STEP_SEND, ANY, ANY, "a work request failed", ADVICE_LOG },
	{ KVERBS_STEP_RECV, ANY, ANY, "a receive failed", ADVICE_LOG },

	{ KVERBS_STEP_CONTROL, ANY, ANY,
	  "the peer sent a malformed or forbidden control message", ADVICE_VERSION },
	{ KVERBS_STEP_PROGRESS, ANY, ANY,
	  "work was outstanding and nothing moved within the bound", ADVICE_PATH },
	{ KVERBS_STEP_PEER, ETIMEDOUT, ANY, "the peer vanished: it does not answer any more",
	  ADVICE_PATH },
	{ KVERBS_STEP_PEER, EACCES, ANY, "the peer tried to reach what is not exposed to it",
	  ADVICE_PEER },
	{ KVERBS_STEP_PEER, 0, ANY, "the peer closed the connection in good order", ADVICE_PEER },
	{ KVERBS_STEP_PEER, ANY, ANY, "the peer closed the connection", ADVICE_PEER },
	{ KVERBS_STEP_LOCAL, ANY, ANY, "this end closed the connection",
	  "nothing, if that was intended" },
	{ KVERBS_STEP_DEVICE, ANY, ANY, "the RDMA device failed or was removed",
	  "look at `rdma link` and the kernel log (dmesg)" },
};

/* Refused, but neither by kverbs nor for want of a listener. */
static const struct rule foreign = {
	.cause = "refused: what listens on this port does not serve this address, or is not kverbs",
	.advice = "check address and port; who listens on [::] takes IPv6 alone" };
static const struct rule refused = {
	.cause = "the peer's connection manager refused",
	.advice = "try again; " ADVICE_PEER };

static const struct rule fallback = { 0, ANY, ANY, "an unexpected error", ADVICE_LOG };

static const char * const doing[] = {
	[KVERBS_STEP_NONE]		= "working",
	[KVERBS_STEP_RESOLVE_ADDR]	= "finding the device",
	[KVERBS_STEP_RESOLVE_ROUTE]	= "finding the path",
	[KVERBS_STEP_SETUP]		= "making the queue pair",
	[KVERBS_STEP_CONNECT]		= "connecting",
	[KVERBS_STEP_HELLO]		= "greeting the peer",
	[KVERBS_STEP_BIND]		= "listening",
	[KVERBS_STEP_POST]		= "posting work",
	[KVERBS_STEP_SEND]		= "moving data",
	[KVERBS_STEP_RECV]		= "receiving",
	[KVERBS_STEP_CONTROL]		= "talking to the peer",
	[KVERBS_STEP_PROGRESS]		= "waiting for the device",
	[KVERBS_STEP_PEER]		= "keeping the connection",
	[KVERBS_STEP_LOCAL]		= "closing",
	[KVERBS_STEP_DEVICE]		= "using the device",
};

#define COUNT(table)	(sizeof(table) / sizeof(*(table)))

static const struct rule *find_refusal(const struct kverbs_error *error)
{
	if (error->reject && error->reject < COUNT(rejects))
		return &rejects[error->reject];
	if (error->cm_event != CM_REJECTED || error->cm_status <= 0 ||
	    error->cm_status == CM_REJ_NO_SERVICE)
		return NULL;
	return error->cm_status == CM_REJ_CONSUMER ? &foreign : &refused;
}

static const struct rule *find(const struct kverbs_error *error)
{
	const struct rule *rule = find_refusal(error);
	size_t i;

	if (rule)
		return rule;
	for (i = 0; i < COUNT(rules); i++)
		if (rules[i].step == error->step &&
		    (rules[i].code == ANY || rules[i].code == error->code) &&
		    (rules[i].wc == ANY || rules[i].wc == error->wc_status))
			return &rules[i];
	return &fallback;
}

/* The numbers, each with its name, in brackets behind the words. */
static void details(const struct kverbs_error *error, FILE *out)
{
	const char *name = strerrorname_np(error->code);

	if (!error->code && !error->wc_status && !error->cm_event)
		return;
	fprintf(out, " (%s", error->code && name ? name : "no errno");
	if (error->wc_status)
		fprintf(out, "; work completion: %s (%u), vendor code %#x",
			kverbs_wc_status_name(error->wc_status), error->wc_status,
			error->vendor_err);
	if (error->cm_event)
		fprintf(out, "; connection manager: %s", kverbs_cm_event_name(error->cm_event));
	if (error->cm_event == CM_REJECTED && error->cm_status != CM_REJ_CONSUMER)
		fprintf(out, ": %s (%d)", kverbs_cm_reject_name(error->cm_status),
			error->cm_status);
	fprintf(out, ")");
}

void kverbs_explain(const struct kverbs_error *error,
		    struct kverbs_explanation *words)
{
	const struct rule *rule = find(error);
	FILE *out;

	words->step = error->step < COUNT(doing) ? doing[error->step] : "working";
	words->advice = rule->advice;
	snprintf(words->cause, sizeof(words->cause), "%s", rule->cause);
	out = fmemopen(words->cause, sizeof(words->cause), "a");
	if (!out)
		return;
	details(error, out);
	fclose(out);
	words->cause[sizeof(words->cause) - 1] = 0;
}

const char *kverbs_explain_text(const struct kverbs_explanation *words,
				const char *device, const char *local,
				const char *peer, char *text, size_t size)
{
	FILE *out = fmemopen(text, size, "w");

	if (!out) {
		snprintf(text, size, "%s: %s", words->step, words->cause);
		return text;
	}
	fprintf(out, "%s", words->step);
	if (peer && *peer)
		fprintf(out, ", peer %s", peer);
	if (local && *local)
		fprintf(out, ", own address %s", local);
	if (device && *device)
		fprintf(out, ", device %s", device);
	fprintf(out, ": %s", words->cause);
	if (words->advice && *words->advice)
		fprintf(out, "\n  next: %s", words->advice);
	fclose(out);
	text[size - 1] = 0;
	return text;
}
