// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/port_class.h"

#include <stdio.h>

#define BITS	8

static const struct snap_port *find_port(const struct snapshot *s, const struct snap_port *p)
{
	size_t at = array_lookup(s->n_ports, i, SNAP_CMP_INDEX(&s->ports[i], p));

	return at < s->n_ports ? &s->ports[at] : NULL;
}

static const struct snap_prio *find_prio(const struct snapshot *s, const struct snap_prio *p)
{
	size_t at = array_lookup(s->n_prios, i, ARRAY_CMP_3(&s->prios[i], p, dev, port, index));

	return at < s->n_prios ? &s->prios[at] : NULL;
}

static double rate_of(uint64_t was, uint64_t is, uint64_t t0, uint64_t t1)
{
	double rate;

	return signal_per_second(was, is, t0, t1, &rate) ? rate * BITS : 0;
}

/* Returns 0, too, if the NIC was not queried since the reading before: no count changed. */
static size_t by_priority(const struct snapshot *older, const struct snapshot *snap,
			  const struct snap_port *port, struct port_class *to)
{
	const struct snap_port *was = find_port(older, port);
	size_t n = 0;

	if (!was || !snap_has(port, SNAP_DETAIL) || !snap_has(was, SNAP_DETAIL))
		return 0;
	for (size_t i = 0; i < snap->n_prios && n < PORT_CLASSES; i++) {
		const struct snap_prio *p = &snap->prios[i], *old;
		struct port_class c = { .has_rx = true };

		if (p->dev != port->dev || p->port != port->index)
			continue;
		old = find_prio(older, p);
		if (!old)
			continue;
		c.tx = rate_of(old->tx_bytes, p->tx_bytes, was->detail_time, port->detail_time);
		c.rx = rate_of(old->rx_bytes, p->rx_bytes, was->detail_time, port->detail_time);
		if (c.tx <= 0 && c.rx <= 0)
			continue;
		snprintf(c.name, sizeof(c.name), "priority %u", p->index);
		to[n++] = c;
	}
	return n;
}

static struct port_class *class_named(struct port_class *to, size_t *n, const char *name)
{
	for (size_t i = 0; i < *n; i++)
		if (!strcmp(to[i].name, name))
			return &to[i];
	if (*n == PORT_CLASSES - 1)
		return NULL;
	to[*n] = (struct port_class){ 0 };
	snprintf(to[*n].name, sizeof(to[*n].name), "%s", name);
	return &to[(*n)++];
}

static size_t by_job_class(const struct figures *f, const struct snapshot *older,
			   const struct snap_port *port, double all, struct port_class *to)
{
	const struct snapshot *snap = figures_snap(f);
	double sum = 0, rate;
	size_t n = 0;

	for (size_t i = 0; i < snap->n_jobs; i++) {
		const char *class = vocab_word_name(UNIT_CLASS, snap->jobs[i].class);
		struct port_class *c;
		char name[SNAP_NAME];

		if (!class || signals_reported_rate(&f->sig, older, i, port->dev,
						    offsetof(struct snap_figures, bytes), &rate) !=
			      REPORTED || rate <= 0)
			continue;
		snprintf(name, sizeof(name), "%.20s jobs", class);
		c = class_named(to, &n, name);
		if (!c)
			continue;
		c->tx += rate * BITS;
		sum += rate * BITS;
	}
	if (!n || all <= sum)
		return n;
	class_named(to, &n, "other")->tx = all - sum;
	return n;
}

size_t port_classes(const struct figures *f, size_t row, struct port_class *to)
{
	const struct snapshot *snap = figures_snap(f), *older = figures_older(f);
	const struct snap_port *port = &snap->ports[row];
	const struct snap_dev *dev;
	double all;
	size_t n;

	if (!older)
		return 0;
	n = by_priority(older, snap, port, to);
	if (n)
		return n;
	dev = reading_dev(snap, port->dev);
	if (!dev || dev->ports != 1 || !signal_get(&f->sig, SIG_PORT_TX_RATE, row, &all))
		return 0;
	return by_job_class(f, older, port, all, to);
}
