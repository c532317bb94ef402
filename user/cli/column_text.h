/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the columns of tables mean. */
#ifndef SRDMA_CLI_COLUMN_TEXT_H
#define SRDMA_CLI_COLUMN_TEXT_H

/*
 * The meaning of a column of a table; the path of the table names it, as in "job.devs.held".
 * NULL: there is no such column.
 */
const char *column_text(const char *table, const char *key);

#endif /* SRDMA_CLI_COLUMN_TEXT_H */
