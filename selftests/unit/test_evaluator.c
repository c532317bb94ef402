// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The evaluator against a plain one, over random states and random readings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/reference.h"

#define STATES	1500
#define TICKS	20

static struct signals sig;
static struct made scene;
static struct prog prog;
static struct truth truth;

/* Counts of what the test met. */
static unsigned int met[3], compiled;

static void note_readings(int tick)
{
	enum signal_id id;
	size_t row;
	double v;

	for (id = 0; id < SIGNALS; id++)
		for (row = 0; row < sig.table[vocab_signals[id].obj].n; row++)
			reference_reading[tick][id][row] =
				signal_get(&sig, id, row, &v) ? v : REFERENCE_NAN;
}

/* Compares the state, and its contrary, for all jobs at one tick. */
static void compare(const struct cond *c, const struct cond *not, int root, int tick)
{
	const struct truth_view v = { .t = &truth, .p = &prog, .s = &sig };
	enum tri is, want;
	struct binding b;
	int32_t job;
	double at;

	for (job = 1; job < (int32_t)scene.s.n_jobs; job++) {
		is = truth_some(&v, c, (uint32_t)job);
		want = reference_some(root, tick, c->kinds, job);
		if (is != want)
			fail_msg("%s: %d, not %d, for job %d at tick %d", random_text, is, want,
				 job, tick);
		met[is]++;
		if (truth_first(&v, c, (uint32_t)job, &b) != (is == TRI_TRUE))
			fail_msg("%s: true for some and for none", random_text);
		if (is != TRI_TRUE)
			continue;
		/* The state must be true for the objects that truth_first() found. */
		b.at[OBJ_JOB] = job;
		at = reference_eval(root, tick, &b);
		if (at != 1)
			fail_msg("%s: it is %g for what was found", random_text, at);
		assert_int_equal(truth_at(&v, c->terms, &b), TRI_TRUE);
		assert_int_equal(truth_at(&v, not->terms, &b), TRI_FALSE);
		assert_non_null(truth_which(&v, c->terms, &b));
	}
}

static void run_state(const struct expr *x, int root)
{
	static uint8_t was[SIGNALS][64];
	const struct signal_opts opts = { 0 };
	struct cond c = { .kinds = 0 }, not = { .kinds = 0 };
	struct expr_error e;
	int tick;

	memset(&prog, 0, sizeof(prog));
	if (!compile_state(&prog, x, root, COMPILE_STATE, &c, &e) ||
	    !compile_state(&prog, x, root, COMPILE_CONTRARY, &not, &e)) {
		prog_free(&prog);
		return;
	}
	compiled++;
	truth_init(&truth);
	random_scene(&scene, 1000);
	reference_snap = &scene.s;
	reference_expr = x;
	memset(was, 9, sizeof(was));
	for (tick = 0; tick < TICKS; tick++) {
		assert_int_equal(signals_reserve(&sig, &scene.s), 0);
		signals_update(&sig, NULL, &scene.s, &opts);
		random_readings(&sig, was);
		note_readings(tick);
		assert_int_equal(truth_reserve(&truth, &prog, &sig), 0);
		truth_update(&truth, &prog, &sig, (10 + (uint64_t)tick) * 100 * MS);
		compare(&c, &not, root, tick);
	}
	truth_free(&truth);
	prog_free(&prog);
}

static void test_random_states(void **state)
{
	static struct criteria criteria;
	static struct expr x;
	struct expr_error e;
	int root, i;

	(void)state;
	criteria_init(&criteria);
	signals_init(&sig);
	for (i = 0; i < STATES; i++) {
		random_length = 0;
		put_state(2);
		if (!expr_state(random_text, &criteria, &x, &root, &e))
			fail_msg("%s: %s", random_text, e.msg);
		run_state(&x, root);
	}
	signals_free(&sig);
	/* Nearly all states compile, and each truth is met often. */
	assert_true(compiled > STATES * 9 / 10);
	assert_true(met[TRI_FALSE] > 10000 && met[TRI_TRUE] > 10000 && met[TRI_UNKNOWN] > 10000);
}

/* What a test keeps of a policy on a job. */
struct kept {
	bool was_true, acted;
	uint64_t since, last;
	uint32_t steps;
};

/* Is the state true for the job, or the fallback that decides in its place? */
static bool is_state_true(const struct truth_view *v, const struct policy *p, uint32_t job)
{
	enum tri r = truth_some(v, &p->when, job);
	unsigned int i;

	for (i = 0; r == TRI_UNKNOWN && i < p->n_fallback; i++)
		r = truth_some(v, &p->fallback[i], job);
	return r == TRI_TRUE;
}

/* Checks the first decision of an act against hold, cooldown and steps. */
static void check_act(const struct policy *p, const struct policy_decision *d, struct kept *k,
		      uint64_t now)
{
	if (!k->was_true || now - k->since < p->hold)
		fail_msg("%s: %s acts too early", random_text, p->name);
	if (k->acted && now - k->last < p->cooldown)
		fail_msg("%s: %s acts before its cooldown", random_text, p->name);
	if (p->max_steps && ++k->steps > p->max_steps)
		fail_msg("%s: %s acts too often", random_text, p->name);
	assert_true(d->release || d->new >= p->act[d->step].floor);
	assert_true(d->release || d->new <= p->act[d->step].ceiling);
	k->acted = true;
	k->last = now;
}

/* Of each tick: no act or undo without its reason, and no more than the rate allows. */
static unsigned int check_tick(const struct policy_set *set, struct policy_state *st,
			       const struct policy_decision *out, size_t n, uint64_t now,
			       struct kept (*kept)[8], unsigned int *acts)
{
	const struct truth_view v = { .t = &st->truth, .p = &set->prog, .s = &sig };
	const struct policy_decision *d, *before = NULL;
	unsigned int undos = 0;
	struct kept *k;
	uint32_t i, job;
	bool is;

	for (i = 0; i < set->n; i++)
		for (job = 1; job < scene.s.n_jobs; job++) {
			k = &kept[i][job];
			is = is_state_true(&v, &set->v[i], job);
			if (is && !k->was_true)
				k->since = now;
			k->was_true = is;
		}
	for (d = out; d < out + n; before = d++) {
		k = &kept[d->policy][d->job_id];
		if (before && before->policy == d->policy && before->job_id == d->job_id)
			continue;
		if (d->undo) {
			if (k->was_true)
				fail_msg("%s: an undo while the state is true", random_text);
			undos++;
			k->steps = 0;
			k->last = now;
			continue;
		}
		acts[d->policy]++;
		check_act(&set->v[d->policy], d, k, now);
	}
	return undos;
}

static void run_policies(const struct config *cfg, unsigned int *decided, unsigned int *undone)
{
	const struct policy_set *set = &cfg->policies;
	static struct policy_decision out[256];
	static uint8_t was[SIGNALS][64];
	const struct signal_opts opts = { 0 };
	unsigned int acts[8] = { 0 };
	struct kept kept[8][8] = { 0 };
	struct policy_state st;
	uint64_t now, tick;
	uint32_t i;
	size_t n;

	policy_state_init(&st);
	random_scene(&scene, 1000);
	memset(was, 9, sizeof(was));
	for (tick = 0; tick < 3 * TICKS; tick++) {
		now = (10 + tick) * 100 * MS;
		assert_int_equal(signals_reserve(&sig, &scene.s), 0);
		signals_update(&sig, NULL, &scene.s, &opts);
		random_readings(&sig, was);
		assert_int_equal(policy_state_reserve(&st, set, &sig), 0);
		n = policy_eval(set, &st, &sig, now, out, 256);
		policy_explain(set, &st, &sig, out, n);
		*decided += (unsigned int)n;
		*undone += check_tick(set, &st, out, n, now, kept, acts);
		for (i = 0; i < set->n; i++)
			if (set->v[i].rate > 0 &&
			    acts[i] > set->v[i].rate * (1 + (double)tick / 10) + 1)
				fail_msg("%s: p%u acts more often than its rate", random_text, i);
	}
	policy_state_free(&st);
}

static void test_random_policies(void **state)
{
	unsigned int decided = 0, undone = 0, loaded = 0;
	struct config cfg;

	(void)state;
	signals_init(&sig);
	while (loaded < 300) {
		if (!random_policies(&cfg))
			continue;
		loaded++;
		run_policies(&cfg, &decided, &undone);
		config_free(&cfg);
	}
	signals_free(&sig);
	assert_true(decided > 2000);
	assert_true(undone > 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_states),
		cmocka_unit_test(test_random_policies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
