// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* "swiftrdma help OBJECT columns": every column of the object's tables, and what it means. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/column_text.h"

struct line {
	const struct noun_table *table;
	const struct column *column;
};

#define LINE(row)	((const struct line *)(row))
#define COLUMN(member)	.of = column_of_line, MEMBER(struct column, member)

static const void *column_of_line(const struct cli *cli, const void *row)
{
	(void)cli;
	return LINE(row)->column;
}

GETTER(table)
{
	cell_str(c, LINE(row)->table->name);
}

/* The options with which text has the column. JSON has every column without COL_TEXT. */
GETTER(shown)
{
	unsigned int flags = LINE(row)->column->flags;

	if (flags & COL_JSON) {
		cell_str(c, "-j");
		return;
	}
	snprintf(c->buf, sizeof(c->buf), "%s%s%s%s", flags & COL_RATE ? "-i " : "",
		 flags & COL_DETAIL ? "-d " : "", flags & COL_SPARSE ? "if known " : "",
		 flags & COL_TEXT ? "not in -j " : "");
	if (c->buf[0])
		c->buf[strlen(c->buf) - 1] = '\0';
	cell_str(c, c->buf[0] ? c->buf : "always");
}

/* The unit of the number in JSON. */
GETTER(unit)
{
	static const char *const units[] = {
		[SHOW_BYTES] = "byte", [SHOW_BITRATE] = "bit/s", [SHOW_RATE] = "1/s",
		[SHOW_TIME] = "ns", [SHOW_MS] = "ms", [SHOW_RATIO] = "1", [SHOW_ERRNO] = "-errno",
	};

	cell_str(c, units[LINE(row)->column->show]);
}

GETTER(means)
{
	cell_str(c, column_text(LINE(row)->table->name, LINE(row)->column->key));
}

static const struct column columns[] = {
	{ "table", NULL, 0, COL_JSON, .get = get_table },
	{ "column", "COLUMN", 0, COL_LEFT, COLUMN(head) },
	{ "key", "KEY", 0, COL_LEFT, COLUMN(key) },
	{ "unit", "UNIT", 0, COL_LEFT, .get = get_unit },
	{ "shown", "SHOWN", 0, COL_LEFT, .get = get_shown },
	{ "means", "MEANING", 0, COL_LEFT, .get = get_means },
};

static size_t add_lines(struct line *to, const struct noun_table *table)
{
	for (size_t i = 0; to && i < table->n; i++)
		to[i] = (struct line){ table, &table->columns[i] };
	return table->n;
}

static int show_lines(struct cli *cli, const struct line *lines, size_t n)
{
	const struct rows rows = ROWS(columns, lines, n);

	return cli_show(cli, &rows);
}

/* In text each table has a heading of its own; JSON is one list. */
static int show_tables(struct cli *cli, const struct noun *noun, struct line *lines)
{
	size_t n = 0;
	int err = CLI_OK;

	for (size_t i = 0; noun->tables[i] && !err; i++) {
		n += add_lines(lines + n, noun->tables[i]);
		if (cli->out.json)
			continue;
		printf("%s%s:\n", i ? "\n" : "", noun->tables[i]->name);
		err = show_lines(cli, lines, n);
		n = 0;
	}
	return cli->out.json ? show_lines(cli, lines, n) : err;
}

int help_columns(struct cli *cli, const struct noun *noun)
{
	struct line *lines;
	size_t n = 0;
	int err;

	if (!noun->tables)
		return args_bad("help: %s prints no table", noun->name);
	for (size_t i = 0; noun->tables[i]; i++)
		n += noun->tables[i]->n;
	lines = calloc(n, sizeof(*lines));
	if (!lines)
		return cli_no_memory();
	err = show_tables(cli, noun, lines);
	free(lines);
	return err;
}
