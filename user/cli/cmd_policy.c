// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* swiftrdma policy: check, compile and explain, which print what follows from a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/cmd_policy.h"
#include "policy/derive.h"

/* For the columns: the file that is shown, and on which devices its policies do not run. */
static const struct config *shown;
static char (*notes)[POLICY_NOTE];

/* A row is a policy's text. */
static size_t policy_number(const void *row)
{
	return (size_t)((const struct config_policy *)row - shown->texts);
}

static const void *policy_of(const struct cli *cli, const void *row)
{
	(void)cli;
	return &shown->policies.v[policy_number(row)];
}

#define TEXT(member)		MEMBER(struct config_policy, member)
#define POLICY(member)		.of = policy_of, MEMBER(struct policy, member)
#define JOB(member)		MEMBER(struct config_job, member)
#define JOB_IF(member)		MEMBER_IF(struct config_job, member, member)

GETTER(cause)
{
	enum cause cause = shown->policies.v[policy_number(row)].cause;

	cell_str(c, cause == CAUSE_NONE ? "" : cause_names[cause]);
}

/*
 * "yes"; "idle"; "fallback": only a fallback can be measured; "library": the policy also needs
 * libswiftrdma in a job's processes.
 */
GETTER(runs)
{
	const struct config_policy *t = row;

	cell_str(c, t->off[0] ? "idle" : t->by_fallback ? "fallback" :
		 t->library[0] || t->library_knobs[0] ? "library" : "yes");
	c->tone = t->off[0] ? TONE_WARN : TONE_GOOD;
}

/* --- check ---------------------------------------------------------------------- */

GETTER(why)
{
	const struct config_policy *t = row;
	struct text text;

	if (t->off[0] || (notes && notes[policy_number(row)][0])) {
		cell_str(c, t->off[0] ? t->off : notes[policy_number(row)]);
		return;
	}
	text_init(&text, c->buf, sizeof(c->buf));
	if (t->library[0]) {
		text_str(&text, "libswiftrdma tells ");
		text_str(&text, t->library);
		text_str(&text, t->fallback[0] ? "; else its fallback" : "; else never");
	}
	if (t->library_knobs[0]) {
		text_str(&text, t->library[0] ? "; it enforces " : "libswiftrdma enforces ");
		text_str(&text, t->library_knobs);
	}
	cell_str(c, c->buf);
}

static const struct column check_columns[] = {
	{ "policy", "POLICY", 0, COL_LEFT, POLICY(name) },
	{ "for", "FOR", 0, COL_LEFT, TEXT(who) },
	{ "cause", "CAUSE", 0, COL_LEFT, .get = get_cause },
	{ "do", "DO", 0, COL_LEFT, TEXT(act) },
	{ "runs", "RUNS", 0, COL_LEFT, .get = get_runs },
	{ "why", "WHY", 0, COL_LEFT, .get = get_why },
};

/* How long to measure; long enough for a clock with a resolution of 1 us. */
#define MEASURE_NS	2000000

/* Measures how many ns an instruction of these policies takes for an object, on this host. */
static double instruction_ns(const struct prog *p)
{
	struct prog_lanes lanes = { .kind = OBJ_KINDS, .n = PROG_LANES, .at = { -1, -1, -1, -1, -1 } };
	uint64_t start = cli_now(), n = 0, now;
	struct prog_result out;
	struct signals none;
	struct prog_env env = { .p = p, .s = &none };

	signals_init(&none);
	do {
		for (unsigned int k = 0; k < OBJ_KINDS; k++)
			for (uint32_t i = 0; i < p->n_atoms[k]; i++) {
				prog_run_lanes(&env, p->atoms[k][i].code, &lanes, &out);
				n += p->atoms[k][i].code.n * lanes.n;
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
		uint32_t n = prog_work(p, k) + (k == OBJ_JOB ? (uint32_t)cfg->policies.n : 0);

		if (n)
			printf("%s %.2f us for each %s", total > 0 ? "," : "", n * ns / 1e3,
			       vocab_objs[k]);
		total += n * ns * (k == OBJ_QP ? 10000 : k == OBJ_JOB ? 100 : 1);
	}
	printf("; with 10,000 QPs of 100 jobs %.2f ms of %.0f\n", total / 1e6,
	       (double)cfg->interval / 1e6);
}

static void say_quantity(double v, enum unit unit)
{
	char buf[48];
	struct text t;

	text_init(&t, buf, sizeof(buf));
	vocab_format(&t, v, unit);
	fputs(buf, stdout);
}

/* Prints what the properties of the job make libraries in its processes do. */
static void say_properties(const struct config_job *j)
{
	if (j->chunk) {
		printf("requests of more than ");
		say_quantity(j->chunk, UNIT_BYTES);
		printf(" are split%s", j->huge_pages ? ", " : "");
	}
	if (j->huge_pages)
		printf("memory is collapsed to huge pages");
}

/* The agent sets these for as long as a process of the job has a library that can do them. */
static void say_libraries(const struct config *cfg)
{
	const char *before = "in processes that have libswiftrdma, and no others: ";
	size_t i, chunks = 0, pages = 0;
	bool any;

	for (i = 0; i < cfg->n_jobs; i++) {
		const struct config_job *j = &cfg->jobs[i];

		pages += j->huge_pages;
		if (!j->chunk)
			continue;
		printf("%srequests of %s of more than ", before, j->name);
		say_quantity(j->chunk, UNIT_BYTES);
		printf(" are split");
		before = "; ";
		chunks++;
	}
	if (pages)
		printf("%smemory is collapsed to huge pages (", before);
	any = pages || chunks;
	for (i = 0; pages && i < cfg->n_jobs; i++)
		if (cfg->jobs[i].huge_pages)
			printf("%s%s", cfg->jobs[i].name, --pages ? ", " : ")");
	if (any)
		printf("\n");
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
		say_libraries(&cfg);
		say_work(&cfg);
	}
	free(notes);
	config_free(&cfg);
	return err;
}

/* --- compile -------------------------------------------------------------------- */

/* One string, or a list of strings, as in the file. */
static void cell_states(struct cell *c, char *const *states)
{
	size_t i;

	if (!states[0] || !states[1]) {
		cell_str(c, states[0]);
		return;
	}
	c->kind = CELL_WORDS;
	for (i = 0; states[i]; i++)
		c->words[i] = states[i];
	c->words[i] = NULL;
}

GETTER(fallback)
{
	cell_states(c, ((const struct config_policy *)row)->fallback);
}

GETTER(undo_fallback)
{
	cell_states(c, ((const struct config_policy *)row)->undo_fallback);
}

/* For JSON only. */
static const struct column policy_columns[] = {
	{ "policy", NULL, 0, 0, POLICY(name) },
	{ "for", NULL, 0, 0, TEXT(who) },
	{ "cause", NULL, 0, 0, .get = get_cause },
	{ "when", NULL, 0, 0, TEXT(when) },
	{ "hold_ns", NULL, 0, 0, POLICY(hold) },
	{ "fallback", NULL, 0, 0, .get = get_fallback },
	{ "do", NULL, 0, 0, TEXT(act) },
	{ "undo_when", NULL, 0, 0, TEXT(undo_when) },
	{ "undo_fallback", NULL, 0, 0, .get = get_undo_fallback },
	{ "undo_do", NULL, 0, 0, TEXT(undo_act) },
	{ "because", NULL, 0, 0, TEXT(because) },
	{ "runs", NULL, 0, 0, .get = get_runs },
	{ "library", NULL, 0, 0, TEXT(library) },
	{ "library_knobs", NULL, 0, 0, TEXT(library_knobs) },
	{ "why", NULL, 0, 0, TEXT(off) },
};

static int compile_policy(struct cli *cli, struct args *args)
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
		return cli_fail("%s: no 'order:' to derive policies from, as in 'order: kv > bulk'",
				w.file);
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

/* The first that can be measured here is marked, if the state cannot. */
static void say_fallbacks(const struct config_policy *t)
{
	bool here = t->by_fallback;
	unsigned int i;

	for (i = 0; t->fallback[i]; i++) {
		bool measured = t->lacks[i] == SIGNALS;

		printf("    %s %s\n", here && measured ? "here    " : "or else ", t->fallback[i]);
		if (!measured)
			printf("             (not here: nothing measures %s)\n",
			       vocab_signals[t->lacks[i]].name);
		here &= !measured;
	}
}

static void say_policy(const struct config *cfg, size_t i)
{
	const struct policy *p = &cfg->policies.v[i];
	const struct config_policy *t = &cfg->texts[i];
	unsigned int k;

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
		       t->library, t->fallback[0] ? "" : "; of others this is unknown, and nothing happens");
	if (t->library_knobs[0])
		printf("             of jobs with libswiftrdma in their processes, which enforces %s\n",
		       t->library_knobs);
	say_fallbacks(t);
	printf("    then     %s", t->act);
	say_bounds(p);
	printf("\n    until    %s", t->undo_when);
	for (k = 0; t->undo_fallback[k]; k++)
		printf("%s%s", k ? "; else: " : " (where that is unknown: ", t->undo_fallback[k]);
	if (k)
		printf(")");
	if (p->undo_hold) {
		printf(", for ");
		say_quantity((double)p->undo_hold, UNIT_TIME);
	}
	printf("; then %s\n", t->undo_act ? t->undo_act : "what the application asked for");
}

static bool text_names(const char *text, const char *name)
{
	size_t n = strlen(name);
	const char *s = text;

	while (s && (s = strstr(s, name))) {
		bool before = s > text && (strchr("_.", s[-1]) ||
					   (s[-1] >= 'a' && s[-1] <= 'z'));
		bool after = s[n] == '_' || s[n] == '.' || (s[n] >= 'a' && s[n] <= 'z');

		if (!before && !after)
			return true;
		s += n;
	}
	return false;
}

static bool texts_name(char *const *texts, const char *name)
{
	while (*texts && !text_names(*texts, name))
		texts++;
	return *texts;
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
			    texts_name(t->fallback, c->name) ||
			    text_names(t->undo_when, c->name) ||
			    texts_name(t->undo_fallback, c->name))
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
	if (j->follows)
		printf("\n  always, where the peer of a QP wishes a class level: up to %u, %s\n",
		       j->follow, j->follows_order ? "which the order allows" : "as the file says");
	if (!j->chunk && !j->huge_pages)
		return;
	printf("\n  always, in processes with libswiftrdma: ");
	say_properties(j);
	printf("\n");
}

GETTER(class)
{
	cell_str(c, vocab_word_name(UNIT_CLASS, ((const struct config_job *)row)->class));
}

static bool is_for(const struct cli *cli, const void *row, const void *arg)
{
	const struct config_job *j = arg;

	(void)cli;
	return policy_applies(&shown->policies.v[policy_number(row)], j->name, j->class);
}

GETTER(policies)
{
	cell_table(c, ROWS(policy_columns, shown->texts, shown->policies.n));
	c->table.want = is_for;
	c->table.arg = row;
}

/* For JSON only. */
static const struct column job_columns[] = {
	{ "job", NULL, 0, 0, JOB(name) },
	{ "class", NULL, 0, 0, .get = get_class },
	{ "slo_p99_ns", NULL, 0, 0, JOB_IF(slo_p99) },
	{ "slo_bit_rate", NULL, 0, 0, JOB_IF(slo_byte_rate) },
	{ "rank", NULL, 0, 0, JOB_IF(rank) },
	{ "follow", NULL, 0, 0, MEMBER_IF(struct config_job, follow, follows) },
	{ "chunk", NULL, 0, 0, JOB_IF(chunk) },
	{ "huge_pages", NULL, 0, 0, JOB(huge_pages) },
	{ "policies", NULL, 0, 0, .get = get_policies },
};

static bool is_named_job(const struct cli *cli, const void *row, const void *name)
{
	(void)cli;
	return !name || !strcmp(((const struct config_job *)row)->name, name);
}

static int explain_policy(struct cli *cli, struct args *args)
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
		n += is_named_job(cli, &cfg.jobs[i], job);
	if (!n) {
		config_free(&cfg);
		return job ? cli_fail("%s: no job '%s'", w.file, job) :
		       cli_fail("%s: the file has no 'jobs:', so there is nothing to explain",
				w.file);
	}
	if (cli->out.json) {
		shown = &cfg;
		rows = ROWS(job_columns, cfg.jobs, cfg.n_jobs);
		rows.want = is_named_job;
		rows.arg = job;
		err = cli_show(cli, &rows);
	} else {
		for (i = 0; i < cfg.n_jobs; i++) {
			if (!is_named_job(cli, &cfg.jobs[i], job))
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

static const struct verb verbs[] = {
	{ "check", check_policy }, { "compile", compile_policy }, { "explain", explain_policy },
	{ "simulate", policy_simulate }, { 0 },
};

static const struct noun_table check_table = NOUN_TABLE("policy.check", check_columns);
static const struct noun_table compile_table = NOUN_TABLE("policy.compile", policy_columns);
static const struct noun_table explain_table = NOUN_TABLE("policy.explain", job_columns);
static const struct noun_table *const tables[] = {
	&check_table, &compile_table, &explain_table, &policy_simulate_table,
	&policy_sweep_table, &policy_hosts_table, &policy_replay_table, NULL,
};

const struct noun noun_policy = {
	.name = "policy",
	.verbs = verbs,
	.help =
	"Usage: swiftrdma policy check FILE [ on { here | anywhere | DEV } ]\n"
	"       swiftrdma policy compile FILE [ on { here | anywhere | DEV } ]\n"
	"       swiftrdma policy explain FILE [ JOB ] [ on { here | anywhere | DEV } ]\n"
	"       swiftrdma policy simulate FILE scenario FILE [ without ] [ log ]\n"
	"                                 [ csv FILE [ svg FILE ] ] [ record FILE ]\n"
	"                                 [ device { mlx5 | mlx5-library | rxe | all } ] [ hurry N ]\n"
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
	"         device       signals and knobs of mlx5, alone or with libswiftrdma, of\n"
	"                      rxe, or all that there are\n"
	"         hurry        divide the times in the file by N\n"
	"         replay       compare what the policies would have done during a recording\n"
	"                      of swiftrdma record with what was done\n"
	"FILE - is standard input. Only 'on DEV' needs the module. See swiftrdma-policy(5).\n",
	.tables = tables,
};
