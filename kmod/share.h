/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attachments: memory that a process shares with the module, so that the library in the process
 * can report what it sees and read which knobs are in force for it. The contract is
 * include/uapi/rdma/swiftrdma_share.h.
 */
#ifndef SRDMA_SHARE_H
#define SRDMA_SHARE_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include <rdma/swiftrdma.h>
#include <rdma/swiftrdma_share.h>

#include "divide.h"
#include "knobs.h"
#include "share_file.h"

struct pid;
struct srdma_dev;
struct srdma_inbox;
struct srdma_job_dev;
struct srdma_owner;
struct srdma_share_user;

/**
 * struct srdma_figures - what libraries reported, added up; each field only grows
 * @wrs: work requests that send queues took
 * @calls: calls that posted them
 * @bytes: bytes of these
 * @recv_wrs: work requests that receive queues took, shared ones not included
 * @done: work requests of send queues that are complete
 * @dropped: work requests that will never be seen to complete
 * @errors: completions with an error
 * @samples: latencies that were measured
 * @latency_wrs: work requests that these samples stand for
 * @latency_ns: sum of the latencies of @latency_wrs
 * @hol_wrs: work requests that samples of the head-of-line wait stand for
 * @hol_ns: sum of the waits of @hol_wrs
 *
 * All are u64, and code goes over them as an array: see SRDMA_FIGURES.
 */
struct srdma_figures {
	u64 wrs, calls, bytes, recv_wrs, done, dropped, errors;
	u64 samples, latency_wrs, latency_ns, hol_wrs, hol_ns;
};

#define SRDMA_FIGURES	(sizeof(struct srdma_figures) / sizeof(u64))

/* Posts that a knob held, as struct swiftrdma_held. */
struct srdma_held {
	u64 posts, wrs, ns, passed;
};

/**
 * struct srdma_job_report - what the processes of a job reported on a device
 * @sum: of all that ever attached
 * @held: posts of the same, by enum swiftrdma_share_knob
 * @split: requests of the same that were posted in pieces
 * @whole: large requests of the same that were not
 * @shares: struct srdma_share of each process that is attached
 * @latency_max: ns, the greatest latency
 * @hol_max: ns, the greatest head-of-line wait
 * @bucket: latencies by swiftrdma_hist_bucket(), weighted
 * @processes: attached at the moment
 * @distrusted: a process reported an impossible figure, which was bounded
 * @since: ns, when the first process attached
 * @stamp: generation of the last change, as srdma_qp.stamp
 * @look: number of the last look that divided the job's knobs; knobs.c
 * @has_left: a process has left the job since; its share has to be divided
 *
 * srdma_share_lock. Belongs to a struct srdma_job_dev, and is freed with it.
 */
struct srdma_job_report {
	struct srdma_figures sum;
	struct srdma_held held[SWIFTRDMA_SHARE_HELD];
	u64 split, whole;
	struct list_head shares;
	u64 latency_max, hol_max;
	u64 bucket[SWIFTRDMA_HIST_BUCKETS];
	u32 processes;
	bool distrusted;
	u64 since;
	u64 stamp;
	u64 look;
	bool has_left;
};

/**
 * struct srdma_move_knob - %SWIFTRDMA_KNOB_UAR of a QP; moves.c
 * @from: number of the QP whose UAR is to be left
 * @until: ns, when it ends; 0: not set
 * @lease: that holds it
 */
struct srdma_move_knob {
	u32 from;
	u64 until, lease;
};

/**
 * struct srdma_share_slot - what the module accepted of a slot of a report
 * @generation: of the slot, 0: none seen
 * @serial: srdma_qp.serial of the QP, 0: it was not found while it was there
 * @stamp: generation of the last change
 * @flags: enum swiftrdma_slot_flags
 * @qpn: number
 * @foreign: looks in a row, 2 at most, at which the number was another process's QP
 * @is_own: the process has the QP, or had it; until then nothing of the slot counts
 * @now_qpn: the QP of the process that carries the requests; 0: itself
 * @now_serial: srdma_qp.serial of that QP
 * @uar_qpn: the value of %SWIFTRDMA_SHARE_KNOB_UAR that the library has answered
 * @uar_state: its answer, enum swiftrdma_knob_state
 * @move: %SWIFTRDMA_KNOB_UAR, as the control file has it
 * @offered: the strongest offer of that knob, while overrides are recomputed
 * @doorbells: of the QP and those that carried its requests, as the kernel counts them, when the
 *	slot was read last
 * @carried_doorbells: of these, those of the QPs that carried its requests
 * @latency_max: ns
 * @hol_max: ns
 * @sum: figures
 */
struct srdma_share_slot {
	u64 generation;
	u64 serial;
	u64 stamp;
	u32 flags;
	u32 qpn;
	u8 foreign;
	bool is_own;
	u32 now_qpn;
	u64 now_serial;
	u32 uar_qpn, uar_state;
	struct srdma_move_knob move, offered;
	u64 doorbells, carried_doorbells;
	u64 latency_max, hol_max;
	struct srdma_figures sum;
};

/**
 * struct srdma_share_knob - the process's share of a knob of its job
 * @need: what the process wants, and gets
 * @asked: change counter of the block of control, when the job's knob last changed
 * @asked_uses: number of calls that the knob acts on, which the process had made at that change
 * @answer: what the library does about it, as srdma_knobs_ask() found last
 * @state: what the library said of the knob when the report was read last
 * @held_ns: how long posts were held, accepted since the attachment
 * @looked_held: the same, at the last look
 */
struct srdma_share_knob {
	struct srdma_need need;
	u64 asked, asked_uses;
	enum srdma_knob_answer answer;
	u32 state;
	u64 held_ns, looked_held;
};

/**
 * struct srdma_share - an attachment: one process, one device
 * @rcu: frees it
 * @pid_node: in the table by process; RCU
 * @user_node: in srdma_share_user.shares of @user
 * @job_node: in srdma_job_report.shares of @jd
 * @id: never reused
 * @dev: with a reference
 * @pid: the process, with a reference
 * @owner: the process as rules saw it last, with a reference
 * @user: whose attachment it is
 * @slots: QPs that the files have room for
 * @report: the file that the process writes
 * @control: the file that the module writes
 * @jd: job that @seen was added to last, with a reference; NULL: none yet
 * @generation: of the report that @seen is of
 * @collected: ns, when the last look at the report began
 * @attached: ns
 * @seen: sums of the report, of this @generation, that were accepted
 * @seen_bucket: buckets of the same
 * @seen_held: posts that were held, the same
 * @seen_split: requests that were posted in pieces, the same
 * @seen_whole: large requests that were not, the same
 * @given: what was accepted since @attached
 * @outstanding: WRs that are posted and not complete, of QPs whose order is known
 * @clock_offset: ns, from CLOCK_MONOTONIC to what the process reads as that
 * @slo_p99: ns, the objective that is granted; 0: none
 * @asks_until: ns, for the limit on asks: each accepted one moves it ASK_TIME ahead; share.c
 * @tells_until: ns, the same for its messages to peers
 * @inbox: messages of peers for the process; NULL: it does not listen. RCU.
 * @knob: of knobs that libraries enforce; knobs.c
 * @looked: ns, when knobs.c last read what the process used
 * @looked_wrs: @given.wrs at that time
 * @looked_bytes: @given.bytes at that time
 * @has_moves: %SWIFTRDMA_KNOB_UAR may be set for a QP of it; moves.c
 * @created: QPs that the process created since the attachment; atomic
 * @registered: memory regions that it registered; atomic
 * @gone_mask: places of @gone, less 1
 * @gone: numbers of QPs of the process that were destroyed, each at its lowest bits; written
 *	by any thread without a lock
 * @slot: what was accepted of each slot
 *
 * srdma_share_lock protects all of it but @created, @registered, @gone, and what is constant from
 * the attachment on:
 * @id, @dev, @pid, @user, @slots, the files.
 */
struct srdma_share {
	struct rcu_head rcu;
	struct hlist_node pid_node;
	struct list_head user_node;
	struct list_head job_node;
	unsigned long id;
	struct srdma_dev *dev;
	struct pid *pid;
	struct srdma_owner *owner;
	struct srdma_share_user *user;
	u32 slots;
	struct srdma_share_file report, control;
	struct srdma_job_dev *jd;
	u64 generation;
	u64 collected, attached;
	struct srdma_figures seen, given;
	u64 outstanding;
	s64 clock_offset;
	u64 slo_p99;
	u64 asks_until, tells_until;
	struct srdma_inbox __rcu *inbox;
	bool has_moves;
	atomic64_t created, registered;
	struct srdma_held seen_held[SWIFTRDMA_SHARE_HELD];
	u64 seen_split, seen_whole;
	u64 seen_bucket[SWIFTRDMA_HIST_BUCKETS];
	struct srdma_share_knob knob[SRDMA_JOB_KNOBS];
	u64 looked, looked_wrs, looked_bytes;
	u32 gone_mask;
	u32 *gone;
	struct srdma_share_slot slot[];
};

/*
 * Protects srdma_shares and the objects that they refer to. Taken inside srdma_devs_sem and
 * srdma_ctl_lock; takes spinlocks only. Not taken where an application creates, modifies or
 * destroys a QP.
 */
extern struct mutex srdma_share_lock;
extern struct xarray srdma_shares;	/* struct srdma_share by id */

/* attach.c */
int srdma_attach_init(void);
void srdma_attach_exit(void);

/* share.c */
void srdma_share_init(void);
void srdma_share_exit(void);
/*
 * A new attachment of the calling process, in no table yet, with at most @slots slots. On success
 * it takes over the caller's reference on @dev. -EDQUOT, -ENOMEM.
 */
struct srdma_share *srdma_share_new(struct srdma_dev *dev, u32 slots);
/* Free one that was not inserted. */
void srdma_share_free(struct srdma_share *s);
/*
 * Enter @s into the tables, in place of the process's earlier attachment. From then on @s may end
 * at any time. -ENXIO: the process has not opened the device. srdma_devs_sem.
 */
int srdma_share_insert(struct srdma_share *s);
/*
 * The calling process asks for a job and an objective. -ENOENT: no such job; -ENXIO: it is not
 * attached; -EAGAIN: it asks too often. Takes srdma_share_lock.
 */
int srdma_share_ask(const char *job, u64 slo_p99);
/*
 * The calling process is about to send a message to a peer. -ENXIO: it is not attached to the
 * device; -EAGAIN: it sends too many. Takes srdma_share_lock.
 */
int srdma_share_pay_for_tell(struct srdma_dev *dev);
/* The attachment of a process to a device; NULL: there is none. srdma_share_lock. */
struct srdma_share *srdma_share_find(const struct srdma_dev *dev, const struct pid *pid);
/* The same; of two, the newer one. RCU section. */
struct srdma_share *srdma_share_find_rcu(const struct srdma_dev *dev, const struct pid *pid);
/*
 * Call @visit for each attachment, with srdma_share_lock held, which is released in between.
 * @visit may end the attachment.
 */
void srdma_shares_walk(void (*visit)(struct srdma_share *s, void *arg), void *arg);
/* End the attachment if its process has gone. True: it is freed. srdma_share_lock. */
bool srdma_share_end_gone(struct srdma_share *s);
/*
 * Of the attachments to @dev (NULL: to any device) that @wants accepts (NULL: all),
 * end those whose process has gone, and add what the others reported since the last look
 * to the sums of their jobs. May sleep; takes srdma_share_lock.
 */
void srdma_shares_collect(const struct srdma_dev *dev,
			  bool (*wants)(const struct srdma_owner *owner, const void *arg),
			  const void *arg);
/*
 * Update the owner as which rules see the process, and the offset of its clock. srdma_share_lock.
 */
void srdma_share_refresh(struct srdma_share *s);
/*
 * Write into the control file the process's job, and which part of its wish is granted.
 * srdma_share_lock.
 */
void srdma_control_set_job(struct srdma_share *s);

/* report.c, under srdma_share_lock. */
/* Add what is new in the report to the sums of the job that the process is in. */
void srdma_report_collect(struct srdma_share *s);
/* The same, where the process stays in the job that it is in. */
void srdma_report_read(struct srdma_share *s);
/* Does the report have the version and the layout that this module reads? */
bool srdma_report_is_readable(const struct swiftrdma_report *r);
/*
 * Move the process to the job that the rules give it now. What it reported until now counts for
 * the old job.
 */
void srdma_report_assign(struct srdma_share *s);
/* Take the attachment out of its job. */
void srdma_report_detach(struct srdma_share *s);

#endif /* SRDMA_SHARE_H */
