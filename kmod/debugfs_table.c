// SPDX-License-Identifier: GPL-2.0
/*
 * A device's debugfs files, except those of its QPs. Figures that take commands are
 * refreshed first, without a lock; then the whole table is shown under srdma_devs_sem. "-"
 * stands for a figure that the device cannot tell. Lines and columns are the rows of
 * figures.c that have a label.
 */
#include <linux/cred.h>
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/seq_file.h>
#include <linux/string_helpers.h>

#include "class.h"
#include "debugfs_priv.h"
#include "figures.h"
#include "find.h"
#include "knobs.h"
#include "lease.h"
#include "peer.h"
#include "share.h"

/* At most this many stuck QPs are shown, as most share one reason; netlink lists all. */
#define PENDING_MAX	256

void srdma_show_number(struct seq_file *m, int width, bool known, u64 value)
{
	if (known)
		seq_printf(m, " %*llu", width, value);
	else
		seq_printf(m, " %*s", width, "-");
}

/*
 * A process chooses its own name. Characters that would end the column or the line, or
 * control the reader's terminal, are shown in octal, as in /proc/mounts.
 */
void srdma_show_owner(struct seq_file *m, const struct srdma_owner *o)
{
	static const char unsafe[] =
		"\001\002\003\004\005\006\007\010\011\012\013\014\015\016\017"
		"\020\021\022\023\024\025\026\027\030\031\032\033\034\035\036\037"
		" \\\177";
	const char *name = srdma_owner_is_kernel(o) ? o->exe : o->comm;
	char label[4 * SWIFTRDMA_EXE_LEN];	/* each character may be escaped */
	int len = string_escape_str(name, label, sizeof(label), ESCAPE_OCTAL, unsafe);

	label[min_t(int, len, sizeof(label) - 1)] = '\0';
	/* A kernel user is process 0. */
	seq_printf(m, " %7u %10u %-16s", o->pid ? pid_nr(o->pid) : 0,
		   from_kuid(&init_user_ns, o->uid), label);
}

u64 srdma_seconds_since(u64 since)
{
	return div_u64(ktime_get_ns() - since, NSEC_PER_SEC);
}

/* Is there a value to show? A mean over nothing has none. */
static bool has_value(const struct srdma_attr *a, const void *obj)
{
	return srdma_attr_known(a, obj) && (!a->per || *(const u64 *)(obj + a->per));
}

/* The value in the unit that debugfs shows. */
static u64 shown_value(const struct srdma_attr *a, const void *obj)
{
	u64 value = srdma_attr_value(a, obj);

	if (a->per)
		value = div64_u64(value, *(const u64 *)(obj + a->per));
	return a->div ? div_u64(value, a->div) : value;
}

static void show_lines(struct seq_file *m, const struct srdma_attr_set *set, const void *obj)
{
	const struct srdma_attr *a;

	for (a = set->attr; a < set->attr + set->n; a++) {
		if (!a->label || !srdma_attr_known(a, obj))
			continue;
		if (has_value(a, obj))
			seq_printf(m, "%-16s %llu\n", a->label, shown_value(a, obj));
		else
			seq_printf(m, "%-16s -\n", a->label);
	}
}

/* Words are to the left of their column, numbers to the right. */
static int column_width(const struct srdma_attr *a)
{
	return a->names || a->kind == SRDMA_ATTR_TEXT ? -a->width : a->width;
}

void srdma_show_header(struct seq_file *m, const struct srdma_attr_set *set)
{
	const struct srdma_attr *a;

	for (a = set->attr; a < set->attr + set->n; a++)
		if (a->label)
			seq_printf(m, " %*s", column_width(a), a->label);
}

void srdma_show_columns(struct seq_file *m, const struct srdma_attr_set *set, const void *obj)
{
	const struct srdma_attr *a;
	const char *word;
	u64 value;

	for (a = set->attr; a < set->attr + set->n; a++) {
		bool known = has_value(a, obj);

		if (!a->label)
			continue;
		if (!a->names && a->kind != SRDMA_ATTR_TEXT) {
			srdma_show_number(m, a->width, known, known ? shown_value(a, obj) : 0);
			continue;
		}
		word = obj + a->offset;
		if (a->names) {
			value = srdma_attr_value(a, obj);
			word = value < a->n_names ? a->names[value] : NULL;
		}
		seq_printf(m, " %*s", column_width(a), known && word ? word : "-");
	}
}

static const struct {
	u32 cap;
	const char *has, *lacks;
} caps[] = {
	{ SWIFTRDMA_DEV_CAP_DOORBELLS, "doorbells of user QPs",
	  "the kernel does not see them, the signal is absent" },
	{ SWIFTRDMA_DEV_CAP_WRS, "work requests of user QPs",
	  "the kernel does not see them, the signal is absent" },
	{ SWIFTRDMA_DEV_CAP_LIVE_CLASS, "class of a connected QP",
	  "it is set when the QP is connected, not later" },
	{ SWIFTRDMA_DEV_CAP_UARS, "UAR pages of QPs", "user contexts stand for them" },
	{ SWIFTRDMA_DEV_CAP_CONGESTION, "congestion of doorbells", "the device does not tell" },
	{ SWIFTRDMA_DEV_CAP_RATES, "rates and weights of jobs",
	  "it has no scheduling elements for QPs" },
	{ SWIFTRDMA_DEV_CAP_CONTEXTS, "user contexts from their opening on",
	  "they are seen from their first QP on" },
};

static const char *const functions[] = {
	[SWIFTRDMA_FUNCTION_PF] = "PF",
	[SWIFTRDMA_FUNCTION_VF] = "VF",
	[SWIFTRDMA_FUNCTION_SF] = "SF",
	[SWIFTRDMA_FUNCTION_REPRESENTOR] = "representor",
};

static void show_summary(struct seq_file *m, struct srdma_dev *dev)
{
	u32 qps = atomic_read(&dev->n_qps);
	struct srdma_dev_figures f;
	int i;

	seq_printf(m, "device           %s (index %u)\n", dev->name, dev->index);
	if (dev->function)
		seq_printf(m, "function         %s\n", functions[dev->function]);
	seq_printf(m, "hook             %s%s\n", dev->hooked ? "in place" : "out",
		   dev->wrapped_post_send ? ", post_send too" : "");
	seq_printf(m, "provider         %s\n", srdma_dev_provider(dev)->name);
	for (i = 0; i < ARRAY_SIZE(caps); i++)
		if (dev->caps & caps[i].cap)
			seq_printf(m, "  yes  %s\n", caps[i].has);
		else
			seq_printf(m, "  no   %s: %s\n", caps[i].has, caps[i].lacks);

	srdma_dev_figures(dev, ktime_get_ns(), &f);
	seq_printf(m, "\nfigures, counted for %llu s\n", srdma_seconds_since(dev->since));
	show_lines(m, &srdma_dev_attrs, dev);
	show_lines(m, &srdma_dev_figure_attrs, &f);
	if (!f.st.devx && dev->caps & SWIFTRDMA_DEV_CAP_UARS)
		seq_puts(m, "devx_qps         unknown: no probes watch for them\n");

	seq_puts(m, "\nmemory\n");
	seq_printf(m, "bytes_per_qp     %zu\n", SRDMA_QP_BYTES);
	seq_printf(m, "bytes_of_qps     %llu\n", (u64)qps * SRDMA_QP_BYTES);
	seq_printf(m, "bytes_of_table   %zu (room for QPs included)\n",
		   srdma_table_bytes(&dev->qps));
	seq_printf(m, "owners           %u (of all devices)\n", srdma_owner_count());
}

static void show_uars(struct seq_file *m, struct srdma_dev *dev)
{
	struct srdma_uar_figures f;
	unsigned long index;
	struct srdma_uar *u;

	srdma_show_header(m, &srdma_uar_attrs);
	seq_puts(m, "     pid        uid name                  age_s\n");
	rcu_read_lock();
	xa_for_each(srdma_dev_uar_table(dev), index, u) {
		srdma_uar_figures(u, 0, &f);
		srdma_show_columns(m, &srdma_uar_attrs, &f);
		srdma_show_owner(m, u->owner);
		seq_printf(m, " %10llu\n", srdma_seconds_since(u->since));
	}
	rcu_read_unlock();
}

static void show_ports(struct seq_file *m, struct srdma_dev *dev)
{
	struct srdma_port_stat st;
	u32 port;

	seq_puts(m, "port");
	srdma_show_header(m, &srdma_port_attrs);
	rdma_for_each_port(dev->ibdev, port) {
		seq_printf(m, "\n%4u", port);
		if (srdma_port_stat(dev, port, &st))
			seq_puts(m, " -");
		else
			srdma_show_columns(m, &srdma_port_attrs, &st);
	}
	seq_putc(m, '\n');
}

static void show_priorities(struct seq_file *m, struct srdma_dev *dev)
{
	struct srdma_port_stat st;
	u32 port, prio;

	seq_puts(m, "port prio");
	srdma_show_header(m, &srdma_prio_attrs);
	rdma_for_each_port(dev->ibdev, port) {
		if (srdma_port_stat(dev, port, &st) || !st.has_prios)
			continue;
		for (prio = 0; prio < SRDMA_PRIOS; prio++) {
			seq_printf(m, "\n%4u %4u", port, prio);
			srdma_show_columns(m, &srdma_prio_attrs, &st.prio[prio]);
		}
	}
	seq_putc(m, '\n');
}

static void show_jobs(struct seq_file *m, struct srdma_dev *dev)
{
	struct srdma_job_figures f;
	struct srdma_job_dev *jd;
	unsigned long id;

	seq_printf(m, "%4s %-32s", "id", "name");
	srdma_show_header(m, &srdma_job_attrs);
	mutex_lock(&srdma_ctl_lock);
	xa_for_each(&dev->jobs, id, jd) {
		srdma_job_figures(dev, jd, &f);
		seq_printf(m, "\n%4u %-32s", jd->job->id, jd->job->name);
		srdma_show_columns(m, &srdma_job_attrs, &f);
	}
	mutex_unlock(&srdma_ctl_lock);
	seq_putc(m, '\n');
}

static void show_job_report(struct seq_file *m, const struct srdma_job_dev *jd)
{
	struct srdma_report_figures f;

	srdma_report_figures(jd->report, &f);
	seq_printf(m, "\n%4u %-32s", jd->job->id, jd->job->name);
	srdma_show_columns(m, &srdma_report_figure_attrs, &f);
	srdma_show_columns(m, &srdma_reported_attrs, &jd->report->sum);
	srdma_show_columns(m, &srdma_quantile_attrs, &f);
}

/* Figures of each knob that libraries in the job's processes can enforce, or have enforced. */
static void show_held(struct seq_file *m, const struct srdma_job_dev *jd)
{
	static const struct srdma_held none;
	const struct srdma_held *held;
	u32 knob, able, in_force;
	int share_knob;

	for (knob = 0; knob <= SWIFTRDMA_KNOB_MAX; knob++) {
		share_knob = srdma_share_knob_of(knob);
		if (share_knob < 0)
			continue;
		held = share_knob < SWIFTRDMA_SHARE_HELD ? &jd->report->held[share_knob] : &none;
		srdma_knobs_count(jd, share_knob, &able, &in_force);
		if (able || held->posts)
			seq_printf(m, "\n%4u %-32s %-11s %9u %8u %12llu %14llu %16llu %10llu",
				   jd->job->id, jd->job->name, srdma_knob_table[knob].name, able,
				   in_force, held->posts, held->wrs, held->ns, held->passed);
	}
}

/* Jobs that a process with a library was in, then their knobs. */
static void show_reports(struct seq_file *m, struct srdma_dev *dev)
{
	struct srdma_job_dev *jd;
	unsigned long id;

	srdma_shares_collect(dev, NULL, NULL);
	seq_printf(m, "%4s %-32s", "id", "name");
	srdma_show_header(m, &srdma_report_figure_attrs);
	srdma_show_header(m, &srdma_reported_attrs);
	srdma_show_header(m, &srdma_quantile_attrs);
	mutex_lock(&srdma_ctl_lock);
	mutex_lock(&srdma_share_lock);
	xa_for_each(&dev->jobs, id, jd)
		if (jd->report)
			show_job_report(m, jd);
	seq_printf(m, "\n\n%4s %-32s %-11s %9s %8s %12s %14s %16s %10s", "id", "name", "knob",
		   "processes", "in_force", "held_posts", "held_wrs", "held_ns", "passed");
	xa_for_each(&dev->jobs, id, jd)
		if (jd->report)
			show_held(m, jd);
	mutex_unlock(&srdma_share_lock);
	mutex_unlock(&srdma_ctl_lock);
	seq_putc(m, '\n');
}

static void show_override(struct seq_file *m, const struct srdma_override *o)
{
	const struct srdma_lease *l = o->lease;
	s64 left = l->expires - ktime_get_ns();
	char target[SWIFTRDMA_NAME_LEN + 8];

	if (o->target.job)
		snprintf(target, sizeof(target), "job %s", o->target.job->name);
	else
		snprintf(target, sizeof(target), "qp %u", o->target.key & 0xffffff);
	seq_printf(m, "%8llu %4u %-16s %8lld %-11s %10llu %-36s %-9s", l->id, l->rank,
		   l->origin, div_s64(max(left, 0LL), NSEC_PER_MSEC),
		   srdma_knob_table[o->target.knob].name, o->value, target,
		   o->in_force ? "yes" : "outranked");
	seq_printf(m, " %-31s", o->decision ? o->decision->policy : "-");
	srdma_show_number(m, 10, o->decision, o->decision ? o->decision->tick : 0);
	seq_printf(m, " %s\n", o->reason[0] ? o->reason : "-");
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

static void show_actions(struct seq_file *m, struct srdma_dev *dev)
{
	struct srdma_override *o;
	struct srdma_lease *l;

	seq_puts(m, "   lease rank origin            left_ms knob             value target                               in_force  policy                                tick reason\n");
	mutex_lock(&srdma_ctl_lock);
	list_for_each_entry(l, &srdma_leases, node)
		list_for_each_entry(o, &l->overrides, node)
			if ((o->target.job && o->target.any_dev) || o->target.dev == dev->index)
				show_override(m, o);
	mutex_unlock(&srdma_ctl_lock);
	show_pending(m, dev);
}

static void show_peers(struct seq_file *m, struct srdma_dev *dev)
{
	static const char *const names[SRDMA_PEER_COUNTS] = {
		[SRDMA_PEER_SENT] = "sent", [SRDMA_PEER_RECEIVED] = "received",
		[SRDMA_PEER_SERVED] = "served", [SRDMA_PEER_STRANGE] = "strange",
		[SRDMA_PEER_FORGED] = "forged", [SRDMA_PEER_UNASKED] = "unasked",
		[SRDMA_PEER_FLOODED] = "flooded", [SRDMA_PEER_HELD] = "held",
		[SRDMA_PEER_DELIVERED] = "delivered",
	};
	u64 n[SRDMA_PEER_COUNTS];
	u32 port;
	int i;

	seq_puts(m, "port");
	for (i = 0; i < SRDMA_PEER_COUNTS; i++)
		seq_printf(m, " %10s", names[i]);
	seq_putc(m, '\n');
	rdma_for_each_port(dev->ibdev, port) {
		if (!srdma_peer_counts(dev, port, n))
			continue;
		seq_printf(m, "%4u", port);
		for (i = 0; i < SRDMA_PEER_COUNTS; i++)
			seq_printf(m, " %10llu", n[i]);
		seq_putc(m, '\n');
	}
}

/* -ENODEV: the device is on its way out. */
static int show_file(struct seq_file *m, u32 kinds,
		     void (*show)(struct seq_file *m, struct srdma_dev *dev))
{
	struct srdma_dev *dev = m->private;
	int ret = -ENODEV;

	srdma_refresh(dev, kinds, true);
	down_read(&srdma_devs_sem);
	if (srdma_dev_is_there(dev)) {
		show(m, dev);
		ret = 0;
	}
	up_read(&srdma_devs_sem);
	return ret;
}

/* A file, and the kinds of figures that are refreshed before it is shown. */
#define SRDMA_FILE(name, kinds)						\
static int name##_show(struct seq_file *m, void *v)			\
{									\
	return show_file(m, kinds, show_##name);			\
}									\
DEFINE_SHOW_ATTRIBUTE(name)

SRDMA_FILE(summary, BIT(SRDMA_REFRESH_DEV) | BIT(SRDMA_REFRESH_MRS));
SRDMA_FILE(uars, BIT(SRDMA_REFRESH_QPS));
SRDMA_FILE(ports, BIT(SRDMA_REFRESH_PORTS));
SRDMA_FILE(priorities, BIT(SRDMA_REFRESH_PORTS));
SRDMA_FILE(jobs, BIT(SRDMA_REFRESH_QPS) | BIT(SRDMA_REFRESH_MRS));
SRDMA_FILE(reports, 0);
SRDMA_FILE(actions, 0);
SRDMA_FILE(peers, 0);

void srdma_debugfs_tables(struct srdma_dev *dev, struct dentry *dir)
{
	debugfs_create_file("summary", 0400, dir, dev, &summary_fops);
	srdma_debugfs_qps(dev, dir);
	debugfs_create_file("uars", 0400, dir, dev, &uars_fops);
	debugfs_create_file("ports", 0400, dir, dev, &ports_fops);
	debugfs_create_file("priorities", 0400, dir, dev, &priorities_fops);
	debugfs_create_file("jobs", 0400, dir, dev, &jobs_fops);
	debugfs_create_file("reports", 0400, dir, dev, &reports_fops);
	srdma_debugfs_slots(dev, dir);
	debugfs_create_file("actions", 0400, dir, dev, &actions_fops);
	debugfs_create_file("peers", 0400, dir, dev, &peers_fops);
}
