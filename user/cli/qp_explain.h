/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The state of a QP in sentences. qp_explain_text.c writes them; it reads nothing itself. */
#ifndef SRDMA_CLI_QP_EXPLAIN_H
#define SRDMA_CLI_QP_EXPLAIN_H

#include "cli/cli.h"

enum explain_topic {
	EXPLAIN_QP,
	EXPLAIN_UAR,
	EXPLAIN_CLASS,
	EXPLAIN_RATE,
	EXPLAIN_LATENCY,
	EXPLAIN_CONTENTION,
	EXPLAIN_UNTOLD,
	EXPLAIN_ADVICE,
	EXPLAIN_TOPICS,
};

#define EXPLAIN_LINES	48
#define EXPLAIN_LEN	320

struct explain {
	size_t qp;		/* row of the snapshot */
	struct {
		enum explain_topic topic;
		char text[EXPLAIN_LEN];
	} line[EXPLAIN_LINES];
	size_t n;
	/* settings of libmlx5 in the environment of the QP's process; NULL: unknown */
	const char *environment;
	/* QPs that are connected to each other; NULL: unknown */
	const struct pairs *pairs;
};

extern const char *const explain_topics[EXPLAIN_TOPICS];

/* Describes QP @e->qp by the snapshot, the signals and the crowding in @cli. */
void explain_qp(const struct cli *cli, struct explain *e);

#endif /* SRDMA_CLI_QP_EXPLAIN_H */
