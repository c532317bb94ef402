/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Whose turn comes when: the jobs in their order, each with the policies that
 * are for it and a slot for what is remembered of it between ticks.
 */
#ifndef SRDMA_CORE_TURN_H
#define SRDMA_CORE_TURN_H

#include "core/decide.h"

/* In .whose: the policy was for this job, and still holds something of it. */
#define TURN_STALE 0x8000

/* Works that out when jobs or policies have changed. */
void turn_arrange(struct eval *e);
/* Of which policies something turned that they rest on besides the job. */
void turn_find_turned(struct eval *e);

#endif /* SRDMA_CORE_TURN_H */
