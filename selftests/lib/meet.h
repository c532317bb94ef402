/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * How the two ends of a test's connection meet: by TCP, and by rdma_cm. One of them listens. Functions
 * return 0 or -errno, and have reported an error on stderr.
 */
#ifndef SELFTESTS_MEET_H
#define SELFTESTS_MEET_H

#include <stddef.h>
#include <rdma/rdma_cma.h>

/* A TCP connection to @host, or if that is NULL the first one that comes. Its descriptor or -errno. */
int meet(int port, const char *host);

struct cm_end {
	struct rdma_event_channel *events;
	struct rdma_cm_id *id, *listener;	/* .listener: of the end that listens */
	char from_peer[64];
	size_t from_peer_len;
};

/*
 * Until the end knows its device, which then is @e->id->verbs. @address is that of the end that listens;
 * @listens: this one.
 */
int cm_open(struct cm_end *e, const char *address, const char *port, int listens);
/* With the QP of @e->id made. Gives the peer @n bytes, 56 at most, and takes as many from it. */
int cm_connect(struct cm_end *e, const void *mine, void *theirs, size_t n);
/* Ends the connection, and waits until the peer has heard of it or ended it, too. */
int cm_disconnect(struct cm_end *e);
/* With the QP destroyed. */
void cm_close(struct cm_end *e);

#endif
