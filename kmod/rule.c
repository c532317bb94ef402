// SPDX-License-Identifier: GPL-2.0
/*
 * The rules, in the order in which they are tried, and the match of an owner, which is
 * cached in the owner until the rules change.
 */
#include <linux/glob.h>
#include <linux/pid.h>
#include <linux/slab.h>

#include "debug.h"
#include "rule.h"
#include "wish.h"

static LIST_HEAD(rules);	/* srdma_rule.node; see there */
static u32 last_id;		/* srdma_ctl_lock */
u32 srdma_rules_gen = 1;

static void rule_free_rcu(struct rcu_head *rcu)
{
	struct srdma_rule *r = container_of(rcu, struct srdma_rule, rcu);

	srdma_job_put(r->job);
	kfree(r->cgroup);
	kfree(r);
}

void srdma_rule_free(struct srdma_rule *r)
{
	rule_free_rcu(&r->rcu);
}

/* Matching */

static bool rule_matches(const struct srdma_rule *r, const struct srdma_owner *o,
			 const struct srdma_wish *wish)
{
	if (r->asked && (!wish || strcmp(r->job->name, wish->job)))
		return false;
	if (r->comm[0] && strncmp(r->comm, o->comm, sizeof(o->comm)))
		return false;
	if (r->exe[0] && strcmp(r->exe, o->exe))
		return false;
	if (r->has_uid && (srdma_owner_is_kernel(o) || !uid_eq(r->uid, o->uid)))
		return false;
	if (r->has_pid && (srdma_owner_is_kernel(o) || r->pid != pid_nr(o->pid)))
		return false;
	if (r->cgroup && (srdma_owner_is_kernel(o) || !glob_match(r->cgroup, o->cgroup)))
		return false;
	return true;
}

struct srdma_rule *srdma_rule_search(struct srdma_owner *o, u32 gen)
{
	struct srdma_rule *r, *found = NULL;
	const struct srdma_wish *wish;

	spin_lock(&o->lock);
	/* Read under the lock: a rule that is stored later was found by a wish that is no older. */
	wish = srdma_wish_of(o);
	list_for_each_entry_rcu(r, &rules, node) {
		if (rule_matches(r, o, wish)) {
			found = r;
			break;
		}
	}
	rcu_assign_pointer(o->rule, found);
	smp_store_release(&o->rules_gen, gen);	/* pairs with srdma_rule_of() */
	spin_unlock(&o->lock);
	return found;
}

bool srdma_rules_name_job(const char *name, bool asked)
{
	const struct srdma_rule *r;
	bool found = false;

	rcu_read_lock();
	list_for_each_entry_rcu(r, &rules, node) {
		if ((r->asked || !asked) && !strcmp(r->job->name, name)) {
			found = true;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

void srdma_rules_changed(void)
{
	/* After the list: pairs with srdma_rule_of(). */
	smp_store_release(&srdma_rules_gen, srdma_rules_gen + 1);
}

void srdma_rule_count(struct srdma_qp *q)
{
	struct srdma_rule *r;
	u32 gen, id;

	rcu_read_lock();
	r = srdma_rule_of(q->owner, &gen);
	id = r ? r->id : 0;
	if (q->rule != id) {
		q->rule = id;
		if (r)
			atomic64_inc(&r->matches);
	}
	rcu_read_unlock();
}

/* Setting */

struct srdma_rule *srdma_rule_new(struct srdma_job *job, const char *origin,
				  const struct srdma_rule_spec *spec)
{
	struct srdma_rule *r = kzalloc(sizeof(*r), GFP_KERNEL);

	if (!r)
		return NULL;
	if (spec->cgroup) {
		r->cgroup = kstrdup(spec->cgroup, GFP_KERNEL);
		if (!r->cgroup) {
			kfree(r);
			return NULL;
		}
	}
	r->id = ++last_id;
	r->order = spec->order;
	strscpy(r->origin, origin, sizeof(r->origin));
	if (spec->comm)
		strscpy(r->comm, spec->comm, sizeof(r->comm));
	if (spec->exe)
		strscpy(r->exe, spec->exe, sizeof(r->exe));
	r->has_uid = spec->has_uid;
	r->uid = KUIDT_INIT(spec->uid);
	r->has_pid = spec->has_pid;
	r->pid = spec->pid;
	r->asked = spec->asked;
	r->slo_p99_min = spec->slo_p99_min;
	srdma_job_get(job);
	r->job = job;
	return r;
}

/* Insert after rules of the same order: the older one is tried first. */
static void rule_insert(struct srdma_rule *r)
{
	struct list_head *at = &rules;
	struct srdma_rule *old;

	list_for_each_entry(old, &rules, node) {
		if (old->order > r->order) {
			at = &old->node;
			break;
		}
	}
	list_add_tail_rcu(&r->node, at);
	list_add_tail(&r->job_node, &r->job->rules);
}

static void rule_drop(struct srdma_rule *r)
{
	list_del(&r->job_node);
	list_del_rcu(&r->node);
	srdma_rules_changed();	/* before it is freed: see srdma_rule_of() */
	call_rcu(&r->rcu, rule_free_rcu);
}

/*
 * Insert the new rules first: while both sets are in the list, an owner that either set
 * matches belongs to the job, and it changes over when its old rule goes.
 */
void srdma_rules_replace(struct srdma_job *job, const char *origin, struct list_head *made)
{
	struct srdma_rule *r, *next;
	LIST_HEAD(old);

	list_for_each_entry_safe(r, next, &job->rules, job_node)
		if (!strcmp(r->origin, origin))
			list_move_tail(&r->job_node, &old);
	list_for_each_entry_safe(r, next, made, job_node) {
		list_del(&r->job_node);
		rule_insert(r);
	}
	srdma_delay(SRDMA_DELAY_RULES);
	/* A search that has passed the place of a new rule must still find the old one. */
	if (!list_empty(&old))
		synchronize_rcu_expedited();
	list_for_each_entry_safe(r, next, &old, job_node)
		rule_drop(r);
	srdma_rules_changed();
}

int srdma_rules_remove(struct srdma_job *job, const char *origin)
{
	struct srdma_rule *r, *next;
	int n = 0;

	list_for_each_entry_safe(r, next, &job->rules, job_node) {
		if (origin && strcmp(r->origin, origin))
			continue;
		rule_drop(r);
		n++;
	}
	return n;
}
