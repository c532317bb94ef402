/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Adds instructions to a program; compile.c makes atoms and terms of them. */
#ifndef SRDMA_POLICY_CODEGEN_H
#define SRDMA_POLICY_CODEGEN_H

#include "policy/expr.h"

struct compiler {
	struct prog *p;
	const struct expr *x;
	struct expr_error *e;
};

/* Sets the error; false. */
bool code_fail(struct compiler *c, size_t at, const char *msg);
/* Makes room for one more element. NULL, with an error: no memory. */
void *code_more(struct compiler *c, void *array, uint32_t n, size_t size);
/* True, with an error, if @n elements are as many as a program may have. */
bool code_full(struct compiler *c, uint32_t n);

bool code_emit(struct compiler *c, enum prog_op op, unsigned int mem,
	       unsigned int arg);
/* Emits the code that computes node @i for one object of @kind. */
bool code_node(struct compiler *c, int i, enum obj_kind kind);
/* Adds the quantifiers below node @i to the program. Stores their numbers in the tree @to. */
bool code_hoist(struct compiler *c, struct expr *to, int i);
/* True: both codes are equal, except for the memory that they use. */
bool code_same(const struct prog *p, struct prog_code a, struct prog_code b);

#endif /* SRDMA_POLICY_CODEGEN_H */
