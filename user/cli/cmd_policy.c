// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* swiftrdma policy, and policy check. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/cmd_policy.h"

/* For the columns: the file that is shown, and on which devices its policies do not run. */
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

const char *policy_runs(const struct config_policy *t)
{
	return t->off[0] ? "idle" : t->by_fallback ? "fallback" :
	       t->library[0] || t->library_knobs[0] ? "library" : "yes";
}

static void get_runs(const struct cli *cli, const void *row, struct cell *c)
{
	const struct config_policy *t = row;

	(void)cli;
	cell_str(c, policy_runs(t));
	c->tone = t->off[0] ? TONE_WARN : TONE_GOOD;
}

static void get_why(const struct cli *cli, const void *row, struct cell *c)
{
	const struct config_policy *t = row;
	struct text text;

	(void)cli;
	if (t->off[0] || (notes && notes[row_of(row)][0])) {
		cell_str(c, t->off[0] ? t->off : notes[row_of(row)]);
		return;
	}
	text_init(&text, c->buf, sizeof(c->buf));
	if (t->library[0]) {
		text_str(&text, "libswiftrdma tells ");
		text_str(&text, t->library);
		text_str(&text, t->fallback ? "; else its fallback" : "; else never");
	}
	if (t->library_knobs[0]) {
		text_str(&text, t->library[0] ? "; it enforces " : "libswiftrdma enforces ");
		text_str(&text, t->library_knobs);
	}
	cell_str(c, c->buf);
}

static const struct column check_columns[] = {
	{ "policy", "POLICY", 0, COL_LEFT, get_name },
	{ "for", "FOR", 0, COL_LEFT, get_for },
	{ "cause", "CAUSE", 0, COL_LEFT, get_cause },
	{ "do", "DO", 0, COL_LEFT, get_do },
	{ "runs", "RUNS", 0, COL_LEFT, get_runs },
	{ "why", "WHY", 0, COL_LEFT, get_why },
};

/* How long to measure; long enough for a clock with a resolution of 1 us. */
#define MEASURE_NS	2000000

/* Measures how many ns an instruction of these policies takes on this host. */
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
 * Prints the worst-case cost of a tick per object. A comparison counts as one
 * instruction, as does each policy of each job.
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

static int check_policy(struct cli *cli, struct args *args)
{
	struct policy_target w;
	struct config cfg;
	struct rows rows;
	int err = policy_target(cli, args, &w, NULL);

	if (!err)
		err = policy_judge(&cfg, &w, true, &notes);
	if (err)
		return err;
	shown = &cfg;
	rows = ROWS(check_columns, cfg.texts, cfg.policies.n);
	err = cli_show(cli, &rows);
	if (!err && !cli->out.json) {
		printf("\nchecked for %s\n", w.text);
		say_work(&cfg);
	}
	free(notes);
	config_free(&cfg);
	return err;
}

static const struct verb verbs[] = {
	{ "check", check_policy }, { "compile", policy_compile }, { "explain", policy_explain },
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
	"check    reports mistakes in a file, which of its policies can run, and what a\n"
	"         tick costs at most\n"
	"compile  prints the policies that are derived from the file's jobs and order\n"
	"explain  says in words what will happen to a job, and when\n"
	"simulate runs the policies on a simulated NIC\n"
	"         without      also run without policies, to compare\n"
	"         log          print the decisions\n"
	"         csv, svg     write latency and knobs over time, draw them (by gnuplot)\n"
	"         hosts        simulate N hosts with different loads\n"
	"         against      compare with the policies of another file\n"
	"         sweep        find the range of each chosen number in which the claim holds\n"
	"         device       signals and knobs of mlx5, of rxe, or all that there are\n"
	"         hurry        divide the times in the file by N\n"
	"         replay       compare what the policies would have done during a recording\n"
	"                      of swiftrdma record with what was done\n"
	"FILE - is standard input. Only 'on DEV' needs the module. See swiftrdma-policy(5).\n",
};
