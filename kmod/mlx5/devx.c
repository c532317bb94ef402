// SPDX-License-Identifier: GPL-2.0
/*
 * QPs that are created without RDMA core. With DEVX a library composes the NIC's commands
 * itself, and mlx5_ib passes them to mlx5_cmd_do(). The commands of mlx5_ib itself go through
 * mlx5_cmd_exec(), so a CREATE_QP that mlx5_ib gives to mlx5_cmd_do() is a DEVX command.
 * Objects end through mlx5_cmd_exec(), or, since 6.12, when a process with many objects
 * exits, through mlx5_cmd_exec_cb(), which does not wait.
 *
 * Kernel probes see these functions return. A probe writes a note, without allocating memory or
 * sleeping on any kind of kernel, and a work item enters the QP into the table. Without probes the
 * number of such QPs is unknown, and so are QPs older than this module.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/rculist.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "debug.h"
#include "devx.h"
#include "find.h"
#include "mlx5.h"

#if defined(CONFIG_KRETPROBES) && defined(CONFIG_HAVE_FUNCTION_ARG_ACCESS_API)

static bool enabled = true;
module_param_named(devx, enabled, bool, 0444);
MODULE_PARM_DESC(devx, "watch mlx5_core's commands by kernel probes for QPs made past RDMA core (Y)");

/* Creations and ends of QPs that can wait to be entered. */
#define NOTES	256

/* Time until commands that may not be sent now are tried again. */
#define ASK_MS	100

/* Commands of each kind that may sleep at the same time without being missed. */
#define ACTIVE	256

/**
 * struct note - a QP that was created or destroyed
 * @node: in watch.new or .free
 * @qp: .task, with a reference, created the QP; NULL: a destroy of .qpn, which began at .at
 */
struct note {
	struct list_head node;
	struct srdma_devx_qp qp;
};

/**
 * struct watch - a device whose commands are watched
 * @node: in the list of devices
 * @md: the device
 * @driver: mlx5_ib
 * @notes: the notes
 * @new: notes of QPs to be entered or dropped, the oldest first
 * @free: unused notes
 * @missed: QPs not noted because no note was free
 * @nmissed: destroys that the probes missed, on all devices, when @doubt was last read
 * @doubt: an end was not noted, a QP was noted before the probes of ends were enabled, or an
 *	end is as old as a QP of its number
 * @work: enters notes
 * @ask: after a missed end, queries the device for each QP
 * @pos: @ask's: place in the table where it continues
 * @again: @ask has to begin anew; any thread sets it
 *
 * From @new to @doubt under the lock.
 */
struct watch {
	struct list_head node;
	struct srdma_mlx5 *md;
	const struct module *driver;
	struct note notes[NOTES];
	struct list_head new, free;
	u64 missed, nmissed;
	bool doubt;
	struct work_struct work;
	struct delayed_work ask;
	unsigned long pos;
	bool again;
};

/*
 * Protects the list of devices, and the notes of each. A raw spinlock, because probes must not
 * sleep, not even with PREEMPT_RT. It is taken in process context, and takes only the workqueue's
 * lock. Entry handlers do not take it, because they may run in a breakpoint that counts as an NMI:
 * they read the list under RCU.
 */
static DEFINE_RAW_SPINLOCK(lock);
static LIST_HEAD(devices);
static bool probing;

/*
 * The probes of ends cost every command some hundred instructions, so they are enabled when
 * the first DEVX QP is entered. @ends_watched is set after that, under @ends_lock, which is
 * taken by works inside nothing.
 */
static DEFINE_MUTEX(ends_lock);
static bool ends_watched;

/*
 * mlx5_ib, while it drives one of the devices; written under @lock. Entry handlers read it
 * without the lock, with preemption off. The thread that clears it waits for these handlers,
 * and the driver's removal waits for that thread.
 */
static const struct module *driver;

static struct watch *watch_of_core(const struct mlx5_core_dev *core)
{
	struct watch *w;

	lockdep_assert_held(&lock);
	list_for_each_entry(w, &devices, node)
		if (w->md->core == core)
			return w;
	return NULL;
}

/* The device's watch, which stays until the device is removed; NULL: it has none. */
static struct watch *watch_of(const struct srdma_mlx5 *md)
{
	struct watch *w;

	raw_spin_lock_irq(&lock);
	list_for_each_entry(w, &devices, node) {
		if (w->md == md) {
			raw_spin_unlock_irq(&lock);
			return w;
		}
	}
	raw_spin_unlock_irq(&lock);
	return NULL;
}

static u8 ib_type(u8 st)
{
	static const u8 types[] = {
		[MLX5_QPC_ST_RC] = IB_QPT_RC, [MLX5_QPC_ST_UC] = IB_QPT_UC,
		[MLX5_QPC_ST_UD] = IB_QPT_UD, [MLX5_QPC_ST_XRC] = IB_QPT_XRC_INI,
	};

	return st < ARRAY_SIZE(types) ? types[st] : IB_QPT_DRIVER;
}

/* Move a free note to the end of watch.new and return it; NULL: there is none. */
static struct note *reserve_note(struct watch *w)
{
	struct note *n;

	lockdep_assert_held(&lock);
	n = list_first_entry_or_null(&w->free, struct note, node);
	if (n)
		list_move_tail(&n->node, &w->new);
	schedule_work(&w->work);
	return n;
}

/* A command that a thread is executing, for its return handler. */
struct creation {
	const struct mlx5_core_dev *core;
	const void *in, *out;
};

/* Return address of the probed function, at its entry. 0: unknown on this architecture. */
static unsigned long caller_address(struct pt_regs *regs)
{
#if defined(CONFIG_X86)
	return regs_get_kernel_stack_nth(regs, 0);
#elif defined(CONFIG_ARM64)
	return procedure_link_pointer(regs);
#else
	return 0;
#endif
}

/* Was the function called by mlx5_ib? Else each QP of RDMA core would take a return probe. */
static bool from_driver(struct pt_regs *regs)
{
	const struct module *ib = READ_ONCE(driver);
	unsigned long addr = caller_address(regs);

	return ib && (!addr || within_module(addr, ib));
}

/*
 * Count a command that the driver sends because this module called it. Every synchronous
 * command passes through mlx5_cmd_do().
 */
static void count_caused(const struct mlx5_core_dev *core)
{
	struct watch *w;

	list_for_each_entry_rcu(w, &devices, node, rcu_read_lock_sched_held())
		if (READ_ONCE(w->md->causes) == current && w->md->core == core)
			atomic64_inc(&w->md->commands);
}

/* 0: a CREATE_QP of the driver, so its return is probed. */
static int create_begins(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct creation *c = (struct creation *)ri->data;

	c->core = (void *)regs_get_kernel_argument(regs, 0);
	count_caused(c->core);
	c->in = (void *)regs_get_kernel_argument(regs, 1);
	c->out = (void *)regs_get_kernel_argument(regs, 3);
	return (int)regs_get_kernel_argument(regs, 2) < (int)MLX5_ST_SZ_BYTES(create_qp_in) ||
	       (int)regs_get_kernel_argument(regs, 4) < (int)MLX5_ST_SZ_BYTES(create_qp_out) ||
	       MLX5_GET(create_qp_in, c->in, opcode) != MLX5_CMD_OP_CREATE_QP ||
	       !from_driver(regs);
}

static void note_creation(struct watch *w, const struct creation *c)
{
	const void *qpc = MLX5_ADDR_OF(create_qp_in, c->in, qpc);
	struct note *n = reserve_note(w);

	if (!n) {
		w->missed++;
		return;
	}
	/* The QP may be destroyed before the probes of ends are enabled. */
	if (!READ_ONCE(ends_watched))
		w->doubt = true;
	get_task_struct(current);
	n->qp.task = current;
	n->qp.at = srdma_coarse(ktime_get_mono_fast_ns());
	n->qp.tid = task_pid_nr(current);
	n->qp.qpn = MLX5_GET(create_qp_out, c->out, qpn);
	n->qp.type = ib_type(MLX5_GET(qpc, qpc, st));
	n->qp.uar = MLX5_GET(qpc, qpc, no_sq) ? SRDMA_NO_UAR : MLX5_GET(qpc, qpc, uar_page);
}

static int create_done(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct creation *c = (struct creation *)ri->data;
	unsigned long flags;
	struct watch *w;

	if ((int)regs_return_value(regs))
		return 0;
	raw_spin_lock_irqsave(&lock, flags);
	w = watch_of_core(c->core);
	if (w && within_module(get_kretprobe_retaddr(ri), w->driver))
		note_creation(w, c);
	raw_spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static struct kretprobe create_probe = {
	.kp.symbol_name = "mlx5_cmd_do",
	.entry_handler = create_begins,
	.handler = create_done,
	.data_size = sizeof(struct creation),
	.maxactive = ACTIVE,
};

/*
 * A DESTROY_QP under way. It counts once the device has accepted it. By then the number may
 * be a younger QP's, so the end applies to a QP older than @at.
 */
struct destruction {
	const struct mlx5_core_dev *core;
	u64 at;
	u32 qpn;
};

/* 0: the command may end a DEVX QP, so its return is probed. */
static int end_begins(struct destruction *d, const struct mlx5_core_dev *core,
		      struct pt_regs *regs)
{
	const void *in = (void *)regs_get_kernel_argument(regs, 1);

	if ((int)regs_get_kernel_argument(regs, 2) < (int)MLX5_ST_SZ_BYTES(destroy_qp_in) ||
	    MLX5_GET(destroy_qp_in, in, opcode) != MLX5_CMD_OP_DESTROY_QP)
		return 1;
	d->core = core;
	d->qpn = MLX5_GET(destroy_qp_in, in, qpn);
	d->at = srdma_coarse(ktime_get_mono_fast_ns());
	return 0;
}

static int destroy_begins(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return end_begins((struct destruction *)ri->data,
			  (void *)regs_get_kernel_argument(regs, 0), regs);
}

/*
 * The device has not answered when this function returns. If it refuses, the driver repeats
 * the command and waits; the QP goes either way.
 */
static int async_begins(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	const struct mlx5_async_ctx *ctx = (void *)regs_get_kernel_argument(regs, 0);

	return end_begins((struct destruction *)ri->data, ctx->dev, regs);
}

/* Is a DEVX QP of this number in the table, or noted to be entered? */
static bool is_ours(struct watch *w, u32 qpn)
{
	struct note *n;

	list_for_each_entry(n, &w->new, node)
		if (n->qp.task && n->qp.qpn == qpn)
			return true;
	return srdma_devx_has(w->md->dev, qpn);
}

static void note_end(struct watch *w, const struct destruction *d)
{
	struct note *n = reserve_note(w);

	if (!n) {
		w->doubt = true;
		return;
	}
	n->qp.task = NULL;
	n->qp.at = d->at;
	n->qp.qpn = d->qpn;
}

static int destroy_done(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct destruction *d = (struct destruction *)ri->data;
	unsigned long flags;
	struct watch *w;

	if ((int)regs_return_value(regs))
		return 0;
	raw_spin_lock_irqsave(&lock, flags);
	w = watch_of_core(d->core);
	if (w && is_ours(w, d->qpn))
		note_end(w, d);
	raw_spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static struct kretprobe destroy_probe = {
	.kp.symbol_name = "mlx5_cmd_exec",
	.kp.flags = KPROBE_FLAG_DISABLED,
	.entry_handler = destroy_begins,
	.handler = destroy_done,
	.data_size = sizeof(struct destruction),
	.maxactive = ACTIVE,
};

static struct kretprobe async_probe = {
	.kp.symbol_name = "mlx5_cmd_exec_cb",
	.kp.flags = KPROBE_FLAG_DISABLED,
	.entry_handler = async_begins,
	.handler = destroy_done,
	.data_size = sizeof(struct destruction),
	.maxactive = ACTIVE,
};

static struct kretprobe *probes[] = { &create_probe, &destroy_probe, &async_probe };

static u64 ends_missed(void)
{
	return READ_ONCE(destroy_probe.nmissed) + READ_ONCE(async_probe.nmissed) +
	       srdma_ends_missed();
}

/*
 * Copy the oldest note to @qp. The note stays in the list, because a younger one may be its
 * end.
 */
static struct note *first_note(struct watch *w, struct srdma_devx_qp *qp)
{
	struct note *n;

	raw_spin_lock_irq(&lock);
	n = list_first_entry_or_null(&w->new, struct note, node);
	if (n)
		*qp = n->qp;
	raw_spin_unlock_irq(&lock);
	return n;
}

static void free_note(struct watch *w, struct note *n)
{
	struct task_struct *task = n->qp.task;

	raw_spin_lock_irq(&lock);
	list_move(&n->node, &w->free);
	raw_spin_unlock_irq(&lock);
	if (task)
		put_task_struct(task);
}

/* Was the end of a QP missed since the last call? */
static bool was_end_missed(struct watch *w)
{
	bool doubt;

	raw_spin_lock_irq(&lock);
	doubt = w->doubt || w->nmissed != ends_missed();
	w->doubt = false;
	w->nmissed = ends_missed();
	raw_spin_unlock_irq(&lock);
	return doubt;
}

/*
 * After a missed end, query the device for each DEVX QP, and drop those that it does not
 * know. Each query is a command, so only as many are sent as readers may cause, and the rest
 * later.
 */
static void query_some_qps(struct work_struct *work)
{
	struct watch *w = container_of(work, struct watch, ask.work);
	struct srdma_mlx5 *md = w->md;
	struct srdma_walk walk;
	struct srdma_qpc qpc;
	struct srdma_qp *q;
	bool may = true;

	if (xchg(&w->again, false))
		w->pos = 0;
	walk = (struct srdma_walk)SRDMA_WALK(&md->dev->qps, w->pos);
	while (may && (q = srdma_walk_get(&walk))) {
		if (test_bit(SRDMA_QP_DEVX, &q->flags)) {
			may = srdma_cmd_may_query(md);
			if (may && srdma_cmd_query_qp(md, q->qpn, &qpc) == -EREMOTEIO)
				srdma_devx_del(md->dev, q->qpn, q->since + 1);
		}
		srdma_qp_put(q);
		cond_resched();
	}
	if (may)
		return;
	w->pos = walk.pos - 1;	/* the QP that was not queried */
	schedule_delayed_work(&w->ask, msecs_to_jiffies(ASK_MS));
}

/* Without these probes ends are missed, and each new DEVX QP causes queries of the device. */
static void watch_ends(void)
{
	int ret = 0;

	if (READ_ONCE(ends_watched))
		return;
	mutex_lock(&ends_lock);
	if (!ends_watched) {
		ret = enable_kretprobe(&destroy_probe);
		if (!ret)
			ret = enable_kretprobe(&async_probe);
		WRITE_ONCE(ends_watched, !ret);
	}
	mutex_unlock(&ends_lock);
	if (ret)
		pr_warn_once("the ends of QPs made past RDMA core (DEVX) are not seen: %d\n", ret);
}

static void set_doubt(struct watch *w)
{
	raw_spin_lock_irq(&lock);
	w->doubt = true;
	raw_spin_unlock_irq(&lock);
}

static void enter_notes(struct work_struct *work)
{
	struct watch *w = container_of(work, struct watch, work);
	struct srdma_dev *dev = w->md->dev;
	struct srdma_devx_qp qp;
	struct note *n;

	while ((n = first_note(w, &qp))) {
		if (!qp.task) {
			if (!srdma_devx_del(dev, qp.qpn, qp.at))
				set_doubt(w);
		} else if (srdma_devx_add(dev, &qp) == -ENOMEM) {
			raw_spin_lock_irq(&lock);
			w->missed++;
			raw_spin_unlock_irq(&lock);
		}
		free_note(w, n);
	}
	watch_ends();
	if (was_end_missed(w)) {
		WRITE_ONCE(w->again, true);
		mod_delayed_work(system_percpu_wq, &w->ask, 0);
	}
}

static void watch_dev(struct srdma_mlx5 *md)
{
	const struct module *ib = md->dev->ibdev->ops.owner;
	struct watch *w;
	int i;

	/* A driver that is built in has no address range by which its calls are recognised. */
	if (!probing || !ib)
		return;
	w = kvzalloc(sizeof(*w), GFP_KERNEL);
	if (!w)
		return;
	INIT_LIST_HEAD(&w->new);
	INIT_LIST_HEAD(&w->free);
	INIT_WORK(&w->work, enter_notes);
	INIT_DELAYED_WORK(&w->ask, query_some_qps);
	w->md = md;
	w->driver = ib;
	w->nmissed = ends_missed();
	for (i = 0; i < NOTES; i++)
		list_add_tail(&w->notes[i].node, &w->free);
	atomic64_set(&md->dev->devx_created, 0);
	raw_spin_lock_irq(&lock);
	list_add_rcu(&w->node, &devices);
	WRITE_ONCE(driver, ib);
	raw_spin_unlock_irq(&lock);
}

static void unwatch_dev(struct srdma_mlx5 *md)
{
	struct watch *w = watch_of(md);
	struct srdma_devx_qp qp;
	struct note *n;

	if (!w)
		return;
	raw_spin_lock_irq(&lock);
	list_del_rcu(&w->node);
	if (list_empty(&devices))
		WRITE_ONCE(driver, NULL);
	raw_spin_unlock_irq(&lock);
	synchronize_rcu();
	cancel_work_sync(&w->work);
	cancel_delayed_work_sync(&w->ask);
	while ((n = first_note(w, &qp)))
		free_note(w, n);
	srdma_devx_drop_all(md->dev);
	kvfree(w);
}

static void fill_stat(struct srdma_mlx5 *md, struct srdma_dev_stat *st)
{
	struct watch *w = watch_of(md);

	if (!w)
		return;
	st->devx = true;
	st->devx_qps = atomic_read(&md->dev->n_devx);
	st->devx_created = atomic64_read(&md->dev->devx_created);
	/* Commands that no probe saw count too, as each may have made a QP. */
	st->devx_missed = READ_ONCE(w->missed) + READ_ONCE(create_probe.nmissed);
}

/* A missed end has the device queried for each QP, so only a privileged reader may cause it. */
static void check_ends(struct srdma_mlx5 *md)
{
	struct watch *w = watch_of(md);

	if (w && READ_ONCE(w->nmissed) != ends_missed())
		schedule_work(&w->work);
}

static void register_probes(void)
{
	int ret;

	if (!enabled)
		return;
	ret = register_kretprobes(probes, ARRAY_SIZE(probes));
	probing = !ret;
	if (ret)
		pr_info("QPs made past RDMA core (DEVX) are not seen: no probes: %d\n", ret);
}

static void unregister_probes(void)
{
	if (probing)
		unregister_kretprobes(probes, ARRAY_SIZE(probes));
}

#else

static void watch_dev(struct srdma_mlx5 *md) {}
static void unwatch_dev(struct srdma_mlx5 *md) {}
static void fill_stat(struct srdma_mlx5 *md, struct srdma_dev_stat *st) {}
static void check_ends(struct srdma_mlx5 *md) {}
static void register_probes(void)
{
	pr_info("QPs made past RDMA core (DEVX) are not seen: this kernel has no probes\n");
}

static void unregister_probes(void) {}

#endif

const struct srdma_mlx5_part srdma_mlx5_devx = {
	.init = register_probes,
	.exit = unregister_probes,
	.dev_add = watch_dev,
	.dev_remove = unwatch_dev,
	.refresh = check_ends,
	.dev_stat = fill_stat,
};
