// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Each attribute of the good requests in every wrong shape, and headers that are wrong. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "netlink_bad.h"

static int expected_error(const struct rawnl_attr *a, enum rawnl_wrong wrong)
{
	switch (wrong) {
	case RAWNL_SHORT:
		return a->kind == RAWNL_NEST ? -ERANGE : -EINVAL;
	case RAWNL_LONG:
		return a->kind == RAWNL_FLAG ? -ERANGE : -EINVAL;
	default:
		return -EINVAL;
	}
}

static const char *expected_words(const struct rawnl_attr *a, enum rawnl_wrong wrong)
{
	switch (wrong) {
	case RAWNL_OTHER:
		return a->kind == RAWNL_NEST ? NEST_MISSING : NO_NEST;
	case RAWNL_TWICE:
		return "attribute given twice";
	case RAWNL_UNKNOWN:
		return UNKNOWN;
	default:
		if (a->kind == RAWNL_U32 || a->kind == RAWNL_U64)
			return LENGTH;
		return a->kind == RAWNL_NEST && wrong == RAWNL_LONG ? LEFTOVER : INVALID;
	}
}

static bool wrong_applies(const struct rawnl_node *node, enum rawnl_wrong wrong)
{
	enum rawnl_kind kind = node->attr->kind;

	switch (wrong) {
	case RAWNL_SHORT:
		return kind != RAWNL_FLAG;
	case RAWNL_EMPTY:	/* of a nest: that it lacks something, see bads[] */
		return kind != RAWNL_FLAG && kind != RAWNL_NEST;
	case RAWNL_TWICE:
		return !node->attr->repeats;
	default:
		return true;
	}
}

static bool offset_promised(const struct good *g, const struct rawnl_node *node,
			    enum rawnl_wrong wrong)
{
	/* The end of a dump has words only; bytes that are left over are no attribute. */
	if (wrong == RAWNL_TWICE)
		return g->how == DO;
	return !(wrong == RAWNL_LONG && node->attr->kind == RAWNL_NEST);
}

static bool try_wrong(const struct good *g, const struct rawnl_node *nodes,
		      const struct rawnl_node *node, enum rawnl_wrong wrong)
{
	static const char *const names[] = {
		[RAWNL_SHORT] = "too short", [RAWNL_LONG] = "too long", [RAWNL_EMPTY] = "empty",
		[RAWNL_OTHER] = "the wrong kind", [RAWNL_TWICE] = "there twice",
		[RAWNL_UNKNOWN] = "next to one that does not exist",
	};
	const char *words = expected_words(node->attr, wrong);
	int wanted = expected_error(node->attr, wrong);
	struct rawnl_reply reply;
	int err;

	rawnl_encode(&req, g->cmd, g->how, nodes, node, wrong);
	err = rawnl_call(&nl, &req, &reply, NULL, NULL) ?: reply.error;
	if (err == wanted && !strcmp(reply.message, words) && !reply.answers &&
	    (!offset_promised(g, node, wrong) || reply.offset == req.offset))
		return true;
	printf("# %s: error %d, wanted %d; offset %u, wanted %u; \"%s\", wanted \"%s\"\n",
	       names[wrong], err, wanted, reply.offset, req.offset, reply.message, words);
	return false;
}

static void try_nodes(const struct good *g, const struct rawnl_node *all,
		      const struct rawnl_node *nodes, const char *path)
{
	const struct rawnl_node *node;
	enum rawnl_wrong wrong;
	uint64_t before;
	char name[256];
	bool ok;

	for (node = nodes; node; node = node->next) {
		snprintf(name, sizeof(name), "%s%s", path, node->attr->name);
		before = hash_settings();
		ok = true;
		for (wrong = RAWNL_RIGHT + 1; wrong < RAWNL_WRONGS; wrong++)
			if (wrong_applies(node, wrong))
				ok &= try_wrong(g, all, node, wrong);
		if (hash_settings() != before) {
			printf("# something was applied\n");
			ok = false;
		}
		point(ok, "%s %s: %s in every wrong shape", rawnl_cmd_name(g->cmd),
		      how_name(g->how), name);
		strcat(name, ".");
		try_nodes(g, all, node->child, name);
	}
}

void try_shapes(void)
{
	struct rawnl_node *nodes;

	for (size_t i = 0; i < n_goods; i++) {
		nodes = rawnl_parse(goods[i].text, vars);
		try_nodes(&goods[i], nodes, nodes, "");
		rawnl_free(nodes);
	}
}

/* The header before the attributes. @says: NULL: perhaps nothing. */
static void try_header(const char *name, void (*spoil)(struct rawnl_req *), int wanted,
		       const char *says)
{
	struct rawnl_reply reply;
	bool ok;
	int err;

	rawnl_encode(&req, SWIFTRDMA_CMD_DEV_GET, true, NULL, NULL, RAWNL_RIGHT);
	spoil(&req);
	err = rawnl_call(&nl, &req, &reply, NULL, NULL) ?: reply.error;
	ok = err == wanted && (!says || !strcmp(reply.message, says));
	if (!ok)
		printf("# error %d, wanted %d; \"%s\", wanted \"%s\"\n", err, wanted,
		       reply.message, says ?: "");
	point(ok, "%s", name);
}

static void spoil_cmd(struct rawnl_req *r)
{
	genl_of(r)->cmd = 200;
}

static void spoil_event(struct rawnl_req *r)
{
	genl_of(r)->cmd = SWIFTRDMA_CMD_QP_CREATED_NTF;
}

static void spoil_reserved(struct rawnl_req *r)
{
	genl_of(r)->reserved = 1;
}

static void spoil_dump(struct rawnl_req *r)
{
	genl_of(r)->cmd = SWIFTRDMA_CMD_JOB_SET;
}

static void spoil_length(struct rawnl_req *r)
{
	r->len -= 2;
}

static void spoil_tail(struct rawnl_req *r)
{
	memset(r->buf + r->len, 0xff, 2);
	r->len += 2;
}

void try_headers(void)
{
	/* These are refused by the netlink core, some without a word. */
	try_header("a command that does not exist", spoil_cmd, -EOPNOTSUPP, NULL);
	try_header("an event as a request", spoil_event, -EOPNOTSUPP, NULL);
	try_header("a dump of what has none", spoil_dump, -EOPNOTSUPP, NULL);
	try_header("a header that is cut short", spoil_length, -EINVAL, NULL);
	try_header("reserved bits in the header", spoil_reserved, -EINVAL,
		   "genlmsghdr.reserved field is not 0");
	try_header("bytes after the last attribute", spoil_tail, -EINVAL, LEFTOVER);
}
