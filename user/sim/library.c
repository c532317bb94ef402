// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What libswiftrdma reports of simulated processes, on a device that has it. The figures go into
 * the snapshots as the kernel reports them, so signals are computed from them as in the agent.
 * Each job is one process. Every request is a sample.
 */
#include "sim/host.h"

#include <errno.h>
#include <stdlib.h>

#define PS_PER_NS 1000ULL

int sim_library_init(struct sim *s)
{
	int i;

	if (!sim_has_library(s->sc->device))
		return 0;
	s->job_report = calloc(s->sc->n_jobs, sizeof(*s->job_report));
	s->qp_report = calloc(s->n_qps, sizeof(*s->qp_report));
	for (i = 0; i < 2; i++) {
		s->snap[i].job_reports = calloc(s->sc->n_jobs, sizeof(*s->snap[i].job_reports));
		s->snap[i].qp_reports = calloc(s->n_qps, sizeof(*s->snap[i].qp_reports));
		if (!s->snap[i].job_reports || !s->snap[i].qp_reports)
			return -ENOMEM;
	}
	return s->job_report && s->qp_report ? 0 : -ENOMEM;
}

void sim_library_free(struct sim *s)
{
	int i;

	free(s->job_report);
	free(s->qp_report);
	for (i = 0; i < 2; i++) {
		free(s->snap[i].job_reports);
		free(s->snap[i].qp_reports);
	}
}

static void add_latency(struct snap_figures *f, uint64_t ns)
{
	f->samples++;
	f->latency_wrs++;
	f->latency_sum += ns;
	if (ns > f->latency_max)
		f->latency_max = ns;
}

/* A request waits behind those before it in its QP until the last of them is done. */
static void add_wait(struct snap_figures *f, uint64_t ns)
{
	f->hol_wrs++;
	f->hol_sum += ns;
	if (ns > f->hol_max)
		f->hol_max = ns;
}

void sim_library_done(struct sim *s, uint32_t job, const struct model_done *done)
{
	uint64_t ns = (done->at - done->posted) / PS_PER_NS, wait = 0;
	struct snap_job_report *j = &s->job_report[job];
	struct sim_qp_report *q = &s->qp_report[done->qp];

	if (q->last_done > done->posted)
		wait = (q->last_done - done->posted) / PS_PER_NS;
	q->last_done = done->at;
	j->bucket[swiftrdma_hist_bucket(ns)]++;
	j->sum.done++;
	j->sum.bytes += done->bytes;
	add_latency(&j->sum, ns);
	add_wait(&j->sum, wait);
	q->sum.done++;
	q->sum.bytes += done->bytes;
	add_latency(&q->sum, ns);
	add_wait(&q->sum, wait);
}

/* One call posts one request. */
static void set_posted(struct snap_figures *f, uint64_t wrs, uint64_t time)
{
	f->wrs = wrs;
	f->calls = wrs;
	f->since = 1;
	f->time = time;
}

static void fill_job_reports(struct sim *s, struct snapshot *sn)
{
	uint32_t i;

	for (i = 0; i < s->sc->n_jobs; i++) {
		sn->job_reports[i] = s->job_report[i];
		sn->job_reports[i].job = i + 1;
		sn->job_reports[i].processes = 1;
		set_posted(&sn->job_reports[i].sum, s->job[i].wrs, sn->time);
	}
	sn->n_job_reports = s->sc->n_jobs;
}

void sim_library_fill(struct sim *s, struct snapshot *sn)
{
	size_t i;

	if (!sim_has_library(s->sc->device))
		return;
	fill_job_reports(s, sn);
	for (i = 0; i < sn->n_qps; i++) {
		const struct snap_qp *qp = &sn->qps[i];

		sn->qp_reports[i] = (struct snap_qp_report){
			.has = SNAP_OUTSTANDING, .qpn = qp->qpn, .serial = qp->serial,
			.outstanding = sim_out(s, qp->qpn), .sum = s->qp_report[qp->qpn].sum,
		};
		set_posted(&sn->qp_reports[i].sum, s->m.qp[qp->qpn].posted, sn->time);
	}
	sn->n_qp_reports = sn->n_qps;
}
