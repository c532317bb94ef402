// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queries of struct truth: is a condition true for an object that a job uses, for which
 * object, and by which term.
 */
#include "core/masks.h"

#include <string.h>

static void read_masks(const struct truth *t, const struct binding *b, struct masks *m)
{
	unsigned int o;

	for (o = 0; o < OBJ_KINDS; o++)
		set_mask(t, o, b->at[o], m);
}

enum tri truth_at(const struct truth *t, const struct prog *p,
		  struct prog_code terms, const struct binding *b)
{
	struct masks m;

	read_masks(t, b, &m);
	return prog_terms(p, terms, m.t, m.k);
}

const struct prog_term *truth_which(const struct truth *t,
				    const struct prog *p,
				    struct prog_code terms,
				    const struct binding *b)
{
	struct prog_code one = { terms.first, 1 };
	struct masks m;
	unsigned int i;

	read_masks(t, b, &m);
	for (i = 0; i < terms.n; i++, one.first++)
		if (prog_terms(p, one, m.t, m.k) == TRI_TRUE)
			return &p->terms[one.first];
	return NULL;
}

/*
 * The truth of a term for a job: the job's atoms, the counts of its QPs in each place, and
 * the place's atoms of ports and devices.
 */
static enum tri term_of_job(const struct truth *t, const struct prog *p,
			    const struct signals *s, const struct prog_term *term,
			    uint32_t job)
{
	uint64_t need = term->need[OBJ_JOB];
	uint64_t lack = need & ~t->rows[OBJ_JOB].t[job];
	enum tri some = TRI_FALSE, r;
	struct masks m;
	uint32_t i;

	if (lack & t->rows[OBJ_JOB].k[job])
		return TRI_FALSE;
	for (i = s->place_first[job]; i < s->place_first[job + 1]; i++) {
		const struct signal_place *place = &s->places[i];
		size_t at = (size_t)i * p->n_asked + term->asked;

		if (t->n_no[at] == place->qps)
			continue;
		set_mask(t, OBJ_DEV, place->dev, &m);
		set_mask(t, OBJ_PORT, place->port, &m);
		r = term_part(term, &m, OBJ_DEV, OBJ_PORT);
		if (r == TRI_FALSE)
			continue;
		if (r == TRI_TRUE && !lack && t->n_yes[at])
			return TRI_TRUE;
		some = TRI_UNKNOWN;
	}
	return some;
}

/* Adds @r, the truth for one object, to @some, that for any object. True: the result is known. */
static bool settles(enum tri r, enum tri *some)
{
	if (r != TRI_FALSE)
		*some = r;
	return r == TRI_TRUE;
}

/* The truth of a condition without QPs: for any port or device of the job, or for the job. */
static enum tri some_without_qps(const struct truth *t, const struct prog *p,
				 const struct signals *s, const struct cond *c, uint32_t job)
{
	const struct snap_job *sj = &s->snap->jobs[job];
	enum tri some = TRI_FALSE;
	struct masks m = { 0 };
	size_t i;

	set_mask(t, OBJ_JOB, (int32_t)job, &m);
	if (c->kinds & 1u << OBJ_PORT) {
		for (i = s->place_first[job]; i < s->place_first[job + 1]; i++) {
			if (s->places[i].port < 0)
				continue;
			set_mask(t, OBJ_DEV, s->places[i].dev, &m);
			set_mask(t, OBJ_PORT, s->places[i].port, &m);
			if (settles(prog_terms(p, c->terms, m.t, m.k), &some))
				break;
		}
		return some;
	}
	if (!(c->kinds & 1u << OBJ_DEV))
		return prog_terms(p, c->terms, m.t, m.k);
	for (i = 0; i < sj->n_stats; i++) {
		if (!sj->stats[i].qps)
			continue;
		set_mask(t, OBJ_DEV, signals_dev_row(s->snap, sj->stats[i].dev), &m);
		if (settles(prog_terms(p, c->terms, m.t, m.k), &some))
			break;
	}
	return some;
}

enum tri truth_some(const struct truth *t, const struct prog *p,
		    const struct signals *s, const struct cond *c,
		    uint32_t job)
{
	const struct prog_term *term = p->terms + c->terms.first;
	enum tri some = TRI_FALSE;
	unsigned int i;

	if (!(c->kinds & ON_QPS))
		return some_without_qps(t, p, s, c, job);
	for (i = 0; i < c->terms.n; i++)
		if (settles(term_of_job(t, p, s, term + i, job), &some))
			break;
	return some;
}

/*
 * The terms of a condition, all counted per QP, as a mask of word *@word of .yes. 0: a term
 * is not counted, or the terms are in several words, so each QP must be examined.
 */
static uint64_t counted_terms(const struct prog *p, const struct cond *c,
			    unsigned int *word)
{
	const struct prog_term *term = p->terms + c->terms.first;
	uint64_t bits = 0;
	unsigned int i;

	*word = c->terms.n ? term->asked / 64 : 0;
	for (i = 0; i < c->terms.n; i++, term++) {
		if (term->asked == PROG_UNASKED || term->asked / 64 != *word)
			return 0;
		bits |= 1ULL << term->asked % 64;
	}
	return bits;
}

/* Skips QPs of the job for which none of the terms @bits is true, as far as QP and UAR decide. */
static uint32_t skip_untrue(const struct truth *t, const struct signals *s,
			    unsigned int word, uint64_t bits, uint32_t i,
			    uint32_t end)
{
	const uint64_t *yes = t->yes + word;

	while (i < end && !(yes[(size_t)s->job_qps[i] * t->words] & bits))
		i++;
	return i;
}

bool truth_first(const struct truth *t, const struct prog *p,
		 const struct signals *s, const struct cond *c, uint32_t job,
		 struct binding *b)
{
	uint32_t i = s->job_first[job], end = s->job_first[job + 1];
	unsigned int word;
	uint64_t bits = c->kinds & ON_QPS ? counted_terms(p, c, &word) : 0;
	struct span sp;

	span_init(&sp, s, job, c->kinds);
	for (;;) {
		if (bits)
			sp.pos = skip_untrue(t, s, word, bits, i + sp.pos, end) - i;
		if (!span_next(&sp, b))
			return false;
		if (truth_at(t, p, c->terms, b) == TRI_TRUE)
			return true;
	}
}

void span_init(struct span *sp, const struct signals *s, uint32_t job,
	       unsigned int kinds)
{
	sp->s = s;
	sp->job = job;
	sp->kinds = kinds;
	sp->pos = 0;
}

/* Binds the next device on which the job has QPs. */
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

	if (sp->kinds & ON_QPS) {
		i = s->job_first[sp->job] + sp->pos;
		if (i >= s->job_first[sp->job + 1])
			return false;
		sp->pos++;
		binding_of(s, OBJ_QP, s->job_qps[i], b);
		b->at[OBJ_JOB] = (int32_t)sp->job;
		return true;
	}
	memset(b, 0xff, sizeof(*b));
	b->at[OBJ_JOB] = (int32_t)sp->job;
	if (sp->kinds & 1u << OBJ_PORT) {
		i = s->port_first[sp->job] + sp->pos;
		if (i >= s->port_first[sp->job + 1])
			return false;
		sp->pos++;
		i = s->job_ports[i];
		b->at[OBJ_PORT] = (int32_t)i;
		b->at[OBJ_DEV] = signals_dev_row(s->snap, s->snap->ports[i].dev);
		return true;
	}
	if (sp->kinds & 1u << OBJ_DEV)
		return next_dev(sp, b);
	return !sp->pos++;
}
