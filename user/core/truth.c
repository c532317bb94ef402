// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Updates the truth of conditions at a tick, in this order: aggregates with changed members;
 * atoms of objects that changed, or whose atoms read an object that changed; and, for each
 * atom whose truth changed, the terms with that atom, for the QPs concerned.
 */
#include "core/masks.h"

#include <string.h>

struct pass {
	struct truth *t;
	const struct prog *p;
	const struct signals *s;
	uint64_t now;
	bool all;		/* no object has been evaluated yet */
};

static void want(struct truth_rows *r, uint32_t tick, uint32_t row)
{
	if (r->stamp[row] == tick)
		return;
	r->stamp[row] = tick;
	r->work[r->n_work++] = row;
}

static void want_members(struct pass *ps, enum obj_kind on, uint32_t row,
			 enum obj_kind of)
{
	struct members m;
	uint32_t i;

	members_init(&m, ps->s, on, row, of);
	while (members_next(&m, &i))
		want(&ps->t->rows[of], ps->t->tick, i);
}

/* --- Aggregates ----------------------------------------------------------- */

static double add_up(struct pass *ps, const struct prog_agg *a, uint32_t row)
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
		/* Unknown members are left out; without members there is no mean. */
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

static int32_t container(const struct signals *s, enum obj_kind on,
			 enum obj_kind of, uint32_t row)
{
	struct binding b;

	if (of == OBJ_JOB || (of == OBJ_PORT && on == OBJ_JOB))
		return -1;
	binding_of(s, of, row, &b);
	return b.at[on];
}

static bool moved_besides(const struct pass *ps, const struct prog_agg *a)
{
	unsigned int k;

	for (k = 0; k < OBJ_KINDS; k++)
		if (k != a->of && (a->reads & 1u << k) &&
		    ps->s->table[k].n_moved)
			return true;
	return false;
}

static unsigned int others(const struct prog *p, enum obj_kind kind)
{
	unsigned int i, bits = 0;

	for (i = 0; i < p->n_atoms[kind]; i++)
		bits |= p->atoms[kind][i].others;
	return bits & ~(1u << kind);
}

static void aggregate(struct pass *ps, uint32_t which)
{
	const struct prog_agg *a = &ps->p->aggs[which];
	const struct signal_table *of = &ps->s->table[a->of];
	struct truth_rows *on = &ps->t->rows[a->on];
	bool all = ps->all || moved_besides(ps, a);
	uint8_t *due = ps->t->agg_due;
	unsigned int readers = 0, k;
	size_t i;

	if (!all && !of->n_moved)
		return;
	for (k = 0; k < OBJ_KINDS; k++)
		if (others(ps->p, k) & 1u << a->on)
			readers |= 1u << k;
	memset(due, all, on->n);
	for (i = 0; !all && i < of->n_moved; i++) {
		int32_t row = container(ps->s, a->on, a->of, of->list[i]);

		if (row >= 0)
			due[row] = 1;
		else if (a->of == OBJ_JOB || a->on == OBJ_JOB)
			memset(due, 1, on->n);
	}
	for (i = 0; i < on->n; i++) {
		double *to = &ps->t->agg[which][i], v;

		if (!due[i])
			continue;
		v = add_up(ps, a, (uint32_t)i);
		if (*to == v || (*to != *to && v != v))
			continue;
		*to = v;
		want(on, ps->t->tick, (uint32_t)i);
		for (k = 0; k < OBJ_KINDS; k++)
			if (readers & 1u << k)
				want_members(ps, a->on, (uint32_t)i, k);
	}
}

/* --- Atoms ---------------------------------------------------------------- */

/*
 * Objects that changed, objects that asked to be evaluated, and objects that read a changed
 * object.
 */
static void gather(struct pass *ps, enum obj_kind kind)
{
	struct truth_rows *r = &ps->t->rows[kind];
	const struct signal_table *tab = &ps->s->table[kind];
	unsigned int look = others(ps->p, kind), k;
	size_t i;

	if (!ps->p->n_atoms[kind]) {
		r->n_work = 0;
		return;
	}
	if (ps->all) {
		for (i = 0; i < r->n; i++)
			want(r, ps->t->tick, (uint32_t)i);
		return;
	}
	for (i = 0; i < tab->n_moved; i++)
		want(r, ps->t->tick, tab->list[i]);
	for (i = 0; i < r->n_again; i++)
		want(r, ps->t->tick, r->again[i]);
	for (k = 0; k < OBJ_KINDS; k++) {
		if (!(look & 1u << k))
			continue;
		for (i = 0; i < ps->s->table[k].n_moved; i++)
			want_members(ps, k, ps->s->table[k].list[i], kind);
	}
}

static void ask(struct truth *t, const struct signals *s, uint32_t qp,
		const uint64_t *terms)
{
	uint64_t *pend = t->pend + (size_t)qp * t->words;
	int32_t job = s->qps[qp].job;
	uint64_t was = 0, is = 0;
	const uint64_t *about;
	unsigned int w;

	if (job < 0)
		return;
	about = t->asks + (size_t)job * t->words;
	for (w = 0; w < t->words; w++) {
		was |= pend[w];
		pend[w] |= terms[w] & about[w];
		is |= pend[w];
	}
	if (!was && is)
		t->queue[t->n_queue++] = qp;
}

/* The truth of some atoms of this object turned. */
static void turned(struct pass *ps, enum obj_kind kind, uint32_t row,
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
		const uint64_t *needs = t->needs[kind] +
			(size_t)__builtin_ctzll(bits) * t->words;

		for (w = 0; w < t->words; w++)
			any |= terms[w] |= needs[w];
	}
	if (!any)
		return;
	if (kind == OBJ_QP) {
		ask(t, ps->s, row, terms);
		return;
	}
	members_init(&m, ps->s, kind, row, OBJ_QP);
	while (members_next(&m, &qp))
		ask(t, ps->s, qp, terms);
}

static void ranges(const struct truth_rows *r, uint32_t has, const double *v,
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
			yes |= (uint64_t)(((x >= g->lo) & (x <= g->hi)) ^
					  g->not) << g->bit;
	}
	*t = yes;
	*k = known;
}

static void run_others(struct prog_env *env, const struct truth_rows *r,
		       enum obj_kind kind, uint32_t row, uint64_t *t,
		       uint64_t *k)
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

/* Atoms of QPs and UARs reach a job as counts, see answer(). */
static void touch(struct truth *t, enum obj_kind kind, uint32_t row,
		  uint64_t bits)
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
static void touch_jobs(struct pass *ps)
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

static void atoms(struct pass *ps, enum obj_kind kind)
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

		ranges(r, tab->has[row], tab->v + (size_t)row * tab->width, &t,
		       &k);
		if (r->n_others) {
			env.mem = n_mem ? r->mem + (size_t)row * n_mem : NULL;
			env.again = false;
			run_others(&env, r, kind, row, &t, &k);
			if (env.again)
				r->again[r->n_again++] = row;
		}
		bits = (t ^ r->t[row]) | (k ^ r->k[row]);
		if (!bits)
			continue;
		r->t[row] = t;
		r->k[row] = k;
		touch(ps->t, kind, row, bits);
		if (!ps->all)
			turned(ps, kind, row, bits);
	}
	r->n_work = 0;
}

/* --- Terms asked of QPs ---------------------------------------------------- */

static void answer(struct pass *ps, uint32_t qp)
{
	struct truth *t = ps->t;
	const struct signal_qp_ref *ref = &ps->s->qps[qp];
	uint32_t n = ps->p->n_asked;
	struct masks m;
	unsigned int w;

	mask_of(t, OBJ_UAR, ref->uar, &m);
	mask_of(t, OBJ_QP, (int32_t)qp, &m);
	for (w = 0; w < t->words; w++) {
		size_t at = (size_t)qp * t->words + w;
		uint64_t bits = t->pend[at];

		t->pend[at] = 0;
		for (; bits; bits &= bits - 1) {
			uint32_t c = w * 64 +
				     (uint32_t)__builtin_ctzll(bits);
			uint64_t bit = bits & -bits;
			enum tri r = part(&ps->p->terms[ps->p->asked[c]], &m,
					  OBJ_UAR, OBJ_QP);
			int yes = (r == TRI_TRUE) - !!(t->yes[at] & bit);
			int no = (r == TRI_FALSE) - !!(t->no[at] & bit);

			t->yes[at] = r == TRI_TRUE ? t->yes[at] | bit :
						     t->yes[at] & ~bit;
			t->no[at] = r == TRI_FALSE ? t->no[at] | bit :
						     t->no[at] & ~bit;
			if (ref->place < 0)
				continue;
			if (yes | no)
				t->touched[ref->job] = t->tick;
			t->n_yes[(size_t)ref->place * n + c] += (uint32_t)yes;
			t->n_no[(size_t)ref->place * n + c] += (uint32_t)no;
		}
	}
}

static void ask_all(struct pass *ps)
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
		ask(t, ps->s, (uint32_t)i, t->every);
}

void truth_update(struct truth *t, const struct prog *p,
		  const struct signals *s, uint64_t now)
{
	struct pass ps = { .t = t, .p = p, .s = s, .now = now };
	uint32_t k;
	size_t i;

	/* If a reading was missed, any signal may have changed. */
	ps.all = !t->started || t->topology != s->topology ||
		 s->readings - t->readings > 1;
	t->started = true;
	t->topology = s->topology;
	t->readings = s->readings;
	t->tick++;
	touch_jobs(&ps);
	for (k = 0; k < p->n_aggs; k++)
		aggregate(&ps, k);
	for (k = 0; k < OBJ_KINDS; k++)
		gather(&ps, k);
	for (k = 0; k < OBJ_KINDS; k++)
		atoms(&ps, k);
	if (ps.all)
		ask_all(&ps);
	for (i = 0; i < t->n_queue; i++)
		answer(&ps, t->queue[i]);
	t->n_queue = 0;
}

void truth_rests_on(struct truth_rest *r, const struct prog *p,
		    const struct cond *c)
{
	const struct prog_term *term = p->terms + c->terms.first;
	unsigned int i, o;

	for (i = 0; i < c->terms.n; i++, term++)
		for (o = 0; o < OBJ_UAR; o++)
			r->need[o] |= term->need[o];
}

bool truth_asks(const struct truth *t, const struct signals *s)
{
	return t->started && t->topology == s->topology;
}

void truth_ask_none(struct truth *t, const struct signals *s)
{
	if (t->words)
		memset(t->asks, 0, s->snap->n_jobs * t->words *
				   sizeof(*t->asks));
}

void truth_ask(struct truth *t, const struct prog *p, uint32_t job,
	       const struct cond *c)
{
	uint64_t *asks;
	unsigned int i;

	if (!t->words)
		return;
	asks = t->asks + (size_t)job * t->words;
	for (i = 0; i < c->terms.n; i++) {
		uint16_t n = p->terms[c->terms.first + i].asked;

		if (n != PROG_UNASKED)
			asks[n / 64] |= 1ULL << n % 64;
	}
}
