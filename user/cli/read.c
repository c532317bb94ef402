// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Connects, and reads once or over an interval. */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "cli/cli.h"

/* Least time between two readings of an interval. */
#define STEP_MS	20

int cli_open(struct cli *cli)
{
	if (cli->io)
		return CLI_OK;
	return io_open(&cli->io) < 0 ? cli_io_error(cli) : CLI_OK;
}

static void wait_ms(uint32_t ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000l };

	while (nanosleep(&t, &t))
		;
}

static void swap_snapshots(struct snapshot *a, struct snapshot *b)
{
	struct snapshot tmp = *a;

	*a = *b;
	*b = tmp;
}

static bool counts_sweeps(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_uars; i++)
		if (!snap_has(&s->uars[i], SNAP_SWEEPS))
			return false;
	return s->n_uars > 0;
}

unsigned int cli_steps(const struct cli *cli, uint32_t interval_ms)
{
	uint32_t n = counts_sweeps(&cli->older) ? 1 : interval_ms / STEP_MS;

	return n > CLI_STEPS_MAX ? CLI_STEPS_MAX : n ? n : 1;
}

int cli_begin(struct cli *cli, const struct io_want *want)
{
	cli->steps = 0;
	return io_snapshot(cli->io, &cli->older, want);
}

void cli_turn(struct cli *cli)
{
	swap_snapshots(&cli->older, &cli->snap);
	cli->steps = 0;
	cli->looked = false;
}

/*
 * Where the module's sampler counts uar.coactive itself, use its counts of the whole
 * interval. A single step may have no sweep, which would restart the mean.
 */
static void count_sweeps(struct cli *cli)
{
	const struct snapshot *old = &cli->older, *snap = &cli->snap;
	size_t o = 0;

	for (size_t i = 0; i < snap->n_uars; i++) {
		const struct snap_uar *u = &snap->uars[i], *was;

		while (o < old->n_uars &&
		       (old->uars[o].dev < u->dev ||
			(old->uars[o].dev == u->dev && old->uars[o].index < u->index)))
			o++;
		was = o < old->n_uars ? &old->uars[o] : NULL;
		if (!was || was->dev != u->dev || was->index != u->index ||
		    was->since != u->since ||
		    !(was->has & u->has & SNAP_SWEEPS) ||
		    u->sweeps <= was->sweeps || u->coactive < was->coactive)
			continue;
		signal_set(&cli->sig, SIG_UAR_COACTIVE, i,
			   (double)(u->coactive - was->coactive) /
			   (double)(u->sweeps - was->sweeps));
	}
}

/*
 * With a time constant of n intervals the signals' low pass is the mean of all n + 1
 * values so far. The last step has an infinite time constant: it keeps that mean and
 * computes rates from the first reading to the last.
 */
int cli_step(struct cli *cli, const struct io_want *want, bool last)
{
	const struct snapshot *was = cli->steps ? &cli->snap : &cli->older;
	struct signal_opts opts = cli_signal_opts(cli);
	int err = io_snapshot(cli->io, &cli->spare, want);

	if (err < 0)
		return err;
	if (signals_reserve(&cli->sig, &cli->spare))
		return -ENOMEM;
	opts.tau = 1;
	if (cli->steps && cli->spare.time > was->time)
		opts.tau = cli->steps * (cli->spare.time - was->time);
	signals_update(&cli->sig, was, &cli->spare, &opts);
	swap_snapshots(&cli->snap, &cli->spare);
	cli->steps++;
	if (!last)
		return 0;
	opts.tau = UINT64_MAX / 2;
	/* Latencies, too, are those of all samples from the first reading to the last. */
	opts.window = 1;
	signals_update(&cli->sig, &cli->older, &cli->snap, &opts);
	count_sweeps(cli);
	return 0;
}

/* Computes the signals that one reading is enough for. */
static int count_objects(struct cli *cli)
{
	struct signal_opts opts;

	if (signals_reserve(&cli->sig, &cli->snap))
		return cli_no_memory();
	opts = cli_signal_opts(cli);
	signals_update(&cli->sig, NULL, &cli->snap, &opts);
	return CLI_OK;
}

int cli_read(struct cli *cli, const struct io_want *want)
{
	uint32_t ms = cli->interval_ms;
	int err = cli_open(cli);
	unsigned int n;

	if (err)
		return err;
	if (!ms) {
		if (io_snapshot(cli->io, &cli->snap, want) < 0)
			return cli_io_error(cli);
		return want->uars || want->reports ? count_objects(cli) : CLI_OK;
	}
	if (cli_begin(cli, want) < 0)
		return cli_io_error(cli);
	n = want->uars ? cli_steps(cli, ms) : 1;
	for (unsigned int i = 1; i <= n; i++) {
		wait_ms(ms * i / n - ms * (i - 1) / n);
		err = cli_step(cli, want, i == n);
		if (err == -ENOMEM)
			return cli_no_memory();
		if (err < 0)
			return cli_io_error(cli);
	}
	return CLI_OK;
}

int cli_crowd(struct cli *cli)
{
	if (crowd_reserve(&cli->crowd, &cli->snap))
		return cli_no_memory();
	cli_running(cli);
	crowd_update(&cli->crowd, &cli->sig, cli_criterion(cli, "uar_calm"));
	return CLI_OK;
}
