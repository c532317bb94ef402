/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Conditions and expressions of policies, compiled for evaluation at each tick.
 *
 * A condition has the form "(a and b) or (a and c)", where each atom reads one object (and
 * the objects that it belongs to). An atom is a sequence of instructions for a small stack
 * machine. There are no jumps, so the work of a tick follows from the number of objects and
 * is known when the file is read. An instruction is a loop over many objects, which the compiler
 * vectorises.
 *
 * Logic is three-valued: a number that is absent is NaN, and so is a truth that is not
 * known. "and" is false if one side is false, "or" is true if one side is true, even if the
 * other side is unknown.
 */
#ifndef SRDMA_CORE_PROG_H
#define SRDMA_CORE_PROG_H

#include "core/signal.h"

#define PROG_STACK	16
#define PROG_ATOMS	64	/* atoms of one kind of object, a bit each */
#define PROG_CODE	65535	/* instructions, constants, terms of a set */
#define PROG_MEM	64	/* numbers that an object's atoms may remember */
#define PROG_AGGS	64

enum cmp {
	CMP_GT,
	CMP_GE,
	CMP_LT,
	CMP_LE,
	CMP_EQ,
	CMP_NE,
};

/* The bits are such that & and | are those of three-valued logic. */
enum tri {
	TRI_FALSE = 0,
	TRI_UNKNOWN = 1,
	TRI_TRUE = 3,
};

enum prog_op {
	PROG_CONST,	/* -> n; arg: place in prog.k */
	PROG_SIGNAL,	/* -> n; arg: enum signal_id */
	PROG_AGG,	/* -> n; arg: place in prog.aggs */
	PROG_ADD,	/* n n -> n */
	PROG_SUB,
	PROG_MUL,
	PROG_DIV,
	PROG_NEG,	/* n -> n */
	PROG_CMP,	/* n n -> b; arg: enum cmp */
	PROG_AND,	/* b b -> b */
	PROG_OR,
	PROG_NOT,	/* b -> b */
	PROG_RISING,	/* n -> b; mem: where the last reading is kept */
	PROG_FALLING,
	PROG_HELD,	/* b -> b; mem: since when; arg: constant, ns */
	PROG_OPS,
};

struct prog_ins {
	uint8_t op;
	uint8_t mem;
	uint16_t arg;
};

struct prog_code {
	uint16_t first, n;
};

struct prog_atom {
	struct prog_code code;
	uint8_t kind;		/* kind of the objects that have the atom */
	uint8_t others;		/* bit per other kind that the atom reads */
	bool simple;		/* `signal cmp value`, as below */
	uint8_t cmp;
	uint16_t sig;
	double value;
	/* Places in prog.text: the atom's source; of a simple atom, its bound ("> 80 %"). */
	uint32_t text, text_len;
};

enum agg_op {
	AGG_MAX,
	AGG_MIN,
	AGG_SUM,
	AGG_MEAN,
	AGG_COUNT,
};

/* A number of an object, computed over its members (prog_has_members()). */
struct prog_agg {
	uint8_t op;
	uint8_t of, on;		/* kind of the members, and of their owner */
	struct prog_code value;	/* number; empty for AGG_COUNT */
	struct prog_code where;	/* truth; empty: all */
};

struct prog_term {
	uint64_t need[OBJ_KINDS];	/* atoms that must be true */
};

/* A condition is true if one of its terms is true; never true without terms. */
struct cond {
	struct prog_code terms;
	uint8_t kinds;		/* bit per kind that the condition reads */
};

struct prog {
	struct prog_ins *ins;
	double *k;
	struct prog_term *terms;
	struct prog_atom *atoms[OBJ_KINDS];
	struct prog_agg *aggs;
	char *text;
	uint32_t n_ins, n_k, n_terms, n_atoms[OBJ_KINDS], n_aggs, n_text;
	uint32_t n_mem[OBJ_KINDS];
};

/* One object of each kind, as rows of the snapshot; -1: none bound. */
struct binding {
	int32_t at[OBJ_KINDS];
};

/* Binds the object at @row and the objects that it belongs to. */
void binding_of(const struct signals *s, enum obj_kind kind, uint32_t row,
		struct binding *b);

#define PROG_LANES	128

/*
 * A function with loops over lanes, compiled for wider vectors too; the linker picks one by the
 * CPU. Sanitizers do not support this.
 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define PROG_VECTORS __attribute__((target_clones("default", "avx2")))
#else
#define PROG_VECTORS
#endif

/*
 * Objects for which a program runs at once, a lane each: consecutive rows of one kind in the
 * columns. All lanes belong to the same objects of other kinds, except that QPs may differ in UARs.
 */
struct prog_lanes {
	enum obj_kind kind;		/* of the lanes; OBJ_KINDS: one lane, all of it in .at */
	uint32_t first, n;		/* rows; at most PROG_LANES */
	int32_t at[OBJ_KINDS];		/* rows of the others; -1: unknown */
};

/*
 * Lanes for the QPs of @place from row @first of the columns on, at most PROG_LANES of them. @job:
 * the row of their job; -1: none. False: there are no such QPs.
 */
static inline bool prog_lanes_of_place(const struct signal_place *place, int32_t job,
				       uint32_t first, struct prog_lanes *l)
{
	if (first >= place->end)
		return false;
	l->kind = OBJ_QP;
	l->first = first;
	l->n = place->end - first < PROG_LANES ? place->end - first : PROG_LANES;
	l->at[OBJ_DEV] = place->dev;
	l->at[OBJ_PORT] = place->port;
	l->at[OBJ_JOB] = job;
	return true;
}

/* The inputs of a program besides the signals. */
struct prog_env {
	const struct prog *p;
	const struct signals *s;
	/* Aggregates: column i has a number per object of its kind. May be NULL. */
	double *const *agg;
	/*
	 * Memory of objects of the lanes' kind, by their row in the snapshot. NULL: none;
	 * instructions that need it give NaN.
	 */
	double *mem;
	uint64_t now;
};

/* A number for each lane; NaN: unknown. A truth is 1 or 0. */
struct prog_result {
	double v[PROG_LANES];
};

/*
 * Runs the code of an atom, an aggregate or a value. @code is not checked: it is from the
 * compiler, whose output the tests check by selftests/unit/verify.h.
 */
void prog_run_lanes(const struct prog_env *env, struct prog_code code,
		    const struct prog_lanes *l, struct prog_result *out);
/* The same for one object of each kind. NaN: unknown. */
double prog_run(const struct prog_env *env, struct prog_code code, const struct binding *b);

/* Makes @n lanes true. A lane is an enum tri. */
static inline void prog_set_truth(int32_t *truth, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		truth[i] = TRI_TRUE;
}

/* Evaluates @a for each lane of @l, and ANDs the results to @truth, which has l->n elements. */
void prog_and_atom(const struct prog_env *env, const struct prog_atom *a,
		   const struct prog_lanes *l, int32_t *truth);

/* TRI_TRUE: the simple atom is true for some lane; TRI_FALSE: it is false for all lanes. */
enum tri prog_or_simple(const struct signals *s, const struct prog_atom *a,
		       const struct prog_lanes *l);

/* True: the program reads this signal; objects of this kind. */
bool prog_reads(const struct prog *p, enum signal_id id);
bool prog_looks_at(const struct prog *p, enum obj_kind kind);

const char *cmp_name(enum cmp cmp);

/* Bit per kind of the objects that an object of @kind belongs to, and of @kind itself. */
unsigned int prog_sees(enum obj_kind kind);
/* True: objects of kind @on have members of kind @of. */
bool prog_has_members(enum obj_kind on, enum obj_kind of);

/* The greatest number of instructions for one object of this kind in a tick. */
uint32_t prog_work(const struct prog *p, enum obj_kind kind);

void prog_free(struct prog *p);

#endif /* SRDMA_CORE_PROG_H */
