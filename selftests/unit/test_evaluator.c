// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The evaluator against a plain one: the truth of random states, and the decisions of random
 * policies, over random readings of objects that come and go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/reference_policy.h"

/* Ticks of states and of policies; more with FULL=1. */
#define STATES		1500
#define STATE_TICKS	20
#define FILES		800
#define FILE_TICKS	60
#define FULL_FILES	2000

static struct signals sig;
static struct scene scene;
static struct scene_readings readings;
static struct prog prog;
static struct truth truth;

/* Counts of what the test met. */
static unsigned int met[TRI_TRUE + 1], compiled;

/* Some scenes have many QPs, whose evaluation takes several blocks of lanes. */
static bool is_big(unsigned int i)
{
	return i % 25 == 7;
}

/* Sets the time and the readings of a tick, before which objects came and went. */
static void next_tick(int tick, uint64_t *now)
{
	const struct signal_opts opts = { 0 };

	*now += (tick && !random_below(10) ? 250 : 100) * MS;
	if (tick)
		scene_change(&scene);
	assert_int_equal(signals_reserve(&sig, &scene.s), 0);
	signals_update(&sig, NULL, &scene.s, &opts);
	random_readings(&sig, &scene, &readings);
	reference_note(&scene, &sig, tick, *now);
}

/* Compares the state, and its contrary, for all jobs at one tick. */
static void compare_state(const struct cond *c, const struct cond *not,
			  const struct reference_state *st, int tick)
{
	const struct truth_view v = { .t = &truth, .p = &prog, .s = &sig };
	enum tri is, want;
	struct binding b, first;
	int32_t job;

	for (job = 0; job < (int32_t)scene.s.n_jobs; job++) {
		is = truth_some(&v, c, (uint32_t)job);
		want = reference_first(st, tick, job, &first);
		if (is != want)
			fail_msg("%s: %d, not %d, for job %d at tick %d", random_text, is, want,
				 job, tick);
		met[is]++;
		if (truth_first(&v, c, (uint32_t)job, &b) != (is == TRI_TRUE))
			fail_msg("%s: true for some and for none", random_text);
		if (is != TRI_TRUE)
			continue;
		assert_memory_equal(&b, &first, sizeof(b));
		assert_int_equal(truth_at(&v, c->terms, &b), TRI_TRUE);
		assert_int_equal(truth_at(&v, not->terms, &b), TRI_FALSE);
		assert_non_null(truth_which(&v, c->terms, &b));
	}
}

static void run_state(const struct reference_state *st, bool big)
{
	struct cond c = { .kinds = 0 }, not = { .kinds = 0 };
	struct expr_error e;
	uint64_t now = 0;
	int tick;

	memset(&prog, 0, sizeof(prog));
	if (!compile_state(&prog, &st->x, st->root, COMPILE_STATE, &c, &e) ||
	    !compile_state(&prog, &st->x, st->root, COMPILE_CONTRARY, &not, &e)) {
		prog_free(&prog);
		return;
	}
	compiled++;
	truth_init(&truth);
	random_scene(&scene, big);
	scene_readings_init(&readings);
	for (tick = 0; tick < STATE_TICKS; tick++) {
		next_tick(tick, &now);
		assert_int_equal(truth_reserve(&truth, &prog, &sig), 0);
		truth_update(&truth, &prog, &sig, now);
		compare_state(&c, &not, st, tick);
	}
	truth_free(&truth);
	prog_free(&prog);
}

static void test_random_states(void **state)
{
	static struct criteria criteria;
	static struct reference_state st;
	struct expr_error e;
	unsigned int i;

	(void)state;
	criteria_init(&criteria);
	signals_init(&sig);
	for (i = 0; i < STATES; i++) {
		random_length = 0;
		put_state(2);
		if (!expr_state(random_text, &criteria, &st.x, &st.root, &e))
			fail_msg("%s: %s", random_text, e.msg);
		run_state(&st, is_big(i));
	}
	signals_free(&sig);
	/* Nearly all states compile, and each truth is met often. */
	assert_true(compiled > STATES * 9 / 10);
	assert_true(met[TRI_FALSE] > 10000 && met[TRI_TRUE] > 10000 && met[TRI_UNKNOWN] > 10000);
}

static void print_decision(const char *who, const struct policy_decision *d)
{
	print_error("%s: tick %d p%u job %u %s%s %s step %u%s: %g -> %g (old %d), QP %u:%u/%d, "
		    "cooldown %d ms, %u steps and %u acts left, damped %u, others %#x, "
		    "at %d %d %d %d %d, by %p\n", who, (int)d->tick, d->policy, d->job_id,
		    d->undo ? "undo" : "act", d->release ? " release" : "",
		    vocab_knob(d->knob)->name, d->step, d->has_qp ? " QP" : "", d->old, d->new,
		    d->has_old, d->dev_index, d->qpn, (int)d->serial,
		    (int)(d->cooldown / MS), d->steps_left, d->acts_left, d->damped, d->others,
		    d->at.at[0], d->at.at[1], d->at.at[2], d->at.at[3], d->at.at[4],
		    (const void *)d->cond);
}

static bool is_same(const struct policy_decision *a, const struct policy_decision *b)
{
	return a->tick == b->tick && a->policy == b->policy && a->job_id == b->job_id &&
	       !strcmp(a->job, b->job) && a->has_qp == b->has_qp &&
	       a->dev_index == b->dev_index && a->qpn == b->qpn && a->serial == b->serial &&
	       a->undo == b->undo && a->release == b->release && a->knob == b->knob &&
	       a->step == b->step && a->has_old == b->has_old && a->old == b->old &&
	       a->new == b->new && a->cooldown == b->cooldown &&
	       a->steps_left == b->steps_left && a->acts_left == b->acts_left &&
	       a->damped == b->damped && a->others == b->others && a->cond == b->cond &&
	       !memcmp(&a->at, &b->at, sizeof(a->at));
}

/* What the decisions were, to be sure that the test meets all of them. */
static struct {
	unsigned int acts, undos, releases, moves, damped, others, fallbacks, disowned, leasts;
	unsigned int ticks, full;
} seen;

static void count_decision(const struct policy_set *set, const struct policy_decision *d)
{
	seen.acts += !d->undo;
	seen.undos += d->undo && !d->release;
	seen.releases += d->release;
	seen.moves += d->has_qp;
	seen.damped += d->damped > 0;
	seen.others += d->others != 0;
	seen.disowned += !d->cond;
	seen.fallbacks += d->cond && d->cond != &set->v[d->policy].when &&
			  d->cond != &set->v[d->policy].undo_when;
	seen.leasts += !d->undo && set->least[d->knob] && d->new == set->least[d->knob];
}

static void compare_decisions(const struct policy_set *set, const struct policy_decision *out,
			      size_t n)
{
	const struct policy_decision *want = reference.out;
	size_t i;

	for (i = 0; i < n && i < reference.n && is_same(&out[i], &want[i]); i++)
		count_decision(set, &out[i]);
	if (i == n && i == reference.n)
		return;
	if (i < n)
		print_decision("is", &out[i]);
	if (i < reference.n)
		print_decision("should be", &want[i]);
	/* cmocka cuts long messages off. */
	fputs(random_text, stderr);
	fail();
}

static void run_policies(const struct config *cfg, bool big, int ticks)
{
	static struct policy_decision out[REFERENCE_OUT];
	const struct policy_set *set = &cfg->policies;
	/* Now and then not all decisions fit, and some are made at a later tick. */
	const size_t cap = random_below(4) ? REFERENCE_OUT : 2 + random_below(3);
	struct policy_state st;
	uint64_t now = 0;
	int tick;
	size_t n;

	policy_state_init(&st);
	st.at_once = !random_below(20);
	random_scene(&scene, big);
	scene_readings_init(&readings);
	reference_begin(cfg, st.at_once);
	for (tick = 0; tick < ticks; tick++) {
		next_tick(tick, &now);
		assert_int_equal(policy_state_reserve(&st, set, &sig), 0);
		n = policy_eval(set, &st, &sig, now, out, cap);
		policy_explain(set, &st, &sig, out, n);
		reference_evaluate(tick, cap);
		compare_decisions(set, out, n);
		assert_int_equal(policy_n_held(&st), reference_n_held());
		seen.ticks++;
		seen.full += reference.jobs[1].n_moved == POLICY_MOVED;
	}
	policy_state_free(&st);
}

/* Policies of lower rank come first, and the order of the others is that of the file. */
static void check_ranks(const struct config *cfg)
{
	unsigned int i, k;

	for (i = 0; i < cfg->policies.n; i++)
		for (k = 0; k < i; k++)
			if (cfg->texts[i].rank && cfg->texts[k].rank)
				assert_true(cfg->texts[k].rank <= cfg->texts[i].rank);
}

static void test_random_policies(void **state)
{
	const unsigned int files = getenv("FULL") ? FULL_FILES : FILES;
	struct config cfg;
	unsigned int i = 0;

	(void)state;
	signals_init(&sig);
	while (i < files) {
		if (!random_policies(&cfg))
			continue;
		i++;
		check_ranks(&cfg);
		cfg.policies.lightest_by_process = random_below(2);
		run_policies(&cfg, is_big(i), FILE_TICKS);
		config_free(&cfg);
	}
	signals_free(&sig);
	print_message("%u ticks: %u acts, %u undos, %u releases, %u moves, %u damped,\n",
		      seen.ticks, seen.acts, seen.undos, seen.releases, seen.moves, seen.damped);
	print_message("%u of several causes, %u by fallbacks, %u of a class that changed, %u at the least\n",
		      seen.others, seen.fallbacks, seen.disowned, seen.leasts);
	/* All that policies do is met often. */
	assert_true(seen.acts > 10000 && seen.undos > 1000 && seen.releases > 2000);
	assert_true(seen.moves > 500 && seen.damped > 500 && seen.others > 100);
	assert_true(seen.fallbacks > 1000 && seen.disowned > 200 && seen.leasts > 200);
}

/*
 * A policy moves more QPs of a job than it remembers, while some of the moved QPs go away. In each
 * second round the policy is for two classes only, so it moves back all QPs of a job that gets the
 * third class.
 */
static void test_many_moves(void **state)
{
	struct config cfg;
	unsigned int i;

	(void)state;
	signals_init(&sig);
	for (i = 0; i < 12; i++) {
		random_length = 0;
		put("policies: [{name: p0, for: job%s, when: \"job.qps >= 0\", cooldown: 0ms,"
		    " do: \"migrate to lightest uar%s\","
		    " undo: {when: \"job.qps rising and job.qps falling\", hold: 1s}}]\n",
		    i & 1 ? " of class latency or throughput" : "",
		    i & 1 ? ", job.weight += 1" : "");
		assert_true(load_policies_put(&cfg));
		cfg.policies.lightest_by_process = true;
		run_policies(&cfg, true, REFERENCE_TICKS);
		config_free(&cfg);
	}
	assert_true(seen.full > 0);
	signals_free(&sig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_states),
		cmocka_unit_test(test_random_policies),
		cmocka_unit_test(test_many_moves),
	};

	/* Another seed gives other policies, scenes and readings. */
	if (getenv("SEED"))
		random_state = strtoull(getenv("SEED"), NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
