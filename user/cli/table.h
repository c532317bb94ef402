/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Shared by out.c, which prints rows as JSON, and table.c, as text. */
#ifndef SRDMA_CLI_TABLE_H
#define SRDMA_CLI_TABLE_H

#include "cli/out.h"

/* Bytes of a cell's text at most; what is longer is cut. */
#define CELL_MAX	512

/* Escape sequences, NULL: none. */
extern const char *const out_tones[];

bool out_shown(const struct out *o, const struct column *col);
static inline bool out_wanted(const struct cli *cli, const struct rows *rows, const void *row)
{
	return !rows->want || rows->want(cli, row, rows->arg);
}

static inline const void *out_row(const struct rows *rows, size_t i)
{
	if (rows->order)
		i = rows->order[i];
	return (const char *)rows->base + i * rows->stride;
}

/* table.c: the heading of a column that has one. */
const char *out_head(const struct cli *cli, const struct column *col);

/* cell.c: the value of a column in a row. */
void cell_get(const struct cli *cli, const struct column *col, const void *row, struct cell *c);
/* cell.c: the text of a cell into %CELL_MAX bytes, without a NUL; its length. */
size_t cell_format(char *to, const struct column *col, const struct cell *c);

/* table.c: header and lines, tables inside a row below it. 0 or -ENOMEM. */
int table_print(const struct cli *cli, struct out *o, const struct rows *rows,
		unsigned int indent);

/* Prints @s folded into lines that start at column @indent. */
void out_folded(FILE *f, size_t indent, const char *s);

#endif /* SRDMA_CLI_TABLE_H */
