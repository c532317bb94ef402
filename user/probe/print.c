// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "probe/print.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/table.h"

#define NAME_WIDTH	15	/* columns of a check's name, and of a verdict */
#define VERDICT_WIDTH	12
#define INDENT		(NAME_WIDTH + VERDICT_WIDTH)

static const enum tone tones[PROBE_VERDICTS] = {
	[PROBE_AS_ASSUMED] = TONE_GOOD,
	[PROBE_CANNOT] = TONE_PLAIN,
	[PROBE_DIFFERS] = TONE_BAD,
};

GETTER(assumed)
{
	const struct probe_figure *g = row;

	if (g->compare != PROBE_SHOWN)
		cell_real(c, g->assumed);
}

GETTER(compare)
{
	static const char *const words[] = {
		[PROBE_EXACT] = "exactly", [PROBE_NEAR] = "about",
		[PROBE_AT_MOST] = "at most", [PROBE_AT_LEAST] = "at least",
	};
	const struct probe_figure *g = row;

	if (g->compare != PROBE_SHOWN)
		cell_str(c, words[g->compare]);
}

GETTER(found)
{
	const struct probe_figure *g = row;

	cell_real(c, g->found);
	c->tone = g->off ? TONE_BAD : TONE_PLAIN;
}

GETTER(model)
{
	const struct probe_figure *g = row;

	if (g->has_model)
		cell_real(c, g->model);
}

static const struct column figure_columns[] = {
	{ "name", "FIGURE", 0, COL_LEFT, MEMBER(struct probe_figure, name) },
	{ "found", "FOUND", 0, 0, .get = get_found },
	{ "compare", "ASSUMED", 0, COL_LEFT | COL_SPARSE, .get = get_compare },
	{ "assumed", "", 0, COL_SPARSE, .get = get_assumed },
	{ "model", "MODEL", 0, COL_SPARSE, .get = get_model },
	{ "unit", "UNIT", 0, COL_LEFT | COL_SPARSE, MEMBER(struct probe_figure, unit) },
};

GETTER(verdict)
{
	cell_str(c, probe_verdict_words[((const struct probe_finding *)row)->verdict]);
}

GETTER(figures)
{
	const struct probe_finding *f = row;

	cell_table(c, ROWS(figure_columns, f->figures, f->n_figures));
}

#define FINDING(member)	MEMBER(struct probe_finding, member)

/* For JSON only. */
static const struct column finding_columns[] = {
	{ "check", NULL, 0, 0, FINDING(check) },
	{ "verdict", NULL, 0, 0, .get = get_verdict },
	{ "assumed", NULL, 0, 0, FINDING(assumed) },
	{ "source", NULL, 0, 0, FINDING(source) },
	{ "found", NULL, 0, 0, FINDING(found) },
	{ "figures", NULL, 0, 0, .get = get_figures },
};

static const char *link_name(const struct probe *p)
{
	return p->nic.eth ? "Ethernet" : "InfiniBand";
}

void print_device(const struct probe *p, struct out *o)
{
	fprintf(o->f, "%s%s%s: driver %s, firmware %s, board %s, %s\n", p->nic.name,
		p->has_peer ? " to " : "", p->has_peer ? p->other.name : "", p->driver,
		p->firmware[0] ? p->firmware : "-", p->board[0] ? p->board : "-", link_name(p));
	if (p->simulated)
		fputs("SIMULATED: the device is software; nothing below says anything about a NIC\n",
		      o->f);
	putc('\n', o->f);
}

static void print_more(const struct out *o, const char *what, const char *text)
{
	fprintf(o->f, "%*s%-*s", NAME_WIDTH, "", VERDICT_WIDTH, what);
	out_folded(o->f, INDENT, text);
}

void print_finding(const struct cli *cli, struct out *o, const struct probe_finding *f)
{
	const char *tone = o->color ? out_tones[tones[f->verdict]] : NULL;
	bool more = o->details || f->verdict == PROBE_DIFFERS;
	struct rows figures = ROWS(figure_columns, f->figures, f->n_figures);

	fprintf(o->f, "%-*s%s%-*s%s", NAME_WIDTH, f->check, tone ? tone : "", VERDICT_WIDTH,
		probe_verdict_words[f->verdict], tone ? "\033[0m" : "");
	out_folded(o->f, INDENT, f->found);
	if (more) {
		print_more(o, "assumed", f->assumed);
		print_more(o, "source", f->source);
	}
	if (more && f->n_figures)
		table_print(cli, o, &figures, INDENT);
	fflush(o->f);
}

void print_sum(const struct probe *p, struct out *o, const struct probe_finding *f, size_t n)
{
	size_t count[PROBE_VERDICTS] = { 0 };

	for (size_t i = 0; i < n; i++)
		count[f[i].verdict]++;
	fprintf(o->f, "\n%zu as assumed, %zu differ%s, %zu cannot be tried%s\n",
		count[PROBE_AS_ASSUMED], count[PROBE_DIFFERS],
		count[PROBE_DIFFERS] == 1 ? "s" : "", count[PROBE_CANNOT],
		p->simulated ? " (simulated)" : "");
}

static void print_key(struct json *j, const char *key, const char *value)
{
	json_key(j, key);
	json_str(j, value);
}

void print_json(const struct cli *cli, const struct probe *p, struct out *o,
		const struct probe_finding *f, size_t n)
{
	const struct rows rows = ROWS(finding_columns, f, n);
	struct json *j = &o->j;

	*j = (struct json){ .f = o->f, .pretty = o->pretty, .first = true };
	json_begin(j, '{');
	print_key(j, "version", cli->version);
	print_key(j, "dev", p->nic.name);
	if (p->has_peer)
		print_key(j, "peer", p->other.name);
	print_key(j, "driver", p->driver);
	print_key(j, "firmware", p->firmware);
	print_key(j, "board", p->board);
	print_key(j, "link_layer", link_name(p));
	json_key(j, "simulated");
	json_boolean(j, p->simulated);
	json_key(j, "module");
	json_boolean(j, p->io);
	out_list(cli, o, "checks", &rows);
	json_end(j, '}');
	putc('\n', o->f);
}

void print_progress(size_t i, size_t n, const char *check)
{
	if (!isatty(STDERR_FILENO))
		return;
	if (check)
		fprintf(stderr, "\r\033[K[%zu/%zu] %s", i, n, check);
	else
		fputs("\r\033[K", stderr);
	fflush(stderr);
}
