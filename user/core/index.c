// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Finds which objects belong together. QPs name their device, port, UAR and job by number;
 * a policy ranges over the QPs and ports of a job. The lists are built by counting, so each
 * list costs one pass over the QPs.
 */
#include "core/signal.h"

#include <string.h>

#include "core/array.h"

static int32_t row_or_none(size_t row, size_t n)
{
	return row < n ? (int32_t)row : -1;
}

int32_t signals_dev_row(const struct snapshot *snap, uint32_t dev)
{
	size_t n = snap->n_devs;

	return row_or_none(array_lookup(n, i, ARRAY_CMP(snap->devs[i].index, dev)), n);
}

static int32_t port_row(const struct snapshot *snap, uint32_t dev, uint32_t index)
{
	const struct signal_key key = { .dev = dev, .index = index };
	size_t n = snap->n_ports;

	return row_or_none(array_lookup(n, i, SNAP_CMP_INDEX(&snap->ports[i], &key)), n);
}

static int32_t uar_row(const struct snapshot *snap, uint32_t dev, uint32_t index)
{
	const struct signal_key key = { .dev = dev, .index = index };
	size_t n = snap->n_uars;

	return row_or_none(array_lookup(n, i, SNAP_CMP_INDEX(&snap->uars[i], &key)), n);
}

/*
 * The same, but first where the QP's UAR was in the reading before, @row: with many UARs a
 * search takes longer than all else that is done for a QP here.
 */
static int32_t uar_row_near(const struct snapshot *snap, int32_t row, uint32_t dev,
			    uint32_t index)
{
	if (row >= 0 && (size_t)row < snap->n_uars && snap->uars[row].dev == dev &&
	    snap->uars[row].index == index)
		return row;
	return uar_row(snap, dev, index);
}

static int32_t job_row(const struct snapshot *snap, uint32_t id)
{
	size_t n = snap->n_jobs;

	return row_or_none(array_lookup(n, i, ARRAY_CMP(snap->jobs[i].id, id)), n);
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

static void index_qps(struct signals *s)
{
	const struct snapshot *snap = s->snap;
	size_t i;

	memset(s->job_first, 0, (snap->n_jobs + 1) * sizeof(*s->job_first));
	memset(s->uar_first, 0, (snap->n_uars + 1) * sizeof(*s->uar_first));
	for (i = 0; i < snap->n_qps; i++) {
		const struct snap_qp *qp = &snap->qps[i];
		struct signal_qp_ref was = s->qps[i], *ref = &s->qps[i];

		ref->dev = signals_dev_row(snap, qp->dev);
		ref->port = snap_has(qp, SNAP_PORT) ? port_row(snap, qp->dev, qp->port) : -1;
		ref->uar = snap_has(qp, SNAP_UAR) ?
			   uar_row_near(snap, was.uar, qp->dev, qp->uar) : -1;
		ref->job = job_row(snap, qp->job);
		/* Not compared: the place follows from port and job. */
		ref->place = was.place;
		set_key(s, OBJ_QP, i, qp->dev, qp->qpn, qp->serial);
		if (memcmp(&was, ref, sizeof(was)))
			s->topology++;
		if (ref->job >= 0)
			s->job_first[ref->job + 1]++;
		else
			ref->place = -1;
		if (ref->uar >= 0)
			s->uar_first[ref->uar + 1]++;
	}
	prefix_sum(s->job_first, snap->n_jobs);
	prefix_sum(s->uar_first, snap->n_uars);
	for (i = 0; i < snap->n_qps; i++) {
		const struct signal_qp_ref *ref = &s->qps[i];

		if (ref->job >= 0)
			s->job_qps[s->job_first[ref->job]++] = (uint32_t)i;
		if (ref->uar >= 0)
			s->uar_qps[s->uar_first[ref->uar]++] = (uint32_t)i;
	}
	shift_back(s->job_first, snap->n_jobs);
	shift_back(s->uar_first, snap->n_uars);
}

/* Marks are one for each port; for QPs without a port one for no device and one for each. */
static size_t mark_of(const struct snapshot *snap, const struct signal_qp_ref *ref)
{
	return ref->port >= 0 ? (size_t)ref->port : snap->n_ports + (size_t)(ref->dev + 1);
}

static void index_places(struct signals *s)
{
	const struct snapshot *snap = s->snap;
	uint32_t n = 0, ports = 0, k, *mark;
	size_t j;

	memset(s->mark, 0, (snap->n_ports + snap->n_devs + 1) * sizeof(*s->mark));
	for (j = 0; j < snap->n_jobs; j++) {
		s->port_first[j] = ports;
		s->place_first[j] = n;
		for (k = s->job_first[j]; k < s->job_first[j + 1]; k++) {
			struct signal_qp_ref *ref = &s->qps[s->job_qps[k]];

			/* The last place that was made for this mark, plus one. */
			mark = &s->mark[mark_of(snap, ref)];
			if (*mark <= s->place_first[j]) {
				s->places[n] = (struct signal_place){ ref->dev, ref->port, 0 };
				*mark = ++n;
				if (ref->port >= 0)
					s->job_ports[ports++] = (uint32_t)ref->port;
			}
			ref->place = (int32_t)*mark - 1;
			s->places[ref->place].qps++;
		}
	}
	s->port_first[snap->n_jobs] = ports;
	s->place_first[snap->n_jobs] = n;
}

void signals_index(struct signals *s)
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
		/* Other policies apply to a job once its class changes. */
		set_key(s, OBJ_JOB, i, 0, snap->jobs[i].id,
			snap->jobs[i].since ^ (uint64_t)snap->jobs[i].class << 56);
	index_qps(s);
	index_places(s);
}

static uint32_t dev_of(const struct snapshot *snap, enum obj_kind of,
		       uint32_t row)
{
	switch (of) {
	case OBJ_QP:
		return snap->qps[row].dev;
	case OBJ_UAR:
		return snap->uars[row].dev;
	default:
		return snap->ports[row].dev;
	}
}

/* The first row of @of whose device is @dev or a later one. */
static uint32_t first_of(const struct signals *s, enum obj_kind of, uint64_t dev)
{
	return (uint32_t)array_find(s->table[of].n, i, dev_of(s->snap, of, (uint32_t)i) < dev);
}

void members_init(struct members *m, const struct signals *s, enum obj_kind on,
		  uint32_t row, enum obj_kind of)
{
	const struct snapshot *snap = s->snap;
	uint64_t dev;

	*m = (struct members){ .s = s, .on = on, .of = of, .row = row };
	if (on == OBJ_JOB) {
		const uint32_t *first = of == OBJ_QP ? s->job_first :
						       s->port_first;

		m->list = of == OBJ_QP ? s->job_qps : s->job_ports;
		m->pos = first[row];
		m->end = first[row + 1];
	} else if (on == OBJ_UAR) {
		m->list = s->uar_qps;
		m->pos = s->uar_first[row];
		m->end = s->uar_first[row + 1];
	} else if (of == OBJ_JOB) {
		m->end = (uint32_t)snap->n_jobs;
	} else {
		dev = on == OBJ_DEV ? snap->devs[row].index : snap->ports[row].dev;
		m->pos = first_of(s, of, dev);
		m->end = first_of(s, of, dev + 1);
	}
}

static bool job_uses(const struct signals *s, uint32_t job, uint32_t port)
{
	uint32_t i;

	for (i = s->port_first[job]; i < s->port_first[job + 1]; i++)
		if (s->job_ports[i] == port)
			return true;
	return false;
}

bool members_next(struct members *m, uint32_t *row)
{
	while (m->pos < m->end) {
		*row = m->list ? m->list[m->pos] : m->pos;
		m->pos++;
		if (m->on != OBJ_PORT)
			return true;
		if (m->of == OBJ_QP ? m->s->qps[*row].port == (int32_t)m->row :
				      job_uses(m->s, *row, m->row))
			return true;
	}
	return false;
}
