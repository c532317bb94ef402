/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The state of a QP in sentences, for swiftrdma qp explain and the exporter's page. The sentences
 * describe a struct reading (reading.h); this code reads nothing itself.
 */
#ifndef SRDMA_EXPLAIN_EXPLAIN_H
#define SRDMA_EXPLAIN_EXPLAIN_H

#include "base/json.h"
#include "core/pair.h"
#include "explain/reading.h"

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
	/*
	 * settings of libmlx5 in the environment of the QP's process, without control characters;
	 * NULL: unknown
	 */
	const char *environment;
	/* SWIFTRDMA_CHUNK in that environment, "" if it is not set; NULL: unknown */
	const char *chunk;
	/* QPs that are connected to each other; NULL: unknown */
	const struct pairs *pairs;
};

extern const char *const explain_topics[EXPLAIN_TOPICS];

/* Adds a sentence; those of a topic keep the order in which they were added. */
void add_sentence(struct explain *e, enum explain_topic topic, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Whether libswiftrdma posts requests of QP @e->qp in pieces, if its job has a size for them. */
void explain_pieces(const struct reading *rd, struct explain *e);
/* Describes QP @e->qp. The sentences are sorted by topic, and in a topic by importance. */
void explain_qp(const struct reading *rd, struct explain *e);
/* An object with a list of sentences for each topic. */
void explain_json(struct json *j, const struct explain *e);

#endif /* SRDMA_EXPLAIN_EXPLAIN_H */
