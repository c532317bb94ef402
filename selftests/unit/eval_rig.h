/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Policies made up for tests, over the usual scene and signals set by hand. */
#ifndef SELFTESTS_UNIT_EVAL_RIG_H
#define SELFTESTS_UNIT_EVAL_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/policy.h"
#include "policy/expr.h"
#include "unit/snap_build.h"
#include "unit/verify.h"

#define DECISIONS 8
#define POLICIES 16

static struct made scene;
static struct signals sig;
static struct policy pol[POLICIES];
static struct policy_set set;
static struct policy_state st;
static struct policy_decision out[DECISIONS];
static const struct signal_opts no_opts;

static inline void step(struct step *p, const char *s)
{
	static struct expr x;
	struct expr_error e;
	struct action a[POLICY_STEPS];
	unsigned int n;

	if (!expr_action(s, NULL, &x, a, &n, &e))
		fail_msg("%s: %s", s, e.msg);
	p->op = a[0].step.op;
	p->knob = a[0].step.knob;
	p->n = a[0].step.n;
}

static inline void read_state(struct cond *c, enum compile_how how,
			      struct cond *not, const char *s)
{
	static struct criteria cr;
	static struct expr x;
	struct expr_error e;
	int root;

	criteria_init(&cr);
	if (!expr_state(s, &cr, &x, &root, &e) ||
	    !compile_state(&set.prog, &x, root, how, c, &e) ||
	    (not && !compile_state(&set.prog, &x, root, COMPILE_CONTRARY, not,
				   &e)))
		fail_msg("%s: %s", s, e.msg);
}

static inline void read_action(struct policy *p, const char *s)
{
	static struct criteria cr;
	static struct expr x;
	struct action a[POLICY_STEPS];
	struct expr_error e;
	unsigned int i;

	criteria_init(&cr);
	if (!expr_action(s, &cr, &x, a, &p->n_act, &e))
		fail_msg("%s: %s", s, e.msg);
	for (i = 0; i < p->n_act; i++) {
		const struct vocab_knob *k = vocab_knob(a[i].step.knob);

		p->act[i] = a[i].step;
		p->act[i].floor = k->min;
		p->act[i].ceiling = k->max;
		if (a[i].value >= 0 &&
		    !compile_number(&set.prog, &x, a[i].value,
				    &p->act[i].expr, &e))
			fail_msg("%s: %s", s, e.msg);
	}
}

static inline struct policy *add(const char *name, const char *who,
				 const char *when, const char *act,
				 const char *undo)
{
	struct policy *p = &pol[set.n++];
	struct expr_error e;

	assert_true(set.n <= POLICIES);
	memset(p, 0, sizeof(*p));
	snprintf(p->name, sizeof(p->name), "%s", name);
	if (!expr_binding(who, p, &e))
		fail_msg("%s: %s", who, e.msg);
	read_state(&p->when, COMPILE_STATE, NULL, when);
	read_state(&p->undo_when, COMPILE_STATE, &p->undo_not, undo);
	read_action(p, act);
	return p;
}

/* Adds a state that is asked where those before are unknown. */
static inline void add_fallback(struct policy *p, const char *when)
{
	assert_true(p->n_fallback < POLICY_FALLBACKS);
	read_state(&p->fallback[p->n_fallback++], COMPILE_STATE, NULL, when);
}

static inline void add_undo_fallback(struct policy *p, const char *undo)
{
	unsigned int i = p->n_undo_fallback++;

	assert_true(i < POLICY_FALLBACKS);
	read_state(&p->undo_fallback[i], COMPILE_STATE, &p->undo_fallback_not[i], undo);
}

static inline int setup(void **state)
{
	(void)state;
	prog_free(&set.prog);
	memset(&set, 0, sizeof(set));
	set.v = pol;
	signals_init(&sig);
	policy_state_init(&st);
	made_scene(&scene, 1000, 0);
	assert_int_equal(signals_reserve(&sig, &scene.s), 0);
	signals_update(&sig, NULL, &scene.s, &no_opts);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	signals_free(&sig);
	policy_state_free(&st);
	prog_free(&set.prog);
	return 0;
}

static inline void util(double v)
{
	signal_set(&sig, SIG_PORT_UTIL, 0, v);
}

static inline void forget(enum signal_id id, size_t row)
{
	signal_set(&sig, id, row, __builtin_nan(""));
}

/* The scene was changed: who belongs to whom is found anew. */
static inline void scene_changed(void)
{
	assert_int_equal(signals_reserve(&sig, &scene.s), 0);
	signals_update(&sig, NULL, &scene.s, &no_opts);
}

static inline size_t eval(uint64_t ms)
{
	const char *why;
	size_t n;

	if (!prog_verify(&set.prog, &why))
		fail_msg("not sound: %s", why);
	assert_int_equal(policy_state_reserve(&st, &set, &sig), 0);
	n = policy_eval(&set, &st, &sig, ms * MS, out, DECISIONS);
	policy_explain(&set, &st, &sig, out, n);
	return n;
}

#define EVAL_TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

#endif /* SELFTESTS_UNIT_EVAL_RIG_H */
