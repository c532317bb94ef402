// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "cli/cli.h"

#define ORDER_DEFAULT	100

#define RULE(member)		MEMBER(struct snap_rule, member)
#define RULE_IF(member, by)	MEMBER_IF(struct snap_rule, member, by)
#define HELD(member)		MEMBER(struct snap_held, member)
#define HELD_HAS(member)	MEMBER_HAS(struct snap_held, member, SNAP_WAITS)
#define STAT(member)		MEMBER(struct snap_job_stat, member)
#define STAT_HAS(member, bit)	MEMBER_HAS(struct snap_job_stat, member, bit)
/* What the libraries in the job's processes reported of the device. */
#define REPORT(member)		.of = report_of_stat, MEMBER(struct snap_job_report, member)
#define REPORT_IF(member, by)	.of = report_of_stat, MEMBER_IF(struct snap_job_report, member, by)
#define JOB(member)		MEMBER(struct snap_job, member)

static const struct column rule_columns[] = {
	{ "order", "ORDER", 0, 0, RULE(order) },
	{ "origin", "ORIGIN", 0, COL_LEFT, RULE(origin) },
	{ "matches", "MATCHES", 0, 0, RULE(matches) },
	{ "uid", "UID", 0, 0, RULE_IF(uid, has_uid) },
	{ "pid", "PID", 0, 0, RULE_IF(pid, has_pid) },
	{ "comm", "COMM", 0, COL_LEFT, RULE(comm) },
	{ "exe", "EXE", 0, COL_LEFT, RULE(exe) },
	{ "cgroup", "CGROUP", 0, COL_LEFT, RULE(cgroup) },
	{ "asked", "ASKED", 0, COL_LEFT, RULE(asked) },
	{ "slo_min", "SLO-MIN", SHOW_TIME, 0, RULE_IF(slo_p99_min, slo_p99_min) },
};

/* A row of struct snap_job_stat is an element of its job's stats. */
static const void *report_of_stat(const struct cli *cli, const void *row)
{
	const struct snap_job_stat *st = row;

	for (size_t i = 0; i < cli->snap.n_jobs; i++) {
		const struct snap_job *job = &cli->snap.jobs[i];

		if (st >= job->stats && st < job->stats + job->n_stats)
			return view_job_report(cli, job->id, st->dev);
	}
	return NULL;
}

/* How many of the processes that can enforce the knob do. */
GETTER(held_state)
{
	const struct snap_held *held = row;

	cell_str(c, !held->processes ? "none" : !held->in_force ? "idle" :
		 held->in_force < held->processes ? "partly" : "in_force");
}

static const struct column held_columns[] = {
	{ "knob", "KNOB", 0, COL_LEFT, MEMBER_AS(FROM_KNOB, struct snap_held, knob) },
	{ "state", "STATE", 0, COL_LEFT, .get = get_held_state },
	{ "processes", "PROCESSES", 0, 0, HELD(processes) },
	{ "in_force", "IN-FORCE", 0, 0, HELD(in_force) },
	{ "posts", "POSTS", 0, 0, HELD_HAS(posts) },
	{ "wrs", "WRS", 0, 0, HELD_HAS(wrs) },
	{ "time", "TIME", SHOW_TIME, 0, HELD_HAS(time) },
	{ "passed", "PASSED", 0, 0, HELD_HAS(passed) },
	{ "split", "SPLIT", 0, COL_SPARSE, MEMBER_HAS(struct snap_held, split, SNAP_SPLIT) },
	{ "whole", "WHOLE", 0, COL_SPARSE, MEMBER_HAS(struct snap_held, whole, SNAP_SPLIT) },
};

GETTER(held)
{
	const struct snap_job_report *r = report_of_stat(cli, row);

	if (r && r->n_held)
		cell_table(c, ROWS(held_columns, r->held, r->n_held));
}

static struct snap_held sum_held(const struct snap_job_report *r)
{
	struct snap_held sum = { 0 };

	for (uint32_t i = 0; r && i < r->n_held; i++) {
		sum.posts += r->held[i].posts;
		sum.wrs += r->held[i].wrs;
		sum.time += r->held[i].time;
		sum.passed += r->held[i].passed;
	}
	return sum;
}

/* The sum over all knobs that libraries enforce. */
#define HELD_SUM(member)						\
	GETTER(held_##member)						\
	{								\
		const struct snap_job_report *r = report_of_stat(cli, row); \
									\
		if (r && r->n_held)					\
			cell_u64(c, sum_held(r).member);		\
	}

HELD_SUM(posts)
HELD_SUM(wrs)
HELD_SUM(passed)
HELD_SUM(time)

/* Time for which posts were held since the last reading, summed over threads, per elapsed time. */
GETTER(held_share)
{
	const struct snap_job_report *r = report_of_stat(cli, row), *old;
	uint64_t is, was;

	old = r && cli->out.rates ? view_older_report(cli, r) : NULL;
	if (!old || !r->n_held || r->sum.time <= old->sum.time)
		return;
	is = sum_held(r).time;
	was = sum_held(old).time;
	if (is >= was)
		cell_mean(c, is - was, r->sum.time - old->sum.time);
}

/* Processes of the job in which a knob is in force, and those that can enforce one: "2/3". */
GETTER(enforced_by)
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

GETTER(latency)
{
	const struct snap_job_report *r = report_of_stat(cli, row);
	struct snap_figures f = r ? view_job_times(cli, r) : (struct snap_figures){ 0 };

	cell_mean(c, f.latency_sum, f.latency_wrs);
}

GETTER(queue_delay)
{
	const struct snap_job_report *r = report_of_stat(cli, row);
	struct snap_figures f = r ? view_job_times(cli, r) : (struct snap_figures){ 0 };

	cell_mean(c, f.hol_sum, f.hol_wrs);
}

GETTER(distrusted)
{
	const struct snap_job_report *r = report_of_stat(cli, row);

	cell_flag(c, r && r->distrusted);
	c->tone = TONE_BAD;
}

/* QPs of the job on the device whose connections are raised at both ends, or at one. */
static uint64_t count_ends(const struct cli *cli, const struct snap_job_stat *st, bool both)
{
	const struct snapshot *snap = &cli->snap;
	const struct snap_job *job = NULL;
	uint64_t n = 0;

	for (size_t i = 0; i < snap->n_jobs; i++)
		if (st >= snap->jobs[i].stats && st < snap->jobs[i].stats + snap->jobs[i].n_stats)
			job = &snap->jobs[i];
	for (size_t i = 0; job && i < snap->n_qps; i++) {
		const struct snap_qp *qp = &snap->qps[i];

		n += qp->dev == st->dev && qp->job == job->id && qp->ends &&
		     both == (qp->ends == SWIFTRDMA_ENDS_BOTH);
	}
	return n;
}

GETTER(both_ends)
{
	uint64_t n = count_ends(cli, row, true);

	if (n)
		cell_u64(c, n);
}

GETTER(one_sided)
{
	uint64_t n = count_ends(cli, row, false);

	if (n)
		cell_u64(c, n);
}

GETTER(place)
{
	const struct snap_job_stat *st = row;

	(void)cli;
	if (snap_has(st, SNAP_PLACE))
		view_word(UNIT_PLACE, st->place, c);
}

static const struct column stat_columns[] = {
	{ "dev", "DEV", 0, COL_LEFT, DEV_NAME(struct snap_job_stat) },
	{ "qps", "QPS", 0, 0, STAT(qps) },
	{ "created", "CREATED", 0, 0, STAT(created) },
	{ "destroyed", "DESTROYED", 0, 0, STAT(destroyed) },
	{ "moved", "MOVED", 0, 0, STAT(moved) },
	{ "rejected", "REJECTED", 0, 0, STAT(rejected) },
	{ "doorbells", "DOORBELLS", 0, 0, STAT_HAS(doorbells, SNAP_DOORBELLS) },
	{ "wrs", "WRS", 0, COL_WRS, STAT_HAS(wrs, SNAP_WRS) },
	{ "wr_unit", NULL, 0, COL_JSON, WR_UNIT(struct snap_job_stat) },
	{ "level", "LEVEL", 0, 0, STAT_HAS(level, SNAP_LEVEL) },
	{ "follow", "FOLLOW", 0, COL_SPARSE, STAT_HAS(follow, SNAP_FOLLOW) },
	{ "both_ends", "BOTH-ENDS", 0, COL_SPARSE, .get = get_both_ends },
	{ "one_sided", "ONE-SIDED", 0, COL_SPARSE, .get = get_one_sided },
	{ "max_qps", "MAX-QPS", 0, 0, STAT_HAS(max_qps, SNAP_MAX_QPS) },
	{ "create_rate", "CREATE/s", SHOW_RATE, 0, STAT_HAS(create_rate, SNAP_CREATE_RATE) },
	{ "bit_rate", "BIT-RATE", SHOW_BITRATE, COL_SPARSE, STAT_HAS(bit_rate, SNAP_BIT_RATE) },
	{ "weight", "WEIGHT", 0, COL_SPARSE, STAT_HAS(weight, SNAP_WEIGHT) },
	{ "wr_rate", "WR-RATE", SHOW_RATE, COL_SPARSE, STAT_HAS(wr_rate, SNAP_WR_RATE) },
	{ "credits", "CREDITS", 0, COL_SPARSE, STAT_HAS(credits, SNAP_CREDITS) },
	{ "place", "PLACE", 0, COL_LEFT | COL_SPARSE, .get = get_place },
	{ "chunk", "CHUNK", SHOW_BYTES, COL_SPARSE, STAT_HAS(chunk, SNAP_CHUNK) },
	{ "huge_pages", "HUGE-PAGES", 0, COL_SPARSE, STAT_HAS(huge_pages, SNAP_HUGE_PAGES) },
	{ "enforced_by", "ENFORCED-BY", 0, COL_LEFT | COL_SPARSE, .get = get_enforced_by },
	{ "held_share", "HELD", SHOW_RATIO, COL_SPARSE, .get = get_held_share },
	{ "held_time", "HELD-TIME", SHOW_TIME, COL_SPARSE, .get = get_held_time },
	{ "held_posts", NULL, 0, COL_JSON, .get = get_held_posts },
	{ "held_wrs", NULL, 0, COL_JSON, .get = get_held_wrs },
	{ "held_passed", NULL, 0, COL_JSON, .get = get_held_passed },
	{ "held", NULL, 0, COL_DETAIL, .get = get_held },
	{ "mrs", "MRS", 0, 0, STAT_HAS(mrs, SNAP_MRS) },
	{ "mr_bytes", "MR-BYTES", SHOW_BYTES, 0, STAT_HAS(mr_bytes, SNAP_MRS) },
	{ "mtts", "MTTS", 0, 0, STAT_HAS(mtts, SNAP_MTTS) },
	{ "mtts_unknown", NULL, 0, COL_JSON, STAT_HAS(mtts_unknown, SNAP_MTTS) },
	{ "mr_page_min", NULL, SHOW_BYTES, COL_JSON, STAT_HAS(mr_page_min, SNAP_MR_PAGES) },
	{ "mr_page_max", "MR-PAGE", SHOW_BYTES, 0, STAT_HAS(mr_page_max, SNAP_MR_PAGES) },
	{ "library_processes", "LIB-PROCS", 0, COL_SPARSE, REPORT(processes) },
	{ "queue_delay", "HOL-WAIT", SHOW_TIME, COL_SPARSE, .get = get_queue_delay },
	{ "hol_max", "HOL-MAX", SHOW_TIME, COL_DETAIL | COL_SPARSE, REPORT_IF(sum.hol_max, sum.hol_wrs) },
	{ "latency", "LATENCY", SHOW_TIME, COL_SPARSE, .get = get_latency },
	{ "latency_max", "LAT-MAX", SHOW_TIME, COL_SPARSE, REPORT_IF(sum.latency_max, sum.samples) },
	{ "latency_samples", NULL, 0, COL_JSON, REPORT(sum.samples) },
	{ "reported_wrs", "LIB-WRS", 0, COL_SPARSE, REPORT(sum.wrs) },
	{ "reported_calls", "LIB-CALLS", 0, COL_DETAIL | COL_SPARSE, REPORT(sum.calls) },
	{ "reported_bytes", "LIB-BYTES", SHOW_BYTES, COL_SPARSE, REPORT(sum.bytes) },
	{ "recv_wrs", "RECV-WRS", 0, COL_DETAIL | COL_SPARSE, REPORT(sum.recv_wrs) },
	{ "done", "DONE", 0, COL_DETAIL | COL_SPARSE, REPORT(sum.done) },
	{ "dropped", "DROPPED", 0, COL_DETAIL | COL_SPARSE, REPORT(sum.dropped) },
	{ "errors", "ERRORS", 0, COL_DETAIL | COL_SPARSE, REPORT(sum.errors) },
	{ "distrusted", "DISTRUSTED", 0, COL_LEFT | COL_DETAIL | COL_SPARSE, .get = get_distrusted },
	{ "creates", "CREATES", 0, COL_DETAIL, STAT_HAS(creates, SNAP_COMMANDS) },
	{ "modifies", "MODIFIES", 0, COL_DETAIL, STAT_HAS(modifies, SNAP_COMMANDS) },
	{ "commands", "COMMANDS", 0, COL_DETAIL, STAT_HAS(commands, SNAP_COMMANDS) },
	{ "command_time", "CMD-TIME", SHOW_TIME, COL_DETAIL, STAT_HAS(command_time, SNAP_COMMANDS) },
};

GETTER(class)
{
	const struct snap_job *job = row;

	if (job->class != SWIFTRDMA_JOB_CLASS_NONE)
		view_word(UNIT_CLASS, job->class, c);
}

GETTER(qps)
{
	const struct snap_job *job = row;
	uint64_t qps = 0;

	for (size_t i = 0; i < job->n_stats; i++)
		qps += job->stats[i].qps;
	cell_u64(c, qps);
}

#define QUANTILE(name, q)						\
	GETTER(name)							\
	{								\
		struct signal_quantile of;				\
									\
		if (view_quantile(cli, row, q, &of) && of.has)		\
			cell_real(c, of.ns);				\
	}								\
									\
	GETTER(name##_samples)						\
	{								\
		struct signal_quantile of;				\
									\
		if (view_quantile(cli, row, q, &of))			\
			cell_u64(c, of.samples);			\
	}								\
									\
	GETTER(name##_needs)						\
	{								\
		struct signal_quantile of;				\
									\
		if (view_quantile(cli, row, q, &of))			\
			cell_u64(c, reading_samples_needed(q));		\
	}

QUANTILE(p50, 0.5)
QUANTILE(p99, 0.99)

/* "1204/100": the samples that p99 is computed from, and the samples that it needs. */
GETTER(samples)
{
	struct signal_quantile of;

	if (!view_quantile(cli, row, 0.99, &of))
		return;
	snprintf(c->buf, sizeof(c->buf), "%llu/%llu", (unsigned long long)of.samples,
		 (unsigned long long)reading_samples_needed(0.99));
	cell_str(c, c->buf);
}

/* Is the target met? Absent without a target, or a p99. */
GETTER(slo_met)
{
	struct signal_quantile of;
	double slo;

	if (!view_quantile(cli, row, 0.99, &of) || !of.has ||
	    !signal_get(&cli->sig, SIG_JOB_SLO_P99,
			(size_t)((const struct snap_job *)row - cli->snap.jobs), &slo))
		return;
	cell_boolean(c, of.ns <= slo);
	c->tone = of.ns <= slo ? TONE_GOOD : TONE_BAD;
}

GETTER(rules)
{
	const struct snap_job *job = row;

	cell_table(c, ROWS(rule_columns, job->rules, job->n_rules));
}

GETTER(devs)
{
	const struct snap_job *job = row;

	cell_table(c, ROWS(stat_columns, job->stats, job->n_stats));
}

static const struct column columns[] = {
	{ "job", "JOB", 0, COL_LEFT, JOB(name) },
	{ "id", "ID", 0, 0, JOB(id) },
	{ "class", "CLASS", 0, COL_LEFT, .get = get_class },
	{ "qps", "QPS", 0, 0, .get = get_qps },
	{ "wr_rate", "WR/s", SHOW_RATE, COL_RATE | COL_WRS, SIGNAL(JOB_WR_RATE) },
	{ "byte_rate", "DATA", SHOW_BITRATE, COL_RATE | COL_SPARSE, SIGNAL(JOB_BYTE_RATE) },
	{ "doorbell_rate", "DB/s", SHOW_RATE, COL_RATE, SIGNAL(JOB_DOORBELL_RATE) },
	{ "p50", "P50", SHOW_TIME, COL_SPARSE, .get = get_p50 },
	{ "p99", "P99", SHOW_TIME, COL_SPARSE, .get = get_p99 },
	{ "samples", "SAMPLES", 0, COL_TEXT | COL_SPARSE, .get = get_samples },
	{ "p50_samples", NULL, 0, COL_JSON, .get = get_p50_samples },
	{ "p50_needs", NULL, 0, COL_JSON, .get = get_p50_needs },
	{ "p99_samples", NULL, 0, COL_JSON, .get = get_p99_samples },
	{ "p99_needs", NULL, 0, COL_JSON, .get = get_p99_needs },
	{ "slo_p99", "SLO-P99", SHOW_TIME, COL_SPARSE, SIGNAL(JOB_SLO_P99) },
	{ "slo_met", "MET", 0, COL_LEFT | COL_SPARSE, .get = get_slo_met },
	{ "creates", "CREATES/s", SHOW_RATE, COL_RATE, SIGNAL(JOB_CREATES) },
	{ "modifies", "MODIFIES/s", SHOW_RATE, COL_RATE, SIGNAL(JOB_MODIFIES) },
	{ "command_time", "CMD-TIME", SHOW_TIME, COL_RATE, SIGNAL(JOB_COMMAND_TIME) },
	{ "queue_latency", "Q-LATENCY", SHOW_TIME, COL_RATE | COL_SPARSE, SIGNAL(JOB_LATENCY) },
	{ "rules", NULL, 0, 0, .get = get_rules },
	{ "devs", NULL, 0, 0, .get = get_devs },
	{ "since", NULL, 0, COL_JSON, JOB(since) },
	{ "time", NULL, 0, COL_JSON, JOB(time) },
};

struct rows job_rows(const struct snapshot *snap)
{
	return ROWS(columns, snap->jobs, snap->n_jobs);
}

static bool is_job_named(const struct cli *cli, const void *row, const void *arg)
{
	(void)cli;
	return !arg || !strcmp(((const struct snap_job *)row)->name, arg);
}

/* @figures: with what libraries reported. */
static int read_jobs(struct cli *cli, bool figures)
{
	struct io_want want = {
		.devs = true, .jobs = true, .cached = { .devs = true },
		/* Rates by libraries are known if each process with a QP has a library. */
		.reports = figures, .qps = figures,
		/* A job's latency is computed from samples of its QPs. */
		.outstanding = cli->interval_ms,
	};
	int err = cli_read(cli, &want);

	if (!err && !cli->snap.admin)
		err = cli_fail("reading jobs needs CAP_NET_ADMIN (root)");
	return err;
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
	if (name && !reading_job_named(&cli->snap, name))
		return cli_fail("no job '%s'", name);
	rows = job_rows(&cli->snap);
	rows.want = is_job_named;
	rows.arg = name;
	return cli_show(cli, &rows);
}

/* The least objective that a process which matches may ask for. */
static int parse_slo_min(struct snap_rule *rule, const char *value)
{
	struct quantity q;
	double ns;

	if (!units_parse(value, strlen(value), &q, NULL) && q.unit == UNIT_COUNT)
		return args_bad("slo_min: '%s' has no unit; add one, as in slo_min=50us", value);
	if (args_quantity(value, "slo_min", UNIT_TIME, &ns))
		return CLI_USAGE;
	if (!(ns >= 1 && ns < 1e18))
		return args_bad("slo_min: '%s' is not %s", value, units_describe(UNIT_TIME));
	rule->slo_p99_min = (uint64_t)ns;
	return CLI_OK;
}

/* One "key=value" of a rule. */
static int parse_condition(struct snap_rule *rule, const char *key, const char *value)
{
	static const char *const keys[] = {
		"cgroup", "comm", "exe", "uid", "pid", "order", "slo_min", NULL,
	};
	char *word[] = { (char *)value };
	struct args one = { word, 1 };

	switch (args_match(keys, key)) {
	case 0:
		if (*value && *value != '/' && *value != '*')
			return args_bad("cgroup: '%s' matches no path; a path begins with '/', as in /kv/*",
					value);
		return args_str(&one, "cgroup", rule->cgroup, sizeof(rule->cgroup));
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
	case 6:
		return parse_slo_min(rule, value);
	}
	return args_bad("'%s' is not a condition; conditions are cgroup, comm, exe, uid, pid and asked",
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
		if (args_is(buf, "asked")) {
			rule->asked = true;
			continue;
		}
		value = strchr(buf, '=');
		if (!value)
			return args_bad("match: '%s' should be KEY=VALUE, as in uid=1000", buf);
		*value++ = '\0';
		err = parse_condition(rule, buf, value);
		if (err)
			return err;
	}
	if (!rule->cgroup[0] && !rule->comm[0] && !rule->exe[0] &&
	    !rule->has_uid && !rule->has_pid && !rule->asked)
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
		return args_bad("a job has at most %d rules", SWIFTRDMA_RULES_MAX);
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
			return args_bad("'%s': expected class, match or order", word);
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
	was = reading_job_named(&cli->snap, job->name);
	if (!job->has_class)
		class = was ? was->class : SWIFTRDMA_JOB_CLASS_NONE;
	err = io_job_set(cli->io, job->name, CLI_ORIGIN, class, job->rules, job->n_rules);
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

const struct noun_table job_table = NOUN_TABLE("job", columns);
static const struct noun_table rules_table = NOUN_TABLE("job.rules", rule_columns);
static const struct noun_table devs_table = NOUN_TABLE("job.devs", stat_columns);
static const struct noun_table held_table = NOUN_TABLE("job.devs.held", held_columns);
static const struct noun_table *const tables[] = {
	&job_table, &rules_table, &devs_table, &held_table, NULL,
};

const struct noun noun_job = {
	.name = "job",
	.verbs = verbs,
	.help =
	"Usage: swiftrdma job [ show [ NAME ] ]\n"
	"       swiftrdma job set NAME [ class CLASS ] match RULE [ order N ] ...\n"
	"       swiftrdma job del NAME\n"
	"\n"
	"CLASS := { latency | balanced | throughput | best-effort }\n"
	"RULE  := KEY=VALUE[,KEY=VALUE ...][,asked][,slo_min=TIME]   all must hold\n"
	"KEY   := { cgroup | comm | exe | uid | pid }\n"
	"asked: the process asked for the job (swiftrdma_ask), slo_min: the least p99 that it\n"
	"may have as its objective; without it, it gets none\n"
	"\n"
	"show lists jobs, the rules that assign QPs to each job, how often each rule\n"
	"matched, and the job's figures on each device; libswiftrdma samples the\n"
	"latencies in the job's processes. set replaces the rules that set gave the\n"
	"job before, and del removes them; rules of the agent stay. If rules of several\n"
	"jobs match a QP, the rule of the lowest order wins (default 100).\n",
	.tables = tables,
};
