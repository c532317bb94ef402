// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Finds the next event of many sources, each of which has one time or none: a tournament tree.
 * Each source is a leaf, and each node above has the sooner event of its two children,
 * so the root, node 1, has the first of all. Of two at the same time the left one wins,
 * which has the lower source: the order is always the same.
 *
 * A new time changes only the nodes on the way from its leaf to the root. Which child
 * wins cannot be predicted, so the winner is chosen without a branch, and stays in
 * registers on its way up: to read it back from the tree would take longer than the
 * comparison. A heap makes fewer comparisons, but each of them is a branch.
 */
#include "model/internal.h"

/* A power of two, so that all leaves are at one depth. */
static uint32_t count_leaves(uint32_t sources)
{
	uint32_t n = 1;

	while (n < sources)
		n *= 2;
	return n;
}

/* A node has the index of its children divided by two; there is no node 0. */
size_t model_events_nodes(uint32_t sources)
{
	return 2 * (size_t)count_leaves(sources);
}

void model_events_init(struct model_events *e, uint64_t *when, uint32_t *src, uint32_t sources)
{
	size_t i;

	e->when = when;
	e->src = src;
	e->leaf = count_leaves(sources);
	for (i = 0; i < model_events_nodes(sources); i++) {
		when[i] = MODEL_NEVER;
		src[i] = MODEL_NONE;
	}
}
