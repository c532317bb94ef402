// SPDX-License-Identifier: GPL-2.0
/*
 * The bodies of the tracepoints. They run in an application's calls and take no lock, so
 * each value that they read of a QP is constant, one word, or copied with a bound.
 */
#include <linux/pid.h>
#include <linux/rcupdate.h>

#include "compat.h"
#include "job.h"
#include "tracker.h"

static u32 srdma_trace_job(const struct srdma_qp *q)
{
	const struct srdma_job_dev *jd;
	u32 id = 0;

	rcu_read_lock();
	jd = rcu_dereference(q->job);
	if (jd)
		id = jd->job->id;
	rcu_read_unlock();
	return id;
}

/* The name of a kernel user, or the comm of a process. */
static const char *srdma_trace_name(const struct srdma_qp *q)
{
	return srdma_owner_is_kernel(q->owner) ? q->owner->exe : q->owner->comm;
}

#define CREATE_TRACE_POINTS
#include "trace.h"
