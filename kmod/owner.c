// SPDX-License-Identifier: GPL-2.0
/*
 * Owners: the processes and kernel users that create QPs. Thousands of QPs of one process
 * share one owner, so that a QP's own memory stays small and rules are matched once per
 * process.
 */
#include <linux/cgroup.h>
#include <linux/cred.h>
#include <linux/dcache.h>
#include <linux/hashtable.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "compat.h"
#include "owner.h"

#define OWNER_BITS 8

/*
 * The table. Its lock makes lookup and the last put exclude each other; a leaf, process
 * context only.
 */
static DEFINE_HASHTABLE(owners, OWNER_BITS);
static DEFINE_SPINLOCK(owners_lock);
static u32 n_owners;

/* The identity by which an owner is found again. */
struct owner_key {
	struct pid *pid;	/* NULL: a kernel user, by name */
	const char *name;
	u64 exec_id;
	u64 cgroup_id;
	kuid_t uid;
	const char *comm;
};

static unsigned long owner_hash(const struct owner_key *key)
{
	return key->pid ? (unsigned long)key->pid : full_name_hash(NULL, key->name,
								   strlen(key->name));
}

static bool owner_is(const struct srdma_owner *o, const struct owner_key *key)
{
	if (o->pid != key->pid)
		return false;
	if (!key->pid)
		return !strcmp(o->exe, key->name);
	/* Both names are padded with zeroes, so this is two words and no loop. */
	return o->exec_id == key->exec_id && o->cgroup_id == key->cgroup_id &&
	       uid_eq(o->uid, key->uid) && !memcmp(o->comm, key->comm, TASK_COMM_LEN);
}

static struct srdma_owner *find_locked(const struct owner_key *key, unsigned long hash)
{
	struct srdma_owner *o;

	lockdep_assert_held(&owners_lock);
	hash_for_each_possible(owners, o, node, hash) {
		if (owner_is(o, key)) {
			srdma_owner_get(o);
			return o;
		}
	}
	return NULL;
}

static struct srdma_owner *owner_find(const struct owner_key *key, unsigned long hash)
{
	struct srdma_owner *o;

	spin_lock(&owners_lock);
	o = find_locked(key, hash);
	spin_unlock(&owners_lock);
	return o;
}

/*
 * Enter @o into the table, unless another thread has entered an equal one, and return the
 * one in the table.
 */
static struct srdma_owner *owner_insert(struct srdma_owner *o,
					const struct owner_key *key, unsigned long hash)
{
	struct srdma_owner *old;

	spin_lock(&owners_lock);
	old = find_locked(key, hash);
	if (!old) {
		hash_add(owners, &o->node, hash);
		n_owners++;
	}
	spin_unlock(&owners_lock);
	if (!old)
		return o;
	put_pid(o->pid);
	kfree(o);
	return old;
}

static struct srdma_owner *owner_alloc(size_t path_len)
{
	struct srdma_owner *o = kzalloc(struct_size(o, cgroup, path_len + 1),
					GFP_KERNEL_ACCOUNT);

	if (!o)
		return NULL;
	kref_init(&o->ref);
	spin_lock_init(&o->lock);
	/* Generations begin at 1, so the first match searches the rules. */
	o->rules_gen = 0;
	return o;
}

/*
 * The executable, from any thread of the process: the thread that made the QP, and even the
 * leader, may have exited.
 */
static struct file *exe_file(struct pid *pid)
{
	struct task_struct *leader, *t;
	struct file *file = NULL;

	rcu_read_lock();
	leader = pid_task(pid, PIDTYPE_TGID);
	if (leader) {
		for_each_thread(leader, t) {
			task_lock(t);
			file = srdma_exe_file(t);
			task_unlock(t);
			if (file)
				break;
		}
	}
	rcu_read_unlock();
	return file;
}

/* The basename only: a path has a meaning only in its mount namespace. */
static void exe_name(struct task_struct *task, struct pid *pid, char *buf, size_t len)
{
	struct name_snapshot name;
	struct file *file = task == current ? srdma_exe_file(task) : exe_file(pid);

	if (!file)
		return;
	take_dentry_name_snapshot(&name, file->f_path.dentry);
	strscpy(buf, name.name.name, len);
	release_dentry_name_snapshot(&name);
	fput(file);
}

/* A path that does not fit is cut: rules match what they can see of it. */
static size_t cgroup_path_of(struct task_struct *task, char *buf, size_t len)
{
	int ret = -ENOENT;

#ifdef CONFIG_CGROUPS
	rcu_read_lock();
	ret = cgroup_path(task_dfl_cgroup(task), buf, len);
	rcu_read_unlock();
#endif
	if (ret < 0)
		buf[0] = '\0';
	return strlen(buf);
}

static u64 cgroup_id_of(struct task_struct *task)
{
#ifdef CONFIG_CGROUPS
	return cgroup_id(task_dfl_cgroup(task));
#else
	return 0;
#endif
}

/*
 * Does the key of @current match @o? @o has a reference on its pid, so the struct pid
 * cannot be another process's.
 */
bool srdma_owner_is_current(const struct srdma_owner *o)
{
	bool same;

	if (o->pid != task_tgid(current) || o->exec_id != current->self_exec_id ||
	    !uid_eq(o->uid, current_real_cred()->euid))
		return false;
	rcu_read_lock();	/* the cgroup, and a leader that an exec replaces */
	same = o->cgroup_id == cgroup_id_of(current) &&
	       !memcmp(o->comm, READ_ONCE(current->group_leader)->comm, TASK_COMM_LEN);
	rcu_read_unlock();
	return same;
}

struct srdma_owner *srdma_owner_task(struct task_struct *task)
{
	struct task_struct *leader;
	struct owner_key key = {};
	char comm[TASK_COMM_LEN];
	struct srdma_owner *o;
	unsigned long hash;
	char *path;
	size_t len;

	rcu_read_lock();
	key.pid = task_tgid(task);
	/* Not by task->group_leader, which is not kept valid for a thread that has exited. */
	leader = key.pid ? pid_task(key.pid, PIDTYPE_TGID) : NULL;
	if (!leader) {
		rcu_read_unlock();
		return NULL;
	}
	key.uid = task_cred_xxx(task, euid);
	/*
	 * Read without the task's lock: a read during a change of the name makes one more
	 * owner.
	 */
	key.comm = leader->comm;
	key.cgroup_id = cgroup_id_of(task);
	key.exec_id = task->self_exec_id;
	hash = owner_hash(&key);
	o = owner_find(&key, hash);
	if (!o) {
		get_pid(key.pid);
		memcpy(comm, key.comm, sizeof(comm));	/* the leader may go */
		comm[sizeof(comm) - 1] = '\0';
		key.comm = comm;
	}
	rcu_read_unlock();
	if (o)
		return o;

	path = kmalloc(SWIFTRDMA_PATH_LEN, GFP_KERNEL);
	if (!path)
		goto err_pid;
	len = cgroup_path_of(task, path, SWIFTRDMA_PATH_LEN);
	o = owner_alloc(len);
	if (!o)
		goto err_path;
	memcpy(o->cgroup, path, len + 1);
	kfree(path);
	o->pid = key.pid;
	o->uid = key.uid;
	o->exec_id = key.exec_id;
	o->cgroup_id = key.cgroup_id;
	memcpy(o->comm, comm, sizeof(o->comm));
	exe_name(task, key.pid, o->exe, sizeof(o->exe));
	return owner_insert(o, &key, hash);

err_path:
	kfree(path);
err_pid:
	put_pid(key.pid);
	return NULL;
}

struct srdma_owner *srdma_owner_kernel(const char *name)
{
	char cut[SWIFTRDMA_EXE_LEN];
	struct owner_key key = { .name = cut };
	struct srdma_owner *o;
	unsigned long hash;

	strscpy(cut, name ?: "kernel", sizeof(cut));
	hash = owner_hash(&key);
	o = owner_find(&key, hash);
	if (o)
		return o;

	o = owner_alloc(0);
	if (!o)
		return NULL;
	o->uid = GLOBAL_ROOT_UID;
	strscpy(o->exe, cut, sizeof(o->exe));
	strscpy(o->comm, cut, sizeof(o->comm));
	return owner_insert(o, &key, hash);
}

static void owner_free(struct rcu_head *rcu)
{
	struct srdma_owner *o = container_of(rcu, struct srdma_owner, rcu);

	/* Put the pid here and not earlier: an RCU reader of a QP may be translating it. */
	put_pid(o->pid);
	kfree(o);
}

static void owner_release(struct kref *ref) __releases(&owners_lock)
{
	struct srdma_owner *o = container_of(ref, struct srdma_owner, ref);

	hash_del(&o->node);
	n_owners--;
	spin_unlock(&owners_lock);
	call_rcu(&o->rcu, owner_free);
}

void srdma_owner_put(struct srdma_owner *o)
{
	if (o)
		kref_put_lock(&o->ref, owner_release, &owners_lock);
}

void srdma_owners_asked(struct pid *pid)
{
	struct owner_key key = { .pid = pid };
	struct srdma_owner *o;

	/* An owner that is entered later is matched after this, and so by the new wish. */
	spin_lock(&owners_lock);
	hash_for_each_possible(owners, o, node, owner_hash(&key))
		if (o->pid == pid)
			/* After the wish: pairs with srdma_rules_gen_of(). */
			smp_store_release(&o->wishes, o->wishes + 1);
	spin_unlock(&owners_lock);
}

u32 srdma_owner_count(void)
{
	return READ_ONCE(n_owners);
}
