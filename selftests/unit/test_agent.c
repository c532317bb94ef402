// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The agent's turns against a made-up kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <unistd.h>

#include "unit/fake_io.c"
#include "unit/levels.h"

#include "agent/agent.c"
#include "agent/assume.c"
#include "agent/hint.c"
#include "agent/imbalance.c"
#include "agent/log.c"
#include "agent/loop.c"
#include "agent/publish.c"
#include "agent/result.c"
#include "agent/sync.c"

static const char policy[] =
	"agent: {interval: 100ms, lease: 2s, rank: 42, smoothing: 1ns}\n"
	"levels:\n- {level: 3, dscp: 26}\n- {level: 1, dscp: 8, sl: 1}\n- {level: 2, sl: 4}\n"
	"jobs:\n"
	"- {name: kv, class: latency, match: [{comm: kv}]}\n"
	"- {name: bulk, class: throughput, match: [{comm: bulk}]}\n"
	"policies:\n"
	"- {name: port, for: job of class latency, when: port.util > 80% and job.qps > 0,\n"
	"   do: job.level += 1, ceiling: 3, cooldown: 100ms,\n"
	"   undo: {when: port.util < 60%, hold: 300ms}}\n";

static struct agent agent;
static struct agent_options opt;

static void config(struct config *cfg, const char *text)
{
	struct report r;

	report_init(&r, "f");
	text = with_levels(text);
	if (!config_load_text(cfg, text, strlen(text), &r)) {
		report_print(&r, stderr);
		fail();
	}
}

static void begin(void)
{
	struct config cfg;

	config(&cfg, policy);
	agent_init(&agent, &opt, &cfg);
}

static int setup(void **state)
{
	(void)state;
	fake_reset();
	memset(&opt, 0, sizeof(opt));
	/* The agent's own words would drown those of the tests. */
	log_open(-1, false);
	begin();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	agent_free(&agent);
	assert_int_equal(fake.handles, 0);
	fake_reset();
	return 0;
}

static void tick(uint64_t ms, double share)
{
	fake_pass(ms, share);
	assert_int_equal(agent_tick(&agent), 0);
}

/* What is in its file; false: there is none, or nobody has it locked. */
static bool published(const char *dir, struct running *r)
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

/* What it runs by is there to be read as long as it runs. */
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
	/* As under systemd, but for everybody to read. */
	mask = umask(0077);
	agent_publish(&agent);
	umask(mask);
	assert_true(published(own, &r));
	assert_string_equal(r.file, "/none/such.yaml");
	assert_int_equal(r.pid, getpid());
	assert_int_equal(r.cfg.n_speeds, 0);
	running_free(&r);
	config(&cfg, ports);
	agent_reload(&agent, &cfg);
	assert_true(published(own, &r));
	assert_int_equal(r.cfg.n_speeds, 1);
	assert_int_equal(r.cfg.speeds[0].speed, 20000000);
	assert_true(criteria_value(&r.cfg.criteria, "port_busy") == 0.7);
	running_free(&r);
	agent_unpublish(&agent);
	assert_false(published(own, &r));
	/* What only tries a file says nothing. */
	agent.opt.dry_run = true;
	agent_publish(&agent);
	agent.opt.dry_run = false;
	agent.opt.once = true;
	agent_publish(&agent);
	assert_false(published(own, &r));
	/* Where there is no such place, it runs all the same. */
	agent.opt.once = false;
	agent.opt.run_dir = "/none/such/place";
	agent_publish(&agent);
	tick(0, 0);
	assert_int_equal(rmdir(own), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* Said once when it has lasted, forgotten when it is long over. */
static void test_imbalance(void **state)
{
	struct agent_crowded *c = NULL;
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct snap_qp *qp = made_qp(&fake.scene, 0, 30 + (uint32_t)i, 1);

		qp->uar = 1;
		qp->owner = 0;
	}
	fake.scene.uars[0].qps = 5;
	strcpy(fake.scene.owners[0].comm, "kv\033");
	tick(0, 0);
	for (i = 0; i < 40; i++) {
		/* All of process 100, and the only one of process 200. */
		for (size_t q = 0; q < fake.scene.s.n_qps; q++)
			fake.scene.qps[q].wrs += 10;
		tick(100, 0);
		for (size_t k = 0; k < AGENT_CROWDED; k++) {
			if (!agent.crowded[k].pid)
				continue;
			c = &agent.crowded[k];
			assert_int_equal(c->pid, 100);
		}
		assert_int_equal(c && c->said, i >= 20);
	}
	assert_string_equal(c->comm, "kv?");
	assert_string_equal(c->name, "rxe0");
	assert_int_equal(agent.crowd.procs[0].advice, CROWD_UUARS);
	/* Silence for a while is no end. */
	for (i = 0; i < 90; i++)
		tick(100, 0);
	assert_int_equal(c->pid, 100);
	for (i = 0; i < 40; i++)
		tick(100, 0);
	assert_int_equal(c->pid, 0);
}

/* By what policy, when, where and by which readings. */
static void assert_decided(const struct snap_decision *d, uint64_t tick)
{
	assert_string_equal(d->policy, "port");
	assert_int_equal(d->tick, tick);
	assert_int_equal(d->has & SNAP_SEEN_DEV, SNAP_SEEN_DEV);
	assert_int_equal(d->has & SNAP_SEEN_PORT, SNAP_SEEN_PORT);
	assert_false(d->has & (SNAP_SEEN_UAR | SNAP_SEEN_QP | SNAP_STEPS_LEFT |
			       SNAP_ACTS_LEFT));
	assert_int_equal(d->dev, 0);
	assert_int_equal(d->port, 1);
	assert_int_equal(d->n_readings, 2);
	assert_string_equal(d->readings[0].signal, "port.util");
	assert_true(d->readings[0].known);
	assert_int_equal(d->readings[0].value, 950000);
	assert_string_equal(d->readings[1].signal, "job.qps");
	assert_int_equal(d->readings[1].value, 2000000);
}

static void test_acts_and_gives_back(void **state)
{
	int i;

	(void)state;
	tick(0, 0);
	assert_int_equal(fake.n_set, 2);
	assert_int_equal(fake.n_levels_set, 3);
	tick(100, 0.5);
	assert_int_equal(fake.acts, 0);
	tick(100, 0.95);
	assert_int_equal(fake.level[1], 1);
	assert_int_equal(fake.rank, 42);
	assert_int_equal(fake.ttl_ms, 2000);
	assert_string_equal(fake.got[0].reason,
			    "port: port rxe0/1 util 95 % > 80 % and job kv qps 2 > 0: level 0 -> 1");
	assert_decided(&fake.got[0].decision, 2);
	assert_false(fake.got[0].has_dev);
	for (i = 0; i < 5; i++)
		tick(100, 0.95);
	assert_int_equal(fake.level[1], 3);
	assert_int_equal(fake.acts, 3);
	for (i = 0; i < 3; i++)
		tick(100, 0.1);
	assert_int_equal(fake.level[1], 3);
	tick(100, 0.1);
	assert_int_equal(fake.level[1], -1);
	/* Nothing held: the lease is not kept for nothing. */
	assert_int_equal(fake.lease, 0);
	assert_int_equal(fake.ends, 1);
	assert_int_equal(fake.level[2], -1);
}

/* What is written to @of from catch_begin() to catch_end(). */
static FILE *caught, *catch_of;
static int catch_was;

static void catch_begin(FILE *of, int level, bool json)
{
	caught = tmpfile();
	catch_of = of;
	catch_was = dup(fileno(of));
	assert_true(caught && catch_was >= 0);
	fflush(of);
	assert_true(dup2(fileno(caught), fileno(of)) == fileno(of));
	log_open(level, json);
}

static const char *catch_end(void)
{
	static char text[4096];
	ssize_t n;

	fflush(catch_of);
	dup2(catch_was, fileno(catch_of));
	close(catch_was);
	log_open(-1, false);
	n = pread(fileno(caught), text, sizeof(text) - 1, 0);
	assert_true(n >= 0);
	text[n] = '\0';
	fclose(caught);
	return text;
}

/* The record of a decision, as --log-json prints it. */
static void test_logged(void **state)
{
	static const char *const want[] = {
		"{\"event\":\"decision\",\"time\":", ",\"tick\":1,\"dry_run\":false,\"batch\":",
		",\"policy\":\"port\",\"job\":\"kv\",\"dev\":\"rxe0\",\"port\":1,",
		"\"knob\":\"job.level\",\"old\":0,\"new\":1,\"undo\":false,",
		"\"signals\":{\"port.util\":0.95,\"job.qps\":2},\"cooldown\":100000000,",
		"\"reason\":\"port: port rxe0/1 util 95 % > 80 % and job kv qps 2 > 0: level 0 -> 1\"}\n",
	};
	const char *text, *at;
	size_t i;

	(void)state;
	catch_begin(stdout, -1, true);
	tick(0, 0);
	tick(100, 0.95);
	at = text = catch_end();
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		at = strstr(at, want[i]);
		if (!at)
			fail_msg("no %s in\n%s", want[i], text);
		at += strlen(want[i]);
	}
	assert_int_equal(*at, 0);
}

static void says(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("no '%s' in\n%s", what, text);
}

static void begin_dry(void)
{
	agent_free(&agent);
	opt.dry_run = true;
	begin();
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

/* The jobs are nowhere but in the file, and yet their QPs are theirs. */
static void test_dry_run(void **state)
{
	const char *text;
	size_t i;

	(void)state;
	begin_dry();
	fake.scene.s.n_jobs = 1;
	for (i = 0; i < fake.scene.s.n_qps; i++)
		fake.scene.qps[i].job = 0;
	fake.scene.jobs[0].stats[0].qps = 3;
	catch_begin(stderr, LOG_INFO, false);
	tick(0, 0);
	for (i = 0; i < 2; i++) {
		fake.scene.qps[0].wrs += 100;
		tick(100, 1);
	}
	text = catch_end();
	says(text, "dry run, would set job kv: class latency, 1 rules\n");
	says(text, "dry run, would set job bulk: class throughput, 1 rules\n");
	says(text, "dry run, would set level 3: DSCP 26\n");
	says(text, "dry run, would set level 1: DSCP 8, SL 1\n");
	says(text, "dry run, would set level 2: SL 4\n");
	says(text, "dry run, would act: job kv: port: port rxe0/1 util 100 % > 80 % and job kv qps 2 > 0: level 0 -> 1");
	assert_nothing_sent();
	assert_int_equal(policy_n_held(&agent.state), 1);
	assert_int_equal(read_job("kv")->stats[0].qps, 2);
	assert_int_equal(read_job("kv")->stats[0].wrs, 200);
	assert_int_equal(read_job("bulk")->stats[0].qps, 1);
	assert_int_equal(read_job("unassigned")->stats[0].qps, 0);
	/* The next reading begins with what the kernel says. */
	assert_int_equal(agent.snap[agent.cur].generation, 0);
	/* Once is enough. */
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

/* Beside the service, under another file: what that set stays as it is. */
static void test_dry_run_beside(void **state)
{
	struct snap_job *kv = &fake.scene.jobs[1], *bulk = &fake.scene.jobs[2];
	struct snap_job *old = made_job(&fake.scene, 3, "old", 2);
	struct snap_job *hand = made_job(&fake.scene, 4, "hand", 2);
	const char *text;

	(void)state;
	begin_dry();
	made_stat(old, 0, 2);
	made_stat(hand, 0, 0);
	/* The file has kv in another class, and QPs of old are kv's by it. */
	kv->class = 3;
	give_rule(kv, AGENT_ORIGIN, 1000, "else");
	give_rule(old, AGENT_ORIGIN, 1001, "kv");
	give_rule(hand, "cli", 100, "bulk");
	give_rule(bulk, AGENT_ORIGIN, 1001, "bulk");
	fake.scene.qps[0].job = fake.scene.qps[1].job = 3;
	kv->stats[0].qps = 0;
	catch_begin(stderr, LOG_INFO, false);
	tick(0, 0);
	tick(100, 1);
	text = catch_end();
	says(text, "dry run, would set job kv: class latency");
	says(text, "dry run, would remove job old: not in the policy file");
	says(text, "dry run, would act: job kv: ");
	assert_null(strstr(text, "job bulk"));
	assert_nothing_sent();
	assert_int_equal(old->n_rules, 1);
	assert_int_equal(kv->class, 3);
	assert_string_equal(kv->rules[0].comm, "else");
	assert_null(read_job("old"));
	assert_int_equal(read_job("kv")->class, 1);
	assert_int_equal(read_job("kv")->stats[0].qps, 2);
	/* Rules made by hand are asked first. */
	assert_int_equal(read_job("hand")->stats[0].qps, 1);
	assert_int_equal(read_job("bulk")->stats[0].qps, 0);
}

/* With the jobs of the file in the kernel, that has the better figures. */
static void test_dry_run_in_sync(void **state)
{
	(void)state;
	tick(0, 0);
	fake.scene.jobs[1].stats[0].created = 7;
	begin_dry();
	fake.n_set = fake.n_levels_set = 0;
	tick(0, 0);
	tick(100, 1);
	assert_nothing_sent();
	assert_int_equal(read_job("kv")->stats[0].created, 7);
	assert_int_equal(read_job("kv")->id, 1);
	assert_int_equal(policy_n_held(&agent.state), 1);
}

static void test_keeps_the_lease(void **state)
{
	int i;

	(void)state;
	tick(0, 0);
	for (i = 0; i < 4; i++)
		tick(100, 1);
	assert_int_equal(fake.level[1], 3);
	for (i = 0; i < 50; i++)
		tick(100, 0.7);
	assert_int_equal(fake.level[1], 3);
	assert_int_equal(fake.acts, 3);
	/* Every 700 ms, the first tick after a third of 2 s. */
	assert_in_range(fake.renewals, 6, 8);
}

/* The agent was stopped for longer than its lease: back to what it wanted. */
static void test_lease_ran_out(void **state)
{
	uint64_t first;

	(void)state;
	tick(0, 0);
	tick(100, 1);
	first = fake.lease;
	tick(5000, 0.7);
	assert_true(fake.lease && fake.lease != first);
	assert_int_equal(fake.level[1], 1);
	/* Told so by an event rather than by a refusal. */
	fake.event = (struct snap_event){ .kind = SNAP_EVENT_LEASE_END,
					.lease = fake.lease,
					.expired = true };
	fake.events_due = 1;
	fake.lease = 0;
	fake.level[1] = -1;
	agent_events(&agent);
	assert_int_equal(agent.lease, 0);
	tick(100, 0.7);
	assert_int_equal(fake.level[1], 1);
}

/* The lease is lost in the very tick that has something new to say. */
static void test_lease_lost_while_acting(void **state)
{
	(void)state;
	tick(0, 0);
	tick(100, 1);
	assert_int_equal(fake.level[1], 1);
	tick(5000, 1);
	assert_int_equal(fake.level[1], 2);
}

static void test_one_bad_item(void **state)
{
	struct config cfg;

	(void)state;
	config(&cfg, "jobs:\n"
		     "- {name: kv, class: latency, match: [{comm: kv}]}\n"
		     "- {name: bulk, class: throughput, match: [{comm: bulk}]}\n"
		     "policies:\n- {name: all, for: job, when: port.util > 80%, do: job.level = 2, undo: {when: port.util < 60%}}\n");
	agent_reload(&agent, &cfg);
	strcpy(fake.bad_job, "kv");
	tick(0, 0);
	tick(100, 1);
	tick(100, 1);
	assert_int_equal(fake.level[1], -1);
	assert_int_equal(fake.level[2], 2);
	assert_int_equal(policy_n_held(&agent.state), 1);
}

static void test_module_away(void **state)
{
	(void)state;
	fake.loaded = false;
	assert_int_equal(agent_tick(&agent), -ENODEV);
	assert_int_equal(agent_tick(&agent), -ENODEV);
	fake.loaded = true;
	tick(0, 0);
	tick(100, 1);
	assert_int_equal(fake.level[1], 1);
	fake.loaded = false;
	assert_int_equal(agent_tick(&agent), -ENODEV);
	assert_int_equal(policy_n_held(&agent.state), 0);
	fake_reset();
	tick(0, 0);
	assert_int_equal(fake.n_set, 2);
	tick(100, 1);
	assert_int_equal(fake.level[1], 1);
}

/* Gone and back between two ticks: only job 0's age tells. */
static void test_module_loaded_anew(void **state)
{
	size_t i;

	(void)state;
	tick(0, 0);
	tick(100, 1);
	fake_reset();
	for (i = 0; i < fake.scene.s.n_jobs; i++)
		fake.scene.jobs[i].since = 500;
	fake_pass(200, 1);
	assert_int_equal(agent_tick(&agent), -ENODEV);
	tick(100, 1);
	assert_int_equal(fake.n_set, 2);
	assert_int_equal(fake.opens, 1);
	tick(100, 1);
	assert_int_equal(fake.level[1], 1);
}

/*
 * Disarmed it looks as if every job had let go of all it used. Nothing is
 * decided by that, and the module is not back while it stays so.
 */
static void test_module_disarmed(void **state)
{
	struct snap_event ended = { .kind = SNAP_EVENT_LEASE_END };

	(void)state;
	tick(0, 0);
	tick(100, 1);
	assert_int_equal(policy_n_held(&agent.state), 1);
	ended.lease = fake.lease;
	fake_disarm();
	fake.event = ended;
	fake.events_due = 1;
	agent_events(&agent);
	fake_pass(1000, 0);
	assert_int_equal(agent_tick(&agent), -ENODEV);
	assert_true(agent.away_said);
	assert_int_equal(policy_n_held(&agent.state), 0);
	assert_int_equal(agent_tick(&agent), -ENODEV);
	assert_true(agent.away_said);
	assert_int_equal(fake.acts, 1);
	fake_reset();
	tick(0, 0);
	assert_false(agent.away_said);
	tick(100, 1);
	assert_int_equal(fake.level[1], 1);
}

/* Gone between reading and acting: nothing is tried on the one that comes. */
static void test_module_gone_while_acting(void **state)
{
	(void)state;
	tick(0, 0);
	tick(100, 1);
	assert_int_equal(fake.acts, 1);
	fake.act_error = -ENODEV;
	tick(100, 1);
	assert_int_equal(agent.lease, 0);
	assert_int_equal(fake.tries, 1);
	fake.act_error = 0;
}

static void test_not_allowed(void **state)
{
	(void)state;
	fake.scene.s.admin = false;
	assert_int_equal(agent_tick(&agent), -EPERM);
}

static void test_reload(void **state)
{
	struct config cfg;

	(void)state;
	tick(0, 0);
	tick(100, 1);
	assert_int_equal(fake.level[1], 1);
	/* The same policy under another ceiling goes on where it was. */
	config(&cfg, "jobs:\n- {name: kv, class: latency, match: [{comm: kv}]}\n"
		     "policies:\n- {name: port, for: job of class latency, when: port.util > 80%, do: job.level += 1, ceiling: 2, cooldown: 100ms, undo: {when: port.util < 60%}}\n");
	agent_reload(&agent, &cfg);
	tick(100, 1);
	tick(100, 1);
	assert_int_equal(fake.level[1], 2);
	/* bulk is no longer in the file, kv did not change. */
	assert_int_equal(fake.n_removed, 1);
	assert_string_equal(fake.removed[0], "bulk");
	assert_int_equal(fake.n_set, 2);
	/* A file without the policy lets go of what it held. */
	config(&cfg, "jobs:\n- {name: kv, class: latency, match: [{comm: kv}]}\n");
	agent_reload(&agent, &cfg);
	assert_int_equal(fake.level[1], -1);
	tick(100, 1);
	assert_int_equal(fake.lease, 0);
}

/* The policies' conditions; which objects a NIC is not asked for anew. */
static void test_reads_what_is_looked_at(void **state)
{
	static const struct {
		const char *when;
		bool devs, ports, jobs;
	} cases[] = {
		{ NULL, true, true, true },
		{ "job.qps > 3", true, true, true },
		{ "job.qps > 3 and port.util > 80%", true, false, true },
		{ "job.qps > 3 and sum(job.wr_rate over jobs of port) > 1k/s", true, false, true },
		{ "job.qps > 3 and dev.mtt_miss > 5%", false, true, true },
		{ "job.qps > 3 and job.mtts > 1000", true, true, false },
		{ "job.qps > 3 and dev.mtt_miss > 5% and port.util > 1%", false, false, true },
	};
	struct config cfg;
	char text[512];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text),
			 "jobs:\n- {name: kv, class: latency, match: [{comm: kv}]}\n%s%s%s",
			 cases[i].when ? "policies:\n- {name: p, for: job of class latency, when: " : "",
			 cases[i].when ? cases[i].when : "",
			 cases[i].when ? ", do: job.max_qps = 9, undo: {when: job.qps < 1}}\n" : "");
		config(&cfg, text);
		agent_reload(&agent, &cfg);
		tick(100, 0);
		assert_true(fake.want.devs && fake.want.ports && fake.want.uars &&
			    fake.want.qps && fake.want.jobs);
		assert_int_equal(fake.want.cached.devs, cases[i].devs);
		assert_int_equal(fake.want.cached.ports, cases[i].ports);
		assert_int_equal(fake.want.cached.jobs, cases[i].jobs);
	}
}

/* -1: it is not said. */
static void assert_level(uint32_t level, int dscp, int sl)
{
	const struct io_level *l = &fake.levels[level];

	assert_int_equal(l->has_dscp ? (int)l->dscp : -1, dscp);
	assert_int_equal(l->has_sl ? (int)l->sl : -1, sl);
}

/* Those that it does not have stay: nothing of it rests on them. */
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
	config(&cfg, "levels:\n- {level: 4, dscp: 33, sl: 2}\n- {level: 1, dscp: 9}\n");
	agent_reload(&agent, &cfg);
	tick(100, 0);
	assert_level(1, 9, -1);
	assert_level(3, 26, -1);
	assert_level(4, 33, 2);
	config(&cfg, "jobs: []\n");
	agent_reload(&agent, &cfg);
	tick(100, 0);
	assert_level(4, 33, 2);
}

/* The file is taken up when it is read, not whenever jobs come and go. */
static void test_levels_set_by_hand(void **state)
{
	(void)state;
	tick(0, 0);
	fake.levels[1] = (struct io_level){ 1, 1, 1, true, true };
	made_job(&fake.scene, 3, "mine", 2);
	tick(100, 0);
	assert_level(1, 1, 1);
}

/* More releases than a batch holds: what stays comes back under a new lease. */
static void test_many_releases(void **state)
{
	(void)state;
	tick(0, 0);
	tick(100, 1);
	let_go(&agent, SWIFTRDMA_BATCH_MAX + 1);
	assert_int_equal(fake.ends, 1);
	assert_int_equal(fake.level[1], -1);
	tick(10, 0.7);
	assert_int_equal(fake.level[1], 1);
	assert_int_equal(agent.lease, fake.lease);
}

static void test_stop(void **state)
{
	(void)state;
	tick(0, 0);
	tick(100, 1);
	assert_int_equal(fake.level[1], 1);
	agent_stop(&agent);
	assert_int_equal(fake.level[1], -1);
	assert_int_equal(fake.ends, 1);
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

static void test_results(void **state)
{
	struct snap_action done = { .knob = SWIFTRDMA_KNOB_LEVEL, .value = 1,
				    .job = "kv", .qps = 2, .qps_done = 2 };

	(void)state;
	tick(0, 0);
	tick(100, 1);
	assert_int_equal(agent.n_due, 1);
	fake.event = (struct snap_event){ .kind = SNAP_EVENT_ACTION,
					.action = &done, .batch = 99 };
	fake.events_due = 1;
	agent_events(&agent);
	assert_int_equal(agent.n_due, 1);	/* somebody else's */
	fake.event.batch = fake.last_batch;
	fake.events_due = 1;
	agent_events(&agent);
	assert_int_equal(agent.n_due, 0);
}

static const char *lose_events(void)
{
	fake.event = (struct snap_event){ .kind = SNAP_EVENT_LOST,
					.why = "so" };
	fake.events_due = 1;
	catch_begin(stderr, LOG_INFO, false);
	agent_events(&agent);
	return catch_end();
}

static void hold(uint64_t value, uint32_t done, uint32_t pending)
{
	fake.held[fake.n_held++] = (struct snap_action){
		.knob = SWIFTRDMA_KNOB_LEVEL, .value = value, .has_value = true,
		.job = "kv", .lease_id = fake.lease, .in_force = true,
		.qps = 2, .qps_done = done, .qps_pending = pending,
	};
}

/* A job that nobody is of is named, once, when there was time enough for somebody. */
static void test_hint(void **state)
{
	static const char hint[] = "job kv: its rules have matched no queue pair in a minute";
	const char *text;

	(void)state;
	catch_begin(stderr, LOG_INFO, false);
	tick(0, 0);
	tick(100, 0);
	fake.scene.jobs[1].stats[0].qps = 0;
	tick(30000, 0);
	assert_null(strstr(catch_end(), hint));
	catch_begin(stderr, LOG_INFO, false);
	tick(31000, 0);
	tick(61000, 0);
	text = catch_end();
	says(text, hint);
	assert_null(strstr(strstr(text, hint) + 1, hint));
	assert_null(strstr(text, "job bulk: its rules"));
}

/* What goes wrong each time is said some times, then that it went on. */
static void test_said_too_often(void **state)
{
	const char *text;
	size_t i, n = 0;

	(void)state;
	catch_begin(stderr, LOG_INFO, false);
	for (i = 0; i < 70; i++)
		log_msg(LOG_ERR, "job %zu is not set", i);
	for (i = 0; i < 30; i++)
		log_msg(LOG_INFO, "job %zu is set", i);
	text = catch_end();
	says(text, "job 19 is not set\n");
	assert_null(strstr(text, "job 20 is not set"));
	says(text, "job 29 is set\n");
	for (i = 0; i < KINDS; i++)
		kinds[i].since -= kinds[i].since ? WINDOW_NS : 0;
	catch_begin(stderr, LOG_INFO, false);
	for (i = 0; i < 2; i++)
		log_msg(LOG_ERR, "job %zu is not set", i);
	text = catch_end();
	says(text, "... and 50 more like the next one\n");
	for (; (text = strstr(text, "is not set")); text++)
		n++;
	assert_int_equal(n, 2);
}

/* Results that were lost are those of what the kernel holds. */
static void test_results_lost(void **state)
{
	const char *text;

	(void)state;
	tick(0, 0);
	tick(100, 1);
	hold(1, 1, 1);
	fake.held[0].error = -EBUSY;
	text = lose_events();
	says(text, "some events were lost: so\n");
	says(text, "result (batch 1/1): job kv: job.level = 1: 2 QPs, 1 done, 1 to be tried again, 0 that cannot change: cannot yet: not in RTS\n");
	/* Told once, as the kernel does, though one is still pending. */
	assert_int_equal(agent.n_due, 0);
	tick(100, 1);
	assert_int_equal(agent.n_due, 1);
	fake.n_held = 0;
	hold(2, 2, 0);
	text = lose_events();
	says(text, "result (batch 2/1): job kv: job.level = 2: 2 QPs, 2 done, 0 to");
	assert_null(strstr(text, "batch 1/"));
	assert_int_equal(agent.n_due, 0);
	says(lose_events(), "some events were lost");
	/* Somebody else's lease says nothing of ours. */
	tick(100, 1);
	fake.n_held = 0;
	hold(3, 2, 0);
	fake.held[0].lease_id++;
	says(lose_events(), "result (batch 3/1): job kv: not heard");
}

/* A release leaves nothing but the QPs that it has not reached. */
static void test_release_lost(void **state)
{
	int i;

	(void)state;
	tick(0, 0);
	tick(100, 1);
	agent.n_due = 0;
	agent.batch[0] = (struct snap_action){
		.knob = SWIFTRDMA_KNOB_LEVEL, .clear = true, .job = "kv",
	};
	agent_due_add(&agent, 7, 1);
	fake.held[fake.n_held++] = (struct snap_action){
		.kind = SWIFTRDMA_ACTION_KIND_PENDING, .job = "kv",
		.knob = SWIFTRDMA_KNOB_LEVEL, .has_dev = true, .qpn = 17,
		.error = -EBUSY,
	};
	says(lose_events(), "result (batch 7/1): job kv: job.level released: 2 QPs, 1 done, 1 to be tried again, 0 that cannot change: ");
	assert_int_equal(agent.n_due, 0);
	fake.n_held = 0;
	agent_due_add(&agent, 8, 1);
	says(lose_events(), "result (batch 8/1): job kv: job.level released: 2 QPs, 2 done, 0 to");
	/* Of a limit the kernel says of no QP how far it is. */
	agent.batch[0].knob = SWIFTRDMA_KNOB_MAX_QPS;
	agent_due_add(&agent, 9, 1);
	says(lose_events(), "result (batch 9/1): job kv: job.max_qps released");
	assert_int_equal(agent.n_due, 0);
	/* There is room for so many: the oldest go. */
	for (i = 0; i < 5; i++)
		agent_due_add(&agent, 10 + (uint64_t)i, SWIFTRDMA_BATCH_MAX);
	assert_int_equal(agent.n_due, AGENT_DUE);
	assert_int_equal(agent.due[0].batch, 13);
	assert_int_equal(agent.due[AGENT_DUE - 1].batch, 14);
}

static void test_reading_fails(void **state)
{
	(void)state;
	tick(0, 0);
	fake.snapshot_error = -EAGAIN;
	assert_int_equal(agent_tick(&agent), 0);
	fake.snapshot_error = 0;
	tick(100, 1);
	assert_int_equal(fake.level[1], 1);
}

/* Once: what failed is not tried again, and must not look like nothing to do. */
static void test_once(void **state)
{
	(void)state;
	assert_int_equal(agent_once(&agent), EXIT_SUCCESS);
	fake.snapshot_error = -EAGAIN;
	assert_int_equal(agent_once(&agent), EXIT_FAILURE);
	fake.snapshot_error = 0;
	fake.loaded = false;
	assert_int_equal(agent_once(&agent), EXIT_FAILURE);
}

int main(void)
{
#define T(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_publish), T(test_imbalance), T(test_acts_and_gives_back),
		T(test_logged),
		T(test_dry_run), T(test_dry_run_beside),
		T(test_dry_run_in_sync),
		T(test_keeps_the_lease), T(test_lease_ran_out),
		T(test_lease_lost_while_acting), T(test_one_bad_item),
		T(test_module_away), T(test_module_loaded_anew),
		T(test_module_disarmed), T(test_module_gone_while_acting),
		T(test_not_allowed), T(test_reload),
		T(test_reads_what_is_looked_at), T(test_many_releases), T(test_stop),
		T(test_levels_of_the_file), T(test_levels_set_by_hand),
		T(test_foreign_rules_stay), T(test_results),
		T(test_hint), T(test_said_too_often), T(test_results_lost), T(test_release_lost),
		T(test_reading_fails), T(test_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
