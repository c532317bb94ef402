// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The model's QPs, from open to close. */
#include "model/internal.h"

static bool attr_ok(const struct model *m, const struct model_qp_attr *a)
{
	return a->uar < m->n.uars && a->element < m->n.elements && a->cls < MODEL_CLASSES;
}

int model_qp_open(struct model *m, uint32_t q, const struct model_qp_attr *a)
{
	struct model_qp *qp;
	uint32_t epoch;

	if (q >= m->n.qps || !attr_ok(m, a))
		return -EINVAL;
	qp = &m->qp[q];
	if (qp->open)
		return -EBUSY;
	epoch = qp->epoch;
	*qp = (struct model_qp) {
		.qpn = a->qpn, .uar = a->uar, .cq = a->cq, .element = a->element,
		.cls = a->cls, .open = true, .epoch = epoch,
		.pu = (uint8_t)(m->p.pus ? a->qpn % m->p.pus : 0),
		.ungranted = EMPTY_LIST, .stalled = EMPTY_LIST, .ready = EMPTY_LIST,
		.at_qpc = MODEL_NONE, .at_cqc = MODEL_NONE, .reads = a->reads,
	};
	m->uar[a->uar].attached++;
	return 0;
}

int model_qp_modify(struct model *m, uint32_t q, const struct model_qp_attr *a)
{
	struct model_qp *qp;

	if (q >= m->n.qps || !m->qp[q].open || !attr_ok(m, a) || a->qpn != m->qp[q].qpn)
		return -EINVAL;
	qp = &m->qp[q];
	if (a->uar != qp->uar && qp->ungranted.head != MODEL_NONE)
		return -EBUSY;
	m->uar[qp->uar].attached--;
	m->uar[a->uar].attached++;
	qp->uar = a->uar;
	qp->cq = a->cq;
	qp->reads = a->reads;
	if (a->element != qp->element || a->cls != qp->cls)
		model_port_move(m, q, a->element, a->cls);
	return 0;
}

uint32_t model_qp_flush(struct model *m, uint32_t q)
{
	struct model_qp *qp;
	uint64_t lost;

	if (q >= m->n.qps || !m->qp[q].open)
		return 0;
	qp = &m->qp[q];
	lost = qp->posted - qp->done;
	m->stats.dropped += lost;
	m->stats.dropped_bytes += qp->bytes;
	qp->posted = qp->done;
	qp->bytes = 0;
	model_uar_forget(m, q);
	model_wqe_forget(m, q);
	model_port_forget(m, q);
	/* WRs on a unit, on the wire and in the pipe are freed when they leave there. */
	qp->epoch++;
	qp->in_pu = 0;
	return (uint32_t)lost;
}

void model_qp_close(struct model *m, uint32_t q)
{
	if (q >= m->n.qps || !m->qp[q].open)
		return;
	model_qp_flush(m, q);
	m->uar[m->qp[q].uar].attached--;
	m->qp[q].open = false;
}
