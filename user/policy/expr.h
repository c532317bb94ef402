/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The small language inside a policy's strings: states ("port.util > 80% and
 * job.qps > 0"), actions ("job.level += 1") and bindings ("job of class
 * latency"), checked for names and units while they are read.
 */
#ifndef SRDMA_POLICY_EXPR_H
#define SRDMA_POLICY_EXPR_H

#include "core/policy.h"

struct expr_error {
	size_t at;		/* offset in the text */
	char msg[256];
};

/* All return false with @e filled in. */
bool expr_cond(const char *s, struct cond *c, struct expr_error *e);
bool expr_step(const char *s, struct step *step, struct expr_error *e);
bool expr_binding(const char *s, struct policy *p, struct expr_error *e);
/* A constant that must have @unit; words where the unit has them. */
bool expr_value(const char *s, size_t n, enum unit unit, double *v,
		struct expr_error *e);

#endif /* SRDMA_POLICY_EXPR_H */
