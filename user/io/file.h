/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reads small files and directories of sysfs and procfs, below an open directory
 * (AT_FDCWD: the current one).
 */
#ifndef SRDMA_IO_FILE_H
#define SRDMA_IO_FILE_H

#include <stddef.h>

#include "io/host_info.h"

/* Reads a file without its trailing newlines. 0, or -errno with an empty @buf. */
int srdma_file_text(int dir, const char *path, char *buf, size_t cap);
/* The last part of a symbolic link's target; "": not a link. */
void srdma_file_link(int dir, const char *path, char *buf, size_t cap);
/*
 * Calls @each for the names in a directory in alphabetical order, until a call returns
 * nonzero, and returns that. A directory that cannot be read counts as empty.
 */
int srdma_file_each(int dir, const char *path,
		    int (*each)(int dir, const char *name, void *arg),
		    void *arg);
/* Does a line of the file, which may be compressed, contain @what? */
enum host_answer srdma_file_has(int dir, const char *path, const char *what,
				bool (*match)(const char *line,
					      const char *what));

#endif /* SRDMA_IO_FILE_H */
