// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reads the virtual lane of each service level of an InfiniBand port. The subnet manager
 * sets this table; the port's own management agent returns it for a directed route MAD
 * without hops (IBA 14.2.5.8).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rdma/ib_user_mad.h>

#include "io/file.h"
#include "io/sl2vl.h"

#define TIMEOUT_MS	1000
#define MAD_BYTES	256

/* Fields of a subnet management MAD (IBA 13.4.3, 14.2.1.2) and their offsets. */
#define CLASS_DIRECTED	0x81
#define METHOD_GET	0x01
#define METHOD_RESPONSE	0x81
#define ATTR_SL2VL	0x17
#define LID_ANY		0xff
#define AT_CLASS	1
#define AT_METHOD	3
#define AT_STATUS	4
#define AT_ATTR		16
#define AT_DATA		64
#define AT_SLID		32	/* and the destination's, both two bytes */

struct packet {
	struct ib_user_mad_hdr head;
	uint8_t mad[MAD_BYTES];
};

struct search {
	const struct host_port *port;
	const char *name;
	char umad[32];
};

static int match_umad(int dir, const char *name, void *arg)
{
	struct search *s = arg;
	char path[64], dev[SNAP_DEVNAME], port[16];

	if (strncmp(name, "umad", 4) || strlen(name) >= sizeof(s->umad))
		return 0;
	snprintf(path, sizeof(path), "%.31s/ibdev", name);
	if (srdma_file_text(dir, path, dev, sizeof(dev)) || strcmp(dev, s->name))
		return 0;
	snprintf(path, sizeof(path), "%.31s/port", name);
	if (srdma_file_text(dir, path, port, sizeof(port)) ||
	    strtoul(port, NULL, 10) != s->port->index)
		return 0;
	strcpy(s->umad, name);
	return 1;
}

static int exchange_mad(int fd, struct packet *p)
{
	struct ib_user_mad_reg_req reg = {
		.mgmt_class = CLASS_DIRECTED, .mgmt_class_version = 1,
	};
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	ssize_t n;

	if (ioctl(fd, IB_USER_MAD_ENABLE_PKEY) ||
	    ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &reg))
		return -errno;
	p->head.id = reg.id;
	if (write(fd, p, sizeof(*p)) != sizeof(*p))
		return -errno;
	if (poll(&wait, 1, 2 * TIMEOUT_MS) <= 0)
		return -ETIMEDOUT;
	n = read(fd, p, sizeof(*p));
	if (n < 0)
		return -errno;
	return p->head.status ? -(int)p->head.status :
	       n < (ssize_t)sizeof(*p) ? -EBADMSG : 0;
}

static int query_sl2vl(int fd, uint8_t *vl)
{
	struct packet p = {
		.head = { .timeout_ms = TIMEOUT_MS },
		.mad = {
			[0] = 1, [AT_CLASS] = CLASS_DIRECTED, [2] = 1,
			[AT_METHOD] = METHOD_GET, [AT_ATTR + 1] = ATTR_SL2VL,
			[AT_SLID] = LID_ANY, [AT_SLID + 1] = LID_ANY,
			[AT_SLID + 2] = LID_ANY, [AT_SLID + 3] = LID_ANY,
		},
	};
	int err;

	p.head.lid = 0xffff;
	err = exchange_mad(fd, &p);
	if (err)
		return err;
	/* The uppermost bit of the status is the direction. */
	if (p.mad[AT_METHOD] != METHOD_RESPONSE ||
	    p.mad[AT_STATUS] & 0x7f || p.mad[AT_STATUS + 1])
		return -EOPNOTSUPP;
	for (int sl = 0; sl < HOST_SLS; sl++)
		vl[sl] = p.mad[AT_DATA + sl / 2] >> (sl % 2 ? 0 : 4) & 0xf;
	return 0;
}

void srdma_sl2vl(struct host_port *port, const char *name)
{
	struct search s = { .port = port, .name = name };
	char path[64];
	int fd;

	srdma_file_each(AT_FDCWD, "/sys/class/infiniband_mad", match_umad, &s);
	if (!s.umad[0]) {
		port->sl2vl_error = -ENOENT;
		return;
	}
	snprintf(path, sizeof(path), "/dev/infiniband/%s", s.umad);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		port->sl2vl_error = -errno;
		return;
	}
	port->sl2vl_error = query_sl2vl(fd, port->sl2vl);
	close(fd);
}
