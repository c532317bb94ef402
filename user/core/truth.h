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
 * All atoms that compare one signal with a constant. For a reading below the least constant,
 * as on a calm device, all answers are known at once.
 */
struct truth_column {
	double least;
	uint64_t low, bits;	/* answers below the least constant; mask of the atoms */
	uint8_t col, first, n;	/* ranges */
};

struct truth_rows {
	uint64_t *t, *k;	/* the atoms' truth: true, known */
	double *mem;		/* prog.n_mem of each */
	struct signal_key *key;	/* whose it is */
	uint32_t *work;		/* rows to evaluate in this tick */
	uint32_t *again;	/* and in the next */
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
	uint8_t *agg_due;		/* scratch: owners whose aggregates are computed anew */
	size_t cap_agg, cap_due;
	/* Per QP: the terms that are true, and those that are false; @words each. */
	uint64_t *yes, *no, *pend;
	uint32_t *queue;
	size_t n_queue, cap_qps;
	unsigned int words;
	uint32_t *n_yes, *n_no;		/* per place and term */
	uint64_t *asks;			/* per job: terms of its policies */
	uint64_t *every;		/* all of them */
	size_t cap_jobs, cap_places;
	/*
	 * The answers that may have changed in this tick: those of these jobs, or of all;
	 * and those that depend on these atoms of a device or a port.
	 */
	uint32_t *touched, all_touched;	/* ticks */
	uint64_t flipped[OBJ_UAR];
	/* Per job, in the tick before: its only device and 1, or 0 without QPs. */
	uint32_t *used;
	size_t cap_touched;		/* of .touched and .used */
	/* Per kind and atom: terms that need it; @words of each. */
	uint64_t *needs[OBJ_KINDS];
	uint32_t tick;
	uint64_t readings, topology;
	bool started;
	/* The program that the arrays were laid out for. */
	uint32_t n_asked, n_aggs, n_atoms[OBJ_KINDS], n_mem[OBJ_KINDS];
};

void truth_init(struct truth *t);
void truth_free(struct truth *t);
/*
 * Makes room for these signals, and moves the cached truth of objects that changed their
 * row. Allocates only to grow. 0 or -ENOMEM.
 */
int truth_reserve(struct truth *t, const struct prog *p,
		  const struct signals *s);
/*
 * Called when jobs or their policies changed. truth_ask() must follow for each term that a
 * job needs; other terms are not computed for its QPs.
 */
bool truth_asks(const struct truth *t, const struct signals *s);
void truth_ask_none(struct truth *t, const struct signals *s);
void truth_ask(struct truth *t, const struct prog *p, uint32_t job,
	       const struct cond *c);
void truth_update(struct truth *t, const struct prog *p,
		  const struct signals *s, uint64_t now);

/* Atoms of devices and ports that an answer depends on. */
struct truth_rest {
	uint64_t need[OBJ_UAR];
};

void truth_rests_on(struct truth_rest *r, const struct prog *p,
		    const struct cond *c);

/* Does an answer of tick @since still hold, devices and ports aside? */
static inline bool truth_same_job(const struct truth *t, uint32_t job,
				  uint32_t since)
{
	return since && since + 1 == t->tick && t->all_touched != t->tick &&
	       t->touched[job] != t->tick;
}

/* Does it still hold as far as it depends on devices and ports? */
static inline bool truth_same_rest(const struct truth *t,
				   const struct truth_rest *r)
{
	return !(r->need[OBJ_DEV] & t->flipped[OBJ_DEV]) &&
	       !(r->need[OBJ_PORT] & t->flipped[OBJ_PORT]);
}

/* Is the condition true for some object that the job uses? */
enum tri truth_some(const struct truth *t, const struct prog *p,
		    const struct signals *s, const struct cond *c,
		    uint32_t job);
/* The first of these objects for which it is true. False: none. */
bool truth_first(const struct truth *t, const struct prog *p,
		 const struct signals *s, const struct cond *c, uint32_t job,
		 struct binding *b);
/* For these ones? */
enum tri truth_at(const struct truth *t, const struct prog *p,
		  struct prog_code terms, const struct binding *b);
/* The first term that is true for these objects. NULL: none. */
const struct prog_term *truth_which(const struct truth *t,
				    const struct prog *p,
				    struct prog_code terms,
				    const struct binding *b);

/* Bytes for each QP. */
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
