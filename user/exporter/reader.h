/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The exporter is two processes. The reader keeps CAP_NET_ADMIN, which the module requires
 * for reading jobs and other users' QPs; it reads and can be asked for nothing else. The
 * exporter proper, which speaks HTTP and TLS, has no capability at all.
 *
 * They share a stream socket. A byte from the exporter asks for a reading. The reader answers
 * with one READING or FAILED, and sends EVENTs as they come. Both processes are one program,
 * so messages are structures as they lie in memory.
 */
#ifndef SRDMA_EXPORTER_READER_H
#define SRDMA_EXPORTER_READER_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/event.h"

#define READER_WHY	256

enum reader_kind {
	READER_READING,		/* struct reader_head, a snapshot (snap_copy.h), .n actions */
	READER_FAILED,		/* struct reader_head */
	READER_EVENT,		/* struct reader_head, struct reader_event */
};

struct reader_head {
	uint32_t kind;		/* enum reader_kind */
	int32_t error;		/* FAILED: -errno */
	char why[READER_WHY];	/* FAILED */
	uint64_t took;		/* READING: ns */
	uint64_t cpu;		/* CPU time of the reader so far, ns */
	uint64_t n;		/* READING: actions that follow the snapshot */
	bool has_actions;	/* READING; false: the reader may not read what is in force, or cannot */
};

/* An event that concerns decisions and leases. Events of QPs stay in the reader. */
struct reader_event {
	uint32_t kind;		/* enum snap_event_kind: ACTION, LEASE_END, CONGESTION or LOST */
	uint32_t index;
	uint64_t batch, lease;
	bool expired;
	struct snap_action action;	/* ACTION */
};

/* Starts the reader. Returns the exporter's end of the socket, or -errno. */
int reader_start(pid_t *pid);

#endif /* SRDMA_EXPORTER_READER_H */
