// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How much more memory the process may use before the kernel has to reclaim some, by
 * /proc/meminfo and by the limits of the process's memory cgroup and of those above it.
 *
 * Files are read by system calls and not by libc's functions, which are cancellation points.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/huge.h"
#include "lib/lib.h"

/* Small, because a thread of the program may have a small stack. */
#define PATH_BYTES 512
#define CGROUP_BYTES 3072

/* In front of the paths of all files. Replaced by tests. */
const char *huge_root = "";

int huge_open(const char *path)
{
	char full[PATH_BYTES];
	int n = snprintf(full, sizeof(full), "%s%s", huge_root, path);

	if (n < 0 || (size_t)n >= sizeof(full)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, full, O_RDONLY | O_CLOEXEC);
}

void huge_close(int fd)
{
	syscall(SYS_close, fd);
}

bool huge_read(const char *path, char *buf, size_t size)
{
	int fd = huge_open(path);
	long n;

	if (fd < 0)
		return false;
	n = syscall(SYS_read, fd, buf, size - 1);
	huge_close(fd);
	if (n < 0)
		return false;
	buf[n] = '\0';
	return true;
}

/* The bytes that the system can give without swapping; 0: unknown. */
static uint64_t system_left(void)
{
	char text[512], *s;

	if (!huge_read("/proc/meminfo", text, sizeof(text)))
		return 0;
	s = strstr(text, "\nMemAvailable:");
	return s ? strtoull(s + strlen("\nMemAvailable:"), NULL, 10) * 1024 : 0;
}

/* The files of the memory controller, in cgroup v2 and v1. */
static const struct controller {
	const char *mount, *usage, *limits[2];
} controllers[] = {
	{ "/sys/fs/cgroup", "memory.current", { "memory.max", "memory.high" } },
	{ "/sys/fs/cgroup/memory", "memory.usage_in_bytes", { "memory.limit_in_bytes", NULL } },
};

/* Reads a number of a cgroup; false: there is no such file, or "max" is in it. */
static bool read_number(const char *dir, const char *file, uint64_t *n)
{
	char path[PATH_BYTES], text[32], *end;

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path) ||
	    !huge_read(path, text, sizeof(text)))
		return false;
	*n = strtoull(text, &end, 10);
	return end != text;
}

/* What a cgroup's own limits leave. */
static uint64_t left_in(const struct controller *c, const char *dir)
{
	uint64_t left = UINT64_MAX, used = UINT64_MAX, limit;

	for (int i = 0; i < 2; i++) {
		if (!c->limits[i] || !read_number(dir, c->limits[i], &limit))
			continue;
		/* A limit without a usage: as if it were reached. */
		if (used == UINT64_MAX)
			read_number(dir, c->usage, &used);
		limit = limit > used ? limit - used : 0;
		if (limit < left)
			left = limit;
	}
	return left;
}

static bool is_directory(const char *dir)
{
	int fd = huge_open(dir);

	if (fd >= 0)
		huge_close(fd);
	return fd >= 0;
}

/*
 * Looks in /proc/self/cgroup (@text) for the memory cgroup: the line of cgroup v1's memory
 * controller, else that of cgroup v2. Returns its path, which ends the string; NULL: none.
 */
static char *find_cgroup(char *text, const struct controller **c)
{
	char *path = NULL, *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *names = strchr(line, ':'), *end = names ? strchr(names + 1, ':') : NULL;

		if (!end)
			continue;
		*end = '\0';
		if (!strcmp(names + 1, "memory")) {
			*c = &controllers[1];
			return end + 1;
		}
		if (!names[1] && !path) {
			*c = &controllers[0];
			path = end + 1;
		}
	}
	return path;
}

static uint64_t cgroup_left(void)
{
	const struct controller *c = NULL;
	char text[CGROUP_BYTES], dir[PATH_BYTES], *path, *slash;
	uint64_t left = UINT64_MAX, here;
	size_t base;

	/* A kernel without cgroups has no such file. */
	if (!huge_read("/proc/self/cgroup", text, sizeof(text)))
		return UINT64_MAX;
	if (strlen(text) == sizeof(text) - 1)
		return 0;
	path = find_cgroup(text, &c);
	if (!path)
		return UINT64_MAX;
	base = strlen(c->mount);
	if (snprintf(dir, sizeof(dir), "%s%s", c->mount, path) >= (int)sizeof(dir))
		return 0;
	/* The cgroup is not in this mount, for instance because it is above the namespace's root. */
	if (strstr(path, "/..") || !is_directory(dir))
		return 0;
	for (;;) {
		here = left_in(c, dir);
		if (here < left)
			left = here;
		slash = strrchr(dir, '/');
		if (!slash || slash < dir + base)
			return left;
		*slash = '\0';
	}
}

uint64_t huge_memory_left(void)
{
	uint64_t system = system_left(), cgroup = cgroup_left();

	return system < cgroup ? system : cgroup;
}
