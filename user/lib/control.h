/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Internal to libswiftrdma: how a process reads the knobs that the kernel sets for it on a
 * device, and how its posts wait for them.
 *
 * Invariants:
 *  - A post waits before it takes a lock of the library or of the provider, for at most
 *    PACE_WAIT_NS in all. Then it goes through, whatever the knobs say.
 *  - A call takes no lock before it waits, so a waiting thread may be interrupted, fork, or end.
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
 * The largest burst is what the rate allows in this time, plus one list, because a list is charged
 * as a whole. 1 ms of a port's full rate is less than a switch buffers for a port, and more than a
 * sleeping thread is usually late.
 */
#define PACE_BURST_NS 1000000ull
/*
 * If a waiting post is woken late, this post and those that follow it without a pause may also send
 * what the rate would have allowed in the meantime, for up to this much time. Otherwise late
 * wake-ups on a busy host would lower the rate.
 */
#define PACE_LATE_NS 20000000ull

/*
 * A rate as one atomic time (generic cell rate algorithm). .due is the time at which everything
 * charged so far has been sent, if it is sent at the rate. Requests may be posted while .due is at
 * most PACE_BURST_NS ahead of the clock.
 */
struct bucket {
	_Atomic uint64_t rate;	/* units a second; 0: not in force */
	_Atomic uint64_t cost;	/* of a unit, see unit_cost() */
	_Atomic uint64_t due;	/* in 1/256 ns; wraps */
	_Atomic uint64_t late_ns;	/* when a post last used time before now, see due_after() */
	/* A rate that cannot be kept: most posts that it held were let through in the end; 0: none. */
	_Atomic uint64_t unable_at;
	/* Held posts, and those of them that were let through, when judge_rate() last decided. */
	_Atomic uint64_t judged_posts, judged_passed;
};

#define BUCKETS (SWIFTRDMA_SHARE_KNOB_BIT_RATE + 1)

/* The knobs of a device, and what its posts need to obey them. */
struct device_knobs {
	/* Read by each post or poll, and written only when a knob changes. */
	_Atomic uint64_t credits __attribute__((aligned(64)));	/* bound; 0: not in force */
	const __u64 *changes;			/* the job's change counter in control */
	_Atomic uint64_t quiet;			/* its value at which no knob is in force */
	const struct swiftrdma_block *job;	/* NULL: no module, or SWIFTRDMA_CONTROL=off */
	_Atomic uint64_t read;			/* value of the change counter that was obeyed last */
	_Atomic uint64_t until_ns;		/* when the first knob in force ends */
	_Atomic uint32_t state;			/* of control */
	_Atomic uint32_t epoch;			/* values of the bound on credits so far */
	_Atomic bool unable;			/* the bound does not hold for all QPs */
	_Atomic uint32_t huge;			/* enum huge_wish, for registrations */
	_Atomic uint32_t place;			/* 1 + enum swiftrdma_place; 0: no knob */
	_Atomic uint64_t chunk;			/* bytes; 0: no knob */
	_Atomic uint64_t qp_changes;		/* of control, when knobs of QPs were read last */
	bool place_able;			/* a context of the device can place QPs */
	struct bucket bucket[BUCKETS] __attribute__((aligned(64)));
	/* Known only while .credits is set; see credits_outstanding(). */
	_Atomic uint64_t outstanding __attribute__((aligned(64)));
	_Atomic uint64_t completed;
	_Atomic bool stalled;	/* a post waited in vain, and nothing has completed since */
};

/* A call that may have to wait. */
struct hold {
	struct qp *q;
	struct device *dev;
	uint32_t n;		/* requests; 0: not known yet */
	uint32_t want;		/* requests to reserve credits for, at least 1 */
	uint32_t reserved;	/* .want once they are reserved, else 0 */
	uint32_t held;		/* knobs that the call waited for, a bit for each */
	uint64_t now, began;	/* .began 0: it has not waited yet */
	uint64_t charged[BUCKETS];
};

/* What a post got from the knobs, to be settled after it. */
struct pace_pass {
	uint32_t reserved;	/* requests, for credits_posted() */
	uint32_t held;		/* knobs that the call waited for, a bit for each */
};

/* What a post of known requests was charged, to be settled if the provider refuses some of them. */
struct pace_bill {
	uint64_t charged[BUCKETS];	/* less than the cost where the debt would exceed DEBT_MAX */
};

/* --- control.c ------------------------------------------------------------- */

void control_begin(struct device *dev);
/* Obeys what control says at @now. */
void control_update(struct device *dev, uint64_t now);
void control_state(struct device *dev, enum swiftrdma_share_knob k, uint32_t state);
/* The state of knob @k while it has @value; 0: it is not in force. */
uint32_t control_state_of(const struct device *dev, enum swiftrdma_share_knob k, uint64_t value);

/* --- pace.c -------------------------------------------------------------------- */

/* Waits for at most about @ns. Replaced by tests. */
extern void (*lib_wait)(uint64_t ns);

/*
 * Before @n requests of so many bytes are posted: waits until the knobs let them through, and
 * charges them; @bill has what it charged. False: the process forked during the wait, and this is
 * the child; it must not touch memory of the library.
 */
bool pace_post(struct qp *q, uint32_t n, uint64_t bytes, struct pace_pass *pass,
	       struct pace_bill *bill);
/* Gives back what @bill charged beyond the cost of the @n requests that the provider posted. */
void pace_return(struct qp *q, uint32_t n, uint64_t bytes, const struct pace_bill *bill);
/*
 * For a batch that is not built yet, probably of @likely requests: waits until the rates allow a post
 * after all that was charged before, and reserves credits. pace_charge() charges the batch later.
 * Returns as pace_post().
 */
bool pace_wait(struct qp *q, uint32_t likely, struct pace_pass *pass);
/* Charges @n requests after wr_complete posted them; @held is from pace_wait(). */
void pace_charge(struct qp *q, uint32_t n, uint64_t bytes, uint32_t held);
/* Whether @rate cannot be kept, as judge_rate() found, or is less than twice such a rate. */
bool pace_is_unable(const struct bucket *b, uint64_t rate);
void pace_set_rate(struct bucket *b, uint64_t rate, uint64_t now);
/*
 * Waits for @ns at most. False: the call has waited for as long as a call may, or this is a child
 * that was forked during the wait.
 */
bool hold_on(struct hold *h, enum swiftrdma_share_knob k, uint64_t ns);
/* Counts a call that goes through although the knob does not allow it. */
void hold_pass(const struct hold *h, enum swiftrdma_share_knob k);

/* --- credits.c ----------------------------------------------------------------- */

void credits_set(struct device *dev, uint64_t bound);
/* The requests that are outstanding or reserved; below 0 for an instant. */
int64_t credits_outstanding(const struct device_knobs *knobs);
/* Waits for room for h->want requests, and reserves it. */
void credits_enter(struct hold *h);
/* After a post, whether it failed or not: ends its reservation, and counts what is outstanding. */
void credits_posted(struct qp *q, uint32_t reserved);
/* Brings what the QP adds to the sum of outstanding requests up to date. */
void credits_sync(struct qp *q);
/* As above, after a completion was polled. */
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
/* @patient: PATIENCE_NS have passed in which the usual poller could have polled. */
int stash_fill(struct cq *c, int max, bool patient);
/* Whether the stash has completions. Waits until no other thread polls the CQ. */
bool stash_keeps(struct cq *c);
/*
 * Moves completions from the stash to @wc, up to @n, and returns how many. With .lock of the CQ held,
 * unless the lock is lost.
 */
int stash_give(struct cq *c, int n, struct ibv_wc *wc);
/* Drops the completions of a QP that was destroyed or reset, as libmlx5 drops those in the CQ. */
void stash_purge(struct ibv_cq *cq, uint32_t qpn);

#pragma GCC visibility pop

#endif /* LIB_CONTROL_H */
