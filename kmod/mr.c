// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions that processes register: how many, how large, and how many translations
 * the NIC keeps for them, per process and so per job. Registering a region costs its caller
 * a small allocation and a hash insertion. The page size that the driver mapped it with
 * takes a command to find out, so it is queried when a reader asks. Figures are kept by
 * owner; each reading matches the owners against the rules to find the jobs.
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
 * @mrs: struct srdma_mr that point here; the entry goes with the last one
 * @sum: sums over these regions
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
 * @ask: in srdma_dev.mr_ask, until its mapping is queried
 * @ibmr: key only, never followed
 * @user: the process
 * @serial: never reused on this device
 * @iova: first address
 * @length: bytes; 0: paged in on demand
 * @lkey: the driver's key
 * @shift: size of the pages that it is mapped in, as a power of two; 0: not known
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

/* Add the region to its user's figures, or subtract it with @sign -1. */
static void mr_account(const struct srdma_mr *mr, int sign)
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

static struct srdma_mr *mr_find(struct srdma_dev *dev, const struct ib_mr *ibmr)
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

/* Enter the region into the hash and count it. mr_lock is held. */
static void mr_insert(struct srdma_dev *dev, struct srdma_mr *mr)
{
	hash_add(dev->mr_hash, &mr->node, (unsigned long)mr->ibmr);
	if (!mr->shift && mr->length)
		list_add_tail(&mr->ask, &dev->mr_ask);
	mr_account(mr, 1);
}

/* Undo mr_insert(). mr_lock is held. */
static void mr_take_out(struct srdma_mr *mr)
{
	hash_del(&mr->node);
	list_del_init(&mr->ask);
	mr_account(mr, -1);
}

static void user_free(struct srdma_mr_user *u)
{
	if (!u)
		return;
	srdma_owner_put(u->owner);
	kfree_rcu(u, rcu);
}

/*
 * Drop a region's reference on its user. Returns the user if it was the last one, for the
 * caller to free; else NULL.
 */
static struct srdma_mr_user *user_drop(struct srdma_mr_user *u)
{
	if (--u->mrs)
		return NULL;
	hash_del_rcu(&u->node);
	return u;
}

/*
 * Return the owner's entry. If there is none, *@fresh becomes the entry, and the function sets
 * *@fresh to NULL. Return NULL if *@fresh is NULL as well.
 */
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

static void mr_add(struct srdma_dev *dev, struct srdma_mr *mr, struct srdma_owner *owner)
{
	struct srdma_mr_user *fresh = NULL;

	do {
		spin_lock(&dev->mr_lock);
		mr->user = user_join(dev, owner, &fresh);
		if (mr->user) {
			mr->serial = ++dev->mr_serial;
			mr_insert(dev, mr);
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
	mr_add(dev, mr, owner);
	srdma_owner_put(owner);
}

/*
 * Take the region out before the driver deregisters it: after that its key and its address
 * may be another region's.
 */
struct srdma_mr *srdma_mr_leave(struct srdma_dev *dev, struct ib_mr *ibmr)
{
	struct srdma_mr *mr;

	spin_lock(&dev->mr_lock);
	mr = mr_find(dev, ibmr);
	if (mr)
		mr_take_out(mr);
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
	mr_insert(dev, mr);
	spin_unlock(&dev->mr_lock);
}

void srdma_mr_changed(struct srdma_dev *dev, struct ib_mr *ibmr, u64 iova, u64 length,
		      bool paged)
{
	struct srdma_mr *mr;

	spin_lock(&dev->mr_lock);
	mr = mr_find(dev, ibmr);
	if (mr) {
		mr_take_out(mr);
		mr->serial = ++dev->mr_serial;
		mr->lkey = ibmr->lkey;
		mr->iova = iova;
		mr->length = paged ? 0 : length;
		mr->shift = 0;
		mr_insert(dev, mr);
	}
	spin_unlock(&dev->mr_lock);
}

bool srdma_mr_where(struct srdma_dev *dev, const struct ib_mr *ibmr, u64 *iova, u64 *length)
{
	struct srdma_mr *mr;

	spin_lock(&dev->mr_lock);
	mr = mr_find(dev, ibmr);
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
		mr_take_out(mr);
		user_free(user_drop(mr->user));
		kfree(mr);
	}
	WARN_ON_ONCE(!hash_empty(dev->mr_users));
}

/* Queries */

bool srdma_mr_askable(const struct srdma_dev *dev)
{
	return srdma_dev_provider(dev)->mr_shift;
}

/*
 * A region that is still in the list after the answer was there during the whole query, so
 * the key was its own. A region whose query failed is not queried again, unless no command
 * could be sent (-EAGAIN).
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
			continue;	/* the region is gone, and its key may be another one's */
		list_del_init(&mr->ask);
		if (shift <= 0)
			continue;	/* its mapping stays unknown */
		mr_account(mr, -1);
		mr->shift = shift;
		mr_account(mr, 1);
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

/*
 * The lock is dropped between processes: a thread that registers or ends a region waits for
 * the figures of one process at most.
 */
void srdma_mr_sum(struct srdma_dev *dev, srdma_owner_match *match, const void *arg,
		  struct srdma_mr_sum *sum)
{
	struct srdma_mr_user *u;
	int i;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < HASH_SIZE(dev->mr_users); i++) {
		rcu_read_lock();
		hlist_for_each_entry_rcu(u, &dev->mr_users[i], node) {
			if (match && !match(u->owner, arg))
				continue;
			srdma_delay(SRDMA_DELAY_REGIONS);
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
