/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Small files and directories, as sysfs and procfs have them, below an open directory
 * (AT_FDCWD: the one that we are in).
 */
#ifndef SRDMA_IO_FILE_H
#define SRDMA_IO_FILE_H

#include <stddef.h>

#include "core/host.h"

/* Without the newlines at its end. 0 or -errno, and then "". */
int srdma_file_text(int dir, const char *path, char *buf, size_t cap);
/* The last part of where a symbolic link points to; "": it is none. */
void srdma_file_link(int dir, const char *path, char *buf, size_t cap);
/*
 * Calls @each for the names in a directory, in alphabetical order, until one does
 * not return 0; returns that. A directory that cannot be read is an empty one.
 */
int srdma_file_each(int dir, const char *path,
		    int (*each)(int dir, const char *name, void *arg),
		    void *arg);
/* Does a line of this file, which may be compressed, hold @what? */
enum host_answer srdma_file_has(int dir, const char *path, const char *what,
				bool (*match)(const char *line,
					      const char *what));

#endif /* SRDMA_IO_FILE_H */
