// SPDX-License-Identifier: GPL-2.0
/*
 * DCB of an Ethernet port, as dcb(8) reads and sets it: traffic classes (ETS), pause by
 * priority (PFC), the priority of each DSCP. It is what mlx5_core does of its own netdev,
 * and the device's registers are what it changes.
 *
 * As there, the first DSCP that is given a priority makes the port trust DSCPs, and when
 * the last one is taken away it trusts PCPs. What a command sets in the registers past
 * this file is not noticed here.
 */
#include <linux/netdevice.h>
#include <net/dcbnl.h>

#include "softhca.h"

#if IS_ENABLED(CONFIG_DCB)

#define SH_DCBX	(DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE)

static struct sh_dcb *sh_dcb(struct net_device *dev)
{
	return netdev_priv(dev);
}

static int sh_dcb_getets(struct net_device *dev, struct ieee_ets *ets)
{
	struct sh_dcb *d = sh_dcb(dev);
	int tc;

	mutex_lock(&softhca.lock);
	ets->ets_cap = IEEE_8021QAZ_MAX_TCS;
	memcpy(ets->prio_tc, d->hca->qos.prio_tc, sizeof(ets->prio_tc));
	memcpy(ets->tc_tsa, d->tsa, sizeof(ets->tc_tsa));
	for (tc = 0; tc < IEEE_8021QAZ_MAX_TCS; tc++)
		if (d->tsa[tc] == IEEE_8021QAZ_TSA_ETS)
			ets->tc_tx_bw[tc] = d->hca->qos.share[tc];
	mutex_unlock(&softhca.lock);
	return 0;
}

/* Strict classes, the higher the more urgent, above those that share. */
static int sh_dcb_setets(struct net_device *dev, struct ieee_ets *ets)
{
	u8 group[IEEE_8021QAZ_MAX_TCS], share[IEEE_8021QAZ_MAX_TCS];
	struct sh_dcb *d = sh_dcb(dev);
	int tc, sum = 0, ret;
	u8 strict = 0;

	for (tc = 0; tc < IEEE_8021QAZ_MAX_TCS; tc++) {
		if (ets->prio_tc[tc] >= IEEE_8021QAZ_MAX_TCS)
			return -EINVAL;
		if (ets->tc_tsa[tc] != IEEE_8021QAZ_TSA_ETS &&
		    ets->tc_tsa[tc] != IEEE_8021QAZ_TSA_STRICT)
			return -EOPNOTSUPP;
		if (ets->tc_tsa[tc] == IEEE_8021QAZ_TSA_ETS) {
			sum += ets->tc_tx_bw[tc];
			strict = 1;
		}
	}
	if (strict && sum != 100)
		return -EINVAL;
	for (tc = 0; tc < IEEE_8021QAZ_MAX_TCS; tc++) {
		bool shares = ets->tc_tsa[tc] == IEEE_8021QAZ_TSA_ETS;

		group[tc] = shares ? 0 : strict++;
		share[tc] = shares ? ets->tc_tx_bw[tc] : 100;
	}
	mutex_lock(&softhca.lock);
	ret = sh_qos_set(d->hca, ets->prio_tc, group, share);
	if (!ret)
		memcpy(d->tsa, ets->tc_tsa, sizeof(d->tsa));
	mutex_unlock(&softhca.lock);
	return ret;
}

static int sh_dcb_getpfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	pfc->pfc_cap = IEEE_8021QAZ_MAX_TCS;
	mutex_lock(&softhca.lock);
	pfc->pfc_en = sh_dcb(dev)->hca->qos.pfc_tx;
	mutex_unlock(&softhca.lock);
	return 0;
}

static int sh_dcb_setpfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct sh_hca *h = sh_dcb(dev)->hca;

	mutex_lock(&softhca.lock);
	h->qos.pfc_tx = pfc->pfc_en;
	h->qos.pfc_rx = pfc->pfc_en;
	sh_wire_forget(h);
	mutex_unlock(&softhca.lock);
	return 0;
}

static bool sh_dcb_knows(const struct dcb_app *app)
{
	return app->selector == IEEE_8021QAZ_APP_SEL_DSCP && app->protocol < 64 &&
	       app->priority < 8;
}

static void sh_dcb_trust(struct sh_hca *h, u8 trust, u16 dscp, u8 prio)
{
	mutex_lock(&softhca.lock);
	h->qos.trust = trust;
	h->qos.dscp_prio[dscp] = prio;
	sh_contention_reclass(h);
	mutex_unlock(&softhca.lock);
}

/* A DSCP has one priority: the entry before goes. */
static int sh_dcb_setapp(struct net_device *dev, struct dcb_app *app)
{
	struct sh_dcb *d = sh_dcb(dev);
	struct dcb_app was;
	int ret;

	if (!sh_dcb_knows(app))
		return -EINVAL;
	was = (struct dcb_app) {
		.selector = app->selector, .protocol = app->protocol,
		.priority = d->hca->qos.dscp_prio[app->protocol],
	};
	if (dcb_ieee_delapp(dev, &was))
		d->dscps++;
	ret = dcb_ieee_setapp(dev, app);
	if (ret)
		d->dscps--;
	else
		sh_dcb_trust(d->hca, MLX5_QPTS_TRUST_DSCP, app->protocol, app->priority);
	return ret;
}

static int sh_dcb_delapp(struct net_device *dev, struct dcb_app *app)
{
	struct sh_dcb *d = sh_dcb(dev);
	int ret;

	if (!sh_dcb_knows(app))
		return -EINVAL;
	ret = dcb_ieee_delapp(dev, app);
	if (ret)
		return ret;
	d->dscps--;
	sh_dcb_trust(d->hca, d->dscps ? MLX5_QPTS_TRUST_DSCP : MLX5_QPTS_TRUST_PCP,
		     app->protocol, 0);
	return 0;
}

static u8 sh_dcb_getdcbx(struct net_device *dev)
{
	return sh_dcb(dev)->dcbx;
}

/* Without DCB_CAP_DCBX_HOST it is the firmware's, which here changes nothing. */
static u8 sh_dcb_setdcbx(struct net_device *dev, u8 mode)
{
	if (mode & DCB_CAP_DCBX_LLD_MANAGED)
		return 1;
	sh_dcb(dev)->dcbx = mode;
	return 0;
}

static const struct dcbnl_rtnl_ops sh_dcb_ops = {
	.ieee_getets = sh_dcb_getets,
	.ieee_setets = sh_dcb_setets,
	.ieee_getpfc = sh_dcb_getpfc,
	.ieee_setpfc = sh_dcb_setpfc,
	.ieee_setapp = sh_dcb_setapp,
	.ieee_delapp = sh_dcb_delapp,
	.getdcbx = sh_dcb_getdcbx,
	.setdcbx = sh_dcb_setdcbx,
};

/* Before it is registered. */
void sh_dcb_init(struct net_device *dev, struct sh_hca *h)
{
	sh_dcb(dev)->hca = h;
	sh_dcb(dev)->dcbx = SH_DCBX;
	dev->dcbnl_ops = &sh_dcb_ops;
}

/* Entries go by the index of the netdev, which it has once it is registered. RTNL. */
void sh_dcb_start(struct net_device *dev)
{
	struct dcb_app app = { .selector = IEEE_8021QAZ_APP_SEL_DSCP };

	for (app.protocol = 0; app.protocol < 64; app.protocol++) {
		app.priority = sh_dcb(dev)->hca->qos.dscp_prio[app.protocol];
		sh_dcb_setapp(dev, &app);
	}
}

/* RTNL. */
void sh_dcb_stop(struct net_device *dev)
{
	struct dcb_app app = { .selector = IEEE_8021QAZ_APP_SEL_DSCP };

	for (app.protocol = 0; app.protocol < 64; app.protocol++)
		for (app.priority = 0; app.priority < 8; app.priority++)
			dcb_ieee_delapp(dev, &app);
}

#else

void sh_dcb_init(struct net_device *dev, struct sh_hca *h)
{
}

void sh_dcb_start(struct net_device *dev)
{
}

void sh_dcb_stop(struct net_device *dev)
{
}

#endif
