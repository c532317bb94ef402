// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What a decision says of itself, and what the command shows of it. */
#include <errno.h>
#include <stdlib.h>

#include "unit/eval_rig.h"

#include "cli/cli.h"

static void quota(const char *want)
{
	char buf[128];
	struct text t;

	text_init(&t, buf, sizeof(buf));
	reason_quota(&t, &out[0]);
	assert_string_equal(buf, want);
}

/* Tick, where it was true, the values, and what is left. */
static void test_record(void **state)
{
	struct policy *p = add("p", "job kv", "uar.coactive > 50% and qp.wr_rate > 100/s",
			       "job.level += 1", "uar.coactive < 20%");

	(void)state;
	p->max_steps = 3;
	p->rate = p->burst = 5;
	p->cooldown = 500 * MS;
	assert_int_equal(eval(1000), 0);
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.9);
	signal_set(&sig, SIG_QP_WR_RATE, 1, 500);
	assert_int_equal(eval(1100), 1);
	assert_int_equal(out[0].tick, 2);
	assert_true(out[0].seen.has_dev && out[0].seen.has_port &&
		    out[0].seen.has_uar && out[0].seen.has_qp);
	assert_string_equal(out[0].seen.dev, "rxe0");
	assert_int_equal(out[0].seen.dev_index, 0);
	assert_int_equal(out[0].seen.port, 1);
	assert_int_equal(out[0].seen.uar, 1);
	assert_int_equal(out[0].seen.qpn, 18);
	assert_int_equal(out[0].seen.n_values, 2);
	assert_int_equal(out[0].steps_left, 2);
	assert_int_equal(out[0].acts_left, 4);
	assert_string_equal(out[0].reason,
			    "p: uar rxe0/1 coactive 90 % > 50 % and qp rxe0/18 wr_rate 500/s > 100/s: level 0 -> 1");
	quota(" [tick 2, next in 500 ms, 2 steps left, 4 acts left]");
	/* As little as there is. */
	p->max_steps = 0;
	p->rate = 0;
	p->cooldown = 0;
	assert_int_equal(eval(2000), 1);
	quota(" [tick 3]");
}

/* What is issued anew is told with the tick in which it was decided, and by what. */
static void test_issued_anew(void **state)
{
	struct policy_state next;
	size_t pos = 0;

	(void)state;
	add("p", "job kv", "port.util > 80%", "job.level = 3", "port.util < 60%");
	util(0.9);
	assert_int_equal(eval(1000), 1);
	util(0.95);
	assert_int_equal(eval(1100), 0);
	assert_int_equal(policy_held(&st, &pos, out, DECISIONS), 1);
	assert_int_equal(out[0].tick, 1);
	assert_true(out[0].seen.has_port && out[0].seen.port == 1);
	assert_int_equal(out[0].seen.n_values, 1);
	assert_true(out[0].seen.values[0].sig == SIG_PORT_UTIL &&
		    out[0].seen.values[0].v == 0.9);
	/* Another file goes on counting. */
	policy_state_init(&next);
	assert_int_equal(policy_state_reserve_jobs(&next, &set, 8), 0);
	assert_int_equal(policy_carry(&set, &next, &set, &st, out, DECISIONS), 0);
	policy_state_free(&st);
	st = next;
	pos = 0;
	assert_int_equal(policy_held(&st, &pos, out, DECISIONS), 1);
	assert_true(out[0].seen.values[0].v == 0.9);
	util(0.1);
	assert_int_equal(eval(1200), 1);
	assert_true(out[0].undo);
	assert_int_equal(out[0].tick, 3);
}

/* What the command's monitor makes of it. */
static void shown(bool json, const struct snap_decision *d, const char *reason,
		  const char *want)
{
	struct snap_action a = {
		.knob = SWIFTRDMA_KNOB_LEVEL, .has_value = true, .value = 1,
		.job = "kv", .qps = 2, .qps_done = 2, .lease_id = 4,
	};
	struct rows rows = action_result_rows(&a);
	struct snap_dev dev = { .index = 3, .name = "rxe0" };
	static struct cli cli;
	struct out o = { .json = json };
	char *text;
	size_t len;

	cli.snap.devs = &dev;
	cli.snap.n_devs = 1;
	memcpy(a.reason, reason, strlen(reason) + 1);
	if (d)
		a.decision = *d;
	o.f = open_memstream(&text, &len);
	assert_non_null(o.f);
	o.j.f = o.f;
	out_event(&cli, &o, NULL, "action", TONE_GOOD, &rows);
	fclose(o.f);
	if (strcmp(text, want))
		fail_msg("\n said: %s\nought: %s", text, want);
	free(text);
}

static void test_shown(void **state)
{
	static const struct snap_decision d = {
		.policy = "p", .tick = 2, .cooldown = 500 * MS, .steps_left = 2, .acts_left = 4,
		.dev = 3, .port = 1, .uar = 9, .qpn = 18,
		.has = SNAP_COOLDOWN | SNAP_STEPS_LEFT | SNAP_ACTS_LEFT | SNAP_SEEN_DEV |
		       SNAP_SEEN_PORT | SNAP_SEEN_UAR | SNAP_SEEN_QP,
		.n_readings = 2,
		.readings = { { "port.util", true, 973000 }, { "job.p99", false, 0 } },
	};
	static const struct snap_decision least = { .policy = "p", .tick = 3, .port = 1 };

	(void)state;
	shown(false, &d, "p: x: level 0 -> 1",
	      "action job kv knob level value 1 lease 4 qps 2 qps_done 2 qps_pending 0 qps_unsupported 0 qps_unconnected 0 qps_unknown 0 tick 2 cooldown 500ms steps_left 2 acts_left 4 reason p: x: level 0 -> 1\n");
	shown(true, &d, "p: x: level 0 -> 1",
	      "{\"event\":\"action\",\"job\":\"kv\",\"knob\":\"level\",\"value\":1,\"lease\":4,\"qps\":2,\"qps_done\":2,\"qps_pending\":0,\"qps_unsupported\":0,\"qps_unconnected\":0,\"qps_unknown\":0,\"policy\":\"p\",\"tick\":2,\"cooldown\":500000000,\"steps_left\":2,\"acts_left\":4,\"seen_dev\":\"rxe0\",\"seen_port\":1,\"seen_uar\":9,\"seen_qpn\":18,\"signals\":{\"port.util\":0.973,\"job.p99\":null},\"reason\":\"p: x: level 0 -> 1\"}\n");
	shown(true, &least, "p: x: level 0 -> 1",
	      "{\"event\":\"action\",\"job\":\"kv\",\"knob\":\"level\",\"value\":1,\"lease\":4,\"qps\":2,\"qps_done\":2,\"qps_pending\":0,\"qps_unsupported\":0,\"qps_unconnected\":0,\"qps_unknown\":0,\"policy\":\"p\",\"tick\":3,\"signals\":{},\"reason\":\"p: x: level 0 -> 1\"}\n");
	shown(true, NULL, "by hand",
	      "{\"event\":\"action\",\"job\":\"kv\",\"knob\":\"level\",\"value\":1,\"lease\":4,\"qps\":2,\"qps_done\":2,\"qps_pending\":0,\"qps_unsupported\":0,\"qps_unconnected\":0,\"qps_unknown\":0,\"reason\":\"by hand\"}\n");
}

/* Of a result that is none yet the words, not the number alone. */
static void test_not_yet(void **state)
{
	struct snap_action a = {
		.knob = SWIFTRDMA_KNOB_LEVEL, .has_value = true, .value = 1, .job = "kv",
		.qps = 2, .qps_pending = 2, .error = -EBUSY,
	};
	struct rows rows = action_result_rows(&a);
	static struct cli cli;
	struct out o = { .f = NULL };
	char *text;
	size_t len;

	(void)state;
	o.f = open_memstream(&text, &len);
	assert_non_null(o.f);
	out_event(&cli, &o, NULL, "action", TONE_BAD, &rows);
	fclose(o.f);
	assert_string_equal(text, "action job kv knob level value 1 qps 2 qps_done 0 qps_pending 2 qps_unsupported 0 qps_unconnected 0 qps_unknown 0 error EBUSY why cannot yet: not in RTS\n");
	free(text);
}

/* A reason may say what it likes: it decides nothing. */
static void test_forged(void **state)
{
	(void)state;
	shown(true, NULL, "p: x: level 0 -> 1 [tick 2, next in 500 ms, 2 steps left]",
	      "{\"event\":\"action\",\"job\":\"kv\",\"knob\":\"level\",\"value\":1,\"lease\":4,\"qps\":2,\"qps_done\":2,\"qps_pending\":0,\"qps_unsupported\":0,\"qps_unconnected\":0,\"qps_unknown\":0,\"reason\":\"p: x: level 0 -> 1 [tick 2, next in 500 ms, 2 steps left]\"}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EVAL_TEST(test_record),
		EVAL_TEST(test_issued_anew),
		EVAL_TEST(test_shown),
		EVAL_TEST(test_not_yet),
		EVAL_TEST(test_forged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
