/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The state of a QP in sentences. qp_explain_text.c and qp_explain_pieces.c write them; they read
 * nothing themselves.
 */
#ifndef SRDMA_CLI_QP_EXPLAIN_H
#define SRDMA_CLI_QP_EXPLAIN_H

#include "cli/cli.h"

enum explain_topic {
	EXPLAIN_QP,
	EXPLAIN_UAR,
	EXPLAIN_CLASS,
	EXPLAIN_RATE,
	EXPLAIN_PIECES,
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
	/* SWIFTRDMA_CHUNK in that environment, "" if it is not set; NULL: unknown */
	const char *chunk;
	/* QPs that are connected to each other; NULL: unknown */
	const struct pairs *pairs;
};

extern const char *const explain_topics[EXPLAIN_TOPICS];

/* Adds a sentence; those of a topic are shown in the order in which they were added. */
void add_sentence(struct explain *e, enum explain_topic topic, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Whether libswiftrdma posts requests of QP @e->qp in pieces, if its job has a size for them. */
void explain_pieces(const struct cli *cli, struct explain *e);
/* Describes QP @e->qp by the snapshot, the signals and the crowding in @cli. */
void explain_qp(const struct cli *cli, struct explain *e);

#endif /* SRDMA_CLI_QP_EXPLAIN_H */
