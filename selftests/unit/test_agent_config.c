// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The agent and its policy file: jobs and levels in the kernel, reload, dry run. */
#include "unit/agent_rig.h"

/* Reads the file that the agent publishes; false if there is none. The agent must hold its lock. */
static bool read_published(const char *dir, struct running *r)
{
	char path[96], text[8192];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/agent.yaml", dir);
	f = fopen(path, "re");
	if (!f)
		return false;
	assert_int_equal(flock(fileno(f), LOCK_SH | LOCK_NB), -1);
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	return running_read(r, text, n);
}

/* The configuration that the agent runs by can be read as long as the agent runs. */
static void test_publish(void **state)
{
	static const char ports[] = "ports: [{dev: rxe0, speed: 20Mbit/s}]\n"
		"criteria: {port_busy: 70%}\n";
	char dir[] = "/tmp/agent.XXXXXX", own[64];
	struct config cfg;
	struct running r;
	mode_t mask;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(own, sizeof(own), "%s/own", dir);
	agent.opt.run_dir = own;
	agent.opt.config = "/none/such.yaml";
	/* systemd's umask; the file must be readable for all users in spite of it. */
	mask = umask(0077);
	agent_publish(&agent);
	umask(mask);
	assert_true(read_published(own, &r));
	assert_string_equal(r.file, "/none/such.yaml");
	assert_int_equal(r.pid, getpid());
	assert_int_equal(r.cfg.n_speeds, 0);
	running_free(&r);
	load_config(&cfg, ports);
	agent_reload(&agent, &cfg);
	assert_true(read_published(own, &r));
	assert_int_equal(r.cfg.n_speeds, 1);
	assert_int_equal(r.cfg.speeds[0].speed, 20000000);
	assert_true(criteria_value(&r.cfg.criteria, "port_busy") == 0.7);
	running_free(&r);
	agent_unpublish(&agent);
	assert_false(read_published(own, &r));
	/* A dry run, or a single tick, publishes nothing. */
	agent.opt.dry_run = true;
	agent_publish(&agent);
	agent.opt.dry_run = false;
	agent.opt.once = true;
	agent_publish(&agent);
	assert_false(read_published(own, &r));
	/* A directory that cannot be made does not stop the agent. */
	agent.opt.once = false;
	agent.opt.run_dir = "/none/such/place";
	agent_publish(&agent);
	tick(0, 0);
	assert_int_equal(rmdir(own), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void test_reload(void **state)
{
	struct config cfg;

	(void)state;
	tick(0, 0);
	tick(100, 1);
	assert_int_equal(fake.level[1], 1);
	/* The same policy with another ceiling keeps its state. */
	load_config(&cfg, "jobs:\n- {name: kv, class: latency, match: [{comm: kv}]}\n"
		     "policies:\n- {name: port, for: job of class latency, when: port.util > 80%, do: job.level += 1, ceiling: 2, cooldown: 100ms, undo: {when: port.util < 60%}}\n");
	agent_reload(&agent, &cfg);
	tick(100, 1);
	tick(100, 1);
	assert_int_equal(fake.level[1], 2);
	/* bulk is no longer in the file, kv did not change. */
	assert_int_equal(fake.n_removed, 1);
	assert_string_equal(fake.removed[0], "bulk");
	assert_int_equal(fake.n_set, 2);
	/* A policy that is gone from the file releases what it held. */
	load_config(&cfg, "jobs:\n- {name: kv, class: latency, match: [{comm: kv}]}\n");
	agent_reload(&agent, &cfg);
	assert_int_equal(fake.level[1], -1);
	tick(100, 1);
	assert_int_equal(fake.lease, 0);
}

/*
 * By the policies' conditions: the kinds of objects whose cached figures are enough, whether
 * libraries are asked, and whether the kernel is to look into send queues.
 */
static void test_reads_what_is_looked_at(void **state)
{
	static const struct {
		const char *when, *slo;
		bool devs, ports, jobs, reports, looks;
	} cases[] = {
		{ NULL, "", true, true, true, false, false },
		{ NULL, ", slo: {p99: 1ms}", true, true, true, true, false },
		{ "job.qps > 3", "", true, true, true, false, false },
		{ "job.qps > 3 and port.util > 80%", "", true, false, true, false, false },
		{ "job.qps > 3 and sum(job.wr_rate over jobs of port) > 1k/s", "", true, false, true, true, false },
		{ "job.qps > 3 and dev.mtt_miss > 5%", "", false, true, true, false, false },
		{ "job.qps > 3 and job.mtts > 1000", "", true, true, false, false, false },
		{ "job.qps > 3 and dev.mtt_miss > 5% and port.util > 1%", "", false, false, true, false, false },
		{ "job.qps > 3 and job.p99 > 5us", "", true, true, true, true, false },
		{ "job.qps > 3 and sum(qp.outstanding over qps of job) > 5", "", true, true, true, true, false },
		{ "job.qps > 3 and qp.latency > 5us", "", true, true, true, false, true },
		{ "job.qps > 3 and job.latency > 5us", "", true, true, true, false, true },
		{ "job.qps > 3 and job.latency_prev > 5us", "", true, true, true, false, true },
	};
	struct config cfg;
	char text[512];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text),
			 "jobs:\n- {name: kv, class: latency, huge_pages: no, match: [{comm: kv}]%s}\n%s%s%s",
			 cases[i].slo, cases[i].when ? "policies:\n- {name: p, for: job of class latency, when: " : "",
			 cases[i].when ? cases[i].when : "",
			 cases[i].when ? ", do: job.max_qps = 9, undo: {when: job.qps < 1}}\n" : "");
		load_config(&cfg, text);
		agent_reload(&agent, &cfg);
		tick(100, 0);
		assert_true(fake.want.devs && fake.want.ports && fake.want.uars &&
			    fake.want.qps && fake.want.jobs);
		assert_int_equal(fake.want.cached.devs, cases[i].devs);
		assert_int_equal(fake.want.cached.ports, cases[i].ports);
		assert_int_equal(fake.want.cached.jobs, cases[i].jobs);
		assert_int_equal(fake.want.reports, cases[i].reports);
		assert_int_equal(fake.want.outstanding, cases[i].looks);
	}
}

/* A DSCP or SL of -1: the level does not set it. */
static void assert_level(uint32_t level, int dscp, int sl)
{
	const struct io_level *l = &fake.levels[level];

	assert_int_equal(l->has_dscp ? (int)l->dscp : -1, dscp);
	assert_int_equal(l->has_sl ? (int)l->sl : -1, sl);
}

/* The agent leaves levels alone that the file does not have. */
static void test_levels_of_the_file(void **state)
{
	struct config cfg;

	(void)state;
	fake.levels[1] = (struct io_level){ 1, 46, 9, true, true };
	fake.levels[2] = (struct io_level){ 2, 46, 4, true, true };
	fake.levels[3] = (struct io_level){ 3, 26, 0, true, false };
	fake.levels[5] = (struct io_level){ 5, 46, 9, true, true };
	tick(0, 0);
	assert_int_equal(fake.n_levels_set, 2);
	assert_level(1, 8, 1);
	assert_level(2, -1, 4);
	assert_level(3, 26, -1);
	assert_level(5, 46, 9);
	load_config(&cfg, "levels:\n- {level: 4, dscp: 33, sl: 2}\n- {level: 1, dscp: 9}\n");
	agent_reload(&agent, &cfg);
	tick(100, 0);
	assert_level(1, 9, -1);
	assert_level(3, 26, -1);
	assert_level(4, 33, 2);
	load_config(&cfg, "jobs: []\n");
	agent_reload(&agent, &cfg);
	tick(100, 0);
	assert_level(4, 33, 2);
}

/* The agent sets the file's levels when it reads the file, not whenever jobs change. */
static void test_levels_set_by_hand(void **state)
{
	(void)state;
	tick(0, 0);
	fake.levels[1] = (struct io_level){ 1, 1, 1, true, true };
	made_job(&fake.scene, 3, "mine", 2);
	tick(100, 0);
	assert_level(1, 1, 1);
}

static void test_foreign_rules_stay(void **state)
{
	static struct snap_rule rule = { .origin = "cli", .comm = "x" };
	struct snap_job *j = made_job(&fake.scene, 3, "mine", 2);

	(void)state;
	j->rules = copy(NULL, &rule, 1, sizeof(rule));
	j->n_rules = 1;
	tick(0, 0);
	assert_int_equal(fake.n_removed, 0);
	assert_int_equal(fake.n_set, 2);
}

static void start_dry_run(void)
{
	agent_free(&agent);
	opt.dry_run = true;
	start_agent();
	strcpy(fake.scene.owners[0].comm, "kv");
	strcpy(fake.scene.owners[1].comm, "bulk");
}

static void assert_nothing_sent(void)
{
	assert_int_equal(fake.n_set + fake.n_removed + fake.n_levels_set, 0);
	assert_int_equal(fake.acts + fake.renewals, 0);
}

static const struct snap_job *read_job(const char *name)
{
	return agent_find_job(&agent.snap[agent.cur], name);
}

/* A dry run assigns QPs to jobs that are in the file only. */
static void test_dry_run(void **state)
{
	const char *text;
	size_t i;

	(void)state;
	start_dry_run();
	fake.scene.s.n_jobs = 1;
	for (i = 0; i < fake.scene.s.n_qps; i++)
		fake.scene.qps[i].job = 0;
	fake.scene.jobs[0].stats[0].qps = 3;
	begin_capture(stderr, LOG_INFO, false);
	tick(0, 0);
	for (i = 0; i < 2; i++) {
		fake.scene.qps[0].wrs += 100;
		tick(100, 1);
	}
	text = end_capture();
	assert_says(text, "dry run, would set job kv: class latency, 1 rules\n");
	assert_says(text, "dry run, would set job bulk: class throughput, 1 rules\n");
	assert_says(text, "dry run, would set level 3: DSCP 26\n");
	assert_says(text, "dry run, would set level 1: DSCP 8, SL 1\n");
	assert_says(text, "dry run, would set level 2: SL 4\n");
	assert_says(text, "dry run, would act: job kv: port: port rxe0/1 util 100 % > 80 % and job kv qps 2 > 0: level 0 -> 1");
	assert_nothing_sent();
	assert_int_equal(policy_n_held(&agent.state), 1);
	assert_int_equal(read_job("kv")->stats[0].qps, 2);
	assert_int_equal(read_job("kv")->stats[0].wrs, 200);
	assert_int_equal(read_job("bulk")->stats[0].qps, 1);
	assert_int_equal(read_job("unassigned")->stats[0].qps, 0);
	/* The next reading starts from the kernel's jobs again, not from the assumed ones. */
	assert_int_equal(agent.snap[agent.cur].generation, 0);
	/* What a dry run would set is logged once. */
	assert_null(strstr(strstr(text, "set job kv") + 1, "set job kv"));
}

static void give_rule(struct snap_job *j, const char *origin, uint32_t order,
		      const char *comm)
{
	struct snap_rule rule = { .order = order };

	strcpy(rule.origin, origin);
	strcpy(rule.comm, comm);
	j->rules = copy(j->rules, &rule, 1, sizeof(rule));
	j->n_rules = 1;
}

/* A dry run of another file, beside a running agent, changes nothing of what that agent set. */
static void test_dry_run_beside(void **state)
{
	struct snap_job *kv = &fake.scene.jobs[1], *bulk = &fake.scene.jobs[2];
	struct snap_job *old = made_job(&fake.scene, 3, "old", 2);
	struct snap_job *hand = made_job(&fake.scene, 4, "hand", 2);
	const char *text;

	(void)state;
	start_dry_run();
	made_stat(old, 0, 2);
	made_stat(hand, 0, 0);
	/* The file has kv in another class, and its rules give the QPs of old to kv. */
	kv->class = 3;
	give_rule(kv, AGENT_ORIGIN, 1000, "else");
	give_rule(old, AGENT_ORIGIN, 1001, "kv");
	give_rule(hand, "cli", 100, "bulk");
	give_rule(bulk, AGENT_ORIGIN, 1001, "bulk");
	fake.scene.qps[0].job = fake.scene.qps[1].job = 3;
	kv->stats[0].qps = 0;
	begin_capture(stderr, LOG_INFO, false);
	tick(0, 0);
	tick(100, 1);
	text = end_capture();
	assert_says(text, "dry run, would set job kv: class latency");
	assert_says(text, "dry run, would remove job old: not in the policy file");
	assert_says(text, "dry run, would act: job kv: ");
	assert_null(strstr(text, "job bulk"));
	assert_nothing_sent();
	assert_int_equal(old->n_rules, 1);
	assert_int_equal(kv->class, 3);
	assert_string_equal(kv->rules[0].comm, "else");
	assert_null(read_job("old"));
	assert_int_equal(read_job("kv")->class, 1);
	assert_int_equal(read_job("kv")->stats[0].qps, 2);
	/* Rules made by hand come before those of the file. */
	assert_int_equal(read_job("hand")->stats[0].qps, 1);
	assert_int_equal(read_job("bulk")->stats[0].qps, 0);
}

static bool has_p99(const char *name)
{
	size_t row = (size_t)(read_job(name) - agent.snap[agent.cur].jobs);
	double v;

	return signal_get(&agent.sig, SIG_JOB_P99, row, &v);
}

/*
 * The kernel adds latencies up by its own jobs. Where the file gives a job other members, the
 * kernel's sum is not that of the job.
 */
static void test_dry_run_reports(void **state)
{
	static const char text[] =
		"agent: {smoothing: 1ns}\n"
		"jobs:\n"
		"- {name: kv, class: latency, slo: {p99: 50us}, match: [{comm: kv}]}\n"
		"- {name: bulk, class: throughput, match: [{comm: bulk}]}\n"
		"- {name: more, class: throughput, match: [{comm: more}]}\n"
		"policies:\n"
		"- {name: late, for: job, when: job.p99 > 50us, do: job.max_qps = 9, undo: {when: job.p99 < 20us}}\n";
	struct snap_job_report *none, *kv, *bulk;
	struct config cfg;
	const char *log;
	unsigned int i;

	(void)state;
	start_dry_run();
	load_config(&cfg, text);
	agent_reload(&agent, &cfg);
	none = made_job_report(&fake.scene, 0, 0, 1);
	kv = made_job_report(&fake.scene, 1, 0, 1);
	bulk = made_job_report(&fake.scene, 2, 0, 1);
	/* One of kv's QPs is unassigned in the kernel. */
	fake.scene.qps[0].job = 0;
	begin_capture(stderr, LOG_INFO, false);
	tick(0, 0);
	for (i = 0; i < 3; i++) {
		made_latencies(none, 1000000, 1000, 1);
		made_latencies(kv, 1000000, 1000, 1);
		made_latencies(bulk, 1000000, 1000, 1);
		tick(100, 0);
	}
	log = end_capture();
	assert_int_equal(agent.assumed, 1);
	assert_false(has_p99("unassigned"));
	assert_false(has_p99("kv"));
	assert_true(has_p99("bulk"));
	assert_says(log, "would act: job bulk: late: ");
	assert_null(strstr(log, "would act: job kv"));
	assert_says(log, "p99 and all else that libraries report by job is unknown of them: unassigned, kv (logged once)");
	assert_null(strstr(strstr(log, "(logged once)") + 1, "(logged once)"));
	/* In the kernel as in the file: all of them are the jobs' own. */
	fake.scene.qps[0].job = 1;
	tick(100, 0);
	made_latencies(kv, 1000000, 1000, 1);
	tick(100, 0);
	assert_int_equal(agent.assumed, 1);
	assert_true(has_p99("kv"));
}

/* If the kernel has the file's jobs, a dry run takes the kernel's figures. */
static void test_dry_run_in_sync(void **state)
{
	(void)state;
	tick(0, 0);
	fake.scene.jobs[1].stats[0].created = 7;
	start_dry_run();
	fake.n_set = fake.n_levels_set = 0;
	tick(0, 0);
	tick(100, 1);
	assert_nothing_sent();
	assert_int_equal(read_job("kv")->stats[0].created, 7);
	assert_int_equal(read_job("kv")->id, 1);
	assert_int_equal(policy_n_held(&agent.state), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_publish), T(test_reload), T(test_reads_what_is_looked_at),
		T(test_levels_of_the_file), T(test_levels_set_by_hand),
		T(test_foreign_rules_stay), T(test_dry_run), T(test_dry_run_beside),
		T(test_dry_run_in_sync), T(test_dry_run_reports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
