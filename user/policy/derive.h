/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Derives policies from jobs, their targets and their order, for each of the five kinds
 * of contention. The result is text in the language of policy files, and each policy
 * names the intent that it comes from.
 */
#ifndef SRDMA_POLICY_DERIVE_H
#define SRDMA_POLICY_DERIVE_H

#include "policy/config.h"

/* The text "policies: ...", which the caller frees. NULL: no memory. */
char *derive_text(const struct config *cfg);
/* A job whose class level the policies raise; NULL: there is none. */
const struct config_job *derive_raises(const struct config *cfg);
/*
 * The highest level that a job may take because a peer asks for it: the level of the job's rank,
 * or 0 if the job is before no other job. The file must set levels.
 */
uint32_t derive_ceiling(const struct config *cfg, const struct config_job *job);
/* Reports targets that cannot be met, with the arithmetic. */
void derive_check(const struct config *cfg, struct diag *r);

#endif /* SRDMA_POLICY_DERIVE_H */
