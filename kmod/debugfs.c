// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/swiftrdma: the module's state for people. Nothing depends on these
 * files, so failures to create them are ignored. debugfs_table.c has the tables.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "compat.h"
#include "debugfs.h"
#include "debugfs_priv.h"
#include "notify.h"

static struct dentry *root;

static int version_show(struct seq_file *m, void *v)
{
	seq_printf(m, "module %s\nnetlink family %s version %u\n",
		   THIS_MODULE->version ?: "unknown", SWIFTRDMA_GENL_NAME,
		   SWIFTRDMA_GENL_VERSION);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(version);

static void add_dev(struct srdma_dev *dev)
{
	struct dentry *dir = debugfs_create_dir(dev->name, root);

	if (IS_ERR(dir))
		return;
	srdma_debugfs_tables(dev, dir);
	dev->debugfs = dir;
}

/*
 * Rename the directory instead of creating a new one: removal would wait for readers, and
 * readers wait for srdma_devs_sem, which is held here.
 */
static void rename_dev(struct srdma_dev *dev)
{
	if (!dev->debugfs)
		return;
	srdma_debugfs_rename_dir(dev->debugfs, dev->name);
}

static void remove_dev(struct srdma_dev *dev)
{
	debugfs_remove_recursive(dev->debugfs);
	dev->debugfs = NULL;
}

static const struct srdma_notifier notifier = {
	.dev_added = add_dev,
	.dev_renamed = rename_dev,
	.dev_removed = remove_dev,
};

struct dentry *srdma_debugfs_init(void)
{
	root = debugfs_create_dir("swiftrdma", NULL);
	debugfs_create_file("version", 0400, root, NULL, &version_fops);
	srdma_notify_register(&notifier);
	return root;
}

void srdma_debugfs_exit(void)
{
	debugfs_remove_recursive(root);
	root = NULL;
}
