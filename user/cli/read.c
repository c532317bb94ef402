// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* From the module to the screen: connect, read, perhaps twice, print. */
#include <stdio.h>
#include <time.h>

#include "cli/cli.h"

int cli_io_error(const struct cli *cli)
{
	fprintf(stderr, "swiftrdma: %s\n", io_error(cli->io));
	return CLI_ERROR;
}

int cli_no_memory(void)
{
	fputs("swiftrdma: out of memory\n", stderr);
	return CLI_ERROR;
}

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

int cli_read(struct cli *cli, const struct io_want *want)
{
	struct snapshot tmp;
	int err = cli_open(cli);

	if (err)
		return err;
	if (io_snapshot(cli->io, &cli->snap, want) < 0)
		return cli_io_error(cli);
	if (!cli->interval_ms)
		return CLI_OK;
	tmp = cli->older;
	cli->older = cli->snap;
	cli->snap = tmp;
	wait_ms(cli->interval_ms);
	if (io_snapshot(cli->io, &cli->snap, want) < 0)
		return cli_io_error(cli);
	if (signals_reserve(&cli->sig, &cli->snap))
		return cli_no_memory();
	signals_update(&cli->sig, &cli->older, &cli->snap,
		       &(struct signal_opts){ .tau = 1 });
	return CLI_OK;
}

int cli_show(struct cli *cli, const struct rows *rows)
{
	return out_rows(cli, &cli->out, rows) ? cli_no_memory() : CLI_OK;
}
