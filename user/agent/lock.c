// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Only one agent runs on a host. The process with this lock owns the rules of origin
 * "agent" in the kernel, also those left by an earlier agent. The kernel drops the lock
 * when the process ends, however it ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"

/*
 * Only the agent's user may open the file, because any process that can read it can take a read
 * lock on it, which keeps every agent out.
 */
static int open_lock(const char *path)
{
	char dir[256];
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;
	int fd;

	/* systemd creates the directory for the service. */
	if (n && n < sizeof(dir)) {
		memcpy(dir, path, n);
		dir[n] = '\0';
		mkdir(dir, 0755);
	}
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	/* Earlier versions left a file that every user can read. Another user's file stays. */
	if (fd >= 0)
		(void)fchmod(fd, 0600);
	return fd;
}

/* F_GETLK has no pid for a holder in another pid namespace; the file has it. */
static long find_holder(int fd, const struct flock *l)
{
	char text[32];
	ssize_t n;

	if (l->l_pid > 0)
		return l->l_pid;
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	return strtol(text, NULL, 10);
}

static void write_pid(int fd)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

	/* Only for people; the kernel knows the holder. */
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
			write_pid(fd);
			return fd;
		}
		err = -errno;
		l = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
		/* The holder ended between both calls: try again. */
	} while ((err == -EAGAIN || err == -EACCES) &&
		 !fcntl(fd, F_GETLK, &l) && l.l_type == F_UNLCK);
	if (err == -EAGAIN || err == -EACCES) {
		err = -EBUSY;
		snprintf(why, cap,
			 "another agent runs on this host: process %ld holds %s; stop it first, or try a file beside it with --dry-run",
			 find_holder(fd, &l), path);
	} else {
		snprintf(why, cap, "no lock at %s: %s", path, strerror(-err));
	}
	close(fd);
	return err;
}
