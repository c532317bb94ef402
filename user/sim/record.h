/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Snapshots in a file, to be replayed: what policies would have done is worked
 * out from them as from a live device.
 *
 * The file is a header and records, each with its length and a checksum. A record
 * is a snapshot as differences from the one before, in numbers of variable
 * length: what stands still takes a byte a field. A file that ends in the middle
 * of a record, as after a crash, is read up to the last whole one. Rules of jobs
 * are not kept: they say who belongs to a job, which the snapshot knows.
 */
#ifndef SRDMA_SIM_RECORD_H
#define SRDMA_SIM_RECORD_H

#include <stdio.h>

#include "core/snapshot.h"

#define RECORD_VERSION	1

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
/* Whole or not at all, and flushed. */
int record_write(struct record *r, const struct snapshot *s);
/* -EINVAL: not such a file, or of a version that is not understood. */
int record_open(struct record *r, FILE *f);
/* 1: r->last is the next snapshot; 0: there is none; -ENOMEM. */
int record_next(struct record *r);
void record_end(struct record *r);

/* Of snapshots made here: all their arrays. */
void record_snapshot_free(struct snapshot *s);

#endif /* SRDMA_SIM_RECORD_H */
