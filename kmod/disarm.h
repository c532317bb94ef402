/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_DISARM_H
#define SRDMA_DISARM_H

struct dentry;

/* The file "disarm" in the module's debugfs directory @root. */
void srdma_disarm_init(struct dentry *root);

#endif /* SRDMA_DISARM_H */
