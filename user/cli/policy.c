// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* swiftrdma policy, and its check of a file. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/policy.h"

/* The file that is shown, by its columns, and why its policies do not run everywhere. */
static const struct config *shown;
static char (*notes)[POLICY_NOTE];

static size_t row_of(const void *row)
{
	return (size_t)((const struct config_policy *)row - shown->texts);
}

static void get_name(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_str(c, shown->policies.v[row_of(row)].name);
}

static void get_for(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_str(c, ((const struct config_policy *)row)->who);
}

static void get_cause(const struct cli *cli, const void *row, struct cell *c)
{
	const struct policy *p = &shown->policies.v[row_of(row)];

	(void)cli;
	cell_str(c, p->cause == CAUSE_NONE ? "" : cause_names[p->cause]);
}

static void get_do(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_str(c, ((const struct config_policy *)row)->act);
}

static void get_runs(const struct cli *cli, const void *row, struct cell *c)
{
	const struct config_policy *t = row;

	(void)cli;
	cell_str(c, t->off[0] ? "idle" : t->by_fallback ? "fallback" : "yes");
	c->tone = t->off[0] ? TONE_WARN : TONE_GOOD;
}

static void get_why(const struct cli *cli, const void *row, struct cell *c)
{
	const struct config_policy *t = row;

	(void)cli;
	cell_str(c, t->off[0] ? t->off : notes ? notes[row_of(row)] : "");
}

static const struct column check_columns[] = {
	{ "policy", "POLICY", 0, COL_LEFT, get_name },
	{ "for", "FOR", 0, COL_LEFT, get_for },
	{ "cause", "CAUSE", 0, COL_LEFT, get_cause },
	{ "do", "DO", 0, COL_LEFT, get_do },
	{ "runs", "RUNS", 0, COL_LEFT, get_runs },
	{ "why", "WHY", 0, COL_LEFT, get_why },
};

/* Long enough for a clock of microseconds. */
#define MEASURE_NS	2000000

/* ns that an instruction of these policies takes on this machine, now. */
static double instruction_ns(const struct prog *p)
{
	const struct binding none = { { -1, -1, -1, -1, -1 } };
	struct prog_env env = { .p = p };
	uint64_t start = cli_now(), n = 0, now;

	do {
		for (unsigned int k = 0; k < OBJ_KINDS; k++)
			for (uint32_t i = 0; i < p->n_atoms[k]; i++) {
				prog_run(&env, p->atoms[k][i].code, &none);
				n += p->atoms[k][i].code.n;
			}
		now = cli_now();
	} while (n && now - start < MEASURE_NS);
	return n ? (double)(now - start) / (double)n : 0;
}

/*
 * The most that a tick can cost, by what there is. A comparison, and a policy's turn at
 * a job, count as an instruction.
 */
static void say_work(const struct config *cfg)
{
	const struct prog *p = &cfg->policies.prog;
	double ns = instruction_ns(p), total = 0;
	unsigned int k;

	if (!cfg->policies.n)
		return;
	printf("work of a tick, at most, as measured on this machine now:");
	for (k = 0; k < OBJ_KINDS; k++) {
		uint32_t n = prog_work(p, k) + (k == OBJ_QP ? p->n_asked : 0) +
			     (k == OBJ_JOB ? (uint32_t)cfg->policies.n : 0);

		if (n)
			printf("%s %.2f us for each %s", total > 0 ? "," : "", n * ns / 1e3,
			       vocab_objs[k]);
		total += n * ns * (k == OBJ_QP ? 10000 : k == OBJ_JOB ? 100 : 1);
	}
	printf("; with 10,000 QPs of 100 jobs %.2f ms of %.0f\n", total / 1e6,
	       (double)cfg->interval / 1e6);
}

static int check(struct cli *cli, struct args *args)
{
	struct policy_where w;
	struct config cfg;
	struct rows rows;
	int err = policy_where(cli, args, &w, NULL);

	if (!err)
		err = policy_judge(&cfg, &w, true, &notes);
	if (err)
		return err;
	shown = &cfg;
	rows = ROWS(check_columns, cfg.texts, cfg.policies.n);
	err = cli_show(cli, &rows);
	if (!err && !cli->out.json) {
		printf("\njudged for %s\n", w.text);
		say_work(&cfg);
	}
	free(notes);
	config_free(&cfg);
	return err;
}

static const struct verb verbs[] = {
	{ "check", check }, { "compile", policy_compile }, { "explain", policy_explain },
	{ "simulate", policy_simulate }, { 0 },
};

const struct noun noun_policy = {
	"policy", verbs,
	"Usage: swiftrdma policy check FILE [ on { here | anywhere | DEV } ]\n"
	"       swiftrdma policy compile FILE [ on { here | anywhere | DEV } ]\n"
	"       swiftrdma policy explain FILE [ JOB ] [ on { here | anywhere | DEV } ]\n"
	"       swiftrdma policy simulate FILE scenario FILE [ without ] [ log ]\n"
	"                                 [ csv FILE [ svg FILE ] ] [ record FILE ]\n"
	"                                 [ device { mlx5 | rxe | all } ] [ hurry N ]\n"
	"       swiftrdma policy simulate FILE scenario FILE sweep [ device ... ] [ hurry N ]\n"
	"       swiftrdma policy simulate FILE scenario FILE hosts N [ against FILE ]\n"
	"       swiftrdma policy simulate FILE replay RECORDING [ hurry N ]\n"
	"\n"
	"check says what is wrong with a file, which of its policies can run, and what\n"
	"a tick costs at most. compile prints the policies that follow from its jobs\n"
	"and order. explain says in words what will happen to a job, and when. simulate\n"
	"runs the policies on a modelled NIC, with 'without' also without them, next to\n"
	"each other; log prints the decisions, csv keeps latency and knobs over time, and\n"
	"svg draws them (by gnuplot). hosts does it for many of them, each with its loads,\n"
	"and against compares with the policies of another file. sweep moves each number\n"
	"that was chosen for the scenario, and says how far what it shows holds. device\n"
	"says what policies see and do: as on mlx5, as on rxe, or all there is to know.\n"
	"hurry divides the file's times, by itself as a simulated NIC is looked at more often.\n"
	"replay says what they would have done with what swiftrdma record kept, against\n"
	"what was done.\n"
	"FILE - is standard input. None of them needs the module. See\n"
	"swiftrdma-policy(5).\n",
};
