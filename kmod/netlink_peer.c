// SPDX-License-Identifier: GPL-2.0
/* PEER_GET: what the other end of a connection says of its QP. */
#include "find.h"
#include "netlink_priv.h"
#include "peer.h"

#define PUT_U32(m, name, value)	srdma_put_u32(m, SWIFTRDMA_PEER_A_##name, value)

static void fill_class(struct srdma_msg *m, const struct srdma_peer_answer *a)
{
	PUT_U32(m, TCLASS_ASKED, a->tclass_asked);
	PUT_U32(m, TCLASS, a->tclass);
	PUT_U32(m, SL_ASKED, a->sl_asked);
	PUT_U32(m, SL, a->sl);
	if (a->level >= 0) {
		PUT_U32(m, LEVEL, a->level);
		PUT_U32(m, LEVEL_TCLASS, a->want_tclass);
		PUT_U32(m, LEVEL_SL, a->want_sl);
	}
	if (a->pending)
		srdma_put_flag(m, SWIFTRDMA_PEER_A_CLASS_PENDING);
	if (a->class_error)
		PUT_U32(m, CLASS_ERROR, a->class_error);
}

static void fill_peer(struct srdma_msg *m, const struct srdma_qp *q,
		      const struct srdma_peer_answer *a)
{
	struct nlattr *nest = srdma_nest(m, SWIFTRDMA_A_PEER);

	PUT_U32(m, DEV_INDEX, q->dev->index);
	PUT_U32(m, QPN, q->qpn);
	srdma_put_u64(m, SWIFTRDMA_PEER_A_QP_SERIAL, q->serial);
	PUT_U32(m, STATUS, a->status);
	if (a->version)
		PUT_U32(m, VERSION, a->version);
	PUT_U32(m, TRIES, a->tries);
	if (a->status == SWIFTRDMA_PEER_ANSWERED)
		fill_class(m, a);
	srdma_nest_end(m, nest);
}

static int answer_peer(struct srdma_dev *dev, u32 qpn, struct genl_info *info)
{
	struct srdma_qp *q = srdma_qp_get_by_key(dev, qpn);
	struct srdma_peer_answer a;
	struct srdma_msg m;
	int ret;

	if (!q) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[SWIFTRDMA_A_QPN], "no such QP");
		return -ENOENT;
	}
	ret = srdma_peer_ask(q, &a);
	if (!ret)
		ret = srdma_reply_begin(&m, info, GENLMSG_DEFAULT_SIZE);
	if (!ret) {
		fill_peer(&m, q, &a);
		ret = srdma_reply_end(&m, info, 0);
	}
	srdma_qp_put(q);
	return ret;
}

int srdma_peer_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct srdma_reader who = srdma_reader_of(skb);
	struct srdma_filter f;
	struct srdma_dev *dev;
	int ret;

	ret = srdma_need_admin(&who, info->extack);
	if (!ret)
		ret = srdma_refuse_twice(info->nlhdr, 0, info->extack);
	if (ret)
		return ret;
	dev = srdma_hold_named_dev(&f, &who, info);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	if (!srdma_filter_has(&f, SWIFTRDMA_A_QPN)) {
		ret = srdma_missing(info->extack, NULL, SWIFTRDMA_A_QPN,
				    "which QP? QPN is missing");
	} else if (f.qpn <= SRDMA_LAST_SPECIAL_QPN) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[SWIFTRDMA_A_QPN],
				    "QPs 0 and 1 have no peer");
		ret = -EINVAL;
	} else {
		ret = answer_peer(dev, f.qpn, info);
	}
	srdma_dev_put(dev);
	return ret;
}
