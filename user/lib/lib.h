/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Internal to libswiftrdma.
 *
 * Invariants:
 *  - Each wrapper calls the function that it replaces exactly once, with the program's arguments,
 *    even if something fails in the library. It returns that function's result and errno. There
 *    are four exceptions:
 *    ibv_poll_cq() returns completions that the library has polled before (stash.c);
 *    a QP may be created in a parent domain of the program's PD (place.c);
 *    a request may be posted in pieces, and queues are created larger for them (chunk.c);
 *    a QP that can move has larger queues, and another QP may replace it (move.c, entries.c).
 *  - An object found in the table (struct qp, struct cq) is never given back to
 *    malloc, so that a thread which found it just before its destruction reads no
 *    foreign memory.
 *  - Nothing is written to a report or to an object unless *alive is set. That word lies in
 *    memory that any kind of fork wipes in the child (MADV_WIPEONFORK). The cache of the objects
 *    found last (struct recent_qps) lies in such memory, too, so *alive is not read for them.
 *
 * Locks, outer first: lib_lock() (tables, slots; taken by a post or a poll only for an object
 * that the library does not know yet); the struct bias of a QP or a CQ; the locks of a placed QP,
 * then that of its register (place_post.c); the provider's own. move.h has the locks of moves.
 */
#ifndef LIB_LIB_H
#define LIB_LIB_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>
#include <rdma/swiftrdma_share.h>

#include "lib/chunk.h"
#include "lib/control.h"
#include "lib/move.h"
#include "lib/place.h"
#include "lib/swiftrdma.h"

/* Without this, each use of another file's variable would go through a table. */
#pragma GCC visibility push(hidden)

#define EXPORT __attribute__((visibility("default")))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define noinline __attribute__((noinline))
#define always_inline inline __attribute__((always_inline))
#define CACHE_LINE 64

/* Tells the CPU that the thread spins. */
static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}

/* --- process.c: settings, forks, the lock of tables and slots ------------------ */

enum mode { MODE_OFF, MODE_COUNT, MODE_LATENCY };

struct settings {
	enum mode mode;
	uint32_t sample_every;	/* 0: adapted to the rate */
	bool control;		/* obey the knobs in control */
	bool huge_pages;	/* use them where control sets no knob */
	uint32_t huge_seconds;	/* the most that one registration may spend on huge pages */
	enum swiftrdma_place place;	/* where new QPs go without a knob */
	bool chunk;		/* new queues have room for pieces even without a knob */
	bool move;		/* new QPs can move */
	bool move_thread;	/* a thread calls move_round(); false: tests call it */
	enum move_step move_fail;	/* for tests; MOVE_STEP_NONE: no step fails */
	enum move_state move_stop;	/* for tests; MOVE_IDLE: no state stops the process */
	const char *stats;	/* file that the figures go to at exit; NULL: none */
};

extern struct settings settings;

/* 1 in the process that set it up, 0 in its children. */
typedef _Atomic uint32_t alive_t;

/* Returns the word of this process, and sets it up if there is none; NULL: the library is off. */
const alive_t *life_begin(void);
const alive_t *life_alive(void);
/*
 * no_cancel() disables cancellation of the calling thread, and returns what allow_cancel() restores. A
 * thread that is cancelled while it holds a lock of the library would never release the lock.
 */
int no_cancel(void);
void allow_cancel(int was);
/*
 * Takes the lock of the tables, and disables cancellation until lib_unlock(). False: another thread held
 * the lock for too long, and the caller must not change tables or slots.
 */
bool lib_lock(void);
void lib_unlock(void);

/* --- lock.c: a spin lock that costs its first thread no atomic operation ------ */

/*
 * The lock is biased to the first thread that takes it: that thread only sets .inside.
 * The second thread revokes the bias, once, with membarrier(2), and waits until the first is not
 * inside; from then on .holder is an ordinary spin lock.
 *
 * A holder may never release the lock, for instance after a longjmp() out of a signal handler.
 * A thread that has waited for the holder for LOCK_PATIENCE_NS of its own running time therefore
 * marks the lock as lost, for good: no thread gets the lock after that, and the data that it guards
 * is not changed any more.
 */
struct bias {
	_Atomic uintptr_t owner;	/* 0, a thread, BIAS_SHARED or BIAS_LOST */
	_Atomic uint32_t inside;
	_Atomic uintptr_t holder;
};

enum bias_token { BIAS_FAILED, BIAS_OWNER, BIAS_HELD, BIAS_NESTED };

#define BIAS_SHARED ((uintptr_t)1)
#define BIAS_LOST ((uintptr_t)2)

static inline uintptr_t self_thread(void)
{
	return (uintptr_t)__builtin_thread_pointer();
}

enum bias_token bias_lock_slow(struct bias *b);
enum bias_token bias_lock_kept_slow(struct bias *b);

/* Takes it as BIAS_OWNER; false: it is not biased to this thread. */
static inline bool bias_enter(struct bias *b)
{
	uintptr_t me = self_thread();

	if (unlikely(atomic_load_explicit(&b->owner, memory_order_relaxed) != me))
		return false;
	atomic_store_explicit(&b->inside, 1, memory_order_relaxed);
	/* Pairs with membarrier() of the thread that revokes the bias. */
	atomic_signal_fence(memory_order_seq_cst);
	if (likely(atomic_load_explicit(&b->owner, memory_order_relaxed) == me))
		return true;
	atomic_store_explicit(&b->inside, 0, memory_order_release);
	return false;
}

/* BIAS_FAILED: the lock is lost; the caller goes on, and leaves alone what the lock guards. */
static inline enum bias_token bias_lock(struct bias *b)
{
	return likely(bias_enter(b)) ? BIAS_OWNER : bias_lock_slow(b);
}

/*
 * For data that no other lock guards: this lock is never lost, and the thread waits for the holder
 * for as long as it takes. BIAS_NESTED: the thread holds the lock already, for instance in a signal
 * handler.
 */
static inline enum bias_token bias_lock_kept(struct bias *b)
{
	if (unlikely(atomic_load_explicit(&b->owner, memory_order_relaxed) == self_thread() &&
		     atomic_load_explicit(&b->inside, memory_order_relaxed)))
		return BIAS_NESTED;
	return likely(bias_enter(b)) ? BIAS_OWNER : bias_lock_kept_slow(b);
}

static inline void bias_unlock(struct bias *b, enum bias_token token)
{
	if (likely(token == BIAS_OWNER))
		atomic_store_explicit(&b->inside, 0, memory_order_release);
	else if (token == BIAS_HELD)
		atomic_store_explicit(&b->holder, 0, memory_order_release);
}

/*
 * The library measures latencies only of send queues that hold at most so many requests. No
 * device's queue holds more.
 */
#define RING_WRS_MAX (1u << 20)

/* --- table.c: objects by address ---------------------------------------------- */

struct table {
	struct table *older;	/* kept, because a reader may be in it */
	uint32_t shift;
	size_t mask, used;
	struct table_entry {
		_Atomic uintptr_t key;
		void *_Atomic value;	/* NULL: gone */
	} entry[];
};

/* struct qp by struct ibv_qp, struct cq by struct ibv_cq. */
extern struct table *_Atomic qps, *_Atomic cqs;

static inline size_t table_hash(const struct table *t, const void *key)
{
	return (size_t)(((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15ull >> t->shift);
}

static inline void *table_find(struct table *_Atomic *table, const void *key)
{
	const struct table *t = atomic_load_explicit(table, memory_order_acquire);
	size_t i;

	if (unlikely(!t))
		return NULL;
	for (i = table_hash(t, key);; i = (i + 1) & t->mask) {
		uintptr_t k = atomic_load_explicit(&t->entry[i].key, memory_order_acquire);

		if (likely(k == (uintptr_t)key))
			return atomic_load_explicit(&t->entry[i].value, memory_order_acquire);
		if (!k)
			return NULL;
	}
}

/* With lib_lock() held. */
bool table_put(struct table *_Atomic *table, const void *key, void *value);
void table_drop(struct table *_Atomic *table, const void *key, const void *value);

/* --- attachment.c: reports and control ----------------------------------------- */

/*
 * A device that this process uses, whatever the number of contexts. Each time that the process
 * attaches to the device, the list gets another struct of the same name, in front of the older
 * ones. Open contexts use the newest.
 */
struct device {
	struct device *next;
	char name[SWIFTRDMA_SHARE_NAME_LEN];
	struct swiftrdma_report *report;
	const struct swiftrdma_control *control;	/* NULL: no module */
	struct swiftrdma_hist *latency, *hol;
	struct swiftrdma_slot *slot;
	uint32_t slots, generation;
	uint32_t *dead;		/* slots of QPs that are gone, oldest first, a ring */
	uint32_t dead_from, dead_count;
	_Atomic uint64_t placed;	/* QPs that were created in a register of the library */
	_Atomic bool listens;	/* for messages of peers; see channel.c */
	int event;		/* the eventfd of these */
	struct move_figures moves;
	struct device_knobs knobs;
};

extern struct device *devices;

/* Calls the module; returns 0 or a negative errno value. Replaced by tests. */
extern int (*lib_share)(unsigned long cmd, void *arg);

/* With lib_lock() held. */
struct device *device_get(const char *name);
struct swiftrdma_slot *slot_take(struct device *dev);
void slot_give(struct device *dev, struct swiftrdma_slot *slot);
void slot_add(struct swiftrdma_gone *sum, const struct swiftrdma_slot *slot);
void device_forget_all(void);
int page_ask(const char *job, uint64_t slo_p99_ns);
bool control_job(const struct device *dev, struct swiftrdma_control_job *job);

/*
 * A pair of counters. One thread alone adds to @owner, by a plain addition, which compiles to one
 * instruction; a relaxed load and store would not. All other threads add to @others atomically.
 */
static inline void count_by_thread(__u64 *owner, __u64 *others, bool mine, uint64_t n)
{
	if (likely(mine))
		*owner += n;
	else
		__atomic_fetch_add(others, n, __ATOMIC_RELAXED);
}

static inline void count_any(__u64 *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static inline uint64_t read_counter(const __u64 *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* --- context.c -------------------------------------------------------------------- */

#define QPN_LOW_BITS 8
#define QPN_PAGES (1 << (24 - QPN_LOW_BITS))

struct qpn_page {
	struct qp *_Atomic qp[1 << QPN_LOW_BITS];
};

struct context {
	struct context *next;
	struct ibv_context *_Atomic key;	/* NULL: closed */
	const alive_t *alive;
	struct device *dev;
	struct ibv_context_ops real;
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr);
	struct ibv_cq_ex *(*create_cq_ex)(struct ibv_context *ctx,
					  struct ibv_cq_init_attr_ex *attr);
	struct ibv_qp *(*open_qp)(struct ibv_context *ctx, struct ibv_qp_open_attr *attr);
	struct ibv_srq *(*create_srq_ex)(struct ibv_context *ctx, struct ibv_srq_init_attr_ex *attr);
	_Atomic bool special_srqs;	/* some SRQ here is for XRC or tag matching */
	struct ibv_pd *(*alloc_parent_domain)(struct ibv_context *ctx,
					      struct ibv_parent_domain_init_attr *attr);
	int (*modify_qp_rate_limit)(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr);
	struct place_context place;
	struct qpn_page *_Atomic *qpns;
};

/* Replaces the functions of a context, unless that was done before. */
struct context *context_watch(struct ibv_context *ctx);
/* Is a context of that device open? With lib_lock() held. */
bool context_uses(const struct device *dev);
struct context *context_find(const struct ibv_context *ctx);
void context_close(struct ibv_context *ctx);
/* With lib_lock() held. */
bool context_put_qpn(struct context *c, uint32_t qpn, struct qp *q);
void context_drop_qpn(struct context *c, uint32_t qpn, const struct qp *q);

static inline struct qp *context_qp(const struct context *c, uint32_t qpn)
{
	struct qpn_page *page;

	if (unlikely(qpn >> 24))
		return NULL;
	page = atomic_load_explicit(&c->qpns[qpn >> QPN_LOW_BITS], memory_order_acquire);
	return page ? atomic_load_explicit(&page->qp[qpn & ((1 << QPN_LOW_BITS) - 1)],
					   memory_order_acquire) : NULL;
}

/* --- latency.c ---------------------------------------------------------------------- */

/* Replaced by tests. */
extern uint64_t (*lib_clock)(void);

/* Adds a sample that stands for @weight requests. Any thread may call it. */
void hist_add(struct swiftrdma_hist *h, uint64_t ns, uint32_t weight);

#define PENDING_MAX 16	/* samples of a QP that wait for their completion */

struct sample {
	uint64_t posted_ns;
	uint32_t seq;		/* of the request in its send queue */
	_Atomic uint32_t weight;	/* 0: the post failed */
	bool alone;		/* nothing was outstanding before it */
};

struct sampling {
	int32_t countdown;	/* requests until the next sample, itself included */
	uint32_t every, run, rnd;
	uint32_t marked;	/* requests before this number are in the weight of a sample */
	uint64_t last_ns;
	struct sample pending[PENDING_MAX];
	_Atomic uint32_t head;	/* written by the posting thread */
};

void sampling_reset(struct sampling *s, uint32_t seq);

/* --- qp.c ------------------------------------------------------------------------------ */

/* A signalled request that is outstanding. */
struct signalled {
	uint64_t wr_id;
	uint32_t end;	/* value of .done once this request is complete */
};

/* The pointers of a struct ibv_qp_ex that wr_ex.c replaced. */
struct wr_real;

#define QPN_NONE 0xffffffff

struct qp {
	/* Constant once the program has the QP, but for .post, .quiet, .order, .stays and .reg. */
	const alive_t *alive;
	/* post_ordered() or post_counted(), as .order says. */
	int (*post)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad,
		    struct qp *q);
	int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
	int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
	struct swiftrdma_slot *slot;
	struct signalled *ring;		/* NULL: requests are counted only */
	struct context *ctx;
	const __u64 *changes;		/* the job's change counter in control */
	uint64_t quiet;			/* its value at which no knob is in force; written atomically */
	struct device_knobs *knobs;
	/* What follows is cleared before the struct is used for another QP. */
	uint32_t qpn;		/* QPN_NONE: the QP is gone */
	uint32_t ring_mask;
	_Atomic bool order;	/* completions are matched with requests */
	bool sig_all;
	bool own_slot;		/* .slot is .spare_slot, not one of a report */
	bool by_default;	/* it has a register that the provider chose */
	struct placed *placed;	/* in a register of the library; else NULL */
	struct chunk_queue *chunk;	/* one of .chunk_spare; NULL: its requests are not split */
	struct move *_Atomic move;	/* NULL: it cannot move */
	const char *move_why;		/* why it can never move; NULL: it can, or the reason is not known */
	const char *stays;		/* call by which the program has pinned it, or NULL; under .life of .move */
	_Atomic uintptr_t reg;		/* the register that its requests ring; 0: not known */
	uint32_t asked_send_wr;		/* size that the program asked for, if the queue is larger; else 0 */
	struct ibv_qp *key;		/* NULL: the QP is gone; written atomically */
	struct ibv_cq *send_cq;
	struct wr_real *wr_real;	/* .wr_spare, or NULL */

	/* The poster's, under .sq. */
	struct bias sq __attribute__((aligned(CACHE_LINE)));
	_Atomic uintptr_t post_owner;	/* see posts_alone() */
	_Atomic uintptr_t recv_owner;
	_Atomic uint32_t posted;	/* requests, a sequence number */
	_Atomic uint32_t sig_posted;	/* signalled ones */
	/* Between wr_start and wr_complete. */
	struct wr_build {
		uint64_t bytes;
		uint32_t n, sig;
		enum bias_token token;
		bool order;
		struct pace_pass pass;
		struct chunk_batch large;
	} build;
	_Atomic uint32_t last_batch;	/* requests of the last wr_complete */

	/* The poller's, under .lock of the CQ. */
	_Atomic uintptr_t poll_owner __attribute__((aligned(CACHE_LINE)));
	_Atomic uint32_t done;
	_Atomic uint32_t sig_done;
	_Atomic uint32_t hol_tail, lat_tail;

	struct sampling sampling __attribute__((aligned(CACHE_LINE)));

	/* Sequence numbers up to which its requests are in the sum of outstanding ones, see credits.c. */
	struct bias credit_lock __attribute__((aligned(CACHE_LINE)));
	uint32_t credit_posted, credit_done;	/* under .credit_lock */
	_Atomic uint32_t reserved;	/* requests that posts under way have credits for */
	struct qp *next_free;
	/* Kept when the struct is used for another QP. */
	struct wr_real *wr_spare;
	struct chunk_queue *chunk_spare;
	struct swiftrdma_slot *spare_slot;
	struct ring *rings;
	struct qp *next_all;
};

/* How a QP was created. */
struct qp_want {
	uint32_t max_send_wr;
	bool sig_all;
	bool ring;	/* false: only count */
	bool opened;	/* by ibv_open_qp(): another process's QP, which gets no slot */
	bool own_domain;	/* in a parent domain of the program */
	struct placed *placed;
};

/* Adds a new QP; does nothing if it is known. */
struct qp *qp_add(struct context *c, struct ibv_qp *qp, const struct qp_want *want);
void qp_remove(struct qp *q);
/* The program closes @c without having destroyed these QPs. Their CQs must not be polled any more. */
void qp_remove_all(struct context *c);
/* Called after RESET: nothing is outstanding, and measuring begins anew. */
void qp_reset(struct qp *q);
/* Requests are only counted until the next RESET. Sets @flag in the slot, too. */
void qp_lose_order(struct qp *q, uint32_t flag);
void qp_forget_all(void);
/* The first of all structs, linked by .next_all; those of destroyed QPs have no key. */
struct qp *qp_all(void);

/* Adds a signalled request to the ring, before it is posted; called with .sq held. */
static inline void qp_push(struct qp *q, uint64_t wr_id, uint32_t sig, uint32_t end)
{
	q->ring[sig & q->ring_mask] = (struct signalled){ .wr_id = wr_id, .end = end };
}

void qp_sample(struct qp *q, uint32_t from, uint32_t n);
void qp_unsample(struct qp *q, uint32_t end);
void qp_completed(struct qp *q, uint32_t done, uint64_t now);

/* Called before requests are posted: takes a sample if it is time for one. */
static inline void qp_about_to_post(struct qp *q, uint32_t from, uint32_t n)
{
	q->sampling.countdown -= (int32_t)n;
	if (unlikely(q->sampling.countdown <= 0))
		qp_sample(q, from, n);
}

/*
 * False: a knob is in force, or control has changed. Must not be called in a forked child, in which
 * control is not mapped.
 */
static inline bool control_quiet(const struct qp *q)
{
	return likely(__atomic_load_n(q->changes, __ATOMIC_RELAXED) == q->quiet);
}

struct qp *qp_find_slow(const struct ibv_qp *qp);

static inline bool claim_owner(_Atomic uintptr_t *owner)
{
	uintptr_t me = self_thread(), was = atomic_load_explicit(owner, memory_order_relaxed);

	if (likely(was == me))
		return true;
	return !was && atomic_compare_exchange_strong(owner, &was, me);
}

/* True: the calling thread owns the counters of a QP without a ring, as the first that posted. */
bool claim_posts(struct qp *q);

/*
 * True if the calling thread alone writes the counters called owner: with a ring, the thread
 * that the lock is biased to; without one, the first thread that posted.
 */
static inline bool posts_alone(struct qp *q, enum bias_token token)
{
	return likely(token == BIAS_OWNER ||
		      atomic_load_explicit(&q->post_owner, memory_order_relaxed) == self_thread()) ||
	       claim_posts(q);
}

void count_posted_others(struct qp *q, uint64_t n, uint64_t bytes);

/* Post to a QP with .order, and to one without. */
int post_ordered(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr,
		 struct qp *q);
int post_counted(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr,
		 struct qp *q);

static inline void count_posted(struct qp *q, bool mine, uint64_t n, uint64_t bytes)
{
	struct swiftrdma_posted *p = &q->slot->post_owner;

	if (unlikely(!mine)) {
		count_posted_others(q, n, bytes);
		return;
	}
	p->wrs += n;
	p->bytes += bytes;
	p->calls++;
}

int lib_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int lib_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int lib_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int lib_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* --- wr_ex.c ------------------------------------------------------------------------------ */

/*
 * Replaces the functions of @qpx, also those that the provider has set again since the last call.
 * False: out of memory; the functions stay the provider's.
 */
bool wr_patch(struct qp *q, struct ibv_qp_ex *qpx);

/* --- cq.c ---------------------------------------------------------------------------------- */

struct cq {
	const alive_t *alive;
	struct ibv_cq *key;		/* NULL: the CQ is gone; written atomically */
	struct context *ctx;
	/* poll_ordered(), poll_counted() or, after the lock was lost, poll_unlocked(). */
	int (*poll)(struct ibv_cq *cq, int n, struct ibv_wc *wc, struct cq *c);
	int (*poll_cq)(struct ibv_cq *cq, int n, struct ibv_wc *wc);
	struct qp *_Atomic last;	/* of the completion before */
	int (*start_poll)(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr);
	int (*next_poll)(struct ibv_cq_ex *cq);
	struct entries *entries;	/* of an extended CQ on which QPs may move; else NULL */
	/* The program polls by start_poll, under the provider's lock and not under .lock. */
	_Atomic bool by_entry;
	struct cq *next_free;
	struct bias lock __attribute__((aligned(CACHE_LINE)));
	const struct device_knobs *knobs;
	struct stash *_Atomic stash;	/* NULL: never needed */
	uint32_t cqe;
	_Atomic uint32_t exempt;	/* epoch of the bound on credits in which posts do not wait for it */
	bool has_channel;
	struct notifier *_Atomic notifier;	/* NULL: no QP has moved, or it has no channel */
	uint32_t notifier_qpn;		/* QPN_NONE: none */
	_Atomic bool notifier_pending;	/* its completion may be in the CQ */
	/* See chunk.c. */
	bool split;			/* requests that complete here may be split */
	bool moves;			/* QPs that complete here may move; see move.c */
	bool move_room;			/* it has MOVE_CQ_ROOM entries more */
	bool resized, shown;		/* by ibv_resize_cq(), mlx5dv_init_obj() */
	/*
	 * Receives of an SRQ in a parent domain complete here. libmlx5 does not lock such an SRQ when a
	 * completion gives back its entry, so only the program may poll.
	 */
	bool unlocked_srq;
	uint32_t added;			/* entries, for pieces */
	uint32_t room;			/* of these, what no QP has; under lib_lock() */
	struct entries *entries_spare;	/* kept when the struct is used for another CQ */
	const struct split *entry_split;	/* of the entry that start_poll or next_poll read */
	uint32_t (*read_byte_len)(struct ibv_cq_ex *cq);
};

/* NULL: the library does not know it. */
static inline struct cq *cq_find(const struct ibv_cq *cq)
{
	return table_find(&cqs, cq);
}

struct cq *cq_add(struct context *c, struct ibv_cq *cq);
/* Replaces the functions of @cqx. */
void cq_patch(struct cq *c, struct ibv_cq_ex *cqx);
/* Notes that the queue was created with @room entries more than the program asked for. */
void cq_add_room(struct cq *c, uint32_t room);
void cq_remove(struct ibv_cq *key, struct cq *c);
void cq_forget_all(void);
int lib_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
/* Polls, and accounts for the completions; called with .lock held. */
int cq_take(struct cq *c, int n, struct ibv_wc *wc, enum bias_token token);

/* --- notify.c ------------------------------------------------------------------------------- */

/*
 * Creates the CQ's notifier, unless the CQ has one or no channel. False: it cannot be created. @attr:
 * port and partition key of a QP on the CQ. Called by the thread that moves QPs, while the CQ is in use.
 */
bool notifier_create(struct cq *c, const struct ibv_qp_attr *attr);
/*
 * Destroys the notifier, before the program's CQ is destroyed. False: there was no notifier. If the
 * provider then fails to destroy the CQ, the caller creates another notifier with @attr.
 */
bool notifier_destroy(struct cq *c, struct ibv_qp_attr *attr);
/* Whether the completion is the notifier's. */
bool notifier_completed(struct cq *c, uint32_t qpn);
int lib_req_notify_cq(struct ibv_cq *cq, int solicited_only);

/* --- entries.c ------------------------------------------------------------------------------ */

/* Raises what @attr asks for, so that QPs on the CQ can move. False: they cannot. */
bool entries_ask(struct ibv_cq_init_attr_ex *attr);
/*
 * Replaces the functions of a CQ that was created as entries_ask() asked. False: out of memory, or the
 * provider lacks a function that is needed.
 */
bool entries_patch(struct cq *c, struct ibv_cq_ex *cqx);

/* --- process.c: QPs and CQs that were found last -------------------------------------------- */

#define CACHE_SIZE 256
#define CACHE_INDEX(key) ((uintptr_t)(key) >> 9 & (CACHE_SIZE - 1))
#define PAGE_BYTES 4096

/*
 * By address. A fork wipes this memory in the child: an object that is found here belongs to
 * this process, and *alive need not be read. An entry is the distance in bytes from .none, so
 * that a wiped entry stands for .none, which has no key.
 */
struct recent_qps {
	struct qp none;
	uintptr_t entry[CACHE_SIZE];
} __attribute__((aligned(PAGE_BYTES)));

struct recent_cqs {
	struct cq none;
	uintptr_t entry[CACHE_SIZE];
} __attribute__((aligned(PAGE_BYTES)));

extern struct recent_qps recent_qps;
extern struct recent_cqs recent_cqs;

/* NULL: the cache entry holds another object. */
static inline struct qp *qp_cached(const struct ibv_qp *qp)
{
	struct qp *q = (void *)((uintptr_t)&recent_qps.none + recent_qps.entry[CACHE_INDEX(qp)]);

	return likely(q->key == qp && q->qpn == qp->qp_num) ? q : NULL;
}

static inline struct cq *cq_cached(const struct ibv_cq *cq)
{
	struct cq *c = (void *)((uintptr_t)&recent_cqs.none + recent_cqs.entry[CACHE_INDEX(cq)]);

	return likely(c->key == cq) ? c : NULL;
}

static inline void cache_qp(struct qp *q)
{
	__atomic_store_n(&recent_qps.entry[CACHE_INDEX(q->key)],
			 (uintptr_t)q - (uintptr_t)&recent_qps.none, __ATOMIC_RELEASE);
}

static inline void cache_cq(struct cq *c)
{
	__atomic_store_n(&recent_cqs.entry[CACHE_INDEX(c->key)],
			 (uintptr_t)c - (uintptr_t)&recent_cqs.none, __ATOMIC_RELEASE);
}

static inline struct qp *qp_find(const struct ibv_qp *qp)
{
	struct qp *q = qp_cached(qp);

	return likely(q) ? q : qp_find_slow(qp);
}

/* The move of a QP; NULL: the QP cannot move. @q may be NULL. */
static inline struct move *move_of(const struct qp *q)
{
	return q && *q->alive ? atomic_load_explicit(&q->move, memory_order_acquire) : NULL;
}

/* --- preload.c ------------------------------------------------------------------------------ */

/* Functions of libibverbs, which the library replaces or calls itself. Replaced by tests. */
struct next {
	struct ibv_context *(*open_device)(struct ibv_device *device);
	struct ibv_context *(*import_device)(int cmd_fd);
	int (*close_device)(struct ibv_context *ctx);
	struct ibv_cq *(*create_cq)(struct ibv_context *ctx, int cqe, void *cq_context,
				    struct ibv_comp_channel *channel, int comp_vector);
	int (*resize_cq)(struct ibv_cq *cq, int cqe);
	int (*query_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			struct ibv_qp_init_attr *init);
	int (*destroy_cq)(struct ibv_cq *cq);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *ctx);
	struct ibv_qp *(*create_qp)(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
	int (*dealloc_pd)(struct ibv_pd *pd);
	int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
	int (*destroy_qp)(struct ibv_qp *qp);
	struct ibv_qp_ex *(*qp_to_qp_ex)(struct ibv_qp *qp);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *addr, size_t length, int access);
	int (*get_async_event)(struct ibv_context *ctx, struct ibv_async_event *event);
	void (*ack_async_event)(struct ibv_async_event *event);
	struct ibv_mr *(*reg_mr_iova)(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				      int access);
	struct ibv_mr *(*reg_mr_iova2)(struct ibv_pd *pd, void *addr, size_t length,
				       uint64_t iova, unsigned int access);
};

extern struct next next;

struct mlx5dv_qp_init_attr;
struct mlx5dv_cq_init_attr;
struct mlx5dv_obj;
struct mlx5dv_sched_leaf;

EXPORT struct ibv_qp *mlx5dv_create_qp(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
				       struct mlx5dv_qp_init_attr *dv);
EXPORT struct ibv_cq_ex *mlx5dv_create_cq(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr,
					  struct mlx5dv_cq_init_attr *dv);
EXPORT int mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t obj_type);
EXPORT int mlx5dv_modify_qp_lag_port(struct ibv_qp *qp, uint8_t port);
EXPORT int mlx5dv_query_qp_lag_port(struct ibv_qp *qp, uint8_t *port, uint8_t *active);
EXPORT int mlx5dv_modify_qp_udp_sport(struct ibv_qp *qp, uint16_t port);
EXPORT int mlx5dv_modify_qp_sched_elem(struct ibv_qp *qp, const struct mlx5dv_sched_leaf *requestor,
				       const struct mlx5dv_sched_leaf *responder);

/* Those of libmlx5; NULL: not looked up yet. Replaced by tests. */
struct next_mlx5 {
	struct ibv_qp *(*_Atomic create_qp)(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
					    struct mlx5dv_qp_init_attr *dv);
	struct ibv_cq_ex *(*_Atomic create_cq)(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr,
					       struct mlx5dv_cq_init_attr *dv);
	int (*_Atomic init_obj)(struct mlx5dv_obj *obj, uint64_t obj_type);
	int (*_Atomic modify_qp_lag_port)(struct ibv_qp *qp, uint8_t port);
	int (*_Atomic query_qp_lag_port)(struct ibv_qp *qp, uint8_t *port, uint8_t *active);
	int (*_Atomic modify_qp_udp_sport)(struct ibv_qp *qp, uint16_t port);
	int (*_Atomic modify_qp_sched_elem)(struct ibv_qp *qp,
					    const struct mlx5dv_sched_leaf *requestor,
					    const struct mlx5dv_sched_leaf *responder);
};

extern struct next_mlx5 next_mlx5;

/* The function of libmlx5; NULL: it has none. Threads that look it up at the same time find the same. */
#define FIND_MLX5(member, version) ({ \
	if (!atomic_load(&next_mlx5.member)) \
		atomic_store(&next_mlx5.member, lookup_next("libmlx5.so.1", "mlx5dv_" #member, \
							     "MLX5_" version)); \
	atomic_load(&next_mlx5.member); \
})

/* Called after the provider created a QP. False: the library does not see all of its posts. */
bool track_qp(struct context *c, struct ibv_qp *qp, const struct qp_want *want);

/* --- lookup.c ------------------------------------------------------------------------------ */

/*
 * Finds @name in the libraries that follow this one in the search order, because another preloaded
 * library may replace it, too. If none of them has it, this library comes after @lib, and @name is
 * looked up in @lib.
 */
void *lookup_next(const char *lib, const char *name, const char *version);

/* --- figures.c, stats.c ------ */

void figures_of_slot(struct swiftrdma_figures *f, const struct swiftrdma_slot *slot);
void figures_of_device(struct swiftrdma_figures *f, const struct device *dev);
void quantile_of(const struct swiftrdma_hist *h, double q, struct swiftrdma_quantile *r);
/* Appends one line of JSON for this process to settings.stats. */
void stats_write(void);

#pragma GCC visibility pop

#endif /* LIB_LIB_H */
