/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_MLX5_H
#define SRDMA_MLX5_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/mlx5/driver.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/notifier.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "counters.h"
#include "tracker.h"

struct mlx5_ib_create_qp;

/**
 * struct srdma_entry - the doorbell record of a QP, as the sampler sees it
 * @rec: the send counter; NULL: this place is free
 * @page: UAR, NULL: not known
 * @total: WQEBBs counted
 * @last: value of @rec at the last look
 * @state: enum srdma_entry_state
 * @ambiguous: a look came so late that a wrap may have been missed
 *
 * A look at a record that has not moved touches two cache lines: that of the record, and
 * that of this entry and another one.
 */
struct srdma_entry {
	const __be32 *rec;
	struct srdma_uar *page;
	u64 total;
	u16 last;
	u8 state;
	u8 ambiguous;
};

enum srdma_entry_state {
	SRDMA_ENTRY_OFF,	/* not read: in RESET the library zeroes the record */
	SRDMA_ENTRY_IDLE,	/* the QP cannot send: read at the request of a reader */
	SRDMA_ENTRY_ON,		/* read in every sweep */
};

/* 256 blocks of 64 bytes, wherever in a page they begin. */
#define SRDMA_SQ_PAGES	5

/**
 * struct srdma_sq_memory - the first pages of a send queue in the memory of a process
 * @page: with a reference each; any read of the queue is bounded by @n_pages
 * @offset: of the queue in the first page
 * @n_pages: 0: the queue is not read
 */
struct srdma_sq_memory {
	struct page *page[SRDMA_SQ_PAGES];
	u16 offset;
	u8 n_pages;
};

/**
 * struct srdma_slot - the part of an entry that sweeps do not touch
 * @q: the QP; the entry is released before the QP is
 * @held: page of the record, with a reference; NULL: a kernel QP's, which needs none
 * @sq: the QP's send queue
 * @pushed: part of srdma_entry.total that has been added to the QP and its UAR
 * @next: while the slot is free: the next free slot, or SRDMA_NO_SLOT
 */
struct srdma_slot {
	struct srdma_qp *q;
	struct page *held;
	struct srdma_sq_memory sq;
	u64 pushed;
	u32 next;
};

#define SRDMA_BLOCK	128

/**
 * struct srdma_block - entries that are swept under one lock
 * @lock: the block; a leaf, process context
 * @swept: ns, time of the last sweep
 * @n_on: entries that are ON
 * @entry: SRDMA_BLOCK entries, a page of memory
 * @slot: the slot of each entry
 */
struct srdma_block {
	spinlock_t lock;	/* the block */
	u64 swept;
	u32 n_on;
	struct srdma_entry *entry;
	struct srdma_slot slot[SRDMA_BLOCK];
};

enum srdma_diag {
	SRDMA_DIAG_MTT_MISS,
	SRDMA_DIAG_MTT_HIT,
	SRDMA_DIAG_READ_STALL,
	SRDMA_DIAG_QPC_MISS,
	SRDMA_DIAG_QPC_HIT,
	SRDMA_DIAGS
};

/* After a failure that may pass, figures are queried again after this time at the earliest. */
#define SRDMA_RETRY_NS	NSEC_PER_SEC

/**
 * struct srdma_mlx5_port - figures that a port has
 * @has_bytes: of the RDMA traffic of the device's function
 * @has_cnp: of congestion notifications
 * @has_prios: of each priority
 * @retry_at: ns: figures of the latter two kinds are not queried before then
 */
struct srdma_mlx5_port {
	bool has_bytes, has_cnp, has_prios;
	u64 retry_at;
};

#define SRDMA_PORTS	4

/**
 * struct srdma_mlx5 - an mlx5 device
 * @dev: swiftrdma.ko's device
 * @core: mlx5_core's device
 * @sampling: doorbell records are read
 * @live_class: the DSCP of a connected QP can be changed
 * @shaping: there are scheduling elements
 * @uar_limit: UAR pages of the device
 * @eq: event queue of doorbell congestion; NULL: the device has no such event
 * @eq_nb: called in hard interrupt
 * @thread: the sampler, if @sampling
 * @looks: the thread of outstanding.c, if @sampling
 * @n_records: slots of doorbell records in use
 * @held: users' pages held
 * @n_on: entries that are ON
 * @n_sure: QPs of which nothing is left to be queried
 * @n_paths: parts of QPs' paths that this module has set
 * @commands: commands that were sent by this module, or by the driver when it was called
 * @command_ns: time that these took
 * @congestions: events of congestion
 * @congested_at: ns, time of the last event
 * @wait: the sampler sleeps here
 * @looks_wait: the thread of outstanding.c sleeps here
 * @congestion_work: reports a congestion
 * @watched_until: ns: a reader wants looks at send queues until then; 0: no reader has
 * @congestion_level: of the last event
 * @causes: the thread that calls the driver; the probes of devx.c count its commands. One at
 *	a time: dev_add(), the work of refresh.c, dev_remove()
 * @caused_at: ns, when that call began
 * @sweep_ns: time spent in sweeps
 * @gap_ns: longest time between two sweeps of a block
 * @cmd_lock: a leaf
 * @tokens: commands that readers may cause now, in 1/NSEC_PER_SEC
 * @tokens_at: ns, when @tokens was last filled
 * @query_lock: makes one work at a time query QPs: refresh.c's or enforce.c's
 * @grow_lock: makes one thread at a time add a block; outside @slot_lock
 * @blocks: struct srdma_block by number, without holes; only added to
 * @n_blocks: of @blocks; read without a lock
 * @slot_lock: a leaf; taken inside @grow_lock, too
 * @free: first free slot, or SRDMA_NO_SLOT
 * @shapes: struct srdma_shape
 * @n_shapes: of @shapes; read by any thread
 * @root: the node that elements hang from
 * @last_element: serial of the youngest element
 * @has_root: @root exists
 * @port: by number from 0
 * @told_lock: a leaf
 * @has_pcie: the device has figures of stalls of the PCI bus
 * @pcie: these figures; at: ns, when they were read, 0: never
 * @pcie_retry_at: ns: @pcie is not queried before then
 * @diag_has: bits of enum srdma_diag that the device has
 * @diag_on: these counters are enabled
 * @diag_retry_at: ns: @diag is not queried before then
 * @diag_at: ns, when @diag was read, 0: never
 * @diag: by enum srdma_diag
 *
 * The comments in the structure name the lock of each group.
 */
struct srdma_mlx5 {
	/* Constant from dev_add() to dev_remove(). */
	struct srdma_dev *dev;
	struct mlx5_core_dev *core;
	bool sampling, live_class, shaping;
	u32 uar_limit;
	struct mlx5_eq *eq;
	struct notifier_block eq_nb;
	struct task_struct *thread, *looks;

	/* Atomic, wait queues, and words that one thread stores at a time. */
	atomic_t n_records, held, n_on, n_sure, n_paths;
	atomic64_t commands, command_ns, congestions, congested_at;
	wait_queue_head_t wait, looks_wait;
	struct work_struct congestion_work;
	u64 watched_until;
	u32 congestion_level;

	/* The thread that calls the driver. */
	struct task_struct *causes;
	u64 caused_at;

	/* Written by the sampler alone, read by any thread. */
	u64 sweep_ns, gap_ns;

	/* cmd_lock. */
	spinlock_t cmd_lock;	/* this group */
	u64 tokens, tokens_at;

	/* Protects no member. */
	struct mutex query_lock;	/* one work at a time */

	/* Written under grow_lock. */
	struct mutex grow_lock;	/* this group */
	struct xarray blocks;
	u32 n_blocks;

	/* slot_lock. */
	spinlock_t slot_lock;	/* this group */
	u32 free;

	/* The device's pass (enforce.c) alone. */
	struct list_head shapes;
	u32 n_shapes, root, last_element;
	bool has_root;

	/* The work of refresh.c alone. */
	struct srdma_mlx5_port port[SRDMA_PORTS];
	u64 pcie_retry_at, diag_retry_at;

	/* Written by the work of refresh.c alone. told_lock protects @pcie, @diag_at and @diag. */
	spinlock_t told_lock;	/* this group */
	bool has_pcie;
	struct srdma_pcie {
		u64 at;
		u32 reads, writes, read_s, write_s;
	} pcie;
	u32 diag_has;
	bool diag_on;
	u64 diag_at;
	u64 diag[SRDMA_DIAGS];
};

static inline struct srdma_mlx5 *srdma_mlx5_of(const struct srdma_dev *dev)
{
	return dev->priv;
}

/* Is the device the physical function, whose figures may stand for the whole NIC? */
static inline bool srdma_mlx5_is_pf(const struct srdma_mlx5 *md)
{
	return md->dev->function == SWIFTRDMA_FUNCTION_PF;
}

/* cmd.c: module parameter: may figures that take many commands be read? */
bool srdma_mlx5_detail(void);

/* cmd.c: send a command, count and time it. May sleep. */
int srdma_cmd(struct srdma_mlx5 *md, void *in, int in_size, void *out, int out_size);
/*
 * A command that the device may refuse, because a QP or key may have changed; a refusal is
 * not logged. -EREMOTEIO: refused, with the device's reason in *syndrome; -EAGAIN: refused
 * for now.
 */
int srdma_cmd_try(struct srdma_mlx5 *md, void *in, int in_size, void *out, int out_size,
		  u32 *syndrome);
/*
 * Complete and send RTS2RTS_QP: @in, of @size bytes, has all but opcode and QPN.
 * srdma_qp_lock() is held. -ENOTCONN: the QP is not in RTS any more, and its state is known
 * now; -EREMOTEIO: the device refuses @what, which is recorded in the QP and logged; else as
 * srdma_cmd_try().
 */
int srdma_cmd_rts2rts(struct srdma_mlx5 *md, struct srdma_qp *q, void *in, int size,
		      const char *what);

/*
 * What follows the QPC in RTS2RTS_QP, of which the kernel's headers have only the beginning:
 * eight bytes, opt_param_mask_95_32, and the extension of the QPC.
 */
#define SRDMA_RTS2RTS_BYTES	(MLX5_BYTE_OFF(rts2rts_qp_in, qpc) + MLX5_ST_SZ_BYTES(qpc))
#define SRDMA_RTS2RTS_MASK	3	/* dword of the tail: the mask's lower half */

static inline __be32 *srdma_rts2rts_tail(void *in)
{
	return in + SRDMA_RTS2RTS_BYTES;
}

/* Read register @reg, of @size bytes. As srdma_cmd(). */
int srdma_cmd_read_reg(struct srdma_mlx5 *md, void *in, void *out, int size, u16 reg);
/* May one more command be sent on behalf of a reader? True: it is charged. */
bool srdma_cmd_may(struct srdma_mlx5 *md);
/* May one object be queried? Such queries leave commands for figures of ports and the device. */
bool srdma_cmd_may_query(struct srdma_mlx5 *md);
/* How many commands may be sent a second on behalf of readers. */
u32 srdma_cmd_max(void);
void srdma_cmd_init(struct srdma_mlx5 *md);

/* Begin and end a call in which the driver sends commands on behalf of this module. */
void srdma_cmd_count_begin(struct srdma_mlx5 *md);
void srdma_cmd_count_end(struct srdma_mlx5 *md);

/* A QP's context, as QUERY_QP returns it; @state is enum ib_qp_state. */
struct srdma_qpc {
	u32 uar_page;
	u64 dbr_addr;
	u16 udp_sport;
	u8 lag_port;
	u8 state;
	u32 dest_qpn;
	u8 port, sl, dscp, eth_prio, tclass, hop_limit, sgid_index;
	bool grh;
	u16 dlid;
	u32 flow_label;
	u8 dgid[16], dmac[6];
};

/**
 * struct srdma_sq - a QP's send queue, as QUERY_QP returns it, at one moment
 * @posted: WQEBBs that the device knows of, in all, modulo 2^16
 * @completed: of these, the ones that it has completed, with a CQE or without
 * @log_size: WQEBBs that the queue holds, as a power of two; below 16, so the difference
 *	@posted - @completed is never ambiguous
 */
struct srdma_sq {
	u16 posted, completed;
	u8 log_size;
};

/* As srdma_cmd_try(). */
int srdma_cmd_query_qp(struct srdma_mlx5 *md, u32 qpn, struct srdma_qpc *qpc);
int srdma_cmd_query_sq(struct srdma_mlx5 *md, u32 qpn, struct srdma_sq *sq);

/* srdma_provider_ops. */
int srdma_mlx5_query_port(struct srdma_dev *dev, u32 port, struct ib_port_attr *attr);
int srdma_mlx5_mr_shift(struct srdma_dev *dev, u32 lkey);

/* qp.c: what a QP rings, and where its record is. srdma_provider_ops. */
u32 srdma_mlx5_context_pages(struct ib_udata *udata);
void srdma_mlx5_qp_created(struct srdma_qp *q, const struct ib_qp_init_attr *attr,
			   struct ib_udata *udata);
void srdma_mlx5_qp_modify(struct srdma_qp *q, const struct ib_qp_attr *attr, int mask);
void srdma_mlx5_qp_modified(struct srdma_qp *q, const struct ib_qp_attr *attr, int mask,
			    int ret);
void srdma_mlx5_detach(struct srdma_qp *q);
u32 srdma_mlx5_query_qps(struct srdma_dev *dev);

/*
 * dbrec.c. The QP is locked (srdma_qp_lock()) or not published yet. add(): begin to count the
 * WQEBBs of @q, from the record's present value or from zero; on success it takes over the
 * references @held and, unless NULL, @sq. 0 or -ENOMEM.
 */
void srdma_records_init(struct srdma_mlx5 *md);
void srdma_records_exit(struct srdma_mlx5 *md);
int srdma_record_add(struct srdma_mlx5 *md, struct srdma_qp *q, const __be32 *rec,
		     struct page *held, const struct srdma_sq_memory *sq, bool from_now,
		     enum srdma_entry_state state);
/* Read the record a last time, then release it. */
void srdma_record_del(struct srdma_mlx5 *md, struct srdma_qp *q);
/* Read the record, then set its state; a record that was OFF starts at 0. */
void srdma_record_state(struct srdma_mlx5 *md, struct srdma_qp *q, enum srdma_entry_state state);
/* The QP's UAR has become known: count what was posted on the UAR, too. */
void srdma_record_page(struct srdma_mlx5 *md, struct srdma_qp *q);

/* Read a record. True: it has moved, by *delta. The block is locked. */
static inline bool srdma_record_look(struct srdma_entry *e, u16 *delta)
{
	u16 now = be32_to_cpu(READ_ONCE(*e->rec));

	*delta = now - e->last;
	if (!*delta)
		return false;
	e->last = now;
	e->total += *delta;
	return true;
}

/**
 * struct srdma_posted - how much a QP has posted
 * @slot: of its record
 * @total: WQEBBs that were counted
 * @record: value of the record
 */
struct srdma_posted {
	u32 slot;
	u64 total;
	u16 record;
};

/*
 * Draw one of all slots at random. Returns its QP, with a reference; NULL: the slot has no
 * record, or the record is not swept, or its count is ambiguous.
 */
struct srdma_qp *srdma_record_draw(struct srdma_mlx5 *md, struct srdma_posted *p);
/* Read the record of @slot. False: the slot is not @q's any more, or as srdma_record_draw(). */
bool srdma_record_posted(struct srdma_mlx5 *md, const struct srdma_qp *q, u32 slot,
			 struct srdma_posted *p);

/**
 * struct srdma_wqes - what the WQEs of a send queue tell at one moment
 * @readable: the queue can be read; if not, the others say nothing
 * @blocks: WQEBBs of each request; 0: not known
 * @changed: two requests have different numbers of WQEBBs
 * @uncovered: WQEBBs that are complete, and after which no CQE has been written yet; or
 *	SRDMA_UNCOVERED_UNKNOWN
 */
struct srdma_wqes {
	bool readable;
	u8 blocks;
	bool changed;
	u32 uncovered;
};

#define SRDMA_UNCOVERED_UNKNOWN	U32_MAX

/*
 * sq.c. srdma_sq_get() takes references to the send queue of a QP that this process has just
 * created; may sleep. srdma_sq_put() drops them. srdma_sq_look() reads the WQEs around @sq, the
 * answer of QUERY_QP; @blocks: WQEBBs of a request at the look before, 0: not known. The last two
 * may be called in any context.
 */
void srdma_sq_get(struct srdma_sq_memory *m, const struct ib_qp_init_attr *attr,
		  const struct mlx5_ib_create_qp *req);
void srdma_sq_put(struct srdma_sq_memory *m);
void srdma_sq_look(const struct srdma_sq_memory *m, u32 qpn, const struct srdma_sq *sq,
		   u8 blocks, struct srdma_wqes *wqes);
/* srdma_sq_look() at the queue of @slot. False: the slot is not @q's any more. */
bool srdma_record_wqes(struct srdma_mlx5 *md, const struct srdma_qp *q, u32 slot,
		       const struct srdma_sq *sq, u8 blocks, struct srdma_wqes *wqes);

/* Add what was counted to the QP, its UAR and its job. The block is locked. */
void srdma_record_push(struct srdma_entry *e, struct srdma_slot *s);

/* class.c: can the DSCP of a connected QP be changed? And srdma_provider_ops. */
bool srdma_class_can(struct srdma_mlx5 *md);
int srdma_mlx5_class_begin(struct srdma_qp *q);
int srdma_mlx5_class_commit(struct srdma_qp *q, const struct srdma_class *c);

/* path.c. paths(): apply the overrides of paths; returns how much is left to be tried again. */
int srdma_mlx5_path_check(const struct srdma_qp *q, enum srdma_path_part part, u64 value,
			  const char **why);
u32 srdma_mlx5_paths(struct srdma_mlx5 *md);
/*
 * The device has dropped the settings of the path: the QP was reset, or goes. srdma_qp_lock() is
 * held.
 */
void srdma_path_lost(struct srdma_mlx5 *md, struct srdma_qp *q);

/**
 * struct srdma_mlx5_part - a part of the provider that can be left out of the build
 * @init: the module is loaded, and has no device yet. Process context, as all of these.
 * @exit: the module is unloaded, and has no device any more
 * @dev_add: a device is about to be this provider's
 * @dev_remove: a device is about to leave this provider
 * @refresh: as srdma_provider_ops.refresh, for the figures of this part
 * @dev_stat: as srdma_provider_ops.dev_stat, the same
 */
struct srdma_mlx5_part {
	void (*init)(void);
	void (*exit)(void);
	void (*dev_add)(struct srdma_mlx5 *md);
	void (*dev_remove)(struct srdma_mlx5 *md);
	void (*refresh)(struct srdma_mlx5 *md);
	void (*dev_stat)(struct srdma_mlx5 *md, struct srdma_dev_stat *st);
};

/* devx.c, unless it is built with SWIFTRDMA_DEVX=n. Only main.c's list knows it. */
extern const struct srdma_mlx5_part srdma_mlx5_devx;

/*
 * sampler.c. Start @fn in *@thread, a real-time thread of the lowest priority; the device's
 * name follows @name. In such a thread, sleep until @ns, unless the thread is to stop.
 */
int srdma_thread_start(struct srdma_mlx5 *md, int (*fn)(void *md), const char *name,
		       struct task_struct **thread);
void srdma_sleep_until(u64 ns);
int srdma_sampler_start(struct srdma_mlx5 *md);
void srdma_sampler_stop(struct srdma_mlx5 *md);
/* Ask for everything that moved before now to be counted: srdma_provider_ops.sample. */
s64 srdma_sampler_ask(struct srdma_mlx5 *md);
/* srdma_sampler_ask(), and wait until the request is served. May sleep. */
void srdma_sampler_refresh(struct srdma_mlx5 *md);
bool srdma_sampler_wanted(void);
/* WQEBBs that were posted on this UAR in the last quarter to half second. */
u64 srdma_sampler_recent(const struct srdma_uar *page);

/*
 * outstanding.c. watch(): a reader wants these figures for a while; any context. reset(): @q was
 * reset, so its send queue is empty.
 */
int srdma_outstanding_start(struct srdma_mlx5 *md);
void srdma_outstanding_stop(struct srdma_mlx5 *md);
void srdma_outstanding_watch(struct srdma_mlx5 *md);
void srdma_outstanding_reset(struct srdma_qp *q);

/* event.c */
void srdma_events_start(struct srdma_mlx5 *md);
void srdma_events_stop(struct srdma_mlx5 *md);

/* A counter that the firmware's structure has in two halves. */
#define SRDMA_GET_HALVES(layout, p, field)				\
	((u64)MLX5_GET(layout, p, field##_high) << 32 | MLX5_GET(layout, p, field##_low))

/* pcie.c. refresh(): refresh.c's work. */
void srdma_pcie_init(struct srdma_mlx5 *md);
void srdma_pcie_refresh(struct srdma_mlx5 *md);
void srdma_pcie_stat(struct srdma_mlx5 *md, struct srdma_dev_stat *st);

/* port.c; bytes() and detail(): srdma_provider_ops. */
void srdma_port_init(struct srdma_mlx5 *md);
int srdma_mlx5_port_bytes(struct srdma_dev *dev, u32 port, struct srdma_port_bytes *b);
void srdma_mlx5_port_detail(struct srdma_dev *dev, u32 port, struct srdma_port_stat *st);

/* sched.c. shape(): srdma_provider_ops. */
bool srdma_sched_can(struct srdma_mlx5 *md);
u32 srdma_mlx5_shape(struct srdma_dev *dev);
void srdma_sched_exit(struct srdma_mlx5 *md);

/* diag.c. No command is sent before the first refresh(), in refresh.c's work. */
void srdma_diag_init(struct srdma_mlx5 *md);
void srdma_diag_refresh(struct srdma_mlx5 *md);
void srdma_diag_stat(struct srdma_mlx5 *md, struct srdma_dev_stat *st);
void srdma_diag_exit(struct srdma_mlx5 *md);

#endif /* SRDMA_MLX5_H */
