// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions that processes register: how many, how large, and how many
 * translations the NIC has to keep for them, per process and so per job.
 *
 * Who registers one pays for a small allocation and an insertion into a hash; how the
 * driver has mapped it, which takes a command to find out, is asked when
 * somebody reads. Figures are kept by owner: whose job that is, is asked of the rules
 * at each reading.
 */
#include <linux/hash.h>
#include <linux/list.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "debug.h"
#include "job.h"
#include "mr.h"
#include "owner.h"

/**
 * struct srdma_mr_user - a process that has memory regions on a device
 * @node: in srdma_dev.mr_users; readers: RCU
 * @rcu: frees it
 * @owner: with a reference
 * @mrs: struct srdma_mr that point to it; with the last one it goes
 * @sum: what it has
 *
 * All of it, and of struct srdma_mr, under srdma_dev.mr_lock.
 */
struct srdma_mr_user {
	struct hlist_node node;
	struct rcu_head rcu;
	struct srdma_owner *owner;
	u32 mrs;
	struct srdma_mr_sum sum;
};

/**
 * struct srdma_mr - a memory region
 * @node: in srdma_dev.mr_hash
 * @ask: in srdma_dev.mr_ask, while it is to be asked for
 * @ibmr: key only, never followed
 * @user: whose
 * @serial: never reused on this device
 * @iova: first address
 * @length: bytes; 0: paged in on demand
 * @lkey: of the driver's
 * @shift: of the pages that it is mapped in; 0: not known
 */
struct srdma_mr {
	struct hlist_node node;
	struct list_head ask;
	const struct ib_mr *ibmr;
	struct srdma_mr_user *user;
	u64 serial, iova, length;
	u32 lkey;
	u8 shift;
};

void srdma_mr_init(struct srdma_dev *dev)
{
	hash_init(dev->mr_hash);
	spin_lock_init(&dev->mr_lock);
	hash_init(dev->mr_users);
	INIT_LIST_HEAD(&dev->mr_ask);
}

static u64 mtts_of(const struct srdma_mr *mr)
{
	u64 first = mr->iova >> mr->shift, last = (mr->iova + mr->length - 1) >> mr->shift;

	return mr->length ? last - first + 1 : 0;
}

/* Add it to the figures of its user, or with @sign -1 take it off. */
static void account(const struct srdma_mr *mr, int sign)
{
	struct srdma_mr_sum *sum = &mr->user->sum;
	u32 i;

	sum->n += sign;
	sum->bytes += sign * mr->length;
	if (!mr->shift) {
		sum->unasked += sign;
		return;
	}
	sum->mtts += sign * mtts_of(mr);
	i = clamp_t(u32, mr->shift, SRDMA_MR_SHIFT_MIN,
		    SRDMA_MR_SHIFT_MIN + SRDMA_MR_SHIFTS - 1) - SRDMA_MR_SHIFT_MIN;
	sum->shifts[i] += sign;
}

static struct srdma_mr *find(struct srdma_dev *dev, const struct ib_mr *ibmr)
{
	struct srdma_mr *mr;

	lockdep_assert_held(&dev->mr_lock);
	hash_for_each_possible(dev->mr_hash, mr, node, (unsigned long)ibmr)
		if (mr->ibmr == ibmr)
			return mr;
	return NULL;
}

static struct srdma_mr_user *user_find(struct srdma_dev *dev, const struct srdma_owner *owner)
{
	struct srdma_mr_user *u;

	lockdep_assert_held(&dev->mr_lock);
	hash_for_each_possible(dev->mr_users, u, node, (unsigned long)owner)
		if (u->owner == owner)
			return u;
	return NULL;
}

/* To be found and counted. The lock is held. */
static void insert(struct srdma_dev *dev, struct srdma_mr *mr)
{
	hash_add(dev->mr_hash, &mr->node, (unsigned long)mr->ibmr);
	if (!mr->shift && mr->length)
		list_add_tail(&mr->ask, &dev->mr_ask);
	account(mr, 1);
}

/* And no more. */
static void take_out(struct srdma_mr *mr)
{
	hash_del(&mr->node);
	list_del_init(&mr->ask);
	account(mr, -1);
}

static void user_free(struct srdma_mr_user *u)
{
	if (!u)
		return;
	srdma_owner_put(u->owner);
	kfree_rcu(u, rcu);
}

/* One less that points to its user, who is to be freed by the caller, or NULL. */
static struct srdma_mr_user *user_drop(struct srdma_mr_user *u)
{
	if (--u->mrs)
		return NULL;
	hash_del_rcu(&u->node);
	return u;
}

/* @fresh is given over where there is no such user yet. */
static struct srdma_mr_user *user_join(struct srdma_dev *dev, struct srdma_owner *owner,
				       struct srdma_mr_user **fresh)
{
	struct srdma_mr_user *u = user_find(dev, owner);

	if (!u && *fresh) {
		swap(u, *fresh);
		u->owner = owner;
		srdma_owner_get(owner);
		hash_add_rcu(dev->mr_users, &u->node, (unsigned long)owner);
	}
	if (u)
		u->mrs++;
	return u;
}

static void add(struct srdma_dev *dev, struct srdma_mr *mr, struct srdma_owner *owner)
{
	struct srdma_mr_user *fresh = NULL;

	do {
		spin_lock(&dev->mr_lock);
		mr->user = user_join(dev, owner, &fresh);
		if (mr->user) {
			mr->serial = ++dev->mr_serial;
			insert(dev, mr);
		}
		spin_unlock(&dev->mr_lock);
		if (!mr->user)
			fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	} while (!mr->user && fresh);
	kfree(fresh);
	if (!mr->user)
		kfree(mr);
}

void srdma_mr_added(struct srdma_dev *dev, struct ib_mr *ibmr, u64 iova, u64 length, bool paged)
{
	struct srdma_owner *owner;
	struct srdma_mr *mr;

	mr = srdma_fail() ? NULL : kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return;
	owner = srdma_owner_current();
	if (!owner) {
		kfree(mr);
		return;
	}
	INIT_LIST_HEAD(&mr->ask);
	mr->ibmr = ibmr;
	mr->lkey = ibmr->lkey;
	mr->iova = iova;
	mr->length = paged ? 0 : length;
	add(dev, mr, owner);
	srdma_owner_put(owner);
}

/*
 * Out before the driver ends it: from then on its key, and its place in memory, may
 * be another one's.
 */
struct srdma_mr *srdma_mr_leave(struct srdma_dev *dev, struct ib_mr *ibmr)
{
	struct srdma_mr *mr;

	spin_lock(&dev->mr_lock);
	mr = find(dev, ibmr);
	if (mr)
		take_out(mr);
	spin_unlock(&dev->mr_lock);
	return mr;
}

void srdma_mr_gone(struct srdma_dev *dev, struct srdma_mr *mr)
{
	struct srdma_mr_user *idle;

	spin_lock(&dev->mr_lock);
	idle = user_drop(mr->user);
	spin_unlock(&dev->mr_lock);
	user_free(idle);
	kfree(mr);
}

void srdma_mr_stay(struct srdma_dev *dev, struct srdma_mr *mr)
{
	spin_lock(&dev->mr_lock);
	insert(dev, mr);
	spin_unlock(&dev->mr_lock);
}

void srdma_mr_changed(struct srdma_dev *dev, struct ib_mr *ibmr, u64 iova, u64 length,
		      bool paged)
{
	struct srdma_mr *mr;

	spin_lock(&dev->mr_lock);
	mr = find(dev, ibmr);
	if (mr) {
		take_out(mr);
		mr->serial = ++dev->mr_serial;
		mr->lkey = ibmr->lkey;
		mr->iova = iova;
		mr->length = paged ? 0 : length;
		mr->shift = 0;
		insert(dev, mr);
	}
	spin_unlock(&dev->mr_lock);
}

bool srdma_mr_where(struct srdma_dev *dev, const struct ib_mr *ibmr, u64 *iova, u64 *length)
{
	struct srdma_mr *mr;

	spin_lock(&dev->mr_lock);
	mr = find(dev, ibmr);
	if (mr) {
		*iova = mr->iova;
		*length = mr->length;
	}
	spin_unlock(&dev->mr_lock);
	return mr;
}

void srdma_mr_drop_all(struct srdma_dev *dev)
{
	struct hlist_node *next;
	struct srdma_mr *mr;
	int i;

	hash_for_each_safe(dev->mr_hash, i, next, mr, node) {
		take_out(mr);
		user_free(user_drop(mr->user));
		kfree(mr);
	}
	WARN_ON_ONCE(!hash_empty(dev->mr_users));
}

/* Asking */

bool srdma_mr_askable(const struct srdma_dev *dev)
{
	return srdma_dev_provider(dev)->mr_shift;
}

/*
 * What is in the table when the answer has come was there all the time, so the key
 * was its own. Who is asked in vain is not asked again, unless it was too early for a
 * command.
 */
void srdma_mr_ask(struct srdma_dev *dev, const struct srdma_provider_ops *ops)
{
	u64 serial, last;
	struct srdma_mr *mr;
	u32 lkey;
	int shift;

	if (!ops->mr_shift)
		return;
	spin_lock(&dev->mr_lock);
	last = dev->mr_serial;
	while ((mr = list_first_entry_or_null(&dev->mr_ask, struct srdma_mr, ask)) &&
	       mr->serial <= last) {
		serial = mr->serial;
		lkey = mr->lkey;
		spin_unlock(&dev->mr_lock);
		shift = ops->mr_shift(dev, lkey);
		if (shift == -EAGAIN)
			return;
		spin_lock(&dev->mr_lock);
		mr = list_first_entry_or_null(&dev->mr_ask, struct srdma_mr, ask);
		if (!mr || mr->serial != serial)
			continue;	/* it went, and its key may be another one's */
		list_del_init(&mr->ask);
		if (shift <= 0)
			continue;	/* it will not be known */
		account(mr, -1);
		mr->shift = shift;
		account(mr, 1);
	}
	spin_unlock(&dev->mr_lock);
}

/* Reading */

static void sum_add(struct srdma_mr_sum *to, const struct srdma_mr_sum *from)
{
	int i;

	to->n += from->n;
	to->unasked += from->unasked;
	to->bytes += from->bytes;
	to->mtts += from->mtts;
	for (i = 0; i < SRDMA_MR_SHIFTS; i++)
		to->shifts[i] += from->shifts[i];
}

/* Who registers or ends a region waits for one process's figures at most. */
void srdma_mr_sum(struct srdma_dev *dev, struct srdma_job_dev *jd, struct srdma_mr_sum *sum)
{
	struct srdma_mr_user *u;
	int i;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < HASH_SIZE(dev->mr_users); i++) {
		rcu_read_lock();
		hlist_for_each_entry_rcu(u, &dev->mr_users[i], node) {
			if (jd && !srdma_job_has(jd, u->owner))
				continue;
			srdma_delay(SRDMA_DELAY_VISIT);
			spin_lock(&dev->mr_lock);
			sum_add(sum, &u->sum);
			spin_unlock(&dev->mr_lock);
		}
		rcu_read_unlock();
		cond_resched();
	}
}

bool srdma_mr_pages(const struct srdma_mr_sum *sum, u64 *smallest, u64 *largest)
{
	int i;

	*smallest = *largest = 0;
	for (i = 0; i < SRDMA_MR_SHIFTS; i++) {
		if (!sum->shifts[i])
			continue;
		*largest = 1ULL << (i + SRDMA_MR_SHIFT_MIN);
		if (!*smallest)
			*smallest = *largest;
	}
	return *largest;
}
