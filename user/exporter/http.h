/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The HTTP server: libmicrohttpd in the exporter's event loop. http.c has connections,
 * requests and their bounds, routes.c what is served: an answer is a line in
 * http_routes[], and page.c has the files of the page.
 *
 * The server bounds the number of connections, the time in which a client must send a request
 * and read its answer, the memory of each connection, and, in routes.c, that of all answers.
 */
#ifndef SRDMA_EXPORTER_HTTP_H
#define SRDMA_EXPORTER_HTTP_H

#include <microhttpd.h>
#include <systemd/sd-event.h>

#include "exporter/auth.h"
#include "exporter/figures.h"
#include "exporter/stream.h"

#define HTTP_CONNECTIONS	2048
#define HTTP_MEMORY		16384	/* bytes of a connection, for its request */
#define HTTP_SEND_ROOM		65536	/* bytes of a connection, in the kernel, for its answer */
#define HTTP_IDLE_S		30	/* without a byte */
#define HTTP_REQUEST_NS		60000000000ULL	/* from one request to the end of the next */
#define HTTP_ANSWER_NS		15000000000ULL	/* for reading an answer */
/* HTTP_REQUEST_NS while most of the connections are in use. */
#define HTTP_CROWDED_NS		2000000000ULL

struct http;
struct http_route;

/* A client's connection. */
struct http_peer {
	struct http_peer *next, **prev;
	int fd;
	bool busy;		/* a request is being answered */
	bool streams;		/* the answer has no end; stream.c has its bounds */
	uint64_t since;		/* when the connection or the last request came, or ended */
};

enum http_state {
	HTTP_NEW,
	HTTP_CHECKING,		/* the password is being checked */
	HTTP_CHECKED,
	HTTP_WAITING,		/* for a reading */
	HTTP_READY,
};

struct http_request {
	struct http *http;
	struct MHD_Connection *connection;
	struct http_peer *peer;
	const struct http_route *route;
	enum http_state state;
	enum auth_verdict verdict;	/* on the password */
	uint64_t since;
	struct http_request *next;	/* the next one that waits for a reading */
};

struct http_route {
	const char *path, *title;
	/* Queues an answer, or suspends the connection until http_reading(). */
	enum MHD_Result (*serve)(struct http_request *rq);
};

/* routes.c */
extern const struct http_route http_routes[];	/* ends with a NULL path */
enum { HTTP_ROUTES_MAX = 16 };

/* An answer that several connections get. */
struct http_body {
	struct MHD_Response *response;
	uint64_t reading;	/* the reading that it is of */
	uint64_t written;	/* ns */
};

struct http {
	sd_event *event;
	sd_event_source *io, *timer, *sweep;
	struct MHD_Daemon *daemon;
	struct auth *auth;	/* NULL: without passwords */
	bool need_client_cert;
	bool stopping;		/* nothing is answered any more */
	int fd;			/* listens; stays open when the daemon restarts */
	struct http_peer *peers;
	unsigned int n_peers;
	struct http_request *waiting;
	struct figures *figures;
	/* Asks for a new reading, after which http_reading() is called. True: none is needed. */
	bool (*refresh)(void *arg);
	void *arg;

	struct stream stream;	/* the caller calls stream_init() first */

	/* routes.c */
	struct http_body bodies[EXPO_FORMATS];
	unsigned int n_bodies;	/* answers in memory, also older ones that are still read */
	struct expo expo;
};

/* A listening socket on "HOST:PORT", "[HOST]:PORT" or ":PORT". -errno, with @why. */
int http_listen(const char *address, char *why, size_t cap);
/* Starts, or starts anew with another @c, which it copies. 0 or -errno, with @why. */
int http_start(struct http *h, const struct web_config *c, char *why, size_t cap);
void http_stop(struct http *h);
/* There is a new reading, or there will be none. */
void http_reading(struct http *h);

/* Suspends @rq until the next http_reading(). */
void http_wait(struct http_request *rq);
/* Answers with a text; @text is static, or copied. */
enum MHD_Result http_answer(struct http_request *rq, unsigned int status, const char *type,
			    const char *text, bool copy);
/*
 * What a browser may do with an answer: nothing, or what the page needs. The page loads files from
 * this server, and sends requests to this server.
 */
#define HTTP_CSP_NOTHING	"default-src 'none'; frame-ancestors 'none'"
#define HTTP_CSP_PAGE		"default-src 'none'; script-src 'self'; style-src 'self'; " \
				"img-src 'self'; connect-src 'self'; base-uri 'none'; " \
				"form-action 'none'; frame-ancestors 'none'"

/* Headers that every answer has; @csp is one of the above. */
void http_add_headers(struct MHD_Response *response, const char *csp);

/* routes.c: frees what is kept for answers. */
void http_drop_bodies(struct http *h);

#endif /* SRDMA_EXPORTER_HTTP_H */
