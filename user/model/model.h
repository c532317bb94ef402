/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A model of where an RDMA NIC is contended: doorbell registers, the cache of
 * contexts, work requests outstanding, processing units, the port.
 *
 *    post -> [UAR, one server a register] -> granted: "in the NIC"
 *         -> [request slot of the QP, if it is a READ; room for its WQE]
 *         -> [PU of the QP, first in first out; cache misses stall it]
 *         -> [port: classes, elements, QPs, one packet a step]
 *         -> [pipe, a constant delay] -> done
 *
 * Integers only, no allocation, no clock of its own: the caller gives the
 * memory and says what time it is. The same files are compiled into a kernel
 * module, driven by a real clock, and into programs driven by a virtual one.
 *
 * Time is picoseconds in 64 bits (213 days): at 200 Gbit/s a byte takes 40 ps,
 * so nanoseconds would be too coarse. A packet that takes no whole number of
 * picoseconds (a byte at 3 Gbit/s) passes the remainder on to the next packet,
 * so rates are exact over any time.
 *
 * Everything is O(1) or, once for each event, O(log n) in the number of UARs
 * and elements. The same calls with the same seed give the same answers.
 *
 * The caller serialises all calls on one model; a field may be read at any
 * time. Functions that can fail return 0 or -errno.
 *
 * The locks of the host are not in here. A device cannot see threads that wait
 * for a register's lock, so it charges them to the register itself (uar_ps);
 * a caller that models threads and their locks (struct model_host) sets uar_ps
 * to 0, or it would charge them twice.
 */
#ifndef SRDMA_MODEL_MODEL_H
#define SRDMA_MODEL_MODEL_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#endif

#define MODEL_NONE	0xffffffffU	/* no index, no bound */
#define MODEL_NEVER	0xfffffffffffffffeULL	/* no time; MODEL_NEVER + 1 does not overflow */
#define MODEL_CLASSES	8		/* traffic classes of a port, 7 the highest */
#define MODEL_PUS	64		/* processing units at most */
#define MODEL_PS	1000000000000ULL	/* picoseconds in a second */

/* What a WR needs from the NIC besides its WQE. */
enum model_op {
	MODEL_INLINE,	/* nothing: a payload, if any, is inline in the WQE */
	MODEL_WRITE,	/* SEND or WRITE: a payload in the host's memory */
	MODEL_READ,	/* READ or atomic: a request slot of its QP until it is done */
};

/* The most request slots of a ConnectX's QP: its max_qp_rd_atom. */
#define MODEL_READS	16

/* Marsaglia's xorshift32; @state is not 0. */
static inline uint32_t model_xorshift(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/*
 * A line that will be written to soon. The asm is without an instruction: it keeps gcc from
 * dropping calls of functions that do nothing but prefetch, as having no effect.
 */
static inline void model_prefetch(const void *line)
{
	__builtin_prefetch(line, 1);
	__asm__ volatile("");
}

/* Kinds of context that share the cache. */
enum model_kind {
	MODEL_QPC,	/* QP context */
	MODEL_MTT,	/* a memory region's key and translations */
	MODEL_CQC,	/* CQ context */
	MODEL_KINDS,
};

/*
 * What a NIC is like. 0 means "not modelled: takes no time, has no bound"
 * unless said otherwise. May be changed while the model runs.
 */
struct model_params {
	uint32_t seed;		/* of the jitter; 0 is taken as 1 */

	/* UAR: the time of one WR on a register that several QPs use. */
	uint32_t uar_ps;	/* with one contending QP */
	uint32_t uar_exp;	/* with n: times n^(uar_exp / 1000); up to MODEL_EXP */
	uint32_t uar_hold_ps;	/* how long an uncontended WR delays others */
	uint32_t uar_raise;	/* waiting WRs at which congestion is raised; 0: never */
	uint32_t uar_clear;	/* waiting WRs at which it is cleared; below uar_raise */

	/* Cache of contexts, in bytes of NIC memory. */
	uint32_t cache_bytes;
	uint32_t entry_bytes[MODEL_KINDS];	/* at least 1 if there is a cache */
	uint32_t fetch_ps;	/* how long a PU waits for a context not in the cache */

	/*
	 * WQEs that the NIC holds, from doorbell to completion; further ones displace
	 * others.
	 */
	uint32_t wqe_limit;
	uint32_t wqe_refetch_q8;	/* cost of fetching a WQE again, in WQE times * 256 */

	/* Processing units. */
	uint32_t pus;		/* up to MODEL_PUS */
	uint32_t pu_ps;		/* a unit's time for a WQE */
	uint32_t payload_ps;	/* additional time, if it fetches a payload */
	uint32_t jitter_pct;	/* +-, uniform, of that; 0..100 */
	uint32_t ctrl_ps;	/* a unit's time for a control verb, by default */

	/* Port. */
	uint64_t link_bps;	/* bit/s */
	uint32_t mtu;		/* payload bytes of a packet, at least 1 */
	uint32_t header;	/* bytes of each packet's headers */
	uint8_t whole_messages;	/* a QP's turn lasts until its message is sent; 0: a packet */
	uint8_t strict;		/* bit per class: strict priority, before all others */
	uint8_t weight[MODEL_CLASSES];	/* share of a class that is not strict; 0 means 1 */

	uint32_t pipe_ps;	/* from the end of the last packet to the completion */
	uint32_t late_ps;	/* a completion reported later than this counts as late */
};

/* The host's side, for callers that model threads; nothing here uses it. */
struct model_host {
	uint32_t post_ps;	/* CPU time of posting a WR */
	uint32_t cores;		/* threads beyond these share a core */
	uint32_t share_q8;	/* more CPU time with twice as many threads, * 256 */
	uint32_t load_q8;	/* additional CPU time when there is a thread per core, * 256 */
	uint32_t uar_lock_ps;	/* register lock, with one contender, */
	uint32_t uar_exp;	/* and with n: times n^(uar_exp / 1000) */
	uint32_t uar_hold_ps;	/* how long an uncontended post delays others */
	/*
	 * Lock of a QP that several threads use: time to hand it to the only waiting thread,
	 */
	uint32_t qp_alone_ps;
	uint32_t qp_lock_ps;	/* or with n waiting threads: this, times n^(qp_exp / 1000) */
	uint32_t qp_exp;
};

enum model_preset {
	MODEL_OFF,	/* nothing takes time: for tests of function */
	MODEL_CX5,	/* ConnectX-5, 100 Gbit/s */
	MODEL_CX6,	/* ConnectX-6, 200 Gbit/s */
	MODEL_PRESETS,
};

/* "off", "cx5", "cx6"; -1 for another. */
int model_preset_named(const char *name);
void model_preset(enum model_preset preset, struct model_params *params);
void model_preset_host(enum model_preset preset, struct model_host *host);

/* The numbers of objects that the caller's memory is for. */
struct model_sizes {
	uint32_t uars;		/* doorbell registers (bfregs), at least 1 */
	uint32_t qps;		/* at least 1 */
	uint32_t wrs;		/* WRs posted and not done, of all QPs; at least 1 */
	uint32_t elements;	/* scheduling elements, at least 1; 0 is the default one */
	uint32_t contexts;	/* contexts that the cache can hold, at least 1 */
};

/* Sources of events, ordered by the time of each source's next event. */
struct model_events {
	uint64_t *when;		/* of a node of the tree, 1 is the root */
	uint32_t *src;		/* whose time that is */
	uint32_t leaf;		/* node of source 0; then those of the others */
};

/* The caller provides the memory: a time and a source for each node of the tree. */
size_t model_events_nodes(uint32_t sources);
void model_events_init(struct model_events *e, uint64_t *when, uint32_t *src, uint32_t sources);
/*
 * Sets the time of a source; MODEL_NEVER: no event. Equal times are ordered by source, so
 * the order is always the same.
 */
static inline void model_events_set(struct model_events *e, uint32_t src, uint64_t when)
{
	uint32_t i = e->leaf + src, other_src;
	uint64_t other;
	bool lost;

	if (e->when[i] == when)
		return;
	e->when[i] = when;
	e->src[i] = src;
	while (i > 1) {
		other = e->when[i ^ 1];
		other_src = e->src[i ^ 1];
		/* An odd node is the right child, which loses a draw; MODEL_NEVER + 1 fits. */
		lost = other < when + (i & 1);
		src = lost ? other_src : src;
		when = lost ? other : when;
		i /= 2;
		e->when[i] = when;
		e->src[i] = src;
	}
}

/* The time of the first event; MODEL_NEVER: no source has one. */
static inline uint64_t model_events_first(const struct model_events *e)
{
	return e->when[1];
}

/* The source of the first event. */
static inline uint32_t model_events_source(const struct model_events *e)
{
	return e->src[1];
}

/* A linked list of indexes, first in first out. */
struct model_list {
	uint32_t head, tail;	/* MODEL_NONE: empty */
};

/* A larger number of contenders counts as this; the measurements have 96. */
#define MODEL_CROWD 130

/* How long one contender has a lock or register, by the number of contenders. */
struct model_crowd {
	uint64_t ps[MODEL_CROWD + 1];	/* itself included */
};

/* @one_ps * n^(@exp / 1000); @exp up to MODEL_EXP */
void model_crowd_init(struct model_crowd *c, uint32_t one_ps, uint32_t exp);
#define MODEL_EXP 2000

static inline uint64_t model_crowd_ps(const struct model_crowd *c, uint32_t n)
{
	return c->ps[n < MODEL_CROWD ? n : MODEL_CROWD];
}

/* A doorbell register. It grants the work of its QPs in turns. One cache line. */
struct model_uar {
	struct model_list qps;	/* QPs with ungranted work, the one served first */
	uint32_t attached;	/* QPs that use it */
	uint32_t active;	/* QPs on the list */
	uint32_t pending;	/* WRs not granted, of those QPs */
	uint32_t last_qp;	/* the QP whose WR was granted last; MODEL_NONE at first */
	bool serving;		/* the first QP has the register; else it is free at free_at */
	bool congested;
	uint32_t peak;		/* most WRs ever pending */
	uint64_t free_at;	/* ps: until then a doorbell of another QP meets it busy */
	uint64_t granted;	/* WRs, ever */
	uint64_t contended;	/* WRs of these that had to wait */
	uint64_t wait_ps;	/* summed over these */
};

/* Two cache lines: what a WR needs until its unit starts it, and what it needs at the port. */
struct model_qp {
	/* The arguments of model_open(). */
	uint32_t qpn, uar, cq, element;
	uint32_t reads;		/* its request slots; 0: no bound */
	uint8_t cls;
	bool open;

	bool listed;		/* has WRs at the port, and is on the group's list */
	uint8_t pu;		/* its processing unit, qpn modulo their number */
	uint32_t in_pu;		/* WRs waiting for its unit, or in it */
	uint32_t epoch;		/* WRs of an older generation are discarded */
	uint32_t slots;		/* request slots that are taken */
	uint32_t at_qpc, at_cqc;	/* slots of its contexts at their last use */
	uint64_t posted, done;	/* WRs, since it was opened, without discarded ones */

	struct model_list ungranted;	/* WRs waiting for the register */
	struct model_list stalled;	/* WRs waiting for a request slot, or behind one */
	uint64_t bytes;		/* payload of those that are not done */
	struct model_list ready;	/* WRs at the port; only the head may be sent */
	uint64_t ready_bytes;	/* their bytes that are not sent */
	uint32_t n_ready;	/* their number */
	uint32_t uar_next;	/* on the register's list */
	uint32_t ready_prev, ready_next;	/* on the group's list */
	int32_t deficit;	/* bytes that it may still send in this turn */
};

/* One cache line. */
struct model_wr {
	uint64_t cookie;	/* the caller's */
	uint64_t mtt;		/* cache key, 0: needs no translation */
	uint64_t posted;	/* ps */
	uint64_t due;		/* ps, in the pipe: when it is done */
	uint32_t qp, epoch;
	uint32_t bytes, left;	/* bytes of payload; bytes not sent yet */
	uint32_t next;		/* link of the list that it is on */
	uint32_t held;		/* place of its WQE in the NIC; MODEL_NONE: not there */
	uint8_t op;
	bool stalled;		/* waited for a request slot outside of the NIC */
};

struct model_pu {
	struct model_list wrs;	/* WRs; the head is being executed if busy */
	bool busy;
	bool stalled;		/* busy with something else than the head */
	uint64_t stall_ps;	/* time of work that goes first: control verbs, fetches */
	uint64_t free_at;	/* ps, if busy */
	uint64_t done;		/* WQEs, ever */
	uint64_t busy_ps;	/* total time, stalls included */
};

/* QPs of one element in one class. */
struct model_group {
	struct model_list qps;	/* QPs with WRs at the port; doubly linked */
	uint32_t prev, next;	/* on the class's list of groups */
	bool listed;		/* on that list: it has QPs, and its element may send */
	int32_t deficit;	/* bytes, this turn */
};

/* Scheduling element: a share of each class, and a rate over all classes. */
struct model_element {
	struct model_group group[MODEL_CLASSES];
	uint32_t weight;	/* packets a turn, at least 1 */
	uint64_t max_bps;	/* 0: no limit */
	uint64_t burst_ps;	/* how far it may get ahead of its rate */
	uint64_t tat;		/* ps: when the bytes sent would have left at its rate */
	uint64_t carry;		/* remainder of the time, in 1/max_bps ps */
	bool blocked;		/* further ahead than it may be, so it waits */
	uint64_t sent_bytes;	/* with headers, ever */
	uint64_t blocks;	/* number of times that it had to wait */
};

struct model_class {
	struct model_list groups;	/* doubly linked */
	int64_t turn;		/* bytes sent / weight, compared between classes */
	uint64_t backlog;	/* bytes at the port, not sent */
	uint32_t waiting;	/* WRs at the port whose last packet has not begun */
	uint64_t sent_bytes, packets;	/* with headers, ever */
};

struct model_port {
	struct model_class cls[MODEL_CLASSES];
	int64_t turn;		/* of the class that sent last */
	uint64_t free_at;	/* ps: until then a packet is on the wire */
	uint64_t due;		/* ps: when the next one may begin; MODEL_NEVER: none waits */
	uint64_t carry;		/* remainder of a packet's time, in 1/link_bps ps */
	uint32_t wire_bytes;	/* bytes of the last packet, */
	uint64_t wire_ps, wire_rest;	/* and its time without the carry */
	uint8_t listed;		/* bit per class that has something to send */
	uint64_t busy_ps;	/* ever */
	uint8_t paused;		/* bit per class that may not begin a packet */
	bool stalled;		/* only such classes have something to send */
	uint64_t stalled_at;	/* ps, if it is */
	uint64_t stalled_ps;	/* total time of that, up to its last end */
};

/* A context that is, or was, in the cache. */
struct model_context {
	uint64_t name;		/* its key and kind */
	uint64_t last_use;	/* its place in the order of uses */
};

struct model_cache {
	uint32_t *bucket;	/* heads of chains */
	uint32_t mask;		/* buckets - 1 */
	uint32_t slots;		/* for contexts */
	struct model_context *ctx;
	uint32_t *next;		/* per slot: on the chain of its bucket, or on the free list */
	uint32_t free;		/* list of slots without a context */
	uint32_t use_mask;	/* entries of the ring - 1 */
	uint32_t *use;		/* ring of slots in the order of use, one entry a use */
	uint64_t oldest, newest;	/* places: of its first entry, and behind the last */
	uint32_t n;		/* contexts in the cache */
	uint64_t bytes;		/* their size */
};

/* Totals since model_init(). */
struct model_stats {
	uint64_t posted, done, dropped;		/* WRs; posted minus done are in the model */
	uint64_t posted_bytes, done_bytes, dropped_bytes;
	uint64_t hits[MODEL_KINDS], misses[MODEL_KINDS];
	uint64_t evictions;
	uint64_t fetch_ps;	/* PUs stalled for contexts */
	uint64_t refetch_ps;	/* PUs fetched WQEs again */
	uint64_t refetched;	/* how many */
	uint64_t stalled;	/* WRs that waited for a request slot, or behind one */
	uint64_t ctrl, ctrl_ps;	/* control verbs, and the time of PUs that they took */
	uint64_t raised, cleared;	/* congestion of UARs */
	uint64_t late, late_max_ps;	/* completions that were reported late */
};

struct model_done {
	uint64_t cookie;
	uint64_t at;		/* ps: when it was done */
	uint64_t posted;	/* ps */
	uint32_t qp, bytes;
};

/*
 * Callbacks; each may be NULL. done() may call any function except model_run_until() and
 * model_step(), and posts at the time that it is given. The other callbacks may call none.
 */
struct model_ops {
	void (*done)(void *ctx, const struct model_done *done);
	/* A packet with @bytes bytes of the WR's payload begins. */
	void (*sent)(void *ctx, uint64_t cookie, uint32_t bytes);
	void (*congestion)(void *ctx, uint32_t uar, bool congested, uint64_t at);
};

/* Too large, at some kilobytes, for a kernel stack. */
struct model {
	struct model_params p;
	struct model_sizes n;
	const struct model_ops *ops;
	void *ctx;
	uint64_t now;		/* ps: the latest time of a call or an event */
	uint64_t until;		/* ps: the argument of model_run_until() */
	uint32_t rng;
	uint32_t jitter_q16;	/* jitter_pct, * 65536 */
	uint32_t inflight;	/* WRs in the NIC: granted, not done */
	uint32_t ungranted;	/* WRs waiting for a register */
	struct model_crowd crowd;	/* how long a QP has a register */
	uint32_t congested;	/* UARs that are congested */
	uint32_t ctrl_pu;	/* the unit that gets the next control verb */
	uint32_t free_wr;	/* list of unused */
	struct model_list pipe;	/* WRs by due */
	uint64_t pipe_due;	/* the time of the first of them, or MODEL_NEVER */
	uint32_t *held;		/* WRs whose WQEs the NIC has */
	uint32_t n_held;
	struct model_uar *uar;
	struct model_qp *qp;
	struct model_wr *wr;
	struct model_element *element;
	struct model_pu pu[MODEL_PUS];
	struct model_port port;
	struct model_cache cache;
	struct model_stats stats;
	/* Units have a tree of their own, because they are few and have nearly all events. */
	struct model_events units;	/* next events of units, */
	struct model_events next;	/* of registers and elements */
};

/* The bytes of memory that model_init() needs. */
size_t model_bytes(const struct model_sizes *sizes);

/*
 * @mem and @ops must stay valid while the model is used. Time begins at 0. -EINVAL: invalid
 * sizes or parameters.
 */
int model_init(struct model *m, void *mem, const struct model_sizes *sizes,
	       const struct model_params *params, const struct model_ops *ops,
	       void *ctx);

/* Affects work that begins from now on; work in progress is not changed. -EINVAL. */
int model_set_params(struct model *m, const struct model_params *params);

struct model_qp_attr {
	uint32_t qpn;		/* its unit is qpn modulo units */
	uint32_t uar;
	uint32_t cq;		/* cache key */
	uint32_t element;
	uint32_t reads;		/* request slots of READs, 0: no bound */
	uint8_t cls;
};

/* @qp: the caller's number for the QP, 0..qps-1. -EINVAL; -EBUSY: the QP is open. */
int model_qp_open(struct model *m, uint32_t qp, const struct model_qp_attr *attr);

/*
 * Class and element change at the next packet. The QPN must not change. -EBUSY: the UAR
 * changes, and WRs still wait for the old UAR.
 */
int model_qp_modify(struct model *m, uint32_t qp, const struct model_qp_attr *attr);

/*
 * Discards the WRs of the QP and returns their number. None of them is reported as done. The
 * QP stays open. The time is linear in the WRs that are not yet on a unit.
 */
uint32_t model_qp_flush(struct model *m, uint32_t qp);

/* Flushes the QP and frees its number. */
void model_qp_close(struct model *m, uint32_t qp);

/*
 * @burst: bytes that the element may be ahead of its rate when it begins a
 * packet; 0: the rate paces each packet. @weight as in struct model_element, 0
 * as 1. -EINVAL.
 */
int model_element_set(struct model *m, uint32_t element, uint64_t max_bps,
		      uint32_t burst, uint32_t weight);

/*
 * Pauses the classes (a bit each) that the other end of the wire has paused, and resumes all
 * others. A packet on the wire ends. -EBUSY as in model_post().
 */
int model_pause(struct model *m, uint8_t classes, uint64_t now);

/*
 * Posts one WR with a doorbell of its own. @now must not be after the next event: call
 * model_run_until(now) first, else -EBUSY. A time before the model's time counts as the
 * model's time. -ENOBUFS: the model has no memory for another WR; post again when the next
 * one is done. -EINVAL: no such QP.
 */
int model_post(struct model *m, uint32_t qp, enum model_op op, uint32_t bytes,
	       uint64_t mtt, uint64_t cookie, uint64_t now);

/*
 * A hint that WRs of @qp will be posted soon: prefetches the QP, since most of many QPs are
 * not in the CPU's caches.
 */
static inline void model_expect(const struct model *m, uint32_t qp)
{
	const char *line = (const char *)&m->qp[qp];
	size_t i;

	for (i = 0; i < sizeof(*m->qp); i += 64)
		model_prefetch(line + i);
}

/*
 * A control verb takes @ps (0: ctrl_ps) of a unit; units take turns, and the verb goes
 * before waiting WQEs. @done: out, when it will be done. -EBUSY as above.
 */
int model_control(struct model *m, uint64_t ps, uint64_t now, uint64_t *done);

/*
 * The receiving side of @qp uses a context; a miss stalls the QP's unit. 1: a miss; 0: a
 * hit; -EINVAL, -EBUSY as above.
 */
int model_touch(struct model *m, uint32_t qp, enum model_kind kind, uint64_t key,
		uint64_t now);

/* The object was destroyed: its context leaves the cache. */
void model_forget(struct model *m, enum model_kind kind, uint64_t key);

/* The time of the next event; MODEL_NEVER: there is none. */
static inline uint64_t model_first(const struct model *m)
{
	uint64_t when = m->pipe_due;

	if (m->port.due < when)
		when = m->port.due;
	if (model_events_first(&m->next) < when)
		when = model_events_first(&m->next);
	/* The units' tree comes last, because the CPU has the result of its last update latest. */
	return model_events_first(&m->units) < when ? model_events_first(&m->units) : when;
}

/* The same; false: there is none. */
static inline bool model_next(const struct model *m, uint64_t *when)
{
	*when = model_first(m);
	return *when != MODEL_NEVER;
}

/* Processes all events that are due until @now, in order of time. */
void model_run_until(struct model *m, uint64_t now);

/* Processes the first event; @when is its time, which must not be MODEL_NEVER. */
void model_step(struct model *m, uint64_t when);

#endif
