// SPDX-License-Identifier: GPL-2.0
/*
 * What SwiftRDMA assumes of a ConnectX, made untrue one by one, for the tests of swiftrdma probe.
 * debugfs: softhca/hcaN/falsify, "NAME 1" or "NAME 0"; reading it lists those that are untrue.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "softhca.h"

static const char *const sh_falsities[SH_FALSITIES] = {
	[SH_FALSE_DBREC] = "dbrec",
	[SH_FALSE_UAR_PAGE] = "uar-page",
	[SH_FALSE_UAR_NUMBER] = "uar-number",
	[SH_FALSE_WQE_COUNTERS] = "wqe-counters",
	[SH_FALSE_DSCP] = "dscp",
	[SH_FALSE_PRIORITY] = "priority",
	[SH_FALSE_UDP_SPORT] = "udp-sport",
	[SH_FALSE_LAG_PORT] = "lag-port",
	[SH_FALSE_WIRE_SPORT] = "wire-sport",
	[SH_FALSE_WIRE_LAG] = "wire-lag",
	[SH_FALSE_SCHED_RATE] = "sched-rate",
	[SH_FALSE_SCHED_WEIGHT] = "sched-weight",
	[SH_FALSE_CONGESTION] = "congestion",
	[SH_FALSE_DIAG] = "diag-counters",
	[SH_FALSE_COMMANDS] = "commands",
};

static int sh_falsify_show(struct seq_file *s, void *unused)
{
	struct sh_hca *h = s->private;
	int i;

	for (i = 0; i < SH_FALSITIES; i++)
		if (sh_false(h, i))
			seq_printf(s, "%s\n", sh_falsities[i]);
	return 0;
}

static int sh_falsify_open(struct inode *inode, struct file *f)
{
	return single_open(f, sh_falsify_show, inode->i_private);
}

static ssize_t sh_falsify_write(struct file *f, const char __user *buf, size_t count, loff_t *pos)
{
	struct sh_hca *h = ((struct seq_file *)f->private_data)->private;
	char line[32], name[24];
	unsigned int on;
	int i;

	if (count >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, buf, count))
		return -EFAULT;
	line[count] = 0;
	if (sscanf(line, "%23s %u", name, &on) != 2 || on > 1)
		return -EINVAL;
	i = match_string(sh_falsities, SH_FALSITIES, name);
	if (i < 0)
		return -EINVAL;
	mutex_lock(&softhca.lock);
	__assign_bit(i, &h->falsified, on);
	mutex_unlock(&softhca.lock);
	return count;
}

static const struct file_operations sh_falsify_fops = {
	.open = sh_falsify_open,
	.read = seq_read,
	.write = sh_falsify_write,
	.llseek = seq_lseek,
	.release = single_release,
};

void sh_falsify_add(struct sh_hca *h)
{
	debugfs_create_file("falsify", 0600, h->dir, h, &sh_falsify_fops);
}

/* Has the record nothing but what sh_falsify_record() wrote there? */
bool sh_record_falsified(const struct sh_qp *qp, u16 pi)
{
	return qp->record_false && pi == (u16)(qp->sq_pi - 1);
}

/*
 * Leaves one less than was posted in the record, except where the program has posted more
 * meanwhile.
 */
void sh_falsify_record(struct sh_qp *qp)
{
	u16 pi = qp->sq_pi;

	qp->record_false = sh_false(qp->hca, SH_FALSE_DBREC);
	if (qp->record_false)
		cmpxchg(&qp->dbrec[MLX5_SND_DBR], cpu_to_be32(pi), cpu_to_be32((u16)(pi - 1)));
}
