// SPDX-License-Identifier: GPL-2.0
/*
 * How long what is in a send queue takes, exactly: from the look in which the device saw
 * the doorbell to the look in which it completed the request, of every WQEBB.
 *
 * softhca/hcaN/latency, a line for each QP: sums over its WQEBBs since it was made,
 *	wqebbs own_ns		until the request itself was done
 *	covered covered_ns	until a completion told of it: one without a completion ends
 *				with the next that has one
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "softhca.h"

static u64 *sh_rung_at(struct sh_qp *qp, u16 index)
{
	return &qp->rung[index & ((1U << qp->log_sq) - 1)];
}

int sh_latency_open(struct sh_qp *qp)
{
	if (!qp->has_sq)
		return 0;
	qp->rung = kvcalloc(1U << qp->log_sq, sizeof(*qp->rung), GFP_KERNEL);
	return qp->rung ? 0 : -ENOMEM;
}

void sh_latency_close(struct sh_qp *qp)
{
	kvfree(qp->rung);
}

/* WQEBBs up to @pi are new, of those that qp->sq_pi says. */
void sh_latency_posted(struct sh_qp *qp, u16 pi)
{
	u16 i;

	for (i = qp->sq_pi; i != pi; i++)
		*sh_rung_at(qp, i) = softhca.look_ns;
}

/* A request is done, and qp->sq_ci is behind it. */
void sh_latency_done(struct sh_qp *qp, u16 first, bool completion)
{
	struct sh_latency *l = &qp->latency;
	u16 i;

	for (i = first; i != qp->sq_ci; i++) {
		l->wqebbs++;
		l->own_ns += softhca.look_ns - *sh_rung_at(qp, i);
	}
	if (!completion)
		return;
	for (i = l->uncovered; i != qp->sq_ci; i++) {
		l->covered++;
		l->covered_ns += softhca.look_ns - *sh_rung_at(qp, i);
	}
	l->uncovered = qp->sq_ci;
}

/* What is in the queue will not be done: it begins anew, or fails. */
void sh_latency_flush(struct sh_qp *qp)
{
	qp->latency.uncovered = qp->sq_ci;
}

static int sh_latencies_show(struct seq_file *s, void *unused)
{
	struct sh_hca *h = s->private;
	struct sh_latency *l;
	struct sh_qp *qp;
	unsigned long i;

	seq_puts(s, "qpn wqebbs own_ns covered covered_ns\n");
	mutex_lock(&softhca.lock);
	xa_for_each(&h->tab[SH_QP].xa, i, qp) {
		l = &qp->latency;
		seq_printf(s, "%u %llu %llu %llu %llu\n", qp->obj.id, l->wqebbs, l->own_ns,
			   l->covered, l->covered_ns);
	}
	mutex_unlock(&softhca.lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(sh_latencies);

void sh_latency_add(struct sh_hca *h)
{
	debugfs_create_file("latency", 0400, h->dir, h, &sh_latencies_fops);
}
