// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Events. The socket also listens to the generic netlink controller, which
 * tells when the module goes and comes back: its group then has another number.
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <netlink/genl/ctrl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <rdma/swiftrdma.h>

#include "io/attr.h"
#include "io/conn.h"

/* A second of QP churn while the reader does something else. */
#define EVENT_ROOM	(8 * 1024 * 1024)

/* Datagrams taken at a time, so that a flood leaves the caller a turn. */
#define TURN	256

struct delivery {
	void (*cb)(const struct snap_event *event, void *arg);
	void *arg;
	int n;
};

static void deliver(struct delivery *d, const struct snap_event *event)
{
	d->cb(event, d->arg);
	d->n++;
}

static int join(struct io *io)
{
	int fd = nl_socket_get_fd(io->events);
	int group, err = srdma_resolve(io);
	struct nl_sock *sk;

	if (err)
		return err;
	sk = nl_socket_alloc();
	group = sk ? genl_connect(sk) : -NLE_NOMEM;
	if (!group)
		group = genl_ctrl_resolve_grp(sk, SWIFTRDMA_GENL_NAME,
					      SWIFTRDMA_MCGRP_EVENTS);
	nl_socket_free(sk);
	if (group < 0)
		return srdma_fail(io, -EIO, "event group: %s",
				  nl_geterror(group));
	if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group,
		       sizeof(group)) < 0) {
		err = -errno;
		return srdma_fail(io, err, "listening to events: %s%s",
				  strerror(-err), err == -EPERM ?
				  " (this needs CAP_NET_ADMIN)" : "");
	}
	return 0;
}

static int open_events(struct io *io)
{
	int room = EVENT_ROOM, group = GENL_ID_CTRL, fd, err;

	io->events = nl_socket_alloc();
	io->event_buf = malloc(SRDMA_BUF);
	if (!io->events || !io->event_buf)
		return srdma_fail(io, -ENOMEM, "out of memory");
	err = genl_connect(io->events);
	if (err)
		return srdma_fail(io, -EIO, "generic netlink: %s",
				  nl_geterror(err));
	fd = nl_socket_get_fd(io->events);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	/* Without it a reload goes unnoticed, which is no reason to fail. */
	setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group,
		   sizeof(group));
	err = join(io);
	return err ? err : fd;
}

int io_events_open(struct io *io)
{
	int fd;

	if (io->events)
		return nl_socket_get_fd(io->events);
	fd = open_events(io);
	if (fd < 0)
		srdma_events_close(io);
	return fd;
}

void srdma_events_close(struct io *io)
{
	nl_socket_free(io->events);
	io->events = NULL;
	free(io->event_buf);
	io->event_buf = NULL;
	free(io->event_actions);
	io->event_actions = NULL;
	io->cap_event_actions = 0;
	snapshot_free(&io->event_snap);
	srdma_owners_free(&io->event_owners);
}

/* Does this message of the controller's speak of our family? */
static bool is_ours(const void *pos, size_t left)
{
	static const char name[] = SWIFTRDMA_GENL_NAME;
	const struct nlattr *a;
	bool bad = false;

	while ((a = srdma_next_attr(&pos, &left, &bad)))
		if ((a->nla_type & NLA_TYPE_MASK) == CTRL_ATTR_FAMILY_NAME)
			return a->nla_len == NLA_HDRLEN + sizeof(name) &&
			       !memcmp((const char *)a + NLA_HDRLEN, name,
				       sizeof(name));
	return false;
}

/* What was heard so far says nothing of the module that comes. */
static void lost(struct delivery *d, const char *why)
{
	deliver(d, &(struct snap_event){ .kind = SNAP_EVENT_LOST, .why = why });
}

static void take_ctrl(struct io *io, uint8_t cmd, struct delivery *d)
{
	if (cmd == CTRL_CMD_DELFAMILY)
		lost(d, "the module was unloaded");
	else if (cmd == CTRL_CMD_NEWFAMILY && !join(io))
		lost(d, "the module was loaded");
}

static bool fill_event(uint8_t cmd, const struct srdma_reading *r,
		       struct snap_event *e)
{
	const struct snapshot *s = r->snap;

	switch (cmd) {
	case SWIFTRDMA_CMD_QP_CREATED_NTF:
	case SWIFTRDMA_CMD_QP_DESTROYED_NTF:
		e->kind = cmd == SWIFTRDMA_CMD_QP_CREATED_NTF ?
			SNAP_EVENT_QP_CREATED : SNAP_EVENT_QP_DESTROYED;
		if (!s->n_qps)
			return false;
		e->qp = &s->qps[0];
		if (snap_has(e->qp, SNAP_OWNER))
			e->owner = &s->owners[e->qp->owner];
		return true;
	case SWIFTRDMA_CMD_ACT_NTF:
		e->kind = SNAP_EVENT_ACTION;
		e->batch = r->batch;
		e->index = r->action_index;
		e->action = r->actions;
		return r->n_actions;
	case SWIFTRDMA_CMD_LEASE_NTF:
		e->kind = SNAP_EVENT_LEASE_END;
		e->lease = r->lease.id;
		e->expired = r->lease.expired;
		return r->has_lease;
	case SWIFTRDMA_CMD_CONGESTION_NTF:
		e->kind = SNAP_EVENT_CONGESTION;
		e->dev = s->devs;
		e->uars = s->uars;
		e->n_uars = s->n_uars;
		return s->n_devs;
	}
	return false;
}

static int take_event(struct io *io, uint8_t cmd, const void *attrs,
		      size_t len, struct delivery *d)
{
	struct snapshot *s = &io->event_snap;
	struct srdma_reading r = {
		.snap = s,
		.qps = &s->qps, .n_qps = &s->n_qps, .cap_qps = &s->cap_qps,
		.owners = &io->event_owners,
		.actions = io->event_actions,
		.cap_actions = io->cap_event_actions,
	};
	struct snap_event e = { 0 };
	int err;

	s->n_devs = s->n_ports = s->n_prios = s->n_uars = s->n_qps = 0;
	s->n_jobs = s->n_owners = 0;
	if (srdma_owners_attach(&io->event_owners, s))
		return srdma_fail(io, -ENOMEM, "out of memory");
	err = srdma_parse(attrs, len, &r);
	io->event_actions = r.actions;
	io->cap_event_actions = r.cap_actions;
	if (err == -ENOMEM)
		return srdma_fail(io, err, "out of memory");
	if (err)
		lost(d, "an event was malformed");
	else if (fill_event(cmd, &r, &e))
		deliver(d, &e);
	return 0;
}

static int take_message(struct io *io, const struct nlmsghdr *nlh,
			struct delivery *d)
{
	const struct genlmsghdr *g = NLMSG_DATA(nlh);
	const char *attrs = (const char *)g + GENL_HDRLEN;
	size_t len = nlh->nlmsg_len;

	if (len < NLMSG_HDRLEN + GENL_HDRLEN)
		return 0;
	len -= NLMSG_HDRLEN + GENL_HDRLEN;
	if (nlh->nlmsg_type == io->family)
		return take_event(io, g->cmd, attrs, len, d);
	if (nlh->nlmsg_type == GENL_ID_CTRL && is_ours(attrs, len))
		take_ctrl(io, g->cmd, d);
	return 0;
}

int io_events_read(struct io *io, void (*cb)(const struct snap_event *, void *),
		   void *arg)
{
	struct delivery d = { .cb = cb, .arg = arg };
	int err = 0;

	if (!io->events)
		return srdma_fail(io, -EBADF, "not listening to events");
	for (int i = 0; i < TURN && !err; i++) {
		ssize_t n = srdma_recv(io->events, io->event_buf, SRDMA_BUF,
				       MSG_DONTWAIT);
		const struct nlmsghdr *nlh = (void *)io->event_buf;

		if (n == -EAGAIN)
			break;
		if (n == -ENOBUFS || n == -EMSGSIZE) {
			lost(&d, "events came faster than they were read");
			continue;
		}
		if (n < 0)
			return srdma_fail(io, n, "netlink receive: %s",
					  strerror(-n));
		while (!err && n >= NLMSG_HDRLEN &&
		       nlh->nlmsg_len >= NLMSG_HDRLEN && nlh->nlmsg_len <= n) {
			size_t step = NLMSG_ALIGN(nlh->nlmsg_len);

			err = take_message(io, nlh, &d);
			n -= step < (size_t)n ? (ssize_t)step : n;
			nlh = (const void *)((const char *)nlh + step);
		}
	}
	return err ? err : d.n;
}
