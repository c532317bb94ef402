/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The beginning and the end of a command, for tests that run a noun's verb. */
#ifndef SELFTESTS_UNIT_CLI_WORDS_H
#define SELFTESTS_UNIT_CLI_WORDS_H

#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/cli.h"

/* The words of @line, until the next call. */
static inline struct args cli_words(const char *line)
{
	static char buf[256], *word[16];
	struct args args = { word, 0 };

	snprintf(buf, sizeof(buf), "%s", line);
	for (char *w = strtok(buf, " "); w && args.n < 16; w = strtok(NULL, " "))
		word[args.n++] = w;
	return args;
}

/* Closes what a verb has used, with the file of its output. */
static inline void cli_end(struct cli *cli)
{
	fclose(cli->out.f);
	io_close(cli->io);
	snapshot_free(&cli->snap);
}

#endif /* SELFTESTS_UNIT_CLI_WORDS_H */
