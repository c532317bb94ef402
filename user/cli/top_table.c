// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/table.h"
#include "cli/top.h"

const char *const top_names[TOP_VIEWS] = { "UARs", "QPs", "Jobs", "Ports" };

/* The columns that fit into 80 characters come first. */
static const char *const keys[TOP_VIEWS][TOP_COLUMNS] = {
	[TOP_UARS] = {
		"dev", "uar", "kind", "qps", "active_qps", "threads", "wr_rate",
		"doorbell_rate", "share", "coactive", "comm", "pid", "cgroup",
	},
	[TOP_QPS] = {
		"dev", "qpn", "type", "state", "uar", "job", "pid", "owner",
		"wr_rate", "doorbell_rate", "outstanding", "queue_delay", "latency",
		"queue_latency", "level", "tclass", "tclass_asked", "tid", "cgroup",
	},
	[TOP_JOBS] = {
		"job", "class", "qps", "wr_rate", "doorbell_rate", "byte_rate", "p50",
		"p99", "samples", "slo_p99", "slo_met", "queue_latency",
	},
	[TOP_PORTS] = {
		"dev", "port", "state", "link_layer", "speed", "util",
		"tx_rate", "rx_rate", "netdev",
	},
};

/* Default sort keys: the first one with any value is used. */
static const char *const usual[] = {
	"wr_rate", "doorbell_rate", "util", "qps", NULL,
};

struct rows top_rows(const struct cli *cli, enum top_view view)
{
	switch (view) {
	case TOP_QPS:
		return qp_rows(&cli->snap);
	case TOP_JOBS:
		return job_rows(&cli->snap);
	case TOP_PORTS:
		return port_rows(&cli->snap);
	default:
		return uar_rows(&cli->snap);
	}
}

void top_init(struct top *t, uint32_t interval_ms)
{
	memset(t, 0, sizeof(*t));
	for (int i = 0; i < TOP_VIEWS; i++)
		t->table[i].sort = -1;
	t->interval_ms = interval_ms;
	t->height = 24;
	t->width = 80;
}

void top_free(struct top *t)
{
	for (int i = 0; i < TOP_VIEWS; i++) {
		free(t->table[i].cells);
		free(t->table[i].text);
		free(t->table[i].shown);
	}
}

static void take_key(struct top_cell *to, const struct cell *c)
{
	to->has_key = true;
	switch (c->kind) {
	case CELL_U64:
	case CELL_BOOLEAN:
		to->key = (double)c->u64;
		break;
	case CELL_S64:
		to->key = (double)c->s64;
		break;
	case CELL_REAL:
		to->key = c->real;
		break;
	default:
		to->has_key = false;
	}
}

/* Replaces non-ASCII bytes, which may not take one column each. */
static void replace_non_ascii(char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i] < 0x20 || s[i] > 0x7e)
			s[i] = '?';
}

static int take_row(struct top_table *t, const struct cli *cli, const void *row)
{
	struct top_cell *to;
	struct cell c;

	if (!array_reserve(&t->cells, &t->cap_cells, (t->n_rows + 1) * t->n_cols,
			   sizeof(*t->cells)) ||
	    !array_reserve(&t->text, &t->cap_text, t->len + t->n_cols * CELL_MAX, 1))
		return -ENOMEM;
	to = &t->cells[t->n_rows * t->n_cols];
	for (size_t k = 0; k < t->n_cols; k++, to++) {
		size_t n;

		cell_get(cli, &t->cols[k], row, &c);
		n = cell_format(t->text + t->len, &t->cols[k], &c);
		replace_non_ascii(t->text + t->len, n);
		*to = (struct top_cell){
			.at = (uint32_t)t->len, .len = (uint16_t)n,
			.tone = (uint8_t)c.tone, .has = c.kind != CELL_ABSENT,
			.right = !(t->cols[k].flags & COL_LEFT),
		};
		take_key(to, &c);
		t->len += n;
	}
	t->n_rows++;
	return 0;
}

static int take_table(struct top_table *t, const struct cli *cli, enum top_view view)
{
	struct rows rows = top_rows(cli, view);

	t->n_cols = view_pick(&rows, keys[view], t->cols);
	for (size_t k = 0; k < t->n_cols; k++)
		t->cols[k].head = out_head(cli, &t->cols[k]);
	t->n_rows = t->len = 0;
	for (size_t i = 0; i < rows.n; i++)
		if (take_row(t, cli, out_row(&rows, i)))
			return -ENOMEM;
	for (size_t k = 0; k < t->n_cols; k++) {
		t->empty[k] = t->n_rows > 0;
		for (size_t i = 0; i < t->n_rows && t->empty[k]; i++)
			t->empty[k] = !t->cells[i * t->n_cols + k].has;
	}
	return top_arrange(t);
}

static void write_headline(struct top *t, const struct cli *cli)
{
	const struct snapshot *s = &cli->snap;
	const struct crowd_proc *p = cli->crowd.n_procs ? cli->crowd.procs
							: NULL;
	const struct snap_uar *uar;
	const struct snap_owner *o;

	snprintf(t->title, sizeof(t->title),
		 "devices %zu, UARs %zu, QPs %zu, jobs %zu%s", s->n_devs,
		 s->n_uars, s->n_qps, s->n_jobs,
		 s->admin ? "" : " (your own only)");
	t->hottest[0] = '\0';
	if (!p || p->worst_qps < 2)
		return;
	uar = &s->uars[p->worst];
	o = &s->owners[p->owner];
	snprintf(t->hottest, sizeof(t->hottest),
		 "Most crowded: UAR %u of %s, %u QPs of %s (pid %u)",
		 uar->index, s->devs[p->dev].name, p->worst_qps, o->comm,
		 o->pid);
	if (p->has_coactive)
		snprintf(t->hottest + strlen(t->hottest),
			 sizeof(t->hottest) - strlen(t->hottest),
			 ", coactive %.0f%%", 100 * p->worst_coactive);
	replace_non_ascii(t->hottest, strlen(t->hottest));
}

int top_take(struct top *t, const struct cli *cli)
{
	int err = 0;

	for (int i = 0; i < TOP_VIEWS && !err; i++)
		err = take_table(&t->table[i], cli, i);
	if (!err)
		write_headline(t, cli);
	return err;
}

const struct top_cell *top_cell(const struct top_table *t, size_t shown, size_t col)
{
	return &t->cells[t->shown[shown] * t->n_cols + col];
}

int top_column(const struct top_table *t, const char *key, size_t len)
{
	for (size_t k = 0; k < t->n_cols; k++)
		if (strlen(t->cols[k].key) == len && !strncmp(t->cols[k].key, key, len))
			return (int)k;
	for (size_t k = 0; k < t->n_cols; k++)
		if (len && (!strncmp(t->cols[k].key, key, len) ||
			    !strncasecmp(t->cols[k].head, key, len)))
			return (int)k;
	return -1;
}

int top_sorted_by(const struct top_table *t)
{
	if (t->sort >= 0)
		return t->sort < (int)t->n_cols ? t->sort : -1;
	for (const char *const *key = usual; *key; key++) {
		int k = top_column(t, *key, strlen(*key));

		for (size_t i = 0; k >= 0 && i < t->n_rows; i++)
			if (t->cells[i * t->n_cols + (size_t)k].key > 0)
				return k;
	}
	return -1;
}

static bool contains_word(const char *s, size_t n, const char *word, size_t len)
{
	for (size_t i = 0; i + len <= n; i++)
		if (!strncasecmp(s + i, word, len))
			return true;
	return false;
}

/* "job=kv" matches a whole cell of that column, "kv" a part of any cell. */
static bool passes_word(const struct top_table *t, size_t row, const char *word, size_t len)
{
	const struct top_cell *c = &t->cells[row * t->n_cols];
	const char *eq = memchr(word, '=', len);
	int k = eq ? top_column(t, word, (size_t)(eq - word)) : -1;

	if (k >= 0) {
		len -= (size_t)(eq + 1 - word);
		return c[k].len == len && !strncasecmp(t->text + c[k].at, eq + 1, len);
	}
	for (size_t i = 0; i < t->n_cols; i++)
		if (contains_word(t->text + c[i].at, c[i].len, word, len))
			return true;
	return false;
}

static bool passes_filter(const struct top_table *t, size_t row)
{
	const char *s = t->filter;

	while (*s) {
		size_t n = strcspn(s, " ");

		if (n && !passes_word(t, row, s, n))
			return false;
		s += n + (s[n] == ' ');
	}
	return true;
}

/* For compare_rows(), since qsort() passes no context. */
static const struct top_table *arranged;
static int arranged_by;

static int compare_rows(const void *pa, const void *pb)
{
	const struct top_table *t = arranged;
	uint32_t ra = *(const uint32_t *)pa, rb = *(const uint32_t *)pb;
	const struct top_cell *a = &t->cells[ra * t->n_cols + (size_t)arranged_by];
	const struct top_cell *b = &t->cells[rb * t->n_cols + (size_t)arranged_by];
	size_t n = a->len < b->len ? a->len : b->len;
	int d = 0;

	/* Absent values come last in either order. */
	if (a->has != b->has)
		return a->has ? -1 : 1;
	if (a->has_key && b->has_key) {
		d = a->key > b->key ? -1 : a->key < b->key;
	} else if (a->has) {
		d = strncmp(t->text + a->at, t->text + b->at, n);
		if (!d)
			d = (int)a->len - (int)b->len;
	}
	if (d)
		return t->reverse ? -d : d;
	return ra < rb ? -1 : ra > rb;
}

int top_arrange(struct top_table *t)
{
	t->n_shown = 0;
	if (!array_reserve(&t->shown, &t->cap_shown, t->n_rows, sizeof(*t->shown)))
		return -ENOMEM;
	for (size_t i = 0; i < t->n_rows; i++)
		if (passes_filter(t, i))
			t->shown[t->n_shown++] = (uint32_t)i;
	arranged = t;
	arranged_by = top_sorted_by(t);
	if (arranged_by >= 0 && t->n_shown)
		qsort(t->shown, t->n_shown, sizeof(*t->shown), compare_rows);
	if (t->selected >= t->n_shown)
		t->selected = t->n_shown ? t->n_shown - 1 : 0;
	return 0;
}
