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

/* A process at its limit of memory gets no attachment, but is not killed. */
#define FILE_GFP	(GFP_USER | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

static int take_pages(struct srdma_share_file *f, unsigned int from)
{
	struct page *page;
	unsigned int i;

	for (i = from; i < f->n_pages; i++) {
		page = shmem_read_mapping_page_gfp(f->file->f_mapping, i, FILE_GFP);
		if (IS_ERR(page))
			return PTR_ERR(page);
		set_page_dirty(page);
		f->pages[i] = page;
	}
	return 0;
}

/*
 * The module holds the pages for as long as the attachment lasts, so they do not come from
 * where pages must be movable.
 */
static int map_beginning(struct srdma_share_file *f)
{
	int ret;

	mapping_set_gfp_mask(f->file->f_mapping, GFP_USER);
	ret = take_pages(f, 0);
	if (ret)
		return ret;
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

int srdma_share_file_grow(struct srdma_share_file *f, u64 mapped)
{
	struct srdma_share_file now = { .file = f->file };
	u64 size = min(mapped, srdma_share_file_size(f));
	unsigned int i;
	int ret;

	now.n_pages = DIV_ROUND_UP_ULL(size, PAGE_SIZE);
	if (now.n_pages <= f->n_pages)
		return 0;
	now.pages = kvcalloc(now.n_pages, sizeof(*now.pages), FILE_GFP);
	if (!now.pages)
		return -ENOMEM;
	memcpy(now.pages, f->pages, f->n_pages * sizeof(*f->pages));
	ret = take_pages(&now, f->n_pages);
	if (!ret)
		now.map = vmap(now.pages, now.n_pages, VM_MAP, PAGE_KERNEL);
	if (now.map) {
		vunmap(f->map);
		kvfree(f->pages);
		*f = now;
		return 0;
	}
	for (i = f->n_pages; i < now.n_pages && now.pages[i]; i++)
		put_page(now.pages[i]);
	kvfree(now.pages);
	return ret ?: -ENOMEM;
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
	 * A reader that sees a part of the new copy while it reads this one also sees that the
	 * counter has changed. Pairs with the reader's load barrier.
	 */
	smp_wmb();
	memcpy(copies + ((was + 1) & 1) * size, now, size);
	/* Pairs with the process's load-acquire: the copy is whole before it is current. */
	smp_store_release(changes, was + 1);
}
