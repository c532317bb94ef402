// SPDX-License-Identifier: GPL-2.0
/*
 * The table of a device's QPs. It is streamed: a read resumes at the place of
 * the QP that did not fit, so it holds no more than one of them.
 */
#include <linux/cred.h>
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/seq_file.h>

#include "debugfs_priv.h"
#include "enforce.h"
#include "find.h"

/* Position 0 is the header, any other is one more than the table's. */
static struct srdma_qp *qp_at(struct srdma_dev *dev, loff_t *pos)
{
	struct srdma_walk w = SRDMA_WALK(&dev->qps, *pos - 1);
	struct srdma_qp *q = srdma_walk_get(&w);

	/* The walk stands one past the QP: that is its position. */
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
	switch (type) {
	case IB_QPT_SMI:
		return "SMI";
	case IB_QPT_GSI:
		return "GSI";
	case IB_QPT_RC:
		return "RC";
	case IB_QPT_UC:
		return "UC";
	case IB_QPT_UD:
		return "UD";
	case IB_QPT_RAW_PACKET:
		return "RAW";
	case IB_QPT_XRC_INI:
		return "XRC_INI";
	case IB_QPT_XRC_TGT:
		return "XRC_TGT";
	default:
		return "OTHER";
	}
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

	if (level < 0)
		seq_puts(m, "    -");
	else
		seq_printf(m, " %4d", level);
	if (test_bit(SRDMA_QP_HAS_AV, &q->flags))
		seq_printf(m, " 0x%02x>0x%02x %2u>%-2u %8u", READ_ONCE(q->tclass_asked),
			   READ_ONCE(q->tclass), READ_ONCE(q->sl_asked), READ_ONCE(q->sl),
			   READ_ONCE(q->dest_qpn));
	else
		seq_printf(m, " %9s %5s %8s", "-", "-", "-");
	seq_printf(m, " %-7s", s == SRDMA_PENDING && READ_ONCE(q->class_error) ? "stuck" :
		   standings[s]);
}

static void show_count(struct seq_file *m, const struct srdma_qp *q, u32 cap, u64 n)
{
	const struct srdma_dev *dev = q->dev;
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);

	/* Some are not counted though the device can. */
	if (cap == SWIFTRDMA_DEV_CAP_WRS && dev->caps & SWIFTRDMA_DEV_CAP_UARS &&
	    !(hw && READ_ONCE(hw->counted)))
		seq_printf(m, " %12s", "-");
	else if (dev->caps & cap ||
		 (dev->wrapped_post_send && !test_bit(SRDMA_QP_USER, &q->flags)))
		seq_printf(m, " %12llu", n);
	else
		seq_printf(m, " %12s", "-");
}

/* Parts of its path that are an override's, and programmed. */
static void show_path(struct seq_file *m, const struct srdma_qp *q)
{
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);
	int i;

	for (i = 0; i < SRDMA_PATH_PARTS; i++)
		if (hw && READ_ONCE(hw->path[i].set))
			seq_printf(m, " %5u", READ_ONCE(hw->path[i].value));
		else
			seq_puts(m, "     -");
}

static int qps_show(struct seq_file *m, void *v)
{
	const struct srdma_job_dev *jd;
	const struct srdma_uar *uar;
	const struct srdma_qp *q = v;
	char label[SRDMA_LABEL_LEN];

	if (v == SEQ_START_TOKEN) {
		seq_puts(m, "     qpn     serial type    state port  uar  job     pid        uid name             send_wr recv_wr  lvl    tclass    sl     dest class      doorbells          wrs sport   lag      age_s\n");
		return 0;
	}
	rcu_read_lock();
	jd = rcu_dereference(q->job);
	uar = srdma_qp_uar(q);
	seq_printf(m, "%8u %10llu %-7s %-5s %4u", q->qpn, q->serial, type_name(q->type),
		   state_name(q), READ_ONCE(q->port));
	if (uar)
		seq_printf(m, " %4u", uar->index);
	else
		seq_puts(m, "    -");
	seq_printf(m, " %4u %7u %10u %-16s %7u %7u", jd ? jd->job->id : 0,
		   srdma_owner_pid(q->owner), from_kuid(&init_user_ns, q->owner->uid),
		   srdma_owner_label(q->owner, label), q->max_send_wr, q->max_recv_wr);
	show_class(m, q);
	show_count(m, q, SWIFTRDMA_DEV_CAP_DOORBELLS, atomic64_read(&q->doorbells));
	show_count(m, q, SWIFTRDMA_DEV_CAP_WRS, atomic64_read(&q->wrs));
	show_path(m, q);
	seq_printf(m, " %10llu\n", div_u64(ktime_get_ns() - q->since, NSEC_PER_SEC));
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
