// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/reader.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "exporter/clock.h"
#include "exporter/snap_copy.h"
#include "io/io.h"

#define READER_PATIENCE_S	10

struct reader {
	int fd;			/* to the exporter */
	struct io *io;		/* NULL: not connected */
	int events;		/* -1: none */
	struct snapshot snap;
	int err;		/* of the socket */
};

static int send_failure(struct reader *r, int err, const char *why)
{
	struct reader_head h = {
		.kind = READER_FAILED, .error = err, .cpu = clock_read(CLOCK_PROCESS_CPUTIME_ID),
	};

	snprintf(h.why, sizeof(h.why), "%s", why);
	return send_bytes(r->fd, &h, sizeof(h));
}

static void disconnect_module(struct reader *r)
{
	io_close(r->io);
	r->io = NULL;
	r->events = -1;
}

/* Without CAP_NET_ADMIN there are no events; readings have what the user may see. */
static int connect_module(struct reader *r)
{
	int err;

	if (r->io)
		return 0;
	err = io_open(&r->io);
	if (err < 0)
		return err;
	r->events = io_events_open(r->io);
	return 0;
}

static int answer_request(struct reader *r)
{
	struct snap_action *actions = NULL;
	struct reader_head h = { .kind = READER_READING };
	uint64_t began = clock_monotonic();
	int err = connect_module(r);
	size_t n = 0;

	if (!err)
		err = io_snapshot(r->io, &r->snap, NULL);
	/* Only privileged readers may read what is in force. */
	if (!err && r->snap.admin)
		h.has_actions = !io_actions(r->io, &actions, &n);
	if (err < 0) {
		err = send_failure(r, err, r->io ? io_error(r->io) : strerror(-err));
		disconnect_module(r);
		return err;
	}
	h.took = clock_monotonic() - began;
	h.cpu = clock_read(CLOCK_PROCESS_CPUTIME_ID);
	h.n = h.has_actions ? n : 0;
	err = send_bytes(r->fd, &h, sizeof(h));
	if (!err)
		err = snap_send(r->fd, &r->snap);
	if (!err)
		err = send_bytes(r->fd, actions, h.n * sizeof(*actions));
	free(actions);
	return err;
}

static void send_event(const struct snap_event *e, void *arg)
{
	struct reader_head h = { .kind = READER_EVENT };
	struct reader *r = arg;
	struct reader_event to = {
		.kind = e->kind, .index = e->index, .batch = e->batch, .lease = e->lease,
		.expired = e->expired,
	};

	if (r->err || e->kind == SNAP_EVENT_QP_CREATED || e->kind == SNAP_EVENT_QP_DESTROYED)
		return;
	if (e->kind == SNAP_EVENT_ACTION)
		to.action = *e->action;
	h.cpu = clock_read(CLOCK_PROCESS_CPUTIME_ID);
	r->err = send_bytes(r->fd, &h, sizeof(h));
	if (!r->err)
		r->err = send_bytes(r->fd, &to, sizeof(to));
}

/* Answers the requests of the other process until that process ends. */
static int serve_requests(struct reader *r)
{
	char request;
	int err = 0;

	while (!err) {
		struct pollfd p[] = {
			{ .fd = r->fd, .events = POLLIN },
			{ .fd = r->events, .events = POLLIN },
		};

		if (poll(p, 2, -1) < 0) {
			err = errno == EINTR ? 0 : -errno;
			continue;
		}
		if (p[1].revents && io_events_read(r->io, send_event, r) < 0)
			r->events = -1;
		err = r->err;
		if (!err && p[0].revents)
			err = receive_bytes(r->fd, &request, 1);
		if (!err && p[0].revents)
			err = answer_request(r);
	}
	return err;
}

static void run_reader(int fd, pid_t parent)
{
	struct reader r = { .fd = fd, .events = -1 };
	int err;

	/* If the exporter ended before PR_SET_PDEATHSIG, getppid() is another process. */
	prctl(PR_SET_NAME, "srdma-reader");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(EXIT_FAILURE);
	/* A terminal's signals are for the exporter, which ends this process. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	err = io_drop_privileges(true);
	if (err == -EPERM)
		fprintf(stderr, "swiftrdma-exporter: no CAP_NET_ADMIN: only QPs of this user are seen, and no jobs\n");
	else if (err)
		fprintf(stderr, "swiftrdma-exporter: the reader keeps its privileges: %s\n",
			strerror(-err));
	err = serve_requests(&r);
	_exit(err == -EPIPE || err == -ECONNRESET ? EXIT_SUCCESS : EXIT_FAILURE);
}

int reader_start(pid_t *pid)
{
	/* A reader that stops in the middle of a message must not stop the exporter. */
	const struct timeval patience = { .tv_sec = READER_PATIENCE_S };
	pid_t parent = getpid();
	int fd[2], err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		return -errno;
	*pid = fork();
	if (*pid < 0) {
		err = -errno;
		close(fd[0]);
		close(fd[1]);
		return err;
	}
	if (!*pid) {
		close(fd[0]);
		run_reader(fd[1], parent);
	}
	close(fd[1]);
	setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd[0];
}
