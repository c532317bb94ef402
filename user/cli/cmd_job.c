// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "cli/cli.h"

#define ORDER_DEFAULT	100

#define GETTER(prefix, name)						\
	static void prefix##_##name(const struct cli *cli,		\
				    const void *row, struct cell *c)

#define RULE_STR(name)							\
	GETTER(rule, name)						\
	{								\
		(void)cli;						\
		cell_str(c, ((const struct snap_rule *)row)->name);	\
	}

RULE_STR(origin)
RULE_STR(cgroup)
RULE_STR(comm)
RULE_STR(exe)

GETTER(rule, order)
{
	(void)cli;
	cell_u64(c, ((const struct snap_rule *)row)->order);
}

GETTER(rule, uid)
{
	const struct snap_rule *rule = row;

	(void)cli;
	if (rule->has_uid)
		cell_u64(c, rule->uid);
}

GETTER(rule, pid)
{
	const struct snap_rule *rule = row;

	(void)cli;
	if (rule->has_pid)
		cell_u64(c, rule->pid);
}

GETTER(rule, matches)
{
	(void)cli;
	cell_u64(c, ((const struct snap_rule *)row)->matches);
}

static const struct column rule_columns[] = {
	{ "order", "ORDER", 0, 0, rule_order },
	{ "origin", "ORIGIN", 0, COL_LEFT, rule_origin },
	{ "matches", "MATCHES", 0, 0, rule_matches },
	{ "uid", "UID", 0, 0, rule_uid },
	{ "pid", "PID", 0, 0, rule_pid },
	{ "comm", "COMM", 0, COL_LEFT, rule_comm },
	{ "exe", "EXE", 0, COL_LEFT, rule_exe },
	{ "cgroup", "CGROUP", 0, COL_LEFT, rule_cgroup },
};

#define STAT(name, bit)							\
	GETTER(stat, name)						\
	{								\
		const struct snap_job_stat *stat = row;			\
									\
		(void)cli;						\
		if ((bit) == 0 || snap_has(stat, bit))			\
			cell_u64(c, stat->name);			\
	}

STAT(qps, 0)
STAT(created, 0)
STAT(destroyed, 0)
STAT(moved, 0)
STAT(rejected, 0)
STAT(doorbells, SNAP_DOORBELLS)
STAT(wrs, SNAP_WRS)
STAT(level, SNAP_LEVEL)
STAT(max_qps, SNAP_MAX_QPS)
STAT(create_rate, SNAP_CREATE_RATE)
STAT(bit_rate, SNAP_BIT_RATE)
STAT(wr_rate, SNAP_WR_RATE)
STAT(credits, SNAP_CREDITS)
STAT(mrs, SNAP_MRS)
STAT(mr_bytes, SNAP_MRS)
STAT(mtts, SNAP_MTTS)
STAT(mtts_unknown, SNAP_MTTS)
STAT(mr_page_min, SNAP_MR_PAGES)
STAT(mr_page_max, SNAP_MR_PAGES)
STAT(creates, SNAP_COMMANDS)
STAT(modifies, SNAP_COMMANDS)
STAT(commands, SNAP_COMMANDS)
STAT(command_time, SNAP_COMMANDS)

GETTER(stat, dev)
{
	view_dev_name(cli, ((const struct snap_job_stat *)row)->dev, c);
}

GETTER(stat, wr_unit)
{
	const struct snap_job_stat *st = row;

	if (snap_has(st, SNAP_WRS))
		view_wr_unit(cli, st->dev, c);
}

/* The job of a row of struct snap_job_stat. */
static const struct snap_job_report *report_of_stat(const struct cli *cli, const void *row)
{
	const struct snap_job_stat *st = row;

	for (size_t i = 0; i < cli->snap.n_jobs; i++) {
		const struct snap_job *job = &cli->snap.jobs[i];

		if (st >= job->stats && st < job->stats + job->n_stats)
			return view_job_report(cli, job->id, st->dev);
	}
	return NULL;
}

#define REPORT(name, value)						\
	GETTER(stat, name)						\
	{								\
		const struct snap_job_report *r = report_of_stat(cli, row); \
									\
		if (r)							\
			cell_u64(c, r->value);				\
	}

REPORT(library_processes, processes)
REPORT(reported_wrs, sum.wrs)
REPORT(reported_bytes, sum.bytes)
REPORT(latency_samples, sum.samples)

/* Of all knobs that libraries enforce: how long posts were held; false: there is no such knob. */
static bool sum_held(const struct cli *cli, const void *row, struct snap_held *sum)
{
	const struct snap_job_report *r = report_of_stat(cli, row);

	*sum = (struct snap_held){ 0 };
	for (uint32_t i = 0; r && i < r->n_held; i++) {
		sum->posts += r->held[i].posts;
		sum->wrs += r->held[i].wrs;
		sum->time += r->held[i].time;
		sum->passed += r->held[i].passed;
	}
	return r && r->n_held;
}

#define HELD(name)							\
	GETTER(stat, held_##name)					\
	{								\
		struct snap_held sum;					\
									\
		if (sum_held(cli, row, &sum))				\
			cell_u64(c, sum.name);				\
	}

HELD(posts)
HELD(wrs)
HELD(passed)
HELD(time)

/* The part of the time since the last reading that posts were held for, over all threads. */
GETTER(stat, held)
{
	const struct snap_job_report *r = report_of_stat(cli, row), *old;
	uint64_t is = 0, was = 0;

	old = r && cli->out.rates ? view_older_report(cli, r) : NULL;
	if (!old || !r->n_held || r->sum.time <= old->sum.time)
		return;
	for (uint32_t i = 0; i < r->n_held; i++)
		is += r->held[i].time;
	for (uint32_t i = 0; i < old->n_held; i++)
		was += old->held[i].time;
	if (is >= was)
		cell_real(c, (double)(is - was) / (double)(r->sum.time - old->sum.time));
}

/* Processes of the job in which a knob is in force, and those that can enforce it. */
GETTER(stat, held_by)
{
	const struct snap_job_report *r = report_of_stat(cli, row);
	uint32_t able = 0, in_force = 0;

	for (uint32_t i = 0; r && i < r->n_held; i++) {
		able = r->held[i].processes > able ? r->held[i].processes : able;
		in_force = r->held[i].in_force > in_force ? r->held[i].in_force : in_force;
	}
	if (!able)
		return;
	snprintf(c->buf, sizeof(c->buf), "%u/%u", in_force, able);
	cell_str(c, c->buf);
}

GETTER(stat, latency)
{
	const struct snap_job_report *r = report_of_stat(cli, row);

	if (r && r->sum.latency_wrs)
		cell_real(c, (double)r->sum.latency_sum / (double)r->sum.latency_wrs);
}

GETTER(stat, latency_max)
{
	const struct snap_job_report *r = report_of_stat(cli, row);

	if (r && r->sum.samples)
		cell_u64(c, r->sum.latency_max);
}

GETTER(stat, distrusted)
{
	const struct snap_job_report *r = report_of_stat(cli, row);

	cell_flag(c, r && r->distrusted);
	c->tone = TONE_BAD;
}

static const struct column stat_columns[] = {
	{ "dev", "DEV", 0, COL_LEFT, stat_dev },
	{ "qps", "QPS", 0, 0, stat_qps },
	{ "created", "CREATED", 0, 0, stat_created },
	{ "destroyed", "DESTROYED", 0, 0, stat_destroyed },
	{ "moved", "MOVED", 0, 0, stat_moved },
	{ "rejected", "REJECTED", 0, 0, stat_rejected },
	{ "doorbells", "DOORBELLS", 0, 0, stat_doorbells },
	{ "wrs", "WRS", 0, COL_WRS, stat_wrs },
	{ "wr_unit", NULL, 0, COL_JSON, stat_wr_unit },
	{ "level", "LEVEL", 0, 0, stat_level },
	{ "max_qps", "MAX-QPS", 0, 0, stat_max_qps },
	{ "create_rate", "CREATE/s", SHOW_RATE, 0, stat_create_rate },
	{ "bit_rate", "BIT-RATE", SHOW_BITRATE, 0, stat_bit_rate },
	{ "wr_rate", "WR-RATE", SHOW_RATE, 0, stat_wr_rate },
	{ "credits", "CREDITS", 0, 0, stat_credits },
	{ "enforced_by", "ENFORCED-BY", 0, COL_LEFT, stat_held_by },
	{ "held", "HELD", SHOW_RATIO, 0, stat_held },
	{ "held_time", "HELD-TIME", SHOW_TIME, 0, stat_held_time },
	{ "held_posts", NULL, 0, COL_JSON, stat_held_posts },
	{ "held_wrs", NULL, 0, COL_JSON, stat_held_wrs },
	{ "held_passed", NULL, 0, COL_JSON, stat_held_passed },
	{ "mrs", "MRS", 0, 0, stat_mrs },
	{ "mr_bytes", "MR-BYTES", SHOW_BYTES, 0, stat_mr_bytes },
	{ "mtts", "MTTS", 0, 0, stat_mtts },
	{ "mtts_unknown", NULL, 0, COL_JSON, stat_mtts_unknown },
	{ "mr_page_min", NULL, SHOW_BYTES, COL_JSON, stat_mr_page_min },
	{ "mr_page_max", "MR-PAGE", SHOW_BYTES, 0, stat_mr_page_max },
	{ "library_processes", "LIB-PROCS", 0, 0, stat_library_processes },
	{ "latency", "LATENCY", SHOW_TIME, 0, stat_latency },
	{ "latency_max", "LAT-MAX", SHOW_TIME, 0, stat_latency_max },
	{ "latency_samples", NULL, 0, COL_JSON, stat_latency_samples },
	{ "reported_wrs", "LIB-WRS", 0, 0, stat_reported_wrs },
	{ "reported_bytes", "LIB-BYTES", SHOW_BYTES, 0, stat_reported_bytes },
	{ "distrusted", "DISTRUSTED", 0, COL_LEFT | COL_DETAIL, stat_distrusted },
	{ "creates", "CREATES", 0, COL_DETAIL, stat_creates },
	{ "modifies", "MODIFIES", 0, COL_DETAIL, stat_modifies },
	{ "commands", "COMMANDS", 0, COL_DETAIL, stat_commands },
	{ "command_time", "CMD-TIME", SHOW_TIME, COL_DETAIL, stat_command_time },
};

GETTER(get, job)
{
	(void)cli;
	cell_str(c, ((const struct snap_job *)row)->name);
}

GETTER(get, id)
{
	(void)cli;
	cell_u64(c, ((const struct snap_job *)row)->id);
}

GETTER(get, class)
{
	const struct snap_job *job = row;

	(void)cli;
	if (job->class != SWIFTRDMA_JOB_CLASS_NONE)
		view_word(UNIT_CLASS, job->class, c);
}

GETTER(get, qps)
{
	const struct snap_job *job = row;
	uint64_t qps = 0;

	(void)cli;
	for (size_t i = 0; i < job->n_stats; i++)
		qps += job->stats[i].qps;
	cell_u64(c, qps);
}

#define SIGNAL(name, id)						\
	GETTER(get, name)						\
	{								\
		view_signal(cli, SIG_JOB_##id,				\
			    (const struct snap_job *)row - cli->snap.jobs, c); \
	}

SIGNAL(wr_rate, WR_RATE)
SIGNAL(byte_rate, BYTE_RATE)
SIGNAL(slo_p99, SLO_P99)
SIGNAL(doorbell_rate, DOORBELL_RATE)
SIGNAL(creates, CREATES)
SIGNAL(modifies, MODIFIES)
SIGNAL(command_time, COMMAND_TIME)
SIGNAL(queue_latency, LATENCY)

#define QUANTILE(name, q)						\
	GETTER(get, name)						\
	{								\
		struct signal_quantile of;				\
									\
		if (view_quantile(cli, row, q, &of) && of.has)		\
			cell_real(c, of.ns);				\
	}								\
									\
	GETTER(get, name##_samples)					\
	{								\
		struct signal_quantile of;				\
									\
		if (view_quantile(cli, row, q, &of))			\
			cell_u64(c, of.samples);			\
	}								\
									\
	GETTER(get, name##_needs)					\
	{								\
		struct signal_quantile of;				\
									\
		if (view_quantile(cli, row, q, &of))			\
			cell_u64(c, view_samples_needed(q));		\
	}

QUANTILE(p50, 0.5)
QUANTILE(p99, 0.99)

/* "1204/1000": those that p99 rests on, and those that it takes. */
GETTER(get, samples)
{
	struct signal_quantile of;

	if (!view_quantile(cli, row, 0.99, &of))
		return;
	snprintf(c->buf, sizeof(c->buf), "%llu/%llu", (unsigned long long)of.samples,
		 (unsigned long long)view_samples_needed(0.99));
	cell_str(c, c->buf);
}

/* Is the target met? Absent without a target, or a p99. */
GETTER(get, slo_met)
{
	struct signal_quantile of;
	double slo;

	if (!view_quantile(cli, row, 0.99, &of) || !of.has ||
	    !signal_get(&cli->sig, SIG_JOB_SLO_P99,
			(size_t)((const struct snap_job *)row - cli->snap.jobs), &slo))
		return;
	cell_str(c, of.ns <= slo ? "yes" : "no");
	c->tone = of.ns <= slo ? TONE_GOOD : TONE_BAD;
}

GETTER(get, rules)
{
	const struct snap_job *job = row;

	(void)cli;
	c->kind = CELL_TABLE;
	c->table = ROWS(rule_columns, job->rules, job->n_rules);
}

GETTER(get, devs)
{
	const struct snap_job *job = row;

	(void)cli;
	c->kind = CELL_TABLE;
	c->table = ROWS(stat_columns, job->stats, job->n_stats);
}

GETTER(get, since)
{
	(void)cli;
	cell_u64(c, ((const struct snap_job *)row)->since);
}

GETTER(get, time)
{
	(void)cli;
	cell_u64(c, ((const struct snap_job *)row)->time);
}

static const struct column columns[] = {
	{ "job", "JOB", 0, COL_LEFT, get_job },
	{ "id", "ID", 0, 0, get_id },
	{ "class", "CLASS", 0, COL_LEFT, get_class },
	{ "qps", "QPS", 0, 0, get_qps },
	{ "wr_rate", "WR/s", SHOW_RATE, COL_RATE | COL_WRS, get_wr_rate },
	{ "byte_rate", "DATA", SHOW_BITRATE, COL_RATE, get_byte_rate },
	{ "doorbell_rate", "DB/s", SHOW_RATE, COL_RATE, get_doorbell_rate },
	{ "p50", "P50", SHOW_TIME, 0, get_p50 },
	{ "p99", "P99", SHOW_TIME, 0, get_p99 },
	{ "samples", "SAMPLES", 0, COL_TEXT, get_samples },
	{ "p50_samples", NULL, 0, COL_JSON, get_p50_samples },
	{ "p50_needs", NULL, 0, COL_JSON, get_p50_needs },
	{ "p99_samples", NULL, 0, COL_JSON, get_p99_samples },
	{ "p99_needs", NULL, 0, COL_JSON, get_p99_needs },
	{ "slo_p99", "SLO-P99", SHOW_TIME, 0, get_slo_p99 },
	{ "slo_met", "MET", 0, COL_LEFT, get_slo_met },
	{ "creates", "CREATES/s", SHOW_RATE, COL_RATE, get_creates },
	{ "modifies", "MODIFIES/s", SHOW_RATE, COL_RATE, get_modifies },
	{ "command_time", "CMD-TIME", SHOW_TIME, COL_RATE, get_command_time },
	{ "queue_latency", "Q-LATENCY", SHOW_TIME, COL_RATE, get_queue_latency },
	{ "rules", NULL, 0, 0, get_rules },
	{ "devs", NULL, 0, 0, get_devs },
	{ "since", NULL, 0, COL_JSON, get_since },
	{ "time", NULL, 0, COL_JSON, get_time },
};

struct rows job_rows(const struct snapshot *snap)
{
	return ROWS(columns, snap->jobs, snap->n_jobs);
}

static bool is_named(const struct cli *cli, const void *row, const void *arg)
{
	(void)cli;
	return !arg || !strcmp(((const struct snap_job *)row)->name, arg);
}

/* @figures: with what libraries told. */
static int read_jobs(struct cli *cli, bool figures)
{
	struct io_want want = {
		.devs = true, .jobs = true, .cached = { .devs = true },
		/* Rates by libraries are told if no process with a QP is without one. */
		.reports = figures, .qps = figures,
		/* A job's latency is that of its QPs. */
		.outstanding = cli->interval_ms,
	};
	int err = cli_read(cli, &want);

	if (!err && !cli->snap.admin) {
		fputs("swiftrdma: reading jobs needs CAP_NET_ADMIN (root)\n",
		      stderr);
		return CLI_ERROR;
	}
	return err;
}

static const struct snap_job *find_job(const struct cli *cli, const char *name)
{
	for (size_t i = 0; i < cli->snap.n_jobs; i++)
		if (is_named(cli, &cli->snap.jobs[i], name))
			return &cli->snap.jobs[i];
	return NULL;
}

static int show_jobs(struct cli *cli, struct args *args)
{
	const char *name = args_next(args);
	struct rows rows;
	int err = args_end(args);

	if (!err)
		err = read_jobs(cli, true);
	if (err)
		return err;
	if (name && !find_job(cli, name)) {
		fprintf(stderr, "swiftrdma: no job '%s'\n", name);
		return CLI_ERROR;
	}
	rows = job_rows(&cli->snap);
	rows.want = is_named;
	rows.arg = name;
	return cli_show(cli, &rows);
}

/* One "key=value" of a rule. */
static int parse_condition(struct snap_rule *rule, const char *key,
			   const char *value)
{
	static const char *const keys[] = {
		"cgroup", "comm", "exe", "uid", "pid", "order", NULL,
	};
	char *word[] = { (char *)value };
	struct args one = { word, 1 };

	switch (args_match(keys, key)) {
	case 0:
		if (*value && *value != '/' && *value != '*')
			return args_bad("cgroup: '%s' matches no path; a path begins with '/', as in /kv/*",
					value);
		return args_str(&one, "cgroup", rule->cgroup,
				sizeof(rule->cgroup));
	case 1:
		return args_str(&one, "comm", rule->comm, sizeof(rule->comm));
	case 2:
		if (strchr(value, '/'))
			return args_bad("exe: '%s' is a path; exe is the last part of it",
					value);
		return args_str(&one, "exe", rule->exe, sizeof(rule->exe));
	case 3:
		rule->has_uid = true;
		return args_u32(&one, "uid", UINT32_MAX - 1, &rule->uid);
	case 4:
		rule->has_pid = true;
		return args_u32(&one, "pid", INT32_MAX, &rule->pid);
	case 5:
		return args_u32(&one, "order", UINT32_MAX, &rule->order);
	}
	return args_bad("'%s' is not a condition; conditions are cgroup, comm, exe, uid and pid",
			key);
}

/* "cgroup=GLOB,uid=N"; a backslash keeps a comma. */
static int rule_parse(const char *s, struct snap_rule *rule)
{
	char buf[512], *value;
	size_t n;
	int err;

	while (*s) {
		for (n = 0; *s && *s != ','; s++) {
			if (*s == '\\' && s[1] == ',')
				s++;
			if (n + 1 >= sizeof(buf))
				return args_bad("match: a condition is too long");
			buf[n++] = *s;
		}
		buf[n] = '\0';
		s += *s == ',';
		value = strchr(buf, '=');
		if (!value)
			return args_bad("match: '%s' should be KEY=VALUE, as in uid=1000",
					buf);
		*value++ = '\0';
		err = parse_condition(rule, buf, value);
		if (err)
			return err;
	}
	if (!rule->cgroup[0] && !rule->comm[0] && !rule->exe[0] &&
	    !rule->has_uid && !rule->has_pid)
		return args_bad("match: at least one condition is needed, as in cgroup=/kv/*");
	return CLI_OK;
}

/* The kernel has the same limit, but its error does not name it. */
static int check_name(const char *name)
{
	static const char good[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
	size_t n = strlen(name);

	if (n && n < SWIFTRDMA_NAME_LEN && strspn(name, good) == n)
		return CLI_OK;
	return args_bad("'%s' is not a valid job name: use 1 to %d of A-Z a-z 0-9 _ . -",
			name, SWIFTRDMA_NAME_LEN - 1);
}

struct job_args {
	const char *name;
	bool has_class;
	double class;
	struct snap_rule *rules;	/* room for SWIFTRDMA_RULES_MAX */
	size_t n_rules;
};

static int job_rule(struct args *args, struct job_args *job, uint32_t order)
{
	struct snap_rule *rule;
	const char *s;

	if (job->n_rules == SWIFTRDMA_RULES_MAX)
		return args_bad("a job has at most %d rules",
				SWIFTRDMA_RULES_MAX);
	if (args_value(args, "match", &s))
		return CLI_USAGE;
	rule = &job->rules[job->n_rules++];
	rule->order = order;
	return rule_parse(s, rule);
}

/* An order belongs to the match before it; before the first match it is the default. */
static int job_parse(struct args *args, struct job_args *job)
{
	static const char *const keywords[] = {
		"class", "match", "order", NULL,
	};
	uint32_t order = ORDER_DEFAULT;
	const char *s;
	int err = 0;

	while (args_left(args) && !err) {
		const char *word = args_next(args);

		switch (args_match(keywords, word)) {
		case 0:
			if (args_value(args, "class", &s))
				return CLI_USAGE;
			job->has_class = true;
			if (vocab_word(UNIT_CLASS, s, strlen(s), &job->class))
				return args_bad("class: '%s' is not %s", s,
						units_describe(UNIT_CLASS));
			break;
		case 1:
			err = job_rule(args, job, order);
			break;
		case 2:
			err = args_u32(args, "order", UINT32_MAX,
				       job->n_rules ?
				       &job->rules[job->n_rules - 1].order :
				       &order);
			break;
		default:
			return args_bad("'%s': expected class, match or order",
					word);
		}
	}
	if (!err && !job->n_rules)
		return args_bad("job set: %s has no rule: give match, as in match cgroup=/kv/*",
				job->name);
	return err;
}

static int set_parsed(struct cli *cli, const struct job_args *job)
{
	const struct snap_job *was;
	uint32_t class = job->class;
	int err = read_jobs(cli, false);

	if (err)
		return err;
	/* The kernel replaces the rules of this origin; the class is shared by all origins. */
	was = find_job(cli, job->name);
	if (!job->has_class)
		class = was ? was->class : SWIFTRDMA_JOB_CLASS_NONE;
	err = io_job_set(cli->io, job->name, CLI_ORIGIN, class, job->rules,
			 job->n_rules);
	return err < 0 ? cli_io_error(cli) : CLI_OK;
}

static int set_job(struct cli *cli, struct args *args)
{
	struct job_args job = { .name = args_next(args) };
	int err;

	if (!job.name)
		return args_bad("job set: the name of a job is missing; see swiftrdma job help");
	if (check_name(job.name))
		return CLI_USAGE;
	job.rules = calloc(SWIFTRDMA_RULES_MAX, sizeof(*job.rules));
	if (!job.rules)
		return cli_no_memory();
	err = job_parse(args, &job);
	if (!err)
		err = set_parsed(cli, &job);
	free(job.rules);
	return err;
}

static int delete_job(struct cli *cli, struct args *args)
{
	const char *name = args_next(args);
	int err;

	if (!name)
		return args_bad("job del: the name of a job is missing");
	err = check_name(name);
	if (!err)
		err = args_end(args);
	if (!err)
		err = cli_open(cli);
	if (err)
		return err;
	err = io_job_del(cli->io, name, CLI_ORIGIN);
	return err < 0 ? cli_io_error(cli) : CLI_OK;
}

static const struct verb verbs[] = {
	{ "show", show_jobs }, { "list", show_jobs }, { "set", set_job }, { "del", delete_job },
	{ "delete", delete_job }, { 0 },
};

const struct noun noun_job = {
	"job", verbs,
	"Usage: swiftrdma job [ show [ NAME ] ]\n"
	"       swiftrdma job set NAME [ class CLASS ] match RULE [ order N ] ...\n"
	"       swiftrdma job del NAME\n"
	"\n"
	"CLASS := { latency | balanced | throughput | best-effort }\n"
	"RULE  := KEY=VALUE[,KEY=VALUE ...]   all must hold\n"
	"KEY   := { cgroup | comm | exe | uid | pid }\n"
	"\n"
	"show lists jobs, the rules that assign QPs to each job, how often each rule\n"
	"matched, and the job's figures on each device; libswiftrdma samples the\n"
	"latencies in the job's processes. set replaces the rules that set gave the\n"
	"job before, and del removes them; rules of the agent stay. If rules of several\n"
	"jobs match a QP, the rule of the lowest order wins (default 100).\n",
};
