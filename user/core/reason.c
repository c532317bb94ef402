// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The reason of a decision, as text and as readings. */
#include "core/policy.h"

#include <string.h>

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

void reason_cond(struct text *t, const struct truth_view *v, const struct cond *c,
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

static unsigned int add_value(struct policy_reading *out, unsigned int n,
			      unsigned int cap, enum signal_id sig,
			      const struct signals *s, const struct binding *b)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (out[i].sig == sig)
			return n;
	if (n == cap)
		return n;
	out[n].sig = sig;
	if (!read_bound_signal(sig, s, b, &out[n].v))
		out[n].v = __builtin_nan("");
	return n + 1;
}

unsigned int reason_values(struct policy_reading *out, unsigned int cap,
			   const struct prog *p, const struct cond *c,
			   const struct signals *s, const struct binding *b)
{
	const struct prog_atom *v[TERM_ATOMS];
	unsigned int n = 0, i, j, k, n_atoms;

	for (i = 0; i < c->terms.n; i++) {
		n_atoms = list_atoms(p, &p->terms[c->terms.first + i], v);
		for (k = 0; k < n_atoms; k++)
			for (j = 0; j < v[k]->code.n; j++) {
				const struct prog_ins *in = &p->ins[v[k]->code.first + j];

				if (in->op == PROG_SIGNAL)
					n = add_value(out, n, cap, in->arg, s, b);
			}
	}
	return n;
}

static unsigned int add_unknown(struct policy_reading *out, unsigned int n, unsigned int cap,
				const struct prog *p, const struct cond *c,
				const struct signals *s, const struct binding *b)
{
	struct policy_reading all[POLICY_READINGS];
	unsigned int i, n_all = reason_values(all, POLICY_READINGS, p, c, s, b);

	for (i = 0; i < n_all; i++)
		if (__builtin_isnan(all[i].v))
			n = add_value(out, n, cap, all[i].sig, s, b);
	return n;
}

unsigned int reason_unknown(struct policy_reading *out, unsigned int n, unsigned int cap,
			    const struct prog *p, const struct passed_over *over,
			    const struct signals *s, const struct binding *b)
{
	unsigned int i;

	if (over->when)
		n = add_unknown(out, n, cap, p, over->when, s, b);
	for (i = 0; i < over->n; i++)
		n = add_unknown(out, n, cap, p, &over->fallback[i], s, b);
	return n;
}

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

void reason_fallback(struct text *t, const struct prog *p, const struct passed_over *over,
		     const struct signals *s, const struct binding *b)
{
	struct policy_reading lacks[POLICY_READINGS];
	unsigned int i, n = reason_unknown(lacks, 0, POLICY_READINGS, p, over, s, b);
	const char *sep = " as ";

	text_str(t, ", by fallback");
	for (i = 0; i < n; i++) {
		if (is_implied(lacks, n, lacks[i].sig))
			continue;
		text_str(t, sep);
		write_reading(t, lacks[i].sig, s, b);
		sep = ", ";
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
