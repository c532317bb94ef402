/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* For tests of a bound on outstanding requests, which complete when the test says so. */
#ifndef CREDITS_RIG_H
#define CREDITS_RIG_H

#include "control_rig.h"

#define CREDITS SWIFTRDMA_SHARE_KNOB_CREDITS

static struct ibv_qp *completing;
static int at_once;	/* requests that complete at each wait */

static inline void complete_some(void)
{
	stub_complete(completing, at_once);
}

/* From here on requests complete only while posts wait, @n at a time. */
static inline void hold_until_wait(struct ibv_qp *qp, int n)
{
	stub.hold = 1;
	completing = qp;
	at_once = n;
	ctl.meanwhile = complete_some;
}

static inline int64_t outstanding(void)
{
	return credits_outstanding(((struct qp *)table_find(&qps, rig.qp))->knobs);
}

static inline uint32_t in_flight(struct ibv_qp *qp)
{
	return stub_qp(qp)->posted - stub_qp(qp)->done;
}

/* The program polls, so that the library knows that it does. */
static inline void poll_nothing(void)
{
	assert_int_equal(rig_poll(), 0);
}

#endif
