// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* swiftrdma policy simulate ... sweep: the ranges in which a scenario's claim holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cmd_policy.h"
#include "sim/claim.h"

#define WORD 24

/* A range, and its values as text, since each row has another unit. */
struct sweep_row {
	bool simulated, chosen;
	const char *is;
	struct sim_range range;
	char value[WORD], from[WORD], to[WORD], tried_from[WORD], tried_to[WORD];
};

#define ROW(member)		MEMBER(struct sweep_row, member)
/* Numbers that are published are not varied. */
#define CHOSEN(member)		MEMBER_IF(struct sweep_row, member, chosen)

static const struct column columns[] = {
	{ "simulated", NULL, 0, COL_JSON, ROW(simulated) },
	{ "parameter", "PARAMETER", 0, COL_LEFT, ROW(range.param.name) },
	{ "is", "IS", 0, COL_LEFT, ROW(is) },
	{ "value", NULL, 0, COL_JSON, ROW(range.value) },
	{ "holds_from", NULL, 0, COL_JSON, CHOSEN(range.from) },
	{ "holds_to", NULL, 0, COL_JSON, CHOSEN(range.to) },
	{ "tried_from", NULL, 0, COL_JSON, CHOSEN(range.tried_from) },
	{ "tried_to", NULL, 0, COL_JSON, CHOSEN(range.tried_to) },
	{ "lost_below", NULL, 0, COL_JSON, ROW(range.below) },
	{ "lost_above", NULL, 0, COL_JSON, ROW(range.above) },
	{ "value_word", "VALUE", 0, COL_TEXT, ROW(value) },
	{ "from_word", "HOLDS-FROM", 0, COL_TEXT, CHOSEN(from) },
	{ "to_word", "HOLDS-TO", 0, COL_TEXT, CHOSEN(to) },
	{ "tried_from_word", "TRIED-FROM", 0, COL_TEXT, CHOSEN(tried_from) },
	{ "tried_to_word", "TRIED-TO", 0, COL_TEXT, CHOSEN(tried_to) },
};

const struct noun_table policy_sweep_table = NOUN_TABLE("policy.sweep", columns);

static void put_word(char *to, const struct sim_range *r, double v)
{
	struct text t;

	text_init(&t, to, WORD);
	units_format(&t, v, r->unit);
}

static struct sweep_row *in_words(const struct sim_range *ranges, size_t n)
{
	struct sweep_row *rows = calloc(n + 1, sizeof(*rows));

	for (size_t i = 0; rows && i < n; i++) {
		struct sweep_row *w = &rows[i];

		w->simulated = true;
		w->chosen = !ranges[i].published;
		w->is = w->chosen ? "chosen" : "published";
		w->range = ranges[i];
		put_word(w->value, &w->range, w->range.value);
		put_word(w->from, &w->range, w->range.from);
		put_word(w->to, &w->range, w->range.to);
		put_word(w->tried_from, &w->range, w->range.tried_from);
		put_word(w->tried_to, &w->range, w->range.tried_to);
	}
	return rows;
}

static void say_lost(const struct sweep_row *w)
{
	if (w->range.below[0])
		printf("at %s %s: %s\n", w->range.param.name, w->tried_from, w->range.below);
	if (w->range.above[0])
		printf("at %s %s: %s\n", w->range.param.name, w->tried_to, w->range.above);
}

static int show_ranges(struct cli *cli, const struct scenario *sc, const struct sim_range *ranges,
		       size_t n)
{
	struct sweep_row *row = in_words(ranges, n);
	struct rows rows;
	int err;

	if (!row)
		return cli_no_memory();
	rows = ROWS(columns, row, n);
	if (!cli->out.json)
		printf("\neach number was varied alone; NIC: %s\n", policy_basis(sc));
	err = cli_show(cli, &rows);
	for (size_t i = 0; !cli->out.json && i < n; i++)
		say_lost(&row[i]);
	free(row);
	return err;
}

/* Prints the claim for the scenario's own numbers. False: it does not hold. */
static bool say_claim(struct cli *cli, const struct scenario *sc, const struct sim_result *without,
		      const struct sim_result *with)
{
	char text[160];
	bool all = true;

	if (!cli->out.json)
		printf("simulated: %s\n%s\n", sc->name, sc->claim);
	for (size_t i = 0; i < sc->n_bounds; i++) {
		bool holds = sim_holds(&sc->bounds[i], without, with);

		all = all && holds;
		sim_bound_text(sc, &sc->bounds[i], without, with, text, sizeof(text));
		if (!holds)
			args_bad("%s: does not hold: %s", sc->name, text);
		else if (!cli->out.json)
			printf("holds: %s\n", text);
	}
	return all;
}

int policy_sweep(struct cli *cli, const struct scenario *sc, const struct config *cfg)
{
	struct sim_range *ranges = calloc(SIM_PARAMS, sizeof(*ranges));
	struct sim_result *res = calloc(2, sizeof(*res));
	size_t n = 0;
	int failed, err;

	if (!ranges || !res) {
		err = cli_no_memory();
	} else if (!sc->n_bounds) {
		err = cli_fail("%s has no bound to test; add one, as in 'shows: [{figure: p99, job: kv, of: gain, at_least: 2}]'",
			       sc->name);
	} else if ((failed = sim_run_both(sc, cfg, &res[0], &res[1]))) {
		err = policy_sim_failed(failed);
	} else if (!say_claim(cli, sc, &res[0], &res[1])) {
		err = CLI_ERROR;
	} else {
		failed = sim_sweep(sc, cfg, ranges, &n, isatty(STDERR_FILENO) ? stderr : NULL);
		err = failed ? policy_sim_failed(failed) : show_ranges(cli, sc, ranges, n);
	}
	free(ranges);
	free(res);
	return err;
}
