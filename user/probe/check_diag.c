// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which diagnostic counters the NIC has. It lists their ids among its capabilities. Only the
 * kernel may read their values.
 */
#include <stdio.h>

#include "base/text.h"
#include "probe/prm.h"
#include "probe/probe.h"

/* Those that the module reads (kmod/mlx5/diag.c) and public documentation names. */
static const struct {
	uint32_t id;
	const char *name;
} assumed[] = {
	{ 0x403, "stalled PCI reads" },
	{ 0x801, "MTT misses" },
	{ 0x802, "MTT hits" },
};

#define N_ASSUMED	(sizeof(assumed) / sizeof(assumed[0]))
#define ROOM		((PRM_CAP_BYTES * 8 - PRM_DIAGNOSTIC_IDS) / 32)

static uint32_t diag_id(const uint8_t *debug, uint32_t i)
{
	return prm_get(debug, PRM_DIAGNOSTIC_IDS + 32 * i, 32) & 0xffff;
}

static bool has_id(const uint8_t *debug, uint32_t n, uint32_t id)
{
	for (uint32_t i = 0; i < n; i++)
		if (diag_id(debug, i) == id)
			return true;
	return false;
}

static void list_ids(struct probe_finding *f, const uint8_t *debug, uint32_t n)
{
	char list[256], id[12];
	struct text t;

	text_init(&t, list, sizeof(list));
	for (uint32_t i = 0; i < n; i++) {
		snprintf(id, sizeof(id), "%s0x%x", i ? " " : "", diag_id(debug, i));
		text_str(&t, id);
	}
	finding_say(f, "%u counters: %s%s", n, list, t.cut ? "..." : "");
}

void check_diag(struct probe *p, struct probe_finding *f)
{
	uint8_t general[PRM_CAP_BYTES], debug[PRM_CAP_BYTES];
	struct prm_error e;
	uint32_t n;

	if (prm_query_cap(p->nic.ctx, PRM_CAP_GENERAL, general, &e)) {
		finding_cannot(f, "QUERY_HCA_CAP: %s", prm_words(&e));
		return;
	}
	n = prm_get(general, PRM_NUM_DIAGNOSTIC);
	if (!prm_get(general, PRM_HAS_DEBUG) || !n) {
		finding_cannot(f, "this NIC, or this function of it, has no diagnostic counters");
		return;
	}
	if (prm_query_cap(p->nic.ctx, PRM_CAP_DEBUG, debug, &e)) {
		finding_cannot(f, "QUERY_HCA_CAP: %s", prm_words(&e));
		return;
	}
	n = n < ROOM ? n : ROOM;
	for (size_t i = 0; i < N_ASSUMED; i++)
		finding_compare(f, PROBE_EXACT, NULL, 1, has_id(debug, n, assumed[i].id),
				"0x%x, %s", assumed[i].id, assumed[i].name);
	list_ids(f, debug, n);
}
