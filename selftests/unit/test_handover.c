// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* One agent leaves its overrides, and another goes on with them. */
#include "unit/agent_rig.h"

/* What the fake kernel tells of the override that the policy "port" has on job kv. */
static struct snap_action left(uint64_t level)
{
	struct snap_action o = {
		.kind = SWIFTRDMA_ACTION_KIND_OVERRIDE, .knob = SWIFTRDMA_KNOB_LEVEL,
		.value = level, .job = "kv", .reason = "port: it was full",
		.in_force = true, .lease_id = fake.lease, .lease_rank = 42,
		.lease_origin = AGENT_ORIGIN,
		.decision = {
			.policy = "port", .has = SNAP_SEEN_DEV | SNAP_SEEN_PORT,
			.dev = fake.scene.devs[0].index, .port = 1,
		},
	};

	return o;
}

/* An agent raises kv to @level, and leaves; the next one is there 500 ms later. */
static void hand_over(int level, const char *text)
{
	struct config cfg;

	tick(0, 0);
	for (int i = 0; i < level; i++)
		tick(100, 0.9);
	assert_int_equal(fake.level[1], level);
	agent_leave(&agent);
	agent_free(&agent);
	assert_int_equal(fake.ends, 0);
	fake.held[0] = left((uint64_t)level);
	fake.n_held = 1;
	fake_pass(500, 0.7);
	load_config(&cfg, text);
	agent_init(&agent, &opt, &cfg);
}

static void test_goes_on(void **state)
{
	uint64_t lease, acts;

	(void)state;
	hand_over(2, policy);
	lease = fake.lease;
	acts = fake.acts;
	/* Neither full enough to act on, nor idle enough to undo: only the lease goes on. */
	for (int i = 0; i < 50; i++)
		tick(100, 0.7);
	assert_int_equal(fake.level[1], 2);
	assert_int_equal(fake.lease, lease);
	assert_int_equal(fake.acts, acts);
	/* It goes on from there, up and down. */
	tick(100, 0.9);
	tick(100, 0.9);
	assert_int_equal(fake.level[1], 3);
	for (int i = 0; i < 20; i++)
		tick(100, 0.1);
	assert_int_equal(fake.level[1], -1);
	tick(100, 0.1);
	assert_int_equal(fake.lease, 0);
}

/* The lease of the agent before is as long as if that had renewed it when it left. */
static void test_leaves_a_whole_lease(void **state)
{
	uint64_t now;

	(void)state;
	tick(0, 0);
	tick(100, 0.9);
	tick(600, 0.7);
	now = fake.scene.s.time;
	agent_leave(&agent);
	assert_int_equal(fake.lease_end, now + 2000 * MS);
	assert_int_equal(fake.level[1], 1);
}

static void test_other_policies(void **state)
{
	static const char other[] =
		"agent: {interval: 100ms, lease: 2s, rank: 42}\n"
		"jobs:\n- {name: kv, class: latency, match: [{comm: kv}]}\n"
		"policies:\n"
		"- {name: other, for: job of class latency, when: port.util > 99%,\n"
		"   do: job.level += 1, ceiling: 3, undo: {when: port.util < 60%}}\n";

	(void)state;
	hand_over(1, other);
	tick(0, 0.7);
	assert_int_equal(fake.level[1], -1);
	tick(100, 0.7);
	assert_int_equal(fake.lease, 0);
}

static void test_other_rank(void **state)
{
	char text[sizeof(policy)];
	uint64_t lease;

	(void)state;
	strcpy(text, policy);
	memcpy(strstr(text, "rank: 42"), "rank: 43", 8);
	hand_over(1, text);
	lease = fake.lease;
	tick(0, 0.7);
	tick(100, 0.7);
	assert_int_equal(fake.level[1], 1);
	assert_true(fake.lease != lease);
	assert_int_equal(fake.rank, 43);
}

/* Of others, or without a policy, as a property of the job: not the agent's to go on with. */
static void test_not_its_own(void **state)
{
	(void)state;
	tick(0, 0);
	agent_free(&agent);
	fake.lease = 7;
	fake.lease_end = fake.scene.s.time + 1000 * MS;
	fake.held[0] = left(2);
	strcpy(fake.held[0].lease_origin, "cli");
	fake.held[1] = left(2);
	fake.held[1].decision.policy[0] = '\0';
	fake.held[2] = left(2);
	fake.held[2].kind = SWIFTRDMA_ACTION_KIND_PENDING;
	fake.n_held = 3;
	start_agent();
	for (int i = 0; i < 5; i++)
		tick(100, 0.7);
	assert_int_equal(fake.lease, 7);
	assert_int_equal(fake.renewals + fake.ends, 0);
}

/* The lease ran out in between: what is held is issued anew. */
static void test_too_late(void **state)
{
	(void)state;
	hand_over(1, policy);
	fake.lease = 0;
	fake.level[1] = -1;
	tick(0, 0.7);
	tick(100, 0.7);
	assert_int_equal(fake.level[1], 1);
}

/*
 * A module that is being disarmed takes no changes, and may refuse in the end: the lease and
 * the overrides under it hold all along, and the same agent goes on with them.
 */
static void test_refused_disarm(void **state)
{
	uint64_t lease;

	(void)state;
	tick(0, 0);
	tick(100, 0.9);
	tick(100, 0.9);
	assert_int_equal(fake.level[1], 2);
	lease = fake.lease;
	fake.held[0] = left(2);
	fake.n_held = 1;
	fake.disarmed = true;
	for (int i = 0; i < 2; i++) {
		fake_pass(500, 0.7);
		assert_int_equal(agent_tick(&agent), -ENODEV);
	}
	fake.disarmed = false;
	for (int i = 0; i < 50; i++)
		tick(100, 0.7);
	assert_int_equal(fake.level[1], 2);
	assert_int_equal(fake.lease, lease);
	tick(100, 0.9);
	assert_int_equal(fake.level[1], 3);
	for (int i = 0; i < 20; i++)
		tick(100, 0.1);
	assert_int_equal(fake.level[1], -1);
}

/* The disarm began between a reading and an act: that takes nothing from the agent either. */
static void refuse_act(uint64_t ms, double share)
{
	const char *text;

	fake.act_error = -ESHUTDOWN;
	fake_pass(ms, share);
	begin_capture(stderr, LOG_INFO, false);
	assert_int_equal(agent_tick(&agent), -ENODEV);
	text = end_capture();
	assert_says(text, "swiftrdma.ko is away, waiting for it: it is disarmed, or being disarmed,");
	assert_null(strstr(text, "lost"));
	assert_null(strstr(text, "not done"));
	fake.act_error = 0;
}

static void test_refused_disarm_while_acting(void **state)
{
	uint64_t lease;

	(void)state;
	tick(0, 0);
	tick(100, 0.9);
	lease = fake.lease;
	fake.held[0] = left(1);
	fake.n_held = 1;
	refuse_act(100, 0.9);		/* a decision */
	tick(100, 0.7);
	refuse_act(1000, 0.7);		/* a renewal */
	tick(100, 0.7);
	tick(100, 0.7);
	assert_int_equal(fake.lease, lease);
	assert_int_equal(fake.level[1], 1);
	tick(100, 0.9);
	assert_int_equal(fake.level[1], 2);
	assert_int_equal(fake.lease, lease);
}

/* Settings are set anew at once, before the lease that the agent had forgotten runs out. */
static void test_refused_disarm_settings(void **state)
{
	struct snap_job_report *kv = made_job_report(&fake.scene, 1, 0, 1);
	struct config cfg;

	(void)state;
	load_config(&cfg, "agent: {lease: 2s}\njobs:\n"
		    "- {name: kv, class: latency, chunk: 64KiB, huge_pages: no, match: [{comm: kv}]}\n");
	agent_reload(&agent, &cfg);
	kv->n_held = 1;
	kv->held[0] = (struct snap_held){ .knob = SWIFTRDMA_KNOB_CHUNK, .processes = 1 };
	tick(0, 0);
	assert_int_equal(fake.n_got, 1);
	/* The module refuses the renewal, and then also the disarm: the lease goes on. */
	fake.act_error = -ESHUTDOWN;
	tick(1000, 0);
	assert_int_equal(fake.tries, 1);
	fake.act_error = 0;
	tick(100, 0);
	assert_int_equal(fake.renewals, 1);
	assert_int_equal(fake.n_got, 1);
	/* A reading tells of the disarm. */
	fake.disarmed = true;
	assert_int_equal(agent_tick(&agent), -ENODEV);
	assert_int_equal(agent_tick(&agent), -ENODEV);
	fake.disarmed = false;
	tick(500, 0);
	assert_int_equal(fake.n_got, 2);
	assert_int_equal(fake.got[1].knob, SWIFTRDMA_KNOB_CHUNK);
	for (int i = 0; i < 40; i++)
		tick(100, 0);
	assert_int_equal(fake.level[1], 65536);
}

/* An agent takes over when it connects, and not what another agent sets later. */
static void test_once(void **state)
{
	(void)state;
	tick(0, 0);
	fake.lease = 7;
	fake.lease_end = fake.scene.s.time + 1000 * MS;
	fake.held[0] = left(2);
	fake.n_held = 1;
	for (int i = 0; i < 5; i++)
		tick(100, 0.7);
	assert_int_equal(fake.renewals + fake.ends, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_goes_on),
		T(test_leaves_a_whole_lease),
		T(test_other_policies),
		T(test_other_rank),
		T(test_not_its_own),
		T(test_too_late),
		T(test_refused_disarm),
		T(test_refused_disarm_while_acting),
		T(test_refused_disarm_settings),
		T(test_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
