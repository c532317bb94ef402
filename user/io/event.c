// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Events of the module. The socket also listens to the generic netlink controller, which
 * announces the unloading and loading of the module; after that the module's group has
 * another id.
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <netlink/genl/ctrl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <rdma/swiftrdma.h>

#include "io/conn.h"
#include "io/recorder.h"

/* Receive buffer, enough for a second of QP churn. */
#define EVENT_ROOM	(8 * 1024 * 1024)

/* Datagrams per call at most, so that a flood of events cannot starve the caller. */
#define TURN	256

struct delivery {
	void (*cb)(const struct snap_event *event, void *arg);
	void *arg;
	int n;
};

static void deliver_event(struct delivery *d, const struct snap_event *event)
{
	d->cb(event, d->arg);
	d->n++;
}

static int join_groups(struct io *io)
{
	int fd = nl_socket_get_fd(io->events);
	int group, err, family = srdma_find_family(io);
	struct nl_sock *sk;

	if (family < 0)
		return family;
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
	io->events_family = family;
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
	/* Without the controller's group reloads go unnoticed; that is no reason to fail. */
	setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group,
		   sizeof(group));
	err = join_groups(io);
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
	srdma_notification_free(&io->notification);
}

/* Is this message of the controller about the module's family? */
static bool is_ours(const struct nlmsghdr *nlh)
{
	const struct nlattr *name = nlmsg_find_attr((struct nlmsghdr *)nlh, GENL_HDRLEN,
						    CTRL_ATTR_FAMILY_NAME);

	return name && !nla_strcmp(name, SWIFTRDMA_GENL_NAME);
}

static uint8_t genl_command(const struct nlmsghdr *nlh)
{
	return ((const struct genlmsghdr *)nlmsg_data(nlh))->cmd;
}

/* Tells the caller to read a snapshot: events are missing. */
static void report_loss(struct io *io, struct delivery *d, const char *why)
{
	if (io->recorder)
		srdma_recorder_lost(io->recorder, why);
	deliver_event(d, &(struct snap_event){ .kind = SNAP_EVENT_LOST, .why = why });
}

static void take_ctrl(struct io *io, uint8_t cmd, struct delivery *d)
{
	if (cmd == CTRL_CMD_DELFAMILY)
		report_loss(io, d, "the module was unloaded");
	else if (cmd == CTRL_CMD_NEWFAMILY && !join_groups(io))
		report_loss(io, d, "the module was loaded");
}

static int take_event(struct io *io, const struct nlmsghdr *nlh, struct delivery *d)
{
	int got = srdma_notification_parse(&io->notification, genl_command(nlh),
					   nlmsg_attrdata(nlh, GENL_HDRLEN),
					   (size_t)nlmsg_attrlen(nlh, GENL_HDRLEN));

	if (got == -ENOMEM)
		return srdma_fail(io, got, "out of memory");
	if (got < 0) {
		report_loss(io, d, "an event was malformed");
	} else if (got) {
		if (io->recorder)
			srdma_recorder_event(io->recorder, nlh);
		deliver_event(d, &io->notification.event);
	}
	return 0;
}

static int take_message(struct io *io, const struct nlmsghdr *nlh,
			struct delivery *d)
{
	if (!nlmsg_valid_hdr(nlh, GENL_HDRLEN))
		return 0;
	if (nlh->nlmsg_type == io->events_family)
		return take_event(io, nlh, d);
	if (nlh->nlmsg_type == GENL_ID_CTRL && is_ours(nlh))
		take_ctrl(io, genl_command(nlh), d);
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
		struct nlmsghdr *nlh = (void *)io->event_buf;
		int left;

		if (n == -EAGAIN)
			break;
		if (n == -ENOBUFS || n == -EMSGSIZE) {
			report_loss(io, &d, "events came faster than they were read");
			continue;
		}
		if (n < 0)
			return srdma_fail(io, n, "netlink receive: %s",
					  strerror(-n));
		for (left = (int)n; nlmsg_ok(nlh, left) && !err;
		     nlh = nlmsg_next(nlh, &left))
			err = take_message(io, nlh, &d);
	}
	return err ? err : d.n;
}
