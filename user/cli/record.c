// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* swiftrdma record: what the module says, kept for policy simulate. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "sim/record.h"

#define INTERVAL_MS 100

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

static void nap(uint32_t ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000L };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

static int keep(struct cli *cli, struct record *r, uint64_t count)
{
	uint32_t ms = cli->interval_ms ? cli->interval_ms : INTERVAL_MS;
	uint64_t n;
	int err;

	for (n = 0; n < count && !ended; n++) {
		if (n)
			nap(ms);
		if (io_snapshot(cli->io, &cli->snap, NULL) < 0)
			return cli_io_error(cli);
		err = record_write(r, &cli->snap);
		if (err) {
			args_bad("record: %s", strerror(-err));
			return CLI_ERROR;
		}
	}
	fprintf(stderr, "%llu readings\n", (unsigned long long)n);
	return CLI_OK;
}

static int run(struct cli *cli, struct args *args)
{
	const struct sigaction sa = { .sa_handler = on_signal };
	struct record r = { 0 };
	const char *file;
	uint64_t count;
	int err = parse(args, &file, &count);
	FILE *f;

	if (!err)
		err = cli_open(cli);
	if (err)
		return err;
	f = fopen(file, "we");
	if (!f || record_begin(&r, f)) {
		args_bad("%s: %s", file, strerror(errno));
		if (f)
			fclose(f);
		return CLI_ERROR;
	}
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	err = keep(cli, &r, count);
	record_end(&r);
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
	"Keeps what the module says, every 100 ms or as --interval asks, until it is\n"
	"interrupted or N readings are kept. swiftrdma policy simulate FILE replay\n"
	"RECORDING says what policies would have done with it. A recording that was cut\n"
	"off is read up to its last whole reading.\n",
};
