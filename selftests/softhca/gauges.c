// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs: what the contention model is doing, and its parameters. Only where
 * there is a model.
 *
 * softhca/hcaN/registers	doorbell registers: who waits there, and for how long
 * softhca/hcaN/cache		hits and misses of each kind of context
 * softhca/hcaN/units		processing units
 * softhca/hcaN/classes		the port's classes, their backlogs
 * softhca/hcaN/elements	scheduling elements
 * softhca/hcaN/time		requests, and whether they were in time
 * softhca/hcaN/params		"NAME VALUE" sets one; for all see struct model_params
 * softhca/hcaN/time_scale	how many times slower than modelled
 */
#include <linux/debugfs.h>
#include <linux/math64.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "contention.h"

/* Picoseconds, as microseconds. */
static u64 sh_us(u64 ps)
{
	return div_u64(ps, 1000000);
}

static int sh_registers_show(struct seq_file *s, void *unused)
{
	struct sh_hca *h = s->private;
	struct model_uar *u;
	u32 i;

	seq_puts(s, "uar register qps waiting_qps waiting peak posted contended wait_us congested\n");
	mutex_lock(&softhca.lock);
	for (i = 0; i < SH_UARS * SH_UAR_REGS; i++) {
		u = &h->contention->model.uar[i];
		if (!u->attached && !u->granted)
			continue;
		seq_printf(s, "%u %u %u %u %u %u %llu %llu %llu %u\n", i / SH_UAR_REGS,
			   i % SH_UAR_REGS, u->attached, u->active, u->pending, u->peak,
			   u->granted + u->pending, u->contended, sh_us(u->wait_ps),
			   u->congested);
	}
	mutex_unlock(&softhca.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sh_registers);

static int sh_cache_show(struct seq_file *s, void *unused)
{
	static const char *const kind[MODEL_KINDS] = { "qpc", "mtt", "cqc" };
	struct sh_hca *h = s->private;
	struct model_stats *st = &h->contention->model.stats;
	struct model_cache *c = &h->contention->model.cache;
	int i;

	mutex_lock(&softhca.lock);
	seq_puts(s, "kind hits misses\n");
	for (i = 0; i < MODEL_KINDS; i++)
		seq_printf(s, "%s %llu %llu\n", kind[i], st->hits[i], st->misses[i]);
	seq_printf(s, "contexts %u\nbytes %llu of %u\nevictions %llu\nfetch_us %llu\n", c->n,
		   c->bytes, h->contention->model.p.cache_bytes, st->evictions,
		   sh_us(st->fetch_ps));
	mutex_unlock(&softhca.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sh_cache);

static int sh_units_show(struct seq_file *s, void *unused)
{
	struct sh_hca *h = s->private;
	struct model *m = &h->contention->model;
	u32 i;

	mutex_lock(&softhca.lock);
	seq_puts(s, "unit wqes busy_us\n");
	for (i = 0; i < m->p.pus; i++)
		seq_printf(s, "%u %llu %llu\n", i, m->pu[i].done, sh_us(m->pu[i].busy_ps));
	seq_printf(s, "in_nic %u\nwqes %u of %u\nrefetched %llu\nrefetch_us %llu\nstalled %llu\n",
		   m->inflight, m->n_held, m->p.wqe_limit, m->stats.refetched,
		   sh_us(m->stats.refetch_ps), m->stats.stalled);
	seq_printf(s, "commands %llu\ncommand_us %llu\n", m->stats.ctrl, sh_us(m->stats.ctrl_ps));
	mutex_unlock(&softhca.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sh_units);

static int sh_classes_show(struct seq_file *s, void *unused)
{
	struct sh_hca *h = s->private;
	struct model_class *cls;
	int i;

	seq_puts(s, "class waiting backlog sent_bytes packets\n");
	mutex_lock(&softhca.lock);
	for (i = 0; i < MODEL_CLASSES; i++) {
		cls = &h->contention->model.port.cls[i];
		seq_printf(s, "%d %u %llu %llu %llu\n", i, cls->waiting, cls->backlog,
			   cls->sent_bytes, cls->packets);
	}
	seq_printf(s, "busy_us %llu\n", sh_us(h->contention->model.port.busy_ps));
	mutex_unlock(&softhca.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sh_classes);

static int sh_elements_show(struct seq_file *s, void *unused)
{
	struct sh_hca *h = s->private;
	struct model_element *e;
	struct sh_sched *sched;
	u32 i;

	seq_puts(s, "element weight mbps sent_bytes waits qps\n");
	mutex_lock(&softhca.lock);
	for (i = 0; i < SH_SCHEDS; i++) {
		e = &h->contention->model.element[i];
		sched = sh_find(h, SH_SCHED, i);
		if (i && !sched)
			continue;
		seq_printf(s, "%u %u %llu %llu %llu %u\n", i, e->weight,
			   div_u64(e->max_bps, 1000000), e->sent_bytes, e->blocks,
			   sched ? sched->nqps : 0);
	}
	mutex_unlock(&softhca.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sh_elements);

static int sh_time_show(struct seq_file *s, void *unused)
{
	struct sh_hca *h = s->private;
	struct sh_contention *c = h->contention;
	struct model_stats *st = &c->model.stats;

	mutex_lock(&softhca.lock);
	seq_printf(s, "modelled_us %llu\n", sh_us(sh_contention_clock(c)));
	seq_printf(s, "posted %llu\ndone %llu\ndropped %llu\nposted_bytes %llu\ndone_bytes %llu\n",
		   st->posted, st->done, st->dropped, st->posted_bytes, st->done_bytes);
	seq_printf(s, "congestion_raised %llu\ncongestion_cleared %llu\n", st->raised, st->cleared);
	/* Late is what was executed so long after its time that it shows. */
	seq_printf(s, "executed %llu\nlate %llu\nlag_sum_us %llu\nlag_worst_us %llu\n", c->timed,
		   c->late, sh_us(c->lag_ps), sh_us(c->lag_max_ps));
	mutex_unlock(&softhca.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sh_time);

/* --- Parameters ----------------------------------------------------------- */

static const struct {
	const char *name;
	u16 at;
	u8 size;
} sh_params[] = {
#define SH_PARAM(field) { #field, offsetof(struct model_params, field), \
			  sizeof_field(struct model_params, field) }
#define SH_ENTRY(name, kind) { name, offsetof(struct model_params, entry_bytes[kind]), 4 }
#define SH_WEIGHT(i) { "weight" #i, offsetof(struct model_params, weight[i]), 1 }
	SH_PARAM(seed), SH_PARAM(uar_ps), SH_PARAM(uar_exp), SH_PARAM(uar_hold_ps),
	SH_PARAM(uar_raise), SH_PARAM(uar_clear), SH_PARAM(cache_bytes), SH_ENTRY("qpc_bytes", MODEL_QPC),
	SH_ENTRY("mtt_bytes", MODEL_MTT), SH_ENTRY("cqc_bytes", MODEL_CQC), SH_PARAM(fetch_ps),
	SH_PARAM(wqe_limit), SH_PARAM(wqe_refetch_q8), SH_PARAM(pus), SH_PARAM(pu_ps), SH_PARAM(payload_ps),
	SH_PARAM(jitter_pct), SH_PARAM(ctrl_ps), SH_PARAM(link_bps), SH_PARAM(mtu),
	SH_PARAM(header), SH_PARAM(whole_messages), SH_PARAM(strict), SH_WEIGHT(0), SH_WEIGHT(1), SH_WEIGHT(2),
	SH_WEIGHT(3), SH_WEIGHT(4), SH_WEIGHT(5), SH_WEIGHT(6), SH_WEIGHT(7),
	SH_PARAM(pipe_ps), SH_PARAM(late_ps),
#undef SH_WEIGHT
#undef SH_ENTRY
#undef SH_PARAM
};

static u64 sh_param_get(const void *at, u8 size)
{
	return size == 8 ? *(const u64 *)at : size == 4 ? *(const u32 *)at : *(const u8 *)at;
}

static bool sh_param_put(void *at, u8 size, u64 v)
{
	if (size < 8 && v >> size * 8)
		return false;
	if (size == 8)
		*(u64 *)at = v;
	else if (size == 4)
		*(u32 *)at = v;
	else
		*(u8 *)at = v;
	return true;
}

static int sh_params_show(struct seq_file *s, void *unused)
{
	struct sh_hca *h = s->private;
	int i;

	mutex_lock(&softhca.lock);
	for (i = 0; i < ARRAY_SIZE(sh_params); i++)
		seq_printf(s, "%s %llu\n", sh_params[i].name,
			   sh_param_get((void *)&h->contention->model.p + sh_params[i].at,
					sh_params[i].size));
	mutex_unlock(&softhca.lock);
	return 0;
}

static int sh_params_open(struct inode *inode, struct file *f)
{
	return single_open(f, sh_params_show, inode->i_private);
}

static ssize_t sh_params_write(struct file *f, const char __user *buf, size_t count, loff_t *pos)
{
	struct sh_hca *h = ((struct seq_file *)f->private_data)->private;
	char line[64], name[32];
	struct model_params p;
	int err = -EINVAL, i;
	u64 v;

	if (count >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, buf, count))
		return -EFAULT;
	line[count] = 0;
	if (sscanf(line, "%31s %llu", name, &v) != 2)
		return -EINVAL;
	mutex_lock(&softhca.lock);
	p = h->contention->model.p;
	for (i = 0; i < ARRAY_SIZE(sh_params); i++)
		if (!strcmp(name, sh_params[i].name) &&
		    sh_param_put((void *)&p + sh_params[i].at, sh_params[i].size, v))
			err = model_set_params(&h->contention->model, &p);
	mutex_unlock(&softhca.lock);
	return err ?: count;
}

static const struct file_operations sh_params_fops = {
	.open = sh_params_open,
	.read = seq_read,
	.write = sh_params_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int sh_scale_get(void *data, u64 *val)
{
	*val = ((struct sh_hca *)data)->contention->scale;
	return 0;
}

/* The HCAs are on one wire, but each may live at its own pace. */
static int sh_scale_set(void *data, u64 val)
{
	struct sh_hca *h = data;

	if (!val || val > U32_MAX)
		return -EINVAL;
	mutex_lock(&softhca.lock);
	sh_contention_rescale(h->contention, val);
	mutex_unlock(&softhca.lock);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(sh_scale_fops, sh_scale_get, sh_scale_set, "%llu\n");

void sh_gauges_add(struct sh_hca *h)
{
	if (!h->contention)
		return;
	debugfs_create_file("registers", 0400, h->dir, h, &sh_registers_fops);
	debugfs_create_file("cache", 0400, h->dir, h, &sh_cache_fops);
	debugfs_create_file("units", 0400, h->dir, h, &sh_units_fops);
	debugfs_create_file("classes", 0400, h->dir, h, &sh_classes_fops);
	debugfs_create_file("elements", 0400, h->dir, h, &sh_elements_fops);
	debugfs_create_file("time", 0400, h->dir, h, &sh_time_fops);
	debugfs_create_file("params", 0600, h->dir, h, &sh_params_fops);
	debugfs_create_file_unsafe("time_scale", 0600, h->dir, h, &sh_scale_fops);
}
