// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "policy/criteria.h"

#include <string.h>

#define MS 1e6
#define SECOND 1e9

/*
 * 80 %, 5 us, 30 and 15 %, 512 QPs are the paper's (sections 3.2 and 4). The
 * others it leaves open; each says what it was chosen by.
 */
const struct criterion_known criteria_known[] = {
	{ "port_busy", UNIT_RATIO, 0.8,
	  "a port is contended above it" },
	{ "port_calm", UNIT_RATIO, 0.6,
	  "and no longer below it: a gap wide enough for a smoothed signal" },
	{ "queue_delay", UNIT_TIME, 5000,
	  "wait in a QP that counts as head-of-line blocking" },
	{ "queue_calm", UNIT_TIME, 2500,
	  "and no longer below it: half" },
	{ "miss_high", UNIT_RATIO, 0.3,
	  "share of context lookups that miss: the cache is contended" },
	{ "miss_low", UNIT_RATIO, 0.15,
	  "and has room" },
	{ "qps_warn", UNIT_COUNT, 512,
	  "QPs of a device above which its cache may be contended" },
	{ "qps_safe", UNIT_COUNT, 256,
	  "and below which there is room for more: half" },
	{ "mtts_warn", UNIT_COUNT, 262144,
	  "translations of a device above which its cache is contended: 2 MB of 8 bytes, or 1 GiB in pages of 4 KiB" },
	{ "mtts_many", UNIT_COUNT, 131072,
	  "and those of one job by which it is the one that fills it: half" },
	{ "pages_credits", UNIT_COUNT, 32,
	  "outstanding work requests that such a job keeps: so many fetches at a time" },
	{ "slo_near", UNIT_RATIO, 0.9,
	  "share of a latency target at which it is about to be missed" },
	{ "uar_contended", UNIT_RATIO, 0.5,
	  "share of readings in which two QPs or more rang one UAR" },
	{ "uar_calm", UNIT_RATIO, 0.2,
	  "and up to which a process is not said to crowd on it" },
	{ "pcie_stalled", UNIT_RATIO, 0.1,
	  "share of the time in which PCIe held the NIC up: it is contended" },
	{ "uar_wr_rate", UNIT_RATE, 2e6,
	  "work requests of a UAR above which sharing it is felt: with a lock held 0.45 us each" },
	{ "migrate_rate", UNIT_RATE, 10,
	  "QPs a second that may move to another UAR: each is drained first" },
	{ "outstanding_wait", UNIT_COUNT, 8,
	  "times base_latency that a job's p99 is when the NIC has too many of its work requests" },
	{ "outstanding_least", UNIT_COUNT, 256,
	  "outstanding work requests that a job keeps then: a third of what a ConnectX-6 holds" },
	{ "control_storm", UNIT_RATE, 1000,
	  "control verbs a second that keep a processing unit from data" },
	{ "control_calm", UNIT_RATE, 300,
	  "and no longer below it" },
	{ "create_limit", UNIT_RATE, 100,
	  "new QPs a second that a job is left with in a storm" },
	{ "storm_hold", UNIT_TIME, 1e9,
	  "how long a job must have stormed: who connects to many at once is done by then" },
	{ "base_latency", UNIT_TIME, 2800,
	  "no request is answered sooner: post, unit, wire and back (fitted on ConnectX-6)" },
	{ "starve_qps", UNIT_COUNT, 1,
	  "QPs that a best-effort job keeps" },
	{ "starve_credits", UNIT_COUNT, 1,
	  "outstanding work requests that a best-effort job keeps" },
	{ "starve_rate", UNIT_BITRATE, 1e7,
	  "bandwidth that a best-effort job keeps" },
	{ "settle", UNIT_TIME, 1 * SECOND,
	  "time in which an act shows: until then no other cause is acted on" },
	{ "turns", UNIT_COUNT, 4,
	  "turns of a knob, up and down, within turns_within, before it is damped" },
	{ "turns_within", UNIT_TIME, 30 * SECOND, "see turns" },
	{ "undo_hold", UNIT_TIME, 2 * SECOND,
	  "how long a contention must be over before what was done is taken back" },
	{ "cooldown", UNIT_TIME, 500 * MS,
	  "between two steps of a derived policy" },
};

const size_t criteria_n_known = sizeof(criteria_known) /
				sizeof(criteria_known[0]);

void criteria_init(struct criteria *c)
{
	size_t i;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < criteria_n_known; i++) {
		struct text t;

		text_init(&t, c->v[i].name, sizeof(c->v[i].name));
		text_str(&t, criteria_known[i].name);
		c->v[i].unit = criteria_known[i].unit;
		c->v[i].v = criteria_known[i].v;
	}
	c->n = criteria_n_known;
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
