/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Where readings come from: the reader process, or a recording (swiftrdma record). */
#ifndef SRDMA_EXPORTER_SOURCE_H
#define SRDMA_EXPORTER_SOURCE_H

#include "exporter/reader.h"

enum source_kind {
	SOURCE_NOTHING,		/* nothing more now */
	SOURCE_READING,		/* source.snap and .actions were read anew */
	SOURCE_FAILED,		/* source.error, .why */
	SOURCE_EVENT,		/* source.event */
	SOURCE_DAMAGED,		/* the recording cannot be read further; source.why; only once */
};

struct player;

struct source {
	struct snapshot snap;
	struct snap_action *actions;	/* in force; a recording has none */
	size_t n_actions, cap_actions;
	bool has_actions;
	struct reader_event event;
	uint64_t at;			/* of the event, as times of snapshots, ns */
	int error;
	char why[READER_WHY];
	uint64_t took, cpu;		/* ns; of the reader */
	/*
	 * The time of day at time 0 of the snapshots, ns. A recording has no time of day: its
	 * first reading is as if it were made when the recording was opened.
	 */
	int64_t epoch;

	/* The reader. */
	int fd;				/* -1: a recording */
	pid_t pid;
	bool asked;			/* a reading is on its way */
	/* A recording. */
	struct player *player;
	void *file;			/* FILE */
	double speed;			/* 0: all of it at once */
	uint64_t opened, first;		/* time of its opening; time of its first reading */
	int ahead;			/* enum player_what that was read and is not due yet */
	bool ended;
};

/* Starts the reader. 0 or -errno. */
int source_open_module(struct source *s);
/* 0; -errno, with a message in s->why. @speed: 1 as recorded; 0: all at once. */
int source_open_recording(struct source *s, const char *path, double speed);
void source_close(struct source *s);

/* Asks for a reading, unless one is on its way. 0 or -errno. */
int source_ask(struct source *s);
/*
 * Takes the next item: enum source_kind, or -errno if there will be no more. With the reader, the
 * caller first waits until .fd is readable. A recording gives items only after source_ask().
 */
int source_next(struct source *s);

#endif /* SRDMA_EXPORTER_SOURCE_H */
