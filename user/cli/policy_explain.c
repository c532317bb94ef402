// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* swiftrdma policy compile and explain: print the policies that follow from a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/cmd_policy.h"
#include "policy/derive.h"

/* For the columns: the file whose policies are shown. */
static const struct config *shown;

#define TEXT(name, value)						\
	static void get_##name(const struct cli *cli, const void *row,	\
			       struct cell *c)				\
	{								\
		const struct config_policy *t = row;			\
		const struct policy *p = &shown->policies.v[t - shown->texts]; \
									\
		(void)cli;						\
		(void)p;						\
		cell_str(c, value);					\
	}

TEXT(name, p->name)
TEXT(for, t->who)
TEXT(cause, p->cause == CAUSE_NONE ? "" : cause_names[p->cause])
TEXT(when, t->when)
TEXT(fallback, t->fallback)
TEXT(do, t->act)
TEXT(undo_when, t->undo_when)
TEXT(undo_fallback, t->undo_fallback)
TEXT(undo_do, t->undo_act)
TEXT(because, t->because)
TEXT(runs, policy_runs(t))
TEXT(library, t->library)
TEXT(library_knobs, t->library_knobs)
TEXT(why, t->off)

static void get_hold(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_u64(c, shown->policies.v[(const struct config_policy *)row - shown->texts].hold);
}

static const struct column policy_columns[] = {
	{ "policy", "POLICY", 0, COL_LEFT, get_name },
	{ "for", "FOR", 0, COL_LEFT, get_for },
	{ "cause", "CAUSE", 0, COL_LEFT, get_cause },
	{ "when", "WHEN", 0, COL_LEFT, get_when },
	{ "hold_ns", "HOLD", SHOW_TIME, 0, get_hold },
	{ "fallback", "FALLBACK", 0, COL_LEFT, get_fallback },
	{ "do", "DO", 0, COL_LEFT, get_do },
	{ "undo_when", "UNDO", 0, COL_LEFT, get_undo_when },
	{ "undo_fallback", "UNDO_FALLBACK", 0, COL_LEFT, get_undo_fallback },
	{ "undo_do", "UNDO_DO", 0, COL_LEFT, get_undo_do },
	{ "because", "BECAUSE", 0, COL_LEFT, get_because },
	{ "runs", "RUNS", 0, COL_LEFT, get_runs },
	{ "library", "LIBRARY", 0, COL_LEFT, get_library },
	{ "library_knobs", "LIBRARY-KNOBS", 0, COL_LEFT, get_library_knobs },
	{ "why", "WHY", 0, COL_LEFT, get_why },
};

int policy_compile(struct cli *cli, struct args *args)
{
	struct policy_target w;
	struct config cfg;
	struct rows rows;
	char *text;
	int err = policy_target(cli, args, &w, NULL);

	if (!err)
		err = policy_judge(&cfg, &w, false, NULL);
	if (err)
		return err;
	if (!cfg.n_ranks) {
		config_free(&cfg);
		args_bad("%s: no 'order:' to derive policies from, as in 'order: kv > bulk'",
			 w.file);
		return CLI_ERROR;
	}
	if (cli->out.json) {
		shown = &cfg;
		rows = ROWS(policy_columns, cfg.texts, cfg.policies.n);
		err = cli_show(cli, &rows);
		config_free(&cfg);
		return err;
	}
	text = derive_text(&cfg);
	config_free(&cfg);
	if (!text)
		return cli_no_memory();
	printf("# Derived from the jobs and the order of %s.\n%s", w.file, text);
	free(text);
	return CLI_OK;
}

/* --- explain ------------------------------------------------------------------ */

static void say_quantity(double v, enum unit unit)
{
	char buf[48];
	struct text t;

	text_init(&t, buf, sizeof(buf));
	vocab_format(&t, v, unit);
	fputs(buf, stdout);
}

static void say_bounds(const struct policy *p)
{
	unsigned int i;

	for (i = 0; i < p->n_act; i++) {
		const struct step *s = &p->act[i];
		const struct vocab_knob *k = vocab_knob(s->knob);

		if (s->ceiling < k->max && s->op != STEP_SET) {
			printf(", up to ");
			say_quantity(s->ceiling, k->unit);
		}
		if (s->floor > k->min && s->op != STEP_SET) {
			printf(", down to ");
			say_quantity(s->floor, k->unit);
		}
	}
	printf(", a step every ");
	say_quantity((double)p->cooldown, UNIT_TIME);
	if (p->max_steps)
		printf(", %u steps at most", p->max_steps);
	if (p->rate > 0)
		printf(", %g a second over all jobs", p->rate);
}

static void say_policy(const struct config *cfg, size_t i)
{
	const struct policy *p = &cfg->policies.v[i];
	const struct config_policy *t = &cfg->texts[i];

	printf("\n  %s", p->name);
	if (t->because[0])
		printf(", because %s", t->because);
	printf("\n");
	if (t->off[0])
		printf("    idle     %s\n", t->off);
	printf("    when     %s\n", t->when);
	if (p->hold) {
		printf("             for ");
		say_quantity((double)p->hold, UNIT_TIME);
		printf(" without a break\n");
	}
	if (t->library[0])
		printf("             of jobs with libswiftrdma in their processes, which tells %s%s\n",
		       t->library, t->fallback ? "" : "; of others this is unknown, and nothing happens");
	if (t->library_knobs[0])
		printf("             of jobs with libswiftrdma in their processes, which enforces %s\n",
		       t->library_knobs);
	if (t->fallback)
		printf("    %s %s\n", t->by_fallback ? "here    " :
						      "or else ",
		       t->fallback);
	printf("    then     %s", t->act);
	say_bounds(p);
	printf("\n    until    %s", t->undo_when);
	if (t->undo_fallback)
		printf(" (where that is unknown: %s)", t->undo_fallback);
	if (p->undo_hold) {
		printf(", for ");
		say_quantity((double)p->undo_hold, UNIT_TIME);
	}
	printf("; then %s\n", t->undo_act ? t->undo_act :
					    "what the application asked for");
}

static bool text_names(const char *text, const char *name)
{
	size_t n = strlen(name);
	const char *s = text;

	while (s && (s = strstr(s, name))) {
		bool before = s > text && (strchr("_.", s[-1]) ||
					   (s[-1] >= 'a' && s[-1] <= 'z'));
		bool after = s[n] == '_' || s[n] == '.' ||
			     (s[n] >= 'a' && s[n] <= 'z');

		if (!before && !after)
			return true;
		s += n;
	}
	return false;
}

static void say_criteria(const struct config *cfg)
{
	bool any = false;
	size_t i, k;

	for (i = 0; i < cfg->criteria.n; i++) {
		const struct criterion *c = &cfg->criteria.v[i];

		for (k = 0; k < cfg->policies.n; k++) {
			const struct config_policy *t = &cfg->texts[k];

			if (text_names(t->when, c->name) || text_names(t->act, c->name) ||
			    text_names(t->fallback, c->name) ||
			    text_names(t->undo_when, c->name) ||
			    text_names(t->undo_fallback, c->name))
				break;
		}
		if (k == cfg->policies.n)
			continue;
		printf(any ? ", %s = " : "criteria: %s = ", c->name);
		say_quantity(c->v, c->unit);
		any = true;
	}
	if (any)
		printf("\n");
}

static void say_job(const struct config *cfg, const struct config_job *j)
{
	size_t i, n = 0;

	printf("%s: %s", j->name, vocab_word_name(UNIT_CLASS, j->class));
	if (j->slo_p99) {
		printf(", p99 <= ");
		say_quantity((double)j->slo_p99, UNIT_TIME);
	}
	if (j->slo_byte_rate > 0) {
		printf(", at least ");
		say_quantity(j->slo_byte_rate, UNIT_BITRATE);
	}
	if (j->rank)
		printf(", number %u in the order", j->rank);
	printf("\n");
	for (i = 0; i < cfg->policies.n; i++) {
		if (!policy_applies(&cfg->policies.v[i], j->name, j->class))
			continue;
		say_policy(cfg, i);
		n++;
	}
	if (!n)
		printf("  nothing happens to it\n");
}

/* --- the same as JSON --- */

static void get_job(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_str(c, ((const struct config_job *)row)->name);
}

static void get_class(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	cell_str(c, vocab_word_name(UNIT_CLASS, ((const struct config_job *)row)->class));
}

static void get_p99(const struct cli *cli, const void *row, struct cell *c)
{
	const struct config_job *j = row;

	(void)cli;
	if (j->slo_p99)
		cell_u64(c, j->slo_p99);
}

static void get_rate(const struct cli *cli, const void *row, struct cell *c)
{
	const struct config_job *j = row;

	(void)cli;
	if (j->slo_byte_rate > 0)
		cell_real(c, j->slo_byte_rate);
}

static void get_rank(const struct cli *cli, const void *row, struct cell *c)
{
	const struct config_job *j = row;

	(void)cli;
	if (j->rank)
		cell_u64(c, j->rank);
}

static bool is_for(const struct cli *cli, const void *row, const void *arg)
{
	const struct config_policy *t = row;
	const struct config_job *j = arg;

	(void)cli;
	return policy_applies(&shown->policies.v[t - shown->texts], j->name, j->class);
}

static void get_policies(const struct cli *cli, const void *row, struct cell *c)
{
	(void)cli;
	c->kind = CELL_TABLE;
	c->table = ROWS(policy_columns, shown->texts, shown->policies.n);
	c->table.want = is_for;
	c->table.arg = row;
}

static const struct column job_columns[] = {
	{ "job", "JOB", 0, COL_LEFT, get_job },
	{ "class", "CLASS", 0, COL_LEFT, get_class },
	{ "slo_p99_ns", "P99", SHOW_TIME, 0, get_p99 },
	{ "slo_bit_rate", "RATE", SHOW_BITRATE, 0, get_rate },
	{ "rank", "RANK", 0, 0, get_rank },
	{ "policies", "", 0, 0, get_policies },
};

static bool is_named(const struct cli *cli, const void *row, const void *name)
{
	(void)cli;
	return !name || !strcmp(((const struct config_job *)row)->name, name);
}

int policy_explain(struct cli *cli, struct args *args)
{
	struct policy_target w;
	struct config cfg;
	struct rows rows;
	const char *job;
	size_t i, n = 0;
	int err = policy_target(cli, args, &w, &job);

	if (!err)
		err = policy_judge(&cfg, &w, false, NULL);
	if (err)
		return err;
	for (i = 0; i < cfg.n_jobs; i++)
		n += is_named(cli, &cfg.jobs[i], job);
	if (!n) {
		if (job)
			args_bad("%s: no job '%s'", w.file, job);
		else
			args_bad("%s: the file has no 'jobs:', so there is nothing to explain", w.file);
		config_free(&cfg);
		return CLI_ERROR;
	}
	if (cli->out.json) {
		shown = &cfg;
		rows = ROWS(job_columns, cfg.jobs, cfg.n_jobs);
		rows.want = is_named;
		rows.arg = job;
		err = cli_show(cli, &rows);
	} else {
		for (i = 0; i < cfg.n_jobs; i++) {
			if (!is_named(cli, &cfg.jobs[i], job))
				continue;
			say_job(&cfg, &cfg.jobs[i]);
			printf("\n");
		}
		say_criteria(&cfg);
		printf("checked for %s\n", w.text);
	}
	config_free(&cfg);
	return err;
}
