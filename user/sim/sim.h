/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The simulator: threads of jobs on a host, the locks between them, and the
 * NIC's contention model, in virtual time, with policies evaluated over it as
 * the agent evaluates them over a real device. The simulator runs in one thread;
 * the same seed gives the same results. The results are those of a model and not
 * measurements.
 */
#ifndef SRDMA_SIM_SIM_H
#define SRDMA_SIM_SIM_H

#include <stdio.h>

#include "core/policy.h"
#include "model/model.h"
#include "policy/config.h"

#define SIM_JOBS	32
#define SIM_THREADS	4096	/* of all jobs */
#define SIM_QPS		65536
#define SIM_BUCKETS	(64 * 16)

enum sim_arrival {
	SIM_CLOSED,	/* a fixed number outstanding at any time */
	SIM_BATCH,	/* posts a batch, waits for all of it, begins again */
	SIM_OPEN,	/* arrives at random, at a mean rate */
};

/* Which signals and knobs an agent would have on the simulated device. */
enum sim_device {
	SIM_MLX5,	/* a ConnectX with swiftrdma_mlx5.ko */
	SIM_MLX5_LIBRARY,	/* the same, and processes run under libswiftrdma */
	SIM_RXE,	/* rdma_rxe */
	SIM_ALL,	/* every signal and knob; no live system has these */
};

struct sim_job {
	char name[SNAP_NAME];
	uint32_t class;
	uint64_t slo_p99;	/* ns; 0: none */
	double slo_byte_rate;	/* bit/s; 0: none */
	enum sim_arrival arrival;
	enum model_op op;
	uint32_t threads, qps, depth, bytes;
	uint32_t used;		/* QPs in use, until a policy changes that */
	double rate;		/* requests a second, of each thread, if open */
	uint32_t uars;		/* registers for its QPs; 0: as libmlx5 places them */
	uint32_t spare_uars;	/* registers of its context without QPs */
	uint32_t mrs;		/* memory regions in use, in turn */
	double control_rate;	/* control verbs a second */
	uint64_t start, stop;	/* ns; 0: from the start, to the end */
	char shares[SNAP_NAME];	/* the job whose QPs it uses; empty: its own */
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

/* Which run a figure is of; SIM_GAIN: how many times better the figure is with policies. */
enum sim_of {
	SIM_WITHOUT,
	SIM_WITH,
	SIM_GAIN,
};

#define SIM_UNBOUNDED 1e300

/* A bound on a figure: one part of a scenario's claim. */
struct sim_bound {
	enum sim_figure figure;
	enum sim_of of;
	uint32_t job;
	double at_least, at_most;
};

#define SIM_BOUNDS	16
#define SIM_SWEPT	32
#define SIM_VALUES	16

/* A number of the scenario that is published, or the values of its sweep. */
struct sim_values {
	char name[SNAP_NAME + 16];
	size_t n;			/* 0: published, so not varied */
	double v[SIM_VALUES];		/* ascending */
};

struct scenario {
	char name[SNAP_NAME];
	char claim[256];	/* what the scenario reproduces, with the published figure */
	struct sim_bound bounds[SIM_BOUNDS];	/* the same as bounds, which are tested */
	size_t n_bounds;
	struct sim_values values[SIM_SWEPT];
	size_t n_values;
	uint32_t nic_said;	/* bit per number of the NIC that the scenario sets */
	enum model_preset preset;	/* the preset of .nic and .host */
	struct model_params nic;
	struct model_host host;
	enum sim_device device;
	uint32_t seed;
	uint64_t time, warmup, interval;	/* ns */
	uint32_t window;	/* WRs that a shared QP takes at a time */
	struct sim_job jobs[SIM_JOBS];
	size_t n_jobs;
};

/* A logarithmic histogram: 16 buckets between powers of two. */
struct sim_hist {
	uint64_t n, bucket[SIM_BUCKETS];
};

static inline unsigned int sim_hist_bucket(uint64_t v)
{
	unsigned int e;

	if (v < 16)
		return (unsigned int)v;
	e = 63 - (unsigned int)__builtin_clzll(v);
	return (e - 3) * 16 + (unsigned int)(v >> (e - 4) & 15);
}

static inline void sim_hist_add_n(struct sim_hist *h, uint64_t v, uint64_t n)
{
	h->bucket[sim_hist_bucket(v)] += n;
	h->n += n;
}

static inline void sim_hist_add(struct sim_hist *h, uint64_t v)
{
	sim_hist_add_n(h, v, 1);
}

/* Adds the counts of @more to @h, or subtracts them. */
void sim_hist_merge(struct sim_hist *h, const struct sim_hist *more);
void sim_hist_subtract(struct sim_hist *h, const struct sim_hist *less);

uint64_t sim_hist_quantile(const struct sim_hist *h, double q);

struct sim_job_result {
	/* ns, after the warm-up, from arrival; for a waiting request its age. */
	struct sim_hist latency;
	uint64_t done;
	uint64_t bytes;			/* that left by the port, without headers */
	uint32_t ticks, met;		/* ticks that could be judged; ticks within the targets */
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

/* CPU time that an agent would spend, measured on this thread, not simulated. */
struct sim_cost {
	uint64_t signals_ns, policies_ns;
};

struct sim_options {
	const struct config *cfg;	/* NULL: without policies */
	FILE *csv;			/* a line per tick and job; NULL: none */
	FILE *log;			/* decisions; NULL: none */
	FILE *progress;			/* NULL: none */
	/* Called at each tick with the agent's reading, if set. 0 or -errno. */
	int (*on_snapshot)(void *arg, const struct snapshot *s);
	void *on_snapshot_arg;
	struct sim_cost *cost;		/* the sums; NULL: not measured */
	/*
	 * Called at each interval with the time and the completed requests; true ends the
	 * run.
	 */
	bool (*steady)(void *ctx, uint64_t ns, uint64_t wrs);
	void *ctx;			/* of steady() */
};

static inline bool sim_promised(const struct sim_job *j)
{
	return j->slo_p99 || j->slo_byte_rate > 0;
}

static inline bool sim_has_library(enum sim_device device)
{
	return device == SIM_MLX5_LIBRARY;
}

static inline bool sim_is_mlx5(enum sim_device device)
{
	return device == SIM_MLX5 || device == SIM_MLX5_LIBRARY;
}

/* "mlx5", "mlx5-library", "rxe", "all"; -1 for another. */
int sim_device_named(const char *name);
const char *sim_device_name(enum sim_device device);
/* The capabilities that policies are compiled for. */
struct caps sim_caps(enum sim_device device);
/*
 * How many times faster than an agent with @cfg the simulator ticks. With this as the
 * argument of config_shorten_times(), policies get as many readings in a scenario as on a
 * live system.
 */
double sim_hurry(const struct scenario *sc, const struct config *cfg);

/* Index of a scenario's job. */
#define SIM_NO_JOB	UINT32_MAX
uint32_t scenario_job(const struct scenario *sc, const char *name);

bool scenario_load(struct scenario *sc, const char *path, struct diag *r);
bool scenario_load_text(struct scenario *sc, const char *text, size_t len,
			struct diag *r);

/*
 * Copies the class and the targets of jobs from the policy file. Adds a warning to @r for
 * each job that the file lacks, because no policy is for it.
 */
void scenario_take_jobs(struct scenario *sc, const struct config *cfg, struct diag *r);

/* 0, -ENOMEM, or -EINVAL for an invalid scenario. */
int sim_run(const struct scenario *sc, const struct sim_options *opt,
	    struct sim_result *res);

#endif /* SRDMA_SIM_SIM_H */
