// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Signals of QPs, and how many of a device's QPs are active. */
#include "core/signal.h"

#include <string.h>

#include "base/array.h"

/* @was: the QP in the reading before, which is of @old_time; NULL: the QP is new. */
static void set_qp_rates(struct signals *s, size_t i, const struct snap_qp *was,
			 uint64_t old_time)
{
	const struct snap_qp *qp = &s->snap->qps[i];
	uint64_t doorbells = was ? was->doorbells : 0;
	uint64_t wrs = was ? was->wrs : 0;
	/*
	 * The time between the snapshots, because qp->time is older: a QP that did not change
	 * is not read again.
	 */
	uint64_t t0 = was ? old_time : qp->since;
	uint64_t t1 = was ? s->snap->time : qp->time;
	uint64_t has = was ? was->has & qp->has : qp->has;

	/*
	 * The counters of a new QP began at 0 when it was created. A QP that is older than
	 * the reading that did not have it has no rate.
	 */
	if (was ? was->since != qp->since : qp->since < old_time)
		return;
	if (has & SNAP_WRS) {
		signal_set_rate(s, SIG_QP_WR_RATE, i, wrs, qp->wrs, t0, t1);
		if (qp->wrs >= wrs)
			s->advanced[i] = qp->wrs > wrs;
	}
	if (has & SNAP_DOORBELLS) {
		signal_set_rate(s, SIG_QP_DOORBELL_RATE, i, doorbells, qp->doorbells, t0, t1);
		if (qp->doorbells >= doorbells && s->advanced[i] != 1)
			s->advanced[i] = qp->doorbells > doorbells;
	}
}

static void set_qp_state(struct signals *s, size_t i)
{
	const struct snapshot *snap = s->snap;
	const struct snap_qp *qp = &snap->qps[i];

	if (snap_has(qp, SNAP_LEVEL))
		signal_set(s, SIG_QP_LEVEL, i, qp->level);
	if (snap_has(qp, SNAP_CLASS))
		signal_set(s, SIG_QP_TCLASS, i, qp->tclass);
	if (snap_has(qp, SNAP_STATE))
		signal_set(s, SIG_QP_STATE, i, qp->state);
	if (snap_has(qp, SNAP_UAR))
		signal_set(s, SIG_QP_UAR, i, qp->uar);
	if (snap_has(qp, SNAP_PORT))
		signal_set(s, SIG_QP_PORT, i, qp->port);
	if (snap_has(qp, SNAP_OWNER) && qp->owner < snap->n_owners &&
	    !snap->owners[qp->owner].kernel[0])
		signal_set(s, SIG_QP_PID, i, snap->owners[qp->owner].pid);
	signal_set(s, SIG_QP_TYPE, i, qp->type);
	signal_set(s, SIG_QP_JOB, i, qp->job);
}

/* Does the QP belong to the same process and thread as in the reading before? */
static bool has_same_owner(const struct snap_qp *a, const struct snap_qp *b)
{
	const uint64_t known = SNAP_OWNER | SNAP_TID;

	return a->owner == b->owner && a->tid == b->tid && (a->has & known) == (b->has & known);
}

/* Makes all signals of a QP absent. */
static void clear_qp(struct signals *s, size_t i)
{
	const struct signal_table *t = &s->table[OBJ_QP];
	uint32_t at = s->qps[i].at;
	unsigned int k;

	for (k = 0; k < t->width; k++) {
		if (signal_is_float(vocab_first(OBJ_QP) + k))
			t->column[k].f[at] = __builtin_nanf("");
		else
			t->column[k].d[at] = __builtin_nan("");
	}
}

/* Adds a QP to the activity of its device and its UAR (@add), or subtracts it. */
static void count_activity(struct signals *s, size_t i, bool add)
{
	const struct signal_qp_ref *ref = &s->qps[i];
	uint32_t known = s->advanced[i] != 2, active = s->advanced[i] == 1;

	if (!add) {
		known = -known;
		active = -active;
	}
	if (ref->dev >= 0) {
		s->dev_activity[ref->dev].known += known;
		s->dev_activity[ref->dev].active += active;
	}
	if (ref->uar >= 0) {
		s->uar_activity[ref->uar].known += known;
		s->uar_activity[ref->uar].active += active;
	}
}

void signals_qps(struct signals *s, const struct snapshot *old, const struct signal_rows *rows)
{
	const struct snapshot *snap = s->snap;
	size_t i, k, o = 0;

	if (rows->all) {
		memset(s->dev_activity, 0, snap->n_devs * sizeof(*s->dev_activity));
		memset(s->uar_activity, 0, snap->n_uars * sizeof(*s->uar_activity));
	}
	for (k = 0; k < rows->n; k++) {
		const struct snap_qp *qp = &snap->qps[i = signal_row_at(rows, k)], *was = NULL;

		/* The rows of both readings are the same if only some of them changed. */
		o = rows->all ? o : i;
		if (old && array_seek(old->n_qps, o, SNAP_CMP_QP(&old->qps[o], qp)))
			was = &old->qps[o];
		if (!rows->all) {
			clear_qp(s, i);
			count_activity(s, i, false);
			s->n_looks -= was && snap_has(was, SNAP_LOOKS);
		}
		s->n_looks += snap_has(qp, SNAP_LOOKS);
		s->ownership += !was || !has_same_owner(was, qp);
		s->advanced[i] = 2;
		if (old)
			set_qp_rates(s, i, was, old->time);
		set_qp_state(s, i);
		count_activity(s, i, true);
	}
	for (i = 0; i < snap->n_devs; i++)
		if (s->dev_activity[i].known)
			signal_set(s, SIG_DEV_ACTIVE_QPS, i, s->dev_activity[i].active);
}
