/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_DEBUGFS_PRIV_H
#define SRDMA_DEBUGFS_PRIV_H

#include "uar.h"

struct dentry;
struct seq_file;
struct srdma_attr_set;

/* A device's files, into its directory @dir. debugfs_table.c */
void srdma_debugfs_tables(struct srdma_dev *dev, struct dentry *dir);
/* The file of its QPs. debugfs_qps.c */
void srdma_debugfs_qps(struct srdma_dev *dev, struct dentry *dir);
/* The file of its QPs of which a library reported. debugfs_qps.c */
void srdma_debugfs_slots(struct srdma_dev *dev, struct dentry *dir);

/* Print a column of @width: the value, or "-" where it is not known. */
void srdma_show_number(struct seq_file *m, int width, bool known, u64 value);
/* Print three columns: process id in the initial namespace, uid and name. */
void srdma_show_owner(struct seq_file *m, const struct srdma_owner *o);
u64 srdma_seconds_since(u64 since);
/* Print the columns of @set: their labels, and the values of @obj. */
void srdma_show_header(struct seq_file *m, const struct srdma_attr_set *set);
void srdma_show_columns(struct seq_file *m, const struct srdma_attr_set *set, const void *obj);

#endif /* SRDMA_DEBUGFS_PRIV_H */
