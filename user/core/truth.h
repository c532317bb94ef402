/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What is true of which object, kept from one tick to the next: only what
 * changed is worked out again. For a term that is asked of QPs it is counted of
 * how many QPs in each place of a job its part about QPs and UARs is true, and
 * of how many false. What it says of ports and devices is the same for a whole
 * place: where one of those turns, no QP has to be looked at.
 */
#ifndef SRDMA_CORE_TRUTH_H
#define SRDMA_CORE_TRUTH_H

#include "core/prog.h"

/* A comparison with a constant, as a range: most atoms are no more. */
struct truth_range {
	double lo, hi;		/* both included */
	uint8_t col, bit;
	bool not;
};

/*
 * All that is compared with one signal. Below the least of the constants, where
 * most readings of a calm device are, all answers are known at once.
 */
struct truth_column {
	double least;
	uint64_t low, bits;	/* answers below it; of which atoms */
	uint8_t col, first, n;	/* ranges */
};

struct truth_rows {
	uint64_t *t, *k;	/* the atoms' truth: true, known */
	double *mem;		/* prog.n_mem of each */
	struct signal_key *key;	/* whose it is */
	uint32_t *work;		/* rows to be looked at in this tick */
	uint32_t *again;	/* and in the next */
	uint32_t *stamp;	/* the tick in which it came onto .work */
	size_t n, cap, n_work, n_again;
	struct truth_range range[PROG_ATOMS];
	uint8_t other[PROG_ATOMS];	/* atoms that have to be run */
	struct truth_column column[32];
	unsigned int n_ranges, n_others, n_columns;
};

struct truth {
	struct truth_rows rows[OBJ_KINDS];
	double *agg[PROG_AGGS];		/* a number per object of its kind */
	uint8_t *agg_due;		/* scratch: containers to add up anew */
	size_t cap_agg, cap_due;
	/* Per QP: of whom which term is true, and false; @words of each. */
	uint64_t *yes, *no, *pend;
	uint32_t *queue;
	size_t n_queue, cap_qps;
	unsigned int words;
	uint32_t *n_yes, *n_no;		/* per place and term */
	uint64_t *asks;			/* per job: terms it is about */
	uint64_t *every;		/* all of them */
	size_t cap_jobs, cap_places;
	/*
	 * Whose answers may have become others in this tick: of which jobs, or of
	 * all; and those that rest on these atoms of a device or a port.
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
	/* The program that this was laid out for. */
	uint32_t n_asked, n_aggs, n_atoms[OBJ_KINDS], n_mem[OBJ_KINDS];
};

void truth_init(struct truth *t);
void truth_free(struct truth *t);
/*
 * Room for these signals; remembers what it knows of objects that moved to
 * another row. 0 or -ENOMEM; allocates only to grow.
 */
int truth_reserve(struct truth *t, const struct prog *p,
		  const struct signals *s);
/*
 * Jobs came or went, or their policies: truth_ask() follows for each term that
 * a job is about. Others are not worked out for its QPs.
 */
bool truth_asks(const struct truth *t, const struct signals *s);
void truth_ask_none(struct truth *t, const struct signals *s);
void truth_ask(struct truth *t, const struct prog *p, uint32_t job,
	       const struct cond *c);
void truth_update(struct truth *t, const struct prog *p,
		  const struct signals *s, uint64_t now);

/* Atoms of devices and ports that an answer rests on. */
struct truth_rest {
	uint64_t need[OBJ_UAR];
};

void truth_rests_on(struct truth_rest *r, const struct prog *p,
		    const struct cond *c);

/* Is an answer of tick @since the same in this one, but for devices and ports? */
static inline bool truth_same_job(const struct truth *t, uint32_t job,
				  uint32_t since)
{
	return since && since + 1 == t->tick && t->all_touched != t->tick &&
	       t->touched[job] != t->tick;
}

/* Is it, as far as it rests on devices and ports? */
static inline bool truth_same_rest(const struct truth *t,
				   const struct truth_rest *r)
{
	return !(r->need[OBJ_DEV] & t->flipped[OBJ_DEV]) &&
	       !(r->need[OBJ_PORT] & t->flipped[OBJ_PORT]);
}

/* True for some object that the job uses? */
enum tri truth_some(const struct truth *t, const struct prog *p,
		    const struct signals *s, const struct cond *c,
		    uint32_t job);
/* For which of them is it true first? False: for none. */
bool truth_first(const struct truth *t, const struct prog *p,
		 const struct signals *s, const struct cond *c, uint32_t job,
		 struct binding *b);
/* For these ones? */
enum tri truth_at(const struct truth *t, const struct prog *p,
		  struct prog_code terms, const struct binding *b);
/* One term of these is true of them: which? NULL: none. */
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
