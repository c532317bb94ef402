/* SPDX-License-Identifier: GPL-2.0 */
/* Memory files that a process and the module share, and how the module writes into them. */
#ifndef SRDMA_SHARE_FILE_H
#define SRDMA_SHARE_FILE_H

#include <linux/types.h>

struct file;
struct page;

/**
 * struct srdma_share_file - a memory file, of which the module has the beginning mapped
 * @file: with a reference
 * @pages: the pages that are mapped, each with a reference
 * @n_pages: how many
 * @map: address of the mapping
 */
struct srdma_share_file {
	struct file *file;
	struct page **pages;
	unsigned int n_pages;
	void *map;
};

/*
 * A file of @bytes that neither shrinks nor grows, its first @mapped bytes in memory and mapped
 * for as long as it is open here. All is charged to the caller's memory cgroup. 0 or -errno;
 * in either case the caller calls srdma_share_file_close().
 */
int srdma_share_file_open(struct srdma_share_file *f, const char *name, u64 bytes, u64 mapped,
			  umode_t mode, unsigned int seals);
/*
 * Map the first @mapped bytes, which may move .map. Nobody else uses the mapping meanwhile. The
 * new pages are charged to the caller's memory cgroup. 0, or -errno where nothing has changed.
 */
int srdma_share_file_grow(struct srdma_share_file *f, u64 mapped);
void srdma_share_file_close(struct srdma_share_file *f);
u64 srdma_share_file_size(const struct srdma_share_file *f);

/*
 * Make @now, of @size bytes, the current one of the two copies at @copies, unless it is that
 * already. One writer at a time.
 */
void srdma_latch(u64 *changes, void *copies, const void *now, size_t size);

#endif /* SRDMA_SHARE_FILE_H */
