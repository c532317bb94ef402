// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How long commands of the firmware take. A query goes straight to the NIC. Any other figure is
 * the time of verbs calls that create an object and destroy it again, including their driver.
 */
#include <stdlib.h>

#include "probe/prm.h"
#include "probe/probe.h"

#define TIMES		15	/* an odd number, for the median */
#define BUFFER		4096

/*
 * Readers may cause 1000 commands a second (max_commands of swiftrdma_mlx5), so a command may take
 * 1000 us. The time of a device in software depends on the load of its host.
 */
#define MOST_US			1000
#define MOST_US_SIMULATED	50000

struct bench {
	struct nic *nic;
	struct ibv_qp *qp;
};

static int query_qp(struct bench *b)
{
	struct prm_error e;
	struct prm_qp q;

	return prm_query_qp(b->qp, &q, &e);
}

static int query_cap(struct bench *b)
{
	uint8_t cap[PRM_CAP_BYTES];
	struct prm_error e;

	return prm_query_cap(b->nic->ctx, PRM_CAP_GENERAL, cap, &e);
}

static int query_vport(struct bench *b)
{
	struct prm_error e;

	return prm_query_vport(b->nic->ctx, &e);
}

static int make_qp(struct bench *b)
{
	const struct nic_want want = { .depth = 16 };
	struct ibv_qp *qp = nic_create_qp(b->nic, &want);

	return qp ? ibv_destroy_qp(qp) : -1;
}

static int connect_qps(struct bench *b)
{
	const struct nic_want want = { .depth = 16 };
	struct nic_pair pair;
	int err = nic_pair_open(&pair, b->nic, b->nic, &want);

	if (!err)
		nic_pair_close(&pair);
	return err;
}

static int make_cq(struct bench *b)
{
	struct ibv_cq *cq = ibv_create_cq(b->nic->ctx, 16, NULL, NULL, 0);

	return cq ? ibv_destroy_cq(cq) : -1;
}

static int make_mr(struct bench *b)
{
	struct ibv_mr *mr = ibv_reg_mr(b->nic->pd, b->nic->buf, BUFFER, IBV_ACCESS_LOCAL_WRITE);

	return mr ? ibv_dereg_mr(mr) : -1;
}

static const struct {
	const char *name;
	bool query;
	int (*run)(struct bench *b);
} commands[] = {
	{ "QUERY_QP", true, query_qp },
	{ "QUERY_HCA_CAP", true, query_cap },
	{ "QUERY_VPORT_COUNTER", true, query_vport },
	{ "a QP created and destroyed", false, make_qp },
	{ "two QPs created, connected, destroyed", false, connect_qps },
	{ "a CQ created and destroyed", false, make_cq },
	{ "a page registered and deregistered", false, make_mr },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int compare_times(const void *a, const void *b)
{
	return ARRAY_CMP(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* us, median of TIMES. < 0: failed. */
static double measure_command(struct bench *b, int (*run)(struct bench *b))
{
	uint64_t ns[TIMES];

	for (int i = 0; i < TIMES; i++) {
		uint64_t start = nic_now();

		if (run(b))
			return -1;
		ns[i] = nic_now() - start;
	}
	qsort(ns, TIMES, sizeof(ns[0]), compare_times);
	return (double)ns[TIMES / 2] / 1e3;
}

static void measure_all(struct probe *p, struct probe_finding *f, struct bench *b)
{
	double most = p->simulated ? MOST_US_SIMULATED : MOST_US, slowest = 0;

	for (size_t i = 0; i < N_COMMANDS; i++) {
		double us = measure_command(b, commands[i].run);

		/* Old firmware may lack one of them. */
		if (us < 0)
			continue;
		finding_compare(f, commands[i].query ? PROBE_AT_MOST : PROBE_SHOWN, "us", most, us,
				"%s", commands[i].name);
		if (commands[i].query && us > slowest)
			slowest = us;
	}
	/* A device in software shows the speed of its host, not that of a NIC. */
	if (!p->simulated)
		p->measured.command_ns = slowest * 1000;
	if (!f->n_figures)
		finding_cannot(f, "no command succeeds");
	else
		finding_say(f, "the slowest query takes %.0f us", slowest);
}

void check_commands(struct probe *p, struct probe_finding *f)
{
	const struct nic_want want = { .depth = 16 };
	struct bench b = { .nic = &p->nic };

	b.qp = nic_create_qp(&p->nic, &want);
	if (!b.qp) {
		finding_nic(f);
		return;
	}
	measure_all(p, f, &b);
	ibv_destroy_qp(b.qp);
}
