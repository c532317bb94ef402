/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Truth of conditions. At each tick truth_update() evaluates aggregates, all atoms of devices,
 * ports, UARs and jobs, and the atoms of QPs that remember something. The queries of truth_query.c
 * evaluate the other atoms of QPs, over columns, for the QPs of one job, and only if the rest of
 * the term does not decide.
 *
 * Nothing but the memory of atoms is kept from one tick to the next.
 */
#ifndef SRDMA_CORE_TRUTH_H
#define SRDMA_CORE_TRUTH_H

#include "core/prog.h"

/* Objects of one kind. */
struct truth_rows {
	uint64_t atoms;			/* those that truth_update() evaluates */
	/*
	 * The truth of these atoms: a column for each atom, with an enum tri for each object. The
	 * first element of a column is the truth for an object that is not known; row 0 follows.
	 */
	int32_t *truth;
	size_t stride, cap_truth;	/* elements of a column; of the array */
	uint8_t column[PROG_ATOMS];	/* the number of an atom's column */
	double *mem;			/* memory of the atoms, prog.n_mem numbers an object */
	struct signal_key *key;		/* the objects whose memory that is */
	size_t n, cap;			/* of .mem and .key */
};

struct truth {
	struct truth_rows rows[OBJ_KINDS];
	double *agg[PROG_AGGS];		/* a number per object of its kind */
	uint32_t *members;		/* scratch: per object, the number of its members */
	double *value;			/* scratch: the number of each member */
	size_t cap_agg, cap_value;
	/*
	 * Per term of the program, after truth_update(): the term is false for all objects, by its
	 * atoms of devices, ports and jobs alone.
	 */
	bool *is_false;
	size_t cap_terms;
	uint64_t topology;		/* of the signals to which .rows belong */
	bool started;
	/* The program that the arrays were laid out for. */
	uint32_t n_aggs, n_atoms[OBJ_KINDS], n_mem[OBJ_KINDS];
};

/* truth_capacity.c */
void truth_init(struct truth *t);
void truth_free(struct truth *t);
/*
 * Makes room for these signals, and moves the memory of objects whose row changed. Allocates
 * only to grow. 0 or -ENOMEM.
 */
int truth_reserve(struct truth *t, const struct prog *p, const struct signals *s);

void truth_update(struct truth *t, const struct prog *p, const struct signals *s, uint64_t now);

/* The arguments that all queries have. They answer for the tick of the last truth_update(). */
struct truth_view {
	const struct truth *t;
	const struct prog *p;
	const struct signals *s;
};

/* The truth of an atom, by the object's row; row -1: an object that is not known. */
static inline int32_t *truth_column(const struct truth_rows *rows, unsigned int atom)
{
	return rows->truth + rows->column[atom] * rows->stride + 1;
}

/*
 * Where a condition is evaluated for a job: all QPs of the job in one place, a port or a device
 * that the job uses, or the job alone.
 */
struct spot {
	uint32_t job;
	int32_t dev, port;	/* rows; -1: none, or not known */
	const struct signal_place *place;	/* NULL: the condition reads neither QPs nor UARs */
	uint32_t pos;		/* of the next one */
};

/* The spots of a condition, one after the other, from a @spot with .pos 0. */
bool truth_next_spot(const struct signals *s, unsigned int kinds, uint32_t job,
		     struct spot *spot);
/* The truth of a condition for any object of a spot. */
enum tri truth_of_spot(const struct truth_view *v, const struct cond *c, const struct spot *spot);
/* The truth of a condition for any object that the job uses. */
enum tri truth_some(const struct truth_view *v, const struct cond *c, uint32_t job);
/* The first of these objects for which the condition is true. False: there is none. */
bool truth_first(const struct truth_view *v, const struct cond *c, uint32_t job,
		 struct binding *b);
/* The truth of terms for the objects of @b. */
enum tri truth_at(const struct truth_view *v, struct prog_code terms, const struct binding *b);
/* The first of the terms that is true for the objects of @b. NULL: there is none. */
const struct prog_term *truth_which(const struct truth_view *v, struct prog_code terms,
				    const struct binding *b);

#endif /* SRDMA_CORE_TRUTH_H */
