/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Snapshots in a file, to be replayed: what policies would have done is worked
 * out from them as from a live device.
 *
 * The file is a header and records, each with its length and zlib's crc32. A
 * record is a snapshot as differences from the one before: of each object a mask
 * of the members that moved, then those, in numbers of variable length; what
 * stands still takes a byte an object. A file that ends in the middle of a
 * record, as after a crash, is read up to the last whole one.
 *
 * All of a snapshot is kept (record_fields.c), but for the rules of jobs: they
 * say who belongs to a job, which each QP has. A replay has no use for them.
 */
#ifndef SRDMA_SIM_RECORD_H
#define SRDMA_SIM_RECORD_H

#include <stdio.h>

#include "core/snapshot.h"

#define RECORD_VERSION	4

struct record {
	FILE *f;
	struct snapshot last;	/* what the next record is a difference from */
	unsigned char *buf;
	size_t len, cap;
	unsigned int version;
	const char *problem;	/* why reading ended, if not at the end */
};

/* @f stays the caller's. 0 or -errno. */
int record_begin(struct record *r, FILE *f);
/* Whole or not at all, and flushed. 0 or -errno; -EFBIG: no reader would take it. */
int record_write(struct record *r, const struct snapshot *s);
/* -EINVAL: no recording; -EPROTONOSUPPORT: of another version, r->version. */
int record_open(struct record *r, FILE *f);
/* 1: r->last is the next snapshot; 0: there is none; -ENOMEM. */
int record_next(struct record *r);
void record_end(struct record *r);

/* Of snapshots made here: all their arrays. */
void record_snapshot_free(struct snapshot *s);

#endif /* SRDMA_SIM_RECORD_H */
