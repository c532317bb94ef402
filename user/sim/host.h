/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared by sim.c, which drives the simulation; host.c, threads and locks; wait.c, ages of
 * waiting work; view.c, the snapshots that policies get; and knob.c, the changes that they
 * make.
 */
#ifndef SRDMA_SIM_HOST_H
#define SRDMA_SIM_HOST_H

#include "sim/sim.h"

#define NONE MODEL_NONE

/*
 * SIM_WHOLE inlines all functions that a function calls, as MODEL_WHOLE does; SIM_APART keeps a
 * function out of that. Functions that most requests do not reach are SIM_APART.
 */
#define SIM_WHOLE	__attribute__((__flatten__))
#define SIM_APART	__attribute__((__noinline__))

enum sim_step {
	SIM_IDLE,	/* nothing to post, or not allowed to */
	SIM_CPU,	/* prepares a WR */
	SIM_QP_LOCK,	/* in line for it, or has it */
	SIM_UAR_LOCK,
};

/* The line for a fair lock, which the first thread has. Lines are linked through threads. */
struct sim_line {
	uint32_t head, tail, n;
};

struct sim_uar {
	struct sim_line line;	/* for its lock */
	uint32_t users;		/* QPs on the register; for a single QP the lock costs nothing */
	uint32_t last;		/* the thread that had the lock last */
	uint32_t job;
	uint64_t free_at;	/* the lock is busy until then, if no thread is in line */
	uint32_t at_qps;	/* threads in line for the locks of its QPs */
	uint32_t with_qp;	/* threads in its own line that hold such a lock */
	uint64_t wrs, waits;
};

/*
 * What the model does not know of a QP. Its register, and the WRs that were posted and done,
 * are in struct model_qp, which posting needs anyway.
 */
struct sim_qp {
	struct sim_line line;	/* for its lock */
	uint32_t want;		/* the UAR that it moves to once no thread is in line */
	uint32_t job;
	uint64_t looks, look_sum, look_squares;	/* into its send queue, as struct snap_qp's */
};

/* A QP's work in this tick. Apart from struct sim_qp, of which a completion changes nothing. */
struct sim_qp_tick {
	uint64_t wait_ps;	/* of WRs done in it */
	uint64_t done_before;	/* WRs done before it */
};

/* What a library counts of a QP. */
struct sim_qp_report {
	uint64_t last_done;	/* ps: when a WR of the QP was done last */
	struct snap_figures sum;
};

/* Lines that a thread may be in at once: while it holds a QP's lock it may wait for a register. */
enum sim_link {
	SIM_QP_LINE,
	SIM_UAR_LINE,
	SIM_LINES,
};

/* One cache line. */
struct sim_thread {
	uint8_t step;		/* enum sim_step */
	bool has_qp;
	uint16_t job;
	uint32_t qp, nth;	/* index among the threads of its job */
	uint32_t left, out;
	uint32_t next[SIM_LINES];
	uint32_t backlog;	/* requests that arrived and have not begun */
	uint64_t arrival;	/* the arrival of the WR that is being posted */
	/*
	 * Open loop: .comes is the time of the next arrival, .came that of the oldest request
	 * that has not begun. Both advance by the same random sequence, so the arrivals between
	 * them can be computed again, and a waiting request needs no record.
	 */
	uint64_t comes, came;
	uint32_t comes_rng, came_rng;
};

struct sim_wr {
	uint64_t arrival;	/* ps; MODEL_NEVER: not in use */
	uint32_t next;		/* free, or in a shared QP's queue */
	uint16_t thread, job;
};

/* The model's cookie of a WR: the number of its record, its thread and its job. */
static inline uint64_t sim_cookie(const struct sim_wr *wr, uint32_t w)
{
	return (uint64_t)wr->job << 48 | (uint64_t)wr->thread << 32 | w;
}

static inline uint32_t sim_cookie_wr(uint64_t cookie)
{
	return (uint32_t)cookie;
}

static inline uint32_t sim_cookie_thread(uint64_t cookie)
{
	return cookie >> 32 & 0xffff;
}

static inline uint32_t sim_cookie_job(uint64_t cookie)
{
	return (uint32_t)(cookie >> 48);
}

struct sim_state {
	const struct sim_job *is;
	uint32_t first_qp, n_qps, first_uar, n_uars, first_thread;
	uint32_t owner;		/* the job whose QPs it uses: itself, or another */
	struct sim_state *at;	/* the state of that job */
	uint32_t use_qps;	/* knob job.qps: how many of its QPs are in use */
	uint32_t threads;	/* that use its QPs, of all jobs */
	uint32_t sharers;	/* threads per QP, rounded up */
	uint32_t spread;	/* QPs per thread, at least 1 */
	uint64_t least_ps;	/* what a posted WR takes without contention */
	uint64_t stop;		/* ps; MODEL_NEVER: at the end */
	uint32_t level, weight, credits, element;
	bool weighed;		/* job.weight is in force */
	uint64_t bit_rate;
	double create_rate;	/* negative: no limit */
	double wr_rate;		/* 0: no limit */
	uint64_t next_begin;	/* ps: when the next WR may begin, with a limit */
	uint64_t next_control;	/* ps */
	uint32_t going;		/* WRs outstanding, and those that threads are about to post */
	uint32_t most;		/* bound of .going: the credits; UINT32_MAX: none */
	uint32_t woken;		/* thread that gets the next credit */
	uint32_t head, tail;	/* WRs that wait for a shared QP */
	int64_t turn;		/* their bytes posted so far, divided by the weight */
	uint64_t controls, refused, wrs;
	/* In this tick: payload that left, WRs done, latencies in ns. */
	uint64_t bytes, done;
	struct sim_hist tick;
	uint64_t p99_prev;
	bool has_prev;
};

/*
 * When threads continue: a tree of minima. Thread t is leaf n + t of n, and node 1 is the root.
 * A node is a time in ps with the thread in its low bits, so one comparison orders both: of
 * threads with the same time the first goes first. UINT64_MAX: no thread.
 */
struct sim_next {
	uint64_t *node;
	uint32_t n;
};

#define SIM_THREAD_BITS 12
_Static_assert(SIM_THREADS == 1 << SIM_THREAD_BITS, "the low bits of a node hold the thread");
/* An hour, the longest scenario, is 3.6e15 ps. Nothing after this time is simulated. */
#define SIM_TIMES (UINT64_MAX >> SIM_THREAD_BITS)

static inline void sim_next_set(struct sim_next *next, uint32_t thread, uint64_t at)
{
	uint64_t *node = next->node, other;
	uint64_t key = at < SIM_TIMES ? at << SIM_THREAD_BITS | thread : UINT64_MAX;
	uint32_t i = next->n + thread;

	if (node[i] == key)
		return;
	node[i] = key;
	for (; i > 1; node[i] = key) {
		/* Without a branch: which of the two is less cannot be predicted. */
		other = node[i ^ 1];
		key = other < key ? other : key;
		i /= 2;
	}
}

static inline uint64_t sim_next_time(const struct sim_next *next)
{
	return next->node[1] >> SIM_THREAD_BITS;
}

static inline uint32_t sim_next_thread(const struct sim_next *next)
{
	return next->node[1] & (SIM_THREADS - 1);
}

struct sim {
	const struct scenario *sc;
	const struct sim_options *opt;
	struct sim_result *res;
	struct model m;
	void *mem;
	uint32_t n_threads, n_qps, n_uars, n_wrs, n_mrs;
	struct sim_thread *thread;
	uint8_t *waits;		/* per thread: it is idle, and may post if it gets a credit */
	struct sim_qp *qp;
	struct sim_qp_tick *qp_tick;	/* NULL, except on a device with all signals */
	/* library.c: what libraries report of jobs and QPs; NULL: processes have none */
	struct snap_job_report *job_report;
	struct sim_qp_report *qp_report;
	uint32_t moving;	/* QPs that are to move to another UAR */
	struct sim_uar *uar;
	struct sim_wr *wr;
	uint32_t free_wr;
	struct sim_next next;		/* waiting threads are not in it */
	struct model_crowd uar_crowd, qp_crowd;
	struct sim_state job[SIM_JOBS];
	uint64_t now, end, warm;	/* ps */
	uint64_t post_ps, post_least, post_span;	/* CPU time of a WR, and its variation */
	uint64_t control_at;		/* ps: when the next control verb comes */
	uint32_t control_job;		/* and whose it is */
	uint64_t look_at;		/* ps: the next look into a send queue; MODEL_NEVER: none */
	uint32_t look_rng;
	uint32_t rng;
	uint32_t sharing;		/* jobs that use QPs of another job */
	uint64_t looked;		/* ps: when the tick began */
	/* view.c: the snapshots that policies get */
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

/* WRs of a QP that are posted and not done. */
static inline uint64_t sim_out(const struct sim *s, uint32_t q)
{
	return s->m.qp[q].posted - s->m.qp[q].done;
}

/* library.c */
int sim_library_init(struct sim *s);
void sim_library_free(struct sim *s);
void sim_library_done(struct sim *s, uint32_t job, const struct model_done *done);
/* Fills in the reports of @sn, whose QPs must be filled in already. */
void sim_library_fill(struct sim *s, struct snapshot *sn);

/* host.c */
void sim_thread_event(struct sim *s, uint32_t thread);
void sim_begin(struct sim *s, uint32_t thread, uint64_t now);
void sim_done(void *ctx, const struct model_done *done);
double sim_random(struct sim *s);
void sim_wake_job(struct sim *s, uint32_t job);
/*
 * sim_first_arrival() starts an open loop of a thread. sim_arrivals() adds the requests that
 * arrive until @now to the backlog.
 */
void sim_first_arrival(struct sim *s, struct sim_thread *t);
void sim_arrivals(struct sim_thread *t, double rate, uint64_t now);
/* Makes the threads of the job use @qps of its QPs from now on. */
void sim_use_qps(struct sim_state *j, uint32_t qps);

void sim_sent_bytes(void *ctx, uint64_t cookie, uint32_t bytes);

/* wait.c: counts waiting requests with their ages, in the tick and, at the end, in all. */
void sim_age_tick(struct sim *s);
void sim_age_all(struct sim *s);
/* Did the job meet its targets in this tick? */
void sim_judge(struct sim *s, uint32_t job, double bit_rate, uint64_t p99);

/* knob.c: applies the decisions of policies. */
void sim_apply(struct sim *s, const struct policy_decision *d);

/* view.c */
/* Looks into the send queue of a random QP, as the module does, and schedules the next look. */
void sim_look(struct sim *s);
int sim_view_init(struct sim *s);
void sim_view_free(struct sim *s);
int sim_view_tick(struct sim *s);
/* Bytes that the port sent, with headers. */
uint64_t sim_sent(const struct sim *s);

#endif /* SRDMA_SIM_HOST_H */
