// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* swiftrdma policy: read, derive and explain policy files; needs no module. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/policy.h"
#include "policy/derive.h"

/* FILE and what may follow it, in any order. */
static const char *const wheres[] = { "here", "anywhere", NULL };

/* As the module has it now. */
static int caps_of(struct cli *cli, const char *name, struct caps *caps)
{
	const struct io_want want = { .devs = true, .ports = true };
	uint32_t index;
	int err = cli_read(cli, &want);

	if (err)
		return err;
	err = view_find_dev(cli, name, &index);
	if (err)
		return err;
	*caps = caps_dev(&cli->snap, view_dev(cli, index));
	return CLI_OK;
}

int policy_file(struct cli *cli, struct args *args, const char **file,
		struct caps *caps)
{
	const char *word;

	*caps = caps_here();
	*file = args_next(args);
	if (!*file)
		return args_bad("which file? As in swiftrdma policy check FILE");
	word = args_peek(args);
	if (!word || strcmp(word, "on"))
		return CLI_OK;
	args_next(args);
	word = args_next(args);
	switch (word ? args_match(wheres, word) : -1) {
	case 0:
		return CLI_OK;
	case 1:
		*caps = caps_all();
		return CLI_OK;
	}
	if (!word)
		return args_bad("on: where? 'here', 'anywhere' or a device");
	return caps_of(cli, word, caps);
}

int policy_load(struct config *cfg, const char *file, const struct caps *caps,
		bool say_warnings)
{
	struct report r;
	bool ok;

	report_init(&r, strcmp(file, "-") ? file : "<stdin>");
	ok = config_load_file_for(cfg, caps, file, &r);
	if (!ok || say_warnings)
		report_print(&r, stderr);
	return ok ? CLI_OK : CLI_ERROR;
}

/* --- check -------------------------------------------------------------------- */

static const struct config *shown;

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
	(void)cli;
	cell_str(c, ((const struct config_policy *)row)->off);
}

static const struct column check_columns[] = {
	{ "policy", "POLICY", 0, COL_LEFT, get_name },
	{ "for", "FOR", 0, COL_LEFT, get_for },
	{ "cause", "CAUSE", 0, COL_LEFT, get_cause },
	{ "do", "DO", 0, COL_LEFT, get_do },
	{ "runs", "RUNS", 0, COL_LEFT, get_runs },
	{ "why", "WHY", 0, COL_LEFT, get_why },
};

/* The most that a tick can cost, by what there is. */
static void say_work(const struct config *cfg)
{
	const struct prog *p = &cfg->policies.prog;
	unsigned int k;

	printf("\nwork of a tick, at most:");
	for (k = 0; k < OBJ_KINDS; k++)
		if (prog_work(p, k))
			printf(" %u instructions for each %s,",
			       prog_work(p, k), vocab_objs[k]);
	printf(" %u comparisons for each qp, %zu for each job\n", p->n_asked,
	       cfg->policies.n);
}

static int check(struct cli *cli, struct args *args)
{
	struct config cfg;
	struct rows rows;
	struct caps caps;
	const char *file;
	int err = policy_file(cli, args, &file, &caps);

	if (!err)
		err = args_end(args);
	if (!err)
		err = policy_load(&cfg, file, &caps, true);
	if (err)
		return err;
	shown = &cfg;
	rows = ROWS(check_columns, cfg.texts, cfg.policies.n);
	err = cli_show(cli, &rows);
	if (!err && !cli->out.json)
		say_work(&cfg);
	config_free(&cfg);
	return err;
}

/* --- compile ------------------------------------------------------------------ */

static int compile(struct cli *cli, struct args *args)
{
	struct config cfg;
	struct caps caps;
	const char *file;
	char *text;
	int err = policy_file(cli, args, &file, &caps);

	if (!err)
		err = args_end(args);
	if (!err)
		err = policy_load(&cfg, file, &caps, false);
	if (err)
		return err;
	if (!cfg.n_ranks) {
		config_free(&cfg);
		args_bad("%s: no 'order:' to derive policies from, as in 'order: kv > bulk'",
			 file);
		return CLI_ERROR;
	}
	text = derive_text(&cfg);
	config_free(&cfg);
	if (!text)
		return cli_no_memory();
	printf("# Derived from the jobs and the order of %s.\n%s", file, text);
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
	if (t->fallback)
		printf("    %s %s\n", t->by_fallback ? "here    " :
						      "or else ",
		       t->fallback);
	printf("    then     %s", t->act);
	say_bounds(p);
	printf("\n    until    %s", t->undo_when);
	if (t->undo_fallback)
		printf(" (where that cannot be told: %s)", t->undo_fallback);
	if (p->undo_hold) {
		printf(", for ");
		say_quantity((double)p->undo_hold, UNIT_TIME);
	}
	printf("; then %s\n", t->undo_act ? t->undo_act :
					    "what the application chose itself");
}

static bool names(const char *text, const char *name)
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

			if (names(t->when, c->name) || names(t->act, c->name) ||
			    names(t->fallback, c->name) ||
			    names(t->undo_when, c->name) ||
			    names(t->undo_fallback, c->name))
				break;
		}
		if (k == cfg->policies.n)
			continue;
		printf(any ? ", %s = " : "\ncriteria: %s = ", c->name);
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

static int explain(struct cli *cli, struct args *args)
{
	struct config cfg;
	struct caps caps;
	const char *file, *job;
	bool found = false;
	size_t i;
	int err = policy_file(cli, args, &file, &caps);

	(void)cli;
	if (err)
		return err;
	job = args_next(args);
	if (job && !strcmp(job, "job"))
		job = args_next(args);
	err = args_end(args);
	if (!err)
		err = policy_load(&cfg, file, &caps, false);
	if (err)
		return err;
	for (i = 0; i < cfg.n_jobs; i++) {
		if (job && strcmp(cfg.jobs[i].name, job))
			continue;
		if (found)
			printf("\n");
		found = true;
		say_job(&cfg, &cfg.jobs[i]);
	}
	if (found)
		say_criteria(&cfg);
	else
		args_bad("%s: no job '%s'", file, job ? job : "");
	config_free(&cfg);
	return found ? CLI_OK : CLI_ERROR;
}

static const struct verb verbs[] = {
	{ "check", check }, { "compile", compile }, { "explain", explain },
	{ "simulate", policy_simulate }, { 0 },
};

const struct noun noun_policy = {
	"policy", verbs,
	"Usage: swiftrdma policy check FILE [ on { here | anywhere | DEV } ]\n"
	"       swiftrdma policy compile FILE\n"
	"       swiftrdma policy explain FILE [ on { here | anywhere | DEV } ] [ JOB ]\n"
	"       swiftrdma policy simulate FILE scenario FILE [ without ] [ log ]\n"
	"                                 [ csv FILE [ svg FILE ] ] [ record FILE ]\n"
	"       swiftrdma policy simulate FILE scenario FILE hosts N [ against FILE ]\n"
	"       swiftrdma policy simulate FILE replay RECORDING\n"
	"\n"
	"check says what is wrong with a file, which of its policies can run, and what\n"
	"a tick costs at most. compile prints the policies that follow from its jobs\n"
	"and order. explain says in words what will happen to a job, and when. simulate\n"
	"runs the policies on a modelled NIC, with 'without' also without them, next to\n"
	"each other; log prints the decisions, csv keeps latency and knobs over time, and\n"
	"svg draws them (by gnuplot). hosts does it for many of them, each with its loads,\n"
	"and against compares with the policies of another file.\n"
	"replay says what they would have done with what swiftrdma record kept, against\n"
	"what was done.\n"
	"FILE - is standard input. None of them needs the module. See\n"
	"swiftrdma-policy(5).\n",
};
