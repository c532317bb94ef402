// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Whatever a socket might give: a buffer of netlink messages, a message's
 * attributes, and a request with an offset into it.
 */
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "io/answer.h"
#include "io/merge.h"
#include "io/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the parser lets through must be usable without a further look. */
static void use(struct snapshot *s)
{
	for (size_t i = 0; i < s->n_qps; i++)
		if (snap_has(&s->qps[i], SNAP_OWNER) &&
		    s->qps[i].owner >= s->n_owners)
			abort();
	for (size_t i = 0; i < s->n_owners; i++)
		if (strlen(s->owners[i].cgroup) >= SNAP_PATH ||
		    strlen(s->owners[i].comm) >= SNAP_COMM)
			abort();
	srdma_sort_others(s);
	srdma_sort_qps(s->qps, s->n_qps);
	for (size_t i = 0; i < s->n_jobs; i++)
		for (size_t k = 0; k < s->jobs[i].n_rules; k++)
			if (strlen(s->jobs[i].rules[k].exe) >= SNAP_EXE)
				abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Kept over the runs, as an agent keeps them over its ticks. */
	static struct snapshot snap;
	static struct snap_action *actions;
	static size_t cap_actions;
	struct srdma_reading r = {
		.snap = &snap,
		.qps = &snap.qps, .n_qps = &snap.n_qps,
		.cap_qps = &snap.cap_qps,
		.actions = actions, .cap_actions = cap_actions,
	};
	struct srdma_answer a = { 0 };
	uint32_t offset = 0;
	char name[64];
	void *copy;

	if (size < 8)
		return 0;
	snap.n_devs = snap.n_ports = snap.n_uars = snap.n_qps = 0;
	snap.n_jobs = snap.n_owners = 0;
	/* A block of just that size, aligned as a receive buffer is. */
	copy = malloc(size - 4);
	memcpy(copy, data + 4, size - 4);
	switch (data[0] % 3) {
	case 0:
		srdma_parse(copy, size - 4, &r);
		break;
	case 1:
		srdma_answer(copy, size - 4, data[1], data[2], &r, &a);
		break;
	case 2:
		memcpy(&offset, data + 1, 2);
		srdma_attr_name(copy, size - 4, offset, name, sizeof(name));
		srdma_missing_name(copy, size - 4, offset, data[3], name,
				   sizeof(name));
	}
	free(copy);
	use(&snap);
	actions = r.actions;
	cap_actions = r.cap_actions;
	return 0;
}
