// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What the page asks for at a click: the QPs of a job or UAR, and what qp explain says. */
#include <stdlib.h>

#include "exporter/page_state.h"
#include "explain/explain.h"
#include "io/io.h"

/* --- QPs -------------------------------------------------------------------------- */

static bool is_wanted(const struct snap_qp *qp, const struct page_filter *which,
		      const struct snap_dev *dev, const struct snap_job *job)
{
	return (!dev || qp->dev == dev->index) && (!job || qp->job == job->id) &&
	       (which->uar < 0 || (snap_has(qp, SNAP_UAR) && qp->uar == (uint64_t)which->uar));
}

static double work_of(const struct figures *f, size_t row)
{
	double v = 0;

	if (!signal_get(&f->sig, SIG_QP_WR_RATE, row, &v))
		signal_get(&f->sig, SIG_QP_DOORBELL_RATE, row, &v);
	return v;
}

/* The busiest come first, then the lower numbers. */
struct ranked {
	double work;
	uint32_t row;
};

static int compare_work(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->work != y->work ? ARRAY_CMP(y->work, x->work) : ARRAY_CMP(x->row, y->row);
}

static void put_qp(const struct figures *f, size_t row, struct json *j)
{
	const struct snapshot *snap = figures_snap(f);
	const struct snap_qp *qp = &snap->qps[row];
	const struct snap_owner *o = reading_owner(snap, snap_has(qp, SNAP_OWNER), qp->owner);
	const struct snap_job *job = reading_job(snap, qp->job);
	const struct snap_dev *dev = reading_dev(snap, qp->dev);
	const char *type = vocab_word_name(UNIT_TYPE, qp->type);
	const char *state = snap_has(qp, SNAP_STATE) ? vocab_word_name(UNIT_STATE, qp->state) : NULL;

	json_begin(j, '{');
	page_str(j, "dev", dev ? dev->name : "?");
	page_u64(j, "qpn", qp->qpn);
	page_str(j, "type", type ? type : "?");
	page_str(j, "state", state ? state : "?");
	if (snap_has(qp, SNAP_PORT))
		page_u64(j, "port", qp->port);
	if (snap_has(qp, SNAP_UAR))
		page_u64(j, "uar", qp->uar);
	if (job)
		page_str(j, "job", job->name);
	if (o)
		page_str(j, "comm", o->kernel[0] ? o->kernel : o->comm);
	if (o && !o->kernel[0])
		page_u64(j, "pid", o->pid);
	page_signal(j, "rate", f, SIG_QP_WR_RATE, row);
	page_str(j, "unit", page_unit(dev));
	page_signal(j, "doorbells", f, SIG_QP_DOORBELL_RATE, row);
	page_signal(j, "level", f, SIG_QP_LEVEL, row);
	page_signal(j, "queue_delay", f, SIG_QP_QUEUE_DELAY, row);
	page_signal(j, "outstanding", f, SIG_QP_OUTSTANDING, row);
	page_signal(j, "latency", f, SIG_QP_LATENCY, row);
	json_end(j, '}');
}

bool page_qps(const struct figures *f, const struct page_filter *which, struct json *j)
{
	const struct snapshot *snap = figures_snap(f);
	const struct snap_dev *dev = which->dev ? reading_dev_named(snap, which->dev) : NULL;
	const struct snap_job *job = which->job ? reading_job_named(snap, which->job) : NULL;
	struct ranked *list;
	size_t n = 0;

	if (!f->up || (which->dev && !dev) || (which->job && !job) ||
	    (which->uar >= 0 && !dev))
		return false;
	list = malloc((snap->n_qps + 1) * sizeof(*list));
	if (!list)
		return false;
	for (size_t i = 0; i < snap->n_qps; i++)
		if (is_wanted(&snap->qps[i], which, dev, job))
			list[n++] = (struct ranked){ work_of(f, i), (uint32_t)i };
	qsort(list, n, sizeof(*list), compare_work);
	json_begin(j, '{');
	page_u64(j, "all", n);
	page_open(j, "qps", '[');
	for (size_t i = 0; i < n && i < PAGE_QPS; i++)
		put_qp(f, list[i].row, j);
	json_end(j, ']');
	json_end(j, '}');
	free(list);
	return true;
}

/* --- qp explain ------------------------------------------------------------------- */

/* False: pairs are unknown. The addresses of this host do not apply to a recording. */
static bool find_pairs(const struct figures *f, struct pairs *pairs)
{
	struct pair_addr *addrs = NULL;
	size_t n = 0;
	int err;

	if (f->opt.recording)
		return false;
	err = io_addresses(figures_snap(f), &addrs, &n);
	if (!err)
		err = pair_find(pairs, figures_snap(f), addrs, n);
	free(addrs);
	return !err;
}

bool page_explain(const struct figures *f, const char *dev, uint32_t qpn, struct json *j)
{
	const struct reading r = figures_reading(f);
	const struct snap_dev *d = f->up ? reading_dev_named(r.snap, dev) : NULL;
	struct pairs pairs = { 0 };
	struct explain *e;
	size_t row;

	row = d ? reading_qp_row(r.snap, d->index, qpn) : SIZE_MAX;
	if (row == SIZE_MAX)
		return false;
	e = calloc(1, sizeof(*e));
	if (!e)
		return false;
	e->qp = row;
	if (find_pairs(f, &pairs))
		e->pairs = &pairs;
	explain_qp(&r, e);
	json_begin(j, '{');
	page_str(j, "dev", dev);
	page_u64(j, "qpn", qpn);
	json_key(j, "says");
	explain_json(j, e);
	json_end(j, '}');
	pair_free(&pairs);
	free(e);
	return true;
}
