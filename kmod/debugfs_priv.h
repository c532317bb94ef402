/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_DEBUGFS_PRIV_H
#define SRDMA_DEBUGFS_PRIV_H

#include "uar.h"

struct dentry;

/* A device's files, into its directory @dir. debugfs_table.c */
void srdma_debugfs_tables(struct srdma_dev *dev, struct dentry *dir);
/* The file of its QPs. debugfs_qps.c */
void srdma_debugfs_qps(struct srdma_dev *dev, struct dentry *dir);

/*
 * A process is its id in the initial namespace and its comm, a kernel user 0 and
 * its name.
 */
static inline u32 srdma_owner_pid(const struct srdma_owner *o)
{
	return o ? pid_nr(o->pid) : 0;
}

static inline const char *srdma_owner_name(const struct srdma_owner *o)
{
	if (!o)
		return "-";
	return srdma_owner_is_kernel(o) ? o->exe : o->comm;
}

#endif /* SRDMA_DEBUGFS_PRIV_H */
