/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Truth of every atom for every object, cached between ticks and updated only for objects
 * that changed. For a term with atoms of QPs or UARs, the cache counts the QPs in each place
 * of a job for which these atoms are true, and those for which they are false. Atoms of
 * ports and devices are the same for a whole place, so no QP is examined when one of them
 * changes.
 */
#ifndef SRDMA_CORE_TRUTH_H
#define SRDMA_CORE_TRUTH_H

#include "core/prog.h"

/* A comparison with a constant, as a range. Most atoms are of this form. */
struct truth_range {
	double lo, hi;		/* both included */
	uint8_t col, bit;
	bool not;
};

/*
 * All atoms that compare one signal with a constant. If the reading is below the least
 * constant, as on a calm device, .low has the truth of all of them.
 */
struct truth_column {
	double least;
	uint64_t low, bits;	/* .bits: mask of the atoms */
	uint8_t col, first, n;	/* the signal; its ranges */
};

struct truth_rows {
	uint64_t *t, *k;	/* the atoms' truth: true, known */
	double *mem;		/* memory of the atoms, prog.n_mem numbers a row */
	struct signal_key *key;	/* the object of the row */
	uint32_t *work;		/* rows to evaluate in this tick */
	uint32_t *again;	/* rows to evaluate in the next tick, even without a change */
	uint32_t *stamp;	/* the tick in which a row was put into .work */
	size_t n, cap, n_work, n_again;
	struct truth_range range[PROG_ATOMS];
	uint8_t other[PROG_ATOMS];	/* atoms that need their program */
	struct truth_column column[32];
	unsigned int n_ranges, n_others, n_columns;
};

struct truth {
	struct truth_rows rows[OBJ_KINDS];
	double *agg[PROG_AGGS];		/* a number per object of its kind */
	uint8_t *agg_due;		/* scratch: 1: compute the aggregate of the row anew */
	size_t cap_agg;
	/*
	 * Sets of the terms in prog.asked, .words words each. Per QP: terms that are true,
	 * that are false, and that have to be evaluated in this tick.
	 */
	uint64_t *yes, *no, *pend;
	uint32_t *queue;		/* QPs with terms in .pend */
	size_t n_queue, cap_qps;
	unsigned int words;
	uint64_t *subscribed;		/* per job: terms of its policies */
	uint64_t *every;		/* all terms */
	uint64_t *needs[OBJ_KINDS];	/* per atom: terms that need the atom */
	uint32_t *n_yes, *n_no;		/* per place and term: number of QPs */
	size_t cap_jobs, cap_places;
	/*
	 * Answers may have changed in this tick for a job if .touched is this tick, for every
	 * job if .all_touched is, and if they depend on an atom in .flipped of a device or port.
	 */
	uint32_t *touched, all_touched;
	uint64_t flipped[OBJ_UAR];
	/* Per job, in the tick before: the index of its only device, plus 1; 0: no QPs. */
	uint32_t *used;
	size_t cap_touched;		/* of .touched and .used */
	uint32_t tick;
	uint64_t readings, topology;
	bool started;
	/* The program that the arrays were laid out for. */
	uint32_t n_asked, n_aggs, n_atoms[OBJ_KINDS], n_mem[OBJ_KINDS];
};

void truth_init(struct truth *t);
void truth_free(struct truth *t);
/*
 * Makes room for these signals, and moves the cached truth of objects whose row changed.
 * Allocates only to grow. 0 or -ENOMEM.
 */
int truth_reserve(struct truth *t, const struct prog *p, const struct signals *s);
/*
 * Terms are computed only for QPs of jobs that subscribe to them. If truth_is_subscribed()
 * is false, jobs have changed: the caller must unsubscribe all and then subscribe each job to
 * each condition that it needs, before truth_update().
 */
bool truth_is_subscribed(const struct truth *t, const struct signals *s);
void truth_unsubscribe_all(struct truth *t, const struct signals *s);
void truth_subscribe(struct truth *t, const struct prog *p, uint32_t job,
		     const struct cond *c);
void truth_update(struct truth *t, const struct prog *p, const struct signals *s, uint64_t now);

/* The atoms of devices and ports that an answer depends on. */
struct truth_deps {
	uint64_t need[OBJ_UAR];
};

/* Adds those of a condition. */
void truth_add_deps(struct truth_deps *d, const struct prog *p, const struct cond *c);

/* True: an answer of tick @since still holds as far as the job and its QPs decide. */
static inline bool truth_same_job(const struct truth *t, uint32_t job, uint32_t since)
{
	return since && since + 1 == t->tick && t->all_touched != t->tick &&
	       t->touched[job] != t->tick;
}

/* True: the answer still holds as far as devices and ports decide. */
static inline bool truth_same_deps(const struct truth *t, const struct truth_deps *d)
{
	return !(d->need[OBJ_DEV] & t->flipped[OBJ_DEV]) &&
	       !(d->need[OBJ_PORT] & t->flipped[OBJ_PORT]);
}

/* truth_query.c: the truth of a condition for any object that the job uses. */
enum tri truth_some(const struct truth *t, const struct prog *p,
		    const struct signals *s, const struct cond *c, uint32_t job);
/* The first of these objects for which the condition is true. False: there is none. */
bool truth_first(const struct truth *t, const struct prog *p,
		 const struct signals *s, const struct cond *c, uint32_t job,
		 struct binding *b);
/* The truth of terms for the objects of @b. */
enum tri truth_at(const struct truth *t, const struct prog *p,
		  struct prog_code terms, const struct binding *b);
/* The first of the terms that is true for the objects of @b. NULL: there is none. */
const struct prog_term *truth_which(const struct truth *t, const struct prog *p,
				    struct prog_code terms, const struct binding *b);

/* Memory of a QP in @t, bytes. */
size_t truth_qp_bytes(const struct truth *t);

/* The objects that a condition on @kinds ranges over, for one job. */
struct span {
	const struct signals *s;
	uint32_t job;		/* row */
	unsigned int kinds;
	uint32_t pos;
};

void span_init(struct span *sp, const struct signals *s, uint32_t job,
	       unsigned int kinds);
bool span_next(struct span *sp, struct binding *b);

#endif /* SRDMA_CORE_TRUTH_H */
