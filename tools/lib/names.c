// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names for numbers: those of <linux/kverbs.h>, and those of the kernel's RDMA
 * core that pass through it (work completion status, connection manager events
 * and reject reasons), in the kernel's own words.
 */

#include <string.h>

#include "kverbs.h"

static const char * const moments[] = {
	[KVERBS_POSTED]		= "POSTED",
	[KVERBS_COMPLETED]	= "COMPLETED",
	[KVERBS_DELIVERED]	= "DELIVERED",
	[KVERBS_CONSUMED]	= "CONSUMED",
	[KVERBS_PERSISTED]	= "PERSISTED",
};

static const char * const steps[] = {
	[KVERBS_STEP_NONE]		= "none",
	[KVERBS_STEP_RESOLVE_ADDR]	= "resolve_addr",
	[KVERBS_STEP_RESOLVE_ROUTE]	= "resolve_route",
	[KVERBS_STEP_SETUP]		= "setup",
	[KVERBS_STEP_CONNECT]		= "connect",
	[KVERBS_STEP_HELLO]		= "hello",
	[KVERBS_STEP_BIND]		= "bind",
	[KVERBS_STEP_POST]		= "post",
	[KVERBS_STEP_SEND]		= "send",
	[KVERBS_STEP_RECV]		= "recv",
	[KVERBS_STEP_CONTROL]		= "control",
	[KVERBS_STEP_PROGRESS]		= "progress",
	[KVERBS_STEP_PEER]		= "peer",
	[KVERBS_STEP_LOCAL]		= "local",
	[KVERBS_STEP_DEVICE]		= "device",
};

static const char * const states[] = {
	[KVERBS_STATE_CONNECTING]	= "connecting",
	[KVERBS_STATE_UP]		= "up",
	[KVERBS_STATE_CLOSING]		= "closing",
	[KVERBS_STATE_DEAD]		= "dead",
};

static const char * const transports[] = {
	[KVERBS_TRANSPORT_OTHER]	= "other",
	[KVERBS_TRANSPORT_IB]		= "InfiniBand",
	[KVERBS_TRANSPORT_ROCE]		= "RoCE",
	[KVERBS_TRANSPORT_IWARP]	= "iWARP",
};

static const char * const polls[] = {
	[KVERBS_POLL_SOFTIRQ]	= "softirq",
	[KVERBS_POLL_WORKQUEUE]	= "workqueue",
	[KVERBS_POLL_UNBOUND]	= "unbound",
	[KVERBS_POLL_DIRECT]	= "direct",
};

static const char * const ops[] = {
	[KVERBS_OP_WRITE]	= "write",
	[KVERBS_OP_READ]	= "read",
	[KVERBS_OP_SEND]	= "send",
	[KVERBS_OP_FETCH_ADD]	= "fetch_add",
	[KVERBS_OP_CMP_SWAP]	= "cmp_swap",
};

/* By the bit's number. */
static const char * const features[] = {
	"write",
	"notify",
	"persist",
	"read",
	"send",
	"imm",
	"atomic",
	"reg",
};

static const char * const placements[] = {
	[KVERBS_PLACEMENT_PLACED]	= "placed",
	[KVERBS_PLACEMENT_UNKNOWN]	= "unknown",
	[KVERBS_PLACEMENT_UNSENT]	= "unsent",
};

static const char * const events[] = {
	[KVERBS_EVENT_FINAL]	= "final",
	[KVERBS_EVENT_NOTIFY]	= "notify",
	[KVERBS_EVENT_REGION]	= "region",
	[KVERBS_EVENT_CONN]	= "conn",
	[KVERBS_EVENT_INCOMING]	= "incoming",
	[KVERBS_EVENT_LISTENER]	= "listener",
	[KVERBS_EVENT_BATCH]	= "batch",
	[KVERBS_EVENT_MESSAGE]	= "message",
	[KVERBS_EVENT_IMM]	= "imm",
};

static const char * const rejects[] = {
	[KVERBS_REJECT_NONE]		= "none",
	[KVERBS_REJECT_MALFORMED]	= "malformed",
	[KVERBS_REJECT_VERSION]		= "version",
	[KVERBS_REJECT_LIMIT]		= "limit",
	[KVERBS_REJECT_RESOURCES]	= "resources",
};

/* enum ib_wc_status */
static const char * const wc_statuses[] = {
	"success",
	"local length error",
	"local QP operation error",
	"local EE context operation error",
	"local protection error",
	"WR flushed",
	"memory bind operation error",
	"bad response error",
	"local access error",
	"remote invalid request error",
	"remote access error",
	"remote operation error",
	"transport retry counter exceeded",
	"RNR retry counter exceeded",
	"local RDD violation error",
	"remote invalid RD request",
	"operation aborted",
	"invalid EE context number",
	"invalid EE context state",
	"fatal error",
	"response timeout error",
	"general error",
};

/* enum rdma_cm_event_type */
static const char * const cm_events[] = {
	"address resolved",
	"address error",
	"route resolved",
	"route error",
	"connect request",
	"connect response",
	"connect error",
	"unreachable",
	"rejected",
	"established",
	"disconnected",
	"device removal",
	"multicast join",
	"multicast error",
	"address change",
	"timewait exit",
};

/* enum ib_cm_rej_reason */
static const char * const cm_rejects[] = {
	[1]  = "no QP",
	[2]  = "no EEC",
	[3]  = "no resources",
	[4]  = "timeout",
	[5]  = "unsupported",
	[6]  = "invalid comm ID",
	[7]  = "invalid comm instance",
	[8]  = "invalid service ID",
	[9]  = "invalid transport type",
	[10] = "stale conn",
	[11] = "RDC not exist",
	[12] = "invalid GID",
	[13] = "invalid LID",
	[14] = "invalid SL",
	[15] = "invalid traffic class",
	[16] = "invalid hop limit",
	[17] = "invalid packet rate",
	[18] = "invalid alt GID",
	[19] = "invalid alt LID",
	[20] = "invalid alt SL",
	[21] = "invalid alt traffic class",
	[22] = "invalid alt hop limit",
	[23] = "invalid alt packet rate",
	[24] = "port CM redirect",
	[25] = "port redirect",
	[26] = "invalid MTU",
	[27] = "insufficient resp resources",
	[28] = "consumer defined",
	[29] = "invalid RNR retry",
	[30] = "duplicate local comm ID",
	[31] = "invalid class version",
	[32] = "invalid flow label",
	[33] = "invalid alt flow label",
	[35] = "vendor option is not supported",
};

static const char *name(const char * const *table, __u32 nr, __u32 i)
{
	return i < nr && table[i] ? table[i] : "?";
}

#define COUNT(table)	(sizeof(table) / sizeof(*(table)))

const char *kverbs_moment_name(__u32 moment)
{
	return name(moments, COUNT(moments), moment);
}

const char *kverbs_step_name(__u32 step)
{
	return name(steps, COUNT(steps), step);
}

const char *kverbs_state_name(__u32 state)
{
	return name(states, COUNT(states), state);
}

const char *kverbs_transport_name(__u32 transport)
{
	return name(transports, COUNT(transports), transport);
}

const char *kverbs_poll_name(__u32 poll)
{
	return name(polls, COUNT(polls), poll);
}

const char *kverbs_op_name(__u32 op)
{
	return name(ops, COUNT(ops), op);
}

const char *kverbs_feature_name(__u64 feature)
{
	if (!feature || feature & (feature - 1))
		return "?";
	return name(features, COUNT(features), __builtin_ctzll(feature));
}

const char *kverbs_placement_name(__u32 placement)
{
	return name(placements, COUNT(placements), placement);
}

const char *kverbs_event_name(__u32 kind)
{
	return name(events, COUNT(events), kind);
}

const char *kverbs_reject_name(__u32 reject)
{
	return name(rejects, COUNT(rejects), reject);
}

const char *kverbs_wc_status_name(__u32 status)
{
	return name(wc_statuses, COUNT(wc_statuses), status);
}

const char *kverbs_cm_event_name(__u32 event)
{
	return name(cm_events, COUNT(cm_events), event);
}

const char *kverbs_cm_reject_name(__s32 status)
{
	if (status < 0)
		return strerror(-status);
	return name(cm_rejects, COUNT(cm_rejects), status);
}
