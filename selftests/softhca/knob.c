// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs: ways to make things go wrong, and a look inside.
 *
 * softhca/hcaN/fail_command	"OPCODE STATUS COUNT [SYNDROME]", all hexadecimal but COUNT:
 *				the next commands fail so
 * softhca/hcaN/hold_command	"OPCODE", hexadecimal: such commands are not answered until
 *				this is 0 again; read: how many there are
 * softhca/hcaN/delay_us	every command takes so much longer
 * softhca/hcaN/drop_cqes	so many completions of users are never written
 * softhca/hcaN/hold_us		every send completion comes so much later
 * softhca/hcaN/refuse_uars	ALLOC_UAR fails
 * softhca/hcaN/next_qp		the number that the next QP gets, if it is free
 * softhca/hcaN/link		1 up, 0 down
 * softhca/hcaN/event		"TYPE [SUBTYPE [NUMBER]]", all hexadecimal: raise it
 * softhca/hcaN/health		health syndrome
 * softhca/hcaN/pause		"PRIORITY 1|0": stop or go, as a switch may tell the port
 *				(wire.c)
 * softhca/hcaN/commands	served, by opcode, read only
 * softhca/hcaN/objects		counts, read only
 * softhca/hcaN/uars		UARs in use, read only
 * softhca/hcaN/latency		of send queues, read only (latency.c)
 * softhca/hcaN/falsify		"NAME 1|0": something that SwiftRDMA assumes is untrue (falsify.c)
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "contention.h"

int sh_knob_cmd(struct sh_cmd *c)
{
	struct sh_knobs *k = &c->hca->knob;

	if (k->delay_us)
		usleep_range(k->delay_us, k->delay_us + 50);
	if (!k->fail_count || k->fail_opcode != c->op)
		return MLX5_CMD_STAT_OK;
	k->fail_count--;
	c->syndrome = k->fail_syndrome;
	return k->fail_status;
}

static ssize_t sh_get_line(char *line, size_t size, const char __user *buf, size_t count)
{
	if (count >= size)
		return -EINVAL;
	if (copy_from_user(line, buf, count))
		return -EFAULT;
	line[count] = 0;
	return count;
}

static ssize_t sh_fail_write(struct file *f, const char __user *buf, size_t count, loff_t *pos)
{
	struct sh_hca *h = f->private_data;
	u32 op, status, n, syndrome = 0;
	ssize_t err;
	char line[64];

	err = sh_get_line(line, sizeof(line), buf, count);
	if (err < 0)
		return err;
	if (sscanf(line, "%x %x %u %x", &op, &status, &n, &syndrome) < 3 || !status ||
	    status > 0xff)
		return -EINVAL;
	mutex_lock(&softhca.lock);
	h->knob.fail_opcode = op;
	h->knob.fail_status = status;
	h->knob.fail_count = n;
	h->knob.fail_syndrome = syndrome;
	mutex_unlock(&softhca.lock);
	return count;
}

static const struct file_operations sh_fail_fops = {
	.open = simple_open,
	.write = sh_fail_write,
};

/* True: not now. */
bool sh_knob_hold(struct sh_hca *h, int slot, u16 op)
{
	if (!h->knob.hold_opcode || h->knob.hold_opcode != op)
		return false;
	h->knob.held |= 1U << slot;
	return true;
}

static ssize_t sh_hold_write(struct file *f, const char __user *buf, size_t count, loff_t *pos)
{
	struct sh_hca *h = f->private_data;
	u32 op, held;
	int err;

	err = kstrtou32_from_user(buf, count, 16, &op);
	if (err)
		return err;
	mutex_lock(&softhca.lock);
	h->knob.hold_opcode = op;
	held = h->knob.held;
	h->knob.held = 0;
	sh_cmd_run(h, held);
	mutex_unlock(&softhca.lock);
	return count;
}

static ssize_t sh_hold_read(struct file *f, char __user *buf, size_t count, loff_t *pos)
{
	struct sh_hca *h = f->private_data;
	char line[16];

	return simple_read_from_buffer(buf, count, pos, line,
				       scnprintf(line, sizeof(line), "%u\n",
						 hweight32(READ_ONCE(h->knob.held))));
}

static const struct file_operations sh_hold_fops = {
	.open = simple_open,
	.read = sh_hold_read,
	.write = sh_hold_write,
};

static int sh_commands_show(struct seq_file *s, void *unused)
{
	struct sh_hca *h = s->private;
	int op;

	mutex_lock(&softhca.lock);
	for (op = 0; op < SH_OPCODES; op++)
		if (h->served[op])
			seq_printf(s, "%#x %u\n", op, h->served[op]);
	mutex_unlock(&softhca.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sh_commands);

static ssize_t sh_event_write(struct file *f, const char __user *buf, size_t count, loff_t *pos)
{
	struct sh_hca *h = f->private_data;
	u32 type, sub = 0, number = 0;
	union ev_data d = {};
	ssize_t err;
	char line[64];

	err = sh_get_line(line, sizeof(line), buf, count);
	if (err < 0)
		return err;
	if (sscanf(line, "%x %x %x", &type, &sub, &number) < 1 || !type || type > 0xff ||
	    sub > 0xff)
		return -EINVAL;
	/* Each kind of event has the number of its object somewhere else. */
	switch (type) {
	case MLX5_EVENT_TYPE_CQ_ERROR:
		d.cq_err.cqn = cpu_to_be32(number);
		break;
	case MLX5_EVENT_TYPE_PORT_CHANGE:
		d.port.port = 1 << 4;
		break;
	case MLX5_EVENT_TYPE_DB_BF_CONGESTION:
		mutex_lock(&softhca.lock);
		sh_event_congestion(h, number);
		mutex_unlock(&softhca.lock);
		return count;
	case MLX5_EVENT_TYPE_CMD:
	case MLX5_EVENT_TYPE_PAGE_REQUEST:
	case MLX5_EVENT_TYPE_PAGE_FAULT:
		return -EOPNOTSUPP;
	default:
		d.qp_srq.qp_srq_n = cpu_to_be32(number);
	}
	mutex_lock(&softhca.lock);
	sh_event(h, type, sub, &d);
	mutex_unlock(&softhca.lock);
	return count;
}

static const struct file_operations sh_event_fops = {
	.open = simple_open,
	.write = sh_event_write,
};

static int sh_link_get(void *data, u64 *val)
{
	*val = ((struct sh_hca *)data)->port.up;
	return 0;
}

static int sh_link_set(void *data, u64 val)
{
	struct sh_hca *h = data;

	mutex_lock(&softhca.lock);
	if (h->port.up != !!val) {
		h->port.up = val;
		h->port.link_downs += !val;
		sh_eth_link(h);
		sh_event_port(h, val);
	}
	mutex_unlock(&softhca.lock);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(sh_link_fops, sh_link_get, sh_link_set, "%llu\n");

static int sh_health_set(void *data, u64 val)
{
	mutex_lock(&softhca.lock);
	sh_bar_health(data, val);
	mutex_unlock(&softhca.lock);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(sh_health_fops, NULL, sh_health_set, "%llu\n");

static int sh_objects_show(struct seq_file *s, void *unused)
{
	struct sh_hca *h = s->private;
	int i;

	mutex_lock(&softhca.lock);
	for (i = 0; i < SH_KINDS; i++)
		seq_printf(s, "%s %u\n", h->tab[i].name, h->tab[i].count);
	mutex_unlock(&softhca.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sh_objects);

static int sh_uars_show(struct seq_file *s, void *unused)
{
	struct sh_hca *h = s->private;
	struct sh_uar *u;
	unsigned long id;

	seq_puts(s, "uar uid qps doorbells wqebbs\n");
	mutex_lock(&softhca.lock);
	xa_for_each(&h->tab[SH_UAR].xa, id, u)
		seq_printf(s, "%u %u %u %llu %llu\n", u->obj.id, u->obj.uid, u->nqps,
			   u->doorbells, u->wqebbs);
	mutex_unlock(&softhca.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sh_uars);

static int sh_lag_show(struct seq_file *s, void *unused)
{
	struct sh_hca *h = s->private;
	int i;

	seq_puts(s, "port messages bytes\n");
	mutex_lock(&softhca.lock);
	for (i = 0; i <= SH_LAG_PORTS; i++)
		seq_printf(s, "%d %llu %llu\n", i, h->lag[i].msgs, h->lag[i].bytes);
	mutex_unlock(&softhca.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sh_lag);

void sh_knob_add(struct sh_hca *h)
{
	char name[8];

	snprintf(name, sizeof(name), "hca%d", h->index);
	h->dir = debugfs_create_dir(name, softhca.dir);
	debugfs_create_file("fail_command", 0200, h->dir, h, &sh_fail_fops);
	debugfs_create_file("event", 0200, h->dir, h, &sh_event_fops);
	debugfs_create_file_unsafe("link", 0600, h->dir, h, &sh_link_fops);
	debugfs_create_file_unsafe("health", 0200, h->dir, h, &sh_health_fops);
	debugfs_create_file("hold_command", 0600, h->dir, h, &sh_hold_fops);
	debugfs_create_file("commands", 0400, h->dir, h, &sh_commands_fops);
	debugfs_create_file("objects", 0400, h->dir, h, &sh_objects_fops);
	debugfs_create_file("uars", 0400, h->dir, h, &sh_uars_fops);
	if (softhca.eth)
		debugfs_create_file("lag", 0400, h->dir, h, &sh_lag_fops);
	debugfs_create_u32("delay_us", 0600, h->dir, &h->knob.delay_us);
	debugfs_create_u32("drop_cqes", 0600, h->dir, &h->knob.drop_cqes);
	debugfs_create_x64("sl2vl", 0600, h->dir, &h->port.sl2vl);
	debugfs_create_u32("hold_us", 0600, h->dir, &h->knob.hold_us);
	sh_gauges_add(h);
	sh_latency_add(h);
	sh_wire_add(h);
	sh_falsify_add(h);
	debugfs_create_bool("refuse_uars", 0600, h->dir, &h->knob.refuse_uars);
	debugfs_create_u32("next_qp", 0600, h->dir, &h->tab[SH_QP].next);
}
