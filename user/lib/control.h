/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Internal to libswiftrdma: how a process reads the knobs that the kernel sets for it on a
 * device, and how its posts wait for them.
 *
 * Invariants:
 *  - A post waits before it takes a lock of the library or of the provider, for at most
 *    PACE_WAIT_NS in all. Then it goes through, whatever the knobs say.
 *  - A thread that waits holds nothing: it may be interrupted, forked from or ended.
 *  - While no knob is in force, a post reads one word of control and nothing else.
 */
#ifndef LIB_CONTROL_H
#define LIB_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rdma/swiftrdma_share.h>

#pragma GCC visibility push(hidden)

struct device;
struct qp;
struct cq;

/* The longest that one call of ibv_post_send() or ibv_wr_start() waits, for all knobs. */
#define PACE_WAIT_NS 1000000000ull
/* Control is read again this often while a post waits. */
#define PACE_SLICE_NS 10000000ull
/*
 * A rate's bucket holds as much as may be sent at the rate in this time, so that is the largest
 * burst, and one list besides, since a list is not split. 1 ms of a port's full rate is less than
 * a switch buffers for a port, and more than a sleeping thread is usually late.
 */
#define PACE_BURST_NS 1000000ull
/*
 * A post that waited and was woken late, and those that follow it without a pause, may
 * send what the rate would have allowed in the meantime, up to this time of it. Else a busy host
 * would lower the rate.
 */
#define PACE_LATE_NS 20000000ull

/*
 * A rate as one atomic time (GCRA). All that was charged is sent at .due if it is sent at
 * the rate; requests may be posted until .due is PACE_BURST_NS ahead of the clock.
 */
struct bucket {
	_Atomic uint64_t rate;	/* units a second; 0: not in force */
	_Atomic uint64_t cost;	/* of a unit, see unit_cost() */
	_Atomic uint64_t due;	/* in 1/256 ns; wraps */
	_Atomic uint64_t late_ns;	/* when a post last used what a late one had left */
};

#define BUCKETS (SWIFTRDMA_SHARE_KNOB_BIT_RATE + 1)

/* Of a device. */
struct hands {
	/* Read by each post or poll, and written only when a knob changes. */
	_Atomic uint64_t credits __attribute__((aligned(64)));	/* bound; 0: not in force */
	const __u64 *changes;			/* the job's change counter in control */
	_Atomic uint64_t quiet;			/* its value at which no knob is in force */
	const struct swiftrdma_block *job;	/* NULL: nobody controls the process */
	_Atomic uint64_t read;			/* value of the change counter that was obeyed last */
	_Atomic uint64_t until_ns;		/* when the first knob in force ends */
	_Atomic uint32_t state;			/* of control */
	_Atomic uint32_t epoch;			/* values of the bound on credits so far */
	_Atomic bool unable;			/* the bound does not hold for all QPs */
	struct bucket bucket[BUCKETS] __attribute__((aligned(64)));
	/* Known only while .credits is set. */
	_Atomic int64_t outstanding __attribute__((aligned(64)));
	_Atomic uint64_t completed;
	_Atomic bool stalled;	/* a post waited in vain, and nothing has completed since */
};

/* A call that may have to wait. */
struct hold {
	struct qp *q;
	struct device *dev;
	uint32_t n;		/* requests; 0: not known yet */
	uint32_t held;		/* knobs that the call waited for, a bit for each */
	uint64_t now, began;	/* .began 0: it has not waited yet */
};

/* --- control.c ------------------------------------------------------------- */

void control_begin(struct device *dev);
/* Obeys what control says at @now. */
void control_update(struct device *dev, uint64_t now);
void control_state(struct device *dev, enum swiftrdma_share_knob k, uint32_t state);

/* --- pace.c -------------------------------------------------------------------- */

/* Waits for about so long, or for less. Replaced by tests. */
extern void (*lib_wait)(uint64_t ns);

/*
 * Before @n requests of so many bytes are posted: waits until the knobs let them through, and
 * charges them. False: this is a child of the process by now, and may touch nothing.
 */
bool pace_post(struct qp *q, uint32_t n, uint64_t bytes);
/* So many of them were not posted after all. */
void pace_return(struct qp *q, uint32_t n, uint64_t bytes);
/* For requests that are not known yet: waits for what was charged before. */
bool pace_wait(struct qp *q, uint32_t *held);
/* They are known now, and posted; @held is from pace_wait(). */
void pace_charge(struct qp *q, uint32_t n, uint64_t bytes, uint32_t held);
void pace_set_rate(struct bucket *b, uint64_t rate, uint64_t now);
/*
 * Waits for @ns at most. False: the call has waited for as long as a call may, or the process
 * is not the one that began to wait.
 */
bool hold_on(struct hold *h, enum swiftrdma_share_knob k, uint64_t ns);
/* The call goes through although the knob does not allow it. */
void hold_pass(const struct hold *h, enum swiftrdma_share_knob k);

/* --- credits.c ----------------------------------------------------------------- */

void credits_set(struct device *dev, uint64_t bound);
/* Waits for room for h->n requests, and takes it. */
void credits_enter(struct hold *h);
/* After requests were posted or completed, or were taken back: counts what is outstanding. */
void credits_sync(struct qp *q);
/* The same for a poller, which sees only what is done. */
void credits_done(struct qp *q);

/* --- stash.c -------------------------------------------------------------------- */

/*
 * Completions that a blocked post polled, for the program to poll. Filled under .lock of the
 * CQ; emptied under it, or without it where the lock is lost.
 */
struct stash {
	_Atomic uint32_t head, tail;
	uint32_t mask;
	struct ibv_wc wc[];
};

/* Whether a blocked post may poll it at all. */
bool stash_can(const struct cq *c);
/* @patient: the thread that polls the CQ usually has had its time to do so. */
int stash_fill(struct cq *c, int max, bool patient);
/* With .lock of the CQ held. Completions that were given out. */
int stash_give(struct cq *c, int n, struct ibv_wc *wc);
/* A QP is gone, or reset: as libmlx5 does, its completions are. */
void stash_purge(struct ibv_cq *cq, uint32_t qpn);

#pragma GCC visibility pop

#endif /* LIB_CONTROL_H */
