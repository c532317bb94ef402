/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Snapshots made up for tests: fixed room, sorted because it is written down
 * sorted. Times are in ms to keep the tests readable.
 */
#ifndef SELFTESTS_UNIT_SNAP_BUILD_H
#define SELFTESTS_UNIT_SNAP_BUILD_H

#include <stdio.h>
#include <string.h>

#include "core/snapshot.h"

#define MS 1000000ULL

struct made {
	struct snapshot s;
	struct snap_dev devs[4];
	struct snap_port ports[4];
	struct snap_prio prios[16];
	struct snap_uar uars[8];
	struct snap_qp qps[64];
	struct snap_job jobs[8];
	struct snap_job_stat stats[8][2];
	struct snap_owner owners[4];
	struct snap_job_report job_reports[4];
	struct snap_qp_report qp_reports[8];
};

/* Points the snapshot to the arrays beside it, also after a copy from another one. */
static inline void made_point(struct made *m)
{
	m->s.devs = m->devs;
	m->s.ports = m->ports;
	m->s.prios = m->prios;
	m->s.uars = m->uars;
	m->s.qps = m->qps;
	m->s.jobs = m->jobs;
	m->s.owners = m->owners;
	m->s.job_reports = m->job_reports;
	m->s.qp_reports = m->qp_reports;
	for (size_t i = 0; i < m->s.n_jobs; i++)
		m->jobs[i].stats = m->stats[i];
}

static inline void made_init(struct made *m, uint64_t ms)
{
	memset(m, 0, sizeof(*m));
	m->s.time = ms * MS;
	m->s.admin = true;
	m->s.armed = true;
	made_point(m);
}

static inline struct snap_dev *made_dev(struct made *m, uint32_t index)
{
	struct snap_dev *d = &m->devs[m->s.n_devs++];

	d->index = index;
	snprintf(d->name, sizeof(d->name), "rxe%u", index);
	d->since = 1;
	d->time = m->s.time;
	return d;
}

static inline struct snap_port *made_port(struct made *m, uint32_t dev,
					  uint64_t tx_bytes)
{
	struct snap_port *p = &m->ports[m->s.n_ports++];

	p->has = SNAP_BYTES | SNAP_SPEED;
	p->dev = dev;
	p->index = 1;
	p->speed = 10000000000ULL;
	p->tx_bytes = tx_bytes;
	p->time = m->s.time;
	return p;
}

/* The priorities of the port made last. */
static inline void made_prios(struct made *m)
{
	struct snap_port *p = &m->ports[m->s.n_ports - 1];

	p->has |= SNAP_DETAIL | SNAP_CNP;
	p->detail_time = m->s.time;
	for (uint32_t i = 0; i < 8; i++)
		m->prios[m->s.n_prios++] = (struct snap_prio){
			.dev = p->dev, .port = p->index, .index = i,
		};
}

static inline struct snap_uar *made_uar(struct made *m, uint32_t dev,
					uint32_t index)
{
	struct snap_uar *u = &m->uars[m->s.n_uars++];

	u->has = SNAP_WRS | SNAP_DOORBELLS;
	u->dev = dev;
	u->index = index;
	u->since = 1;
	u->time = m->s.time;
	return u;
}

static inline struct snap_qp *made_qp(struct made *m, uint32_t dev,
				      uint32_t qpn, uint32_t job)
{
	struct snap_qp *qp = &m->qps[m->s.n_qps++];

	qp->has = SNAP_WRS | SNAP_DOORBELLS | SNAP_STATE | SNAP_PORT |
		  SNAP_UAR | SNAP_OWNER;
	qp->dev = dev;
	qp->qpn = qpn;
	qp->serial = qpn;
	qp->port = 1;
	qp->state = 3;
	qp->type = 2;
	qp->job = job;
	qp->since = 1;
	qp->time = m->s.time;
	return qp;
}

static inline struct snap_job *made_job(struct made *m, uint32_t id,
					const char *name, uint32_t class)
{
	struct snap_job *j = &m->jobs[m->s.n_jobs];

	j->stats = m->stats[m->s.n_jobs++];
	j->id = id;
	j->class = class;
	snprintf(j->name, sizeof(j->name), "%s", name);
	j->since = 1;
	j->time = m->s.time;
	return j;
}

static inline struct snap_job_stat *made_stat(struct snap_job *j, uint32_t dev,
					      uint32_t qps)
{
	struct snap_job_stat *st = &j->stats[j->n_stats++];

	st->has = SNAP_WRS | SNAP_DOORBELLS;
	st->dev = dev;
	st->qps = qps;
	return st;
}

/* What libraries in @processes processes of a job say; nothing yet. */
static inline struct snap_job_report *made_job_report(struct made *m, uint32_t job,
						      uint32_t dev, uint32_t processes)
{
	struct snap_job_report *r = &m->job_reports[m->s.n_job_reports++];

	r->job = job;
	r->dev = dev;
	r->processes = processes;
	r->sum.since = 1;
	r->sum.time = m->s.time;
	return r;
}

/* @samples of @weight requests each took between @ns and 2 % more. */
static inline void made_latencies(struct snap_job_report *r, uint64_t ns, uint64_t samples,
				  uint64_t weight)
{
	r->bucket[swiftrdma_hist_bucket(ns)] += samples * weight;
	r->sum.samples += samples;
	r->sum.latency_wrs += samples * weight;
	r->sum.latency_sum += samples * weight * ns;
	if (samples && r->sum.latency_max < ns)
		r->sum.latency_max = ns;
}

static inline struct snap_qp_report *made_qp_report(struct made *m, const struct snap_qp *qp)
{
	struct snap_qp_report *r = &m->qp_reports[m->s.n_qp_reports++];

	r->has = SNAP_OUTSTANDING;
	r->dev = qp->dev;
	r->qpn = qp->qpn;
	r->serial = qp->serial;
	r->sum.since = 1;
	r->sum.time = m->s.time;
	return r;
}

/*
 * The usual scene: rxe0 with one port of 20 Mbit/s, a latency job kv with two
 * QPs and a throughput job bulk with one. @tx_bytes is what the port has sent.
 */
static inline void made_scene(struct made *m, uint64_t ms, uint64_t tx_bytes)
{
	uint32_t i;

	made_init(m, ms);
	made_dev(m, 0)->qps = 3;
	made_port(m, 0, tx_bytes)->speed = 20000000;
	made_uar(m, 0, 1)->qps = 2;
	made_uar(m, 0, 2)->qps = 1;
	for (i = 0; i < 2; i++) {
		m->uars[i].has |= SNAP_CONTEXT_ID;
		m->uars[i].context = 1 + i;
	}
	for (i = 0; i < 3; i++) {
		struct snap_qp *qp = made_qp(m, 0, 17 + i, i < 2 ? 1 : 2);

		qp->uar = i < 2 ? 1 : 2;
		qp->owner = i < 2 ? 0 : 1;
	}
	m->s.n_owners = 2;
	m->owners[0].pid = 100;
	m->owners[1].pid = 200;
	made_stat(made_job(m, 0, "unassigned", 0), 0, 0);
	made_stat(made_job(m, 1, "kv", 1), 0, 2);
	made_stat(made_job(m, 2, "bulk", 3), 0, 1);
}

#endif /* SELFTESTS_UNIT_SNAP_BUILD_H */
