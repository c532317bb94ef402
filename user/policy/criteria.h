/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Named thresholds: a policy says "port_busy", and one line of a file changes its value
 * for all policies.
 */
#ifndef SRDMA_POLICY_CRITERIA_H
#define SRDMA_POLICY_CRITERIA_H

#include "base/units.h"

#define CRITERION_NAME	32
#define CRITERIA_MAX	64

struct criterion {
	char name[CRITERION_NAME];
	enum unit unit;
	double v;
};

struct criteria {
	struct criterion v[CRITERIA_MAX];
	size_t n;
};

/* The criteria with defaults. */
struct criterion_known {
	const char *name;
	enum unit unit;
	double v;
};

extern const struct criterion_known criteria_known[];
extern const size_t criteria_n_known;

void criteria_init(struct criteria *c);
const struct criterion *criteria_find(const struct criteria *c,
				      const char *name, size_t n);
double criteria_value(const struct criteria *c, const char *name);

#endif /* SRDMA_POLICY_CRITERIA_H */
