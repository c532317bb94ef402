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
 * @ref: one of the hook, one per QP, UAR and job_dev, one per reader
 * @release: frees it, a grace period after the last reference
 * @index: as `rdma dev` shows it
 * @name: follows renames; under srdma_devs_sem
 * @ibdev: there while the device is in srdma_devs (hold srdma_devs_sem), inside
 *	a wrapper, in its work of refresh.c and enforce.c, and while a QP of it is held
 *	with srdma_qp_lock() and not dead
 * @provider: changes between the generic one and one that is a module, see
 *	provider.c
 * @attached: that one, until it has let go of all QPs
 * @provider_lock: makes one at a time change the provider. Held over commands of
 *	this device, so nobody else's work waits for it. Taken inside RDMA core's
 *	client locks, outside srdma_devs_sem.
 * @provider_node: in the list of devices that such a provider has
 * @provider_closed: the device goes and gets no other provider; under @provider_lock
 * @refresh: finds out what takes commands, see refresh.h
 * @ports: struct srdma_port of each; counters.c
 * @ports_lock: @ports; a leaf
 * @link_stale: the link of a port has changed since it was read
 * @link_event: tells that
 * @wrs_at: ns, when the provider's sampler last brought QPs up to date; 0: never
 * @priv: its own
 * @caps: enum swiftrdma_dev_cap
 * @query_is_cheap: as its first provider has it; constant
 * @function: enum swiftrdma_function, as far as known; a provider may know better
 * @orig: constant
 * @hook_node: in hook.c's table of devices
 * @hooked: ops of ours are in place; hook.c, from add() to remove()
 * @wrapped_post_send: so is post_send
 * @qps: the QPs, see table.h
 * @n_qps: QPs in @qps
 * @n_devx: of these, made past RDMA core; devx.c
 * @devx_created: of these, since the provider came
 * @adopt_lock: makes one step of the adoption scan exclude the destroy of a QP
 *	that is not known yet; taken outside the locks of @qps and @left, held
 *	without sleeping long
 * @adopting: the scan is not over; under @adopt_lock
 * @adopt_abort: no room in @left: the scan must stop
 * @left: keys of QPs whose destroy has begun while @adopting: the scan must not
 *	take them in; under @adopt_lock
 * @learn_lock: makes one work at a time, refresh.c's or enforce.c's, find out what is
 *	not known of adopted QPs
 * @unlearned: there are some without ASKED; set by anyone, before the QP's bit is cleared
 * @learn: enforce.c is to find out, for a level is wanted of them; set by anyone
 * @learn_at: jiffies before which no more commands are sent for that; @learn_lock
 * @n_unsure: QPs that are UNSURE
 * @uars: struct srdma_uar by index. Readers: RCU. Writers: @uar_lock.
 * @uar_hash: the same by user context. Readers: RCU. Writers: @uar_lock.
 * @uar_lock: protects the two above; spinlock, taken inside nothing
 * @kernel_uar: stands for the kernel's own QPs where there are no UARs
 * @pages: the UARs of a NIC that has some, struct srdma_uar by the NIC's index.
 *	Readers: RCU. Writers: @page_lock.
 * @page_lock: and the lists of a context's pages; taken inside srdma_qp_lock()
 * @sweeps: looks at all doorbell records, where the provider has any
 * @mr_hash: struct srdma_mr by ib_mr; mr.c has this and what follows
 * @mr_lock: @mr_hash, @mr_users, @mr_ask, @mr_serial; taken inside nothing, takes
 *	srdma_owner.lock
 * @mr_users: struct srdma_mr_user by owner. Readers: RCU. Writers: @mr_lock.
 * @mr_ask: struct srdma_mr that are still to be asked for, the oldest first
 * @mr_serial: of the last one
 * @jobs: struct srdma_job_dev by job id. Readers: RCU. Writers: srdma_ctl_lock.
 * @unassigned: the one of id 0, which is there as long as the device is
 * @rescan: enforce.c must compare every QP; set by anyone
 * @reshape: so must its provider's shape(); set by anyone
 * @shape_ms: how long it waits before it tries once more what it could not do, 0: it
 *	could; enforce.c's own
 * @shape_at: jiffies, when that is over; the same
 * @enforce: a pass over its QPs, enforce.c's work; queued with a reference to the device
 * @enforce_by: jiffies by which that is to run again; enforce.c's own
 * @enforced: srdma_batch.seq of the last batch that a pass has seen which is over
 * @hurry: everything is given back: no retry waits for its time
 * @path_wants: overrides of parts of paths on it; srdma_ctl_lock, read by anyone
 * @path_bids: the same, while override.c counts them
 * @giving_back: its provider or itself is about to go: nothing is in force any more
 * @since: ns, when counting began
 * @created: counter, as SWIFTRDMA_DEV_A_CREATED; so are all up to @drain_max
 * @create_failed: the same
 * @rejected: the same
 * @destroyed: the same
 * @modified: the same
 * @adopted: the same
 * @untracked: the same
 * @live_changed: the same
 * @live_failed: the same
 * @drain_max: ns, the longest pause that a class change caused
 * @debugfs: directory, or NULL
 */
struct srdma_dev {
	struct kref ref;
	struct work_struct release;
	u32 index;
	char name[IB_DEVICE_NAME_MAX];
	struct ib_device *ibdev;
	const struct srdma_provider_ops *provider;
	const struct srdma_provider_ops *attached;
	struct mutex provider_lock;	/* a change of @provider */
	struct list_head provider_node;
	bool provider_closed;
	void *priv;
	struct srdma_refresh refresh;
	struct srdma_port *ports;
	spinlock_t ports_lock;	/* @ports */
	unsigned long link_stale;
	struct ib_event_handler link_event;
	atomic64_t wrs_at;
	u32 caps;
	struct srdma_orig_ops orig;
	struct hlist_node hook_node;
	bool hooked;
	bool wrapped_post_send;
	bool query_is_cheap;
	u8 function;

	struct srdma_table qps;
	atomic_t n_qps, n_devx;
	atomic64_t devx_created;
	struct mutex adopt_lock;	/* adoption against unknown destroys */
	bool adopting;
	bool adopt_abort;
	struct xarray left;
	struct mutex learn_lock;	/* @learn_at */
	bool unlearned, learn;
	unsigned long learn_at;
	atomic_t n_unsure;

	struct xarray uars;
	DECLARE_HASHTABLE(uar_hash, 6);
	spinlock_t uar_lock;	/* @uars, @uar_hash */
	struct srdma_uar *kernel_uar;
	struct xarray pages;
	struct mutex page_lock;		/* @pages */
	atomic64_t sweeps;

	DECLARE_HASHTABLE(mr_hash, 12);
	spinlock_t mr_lock;	/* the rest of these */
	DECLARE_HASHTABLE(mr_users, 8);
	struct list_head mr_ask;
	u64 mr_serial;

	struct xarray jobs;
	struct srdma_job_dev *unassigned;
	unsigned long rescan;
	unsigned long reshape;
	unsigned long shape_at;
	u32 shape_ms;
	struct delayed_work enforce;
	unsigned long enforce_by;
	atomic64_t enforced;
	bool hurry;
	u32 path_wants, path_bids;
	bool giving_back;

	u64 since;
	atomic64_t created, create_failed, rejected, destroyed, modified;
	atomic64_t adopted, untracked, live_changed, live_failed, drain_max;

	struct dentry *debugfs;
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
 * @node: in srdma_dev.uar_hash
 * @index: in srdma_dev.uars
 * @kind: enum swiftrdma_uar_kind
 * @dev: with a reference
 * @ctx: key only, never followed; NULL: the kernel's
 * @owner: who opened it, with a reference
 * @n_qps: alive on it
 * @created: QPs ever placed on it
 * @doorbells: rung on it, of QPs gone too
 * @wrs: posted on it, where seen
 * @since: ns
 * @pages: of a context: its pages, under srdma_dev.page_lock
 * @n_pages: how many
 * @limit: of a context: pages it asked for, 0: not known
 * @closed: of a context: it has gone and gets no more pages; under @pages' lock
 *
 * What only pages have:
 *
 * @context: whose it is, with a reference
 * @page_node: in @context's @pages
 * @lock: @members and the two counts; taken inside nothing
 * @members: struct srdma_member
 * @n_owners: distinct owners among them
 * @n_members: how many
 * @spare: a member that is nobody's, or NULL; under @lock
 * @sweeps0: srdma_dev.sweeps when it became known
 * @mark: the last sweep that found it active; the provider's, as all that follows
 * @twice: ... and two of its QPs
 * @active: sweeps that found it so
 * @coactive: the same
 * @window: number of the stretch of time in which @now counts
 * @now: work requests seen in it
 * @before: work requests seen in the one before
 */
struct srdma_uar {
	struct kref ref;
	struct rcu_head rcu;
	struct hlist_node node;
	u32 index;
	u8 kind;
	struct srdma_dev *dev;
	void *ctx;
	struct srdma_owner *owner;
	atomic_t n_qps;
	atomic64_t created, doorbells, wrs;
	u64 since;
	struct list_head pages;
	u32 n_pages, limit;
	bool closed;

	struct srdma_uar *context;
	struct list_head page_node;
	spinlock_t lock;	/* @members, @n_owners, @n_members */
	struct list_head members;
	u32 n_owners, n_members;
	struct srdma_member *spare;
	u64 sweeps0;
	u64 mark;
	bool twice;
	u64 active, coactive;
	u64 window, now, before;
};

/**
 * struct srdma_path - a part of a QP's path that can be overridden
 * @want: what is in force, packed as srdma_path_pack(), 0: the driver's own. Written
 *	under srdma_ctl_lock, read by anyone.
 * @value: programmed, while @set; under srdma_qp_lock(), as all that follows
 * @own: what was there before
 * @refused: what the device refused, while @error is -EREMOTEIO
 * @error: -errno of the last attempt
 * @set: it is ours
 */
struct srdma_path {
	u32 want;
	u16 value, own, refused;
	s16 error;
	bool set;
};

/**
 * struct srdma_element - a device's scheduling element, as long as any QP may be in it
 * @ref: its maker's, and one of each QP that was bound to it and has not left it;
 *	that of a QP which is destroyed ends when the driver is done with it, that
 *	of one that lives longer than the tracker with the tracker's entry
 * @id: the device's
 * @serial: ours, from 1, not reused
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
 * struct srdma_qp_hw - what a provider with UAR pages knows of a QP
 * @live: it is known of the QP that there is; else left over from another one
 * @page: the UAR, with a reference and a member's place; NULL: not known. Set
 *	once, under srdma_qp_lock() or before the QP is published.
 * @member: that place, NULL: there was no memory for one
 * @wrs_since: ns
 * @slot: the provider's, SRDMA_NO_SLOT at first; under srdma_qp_lock()
 * @element: scheduling element that it is bound to, with a reference; the same
 * @counted: work requests are counted since @wrs_since
 * @ambiguous: but the count may be wrong
 * @sure: nothing of it is still to be found out
 * @absent: enum swiftrdma_absent: else why not
 * @path: by enum srdma_path_part
 * @syndrome: the device's reason for its last refusal of a command for this QP; what was
 *	refused is not tried again until something changes, see provider.h
 * @no_element: what was refused: srdma_element.serial of the one to be in, SRDMA_LEAVE: to
 *	be in none, 0: nothing
 * @no_class: and the class, while srdma_qp.class_error is -EREMOTEIO
 *
 * Its memory belongs to that of the QP and is as type-stable.
 */
struct srdma_qp_hw {
	struct srdma_uar *page;
	struct srdma_member *member;
	struct srdma_element *element;
	u64 wrs_since;
	u32 slot;
	bool live, counted, ambiguous, sure;
	u8 absent;
	struct srdma_path path[SRDMA_PATH_PARTS];
	u32 syndrome;
	u32 no_element;
	struct srdma_class no_class;
};

#define SRDMA_NO_SLOT	U32_MAX
#define SRDMA_LEAVE	U32_MAX

enum srdma_qp_flag {
	SRDMA_QP_LOCKED,	/* srdma_qp_lock() */
	SRDMA_QP_WANTED,	/* somebody waits for that lock: a drain gives up */
	SRDMA_QP_DEAD,		/* ib_qp is not to be touched any more */
	SRDMA_QP_HAS_AV,	/* the address vector fields are valid */
	SRDMA_QP_HAS_STATE,	/* state is known */
	SRDMA_QP_ADOPTED,	/* taken in after it was made */
	SRDMA_QP_USER,		/* posts from user space */
	SRDMA_QP_FILTERED,	/* provider put its event filter in */
	SRDMA_QP_APP_SQD,	/* the application itself is draining */
	SRDMA_QP_GRH,		/* the address vector has a GRH */
	SRDMA_QP_MARKED,	/* enforce.c has to look at it */
	SRDMA_QP_ROCE,		/* the address vector is Ethernet's */
	SRDMA_QP_DEVX,		/* no ib_qp: made past RDMA core */
	SRDMA_QP_LISTED,	/* RDMA core had it in its table; adopt.c */
	SRDMA_QP_UAR_OWNER,	/* its owner lives as long as its UAR */
	SRDMA_QP_SUMMED,	/* see srdma_job_dev.round; under that one's lock */
	SRDMA_QP_ASKED,		/* adopted: state and address are known, or never will be */
	SRDMA_QP_UNSURE,	/* DEAD: its destroy may have begun before the hook; adopt.c */
	SRDMA_QP_SEEN,		/* ... but it was used since */
};

/**
 * struct srdma_qp - a queue pair
 * @ref: one of the table, one per reader that follows a pointer of it
 * @node: in srdma_dev.qps; hashed while it is to be found
 * @ibqp: to be followed only under srdma_qp_lock() and not DEAD, or in a
 *	wrapper for this very QP
 * @dev: with a reference
 * @owner: with a reference, its own or, UAR_OWNER, that of @uar
 * @uar: with a reference; NULL: unknown. The context, where UARs are pages.
 * @hw: then there is this, from the first look on: see srdma_qp_hw(). It stays
 *	where it is for the next QP.
 * @job: struct srdma_job_dev, with a reference. Changed under srdma_ctl_lock
 *	and the old one's lock; read under RCU.
 * @job_node: in job->qps under job->lock
 * @free: the next one that is nobody's; table.c
 * @serial: never reused
 * @stamp: generation of the last change, see srdma_qp_touch()
 * @doorbells: cumulative
 * @wrs: cumulative
 * @since: ns, CLOCK_MONOTONIC
 * @flags: enum srdma_qp_flag, atomic bit operations
 * @saved_handler: the QP's own event handler while FILTERED; provider
 * @retry_at: jiffies before which enforce.c lets it alone; enforce work only
 * @level: override of this QP alone, packed as srdma_level_pack(); READ_ONCE
 * @qpn: number
 * @tid: creating thread, initial pid namespace; 0: unknown
 * @send_cq: RDMA core's id of it
 * @recv_cq: the same
 * @max_send_wr: as the driver gave it; so are all up to @max_recv_sge
 * @max_recv_wr: the same
 * @max_inline: the same, bytes
 * @max_send_sge: the same
 * @max_recv_sge: the same
 * @dest_qpn: this and all up to @hop_limit are the destination and the address
 *	vector last asked for, under srdma_qp_lock(); netlink reads them racily,
 *	each is one word or constant while connected
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
 * @tclass: and the one that is programmed
 * @sl_asked: service level that the application asked for
 * @sl: and the one that is programmed
 * @class_error: -errno of the last attempt to change the class; 0: none
 * @attempts: in a row that failed, up to 255, to give it the level @tried
 * @tried: -1: its application's class; enforce work only
 * @rule: srdma_rule.id of the one that has counted it; under job->lock
 * @rules_gen: job.c, between admission and membership
 *
 * The memory is type-stable: what a reader finds without a lock may be another QP
 * by the time it looks. Plain fields may be read all the same; to follow a
 * pointer, take a reference or the lock, and compare after that. What stands
 * before @ibqp is therefore not initialised anew for each QP.
 */
struct srdma_qp {
	struct kref ref;
	u32 qpn;
	struct hlist_nulls_node node;
	unsigned long flags;
	struct srdma_qp_hw *hw;
	struct ib_qp *ibqp;
	struct srdma_dev *dev;
	struct srdma_owner *owner;
	struct srdma_uar *uar;
	struct srdma_job_dev __rcu *job;
	union {
		struct hlist_node job_node;
		struct srdma_qp *free;
	};
	u64 serial;
	atomic64_t stamp;
	atomic64_t doorbells;
	atomic64_t wrs;
	u64 since;
	void (*saved_handler)(struct ib_event *ev, void *ctx);
	unsigned long retry_at;
	u32 level;
	u32 rules_gen;
	u32 tid;
	u32 send_cq, recv_cq;
	u32 max_send_wr, max_recv_wr;
	u32 max_inline;
	u16 max_send_sge, max_recv_sge;
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
	u32 rule;
};

#define SRDMA_CHUNK_BYTES	4096
#define SRDMA_CHUNK_QPS							\
	((SRDMA_CHUNK_BYTES - sizeof(unsigned long)) / sizeof(struct srdma_qp))

/* What a table's memory is made of. @first: position of the first one. */
struct srdma_chunk {
	unsigned long first;
	struct srdma_qp qp[SRDMA_CHUNK_QPS];
};

/*
 * Devices. The semaphore protects the set, srdma_dev.name, and that srdma_dev.ibdev and
 * .provider of a device in the set stay. Taken inside ib_core's client locks (add,
 * remove, rename) and srdma_dev.provider_lock, outside srdma_ctl_lock. Leases and ACT
 * need it, so it is held for as long as computing takes: never over a firmware command
 * or over a wait for anything that a device does.
 */
extern struct rw_semaphore srdma_devs_sem;
extern struct xarray srdma_devs;		/* struct srdma_dev by index */

/* Is it still in the set? srdma_devs_sem. */
static inline bool srdma_dev_is_there(struct srdma_dev *dev)
{
	return xa_load(&srdma_devs, dev->index) == dev;
}

/* The next device at or after *index, with a reference. Takes the semaphore. */
struct srdma_dev *srdma_dev_next(unsigned long *index);

int srdma_tracker_init(void);
void srdma_tracker_exit(void);

struct srdma_dev *srdma_dev_new(struct ib_device *ibdev);
int srdma_dev_publish(struct srdma_dev *dev);	/* into srdma_devs */
/* Out of it, and no QP is taken in any more; the wrappers are still in place. */
void srdma_dev_close(struct srdma_dev *dev);
/* A grace period of the wrappers later: let go of all QPs. */
void srdma_dev_retire(struct srdma_dev *dev);
/* And the rest, once nobody is in a wrapper. */
void srdma_dev_forget(struct srdma_dev *dev);
void srdma_dev_put(struct srdma_dev *dev);
static inline void srdma_dev_get(struct srdma_dev *dev)
{
	kref_get(&dev->ref);
}

/*
 * A QP's life, called by the wrappers in this order. prepare(): owner, job,
 * admission; -EDQUOT is for the application, on -ENOMEM the QP goes untracked.
 * publish() or abort(). leave() before the driver's destroy, then gone(), or
 * stay() if the driver refused.
 */
struct srdma_qp *srdma_qp_prepare(struct srdma_dev *dev, struct ib_qp *ibqp,
				  struct ib_qp_init_attr *attr, bool user);
void srdma_qp_publish(struct srdma_qp *q, struct ib_qp_init_attr *attr,
		      struct ib_udata *udata);
void srdma_qp_abort(struct srdma_qp *q);
struct srdma_qp *srdma_qp_leave(struct srdma_dev *dev, struct ib_qp *ibqp);
void srdma_qp_gone(struct srdma_qp *q);
void srdma_qp_stay(struct srdma_qp *q);
void srdma_qp_put(struct srdma_qp *q);

/*
 * For adopt.c and devx.c: an entry of their own making, in the same steps. insert(): -EEXIST
 * where there is one already. @ibqp NULL: there is none, the type is the caller's.
 */
struct srdma_qp *srdma_qp_alloc(struct srdma_dev *dev, struct ib_qp *ibqp, bool user);
void srdma_qp_identify(struct srdma_qp *q);
void srdma_qp_set_caps(struct srdma_qp *q, const struct ib_qp_cap *cap);
int srdma_qp_insert(struct srdma_qp *q);
/* It is in the table: its UAR and job count it. */
void srdma_qp_link(struct srdma_qp *q);
/* It is out of the table: uncount it. The table's reference is the caller's. */
void srdma_qp_unlink(struct srdma_qp *q);
/*
 * One whose end did not pass a wrapper goes, unless somebody else has taken it out.
 * False: somebody has. The caller has a reference and has locked it; unlocks it.
 */
bool srdma_qp_drop(struct srdma_qp *q);

/*
 * Generations. A dump takes a new one and then reads; a change changes and then
 * stamps. Both orders are full barriers, so either the dump saw the change or
 * the stamp is at least the dump's generation.
 */
extern atomic64_t srdma_generation;

/* Stamp a QP that has changed with the generation of now. Any context. */
void srdma_qp_stamp(struct srdma_qp *q);

/*
 * A QP has changed: the next dump of changes has it. If the stamp is that of now
 * already, but whoever wrote it is not done, srdma_qp_stamp() looks once more there.
 */
static inline void srdma_qp_touch(struct srdma_qp *q)
{
	smp_mb();	/* pairs with atomic64_inc_return() in the dump */
	if (atomic64_read(&q->stamp) < atomic64_read(&srdma_generation))
		srdma_qp_stamp(q);
}

/*
 * Its ops find what its dev_add() has made. Wrapper, srdma_devs_sem, or the device's
 * work of enforce.c or refresh.c. A function that uses it twice fetches it once: the
 * provider may change in between, and the next one may lack the op.
 */
static inline const struct srdma_provider_ops *srdma_dev_provider(const struct srdma_dev *dev)
{
	return smp_load_acquire(&dev->provider);	/* pairs with attach() */
}

/* NULL: there is none yet. RCU section, or the QP is held. */
static inline struct srdma_qp_hw *srdma_qp_hw(const struct srdma_qp *q)
{
	struct srdma_qp_hw *hw = smp_load_acquire(&q->hw);	/* pairs with its making */

	return hw && smp_load_acquire(&hw->live) ? hw : NULL;	/* and all of it is there */
}

/* The same, made if need be, NULL: no memory. By one at a time; may sleep. */
struct srdma_qp_hw *srdma_qp_hw_make(struct srdma_qp *q);

/* The UAR to be shown of a QP, NULL: unknown. RCU section, or the QP is held. */
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

/* Bytes of the module's own memory behind one QP, less what a chunk of them rounds up. */
#define SRDMA_QP_BYTES	sizeof(struct srdma_qp)

#endif /* SRDMA_TRACKER_H */
