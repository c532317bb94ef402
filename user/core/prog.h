/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Conditions and expressions of policies, compiled for evaluation at each tick.
 *
 * A condition has the form "(a and b) or (a and c)", where each atom reads one object (and
 * the objects that it belongs to). An atom is a sequence of instructions for a small stack
 * machine. There are no jumps, so the work of a tick follows from the number of objects and
 * is known when the file is read. Two bits of a mask per object have the truth of an atom,
 * and a term is a comparison of masks. So an atom that several policies have in common is
 * evaluated once, and an object that did not change is not evaluated.
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

enum tri {
	TRI_FALSE,
	TRI_TRUE,
	TRI_UNKNOWN,
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
	uint8_t reads;		/* bit per kind that .value and .where read */
	struct prog_code value;	/* number; empty for AGG_COUNT */
	struct prog_code where;	/* truth; empty: all */
};

struct prog_term {
	uint64_t need[OBJ_KINDS];	/* atoms that must be true */
	uint16_t asked;		/* place of the term in prog.asked; PROG_UNASKED: none */
};

#define PROG_UNASKED 0xffff

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
	/*
	 * Terms that read QPs or UARs. struct truth counts the QPs for which their atoms of
	 * these are true; the atoms of the job are the same for all its QPs.
	 */
	uint16_t *asked;
	uint32_t n_asked;
};

/* One object of each kind, as rows of the snapshot; -1: none bound. */
struct binding {
	int32_t at[OBJ_KINDS];
};

/* Binds the object at @row and the objects that it belongs to. */
void binding_of(const struct signals *s, enum obj_kind kind, uint32_t row,
		struct binding *b);

/* The inputs of a program besides the signals. */
struct prog_env {
	const struct prog *p;
	const struct signals *s;
	/* Aggregates: column i has a number per object of its kind. May be NULL. */
	double *const *agg;
	/* Memory of the evaluated object. NULL: none; instructions that need it give NaN. */
	double *mem;
	uint64_t now;
	bool again;		/* out: the result may change without a change of signals */
};

/*
 * Runs the code of an atom, an aggregate or a value. NaN: unknown. @code is not checked: it is
 * from the compiler, whose output the tests check by selftests/unit/verify.h.
 */
double prog_run(struct prog_env *env, struct prog_code code,
		const struct binding *b);

/* True if one of the terms is. @t and @k: masks of the atoms that are true, and known, by kind. */
enum tri prog_terms(const struct prog *p, struct prog_code terms,
		    const uint64_t *t, const uint64_t *k);

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
