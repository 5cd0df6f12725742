/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints of the data path and of connection states. They carry numbers
 * only: queue pair numbers as `rdma resource show qp` prints them, object ids
 * of their context, never an address or a key.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kverbs

#if !defined(KVERBS_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define KVERBS_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(kverbs_state,
	TP_PROTO(u32 conn, u32 from, u32 to, u32 step, u32 code),
	TP_ARGS(conn, from, to, step, code),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, from)
		__field(u32, to)
		__field(u32, step)
		__field(u32, code)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->from = from;
		__entry->to = to;
		__entry->step = step;
		__entry->code = code;
	),
	TP_printk("conn=%u state=%u->%u step=%u code=%u", __entry->conn,
		  __entry->from, __entry->to, __entry->step, __entry->code)
);

TRACE_EVENT(kverbs_cm_event,
	TP_PROTO(u32 conn, u32 event, int status),
	TP_ARGS(conn, event, status),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, event)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->event = event;
		__entry->status = status;
	),
	TP_printk("conn=%u event=%u status=%d", __entry->conn, __entry->event,
		  __entry->status)
);

TRACE_EVENT(kverbs_submit,
	TP_PROTO(u32 conn, u32 nr, u64 user_data, u64 offset, u64 length),
	TP_ARGS(conn, nr, user_data, offset, length),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, nr)
		__field(u64, user_data)
		__field(u64, offset)
		__field(u64, length)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->nr = nr;
		__entry->user_data = user_data;
		__entry->offset = offset;
		__entry->length = length;
	),
	TP_printk("conn=%u items=%u user_data=%llu offset=%llu length=%llu",
		  __entry->conn, __entry->nr, __entry->user_data, __entry->offset,
		  __entry->length)
);

TRACE_EVENT(kverbs_post,
	TP_PROTO(u32 qpn, u32 nr, int ret),
	TP_ARGS(qpn, nr, ret),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, nr)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->nr = nr;
		__entry->ret = ret;
	),
	TP_printk("qpn=%u wrs=%u ret=%d", __entry->qpn, __entry->nr, __entry->ret)
);

TRACE_EVENT(kverbs_send_done,
	TP_PROTO(u32 qpn, u32 slot, u32 status),
	TP_ARGS(qpn, slot, status),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, slot)
		__field(u32, status)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->slot = slot;
		__entry->status = status;
	),
	TP_printk("qpn=%u slot=%u status=%u", __entry->qpn, __entry->slot,
		  __entry->status)
);

TRACE_EVENT(kverbs_control,
	TP_PROTO(u32 conn, bool sent, u32 type, u32 room),
	TP_ARGS(conn, sent, type, room),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(bool, sent)
		__field(u32, type)
		__field(u32, room)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->sent = sent;
		__entry->type = type;
		__entry->room = room;
	),
	TP_printk("conn=%u %s type=%u control_room=%u", __entry->conn,
		  __entry->sent ? "sent" : "received", __entry->type, __entry->room)
);

TRACE_EVENT(kverbs_final,
	TP_PROTO(u32 conn, u64 user_data, u32 reached, u32 status),
	TP_ARGS(conn, user_data, reached, status),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u64, user_data)
		__field(u32, reached)
		__field(u32, status)
	),
	TP_fast_assign(
		__entry->conn = conn;
		__entry->user_data = user_data;
		__entry->reached = reached;
		__entry->status = status;
	),
	TP_printk("conn=%u user_data=%llu reached=%u status=%u", __entry->conn,
		  __entry->user_data, __entry->reached, __entry->status)
);

#endif /* KVERBS_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
