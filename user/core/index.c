// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Indexes which objects belong together. QPs name their device, port, UAR and job by number;
 * a policy ranges over the QPs and ports of a job. The lists are built by counting, so the
 * cost is one pass over the QPs per list.
 */
#include "core/signal.h"

#include <string.h>

int32_t signals_dev_row(const struct snapshot *snap, uint32_t dev)
{
	size_t lo = 0, hi = snap->n_devs;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (snap->devs[mid].index < dev)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < snap->n_devs && snap->devs[lo].index == dev ?
	       (int32_t)lo : -1;
}

static int32_t port_row(const struct snapshot *snap, uint32_t dev,
			uint32_t index)
{
	size_t lo = 0, hi = snap->n_ports;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct snap_port *p = &snap->ports[mid];

		if (p->dev < dev || (p->dev == dev && p->index < index))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < snap->n_ports && snap->ports[lo].dev == dev &&
	       snap->ports[lo].index == index ? (int32_t)lo : -1;
}

static int32_t uar_row(const struct snapshot *snap, uint32_t dev,
		       uint32_t index)
{
	size_t lo = 0, hi = snap->n_uars;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct snap_uar *u = &snap->uars[mid];

		if (u->dev < dev || (u->dev == dev && u->index < index))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < snap->n_uars && snap->uars[lo].dev == dev &&
	       snap->uars[lo].index == index ? (int32_t)lo : -1;
}

static int32_t job_row(const struct snapshot *snap, uint32_t id)
{
	size_t lo = 0, hi = snap->n_jobs;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (snap->jobs[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < snap->n_jobs && snap->jobs[lo].id == id ? (int32_t)lo : -1;
}

/* Turns the counts in first[1..n] into the start of each list, in first[0..n]. */
static void prefix_sum(uint32_t *first, size_t n)
{
	size_t i;

	for (i = 1; i <= n; i++)
		first[i] += first[i - 1];
}

/* Restores the starts, which filling the lists moved. */
static void shift_back(uint32_t *first, size_t n)
{
	size_t i;

	for (i = n; i > 0; i--)
		first[i] = first[i - 1];
	first[0] = 0;
}

static void name(struct signals *s, enum obj_kind kind, size_t row,
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
		ref->port = snap_has(qp, SNAP_PORT) ?
			    port_row(snap, qp->dev, qp->port) : -1;
		ref->uar = snap_has(qp, SNAP_UAR) ?
			   uar_row(snap, qp->dev, qp->uar) : -1;
		ref->job = job_row(snap, qp->job);
		/* Follows from the others. */
		ref->place = was.place;
		name(s, OBJ_QP, i, qp->dev, qp->qpn, qp->serial);
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

/* Each device has a place for QPs whose port is unknown, and one place has no device. */
static size_t mark_of(const struct snapshot *snap,
		      const struct signal_qp_ref *ref)
{
	return ref->port >= 0 ? (size_t)ref->port :
				snap->n_ports + 1 + (size_t)ref->dev;
}

static void index_places(struct signals *s)
{
	const struct snapshot *snap = s->snap;
	uint32_t n = 0, ports = 0, k, *mark;
	size_t j;

	memset(s->mark, 0, (snap->n_ports + snap->n_devs + 1) *
			   sizeof(*s->mark));
	for (j = 0; j < snap->n_jobs; j++) {
		s->port_first[j] = ports;
		s->place_first[j] = n;
		for (k = s->job_first[j]; k < s->job_first[j + 1]; k++) {
			struct signal_qp_ref *ref = &s->qps[s->job_qps[k]];

			/* The last place that was made for it, plus one. */
			mark = &s->mark[mark_of(snap, ref)];
			if (*mark <= s->place_first[j]) {
				s->places[n] = (struct signal_place){
					ref->dev, ref->port, 0,
				};
				*mark = ++n;
				if (ref->port >= 0)
					s->job_ports[ports++] =
						(uint32_t)ref->port;
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
		name(s, OBJ_DEV, i, 0, snap->devs[i].index,
		     snap->devs[i].since);
	for (i = 0; i < snap->n_ports; i++)
		name(s, OBJ_PORT, i, snap->ports[i].dev, snap->ports[i].index,
		     0);
	for (i = 0; i < snap->n_uars; i++)
		name(s, OBJ_UAR, i, snap->uars[i].dev, snap->uars[i].index,
		     snap->uars[i].since);
	for (i = 0; i < snap->n_jobs; i++)
		/* A job of another class has other policies. */
		name(s, OBJ_JOB, i, 0, snap->jobs[i].id, snap->jobs[i].since ^
		     (uint64_t)snap->jobs[i].class << 56);
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
static uint32_t first_of(const struct signals *s, enum obj_kind of,
			 uint64_t dev)
{
	uint32_t lo = 0, hi = (uint32_t)s->table[of].n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (dev_of(s->snap, of, mid) < dev)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
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
		dev = on == OBJ_DEV ? snap->devs[row].index :
				      snap->ports[row].dev;
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
