// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Updates the truth of conditions at a tick, in this order: aggregates with changed members;
 * atoms of objects that changed, or whose atoms read an object that changed; and, for each
 * atom whose truth changed, the terms with that atom, for the QPs concerned.
 */
#include "core/masks.h"

#include <string.h>

/* One call of truth_update(). */
struct pass {
	struct truth *t;
	const struct prog *p;
	const struct signals *s;
	uint64_t now;
	bool all;		/* every object has to be evaluated */
};

/* Queues a row, once a tick, for the evaluation of its atoms. */
static void queue_row(struct truth_rows *r, uint32_t tick, uint32_t row)
{
	if (r->stamp[row] == tick)
		return;
	r->stamp[row] = tick;
	r->work[r->n_work++] = row;
}

static void queue_members(struct pass *ps, enum obj_kind on, uint32_t row,
			  enum obj_kind of)
{
	struct members m;
	uint32_t i;

	members_init(&m, ps->s, on, row, of);
	while (members_next(&m, &i))
		queue_row(&ps->t->rows[of], ps->t->tick, i);
}

/* --- Aggregates ----------------------------------------------------------- */

/* The aggregate of the object at @row; NaN: unknown. */
static double compute_aggregate(struct pass *ps, const struct prog_agg *a, uint32_t row)
{
	struct prog_env env = { .p = ps->p, .s = ps->s, .now = ps->now };
	double sum = 0, best = 0, v;
	struct members m;
	struct binding b;
	uint32_t i, n = 0;

	members_init(&m, ps->s, a->on, row, a->of);
	while (members_next(&m, &i)) {
		binding_of(ps->s, a->of, i, &b);
		if (a->where.n && prog_run(&env, a->where, &b) != 1)
			continue;
		v = a->value.n ? prog_run(&env, a->value, &b) : 1;
		/* Members of unknown value are left out. */
		if (v != v)
			continue;
		sum += v;
		if (!n || (a->op == AGG_MAX ? v > best : v < best))
			best = v;
		n++;
	}
	switch ((enum agg_op)a->op) {
	case AGG_COUNT:
		return n;
	case AGG_SUM:
		return n ? sum : __builtin_nan("");
	case AGG_MEAN:
		return n ? sum / n : __builtin_nan("");
	default:
		return n ? best : __builtin_nan("");
	}
}

/* The object of kind @on that has the object of kind @of at @row as a member; -1: unknown. */
static int32_t find_container_row(const struct signals *s, enum obj_kind on,
				  enum obj_kind of, uint32_t row)
{
	struct binding b;

	if (of == OBJ_JOB || (of == OBJ_PORT && on == OBJ_JOB))
		return -1;
	binding_of(s, of, row, &b);
	return b.at[on];
}

/* True: the aggregate reads an object that changed and is not a member. */
static bool reads_changed(const struct pass *ps, const struct prog_agg *a)
{
	unsigned int k;

	for (k = 0; k < OBJ_KINDS; k++)
		if (k != a->of && (a->reads & 1u << k) && ps->s->table[k].n_moved)
			return true;
	return false;
}

/* Bit per kind, other than @kind, that the atoms of @kind read. */
static unsigned int kinds_read(const struct prog *p, enum obj_kind kind)
{
	unsigned int i, bits = 0;

	for (i = 0; i < p->n_atoms[kind]; i++)
		bits |= p->atoms[kind][i].others;
	return bits & ~(1u << kind);
}

/* Computes aggregate @which anew for objects with a changed member. */
static void update_aggregate(struct pass *ps, uint32_t which)
{
	const struct prog_agg *a = &ps->p->aggs[which];
	const struct signal_table *of = &ps->s->table[a->of];
	struct truth_rows *on = &ps->t->rows[a->on];
	bool all = ps->all || reads_changed(ps, a);
	uint8_t *due = ps->t->agg_due;
	unsigned int readers = 0, k;
	size_t i;

	if (!all && !of->n_moved)
		return;
	for (k = 0; k < OBJ_KINDS; k++)
		if (kinds_read(ps->p, k) & 1u << a->on)
			readers |= 1u << k;
	memset(due, all, on->n);
	for (i = 0; !all && i < of->n_moved; i++) {
		int32_t row = find_container_row(ps->s, a->on, a->of, of->list[i]);

		if (row >= 0)
			due[row] = 1;
		else if (a->of == OBJ_JOB || a->on == OBJ_JOB)
			memset(due, 1, on->n);
	}
	for (i = 0; i < on->n; i++) {
		double *to = &ps->t->agg[which][i], v;

		if (!due[i])
			continue;
		v = compute_aggregate(ps, a, (uint32_t)i);
		if (*to == v || (*to != *to && v != v))
			continue;
		*to = v;
		queue_row(on, ps->t->tick, (uint32_t)i);
		for (k = 0; k < OBJ_KINDS; k++)
			if (readers & 1u << k)
				queue_members(ps, a->on, (uint32_t)i, k);
	}
}

/* --- Atoms ---------------------------------------------------------------- */

/*
 * Queues objects that changed, objects that must be evaluated again without a change, and
 * objects whose atoms read a changed object.
 */
static void queue_changed_rows(struct pass *ps, enum obj_kind kind)
{
	struct truth_rows *r = &ps->t->rows[kind];
	const struct signal_table *tab = &ps->s->table[kind];
	unsigned int look = kinds_read(ps->p, kind), k;
	size_t i;

	if (!ps->p->n_atoms[kind]) {
		r->n_work = 0;
		return;
	}
	if (ps->all) {
		for (i = 0; i < r->n; i++)
			queue_row(r, ps->t->tick, (uint32_t)i);
		return;
	}
	for (i = 0; i < tab->n_moved; i++)
		queue_row(r, ps->t->tick, tab->list[i]);
	for (i = 0; i < r->n_again; i++)
		queue_row(r, ps->t->tick, r->again[i]);
	for (k = 0; k < OBJ_KINDS; k++) {
		if (!(look & 1u << k))
			continue;
		for (i = 0; i < ps->s->table[k].n_moved; i++)
			queue_members(ps, k, ps->s->table[k].list[i], kind);
	}
}

/* Queues a QP for the evaluation of those of @terms to which its job subscribes. */
static void queue_terms(struct truth *t, const struct signals *s, uint32_t qp,
			const uint64_t *terms)
{
	uint64_t *pend = t->pend + (size_t)qp * t->words;
	int32_t job = s->qps[qp].job;
	uint64_t was = 0, is = 0;
	const uint64_t *about;
	unsigned int w;

	if (job < 0)
		return;
	about = t->subscribed + (size_t)job * t->words;
	for (w = 0; w < t->words; w++) {
		was |= pend[w];
		pend[w] |= terms[w] & about[w];
		is |= pend[w];
	}
	if (!was && is)
		t->queue[t->n_queue++] = qp;
}

/* Queues the terms that need the atoms @bits, which changed for the object at @row. */
static void queue_changed_terms(struct pass *ps, enum obj_kind kind, uint32_t row,
				uint64_t bits)
{
	struct truth *t = ps->t;
	uint64_t terms[PROG_CODE / 64 + 1], any = 0;
	struct members m;
	unsigned int w;
	uint32_t qp;

	/* truth_query.c evaluates the rest of a term on demand. */
	if (!t->words || !(ON_QPS & 1u << kind))
		return;
	for (w = 0; w < t->words; w++)
		terms[w] = 0;
	for (; bits; bits &= bits - 1) {
		const uint64_t *needs = t->needs[kind] + (size_t)__builtin_ctzll(bits) * t->words;

		for (w = 0; w < t->words; w++)
			any |= terms[w] |= needs[w];
	}
	if (!any)
		return;
	if (kind == OBJ_QP) {
		queue_terms(t, ps->s, row, terms);
		return;
	}
	members_init(&m, ps->s, kind, row, OBJ_QP);
	while (members_next(&m, &qp))
		queue_terms(t, ps->s, qp, terms);
}

/* Sets *@t and *@k: which of the atoms that are ranges are true, and which are known. */
static void evaluate_ranges(const struct truth_rows *r, uint32_t has, const double *v,
			    uint64_t *t, uint64_t *k)
{
	const struct truth_column *c = r->column, *end = c + r->n_columns;
	uint64_t yes = 0, known = 0;

	for (; c < end; c++) {
		const struct truth_range *g = r->range + c->first;
		double x = v[c->col];
		unsigned int i;

		if (!(has >> c->col & 1))
			continue;
		known |= c->bits;
		if (x < c->least) {
			yes |= c->low;
			continue;
		}
		for (i = 0; i < c->n; i++, g++)
			yes |= (uint64_t)(((x >= g->lo) & (x <= g->hi)) ^ g->not) << g->bit;
	}
	*t = yes;
	*k = known;
}

/* Adds to *@t and *@k the atoms that need their program. */
static void run_other_atoms(struct prog_env *env, const struct truth_rows *r,
			    enum obj_kind kind, uint32_t row, uint64_t *t, uint64_t *k)
{
	struct binding b;
	unsigned int i;

	binding_of(env->s, kind, row, &b);
	for (i = 0; i < r->n_others; i++) {
		const struct prog_atom *a = &env->p->atoms[kind][r->other[i]];
		double v = prog_run(env, a->code, &b);

		if (v != v)
			continue;
		*k |= 1ULL << r->other[i];
		if (v == 1)
			*t |= 1ULL << r->other[i];
	}
}

/*
 * Notes that the atoms @bits of an object changed. Those of QPs and UARs reach a job as counts,
 * which evaluate_qp_terms() notes.
 */
static void mark_touched(struct truth *t, enum obj_kind kind, uint32_t row, uint64_t bits)
{
	if (kind == OBJ_JOB)
		t->touched[row] = t->tick;
	else if (kind < OBJ_UAR)
		t->flipped[kind] |= bits;
}

/*
 * An answer for a job also depends on the devices on which the job has QPs. Jobs with QPs on
 * several devices are evaluated at every tick.
 */
static void mark_touched_jobs(struct pass *ps)
{
	const struct snapshot *snap = ps->s->snap;
	struct truth *t = ps->t;
	size_t i;

	memset(t->flipped, 0, sizeof(t->flipped));
	if (ps->all)
		t->all_touched = t->tick;
	for (i = 0; i < snap->n_jobs; i++) {
		const struct snap_job *job = &snap->jobs[i];
		uint32_t uses = job->n_stats && job->stats[0].qps ?
				job->stats[0].dev + 1 : 0;

		if (job->n_stats > 1 || uses != t->used[i])
			t->touched[i] = t->tick;
		t->used[i] = uses;
	}
}

/* Evaluates the atoms of the queued objects of @kind. */
static void update_atoms(struct pass *ps, enum obj_kind kind)
{
	struct truth_rows *r = &ps->t->rows[kind];
	const struct signal_table *tab = &ps->s->table[kind];
	struct prog_env env = {
		.p = ps->p, .s = ps->s, .agg = ps->t->agg, .now = ps->now,
	};
	uint32_t n_mem = ps->p->n_mem[kind];
	uint64_t t, k, bits;
	size_t i;

	r->n_again = 0;
	for (i = 0; i < r->n_work; i++) {
		uint32_t row = r->work[i];

		evaluate_ranges(r, tab->has[row], tab->v + (size_t)row * tab->width, &t, &k);
		if (r->n_others) {
			env.mem = n_mem ? r->mem + (size_t)row * n_mem : NULL;
			env.again = false;
			run_other_atoms(&env, r, kind, row, &t, &k);
			if (env.again)
				r->again[r->n_again++] = row;
		}
		bits = (t ^ r->t[row]) | (k ^ r->k[row]);
		if (!bits)
			continue;
		r->t[row] = t;
		r->k[row] = k;
		mark_touched(ps->t, kind, row, bits);
		if (!ps->all)
			queue_changed_terms(ps, kind, row, bits);
	}
	r->n_work = 0;
}

/* --- Terms that are counted per QP ------------------------------------------ */

/* Evaluates the queued terms of a QP, and counts the QP in its place. */
static void evaluate_qp_terms(struct pass *ps, uint32_t qp)
{
	struct truth *t = ps->t;
	const struct signal_qp_ref *ref = &ps->s->qps[qp];
	uint32_t n = ps->p->n_asked;
	struct masks m;
	unsigned int w;

	set_mask(t, OBJ_UAR, ref->uar, &m);
	set_mask(t, OBJ_QP, (int32_t)qp, &m);
	for (w = 0; w < t->words; w++) {
		size_t at = (size_t)qp * t->words + w;
		uint64_t bits = t->pend[at];

		t->pend[at] = 0;
		for (; bits; bits &= bits - 1) {
			uint32_t c = w * 64 + (uint32_t)__builtin_ctzll(bits);
			uint64_t bit = bits & -bits;
			enum tri r = term_part(&ps->p->terms[ps->p->asked[c]], &m, OBJ_UAR, OBJ_QP);
			int yes = (r == TRI_TRUE) - !!(t->yes[at] & bit);
			int no = (r == TRI_FALSE) - !!(t->no[at] & bit);

			t->yes[at] = r == TRI_TRUE ? t->yes[at] | bit : t->yes[at] & ~bit;
			t->no[at] = r == TRI_FALSE ? t->no[at] | bit : t->no[at] & ~bit;
			if (ref->place < 0)
				continue;
			if (yes | no)
				t->touched[ref->job] = t->tick;
			t->n_yes[(size_t)ref->place * n + c] += (uint32_t)yes;
			t->n_no[(size_t)ref->place * n + c] += (uint32_t)no;
		}
	}
}

/* Clears the counts and queues all terms of all QPs. */
static void queue_all_terms(struct pass *ps)
{
	struct truth *t = ps->t;
	size_t counts = ps->s->place_first[ps->s->snap->n_jobs] *
			(size_t)ps->p->n_asked;
	size_t words = ps->s->snap->n_qps * t->words, i;

	if (!t->words)
		return;
	memset(t->n_yes, 0, counts * sizeof(*t->n_yes));
	memset(t->n_no, 0, counts * sizeof(*t->n_no));
	memset(t->yes, 0, words * sizeof(*t->yes));
	memset(t->no, 0, words * sizeof(*t->no));
	memset(t->pend, 0, words * sizeof(*t->pend));
	t->n_queue = 0;
	for (i = 0; i < ps->s->snap->n_qps; i++)
		queue_terms(t, ps->s, (uint32_t)i, t->every);
}

void truth_update(struct truth *t, const struct prog *p, const struct signals *s, uint64_t now)
{
	struct pass ps = { .t = t, .p = p, .s = s, .now = now };
	uint32_t k;
	size_t i;

	/* After a reading without an update any signal may have changed. */
	ps.all = !t->started || t->topology != s->topology || s->readings - t->readings > 1;
	t->started = true;
	t->topology = s->topology;
	t->readings = s->readings;
	t->tick++;
	mark_touched_jobs(&ps);
	for (k = 0; k < p->n_aggs; k++)
		update_aggregate(&ps, k);
	for (k = 0; k < OBJ_KINDS; k++)
		queue_changed_rows(&ps, k);
	for (k = 0; k < OBJ_KINDS; k++)
		update_atoms(&ps, k);
	if (ps.all)
		queue_all_terms(&ps);
	for (i = 0; i < t->n_queue; i++)
		evaluate_qp_terms(&ps, t->queue[i]);
	t->n_queue = 0;
}

void truth_add_deps(struct truth_deps *d, const struct prog *p, const struct cond *c)
{
	const struct prog_term *term = p->terms + c->terms.first;
	unsigned int i, o;

	for (i = 0; i < c->terms.n; i++, term++)
		for (o = 0; o < OBJ_UAR; o++)
			d->need[o] |= term->need[o];
}

bool truth_is_subscribed(const struct truth *t, const struct signals *s)
{
	return t->started && t->topology == s->topology;
}

void truth_unsubscribe_all(struct truth *t, const struct signals *s)
{
	if (t->words)
		memset(t->subscribed, 0, s->snap->n_jobs * t->words * sizeof(*t->subscribed));
}

void truth_subscribe(struct truth *t, const struct prog *p, uint32_t job,
		     const struct cond *c)
{
	uint64_t *to;
	unsigned int i;

	if (!t->words)
		return;
	to = t->subscribed + (size_t)job * t->words;
	for (i = 0; i < c->terms.n; i++) {
		uint16_t n = p->terms[c->terms.first + i].asked;

		if (n != PROG_UNASKED)
			to[n / 64] |= 1ULL << n % 64;
	}
}
