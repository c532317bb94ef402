/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The simulator: threads of jobs on a host, the locks between them, and the
 * NIC's contention model, in virtual time, with policies evaluated over it as
 * the agent evaluates them over a real device. One thread, the same for the same
 * seed. What it says is a model's word, not a measurement.
 */
#ifndef SRDMA_SIM_SIM_H
#define SRDMA_SIM_SIM_H

#include <stdio.h>

#include "core/policy.h"
#include "model/model.h"
#include "policy/config.h"

struct record;

#define SIM_JOBS	32
#define SIM_THREADS	4096	/* of all jobs */
#define SIM_QPS		65536
#define SIM_BUCKETS	(64 * 16)

enum sim_arrival {
	SIM_CLOSED,	/* always so many outstanding */
	SIM_BATCH,	/* posts so many, waits for all, begins again */
	SIM_OPEN,	/* comes when it comes, at a mean rate */
};

/* What the agent would be told of the simulated device, and what it could do there. */
enum sim_device {
	SIM_MLX5,	/* a ConnectX, as swiftrdma_mlx5.ko tells of it */
	SIM_RXE,	/* rdma_rxe */
	SIM_ALL,	/* each signal and knob that policies know: no live system's */
};

struct sim_job {
	char name[SNAP_NAME];
	uint32_t class;
	uint64_t slo_p99;	/* ns; 0: none */
	double slo_byte_rate;	/* bit/s; 0: none */
	enum sim_arrival arrival;
	enum model_op op;
	uint32_t threads, qps, depth, bytes;
	uint32_t used;		/* of its QPs, until a policy says otherwise */
	double rate;		/* requests a second, of each thread, if open */
	uint32_t uars;		/* registers for its QPs; 0: as libmlx5 places them */
	uint32_t spare_uars;	/* and those of its context without QPs */
	uint32_t mrs;		/* memory regions in use, in turn */
	double control_rate;	/* control verbs a second */
	uint64_t start, stop;	/* ns; 0: from the start, to the end */
	char shares[SNAP_NAME];	/* the job whose QPs it uses; empty: own ones */
};

enum sim_figure {
	SIM_P99,
	SIM_WR_RATE,
	SIM_BYTE_RATE,
	SIM_SLO_MET,	/* share of ticks */
	SIM_MISSES,	/* of lookups of QP contexts, all jobs */
	SIM_PORT,	/* bit/s sent, all jobs */
	SIM_FIGURES,
};

static inline bool sim_figure_of_job(enum sim_figure f)
{
	return f < SIM_MISSES;
}

/* Of which run; or how many times better it is with policies. */
enum sim_of {
	SIM_WITHOUT,
	SIM_WITH,
	SIM_GAIN,
};

#define SIM_UNBOUNDED 1e300

/* One thing that a scenario shows. */
struct sim_bound {
	enum sim_figure figure;
	enum sim_of of;
	uint32_t job;
	double at_least, at_most;
};

#define SIM_BOUNDS	16
#define SIM_SWEPT	32
#define SIM_VALUES	16

/* A number of the scenario that is published, or the values it is to be moved to. */
struct sim_values {
	char name[SNAP_NAME + 16];
	size_t n;			/* 0: published, and not moved */
	double v[SIM_VALUES];		/* ascending */
};

struct scenario {
	char name[SNAP_NAME];
	char claim[256];	/* what it reproduces, and the published figure */
	struct sim_bound bounds[SIM_BOUNDS];	/* the same, to be checked */
	size_t n_bounds;
	struct sim_values values[SIM_SWEPT];
	size_t n_values;
	uint32_t nic_said;	/* bit per number of the NIC that is not the preset's */
	enum model_preset preset;	/* what .nic and .host began as */
	struct model_params nic;
	struct model_host host;
	enum sim_device device;
	uint32_t seed;
	uint64_t time, warmup, interval;	/* ns */
	uint32_t window;	/* WRs that a shared QP takes at a time */
	struct sim_job jobs[SIM_JOBS];
	size_t n_jobs;
};

/* Counts by logarithm: 16 buckets from one power of two to the next. */
struct sim_hist {
	uint64_t n, bucket[SIM_BUCKETS];
};

void sim_hist_add(struct sim_hist *h, uint64_t v);
/* The same, @n times. */
void sim_hist_add_n(struct sim_hist *h, uint64_t v, uint64_t n);
uint64_t sim_hist_quantile(const struct sim_hist *h, double q);

struct sim_job_result {
	/* ns, after the warm-up, from arrival; of what still waits its age. */
	struct sim_hist latency;
	uint64_t done;
	uint64_t bytes;			/* that left by the port, without headers */
	uint32_t ticks, met;		/* that could be judged; of these within the targets */
};

struct sim_result {
	struct sim_job_result job[SIM_JOBS];
	uint64_t events, wrs;		/* of all the time */
	uint64_t measured;		/* ns, after the warm-up */
	size_t decisions;
	uint64_t lookups;		/* of QP contexts, after the warm-up */
	double qpc_miss;		/* share of these */
	double tx_bps;
};

/* What an agent would spend on it: of this thread's time, not of the simulated. */
struct sim_cost {
	uint64_t signals_ns, policies_ns;
};

struct sim_options {
	const struct config *cfg;	/* NULL: without policies */
	FILE *csv;			/* a line a tick and job; NULL: none */
	FILE *log;			/* decisions; NULL: none */
	FILE *progress;			/* NULL: none */
	struct record *record;		/* what the agent would see; NULL: not kept */
	struct sim_cost *cost;		/* added up; NULL: not measured */
	/* Asked at each interval, with the time and what is done; true ends it. */
	bool (*steady)(void *ctx, uint64_t ns, uint64_t wrs);
	void *ctx;			/* of steady() */
};

static inline bool sim_promised(const struct sim_job *j)
{
	return j->slo_p99 || j->slo_byte_rate > 0;
}

/* "mlx5", "rxe", "all"; -1 for another. */
int sim_device_named(const char *name);
const char *sim_device_name(enum sim_device device);
/* What policies for it are compiled for. */
struct caps sim_caps(enum sim_device device);
/*
 * How many times as fast as an agent by @cfg it looks: config_hurry()'s argument, with
 * which policies see as many readings in a scenario as on a live system.
 */
double sim_hurry(const struct scenario *sc, const struct config *cfg);

/* Place of a scenario's job. */
#define SIM_NO_JOB	UINT32_MAX
uint32_t scenario_job(const struct scenario *sc, const char *name);

bool scenario_load(struct scenario *sc, const char *path, struct report *r);
bool scenario_load_text(struct scenario *sc, const char *text, size_t len,
			struct report *r);

/*
 * What the policy file says of jobs counts: their class, and what they were promised.
 * Jobs that it lacks are warned of in @r: policies do not know them.
 */
void scenario_take_jobs(struct scenario *sc, const struct config *cfg, struct report *r);

/* 0, -ENOMEM, or -EINVAL for a scenario that makes no sense. */
int sim_run(const struct scenario *sc, const struct sim_options *opt,
	    struct sim_result *res);

#endif /* SRDMA_SIM_SIM_H */
