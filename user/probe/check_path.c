// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which properties of a connected QP's path can be changed: DSCP, UDP source port, port of a LAG.
 * check_wire.c checks whether a change shows on the wire.
 */
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <string.h>

#include "probe/path.h"

bool path_open_pair(struct probe *p, struct probe_finding *f, struct nic *to,
		    struct nic_pair *pair)
{
	const struct nic_want want = { .depth = PATH_DEPTH };

	if (!nic_pair_open(pair, &p->nic, to, &want))
		return true;
	finding_nic(f);
	return false;
}

/* A change, then QUERY_QP, then traffic, which has to survive it. */
static bool change_pair(struct probe_finding *f, struct nic_pair *pair, struct prm_qp *q,
			int (*change)(struct ibv_qp *qp, struct prm_error *e))
{
	struct prm_error e = { 0 };

	if (change(pair->a, &e)) {
		if (e.error == -EOPNOTSUPP)
			finding_cannot(f, "this NIC or its driver cannot: %s", prm_words(&e));
		else
			finding_differs(f, "not accepted: %s", prm_words(&e));
	} else if (prm_query_qp(pair->a, q, &e)) {
		finding_cannot(f, "QUERY_QP: %s", prm_words(&e));
	} else if (nic_write(pair, PATH_DEPTH, 8, false) || nic_wait(pair, 0)) {
		finding_differs(f, "accepted, and then %s", nic_words());
	} else {
		return true;
	}
	return false;
}

static bool try_change(struct probe *p, struct probe_finding *f, struct prm_qp *q,
		       int (*change)(struct ibv_qp *qp, struct prm_error *e))
{
	struct nic_pair pair;
	bool ok;

	if (!path_open_pair(p, f, probe_to(p), &pair))
		return false;
	ok = change_pair(f, &pair, q, change);
	nic_pair_close(&pair);
	return ok;
}

static int change_dscp(struct ibv_qp *qp, struct prm_error *e)
{
	return prm_set_dscp(qp, PATH_DSCP, e);
}

bool path_has_dscp(struct probe *p, struct probe_finding *f)
{
	uint8_t cap[PRM_CAP_BYTES];
	struct prm_error e;

	if (prm_query_cap(p->nic.ctx, PRM_CAP_GENERAL, cap, &e))
		finding_cannot(f, "QUERY_HCA_CAP: %s", prm_words(&e));
	else if (!prm_get(cap, PRM_RTS2RTS_DSCP))
		finding_cannot(f, "this firmware has no capability rts2rts_qp_dscp");
	else
		return true;
	return false;
}

void check_dscp(struct probe *p, struct probe_finding *f)
{
	struct prm_qp q;

	if (!path_has_dscp(p, f) || !try_change(p, f, &q, change_dscp))
		return;
	finding_compare(f, PROBE_EXACT, NULL, PATH_DSCP, q.dscp, "DSCP by QUERY_QP");
	finding_say(f, "accepted; QUERY_QP has DSCP %u after %d was set", q.dscp, PATH_DSCP);
}

static int lib_error(int error, struct prm_error *e)
{
	memset(e, 0, sizeof(*e));
	e->error = error < 0 ? -errno : -error;
	return e->error;
}

int path_set_sport(struct ibv_qp *qp, uint16_t sport, struct prm_error *e)
{
	return lib_error(mlx5dv_modify_qp_udp_sport(qp, sport), e);
}

static int change_sport(struct ibv_qp *qp, struct prm_error *e)
{
	return path_set_sport(qp, PATH_SPORT, e);
}

void check_udp_sport(struct probe *p, struct probe_finding *f)
{
	struct prm_qp q;

	if (!try_change(p, f, &q, change_sport))
		return;
	finding_compare(f, PROBE_EXACT, NULL, PATH_SPORT, q.udp_sport,
			"UDP source port by QUERY_QP");
	finding_say(f, "accepted; QUERY_QP has UDP source port %u after %d was set", q.udp_sport,
		    PATH_SPORT);
}

int path_set_lag_port(struct ibv_qp *qp, uint8_t port, struct prm_error *e)
{
	return lib_error(mlx5dv_modify_qp_lag_port(qp, port), e);
}

static uint8_t lag_wanted;

static int change_lag(struct ibv_qp *qp, struct prm_error *e)
{
	return path_set_lag_port(qp, lag_wanted, e);
}

bool path_has_lag(struct probe *p, struct probe_finding *f)
{
	struct mlx5dv_context dv = { .comp_mask = MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS };

	if (!mlx5dv_query_device(p->nic.ctx, &dv) &&
	    dv.comp_mask & MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS && dv.num_lag_ports >= 2)
		return true;
	finding_cannot(f, "this NIC's ports form no LAG");
	return false;
}

void check_lag_port(struct probe *p, struct probe_finding *f)
{
	struct nic_pair pair;
	struct prm_qp q;
	bool ok = true;

	if (!path_has_lag(p, f))
		return;
	if (!path_open_pair(p, f, probe_to(p), &pair))
		return;
	/* Setting each port in turn changes the port, whichever one the driver chose. */
	for (lag_wanted = 1; lag_wanted <= PATH_LAG_PORTS && ok; lag_wanted++) {
		ok = change_pair(f, &pair, &q, change_lag);
		if (ok)
			finding_compare(f, PROBE_EXACT, NULL, lag_wanted, q.lag_port,
					"LAG port by QUERY_QP, %u set", lag_wanted);
	}
	nic_pair_close(&pair);
	if (ok)
		finding_say(f, "accepted; QUERY_QP has %s port that was set",
			    f->verdict == PROBE_AS_ASSUMED ? "the" : "another than the");
}
