/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_DEBUGFS_H
#define SRDMA_DEBUGFS_H

struct dentry;

/* Create the module's directory, which disarm.c puts its own file into. */
struct dentry *srdma_debugfs_init(void);
void srdma_debugfs_exit(void);

#endif /* SRDMA_DEBUGFS_H */
