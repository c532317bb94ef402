// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/follow.h"

#include "core/signal.h"

bool follow_any(const struct snapshot *snap, bool before)
{
	bool some = snap->qps_since && !before;

	for (size_t i = 0; some && i < snap->n_changed; i++)
		if (snap_has(&snap->qps[snap->changed[i]], SNAP_PEER_WISH))
			return true;
	if (some)
		return false;
	for (size_t i = 0; i < snap->n_qps; i++)
		if (snap_has(&snap->qps[i], SNAP_PEER_WISH))
			return true;
	return false;
}

struct follow_wishes follow_find(const struct snapshot *snap, uint32_t job)
{
	struct follow_wishes w = { 0, NULL };

	for (size_t i = 0; i < snap->n_qps; i++) {
		const struct snap_qp *qp = &snap->qps[i];

		if (!snap_has(qp, SNAP_PEER_WISH) || qp->job != job)
			continue;
		w.n++;
		if (!w.qp || qp->peer_wish > w.qp->peer_wish)
			w.qp = qp;
	}
	return w;
}

void follow_reason(struct text *t, const struct snapshot *snap, const struct follow_wishes *w,
		   uint32_t ceiling, bool by_order)
{
	int32_t dev = signals_dev_row(snap, w->qp->dev);

	text_str(t, "peer wishes level ");
	text_u64(t, w->qp->peer_wish);
	text_str(t, " for QP ");
	text_u64(t, w->qp->qpn);
	text_add(t, " of ", dev < 0 ? "?" : snap->devs[dev].name);
	if (w->n > 1) {
		text_str(t, ", and peers of ");
		text_u64(t, w->n - 1);
		text_str(t, " more");
	}
	text_add(t, "; the ", by_order ? "order" : "file", " allows ");
	text_u64(t, ceiling);
}
