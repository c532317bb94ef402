// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Parses actions ("job.level += 1, release job.weight") and bindings ("job of class latency"). */
#include <stdio.h>
#include <string.h>

#include <rdma/swiftrdma_share.h>

#include "policy/cursor.h"
#include "policy/diag.h"

static const char *pick_knob(size_t i, const void *arg)
{
	(void)arg;
	return i < vocab_n_policy_knobs ? vocab_knobs[i].name : NULL;
}

static void list_knobs(char *buf, size_t cap)
{
	struct text t;
	size_t i;

	text_init(&t, buf, cap);
	for (i = 0; i < vocab_n_policy_knobs; i++)
		text_add(&t, !i ? "" : i + 1 < vocab_n_policy_knobs ? ", " : " and ",
			 vocab_knobs[i].name);
}

/* Reads the name of a knob. */
static bool parse_knob(struct cursor *c, const struct vocab_knob **knob)
{
	size_t n = parse_word(c), i;
	const char *near;
	char all[160];

	for (i = 0; i < vocab_n_policy_knobs; i++) {
		if (!parse_is(c, vocab_knobs[i].name))
			continue;
		*knob = &vocab_knobs[i];
		c->p += n;
		parse_skip(c);
		return true;
	}
	near = n ? suggest(c->p, n, pick_knob, NULL) : NULL;
	if (near)
		return parse_fail(c, parse_at(c),
				  "unknown knob '%.*s'; did you mean '%s'?",
				  parse_shown(n), c->p, near);
	list_knobs(all, sizeof(all));
	return parse_fail(c, parse_at(c), "unknown knob '%.*s'; there are %s",
			  parse_shown(n), c->p, all);
}

/* Checks the unit of a value, and the range of a constant. False @set: the value is a step. */
static bool check_knob_value(struct cursor *c, const struct vocab_knob *k,
			     struct action *a, size_t at, bool set)
{
	const struct ast *n = &c->x->n[a->value];
	size_t len = n->end - n->at;
	bool count = k->unit == UNIT_COUNT || k->unit == UNIT_ID;

	if (n->truth || n->op == AST_WORD)
		return parse_fail(c, n->at, "%s: '%.*s' is not a number; it should be %s",
				  k->name, parse_shown(len), c->text + n->at,
				  units_describe(k->unit));
	if (n->unit != k->unit &&
	    !(n->op == AST_NUMBER && n->unit == UNIT_COUNT && n->v == 0) &&
	    !(count && (n->unit == UNIT_COUNT ||
			(n->unit == UNIT_RATIO && !n->plain))))
		return parse_fail(c, n->at, "%s: '%.*s' is %s; it should be %s",
				  k->name, parse_shown(len), c->text + n->at,
				  expr_unit_noun(n->unit), units_describe(k->unit));
	if (n->op != AST_NUMBER)
		return true;
	a->step.n = n->v;
	a->value = -1;
	if (set && (n->v < k->min || n->v > k->max))
		return parse_fail(c, at, "%s = %.*s is out of range; it is %.0f to %.0f",
				  k->name, parse_shown(len), c->text + n->at,
				  k->min, k->max);
	if (!set && (n->v <= 0 || n->v > k->max))
		return parse_fail(c, at,
				  "a step of %.*s is out of range; it is above 0 and at most %.0f",
				  parse_shown(len), c->text + n->at, k->max);
	if (n->v != (double)(uint64_t)n->v)
		return parse_fail(c, at, "%s takes whole numbers only", k->name);
	return true;
}

static bool parse_value(struct cursor *c, const struct vocab_knob *k,
			struct action *a, bool set)
{
	size_t at = parse_at(c);
	const char *s = c->p;

	if (!*s || *s == ',' || *s == ';')
		return parse_fail(c, at, "%s: a value is missing; it should be %s",
				  k->name, units_describe(k->unit));
	c->unit = k->unit;
	a->value = parse_sum(c);
	c->unit = UNIT_COUNT;
	return a->value >= 0 && check_knob_value(c, k, a, at, set);
}

/* What follows "merge" or "scale": "to 8", "qps to job.qps * 2". */
static bool parse_spread(struct cursor *c, struct action *a)
{
	const struct vocab_knob *k = vocab_knob(SWIFTRDMA_KNOB_QPS);

	parse_take(c, "qps");
	if (!parse_take(c, "to"))
		return parse_fail(c, parse_at(c),
				  "'to' and how many is expected here, as in 'merge to 8'");
	a->step.op = STEP_SET;
	a->step.knob = k->knob;
	return parse_value(c, k, a, true);
}

#define PLACE_WORDS "write 'place on lightest uar' or 'place by thread'"

/* What follows "place": where new QPs of the job go. */
static bool parse_place(struct cursor *c, struct action *a)
{
	bool lightest = parse_take(c, "on");

	a->step.op = STEP_SET;
	a->step.knob = SWIFTRDMA_KNOB_PLACE;
	a->step.n = lightest ? SWIFTRDMA_PLACE_LIGHTEST : SWIFTRDMA_PLACE_BY_THREAD;
	if (lightest ? parse_take(c, "lightest") && parse_take(c, "uar") :
		       parse_take(c, "by") && parse_take(c, "thread"))
		return true;
	return parse_fail(c, a->at, PLACE_WORDS);
}

static bool parse_step(struct cursor *c, struct action *a)
{
	const struct vocab_knob *k;

	*a = (struct action){ .at = parse_at(c), .value = -1 };
	if (parse_take(c, "release")) {
		a->step.op = STEP_RELEASE;
		if (!parse_knob(c, &k))
			return false;
		a->step.knob = k->knob;
		return true;
	}
	if (parse_take(c, "migrate")) {
		a->step.op = STEP_LIGHTEST;
		a->step.knob = SWIFTRDMA_KNOB_UAR;
		if (parse_take(c, "to") && parse_take(c, "lightest") &&
		    parse_take(c, "uar"))
			return true;
		return parse_fail(c, a->at, "write 'migrate to lightest uar'");
	}
	if (parse_take(c, "place"))
		return parse_place(c, a);
	if (parse_take(c, "merge") || parse_take(c, "scale"))
		return parse_spread(c, a);
	if (!parse_knob(c, &k))
		return false;
	a->step.knob = k->knob;
	if (!strncmp(c->p, "+=", 2))
		a->step.op = STEP_ADD;
	else if (!strncmp(c->p, "-=", 2))
		a->step.op = STEP_SUB;
	else if (*c->p == '=' && c->p[1] != '=')
		a->step.op = STEP_SET;
	else
		return parse_fail(c, parse_at(c),
				  "after %s comes '+=', '-=' or '='; for instance '%s += 1'",
				  k->name, k->name);
	if (k->knob == SWIFTRDMA_KNOB_UAR)
		return parse_fail(c, a->at,
				  "a QP is not moved to a UAR by its number; write 'migrate to lightest uar'");
	if (k->knob == SWIFTRDMA_KNOB_PLACE)
		return parse_fail(c, a->at, "%s is no number; " PLACE_WORDS, k->name);
	c->p += a->step.op == STEP_SET ? 1 : 2;
	parse_skip(c);
	return parse_value(c, k, a, a->step.op == STEP_SET);
}

/* True, with an error: the last action changes a knob that an earlier action changes. */
static bool fail_repeated(struct cursor *c, const struct action *v, unsigned int n)
{
	unsigned int i;

	for (i = 0; i + 1 < n; i++)
		if (v[i].step.knob == v[n - 1].step.knob)
			return !parse_fail(c, v[n - 1].at,
					   "%s is turned twice; keep one of them",
					   vocab_knob(v[i].step.knob)->name);
	return false;
}

bool expr_action(const char *s, const struct criteria *cr, struct expr *x,
		 struct action *out, unsigned int *n, struct expr_error *e)
{
	struct cursor c = { .text = s, .p = s, .e = e, .x = x };

	expr_begin(x, s, cr);
	*n = 0;
	parse_skip(&c);
	do {
		if (*n == POLICY_STEPS)
			return parse_fail(&c, parse_at(&c),
					  "more than %d knobs; make it two policies",
					  POLICY_STEPS);
		if (!parse_step(&c, &out[(*n)++]) || fail_repeated(&c, out, *n))
			return false;
		if (!*c.p)
			return true;
		if (*c.p != ',' && *c.p != ';' && !parse_is(&c, "and"))
			return parse_fail(&c, parse_at(&c),
					  "'%.*s' is not understood here; several changes are joined by ','",
					  parse_shown(strlen(c.p)), c.p);
		c.p += *c.p == 'a' ? 3 : 1;
		parse_skip(&c);
	} while (true);
}

static bool parse_class(struct cursor *c, struct policy *p)
{
	struct expr_error inner;
	size_t n = parse_word(c);
	double v;

	if (!expr_value(c->p, n, UNIT_CLASS, &v, &inner))
		return parse_fail(c, parse_at(c), "%s", inner.msg);
	p->classes |= 1u << (unsigned int)v;
	c->p += n;
	parse_skip(c);
	return true;
}

bool expr_binding(const char *s, struct policy *p, struct expr_error *e)
{
	struct cursor c = { .text = s, .p = s, .e = e };
	size_t n;

	p->classes = 0;
	p->job[0] = '\0';
	parse_skip(&c);
	if (!parse_take(&c, "each"))
		parse_take(&c, "every");
	if (!parse_take(&c, "job"))
		return parse_fail(&c, parse_at(&c),
				  "'%.*s': a policy is for 'job', 'job of class latency or balanced' or 'job NAME'",
				  parse_shown(strlen(c.p)), c.p);
	if (parse_take(&c, "of")) {
		if (!parse_take(&c, "class"))
			return parse_fail(&c, parse_at(&c),
					  "after 'job of' comes 'class' and its name");
		do {
			if (!parse_class(&c, p))
				return false;
		} while (parse_take(&c, "or"));
	} else if (*c.p) {
		/* Not parse_word(): a job's name may begin with a digit, and have any '-' in it. */
		n = strcspn(c.p, " \t\n");
		if (n >= sizeof(p->job))
			return parse_fail(&c, parse_at(&c),
					  "a job's name has at most %zu characters",
					  sizeof(p->job) - 1);
		memcpy(p->job, c.p, n);
		p->job[n] = '\0';
		c.p += n;
		parse_skip(&c);
	}
	if (*c.p)
		return parse_fail(&c, parse_at(&c),
				  "'%.*s' is not understood here; a policy is for 'job', 'job of class latency or balanced' or 'job NAME'",
				  parse_shown(strlen(c.p)), c.p);
	return true;
}
