// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One agent a host: the rules of origin "agent" in the kernel are those of the process
 * that holds this lock, and what an agent that is dead left there is its successor's.
 * The kernel lets go of the lock when the process ends, however it ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"

static int open_lock(const char *path)
{
	char dir[256];
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;

	/* As a service it has the directory from systemd. */
	if (n && n < sizeof(dir)) {
		memcpy(dir, path, n);
		dir[n] = '\0';
		mkdir(dir, 0755);
	}
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
}

/* In another pid namespace the kernel does not say who, but the file does. */
static long holder(int fd, const struct flock *l)
{
	char text[32];
	ssize_t n;

	if (l->l_pid > 0)
		return l->l_pid;
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	return strtol(text, NULL, 10);
}

static void sign(int fd)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

	/* For people: who holds the lock the kernel knows. */
	if (ftruncate(fd, 0) || pwrite(fd, text, (size_t)n, 0) < 0)
		return;
}

int agent_lock(const char *path, char *why, size_t cap)
{
	struct flock l;
	int fd = open_lock(path), err;

	if (fd < 0) {
		err = -errno;
		snprintf(why, cap, "no lock at %s: %s", path, strerror(-err));
		return err;
	}
	do {
		l = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
		if (!fcntl(fd, F_SETLK, &l)) {
			sign(fd);
			return fd;
		}
		err = -errno;
		l = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
		/* Gone in between: once more. */
	} while ((err == -EAGAIN || err == -EACCES) &&
		 !fcntl(fd, F_GETLK, &l) && l.l_type == F_UNLCK);
	if (err == -EAGAIN || err == -EACCES) {
		err = -EBUSY;
		snprintf(why, cap,
			 "another agent runs on this host: process %ld holds %s; stop it first, or try a file beside it with --dry-run",
			 holder(fd, &l), path);
	} else {
		snprintf(why, cap, "no lock at %s: %s", path, strerror(-err));
	}
	close(fd);
	return err;
}
