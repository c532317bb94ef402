/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by the files of swiftrdma run. */
#ifndef SRDMA_CLI_RUN_H
#define SRDMA_CLI_RUN_H

#include <stdio.h>

#include "core/snapshot.h"

/* run_library.c: libswiftrdma, and what it sees of a program. */

/*
 * The library that was built or installed with a command: bin/ and lib/ have one parent.
 * @exe: a link to the command. False: there is none.
 */
bool run_lib_find(const char *exe, char *path, size_t cap);
/* Puts it first into LD_PRELOAD, unless it is there. */
bool run_lib_preload(const char *path);

struct run_seen {
	bool elf, dynamic, privileged;
	bool verbs, wr_api, cm;	/* the library sees calls of these */
	bool direct;		/* the program may write requests itself */
	bool loads;		/* the program loads libraries while it runs */
	bool other_loader;	/* its libraries were not examined */
};

/*
 * Examines a program without running it. Its libraries are those that this program's own loader lists.
 * False: the file cannot be read, see errno.
 */
bool run_check(struct run_seen *seen, const char *path);
void run_check_print(const struct run_seen *seen, const char *path, FILE *f);

/* job_cgroup.c: @path has SNAP_PATH bytes, @why RUN_WHY. */
#define RUN_WHY	512

struct job_cgroups {
	char mount[SNAP_PATH];	/* of the unified hierarchy */
	char own[SNAP_PATH];	/* the cgroup of this process, a path below @mount */
};

/*
 * Finds a cgroup that the rules of a job match, for a process of @uid: @own, the cgroup of
 * this process, if they match it. False: the reason is in @why.
 */
bool job_cgroup_of(const struct snapshot *snap, const struct snap_job *job, uint32_t uid,
		   const char *own, char *path, char *why);
/*
 * Reads the mount point and the own cgroup from two files in the form of proc(5).
 * False: the reason is in @why.
 */
bool job_cgroups_find(struct job_cgroups *c, const char *mountinfo, const char *self, char *why);
/* Creates @path if it does not exist, and moves this process there. False: see @why. */
bool job_cgroup_enter(const struct job_cgroups *c, const char *path, char *why);

#endif /* SRDMA_CLI_RUN_H */
