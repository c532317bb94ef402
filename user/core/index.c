// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Finds which objects belong together. QPs name their device, port, UAR and job by number;
 * a policy ranges over the QPs and ports of a job. The lists are built by counting, so each
 * list costs one pass over the QPs.
 */
#include "core/signal.h"

#include <string.h>

#include "base/array.h"

static int32_t row_or_none(size_t row, size_t n)
{
	return row < n ? (int32_t)row : -1;
}

int32_t signals_dev_row(const struct snapshot *snap, uint32_t dev)
{
	size_t n = snap->n_devs;

	return row_or_none(array_lookup(n, i, ARRAY_CMP(snap->devs[i].index, dev)), n);
}

/* Turns the counts in first[1..n] into the start of each list, in first[0..n]. */
static void prefix_sum(uint32_t *first, size_t n)
{
	size_t i;

	for (i = 1; i <= n; i++)
		first[i] += first[i - 1];
}

/* Restores the starts, each of which was moved to the end of its list when that was filled. */
static void shift_back(uint32_t *first, size_t n)
{
	size_t i;

	for (i = n; i > 0; i--)
		first[i] = first[i - 1];
	first[0] = 0;
}

/* Sets the identity of a row. A new one changes the topology. */
static void set_key(struct signals *s, enum obj_kind kind, size_t row,
		    uint32_t dev, uint32_t index, uint64_t since)
{
	struct signal_key *key = &s->table[kind].key[row];

	if (key->dev == dev && key->index == index && key->since == since)
		return;
	*key = (struct signal_key){ dev, index, since };
	s->topology++;
}

/* The list of QP @ref's job, or that of QPs without a job. */
static size_t list_of_job(const struct snapshot *snap, const struct signal_qp_ref *ref)
{
	return ref->job >= 0 ? (size_t)ref->job : snap->n_jobs;
}

/*
 * Finds the objects that @qp belongs to. Tries the rows of the reading before, @was, first, because
 * a search takes longer than all other work for a QP here.
 */
static struct signal_qp_ref find_ref(const struct snapshot *snap, const struct snap_qp *qp,
				     const struct signal_qp_ref *was)
{
	const struct signal_key port = { .dev = qp->dev, .index = qp->port };
	const struct signal_key uar = { .dev = qp->dev, .index = qp->uar };
	struct signal_qp_ref ref = { .port = -1, .uar = -1, .at = was->at };
	size_t n;

	n = snap->n_devs;
	ref.dev = row_or_none(array_lookup_near(n, was->dev, i,
						ARRAY_CMP(snap->devs[i].index, qp->dev)), n);
	n = snap->n_ports;
	if (snap_has(qp, SNAP_PORT))
		ref.port = row_or_none(array_lookup_near(n, was->port, i,
				       SNAP_CMP_INDEX(&snap->ports[i], &port)), n);
	n = snap->n_uars;
	if (snap_has(qp, SNAP_UAR))
		ref.uar = row_or_none(array_lookup_near(n, was->uar, i,
				      SNAP_CMP_INDEX(&snap->uars[i], &uar)), n);
	n = snap->n_jobs;
	ref.job = row_or_none(array_lookup_near(n, was->job, i,
						ARRAY_CMP(snap->jobs[i].id, qp->job)), n);
	return ref;
}

static void find_refs(struct signals *s, const struct signal_rows *rows)
{
	const struct snapshot *snap = s->snap;
	size_t i, k;

	for (k = 0; k < rows->n; k++) {
		const struct snap_qp *qp = &snap->qps[i = signal_row_at(rows, k)];
		const struct signal_qp_ref was = s->qps[i];

		s->qps[i] = find_ref(snap, qp, &was);
		set_key(s, OBJ_QP, i, qp->dev, qp->qpn, qp->serial);
		if (memcmp(&was, &s->qps[i], sizeof(was)))
			s->topology++;
	}
}

/* Lists the QPs of each job and UAR. */
static void list_qps(struct signals *s)
{
	const struct snapshot *snap = s->snap;
	size_t i;

	memset(s->job_first, 0, (snap->n_jobs + 2) * sizeof(*s->job_first));
	memset(s->uar_first, 0, (snap->n_uars + 1) * sizeof(*s->uar_first));
	for (i = 0; i < snap->n_qps; i++) {
		s->job_first[list_of_job(snap, &s->qps[i]) + 1]++;
		if (s->qps[i].uar >= 0)
			s->uar_first[s->qps[i].uar + 1]++;
	}
	prefix_sum(s->job_first, snap->n_jobs + 1);
	prefix_sum(s->uar_first, snap->n_uars);
	for (i = 0; i < snap->n_qps; i++) {
		const struct signal_qp_ref *ref = &s->qps[i];

		s->job_qps[s->job_first[list_of_job(snap, ref)]++] = (uint32_t)i;
		if (ref->uar >= 0)
			s->uar_qps[s->uar_first[ref->uar]++] = (uint32_t)i;
	}
	shift_back(s->job_first, snap->n_jobs + 1);
	shift_back(s->uar_first, snap->n_uars);
}

/*
 * The mark of a QP. Each port has one. QPs without a port have one for each device, and one if the
 * device is unknown, too.
 */
static size_t mark_of(const struct snapshot *snap, const struct signal_qp_ref *ref)
{
	return ref->port >= 0 ? (size_t)ref->port : snap->n_ports + (size_t)(ref->dev + 1);
}

/* The place of a QP of the job that was counted last. */
static struct signal_place *place_of(const struct signals *s, const struct signal_qp_ref *ref)
{
	return &s->places[s->mark[mark_of(s->snap, ref)] - 1];
}

/* Counts QPs [k, end) of .job_qps by place. Makes places from @n on, and returns their end. */
static uint32_t count_places(struct signals *s, uint32_t n, uint32_t k, uint32_t end)
{
	uint32_t first = n, *mark;

	for (; k < end; k++) {
		const struct signal_qp_ref *ref = &s->qps[s->job_qps[k]];

		/* The last place that was made for this mark, plus one. */
		mark = &s->mark[mark_of(s->snap, ref)];
		if (*mark <= first) {
			s->places[n] = (struct signal_place){ .dev = ref->dev, .port = ref->port };
			*mark = ++n;
		}
		s->places[*mark - 1].end++;
	}
	return n;
}

/* Gives QPs [k, end) of .job_qps their rows, by the places [first, last). */
static void order_by_place(struct signals *s, uint32_t first, uint32_t last, uint32_t k,
			   uint32_t end)
{
	uint32_t i, row = k;

	for (i = first; i < last; i++) {
		struct signal_place *p = &s->places[i];

		p->first = row;
		row += p->end;
		p->end = p->first;
	}
	for (i = k; i < end; i++) {
		struct signal_qp_ref *ref = &s->qps[s->job_qps[i]];

		ref->at = place_of(s, ref)->end++;
	}
}

/* Orders the QPs of each job by place; see struct signals. */
static void order_qps(struct signals *s)
{
	const struct snapshot *snap = s->snap;
	uint32_t n = 0, end;
	size_t i;

	memset(s->mark, 0, (snap->n_ports + snap->n_devs + 1) * sizeof(*s->mark));
	for (i = 0; i <= snap->n_jobs; i++) {
		s->place_first[i] = n;
		end = count_places(s, n, s->job_first[i], s->job_first[i + 1]);
		order_by_place(s, n, end, s->job_first[i], s->job_first[i + 1]);
		n = end;
	}
	s->place_first[snap->n_jobs + 1] = n;
	for (i = 0; i < snap->n_qps; i++) {
		s->job_qps[s->qps[i].at] = (uint32_t)i;
		s->uar_of[s->qps[i].at] = s->qps[i].uar;
	}
}

/* Sets the identities of all rows but QPs. */
static void set_keys(struct signals *s)
{
	const struct snapshot *snap = s->snap;
	size_t i;

	for (i = 0; i < snap->n_devs; i++)
		set_key(s, OBJ_DEV, i, 0, snap->devs[i].index, snap->devs[i].since);
	for (i = 0; i < snap->n_ports; i++)
		set_key(s, OBJ_PORT, i, snap->ports[i].dev, snap->ports[i].index, 0);
	for (i = 0; i < snap->n_uars; i++)
		set_key(s, OBJ_UAR, i, snap->uars[i].dev, snap->uars[i].index,
			snap->uars[i].since);
	for (i = 0; i < snap->n_jobs; i++)
		/* The class is part of the identity: when it changes, other policies apply. */
		set_key(s, OBJ_JOB, i, 0, snap->jobs[i].id,
			snap->jobs[i].since ^ (uint64_t)snap->jobs[i].class << 56);
}

struct signal_rows signals_index(struct signals *s, struct signal_rows changed)
{
	const struct signal_rows all = { .all = true, .n = s->snap->n_qps };

	set_keys(s);
	if (!s->listed || s->listed != s->topology)
		changed = all;
	find_refs(s, &changed);
	if (s->listed && s->listed == s->topology)
		return changed;
	list_qps(s);
	order_qps(s);
	s->listed = s->topology;
	return all;
}
