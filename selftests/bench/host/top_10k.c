// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What "swiftrdma top" costs a core while it watches 10,000 QPs, all of which are busy, at its
 * usual interval: all readings of an interval, what is worked out of them, and the frame that is
 * drawn. The readings come from a recording in memory, so inflating them counts, too; the time
 * that the kernel needs to write them, and curses, do not.
 *
 *   top_10k		a row for each view, as in selftests/bench/run.sh
 */
#include <errno.h>

#include "bench/host/busy_nic.h"
#include "cli/top.h"
#include "exporter/snap_copy.h"

#define INTERVAL_MS	1000
#define INTERVALS	12
#define WARM		2
#define GOAL		0.05

static struct player *player;
static unsigned int read_count;

/* Instead of the kernel's: the next reading of the recording. */
int __wrap_io_snapshot(struct io *io, struct snapshot *snap, const struct io_want *want)
{
	(void)io;
	(void)want;
	read_count++;
	return player_next(player) == PLAYER_READING && !snap_copy(snap, player_snapshot(player)) ?
	       0 : -EIO;
}

/* One interval, as cmd_top.c has it. False: a reading failed. */
static bool watch(struct cli *cli, struct top *top, struct top_frame *frame)
{
	static const struct io_want want = { .uars = true };
	unsigned int n = cli_steps(cli, INTERVAL_MS);

	for (unsigned int i = 1; i <= n; i++)
		if (cli_step(cli, &want, i == n) < 0)
			return false;
	if (cli_crowd(cli) || top_take(top, cli))
		return false;
	cli_turn(cli);
	return !top_draw(top, frame);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median time of an interval, ms; negative: nothing was shown. */
static double measure(FILE *f, enum top_view view)
{
	struct cli cli = { .out = { .rates = true } };
	double ms[INTERVALS], began;
	struct top_frame frame = { 0 };
	struct top top;
	bool ok;

	top_init(&top, INTERVAL_MS);
	top.view = view;
	top.height = 50;
	top.width = 160;
	signals_init(&cli.sig);
	crowd_init(&cli.crowd);
	ok = !player_open(&player, f, NULL) && !cli_begin(&cli, NULL);
	for (int i = 0; ok && i < INTERVALS; i++) {
		began = now_ms();
		ok = watch(&cli, &top, &frame);
		ms[i] = now_ms() - began;
	}
	ok = ok && top.table[view].n_shown == (view == TOP_QPS ? QPS : UARS);
	player_close(player);
	top_free(&top);
	free(frame.text);
	free(frame.attr);
	signals_free(&cli.sig);
	crowd_free(&cli.crowd);
	running_free(&cli.running);
	snapshot_free(&cli.snap);
	snapshot_free(&cli.older);
	snapshot_free(&cli.spare);
	qsort(ms + WARM, INTERVALS - WARM, sizeof(*ms), ascending);
	return ok ? ms[WARM + (INTERVALS - WARM) / 2] : -1;
}

int main(void)
{
	static const struct {
		enum top_view view;
		const char *name;
	} rows[] = { { TOP_UARS, "uars" }, { TOP_QPS, "qps" } };
	size_t len;
	char *text;

	if (record(open_memstream(&text, &len), 1 + INTERVALS * CLI_STEPS_MAX))
		return 1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		FILE *f = fmemopen(text, len, "r");
		double ms = f ? measure(f, rows[i].view) : -1;

		if (ms < 0) {
			fprintf(stderr, "top_10k: %s: nothing was shown\n", rows[i].name);
			return 1;
		}
		fclose(f);
		printf("{\"bench\":\"top_10k\",\"value\":%.3g,\"unit\":\"core\",\"vs\":null,\"ratio\":null,\"goal\":\"value <= %g\",\"ok\":%s,\"view\":\"%s\",\"interval_ms\":%d,\"readings\":%u,\"qps\":%u,\"uars\":%u,\"jobs\":%u}\n",
		       ms / INTERVAL_MS, GOAL, ms <= GOAL * INTERVAL_MS ? "true" : "false",
		       rows[i].name, INTERVAL_MS, read_count / (unsigned int)(i + 1) / INTERVALS,
		       n_qps, n_uars, n_jobs);
	}
	free(text);
	return 0;
}
