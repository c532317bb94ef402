// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * swiftrdma record: writes snapshots and events to a file for policy simulate.
 *
 * Events are written as they are read and never buffered here. If this process is too
 * slow, the kernel drops events and reports the loss, which is recorded too.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "cli/cli.h"
#include "io/recording.h"

#define INTERVAL_MS 100

/* Reads of the socket in a row at most, more than it has room for. */
#define TURNS 128

static volatile sig_atomic_t ended;

static void on_signal(int sig)
{
	(void)sig;
	ended = 1;
}

static int parse_record(struct args *args, const char **file, uint64_t *count)
{
	const char *word;

	*count = UINT64_MAX;
	*file = args_next(args);
	if (!*file)
		return args_bad("record: a file is missing, as in swiftrdma record FILE count 600");
	word = args_next(args);
	if (word && !args_is(word, "count"))
		return args_bad("'%s': expected count", word);
	if (word && args_u64(args, "count", count))
		return CLI_USAGE;
	return args_end(args);
}

struct session {
	struct cli *cli;
	struct recorder *r;
	const char *file;
	int fd;			/* of the events; -1: no events */
	uint64_t readings, events;
};

static void count_event(const struct snap_event *e, void *arg)
{
	struct session *s = arg;

	s->events += e->kind != SNAP_EVENT_LOST;
}

static int fail_file(const struct session *s, int err)
{
	return cli_fail("%s: %s", s->file, strerror(-err));
}

static int flush_recording(const struct session *s)
{
	int err = recorder_flush(s->r);

	return err ? fail_file(s, err) : CLI_OK;
}

/* Writes all events that are queued now. */
static int keep_events(struct session *s)
{
	int turn, got = 1;

	if (s->fd < 0)
		return CLI_OK;
	for (turn = 0; turn < TURNS && got; turn++) {
		got = io_events_read(s->cli->io, count_event, s);
		if (got < 0)
			return cli_io_error(s->cli);
	}
	return flush_recording(s);
}

/* Waits until @end, writing events as they come. */
static int wait_until(struct session *s, uint64_t end)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };
	uint64_t now;
	int err = CLI_OK;

	while (!err && !ended && (now = cli_now_ms()) < end)
		if (poll(&p, 1, (int)(end - now)) > 0)
			err = keep_events(s);
	return err;
}

/*
 * Events that came before a reading are written before it. The first reading comes
 * first of all: events refer to its devices by index.
 */
static int keep_reading(struct session *s)
{
	int err = s->readings ? keep_events(s) : CLI_OK;

	if (err)
		return err;
	if (io_snapshot(s->cli->io, &s->cli->snap, NULL) < 0)
		return cli_io_error(s->cli);
	err = flush_recording(s);
	if (!err)
		s->readings++;
	return err;
}

/* Events need CAP_NET_ADMIN, snapshots do not. Without events the file says so. */
static int listen_events(struct session *s)
{
	const char *why;

	s->fd = io_events_open(s->cli->io);
	if (s->fd >= 0)
		return CLI_OK;
	if (s->fd != -EPERM)
		return cli_io_error(s->cli);
	why = io_error(s->cli->io);
	fprintf(stderr, "swiftrdma: without events: %s\n", why);
	recorder_lost(s->r, cli_now(), why);
	return flush_recording(s);
}

static int record_readings(struct session *s, uint64_t count)
{
	uint32_t ms = s->cli->interval_ms ? s->cli->interval_ms : INTERVAL_MS;
	int err = listen_events(s);

	while (!err && !ended && s->readings < count) {
		if (s->readings)
			err = wait_until(s, cli_now_ms() + ms);
		if (!err && !ended)
			err = keep_reading(s);
	}
	if (!err)
		err = keep_events(s);
	fprintf(stderr, "%llu readings, %llu events\n",
		(unsigned long long)s->readings, (unsigned long long)s->events);
	return err;
}

static int run_record(struct cli *cli, struct args *args)
{
	const struct sigaction sa = { .sa_handler = on_signal };
	struct session s = { .cli = cli };
	uint64_t count;
	int err = parse_record(args, &s.file, &count), written;
	FILE *f;

	if (!err)
		err = cli_open(cli);
	if (err)
		return err;
	f = fopen(s.file, "we");
	if (f)
		s.r = recorder_open(f);
	if (!s.r) {
		err = fail_file(&s, -errno);
		if (f)
			fclose(f);
		return err;
	}
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	io_record(cli->io, s.r);
	err = record_readings(&s, count);
	io_record(cli->io, NULL);
	written = recorder_close(s.r);
	if (fclose(f) && !written)
		written = -errno;
	return written && !err ? fail_file(&s, written) : err;
}

static const struct verb verbs[] = { { "", run_record }, { 0 } };

const struct noun noun_record = {
	.name = "record",
	.verbs = verbs,
	.help =
	"Usage: swiftrdma [ --interval SEC ] record FILE [ count N ]\n"
	"\n"
	"Records the module's messages: a reading every 100 ms or every --interval SEC, and\n"
	"events as they come, until it is interrupted or has N readings. swiftrdma policy\n"
	"simulate FILE replay RECORDING compares what policies would have done with what\n"
	"was done. A recording that was cut off is read up to its last whole record.\n",
};
