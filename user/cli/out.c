// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <math.h>
#include <string.h>

#include "cli/table.h"

#define WIDTH	80

bool out_shown(const struct out *o, const struct column *col)
{
	if ((col->flags & COL_RATE) && !o->rates)
		return false;
	if (o->json)
		return !(col->flags & COL_TEXT);
	return col->head && !(col->flags & COL_JSON) &&
	       (o->details || !(col->flags & COL_DETAIL));
}

static void json_rows(const struct cli *cli, struct out *o, const struct rows *rows);

static void json_value(const struct cli *cli, struct out *o, const struct cell *c);

/* An unknown value is written as null, so that its key is not missing. */
static void json_map(const struct cli *cli, struct out *o, const struct rows *rows)
{
	struct json *j = &o->j;
	struct cell key, value;

	json_begin(j, '{');
	for (size_t i = 0; i < rows->n; i++) {
		cell_get(cli, &rows->columns[0], out_row(rows, i), &key);
		cell_get(cli, &rows->columns[1], out_row(rows, i), &value);
		json_key(j, key.str);
		json_value(cli, o, &value);
	}
	json_end(j, '}');
}

static void json_value(const struct cli *cli, struct out *o, const struct cell *c)
{
	struct json *j = &o->j;

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
	case CELL_BOOLEAN:
		json_boolean(j, c->u64);
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
	case CELL_MAP:
		json_map(cli, o, &c->table);
		break;
	case CELL_ABSENT:
		json_real(j, NAN);
		break;
	}
}

static void json_fields(const struct cli *cli, struct out *o,
			const struct rows *rows, const void *row)
{
	struct cell c;

	for (size_t i = 0; i < rows->n_columns; i++) {
		const struct column *col = &rows->columns[i];

		if (!out_shown(o, col))
			continue;
		cell_get(cli, col, row, &c);
		if (c.kind == CELL_ABSENT)
			continue;
		json_key(&o->j, col->key);
		json_value(cli, o, &c);
	}
}

static void json_rows(const struct cli *cli, struct out *o, const struct rows *rows)
{
	json_begin(&o->j, '[');
	for (size_t i = 0; i < rows->n; i++) {
		const void *row = out_row(rows, i);

		if (!out_wanted(cli, rows, row))
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
		return table_print(cli, o, rows, 0);
	json_start(o);
	json_rows(cli, o, rows);
	putc_unlocked('\n', o->f);
	return 0;
}

void out_list(const struct cli *cli, struct out *o, const char *key, const struct rows *rows)
{
	json_key(&o->j, key);
	json_rows(cli, o, rows);
}

/* Key and value, as iproute2's monitors have it. */
static void text_event(const struct cli *cli, struct out *o,
		       const char *event, enum tone tone,
		       const struct rows *rows)
{
	char buf[CELL_MAX];
	struct cell c;

	fprintf(o->f, "%s%s%s", o->color && out_tones[tone] ? out_tones[tone] : "",
		event, o->color && out_tones[tone] ? "\033[0m" : "");
	for (size_t i = 0; i < rows->n_columns; i++) {
		const struct column *col = &rows->columns[i];

		if (!out_shown(o, col))
			continue;
		cell_get(cli, col, rows->base, &c);
		if (c.kind == CELL_ABSENT || c.kind == CELL_TABLE)
			continue;
		fprintf(o->f, " %s %.*s", col->key, (int)cell_format(buf, col, &c), buf);
	}
	putc_unlocked('\n', o->f);
}

/* @at: seconds, or NULL. */
static void json_event(const struct cli *cli, struct out *o, const double *at,
		       const char *event, const struct rows *rows)
{
	json_begin(&o->j, '{');
	json_key(&o->j, "event");
	json_str(&o->j, event);
	if (at) {
		json_key(&o->j, "seconds");
		json_real(&o->j, *at);
	}
	if (rows->base)
		json_fields(cli, o, rows, rows->base);
	json_end(&o->j, '}');
}

void out_event(const struct cli *cli, struct out *o, const double *at,
	       const char *event, enum tone tone, const struct rows *rows)
{
	if (at && !o->json)
		fprintf(o->f, "%9.3f s  ", *at);
	if (!at && o->json)
		json_start(o);
	if (o->json)
		json_event(cli, o, at, event, rows);
	else
		text_event(cli, o, event, tone, rows);
	if (at)
		return;
	if (o->json)
		putc_unlocked('\n', o->f);
	fflush(o->f);
}

void out_folded(FILE *f, size_t indent, const char *s)
{
	size_t at = indent;

	while (*s) {
		size_t n = strcspn(s, " ");

		if (at > indent && at + 1 + n > WIDTH) {
			fprintf(f, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			putc(' ', f);
			at++;
		}
		fwrite(s, 1, n, f);
		at += n;
		s += n + (s[n] == ' ');
	}
	putc('\n', f);
}
