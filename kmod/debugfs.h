/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_DEBUGFS_H
#define SRDMA_DEBUGFS_H

#include "tracker.h"

void srdma_debugfs_init(void);
void srdma_debugfs_exit(void);
/* srdma_devs_sem is held for writing. */
void srdma_debugfs_add(struct srdma_dev *dev);
void srdma_debugfs_rename(struct srdma_dev *dev);
/* No lock: waits for readers, who take srdma_devs_sem. */
void srdma_debugfs_remove(struct srdma_dev *dev);

#endif /* SRDMA_DEBUGFS_H */
