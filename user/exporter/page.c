// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/page_state.h"

#define NUMBER_MAX	0xffffffffUL
#define PLAIN		"text/plain; charset=utf-8"

const struct page_file *page_find(const char *path)
{
	for (const struct page_file *f = page_files; f->path; f++)
		if (!strcmp(f->path, path))
			return f;
	return NULL;
}

enum MHD_Result page_serve(struct http_request *rq, const struct page_file *file)
{
	struct MHD_Response *r;
	enum MHD_Result ok;

	r = MHD_create_response_from_buffer((size_t)(file->end - file->bytes),
					    (void *)file->bytes, MHD_RESPMEM_PERSISTENT);
	if (!r)
		return MHD_NO;
	http_add_headers(r, HTTP_CSP_PAGE);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, file->type);
	ok = MHD_queue_response(rq->connection, MHD_HTTP_OK, r);
	MHD_destroy_response(r);
	return ok;
}

enum MHD_Result page_serve_events(struct http_request *rq)
{
	struct MHD_Response *r = stream_open(&rq->http->stream, rq);
	enum MHD_Result ok;

	if (!r)
		return http_answer(rq, MHD_HTTP_SERVICE_UNAVAILABLE, PLAIN, "Too many viewers\n",
				   false);
	if (rq->peer)
		rq->peer->streams = true;
	http_add_headers(r, HTTP_CSP_NOTHING);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
	ok = MHD_queue_response(rq->connection, MHD_HTTP_OK, r);
	MHD_destroy_response(r);
	return ok;
}

/* --- answers in JSON -------------------------------------------------------------- */

static const char *query_argument(const struct http_request *rq, const char *name)
{
	return MHD_lookup_connection_value(rq->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* -1: it is absent; -2: it is no number of 32 bits. */
static int64_t query_number(const struct http_request *rq, const char *name)
{
	const char *s = query_argument(rq, name);
	unsigned long v;
	char *end;

	if (!s)
		return -1;
	v = strtoul(s, &end, 10);
	return *s < '0' || *s > '9' || *end || v > NUMBER_MAX ? -2 : (int64_t)v;
}

static enum MHD_Result bad_request(struct http_request *rq, const char *right)
{
	return http_answer(rq, MHD_HTTP_BAD_REQUEST, PLAIN, right, false);
}

/* Closes @f and answers with *@text. @found false: answers that the object is gone. */
static enum MHD_Result answer_json(struct http_request *rq, FILE *f, char **text, bool found)
{
	enum MHD_Result ok;

	if (fclose(f))
		ok = MHD_NO;
	else if (!found)
		ok = http_answer(rq, MHD_HTTP_NOT_FOUND, PLAIN, "It is not there any more\n", false);
	else
		ok = http_answer(rq, MHD_HTTP_OK, "application/json", *text, true);
	free(*text);
	return ok;
}

enum MHD_Result page_serve_qps(struct http_request *rq)
{
	const struct page_filter which = {
		.job = query_argument(rq, "job"), .dev = query_argument(rq, "dev"), .uar = query_number(rq, "uar"),
	};
	struct json j = { .first = true };
	char *text = NULL;
	size_t len;

	if ((!which.job && !which.dev) || which.uar == -2 || (which.uar >= 0 && !which.dev))
		return bad_request(rq, "It is as in /qps?job=kv or /qps?dev=mlx5_0&uar=16\n");
	j.f = open_memstream(&text, &len);
	if (!j.f)
		return MHD_NO;
	return answer_json(rq, j.f, &text, page_qps(rq->http->figures, &which, &j));
}

enum MHD_Result page_serve_explain(struct http_request *rq)
{
	const char *dev = query_argument(rq, "dev");
	int64_t qpn = query_number(rq, "qpn");
	struct json j = { .first = true };
	char *text = NULL;
	size_t len;

	if (!dev || qpn < 0)
		return bad_request(rq, "It is as in /explain?dev=mlx5_0&qpn=17\n");
	j.f = open_memstream(&text, &len);
	if (!j.f)
		return MHD_NO;
	return answer_json(rq, j.f, &text,
			   page_explain(rq->http->figures, dev, (uint32_t)qpn, &j));
}
