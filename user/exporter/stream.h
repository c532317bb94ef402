/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Server-sent events for the page. If there are viewers, a reading is encoded once, and all viewers
 * get the same bytes. A new viewer first gets the last minutes, which are also encoded only once
 * between two readings.
 *
 *	event: trend	page_trend(): all points and events so far
 *	event: state	page_state() and page_events(): a reading, with the events before it
 *
 * A viewer who gets no reading for %STREAM_QUIET_NS gets a comment. Writing it fails if the viewer
 * has left, which nothing else shows while the connection is suspended.
 *
 * A message is freed when all viewers are past it. A viewer that is more than %STREAM_BEHIND
 * messages behind is closed, which bounds the messages in memory; the browser reconnects by itself.
 */
#ifndef SRDMA_EXPORTER_STREAM_H
#define SRDMA_EXPORTER_STREAM_H

#include <microhttpd.h>

#include "exporter/figures.h"

#define STREAM_VIEWERS	512
#define STREAM_BEHIND	8
#define STREAM_QUIET_NS	15000000000ULL

struct http_request;
struct stream_message;
struct stream_viewer;

struct stream {
	struct figures *figures;
	struct rank uars;		/* that the page shows */
	struct stream_message *last;	/* of the last reading that was encoded; NULL: none */
	struct stream_message *trend;	/* for new viewers until the next reading; or NULL */
	struct stream_viewer *viewers;
	uint64_t events;		/* number of the first event that no message has */
	uint64_t reading;		/* of .last */
	uint64_t woken;			/* when viewers were last resumed, or there was none, ns */
	bool stopping;
};

/* 0 or -ENOMEM. */
int stream_init(struct stream *s, struct figures *f);
void stream_free(struct stream *s);

/* There is a new reading. */
void stream_tick(struct stream *s);
/* Sends a comment to viewers who got nothing for %STREAM_QUIET_NS. @now: clock_monotonic() */
void stream_sweep(struct stream *s, uint64_t now);
/* All viewers end; none may be suspended when the daemon stops. */
void stream_stop(struct stream *s);
/* Adds the client of @rq as a viewer, which gets all later readings. NULL: no room, or memory. */
struct MHD_Response *stream_open(struct stream *s, struct http_request *rq);

#endif /* SRDMA_EXPORTER_STREAM_H */
