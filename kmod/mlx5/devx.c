// SPDX-License-Identifier: GPL-2.0
/*
 * QPs that are made past RDMA core. With DEVX a library sends the NIC's commands
 * itself; mlx5_ib hands them on to mlx5_cmd_do(). Its own go through
 * mlx5_cmd_exec(), so a CREATE_QP that mlx5_cmd_do() got from mlx5_ib is DEVX's.
 * The end of any object goes through mlx5_cmd_exec().
 *
 * Both are watched by kernel probes. What these meet is noted without memory or
 * sleep, on any kind of kernel, and entered by a work; where there are no probes,
 * nobody knows how many such QPs there are. Nor of those older than this module.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "devx.h"
#include "mlx5.h"

#if defined(CONFIG_KRETPROBES) && defined(CONFIG_HAVE_FUNCTION_ARG_ACCESS_API)

static bool watch = true;
module_param_named(devx, watch, bool, 0444);
MODULE_PARM_DESC(devx, "watch mlx5_core's commands by kernel probes for QPs made past RDMA core (Y)");

/* Creations that are noted but not entered yet; more are counted as missed. */
#define NOTES	256

/* CREATE_QP commands that sleep at once and are still seen. */
#define ACTIVE	256

/**
 * struct srdma_devx_note - a QP that was made
 * @node: in srdma_mlx5.devx_new or .devx_free
 * @qp: its task has a reference
 * @gone: it has been destroyed since
 */
struct srdma_devx_note {
	struct list_head node;
	struct srdma_devx_qp qp;
	bool gone;
};

/*
 * All of what follows, and srdma_mlx5.devx_*. Raw, for probes may not sleep on
 * any kernel; process context, taken inside nothing.
 */
static DEFINE_RAW_SPINLOCK(lock);
static LIST_HEAD(devices);
static bool probing;

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

/* The command that a thread waits for. */
struct creation {
	const struct mlx5_core_dev *core;
	const void *in, *out;
};

/* 0: it is one, and to be looked at when it is done. */
static int create_begins(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct creation *c = (struct creation *)ri->data;

	c->core = (void *)regs_get_kernel_argument(regs, 0);
	c->in = (void *)regs_get_kernel_argument(regs, 1);
	c->out = (void *)regs_get_kernel_argument(regs, 3);
	return (int)regs_get_kernel_argument(regs, 2) < (int)MLX5_ST_SZ_BYTES(create_qp_in) ||
	       (int)regs_get_kernel_argument(regs, 4) < (int)MLX5_ST_SZ_BYTES(create_qp_out) ||
	       MLX5_GET(create_qp_in, c->in, opcode) != MLX5_CMD_OP_CREATE_QP;
}

static void note(struct srdma_mlx5 *md, const struct creation *c)
{
	const void *qpc = MLX5_ADDR_OF(create_qp_in, c->in, qpc);
	struct srdma_devx_note *n;

	n = list_first_entry_or_null(&md->devx_free, struct srdma_devx_note, node);
	if (!n) {
		md->devx_missed++;
		return;
	}
	get_task_struct(current);
	n->qp.task = current;
	n->qp.tid = task_pid_nr(current);
	n->qp.qpn = MLX5_GET(create_qp_out, c->out, qpn);
	n->qp.type = type_of(MLX5_GET(qpc, qpc, st));
	n->qp.uar = MLX5_GET(qpc, qpc, no_sq) ? SRDMA_NO_UAR : MLX5_GET(qpc, qpc, uar_page);
	n->gone = false;
	list_move_tail(&n->node, &md->devx_new);
	schedule_work(&md->devx_work);
}

static int create_done(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct creation *c = (struct creation *)ri->data;
	struct srdma_mlx5 *md;
	unsigned long flags;

	if (regs_return_value(regs))
		return 0;
	raw_spin_lock_irqsave(&lock, flags);
	md = device_of(c->core);
	if (md && within_module(get_kretprobe_retaddr(ri), md->driver))
		note(md, c);
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

/* The youngest of that number that is not entered yet. */
static struct srdma_devx_note *noted(struct srdma_mlx5 *md, u32 qpn)
{
	struct srdma_devx_note *n;

	list_for_each_entry_reverse(n, &md->devx_new, node)
		if (n->qp.qpn == qpn)
			return n;
	return NULL;
}

/*
 * Before the device does it, for then the number may be another QP's. (One that
 * the device refuses to destroy is lost to us; mlx5_ib gives up on it too.)
 */
static int destroy_begins(struct kprobe *p, struct pt_regs *regs)
{
	const void *in = (void *)regs_get_kernel_argument(regs, 1);
	struct srdma_devx_note *n;
	struct srdma_mlx5 *md;
	unsigned long flags;
	u32 qpn;

	if ((int)regs_get_kernel_argument(regs, 2) < (int)MLX5_ST_SZ_BYTES(destroy_qp_in) ||
	    MLX5_GET(destroy_qp_in, in, opcode) != MLX5_CMD_OP_DESTROY_QP)
		return 0;
	qpn = MLX5_GET(destroy_qp_in, in, qpn);
	raw_spin_lock_irqsave(&lock, flags);
	md = device_of((void *)regs_get_kernel_argument(regs, 0));
	n = md ? noted(md, qpn) : NULL;
	if (n)
		n->gone = true;
	/* Noted ones too: it may be in the table, and not yet off the list. */
	if (md && (srdma_devx_end(md->dev, qpn) || n))
		schedule_work(&md->devx_work);
	raw_spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static struct kprobe destroy_probe = {
	.symbol_name = "mlx5_cmd_exec",
	.pre_handler = destroy_begins,
};

/* The oldest note, which stays on the list: its end may come any moment. */
static struct srdma_devx_note *next_note(struct srdma_mlx5 *md, bool *gone)
{
	struct srdma_devx_note *n;

	raw_spin_lock_irq(&lock);
	n = list_first_entry_or_null(&md->devx_new, struct srdma_devx_note, node);
	*gone = n && n->gone;
	raw_spin_unlock_irq(&lock);
	return n;
}

/* Off the list; true: its QP came to its end meanwhile. */
static bool end_note(struct srdma_mlx5 *md, struct srdma_devx_note *n)
{
	struct task_struct *task = n->qp.task;
	bool gone;

	raw_spin_lock_irq(&lock);
	gone = n->gone;
	list_move(&n->node, &md->devx_free);
	raw_spin_unlock_irq(&lock);
	put_task_struct(task);
	return gone;
}

static void enter_notes(struct work_struct *work)
{
	struct srdma_mlx5 *md = container_of(work, struct srdma_mlx5, devx_work);
	struct srdma_devx_note *n;
	bool gone;
	int ret;

	srdma_devx_drop_ended(md->dev);
	while ((n = next_note(md, &gone))) {
		u32 qpn = n->qp.qpn;

		ret = gone ? 0 : srdma_devx_add(md->dev, &n->qp);
		if (ret == -ENOMEM) {
			raw_spin_lock_irq(&lock);
			md->devx_missed++;
			raw_spin_unlock_irq(&lock);
		}
		if (end_note(md, n) && !gone && !ret)
			srdma_devx_del(md->dev, qpn);
	}
}

void srdma_mlx5_devx_add(struct srdma_mlx5 *md)
{
	int i;

	INIT_LIST_HEAD(&md->devx_new);
	INIT_LIST_HEAD(&md->devx_free);
	INIT_WORK(&md->devx_work, enter_notes);
	if (!probing)
		return;
	md->devx_notes = kcalloc(NOTES, sizeof(*md->devx_notes), GFP_KERNEL);
	if (!md->devx_notes)
		return;
	for (i = 0; i < NOTES; i++)
		list_add_tail(&md->devx_notes[i].node, &md->devx_free);
	md->driver = md->dev->ibdev->ops.owner;
	md->devx = true;
	raw_spin_lock_irq(&lock);
	list_add(&md->devx_node, &devices);
	raw_spin_unlock_irq(&lock);
}

void srdma_mlx5_devx_remove(struct srdma_mlx5 *md)
{
	struct srdma_devx_note *n;
	bool gone;

	if (!md->devx)
		return;
	raw_spin_lock_irq(&lock);
	list_del(&md->devx_node);
	raw_spin_unlock_irq(&lock);
	cancel_work_sync(&md->devx_work);
	while ((n = next_note(md, &gone)))
		end_note(md, n);
	srdma_devx_drop_all(md->dev);
	kfree(md->devx_notes);
}

void srdma_mlx5_devx_stat(struct srdma_mlx5 *md, struct srdma_dev_stat *st)
{
	st->devx = md->devx;
	st->devx_qps = atomic_read(&md->dev->n_devx);
	st->devx_created = atomic64_read(&md->dev->devx_created);
	/* And those that were met by nobody, of all devices. */
	st->devx_missed = READ_ONCE(md->devx_missed) + create_probe.nmissed;
}

void srdma_mlx5_devx_init(void)
{
	int ret;

	if (!watch)
		return;
	ret = register_kretprobe(&create_probe);
	if (!ret) {
		ret = register_kprobe(&destroy_probe);
		if (ret)
			unregister_kretprobe(&create_probe);
	}
	probing = !ret;
	if (ret)
		pr_info("QPs made past RDMA core (DEVX) are not seen: no probes: %d\n", ret);
}

void srdma_mlx5_devx_exit(void)
{
	if (!probing)
		return;
	unregister_kprobe(&destroy_probe);
	unregister_kretprobe(&create_probe);
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
