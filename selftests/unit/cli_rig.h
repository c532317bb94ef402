/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The command between two readings that were made up, for tests of what it shows. */
#ifndef SELFTESTS_UNIT_CLI_RIG_H
#define SELFTESTS_UNIT_CLI_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "cli/cli.h"
#include "unit/snap_build.h"

static struct made was, is;
static struct cli cli;

static inline void rig_begin(void)
{
	memset(&cli, 0, sizeof(cli));
	cli.out.rates = true;
	signals_init(&cli.sig);
	crowd_init(&cli.crowd);
}

/* The second reading, with what the first one makes of it. */
static inline void rig_read(void)
{
	struct signal_opts opts = cli_signal_opts(&cli);

	opts.tau = 1;
	cli.snap = is.s;
	assert_int_equal(signals_reserve(&cli.sig, &cli.snap), 0);
	signals_update(&cli.sig, &was.s, &cli.snap, &opts);
	assert_int_equal(cli_crowd(&cli), 0);
}

static inline void rig_end(void)
{
	signals_free(&cli.sig);
	crowd_free(&cli.crowd);
	running_free(&cli.running);
}

#endif /* SELFTESTS_UNIT_CLI_RIG_H */
