// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdlib.h>
#include <string.h>

#include "cli/top.h"

static void set_message(struct top *t, const char *text)
{
	snprintf(t->message, sizeof(t->message), "%s", text);
}

static void arrange_table(struct top *t)
{
	if (top_arrange(&t->table[t->view]))
		set_message(t, "out of memory");
}

static void look_at(struct top *t, enum top_view view)
{
	t->view = view;
	arrange_table(t);
}

static void move_selection(struct top *t, long by)
{
	struct top_table *table = &t->table[t->view];
	long to = (long)table->selected + by;

	if (to >= (long)table->n_shown)
		to = (long)table->n_shown - 1;
	table->selected = to < 0 ? 0 : (size_t)to;
}

static void move_sort_column(struct top *t, int step)
{
	struct top_table *table = &t->table[t->view];
	int k = top_sorted_by(table), n = (int)table->n_cols;

	if (!n)
		return;
	if (k < 0)
		k = step > 0 ? -1 : n;
	for (int i = 0; i < n; i++) {
		k = (k + step + n) % n;
		if (!table->empty[k])
			break;
	}
	table->sort = k;
	arrange_table(t);
}

/* Shows the QPs of the selected row. */
static void go_into(struct top *t)
{
	static const char *const of[TOP_VIEWS][3] = {
		[TOP_UARS] = { "dev", "uar" },
		[TOP_JOBS] = { "job" },
		[TOP_PORTS] = { "dev" },
	};
	const struct top_table *from = &t->table[t->view];
	char *filter = t->table[TOP_QPS].filter;
	size_t n = 0;

	if (t->view == TOP_QPS || !from->n_shown) {
		set_message(t, t->view == TOP_QPS ?
			    "swiftrdma qp explain DEV QPN explains a QP" :
			    "nothing is selected");
		return;
	}
	filter[0] = '\0';
	for (const char *const *key = of[t->view]; *key; key++) {
		int k = top_column(from, *key, strlen(*key));
		const struct top_cell *c;

		if (k < 0)
			continue;
		c = top_cell(from, from->selected, (size_t)k);
		n += (size_t)snprintf(filter + n, TOP_PROMPT - n, "%s%s=%.*s",
				      n ? " " : "", *key, c->len,
				      from->text + c->at);
		if (n >= TOP_PROMPT)
			break;
	}
	t->table[TOP_QPS].selected = 0;
	look_at(t, TOP_QPS);
}

static void open_prompt(struct top *t, enum top_mode mode)
{
	t->mode = mode;
	t->prompt[0] = '\0';
	if (mode == TOP_FILTER)
		strcpy(t->prompt, t->table[t->view].filter);
}

static void set_interval(struct top *t)
{
	struct quantity q;
	double ms = 0;

	if (!units_parse(t->prompt, strlen(t->prompt), &q, NULL))
		ms = q.unit == UNIT_TIME ? q.v / 1e6 : q.unit == UNIT_COUNT ? q.v * 1e3 : 0;
	if (ms < 20 || ms > 3600e3) {
		set_message(t, "the interval is a time from 20ms to 3600s, as in 0.5 or 500ms");
		return;
	}
	t->interval_ms = (uint32_t)ms;
	t->read_now = true;
}

static void take_prompt(struct top *t)
{
	enum top_mode mode = t->mode;

	t->mode = TOP_NORMAL;
	if (mode == TOP_INTERVAL) {
		set_interval(t);
		return;
	}
	strcpy(t->table[t->view].filter, t->prompt);
	arrange_table(t);
}

static void handle_prompt_key(struct top *t, int key)
{
	size_t n = strlen(t->prompt);

	if (key == TOP_KEY_ENTER) {
		take_prompt(t);
	} else if (key == TOP_KEY_ESCAPE) {
		t->mode = TOP_NORMAL;
	} else if (key == TOP_KEY_BACKSPACE) {
		if (n)
			t->prompt[n - 1] = '\0';
	} else if (key >= 0x20 && key < 0x7f && n + 1 < sizeof(t->prompt)) {
		t->prompt[n] = (char)key;
		t->prompt[n + 1] = '\0';
	}
}

static bool handle_navigation(struct top *t, int key)
{
	struct top_table *table = &t->table[t->view];
	long page = top_page(t->height);

	switch (key) {
	case TOP_KEY_UP:
	case 'k':
		move_selection(t, -1);
		return true;
	case TOP_KEY_DOWN:
	case 'j':
		move_selection(t, 1);
		return true;
	case TOP_KEY_PAGE_UP:
		move_selection(t, -page);
		return true;
	case TOP_KEY_PAGE_DOWN:
		move_selection(t, page);
		return true;
	case TOP_KEY_HOME:
	case 'g':
		table->selected = 0;
		return true;
	case TOP_KEY_END:
	case 'G':
		move_selection(t, (long)table->n_shown);
		return true;
	}
	return false;
}

static void handle_normal_key(struct top *t, int key)
{
	struct top_table *table = &t->table[t->view];

	if (key >= '1' && key < '1' + TOP_VIEWS) {
		look_at(t, (enum top_view)(key - '1'));
		return;
	}
	if (handle_navigation(t, key))
		return;
	switch (key) {
	case 'q':
	case 'Q':
		t->quit = true;
		break;
	case 'h':
	case '?':
		t->mode = TOP_HELP;
		break;
	case '\t':
		look_at(t, (t->view + 1) % TOP_VIEWS);
		break;
	case TOP_KEY_BACKTAB:
		look_at(t, (t->view + TOP_VIEWS - 1) % TOP_VIEWS);
		break;
	case '<':
	case TOP_KEY_LEFT:
		move_sort_column(t, -1);
		break;
	case '>':
	case TOP_KEY_RIGHT:
		move_sort_column(t, 1);
		break;
	case 'r':
	case 'R':
		table->reverse = !table->reverse;
		arrange_table(t);
		break;
	case '/':
	case 'f':
		open_prompt(t, TOP_FILTER);
		break;
	case 's':
	case 'd':
		open_prompt(t, TOP_INTERVAL);
		break;
	case 'p':
		t->paused = !t->paused;
		break;
	case ' ':
		t->read_now = true;
		break;
	case TOP_KEY_ESCAPE:
	case TOP_KEY_BACKSPACE:
		table->filter[0] = '\0';
		arrange_table(t);
		break;
	case TOP_KEY_ENTER:
		go_into(t);
		break;
	default:
		set_message(t, "this key has no function; h lists the keys");
	}
}

void top_key(struct top *t, int key)
{
	t->message[0] = '\0';
	if (t->mode == TOP_HELP)
		t->mode = TOP_NORMAL;
	else if (t->mode == TOP_NORMAL)
		handle_normal_key(t, key);
	else
		handle_prompt_key(t, key);
}
