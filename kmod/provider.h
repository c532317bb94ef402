/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_PROVIDER_H
#define SRDMA_PROVIDER_H

#include <linux/types.h>

#include "refresh.h"

struct ib_device;
struct ib_port_attr;
struct ib_qp_attr;
struct ib_qp_init_attr;
struct ib_udata;
struct srdma_dev;
struct srdma_dev_stat;
struct srdma_port_bytes;
struct srdma_port_stat;
struct srdma_qp;

/**
 * struct srdma_class - what a class level means on the wire
 * @tclass: GRH traffic class: DSCP in the upper six bits, ECN in the lower two
 * @sl: service level
 */
struct srdma_class {
	u8 tclass;
	u8 sl;
};

/**
 * struct srdma_class_change - the change of a QP's class, one of several made together
 * @q: the QP, held as in &srdma_provider_ops.class_begin
 * @want: its new class
 * @err: 0 or -errno: set by the op
 */
struct srdma_class_change {
	struct srdma_qp *q;
	struct srdma_class want;
	int err;
};

/* The parts of a QP's path that can be overridden. */
enum srdma_path_part {
	SRDMA_PATH_SPORT,	/* SWIFTRDMA_KNOB_UDP_SPORT */
	SRDMA_PATH_LAG,		/* SWIFTRDMA_KNOB_LAG_PORT */
	SRDMA_PATH_PARTS
};

/**
 * struct srdma_provider_ops - figures and changes that a kind of NIC offers
 * @name: shown to users
 * @caps: enum swiftrdma_dev_cap bits that every device of this provider has
 * @wrap_post_send: user doorbells pass through ops.post_send: count them there
 * @query_is_cheap: ops.query_qp and .query_port send no firmware command, so adoption reads a QP's
 *	state and address vector at once, and any reader may have ports read
 * @roce_tclass_only: on an Ethernet port a class is the traffic class alone; the
 *	service level stays the application's
 * @match: does this provider know the device? The first registered
 *	provider that returns true is taken; the generic one always does. A module's
 *	provider is called with srdma_dev.provider_lock held, a built-in one before the
 *	device is published, without that lock.
 * @class_begin: start to change the class of a connected QP, in RTR, RTS, SQD or SQE.
 *	Process context, may sleep. The caller holds srdma_qp_lock() of this QP, and of
 *	others that the same pass changes, so the op may only try the lock of another QP.
 *	Threads that hold srdma_dev.provider_lock, arm_lock or RDMA core's client locks may
 *	wait for the pass, so the op takes none of these.
 *	Neither the application's modify nor its destroy can run meanwhile. 0: poll from
 *	now on; 1: the QP needs no pause, @class_change is next; -errno: the QP is as it
 *	was. The QP may be paused until @class_commit or @class_abort; the caller limits that
 *	time (module parameter drain_ms). NULL: there is nothing to begin. Errors of this op
 *	and of @class_commit:
 *
 *	- -EBUSY: not in this state; tried again later
 *	- -EOPNOTSUPP: this QP's class cannot be changed; tried again only by a pass that compares
 *	  every QP
 *	- -EREMOTEIO: the device refuses this class, which is not tried again until the
 *	  application modifies the QP or all is given back. The op has given the QP a
 *	  struct srdma_qp_hw, with the syndrome
 *	- any other: tried again later
 * @class_poll: 0: ready to commit; -EAGAIN: poll again; other -errno: the QP
 *	cannot get there. Same context as @class_begin. NULL: @class_begin pauses
 *	nothing.
 * @class_commit: program @c and let the QP go on. Same context as @class_begin; may take
 *	a firmware command. On -errno the QP goes on with its old class, or, if the device
 *	never answered (-ETIMEDOUT), with one of the two. NULL: the class of a
 *	connected QP cannot be changed; it is set at INIT->RTR only.
 * @class_change: change @n QPs at once, for each of which @class_begin returned 1. Same
 *	context as @class_begin.
 * @class_abort: give up after @class_begin: the QP goes on with its old class. Called
 *	twice for each change, with an RCU grace period between the two calls. NULL: there is
 *	nothing to undo.
 * @detach: the QP or the provider is about to go: remove everything of the provider's from the QP.
 *	Called inside srdma_dev.srcu, with srdma_qp_lock() held unless the QP is not in the table
 *	yet.
 *	The caller may also hold srdma_dev.provider_lock (the provider goes), RDMA core's client
 *	locks and arm_lock (the device goes), srdma_dev.adopt_lock, or srdma_qp_lock() of a QP that
 *	takes this QP's number. So the op takes no lock that the provider holds while it waits for
 *	a QP or runs @dev_remove. Called more than once, also for QPs that the provider never saw;
 *	srdma_qp.ibqp may be followed only if neither %SRDMA_QP_UNSURE nor %SRDMA_QP_DEVX is set.
 *	May sleep, but sends no command. May be NULL.
 *
 * All ops below may be NULL, but a provider in a module of its own must have the first two. They
 * run in process context and may sleep:
 *
 * @dev_add: start to drive the device: from here on the provider sets srdma_dev.priv, .caps and
 *	.function. If .caps has %SWIFTRDMA_DEV_CAP_UARS, UARs are pages of the NIC, and @qp_created
 *	and @query_qps find out which page a QP rings. -errno: the device stays with the generic
 *	provider. srdma_dev.provider_lock is held, and RDMA core's client locks if the device has
 *	just come.
 * @dev_remove: no thread is in an op of this device, and none will be. srdma_dev.provider_lock is
 *	held, RDMA core's client locks if the device goes, and arm_lock at a disarm.
 * @context_pages: UAR pages that a context asks for, from the data that its library gave
 *	to alloc_ucontext; 0: not known. Called inside srdma_dev.srcu, in the application's
 *	call, after the driver's op; no lock is held.
 * @qp_created: the driver made the QP, which is not published yet. Inside srdma_dev.srcu, in the
 *	application's call; no lock is held.
 * @qp_modify: called before the driver changes the QP, in the application's call, inside
 *	srdma_dev.srcu and with srdma_qp_lock() of this QP
 * @qp_modified: called after it, under the same locks
 * @shape: apply the rates and weights of the device's jobs (srdma_job_dev.bit_rate and .weight) to
 *	their QPs; while srdma_dev.giving_back is set, remove them. Returns how many changes have
 *	to be tried again. Only the device's work of enforce.c calls the op, so the op takes none
 *	of the locks that @class_begin must not take.
 *
 * The device's work of refresh.c calls the ops below without a lock. They may wait for the device,
 * and send commands, as many as a reader may cause:
 *
 * @query_qps: query QPs of which something is unknown (srdma_qp_unqueried()), a limited number in
 *	each call. Returns how many such QPs remain. The device's work of enforce.c calls the op,
 *	too, when such a QP should get a level. Both works may call the op at once, so it must
 *	serialize its calls. NULL: adopt.c asks the driver's own query_qp for state and address.
 * @refresh: read those figures of DEV_GET that take commands
 * @query_port: as ib_query_port()
 * @port_bytes: bytes and packets that bypass the port's netdev; -EAGAIN: not now;
 *	-EOPNOTSUPP: the device does not count them
 * @port_detail: figures of a port that its netdev does not have; the op may keep the figures of
 *	the last reading
 * @mr_shift: the size of the pages that a user's memory region is mapped in, as a
 *	power of two, by its key; -EAGAIN: not now. The region may go meanwhile.
 *
 * With srdma_devs_sem held: they may sleep, but neither send commands nor wait for the
 * device:
 *
 * @sample: have the sampler bring the work requests of QPs up to date: take the next
 *	number of srdma_refresh.sample_asked. When the sampler has served that number, it
 *	puts the number into .sample_done, the time into srdma_dev.wrs_at, and wakes .wait.
 * @watch: for some seconds from now a reader wants to know how much is outstanding in send queues.
 *	A thread of the provider samples the queues by commands.
 * @path_check: can a part of this QP's path be @value? 0, or -errno and *why, which is constant.
 *	srdma_ctl_lock is held, too. A provider with this op applies srdma_path.want of all QPs in
 *	@shape.
 * @dev_stat: the figures of DEV_GET that the provider has, as they were read last
 */
struct srdma_provider_ops {
	const char *name;
	u32 caps;
	bool wrap_post_send;
	bool query_is_cheap;
	bool roce_tclass_only;

	bool (*match)(struct ib_device *ibdev);
	int (*class_begin)(struct srdma_qp *q);
	int (*class_poll)(struct srdma_qp *q);
	int (*class_commit)(struct srdma_qp *q, const struct srdma_class *c);
	void (*class_change)(struct srdma_class_change *c, int n);
	void (*class_abort)(struct srdma_qp *q);
	void (*detach)(struct srdma_qp *q);

	int (*dev_add)(struct srdma_dev *dev);
	void (*dev_remove)(struct srdma_dev *dev);
	u32 (*context_pages)(struct ib_udata *udata);
	void (*qp_created)(struct srdma_qp *q, const struct ib_qp_init_attr *attr,
			   struct ib_udata *udata);
	void (*qp_modify)(struct srdma_qp *q, const struct ib_qp_attr *attr, int mask);
	void (*qp_modified)(struct srdma_qp *q, const struct ib_qp_attr *attr, int mask,
			    int ret);
	u32 (*shape)(struct srdma_dev *dev);
	u32 (*query_qps)(struct srdma_dev *dev);
	void (*refresh)(struct srdma_dev *dev);
	int (*query_port)(struct srdma_dev *dev, u32 port, struct ib_port_attr *attr);
	int (*port_bytes)(struct srdma_dev *dev, u32 port, struct srdma_port_bytes *b);
	void (*port_detail)(struct srdma_dev *dev, u32 port, struct srdma_port_stat *st);
	int (*mr_shift)(struct srdma_dev *dev, u32 lkey);
	void (*sample)(struct srdma_dev *dev);
	void (*watch)(struct srdma_dev *dev);
	int (*path_check)(const struct srdma_qp *q, enum srdma_path_part part, u64 value,
			  const char **why);
	void (*dev_stat)(struct srdma_dev *dev, struct srdma_dev_stat *st);
};

/**
 * struct srdma_dev_stat - figures of a device that only its provider has
 * @uar_limit: UAR pages of the device; 0: not known
 * @commands: commands that the provider sent
 * @command_ns: time that these took
 * @sampled: @sweeps to @pages are known
 * @sweeps: sweeps over all doorbell records
 * @sweep_ns: time that these took
 * @gap_ns: longest time between two readings of a record
 * @records: doorbell records that are read
 * @pages: users' pages to which a reference is held
 * @congestion: @congestions to @congested_at are known
 * @congestions: events of congestion
 * @congestion_level: of the last event
 * @congested_at: ns, time of the last event; 0: there was none
 * @diag_at: ns, when the figures from @mtt to @qpc_misses were read
 * @mtt: @mtt_hits and @mtt_misses are known
 * @mtt_hits: lookups of translations that the device's cache served
 * @mtt_misses: lookups of translations that the cache did not serve
 * @stall: @read_stall is known
 * @read_stall: cycles in which PCI reads were stalled
 * @qpc: @qpc_hits and @qpc_misses are known
 * @qpc_hits: lookups of QP contexts that the device's cache served
 * @qpc_misses: lookups of QP contexts that the cache did not serve
 * @devx: QPs made past RDMA core are seen, and @devx_qps to @devx_missed are known
 * @devx_qps: such QPs that are alive
 * @devx_created: such QPs that were created since the provider came
 * @devx_missed: such QPs that may have been missed
 * @pcie: @pcie_at to @stalled_write_s are known
 * @pcie_at: ns, when they were read
 * @stalled_reads: % of the last second in which the bus held reads up
 * @stalled_writes: the same of writes
 * @stalled_read_s: seconds of which @stalled_reads was over 30 %
 * @stalled_write_s: the same of writes
 */
struct srdma_dev_stat {
	u32 uar_limit;
	u64 commands, command_ns;
	bool sampled;
	u64 sweeps, sweep_ns, gap_ns;
	u32 records, pages;
	bool congestion;
	u64 congestions;
	u32 congestion_level;
	u64 congested_at;
	u64 diag_at;
	bool mtt;
	u64 mtt_hits, mtt_misses;
	bool stall;
	u64 read_stall;
	bool qpc;
	u64 qpc_hits, qpc_misses;
	bool devx;
	u32 devx_qps;
	u64 devx_created, devx_missed;
	bool pcie;
	u64 pcie_at;
	u32 stalled_reads, stalled_writes;
	u64 stalled_read_s, stalled_write_s;
};

extern const struct srdma_provider_ops srdma_provider_generic;
extern const struct srdma_provider_ops srdma_provider_rxe;

const struct srdma_provider_ops *srdma_provider_of(struct ib_device *ibdev);
/* enum swiftrdma_function by the bus of the device; UNSPEC: the bus does not show it. */
u8 srdma_function_of(const struct ib_device *ibdev);
void srdma_provider_detach(struct srdma_qp *q);

/*
 * Providers that are modules of their own. register(): existing devices that match change
 * over to the provider, and their QPs stay. unregister(): its devices change back to the
 * generic provider; returns when no thread is in any of its ops. Process context.
 */
int srdma_provider_register(const struct srdma_provider_ops *ops);
void srdma_provider_unregister(const struct srdma_provider_ops *ops);

/*
 * attach(): a new device is in srdma_devs. give_back(): the device is about to go, and is
 * still in srdma_devs. release(): the device goes, and has no QP any more.
 */
void srdma_provider_attach(struct srdma_dev *dev);
void srdma_provider_give_back(struct srdma_dev *dev);
void srdma_provider_release(struct srdma_dev *dev);

#endif /* SRDMA_PROVIDER_H */
