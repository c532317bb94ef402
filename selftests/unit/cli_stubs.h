/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Replaces read.c of the command: there is no module, and a test makes up what is read. */
#ifndef SELFTESTS_UNIT_CLI_STUBS_H
#define SELFTESTS_UNIT_CLI_STUBS_H

#include "cli/cli.h"

/* What cli_read() does; NULL: it fails. */
static int (*stub_read)(struct cli *cli, const struct io_want *want);

int cli_open(struct cli *cli)
{
	(void)cli;
	return CLI_ERROR;
}

int cli_read(struct cli *cli, const struct io_want *want)
{
	return stub_read ? stub_read(cli, want) : CLI_ERROR;
}

int cli_crowd(struct cli *cli)
{
	(void)cli;
	return CLI_ERROR;
}

#endif /* SELFTESTS_UNIT_CLI_STUBS_H */
