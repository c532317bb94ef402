/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The compiler: from what operators want (jobs, their targets, who goes first)
 * to policies for the five contentions, written in the policies' own language,
 * each with the intent that it comes from.
 */
#ifndef SRDMA_POLICY_DERIVE_H
#define SRDMA_POLICY_DERIVE_H

#include "policy/config.h"

/* "policies: ..." for free(); NULL: no memory. */
char *derive_text(const struct config *cfg);
/* A job that policies raise to class levels; NULL: there is none. */
const struct config_job *derive_raises(const struct config *cfg);
/* Reports what cannot be met, with the arithmetic. */
void derive_check(const struct config *cfg, struct report *r);

#endif /* SRDMA_POLICY_DERIVE_H */
