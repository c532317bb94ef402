// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The reason of a decision, as text and as readings. Evaluation itself writes neither. */
#include "core/policy.h"

#include <string.h>

#include <rdma/swiftrdma_share.h>

#define TERM_ATOMS (OBJ_KINDS * PROG_ATOMS)

static void write_object(struct text *t, enum obj_kind kind,
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

static bool read_bound_signal(enum signal_id sig, const struct signals *s,
			      const struct binding *b, double *v)
{
	int32_t row = b->at[vocab_signals[sig].obj];

	return row >= 0 && signal_get(s, sig, (size_t)row, v);
}

static void write_reading(struct text *t, enum signal_id sig,
			  const struct signals *s, const struct binding *b)
{
	const struct vocab_signal *vs = &vocab_signals[sig];
	double v;

	write_object(t, vs->obj, s, b);
	text_str(t, " ");
	text_str(t, strchr(vs->name, '.') + 1);
	text_str(t, " ");
	if (read_bound_signal(sig, s, b, &v))
		vocab_format(t, v, vs->unit);
	else
		text_str(t, "unknown");
}

/* "port rxe0/1 util 97.3 % > 80 %" */
static void write_simple(struct text *t, const struct prog *p,
			 const struct prog_atom *a, const struct signals *s,
			 const struct binding *b)
{
	double v;

	write_reading(t, a->sig, s, b);
	if (!read_bound_signal(a->sig, s, b, &v))
		return;
	/* Not "class latency == latency". */
	if (a->cmp == CMP_EQ && v == a->value)
		return;
	text_str(t, " ");
	text_mem(t, p->text + a->text, a->text_len);
}

static bool is_repeated_signal(const struct prog_ins *first, const struct prog_ins *in)
{
	for (; first < in; first++)
		if (first->op == PROG_SIGNAL && first->arg == in->arg)
			return true;
	return false;
}

/* The atom as the policy file has it, and the values of its signals. */
static void write_complex(struct text *t, const struct truth_view *v, const struct prog_atom *a,
			  const struct binding *b)
{
	const struct prog *p = v->p;
	const struct prog_ins *first = p->ins + a->code.first;
	bool any = false;
	unsigned int i;

	text_mem(t, p->text + a->text, a->text_len);
	for (i = 0; i < a->code.n; i++) {
		if (first[i].op == PROG_AGG) {
			int32_t row = b->at[p->aggs[first[i].arg].on];

			text_str(t, any ? ", it is " : " (it is ");
			text_fixed(t, row < 0 ? 0 : v->t->agg[first[i].arg][row], 1);
			any = true;
			continue;
		}
		if (first[i].op != PROG_SIGNAL || is_repeated_signal(first, first + i))
			continue;
		text_str(t, any ? ", " : " (");
		write_reading(t, first[i].arg, v->s, b);
		any = true;
	}
	if (any)
		text_str(t, ")");
}

/* The term to describe: the first that is true, else the first. */
static const struct prog_term *find_telling_term(const struct truth_view *v,
						 const struct cond *c,
						 const struct binding *b)
{
	const struct prog_term *term = truth_which(v, c->terms, b);

	if (!term && c->terms.n)
		term = &v->p->terms[c->terms.first];
	return term;
}

/* Lists the atoms of a term in the order of their texts. Returns their number. */
static unsigned int list_atoms(const struct prog *p, const struct prog_term *term,
			       const struct prog_atom **v)
{
	unsigned int n = 0, k;
	uint64_t need;
	uint32_t o;

	for (o = 0; o < OBJ_KINDS; o++)
		for (need = term->need[o]; need; need &= need - 1) {
			const struct prog_atom *a = &p->atoms[o][__builtin_ctzll(need)];

			for (k = n++; k && v[k - 1]->text > a->text; k--)
				v[k] = v[k - 1];
			v[k] = a;
		}
	return n;
}

/* Appends why a condition is true. */
static void write_cond(struct text *t, const struct truth_view *v, const struct cond *c,
		       const struct binding *b)
{
	const struct prog_term *term = find_telling_term(v, c, b);
	const struct prog_atom *atoms[TERM_ATOMS];
	unsigned int i, n = term ? list_atoms(v->p, term, atoms) : 0;

	for (i = 0; i < n; i++) {
		if (i)
			text_str(t, " and ");
		if (atoms[i]->simple)
			write_simple(t, v->p, atoms[i], v->s, b);
		else
			write_complex(t, v, atoms[i], b);
	}
}

/* --- Readings ------------------------------------------------------------- */

/* Adds the reading of @sig unless @to has it. @unknown: adds it only if it is absent. */
static void add_value(struct policy_seen *to, enum signal_id sig, const struct signals *s,
		      const struct binding *b, bool unknown)
{
	struct policy_reading *next;
	unsigned int i;

	for (i = 0; i < to->n_values; i++)
		if (to->values[i].sig == sig)
			return;
	if (to->n_values == POLICY_READINGS)
		return;
	next = &to->values[to->n_values];
	next->sig = sig;
	if (!read_bound_signal(sig, s, b, &next->v))
		next->v = __builtin_nan("");
	else if (unknown)
		return;
	to->n_values++;
}

/* Adds the readings of a condition's signals. */
static void add_values(struct policy_seen *to, const struct truth_view *v, const struct cond *c,
		       const struct binding *b, bool unknown)
{
	const struct prog_atom *atoms[TERM_ATOMS];
	unsigned int i, j, k, n;

	for (i = 0; i < c->terms.n; i++) {
		n = list_atoms(v->p, &v->p->terms[c->terms.first + i], atoms);
		for (k = 0; k < n; k++)
			for (j = 0; j < atoms[k]->code.n; j++) {
				const struct prog_ins *in = &v->p->ins[atoms[k]->code.first + j];

				if (in->op == PROG_SIGNAL)
					add_value(to, in->arg, v->s, b, unknown);
			}
	}
}

/* The states that were unknown, so that one of their fallbacks decided. */
struct passed_over {
	const struct cond *when;	/* NULL: there are none */
	const struct cond *fallback;
	unsigned int n;			/* fallbacks */
};

/* The states that were evaluated before @c decided. */
static struct passed_over find_passed_over(const struct policy *p, const struct cond *c)
{
	unsigned int i;

	for (i = 0; i < p->n_fallback; i++)
		if (c == &p->fallback[i])
			return (struct passed_over){ &p->when, p->fallback, i };
	for (i = 0; i < p->n_undo_fallback; i++)
		if (c == &p->undo_fallback[i])
			return (struct passed_over){ &p->undo_when, p->undo_fallback, i };
	return (struct passed_over){ 0 };
}

/* Adds the unknown signals of @over. */
static void add_unknown(struct policy_seen *to, const struct truth_view *v,
			const struct passed_over *over, const struct binding *b)
{
	unsigned int i;

	if (over->when)
		add_values(to, v, over->when, b, true);
	for (i = 0; i < over->n; i++)
		add_values(to, v, &over->fallback[i], b, true);
}

/* The objects of @b, and the readings of @c and of the states that were passed over. */
static void set_seen(struct policy_seen *seen, const struct truth_view *v, const struct cond *c,
		     const struct passed_over *over, const struct binding *b)
{
	const struct snapshot *snap = v->s->snap;
	int32_t dev = b->at[OBJ_DEV];

	seen->has_dev = dev >= 0;
	seen->has_port = b->at[OBJ_PORT] >= 0;
	seen->has_uar = b->at[OBJ_UAR] >= 0;
	seen->has_qp = b->at[OBJ_QP] >= 0;
	if (seen->has_dev) {
		memcpy(seen->dev, snap->devs[dev].name, sizeof(seen->dev));
		seen->dev_index = snap->devs[dev].index;
	}
	if (seen->has_port)
		seen->port = snap->ports[b->at[OBJ_PORT]].index;
	if (seen->has_uar)
		seen->uar = snap->uars[b->at[OBJ_UAR]].index;
	if (seen->has_qp)
		seen->qpn = snap->qps[b->at[OBJ_QP]].qpn;
	add_values(seen, v, c, b, false);
	add_unknown(seen, v, over, b);
}

/* --- Text ----------------------------------------------------------------- */

/* True: @sig is the value of the window before that of @of, so it is unknown whenever @of is. */
static bool is_previous_of(enum signal_id sig, enum signal_id of)
{
	return (sig == SIG_JOB_P99_PREV && of == SIG_JOB_P99) ||
	       (sig == SIG_JOB_LATENCY_PREV && of == SIG_JOB_LATENCY);
}

/* True: another signal in @lacks implies that @sig is unknown. */
static bool is_implied(const struct policy_reading *lacks, unsigned int n, enum signal_id sig)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (is_previous_of(sig, lacks[i].sig))
			return true;
	return false;
}

/* Appends ", by fallback as job kv p99 unknown": the unknown signals of @over. */
static void write_fallback(struct text *t, const struct truth_view *v,
			   const struct passed_over *over, const struct binding *b)
{
	struct policy_seen lacks = { .n_values = 0 };
	const char *sep = " as ";
	unsigned int i;

	add_unknown(&lacks, v, over, b);
	text_str(t, ", by fallback");
	for (i = 0; i < lacks.n_values; i++) {
		if (is_implied(lacks.values, lacks.n_values, lacks.values[i].sig))
			continue;
		text_str(t, sep);
		write_reading(t, lacks.values[i].sig, v->s, b);
		sep = ", ";
	}
}

/* Appends what a decision does: ": level 0 -> 1". */
static void write_outcome(struct text *t, const struct policy_decision *d)
{
	const struct vocab_knob *k = vocab_knob(d->knob);
	bool first = true;
	unsigned int i;

	text_str(t, ": ");
	if (d->has_qp) {
		text_str(t, "qp ");
		text_u64(t, d->qpn);
		text_str(t, " ");
	}
	text_str(t, strchr(k->name, '.') + 1);
	text_str(t, " ");
	if (d->has_old)
		vocab_format(t, d->old, k->unit);
	else
		text_str(t, "none");
	text_str(t, " -> ");
	if (d->release)
		text_str(t, d->has_qp && d->old == SWIFTRDMA_UAR_LIGHTEST ?
			    "released, it stays there" : "the application's own");
	else
		vocab_format(t, d->new, k->unit);
	for (i = 1; i < CAUSES; i++) {
		if (!(d->others & 1u << i))
			continue;
		text_str(t, first ? " (not " : ", ");
		text_str(t, cause_names[i]);
		first = false;
	}
	if (!first)
		text_str(t, ", less far beyond its bound)");
	if (d->damped) {
		text_str(t, " (it changed direction too often, waiting ");
		units_format(t, (double)d->cooldown, UNIT_TIME);
		text_str(t, ")");
	}
}

/* Appends what was true for the decision. */
static void write_state(struct text *t, const struct truth_view *v, const struct policy_decision *d,
			const struct passed_over *over)
{
	const struct cond *c = d->cond;

	if (d->undo && d->at.at[OBJ_DEV] < 0 && c->kinds & ~(1u << OBJ_JOB)) {
		text_add(t, "job ", d->job, " uses nothing any more");
		return;
	}
	write_cond(t, v, c, &d->at);
	if (over->when)
		write_fallback(t, v, over, &d->at);
}

/* The reason of a decision for which a state was true. */
static void explain_state(struct policy_decision *d, const struct policy *p,
			  const struct truth_view *v)
{
	const struct passed_over over = find_passed_over(p, d->cond);
	char tail[144];
	struct text t, end;

	set_seen(&d->seen, v, d->cond, &over, &d->at);
	text_init(&end, tail, sizeof(tail));
	write_outcome(&end, d);
	/* Keep room for the outcome, however long the conditions are. */
	text_init(&t, d->reason, sizeof(d->reason) - end.len - 3);
	text_add(&t, p->name, ": ");
	write_state(&t, v, d, &over);
	t.cap = sizeof(d->reason);
	if (t.cut)
		text_str(&t, "...");
	text_mem(&t, tail, end.len);
}

/* The reason of the release of a job whose class the policy no longer covers. */
static void explain_disown(struct policy_decision *d, const struct policy *p,
			   const struct signals *s)
{
	struct text t;

	text_init(&t, d->reason, sizeof(d->reason));
	text_add(&t, p->name, ": job ", d->job, " is now of class ");
	vocab_format(&t, s->snap->jobs[d->at.at[OBJ_JOB]].class, UNIT_CLASS);
	text_add(&t, ", which this policy is not for: ", vocab_knob(d->knob)->name, " released");
}

void policy_explain(const struct policy_set *set, struct policy_state *st,
		    const struct signals *s, struct policy_decision *d, size_t n)
{
	const struct truth_view v = { .t = &st->truth, .p = &set->prog, .s = s };

	for (; n--; d++) {
		struct policy_evidence *evidence = &st->slots[d->slot].evidence[d->policy];

		memset(&d->seen, 0, sizeof(d->seen));
		if (!d->cond) {
			explain_disown(d, &set->v[d->policy], s);
			continue;
		}
		explain_state(d, &set->v[d->policy], &v);
		memcpy(evidence->reason, d->reason, sizeof(evidence->reason));
		evidence->seen = d->seen;
	}
}

void reason_quota(struct text *t, const struct policy_decision *d)
{
	text_str(t, " [tick ");
	text_u64(t, d->tick);
	if (d->cooldown) {
		text_str(t, ", next in ");
		units_format(t, (double)d->cooldown, UNIT_TIME);
	}
	if (d->steps_left != UINT32_MAX) {
		text_str(t, ", ");
		text_u64(t, d->steps_left);
		text_str(t, " steps left");
	}
	if (d->acts_left != UINT32_MAX) {
		text_str(t, ", ");
		text_u64(t, d->acts_left);
		text_str(t, " acts left");
	}
	text_str(t, "]");
}
