// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reads DCB settings of network interfaces (dcbnl, IEEE 802.1Qaz): DSCP to priority,
 * priority to traffic class, ETS and PFC.
 */
#include <errno.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <string.h>

#include "io/dcb.h"
#include "io/host_read.h"
#include "io/query.h"

/* The trusted selectors. Newer than the headers of older kernels. */
#define DCB_APP_TRUST_TABLE	11

static void take_ets(const struct nlattr *a, struct host_dcb *dcb)
{
	struct ieee_ets ets;

	if (nla_len(a) < (int)sizeof(ets))
		return;
	memcpy(&ets, nla_data(a), sizeof(ets));
	dcb->has_ets = true;
	for (int i = 0; i < HOST_PRIOS; i++) {
		dcb->prio_tc[i] = ets.prio_tc[i] % HOST_PRIOS;
		dcb->tsa[i] = ets.tc_tsa[i];
		dcb->share[i] = ets.tc_tx_bw[i];
	}
}

static void take_pfc(const struct nlattr *a, struct host_dcb *dcb)
{
	struct ieee_pfc pfc;

	if (nla_len(a) < (int)sizeof(pfc))
		return;
	memcpy(&pfc, nla_data(a), sizeof(pfc));
	dcb->has_pfc = true;
	dcb->pfc = pfc.pfc_en;
}

/* If a DSCP has several priorities the greatest one holds, as in the kernel. */
static void take_apps(struct nlattr *table, struct host_dcb *dcb)
{
	const struct nlattr *a;
	struct dcb_app app;
	int left;

	nla_for_each_nested(a, table, left) {
		if (nla_type(a) != DCB_ATTR_IEEE_APP ||
		    nla_len(a) < (int)sizeof(app))
			continue;
		memcpy(&app, nla_data(a), sizeof(app));
		if (app.selector != IEEE_8021QAZ_APP_SEL_DSCP ||
		    app.protocol >= HOST_DSCPS || app.priority >= HOST_PRIOS)
			continue;
		if (!(dcb->dscps & 1ull << app.protocol) ||
		    dcb->dscp_prio[app.protocol] < app.priority)
			dcb->dscp_prio[app.protocol] = app.priority;
		dcb->dscps |= 1ull << app.protocol;
	}
}

static bool trusts_dscp(struct nlattr *table)
{
	const struct nlattr *a;
	int left;

	nla_for_each_nested(a, table, left)
		if (nla_len(a) >= 1 &&
		    *(const uint8_t *)nla_data(a) == IEEE_8021QAZ_APP_SEL_DSCP)
			return true;
	return false;
}

void srdma_dcb_parse(const void *attrs, size_t len, struct host_dcb *dcb)
{
	struct nlattr *top[DCB_ATTR_MAX + 1], *ieee[DCB_APP_TRUST_TABLE + 1];

	if (nla_parse(top, DCB_ATTR_MAX, (struct nlattr *)attrs, (int)len,
		      NULL) < 0 || !top[DCB_ATTR_IEEE] ||
	    nla_parse_nested(ieee, DCB_APP_TRUST_TABLE, top[DCB_ATTR_IEEE],
			     NULL) < 0) {
		dcb->error = -EBADMSG;
		return;
	}
	if (ieee[DCB_ATTR_IEEE_ETS])
		take_ets(ieee[DCB_ATTR_IEEE_ETS], dcb);
	if (ieee[DCB_ATTR_IEEE_PFC])
		take_pfc(ieee[DCB_ATTR_IEEE_PFC], dcb);
	if (ieee[DCB_ATTR_IEEE_APP_TABLE])
		take_apps(ieee[DCB_ATTR_IEEE_APP_TABLE], dcb);
	/*
	 * A driver without a table of what it trusts (mlx5, bnxt, ice) trusts
	 * DSCPs as soon as one has a priority, and else PCPs.
	 */
	dcb->trusts_dscp = ieee[DCB_APP_TRUST_TABLE] ?
		trusts_dscp(ieee[DCB_APP_TRUST_TABLE]) : dcb->dscps != 0;
	if (top[DCB_ATTR_DCBX] && nla_len(top[DCB_ATTR_DCBX]) >= 1) {
		dcb->has_dcbx = true;
		dcb->by_host = nla_get_u8(top[DCB_ATTR_DCBX]) &
			       DCB_CAP_DCBX_HOST;
	}
}

static int take_answer(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *nlh = nlmsg_hdr(msg);

	if (nlh->nlmsg_type == RTM_GETDCB &&
	    nlmsg_valid_hdr(nlh, sizeof(struct dcbmsg)))
		srdma_dcb_parse(nlmsg_attrdata(nlh, sizeof(struct dcbmsg)),
				nlmsg_attrlen(nlh, sizeof(struct dcbmsg)), arg);
	return NL_STOP;
}

static void query_dcb(const char *name, struct host_dcb *dcb)
{
	struct dcbmsg head = { .cmd = DCB_CMD_IEEE_GET };
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETDCB, NLM_F_REQUEST);
	int err;

	if (msg && (nlmsg_append(msg, &head, sizeof(head), NLMSG_ALIGNTO) ||
		    nla_put_string(msg, DCB_ATTR_IFNAME, name))) {
		nlmsg_free(msg);
		msg = NULL;
	}
	err = srdma_query(NETLINK_ROUTE, msg, take_answer, dcb);
	if (err)
		dcb->error = err;
}

void srdma_dcb(struct host *h)
{
	for (size_t i = 0; i < h->n_nets; i++)
		query_dcb(h->nets[i].name, &h->nets[i].dcb);
}
