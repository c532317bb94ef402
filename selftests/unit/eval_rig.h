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

#define DECISIONS 8

static struct made scene;
static struct signals sig;
static struct policy pol[4];
static struct policy_set set;
static struct policy_state st;
static struct policy_decision out[DECISIONS];
static const struct signal_opts no_opts;

static inline void cond(struct cond *c, const char *s)
{
	struct expr_error e;

	if (!expr_cond(s, c, &e))
		fail_msg("%s: %s", s, e.msg);
}

static inline void step(struct step *p, const char *s)
{
	struct expr_error e;

	if (!expr_step(s, p, &e))
		fail_msg("%s: %s", s, e.msg);
}

static inline struct policy *add(const char *name, const char *who,
				 const char *when, const char *act,
				 const char *undo)
{
	struct policy *p = &pol[set.n++];
	struct expr_error e;

	memset(p, 0, sizeof(*p));
	snprintf(p->name, sizeof(p->name), "%s", name);
	assert_true(expr_binding(who, p, &e));
	cond(&p->when, when);
	step(&p->act, act);
	cond(&p->undo_when, undo);
	p->undo.op = STEP_RELEASE;
	p->undo.knob = p->act.knob;
	p->floor = vocab_knob(p->act.knob)->min;
	p->ceiling = vocab_knob(p->act.knob)->max;
	return p;
}

static inline int setup(void **state)
{
	(void)state;
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
	return 0;
}

static inline void util(double v)
{
	signal_set(&sig, SIG_PORT_UTIL, 0, v);
}

static inline void forget(enum signal_id id, size_t row)
{
	struct signal_table *t = &sig.table[vocab_signals[id].obj];

	t->has[row] &= ~(1u << (id - vocab_first(vocab_signals[id].obj)));
}

static inline size_t eval(uint64_t ms)
{
	assert_int_equal(policy_state_reserve(&st, &set, scene.s.n_jobs), 0);
	return policy_eval(&set, &st, &sig, ms * MS, out, DECISIONS);
}

#define EVAL_TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

#endif /* SELFTESTS_UNIT_EVAL_RIG_H */
