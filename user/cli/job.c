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
	{ "mrs", "MRS", 0, 0, stat_mrs },
	{ "mr_bytes", "MR-BYTES", SHOW_BYTES, 0, stat_mr_bytes },
	{ "mtts", "MTTS", 0, 0, stat_mtts },
	{ "mtts_unknown", NULL, 0, COL_JSON, stat_mtts_unknown },
	{ "mr_page_min", NULL, SHOW_BYTES, COL_JSON, stat_mr_page_min },
	{ "mr_page_max", "MR-PAGE", SHOW_BYTES, 0, stat_mr_page_max },
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
SIGNAL(doorbell_rate, DOORBELL_RATE)
SIGNAL(creates, CREATES)
SIGNAL(modifies, MODIFIES)
SIGNAL(command_time, COMMAND_TIME)

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
	{ "doorbell_rate", "DB/s", SHOW_RATE, COL_RATE, get_doorbell_rate },
	{ "creates", "CREATES/s", SHOW_RATE, COL_RATE, get_creates },
	{ "modifies", "MODIFIES/s", SHOW_RATE, COL_RATE, get_modifies },
	{ "command_time", "CMD-TIME", SHOW_TIME, COL_RATE, get_command_time },
	{ "rules", NULL, 0, 0, get_rules },
	{ "devs", NULL, 0, 0, get_devs },
	{ "since", NULL, 0, COL_JSON, get_since },
	{ "time", NULL, 0, COL_JSON, get_time },
};

struct rows job_rows(const struct snapshot *snap)
{
	return ROWS(columns, snap->jobs, snap->n_jobs);
}

static bool wanted(const struct cli *cli, const void *row, const void *arg)
{
	(void)cli;
	return !arg || !strcmp(((const struct snap_job *)row)->name, arg);
}

static int read_jobs(struct cli *cli)
{
	struct io_want want = {
		.devs = true, .jobs = true, .cached = { .devs = true },
	};
	int err = cli_read(cli, &want);

	if (!err && !cli->snap.admin) {
		fputs("swiftrdma: reading jobs needs CAP_NET_ADMIN (root)\n",
		      stderr);
		return CLI_ERROR;
	}
	return err;
}

static const struct snap_job *find(const struct cli *cli, const char *name)
{
	for (size_t i = 0; i < cli->snap.n_jobs; i++)
		if (wanted(cli, &cli->snap.jobs[i], name))
			return &cli->snap.jobs[i];
	return NULL;
}

static int show(struct cli *cli, struct args *args)
{
	const char *name = args_next(args);
	struct rows rows;
	int err = args_end(args);

	if (!err)
		err = read_jobs(cli);
	if (err)
		return err;
	if (name && !find(cli, name)) {
		fprintf(stderr, "swiftrdma: no job '%s'\n", name);
		return CLI_ERROR;
	}
	rows = job_rows(&cli->snap);
	rows.want = wanted;
	rows.arg = name;
	return cli_show(cli, &rows);
}

/* One "key=value" of a rule. */
static int condition(struct snap_rule *rule, const char *key,
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
	return args_bad("'%s' is no condition; there are cgroup, comm, exe, uid and pid",
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
		err = condition(rule, buf, value);
		if (err)
			return err;
	}
	if (!rule->cgroup[0] && !rule->comm[0] && !rule->exe[0] &&
	    !rule->has_uid && !rule->has_pid)
		return args_bad("match: at least one condition is needed, as in cgroup=/kv/*");
	return CLI_OK;
}

/* As the kernel has it, whose answer to a long one has fewer words. */
static int check_name(const char *name)
{
	static const char good[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
	size_t n = strlen(name);

	if (n && n < SWIFTRDMA_NAME_LEN && strspn(name, good) == n)
		return CLI_OK;
	return args_bad("'%s' is no name for a job: that is 1 to %d of A-Z a-z 0-9 _ . -",
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

/* An order goes with the match before it; ahead of all it is the default. */
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
		return args_bad("job set: who belongs to %s? Give match, as in match cgroup=/kv/*",
				job->name);
	return err;
}

static int set_parsed(struct cli *cli, const struct job_args *job)
{
	const struct snap_job *was;
	uint32_t class = job->class;
	int err = read_jobs(cli);

	if (err)
		return err;
	/* Rules of one origin are replaced; the class is the job's. */
	was = find(cli, job->name);
	if (!job->has_class)
		class = was ? was->class : SWIFTRDMA_JOB_CLASS_NONE;
	err = io_job_set(cli->io, job->name, CLI_ORIGIN, class, job->rules,
			 job->n_rules);
	return err < 0 ? cli_io_error(cli) : CLI_OK;
}

static int set(struct cli *cli, struct args *args)
{
	struct job_args job = { .name = args_next(args) };
	int err;

	if (!job.name)
		return args_bad("job set: which job? See swiftrdma job help");
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

static int del(struct cli *cli, struct args *args)
{
	const char *name = args_next(args);
	int err;

	if (!name)
		return args_bad("job del: which job?");
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
	{ "show", show }, { "list", show }, { "set", set }, { "del", del },
	{ "delete", del }, { 0 },
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
	"Jobs: rules that say whose QPs are which job's, with how often each\n"
	"matched, and each job's figures per device. set replaces the rules this\n"
	"command gave the job before, del takes them back; those of the agent stay.\n"
	"Over all jobs the matching rule of lowest order wins (default 100).\n",
};
