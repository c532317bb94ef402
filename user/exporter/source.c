// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/source.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exporter/clock.h"
#include "exporter/snap_copy.h"
#include "io/io.h"
#include "io/recording.h"

#define CLOCK_STEP	1000000000LL	/* ns */

int source_open_module(struct source *s)
{
	*s = (struct source){ .fd = -1 };
	s->epoch = clock_epoch();
	s->fd = reader_start(&s->pid);
	return s->fd < 0 ? s->fd : 0;
}

/* Puts into .why what ended the recording before the end of its file. False: nothing did. */
static bool explain_end(struct source *s, const char *more)
{
	uint64_t at;
	const char *problem = player_problem(s->player, &at);

	if (problem)
		snprintf(s->why, sizeof(s->why), "byte %llu: %s; %s", (unsigned long long)at,
			 problem, more);
	return problem;
}

/* Finds the first reading, from which the recording's times count. */
static int find_first(struct source *s)
{
	do {
		s->ahead = player_next(s->player);
	} while (s->ahead == PLAYER_EVENT);
	if (s->ahead < 0)
		return s->ahead;
	if (s->ahead == PLAYER_END)
		return -ENODATA;
	s->first = player_time(s->player);
	s->epoch = (int64_t)clock_realtime() - (int64_t)s->first;
	return 0;
}

int source_open_recording(struct source *s, const char *path, double speed)
{
	uint32_t version;
	int err;

	*s = (struct source){ .fd = -1, .speed = speed };
	s->file = fopen(path, "re");
	if (!s->file) {
		err = -errno;
		snprintf(s->why, sizeof(s->why), "%s", strerror(-err));
		return err;
	}
	err = player_open(&s->player, s->file, &version);
	if (err == -EPROTONOSUPPORT)
		snprintf(s->why, sizeof(s->why),
			 "the recording has version %u, and this exporter reads version %d only",
			 version, RECORDING_VERSION);
	else if (err == -EINVAL)
		snprintf(s->why, sizeof(s->why), "not a recording of swiftrdma record");
	if (!err) {
		err = find_first(s);
		if (err == -ENODATA && !explain_end(s, "no reading comes before it"))
			snprintf(s->why, sizeof(s->why), "the recording has no reading");
	}
	if (err && !s->why[0])
		snprintf(s->why, sizeof(s->why), "%s", strerror(-err));
	s->opened = clock_monotonic();
	return err;
}

void source_close(struct source *s)
{
	if (s->fd >= 0) {
		close(s->fd);
		/* A stopped reader does not notice that. A reader only reads, so it may be killed at any time. */
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, 0);
	}
	player_close(s->player);
	if (s->file)
		fclose(s->file);
	snapshot_free(&s->snap);
	free(s->actions);
	*s = (struct source){ .fd = -1 };
}

int source_ask(struct source *s)
{
	if (s->asked)
		return 0;
	s->asked = true;
	return s->fd >= 0 ? send_bytes(s->fd, "r", 1) : 0;
}

/*
 * Follows a step of the clock, but not the drift between the clocks: each change of a start time
 * looks like a counter that restarted.
 */
static void follow_clock(struct source *s)
{
	int64_t now = clock_epoch();

	if (llabs(now - s->epoch) > CLOCK_STEP)
		s->epoch = now;
}

static int receive_reading(struct source *s, const struct reader_head *h)
{
	int err = snap_receive(s->fd, &s->snap);

	if (!err && !array_reserve(&s->actions, &s->cap_actions, h->n, sizeof(*s->actions)))
		err = -ENOMEM;
	if (!err)
		err = receive_bytes(s->fd, s->actions, h->n * sizeof(*s->actions));
	s->n_actions = err ? 0 : h->n;
	s->has_actions = !err && h->has_actions;
	s->took = h->took;
	s->asked = false;
	follow_clock(s);
	return err ? err : SOURCE_READING;
}

static int next_of_reader(struct source *s)
{
	struct reader_head h;
	int err = receive_bytes(s->fd, &h, sizeof(h));

	if (err)
		return err;
	s->cpu = h.cpu;
	switch (h.kind) {
	case READER_READING:
		return receive_reading(s, &h);
	case READER_EVENT:
		err = receive_bytes(s->fd, &s->event, sizeof(s->event));
		s->at = clock_monotonic();
		return err ? err : SOURCE_EVENT;
	}
	s->asked = false;
	s->error = h.error;
	memcpy(s->why, h.why, sizeof(s->why));
	return SOURCE_FAILED;
}

/* Is the record that was read due by now? */
static bool is_due(const struct source *s)
{
	uint64_t at = player_time(s->player), now = clock_monotonic();

	return s->speed <= 0 || at <= s->first ||
	       (double)(at - s->first) <= (double)(now - s->opened) * s->speed;
}

static void take_event(struct source *s, const struct snap_event *e)
{
	s->event = (struct reader_event){
		.kind = e->kind, .index = e->index, .batch = e->batch, .lease = e->lease,
		.expired = e->expired,
	};
	s->at = player_time(s->player);
	if (e->kind == SNAP_EVENT_ACTION)
		s->event.action = *e->action;
}

static int next_of_recording(struct source *s)
{
	int err = 0, what;

	if (!s->asked)
		return SOURCE_NOTHING;
	while (s->ahead > PLAYER_END && is_due(s)) {
		what = s->ahead;
		if (what == PLAYER_READING)
			err = snap_copy(&s->snap, player_snapshot(s->player));
		else
			take_event(s, player_event(s->player));
		if (!err)
			s->ahead = player_next(s->player);
		if (err || s->ahead < 0)
			return err ? err : s->ahead;
		if (what == PLAYER_READING)
			return SOURCE_READING;
		if (s->event.kind != SNAP_EVENT_QP_CREATED &&
		    s->event.kind != SNAP_EVENT_QP_DESTROYED)
			return SOURCE_EVENT;
	}
	if (s->ahead == PLAYER_END && !s->ended) {
		s->ended = true;
		if (explain_end(s, "the records before it are served"))
			return SOURCE_DAMAGED;
	}
	s->asked = false;
	return SOURCE_NOTHING;
}

int source_next(struct source *s)
{
	return s->fd >= 0 ? next_of_reader(s) : next_of_recording(s);
}
