// SPDX-License-Identifier: GPL-2.0
/*
 * The debugfs file by which the hook is taken out, so that the module can be unloaded.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "disarm.h"
#include "hook.h"

/*
 * Reads "armed" or "disarmed", followed by the reason if the last disarm was refused or the
 * module cannot be unloaded all the same. Writing "1" disarms; "force" disarms even if QPs
 * keep a class that their application did not ask for.
 */
static int disarm_show(struct seq_file *m, void *v)
{
	char why[256];

	srdma_hook_why(why, sizeof(why));
	seq_printf(m, "%s%s%s\n", READ_ONCE(srdma_armed) ? "armed" : "disarmed",
		   why[0] ? ": " : "", why);
	return 0;
}

static int disarm_open(struct inode *inode, struct file *file)
{
	return single_open(file, disarm_show, NULL);
}

static ssize_t disarm_write(struct file *file, const char __user *ubuf, size_t len,
			    loff_t *ppos)
{
	char buf[16];
	bool force;
	int ret;

	if (len >= sizeof(buf))
		return -EINVAL;
	if (copy_from_user(buf, ubuf, len))
		return -EFAULT;
	buf[len] = '\0';
	force = sysfs_streq(buf, "force");
	if (!force && !sysfs_streq(buf, "1"))
		return -EINVAL;
	ret = srdma_hook_disarm(force);
	return ret ?: len;
}

static const struct file_operations disarm_fops = {
	.owner		= THIS_MODULE,
	.open		= disarm_open,
	.read		= seq_read,
	.write		= disarm_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

void srdma_disarm_init(struct dentry *root)
{
	debugfs_create_file("disarm", 0600, root, NULL, &disarm_fops);
}
