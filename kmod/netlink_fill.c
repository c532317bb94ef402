// SPDX-License-Identifier: GPL-2.0
/*
 * Writes objects other than QPs as nests of attributes. Unknown values are left out. The
 * caller checks at the end of the message whether everything fitted.
 */
#include <linux/cred.h>
#include <linux/ktime.h>
#include <linux/math64.h>

#include "figures.h"
#include "netlink_priv.h"
#include "rule.h"
#include "standing.h"

void srdma_fill_dev(struct srdma_msg *m, struct srdma_dev *dev, u64 now)
{
	struct nlattr *nest = srdma_nest(m, SWIFTRDMA_A_DEV);
	struct srdma_dev_figures f;

	srdma_dev_figures(dev, now, &f);
	srdma_put_text(m, SWIFTRDMA_DEV_A_PROVIDER, srdma_dev_provider(dev)->name);
	srdma_put_attrs(m, &srdma_dev_attrs, dev);
	srdma_put_attrs(m, &srdma_dev_figure_attrs, &f);
	srdma_nest_end(m, nest);
}

void srdma_fill_port(struct srdma_msg *m, const struct srdma_dev *dev, u32 port,
		     const struct srdma_port_stat *st)
{
	struct nlattr *nest = srdma_nest(m, SWIFTRDMA_A_PORT_OBJ), *prio;
	u32 i;

	srdma_put_u32(m, SWIFTRDMA_PORT_A_DEV_INDEX, dev->index);
	srdma_put_u32(m, SWIFTRDMA_PORT_A_INDEX, port);
	srdma_put_attrs(m, &srdma_port_attrs, st);
	if (st->has_cnp || st->has_prios)
		srdma_put_u64(m, SWIFTRDMA_PORT_A_DETAIL_TIME, st->detail_at);
	for (i = 0; st->has_prios && i < SRDMA_PRIOS; i++) {
		prio = srdma_nest(m, SWIFTRDMA_PORT_A_PRIO);
		srdma_put_u32(m, SWIFTRDMA_PRIO_A_INDEX, i);
		srdma_put_attrs(m, &srdma_prio_attrs, &st->prio[i]);
		srdma_nest_end(m, prio);
	}
	srdma_nest_end(m, nest);
}

void srdma_fill_uar(struct srdma_msg *m, const struct srdma_uar *u,
		    const struct srdma_reader *who, u64 now, const u64 *recent)
{
	struct nlattr *nest = srdma_nest(m, SWIFTRDMA_A_UAR_OBJ);
	struct srdma_uar_figures f;

	srdma_uar_figures(u, now, &f);
	srdma_put_attrs(m, &srdma_uar_attrs, &f);
	if (recent)
		srdma_put_u64(m, SWIFTRDMA_UAR_A_RECENT_WRS, *recent);
	if (u->owner)
		srdma_put_owner(m, SWIFTRDMA_UAR_A_OWNER, u->owner, who);
	srdma_nest_end(m, nest);
}

static void put_rule(struct srdma_msg *m, const struct srdma_rule *r)
{
	struct nlattr *nest = srdma_nest(m, SWIFTRDMA_JOB_A_RULE);

	srdma_put_u32(m, SWIFTRDMA_RULE_A_ORDER, r->order);
	srdma_put_text(m, SWIFTRDMA_RULE_A_ORIGIN, r->origin);
	if (r->cgroup)
		srdma_put_text(m, SWIFTRDMA_RULE_A_CGROUP, r->cgroup);
	if (r->comm[0])
		srdma_put_text(m, SWIFTRDMA_RULE_A_COMM, r->comm);
	if (r->exe[0])
		srdma_put_text(m, SWIFTRDMA_RULE_A_EXE, r->exe);
	if (r->has_uid)
		srdma_put_u32(m, SWIFTRDMA_RULE_A_UID, from_kuid(&init_user_ns, r->uid));
	if (r->has_pid)
		srdma_put_u32(m, SWIFTRDMA_RULE_A_PID, r->pid);
	if (r->asked)
		srdma_put_flag(m, SWIFTRDMA_RULE_A_ASKED);
	if (r->slo_p99_min)
		srdma_put_u64(m, SWIFTRDMA_RULE_A_SLO_P99_MIN, r->slo_p99_min);
	srdma_put_u64(m, SWIFTRDMA_RULE_A_MATCHES, atomic64_read(&r->matches));
	srdma_nest_end(m, nest);
}

static void put_job_stats(struct srdma_msg *m, const struct srdma_job *job,
			  const struct srdma_reader *who)
{
	struct srdma_job_figures f;
	struct srdma_job_dev *jd;
	struct srdma_dev *dev;
	unsigned long index;
	struct nlattr *nest;

	xa_for_each(&srdma_devs, index, dev) {
		jd = xa_load(&dev->jobs, job->id);
		if (!jd || !srdma_reader_sees(who, dev))
			continue;
		nest = srdma_nest(m, SWIFTRDMA_JOB_A_STAT);
		srdma_job_figures(dev, jd, &f);
		srdma_put_attrs(m, &srdma_job_attrs, &f);
		srdma_nest_end(m, nest);
	}
}

bool srdma_fill_job(struct srdma_msg *m, const struct srdma_job *job,
		    const struct srdma_reader *who, unsigned long *rule)
{
	struct nlattr *nest = srdma_nest(m, SWIFTRDMA_A_JOB_OBJ);
	const struct srdma_rule *r;
	unsigned long i = 0;
	bool all = true;
	u8 *whole;

	lockdep_assert_held(&srdma_ctl_lock);
	srdma_put_u32(m, SWIFTRDMA_JOB_A_ID, job->id);
	srdma_put_text(m, SWIFTRDMA_JOB_A_NAME, job->name);
	srdma_put_u32(m, SWIFTRDMA_JOB_A_CLASS, job->class);
	srdma_put_u64(m, SWIFTRDMA_JOB_A_SINCE, job->since);
	srdma_put_u64(m, SWIFTRDMA_JOB_A_TIME, ktime_get_ns());
	put_job_stats(m, job, who);
	list_for_each_entry(r, &job->rules, job_node) {
		if (m->full)
			break;
		if (i++ < *rule)
			continue;
		whole = m->at;
		put_rule(m, r);
		if (m->full) {
			srdma_msg_rewind(m, whole);
			all = false;
			break;
		}
		++*rule;
	}
	srdma_nest_end(m, nest);
	return all && !m->full;
}

void srdma_fill_level(struct srdma_msg *m, u32 number, const struct srdma_level *level)
{
	struct nlattr *nest = srdma_nest(m, SWIFTRDMA_A_LEVEL);

	srdma_put_u32(m, SWIFTRDMA_LEVEL_A_LEVEL, number);
	if (level->has_dscp)
		srdma_put_u32(m, SWIFTRDMA_LEVEL_A_DSCP, level->dscp);
	if (level->has_sl)
		srdma_put_u32(m, SWIFTRDMA_LEVEL_A_SL, level->sl);
	srdma_nest_end(m, nest);
}

/* The QPs of an action, counted by standing. */
static void put_tally(struct srdma_msg *m, const struct srdma_tally *t)
{
	u32 all = 0;
	int i;

	for (i = 0; i < SRDMA_STANDINGS; i++)
		all += t->n[i];
	srdma_put_u32(m, SWIFTRDMA_ACTION_A_ERROR, t->error);
	srdma_put_u32(m, SWIFTRDMA_ACTION_A_QPS, all);
	srdma_put_u32(m, SWIFTRDMA_ACTION_A_QPS_DONE, t->n[SRDMA_DONE]);
	srdma_put_u32(m, SWIFTRDMA_ACTION_A_QPS_PENDING, t->n[SRDMA_PENDING]);
	srdma_put_u32(m, SWIFTRDMA_ACTION_A_QPS_UNSUPPORTED, t->n[SRDMA_CANNOT]);
	srdma_put_u32(m, SWIFTRDMA_ACTION_A_QPS_UNCONNECTED, t->n[SRDMA_UNCONNECTED]);
	srdma_put_u32(m, SWIFTRDMA_ACTION_A_QPS_UNKNOWN, t->n[SRDMA_UNKNOWN]);
	if (t->error == -EREMOTEIO)
		srdma_put_u32(m, SWIFTRDMA_ACTION_A_SYNDROME, t->syndrome);
}

static void put_qp_target(struct srdma_msg *m, u32 dev, u32 qpn, u64 serial)
{
	srdma_put_u32(m, SWIFTRDMA_ACTION_A_DEV_INDEX, dev);
	srdma_put_u32(m, SWIFTRDMA_ACTION_A_QPN, qpn);
	srdma_put_u64(m, SWIFTRDMA_ACTION_A_QP_SERIAL, serial);
}

/* Its knob, its target (a QP, or a job on one device or all), and the decision behind it. */
static void put_override(struct srdma_msg *m, const struct srdma_override *o)
{
	const struct srdma_decision *d = o->decision;
	const struct srdma_target *t = &o->target;

	srdma_put_u32(m, SWIFTRDMA_ACTION_A_KNOB, t->knob);
	if (t->job)
		srdma_put_text(m, SWIFTRDMA_ACTION_A_JOB, t->job->name);
	else
		put_qp_target(m, t->dev, t->key & 0xffffff, t->serial);
	if (t->job && !t->any_dev)
		srdma_put_u32(m, SWIFTRDMA_ACTION_A_DEV_INDEX, t->dev);
	if (o->reason[0])
		srdma_put_text(m, SWIFTRDMA_ACTION_A_REASON, o->reason);
	if (d)
		srdma_put_data(m, SWIFTRDMA_ACTION_A_DECISION | NLA_F_NESTED, d->attrs, d->len);
}

void srdma_fill_override(struct srdma_msg *m, const struct srdma_override *o)
{
	struct nlattr *nest = srdma_nest(m, SWIFTRDMA_A_ACTION), *lease;
	const struct srdma_lease *l = o->lease;
	struct srdma_tally t = {};
	u64 now = ktime_get_ns();

	srdma_put_u32(m, SWIFTRDMA_ACTION_A_KIND, SWIFTRDMA_ACTION_KIND_OVERRIDE);
	put_override(m, o);
	srdma_put_u64(m, SWIFTRDMA_ACTION_A_VALUE, o->value);
	lease = srdma_nest(m, SWIFTRDMA_ACTION_A_LEASE);
	srdma_put_u64(m, SWIFTRDMA_LEASE_A_ID, l->id);
	srdma_put_u32(m, SWIFTRDMA_LEASE_A_TTL_MS,
		      l->expires > now ? div_u64(l->expires - now, NSEC_PER_MSEC) : 0);
	srdma_put_u32(m, SWIFTRDMA_LEASE_A_RANK, l->rank);
	srdma_put_text(m, SWIFTRDMA_LEASE_A_ORIGIN, l->origin);
	srdma_nest_end(m, lease);
	if (o->in_force)
		srdma_put_flag(m, SWIFTRDMA_ACTION_A_IN_FORCE);
	if (srdma_knob_table[o->target.knob].tallied) {
		srdma_tally(&o->target, &t);
		put_tally(m, &t);
	}
	srdma_nest_end(m, nest);
}

void srdma_fill_result(struct srdma_msg *m, const struct srdma_batch *b, int item,
		       const struct srdma_tally *t)
{
	const struct srdma_batch_item *i = &b->items[item];
	struct nlattr *nest, *lease;

	srdma_put_u64(m, SWIFTRDMA_A_BATCH, b->id);
	nest = srdma_nest(m, SWIFTRDMA_A_ACTION);
	srdma_put_u32(m, SWIFTRDMA_ACTION_A_INDEX, item);
	put_override(m, i->override);
	if (i->clear)
		srdma_put_flag(m, SWIFTRDMA_ACTION_A_CLEAR);
	else
		srdma_put_u64(m, SWIFTRDMA_ACTION_A_VALUE, i->override->value);
	lease = srdma_nest(m, SWIFTRDMA_ACTION_A_LEASE);
	srdma_put_u64(m, SWIFTRDMA_LEASE_A_ID, b->lease);
	srdma_put_u32(m, SWIFTRDMA_LEASE_A_RANK, b->rank);
	srdma_nest_end(m, lease);
	put_tally(m, t);
	srdma_nest_end(m, nest);
}

void srdma_fill_pending(struct srdma_msg *m, const struct srdma_qp *q, int knob, int err,
			const char *why)
{
	struct nlattr *nest = srdma_nest(m, SWIFTRDMA_A_ACTION);
	const struct srdma_job_dev *jd = rcu_dereference(q->job);
	const struct srdma_qp_hw *hw = srdma_qp_hw(q);
	int level = knob == SWIFTRDMA_KNOB_LEVEL ? srdma_qp_level(q) : -1;

	srdma_put_u32(m, SWIFTRDMA_ACTION_A_KIND, SWIFTRDMA_ACTION_KIND_PENDING);
	srdma_put_u32(m, SWIFTRDMA_ACTION_A_KNOB, knob);
	put_qp_target(m, q->dev->index, q->qpn, q->serial);
	if (jd)
		srdma_put_text(m, SWIFTRDMA_ACTION_A_JOB, jd->job->name);
	srdma_put_u32(m, SWIFTRDMA_ACTION_A_ERROR, err);
	srdma_put_text(m, SWIFTRDMA_ACTION_A_REASON, why);
	if (hw && err == -EREMOTEIO)
		srdma_put_u32(m, SWIFTRDMA_ACTION_A_SYNDROME, READ_ONCE(hw->syndrome));
	/* No level: the QP is to get its application's own class back. */
	if (level >= 0)
		srdma_put_u64(m, SWIFTRDMA_ACTION_A_VALUE, level);
	srdma_nest_end(m, nest);
}

void srdma_fill_snapshot(struct srdma_msg *m, const struct srdma_dump *d)
{
	struct nlattr *nest = srdma_nest(m, SWIFTRDMA_A_SNAPSHOT);

	srdma_put_u64(m, SWIFTRDMA_SNAPSHOT_A_GENERATION, d->generation);
	srdma_put_u64(m, SWIFTRDMA_SNAPSHOT_A_TIME, d->time);
	srdma_put_u32(m, SWIFTRDMA_SNAPSHOT_A_COUNT, d->count);
	if (READ_ONCE(srdma_armed))
		srdma_put_flag(m, SWIFTRDMA_SNAPSHOT_A_ARMED);
	srdma_nest_end(m, nest);
}
