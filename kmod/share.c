// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/swiftrdma, by which a process attaches, and the two files that it gets. The files
 * are plain shared memory: an open descriptor or a mapping of them keeps memory, never this
 * module. The door is in /proc for the same reason: a device node that a process holds
 * open keeps its module loaded, while proc closes its own files when the entry goes.
 */
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/proc_fs.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <uapi/linux/fcntl.h>

#include "compat.h"
#include "job.h"
#include "knobs.h"
#include "notify.h"
#include "share.h"

/*
 * Attachments of a user, and their slots, at most. An attachment pins 20 KiB and 1.4 KiB
 * for each slot, so a user 3 GiB, which is charged to the memory cgroups of the processes. A
 * job of several hundred processes on several devices fits.
 */
static unsigned int max_attachments = 2048;
module_param(max_attachments, uint, 0644);
MODULE_PARM_DESC(max_attachments, "attachments of a user at most, each with 1024 slots on average");

#define SLOTS_EACH	1024
/* A process at its limit of memory is not measured; it is not ended for that. */
#define SHARE_GFP	(GFP_USER | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
/* Of a caller's structure; what this module does not know of it is read through. */
#define ARG_MAX_BYTES	PAGE_SIZE

/* What it protects is written in share.h. */
DEFINE_MUTEX(srdma_share_lock);
LIST_HEAD(srdma_shares);

static u64 last_id;		/* srdma_share_lock */

/* The files */

static void file_destroy(struct srdma_share_file *f)
{
	unsigned int i;

	vunmap(f->map);
	for (i = 0; f->pages && i < f->n_pages && f->pages[i]; i++)
		put_page(f->pages[i]);
	kvfree(f->pages);
	if (!IS_ERR_OR_NULL(f->file))
		fput(f->file);
}

/*
 * Shared memory of @bytes that neither shrinks nor grows, mapped here. Its pages are held
 * for as long as the attachment lasts, so they do not come from where pages must be movable.
 */
static int file_create(struct srdma_share_file *f, const char *name, u64 bytes,
		       umode_t mode, unsigned int seals)
{
	struct inode *inode;
	unsigned int i;

	f->n_pages = DIV_ROUND_UP_ULL(bytes, PAGE_SIZE);
	f->pages = kvcalloc(f->n_pages, sizeof(*f->pages), SHARE_GFP | __GFP_ACCOUNT);
	if (!f->pages)
		return -ENOMEM;
	f->file = srdma_shmem_file(name, (loff_t)f->n_pages << PAGE_SHIFT);
	if (IS_ERR(f->file))
		return PTR_ERR(f->file);
	inode = file_inode(f->file);
	inode->i_mode = S_IFREG | mode;
	SHMEM_I(inode)->seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | seals;
	mapping_set_gfp_mask(inode->i_mapping, GFP_USER);
	for (i = 0; i < f->n_pages; i++) {
		struct page *page = shmem_read_mapping_page_gfp(f->file->f_mapping, i, SHARE_GFP);

		if (IS_ERR(page))
			return PTR_ERR(page);
		set_page_dirty(page);
		f->pages[i] = page;
	}
	f->map = vmap(f->pages, f->n_pages, VM_MAP, PAGE_KERNEL);
	return f->map ? 0 : -ENOMEM;
}

/* Control */

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

void srdma_control_set_job(struct srdma_share *s)
{
	struct swiftrdma_control *c = s->control.map;
	const struct srdma_job *job = s->jd ? s->jd->job : NULL;
	struct swiftrdma_control_job now = {};

	if (job) {
		now.job_id = job->id;
		now.job_class = READ_ONCE(job->class);
		strscpy(now.name, job->name, sizeof(now.name));
	}
	now.refused = s->asked_job[0] && strcmp(s->asked_job, now.name);
	srdma_latch(&c->changes, c->job, &now, sizeof(now));
}

static void control_open(struct srdma_share *s)
{
	struct swiftrdma_control *c = s->control.map;
	struct swiftrdma_block *job;

	c->version = SWIFTRDMA_SHARE_VERSION;
	c->header_size = sizeof(*c);
	c->job_off = SWIFTRDMA_SHARE_UP(sizeof(*c));
	c->blocks_off = c->job_off + sizeof(struct swiftrdma_block);
	c->block_size = sizeof(struct swiftrdma_block);
	c->blocks = s->slots;
	c->state = SWIFTRDMA_CONTROL_LIVE;
	job = (void *)c + c->job_off;
	job->generation = 1;
	/* Pairs with the process's load-acquire: the header is whole before it is valid. */
	smp_store_release(&c->magic, SWIFTRDMA_CONTROL_MAGIC);
}

/* Attachments */

static void share_free(struct srdma_share *s)
{
	file_destroy(&s->report);
	file_destroy(&s->control);
	srdma_owner_put(s->owner);
	put_pid(s->pid);
	srdma_dev_put(s->dev);
	kvfree(s);
}

/* The process keeps its mappings; the module neither reads nor writes them any more. */
static void share_end(struct srdma_share *s)
{
	struct swiftrdma_control *c = s->control.map;

	lockdep_assert_held(&srdma_share_lock);
	srdma_report_collect(s);
	WRITE_ONCE(c->state, SWIFTRDMA_CONTROL_ENDED);
	srdma_report_detach(s);
	list_del(&s->node);
	share_free(s);
}

static struct srdma_share *share_find(struct srdma_dev *dev, struct pid *pid)
{
	struct srdma_share *s;

	list_for_each_entry(s, &srdma_shares, node)
		if (s->dev == dev && s->pid == pid)
			return s;
	return NULL;
}

static bool has_context(struct srdma_dev *dev, struct pid *pid)
{
	struct srdma_uar *u;
	unsigned long index;
	bool found = false;

	rcu_read_lock();
	xa_for_each(&dev->uars, index, u) {
		if (u->kind == SWIFTRDMA_UAR_KIND_CONTEXT && u->owner->pid == pid) {
			found = true;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

/* The process may have no other context. */
static void context_closed(struct srdma_dev *dev, struct srdma_owner *owner)
{
	struct srdma_share *s;

	mutex_lock(&srdma_share_lock);
	s = share_find(dev, owner->pid);
	if (s && !has_context(dev, owner->pid))
		share_end(s);
	mutex_unlock(&srdma_share_lock);
}

/* All its attachments end. */
static void dev_removed(struct srdma_dev *dev)
{
	struct srdma_share *s, *next;

	mutex_lock(&srdma_share_lock);
	list_for_each_entry_safe(s, next, &srdma_shares, node)
		if (s->dev == dev)
			share_end(s);
	mutex_unlock(&srdma_share_lock);
}

/*
 * A context outlives the process that opened it where a child has inherited it. A zombie's
 * pid is still attached: its attachment ends when its parent has waited for it.
 */
static bool is_process_gone(const struct srdma_share *s)
{
	bool gone;

	rcu_read_lock();
	gone = !pid_task(s->pid, PIDTYPE_TGID);
	rcu_read_unlock();
	return gone;
}

void srdma_shares_end_gone(void)
{
	struct srdma_share *s, *next;

	list_for_each_entry_safe(s, next, &srdma_shares, node)
		if (is_process_gone(s))
			share_end(s);
}

void srdma_shares_collect(const struct srdma_dev *dev,
			  bool (*wants)(const struct srdma_owner *owner, const void *arg),
			  const void *arg)
{
	struct srdma_share *s, *next;

	mutex_lock(&srdma_share_lock);
	list_for_each_entry_safe(s, next, &srdma_shares, node) {
		if ((dev && s->dev != dev) || (wants && !wants(s->owner, arg)))
			continue;
		if (is_process_gone(s))
			share_end(s);
		else
			srdma_report_collect(s);
		cond_resched();
	}
	mutex_unlock(&srdma_share_lock);
}

static void jobs_assigned(void)
{
	struct srdma_share *s;

	mutex_lock(&srdma_share_lock);
	list_for_each_entry(s, &srdma_shares, node)
		srdma_report_assign(s);
	mutex_unlock(&srdma_share_lock);
}

/* May the owner of @new have one more? */
static bool fits_limits(const struct srdma_share *new)
{
	u64 shares = 1, slots = new->slots, limit;
	const struct srdma_share *s;

	list_for_each_entry(s, &srdma_shares, node) {
		if (!uid_eq(s->owner->uid, new->owner->uid))
			continue;
		shares++;
		slots += s->slots;
	}
	limit = READ_ONCE(max_attachments);
	return shares <= limit && slots <= limit * SLOTS_EACH;
}

/* With a reference on @dev, which the share takes over on success. */
static struct srdma_share *share_create(struct srdma_dev *dev, u32 slots)
{
	struct srdma_share *s;
	int ret = -ENOMEM;

	s = kvzalloc(struct_size(s, slot, slots), SHARE_GFP | __GFP_ACCOUNT);
	if (!s)
		return ERR_PTR(-ENOMEM);
	s->slots = slots;
	s->attached = ktime_get_ns();
	s->collected = s->attached;
	s->owner = srdma_owner_current();
	if (!s->owner)
		goto err_share;
	ret = file_create(&s->report, "swiftrdma-report", swiftrdma_report_bytes(slots),
			  0600, 0);
	if (!ret)
		ret = file_create(&s->control, "swiftrdma-control",
				  swiftrdma_control_bytes(slots), 0444, F_SEAL_FUTURE_WRITE);
	if (ret)
		goto err_files;
	/* The seal is what counts; this also refuses another mode, and opening for writing. */
	file_inode(s->control.file)->i_flags |= S_IMMUTABLE;
	s->dev = dev;
	s->pid = get_pid(task_tgid(current));
	control_open(s);
	return s;

err_files:
	file_destroy(&s->report);
	file_destroy(&s->control);
	srdma_owner_put(s->owner);
err_share:
	kvfree(s);
	return ERR_PTR(ret);
}

/* Into the list, instead of the process's earlier one. The device is in srdma_devs. */
static int share_insert(struct srdma_share *s)
{
	struct srdma_share *old;
	int ret = 0;

	mutex_lock(&srdma_share_lock);
	old = share_find(s->dev, s->pid);
	if (old)
		share_end(old);
	srdma_shares_end_gone();
	if (!has_context(s->dev, s->pid)) {
		ret = -ENXIO;	/* the process has not opened the device */
	} else if (!fits_limits(s)) {
		ret = -EDQUOT;
	} else {
		s->id = ++last_id;
		list_add_tail(&s->node, &srdma_shares);
		srdma_report_collect(s);
	}
	mutex_unlock(&srdma_share_lock);
	return ret;
}

/* The door */

/*
 * What an ioctl reads and writes has to be in memory. The end of the module waits for
 * ioctls that are under way, and the fault on a page of a file system or of a userfaultfd of
 * the caller's lasts for as long as the caller likes.
 */
static int read_arg(void *to, size_t to_size, const void __user *from)
{
	u32 size;
	int ret;

	pagefault_disable();
	ret = get_user(size, (u32 __user *)from);	/* the first member of each */
	if (!ret && size < to_size)
		ret = -EINVAL;
	else if (!ret && size > ARG_MAX_BYTES)
		ret = -E2BIG;
	else if (!ret)
		ret = copy_struct_from_user(to, to_size, from, size);
	pagefault_enable();
	return ret;
}

static int write_arg(void __user *to, const void *from, size_t size)
{
	unsigned long left;

	pagefault_disable();
	left = copy_to_user(to, from, size);
	pagefault_enable();
	return left ? -EFAULT : 0;
}

/* By name or index, with a reference. srdma_devs_sem. */
static struct srdma_dev *find_dev(const struct swiftrdma_attach *a)
{
	struct srdma_dev *dev;
	unsigned long index;

	xa_for_each(&srdma_devs, index, dev) {
		if (a->dev_name[0] ? strcmp(dev->name, a->dev_name) : dev->index != a->dev_index)
			continue;
		if (!rdma_dev_access_netns(dev->ibdev, current->nsproxy->net_ns))
			break;
		srdma_dev_get(dev);
		return dev;
	}
	return NULL;
}

/* Descriptors and files that a caller is about to get. */
struct gift {
	int report_fd, control_fd;
	struct file *report, *control;
};

static void gift_take_back(struct gift *g)
{
	if (!IS_ERR_OR_NULL(g->control))
		fput(g->control);
	if (g->report)
		fput(g->report);
	if (g->control_fd >= 0)
		put_unused_fd(g->control_fd);
	if (g->report_fd >= 0)
		put_unused_fd(g->report_fd);
}

/*
 * Control is opened anew, for reading: the descriptor that the module has could be written
 * to, but for the seal.
 */
static int gift_prepare(struct gift *g, struct srdma_share *s)
{
	*g = (struct gift){ .report = get_file(s->report.file), .control_fd = -1 };
	g->report_fd = get_unused_fd_flags(O_CLOEXEC);
	if (g->report_fd < 0)
		return g->report_fd;
	g->control_fd = get_unused_fd_flags(O_CLOEXEC);
	if (g->control_fd < 0)
		return g->control_fd;
	g->control = dentry_open(&s->control.file->f_path, O_RDONLY | O_LARGEFILE,
				 current_cred());
	return PTR_ERR_OR_ZERO(g->control);
}

static void gift_give(struct gift *g)
{
	fd_install(g->report_fd, g->report);
	fd_install(g->control_fd, g->control);
}

/* Before the attachment exists: a caller that cannot be told gets nothing. */
static int tell_caller(const struct gift *g, const struct srdma_share *s,
		       struct swiftrdma_attach *a, void __user *arg)
{
	a->report_fd = g->report_fd;
	a->control_fd = g->control_fd;
	a->report_size = (u64)s->report.n_pages << PAGE_SHIFT;
	a->control_size = (u64)s->control.n_pages << PAGE_SHIFT;
	return write_arg(arg, a, sizeof(*a));
}

static int check_attach(const struct swiftrdma_attach *a)
{
	if (a->flags || a->reserved || a->version != SWIFTRDMA_SHARE_VERSION || !a->slots ||
	    a->slots > SWIFTRDMA_SLOTS_MAX ||
	    strnlen(a->dev_name, sizeof(a->dev_name)) == sizeof(a->dev_name))
		return -EINVAL;
	return 0;
}

/* The caller's reference on @dev is the share's, or put. */
static int attach_dev(struct srdma_dev *dev, struct swiftrdma_attach *a, void __user *arg)
{
	struct srdma_share *s = share_create(dev, a->slots);
	struct gift g;
	int ret;

	if (IS_ERR(s)) {
		srdma_dev_put(dev);
		return PTR_ERR(s);
	}
	ret = gift_prepare(&g, s) ?: tell_caller(&g, s, a, arg);
	if (!ret) {
		down_read(&srdma_devs_sem);
		ret = srdma_dev_is_there(dev) ? share_insert(s) : -ENODEV;
		up_read(&srdma_devs_sem);
	}
	/* From its insertion on, @s may end at any time. */
	if (!ret) {
		gift_give(&g);
		return 0;
	}
	gift_take_back(&g);
	share_free(s);
	return ret;
}

static int attach(void __user *arg)
{
	struct swiftrdma_attach a;
	struct srdma_dev *dev;
	int ret;

	ret = read_arg(&a, sizeof(a), arg) ?: check_attach(&a);
	if (ret)
		return ret;
	if (!READ_ONCE(srdma_armed))
		return -ESHUTDOWN;
	down_read(&srdma_devs_sem);
	dev = find_dev(&a);
	if (dev) {
		strscpy(a.dev_name, dev->name, sizeof(a.dev_name));
		a.dev_index = dev->index;
	}
	up_read(&srdma_devs_sem);
	return dev ? attach_dev(dev, &a, arg) : -ENODEV;
}

/* A wish is for every device that the process is attached to. */
static int set_wish(const void __user *arg)
{
	struct swiftrdma_ask wish;
	struct srdma_share *s;
	int ret;

	ret = read_arg(&wish, sizeof(wish), arg);
	if (ret)
		return ret;
	if (wish.flags || wish.reserved ||
	    strnlen(wish.job, sizeof(wish.job)) == sizeof(wish.job))
		return -EINVAL;
	ret = -ENOENT;
	mutex_lock(&srdma_share_lock);
	list_for_each_entry(s, &srdma_shares, node) {
		if (s->pid != task_tgid(current))
			continue;
		strscpy(s->asked_job, wish.job, sizeof(s->asked_job));
		s->asked_slo = wish.slo_p99_ns;
		srdma_control_set_job(s);
		ret = 0;
	}
	mutex_unlock(&srdma_share_lock);
	return ret;
}

static long share_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case SWIFTRDMA_IOC_ATTACH:
		return attach((void __user *)arg);
	case SWIFTRDMA_IOC_ASK:
		return set_wish((void __user *)arg);
	default:
		return -ENOTTY;
	}
}

#ifdef CONFIG_COMPAT
static long share_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return share_ioctl(file, cmd, (unsigned long)compat_ptr(arg));
}
#endif

static const struct proc_ops share_ops = {
	.proc_ioctl = share_ioctl,
#ifdef CONFIG_COMPAT
	.proc_compat_ioctl = share_compat_ioctl,
#endif
};

static const struct srdma_notifier notifier = {
	.context_closed = context_closed,
	.dev_removed = dev_removed,
	.jobs_assigned = jobs_assigned,
};

static struct proc_dir_entry *door;

int __init srdma_share_init(void)
{
	door = proc_create("swiftrdma", 0444, NULL, &share_ops);
	if (!door)
		return -ENOMEM;
	srdma_notify_register(&notifier);
	return 0;
}

/*
 * No device is left, so no attachment. Waits for ioctls that are under way, which wait for
 * nothing that a process decides.
 */
void srdma_share_exit(void)
{
	proc_remove(door);
	WARN_ON(!list_empty(&srdma_shares));
	srdma_knobs_exit();
}
