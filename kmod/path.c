// SPDX-License-Identifier: GPL-2.0
/* Whether a QP has the path, UDP source port and LAG port, that an override wants. */
#include "job.h"
#include "pass.h"
#include "path.h"

/* Before RTR a QP has no path, in ERR the path does not matter, and RESET clears it. */
static bool has_path(const struct srdma_qp *q)
{
	u8 state = READ_ONCE(q->state);

	return !test_bit(SRDMA_QP_HAS_STATE, &q->flags) ||
	       (state >= IB_QPS_RTR && state <= IB_QPS_SQE);
}

bool srdma_path_pending(const struct srdma_qp *q, enum srdma_path_part part)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);
	const struct srdma_path *p = hw ? &hw->path[part] : NULL;
	u32 want = p ? READ_ONCE(p->want) : 0;

	if (!p || test_bit(SRDMA_QP_DEAD, &q->flags))
		return false;
	if (srdma_giving_back(q->dev))
		want = 0;
	return want ? !READ_ONCE(p->set) || READ_ONCE(p->value) != srdma_packed_value(want) :
		      READ_ONCE(p->set) && has_path(q);
}
EXPORT_SYMBOL_GPL(srdma_path_pending);

enum srdma_standing srdma_path_standing(const struct srdma_qp *q, enum srdma_path_part part)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);
	int err;

	if (!srdma_path_pending(q, part))
		return SRDMA_DONE;
	if (!has_path(q))
		return SRDMA_UNCONNECTED;
	err = READ_ONCE(hw->path[part].error);
	/* The device would refuse the same again. */
	return err && err != -EAGAIN && err != -ENOMEM ? SRDMA_CANNOT : SRDMA_PENDING;
}
