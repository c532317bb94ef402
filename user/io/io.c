// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The connection: sends requests, receives answers, explains errors. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rdma/swiftrdma.h>

#include "io/conn.h"
#include "io/query.h"

/* Attempts at a dump that is interrupted by changes. */
#define TRIES	8

const char srdma_not_loaded[] =
	"swiftrdma.ko is not loaded; as root: modprobe swiftrdma, or insmod swiftrdma.ko";

int srdma_fail(struct io *io, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(io->err, sizeof(io->err), fmt, ap);
	va_end(ap);
	return err;
}

const char *io_error(const struct io *io)
{
	return io ? io->err : "out of memory";
}

/*
 * The query has a socket of its own, because io->sk may hold the rest of an earlier answer, and
 * libnl checks sequence numbers.
 */
int srdma_find_family(struct io *io)
{
	int family = srdma_query_family(SWIFTRDMA_GENL_NAME);

	if (family == -NLE_OBJ_NOTFOUND)
		return srdma_fail(io, -ENOENT, "%s", srdma_not_loaded);
	if (family < 0)
		return srdma_fail(io, -EIO, "generic netlink: %s",
				  nl_geterror(family));
	return family;
}

int srdma_resolve(struct io *io)
{
	int family = srdma_find_family(io);

	if (family < 0)
		return family;
	if (family != io->family)
		io->epoch++;
	io->family = family;
	return 0;
}

static int open_socket(struct io *io)
{
	int one = 1, room = SRDMA_SEND, fd, err;

	io->sk = nl_socket_alloc();
	if (!io->sk)
		return srdma_fail(io, -ENOMEM, "out of memory");
	err = genl_connect(io->sk);
	if (err)
		return srdma_fail(io, -EIO, "generic netlink: %s",
				  nl_geterror(err));
	fd = nl_socket_get_fd(io->sk);
	/* Ask for extack messages, and for errors without a copy of the request. */
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
	/* A full batch exceeds libnl's default of 32 KiB, and may exceed the host's limit. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	return 0;
}

int io_open(struct io **out)
{
	struct io *io = calloc(1, sizeof(*io));
	int err;

	*out = io;
	if (!io)
		return -ENOMEM;
	io->buf = malloc(SRDMA_BUF);
	if (!io->buf)
		return srdma_fail(io, -ENOMEM, "out of memory");
	err = open_socket(io);
	if (!err)
		err = srdma_resolve(io);
	return err;
}

void io_close(struct io *io)
{
	if (!io)
		return;
	srdma_events_close(io);
	nl_socket_free(io->sk);
	snapshot_free(&io->scratch);
	free(io->delta);
	free(io->buf);
	free(io);
}

struct nl_msg *srdma_request(struct io *io, int cmd, bool dump, size_t size)
{
	struct nl_msg *msg;
	int flags = NLM_F_REQUEST | (dump ? NLM_F_DUMP : NLM_F_ACK);

	msg = nlmsg_alloc_size(NLMSG_HDRLEN + GENL_HDRLEN + size);
	if (msg && !genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, io->family, 0,
				flags, cmd, SWIFTRDMA_GENL_VERSION)) {
		nlmsg_free(msg);
		msg = NULL;
	}
	if (!msg)
		srdma_fail(io, -ENOMEM, "out of memory");
	return msg;
}

ssize_t srdma_recv(struct nl_sock *sk, void *buf, size_t cap, int flags)
{
	struct sockaddr_nl from;
	struct iovec iov = { buf, cap };
	struct msghdr hdr = {
		.msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};
	ssize_t n;

	do {
		n = recvmsg(nl_socket_get_fd(sk), &hdr, flags);
		/* Skip datagrams of other processes, which may send to this socket too. */
	} while (n < 0 ? errno == EINTR : from.nl_pid != 0);
	if (n < 0)
		return -errno;
	return hdr.msg_flags & MSG_TRUNC ? -EMSGSIZE : n;
}

/* Builds the message from the kernel's error, its extack and the attribute's name. */
static int explain_error(struct io *io, struct nl_msg *msg,
			 const struct srdma_answer *a)
{
	const struct nlmsghdr *nlh = nlmsg_hdr(msg);
	const char *what = "attribute";
	char name[128] = "";

	if (a->has_missing) {
		what = "missing";
		srdma_missing_name(nlh, nlh->nlmsg_len,
				   a->has_missing_nest ? a->missing_nest : 0,
				   a->missing, name, sizeof(name));
	} else if (a->has_offset) {
		srdma_attr_name(nlh, nlh->nlmsg_len, a->offset, name,
				sizeof(name));
	}
	if (name[0])
		return srdma_fail(io, a->error, "%s (%s: %s)",
				  a->message[0] ? a->message
						: strerror(-a->error),
				  what, name);
	if (!a->message[0] && a->error == -EPERM)
		return srdma_fail(io, a->error,
				  "permission denied: this needs CAP_NET_ADMIN (root)");
	return srdma_fail(io, a->error, "%s",
			  a->message[0] ? a->message : strerror(-a->error));
}

/*
 * An unused family id gives -ENOENT without extack, a missing object -ENOENT with one.
 */
static bool maybe_gone(const struct srdma_answer *a)
{
	return a->error == -ENOENT && !a->message[0];
}

static int after_loss(struct io *io, struct nl_msg *msg,
		      const struct srdma_answer *a)
{
	uint32_t epoch = io->epoch;
	int err = srdma_resolve(io);

	if (err == -ENOENT)
		return srdma_fail(io, -ENODEV,
				  "the module was unloaded: %s",
				  srdma_not_loaded);
	if (err)
		return err;
	return io->epoch != epoch ? 1 : explain_error(io, msg, a);
}

/* Keeps messages that are sent or received while a reading is recorded. */
static int keep_bytes(struct io *io, const void *p, size_t len)
{
	if (!io->record || !srdma_bytes_add(io->record, p, len))
		return 0;
	return srdma_fail(io, -ENOMEM, "out of memory");
}

static int send_request(struct io *io, struct nl_msg *msg)
{
	struct nlmsghdr *nlh = nlmsg_hdr(msg);

	nlh->nlmsg_seq = ++io->seq;
	if (send(nl_socket_get_fd(io->sk), nlh, nlh->nlmsg_len, 0) < 0)
		return srdma_fail(io, -errno, "netlink send: %s",
				  strerror(errno));
	return keep_bytes(io, nlh, nlh->nlmsg_len);
}

static int exchange_once(struct io *io, struct nl_msg *msg,
			 struct srdma_reading *r, struct srdma_answer *a)
{
	int err = send_request(io, msg);

	memset(a, 0, sizeof(*a));
	while (!err && !a->done) {
		ssize_t n = srdma_recv(io->sk, io->buf, SRDMA_BUF, 0);

		if (n < 0)
			return srdma_fail(io, n, "netlink receive: %s",
					  strerror(-n));
		err = keep_bytes(io, io->buf, n);
		if (err)
			return err;
		err = srdma_answer(io->buf, n, nlmsg_hdr(msg)->nlmsg_type,
				   io->seq, r, a);
		if (err)
			srdma_fail(io, err, "%s", err == -ENOMEM ?
				   "out of memory" :
				   "the module's answer is malformed");
	}
	return err;
}

int srdma_exchange(struct io *io, struct nl_msg *msg, struct srdma_reading *r,
		   void (*again)(struct srdma_reading *r))
{
	struct srdma_answer a;
	int err;

	for (int i = 0; i < TRIES; i++) {
		err = exchange_once(io, msg, r, &a);
		if (!err && maybe_gone(&a))
			return after_loss(io, msg, &a);
		if (!err && a.error)
			err = explain_error(io, msg, &a);
		/* -ENOBUFS: the kernel dropped an answer for lack of memory. */
		if (err != -ENOBUFS && (err || !a.interrupted))
			return err;
		if (!again)
			return err;
		again(r);
	}
	return srdma_fail(io, -EAGAIN,
			  "interrupted by changes %d times in a row", TRIES);
}

int srdma_call(struct io *io, struct nl_msg *msg, struct srdma_reading *r,
	       void (*again)(struct srdma_reading *r))
{
	int err = srdma_exchange(io, msg, r, again);

	if (err == 1) {
		nlmsg_hdr(msg)->nlmsg_type = io->family;
		err = srdma_exchange(io, msg, r, again);
	}
	nlmsg_free(msg);
	return err == 1 ? -EAGAIN : err;
}

void srdma_reading_scratch(struct io *io, struct srdma_reading *r)
{
	struct snapshot *s = &io->scratch;

	s->n_devs = s->n_ports = s->n_prios = s->n_uars = s->n_qps = 0;
	s->n_jobs = s->n_owners = 0;
	*r = (struct srdma_reading){
		.snap = s,
		.qps = &s->qps, .n_qps = &s->n_qps, .cap_qps = &s->cap_qps,
	};
}
