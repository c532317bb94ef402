// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Resources of a work request in the NIC from its doorbell to its completion: room for its
 * WQE and, for a READ, a request slot of its QP.
 *
 * The room is shared by the WQEs of all QPs. If there is none, a new WQE displaces a random
 * one; a unit that reaches a displaced WQE fetches it again. A WR that finds no free request
 * slot stays in the send queue, with those behind it, and its WQE is fetched again once it
 * may go.
 */
#include "model/internal.h"

void model_wqe_drop(struct model *m, uint32_t w)
{
	uint32_t at = m->wr[w].held, last;

	if (at == MODEL_NONE)
		return;
	last = m->held[--m->n_held];
	m->held[at] = last;
	m->wr[last].held = at;
	m->wr[w].held = MODEL_NONE;
}

static void hold_wqe(struct model *m, uint32_t w)
{
	while (m->n_held >= m->p.wqe_limit)
		model_wqe_drop(m, m->held[(uint64_t)model_random(m) * m->n_held >> 32]);
	m->wr[w].held = m->n_held;
	m->held[m->n_held++] = w;
}

static bool may_go(const struct model *m, const struct model_wr *wr)
{
	const struct model_qp *qp = &m->qp[wr->qp];

	return wr->op != MODEL_READ || !qp->reads || qp->slots < qp->reads;
}

static void release_wqe(struct model *m, uint32_t w)
{
	struct model_wr *wr = &m->wr[w];

	m->qp[wr->qp].slots += wr->op == MODEL_READ;
	if (m->p.wqe_limit)
		hold_wqe(m, w);
	model_pu_add(m, w);
}

void model_wqe_add(struct model *m, uint32_t w)
{
	struct model_wr *wr = &m->wr[w];
	struct model_qp *qp = &m->qp[wr->qp];

	if (qp->stalled.head == MODEL_NONE && may_go(m, wr)) {
		release_wqe(m, w);
		return;
	}
	wr->stalled = true;
	m->stats.stalled++;
	wr_push(m, &qp->stalled, w);
}

void model_wqe_done(struct model *m, uint32_t w)
{
	struct model_qp *qp = &m->qp[m->wr[w].qp];

	model_wqe_drop(m, w);
	qp->slots -= m->wr[w].op == MODEL_READ;
	while (qp->stalled.head != MODEL_NONE && may_go(m, &m->wr[qp->stalled.head]))
		release_wqe(m, wr_pop(m, &qp->stalled));
}

void model_wqe_forget(struct model *m, uint32_t q)
{
	struct model_qp *qp = &m->qp[q];

	while (qp->stalled.head != MODEL_NONE) {
		wr_free(m, wr_pop(m, &qp->stalled));
		m->inflight--;
	}
	qp->slots = 0;
}
