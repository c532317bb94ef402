// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Gets the value of a cell, and formats it as text. */
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/table.h"

static bool is_known(const struct column *col, const char *object)
{
	const void *by = object + col->known_at;
	uint64_t v8;
	uint32_t v4;

	switch (col->known_size) {
	case 0:
		return true;
	case sizeof(bool):
		return *(const bool *)by;
	case sizeof(v4):
		memcpy(&v4, by, sizeof(v4));
		return v4 & col->bits;
	default:
		/* Also a pointer or a double. */
		memcpy(&v8, by, sizeof(v8));
		return v8 & col->bits;
	}
}

static void get_member(const struct cli *cli, const struct column *col, const char *object,
		       struct cell *c)
{
	const void *value = object + col->at;

	switch (col->source) {
	case FROM_U32:
		cell_u64(c, *(const uint32_t *)value);
		break;
	case FROM_U64:
		cell_u64(c, *(const uint64_t *)value);
		break;
	case FROM_REAL:
		cell_real(c, *(const double *)value);
		break;
	case FROM_FLAG:
		cell_flag(c, *(const bool *)value);
		break;
	case FROM_CHARS:
		cell_str(c, value);
		break;
	case FROM_STRING:
		cell_str(c, *(const char *const *)value);
		break;
	case FROM_DEV:
		view_dev_name(cli, *(const uint32_t *)value, c);
		break;
	case FROM_JOB:
		view_job_name(cli, *(const uint32_t *)value, c);
		break;
	case FROM_KNOB:
		view_knob(*(const uint32_t *)value, c);
		break;
	case FROM_WR_UNIT:
		view_wr_unit(cli, *(const uint32_t *)value, c);
		break;
	case FROM_SIGNAL:
		view_signal(cli, col->at, object, c);
		break;
	}
}

void cell_get(const struct cli *cli, const struct column *col, const void *row, struct cell *c)
{
	c->kind = CELL_ABSENT;
	c->tone = TONE_PLAIN;
	if (col->get) {
		col->get(cli, row, c);
		return;
	}
	if (col->of)
		row = col->of(cli, row);
	if (row && is_known(col, row))
		get_member(cli, col, row, c);
}

/* Removes blanks from a number, so that awk and cut see it as one column. */
static void drop_blanks(struct text *t)
{
	size_t to = 0;

	for (size_t i = 0; i < t->len; i++)
		if (t->buf[i] != ' ')
			t->buf[to++] = t->buf[i];
	t->len = to;
	t->buf[to] = '\0';
}

static void format_bytes(struct text *t, double v)
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

static void format_number(struct text *t, enum show show, double v)
{
	switch (show) {
	case SHOW_BYTES:
		format_bytes(t, v);
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
	drop_blanks(t);
}

static void error_name(struct text *t, int64_t v)
{
	const char *name = v < 0 && v > -4096 ? strerrorname_np(-v) : NULL;

	if (name)
		text_str(t, name);
	else
		text_fixed(t, v, 0);
}

static void format_cell(struct text *t, const struct column *col, const struct cell *c)
{
	switch (c->kind) {
	case CELL_U64:
		if (col->show == SHOW_PLAIN)
			text_u64(t, c->u64);
		else
			format_number(t, col->show, c->u64);
		break;
	case CELL_S64:
		if (col->show == SHOW_ERRNO)
			error_name(t, c->s64);
		else
			format_number(t, col->show, c->s64);
		break;
	case CELL_REAL:
		format_number(t, col->show, c->real);
		break;
	case CELL_FLAG:
		text_str(t, "yes");
		break;
	case CELL_BOOLEAN:
		text_str(t, c->u64 ? "yes" : "no");
		break;
	case CELL_WORDS:
		for (size_t i = 0; c->words[i]; i++) {
			text_str(t, i ? "," : "");
			text_str(t, c->words[i]);
		}
		if (!c->words[0])
			text_str(t, "-");
		break;
	case CELL_STR:
		text_tame(t, c->str);
		break;
	case CELL_ABSENT:
	case CELL_TABLE:
	case CELL_MAP:
		text_str(t, "-");
	}
}

size_t cell_format(char *to, const struct column *col, const struct cell *c)
{
	struct text t;

	if (c->kind == CELL_ABSENT) {
		*to = '-';
		return 1;
	}
	text_init(&t, to, CELL_MAX);
	format_cell(&t, col, c);
	return t.len;
}
