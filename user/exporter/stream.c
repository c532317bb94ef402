// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "exporter/clock.h"
#include "exporter/http.h"
#include "exporter/page_state.h"

#define BLOCK	16384	/* bytes that are handed to the server at once */

/* An empty comment, which browsers ignore. */
static const char comment[] = ":\n\n";

#define COMMENT_LEN	(sizeof(comment) - 1)

struct stream_message {
	unsigned int refs;		/* viewers at it, .last, .trend, the message before */
	uint64_t number;
	struct stream_message *next;
	char *bytes;
	size_t len;
};

struct stream_viewer {
	struct stream_viewer *next, **prev;
	struct stream *stream;
	struct MHD_Connection *connection;
	int fd;
	struct stream_message *at;
	size_t sent;			/* bytes of .at */
	size_t comment;			/* bytes of a comment that come before the next message */
	bool parked;			/* suspended until there is a message */
};

/* --- messages --------------------------------------------------------------------- */

static struct stream_message *message_get(struct stream_message *m)
{
	if (m)
		m->refs++;
	return m;
}

/* Also frees the messages after it that have no other reference. */
static void message_put(struct stream_message *m)
{
	while (m && !--m->refs) {
		struct stream_message *next = m->next;

		free(m->bytes);
		free(m);
		m = next;
	}
}

typedef void write_json(struct stream *s, struct json *j);

/* An event of the stream whose data is what @write writes, on one line. NULL: no memory. */
static struct stream_message *encode_event(struct stream *s, const char *event, write_json *write)
{
	struct stream_message *m = calloc(1, sizeof(*m));
	struct json j = { .first = true };
	bool failed;

	if (!m)
		return NULL;
	m->refs = 1;
	j.f = open_memstream(&m->bytes, &m->len);
	if (!j.f) {
		free(m);
		return NULL;
	}
	fprintf(j.f, "event: %s\ndata: ", event);
	write(s, &j);
	fputs("\n\n", j.f);
	failed = ferror(j.f);
	if (fclose(j.f) || failed) {
		free(m->bytes);
		free(m);
		return NULL;
	}
	s->figures->page.encodings++;
	s->figures->page.bytes += m->len;
	return m;
}

static void write_state(struct stream *s, struct json *j)
{
	json_begin(j, '{');
	json_key(j, "state");
	page_state(s->figures, &s->uars, j);
	page_events(s->figures, s->events, j);
	json_end(j, '}');
}

static void write_trend(struct stream *s, struct json *j)
{
	page_trend(s->figures, j);
}

static uint64_t reading_of(const struct stream *s)
{
	return s->figures->readings + s->figures->failures;
}

/* The message of the last reading. False: no memory, so .last is of an older one. */
static bool encode_reading(struct stream *s)
{
	struct stream_message *m;

	if (s->last && s->reading == reading_of(s))
		return true;
	m = encode_event(s, "state", write_state);
	if (!m)
		return false;
	m->number = s->last ? s->last->number + 1 : 1;
	if (s->last)
		s->last->next = message_get(m);
	message_put(s->last);
	s->last = m;
	s->reading = reading_of(s);
	s->events = s->figures->history.n_events;
	message_put(s->trend);
	s->trend = NULL;
	return true;
}

/* The last minutes, followed by the message of the last reading. */
static struct stream_message *get_trend(struct stream *s)
{
	if (!encode_reading(s))
		return NULL;
	if (!s->trend) {
		s->trend = encode_event(s, "trend", write_trend);
		if (!s->trend)
			return NULL;
		s->trend->number = s->last->number - 1;
		s->trend->next = message_get(s->last);
	}
	return message_get(s->trend);
}

/* --- viewers ---------------------------------------------------------------------- */

/* Resumes viewers that wait, and closes viewers that do not read. */
static void wake_viewers(struct stream *s)
{
	for (struct stream_viewer *v = s->viewers; v; v = v->next) {
		if (v->parked) {
			v->parked = false;
			MHD_resume_connection(v->connection);
		} else if (s->last && s->last->number - v->at->number > STREAM_BEHIND) {
			/* libmicrohttpd notices the end of the connection, and closes it. */
			shutdown(v->fd, SHUT_RDWR);
		}
	}
}

void stream_tick(struct stream *s)
{
	if (!s->viewers || !encode_reading(s))
		return;
	s->woken = clock_monotonic();
	wake_viewers(s);
}

void stream_sweep(struct stream *s, uint64_t now)
{
	if (s->viewers && now < s->woken + STREAM_QUIET_NS)
		return;
	s->woken = now;
	for (struct stream_viewer *v = s->viewers; v; v = v->next)
		if (v->parked)
			v->comment = COMMENT_LEN;
	wake_viewers(s);
}

void stream_stop(struct stream *s)
{
	s->stopping = true;
	wake_viewers(s);
}

static ssize_t read_stream(void *arg, uint64_t pos, char *buf, size_t max)
{
	struct stream_viewer *v = arg;
	struct stream_message *next;
	size_t n;

	(void)pos;
	if (v->stream->stopping)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (v->comment) {
		n = v->comment < max ? v->comment : max;
		memcpy(buf, comment + COMMENT_LEN - v->comment, n);
		v->comment -= n;
		return (ssize_t)n;
	}
	if (v->sent == v->at->len) {
		if (!v->at->next) {
			v->parked = true;
			MHD_suspend_connection(v->connection);
			return 0;
		}
		next = message_get(v->at->next);
		message_put(v->at);
		v->at = next;
		v->sent = 0;
	}
	n = v->at->len - v->sent;
	if (n > max)
		n = max;
	memcpy(buf, v->at->bytes + v->sent, n);
	v->sent += n;
	return (ssize_t)n;
}

static void close_viewer(void *arg)
{
	struct stream_viewer *v = arg;
	struct figures_page *page = &v->stream->figures->page;

	if (v->stream->last && v->stream->last->number - v->at->number > STREAM_BEHIND)
		page->dropped++;
	page->viewers--;
	*v->prev = v->next;
	if (v->next)
		v->next->prev = v->prev;
	message_put(v->at);
	free(v);
}

static struct stream_viewer *add_viewer(struct stream *s, struct http_request *rq)
{
	struct stream_viewer *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->stream = s;
	v->connection = rq->connection;
	v->fd = rq->peer ? rq->peer->fd : -1;
	v->at = get_trend(s);
	if (!v->at) {
		free(v);
		return NULL;
	}
	v->next = s->viewers;
	v->prev = &s->viewers;
	if (v->next)
		v->next->prev = &v->next;
	s->viewers = v;
	s->figures->page.viewers++;
	return v;
}

struct MHD_Response *stream_open(struct stream *s, struct http_request *rq)
{
	struct stream_viewer *v = s->figures->page.viewers < STREAM_VIEWERS ? add_viewer(s, rq) :
									     NULL;
	struct MHD_Response *r = v ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK,
								       read_stream, v,
								       close_viewer) : NULL;

	if (!r && v)
		close_viewer(v);
	return r;
}

/* --- start and end ---------------------------------------------------------------- */

int stream_init(struct stream *s, struct figures *f)
{
	*s = (struct stream){ .figures = f };
	return rank_init(&s->uars, PAGE_UARS);
}

void stream_free(struct stream *s)
{
	message_put(s->last);
	message_put(s->trend);
	rank_free(&s->uars);
	*s = (struct stream){ .figures = s->figures };
}
