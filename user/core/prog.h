/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Conditions and expressions of policies, compiled: what runs at each tick.
 *
 * A condition is brought into the form "(a and b) or (a and c)", where each
 * atom looks at one object (and at what that object belongs to). An atom is a
 * straight line of instructions for a small stack machine: there are no jumps,
 * so that the work of a tick follows from the number of objects, and is known
 * when the file is read. Its truth is kept as two bits of a mask per object,
 * and a term is a comparison of masks. So an atom that several policies have in
 * common is evaluated once, and an object that did not change not at all.
 *
 * Three-valued: a number that is absent is NaN, and so is a truth that is not
 * known. "and" is false if one side is, "or" true if one side is, whatever is
 * unknown.
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
	PROG_CONST,	/* -> n; arg: which */
	PROG_SIGNAL,	/* -> n; arg: enum signal_id */
	PROG_AGG,	/* -> n; arg: which */
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
	uint8_t kind;		/* kind of the object that it is evaluated for */
	uint8_t others;		/* bit per other kind that it reads */
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

/* A number of an object that is computed over the objects that belong to it. */
struct prog_agg {
	uint8_t op;
	uint8_t of, on;		/* kind of the members, and of their owner */
	uint8_t reads;		/* bit per kind that .value and .where read */
	struct prog_code value;	/* number; empty for AGG_COUNT */
	struct prog_code where;	/* truth; empty: all */
};

struct prog_term {
	uint64_t need[OBJ_KINDS];	/* atoms that must be true */
	uint16_t asked;		/* its place in prog.asked; PROG_UNASKED: none */
};

#define PROG_UNASKED 0xffff

/* True if one of its terms is true; never true without terms. */
struct cond {
	struct prog_code terms;
	uint8_t kinds;		/* bit per kind that it reads */
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
	 * Terms that read QPs or UARs, and so are counted per QP. Their atoms of the job are
	 * left to the end, because they are the same for all QPs of the job.
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
	/* Memory of the evaluated object. NULL: none; what needs it is unknown. */
	double *mem;
	uint64_t now;
	bool again;		/* out: the result may change although no signal does */
};

/*
 * NaN: unknown. Nothing is checked: @code is the compiler's, whose output the tests
 * hold against selftests/unit/verify.h.
 */
double prog_run(struct prog_env *env, struct prog_code code,
		const struct binding *b);

/* @t and @k: masks by kind. */
enum tri prog_terms(const struct prog *p, struct prog_code terms,
		    const uint64_t *t, const uint64_t *k);

/* Does the program read this signal? Objects of this kind? */
bool prog_reads(const struct prog *p, enum signal_id id);
bool prog_looks_at(const struct prog *p, enum obj_kind kind);

bool prog_compare(enum cmp cmp, double a, double b);
const char *cmp_name(enum cmp cmp);

/* Kinds of the objects that an object of @kind belongs to, and @kind itself. */
unsigned int prog_sees(enum obj_kind kind);
/* Does an object of kind @on have members of kind @of? */
bool prog_has_members(enum obj_kind on, enum obj_kind of);

/* The most instructions that one object of this kind takes in a tick. */
uint32_t prog_work(const struct prog *p, enum obj_kind kind);

void prog_free(struct prog *p);

#endif /* SRDMA_CORE_PROG_H */
