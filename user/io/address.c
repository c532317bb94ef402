// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reads the addresses of this host's ports from sysfs; the module does not keep them. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "io/address.h"
#include "io/file.h"

#define TEXT	64

struct list {
	struct pair_addr *addr;
	size_t n, cap;
	int err;
};

static struct pair_addr *add_address(struct list *l, const struct snap_port *port)
{
	struct pair_addr *a = array_next(&l->addr, l->n, &l->cap,
					  sizeof(*a));

	if (!a) {
		l->err = -ENOMEM;
		return NULL;
	}
	a->dev = port->dev;
	a->port = port->index;
	l->n++;
	return a;
}

struct port {
	struct list *list;
	const struct snap_port *snap;
};

/* Reading an empty entry of the GID table fails or gives zeros. */
static int take_gid(int dir, const char *name, void *arg)
{
	static const uint8_t none[sizeof(((struct pair_addr *)0)->gid)];
	const struct port *p = arg;
	uint8_t gid[sizeof(none)];
	struct pair_addr *a;
	char text[TEXT];

	if (srdma_file_text(dir, name, text, sizeof(text)) ||
	    inet_pton(AF_INET6, text, gid) != 1 ||
	    !memcmp(gid, none, sizeof(none)))
		return 0;
	a = add_address(p->list, p->snap);
	if (a)
		memcpy(a->gid, gid, sizeof(a->gid));
	return p->list->err;
}

static unsigned long number_of_file(int dir, const char *name)
{
	char text[TEXT];

	return srdma_file_text(dir, name, text, sizeof(text)) ? 0 :
		strtoul(text, NULL, 0);
}

static void take_lids(struct list *l, const struct snap_port *port, int dir)
{
	unsigned long lid = number_of_file(dir, "lid");
	unsigned long lmc = number_of_file(dir, "lid_mask_count");
	struct pair_addr *a;

	/* 0 is not a LID, and the permissive LID is not specific to a port */
	if (!lid || lid >= 0xffff || lmc > 7)
		return;
	a = add_address(l, port);
	if (!a)
		return;
	a->lid = (uint32_t)lid;
	a->n_lids = 1u << lmc;
}

static const char *dev_name(const struct snapshot *snap, uint32_t index)
{
	for (size_t i = 0; i < snap->n_devs; i++)
		if (snap->devs[i].index == index)
			return snap->devs[i].name;
	return NULL;
}

int srdma_addresses(const char *sys, const struct snapshot *snap,
		    struct pair_addr **addrs, size_t *n)
{
	struct list l = { 0 };

	for (size_t i = 0; i < snap->n_ports && !l.err; i++) {
		const struct snap_port *port = &snap->ports[i];
		const char *name = dev_name(snap, port->dev);
		char path[256];
		int dir, len;

		len = snprintf(path, sizeof(path), "%s/%s/ports/%u", sys,
			       name ? name : "", port->index);
		if (!name || len >= (int)sizeof(path))
			continue;
		dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			continue;
		take_lids(&l, port, dir);
		if (!l.err)
			l.err = srdma_file_each(dir, "gids", take_gid,
						&(struct port){ &l, port });
		close(dir);
	}
	if (l.err) {
		free(l.addr);
		return l.err;
	}
	*addrs = l.addr;
	*n = l.n;
	return 0;
}

int io_addresses(const struct snapshot *snap, struct pair_addr **addrs,
		 size_t *n)
{
	return srdma_addresses("/sys/class/infiniband", snap, addrs, n);
}
