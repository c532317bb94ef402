// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What swiftrdma.ko knows of the device under test. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "probe/probe.h"

/* The module reads priorities once a second at most. */
#define DETAIL_TRIES	100
#define DETAIL_US	100000

const struct snap_qp *probe_module_qp(struct probe *p, uint32_t qpn)
{
	const struct io_want want = {
		.qps = true, .dev = p->nic.name, .pid = (uint32_t)getpid(), .has_qpn = true,
		.qpn = qpn,
	};

	if (io_snapshot(p->io, &p->snap, &want) < 0)
		return NULL;
	for (size_t i = 0; i < p->snap.n_qps; i++)
		if (p->snap.qps[i].qpn == qpn)
			return &p->snap.qps[i];
	return NULL;
}

int probe_module_congestions(struct probe *p, uint64_t *events)
{
	const struct io_want want = { .devs = true, .dev = p->nic.name };

	if (!p->io || io_snapshot(p->io, &p->snap, &want) < 0)
		return -ENODATA;
	for (size_t i = 0; i < p->snap.n_devs; i++) {
		if (strcmp(p->snap.devs[i].name, p->nic.name) ||
		    !snap_has(&p->snap.devs[i], SNAP_CONGESTION))
			continue;
		*events = p->snap.devs[i].congestions;
		return 0;
	}
	return -ENODATA;
}

/* The time of the figures; 0: there are none. */
static uint64_t read_prios(struct probe *p, uint64_t frames[8])
{
	const struct io_want want = { .devs = true, .ports = true, .dev = p->nic.name };
	bool any = false;

	memset(frames, 0, 8 * sizeof(*frames));
	if (io_snapshot(p->io, &p->snap, &want) < 0)
		return 0;
	for (size_t i = 0; i < p->snap.n_prios; i++) {
		if (p->snap.prios[i].index > 7)
			continue;
		frames[p->snap.prios[i].index] = p->snap.prios[i].tx_packets;
		any = true;
	}
	for (size_t i = 0; i < p->snap.n_ports && any; i++)
		if (snap_has(&p->snap.ports[i], SNAP_DETAIL))
			return p->snap.ports[i].detail_time;
	return 0;
}

int probe_module_prios(struct probe *p, uint64_t frames[8])
{
	uint64_t start = nic_now(), time = 0;

	for (int i = 0; i < DETAIL_TRIES && time < start; i++) {
		if (i)
			nic_sleep_us(DETAIL_US);
		time = read_prios(p, frames);
		/* The first readings may have no figures. Give up after two seconds without any. */
		if (!time && i > 20)
			return -ENODATA;
	}
	return time >= start ? 0 : -ENODATA;
}
