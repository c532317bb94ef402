// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doctor: class levels without the value that a link uses: the service level (SL) on
 * InfiniBand, the DSCP on Ethernet. Such a level changes nothing on that link.
 */
#include <stdio.h>

#include "base/text.h"
#include "cli/doctor.h"

#define CNP_DSCP	48	/* of congestion notifications, a ConnectX's default */

/* Levels that lack a value, in words, and the command that gives them one each. */
struct lacking {
	char words[64], command[DOCTOR_MEND];
	struct text t, mend;
	size_t n;
};

static void begin_list(struct lacking *l)
{
	l->n = 0;
	text_init(&l->t, l->words, sizeof(l->words));
	text_init(&l->mend, l->command, sizeof(l->command));
	text_str(&l->mend, "swiftrdma level set");
}

/* @value: what to write; -1: there is none left. */
static void add_level(struct lacking *l, uint32_t level, const char *what, int value)
{
	text_str(&l->t, l->n++ ? ", " : "");
	text_u64(&l->t, level);
	if (value < 0)
		return;
	text_str(&l->mend, " ");
	text_u64(&l->mend, level);
	text_add(&l->mend, " ", what, " ");
	text_u64(&l->mend, (uint64_t)value);
}

/*
 * Takes an SL that nothing else uses. If the port reports its virtual lanes and has one left that
 * nothing else uses, the SL has such a lane; else the subnet manager can map the SL to one later.
 */
static int take_sl(const struct host_port *port, uint16_t *sls, uint16_t *vls)
{
	int any = -1;

	for (int sl = 0; sl < HOST_SLS; sl++) {
		uint8_t vl = port->sl2vl[sl];

		if (*sls >> sl & 1)
			continue;
		any = any < 0 ? sl : any;
		if (port->sl2vl_error || vl == HOST_VL_NONE || *vls >> vl & 1)
			continue;
		any = sl;
		*vls |= (uint16_t)(1u << vl);
		break;
	}
	if (any >= 0)
		*sls |= (uint16_t)(1u << any);
	return any;
}

void doctor_lacking_sl(struct doctor *d, const struct host_port *port, const char *object,
		       const struct io_level *levels, size_t n)
{
	uint16_t sls, vls = 0;
	struct lacking l;
	uint32_t qps;

	sls = (uint16_t)doctor_asked(d, port, true, &qps);
	for (size_t i = 0; i < n; i++)
		if (levels[i].has_sl)
			sls |= (uint16_t)(1u << levels[i].sl % HOST_SLS);
	for (int sl = 0; sl < HOST_SLS; sl++)
		if (sls >> sl & 1)
			vls |= (uint16_t)(1u << port->sl2vl[sl]);
	begin_list(&l);
	for (size_t i = 0; i < n; i++)
		if (!levels[i].has_sl)
			add_level(&l, levels[i].level, "sl", take_sl(port, &sls, &vls));
	if (!l.n)
		return;
	doctor_say(d, DOCTOR_QOS, DOCTOR_WARNING, "no_sl", object,
		   "level%s %s: no SL, and on InfiniBand a level is its SL: the level changes nothing on this link",
		   l.n > 1 ? "s" : "", l.words);
	doctor_mend(d, "%s%s", l.command, doctor_level_note(d));
}

/* Takes a DSCP that nothing else uses, of the level's own eight if one is left. */
static int take_dscp(uint32_t level, uint64_t *dscps)
{
	for (uint32_t i = 0; i < HOST_DSCPS; i++) {
		uint32_t dscp = (level * 8 + 2 + i) % HOST_DSCPS;

		if (*dscps >> dscp & 1)
			continue;
		*dscps |= 1ull << dscp;
		return (int)dscp;
	}
	return -1;
}

void doctor_lacking_dscp(struct doctor *d, const struct host_net *net, const char *object,
			 const struct io_level *levels, size_t n)
{
	const struct host_port *port = &d->host->ports[net->port];
	bool trusts_dscp = !net->dcb.error && net->dcb.trusts_dscp;
	uint64_t dscps;
	struct lacking l;
	uint32_t qps;

	dscps = doctor_asked(d, port, false, &qps) |
		1ull << (net->cnp_dscp < 0 ? CNP_DSCP : net->cnp_dscp % HOST_DSCPS);
	for (size_t i = 0; i < n; i++)
		if (levels[i].has_dscp)
			dscps |= 1ull << levels[i].dscp % HOST_DSCPS;
	begin_list(&l);
	for (size_t i = 0; i < n; i++)
		if (!levels[i].has_dscp)
			add_level(&l, levels[i].level, "dscp", take_dscp(levels[i].level, &dscps));
	if (!l.n)
		return;
	doctor_say(d, DOCTOR_QOS, DOCTOR_WARNING, "no_dscp", object,
		   "level%s %s: no DSCP, and on Ethernet an SL is at most the priority of a VLAN tag%s: the level changes nothing on this link%s",
		   l.n > 1 ? "s" : "", l.words,
		   trusts_dscp ? ", which this port does not go by" : "",
		   trusts_dscp ? "" : " without such a tag");
	doctor_mend(d, "%s%s", l.command, doctor_level_note(d));
}
