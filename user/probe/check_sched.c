// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Scheduling elements, by which the module enforces rates and weights of jobs: whether the NIC
 * creates them, binds a connected QP to one, and then keeps the QP to its rate.
 */
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <string.h>

#include "probe/prm.h"
#include "probe/probe.h"

#define DEPTH		16
#define BYTES		4096
#define LIMIT_MBPS	4000	/* of the slower leaf; the other has twice as much */
#define LEAVES		2

/* A measurement ends after so many messages and so much time, or after MOST_NS. */
#define WARM		(2 * DEPTH)
#define LEAST_NS	200000000ull
#define MOST_NS		12000000000ull
#define LEAST_MESSAGES	96

struct leaves {
	struct mlx5dv_sched_node *root;
	struct mlx5dv_sched_leaf *leaf[LEAVES];
};

static void remove_leaves(struct leaves *l)
{
	for (int i = 0; i < LEAVES; i++)
		if (l->leaf[i])
			mlx5dv_sched_leaf_destroy(l->leaf[i]);
	if (l->root)
		mlx5dv_sched_node_destroy(l->root);
}

/* False, and said: the NIC has no such elements, or refuses. */
static bool create_leaves(struct probe *p, struct probe_finding *f, struct leaves *l)
{
	struct mlx5dv_sched_attr attr = { 0 };
	int i;

	memset(l, 0, sizeof(*l));
	l->root = mlx5dv_sched_node_create(p->nic.ctx, &attr);
	if (!l->root && (errno == EOPNOTSUPP || errno == ENOTSUP)) {
		finding_cannot(f, "this firmware has no scheduling elements for QPs (qos.nic_qp_scheduling)");
		return false;
	}
	attr.parent = l->root;
	attr.flags = MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW;
	for (i = 0; l->root && i < LEAVES; i++) {
		attr.max_avg_bw = LIMIT_MBPS * (uint32_t)(i + 1);
		l->leaf[i] = mlx5dv_sched_leaf_create(p->nic.ctx, &attr);
		if (!l->leaf[i])
			break;
	}
	if (l->root && l->leaf[LEAVES - 1])
		return true;
	finding_differs(f, "the NIC does not create a %s: %s", l->root ? "leaf" : "node",
			strerror(errno));
	remove_leaves(l);
	return false;
}

static bool bind_leaf(struct nic_pair *pair, struct mlx5dv_sched_leaf *leaf, int *error)
{
	*error = mlx5dv_modify_qp_sched_elem(pair->a, leaf, NULL);
	if (*error < 0)
		*error = errno;
	return !*error;
}

static bool open_pair(struct probe *p, struct probe_finding *f, struct nic_pair *pair)
{
	const struct nic_want want = { .depth = DEPTH };

	if (!nic_pair_open(pair, &p->nic, probe_to(p), &want))
		return true;
	finding_nic(f);
	return false;
}

void check_sched_bind(struct probe *p, struct probe_finding *f)
{
	struct nic_pair pair;
	struct leaves l;
	int error;

	if (!create_leaves(p, f, &l))
		return;
	if (open_pair(p, f, &pair)) {
		if (!bind_leaf(&pair, l.leaf[0], &error))
			finding_differs(f, "created, but a connected QP is not bound to it: %s",
					strerror(error));
		else if (nic_write(&pair, DEPTH, 8, false) || nic_wait(&pair, 0))
			finding_differs(f, "a QP was bound, and then %s", nic_words());
		else if (!bind_leaf(&pair, NULL, &error))
			finding_differs(f, "a QP was bound, and is not let out again: %s",
					strerror(error));
		else
			finding_say(f, "a node and %d leaves created; a QP in RTS was bound to one, sent, and was let out again",
				    LEAVES);
		nic_pair_close(&pair);
	}
	remove_leaves(&l);
}

/* bit/s of payload. < 0: failed, and nic_words() says how. */
static double measure_rate(struct nic_pair *pair)
{
	uint64_t start = nic_now(), began = 0, done = 0, counted = 0, now;
	int err = 0;

	for (;;) {
		while (!err && pair->outstanding < DEPTH)
			err = nic_write(pair, 1, BYTES, false);
		if (!err)
			err = nic_wait(pair, DEPTH - 1);
		if (err)
			return err;
		done += DEPTH - pair->outstanding;
		now = nic_now();
		if (!began && done >= WARM) {
			began = now;
			counted = done;
		}
		if (now - start >= MOST_NS && (!began || done == counted)) {
			nic_say("too few writes complete to measure a rate");
			return -ETIMEDOUT;
		}
		if (began && done > counted &&
		    ((now - began >= LEAST_NS && done - counted >= LEAST_MESSAGES) ||
		     now - start >= MOST_NS))
			break;
	}
	err = nic_wait(pair, 0);
	return err ? err : (double)(done - counted) * BYTES * 8 * 1e9 / (double)(now - began);
}

static void compare_rates(struct probe *p, struct probe_finding *f, struct nic_pair *pair,
			  struct leaves *l)
{
	double rate[LEAVES + 1], limit = LIMIT_MBPS * 1e6;
	int error = 0;

	for (int i = LEAVES; i >= 0; i--) {
		if (i < LEAVES && !bind_leaf(pair, l->leaf[i], &error)) {
			finding_cannot(f, "a QP is not bound to a leaf: %s", strerror(error));
			return;
		}
		rate[i] = measure_rate(pair);
		if (rate[i] < 0) {
			finding_nic(f);
			return;
		}
		rate[i] *= p->scale;
	}
	bind_leaf(pair, NULL, &error);
	if (rate[LEAVES] < 1.5 * LEAVES * limit) {
		finding_cannot(f, "one QP reaches %.2f Gbit/s without a limit, too little to see limits of %.0f and %.0f",
			       rate[LEAVES] / 1e9, limit / 1e9, LEAVES * limit / 1e9);
		return;
	}
	finding_compare(f, PROBE_SHOWN, "Mbit/s", 0, rate[LEAVES] / 1e6, "without a limit");
	for (int i = 0; i < LEAVES; i++)
		finding_compare(f, PROBE_NEAR, "Mbit/s", LIMIT_MBPS * (i + 1), rate[i] / 1e6,
				"with a limit of %d Mbit/s", LIMIT_MBPS * (i + 1));
	finding_say(f, "%.2f and %.2f Gbit/s with limits of %.0f and %.0f, %.1f without",
		    rate[0] / 1e9, rate[1] / 1e9, limit / 1e9, LEAVES * limit / 1e9,
		    rate[LEAVES] / 1e9);
}

void check_sched_rate(struct probe *p, struct probe_finding *f)
{
	struct nic_pair pair;
	struct leaves l;

	if (!create_leaves(p, f, &l))
		return;
	/* That is another check's finding. */
	if (open_pair(p, f, &pair)) {
		compare_rates(p, f, &pair, &l);
		nic_pair_close(&pair);
	}
	remove_leaves(&l);
}
