// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doorbell registers: each is one server, whose service time grows with the number of
 * contending QPs.
 */
#include "model/internal.h"

/* The WR is in the NIC. */
static inline void grant_uar(struct model *m, uint32_t wr)
{
	struct model_qp *qp = &m->qp[m->wr[wr].qp];

	m->inflight++;
	m->uar[qp->uar].granted++;
	model_wqe_add(m, wr);
}

void model_uar_congestion(struct model *m, uint32_t u)
{
	struct model_uar *uar = &m->uar[u];

	if (!uar->congested && m->p.uar_raise && uar->pending >= m->p.uar_raise) {
		uar->congested = true;
		m->congested++;
		m->stats.raised++;
	} else if (uar->congested && (!m->p.uar_raise || uar->pending <= m->p.uar_clear)) {
		uar->congested = false;
		m->congested--;
		m->stats.cleared++;
	} else {
		return;
	}
	if (m->ops && m->ops->congestion)
		m->ops->congestion(m->ctx, u, uar->congested, m->now);
}

/* Grants the register to the first QP of the list. */
static void uar_serve(struct model *m, uint32_t u)
{
	struct model_uar *uar = &m->uar[u];

	uar->serving = true;
	uar->free_at = m->now + model_crowd_ps(&m->crowd, uar->active);
	model_schedule(m, u, uar->free_at);
}

static void uar_list(struct model *m, struct model_uar *uar, uint32_t q)
{
	m->qp[q].uar_next = MODEL_NONE;
	if (uar->qps.head == MODEL_NONE)
		uar->qps.head = q;
	else
		m->qp[uar->qps.tail].uar_next = q;
	uar->qps.tail = q;
	uar->active++;
}

static uint32_t uar_unlist(struct model *m, struct model_uar *uar)
{
	uint32_t q = uar->qps.head;

	uar->qps.head = m->qp[q].uar_next;
	uar->active--;
	return q;
}

static MODEL_APART void uar_wait(struct model *m, uint32_t q, uint32_t wr)
{
	struct model_qp *qp = &m->qp[q];
	struct model_uar *uar = &m->uar[qp->uar];
	bool waits = qp->ungranted.head != MODEL_NONE;

	wr_push(m, &qp->ungranted, wr);
	uar->pending++;
	m->ungranted++;
	if (uar->pending > uar->peak)
		uar->peak = uar->pending;
	if (!waits) {
		uar_list(m, uar, q);
		if (uar->active == 1)
			model_schedule(m, qp->uar, uar->free_at > m->now ? uar->free_at : m->now);
	}
	model_uar_congestion(m, qp->uar);
}

/*
 * A thread alone at a register pays nothing beyond the time of its own post. Contending
 * threads take turns of one WR, as with a fair lock.
 */
void model_uar_add(struct model *m, uint32_t wr)
{
	uint32_t q = m->wr[wr].qp;
	struct model_qp *qp = &m->qp[q];
	struct model_uar *uar = &m->uar[qp->uar];

	if (qp->ungranted.head == MODEL_NONE &&
	    (!m->p.uar_ps || (!uar->active &&
			      (m->now >= uar->free_at || uar->last_qp == q)))) {
		uar->last_qp = q;
		uar->free_at = m->now + m->p.uar_hold_ps;
		grant_uar(m, wr);
		return;
	}
	uar_wait(m, q, wr);
}

void model_uar_event(struct model *m, uint32_t u)
{
	struct model_uar *uar = &m->uar[u];
	struct model_qp *qp;
	uint32_t q, wr;

	model_unschedule(m, u);
	if (uar->serving) {
		uar->serving = false;
		q = uar_unlist(m, uar);
		qp = &m->qp[q];
		wr = wr_pop(m, &qp->ungranted);
		if (qp->ungranted.head != MODEL_NONE)
			uar_list(m, uar, q);
		uar->pending--;
		m->ungranted--;
		uar->last_qp = q;
		uar->contended++;
		uar->wait_ps += m->now - m->wr[wr].posted;
		grant_uar(m, wr);
	}
	if (uar->active)
		uar_serve(m, u);
	model_uar_congestion(m, u);
}

/* Takes @q out of the register's queue, wherever in it. */
void model_uar_forget(struct model *m, uint32_t q)
{
	struct model_qp *qp = &m->qp[q];
	struct model_uar *uar = &m->uar[qp->uar];
	uint32_t turns = uar->active, n = 0, other;

	if (qp->ungranted.head == MODEL_NONE)
		return;
	while (qp->ungranted.head != MODEL_NONE) {
		wr_free(m, wr_pop(m, &qp->ungranted));
		n++;
	}
	uar->pending -= n;
	m->ungranted -= n;
	if (uar->qps.head == q && uar->serving) {
		uar->serving = false;
		model_schedule(m, qp->uar, m->now);
	}
	while (turns--) {
		other = uar_unlist(m, uar);
		if (other != q)
			uar_list(m, uar, other);
	}
	if (!uar->active)
		model_unschedule(m, qp->uar);
	model_uar_congestion(m, qp->uar);
}
