// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/swiftrdma, through which a process attaches, asks for a job, and exchanges messages with
 * the processes at the other ends of its connections. It is in /proc, because an open device node
 * keeps its module loaded, while proc closes its own files when the entry goes.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <uapi/linux/fcntl.h>

#include "inbox.h"
#include "peer.h"
#include "share.h"
#include "tracker.h"

/* Longest structure of a caller. Bytes that this module does not know have to be 0. */
#define ARG_MAX_BYTES	PAGE_SIZE

/*
 * Memory that an ioctl reads or writes has to be resident: page faults are disabled. Unloading the
 * module waits for ioctls that are under way, and a caller with a file system or a userfaultfd of
 * its own could delay a fault for as long as it likes.
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

/* The device that @a names, with a reference; NULL: there is none. srdma_devs_sem. */
static struct srdma_dev *find_attach_dev(const struct swiftrdma_attach *a)
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
struct caller_fds {
	int report_fd, control_fd;
	struct file *report, *control;
};

static void fds_release(struct caller_fds *g)
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
 * Open the control file anew, read-only. The module's own struct file is writable; only the seal
 * would prevent the process from writing through it.
 */
static int fds_prepare(struct caller_fds *g, struct srdma_share *s)
{
	*g = (struct caller_fds){ .report = get_file(s->report.file), .control_fd = -1 };
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

static void fds_install(struct caller_fds *g)
{
	fd_install(g->report_fd, g->report);
	fd_install(g->control_fd, g->control);
}

/* Called before the attachment is inserted: a caller whose memory faults gets no attachment. */
static int tell_caller(const struct caller_fds *g, const struct srdma_share *s,
		       struct swiftrdma_attach *a, void __user *arg)
{
	a->slots = s->slots;
	a->report_fd = g->report_fd;
	a->control_fd = g->control_fd;
	a->report_size = srdma_share_file_size(&s->report);
	a->control_size = srdma_share_file_size(&s->control);
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

/* Takes over the caller's reference on @dev. */
static int attach_dev(struct srdma_dev *dev, struct swiftrdma_attach *a, void __user *arg)
{
	struct srdma_share *s = srdma_share_new(dev, a->slots);
	struct caller_fds g;
	int ret;

	if (IS_ERR(s)) {
		srdma_dev_put(dev);
		return PTR_ERR(s);
	}
	ret = fds_prepare(&g, s) ?: tell_caller(&g, s, a, arg);
	if (!ret) {
		down_read(&srdma_devs_sem);
		ret = srdma_dev_is_there(dev) ? srdma_share_insert(s) : -ENODEV;
		up_read(&srdma_devs_sem);
	}
	/* From its insertion on, @s may end at any time. */
	if (!ret) {
		fds_install(&g);
		return 0;
	}
	fds_release(&g);
	srdma_share_free(s);
	return ret;
}

static int attach_caller(void __user *arg)
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
	dev = find_attach_dev(&a);
	if (dev) {
		strscpy(a.dev_name, dev->name, sizeof(a.dev_name));
		a.dev_index = dev->index;
	}
	up_read(&srdma_devs_sem);
	return dev ? attach_dev(dev, &a, arg) : -ENODEV;
}

static int take_wish(const void __user *arg)
{
	struct swiftrdma_ask a;
	int ret;

	ret = read_arg(&a, sizeof(a), arg);
	if (ret)
		return ret;
	if (a.flags || a.reserved || strnlen(a.job, sizeof(a.job)) == sizeof(a.job))
		return -EINVAL;
	if (!READ_ONCE(srdma_armed))
		return -ESHUTDOWN;
	return srdma_share_ask(a.job, a.slo_p99_ns);
}

/* By index, with a reference; NULL: there is none. Takes srdma_devs_sem. */
static struct srdma_dev *hold_dev(u32 index)
{
	struct srdma_dev *dev;

	down_read(&srdma_devs_sem);
	dev = xa_load(&srdma_devs, index);
	if (dev)
		srdma_dev_get(dev);
	up_read(&srdma_devs_sem);
	return dev;
}

static int listen_caller(const void __user *arg)
{
	struct swiftrdma_listen l;
	struct srdma_dev *dev;
	int ret;

	ret = read_arg(&l, sizeof(l), arg);
	if (ret)
		return ret;
	if (l.flags)
		return -EINVAL;
	dev = hold_dev(l.dev_index);
	if (!dev)
		return -ENODEV;
	ret = srdma_inbox_listen(dev, l.event_fd);
	srdma_dev_put(dev);
	return ret;
}

static int tell_peer(const void __user *arg)
{
	struct swiftrdma_tell t;
	struct srdma_dev *dev;
	int ret;

	ret = read_arg(&t, sizeof(t), arg);
	if (ret)
		return ret;
	if (t.flags || t.reserved)
		return -EINVAL;
	if (!t.length || t.length > sizeof(t.bytes))
		return -EMSGSIZE;
	dev = hold_dev(t.dev_index);
	if (!dev)
		return -ENODEV;
	ret = srdma_peer_tell(dev, t.qpn, t.bytes, t.length);
	srdma_dev_put(dev);
	return ret;
}

static int hear_peer(void __user *arg)
{
	struct swiftrdma_hear h;
	struct srdma_dev *dev;
	int ret;

	ret = read_arg(&h, sizeof(h), arg);
	if (ret)
		return ret;
	if (h.flags || h.reserved)
		return -EINVAL;
	dev = hold_dev(h.dev_index);
	if (!dev)
		return -ENODEV;
	memset(h.bytes, 0, sizeof(h.bytes));
	ret = srdma_inbox_take(dev, &h);
	if (!ret) {
		ret = write_arg(arg, &h, sizeof(h));
		if (ret)
			srdma_inbox_give_back(dev, &h);
	}
	srdma_dev_put(dev);
	return ret;
}

static long share_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case SWIFTRDMA_IOC_ATTACH:
		return attach_caller((void __user *)arg);
	case SWIFTRDMA_IOC_ASK:
		return take_wish((void __user *)arg);
	case SWIFTRDMA_IOC_LISTEN:
		return listen_caller((void __user *)arg);
	case SWIFTRDMA_IOC_TELL:
		return tell_peer((void __user *)arg);
	case SWIFTRDMA_IOC_HEAR:
		return hear_peer((void __user *)arg);
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

static struct proc_dir_entry *proc_entry;

int __init srdma_attach_init(void)
{
	proc_entry = proc_create("swiftrdma", 0444, NULL, &share_ops);
	return proc_entry ? 0 : -ENOMEM;
}

/*
 * Waits for ioctls that are under way. They wait for nothing that a process decides, and a message
 * to a peer is given up at its next try, because the device's ports are gone.
 */
void srdma_attach_exit(void)
{
	proc_remove(proc_entry);
}
