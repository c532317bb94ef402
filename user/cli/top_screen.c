// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>

#include "cli/top.h"

/* Time to wait for the rest of an escape sequence. ESCDELAY is a macro of curses. */
#define ESCAPE_MS 50

static SCREEN *screen;
static chtype attrs[TOP_ATTRS];

static void choose_attrs(bool color)
{
	attrs[TOP_ATTR_PLAIN] = A_NORMAL;
	attrs[TOP_ATTR_GOOD] = A_NORMAL;
	attrs[TOP_ATTR_WARN] = A_BOLD;
	attrs[TOP_ATTR_BAD] = A_BOLD;
	attrs[TOP_ATTR_HEAD] = A_REVERSE;
	attrs[TOP_ATTR_BOLD] = A_BOLD;
	attrs[TOP_ATTR_SELECTED] = A_STANDOUT;
	attrs[TOP_ATTR_DIM] = A_DIM;
	if (!color || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	init_pair(1, COLOR_GREEN, -1);
	init_pair(2, COLOR_YELLOW, -1);
	init_pair(3, COLOR_RED, -1);
	attrs[TOP_ATTR_GOOD] = COLOR_PAIR(1);
	attrs[TOP_ATTR_WARN] = COLOR_PAIR(2);
	attrs[TOP_ATTR_BAD] = COLOR_PAIR(3);
}

int screen_open(bool color)
{
	const char *term = getenv("TERM");

	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		fprintf(stderr,
			"swiftrdma: top cannot draw on a terminal '%s': set TERM, or use top --batch\n",
			term ? term : "");
		return -1;
	}
	set_term(screen);
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	nonl();
	intrflush(stdscr, FALSE);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	choose_attrs(color);
	/* Also restore the terminal if exit() is called elsewhere. */
	atexit(screen_close);
	return 0;
}

void screen_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
}

void screen_size(struct top *t)
{
	int y, x;

	getmaxyx(stdscr, y, x);
	t->height = y > 0 ? (unsigned int)y : 1;
	t->width = x > 0 ? (unsigned int)x : 1;
}

/* Writes all lines; curses sends only the differences. */
void screen_show(const struct top_frame *f)
{
	erase();
	for (unsigned int y = 0; y < f->height; y++) {
		const char *text = f->text + (size_t)y * f->width;
		const uint8_t *attr = f->attr + (size_t)y * f->width;
		unsigned int x = 0;

		while (x < f->width) {
			unsigned int end = x;

			while (end < f->width && attr[end] == attr[x])
				end++;
			attrset((int)attrs[attr[x]]);
			mvaddnstr((int)y, (int)x, text + x, (int)(end - x));
			x = end;
		}
	}
	attrset(A_NORMAL);
	curs_set(f->cursor_y >= 0);
	if (f->cursor_y >= 0)
		move(f->cursor_y, f->cursor_x);
	refresh();
}

int screen_key(void)
{
	static const struct {
		int from, to;
	} keys[] = {
		{ KEY_UP, TOP_KEY_UP }, { KEY_DOWN, TOP_KEY_DOWN },
		{ KEY_LEFT, TOP_KEY_LEFT }, { KEY_RIGHT, TOP_KEY_RIGHT },
		{ KEY_PPAGE, TOP_KEY_PAGE_UP },
		{ KEY_NPAGE, TOP_KEY_PAGE_DOWN },
		{ KEY_HOME, TOP_KEY_HOME }, { KEY_END, TOP_KEY_END },
		{ KEY_ENTER, TOP_KEY_ENTER }, { '\r', TOP_KEY_ENTER },
		{ '\n', TOP_KEY_ENTER }, { '\033', TOP_KEY_ESCAPE },
		{ KEY_BACKSPACE, TOP_KEY_BACKSPACE },
		{ '\b', TOP_KEY_BACKSPACE }, { 0x7f, TOP_KEY_BACKSPACE },
		{ KEY_BTAB, TOP_KEY_BACKTAB },
	};
	int key = getch();

	if (key == ERR)
		return 0;
	if (key == KEY_RESIZE)
		return -1;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].from == key)
			return keys[i].to;
	/* Other keys of curses have no meaning here. */
	return key < 0x80 && key > 0 ? key : TOP_KEY_BACKTAB + 1;
}
