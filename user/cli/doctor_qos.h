/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What class levels come to on one Ethernet port: doctor_qos.c judges it,
 * doctor_layout.c says how it could be.
 */
#ifndef SRDMA_CLI_DOCTOR_QOS_H
#define SRDMA_CLI_DOCTOR_QOS_H

#include "cli/doctor.h"

/* Where a DSCP goes. */
struct qos_way {
	uint8_t dscp, prio, tc;
	bool mapped;		/* the priority is known */
};

struct qos {
	struct doctor *d;
	const struct host_net *net;
	const struct host_dcb *dcb;
	char object[DOCTOR_OBJECT];
	struct qos_way base[HOST_DSCPS];	/* of traffic that is not raised */
	size_t n_base;
	uint32_t qps;		/* that ask for it; 0: by default */
	/* Levels in their order; those that raise nothing are left out. */
	struct io_level level[DOCTOR_LEVELS];
	struct qos_way way[DOCTOR_LEVELS];
	size_t n;
};

struct qos_way qos_way(const struct host_dcb *dcb, uint32_t dscp);
bool qos_lossless(const struct host_dcb *dcb, uint8_t prio);
/* Does traffic that is not raised go in a lossless class? */
bool qos_base_lossless(const struct qos *q);
/*
 * Which of two traffic classes is served first: > 0: @a; < 0: @b; 0: neither, because
 * they share the bandwidth, or because only the device knows.
 */
int qos_served(const struct host_dcb *dcb, uint8_t a, uint8_t b);

/* These give a command to the last finding, if there is one that helps. */

/* A priority for each DSCP that has none. */
void qos_mend_map(struct qos *q);
/*
 * Of levels that are all mapped, and of different DSCPs: for each a priority and a
 * traffic class of its own, served before those of lower levels and of traffic that
 * is not raised, and as lossless as that is.
 */
void qos_mend_layout(struct qos *q);
/* Another DSCP for level @i, with the priority that it has. */
void qos_mend_dscp(struct qos *q, size_t i);
/* Another DSCP, with another priority. */
void qos_mend_apart(struct qos *q, size_t i);

#endif /* SRDMA_CLI_DOCTOR_QOS_H */
