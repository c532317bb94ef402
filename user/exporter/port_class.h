/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The traffic of a port by class. Where the NIC counts priorities these are the classes.
 * Elsewhere, if the port is its device's only one, they are the classes of jobs, by the bytes that
 * libraries in the processes of jobs posted; the rest of what the port sent is "other".
 */
#ifndef SRDMA_EXPORTER_PORT_CLASS_H
#define SRDMA_EXPORTER_PORT_CLASS_H

#include "exporter/figures.h"

#define PORT_CLASSES	16

struct port_class {
	char name[SNAP_NAME];	/* "priority 3", "latency jobs", "other" */
	bool has_rx;
	double tx, rx;		/* bit/s */
};

/* Classes with traffic of the port in @row of the snapshot. Returns their number. */
size_t port_classes(const struct figures *f, size_t row, struct port_class *to);

#endif /* SRDMA_EXPORTER_PORT_CLASS_H */
