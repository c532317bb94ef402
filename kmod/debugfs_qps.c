// SPDX-License-Identifier: GPL-2.0
/*
 * The tables of a device's QPs. They are streamed: a read resumes at the place of the QP that
 * did not fit. Between two reads no lock is held.
 */
#include <linux/cred.h>
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "class.h"
#include "debugfs_priv.h"
#include "figures.h"
#include "find.h"
#include "share.h"

/* Position 0 is the header; any other is one more than the QP's place in the table. */
static struct srdma_qp *qp_at(struct srdma_dev *dev, loff_t *pos)
{
	struct srdma_walk w = SRDMA_WALK(&dev->qps, *pos - 1);
	struct srdma_qp *q = srdma_walk_get(&w);

	/* The walk is at the place after the QP's, which is the QP's position. */
	*pos = q ? (loff_t)w.pos : *pos + 1;
	return q;
}

static void *qps_start(struct seq_file *m, loff_t *pos)
{
	struct srdma_dev *dev = m->private;

	if (!*pos)
		srdma_refresh(dev, BIT(SRDMA_REFRESH_QPS), true);
	down_read(&srdma_devs_sem);
	return *pos ? qp_at(dev, pos) : SEQ_START_TOKEN;
}

static void *qps_next(struct seq_file *m, void *v, loff_t *pos)
{
	if (v != SEQ_START_TOKEN)
		srdma_qp_put(v);
	++*pos;
	return qp_at(m->private, pos);
}

static void qps_stop(struct seq_file *m, void *v)
{
	if (v && v != SEQ_START_TOKEN)
		srdma_qp_put(v);
	up_read(&srdma_devs_sem);
}

static const char *type_name(u8 type)
{
	static const char * const names[] = {
		[IB_QPT_SMI] = "SMI", [IB_QPT_GSI] = "GSI", [IB_QPT_RC] = "RC",
		[IB_QPT_UC] = "UC", [IB_QPT_UD] = "UD", [IB_QPT_RAW_PACKET] = "RAW_PACKET",
		[IB_QPT_XRC_INI] = "XRC_INI", [IB_QPT_XRC_TGT] = "XRC_TGT",
	};

	return type < ARRAY_SIZE(names) && names[type] ? names[type] : "OTHER";
}

static const char *state_name(const struct srdma_qp *q)
{
	static const char * const names[] = {
		[IB_QPS_RESET] = "RESET", [IB_QPS_INIT] = "INIT", [IB_QPS_RTR] = "RTR",
		[IB_QPS_RTS] = "RTS", [IB_QPS_SQD] = "SQD", [IB_QPS_SQE] = "SQE",
		[IB_QPS_ERR] = "ERR",
	};
	u8 state = READ_ONCE(q->state);

	if (!test_bit(SRDMA_QP_HAS_STATE, &q->flags) || state >= ARRAY_SIZE(names))
		return "-";
	return names[state];
}

/* Asked for by the application, and programmed. */
static void show_class(struct seq_file *m, const struct srdma_qp *q)
{
	static const char * const standings[] = {
		[SRDMA_DONE] = "-", [SRDMA_PENDING] = "pending", [SRDMA_UNCONNECTED] = "-",
		[SRDMA_UNKNOWN] = "unknown", [SRDMA_CANNOT] = "cannot",
	};
	int level = test_bit(SRDMA_QP_DEVX, &q->flags) ? -1 : srdma_qp_level(q);
	enum srdma_standing s = srdma_class_standing(q);

	srdma_show_number(m, 4, level >= 0, level);
	if (test_bit(SRDMA_QP_HAS_AV, &q->flags))
		seq_printf(m, " 0x%02x>0x%02x %2u>%-2u %8u", READ_ONCE(q->tclass_asked),
			   READ_ONCE(q->tclass), READ_ONCE(q->sl_asked), READ_ONCE(q->sl),
			   READ_ONCE(q->dest_qpn));
	else
		seq_printf(m, " %9s %5s %8s", "-", "-", "-");
	seq_printf(m, " %-7s", s == SRDMA_PENDING && READ_ONCE(q->class_error) ? "stuck" :
		   standings[s]);
}

static void show_counts(struct seq_file *m, const struct srdma_qp *q)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);
	const struct srdma_dev *dev = q->dev;
	bool kernel = dev->wrapped_post_send && !test_bit(SRDMA_QP_USER, &q->flags);
	bool wrs = kernel || dev->caps & SWIFTRDMA_DEV_CAP_WRS;

	/* A sampler counts some QPs only. */
	if (dev->caps & SWIFTRDMA_DEV_CAP_UARS)
		wrs = wrs && hw && READ_ONCE(hw->counted);
	srdma_show_number(m, 12, kernel || dev->caps & SWIFTRDMA_DEV_CAP_DOORBELLS,
			  atomic64_read(&q->doorbells));
	srdma_show_number(m, 12, wrs, atomic64_read(&q->wrs));
}

static int qps_show(struct seq_file *m, void *v)
{
	const struct srdma_job_dev *jd;
	const struct srdma_qp_hw *hw;
	const struct srdma_uar *uar;
	const struct srdma_qp *q = v;
	int i;

	if (v == SEQ_START_TOKEN) {
		seq_puts(m, "     qpn     serial type    state port  uar  job     pid        uid name             send_wr recv_wr  lvl    tclass    sl     dest class      doorbells          wrs sport   lag      age_s\n");
		return 0;
	}
	rcu_read_lock();
	jd = rcu_dereference(q->job);
	uar = srdma_qp_uar(q);
	hw = srdma_qp_hw(q);
	seq_printf(m, "%8u %10llu %-7s %-5s %4u", q->qpn, q->serial, type_name(q->type),
		   state_name(q), READ_ONCE(q->port));
	srdma_show_number(m, 4, uar, uar ? uar->index : 0);
	seq_printf(m, " %4u", jd ? jd->job->id : 0);
	srdma_show_owner(m, q->owner);
	seq_printf(m, " %7u %7u", q->max_send_wr, q->max_recv_wr);
	show_class(m, q);
	show_counts(m, q);
	/* Parts of its path that an override has programmed. */
	for (i = 0; i < SRDMA_PATH_PARTS; i++)
		srdma_show_number(m, 5, hw && READ_ONCE(hw->path[i].set),
				  hw ? READ_ONCE(hw->path[i].value) : 0);
	seq_printf(m, " %10llu\n", srdma_seconds_since(q->since));
	rcu_read_unlock();
	return 0;
}

static const struct seq_operations qps_sops = {
	.start	= qps_start,
	.next	= qps_next,
	.stop	= qps_stop,
	.show	= qps_show,
};
DEFINE_SEQ_ATTRIBUTE(qps);

void srdma_debugfs_qps(struct srdma_dev *dev, struct dentry *dir)
{
	debugfs_create_file("qps", 0400, dir, dev, &qps_fops);
}

/* QPs of which a library reported. */

/*
 * Position 0 is the header; any other is one more than the attachment's id and the slot's
 * number. Attachments are in the order of their ids.
 */
#define SLOT_BITS	14
static_assert(BIT(SLOT_BITS) >= SWIFTRDMA_SLOTS_MAX);

struct slot_walk {
	struct srdma_dev *dev;
	struct srdma_slot_figures f;
	const struct srdma_figures *sum;
};

/* The first QP at @pos or after it. */
static void *slot_at(struct slot_walk *w, loff_t *pos)
{
	u64 from = *pos - 1;
	struct srdma_share *s;
	unsigned long id;
	u32 i;

	xa_for_each_start(&srdma_shares, id, s, from >> SLOT_BITS) {
		if (s->dev != w->dev)
			continue;
		i = id == from >> SLOT_BITS ? from & (BIT(SLOT_BITS) - 1) : 0;
		for (; i < s->slots; i++) {
			if (!s->slot[i].generation || !srdma_slot_figures(s, &s->slot[i], &w->f))
				continue;
			w->sum = &s->slot[i].sum;
			*pos = 1 + ((u64)id << SLOT_BITS | i);
			return w;
		}
		cond_resched();
	}
	return NULL;
}

static void *slots_start(struct seq_file *m, loff_t *pos)
{
	struct slot_walk *w = m->private;

	if (!*pos)
		srdma_shares_collect(w->dev, NULL, NULL);
	down_read(&srdma_devs_sem);
	mutex_lock(&srdma_share_lock);
	return *pos ? slot_at(w, pos) : SEQ_START_TOKEN;
}

static void *slots_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return slot_at(m->private, pos);
}

static void slots_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&srdma_share_lock);
	up_read(&srdma_devs_sem);
}

static int slots_show(struct seq_file *m, void *v)
{
	const struct slot_walk *w = v;

	if (v == SEQ_START_TOKEN) {
		srdma_show_header(m, &srdma_slot_figure_attrs);
		srdma_show_header(m, &srdma_reported_attrs);
	} else {
		srdma_show_columns(m, &srdma_slot_figure_attrs, &w->f);
		srdma_show_columns(m, &srdma_reported_attrs, w->sum);
	}
	seq_putc(m, '\n');
	return 0;
}

static const struct seq_operations slots_sops = {
	.start	= slots_start,
	.next	= slots_next,
	.stop	= slots_stop,
	.show	= slots_show,
};

static int slots_open(struct inode *inode, struct file *file)
{
	struct slot_walk *w = __seq_open_private(file, &slots_sops, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->dev = inode->i_private;
	return 0;
}

static const struct file_operations slots_fops = {
	.owner		= THIS_MODULE,
	.open		= slots_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= seq_release_private,
};

void srdma_debugfs_slots(struct srdma_dev *dev, struct dentry *dir)
{
	debugfs_create_file("qp_reports", 0400, dir, dev, &slots_fops);
}
