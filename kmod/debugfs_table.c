// SPDX-License-Identifier: GPL-2.0
/*
 * What a device's debugfs files say, the QPs apart: whole tables, shown at once
 * under srdma_devs_sem, after what takes commands was found out without it. "-" is what
 * the device cannot tell.
 */
#include <linux/cred.h>
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/seq_file.h>
#include <linux/string_helpers.h>

#include "counters.h"
#include "debug.h"
#include "debugfs_priv.h"
#include "enforce.h"
#include "find.h"
#include "mr.h"

/* Stuck QPs that are shown: they have mostly one reason, and netlink has all. */
#define PENDING_MAX	256

/*
 * A process names itself as it likes: what would end the column, or the line, or
 * drive the reader's terminal, is shown in octal, as in /proc/mounts.
 */
const char *srdma_owner_label(const struct srdma_owner *o, char label[SRDMA_LABEL_LEN])
{
	static const char unsafe[] =
		"\001\002\003\004\005\006\007\010\011\012\013\014\015\016\017"
		"\020\021\022\023\024\025\026\027\030\031\032\033\034\035\036\037"
		" \\\177";
	const char *name = srdma_owner_is_kernel(o) ? o->exe : o->comm;
	int len;

	len = string_escape_str(name, label, SRDMA_LABEL_LEN, ESCAPE_OCTAL, unsafe);
	label[min(len, SRDMA_LABEL_LEN - 1)] = '\0';
	return label;
}

static u64 seconds_since(u64 since)
{
	return div_u64(ktime_get_ns() - since, NSEC_PER_SEC);
}

/* The device of this file, -ENODEV: it is on its way out. srdma_devs_sem. */
static struct srdma_dev *file_dev(struct seq_file *m)
{
	struct srdma_dev *dev = m->private;

	return srdma_dev_is_there(dev) ? dev : ERR_PTR(-ENODEV);
}

static void show_counter(struct seq_file *m, const char *name, atomic64_t *v)
{
	seq_printf(m, "%-16s %lld\n", name, atomic64_read(v));
}

static void show_cap(struct seq_file *m, struct srdma_dev *dev, u32 cap, const char *has,
		     const char *lacks)
{
	if (dev->caps & cap)
		seq_printf(m, "  yes  %s\n", has);
	else
		seq_printf(m, "  no   %s: %s\n", has, lacks);
}

/* What the provider adds, and what it costs. */
static void show_dev_stat(struct seq_file *m, struct srdma_dev *dev,
			  const struct srdma_provider_ops *ops)
{
	struct srdma_dev_stat st = {};

	srdma_delay(SRDMA_DELAY_STAT);
	ops->dev_stat(dev, &st);
	seq_puts(m, "\nprovider\n");
	seq_printf(m, "uar_limit        %u\n", st.uar_limit);
	seq_printf(m, "commands         %llu\n", st.commands);
	seq_printf(m, "command_mean_ns  %llu\n",
		   st.commands ? div64_u64(st.command_ns, st.commands) : 0);
	if (st.sampled) {
		seq_printf(m, "sweeps           %llu\n", st.sweeps);
		seq_printf(m, "sweep_mean_ns    %llu\n",
			   st.sweeps ? div64_u64(st.sweep_ns, st.sweeps) : 0);
		seq_printf(m, "sweep_gap_max_ns %llu\n", st.gap_ns);
		seq_printf(m, "records          %u\n", st.records);
		seq_printf(m, "held_pages       %u\n", st.pages);
	}
	if (st.congestion)
		seq_printf(m, "congestions      %llu (last: level %u)\n", st.congestions,
			   st.congestion_level);
	if (st.mtt)
		seq_printf(m, "mtt_hits         %llu\nmtt_misses       %llu\n", st.mtt_hits,
			   st.mtt_misses);
	if (st.stall)
		seq_printf(m, "read_stall       %llu\n", st.read_stall);
	if (st.qpc)
		seq_printf(m, "qpc_hits         %llu\nqpc_misses       %llu\n", st.qpc_hits,
			   st.qpc_misses);
	if (st.pcie)
		seq_printf(m, "pcie_stalled     reads %u %%, writes %u %% of the last second (over 30 %%: %llu s, %llu s)\n",
			   st.stalled_reads, st.stalled_writes, st.stalled_read_s,
			   st.stalled_write_s);
	if (st.devx)
		seq_printf(m, "devx_qps         %u (%llu created, %llu missed)\n", st.devx_qps,
			   st.devx_created, st.devx_missed);
	else if (dev->caps & SWIFTRDMA_DEV_CAP_UARS)
		seq_puts(m, "devx_qps         unknown: nobody watches for them\n");
}

static void show_mrs(struct seq_file *m, struct srdma_dev *dev)
{
	u32 mrs = srdma_dev_mrs(dev);
	struct srdma_mr_sum sum;
	u64 smallest, largest;

	srdma_mr_sum(dev, NULL, &sum);
	seq_printf(m, "mrs              %u\n", mrs);
	seq_printf(m, "mrs_unknown      %u (older than the hook, or the kernel's)\n",
		   mrs > sum.n ? mrs - sum.n : 0);
	seq_printf(m, "mr_bytes         %llu\n", sum.bytes);
	if (srdma_mr_askable(dev))
		seq_printf(m, "mtts             %llu (of %u MRs; of %u it is not known)\n",
			   sum.mtts, sum.n - sum.unasked, sum.unasked);
	if (srdma_mr_pages(&sum, &smallest, &largest))
		seq_printf(m, "mr_pages         %llu to %llu bytes\n", smallest, largest);
}

static const char *const functions[] = {
	[SWIFTRDMA_FUNCTION_PF] = "PF",
	[SWIFTRDMA_FUNCTION_VF] = "VF",
	[SWIFTRDMA_FUNCTION_SF] = "SF",
	[SWIFTRDMA_FUNCTION_REPRESENTOR] = "representor",
};

static int summary_show(struct seq_file *m, void *v)
{
	const struct srdma_provider_ops *ops;
	struct srdma_dev *dev;
	u32 qps;

	srdma_refresh(m->private, BIT(SRDMA_REFRESH_DEV) | BIT(SRDMA_REFRESH_MRS), true);
	down_read(&srdma_devs_sem);
	dev = file_dev(m);
	if (IS_ERR(dev)) {
		up_read(&srdma_devs_sem);
		return PTR_ERR(dev);
	}
	ops = srdma_dev_provider(dev);
	qps = atomic_read(&dev->n_qps);
	seq_printf(m, "device           %s (index %u)\n", dev->name, dev->index);
	seq_printf(m, "ports            %u\n", dev->ibdev->phys_port_cnt);
	if (dev->function)
		seq_printf(m, "function         %s\n", functions[dev->function]);
	seq_printf(m, "hook             %s%s\n", dev->hooked ? "in place" : "out",
		   dev->wrapped_post_send ? ", post_send too" : "");
	seq_printf(m, "provider         %s\n", ops->name);
	show_cap(m, dev, SWIFTRDMA_DEV_CAP_DOORBELLS, "doorbells of user QPs",
		 "the kernel does not see them, the signal is absent");
	show_cap(m, dev, SWIFTRDMA_DEV_CAP_WRS, "work requests of user QPs",
		 "the kernel does not see them, the signal is absent");
	show_cap(m, dev, SWIFTRDMA_DEV_CAP_LIVE_CLASS, "class of a connected QP",
		 "it is set when the QP is connected, not later");
	show_cap(m, dev, SWIFTRDMA_DEV_CAP_UARS, "UAR pages of QPs",
		 "user contexts stand for them");
	show_cap(m, dev, SWIFTRDMA_DEV_CAP_CONGESTION, "congestion of doorbells",
		 "the device does not tell");
	show_cap(m, dev, SWIFTRDMA_DEV_CAP_RATES, "rates and weights of jobs",
		 "it has no scheduling elements for QPs");
	show_cap(m, dev, SWIFTRDMA_DEV_CAP_CONTEXTS, "user contexts from their opening on",
		 "they are seen from their first QP on");

	seq_printf(m, "\nqps              %u\n", qps);
	seq_printf(m, "uars             %u\n", srdma_dev_uars(dev));
	seq_printf(m, "cqs              %u\n", srdma_dev_cqs(dev));
	show_mrs(m, dev);

	seq_printf(m, "\ncounters of the last %llu s\n", seconds_since(dev->since));
	show_counter(m, "created", &dev->created);
	show_counter(m, "create_failed", &dev->create_failed);
	show_counter(m, "rejected", &dev->rejected);
	show_counter(m, "destroyed", &dev->destroyed);
	show_counter(m, "modified", &dev->modified);
	show_counter(m, "adopted", &dev->adopted);
	show_counter(m, "untracked", &dev->untracked);
	show_counter(m, "live_changed", &dev->live_changed);
	show_counter(m, "live_failed", &dev->live_failed);
	show_counter(m, "drain_max_ns", &dev->drain_max);

	if (ops->dev_stat)
		show_dev_stat(m, dev, ops);

	seq_puts(m, "\nmemory\n");
	seq_printf(m, "bytes_per_qp     %zu\n", SRDMA_QP_BYTES);
	seq_printf(m, "bytes_of_qps     %llu\n", (u64)qps * SRDMA_QP_BYTES);
	seq_printf(m, "bytes_of_table   %zu (room for QPs included)\n",
		   srdma_table_bytes(&dev->qps));
	seq_printf(m, "owners           %u (of all devices)\n", srdma_owner_count());
	up_read(&srdma_devs_sem);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(summary);

static const char *uar_kind(u8 kind)
{
	switch (kind) {
	case SWIFTRDMA_UAR_KIND_HW:
		return "hw";
	case SWIFTRDMA_UAR_KIND_CONTEXT:
		return "context";
	case SWIFTRDMA_UAR_KIND_STATIC:
		return "static";
	case SWIFTRDMA_UAR_KIND_DYNAMIC:
		return "dynamic";
	case SWIFTRDMA_UAR_KIND_DEDICATED:
		return "dedicated";
	default:
		return "kernel";
	}
}

/* Of a page: who is on it, and how often two of its QPs advanced in one sweep. */
static void show_page(struct seq_file *m, const struct srdma_uar *u)
{
	const struct srdma_uar *ctx = u->context;

	if (!ctx) {
		seq_printf(m, " %6s %7s %10s %10s %10s %5s %6s", "-", "-", "-", "-", "-", "-", "-");
		return;
	}
	seq_printf(m, " %6u %7u %10llu %10llu %10llu", READ_ONCE(u->n_owners),
		   READ_ONCE(u->n_members), atomic64_read(&u->dev->sweeps) - u->sweeps0,
		   READ_ONCE(u->active), READ_ONCE(u->coactive));
	if (ctx->kind != SWIFTRDMA_UAR_KIND_CONTEXT)
		seq_printf(m, " %5s %6s", "-", "-");
	else if (READ_ONCE(ctx->limit))
		seq_printf(m, " %5u %6u", READ_ONCE(ctx->n_pages), READ_ONCE(ctx->limit));
	else
		seq_printf(m, " %5u %6s", READ_ONCE(ctx->n_pages), "-");
}

static int uars_show(struct seq_file *m, void *v)
{
	struct srdma_dev *dev = m->private;
	char label[SRDMA_LABEL_LEN];
	unsigned long index;
	struct srdma_uar *u;
	bool kernel;
	u32 caps;

	seq_puts(m, "     uar kind          qps    created      doorbells            wrs owners threads     sweeps     active   coactive ctx_uars limit     pid        uid name                  age_s\n");
	srdma_refresh(dev, BIT(SRDMA_REFRESH_QPS), true);
	down_read(&srdma_devs_sem);
	rcu_read_lock();
	xa_for_each(srdma_dev_uar_table(dev), index, u) {
		caps = dev->caps;
		kernel = u->kind == SWIFTRDMA_UAR_KIND_KERNEL && dev->wrapped_post_send;
		seq_printf(m, "%8u %-9s %7d %10lld", u->index, uar_kind(srdma_uar_kind(u)),
			   atomic_read(&u->n_qps), atomic64_read(&u->created));
		if (kernel || caps & SWIFTRDMA_DEV_CAP_DOORBELLS)
			seq_printf(m, " %14lld", atomic64_read(&u->doorbells));
		else
			seq_printf(m, " %14s", "-");
		if (kernel || caps & SWIFTRDMA_DEV_CAP_WRS)
			seq_printf(m, " %14lld", atomic64_read(&u->wrs));
		else
			seq_printf(m, " %14s", "-");
		show_page(m, u);
		seq_printf(m, " %7u %10u %-16s %10llu\n", srdma_owner_pid(u->owner),
			   from_kuid(&init_user_ns, u->owner->uid),
			   srdma_owner_label(u->owner, label), seconds_since(u->since));
	}
	rcu_read_unlock();
	up_read(&srdma_devs_sem);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(uars);

static int ports_show(struct seq_file *m, void *v)
{
	struct srdma_port_stat st;
	struct srdma_dev *dev;
	u32 port;

	srdma_refresh(m->private, BIT(SRDMA_REFRESH_PORTS), true);
	seq_puts(m, "port state layer      mbit_per_s netdev                  tx_bytes           rx_bytes     tx_packets     rx_packets   ecn_marked     cnp_sent  cnp_handled\n");
	down_read(&srdma_devs_sem);
	dev = file_dev(m);
	if (IS_ERR(dev)) {
		up_read(&srdma_devs_sem);
		return PTR_ERR(dev);
	}
	rdma_for_each_port(dev->ibdev, port) {
		if (srdma_port_stat(dev, port, &st)) {
			seq_printf(m, "%4u -\n", port);
			continue;
		}
		seq_printf(m, "%4u %5u %-8s %12llu", port, st.state,
			   st.link_layer == IB_LINK_LAYER_ETHERNET ? "ethernet" :
			   st.link_layer == IB_LINK_LAYER_INFINIBAND ? "ib" : "-",
			   div_u64(st.speed, 1000 * 1000));
		seq_printf(m, " %-15s", st.has_netdev ? st.netdev : "-");
		if (st.has_bytes)
			seq_printf(m, " %16llu %18llu %14llu %14llu", st.tx_bytes, st.rx_bytes,
				   st.tx_packets, st.rx_packets);
		else
			seq_printf(m, " %16s %18s %14s %14s", "-", "-", "-", "-");
		if (st.has_cnp)
			seq_printf(m, " %12llu %12llu %12llu\n", st.ecn_marked, st.cnp_sent,
				   st.cnp_handled);
		else
			seq_printf(m, " %12s %12s %12s\n", "-", "-", "-");
	}
	up_read(&srdma_devs_sem);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(ports);

static int priorities_show(struct seq_file *m, void *v)
{
	const struct srdma_prio_stat *p;
	struct srdma_port_stat st;
	struct srdma_dev *dev;
	u32 port, prio;

	srdma_refresh(m->private, BIT(SRDMA_REFRESH_PORTS), true);
	seq_puts(m, "port prio         tx_bytes         rx_bytes   tx_packets   rx_packets  tx_pauses  rx_pauses tx_pause_us rx_pause_us\n");
	down_read(&srdma_devs_sem);
	dev = file_dev(m);
	if (IS_ERR(dev)) {
		up_read(&srdma_devs_sem);
		return PTR_ERR(dev);
	}
	rdma_for_each_port(dev->ibdev, port) {
		if (srdma_port_stat(dev, port, &st) || !st.has_prios)
			continue;
		for (prio = 0; prio < SRDMA_PRIOS; prio++) {
			p = &st.prio[prio];
			seq_printf(m, "%4u %4u %16llu %16llu %12llu %12llu %10llu %10llu %11llu %11llu\n",
				   port, prio, p->tx_bytes, p->rx_bytes, p->tx_packets,
				   p->rx_packets, p->tx_pauses, p->rx_pauses,
				   div_u64(p->tx_pause_ns, NSEC_PER_USEC),
				   div_u64(p->rx_pause_ns, NSEC_PER_USEC));
		}
	}
	up_read(&srdma_devs_sem);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(priorities);

static void show_limit(struct seq_file *m, u64 limit)
{
	if (limit == SRDMA_NO_LIMIT)
		seq_printf(m, " %10s", "-");
	else
		seq_printf(m, " %10llu", limit);
}

static void show_sum(struct seq_file *m, const struct srdma_dev *dev, u32 cap, u64 sum)
{
	if (dev->caps & cap)
		seq_printf(m, " %14llu", sum);
	else
		seq_printf(m, " %14s", "-");
}

static int jobs_show(struct seq_file *m, void *v)
{
	struct srdma_dev *dev = m->private;
	struct srdma_job_stat st;
	struct srdma_job_dev *jd;
	unsigned long id;

	seq_puts(m, "  id name                                qps    created  destroyed   rejected    creates   modifies   commands command_mean_ns      doorbells            wrs  lvl    max_qps  creates/s      moved\n");
	srdma_refresh(dev, BIT(SRDMA_REFRESH_QPS) | BIT(SRDMA_REFRESH_MRS), true);
	down_read(&srdma_devs_sem);
	mutex_lock(&srdma_ctl_lock);
	xa_for_each(&dev->jobs, id, jd) {
		srdma_job_stat(jd, &st);
		seq_printf(m, "%4u %-32s %7u %10llu %10llu %10llu", jd->job->id,
			   jd->job->name, st.qps, st.created, st.destroyed, st.rejected);
		seq_printf(m, " %10llu %10llu %10llu %15llu", st.creates, st.modifies, st.commands,
			   st.commands ? div64_u64(st.command_ns, st.commands) : 0);
		show_sum(m, dev, SWIFTRDMA_DEV_CAP_DOORBELLS, st.doorbells);
		show_sum(m, dev, SWIFTRDMA_DEV_CAP_WRS, st.wrs);
		if (st.level < 0)
			seq_puts(m, "    -");
		else
			seq_printf(m, " %4d", st.level);
		show_limit(m, st.max_qps);
		show_limit(m, st.create_rate);
		seq_printf(m, " %10llu\n", st.moved);
	}
	mutex_unlock(&srdma_ctl_lock);
	up_read(&srdma_devs_sem);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(jobs);

static const char *knob_name(u32 knob)
{
	switch (knob) {
	case SWIFTRDMA_KNOB_LEVEL:
		return "level";
	case SWIFTRDMA_KNOB_MAX_QPS:
		return "max_qps";
	case SWIFTRDMA_KNOB_CREATE_RATE:
		return "create_rate";
	case SWIFTRDMA_KNOB_BIT_RATE:
		return "bit_rate";
	case SWIFTRDMA_KNOB_WEIGHT:
		return "weight";
	case SWIFTRDMA_KNOB_UDP_SPORT:
		return "udp_sport";
	case SWIFTRDMA_KNOB_LAG_PORT:
		return "lag_port";
	default:
		return "other";
	}
}

static void show_override(struct seq_file *m, const struct srdma_override *o)
{
	const struct srdma_lease *l = o->lease;
	s64 left = l->expires - ktime_get_ns();
	char target[SWIFTRDMA_NAME_LEN + 8];

	if (o->job)
		snprintf(target, sizeof(target), "job %s", o->job->name);
	else
		snprintf(target, sizeof(target), "qp %u", o->key & 0xffffff);
	seq_printf(m, "%8llu %4u %-16s %8lld %-11s %10llu %-36s %-9s", l->id, l->rank,
		   l->origin, div_s64(max(left, 0LL), NSEC_PER_MSEC), knob_name(o->knob),
		   o->value, target, o->in_force ? "yes" : "outranked");
	if (o->decision)
		seq_printf(m, " %-31s %10llu", o->decision->policy, o->decision->tick);
	else
		seq_printf(m, " %-31s %10s", "-", "-");
	seq_printf(m, " %s\n", o->reason[0] ? o->reason : "-");
}

static void show_overrides(struct seq_file *m, const struct srdma_dev *dev)
{
	struct srdma_override *o;
	struct srdma_lease *l;

	seq_puts(m, "   lease rank origin            left_ms knob             value target                               in_force  policy                                tick reason\n");
	mutex_lock(&srdma_ctl_lock);
	list_for_each_entry(l, &srdma_leases, node)
		list_for_each_entry(o, &l->overrides, node)
			if ((o->job && o->any_dev) || o->dev == dev->index)
				show_override(m, o);
	mutex_unlock(&srdma_ctl_lock);
}

static void show_pending(struct seq_file *m, struct srdma_dev *dev)
{
	struct srdma_walk w = SRDMA_WALK(&dev->qps, 0);
	char why[SRDMA_WHY_LEN];
	enum srdma_standing s;
	struct srdma_qp *q;
	u32 n = 0;

	seq_puts(m, "\n     qpn     serial attempts why its class is not what it should be\n");
	while ((q = srdma_walk_get(&w))) {
		s = srdma_class_standing(q);
		if (s != SRDMA_DONE && s != SRDMA_UNCONNECTED && n++ < PENDING_MAX) {
			srdma_class_why(q, s, why, sizeof(why));
			seq_printf(m, "%8u %10llu %8u %s\n", q->qpn, q->serial,
				   READ_ONCE(q->attempts), why);
		}
		srdma_qp_put(q);
		cond_resched();
	}
	if (n > PENDING_MAX)
		seq_printf(m, "and %u more\n", n - PENDING_MAX);
}

static int actions_show(struct seq_file *m, void *v)
{
	struct srdma_dev *dev = m->private;

	down_read(&srdma_devs_sem);
	show_overrides(m, dev);
	show_pending(m, dev);
	up_read(&srdma_devs_sem);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(actions);

void srdma_debugfs_tables(struct srdma_dev *dev, struct dentry *dir)
{
	debugfs_create_file("summary", 0400, dir, dev, &summary_fops);
	srdma_debugfs_qps(dev, dir);
	debugfs_create_file("uars", 0400, dir, dev, &uars_fops);
	debugfs_create_file("ports", 0400, dir, dev, &ports_fops);
	debugfs_create_file("priorities", 0400, dir, dev, &priorities_fops);
	debugfs_create_file("jobs", 0400, dir, dev, &jobs_fops);
	debugfs_create_file("actions", 0400, dir, dev, &actions_fops);
}
