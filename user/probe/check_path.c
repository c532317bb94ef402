// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What of a connected QP's path can be changed: DSCP, UDP source port, port of a LAG. */
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <string.h>

#include "probe/prm.h"
#include "probe/probe.h"

#define DEPTH		16
#define DSCP		24	/* priority 3 where nobody has changed the port's table */
#define UDP_SPORT	51234
#define MESSAGES	400
#define PRIOS		8

static bool open_pair(struct probe *p, struct probe_finding *f, struct nic *to,
		      struct nic_pair *pair)
{
	const struct nic_want want = { .depth = DEPTH };

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
	} else if (nic_write(pair, DEPTH, 8, false) || nic_wait(pair, 0)) {
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

	if (!open_pair(p, f, probe_to(p), &pair))
		return false;
	ok = change_pair(f, &pair, q, change);
	nic_pair_close(&pair);
	return ok;
}

static int change_dscp(struct ibv_qp *qp, struct prm_error *e)
{
	return prm_set_dscp(qp, DSCP, e);
}

/* 1: the firmware has the capability; 0: it has not; -1: cannot, and said so. */
static int has_dscp(struct probe *p, struct probe_finding *f)
{
	uint8_t cap[PRM_CAP_BYTES];
	struct prm_error e;

	if (prm_query_cap(p->nic.ctx, PRM_CAP_GENERAL, cap, &e)) {
		finding_cannot(f, "QUERY_HCA_CAP: %s", prm_words(&e));
		return -1;
	}
	return (int)prm_get(cap, PRM_RTS2RTS_DSCP);
}

void check_dscp(struct probe *p, struct probe_finding *f)
{
	int has = has_dscp(p, f);
	struct prm_qp q;

	if (!has)
		finding_cannot(f, "this firmware has no capability rts2rts_qp_dscp");
	if (has <= 0 || !try_change(p, f, &q, change_dscp))
		return;
	finding_compare(f, PROBE_EXACT, NULL, DSCP, q.dscp, "DSCP by QUERY_QP");
	finding_say(f, "accepted; QUERY_QP has DSCP %u after %d was set", q.dscp, DSCP);
}

static int lib_error(int error, struct prm_error *e)
{
	memset(e, 0, sizeof(*e));
	e->error = error < 0 ? -errno : -error;
	return e->error;
}

static int change_sport(struct ibv_qp *qp, struct prm_error *e)
{
	return lib_error(mlx5dv_modify_qp_udp_sport(qp, UDP_SPORT), e);
}

void check_udp_sport(struct probe *p, struct probe_finding *f)
{
	struct prm_qp q;

	if (!try_change(p, f, &q, change_sport))
		return;
	finding_compare(f, PROBE_EXACT, NULL, UDP_SPORT, q.udp_sport,
			"UDP source port by QUERY_QP");
	finding_say(f, "accepted; QUERY_QP has UDP source port %u after %d was set", q.udp_sport,
		    UDP_SPORT);
}

static uint8_t lag_wanted;

static int change_lag(struct ibv_qp *qp, struct prm_error *e)
{
	return lib_error(mlx5dv_modify_qp_lag_port(qp, lag_wanted), e);
}

void check_lag_port(struct probe *p, struct probe_finding *f)
{
	struct mlx5dv_context dv = { .comp_mask = MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS };
	struct nic_pair pair;
	struct prm_qp q;
	bool ok = true;

	if (mlx5dv_query_device(p->nic.ctx, &dv) ||
	    !(dv.comp_mask & MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS) || dv.num_lag_ports < 2) {
		finding_cannot(f, "this NIC's ports form no LAG");
		return;
	}
	if (!open_pair(p, f, probe_to(p), &pair))
		return;
	/* One of the two is a change, whichever port the driver chose. */
	for (lag_wanted = 1; lag_wanted <= 2 && ok; lag_wanted++) {
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

static int write_messages(struct nic_pair *pair)
{
	int err = 0;

	for (int i = 0; i < MESSAGES && !err; i++) {
		err = nic_wait(pair, DEPTH - 1);
		if (!err)
			err = nic_write(pair, 1, 8, false);
	}
	return err ? err : nic_wait(pair, 0);
}

/* Frames of each priority that left meanwhile. */
static int count_priorities(struct probe *p, struct probe_finding *f, struct nic_pair *pair,
			    uint64_t sent[PRIOS])
{
	uint64_t before[PRIOS], after[PRIOS];
	int err = probe_module_prios(p, before);

	if (!err && write_messages(pair)) {
		finding_nic(f);
		return -EIO;
	}
	if (!err)
		err = probe_module_prios(p, after);
	if (err) {
		finding_cannot(f, "the module has no frames by priority of this port: is swiftrdma_mlx5 loaded, with detail=Y?");
		return err;
	}
	for (int i = 0; i < PRIOS; i++)
		sent[i] = after[i] - before[i];
	return 0;
}

static int busiest(const uint64_t sent[PRIOS])
{
	int best = 0;

	for (int i = 1; i < PRIOS; i++)
		if (sent[i] > sent[best])
			best = i;
	return best;
}

static void compare_priorities(struct probe *p, struct probe_finding *f, struct nic_pair *pair)
{
	uint64_t was[PRIOS], is[PRIOS];
	struct prm_error e;
	int from, to;

	if (count_priorities(p, f, pair, was))
		return;
	if (prm_set_dscp(pair->a, DSCP, &e)) {
		finding_cannot(f, "the DSCP is not accepted: %s", prm_words(&e));
		return;
	}
	if (count_priorities(p, f, pair, is))
		return;
	from = busiest(was);
	to = busiest(is);
	finding_compare(f, PROBE_AT_LEAST, "frames", MESSAGES, (double)was[from],
			"in priority %d, DSCP 0", from);
	finding_compare(f, PROBE_AT_LEAST, "frames", MESSAGES, (double)is[to],
			"in priority %d, DSCP %d", to, DSCP);
	if (from == to)
		finding_differs(f, "%d messages of DSCP 0 and of DSCP %d left in the same priority %d; dcb app show tells whether the port maps both to it",
				MESSAGES, DSCP, to);
	else
		finding_say(f, "%d messages left in priority %d, and after the change in priority %d",
			    MESSAGES, from, to);
}

void check_dscp_counted(struct probe *p, struct probe_finding *f)
{
	int has = has_dscp(p, f);
	struct nic_pair pair;

	if (!has)
		finding_cannot(f, "this firmware has no capability rts2rts_qp_dscp");
	if (has <= 0 || !open_pair(p, f, &p->other, &pair))
		return;
	compare_priorities(p, f, &pair);
	nic_pair_close(&pair);
}
