// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/swiftrdma: the module's state for people. Nothing depends on
 * it, so what cannot be made is left out. debugfs_table.c has the tables.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "debugfs.h"
#include "debugfs_priv.h"
#include "hook.h"

static struct dentry *root;

/*
 * Reads "armed" or "disarmed", with the reason where the last attempt to disarm was
 * refused, or the module stays all the same. Written "1" it disarms, "force" also
 * where QPs keep a class that is not their application's.
 */
static int disarm_show(struct seq_file *m, void *v)
{
	char why[256];

	srdma_hook_why(why, sizeof(why));
	seq_printf(m, "%s%s%s\n", srdma_hook_armed() ? "armed" : "disarmed",
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

static int version_show(struct seq_file *m, void *v)
{
	seq_printf(m, "module %s\nnetlink family %s version %u\n",
		   THIS_MODULE->version ?: "unknown", SWIFTRDMA_GENL_NAME,
		   SWIFTRDMA_GENL_VERSION);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(version);

void srdma_debugfs_init(void)
{
	root = debugfs_create_dir("swiftrdma", NULL);
	debugfs_create_file("disarm", 0600, root, NULL, &disarm_fops);
	debugfs_create_file("version", 0400, root, NULL, &version_fops);
}

void srdma_debugfs_exit(void)
{
	debugfs_remove_recursive(root);
	root = NULL;
}

void srdma_debugfs_add(struct srdma_dev *dev)
{
	struct dentry *dir = debugfs_create_dir(dev->name, root);

	if (IS_ERR(dir))
		return;
	srdma_debugfs_tables(dev, dir);
	dev->debugfs = dir;
}

/*
 * Renamed rather than made anew: removal waits for readers, and they for the
 * semaphore that is held here.
 */
void srdma_debugfs_rename(struct srdma_dev *dev)
{
	if (!dev->debugfs)
		return;
	srdma_debugfs_rename_dir(dev->debugfs, dev->name);
}

void srdma_debugfs_remove(struct srdma_dev *dev)
{
	debugfs_remove_recursive(dev->debugfs);
	dev->debugfs = NULL;
}
