// SPDX-License-Identifier: GPL-2.0
/*
 * XRC: a connection whose requests name the SRQ that they are for. Its receiving QP (TGT)
 * has no queues and no protection domain. The SRQ's queue, CQ, protection domain and user
 * index stand in for the QP's while a request is worked on.
 */
#include "softhca.h"

/* False if the QP must not use that SRQ: they have to be of one XRC domain. */
bool sh_xrc_enter(struct sh_qp *tgt, u32 srqn)
{
	struct sh_srq *srq = sh_find(tgt->hca, SH_SRQ, srqn);

	if (!srq || !srq->xrc || srq->xrcd != tgt->xrcd)
		return false;
	tgt->srq = srq;
	tgt->rcq = srq->cq;
	tgt->pd = srq->pd;
	tgt->user_index = srq->user_index;
	return true;
}

/* The SRQ may be destroyed before the next piece of the request comes. */
void sh_xrc_leave(struct sh_qp *tgt)
{
	tgt->srq = NULL;
	tgt->rcq = NULL;
	tgt->pd = 0;
	tgt->user_index = 0;
}
