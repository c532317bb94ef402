/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A state: a conjunction of `signal op constant`, evaluated over one binding
 * of objects. Three-valued: a signal that is absent makes its clause unknown,
 * and a conjunction is false if any clause is, else unknown if any is.
 *
 * This header is the seam behind which a richer language can go: the rest of
 * the evaluator knows a state only as cond_eval() and cond_reason().
 */
#ifndef SRDMA_CORE_COND_H
#define SRDMA_CORE_COND_H

#include "core/signal.h"

#define COND_MAX 12

enum cmp {
	CMP_GT,
	CMP_GE,
	CMP_LT,
	CMP_LE,
	CMP_EQ,
	CMP_NE,
};

enum tri {
	TRI_FALSE,
	TRI_TRUE,
	TRI_UNKNOWN,
};

struct clause {
	enum signal_id sig;
	enum cmp cmp;
	double value;
};

struct cond {
	struct clause clauses[COND_MAX];
	unsigned int n;
};

/* One object of each kind, as rows of the snapshot; -1: none bound. */
struct binding {
	int32_t at[OBJ_KINDS];
};

/* Bit per enum obj_kind that the clauses look at. */
unsigned int cond_kinds(const struct cond *c);

/* @values: COND_MAX readings, NaN where absent; may be NULL. */
enum tri cond_eval(const struct cond *c, const struct signals *s,
		   const struct binding *b, double *values);

/* "port rxe0/1 util 97.3 % > 80 % and job kv qps 4 > 0" */
void cond_reason(struct text *t, const struct cond *c, const struct signals *s,
		 const struct binding *b);

/* The clauses as they are written in a policy file. */
void cond_format(struct text *t, const struct cond *c);

/**
 * cond_overlap - can both hold for the same readings?
 * @touch: out: they cannot, but only a single value apart (> 80 %, <= 80 %)
 */
bool cond_overlap(const struct cond *a, const struct cond *b, bool *touch);

const char *cmp_name(enum cmp cmp);

/* Objects a job's policies range over. */
struct span {
	const struct signals *s;
	uint32_t job;		/* row */
	unsigned int kinds;
	uint32_t pos;
};

void span_init(struct span *sp, const struct signals *s, uint32_t job,
	       unsigned int kinds);
bool span_next(struct span *sp, struct binding *b);

#endif /* SRDMA_CORE_COND_H */
