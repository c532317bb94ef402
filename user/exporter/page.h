/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The files of the page, which the build embeds (scripts/page-files). */
#ifndef SRDMA_EXPORTER_PAGE_H
#define SRDMA_EXPORTER_PAGE_H

#include "exporter/http.h"

struct page_file {
	const char *path;		/* "/" is the page itself */
	const char *type;
	const char *bytes, *end;
};

/* Generated; ends with a NULL path. Built without npm, there are none. */
extern const struct page_file page_files[];

/* NULL: there is no such file. */
const struct page_file *page_find(const char *path);
enum MHD_Result page_serve(struct http_request *rq, const struct page_file *file);

/* What the page asks for: server-sent events, QPs, and what qp explain says. */
enum MHD_Result page_serve_events(struct http_request *rq);
enum MHD_Result page_serve_qps(struct http_request *rq);
enum MHD_Result page_serve_explain(struct http_request *rq);

#endif /* SRDMA_EXPORTER_PAGE_H */
