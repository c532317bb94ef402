/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_TRACKER_H
#define SRDMA_TRACKER_H

#include <linux/atomic.h>
#include <linux/container_of.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include <rdma/swiftrdma.h>

#include "compat.h"
#include "owner.h"
#include "provider.h"
#include "refresh.h"
#include "table.h"

struct srdma_job_dev;
struct srdma_port;

/*
 * The driver's own ops, as they were before hook.c put its wrappers there.
 * Constant from the device's publication on.
 */
struct srdma_orig_ops {
	typeof_member(struct ib_device, ops.create_qp) create_qp;
	typeof_member(struct ib_device, ops.modify_qp) modify_qp;
	typeof_member(struct ib_device, ops.destroy_qp) destroy_qp;
	typeof_member(struct ib_device, ops.post_send) post_send;
	typeof_member(struct ib_device, ops.alloc_ucontext) alloc_ucontext;
	typeof_member(struct ib_device, ops.dealloc_ucontext) dealloc_ucontext;
	typeof_member(struct ib_device, ops.reg_user_mr) reg_user_mr;
	typeof_member(struct ib_device, ops.reg_user_mr_dmabuf) reg_user_mr_dmabuf;
	typeof_member(struct ib_device, ops.rereg_user_mr) rereg_user_mr;
	typeof_member(struct ib_device, ops.dereg_mr) dereg_mr;
};

/**
 * struct srdma_dev - an RDMA device
 * @ref: one of the hook; one per QP, UAR, job_dev, attachment, port of the peer channel and its
 *	links, and queued pass; one per thread that uses the device without srdma_devs_sem
 * @release: frees it, a grace period after the last reference
 * @index: as `rdma dev` shows it
 * @orig: the driver's ops
 * @wrapped_post_send: the provider's doorbells pass through post_send, which is wrapped
 * @query_is_cheap: as in the ops of its first provider
 * @kernel_uar: stands for the kernel's own QPs where there are no UARs
 * @unassigned: the srdma_job_dev of id 0, which is there as long as the device is
 * @link_event: handler that sets @link_stale
 * @since: ns, when counting began
 * @name: follows renames
 * @ibdev: valid while the device is in srdma_devs (hold srdma_devs_sem), inside a wrapper,
 *	in the device's works of refresh.c and enforce.c, and under srdma_qp_lock() of a QP
 *	that is not dead
 * @debugfs: directory, or NULL
 * @provider_lock: serializes changes of the provider. Commands to this device are sent while it is
 *	held, so the work of another device must not wait for it. Taken inside RDMA core's client
 *	locks, outside srdma_devs_sem.
 * @provider: changes between the generic one and one that is a module, see provider.c
 * @attached: the one that is a module, until it has detached all QPs
 * @provider_closed: the device goes and gets no other provider
 * @priv: the provider's own
 * @caps: enum swiftrdma_dev_cap
 * @function: enum swiftrdma_function, as far as known; a provider may know better
 * @giving_back: the device or its provider is about to go, so no override is in force
 * @provider_node: in the list of devices that @attached has
 * @hook_node: in tracker.c's table of hooked devices
 * @srcu: read side: a wrapper of this device. A thread that changes what wrappers follow of the
 *	device, or frees the device, waits for these. A wrapper may sleep for as long as the
 *	driver's op does
 * @hooked: the wrappers are in place
 * @refresh: reads the figures that take commands, see refresh.h
 * @enforce: enforce.c's work, a pass over the QPs; queued with a reference to the device
 * @link_stale: the link of a port has changed since it was read
 * @rescan: the pass has to compare every QP
 * @reshape: the pass has to call the provider's shape()
 * @unqueried: there are QPs without QUERIED; set before that bit of a QP is cleared
 * @query_wanted: the pass has to query such QPs, because some should get a level
 * @hurry: all classes are being given back, so no retry waits for its time
 * @ports_lock: protects what @ports points to; a leaf
 * @ports: struct srdma_port of each; counters.c
 * @qps: the QPs
 * @adopt_lock: makes one step of the adoption scan and the destroy of a QP that is not known yet
 *	exclude each other; taken outside the locks of @qps and @left, held for a short time only
 * @adopting: the scan is not over
 * @adopt_abort: there was no memory for @left, so the scan must stop
 * @left: keys of QPs whose destroy has begun while @adopting: the scan must not take them in
 * @query_lock: serializes the works of refresh.c and enforce.c that query adopted QPs
 * @query_at: jiffies before which no more queries are sent
 * @uar_lock: spinlock, a leaf: no other lock is taken inside it
 * @uars: struct srdma_uar of user contexts, by index
 * @uar_hash: the same by user context
 * @page_lock: also protects the lists of a context's pages; taken inside srdma_qp_lock()
 * @pages: the UARs of a NIC that has some, struct srdma_uar by the NIC's index
 * @mr_lock: a leaf; may be taken inside srdma_devs_sem and srdma_ctl_lock
 * @mr_hash: struct srdma_mr by ib_mr
 * @mr_users: struct srdma_mr_user by owner
 * @mr_ask: struct srdma_mr whose mapping is to be queried, the oldest first
 * @mr_serial: serial of the youngest region
 * @jobs: struct srdma_job_dev by job id
 * @path_wants: overrides of parts of paths on the device
 * @path_bids: @path_wants, while override.c recomputes it
 * @shape_at: jiffies, when shape() is called again after it failed
 * @shape_ms: time from the failure until then, 0: shape() succeeded
 * @enforce_by: jiffies by which the pass has to run again
 * @n_qps: QPs in @qps
 * @n_devx: of these, made past RDMA core
 * @n_unsure: of these, UNSURE
 * @wrs_at: ns, when the provider's sampler last brought QPs up to date; 0: never
 * @sweeps: sweeps over all doorbell records by the provider's sampler
 * @enforced: srdma_batch.seq of the youngest batch that a finished pass has seen
 * @devx_created: QPs made past RDMA core since the provider came
 * @created: counter, as SWIFTRDMA_DEV_A_CREATED; so are all up to @live_failed
 * @create_failed: the same
 * @rejected: the same
 * @destroyed: the same
 * @modified: the same
 * @adopted: the same
 * @untracked: the same
 * @live_changed: the same
 * @live_failed: the same
 * @drain_max: ns, the longest pause that a class change caused
 *
 * The comments in the structure name the lock of each group.
 */
struct srdma_dev {
	/* Atomic; the last reference queues the work. */
	struct kref ref;
	struct work_struct release;

	/* Constant from the device's publication on. */
	u32 index;
	struct srdma_orig_ops orig;
	bool wrapped_post_send;
	bool query_is_cheap;
	struct srdma_uar *kernel_uar;
	struct srdma_job_dev *unassigned;
	struct ib_event_handler link_event;
	u64 since;

	/* Written with srdma_devs_sem held for writing. */
	char name[IB_DEVICE_NAME_MAX];
	struct ib_device *ibdev;
	struct dentry *debugfs;

	/* Written under provider_lock; srdma_dev_provider() names their readers. */
	struct mutex provider_lock;	/* this group */
	const struct srdma_provider_ops *provider;
	const struct srdma_provider_ops *attached;
	bool provider_closed;
	void *priv;
	u32 caps;
	u8 function;
	bool giving_back;

	/* providers_lock (provider.c). */
	struct list_head provider_node;

	/* Written under hooked_lock (tracker.c), read under RCU. */
	struct hlist_node hook_node;
	struct srcu_struct srcu;

	/* hook.c's add() and remove(), which RDMA core never runs side by side. */
	bool hooked;

	/* Requests: any thread sets one without a lock; the work that serves it resets it. */
	struct srdma_refresh refresh;
	struct delayed_work enforce;
	unsigned long link_stale, rescan, reshape;
	bool unqueried, query_wanted, hurry;

	/* ports_lock. */
	spinlock_t ports_lock;	/* what @ports points to */
	struct srdma_port *ports;

	/* Has its own locks: see table.h. */
	struct srdma_table qps;

	/* adopt_lock. */
	struct mutex adopt_lock;	/* this group */
	bool adopting;
	bool adopt_abort;
	struct xarray left;

	/* query_lock. */
	struct mutex query_lock;	/* this group */
	unsigned long query_at;

	/* Written under uar_lock, read under RCU. */
	spinlock_t uar_lock;	/* this group */
	struct xarray uars;
	DECLARE_HASHTABLE(uar_hash, 6);

	/* Written under page_lock, read under RCU. */
	struct mutex page_lock;	/* this group */
	struct xarray pages;

	/* mr_lock; @mr_users is read under RCU. */
	spinlock_t mr_lock;	/* this group */
	DECLARE_HASHTABLE(mr_hash, 12);
	DECLARE_HASHTABLE(mr_users, 8);
	struct list_head mr_ask;
	u64 mr_serial;

	/* Written under srdma_ctl_lock; @jobs is read under RCU, @path_wants without a lock. */
	struct xarray jobs;
	u32 path_wants, path_bids;

	/* The device's pass (enforce.c) alone. */
	unsigned long shape_at;
	u32 shape_ms;
	unsigned long enforce_by;

	/* Figures, atomic. */
	atomic_t n_qps, n_devx, n_unsure;
	atomic64_t wrs_at, sweeps, enforced, devx_created;
	atomic64_t created, create_failed, rejected, destroyed, modified;
	atomic64_t adopted, untracked, live_changed, live_failed, drain_max;
};

/**
 * struct srdma_member - a thread that made QPs on a UAR page
 * @node: in srdma_uar.members
 * @owner: with a reference
 * @tid: 0: unknown
 * @n: QPs of it that are alive
 */
struct srdma_member {
	struct list_head node;
	struct srdma_owner *owner;
	u32 tid;
	u32 n;
};

/**
 * struct srdma_uar - a UAR page, or the user context that stands for one
 * @ref: one of the context (of a page: of the device's table), one per QP and page
 * @rcu: frees it
 * @index: in srdma_dev.uars; of a page: the NIC's
 * @kind: enum swiftrdma_uar_kind
 * @dev: with a reference
 * @ctx: key only, never followed; NULL: the kernel's, or a page
 * @owner: the process that opened the context, with a reference
 * @context: of a page: its context, with a reference; else NULL
 * @since: ns
 * @sweeps0: of a page: srdma_dev.sweeps when the page became known
 * @node: in srdma_dev.uar_hash
 * @pages: of a context: its pages
 * @page_node: of a page: in @context's @pages
 * @n_pages: of a context: how many it has
 * @limit: of a context: pages that it asked for, 0: not known
 * @closed: of a context: it was closed and gets no more pages
 * @n_qps: alive on it
 * @created: QPs ever placed on it
 * @doorbells: rung on it, also by QPs that are gone
 * @wrs: posted on it, where they are seen
 * @lock: a leaf
 * @members: of a page: struct srdma_member
 * @n_owners: distinct owners among the members
 * @n_members: how many members
 * @spare: an unused member for the next QP, or NULL
 * @mark: the last sweep that found a QP of the page active
 * @twice: that sweep found a second QP active
 * @active: sweeps that found a QP active
 * @coactive: sweeps that found two or more active
 * @window: number of the time window that @now counts
 * @now: work requests seen in that window
 * @before: work requests seen in the window before that
 */
struct srdma_uar {
	struct kref ref;
	struct rcu_head rcu;

	/* Constant once it can be found. */
	u32 index;
	u8 kind;
	struct srdma_dev *dev;
	void *ctx;
	struct srdma_owner *owner;
	struct srdma_uar *context;
	u64 since;
	u64 sweeps0;

	/* srdma_dev.uar_lock. */
	struct hlist_node node;

	/* srdma_dev.page_lock; @n_pages is read without it. @limit is written once, without it. */
	struct list_head pages;
	struct list_head page_node;
	u32 n_pages, limit;
	bool closed;

	/* Atomic. */
	atomic_t n_qps;
	atomic64_t created, doorbells, wrs;

	/* lock. */
	spinlock_t lock;	/* this group */
	struct list_head members;
	u32 n_owners, n_members;
	struct srdma_member *spare;

	/* Written by the provider's sampler alone, read by any thread. */
	u64 mark;
	bool twice;
	u64 active, coactive;
	u64 window, now, before;
};

/**
 * struct srdma_path - a part of a QP's path that can be overridden
 * @want: override in force, packed as srdma_pack(), 0: none, so the driver's value holds.
 *	Written under srdma_ctl_lock, read by any thread.
 * @value: the value that is programmed, while @set. This and all that follows is under
 *	srdma_qp_lock().
 * @own: the driver's value
 * @refused: the value that the last attempt asked for
 * @error: -errno of the last attempt
 * @set: this module has programmed @value
 */
struct srdma_path {
	u32 want;
	u16 value, own, refused;
	s16 error;
	bool set;
};

/**
 * struct srdma_element - a device's scheduling element, as long as any QP may be in it
 * @ref: one of its srdma_shape, and one of each QP that was bound to it and has not left it.
 *	A QP's reference ends after the driver's destroy, or with the QP's entry in the table
 *	if the QP lives longer than that.
 * @id: the device's number
 * @serial: from 1, not reused
 */
struct srdma_element {
	refcount_t ref;
	u32 id;
	u32 serial;
};

static inline void srdma_element_put(struct srdma_element *e)
{
	if (e && refcount_dec_and_test(&e->ref))
		kfree(e);
}

/**
 * struct srdma_outstanding - what a provider found in a QP's send queue, at random times
 * @samples: looks at the queue
 * @wqebbs: sum, over these looks, of the WQEBBs that were posted and not completed
 * @squares: sum of their squares
 * @readable: the provider can read the queue; only then the following say something
 * @blocks: WQEBBs of the request that the last look saw, 0: none has seen one
 * @changes: looks that saw requests of different numbers of WQEBBs
 * @uncovered_samples: looks that found out how many WQEBBs were complete and not covered by a
 *	CQE yet
 * @uncovered: sum of these WQEBBs
 * @uncovered_squares: sum of their squares
 * @drained: WQEBBs that had been posted in all when the last look found the queue empty, or
 *	SRDMA_NOT_DRAINED. The provider's own.
 * @drained_uncovered: how many of them were not covered then, or a value of the provider's for
 *	"not known". The provider's own.
 */
struct srdma_outstanding {
	u64 samples, wqebbs, squares;
	u64 uncovered_samples, uncovered, uncovered_squares;
	u64 changes;
	u64 drained;
	u32 drained_uncovered;
	u8 blocks;
	bool readable;
};

#define SRDMA_NOT_DRAINED	U64_MAX

/**
 * struct srdma_qp_hw - what a provider with UAR pages knows of a QP
 * @page: the UAR, with a reference and a place among its members; NULL: not known. Set once, under
 *	srdma_qp_lock() or before the QP is published.
 * @member: that place, NULL: there was no memory for one
 * @element: scheduling element that the QP is bound to, with a reference; under
 *	srdma_qp_lock()
 * @wrs_since: ns, when the count of work requests began
 * @slot: the provider's, SRDMA_NO_SLOT at first; under srdma_qp_lock()
 * @live: the contents are this QP's; false: left over from an earlier QP
 * @counted: work requests are counted since @wrs_since
 * @ambiguous: the count may be wrong, because the sampler may have missed a wrap
 * @sure: everything that can be known of the QP's page and record is known
 * @absent: enum swiftrdma_absent: why work requests are not counted
 * @path: by enum srdma_path_part
 * @syndrome: the device's reason for its last refusal of a command for this QP. A refused
 *	command is not repeated until something changes, see provider.h.
 * @binding_unknown: the QP was reset after it was bound to @element, and it is not known whether
 *	the device has unbound it; under srdma_qp_lock()
 * @no_element: srdma_element.serial of the element that the device refused to bind the QP
 *	to, SRDMA_LEAVE: it refused to unbind the QP, 0: it refused nothing
 * @no_class: the class that the device refused, while srdma_qp.class_error is -EREMOTEIO
 * @outstanding: NULL: the send queue was never sampled. May be left over from an earlier QP in
 *	this memory; it has no samples then.
 *
 * The memory of this structure and of @outstanding stays with the memory of the QP, and is
 * type-stable like it.
 */
struct srdma_qp_hw {
	struct srdma_uar *page;
	struct srdma_member *member;
	struct srdma_element *element;
	u64 wrs_since;
	u32 slot;
	bool live, counted, ambiguous, sure, binding_unknown;
	u8 absent;
	struct srdma_path path[SRDMA_PATH_PARTS];
	u32 syndrome;
	u32 no_element;
	struct srdma_class no_class;
	struct srdma_outstanding *outstanding;
};

#define SRDMA_NO_SLOT	U32_MAX
#define SRDMA_LEAVE	U32_MAX

enum srdma_qp_flag {
	SRDMA_QP_LOCKED,	/* srdma_qp_lock() */
	SRDMA_QP_WANTED,	/* a thread waits for that lock: a drain gives up */
	SRDMA_QP_DEAD,		/* ib_qp is not to be touched any more */
	SRDMA_QP_HAS_AV,	/* the address vector fields are valid */
	SRDMA_QP_SAW_AV,	/* they are from its application's modify, not from a query */
	SRDMA_QP_HAS_STATE,	/* state is known */
	SRDMA_QP_ADOPTED,	/* taken in after it was made */
	SRDMA_QP_USER,		/* posts from user space */
	SRDMA_QP_FILTERED,	/* the provider's event filter is in place */
	SRDMA_QP_APP_SQD,	/* the application itself is draining */
	SRDMA_QP_GRH,		/* the address vector has a GRH */
	SRDMA_QP_MARKED,	/* enforce.c has to visit the QP */
	SRDMA_QP_ROCE,		/* the address vector is Ethernet's */
	SRDMA_QP_DEVX,		/* no ib_qp: made past RDMA core */
	SRDMA_QP_LISTED,	/* RDMA core listed it at the last count; adopt.c */
	SRDMA_QP_UAR_OWNER,	/* the UAR has the reference on its owner */
	SRDMA_QP_SUMMED,	/* see srdma_job_dev.round; under srdma_job_dev.lock */
	SRDMA_QP_QUERIED,	/* adopted: state and address are known, or never will be */
	SRDMA_QP_UNSURE,	/* DEAD: its destroy may have begun before the hook; adopt.c */
	SRDMA_QP_SEEN,		/* UNSURE, but used since the hook */
};

/**
 * struct srdma_qp_ends - what the two ends of a connection wish of each other
 * @asked: level that this end wishes of the peer's QP, as far as the peer may know, plus 1;
 *	0: none. Written by the work of peer_wish.c alone, as are all up to @due.
 * @state: enum swiftrdma_ends, the result of that wish
 * @there: level in force at the peer, as the peer reported, plus 1; 0: none
 * @queued: the work is about to tell the peer
 * @due: when the peer is to be told again, as srdma_ends_seconds()
 * @wish: level that the peer wishes of this QP, plus 1; 0: none. This and @until are written
 *	under srdma_qp_lock().
 * @until: when @wish lapses, as srdma_ends_seconds()
 * @reserved: not used
 *
 * Each is read by any thread without a lock.
 */
struct srdma_qp_ends {
	u8 asked, state, there, queued, due;
	u8 wish, until;
	u8 reserved;
};

/* Seconds modulo 256: the times that are compared are less than 128 s apart. */
static inline u8 srdma_ends_seconds(void)
{
	return ktime_get_seconds();
}

/**
 * struct srdma_qp - a queue pair
 * @ref: one of the table, one per reader that follows a pointer of it
 * @qpn: number
 * @node: in srdma_dev.qps; hashed while lookups can find the QP
 * @flags: enum srdma_qp_flag, atomic bit operations
 * @hw: what a provider with UAR pages knows of the QP, see srdma_qp_hw(). Stays allocated
 *	for the next QP in this memory.
 * @ibqp: to be followed only under srdma_qp_lock() and not DEAD, or in a wrapper for this
 *	very QP
 * @dev: with a reference
 * @owner: held by a reference of the QP, or, if UAR_OWNER is set, by the reference of @uar
 * @uar: with a reference; NULL: unknown. Where UARs are pages, this is their user context.
 * @job: struct srdma_job_dev, with a reference. Changed under srdma_ctl_lock and the old
 *	job's lock; read under RCU.
 * @job_node: in job->qps under job->lock
 * @free: the next free QP; table.c
 * @serial: never reused
 * @stamp: generation of the last change, see srdma_qp_touch()
 * @doorbells: cumulative
 * @wrs: cumulative
 * @since: ns, CLOCK_MONOTONIC
 * @saved_handler: the QP's own event handler while FILTERED; provider
 * @retry_at: jiffies, their low 32 bits, before which enforce.c does not retry; the pass alone
 * @level: override of this QP alone, packed as srdma_pack()
 * @rules_gen: generation of the rules at admission, until the QP is a member of its job
 * @tid: creating thread, initial pid namespace; 0: unknown
 * @send_cq: RDMA core's id of it
 * @recv_cq: the same
 * @max_send_wr: as the driver gave it; so are all up to @max_recv_sge
 * @max_recv_wr: the same
 * @max_inline: the same, bytes; a value that does not fit is stored as the largest that does
 * @max_send_sge: the same
 * @max_recv_sge: the same
 * @dest_qpn: this and all up to @hop_limit are the destination and the address vector that
 *	the application asked for last. netlink reads them without the lock: each is one word,
 *	or constant while the QP is connected.
 * @flow_label: of the GRH
 * @dlid: 0: it has none, on Ethernet
 * @dgid: of the GRH
 * @dmac: on Ethernet
 * @sgid_index: of the GRH
 * @hop_limit: of the GRH
 * @type: enum ib_qp_type
 * @state: enum ib_qp_state, the last that the application set
 * @port: 0: not known
 * @key_port: @port at creation, for srdma_qp_key()
 * @tclass_asked: traffic class that the application asked for
 * @tclass: traffic class that is programmed
 * @sl_asked: service level that the application asked for
 * @sl: service level that is programmed
 * @class_error: -errno of the last attempt to change the class; 0: none
 * @attempts: failed attempts in a row, up to 255, to apply the level @tried
 * @tried: level of the last attempt, -1: the application's class; the pass alone
 * @rule: srdma_rule.id of the rule that has counted the QP
 * @carried_doorbells: part of @doorbells that report.c has counted for the QPs whose requests this
 *	QP carries
 * @ends: levels that the two ends of the connection wish of each other
 *
 * The memory is type-stable: what a reader finds without a lock may be another QP by the
 * time it is read. Plain fields may be read all the same. To follow a pointer, a reader takes
 * a reference or the lock, and then checks that the QP is still the one it looked for. The
 * members before @ibqp are therefore not initialised anew for each QP.
 */
struct srdma_qp {
	/* Not set up anew for each QP: a reader without a reference may read these. */
	struct kref ref;
	u32 qpn;
	struct hlist_nulls_node node;	/* srdma_table.lock */
	unsigned long flags;		/* atomic */
	struct srdma_qp_hw *hw;		/* srdma_qp_lock() */

	/* Constant while it is in the table. */
	struct ib_qp *ibqp;
	struct srdma_dev *dev;
	struct srdma_owner *owner;
	struct srdma_uar *uar;

	/* srdma_job_dev.lock, and srdma_ctl_lock to change @job; @free: srdma_table.lock. */
	struct srdma_job_dev __rcu *job;
	union {
		struct hlist_node job_node;
		struct srdma_qp *free;
	};

	/* Atomic, but for @serial and @since, which are constant. */
	u64 serial;
	atomic64_t stamp;
	atomic64_t doorbells;
	atomic64_t wrs;
	u64 since;

	/* srdma_qp_lock(); @saved_handler is read in the QP's event handler, too. */
	void (*saved_handler)(struct ib_event *ev, void *ctx);
	u32 retry_at;

	/* Written under srdma_ctl_lock, read without it. */
	u32 level;

	/* Set before the QP is published, or, of an adopted one, under srdma_qp_lock(). */
	u32 rules_gen;
	u32 tid;
	u32 send_cq, recv_cq;
	u32 max_send_wr, max_recv_wr;
	u16 max_inline;
	u8 max_send_sge, max_recv_sge;

	/* srdma_qp_lock(); but for @type and @key_port, which are constant. */
	u32 dest_qpn;
	u32 flow_label;
	u32 dlid;
	u8 dgid[16];
	u8 dmac[6];
	u8 sgid_index, hop_limit;
	u8 type, state, port, key_port;
	u8 tclass_asked, tclass, sl_asked, sl;
	s16 class_error;
	u8 attempts;
	s8 tried;

	/* srdma_job_dev.lock. */
	u32 rule;

	/* srdma_share_lock. */
	u64 carried_doorbells;

	/* Without a lock, see struct srdma_qp_ends. */
	struct srdma_qp_ends ends;
};

/* One page holds 16 QPs, 256 bytes for each. Two pages hold 33. */
#define SRDMA_CHUNK_BYTES	8192
#define SRDMA_CHUNK_QPS							\
	((SRDMA_CHUNK_BYTES - sizeof(unsigned long)) / sizeof(struct srdma_qp))

/* A piece of a table's memory. @first: place of @qp[0] in the table. */
struct srdma_chunk {
	unsigned long first;
	struct srdma_qp qp[SRDMA_CHUNK_QPS];
};

/*
 * Devices. The semaphore protects the set and srdma_dev.name. While a thread holds it,
 * srdma_dev.ibdev and .provider of each device in the set stay valid. Taken inside ib_core's
 * client locks (add, remove, rename) and srdma_dev.provider_lock, outside srdma_ctl_lock. Leases
 * and ACT need it, so no thread holds it during a firmware command or another wait for a device.
 */
extern struct rw_semaphore srdma_devs_sem;
extern struct xarray srdma_devs;		/* struct srdma_dev by index */

/* Is @dev still in srdma_devs? srdma_devs_sem. */
static inline bool srdma_dev_is_there(struct srdma_dev *dev)
{
	return xa_load(&srdma_devs, dev->index) == dev;
}

/* The next device at or after *index, with a reference. Takes srdma_devs_sem. */
struct srdma_dev *srdma_dev_next(unsigned long *index);

int srdma_tracker_init(void);
void srdma_tracker_exit(void);

/* A device without QPs, ports or provider. NULL: no memory. */
struct srdma_dev *srdma_dev_alloc(struct ib_device *ibdev);
void srdma_dev_put(struct srdma_dev *dev);
static inline void srdma_dev_get(struct srdma_dev *dev)
{
	kref_get(&dev->ref);
}

/*
 * For the wrappers: to find the device of an ib_device, in an RCU section, and to wait until every
 * thread that is in a wrapper of any device now has left it.
 */
extern struct srcu_struct srdma_srcu;
struct srdma_dev *srdma_dev_of(struct ib_device *ibdev);
void srdma_dev_hash(struct srdma_dev *dev);
void srdma_dev_unhash(struct srdma_dev *dev);
void srdma_wrappers_wait(void);

/*
 * srdma_armed: the hook is in place, so ACT is accepted. hook.c sets it when the module starts,
 * and clears it under arm_lock. Readers take no lock and use READ_ONCE().
 */
extern bool srdma_armed;

/*
 * A QP that is in no table yet, without owner, job and UAR; it may not have its number yet.
 * @ibqp NULL: there is none, and the caller sets the type. NULL: no memory. May sleep.
 */
struct srdma_qp *srdma_qp_alloc(struct srdma_dev *dev, struct ib_qp *ibqp, bool user);
void srdma_qp_put(struct srdma_qp *q);	/* NULL: does nothing */
/* Copy the number, and what else only the driver's create_qp has set. */
void srdma_qp_identify(struct srdma_qp *q);
void srdma_qp_set_caps(struct srdma_qp *q, const struct ib_qp_cap *cap);

/*
 * Generations. A dump takes a new one and then reads; a change changes and then
 * stamps. Both orders are full barriers, so either the dump saw the change or
 * the stamp is at least the dump's generation.
 */
extern atomic64_t srdma_generation;

/* Stamp a QP that has changed with the generation of now. Any context. */
void srdma_qp_stamp(struct srdma_qp *q);

/*
 * A QP has changed: the next dump of changes contains it. If the stamp is current already, another
 * thread may be writing it in srdma_qp_stamp(); that thread checks there whether the generation
 * has changed meanwhile.
 */
static inline void srdma_qp_touch(struct srdma_qp *q)
{
	smp_mb();	/* pairs with atomic64_inc_return() in the dump */
	if (atomic64_read(&q->stamp) < atomic64_read(&srdma_generation))
		srdma_qp_stamp(q);
}

/*
 * The device's provider; its ops find what its dev_add() has made. The caller is in a wrapper,
 * holds srdma_devs_sem, or is the device's work of enforce.c or refresh.c. A function that uses
 * several ops fetches the provider once, because it may change in between, and the next provider
 * may lack an op.
 */
static inline const struct srdma_provider_ops *srdma_dev_provider(const struct srdma_dev *dev)
{
	return smp_load_acquire(&dev->provider);	/* pairs with attach_provider() */
}

/* What the provider knows of the QP; NULL: nothing yet. RCU section, or a reference. */
static inline struct srdma_qp_hw *srdma_qp_hw(const struct srdma_qp *q)
{
	struct srdma_qp_hw *hw = smp_load_acquire(&q->hw);	/* pairs with its making */

	return hw && smp_load_acquire(&hw->live) ? hw : NULL;	/* pairs with srdma_qp_hw_make() */
}

/* As srdma_qp_hw(), made if need be; NULL: no memory. Callers exclude each other; may sleep. */
struct srdma_qp_hw *srdma_qp_hw_make(struct srdma_qp *q);
/*
 * srdma_qp_hw.outstanding of a QP that has a srdma_qp_hw, made if need be; NULL: no memory.
 * Callers exclude each other; may sleep.
 */
struct srdma_outstanding *srdma_qp_outstanding(struct srdma_qp *q);

/* The UAR to be shown of a QP; NULL: unknown. RCU section, or a reference. */
static inline const struct srdma_uar *srdma_qp_uar(const struct srdma_qp *q)
{
	const struct srdma_qp_hw *hw;

	if (!(READ_ONCE(q->dev->caps) & SWIFTRDMA_DEV_CAP_UARS))
		return q->uar;
	hw = srdma_qp_hw(q);
	return hw ? READ_ONCE(hw->page) : NULL;
}

/* The UARs to be shown of a device. */
static inline struct xarray *srdma_dev_uar_table(struct srdma_dev *dev)
{
	return READ_ONCE(dev->caps) & SWIFTRDMA_DEV_CAP_UARS ? &dev->pages : &dev->uars;
}

/* Bytes of the module's own memory for one QP, without the padding of a chunk. */
#define SRDMA_QP_BYTES	sizeof(struct srdma_qp)

#endif /* SRDMA_TRACKER_H */
