/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Rows, as aligned text or as JSON. A noun states its columns once: a key for
 * JSON, a heading for text, and a function that gets the value of a row.
 */
#ifndef SRDMA_CLI_OUT_H
#define SRDMA_CLI_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/json.h"

struct cli;
struct column;

enum cell_kind {
	CELL_ABSENT,		/* "-" in text, no key in JSON */
	CELL_U64,
	CELL_S64,
	CELL_REAL,
	CELL_STR,
	CELL_FLAG,		/* JSON only if set */
	CELL_WORDS,		/* a NULL-terminated array of strings */
	CELL_TABLE,		/* rows of their own */
	CELL_MAP,		/* JSON only: the same, of two columns: keys and values */
};

/* How text shows a number. JSON has it as it is. */
enum show {
	SHOW_PLAIN,
	SHOW_BYTES,
	SHOW_BITRATE,		/* bit/s */
	SHOW_RATE,		/* 1/s */
	SHOW_TIME,		/* ns */
	SHOW_MS,
	SHOW_RATIO,
	SHOW_ERRNO,		/* -errno, by name */
};

enum tone {
	TONE_PLAIN,
	TONE_GOOD,
	TONE_WARN,
	TONE_BAD,
};

struct rows {
	const struct column *columns;
	size_t n_columns;
	const void *base;
	size_t n, stride;
	/* NULL: every row */
	bool (*want)(const struct cli *cli, const void *row, const void *arg);
	const void *arg;
	/* @n places in the array, to be shown in this order; NULL: as they lie */
	const uint32_t *order;
};

struct cell {
	enum cell_kind kind;
	enum tone tone;
	uint64_t u64;
	int64_t s64;
	double real;
	const char *str;
	const char *words[9];
	struct rows table;
	char buf[96];		/* room for .str */
};

#define COL_LEFT	0x1	/* words, aligned to the left */
#define COL_DETAIL	0x2	/* text only with --details */
#define COL_RATE	0x4	/* only with --interval */
#define COL_JSON	0x8	/* not in text */
#define COL_TEXT	0x10	/* not in JSON */
#define COL_WRS		0x20	/* of work requests, or of the blocks that they take */

struct column {
	const char *key, *head;
	enum show show;
	unsigned int flags;
	void (*get)(const struct cli *cli, const void *row, struct cell *c);
};

struct out {
	FILE *f;
	bool json, pretty, details, rates, color;
	struct json j;
};

#define ROWS(cols, array, count)					\
	(struct rows) {							\
		.columns = (cols),					\
		.n_columns = sizeof(cols) / sizeof((cols)[0]),		\
		.base = (array), .n = (count), .stride = sizeof(*(array)), \
	}

/* The whole answer to a show: a header and lines, or one list. 0 or -ENOMEM. */
int out_rows(const struct cli *cli, struct out *o, const struct rows *rows);

/* One list of an object that the caller writes to o->j. */
void out_list(const struct cli *cli, struct out *o, const char *key,
	      const struct rows *rows);

/*
 * One row: "created dev rxe0 qpn 17 ..." or a JSON object. @at NULL: at once,
 * flushed. Else seconds into a recording: after these, or in a list that the
 * caller began.
 */
void out_event(const struct cli *cli, struct out *o, const double *at,
	       const char *event, enum tone tone, const struct rows *rows);

static inline void cell_u64(struct cell *c, uint64_t v)
{
	c->kind = CELL_U64;
	c->u64 = v;
}

static inline void cell_s64(struct cell *c, int64_t v)
{
	c->kind = CELL_S64;
	c->s64 = v;
}

static inline void cell_real(struct cell *c, double v)
{
	c->kind = CELL_REAL;
	c->real = v;
}

/* Empty: absent. */
static inline void cell_str(struct cell *c, const char *s)
{
	c->kind = s && *s ? CELL_STR : CELL_ABSENT;
	c->str = s;
}

static inline void cell_flag(struct cell *c, bool v)
{
	c->kind = v ? CELL_FLAG : CELL_ABSENT;
}

#endif /* SRDMA_CLI_OUT_H */
