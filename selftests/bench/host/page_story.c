// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * page_story FILE: a recording for tests of the exporter's page, in which things happen: at 30 s
 * a bulk job fills the port and kv misses its target; at 60 s a policy raises kv's level, and its
 * p99 falls; at 75 s somebody tries to bound the bulk job, which its queue pairs cannot be; at
 * 80 s the lease of that ends; at 90 s the recording does.
 *
 * The snapshots and events are made up. 24 QPs of kv are on one page of doorbell registers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit/notify.h"
#include "unit/snap_build.h"

#define SECOND		1000	/* ms, as snapshots are made */
#define SECONDS		90
#define BULK_COMES	30
#define RAISED		60
#define REFUSED		75
#define LEASE_ENDS	80

#define GBIT		(1000000000ULL / 8)	/* bytes */
#define SLO		50000ULL		/* ns */

enum { KV = 1, BULK, TRAIN };
enum { KV_QPS = 24, BULK_QPS = 4, TRAIN_QPS = 8 };
enum { KV_UAR = 18, BULK_UAR, TRAIN_UAR };

/* What has been counted up to the present second. */
static struct {
	uint64_t prio0, prio3, kv_wrs, bulk_wrs, fast, slow, coactive;
} sum;

static struct made m;

static bool with_bulk(unsigned int s)
{
	return s >= BULK_COMES;
}

static bool is_raised(unsigned int s)
{
	return s >= RAISED;
}

/* A second passes. Of 10,000 requests of kv 2 % are slow, so the p99 is that of the slow ones. */
static void pass_second(unsigned int s)
{
	sum.prio0 += with_bulk(s) ? 92 * GBIT : 0;
	sum.prio3 += 5 * GBIT;
	sum.kv_wrs += 10000;
	sum.bulk_wrs += with_bulk(s) ? 90000 : 0;
	sum.coactive += 800;
	if (with_bulk(s) && !is_raised(s))
		sum.slow += 200;
	else
		sum.fast += 200;
}

static void make_qps(uint32_t job, uint32_t n, uint32_t uar, uint64_t wrs)
{
	static uint32_t next;

	if (job == KV)
		next = 100;
	for (uint32_t i = 0; i < n; i++) {
		struct snap_qp *qp = made_qp(&m, 0, next++, job);

		qp->has = SNAP_WRS | SNAP_WRS_SINCE | SNAP_STATE | SNAP_PORT | SNAP_UAR |
			  SNAP_OWNER | SNAP_TID | SNAP_CLASS;
		qp->uar = uar;
		qp->owner = job - 1;
		qp->tid = 5000 + i % 16;
		qp->wrs = wrs / n;
		qp->wrs_since = 1;
	}
}

static void make_uar(uint32_t index, uint32_t qps, uint64_t wrs, uint64_t coactive, unsigned int s)
{
	struct snap_uar *u = made_uar(&m, 0, index);

	u->has = SNAP_WRS | SNAP_OWNERS | SNAP_SWEEPS | SNAP_OWNER;
	u->kind = SWIFTRDMA_UAR_KIND_DYNAMIC;
	u->qps = qps;
	u->owner = index - KV_UAR;
	u->owners = 1;
	u->threads = 16;
	u->wrs = wrs;
	u->sweeps = 1000 * s;
	u->active = 900 * s;
	u->coactive = coactive;
}

static void make_job(uint32_t id, const char *name, uint32_t class, uint32_t qps, unsigned int s)
{
	struct snap_job_stat *st = made_stat(made_job(&m, id, name, class), 0, qps);

	st->has = SNAP_WRS;
	st->wrs = id == KV ? sum.kv_wrs : id == BULK ? sum.bulk_wrs : 0;
	if (id == KV && is_raised(s)) {
		st->has |= SNAP_LEVEL;
		st->level = 1;
	}
	snprintf(m.owners[id - 1].comm, SNAP_COMM, "%s", name);
	snprintf(m.owners[id - 1].cgroup, SNAP_PATH, "/system.slice/%s.service", name);
	m.owners[id - 1].pid = 1000 + id;
	m.s.n_owners = id;
}

static void make_port(unsigned int s)
{
	struct snap_port *p = made_port(&m, 0, sum.prio0 + sum.prio3);

	p->speed = 100000000000ULL;
	p->link_layer = 2;
	p->state = 4;
	p->rx_bytes = GBIT * s;
	made_prios(&m);
	m.prios[0].tx_bytes = sum.prio0;
	m.prios[3].tx_bytes = sum.prio3;
	m.prios[3].rx_bytes = p->rx_bytes;
}

static void make_reading(unsigned int s)
{
	struct snap_job_report *r;
	struct snap_dev *d;

	made_init(&m, s * SECOND);
	d = made_dev(&m, 0);
	d->has = SNAP_SWEEPS;
	d->caps = SWIFTRDMA_DEV_CAP_WQEBBS;
	d->ports = 1;
	d->uars = 3;
	d->qps = KV_QPS + BULK_QPS + TRAIN_QPS;
	snprintf(d->name, sizeof(d->name), "mlx5_0");
	snprintf(d->provider, sizeof(d->provider), "mlx5");
	make_port(s);
	make_uar(KV_UAR, KV_QPS, sum.kv_wrs, sum.coactive, s);
	make_uar(BULK_UAR, BULK_QPS, sum.bulk_wrs, sum.coactive / 4, s);
	make_uar(TRAIN_UAR, TRAIN_QPS, 0, 0, s);
	make_qps(KV, KV_QPS, KV_UAR, sum.kv_wrs);
	make_qps(BULK, BULK_QPS, BULK_UAR, sum.bulk_wrs);
	make_qps(TRAIN, TRAIN_QPS, TRAIN_UAR, 0);
	make_job(KV, "kv", SWIFTRDMA_JOB_CLASS_LATENCY, KV_QPS, s);
	make_job(BULK, "bulk", SWIFTRDMA_JOB_CLASS_THROUGHPUT, BULK_QPS, s);
	make_job(TRAIN, "train", SWIFTRDMA_JOB_CLASS_BALANCED, TRAIN_QPS, s);
	r = made_job_report(&m, KV, 0, 1);
	r->slo_p99 = SLO;
	made_latencies(r, 12000, sum.kv_wrs / 2, 1);
	made_latencies(r, 30000, sum.fast, 1);
	made_latencies(r, 700000, sum.slow, 1);
	r->sum.wrs = r->sum.done = sum.kv_wrs;
}

static void value(struct snap_decision *d, const char *signal, double v)
{
	struct snap_reading *r = &d->readings[d->n_readings++];

	r->known = true;
	r->value = (int64_t)(v * 1e6);
	snprintf(r->signal, sizeof(r->signal), "%s", signal);
}

static void record_event(struct recorder *r, unsigned int s, const struct snap_event *e)
{
	notify_record(r, (uint64_t)s * SECOND * MS + MS, e);
}

/* The agent's decision, as the module repeats it with its result. */
static void record_decision(struct recorder *r)
{
	struct snap_action a = {
		.knob = SWIFTRDMA_KNOB_LEVEL, .value = 1, .has_value = true, .job = "kv",
		.reason = "port mlx5_0/1 util 97 % > 80 % and job.p99 > job.slo_p99",
		.qps = KV_QPS, .qps_done = KV_QPS,
		.decision = { .policy = "port-kv", .tick = RAISED },
	};
	const struct snap_event e = { .kind = SNAP_EVENT_ACTION, .action = &a, .batch = 1 };

	value(&a.decision, "port.util", 0.97);
	value(&a.decision, "job.p99", 700000);
	value(&a.decision, "job.slo_p99", SLO);
	record_event(r, RAISED, &e);
}

static void record_refusal(struct recorder *r)
{
	const struct snap_action a = {
		.knob = SWIFTRDMA_KNOB_BIT_RATE, .value = 50000000000, .has_value = true,
		.job = "bulk", .reason = "by hand", .qps = BULK_QPS, .qps_unsupported = BULK_QPS,
		.error = -EOPNOTSUPP,
	};
	const struct snap_event e = { .kind = SNAP_EVENT_ACTION, .action = &a, .batch = 2 };

	record_event(r, REFUSED, &e);
}

static void record_events(struct recorder *r, unsigned int s)
{
	const struct snap_event end = { .kind = SNAP_EVENT_LEASE_END, .lease = 4, .expired = true };

	if (s == RAISED)
		record_decision(r);
	else if (s == REFUSED)
		record_refusal(r);
	else if (s == LEASE_ENDS)
		record_event(r, s, &end);
}

int main(int argc, char **argv)
{
	struct recorder *r;
	FILE *f;

	if (argc != 2) {
		fprintf(stderr, "usage: page_story FILE\n");
		return 2;
	}
	f = fopen(argv[1], "we");
	r = f ? recorder_open(f) : NULL;
	if (!r) {
		perror(argv[1]);
		return 1;
	}
	for (unsigned int s = 1; s <= SECONDS; s++) {
		pass_second(s);
		make_reading(s);
		recorder_snapshot(r, &m.s);
		record_events(r, s);
	}
	return recorder_close(r) || fclose(f);
}
