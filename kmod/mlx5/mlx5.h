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

/**
 * struct srdma_entry - the doorbell record of a QP, as the sampler sees it
 * @rec: the send counter; NULL: this place is free
 * @page: UAR, NULL: not known
 * @total: WQEBBs counted
 * @last: what @rec said
 * @state: enum srdma_entry_state
 * @ambiguous: it was not looked at for so long that a wrap may have been missed
 *
 * A look at one that has not moved touches this and the record: two cache lines,
 * for two entries share one.
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
	SRDMA_ENTRY_OFF,	/* in RESET the record is the library's alone */
	SRDMA_ENTRY_IDLE,	/* nothing is sent: read at the request of a reader */
	SRDMA_ENTRY_ON,		/* looked at in every sweep */
};

/**
 * struct srdma_slot - what else there is of an entry
 * @q: whose it is; the entry goes before the QP does
 * @held: page with the record, with a reference; NULL: the kernel's own
 * @pushed: of srdma_entry.total, what has been added to the QP and its UAR
 * @next: of a free one: the next, or SRDMA_NO_SLOT
 */
struct srdma_slot {
	struct srdma_qp *q;
	struct page *held;
	u64 pushed;
	u32 next;
};

#define SRDMA_BLOCK	128

/**
 * struct srdma_block - entries that are swept under one lock
 * @lock: all of it; taken inside nothing, process context
 * @swept: ns, when it was looked at
 * @n_on: entries that are ON
 * @entry: a page of them
 * @slot: the same by number
 */
struct srdma_block {
	spinlock_t lock;	/* all of it */
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

/**
 * struct srdma_mlx5_port - what a port tells
 * @has_cnp: congestion notifications
 * @has_prios: each priority
 */
struct srdma_mlx5_port {
	bool has_cnp, has_prios;
};

#define SRDMA_PORTS	4

/**
 * struct srdma_mlx5 - an mlx5 device
 * @dev: core's
 * @core: mlx5_core's
 * @sampling: records are read at all
 * @live_class: the DSCP of a connected QP can be changed
 * @shaping: there are scheduling elements
 * @uar_limit: UAR pages of the device
 *
 * Commands (cmd.c):
 * @cmd_lock: @tokens and @tokens_at
 * @tokens: lazy commands that may be sent now, in 1/NSEC_PER_SEC
 * @tokens_at: ns
 * @commands: sent, by us or by the driver when we called it
 * @command_ns: how long they took
 * @causes: the thread that is in such a call; the probes of devx.c count its commands. One
 *	at a time: dev_add(), the work of refresh.c, dev_remove()
 * @caused_at: ns, when it began
 *
 * QPs (qp.c):
 * @query_lock: makes one work at a time ask for what is not known: refresh.c's or
 *	enforce.c's
 * @n_sure: QPs of which nothing is to be asked
 *
 * Records (dbrec.c):
 * @blocks: struct srdma_block by number, without holes; only added to
 * @n_blocks: of @blocks
 * @grow_lock: makes one at a time add a block; outside @slot_lock
 * @slot_lock: @free; taken inside nothing
 * @free: first slot that is free
 * @n_records: slots in use
 * @held: pages held
 *
 * Sampler (sampler.c):
 * @thread: NULL: off
 * @wait: the thread's
 * @n_on: entries that are ON
 * @sweep_ns: time spent in sweeps
 * @gap_ns: the longest between two
 *
 * Looks at send queues (outstanding.c):
 * @looks: the thread that takes them; only where there is a sampler
 * @looks_wait: the thread's
 * @watched_until: ns: a reader wants them until then; 0: no reader has asked yet
 *
 * Doorbell congestion (event.c):
 * @eq: NULL: the device does not tell
 * @eq_nb: called in hard interrupt
 * @congestion_work: tells it
 * @congestions: events
 * @congestion_level: of the last one
 * @congested_at: ns
 *
 * Scheduling elements (sched.c), all of it enforce.c's work's:
 * @shapes: struct srdma_shape
 * @n_shapes: how many; any thread may read it
 * @root: the node they hang from
 * @last_element: serial of the one that was made last
 * @has_root: there is one
 *
 * Paths (path.c):
 * @n_paths: parts of QPs' paths that are ours
 *
 * Ports (port.c), the work of refresh.c's alone:
 * @port: by number from 0
 *
 * What the work of refresh.c found out last, and readers show. Only that work writes it,
 * and no lock is held while it asks the device:
 * @told_lock: all of these; a leaf
 * @has_pcie: the device tells what the PCI bus held up (pcie.c)
 * @pcie: what it told; at: ns, 0: never
 * @diag_has: bits of enum srdma_diag that the device has (diag.c)
 * @diag_on: they are switched on
 * @diag_at: ns, when @diag was read, 0: never
 * @diag: by enum srdma_diag
 */
struct srdma_mlx5 {
	struct srdma_dev *dev;
	struct mlx5_core_dev *core;
	bool sampling;
	bool live_class, shaping;
	u32 uar_limit;

	spinlock_t cmd_lock;	/* tokens */
	u64 tokens, tokens_at;
	atomic64_t commands, command_ns;
	struct task_struct *causes;
	u64 caused_at;

	struct mutex query_lock;	/* one work at a time */
	atomic_t n_sure;

	struct xarray blocks;
	u32 n_blocks;
	struct mutex grow_lock;	/* @n_blocks */
	spinlock_t slot_lock;	/* @free */
	u32 free;
	atomic_t n_records, held;

	struct task_struct *thread;
	wait_queue_head_t wait;
	atomic_t n_on;
	u64 sweep_ns, gap_ns;

	struct task_struct *looks;
	wait_queue_head_t looks_wait;
	u64 watched_until;

	struct mlx5_eq *eq;
	struct notifier_block eq_nb;
	struct work_struct congestion_work;
	atomic64_t congestions, congested_at;
	u32 congestion_level;

	struct list_head shapes;
	u32 n_shapes, root, last_element;
	bool has_root;

	atomic_t n_paths;

	struct srdma_mlx5_port port[SRDMA_PORTS];

	spinlock_t told_lock;	/* all that follows */
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

/* cmd.c: may figures that take many commands be read? A module parameter. */
bool srdma_mlx5_detail(void);

/* cmd.c: a command, measured. May sleep. */
int srdma_cmd(struct srdma_mlx5 *md, void *in, int in_size, void *out, int out_size);
/*
 * A command that the device may refuse, because a QP or key may have changed; a refusal is
 * not logged. -EREMOTEIO: refused, with the device's reason in *syndrome; -EAGAIN: refused
 * for now.
 */
int srdma_cmd_try(struct srdma_mlx5 *md, void *in, int in_size, void *out, int out_size,
		  u32 *syndrome);
/*
 * A QP, which is held, was to be in RTS, and @what was refused: -ENOTCONN: it is not in
 * RTS any more, and its state is known now; else -EREMOTEIO: remembered and logged.
 */
int srdma_refused(struct srdma_mlx5 *md, struct srdma_qp *q, const char *what, u32 syndrome);
/* A register of @size bytes, by its number. As srdma_cmd(). */
int srdma_cmd_read_reg(struct srdma_mlx5 *md, void *in, void *out, int size, u16 reg);
/* May one more command be sent on behalf of a reader? */
bool srdma_cmd_may(struct srdma_mlx5 *md);
/* How many may be, a second. */
u32 srdma_cmd_max(void);
void srdma_cmd_init(struct srdma_mlx5 *md);

/* Around a call in which the driver sends commands for us. */
void srdma_cmd_count_begin(struct srdma_mlx5 *md);
void srdma_cmd_count_end(struct srdma_mlx5 *md);

/* What QUERY_QP says of a QP; @state is enum ib_qp_state. */
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
 * struct srdma_sq - what QUERY_QP says of a QP's send queue, all of one moment
 * @posted: WQEBBs that the device knows of, in all, modulo 2^16
 * @completed: of these, the ones that it has completed, with a CQE or without
 * @log_size: WQEBBs that the queue holds, as a power of two; below 16, so that the
 *	difference of the two is never ambiguous
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
 * dbrec.c. The QP is locked (srdma_qp_lock()) or not published yet. add(): begin to count
 * the WQEBBs of @q, from the record's present value or from zero; the record has the
 * reference @held after that. 0, or -ENOMEM and @held is still the caller's.
 */
int srdma_records_init(struct srdma_mlx5 *md);
void srdma_records_exit(struct srdma_mlx5 *md);
int srdma_record_add(struct srdma_mlx5 *md, struct srdma_qp *q, const __be32 *rec,
		     struct page *held, bool from_now, enum srdma_entry_state state);
/* Read the record a last time, then release it. */
void srdma_record_del(struct srdma_mlx5 *md, struct srdma_qp *q);
/* Read the record, then set its state; a record that was OFF starts at 0. */
void srdma_record_state(struct srdma_mlx5 *md, struct srdma_qp *q, enum srdma_entry_state state);
/* Its UAR has become known. */
void srdma_record_page(struct srdma_mlx5 *md, struct srdma_qp *q);

/* Read a record; true: it moved, by *delta. The block is locked. */
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
 * @record: what the record says
 */
struct srdma_posted {
	u32 slot;
	u64 total;
	u16 record;
};

/*
 * Draws one of all slots. NULL: no record is there, or it is not swept, or its count is
 * ambiguous. Else its QP, with a reference.
 */
struct srdma_qp *srdma_record_draw(struct srdma_mlx5 *md, struct srdma_posted *p);
/* False: the slot is not that QP's any more, or as in srdma_record_draw(). */
bool srdma_record_posted(struct srdma_mlx5 *md, const struct srdma_qp *q, u32 slot,
			 struct srdma_posted *p);

/* Add what was counted to the QP, its UAR and its job. The block is locked. */
void srdma_record_push(struct srdma_entry *e, struct srdma_slot *s);

/* class.c: can the DSCP of a connected QP be changed? And srdma_provider_ops. */
bool srdma_class_can(struct srdma_mlx5 *md);
int srdma_mlx5_class_begin(struct srdma_qp *q);
int srdma_mlx5_class_commit(struct srdma_qp *q, const struct srdma_class *c);
void srdma_mlx5_class_abort(struct srdma_qp *q);

/* path.c. paths(): make what is wanted of them hold; how much is left to be tried again. */
int srdma_mlx5_path_check(const struct srdma_qp *q, enum srdma_path_part part, u64 value,
			  const char **why);
u32 srdma_mlx5_paths(struct srdma_mlx5 *md);
/*
 * The device has dropped our path settings: the QP was reset, or goes. srdma_qp_lock() is
 * held.
 */
void srdma_path_lost(struct srdma_mlx5 *md, struct srdma_qp *q);

/**
 * struct srdma_mlx5_part - a part of the provider that can be left out of the build
 * @init: with the module, before any device. Process context, as all of these.
 * @exit: after the last device
 * @dev_add: a device is about to be this provider's
 * @dev_remove: it is not any more
 * @dev_stat: what this part can tell of it; as srdma_provider_ops.dev_stat
 */
struct srdma_mlx5_part {
	void (*init)(void);
	void (*exit)(void);
	void (*dev_add)(struct srdma_mlx5 *md);
	void (*dev_remove)(struct srdma_mlx5 *md);
	void (*dev_stat)(struct srdma_mlx5 *md, struct srdma_dev_stat *st);
};

/* devx.c, unless it is built with SWIFTRDMA_DEVX=n. Only main.c's list knows it. */
extern const struct srdma_mlx5_part srdma_mlx5_devx;

/* sampler.c */
int srdma_sampler_start(struct srdma_mlx5 *md);
void srdma_sampler_stop(struct srdma_mlx5 *md);
/* Ask for everything that moved before now to be counted: srdma_provider_ops.sample. */
s64 srdma_sampler_ask(struct srdma_mlx5 *md);
/* srdma_sampler_ask(), and wait for it. May sleep. */
void srdma_sampler_refresh(struct srdma_mlx5 *md);
/* How long an entry that is ON may go without a look, ns. */
u64 srdma_sampler_limit(void);
bool srdma_sampler_wanted(void);
/* What was posted on this UAR in the last quarter to half second. */
u64 srdma_sampler_recent(const struct srdma_uar *page);

/* outstanding.c. watch(): a reader wants these figures for a while; any context. */
int srdma_outstanding_start(struct srdma_mlx5 *md);
void srdma_outstanding_stop(struct srdma_mlx5 *md);
void srdma_outstanding_watch(struct srdma_mlx5 *md);

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

/* diag.c: nothing is asked of the device before the first refresh(): refresh.c's work. */
void srdma_diag_init(struct srdma_mlx5 *md);
void srdma_diag_refresh(struct srdma_mlx5 *md);
void srdma_diag_stat(struct srdma_mlx5 *md, struct srdma_dev_stat *st);
void srdma_diag_exit(struct srdma_mlx5 *md);

#endif /* SRDMA_MLX5_H */
