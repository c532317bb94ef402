// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which UAR (the page with doorbell registers) a QP rings: by libmlx5, which knows where in
 * its own memory the register is; by the NIC; and by the module.
 */
#include <infiniband/mlx5dv.h>

#include "probe/prm.h"
#include "probe/probe.h"

#define SHARED	16	/* QPs as libmlx5 places them: some share a page */
#define OWN	4	/* QPs with a register of their own */
#define QPS	(SHARED + OWN)
#define PAGE	4096

struct placed {
	struct ibv_qp *qp;
	struct ibv_td *td;
	struct ibv_pd *pd;
	uintptr_t mapped;	/* page that libmlx5 writes to */
	uint32_t uar;		/* the NIC's number of it */
};

static int place_qp(struct probe *p, struct placed *q, bool own)
{
	struct nic_want want = { .depth = 1 };
	struct mlx5dv_qp dv = { 0 };
	struct mlx5dv_obj obj = { .qp = { .out = &dv } };

	if (own) {
		q->pd = nic_own_register(&p->nic, &q->td);
		if (!q->pd)
			return -1;
		want.pd = q->pd;
	}
	q->qp = nic_create_qp(&p->nic, &want);
	obj.qp.in = q->qp;
	if (!q->qp || mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP))
		return -1;
	q->mapped = (uintptr_t)dv.bf.reg & ~(uintptr_t)(PAGE - 1);
	return 0;
}

static int place_all(struct probe *p, struct probe_finding *f, struct placed *q)
{
	struct prm_error e;
	struct prm_qp queried;

	for (int i = 0; i < QPS; i++) {
		if (place_qp(p, &q[i], i >= SHARED)) {
			finding_nic(f);
			return -1;
		}
		if (prm_query_qp(q[i].qp, &queried, &e)) {
			finding_cannot(f, "QUERY_QP: %s", prm_words(&e));
			return -1;
		}
		q[i].uar = queried.uar_page;
	}
	return 0;
}

static void remove_all(struct placed *q)
{
	for (int i = 0; i < QPS; i++) {
		if (q[i].qp)
			ibv_destroy_qp(q[i].qp);
		if (q[i].pd)
			ibv_dealloc_pd(q[i].pd);
		if (q[i].td)
			ibv_dealloc_td(q[i].td);
	}
}

/* Two QPs have one page by libmlx5 if, and only if, they have one by the NIC. */
static uint32_t count_agreeing(const struct placed *q, uint32_t *pages)
{
	uint32_t n = 0;

	*pages = 0;
	for (int i = 0; i < QPS; i++) {
		bool agrees = true, first = true;

		for (int k = 0; k < QPS; k++) {
			bool same = q[i].mapped == q[k].mapped;

			agrees &= same == (q[i].uar == q[k].uar);
			first &= k >= i || !same;
		}
		n += agrees;
		*pages += first;
	}
	return n;
}

void check_uar_page(struct probe *p, struct probe_finding *f)
{
	struct placed q[QPS] = { 0 };
	uint32_t pages, n;

	if (!place_all(p, f, q)) {
		n = count_agreeing(q, &pages);
		finding_compare(f, PROBE_EXACT, "QPs", QPS, n, "QPs on the same page by both");
		finding_compare(f, PROBE_SHOWN, "pages", 0, pages, "pages by libmlx5");
		finding_say(f, "QUERY_QP and libmlx5 agree on %u of %d QPs, on %u pages", n, QPS,
			    pages);
	}
	remove_all(q);
}

void check_module_uar(struct probe *p, struct probe_finding *f)
{
	struct placed q[QPS] = { 0 };
	uint32_t known = 0, same = 0;

	if (!place_all(p, f, q)) {
		for (int i = 0; i < QPS; i++) {
			const struct snap_qp *s = probe_module_qp(p, q[i].qp->qp_num);

			if (!s || !snap_has(s, SNAP_UAR))
				continue;
			known++;
			same += s->uar == q[i].uar;
		}
		if (known) {
			finding_compare(f, PROBE_EXACT, "QPs", QPS, same,
					"QPs with the UAR of QUERY_QP");
			finding_say(f, "the module has the UAR that QUERY_QP tells for %u of %d QPs",
				    same, QPS);
		} else {
			finding_cannot(f, "the module knows no UAR of this device: is swiftrdma_mlx5 loaded?");
		}
	}
	remove_all(q);
}
