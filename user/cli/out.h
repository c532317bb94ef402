/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Rows, as aligned text or as JSON. A noun states its columns once: a key for JSON, a
 * heading for text, and the member of a row, or the function, that has the value.
 */
#ifndef SRDMA_CLI_OUT_H
#define SRDMA_CLI_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

struct cli;
struct column;

enum cell_kind {
	CELL_ABSENT,		/* "-" in text, no key in JSON */
	CELL_U64,
	CELL_S64,
	CELL_REAL,
	CELL_STR,
	CELL_FLAG,		/* JSON only if set */
	CELL_BOOLEAN,		/* .u64: yes or no, in JSON true or false */
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
#define COL_SPARSE	0x40	/* text only where a row has a value */

/* The value of a column without a function: a member of an object, by its type or meaning. */
enum source {
	FROM_U32,
	FROM_U64,
	FROM_REAL,
	FROM_FLAG,
	FROM_CHARS,		/* an array of characters */
	FROM_STRING,		/* a pointer to characters */
	FROM_DEV,		/* the index of a device; shown as its name */
	FROM_JOB,		/* the id of a job; shown as its name */
	FROM_KNOB,		/* an enum swiftrdma_knob; shown as its name */
	FROM_WR_UNIT,		/* the index of a device; shown as the unit of its "wrs" */
	FROM_SIGNAL,		/* no member: .at is the enum signal_id */
};

struct column {
	const char *key, *head;
	enum show show;
	unsigned int flags;
	/* Gets the value of a row. NULL: the members below say where the value is. */
	void (*get)(const struct cli *cli, const void *row, struct cell *c);
	/* Finds the object that has the value, or NULL. NULL: the row is the object. */
	const void *(*of)(const struct cli *cli, const void *row);
	enum source source;
	uint16_t at;		/* offset of the value in the object */
	/* The value is absent unless one of .bits is set in this other member. */
	uint16_t known_at;
	uint8_t known_size;	/* bytes; 0: the value is never absent */
	uint64_t bits;
};

/* Begins a function get_@name() for .get. Not every function needs @cli, or @row. */
#define GETTER(name)							\
	static void get_##name(const struct cli *cli __attribute__((unused)), \
			       const void *row __attribute__((unused)), struct cell *c)

#define SOURCE_OF(type, member) _Generic(((type *)0)->member,		\
	uint32_t: FROM_U32, uint64_t: FROM_U64, double: FROM_REAL,	\
	bool: FROM_FLAG, const char *: FROM_STRING,			\
	char *: __builtin_types_compatible_p(__typeof__(((type *)0)->member), char *) ? \
		FROM_STRING : FROM_CHARS)

#define MEMBER_AS(from, type, member)					\
	.source = (from), .at = offsetof(type, member)
/* The value of a column is this member of struct @type. */
#define MEMBER(type, member)						\
	MEMBER_AS(SOURCE_OF(type, member), type, member)
#define KNOWN_BY(type, member, mask)					\
	.known_at = offsetof(type, member),				\
	.known_size = sizeof(((type *)0)->member), .bits = (mask)
/* The same, known if member @by is not 0. */
#define MEMBER_IF(type, member, by)					\
	MEMBER(type, member), KNOWN_BY(type, by, UINT64_MAX)
/* The same, known if one of @mask is set in member has. */
#define MEMBER_HAS(type, member, mask)					\
	MEMBER(type, member), KNOWN_BY(type, has, mask)
/* The value is this signal of the row, which is an object of cli->snap. */
#define SIGNAL(id)							\
	.source = FROM_SIGNAL, .at = SIG_##id

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
void out_list(const struct cli *cli, struct out *o, const char *key, const struct rows *rows);

/*
 * One row: "created dev rxe0 qpn 17 ..." or a JSON object. @at: NULL: a live
 * event, which is flushed at once. Else the event's time in a recording, in
 * seconds: text starts with it, and JSON is an element of a list that the
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

static inline void cell_boolean(struct cell *c, bool v)
{
	c->kind = CELL_BOOLEAN;
	c->u64 = v;
}

static inline void cell_mean(struct cell *c, uint64_t sum, uint64_t n)
{
	if (n)
		cell_real(c, (double)sum / (double)n);
}

struct bit_name {
	uint32_t bit;
	const char *name;
};

/* The names of the bits that are set. */
static inline void cell_bits(struct cell *c, uint32_t bits, const struct bit_name *names,
			     size_t n_names)
{
	size_t n = 0;

	for (size_t i = 0; i < n_names; i++)
		if (bits & names[i].bit)
			c->words[n++] = names[i].name;
	c->words[n] = NULL;
	c->kind = CELL_WORDS;
}

static inline void cell_table(struct cell *c, struct rows rows)
{
	c->kind = CELL_TABLE;
	c->table = rows;
}

#endif /* SRDMA_CLI_OUT_H */
