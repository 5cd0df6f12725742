/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an ioctl handler gets, and the handlers.
 *
 * The struct has been copied in, its size and tail are checked. A handler checks
 * everything else, does its work, and answers with kverbs_reply() before it
 * makes anything findable by an id: so a reply that cannot be written changes
 * nothing either.
 */
#ifndef KVERBS_IOCTL_H
#define KVERBS_IOCTL_H

#include <linux/kverbs.h>
#include <linux/socket.h>

#include "connection.h"
#include "context.h"
#include "memory.h"

/**
 * union kverbs_cmd - any ioctl's struct, in kernel memory
 * @query: KVERBS_QUERY
 * @conn_query: KVERBS_CONN_QUERY
 * @buf_register: KVERBS_BUF_REGISTER
 * @buf_alloc: KVERBS_BUF_ALLOC
 * @destroy: KVERBS_DESTROY
 * @listen: KVERBS_LISTEN
 * @connect: KVERBS_CONNECT
 * @accept: KVERBS_ACCEPT
 * @disconnect: KVERBS_DISCONNECT
 * @abort: KVERBS_ABORT
 * @expose: KVERBS_REGION_EXPOSE
 * @region_list: KVERBS_REGION_LIST
 * @submit: KVERBS_SUBMIT
 * @wait: KVERBS_WAIT
 * @ack: KVERBS_ACK
 * @bench: KVERBS_BENCH
 */
union kverbs_cmd {
	struct kverbs_query query;
	struct kverbs_conn_query conn_query;
	struct kverbs_buf_register buf_register;
	struct kverbs_buf_alloc buf_alloc;
	struct kverbs_destroy destroy;
	struct kverbs_listen listen;
	struct kverbs_connect connect;
	struct kverbs_accept accept;
	struct kverbs_disconnect disconnect;
	struct kverbs_abort abort;
	struct kverbs_region_expose expose;
	struct kverbs_region_list region_list;
	struct kverbs_submit submit;
	struct kverbs_wait wait;
	struct kverbs_ack ack;
	struct kverbs_bench bench;
};

/**
 * struct kverbs_call - one ioctl in progress
 * @ctx: the file's context
 * @user: the caller's struct
 * @user_size: its size
 * @size: ours
 * @cmd: the copy
 */
struct kverbs_call {
	struct kverbs_context *ctx;
	void __user *user;
	u32 user_size;
	u32 size;
	union kverbs_cmd cmd;
};

int kverbs_reply(struct kverbs_call *call);
struct kverbs_connection *kverbs_call_connection(struct kverbs_call *call, u32 id);
int kverbs_call_sockaddr(struct sockaddr_storage *ss, const u8 *addr, bool need_port);
int kverbs_call_attr(struct kverbs_conn_attr *attr);

int kverbs_ioctl_query(struct kverbs_call *call);
int kverbs_ioctl_conn_query(struct kverbs_call *call);
int kverbs_ioctl_buf_register(struct kverbs_call *call);
int kverbs_ioctl_buf_alloc(struct kverbs_call *call);
int kverbs_ioctl_destroy(struct kverbs_call *call);
int kverbs_ioctl_listen(struct kverbs_call *call);
int kverbs_ioctl_connect(struct kverbs_call *call);
int kverbs_ioctl_accept(struct kverbs_call *call);
int kverbs_ioctl_disconnect(struct kverbs_call *call);
int kverbs_ioctl_abort(struct kverbs_call *call);
int kverbs_ioctl_region_expose(struct kverbs_call *call);
int kverbs_ioctl_region_list(struct kverbs_call *call);
int kverbs_ioctl_submit(struct kverbs_call *call);
int kverbs_ioctl_wait(struct kverbs_call *call);
int kverbs_ioctl_ack(struct kverbs_call *call);
int kverbs_ioctl_bench(struct kverbs_call *call);

#endif /* KVERBS_IOCTL_H */
