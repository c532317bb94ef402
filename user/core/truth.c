// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What is evaluated at each tick: aggregates, and atoms for all objects of their kind. */
#include "core/truth.h"

#include <string.h>

/* One call of truth_update(). */
struct pass {
	struct truth *t;
	const struct prog *p;
	const struct signals *s;
	struct prog_env env;
};

static uint32_t dev_index(const struct snapshot *snap, enum obj_kind kind, uint32_t row)
{
	return kind == OBJ_UAR ? snap->uars[row].dev : snap->ports[row].dev;
}

/*
 * Lanes for objects of @kind from row @first on, as many as fit and belong to one device.
 * False: there are none. Not for QPs.
 */
static bool lanes_of_rows(const struct signals *s, enum obj_kind kind, uint32_t first,
			  struct prog_lanes *l)
{
	uint32_t n = (uint32_t)s->table[kind].n, dev, end;

	if (first >= n)
		return false;
	end = n - first > PROG_LANES ? first + PROG_LANES : n;
	*l = (struct prog_lanes){ .kind = kind, .first = first };
	memset(l->at, 0xff, sizeof(l->at));
	if (kind == OBJ_PORT || kind == OBJ_UAR) {
		dev = dev_index(s->snap, kind, first);
		while (dev_index(s->snap, kind, end - 1) != dev)
			end--;
		l->at[OBJ_DEV] = signals_dev_row(s->snap, dev);
	}
	l->n = end - first;
	return true;
}

/* Calls @fn for all objects of a kind, lanes by lanes. */
static void for_all_lanes(struct pass *ps, enum obj_kind kind, const void *arg,
			  void (*fn)(struct pass *ps, const struct prog_lanes *l, const void *arg))
{
	const struct signals *s = ps->s;
	struct prog_lanes l;
	uint32_t j, i, k;

	ps->env.mem = ps->t->rows[kind].mem;
	if (kind != OBJ_QP) {
		for (i = 0; lanes_of_rows(s, kind, i, &l); i += l.n)
			fn(ps, &l, arg);
		return;
	}
	for (j = 0; j <= s->snap->n_jobs; j++) {
		int32_t job = j < s->snap->n_jobs ? (int32_t)j : -1;

		for (i = s->place_first[j]; i < s->place_first[j + 1]; i++)
			for (k = s->places[i].first;
			     prog_lanes_of_place(&s->places[i], job, k, &l); k += l.n)
				fn(ps, &l, arg);
	}
}

/* --- Aggregates ----------------------------------------------------------- */

/* Computes the number of each member. NaN: the member is left out. */
static void set_values(struct pass *ps, const struct prog_lanes *l, const void *arg)
{
	const struct prog_agg *a = arg;
	double *to = ps->t->value + l->first;
	struct prog_result where, value;
	struct prog_env env = ps->env;
	uint32_t i;

	/* Aggregates read signals only, and no other aggregates. */
	env.agg = NULL;
	env.mem = NULL;
	if (a->where.n)
		prog_run_lanes(&env, a->where, l, &where);
	if (a->value.n)
		prog_run_lanes(&env, a->value, l, &value);
	for (i = 0; i < l->n; i++)
		to[i] = a->where.n && where.v[i] != 1 ? __builtin_nan("") :
			a->value.n ? value.v[i] : 1;
}

/* Adds the number @v of a member to the aggregate of the object at row @on; -1: none. */
static void add_member(struct pass *ps, uint32_t which, int32_t on, double v)
{
	double *to;

	if (on < 0 || v != v)
		return;
	to = &ps->t->agg[which][on];
	if (!ps->t->members[on]++)
		*to = v;
	else if (ps->p->aggs[which].op == AGG_MAX)
		*to = v > *to ? v : *to;
	else if (ps->p->aggs[which].op == AGG_MIN)
		*to = v < *to ? v : *to;
	else
		*to += v;
}

/* A job has the ports that it uses as members, and a port these jobs. */
static void add_ports_of_jobs(struct pass *ps, uint32_t which)
{
	const bool on_port = ps->p->aggs[which].on == OBJ_PORT;
	const struct signals *s = ps->s;
	int32_t job, port;
	uint32_t i;

	for (job = 0; job < (int32_t)s->snap->n_jobs; job++)
		for (i = s->place_first[job]; i < s->place_first[job + 1]; i++) {
			port = s->places[i].port;
			if (port >= 0)
				add_member(ps, which, on_port ? port : job,
					   ps->t->value[on_port ? job : port]);
		}
}

static void add_members(struct pass *ps, uint32_t which)
{
	const struct prog_agg *a = &ps->p->aggs[which];
	const struct signals *s = ps->s;
	struct binding b;
	uint32_t i;

	if (a->of == OBJ_JOB || (a->of == OBJ_PORT && a->on == OBJ_JOB)) {
		add_ports_of_jobs(ps, which);
		return;
	}
	for (i = 0; i < s->table[a->of].n; i++) {
		binding_of(s, a->of, i, &b);
		add_member(ps, which, b.at[a->on], ps->t->value[signal_row(s, a->of, i)]);
	}
}

static void update_aggregate(struct pass *ps, uint32_t which)
{
	const struct prog_agg *a = &ps->p->aggs[which];
	size_t i, n = ps->s->table[a->on].n;
	double *to = ps->t->agg[which];

	memset(ps->t->members, 0, n * sizeof(*ps->t->members));
	for_all_lanes(ps, a->of, a, set_values);
	add_members(ps, which);
	for (i = 0; i < n; i++) {
		uint32_t members = ps->t->members[i];

		if (a->op == AGG_COUNT)
			to[i] = members;
		else if (!members)
			to[i] = __builtin_nan("");
		else if (a->op == AGG_MEAN)
			to[i] /= members;
	}
}

/* --- Atoms ---------------------------------------------------------------- */

/* Evaluates each atom that is evaluated at each tick. */
static void set_truth(struct pass *ps, const struct prog_lanes *l, const void *arg)
{
	const struct truth_rows *rows = &ps->t->rows[l->kind];
	uint64_t bits;

	(void)arg;
	for (bits = rows->atoms; bits; bits &= bits - 1) {
		unsigned int a = (unsigned int)__builtin_ctzll(bits);
		int32_t *to = truth_column(rows, a) + l->first;

		prog_set_truth(to, l->n);
		prog_and_atom(&ps->env, &ps->p->atoms[l->kind][a], l, to);
	}
}

/* --- Terms ---------------------------------------------------------------- */

/* The atoms that are true for some object of this kind, or may be. */
static uint64_t find_possible(const struct pass *ps, enum obj_kind kind)
{
	uint64_t may = 0;
	unsigned int a;
	size_t i;

	for (a = 0; a < ps->p->n_atoms[kind]; a++) {
		const int32_t *truth = truth_column(&ps->t->rows[kind], a);

		for (i = 0; i < ps->s->table[kind].n; i++)
			if (truth[i] != TRI_FALSE) {
				may |= 1ULL << a;
				break;
			}
	}
	return may;
}

/* Atoms of a device or port that is not known may be true. */
static void add_unknown(const struct pass *ps, uint64_t *may)
{
	const struct snapshot *snap = ps->s->snap;
	uint32_t i, k;

	for (i = 0; i < ps->s->place_first[snap->n_jobs]; i++) {
		if (ps->s->places[i].dev < 0)
			may[OBJ_DEV] = ~0ULL;
		if (ps->s->places[i].port < 0)
			may[OBJ_PORT] = ~0ULL;
	}
	for (i = 0; i < snap->n_jobs; i++)
		for (k = 0; k < snap->jobs[i].n_stats; k++)
			if (signals_dev_row(ps->s->snap, snap->jobs[i].stats[k].dev) < 0)
				may[OBJ_DEV] = ~0ULL;
}

static void find_false_terms(struct pass *ps)
{
	uint64_t may[OBJ_KINDS] = {
		[OBJ_DEV] = find_possible(ps, OBJ_DEV),
		[OBJ_PORT] = find_possible(ps, OBJ_PORT),
		[OBJ_JOB] = find_possible(ps, OBJ_JOB),
	};
	uint32_t i;

	add_unknown(ps, may);
	for (i = 0; i < ps->p->n_terms; i++) {
		const struct prog_term *term = &ps->p->terms[i];

		ps->t->is_false[i] = term->need[OBJ_DEV] & ~may[OBJ_DEV] ||
				     term->need[OBJ_PORT] & ~may[OBJ_PORT] ||
				     term->need[OBJ_JOB] & ~may[OBJ_JOB];
	}
}

void truth_update(struct truth *t, const struct prog *p, const struct signals *s, uint64_t now)
{
	struct pass ps = {
		.t = t, .p = p, .s = s, .env = { .p = p, .s = s, .agg = t->agg, .now = now },
	};
	unsigned int k;

	for (k = 0; k < p->n_aggs; k++)
		update_aggregate(&ps, k);
	for (k = 0; k < OBJ_KINDS; k++)
		if (t->rows[k].atoms)
			for_all_lanes(&ps, k, NULL, set_truth);
	find_false_terms(&ps);
}
