// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Prints rows as aligned text. It visits the rows twice, first for the widths, since
 * getting a value again is cheaper than keeping it. Neighbouring rows mostly have equal
 * cells (the QPs of one process), so each line starts as a copy of the line before, and
 * only cells that differ are written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "cli/cli.h"
#include "cli/table.h"

#define NEST_INDENT	4
#define COLUMNS_MAX	64

/* Bytes of the two escape sequences around a coloured cell. */
#define PAINT_MAX	16

const char *const out_tones[] = {
	[TONE_PLAIN] = NULL,
	[TONE_GOOD] = "\033[32m",
	[TONE_WARN] = "\033[33m",
	[TONE_BAD] = "\033[31m",
};

/*
 * A column of work requests is headed by what is counted. Where a library posts past
 * the kernel, its doorbell record counts blocks of 64 bytes of the send queue (WQEBBs).
 * A request takes one or more of them. The QP's type and capacities bound how many, but
 * only the program knows the size of each request, so blocks are not converted.
 */
const char *out_head(const struct cli *cli, const struct column *col)
{
	if (!(col->flags & COL_WRS))
		return col->head;
	/* Where one device counts blocks, no other device counts requests. */
	for (size_t i = 0; i < cli->snap.n_devs; i++)
		if (cli->snap.devs[i].caps & SWIFTRDMA_DEV_CAP_WQEBBS)
			return col->show == SHOW_RATE ? "WQEBB/s" : "WQEBBS";
	return col->head;
}

/* The value of a cell in the row before. */
struct shown {
	bool valid;
	enum cell_kind kind;
	enum tone tone;
	uint64_t u64;
	const char *str;
};

struct table {
	const struct cli *cli;
	struct out *out;
	const struct rows *rows;
	const struct column *cols[COLUMNS_MAX];	/* those shown */
	size_t width[COLUMNS_MAX];
	size_t at[COLUMNS_MAX];			/* column's offset in a line without colours */
	bool some[COLUMNS_MAX];			/* a row has a value */
	struct shown shown[COLUMNS_MAX];
	size_t n;
	unsigned int indent;
	bool nested;
	char *line;
};

static bool plain_number(const struct column *col, const struct cell *c)
{
	return c->kind == CELL_U64 && col->show == SHOW_PLAIN;
}

static bool is_same(const struct shown *was, const struct cell *c)
{
	if (c->kind != was->kind || c->tone != was->tone)
		return false;
	switch (c->kind) {
	case CELL_U64:
	case CELL_BOOLEAN:
		return c->u64 == was->u64;
	case CELL_STR:
		/* Compare addresses. A string in c->buf is overwritten by each row. */
		return c->str == was->str && c->str != c->buf;
	default:
		return c->kind == CELL_ABSENT;
	}
}

/* True, and remembers the value, if the cell differs from the row before. */
static inline bool note_change(struct shown *was, const struct cell *c)
{
	if (is_same(was, c) && was->valid)
		return false;
	was->valid = true;
	was->kind = c->kind;
	was->tone = c->tone;
	was->u64 = c->u64;
	was->str = c->str;
	return true;
}

static size_t count_digits(uint64_t v)
{
	size_t n = 1;

	while (v >= 10) {
		v /= 10;
		n++;
	}
	return n;
}

static void measure_columns(struct table *t)
{
	uint64_t max[COLUMNS_MAX] = { 0 };
	char scratch[CELL_MAX];
	struct cell c;
	size_t n;

	c.u64 = 0;
	c.str = NULL;
	for (size_t k = 0; k < t->n; k++)
		t->width[k] = strlen(out_head(t->cli, t->cols[k]));
	for (size_t i = 0; i < t->rows->n; i++) {
		const void *row = out_row(t->rows, i);

		if (!out_wanted(t->cli, t->rows, row))
			continue;
		for (size_t k = 0; k < t->n; k++) {
			cell_get(t->cli, t->cols[k], row, &c);
			if (!note_change(&t->shown[k], &c))
				continue;
			t->some[k] |= c.kind != CELL_ABSENT;
			if (plain_number(t->cols[k], &c)) {
				if (c.u64 > max[k])
					max[k] = c.u64;
				continue;
			}
			n = c.kind == CELL_ABSENT ? 1 :
			    c.kind == CELL_STR ? strnlen(c.str, CELL_MAX) :
			    cell_format(scratch, t->cols[k], &c);
			if (n > t->width[k])
				t->width[k] = n;
		}
	}
	for (size_t k = 0; k < t->n; k++)
		if (count_digits(max[k]) > t->width[k])
			t->width[k] = count_digits(max[k]);
}

static void drop_empty_columns(struct table *t)
{
	size_t n = 0;

	for (size_t k = 0; k < t->n; k++) {
		if ((t->cols[k]->flags & COL_SPARSE) && !t->some[k])
			continue;
		t->cols[n] = t->cols[k];
		t->width[n++] = t->width[k];
	}
	t->n = n;
}

static char *put_blanks(char *p, size_t n)
{
	return (char *)memset(p, ' ', n) + n;
}

static char *put_bytes(char *p, const char *s, size_t n)
{
	return (char *)memcpy(p, s, n) + n;
}

/* Right-aligned; @width must suffice. */
static char *put_number(char *p, size_t width, uint64_t v)
{
	char *end = p + width, *d = end;

	do {
		*--d = '0' + v % 10;
		v /= 10;
	} while (v);
	/* A loop, since a call of memset() costs more for a few blanks. */
	while (d > p)
		*--d = ' ';
	return end;
}

static char *put_text(const struct table *t, size_t k, char *p, const char *s,
		      size_t n, const char *color)
{
	bool left = t->cols[k]->flags & COL_LEFT;
	size_t gap = t->width[k] - n;

	if (!t->out->color)
		color = NULL;
	if (!left)
		p = put_blanks(p, gap);
	if (color)
		p = put_bytes(p, color, strlen(color));
	p = put_bytes(p, s, n);
	if (color)
		p = put_bytes(p, "\033[0m", 4);
	/* No trailing blanks. */
	return left && k + 1 < t->n ? put_blanks(p, gap) : p;
}

static void print_head(struct table *t)
{
	char *p = put_blanks(t->line, t->indent);

	for (size_t k = 0; k < t->n; k++) {
		const char *head = out_head(t->cli, t->cols[k]);

		if (k)
			p = put_blanks(p, 2);
		p = put_text(t, k, p, head, strlen(head), "\033[1m");
	}
	*p++ = '\n';
	fwrite_unlocked(t->line, 1, p - t->line, t->out->f);
}

static char *print_cell(const struct table *t, size_t k, char *p, const struct cell *c)
{
	const struct column *col = t->cols[k];
	char scratch[CELL_MAX];

	if (plain_number(col, c) && !(col->flags & COL_LEFT))
		return put_number(p, t->width[k], c->u64);
	return put_text(t, k, p, scratch, cell_format(scratch, col, c), out_tones[c->tone]);
}

static void print_row(struct table *t, const void *row)
{
	char *p = t->line + t->indent;
	struct cell c;

	c.u64 = 0;
	c.str = NULL;
	for (size_t k = 0; k < t->n; k++) {
		/* Escape sequences move the cells after them; without colours offsets are fixed. */
		bool placed = !t->out->color;

		if (placed)
			p = t->line + t->at[k];
		else if (k)
			p = put_blanks(p, 2);
		cell_get(t->cli, t->cols[k], row, &c);
		/* The last cell is always written: it sets the length of the line. */
		if (!placed || note_change(&t->shown[k], &c) || k + 1 == t->n)
			p = print_cell(t, k, p, &c);
	}
	*p++ = '\n';
	fwrite_unlocked(t->line, 1, p - t->line, t->out->f);
}

static bool is_nested(const struct column *col)
{
	return !col->head && !(col->flags & COL_JSON);
}

/* The tables inside of a row, below it. */
static int print_nested(const struct table *t, const void *row)
{
	struct cell c;
	int err = 0;

	for (size_t i = 0; i < t->rows->n_columns && !err; i++) {
		const struct column *col = &t->rows->columns[i];

		if (!is_nested(col) || ((col->flags & COL_DETAIL) && !t->out->details))
			continue;
		cell_get(t->cli, col, row, &c);
		if (c.kind == CELL_TABLE && c.table.n)
			err = table_print(t->cli, t->out, &c.table, t->indent + NEST_INDENT);
	}
	return err;
}

int table_print(const struct cli *cli, struct out *o, const struct rows *rows,
		unsigned int indent)
{
	struct table t = {
		.cli = cli, .out = o, .rows = rows, .indent = indent,
	};
	size_t room = indent + 1;
	int err = 0;

	for (size_t i = 0; i < rows->n_columns && t.n < COLUMNS_MAX; i++) {
		if (out_shown(o, &rows->columns[i]))
			t.cols[t.n++] = &rows->columns[i];
		t.nested |= is_nested(&rows->columns[i]);
	}
	measure_columns(&t);
	drop_empty_columns(&t);
	memset(t.shown, 0, sizeof(t.shown));
	for (size_t k = 0, at = indent; k < t.n; k++) {
		t.at[k] = at;
		at += t.width[k] + 2;
		room += t.width[k] + 2 + PAINT_MAX;
	}
	t.line = malloc(room);
	if (!t.line)
		return -ENOMEM;
	print_head(&t);
	memset(t.line, ' ', room);
	for (size_t i = 0; i < rows->n && !err; i++) {
		const void *row = out_row(rows, i);

		if (!out_wanted(cli, rows, row))
			continue;
		print_row(&t, row);
		if (t.nested)
			err = print_nested(&t, row);
	}
	free(t.line);
	return err;
}
