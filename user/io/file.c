// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Reads small files and directories of sysfs and procfs. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/array.h"
#include "io/file.h"

int srdma_file_text(int dir, const char *path, char *buf, size_t cap)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC), err;
	size_t len = 0;
	ssize_t n;

	buf[0] = '\0';
	if (fd < 0)
		return -errno;
	/* procfs returns at most a page per read. */
	while ((n = read(fd, buf + len, cap - 1 - len)) > 0)
		len += (size_t)n;
	err = n < 0 ? -errno : 0;
	close(fd);
	while (len && buf[len - 1] == '\n')
		len--;
	buf[err ? 0 : len] = '\0';
	return err;
}

void srdma_file_link(int dir, const char *path, char *buf, size_t cap)
{
	char to[PATH_MAX];
	ssize_t n = readlinkat(dir, path, to, sizeof(to) - 1);
	const char *last;

	buf[0] = '\0';
	if (n <= 0)
		return;
	to[n] = '\0';
	last = strrchr(to, '/');
	snprintf(buf, cap, "%s", last ? last + 1 : to);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in directory @d, sorted. NULL: out of memory. */
static char **read_names(DIR *d, size_t *n)
{
	const struct dirent *e;
	size_t cap = 0;
	char **v = NULL;

	*n = 0;
	do {
		e = readdir(d);
		if (e && e->d_name[0] == '.')
			continue;
		if (!array_reserve(&v, &cap, *n + 1, sizeof(*v)))
			goto fail;
		if (!e)
			break;
		v[*n] = strdup(e->d_name);
		if (!v[*n])
			goto fail;
		(*n)++;
	} while (e);
	qsort(v, *n, sizeof(*v), by_name);
	return v;
fail:
	while (*n)
		free(v[--*n]);
	free(v);
	return NULL;
}

int srdma_file_each(int dir, const char *path,
		    int (*each)(int dir, const char *name, void *arg),
		    void *arg)
{
	int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	char **names;
	int err = 0;
	size_t n, i;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	names = read_names(d, &n);
	if (!names)
		err = -ENOMEM;
	for (i = 0; names && i < n; i++) {
		if (!err)
			err = each(fd, names[i], arg);
		free(names[i]);
	}
	free(names);
	closedir(d);
	return err;
}

enum host_answer srdma_file_has(int dir, const char *path, const char *what,
				bool (*match)(const char *line,
					      const char *what))
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	gzFile f = fd >= 0 ? gzdopen(fd, "r") : NULL;
	enum host_answer answer = HOST_NO;
	char line[1024];

	if (!f) {
		if (fd >= 0)
			close(fd);
		return HOST_UNKNOWN;
	}
	while (answer == HOST_NO && gzgets(f, line, sizeof(line))) {
		line[strcspn(line, "\n")] = '\0';
		if (match(line, what))
			answer = HOST_YES;
	}
	gzclose(f);
	return answer;
}
