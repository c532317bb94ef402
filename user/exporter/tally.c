// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/tally.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

void tally_free(struct tally *t)
{
	free(t->owners);
	free(t->rests);
	free(t->slos);
	free(t->names);
	memset(t, 0, sizeof(*t));
}

/* How much a counter grew from @was to @is. A counter that stepped back restarted from 0. */
static uint64_t counter_growth(uint64_t was, uint64_t is)
{
	return is >= was ? is - was : is;
}

static void add_work(struct tally_work *to, const struct tally_work *by)
{
	to->wrs += by->wrs;
	to->doorbells += by->doorbells;
	to->has_wrs |= by->has_wrs;
	to->has_doorbells |= by->has_doorbells;
}

/*
 * The work of an object since the reading before, @was. For a new object (@was NULL) this is all
 * its work, or 0 if @unknown: there is no reading before, or the module adopted the object.
 */
#define WORK_SINCE(was, is, unknown) ({						\
	bool goes_on_ = was, unknown_ = !(was) && (unknown);			\
										\
	(struct tally_work){							\
		.has_wrs = snap_has(is, SNAP_WRS),				\
		.has_doorbells = snap_has(is, SNAP_DOORBELLS),			\
		.wrs = !snap_has(is, SNAP_WRS) || unknown_ ? 0 :		\
		       counter_growth(goes_on_ && snap_has(was, SNAP_WRS) ? (was)->wrs : 0, (is)->wrs), \
		.doorbells = !snap_has(is, SNAP_DOORBELLS) || unknown_ ? 0 :	\
			counter_growth(goes_on_ && snap_has(was, SNAP_DOORBELLS) ?	\
			       (was)->doorbells : 0, (is)->doorbells),		\
	}; })

/* --- rests of devices ------------------------------------------------------------- */

static struct tally_rest *find_rest(struct tally *t, const struct snap_dev *dev, uint64_t now)
{
	size_t at = array_find(t->n_rests, i, strcmp(t->rests[i].device, dev->name) < 0);
	struct tally_rest *r;

	if (at < t->n_rests && !strcmp(t->rests[at].device, dev->name))
		return &t->rests[at];
	if (!array_reserve(&t->rests, &t->cap_rests, t->n_rests + 1, sizeof(*t->rests)))
		return NULL;
	r = &t->rests[at];
	memmove(r + 1, r, (t->n_rests - at) * sizeof(*r));
	t->n_rests++;
	*r = (struct tally_rest){ .since = now };
	memcpy(r->device, dev->name, sizeof(r->device));
	return r;
}

/* Forgets devices that are gone, and resets the counts that are of one reading only. */
static int begin_rests(struct tally *t, const struct snapshot *snap)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_rests; i++) {
		bool there = false;

		for (size_t k = 0; k < snap->n_devs && !there; k++)
			there = !strcmp(snap->devs[k].name, t->rests[i].device);
		if (there)
			t->rests[n++] = t->rests[i];
	}
	t->n_rests = n;
	for (size_t i = 0; i < snap->n_devs; i++) {
		struct tally_rest *r = find_rest(t, &snap->devs[i], snap->time);

		if (!r)
			return -ENOMEM;
		r->wqebbs = snap->devs[i].caps & SWIFTRDMA_DEV_CAP_WQEBBS;
		r->uars = r->uar_qps = r->qps = 0;
	}
	return 0;
}

static void add_uars(struct tally *t, const struct snapshot *older, const struct signals *s,
		     const struct rank *ranked)
{
	const struct snapshot *snap = s->snap;
	struct tally_rest *r = NULL;
	uint32_t dev = 0;
	size_t o = 0;

	for (size_t i = 0; i < snap->n_uars; i++) {
		const struct snap_uar *u = &snap->uars[i], *was = NULL;
		struct tally_work work;
		int32_t row;

		if (older && array_seek(older->n_uars, o, SNAP_CMP_INDEX(&older->uars[o], u)) &&
		    older->uars[o].since == u->since)
			was = &older->uars[o];
		if (rank_has(ranked, (uint32_t)i))
			continue;
		if (!r || dev != u->dev) {
			row = signals_dev_row(snap, dev = u->dev);
			r = row < 0 ? NULL : find_rest(t, &snap->devs[row], snap->time);
		}
		if (!r)
			continue;
		r->uars++;
		r->uar_qps += u->qps;
		work = WORK_SINCE(was, u, !older);
		add_work(&r->of_uars, &work);
		if (!was || !(was->has & u->has & SNAP_SWEEPS))
			continue;
		r->sweeps += counter_growth(was->sweeps, u->sweeps);
		r->coactive += counter_growth(was->coactive, u->coactive);
	}
}

/* --- owners ----------------------------------------------------------------------- */

static int compare_owners(const struct tally_owner *a, const struct tally_owner *b)
{
	int d = strcmp(a->device, b->device);

	if (!d)
		d = strcmp(a->job, b->job);
	return d ? d : strcmp(a->owner, b->owner);
}

/* NULL: there are too many, or no memory. */
static struct tally_owner *get_owner(struct tally *t, const struct tally_owner *key, size_t max)
{
	size_t at = array_find(t->n_owners, i, compare_owners(&t->owners[i], key) < 0);
	struct tally_owner *o;

	if (at < t->n_owners && !compare_owners(&t->owners[at], key))
		return &t->owners[at];
	if (t->n_owners >= max ||
	    !array_reserve(&t->owners, &t->cap_owners, t->n_owners + 1, sizeof(*t->owners)))
		return NULL;
	o = &t->owners[at];
	memmove(o + 1, o, (t->n_owners - at) * sizeof(*o));
	t->n_owners++;
	*o = *key;
	return o;
}

static void begin_owners(struct tally *t, uint64_t now)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_owners; i++) {
		if (now - t->owners[i].seen >= TALLY_FORGET && now >= t->owners[i].seen)
			continue;
		t->owners[n] = t->owners[i];
		t->owners[n++].qps = 0;
	}
	t->n_owners = n;
	t->owners_over = 0;
}

static int name_owners(struct tally *t, const struct snapshot *snap)
{
	if (!array_reserve(&t->names, &t->cap_names, snap->n_owners, sizeof(*t->names)))
		return -ENOMEM;
	for (size_t i = 0; i < snap->n_owners; i++)
		owner_name(&snap->owners[i], t->names[i]);
	return 0;
}

static void set_key(const struct tally *t, const struct signals *s, size_t i,
		    struct tally_owner *key)
{
	const struct snapshot *snap = s->snap;
	const struct snap_qp *qp = &snap->qps[i];
	const struct snap_dev *dev = &snap->devs[s->qps[i].dev];

	*key = (struct tally_owner){
		.wqebbs = dev->caps & SWIFTRDMA_DEV_CAP_WQEBBS, .since = snap->time,
	};
	memcpy(key->device, dev->name, sizeof(key->device));
	if (s->qps[i].job >= 0)
		memcpy(key->job, snap->jobs[s->qps[i].job].name, sizeof(key->job));
	strcpy(key->owner, snap_has(qp, SNAP_OWNER) && qp->owner < snap->n_owners ?
	       t->names[qp->owner] : "unknown");
}

/* QPs of one process follow one another, so the owner of the last one is tried first. */
struct last_owner {
	bool known;
	uint32_t owner;
	int32_t dev, job;
	struct tally_owner *o;
};

/* NULL: the QP's device is gone, or no memory. */
static struct tally_owner *owner_of(struct tally *t, const struct signals *s, size_t i,
				    struct last_owner *last)
{
	const struct snap_qp *qp = &s->snap->qps[i];
	uint32_t owner = snap_has(qp, SNAP_OWNER) ? qp->owner : UINT32_MAX;
	struct tally_owner key;

	if (s->qps[i].dev < 0)
		return NULL;
	if (last->known && last->owner == owner && last->dev == s->qps[i].dev &&
	    last->job == s->qps[i].job)
		return last->o;
	set_key(t, s, i, &key);
	*last = (struct last_owner){ true, owner, s->qps[i].dev, s->qps[i].job, NULL };
	last->o = get_owner(t, &key, t->max_owners);
	if (last->o)
		return last->o;
	/* Beyond the bound each device has one owner "rest". There are few devices. */
	key.job[0] = '\0';
	strcpy(key.owner, "rest");
	last->o = get_owner(t, &key, SIZE_MAX);
	last->known = false;
	t->owners_over++;
	return last->o;
}

static void add_qps(struct tally *t, const struct snapshot *older, const struct signals *s,
		    const struct rank *ranked)
{
	const struct snapshot *snap = s->snap;
	struct last_owner last = { 0 };
	struct tally_rest *r = NULL;
	int32_t dev = -1;
	size_t o = 0;

	for (size_t i = 0; i < snap->n_qps; i++) {
		const struct snap_qp *qp = &snap->qps[i], *was = NULL;
		struct tally_work work;
		struct tally_owner *owner;

		if (older && array_seek(older->n_qps, o, SNAP_CMP_QP(&older->qps[o], qp)))
			was = &older->qps[o];
		owner = owner_of(t, s, i, &last);
		if (!owner)
			continue;
		work = WORK_SINCE(was, qp, !older || qp->adopted);
		owner->qps++;
		owner->seen = snap->time;
		add_work(&owner->work, &work);
		if (rank_has(ranked, (uint32_t)i))
			continue;
		if (!r || dev != s->qps[i].dev) {
			dev = s->qps[i].dev;
			r = find_rest(t, &snap->devs[dev], snap->time);
		}
		if (!r)
			continue;
		r->qps++;
		add_work(&r->of_qps, &work);
	}
}

/* --- targets of jobs ------------------------------------------------------------- */

static struct tally_slo *get_slo(struct tally *t, const struct snap_job *job)
{
	size_t at = array_find(t->n_slos, i, t->slos[i].id < job->id);
	struct tally_slo *slo;

	if (at < t->n_slos && t->slos[at].id == job->id && !strcmp(t->slos[at].job, job->name))
		return &t->slos[at];
	if (!array_reserve(&t->slos, &t->cap_slos, t->n_slos + 1, sizeof(*t->slos)))
		return NULL;
	slo = &t->slos[at];
	/* If an entry has this id, it is of another job and is replaced. */
	if (at == t->n_slos || slo->id != job->id) {
		memmove(slo + 1, slo, (t->n_slos - at) * sizeof(*slo));
		t->n_slos++;
	}
	*slo = (struct tally_slo){ .id = job->id, .since = job->time };
	memcpy(slo->job, job->name, sizeof(slo->job));
	return slo;
}

/* Forgets jobs that are gone. */
static void begin_slos(struct tally *t, const struct snapshot *snap)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_slos; i++) {
		size_t at = array_lookup(snap->n_jobs, k,
					 ARRAY_CMP(snap->jobs[k].id, t->slos[i].id));

		if (at < snap->n_jobs && !strcmp(snap->jobs[at].name, t->slos[i].job))
			t->slos[n++] = t->slos[i];
	}
	t->n_slos = n;
}

/* How many of @n requests in a bucket took at most @ns, if they are spread evenly over it. */
static double part_within(uint32_t bucket, double n, double ns)
{
	double lo = (double)swiftrdma_hist_floor(bucket);
	double hi = bucket + 1 < SWIFTRDMA_HIST_BUCKETS ?
		    (double)swiftrdma_hist_floor(bucket + 1) : lo;

	if (ns < lo)
		return 0;
	return ns >= hi ? bucket + 1 < SWIFTRDMA_HIST_BUCKETS ? n : 0 : n * (ns - lo) / (hi - lo);
}

static void add_slo(struct tally_slo *slo, const struct snap_job_report *was,
		    const struct snap_job_report *is, double target)
{
	for (uint32_t b = 0; b < SWIFTRDMA_HIST_BUCKETS; b++) {
		uint64_t n = counter_growth(was ? was->bucket[b] : 0, is->bucket[b]);

		if (!n)
			continue;
		slo->requests += (double)n;
		slo->met += part_within(b, (double)n, target);
	}
}

static int add_slos(struct tally *t, const struct snapshot *older, const struct signals *s)
{
	const struct snapshot *snap = s->snap;
	size_t o = 0;

	begin_slos(t, snap);
	for (size_t i = 0; i < snap->n_job_reports; i++) {
		const struct snap_job_report *r = &snap->job_reports[i], *was = NULL;
		size_t job = array_lookup(snap->n_jobs, k, ARRAY_CMP(snap->jobs[k].id, r->job));
		struct tally_slo *slo;
		double target;

		if (older &&
		    array_seek(older->n_job_reports, o,
			       ARRAY_CMP_2(&older->job_reports[o], r, job, dev)) &&
		    older->job_reports[o].sum.since == r->sum.since)
			was = &older->job_reports[o];
		if (job == snap->n_jobs || !signal_get(s, SIG_JOB_SLO_P99, job, &target))
			continue;
		slo = get_slo(t, &snap->jobs[job]);
		if (!slo)
			return -ENOMEM;
		if (older)
			add_slo(slo, was, r, target);
	}
	return 0;
}

int tally_add(struct tally *t, const struct snapshot *older, const struct signals *s,
	      const struct rank *uars, const struct rank *qps)
{
	if (name_owners(t, s->snap) || begin_rests(t, s->snap))
		return -ENOMEM;
	begin_owners(t, s->snap->time);
	add_uars(t, older, s, uars);
	add_qps(t, older, s, qps);
	return add_slos(t, older, s);
}
