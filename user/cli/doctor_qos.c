// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doctor: the effect of a class level on an Ethernet port. The port maps the level's DSCP
 * to a priority if it trusts DSCPs. A priority may be lossless (PFC) and belongs to a
 * traffic class, which is served before or after others (ETS). A level has an effect if
 * its traffic class differs from that of traffic without a level, is served no later,
 * and is lossless if the other one is.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "cli/doctor_qos.h"

#define CNP_DSCP	48	/* default of a ConnectX */

#define RC		2	/* as enum ib_qp_type */
#define UC		3

/* Keeps @levels sorted; the file may have any order. */
static void put_level(struct io_level *levels, size_t *n, struct io_level l)
{
	size_t at = (*n)++;

	for (; at && levels[at - 1].level > l.level; at--)
		levels[at] = levels[at - 1];
	levels[at] = l;
}

size_t doctor_levels(const struct doctor *d, struct io_level *levels)
{
	const struct config *cfg = d->cfg;
	size_t n = 0;

	for (int i = 0; i < d->n_levels; i++) {
		bool wanted = !cfg || !cfg->n_levels;

		for (size_t k = 0; cfg && k < cfg->n_levels; k++)
			wanted |= cfg->levels[k].level == d->levels[i].level;
		if (wanted)
			put_level(levels, &n, d->levels[i]);
	}
	for (size_t k = 0; cfg && d->n_levels < 0 && k < cfg->n_levels; k++)
		put_level(levels, &n, (struct io_level){
			.level = cfg->levels[k].level,
			.dscp = cfg->levels[k].dscp, .sl = cfg->levels[k].sl,
			.has_dscp = cfg->levels[k].has_dscp,
			.has_sl = cfg->levels[k].has_sl,
		});
	return n;
}

/* Counts the QPs of jobs, or all QPs if no job has one on the port. */
uint64_t doctor_asked(const struct doctor *d, const struct host_port *port,
		      bool sl, uint32_t *qps)
{
	const struct snap_dev *s = doctor_snap_dev(d, d->host->devs[port->dev].name);
	uint64_t of_jobs = 0, of_all = 0;
	uint32_t n_jobs = 0, n_all = 0;

	for (size_t i = 0; s && i < d->snap->n_qps; i++) {
		const struct snap_qp *qp = &d->snap->qps[i];
		uint64_t bit;

		if (qp->dev != s->index || !snap_has(qp, SNAP_CLASS) ||
		    (qp->type != RC && qp->type != UC) ||
		    (snap_has(qp, SNAP_PORT) && qp->port != port->index))
			continue;
		bit = 1ull << (sl ? qp->sl_asked & 15 : qp->tclass_asked >> 2 & 63);
		of_all |= bit;
		n_all++;
		if (qp->job) {
			of_jobs |= bit;
			n_jobs++;
		}
	}
	*qps = of_jobs ? n_jobs : n_all;
	if (of_all)
		return of_jobs ? of_jobs : of_all;
	return 1ull << (!sl && port->tclass > 0 ? port->tclass >> 2 & 63 : 0);
}

/* --- how a port maps and serves -------------------------------------------------- */

/* Most NICs send an unmapped DSCP in priority 0; only for DSCP 0 that is certain. */
struct qos_way qos_way(const struct host_dcb *dcb, uint32_t dscp)
{
	bool has = dcb->trusts_dscp && dcb->dscps & 1ull << dscp;
	struct qos_way w = { .dscp = (uint8_t)dscp };

	w.mapped = has || !dscp;
	w.prio = has ? dcb->dscp_prio[dscp] : 0;
	w.tc = dcb->prio_tc[w.prio];
	return w;
}

bool qos_lossless(const struct host_dcb *dcb, uint8_t prio)
{
	return dcb->has_pfc && dcb->pfc >> prio & 1;
}

bool qos_base_lossless(const struct qos *q)
{
	for (size_t i = 0; i < q->n_base; i++)
		if (qos_lossless(q->dcb, q->base[i].prio))
			return true;
	return false;
}

int qos_served(const struct host_dcb *dcb, uint8_t a, uint8_t b)
{
	uint8_t ta = dcb->tsa[a], tb = dcb->tsa[b];

	if (ta == HOST_TSA_STRICT && tb == HOST_TSA_STRICT)
		return (int)a - (int)b;
	if (ta == HOST_TSA_STRICT && tb == HOST_TSA_ETS)
		return 1;
	if (ta == HOST_TSA_ETS && tb == HOST_TSA_STRICT)
		return -1;
	return 0;
}

/* --- words ------------------------------------------------------------------------ */

struct list {
	char s[384];
	size_t n, items;
};

/* Appends ", ITEM", without the comma for the first. */
static void add_item(struct list *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void add_item(struct list *l, const char *fmt, ...)
{
	va_list ap;

	if (l->items++ && l->n < sizeof(l->s) - 2) {
		strcpy(l->s + l->n, ", ");
		l->n += 2;
	}
	va_start(ap, fmt);
	vsnprintf(l->s + l->n, sizeof(l->s) - l->n, fmt, ap);
	va_end(ap);
	l->n += strlen(l->s + l->n);
}

static const char *level_noun(const struct list *l)
{
	return l->items == 1 ? "level" : "levels";
}

struct words {
	char s[96];
};

/* "DSCP 26, priority 3, lossless, traffic class 3, strict" */
static struct words way_words(const struct host_dcb *dcb, const struct qos_way *w)
{
	struct words out;
	int n = snprintf(out.s, sizeof(out.s),
			 "DSCP %u, priority %u%s, traffic class %u, ", w->dscp,
			 w->prio, qos_lossless(dcb, w->prio) ? ", lossless" : "",
			 w->tc);
	size_t left = sizeof(out.s) - (size_t)n;

	switch (dcb->tsa[w->tc]) {
	case HOST_TSA_STRICT:
		snprintf(out.s + n, left, "strict");
		break;
	case HOST_TSA_SHAPER:
		snprintf(out.s + n, left, "shaped by credit");
		break;
	case HOST_TSA_ETS:
		snprintf(out.s + n, left, "%u %%", dcb->share[w->tc]);
		break;
	default:
		snprintf(out.s + n, left, "the device's order");
	}
	return out;
}

/* --- judgements --------------------------------------------------------------------- */

/* False: the port's DCB settings are not known. */
static bool judge_dcb(struct qos *q, const struct host_dev *dev)
{
	enum host_function function = doctor_function(q->d, dev);
	const char *driver = q->net->driver;

	if (!q->dcb->error && q->dcb->has_ets)
		return true;
	if (function == HOST_VF || function == HOST_SF)
		doctor_say(q->d, DOCTOR_QOS, DOCTOR_UNSEEN, "dcb", q->object,
			   "priorities and traffic classes are those of the PF's port: check that port");
	else if (q->net->represents[0])
		doctor_say(q->d, DOCTOR_QOS, DOCTOR_UNSEEN, "dcb", q->object,
			   "it represents %s in the NIC's switch; priorities and traffic classes are those of the uplink",
			   q->net->represents);
	else if (!q->dcb->error || q->dcb->error == -EOPNOTSUPP)
		doctor_say(q->d, DOCTOR_QOS, DOCTOR_UNSEEN, "dcb", q->object,
			   "its driver%s%s has no DCB: queueing (tc qdisc show dev %s) or a tool of the NIC decides which DSCP goes first",
			   driver[0] ? " " : "", driver, q->net->name);
	else
		doctor_say(q->d, DOCTOR_QOS, DOCTOR_UNSEEN, "dcb", q->object,
			   "DCB cannot be read: %s", strerror(-q->dcb->error));
	return false;
}

static void judge_dcbx(struct qos *q)
{
	if (!q->dcb->has_dcbx || q->dcb->by_host)
		return;
	doctor_say(q->d, DOCTOR_QOS, DOCTOR_WARNING, "dcbx", q->object,
		   "its firmware negotiates priorities and traffic classes with the switch (DCBX), and may overwrite settings of this host");
	doctor_mend(q->d, "dcb dcbx set dev %s host ieee", q->net->name);
}

static bool judge_trust(struct qos *q)
{
	struct list l = { .n = 0 };

	if (q->dcb->trusts_dscp)
		return true;
	for (size_t i = 0; i < q->n; i++)
		add_item(&l, "%u (DSCP %u)", q->level[i].level, q->way[i].dscp);
	doctor_say(q->d, DOCTOR_QOS, DOCTOR_ERROR, "trust", q->object,
		   "the port trusts the priority of a VLAN tag (PCP), not the DSCP, so there is no effect of %s %s. The port trusts DSCPs once a DSCP has a priority; the switch must trust them, too",
		   level_noun(&l), l.s);
	qos_mend_map(q);
	return false;
}

static void judge_map(struct qos *q)
{
	struct list l = { .n = 0 };

	for (size_t i = 0; i < q->n; i++)
		if (!q->way[i].mapped)
			add_item(&l, "%u (DSCP %u)", q->level[i].level, q->way[i].dscp);
	if (!l.items)
		return;
	doctor_say(q->d, DOCTOR_QOS, DOCTOR_ERROR, "unmapped", q->object,
		   "%s %s: the DSCP has no priority on this port, so it gets the firmware's default, often that of traffic that is not raised",
		   level_noun(&l), l.s);
	qos_mend_map(q);
}

/* Checks for data in the priority of congestion notifications (CNP). */
static void judge_cnp(struct qos *q, const struct host_dev *dev)
{
	int cnp = q->net->cnp_dscp;

	if (cnp < 0 && doctor_is_mlx5(dev))
		cnp = CNP_DSCP;
	for (size_t i = 0; i < q->n; i++) {
		if (q->way[i].dscp != cnp)
			continue;
		doctor_say(q->d, DOCTOR_QOS, DOCTOR_WARNING, "cnp", q->object,
			   "level %u is DSCP %d, the DSCP of congestion notifications (CNPs)%s: raised data would delay the CNPs that tell senders to slow down",
			   q->level[i].level, cnp,
			   q->net->cnp_dscp < 0 ? ", by a ConnectX's default" : "");
		qos_mend_dscp(q, i);
	}
}

static void judge_same(struct qos *q)
{
	for (size_t i = 0; i < q->n; i++) {
		for (size_t k = 0; k < i; k++) {
			if (q->way[k].dscp != q->way[i].dscp)
				continue;
			doctor_say(q->d, DOCTOR_QOS, DOCTOR_WARNING, "same_dscp",
				   q->object,
				   "levels %u and %u are both DSCP %u: a step from one to the other changes nothing",
				   q->level[k].level, q->level[i].level,
				   q->way[i].dscp);
			qos_mend_apart(q, i);
			break;
		}
	}
}

/* Drops levels that are unmapped or have a lower level's DSCP; both have a finding. */
static void drop_unmapped(struct qos *q)
{
	size_t n = 0;

	for (size_t i = 0; i < q->n; i++) {
		bool keep = q->way[i].mapped;

		for (size_t k = 0; k < n; k++)
			keep &= q->way[k].dscp != q->way[i].dscp;
		if (!keep)
			continue;
		q->level[n] = q->level[i];
		q->way[n++] = q->way[i];
	}
	q->n = n;
}

/* --- a level against traffic without a level --------------------------------------- */

static bool leaves_lossless(const struct host_dcb *dcb, const struct qos_way *w,
			    const struct qos_way *base)
{
	return qos_lossless(dcb, base->prio) && !qos_lossless(dcb, w->prio);
}

static bool has_no_effect(const struct host_dcb *dcb, const struct qos_way *w,
			  const struct qos_way *base)
{
	(void)dcb;
	return w->tc == base->tc;
}

static bool is_served_last(const struct host_dcb *dcb, const struct qos_way *w,
			   const struct qos_way *base)
{
	return qos_served(dcb, w->tc, base->tc) < 0;
}

static bool has_less(const struct host_dcb *dcb, const struct qos_way *w,
		     const struct qos_way *base)
{
	return w->tc != base->tc && dcb->tsa[w->tc] == HOST_TSA_ETS &&
	       dcb->tsa[base->tc] == HOST_TSA_ETS && dcb->share[w->tc] < dcb->share[base->tc];
}

static const struct comparison {
	const char *rule;
	enum doctor_verdict verdict;
	bool (*ails)(const struct host_dcb *dcb, const struct qos_way *w,
		     const struct qos_way *base);
	const char *says, *then;	/* text before and after the traffic that is not raised */
} comparisons[] = {
	{ "pfc", DOCTOR_ERROR, leaves_lossless,
	  "no PFC on this priority, so raised traffic leaves the lossless class of",
	  ". The switch and the peers need PFC there, too" },
	{ "no_effect", DOCTOR_ERROR, has_no_effect,
	  "no effect in this NIC, in the traffic class of", "" },
	{ "served_last", DOCTOR_ERROR, is_served_last, "served after", "" },
	{ "share", DOCTOR_WARNING, has_less,
	  "a smaller share of the port than that of", "" },
};

#define N_COMPARISONS	(sizeof(comparisons) / sizeof(comparisons[0]))

static void report_difference(struct qos *q, const struct comparison *c,
			      const struct qos_way *base)
{
	struct list l = { .n = 0 };

	for (size_t i = 0; i < q->n; i++)
		if (c->ails(q->dcb, &q->way[i], base))
			add_item(&l, "%u (%s)", q->level[i].level,
				 way_words(q->dcb, &q->way[i]).s);
	if (!l.items)
		return;
	doctor_say(q->d, DOCTOR_QOS, c->verdict, c->rule, q->object,
		   "%s %s: %s traffic that is not raised (%s; %s)%s",
		   level_noun(&l), l.s, c->says, way_words(q->dcb, base).s,
		   q->qps ? "applications ask for it" : "the default", c->then);
	qos_mend_layout(q);
}

/* --- one level against another ------------------------------------------------------ */

/* Checks that of two levels the higher one is served first. */
static void judge_steps(struct qos *q)
{
	struct list alike = { .n = 0 }, late = { .n = 0 };

	for (size_t i = 0; i < q->n; i++) {
		for (size_t k = 0; k < i; k++) {
			uint8_t high = q->way[i].tc, low = q->way[k].tc;

			if (high == low)
				add_item(&alike, "%u and %u (traffic class %u)",
					 q->level[k].level, q->level[i].level, high);
			else if (qos_served(q->dcb, high, low) < 0)
				add_item(&late, "%u after %u (traffic classes %u and %u)",
					 q->level[i].level, q->level[k].level, high,
					 low);
		}
	}
	if (alike.items) {
		doctor_say(q->d, DOCTOR_QOS, DOCTOR_WARNING, "alike", q->object,
			   "two levels have the same traffic class, so a step from one to the other changes nothing: %s",
			   alike.s);
		qos_mend_layout(q);
	}
	if (late.items) {
		doctor_say(q->d, DOCTOR_QOS, DOCTOR_WARNING, "order", q->object,
			   "a higher level is served after a lower one: %s",
			   late.s);
		qos_mend_layout(q);
	}
}

static void say_levels(struct qos *q)
{
	for (size_t i = 0; i < q->n; i++) {
		doctor_say(q->d, DOCTOR_QOS, DOCTOR_FINE, "level", q->object,
			   "level %u: %s", q->level[i].level,
			   way_words(q->dcb, &q->way[i]).s);
		doctor_detail(q->d);
	}
}

static void take_base(struct qos *q, uint64_t asked)
{
	for (uint32_t dscp = 0; dscp < HOST_DSCPS; dscp++)
		if (asked >> dscp & 1)
			q->base[q->n_base++] = qos_way(q->dcb, dscp);
}

/* Leaves out levels with the DSCP of traffic without a level: they have no effect. */
static void take_levels(struct qos *q, const struct io_level *levels, size_t n, uint64_t asked)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t dscp = levels[i].dscp % HOST_DSCPS;

		if (!levels[i].has_dscp)
			continue;
		if (asked >> dscp & 1) {
			doctor_say(q->d, DOCTOR_QOS, DOCTOR_FINE, "level",
				   q->object,
				   "level %u: DSCP %u is that of traffic which is not raised",
				   levels[i].level, dscp);
			doctor_detail(q->d);
			continue;
		}
		q->level[q->n] = levels[i];
		q->way[q->n++] = qos_way(q->dcb, dscp);
	}
}

static void judge_classes(struct qos *q)
{
	for (size_t i = 0; i < q->n_base; i++) {
		const struct qos_way *b = &q->base[i];
		bool again = !b->mapped;

		for (size_t k = 0; k < i; k++)
			again |= q->base[k].prio == b->prio;
		if (again)
			continue;
		for (size_t k = 0; k < N_COMPARISONS; k++)
			report_difference(q, &comparisons[k], b);
	}
	judge_steps(q);
}

static void judge_net(struct doctor *d, const struct host_net *net,
		      const struct io_level *levels, size_t n)
{
	const struct host_port *port = &d->host->ports[net->port];
	const struct host_dev *dev = &d->host->devs[port->dev];
	struct qos q = { .d = d, .net = net, .dcb = &net->dcb };
	uint64_t asked;

	snprintf(q.object, sizeof(q.object), "%s/%u %s", dev->name, port->index, net->name);
	/* A representor has no traffic of its own. */
	if (!net->represents[0])
		doctor_lacking_dscp(d, net, q.object, levels, n);
	if (!judge_dcb(&q, dev))
		return;
	asked = doctor_asked(d, port, false, &q.qps);
	take_base(&q, asked);
	take_levels(&q, levels, n, asked);
	if (!q.n)
		return;
	judge_dcbx(&q);
	judge_cnp(&q, dev);
	judge_same(&q);
	if (!judge_trust(&q))
		return;
	judge_map(&q);
	drop_unmapped(&q);
	say_levels(&q);
	judge_classes(&q);
	if (!doctor_ails(d, DOCTOR_QOS, q.object))
		doctor_say(d, DOCTOR_QOS, DOCTOR_FINE, "levels", q.object,
			   "DSCPs are trusted, and each of %zu levels has a traffic class of its own%s",
			   q.n, qos_base_lossless(&q) ? ", lossless" : "");
}

void doctor_qos(struct doctor *d)
{
	const struct host *h = d->host;
	struct io_level levels[DOCTOR_LEVELS];
	size_t n = doctor_levels(d, levels);

	if (!n && d->n_levels < 0) {
		doctor_say(d, DOCTOR_QOS, DOCTOR_UNSEEN, "set", "levels",
			   "the meaning of levels is unknown: no policy file gives it, and the module %s",
			   d->answers ? "tells it only to readers with CAP_NET_ADMIN" :
					"does not answer");
		return;
	}
	if (!n) {
		doctor_say(d, DOCTOR_QOS, DOCTOR_WARNING, "set", "levels",
			   "no level has a meaning, so no policy can raise a job: define levels under 'levels:' of the policy file, or by this command until the module is unloaded");
		doctor_mend(d, "swiftrdma level set 1 dscp 10 sl 1 2 dscp 18 sl 2 3 dscp 26 sl 3");
		return;
	}
	for (size_t i = 0; i < h->n_nets; i++)
		judge_net(d, &h->nets[i], levels, n);
	for (size_t i = 0; i < h->n_ports; i++)
		if (h->ports[i].link_layer == 1)
			doctor_sls(d, &h->ports[i], levels, n);
}
