// SPDX-License-Identifier: GPL-2.0
/*
 * The table of wishes. share.c fills it under srdma_share_lock; rules read it where a QP is
 * created, under RCU.
 */
#include <linux/hashtable.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "owner.h"
#include "wish.h"

#define WISH_BITS 8

static DEFINE_HASHTABLE(wishes, WISH_BITS);

/* RCU section, or a caller of srdma_wish_set(). */
static struct srdma_wish *find_wish(const struct pid *pid)
{
	struct srdma_wish *w;

	hash_for_each_possible_rcu_notrace(wishes, w, node, (unsigned long)pid)
		if (w->pid == pid)
			return w;
	return NULL;
}

const struct srdma_wish *srdma_wish_of(const struct srdma_owner *o)
{
	const struct srdma_wish *w = o->pid ? find_wish(o->pid) : NULL;

	return w && w->exec_id == o->exec_id ? w : NULL;
}

void srdma_wish_set(const struct pid *pid, struct srdma_wish *w)
{
	struct srdma_wish *old = find_wish(pid);

	/* Add the new wish before the old one goes, so that a reader always finds one. */
	if (w)
		hash_add_rcu(wishes, &w->node, (unsigned long)pid);
	if (!old)
		return;
	hash_del_rcu(&old->node);
	kfree_rcu(old, rcu);
}
