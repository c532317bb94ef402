// SPDX-License-Identifier: GPL-2.0
/*
 * Moves frames of raw packet QPs, and frames of netdevs to HCAs that have flow rules. A frame
 * of a raw packet QP reaches all other HCAs whose links are up, as on a hub, and the flow rules
 * of its own HCA. At an HCA the flow rules (flow.c) are first, then the netdev (eth.c).
 */
#include <linux/etherdevice.h>

#include "softhca.h"

#define SH_MAX_FRAME	(9978 + ETH_HLEN)
#define SH_LOOK_FRAMES	64

static bool sh_frame_steer(struct sh_hca *h, const struct sk_buff *skb, u32 td)
{
	if (!sh_flow_receive(h, skb->data, skb->len, td))
		return false;
	h->raw.rx++;
	h->raw.rx_bytes += skb->len;
	return true;
}

/* A frame from another HCA; @skb is consumed. */
static void sh_frame_arrive(struct sh_hca *h, struct sk_buff *skb)
{
	if (!sh_port_active(h)) {
		kfree_skb(skb);
		return;
	}
	if (!skb_linearize(skb) && sh_frame_steer(h, skb, 0)) {
		consume_skb(skb);
		return;
	}
	local_bh_disable();
	sh_eth_receive(h, skb);
	local_bh_enable();
}

/* Handles frames that netdevs have queued, since these could not take the device's mutex. */
bool sh_frame_run(struct sh_hca *h)
{
	struct sk_buff *skb;
	int n = 0;

	while (n < SH_LOOK_FRAMES && (skb = skb_dequeue(&h->frames))) {
		sh_frame_arrive(h, skb);
		n++;
	}
	return n;
}

/* Copies the frame that the current WQE of a send queue describes. NULL: the sender has no
 * access to a part of that memory, or there is no memory for the copy; @syndrome says which.
 */
static struct sk_buff *sh_frame_gather(struct sh_qp *sq, u8 *syndrome)
{
	struct sh_sgl *sgl = &sq->tx->sgl;
	struct sk_buff *skb;
	u64 at, n;
	void *src;

	*syndrome = sh_sgl_check(sq->hca, sgl, sq->pd, SH_LOCAL_READ);
	if (*syndrome)
		return NULL;
	skb = alloc_skb(sgl->len, GFP_KERNEL);
	if (!skb) {
		*syndrome = MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
		return NULL;
	}
	for (at = 0; at < sgl->len; at += n) {
		n = sgl->len - at;
		src = sh_sgl_map(sq->hca, sgl, sq->pd, at, SH_LOCAL_READ, &n);
		if (!src) {
			kfree_skb(skb);
			*syndrome = MLX5_CQE_SYNDROME_LOCAL_PROT_ERR;
			return NULL;
		}
		skb_put_data(skb, src, n);
	}
	return skb;
}

/* Sends a send queue's frame: 0, or the syndrome of why it cannot be sent. */
u8 sh_frame_send(struct sh_qp *sq)
{
	struct sh_tis *tis = sh_find(sq->hca, SH_TIS, sq->tisn);
	u64 len = sq->tx->sgl.len;
	struct sk_buff *skb, *copy;
	u8 syndrome;
	int i;

	if (len < ETH_HLEN || len > SH_MAX_FRAME)
		return MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR;
	skb = sh_frame_gather(sq, &syndrome);
	if (!skb)
		return syndrome;
	sq->bytes += len;
	sh_count_lag(sq, len, 1);
	sq->hca->raw.tx++;
	sq->hca->raw.tx_bytes += len;
	if (tis)
		sh_frame_steer(sq->hca, skb, tis->td);
	for (i = 0; i < softhca.nhcas && sh_port_active(sq->hca); i++) {
		struct sh_hca *h = softhca.hca[i];

		if (h == sq->hca)
			continue;
		copy = skb_copy(skb, GFP_KERNEL);
		if (copy)
			sh_frame_arrive(h, copy);
	}
	consume_skb(skb);
	return 0;
}
