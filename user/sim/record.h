/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Snapshots and events in a file, to be replayed: what policies would have done is
 * worked out from them as from a live device.
 *
 * The file is a header and records, each with its length and zlib's crc32, and a
 * number first that says what it is. A record is a snapshot, or an event, as
 * differences from the one before: of each object a mask of the members that
 * moved, then those, in numbers of variable length; what stands still takes a byte
 * an object. A file that ends in the middle of a record, as after a crash, is read
 * up to the last whole one. Versions 3 and 4 had snapshots alone, without that number;
 * members that came since stand behind the others of their object.
 *
 * All of a snapshot is kept (record_fields.c), but for the rules of jobs: they
 * say who belongs to a job, which each QP has. A replay has no use for them.
 */
#ifndef SRDMA_SIM_RECORD_H
#define SRDMA_SIM_RECORD_H

#include <stdio.h>

#include "core/event.h"
#include "sim/record_code.h"

#define RECORD_VERSION	7
#define RECORD_READINGS_ONLY 4	/* the last without events */
#define RECORD_OLDEST	3	/* that is read */

/* What comes next in a file. */
enum record_what {
	RECORD_END,
	RECORD_READING,
	RECORD_EVENT,
};

/* An event, with all that it points to. */
struct record_event {
	struct record_event_head head;
	struct snap_qp qp;
	struct snap_owner owner;
	struct snap_action action;
	struct snap_decision decision;	/* the last there was */
	struct snap_dev dev;
	struct snap_uar *uars;
	size_t n_uars;		/* there is room for */
	struct snap_event e;
};

struct record {
	FILE *f;
	/* what the next of the kind is a difference from */
	struct snapshot last;
	struct record_event event;
	struct record_buf buf;
	unsigned int version;
	const char *problem;	/* why reading ended, if not at the end */
};

/* @f stays the caller's. 0 or -errno. */
int record_begin(struct record *r, FILE *f);
/* Whole or not at all, and flushed. 0 or -errno; -EFBIG: no reader would take it. */
int record_write(struct record *r, const struct snapshot *s);
/* Events come in swarms: flushed with the next snapshot, or by record_flush(). */
int record_write_event(struct record *r, uint64_t time, const struct snap_event *e);
int record_flush(struct record *r);
/* -EINVAL: no recording; -EPROTONOSUPPORT: of another version, r->version. */
int record_open(struct record *r, FILE *f);
/* enum record_what: r->last or r->event is the next; or -ENOMEM. */
int record_next(struct record *r);
void record_end(struct record *r);

/* Of snapshots made here: all their arrays. */
void record_snapshot_free(struct snapshot *s);

#endif /* SRDMA_SIM_RECORD_H */
