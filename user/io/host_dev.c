// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reads RDMA devices, their PCI functions, their ports, and the interfaces of the ports. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "io/file.h"
#include "io/host_read.h"

#define CLASS	"sys/class/infiniband"
#define NET	"sys/class/net"

/* Bounds the depth of interfaces that are stacked on others. */
#define DEPTH	4

struct place {
	int root;
	struct host *h;
	uint32_t dev, port;	/* places */
	int depth;
};

/* The path below the device's directory. */
static void dev_path(char *path, size_t cap, const char *dev, const char *rest)
{
	snprintf(path, cap, CLASS "/%s/%s", dev, rest);
}

static uint32_t read_number(int dir, const char *path)
{
	char text[64];

	return srdma_file_text(dir, path, text, sizeof(text)) ? 0 :
		(uint32_t)strtoul(text, NULL, 0);
}

/* --- functions ---------------------------------------------------------------- */

/*
 * The target of the device's link in sysfs contains the device's place on the bus:
 * ".../0000:00:03.0/mlx5_core.sf.2/infiniband/mlx5_2"
 */
static void take_bus(int root, struct host_dev *d)
{
	char path[160], link[PATH_MAX], *part[3] = { NULL }, *s, *save;
	ssize_t n;

	d->function = HOST_SOFTWARE;
	snprintf(path, sizeof(path), CLASS "/%s", d->name);
	n = readlinkat(root, path, link, sizeof(link) - 1);
	if (n <= 0)
		return;
	link[n] = '\0';
	s = strstr(link, "/infiniband/");
	if (!s)
		return;
	*s = '\0';
	for (s = strtok_r(link, "/", &save); s; s = strtok_r(NULL, "/", &save)) {
		part[0] = part[1];
		part[1] = s;
	}
	if (!part[1] || !strcmp(part[1], "virtual"))
		return;
	d->function = HOST_PF;
	if (strstr(part[1], ".sf.")) {
		d->function = HOST_SF;
		part[1] = part[0] ? part[0] : part[1];
	}
	snprintf(d->bus, sizeof(d->bus), "%s", part[1]);
	dev_path(path, sizeof(path), d->name, "device/physfn");
	if (d->function == HOST_PF && !faccessat(root, path, F_OK, 0))
		d->function = HOST_VF;
}

/* --- interfaces --------------------------------------------------------------- */

static void take_port_name(int root, const char *name, struct host_net *net)
{
	char path[96], text[SNAP_NAME];
	const char *s;

	snprintf(path, sizeof(path), NET "/%s/phys_port_name", name);
	if (srdma_file_text(root, path, text, sizeof(text)))
		return;
	/* "pf0vf1", "c1pf0sf88": of a function; "p0" is the port itself */
	s = strstr(text, "pf");
	if (!s)
		return;
	s += 2;
	while (isdigit((unsigned char)*s))
		s++;
	if ((s[0] == 'v' || s[0] == 's') && s[1] == 'f')
		memcpy(net->represents, text, sizeof(text));
}

static int take_cnp_dscp(int root, const char *name, const char *bus)
{
	char path[160], text[32];

	/* NVIDIA's driver has the value in sysfs, the kernel's driver in debugfs. */
	snprintf(path, sizeof(path), NET "/%s/ecn/roce_np/cnp_dscp", name);
	if (srdma_file_text(root, path, text, sizeof(text))) {
		snprintf(path, sizeof(path),
			 "sys/kernel/debug/mlx5/%s/cc_params/np_cnp_dscp", bus);
		if (srdma_file_text(root, path, text, sizeof(text)))
			return -1;
	}
	return isdigit((unsigned char)text[0]) ? atoi(text) : -1;
}

static int take_net(const struct place *p, const char *name)
{
	struct host *h = p->h;
	struct host_net *net = array_next(&h->nets, h->n_nets,
					   &h->cap_nets, sizeof(*net));
	char path[96], text[SNAP_NAME];

	if (!net)
		return -ENOMEM;
	net->port = p->port;
	snprintf(net->name, sizeof(net->name), "%s", name);
	snprintf(path, sizeof(path), NET "/%s/device/driver", net->name);
	srdma_file_link(p->root, path, net->driver, sizeof(net->driver));
	snprintf(path, sizeof(path), NET "/%s/operstate", net->name);
	net->up = !srdma_file_text(p->root, path, text, sizeof(text)) &&
		  (!strcmp(text, "up") || !strcmp(text, "unknown"));
	take_port_name(p->root, net->name, net);
	net->cnp_dscp = take_cnp_dscp(p->root, net->name, h->devs[p->dev].bus);
	h->n_nets++;
	return 0;
}

static int take_below(struct place *p, const char *name);

static int take_lower(int dir, const char *name, void *arg)
{
	struct place *p = arg;

	(void)dir;
	return strncmp(name, "lower_", 6) ? 0 : take_below(p, name + 6);
}

/* Descends to physical interfaces, because a bond or a VLAN has no DCB of its own. */
static int take_below(struct place *p, const char *name)
{
	size_t before = p->h->n_nets;
	char path[96];
	int err = 0;

	snprintf(path, sizeof(path), NET "/%.31s", name);
	if (p->depth < DEPTH) {
		p->depth++;
		err = srdma_file_each(p->root, path, take_lower, p);
		p->depth--;
	}
	if (err || p->h->n_nets > before)
		return err;
	return take_net(p, name);
}

static int take_ndev(int dir, const char *name, void *arg)
{
	struct place *p = arg;
	char text[SNAP_NAME];
	int err;

	if (srdma_file_text(dir, name, text, sizeof(text)) || !text[0])
		return 0;
	err = take_below(p, text);
	/* The interface of the first GID is the port's own. */
	return err ? err : 1;
}

/* --- ports -------------------------------------------------------------------- */

static int take_tclass(int root, const char *dev, uint32_t port)
{
	char path[160], text[256];
	const char *s;

	snprintf(path, sizeof(path),
		 "sys/kernel/config/rdma_cm/%s/ports/%u/default_roce_tos", dev,
		 port);
	if (!srdma_file_text(root, path, text, sizeof(text)) && text[0])
		return atoi(text) & 0xff;
	/* NVIDIA's driver: "Global tclass=106" */
	snprintf(path, sizeof(path), CLASS "/%s/tc/%u/traffic_class", dev, port);
	if (srdma_file_text(root, path, text, sizeof(text)))
		return -1;
	s = strstr(text, "Global tclass=");
	return s ? atoi(s + strlen("Global tclass=")) & 0xff : -1;
}

static int take_port(int dir, const char *name, void *arg)
{
	struct place *p = arg;
	struct host *h = p->h;
	const char *dev = h->devs[p->dev].name;
	struct host_port *port;
	char path[192], text[64];
	int err;

	(void)dir;
	if (!isdigit((unsigned char)name[0]))
		return 0;
	port = array_next(&h->ports, h->n_ports, &h->cap_ports,
			   sizeof(*port));
	if (!port)
		return -ENOMEM;
	port->dev = p->dev;
	port->index = (uint32_t)strtoul(name, NULL, 10);
	snprintf(path, sizeof(path), CLASS "/%s/ports/%.8s/link_layer", dev, name);
	if (!srdma_file_text(p->root, path, text, sizeof(text)))
		port->link_layer = !strcmp(text, "InfiniBand") ? 1 :
				   !strcmp(text, "Ethernet") ? 2 : 0;
	snprintf(path, sizeof(path), CLASS "/%s/ports/%.8s/state", dev, name);
	port->state = read_number(p->root, path);
	port->tclass = take_tclass(p->root, dev, port->index);
	p->port = (uint32_t)h->n_ports++;
	if (port->link_layer != 2)
		return 0;
	snprintf(path, sizeof(path), CLASS "/%s/ports/%.8s/gid_attrs/ndevs", dev,
		 name);
	err = srdma_file_each(p->root, path, take_ndev, p);
	return err < 0 ? err : 0;
}

static int take_dev(int dir, const char *name, void *arg)
{
	struct place *p = arg;
	struct host *h = p->h;
	struct host_dev *d = array_next(&h->devs, h->n_devs,
					 &h->cap_devs, sizeof(*d));
	char path[160];

	(void)dir;
	if (!d)
		return -ENOMEM;
	snprintf(d->name, sizeof(d->name), "%s", name);
	dev_path(path, sizeof(path), d->name, "device/driver");
	srdma_file_link(p->root, path, d->driver, sizeof(d->driver));
	dev_path(path, sizeof(path), d->name, "fw_ver");
	srdma_file_text(p->root, path, d->firmware, sizeof(d->firmware));
	take_bus(p->root, d);
	p->dev = (uint32_t)h->n_devs++;
	dev_path(path, sizeof(path), d->name, "ports");
	return srdma_file_each(p->root, path, take_port, p);
}

int srdma_host_devs(int root, struct host *h)
{
	struct place p = { .root = root, .h = h };

	return srdma_file_each(root, CLASS, take_dev, &p);
}
