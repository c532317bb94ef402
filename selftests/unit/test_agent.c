// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The agent acts, keeps its lease, and survives the loss of the lease and the module. */
#include "unit/agent_rig.h"

/* The decision names its policy, tick, device, port and the readings it rests on. */
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
	/* The agent holds nothing any more, so it ends its lease. */
	assert_int_equal(fake.lease, 0);
	assert_int_equal(fake.ends, 1);
	assert_int_equal(fake.level[2], -1);
}

/* After a reload with another rank the overrides in force have that rank. */
static void test_changes_rank(void **state)
{
	char text[sizeof(policy)];
	struct config cfg;
	uint64_t was;

	(void)state;
	tick(0, 0);
	tick(100, 0.95);
	assert_int_equal(fake.level[1], 1);
	was = fake.lease;
	memcpy(text, policy, sizeof(text));
	memcpy(strstr(text, "rank: 42"), "rank: 43", 8);
	load_config(&cfg, text);
	agent_reload(&agent, &cfg);
	assert_int_not_equal(fake.lease, was);
	assert_int_equal(agent.lease, fake.lease);
	assert_int_equal(fake.rank, 43);
	assert_int_equal(fake.level[1], 1);
	/* The same file again changes nothing. */
	was = fake.lease;
	load_config(&cfg, text);
	agent_reload(&agent, &cfg);
	assert_int_equal(fake.lease, was);
	tick(100, 0.1);
	for (int i = 0; i < 4; i++)
		tick(100, 0.1);
	assert_int_equal(fake.level[1], -1);
	assert_int_equal(fake.lease, 0);
}

/* For forgotten moves the agent ends its lease, and issues the overrides that it holds under a new one. */
static void test_forgotten(void **state)
{
	uint64_t was;

	(void)state;
	tick(0, 0);
	tick(100, 0.95);
	was = fake.lease;
	agent.state.forgotten = 3;
	tick(100, 0.7);
	assert_int_not_equal(fake.lease, was);
	assert_int_equal(agent.lease, fake.lease);
	assert_int_equal(fake.level[1], 1);
	assert_int_equal(agent.state.forgotten, 0);
	was = fake.lease;
	tick(100, 0.7);
	assert_int_equal(fake.lease, was);
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
	/* One renewal every 700 ms, at the first tick after a third of the 2 s lease. */
	assert_in_range(fake.renewals, 6, 8);
}

/* An agent that was stopped for longer than its lease takes a new one, with the same level. */
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
	/* An event, not a refusal, tells the agent that its lease is gone. */
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

/*
 * The lease has expired when a tick has a new decision to send. The agent then sends all
 * overrides in another batch, and logs the decision without a batch.
 */
static void test_lease_lost_while_acting(void **state)
{
	const char *text;

	(void)state;
	tick(0, 0);
	begin_capture(stderr, LOG_INFO, false);
	tick(100, 1);
	assert_says(end_capture(), "act (batch 1): job kv: port: ");
	assert_int_equal(fake.level[1], 1);
	begin_capture(stderr, LOG_INFO, false);
	tick(5000, 1);
	text = end_capture();
	assert_says(text, "the lease is lost: ");
	assert_says(text, "act: job kv: port: ");
	assert_says(text, "1 overrides issued anew (batch 2)");
	assert_null(strstr(text, "batch 0"));
	assert_int_equal(fake.level[1], 2);
}

static void test_one_bad_item(void **state)
{
	struct config cfg;

	(void)state;
	load_config(&cfg, "jobs:\n"
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

/* A lease lives as long as the old file says until it is renewed, which is at once. */
static void test_reload_longer_lease(void **state)
{
	char text[sizeof(policy) + 2];
	struct config cfg;
	char *at;

	(void)state;
	tick(0, 0);
	tick(100, 0.9);
	strcpy(text, policy);
	at = strstr(text, "lease: 2s");
	memmove(at + 10, at + 9, strlen(at + 9) + 1);
	memcpy(at, "lease: 20s", 10);
	load_config(&cfg, text);
	agent_reload(&agent, &cfg);
	for (int i = 0; i < 50; i++)
		tick(100, 0.7);
	assert_int_equal(fake.level[1], 1);
	assert_int_equal(fake.last_lease, 1);
}

/* A job that is gone is no lost lease: what the others have stays in force throughout. */
static void test_one_job_gone(void **state)
{
	struct config cfg;

	(void)state;
	load_config(&cfg, "jobs:\n"
		     "- {name: kv, class: latency, match: [{comm: kv}]}\n"
		     "- {name: bulk, class: throughput, match: [{comm: bulk}]}\n"
		     "policies:\n- {name: some, for: job bulk, when: port.util > 50%, do: job.level = 1, undo: {when: port.util < 30%}}\n"
		     "- {name: all, for: job, when: port.util > 80%, do: job.max_qps = 100, undo: {when: port.util < 60%}}\n");
	agent_reload(&agent, &cfg);
	tick(0, 0);
	tick(100, 0.7);
	assert_int_equal(fake.level[2], 1);
	strcpy(fake.gone_job, "kv");
	tick(100, 1);
	tick(100, 1);
	assert_int_equal(fake.level[2], 100);
	assert_int_equal(fake.last_lease, 1);
	assert_int_equal(fake.ends, 0);
}

/* A knob that libraries enforce is not asked for where a job has none; the other job has. */
static void test_without_library(void **state)
{
	struct snap_job_report *kv, *bulk;
	struct config cfg;

	(void)state;
	load_config(&cfg, "jobs:\n"
		     "- {name: kv, class: latency, match: [{comm: kv}]}\n"
		     "- {name: bulk, class: throughput, match: [{comm: bulk}]}\n"
		     "policies:\n- {name: all, for: job, when: port.util > 80%, do: job.credits = 8, cooldown: 10ms, undo: {when: port.util < 60%}}\n");
	agent_reload(&agent, &cfg);
	kv = made_job_report(&fake.scene, 1, 0, 1);
	bulk = made_job_report(&fake.scene, 2, 0, 3);
	bulk->n_held = 1;
	bulk->held[0] = (struct snap_held){ .knob = SWIFTRDMA_KNOB_CREDITS, .processes = 1 };
	begin_capture(stderr, LOG_INFO, false);
	tick(0, 0);
	assert_true(fake.want.reports);
	tick(100, 1);
	tick(100, 1);
	tick(100, 1);
	assert_says(end_capture(), "no process of the job has libswiftrdma, which enforces job.credits");
	assert_int_equal(fake.level[1], -1);
	assert_int_equal(fake.level[2], 8);
	assert_int_equal(policy_n_held(&agent.state), 1);
	/* A process with the library comes. */
	kv->held[0] = bulk->held[0];
	kv->n_held = 1;
	tick(100, 1);
	tick(100, 1);
	assert_int_equal(fake.level[1], 8);
}

/*
 * Properties of jobs are set while a library of the job can enforce them, and released when none
 * can any more.
 */
static void test_settings(void **state)
{
	struct snap_job_report *kv;
	struct config cfg;

	(void)state;
	load_config(&cfg, "agent: {lease: 2s, rank: 42}\njobs:\n"
		     "- {name: kv, class: latency, chunk: 64KiB, huge_pages: no, match: [{comm: kv}]}\n"
		     "- {name: bulk, class: throughput, match: [{comm: bulk}]}\n");
	agent_reload(&agent, &cfg);
	tick(0, 0);
	assert_true(fake.want.reports);
	assert_int_equal(fake.acts, 0);
	kv = made_job_report(&fake.scene, 1, 0, 1);
	kv->n_held = 2;
	kv->held[0] = (struct snap_held){ .knob = SWIFTRDMA_KNOB_CHUNK, .processes = 1 };
	kv->held[1] = (struct snap_held){ .knob = SWIFTRDMA_KNOB_HUGE_PAGES, .processes = 1 };
	/* Reports that no policy needs are read in one tick of ten. */
	tick(100, 0);
	assert_false(fake.want.reports);
	for (int i = 0; i < 10; i++)
		tick(100, 0);
	assert_int_equal(fake.n_got, 1);
	assert_int_equal(fake.got[0].knob, SWIFTRDMA_KNOB_CHUNK);
	assert_int_equal(fake.got[0].value, 65536);
	assert_string_equal(fake.got[0].job, "kv");
	assert_int_equal(fake.rank, 42);
	/* The lease is renewed, and nothing is sent twice. */
	for (int i = 0; i < 40; i++)
		tick(100, 0);
	assert_int_equal(fake.n_got, 1);
	assert_true(fake.lease && fake.renewals > 3);
	/* A lease that is lost is taken anew. */
	fake.lease = 0;
	for (int i = 0; i < 20; i++)
		tick(100, 0);
	assert_int_equal(fake.n_got, 2);
	assert_int_equal(fake.level[1], 65536);
	/* The process with the library ends. */
	kv->held[0].processes = 0;
	for (int i = 0; i < 10; i++)
		tick(100, 0);
	assert_true(fake.got[2].clear && fake.got[2].knob == SWIFTRDMA_KNOB_CHUNK);
	assert_int_equal(fake.lease, 0);
	assert_int_equal(fake.level[1], -1);
}

/* Memory of a job under the library is collapsed unless the file says no. */
static void test_settings_default(void **state)
{
	struct snap_job_report *bulk;
	struct config cfg;

	(void)state;
	load_config(&cfg, "jobs:\n- {name: kv, class: latency, match: [{comm: kv}]}\n"
		     "- {name: bulk, class: throughput, match: [{comm: bulk}]}\n");
	agent_reload(&agent, &cfg);
	bulk = made_job_report(&fake.scene, 2, 0, 1);
	bulk->n_held = 1;
	bulk->held[0] = (struct snap_held){ .knob = SWIFTRDMA_KNOB_HUGE_PAGES, .processes = 3 };
	tick(0, 0);
	assert_int_equal(fake.n_got, 1);
	assert_int_equal(fake.got[0].knob, SWIFTRDMA_KNOB_HUGE_PAGES);
	assert_int_equal(fake.got[0].value, 1);
	assert_string_equal(fake.got[0].job, "bulk");
	/* Another file, without it. */
	load_config(&cfg, "jobs:\n- {name: kv, class: latency, match: [{comm: kv}]}\n"
		     "- {name: bulk, class: throughput, huge_pages: no, match: [{comm: bulk}]}\n");
	agent_reload(&agent, &cfg);
	for (int i = 0; i < 10; i++)
		tick(100, 0);
	assert_int_equal(fake.n_got, 2);
	assert_true(fake.got[1].clear);
	assert_int_equal(fake.lease, 0);
}

static void test_settings_dry_run(void **state)
{
	struct snap_job_report *kv;
	const char *log;

	(void)state;
	/* An agent that acts sets the jobs; of those that are assumed nothing is reported. */
	tick(0, 0);
	agent.opt.dry_run = true;
	kv = made_job_report(&fake.scene, 1, 0, 1);
	kv->n_held = 1;
	kv->held[0] = (struct snap_held){ .knob = SWIFTRDMA_KNOB_HUGE_PAGES, .processes = 1 };
	begin_capture(stderr, LOG_INFO, false);
	for (int i = 0; i < 10; i++)
		tick(100, 0);
	log = end_capture();
	assert_says(log, "dry run, would: job kv: job.huge_pages = yes, as the policy file says");
	assert_int_equal(fake.acts, 0);
}

static void wish(struct snap_qp *qp, uint32_t level)
{
	qp->has |= SNAP_PEER_WISH;
	qp->peer_wish = level;
}

#define FOLLOWING							\
	"agent: {lease: 2s, rank: 42}\n"				\
	"levels: [{level: 1, dscp: 8}, {level: 3, dscp: 26}]\n"		\
	"jobs:\n"							\
	"- {name: kv, class: latency, huge_pages: no, match: [{comm: kv}]%s}\n" \
	"- {name: bulk, class: throughput, huge_pages: no, match: [{comm: bulk}]}\n" \
	"order: kv > bulk\n"

static void load_following(const char *property)
{
	struct config cfg;
	char text[1024];

	snprintf(text, sizeof(text), FOLLOWING, property);
	load_config(&cfg, text);
	agent_reload(&agent, &cfg);
}

static struct snap_qp *qp_of_job(uint32_t job)
{
	for (size_t i = 0; i < fake.scene.s.n_qps; i++)
		if (fake.scene.qps[i].job == job)
			return &fake.scene.qps[i];
	fail();
	return NULL;
}

/* Wishes of peers are followed as far as the order allows, for as long as there are any. */
static void test_follows(void **state)
{
	struct snap_qp *qp = qp_of_job(1);

	(void)state;
	load_following(", follow: peers");
	tick(0, 0);
	tick(100, 0);
	assert_int_equal(fake.acts + fake.renewals, 0);
	wish(qp, 3);
	tick(100, 0);
	assert_int_equal(fake.n_got, 1);
	assert_int_equal(fake.got[0].knob, SWIFTRDMA_KNOB_FOLLOW);
	assert_string_equal(fake.got[0].job, "kv");
	/* The only job that goes before another has the lowest level. */
	assert_int_equal(fake.got[0].value, 1);
	assert_int_equal(fake.rank, 42);
	assert_non_null(strstr(fake.got[0].reason, "peer wishes level 3 for QP "));
	assert_non_null(strstr(fake.got[0].reason, "; the order allows 1"));
	for (int i = 0; i < 40; i++)
		tick(100, 0);
	assert_int_equal(fake.n_got, 1);
	assert_true(fake.lease && fake.renewals > 3);
	/* A lease that is lost is taken anew. */
	fake.lease = 0;
	for (int i = 0; i < 20; i++)
		tick(100, 0);
	assert_int_equal(fake.n_got, 2);
	assert_int_equal(fake.level[1], 1);
	/* Another file allows more. */
	load_following(", follow: 2");
	tick(100, 0);
	assert_int_equal(fake.got[2].value, 2);
	assert_non_null(strstr(fake.got[2].reason, "; the file allows 2"));
	qp->has &= ~(uint64_t)SNAP_PEER_WISH;
	tick(100, 0);
	assert_true(fake.got[3].clear);
	assert_int_equal(fake.got[3].knob, SWIFTRDMA_KNOB_FOLLOW);
	assert_int_equal(fake.lease, 0);
}

/* An agent that does not follow has a lease all the same, which tells that there is an agent. */
static void test_does_not_follow(void **state)
{
	(void)state;
	load_following("");
	wish(qp_of_job(1), 3);
	tick(0, 0);
	for (int i = 0; i < 40; i++)
		tick(100, 0);
	assert_int_equal(fake.acts, 0);
	assert_true(fake.lease && fake.renewals > 3);
	qp_of_job(1)->has &= ~(uint64_t)SNAP_PEER_WISH;
	tick(100, 0);
	assert_int_equal(fake.lease, 0);
	/* A job that follows is not raised for the wishes of another job's peers. */
	load_following(", follow: peers");
	wish(qp_of_job(2), 3);
	for (int i = 0; i < 20; i++)
		tick(100, 0);
	assert_int_equal(fake.acts, 0);
	assert_true(fake.lease);
}

static void test_follows_dry_run(void **state)
{
	const char *log;

	(void)state;
	load_following(", follow: peers");
	tick(0, 0);
	agent.opt.dry_run = true;
	wish(qp_of_job(1), 3);
	begin_capture(stderr, LOG_INFO, false);
	tick(100, 0);
	qp_of_job(1)->has &= ~(uint64_t)SNAP_PEER_WISH;
	tick(100, 0);
	log = end_capture();
	assert_says(log, "dry run, would: job kv: job.follow = 1: peer wishes level 3 for QP ");
	assert_says(log, "dry run, would: job kv: job.follow released: no peer wishes a level any more");
	assert_int_equal(fake.acts + fake.renewals, 0);
}

/* More releases than fit in a batch: the agent ends its lease, and takes a new one. */
static void test_many_releases(void **state)
{
	(void)state;
	tick(0, 0);
	tick(100, 1);
	release_dropped(&agent, SWIFTRDMA_BATCH_MAX + 1);
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

/* --once does not try again, so a failed reading must be its exit status. */
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

/* Logged once, with what loads the module now and at each start. */
static void test_module_away(void **state)
{
	static const char away[] =
		"swiftrdma.ko is away, waiting for it: it is not loaded ('modprobe swiftrdma'; at each start, a line 'swiftrdma' in /etc/modules-load.d/swiftrdma.conf)\n";
	const char *text;

	(void)state;
	fake.loaded = false;
	begin_capture(stderr, LOG_INFO, false);
	assert_int_equal(agent_tick(&agent), -ENODEV);
	assert_int_equal(agent_tick(&agent), -ENODEV);
	text = end_capture();
	assert_says(text, away);
	assert_null(strstr(strstr(text, "is away") + 1, "is away"));
	fake.loaded = true;
	begin_capture(stderr, LOG_INFO, false);
	tick(0, 0);
	assert_says(end_capture(), "swiftrdma.ko is back\n");
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

/* The module was reloaded between two ticks: only the age of job 0 shows it. */
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
 * A reading of a disarmed module looks as if no job had a QP any more. The agent decides
 * nothing by it, and takes the module for absent until it is armed again.
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

/* The module went between reading and acting: the agent sends nothing more in this tick. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_acts_and_gives_back),
		T(test_changes_rank), T(test_forgotten), T(test_keeps_the_lease), T(test_lease_ran_out),
		T(test_lease_lost_while_acting), T(test_one_bad_item),
		T(test_reload_longer_lease), T(test_one_job_gone),
		T(test_without_library), T(test_settings), T(test_settings_default),
		T(test_settings_dry_run), T(test_follows), T(test_does_not_follow),
		T(test_follows_dry_run), T(test_many_releases),
		T(test_stop), T(test_reading_fails), T(test_once), T(test_module_away),
		T(test_module_loaded_anew), T(test_module_disarmed),
		T(test_module_gone_while_acting), T(test_not_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
