// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Doctor: the commands that make an Ethernet port map and serve levels as they should be. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/doctor_qos.h"

struct command {
	char s[DOCTOR_MEND];
	size_t n;
	bool cut;		/* it was cut, so it is not a command */
};

static void add_command(struct command *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void add_command(struct command *c, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(c->s + c->n, sizeof(c->s) - c->n, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(c->s) - c->n)
		c->cut = true;
	else
		c->n += (size_t)n;
}

static uint8_t bit_of(unsigned int n)
{
	return (uint8_t)(1u << n);
}

/* Priorities in use: of traffic without a level, and of the levels. */
static uint8_t all_prios(const struct qos *q)
{
	uint8_t prios = 0;

	for (size_t i = 0; i < q->n_base; i++)
		prios |= bit_of(q->base[i].prio);
	for (size_t i = 0; i < q->n; i++)
		if (q->way[i].mapped)
			prios |= bit_of(q->way[i].prio);
	return prios;
}

/*
 * Finds a free priority: that of the DSCP's class selector (RFC 2474), else the lowest.
 * 0 is reserved for unmapped traffic. -1: no priority is free.
 */
static int free_prio(uint8_t *taken, uint32_t dscp)
{
	unsigned int prio = dscp >> 3;

	if (!prio || *taken & bit_of(prio))
		for (prio = 1; prio < HOST_PRIOS && *taken & bit_of(prio); prio++)
			;
	if (prio == HOST_PRIOS)
		return -1;
	*taken |= bit_of(prio);
	return (int)prio;
}

void qos_mend_map(struct qos *q)
{
	struct command c = { .n = 0 };
	uint8_t taken = all_prios(q);

	add_command(&c, "dcb app add dev %s dscp-prio", q->net->name);
	for (size_t i = 0; i < q->n; i++) {
		bool again = q->way[i].mapped;
		int prio;

		for (size_t k = 0; k < i; k++)
			again |= q->way[k].dscp == q->way[i].dscp;
		if (again)
			continue;
		prio = free_prio(&taken, q->way[i].dscp);
		/* Sharing a priority is better than having none. */
		add_command(&c, " %u:%d", q->way[i].dscp, prio < 0 ? HOST_PRIOS - 1 : prio);
	}
	if (!c.cut)
		doctor_mend(q->d, "%s", c.s);
}

/* --- a layout ------------------------------------------------------------------ */

/* The layout to set up; struct qos has the present one. */
struct layout {
	uint8_t prio[DOCTOR_LEVELS];	/* of each level's DSCP */
	struct host_dcb dcb;		/* prio_tc, tsa, share, pfc */
};

static bool lay_prios(const struct qos *q, struct layout *l)
{
	uint8_t taken = 0, all = all_prios(q);

	for (size_t i = 0; i < q->n_base; i++)
		taken |= bit_of(q->base[i].prio);
	for (size_t i = 0; i < q->n; i++) {
		int prio = q->way[i].prio;

		if (taken & bit_of(q->way[i].prio))
			prio = free_prio(&all, q->way[i].dscp);
		if (prio < 0)
			return false;
		taken |= bit_of((unsigned int)prio);
		l->prio[i] = (uint8_t)prio;
	}
	return true;
}

/* Traffic classes of traffic without a level. Returns the highest strict one, or -1. */
static int base_tcs(const struct qos *q, const struct layout *l, uint8_t *tcs)
{
	int top = -1;

	*tcs = 0;
	for (size_t i = 0; i < q->n_base; i++) {
		uint8_t tc = l->dcb.prio_tc[q->base[i].prio];

		*tcs |= bit_of(tc);
		if (l->dcb.tsa[tc] == HOST_TSA_STRICT && tc > top)
			top = tc;
	}
	return top;
}

/* Number of classes above @top that are not in @tcs. */
static size_t left_above(uint8_t tcs, int top)
{
	size_t n = 0;

	for (int tc = top + 1; tc < HOST_PRIOS; tc++)
		n += !(tcs & bit_of((unsigned int)tc));
	return n;
}

/* A class served in a way that only the device knows; any will do for a level. */
static int unordered_tc(const struct qos *q, const struct layout *l)
{
	uint8_t tc = 0;

	for (size_t i = 0; i < q->n_base; i++) {
		tc = l->dcb.prio_tc[q->base[i].prio];
		if (l->dcb.tsa[tc] == HOST_TSA_STRICT || l->dcb.tsa[tc] == HOST_TSA_ETS)
			return -1;
	}
	return tc;
}

/*
 * Gives each level a class, in the order of levels: its present one if that is free and
 * leaves enough classes for the next levels, else the lowest free one.
 */
static bool lay_tcs(const struct qos *q, struct layout *l, uint8_t tcs, int top)
{
	int like = unordered_tc(q, l);

	for (size_t i = 0; i < q->n; i++) {
		int tc = l->dcb.prio_tc[l->prio[i]];
		bool keep = tc > top && !(tcs & bit_of((unsigned int)tc));

		if (like < 0 && left_above(tcs, tc) < q->n - i - 1)
			keep = false;
		for (int k = top + 1; !keep && k < HOST_PRIOS; k++) {
			tc = k;
			keep = !(tcs & bit_of((unsigned int)k));
		}
		if (!keep)
			return false;
		tcs |= bit_of((unsigned int)tc);
		l->dcb.prio_tc[l->prio[i]] = (uint8_t)tc;
		l->dcb.tsa[tc] = like < 0 ? HOST_TSA_STRICT : l->dcb.tsa[like];
		if (like < 0)
			top = tc;
	}
	return true;
}

/* Makes the shares of the ETS classes add up to 100 %. */
static void lay_shares(struct layout *l)
{
	int most = -1, sum = 0;

	for (int tc = 0; tc < HOST_PRIOS; tc++) {
		if (l->dcb.tsa[tc] != HOST_TSA_ETS) {
			l->dcb.share[tc] = 0;
			continue;
		}
		sum += l->dcb.share[tc];
		if (most < 0 || l->dcb.share[tc] > l->dcb.share[most])
			most = tc;
	}
	if (most >= 0)
		l->dcb.share[most] = (uint8_t)(l->dcb.share[most] + 100 - sum);
}

static bool lay_out_port(const struct qos *q, struct layout *l)
{
	uint8_t tcs;
	int top;

	l->dcb = *q->dcb;
	if (!lay_prios(q, l))
		return false;
	top = base_tcs(q, l, &tcs);
	if (left_above(tcs, top) < q->n) {
		/* Move all traffic without a level to lower classes. */
		for (size_t i = 0; i < q->n_base; i++)
			l->dcb.prio_tc[q->base[i].prio] = 0;
		top = base_tcs(q, l, &tcs);
	}
	if (!lay_tcs(q, l, tcs, top))
		return false;
	lay_shares(l);
	for (size_t i = 0; i < q->n && qos_base_lossless(q); i++)
		l->dcb.pfc |= bit_of(l->prio[i]);
	return true;
}

/* --- as commands ------------------------------------------------------------------ */

static void add_apps(const struct qos *q, const struct layout *l, struct command *c)
{
	bool any = false;

	for (size_t i = 0; i < q->n; i++) {
		if (l->prio[i] == q->way[i].prio)
			continue;
		if (!any)
			add_command(c, "dcb app replace dev %s dscp-prio", q->net->name);
		add_command(c, " %u:%u", q->way[i].dscp, l->prio[i]);
		any = true;
	}
}

static const char *tsa_word(uint8_t tsa)
{
	return tsa == HOST_TSA_STRICT ? "strict" :
	       tsa == HOST_TSA_ETS ? "ets" : tsa == HOST_TSA_SHAPER ? "cbs" : "vendor";
}

static void add_ets(const struct qos *q, const struct layout *l, struct command *c)
{
	const struct host_dcb *is = q->dcb, *want = &l->dcb;
	bool any[3] = { false };
	struct command e = { .n = 0 };

	for (int i = 0; i < HOST_PRIOS; i++) {
		if (is->prio_tc[i] == want->prio_tc[i])
			continue;
		add_command(&e, "%s %d:%u", any[0] ? "" : " prio-tc", i, want->prio_tc[i]);
		any[0] = true;
	}
	for (int i = 0; i < HOST_PRIOS; i++) {
		if (is->tsa[i] == want->tsa[i])
			continue;
		add_command(&e, "%s %d:%s", any[1] ? "" : " tc-tsa", i, tsa_word(want->tsa[i]));
		any[1] = true;
	}
	for (int i = 0; i < HOST_PRIOS; i++) {
		if (is->share[i] == want->share[i])
			continue;
		add_command(&e, "%s %d:%u", any[2] ? "" : " tc-bw", i, want->share[i]);
		any[2] = true;
	}
	if (e.n)
		add_command(c, "%sdcb ets set dev %s%s", c->n ? " && " : "", q->net->name, e.s);
	c->cut |= e.cut;
}

static void add_pfc(const struct qos *q, const struct layout *l, struct command *c)
{
	uint8_t more = l->dcb.pfc & (uint8_t)~q->dcb->pfc;

	if (!more)
		return;
	add_command(c, "%sdcb pfc set dev %s prio-pfc", c->n ? " && " : "", q->net->name);
	for (unsigned int i = 0; i < HOST_PRIOS; i++)
		if (more & bit_of(i))
			add_command(c, " %u:on", i);
}

void qos_mend_layout(struct qos *q)
{
	struct command c = { .n = 0 };
	struct layout l;

	if (!lay_out_port(q, &l))
		return;
	add_apps(q, &l, &c);
	add_ets(q, &l, &c);
	add_pfc(q, &l, &c);
	if (c.n && !c.cut)
		doctor_mend(q->d, "%s", c.s);
}

/* --- other DSCPs ------------------------------------------------------------------- */

/* True if no level has this DSCP and no application asks for it. */
static bool is_free(const struct qos *q, uint32_t dscp)
{
	for (size_t i = 0; i < q->n; i++)
		if (q->way[i].dscp == dscp)
			return false;
	for (size_t i = 0; i < q->n_base; i++)
		if (q->base[i].dscp == dscp)
			return false;
	return true;
}

void qos_mend_dscp(struct qos *q, size_t i)
{
	uint32_t level = q->level[i].level, dscp;

	for (dscp = 0; dscp < HOST_DSCPS; dscp++)
		if (is_free(q, dscp) && q->dcb->dscps >> dscp & 1 &&
		    q->dcb->dscp_prio[dscp] == q->way[i].prio)
			break;
	if (dscp < HOST_DSCPS) {
		doctor_mend(q->d, "swiftrdma level set %u dscp %u%s", level,
			    dscp, doctor_level_note(q->d));
		return;
	}
	for (dscp = 1; dscp < HOST_DSCPS && !is_free(q, dscp); dscp++)
		;
	if (dscp < HOST_DSCPS)
		doctor_mend(q->d,
			    "dcb app replace dev %s dscp-prio %u:%u && swiftrdma level set %u dscp %u%s",
			    q->net->name, dscp, q->way[i].prio, level, dscp,
			    doctor_level_note(q->d));
}

void qos_mend_apart(struct qos *q, size_t i)
{
	uint8_t taken = all_prios(q);
	int prio = free_prio(&taken, 0);
	uint32_t level = q->level[i].level, dscp;

	if (prio < 0)
		return;
	for (dscp = (uint32_t)prio << 3; dscp < HOST_DSCPS && !is_free(q, dscp); dscp++)
		;
	if (dscp < HOST_DSCPS)
		doctor_mend(q->d,
			    "dcb app replace dev %s dscp-prio %u:%d && swiftrdma level set %u dscp %u%s",
			    q->net->name, dscp, prio, level, dscp,
			    doctor_level_note(q->d));
}
