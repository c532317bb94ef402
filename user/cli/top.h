/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * swiftrdma top:
 *
 *	top_table.c	turns a reading into tables of text; sorts and filters them
 *	top_keys.c	handles keys
 *	top_frame.c	draws lines of characters with an attribute each; pure, so
 *			that tests can compare frames
 *	top_screen.c	shows a frame; the only file that uses curses
 *	cmd_top.c	the command line, the timing, output without a screen
 */
#ifndef SRDMA_CLI_TOP_H
#define SRDMA_CLI_TOP_H

#include "cli/cli.h"

enum top_view {
	TOP_UARS,
	TOP_QPS,
	TOP_JOBS,
	TOP_PORTS,
	TOP_VIEWS,
};

#define TOP_COLUMNS	20
#define TOP_PROMPT	64
#define TOP_WORD	32	/* bytes of a cell that are drawn at most */

struct top_cell {
	uint32_t at;		/* in the table's text, which has no NULs */
	uint16_t len;
	uint8_t tone;
	bool has, has_key, right;
	double key;		/* to sort numbers by */
};

struct top_table {
	struct column cols[TOP_COLUMNS];
	size_t n_cols;
	bool empty[TOP_COLUMNS];	/* no row has a value: the column is hidden */
	struct top_cell *cells;
	size_t n_rows, cap_cells;
	char *text;
	size_t len, cap_text;
	uint32_t *shown;	/* rows that pass the filter, in order */
	size_t n_shown, cap_shown;
	/* the user's choices */
	int sort;		/* column; -1: the default */
	bool reverse;
	size_t selected, first;	/* of the rows shown */
	char filter[TOP_PROMPT];
};

enum top_mode { TOP_NORMAL, TOP_HELP, TOP_FILTER, TOP_INTERVAL };

struct top {
	struct top_table table[TOP_VIEWS];
	enum top_view view;
	enum top_mode mode;
	char prompt[TOP_PROMPT];	/* what was typed so far */
	char message[160];		/* bottom line, until the next key */
	char trouble[160];		/* why there is no new reading */
	char title[160], hottest[160];	/* the first lines */
	char clock[16];
	uint32_t interval_ms;
	bool paused, quit, read_now;
	unsigned int height, width;
};

void top_init(struct top *t, uint32_t interval_ms);
void top_free(struct top *t);

/* Builds all tables from the reading in @cli. 0 or -ENOMEM. */
int top_take(struct top *t, const struct cli *cli);
/* Sort and filter anew. 0 or -ENOMEM. */
int top_arrange(struct top_table *table);
/* The column a table is sorted by; -1: none. */
int top_sorted_by(const struct top_table *table);
/* Index of the column that begins with @key, or -1. */
int top_column(const struct top_table *table, const char *key, size_t len);
const struct top_cell *top_cell(const struct top_table *table, size_t shown, size_t col);
/* The rows of a view as @cli has them. */
struct rows top_rows(const struct cli *cli, enum top_view view);
extern const char *const top_names[TOP_VIEWS];

/* Keys that are no character. */
enum {
	TOP_KEY_UP = 0x100, TOP_KEY_DOWN, TOP_KEY_LEFT, TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP, TOP_KEY_PAGE_DOWN, TOP_KEY_HOME, TOP_KEY_END,
	TOP_KEY_ENTER, TOP_KEY_ESCAPE, TOP_KEY_BACKSPACE, TOP_KEY_BACKTAB,
};

void top_key(struct top *t, int key);

enum top_attr {
	TOP_ATTR_PLAIN,		/* the first four are enum tone's */
	TOP_ATTR_GOOD,
	TOP_ATTR_WARN,
	TOP_ATTR_BAD,
	TOP_ATTR_HEAD,
	TOP_ATTR_BOLD,
	TOP_ATTR_SELECTED,
	TOP_ATTR_DIM,
	TOP_ATTRS,
};

struct top_frame {
	unsigned int height, width;
	char *text;		/* height * width, blanks where there is nothing */
	uint8_t *attr;
	size_t cap;
	/* cursor while a prompt is open; -1: none */
	int cursor_y, cursor_x;
};

/* Draw @t as @t->height lines of @t->width. 0 or -ENOMEM. */
int top_draw(struct top *t, struct top_frame *f);
/* All rows of a view as lines of text, cut at @width if that is not 0. */
int top_print(struct top *t, FILE *f, unsigned int width);

/* How many rows fit on a screen of so many lines. */
unsigned int top_page(unsigned int height);

/*
 * The screen. open: 0 or, after saying why, -1. close may be called whether or
 * not it is open, and leaves the terminal as it was.
 */
int screen_open(bool color);
void screen_close(void);
void screen_size(struct top *t);
void screen_show(const struct top_frame *f);
/* A key, 0: none is waiting, -1: the size changed. */
int screen_key(void);

#endif /* SRDMA_CLI_TOP_H */
