// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way in: opening /dev/kverbs, with a reason for every way it can fail, and
 * what there is to tell about a connection.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "print.h"
#include "tool.h"

bool module_version(char *text, size_t size)
{
	*text = 0;
	if (access("/sys/module/kverbs", F_OK))
		return false;
	sysfs_text(text, size, "/sys/module/kverbs/version");
	return true;
}

#define OPENING		"opening " KVERBS_DEVICE_FILE
#define ADVICE_ROOT	"run as root, or install the udev rule and join the group rdma"
#define ADVICE_LOAD \
	"load it: `modprobe kverbs`; not installed: " \
	"`modprobe rdma_cm && insmod kverbs.ko` as root"
#define ADVICE_NODE \
	"look whether udev or devtmpfs is at work under /dev; the device's number is " \
	"in /sys/class/misc/kverbs/dev"
#define ADVICE_DEVICE \
	"load the adapter's driver, or make a software device: " \
	"`modprobe rdma_rxe; rdma link add rxe0 type rxe netdev INTERFACE`"

/* Why /dev/kverbs cannot be opened. */
static struct problem no_device_file(int code)
{
	char version[32];
	bool loaded = module_version(version, sizeof(version));

	if (code == EACCES || code == EPERM)
		return problem_local(OUTCOME_MODULE, "open_device", OPENING, code, ADVICE_ROOT,
				     "no permission for user %u", geteuid());
	if (code == EMFILE || code == ENFILE || code == ENOMEM)
		return problem_local(OUTCOME_LOCAL, "open_device", OPENING, code,
				     "close other files, or raise `ulimit -n`", "%s",
				     strerror(code));
	if (!loaded)
		return problem_local(OUTCOME_MODULE, "open_device", OPENING, code, ADVICE_LOAD,
				     "the module kverbs is not loaded");
	return problem_local(OUTCOME_MODULE, "open_device", OPENING, code, ADVICE_NODE,
			     "the module kverbs is loaded, but its device file fails: %s",
			     strerror(code));
}

int context_open(struct kverbs_query *query, bool need_device, struct problem *problem)
{
	struct kverbs_query own;
	int fd, ret;

	if (!query)
		query = &own;
	memset(query, 0, sizeof(*query));
	fd = kverbs_open();
	if (fd < 0) {
		*problem = no_device_file(-fd);
		return -1;
	}
	ret = kverbs_query(fd, query);
	if (ret || query->abi != KVERBS_ABI) {
		*problem = problem_local(OUTCOME_MODULE, "query", "asking the module", -ret,
					 "install module and tool of the same version",
					 "the tool speaks interface version %u, the module %u",
					 KVERBS_ABI, ret ? 0 : query->abi);
	} else if (need_device && !query->nr_devices) {
		*problem = problem_local(OUTCOME_DEVICE, "query", "finding an RDMA device", ENODEV,
					 ADVICE_DEVICE, "this host has no RDMA device");
	} else {
		return fd;
	}
	close(fd);
	return -1;
}

bool device_is_software(int fd, const char *name)
{
	struct kverbs_device *devices;
	struct kverbs_query query;
	bool software = false;
	__u32 i;

	if (kverbs_query_devices(fd, &query, &devices) || !devices)
		return false;
	for (i = 0; i < query.nr_devices; i++)
		if (!strcmp(devices[i].name, name))
			software = devices[i].virt_dma;
	free(devices);
	return software;
}

bool only_software(void)
{
	struct kverbs_device *devices = NULL;
	struct kverbs_query query;
	struct problem problem;
	bool software;
	__u32 i;
	int fd = context_open(NULL, true, &problem);

	if (fd < 0)
		return false;
	software = !kverbs_query_devices(fd, &query, &devices) && devices;
	for (i = 0; software && i < query.nr_devices; i++)
		software = devices[i].virt_dma;
	free(devices);
	close(fd);
	return software;
}

void features_print(const char *label, __u64 features)
{
	__u64 bit;

	out_text("%s", label);
	out_array("features");
	for (bit = 1; bit && bit <= features; bit <<= 1)
		if (features & bit)
			out_str(NULL, " %s", kverbs_feature_name(bit));
	out_close();
	out_text("\n");
}

__u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static void gid_print(const char *key, const char *format, const __u8 gid[16])
{
	char text[INET6_ADDRSTRLEN];

	out_str(key, format, inet_ntop(AF_INET6, gid, text, sizeof(text)));
}

static void caps_print(const char *key, const char *label, const struct kverbs_caps *caps)
{
	out_object(key);
	out_text("  %-12s ", label);
	out_num("send_wr", "%7lld", caps->send_wr);
	out_num("recv_wr", " %7lld", caps->recv_wr);
	out_num("send_sge", " %8lld", caps->send_sge);
	out_num("send_cqe", " %8lld", caps->send_cqe);
	out_num("recv_cqe", " %8lld", caps->recv_cqe);
	out_num("max_inline", " %6lld\n", caps->max_inline);
	out_close();
}

/* For programs only. */
static void counters_print(const struct kverbs_counters *c)
{
	out_object("counters");
	out_num("submitted", NULL, c->submitted);
	out_num("finished", NULL, c->finished);
	out_num("failed", NULL, c->failed);
	out_num("bytes", NULL, c->bytes);
	out_num("wrs", NULL, c->wrs);
	out_num("posts", NULL, c->posts);
	out_num("signaled", NULL, c->signaled);
	out_num("partial_posts", NULL, c->partial_posts);
	out_num("flushed", NULL, c->flushed);
	out_num("slot_stalls", NULL, c->slot_stalls);
	out_num("credit_stalls", NULL, c->credit_stalls);
	out_num("ctrl_sent", NULL, c->ctrl_sent);
	out_num("ctrl_received", NULL, c->ctrl_received);
	out_num("notified", NULL, c->notified);
	out_num("regions_received", NULL, c->regions_received);
	out_close();
}

void conn_print(const struct kverbs_conn_query *query, bool software)
{
	char text[KVERBS_ADDR_TEXT];

	out_object("connection");
	out_text("connection\n");
	out_str("device", "  device       %s", query->error.device);
	out_num("port", " port %lld", query->port);
	out_str("transport", ", %s", kverbs_transport_name(query->transport));
	out_bool("software", software);
	out_text("%s\n", software ? ", software device" : "");
	out_str("local", "  addresses    %s", kverbs_addr_text(query->src, text));
	out_str("peer", " -> %s\n", kverbs_addr_text(query->dst, text));
	out_num("qpn", "  QPN          %lld", query->qpn);
	if (query->peer_qpn)
		out_num("peer_qpn", " -> %lld\n", query->peer_qpn);
	else
		out_str("peer_qpn", NULL, NULL), out_text(" -> not told by the provider\n");
	gid_print("gid", "  GID          %s", query->src_gid);
	gid_print("peer_gid", " -> %s\n", query->dst_gid);
	out_num("mtu", query->mtu ? "  MTU          %lld bytes\n" : NULL, query->mtu);
	out_str("poll", "  completions  by %s\n", kverbs_poll_name(query->poll));
	out_num("depth_asked", "  depth        %lld asked", query->depth_asked);
	out_num("depth", ", %lld granted\n", query->depth);
	out_num("wr_ceiling", "  pieces       of %lld bytes at most", query->wr_ceiling);
	out_bool("registered", query->flags & KVERBS_CONN_REG);
	out_text("%s\n", query->flags & KVERBS_CONN_REG ? ", each registered for itself" : "");
	out_num("rd_atomic", "  reads        %lld at once\n", query->rd_atomic);
	out_num("data_credits", NULL, query->data_credits);
	out_text("  queues       send WR recv WR send SGE send CQE recv CQE inline\n");
	caps_print("queues_asked", "  asked", &query->asked);
	caps_print("queues_actual", "  granted", &query->actual);
	counters_print(&query->counters);
	out_close();
}
