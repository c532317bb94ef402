// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The library in the process: where it is, and that a command starts with it. */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run.h"
#include "core/snapshot.h"

#define LIBRARY "lib/libswiftrdma.so.1"

/* Beside this command, as it was built or installed: bin/ and lib/ have one parent. */
bool run_lib_find(const char *exe, char *path, size_t cap)
{
	char self[SNAP_PATH];
	ssize_t n = readlink(exe, self, sizeof(self) - 1);
	int len;

	if (n <= 0)
		return false;
	self[n] = '\0';
	len = snprintf(path, cap, "%s/" LIBRARY, dirname(dirname(self)));
	return len > 0 && (size_t)len < cap && !access(path, R_OK);
}

/* Before what else is preloaded; not twice, where one run starts another. */
bool run_lib_preload(const char *path)
{
	const char *was = getenv("LD_PRELOAD");
	char *value;
	bool ok;

	if (!was || !*was)
		return !setenv("LD_PRELOAD", path, 1);
	if (strstr(was, path))
		return true;
	if (asprintf(&value, "%s:%s", path, was) < 0)
		return false;
	ok = !setenv("LD_PRELOAD", value, 1);
	free(value);
	return ok;
}
