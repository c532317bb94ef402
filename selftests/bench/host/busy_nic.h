/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Readings of a busy NIC, for benchmarks of those who read them: 10,000 QPs, 2,000 UARs and 100
 * jobs with every figure that there is, all of which change from one reading to the next, a
 * second later.
 */
#ifndef SELFTESTS_BENCH_HOST_BUSY_NIC_H
#define SELFTESTS_BENCH_HOST_BUSY_NIC_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/swiftrdma.h>

#include "io/recording.h"

#define QPS		10000
#define UARS		2000
#define JOBS		100
#define SECOND		1000000000ULL
#define PORTS		2
#define PRIOS		8
#define DEV		0

static uint32_t n_qps = QPS, n_uars = UARS, n_jobs = JOBS;

static void *array(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		exit(1);
	return p;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void make_dev(struct snapshot *s, uint64_t t)
{
	struct snap_dev *d = s->devs = array(1, sizeof(*d));

	s->n_devs = 1;
	*d = (struct snap_dev){
		.has = SNAP_COMMANDS | SNAP_CONGESTION | SNAP_MTT | SNAP_QPC | SNAP_MRS | SNAP_MTTS |
		       SNAP_LIMIT | SNAP_UAR_LIMIT | SNAP_SWEEPS | SNAP_PCIE,
		.index = DEV, .caps = SWIFTRDMA_DEV_CAP_WQEBBS, .ports = PORTS, .qps = n_qps,
		.uars = n_uars, .cqs = n_qps, .mrs = n_qps, .name = "mlx5_0", .provider = "mlx5",
		.created = n_qps + t, .destroyed = t, .modified = 3 * (n_qps + t), .since = 1,
		.time = t * SECOND, .qp_limit = 262144, .cq_limit = 262144, .mr_limit = 262144,
		.commands = 4 * (n_qps + t), .command_time = 80000 * (n_qps + t), .sweeps = 1000 * t,
		.sweep_time = 1000000 * t, .congestions = t, .mtt_hits = 900 * t,
		.mtt_misses = 100 * t, .qpc_hits = 700 * t, .qpc_misses = 300 * t,
		.mr_bytes = 1ULL << 40, .mtts = 1 << 20, .diag_time = t * SECOND,
		.pcie_time = t * SECOND, .pcie_stalled_read_seconds = t / 2,
	};
}

static void make_ports(struct snapshot *s, uint64_t t)
{
	s->ports = array(PORTS, sizeof(*s->ports));
	s->prios = array(PORTS * PRIOS, sizeof(*s->prios));
	for (uint32_t i = 0; i < PORTS; i++) {
		s->ports[s->n_ports++] = (struct snap_port){
			.has = SNAP_BYTES | SNAP_SPEED | SNAP_DETAIL | SNAP_CNP, .dev = DEV,
			.index = i + 1, .state = 4, .link_layer = 2, .speed = 100000000000ULL,
			.tx_bytes = 9000000000ULL * t, .rx_bytes = 7000000000ULL * t,
			.tx_packets = 3000000 * t, .rx_packets = 2000000 * t, .time = t * SECOND,
			.detail_time = t * SECOND, .ecn_marked = 10 * t, .cnp_sent = 10 * t,
		};
		for (uint32_t k = 0; k < PRIOS; k++)
			s->prios[s->n_prios++] = (struct snap_prio){
				.dev = DEV, .port = i + 1, .index = k, .tx_bytes = 1000000 * k * t,
				.rx_pauses = k * t, .rx_pause_time = 1000 * k * t,
			};
	}
}

static void make_uars(struct snapshot *s, uint64_t t)
{
	s->uars = array(n_uars, sizeof(*s->uars));
	for (uint32_t i = 0; i < n_uars; i++)
		s->uars[s->n_uars++] = (struct snap_uar){
			.has = SNAP_WRS | SNAP_OWNERS | SNAP_SWEEPS | SNAP_OWNER | SNAP_CONTEXT_ID,
			.dev = DEV, .index = 16 + i, .kind = SWIFTRDMA_UAR_KIND_DYNAMIC,
			.qps = n_qps / n_uars, .owner = i % n_jobs, .context = 1 + i % n_jobs,
			.created = n_qps / n_uars, .wrs = (500 + i) * 100 * t, .since = 1,
			.time = t * SECOND, .owners = 1, .threads = 2, .sweeps = 1000 * t,
			.active = 900 * t, .coactive = (i % 10) * 100 * t,
		};
}

/* The owners of the jobs are services, containers, and jobs of Slurm. */
static void make_owners(struct snapshot *s)
{
	s->owners = array(n_jobs, sizeof(*s->owners));
	for (uint32_t i = 0; i < n_jobs; i++) {
		struct snap_owner *o = &s->owners[s->n_owners++];

		*o = (struct snap_owner){ .pid = 1000 + i, .cgroup_id = 1 + i };
		snprintf(o->comm, sizeof(o->comm), "app%u", i);
		if (i % 3 == 0)
			snprintf(o->cgroup, sizeof(o->cgroup), "/system.slice/app%u.service", i);
		else if (i % 3 == 1)
			snprintf(o->cgroup, sizeof(o->cgroup), "/kubepods/pod%u/%012x%052x", i, i, 0);
		else
			snprintf(o->cgroup, sizeof(o->cgroup), "/system.slice/slurmstepd.scope/job_%u/step_0",
				 i);
	}
}

static void make_qps(struct snapshot *s, uint64_t t)
{
	s->qps = array(n_qps, sizeof(*s->qps));
	for (uint32_t i = 0; i < n_qps; i++)
		s->qps[s->n_qps++] = (struct snap_qp){
			.has = SNAP_WRS | SNAP_WRS_SINCE | SNAP_STATE | SNAP_PORT | SNAP_UAR |
			       SNAP_OWNER | SNAP_TID | SNAP_CLASS | SNAP_LEVEL,
			.dev = DEV, .qpn = 100 + i, .serial = 1 + i, .type = 2, .state = 3,
			.port = 1 + i % PORTS, .uar = 16 + i % n_uars, .job = 1 + i % n_jobs,
			.tid = 5000 + i, .owner = i % n_jobs, .max_send_wr = 128, .tclass = 96,
			.level = 3, .wrs = (1000 + i % 997) * t, .since = 1, .wrs_since = 1,
			.time = t * SECOND,
		};
}

static void make_jobs(struct snapshot *s, uint64_t t)
{
	s->jobs = array(n_jobs, sizeof(*s->jobs));
	s->job_reports = array(n_jobs, sizeof(*s->job_reports));
	for (uint32_t i = 0; i < n_jobs; i++) {
		struct snap_job *job = &s->jobs[s->n_jobs++];
		struct snap_job_report *r = &s->job_reports[s->n_job_reports++];

		*job = (struct snap_job){
			.id = 1 + i, .class = 1 + i % 4, .n_stats = 1, .since = 1, .time = t * SECOND,
		};
		snprintf(job->name, sizeof(job->name), "job-of-tenant-%u", i);
		job->stats = array(1, sizeof(*job->stats));
		job->stats[0] = (struct snap_job_stat){
			.has = SNAP_WRS | SNAP_LEVEL | SNAP_COMMANDS | SNAP_MRS | SNAP_MTTS |
			       SNAP_BIT_RATE,
			.dev = DEV, .qps = n_qps / n_jobs, .level = i % 8, .created = n_qps / n_jobs,
			.wrs = (7000 + i) * t, .bit_rate = 1000000000, .mrs = 10,
			.mr_bytes = 1 << 30, .mtts = 1 << 18, .creates = n_qps / n_jobs,
			.commands = 4 * n_qps / n_jobs, .command_time = 1000000 * t,
		};
		*r = (struct snap_job_report){
			.dev = DEV, .job = 1 + i, .processes = 1, .slo_p99 = 50000,
			.sum = {
				.wrs = 7000 * t, .calls = 7000 * t, .bytes = 4096 * 7000 * t,
				.done = 7000 * t, .samples = 700 * t, .latency_wrs = 7000 * t,
				.latency_sum = 7000 * t * 20000, .latency_max = 90000,
				.hol_wrs = 7000 * t, .hol_sum = 7000 * t * 3000, .since = 1,
				.time = t * SECOND,
			},
			.n_held = 1,
			.held[0] = {
				.has = SNAP_WAITS, .knob = SWIFTRDMA_KNOB_BIT_RATE, .processes = 1,
				.in_force = 1, .posts = 10 * t, .wrs = 10 * t, .time = 1000 * t,
			},
		};
		r->bucket[swiftrdma_hist_bucket(20000)] = 6900 * t;
		r->bucket[swiftrdma_hist_bucket(80000)] = (i % 2 ? 10 : 100) * t;
	}
}

static void make(struct snapshot *s, uint64_t t)
{
	*s = (struct snapshot){ .time = t * SECOND, .admin = true, .armed = true };
	make_dev(s, t);
	make_ports(s, t);
	make_uars(s, t);
	make_owners(s);
	make_qps(s, t);
	make_jobs(s, t);
}

static void unmake(struct snapshot *s)
{
	for (size_t i = 0; i < s->n_jobs; i++)
		free(s->jobs[i].stats);
	free(s->devs);
	free(s->ports);
	free(s->prios);
	free(s->uars);
	free(s->owners);
	free(s->qps);
	free(s->jobs);
	free(s->job_reports);
}

/* Records so many readings. 0 or -1. */
static int record(FILE *f, uint64_t readings)
{
	struct recorder *r = f ? recorder_open(f) : NULL;
	struct snapshot s;
	int err;

	if (!r)
		return -1;
	/* From 1: nothing has counted at time 0. */
	for (uint64_t t = 1; t <= readings; t++) {
		make(&s, t);
		recorder_snapshot(r, &s);
		unmake(&s);
	}
	err = recorder_close(r);
	return fclose(f) ? -1 : err;
}

#endif /* SELFTESTS_BENCH_HOST_BUSY_NIC_H */
