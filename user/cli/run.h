/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What swiftrdma run knows of the library in the process, and of the command. */
#ifndef SRDMA_CLI_RUN_H
#define SRDMA_CLI_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* run_lib.c; @exe: the link to the running program. False: it is not installed. */
bool run_lib_find(const char *exe, char *path, size_t cap);
/* Puts it into the environment. */
bool run_lib_preload(const char *path);

/* run_check.c: what a program and its libraries are seen to use. */
struct run_seen {
	bool elf, dynamic, privileged;
	bool verbs, wr_api, cm;	/* seen by the library in the process */
	bool direct;		/* requests that the program writes itself */
	bool loads;		/* more, while it runs */
};

/* False: the file cannot be read, as errno has it. */
bool run_check(struct run_seen *seen, const char *path);
void run_check_print(const struct run_seen *seen, const char *path, FILE *f);

#endif /* SRDMA_CLI_RUN_H */
