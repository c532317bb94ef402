// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/top.h"

#define HEADER	4	/* title, hottest, tabs, heads of columns */
#define FOOTER	1
#define GAP	2

static const char *const help[] = {
	"1 2 3 4, Tab   UARs, QPs, jobs, ports",
	"< >            sort by the column before, after",
	"r              reverse the order",
	"/              filter: words in a line, or COLUMN=VALUE; Esc: none",
	"Enter          the QPs of a UAR, a job or a device",
	"Up Down PgUp PgDn Home End",
	"s              seconds between two readings (0.5, 200ms)",
	"space          read now",
	"p              pause, and go on",
	"h ?            this help",
	"q              quit",
	"",
	"COACTIVE       share of readings in which two or more QPs of a UAR",
	"               advanced: they contend for its doorbell registers",
	"SHARE          of its device's work requests",
	"-              unknown on this device, or not read yet",
	NULL,
};

unsigned int top_page(unsigned int height)
{
	return height > HEADER + FOOTER ? height - HEADER - FOOTER : 1;
}

/* Writes at column @x of line @y. Returns the column after the text. */
static unsigned int put_chars(struct top_frame *f, unsigned int y, unsigned int x,
			     enum top_attr attr, const char *s, size_t n)
{
	if (y >= f->height)
		return x;
	for (size_t i = 0; i < n && x < f->width; i++, x++) {
		/* Each byte takes one column, so replace bytes that might not. */
		f->text[y * f->width + x] = s[i] < 0x20 || s[i] > 0x7e ? '?'
								       : s[i];
		f->attr[y * f->width + x] = (uint8_t)attr;
	}
	return x;
}

static unsigned int put_format(struct top_frame *f, unsigned int y, unsigned int x,
			       enum top_attr attr, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

static unsigned int put_format(struct top_frame *f, unsigned int y, unsigned int x,
			       enum top_attr attr, const char *fmt, ...)
{
	char buf[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	return put_chars(f, y, x, attr, buf, strlen(buf));
}

static void fill_line(struct top_frame *f, unsigned int y, enum top_attr attr)
{
	if (y < f->height)
		memset(f->attr + y * f->width, attr, f->width);
}

/* Returns how many bytes of the cell are drawn. Filters and sorting use all bytes. */
static size_t drawn_len(const struct top_cell *c)
{
	return c->len < TOP_WORD ? c->len : TOP_WORD;
}

static void measure_table(const struct top_table *t, size_t *width)
{
	for (size_t k = 0; k < t->n_cols; k++)
		width[k] = strlen(t->cols[k].head);
	for (size_t i = 0; i < t->n_shown; i++)
		for (size_t k = 0; k < t->n_cols; k++)
			if (drawn_len(top_cell(t, i, k)) > width[k])
				width[k] = drawn_len(top_cell(t, i, k));
}

static unsigned int put_cell(struct top_frame *f, unsigned int y,
			     unsigned int x, size_t width, bool right,
			     enum top_attr attr, const char *s, size_t n)
{
	unsigned int gap = (unsigned int)(width - n);

	put_chars(f, y, x + (right ? gap : 0), attr, s, n);
	return x + (unsigned int)width + GAP;
}

static void draw_heads(const struct top_table *t, struct top_frame *f,
		       unsigned int y, const size_t *width)
{
	int sorted = top_sorted_by(t);
	unsigned int x = 0;

	fill_line(f, y, TOP_ATTR_HEAD);
	for (size_t k = 0; k < t->n_cols; k++) {
		const char *head = t->cols[k].head;

		if (t->empty[k])
			continue;
		x = put_cell(f, y, x, width[k], !(t->cols[k].flags & COL_LEFT),
			     (int)k == sorted ? TOP_ATTR_BOLD : TOP_ATTR_HEAD,
			     head, strlen(head));
	}
}

static void draw_row(const struct top_table *t, struct top_frame *f,
		     unsigned int y, size_t row, const size_t *width,
		     bool selected)
{
	unsigned int x = 0;

	if (selected)
		fill_line(f, y, TOP_ATTR_SELECTED);
	for (size_t k = 0; k < t->n_cols; k++) {
		const struct top_cell *c = top_cell(t, row, k);

		if (t->empty[k])
			continue;
		x = put_cell(f, y, x, width[k], c->right,
			     selected ? TOP_ATTR_SELECTED :
			     (enum top_attr)c->tone, t->text + c->at, drawn_len(c));
	}
}

static void draw_tabs(const struct top *t, struct top_frame *f, unsigned int y)
{
	const struct top_table *table = &t->table[t->view];
	int sorted = top_sorted_by(table);
	unsigned int x = 0;

	for (unsigned int i = 0; i < TOP_VIEWS; i++) {
		bool here = i == t->view;

		x = put_format(f, y, x, here ? TOP_ATTR_SELECTED : TOP_ATTR_DIM,
			       here ? "[%u %s]" : " %u %s ", i + 1, top_names[i]);
	}
	if (sorted >= 0)
		x = put_format(f, y, x + 1, TOP_ATTR_DIM, "sort: %s%s",
			       table->cols[sorted].head,
			       table->reverse ? " reversed" : "");
	if (table->filter[0])
		put_format(f, y, x + 2, TOP_ATTR_WARN, "filter: %s (%zu of %zu)",
			   table->filter, table->n_shown, table->n_rows);
}

static void draw_head(const struct top *t, struct top_frame *f)
{
	unsigned int x;

	x = put_format(f, 0, 0, TOP_ATTR_BOLD, "swiftrdma top");
	x = put_format(f, 0, x + 1, TOP_ATTR_PLAIN, "%s  %s", t->clock, t->title);
	put_format(f, 0, x, TOP_ATTR_PLAIN, "; every %g s", t->interval_ms / 1e3);
	if (t->paused)
		put_format(f, 0, f->width > 8 ? f->width - 8 : 0, TOP_ATTR_WARN, " paused ");
	if (t->trouble[0])
		put_format(f, 1, 0, TOP_ATTR_BAD, "%s", t->trouble);
	else
		put_format(f, 1, 0, TOP_ATTR_PLAIN, "%s", t->hottest);
	draw_tabs(t, f, 2);
}

static void draw_foot(const struct top *t, struct top_frame *f)
{
	static const char *const asks[] = {
		[TOP_FILTER] = "filter: ", [TOP_INTERVAL] = "seconds: ",
	};
	unsigned int y = f->height - 1;

	if (t->mode == TOP_FILTER || t->mode == TOP_INTERVAL) {
		unsigned int x = put_format(f, y, 0, TOP_ATTR_BOLD, "%s", asks[t->mode]);

		f->cursor_x = (int)put_format(f, y, x, TOP_ATTR_PLAIN, "%s", t->prompt);
		f->cursor_y = (int)y;
		if (f->cursor_x >= (int)f->width)
			f->cursor_x = (int)f->width - 1;
	} else if (t->message[0]) {
		put_format(f, y, 0, TOP_ATTR_WARN, "%s", t->message);
	} else {
		put_format(f, y, 0, TOP_ATTR_DIM,
			   "q quit  h help  1-4 views  <> sort  r reverse  / filter  s interval  p pause");
	}
}

static void draw_help(struct top_frame *f)
{
	for (unsigned int i = 0; help[i]; i++)
		put_format(f, HEADER - 1 + i, 1, TOP_ATTR_PLAIN, "%s", help[i]);
}

/* Scrolls so that the selected row is visible. */
static void scroll_to_selected(struct top_table *t, unsigned int page)
{
	if (t->selected < t->first)
		t->first = t->selected;
	if (t->selected >= t->first + page)
		t->first = t->selected - page + 1;
	if (t->first + page > t->n_shown)
		t->first = t->n_shown > page ? t->n_shown - page : 0;
}

static int make_frame(const struct top *t, struct top_frame *f)
{
	size_t n;

	f->height = t->height ? t->height : 1;
	f->width = t->width ? t->width : 1;
	f->cursor_x = f->cursor_y = -1;
	n = (size_t)f->height * f->width;
	if (n > f->cap) {
		char *text = realloc(f->text, n);
		uint8_t *attr = text ? realloc(f->attr, n) : NULL;

		if (text)
			f->text = text;
		if (attr)
			f->attr = attr;
		if (!text || !attr)
			return -ENOMEM;
		f->cap = n;
	}
	memset(f->text, ' ', n);
	memset(f->attr, TOP_ATTR_PLAIN, n);
	return 0;
}

int top_draw(struct top *t, struct top_frame *f)
{
	struct top_table *table = &t->table[t->view];
	unsigned int page = top_page(t->height);
	size_t width[TOP_COLUMNS];

	if (make_frame(t, f))
		return -ENOMEM;
	draw_head(t, f);
	if (t->mode == TOP_HELP) {
		draw_help(f);
	} else {
		scroll_to_selected(table, page);
		measure_table(table, width);
		draw_heads(table, f, HEADER - 1, width);
		for (unsigned int i = 0; i < page &&
		     table->first + i < table->n_shown; i++)
			draw_row(table, f, HEADER + i, table->first + i, width,
				 table->first + i == table->selected);
	}
	draw_foot(t, f);
	return 0;
}

static void print_line(const struct top_frame *f, unsigned int y, FILE *to)
{
	const char *s = f->text + (size_t)y * f->width;
	size_t n = f->width;

	while (n && s[n - 1] == ' ')
		n--;
	fwrite(s, 1, n, to);
	putc('\n', to);
}

int top_print(struct top *t, FILE *to, unsigned int width)
{
	const struct top_table *table = &t->table[t->view];
	size_t widths[TOP_COLUMNS], room = 0;
	struct top_frame f = { 0 };
	struct top all = *t;

	measure_table(table, widths);
	for (size_t k = 0; k < table->n_cols; k++)
		room += widths[k] + GAP;
	/* Wide enough for all tabs. */
	all.width = width ? width : room < 512 ? 512 : (unsigned int)room;
	all.height = (unsigned int)(HEADER + table->n_shown + FOOTER);
	/* Without a keyboard no row is selected. */
	all.table[t->view].selected = SIZE_MAX;
	if (make_frame(&all, &f)) {
		free(f.text);
		free(f.attr);
		return -ENOMEM;
	}
	draw_head(&all, &f);
	draw_heads(table, &f, HEADER - 1, widths);
	for (size_t i = 0; i < table->n_shown; i++)
		draw_row(table, &f, (unsigned int)(HEADER + i), i, widths, false);
	for (unsigned int y = 0; y + FOOTER < f.height; y++)
		print_line(&f, y, to);
	putc('\n', to);
	free(f.text);
	free(f.attr);
	return fflush(to) || ferror(to) ? -EIO : 0;
}
