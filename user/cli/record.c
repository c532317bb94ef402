// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * swiftrdma record: what the module says, and when, kept for policy simulate.
 *
 * Events are written as they are read, none is held back here: what this cannot
 * follow the kernel drops, which it says, and the recording with it.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "cli/cli.h"
#include "sim/record.h"

#define INTERVAL_MS 100

/* More than the socket has room for: what comes faster than that is not waited for. */
#define TURNS 128

static volatile sig_atomic_t ended;

static void on_signal(int sig)
{
	(void)sig;
	ended = 1;
}

static int parse(struct args *args, const char **file, uint64_t *count)
{
	const char *word;

	*count = UINT64_MAX;
	*file = args_next(args);
	if (!*file)
		return args_bad("record: which file? As in swiftrdma record FILE count 600");
	word = args_next(args);
	if (word && !args_is(word, "count"))
		return args_bad("'%s': expected count", word);
	if (word && args_u64(args, "count", count))
		return CLI_USAGE;
	return args_end(args);
}

struct recorder {
	struct cli *cli;
	struct record r;
	int fd;			/* of the events; -1: there are none */
	uint64_t readings, events;
	int err;		/* of a write, 0 or -errno */
};

static void on_event(const struct snap_event *e, void *arg)
{
	struct recorder *rec = arg;

	if (rec->err)
		return;
	rec->err = record_write_event(&rec->r, cli_now(), e);
	rec->events += e->kind != SNAP_EVENT_LOST;
}

static int write_error(const struct recorder *rec)
{
	args_bad("record: %s", strerror(-rec->err));
	return CLI_ERROR;
}

/* All that are there by now. */
static int keep_events(struct recorder *rec)
{
	int turn, got = 1;

	if (rec->fd < 0)
		return CLI_OK;
	for (turn = 0; turn < TURNS && got && !rec->err; turn++) {
		got = io_events_read(rec->cli->io, on_event, rec);
		if (got < 0)
			return cli_io_error(rec->cli);
	}
	if (!rec->err)
		rec->err = record_flush(&rec->r);
	return rec->err ? write_error(rec) : CLI_OK;
}

/* Until then, with the events that come meanwhile. */
static int wait_until(struct recorder *rec, uint64_t end)
{
	struct pollfd p = { .fd = rec->fd, .events = POLLIN };
	uint64_t now;
	int err = CLI_OK;

	while (!err && !ended && (now = cli_now_ms()) < end)
		if (poll(&p, 1, (int)(end - now)) > 0)
			err = keep_events(rec);
	return err;
}

/*
 * What is known of the events before the reading comes before it. The first reading
 * is what events are told by, the names of devices among it.
 */
static int keep_reading(struct recorder *rec)
{
	struct cli *cli = rec->cli;
	int err = rec->readings ? keep_events(rec) : CLI_OK;

	if (err)
		return err;
	if (io_snapshot(cli->io, &cli->snap, NULL) < 0)
		return cli_io_error(cli);
	rec->err = record_write(&rec->r, &cli->snap);
	if (rec->err)
		return write_error(rec);
	rec->readings++;
	return CLI_OK;
}

/* Figures are for everybody, events are not: without them, said in the file too. */
static int listen_events(struct recorder *rec)
{
	struct snap_event e = { .kind = SNAP_EVENT_LOST };

	rec->fd = io_events_open(rec->cli->io);
	if (rec->fd >= 0)
		return CLI_OK;
	if (rec->fd != -EPERM)
		return cli_io_error(rec->cli);
	e.why = io_error(rec->cli->io);
	fprintf(stderr, "swiftrdma: without events: %s\n", e.why);
	on_event(&e, rec);
	return rec->err ? write_error(rec) : CLI_OK;
}

static int keep(struct recorder *rec, uint64_t count)
{
	uint32_t ms = rec->cli->interval_ms ? rec->cli->interval_ms : INTERVAL_MS;
	int err = listen_events(rec);

	while (!err && !ended && rec->readings < count) {
		if (rec->readings)
			err = wait_until(rec, cli_now_ms() + ms);
		if (!err && !ended)
			err = keep_reading(rec);
	}
	if (!err)
		err = keep_events(rec);
	fprintf(stderr, "%llu readings, %llu events\n",
		(unsigned long long)rec->readings,
		(unsigned long long)rec->events);
	return err;
}

static int run(struct cli *cli, struct args *args)
{
	const struct sigaction sa = { .sa_handler = on_signal };
	struct recorder rec = { .cli = cli };
	const char *file;
	uint64_t count;
	int err = parse(args, &file, &count);
	FILE *f;

	if (!err)
		err = cli_open(cli);
	if (err)
		return err;
	f = fopen(file, "we");
	if (!f || record_begin(&rec.r, f)) {
		args_bad("%s: %s", file, strerror(errno));
		if (f)
			fclose(f);
		return CLI_ERROR;
	}
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	err = keep(&rec, count);
	record_end(&rec.r);
	if (fclose(f) && !err) {
		args_bad("%s: %s", file, strerror(errno));
		err = CLI_ERROR;
	}
	return err;
}

static const struct verb verbs[] = { { "", run }, { 0 } };

const struct noun noun_record = {
	"record", verbs,
	"Usage: swiftrdma [ --interval SEC ] record FILE [ count N ]\n"
	"\n"
	"Keeps what the module says, every 100 ms or as --interval asks, and its events\n"
	"as they come, until it is interrupted or N readings are kept. swiftrdma policy\n"
	"simulate FILE replay RECORDING says what policies would have done with it. A\n"
	"recording that was cut off is read up to its last whole record.\n",
};
