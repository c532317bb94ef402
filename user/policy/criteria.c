// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "policy/criteria.h"

#include <stdio.h>
#include <string.h>

#define MS 1e6
#define SECOND 1e9

/*
 * The paper gives 80 %, 5 us, 30 and 15 % and 512 QPs (sections 3.2 and 4). The other values
 * are ours; comments give reasons.
 */
const struct criterion_known criteria_known[] = {
	{ "port_busy", UNIT_RATIO, 0.8 },
	{ "port_calm", UNIT_RATIO, 0.6 },	/* smoothed noise stays within the gap */
	{ "queue_delay", UNIT_TIME, 5000 },
	{ "queue_calm", UNIT_TIME, 2500 },	/* half of queue_delay */
	{ "miss_high", UNIT_RATIO, 0.3 },
	{ "miss_low", UNIT_RATIO, 0.15 },
	{ "qps_warn", UNIT_COUNT, 512 },
	{ "qps_safe", UNIT_COUNT, 256 },	/* half of qps_warn */
	{ "mtts_warn", UNIT_COUNT, 262144 },	/* 2 MB of 8 bytes, 1 GiB in 4 KiB */
	{ "mtts_many", UNIT_COUNT, 131072 },	/* half of mtts_warn */
	{ "pages_credits", UNIT_COUNT, 32 },
	{ "slo_near", UNIT_RATIO, 0.9 },
	{ "uar_contended", UNIT_RATIO, 0.5 },
	{ "uar_calm", UNIT_RATIO, 0.2 },
	{ "pcie_stalled", UNIT_RATIO, 0.1 },
	/*
	 * At this rate a lock that is held 0.45 us for each request is held a quarter of the time.
	 * The rate is not higher because waiting threads make a register slower. On a ConnectX-6,
	 * 96 threads on 16 registers post 19.2 M/s (SMART), 1.2 M/s on each register; in the model,
	 * 64 threads on one register of a ConnectX-5 post 0.6 M/s.
	 */
	{ "uar_wr_rate", UNIT_RATE, 5e5 },
	{ "migrate_rate", UNIT_RATE, 10 },	/* each QP is drained before it moves */
	{ "outstanding_wait", UNIT_COUNT, 4 },	/* with 8, thrash_loop gets 0.87 of the best rate */
	{ "outstanding_least", UNIT_COUNT, 256 },	/* a third of what a ConnectX-6 holds */
	{ "control_storm", UNIT_RATE, 1000 },
	{ "control_calm", UNIT_RATE, 300 },
	{ "create_limit", UNIT_RATE, 100 },
	{ "storm_hold", UNIT_TIME, 1e9 },	/* longer than connecting to many peers takes */
	{ "base_latency", UNIT_TIME, 2800 },	/* a whole round trip, fitted on a ConnectX-6 */
	{ "starve_qps", UNIT_COUNT, 1 },
	{ "starve_credits", UNIT_COUNT, 1 },
	{ "starve_rate", UNIT_BITRATE, 1e7 },
	{ "settle", UNIT_TIME, 1 * SECOND },
	{ "turns", UNIT_COUNT, 4 },
	{ "turns_within", UNIT_TIME, 30 * SECOND },
	{ "undo_hold", UNIT_TIME, 2 * SECOND },
	{ "cooldown", UNIT_TIME, 500 * MS },
};

const size_t criteria_n_known = sizeof(criteria_known) /
				sizeof(criteria_known[0]);

void criteria_init(struct criteria *c)
{
	memset(c, 0, sizeof(*c));
	for (; c->n < criteria_n_known; c->n++) {
		const struct criterion_known *k = &criteria_known[c->n];

		c->v[c->n] = (struct criterion){ .unit = k->unit, .v = k->v };
		snprintf(c->v[c->n].name, sizeof(c->v[c->n].name), "%s", k->name);
	}
}

const struct criterion *criteria_find(const struct criteria *c,
				      const char *name, size_t n)
{
	size_t i;

	for (i = 0; c && i < c->n; i++)
		if (strlen(c->v[i].name) == n && !memcmp(c->v[i].name, name, n))
			return &c->v[i];
	return NULL;
}

double criteria_value(const struct criteria *c, const char *name)
{
	const struct criterion *cr = criteria_find(c, name, strlen(name));

	return cr ? cr->v : 0;
}
