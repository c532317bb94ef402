// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Sorts rows by a column. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/table.h"

#define WORD	SNAP_PATH	/* bytes of a name that are compared */

struct entry {
	uint32_t row;
	bool has, words;
	double v;
	char word[WORD];
};

int sort_parse(struct args *args, const char *word, struct sorting *s)
{
	const char *value = NULL, *eq;
	char *one[1];
	struct args given = { one, 1 };
	size_t n;

	while (*word == '-')
		word++;
	eq = strchr(word, '=');
	n = eq ? (size_t)(eq - word) : strlen(word);
	if (eq) {
		one[0] = (char *)eq + 1;
		args = &given;
	}
	if (n == 4 && !strncmp(word, "sort", n)) {
		if (args_value(args, "sort", &value))
			return CLI_USAGE;
		s->key = value;
		return CLI_OK;
	}
	if (n == 3 && !strncmp(word, "top", n))
		return args_u32(args, "top", UINT32_MAX, &s->top);
	return -1;
}

static const struct column *find_column(const struct cli *cli, const struct rows *rows,
					const char *key)
{
	const struct column *near = NULL;

	for (size_t i = 0; i < rows->n_columns; i++) {
		const struct column *col = &rows->columns[i];

		if (!strcmp(col->key, key) ||
		    (col->head && (!strcasecmp(col->head, key) ||
				   !strcasecmp(out_head(cli, col), key))))
			return col;
		if (!near && args_is(key, col->key))
			near = col;
	}
	return near;
}

static int no_such_column(const struct rows *rows, const char *key)
{
	args_bad("sort: no column '%s'; there are:", key);
	for (size_t i = 0; i < rows->n_columns; i++)
		fprintf(stderr, " %s", rows->columns[i].key);
	putc('\n', stderr);
	return CLI_USAGE;
}

static void take_cell(struct entry *e, const struct cell *c)
{
	switch (c->kind) {
	case CELL_U64:
	case CELL_BOOLEAN:
		e->v = (double)c->u64;
		break;
	case CELL_S64:
		e->v = (double)c->s64;
		break;
	case CELL_REAL:
		e->v = c->real;
		break;
	case CELL_FLAG:
		e->v = 1;
		break;
	case CELL_STR:
		e->words = true;
		snprintf(e->word, sizeof(e->word), "%s", c->str);
		break;
	default:
		return;
	}
	e->has = true;
}

static int compare_entries(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;
	int d;

	if (a->has != b->has)
		return a->has ? -1 : 1;
	if (a->has && a->words != b->words)
		return a->words ? -1 : 1;
	if (a->has && a->words) {
		d = strcmp(a->word, b->word);
		if (d)
			return d;
	} else if (a->has && a->v != b->v) {
		return a->v > b->v ? -1 : 1;
	}
	/* Equal: keep the order. */
	return a->row < b->row ? -1 : a->row > b->row;
}

int sort_rows(const struct cli *cli, struct rows *rows, struct sorting *s)
{
	const struct column *col = NULL;
	struct entry *e;
	struct cell c;
	size_t n = 0;

	if (!s->key && !s->top)
		return CLI_OK;
	if (s->key) {
		col = find_column(cli, rows, s->key);
		if (!col)
			return no_such_column(rows, s->key);
		if ((col->flags & COL_RATE) && !cli->out.rates)
			return args_bad("sort: %s is a rate and needs an interval, as in swiftrdma -i 1 ...",
					col->key);
	}
	e = calloc(rows->n + 1, sizeof(*e));
	s->order = calloc(rows->n + 1, sizeof(*s->order));
	if (!e || !s->order) {
		free(e);
		return cli_no_memory();
	}
	for (size_t i = 0; i < rows->n; i++) {
		const void *row = out_row(rows, i);

		if (!out_wanted(cli, rows, row))
			continue;
		e[n].row = (uint32_t)i;
		if (col) {
			cell_get(cli, col, row, &c);
			take_cell(&e[n], &c);
		}
		n++;
	}
	if (col)
		qsort(e, n, sizeof(*e), compare_entries);
	if (s->top && n > s->top)
		n = s->top;
	for (size_t i = 0; i < n; i++)
		s->order[i] = e[i].row;
	free(e);
	rows->order = s->order;
	rows->n = n;
	rows->want = NULL;
	return CLI_OK;
}

int cli_list(struct cli *cli, struct rows *rows, struct sorting *s)
{
	int err = sort_rows(cli, rows, s);

	if (!err && !rows->n && !cli->snap.admin)
		fputs("swiftrdma: only objects of your own processes are shown; with CAP_NET_ADMIN (root) all are\n",
		      stderr);
	if (!err)
		err = cli_show(cli, rows);
	free(s->order);
	return err;
}
