/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Instructions of a program that grows; compile.c makes atoms and terms of them. */
#ifndef SRDMA_POLICY_CODE_H
#define SRDMA_POLICY_CODE_H

#include "policy/expr.h"

struct compiler {
	struct prog *p;
	const struct expr *x;
	struct expr_error *e;
};

bool code_fail(struct compiler *c, size_t at, const char *msg);
/* Room for one more; NULL: none, which is told. @array: a pointer's address. */
void *code_more(struct compiler *c, void *array, uint32_t n, size_t size);
/* Are @n as many as a program may have? Then that is told. */
bool code_full(struct compiler *c, uint32_t n);

bool code_emit(struct compiler *c, enum prog_op op, unsigned int mem,
	       unsigned int arg);
/* What works out node @i, once for each object of @kind. */
bool code_node(struct compiler *c, int i, enum obj_kind kind);
/* Adds the quantifiers below node @i, and notes in @to which is which. */
bool code_hoist(struct compiler *c, struct expr *to, int i);
bool code_same(const struct prog *p, struct prog_code a, struct prog_code b);

#endif /* SRDMA_POLICY_CODE_H */
