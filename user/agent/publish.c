// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RUNNING_FILE has the settings of this agent. The agent holds a lock on the file, so
 * readers ignore the file of an agent that was killed. A reload replaces the file by one
 * that is already locked, so readers see either the old or the new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/log.h"
#include "policy/running.h"

/* The absolute path of @file, or "-" as it is. */
static void whole_path(const char *file, char *buf, size_t cap)
{
	char *path = strcmp(file, "-") ? realpath(file, NULL) : NULL;
	struct text t;

	text_init(&t, buf, cap);
	text_tame(&t, path ? path : file);
	free(path);
}

static int write_file(const struct agent *a, int dir, int fd)
{
	char file[RUNNING_PATH];
	FILE *f = fdopen(fcntl(fd, F_DUPFD_CLOEXEC, 0), "w");
	bool ok;

	if (!f)
		return -errno;
	whole_path(a->opt.config, file, sizeof(file));
	ok = running_write(f, file, (uint32_t)getpid(), &a->cfg);
	if (fclose(f) || !ok)
		return -EIO;
	return renameat(dir, "agent.yaml.new", dir, "agent.yaml") ? -errno : 0;
}

static int write_running_file(struct agent *a, const char *path)
{
	int dir, fd, err;

	if (mkdir(path, 0755) && errno != EEXIST)
		return -errno;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	unlinkat(dir, "agent.yaml.new", 0);
	fd = openat(dir, "agent.yaml.new",
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	/* World-readable, whatever the umask. */
	if (fd < 0 || fchmod(fd, 0644) || flock(fd, LOCK_EX | LOCK_NB))
		err = -errno;
	else
		err = write_file(a, dir, fd);
	close(dir);
	if (err) {
		if (fd >= 0)
			close(fd);
		return err;
	}
	if (a->published >= 0)
		close(a->published);
	a->published = fd;
	return 0;
}

/* A dry run and --once are not the agent that controls the jobs. */
void agent_publish(struct agent *a)
{
	int err;

	if (!a->opt.run_dir || a->opt.dry_run || a->opt.once)
		return;
	err = write_running_file(a, a->opt.run_dir);
	if (err)
		log_msg(LOG_WARNING,
			"%s/agent.yaml is not written: %s; 'swiftrdma port show' and 'qp explain' use the file " CONFIG_DEFAULT " instead",
			a->opt.run_dir, strerror(-err));
}

void agent_unpublish(struct agent *a)
{
	char path[RUNNING_PATH];

	if (a->published < 0)
		return;
	snprintf(path, sizeof(path), "%s/agent.yaml", a->opt.run_dir);
	unlink(path);
	close(a->published);
	a->published = -1;
}
