// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Numbers out of the bounds that the module itself says. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>

#include "netlink_bad.h"
#include "policy.h"

/* Does the module take the attribute for what this program takes it? */
static bool same_kind(const struct rawnl_attr *a, const struct policy_attr *p)
{
	switch (a->kind) {
	case RAWNL_U32:
		return p->type == NL_ATTR_TYPE_U32;
	case RAWNL_U64:
		return p->type == NL_ATTR_TYPE_U64 || p->type == NL_ATTR_TYPE_S64;
	case RAWNL_STR:
		return p->type == NL_ATTR_TYPE_NUL_STRING && p->max_len == a->max;
	case RAWNL_FLAG:
		return p->type == NL_ATTR_TYPE_FLAG;
	default:
		return p->type == NL_ATTR_TYPE_NESTED;
	}
}

static bool try_number(const struct good *g, const struct rawnl_node *all,
		       struct rawnl_node *node, uint64_t number)
{
	uint64_t was = node->number;
	struct rawnl_reply reply;
	int err;

	node->number = number;
	rawnl_encode(&req, g->cmd, g->how, all, node, RAWNL_RIGHT);
	node->number = was;
	err = rawnl_call(&nl, &req, &reply, NULL, NULL) ?: reply.error;
	if (err == -ERANGE && !strcmp(reply.message, RANGE) && reply.offset == req.offset)
		return true;
	printf("# %s=%llu: error %d, offset %u, wanted %u; \"%s\"\n", node->attr->name,
	       (unsigned long long)number, err, reply.offset, req.offset, reply.message);
	return false;
}

/* How many bounds there are, in *@n. */
static bool try_bounds(const struct good *g, const struct rawnl_node *all,
		       struct rawnl_node *node, struct policy *p, uint32_t set, int *n)
{
	bool ok = true;

	for (; node; node = node->next) {
		struct policy_attr *a = &p->set[set][node->attr->type];
		uint64_t most = node->attr->kind == RAWNL_U32 ? UINT32_MAX : UINT64_MAX;

		a->tried = true;
		if (!same_kind(node->attr, a)) {
			printf("# %s: the module takes type %u, length %u\n", node->attr->name,
			       a->type, a->max_len);
			ok = false;
		} else if (node->attr->kind == RAWNL_NEST) {
			ok &= try_bounds(g, all, node->child, p, a->nest, n);
		} else if (node->attr->kind == RAWNL_U32 || node->attr->kind == RAWNL_U64) {
			if (a->min && a->type != NL_ATTR_TYPE_S64)
				ok &= try_number(g, all, node, (++*n, a->min - 1));
			if (a->max < most && a->type != NL_ATTR_TYPE_S64)
				ok &= try_number(g, all, node, (++*n, a->max + 1));
		}
	}
	return ok;
}

/*
 * The module's policy is the one description of what a request may carry: each number is
 * tried just out of its bounds, and each attribute must be in a good request of this
 * program, so that a new one is not forgotten here.
 */
void try_policies(void)
{
	static struct policy policies[SWIFTRDMA_CMD_MAX + 1];
	static bool read[SWIFTRDMA_CMD_MAX + 1];
	uint64_t before = hash_settings();
	struct rawnl_node *nodes;
	int n = 0;
	bool ok;

	for (size_t i = 0; i < n_goods; i++) {
		const struct good *g = &goods[i];
		struct policy *p = &policies[g->cmd];

		if (!read[g->cmd] && policy_get(nl.family, g->cmd, p))
			fail("the policy", -EIO);
		read[g->cmd] = true;
		nodes = rawnl_parse(g->text, vars);
		ok = try_bounds(g, nodes, nodes, p, p->top, &n);
		rawnl_free(nodes);
		point(ok && hash_settings() == before, "%s %s %.40s: nothing out of bounds is taken",
		      rawnl_cmd_name(g->cmd), how_name(g->how), g->text);
	}
	point(n > 20, "bounds that were tried: %d", n);
	for (int cmd = 0; cmd <= SWIFTRDMA_CMD_MAX; cmd++) {
		if (!read[cmd])
			continue;
		ok = true;
		for (int set = 0; set < POLICY_SETS; set++) {
			for (int type = 0; type < POLICY_TYPES; type++) {
				struct policy_attr *a = &policies[cmd].set[set][type];

				if (!a->type || a->tried)
					continue;
				printf("# attribute %d of set %d is in no good request\n", type, set);
				ok = false;
			}
		}
		point(ok, "%s: each attribute that it takes was tried", rawnl_cmd_name(cmd));
	}
}
