/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Kernel API differences from 6.1 on, all of them, and nothing else.
 */
#ifndef SRDMA_COMPAT_H
#define SRDMA_COMPAT_H

#include <linux/debugfs.h>
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <linux/shmem_fs.h>
#include <linux/version.h>
#include <rdma/restrack.h>
#include <net/genetlink.h>
#include <net/sock.h>

/*
 * The scheduler may preempt a thread that has read a wrapper's address and has not called the
 * wrapper yet. hook.c calls synchronize_rcu_tasks() to wait for such threads before the module's
 * code is freed. Without CONFIG_TASKS_RCU that function is synchronize_rcu(), which does not wait
 * for preempted threads.
 */
#if defined(CONFIG_PREEMPTION) && !defined(CONFIG_TASKS_RCU)
#error "a preemptible kernel without CONFIG_TASKS_RCU cannot unload this module safely"
#endif

/* 6.6 moved the parsed attributes of a dump into struct genl_info. */
static inline struct nlattr **srdma_dump_attrs(struct netlink_callback *cb)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	return genl_dumpit_info(cb)->info.attrs;
#else
	return genl_dumpit_info(cb)->attrs;
#endif
}

/*
 * 6.7 (and stable 6.1.67) let a multicast group ask for a capability. Where
 * that is missing, the bind is open and so events carry what only
 * CAP_NET_ADMIN may see: such a kernel gets no events at all.
 */
#ifdef GENL_MCAST_CAP_NET_ADMIN
#define SRDMA_HAVE_EVENTS 1
#else
#define SRDMA_HAVE_EVENTS 0
#define GENL_MCAST_CAP_NET_ADMIN 0
#endif

/* 6.10 dropped the second argument of __assign_str(). */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define srdma_assign_str(dst, src) __assign_str(dst)
#else
#define srdma_assign_str(dst, src) __assign_str(dst, src)
#endif

/* 6.14 replaced debugfs_rename(). */
static inline void srdma_debugfs_rename_dir(struct dentry *dir, const char *name)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
	debugfs_change_name(dir, "%s", name);
#else
	debugfs_rename(dir->d_parent, dir, dir->d_parent, name);
#endif
}

/*
 * Newer kernels (and stable ones, 6.1.192 among them) added the third argument: QPs of the
 * driver's own, which were always counted before. Detected by the function's type, because
 * stable kernels backported the change without a version that identifies it.
 */
typedef int srdma_count_two(struct ib_device *dev, enum rdma_restrack_type type);
typedef int srdma_count_three(struct ib_device *dev, enum rdma_restrack_type type, bool all);

static inline int srdma_restrack_count(struct ib_device *dev, enum rdma_restrack_type type)
{
	void *f = rdma_restrack_count;

	if (__builtin_types_compatible_p(typeof(rdma_restrack_count), srdma_count_two))
		return ((srdma_count_two *)f)(dev, type);
	return ((srdma_count_three *)f)(dev, type, true);
}

/* 7.0 gave the flags of a mapping a type of their own. */
static inline struct file *srdma_shmem_file(const char *name, loff_t size)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	return shmem_file_setup(name, size, EMPTY_VMA_FLAGS);
#else
	return shmem_file_setup(name, size, 0);
#endif
}

/* 6.8 dropped the count, which was always 1. */
static inline void srdma_eventfd_signal(struct eventfd_ctx *event)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
	eventfd_signal(event);
#else
	eventfd_signal(event, 1);
#endif
}

/* New names of the system's workqueues. 7.3 warns of the old ones. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define system_dfl_wq		system_unbound_wq
#define system_percpu_wq	system_wq
#endif

/* Since 6.17 the ops that register memory take a struct ib_dmah before the last parameter. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define SRDMA_DMAH_PARAM	struct ib_dmah *dmah,
#define SRDMA_DMAH_ARG		dmah,
#else
#define SRDMA_DMAH_PARAM
#define SRDMA_DMAH_ARG
#endif

/* 6.12 changed what reg_user_mr_dmabuf takes last. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#define srdma_dmabuf_data	uverbs_attr_bundle
#else
#define srdma_dmabuf_data	ib_udata
#endif

/* 6.17 made the field private to its accessor. */
static inline kuid_t srdma_sk_uid(struct sock *sk)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
	return sk_uid(sk);
#else
	return sk->sk_uid;
#endif
}

/*
 * The executable of a task, with a reference, or NULL: get_task_exe_file() is
 * not exported. 6.7 made files type-stable and changed get_file_rcu(). The
 * caller holds task_lock(), or the task is current.
 */
static inline struct file *srdma_exe_file(struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	struct file *file;

	if (!mm || (task->flags & PF_KTHREAD))
		return NULL;
	rcu_read_lock();
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	file = get_file_rcu(&mm->exe_file);
#else
	file = rcu_dereference(mm->exe_file);
	if (file && !get_file_rcu(file))
		file = NULL;
#endif
	rcu_read_unlock();
	return file;
}

#endif /* SRDMA_COMPAT_H */
