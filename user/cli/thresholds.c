// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Port speeds and criteria: those that the running agent uses. */
#include "cli/cli.h"

const struct running *cli_running(struct cli *cli)
{
	if (cli->looked)
		return &cli->running;
	cli->looked = true;
	running_free(&cli->running);
	if (!running_find(&cli->running, cli->run_file) &&
	    !running_by_policy(&cli->running, cli->policy_file))
		criteria_init(&cli->running.cfg.criteria);
	return &cli->running;
}

struct signal_opts cli_signal_opts(struct cli *cli)
{
	return config_signal_opts(&cli_running(cli)->cfg);
}

double cli_criterion(const struct cli *cli, const char *name)
{
	return criteria_value(&cli->running.cfg.criteria, name);
}
