/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Between the files of the command that read policies. */
#ifndef SRDMA_CLI_POLICY_H
#define SRDMA_CLI_POLICY_H

#include "cli/args.h"
#include "policy/config.h"

struct cli;

/* FILE [ on { here | anywhere | DEV } ] */
int policy_file(struct cli *cli, struct args *args, const char **file,
		struct caps *caps);
/* What is wrong goes to stderr. */
int policy_load(struct config *cfg, const char *file, const struct caps *caps,
		bool say_warnings);

/* policy_sim.c */
int policy_simulate(struct cli *cli, struct args *args);

struct scenario;

/* policy_fleet.c: without policies, and with those of each file */
int policy_fleet(struct cli *cli, const struct scenario *sc,
		 const char *const *files, size_t n, uint32_t hosts);
/* policy_replay.c: what would have been done, against what was */
int policy_replay(struct cli *cli, const char *file, const char *recording);
/* policy_svg.c: of what is in the CSV of a simulation */
int policy_svg(const struct scenario *sc, const char *csv, const char *svg);

#endif /* SRDMA_CLI_POLICY_H */
