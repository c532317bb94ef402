// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Finds whether a condition is true for an object that a job uses, for which object, and by which
 * term. QPs are examined here, PROG_LANES at a time.
 */
#include "core/truth.h"

#include <string.h>

#define ON_QPS (1u << OBJ_QP | 1u << OBJ_UAR)

/* The truth of the atoms that a term has of the object at @row; -1: it is not known. */
static enum tri truth_of_part(const struct truth_view *v, const struct prog_term *term,
			      enum obj_kind kind, int32_t row)
{
	uint64_t need = term->need[kind];
	enum tri is = TRI_TRUE;

	for (; need; need &= need - 1)
		is &= truth_column(&v->t->rows[kind], __builtin_ctzll(need))[row];
	return is;
}

/* The part of a term that is the same for all objects of a spot. */
static enum tri common_part(const struct truth_view *v, const struct prog_term *term,
			    const struct spot *spot)
{
	return truth_of_part(v, term, OBJ_JOB, (int32_t)spot->job) &
	       truth_of_part(v, term, OBJ_DEV, spot->dev) &
	       truth_of_part(v, term, OBJ_PORT, spot->port);
}

/* ANDs to @truth the atoms @need of the lanes' UARs. */
static void and_uars(const struct truth_view *v, uint64_t need, const struct prog_lanes *l,
		     int32_t *truth)
{
	const int32_t *uar = v->s->uar_of + l->first, *is;
	uint32_t i;

	for (; need; need &= need - 1) {
		is = truth_column(&v->t->rows[OBJ_UAR], __builtin_ctzll(need));
		for (i = 0; i < l->n; i++)
			truth[i] &= is[uar[i]];
	}
}

/* ANDs to @truth the atoms @need of the lanes' QPs. */
static void and_qps(const struct truth_view *v, uint64_t need, const struct prog_lanes *l,
		    int32_t *truth)
{
	const struct prog_env env = { .p = v->p, .s = v->s, .agg = v->t->agg };
	const struct truth_rows *rows = &v->t->rows[OBJ_QP];
	const int32_t *is;
	uint32_t i;

	for (; need; need &= need - 1) {
		unsigned int a = (unsigned int)__builtin_ctzll(need);

		if (!(rows->atoms >> a & 1)) {
			prog_and_atom(&env, &v->p->atoms[OBJ_QP][a], l, truth);
			continue;
		}
		is = truth_column(rows, a) + l->first;
		for (i = 0; i < l->n; i++)
			truth[i] &= is[i];
	}
}

/* Sets each lane of @truth by the atoms of QPs and UARs. Returns the truth for any lane. */
static enum tri set_lanes(const struct truth_view *v, const struct prog_term *term,
			  const struct prog_lanes *l, int32_t *truth)
{
	enum tri any = TRI_FALSE;
	uint32_t i;

	prog_set_truth(truth, l->n);
	and_qps(v, term->need[OBJ_QP], l, truth);
	and_uars(v, term->need[OBJ_UAR], l, truth);
	for (i = 0; i < l->n; i++)
		any |= truth[i];
	return any;
}

/* Returns the same as set_lanes(), in fewer passes where one atom decides for all lanes. */
static enum tri any_lane(const struct truth_view *v, const struct prog_term *term,
			 const struct prog_lanes *l)
{
	const uint64_t need = term->need[OBJ_QP];
	const struct prog_atom *first = &v->p->atoms[OBJ_QP][need ? __builtin_ctzll(need) : 0];
	int32_t truth[PROG_LANES];
	enum tri any;

	/* An atom that remembers something is not simple. */
	if (need && first->simple) {
		any = prog_or_simple(v->s, first, l);
		/* Often the first atom is false for all lanes, or is the whole term. */
		if (any == TRI_FALSE || (!(need & (need - 1)) && !term->need[OBJ_UAR]))
			return any;
	}
	return set_lanes(v, term, l, truth);
}

/*
 * The truth of the atoms of QPs and UARs of a term for any QP of a spot. If it is true, *@row,
 * unless NULL, becomes the row of the first QP for which it is.
 */
PROG_VECTORS
static enum tri scan_qps(const struct truth_view *v, const struct prog_term *term,
			 const struct spot *spot, uint32_t *row)
{
	uint32_t first = spot->place->first;
	int32_t truth[PROG_LANES];
	enum tri some = TRI_FALSE;
	struct prog_lanes l;

	for (; prog_lanes_of_place(spot->place, (int32_t)spot->job, first, &l); first += l.n) {
		some |= any_lane(v, term, &l);
		if (some == TRI_TRUE)
			break;
	}
	if (some != TRI_TRUE || !row)
		return some;
	set_lanes(v, term, &l, truth);
	for (*row = l.first; truth[*row - l.first] != TRI_TRUE; (*row)++)
		;
	return TRI_TRUE;
}

static enum tri term_of_spot(const struct truth_view *v, const struct prog_term *term,
			     const struct spot *spot, uint32_t *row)
{
	enum tri common = common_part(v, term, spot);

	if (!spot->place || common == TRI_FALSE)
		return common;
	return common & scan_qps(v, term, spot, row);
}

enum tri truth_of_spot(const struct truth_view *v, const struct cond *c, const struct spot *spot)
{
	enum tri some = TRI_FALSE;
	unsigned int i;

	for (i = 0; some != TRI_TRUE && i < c->terms.n; i++)
		some |= term_of_spot(v, &v->p->terms[c->terms.first + i], spot, NULL);
	return some;
}

static bool next_dev(const struct signals *s, struct spot *spot)
{
	const struct snap_job *job = &s->snap->jobs[spot->job];

	while (spot->pos < job->n_stats) {
		const struct snap_job_stat *st = &job->stats[spot->pos++];

		if (!st->qps)
			continue;
		spot->dev = signals_dev_row(s->snap, st->dev);
		return true;
	}
	return false;
}

bool truth_next_spot(const struct signals *s, unsigned int kinds, uint32_t job,
		     struct spot *spot)
{
	const struct signal_place *place;

	spot->job = job;
	spot->dev = -1;
	spot->port = -1;
	spot->place = NULL;
	if (!(kinds & (ON_QPS | 1u << OBJ_PORT)))
		return kinds & 1u << OBJ_DEV ? next_dev(s, spot) : !spot->pos++;
	while (spot->pos < s->place_first[job + 1] - s->place_first[job]) {
		place = &s->places[s->place_first[job] + spot->pos++];
		if (!(kinds & ON_QPS) && place->port < 0)
			continue;
		spot->dev = place->dev;
		spot->port = place->port;
		if (kinds & ON_QPS)
			spot->place = place;
		return true;
	}
	return false;
}

/* True: the condition is false for all objects. */
static bool is_false(const struct truth_view *v, const struct cond *c)
{
	const bool *term = v->t->is_false + c->terms.first;
	unsigned int i;

	for (i = 0; i < c->terms.n; i++)
		if (!term[i])
			return false;
	return true;
}

enum tri truth_some(const struct truth_view *v, const struct cond *c, uint32_t job)
{
	struct spot spot = { .pos = 0 };
	enum tri some = TRI_FALSE;

	if (is_false(v, c))
		return TRI_FALSE;
	while (some != TRI_TRUE && truth_next_spot(v->s, c->kinds, job, &spot))
		some |= truth_of_spot(v, c, &spot);
	return some;
}

/* The row in the snapshot of the first QP of a spot for which @c is true; -1: there is none. */
static int32_t first_qp(const struct truth_view *v, const struct cond *c,
			const struct spot *spot)
{
	int32_t first = -1, qp;
	unsigned int i;
	uint32_t row;

	for (i = 0; i < c->terms.n; i++) {
		if (term_of_spot(v, &v->p->terms[c->terms.first + i], spot, &row) != TRI_TRUE)
			continue;
		qp = (int32_t)v->s->job_qps[row];
		if (first < 0 || qp < first)
			first = qp;
	}
	return first;
}

bool truth_first(const struct truth_view *v, const struct cond *c, uint32_t job,
		 struct binding *b)
{
	struct spot spot = { .pos = 0 };
	int32_t qp = -1, first;

	while (truth_next_spot(v->s, c->kinds, job, &spot)) {
		if (spot.place) {
			first = first_qp(v, c, &spot);
			if (qp < 0 || (first >= 0 && first < qp))
				qp = first;
		} else if (truth_of_spot(v, c, &spot) == TRI_TRUE) {
			memset(b, 0xff, sizeof(*b));
			b->at[OBJ_DEV] = spot.dev;
			b->at[OBJ_PORT] = spot.port;
			b->at[OBJ_JOB] = (int32_t)job;
			return true;
		}
	}
	if (qp < 0)
		return false;
	binding_of(v->s, OBJ_QP, (uint32_t)qp, b);
	return true;
}

static enum tri term_at(const struct truth_view *v, const struct prog_term *term,
			const struct binding *b)
{
	int32_t qp = b->at[OBJ_QP];
	struct prog_lanes l = { .kind = OBJ_QP, .n = 1 };
	int32_t is = TRI_TRUE;
	unsigned int o;

	for (o = 0; o < OBJ_KINDS; o++)
		if (o != OBJ_QP)
			is &= truth_of_part(v, term, o, b->at[o]);
	if (qp < 0)
		return term->need[OBJ_QP] ? is & TRI_UNKNOWN : is;
	memcpy(l.at, b->at, sizeof(l.at));
	l.first = v->s->qps[qp].at;
	and_qps(v, term->need[OBJ_QP], &l, &is);
	return is;
}

enum tri truth_at(const struct truth_view *v, struct prog_code terms, const struct binding *b)
{
	enum tri some = TRI_FALSE;
	unsigned int i;

	for (i = 0; some != TRI_TRUE && i < terms.n; i++)
		some |= term_at(v, &v->p->terms[terms.first + i], b);
	return some;
}

const struct prog_term *truth_which(const struct truth_view *v, struct prog_code terms,
				    const struct binding *b)
{
	unsigned int i;

	for (i = 0; i < terms.n; i++)
		if (term_at(v, &v->p->terms[terms.first + i], b) == TRI_TRUE)
			return &v->p->terms[terms.first + i];
	return NULL;
}
