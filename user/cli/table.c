// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Rows as aligned text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/table.h"

#define NEST_INDENT	4

/* The text of all cells, in one piece: widths are known only at the end. */
struct sheet {
	char *text;
	size_t len, cap;
	struct span {
		uint32_t at;
		uint16_t len;
		uint8_t tone;
	} *spans;
	size_t n_spans, cap_spans;
};

static bool grow(void **p, size_t need, size_t *cap, size_t size)
{
	size_t want = *cap ? *cap : 4096;
	void *q;

	if (need <= *cap)
		return true;
	while (want < need)
		want *= 2;
	q = realloc(*p, want * size);
	if (!q)
		return false;
	*p = q;
	*cap = want;
	return true;
}

static void add_cell(struct sheet *s, const char *head,
		     const struct column *col, const struct cell *c)
{
	char *to = s->text + s->len;
	size_t n;

	if (head) {
		n = strlen(head);
		memcpy(to, head, n);
	} else {
		n = cell_format(to, col, c);
	}
	s->spans[s->n_spans++] = (struct span){
		.at = s->len, .len = n, .tone = head ? TONE_PLAIN : c->tone,
	};
	s->len += n;
}

/* Room for a row of @n cells. */
static bool reserve_row(struct sheet *s, size_t n)
{
	return grow((void **)&s->text, s->len + n * CELL_MAX, &s->cap, 1) &&
	       grow((void **)&s->spans, s->n_spans + n, &s->cap_spans,
		    sizeof(*s->spans));
}

const char *const out_tones[] = {
	[TONE_GOOD] = "\033[32m",
	[TONE_WARN] = "\033[33m",
	[TONE_BAD] = "\033[31m",
};

/*
 * A line is put together before it is written, in a buffer that the widths say
 * is large enough: a call for each of many short cells is what would cost.
 */
static char *put(char *p, const char *s, size_t n)
{
	/* Cells are short: the loop beats a call. */
	while (n--)
		*p++ = *s++;
	return p;
}

static char *pad(char *p, size_t n)
{
	while (n--)
		*p++ = ' ';
	return p;
}

/* What colours add to a cell: a sequence before and one after. */
#define PAINT_MAX	16

static char *paint(char *p, const struct out *o, const char *color,
		   const char *s, size_t n)
{
	if (!o->color || !color)
		return put(p, s, n);
	p = put(p, color, strlen(color));
	p = put(p, s, n);
	return put(p, "\033[0m", 4);
}

static size_t line_max(const uint16_t *width, size_t n, unsigned int indent)
{
	size_t len = indent + 1;

	for (size_t i = 0; i < n; i++)
		len += width[i] + 2 + PAINT_MAX;
	return len;
}

static void print_line(struct out *o, char *buf, const struct sheet *s,
		       const struct span *line, const uint16_t *width,
		       const struct column *const *cols, size_t n, bool head,
		       unsigned int indent)
{
	char *p = pad(buf, indent);

	for (size_t i = 0; i < n; i++) {
		size_t gap = width[i] - line[i].len;
		bool left = cols[i]->flags & COL_LEFT;

		if (i)
			p = pad(p, 2);
		if (!left)
			p = pad(p, gap);
		p = paint(p, o, head ? "\033[1m" : out_tones[line[i].tone],
			  s->text + line[i].at, line[i].len);
		if (left && i + 1 < n)
			p = pad(p, gap);
	}
	*p++ = '\n';
	fwrite_unlocked(buf, 1, p - buf, o->f);
}

#define COLUMNS_MAX	64

/* The tables inside of a row, below it. */
static int text_nested(const struct cli *cli, struct out *o,
		       const struct rows *rows, const void *row,
		       unsigned int indent)
{
	struct cell c;
	int err = 0;

	for (size_t i = 0; i < rows->n_columns && !err; i++) {
		const struct column *col = &rows->columns[i];

		if (col->head)
			continue;
		out_get(cli, col, row, &c);
		if (c.kind == CELL_TABLE && c.table.n)
			err = table_print(cli, o, &c.table, indent + NEST_INDENT);
	}
	return err;
}

static bool has_nested(const struct rows *rows)
{
	for (size_t i = 0; i < rows->n_columns; i++)
		if (!rows->columns[i].head &&
		    !(rows->columns[i].flags & COL_JSON))
			return true;
	return false;
}

static int fill_sheet(const struct cli *cli, const struct rows *rows,
		      const struct column *const *cols, size_t n,
		      struct sheet *s, uint16_t *width)
{
	struct cell c;

	if (!reserve_row(s, n))
		return -ENOMEM;
	for (size_t k = 0; k < n; k++) {
		add_cell(s, cols[k]->head, NULL, NULL);
		width[k] = s->spans[k].len;
	}
	for (size_t i = 0; i < rows->n; i++) {
		const void *row = out_row(rows, i);

		if (!out_wanted(cli, rows, row))
			continue;
		if (!reserve_row(s, n))
			return -ENOMEM;
		for (size_t k = 0; k < n; k++) {
			out_get(cli, cols[k], row, &c);
			add_cell(s, NULL, cols[k], &c);
			if (s->spans[s->n_spans - 1].len > width[k])
				width[k] = s->spans[s->n_spans - 1].len;
		}
	}
	return 0;
}

int table_print(const struct cli *cli, struct out *o, const struct rows *rows,
		unsigned int indent)
{
	const struct column *cols[COLUMNS_MAX];
	uint16_t width[COLUMNS_MAX];
	struct sheet s = { 0 };
	const struct span *line;
	size_t n = 0;
	char *buf;
	int err;

	for (size_t i = 0; i < rows->n_columns && n < COLUMNS_MAX; i++)
		if (out_shown(o, &rows->columns[i]))
			cols[n++] = &rows->columns[i];
	err = fill_sheet(cli, rows, cols, n, &s, width);
	buf = err ? NULL : malloc(line_max(width, n, indent));
	if (!err && !buf)
		err = -ENOMEM;
	if (!err) {
		bool nested = has_nested(rows);

		print_line(o, buf, &s, s.spans, width, cols, n, true, indent);
		line = s.spans + n;
		for (size_t i = 0; i < rows->n && !err; i++) {
			const void *row = out_row(rows, i);

			if (!out_wanted(cli, rows, row))
				continue;
			print_line(o, buf, &s, line, width, cols, n, false, indent);
			line += n;
			if (nested)
				err = text_nested(cli, o, rows, row, indent);
		}
	}
	free(buf);
	free(s.text);
	free(s.spans);
	return err;
}
