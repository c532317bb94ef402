// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/out.h"
#include "core/text.h"
#include "core/units.h"

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

static bool shown(const struct out *o, const struct column *col)
{
	if ((col->flags & COL_RATE) && !o->rates)
		return false;
	if (o->json)
		return !(col->flags & COL_TEXT);
	return col->head && !(col->flags & COL_JSON) &&
	       (o->details || !(col->flags & COL_DETAIL));
}

static bool wanted(const struct cli *cli, const struct rows *rows,
		   const void *row)
{
	return !rows->want || rows->want(cli, row, rows->arg);
}

static const void *row_at(const struct rows *rows, size_t i)
{
	return (const char *)rows->base + i * rows->stride;
}

/* No blanks in a number: columns are what awk and cut see. */
static void squeeze(struct text *t)
{
	size_t to = 0;

	for (size_t i = 0; i < t->len; i++)
		if (t->buf[i] != ' ')
			t->buf[to++] = t->buf[i];
	t->len = to;
	t->buf[to] = '\0';
}

static void bytes(struct text *t, double v)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB" };
	size_t i = 0;

	while (v >= 1000 && i + 1 < sizeof(units) / sizeof(units[0])) {
		v /= 1000;
		i++;
	}
	text_fixed(t, v, v >= 10 ? 1 : 2);
	text_str(t, units[i]);
}

static void number(struct text *t, enum show show, double v)
{
	switch (show) {
	case SHOW_BYTES:
		bytes(t, v);
		break;
	case SHOW_BITRATE:
		units_format(t, v, UNIT_BITRATE);
		break;
	case SHOW_RATE:
		units_format(t, v, UNIT_RATE);
		break;
	case SHOW_TIME:
		units_format(t, v, UNIT_TIME);
		break;
	case SHOW_MS:
		units_format(t, v * 1e6, UNIT_TIME);
		break;
	case SHOW_RATIO:
		units_format(t, v, UNIT_RATIO);
		break;
	case SHOW_ERRNO:
	case SHOW_PLAIN:
		text_fixed(t, v, 2);
	}
	squeeze(t);
}

static void error_name(struct text *t, int64_t v)
{
	const char *name = v < 0 && v > -4096 ? strerrorname_np(-v) : NULL;

	if (name)
		text_str(t, name);
	else
		text_fixed(t, v, 0);
}

/* Names are a process's to choose: what would move the cursor is a '?'. */
static void words(struct text *t, const char *s)
{
	char c;

	while ((c = *s++)) {
		if ((unsigned char)c < 0x20 || c == 0x7f)
			c = '?';
		text_mem(t, &c, 1);
	}
}

static void format(struct text *t, const struct column *col,
		   const struct cell *c)
{
	switch (c->kind) {
	case CELL_U64:
		if (col->show == SHOW_PLAIN)
			text_u64(t, c->u64);
		else
			number(t, col->show, c->u64);
		break;
	case CELL_S64:
		if (col->show == SHOW_ERRNO)
			error_name(t, c->s64);
		else
			number(t, col->show, c->s64);
		break;
	case CELL_REAL:
		number(t, col->show, c->real);
		break;
	case CELL_STR:
		words(t, c->str);
		break;
	case CELL_FLAG:
		text_str(t, "yes");
		break;
	case CELL_WORDS:
		for (size_t i = 0; c->words[i]; i++) {
			text_str(t, i ? "," : "");
			text_str(t, c->words[i]);
		}
		if (!c->words[0])
			text_str(t, "-");
		break;
	case CELL_ABSENT:
	case CELL_TABLE:
		text_str(t, "-");
	}
}

static void get(const struct cli *cli, const struct column *col,
		const void *row, struct cell *c)
{
	c->kind = CELL_ABSENT;
	c->tone = TONE_PLAIN;
	col->get(cli, row, c);
}

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

#define CELL_MAX	512

static int add_cell(struct sheet *s, const struct column *col,
		    const struct cell *c)
{
	struct text t;

	if (!grow((void **)&s->text, s->len + CELL_MAX, &s->cap, 1) ||
	    !grow((void **)&s->spans, s->n_spans + 1, &s->cap_spans,
		  sizeof(*s->spans)))
		return -ENOMEM;
	text_init(&t, s->text + s->len, CELL_MAX);
	if (c)
		format(&t, col, c);
	else
		text_str(&t, col->head);
	s->spans[s->n_spans++] = (struct span){
		.at = s->len, .len = t.len, .tone = c ? c->tone : TONE_PLAIN,
	};
	s->len += t.len;
	return 0;
}

static void pad(FILE *f, size_t n)
{
	static const char blanks[] = "                                ";

	while (n) {
		size_t k = n < sizeof(blanks) - 1 ? n : sizeof(blanks) - 1;

		fwrite_unlocked(blanks, 1, k, f);
		n -= k;
	}
}

static const char *const tones[] = {
	[TONE_GOOD] = "\033[32m",
	[TONE_WARN] = "\033[33m",
	[TONE_BAD] = "\033[31m",
};

static void print_span(struct out *o, const struct sheet *s,
		       const struct span *span, const char *color)
{
	if (o->color && color)
		fputs_unlocked(color, o->f);
	fwrite_unlocked(s->text + span->at, 1, span->len, o->f);
	if (o->color && color)
		fputs_unlocked("\033[0m", o->f);
}

static void print_line(struct out *o, const struct sheet *s,
		       const struct span *line, const uint16_t *width,
		       const struct column *const *cols, size_t n, bool head,
		       unsigned int indent)
{
	pad(o->f, indent);
	for (size_t i = 0; i < n; i++) {
		size_t gap = width[i] - line[i].len;
		bool left = cols[i]->flags & COL_LEFT;

		if (i)
			fputs_unlocked("  ", o->f);
		if (!left)
			pad(o->f, gap);
		print_span(o, s, &line[i],
			   head ? "\033[1m" : tones[line[i].tone]);
		if (left && i + 1 < n)
			pad(o->f, gap);
	}
	putc_unlocked('\n', o->f);
}

#define COLUMNS_MAX	64

static int text_rows(const struct cli *cli, struct out *o,
		     const struct rows *rows, unsigned int indent);

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
		get(cli, col, row, &c);
		if (c.kind == CELL_TABLE && c.table.n)
			err = text_rows(cli, o, &c.table, indent + NEST_INDENT);
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
	int err = 0;

	for (size_t k = 0; k < n && !err; k++) {
		err = add_cell(s, cols[k], NULL);
		width[k] = err ? 0 : s->spans[k].len;
	}
	for (size_t i = 0; i < rows->n && !err; i++) {
		const void *row = row_at(rows, i);

		if (!wanted(cli, rows, row))
			continue;
		for (size_t k = 0; k < n && !err; k++) {
			get(cli, cols[k], row, &c);
			err = add_cell(s, cols[k], &c);
			if (!err && s->spans[s->n_spans - 1].len > width[k])
				width[k] = s->spans[s->n_spans - 1].len;
		}
	}
	return err;
}

static int text_rows(const struct cli *cli, struct out *o,
		     const struct rows *rows, unsigned int indent)
{
	const struct column *cols[COLUMNS_MAX];
	uint16_t width[COLUMNS_MAX];
	struct sheet s = { 0 };
	const struct span *line;
	size_t n = 0;
	int err;

	for (size_t i = 0; i < rows->n_columns && n < COLUMNS_MAX; i++)
		if (shown(o, &rows->columns[i]))
			cols[n++] = &rows->columns[i];
	err = fill_sheet(cli, rows, cols, n, &s, width);
	if (!err) {
		bool nested = has_nested(rows);

		print_line(o, &s, s.spans, width, cols, n, true, indent);
		line = s.spans + n;
		for (size_t i = 0; i < rows->n && !err; i++) {
			const void *row = row_at(rows, i);

			if (!wanted(cli, rows, row))
				continue;
			print_line(o, &s, line, width, cols, n, false, indent);
			line += n;
			if (nested)
				err = text_nested(cli, o, rows, row, indent);
		}
	}
	free(s.text);
	free(s.spans);
	return err;
}

static void json_rows(const struct cli *cli, struct out *o,
		      const struct rows *rows);

static void json_cell(const struct cli *cli, struct out *o,
		      const struct column *col, const struct cell *c)
{
	struct json *j = &o->j;

	json_key(j, col->key);
	switch (c->kind) {
	case CELL_U64:
		json_u64(j, c->u64);
		break;
	case CELL_S64:
		json_s64(j, c->s64);
		break;
	case CELL_REAL:
		json_real(j, c->real);
		break;
	case CELL_STR:
		json_str(j, c->str);
		break;
	case CELL_FLAG:
		json_boolean(j, true);
		break;
	case CELL_WORDS:
		json_begin(j, '[');
		for (size_t i = 0; c->words[i]; i++)
			json_str(j, c->words[i]);
		json_end(j, ']');
		break;
	case CELL_TABLE:
		json_rows(cli, o, &c->table);
		break;
	case CELL_ABSENT:
		break;
	}
}

static void json_fields(const struct cli *cli, struct out *o,
			const struct rows *rows, const void *row)
{
	struct cell c;

	for (size_t i = 0; i < rows->n_columns; i++) {
		const struct column *col = &rows->columns[i];

		if (!shown(o, col))
			continue;
		get(cli, col, row, &c);
		if (c.kind != CELL_ABSENT)
			json_cell(cli, o, col, &c);
	}
}

static void json_rows(const struct cli *cli, struct out *o,
		      const struct rows *rows)
{
	json_begin(&o->j, '[');
	for (size_t i = 0; i < rows->n; i++) {
		const void *row = row_at(rows, i);

		if (!wanted(cli, rows, row))
			continue;
		json_begin(&o->j, '{');
		json_fields(cli, o, rows, row);
		json_end(&o->j, '}');
	}
	json_end(&o->j, ']');
}

static void json_start(struct out *o)
{
	o->j = (struct json){ .f = o->f, .pretty = o->pretty, .first = true };
}

int out_rows(const struct cli *cli, struct out *o, const struct rows *rows)
{
	if (!o->json)
		return text_rows(cli, o, rows, 0);
	json_start(o);
	json_rows(cli, o, rows);
	putc_unlocked('\n', o->f);
	return 0;
}

/* Key and value, as iproute2's monitors have it. */
static void text_event(const struct cli *cli, struct out *o,
		       const char *event, enum tone tone,
		       const struct rows *rows)
{
	char buf[CELL_MAX];
	struct text t;
	struct cell c;

	fprintf(o->f, "%s%s%s", o->color && tones[tone] ? tones[tone] : "",
		event, o->color && tones[tone] ? "\033[0m" : "");
	for (size_t i = 0; i < rows->n_columns; i++) {
		const struct column *col = &rows->columns[i];

		if (!shown(o, col))
			continue;
		get(cli, col, rows->base, &c);
		if (c.kind == CELL_ABSENT || c.kind == CELL_TABLE)
			continue;
		text_init(&t, buf, sizeof(buf));
		format(&t, col, &c);
		fprintf(o->f, " %s %s", col->key, buf);
	}
	putc_unlocked('\n', o->f);
}

void out_event(const struct cli *cli, struct out *o, const char *event,
	       enum tone tone, const struct rows *rows)
{
	if (!o->json) {
		text_event(cli, o, event, tone, rows);
	} else {
		json_start(o);
		json_begin(&o->j, '{');
		json_key(&o->j, "event");
		json_str(&o->j, event);
		if (rows->base)
			json_fields(cli, o, rows, rows->base);
		json_end(&o->j, '}');
		putc_unlocked('\n', o->f);
	}
	fflush(o->f);
}
