/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* swiftrdma run, in pieces: the environment, the cgroup, the command. */
#ifndef SRDMA_CLI_RUN_H
#define SRDMA_CLI_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/snapshot.h"

/* run_policy.c: what a policy file says of a job. */
/*
 * Put the job's environment into ours. 1: done; 0: the file has no such job, or
 * there is no file and it is not @asked for; -1: it is wrong, and that was said.
 */
int run_policy_environment(const char *file, bool asked, const char *job);

/* run_cgroup.c */

/**
 * run_cgroup_of - a path that the rules of @job match
 * @snap: has the jobs
 * @job: one of them
 * @uid: whose process it is to be
 * @own: where we are; if it is the job's already, that is the answer
 * @path: out
 * @cap: its room
 * @why: out, where there is none
 * @why_cap: its room
 *
 * False: there is none, for the reason in @why.
 */
bool run_cgroup_of(const struct snapshot *snap, const struct snap_job *job,
		   unsigned int uid, const char *own, char *path, size_t cap,
		   char *why, size_t why_cap);

struct run_cgroups {
	char mount[SNAP_PATH];	/* of the unified hierarchy */
	char own[SNAP_PATH];	/* path in it */
};

/* Where it is, out of two files in the form of proc(5). False: said in @why. */
bool run_cgroups_find(struct run_cgroups *c, const char *mountinfo,
		      const char *self, char *why, size_t cap);
/* Make @path if need be, and go there. False: said in @why. */
bool run_cgroup_enter(const struct run_cgroups *c, const char *path, char *why,
		      size_t cap);

#endif /* SRDMA_CLI_RUN_H */
