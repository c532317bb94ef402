// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What a decision tells, on its way through the kernel and back. */
#include <stdlib.h>

#include "unit/eval_rig.h"

#include "cli/cli.h"
#include "core/told.h"

static char line[SNAP_REASON];

static void told(size_t cap, const char *want)
{
	assert_true(cap <= sizeof(line));
	memset(line, 'x', sizeof(line));
	told_write(line, cap, &out[0]);
	if (strcmp(line, want))
		fail_msg("\n said: %s\nought: %s", line, want);
}

/* Tick, policy, what it was true of, the values, the change, and what is left. */
static void test_record(void **state)
{
	struct policy *p = add("p", "job kv", "uar.coactive > 50% and qp.wr_rate > 100/s",
			       "job.level += 1", "uar.coactive < 20%");
	struct told t;

	(void)state;
	p->max_steps = 3;
	p->rate = 5;
	p->cooldown = 500 * MS;
	assert_int_equal(eval(1000), 0);
	signal_set(&sig, SIG_UAR_COACTIVE, 0, 0.9);
	signal_set(&sig, SIG_QP_WR_RATE, 1, 500);
	assert_int_equal(eval(1100), 1);
	assert_int_equal(out[0].tick, 2);
	assert_true(out[0].has_dev && out[0].has_port && out[0].has_uar &&
		    out[0].has_seen_qp);
	assert_string_equal(out[0].dev, "rxe0");
	assert_int_equal(out[0].port, 1);
	assert_int_equal(out[0].uar, 1);
	assert_int_equal(out[0].seen_qpn, 18);
	assert_int_equal(out[0].n_values, 2);
	assert_int_equal(out[0].steps_left, 2);
	assert_int_equal(out[0].acts_left, 4);
	told(sizeof(line),
	     "p: uar rxe0/1 coactive 90 % > 50 % and qp rxe0/18 wr_rate 500/s > 100/s: level 0 -> 1 [tick 2, next in 500 ms, 2 steps left, 4 acts left]");
	assert_true(told_read(line, &t));
	assert_string_equal(t.policy, "p");
	assert_int_equal(t.tick, 2);
	assert_true(t.has_cooldown);
	assert_int_equal(t.cooldown, 500 * MS);
	assert_int_equal(t.steps_left, 2);
	assert_int_equal(t.acts_left, 4);
	/* As little as there is. */
	p->max_steps = 0;
	p->rate = 0;
	p->cooldown = 0;
	assert_int_equal(eval(2000), 1);
	told(sizeof(line),
	     "p: uar rxe0/1 coactive 90 % > 50 % and qp rxe0/18 wr_rate 500/s > 100/s: level 1 -> 2 [tick 3]");
	assert_true(told_read(line, &t));
	assert_int_equal(t.tick, 3);
	assert_false(t.has_cooldown);
	assert_true(t.steps_left == UINT32_MAX && t.acts_left == UINT32_MAX);
}

/* What is issued anew is told with the tick in which it was decided. */
static void test_issued_anew(void **state)
{
	struct policy_state next;
	struct told t;
	size_t pos = 0;

	(void)state;
	add("p", "job kv", "port.util > 80%", "job.level = 3", "port.util < 60%");
	util(0.9);
	assert_int_equal(eval(1000), 1);
	assert_int_equal(eval(1100), 0);
	assert_int_equal(policy_held(&set, &st, &pos, out, DECISIONS), 1);
	told_write(line, sizeof(line), &out[0]);
	assert_true(told_read(line, &t));
	assert_int_equal(t.tick, 1);
	/* Another file goes on counting. */
	policy_state_init(&next);
	assert_int_equal(policy_state_reserve_jobs(&next, &set, 8), 0);
	assert_int_equal(policy_carry(&set, &next, &set, &st, out, DECISIONS), 0);
	policy_state_free(&st);
	st = next;
	util(0.1);
	assert_int_equal(eval(1200), 1);
	assert_true(out[0].undo);
	assert_int_equal(out[0].tick, 3);
}

/* Where there is no room, the evidence is cut and nothing else. */
static void test_cut(void **state)
{
	struct told t;

	(void)state;
	memset(&out[0], 0, sizeof(out[0]));
	out[0].tick = 7;
	out[0].steps_left = out[0].acts_left = UINT32_MAX;
	strcpy(out[0].reason, "p: port x/1 util 90 % > 80 % and so on: level 0 -> 1");
	told(62, "p: port x/1 util 90 % > 80 % and so on: level 0 -> 1 [tick 7]");
	told(61, "p: port x/1 util 90 % > 80 % and s...: level 0 -> 1 [tick 7]");
	told(40, "p: port x/1 u...: level 0 -> 1 [tick 7]");
	assert_true(told_read(line, &t));
	assert_int_equal(t.tick, 7);
	/* Not within a letter. */
	strcpy(out[0].reason, "p: \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4 and more: level 0 -> 1");
	told(36, "p: \xc3\xa4\xc3\xa4\xc3\xa4...: level 0 -> 1 [tick 7]");
	told(35, "p: \xc3\xa4\xc3\xa4...: level 0 -> 1 [tick 7]");
	/* Hopeless, but no overflow. */
	told(12, "...: level ");
	told(1, "");
}

static void test_not_ours(void **state)
{
	static const char *const words[] = {
		"", "by hand", "p: something", "p [tick 1]", "p: x [tick ]",
		"p: x [tick 1", "p: x [tick 1] ", "p: x [tick 1,]",
		"p: x [tick 1, 2]", "p: x [tick 1, 2 steps]",
		"p: x [tick 1, next in ]", "p: x [tick 1, next in 5 %]",
		"p: x [tick 1, 4294967295 steps left]",
		"p: x [tick 99999999999999999999]", " [tick 1]: x",
		"a name that is longer than any of a policy: x [tick 1]",
	};
	struct told t;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (told_read(words[i], &t))
			fail_msg("taken for a decision: %s", words[i]);
	/* The last bracket is the agent's, whatever a job is called. */
	assert_true(told_read("p: job a [tick 5] qps 2 > 0: level 0 -> 1 [tick 6]", &t));
	assert_int_equal(t.tick, 6);
}

/* What the command's monitor makes of it. */
static void shown(bool json, const char *reason, const char *want)
{
	struct snap_action a = {
		.knob = SWIFTRDMA_KNOB_LEVEL, .has_value = true, .value = 1,
		.job = "kv", .qps = 2, .qps_done = 2, .lease_id = 4,
	};
	struct rows rows = action_result_rows(&a);
	static struct cli cli;
	struct out o = { .json = json };
	char *text;
	size_t len;

	memcpy(a.reason, reason, strlen(reason) + 1);
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
	(void)state;
	shown(false, "p: x: level 0 -> 1 [tick 2, next in 500 ms, 2 steps left, 4 acts left]",
	      "action job kv knob level value 1 lease 4 qps 2 qps_done 2 qps_pending 0 qps_unsupported 0 reason p: x: level 0 -> 1 [tick 2, next in 500 ms, 2 steps left, 4 acts left]\n");
	shown(true, "p: x: level 0 -> 1 [tick 2, next in 500 ms, 2 steps left, 4 acts left]",
	      "{\"event\":\"action\",\"job\":\"kv\",\"knob\":\"level\",\"value\":1,\"lease\":4,\"qps\":2,\"qps_done\":2,\"qps_pending\":0,\"qps_unsupported\":0,\"policy\":\"p\",\"tick\":2,\"cooldown\":500000000,\"steps_left\":2,\"acts_left\":4,\"reason\":\"p: x: level 0 -> 1 [tick 2, next in 500 ms, 2 steps left, 4 acts left]\"}\n");
	shown(true, "by hand",
	      "{\"event\":\"action\",\"job\":\"kv\",\"knob\":\"level\",\"value\":1,\"lease\":4,\"qps\":2,\"qps_done\":2,\"qps_pending\":0,\"qps_unsupported\":0,\"reason\":\"by hand\"}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EVAL_TEST(test_record),
		EVAL_TEST(test_issued_anew),
		EVAL_TEST(test_cut),
		EVAL_TEST(test_not_ours),
		EVAL_TEST(test_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
