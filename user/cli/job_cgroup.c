// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The cgroups that a job's rules match, and how to enter one. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/run.h"
#include "core/rule.h"

/*
 * Makes a path that the glob matches: a star becomes "run", or nothing in a name. @path has
 * SNAP_PATH bytes.
 */
static bool make_matching_path(const char *glob, char *path)
{
	size_t n = 0;

	for (const char *g = glob; *g; g++) {
		const char *s = NULL;

		if (*g == '[' || *g == '\\')
			return false;
		if (*g == '*')
			s = n && path[n - 1] != '/' ? "" : n ? "run" : "/run";
		else if (*g == '?')
			s = "x";
		if (!s) {
			if (n + 1 >= SNAP_PATH)
				return false;
			path[n++] = *g;
		} else {
			if (n + strlen(s) >= SNAP_PATH)
				return false;
			n = (size_t)(stpcpy(path + n, s) - path);
		}
	}
	while (n > 1 && path[n - 1] == '/')
		n--;
	path[n] = '\0';
	return path[0] == '/' && !fnmatch(glob, path, 0);
}

static bool matches_cgroup(const struct snap_rule *rule, uint32_t uid, const char *path)
{
	struct snap_owner owner = { .uid = uid };
	struct text t;

	/* Conditions on comm, exe and pid cannot be checked before the program runs. */
	if (!rule->cgroup[0] || rule->comm[0] || rule->exe[0] || rule->has_pid)
		return false;
	text_init(&t, owner.cgroup, sizeof(owner.cgroup));
	text_str(&t, path);
	return !t.cut && rule_matches(rule, &owner);
}

/* The job of a program in @path, by the matching rule of lowest order. */
static const struct snap_job *job_in_cgroup(const struct snapshot *snap, uint32_t uid,
					    const char *path)
{
	const struct snap_job *job = NULL;
	uint32_t order = 0;

	for (size_t i = 0; i < snap->n_jobs; i++) {
		const struct snap_job *j = &snap->jobs[i];

		for (size_t k = 0; k < j->n_rules; k++) {
			if ((job && j->rules[k].order >= order) ||
			    !matches_cgroup(&j->rules[k], uid, path))
				continue;
			job = j;
			order = j->rules[k].order;
		}
	}
	return job;
}

bool job_cgroup_of(const struct snapshot *snap, const struct snap_job *job, uint32_t uid,
		   const char *own, char *path, char *why)
{
	const struct snap_job *other = NULL;

	if (job_in_cgroup(snap, uid, own) == job) {
		snprintf(path, SNAP_PATH, "%s", own);
		return true;
	}
	for (size_t i = 0; i < job->n_rules; i++) {
		const struct snap_rule *rule = &job->rules[i];

		if (!rule->cgroup[0] || !make_matching_path(rule->cgroup, path) ||
		    !matches_cgroup(rule, uid, path))
			continue;
		other = job_in_cgroup(snap, uid, path);
		if (other == job)
			return true;
	}
	if (other)
		snprintf(why, RUN_WHY, "cgroup %s belongs to job %s, whose rule comes first",
			 path, other->name);
	else
		snprintf(why, RUN_WHY,
			 "no rule of it has a cgroup as its only condition; add one, as in swiftrdma job set %s match cgroup=/%s",
			 job->name, job->name);
	return false;
}

/* Octal escapes, as in proc(5). */
static void unescape_octal(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 |
				       (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* *@other_root: a hierarchy is mounted, but its root is not that of the host. */
static bool find_mount(struct job_cgroups *c, const char *mountinfo, bool *other_root)
{
	char line[2048], root[SNAP_PATH], mount[SNAP_PATH];
	FILE *f = fopen(mountinfo, "re");
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		const char *type = strstr(line, " - ");

		if (!type || strncmp(type + 3, "cgroup2 ", 8) ||
		    sscanf(line, "%*s %*s %*s %255s %255s", root, mount) != 2)
			continue;
		*other_root = strcmp(root, "/") != 0;
		found = !*other_root;
	}
	if (f)
		fclose(f);
	if (!found)
		return false;
	unescape_octal(mount);
	memcpy(c->mount, mount, sizeof(c->mount));
	return true;
}

bool job_cgroups_find(struct job_cgroups *c, const char *mountinfo, const char *self, char *why)
{
	char line[SNAP_PATH + 3];
	bool other_root = false, found = false;
	FILE *f;

	memset(c, 0, sizeof(*c));
	if (!find_mount(c, mountinfo, &other_root)) {
		snprintf(why, RUN_WHY, other_root ?
			 "this is a cgroup namespace, in which the cgroups of a job's rules are not visible" :
			 "the unified cgroup hierarchy (cgroup v2) is not mounted");
		return false;
	}
	f = fopen(self, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::/", 4))
			continue;
		found = true;
		snprintf(c->own, sizeof(c->own), "%s", line + 3);
	}
	if (f)
		fclose(f);
	if (!found)
		snprintf(why, RUN_WHY, "%s has no line of the unified cgroup hierarchy", self);
	return found;
}

static void explain_cgroup_error(int err, const char *path, char *why)
{
	switch (err) {
	case EACCES:
	case EPERM:
		snprintf(why, RUN_WHY,
			 "cgroup %s: not allowed; be root, or have it delegated to you", path);
		break;
	case EROFS:
		snprintf(why, RUN_WHY, "cgroup %s: the hierarchy is mounted read-only", path);
		break;
	case EBUSY:
		snprintf(why, RUN_WHY,
			 "cgroup %s has controllers enabled for its children, so it cannot contain processes itself (cgroups(7)); name another cgroup",
			 path);
		break;
	case EOPNOTSUPP:
		snprintf(why, RUN_WHY, "cgroup %s is threaded, and cannot contain a whole process",
			 path);
		break;
	default:
		snprintf(why, RUN_WHY, "cgroup %s: %s", path, strerror(err));
	}
}

/* Creates the directories of a path, of which the first @from bytes exist. */
static int make_directories(char *dir, size_t from)
{
	for (char *s = dir + from + 1;; s++) {
		char was = *s;

		if (was && was != '/')
			continue;
		*s = '\0';
		if (mkdir(dir, 0755) && errno != EEXIST)
			return -errno;
		*s = was;
		if (!was)
			return 0;
	}
}

bool job_cgroup_enter(const struct job_cgroups *c, const char *path, char *why)
{
	char file[2 * SNAP_PATH + 16];
	int fd, err = 0;

	if (!strcmp(path, c->own))
		return true;
	snprintf(file, sizeof(file), "%s%s", c->mount, path);
	if (strcmp(path, "/"))
		err = make_directories(file, strlen(c->mount));
	if (!err) {
		strcat(file, "/cgroup.procs");
		fd = open(file, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, "0", 1) != 1)
			err = -errno;
		if (fd >= 0)
			close(fd);
	}
	if (err)
		explain_cgroup_error(-err, path, why);
	return !err;
}
