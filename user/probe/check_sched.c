// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Scheduling elements, by which the module enforces rates and weights of jobs: whether the NIC
 * creates them, binds a connected QP to one, and then keeps the QP to its rate, or gives QPs of
 * a full port their shares.
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

/* The shares of the two leaves, and the QPs in each: enough to fill the port. */
#define SHARE		3	/* of the second leaf; the first one has 1 */
#define SHARE_QPS	4
#define SHARE_BYTES	16384
#define FULL_PORT	0.7	/* of its speed, in payload */

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

static struct mlx5dv_sched_attr limit_of(int leaf)
{
	return (struct mlx5dv_sched_attr) {
		.flags = MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW,
		.max_avg_bw = LIMIT_MBPS * (uint32_t)(leaf + 1),
	};
}

static struct mlx5dv_sched_attr share_of(int leaf)
{
	return (struct mlx5dv_sched_attr) {
		.flags = MLX5DV_SCHED_ELEM_ATTR_FLAGS_BW_SHARE,
		.bw_share = leaf ? SHARE : 1,
	};
}

/* False: the NIC has no scheduling elements, or refuses to create them, and @f says so. */
static bool create_leaves(struct probe *p, struct probe_finding *f, struct leaves *l,
			  struct mlx5dv_sched_attr (*attr_of)(int leaf))
{
	struct mlx5dv_sched_attr attr = { 0 };
	int i;

	memset(l, 0, sizeof(*l));
	l->root = mlx5dv_sched_node_create(p->nic.ctx, &attr);
	if (!l->root && (errno == EOPNOTSUPP || errno == ENOTSUP)) {
		finding_cannot(f, "this firmware has no scheduling elements for QPs (qos.nic_qp_scheduling)");
		return false;
	}
	for (i = 0; l->root && i < LEAVES; i++) {
		attr = attr_of(i);
		attr.parent = l->root;
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

	if (!create_leaves(p, f, &l, limit_of))
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

	if (!create_leaves(p, f, &l, limit_of))
		return;
	if (open_pair(p, f, &pair)) {
		compare_rates(p, f, &pair, &l);
		nic_pair_close(&pair);
	}
	remove_leaves(&l);
}

/* --- shares ---------------------------------------------------------------------- */

struct groups {
	struct nic_pair pair[LEAVES][SHARE_QPS];
	uint64_t done[LEAVES];	/* writes that completed */
};

static void close_groups(struct groups *g)
{
	for (int i = 0; i < LEAVES * SHARE_QPS; i++)
		if (g->pair[i / SHARE_QPS][i % SHARE_QPS].a)
			nic_pair_close(&g->pair[i / SHARE_QPS][i % SHARE_QPS]);
}

static bool open_groups(struct probe *p, struct probe_finding *f, struct groups *g)
{
	memset(g, 0, sizeof(*g));
	for (int i = 0; i < LEAVES * SHARE_QPS; i++) {
		if (!open_pair(p, f, &g->pair[i / SHARE_QPS][i % SHARE_QPS])) {
			close_groups(g);
			return false;
		}
	}
	return true;
}

static bool bind_groups(struct groups *g, struct leaves *l, int *error)
{
	bool ok = true;

	for (int i = 0; i < LEAVES * SHARE_QPS && ok; i++)
		ok = bind_leaf(&g->pair[i / SHARE_QPS][i % SHARE_QPS], l->leaf[i / SHARE_QPS], error);
	return ok;
}

static int fill_groups(struct groups *g)
{
	int err = 0;

	for (int i = 0; i < LEAVES * SHARE_QPS && !err; i++)
		err = nic_write(&g->pair[i / SHARE_QPS][i % SHARE_QPS], DEPTH, SHARE_BYTES, false);
	return err;
}

/* Takes completions, and writes again on the QP of each. Returns their number or -errno. */
static int turn_over(struct nic *nic, struct groups *g)
{
	struct ibv_wc wc[32];
	int n = nic_poll(nic->cq, wc, 32), err = 0;

	for (int i = 0; i < n && !err; i++) {
		struct nic_pair *pair = (struct nic_pair *)(uintptr_t)wc[i].wr_id;

		pair->outstanding--;
		g->done[pair >= g->pair[1]]++;
		err = nic_write(pair, 1, SHARE_BYTES, false);
	}
	return err ? err : n;
}

/*
 * Payload of each group in bit/s, while both have more to write than the port carries. The
 * writes that are under way at the end are left to nic_pair_close().
 */
static int measure_groups(struct probe *p, struct groups *g, double rate[LEAVES])
{
	uint64_t start = nic_now(), began = 0, at[LEAVES] = { 0 }, now = start;
	int n = fill_groups(g);

	while (n >= 0 && now - start < MOST_NS) {
		n = turn_over(&p->nic, g);
		now = nic_now();
		if (!n)
			nic_sleep_us(10);
		if (!began && g->done[0] + g->done[1] >= 2ull * LEAVES * SHARE_QPS * DEPTH) {
			began = now;
			memcpy(at, g->done, sizeof(at));
		}
		if (began && now - began >= LEAST_NS && g->done[0] - at[0] >= LEAST_MESSAGES &&
		    g->done[1] - at[1] >= LEAST_MESSAGES)
			break;
	}
	if (n >= 0 && (!began || g->done[0] - at[0] < LEAST_MESSAGES ||
		       g->done[1] - at[1] < LEAST_MESSAGES)) {
		nic_say("too few writes complete to measure a rate");
		n = -ETIMEDOUT;
	}
	for (int i = 0; i < LEAVES && n >= 0; i++)
		rate[i] = (double)(g->done[i] - at[i]) * SHARE_BYTES * 8 * 1e9 /
			  (double)(now - began) * p->scale;
	return n < 0 ? n : 0;
}

static void compare_shares(struct probe *p, struct probe_finding *f, const double rate[LEAVES])
{
	double total = rate[0] + rate[1], link = (double)p->measured.link_bps;

	finding_compare(f, PROBE_SHOWN, "Gbit/s", link / 1e9, total / 1e9, "of both");
	if (total < FULL_PORT * link) {
		finding_cannot(f, "%d QPs write %.1f Gbit/s to a port of %.0f, and shares show only on a full port",
			       LEAVES * SHARE_QPS, total / 1e9, link / 1e9);
		return;
	}
	finding_compare(f, PROBE_NEAR, "times", SHARE, rate[1] / rate[0],
			"rate with share %d, to that with share 1", SHARE);
	finding_say(f, "%.1f and %.1f Gbit/s with shares of 1 and %d", rate[0] / 1e9,
		    rate[1] / 1e9, SHARE);
}

static void try_shares(struct probe *p, struct probe_finding *f, struct leaves *l)
{
	double rate[LEAVES];
	struct groups g;
	int error = 0;

	if (!open_groups(p, f, &g))
		return;
	if (!bind_groups(&g, l, &error))
		finding_cannot(f, "a QP is not bound to a leaf: %s", strerror(error));
	else if (measure_groups(p, &g, rate))
		finding_nic(f);
	else
		compare_shares(p, f, rate);
	close_groups(&g);
}

void check_sched_weight(struct probe *p, struct probe_finding *f)
{
	struct leaves l;

	if (!create_leaves(p, f, &l, share_of))
		return;
	try_shares(p, f, &l);
	remove_leaves(&l);
}
