// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/http.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exporter/clock.h"
#include "exporter/page.h"

#define BACKLOG		256
#define SPARE_FILES	64	/* descriptors for anything but connections */
#define SWEEP_USEC	1000000
#define WAIT_NS		5000000000ULL	/* for a reading; then the last one has to do */

/* --- the socket ------------------------------------------------------------------- */

/* Splits "HOST:PORT" in place. The brackets of an IPv6 address are dropped. */
static char *split_port(char *host, char **name)
{
	char *colon = strrchr(host, ':');

	*name = host;
	if (!colon)
		return NULL;
	*colon = '\0';
	if (host[0] == '[' && colon > host + 1 && colon[-1] == ']') {
		colon[-1] = '\0';
		*name = host + 1;
	}
	return colon + 1;
}

static int listen_on(const struct addrinfo *a)
{
	int type = a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK;
	int one = 1, room = HTTP_SEND_ROOM, err, fd = socket(a->ai_family, type, a->ai_protocol);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* Connections inherit this bound of the memory that a slow reader takes in the kernel. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	if (!bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, BACKLOG))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/*
 * There is one socket, and a name may have addresses of both families. The caller prefers IPv4 for
 * a name, because clients of "localhost" always try 127.0.0.1. Without a host it prefers IPv6,
 * because [::] accepts both families.
 */
static int listen_on_any(const struct addrinfo *list, int preferred)
{
	const struct addrinfo *a;
	int fd = -EADDRNOTAVAIL;

	for (int other = 0; other < 2; other++)
		for (a = list; a && fd < 0; a = a->ai_next)
			if ((a->ai_family != preferred) == other)
				fd = listen_on(a);
	return fd;
}

int http_listen(const char *address, char *why, size_t cap)
{
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
	};
	struct addrinfo *list;
	char host[256], *name, *port;
	int err, fd;

	snprintf(host, sizeof(host), "%s", address);
	port = split_port(host, &name);
	if (!port || !*port) {
		snprintf(why, cap, "'%s' has no port; an address is as in localhost:9891 or [::]:9891",
			 address);
		return -EINVAL;
	}
	err = getaddrinfo(*name ? name : NULL, port, &hints, &list);
	if (err) {
		snprintf(why, cap, "'%s': %s", address, gai_strerror(err));
		return -EINVAL;
	}
	fd = listen_on_any(list, *name ? AF_INET : AF_INET6);
	freeaddrinfo(list);
	if (fd < 0)
		snprintf(why, cap, "'%s': %s", address, strerror(-fd));
	return fd;
}

/* --- connections ------------------------------------------------------------------ */

static void on_connection(void *arg, struct MHD_Connection *c, void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *info;
	struct http_peer *p = *context;
	struct http *h = arg;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (!p)
			return;
		*p->prev = p->next;
		if (p->next)
			p->next->prev = p->prev;
		h->n_peers--;
		free(p);
		return;
	}
	info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	p = calloc(1, sizeof(*p));
	if (!p)
		return;
	p->fd = info ? info->connect_fd : -1;
	p->since = clock_monotonic();
	p->next = h->peers;
	p->prev = &h->peers;
	if (p->next)
		p->next->prev = &p->next;
	h->peers = p;
	h->n_peers++;
	*context = p;
}

/* libmicrohttpd notices the end of the connection, and closes it. */
static void sweep_peers(struct http *h, uint64_t now)
{
	bool crowded = h->n_peers > HTTP_CONNECTIONS * 3 / 4;

	for (struct http_peer *p = h->peers; p; p = p->next) {
		uint64_t time = p->busy ? HTTP_ANSWER_NS :
				crowded ? HTTP_CROWDED_NS : HTTP_REQUEST_NS;

		if (!p->streams && now - p->since >= time)
			shutdown(p->fd, SHUT_RDWR);
	}
}

static void resume_waiting(struct http *h, uint64_t before)
{
	struct http_request **at = &h->waiting, *rq;

	while ((rq = *at)) {
		if (rq->since > before) {
			at = &rq->next;
			continue;
		}
		*at = rq->next;
		rq->state = HTTP_READY;
		MHD_resume_connection(rq->connection);
	}
}

void http_reading(struct http *h)
{
	resume_waiting(h, UINT64_MAX);
	stream_tick(&h->stream);
}

void http_wait(struct http_request *rq)
{
	rq->state = HTTP_WAITING;
	rq->next = rq->http->waiting;
	rq->http->waiting = rq;
	MHD_suspend_connection(rq->connection);
}

/* --- requests --------------------------------------------------------------------- */

void http_add_headers(struct MHD_Response *r, const char *csp)
{
	const char *const headers[][2] = {
		{ "X-Content-Type-Options", "nosniff" },
		{ "Content-Security-Policy", csp },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cache-Control", "no-store" },
	};

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		MHD_add_response_header(r, headers[i][0], headers[i][1]);
}

static struct MHD_Response *make_response(const char *type, const char *text, bool copy)
{
	struct MHD_Response *r;

	r = MHD_create_response_from_buffer(strlen(text), (void *)text, copy ?
					    MHD_RESPMEM_MUST_COPY : MHD_RESPMEM_PERSISTENT);
	if (!r)
		return NULL;
	http_add_headers(r, HTTP_CSP_NOTHING);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	return r;
}

enum MHD_Result http_answer(struct http_request *rq, unsigned int status, const char *type,
			    const char *text, bool copy)
{
	struct MHD_Response *r = make_response(type, text, copy);
	enum MHD_Result ok;

	if (!r)
		return MHD_NO;
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "1");
	ok = MHD_queue_response(rq->connection, status, r);
	MHD_destroy_response(r);
	return ok;
}

static enum MHD_Result refuse(struct http_request *rq, unsigned int status, const char *text)
{
	return http_answer(rq, status, "text/plain; charset=utf-8", text, false);
}

static enum MHD_Result ask_password(struct http_request *rq)
{
	struct MHD_Response *r = make_response("text/plain; charset=utf-8", "Unauthorized\n",
					       false);
	enum MHD_Result ok;

	if (!r)
		return MHD_NO;
	ok = MHD_queue_basic_auth_fail_response(rq->connection, "swiftrdma-exporter", r);
	MHD_destroy_response(r);
	return ok;
}

static bool has_client_cert(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info;
	unsigned int status = UINT32_MAX;

	info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	return info && gnutls_certificate_verify_peers2(info->tls_session, &status) >= 0 &&
	       !status;
}

/* Runs in the thread that checks passwords. The connection is suspended, so it cannot end. */
static void on_checked(void *arg, enum auth_verdict verdict)
{
	struct http_request *rq = arg;

	rq->verdict = verdict;
	rq->state = HTTP_CHECKED;
	MHD_resume_connection(rq->connection);
}

/* True: the request may go on. Else *@ok is what the handler returns. */
static bool authenticate_request(struct http_request *rq, enum MHD_Result *ok)
{
	char *password = NULL, *user;
	bool known = false;
	int err;

	if (!rq->http->auth || (rq->state == HTTP_CHECKED && rq->verdict == AUTH_RIGHT) ||
	    rq->state >= HTTP_WAITING)
		return true;
	if (rq->state == HTTP_CHECKED) {
		*ok = rq->verdict == AUTH_WRONG ? ask_password(rq) :
		      refuse(rq, MHD_HTTP_SERVICE_UNAVAILABLE, "Too many passwords wait to be checked\n");
		return false;
	}
	user = MHD_basic_auth_get_username_password(rq->connection, &password);
	*ok = MHD_YES;
	if (!user || !password) {
		*ok = ask_password(rq);
	} else if (auth_known(rq->http->auth, user, password)) {
		known = true;
	} else {
		/* Suspend first, because the check may end before auth_ask() returns. */
		rq->state = HTTP_CHECKING;
		MHD_suspend_connection(rq->connection);
		err = auth_ask(rq->http->auth, user, password, rq);
		if (err)
			on_checked(rq, err == -EINVAL ? AUTH_WRONG : AUTH_UNCHECKED);
	}
	if (password)
		explicit_bzero(password, strlen(password));
	MHD_free(user);
	MHD_free(password);
	return known;
}

static const struct http_route *find_route(const char *path)
{
	const struct http_route *r = http_routes;

	while (r->path && strcmp(r->path, path) != 0)
		r++;
	return r->path ? r : NULL;
}

static struct http_request *new_request(struct http *h, struct MHD_Connection *c)
{
	struct http_request *rq = calloc(1, sizeof(*rq));
	const union MHD_ConnectionInfo *info;

	if (!rq)
		return NULL;
	info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	rq->http = h;
	rq->connection = c;
	rq->since = clock_monotonic();
	rq->peer = info ? info->socket_context : NULL;
	if (rq->peer) {
		rq->peer->busy = true;
		rq->peer->since = rq->since;
	}
	return rq;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **context)
{
	struct http_request *rq = *context;
	const struct page_file *file;
	enum MHD_Result ok = MHD_NO;

	(void)version;
	(void)upload;
	if (((struct http *)arg)->stopping)
		return MHD_NO;
	/* The first call comes before a body, and an answer to it refuses the body. */
	if (!rq) {
		*context = rq = new_request(arg, c);
		if (!rq)
			return MHD_NO;
		if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
		    strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
			return refuse(rq, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET and HEAD\n");
		return MHD_YES;
	}
	if (*upload_size) {
		*upload_size = 0;
		return MHD_YES;
	}
	if (rq->http->need_client_cert && !has_client_cert(c))
		return refuse(rq, MHD_HTTP_FORBIDDEN, "A valid client certificate is needed\n");
	if (!authenticate_request(rq, &ok))
		return ok;
	file = page_find(url);
	if (file)
		return page_serve(rq, file);
	rq->route = find_route(url);
	if (!rq->route)
		return refuse(rq, MHD_HTTP_NOT_FOUND, "Not found\n");
	return rq->route->serve(rq);
}

static void on_completed(void *arg, struct MHD_Connection *c, void **context,
			 enum MHD_RequestTerminationCode why)
{
	struct http_request *rq = *context;

	(void)arg;
	(void)c;
	(void)why;
	if (!rq)
		return;
	if (rq->peer) {
		rq->peer->busy = false;
		rq->peer->streams = false;
		rq->peer->since = clock_monotonic();
	}
	free(rq);
	*context = NULL;
}

/* --- the event loop --------------------------------------------------------------- */

static void run_daemon(struct http *h)
{
	MHD_UNSIGNED_LONG_LONG ms;
	uint64_t now;

	MHD_run(h->daemon);
	if (MHD_get_timeout(h->daemon, &ms) != MHD_YES) {
		sd_event_source_set_enabled(h->timer, SD_EVENT_OFF);
		return;
	}
	sd_event_now(h->event, CLOCK_MONOTONIC, &now);
	sd_event_source_set_time(h->timer, now + ms * 1000);
	sd_event_source_set_enabled(h->timer, SD_EVENT_ONESHOT);
}

static int on_io(sd_event_source *src, int fd, uint32_t revents, void *arg)
{
	(void)src;
	(void)fd;
	(void)revents;
	run_daemon(arg);
	return 0;
}

static int on_timer(sd_event_source *src, uint64_t usec, void *arg)
{
	(void)src;
	(void)usec;
	run_daemon(arg);
	return 0;
}

static int on_sweep(sd_event_source *src, uint64_t usec, void *arg)
{
	uint64_t now = clock_monotonic();
	struct http *h = arg;

	sweep_peers(h, now);
	stream_sweep(&h->stream, now);
	if (now > WAIT_NS)
		resume_waiting(h, now - WAIT_NS);
	run_daemon(h);
	sd_event_source_set_time(src, usec + SWEEP_USEC);
	return sd_event_source_set_enabled(src, SD_EVENT_ONESHOT);
}

/* Raises the limit of descriptors as far as needed. Returns how many connections fit in it. */
static unsigned int raise_limit(void)
{
	struct rlimit limit;
	rlim_t want = HTTP_CONNECTIONS + SPARE_FILES;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return HTTP_CONNECTIONS / 8;
	if (limit.rlim_cur < want) {
		limit.rlim_cur = limit.rlim_max < want ? limit.rlim_max : want;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	return limit.rlim_cur >= want ? HTTP_CONNECTIONS :
	       limit.rlim_cur > 2 * SPARE_FILES ? (unsigned int)limit.rlim_cur - SPARE_FILES :
	       SPARE_FILES;
}

static struct MHD_Daemon *start_daemon(struct http *h, const struct web_config *c, int fd)
{
	struct MHD_OptionItem tls[5] = { { MHD_OPTION_END, 0, NULL } };
	unsigned int flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME;
	size_t n = 0;

	if (c->cert) {
		flags |= MHD_USE_TLS;
		tls[n++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_CERT, 0, c->cert };
		tls[n++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_KEY, 0, c->key };
		tls[n++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_PRIORITIES, 0,
						    (void *)c->priorities };
	}
	if (c->client_ca)
		tls[n++] = (struct MHD_OptionItem){ MHD_OPTION_HTTPS_MEM_TRUST, 0, c->client_ca };
	tls[n] = (struct MHD_OptionItem){ MHD_OPTION_END, 0, NULL };
	return MHD_start_daemon(flags, 0, NULL, NULL, on_request, h,
				MHD_OPTION_LISTEN_SOCKET, fd,
				MHD_OPTION_CONNECTION_LIMIT, raise_limit(),
				MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)HTTP_IDLE_S,
				MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_MEMORY,
				MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
				MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
				MHD_OPTION_ARRAY, tls,
				MHD_OPTION_END);
}

static int add_sources(struct http *h)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->daemon,
							       MHD_DAEMON_INFO_EPOLL_FD);
	uint64_t now;
	int err = info ? 0 : -EIO;

	if (!err)
		err = sd_event_now(h->event, CLOCK_MONOTONIC, &now);
	if (err >= 0)
		err = sd_event_add_io(h->event, &h->io, info->epoll_fd, EPOLLIN, on_io, h);
	if (err >= 0)
		err = sd_event_add_time(h->event, &h->timer, CLOCK_MONOTONIC, now, 0, on_timer, h);
	if (err >= 0)
		err = sd_event_add_time(h->event, &h->sweep, CLOCK_MONOTONIC, now + SWEEP_USEC, 0,
					on_sweep, h);
	return err < 0 ? err : 0;
}

/* The socket stays open. */
static void stop_daemon(struct http *h)
{
	h->io = sd_event_source_disable_unref(h->io);
	h->timer = sd_event_source_disable_unref(h->timer);
	h->sweep = sd_event_source_disable_unref(h->sweep);
	/* No connection may be suspended when the daemon stops, and none may pass unchecked. */
	h->stopping = true;
	auth_stop(h->auth);
	h->auth = NULL;
	resume_waiting(h, UINT64_MAX);
	stream_stop(&h->stream);
	if (h->daemon)
		MHD_stop_daemon(h->daemon);
	h->stream.stopping = false;
	h->daemon = NULL;
	h->stopping = false;
}

int http_start(struct http *h, const struct web_config *c, char *why, size_t cap)
{
	int err, fd;

	stop_daemon(h);
	h->need_client_cert = c->need_client_cert;
	if (c->n_users) {
		h->auth = auth_start(c, on_checked);
		if (!h->auth) {
			err = -errno;
			snprintf(why, cap, "no thread for passwords: %s", strerror(-err));
			return err;
		}
	}
	/* The daemon closes the descriptor that it gets. */
	fd = fcntl(h->fd, F_DUPFD_CLOEXEC, 0);
	h->daemon = fd < 0 ? NULL : start_daemon(h, c, fd);
	if (!h->daemon) {
		if (fd >= 0)
			close(fd);
		snprintf(why, cap, "the server does not start");
		http_stop(h);
		return -EIO;
	}
	err = add_sources(h);
	if (err)
		snprintf(why, cap, "no event loop: %s", strerror(-err));
	return err;
}

void http_stop(struct http *h)
{
	stop_daemon(h);
	http_drop_bodies(h);
	stream_free(&h->stream);
	expo_free(&h->expo);
}
