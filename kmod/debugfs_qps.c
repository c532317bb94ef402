// SPDX-License-Identifier: GPL-2.0
/*
 * The table of a device's QPs. It is streamed: a read resumes at the place of the QP that
 * did not fit, and holds a reference on one QP at a time.
 */
#include <linux/cred.h>
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/seq_file.h>

#include "debugfs_priv.h"
#include "enforce.h"
#include "find.h"

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
		[IB_QPT_UC] = "UC", [IB_QPT_UD] = "UD", [IB_QPT_RAW_PACKET] = "RAW",
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
