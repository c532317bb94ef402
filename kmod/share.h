/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attachments: memory that a process shares with the module, so that the library in the
 * process can report what it sees and read what holds for it. The contract is
 * include/uapi/rdma/swiftrdma_share.h.
 */
#ifndef SRDMA_SHARE_H
#define SRDMA_SHARE_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/uidgid.h>

#include <rdma/swiftrdma.h>
#include <rdma/swiftrdma_share.h>

#include "divide.h"

struct file;
struct page;
struct pid;
struct srdma_dev;
struct srdma_job_dev;
struct srdma_owner;

/**
 * struct srdma_figures - what libraries reported, added up; each field only grows
 * @wrs: work requests that send queues took
 * @bytes: bytes of these
 * @recv_wrs: work requests that receive queues took, shared ones not included
 * @done: work requests of send queues that are complete
 * @dropped: work requests of which nothing will be heard
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
	u64 wrs, bytes, recv_wrs, done, dropped, errors;
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
 * @shares: struct srdma_share of each process that is attached
 * @latency_max: ns, the greatest latency
 * @hol_max: ns, the greatest head-of-line wait
 * @bucket: latencies by swiftrdma_hist_bucket(), weighted
 * @processes: attached at the moment
 * @distrusted: a process reported what cannot be; it was bounded
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
 * struct srdma_share_slot - what the module accepted of a slot of a report
 * @generation: of the slot, 0: none seen
 * @serial: srdma_qp.serial of the QP, 0: not found, or not the owner's
 * @stamp: generation of the last change
 * @flags: enum swiftrdma_slot_flags
 * @qpn: number
 * @foreign: looks in a row, 2 at most, at which the number was another process's QP
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
	u32 foreign;
	u64 latency_max, hol_max;
	struct srdma_figures sum;
};

/* A shared memory file, mapped here for as long as its attachment lasts. */
struct srdma_share_file {
	struct file *file;
	struct page **pages;
	unsigned int n_pages;
	void *map;
};

/**
 * struct srdma_share_knob - the process's share of a knob of its job
 * @need: what the process wants, and gets
 * @asked: change counter of the block of control, when the job's knob last changed
 * @asked_wrs: requests that the process had posted then
 * @state: what the library said of the knob when the report was read last
 * @held_ns: how long posts were held, accepted since the attachment
 * @looked_held: the same, at the last look
 */
struct srdma_share_knob {
	struct srdma_need need;
	u64 asked, asked_wrs;
	u32 state;
	u64 held_ns, looked_held;
};

/**
 * struct srdma_share - an attachment: one process, one device
 * @node: in srdma_shares
 * @job_node: in srdma_job_report.shares of @jd
 * @id: never reused
 * @dev: with a reference
 * @pid: the process, with a reference
 * @owner: the process as rules see it, with a reference
 * @slots: QPs that the files have room for
 * @report: the process writes
 * @control: the module writes
 * @jd: job that @seen was added to last, with a reference; NULL: none yet
 * @generation: of the report that @seen is of
 * @collected: ns, when the last look at the report began
 * @attached: ns
 * @seen: sums of the report, of this @generation, that were accepted
 * @seen_bucket: buckets of the same
 * @seen_held: posts that were held, the same
 * @given: what was accepted since @attached
 * @knob: of knobs that libraries enforce; knobs.c
 * @looked: ns, when knobs.c last looked what the process used
 * @looked_wrs: @given.wrs at that time
 * @looked_bytes: @given.bytes at that time
 * @asked_job: the job that the process would like to be in, empty: no wish
 * @asked_slo: ns, the p99 that it would like, 0: no wish
 * @slot: what was accepted of each slot
 *
 * srdma_share_lock protects all of it but what is constant from the attachment on: @id,
 * @dev, @pid, @owner, @slots, the files.
 */
struct srdma_share {
	struct list_head node;
	struct list_head job_node;
	u64 id;
	struct srdma_dev *dev;
	struct pid *pid;
	struct srdma_owner *owner;
	u32 slots;
	struct srdma_share_file report, control;
	struct srdma_job_dev *jd;
	u64 generation;
	u64 collected, attached;
	struct srdma_figures seen, given;
	struct srdma_held seen_held[SWIFTRDMA_SHARE_HELD];
	u64 seen_bucket[SWIFTRDMA_HIST_BUCKETS];
	struct srdma_share_knob knob[SWIFTRDMA_SHARE_HELD];
	u64 looked, looked_wrs, looked_bytes;
	char asked_job[SWIFTRDMA_SHARE_JOB_LEN];
	u64 asked_slo;
	struct srdma_share_slot slot[];
};

/*
 * Protects srdma_shares and what hangs on them. Taken inside srdma_devs_sem and
 * srdma_ctl_lock; takes spinlocks only. Not taken where an application creates, modifies
 * or destroys a QP.
 */
extern struct mutex srdma_share_lock;
extern struct list_head srdma_shares;	/* struct srdma_share, in order of id */

int srdma_share_init(void);
void srdma_share_exit(void);

/*
 * share.c. Of the attachments to @dev (NULL: to any device) that @wants accepts (NULL: all),
 * end those whose process has gone, and add what the others reported since the last look
 * to the sums of their jobs. May sleep; takes srdma_share_lock.
 */
void srdma_shares_collect(const struct srdma_dev *dev,
			  bool (*wants)(const struct srdma_owner *owner, const void *arg),
			  const void *arg);
/* Write into control which job the process is in. srdma_share_lock. */
void srdma_control_set_job(struct srdma_share *s);
/*
 * Make @now, of @size bytes, the current one of the two copies at @copies, unless it is that
 * already. One writer at a time.
 */
void srdma_latch(u64 *changes, void *copies, const void *now, size_t size);
/* End the attachments of processes that have gone. srdma_share_lock. */
void srdma_shares_end_gone(void);

/* report.c, under srdma_share_lock. */
/* Add what is new in the report to the sums of the job that the process is in. */
void srdma_report_collect(struct srdma_share *s);
/* The same, where the process stays in the job that it is in. */
void srdma_report_read(struct srdma_share *s);
/* Does the process write what this module reads, and where it looks for it? */
bool srdma_report_is_readable(const struct swiftrdma_report *r);
/* The process may be another job's: what it reported until now is the old one's. */
void srdma_report_assign(struct srdma_share *s);
/* The share goes: take it off its job. */
void srdma_report_detach(struct srdma_share *s);

#endif /* SRDMA_SHARE_H */
