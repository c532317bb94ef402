// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/cond.h"

#include <float.h>
#include <string.h>

static const char *const cmp_names[] = {
	[CMP_GT] = ">",	 [CMP_GE] = ">=", [CMP_LT] = "<",
	[CMP_LE] = "<=", [CMP_EQ] = "==", [CMP_NE] = "!=",
};

const char *cmp_name(enum cmp cmp)
{
	return cmp_names[cmp];
}

unsigned int cond_kinds(const struct cond *c)
{
	unsigned int i, kinds = 0;

	for (i = 0; i < c->n; i++)
		kinds |= 1u << vocab_signals[c->clauses[i].sig].obj;
	return kinds;
}

static bool read_clause(const struct clause *cl, const struct signals *s,
			const struct binding *b, double *v)
{
	int32_t row = b->at[vocab_signals[cl->sig].obj];

	return row >= 0 && signal_get(s, cl->sig, (size_t)row, v);
}

static bool holds(enum cmp cmp, double v, double than)
{
	switch (cmp) {
	case CMP_GT:
		return v > than;
	case CMP_GE:
		return v >= than;
	case CMP_LT:
		return v < than;
	case CMP_LE:
		return v <= than;
	case CMP_EQ:
		return v == than;
	case CMP_NE:
		return v != than;
	}
	return false;
}

enum tri cond_eval(const struct cond *c, const struct signals *s,
		   const struct binding *b, double *values)
{
	enum tri all = TRI_TRUE;
	unsigned int i;

	for (i = 0; i < c->n; i++) {
		const struct clause *cl = &c->clauses[i];
		double v;

		if (!read_clause(cl, s, b, &v)) {
			if (values)
				values[i] = __builtin_nan("");
			if (all == TRI_TRUE)
				all = TRI_UNKNOWN;
			continue;
		}
		if (values)
			values[i] = v;
		if (!holds(cl->cmp, v, cl->value))
			all = TRI_FALSE;
	}
	return all;
}

static void object_name(struct text *t, enum obj_kind kind,
			const struct signals *s, const struct binding *b)
{
	const struct snapshot *snap = s->snap;
	int32_t row = b->at[kind], dev = b->at[OBJ_DEV];

	text_str(t, vocab_objs[kind]);
	text_str(t, " ");
	if (row < 0) {
		text_str(t, "?");
		return;
	}
	if (kind == OBJ_JOB) {
		text_str(t, snap->jobs[row].name);
		return;
	}
	text_str(t, dev >= 0 ? snap->devs[dev].name : "?");
	if (kind == OBJ_DEV)
		return;
	text_str(t, "/");
	text_u64(t, kind == OBJ_PORT ? snap->ports[row].index :
		    kind == OBJ_UAR ? snap->uars[row].index :
				      snap->qps[row].qpn);
}

void cond_reason(struct text *t, const struct cond *c, const struct signals *s,
		 const struct binding *b)
{
	unsigned int i;

	for (i = 0; i < c->n; i++) {
		const struct clause *cl = &c->clauses[i];
		const struct vocab_signal *vs = &vocab_signals[cl->sig];
		double v;

		if (i)
			text_str(t, " and ");
		object_name(t, vs->obj, s, b);
		text_str(t, " ");
		text_str(t, strchr(vs->name, '.') + 1);
		text_str(t, " ");
		if (!read_clause(cl, s, b, &v)) {
			text_str(t, "unknown");
			continue;
		}
		vocab_format(t, v, vs->unit);
		/* "class latency == latency" would say it twice. */
		if (cl->cmp == CMP_EQ && v == cl->value)
			continue;
		text_str(t, " ");
		text_str(t, cmp_names[cl->cmp]);
		text_str(t, " ");
		vocab_format(t, cl->value, vs->unit);
	}
}

void cond_format(struct text *t, const struct cond *c)
{
	unsigned int i;

	for (i = 0; i < c->n; i++) {
		const struct clause *cl = &c->clauses[i];
		enum unit unit = vocab_signals[cl->sig].unit;
		const char *word = vocab_word_name(unit, cl->value);

		if (i)
			text_str(t, " and ");
		text_str(t, vocab_signals[cl->sig].name);
		text_str(t, " ");
		text_str(t, cmp_names[cl->cmp]);
		text_str(t, " ");
		if (word)
			text_str(t, word);
		else
			units_format_exact(t, cl->value, unit);
	}
}

/* What the clauses on one signal leave of the number line. */
struct interval {
	double lo, hi;
	bool lo_open, hi_open;
};

static void narrow(struct interval *in, const struct clause *cl)
{
	bool open = cl->cmp == CMP_GT || cl->cmp == CMP_LT;

	if (cl->cmp == CMP_GT || cl->cmp == CMP_GE || cl->cmp == CMP_EQ) {
		if (cl->value > in->lo ||
		    (cl->value == in->lo && open)) {
			in->lo = cl->value;
			in->lo_open = open;
		}
	}
	if (cl->cmp == CMP_LT || cl->cmp == CMP_LE || cl->cmp == CMP_EQ) {
		if (cl->value < in->hi ||
		    (cl->value == in->hi && open)) {
			in->hi = cl->value;
			in->hi_open = open;
		}
	}
}

static void narrow_all(struct interval *in, const struct cond *c,
		       enum signal_id sig)
{
	unsigned int i;

	for (i = 0; i < c->n; i++)
		if (c->clauses[i].sig == sig)
			narrow(in, &c->clauses[i]);
}

/* `x != 3` of one and a lone `x == 3` of both together leave nothing. */
static bool excluded(const struct interval *in, const struct cond *c,
		     enum signal_id sig)
{
	unsigned int i;

	for (i = 0; i < c->n; i++)
		if (c->clauses[i].sig == sig && c->clauses[i].cmp == CMP_NE &&
		    in->lo == in->hi && c->clauses[i].value == in->lo)
			return true;
	return false;
}

bool cond_overlap(const struct cond *a, const struct cond *b, bool *touch)
{
	bool overlap = true;
	unsigned int i;

	*touch = true;
	for (i = 0; i < a->n; i++) {
		enum signal_id sig = a->clauses[i].sig;
		struct interval in = { -DBL_MAX, DBL_MAX, false, false };

		narrow_all(&in, a, sig);
		narrow_all(&in, b, sig);
		if (in.lo > in.hi) {
			overlap = false;
			*touch = false;
		} else if (in.lo == in.hi && (in.lo_open || in.hi_open)) {
			overlap = false;
			/* Counts and words step by one: that is a gap. */
			if (vocab_signals[sig].unit == UNIT_COUNT ||
			    vocab_signals[sig].unit >= UNIT_ID)
				*touch = false;
		} else if (excluded(&in, a, sig) || excluded(&in, b, sig)) {
			overlap = false;
			*touch = false;
		}
	}
	if (overlap)
		*touch = false;
	return overlap;
}

void span_init(struct span *sp, const struct signals *s, uint32_t job,
	       unsigned int kinds)
{
	sp->s = s;
	sp->job = job;
	sp->kinds = kinds;
	sp->pos = 0;
}

static bool next_dev(struct span *sp, struct binding *b)
{
	const struct snap_job *job = &sp->s->snap->jobs[sp->job];

	while (sp->pos < job->n_stats) {
		const struct snap_job_stat *st = &job->stats[sp->pos++];

		if (!st->qps)
			continue;
		b->at[OBJ_DEV] = signals_dev_row(sp->s->snap, st->dev);
		return true;
	}
	return false;
}

bool span_next(struct span *sp, struct binding *b)
{
	const struct signals *s = sp->s;
	uint32_t i;

	b->at[OBJ_DEV] = -1;
	b->at[OBJ_PORT] = -1;
	b->at[OBJ_UAR] = -1;
	b->at[OBJ_QP] = -1;
	b->at[OBJ_JOB] = (int32_t)sp->job;
	if (sp->kinds & (1u << OBJ_QP | 1u << OBJ_UAR)) {
		i = s->job_first[sp->job] + sp->pos;
		if (i >= s->job_first[sp->job + 1])
			return false;
		sp->pos++;
		i = s->job_qps[i];
		b->at[OBJ_QP] = (int32_t)i;
		b->at[OBJ_DEV] = s->qps[i].dev;
		b->at[OBJ_PORT] = s->qps[i].port;
		b->at[OBJ_UAR] = s->qps[i].uar;
		return true;
	}
	if (sp->kinds & 1u << OBJ_PORT) {
		i = s->port_first[sp->job] + sp->pos;
		if (i >= s->port_first[sp->job + 1])
			return false;
		sp->pos++;
		i = s->job_ports[i];
		b->at[OBJ_PORT] = (int32_t)i;
		b->at[OBJ_DEV] = signals_dev_row(s->snap,
						 s->snap->ports[i].dev);
		return true;
	}
	if (sp->kinds & 1u << OBJ_DEV)
		return next_dev(sp, b);
	return !sp->pos++;
}
