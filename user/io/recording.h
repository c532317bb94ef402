/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Recordings: netlink messages of the module in a file, with their times. A player
 * parses them as the live connection does. Documentation/man/swiftrdma-recording.5
 * describes the file byte by byte:
 *
 *	file	= "SRDMArec", version (u32), record ...
 *	record	= length (u32), crc32 (u32), length bytes of the deflate stream
 *
 * The records of a file are one deflate stream, flushed (Z_SYNC_FLUSH) after each
 * record: what an earlier record had costs little in a later one, and each record can
 * be read as soon as it is written. Inflated, a record is
 *
 *	kind (u32, enum recording_kind), 0 (u32), time (u64), messages or text
 *
 * A file that ends inside a record, as after a crash, is read up to the last whole one.
 */
#ifndef SRDMA_IO_RECORDING_H
#define SRDMA_IO_RECORDING_H

#include <stdio.h>

#include "core/event.h"

#define RECORDING_VERSION	8

enum recording_kind {
	RECORDING_READING = 1,	/* a snapshot: requests, each with its answers */
	RECORDING_EVENT,	/* one notification */
	RECORDING_LOST,		/* events are missing: why, in words */
};

/* --- writing --------------------------------------------------------------------- */

struct recorder;
struct io;

/* The caller closes @f after the recorder. NULL, with errno. */
struct recorder *recorder_open(FILE *f);
/* 0 or the error that recorder_flush() would return. */
int recorder_close(struct recorder *r);

/*
 * Records the snapshots and events that are read from @io to @r; NULL: no longer. Each
 * recorded snapshot may be a delta to the one before it, so while @io is recorded all its
 * snapshots must be unfiltered and read into one struct snapshot.
 */
void io_record(struct io *io, struct recorder *r);

/*
 * Records data that no kernel sent: a made-up snapshot, as the messages that a kernel would
 * have sent, and a loss of events, as a reason. recorder_flush() returns the error of a
 * write.
 */
void recorder_snapshot(struct recorder *r, const struct snapshot *s);
void recorder_lost(struct recorder *r, uint64_t time, const char *why);

/*
 * Writes events to the file. They come in bursts, and otherwise reach the file with the next
 * snapshot.
 */
int recorder_flush(struct recorder *r);

/* Writes a record of any content; for io, and for tests that play the kernel. */
void recorder_put(struct recorder *r, enum recording_kind kind, uint64_t time,
		  const void *content, size_t len);

/* --- reading --------------------------------------------------------------------- */

enum player_what {
	PLAYER_END,
	PLAYER_READING,		/* the next snapshot is in player_snapshot() */
	PLAYER_EVENT,		/* player_event() has the next event, or a loss of events */
};

struct player;

/*
 * The caller closes @f after the player. -EINVAL: not a recording; -EPROTONOSUPPORT: its
 * version, *@version (may be NULL), is another; -ENOMEM
 */
int player_open(struct player **p, FILE *f, uint32_t *version);
void player_close(struct player *p);

/* enum player_what, or -ENOMEM. */
int player_next(struct player *p);
/* The time of the last record, ns. */
uint64_t player_time(const struct player *p);
const struct snapshot *player_snapshot(const struct player *p);
const struct snap_event *player_event(const struct player *p);

/*
 * Why reading ended before the end of the file, and at which byte. NULL: the whole file was
 * read.
 */
const char *player_problem(const struct player *p, uint64_t *offset);

#endif /* SRDMA_IO_RECORDING_H */
