// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RUNNING_FILE says what this agent runs by. Its lock is held as long as the agent
 * lives, so what a killed one left behind is not believed. Each reload puts a new
 * file, which is locked already, in the place of the old one: who reads sees either.
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

/* Of a path where other directories are, or what cannot be one. */
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

static int publish(struct agent *a, const char *path)
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
	/* Everybody may read it, whatever the unit's umask. */
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

/* What tries a file, or decides once, is not what the jobs here are steered by. */
void agent_publish(struct agent *a)
{
	int err;

	if (!a->opt.run_dir || a->opt.dry_run || a->opt.once)
		return;
	err = publish(a, a->opt.run_dir);
	if (err)
		log_msg(LOG_WARNING,
			"%s/agent.yaml is not written: %s; 'swiftrdma port show' and 'qp explain' go by the file " CONFIG_DEFAULT " instead",
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
