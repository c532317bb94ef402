// SPDX-License-Identifier: GPL-2.0
/*
 * QPs that are made past RDMA core. With DEVX a library sends the NIC's commands
 * itself; mlx5_ib hands them on to mlx5_cmd_do(). Its own go through
 * mlx5_cmd_exec(), so a CREATE_QP that mlx5_cmd_do() got from mlx5_ib is DEVX's.
 * The end of any object goes through mlx5_cmd_exec(), or, since 6.12, where a process
 * ends that has many, through mlx5_cmd_exec_cb(), which does not wait.
 *
 * All are watched by kernel probes, at their return. What these meet is noted
 * without memory or sleep, on any kind of kernel, and entered by a work; where there
 * are no probes, nobody knows how many such QPs there are. Nor of those older than
 * this module.
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
#include "devx.h"
#include "find.h"
#include "mlx5.h"

#if defined(CONFIG_KRETPROBES) && defined(CONFIG_HAVE_FUNCTION_ARG_ACCESS_API)

static bool watch = true;
module_param_named(devx, watch, bool, 0444);
MODULE_PARM_DESC(devx, "watch mlx5_core's commands by kernel probes for QPs made past RDMA core (Y)");

/* Creations and ends that are noted but not entered yet. */
#define NOTES	256

/* Until it is tried again to send commands that may not be sent now. */
#define ASK_MS	100

/* Commands that sleep at once and are still seen, of each kind. */
#define ACTIVE	256

/**
 * struct srdma_devx_note - a QP that was made, or has come to its end
 * @node: in srdma_mlx5.devx_new or .devx_free
 * @qp: its task has a reference; NULL: the end of that number, which began at .at
 */
struct srdma_devx_note {
	struct list_head node;
	struct srdma_devx_qp qp;
};

/*
 * The devices, and srdma_mlx5.devx_*. Raw, for probes may not sleep on any kernel;
 * process context, taken inside nothing. Not where a probe is entered: it may be a
 * breakpoint, which counts as an NMI. There the list is read under RCU.
 */
static DEFINE_RAW_SPINLOCK(lock);
static LIST_HEAD(devices);
static bool probing;

/* One was seen: from now on ends are of interest. Written once. */
static bool any_seen;

/*
 * mlx5_ib, as long as one of .devices is its; written under .lock. Read without it
 * where a probe is entered, with preemption off: who clears it waits for those, and
 * the driver for him.
 */
static const struct module *driver;

static struct srdma_mlx5 *device_of(const struct mlx5_core_dev *core)
{
	struct srdma_mlx5 *md;

	lockdep_assert_held(&lock);
	list_for_each_entry(md, &devices, devx_node)
		if (md->core == core)
			return md;
	return NULL;
}

static u8 type_of(u8 st)
{
	switch (st) {
	case MLX5_QPC_ST_RC:
		return IB_QPT_RC;
	case MLX5_QPC_ST_UC:
		return IB_QPT_UC;
	case MLX5_QPC_ST_UD:
		return IB_QPT_UD;
	case MLX5_QPC_ST_XRC:
		return IB_QPT_XRC_INI;
	default:
		return IB_QPT_DRIVER;
	}
}

/* A free note, its place now in the row; NULL: there is none. */
static struct srdma_devx_note *note(struct srdma_mlx5 *md)
{
	struct srdma_devx_note *n;

	lockdep_assert_held(&lock);
	n = list_first_entry_or_null(&md->devx_free, struct srdma_devx_note, node);
	if (n)
		list_move_tail(&n->node, &md->devx_new);
	schedule_work(&md->devx_work);
	return n;
}

/* The command that a thread waits for. */
struct creation {
	const struct mlx5_core_dev *core;
	const void *in, *out;
};

/* Whom the function that is entered returns to. 0: nobody knows on this machine. */
static unsigned long caller(struct pt_regs *regs)
{
#if defined(CONFIG_X86)
	return regs_get_kernel_stack_nth(regs, 0);
#elif defined(CONFIG_ARM64)
	return procedure_link_pointer(regs);
#else
	return 0;
#endif
}

/* Else a return would be watched for every QP that RDMA core makes. */
static bool from_driver(struct pt_regs *regs)
{
	const struct module *ib = READ_ONCE(driver);
	unsigned long addr = caller(regs);

	return ib && (!addr || within_module(addr, ib));
}

/*
 * Each command that is waited for comes through mlx5_cmd_do(). Is it one that the driver
 * sends because we have called it?
 */
static void count_caused(const struct mlx5_core_dev *core)
{
	struct srdma_mlx5 *md;

	list_for_each_entry_rcu(md, &devices, devx_node, rcu_read_lock_sched_held())
		if (READ_ONCE(md->causes) == current && md->core == core)
			atomic64_inc(&md->commands);
}

/* 0: it is one, and to be looked at when it is done. */
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

static void note_creation(struct srdma_mlx5 *md, const struct creation *c)
{
	const void *qpc = MLX5_ADDR_OF(create_qp_in, c->in, qpc);
	struct srdma_devx_note *n = note(md);

	if (!n) {
		md->devx_missed++;
		return;
	}
	WRITE_ONCE(any_seen, true);
	get_task_struct(current);
	n->qp.task = current;
	n->qp.at = ktime_get_mono_fast_ns();
	n->qp.tid = task_pid_nr(current);
	n->qp.qpn = MLX5_GET(create_qp_out, c->out, qpn);
	n->qp.type = type_of(MLX5_GET(qpc, qpc, st));
	n->qp.uar = MLX5_GET(qpc, qpc, no_sq) ? SRDMA_NO_UAR : MLX5_GET(qpc, qpc, uar_page);
}

static int create_done(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct creation *c = (struct creation *)ri->data;
	struct srdma_mlx5 *md;
	unsigned long flags;

	if ((int)regs_return_value(regs))
		return 0;
	raw_spin_lock_irqsave(&lock, flags);
	md = device_of(c->core);
	if (md && within_module(get_kretprobe_retaddr(ri), md->driver))
		note_creation(md, c);
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
 * The end of a QP: once the device has agreed to it. By then the number may be a
 * younger QP's, so it is told by when it began.
 */
struct destruction {
	const struct mlx5_core_dev *core;
	u64 at;
	u32 qpn;
};

/* 0: it may be of one of ours, and is to be looked at when it is done. */
static int end_begins(struct destruction *d, const struct mlx5_core_dev *core,
		      struct pt_regs *regs)
{
	const void *in = (void *)regs_get_kernel_argument(regs, 1);

	if (!READ_ONCE(any_seen) ||
	    (int)regs_get_kernel_argument(regs, 2) < (int)MLX5_ST_SZ_BYTES(destroy_qp_in) ||
	    MLX5_GET(destroy_qp_in, in, opcode) != MLX5_CMD_OP_DESTROY_QP)
		return 1;
	d->core = core;
	d->qpn = MLX5_GET(destroy_qp_in, in, qpn);
	d->at = ktime_get_mono_fast_ns();
	return 0;
}

static int destroy_begins(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return end_begins((struct destruction *)ri->data,
			  (void *)regs_get_kernel_argument(regs, 0), regs);
}

/*
 * The device has not agreed when this returns. If it does not, the driver asks it again
 * and waits; the QP's context goes either way.
 */
static int async_begins(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	const struct mlx5_async_ctx *ctx = (void *)regs_get_kernel_argument(regs, 0);

	return end_begins((struct destruction *)ri->data, ctx->dev, regs);
}

/* Is one of that number in the table, or about to be? */
static bool is_ours(struct srdma_mlx5 *md, u32 qpn)
{
	struct srdma_devx_note *n;

	list_for_each_entry(n, &md->devx_new, node)
		if (n->qp.task && n->qp.qpn == qpn)
			return true;
	return srdma_devx_has(md->dev, qpn);
}

static void note_end(struct srdma_mlx5 *md, const struct destruction *d)
{
	struct srdma_devx_note *n = note(md);

	if (!n) {
		md->devx_doubt = true;
		return;
	}
	n->qp.task = NULL;
	n->qp.at = d->at;
	n->qp.qpn = d->qpn;
}

static int destroy_done(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct destruction *d = (struct destruction *)ri->data;
	struct srdma_mlx5 *md;
	unsigned long flags;

	if ((int)regs_return_value(regs))
		return 0;
	raw_spin_lock_irqsave(&lock, flags);
	md = device_of(d->core);
	if (md && is_ours(md, d->qpn))
		note_end(md, d);
	raw_spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static struct kretprobe destroy_probe = {
	.kp.symbol_name = "mlx5_cmd_exec",
	.entry_handler = destroy_begins,
	.handler = destroy_done,
	.data_size = sizeof(struct destruction),
	.maxactive = ACTIVE,
};

static struct kretprobe async_probe = {
	.kp.symbol_name = "mlx5_cmd_exec_cb",
	.entry_handler = async_begins,
	.handler = destroy_done,
	.data_size = sizeof(struct destruction),
	.maxactive = ACTIVE,
};

static struct kretprobe *probes[] = { &create_probe, &destroy_probe, &async_probe };

static u64 ends_missed(void)
{
	return READ_ONCE(destroy_probe.nmissed) + READ_ONCE(async_probe.nmissed);
}

/* The oldest note, into @qp. Its place stays, for a younger one may be its end. */
static struct srdma_devx_note *first_note(struct srdma_mlx5 *md, struct srdma_devx_qp *qp)
{
	struct srdma_devx_note *n;

	raw_spin_lock_irq(&lock);
	n = list_first_entry_or_null(&md->devx_new, struct srdma_devx_note, node);
	if (n)
		*qp = n->qp;
	raw_spin_unlock_irq(&lock);
	return n;
}

static void free_note(struct srdma_mlx5 *md, struct srdma_devx_note *n)
{
	struct task_struct *task = n->qp.task;

	raw_spin_lock_irq(&lock);
	list_move(&n->node, &md->devx_free);
	raw_spin_unlock_irq(&lock);
	if (task)
		put_task_struct(task);
}

/* Was an end not seen since it was last asked? */
static bool in_doubt(struct srdma_mlx5 *md)
{
	bool doubt;

	raw_spin_lock_irq(&lock);
	doubt = md->devx_doubt || md->devx_nmissed != ends_missed();
	md->devx_doubt = false;
	md->devx_nmissed = ends_missed();
	raw_spin_unlock_irq(&lock);
	return doubt;
}

/*
 * Then the device knows which there are: those whose numbers it does not know are not.
 * A command each, so as many at a time as readers may cause, and the rest later.
 */
static void ask_some(struct work_struct *work)
{
	struct srdma_mlx5 *md = container_of(work, struct srdma_mlx5, devx_ask.work);
	struct srdma_walk w;
	struct srdma_qpc qpc;
	struct srdma_qp *q;
	bool may = true;

	if (xchg(&md->devx_again, false))
		md->devx_pos = 0;
	w = (struct srdma_walk)SRDMA_WALK(&md->dev->qps, md->devx_pos);
	while (may && (q = srdma_walk_get(&w))) {
		if (test_bit(SRDMA_QP_DEVX, &q->flags)) {
			may = srdma_cmd_may(md);
			if (may && srdma_cmd_query_qp(md, q->qpn, &qpc) == -EREMOTEIO)
				srdma_devx_del(md->dev, q->qpn, U64_MAX);
		}
		srdma_qp_put(q);
		cond_resched();
	}
	if (may)
		return;
	md->devx_pos = w.pos - 1;	/* the one that was not asked for */
	schedule_delayed_work(&md->devx_ask, msecs_to_jiffies(ASK_MS));
}

static void enter_notes(struct work_struct *work)
{
	struct srdma_mlx5 *md = container_of(work, struct srdma_mlx5, devx_work);
	struct srdma_devx_note *n;
	struct srdma_devx_qp qp;

	while ((n = first_note(md, &qp))) {
		if (!qp.task) {
			srdma_devx_del(md->dev, qp.qpn, qp.at);
		} else if (srdma_devx_add(md->dev, &qp) == -ENOMEM) {
			raw_spin_lock_irq(&lock);
			md->devx_missed++;
			raw_spin_unlock_irq(&lock);
		}
		free_note(md, n);
	}
	if (in_doubt(md)) {
		WRITE_ONCE(md->devx_again, true);
		mod_delayed_work(system_percpu_wq, &md->devx_ask, 0);
	}
}

void srdma_mlx5_devx_add(struct srdma_mlx5 *md)
{
	int i;

	INIT_LIST_HEAD(&md->devx_new);
	INIT_LIST_HEAD(&md->devx_free);
	INIT_WORK(&md->devx_work, enter_notes);
	INIT_DELAYED_WORK(&md->devx_ask, ask_some);
	md->driver = md->dev->ibdev->ops.owner;
	/* A driver that is part of the kernel has no bounds to tell its callers by. */
	if (!probing || !md->driver)
		return;
	atomic64_set(&md->dev->devx_created, 0);
	md->devx_nmissed = ends_missed();
	md->devx_notes = kcalloc(NOTES, sizeof(*md->devx_notes), GFP_KERNEL);
	if (!md->devx_notes)
		return;
	for (i = 0; i < NOTES; i++)
		list_add_tail(&md->devx_notes[i].node, &md->devx_free);
	md->devx = true;
	raw_spin_lock_irq(&lock);
	list_add_rcu(&md->devx_node, &devices);
	WRITE_ONCE(driver, md->driver);
	raw_spin_unlock_irq(&lock);
}

void srdma_mlx5_devx_remove(struct srdma_mlx5 *md)
{
	struct srdma_devx_note *n;
	struct srdma_devx_qp qp;

	if (!md->devx)
		return;
	raw_spin_lock_irq(&lock);
	list_del_rcu(&md->devx_node);
	if (list_empty(&devices))
		WRITE_ONCE(driver, NULL);
	raw_spin_unlock_irq(&lock);
	synchronize_rcu();
	cancel_work_sync(&md->devx_work);
	cancel_delayed_work_sync(&md->devx_ask);
	while ((n = first_note(md, &qp)))
		free_note(md, n);
	srdma_devx_drop_all(md->dev);
	kfree(md->devx_notes);
}

void srdma_mlx5_devx_stat(struct srdma_mlx5 *md, struct srdma_dev_stat *st)
{
	st->devx = md->devx;
	st->devx_qps = atomic_read(&md->dev->n_devx);
	st->devx_created = atomic64_read(&md->dev->devx_created);
	/* And commands that were met by nobody, each of which may have made one. */
	st->devx_missed = READ_ONCE(md->devx_missed) + READ_ONCE(create_probe.nmissed);
	if (md->devx && READ_ONCE(md->devx_nmissed) != ends_missed())
		schedule_work(&md->devx_work);
}

void srdma_mlx5_devx_init(void)
{
	int ret;

	if (!watch)
		return;
	ret = register_kretprobes(probes, ARRAY_SIZE(probes));
	probing = !ret;
	if (ret)
		pr_info("QPs made past RDMA core (DEVX) are not seen: no probes: %d\n", ret);
}

void srdma_mlx5_devx_exit(void)
{
	if (!probing)
		return;
	unregister_kretprobes(probes, ARRAY_SIZE(probes));
}

#else

void srdma_mlx5_devx_add(struct srdma_mlx5 *md) {}
void srdma_mlx5_devx_remove(struct srdma_mlx5 *md) {}
void srdma_mlx5_devx_stat(struct srdma_mlx5 *md, struct srdma_dev_stat *st) {}
void srdma_mlx5_devx_init(void)
{
	pr_info("QPs made past RDMA core (DEVX) are not seen: this kernel has no probes\n");
}

void srdma_mlx5_devx_exit(void) {}

#endif
