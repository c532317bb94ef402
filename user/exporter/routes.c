// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What is served. Metrics are written once for each reading and format, and all clients get the
 * same bytes. A slow client keeps the bytes of its reading in memory until its time is over, so the
 * number of such bodies is bounded, too.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "exporter/clock.h"
#include "exporter/page.h"

#define BODIES_MAX	16
/* A body this old, ns, is written again, because it shows the age of the last reading. */
#define BODY_STALE	1000000000ULL

struct kept {
	struct http *http;
	char *bytes;
};

static void on_freed(void *arg)
{
	struct kept *k = arg;

	k->http->n_bodies--;
	free(k->bytes);
	free(k);
}

static void drop_body(struct http_body *b)
{
	if (b->response)
		MHD_destroy_response(b->response);
	b->response = NULL;
}

void http_drop_bodies(struct http *h)
{
	for (int i = 0; i < EXPO_FORMATS; i++)
		drop_body(&h->bodies[i]);
}

/* Copies what was written last. NULL: no memory. */
static struct MHD_Response *make_body(struct http *h, enum expo_format format)
{
	struct kept *k = malloc(sizeof(*k));
	struct MHD_Response *r = NULL;

	if (!k)
		return NULL;
	*k = (struct kept){ .http = h, .bytes = malloc(h->expo.len + 1) };
	if (k->bytes) {
		memcpy(k->bytes, h->expo.buf, h->expo.len);
		r = MHD_create_response_from_buffer_with_free_callback_cls(h->expo.len, k->bytes,
									   on_freed, k);
	}
	if (!r) {
		free(k->bytes);
		free(k);
		return NULL;
	}
	h->n_bodies++;
	http_add_headers(r, HTTP_CSP_NOTHING);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, expo_content_type(format));
	MHD_add_response_header(r, MHD_HTTP_HEADER_VARY, "Accept");
	return r;
}

static void write_body(struct http *h, enum expo_format format, uint64_t reading)
{
	struct http_body *b = &h->bodies[format];
	uint64_t began = clock_monotonic();
	struct MHD_Response *r;

	if (!metrics_write(h->figures, &h->expo, format))
		return;
	r = make_body(h, format);
	if (!r)
		return;
	figures_time(&h->figures->scrape, clock_monotonic() - began);
	drop_body(b);
	*b = (struct http_body){ .response = r, .reading = reading, .written = clock_monotonic() };
}

static bool is_current(const struct http_body *b, uint64_t reading)
{
	return b->response && b->reading == reading &&
	       clock_monotonic() - b->written < BODY_STALE;
}

static enum MHD_Result serve_metrics(struct http_request *rq)
{
	struct http *h = rq->http;
	uint64_t reading;
	enum expo_format format;

	if (rq->state != HTTP_READY && !h->refresh(h->arg)) {
		http_wait(rq);
		return MHD_YES;
	}
	reading = h->figures->readings + h->figures->failures;
	format = expo_negotiate(MHD_lookup_connection_value(rq->connection, MHD_HEADER_KIND,
							    MHD_HTTP_HEADER_ACCEPT));
	/* With too many bodies in memory, the last one is served again. */
	if (!is_current(&h->bodies[format], reading) && h->n_bodies < BODIES_MAX)
		write_body(h, format, reading);
	if (!h->bodies[format].response)
		return http_answer(rq, MHD_HTTP_SERVICE_UNAVAILABLE, "text/plain; charset=utf-8",
				   "Too many slow readers\n", false);
	return MHD_queue_response(rq->connection, MHD_HTTP_OK, h->bodies[format].response);
}

static enum MHD_Result serve_health(struct http_request *rq)
{
	return http_answer(rq, MHD_HTTP_OK, "text/plain; charset=utf-8", "Healthy\n", false);
}

/* Used only if the exporter was built without npm: else the page has this path. */
static enum MHD_Result serve_index(struct http_request *rq)
{
	const struct http_route *r;
	char page[2048];
	struct text t;

	text_init(&t, page, sizeof(page));
	text_str(&t, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		     "<title>SwiftRDMA</title></head>\n<body><h1>SwiftRDMA</h1>\n"
		     "<p>This exporter was built without its page, because npm was not there.</p>\n<ul>\n");
	for (r = http_routes; r->path; r++)
		if (r->title)
			text_add(&t, "<li><a href=\"", r->path, "\">", r->title, "</a></li>\n");
	text_str(&t, "</ul></body></html>\n");
	return http_answer(rq, MHD_HTTP_OK, "text/html; charset=utf-8", page, true);
}

const struct http_route http_routes[] = {
	{ "/", NULL, serve_index },
	{ "/metrics", "Metrics", serve_metrics },
	{ "/-/healthy", "Health", serve_health },
	{ "/events", NULL, page_serve_events },
	{ "/qps", NULL, page_serve_qps },
	{ "/explain", NULL, page_serve_explain },
	{ 0 },
};
