/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The effect of class levels on one Ethernet port: doctor_qos.c judges it,
 * doctor_layout.c works out a better layout.
 */
#ifndef SRDMA_CLI_DOCTOR_QOS_H
#define SRDMA_CLI_DOCTOR_QOS_H

#include "cli/doctor.h"

/* Where the port sends a DSCP. */
struct qos_way {
	uint8_t dscp, prio, tc;
	bool mapped;		/* the priority is known */
};

struct qos {
	struct doctor *d;
	const struct host_net *net;
	const struct host_dcb *dcb;
	char object[DOCTOR_OBJECT];
	struct qos_way base[HOST_DSCPS];	/* of traffic without a level */
	size_t n_base;
	uint32_t qps;		/* QPs that ask for it; 0: assumed */
	/* Sorted. Levels without an effect are left out. */
	struct io_level level[DOCTOR_LEVELS];
	struct qos_way way[DOCTOR_LEVELS];
	size_t n;
};

struct qos_way qos_way(const struct host_dcb *dcb, uint32_t dscp);
bool qos_lossless(const struct host_dcb *dcb, uint8_t prio);
/* Is traffic without a level lossless? */
bool qos_base_lossless(const struct qos *q);
/*
 * Compares two traffic classes. > 0: @a is served first; < 0: @b is; 0: they share the
 * bandwidth, or only the device knows.
 */
int qos_served(const struct host_dcb *dcb, uint8_t a, uint8_t b);

/* These add a command to the last finding, if one helps. */

/* Maps each unmapped DSCP to a priority. */
void qos_mend_map(struct qos *q);
/*
 * Gives each level a priority and a traffic class of its own, served before those of
 * lower levels and of traffic without a level, and lossless if that traffic is. All
 * levels must be mapped and have different DSCPs.
 */
void qos_mend_layout(struct qos *q);
/* Gives level @i another DSCP of the same priority. */
void qos_mend_dscp(struct qos *q, size_t i);
/* Gives level @i another DSCP of another priority. */
void qos_mend_apart(struct qos *q, size_t i);

#endif /* SRDMA_CLI_DOCTOR_QOS_H */
