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
	struct sim_range range;
	char value[WORD], from[WORD], to[WORD], tried_from[WORD], tried_to[WORD];
};

#define OF_SWEEP(name, fill)						\
	static void get_##name(const struct cli *cli, const void *row,	\
			       struct cell *c)				\
	{								\
		const struct sweep_row *w = row;			\
		const struct sim_range *r = &w->range;			\
									\
		(void)cli, (void)r;					\
		fill;							\
	}
#define OF_VALUE(name)							\
	OF_SWEEP(name, if (!r->published) cell_real(c, r->name))	\
	OF_SWEEP(name##_word, if (!r->published) cell_str(c, w->name))

OF_SWEEP(simulated, cell_flag(c, true))
OF_SWEEP(param, cell_str(c, r->param.name))
OF_SWEEP(is, cell_str(c, r->published ? "published" : "chosen"))
OF_SWEEP(value, cell_real(c, r->value))
OF_SWEEP(value_word, cell_str(c, w->value))
OF_VALUE(from)
OF_VALUE(to)
OF_VALUE(tried_from)
OF_VALUE(tried_to)
OF_SWEEP(below, cell_str(c, r->below))
OF_SWEEP(above, cell_str(c, r->above))

static const struct column columns[] = {
	{ "simulated", NULL, 0, COL_JSON, get_simulated },
	{ "parameter", "PARAMETER", 0, COL_LEFT, get_param },
	{ "is", "IS", 0, COL_LEFT, get_is },
	{ "value", NULL, 0, COL_JSON, get_value },
	{ "holds_from", NULL, 0, COL_JSON, get_from },
	{ "holds_to", NULL, 0, COL_JSON, get_to },
	{ "tried_from", NULL, 0, COL_JSON, get_tried_from },
	{ "tried_to", NULL, 0, COL_JSON, get_tried_to },
	{ "lost_below", NULL, 0, COL_JSON, get_below },
	{ "lost_above", NULL, 0, COL_JSON, get_above },
	{ "value_word", "VALUE", 0, COL_TEXT, get_value_word },
	{ "from_word", "HOLDS-FROM", 0, COL_TEXT, get_from_word },
	{ "to_word", "HOLDS-TO", 0, COL_TEXT, get_to_word },
	{ "tried_from_word", "TRIED-FROM", 0, COL_TEXT, get_tried_from_word },
	{ "tried_to_word", "TRIED-TO", 0, COL_TEXT, get_tried_to_word },
};

static void put_word(char *to, const struct sim_range *r, double v)
{
	struct text t;

	text_init(&t, to, WORD);
	units_format(&t, v, r->unit);
}

static struct sweep_row *in_words(const struct sim_range *ranges, size_t n)
{
	struct sweep_row *rows = calloc(n + 1, sizeof(*rows));
	size_t i;

	for (i = 0; rows && i < n; i++) {
		struct sweep_row *w = &rows[i];

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
	size_t i;
	int err;

	if (!row)
		return cli_no_memory();
	rows = ROWS(columns, row, n);
	if (!cli->out.json)
		printf("\neach number was varied alone; NIC: %s\n", policy_basis(sc));
	err = cli_show(cli, &rows);
	for (i = 0; !cli->out.json && i < n; i++)
		say_lost(&row[i]);
	free(row);
	return err;
}

/* Prints the claim for the scenario's own numbers. False: it does not hold. */
static bool say_claim(struct cli *cli, const struct scenario *sc, const struct sim_result *without,
		      const struct sim_result *with)
{
	char text[160];
	bool all = true, holds;
	size_t i;

	if (!cli->out.json)
		printf("simulated: %s\n%s\n", sc->name, sc->claim);
	for (i = 0; i < sc->n_bounds; i++) {
		holds = sim_holds(&sc->bounds[i], without, with);
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
	int err = CLI_OK;

	if (!ranges || !res) {
		err = cli_no_memory();
	} else if (!sc->n_bounds) {
		args_bad("%s has no bound to test; add one, as in 'shows: [{figure: p99, job: kv, of: gain, at_least: 2}]'",
			 sc->name);
		err = CLI_ERROR;
	} else if (sim_run_both(sc, cfg, &res[0], &res[1])) {
		args_bad("the simulation failed");
		err = CLI_ERROR;
	} else if (!say_claim(cli, sc, &res[0], &res[1])) {
		err = CLI_ERROR;
	} else if (sim_sweep(sc, cfg, ranges, &n, isatty(STDERR_FILENO) ? stderr : NULL)) {
		args_bad("the simulation failed");
		err = CLI_ERROR;
	}
	if (!err)
		err = show_ranges(cli, sc, ranges, n);
	free(ranges);
	free(res);
	return err;
}
