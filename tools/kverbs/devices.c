// SPDX-License-Identifier: GPL-2.0-only
/*
 * What there is: the module, its device file, the RDMA devices. The devices come
 * from sysfs, which is there without the module; what kverbs adds (limits, who
 * uses them) is asked of the module, and said to be missing when it is.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "print.h"
#include "tool.h"

#define CLASS	"/sys/class/infiniband"

/* struct world - all RDMA devices, from both sources */
struct world {
	struct problem problem;		/* why the module could not be asked */
	bool asked;			/* it could */
	struct kverbs_query query;
	struct kverbs_device *devices;
	char **names;			/* of sysfs */
	int nr_names;
};

static void survey(struct world *world)
{
	int fd, ret;

	memset(world, 0, sizeof(*world));
	world->nr_names = sysfs_list(CLASS, &world->names);
	fd = context_open(NULL, false, &world->problem);
	if (fd < 0)
		return;
	ret = kverbs_query_devices(fd, &world->query, &world->devices);
	world->asked = !ret;
	if (ret)
		world->problem = problem_local(OUTCOME_MODULE, "query", "asking the module", -ret,
					       "read the kernel log", "%s", strerror(-ret));
	close(fd);
}

static void forget(struct world *world)
{
	sysfs_list_free(world->names, world->nr_names);
	free(world->devices);
}

static const struct kverbs_device *known(const struct world *world, const char *name)
{
	__u32 i;

	for (i = 0; world->devices && i < world->query.nr_devices; i++)
		if (!strcmp(world->devices[i].name, name))
			return &world->devices[i];
	return NULL;
}

/* "4: ACTIVE" -> "ACTIVE" */
static const char *behind_number(const char *text)
{
	const char *colon = strstr(text, ": ");

	return colon ? colon + 2 : text;
}

static void port_line(const char *key, const char *format, const char *name,
		      const char *port, const char *file)
{
	char text[128];

	sysfs_text(text, sizeof(text), CLASS "/%s/ports/%s/%s", name, port, file);
	out_str(key, format, *text ? behind_number(text) : "unknown");
}

static void gid_line(const char *name, const char *port, const char *index)
{
	char text[128], type[64], netdev[64], nice[INET6_ADDRSTRLEN];
	__u8 gid[16];

	/* Free places of the table read as zero. */
	if (!sysfs_text(text, sizeof(text), CLASS "/%s/ports/%s/gids/%s", name, port, index) ||
	    inet_pton(AF_INET6, text, gid) != 1 ||
	    !memcmp(gid, &in6addr_any, sizeof(gid)))
		return;
	sysfs_text(type, sizeof(type), CLASS "/%s/ports/%s/gid_attrs/types/%s", name, port, index);
	sysfs_text(netdev, sizeof(netdev), CLASS "/%s/ports/%s/gid_attrs/ndevs/%s", name, port,
		   index);
	out_object(NULL);
	out_num("index", "    GID %-3lld", atoi(index));
	out_str("gid", " %s", inet_ntop(AF_INET6, gid, nice, sizeof(nice)));
	out_str("type", ", %s", *type ? type : NULL);
	out_str("netdev", ", %s", *netdev ? netdev : NULL);
	out_text("\n");
	out_close();
}

/* The netdev of a port is that of its first GID; InfiniBand's GIDs have none. */
static void port_print(const char *name, const char *port)
{
	char path[512], netdev[64], **gids;
	int nr, i;

	sysfs_text(netdev, sizeof(netdev), CLASS "/%s/ports/%s/gid_attrs/ndevs/0", name, port);
	out_object(NULL);
	out_num("port", "  port %lld", atoi(port));
	port_line("state", ": %s", name, port, "state");
	port_line("physical_state", ", %s", name, port, "phys_state");
	port_line("link_layer", ", %s", name, port, "link_layer");
	port_line("rate", ", %s", name, port, "rate");
	out_str("netdev", ", netdev %s", *netdev ? netdev : NULL);
	out_text("\n");
	snprintf(path, sizeof(path), CLASS "/%s/ports/%s/gids", name, port);
	nr = sysfs_list(path, &gids);
	out_array("gids");
	for (i = 0; i < nr; i++)
		gid_line(name, port, gids[i]);
	out_close();
	sysfs_list_free(gids, nr);
	out_close();
}

static void limits_print(const struct kverbs_device *device)
{
	out_object("limits");
	out_num("max_qp_wr", "  limits: %lld work requests a queue", device->max_qp_wr);
	out_num("max_send_sge", ", %lld gather elements", device->max_send_sge);
	out_num("max_cqe", ", %lld completions a queue", device->max_cqe);
	out_num("max_qp", ",\n          %lld queue pairs", device->max_qp);
	out_num("max_mr", ", %lld memory regions", device->max_mr);
	out_num("fast_reg_pages", ", %lld pages a registration", device->fast_reg_pages);
	out_num("max_msg", ",\n          messages of %lld bytes", device->max_msg);
	out_num("comp_vectors", ", %lld completion vectors\n", device->comp_vectors);
	out_close();
}

/* What carries the verbs, when only sysfs can tell. */
static const char *transport_guess(const char *name)
{
	char type[32], layer[32];

	sysfs_text(type, sizeof(type), CLASS "/%s/node_type", name);
	sysfs_text(layer, sizeof(layer), CLASS "/%s/ports/1/link_layer", name);
	if (strstr(type, "RNIC"))
		return kverbs_transport_name(KVERBS_TRANSPORT_IWARP);
	if (!strcmp(layer, "Ethernet"))
		return kverbs_transport_name(KVERBS_TRANSPORT_ROCE);
	if (!strcmp(layer, "InfiniBand"))
		return kverbs_transport_name(KVERBS_TRANSPORT_IB);
	return kverbs_transport_name(KVERBS_TRANSPORT_OTHER);
}

static int node_of(const char *name)
{
	char text[32];

	if (!sysfs_text(text, sizeof(text), CLASS "/%s/device/numa_node", name))
		return -1;
	return atoi(text);
}

static void device_print(const struct world *world, const char *name)
{
	const struct kverbs_device *device = known(world, name);
	int node = device ? device->numa_node : node_of(name);
	char path[512], **ports;
	int nr, i;

	out_object(NULL);
	out_str("name", "%s", name);
	out_str("transport", ": %s", device ? kverbs_transport_name(device->transport) :
					      transport_guess(name));
	out_num("numa_node", node < 0 ? ", NUMA node unknown" : ", NUMA node %lld", node);
	out_bool("usable", device);
	if (device) {
		out_bool("software", device->virt_dma);
		out_text("%s", device->virt_dma ? ", software device" : "");
		out_num("connections", ", %lld connections\n", device->connections);
	} else {
		out_text(world->asked ? ", not usable by kverbs\n" : "\n");
	}
	snprintf(path, sizeof(path), CLASS "/%s/ports", name);
	nr = sysfs_list(path, &ports);
	out_array("ports");
	for (i = 0; i < nr; i++)
		port_print(name, ports[i]);
	out_close();
	sysfs_list_free(ports, nr);
	if (device) {
		features_print("  features:", device->features);
		limits_print(device);
	}
	out_close();
}

/* All devices, or only @only. Returns how many there were. */
static int devices_print(const struct world *world, const char *only)
{
	int shown = 0, i;

	out_array("devices");
	for (i = 0; i < world->nr_names; i++) {
		if (only && strcmp(only, world->names[i]))
			continue;
		device_print(world, world->names[i]);
		shown++;
	}
	out_close();
	return shown;
}

static int devices_run(const struct verb *verb, int argc, char **argv)
{
	int first = options_parse(verb, argc, argv, no_option, NULL);
	struct world world;
	const char *only;
	int shown;

	if (first < 0)
		return -1 - first;
	if (argc - first > 1)
		return fail_usage(verb, "one device at most, not %d", argc - first);
	only = argv[first];
	survey(&world);
	out_begin();
	out_bool("module", world.asked);
	shown = devices_print(&world, only);
	if (!shown && only)
		out_text("There is no RDMA device %s.\n", only);
	else if (!shown)
		out_text("There is no RDMA device. A software one is made by\n"
			 "  modprobe rdma_rxe; rdma link add rxe0 type rxe netdev INTERFACE\n");
	if (!world.asked) {
		out_text("This is what sysfs tells; the module could not be asked for more: %s.\n",
			 world.problem.words.cause);
		problem_object(&world.problem);
	}
	out_end();
	forget(&world);
	return shown ? OUTCOME_OK : OUTCOME_DEVICE;
}

static const struct choice no_choices[] = { { 0 } };

const struct verb devices_verb = {
	.name = "devices",
	.args = "[DEVICE]",
	.summary = "Show the RDMA devices: ports, state, GIDs, features, limits",
	.text = "Without the module the facts of sysfs are shown. Exit code 3 when there is no\n"
		"device.\n",
	.choices = no_choices,
	.run = devices_run,
};

static void state_device(const struct world *world, const char *name)
{
	const struct kverbs_device *device = known(world, name);

	out_object(NULL);
	out_str("name", "             %s", name);
	out_str("transport", ", %s", device ? kverbs_transport_name(device->transport) :
					      transport_guess(name));
	port_line("state", ", port 1 %s", name, "1", "state");
	port_line("netdev", ", %s\n", name, "1", "gid_attrs/ndevs/0");
	out_close();
}

int show_state(void)
{
	char version[64];
	bool loaded = module_version(version, sizeof(version));
	struct world world;
	int i;

	survey(&world);
	out_begin();
	out_bool("loaded", loaded);
	out_text("module       kverbs is %s", loaded ? "loaded" : "not loaded");
	out_str("version", ", version %s", *version ? version : NULL);
	out_text("\n");
	out_bool("usable", world.asked);
	if (world.asked) {
		out_num("abi", "device file  /dev/kverbs usable, interface version %lld\n",
			world.query.abi);
		features_print("features    ", world.query.features);
	} else {
		out_text("device file  " KVERBS_DEVICE_FILE " not usable: %s\n",
			 world.problem.words.cause);
	}
	out_num(NULL, "RDMA         %lld devices (`kverbs devices` tells more)\n", world.nr_names);
	out_array("devices");
	for (i = 0; i < world.nr_names; i++)
		state_device(&world, world.names[i]);
	out_close();
	if (!world.asked) {
		problem_object(&world.problem);
		out_text("next: %s\n", world.problem.words.advice);
	}
	out_end();
	i = world.nr_names;
	forget(&world);
	if (!world.asked)
		return OUTCOME_MODULE;
	return i ? OUTCOME_OK : OUTCOME_DEVICE;
}
