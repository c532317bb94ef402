// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Server-sent events: their format, that a hundred viewers cost the encodings of one, and that a
 * viewer who does not read is closed, after which nothing of its messages is left. The test stands
 * in for libmicrohttpd.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "unit/expo_rig.h"

#include "exporter/clock.h"
#include "exporter/http.h"

#define VIEWERS	100

/* A connection as the server would have it. */
struct MHD_Connection {
	bool suspended;
	unsigned int resumed;
};

struct MHD_Response {
	MHD_ContentReaderCallback read;
	MHD_ContentReaderFreeCallback free;
	void *arg;
};

struct MHD_Response *MHD_create_response_from_callback(uint64_t size, size_t block,
						       MHD_ContentReaderCallback read, void *arg,
						       MHD_ContentReaderFreeCallback free_arg)
{
	struct MHD_Response *r = calloc(1, sizeof(*r));

	assert_true(size == MHD_SIZE_UNKNOWN);
	assert_true(block > 0);
	*r = (struct MHD_Response){ read, free_arg, arg };
	return r;
}

void MHD_suspend_connection(struct MHD_Connection *c)
{
	assert_false(c->suspended);
	c->suspended = true;
}

void MHD_resume_connection(struct MHD_Connection *c)
{
	assert_true(c->suspended);
	c->suspended = false;
	c->resumed++;
}

struct viewer {
	struct MHD_Connection connection;
	struct http_peer peer;
	struct http_request rq;
	struct MHD_Response *response;
	char got[65536];
	size_t len;
};

static struct figures figures;
static struct stream stream;
static struct made scene;
static struct viewer viewers[VIEWERS];

static int setup(void **state)
{
	(void)state;
	memset(viewers, 0, sizeof(viewers));
	return figures_init(&figures, &rig_options) || stream_init(&stream, &figures);
}

static void leave(struct viewer *v)
{
	if (!v->response)
		return;
	v->response->free(v->response->arg);
	free(v->response);
	v->response = NULL;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < VIEWERS; i++)
		leave(&viewers[i]);
	stream_free(&stream);
	figures_free(&figures);
	return 0;
}

/* @fd: the socket of the connection. */
static void come(struct viewer *v, int fd)
{
	v->peer.fd = fd;
	v->rq = (struct http_request){ .connection = &v->connection, .peer = &v->peer };
	v->response = stream_open(&stream, &v->rq);
	assert_non_null(v->response);
}

/* Reads all that there is. */
static const char *read_all(struct viewer *v)
{
	v->len = 0;
	while (!v->connection.suspended) {
		ssize_t n = v->response->read(v->response->arg, 0, v->got + v->len,
					      sizeof(v->got) - 1 - v->len);

		if (n < 0)
			break;
		v->len += (size_t)n;
		assert_true(v->len < sizeof(v->got) - 1);
	}
	v->got[v->len] = '\0';
	return v->got;
}

static void tick(uint64_t seconds)
{
	made_scene(&scene, seconds * 1000, seconds * 1000000);
	rig_take(&figures, &scene.s);
	stream_tick(&stream);
}

static void format(void **state)
{
	const char *text;

	(void)state;
	tick(1);
	come(&viewers[0], -1);
	text = read_all(&viewers[0]);
	assert_int_equal(strncmp(text, "event: trend\ndata: {\"t\":[1000]", 30), 0);
	text = strstr(text, "\n\n");
	assert_non_null(text);
	assert_int_equal(strncmp(text, "\n\nevent: state\ndata: {\"state\":{\"reading\":1,", 43), 0);
	assert_string_equal(text + strlen(text) - 2, "\n\n");
	assert_true(viewers[0].connection.suspended);
	tick(2);
	assert_false(viewers[0].connection.suspended);
	text = read_all(&viewers[0]);
	assert_int_equal(strncmp(text, "event: state\ndata: {\"state\":{\"reading\":2,", 41), 0);
	/* One event, which ends with an empty line. */
	assert_ptr_equal(strstr(text, "\n\n"), text + strlen(text) - 2);
}

/* Nobody looks: nothing is encoded. */
static void unseen(void **state)
{
	(void)state;
	for (uint64_t s = 1; s <= 20; s++)
		tick(s);
	assert_int_equal(figures.page.encodings, 0);
}

static void hundred(void **state)
{
	uint64_t s;

	(void)state;
	tick(1);
	for (int i = 0; i < VIEWERS; i++)
		come(&viewers[i], -1);
	assert_int_equal(figures.page.viewers, VIEWERS);
	for (s = 2; s <= 11; s++) {
		for (int i = 0; i < VIEWERS; i++)
			read_all(&viewers[i]);
		tick(s);
	}
	for (int i = 0; i < VIEWERS; i++)
		assert_string_equal(read_all(&viewers[i]), viewers[0].got);
	/* One trend, and one state for each of 11 readings. */
	assert_int_equal(figures.page.encodings, 12);
	assert_int_equal(figures.page.dropped, 0);
	for (int i = 0; i < VIEWERS; i++)
		leave(&viewers[i]);
	assert_int_equal(figures.page.viewers, 0);
}

/* It is closed, and what it did not read is freed with it (LeakSanitizer looks). */
static void slow(void **state)
{
	int fd[2];
	char c;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	tick(1);
	come(&viewers[0], fd[0]);
	come(&viewers[1], -1);
	/* The trend is a message, too. */
	for (uint64_t s = 2; s <= STREAM_BEHIND; s++) {
		read_all(&viewers[1]);
		tick(s);
	}
	/* So far it is only late. */
	assert_int_equal(recv(fd[1], &c, 1, MSG_DONTWAIT), -1);
	read_all(&viewers[1]);
	tick(1 + STREAM_BEHIND);
	assert_int_equal(recv(fd[1], &c, 1, MSG_DONTWAIT), 0);
	leave(&viewers[0]);
	assert_int_equal(figures.page.dropped, 1);
	assert_int_equal(figures.page.viewers, 1);
	/* The other one missed nothing. */
	assert_non_null(strstr(read_all(&viewers[1]), "\"reading\":9,"));
	close(fd[0]);
	close(fd[1]);
}

/* A viewer without a reading for a while gets a comment, which finds sockets that are dead. */
static void quiet(void **state)
{
	struct viewer *v = viewers;
	uint64_t now;
	char c;

	(void)state;
	tick(1);
	now = clock_monotonic();
	stream_sweep(&stream, now);
	come(&v[0], -1);
	read_all(&v[0]);
	stream_sweep(&stream, now + STREAM_QUIET_NS / 2);
	assert_true(v[0].connection.suspended);
	now += STREAM_QUIET_NS;
	stream_sweep(&stream, now);
	assert_false(v[0].connection.suspended);
	assert_string_equal(read_all(&v[0]), ":\n\n");
	assert_true(v[0].connection.suspended);
	/* Once in that time. */
	stream_sweep(&stream, now + STREAM_QUIET_NS / 2);
	assert_true(v[0].connection.suspended);
	/* In a buffer of a byte, and a reading comes meanwhile: the comment is still whole. */
	now += STREAM_QUIET_NS;
	stream_sweep(&stream, now);
	assert_int_equal(v[0].response->read(v[0].response->arg, 0, &c, 1), 1);
	assert_int_equal(c, ':');
	tick(2);
	assert_int_equal(strncmp(read_all(&v[0]), "\n\nevent: state\ndata: {", 22), 0);
	/* The reading was a sign of life, too. */
	stream_sweep(&stream, clock_monotonic() + STREAM_QUIET_NS / 2);
	assert_true(v[0].connection.suspended);
	assert_int_equal(figures.page.encodings, 3);
}

static void too_many(void **state)
{
	(void)state;
	tick(1);
	figures.page.viewers = STREAM_VIEWERS;
	viewers[0].rq = (struct http_request){ .connection = &viewers[0].connection };
	assert_null(stream_open(&stream, &viewers[0].rq));
	figures.page.viewers = 0;
}

/* Nobody may be suspended when the server stops. */
static void stop(void **state)
{
	(void)state;
	tick(1);
	come(&viewers[0], -1);
	read_all(&viewers[0]);
	assert_true(viewers[0].connection.suspended);
	stream_stop(&stream);
	assert_false(viewers[0].connection.suspended);
	assert_int_equal(viewers[0].response->read(viewers[0].response->arg, 0, viewers[0].got, 100),
			 MHD_CONTENT_READER_END_OF_STREAM);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(format), T(unseen), T(hundred), T(slow), T(quiet), T(too_many), T(stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
