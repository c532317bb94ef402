/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The cgroups that a job's rules match, and how to enter one. */
#ifndef SRDMA_CLI_JOB_CGROUP_H
#define SRDMA_CLI_JOB_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#include "core/snapshot.h"

/**
 * job_cgroup_of - find a cgroup that the rules of a job match
 * @snap: has the jobs with their rules
 * @job: one of them
 * @uid: of the process that is to enter the cgroup
 * @own: the cgroup of this process; the answer if the job's rules match it already
 * @path: out, the cgroup
 * @cap: size of @path
 * @why: out, the reason if there is none
 * @why_cap: size of @why
 *
 * Returns false if there is none.
 */
bool job_cgroup_of(const struct snapshot *snap, const struct snap_job *job,
		   unsigned int uid, const char *own, char *path, size_t cap,
		   char *why, size_t why_cap);

struct job_cgroups {
	char mount[SNAP_PATH];	/* of the unified hierarchy */
	char own[SNAP_PATH];	/* the cgroup of this process, a path below @mount */
};

/*
 * Reads the mount point and the own cgroup from two files in the form of proc(5).
 * False: the reason is in @why.
 */
bool job_cgroups_find(struct job_cgroups *c, const char *mountinfo,
		      const char *self, char *why, size_t cap);
/* Creates @path if it does not exist, and moves this process there. False: see @why. */
bool job_cgroup_enter(const struct job_cgroups *c, const char *path, char *why,
		      size_t cap);

#endif /* SRDMA_CLI_JOB_CGROUP_H */
