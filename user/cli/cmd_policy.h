/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by the files of swiftrdma policy. */
#ifndef SRDMA_CLI_CMD_POLICY_H
#define SRDMA_CLI_CMD_POLICY_H

#include "cli/args.h"
#include "policy/config.h"

struct cli;

/**
 * struct policy_target - the devices that a policy file is judged for
 * @file: the file
 * @snap: the devices; NULL: none, @caps is an assumption
 * @only: the one device that was named; NULL: all
 * @caps: the union of the devices' capabilities
 * @text: describes the devices, or the assumption
 */
struct policy_target {
	const char *file;
	const struct snapshot *snap;
	const struct snap_dev *only;
	struct caps caps;
	char text[480];
};

/**
 * policy_target - parse FILE [ on { here | anywhere | DEV } ] [ JOB ], in any order after FILE
 * @cli: the command
 * @args: its words, to the end
 * @w: out, valid until the next reading
 * @job: out, NULL if no job is named; pass NULL where a job is not allowed
 *
 * Returns CLI_OK, or an exit status after a message on stderr.
 */
int policy_target(struct cli *cli, struct args *args, struct policy_target *w, const char **job);

#define POLICY_NOTE	256

/**
 * policy_judge - load a file as each of the devices would run it
 * @cfg: out
 * @w: the file and its devices
 * @say_warnings: print warnings to stderr; errors are always printed
 * @notes: out, for each policy that runs on some devices only, on which it does not;
 *	the caller frees it. NULL: not wanted
 */
int policy_judge(struct config *cfg, const struct policy_target *w, bool say_warnings,
		 char (**notes)[POLICY_NOTE]);
/* Prints mistakes to stderr. */
int policy_load(struct config *cfg, const char *file, const struct caps *caps,
		bool say_warnings);

/* policy_simulate.c */
int policy_simulate(struct cli *cli, struct args *args);
struct scenario;
const char *policy_basis(const struct scenario *sc);
/* @err: -errno of a run. Returns CLI_ERROR. */
int policy_sim_failed(int err);
/*
 * Loads the policies of @file for scenario @sc, and the jobs of the file into @sc. All
 * times of the policies are divided by *@hurry. 0: chosen by the ratio of the scenario's
 * tick to the file's, and returned.
 */
int policy_load_for(struct config *cfg, const char *file, struct scenario *sc, double *hurry,
		    bool say_warnings);

/* policy_sweep.c: finds the range of each number in which the scenario's claim holds */
int policy_sweep(struct cli *cli, const struct scenario *sc, const struct config *cfg);
/* policy_fleet.c: simulates without policies and with each file */
int policy_fleet(struct cli *cli, const struct scenario *sc,
		 const char *const *files, size_t n, uint32_t hosts, uint64_t hurry);
/* policy_replay.c: compares what the policies would do with what was recorded */
int policy_replay(struct cli *cli, const char *file, const char *recording, uint64_t hurry);

#endif /* SRDMA_CLI_CMD_POLICY_H */
