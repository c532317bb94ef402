/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Where a QP stands, in sentences; explain.c makes them, pure but for one file. */
#ifndef SRDMA_CLI_EXPLAIN_H
#define SRDMA_CLI_EXPLAIN_H

#include "cli/cli.h"

enum explain_topic {
	EXPLAIN_QP,
	EXPLAIN_UAR,
	EXPLAIN_CLASS,
	EXPLAIN_RATE,
	EXPLAIN_CONTENTION,
	EXPLAIN_UNTOLD,
	EXPLAIN_ADVICE,
	EXPLAIN_TOPICS,
};

#define EXPLAIN_LINES	26
#define EXPLAIN_LEN	320

struct explain {
	size_t qp;		/* row of the snapshot */
	struct {
		enum explain_topic topic;
		char text[EXPLAIN_LEN];
	} line[EXPLAIN_LINES];
	size_t n;
	/* the settings of libmlx5 in its process's environment; NULL: unknown */
	const char *environment;
	/* who talks to whom; NULL: unknown */
	const struct pairs *pairs;
};

extern const char *const explain_topics[EXPLAIN_TOPICS];

/* All there is to say of QP @e->qp, out of @cli's snapshot, signals and crowd. */
void explain_qp(const struct cli *cli, struct explain *e);

#endif /* SRDMA_CLI_EXPLAIN_H */
