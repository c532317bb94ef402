/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The order in which jobs are evaluated, each with the policies that apply to it and the
 * slot with its run state.
 */
#ifndef SRDMA_CORE_SCHEDULE_H
#define SRDMA_CORE_SCHEDULE_H

#include "core/decide.h"

/* In .job_policies: the policy no longer applies to the job but still holds a knob of it. */
#define ENTRY_STALE 0x8000

/* The slot of the job in row @hint, a free one if it had none. NULL: no slot is free. */
struct policy_slot *schedule_slot(struct policy_state *st, const struct snap_job *job,
				  size_t hint);
/* Rebuilds the schedule if jobs or policies have changed. */
void schedule_arrange(struct eval *e);

#endif /* SRDMA_CORE_SCHEDULE_H */
