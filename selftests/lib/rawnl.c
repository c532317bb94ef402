// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>

#include "rawnl.h"

#define SEQ_START	1000
/* More than any attribute set has. */
#define UNKNOWN_TYPE	60

/* The attributes of requests, as in the contract. */

#define U32(n, t)	{ .name = n, .type = t, .kind = RAWNL_U32 }
#define U64(n, t)	{ .name = n, .type = t, .kind = RAWNL_U64 }
#define FLAG(n, t)	{ .name = n, .type = t, .kind = RAWNL_FLAG }
#define STR(n, t, len)	{ .name = n, .type = t, .kind = RAWNL_STR, .max = len }
#define NEST(n, t, again, set)							\
	{ .name = n, .type = t, .kind = RAWNL_NEST, .repeats = again, .nest = set }

static const struct rawnl_attr rule_attrs[] = {
	U32("order", SWIFTRDMA_RULE_A_ORDER),
	STR("cgroup", SWIFTRDMA_RULE_A_CGROUP, SWIFTRDMA_PATH_LEN - 1),
	STR("comm", SWIFTRDMA_RULE_A_COMM, SWIFTRDMA_COMM_LEN - 1),
	STR("exe", SWIFTRDMA_RULE_A_EXE, SWIFTRDMA_EXE_LEN - 1),
	U32("uid", SWIFTRDMA_RULE_A_UID),
	U32("pid", SWIFTRDMA_RULE_A_PID),
	FLAG("asked", SWIFTRDMA_RULE_A_ASKED),
	U64("slo_p99_min", SWIFTRDMA_RULE_A_SLO_P99_MIN),
	{ .name = NULL }
};

static const struct rawnl_attr job_attrs[] = {
	STR("name", SWIFTRDMA_JOB_A_NAME, SWIFTRDMA_NAME_LEN - 1),
	STR("origin", SWIFTRDMA_JOB_A_ORIGIN, SWIFTRDMA_NAME_LEN - 1),
	U32("class", SWIFTRDMA_JOB_A_CLASS),
	NEST("rule", SWIFTRDMA_JOB_A_RULE, true, rule_attrs),
	{ .name = NULL }
};

static const struct rawnl_attr lease_attrs[] = {
	U64("id", SWIFTRDMA_LEASE_A_ID),
	U32("ttl_ms", SWIFTRDMA_LEASE_A_TTL_MS),
	U32("rank", SWIFTRDMA_LEASE_A_RANK),
	STR("origin", SWIFTRDMA_LEASE_A_ORIGIN, SWIFTRDMA_NAME_LEN - 1),
	{ .name = NULL }
};

static const struct rawnl_attr reading_attrs[] = {
	STR("signal", SWIFTRDMA_READING_A_SIGNAL, SWIFTRDMA_NAME_LEN - 1),
	U64("value", SWIFTRDMA_READING_A_VALUE),
	{ .name = NULL }
};

static const struct rawnl_attr decision_attrs[] = {
	STR("policy", SWIFTRDMA_DECISION_A_POLICY, SWIFTRDMA_NAME_LEN - 1),
	U64("tick", SWIFTRDMA_DECISION_A_TICK),
	U64("cooldown", SWIFTRDMA_DECISION_A_COOLDOWN),
	U32("steps_left", SWIFTRDMA_DECISION_A_STEPS_LEFT),
	U32("acts_left", SWIFTRDMA_DECISION_A_ACTS_LEFT),
	U32("dev_index", SWIFTRDMA_DECISION_A_DEV_INDEX),
	U32("port", SWIFTRDMA_DECISION_A_PORT),
	U32("uar", SWIFTRDMA_DECISION_A_UAR),
	U32("qpn", SWIFTRDMA_DECISION_A_QPN),
	NEST("reading", SWIFTRDMA_DECISION_A_READING, true, reading_attrs),
	{ .name = NULL }
};

static const struct rawnl_attr action_attrs[] = {
	U32("knob", SWIFTRDMA_ACTION_A_KNOB),
	U64("value", SWIFTRDMA_ACTION_A_VALUE),
	FLAG("clear", SWIFTRDMA_ACTION_A_CLEAR),
	STR("job", SWIFTRDMA_ACTION_A_JOB, SWIFTRDMA_NAME_LEN - 1),
	U32("dev_index", SWIFTRDMA_ACTION_A_DEV_INDEX),
	U32("qpn", SWIFTRDMA_ACTION_A_QPN),
	U64("qp_serial", SWIFTRDMA_ACTION_A_QP_SERIAL),
	STR("reason", SWIFTRDMA_ACTION_A_REASON, SWIFTRDMA_REASON_LEN - 1),
	NEST("decision", SWIFTRDMA_ACTION_A_DECISION, false, decision_attrs),
	{ .name = NULL }
};

static const struct rawnl_attr level_attrs[] = {
	U32("level", SWIFTRDMA_LEVEL_A_LEVEL),
	U32("dscp", SWIFTRDMA_LEVEL_A_DSCP),
	U32("sl", SWIFTRDMA_LEVEL_A_SL),
	{ .name = NULL }
};

static const struct rawnl_attr top_attrs[] = {
	U32("dev_index", SWIFTRDMA_A_DEV_INDEX),
	STR("dev_name", SWIFTRDMA_A_DEV_NAME, SWIFTRDMA_DEVNAME_LEN - 1),
	U32("port", SWIFTRDMA_A_PORT),
	U32("uar", SWIFTRDMA_A_UAR),
	U32("qpn", SWIFTRDMA_A_QPN),
	U32("pid", SWIFTRDMA_A_PID),
	STR("job", SWIFTRDMA_A_JOB, SWIFTRDMA_NAME_LEN - 1),
	U64("since", SWIFTRDMA_A_SINCE),
	FLAG("cached", SWIFTRDMA_A_CACHED),
	FLAG("outstanding", SWIFTRDMA_A_OUTSTANDING),
	NEST("job_obj", SWIFTRDMA_A_JOB_OBJ, false, job_attrs),
	NEST("lease", SWIFTRDMA_A_LEASE, false, lease_attrs),
	NEST("action", SWIFTRDMA_A_ACTION, true, action_attrs),
	NEST("level", SWIFTRDMA_A_LEVEL, true, level_attrs),
	{ .name = NULL }
};

static const char *const cmds[] = {
	[SWIFTRDMA_CMD_DEV_GET] = "DEV_GET", [SWIFTRDMA_CMD_PORT_GET] = "PORT_GET",
	[SWIFTRDMA_CMD_UAR_GET] = "UAR_GET", [SWIFTRDMA_CMD_QP_GET] = "QP_GET",
	[SWIFTRDMA_CMD_JOB_GET] = "JOB_GET", [SWIFTRDMA_CMD_JOB_SET] = "JOB_SET",
	[SWIFTRDMA_CMD_JOB_DEL] = "JOB_DEL", [SWIFTRDMA_CMD_ACT] = "ACT",
	[SWIFTRDMA_CMD_ACTION_GET] = "ACTION_GET", [SWIFTRDMA_CMD_LEVEL_GET] = "LEVEL_GET",
	[SWIFTRDMA_CMD_LEVEL_SET] = "LEVEL_SET", [SWIFTRDMA_CMD_REPORT_GET] = "REPORT_GET",
	[SWIFTRDMA_CMD_PEER_GET] = "PEER_GET",
};

int rawnl_cmd(const char *name)
{
	for (size_t i = 1; i < sizeof(cmds) / sizeof(cmds[0]); i++)
		if (cmds[i] && !strcmp(cmds[i], name))
			return i;
	return -1;
}

const char *rawnl_cmd_name(int cmd)
{
	return cmds[cmd];
}

/* Parses text into nodes. A test with a mistake in its text ends here. */

static void bad_text(const char *text)
{
	fprintf(stderr, "not a request, from here on: %s\n", text);
	exit(2);
}

static char *word(const char **text, const char *ends)
{
	size_t n = strcspn(*text, ends);
	char *w = strndup(*text, n);

	*text += n;
	return w;
}

static void take_value(struct rawnl_node *node, const char **text, const struct rawnl_var *vars)
{
	char *value = word(text, " }@"), *end;

	if (node->attr->kind == RAWNL_STR && *value != '$') {
		node->string = value;
		return;
	}
	if (*value == '$') {
		while (vars->name && strcmp(vars->name, value + 1))
			vars++;
		if (!vars->name)
			bad_text(value);
		node->number = vars->value;
	} else {
		node->number = strtoull(value, &end, 0);
		if (*end)
			bad_text(value);
	}
	free(value);
}

static struct rawnl_node *parse_set(const char **text, const struct rawnl_attr *set,
				    const struct rawnl_var *vars)
{
	struct rawnl_node *first = NULL, **next = &first, *node;
	char *name;

	for (;;) {
		while (**text == ' ')
			(*text)++;
		if (!**text || **text == '}')
			return first;
		node = calloc(1, sizeof(*node));
		if (**text == '^') {
			node->marked = true;
			(*text)++;
		}
		name = word(text, "={ }@");
		for (node->attr = set; node->attr->name; node->attr++)
			if (!strcmp(node->attr->name, name))
				break;
		if (!node->attr->name)
			bad_text(name);
		free(name);
		if (**text == '=') {
			(*text)++;
			take_value(node, text, vars);
		} else if (**text == '{') {
			(*text)++;
			node->child = parse_set(text, node->attr->nest, vars);
			if (*(*text)++ != '}')
				bad_text("} is missing");
		}
		node->count = 1;
		if (**text == '@')
			node->count = strtoul(*text + 1, (char **)text, 10);
		*next = node;
		next = &node->next;
	}
}

struct rawnl_node *rawnl_parse(const char *text, const struct rawnl_var *vars)
{
	static const struct rawnl_var none = { .name = NULL };

	return parse_set(&text, top_attrs, vars ?: &none);
}

void rawnl_free(struct rawnl_node *node)
{
	struct rawnl_node *next;

	for (; node; node = next) {
		next = node->next;
		rawnl_free(node->child);
		free(node->string);
		free(node);
	}
}

/* Nodes to bytes. */

static void *add(struct rawnl_req *req, size_t len)
{
	unsigned char *at = req->buf + req->len;

	if (req->len + NLA_ALIGN(len) > sizeof(req->buf)) {
		fputs("a request is too long\n", stderr);
		exit(2);
	}
	memset(at, 0, NLA_ALIGN(len));
	req->len += NLA_ALIGN(len);
	return at;
}

static void put(struct rawnl_req *req, uint16_t type, const void *data, size_t len)
{
	struct nlattr *nla = add(req, NLA_HDRLEN + len);

	nla->nla_type = type;
	nla->nla_len = NLA_HDRLEN + len;
	memcpy((char *)nla + NLA_HDRLEN, data, len);
}

struct encoding {
	struct rawnl_req *req;
	const struct rawnl_node *bad;
	enum rawnl_wrong wrong;
};

static void encode(const struct encoding *e, const struct rawnl_node *node);

static void put_nest(const struct encoding *e, const struct rawnl_node *node, uint16_t type,
		     enum rawnl_wrong wrong)
{
	static const struct nlattr garbage = { 200, 1 };
	struct rawnl_req *req = e->req;
	size_t start = req->len;
	struct nlattr *nla = add(req, NLA_HDRLEN);

	if (wrong == RAWNL_SHORT) {
		add(req, 2);
		nla->nla_len = NLA_HDRLEN + 2;
	} else {
		if (wrong != RAWNL_EMPTY)
			encode(e, node->child);
		if (wrong == RAWNL_LONG)
			memcpy(add(req, sizeof(garbage)), &garbage, sizeof(garbage));
		nla->nla_len = req->len - start;
	}
	nla->nla_type = type ^ NLA_F_NESTED;
}

static void put_node(const struct encoding *e, const struct rawnl_node *node,
		     enum rawnl_wrong wrong)
{
	uint16_t type = node->attr->type | (wrong == RAWNL_OTHER ? NLA_F_NESTED : 0);
	char text[1024] = "";
	uint32_t u32 = node->number;
	const void *data = &u32;
	size_t len = sizeof(u32);

	switch (node->attr->kind) {
	case RAWNL_NEST:
		put_nest(e, node, type, wrong);
		return;
	case RAWNL_U64:
		data = &node->number;
		len = sizeof(node->number);
		break;
	case RAWNL_STR:
		data = text;
		strncpy(text, node->string ?: "", sizeof(text) - 1);
		if (wrong == RAWNL_LONG)
			memset(text, 'x', node->attr->max + 1);
		len = strlen(text) + 1;
		break;
	case RAWNL_FLAG:
		len = 0;
		break;
	case RAWNL_U32:
		break;
	}
	if (wrong == RAWNL_SHORT && len)
		len--;
	else if (wrong == RAWNL_LONG && node->attr->kind != RAWNL_STR)
		len = len ? 2 * len : 4;
	else if (wrong == RAWNL_EMPTY)
		len = 0;
	/* The additional bytes of a number that is too long do not matter. */
	if (len > sizeof(uint32_t) && data == &u32)
		data = memset(text, 0, sizeof(text));
	put(e->req, type, node->attr->kind == RAWNL_U64 && len > 8 ? text : data, len);
}

static void encode(const struct encoding *e, const struct rawnl_node *node)
{
	uint32_t zero = 0;

	for (; node; node = node->next) {
		enum rawnl_wrong wrong = node == e->bad ? e->wrong : RAWNL_RIGHT;

		for (unsigned int i = 0; i < node->count; i++) {
			if ((node->marked && !e->bad) || node == e->bad)
				e->req->offset = e->req->len;
			put_node(e, node, wrong);
		}
		if (wrong == RAWNL_TWICE || wrong == RAWNL_UNKNOWN)
			e->req->offset = e->req->len;
		if (wrong == RAWNL_TWICE)
			put_node(e, node, RAWNL_RIGHT);
		else if (wrong == RAWNL_UNKNOWN)
			put(e->req, UNKNOWN_TYPE, &zero, sizeof(zero));
	}
}

void rawnl_encode(struct rawnl_req *req, int cmd, bool dump, const struct rawnl_node *nodes,
		  const struct rawnl_node *bad, enum rawnl_wrong wrong)
{
	struct encoding e = { req, bad, wrong };
	struct genlmsghdr *genl;
	struct nlmsghdr *nlh;

	req->len = 0;
	req->offset = 0;
	nlh = add(req, NLMSG_HDRLEN);
	genl = add(req, GENL_HDRLEN);
	nlh->nlmsg_flags = NLM_F_REQUEST | (dump ? NLM_F_DUMP : NLM_F_ACK);
	genl->cmd = cmd;
	genl->version = SWIFTRDMA_GENL_VERSION;
	encode(&e, nodes);
}

/* Answers. */

const void *rawnl_find(const void *attrs, size_t len, int type, size_t *plen)
{
	const struct nlattr *nla = attrs;

	while (len >= NLA_HDRLEN && nla->nla_len >= NLA_HDRLEN && nla->nla_len <= len) {
		if ((nla->nla_type & NLA_TYPE_MASK) == type) {
			if (plen)
				*plen = nla->nla_len - NLA_HDRLEN;
			return (const char *)nla + NLA_HDRLEN;
		}
		if ((size_t)NLA_ALIGN(nla->nla_len) >= len)
			break;
		len -= NLA_ALIGN(nla->nla_len);
		nla = (const void *)((const char *)nla + NLA_ALIGN(nla->nla_len));
	}
	return NULL;
}

uint64_t rawnl_u64(const void *attrs, size_t len, int type)
{
	const void *p = rawnl_find(attrs, len, type, NULL);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return v;
}

uint32_t rawnl_u32(const void *attrs, size_t len, int type)
{
	const void *p = rawnl_find(attrs, len, type, NULL);
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return v;
}

static void take_extack(struct rawnl_reply *reply, const void *tlvs, size_t len)
{
	const char *message = rawnl_find(tlvs, len, NLMSGERR_ATTR_MSG, NULL);

	if (message)
		strncpy(reply->message, message, sizeof(reply->message) - 1);
	reply->offset = rawnl_u32(tlvs, len, NLMSGERR_ATTR_OFFS);
	reply->missing = rawnl_u32(tlvs, len, NLMSGERR_ATTR_MISS_TYPE);
	reply->missing_nest = rawnl_u32(tlvs, len, NLMSGERR_ATTR_MISS_NEST);
}

static void take_answer(struct rawnl_reply *reply, const void *attrs, size_t len,
			rawnl_answer_fn fn, void *arg)
{
	size_t snap_len;
	const void *snap = rawnl_find(attrs, len, SWIFTRDMA_A_SNAPSHOT, &snap_len);

	if (snap) {
		reply->has_count = true;
		reply->count = rawnl_u32(snap, snap_len, SWIFTRDMA_SNAPSHOT_A_COUNT);
		reply->generation = rawnl_u64(snap, snap_len, SWIFTRDMA_SNAPSHOT_A_GENERATION);
		reply->armed = rawnl_find(snap, snap_len, SWIFTRDMA_SNAPSHOT_A_ARMED, NULL);
		return;
	}
	reply->answers++;
	if (fn)
		fn(attrs, len, arg);
}

/* Is this the last message? */
static bool take_message(const struct rawnl *nl, const struct nlmsghdr *nlh,
			 struct rawnl_reply *reply, rawnl_answer_fn fn, void *arg)
{
	const char *data = (const char *)nlh + NLMSG_HDRLEN;
	size_t len = nlh->nlmsg_len - NLMSG_HDRLEN;
	size_t skip = sizeof(int);

	if (nlh->nlmsg_type == nl->family) {
		take_answer(reply, data + GENL_HDRLEN, len - GENL_HDRLEN, fn, arg);
		return false;
	}
	if (nlh->nlmsg_type != NLMSG_ERROR && nlh->nlmsg_type != NLMSG_DONE)
		return false;
	memcpy(&reply->error, data, sizeof(int));
	if (nlh->nlmsg_type == NLMSG_ERROR)
		skip = sizeof(struct nlmsgerr);	/* capped: of the request its header */
	if (nlh->nlmsg_flags & NLM_F_ACK_TLVS)
		take_extack(reply, data + skip, len - skip);
	return true;
}

int rawnl_call(struct rawnl *nl, struct rawnl_req *req, struct rawnl_reply *reply,
	       rawnl_answer_fn fn, void *arg)
{
	static char buf[256 * 1024];
	struct nlmsghdr *nlh = (void *)req->buf;
	uint32_t seq = ++nl->seq;
	ssize_t n;

	nlh->nlmsg_len = req->len;
	nlh->nlmsg_type = nl->family;
	nlh->nlmsg_seq = seq;
	memset(reply, 0, sizeof(*reply));
	if (send(nl->fd, req->buf, req->len, 0) < 0)
		return -errno;
	for (;;) {
		n = recv(nl->fd, buf, sizeof(buf), 0);
		if (n < 0)
			return -errno;
		for (nlh = (void *)buf; NLMSG_OK(nlh, n); nlh = NLMSG_NEXT(nlh, n))
			if (nlh->nlmsg_seq == seq && take_message(nl, nlh, reply, fn, arg))
				return 0;
	}
}

int rawnl_do(struct rawnl *nl, int cmd, bool dump, const char *text,
	     const struct rawnl_var *vars, struct rawnl_reply *reply,
	     rawnl_answer_fn fn, void *arg)
{
	struct rawnl_node *nodes = rawnl_parse(text, vars);
	struct rawnl_req *req = malloc(sizeof(*req));
	int err;

	rawnl_encode(req, cmd, dump, nodes, NULL, RAWNL_RIGHT);
	err = rawnl_call(nl, req, reply, fn, arg);
	rawnl_free(nodes);
	free(req);
	return err ?: reply->error;
}

static void take_family(const void *attrs, size_t len, void *arg)
{
	struct rawnl *nl = arg;
	size_t groups_len, group_len;
	const void *groups, *group;

	nl->family = rawnl_u32(attrs, len, CTRL_ATTR_FAMILY_ID);
	groups = rawnl_find(attrs, len, CTRL_ATTR_MCAST_GROUPS, &groups_len);
	/* The family has one. */
	group = groups ? rawnl_find(groups, groups_len, 1, &group_len) : NULL;
	if (group)
		nl->group = rawnl_u32(group, group_len, CTRL_ATTR_MCAST_GRP_ID);
}

int rawnl_open(struct rawnl *nl, int fd)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
	struct rawnl_req *req = malloc(sizeof(*req));
	struct rawnl found = { .fd = -1 };
	struct rawnl_reply reply;
	int one = 1, room = sizeof(req->buf), err;

	memset(nl, 0, sizeof(*nl));
	nl->seq = SEQ_START;
	nl->fd = fd;
	if (fd < 0) {
		nl->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
		if (nl->fd < 0 || bind(nl->fd, (void *)&addr, sizeof(addr)))
			return -errno;
	}
	setsockopt(nl->fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(nl->fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
	setsockopt(nl->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));

	rawnl_encode(req, CTRL_CMD_GETFAMILY, false, NULL, NULL, RAWNL_RIGHT);
	put(req, CTRL_ATTR_FAMILY_NAME, SWIFTRDMA_GENL_NAME, sizeof(SWIFTRDMA_GENL_NAME));
	nl->family = GENL_ID_CTRL;
	err = rawnl_call(nl, req, &reply, take_family, &found);
	free(req);
	nl->family = found.family;
	nl->group = found.group;
	return err ?: reply.error;
}

void rawnl_close(struct rawnl *nl)
{
	close(nl->fd);
}
