// SPDX-License-Identifier: GPL-2.0
/*
 * Plain shared memory: an open descriptor or a mapping of a file keeps the memory, and never
 * this module.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <uapi/linux/fcntl.h>

#include "compat.h"
#include "share_file.h"

/* A process at its limit of memory is not measured; it is not ended for that. */
#define FILE_GFP	(GFP_USER | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/*
 * The module holds the pages for as long as the attachment lasts, so they do not come from
 * where pages must be movable.
 */
static int map_beginning(struct srdma_share_file *f)
{
	struct address_space *mapping = f->file->f_mapping;
	struct page *page;
	unsigned int i;

	mapping_set_gfp_mask(mapping, GFP_USER);
	for (i = 0; i < f->n_pages; i++) {
		page = shmem_read_mapping_page_gfp(mapping, i, FILE_GFP);
		if (IS_ERR(page))
			return PTR_ERR(page);
		set_page_dirty(page);
		f->pages[i] = page;
	}
	f->map = vmap(f->pages, f->n_pages, VM_MAP, PAGE_KERNEL);
	return f->map ? 0 : -ENOMEM;
}

int srdma_share_file_open(struct srdma_share_file *f, const char *name, u64 bytes, u64 mapped,
			  umode_t mode, unsigned int seals)
{
	struct inode *inode;

	f->n_pages = DIV_ROUND_UP_ULL(mapped, PAGE_SIZE);
	f->pages = kvcalloc(f->n_pages, sizeof(*f->pages), FILE_GFP | __GFP_ACCOUNT);
	if (!f->pages)
		return -ENOMEM;
	f->file = srdma_shmem_file(name, PAGE_ALIGN(bytes));
	if (IS_ERR(f->file))
		return PTR_ERR(f->file);
	inode = file_inode(f->file);
	inode->i_mode = S_IFREG | mode;
	SHMEM_I(inode)->seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | seals;
	return map_beginning(f);
}

void srdma_share_file_close(struct srdma_share_file *f)
{
	unsigned int i;

	vunmap(f->map);
	for (i = 0; f->pages && i < f->n_pages && f->pages[i]; i++)
		put_page(f->pages[i]);
	kvfree(f->pages);
	if (!IS_ERR_OR_NULL(f->file))
		fput(f->file);
}

u64 srdma_share_file_size(const struct srdma_share_file *f)
{
	return i_size_read(file_inode(f->file));
}

void srdma_latch(u64 *changes, void *copies, const void *now, size_t size)
{
	u64 was = *changes;

	if (!memcmp(copies + (was & 1) * size, now, size))
		return;
	/*
	 * A reader that finds a part of the new copy in the one that it reads finds another
	 * change counter, too. Pairs with its load barrier.
	 */
	smp_wmb();
	memcpy(copies + ((was + 1) & 1) * size, now, size);
	/* Pairs with the process's load-acquire: the copy is whole before it is current. */
	smp_store_release(changes, was + 1);
}
