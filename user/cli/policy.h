/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Between the files of the command that read policies. */
#ifndef SRDMA_CLI_POLICY_H
#define SRDMA_CLI_POLICY_H

#include "cli/args.h"
#include "policy/config.h"

struct cli;

/**
 * struct policy_where - what a file is judged for
 * @file: the file
 * @snap: the devices that were asked; NULL: none, @caps is an assumption
 * @only: the one of them that was named; NULL: all
 * @caps: what the devices have together
 * @text: what was asked, or is assumed, in words
 */
struct policy_where {
	const char *file;
	const struct snapshot *snap;
	const struct snap_dev *only;
	struct caps caps;
	char text[480];
};

/**
 * policy_where - FILE [ on { here | anywhere | DEV } ] and, in any order, [ JOB ]
 * @cli: the command
 * @args: its words, to the end
 * @w: out, valid until the next reading
 * @job: out, NULL if none is named; NULL: none may be
 *
 * CLI_OK or, said, an exit status.
 */
int policy_where(struct cli *cli, struct args *args, struct policy_where *w, const char **job);

#define POLICY_NOTE	256

/**
 * policy_judge - load a file as each of the devices would run it
 * @cfg: out
 * @w: the file, and for what
 * @say_warnings: to stderr, as mistakes in any case
 * @notes: out, per policy on which devices it does not run, though on others; for free().
 *	NULL: not wanted
 */
int policy_judge(struct config *cfg, const struct policy_where *w, bool say_warnings,
		 char (**notes)[POLICY_NOTE]);
/* What is wrong goes to stderr. */
int policy_load(struct config *cfg, const char *file, const struct caps *caps,
		bool say_warnings);

/* policy_explain.c: compile and explain */
int policy_compile(struct cli *cli, struct args *args);
int policy_explain(struct cli *cli, struct args *args);

/* policy_sim.c */
int policy_simulate(struct cli *cli, struct args *args);
struct scenario;
const char *policy_basis(const struct scenario *sc);
/*
 * A file's policies as they run in @sc, which gets the file's jobs: their times are
 * divided by @hurry; 0: by as much as the scenario looks more often, which it then is.
 */
int policy_load_for(struct config *cfg, const char *file, struct scenario *sc, double *hurry,
		    bool say_warnings);

/* policy_sweep.c: over which values of its numbers a scenario's claim holds */
int policy_sweep(struct cli *cli, const struct scenario *sc, const struct config *cfg);
/* policy_fleet.c: without policies, and with those of each file */
int policy_fleet(struct cli *cli, const struct scenario *sc,
		 const char *const *files, size_t n, uint32_t hosts, uint64_t hurry);
/* policy_replay.c: what would have been done, against what was */
int policy_replay(struct cli *cli, const char *file, const char *recording, uint64_t hurry);
/* policy_svg.c: of what is in the CSV of a simulation */
int policy_svg(const struct scenario *sc, const char *csv, const char *svg);

#endif /* SRDMA_CLI_POLICY_H */
