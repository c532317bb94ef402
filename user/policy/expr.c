// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "policy/expr.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "policy/report.h"

struct cursor {
	const char *text, *p;
	struct expr_error *e;
};

static bool fail(struct expr_error *e, size_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static bool fail(struct expr_error *e, size_t at, const char *fmt, ...)
{
	va_list ap;

	e->at = at;
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	return false;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static bool word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

static void skip(struct cursor *c)
{
	while (blank(*c->p))
		c->p++;
}

static size_t at(const struct cursor *c)
{
	return (size_t)(c->p - c->text);
}

/* Printable beginning of something that may be long. */
static int shown(size_t n)
{
	return n > 40 ? 40 : (int)n;
}

static size_t word(const struct cursor *c)
{
	size_t n = 0;

	while (word_char(c->p[n]))
		n++;
	return n;
}

static bool is(const char *s, size_t n, const char *w)
{
	return strlen(w) == n && !memcmp(s, w, n);
}

static const char *pick_signal(size_t i, const void *arg)
{
	(void)arg;
	return i < SIGNALS ? vocab_signals[i].name : NULL;
}

static const char *pick_knob(size_t i, const void *arg)
{
	(void)arg;
	return i < vocab_n_knobs ? vocab_knobs[i].name : NULL;
}

static const char *pick_word(size_t i, const void *arg)
{
	const enum unit *unit = arg;
	size_t k;

	for (k = 0; k < vocab_n_words; k++)
		if (vocab_words[k].unit == *unit && !i--)
			return vocab_words[k].name;
	return NULL;
}

static bool find_signal(struct cursor *c, enum signal_id *id)
{
	size_t n = word(c), i;
	const char *near;

	for (i = 0; i < SIGNALS; i++) {
		if (!is(c->p, n, vocab_signals[i].name))
			continue;
		if (!vocab_signals[i].measured)
			return fail(c->e, at(c),
				    "nothing measures %s yet, so this would never be true; leave the clause out",
				    vocab_signals[i].name);
		*id = i;
		c->p += n;
		return true;
	}
	if (!n || (*c->p >= '0' && *c->p <= '9'))
		return fail(c->e, at(c),
			    "a signal is expected here; write 'port.util > 80%%', the signal first");
	near = suggest(c->p, n, pick_signal, NULL);
	if (near)
		return fail(c->e, at(c),
			    "unknown signal '%.*s'; did you mean '%s'?",
			    shown(n), c->p, near);
	return fail(c->e, at(c),
		    "unknown signal '%.*s'; swiftrdma-policy(5) lists them all, for instance port.util and job.qps",
		    shown(n), c->p);
}

static bool find_cmp(struct cursor *c, enum cmp *cmp)
{
	static const enum cmp order[] = {
		CMP_GE, CMP_LE, CMP_EQ, CMP_NE, CMP_GT, CMP_LT,
	};
	size_t i, n = 0;

	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const char *name = cmp_name(order[i]);

		if (!strncmp(c->p, name, strlen(name))) {
			*cmp = order[i];
			c->p += strlen(name);
			return true;
		}
	}
	while (c->p[n] && !blank(c->p[n]))
		n++;
	if (n && c->p[0] == '=')
		return fail(c->e, at(c),
			    "'=' sets a knob; to compare, write '=='");
	return fail(c->e, at(c),
		    "a comparison is expected here, not '%.*s'; it is one of > >= < <= == !=",
		    shown(n), c->p);
}

static const char *unit_noun(enum unit unit)
{
	static const char *const nouns[] = {
		[UNIT_COUNT] = "a plain number", [UNIT_TIME] = "a time",
		[UNIT_BITRATE] = "a speed", [UNIT_RATE] = "a rate",
		[UNIT_RATIO] = "a ratio", [UNIT_ID] = "a plain number",
		[UNIT_CLASS] = "a class", [UNIT_STATE] = "a state",
		[UNIT_TYPE] = "a type",
	};

	return nouns[unit];
}

static bool bad_unit(const char *s, size_t n, size_t unit_at, enum unit unit,
		     struct expr_error *e)
{
	const char *near = units_suggest(s + unit_at, n - unit_at);

	if (near)
		return fail(e, unit_at, "unknown unit '%.*s'; write '%s'",
			    shown(n - unit_at), s + unit_at, near);
	return fail(e, unit_at, "unknown unit '%.*s'; this should be %s",
		    shown(n - unit_at), s + unit_at, units_describe(unit));
}

static bool bad_word(const char *s, size_t n, enum unit unit,
		     struct expr_error *e)
{
	const char *near = suggest(s, n, pick_word, &unit);

	if (near)
		return fail(e, 0, "'%.*s' is not %s; did you mean '%s'?",
			    shown(n), s, unit_noun(unit), near);
	return fail(e, 0, "'%.*s' is not %s", shown(n), s,
		    units_describe(unit));
}

bool expr_value(const char *s, size_t n, enum unit unit, double *v,
		struct expr_error *e)
{
	struct quantity q;
	size_t unit_at = 0;

	if (!n)
		return fail(e, 0, "a value is missing; it should be %s",
			    units_describe(unit));
	if (unit >= UNIT_CLASS)
		return !vocab_word(unit, s, n, v) || bad_word(s, n, unit, e);
	switch (units_parse(s, n, &q, &unit_at)) {
	case 0:
		break;
	case -ENOENT:
		return bad_unit(s, n, unit_at, unit, e);
	case -ERANGE:
		return fail(e, 0, "'%.*s' has too many digits; 15 are enough",
			    shown(n), s);
	default:
		return fail(e, 0, "'%.*s' is not a number; it should be %s",
			    shown(n), s, units_describe(unit));
	}
	if (q.unit == UNIT_COUNT && unit == UNIT_ID)
		q.unit = UNIT_ID;
	/* Nought is nought in every unit. */
	if (q.unit != unit && !(q.unit == UNIT_COUNT && q.v == 0))
		return fail(e, 0, "'%.*s' is %s; it should be %s", shown(n), s,
			    unit_noun(q.unit), units_describe(unit));
	*v = q.v;
	return true;
}

static bool clause_value(struct cursor *c, struct clause *cl)
{
	const struct vocab_signal *vs = &vocab_signals[cl->sig];
	const char *start = c->p, *end = start;
	struct expr_error inner;

	while (*end) {
		size_t n = 0;

		while (end[n] && !blank(end[n]))
			n++;
		if (is(end, n, "and"))
			break;
		if (is(end, n, "or") || is(end, n, "||"))
			return fail(c->e, (size_t)(end - c->text),
				    "'%.*s' is not understood; make it two policies, one for each side",
				    (int)n, end);
		if (is(end, n, "&&"))
			return fail(c->e, (size_t)(end - c->text),
				    "'&&' is not understood; write 'and'");
		end += n;
		while (blank(*end))
			end++;
	}
	c->p = end;
	while (end > start && blank(end[-1]))
		end--;
	if (!expr_value(start, (size_t)(end - start), vs->unit, &cl->value,
			&inner))
		return fail(c->e, (size_t)(start - c->text) + inner.at,
			    "%s: %s", vs->name, inner.msg);
	if (vs->unit == UNIT_RATIO && (cl->value < 0 || cl->value > 1))
		return fail(c->e, (size_t)(start - c->text),
			    "%s: a ratio is between 0%% and 100%%", vs->name);
	if (vs->unit >= UNIT_ID && cl->cmp != CMP_EQ && cl->cmp != CMP_NE)
		return fail(c->e, (size_t)(start - c->text),
			    "%s has no order; compare it with == or !=",
			    vs->name);
	return true;
}

bool expr_cond(const char *s, struct cond *cond, struct expr_error *e)
{
	struct cursor c = { .text = s, .p = s, .e = e };

	cond->n = 0;
	skip(&c);
	if (!*c.p)
		return fail(e, 0,
			    "an empty state; write for instance 'port.util > 80%%'");
	for (;;) {
		struct clause *cl = &cond->clauses[cond->n];

		if (cond->n == COND_MAX)
			return fail(e, at(&c), "more than %d clauses",
				    COND_MAX);
		if (*c.p == '(' || is(c.p, word(&c), "not") || *c.p == '!')
			return fail(e, at(&c),
				    "a state is 'signal > value and signal < value ...'; there is no '%.*s' in it",
				    *c.p == '(' || *c.p == '!' ? 1 : 3, c.p);
		if (!find_signal(&c, &cl->sig))
			return false;
		skip(&c);
		if (!find_cmp(&c, &cl->cmp))
			return false;
		skip(&c);
		if (!clause_value(&c, cl))
			return false;
		cond->n++;
		if (!*c.p)
			return true;
		c.p += strlen("and");
		skip(&c);
	}
}

static bool find_knob(struct cursor *c, const struct vocab_knob **knob)
{
	size_t n = word(c), i;
	const char *near;

	for (i = 0; i < vocab_n_knobs; i++) {
		const struct vocab_knob *k = &vocab_knobs[i];

		if (!is(c->p, n, k->name))
			continue;
		if (k->enforcer)
			return fail(c->e, at(c),
				    "nobody enforces %s yet (it will be %s); the kernel enforces job.level, job.max_qps, job.create_rate, job.bit_rate and job.weight",
				    k->name, k->enforcer);
		*knob = k;
		c->p += n;
		return true;
	}
	near = n ? suggest(c->p, n, pick_knob, NULL) : NULL;
	if (near)
		return fail(c->e, at(c),
			    "unknown knob '%.*s'; did you mean '%s'?",
			    shown(n), c->p, near);
	return fail(c->e, at(c),
		    "unknown knob '%.*s'; the kernel enforces job.level, job.max_qps and job.create_rate",
		    shown(n), c->p);
}

bool expr_step(const char *s, struct step *step, struct expr_error *e)
{
	struct cursor c = { .text = s, .p = s, .e = e };
	const struct vocab_knob *k;
	struct expr_error inner;
	size_t n;

	skip(&c);
	if (is(c.p, word(&c), "release")) {
		c.p += strlen("release");
		step->op = STEP_RELEASE;
		skip(&c);
		if (!find_knob(&c, &k))
			return false;
		step->knob = k->knob;
		skip(&c);
		if (*c.p)
			return fail(e, at(&c), "'%.*s' after the knob; write 'release %s' and no more",
				    shown(strlen(c.p)), c.p, k->name);
		return true;
	}
	if (!find_knob(&c, &k))
		return false;
	step->knob = k->knob;
	skip(&c);
	if (!strncmp(c.p, "+=", 2)) {
		step->op = STEP_ADD;
		c.p += 2;
	} else if (!strncmp(c.p, "-=", 2)) {
		step->op = STEP_SUB;
		c.p += 2;
	} else if (*c.p == '=' && c.p[1] != '=') {
		step->op = STEP_SET;
		c.p++;
	} else {
		return fail(e, at(&c),
			    "after %s comes '+=', '-=' or '='; for instance '%s += 1'",
			    k->name, k->name);
	}
	skip(&c);
	n = strlen(c.p);
	while (n && blank(c.p[n - 1]))
		n--;
	if (!expr_value(c.p, n, k->unit, &step->n, &inner))
		return fail(e, at(&c) + inner.at, "%s: %s", k->name,
			    inner.msg);
	if (step->op == STEP_SET && (step->n < k->min || step->n > k->max))
		return fail(e, at(&c), "%s = %.*s is out of range; it is %.0f to %.0f",
			    k->name, shown(n), c.p, k->min, k->max);
	if (step->op != STEP_SET && (step->n <= 0 || step->n > k->max))
		return fail(e, at(&c), "a step of %.*s is out of range; it is above 0 and at most %.0f",
			    shown(n), c.p, k->max);
	if (step->n != (double)(uint64_t)step->n)
		return fail(e, at(&c), "%s takes whole numbers only", k->name);
	return true;
}

bool expr_binding(const char *s, struct policy *p, struct expr_error *e)
{
	struct cursor c = { .text = s, .p = s, .e = e };
	struct expr_error inner;
	size_t n;
	double v;

	p->class = 0;
	p->job[0] = '\0';
	skip(&c);
	if (is(c.p, word(&c), "each") || is(c.p, word(&c), "every")) {
		c.p += word(&c);
		skip(&c);
	}
	if (!is(c.p, word(&c), "job"))
		return fail(e, at(&c),
			    "'%.*s': a policy is for 'job', 'job of class latency' or 'job NAME'",
			    shown(strlen(c.p)), c.p);
	c.p += strlen("job");
	skip(&c);
	n = word(&c);
	if (is(c.p, n, "of")) {
		c.p += n;
		skip(&c);
		if (!is(c.p, word(&c), "class"))
			return fail(e, at(&c),
				    "after 'job of' comes 'class' and its name");
		c.p += strlen("class");
		skip(&c);
		n = word(&c);
		if (!expr_value(c.p, n, UNIT_CLASS, &v, &inner))
			return fail(e, at(&c), "%s", inner.msg);
		p->class = (uint32_t)v;
		c.p += n;
	} else if (n) {
		if (n >= sizeof(p->job))
			return fail(e, at(&c), "a job's name has at most %zu characters",
				    sizeof(p->job) - 1);
		memcpy(p->job, c.p, n);
		p->job[n] = '\0';
		c.p += n;
	}
	skip(&c);
	if (*c.p)
		return fail(e, at(&c), "'%.*s' is not understood here; a policy is for 'job', 'job of class latency' or 'job NAME'",
			    shown(strlen(c.p)), c.p);
	return true;
}
