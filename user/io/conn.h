/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The connection and its requests, shared by the files of io. */
#ifndef SRDMA_IO_CONN_H
#define SRDMA_IO_CONN_H

#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#include "io/answer.h"
#include "io/encode.h"
#include "io/notification.h"
#include "io/recording.h"

/* Snapshots that can be updated by a delta. An agent uses two in turn. */
#define SRDMA_KNOWN	4

struct srdma_known {
	const struct snapshot *snap;
	uint64_t generation;
	uint32_t epoch;
	size_t owners;		/* right after the last full dump */
};

struct io {
	struct nl_sock *sk;
	int family;
	uint32_t epoch;		/* number of modules seen; a reload counts */
	uint32_t seq;
	unsigned char *buf;
	char err[768];

	struct srdma_known known[SRDMA_KNOWN];
	unsigned int next_known;
	struct snap_qp *delta;
	size_t n_delta, cap_delta;

	/* For answers whose objects are not wanted. */
	struct snapshot scratch;

	struct nl_sock *events;
	/*
	 * The family of the events. @family stays that of the last request, so that the next request
	 * finds out that the module was loaded anew, and names no lease of the old one.
	 */
	int events_family;
	unsigned char *event_buf;
	struct srdma_notification notification;

	struct recorder *recorder;	/* NULL: nothing is recorded */
	struct srdma_bytes *record;	/* messages of the reading under way */
};

#define SRDMA_BUF	(256 * 1024)
/* Size of the greatest request: a full batch with reasons and decisions. */
#define SRDMA_SEND	(512 * 1024)

/* Sets the message of io_error() and returns @err. */
int srdma_fail(struct io *io, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A request with room for @size bytes of attributes; NULL: out of memory. */
struct nl_msg *srdma_request(struct io *io, int cmd, bool dump, size_t size);

/**
 * srdma_exchange - send a request and read the whole answer
 * @io: the connection
 * @msg: the request
 * @r: receives the objects
 * @again: drops what was read, before an interrupted dump is repeated; NULL: not a dump
 *
 * 0; -errno, with a message; 1: the module was reloaded since the last request, @msg was
 * not sent, and the caller's knowledge of the old module is void.
 */
int srdma_exchange(struct io *io, struct nl_msg *msg, struct srdma_reading *r,
		   void (*again)(struct srdma_reading *r));

/* The same for requests that a reload does not affect. Frees @msg. */
int srdma_call(struct io *io, struct nl_msg *msg, struct srdma_reading *r,
	       void (*again)(struct srdma_reading *r));

/* Prepares @r to read into the scratch snapshot. */
void srdma_reading_scratch(struct io *io, struct srdma_reading *r);

/* The family id of the module that is loaded now. -ENOENT: no module; -EIO. */
int srdma_find_family(struct io *io);
/* Resolves the family id; a new id starts a new epoch. -ENOENT: no module. */
int srdma_resolve(struct io *io);

/* Advice for a module that is not loaded. */
extern const char srdma_not_loaded[];

/*
 * Receives one datagram from the kernel into @buf. Returns its length or -errno. Not libnl's
 * nl_recv(), which allocates a buffer for each and has one error for ENOBUFS, events lost,
 * and ENOMEM.
 */
ssize_t srdma_recv(struct nl_sock *sk, void *buf, size_t cap, int flags);

void srdma_events_close(struct io *io);

#endif /* SRDMA_IO_CONN_H */
