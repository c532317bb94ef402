// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Names of a request's attributes. The kernel reports a bad attribute by its offset. */
#include <linux/genetlink.h>
#include <stdio.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "io/answer.h"
#include "io/attr.h"

struct names {
	const char *const *names;
	size_t n;
};

#define NAMES(a) { a, sizeof(a) / sizeof((a)[0]) }

static const char *const top[] = {
	[SWIFTRDMA_A_DEV_INDEX] = "dev_index",
	[SWIFTRDMA_A_DEV_NAME] = "dev_name",
	[SWIFTRDMA_A_PORT] = "port",
	[SWIFTRDMA_A_UAR] = "uar",
	[SWIFTRDMA_A_QPN] = "qpn",
	[SWIFTRDMA_A_PID] = "pid",
	[SWIFTRDMA_A_JOB] = "job",
	[SWIFTRDMA_A_SINCE] = "since",
	[SWIFTRDMA_A_JOB_OBJ] = "job",
	[SWIFTRDMA_A_LEASE] = "lease",
	[SWIFTRDMA_A_ACTION] = "action",
	[SWIFTRDMA_A_LEVEL] = "level",
	[SWIFTRDMA_A_CACHED] = "cached",
	[SWIFTRDMA_A_OUTSTANDING] = "outstanding",
};

static const char *const job[] = {
	[SWIFTRDMA_JOB_A_NAME] = "name",
	[SWIFTRDMA_JOB_A_ORIGIN] = "origin",
	[SWIFTRDMA_JOB_A_CLASS] = "class",
	[SWIFTRDMA_JOB_A_RULE] = "rule",
};

static const char *const rule[] = {
	[SWIFTRDMA_RULE_A_ORDER] = "order",
	[SWIFTRDMA_RULE_A_CGROUP] = "cgroup",
	[SWIFTRDMA_RULE_A_COMM] = "comm",
	[SWIFTRDMA_RULE_A_EXE] = "exe",
	[SWIFTRDMA_RULE_A_UID] = "uid",
	[SWIFTRDMA_RULE_A_PID] = "pid",
	[SWIFTRDMA_RULE_A_ASKED] = "asked",
	[SWIFTRDMA_RULE_A_SLO_P99_MIN] = "slo_p99_min",
};

static const char *const lease[] = {
	[SWIFTRDMA_LEASE_A_ID] = "id",
	[SWIFTRDMA_LEASE_A_TTL_MS] = "ttl_ms",
	[SWIFTRDMA_LEASE_A_RANK] = "rank",
	[SWIFTRDMA_LEASE_A_ORIGIN] = "origin",
};

static const char *const action[] = {
	[SWIFTRDMA_ACTION_A_KNOB] = "knob",
	[SWIFTRDMA_ACTION_A_VALUE] = "value",
	[SWIFTRDMA_ACTION_A_CLEAR] = "clear",
	[SWIFTRDMA_ACTION_A_JOB] = "job",
	[SWIFTRDMA_ACTION_A_DEV_INDEX] = "dev",
	[SWIFTRDMA_ACTION_A_QPN] = "qpn",
	[SWIFTRDMA_ACTION_A_QP_SERIAL] = "serial",
	[SWIFTRDMA_ACTION_A_REASON] = "reason",
	[SWIFTRDMA_ACTION_A_DECISION] = "decision",
};

static const char *const decision[] = {
	[SWIFTRDMA_DECISION_A_POLICY] = "policy",
	[SWIFTRDMA_DECISION_A_TICK] = "tick",
	[SWIFTRDMA_DECISION_A_COOLDOWN] = "cooldown",
	[SWIFTRDMA_DECISION_A_STEPS_LEFT] = "steps_left",
	[SWIFTRDMA_DECISION_A_ACTS_LEFT] = "acts_left",
	[SWIFTRDMA_DECISION_A_DEV_INDEX] = "dev",
	[SWIFTRDMA_DECISION_A_PORT] = "port",
	[SWIFTRDMA_DECISION_A_UAR] = "uar",
	[SWIFTRDMA_DECISION_A_QPN] = "qpn",
	[SWIFTRDMA_DECISION_A_READING] = "reading",
};

static const char *const reading[] = {
	[SWIFTRDMA_READING_A_SIGNAL] = "signal",
	[SWIFTRDMA_READING_A_VALUE] = "value",
};

static const char *const level[] = {
	[SWIFTRDMA_LEVEL_A_LEVEL] = "level",
	[SWIFTRDMA_LEVEL_A_DSCP] = "dscp",
	[SWIFTRDMA_LEVEL_A_SL] = "sl",
};

static const struct names top_names = NAMES(top);
static const struct names none;

/* The set of attributes inside the nest @type of set @in. */
static const struct names *names_inside(const struct names *in, unsigned int type)
{
	static const struct names sets[] = {
		[SWIFTRDMA_A_JOB_OBJ] = NAMES(job),
		[SWIFTRDMA_A_LEASE] = NAMES(lease),
		[SWIFTRDMA_A_ACTION] = NAMES(action),
		[SWIFTRDMA_A_LEVEL] = NAMES(level),
	};
	static const struct names rules = NAMES(rule);
	static const struct names decisions = NAMES(decision);
	static const struct names readings = NAMES(reading);

	if (in == &sets[SWIFTRDMA_A_JOB_OBJ] && type == SWIFTRDMA_JOB_A_RULE)
		return &rules;
	if (in == &sets[SWIFTRDMA_A_ACTION] &&
	    type == SWIFTRDMA_ACTION_A_DECISION)
		return &decisions;
	if (in == &decisions && type == SWIFTRDMA_DECISION_A_READING)
		return &readings;
	if (in == &top_names && type < sizeof(sets) / sizeof(sets[0]))
		return &sets[type];
	return &none;
}

static bool is_repeated(const struct names *in, unsigned int type)
{
	return in == &top_names ? type == SWIFTRDMA_A_ACTION ||
				  type == SWIFTRDMA_A_LEVEL
				: names_inside(in, type) != &none &&
				  in->names != action;
}

struct path {
	char *out;
	size_t cap, len;
};

static void append_name(struct path *p, const struct names *in, unsigned int type,
			unsigned int nth)
{
	const char *name = type < in->n ? in->names[type] : NULL;
	char index[16] = "", number[16];
	int n;

	if (!name) {
		snprintf(number, sizeof(number), "#%u", type);
		name = number;
	}
	if (is_repeated(in, type))
		snprintf(index, sizeof(index), "[%u]", nth);
	n = snprintf(p->out + p->len, p->cap - p->len, "%s%s%s",
		     p->len ? "." : "", name, index);
	p->len += n < 0 ? 0 : (size_t)n;
	if (p->len >= p->cap)
		p->len = p->cap - 1;
}

/*
 * Descends to the attribute at @at and writes the names on the way. Returns the set
 * inside the attribute, or NULL if there is none at @at. Requests nest at most four deep.
 */
static const struct names *descend_to(const void *pos, size_t left,
				      const char *at, struct path *p)
{
	const struct names *in = &top_names;
	const struct nlattr *a;
	unsigned int last = 0, nth = 0;
	bool bad = false;

	while ((a = srdma_next_attr(&pos, &left, &bad))) {
		unsigned int type = a->nla_type & NLA_TYPE_MASK;

		nth = type == last ? nth + 1 : 1;
		last = type;
		if (at >= (const char *)a + a->nla_len)
			continue;
		append_name(p, in, type, nth);
		in = names_inside(in, type);
		if (at == (const char *)a)
			return in;
		pos = (const char *)a + NLA_HDRLEN;
		left = a->nla_len - NLA_HDRLEN;
		if (in == &none || at < (const char *)pos)
			break;
		last = 0;
	}
	p->len = 0;
	p->out[0] = '\0';
	return NULL;
}

#define FIRST_ATTR	(NLMSG_HDRLEN + GENL_HDRLEN)

static const struct names *locate_attr(const void *msg, size_t len, uint32_t offset,
				       struct path *p)
{
	p->out[0] = '\0';
	if (len < FIRST_ATTR || offset < FIRST_ATTR || offset >= len)
		return NULL;
	return descend_to((const char *)msg + FIRST_ATTR, len - FIRST_ATTR,
			  (const char *)msg + offset, p);
}

void srdma_attr_name(const void *msg, size_t len, uint32_t offset, char *out,
		     size_t cap)
{
	struct path p = { .out = out, .cap = cap };

	locate_attr(msg, len, offset, &p);
}

void srdma_missing_name(const void *msg, size_t len, uint32_t nest,
			uint32_t type, char *out, size_t cap)
{
	struct path p = { .out = out, .cap = cap };
	const struct names *in = &top_names;

	if (nest)
		in = locate_attr(msg, len, nest, &p);
	else
		out[0] = '\0';
	if (in)
		append_name(&p, in, type, 1);
}
