/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Between sim.c, which drives, host.c, threads and locks, wait.c, what has waited for
 * how long, view.c, what policies see, and knob.c, what they change.
 */
#ifndef SRDMA_SIM_HOST_H
#define SRDMA_SIM_HOST_H

#include "sim/sim.h"

#define NONE MODEL_NONE

enum sim_step {
	SIM_IDLE,	/* nothing to post, or not allowed to */
	SIM_CPU,	/* prepares a WR */
	SIM_QP_LOCK,	/* in line for it, or has it */
	SIM_UAR_LOCK,
};

/* A fair lock: the first in line has it. Lines are linked through threads. */
struct sim_lock {
	uint8_t chain;		/* who holds one of a QP may stand in a register's line */
	uint32_t head, tail, n;
	uint32_t users;		/* what may take it: alone, it costs nothing */
	uint32_t last;		/* who had it last */
	uint64_t free_at;	/* and until then has, if nobody is in line */
};

struct sim_uar {
	struct sim_lock lock;
	uint32_t job;
	uint32_t at_qps;	/* threads in line for the locks of its QPs */
	uint32_t with_qp;	/* of those in its own line, who hold such a lock */
	uint64_t wrs, waits;
};

struct sim_qp {
	struct sim_lock lock;
	uint32_t job, uar;
	uint32_t want;		/* the UAR it is to move to, once nobody is in line */
	uint64_t wrs, done, wait_ps;	/* wait: of those done in this tick */
	uint64_t done_before;
	uint32_t out;
};

/* Times at which requests arrive, one after the other, at random. */
struct sim_stream {
	uint64_t at;		/* ps: the next one's */
	uint32_t rng;
};

struct sim_thread {
	enum sim_step step;
	uint32_t job, qp, nth;	/* which one of its job */
	uint32_t left, out;
	bool has_qp;
	uint32_t next[2];	/* in line, for a QP and for a register */
	uint64_t arrival;	/* of the WR that is being prepared */
	/*
	 * Open loop: requests as they come, and the same again as they are begun. What
	 * lies between the two waits; so nothing need be kept of each that does.
	 */
	struct sim_stream come, begun;
	uint32_t backlog;	/* came, not begun */
};

struct sim_wr {
	uint32_t thread, job, qp;
	uint64_t arrival;	/* ps; MODEL_NEVER: not in use */
	uint32_t next;		/* free, or in a shared QP's queue */
};

struct sim_state {
	const struct sim_job *is;
	uint32_t first_qp, n_qps, first_uar, n_uars, first_thread;
	uint32_t owner;		/* the job whose QPs it uses: itself, or another */
	uint32_t use_qps;	/* knob job.qps: on so many of them */
	uint32_t threads;	/* that use its QPs, of all jobs */
	uint32_t sharers;	/* of these, how many use one of its QPs */
	uint32_t spread;	/* QPs that one of these has to itself */
	uint64_t least_ps;	/* what a WR takes if it meets nobody, once posted */
	uint32_t level, weight, credits, element;
	bool weighed;		/* job.weight is in force */
	uint64_t bit_rate;
	double create_rate;	/* negative: no limit */
	uint64_t next_control;	/* ps */
	uint32_t out;		/* WRs outstanding */
	uint32_t begun;		/* WRs that threads are about to post */
	uint32_t woken;		/* thread whose turn it is with a credit */
	uint32_t head, tail;	/* WRs that wait for a shared QP */
	int64_t turn;		/* bytes over weight sent of these */
	uint64_t controls, refused, wrs;
	/* In this tick: payload that left, WRs done, latencies in ns. */
	uint64_t bytes, done;
	struct sim_hist tick;
	uint64_t p99_prev;
	bool has_prev;
};

struct sim {
	const struct scenario *sc;
	const struct sim_options *opt;
	struct sim_result *res;
	struct model m;
	void *mem;
	uint32_t n_threads, n_qps, n_uars, n_wrs, n_mrs;
	struct sim_thread *thread;
	struct sim_qp *qp;
	struct sim_uar *uar;
	struct sim_wr *wr;
	uint32_t free_wr;
	struct model_heap next;	/* when threads go on; who waits is not in it */
	struct model_event *event;	/* its memory */
	uint32_t *where;
	struct model_crowd uar_crowd, qp_crowd;
	struct sim_state job[SIM_JOBS];
	uint64_t now, end, warm;	/* ps */
	uint64_t post_ps, post_least, post_span;	/* CPU time of a WR; as it varies */
	uint64_t control_at;		/* ps: when the next control verb comes */
	uint32_t control_job;		/* and whose it is */
	uint32_t rng;
	uint32_t sharing;		/* jobs that use another's QPs */
	uint64_t looked;		/* ps: when the tick began */
	/* view.c: what policies see */
	struct snapshot snap[2];
	unsigned int cur;
	struct signals sig;
	struct policy_state state;
	struct policy_decision *out;
	uint64_t hits_before, misses_before, waits_before;
	uint64_t hits_warm, misses_warm, sent_warm;
	uint64_t controls;
	double smooth_p99[SIM_JOBS];
};

/* host.c */
void sim_thread_event(struct sim *s, uint32_t thread);
void sim_begin(struct sim *s, uint32_t thread, uint64_t now);
void sim_done(void *ctx, const struct model_done *done);
double sim_random(struct sim *s);
void sim_wake_job(struct sim *s, uint32_t job);
/* Of an open loop's thread: its first request, and those until @now as its backlog. */
void sim_first_arrival(struct sim *s, struct sim_thread *t);
void sim_arrivals(struct sim_thread *t, double rate, uint64_t now);
/* The job's threads use @qps of its QPs from now on. */
void sim_use_qps(struct sim_state *j, uint32_t qps);

void sim_sent_bytes(void *ctx, uint64_t cookie, uint32_t bytes);

/* wait.c: what waits is as late as it is old, in the tick and, at the end, in all. */
void sim_age_tick(struct sim *s);
void sim_age_all(struct sim *s);
/* Were the job's targets met in this tick? */
void sim_judge(struct sim *s, uint32_t job, double bit_rate, uint64_t p99);

/* knob.c: what policies decided is done. */
void sim_apply(struct sim *s, const struct policy_decision *d);

/* view.c */
int sim_view_init(struct sim *s);
void sim_view_free(struct sim *s);
int sim_view_tick(struct sim *s);
/* Bytes that left by the port, with headers. */
uint64_t sim_sent(const struct sim *s);

#endif /* SRDMA_SIM_HOST_H */
